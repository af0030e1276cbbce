"""Random transactions: the engine does to a graph what the definitions of the clauses say, or nothing where they fail.

Each session of one to three transactions begins where the one before has left the graph, so that versions are made
above versions. Its rows, its counts of changes, its errors and the graph afterwards are those of a model in plain
dictionaries (``qengine.testing.updates``). What depends on the order of rows, which isn't defined, isn't compared.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from qengine import Graph
from qengine.testing.compare import difference
from qengine.testing.random_graph import random_graph
from qengine.testing.updates import Chain, random_session
from qengine.testing.updates.model import ModelGraph
from qengine.write import batch_changes, reading, steps

_WAYS = ("cpu", "reference", "planned", "together")
_SESSIONS = 20  # of each graph, as long as it stays small
_MOST = 9  # nodes
ORDINARY = 120  # sessions: more than 200 transactions
BLOCKS, BLOCK = range(1, 25), 480  # together more than 20,000 transactions
NETS = 12  # blocks; the others with --slow

COUNTS = (
    "MATCH (n) RETURN labels(n) AS l, count(*) AS c",
    "MATCH (a)-[r]->(b) RETURN type(r) AS t, a.i AS i, b.s AS s, count(*) AS c",
    "MATCH (a)--(b)--(c) RETURN count(*) AS c",
    "MATCH (a:A)-[r]-(b) WHERE a.i < 2 RETURN a.i AS i, count(*) AS c",
    "MATCH (a)-[:R|S*1..3]->(b) RETURN count(*) AS c",
)


def _check(seeds: range, patch: pytest.MonkeyPatch, folder: Path | None = None) -> Counter[str]:
    outcomes: Counter[str] = Counter()
    chain = opened = saved = None
    for seed in seeds:
        if chain is None or seed % _SESSIONS == 0 or chain.graph._store.vertex_count > _MOST:
            chain = Chain(Graph(random_graph(f"updates {seed}", most_nodes=4, most_relationships=5).store()))
        session = random_session(seed)
        way = _WAYS[seed % len(_WAYS)]
        patch.setattr(reading, "_SMALL", -1 if way == "planned" else 2_000)
        patch.setattr(reading, "FEW", -1 if way == "planned" else 1_000)
        patch.setattr(reading, "_GIVEN", 0 if way in ("planned", "together") else 256)
        patch.setattr(steps, "LEAST", 1 if way in ("planned", "together") else 16)
        patch.setattr(batch_changes, "PATCHED", 1 if way in ("planned", "together") else 512)
        try:
            outcomes[chain.check(session, "reference" if way == "reference" else "cpu")] += 1
        except Exception as error:
            texts = "\n".join(map(str, session))
            raise AssertionError(f"seed {seed}, {way}:\n{texts}\n{error}") from error
        outcomes["transactions"] += len(session)
        if seed % 12 == 0:
            _check_reading(chain)
        if folder is not None and seed % 5 == 0:
            saved = saved if chain is opened else folder / str(seed)
            chain = opened = _opened(chain, saved)
    return outcomes


def _opened(chain: Chain, path: Path) -> Chain:
    """Save a graph, or close it where it was opened, so that its log is read again; return it as it is opened anew."""
    before = chain.content()
    if not path.exists():
        chain.graph.save(path)
    chain.graph.close()
    found = Chain(Graph.open(path, durability="none"))
    assert found.content() == before, "the folder holds another graph"
    return found


def _check_reading(chain: Chain) -> None:
    """Check that the version gives the rows of the same graph loaded anew."""
    anew = loaded(chain.model())
    for text in COUNTS:
        report = difference(
            anew.query(text).fetchall(), chain.graph.query(text, device="cpu").fetchall(), lists_ordered=False
        )
        assert report is None, f"{text}\n{report}"


def loaded(model: ModelGraph) -> Graph:
    """Return a new graph with the elements of a model."""
    return Graph.from_records(
        [
            {"id": number, "labels": sorted(labels), "properties": properties}
            for number, (labels, properties) in model.nodes.items()
        ],
        [
            {"type": kind, "start": start, "end": end, "properties": properties}
            for kind, start, end, properties in model.relationships.values()
        ],
        undirected=model.undirected & {kind for kind, *_ in model.relationships.values()},
    )


def test_transactions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    outcomes = _check(range(ORDINARY), monkeypatch, tmp_path)
    assert outcomes["transactions"] >= 200, outcomes
    assert outcomes["sure"] > ORDINARY * 0.85, outcomes


@pytest.mark.parametrize(
    "block", [pytest.param(block, marks=pytest.mark.nets if block <= NETS else pytest.mark.slow) for block in BLOCKS]
)
def test_more_transactions(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _check(range(block * BLOCK, (block + 1) * BLOCK), monkeypatch)["transactions"] > BLOCK


def test_sessions_use_all_clauses() -> None:
    text = "\n".join(str(each) for seed in range(400) for each in random_session(seed))
    constructs = [
        "OPTIONAL MATCH", "UNWIND $p", "MERGE (", "ON CREATE SET", "ON MATCH SET", "DETACH DELETE", ") DELETE",
        "REMOVE n", "FOREACH (", "| FOREACH", "CALL (", "WITH DISTINCT", "collect(", "count(*)", " += ", " = n",
        "EXISTS {", "LIMIT 0", ":$(", "BEGIN;", "ROLLBACK;", "/ ", "null", "RETURN", "OPTIONAL CALL", "CALL {", "(*)",
        "IN TRANSACTIONS", "ON ERROR CONTINUE", "ON ERROR BREAK", "REPORT STATUS", "INSERT", "FOR s", "FINISH",
        "COUNT {", "CASE WHEN", "coalesce(", "ORDER BY", "nodes(p", "relationships(p", "DELETE p", "DELETE l", "[$p",
        ":$($p", "date(", "duration(", "point(", "properties(", "+= $p", "CREATE CONSTRAINT", "DROP CONSTRAINT",
        "CREATE INDEX", "IF NOT EXISTS", "append_arrow", " = (n",
    ]  # fmt: skip
    assert [each for each in constructs if each not in text] == []


def test_a_wrong_engine_is_found() -> None:
    class Forgetful(Chain):
        def model(self) -> ModelGraph:
            found = super().model()
            for number in list(found.relationships)[:1]:
                del found.relationships[number]
            return found

    chance = random.Random(1)
    with pytest.raises(AssertionError, match="The engine differs from the model"):
        for _ in range(100):
            graph = Graph.from_records([{"id": 0}, {"id": 1}], [{"type": "R", "start": 0, "end": 1}])
            Forgetful(graph).check(random_session(chance.random().hex()), "cpu")
