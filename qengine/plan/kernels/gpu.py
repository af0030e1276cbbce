"""The rows of the kernel table that run on a GPU. Constants: ``[elimination]`` of ``catalog/cost/gpu.toml``."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from math import sqrt

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
    OfPairs,
    Product,
    RootedForest,
    Step,
    Turned,
    among_pairs,
    is_labels_alone,
)
from qengine.plan.kernels import shapes
from qengine.plan.kernels.cliques import counts_cliques, looked_at, plain_clique_groups
from qengine.plan.kernels.corners import corner_groups, vertex_groups
from qengine.plan.kernels.mixed_walks import mixed_walks, plain_walk_groups, ranked_meetings
from qengine.plan.kernels.row import Facts, Group, Kernel
from qengine.plan.kernels.sums import MOST_FACTORS, vector_sums

MOST_FOREST_NODES = 32

MOST_KINDS = 3
"""Of ways whose products are summed by row."""

_FIRST = 0.1
"""The share of making what stays on the device that a run is charged: others find it there."""

_LANES = 32
"""Roots that closed walks are counted from at once, a number each."""


# ---------------------------------------------------------------- vectors and matrices


def _indicator_cost(facts: Facts, group: Group) -> float:
    """Where predicates or self-loops decide, the host makes the vector."""
    step, take = facts.steps[group.places[0]], facts.take
    assert isinstance(step, NodeIndicator)
    hosted = bool(step.loops) or len(step.nodes) > 1 or not is_labels_alone(step)
    return facts.vertices * (take["predicate"] if hosted else take["vertex"])


def _uploaded_cost(facts: Facts, group: Group) -> float:
    """Return what merging takes: it stays on the device, unless conditions decide."""
    step, take = facts.steps[group.places[0]], facts.take
    assert isinstance(step, Matrix)
    if facts.is_stored(group.places[0]):
        return 0.0
    share = 1.0 if any(each.conditions for each in step.relations) else _FIRST
    return share * take["merge"] * sum(map(facts.relation_entries, step.relations))


def _none(facts: Facts, group: Group) -> float:
    return 0.0


def _few_factors(facts: Facts, place: int) -> bool:
    step = facts.steps[place]
    return shapes.vectors(facts, place) and isinstance(step, Product) and len(step.factors) <= MOST_FACTORS


def _few_matrices(facts: Facts, place: int) -> bool:
    step = facts.steps[place]
    return shapes.matrices(facts, place) and isinstance(step, Product) and len(step.factors) <= MOST_FACTORS


def _product_cost(facts: Facts, group: Group) -> float:
    return len(group.reads) * facts.take["vertex"] * facts.size(group.places[0])


def _matrix_product_cost(facts: Facts, group: Group) -> float:
    return len(group.reads) * facts.take["vertex"] * facts.entries(group.places[0])


def _message_cost(facts: Facts, group: Group) -> float:
    matrix, *vector = group.reads
    entries = facts.entries(matrix) if vector else 0.0
    return facts.take["entry"] * entries + facts.take["vertex"] * facts.size(matrix)


def _degrees_cost(facts: Facts, group: Group) -> float:
    """They stay on the device."""
    return _FIRST * _message_cost(facts, group)


def _over_pairs_cost(facts: Facts, group: Group) -> float:
    return facts.take["vertex"] * facts.entries(group.reads[0])


def _neighbours_cost(facts: Facts, group: Group) -> float:
    (first, _, by), take = group.reads, facts.take
    found = take["common"] * facts.meetings(first, by) + take["link"] * facts.entries(group.places[0])
    return take["root_pair"] * facts.entries(first) + found


# ---------------------------------------------------------------- triangles


def _masked_product_cost(facts: Facts, group: Group) -> float:
    (across, left, right), take = group.reads[:3], facts.take
    met = min(facts.meetings(left, across), facts.meetings(across, right))
    bits = all(isinstance(facts.steps[each], Matrix) and facts.links_once(each) is not False for each in (left, right))
    kind = "" if bits else "_sought"
    return take["pair" + kind] * facts.entries(across) + take["read" + kind] * met


def _triangle_sums_cost(facts: Facts, group: Group) -> float:
    """Each triangle is found once for its three pairs."""
    across, take = group.reads[0], facts.take
    return take["pair_of_three"] * facts.entries(across) + take["read_of_three"] / 2 * facts.meetings(across, across)


def _by_ranks(facts: Facts, matrix: int) -> float:
    """Return about what triangles of a graph by lesser neighbours grow with."""
    entries = facts.entries(matrix)
    return entries * sqrt(entries)


def _triangle_counts_cost(facts: Facts, group: Group) -> float:
    take, matrix = facts.take, group.reads[0]
    return take["triangle"] * _by_ranks(facts, matrix) + take["triangle_pair"] * facts.entries(matrix)


def _vertex_triangles_cost(facts: Facts, group: Group) -> float:
    """They stay with the graph's copy on the device."""
    return _FIRST * facts.take["triangle"] * _by_ranks(facts, group.reads[0])


