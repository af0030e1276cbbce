"""What a program of elimination and a graph settle for all executions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from qengine._frozen import frozen
from qengine.exec.common.operator_cache import PerOperatorCache
from qengine.exec.common.relations import SparseMatrix, stored
from qengine.exec.elimination_schedule import Among, schedule
from qengine.exec.host.cached_vectors import CachedSums, VectorKey, cached_sums, vector_key
from qengine.exec.view import ExecView
from qengine.plan.elimination import (
    Matrix,
    MatVec,
    NodeIndicator,
    Pairs,
    Product,
    Step,
    counted_degrees,
    is_labels_alone,
    operands,
)
from qengine.plan.physical import Eliminate

__all__ = ["Facts", "facts_of"]


@frozen
class Facts:
    """What a program and the graph settle for all executions; steps and totals are told by their places.

    ``matrices``: those that the graph has. ``sent``: matrices that only messages go along; ``counted``: those of which
    the graph keeps what they give. ``vectors``: by what the graph keeps those that follow from it alone. ``order``: in
    which steps are run, and ``unused`` for each of these what nothing reads after it. ``summed``: steps that terms add
    up and nothing else reads. ``totals``: all that terms add up. ``sums``: the count, where kept vectors are all that
    it takes.
    """

    matrices: dict[int, SparseMatrix]
    sent: frozenset[int]
    counted: frozenset[int]
    vectors: dict[int, VectorKey]
    order: tuple[int | Among, ...]
    unused: tuple[tuple[int, ...], ...]
    summed: frozenset[int]
    totals: tuple[int, ...]
    sums: CachedSums | None


_bound: PerOperatorCache[Facts] = PerOperatorCache()


def facts_of(store: ExecView, operator: Eliminate) -> Facts:
    """Return what is known of an operator on a graph, found when it is first asked for."""
    return _bound.get(store, operator, lambda: (_facts(store, operator), True))


def _facts(store: ExecView, operator: Eliminate) -> Facts:
    steps = operator.steps
    reads = [operands(step) for step in steps]
    matrices: dict[int, SparseMatrix] = {}
    sent = set()
    vectors: dict[int, VectorKey] = {}
    for place, step in enumerate(steps):
        match step:
            case Matrix(relations=(_,) as relations, once=once):
                if (matrix := stored(store, relations)) is not None and not (once and matrix.repeats):
                    matrices[place] = matrix
                elif all(isinstance(each, MatVec) for each, read in zip(steps, reads, strict=True) if place in read):
                    sent.add(place)
            case MatVec() if (key := counted_degrees(steps, step)) is not None:
                vectors[place] = vector_key(*key)
            case NodeIndicator(nodes=nodes, loops=loops) if (nodes or loops) and is_labels_alone(step):
                vectors[place] = vector_key(step)
    outputs = {term.output for term in operator.terms}
    totals = {place for term in operator.terms for place in term.totals}
    order = schedule(steps, operator.terms)
    summed = totals.difference(outputs, *reads)
    ordered = tuple(sorted(totals))
    factors = [_factors(steps, place, vectors) for place in ordered]
    sums = None
    if outputs == {None} and all(each is not None for each in factors):
        sums = cached_sums([each for each in factors if each is not None], ordered, operator.terms)
    along = {place for message, read in enumerate(reads) if message not in vectors for place in read}
    counted = frozenset(sent.difference(along))
    return Facts(
        matrices, frozenset(sent), counted, vectors, order, _unused(operator, order), frozenset(summed), ordered, sums
    )


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


def _unused(operator: Eliminate, order: Sequence[int | Among]) -> tuple[tuple[int, ...], ...]:
    """Return for each place in the order the steps over vertices that nothing reads after it.

    What terms and pairs read is read after all.
    """
    steps = operator.steps
    last: dict[int, int] = {}
    for k, each in enumerate(order):
        for place in (*each.steps, *each.by_root) if isinstance(each, Among) else (each,):
            last[place] = k
            if not isinstance(steps[place], Pairs):
                last |= dict.fromkeys(operands(steps[place]), k)
    for step in steps:
        if isinstance(step, Pairs):
            last |= dict.fromkeys(operands(step), len(order))
    for term in operator.terms:
        last |= dict.fromkeys(term.totals if term.output is None else (*term.totals, term.output), len(order))
    return tuple(tuple(place for place, at in last.items() if at == k) for k in range(len(order)))
