"""Draws samples of a plan on the device (``kernels/cuda/sample/sample.cuh``): the same samples as the host's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine.exec.gpu.launch import DeviceRun
from qengine.exec.gpu.sample_job import GUIDE, JOB, MOST_WARPS, TOTALS
from qengine.exec.gpu.upload import DevicePlan

LEVEL_VARIANTS = (16, 64)
"""The most levels of each variant of the kernels for any plan."""

TOTALS_BYTES = MOST_WARPS * TOTALS.itemsize
"""Shared memory of a block beside its space's."""

_THREADS = 256
_WALKS_AT_ONCE = 64
"""Of one warp."""


@dataclass(frozen=True, slots=True)
class SampledSpace:
    """What is sampled, on the device, and the kernels that know it.

    ``arguments``: the first of the kernels, before the job. ``keep``: what they point to. ``preface``: code of an
    estimator, which stands before the kernels'.
    """

    family: str
    macros: Mapping[str, int | str]
    arguments: tuple[Any, ...]
    threads: int
    shared_bytes: int
    keep: tuple[Any, ...] = ()
    preface: str = ""


def plan_space(plan: DevicePlan) -> SampledSpace:
    """Return a plan without seeds as what is sampled."""
    variant = min(each for each in LEVEL_VARIANTS if each >= len(plan.resolved.tables[0]))
    return SampledSpace("sample", {"QE_LEVELS": variant}, (np.uint64(plan.address),), _THREADS, TOTALS_BYTES)


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
    preface = f'#include "sample/sample_plan.cuh"\n#line 1 "{_printable(name)}"\n{source}'
    return replace(space, macros={**space.macros, "QE_ESTIMATOR": "Estimator"}, preface=preface)


def _printable(name: str) -> str:
    """Return a name that can stand in a directive."""
    return "".join(letter if letter.isalnum() else "_" for letter in name) or "estimator"


@dataclass(frozen=True, slots=True)
class Totals:
    """Samples added up: their weights, the squares, how many were whole embeddings, and the work."""

    weight: float
    square: float
    reached: int
    work: int


@dataclass(frozen=True, slots=True)
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
        self._kernel = run.kernel(space.family, f"sample_{method}", space.macros, space.shared_bytes, space.preface)
        self._most_blocks = max(1, run.device.resident_blocks(self._kernel, space.threads, space.shared_bytes))
        self._totals = run.allocate(self._most_blocks * TOTALS.itemsize, "the sums of samples")
        self._job = np.zeros(1, JOB)
        self._job["work"][0, : self._depth] = work
        self._guide = guide
        self._job["guide"] = guide[0].ptr if guide else 0
        self._job["totals"], self._job["stop"], self._job["depth"] = self._totals.ptr, run.stop_flag, self._depth

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
        run, depth, job, threads = self._run, self._depth, self._job, self._space.threads
        room = run.allocate(8 * samples * depth, "the sampled embeddings") if rows else None
        weights = run.allocate(8 * samples, "the samples' weights") if rows else None
        job["seed"], job["first"], job["samples"], job["least"] = seed, first, samples, least
        job["rows"], job["weights"] = room.ptr if room else 0, weights.ptr if weights else 0
        job["inheritance"], job["streaming"] = inheritance, streaming
        blocks = min(self._most_blocks, -(-samples // (_WALKS_AT_ONCE * (threads // 32))))
        run.launch(self._kernel, blocks, threads, (*self._space.arguments, job), self._space.shared_bytes)
        run.wait()
        found = np.zeros(blocks, TOTALS)
        run.read(self._totals.ptr, found)
        totals = Totals(
            float(found["weight"].sum()),
            float(found["square"].sum()),
            int(found["reached"].sum()),
            int(found["work"].sum()),
        )
        if room is None or weights is None:
            return DeviceDraw(totals)
        ids, each = np.empty((samples, depth), np.int64), np.empty(samples, np.float64)
        run.read(room.ptr, ids)
        run.read(weights.ptr, each)
        return DeviceDraw(totals, ids, each)
