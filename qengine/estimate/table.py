"""Estimates of all connected parts of a pattern at once: what a planner's table of cardinalities holds."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from qengine._printable import printable_line
from qengine.errors import Notice, QueryTimeout, Unsupported
from qengine.estimate.bound import upper_bounds
from qengine.estimate.kernel import SampleRange, draw
from qengine.estimate.norms import Reader
from qengine.estimate.result import Estimate, Sums, interval
from qengine.estimate.target import sound_root, target_of
from qengine.exec.common.masks import Masks
from qengine.exec.common.pipeline import runtime_of
from qengine.exec.common.resolve import ResolvedSearch, resolve
from qengine.exec.context import ExecutionContext
from qengine.exec.view import ExecView
from qengine.plan.levels import links, reordered, without_order
from qengine.plan.pattern import QueryGraph
from qengine.plan.physical import PhysicalPlan, Search, VertexLevel

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_VERTICES = 10
_FIRST_ROUND = 64  # samples of each order, where the time is limited
_LARGEST_ROUND = 1 << 24
_LOOKED_UP = 1 << 16  # vertices that a condition leaves, which are counted
_HARD = 1.08  # times its budget may an estimate take, by what looks at the time


class EstimateTable(Mapping[frozenset[str], Estimate]):
    """An estimate for each connected set of a pattern's nodes: of the rows of the part between them.

    Nodes that the query doesn't name have names that begin with ``@``. ``notices``: warnings, as those of an estimate.
    ``pattern``: what the parts are of, by which they are found again in a query that is given the table as
    ``cardinalities``; None where it is more than a pattern with conditions on single nodes and relationships.
    """

    def __init__(
        self,
        estimates: Mapping[frozenset[str], Estimate],
        notices: tuple[Notice, ...] = (),
        pattern: QueryGraph | None = None,
    ) -> None:
        self.notices = notices
        self.pattern = pattern
        self._estimates = dict(sorted(estimates.items(), key=lambda item: (len(item[0]), sorted(item[0]))))

    def __getitem__(self, nodes: frozenset[str]) -> Estimate:
        return self._estimates[frozenset(nodes)]

    def __iter__(self) -> Iterator[frozenset[str]]:
        return iter(self._estimates)

    def __len__(self) -> int:
        return len(self._estimates)

    def rows(self, nodes: frozenset[str]) -> float | None:
        """Return the estimated rows of the part between these nodes; None where it is none or nothing was hit."""
        found = self._estimates.get(nodes)
        return found.value if found is not None and (found.is_exact or found.hits) else None

    def to_json(self) -> str:
        """Return a JSON list of objects: ``nodes``, and the attributes of the estimate."""
        return json.dumps([{"nodes": sorted(nodes), **found.to_dict()} for nodes, found in self._estimates.items()])

    def to_arrow(self) -> pa.Table:
        """Return a row for each part: ``nodes``, a list of names, and the numbers of its estimate.

        The columns: ``nodes`` (list of string), ``value``, ``low``, ``high``, ``upper_bound`` (double, infinite where
        nothing bounds it), ``samples``, ``hits`` (int64), ``is_exact`` (bool); small parts first. Engines in other
        languages take the table through Arrow's C data interface: ``to_arrow().to_reader()._export_to_c`` writes
        it to an ``ArrowArrayStream``. What knows the PyCapsule interface takes an ``EstimateTable`` as it is.
        """
        import pyarrow as pa

        found = list(self._estimates.values())
        nodes = pa.array([sorted(names) for names in self._estimates], pa.list_(pa.string()))
        numbers = {name: pa.array([getattr(each, name) for each in found], kind) for name, kind in _columns(pa)}
        return pa.table({"nodes": nodes, **numbers})

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export ``to_arrow`` as a PyCapsule of an ``ArrowArrayStream`` (Arrow's PyCapsule interface)."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        lines = [f"{printable_line(', '.join(sorted(nodes)))}: {found}" for nodes, found in self._estimates.items()]
        return "\n".join(lines)


def _columns(pa: Any) -> list[tuple[str, Any]]:
    real = [(name, pa.float64()) for name in ("value", "low", "high", "upper_bound")]
    return [*real, ("samples", pa.int64()), ("hits", pa.int64()), ("is_exact", pa.bool_())]


def estimate_all(
    plan: PhysicalPlan,
    store: ExecView,
    context: ExecutionContext,
    *,
    samples: int,
    confidence: float,
    seed: int | None,
    budget_ms: float | None = None,
    begin: float | None = None,
) -> EstimateTable:
    """Estimate the rows of every connected part of a pattern, with ``samples`` samples in all, fewer at a budget's end.

    ``begin``: when the budget began, by ``time.perf_counter``; None: now.

    Matching orders are chosen so that each connected set of nodes begins one of them. A sample that binds a whole order
    is a sample of each of its beginnings: the parts share the samples. Sums of a part that begins several orders are
    added.

    Raises
    ------
    Unsupported
        If the pattern has more than ten nodes, or conditions that can't be checked node by node.
    """
    begin = time.perf_counter() if begin is None else begin
    masks = Masks(runtime_of(store, context))
    target = target_of(sound_root(plan, store, masks))
    if target.tail is not None:
        raise Unsupported(
            "The parts of this pattern can't be estimated: it has conditions that only whole rows satisfy.",
            hint="Leave out the conditions that compare values other than numbers, and what follows the pattern.",
        )
    search = without_order(target.search)
    parts = _connected(links(search))
    orders = _orders(parts, _by_candidates(search, store, masks))
    seed = int.from_bytes(os.urandom(8), "little") if seed is None else seed % 2**64
    sums = dict.fromkeys(parts, Sums())
    bounds = upper_bounds(store, search, parts)
    share = max(1, samples // len(orders))

    def sample() -> None:
        paths = [_Path(reordered(search, order), store, masks) for order in orders]
        for path in paths:
            for nodes, part in path.beginnings:
                if not path.reaches(part):
                    bounds[nodes] = 0.0
        for first, count in _rounds(share, budget_ms is not None):
            for number, path in enumerate(paths):
                drawn = path.draw(context, seed, number * share + first, count)
                for nodes, part in path.beginnings:
                    sums[nodes] += drawn[len(part.levels) - 1] if path.reaches(part) else Sums(samples=count)
                if budget_ms is not None and time.perf_counter() >= begin + budget_ms / 1e3:
                    return

    if budget_ms is None:
        sample()
    else:
        _until(context, begin + _HARD * budget_ms / 1e3, sample)
    seconds = time.perf_counter() - begin
    return EstimateTable(
        {nodes: _estimated(nodes, sums[nodes], bounds[nodes], confidence, seconds, seed) for nodes in parts}
    )


def _until(context: ExecutionContext, end: float, sample: Callable[[], None]) -> None:
    """Sample until ``end``, by ``time.perf_counter``."""
    try:
        with context.within(1e3 * (end - time.perf_counter())):
            sample()
    except QueryTimeout:
        context.check()


class _Path:
    """An order of a search's vertices. ``beginnings``: the parts that it begins with, each with its nodes."""

    def __init__(self, path: Search, store: ExecView, masks: Masks) -> None:
        self.beginnings = [
            (nodes, Search(path.input, path.levels[: last + 1], 0, ())) for nodes, last in beginnings(path)
        ]
        self._longest = _longest_resolved((part for _, part in reversed(self.beginnings)), store, masks)

    def reaches(self, part: Search) -> bool:
        """Tell whether the graph has candidates for each level of a beginning."""
        return self._longest is not None and len(part.levels) <= self._longest[0]

    def draw(self, context: ExecutionContext, seed: int, first: int, samples: int) -> tuple[Sums, ...]:
        """Return the sums of samples ``[first, first + samples)`` at each level that is reached."""
        if self._longest is None:
            return ()
        depth, resolved = self._longest
        plan = int(resolved.plan.ctypes.data)
        return draw(plan, "alley", context, SampleRange(seed, first, samples), depth=depth).levels


