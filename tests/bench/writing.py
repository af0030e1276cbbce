"""Statements that change a graph: many rows at once in memory, reads between them, and one at a time.

Run as ``python -m tests.bench.writing --nodes 100000``. Kùzu is timed by turns with qengine where it is installed, for
what both can be asked in the same words; counts are compared before times are printed. Processor time of this process
and of its threads; each line is one run, since a run changes the graph that the next would begin with. Many rows are
given in batches, a statement and a transaction each. What is one at a time is given in parts of some hundreds, of which
the median is shown: other work that runs beside disturbs few of them.
"""

from __future__ import annotations

import argparse
import importlib.util
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
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
_PART = 200  # statements that are timed together
NODES_LINE, LINKS_LINE = "nodes of rows", "relationships of rows, ends by key"
COUNT_LINE, MERGE_LINE = "the first count after it", "MERGE by key, half of them there"
KUZU_ROWS = 500  # relationships, and rows to merge, that it is given: each takes it long
POINT = "MATCH (p:Person {id: $id}) RETURN p.name"
HOP = "MATCH (p:Person {id: $id})-[k:KNOWS]->(q) RETURN q.id, k.since"
COUNT = "MATCH (a:Person)-[k:KNOWS]->(b:Person) RETURN count(k)"


def main() -> None:
    parser = argparse.ArgumentParser(description="how fast a graph is changed")
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--singles", type=int, default=10_000, help="statements that are given one at a time")
    parser.add_argument("--batch", type=int, default=10_000, help="rows that a statement is given")
    options = parser.parse_args()
    ours = qengine_lines(options.nodes, options.batch)
    theirs = kuzu_lines(options.nodes, options.batch) if importlib.util.find_spec("kuzu") is not None else iter(())
    print("| what | qengine | Kùzu |\n|---|---|---|")
    for what, text in ours:
        same, other = next(theirs, (what, ""))
        assert same == what
        print(f"| {what} | {text} | {other} |", flush=True)
    one_at_a_time(options.nodes, options.singles)


def one_at_a_time(nodes: int, singles: int) -> None:
    """Print how many statements that are a transaction each are done a second."""
    in_memory = made_of_rows(nodes)
    with tempfile.TemporaryDirectory() as scratch:
        in_memory.save(Path(scratch) / "graph")
        with qengine.open(Path(scratch) / "graph", durability="batched") as opened:
            rates = [dict(single_lines(graph, nodes, singles)) for graph in (in_memory, opened)]
    print('\n| one statement, a transaction each | in memory | opened, `durability="batched"` |\n|---|---|---|')
    for what in rates[0]:
        print(f"| {what} | " + " | ".join(each[what] for each in rates) + " |")


def made_of_rows(nodes: int) -> qengine.Graph:
    """Return a graph in which persons are found by an index of their numbers."""
    people, links = rows_of(nodes)
    graph = qengine.Graph()
    graph.query(NODES, {"rows": people})
    graph.query(LINKS, {"rows": links})
    graph.query("MATCH (p:Person {id: 1}) RETURN p.name").fetchall()
    return graph


def single_lines(graph: qengine.Graph, nodes: int, singles: int) -> Iterator[tuple[str, str]]:
    for what, text in (("CREATE of a node", ONE), ("CREATE of a relationship", LINK), ("SET of a property", SET)):
        statement = graph.prepare(text)
        texts = text.replace("$id", "{id}").replace("$a", "{a}").replace("$b", "{b}")
        for way in ("prepared", "the same text", "other literals"):
            given = []
            for number in range(1, singles + 1):
                fresh = number + nodes * (2 if text is ONE else 0)
                values = {"id": fresh, "a": number % nodes, "b": 2 * number % nodes}
                given.append({name: value for name, value in values.items() if f"${name}" in text})
            if way == "prepared":
                yield f"{what}, {way}", median_rate(given, statement.run)
            elif way == "the same text":
                yield f"{what}, {way}", median_rate(given, partial(graph.query, text))
            else:
                written = [filled(texts, each) for each in given]
                yield f"{what}, {way}", median_rate(written, graph.query)


def filled(text: str, values: dict[str, Any]) -> str:
    """Return a text with literals in place of ``{name}``."""
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", str(value))
    return text


