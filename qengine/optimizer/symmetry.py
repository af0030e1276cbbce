"""Automorphisms of a pattern, turned into order constraints that keep one embedding of each orbit.

Grochow and Kellis: take a vertex, demand that its image has the greatest id among the images of its orbit, go on with
the automorphisms that fix it. The orbits' sizes multiply to the size of the group, which is never listed: whether an
automorphism maps one vertex to another is found by backtracking. Counting then multiplies by the size of the group;
listing gives each embedding that was kept once for every automorphism, which small groups are listed for.
This holds where no automorphism maps an embedding to itself: the vertices of the orbits that constraints are on must be
different anyway, and nothing else can move once they stay. Of friends ``a``, ``b`` who live in cities ``x``, ``y``,
which may be one, the friends are ordered, and the cities go along.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from qengine._frozen import frozen, replace
from qengine.optimizer.difference import Differences, joined_by
from qengine.optimizer.pattern_edges import PatternEdge
from qengine.plan.expr import Expr, Variable
from qengine.plan.pattern import PatternNode
from qengine.plan.traverse import rewrite

_MAX_VERTICES = 12
_MOST_LISTED = 720


@frozen
class Symmetry:
    """``orbits``: the size of the group; ``greater``: pairs (a, b) with id(a) > id(b).

    ``images``: where it was asked for, the images of ``order`` by each automorphism.
    """

    orbits: int
    greater: tuple[tuple[str, str], ...]
    order: tuple[str, ...] = ()
    images: tuple[tuple[str, ...], ...] = ()

    def turned(self) -> Symmetry:
        """Return the constraints that keep the embedding with the least ids of each orbit, not the greatest.

        Small ids are hubs. Which end comes first decides how long the lists are that the constraints leave.
        """
        return replace(self, greater=tuple((small, big) for big, small in self.greater))


NO_SYMMETRY = Symmetry(1, ())


def break_symmetry(
    order: Sequence[str],
    nodes: dict[str, PatternNode],
    edges: Sequence[PatternEdge],
    difference: Differences,
    listed: bool = False,
    fixed: Collection[str] = (),
) -> Symmetry:
    """Return the constraints for a pattern whose vertices are bound in ``order``, with all images if it is ``listed``.

    Automorphisms map each of ``fixed`` to itself: what is counted by these vertices.

    Where symmetric vertices that could be equal don't go along with others, or relationships are compared one by one,
    nothing is constrained; nor where there are too many images to list.
    """
    if len(order) > _MAX_VERTICES or difference.edges or any(edge.relationship.predicates for edge in edges):
        return NO_SYMMETRY
    pattern = _Pattern(order, nodes, edges, difference, fixed)
    orbits: dict[str, set[str]] = {}
    for name in order:
        if name not in orbits:
            orbits |= dict.fromkeys(found := pattern.orbit(name, ()), found)
    different = difference.vertices | joined_by(edges)
    apart = [name for name in order if all(frozenset((name, other)) in different for other in orbits[name] - {name})]
    if any(len(pattern.orbit(name, apart)) > 1 for name in order if name not in apart):
        return NO_SYMMETRY
    size, greater = 1, []
    for place, pivot in enumerate(apart):
        orbit = pattern.orbit(pivot, apart[:place]) if place else orbits[pivot]
        size *= len(orbit)
        greater += [(pivot, other) for other in order if other in orbit and other != pivot]
    if not listed or size == 1:
        return Symmetry(size, tuple(greater))
    if size > _MOST_LISTED:
        return NO_SYMMETRY
    return Symmetry(size, tuple(greater), tuple(order), tuple(pattern.automorphisms({})))


class _Pattern:
    """What automorphisms preserve: the shapes of vertices, what links each pair, and which pairs must differ."""

    def __init__(
        self,
        order: Sequence[str],
        nodes: dict[str, PatternNode],
        edges: Sequence[PatternEdge],
        difference: Differences,
        fixed: Collection[str],
    ) -> None:
        self._order = order
        self._links: dict[tuple[str, str], list[tuple[str, ...]]] = {}
        for edge in edges:
            start, end = edge.ends
            self._links.setdefault((start, end), []).append(("both" if edge.symmetric else "out", *edge.type_names()))
            self._links.setdefault((end, start), []).append(("both" if edge.symmetric else "in", *edge.type_names()))
        for pair in difference.vertices:
            one, other = pair
            self._links.setdefault((one, other), []).append(("differ",))
            self._links.setdefault((other, one), []).append(("differ",))
        for kinds in self._links.values():
            kinds.sort()
        self._colours = self._refined(
            _numbered({name: (shape_of(nodes[name]), name if name in fixed else "") for name in order})
        )
        met = list(self._colours.values())
        self._alone = {name: met.count(colour) == 1 for name, colour in self._colours.items()}
        self._coincidences = {frozenset(map(frozenset, same)) for same in difference.pairs}

    def _refined(self, colours: dict[str, int]) -> dict[str, int]:
        """Tell vertices apart by what they are linked to, until that tells no more apart: automorphisms keep it."""
        around: dict[str, list[tuple[tuple[tuple[str, ...], ...], str]]] = {name: [] for name in self._order}
        for (one, other), kinds in self._links.items():
            around[one].append((tuple(kinds), other))
        while True:
            finer = _numbered(
                {
                    name: (colours[name], tuple(sorted((kinds, colours[other]) for kinds, other in around[name])))
                    for name in self._order
                }
            )
            if len(set(finer.values())) == len(set(colours.values())):
                return finer
            colours = finer

    def orbit(self, name: str, fixed: Sequence[str]) -> set[str]:
        """Return where the automorphisms that leave ``fixed`` in place can map ``name``."""
        if self._alone[name]:
            return {name}
        image = {each: each for each in fixed}
        return {
            other
            for other in self._order
            if other == name or (self._fits(name, other, image) and self._extends({**image, name: other}))
        }

    def _fits(self, name: str, other: str, image: dict[str, str]) -> bool:
        return (
            other not in image.values()
            and self._colours[name] == self._colours[other]
            and self._links.get((name, name)) == self._links.get((other, other))
            and all(self._links.get((name, done)) == self._links.get((other, image[done])) for done in image)
        )

    def _extends(self, image: dict[str, str]) -> bool:
        """Tell whether a partial map is part of an automorphism."""
        return next(self.automorphisms(image), None) is not None

    def automorphisms(self, image: dict[str, str]) -> Iterator[tuple[str, ...]]:
        """Yield the images of ``order`` by the automorphisms that a partial map is part of."""
        name = next((each for each in self._order if each not in image), None)
        if name is not None:
            for other in self._order:
                if self._fits(name, other, image):
                    yield from self.automorphisms({**image, name: other})
        elif all(
            frozenset(frozenset(image[name] for name in pair) for pair in same) in self._coincidences
            for same in self._coincidences
        ):
            yield tuple(image[each] for each in self._order)


def _numbered(shapes: dict[str, object]) -> dict[str, int]:
    """Return equal numbers for equal shapes."""
    numbers: dict[object, int] = {}
    return {name: numbers.setdefault(shape, len(numbers)) for name, shape in shapes.items()}


def shape_of(node: PatternNode) -> tuple[object, ...]:
    """Return what an automorphism must preserve of a node: labels and own predicates, free of its name."""

    def anonymous(expr: Expr) -> Expr:
        return Variable("", type=expr.type) if isinstance(expr, Variable) and expr.name == node.name else expr

    return node.labels, tuple(rewrite(predicate, anonymous) for predicate in node.predicates)
