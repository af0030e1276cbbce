"""Kinds of heavy query: at least one for each clause, operator and way to ask, each beyond what a test waits for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Kind:
    """A query that takes long, or much memory, if nothing stops it.

    ``graph``: a name of ``graphs.graph``. ``parameters``: makes the values of ``$name``. ``by``: how it is asked for, a
    name of ``ways.WAYS``. ``options``: of that call. ``quick``: whether ``make test`` runs it; else ``make test-nets``.
    ``clean``: whether it may also end by itself, with rows or an error, before anything stops it: then it shows only
    that whatever happens is a clean error.
    """

    name: str
    text: str
    graph: str = "skewed"
    parameters: Callable[[], dict[str, Any]] | None = None
    by: str = "fetchall"
    options: Mapping[str, Any] = field(default_factory=dict)
    quick: bool = False
    clean: bool = False

    def values(self) -> dict[str, Any] | None:
        """Return the parameters, made anew."""
        return None if self.parameters is None else self.parameters()


def _clique(n: int) -> str:
    return ", ".join(f"(x{i})--(x{j})" for i in range(n) for j in range(i))


def _searches() -> list[Kind]:
    return [
        Kind("cycle4", "MATCH (a)--(b)--(c)--(d)--(a) WHERE a.k + c.k > b.k * d.k RETURN count(*)", quick=True),
        Kind("cycle5", "MATCH (a)-->(b)-->(c)-->(d)-->(e)-->(a) WHERE a.k <> d.k RETURN count(*)"),
        Kind("clique5", f"MATCH {_clique(5)} RETURN count(*)"),
        Kind("clique9", f"MATCH {_clique(9)} RETURN count(*)", graph="clique"),
        Kind("path rows", "MATCH (a)--(b)--(c)--(d) RETURN a, b, c, d", quick=True),
        Kind("path numbers", "MATCH (a)--(b)--(c)--(d) RETURN a.k, b.k, c.f, d.f"),
        Kind("different nodes", "MATCH DIFFERENT NODES (a)--(b)--(c)--(d)--(e)--(a) RETURN count(*)", graph="clique"),
        Kind("repeated nodes", "MATCH REPEATABLE ELEMENTS (a)--(b)--(c)--(a) WHERE a.k < b.k + c.k RETURN sum(a.k)"),
        Kind("relationship values", "MATCH (a)-[r]->(b)-[q]->(c)-[p]->() WHERE r.w + q.w + p.w > 30 RETURN count(*)"),
        Kind("scalar filter", "MATCH (a)--(b)--(c) WHERE left(a.s + c.s, 4) = right(b.s, 4) RETURN count(*)"),
        Kind("long path in a star",
             "MATCH DIFFERENT NODES (a)--(b)--(c)--(d)--(e) WHERE a.id+c.id<e.id RETURN count(*)", graph="star"),
        Kind("cartesian2", "MATCH (a), (b) WHERE sin(a.f * b.f) > 0.84 RETURN count(*)", quick=True),
        Kind("cartesian3", "MATCH (a), (b), (c) WHERE a.s + b.s = c.s RETURN count(*)"),
        Kind("cartesian4", "MATCH (a), (b), (c), (d) WHERE a.f + b.f < c.f * d.f RETURN a.k, count(*)"),
        Kind("cartesian list", "MATCH (a), (b) RETURN [a, b, {x: a.s}]"),
        Kind("join of parts", "MATCH (a)--(b), (c)--(d) WHERE a.k = c.k AND b.s <> d.s RETURN count(*)"),
        Kind("join by value", "MATCH (a)--(b) MATCH (c)--(d) WHERE b.s = c.s RETURN count(*)"),
    ]  # fmt: skip


def _eliminations() -> list[Kind]:
    return [
        Kind("cycle6", "MATCH (a)--(b)--(c)--(d)--(e)--(f)--(a) RETURN count(*)"),
        Kind("cycle7", "MATCH (a)--(b)--(c)--(d)--(e)--(f)--(g)--(a) RETURN count(*)", quick=True),
        Kind("sums by node", "MATCH (a)--(b)--(c)--(d)--(e)--(f)--(a) RETURN a.k, sum(d.f), avg(c.k), count(*)"),
        Kind("groups of entries", "MATCH (a)-[r]->(b) RETURN a.id, b.id, r.w, sum(r.w), max(b.f), count(DISTINCT a.f)",
             quick=True, clean=True),
        Kind("groups of rows", "MATCH (a)-[r]->(b)-[q]->(c) RETURN a.id, c.id, sum(r.w), min(b.f), count(*)"),
        Kind("groups of pairs", "MATCH (a)--(b)--(c)--(d) RETURN a.k, d.s, sum(d.k), max(d.f), count(*)"),
        Kind("different by node", "MATCH (a)--(b)--(c)--(d) RETURN a.k % 3, count(DISTINCT d), min(d.f)"),
        Kind("cycle6 star", "MATCH (a)--(b)--(c)--(d)--(e)--(f)--(a) RETURN count(*)", graph="star"),
        Kind("path7 star", "MATCH DIFFERENT NODES (a)--(b)--(c)--(d)--(e)--(f)--(g) RETURN count(*)", graph="star"),
        Kind("tailed cliques", "MATCH (a)--(b)--(c)--(a), (a)--(d)--(b), (c)--(e)--(f)--(d) RETURN count(*)"),
        Kind("clique4 tails", f"MATCH {_clique(4)}, (x0)--(y)--(z), (x1)--(v)--(w) RETURN count(*)"),
        Kind("triangles by node", "MATCH (a)--(b)--(c)--(d)--(a), (b)--(e)--(a) RETURN a.id, count(*)"),
        Kind("squares by pair", "MATCH (a)--(b)--(c)--(d)--(a), (a)--(e)--(c) RETURN a.id, c.id, count(*)"),
        Kind("prism", "MATCH (a)--(b)--(c)--(a), (d)--(e)--(f)--(d), (a)--(d), (b)--(e), (c)--(f) RETURN count(*)"),
        Kind("weighted walk", "MATCH (a)--(b)--(c)--(d)--(e)--(f) WHERE a.k + c.k > b.k * f.k RETURN count(*)"),
    ]  # fmt: skip


def _walks() -> list[Kind]:
    return [
        Kind("trails", "MATCH (a)-[*1..8]->(b) RETURN count(*)", quick=True),
        Kind("trails without end", "MATCH (a {k: 1})-[*]->(b) RETURN count(*)"),
        Kind("trails of a grid", "MATCH (a)-[:E*]-(b) RETURN count(*)", graph="grid"),
        Kind("path lengths", "MATCH p = (a)-[*1..8]-(b) RETURN max(length(p))"),
        Kind("repetitions", "MATCH (a) ((x)-->(y)-->(z) WHERE x.k <> z.k){1,4} (b) RETURN count(*)", quick=True),
        Kind("shortest repetitions", "MATCH p = ALL SHORTEST (a) ((x)--(y)-->(z))+ (b) RETURN max(length(p))"),
        Kind("path rows of trails", "MATCH p = (a)-[*1..3]->(b) RETURN p", quick=True),
        Kind("long paths", "MATCH p = (a)-[*1..8]->(b) WHERE length(p) > 7 RETURN count(p)"),
        Kind("long paths of a grid", "MATCH p = (a)-[:E*]-(b) RETURN p", graph="grid"),
        Kind("lists of relationships", "MATCH (a)-[r*1..8]-(b) RETURN max(size(r))"),
        Kind("nodes of paths", "MATCH p = (a)-[*1..6]-(b) WHERE all(n IN nodes(p) WHERE n.k > 5) RETURN count(*)"),
        Kind("values of paths", "MATCH p = (a)-[*1..6]-(b) RETURN [n IN nodes(p) | n.k] AS x LIMIT 10000000"),
        Kind("relationships of paths", "MATCH p = (a)-[*1..6]-(b) RETURN [r IN relationships(p) | r.w] AS x"),
        Kind("repeated walks", "MATCH p = WALK (a)-[:T*1..7]->(b) RETURN count(p)"),
        Kind("acyclic", "MATCH p = ACYCLIC (a)-[:T*1..7]->(b) RETURN count(p)"),
        Kind("simple", "MATCH p = SIMPLE (a)-[:T*1..7]->(b) RETURN count(p)"),
        Kind("trail mode", "MATCH p = TRAIL (a)-[:T*1..7]->(b) RETURN count(p)"),
        Kind("distinct ends", "MATCH (a)-[*1..6]-(b) RETURN DISTINCT a, b"),
        Kind("counted ends", "MATCH (a)-[*]-(b) RETURN a.id, count(DISTINCT b)", quick=True),
        Kind("counted ends of a grid", "MATCH (a)-[:E*]-(b) RETURN a.id, count(DISTINCT b)", graph="grid"),
        Kind("quantified", "MATCH ((a)-[:T]->(b) WHERE a.k < b.k + 50){1,7} RETURN count(*)"),
        Kind("quantified lists", "MATCH (x) ((a)-[:T]->(b)){1,5} (y) RETURN [n IN a | n.k] AS ks"),
        Kind("repetitions", "MATCH ((a)-[:T]->(b)--(c)){1,9} RETURN count(*)", quick=True),
        Kind("repeated lists", "MATCH (x) ((a)-[q]->(b)-->(c)){1,9} (y) RETURN [n IN a | n.k] AS ks, q"),
        Kind("repetitions unrolled", "MATCH ((a)-[:T]->(b)-[r]-(c) WHERE a.k <> c.k){2,3} RETURN sum(b[0].k)"),
        Kind("ends of repetitions", "MATCH (a) ((u)--(v)--(w))+ (b) RETURN a.id, count(DISTINCT b)", quick=True),
        Kind("paths over a quantified one", "MATCH ALL SHORTEST (a)-->(x) ((u)-[:T]->(v))+ (b) RETURN count(*)"),
        Kind("predicate in a walk", "MATCH (a)-[r:T* {w: 3}]-(b) RETURN count(*)"),
        Kind("shortest", "MATCH p = shortestPath((a)-[*]-(b)) RETURN avg(length(p))"),
        Kind("shortest rows", "MATCH p = shortestPath((a)-[*]->(b)) RETURN p", quick=True),
        Kind("shortest of a grid", "MATCH p = shortestPath((a)-[*]-(b)) RETURN sum(length(p))", graph="grid"),
        Kind("all shortest", "MATCH p = ALL SHORTEST (a)-[*]-(b) RETURN count(p)"),
        Kind("all shortest of a grid", "MATCH p = ALL SHORTEST (a)-[*]-(b) RETURN count(p)", graph="grid"),
        Kind("any shortest", "MATCH p = ANY SHORTEST (a)-[*]-(b) RETURN count(p)"),
        Kind("shortest 50", "MATCH p = SHORTEST 50 (a)-[*]->(b) RETURN count(p)"),
        Kind("shortest groups", "MATCH p = SHORTEST 3 GROUPS (a)-[*]-(b) RETURN count(p)", graph="grid"),
        Kind("shortest bound", "MATCH (a), (b) WHERE a.k = b.k MATCH p = shortestPath((a)-[*]->(b)) RETURN count(p)"),
        Kind("far in a grid", "MATCH (a {id: 0}), (b {id: 1599}) MATCH p = (a)-[:E*]-(b) RETURN count(p)", "grid"),
    ]  # fmt: skip


def _rows() -> list[Kind]:
    return [
        Kind("top", "MATCH (a)--(b)--(c) RETURN a.s, b.s, c.s ORDER BY a.f * c.f, b.s LIMIT 5", quick=True),
        Kind("sort", "MATCH (a)--(b), (c) RETURN a.s + c.s AS x ORDER BY x"),
        Kind("sort numbers", "MATCH (a)--(b)--(c) RETURN a.f * c.f AS x ORDER BY x"),
        Kind("sort mixed", "MATCH (a)--(b)--(c) RETURN CASE WHEN a.k > 50 THEN a.s ELSE b.f END AS x ORDER BY x"),
        Kind("sort nodes", "MATCH (a)--(b)--(c) RETURN a, c ORDER BY c, a DESC"),
        Kind("skip", "MATCH (a)--(b)--(c)--(d) RETURN a SKIP 100000000000"),
        Kind("collect", "MATCH (a)--(b)--(c) RETURN size(collect(a.s + c.s))"),
        Kind("collect by node", "MATCH (a)--(b)--(c) RETURN a.id, collect(c)"),
        Kind("collect distinct", "MATCH (a)--(b)--(c) RETURN size(collect(DISTINCT a.s + c.s))"),
        Kind("distinct", "MATCH (a)--(b)--(c) RETURN DISTINCT a.s + b.s + c.s", quick=True),
        Kind("distinct lists", "MATCH (a)--(b)--(c) RETURN DISTINCT [a.k, b.s, c.f]"),
        Kind("count distinct", "MATCH (a)--(b)--(c)--(d) RETURN count(DISTINCT a.s + d.s)"),
        Kind("groups", "MATCH (a), (b) RETURN count(*) AS c, a.id * 100000 + b.id AS g ORDER BY c LIMIT 1", quick=True),
        Kind("groups of text", "MATCH (a), (b) RETURN a.s + b.s AS g, sum(a.k), max(b.f)"),
        Kind("percentile", "MATCH (a), (b) RETURN percentileCont(a.f * b.f, 0.5)"),
        Kind("deviation", "MATCH (a), (b) RETURN stDev(a.f * b.f), avg(a.k), min(b.s)"),
        Kind("optional", "MATCH (a) OPTIONAL MATCH (a)--(b) OPTIONAL MATCH (b)--(c) OPTIONAL MATCH (c)--(d) "
             "OPTIONAL MATCH (d)--(e) WHERE e.k < a.k RETURN count(e)", quick=True),
        Kind("optional values", "MATCH (a), (x) OPTIONAL MATCH (a)--(b) WHERE b.s + x.s = a.s RETURN count(b.s)"),
        Kind("exists", "MATCH (a), (b) WHERE EXISTS { (a)--()--()--(b) } RETURN count(*)"),
        Kind("not a pattern", "MATCH (a), (b) WHERE NOT (a)--()--(b) RETURN count(*)"),
        Kind("count subquery", "MATCH (a) RETURN sum(COUNT { (a)--(x)--(y)--(z) WHERE x.k <> z.k })"),
        Kind("collect subquery",
             "MATCH (a) RETURN sum(size(COLLECT { MATCH (a)--()--(y) RETURN y.s + a.s AS s ORDER BY s }))"),
        Kind("nested subquery",
             "MATCH (a) WHERE EXISTS { (a)--(b) WHERE COUNT { (b)--()--(d) WHERE d.k = a.k } > 999 } RETURN count(*)"),
        Kind("pattern comprehension", "MATCH (a) RETURN sum(size([(a)--()--(y) WHERE y.k > a.k | y.s]))"),
        Kind("union", "MATCH (a)--(b)--(c) RETURN a.s + c.s AS x UNION MATCH (a)--(b)--(c) RETURN b.s + a.s AS x"),
        Kind("union all", "MATCH (a)--(b)--(c) RETURN a.s + c.s AS x UNION ALL MATCH (a)--(b) RETURN b.s AS x"),
        Kind("with where", "MATCH (a)--(b) WITH a, count(b) AS n MATCH (a)--(c)--(d) WHERE d.k > n RETURN sum(n)"),
        Kind("unwind", "UNWIND range(1, 100000) AS x UNWIND range(1, 100000) AS y WITH x * y AS z "
             "WHERE z % 1000003 = 7 RETURN count(*)", quick=True),
        Kind("unwind3", "UNWIND range(1, 3000) AS x UNWIND range(1, 3000) AS y UNWIND range(1, 3000) AS z "
             "RETURN sum(x * y + z)"),
        Kind("unwind nodes", "MATCH (a) WITH collect(a) AS l UNWIND l AS x UNWIND l AS y RETURN count(x.k + y.k)"),
        Kind("unwind join", "UNWIND range(1, 10000000) AS i MATCH (a {id: i % 20000})--(b) RETURN count(b)"),
    ]  # fmt: skip


_PAIRS = "UNWIND range(1, 4000) AS y UNWIND range(y, 4000) AS x "  # eight million rows


def _expressions() -> list[Kind]:
    text = "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!'"
    return [
        Kind("comprehension", "RETURN size([x IN range(1, 10000000) WHERE x % 7 = 3 | [x, x + 1]])", quick=True),
        Kind("nested comprehension", "RETURN size([x IN range(1, 30000) | size([y IN range(1, 30000) | x * y])])"),
        Kind("all", "RETURN all(x IN range(1, 16000000) WHERE all(y IN range(1, 16000000) WHERE x + y > 0))"),
        Kind("any of rows", "MATCH (a), (b) RETURN count(any(x IN [a.k, b.k] WHERE x = 200))"),
        Kind("reduce", "RETURN reduce(s = 0, x IN range(1, 16000000) | s + x % 3)", quick=True),
        Kind("reduce text", "RETURN size(reduce(s = 'a', x IN range(1, 40) | s + s))", clean=True),
        Kind("reduce list", "RETURN size(reduce(s = [1], x IN range(1, 40) | s + s))", clean=True),
        Kind("growing list", "RETURN size(reduce(s = [], x IN range(1, 200000) | s + [x]))"),
        Kind("growing text", "RETURN size(reduce(s = '', x IN range(1, 1000000) | s + 'abcdefghij'))"),
        Kind("range", "RETURN size([x IN range(1, 1000000000) WHERE x % 7 = 3])", clean=True),
        Kind("large range", "RETURN size(range(1, 10000000000))", clean=True),
        Kind("range of rows", "UNWIND range(1, 1000) AS i RETURN sum(size(range(i, 16000000)))"),
        Kind("list of lists", "UNWIND range(1, 100000) AS i RETURN [x IN range(1, 1000) | x + i]"),
        Kind("slices", "WITH range(1, 10000000) AS l UNWIND range(1, 100000) AS i RETURN sum(size(l[i..]))"),
        Kind("in list", "WITH range(1, 100000) AS l MATCH (a), (b) WHERE NOT a.id + b.id IN l RETURN count(*)"),
        Kind("list equality", "WITH range(1, 1000000) AS l UNWIND range(1, 10000) AS i RETURN count(l = l + [i])"),
        Kind("reverse", "WITH range(1, 1000000) AS l UNWIND range(1, 10000) AS i RETURN sum(head(reverse(l)) + i)",
             clean=True),
        Kind("regex of rows", "MATCH (a), (b) WHERE a.s + b.s =~ '.*(x+x+)+y' RETURN count(*)"),
        Kind("regex nested", f"RETURN {text} =~ '(a+)+b'", clean=True),
        Kind("regex look-ahead", f"RETURN {text} =~ '(a|aa)+(?=b)b'", clean=True),
        Kind("regex word", "RETURN 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\u00e9' =~ '(?i)(\\\\w+\\\\w+)+b'", clean=True),
        Kind("split", "MATCH (a), (b) RETURN sum(size(split(a.s + b.s, 'x')))"),
        Kind("replace rows", "MATCH (a), (b) RETURN sum(size(replace(a.s + b.s, 'x', 'yy')))"),
        Kind("replace", "RETURN size(replace(reduce(s = 'a', x IN range(1, 26) | s + s), 'a', "
             "'aaaaaaaaaaaaaaaaaaaaaaaa'))", clean=True),
        Kind("toString", _PAIRS + "RETURN max(toString(x) + 'a')"),
        Kind("contains", "MATCH (a), (b) WHERE a.s + b.s CONTAINS 'xxy' RETURN count(*)"),
        Kind("case", "MATCH (a), (b) RETURN sum(CASE WHEN a.s > b.s THEN size(a.s) ELSE toInteger(b.f) END)"),
        Kind("dates", _PAIRS + "RETURN max(date('2000-01-01') + duration({days: x % 1000}))",
             quick=True),
        Kind("date parsing", _PAIRS + "RETURN max(datetime('2000-01-01T0' + x % 10 + ':00Z'))"),
        Kind("maps", _PAIRS + "RETURN count({a: x, b: [x, x], c: {d: toString(x)}}.c.d)"),
        Kind("properties", "MATCH (a)--(b)--(c) RETURN count(properties(a).s + keys(b)[0] + labels(c)[0])"),
        Kind("mathematics", _PAIRS + "RETURN sum(sin(x) ^ 2 + sqrt(x) * log(x) + round(x, 2))"),
        Kind("mixed numbers", _PAIRS + "RETURN sum(CASE WHEN x % 2 = 0 THEN x ELSE x / 2.0 END)"),
    ]  # fmt: skip


def _planning() -> list[Kind]:
    grid = ", ".join(f"(x{i})-->(x{i * 7 % 300 + 3})" for i in range(300))
    return [
        Kind("plan clique10", f"MATCH {_clique(10)} RETURN count(*)", graph="clique"),
        Kind("plan path31", "MATCH " + "".join(f"(x{i})--" for i in range(31)) + "(y) RETURN count(*)", clean=True),
        Kind("plan 300 edges", f"MATCH {grid} RETURN count(*)", clean=True),
        Kind("plan star30",
             "MATCH " + ", ".join(f"(x)--(y{i})" for i in range(30)) + " WHERE x.k > 3 RETURN x.id, count(*)"),
        Kind("plan wheel", "MATCH " + ", ".join(f"(x)--(y{i}), (y{i})--(y{(i + 1) % 20})" for i in range(20))
             + " RETURN count(*)"),
        Kind("explain clique12", f"MATCH {_clique(12)} RETURN count(*)", by="explain", graph="clique", clean=True),
        Kind("list of integers", "RETURN size([" + ", ".join(map(str, range(200_000))) + "])", by="prepare",
             quick=True, clean=True),
        Kind("list of texts", "RETURN size([" + ", ".join(f"'t{i}'" for i in range(200_000)) + "])", by="prepare",
             clean=True),
        Kind("list of lists of text", "RETURN size([" + ", ".join(f"[{i}, 'a', null]" for i in range(60_000)) + "])",
             by="prepare", clean=True),
        Kind("list of maps", "UNWIND [" + ", ".join(f"{{a: {i}, b: 'x'}}" for i in range(45_000)) + "] AS m "
             "RETURN count(m.a)", by="prepare"),
        Kind("list of sums", "RETURN size([" + ", ".join(f"{i} + $x" for i in range(100_000)) + "])", by="prepare"),
        Kind("in large list", "MATCH (a) WHERE a.s IN [" + ", ".join(f"'q{i}'" for i in range(200_000))
             + "] RETURN count(*)", by="prepare", clean=True),
        Kind("long sum", "RETURN " + " + ".join(["1"] * 200_000), by="prepare", clean=True),
        Kind("long concatenation", "RETURN " + " + ".join(f"'a{i}'" for i in range(100_000)), by="prepare", clean=True),
        Kind("deep parentheses", "RETURN " + "(" * 5_000 + "1" + ")" * 5_000, by="prepare", clean=True),
        Kind("deep lists", "RETURN " + "[" * 50_000 + "1" + "]" * 50_000, by="prepare", clean=True),
        Kind("deep not", "RETURN " + "NOT " * 200_000 + "true", by="prepare", clean=True),
        Kind("deep minus", "RETURN " + "- " * 200_000 + "1", by="prepare", clean=True),
        Kind("deep case", "RETURN " + "CASE WHEN true THEN " * 20_000 + "1" + " END" * 20_000, by="prepare",
             clean=True),
        Kind("long or", "MATCH (a) WHERE " + " OR ".join(f"a.s = 'q{i}'" for i in range(80_000)) + " RETURN count(*)",
             by="prepare", quick=True, clean=True),
        Kind("long or of two", "MATCH (a)--(b) WHERE " + " OR ".join(f"a.k = {i} AND b.k = {i}" for i in range(20_000))
             + " RETURN count(*)", by="prepare"),
        Kind("long and", "MATCH (a) WHERE " + " AND ".join(f"a.k <> {i}" for i in range(50_000)) + " RETURN count(*)",
             by="prepare"),
        Kind("many unions", " UNION ".join(f"MATCH (a {{k: {i}}}) RETURN a.s" for i in range(10_000)), by="prepare",
             clean=True),
        Kind("many matches", " ".join(f"MATCH (a{i})" for i in range(1_000)) + " RETURN count(*)", by="prepare",
             clean=True),
        Kind("many withs", " ".join(["WITH 1 AS x", *(f"WITH x + {i} AS x" for i in range(20_000))]) + " RETURN x",
             by="prepare", clean=True),
        Kind("many columns", "MATCH (a) RETURN " + ", ".join(f"a.k + {i} AS c{i}" for i in range(20_000)), by="prepare",
             clean=True),
        Kind("many nodes", "MATCH " + ", ".join(f"(:A {{k: {i}}})" for i in range(5_000)) + " RETURN 1", by="prepare",
             clean=True),
        Kind("long text", "RETURN size('" + "a" * 10_000_000 + "')", by="prepare", clean=True),
        Kind("long comment", "RETURN 1 /*" + " a" * 4_000_000 + "*/", by="prepare", clean=True),
        Kind("wrong at the end", "RETURN [" + "1, " * 200_000 + "2 3]", by="prepare", clean=True),
        Kind("unknown names", "RETURN [" + ", ".join(f"a{i}" for i in range(200_000)) + "]", by="prepare", clean=True),
        Kind("long script", "RETURN 1; " * 150_000, by="script"),
    ]  # fmt: skip


def _estimates() -> list[Kind]:
    squares = "MATCH (a)--(b)--(c)--(d)--(a), (a)--(e)--(c) WHERE a.k < c.k"
    samples = {"samples": 1 << 40, "seed": 1}
    return [
        Kind("estimate auto", squares, by="estimate", options={"rel_error": 1e-9}, quick=True),
        Kind("estimate wanderjoin", squares, by="estimate", options={"method": "wanderjoin", **samples}),
        Kind("estimate alley", squares, by="estimate", options={"method": "alley", **samples}),
        Kind("estimate guided", squares, by="estimate", options={"method": "guided", **samples}),
        Kind("estimate trawling", squares, by="estimate", options={"method": "trawling", "rel_error": 1e-9}),
        Kind("estimate exact", squares, by="estimate", options={"method": "exact"}),
        Kind("estimate trails", "MATCH (a)-[*]-(b)", by="estimate", options=samples, graph="grid"),
        Kind("estimate optional", "MATCH (a)--(b) OPTIONAL MATCH (b)--(c)--(d) WHERE d.k < a.k RETURN count(*)",
             by="estimate", options=samples),
        Kind("estimate a large pattern", f"MATCH {_clique(12)}", by="estimate", options={"rel_error": 1e-9},
             clean=True),
        Kind("estimate all parts", "MATCH (a)--(b)--(c)--(d)--(e)--(f)--(g)--(h)--(a)", by="estimate_all",
             options={"samples": 1 << 40}),
        Kind("sampled cardinalities", squares + " RETURN count(*)", options={"cardinalities": "sampled"}),
    ]  # fmt: skip


def _ways() -> list[Kind]:
    rows = "MATCH (a)--(b)--(c) RETURN a, b.s AS s, [c.k, c.f] AS l"
    million = {
        "values": lambda: {"l": list(range(3_000_000))},
        "maps": lambda: {"l": [{"a": i} for i in range(500_000)]},
    }
    return [
        Kind("to_arrow", rows, by="to_arrow", quick=True),
        Kind("to_pandas", "MATCH (a)--(b)--(c) RETURN a.k AS k, b.s AS s, c.f AS f", by="to_pandas"),
        Kind("to_reader", rows, by="to_reader"),
        Kind("iterate", rows, by="iterate"),
        Kind("fetchmany", rows, by="fetchmany"),
        Kind("nodes as rows", "MATCH (a)-[r]-(b)-[q]-(c) RETURN a, r, b, q, c", by="fetchall"),
        Kind("paths as arrow", "MATCH p = (a)-[*1..3]->(b) RETURN p", by="to_arrow"),
        Kind("one wide row", "MATCH (a)--(b) RETURN collect({a: a, b: b, l: [a.s, b.s]}) AS l", by="fetchall"),
        Kind("one wide row as arrow", "MATCH (a)--(b) RETURN collect({a: a, b: b, l: [a.s, b.s]}) AS l", by="to_arrow"),
        Kind("list column", "UNWIND range(1, 16) AS i RETURN range(1, 1000000) AS l", by="fetchall"),
        Kind("profile", "PROFILE MATCH (a)--(b)--(c)--(d) WHERE a.s + b.s = d.s RETURN count(*)"),
        Kind("reference", "MATCH (a)--(b)--(c) RETURN count(*)", options={"device": "reference"}),
        Kind("parameter of integers", "UNWIND $l AS x UNWIND $l AS y RETURN sum(x * y)", parameters=million["values"]),
        Kind("parameter of maps", "UNWIND $l AS x UNWIND $l AS y RETURN sum(x.a * y.a)", parameters=million["maps"]),
        Kind("parameter in", "MATCH (a), (b) WHERE a.id + b.id IN $l RETURN count(*)", parameters=million["values"]),
    ]  # fmt: skip


KINDS: tuple[Kind, ...] = (
    *_searches(), *_eliminations(), *_walks(), *_rows(), *_expressions(), *_planning(), *_estimates(), *_ways(),
)  # fmt: skip
KINDS_BY_NAME: dict[str, Kind] = {kind.name: kind for kind in KINDS}
