"""Candidate graphs built on the device (``kernels/cuda/sample/candidate_graph.cu``): the host's, entry by entry.

What is sampled stays on the device. The host gets a copy when it asks for one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine._cached import cached_property
from qengine._frozen import frozen, replace
from qengine.errors import OutOfMemory
from qengine.exec.candidates import LevelSignatures
from qengine.exec.common.match_plan import PCSR, PLAN, RANGE, LevelKind, SourceFlag
from qengine.exec.common.match_plan import SOURCE as PLAN_SOURCE
from qengine.exec.common.resolve import ResolvedSearch
from qengine.exec.gpu.candidate_job import FILTER_ROUNDS, JOB, LEVEL, ROOT_LANES, RUNNING, SOURCE, STATE, STEP
from qengine.exec.gpu.launch import DeviceRun
from qengine.exec.gpu.memory import Resident
from qengine.exec.gpu.sample_job import GUIDE
from qengine.exec.gpu.signatures import resident_signatures
from qengine.exec.gpu.upload import DevicePlan
from qengine.exec.view import ExecView

_THREADS = 1024
_SHARED_BYTES = 8 * ROOT_LANES
_MOST_SLOTS = 1 << 31
_MOST_STEPS = 1 << 15
_ALIGNMENT = 256
_WHAT = "the candidate graph"
_LEVELS, _SOURCES, _RANGES, _LIST_IDS, _LISTS = 0, 1, 2, 8, 9
"""Places in ``ResolvedSearch.tables``."""


@frozen
class _Layout:
    """What a plan says of its candidate graph: the tables of the kernels' job.

    ``levels``, ``sources``, ``steps``: ``candidate_job.LEVEL``, ``SOURCE``, ``STEP`` records. ``stamps_after``:
    int32[rounds + 1, levels]. ``vertex``: of each level whether it binds a vertex.
    """

    levels: npt.NDArray[Any]
    sources: npt.NDArray[Any]
    steps: npt.NDArray[Any]
    stamps_after: npt.NDArray[np.int32]
    vertex: npt.NDArray[np.bool_]
    n_vertices: int
    n_rows: int

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """How many ids each level's range has."""
        found: npt.NDArray[np.int64] = self.levels["hi"].astype(np.int64) - self.levels["lo"]
        return found


def _shape(resolved: ResolvedSearch) -> _Layout:
    plan_levels, plan_sources, ranges = (resolved.tables[k] for k in (_LEVELS, _SOURCES, _RANGES))
    levels = np.zeros(len(plan_levels), LEVEL)
    found: list[tuple[int, int, int, int, int]] = []
    at = row = 0
    for index, (level, plan) in enumerate(zip(levels, plan_levels, strict=True)):
        first, count = plan["ranges"].tolist()
        if count:
            level["lo"], level["hi"] = ranges["begin"][first], ranges["end"][first + count - 1]
        level["first"] = at
        at += int(level["hi"]) - int(level["lo"])
        first, count = plan["sources"].tolist()
        level["source"], level["n_sources"] = len(found), count
        for number in range(first, first + count):
            start = int(plan_sources["level"][number])
            found.append((row, start, index, number, 0))
            row += int(levels["hi"][start]) - int(levels["lo"][start])
    sources = np.array(found, SOURCE)
    steps, after = _steps(sources, len(levels))
    vertex = plan_levels["kind"] == LevelKind.VERTEX
    return _Layout(levels, sources, steps, after, vertex, at, row)


def _steps(sources: npt.NDArray[Any], n_levels: int) -> tuple[npt.NDArray[Any], npt.NDArray[np.int32]]:
    """Return along which source is filtered one after the other, and the stamps of candidates after each round."""
    forward = list(range(len(sources)))
    ends = sources[["from", "to"]].tolist()
    last = [1] * n_levels
    steps, after = [], []
    for order in (forward, *(forward[::-1] + forward for _ in range(FILTER_ROUNDS))):
        for source in order:
            start, end = ends[source]
            steps.append((source, last[start], last[end]))
            last[start] = last[end] = len(steps) + 1
        after.append(list(last))
    return np.array(steps, STEP), np.array(after, np.int32)


