"""Candidate graphs (gSWORD §3.1): plans whose lists hold nothing but what an embedding may be made of."""

from __future__ import annotations

import ctypes
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from qengine import _native
from qengine._frozen import replace
from qengine.exec.candidates import LevelSignatures
from qengine.exec.common.match_plan import LEVEL, PCSR, PLAN, RANGE, SOURCE, records
from qengine.exec.common.resolve import ResolvedSearch
from qengine.exec.context import ExecutionContext
from qengine.exec.gpu.sample_job import GUIDE

_LEVELS, _SOURCES, _RANGES, _LIST_IDS, _LISTS = 0, 1, 2, 8, 9
"""Places in ``ResolvedSearch.tables``."""


class Candidates(Protocol):
    """A candidate graph, wherever it was built.

    Attributes
    ----------
    listed
        Whether it has lists of its own. A sketch has not: its plan reads those that it was made from.
    entries
        Vertices in all of its lists; of a sketch, what was read to make it.
    empty
        Whether it shows that there is no embedding.
    bound
        No more embeddings of the vertex levels than this.
    """

    listed: bool
    entries: int
    empty: bool
    bound: float

    @property
    def plan(self) -> int:
        """Address of its ``MatchPlan``, which has the embeddings of the plan that it was made from."""

    @property
    def guide(self) -> int:
        """Address of the guide of its samples (``kernels/host/sample/sample_guide.h``), which lives as long as the
        graph.
        """

    def outline(self, guided: bool) -> tuple[int, int | None]:
        """Return addresses of a plan and a guide that say what levels cost; what they point to may be elsewhere."""

    def resolved(self) -> ResolvedSearch:
        """Return its plan as a resolved search."""


class CandidateGraph:
    """A candidate graph in native memory (``kernels/host/sample/sample_candidates.h``); see ``Candidates``."""

    def __init__(
        self, handle: ctypes.c_void_p, made_from: ResolvedSearch, context: ExecutionContext, listed: bool
    ) -> None:
        self._handle = handle
        self.listed = listed
        self._keep = (made_from, context)
        entries, empty, bound = ctypes.c_int64(), ctypes.c_int32(), ctypes.c_double()
        found = _library().qe_candidates_plan(handle, ctypes.byref(entries), ctypes.byref(empty), ctypes.byref(bound))
        self._plan = int(found)
        self.entries = entries.value
        self.empty = bool(empty.value)
        self.bound = bound.value
        self._guide: int | None = None

    @property
    def plan(self) -> int:
        """Address of its ``MatchPlan``."""
        return self._plan

    @property
    def guide(self) -> int:
        """Address of the guide of its samples, which lives as long as the graph."""
        if self._guide is None:
            found = ctypes.c_void_p()
            self._keep[1].raise_for(_library().qe_candidates_guide(self._handle, ctypes.byref(found)))
            self._guide = int(found.value or 0)
        return self._guide

    def guide_levels(self) -> list[tuple[int, npt.NDArray[np.float64], npt.NDArray[np.float64]]]:
        """Return what the guide says of each level: its first vertex, the ways, and their sums; empty where nothing.

        Raises
        ------
        OutOfMemory
            As ``guide``.
        """
        resolved = self.resolved()
        levels, sources, ranges, lists = (resolved.tables[k] for k in (_LEVELS, _SOURCES, _RANGES, _LISTS))
        found = []
        for level, each in zip(levels, records(self.guide, GUIDE, len(levels)), strict=True):
            begin, end = ranges[level["ranges"]["first"]].tolist() if level["ranges"]["count"] else (0, 0)
            own = int(level["n_candidates"])
            if level["sources"]["count"] and self.listed:
                only = sources[level["sources"]["first"]]["lists"]["first"]
                own = int(lists[resolved.tables[_LIST_IDS][only]]["n_entries"])
            ways, running = (int(each[name]) for name in ("ways", "running"))
            found.append((int(each["lo"]), records(ways, np.float64, end - begin), records(running, np.float64, own)))
        return found

    def outline(self, guided: bool) -> tuple[int, int | None]:
        """Return the addresses of its plan, and of its guide if that is wanted."""
        return self.plan, self.guide if guided else None

    def resolved(self) -> ResolvedSearch:
        """Return its plan as a resolved search, whose arrays lie in native memory and live as long as this."""
        made_from = self._keep[0]
        plan = records(self.plan, PLAN, 1)
        levels = records(int(plan["levels"][0]), LEVEL, int(plan["n_levels"][0]))
        roots = [records(int(each["candidates"]), np.uint32, int(each["n_candidates"])) for each in levels]
        if not self.listed:
            keep = (self, *made_from.keep, *(each for each in roots if len(each)))
            return replace(made_from, plan=plan, tables=(levels, *made_from.tables[1:]), keep=keep, reusable=False)
        n_sources, n_ranges = (_end(levels[name]) for name in ("sources", "ranges"))
        lists = records(int(plan["lists"][0]), PCSR, int(plan["n_lists"][0]))
        tables = list(made_from.tables)  # in the order of the plan's fields
        tables[_LEVELS] = levels
        tables[_SOURCES] = records(int(plan["sources"][0]), SOURCE, n_sources)
        tables[_RANGES] = records(int(plan["ranges"][0]), RANGE, n_ranges)
        tables[_LIST_IDS] = records(int(plan["list_ids"][0]), np.int32, n_sources)
        tables[_LISTS] = lists
        gathered = lists[len(made_from.tables[_LISTS]) :]
        own = [records(int(each["offsets"]), np.uint64, int(each["hi"] - each["lo"]) + 1) for each in gathered]
        own += [records(int(each["neighbours"]), np.uint32, int(each["n_entries"])) for each in gathered]
        keep = (self, *made_from.keep, *(each for each in own + roots if len(each)))
        return replace(made_from, plan=plan, tables=tuple(tables), keep=keep, reusable=False)

    def __del__(self) -> None:
        _library().qe_candidates_close(self._handle)