def median_rate(given: list[Any], do: Callable[[Any], object]) -> str:
    """Return how many of something are done a second, by the median of the parts that they are given in."""
    took = []
    for first in range(0, len(given), _PART):
        part = given[first : first + _PART]
        begin = time.process_time()
        for each in part:
            do(each)
        took.append((time.process_time() - begin) / len(part))
    return f"{1 / median(took):,.0f}/s"


def rows_of(nodes: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the rows of nodes and of five times as many relationships."""
    chance = np.random.default_rng(7)
    ends = chance.integers(0, nodes, (5 * nodes, 2)).tolist()
    people = [{"id": number, "name": f"person {number}"} for number in range(nodes)]
    return people, [{"a": a, "b": b, "since": 2000 + a % 25} for a, b in ends]


def in_batches(query: Callable[[str, dict[str, Any]], object], text: str, rows: list[Any], size: int) -> None:
    for first in range(0, len(rows), size):
        query(text, {"rows": rows[first : first + size]})


def rate(count: int, what: Callable[[], object]) -> str:
    """Return how many of something are done a second."""
    begin = time.process_time()
    what()
    return f"{count / (time.process_time() - begin):,.0f}/s"


def milliseconds(what: Callable[[], object]) -> str:
    begin = time.process_time()
    what()
    return f"{(time.process_time() - begin) * 1e3:,.1f} ms"


def half_new(nodes: int) -> list[dict[str, Any]]:
    return [{"id": number, "name": "new"} for number in range(nodes // 2, nodes + nodes // 2)]


def warm_up() -> None:
    """Import and compile what statements need when they are first given."""
    for _ in qengine_bulk(qengine.Graph(), 100, 50):
        pass


def qengine_bulk(graph: qengine.Graph, nodes: int, batch: int) -> Iterator[tuple[str, str]]:
    people, links = rows_of(nodes)
    yield NODES_LINE, rate(nodes, lambda: in_batches(graph.query, NODES, people, batch))
    yield LINKS_LINE, rate(len(links), lambda: in_batches(graph.query, LINKS, links, batch))
    yield COUNT_LINE, milliseconds(lambda: graph.query(COUNT).fetchall())
    assert graph.query(COUNT).fetchall() == [(len(links),)]
    yield MERGE_LINE, rate(nodes, lambda: in_batches(graph.query, MERGE, half_new(nodes), batch))
    assert graph.query("MATCH (p:Person) RETURN count(p)").fetchall() == [(nodes + nodes // 2,)]


def qengine_lines(nodes: int, batch: int) -> Iterator[tuple[str, str]]:
    warm_up()
    graph = qengine.Graph()
    yield from qengine_bulk(graph, nodes, batch)
    with tempfile.TemporaryDirectory() as scratch:
        qengine.Graph().save(Path(scratch) / "graph")
        opened = qengine.open(Path(scratch) / "graph")
        for what, text in qengine_bulk(opened, nodes, batch):
            yield f"{what}, in a folder", text
        opened.close()
    yield from appended_lines(*rows_of(nodes))

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


def kuzu_lines(nodes: int, batch: int) -> Iterator[tuple[str, str]]:
    import kuzu

    people, links = rows_of(nodes)
    with tempfile.TemporaryDirectory() as scratch:
        connection = kuzu.Connection(kuzu.Database(str(Path(scratch) / "db")))
        connection.execute("CREATE NODE TABLE Person(id INT64, name STRING, PRIMARY KEY (id))")
        connection.execute("CREATE REL TABLE KNOWS(FROM Person TO Person, since INT64)")
        yield NODES_LINE, rate(nodes, lambda: in_batches(connection.execute, NODES, people, batch))
        few = links[:KUZU_ROWS]
        yield LINKS_LINE, rate(len(few), lambda: in_batches(connection.execute, LINKS, few, batch))
        yield COUNT_LINE, milliseconds(lambda: connection.execute(COUNT).get_next())
        assert connection.execute(COUNT).get_next() == [len(few)]
        both = [{"id": nodes + number, "name": "new"} for number in range(-KUZU_ROWS // 2, KUZU_ROWS // 2)]
        yield MERGE_LINE, rate(len(both), lambda: in_batches(connection.execute, MERGE, both, batch))
        assert connection.execute("MATCH (p:Person) RETURN count(p)").get_next() == [nodes + KUZU_ROWS // 2]


if __name__ == "__main__":
    main()
