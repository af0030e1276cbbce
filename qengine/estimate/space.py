"""What samples are drawn from: the graph as it lies, or a candidate graph or its sketch where making one pays."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from qengine._frozen import frozen, replace
from qengine.estimate.bound import candidate_entries, multiplicity
from qengine.estimate.candidates import Candidates, sketch
from qengine.estimate.candidates import build as build_on_host
from qengine.estimate.narrowed import narrowed
from qengine.estimate.tail_bound import bound_of_target, times_at_most
from qengine.estimate.target import Target
from qengine.exec.candidates import LevelSignatures, level_signatures
from qengine.exec.common.masks import Masks
from qengine.exec.common.match_plan import LEVEL, PLAN, records
from qengine.exec.common.operator_cache import PerOperatorCache
from qengine.exec.common.pipeline import runtime_of
from qengine.exec.common.resolve import ResolvedSearch, resolve
from qengine.exec.context import ExecutionContext
from qengine.exec.view import ExecView
from qengine.plan.differing import differs
from qengine.plan.physical import Search

_ENTRIES_PER_SAMPLE = 4
"""Entries that may be gathered for each sample that is asked for: each costs less than a step of a sample."""

_ENTRIES_PER_MS = 20_000
"""The same for each millisecond: a fifth of the time at most goes into building."""

_READ_PER_SAMPLE = 80
_READ_PER_MS = 160_000
_LEAST_READ, _MOST_READ = 1 << 20, 1 << 24
"""The same of entries that are read for a sketch, each in some two nanoseconds: guiding pays around hubs."""

_LEAST_ENTRIES, _MOST_ENTRIES = 1 << 16, 1 << 22
_NO_LIMIT = 1 << 62

_LEAST_BUILT_MS = 2.0
"""Of a smaller budget nothing is left once a candidate graph is sketched."""

_MOST_KEPT = 1 << 16
"""Relationships in lists that are kept for later estimates of the same plan."""

_MOST_HELD = 1 << 17
"""Bytes of the same of what predicates admit."""

_resolved: PerOperatorCache[ResolvedSearch | None] = PerOperatorCache()
_prepared: PerOperatorCache[Prepared | None] = PerOperatorCache()

_LOOKED_UP_PER_MS, _MOST_LOOKED_UP = 1_000, 1 << 16

_SIGNED_VERTICES = 1 << 17
"""Vertices of a graph up to which candidates start from signatures: these are made when first asked for, at half a
microsecond a vertex or more."""


@frozen
class Space:
    """A plan to sample, and what it shows of the count.

    ``bound``: the count, orbits included, isn't greater; infinite where a tail follows that isn't bounded.
    """

    resolved: ResolvedSearch
    candidates: Candidates | None
    bound: float

    @property
    def plan(self) -> int:
        """Address of the plan that is sampled."""
        return int(self.resolved.plan.ctypes.data) if self.candidates is None else self.candidates.plan

    @property
    def roots(self) -> int:
        """How many vertices the first level picks from, before predicates that aren't looked up."""
        if self.candidates is not None:
            plan = records(self.candidates.outline(guided=False)[0], PLAN, 1)
            level = records(int(plan["levels"][0]), LEVEL, 1)[0]
        else:
            level = self.resolved.tables[0][0]
        if level["candidates"]:
            return int(level["n_candidates"])
        first, count = level["ranges"].tolist()
        ranges = self.resolved.tables[2][first : first + count]
        return int((ranges["end"].astype(np.int64) - ranges["begin"]).sum())

    @property
    def guide(self) -> int | None:
        """Address of what guides samples of the candidate graph; None where there is none."""
        return None if self.candidates is None else self.candidates.guide


class Prepared(NamedTuple):
    """What a target's search is resolved to, and what the target's count doesn't exceed."""

    resolved: ResolvedSearch
    bound: float


class Builder(Protocol):
    """Builds candidate graphs."""

    def __call__(
        self,
        plan: ResolvedSearch,
        context: ExecutionContext,
        most_entries: int,
        signatures: LevelSignatures | None,
        expected: int,
    ) -> Candidates | None:
        """Build one as ``candidates.build``. ``expected``: entries that it may have before predicates remove any."""


