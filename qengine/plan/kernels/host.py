"""The rows of the kernel table that run on the host. Constants: ``[elimination]`` of ``catalog/cost/cpu.toml``."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from math import log2, sqrt

from qengine.plan.elimination import (
    AtEnds,
    AtPairs,
    ByRoot,
    Clique,
    EndRows,
    MaskedForest,
    MaskedProduct,
    Matrix,
    MatVec,
    Neighbourhoods,
    NodeIndicator,
    NodeValues,
    OfPairs,
    Pairs,
    Product,
    RootedForest,
    Turned,
    column_domain_of,
)
from qengine.plan.kernels import shapes
from qengine.plan.kernels.cliques import (
    clique_by_vertex_cost,
    clique_by_vertex_groups,
    clique_cost,
    clique_groups,
    counts_cliques,
    counts_cliques_by_vertex,
    unless_plain,
)
from qengine.plan.kernels.corners import opposite_groups
from qengine.plan.kernels.mixed_walks import mixed_walk_groups, mixed_walks, mixed_walks_cost, unless_plain_walks
from qengine.plan.kernels.row import Facts, Group, Kernel

_FIRST = 0.1
"""The share of making what stays with the graph that a run is charged: others find it there."""

_ROOTS, _LANES = 512, 32
"""Roots that closed walks of four are counted from at once, a bit each; of longer and weighted ones, a number each."""

_A_LINE = 8.0
"""Counters that are raised one by one in the time of a line of bits."""

_LISTS = 25.0
"""Times the constant ``triangle``, what an id takes that is looked at in lists."""

_COUNTED = 0.25
"""The share of the entries that meet which is read where common columns of two rows are only counted."""

_COMMON = 0.2
"""The same where common columns are found by bits, and their numbers added up."""

_HEAD = 16_384
"""Columns of a row of bits, at most."""

_UNEVEN = 8.0
"""Times the square of the average degree among neighbours, the average of its square."""


# ---------------------------------------------------------------- vectors and matrices


def _indicator_cost(facts: Facts, group: Group) -> float:
    step = facts.steps[group.places[0]]
    assert isinstance(step, NodeIndicator)
    take = facts.take
    tested = sum(take["predicate"] for _, _, predicates in step.nodes if predicates)
    return facts.vertices * (take["vertex"] + tested + len(step.loops) * take["root"])


def _kept_indicator_cost(facts: Facts, group: Group) -> float:
    return _FIRST * _indicator_cost(facts, group)


def _values_cost(facts: Facts, group: Group) -> float:
    return facts.take["vertex"] * facts.vertices


def _none(facts: Facts, group: Group) -> float:
    return 0.0


def _merging_cost(facts: Facts, group: Group) -> float:
    """Rows are counted, then filled: where lists don't stand in order of the vertices, each is looked up twice."""
    step, take = facts.steps[group.places[0]], facts.take
    assert isinstance(step, Matrix)
    share = _FIRST if all(each.of_graph() for each in step.relations) else 1.0
    cost = 2 * facts.look_up() * facts.vertices * sum(not facts.has_rows(each) for each in step.relations)
    for each in step.relations:
        cost += (take["merge"] + take["predicate"] * len(each.conditions)) * facts.relation_entries(each)
    return share * cost


def _lists_cost(facts: Facts, group: Group) -> float:
    """Conditions of relationships are asked of all of them at once, by columns."""
    step = facts.steps[group.places[0]]
    assert isinstance(step, Matrix)
    asked = sum(len(each.conditions) * facts.relation_entries(each) for each in step.relations)
    return facts.take["vertex"] * asked


def _is_stored(facts: Facts, place: int) -> bool:
    return facts.is_stored(place)


def _kept_or_lists(facts: Facts, place: int) -> bool:
    """Match lists that only messages go along which the graph doesn't keep, so that their matrix may pay."""
    step = facts.steps[place]
    if not shapes.lists_alone(facts, place) or not isinstance(step, Matrix) or step.relations[0].conditions:
        return False
    return not all(shapes.degrees(facts, each) for each in facts.readers(place))


def _product_cost(facts: Facts, group: Group) -> float:
    return len(group.reads) * facts.take["vertex"] * facts.size(group.places[0])


def _message_cost(facts: Facts, group: Group) -> float:
    (matrix, *vector), take = group.reads, facts.take
    lists = None if vector else facts.lists_with_lengths(matrix)
    entries = facts.entries(matrix) if lists is None else 0.0
    return take["entry"] * entries + take["vertex"] * facts.size(matrix) * (lists or 1)


def _degrees_cost(facts: Facts, group: Group) -> float:
    return _FIRST * _message_cost(facts, group)


