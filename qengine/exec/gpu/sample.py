"""Draws samples of a plan on the device (``kernels/cuda/sample/sample.cuh``): the same samples as the host's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine._frozen import frozen, replace
from qengine.exec.common.match_plan import LevelKind
from qengine.exec.gpu.arrays import working
from qengine.exec.gpu.families import ESTIMATORS, SAMPLED_LEVELS
from qengine.exec.gpu.launch import DeviceRun, launch_pass
from qengine.exec.gpu.sample_job import GUIDE, JOB, MOST_WARPS, TOTALS
from qengine.exec.gpu.upload import DevicePlan

_SOURCES, _LIST_IDS = 1, 8
"""Of ``ResolvedSearch.tables``."""

TOTALS_BYTES = MOST_WARPS * TOTALS.itemsize
"""Shared memory of a block beside its space's."""

_THREADS = 256
_WALKS_AT_ONCE = 64
"""Of one warp."""

_TOGETHER = 32
_TOGETHER_FAR = 4
"""Places that a warp refines together, from so many on: fewer where lists lie in the host's memory in part, of which a
warp asks for whole lines."""

_WORTH_ORDERING = 1 << 21
"""Samples at a time: fewer have few lists in common, and aren't drawn in the order of their roots."""

_ORDERED_AT_ONCE = 1 << 22
_WORTH_WINDOWS, _WINDOW_BITS = 1 << 32, 25
"""Bytes in the host's memory from which on samples go by windows of so many entries, 128 MB: an H200 reads lines at
random at the link's rate, 400 million a second, within 256 MB, and ever fewer beyond, for want of translated addresses.
K4 within half of R-MAT 26's bytes, 5.4 GB: 337 ms without (of another day) and 230 with; of R-MAT 24's, 1.4 GB: 157 and
177, for the second order takes 20.
"""

_FAR_BLOCKS = 1
"""On a multiprocessor, of walks that refine lists that lie in the host's memory in part: a walk reads them several
times, and what fewer walks read is found in the L1 cache. K4 of R-MAT 24 as above: 157 ms with 24 warps, 138 with 8.
"""

_HEAVY_SHARE = 64
"""One in so many samples, whose roots have most neighbours, is drawn before all others: they take longest."""

_ORDER_BYTES = 32
"""Of a sample, while samples are put in that order."""


@frozen
class SampledSpace:
    """What is sampled, on the device, and the kernels that know it.

    ``arguments``: the first of the kernels, before the job. ``keep``: what they point to. ``preface``: code of an
    estimator, which stands before the kernels'. ``far_bytes``: of lists that lie in the host's memory. ``second``:
    which of the plan's lists are read of second vertices; None: none are.
    """

    family: str
    macros: Mapping[str, int | str]
    arguments: tuple[Any, ...]
    threads: int
    shared_bytes: int
    keep: tuple[Any, ...] = ()
    preface: str = ""
    far_bytes: int = 0
    second: int | None = None


def plan_space(plan: DevicePlan) -> SampledSpace:
    """Return a plan without seeds as what is sampled."""
    variant = min(each for each in SAMPLED_LEVELS if each >= len(plan.resolved.tables[0]))
    return SampledSpace(
        "sample",
        {"QE_LEVELS": variant},
        (np.uint64(plan.address),),
        _THREADS,
        TOTALS_BYTES,
        far_bytes=plan.host_bytes,
        second=_lists_of_second(plan),
    )


def _lists_of_second(plan: DevicePlan) -> int | None:
    """Return the first of the plan's lists that is read of the second level's vertices; None where none is."""
    levels, sources = plan.levels, plan.resolved.tables[_SOURCES]
    if len(levels) < 2 or levels["kind"][1] != LevelKind.VERTEX or not levels["sources"]["count"][1]:
        return None
    of_second = np.flatnonzero(sources["level"] == 1)
    if not len(of_second):
        return None
    return int(plan.resolved.tables[_LIST_IDS][sources["lists"]["first"][of_second[0]]])


def upload_guide(
    run: DeviceRun, levels: Sequence[tuple[int, npt.NDArray[np.float64], npt.NDArray[np.float64]]]
) -> tuple[Any, ...]:
    """Copy a guide to the device: of each level its first vertex, the ways, and their sums; empty where nothing.

    Returns
    -------
    tuple
        A block of ``sample_job.GUIDE`` records, and the blocks that they point to.
    """
    table = np.zeros(len(levels), GUIDE)
    blocks = []
    for record, (lo, *arrays) in zip(table, levels, strict=True):
        record["lo"] = lo
        for name, array in zip(("ways", "running"), arrays, strict=True):
            if len(array):
                blocks.append(run.upload(array, "the guide of samples"))
                record[name] = blocks[-1].ptr
    return run.upload(table, "the guide of samples"), *blocks


def with_estimator(space: SampledSpace, name: str, source: str) -> SampledSpace:
    """Return a plan's space for a user's estimator: ``source`` defines a struct ``Estimator``."""
    return replace(space, preface=f'#include "sample/sample_plan.cuh"\n#line 1 "{_printable(name)}"\n{source}')


def _printable(name: str) -> str:
    """Return a name that can stand in a directive."""
    return "".join(letter if letter.isalnum() else "_" for letter in name) or "estimator"


@frozen
class Totals:
    """Samples added up: their weights, the squares, how many were whole embeddings, and the work."""

    weight: float
    square: float
    reached: int
    work: int


