"""The functions of the kernel table's rows on a GPU (``plan/kernels/gpu.py``), by the rows' names.

Each takes what the calls before have given, as blocks on the device, and starts kernels. What gives totals returns
what reads them once the kernels have ended.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from qengine.exec.gpu.cliques import start_cliques
from qengine.exec.gpu.closed_walk_counts import WalkCounter
from qengine.exec.gpu.eliminate_matrix import uploaded
from qengine.exec.gpu.elimination_steps import (
    FLAGS,
    MOST_SUMS,
    SUMS,
    TOTAL,
    TOTAL_BLOCKS,
    DeviceSteps,
    Unfit,
    blocks_of,
    integer,
)
from qengine.exec.gpu.memory import device_bytes
from qengine.exec.gpu.mixed_walks import start_mixed_walks, total_of
from qengine.exec.gpu.neighbourhoods import Piece
from qengine.exec.gpu.square_counts import closed_walks_of_four
from qengine.exec.gpu.symmetric_links import link_squares
from qengine.exec.gpu.triangle_counts import MOST_WEIGHT
from qengine.plan.elimination import (
    Clique,
    MaskedForest,
    MaskedProduct,
    Matrix,
    NodeIndicator,
    RootedForest,
    column_domain_of,
    domain_of,
)
from qengine.plan.kernels.shapes import row_products
from qengine.plan.schedule import KernelCall

Sums = Callable[[], Mapping[int, int]]
"""Returns totals by place once the kernels have ended."""

DEGREES = "degrees"
"""Ends the names of residents that are these."""

_MOST_WALK_WEIGHT = 2**32 - 1
"""Weights have 32 bits."""

_TIMES_OF_CORNERS = (6, 2, 2, 6)
"""How often the orders of a triangle's corners count each product, by how many corners have weights."""


def run_call(steps: DeviceSteps, call: KernelCall) -> None:
    """Start the kernels of a call that gives numbers of steps.

    Raises
    ------
    Unfit
        If the kernel doesn't take what it is given.
    OutOfMemory
        If what it makes doesn't fit.
    """
    NUMBERS_OF_STEPS[call.kernel](steps, call)


def start_total(steps: DeviceSteps, call: KernelCall) -> Sums:
    """Start the kernels of a call that gives totals; errors as of ``run_call``."""
    return TOTALS_OF_STEPS[call.kernel](steps, call)


# ---------------------------------------------------------------- vectors and matrices


def _indicator(steps: DeviceSteps, call: KernelCall) -> None:
    step = steps.steps[call.places[0]]
    assert isinstance(step, NodeIndicator)
    steps.vectors[call.places[0]] = steps.own(step)


def _uploaded(steps: DeviceSteps, call: KernelCall) -> None:
    step = steps.steps[call.places[0]]
    assert isinstance(step, Matrix)
    steps.matrices[call.places[0]] = uploaded(steps.relations, step, steps.run, steps.held, steps.wide)


def _matrix_product(steps: DeviceSteps, call: KernelCall) -> None:
    steps.matrices[call.places[0]] = steps.matrix_product([steps.matrices[each] for each in call.reads])


def _vector_product(steps: DeviceSteps, call: KernelCall) -> None:
    place = call.places[0]
    n = steps.size(domain_of(steps.steps, place))
    steps.vectors[place] = steps.vector_product([steps.vectors[each] for each in call.reads], n)


def _message(steps: DeviceSteps, call: KernelCall) -> None:
    place, (matrix, *vector) = call.places[0], call.reads
    n = steps.size(domain_of(steps.steps, place))
    steps.vectors[place] = steps.message(steps.matrices[matrix], vector[0] if vector else None, n)


def _degrees(steps: DeviceSteps, call: KernelCall) -> None:
    """Give what stays on the device, made by a message where it isn't there."""
    place, (matrix, *vector) = call.places[0], call.reads
    of = steps.matrices[matrix].key
    key = None if of is None else (*of, steps.steps[vector[0]] if vector else None, steps.wide, DEGREES)
    if key is not None and (resident := steps.run.memory.pin(key)) is not None:
        steps.held.append(resident)
        steps.vectors[place] = resident.block
        return
    _message(steps, call)
    if key is not None:
        steps.run.wait()  # kernels that were stopped have not added all
        block = steps.vectors[place]
        steps.held.append(steps.run.memory.add(key, block, device_bytes(block, steps.width * max(1, steps.n)), block))
        steps.run.memory.follow(steps.store)


# ---------------------------------------------------------------- triangles


def _require_simple(steps: DeviceSteps, place: int) -> None:
    if not steps.matrices[place].pairs:
        raise Unfit("some relationships join a pair twice")


def _vertex_triangles(steps: DeviceSteps, call: KernelCall) -> None:
    across = call.reads[0]
    _require_simple(steps, across)
    out = steps.vertex_triangles(across)
    for place, given in zip(call.places, call.results, strict=True):
        if given:
            steps.vectors[place] = out


