"""What kernels recognise among the steps of an elimination, the same on all devices."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from qengine._frozen import frozen
from qengine.plan.elimination import (
    AtPairs,
    EndRows,
    ForestNode,
    MaskedForest,
    MaskedProduct,
    Matrix,
    MatVec,
    Neighbourhoods,
    NodeIndicator,
    Product,
    RootedForest,
    Step,
    Turned,
    among_pairs,
    counted_degrees,
    is_labels_alone,
    is_matrix,
    operands,
)
from qengine.plan.kernels.row import Facts, Group

MOST_ENTRIES = 2**32 - 1
"""Of a matrix whose entries kernels tell by 32 bits."""


def one(facts: Facts, place: int) -> Group:
    """Return a step by itself."""
    return Group((place,), operands(facts.steps[place]))


# ---------------------------------------------------------------- vectors and matrices


def labels_alone(facts: Facts, place: int) -> bool:
    """Match an indicator that follows from the graph alone, whatever a query's conditions and parameters are."""
    step = facts.steps[place]
    own = isinstance(step, NodeIndicator) and bool(step.nodes or step.loops) and is_labels_alone(step)
    return own and not facts.has_arcs


def degrees(facts: Facts, place: int) -> bool:
    """Match a message that counts relationships, to vertices with some labels: it follows from the graph alone."""
    step = facts.steps[place]
    return isinstance(step, MatVec) and counted_degrees(facts.steps, step) is not None and not facts.has_arcs


def lists_alone(facts: Facts, place: int) -> bool:
    """Match relationships that aren't stored as a matrix, and along which only messages go."""
    step = facts.steps[place]
    if not isinstance(step, Matrix) or len(step.relations) > 1 or facts.is_stored(place):
        return False
    if step.relations[0].value is not None:
        return False
    return all(isinstance(facts.steps[each], MatVec) for each in facts.readers(place))


def matrices(facts: Facts, place: int) -> bool:
    """Match a product of matrices."""
    return is_matrix(facts.steps, place)


def vectors(facts: Facts, place: int) -> bool:
    """Match a product of vectors."""
    return not is_matrix(facts.steps, place)


# ---------------------------------------------------------------- triangles


def is_triangle(step: Step) -> bool:
    """Tell whether a step sums out the third vertices of triangles whose sides are one matrix."""
    return isinstance(step, MaskedProduct) and step.across == step.left == step.right


def triangles_of_one_matrix(facts: Facts, place: int) -> bool:
    """Match triangles of a simple graph, if only among some neighbours; perhaps only running tells that it is."""
    step = facts.steps[place]
    return isinstance(step, MaskedProduct) and is_triangle(step) and facts.is_simple(step.across) is not False


def pairs_of(steps: Sequence[Step], place: int) -> int:
    """Return the matrix of relationships, or of neighbours, whose pairs a matrix has numbers for."""
    match steps[place]:
        case Product(factors=(first, *_)):
            return pairs_of(steps, first)
        case MaskedProduct(across=base) | MaskedForest(across=base) | AtPairs(pairs=base) | Turned(back=base):
            return pairs_of(steps, base)
    return place


def unless_simple(facts: Facts, group: Group) -> str:
    """Name what only running tells of the first matrix that a group reads."""
    return "" if facts.is_simple(group.reads[0]) else "its relationships turn out to join a pair twice"


def local_triangles(facts: Facts, place: int) -> bool:
    """Match triangles among the neighbours of single roots, each vertex as 1."""
    step = facts.steps[place]
    return (
        triangles_of_one_matrix(facts, place)
        and isinstance(step, MaskedProduct)
        and step.vector is None
        and isinstance(facts.steps[step.across], Neighbourhoods)
    )


def local_sums(facts: Facts, place: int) -> bool:
    """Match the same where one side has numbers."""
    step = facts.steps[place]
    return (
        isinstance(step, MaskedProduct)
        and step.vector is None
        and step.left == step.across != step.right
        and isinstance(facts.steps[step.across], Neighbourhoods)
        and facts.is_simple(step.across) is not False
        and pairs_of(facts.steps, step.right) == step.across
    )


# ---------------------------------------------------------------- closed walks


@frozen
class ClosedWalks:
    """``length`` steps (4, 5 or 6) along ``matrix`` from each root back to it; as often as ``weights`` says."""

    matrix: int
    length: int
    weights: int | None


def closed_walks(step: Step) -> ClosedWalks | None:
    """Return the closed walks that the numbers of a step are, or None; in ``weights`` by what they are multiplied.

    Walks of four steps with weights at their third vertex add up to those with the same at the first: any turn of a
    walk is one. As a sum these are the same.
    """
    if not isinstance(step, RootedForest) or not step.nodes or (matrix := step.nodes[0].start) is None:
        return None
    *before, last = step.nodes
    weights = step.vector if step.vector is not None else last.vector
    if (step.vector is not None and last.vector is not None) or step.tops != (len(before),):
        return None
    neighbours, beyond = ForestNode(matrix, None, (), matrix), ForestNode(None, None, (0,), matrix)
    lengths: dict[tuple[ForestNode, ...], dict[tuple[int, ...], int]]
    lengths = {(neighbours,): {(0, 0): 4}, (neighbours, beyond): {(0, 1): 5, (1, 1): 6}}
    length = lengths.get(tuple(before), {}).get(last.nodes)
    if length is None or last.start is not None or (length > 4 and weights is not None):
        return None
    return ClosedWalks(matrix, length, weights)


