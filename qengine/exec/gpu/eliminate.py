"""Runs an ``Eliminate`` on the device: its steps one after the other, each some kernels, then its signed terms.

As ``qengine.exec.host.eliminate``: numbers of 64 bits, all computed again with 128 where one overflows; products that
are only summed have 128 in any case. A pattern that has kernels made for its shape is searched: they are faster.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from math import prod
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from qengine.errors import InternalError
from qengine.exec.common.relations import Relations
from qengine.exec.common.resolve import resolve_pattern
from qengine.exec.common.runtime import Runtime
from qengine.exec.context import Status
from qengine.exec.elimination_schedule import Among
from qengine.exec.gpu.closed_walk_counts import WalkCounter, WalkSums
from qengine.exec.gpu.count_plan import components
from qengine.exec.gpu.device_program import OperatorFacts
from qengine.exec.gpu.eliminate_sums import MOST_FACTORS
from qengine.exec.gpu.elimination_steps import (
    FLAGS,
    LANES,
    MOST_FOREST_NODES,
    MOST_SUMS,
    SUMS,
    TOTAL,
    TOTAL_BLOCKS,
    DeviceSteps,
    NoWeights,
    blocks_of,
    integer,
)
from qengine.exec.gpu.launch import device_run
from qengine.exec.gpu.memory import Resident
from qengine.exec.gpu.neighbourhoods import run_among
from qengine.exec.gpu.square_counts import closed_walks_of_four
from qengine.exec.gpu.triangle_counts import (
    MOST_WEIGHT,
    counts_triangles,
)
from qengine.exec.gpu.triangle_totals import WeightedTriangleTotals
from qengine.exec.host.closed_walk_counts import MOST_WALK_WEIGHT
from qengine.exec.host.eliminate import Counts, NumberOverflow, of_vertices, only_count
from qengine.exec.view import ExecView, MaskProvider
from qengine.plan.elimination import Pairs, Product, RootedForest, Step
from qengine.plan.physical import MAX_DEVICE_LEVELS, Eliminate

__all__ = ["eliminates", "has_kernels", "run_eliminate"]

_MOST_FACTOR = 2**62
"""Of the terms together: 64 bits more than numbers have are enough then."""

_MOST_KNOWN = 256

_PARTS = 4_096
"""Of the counts by vertex, those that are not 0 are found by part."""

_known: WeakKeyDictionary[Any, dict[int, OperatorFacts]] = WeakKeyDictionary()


def eliminates(store: ExecView, operator: Eliminate) -> bool:
    """Tell whether the device sums the pattern's vertices out, rather than searches."""
    return _of(store, operator).eliminates


def _of(store: ExecView, operator: Eliminate) -> OperatorFacts:
    known: dict[int, OperatorFacts] = _known.setdefault(store, {})
    if (found := known.get(id(operator))) is None:
        if len(known) >= _MOST_KNOWN:
            known.clear()
        found = known[id(operator)] = OperatorFacts(operator, _eliminates(store, operator))
    return found


def has_kernels(operator: Eliminate) -> bool:
    """Tell whether the device has kernels for all steps."""
    return all(_has_kernels(step) for step in operator.steps)


def _eliminates(store: ExecView, operator: Eliminate) -> bool:
    if not has_kernels(operator):
        return False
    search = operator.search
    if operator.emit or len(search.levels) > MAX_DEVICE_LEVELS or any(level.predicates for level in search.levels):
        return True
    resolved = resolve_pattern(store, search)
    return resolved is None or components(resolved.plan) is None


def _has_kernels(step: Step) -> bool:
    if isinstance(step, Product):
        return len(step.factors) <= MOST_FACTORS
    return not isinstance(step, Pairs) and (not isinstance(step, RootedForest) or len(step.nodes) <= MOST_FOREST_NODES)


