"""What a schedule of elimination and a graph settle for all executions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from qengine._frozen import frozen
from qengine.exec.common.operator_cache import PerOperatorCache
from qengine.exec.host.cached_vectors import CachedSums, VectorKey, cached_sums, vector_key
from qengine.exec.view import ExecView
from qengine.plan.elimination import MatVec, NodeIndicator, Pairs, Product, Step, counted_degrees, operands
from qengine.plan.kernels import kernel
from qengine.plan.physical import Eliminate
from qengine.plan.schedule import Among, Call, KernelCall, Schedule

_KEPT = ("kept_indicator", "degrees")
"""Kernels whose vectors the graph keeps."""


@frozen
class Facts:
    """What is settled. ``vectors``: by what the graph keeps those that follow from it alone, by their places.

    ``unused``: for each call what nothing reads after it. ``unused_otherwise``: the same of ``Schedule.otherwise``.
    ``narrow``: some kernels take numbers of 64 bits alone. ``sums``: the count, where kept vectors are all that it
    takes.
    """

    schedule: Schedule
    vectors: dict[int, VectorKey]
    unused: tuple[tuple[int, ...], ...]
    unused_otherwise: tuple[tuple[int, ...], ...]
    narrow: bool
    sums: CachedSums | None


_bound: PerOperatorCache[Facts] = PerOperatorCache()


def facts_of(store: ExecView, operator: Eliminate) -> Facts:
    """Return what is known of an operator on a graph, found when it is first asked for."""
    return _bound.get(store, operator, lambda: (_facts(operator), True))


def _facts(operator: Eliminate) -> Facts:
    steps, schedule = operator.steps, operator.schedule("cpu")
    assert schedule is not None
    calls = [each for each in schedule.calls if isinstance(each, KernelCall)]
    vectors: dict[int, VectorKey] = {}
    for call in calls:
        if call.kernel in _KEPT:
            vectors[call.places[0]] = _key(steps, call.places[0])
    sums = None
    dots = [call for call in calls if call.kernel == "dot"]
    if len(calls) == len(schedule.calls) and not (operator.emit or operator.searches) and len(dots) == 1:
        sums = _sums(operator, dots[0], vectors)
    unused, otherwise = (unused_after(operator, of) for of in (schedule.calls, schedule.otherwise))
    return Facts(schedule, vectors, unused, otherwise, _has_narrow(schedule), sums)


def _has_narrow(schedule: Schedule) -> bool:
    """Tell whether some kernels of a schedule take numbers of 64 bits alone."""
    return any(128 not in kernel(schedule.device, call.kernel).bits for call in schedule.every)


def _key(steps: Sequence[Step], place: int) -> VectorKey:
    step = steps[place]
    if isinstance(step, MatVec) and (made := counted_degrees(steps, step)) is not None:
        return vector_key(*made)
    return vector_key(step)


def _sums(operator: Eliminate, dot: KernelCall, vectors: dict[int, VectorKey]) -> CachedSums | None:
    """Return the count as sums of products of kept vectors, None where it takes something else."""
    if {place for term in operator.terms for place in term.totals} != set(dot.places):
        return None
    totals: list[tuple[VectorKey, ...]] = []
    first = 0
    for count in dot.results:
        factors = [_factors(operator.steps, place, vectors) for place in dot.reads[first : first + count]]
        first += count
        if None in factors:
            return None
        totals.append(tuple(chain.from_iterable(filter(None, factors))))
    return cached_sums(totals, dot.places, operator.terms)


def _factors(steps: Sequence[Step], place: int, vectors: dict[int, VectorKey]) -> tuple[VectorKey, ...] | None:
    """Return the kept vectors whose product a step is, () for ones; None where it takes something else."""
    if place in vectors:
        return (vectors[place],)
    match steps[place]:
        case NodeIndicator(nodes=(), loops=()):
            return ()
        case Product(factors=factors):
            found = [_factors(steps, each, vectors) for each in factors]
            return None if None in found else tuple(chain.from_iterable(filter(None, found)))
    return None


def unused_after(operator: Eliminate, calls: Sequence[Call]) -> tuple[tuple[int, ...], ...]:
    """Return for each call the places that nothing reads after it. What terms and pairs read is read after all."""
    steps = operator.steps
    last: dict[int, int] = {}
    for k, each in enumerate(calls):
        for call in each.all if isinstance(each, Among) else (each,):
            last |= dict.fromkeys(call.places, k)
            if not isinstance(steps[call.places[0]], Pairs):
                last |= dict.fromkeys(call.reads, k)
    for step in steps:
        if isinstance(step, Pairs):
            last |= dict.fromkeys(operands(step), len(calls))
    last |= {term.output: len(calls) for term in operator.terms if term.output is not None}
    return tuple(tuple(place for place, at in last.items() if at == k) for k in range(len(calls)))
