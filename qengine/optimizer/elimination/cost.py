"""What the steps of an elimination cost, in nanoseconds of one core: estimates from whole types, labels left aside.

Matrices are read whole, so that their entries and the squares of their rows' lengths say what a step takes. What each
thing takes is in ``catalog/cost``.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log, sqrt

from qengine.catalog.costs import costs
from qengine.catalog.view import CatalogView, EdgeStatistics
from qengine.plan.closed_walks import WalkSum, squared_rows, walk_sum
from qengine.plan.elimination import (
    AtEnds,
    ByRoot,
    EndRows,
    ForestNode,
    MaskedProduct,
    Matrix,
    MatVec,
    Neighbourhoods,
    NodeIndicator,
    OfPairs,
    Pairs,
    Product,
    Relation,
    RootedForest,
    Step,
    column_domain_of,
    counted_degrees,
    domain_of,
    is_labels_alone,
    is_matrix,
    operands,
)
from qengine.plan.pattern import Direction

_FIRST = 0.1
"""The share of making what stays with the graph that a run is charged: others find it there."""

_ROOTS = 512
"""That closed walks of four are counted from at once, a bit each."""

_LANES = 32
"""The same of those of five and six, and of weighted ones: a number each."""

_A_LINE = 8.0
"""Counters that are raised one by one in the time of a line of bits."""


_UNEVEN = 8.0
"""Times the square of the average degree among neighbours, the average of its square."""


_HEAD = 16_384
"""Columns of a row of bits, at most."""


class StepCosts:
    """Costs of the steps of one program, by their places. ``outputs``: whether vectors are more than summed."""

    def __init__(self, catalog: CatalogView, steps: list[Step], *, outputs: bool = False) -> None:
        self._outputs = outputs
        self._catalog = catalog
        self._steps = steps
        self._known: dict[int, float] = {}
        self._take = costs("cpu", "elimination")
        self.vertices = float(max(catalog.vertex_count, 1))

    def total(self) -> float:
        """Return the cost of the whole program."""
        return self._take["start"] + sum(map(self.of, range(len(self._steps))))

    def of(self, place: int) -> float:
        """Return the cost of a step, its operands aside."""
        if place not in self._known:
            self._known[place] = self._take["step"] + self._cost(place)
        return self._known[place]

    def _cost(self, place: int) -> float:
        take = self._take
        match self._steps[place]:
            case NodeIndicator(nodes=nodes, loops=loops) as own:
                tested = sum(take["predicate"] for _, _, predicates in nodes if predicates)
                looked_up = len(loops) * take["root"]
                share = _FIRST if is_labels_alone(own) else 1.0
                return share * self.vertices * (take["vertex"] + tested + looked_up)
            case Matrix(relations=relations):
                return self._making(relations) if self._is_merged(place) else 0.0
            case Product(factors=factors):
                if is_matrix(self._steps, factors[0]):
                    return 0.0
                read = any(place in operands(step) for step in self._steps)
                return len(factors) * take["vertex" if read or self._outputs else "number"] * self._size(place)
            case MatVec(matrix=matrix, vector=vector) as message:
                lists = self._lists_with_lengths(self._steps[matrix]) if vector is None else None
                entries = self.entries(matrix) if lists is None else 0.0
                cost = take["entry"] * entries + take["vertex"] * self._size(matrix) * (lists or 1)
                return cost if counted_degrees(self._steps, message) is None else _FIRST * cost
            case MaskedProduct(across=across, left=left, right=right, vector=vector):
                entries = self.entries(across)
                if across == left == right and vector is None and self._is_local(across):
                    return entries * (take["number"] + self._row_lines(across))
                if across == left == right and self.symmetric(across) and self._is_whole(self._steps[across]):
                    found = take["triangle"] if vector is None else take["read"]
                    return entries * (take["pair"] + found * sqrt(entries))
                met = min(self.meetings(left, across), self.meetings(across, right))
                return take["vertex"] * self._size(across) + take["pair"] * entries + take["read"] * met
            case RootedForest(nodes=nodes, tops=tops) as around:
                if (ways := self._ways_of_rows(around)) is not None:
                    return ways
                lines = self._walk_lines(place, around)
                if lines is not None:
                    return take["root"] * self.vertices + take["line"] * lines
                cost, _ = self._around(nodes, tops)
                return cost
            case Pairs(nodes=nodes):
                cost, pairs = self._around(nodes, ())
                return cost + take["row"] * pairs
            case Neighbourhoods(first=first, by=by):
                return take["common"] * self.meetings(first, by) + take["link"] * self.entries(place)
            case AtEnds(pairs=pairs) | OfPairs(pairs=pairs) | ByRoot(pairs=pairs):
                return take["vertex"] * self.entries(pairs)
        return 0.0

    def _ways_of_rows(self, around: RootedForest) -> float | None:
        """Return what squares of the ways along two matrices take where rows of bits are added up, else None."""
        squared = squared_rows(around)
        if squared is None:
            return None
        start, link = squared
        if start == link and self._is_local(start):
            return self.entries(start) * (self._take["number"] + 2 * self._row_lines(start))
        if not isinstance(self._steps[link], EndRows):
            return None
        columns = column_domain_of(self._steps, link)
        width = self.vertices if columns is None else self.entries(columns)
        length = self.meetings(start, link) / self.entries(start)
        each = min(length, 1.5 * self._take["line"] * min(width, _HEAD) / 512)
        return self._take["root"] * self._size(start) + self.entries(start) * each

    def _is_local(self, place: int) -> bool:
        """Tell whether a matrix is symmetric, and links each two neighbours of one root at most once."""
        step = self._steps[place]
        return isinstance(step, Neighbourhoods) and self._is_whole(step) and self.symmetric(place)

    def _row_lines(self, place: int) -> float:
        """Return what a row of bits takes where neighbours are linked: a bit for each neighbour of its root."""
        step = self._steps[place]
        assert isinstance(step, Neighbourhoods)
        bits = _UNEVEN * self.meetings(step.first, step.first) / self.entries(step.first)
        return self._take["line"] * bits / 512

    def _size(self, place: int) -> float:
        """Return how many elements a vector, or a matrix's rows, have numbers of."""
        domain = domain_of(self._steps, place)
        return self.vertices if domain is None else self.entries(domain)

    def _making(self, relations: tuple[Relation, ...]) -> float:
        """Return what it costs to merge relations into a matrix.

        Its rows are counted, then filled: where lists don't stand in order of the vertices, each is looked up twice.
        It stays with the graph where no conditions choose among them.
        """
        share = 1.0 if any(each.conditions for each in relations) else _FIRST
        tested = self._take["predicate"]
        rows = 2 * costs("cpu", "search")["locate"] * self.vertices
        cost = rows * sum(not self._is_dense(each) for each in relations)
        for each in relations:
            cost += (self._take["merge"] + tested * len(each.conditions)) * self._entries(each)
        return share * cost

    def _is_merged(self, place: int) -> bool:
        """Tell whether a matrix must be made: it isn't stored as one, and something else than a message reads it."""
        readers = (step for step in self._steps if place in operands(step))
        return not self._is_stored_matrix(self._steps[place]) and not all(isinstance(step, MatVec) for step in readers)

    def _is_stored_matrix(self, step: Step) -> bool:
        return isinstance(step, Matrix) and self._is_whole(step) and self._is_dense(step.relations[0])

    def _is_dense(self, relation: Relation) -> bool:
        """Tell whether all lists of a relation stand in order of the vertices."""
        infos = [info for name in relation.types if (info := self._catalog.relationship_type(name)) is not None]
        ways = {Direction.OUT: (0,), Direction.IN: (1,)}.get(relation.direction, (0, 1))
        return all(info.dense[way] for info in infos for way in ways)

    def _is_single_type(self, relation: Relation) -> bool:
        return not relation.conditions and len(relation.types) == 1 and not self._is_union(relation)

    def _lists_with_lengths(self, step: Step) -> int | None:
        """Return of how many lists the lengths tell each sum of a matrix's rows; None where lists must be read.

        A self-loop stands in both lists of its vertex and counts once.
        """
        if not isinstance(step, Matrix) or len(step.relations) > 1 or step.relations[0].conditions:
            return None
        relation = step.relations[0]
        infos = [info for name in relation.types if (info := self._catalog.relationship_type(name)) is not None]
        if relation.direction is Direction.BOTH and any(info.loops and not info.undirected for info in infos):
            return None
        return sum(2 if relation.direction is Direction.BOTH and not info.undirected else 1 for info in infos)

    def _is_whole(self, step: Step) -> bool:
        """Tell whether a matrix is one type as it is stored, or what that is among neighbours."""
        if isinstance(step, Neighbourhoods):
            return step.first == step.second and self._is_whole(self._steps[step.by])
        return isinstance(step, Matrix) and len(step.relations) == 1 and self._is_single_type(step.relations[0])

    def _around(self, nodes: Sequence[ForestNode], tops: Sequence[int]) -> tuple[float, float]:
        """Return what nodes cost, and how many numbers the last one's vectors have, over all roots."""
        roots = self.vertices
        cost = self._take["root"] * roots
        reach: list[float] = []  # of each node: what its sparse vectors hold, over all roots
        for place, node in enumerate(nodes):
            held = roots * self.vertices
            below = list(dict.fromkeys(node.nodes))
            read = len(node.nodes) == len(below) == 2 and place in tops and node.start is None and node.vector is None
            for child in below:
                under = nodes[child]
                assert under.link is not None
                if under.start is not None and not under.nodes:
                    pushed = self.meetings(under.start, under.link)
                else:
                    pushed = reach[child] * self.entries(under.link) / self.vertices
                pushed = min(pushed, roots * self.entries(under.link))
                cost += self._take["read" if read and child == below[-1] else "scatter"] * pushed
                held = min(held, pushed)
            if node.start is not None:
                held = min(held, self.entries(node.start))
            reach.append(held)
        return cost, reach[-1] if reach else roots

    def _walk_lines(self, place: int, around: RootedForest) -> float | None:
        """Return how many lines closed walks take that are counted at their first vertices, else None."""
        found = None if self._outputs else walk_sum(around)
        if found is None:
            return None
        walks = found.walks
        matrix = self._steps[walks.matrix]
        if not isinstance(matrix, Matrix) or not self._is_whole(matrix) or not self.symmetric(walks.matrix):
            return None
        if any(place in operands(step) for step in self._steps):  # more than their sum is wanted
            return None
        entries, counters = self.entries(walks.matrix), self.meetings(walks.matrix, walks.matrix)
        lines = entries * self._first_rank(matrix.relations[0])
        if not _in_lanes(found):
            return min(lines / _ROOTS, counters / _A_LINE)
        if walks.length > 4:
            counters += min(counters, self.vertices * self.vertices) * entries / max(1.0, self.vertices)
        before = (other for step in self._steps[:place] if (other := walk_sum(step)) is not None)
        together = any(_in_lanes(other) and other.walks.matrix == walks.matrix for other in before)
        return 0.0 if together else min(lines / _LANES, counters / _A_LINE)

    def _first_rank(self, relation: Relation) -> float:
        """Return the average rank of the first end of a pair, where vertices go by degree.

        Degrees are taken to be lognormal of the spread s that their squares say: then it is the vertices times the
        chance that three normal variables are Z - s > X, Y, for which 1/3 exp(-0.81 s - 0.265 s^2) is close.
        """
        vertices = max(1.0, sum(float(found.sources) for found in self._statistics(relation)))
        mean = self._entries(relation) / vertices
        spread = sqrt(max(0.0, log(self._squares_of(relation) / vertices / mean**2)))
        return vertices / 3 * exp(-0.81 * spread - 0.265 * spread**2)

    # ------------------------------------------------------------ matrices

    def symmetric(self, place: int) -> bool:
        """Tell whether a matrix is the same from both ends."""
        match self._steps[place]:
            case Matrix(relations=relations):
                return all(relation.direction is Direction.BOTH for relation in relations)
            case MaskedProduct(across=across, left=left, right=right):
                return left == right and self.symmetric(across)
            case Product(factors=factors):
                return all(map(self.symmetric, factors))
            case Neighbourhoods(first=first, second=second, by=by):
                return first == second and self.symmetric(by)
        return False

    def entries(self, place: int) -> float:
        """Return about how many pairs a matrix links."""
        match self._steps[place]:
            case Matrix(relations=relations):
                return min(map(self._entries, relations))
            case MaskedProduct(across=across):
                return self.entries(across)
            case Product(factors=factors):
                return self.entries(factors[0])
            case Neighbourhoods(first=first, second=second, by=by):
                return self._linked_neighbours(first, second, by)
            case EndRows(pairs=pairs, by=by):
                return self.meetings(pairs, by)
        return self.vertices

    def _linked_neighbours(self, first: int, second: int, by: int) -> float:
        """Return about how many pairs of neighbours of one root are linked.

        Among relationships of one type as many as are closed in a sample; else those that unrelated ones would be.
        """
        step = self._steps[first]
        wedges = self.meetings(first, second)
        if first == second == by and isinstance(step, Matrix) and len(step.relations) == 1:
            closed = [self._catalog.closed_wedges(name) for name in step.relations[0].types]
            return max(1.0, sum(closed))
        size = max(1.0, self._size(by))
        odds = self.meetings(by, by) ** 2 / max(1.0, self.entries(by)) ** 3  # by degrees, which neighbours have more of
        return max(1.0, wedges * min(1.0, max(odds, self.entries(by) / size**2)))

    def meetings(self, one: int, other: int) -> float:
        """Return about how many pairs of entries meet: (a, b) of one matrix, (b, c) of the other."""
        return sqrt(self._squares(one, True) * self._squares(other, False))

    def _squares(self, place: int, back: bool) -> float:
        match self._steps[place]:
            case Matrix(relations=relations):
                return min(self._squares_of(each.reversed() if back else each) for each in relations)
            case MaskedProduct(across=across):
                return self._squares(across, back)
            case Product(factors=factors):
                return self._squares(factors[0], back)
            case Neighbourhoods(first=first):
                entries = self.entries(place)
                return _UNEVEN * entries * entries / max(1.0, self.entries(first))
            case EndRows(pairs=pairs):
                entries = self.entries(place)
                return entries * max(1.0, entries / max(1.0, self.entries(pairs)))
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


def _in_lanes(walks: WalkSum) -> bool:
    """Tell whether walks are counted with numbers of their roots side by side."""
    return walks.walks.length > 4 or walks.weights is not None
