"""The native sampler: draws samples of a resolved plan, and counts it by slices (``kernels/host/sample``)."""

from __future__ import annotations

import ctypes
from contextlib import suppress

import numpy as np
import numpy.typing as npt

from qengine import _native
from qengine._frozen import frozen
from qengine.errors import QueryTimeout
from qengine.estimate.result import Sums
from qengine.exec.context import ExecutionContext

METHODS = {"wanderjoin": 0, "alley": 1}

_READS = 64  # numbers that a step of a sample is taken to read, where lists are not long

HAUL_WALKS = 256
"""Prefixes that are trawled together (``kernels/include/qe/sample.h``)."""

_SUMS = _native.record("f8 weight square; i8 reached work")


_Task = _native.struct("qe::SampleTask", "i4 method depth; u8 seed first; i8 samples; p guide")
_TrawlTask = _native.struct(
    "qe::TrawlTask", "i4 method least; u8 seed first; i8 hauls most_work; p guide prefixes weights; i8 stride"
)
_SliceTask = _native.struct("qe::SliceTask", "u8 seed; i8 slices first last work")
_SliceSums = _native.struct("qe::SliceSums", "f8 weight square; i8 done hits work")


@frozen
class SampleRange:
    """The samples (of trawling, hauls) ``[first, first + count)`` of the stream ``seed``."""

    seed: int
    first: int
    count: int


@frozen
class Draw:
    """Samples drawn: sums at each level; with rows, int64[n, depth] ids and float64[n] weights of whole embeddings."""

    levels: tuple[Sums, ...]
    rows: npt.NDArray[np.int64] | None = None
    weights: npt.NDArray[np.float64] | None = None

    @property
    def sums(self) -> Sums:
        """The sums at the last level, with the work of all."""
        last = self.levels[-1]
        work = sum(level.work for level in self.levels)
        return Sums(last.samples, last.hits, last.weight, last.square, work)


def draw(
    plan: int,
    method: str,
    context: ExecutionContext,
    samples: SampleRange,
    *,
    depth: int,
    rows: bool = False,
    guide: int | None = None,
) -> Draw:
    """Draw samples over the first ``depth`` levels.

    Parameters
    ----------
    plan
        Address of a ``MatchPlan`` without seeds.
    method
        "wanderjoin" or "alley".
    rows
        Whether to return the embeddings, in the order of their numbers.
    guide
        For Alley over the plan of a candidate graph: address of its guide, which says how likely each pick is.
    """
    library = _library()
    sums = np.zeros(depth, _SUMS)
    ids = np.empty((samples.count, depth), np.int64) if rows else None
    weights = np.empty(samples.count, np.float64) if rows else None
    n = ctypes.c_int64()
    task = _Task(METHODS[method], depth, samples.seed, samples.first, samples.count, guide)
    context.run(
        library.qe_sample_run,
        plan,
        ctypes.byref(context.control),
        ctypes.byref(task),
        sums.ctypes.data,
        None if ids is None else ids.ctypes.data,
        None if weights is None else weights.ctypes.data,
        ctypes.byref(n),
        reads=samples.count * depth * _READS,
    )
    levels = tuple(
        Sums(samples.count, int(each["reached"]), float(each["weight"]), float(each["square"]), int(each["work"]))
        for each in sums
    )
    if ids is None or weights is None:
        return Draw(levels)
    return Draw(levels, ids[: n.value], weights[: n.value])


def trawl(
    plan: int,
    context: ExecutionContext,
    hauls: SampleRange,
    *,
    least: int,
    most_work: int,
    guide: int | None = None,
    prefixes: tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]] | None = None,
) -> Sums:
    """Return the sums of some hauls: prefixes by Alley, their completions counted (gSWORD §5).

    Parameters
    ----------
    plan
        Address of a ``MatchPlan`` without seeds whose first level is a vertex.
    least
        Depth of the shortest prefixes; that of a haul's is one more half as often.
    most_work
        Ids that counting may read in one haul. Prefixes that take long are drawn longer before they are tried again.
    guide
        Of the prefixes, as for ``draw``.
    prefixes
        Where they were drawn elsewhere: int64[walks, depth] ids and float64[walks] weights, 0 for walks that have
        ended; ``HAUL_WALKS`` a haul.
    """
    sums = np.zeros(1, _SUMS)
    ids, weights = prefixes if prefixes is not None else (np.empty((0, 0), np.int64), np.empty(0))
    given = (ids.ctypes.data, weights.ctypes.data, ids.shape[1]) if prefixes is not None else (None, None, 0)
    task = _TrawlTask(METHODS["alley"], least, hauls.seed, hauls.first, hauls.count, most_work, guide, *given)
    context.run(
        _library().qe_trawl_run,
        plan,
        ctypes.byref(context.control),
        ctypes.byref(task),
        sums.ctypes.data,
        reads=hauls.count * most_work,
    )
    (each,) = sums
    return Sums(hauls.count, int(each["reached"]), float(each["weight"]), float(each["square"]), int(each["work"]))


def count_slices(plan: int, context: ExecutionContext, slices: SampleRange, work: int, most: int | None = None) -> Sums:
    """Count slice by slice the embeddings of a plan whose first level is a vertex.

    Parameters
    ----------
    plan
        Address of a ``MatchPlan`` without seeds.
    slices
        Into how many slices the vertices of the first level are cut, in which order these come, by the seed, and
        which is the first to be counted.
    work
        Ids that may be read.
    most
        How many slices to count at most; None: all.

    Returns
    -------
    Sums
        Of the slices that were counted: as many samples, each weighing its embeddings. They are fewer where the work,
        or the context's time, doesn't reach, or a count exceeds 64 bits; that time was over is for the caller to check.
    """
    sums = _SliceSums()
    last = slices.count if most is None else min(slices.first + most, slices.count)
    task = _SliceTask(slices.seed, slices.count, slices.first, last, work)
    pointers = ctypes.byref(context.control), ctypes.byref(task), ctypes.byref(sums)
    with suppress(QueryTimeout):
        context.run(_library().qe_count_slices, plan, *pointers, reads=work)
    return Sums(sums.done, sums.hits, sums.weight, sums.square, sums.work)


def level_work(
    plan: int, method: str, depth: int, context: ExecutionContext, guide: int | None = None
) -> npt.NDArray[np.int32]:
    """Return what the first levels cost: int32[depth, 2], for each walk and for each place (``qe::SampleWork``)."""
    found = np.zeros((depth, 2), np.int32)
    context.raise_for(_library().qe_sample_work(plan, METHODS[method], depth, guide, found.ctypes.data))
    return found


def philox(low: int, high: int, key: int) -> tuple[int, int, int, int]:
    """Return the four 32-bit words of one Philox4x32-10 block."""
    words = np.zeros(4, np.uint32)
    _library().qe_philox(low, high, key, words.ctypes.data)
    a, b, c, d = words.tolist()
    return a, b, c, d


_library = _native.declared(
    "qe_sample_run p p p p p p p; qe_trawl_run p p p p; qe_count_slices p p p p; qe_sample_work p i4 i4 p p; "
    "qe_philox u8 u8 u8 p -> none"
)