def _rounds(samples: int, looks_at_time: bool) -> Iterator[tuple[int, int]]:
    """Yield the first and the number of the samples of each round: all in one, or few first where time is short."""
    first, count = 0, _FIRST_ROUND if looks_at_time else samples
    while first < samples:
        count = min(count, samples - first, _LARGEST_ROUND)
        yield first, count
        first += count
        count = first


def _longest_resolved(parts: Iterable[Search], store: ExecView, masks: Masks) -> tuple[int, ResolvedSearch] | None:
    """Return the first of some searches that the graph has candidates for at all, with its depth."""
    for part in parts:
        resolved = resolve(store, part, masks)
        if resolved is not None:
            return len(part.levels), resolved
    return None


def _estimated(
    nodes: frozenset[str], sums: Sums, bound: float, confidence: float, seconds: float, seed: int
) -> Estimate:
    if bound == 0 or (sums.samples and len(nodes) == 1 and sums.hits == sums.samples and sums.relative_error == 0):
        return Estimate(sums.mean, sums.mean, sums.mean, 0, 0, "exact", True, sums.mean, seconds)
    low, high = interval(sums, confidence)
    value = min(sums.mean, bound)
    low, high = min(low, value), max(min(high, bound), value)
    return Estimate(value, low, high, sums.samples, sums.hits, "alley", False, bound, seconds, seed=seed)