def _corners_cost(facts: Facts, group: Group) -> float:
    return facts.take["corner"] * _by_ranks(facts, group.reads[0])


def _of_a_graph(facts: Facts, place: int) -> bool:
    """Match triangles of a simple graph over all vertices, without weights."""
    step = facts.steps[place]
    if not shapes.triangles_of_one_matrix(facts, place) or among_pairs(facts.steps, place):
        return False
    assert isinstance(step, MaskedProduct)
    few = isinstance(facts.steps[step.across], Matrix) and facts.most_entries(step.across) <= shapes.MOST_ENTRIES
    return step.vector is None and few


def _unless_corners(facts: Facts, group: Group) -> str:
    return "weights have more than 27 bits, or the links by which triangles are weighed no room"


# ---------------------------------------------------------------- forests


def _rooted_forest_cost(facts: Facts, group: Group) -> float:
    step, take = facts.steps[group.places[0]], facts.take
    assert isinstance(step, RootedForest)
    scattered, read, _ = facts.forest(step)
    return take["root"] * facts.vertices + take["scatter"] * (scattered + read)


def _masked_forest_cost(facts: Facts, group: Group) -> float:
    step, take = facts.steps[group.places[0]], facts.take
    assert isinstance(step, MaskedForest)
    scattered, read, _ = facts.forest(step)
    found = take["scatter"] * (scattered + read) + take["counter"] * facts.meetings(step.across, step.right)
    return take["root"] * facts.vertices + found


def _turned_cost(facts: Facts, group: Group) -> float:
    return facts.take["pair"] * facts.entries(group.reads[0])


def _few_nodes(facts: Facts, place: int) -> bool:
    step = facts.steps[place]
    return isinstance(step, RootedForest | MaskedForest) and len(step.nodes) <= MOST_FOREST_NODES


def _plain_rows(facts: Facts, place: int) -> bool:
    """Match products of ways of few kinds, along matrices without numbers."""
    found = shapes.row_products(facts.steps[place])
    if found is None or len(found.ways) > MOST_KINDS:
        return False
    plain = all(shapes.is_numberless(facts, each) for ways in found.ways for each in (ways.start, ways.link))
    return plain and all(ways.through is None or _says_which(facts.steps[ways.through]) for ways in found.ways)


def _says_which(step: Step) -> bool:
    """Tell whether a vector has no numbers but 0 and 1."""
    return isinstance(step, NodeIndicator) and not step.loops


def _row_products_cost(facts: Facts, group: Group) -> float:
    found = shapes.row_products(facts.steps[group.places[0]])
    assert found is not None
    roots = 1.0 if found.factors is None else facts.share(found.factors)
    shares = [roots if ways.through is None else roots * facts.share(ways.through) for ways in found.ways]
    met = (share * facts.meetings(ways.start, ways.link) for share, ways in zip(shares, found.ways, strict=True))
    return facts.take["counter"] * sum(met)


def _mixed_walks_cost(facts: Facts, group: Group) -> float:
    return facts.take["counter"] * ranked_meetings(facts, facts.steps[group.places[0]])


def _cliques_cost(facts: Facts, group: Group) -> float:
    step, take = facts.steps[group.results[0]], facts.take
    assert isinstance(step, Clique)
    return take["clique_root"] * facts.vertices + take["clique"] * looked_at(facts, step)[1]


