"""Turns a matching order into the levels of a ``Search``."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import field

from qengine._frozen import frozen, record
from qengine.optimizer.difference import Coincidence, Differences
from qengine.optimizer.pattern_edges import PatternEdge
from qengine.plan.expr import Comparison, Expr, Property, Variable
from qengine.plan.pattern import PatternNode
from qengine.plan.physical import ColumnCondition, EdgeLevel, Level, Source, VertexLevel
from qengine.types import NODE


@frozen
class NamedCondition:
    """``left.key OP right.key`` over two vertices of the pattern, by name."""

    op: str
    left: str
    left_key: str
    right: str
    right_key: str


def as_filter(condition: NamedCondition) -> Expr:
    """Return a condition that is checked on rows instead of inside a search."""
    sides = ((condition.left, condition.left_key), (condition.right, condition.right_key))
    return Comparison((condition.op,), tuple(Property(Variable(name, type=NODE), key) for name, key in sides))


@record
class SearchSpec:
    """What a search must do, before its levels are laid out.

    ``wanted``: variables to emit. ``existence``: counts don't matter, so relationships that only multiply rows are
    dropped.
    """

    nodes: dict[str, PatternNode]
    edges: Sequence[PatternEdge]
    seeds: Sequence[str]
    order: Sequence[str]
    wanted: Collection[str]
    differences: Differences
    greater: Sequence[tuple[str, str]] = ()
    conditions: Sequence[NamedCondition] = ()
    existence: bool = False
    _level: dict[str, int] = field(default_factory=dict)
    _at: dict[str, list[PatternEdge]] = field(default_factory=dict)
    _apart: dict[str, list[str]] = field(default_factory=dict)
    _pairs: dict[str, list[Coincidence]] = field(default_factory=dict)  # by the vertex that is bound last
    _compared: dict[str, list[str]] = field(default_factory=dict)  # by relationship those that it must not be, sorted

    def __post_init__(self) -> None:
        for edge in self.edges:
            for end in dict.fromkeys(edge.ends):
                self._at.setdefault(end, []).append(edge)
        for one, other in self.differences.vertices.difference(map(frozenset, self.greater)):  # an order implies it
            self._apart.setdefault(one, []).append(other)
            self._apart.setdefault(other, []).append(one)
        place = {name: k for k, name in enumerate((*self.seeds, *self.order))}
        for same in self.differences.pairs:
            (a, b), (c, d) = same
            if a in place and b in place and c in place and d in place:
                self._pairs.setdefault(max(a, b, c, d, key=place.__getitem__), []).append(same)
        self._compared.update(self.differences.edges.partners())


def build_levels(spec: SearchSpec) -> tuple[Level, ...]:
    """Return the levels: seeds, then each vertex of the order followed by the relationships that it closes.

    Relationships that only multiply come last, where a kernel can count instead of walking them.
    """
    levels: list[Level] = []
    late: list[PatternEdge] = []
    for name in spec.seeds:
        spec._level[name] = len(levels)
        levels.append(VertexLevel(name, different=_different(name, spec), pairs=_pairs(name, spec)))
    _close(spec.edges, spec, levels, late)
    for name in spec.order:
        node = spec.nodes[name]
        sources = _sources(name, spec)
        spec._level[name] = len(levels)
        levels.append(
            VertexLevel(
                name,
                node.labels,
                node.predicates,
                sources,
                different=_different(name, spec),
                less=tuple(spec._level[big] for big, small in spec.greater if small == name and big in spec._level),
                greater=tuple(
                    spec._level[small] for big, small in spec.greater if big == name and small in spec._level
                ),
                pairs=_pairs(name, spec),
                conditions=_conditions(name, spec),
            )
        )
        _close(spec._at.get(name, ()), spec, levels, late)
    for edge in late:
        _add_edge(edge, spec, levels)
    return tuple(levels)


def _sources(name: str, spec: SearchSpec) -> tuple[Source, ...]:
    found = []
    for edge in spec._at.get(name, ()):
        start, end = edge.ends
        direction = edge.relationship.direction
        if end == name and start in spec._level:
            found.append(Source(spec._level[start], edge.type_names(), direction))
        elif start == name and end in spec._level:
            found.append(Source(spec._level[end], edge.type_names(), direction.reversed()))
    return tuple(dict.fromkeys(found)) if len(found) > 1 else tuple(found)


def _close(edges: Iterable[PatternEdge], spec: SearchSpec, levels: list[Level], late: list[PatternEdge]) -> None:
    """Add of the relationships whose ends are bound by now those that vertex levels alone don't express."""
    bound = spec._level
    for edge in edges:
        start, end = edge.ends
        if start not in bound or end not in bound:
            continue
        identity = edge.name in spec._compared or bool(edge.relationship.predicates) or edge.name in spec.wanted
        # a neighbour set of a vertex level has already seen to it that the relationship exists
        checked = start != end and not (start in spec.seeds and end in spec.seeds)
        if checked and not identity:
            if edge.multiple and not spec.existence:
                late.append(edge)
            continue
        _add_edge(edge, spec, levels)


def _add_edge(edge: PatternEdge, spec: SearchSpec, levels: list[Level]) -> None:
    spec._level[edge.name] = len(levels)
    levels.append(_edge_level(edge, spec))


def _edge_level(edge: PatternEdge, spec: SearchSpec) -> EdgeLevel:
    start, end = edge.ends
    compared = map(spec._level.get, spec._compared.get(edge.name, ()))
    different = tuple([level for level in compared if level is not None])
    return EdgeLevel(
        edge.name,
        spec._level[start],
        spec._level[end],
        edge.type_names(),
        edge.relationship.direction,
        edge.relationship.predicates,
        different,
    )


def _different(name: str, spec: SearchSpec) -> tuple[int, ...]:
    level = spec._level
    return tuple(sorted([level[other] for other in spec._apart.get(name, ()) if other in level]))


def _pairs(name: str, spec: SearchSpec) -> tuple[tuple[int, int, int, int], ...]:
    level = spec._level
    return tuple([(level[a], level[b], level[c], level[d]) for (a, b), (c, d) in spec._pairs.get(name, ())])


def _conditions(name: str, spec: SearchSpec) -> tuple[ColumnCondition, ...]:
    return tuple(
        ColumnCondition(each.op, spec._level[each.left], each.left_key, spec._level[each.right], each.right_key)
        for each in spec.conditions
        if name in (each.left, each.right) and each.left in spec._level and each.right in spec._level
    )
