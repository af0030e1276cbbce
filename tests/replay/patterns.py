"""Generated patterns: every connected graph of three to five vertices in every semantics; long ones; walks."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import cache

from qengine.testing.generate import rmat, to_csr, vertex_labels, walk_query
from qengine.testing.generate.raw import RawStream
from tests.replay.cases import Case

Edges = tuple[tuple[int, int], ...]

MODES = {"nodes": "DIFFERENT NODES ", "relationships": "", "elements": "REPEATABLE ELEMENTS "}
VERSIONS = ("plain", "labelled", "typed", "directed")
_NAMES = "abcdefgh"
_ARROWS = {"-": ("-", "-"), ">": ("-", "->"), "<": ("<-", "-")}


@cache
def connected_graphs(size: int) -> tuple[Edges, ...]:
    """Return the connected graphs of so many vertices, one of each kind: the least of all ways to number it."""
    pairs = list(itertools.combinations(range(size), 2))
    orders = list(itertools.permutations(range(size)))
    found: dict[Edges, None] = {}
    for count in range(size - 1, len(pairs) + 1):
        for edges in itertools.combinations(pairs, count):
            if _is_connected(edges, size):
                images = (sorted(tuple(sorted((to[a], to[b]))) for a, b in edges) for to in orders)
                found[tuple((a, b) for a, b in min(images))] = None
    return tuple(found)


def _is_connected(edges: Sequence[tuple[int, int]], size: int) -> bool:
    reached = {0}
    for _ in range(size):
        reached |= {end for edge in edges if reached & set(edge) for end in edge}
    return len(reached) == size


def pattern_cases(version: str, size: int, mode: str) -> Iterator[Case]:
    """Yield the patterns of a size: counted in all, by one and by two nodes, and asked whether they exist."""
    graph = {"plain": "skewed", "labelled": "labelled"}.get(version, "typed")
    for edges in connected_graphs(size):
        match = f"MATCH {MODES[mode]}{_pattern(version, edges)}"
        last = _NAMES[size - 1]
        yield Case(graph, f"{match} RETURN count(*) AS n")
        yield Case(graph, f"{match} WITH a, count(*) AS n {_summed('a.id')}")
        yield Case(graph, f"{match} WITH a, {last}, count(*) AS n {_summed(f'(a.id + 3 * {last}.id)')}")
        yield Case(graph, f"MATCH (a) WHERE EXISTS {{ {match} }} RETURN count(*) AS n, sum(a.id) AS s")


def _summed(weight: str) -> str:
    """Return how many groups there are, their counts in all, and these weighted by the group."""
    return f"RETURN count(*) AS k, sum(n) AS s, sum(n * {weight}) AS t"


def _pattern(version: str, edges: Edges) -> str:
    """Write a pattern: labels, types and directions take turns."""
    seen: set[int] = set()

    def node(vertex: int) -> str:
        label = f":L{vertex % 3}" if version == "labelled" and vertex not in seen else ""
        seen.add(vertex)
        return f"({_NAMES[vertex]}{label})"

    parts = []
    for place, (one, other) in enumerate(edges):
        kind, arrow = "E", "-"
        if version == "typed":
            kind = "RSUT"[place % 4]
        elif version == "directed":
            kind, arrow = "RTR"[place % 3], ">><"[place % 3]
        before, after = _ARROWS[arrow]
        parts.append(f"{node(one)}{before}[:{kind}]{after}{node(other)}")
    return ", ".join(parts)


def listed() -> Iterator[Case]:
    """Yield patterns of three and four vertices of which all embeddings are wanted."""
    for size, version, mode in itertools.product((3, 4), ("labelled", "directed"), MODES):
        for edges in connected_graphs(size):
            match = f"MATCH {MODES[mode]}{_pattern(version, edges)}"
            graph = "labelled" if version == "labelled" else "typed"
            names = ", ".join(f"{name}.id" for name in _NAMES[:size])
            if size == 3:
                yield Case(graph, f"{match} WHERE a.id < 20 AND c.id > a.id RETURN {names}")
            yield Case(graph, f"{match} WHERE a.id = 5 RETURN DISTINCT b.id, {_NAMES[size - 1]}.id")


_LONG = (
    "ab bc cd de ef", "ab bc cd de ef fa", "ab bc cd de ef fg", "ab bc cd de ef fg ga", "ab bc ca cd de ef fd",
    "ab bc cd da de ef fg ge", "ab ac ad de df", "ab bc cd de ef fg gh", "ab bc ca ad de ef", "ab bc cd da ac ce ef fe",
    "ab bc cd da ef fg gh he ae", "ab bc ca de ef fd ad be cf",
)  # fmt: skip


def joined() -> Iterator[Case]:
    """Yield patterns of six to eight vertices: what parts of them are matched apart and joined, or eliminated."""
    for shape, (graph, mode) in itertools.product(_LONG, itertools.product(("sparse", "skewed"), MODES.values())):
        arrow = "->" if graph == "sparse" else "-"
        text = ", ".join(f"({one})-[:E]{arrow}({other})" for one, other in shape.split())
        yield Case(graph, f"MATCH {mode}{text} RETURN count(*)", run=graph == "sparse")
        if graph == "sparse":
            last = max(shape.replace(" ", ""))
            where = "a.x = 7" if graph == "sparse" else "a.id = 7"
            yield Case(graph, f"MATCH {mode}{text} WHERE {where} RETURN DISTINCT {last}.id")
            yield Case(graph, f"MATCH {mode}{text} WHERE {where} AND {last}.x < 20 RETURN a.id, {last}.id, count(*)")


_HINTS = ("extend", "search", "eliminate", "as_written", "order(c, b, a)")
_HINTED = ("ab bc ca", "ab bc cd da", "ab bc ca ad", "ab bc cd")


def hinted() -> Iterator[Case]:
    """Yield patterns whose way or order a hint asks for, and parts that are asked for by many rows at once."""
    for hint, shape in itertools.product(_HINTS, _HINTED):
        text = ", ".join(f"({one})-[:E]-({other})" for one, other in shape.split())
        yield Case("skewed", f"/*+ {hint} */ MATCH {text} RETURN count(*) AS n")
        if hint != "eliminate":
            yield Case("skewed", f"/*+ {hint} */ MATCH {text} WHERE a.id < 9 RETURN a.id, b.id, c.id")
    for inside in ("(a)--()--()--(:L0 {x: 3})", "(a)-->()-->()<--(:L1 {x: 5})", "(a)<--()-->(:L2)-->({x: 7})"):
        yield Case("sparse", f"MATCH (a) WHERE EXISTS {{ {inside} }} RETURN count(*) AS n")
        yield Case("sparse", f"MATCH (a:L3) WHERE NOT EXISTS {{ {inside} }} RETURN count(*) AS n")


def labelled_walks() -> Iterator[Case]:
    """Yield labelled patterns of six to twelve vertices, drawn from the labelled graph itself."""
    csr = to_csr(rmat(11, 12))
    labels = vertex_labels(csr.vertex_count, 3)
    stream = RawStream(42)
    for size, _ in itertools.product((6, 7, 8, 10, 12), range(6)):
        query = walk_query(csr, labels, size, stream, max_edges=3 * size, max_hub=60)
        assert query is not None
        nodes = [f"(v{k}:L{label})" for k, label in enumerate(query.labels)]
        links = [f"(v{one})-[:E]-(v{other})" for one, other in query.edges]
        text = ", ".join([*nodes, *links])
        yield Case("labelled", f"MATCH DIFFERENT NODES {text} RETURN count(*)", run=False)


def walked() -> Iterator[Case]:
    """Yield walks of variable length and shortest paths, in all that is asked of them."""
    hops = ("*1..3", "*2", "*0..2", "*..2", "*2..4")
    returns = ("count(*)", "DISTINCT b.id", "a.id, b.id, count(*)", "a.id, b.id, size(r)", "sum(length(p))")
    for length, mode, arrow, returned in itertools.product(hops, MODES.values(), _ARROWS, returns):
        if (len(length) + len(mode) + len(returned) + len(arrow)) % 2 and arrow != ">":
            continue  # half of them say as much
        before, after = _ARROWS[arrow]
        yield Case("typed", f"MATCH {mode}p = (a {{id: 3}}){before}[r:T{length}]{after}(b) RETURN {returned}")
    selectors = ("ANY SHORTEST", "ALL SHORTEST", "SHORTEST 2", "SHORTEST 2 GROUPS")
    for selector, (before, after), end in itertools.product(selectors, _ARROWS.values(), ("", " {x: 3}")):
        path = f"p = {selector} (a {{id: 3}}){before}[:T*..4]{after}(b{end})"
        yield Case("typed", f"MATCH {path} RETURN sum(length(p)), count(*)")
    for inside in ("(a)-[:T*1..3]->(b)", "(a)-[:T*2]-(b {x: 4})", "(a)-[:R]->()-[:S*1..2]->(b)"):
        yield Case("typed", f"MATCH (a) WHERE EXISTS {{ {inside} }} RETURN count(*)")
        yield Case("typed", f"MATCH (a) WHERE a.x < 2 RETURN a.id, COUNT {{ {inside} }}")
        yield Case("typed", f"MATCH (a {{x: 1}}) OPTIONAL MATCH {inside} RETURN a.id, count(b)")
