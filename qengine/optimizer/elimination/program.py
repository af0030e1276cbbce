"""From a pattern in which nothing must differ to steps that count its homomorphisms by eliminating vertex after vertex.

A vertex with one neighbour sends it a message. A vertex whose two neighbours are linked leaves a matrix between them. A
tree that hangs together at one vertex only, by several edges, is summed out for each value of that vertex (cutset
conditioning). A pattern of which something else is left is not eliminated: cliques, and most of treewidth 3, are
better searched. What is counted by two vertices is such a tree around the one, in which the other stays. Equal steps
are one step. (Dechter 1999, bucket elimination; Abo Khamis et al. 2016, FAQ.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import combinations

from qengine.optimizer.elimination.cost import StepCosts
from qengine.plan.elimination import (
    Arm,
    Around,
    Closed,
    Matrix,
    Message,
    Own,
    Pairs,
    Product,
    Relation,
    Step,
    Term,
    operands,
)

_MOST_LEFT = 12
"""Vertices that may be left when trees have been summed out: the ways to go on are too many for more."""


class Program:
    """The steps of one elimination as they grow."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._places: dict[Step, int] = {}
        self._turned: dict[int, int] = {}

    def add(self, step: Step) -> int:
        """Return the place of a step, a new one or the one that it already has."""
        place = self._places.setdefault(step, len(self.steps))
        if place == len(self.steps):
            self.steps.append(step)
        return place

    def product(self, factors: Sequence[int]) -> int | None:
        """Return the product of vectors or of matrices, None of none."""
        if len(factors) < 2:
            return factors[0] if factors else None
        return self.add(Product(tuple(sorted(factors))))

    def turned(self, place: int) -> int:
        """Return a matrix seen from the other end."""
        if (known := self._turned.get(place)) is None:
            known = self._turned[place] = self._made_turned(place)
        return known

    def _made_turned(self, place: int) -> int:
        match self.steps[place]:
            case Matrix(relations=relations):
                return self.add(Matrix(_ordered(relation.reversed() for relation in relations)))
            case Closed(across=across, left=left, right=right, vector=vector):
                return self.add(Closed(self.turned(across), right, left, vector))
            case Product(factors=factors):
                return self.add(Product(tuple(sorted(map(self.turned, factors)))))
        raise TypeError(self.steps[place])


def _ordered(relations: Iterable[Relation]) -> tuple[Relation, ...]:
    """Return the factors of a matrix in the order in which equal matrices have them."""
    found = tuple(relations)
    if len(found) < 2:
        return found
    return tuple(sorted(found, key=lambda each: (each.types, each.direction.value, repr(each.conditions))))


def reached(steps: Sequence[Step], places: Iterable[int | None], known: Set[int] = frozenset()) -> set[int]:
    """Return the places of the steps that those at ``places`` need, themselves included, beside ``known`` ones."""
    found: set[int] = set()
    waiting = [place for place in places if place is not None]
    while waiting:
        place = waiting.pop()
        if place not in found and place not in known:
            found.add(place)
            waiting += operands(steps[place])
    return found


def used(steps: Sequence[Step], terms: Sequence[Term]) -> tuple[tuple[Step, ...], tuple[Term, ...]]:
    """Return the steps that terms need, and both with their places anew."""
    needed = reached(steps, (place for term in terms for place in (*term.totals, term.output)))
    place_of = {place: number for number, place in enumerate(sorted(needed))}
    kept = tuple(_placed(steps[place], place_of) for place in sorted(needed))
    return kept, tuple(
        Term(term.factor, tuple(place_of[each] for each in term.totals), _new(term.output, place_of)) for term in terms
    )


def _new(place: int | None, place_of: dict[int, int]) -> int | None:
    return None if place is None else place_of[place]


