"""Runs an ``Eliminate``: its steps one after the other, each a native function over arrays, then its signed terms.

Numbers are of 64 bits; where one overflows, all is computed again with 128. Totals are Python's integers.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from math import prod

import numpy as np
import numpy.typing as npt

from qengine._control import Status
from qengine.exec.common.relations import Relations, SparseMatrix, numbers
from qengine.exec.common.runtime import Runtime
from qengine.exec.context import ExecutionContext
from qengine.exec.elimination_schedule import Among
from qengine.exec.host.cached_vectors import not_negative, product_sums
from qengine.exec.host.closed_walk_counts import ClosedWalkCounts, closed_walk_counts
from qengine.exec.host.elimination_facts import facts_of
from qengine.exec.host.elimination_steps import (
    Array,
    Factors,
    Found,
    NumberOverflow,
    Steps,
    indicator_vector,
    told_apart,
)
from qengine.exec.host.neighbourhoods import run_among
from qengine.exec.memory import Holding
from qengine.exec.view import ExecView, MaskProvider
from qengine.plan.elimination import Pairs
from qengine.plan.physical import Eliminate

__all__ = ["Counts", "NumberOverflow", "cached_count", "indicator_vector", "of_vertices", "only_count", "run_eliminate"]

_MAX_COUNT = 2**63 - 1

_PAIR_TERM = np.dtype([("plan", "<u8"), ("factor_low", "<u8"), ("factor_high", "<i8")])
_PAIR_CHUNK = np.dtype(
    [(name, "<u8") for name in ("first", "next", "most", "capacity", "ends", "counts", "begins", "lengths")]
)

_PAIRS = 1 << 18
"""Pairs that a worker makes before they are handed on."""

Ids = npt.NDArray[np.int64]
Counts = tuple[tuple[Ids, ...], Ids]
"""For each of the nodes by which is counted their ids, and the counts: without nodes one, or none where it is 0."""


def run_eliminate(operator: Eliminate, runtime: Runtime, masks: MaskProvider) -> Iterator[Counts]:
    """Yield the counts of a pattern: its only one (none where it is 0), or those by vertices.

    Each is a tuple of vertex ids for each node of ``operator.emit``, and the counts. No vertex, or pair of them, comes
    twice.

    Raises
    ------
    QueryTimeout, QueryInterrupted, OutOfMemory
        By the context's limits, from inside the steps.
    ResourceError
        If a count of pairs exceeds 64 bits, or a number on the way to any 128.
    """
    if (count := cached_count(operator, runtime.store, runtime.context)) is not None:
        yield only_count(count)
        return
    first = 0  # row of pairs that isn't done yet
    for wide in (False, True):
        try:
            for counts, after in _Run(operator, runtime, masks, wide).counts(first):
                yield counts
                first = after
            return
        except NumberOverflow:
            if wide:
                runtime.context.raise_for(Status.OVERFLOW)
                raise


def cached_count(operator: Eliminate, store: ExecView, context: ExecutionContext) -> int | None:
    """Return a count that is sums over vectors which the graph keeps now; None where it takes more than that.

    Then nothing is held; None, too, where the query's memory is limited, so that limits are as strict as ever.

    Raises
    ------
    QueryTimeout, QueryInterrupted, ResourceError
        As ``run_eliminate``.
    """
    if context.memory_limit is not None or "cpu" not in operator.devices:
        return None
    sums = facts_of(store, operator).sums
    return None if sums is None else sums.total(store, context)


def only_count(count: int) -> Counts:
    """Return the only count of a pattern, as Python's integer where it exceeds 64 bits."""
    return (), np.array([not_negative(count)] if count else [], np.int64 if count <= _MAX_COUNT else object)


def of_vertices(counts: Array) -> Counts:
    """Return the counts by vertices, given one for each: int64, or Python's integers where 64 bits may not do."""
    if counts.dtype == object and max(counts, default=0) <= _MAX_COUNT:
        counts = counts.astype(np.int64)
    vertices = np.flatnonzero(counts != 0)  # of truth values: several times as fast as of integers
    return (vertices,), counts[vertices]


