"""Closed walks of four steps along several matrices: which sums are over them, and what they cost on the host."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from qengine._frozen import frozen
from qengine.plan.elimination import Matrix, Step, is_symmetric, operands
from qengine.plan.kernels.cliques import numbered_matrices
from qengine.plan.kernels.row import Facts, Group
from qengine.plan.kernels.shapes import row_products

_ROOTS = 512
"""Roots that are counted from at once, a bit each."""

_A_LINE = 8.0
"""Counters that are raised one by one in the time of a line of bits."""

_PRODUCTS = 4.0
"""Lines of bits that are added up in the time of a product of two sums."""

Way = tuple[int, bool]
"""A matrix of relationships by its place, and whether it is seen from the other end."""

Path = tuple[Way, Way]


@frozen
class Pass:
    """Walks from a root along two paths of two steps to one vertex, ``factor`` times; ``back`` times to itself.

    Roots come before all others of their walks, if they are not met again on the way.
    """

    one: Path
    other: Path
    factor: int
    back: int


def mixed_walks(step: Step) -> tuple[int, int, int, int] | None:
    """Return the matrices along which a step's walks lead from each root: two steps, and two others to the same vertex.

    None where it does something else, or has vectors.
    """
    found = row_products(step)
    if found is None or found.weights is not None or found.factors is not None:
        return None
    twice = [each for each in found.ways for _ in range(each.exponent)]
    if len(twice) != 2 or any(each.through is not None for each in twice):
        return None
    one, other = twice
    return one.start, one.link, other.start, other.link


def passes_of(steps: Sequence[Step], places: tuple[int, int, int, int]) -> list[Pass]:
    """Return how such walks are counted at their first vertices, in each of the places that these may have in them.

    A walk that meets its root twice is counted where the root is the first or the second of its vertices.
    """
    numbered = numbered_matrices(steps, places)
    a, b, c, d = (numbered[place] for place in places)

    def back(way: Way) -> Way:
        step = steps[way[0]]
        assert isinstance(step, Matrix)
        return way if is_symmetric(step.relations) else (way[0], not way[1])

    around = [
        ((a, b), (c, d)),
        ((back(a), c), (b, back(d))),
        ((back(b), back(a)), (back(d), back(c))),
        ((back(c), a), (d, back(b))),
    ]
    ordered = [(min(paths), max(paths)) for paths in around]
    factors, backs = Counter(ordered), Counter(ordered[:2])
    return [Pass(one, other, factor, backs[one, other]) for (one, other), factor in factors.items()]


def mixed_walk_groups(facts: Facts, places: Collection[int]) -> Iterator[Group]:
    """Yield sums over walks along plain matrices of which nothing else is asked for."""
    for place in sorted(places):
        found = mixed_walks(facts.steps[place])
        if found is None or not facts.only_summed(place):
            continue
        if all(isinstance(facts.steps[each], Matrix) and facts.is_plain(each) is not False for each in found):
            yield Group((place,), operands(facts.steps[place]))


def plain_walk_groups(facts: Facts, places: Collection[int]) -> Iterator[Group]:
    """Yield those sums of which that is known before."""
    for group in mixed_walk_groups(facts, places):
        if all(facts.is_plain(each) for each in group.reads):
            yield group


def unless_plain_walks(facts: Facts, group: Group) -> str:
    """Name what only running tells of the matrices of walks."""
    plain = all(facts.is_plain(each) for each in group.reads)
    return "" if plain else "its relationships turn out to join a pair twice, or a node with itself"


def ranked_meetings(facts: Facts, step: Step) -> float:
    """Return about how many paths of two steps a step's passes go along, from a vertex to such as come after it.

    That is a third of all where degrees are alike, and a tenth on R-MAT 16, where the first end of a pair is at a
    thirtieth of the vertices.
    """
    places = mixed_walks(step)
    assert places is not None
    passes = passes_of(facts.steps, places)
    share = max(1.0, min(map(facts.first_rank, places))) / facts.vertices
    paths = (path for each in passes for path in {each.one, each.other})
    return float(share ** (2 / 3)) * sum(facts.meetings(one, other) for (one, _), (other, _) in paths)


def mixed_walks_cost(facts: Facts, group: Group) -> float:
    """Each path of two steps takes a line for each entry of its second matrix, or a counter each."""
    take = facts.take
    places = mixed_walks(facts.steps[group.places[0]])
    assert places is not None
    passes = passes_of(facts.steps, places)
    paths = dict.fromkeys(path for each in passes for path in (each.one, each.other))
    batches = max(facts.first_rank(place) for place in places) / _ROOTS
    lines = batches * (sum(facts.entries(way) for _, (way, _) in paths) + _PRODUCTS * len(passes) * facts.vertices)
    counters = sum(facts.meetings(one, other) for (one, _), (other, _) in paths)
    return take["root"] * facts.vertices + take["line"] * min(lines, counters / _A_LINE)
