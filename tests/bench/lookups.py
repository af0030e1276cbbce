"""Looking nodes up by values of their properties, beside DuckDB (with indexes) and Kùzu (with a primary key).

Run as ``python -m tests.bench.lookups --nodes 100000,1000000``. Answers are compared before times are printed: medians
over executions with different values, from call to rows, by one thread that is warm.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import qengine
from qengine._frozen import frozen
from tests.bench.timing import seconds

Rows = list[tuple[Any, ...]]
Ask = Callable[[str, dict[str, Any]], Rows]

_DEGREE = 3  # relationships a node
_SCANS = 20  # executions after which all indexes are there
_clocked = partial(seconds, clock=time.perf_counter)


@frozen
class Lookup:
    """A look-up in both languages, and how its parameters are drawn, of so many nodes."""

    name: str
    cypher: str
    sql: str
    draw: Callable[[np.random.Generator, int], dict[str, Any]]


def _one(rng: np.random.Generator, count: int) -> dict[str, Any]:
    return {"v": int(rng.integers(count))}


def _name(rng: np.random.Generator, count: int) -> dict[str, Any]:
    return {"v": f"name {rng.integers(count)}"}


def _few(rng: np.random.Generator, count: int) -> dict[str, Any]:
    return {"v": rng.integers(0, count, 100).tolist()}


def _range(rng: np.random.Generator, count: int) -> dict[str, Any]:
    low = float(rng.random())
    return {"low": low, "high": low + 10 / count}


def _prefix(rng: np.random.Generator, count: int) -> dict[str, Any]:
    return {"v": f"name {rng.integers(count // 10, count // 10 * 2)}"}


_HOP = "SELECT m.id FROM p n JOIN k ON k.src = n.id JOIN p m ON m.id = k.dst WHERE n.id = $v"
_IN = "SELECT name FROM p WHERE id IN (SELECT unnest($v))"

LOOKUPS = (
    Lookup("key", "MATCH (n:P {id: $v}) RETURN n.name", "SELECT name FROM p WHERE id = $v", _one),
    Lookup("text", "MATCH (n:P {name: $v}) RETURN n.id", "SELECT id FROM p WHERE name = $v", _name),
    Lookup("one hop", "MATCH (n:P {id: $v})-[:K]->(m:P) RETURN m.id", _HOP, _one),
    Lookup("100 keys", "MATCH (n:P) WHERE n.id IN $v RETURN n.name", _IN, _few),
    Lookup(
        "range",
        "MATCH (n:P) WHERE n.score >= $low AND n.score < $high RETURN n.id",
        "SELECT id FROM p WHERE score >= $low AND score < $high",
        _range,
    ),
    Lookup(
        "prefix",
        "MATCH (n:P) WHERE n.name STARTS WITH $v RETURN n.id",
        "SELECT id FROM p WHERE starts_with(name, $v)",
        _prefix,
    ),
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description="look-ups by value, beside DuckDB and Kùzu")
    parser.add_argument("--nodes", default="100000,1000000", help="sizes")
    parser.add_argument("--repeat", type=int, default=200, help="executions, of our own; peers take a tenth where slow")
    parser.add_argument("--peers", default="duckdb,kuzu")
    options = parser.parse_args()
    for size in map(int, options.nodes.split(",")):
        with tempfile.TemporaryDirectory() as scratch:
            _measured(size, options.repeat, options.peers.split(","), Path(scratch))


def _measured(size: int, repeat: int, peers: Sequence[str], scratch: Path) -> None:
    nodes, edges = _tables(size)
    graph = qengine.Graph.from_arrow({"P": nodes}, [("K", "P", "P", edges)], key="id")
    graph.query("MATCH (n:P) RETURN count(n.id)").fetchall()  # what is imported late is there
    asked: dict[str, Ask] = {"qengine": _ours(graph)}
    if "duckdb" in peers:
        asked["duckdb"] = _duckdb(nodes, edges)
    if "kuzu" in peers:
        asked["kuzu"] = _kuzu(nodes, edges, scratch)
    print(f"\n{size:,} nodes, {len(edges):,} relationships; microseconds\n")
    print(f"| look-up | first | longest | {' | '.join(asked)} |")
    print("|---" * (3 + len(asked)) + "|")
    for each in LOOKUPS:
        rng = np.random.default_rng(size)
        drawn = [each.draw(rng, size) for _ in range(repeat)]
        times = _first(asked["qengine"], each.cypher, drawn[0])
        expected = [sorted(asked["qengine"](each.cypher, one)) for one in drawn[:5]]
        for name, ask in asked.items():
            text = each.sql if name == "duckdb" else each.cypher
            found = [sorted(map(tuple, ask(text, one))) for one in drawn[:5]]
            assert found == expected, (each.name, name, found, expected)
            times.append(_median(ask, text, drawn))
        print(f"| {each.name} | {' | '.join(f'{1e6 * each:,.0f}' for each in times)} |", flush=True)
    _texts(graph, size, repeat)


def _texts(graph: qengine.Graph, size: int, repeat: int) -> None:
    """Print what a look-up takes whose values stand in its text: a text seen before, and others."""
    text = "MATCH (n:P {{id: {}}}) RETURN n.name"
    rng = np.random.default_rng(3)
    values = rng.choice(size, repeat, replace=False).tolist()
    graph.query(text.format(values[0])).fetchall()
    seen = median(_clocked(lambda: graph.query(text.format(values[0])).fetchall()) for _ in values)
    unseen = median(_clocked(lambda v=v: graph.query(text.format(v)).fetchall()) for v in values[1:])
    fresh = [f"MATCH (n{k}:P {{id: {v}}}) RETURN n{k}.name" for k, v in enumerate(values)]
    planned = median(_clocked(lambda each=each: graph.query(each).fetchall()) for each in fresh)
    print(
        f"\nkey, from a text seen before {1e6 * seen:,.0f}, from one that differs in its literal {1e6 * unseen:,.0f}, "
        f"from one that is planned {1e6 * planned:,.0f}",
        flush=True,
    )


def _first(ask: Ask, text: str, params: dict[str, Any]) -> list[float]:
    """Return the seconds of the first execution, and of the longest after it: where an index is made, that one."""
    first, *others = [_clocked(lambda: ask(text, params)) for _ in range(_SCANS)]
    return [first, max(others)]


def _median(ask: Ask, text: str, drawn: Sequence[dict[str, Any]]) -> float:
    """Return the median time; of fewer executions where one takes long."""
    slow = _clocked(lambda: ask(text, drawn[0])) > 0.01
    return median(_clocked(lambda one=one: ask(text, one)) for one in (drawn[: len(drawn) // 10] if slow else drawn))


def _tables(size: int) -> tuple[pa.Table, pa.Table]:
    rng = np.random.default_rng(1)
    ids = rng.permutation(size)
    names = pa.array(np.char.add("name ", ids.astype(str)))
    ends = {name: rng.integers(0, size, size * _DEGREE) for name in ("start", "end")}
    return pa.table({"id": ids, "name": names, "score": rng.random(size)}), pa.table(ends)


def _ours(graph: qengine.Graph) -> Ask:
    prepared: dict[str, Any] = {}

    def ask(text: str, params: dict[str, Any]) -> Rows:
        if text not in prepared:
            prepared[text] = graph.prepare(text)
        return prepared[text].run(params).fetchall()  # type: ignore[no-any-return]

    return ask


def _duckdb(nodes: pa.Table, edges: pa.Table) -> Ask:
    import duckdb

    connection = duckdb.connect(":memory:", config={"threads": 2})
    connection.register("nodes", nodes)
    connection.register("edges", edges)
    connection.execute('CREATE TABLE p AS FROM nodes; CREATE TABLE k AS SELECT start AS src, "end" AS dst FROM edges')
    for place in ("p (id)", "p (name)", "p (score)", "k (src)"):
        connection.execute(f'CREATE INDEX "index of {place}" ON {place}')
    return lambda text, params: connection.execute(text, params).fetchall()


def _kuzu(nodes: pa.Table, edges: pa.Table, scratch: Path) -> Ask:
    import kuzu

    pq.write_table(nodes, scratch / "p.parquet")
    pq.write_table(edges, scratch / "k.parquet")
    connection = kuzu.Connection(kuzu.Database(str(scratch / "kuzu")), num_threads=2)
    connection.execute("CREATE NODE TABLE P(id INT64, name STRING, score DOUBLE, PRIMARY KEY(id))")
    connection.execute("CREATE REL TABLE K(FROM P TO P)")
    connection.execute(f"COPY P FROM '{scratch}/p.parquet'")
    connection.execute(f"COPY K FROM '{scratch}/k.parquet'")

    def ask(text: str, params: dict[str, Any]) -> Rows:
        for name, value in params.items():  # its index takes no parameters
            text = text.replace(f"${name}", repr(value))
        return [tuple(row) for row in connection.execute(text).get_all()]

    return ask


if __name__ == "__main__":
    os.environ.setdefault("QENGINE_CONFIG_DIR", os.devnull)
    main()