@frozen
class DeviceDraw:
    """Samples drawn. ``rows``: int64[samples, depth], undefined where ``weights`` (float64[samples]) is 0."""

    totals: Totals
    rows: npt.NDArray[np.int64] | None = None
    weights: npt.NDArray[np.float64] | None = None


class DeviceSamples:
    """Draws samples of one space.

    Parameters
    ----------
    run
        The query's work on the device.
    method
        "wanderjoin", "alley", "guided", or "own" for the estimator of the space's preface.
    work
        ``sample_job.WORK`` records of the levels to bind: what they cost, by the method.
    guide
        For "guided": what ``upload_guide`` returned.
    """

    def __init__(
        self, run: DeviceRun, space: SampledSpace, method: str, work: npt.NDArray[Any], guide: tuple[Any, ...] = ()
    ) -> None:
        self._run = run
        self._space = space
        self._depth = len(work)
        macros = {**space.macros, "QE_ESTIMATOR": ESTIMATORS.get(method, "Estimator")}
        self._kernel = run.kernel(space.family, "sample_walks", macros, space.shared_bytes, space.preface)
        self._most_blocks = max(1, run.device.resident_blocks(self._kernel, space.threads, space.shared_bytes))
        if space.far_bytes and method == "alley":
            self._most_blocks = min(self._most_blocks, _FAR_BLOCKS * run.device.multiprocessors)
        self._totals = run.allocate(self._most_blocks * TOTALS.itemsize, "the sums of samples")
        self._job = np.zeros(1, JOB)
        self._job["work"][0, : self._depth] = work
        self._guide = guide
        self._job["guide"] = guide[0].ptr if guide else 0
        self._job["totals"], self._job["stop"], self._job["depth"] = self._totals.ptr, run.stop_flag, self._depth
        self._is_ordered = space.far_bytes > 0 and method in ("wanderjoin", "alley")  # others may pick roots otherwise

    def draw(
        self,
        seed: int,
        first: int,
        samples: int,
        *,
        rows: bool = False,
        least: int = 0,
        inheritance: bool = False,
        streaming: bool = True,
    ) -> DeviceDraw:
        """Draw samples ``[first, first + samples)`` of the stream ``seed``.

        Parameters
        ----------
        rows
            Whether to return the embeddings.
        least
            If not 0: prefixes of random depths from this on, as trawling takes them; what is not bound is undefined.
        inheritance
            Whether walks that have ended go on from others of their warp (gSWORD §4.1). ``samples`` is then a multiple
            of 64.
        streaming
            Whether a warp refines large sets of candidates together (§4.2). The samples are the same.
        """
        run, depth, job = self._run, self._depth, self._job
        room = run.allocate(8 * samples * depth, "the sampled embeddings") if rows else None
        weights = run.allocate(8 * samples, "the samples' weights") if rows else None
        job["seed"], job["least"], job["inheritance"] = seed, least, inheritance
        job["streaming"] = (_TOGETHER_FAR if self._space.far_bytes else _TOGETHER) if streaming else 0
        most = 0 if inheritance or not self._is_ordered else min(_ORDERED_AT_ONCE, run.free_bytes() // _ORDER_BYTES)
        is_ordered = min(most, samples) >= _WORTH_ORDERING
        each = most if is_ordered else samples
        parts = []
        for begin in range(0, samples, each):
            job["first"], job["samples"] = first + begin, min(each, samples - begin)
            job["rows"] = room.ptr + 8 * depth * begin if room else 0
            job["weights"] = weights.ptr + 8 * begin if weights else 0
            parts.append(self._drawn(is_ordered))
        found = np.concatenate(parts)
        totals = Totals(
            float(found["weight"].sum()),
            float(found["square"].sum()),
            int(found["reached"].sum()),
            int(found["work"].sum()),
        )
        if room is None or weights is None:
            return DeviceDraw(totals)
        ids, weight = np.empty((samples, depth), np.int64), np.empty(samples, np.float64)
        run.read(room.ptr, ids)
        run.read(weights.ptr, weight)
        return DeviceDraw(totals, ids, weight)

    def _drawn(self, is_ordered: bool) -> npt.NDArray[Any]:
        """Draw what the job says; return ``TOTALS`` records. ``is_ordered``: in the order of the roots."""
        run, space, job, samples = self._run, self._space, self._job, int(self._job["samples"][0])
        order = self._order(samples) if is_ordered else None
        job["order"] = 0 if order is None else order.data.ptr
        blocks = min(self._most_blocks, -(-samples // (_WALKS_AT_ONCE * (space.threads // 32))))
        run.launch(self._kernel, blocks, space.threads, (*space.arguments, job), space.shared_bytes)
        run.wait()
        found = np.zeros(blocks, TOTALS)
        run.read(self._totals.ptr, found)
        return found

    def _order(self, samples: int) -> Any:
        """Return the job's samples in the order in which they are drawn: uint64[samples], their numbers in the lowest
        bits.
        """
        run, space = self._run, self._space
        with working(run, "the order of samples") as cp:
            order = cp.empty(samples, np.uint64)
            given, to = (*space.arguments, self._job), np.uint64(order.data.ptr)
            launch_pass(run, "sample_order", "sample_roots", samples, *given, to)
            order.sort()
            if space.second is not None and space.far_bytes > _WORTH_WINDOWS:
                where = np.int32(space.second), np.int32(_WINDOW_BITS), np.uint64(samples // _HEAVY_SHARE)
                launch_pass(run, "sample_order", "sample_windows", samples, *given, *where, to)
                order.sort()
        return order
