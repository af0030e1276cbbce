"""Writes a pattern in the language of each engine."""

from __future__ import annotations

from tests.bench.patterns import Pattern


def cypher_for_qengine(pattern: Pattern) -> str:
    """Count all embeddings: the plain pattern, symmetry being the engine's own business.

    In most unlabelled patterns of the suites different relationships mean different nodes.
    """
    mode = "DIFFERENT NODES " if pattern.labels or pattern.crossing else ""
    seen: set[int] = set()

    def node(vertex: int) -> str:
        label = f":L{pattern.labels[vertex]}" if pattern.labels and vertex not in seen else ""
        seen.add(vertex)
        return f"(v{vertex}{label})"

    arrow = "-[:E]->" if pattern.oriented else "-[:E]-"
    paths = [f"{node(first)}{arrow}{node(second)}" for first, second in pattern.edges]
    return f"MATCH {mode}{', '.join(paths)} RETURN count(*)"


def cypher_for_kuzu(pattern: Pattern) -> str:
    """Use the relationship table O (low to high degree) where an order is known, S (both ways) elsewhere."""
    paths = [
        f"(v{first}:V)-[:{'O' if oriented else 'S'}]->(v{second}:V)"
        for first, second, oriented in _directed_edges(pattern)
    ]
    conditions = [f"v{vertex}.label = {label}" for vertex, label in enumerate(pattern.labels)]
    conditions += [f"v{first}.id < v{second}.id" for first, second in _order_of_non_adjacent(pattern)]
    conditions += [f"v{first}.id <> v{second}.id" for first, second in pattern.may_coincide()]
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"MATCH {', '.join(paths)}{where} RETURN count(*)"


def sql(pattern: Pattern) -> str:
    """Join the table ``oriented`` where an order is known, ``both_ways`` (with labels) elsewhere."""
    columns: dict[int, str] = {}
    tables: list[str] = []
    conditions: list[str] = []
    for number, (first, second, oriented) in enumerate(_directed_edges(pattern)):
        tables.append(f"{'oriented' if oriented else 'both_ways'} e{number}")
        for end, vertex in (("src", first), ("dst", second)):
            if vertex in columns:
                conditions.append(f"e{number}.{end} = {columns[vertex]}")
            else:
                columns[vertex] = f"e{number}.{end}"
            if pattern.labels:
                conditions.append(f"e{number}.{end}_label = {pattern.labels[vertex]}")
    conditions += [f"{columns[first]} < {columns[second]}" for first, second in _order_of_non_adjacent(pattern)]
    conditions += [f"{columns[first]} <> {columns[second]}" for first, second in pattern.may_coincide()]
    return f"SELECT count(*) FROM {', '.join(tables)} WHERE {' AND '.join(conditions)}"


def _directed_edges(pattern: Pattern) -> list[tuple[int, int, bool]]:
    """Turn each edge to its known order: (from, to, whether the order is known)."""
    directed = []
    for first, second in pattern.edges:
        if pattern.oriented or (first, second) in pattern.order:
            directed.append((first, second, True))
        elif (second, first) in pattern.order:
            directed.append((second, first, True))
        else:
            directed.append((first, second, False))
    return directed


def _order_of_non_adjacent(pattern: Pattern) -> list[tuple[int, int]]:
    adjacent = {frozenset(edge) for edge in pattern.edges}
    return sorted(pair for pair in pattern.order if frozenset(pair) not in adjacent)
