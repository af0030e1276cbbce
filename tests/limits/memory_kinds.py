# ruff: noqa: E501 - a kind a line
"""Kinds of query that take much memory: one at least for each clause, operator, function and way to ask that can."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from qengine import Result

MB = 1_000_000


@dataclass(frozen=True, slots=True)
class MemoryKind:
    """A query that takes far more than its limit if nothing looks at it, or could be answered within it.

    ``quick``: whether ``make test`` runs it. ``answers``: whether it must be answered, for it needs little at a time.
    ``gather``: how its result is taken.
    """

    name: str
    text: str
    limit: int = 100 * MB
    quick: bool = False
    answers: bool = False
    gather: Callable[[Result], Any] = Result.fetchall
    parameters: Mapping[str, Any] = field(default_factory=dict)


def long(doublings: int, text: str = "a") -> str:
    """Return an expression for a long string."""
    return f"reduce(s = '{text}', i IN range(1, {doublings}) | s + s)"


def drained(result: Result) -> None:
    for _ in result:
        pass


def read(result: Result) -> None:
    for _ in result.to_reader():
        pass


BIG = long(23)  # 8.4 MB

_ONE_VALUE = [
    ("list of long strings", f"RETURN size([x IN range(1, 60) | {long(25)} + toString(x)])"),
    ("nested lists", "RETURN size([x IN range(1, 3000) | [y IN range(1, 20000) | x * y]])"),
    ("literal list", f"RETURN size([{', '.join([BIG + ' + 1'] * 40)}])"),
    ("map of long strings", f"RETURN size(keys({{a: [x IN range(1, 40) | {long(24, 'é𝒳')} + toString(x)]}}))"),
    ("literal map", f"RETURN {{{', '.join(f'k{i}: {BIG} + {i}' for i in range(40))}}} AS m"),
    ("split characters", f"RETURN size(split({long(24)}, ''))"),
    ("split wide characters", f"RETURN size(split({long(22, '𝒳')}, ''))"),
    ("split at letters", f"RETURN size(split({long(23, 'ab')}, 'b'))"),
    ("split at a list", f"RETURN size(split({long(23, 'abc')}, ['a', 'c']))"),
    ("replace", f"RETURN size(replace({long(22)}, 'a', '{'b' * 30}'))"),
    ("replace by wide", f"RETURN size(replace({long(25)}, 'a', '𝒳'))"),
    ("replaced row", f"MATCH (n:A {{id: 0}}) RETURN size(replace({long(21)} + n.s, 'a', '{'b' * 60}'))"),
    ("wide concatenation", f"RETURN size({long(25)} + '𝒳')"),
    ("reverse", f"RETURN size(reverse({long(24, '𝒳')}))"),
    ("upper", f"RETURN size(toUpper({long(23, 'ΐ')}))"),
    ("normalize", f"RETURN size(normalize({long(22, 'ﷺ')}, 'NFKD'))"),
    ("substrings", f"RETURN size([i IN range(0, 100) | substring({long(24)}, i)])"),
    ("trims", f"RETURN size([i IN range(0, 100) | trim(' ' + {long(24)})])"),
    ("range", "RETURN size(range(1, 16000000))"),
    ("sum of lists", "RETURN size(reduce(l = [0, 1], i IN range(1, 23) | l + l))"),
    ("slices", "RETURN size([i IN range(1, 100) | range(1, 100000)[i..]])"),
    ("tails", "WITH range(1, 100000) AS l RETURN size([i IN range(1, 200) | tail(l)])"),
    (
        "text beside items",
        f"UNWIND [1, 2] AS k WITH {long(24)} + toString(k) AS t RETURN [i IN range(1, 900) | size(t) + i][9]",
    ),
    (
        "texts beside items",
        f"UNWIND range(1, 300) AS k WITH {long(14)} + toString(k) AS t, k RETURN sum(size([i IN range(1, 900) | t > i]))",
    ),
    (
        "items of texts",
        f"UNWIND range(1, 300) AS k WITH [i IN range(1, 9) | {long(14)} + toString(k)] AS l RETURN sum(size([t IN l | t + t]))",
    ),
    ("strings of numbers", "RETURN size([i IN range(1, 10000000) | toString(i)])"),
    ("toStringList", "RETURN size(toStringList(range(1, 8000000)))"),
    ("maps in a list", "RETURN size([i IN range(1, 2000000) | {a: i, b: i}])"),
    ("lists of words", "RETURN size([i IN range(1, 400000) | split('a b c d e f', ' ')])"),
    (
        "labels and keys",
        "MATCH (n:A {id: 0}) RETURN size([i IN range(1, 1000000) | [labels(n), keys(n), properties(n)]])",
    ),
    ("quantifier", f"RETURN any(x IN [i IN range(1, 60) | {BIG} + i] WHERE x = 'b')"),
    ("case", f"RETURN size(CASE WHEN size({BIG}) > 3 THEN [x IN range(1, 60) | {BIG} + x] END)"),
    ("coalesce", f"UNWIND range(1, 60) AS x WITH x, {BIG} AS s RETURN size(coalesce(null, s + x, s))"),
]

_ROWS = [
    ("rows of long", f"UNWIND range(1, 60) AS x RETURN max(size({BIG} + toString(x)))", True),
    ("rows of medium", f"UNWIND range(1, 3000) AS x RETURN max(size({long(17)} + toString(x)))", True),
    ("columns of medium", f"MATCH (n:A) WHERE n.id < 3000 WITH n.s + {long(16)} AS s RETURN sum(size(s + s))", True),
    (
        "column functions",
        f"MATCH (n:A) WHERE n.id < 3000 WITH {long(15)} + n.s AS s "
        "RETURN sum(size(reverse(toUpper(replace(s + s, 'a', 'bcd')))))",
        True,
    ),
    (
        "column split",
        f"MATCH (n:A) WHERE n.id < 3000 WITH {long(15, 'a,')} + n.s AS s RETURN sum(size(split(s, ',')))",
        True,
    ),
    (
        "column of lists",
        f"MATCH (n:A) WHERE n.id < 3000 WITH {long(14)} + n.s AS s RETURN sum(size([s, s + s, 'a']))",
        True,
    ),
    (
        "column of choices",
        f"MATCH (n:A) WHERE n.id < 3000 WITH n, {long(14)} + n.s AS s "
        "RETURN sum(size(CASE WHEN n.id % 2 = 0 THEN s + s ELSE 'b' + s END))",
        True,
    ),
    ("filter", f"UNWIND range(1, 60) AS x WITH x WHERE size({BIG} + x) > 3 RETURN count(*)", True),
    ("filter rows", f"UNWIND range(1, 60) AS x WITH {BIG} + x AS s WHERE size(s) > 3 RETURN count(*)", True),
    ("unwind of long", f"UNWIND [x IN range(1, 100) | {long(24)} + toString(x)] AS z RETURN max(size(z))", False),
    ("unwind of a range", "UNWIND range(1, 16000000) AS x RETURN sum(x)", False),
    ("unwind beside long", f"WITH {BIG} AS s UNWIND range(1, 3000) AS x RETURN count(s), sum(size(s))", True),
    (
        "unwind beside medium",
        f"UNWIND range(1, 50) AS y WITH y, {long(18)} + y AS s UNWIND range(1, 300) AS x RETURN sum(size(s))",
        True,
    ),
    ("unwind of unwinds", "UNWIND [x IN range(1, 300) | range(x, x + 20000)] AS l UNWIND l AS i RETURN sum(i)", False),
    ("match beside long", f"WITH {BIG} AS s MATCH (n:A) RETURN sum(size(s)), count(n)", True),
    (
        "match beside medium",
        f"MATCH (n:A) WHERE n.id < 300 WITH n, {long(16)} + n.s AS s MATCH (n)-->(m) RETURN sum(size(s))",
        True,
    ),
    (
        "optional beside medium",
        f"MATCH (n:A) WHERE n.id < 300 WITH n, {long(16)} + n.s AS s OPTIONAL MATCH (n)-->(m) RETURN sum(size(s))",
        True,
    ),
    (
        "walk beside medium",
        f"MATCH (n:A) WHERE n.id > 19900 WITH n, {long(12)} + n.s AS s MATCH (n)-[*1..2]->(m) RETURN sum(size(s))",
        True,
    ),
    (
        "join beside long",
        f"UNWIND range(1, 40) AS x WITH x, {long(16)} + x AS s MATCH (a:A), (b:A) "
        "WHERE a.id = x AND b.k = a.k RETURN sum(size(s))",
        True,
    ),
    ("cross product", "MATCH (a:A), (b:A) WHERE a.id < 2000 WITH a, b, a.s + b.s AS s RETURN count(s)", True),
    ("union", " UNION ALL ".join([f"UNWIND range(1, 30) AS x RETURN size({BIG} + x) AS n"] * 3), True),
    ("rows of lists", "UNWIND range(1, 2000) AS x WITH range(x, x + 10000) AS l RETURN sum(size(l))", True),
    (
        "rows of maps",
        "UNWIND range(1, 300) AS x WITH [i IN range(1, 5000) | {a: i, b: x}] AS l RETURN sum(size(l))",
        True,
    ),
    ("patterns from data", "MATCH (n:A) RETURN count(CASE WHEN n.s =~ (n.s + '(?=.*)' + '.*') THEN 1 END)", True),
    ("regular expression", f"RETURN ({long(21)} + 'é') =~ '(a|\\\\ba)*b'", False),
    ("top few long", f"UNWIND range(1, 200) AS x WITH {long(22)} + x AS z RETURN size(z) ORDER BY z LIMIT 2", False),
    ("top few", f"UNWIND range(1, 200) AS x WITH {long(20)} + x AS z RETURN size(z) ORDER BY z LIMIT 2", True),
    ("limit", f"UNWIND range(1, 1000) AS x WITH {BIG} + x AS s RETURN size(s) LIMIT 3", True),
    ("skip", f"UNWIND range(1, 40) AS x WITH {BIG} + x AS s SKIP 30 RETURN size(s)", True),
]

_HELD = [
    ("collect long", f"UNWIND range(1, 200) AS x RETURN size(collect({BIG} + toString(x)))"),
    ("collect medium", f"UNWIND range(1, 3000) AS x RETURN size(collect({long(17)} + toString(x)))"),
    ("collect numbers", "UNWIND range(1, 300) AS y UNWIND range(1, 100000) AS x RETURN size(collect(x + y))"),
    ("collect maps", "UNWIND range(1, 300) AS y UNWIND range(1, 10000) AS x RETURN size(collect({a: x, b: y}))"),
    ("collect distinct", f"UNWIND range(1, 3000) AS x RETURN size(collect(DISTINCT {long(16)} + toString(x)))"),
    ("collect by key", f"UNWIND range(1, 3000) AS x WITH x % 100 AS k, {long(16)} + x AS s RETURN sum(size(collect(s)))"
                       .replace("RETURN sum(size(collect(s)))", "WITH k, collect(s) AS l RETURN sum(size(l))")),
    ("count distinct", "UNWIND range(1, 100) AS y UNWIND range(1, 100000) AS x RETURN count(DISTINCT x * 1000 + y)"),
    ("count distinct strings", f"UNWIND range(1, 5000) AS x RETURN count(DISTINCT {long(15)} + x)"),
    ("percentile", "UNWIND range(1, 60) AS y UNWIND range(1, 100000) AS x RETURN percentileDisc(x * y, 0.5)"),
    ("standard deviation", "UNWIND range(1, 60) AS y UNWIND range(1, 100000) AS x RETURN stDev(x * y)"),
    ("groups", "UNWIND range(1, 60) AS y UNWIND range(1, 100000) AS x WITH x * 100 + y AS k, count(*) AS c RETURN sum(c)"),
    ("groups of pairs", "/*+ eliminate */ MATCH (a:A)-->()-->(c:A) WITH a.id AS a, c.id AS c, count(*) AS n RETURN sum(n)"),
    ("groups of strings", f"UNWIND range(1, 5000) AS x WITH {long(15)} + x AS k, count(*) AS c RETURN sum(c)"),
    ("groups of lists", "UNWIND range(1, 30) AS y UNWIND range(1, 30000) AS x WITH [x, y] AS k, count(*) AS c RETURN sum(c)"),
    ("max of strings", f"UNWIND range(1, 3000) AS x WITH x AS k, max({long(16)} + x) AS m RETURN max(size(m))"),
    ("distinct", "MATCH (a:A)-->(b), (c:A)-->(d) WHERE a.id < 300 AND c.id > 19000 WITH DISTINCT a, b, c, d RETURN count(*)"),
    ("distinct strings", f"UNWIND range(1, 5000) AS x WITH DISTINCT {long(15)} + x AS s RETURN count(s)"),
    ("union distinct", f"UNWIND range(1, 5000) AS x RETURN {long(15)} + x AS s UNION UNWIND range(1, 9) AS x RETURN 'a' AS s"),
    ("sort", "UNWIND range(1, 100) AS y UNWIND range(1, 100000) AS x WITH x * y AS n ORDER BY n SKIP 5 RETURN count(n)"),
    ("sort long", f"UNWIND range(1, 200) AS x WITH {BIG} + x AS z ORDER BY z RETURN sum(size(z))"),
    ("sort medium", f"UNWIND range(1, 3000) AS x WITH {long(16)} + x AS z ORDER BY z RETURN sum(size(z))"),
    ("sort by an expression", f"UNWIND range(1, 3000) AS x WITH x ORDER BY {long(16)} + x RETURN count(x)"),
    ("sort lists", "UNWIND range(1, 30) AS y UNWIND range(1, 30000) AS x WITH [x, y] AS l ORDER BY l RETURN count(l)"),
    ("pattern comprehension", f"MATCH (a:A {{id: 1}}) RETURN size([(a)-->(b) | {long(20)} + toString(b.id)])"),
    ("collect subquery", "MATCH (a:A) WHERE a.id < 2000 RETURN sum(size(COLLECT { MATCH (b:A) WHERE b.id < 5000 RETURN b.id + a.id }))"),
    ("hash join", "/*+ join(a, b, c | c, d, e) */ MATCH (a:A)-->(b)-->(c), (c)-->(d)-->(e) RETURN count(DISTINCT a)"),
    ("named paths", "MATCH p = (a:A)-->(b)-->(c) WHERE a.id < 3000 RETURN size(collect(p))"),
    ("walks", "MATCH (a:A)-[r*1..3]->(b) WHERE a.id < 200 RETURN size(collect(r))"),
    ("shortest paths", "MATCH p = shortestPath((a:A)-[*]-(b:A)) WHERE a.id < 300 RETURN size(collect(nodes(p)))"),
    ("ends of walks", "MATCH (a:A)-[*]-(b) WHERE a.id < 200 RETURN size(collect(DISTINCT [a, b]))"),
    ("nodes of paths", "MATCH p = (a:A)-[*1..3]->(b) WHERE a.id < 100 RETURN last(collect([nodes(p), relationships(p)]))"),
]  # fmt: skip

_RESULTS = [
    ("rows of a result", "UNWIND range(1, 100) AS y UNWIND range(1, 100000) AS x RETURN x, y", Result.fetchall),
    ("strings of a result", f"UNWIND range(1, 3000) AS x RETURN {long(16)} + x AS s", Result.fetchall),
    ("nodes of a result", "MATCH (a:A)-->(b) RETURN a, b", Result.fetchall),
    ("paths of a result", "MATCH p = (a:A)-->(b)-->(c) RETURN p", Result.fetchall),
    ("lists of a result", "MATCH (a:A) RETURN range(1, 300) + a.id AS l", Result.fetchall),
    ("maps of a result", "MATCH (a:A)-->(b) RETURN {a: a.id, b: b.s, l: [1, 2, b.k]} AS m", Result.fetchall),
    ("table of rows", "UNWIND range(1, 100) AS y UNWIND range(1, 100000) AS x RETURN x, y", Result.to_arrow),
    ("table of strings", f"UNWIND range(1, 3000) AS x RETURN {long(16)} + x AS s", Result.to_arrow),
    ("table of nodes", "MATCH (a:A)-->(b) RETURN a, b", Result.to_arrow),
    ("table of lists", "WITH range(1, 3000) AS l MATCH (a:A) RETURN l, a.id", Result.to_arrow),
    ("table of maps", "MATCH (a:A)-->(b) RETURN {a: a.id, b: b.s, l: [1, 2, b.k]} AS m", Result.to_arrow),
    ("table of a constant", f"WITH {long(20)} AS s MATCH (a:A) RETURN s, a.id", Result.to_arrow),
    ("table of mixed values", "MATCH (a:A)-->(b) RETURN CASE WHEN a.id < 5000 THEN a.id ELSE a.s END AS v, b.s", Result.to_arrow),
    ("reader of strings", f"UNWIND range(1, 3000) AS x RETURN {long(16)} + x AS s", read),
    ("reader of a constant", f"WITH {long(16)} AS s MATCH (a:A) RETURN s, a.id", read),
    ("frame of rows", "UNWIND range(1, 100) AS y UNWIND range(1, 100000) AS x RETURN x, y", Result.to_pandas),
]  # fmt: skip

_STREAMS = [
    ("stream of rows", "UNWIND range(1, 100) AS y UNWIND range(1, 100000) AS x RETURN x, y", drained),
    ("stream of strings", f"UNWIND range(1, 3000) AS x RETURN {long(16)} + x AS s", drained),
    ("stream of long", f"UNWIND range(1, 60) AS x RETURN {BIG} + x AS s", drained),
    ("stream of nodes", "MATCH (a:A)-->(b) RETURN a, b", drained),
    ("stream of a constant", f"WITH {long(20)} AS s MATCH (a:A) RETURN s, a.id", drained),
]

_PARAMETERS = [
    ("long list given", "UNWIND $l AS x RETURN sum(x)", {"l": list(range(3_000_000))}),
    ("given beside rows", "MATCH (a:A) WITH a, $l AS l RETURN sum(size(l))", {"l": list(range(100_000))}),
    ("given string", "MATCH (a:A) WITH a.s + $s AS s RETURN sum(size(s))", {"s": "x" * 100_000}),
    ("given membership", "MATCH (a:A) WHERE a.id IN $l RETURN count(*)", {"l": list(range(1_000_000))}),
]

_QUICK = {
    "map of long strings", "replace", "split wide characters", "rows of long", "collect long",
    "sort medium", "match beside medium", "strings of a result", "table of lists", "stream of long", "percentile",
}  # fmt: skip

MEMORY_KINDS = [
    *(MemoryKind(name, text, quick=name in _QUICK) for name, text in _ONE_VALUE),
    *(MemoryKind(name, text, quick=name in _QUICK, answers=answers) for name, text, answers in _ROWS),
    *(MemoryKind(name, text, 50 * MB, quick=name in _QUICK) for name, text in _HELD),
    *(MemoryKind(name, text, 50 * MB, quick=name in _QUICK, gather=gather) for name, text, gather in _RESULTS),
    *(MemoryKind(name, text, answers=True, quick=name in _QUICK, gather=gather) for name, text, gather in _STREAMS),
    *(MemoryKind(name, text, parameters=given) for name, text, given in _PARAMETERS),
]