def _placed(step: Step, place_of: dict[int, int]) -> Step:
    match step:
        case Product(factors=factors):
            return Product(tuple(place_of[each] for each in factors))
        case Message(matrix=matrix, vector=vector):
            return Message(place_of[matrix], _new(vector, place_of))
        case Closed(across=across, left=left, right=right, vector=vector):
            return Closed(place_of[across], place_of[left], place_of[right], _new(vector, place_of))
        case Around(arms=arms, tops=tops, vector=vector):
            return Around(_moved(arms, place_of), tops, _new(vector, place_of))
        case Pairs(arms=arms, vector=vector):
            return Pairs(_moved(arms, place_of), _new(vector, place_of))
    return step


def _moved(arms: Sequence[Arm], place_of: dict[int, int]) -> tuple[Arm, ...]:
    return tuple(
        Arm(_new(arm.start, place_of), _new(arm.vector, place_of), arm.arms, _new(arm.link, place_of)) for arm in arms
    )


class Elimination:
    """One pattern as it shrinks: ``vectors`` of its vertices, and ``matrices`` of its pairs (a, b), a < b, seen from a.

    ``outputs``: the vertices that stay, up to two, which may be one vertex.
    """

    def __init__(self, program: Program, costs: StepCosts, outputs: tuple[int, ...]) -> None:
        self.program = program
        self.costs = costs
        self.outputs = outputs
        self.vectors: dict[int, list[int]] = {}
        self.matrices: dict[tuple[int, int], list[int]] = {}
        self._linked: dict[int, list[int]] = {}

    def vertex(self, vertex: int, own: Own) -> None:
        """Add a vertex."""
        trivial = not own.loops and all(labels is None and not predicates for _, labels, predicates in own.nodes)
        self.vectors[vertex] = [] if trivial else [self.program.add(own)]
        self._linked[vertex] = []

    def pair(self, one: int, other: int, relations: Sequence[Relation]) -> None:
        """Add all relations of a pair, seen from ``one``, which is less."""
        self.matrices[one, other] = [self.program.add(Matrix(_ordered(relations)))]
        self._linked[one].append(other)
        self._linked[other].append(one)

    def run(self) -> tuple[list[int], int | None] | None:
        """Eliminate all vertices that can be: return the vectors whose sums multiply, and that of the output.

        None where some part can't be eliminated.
        """
        while self._sum_out():
            pass
        if len(self.vectors) > _MOST_LEFT:
            return None
        while self._sum_out() or self._close() or self._go_around():
            pass
        if len(self.outputs) == 2:
            return self._pairs()
        if self.matrices:
            return None
        found = self._left()
        by_vertex = found.pop(self.outputs[0]) if self.outputs else None
        return [place for _, place in sorted(found.items())], by_vertex

    def _left(self) -> dict[int, int]:
        """Return the vector of each vertex that is left."""
        every = {vertex: self.program.product(vectors) for vertex, vectors in self.vectors.items()}
        return {vertex: self.program.add(Own()) if place is None else place for vertex, place in every.items()}

    def _pairs(self) -> tuple[list[int], int | None] | None:
        root, end = self.outputs
        arms: list[Arm] = []
        vector = self._vector(root)
        if root != end:
            part = next((part for part in self._apart(root) if end in part), None)
            if part is None or not self._is_tree(part):
                return None
            self._add_arm(arms, root, end, None)
            for vertex in part:
                self._remove(vertex)
        if self.matrices:
            return None
        del self.vectors[root]
        pairs = self.program.add(Pairs(tuple(arms), vector))
        return [place for _, place in sorted(self._left().items())], pairs

    # ------------------------------------------------------------ steps

    def _sum_out(self) -> bool:
        """Let a vertex with one neighbour send it a message: first one that costs least."""
        leaves = [vertex for vertex in self.vectors if vertex not in self.outputs and len(self._near(vertex)) == 1]
        if not leaves:
            return False
        leaf = min(leaves, key=lambda each: (len(self.vectors[each]), len(self._between(each, *self._near(each)))))
        (into,) = self._near(leaf)
        message = self.program.add(Message(self._matrix(into, leaf), self._vector(leaf)))
        self.vectors[into].append(message)
        self._remove(leaf)
        return True

    def _close(self) -> bool:
        """Sum out a vertex between two that are linked: the cheapest."""
        found: list[tuple[float, int, Closed, tuple[int, int]]] = []
        for vertex in self.vectors:
            near = self._near(vertex)
            if vertex in self.outputs or len(near) != 2:
                continue
            one, other = sorted(near)
            if (one, other) in self.matrices:
                left, right = self._matrix(one, vertex), self._matrix(other, vertex)
                step = Closed(self.matrices[one, other][0], left, right, self._vector(vertex))
                found.append((self.costs.of(self.program.add(step)), vertex, step, (one, other)))
        if not found:
            return False
        _, vertex, step, pair = min(found, key=lambda each: each[:2])
        self.matrices[pair].append(self.program.add(step))
        self._remove(vertex)
        return True

    def _go_around(self) -> bool:
        """Sum out trees that hang at one vertex, the cheapest first."""
        best: tuple[float, int, Around, frozenset[int]] | None = None
        for root in self.vectors:
            for part in self._apart(root):
                if part.intersection(self.outputs) or not self._is_tree(part):
                    continue
                for around in self._ways_around(root, part):
                    cost = self.costs.of(self.program.add(around))
                    if best is None or cost < best[0]:
                        best = cost, root, around, part
        if best is None:
            return False
        _, root, around, part = best
        # the root's own vector says which roots there are; it is multiplied in here
        self.vectors[root] = [self.program.add(around)]
        for vertex in part:
            self._remove(vertex)
        return True

    def _ways_around(self, root: int, part: frozenset[int]) -> Iterator[Around]:
        for top in sorted(part):
            arms: list[Arm] = []
            place = self._add_arm(arms, root, top, None)
            yield Around(tuple(arms), (place,), self._vector(root))

    def _add_arm(self, arms: list[Arm], root: int, vertex: int, parent: int | None) -> int:
        """Add the arm of a vertex of a tree around a root, after those below it; return its place."""
        below = sorted(
            self._add_arm(arms, root, other, vertex) for other in self._near(vertex) if other not in (root, parent)
        )
        start = self._matrix(root, vertex) if root in self._near(vertex) else None
        link = None if parent is None else self._matrix(vertex, parent)
        made = Arm(start, self._vector(vertex), tuple(below), link)
        if made not in arms:
            arms.append(made)
        return arms.index(made)

    # ------------------------------------------------------------ the pattern

    def _near(self, vertex: int) -> Sequence[int]:
        return self._linked[vertex]

    def _between(self, one: int, other: int) -> list[int]:
        return self.matrices[min(one, other), max(one, other)]

    def _vector(self, vertex: int) -> int | None:
        return self.program.product(self.vectors[vertex])

    def _matrix(self, one: int, other: int) -> int:
        """Return the matrix of a pair seen from ``one``."""
        factors = self._between(one, other)
        place = self.program.product(factors)
        assert place is not None
        return place if one < other else self.program.turned(place)

    def _remove(self, vertex: int) -> None:
        del self.vectors[vertex]
        for other in self._linked.pop(vertex):
            del self.matrices[min(vertex, other), max(vertex, other)]
            self._linked[other].remove(vertex)

    def _apart(self, root: int) -> list[frozenset[int]]:
        """Return the parts of the root's component that hang together without it."""
        parts = []
        left = set(self._reached(root, None)) - {root}
        while left:
            part = frozenset(self._reached(min(left), root))
            parts.append(part)
            left -= part
        return parts

    def _reached(self, vertex: int, without: int | None) -> list[int]:
        found = [vertex]
        for each in found:
            found += [other for other in self._near(each) if other != without and other not in found]
        return found

    def _is_tree(self, part: frozenset[int]) -> bool:
        return sum(pair in self.matrices for pair in combinations(sorted(part), 2)) == len(part) - 1