def _symmetric(facts: Facts, place: int) -> bool:
    """Match the links of a simple graph's neighbours."""
    step = facts.steps[place]
    if not isinstance(step, Neighbourhoods) or not step.first == step.second == step.by:
        return False
    graph = isinstance(facts.steps[step.by], Matrix) and facts.is_simple(step.by) is not False
    return graph and facts.most_entries(step.by) <= shapes.MOST_ENTRIES


def _symmetric_links_cost(facts: Facts, group: Group) -> float:
    """Each link is found once."""
    return _neighbours_cost(facts, group) / 2


def _ends_of_links(facts: Facts, place: int) -> bool:
    """Match squares of the ways from each neighbour of a root over its links to all vertices."""
    found = shapes.squared_rows(facts.steps[place])
    if found is None or not _symmetric(facts, found[0]):
        return False
    links = facts.steps[found[0]]
    return isinstance(links, Neighbourhoods) and facts.steps[found[1]] == EndRows(links.by, links.by)


def _link_squares_cost(facts: Facts, group: Group) -> float:
    return _row_products_cost(facts, group) / 2


def _closed_walks_cost(facts: Facts, group: Group) -> float:
    matrix, take = group.reads[0], facts.take
    ranked = take["square"] * facts.entries(matrix) * facts.first_rank(matrix)
    return min(ranked, take["square_counter"] * facts.meetings(matrix, matrix))


def _long_closed_walks_cost(facts: Facts, group: Group) -> float:
    matrix, take = group.reads[0], facts.take
    lines = take["line"] / _LANES * facts.entries(matrix) * facts.first_rank(matrix)
    around = take["walk"] * facts.meetings(matrix, matrix)
    return (2.0 if 5 in group.results else 1.0) * min(lines, around)


def _unconditional(facts: Facts, groups: Iterator[Group]) -> Iterator[Group]:
    """Yield the groups whose matrix follows from the graph alone."""
    for group in groups:
        matrix = facts.steps[group.reads[0]]
        if isinstance(matrix, Matrix) and not any(each.conditions for each in matrix.relations):
            yield group


def _fours(facts: Facts, places: Collection[int]) -> Iterator[Group]:
    found = shapes.walk_groups(facts, places, lambda walks: walks.length == 4 and walks.weights is None)
    return _unconditional(facts, found)


def _to_five(facts: Facts, places: Collection[int]) -> Iterator[Group]:
    return _unconditional(facts, shapes.walk_groups(facts, places, lambda walks: walks.length <= 5, alone=False))


# ---------------------------------------------------------------- totals


def _dot_cost(facts: Facts, group: Group) -> float:
    return facts.take["number"] * sum(map(facts.size, group.reads))


def _dots(facts: Facts, places: Collection[int]) -> Iterator[Group]:
    if places:
        found = vector_sums(facts, places)
        reads = tuple(each for factors in found.values() for each in factors)
        yield Group(tuple(found), reads, tuple(map(len, found.values())))


