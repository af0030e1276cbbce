"""What an order of binding costs is worked out by ``kernels/host/order/order_model.cpp``; here is what it is given.

Vertices are numbers, sets of vertices are bit masks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from qengine._frozen import frozen
from qengine.catalog.view import Incidence

_UNKNOWN = Incidence((), True, True, None)


@frozen
class DegreeStatistics:
    """Degrees in one pattern edge, seen from one end.

    ``fan_out``: neighbours on average. ``most``: at most. ``skew``: E[d(d-1)]/E[d]². ``tail``: what the third edge
    grows by against the second, E[d(d-1)(d-2)]E[d]/E[d(d-1)]². ``lesser``, ``mixed``, ``greater``: E[ll], E[lg], E[gg]
    over E[l]E[l] for neighbours of lesser (greater) id, which are half of them.
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
    """A pattern edge between vertices ``one`` and ``other``: ``probability`` joins two vertices with their labels.

    ``kinds``: of which kind of relationships it is at either end, where that is told.
    """

    one: int
    other: int
    probability: float
    there: DegreeStatistics  # from one to other
    back: DegreeStatistics
    kinds: tuple[Incidence, Incidence] = (_UNKNOWN, _UNKNOWN)


@frozen
class Problem:
    """A pattern to order.

    ``candidates`` by labels and predicates, ``labelled`` by labels alone; ``filtered``: whose predicates or values are
    tested vertex by vertex; ``walked``: of those the ends of relationships that are looked at one by one. ``links``:
    edges between different vertices. ``different``: pairs that may coincide and must not. ``entangled``: for each
    vertex the set of those that it is compared with in other ways, perhaps with itself. ``less``: pairs (a, b) with
    id(a) < id(b). ``bound``: vertices that each input row gives. ``wanted``: vertices to emit; with ``counted`` the
    others are only counted, else all are enumerated. ``triangles``: three vertices linked pairwise, and by how much the
    odds of the links of the first two, the last two and the others grow with the rest.
    ``known``: sets of vertices, the largest first, and how many times more embeddings they have than degrees say.
    ``pairs``: the same of two vertices and more, for what conditions on these, on both and on the relationships between
    them leave; sets that share vertices are independent given these. ``sorts``: of each link the sort of relationships
    that it is at either end, numbered from 0 at each vertex; none where each vertex has one. ``meetings``: a vertex and
    two of its sorts. ``together``: of each how many times likelier the vertex has one of the first where it has one of
    the second.
    """

    candidates: Sequence[float]
    labelled: Sequence[float]
    filtered: frozenset[int]
    links: Sequence[Link]
    different: Sequence[tuple[int, int]] = ()
    entangled: Sequence[int] = ()
    less: Sequence[tuple[int, int]] = ()
    bound: int = 0
    wanted: int = 0
    counted: bool = True
    triangles: Sequence[tuple[tuple[int, int, int], tuple[float, float, float]]] = ()
    known: Sequence[tuple[int, float]] = ()
    pairs: Sequence[tuple[int, float]] = ()
    sorts: Sequence[tuple[int, int]] = ()
    meetings: Sequence[tuple[int, int, int]] = ()
    together: Sequence[float] = ()
    walked: frozenset[int] = frozenset()
    kinds: Sequence[object] = ()  # equal for vertices with the same labels and predicates


@lru_cache(1 << 14)
def members(mask: int) -> tuple[int, ...]:
    """Return the numbers in a set, ascending. Kept: sets of a few vertices are asked for again."""
    return tuple(each_of(mask))


def each_of(mask: int) -> Iterator[int]:
    """Yield the numbers in a set, ascending."""
    while mask:
        least = mask & -mask
        yield least.bit_length() - 1
        mask ^= least


def mask_of(numbers: Iterable[int]) -> int:
    """Return the set of some numbers."""
    mask = 0
    for number in numbers:
        mask |= 1 << number
    return mask