def _over_pairs_cost(facts: Facts, group: Group) -> float:
    return facts.take["vertex"] * facts.entries(group.reads[0])


def _neighbours_cost(facts: Facts, group: Group) -> float:
    first, _, by = group.reads
    links = facts.take["link"] * facts.entries(group.places[0])
    return facts.take["common"] * facts.meetings(first, by) + links


# ---------------------------------------------------------------- triangles


def _masked_product_cost(facts: Facts, group: Group) -> float:
    (across, left, right), take = group.reads[:3], facts.take
    found = facts.meetings(left, across), facts.meetings(across, right)
    met = min(found)
    counted = len(group.reads) == 3 and all(facts.links_once(each) is not False for each in (left, right))
    met *= max(_COUNTED if counted else 1.0, log2(max(found) / max(met, 1.0)))  # ids are looked up in longer lists
    return take["vertex"] * facts.size(across) + take["pair"] * facts.entries(across) + take["read"] * met


def _triangle_counts_cost(facts: Facts, group: Group) -> float:
    """By ranks lists are at most as long as the root of the entries, and half of all that meet is looked at."""
    across, take = group.reads[0], facts.take
    entries = facts.entries(across)
    looked_at = min(entries * sqrt(entries), _LISTS * facts.meetings(across, across))
    return take["pair"] * entries + take["triangle"] * looked_at


def _triangle_sums_cost(facts: Facts, group: Group) -> float:
    across, take = group.reads[0], facts.take
    entries = facts.entries(across)
    return take["pair"] * entries + take["read"] * min(entries * sqrt(entries), facts.meetings(across, across) / 2)


def _triangle_corners_cost(facts: Facts, group: Group) -> float:
    across, take = group.reads[0], facts.take
    entries = facts.entries(across)
    looked_at = min(entries * sqrt(entries), facts.meetings(across, across)) / 4
    return 2 * take["pair"] * entries + take["read"] * looked_at


def _without_vector(facts: Facts, place: int) -> bool:
    step = facts.steps[place]
    whole = shapes.triangles_of_one_matrix(facts, place) and not shapes.local_triangles(facts, place)
    return whole and isinstance(step, MaskedProduct) and step.vector is None


def _with_vector(facts: Facts, place: int) -> bool:
    step = facts.steps[place]
    return shapes.triangles_of_one_matrix(facts, place) and isinstance(step, MaskedProduct) and step.vector is not None


def _row_lines(facts: Facts, place: int) -> float:
    """Return what a row of bits takes where neighbours are linked: a bit for each neighbour of its root."""
    step = facts.steps[place]
    assert isinstance(step, Neighbourhoods)
    bits = _UNEVEN * facts.meetings(step.first, step.first) / facts.entries(step.first)
    return facts.take["line"] * bits / 512


def _local_triangles_cost(facts: Facts, group: Group) -> float:
    across = group.reads[0]
    return facts.entries(across) * (facts.take["number"] + _row_lines(facts, across))


def _local_sums_cost(facts: Facts, group: Group) -> float:
    across, _, right = group.reads[:3]
    return _local_triangles_cost(facts, group) + _COMMON * facts.take["read"] * facts.meetings(across, right)


# ---------------------------------------------------------------- forests


def _rooted_forest_cost(facts: Facts, group: Group) -> float:
    step, take = facts.steps[group.places[0]], facts.take
    assert isinstance(step, RootedForest)
    scattered, read, _ = facts.forest(step)
    return take["root"] * facts.vertices + take["scatter"] * scattered + take["read"] * read


def _masked_forest_cost(facts: Facts, group: Group) -> float:
    step, take = facts.steps[group.places[0]], facts.take
    assert isinstance(step, MaskedForest)
    scattered, read, _ = facts.forest(step)
    pulled = facts.meetings(step.across, step.right)
    return take["root"] * facts.size(step.across) + take["scatter"] * scattered + take["read"] * (read + pulled)


def _turned_cost(facts: Facts, group: Group) -> float:
    return facts.take["pair"] * facts.entries(group.reads[0])


def _pairs_cost(facts: Facts, group: Group) -> float:
    step, take = facts.steps[group.places[0]], facts.take
    assert isinstance(step, Pairs)
    scattered, read, rows = facts.forest(step)
    summed = take["root"] * facts.vertices + take["scatter"] * scattered + take["read"] * read
    return summed + take["row"] * rows


def _local_walks_cost(facts: Facts, group: Group) -> float:
    start = group.reads[0]
    return facts.entries(start) * (facts.take["number"] + 2 * _row_lines(facts, start))