GPU_KERNELS = (
    Kernel("indicator", "gpu", NodeIndicator, "x[v] = 1 where v has the labels and predicates, times its self-loops",
           _indicator_cost, far="in order"),
    Kernel("uploaded", "gpu", Matrix, "A[u, v] = relationships from u to v, merged by the host", _uploaded_cost,
           far="in order"),
    Kernel("matrix_product", "gpu", Product, "A ∘ B", _matrix_product_cost, _few_matrices, far="in order"),
    Kernel("vector_product", "gpu", Product, "x ∘ y", _product_cost, _few_factors, far="in order"),
    Kernel("degrees", "gpu", MatVec, "y = A x that the graph keeps, x by labels", _degrees_cost, shapes.degrees,
           far="in order"),
    Kernel("message", "gpu", MatVec, "y = A x", _message_cost, far="in order"),
    Kernel(
        "vertex_triangles", "gpu", MaskedProduct, "y[u] = Σ over v of C[u, v], C⟨A⟩ = A Aᵀ, A simple",
        _vertex_triangles_cost, groups=vertex_groups, unless=shapes.unless_simple, otherwise="masked_product",
        far="hubs",
    ),
    Kernel(
        "triangle_weight_sums", "gpu", MaskedProduct,
        "Σ over triangles of the products of 0 to 3 corners' weights, A simple", _corners_cost, groups=corner_groups,
        total=True, unless=_unless_corners, otherwise="masked_product", far="hubs",
    ),
    Kernel(
        "triangle_counts", "gpu", MaskedProduct, "C⟨A⟩ = A Aᵀ, A simple, by lesser neighbours", _triangle_counts_cost,
        _of_a_graph, unless=shapes.unless_simple, otherwise="masked_product", far="hubs",
    ),
    Kernel(
        "triangle_sums", "gpu", MaskedProduct, "C⟨A⟩ = A diag(x) Aᵀ, A simple", _triangle_sums_cost,
        shapes.triangles_of_one_matrix, unless=shapes.unless_simple, otherwise="masked_product",
    ),
    Kernel("masked_product", "gpu", MaskedProduct, "C⟨A⟩ = B diag(x) Cᵀ", _masked_product_cost),
    Kernel(
        "long_closed_walks", "gpu", RootedForest, "tr A⁴, tr A⁵, Σ x[u] A⁴[u, u] together, A simple",
        _long_closed_walks_cost, shapes.is_walks, groups=_to_five, total=True, unless=shapes.unless_walks,
        otherwise="rooted_forest",
    ),
    Kernel(
        "closed_walks", "gpu", RootedForest, "tr A⁴, A simple, by each square's hub", _closed_walks_cost,
        shapes.is_walks, groups=_fours, total=True, unless=shapes.unless_simple, otherwise="rooted_forest",
        far="segments",
    ),
    Kernel(
        "link_squares", "gpu", RootedForest, "y[(c, y)] = Σ over z of (T A)[(c, y), z]², of symmetric links T",
        _link_squares_cost, _ends_of_links, unless=shapes.unless_symmetric, otherwise="rooted_forest",
    ),
    Kernel(
        "mixed_walks", "gpu", RootedForest, "tr(A B Cᵀ Dᵀ), all plain", _mixed_walks_cost,
        lambda facts, place: mixed_walks(facts.steps[place]) is not None, groups=plain_walk_groups, total=True,
    ),
    Kernel(
        "row_products", "gpu", RootedForest,
        "y[u] = x[u] Σ over v of w[v] Π (A diag(z) B)[u, v]ᵏ, A, B … without numbers, z of 0 and 1",
        _row_products_cost, _plain_rows, otherwise="rooted_forest",
    ),
    Kernel(
        "rooted_forest", "gpu", RootedForest, "y[u] = x[u] · Π over tops of the sum of their sparse vectors around u",
        _rooted_forest_cost, _few_nodes,
    ),
    Kernel(
        "masked_forest", "gpu", MaskedForest,
        "C⟨A⟩[u, v] = Σ over x of s[x] B[v, x], s the sparse vector of a forest around u",
        _masked_forest_cost, _few_nodes,
    ),
    Kernel("turned", "gpu", Turned, "Aᵀ, its numbers in the order of the pairs from there", _turned_cost),
    Kernel(
        "symmetric_links", "gpu", Neighbourhoods, "T[(c, y), (c, z)] = A[y, z], A simple, each link found once",
        _symmetric_links_cost, _symmetric, unless=shapes.unless_simple, otherwise="neighbours",
    ),
    Kernel("neighbours", "gpu", Neighbourhoods, "T[(c, y), (c, z)] = A[y, z]", _neighbours_cost),
    Kernel("at_ends", "gpu", AtEnds, "x[(c, y)] = x[y]", _over_pairs_cost),
    Kernel("of_pairs", "gpu", OfPairs, "x[(c, y)] = A[c, y]", _over_pairs_cost),
    Kernel("at_pairs", "gpu", AtPairs, "B⟨A⟩[c, y] = x[(c, y)]", _over_pairs_cost),
    Kernel("end_rows", "gpu", EndRows, "row (c, y) is row y of A", _none),
    Kernel("by_root", "gpu", ByRoot, "y[c] = Σ over y of x[(c, y)]", _over_pairs_cost),
    Kernel(
        "cliques", "gpu", Clique, "Σ over cliques along A, B, … of x[u] y[v] z[w] …, all plain", _cliques_cost,
        counts_cliques, groups=plain_clique_groups, total=True,
    ),
    Kernel("dot", "gpu", Product, "Σ over v of x[v] y[v] …", _dot_cost, groups=_dots, total=True, far="in order"),
)  # fmt: skip
"""In the order in which they are preferred at the same cost."""
