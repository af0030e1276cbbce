"""What an order of binding costs: a model of what the kernels read, in nanoseconds of one core.

Vertices are numbers, sets of vertices are bit masks. The rows of a bound set, and the candidates of a vertex given such
a set, depend on the set alone, so that sub-patterns can be solved once (order.py).

Sizes. With d the degree of a vertex in one pattern edge, k edges at a vertex occur as often as E[d^k] says, not
E[d]^k: hubs are reached more often than others, and from them more is reached. The first three moments are known; each
edge beyond the third multiplies as the third does. (Chung and Lu 2002: with these degrees, edges are independent.)

Costs. A step reads the least of the lists that it intersects. What is only counted falls apart into components, which
multiply and whose counts are remembered by the vertices that they depend on; a component that is one vertex or a
group of vertices that are only different from each other is counted by formula; squares are counted by their wedges.
(kernels/host/search_plan.h says when.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from qengine._frozen import frozen

LOCATE = 20.0  # finding a vertex's list
AT_HAND = 4.0  # a list that was found before
SET_UP = 25.0  # of an intersection
READ = 0.5  # an id of an intersection's least list
BIND = 8.0  # a vertex
CHECK = 8.0  # a vertex against one other, or its own predicates
COUNTER = 1.2  # a counter of a wedge, and its clearing
LOOK_UP = 8.0  # a remembered count
ROW = 25.0  # writing one
_REMEMBERED = float(1 << 17)  # counts that a table holds

FREE, LESSER, GREATER = 0, 1, 2
"""How the vertex at the other end of an edge is ordered against this end's."""


@frozen
class Ties:
    """Degrees in one pattern edge, seen from one end.

    ``fan_out``: neighbours on average. ``most``: at most. ``skew``: E[d²]/E[d]². ``tail``: what the third edge grows
    by against the second, E[d³]E[d]/E[d²]². ``lesser``, ``mixed``, ``greater``: E[ll], E[lg], E[gg] over E[l]E[l] for
    neighbours of lesser (greater) id, which are half of them.
    """

    fan_out: float
    most: float
    skew: float = 1.0
    tail: float = 1.0
    lesser: float = 1.0
    mixed: float = 1.0
    greater: float = 1.0


@frozen
class Link:
    """A pattern edge between vertices ``one`` and ``other``: ``probability`` joins two vertices with their labels."""

    one: int
    other: int
    probability: float
    there: Ties  # from one to other
    back: Ties


@frozen
class Problem:
    """A pattern to order.

    ``candidates`` by labels and predicates, ``labelled`` by labels alone; ``filtered``: whose predicates are checked
    vertex by vertex. ``links``: edges between different vertices. ``different``: pairs that may coincide and must
    not. ``entangled``: sets whose members are compared with each other in other ways. ``less``: pairs (a, b) with
    id(a) < id(b). ``bound``: vertices that each input row gives. ``wanted``: vertices to emit; with ``counted``
    the others are only counted, else all are walked.
    """

    candidates: Sequence[float]
    labelled: Sequence[float]
    filtered: frozenset[int]
    links: Sequence[Link]
    different: Sequence[tuple[int, int]] = ()
    entangled: Sequence[frozenset[int]] = ()
    less: Sequence[tuple[int, int]] = ()
    bound: int = 0
    wanted: int = 0
    counted: bool = True
    kinds: Sequence[object] = ()  # equal for vertices with the same labels and predicates


@lru_cache(1 << 14)
def members(mask: int) -> tuple[int, ...]:
    """Return the numbers in a set, ascending."""
    found = []
    while mask:
        least = mask & -mask
        found.append(least.bit_length() - 1)
        mask ^= least
    return tuple(found)


def mask_of(numbers: Iterable[int]) -> int:
    """Return the set of some numbers."""
    mask = 0
    for number in numbers:
        mask |= 1 << number
    return mask


