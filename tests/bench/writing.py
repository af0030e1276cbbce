"""Statements that change a graph in memory: many rows at once, one at a time, and reads between them.

Run as ``python -m tests.bench.writing --nodes 100000``. Kùzu is timed beside qengine where it is installed, for what
both can be asked in the same words; counts are compared before times are printed. Processor time of this process and of
its threads; each line is one run, since a run changes the graph that the next would begin with.
"""

from __future__ import annotations

import argparse
import importlib.util
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import qengine

NODES = "UNWIND $rows AS row CREATE (:Person {id: row.id, name: row.name})"
LINKS = (
    "UNWIND $rows AS row MATCH (a:Person {id: row.a}), (b:Person {id: row.b}) "
    "CREATE (a)-[:KNOWS {since: row.since}]->(b)"
)
MERGE = "UNWIND $rows AS row MERGE (p:Person {id: row.id}) ON CREATE SET p.name = row.name"
ONE = "CREATE (:Person {id: $id, name: 'one'})"
LINK = "MATCH (a:Person {id: $a}), (b:Person {id: $b}) CREATE (a)-[:KNOWS {since: 1}]->(b)"
SET = "MATCH (p:Person {id: $id}) SET p.seen = true"
POINT = "MATCH (p:Person {id: $id}) RETURN p.name"
HOP = "MATCH (p:Person {id: $id})-[k:KNOWS]->(q) RETURN q.id, k.since"
COUNT = "MATCH (a:Person)-[k:KNOWS]->(b:Person) RETURN count(k)"


def main() -> None:
    parser = argparse.ArgumentParser(description="how fast a graph in memory is changed")
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--singles", type=int, default=2_000, help="statements that are given one at a time")
    options = parser.parse_args()
    ours = dict(qengine_lines(options.nodes, options.singles))
    theirs = dict(kuzu_lines(options.nodes)) if importlib.util.find_spec("kuzu") is not None else {}
    print("| what | qengine | Kùzu |\n|---|---|---|")
    for what, text in ours.items():
        print(f"| {what} | {text} | {theirs.get(what, '')} |")


def rows_of(nodes: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the rows of nodes and of five times as many relationships."""
    chance = np.random.default_rng(7)
    ends = chance.integers(0, nodes, (5 * nodes, 2)).tolist()
    people = [{"id": number, "name": f"person {number}"} for number in range(nodes)]
    return people, [{"a": a, "b": b, "since": 2000 + a % 25} for a, b in ends]


def rate(count: int, what: Callable[[], object]) -> str:
    """Return how many of something are done a second."""
    begin = time.process_time()
    what()
    return f"{count / (time.process_time() - begin):,.0f}/s"


def milliseconds(what: Callable[[], object]) -> str:
    begin = time.process_time()
    what()
    return f"{(time.process_time() - begin) * 1e3:,.1f} ms"


def qengine_lines(nodes: int, singles: int) -> Iterator[tuple[str, str]]:
    people, links = rows_of(nodes)
    graph = qengine.Graph()
    yield "nodes of rows", rate(nodes, lambda: graph.query(NODES, {"rows": people}))
    yield "relationships of rows, ends by key", rate(len(links), lambda: graph.query(LINKS, {"rows": links}))
    yield "the first count after it", milliseconds(lambda: graph.query(COUNT).fetchall())
    assert graph.query(COUNT).fetchall() == [(len(links),)]
    yield from appended_lines(people, links)
    both = [{"id": number, "name": "new"} for number in range(nodes // 2, nodes + nodes // 2)]
    yield "MERGE by key, half of them there", rate(len(both), lambda: graph.query(MERGE, {"rows": both}))
    assert graph.query("MATCH (p:Person) RETURN count(p)").fetchall() == [(nodes + nodes // 2,)]
    graph.query("MATCH (p:Person {id: 1}) RETURN p.name").fetchall()
    for what, text in (("CREATE of a node", ONE), ("CREATE of a relationship", LINK), ("SET of a property", SET)):
        statement = graph.prepare(text)
        given = [{"id": number, "a": number, "b": 2 * number} for number in range(1, singles + 1)]
        wanted = [{name: value for name, value in each.items() if f"${name}" in text} for each in given]
        yield f"{what}, prepared, a transaction each", rate(singles, partial(each_run, statement, wanted))

    def by_turns() -> None:
        for number in range(20):
            graph.query(LINK, {"a": number, "b": number + 1})
            graph.query(COUNT).fetchall()

    begin = time.process_time()
    by_turns()
    yield "a relationship made, and all counted", f"{(time.process_time() - begin) / 20 * 1e3:,.1f} ms"
    yield "a label for all nodes", milliseconds(lambda: graph.query("MATCH (p:Person) SET p:Seen"))
    text = "MATCH (p:Person) WHERE p.id % 10 = 0 DETACH DELETE p"
    yield "DETACH DELETE of a tenth of the nodes", milliseconds(lambda: graph.query(text))


def appended_lines(people: list[dict[str, Any]], links: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Time tables of the same rows that are appended to an empty graph, and given again."""
    nodes, ends = pa.Table.from_pylist(people), pa.Table.from_pylist(links)
    graph = qengine.Graph()
    yield "nodes, appended as a table", rate(len(people), lambda: graph.append_arrow({"Person": nodes}))
    knows = [("KNOWS", "Person", "Person", ends)]
    yield "relationships, appended as a table", rate(len(links), lambda: graph.append_arrow((), knows))
    yield (
        "nodes, all of them there, upserted",
        rate(len(people), lambda: graph.append_arrow({"Person": nodes}, upsert=True)),
    )
    yield "more relationships of that type, appended", rate(len(links), lambda: graph.append_arrow((), knows))
    assert graph.query(COUNT).fetchall() == [(2 * len(links),)]
    for what, text in (("by key", POINT), ("one hop", HOP)):
        statement, write = graph.prepare(text), graph.prepare(LINK)
        seconds = 0.0
        for number in range(1, 51):
            write.run({"a": number, "b": 2 * number})
            begin = time.process_time()
            statement.run({"id": number}).fetchall()
            seconds += time.process_time() - begin
        yield f"a relationship made, then a read {what}: the read", f"{seconds / 50 * 1e3:,.2f} ms"


def each_run(statement: qengine.Prepared, given: list[dict[str, Any]]) -> None:
    for each in given:
        statement.run(each)


def kuzu_lines(nodes: int) -> Iterator[tuple[str, str]]:
    import kuzu

    people, links = rows_of(nodes)
    with tempfile.TemporaryDirectory() as scratch:
        connection = kuzu.Connection(kuzu.Database(str(Path(scratch) / "db")))
        connection.execute("CREATE NODE TABLE Person(id INT64, name STRING, PRIMARY KEY (id))")
        connection.execute("CREATE REL TABLE KNOWS(FROM Person TO Person, since INT64)")
        yield "nodes of rows", rate(nodes, lambda: connection.execute(NODES, {"rows": people}))
        few = links[: nodes // 2]
        yield "relationships of rows, ends by key", rate(len(few), lambda: connection.execute(LINKS, {"rows": few}))
        yield "the first count after it", milliseconds(lambda: connection.execute(COUNT).get_next())
        assert connection.execute(COUNT).get_next() == [len(few)]


if __name__ == "__main__":
    main()