def _triangle_counts(steps: DeviceSteps, call: KernelCall) -> None:
    _require_simple(steps, call.reads[0])
    steps.matrices[call.places[0]] = steps.triangles_of_pairs(call.reads[0])


def _triangle_sums(steps: DeviceSteps, call: KernelCall) -> None:
    step = steps.steps[call.places[0]]
    assert isinstance(step, MaskedProduct)
    _require_simple(steps, step.across)
    steps.matrices[call.places[0]] = steps.triangle_sums(step.across, step.vector)


def _masked_product(steps: DeviceSteps, call: KernelCall) -> None:
    step = steps.steps[call.places[0]]
    assert isinstance(step, MaskedProduct)
    steps.matrices[call.places[0]] = steps.masked_product(step)


# ---------------------------------------------------------------- forests and pairs


def _piece(steps: DeviceSteps) -> Piece:
    assert isinstance(steps.piece, Piece)
    return steps.piece


def _rooted_forest(steps: DeviceSteps, call: KernelCall) -> None:
    place = call.places[0]
    step = steps.steps[place]
    assert isinstance(step, RootedForest)
    linked = {each for node in step.nodes for each in (node.start, node.link) if each is not None}
    domains = {column_domain_of(steps.steps, each) for each in linked}
    roots = steps.size(domain_of(steps.steps, place))
    steps.vectors[place] = steps.around(step, roots, max(map(steps.size, domains)))


def _masked_forest(steps: DeviceSteps, call: KernelCall) -> None:
    place = call.places[0]
    step = steps.steps[place]
    assert isinstance(step, MaskedForest)
    linked = {each for node in step.nodes for each in (node.start, node.link) if each is not None}
    domains = {column_domain_of(steps.steps, each) for each in (*linked, step.right)}
    steps.matrices[place] = steps.masked_forest(step, max(map(steps.size, domains)))


def _turned(steps: DeviceSteps, call: KernelCall) -> None:
    back, matrix = (steps.matrices[place] for place in call.reads)
    steps.matrices[call.places[0]] = steps.turned(back, matrix) if matrix.record["values"] else back


def _row_products(steps: DeviceSteps, call: KernelCall) -> None:
    place = call.places[0]
    products = row_products(steps.steps[place])
    assert products is not None
    links = {each for ways in products.ways for each in (ways.start, ways.link)}
    if steps.piece is not None and all(map(_piece(steps).is_within_roots, links)):
        steps.vectors[place] = _piece(steps).products_within_roots(products)
        return
    rows, columns = domain_of(steps.steps, place), column_domain_of(steps.steps, products.ways[0].link)
    steps.vectors[place] = steps.row_products(products, steps.size(rows), steps.size(columns))


def _link_squares(steps: DeviceSteps, call: KernelCall) -> None:
    steps.vectors[call.places[0]] = link_squares(steps, _piece(steps).linked(call.reads[0]))


def _symmetric_links(steps: DeviceSteps, call: KernelCall) -> None:
    _require_simple(steps, call.reads[-1])
    place = call.places[0]
    steps.matrices[place] = _piece(steps).linked(place).links


def _neighbours(steps: DeviceSteps, call: KernelCall) -> None:
    steps.matrices[call.places[0]] = _piece(steps).neighbourhoods(*call.reads)


def _at_ends(steps: DeviceSteps, call: KernelCall) -> None:
    pairs, vector = call.reads
    steps.vectors[call.places[0]] = _piece(steps).at_ends(_piece(steps).pairs(pairs), vector)


def _of_pairs(steps: DeviceSteps, call: KernelCall) -> None:
    pairs, matrix = call.reads
    steps.vectors[call.places[0]] = _piece(steps).numbers(_piece(steps).pairs(pairs), steps.matrices[matrix])


def _end_rows(steps: DeviceSteps, call: KernelCall) -> None:
    pairs, by = call.reads
    steps.matrices[call.places[0]] = _piece(steps).end_rows(_piece(steps).pairs(pairs), steps.matrices[by])


def _at_pairs(steps: DeviceSteps, call: KernelCall) -> None:
    _piece(steps).at_pairs(call.places[0], *call.reads)


def _by_root(steps: DeviceSteps, call: KernelCall) -> None:
    pairs, vector = call.reads
    _piece(steps).by_root(call.places[0], pairs, vector)


# ---------------------------------------------------------------- totals


def _corner_sums(steps: DeviceSteps, call: KernelCall) -> Sums:
    across, *weights = call.reads
    _require_simple(steps, across)
    matrix = steps.matrices[across]
    product = steps.vector_product([steps.vectors[place] for place in weights], steps.n)
    block = steps.triangles().corners(matrix, steps.weights(matrix, product, MOST_WEIGHT))
    if block is None:
        raise Unfit("the links by which triangles are weighed have no room")

    def sums() -> dict[int, int]:
        found = _pairs_of_words(steps, block, 4)
        corners = zip(call.places, call.results, strict=True)
        return {place: _TIMES_OF_CORNERS[weighted] * found[weighted] for place, weighted in corners}

    return sums