def _row_squares_cost(facts: Facts, group: Group) -> float:
    start, link = group.reads[:2]
    columns = column_domain_of(facts.steps, link)
    width = facts.vertices if columns is None else facts.entries(columns)
    length = facts.meetings(start, link) / facts.entries(start)
    each = min(length, 1.5 * facts.take["line"] * min(width, _HEAD) / 512)
    return facts.take["root"] * facts.size(start) + facts.entries(start) * each


def _rows_of_ends(facts: Facts, place: int) -> bool:
    found = shapes.squared_rows(facts.steps[place])
    return (
        shapes.row_squares(facts, place)
        and found is not None
        and isinstance(facts.steps[found[1]], EndRows)
        and not isinstance(facts.steps[found[0]], EndRows)
    )


def _closed_walks_cost(facts: Facts, group: Group) -> float:
    matrix, take = group.reads[0], facts.take
    lines = facts.entries(matrix) * facts.first_rank(matrix)
    counters = facts.meetings(matrix, matrix)
    return take["root"] * facts.vertices + take["line"] * min(lines / _ROOTS, counters / _A_LINE)


def _long_closed_walks_cost(facts: Facts, group: Group) -> float:
    matrix, take = group.reads[0], facts.take
    entries, counters = facts.entries(matrix), facts.meetings(matrix, matrix)
    lines = entries * facts.first_rank(matrix)
    if max(group.results) > 4:
        counters += min(counters, facts.vertices * facts.vertices) * entries / max(1.0, facts.vertices)
    return take["root"] * facts.vertices + take["line"] * min(lines / _LANES, counters / _A_LINE)


def _fours(facts: Facts, places: Collection[int]) -> Iterator[Group]:
    return shapes.walk_groups(facts, places, lambda walks: walks.length == 4 and walks.weights is None)


def _longer(facts: Facts, places: Collection[int]) -> Iterator[Group]:
    return shapes.walk_groups(facts, places, lambda walks: walks.length > 4 or walks.weights is not None)


# ---------------------------------------------------------------- totals


def _dot_cost(facts: Facts, group: Group) -> float:
    return facts.take["number"] * sum(map(facts.size, group.reads))


def _dots(facts: Facts, places: Collection[int]) -> Iterator[Group]:
    if places:
        found = {place: _factors(facts, place) for place in sorted(places)}
        reads = tuple(each for factors in found.values() for each in factors)
        yield Group(tuple(found), reads, tuple(map(len, found.values())))


def _factors(facts: Facts, place: int) -> tuple[int, ...]:
    """Return the vectors whose product is summed: a product that nothing else reads is not made."""
    step = facts.steps[place]
    return step.factors if isinstance(step, Product) and facts.only_summed(place) else (place,)