class CostModel:
    """Sizes and costs over the sub-patterns of one problem; remembers what it has worked out."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        count = len(problem.candidates)
        self.count = count
        self.all = (1 << count) - 1
        self.adjacent = [0] * count
        self.mentioned = [0] * count  # by an edge or a constraint, either way
        self.different = [0] * count
        self.ordered = [0] * count
        # By vertex: a neighbour, their edge's probability, its ties from there, how this vertex is ordered against the
        # neighbour, and the neighbour against this vertex.
        self._ways: list[list[tuple[int, float, Ties, int, int]]] = [[] for _ in range(count)]
        self._fill()
        self._growth = [self._growths(vertex) for vertex in range(count)]
        self._usual = [(1.0, table[0][0], table[0][0] * tail) for table, tail in self._growth]
        self._selectivity = [
            candidates / max(labelled, 1.0)
            for candidates, labelled in zip(problem.candidates, problem.labelled, strict=True)
        ]
        self._rows: dict[int, float] = {0: 1.0, problem.bound: 1.0}
        self._steps: dict[tuple[int, int], tuple[float, float]] = {}
        self._times: dict[tuple[int, int], float] = {}
        self._components: dict[int, list[int]] = {}
        self._mentioned: dict[int, int] = {}
        self._near: dict[int, int] = {0: 0}

    def _fill(self) -> None:
        orders = {}
        for small, big in self.problem.less:
            orders[big, small], orders[small, big] = LESSER, GREATER
            self._mention(small, big)
            self.ordered[small] |= 1 << big
            self.ordered[big] |= 1 << small
        for link in self.problem.links:
            order, back = orders.get((link.one, link.other), FREE), orders.get((link.other, link.one), FREE)
            self._ways[link.other].append((link.one, link.probability, link.there, order, back))
            self._ways[link.one].append((link.other, link.probability, link.back, back, order))
            self.adjacent[link.one] |= 1 << link.other
            self.adjacent[link.other] |= 1 << link.one
            self._mention(link.one, link.other)
        for one, other in self.problem.different:
            if (one, other) not in orders:
                self.different[one] |= 1 << other
                self.different[other] |= 1 << one
                self._mention(one, other)
        for group in self.problem.entangled:
            for one in group:
                self.mentioned[one] |= mask_of(group - {one})

    def _mention(self, one: int, other: int) -> None:
        self.mentioned[one] |= 1 << other
        self.mentioned[other] |= 1 << one

    def _growths(self, vertex: int) -> tuple[tuple[tuple[float, ...], ...], float]:
        """Return by two kinds of edges how much likelier the vertex has the one where it has the other; the tail."""
        ties = [link.there if link.one == vertex else link.back for link in self.problem.links]
        ties = [each for each, link in zip(ties, self.problem.links, strict=True) if vertex in (link.one, link.other)]
        skew = _mean(each.skew for each in ties)
        lesser, greater = _mean(each.lesser for each in ties), _mean(each.greater for each in ties)
        mixed = _mean(each.mixed for each in ties)
        some, more = (lesser + mixed) / 2, (greater + mixed) / 2
        return ((skew, some, more), (some, lesser, mixed), (more, mixed, greater)), _mean(each.tail for each in ties)

    # ------------------------------------------------------------ sizes

    def rows(self, bound: int) -> float:
        """Return the expected number of embeddings of the sub-pattern over a set of vertices."""
        found = self._rows.get(bound)
        if found is None:
            last = (bound & ~self.problem.bound).bit_length() - 1
            before = bound & ~(1 << last)
            found = self._rows[bound] = self.rows(before) * self.step(before, last)[0]
        return found

    def step(self, bound: int, vertex: int) -> tuple[float, float]:
        """Return the expected candidates of a vertex for one row of a bound set, and the cost of finding them."""
        key = bound, vertex
        found = self._steps.get(key)
        if found is None:
            found = self._steps[key] = self._step(bound, vertex)
        return found

    def _step(self, bound: int, vertex: int) -> tuple[float, float]:
        """Multiply the shortest list by the chances that its members are in the others."""
        labelled = max(self.problem.labelled[vertex], 1.0)
        lists = []
        for origin, probability, ties, there, back in self._ways[vertex]:
            if bound >> origin & 1:
                growth = self._grown(origin, there, bound)
                lists.append((min(ties.fan_out * growth, ties.most, labelled), probability * growth, back))
        checks = CHECK * (self.different[vertex] & bound).bit_count()
        halves = 0.5 ** (self.ordered[vertex] & bound & ~self.adjacent[vertex]).bit_count()
        if not lists:
            return max(self.problem.candidates[vertex] * halves, 1e-9), LOCATE
        lists.sort()
        size, _, first = lists[0]
        kinds = [first]
        least = 1.0
        for _, probability, back in lists[1:]:
            growth = (
                self._growth_of(vertex, back, kinds) if self.problem.less else self._usual[vertex][min(len(kinds), 2)]
            )
            chance = min(1.0, probability * growth)
            kinds.append(back)
            size *= chance
            least = min(least, chance)
        cost = LOCATE + checks
        if len(lists) > 1:
            # the newest list meets what the others have in common, or is met by it
            older = lists[0][0] if len(lists) == 2 else min(lists[0][0], size / least)
            cost += SET_UP + READ * older
        if vertex in self.problem.filtered:
            cost += CHECK * size
        return max(size * halves * self._selectivity[vertex], 1e-9), cost

    def _grown(self, origin: int, kind: int, bound: int) -> float:
        if not self.problem.less:
            edges = self.adjacent[origin] & bound
            return self._usual[origin][0 if not edges else 1 if edges & (edges - 1) == 0 else 2]
        present = [way[4] for way in self._ways[origin] if bound >> way[0] & 1]
        return self._growth_of(origin, kind, present) * (0.5 if kind else 1.0)

    def _growth_of(self, vertex: int, kind: int, present: Sequence[int]) -> float:
        """Return how much likelier an edge of a kind is at a vertex that has edges of the kinds ``present``."""
        if not present:
            return 1.0
        table, tail = self._growth[vertex]
        if len(present) == 1:
            return table[kind][present[0]]
        return _mean(table[kind][each] for each in present) * tail

    def near(self, part: int) -> int:
        """Return the vertices that share an edge with some vertex of a set."""
        found = self._near.get(part)
        if found is None:
            least = part & -part
            found = self._near[part] = self.near(part ^ least) | self.adjacent[least.bit_length() - 1]
        return found

    # ------------------------------------------------------------ counted parts

    def components(self, part: int) -> list[int]:
        """Return the parts of a set that don't mention each other."""
        found = self._components.get(part)
        if found is None:
            found = self._components[part] = list(self._split(part))
        return found

    def _split(self, part: int) -> Iterator[int]:
        while part:
            component, news = 0, part & -part
            while news:
                component |= news
                news = self._mentions(news) & part & ~component
            yield component
            part &= ~component

    def _mentions(self, part: int) -> int:
        """Return the vertices that some vertex of a set mentions."""
        found = self._mentioned.get(part)
        if found is None:
            found = 0
            for vertex in members(part):
                found |= self.mentioned[vertex]
            self._mentioned[part] = found
        return found

    def context(self, part: int, bound: int) -> int:
        """Return the bound vertices that the count of a component depends on."""
        return self._mentions(part) & bound

    def times(self, bound: int, part: int) -> float:
        """Return how often a component is counted: once a row of what is bound, or less where it is remembered."""
        key = bound, part
        found = self._times.get(key)
        if found is None:
            found = self._times[key] = self._times_anew(bound, part)
        return found

    def _times_anew(self, bound: int, part: int) -> float:
        calls = self.rows(bound)
        context = self.context(part, bound)
        if context == bound or bound & self.problem.bound:
            return calls
        size = context.bit_count()
        if size > 3:
            return calls
        distinct = min(calls, self.rows(context))
        if size > 2:  # no count of its own is kept, but those above it are
            return distinct
        return calls - (calls - distinct) * min(1.0, _REMEMBERED / max(distinct, 1.0))

    def is_plain(self, bound: int, part: int) -> bool:
        """Tell whether a component is one vertex whose list alone says how many there are."""
        if part & (part - 1):
            return False
        vertex = part.bit_length() - 1
        return (self.adjacent[vertex] & bound).bit_count() <= 1 and vertex not in self.problem.filtered

    def entry(self, bound: int, part: int, newest: int = 0) -> float:
        """Return what each call of a component costs beside counting it; ``newest`` was bound last."""
        if self.is_plain(bound, part):
            return self._size_cost(bound, part.bit_length() - 1, newest)
        return LOOK_UP if self.context(part, bound) != bound else 0.0

    def _size_cost(self, bound: int, vertex: int, newest: int) -> float:
        """Return the cost of finding how many candidates there are: a list of an older vertex is at hand."""
        cost = self.step(bound, vertex)[1]
        origin = self.adjacent[vertex] & bound
        at_hand = newest and not origin & newest and origin & (origin - 1) == 0
        return cost - LOCATE + AT_HAND if at_hand else cost

    def formula(self, bound: int, part: int, newest: int = 0) -> float | None:
        """Return the cost of counting a component once by a formula; None where it must be walked."""
        if part & (part - 1) == 0:
            return self._size_cost(bound, part.bit_length() - 1, newest)
        cost = 0.0
        kinds = set()
        for vertex in members(part):
            others = part & ~(1 << vertex)
            if self.different[vertex] & part != others or (self.adjacent[vertex] | self.ordered[vertex]) & part:
                return None
            cost += self._size_cost(bound, vertex, newest)
            kinds.add(self._kind(vertex, bound))
        if len(kinds) == 1:
            return cost / part.bit_count()
        return cost if part.bit_count() <= 3 else None

    def _kind(self, vertex: int, bound: int) -> object:
        """Return what vertices with the same candidates share."""
        ways = frozenset((way[0], way[2]) for way in self._ways[vertex] if bound >> way[0] & 1)
        return self.problem.kinds[vertex] if self.problem.kinds else vertex, ways, self.ordered[vertex] & bound

    def wedge(self, bound: int, part: int, first: int) -> float | None:
        """Return the cost of counting the pairs of ways from ``first`` and another vertex to a third by counters."""
        rest = part & ~(1 << first)
        if not bound or part.bit_count() != 3 or not self.adjacent[first] & rest:
            return None
        ends = self.adjacent[first] & rest
        if ends == rest:
            return None
        last, second = ends.bit_length() - 1, (rest & ~ends).bit_length() - 1
        if self.adjacent[last] & (bound | part) != 1 << first | 1 << second or last in self.problem.filtered:
            return None
        if (self.different[last] | self.ordered[last]) & part:
            return None
        size, cost = self.step(bound, first)
        cost += size * (BIND + LOCATE + COUNTER * self.step(bound | 1 << first, last)[0])
        if self._kind(first, bound) == self._kind(second, bound):
            return cost
        if (self.different[first] | self.ordered[first]) >> second & 1:
            return None
        size, more = self.step(bound, second)
        return cost + more + size * (BIND + LOCATE + COUNTER * self.step(bound | 1 << second, last)[0])


def _mean(values: Iterable[float]) -> float:
    """Return the geometric mean, 1 of nothing."""
    product, n = 1.0, 0
    for value in values:
        product *= max(value, 1e-9)
        n += 1
    return float(product ** (1.0 / n)) if n else 1.0