def build_on_device(
    store: ExecView, plan: DevicePlan, run: DeviceRun, most_entries: int, signatures: LevelSignatures | None = None
) -> DeviceCandidates | None:
    """Build the candidate graph of a plan without seeds; None where it would have more than ``most_entries``.

    Parameters
    ----------
    plan
        Must be lent as long as the graph is used.
    signatures
        What the candidates of its levels start from, if anything.
    """
    if "candidate graph" not in plan.made:
        plan.made["candidate graph"] = _shape(plan.resolved)
    held: list[Resident] = []
    try:
        table = 0 if signatures is None else resident_signatures(store, signatures.of, run, held)
        return _Build(plan, run, plan.made["candidate graph"], most_entries, signatures, table).graph()
    finally:
        for resident in held:
            run.memory.unpin(resident)


class _Build:
    """One run of the kernels."""

    def __init__(
        self,
        plan: DevicePlan,
        run: DeviceRun,
        shape: _Layout,
        most_entries: int,
        signatures: LevelSignatures | None,
        table: int,
    ) -> None:
        self.plan, self.run, self.shape = plan, run, shape
        self.kernels = [
            run.kernel("candidate_graph", name, {}, _SHARED_BYTES) for name in ("candidate_rows", "candidate_filter")
        ]
        blocks = (run.device.resident_blocks(kernel, _THREADS, _SHARED_BYTES) for kernel in self.kernels)
        self.blocks = max(1, min(blocks))
        n_levels, n_sources = len(shape.levels), len(shape.sources)
        self.results = np.dtype(
            [("state", STATE), ("begins", "<u8", n_sources + 1), ("n_roots", "<u8", n_levels)], align=True
        )
        self.job = np.zeros(1, JOB)
        wanted = np.empty(0, np.uint32) if signatures is None else signatures.wanted
        tables = (shape.levels, shape.sources, shape.steps, shape.stamps_after, wanted)
        sizes = [self.results.itemsize, *(each.nbytes for each in tables)]
        self.head, at = _block(run, sizes)
        self.device_job = run.allocate(JOB.itemsize, _WHAT)
        job = self.job
        job["plan"], job["stop"], job["state"] = plan.address, run.stop_flag, at[0]
        for name in ("begins", "n_roots"):
            job[name] = at[0] + self.results.fields[name][1]  # type: ignore[index]
        for name, place in zip(("levels", "sources", "steps", "stamps_after"), at[1:5], strict=True):
            job[name] = place
        if signatures is not None:
            job["signatures"]["table"], job["signatures"]["wanted"] = table, at[5]
            job["signatures"]["n_vertices"] = signatures.of.n_vertices
        job["n_vertices"], job["n_rows"], job["most_entries"] = shape.n_vertices, shape.n_rows, most_entries
        job["n_levels"], job["n_sources"] = n_levels, n_sources
        n = shape.n_vertices
        self.scratch, at_scratch = _block(run, [8 * self.blocks, 2 * n, 4 * (shape.n_rows + 1)])
        job["sums"], job["stamps"], job["starts"] = at_scratch
        image = np.zeros(sum(map(_aligned, sizes)), np.uint8)
        start = np.zeros(1, self.results)
        start["state"]["bound"] = 1
        for place, each in zip(at, (start, *tables), strict=True):
            image[place - at[0] : place - at[0] + each.nbytes] = each.reshape(-1).view(np.uint8)
        run.write(self.head, image)

    def graph(self) -> DeviceCandidates | None:
        """Run both kernels, and return what they have made."""
        run, shape, job = self.run, self.shape, self.job
        self.launch(0)
        slots = int(self.read()["state"]["slots"])
        if slots > _MOST_SLOTS or len(shape.steps) > _MOST_STEPS:
            raise OutOfMemory("The candidate graph has more entries than the device's kernels can number.")
        n, n_sources = shape.n_vertices, len(shape.sources)
        entries = [4 * slots, 4 * slots, 4 * (slots + 1)]
        scratch, at = _block(run, entries)
        job["from"], job["to"], job["places"] = at
        kept, at = _block(run, [4 * slots, 8 * (shape.n_rows + n_sources), 4 * n, 8 * n])
        arrays = dict(zip(("ids", "offsets", "roots", "ways"), at, strict=True))
        for name, place in arrays.items():
            job[name] = place
        job["slots"] = slots
        self.launch(1)
        found = self.read()
        del scratch
        if int(found["state"]["gathered"]) > int(job["most_entries"][0]):
            return None
        return DeviceCandidates(self.plan, run, shape, arrays, kept, found)

    def launch(self, number: int) -> None:
        run = self.run
        run.write(self.device_job, self.job)
        arguments = (np.uint64(self.device_job.ptr),)
        run.launch(self.kernels[number], self.blocks, _THREADS, arguments, _SHARED_BYTES, together=True)
        run.wait()

    def read(self) -> Any:
        found = np.zeros(1, self.results)
        self.run.read(self.head.ptr, found)
        return found[0]


