"""Cliques and closed walks along several matrices, each counted at its first or last vertex by rank."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from qengine import _native
from qengine.exec.common.relations import NUMBERS, SparseMatrix, numbers
from qengine.exec.host.cliques import TASK, chain_records, planes_of
from qengine.exec.host.elimination_steps import Array, Steps, Unfit, address
from qengine.exec.host.ranked_matrices import RankedMatrices
from qengine.plan.elimination import Clique, Matrix, is_symmetric
from qengine.plan.kernels.cliques import numbered_matrices
from qengine.plan.kernels.mixed_walks import Path, mixed_walks, passes_of
from qengine.plan.schedule import KernelCall

_WALK_PASS = _native.record("i4[4] planes; u4 factor back")
"""As ``qe::eliminate::WalkPass``."""

_WALK_TASK = _native.record("u8 matrices passes; i4 n_passes unused; u8[2] sum")
"""As ``qe::eliminate::WalkTask``."""


def cliques(steps: Steps, call: KernelCall) -> dict[int, int]:
    """Count the cliques that a call's total is over."""
    return dict.fromkeys(call.places, _count_cliques(steps, call, None))


def cliques_by_vertex(steps: Steps, call: KernelCall) -> Array:
    """Count the cliques that a call's vector is over, by the vertices of one role."""
    out = steps.empty(steps.size(None))
    out[...] = 0
    _count_cliques(steps, call, out)
    return out


def _count_cliques(steps: Steps, call: KernelCall, out: Array | None) -> int:
    """Return the sum over cliques, and write it by vertex to ``out`` where there is one."""
    step = steps.steps[call.results[0]]
    assert isinstance(step, Clique)
    places, planes = planes_of(steps.steps, step)
    matrices = _ranked_matrices(steps, places)
    size = len(step.vectors)
    vectors = [steps.optional(place) for place in step.vectors]
    valued = frozenset(role for role, each in enumerate(vectors) if each is not None and _exceeds_one(each))
    lengths = tuple(len(_numberless(steps, place).ids) for place in places for _ in range(2))
    kinds = tuple(-1 if place is None else place for place in step.vectors)
    chains = chain_records(planes, kinds, lengths, valued, step.by)
    weights = np.array([numbers(each) for each in vectors], NUMBERS)
    where = matrices.address, chains.ctypes.data, weights.ctypes.data
    flags = sum(1 << role for role in valued), int(steps.wide)
    task = np.array([(*where, size, len(chains), *flags, address(out), (0, 0))], TASK)
    steps.call("qe_cliques", task.ctypes.data)
    return _sum_of(task)


def walks(steps: Steps, call: KernelCall) -> dict[int, int]:
    """Count the closed walks of a call's step."""
    along = mixed_walks(steps.steps[call.places[0]])
    assert along is not None
    places = list(dict.fromkeys(place for place, _ in numbered_matrices(steps.steps, along).values()))
    matrices = _ranked_matrices(steps, places)

    def planes(path: Path) -> tuple[int, ...]:
        return tuple(2 * places.index(place) + turned for place, turned in path)

    passes = [
        ((*planes(each.one), *planes(each.other)), each.factor, each.back) for each in passes_of(steps.steps, along)
    ]
    records = np.array(passes, _WALK_PASS)
    task = np.array([(matrices.address, records.ctypes.data, len(passes), 0, (0, 0))], _WALK_TASK)
    steps.call("qe_mixed_walks", task.ctypes.data)
    return {call.places[0]: _sum_of(task)}


def _sum_of(task: Array) -> int:
    low, high = task["sum"][0].tolist()
    return int(low | high << 64)


def _numberless(steps: Steps, place: int) -> SparseMatrix:
    """Return a matrix that has no numbers.

    Raises
    ------
    Unfit
        If it has.
    """
    matrix = steps.found[place]
    assert isinstance(matrix, SparseMatrix)
    if matrix.factors or matrix.repeats:
        raise Unfit("some relationships join a pair twice")
    return matrix


def _is_symmetric(steps: Steps, place: int) -> bool:
    step = steps.steps[place]
    assert isinstance(step, Matrix)
    return is_symmetric(step.relations)


def _ranked_matrices(steps: Steps, places: Sequence[int]) -> RankedMatrices:
    """Return matrices by descending length of rows, all together; of the graph's own the graph keeps them.

    Raises
    ------
    Unfit
        If one has loops or links a pair twice.
    """
    matrices = [_numberless(steps, place) for place in places]
    ways = [_is_symmetric(steps, place) for place in places]

    def make() -> RankedMatrices:
        return RankedMatrices(matrices, ways, steps.relations.n, steps.context)

    key = *(steps.steps[place] for place in places), "ranked together"
    found: RankedMatrices = steps.store.derived.get(key, make) if all(each.owned for each in matrices) else make()
    if not found.plain:
        raise Unfit("some relationships join a pair twice, or a node with itself")
    return found


def _exceeds_one(vector: Array) -> bool:
    return bool(vector[:, 1].any() or (vector[:, 0] > 1).any() if vector.ndim > 1 else (vector > 1).any())
