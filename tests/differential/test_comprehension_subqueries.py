"""Subqueries over a comprehension's variable: the CPU executor agrees with the reference."""

from __future__ import annotations

import pytest

from qengine import Graph, Unsupported
from qengine.testing.compare import agree

GRAPH = Graph.from_records(
    [{"id": i, "labels": ["A"] if i % 3 else ["B"], "properties": {"x": i % 4, "l": [i, 1]}} for i in range(8)],
    [{"type": "RS"[i % 2], "start": i * 5 % 8, "end": (i * 3 + i // 4) % 8} for i in range(16)],
)


@pytest.mark.parametrize(
    "query",
    [
        "MATCH p = (a)-->(b)-->(c) RETURN a, b, c, [n IN nodes(p) WHERE EXISTS { (n)-->(:B) } | n.x] AS xs",
        "MATCH p = (a)-->(b)-->(c) RETURN a, b, c, [n IN nodes(p) WHERE EXISTS { (n)-->(:B) }] AS ns",
        "MATCH p = (a)-->(b) RETURN a, b, [n IN nodes(p) | size([(n)-->(m) | m.x])] AS degrees",
        "MATCH p = (a)-->(b) WHERE all(n IN nodes(p) WHERE (n)-->(:B)) RETURN a, b",
        "MATCH p = (a)-->(b) WHERE none(n IN nodes(p) WHERE (n)-[:S]->(:B)) RETURN a, b",
        "MATCH (a) WHERE any(x IN a.l WHERE COUNT { (a)-->({x: x}) } > 0) RETURN a",
        "MATCH (a) WHERE single(x IN a.l WHERE EXISTS { (a)--({x: x}) }) RETURN a",
        "MATCH (a) RETURN a, [x IN a.nothing WHERE EXISTS { (a)-->({x: x}) }] AS xs",
        "MATCH (a) RETURN a, reduce(s = 0, x IN [3, 1, 2, 0] | s + x * COUNT { (a)-->({x: x}) }) AS s",
        "MATCH (a) RETURN a, [x IN [3, 1, 2, 0] | [y IN [0, 1] WHERE EXISTS { (a)-->({x: x + y}) }]] AS xs",
        "MATCH (a) WITH a ORDER BY a.x WITH collect(a) AS ns RETURN size([n IN ns WHERE COUNT { (n)--() } > 3]) AS n",
        "UNWIND [[1, 2], null, [], [null, 7]] AS l RETURN [x IN l | COUNT { (n {x: x}) }] AS counts",
        "MATCH (a) RETURN a.x AS x ORDER BY size([y IN [0, 1, 2] WHERE EXISTS { (a)-->({x: y}) }]), x LIMIT 3",
        "MATCH (a) RETURN count([x IN a.l WHERE EXISTS { (a)-->({x: x}) }]) AS c",
        "MATCH (a) RETURN a, COUNT { MATCH (a)-->(b) WHERE all(x IN b.l WHERE (b)-->({x: x}) OR x > 0) } AS c",
    ],
)
def test_agreement(query: str) -> None:
    assert agree(GRAPH, query)


def test_the_accumulator_of_reduce_is_refused() -> None:
    with pytest.raises(Unsupported, match=r"accumulator of reduce\(\)"):
        GRAPH.query("MATCH (a) RETURN reduce(s = 0, x IN a.l | s + COUNT { (a)-->({x: s}) }) AS s")
