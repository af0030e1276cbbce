"""Cliques: which sums are over them, along which matrices, and what they cost on the host."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from math import sqrt

from qengine.plan.elimination import Clique, Matrix, Relation, Step, operands
from qengine.plan.kernels.row import Facts, Group

MOST_PLANES = 16
"""Different matrices, each with its way back, that cliques are counted along."""


_ROWS, _COUNTS = 0.6, 0.4
"""Times the constant ``triangle``: what it takes to make rows of bits of one matrix, and to count cliques of four."""

_MORE = 0.02
"""Times what is looked at of an entry: how many times more cliques there are of one role more."""

_BY_VERTEX = 2.5
"""How many times longer cliques take that are summed by their vertices."""

_LISTS = 5.0
"""How often entries that meet are looked at, where rows are too short for the root of the entries to bound that."""


def clique_group(facts: Facts, place: int) -> Group:
    """Return what is found of a ``Clique``: the sum that it speaks of. A group's result is the place of the clique."""
    step = facts.steps[place]
    assert isinstance(step, Clique)
    return Group((step.total,), tuple(dict.fromkeys(operands(step))), (place,))


def clique_groups(facts: Facts, places: Collection[int]) -> Iterator[Group]:
    """Yield sums over cliques of which nothing else is asked for."""
    return _groups(facts, places, counts_cliques)


def plain_clique_groups(facts: Facts, places: Collection[int]) -> Iterator[Group]:
    """Yield those of whose matrices it is known before that they are plain, but for triangles along one of them."""
    for group in clique_groups(facts, places):
        step = facts.steps[group.results[0]]
        assert isinstance(step, Clique)
        triangle = len(step.pairs) == 3 and len(set(step.pairs)) == 1
        if not triangle and not unless_plain(facts, group):
            yield group


def clique_by_vertex_groups(facts: Facts, places: Collection[int]) -> Iterator[Group]:
    """Yield sums over cliques by the vertices of one role."""
    return _groups(facts, places, counts_cliques_by_vertex)


def _groups(facts: Facts, places: Collection[int], matches: Callable[[Facts, int], bool]) -> Iterator[Group]:
    known = set()
    for place, step in enumerate(facts.steps):
        if isinstance(step, Clique) and step.total in places and step.total not in known and matches(facts, place):
            known.add(step.total)
            yield clique_group(facts, place)


def numbered_matrices(steps: Sequence[Step], places: Iterable[int]) -> dict[int, tuple[int, bool]]:
    """Return for each matrix of relationships the first that is the same, maybe seen from the other end, and if so."""
    known: dict[frozenset[Relation], int] = {}
    found: dict[int, tuple[int, bool]] = {}
    for place in dict.fromkeys(places):
        matrix = steps[place]
        assert isinstance(matrix, Matrix)
        own, back = frozenset(matrix.relations), frozenset(each.reversed() for each in matrix.relations)
        if own not in known and back in known:
            found[place] = known[back], True
        else:
            found[place] = known.setdefault(own, place), False
    return found


def counts_cliques(facts: Facts, place: int) -> bool:
    """Match cliques along few matrices that link pairs once, and no vertex with itself; only all are summed."""
    step = facts.steps[place]
    return isinstance(step, Clique) and step.by is None and _counts(facts, step)


def counts_cliques_by_vertex(facts: Facts, place: int) -> bool:
    """Match the same of four vertices or more, summed by one role."""
    step = facts.steps[place]
    return isinstance(step, Clique) and step.by is not None and len(step.vectors) > 3 and _counts(facts, step)


def _counts(facts: Facts, step: Clique) -> bool:
    if any(facts.is_plain(each) is False for each in step.pairs):
        return False
    return 2 * len(_firsts(facts, step)) <= MOST_PLANES


def unless_plain(facts: Facts, group: Group) -> str:
    """Name what only running tells of the matrices of a clique."""
    step = facts.steps[group.results[0]]
    assert isinstance(step, Clique)
    plain = all(facts.is_plain(each) for each in step.pairs)
    return "" if plain else "its relationships turn out to join a pair twice, or a node with itself"


def clique_cost(facts: Facts, group: Group) -> float:
    """Rows of bits are made as triangles are found, for each matrix and way; cliques less two roles take one each."""
    step, take = facts.steps[group.results[0]], facts.take
    assert isinstance(step, Clique)
    entries, rows = looked_at(facts, step)
    return take["root"] * facts.vertices + take["pair"] * entries + take["triangle"] * rows


def looked_at(facts: Facts, step: Clique) -> tuple[float, float]:
    """Return about how many entries the matrices of a clique have, and how many times they are looked at."""
    ways = {place: 1 if facts.symmetric(place) else 2 for place in _firsts(facts, step)}
    entries = sum(facts.entries(place) * way for place, way in ways.items())
    met = sum(facts.meetings(place, place) * way * way for place, way in ways.items())
    each = min(entries * sqrt(entries), _LISTS * met)
    more = max(1.0, _MORE * each / entries)
    return entries, each * (_ROWS * sum(ways.values()) + _COUNTS * more ** max(0, len(step.vectors) - 4))


def clique_by_vertex_cost(facts: Facts, group: Group) -> float:
    """Around each root the vertices of the other roles are gone through once more for the one that is summed by."""
    return _BY_VERTEX * clique_cost(facts, group)


def _firsts(facts: Facts, step: Clique) -> set[int]:
    return {first for first, _ in numbered_matrices(facts.steps, step.pairs).values()}
