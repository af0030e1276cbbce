"""Runs an ``Eliminate`` on the device: its steps one after the other, each some kernels, then its signed terms.

As ``qengine.exec.host.eliminate``: numbers of 64 bits, all computed again with 128 where one overflows; products that
are only summed have 128 in any case. A pattern that has kernels made for its shape is searched: they are faster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from math import prod
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine._beside import Beside
from qengine.errors import InternalError, OutOfMemory
from qengine.exec.common.relations import Relations
from qengine.exec.common.runtime import Runtime
from qengine.exec.context import ExecutionContext, Status
from qengine.exec.gpu.arrays import working
from qengine.exec.gpu.dealing import each_device
from qengine.exec.gpu.device_program import OperatorFacts
from qengine.exec.gpu.eliminate_matrix import ALL
from qengine.exec.gpu.elimination_steps import FLAGS, LANES, DeviceSteps, Unfit, blocks_of, integer
from qengine.exec.gpu.exchange import Exchange, is_shared, is_worth_sharing
from qengine.exec.gpu.folds import DeviceFold
from qengine.exec.gpu.kernels import Sums, run_call, start_total
from qengine.exec.gpu.launch import device_run
from qengine.exec.gpu.memory import IN_HOST_MEMORY, Resident, host_bytes
from qengine.exec.gpu.neighbourhoods import run_among
from qengine.exec.gpu.placement import Use
from qengine.exec.gpu.search import run_search
from qengine.exec.host.eliminate import Counts, NumberOverflow, of_vertices, only_count, term_count
from qengine.exec.view import ExecView, MaskProvider
from qengine.plan.elimination import domain_of
from qengine.plan.kernels import kernel
from qengine.plan.physical import Eliminate
from qengine.plan.schedule import Among, Call, KernelCall

_MOST_FACTOR = 2**62
"""Of the terms together: 64 bits more than numbers have are enough then."""

_MOST_KNOWN = 256

_PARTS = 4_096
"""Of the counts by vertex, those that are not 0 are found by part."""

_OF_VECTORS = ("indicator", "message", "vector_product")
"""Kernels that give vectors, of which others of them are told to be the last to read them."""

_LEAST_ADDED = 1 << 16
"""Vertices whose counts are added up at a time, at least."""

_Take = Callable[[list[Any], int, Any], None]
"""Takes, once or more, the column of a node, how many rows there are, and how often each counts."""

_known: Beside[OperatorFacts] = Beside()


def _of(store: ExecView, operator: Eliminate) -> OperatorFacts:
    known = _known.of(store)
    if (found := known.get(id(operator))) is None:
        if len(known) >= _MOST_KNOWN:
            known.clear()
        found = known[id(operator)] = OperatorFacts(operator)
    return found


def run_eliminate(operator: Eliminate, runtime: Runtime, masks: MaskProvider) -> Counts:
    """Return the count of a pattern, as ``qengine.exec.host.eliminate.run_eliminate``.

    Errors as of ``fold_eliminated``.
    """
    return _eliminated(operator, runtime, masks)


def fold_eliminated(
    operator: Eliminate, weighted: bool, runtime: Runtime, masks: MaskProvider, folds: Sequence[DeviceFold]
) -> bool:
    """Fold the counts of a pattern by one node, each a row that counts so often, without their leaving the device.

    ``weighted``: else each counts once.

    False where counts are too large. Then what was folded is of no use. Of several devices the first folds.

    Raises
    ------
    DeviceError
        If there is no usable device.
    QueryTimeout, QueryInterrupted, OutOfMemory
        By the context's limits; ``OutOfMemory`` also for the device's memory.
    ResourceError
        If a count exceeds 64 bits, or a number on the way to it 128.
    """
    told: list[bool] = []

    def take(columns: list[Any], n: int, counts: Any) -> None:
        told.append(all(fold.add_rows(columns, n, counts if weighted else None, 1) for fold in folds))

    _eliminated(operator, runtime, masks, take)
    return bool(told) and all(told)


def _eliminated(
    operator: Eliminate,
    runtime: Runtime,
    masks: MaskProvider,
    take: _Take | None = None,
) -> Counts:
    """Return the count of a pattern; ``take`` gets those by a node in place of the caller.

    It isn't called where numbers of the device may not do.
    """
    counted: dict[int, dict[tuple[int, bool], Any]] = {}  # by the device's number
    known = _of(runtime.store, operator)
    searched = tuple(term_count(run_search, each, runtime, masks) for each in operator.searches)

    def run(wide: bool, context: ExecutionContext, exchange: Exchange | None) -> Counts:
        held: list[Resident] = []

        def let_go() -> None:
            for resident in held:
                on.memory.unpin(resident)

        with ExitStack() as after:
            after.callback(let_go)  # when the kernels have ended
            on = after.enter_context(device_run(context))
            on.memory.expect(known.lists_bytes(runtime.store), int(runtime.store.vertex_count), use=Use.VECTORS)
            if not on.memory.placement.is_whole and known.at_random and operator.schedule("cpu") is not None:
                raise _too_far(known.at_random)
            host = after.enter_context(context.memory.holding("Eliminate"))
            relations = Relations(runtime.store, masks, context, host.add)
            own = counted.setdefault(on.device.number, {})
            steps = _Run(operator, runtime, relations, known.totals(), wide, on, held, own)
            steps.take = take
            if exchange is not None:
                steps.number, steps.exchange = runtime.context.gpus.index(on.device.number), exchange
                if steps.number and take is not None:
                    steps.take = _leave  # the first has the same counts
            found = steps.counts(known.calls, searched)
            if elsewhere := host_bytes(held):
                runtime.context.note(operator, IN_HOST_MEMORY.format(elsewhere / 1e6))
            return found

    while True:
        wide = known.wide  # executions beside this one may find out, too
        if wide:
            runtime.context.note(operator, "run with numbers of 128 bits, since one exceeds 64")
        try:
            if len(runtime.context.gpus) < 2 or not is_worth_sharing(known.calls):
                return run(wide, runtime.context, None)
            return _shared(operator, runtime.context, partial(run, wide))
        except Unfit as found:
            known.general = True
            runtime.context.note(operator, f"run by kernels that take anything, since {found}")
        except NumberOverflow:
            if wide:
                runtime.context.raise_for(Status.OVERFLOW)
            known.wide = True


def _leave(columns: list[Any], n: int, counts: Any) -> None:
    """Take nothing."""


def _too_far(name: str) -> OutOfMemory:
    """Return what lets the host run a program that would read the host's memory at random, over the link."""
    return OutOfMemory(
        f"The device has no room for the lists that {name} reads at random.",
        hint='Raise gpu_memory_limit, or use device="cpu".',
        code="OutOfDeviceMemory",
    )