def run_eliminate(operator: Eliminate, runtime: Runtime, masks: MaskProvider) -> Counts:
    """Return the count of a pattern, as ``qengine.exec.host.eliminate.run_eliminate``.

    Raises
    ------
    DeviceError
        If there is no usable device.
    QueryTimeout, QueryInterrupted, OutOfMemory
        By the context's limits; ``OutOfMemory`` also for the device's memory.
    ResourceError
        If a count exceeds 64 bits, or a number on the way to it 128.
    """
    counted: dict[tuple[int, bool], Any] = {}
    known = _of(runtime.store, operator)

    def run(wide: bool) -> Counts:
        held: list[Resident] = []

        def let_go() -> None:
            for resident in held:
                on.memory.unpin(resident)

        with ExitStack() as after:
            after.callback(let_go)  # when the kernels have ended
            on = after.enter_context(device_run(runtime.context))
            host = after.enter_context(runtime.memory.holding("Eliminate"))
            relations = Relations(runtime.store, masks, runtime.context, host.add)
            return _Run(operator, runtime, relations, known.program, wide, on, held, counted).counts()

    while True:
        wide = known.wide  # executions beside this one may find out, too
        try:
            return run(wide)
        except NoWeights:
            known.leave_weights()
        except NumberOverflow:
            if wide:
                runtime.context.raise_for(Status.OVERFLOW)
            known.wide = True


