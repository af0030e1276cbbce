"""Runs an ``Eliminate``: its steps one after the other, each a native function over arrays, then its signed terms.

Numbers are of 64 bits; where one overflows, all is computed again with 128. Totals are Python's integers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import prod
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from qengine import _native
from qengine._control import Status
from qengine.exec.common.dealing import deal, part_size
from qengine.exec.common.relations import Relations, SparseMatrix
from qengine.exec.common.runtime import Runtime
from qengine.exec.context import ExecutionContext
from qengine.exec.host.cached_vectors import not_negative
from qengine.exec.host.elimination_facts import facts_of
from qengine.exec.host.elimination_steps import (
    Array,
    Found,
    NumberOverflow,
    Plan,
    Steps,
    Unfit,
    indicator_vector,
)
from qengine.exec.host.kernels import run_call, run_total
from qengine.exec.host.neighbourhoods import run_among
from qengine.exec.host.search import SearchChunk, run_search
from qengine.exec.host.term_sums import summed_terms
from qengine.exec.host.vertex_numbers import counts_found
from qengine.exec.memory import Holding
from qengine.exec.view import ExecView, MaskProvider
from qengine.plan.elimination import Pairs, arcs_in
from qengine.plan.kernels import kernel
from qengine.plan.physical import Eliminate, Search
from qengine.plan.schedule import Among, Call

__all__ = [
    "Array",
    "Counts",
    "NumberOverflow",
    "Unfit",
    "cached_count",
    "indicator_vector",
    "of_vertices",
    "only_count",
    "run_eliminate",
    "term_vectors",
    "vertex_counts",
    "with_pair_terms",
]

_MAX_COUNT = 2**63 - 1

_PAIR_TERM = _native.record("u8 plan factor_low; i8 factor_high")
_PAIR_CHUNK = np.dtype(
    [(name, "<u8") for name in ("first", "next", "most", "capacity", "ends", "counts", "begins", "lengths")]
)

_PAIRS = 1 << 18
"""Pairs that a worker makes, at the least, before they are handed on."""

_T = TypeVar("_T")

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
    searched = tuple(term_count(run_search, each, runtime, masks) for each in operator.searches)
    first = 0  # row of pairs that isn't done yet
    general = wide = False
    while True:
        try:
            for counts, after in _Run(operator, runtime, masks, searched, wide, general).counts(first):
                yield counts
                first = after
            return
        except (Unfit, NumberOverflow) as found:
            wide, general = _instead(operator, runtime.context, found, wide, general)


def term_vectors(operator: Eliminate, runtime: Runtime, masks: MaskProvider, values: Array) -> list[tuple[int, Array]]:
    """Return what is to be added up of a count by one node: factors, and a vector over the graph's vertices for each.

    Parameters
    ----------
    values
        The program's ``NodeValues``: uint64[n], or [n, 2] of 128 bits, the lower words first. Vectors are of such
        numbers, too: of 128 bits where ``values`` are, or where a number exceeds 64.

    Raises
    ------
    ResourceError
        If a number on the way exceeds 128 bits.
    """
    return _run_once(operator, runtime, masks, _Run.term_vectors, values)


def vertex_counts(operator: Eliminate, runtime: Runtime, masks: MaskProvider) -> Array:
    """Return the counts of a pattern by one node: int64[n], or Python's integers, for each of the graph's n vertices.

    Errors as of ``term_vectors``.
    """
    return _run_once(operator, runtime, masks, lambda run: summed_terms(run.term_vectors(), run.n, run.context))


def with_pair_terms(
    operator: Eliminate, runtime: Runtime, masks: MaskProvider, use: Callable[[Steps, Array], _T]
) -> _T:
    """Run the program of a count by two nodes, and return what ``use`` makes of the terms of its pairs.

    ``use`` is called with the steps, which say how wide numbers are, and records of ``qe::eliminate::PairTerm``; it is
    called again, with wider numbers, where one doesn't fit. Errors as of ``term_vectors``.
    """
    return _run_once(operator, runtime, masks, lambda run: run.with_pair_terms(use))


def _run_once(
    operator: Eliminate,
    runtime: Runtime,
    masks: MaskProvider,
    result: Callable[[_Run], _T],
    values: Array | None = None,
) -> _T:
    wide, general = values is not None and values.ndim > 1, False
    while True:
        try:
            return result(_Run(operator, runtime, masks, (), wide, general, values))
        except (Unfit, NumberOverflow) as found:
            wide, general = _instead(operator, runtime.context, found, wide, general)


def _instead(
    operator: Eliminate, context: ExecutionContext, found: Unfit | NumberOverflow, wide: bool, general: bool
) -> tuple[bool, bool]:
    """Return how a program is run, after kernels haven't taken what was ``found``: ``wide`` and ``general``.

    Raises
    ------
    ResourceError
        If no numbers are wider.
    """
    if isinstance(found, Unfit):
        context.note(operator, f"run by kernels that take anything, since {found}")
        return wide, True
    if wide:
        context.raise_for(Status.OVERFLOW)
        raise found
    context.note(operator, "run with numbers of 128 bits, since one exceeds 64")
    return True, general


def term_count(
    find: Callable[..., Iterator[SearchChunk]], search: Search, runtime: Runtime, masks: MaskProvider
) -> int:
    """Return the count that the search of a term finds; ``find`` runs searches, as ``run_search``."""
    found = find(runtime.store, search, [], 1, runtime.context, masks)
    return sum(int(count) for chunk in found if chunk.count is not None for count in chunk.count)


def cached_count(operator: Eliminate, store: ExecView, context: ExecutionContext) -> int | None:
    """Return a count that is sums over vectors which the graph keeps now; None where it takes more than that.

    Then nothing is held; None, too, where the query's memory is limited, so that limits are as strict as ever.

    Raises
    ------
    QueryTimeout, QueryInterrupted, ResourceError
        As ``run_eliminate``.
    """
    if context.memory_limit is not None or operator.schedule("cpu") is None:
        return None
    sums = facts_of(store, operator).sums
    return None if sums is None else sums.total(store, context)


def only_count(count: int) -> Counts:
    """Return the only count of a pattern, as Python's integer where it exceeds 64 bits."""
    return (), np.array([not_negative(count)] if count else [], np.int64 if count <= _MAX_COUNT else object)


