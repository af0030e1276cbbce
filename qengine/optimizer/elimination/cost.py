"""What the steps of an elimination cost, in nanoseconds of one core: estimates from whole types, labels left aside.

Matrices are read whole, so that their entries and the squares of their rows' lengths say what a step takes.
"""

from __future__ import annotations

from math import sqrt

from qengine.catalog.view import CatalogView, EdgeStatistics
from qengine.plan.elimination import Around, Closed, Matrix, Message, Own, Product, Relation, Step
from qengine.plan.pattern import Direction

START = 100_000.0  # of an elimination, before its first step
STEP = 40_000.0  # a step's own
VERTEX = 1.0  # an entry of a vector
PREDICATE = 10.0  # and where predicates are evaluated
ENTRY = 1.5  # an entry of a matrix, and of the vector that it meets
COMMON = 0.06  # by the square root of the entries, finding a triangle's third vertices for an entry
COPY = 2.0  # an entry that is merged with others into a matrix of its own
SCATTER = 1.5  # a number added to a sparse vector
ROOT = 100.0  # a root of its own


class StepCosts:
    """Costs of the steps of one program, by their places."""

    def __init__(self, catalog: CatalogView, steps: list[Step]) -> None:
        self._catalog = catalog
        self._steps = steps
        self._known: dict[int, float] = {}
        self.vertices = float(max(catalog.vertex_count, 1))

    def total(self) -> float:
        """Return the cost of the whole program."""
        return START + sum(map(self.of, range(len(self._steps))))

    def of(self, place: int) -> float:
        """Return the cost of a step, its operands aside."""
        if place not in self._known:
            self._known[place] = STEP + self._cost(self._steps[place])
        return self._known[place]

    def _cost(self, step: Step) -> float:
        match step:
            case Own(nodes=nodes, loops=loops):
                tested = sum(PREDICATE for _, _, predicates in nodes if predicates)
                return self.vertices * (VERTEX + tested) + COPY * sum(map(self._entries, loops))
            case Matrix(relations=(relation,)) if not relation.conditions and len(relation.types) == 1:
                return COPY * self._entries(relation) * (self._is_union(relation) or 0.0)
            case Matrix(relations=relations):
                return COPY * 8 * sum(map(self._entries, relations))
            case Product(factors=factors):
                matrix = isinstance(self._steps[factors[0]], Matrix | Closed)
                return len(factors) * VERTEX * (self.entries(factors[0]) if matrix else self.vertices)
            case Message(matrix=matrix, vector=None) if isinstance(self._steps[matrix], Matrix):
                return VERTEX * self.vertices
            case Message(matrix=matrix):
                return ENTRY * self.entries(matrix) + VERTEX * self.vertices
            case Closed(across=across, left=left, right=right):
                entries = self.entries(across)
                if across == left == right and self.symmetric(across):
                    return entries * (10 + COMMON * sqrt(entries))
                return ENTRY * min(self.meetings(left, across), self.meetings(across, right))
            case Around():
                return self._around(step)

    def _around(self, step: Around) -> float:
        roots = self.vertices
        cost = ROOT * roots
        reach: list[float] = []  # of each arm: what its sparse vectors hold, over all roots
        for arm in step.arms:
            held = roots * self.vertices
            for place in dict.fromkeys(arm.arms):
                below = step.arms[place]
                assert below.link is not None
                if below.start is not None and not below.arms:
                    pushed = self.meetings(below.start, below.link)
                else:
                    pushed = reach[place] * self.entries(below.link) / self.vertices
                pushed = min(pushed, roots * self.entries(below.link))
                cost += SCATTER * pushed
                held = min(held, pushed)
            if arm.start is not None:
                held = min(held, self.entries(arm.start))
            reach.append(held)
        return cost

    # ------------------------------------------------------------ matrices

    def symmetric(self, place: int) -> bool:
        """Tell whether a matrix is the same from both ends."""
        match self._steps[place]:
            case Matrix(relations=relations):
                return all(relation.direction is Direction.BOTH for relation in relations)
            case Closed(across=across, left=left, right=right):
                return left == right and self.symmetric(across)
            case Product(factors=factors):
                return all(map(self.symmetric, factors))
        return False

    def entries(self, place: int) -> float:
        """Return about how many pairs a matrix links."""
        match self._steps[place]:
            case Matrix(relations=relations):
                return min(map(self._entries, relations))
            case Closed(across=across):
                return self.entries(across)
            case Product(factors=factors):
                return self.entries(factors[0])
        return self.vertices

    def meetings(self, one: int, other: int) -> float:
        """Return about how many pairs of entries meet: (a, b) of one matrix, (b, c) of the other."""
        return sqrt(self._squares(one, True) * self._squares(other, False))

    def _squares(self, place: int, back: bool) -> float:
        match self._steps[place]:
            case Matrix(relations=relations):
                return min(self._squares_of(each.reversed() if back else each) for each in relations)
            case Closed(across=across):
                return self._squares(across, back)
            case Product(factors=factors):
                return self._squares(factors[0], back)
        return self.vertices

    def _entries(self, relation: Relation) -> float:
        return max(1.0, sum(found.edges for found in self._statistics(relation)))

    def _squares_of(self, relation: Relation) -> float:
        """Return the sum of the squares of a relation's degrees."""
        root = 0.0
        for found in self._statistics(relation):
            inward = relation.direction is Direction.IN
            squares = (found.in_pairs if inward else found.out_pairs) + found.edges
            root += sqrt(max(squares, found.edges * found.edges / self.vertices))
        return max(1.0, root * root)

    def _statistics(self, relation: Relation) -> list[EdgeStatistics]:
        found = [self._catalog.edge_statistics(None, name, None) for name in relation.types]
        return found * (2 if self._is_union(relation) else 1)

    def _is_union(self, relation: Relation) -> bool:
        return relation.direction is Direction.BOTH and not self._is_stored(relation)

    def _is_stored(self, relation: Relation) -> bool:
        """Tell whether all types are undirected."""
        infos = (self._catalog.relationship_type(name) for name in relation.types)
        return all(info is not None and info.undirected for info in infos)