class _Run(DeviceSteps):
    """One execution of the program, and its terms."""

    def counts(self) -> Counts:
        """Run the steps, then add the terms up."""
        among: dict[int, int] = {}
        for each in self.program.order:
            if isinstance(each, Among):
                among |= run_among(self, each)
            else:
                self.step(each, self.operator.steps[each])
            self.context.check()
        sums = self.totals() | among
        factors = [term.factor * prod(sums[place] for place in term.totals) for term in self.operator.terms]
        if self.operator.emit:
            return self.by_vertex(factors)
        return only_count(sum(factors))

    # ------------------------------------------------------------ terms

    def totals(self) -> dict[int, int]:
        """Return the sums of the vectors whose sums terms have, after all steps."""
        together: list[tuple[WeightedTriangleTotals | WalkSums, Any, int]]
        together = [(each, self.corner_sums(each), 8) for each in self.program.corners]
        together += [(each, self.walk_sums(each), 6) for each in self.program.walks if self.counts_walks(each)]
        self.sum_products()
        words = np.zeros((FLAGS + TOTAL * len(self.program.summed)) // 8, np.uint64)
        self.read(self.state, words)
        flags = words.view(np.uint32)
        if flags[0]:
            raise NumberOverflow
        if flags[2]:
            raise NoWeights
        if flags[3]:
            self.context.raise_for(Status.OVERFLOW)
        sums = {}
        for place, row in zip(self.program.summed, words[FLAGS // 8 :].reshape(-1, TOTAL // 8), strict=True):
            if place in self.squares:
                matrix = self.matrices[self.squares[place]]
                sums[place] = closed_walks_of_four(self.store, matrix, self.run, self.held)
            elif self.summed_vectors(place) is not None:
                sums[place] = integer(row) if self.summed_vectors(place) else self.n
        for counted, block, n_words in together:
            found = np.empty(n_words, np.uint64)
            self.run.read(block.ptr, found)
            sums |= counted.sums(found)
        if any(each >> 128 for each in sums.values()):
            self.context.raise_for(Status.OVERFLOW)
        return sums

    def sum_products(self) -> None:
        """Add the products of vectors up, some totals a launch."""
        for first in range(0, len(self.program.summed), MOST_SUMS):
            sums = np.zeros((), SUMS)
            places = tuple(self.program.summed)[first : first + MOST_SUMS]
            sums["n"] = len(places)
            for k, place in enumerate(places):
                pointers = self.summed_vectors(place) or ()
                sums["of"][k]["of"][: len(pointers)], sums["of"][k]["n"] = pointers, len(pointers)
            to = np.uint64(self.state.ptr + FLAGS + TOTAL * first)
            flag = np.uint64(self.flag + np.uint64(12))
            blocks = len(places) * min(TOTAL_BLOCKS, blocks_of(self.n))
            self.launch("eliminate_sums", blocks, sums, np.uint64(self.n), to, flag)

    def summed_vectors(self, place: int) -> tuple[int, ...] | None:
        """Return where the vectors are whose product is summed, without those of ones; None if it's found otherwise."""
        factors = self.program.summed[place]
        if any(each not in self.vectors for each in factors):
            return None
        return tuple(block.ptr for each in factors if (block := self.vectors[each]) is not None)

    def corner_sums(self, of: WeightedTriangleTotals) -> Any:
        """Return a block that gets the sums over triangles by their corners' weights."""
        matrix = self.matrices[of.across]
        if not counts_triangles(matrix):
            raise NoWeights
        weights = self.vector_product([self.vectors[place] for place in of.weights], self.n)
        sums = self.triangles().corners(matrix, self.weights(matrix, weights, MOST_WEIGHT))
        if sums is None:
            raise NoWeights
        return sums

    def walk_sums(self, of: WalkSums) -> Any:
        """Return a block that gets sums of closed walks."""
        matrix = self.matrices[of.matrix]
        weights = None
        if of.weights is not None:
            weights = self.weights(matrix, self.vectors[of.weights], MOST_WALK_WEIGHT)
        return WalkCounter(self.run, self.blocks).count(matrix, weights, fives=bool(of.fives))

    def by_vertex(self, factors: Sequence[int]) -> Counts:
        """Add the terms' vectors up, each times its factor."""
        if sum(map(abs, factors)) < _MOST_FACTOR:
            return self.added(factors)
        return self.added_on_host(factors)

    def added(self, factors: Sequence[int]) -> Counts:
        """Add in two's complement, with 64 bits more than numbers have."""
        n = np.uint64(self.n)
        sums = self.allocate((self.width + 8) * self.n, "the counts", clear=True)
        for term, factor in zip(self.operator.terms, factors, strict=True):
            to = np.uint64(sums.ptr)
            self.launch("eliminate_term", blocks_of(self.n), self.address(term.output), np.int64(factor), n, to)
        made = self.allocate(8 * self.n, "the counts")
        self.launch("eliminate_counts", blocks_of(self.n), np.uint64(sums.ptr), n, np.uint64(made.ptr), self.flag)
        each = max(LANES, -(-self.n // _PARTS // LANES) * LANES)
        n_parts = -(-self.n // each)
        parts = self.allocate(8 * n_parts, "the counts")
        of = np.uint64(made.ptr), n, np.uint64(each), np.uint64(n_parts), np.uint64(parts.ptr)
        self.launch("eliminate_present", blocks_of(LANES * n_parts), *of)
        present = np.empty(n_parts, np.uint64)
        self.read(parts, present)
        flags = np.zeros(2, np.uint32)
        self.run.read(self.state.ptr, flags)
        if flags[1]:
            raise InternalError("An elimination's terms add up to a negative count.")
        if flags[0]:
            return self.added_on_host(factors)
        found = int(present.sum())
        places, kept = (self.allocate(8 * found, "the counts") for _ in range(2))
        self.launch("eliminate_gather", blocks_of(LANES * n_parts), *of, np.uint64(places.ptr), np.uint64(kept.ptr))
        vertices, counts = (self.run.fetched(block.ptr, found, np.int64) for block in (places, kept))
        return (vertices,), counts

    def added_on_host(self, factors: Sequence[int]) -> Counts:
        """Add in Python's integers."""
        counts = np.zeros(self.n, object)
        for term, factor in zip(self.operator.terms, factors, strict=True):
            block = None if term.output is None else self.vectors[term.output]
            words = np.ones((self.n, 1), np.uint64)
            if block is not None:
                words = np.empty((self.n, self.width // 8), np.uint64)
                self.read(block, words)
            counts += factor * np.array([integer(row) for row in words], object)
        return of_vertices(counts)