class _Run:
    """One execution of the program. ``totals``: sums of what is over pairs."""

    def __init__(self, operator: Eliminate, runtime: Runtime, masks: MaskProvider, wide: bool) -> None:
        self.operator = operator
        self.facts = facts_of(runtime.store, operator)
        self.context: ExecutionContext = runtime.context
        self.wide = wide
        self.n: int = runtime.store.vertex_count
        self.found: dict[int, Found] = {}
        self.relations = Relations(runtime.store, masks, self.context, self._charge)
        self.steps = Steps(operator.steps, self.facts, self.found, self.relations, self._charge, wide)
        self.holding: Holding = runtime.memory.holding("Eliminate")
        self.making = 0
        self.totals: dict[int, int] = {}

    def counts(self, first: int) -> Iterator[tuple[Counts, int]]:
        """Yield counts, and how many rows of pairs are complete with them; of pairs those from row ``first`` on."""
        try:
            for each, unused in zip(self.facts.order, self.facts.unused, strict=True):
                self._run(each)
                for place in unused:
                    self.found.pop(place, None)
                self._charge(0)
                self.context.check()
            if len(self.operator.emit) == 2:
                yield from self._by_pair(first)
            else:
                yield self._by_vertex() if self.operator.emit else self._total(), 0
        finally:
            self._hold(0)

    def _run(self, each: int | Among) -> None:
        if isinstance(each, Among):
            by_root, totals = run_among(self.steps, each)
            self.found |= by_root
            self.totals |= totals
        elif each in self.facts.matrices:
            self.found[each] = self.facts.matrices[each]
        elif not isinstance(self.operator.steps[each], Pairs):  # these are made when all else is
            self.found[each] = self.steps.run(each)

    def _charge(self, more: int) -> None:
        """Hold what has been found and is still wanted, and ``more`` bytes for what is being made.

        Raises
        ------
        OutOfMemory
            Where the limit doesn't allow it.
        """
        self.making = self.making + more if more else 0
        live: dict[int, int] = {}
        for found in self.found.values():
            if isinstance(found, np.ndarray):
                live[id(found)] = found.nbytes
            elif isinstance(found, SparseMatrix | Factors | ClosedWalkCounts):
                live |= {id(array): array.nbytes for array in found.arrays}
        self._hold(sum(live.values()) + self.making)

    def _hold(self, count: int) -> None:
        """Hold ``count`` bytes in all."""
        self.holding.set(count)

    # ------------------------------------------------------------ terms

    def _total(self) -> Counts:
        sums = self._sums()
        total = sum(term.factor * prod(sums[place] for place in term.totals) for term in self.operator.terms)
        return only_count(total)

    def _by_vertex(self) -> Counts:
        """Add up the terms' vectors: exactly, in Python's integers where 64 bits may not do."""
        sums = self._sums()
        scaled = []
        for term in self.operator.terms:
            factor = term.factor * prod(sums[place] for place in term.totals)
            assert term.output is not None
            if factor:
                scaled.append((factor, self.steps.vector(term.output)))
        counts: Array = np.zeros(self.n, np.int64)
        bound = sum(abs(factor) * self._greatest(vector) for factor, vector in scaled)
        if bound > _MAX_COUNT:
            counts = counts.astype(object)
        for factor, vector in scaled:
            counts += factor * (self._integers(vector) if bound > _MAX_COUNT else vector.astype(np.int64))
        return of_vertices(counts)

    def _by_pair(self, first: int) -> Iterator[tuple[Counts, int]]:
        sums = self._sums()
        plans = []
        records = []
        for term in self.operator.terms:
            factor = term.factor * prod(sums[place] for place in term.totals)
            assert term.output is not None
            step = self.operator.steps[term.output]
            assert isinstance(step, Pairs)
            if abs(factor) >> 127:
                raise NumberOverflow
            plans.append(self.steps.plan(step.nodes, [len(step.nodes) - 1] if step.nodes else [], step.vector))
            records.append((plans[-1].address, factor % 2**64, factor >> 64))
        terms = np.array(records, _PAIR_TERM)
        capacity = max(self.n, _PAIRS)
        rows = min(self.n, _PAIRS)
        threads = self.context.threads
        self._charge(threads * capacity * 12 + rows * 16)
        ends, counts = np.empty(threads * capacity, np.uint32), np.empty(threads * capacity, np.int64)
        begins, lengths = np.empty(rows, np.uint64), np.empty(rows, np.uint64)
        pointers = (each.ctypes.data for each in (ends, counts, begins, lengths))
        chunk = np.array([(first, first, rows, capacity, *pointers)], _PAIR_CHUNK)
        while first < self.n:
            chunk["first"] = first
            self.steps.call(
                "qe_eliminate_pairs", terms.ctypes.data, len(terms), self.n, int(self.wide), chunk.ctypes.data
            )
            after = int(chunk["next"][0])
            found = lengths[: after - first].astype(np.int64)
            shift = begins[: after - first].astype(np.int64) - (np.cumsum(found) - found)
            places = np.arange(found.sum()) + np.repeat(shift, found)
            starts = np.repeat(np.arange(first, after), found)
            first = after
            yield ((starts, ends[places].astype(np.int64)), counts[places]), first

    def _sums(self) -> dict[int, int]:
        walks = {
            place: each for place in self.facts.totals if isinstance(each := self.found.get(place), ClosedWalkCounts)
        }
        known = closed_walk_counts(walks, self.steps.ranked, self.context)
        known |= self.totals
        places = [place for place in self.facts.totals if place not in known]
        if not places:
            return known
        factors: list[Array] = []
        first = [0]
        for place in places:
            found = self.found[place]
            factors += found.arrays if isinstance(found, Factors) else _given(found)
            first.append(len(factors))
        records = [number for each in factors for number in numbers(each)[:2]]
        starts = (ctypes.c_int32 * len(first))(*first)
        return known | dict(zip(places, told_apart(product_sums, records, starts, self.n, self.context), strict=True))

    def _greatest(self, vector: Array) -> int:
        if not self.n:
            return 0
        return int(vector.max()) if not self.wide else (int(vector[:, 1].max()) + 1) << 64

    def _integers(self, vector: Array) -> Array:
        high: Array = vector[:, 1].astype(object) << 64 if self.wide else np.zeros(1, object)
        low: Array = (vector[:, 0] if self.wide else vector).astype(object)
        return low + high


def _given(found: Found) -> tuple[Array, ...]:
    assert found is None or isinstance(found, np.ndarray)
    return () if found is None else (found,)