def _shared(
    operator: Eliminate, context: ExecutionContext, run: Callable[[ExecutionContext, Exchange], Counts]
) -> Counts:
    """Return what all devices of a context find together, each of which runs the program."""
    devices = len(context.gpus)
    exchange = Exchange(devices)

    def share(turns: Iterator[int], inner: ExecutionContext) -> Counts:
        try:
            next(turns)  # one each
            return run(inner, exchange)
        except BaseException:
            exchange.abort()
            raise

    found, _ = each_device(context, range(devices), share)
    context.note(operator, f"shared by {devices} GPUs")
    return found[0]


def _when_read(calls: Sequence[Call], last: Mapping[int, Sequence[int]]) -> Iterator[Call]:
    """Yield the calls, an indicator that is let go of just before the call that reads it first."""
    dying, late = {place for places in last.values() for place in places}, {}
    for each in calls:
        if isinstance(each, KernelCall) and each.kernel == "indicator" and dying.issuperset(each.places):
            late.update(dict.fromkeys(each.places, each))
            continue
        if isinstance(each, KernelCall):
            yield from (late.pop(place) for place in each.reads if place in late)
        yield each


class _Run(DeviceSteps):
    """One execution of the program, and its terms.

    ``number``, ``exchange``: which of several devices this is, and what they share; None where it is alone. ``take``:
    what counts by a node are given to.
    """

    number = 0
    exchange: Exchange | None = None
    take: _Take | None = None

    def counts(self, calls: Sequence[Call], searched: Sequence[int]) -> Counts:
        """Run the calls, then add the terms up. ``searched``: counts of the operator's searches."""
        found: dict[int, int] = {}
        started: list[Sums] = []
        shared: list[int] = []  # totals of which each device finds some
        last = {} if self.exchange is not None else self.last_reads(calls)
        for each in calls if self.exchange is not None else _when_read(calls, last):
            own = self.exchange if is_shared(each) else None
            self.share = ALL if own is None else (self.number, own.devices)
            if isinstance(each, Among):
                found |= run_among(self, each, run_call, start_total)
            elif kernel("gpu", each.kernel).total:
                started.append(start_total(self, each))
                shared += each.places if own is not None else ()
            else:
                run_call(self, each)
                if own is not None:
                    self.gather(each, own)
            for place in last.get(id(each), ()):
                self.let_go(self.vectors.pop(place))
            self.run.context.check()
        sums = self.totals(started) | found
        if self.exchange is not None:
            sums = self.exchange.totals(self.number, sums, shared)
        factors = [
            term.factor
            * prod(sums[place] for place in term.totals)
            * (1 if term.search is None else searched[term.search])
            for term in self.operator.terms
        ]
        if self.operator.emit:
            return self.by_vertex(factors)
        return only_count(sum(factors))

    def last_reads(self, calls: Sequence[Call]) -> dict[int, list[int]]:
        """Return the vectors, by their places, of which a call, by its ``id``, is the last to read them.

        Only those that none but calls of ``_OF_VECTORS`` give and read.
        """
        kept = {term.output for term in self.operator.terms}
        given: set[int] = set()
        last: dict[int, int] = {}
        for each in calls:
            if isinstance(each, KernelCall) and each.kernel in _OF_VECTORS:
                given |= {*each.places}
                last |= dict.fromkeys(each.reads, id(each))
            else:
                kept |= {place for call in (each.all if isinstance(each, Among) else (each,)) for place in call.reads}
        found: dict[int, list[int]] = {}
        for place, call in last.items():
            if place in given and place not in kept:
                found.setdefault(call, []).append(place)
        return found

    def gather(self, call: KernelCall, exchange: Exchange) -> None:
        """Add up what the devices have found of a call's steps."""
        for place in call.places:
            if (matrix := self.matrices.get(place)) is not None:
                block: Any = SimpleNamespace(ptr=int(matrix.record["values"]))
                n = matrix.entries
            else:
                block, n = self.vectors[place], self.size(domain_of(self.steps, place))
            if n:
                exchange.add(self.number, self.run, block, self.width * n)

    # ------------------------------------------------------------ terms

    def totals(self, started: Sequence[Sums]) -> dict[int, int]:
        """Wait for all kernels, and return the totals that they have found."""
        flags = np.zeros(FLAGS // 4, np.uint32)
        self.read(self.state, flags)
        if flags[0]:
            raise NumberOverflow
        if flags[2]:
            raise Unfit("weights are too large")
        if flags[3]:
            self.context.raise_for(Status.OVERFLOW)
        sums: dict[int, int] = {}
        for each in started:
            sums |= each()
        if any(each >> 128 for each in sums.values()):
            self.context.raise_for(Status.OVERFLOW)
        return sums

    def by_vertex(self, factors: Sequence[int]) -> Counts:
        """Add the terms' vectors up, each times its factor."""
        if sum(map(abs, factors)) < _MOST_FACTOR:
            return self.added(factors)
        return self.added_on_host(factors)

    def added(self, factors: Sequence[int]) -> Counts:
        """Add in two's complement, with 64 bits more than numbers have: some vertices after others, by the room."""
        each = max(_LEAST_ADDED, self.run.free_bytes() // (2 * (self.width + 32)))
        ranges = [(begin, min(begin + each, self.n)) for begin in range(0, max(1, self.n), each)]
        most = ranges[0][1]
        sums, made = (self.run.allocate(size * most, "the counts") for size in (self.width + 8, 8))
        flags = np.zeros(2, np.uint32)
        found = []
        for bounds in ranges:
            of, parts = self.present(factors, bounds, sums, made)
            found.append(int(parts.sum()))
            self.run.read(self.state.ptr, flags)
            if flags[1]:
                raise InternalError("An elimination's terms add up to a negative count.")
            if flags[0]:
                return self.added_on_host(factors)
        columns = [[np.empty(0, np.int64)] * 2]
        for bounds, n_found in zip(ranges, found, strict=True):
            if len(ranges) > 1:
                of, parts = self.present(factors, bounds, sums, made)
            with working(self.run, "the counts") as cp:
                places, kept = (cp.empty(n_found, np.int64) for _ in range(2))
                gathered = np.uint64(bounds[0]), np.uint64(places.data.ptr), np.uint64(kept.data.ptr)
                self.launch("eliminate_gather", blocks_of(LANES * len(parts)), *of, *gathered)
            if self.take is None:
                columns.append([self.run.fetched(array.data.ptr, n_found, np.int64) for array in (places, kept)])
            else:
                self.run.wait()
                self.take([places], n_found, kept)
        vertices, counts = columns[-1] if len(columns) < 3 else map(np.concatenate, zip(*columns, strict=True))
        return (vertices,), counts

    def present(
        self, factors: Sequence[int], bounds: tuple[int, int], sums: Any, made: Any
    ) -> tuple[tuple[Any, ...], npt.NDArray[np.uint64]]:
        """Add the counts of some vertices up in ``made``; return kernels' arguments, and how many there are by part."""
        begin, n = bounds[0], np.uint64(bounds[1] - bounds[0])
        self.run.clear(sums, (self.width + 8) * int(n))
        for term, factor in zip(self.operator.terms, factors, strict=True):
            vector = self.address(term.output)
            at = vector + np.uint64(self.width * begin) if vector else vector
            self.launch("eliminate_term", blocks_of(int(n)), at, np.int64(factor), n, np.uint64(sums.ptr))
        self.launch("eliminate_counts", blocks_of(int(n)), np.uint64(sums.ptr), n, np.uint64(made.ptr), self.flag)
        each = max(LANES, -(-int(n) // _PARTS // LANES) * LANES)
        n_parts = -(-int(n) // each)
        parts = self.allocate(8 * n_parts, "the counts")
        of = np.uint64(made.ptr), n, np.uint64(each), np.uint64(n_parts), np.uint64(parts.ptr)
        self.launch("eliminate_present", blocks_of(LANES * n_parts), *of)
        present = np.empty(n_parts, np.uint64)
        self.read(parts, present)
        return of, present

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
        return of_vertices(counts, self.context)