def is_walks(facts: Facts, place: int) -> bool:
    """Match closed walks."""
    return closed_walks(facts.steps[place]) is not None


def local_walks(facts: Facts, place: int) -> bool:
    """Match closed walks of four steps among the neighbours of single roots."""
    walks = closed_walks(facts.steps[place])
    if walks is None or walks.length != 4 or walks.weights is not None:
        return False
    return isinstance(facts.steps[walks.matrix], Neighbourhoods) and facts.is_simple(walks.matrix) is not False


@frozen
class Ways:
    """Ways of two steps from each root, along the matrices that the steps ``start`` and ``link`` are.

    ``through``: which vertices they may lead over, None for all. ``exponent``: the power of their number.
    """

    start: int
    link: int
    through: int | None
    exponent: int


@frozen
class RowProducts:
    """For each root r ``factors[r]`` times the sum over z of ``weights[z]`` times the powers of the ways from r to z.

    None for a vector is 1 everywhere.
    """

    ways: tuple[Ways, ...]
    weights: int | None
    factors: int | None


def row_products(step: Step) -> RowProducts | None:
    """Return the products of ways that a step adds up for each root, or None where it does something else."""
    if not isinstance(step, RootedForest) or not step.nodes or step.tops != (len(step.nodes) - 1,):
        return None
    *before, last = step.nodes
    if last.start is not None or last.link is not None or set(last.nodes) != set(range(len(before))):
        return None
    found = []
    for place, node in enumerate(before):
        if node.nodes or node.start is None or node.link is None:
            return None
        found.append(Ways(node.start, node.link, node.vector, last.nodes.count(place)))
    return RowProducts(tuple(found), last.vector, step.vector) if found else None


def squared_rows(step: Step) -> tuple[int, int] | None:
    """Return the two matrices along which a step counts the ways from each root to each place, and squares them.

    None where it does something else, or has vectors.
    """
    rows = row_products(step)
    if rows is None or len(rows.ways) > 1 or rows.weights is not None or rows.factors is not None:
        return None
    (ways,) = rows.ways
    return (ways.start, ways.link) if ways.exponent == 2 and ways.through is None else None


def row_squares(facts: Facts, place: int) -> bool:
    """Match squares of the ways along two matrices without numbers, among pairs."""
    found = squared_rows(facts.steps[place])
    return found is not None and among_pairs(facts.steps, place) and all(map(facts.links_once, found))


def is_numberless(facts: Facts, place: int) -> bool:
    """Tell whether a matrix has no numbers but 1, whatever pairs it links how often."""
    match facts.steps[place]:
        case Matrix(relations=relations, once=once):
            return (len(relations) == 1 and not once) or facts.links_once(place) is True
        case Neighbourhoods(by=by) | EndRows(by=by):
            return is_numberless(facts, by)
    return False


def unless_symmetric(facts: Facts, group: Group) -> str:
    """Name what only running tells of the graph whose neighbours' links a group reads first."""
    links = facts.steps[group.reads[0]]
    assert isinstance(links, Neighbourhoods)
    return unless_simple(facts, Group(group.places, (links.by,)))


def unless_walks(facts: Facts, group: Group) -> str:
    """Name what only running tells of closed walks: their weights, and whether their graph is simple."""
    return "weights are too large for a number of 32 bits" if len(group.reads) > 1 else unless_simple(facts, group)


def walk_groups(
    facts: Facts, places: Collection[int], keep: Callable[[ClosedWalks], bool], *, alone: bool = True
) -> Iterator[Group]:
    """Yield closed walks over all vertices of which only sums are asked for, those along one matrix together.

    A group reads its matrix and, where some of its walks have weights, the vector of these. Its results are the
    lengths of walks, 0 for those of four steps with weights.

    Parameters
    ----------
    places
        Steps whose sums are asked for.
    keep
        Tells which of the walks are counted.
    alone
        Whether a group may be of walks of four steps without weights alone.
    """
    along: dict[int, dict[int | None, list[tuple[int, int]]]] = {}
    for place in sorted(places):
        walks = closed_walks(facts.steps[place])
        if walks is None or not keep(walks) or not facts.only_summed(place) or among_pairs(facts.steps, place):
            continue
        matrix = walks.matrix
        if facts.is_simple(matrix) is False or not isinstance(facts.steps[matrix], Matrix):
            continue
        if facts.most_entries(matrix) <= MOST_ENTRIES:
            length = 0 if walks.weights is not None else walks.length
            along.setdefault(matrix, {}).setdefault(walks.weights, []).append((place, length))
    for matrix, found in along.items():
        plain = found.pop(None, [])
        if plain and not found and (alone or any(length > 4 for _, length in plain)):
            yield _walk_group((matrix,), plain)
        for weights, weighted in found.items():
            yield _walk_group((matrix, weights), plain + weighted)  # type: ignore[arg-type]
            plain = []


def _walk_group(reads: tuple[int, ...], members: list[tuple[int, int]]) -> Group:
    return Group(tuple(place for place, _ in members), reads, tuple(length for _, length in members))