def _long_closed_walks(steps: DeviceSteps, call: KernelCall) -> Sums:
    place, *by = call.reads
    _require_simple(steps, place)
    matrix = steps.matrices[place]
    weights = steps.weights(matrix, steps.vectors[by[0]], _MOST_WALK_WEIGHT) if by else None
    block = WalkCounter(steps.run, steps.blocks).count(matrix, weights, fives=5 in call.results)

    def sums() -> dict[int, int]:
        fours, weighted, fives = _pairs_of_words(steps, block, 3)
        found = {4: 2 * fours, 0: weighted, 5: 5 * fives}
        return {place: found[length] for place, length in zip(call.places, call.results, strict=True)}

    return sums


def _pairs_of_words(steps: DeviceSteps, block: Any, n: int) -> list[int]:
    words = np.empty(2 * n, np.uint64)
    steps.run.read(block.ptr, words)
    return [int(low) + (int(high) << 64) for low, high in words.reshape(n, 2)]


def _closed_walks(steps: DeviceSteps, call: KernelCall) -> Sums:
    _require_simple(steps, call.reads[0])
    matrix = steps.matrices[call.reads[0]]
    return lambda: dict.fromkeys(call.places, closed_walks_of_four(steps.store, matrix, steps.run, steps.held))


def _mixed_walks(steps: DeviceSteps, call: KernelCall) -> Sums:
    (place,) = call.places
    block = start_mixed_walks(steps, place)
    return lambda: {place: total_of(steps, block)}


def _cliques(steps: DeviceSteps, call: KernelCall) -> Sums:
    step = steps.steps[call.results[0]]
    assert isinstance(step, Clique)
    block = start_cliques(steps, step)
    return lambda: dict.fromkeys(call.places, total_of(steps, block))


def _dot(steps: DeviceSteps, call: KernelCall) -> Sums:
    """Add products of vectors up, some totals a launch."""
    if steps.piece is not None:
        return lambda: {call.places[0]: _piece(steps).total(call.places[0])}
    pointers: list[list[int]] = []
    begin = 0
    for count in call.results:
        factors = [steps.vectors[place] for place in call.reads[begin : begin + count]]
        pointers.append([block.ptr for block in factors if block is not None])
        begin += count
    for first in range(0, len(pointers), MOST_SUMS):
        some = pointers[first : first + MOST_SUMS]
        sums = np.zeros((), SUMS)
        sums["n"] = len(some)
        for k, of in enumerate(some):
            sums["of"][k]["of"][: len(of)], sums["of"][k]["n"] = of, len(of)
        to = np.uint64(steps.state.ptr + FLAGS + TOTAL * first)
        flag = np.uint64(steps.flag + np.uint64(12))
        blocks = len(some) * min(TOTAL_BLOCKS, blocks_of(steps.n))
        steps.launch("eliminate_sums", blocks, sums, np.uint64(steps.n), to, flag)

    def found() -> dict[int, int]:
        words = np.zeros(TOTAL // 8 * len(pointers), np.uint64)
        steps.run.read(steps.state.ptr + FLAGS, words)
        rows = words.reshape(-1, TOTAL // 8)
        totals = zip(call.places, pointers, rows, strict=True)
        return {place: integer(row) if of else steps.n for place, of, row in totals}

    return found


NUMBERS_OF_STEPS: Mapping[str, Callable[[DeviceSteps, KernelCall], None]] = {
    "indicator": _indicator,
    "uploaded": _uploaded,
    "matrix_product": _matrix_product,
    "vector_product": _vector_product,
    "message": _message,
    "degrees": _degrees,
    "vertex_triangles": _vertex_triangles,
    "triangle_counts": _triangle_counts,
    "triangle_sums": _triangle_sums,
    "masked_product": _masked_product,
    "rooted_forest": _rooted_forest,
    "masked_forest": _masked_forest,
    "turned": _turned,
    "row_products": _row_products,
    "link_squares": _link_squares,
    "symmetric_links": _symmetric_links,
    "neighbours": _neighbours,
    "at_ends": _at_ends,
    "of_pairs": _of_pairs,
    "at_pairs": _at_pairs,
    "end_rows": _end_rows,
    "by_root": _by_root,
}
"""Of rows that give numbers of steps."""

TOTALS_OF_STEPS: Mapping[str, Callable[[DeviceSteps, KernelCall], Sums]] = {
    "triangle_weight_sums": _corner_sums,
    "long_closed_walks": _long_closed_walks,
    "closed_walks": _closed_walks,
    "mixed_walks": _mixed_walks,
    "cliques": _cliques,
    "dot": _dot,
}
"""Of rows that give sums."""
