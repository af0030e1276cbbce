"""Cliques: which sums are over them, along which matrices, and what they cost on the host."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from math import sqrt

from qengine.plan.elimination import Clique, Matrix, Relation, Step, operands
from qengine.plan.kernels.row import Facts, Group

__all__ = [
    "MOST_PLANES",
    "clique_cost",
    "clique_group",
    "clique_groups",
    "counts_cliques",
    "numbered_matrices",
    "unless_plain",
]

MOST_PLANES = 16
"""Different matrices, each with its way back, that cliques are counted along."""


_ROWS, _COUNTS = 0.6, 0.4
"""Times the constant ``triangle``: what it takes to make rows of bits of one matrix, and to count cliques of four."""

_MORE = 0.02
"""Times what is looked at of an entry: how many times more cliques there are of one role more."""

_LISTS = 5.0
"""How often entries that meet are looked at, where rows are too short for the root of the entries to bound that."""


def clique_group(facts: Facts, place: int) -> Group:
    """Return what is found of a ``Clique``: the sum that it speaks of. A group's result is the place of the clique."""
    step = facts.steps[place]
    assert isinstance(step, Clique)
    return Group((step.total,), tuple(dict.fromkeys(operands(step))), (place,))


def clique_groups(facts: Facts, places: Collection[int]) -> Iterator[Group]:
    """Yield sums over cliques of which nothing else is asked for."""
    known = set()
    for place, step in enumerate(facts.steps):
        if (
            isinstance(step, Clique)
            and step.total in places
            and step.total not in known
            and counts_cliques(facts, place)
        ):
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
    """Match cliques along few matrices that link pairs once, and no vertex with itself."""
    step = facts.steps[place]
    if not isinstance(step, Clique) or any(facts.is_plain(each) is False for each in step.pairs):
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
    ways = {place: 1 if facts.symmetric(place) else 2 for place in _firsts(facts, step)}
    entries = sum(facts.entries(place) * way for place, way in ways.items())
    met = sum(facts.meetings(place, place) * way * way for place, way in ways.items())
    looked_at = min(entries * sqrt(entries), _LISTS * met)
    more = max(1.0, _MORE * looked_at / entries)
    rows = looked_at * (_ROWS * sum(ways.values()) + _COUNTS * more ** max(0, len(step.vectors) - 4))
    return take["root"] * facts.vertices + take["pair"] * entries + take["triangle"] * rows


def _firsts(facts: Facts, step: Clique) -> set[int]:
    return {first for first, _ in numbered_matrices(facts.steps, step.pairs).values()}
