"""Candidate graphs packed for kernels that know the plan's shape (``kernels/cuda/sample/sample_packed.cuh``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine._frozen import frozen
from qengine.exec.common.match_plan import LevelKind, records
from qengine.exec.common.resolve import ResolvedSearch
from qengine.exec.context import ExecutionContext
from qengine.exec.gpu.launch import DeviceRun
from qengine.exec.gpu.properties import DeviceProperties
from qengine.exec.gpu.sample import TOTALS_BYTES, SampledSpace
from qengine.exec.gpu.sample_job import PACKED_GRAPH, PACKED_LEVELS, PACKED_SOURCES

_WORD = 16
_SHORT = 1 << 16
_THREADS_EACH = 1024
"""Of a multiprocessor."""

_UNSHARED_THREADS = 256
_MOST_WIDTH = 16
_PART = 1 << 22
"""Entries that are packed between two looks at the limits: some 10 ms."""

_DEMANDS = ("pairs", "conditions")


_Placed = tuple[npt.NDArray[Any], int, type[Any]]
"""An array, what its numbers are less in the image, and their type there."""


@frozen
class PackedPlan:
    """A candidate graph in the host's memory. ``graph``: one ``PACKED_GRAPH`` record, but for ``words``."""

    graph: npt.NDArray[Any]
    image: npt.NDArray[np.uint8]
    shape: Mapping[str, int | str]

    def variant(self, device: DeviceProperties) -> tuple[Mapping[str, int | str], int, int]:
        """Return the macros of its kernels, threads of a block, and bytes of shared memory."""
        whole = TOTALS_BYTES + len(self.image)
        shared = whole <= device.dynamic_bytes
        blocks = max(1, min(4, device.shared_bytes_each // (whole + device.reserved_bytes)))
        threads = _THREADS_EACH // (1 << (blocks.bit_length() - 1)) if shared else _UNSHARED_THREADS
        macros = {**self.shape, "QE_COPIED": int(shared), "QE_THREADS": threads}
        return macros, threads, whole if shared else TOTALS_BYTES

    def space(self, run: DeviceRun) -> SampledSpace:
        """Copy it to the device."""
        macros, threads, shared_bytes = self.variant(run.device)
        block = run.upload(self.image, "the candidate graph")
        graph = self.graph.copy()
        graph["words"] = block.ptr
        return SampledSpace("sample_packed", macros, (graph,), threads, shared_bytes, (block,))


def packed_plan(candidates: ResolvedSearch, context: ExecutionContext) -> PackedPlan | None:
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
    parts = [records(int(each["neighbours"]), np.uint32, int(each["n_entries"])) for each in own]
    roots = [records(int(level["candidates"]), np.uint32, int(level["n_candidates"])) for level in levels]
    short_ids = int((hi - lo).max()) <= _SHORT
    short_offsets = all(len(part) < _SHORT for part in parts)
    offset, ids = np.uint16 if short_offsets else np.uint32, np.uint16 if short_ids else np.uint32
    image, starts = _laid_out(
        [(each, 0, offset) for each in indexes],
        [(each, int(first), ids) for each, first in zip((*parts, *roots), (*targets, *lo), strict=True)],
        context,
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
    indexes: Sequence[_Placed], ids: Sequence[_Placed], context: ExecutionContext
) -> tuple[npt.NDArray[np.uint8], list[int]]:
    """Put row indexes, then ids, one after the other; return where each begins, in entries, and the byte of the ids."""
    sizes = [sum(len(array) * np.dtype(kind).itemsize for array, _, kind in some) for some in (indexes, ids)]
    ids_begin, size = np.cumsum([-(-each // _WORD) * _WORD for each in sizes]).tolist()
    image = np.zeros(size, np.uint8)
    starts: list[int] = []
    for some, begin in ((indexes, 0), (ids, ids_begin)):
        at = 0
        for array, least, kind in some:
            starts.append(at)
            to = image[begin:][at * np.dtype(kind).itemsize :][: len(array) * np.dtype(kind).itemsize]
            _pack(array, least, to.view(kind), context)
            at += len(array)
    return image, [*starts, ids_begin]


def _pack(array: npt.NDArray[Any], least: int, to: npt.NDArray[Any], context: ExecutionContext) -> None:
    """Write an array's numbers less ``least``."""
    for begin in range(0, len(array), _PART):
        context.check()
        part = array[begin : begin + _PART]
        to[begin : begin + _PART] = part - part.dtype.type(least)


def _unsigned(short: bool) -> str:
    return "uint16_t" if short else "uint32_t"
