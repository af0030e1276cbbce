"""A graph store for LangChain: a model writes Cypher, the store answers, and what documents say becomes a graph.

Needs langchain-community. The model here is a stand-in that has its answers by heart; put yours in its place.
"""

from __future__ import annotations

import warnings
from typing import Any

import qengine

with warnings.catch_warnings():  # it tells with warnings that parts of it have moved
    warnings.simplefilter("ignore")
    from langchain_community.chains.graph_qa.cypher import GraphCypherQAChain
    from langchain_community.graphs.graph_document import GraphDocument, Node, Relationship
    from langchain_community.graphs.graph_store import GraphStore
from langchain_core.documents import Document
from langchain_core.language_models import FakeListLLM


class QengineStore(GraphStore):
    """What LangChain asks of a graph. ``query`` reads only: what it changes is taken back."""

    def __init__(self, graph: qengine.Graph, *, timeout: float = 30.0, most_rows: int = 1000) -> None:
        self.graph, self._timeout, self._most_rows = graph, timeout, most_rows
        self.refresh_schema()

    def refresh_schema(self) -> None:
        schema = self.graph.schema
        self.schema = schema.to_text()
        self.structured_schema = {
            "node_props": {":".join(each.labels): _properties(each) for each in schema.nodes},
            "rel_props": {each.type: _properties(each) for each in schema.relationships if each.properties},
            "relationships": [
                {"start": ":".join(start), "type": each.type, "end": ":".join(end)}
                for each in schema.relationships
                for start, end in each.endpoints
            ],
        }

    @property
    def get_schema(self) -> str:
        return self.schema

    @property
    def get_structured_schema(self) -> dict[str, Any]:
        return self.structured_schema

    def query(self, query: str, params: dict[str, Any] | None = None) -> list[dict[str, Any]]:
        with self.graph.transaction() as transaction:
            result = transaction.query(query, params or {}, timeout=self._timeout)
            rows = [row.asdict() for row in result.fetchmany(self._most_rows)]
            transaction.rollback()
        return rows

    def add_graph_documents(self, graph_documents: list[GraphDocument], include_source: bool = False) -> None:
        with self.graph.transaction() as transaction:
            for document in graph_documents:
                values = {
                    "nodes": [[each.id, each.type, each.properties] for each in document.nodes],
                    "links": [
                        [each.source.id, each.target.id, each.type, each.properties] for each in document.relationships
                    ],
                    "text": document.source.page_content,
                }
                transaction.query("UNWIND $nodes AS row MERGE (n {id: row[0]}) SET n:$(row[1]), n += row[2]", values)
                transaction.query(
                    """
                    UNWIND $links AS row MERGE (a {id: row[0]}) MERGE (b {id: row[1]})
                    MERGE (a)-[r:$(row[2])]->(b) SET r += row[3]
                    """,
                    values,
                )
                if include_source:
                    transaction.query(
                        """
                        MERGE (d:Document {text: $text})
                        WITH d UNWIND $nodes AS row MATCH (n {id: row[0]}) MERGE (d)-[:MENTIONS]->(n)
                        """,
                        values,
                    )
        self.refresh_schema()


def _properties(described: Any) -> list[dict[str, str]]:
    return [{"property": name, "type": str(kind)} for name, kind in described.properties.items()]


def main() -> None:
    store = QengineStore(qengine.example())
    model = FakeListLLM(
        responses=[
            "```MATCH (:Country {name: 'Peru'})-[:borders]-(n:Country) RETURN n.name AS neighbour```",
            "Peru borders Bolivia, Brazil, Chile, Colombia and Ecuador.",
        ]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chain = GraphCypherQAChain.from_llm(
            model, graph=store, allow_dangerous_requests=True, return_intermediate_steps=True
        )
        answer = chain.invoke({"query": "What are Peru's neighbours?"})
    print(sorted(row["neighbour"] for row in answer["intermediate_steps"][1]["context"]))
    print(answer["result"])

    ada, charles = Node(id="Ada", type="Person", properties={"born": 1815}), Node(id="Charles", type="Person")
    wrote = Relationship(source=ada, target=charles, type="WROTE_TO", properties={"year": 1843})
    letters = QengineStore(qengine.Graph())
    text = Document(page_content="Ada wrote to Charles.")
    for _ in range(2):  # the second time nothing is new
        letters.add_graph_documents([GraphDocument(nodes=[ada, charles], relationships=[wrote], source=text)], True)
    print(letters.graph)
    print(letters.query("MATCH (d:Document)-[:MENTIONS]->(a)-[w:WROTE_TO]->(b) RETURN a.id, w.year, b.id, d.text"))


if __name__ == "__main__":
    main()