def of_vertices(counts: Array, context: ExecutionContext) -> Counts:
    """Return the counts by vertices, given one for each: int64, or Python's integers where 64 bits may not do."""
    if counts.dtype == object and max(counts, default=0) <= _MAX_COUNT:
        counts = counts.astype(np.int64)
    if counts.dtype == np.int64:
        vertices, found = counts_found(counts, context)
        return (vertices,), found
    vertices = np.flatnonzero(counts != 0)
    return (vertices,), counts[vertices]


class _Held:
    """Holds what has been found and is still wanted, and what is being made."""

    def __init__(self, found: Mapping[int, Found], holding: Holding) -> None:
        self.found = found
        self.holding = holding
        self.making = 0

    def charge(self, more: int) -> None:
        """Hold ``more`` bytes for what is being made; 0: that is made.

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
            elif isinstance(found, SparseMatrix):
                live |= {id(array): array.nbytes for array in found.arrays}
        self.holding.set(sum(live.values()) + self.making)


class _Run:
    """One execution of the program, with numbers of 128 bits if it is ``wide``.

    ``searched``: counts of the searches. ``general``: by the calls that take whatever comes. ``values``: its
    ``NodeValues``. ``totals``: sums that have been found.
    """

    def __init__(
        self,
        operator: Eliminate,
        runtime: Runtime,
        masks: MaskProvider,
        searched: tuple[int, ...],
        wide: bool,
        general: bool,
        values: Array | None = None,
    ) -> None:
        self.operator = operator
        self.searched = searched
        self.facts = facts = facts_of(runtime.store, operator)
        if facts.schedule.otherwise and (general or (wide and facts.narrow)):
            self.calls = tuple(zip(facts.schedule.otherwise, facts.unused_otherwise, strict=True))
        else:
            self.calls = tuple(zip(facts.schedule.calls, facts.unused, strict=True))
        self.context: ExecutionContext = runtime.context
        self.wide = wide
        self.n: int = runtime.store.vertex_count
        self.found: dict[int, Found] = {}
        arcs = arcs_in(operator.steps)
        self.held = _Held(self.found, runtime.memory.holding("Eliminate"))
        charge = self.held.charge
        self.relations = Relations(runtime.store, masks, self.context, charge, runtime, arcs)
        self.steps = Steps(operator.steps, facts.vectors, self.found, self.relations, charge, wide, values)
        self.totals: dict[int, int] = {}

    def counts(self, first: int) -> Iterator[tuple[Counts, int]]:
        """Yield counts, and how many rows of pairs are complete with them; of pairs those from row ``first`` on."""
        try:
            self._run_all()
            if len(self.operator.emit) == 2:
                yield from self._by_pair(first)
            else:
                yield self._by_vertex() if self.operator.emit else self._total(), 0
        finally:
            self.held.holding.set(0)

    def term_vectors(self) -> list[tuple[int, Array]]:
        """Run the program, and return its terms' factors and vectors, those of factor 0 left out."""
        try:
            self._run_all()
            return self._scaled()
        finally:
            self.held.holding.set(0)

    def with_pair_terms(self, use: Callable[[Steps, Array], _T]) -> _T:
        """Run the program, and call ``use`` while what the terms point to is held."""
        try:
            self._run_all()
            terms, _plans = self._pair_terms()
            return use(self.steps, terms)
        finally:
            self.held.holding.set(0)

    def _run_all(self) -> None:
        for each, unused in self.calls:
            self._run(each)
            for place in unused:
                self.found.pop(place, None)
            self.held.charge(0)
            self.context.check()

    def _run(self, each: Call) -> None:
        if isinstance(each, Among):
            by_root, totals = run_among(self.steps, each, run_call, run_total)
            self.found |= by_root
            self.totals |= totals
        elif kernel("cpu", each.kernel).total:
            self.totals |= run_total(self.steps, each)
        else:
            self.found[each.places[0]] = run_call(self.steps, each)

    # ------------------------------------------------------------ terms

    def _total(self) -> Counts:
        total = 0
        for term in self.operator.terms:
            found = 1 if term.search is None else self.searched[term.search]
            total += term.factor * found * prod(self.totals[place] for place in term.totals)
        return only_count(total)

    def _scaled(self) -> list[tuple[int, Array]]:
        """Return the terms' factors and vectors, those of factor 0 left out."""
        sums = self.totals
        scaled = []
        for term in self.operator.terms:
            factor = term.factor * prod(sums[place] for place in term.totals)
            assert term.output is not None
            if factor:
                scaled.append((factor, self.steps.vector(term.output)[: self.n]))
        return scaled

    def _by_vertex(self) -> Counts:
        """Add up the terms' vectors: exactly, in Python's integers where 64 bits may not do."""
        return of_vertices(summed_terms(self._scaled(), self.n, self.context), self.context)

    def _pair_terms(self) -> tuple[Array, list[Plan]]:
        """Return the records of the terms, and the plans that they point to."""
        sums = self.totals
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
        return np.array(records, _PAIR_TERM), plans

    def _by_pair(self, first: int) -> Iterator[tuple[Counts, int]]:
        terms, _plans = self._pair_terms()
        capacity = self.n + _PAIRS  # a worker begins a row where a whole one has room
        rows = min(self.n, _PAIRS)
        threads = self.context.threads
        self.held.charge(threads * capacity * 12 + rows * 16)
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
            rows = after - first
            yield self._put_together(first, (begins[:rows], lengths[:rows]), ends, counts), after
            first = after

    def _put_together(self, first: int, lists: tuple[Array, Array], ends: Array, counts: Array) -> Counts:
        """Return pairs by their roots, those from ``first`` on; ``lists``: where each one's begins, how long it is."""
        begins, lengths = (each.astype(np.int64) for each in lists)
        stops = np.cumsum(lengths)
        total = int(stops[-1])
        found = [np.empty(total, np.int64) for _ in range(3)]

        def put(begin: int) -> None:
            self.context.check()
            some = slice(begin, begin + size)
            low, high = int(stops[begin] - lengths[begin]), int(stops[some][-1])
            roots = np.repeat(np.arange(len(lengths[some])), lengths[some])
            places = np.arange(low, high) + (begins - stops + lengths)[some][roots]
            for to, values in zip(found, (roots + (first + begin), ends[places], counts[places]), strict=True):
                to[low:high] = values

        size = -(-len(lengths) // -(-max(total, 1) // part_size(total, self.context)))
        deal(put, range(0, len(lengths), size), self.context)
        starts, others, times = found
        return (starts, others), times
