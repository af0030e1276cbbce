"""Counts by two nodes folded as their rows are made: into groups of both, or to what groups of one node meet."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from qengine import _native
from qengine._frozen import frozen
from qengine.exec.common.runtime import Runtime
from qengine.exec.host.eliminate import Array, with_pair_terms
from qengine.exec.host.elimination_steps import Steps
from qengine.exec.host.folds import Fold, FoldedEnds
from qengine.exec.view import MaskProvider
from qengine.plan.physical import Eliminate

NO_CLASS = 2**32 - 1
"""The class of vertices that don't count."""

_SHORT = 2**16  # numbers below it are sorted by their digits

PAIR_FOLD = _native.record(
    "u8 terms roots groups classes distinct least greatest n_groups; u4 n_classes n; i4 n_terms unused"
)
"""As ``qe::eliminate::PairFold``."""


@frozen
class Met:
    """For each group how many classes it has met, int64, and the least and the greatest of them, -1 where none."""

    distinct: npt.NDArray[np.int64]
    least: npt.NDArray[np.int64]
    greatest: npt.NDArray[np.int64]


def fold_pairs(
    operator: Eliminate,
    classes: npt.NDArray[np.uint32],
    roots: npt.NDArray[np.int64],
    codes: npt.NDArray[np.int64],
    runtime: Runtime,
    masks: MaskProvider,
) -> Met:
    """Return what the groups of roots meet.

    Parameters
    ----------
    operator
        Counts by the roots and by another node.
    classes
        uint32[n]: of each of the graph's n vertices at the far end, ``NO_CLASS`` for those that don't count.
    roots, codes
        Vertices, and the group of each, from 0 on; each group has one.

    Raises
    ------
    ResourceError
        If a number on the way exceeds 128 bits.
    """
    sizes = np.bincount(codes)
    groups = np.concatenate(([0], np.cumsum(sizes))).astype(np.uint64)
    short = codes.astype(np.uint16) if len(sizes) <= _SHORT else codes
    sorted_roots = roots[np.argsort(short, kind="stable")].astype(np.uint32)
    counted = classes[classes != NO_CLASS]
    n_classes = int(counted.max()) + 1 if len(counted) else 1
    distinct = np.empty(len(sizes), np.uint64)
    least, greatest = np.empty(len(sizes), np.uint32), np.empty(len(sizes), np.uint32)

    def fold(steps: Steps, terms: Array) -> None:
        if not len(terms):
            distinct[:] = 0
            return
        arrays = (terms, sorted_roots, groups, classes, distinct, least, greatest)
        pointers = (each.ctypes.data for each in arrays)
        task = np.array([(*pointers, len(sizes), n_classes, len(classes), len(terms), 0)], PAIR_FOLD)
        steps.call("qe_fold_pairs", task.ctypes.data, int(steps.wide))

    with_pair_terms(operator, runtime, masks, fold)
    none = distinct == 0
    ends = (np.where(none, -1, each.astype(np.int64)) for each in (least, greatest))
    return Met(distinct.astype(np.int64), *ends)


def met_by_one(classes: npt.NDArray[np.uint32]) -> Met:
    """Return what a single group meets: ``classes``, uint32, of all vertices that it has, ``NO_CLASS`` left out."""
    counted = classes[classes != NO_CLASS]
    if not len(counted):
        return Met(np.zeros(1, np.int64), np.full(1, -1), np.full(1, -1))
    met = np.flatnonzero(np.bincount(counted))
    return Met(np.array([len(met)]), met[:1], met[-1:])


def fold_pair_rows(
    operator: Eliminate,
    ends: FoldedEnds,
    begun: Callable[[], Sequence[Fold] | None],
    runtime: Runtime,
    masks: MaskProvider,
) -> bool:
    """Fold the pairs of an elimination by two nodes; False, and nothing done, where ``begun`` returns None.

    Parameters
    ----------
    ends
        Which pairs count, and how often.
    begun
        Returns empty folds; it is called again where numbers take more bits.

    Raises
    ------
    ResourceError
        If a number on the way exceeds 128 bits, or all counts add up to too much.
    """

    def fold(steps: Steps, terms: Array) -> bool:
        folds = begun()
        for each in folds or ():
            if len(terms):
                each.add_pairs(steps, terms, runtime.store.vertex_count, ends)
        return folds is not None

    return with_pair_terms(operator, runtime, masks, fold)