class DeviceCandidates:
    """A candidate graph in the device's memory, with the interface of ``qengine.estimate.candidates.CandidateGraph``.

    Attributes
    ----------
    run
        The work on the device that it belongs to.
    on_device
        Its plan, to be sampled there.
    listed
        Whether it has lists of its own: always.
    entries
        Vertices in all of its lists.
    empty
        Whether it shows that there is no embedding.
    bound
        No more embeddings of the vertex levels than this.
    """

    def __init__(
        self, made_from: DevicePlan, run: DeviceRun, shape: _Layout, arrays: Mapping[str, int], block: Any, found: Any
    ) -> None:
        state = found["state"]
        self.run = run
        self.listed = True
        self.entries = int(state["entries"])
        self.bound = float(state["bound"])
        counts = state["counts"][int(state["rounds"]), : len(shape.levels)]
        self.empty = bool((counts[shape.vertex] == 0).any())
        self._made_from, self._shape, self._arrays, self._block = made_from, shape, arrays, block
        self._begins = found["begins"].astype(np.int64)
        self._n_roots = found["n_roots"].astype(np.int64)
        self._outline = self._assembled(self._made_from.levels, self._made_from.lists, arrays)
        self.on_device = self._uploaded()

    @property
    def plan(self) -> int:
        """Address of its plan in the host's memory."""
        return int(self.resolved().plan.ctypes.data)

    @property
    def guide(self) -> int:
        """Address of the guide of its samples in the host's memory."""
        return int(self._host_guide[0].ctypes.data)

    def outline(self, guided: bool) -> tuple[int, int | None]:
        """Return addresses of a plan and a guide that say what levels cost; what they point to isn't there."""
        guide = self._device_guide[1] if guided else None
        return int(self._outline.plan.ctypes.data), None if guide is None else int(guide.ctypes.data)

    def resolved(self) -> ResolvedSearch:
        """Return its plan as a resolved search, whose arrays are copied to the host once."""
        return self._host_plan

    def guide_blocks(self) -> tuple[Any, ...]:
        """Return a block of ``sample_job.GUIDE`` records on the device, and the blocks that they point to."""
        return self._device_guide[0]

    @cached_property
    def _host_plan(self) -> ResolvedSearch:
        shape = self._shape
        arrays = {
            "ids": self._read("ids", np.uint32, self.entries),
            "offsets": self._read("offsets", np.uint64, shape.n_rows + len(shape.sources)),
            "roots": np.zeros(shape.n_vertices, np.uint32),
        }
        roots = _cut(arrays["roots"], zip(shape.levels["first"].tolist(), self._n_roots.tolist(), strict=True))
        for first, each in zip(shape.levels["first"].tolist(), roots, strict=True):
            self.run.read(self._arrays["roots"] + 4 * first, each)
        made_from = self._made_from.resolved
        plan = self._assembled(
            made_from.tables[_LEVELS], made_from.tables[_LISTS], {k: each.ctypes.data for k, each in arrays.items()}
        )
        record = made_from.plan.copy()
        _point(record, plan.tables)
        cut = (*_cut(arrays["offsets"], self._row_indexes()), *_cut(arrays["ids"], self._lists()))
        keep = (*arrays.values(), *made_from.keep, *(each for each in (*cut, *roots) if len(each)))
        return replace(plan, plan=record, keep=keep)

    def _row_indexes(self) -> list[tuple[int, int]]:
        """Return where each source's row index begins among all, and its length."""
        rows = self._shape.sources["row"].astype(np.int64)
        lengths = self._shape.sizes[self._shape.sources["from"]] + 1
        return list(zip((rows + np.arange(len(rows))).tolist(), lengths.tolist(), strict=True))

    def _lists(self) -> list[tuple[int, int]]:
        """Return where each source's entries begin among all, and how many they are."""
        return list(zip(self._begins[:-1].tolist(), np.diff(self._begins).tolist(), strict=True))

    def _assembled(
        self, plan_levels: npt.NDArray[Any], plan_lists: npt.NDArray[Any], arrays: Mapping[str, int]
    ) -> ResolvedSearch:
        """Return the plan over arrays at these addresses; its record is the host's."""
        shape, made_from = self._shape, self._made_from.resolved
        levels, lists = plan_levels.copy(), np.zeros(len(shape.sources), PCSR)
        ranges = np.zeros(len(levels), RANGE)
        ranges["begin"], ranges["end"] = shape.levels["lo"], shape.levels["hi"]
        vertex = shape.vertex
        levels["ranges"]["first"] = np.arange(len(levels))
        levels["ranges"]["count"] = vertex & (shape.sizes > 0)
        levels["sources"]["first"] = shape.levels["source"]
        root = vertex & (shape.levels["n_sources"] == 0)
        levels["bitset"][vertex], levels["candidates"][vertex], levels["n_candidates"][vertex] = 0, 0, 0
        levels["candidates"][root] = arrays["roots"] + 4 * shape.levels["first"][root]
        levels["n_candidates"][root] = self._n_roots[root]
        sources = np.zeros(len(shape.sources), PLAN_SOURCE)
        sources["level"] = shape.sources["from"]
        flags = made_from.tables[_SOURCES]["flags"][shape.sources["source"]]
        sources["flags"] = (flags & int(SourceFlag.LOOPS)) | int(SourceFlag.WITHIN)
        sources["lists"]["first"], sources["lists"]["count"] = np.arange(len(sources)), 1
        lists["lo"] = shape.levels["lo"][shape.sources["from"]]
        lists["hi"] = shape.levels["hi"][shape.sources["from"]]
        for record, (row, _), (begin, n) in zip(lists, self._row_indexes(), self._lists(), strict=True):
            record["offsets"] = arrays["offsets"] + 8 * row
            record["neighbours"], record["n_entries"] = arrays["ids"] + 4 * begin, n
        tables = list(made_from.tables)
        tables[_LEVELS], tables[_SOURCES], tables[_RANGES] = levels, sources, ranges
        tables[_LIST_IDS] = len(plan_lists) + np.arange(len(sources), dtype=np.int32)
        tables[_LISTS] = np.concatenate((plan_lists, lists))
        header = made_from.plan.copy()
        _point(header, tuple(tables))
        return replace(made_from, plan=header, tables=tuple(tables), keep=(), reusable=False)

    def _uploaded(self) -> DevicePlan:
        """Copy the plan's tables to the device; the other tables are those of the plan that it was made from."""
        tables = {name: self._outline.tables[k] for name, k in _OWN_TABLES.items()}
        sizes = [PLAN.itemsize, *(each.nbytes for each in tables.values())]
        block, at = _block(self.run, sizes)
        record = self._made_from.record.copy()
        record["n_lists"] = len(tables["lists"])
        for name, place in zip(tables, at[1:], strict=True):
            record[name] = place
        image = np.zeros(sum(map(_aligned, sizes)), np.uint8)
        for place, each in zip(at, (record, *tables.values()), strict=True):
            image[place - at[0] : place - at[0] + each.nbytes] = each.view(np.uint8)
        self.run.write(block, image)
        self._plan_block = block
        return DevicePlan(at[0], self._outline, tables["lists"], tables["levels"], record, ())

    @cached_property
    def _branches(self) -> list[int]:
        """The levels with others below them in the trees that count ways."""
        entries = np.diff(self._begins)
        starts = self._shape.sources["from"].tolist()
        found = set()
        for level in self._shape.levels:
            first, n = int(level["source"]), int(level["n_sources"])
            if n:
                found.add(starts[first + int(np.argmin(entries[first : first + n]))])
        return sorted(found)

    def _guided_lists(self) -> list[tuple[int, int, int, int]]:
        """Return of the levels whose sums of ways are known beforehand: the level, its only source or -1, and where its
        entries begin and how many they are, among all entries or the roots.
        """
        found = []
        for level in self._branches:
            record = self._shape.levels[level]
            if record["n_sources"] == 0:
                found.append((level, -1, int(record["first"]), int(self._n_roots[level])))
            elif record["n_sources"] == 1:
                source = int(record["source"])
                found.append((level, source, *self._lists()[source]))
        return [each for each in found if each[-1]]

    @cached_property
    def _device_guide(self) -> tuple[tuple[Any, ...], npt.NDArray[Any]]:
        """The blocks of the guide, and its records, which point to the device."""
        run, shape, arrays = self.run, self._shape, self._arrays
        temper, running = (run.kernel("candidate_graph", name, {}) for name in ("guide_temper", "guide_running"))
        run.launch(temper, -(-shape.n_vertices // 256), 256, (np.uint64(arrays["ways"]), np.uint64(shape.n_vertices)))
        table = np.zeros(len(shape.levels), GUIDE)
        first = shape.levels["first"].astype(np.int64)
        for level in self._branches:
            table[level]["ways"], table[level]["lo"] = arrays["ways"] + 8 * first[level], shape.levels["lo"][level]
        wanted = self._guided_lists()
        block, at = _block(run, [8 * n for *_, n in wanted] or [8])
        rows = self._row_indexes()
        for (level, source, begin, n), place in zip(wanted, at, strict=False):
            table[level]["running"] = place
            job = np.zeros(1, RUNNING)
            if source < 0:
                job["ids"], job["n"] = arrays["roots"] + 4 * begin, n
            else:
                job["offsets"], job["n"] = arrays["offsets"] + 8 * rows[source][0], rows[source][1] - 1
                job["ids"] = arrays["ids"] + 4 * begin
            job["ways"], job["running"], job["lo"] = table[level]["ways"], place, table[level]["lo"]
            run.launch(running, -(-int(job["n"][0]) // 256) if source >= 0 else 1, 256, (job, np.uint64(run.stop_flag)))
        records = run.upload(table, "the guide of samples")
        return (records, block, self._block), table

    @cached_property
    def _host_guide(self) -> tuple[npt.NDArray[Any], tuple[Any, ...]]:
        """The records of the guide, which point to copies on the host, and those."""
        table = self._device_guide[1].copy()
        ways = self._read("ways", np.float64, self._shape.n_vertices)
        keep: list[Any] = [ways]
        on_device = self._arrays["ways"]
        for level in self._branches:
            table[level]["ways"] = int(table[level]["ways"]) - on_device + ways.ctypes.data
        for level, _, _, n in self._guided_lists():
            running = np.empty(n, np.float64)
            self.run.read(int(table[level]["running"]), running)
            table[level]["running"] = running.ctypes.data
            keep.append(running)
        return table, tuple(keep)

    def _read(self, name: str, dtype: Any, n: int) -> npt.NDArray[Any]:
        found = np.empty(n, dtype)
        self.run.read(self._arrays[name], found)
        return found


_OWN_TABLES = {"levels": _LEVELS, "sources": _SOURCES, "ranges": _RANGES, "list_ids": _LIST_IDS, "lists": _LISTS}


def _point(record: npt.NDArray[Any], tables: Sequence[npt.NDArray[Any]]) -> None:
    """Let a plan point to these tables, which are the caller's to keep."""
    for name, k in _OWN_TABLES.items():
        record[name] = tables[k].ctypes.data
    record["n_lists"] = len(tables[_LISTS])


def _cut(array: npt.NDArray[Any], parts: Any) -> list[npt.NDArray[Any]]:
    return [array[begin : begin + n] for begin, n in parts]


def _aligned(n_bytes: int) -> int:
    return -(-n_bytes // _ALIGNMENT) * _ALIGNMENT


def _block(run: DeviceRun, sizes: Sequence[int]) -> tuple[Any, list[int]]:
    """Return one block for arrays of so many bytes, and where each begins."""
    ends = np.cumsum([0, *map(_aligned, sizes)]).tolist()
    block = run.allocate(ends[-1], _WHAT)
    return block, [block.ptr + each for each in ends[:-1]]
