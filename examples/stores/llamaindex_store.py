"""A property graph store for LlamaIndex: entities and relations go into a graph, which a model then asks by Cypher.

Needs llama-index-core. The model here is a stand-in that has its answer by heart; put yours in its place. Vectors
aren't searched: take a vector store beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from llama_index.core.graph_stores.types import (
    ChunkNode,
    EntityNode,
    LabelledNode,
    PropertyGraphStore,
    Relation,
    Triplet,
)
from llama_index.core.indices.property_graph import TextToCypherRetriever
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.vector_stores.types import VectorStoreQuery

import qengine

_LINKS = """
    MATCH (a:Node)-[r]->(b:Node)
    WHERE ($names IS NULL OR a.id IN $names OR b.id IN $names)
      AND ($ids IS NULL OR a.id IN $ids OR b.id IN $ids)
      AND ($types IS NULL OR type(r) IN $types) AND NOT type(r) IN $without
      AND ($properties IS NULL
           OR any(key IN keys($properties) WHERE $properties[key] IN [a[key], r[key], b[key]]))
    RETURN a, r, b ORDER BY a.id, type(r), b.id LIMIT $limit
"""


class QengineStore(PropertyGraphStore):
    """What LlamaIndex asks of a graph: nodes have the label ``Node``, a label of their own, and a unique ``id``."""

    supports_structured_queries = True
    supports_vector_queries = False

    def __init__(self, graph: qengine.Graph, *, timeout: float = 30.0) -> None:
        self.graph, self._timeout = graph, timeout
        graph.query("CREATE CONSTRAINT node_id IF NOT EXISTS FOR (n:Node) REQUIRE n.id IS UNIQUE")

    @property
    def client(self) -> qengine.Graph:
        return self.graph

    def upsert_nodes(self, nodes: Sequence[LabelledNode]) -> None:
        rows = [[each.id, each.label, _stored(each)] for each in nodes]
        self.graph.query("UNWIND $rows AS row MERGE (n:Node {id: row[0]}) SET n:$(row[1]), n += row[2]", {"rows": rows})

    def upsert_relations(self, relations: list[Relation]) -> None:
        rows = [[each.source_id, each.target_id, each.label, each.properties] for each in relations]
        self.graph.query(
            """
            UNWIND $rows AS row
            MERGE (a:Node {id: row[0]}) ON CREATE SET a:entity, a.name = row[0]
            MERGE (b:Node {id: row[1]}) ON CREATE SET b:entity, b.name = row[1]
            MERGE (a)-[r:$(row[2])]->(b) SET r += row[3]
            """,
            {"rows": rows},
        )

    def get(self, properties: dict[str, Any] | None = None, ids: list[str] | None = None) -> list[LabelledNode]:
        found = self.graph.query(
            """
            MATCH (n:Node)
            WHERE ($ids IS NULL OR n.id IN $ids)
              AND ($properties IS NULL OR any(key IN keys($properties) WHERE n[key] = $properties[key]))
            RETURN n ORDER BY n.id
            """,
            {"ids": ids, "properties": properties},
        )
        return [_node(row.n) for row in found]

    def get_triplets(
        self,
        entity_names: list[str] | None = None,
        relation_names: list[str] | None = None,
        properties: dict[str, Any] | None = None,
        ids: list[str] | None = None,
    ) -> list[Triplet]:
        if not (entity_names or relation_names or properties or ids):
            return []
        wanted = {"names": entity_names, "types": relation_names, "properties": properties, "ids": ids}
        return list(self._triplets(wanted | {"without": [], "limit": 1_000_000}))

    def get_rel_map(
        self,
        graph_nodes: list[LabelledNode],
        depth: int = 2,
        limit: int = 30,
        ignore_rels: list[str] | None = None,
    ) -> list[Triplet]:
        text = f"""
            MATCH (n:Node)-[w*1..{int(depth)}]-() WHERE n.id IN $ids UNWIND w AS r
            WITH DISTINCT r WHERE NOT type(r) IN $without
            RETURN startNode(r) AS a, r, endNode(r) AS b ORDER BY a.id, type(r), b.id LIMIT $limit
        """
        wanted = {"ids": [each.id for each in graph_nodes], "without": ignore_rels or [], "limit": limit}
        return [_triplet(*row) for row in self.graph.query(text, wanted, timeout=self._timeout)]

    def delete(
        self,
        entity_names: list[str] | None = None,
        relation_names: list[str] | None = None,
        properties: dict[str, Any] | None = None,
        ids: list[str] | None = None,
    ) -> None:
        with self.graph.transaction() as transaction:
            for names in (entity_names, ids):
                if names:
                    transaction.query("MATCH (n:Node) WHERE n.id IN $names DETACH DELETE n", {"names": names})
            if relation_names:
                transaction.query("MATCH ()-[r]->() WHERE type(r) IN $types DELETE r", {"types": relation_names})
            if properties:
                transaction.query(
                    "MATCH (n:Node) WHERE all(key IN keys($p) WHERE n[key] = $p[key]) DETACH DELETE n",
                    {"p": properties},
                )

    def structured_query(self, query: str, param_map: dict[str, Any] | None = None) -> list[dict[str, Any]]:
        """Answer a query that only reads: what it changes is taken back."""
        with self.graph.transaction() as transaction:
            rows = [row.asdict() for row in transaction.query(query, param_map or {}, timeout=self._timeout)]
            transaction.rollback()
        return rows

    def vector_query(self, query: VectorStoreQuery, **kwargs: Any) -> tuple[list[LabelledNode], list[float]]:
        raise NotImplementedError("qengine searches no vectors: use a vector store beside it")

    def get_schema(self, refresh: bool = False) -> str:
        return self.graph.schema.to_text()

    def _triplets(self, wanted: dict[str, Any]) -> Iterator[Triplet]:
        for row in self.graph.query(_LINKS, wanted, timeout=self._timeout):
            yield _triplet(*row)


def _stored(node: LabelledNode) -> dict[str, Any]:
    own = {"text": node.text} if isinstance(node, ChunkNode) else {"name": getattr(node, "name", node.id)}
    return {**node.properties, **own}


def _node(node: qengine.Node) -> LabelledNode:
    properties = {key: value for key, value in node.properties.items() if key not in ("id", "name", "text")}
    label = next((each for each in node.labels if each != "Node"), "entity")
    if "text" in node.properties:
        return ChunkNode(text=node["text"], id_=node["id"], label=label, properties=properties)
    return EntityNode(name=node["name"], label=label, properties=properties)


def _triplet(start: qengine.Node, relationship: qengine.Relationship, end: qengine.Node) -> Triplet:
    source, target = _node(start), _node(end)
    relation = Relation(
        label=relationship.type, source_id=source.id, target_id=target.id, properties=dict(relationship.properties)
    )
    return source, relation, target


class ByHeart(CustomLLM):
    """A model that always says the same."""

    says: str

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata()

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        assert "WROTE_TO" in prompt, "the schema is in the prompt"
        return CompletionResponse(text=self.says)

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Iterator[CompletionResponse]:
        yield self.complete(prompt)


def main() -> None:
    store = QengineStore(qengine.Graph())
    people = [EntityNode(name=name, label="Person", properties={"born": born}) for name, born in
              (("Ada", 1815), ("Charles", 1791), ("Mary", 1780))]  # fmt: skip
    letters = [Relation(label="WROTE_TO", source_id=one, target_id=other, properties={"year": year}) for one, other,
               year in (("Ada", "Charles", 1843), ("Charles", "Ada", 1844), ("Mary", "Ada", 1830))]  # fmt: skip
    for _ in range(2):  # the second time nothing is new
        store.upsert_nodes(people)
        store.upsert_relations(letters)
    print(store.graph)
    print([f"{one} {relation} {other}" for one, relation, other in store.get_triplets(entity_names=["Mary"])])
    print(len(store.get_rel_map(store.get(ids=["Mary"]), depth=2)), "letters around Mary")

    counted = "MATCH (a:Person)-[w:WROTE_TO]->(b) RETURN b.name AS name, count(*) AS letters ORDER BY letters DESC"
    model = ByHeart(says=counted)
    retriever = TextToCypherRetriever(store, llm=model)
    (answer,) = retriever.retrieve("Who gets the most letters?")
    print(answer.node.get_content())
    store.delete(entity_names=["Mary"])
    print(store.graph)


if __name__ == "__main__":
    main()