def beginnings(path: Search) -> Iterator[tuple[frozenset[str], int]]:
    """Yield each beginning of an order: its nodes, and its last level (relationships between them included)."""
    names: list[str] = []
    for index, level in enumerate(path.levels):
        if isinstance(level, VertexLevel):
            names.append(level.name)
        following = path.levels[index + 1] if index + 1 < len(path.levels) else None
        if following is None or isinstance(following, VertexLevel):
            yield frozenset(names), index


def _connected(joined: Mapping[str, set[str]]) -> set[frozenset[str]]:
    if len(joined) > _MOST_VERTICES:
        raise Unsupported(
            f"A pattern of {len(joined)} nodes has too many parts to estimate them all: the limit is {_MOST_VERTICES}.",
            hint="Estimate parts of it by themselves.",
        )
    found = {frozenset((name,)) for name in joined}
    fresh = found
    while fresh:
        fresh = {
            nodes | {other} for nodes in fresh for name in nodes for other in joined[name] if other not in nodes
        } - found
        found = found | fresh
    return found


def _by_candidates(search: Search, store: ExecView, masks: Masks) -> list[str]:
    """Return the names of a search's vertices, those first that conditions leave fewest of."""
    reader = Reader(store, search, resolve(store, search, masks), _LOOKED_UP)
    sizes = {level.name: reader.size(k) for k, level in enumerate(search.levels) if isinstance(level, VertexLevel)}
    return sorted(sizes, key=lambda name: sizes[name])


def _orders(parts: set[frozenset[str]], names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return few orders such that each part begins one: the largest part that none begins yet, stripped node by node.

    Of the nodes whose removal leaves a part, one that leaves a part of no order so far is removed first; of these the
    last of ``names``, so that orders begin with its first ones: samples that begin with few are soon all there are.
    """
    orders: list[tuple[str, ...]] = []
    missing = set(parts)
    for part in sorted(parts, key=lambda nodes: (-len(nodes), [names.index(name) for name in sorted(nodes)])):
        if part not in missing:
            continue
        order: list[str] = []
        left = part
        while left:
            missing.discard(left)
            smaller = sorted(
                (name for name in left if len(left) == 1 or left - {name} in parts), key=names.index, reverse=True
            )
            name = next((each for each in smaller if left - {each} in missing), smaller[0])
            order.append(name)
            left = left - {name}
        orders.append(tuple(reversed(order)))
    return orders
