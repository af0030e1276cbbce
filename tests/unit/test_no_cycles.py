"""Planning and running a query leaves nothing behind that only the collector of cycles can free."""

from __future__ import annotations

import gc

import pytest

from qengine import Graph
from qengine.testing.generate import SocialSize, social, write_social

_QUERIES = (
    "MATCH (n:Person) RETURN count(*)",
    "MATCH (n:Person) WHERE n.age > 40 RETURN count(*)",
    "MATCH (n:Person {id: 7})-[:knows]->(m) RETURN m.name",
    "MATCH (a:Person)-[:knows]->(b:Person) WHERE a.age < b.age RETURN a.name, count(*) AS n",
    "MATCH (a:Person)-[:knows]->(b:Person) WHERE a.age < b.age RETURN count(*)",
    "MATCH (a:Person)-[k:knows]->(b:Person) RETURN a.age, min(k.since), percentileCont(b.age, 0.5)",
    "MATCH (a:Person)-[k:knows]->(b:Person) RETURN a.id, b.id ORDER BY k.since, a.id, b.id LIMIT 5",
    "MATCH (a:Person)-[:knows]->(b:Person) WITH DISTINCT a, b MATCH (b)-[:lives_in]->(c) RETURN c.name, count(a)",
    "MATCH (a:Person)-[:knows]->(b)-[:knows]->(c)-[:knows]->(a) RETURN count(*)",
    "MATCH (a:Person)-[:knows]->(b)-[:knows]->(c)-[:knows]->(d) RETURN a.age, sum(d.age)",
    "MATCH (a:Person {id: 7})-[:knows*1..3]->(b) RETURN count(DISTINCT b)",
    "MATCH p = shortestPath((a:Person {id: 7})-[:knows*]->(b:Person {id: 9})) RETURN length(p)",
    "MATCH (a:Person), (b:Person) WHERE a.name = b.name AND a.age < b.age RETURN count(*)",
    "MATCH (a:Person) WHERE EXISTS { (a)-[:knows]->(b) WHERE b.age > a.age } OPTIONAL MATCH (a)-[:lives_in]->(c) "
    "RETURN c.name, collect(a.name)[..3], avg(a.age)",
    "UNWIND range(1, 50) AS i MATCH (a:Person {id: i}) RETURN i, COUNT { (a)-[:knows]->() }",
)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    folder = tmp_path_factory.mktemp("graphs") / "social"
    write_social(folder, social(SocialSize(1_000, 20_000, 20, 500, 20, 1_000)))
    return Graph.from_parquet(folder)


@pytest.mark.parametrize("text", _QUERIES)
def test_running_a_query_leaves_no_cycle(graph: Graph, text: str) -> None:
    for _ in range(2):  # what is made once for the graph may have cycles
        graph.query(f"{text} //", threads=2).to_arrow()
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        graph.query(text, threads=2).to_arrow()  # is planned first
        graph.query(text, threads=2).to_arrow()
        gc.collect()
        left = sorted({type(each).__name__ for each in gc.garbage})
    finally:
        gc.set_debug(0)
        gc.enable()
        gc.garbage.clear()
    assert not left
