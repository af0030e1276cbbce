"""Candidate graphs packed for kernels that know the plan's shape (``kernels/cuda/sample_packed.cuh``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine.exec.cpu.match_plan import LevelKind, records
from qengine.exec.cpu.resolve import ResolvedSearch
from qengine.exec.gpu.device import Device
from qengine.exec.gpu.launch import DeviceRun
from qengine.exec.gpu.sample import TOTALS_BYTES, SampledSpace
from qengine.exec.gpu.sample_job import PACKED_GRAPH, PACKED_LEVELS, PACKED_SOURCES

__all__ = ["PackedPlan", "packed_plan"]

_WORD = 16
_SHORT = 1 << 16
_THREADS_EACH = 1024
"""Of a multiprocessor."""

_UNSHARED_THREADS = 256
_MOST_WIDTH = 16
_DEMANDS = ("pairs", "conditions")


@dataclass(frozen=True, slots=True)
class PackedPlan:
    """A candidate graph in the host's memory. ``graph``: one ``PACKED_GRAPH`` record, but for ``words``."""

    graph: npt.NDArray[Any]
    image: npt.NDArray[np.uint8]
    shape: Mapping[str, int | str]

    def variant(self, device: Device) -> tuple[Mapping[str, int | str], int, int]:
        """Return the macros of its kernels, threads of a block, and bytes of shared memory."""
        whole = TOTALS_BYTES + len(self.image)
        shared = whole <= device.shared_bytes
        blocks = max(1, min(4, device.shared_bytes_each // (whole + 1024)))  # the driver takes 1 KB a block
        threads = _THREADS_EACH // (1 << (blocks.bit_length() - 1)) if shared else _UNSHARED_THREADS
        macros = {**self.shape, "QE_SHARED": int(shared), "QE_THREADS": threads}
        return macros, threads, whole if shared else TOTALS_BYTES

    def space(self, run: DeviceRun) -> SampledSpace:
        """Copy it to the device.

        Raises
        ------
        OutOfMemory
            If it doesn't fit.
        """
        macros, threads, shared_bytes = self.variant(run.device)
        block = run.upload(self.image, "the candidate graph")
        graph = self.graph.copy()
        graph["words"] = block.ptr
        return SampledSpace("sample_packed", macros, (graph,), threads, shared_bytes, (block,))


def packed_plan(candidates: ResolvedSearch) -> PackedPlan | None:
    """Pack the plan of a candidate graph; None where it demands more of a vertex than lists and differences say."""
    levels, sources, ranges, lists = (candidates.tables[k] for k in (0, 1, 2, 9))
    level_ids, list_ids = candidates.tables[7], candidates.tables[8]
    n_sources = levels["sources"]["count"]
    plain = (levels["kind"] == LevelKind.VERTEX).all() and not any(levels[name]["count"].any() for name in _DEMANDS)
    plain = plain and not any(levels[name]["count"][n_sources == 0].any() for name in ("less", "greater"))
    if not plain or len(levels) > PACKED_LEVELS or n_sources.sum() > PACKED_SOURCES or n_sources.max() > _MOST_WIDTH:
        return None
    lo, hi = (ranges[name][levels["ranges"]["first"]] for name in ("begin", "end"))
    own = [lists[list_ids[each["lists"]["first"]]] for each in sources]
    indexes = [records(int(each["offsets"]), np.uint64, int(each["hi"] - each["lo"]) + 1) for each in own]
    targets = np.repeat(lo, n_sources)
    parts = [
        records(int(each["neighbours"]), np.uint32, int(each["n_entries"])) - first
        for each, first in zip(own, targets, strict=True)
    ]
    roots = [
        records(int(level["candidates"]), np.uint32, int(level["n_candidates"])) - first
        for level, first in zip(levels, lo, strict=True)
    ]
    short_ids = int((hi - lo).max()) <= _SHORT
    short_offsets = all(len(part) < _SHORT for part in parts)
    image, starts = _laid_out(
        [*indexes, *parts, *roots], len(indexes), np.uint16 if short_offsets else np.uint32, short_ids
    )
    n = len(indexes)
    graph = np.zeros(1, PACKED_GRAPH)
    graph["n_words"], graph["ids"] = len(image) // _WORD, starts[-1]
    graph["lo"][0, : len(levels)] = lo
    graph["offsets"][0, :n], graph["entries"][0, :n] = starts[:n], starts[n : 2 * n]
    graph["roots"][0, : len(levels)] = starts[2 * n : -1]
    graph["n_roots"][0, : len(levels)] = [len(each) for each in roots]
    shape = _shape(levels, sources, level_ids, lo, hi)
    shape |= {"QE_ID": _unsigned(short_ids), "QE_OFFSET": _unsigned(short_offsets)}
    return PackedPlan(graph, image, shape)


def _shape(levels: Any, sources: Any, level_ids: Any, lo: Any, hi: Any) -> dict[str, int | str]:
    """Return the macros that say what the plan is like."""
    origins = []
    relations: dict[str, list[int]] = {"different": [], "less": [], "greater": []}
    for index, level in enumerate(levels):
        first, count = level["sources"]
        origins.append(sum(int(sources["level"][first + k]) << (4 * k) for k in range(count)))
        for name, masks in relations.items():
            first, count = level[name]
            others = {int(other) for other in level_ids[first : first + count]}
            if name == "different":  # levels of other ranges differ anyway
                others = {other for other in others if lo[other] < hi[index] and lo[index] < hi[other]}
            masks.append(sum(1 << other for other in others))
    counts = levels["sources"]["count"].tolist()
    return {
        "QE_DEPTH": len(levels),
        "QE_FROM": ",".join(f"{each}ull" for each in origins),
        "QE_SOURCES": ",".join(map(str, counts)),
        **{f"QE_{name.upper()}": ",".join(map(str, masks)) for name, masks in relations.items()},
        "QE_WIDTH": max(1, *counts),
    }


def _laid_out(
    arrays: Sequence[npt.NDArray[Any]], n_indexes: int, offset: type[Any], short_ids: bool
) -> tuple[npt.NDArray[np.uint8], list[int]]:
    """Put row indexes, then ids, one after the other; return where each begins, in entries, and the byte of the ids."""
    id_type = np.uint16 if short_ids else np.uint32
    parts = []
    for some, dtype in ((arrays[:n_indexes], offset), (arrays[n_indexes:], id_type)):
        whole = np.concatenate(some).astype(dtype) if some else np.empty(0, dtype)
        bytes_of = whole.view(np.uint8)
        parts.append(np.pad(bytes_of, (0, -len(bytes_of) % _WORD)))
    starts = [0, *np.cumsum([len(each) for each in arrays]).tolist()]
    ids_begin = starts[n_indexes]
    places = [*starts[:n_indexes], *(each - ids_begin for each in starts[n_indexes:-1])]
    return np.concatenate(parts), [*places, len(parts[0])]


def _unsigned(short: bool) -> str:
    return "uint16_t" if short else "uint32_t"