_Signatures = _native.struct("qe::LevelSignatures", "p table wanted; u4 n_vertices unused")


def build(
    plan: ResolvedSearch, context: ExecutionContext, most_entries: int, signatures: LevelSignatures | None = None
) -> CandidateGraph | None:
    """Build the candidate graph of a plan without seeds; None where it would have more than ``most_entries``.

    ``signatures``: what the candidates of its levels start from, if anything.
    """
    given = _Signatures()
    if signatures is not None:
        table = signatures.of.table
        given = _Signatures(table.ctypes.data, signatures.wanted.ctypes.data, table.shape[1])
    handle = ctypes.c_void_p()
    address, control = plan.plan.ctypes.data, ctypes.byref(context.control)
    context.raise_for(
        _library().qe_candidates_build(address, ctypes.byref(given), control, most_entries, ctypes.byref(handle))
    )
    return CandidateGraph(handle, plan, context, listed=True) if handle.value else None


def sketch(plan: ResolvedSearch, context: ExecutionContext, most_entries: int) -> CandidateGraph | None:
    """Sketch the candidate graph of a plan without seeds; None where that would read more than ``most_entries``."""
    handle = ctypes.c_void_p()
    address, control = plan.plan.ctypes.data, ctypes.byref(context.control)
    context.raise_for(_library().qe_candidates_sketch(address, control, most_entries, ctypes.byref(handle)))
    return CandidateGraph(handle, plan, context, listed=False) if handle.value else None


def _end(spans: npt.NDArray[Any]) -> int:
    return int((spans["first"] + spans["count"]).max(initial=0))


_library = _native.declared(
    "qe_candidates_build p p p i8 p; qe_candidates_sketch p p i8 p; qe_candidates_plan p p p p -> p; "
    "qe_candidates_guide p p; qe_candidates_close p -> none"
)
