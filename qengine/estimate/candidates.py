"""Candidate graphs (gSWORD §3.1): plans whose lists hold nothing but what an embedding may be made of."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from qengine import _native
from qengine.exec.context import ExecutionContext
from qengine.exec.cpu.resolve import ResolvedSearch

__all__ = ["CandidateGraph", "build"]


class CandidateGraph:
    """A candidate graph in native memory (``kernels/host/sample_candidates.h``).

    Attributes
    ----------
    plan
        Address of its ``MatchPlan``, which has the embeddings of the plan that it was made from.
    entries
        Vertices in all of its lists.
    empty
        Whether it shows that there is no embedding.
    bound
        No more embeddings of the vertex levels than this.
    """

    def __init__(self, handle: ctypes.c_void_p, made_from: ResolvedSearch, context: ExecutionContext) -> None:
        self._handle = handle
        self._keep = (made_from, context)
        entries, empty, bound = ctypes.c_int64(), ctypes.c_int32(), ctypes.c_double()
        found = _library().qe_candidates_plan(handle, ctypes.byref(entries), ctypes.byref(empty), ctypes.byref(bound))
        self.plan = int(found)
        self.entries = entries.value
        self.empty = bool(empty.value)
        self.bound = bound.value
        self._guide: int | None = None

    @property
    def guide(self) -> int:
        """Address of the guide of its samples (``kernels/host/sample_guide.h``), which lives as long as the graph.

        Raises
        ------
        OutOfMemory
            By the context's limits.
        """
        if self._guide is None:
            found = ctypes.c_void_p()
            self._keep[1].raise_for(_library().qe_candidates_guide(self._handle, ctypes.byref(found)))
            self._guide = int(found.value or 0)
        return self._guide

    def __del__(self) -> None:
        _library().qe_candidates_close(self._handle)


def build(plan: ResolvedSearch, context: ExecutionContext, most_entries: int) -> CandidateGraph | None:
    """Build the candidate graph of a plan without seeds; None where it would have more than ``most_entries``.

    Raises
    ------
    QueryTimeout, QueryInterrupted, OutOfMemory
        By the context's limits.
    """
    handle = ctypes.c_void_p()
    control = ctypes.byref(context.control)
    context.raise_for(
        _library().qe_candidates_build(plan.plan.ctypes.data, control, most_entries, ctypes.byref(handle))
    )
    return CandidateGraph(handle, plan, context) if handle.value else None


@cache
def _library() -> ctypes.CDLL:
    library: Any = _native.load()
    pointer = ctypes.c_void_p
    library.qe_candidates_build.argtypes = (pointer, pointer, ctypes.c_int64, pointer)
    library.qe_candidates_plan.argtypes = (pointer,) * 4
    library.qe_candidates_plan.restype = pointer
    library.qe_candidates_guide.argtypes = (pointer,) * 2
    library.qe_candidates_close.argtypes = (pointer,)
    library.qe_candidates_close.restype = None
    return library  # type: ignore[no-any-return]
