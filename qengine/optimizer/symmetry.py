"""Automorphisms of a pattern, turned into order constraints that keep one embedding of each orbit.

Grochow and Kellis: take the vertex of the largest orbit, demand that its image has the greatest id of the
orbit, go on with the automorphisms that fix it. Counting then multiplies by the size of the group.
This holds where no automorphism maps an embedding to itself: the vertices of an orbit must be different anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from qengine.optimizer.pattern_edges import PatternEdge
from qengine.plan.expr import Expr, Variable
from qengine.plan.pattern import PatternNode
from qengine.plan.traverse import rewrite

_MAX_VERTICES = 10
_MAX_GROUP = 50_000

Automorphism = dict[str, str]


@dataclass(frozen=True, slots=True)
class Symmetry:
    """``orbits``: the size of the group; ``greater``: pairs (a, b) with id(a) > id(b)."""

    orbits: int
    greater: tuple[tuple[str, str], ...]


NO_SYMMETRY = Symmetry(1, ())


def break_symmetry(
    order: Sequence[str],
    nodes: dict[str, PatternNode],
    edges: Sequence[PatternEdge],
    different: Callable[[str, str], bool],
) -> Symmetry:
    """Return the constraints for a pattern whose vertices are bound in ``order``.

    ``different`` tells which vertices can't be equal; where a symmetric pair could be, nothing is constrained.
    """
    if len(order) > _MAX_VERTICES:
        return NO_SYMMETRY
    group = _automorphisms(order, nodes, edges)
    if len(group) <= 1 or len(group) >= _MAX_GROUP:
        return NO_SYMMETRY
    orbits = {name: {image[name] for image in group} for name in order}
    if not all(different(name, other) for name in order for other in orbits[name] - {name}):
        return NO_SYMMETRY
    size, greater = len(group), []
    while len(group) > 1:
        orbits = {name: {image[name] for image in group} for name in order}
        pivot = max(order, key=lambda name: len(orbits[name]))
        greater += [(pivot, other) for other in order if other in orbits[pivot] and other != pivot]
        group = [image for image in group if image[pivot] == pivot]
    return Symmetry(size, tuple(greater))


def _automorphisms(
    order: Sequence[str], nodes: dict[str, PatternNode], edges: Sequence[PatternEdge]
) -> list[Automorphism]:
    shapes = {name: _shape(nodes[name]) for name in order}
    links: dict[tuple[str, str], list[tuple[str, ...]]] = {}
    for edge in edges:
        if edge.relationship.predicates:
            return []
        start, end = edge.ends
        links.setdefault((start, end), []).append(("both" if edge.symmetric else "out", *edge.type_names()))
        links.setdefault((end, start), []).append(("both" if edge.symmetric else "in", *edge.type_names()))
    for kinds in links.values():
        kinds.sort()
    found: list[Automorphism] = []

    def extend(image: Automorphism, used: set[str]) -> None:
        if len(found) >= _MAX_GROUP:
            return
        if len(image) == len(order):
            found.append(dict(image))
            return
        name = order[len(image)]
        for candidate in order:
            if candidate in used or shapes[candidate] != shapes[name]:
                continue
            image[name] = candidate
            if all(links.get((name, other)) == links.get((candidate, image[other])) for other in image):
                extend(image, used | {candidate})
            del image[name]

    extend({}, set())
    return found


def _shape(node: PatternNode) -> tuple[object, ...]:
    """Return what an automorphism must preserve of a node: labels and own predicates, free of its name."""

    def anonymous(expr: Expr) -> Expr:
        return Variable("", type=expr.type) if isinstance(expr, Variable) and expr.name == node.name else expr

    return node.labels, tuple(rewrite(predicate, anonymous) for predicate in node.predicates)
