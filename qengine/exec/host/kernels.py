"""The functions of the kernel table's rows on the host (``plan/kernels/host.py``), by the rows' names.

Each takes what the steps before have given and returns what its call gives: the numbers of a step, or totals by place.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from itertools import chain

import numpy as np

from qengine import _native
from qengine._frozen import replace
from qengine.errors import InternalError
from qengine.exec.common.relations import MATRIX, NUMBERS, Lists, SparseMatrix, numbers, stored
from qengine.exec.host.cached_vectors import cached_vector, product_sums
from qengine.exec.host.elimination_steps import (
    Array,
    Found,
    Steps,
    Unfit,
    address,
    filled,
    indicator_vector,
    records_of,
    told_apart,
)
from qengine.exec.host.neighbourhoods import Piece
from qengine.exec.host.ranked_kernels import cliques, cliques_by_vertex, walks
from qengine.plan.elimination import (
    MaskedForest,
    MaskedProduct,
    Matrix,
    MatVec,
    NodeIndicator,
    RootedForest,
    column_domain_of,
    domain_of,
)
from qengine.plan.schedule import KernelCall

ROW_SQUARES = _native.record("u8 start link out; u4 n_roots n_columns")
"""As ``qe::eliminate::RowSquares``."""

SIDE_WEIGHTS = _native.record("NUMBERS numbers; u8 starts ends", NUMBERS=NUMBERS)
"""As ``qe::eliminate::SideWeights``."""

_MOST_WALK_WEIGHT = 2**32 - 1
"""Weights have 32 bits."""


def run_call(steps: Steps, call: KernelCall) -> Found:
    """Return the numbers of the step that a call gives.

    Raises
    ------
    Unfit
        If the kernel doesn't take what it is given.
    NumberOverflow
        If a number doesn't fit.
    """
    return NUMBERS_OF_STEPS[call.kernel](steps, call)


def run_total(steps: Steps, call: KernelCall) -> dict[int, int]:
    """Return the totals that a call gives, by place; errors as of ``run_call``."""
    return TOTALS_OF_STEPS[call.kernel](steps, call)


# ---------------------------------------------------------------- vectors and matrices


def _indicator(steps: Steps, call: KernelCall) -> Found:
    step = steps.steps[call.places[0]]
    assert isinstance(step, NodeIndicator)
    if not (step.nodes or step.loops or steps.relations.size > steps.relations.n):
        return None
    return steps.widened(indicator_vector(steps.relations, step))


def _kept_indicator(steps: Steps, call: KernelCall) -> Found:
    step = steps.steps[call.places[0]]
    assert isinstance(step, NodeIndicator)
    return cached_vector(steps.store, steps.vectors[call.places[0]], lambda: indicator_vector(steps.relations, step))


def _values(steps: Steps, call: KernelCall) -> Found:
    assert steps.values is not None
    values = filled(steps.values, steps.size(None))
    return values if values.ndim == 1 + steps.wide else steps.widened(values)


def _stored(steps: Steps, call: KernelCall) -> Found:
    step = steps.steps[call.places[0]]
    assert isinstance(step, Matrix)
    if (found := stored(steps.store, step.relations)) is None:
        raise InternalError("Relationships that are planned to be stored as a matrix aren't.")
    return found


def _merged(steps: Steps, call: KernelCall) -> Found:
    step = steps.steps[call.places[0]]
    assert isinstance(step, Matrix)
    return steps.relations.cached_matrix(step)


def _lists(steps: Steps, call: KernelCall) -> Found:
    step = steps.steps[call.places[0]]
    assert isinstance(step, Matrix)
    return steps.relations.lists(step.relations[0])


def _kept_or_lists(steps: Steps, call: KernelCall) -> Found:
    step = steps.steps[call.places[0]]
    assert isinstance(step, Matrix)
    return (_merged if steps.relations.is_cached(step.relations[0]) else _lists)(steps, call)


def _matrix_product(steps: Steps, call: KernelCall) -> Found:
    """Give one matrix the factors of all, which are multiplied where they are read."""
    factors = [found for place in call.reads if isinstance(found := steps.found[place], SparseMatrix)]
    return replace(factors[0], factors=tuple(chain.from_iterable(each.factors for each in factors)))


def _vector_product(steps: Steps, call: KernelCall) -> Found:
    vectors = _arrays(steps, call.reads)
    return steps.multiplied(vectors, len(vectors[0])) if len(vectors) > 1 else (*vectors, None)[0]


def _message(steps: Steps, call: KernelCall) -> Array:
    place, *rest = call.reads
    matrix, vector = steps.found[place], steps.optional(rest[0] if rest else None)
    n = steps.size(domain_of(steps.steps, call.places[0]))
    out = steps.empty(n)
    if isinstance(matrix, Lists):
        told_apart(steps.relations.message, matrix, vector, steps.wide, out)
        return out
    assert isinstance(matrix, SparseMatrix)
    record = np.array([replace(matrix, factors=()).record()], MATRIX)
    factors = records_of(matrix.factors)
    steps.call(
        "qe_eliminate_message", record.ctypes.data, factors.ctypes.data, len(factors), n, address(vector),
        int(steps.wide), out.ctypes.data, reads=n + (0 if vector is None else len(matrix.ids)),
    )  # fmt: skip
    return out


def _degrees(steps: Steps, call: KernelCall) -> Found:
    """Give what the graph keeps, which has 64 bits."""
    if steps.wide:
        return _message(steps, call)
    return cached_vector(steps.store, steps.vectors[call.places[0]], lambda: _message(steps, call))


# ---------------------------------------------------------------- triangles


def _simple(steps: Steps, place: int) -> SparseMatrix:
    """Return a matrix that is that of a simple graph.

    Raises
    ------
    Unfit
        If it isn't.
    """
    matrix = steps.found[place]
    assert isinstance(matrix, SparseMatrix)
    if not matrix.pairs or matrix.factors:
        raise Unfit("some relationships join a pair twice")
    return matrix


def _with_numbers(matrix: SparseMatrix, out: Array) -> SparseMatrix:
    return replace(matrix, factors=(out,), pairs=False)


def _masked_product(steps: Steps, call: KernelCall) -> Found:
    step = steps.steps[call.places[0]]
    assert isinstance(step, MaskedProduct)
    across, vector = steps.found[step.across], steps.optional(step.vector)
    assert isinstance(across, SparseMatrix)
    across = replace(across, factors=())
    left, right = steps.matrix(step.left), steps.matrix(step.right)
    out = steps.empty(len(across.ids))
    records = np.array([across.record(), left.record(), right.record()], MATRIX)
    where = [records.ctypes.data + place * MATRIX.itemsize for place in range(3)]
    n = steps.sizes(step.across, step.left, step.right)
    steps.call("qe_masked_product", *where, n, address(vector), int(steps.wide), out.ctypes.data)
    return _with_numbers(across, out)


def _triangle_counts(steps: Steps, call: KernelCall) -> Found:
    place = call.reads[0]
    matrix = _simple(steps, place)
    out = _counts_of_links(steps, matrix)
    steps.ranked(steps.steps[place], matrix).count_triangles(steps.context, out)
    return _with_numbers(matrix, out)


def _triangle_sums(steps: Steps, call: KernelCall) -> Found:
    step = steps.steps[call.places[0]]
    assert isinstance(step, MaskedProduct)
    matrix = _simple(steps, step.across)
    record, out = np.array([matrix.record()], MATRIX), steps.empty(len(matrix.ids))
    if (vector := steps.optional(step.vector)) is None:
        vector = steps.widened(np.ones(steps.sizes(step.across), np.uint64))
    where = record.ctypes.data, vector.ctypes.data, int(steps.wide), out.ctypes.data
    steps.call("qe_eliminate_triangle_sums", *where)
    return _with_numbers(matrix, out)


def _triangle_corners(steps: Steps, call: KernelCall) -> Found:
    message, step = steps.steps[call.places[0]], steps.steps[call.places[1]]
    assert isinstance(message, MatVec)
    assert isinstance(step, MaskedProduct)
    matrix, weights = _simple(steps, step.across), steps.matrix(step.right)
    starts, ends = steps.optional(message.vector), steps.optional(step.vector)
    out = steps.empty(steps.size(None))
    out[...] = 0
    (found,) = weights.factors or (None,)
    record = np.array([(numbers(found), address(starts), address(ends))], SIDE_WEIGHTS)
    ranked = steps.ranked(steps.steps[step.across], matrix)
    told_apart(ranked.corner_sums, steps.context, record, steps.wide, out)
    return out


def _local_triangles(steps: Steps, call: KernelCall) -> Found:
    matrix = _simple(steps, call.reads[0])
    out = _counts_of_links(steps, matrix)
    _in_blocks(steps, "qe_eliminate_local_triangles", matrix, out)
    return _with_numbers(matrix, out)


def _local_sums(steps: Steps, call: KernelCall) -> Found:
    step = steps.steps[call.places[0]]
    assert isinstance(step, MaskedProduct)
    matrix, right = _simple(steps, step.across), steps.matrix(step.right)
    assert matrix.blocks is not None
    out = steps.empty(len(matrix.ids))
    record = np.array([right.record()], MATRIX)
    blocks = matrix.blocks.ctypes.data, len(matrix.blocks) - 1
    steps.call("qe_eliminate_local_sums", record.ctypes.data, *blocks, int(steps.wide), out.ctypes.data)
    return _with_numbers(matrix, out)


def _counts_of_links(steps: Steps, matrix: SparseMatrix) -> Array:
    steps.charge(4 * len(matrix.ids))
    return np.empty(len(matrix.ids), np.uint32)


def _in_blocks(steps: Steps, name: str, matrix: SparseMatrix, out: Array) -> None:
    assert matrix.blocks is not None
    record = np.array([matrix.record()], MATRIX)
    steps.call(name, record.ctypes.data, matrix.blocks.ctypes.data, len(matrix.blocks) - 1, out.ctypes.data)


# ---------------------------------------------------------------- forests


def _rooted_forest(steps: Steps, call: KernelCall) -> Found:
    step = steps.steps[call.places[0]]
    assert isinstance(step, RootedForest)
    plan = steps.plan(step.nodes, step.tops, step.vector)
    out = steps.empty(int(plan.record["n"][0]))
    steps.call("qe_rooted_forest", plan.address, int(steps.wide), out.ctypes.data)
    return out[: steps.size(domain_of(steps.steps, call.places[0]))]


def _masked_forest(steps: Steps, call: KernelCall) -> Found:
    step = steps.steps[call.places[0]]
    assert isinstance(step, MaskedForest)
    found, right = steps.found[step.across], steps.matrix(step.right)
    assert isinstance(found, SparseMatrix)
    across = replace(found, factors=())
    plan = steps.plan(step.nodes, (len(step.nodes) - 1,), None)
    out = steps.empty(len(across.ids))
    records = [np.array([each.record()], MATRIX) for each in (across, right)]
    where = (each.ctypes.data for each in records)
    steps.call(
        "qe_masked_forest", plan.address, *where, steps.sizes(step.across, step.right), int(steps.wide), out.ctypes.data
    )
    return _with_numbers(across, out)


def _turned(steps: Steps, call: KernelCall) -> Found:
    place, of = call.reads
    back, matrix = steps.found[place], steps.matrix(of)
    assert isinstance(back, SparseMatrix)
    if not matrix.factors:
        return replace(back, factors=())
    (given,) = matrix.factors
    steps.charge(given.nbytes)
    out = np.empty_like(given)
    records = [np.array([each.record()], MATRIX) for each in (matrix, replace(back, factors=(out,)))]
    steps.call("qe_eliminate_turned", *(each.ctypes.data for each in records))
    return _with_numbers(back, out)


def _local_walks(steps: Steps, call: KernelCall) -> Found:
    matrix = _simple(steps, call.reads[0])
    out = steps.empty(matrix.hi)
    _in_blocks(steps, "qe_eliminate_local_walks", matrix, out)
    return out


def _row_squares(steps: Steps, call: KernelCall) -> Found:
    places = call.reads[:2]
    start, link = (steps.found[each] for each in places)
    assert isinstance(start, SparseMatrix)
    assert isinstance(link, SparseMatrix)
    n = steps.size(domain_of(steps.steps, call.places[0]))
    columns = steps.size(column_domain_of(steps.steps, places[1]))
    out = steps.empty(n)
    records = [np.array([each.record()], MATRIX) for each in (start, link)]
    task = np.array([(*(each.ctypes.data for each in records), out.ctypes.data, n, columns)], ROW_SQUARES)
    steps.call("qe_row_squares", task.ctypes.data)
    return out


# ---------------------------------------------------------------- pairs


def _pairs(steps: Steps, call: KernelCall) -> Found:
    """Nothing: rows are made when all else is."""
    return None


def _neighbours(steps: Steps, call: KernelCall) -> Found:
    assert isinstance(steps, Piece)
    return steps.neighbourhoods(*call.reads)


def _at_ends(steps: Steps, call: KernelCall) -> Found:
    assert isinstance(steps, Piece)
    pairs, vector = call.reads
    found = steps.optional(vector)
    return None if found is None else found[steps.pairs(pairs).ids]


def _of_pairs(steps: Steps, call: KernelCall) -> Found:
    assert isinstance(steps, Piece)
    return steps.numbers_of(*call.reads)


def _at_pairs(steps: Steps, call: KernelCall) -> Found:
    assert isinstance(steps, Piece)
    pairs, vector = call.reads
    numbers_at = steps.optional(vector)
    matrix = steps.pairs(pairs)
    return matrix if numbers_at is None else _with_numbers(matrix, numbers_at)


def _end_rows(steps: Steps, call: KernelCall) -> Found:
    assert isinstance(steps, Piece)
    pairs, by = call.reads
    found, ends = steps.found[by], steps.pairs(pairs).ids
    assert isinstance(found, SparseMatrix)
    return replace(found, rows=ends if found.rows is None else found.rows[ends], pairs=False)


def _by_root(steps: Steps, call: KernelCall) -> Found:
    assert isinstance(steps, Piece)
    return steps.sums_by_root(*call.reads)


# ---------------------------------------------------------------- totals


def _closed_walks(steps: Steps, call: KernelCall) -> dict[int, int]:
    place = call.reads[0]
    found = steps.ranked(steps.steps[place], _simple(steps, place)).closed_walks(steps.context)
    return dict.fromkeys(call.places, found)


def _long_closed_walks(steps: Steps, call: KernelCall) -> dict[int, int]:
    place, *by = call.reads
    matrix = _simple(steps, place)
    weights = steps.optional(by[0]) if by else None
    if weights is not None and weights.ndim > 1:
        if weights[:, 1].any():
            raise Unfit("weights have more than 32 bits")
        weights = np.ascontiguousarray(weights[:, 0])
    if weights is None and by:
        weights = np.ones(steps.size(None), np.uint64)
    if weights is not None and int(weights.max(initial=0)) > _MOST_WALK_WEIGHT:
        raise Unfit("weights have more than 32 bits")
    fives, sixes, weighted = steps.ranked(steps.steps[place], matrix).long_walks(steps.context, weights)
    sums = {0: weighted, 5: fives, 6: sixes}
    return {place: sums[length] for place, length in zip(call.places, call.results, strict=True)}


def _dot(steps: Steps, call: KernelCall) -> dict[int, int]:
    arrays: list[Array] = []
    first = [0]
    begin = 0
    for count in call.results:
        arrays += _arrays(steps, call.reads[begin : begin + count])
        first.append(len(arrays))
        begin += count
    records = [number for each in arrays for number in numbers(each)[:2]]
    starts = _native.array_of(ctypes.c_int32, len(first))(*first)
    n = steps.size(domain_of(steps.steps, call.places[0]))
    sums = told_apart(product_sums, records, starts, n, steps.context)
    return dict(zip(call.places, sums, strict=True))


def _arrays(steps: Steps, places: tuple[int, ...]) -> list[Array]:
    """Return vectors as they are, without those of ones."""
    found = [steps.found[place] for place in places]
    return [each for each in found if isinstance(each, np.ndarray)]


NUMBERS_OF_STEPS: Mapping[str, Callable[[Steps, KernelCall], Found]] = {
    "indicator": _indicator,
    "kept_indicator": _kept_indicator,
    "values": _values,
    "stored": _stored,
    "merged": _merged,
    "lists": _lists,
    "kept_or_lists": _kept_or_lists,
    "matrix_product": _matrix_product,
    "vector_product": _vector_product,
    "message": _message,
    "degrees": _degrees,
    "masked_product": _masked_product,
    "triangle_counts": _triangle_counts,
    "triangle_sums": _triangle_sums,
    "local_triangles": _local_triangles,
    "local_sums": _local_sums,
    "rooted_forest": _rooted_forest,
    "local_walks": _local_walks,
    "row_squares": _row_squares,
    "pairs": _pairs,
    "neighbours": _neighbours,
    "at_ends": _at_ends,
    "of_pairs": _of_pairs,
    "end_rows": _end_rows,
    "by_root": _by_root,
    "triangle_corners": _triangle_corners,
    "at_pairs": _at_pairs,
    "turned": _turned,
    "masked_forest": _masked_forest,
    "cliques_by_vertex": cliques_by_vertex,
}
"""Of rows that give the numbers of a step."""

TOTALS_OF_STEPS: Mapping[str, Callable[[Steps, KernelCall], dict[int, int]]] = {
    "closed_walks": _closed_walks,
    "long_closed_walks": _long_closed_walks,
    "mixed_walks": walks,
    "cliques": cliques,
    "dot": _dot,
}
"""Of rows that give sums."""