def on_host(
    plan: ResolvedSearch,
    context: ExecutionContext,
    most_entries: int,
    signatures: LevelSignatures | None,
    expected: int,
) -> Candidates | None:
    """Build one on the host."""
    return build_on_host(plan, context, most_entries, signatures)


def make_space(
    target: Target,
    store: ExecView,
    context: ExecutionContext,
    samples: int | None,
    milliseconds: float | None,
    guided: bool = False,
    build: Builder = on_host,
    ready: Prepared | None = None,
) -> Space | None:
    """Return what to sample for a target; None where there certainly is no embedding.

    ``guided``: whether there must be a candidate graph, however large. ``build``: makes it. ``ready``: what
    ``prepared`` returned for the same.
    """
    search = target.search
    ready = ready or prepared(target, store, context, milliseconds)
    if ready is None:
        return None
    resolved, bound = ready
    if milliseconds is not None and milliseconds < _LEAST_BUILT_MS and not guided:
        return Space(resolved, None, bound)
    candidates = None
    limit = _NO_LIMIT if guided else _entries(samples, milliseconds)
    expected = candidate_entries(store, search)
    if expected <= limit:
        signatures = level_signatures(store, search) if store.vertex_count <= _SIGNED_VERTICES else None
        candidates = build(resolved, context, limit, signatures, expected)
    if candidates is None:
        candidates = sketch(resolved, context, _read(samples, milliseconds))
    if candidates is not None:
        if candidates.empty:
            return None
        most = candidates.bound * multiplicity(store, search) * search.orbits
        bound = min(bound, most * times_at_most(target, store)) if most else 0.0
    return Space(resolved, candidates, bound)


def prepared(
    target: Target, store: ExecView, context: ExecutionContext, milliseconds: float | None, masks: Masks | None = None
) -> Prepared | None:
    """Return what a target's search is resolved to, and a bound of the count; None where there is no embedding.

    Both are kept for later estimates of the same plan, unless that would take much memory.
    """
    search = target.search
    masks = masks or Masks(runtime_of(store, context))
    whole = _resolved.get(store, search, lambda: _resolve(store, search, masks))
    if whole is None:
        return None
    return _prepared.get(store, search, lambda: _prepare(target, store, whole, _looked_up(milliseconds), masks))


def _resolve(store: ExecView, search: Search, masks: Masks) -> tuple[ResolvedSearch | None, bool]:
    """Return what a search is resolved to; whether to keep that for later estimates of the same plan."""
    found = resolve(store, search, masks)
    keep = not differs(search) and (found is None or found.held <= _MOST_HELD)
    return (replace(found, reusable=True) if keep and found is not None else found), keep


def _prepare(
    target: Target, store: ExecView, resolved: ResolvedSearch, most: int, masks: Masks
) -> tuple[Prepared | None, bool]:
    """Return a search with lists of few relationships, and the target's bound; whether to keep that."""
    bound = bound_of_target(target, store, resolved, most, masks)
    keep = resolved.reusable and sum(len(few.start) for few in target.few.values()) <= _MOST_KEPT
    found = narrowed(resolved, target.search, target.few) if target.few else resolved
    return None if found is None else Prepared(found, bound), keep


def _looked_up(milliseconds: float | None) -> int:
    """Return how many vertices or relationships may be looked up for a bound: a tenth of the time goes into it."""
    return _MOST_LOOKED_UP if milliseconds is None else min(_MOST_LOOKED_UP, int(_LOOKED_UP_PER_MS * milliseconds))


def _entries(samples: int | None, milliseconds: float | None) -> int:
    return _within(samples, milliseconds, _ENTRIES_PER_SAMPLE, _ENTRIES_PER_MS, _LEAST_ENTRIES, _MOST_ENTRIES)


def _read(samples: int | None, milliseconds: float | None) -> int:
    return _within(samples, milliseconds, _READ_PER_SAMPLE, _READ_PER_MS, _LEAST_READ, _MOST_READ)


def _within(samples: int | None, ms: float | None, per_sample: int, per_ms: int, least: int, most: int) -> int:
    wanted = most if samples is None else per_sample * samples
    if ms is not None:
        wanted, least = min(wanted, int(per_ms * ms)), min(least, int(per_ms * ms))
    return max(least, min(most, wanted))