HOST_KERNELS = (
    Kernel(
        "kept_indicator", "cpu", NodeIndicator,
        "x[v] = 1 where v has the labels, times its self-loops; the graph keeps it",
        _kept_indicator_cost, shapes.labels_alone,
    ),
    Kernel(
        "indicator", "cpu", NodeIndicator, "x[v] = 1 where v has the labels and predicates, times its self-loops",
        _indicator_cost,
    ),
    Kernel("values", "cpu", NodeValues, "x[v] = a property's value, as whole numbers", _values_cost),
    Kernel("stored", "cpu", Matrix, "A[u, v] = relationships from u to v, the graph's own lists", _none, _is_stored),
    Kernel(
        "kept_or_lists", "cpu", Matrix, "A, merged where the graph has room to keep it, else as its lists are stored",
        _none, _kept_or_lists,
    ),
    Kernel(
        "lists", "cpu", Matrix, "A as its lists are stored, for messages alone", _lists_cost, shapes.lists_alone,
        forms=("whole", "segments"),
    ),
    Kernel("merged", "cpu", Matrix, "A = A1 ∘ A2 ∘ …, merged of lists", _merging_cost),
    Kernel("matrix_product", "cpu", Product, "A ∘ B, multiplied where it is read", _none, shapes.matrices),
    Kernel("vector_product", "cpu", Product, "x ∘ y", _product_cost, shapes.vectors),
    Kernel("degrees", "cpu", MatVec, "y = A x that the graph keeps, x by labels", _degrees_cost, shapes.degrees,
           forms=("whole", "segments")),
    Kernel("message", "cpu", MatVec, "y = A x", _message_cost, forms=("whole", "segments")),
    Kernel(
        "local_triangles", "cpu", MaskedProduct, "C⟨A⟩ = A Aᵀ, A among neighbours, by rows of bits",
        _local_triangles_cost, shapes.local_triangles, unless=shapes.unless_simple, otherwise="masked_product",
    ),
    Kernel(
        "local_sums", "cpu", MaskedProduct, "C⟨A⟩ = A Bᵀ, B⟨A⟩, A among neighbours, by rows of bits",
        _local_sums_cost, shapes.local_sums, unless=shapes.unless_simple, otherwise="masked_product",
    ),
    Kernel(
        "triangle_counts", "cpu", MaskedProduct, "C⟨A⟩ = A Aᵀ, A simple, by lesser neighbours", _triangle_counts_cost,
        _without_vector, unless=shapes.unless_simple, otherwise="masked_product",
    ),
    Kernel(
        "triangle_sums", "cpu", MaskedProduct, "C⟨A⟩ = A diag(x) Aᵀ, A simple", _triangle_sums_cost, _with_vector,
        unless=shapes.unless_simple, otherwise="masked_product",
    ),
    Kernel(
        "triangle_corners", "cpu", MaskedProduct,
        "y[u] = Σ over triangles (u, v, w) of z[v] B[v, w] x[w], of one A, simple",
        _triangle_corners_cost, groups=opposite_groups, unless=shapes.unless_simple, otherwise="masked_product",
    ),
    Kernel("masked_product", "cpu", MaskedProduct, "C⟨A⟩ = B diag(x) Cᵀ", _masked_product_cost),
    Kernel(
        "closed_walks", "cpu", RootedForest, "tr A⁴, A simple", _closed_walks_cost, shapes.is_walks,
        groups=_fours, total=True, unless=shapes.unless_simple, otherwise="rooted_forest",
    ),
    Kernel(
        "long_closed_walks", "cpu", RootedForest,
        "tr A⁴ (on a GPU), tr A⁵, tr A⁶ (on the host), Σ x[u] A⁴[u, u], together, A simple",
        _long_closed_walks_cost, shapes.is_walks, groups=_longer, total=True, unless=shapes.unless_walks,
        otherwise="rooted_forest",
    ),
    Kernel(
        "local_walks", "cpu", RootedForest, "y[u] = A⁴[u, u], A among neighbours, by rows of bits", _local_walks_cost,
        shapes.local_walks, unless=shapes.unless_simple, bits=(64,), otherwise="rooted_forest",
    ),
    Kernel(
        "row_squares", "cpu", RootedForest, "y[u] = Σ over v of (A B)[u, v]², the rows of B those of pairs' ends",
        _row_squares_cost, _rows_of_ends, bits=(64,), otherwise="rooted_forest",
    ),
    Kernel(
        "rooted_forest", "cpu", RootedForest, "y[u] = x[u] · Π over tops of the sum of their sparse vectors around u",
        _rooted_forest_cost,
    ),
    Kernel(
        "masked_forest", "cpu", MaskedForest,
        "C⟨A⟩[u, v] = Σ over x of s[x] B[v, x], s the sparse vector of a forest around u",
        _masked_forest_cost,
    ),
    Kernel("pairs", "cpu", Pairs, "rows of a sparse vector, one after the other", _pairs_cost),
    Kernel("neighbours", "cpu", Neighbourhoods, "T[(c, y), (c, z)] = A[y, z]", _neighbours_cost),
    Kernel("at_ends", "cpu", AtEnds, "x[(c, y)] = x[y]", _over_pairs_cost),
    Kernel("of_pairs", "cpu", OfPairs, "x[(c, y)] = A[c, y]", _over_pairs_cost),
    Kernel("at_pairs", "cpu", AtPairs, "B⟨A⟩[c, y] = x[(c, y)]", _over_pairs_cost),
    Kernel("turned", "cpu", Turned, "Aᵀ, its numbers in the order of the pairs from there", _turned_cost),
    Kernel("end_rows", "cpu", EndRows, "row (c, y) is row y of A", _none),
    Kernel("by_root", "cpu", ByRoot, "y[c] = Σ over y of x[(c, y)]", _over_pairs_cost),
    Kernel(
        "mixed_walks", "cpu", RootedForest, "tr(A B Cᵀ Dᵀ), all plain", mixed_walks_cost,
        lambda facts, place: mixed_walks(facts.steps[place]) is not None,
        groups=mixed_walk_groups, total=True, unless=unless_plain_walks, otherwise="rooted_forest",
    ),
    Kernel(
        "cliques", "cpu", Clique, "Σ over cliques along A, B, … of x[u] y[v] z[w] …, all plain",
        clique_cost, counts_cliques, groups=clique_groups, total=True, unless=unless_plain,
    ),
    Kernel(
        "cliques_by_vertex", "cpu", Clique, "x[u] · Σ over u's cliques along A, B, … of y[v] z[w] …, all plain",
        clique_by_vertex_cost, counts_cliques_by_vertex, groups=clique_by_vertex_groups, unless=unless_plain,
    ),
    Kernel("dot", "cpu", Product, "Σ over v of x[v] y[v] …", _dot_cost, groups=_dots, total=True),
)  # fmt: skip
"""In the order in which they are preferred at the same cost."""
