"""Users' estimators in vectorised NumPy: many samples go through the levels together, as columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from qengine._cached import cached_property
from qengine.errors import ExecutionError, QengineError, SemanticError, described
from qengine.estimate.result import Sums
from qengine.exec.common.columns import NodeColumn, RelationshipColumn, numbers_from
from qengine.exec.common.lists_read import type_indices
from qengine.exec.common.masks import Masks
from qengine.exec.view import ExecView
from qengine.plan.expr import Comparison, Property, Variable
from qengine.plan.pattern import Direction
from qengine.plan.physical import ColumnCondition, EdgeLevel, Search, Source, VertexLevel
from qengine.storage.adjacency import Adjacency
from qengine.types import NODE, RELATIONSHIP

_Ids = npt.NDArray[np.int64]
_Truth = npt.NDArray[np.bool_]

_MOST_PLACES = 1 << 21  # candidates of the samples that go through a level together


class BatchStep:
    """What an estimator sees of many samples at one level. A candidate is a vertex id, or a relationship's global id.

    Attributes
    ----------
    index
        Number of the level.
    level
        The level, a ``VertexLevel`` or ``EdgeLevel`` of ``qengine.plan.physical``.
    bound
        int64[samples, index]: ids that the earlier levels are bound to.
    values
        int64[candidates]: all candidates, those of one sample beside each other. Where nothing has led to the level
        they are its own vertices, once, for all samples together.
    owners
        int64[candidates]: the row of ``bound`` that each is a candidate of, ascending; None for all.
    """

    def __init__(
        self,
        view: _View,
        bound: _Ids,
        values: _Ids,
        owners: _Ids | None,
        allowed: _Truth,
        source: Source | None = None,
    ) -> None:
        index = bound.shape[1]
        self.index, self.level = index, view.search.levels[index]
        self.bound, self.values, self.owners = bound, values, owners
        self._view, self._allowed, self._source = view, allowed, source

    @property
    def of_nodes(self) -> bool:
        """Whether the candidates are vertices; else they are relationships between two vertices that are bound."""
        return isinstance(self.level, VertexLevel)

    @cached_property
    def admitted(self) -> npt.NDArray[np.bool_]:
        """bool[candidates]: which candidates the level admits. For all samples together: which some sample may have."""
        if self.owners is None:
            return self._allowed
        found = self._allowed.copy()
        rows = np.flatnonzero(found)
        found[rows] = self._fit(self.owners[rows], rows)
        return found

    def _fit(self, owners: npt.NDArray[np.int64], places: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Return whether candidates at some places, each for a sample, satisfy what relates them to earlier levels."""
        return self._view.fits(self.index, self.bound[owners], self.values[places], self._source)


class BatchEstimator:
    """Base of users' estimators in vectorised NumPy: some hundred thousand samples a second.

    ``name`` appears in the estimate. ``weights`` says how likely each candidate is picked; the rest is done for it: one
    is picked for each sample, the sample's weight is divided by the probability, and it ends where the level doesn't
    admit what was picked. The estimate is unbiased if each candidate that is ``admitted`` has a weight. The default
    picks among those that fit, as Alley does. For example one that likes hubs::

        class Hubs(BatchEstimator):
            name = "hubs"

            def __init__(self, degrees):
                self.degrees = degrees  # float64, by vertex id

            def weights(self, step):
                likely = self.degrees[step.values] if step.of_nodes else 0.0
                return step.admitted * (1.0 + likely)
    """

    name = "batch"

    def weights(self, step: BatchStep) -> npt.NDArray[np.float64]:
        """Return float64[candidates]: relative to a sample's others, how likely each candidate is picked; 0: never."""
        return step.admitted.astype(np.float64)


class BatchSampler:
    """Draws the samples of a ``BatchEstimator``; the same seed and numbers of samples give the same.

    ``search``: without seeds. ``check`` is called at each level and raises where sampling must stop.

    Raises
    ------
    SemanticError
        Where ``weights`` returns what it must not.
    ExecutionError
        ``EstimatorFailed`` where it raises an error, which is its ``__cause__``.
    """

    batch = 8_192
    soon = 1_024

    def __init__(
        self,
        store: ExecView,
        search: Search,
        masks: Masks,
        estimator: BatchEstimator,
        seed: int,
        check: Callable[[], None],
    ) -> None:
        self.name = estimator.name
        self._view = _View(store, search, masks)
        self._estimator, self._seed, self._check = estimator, seed, check

    def draw(self, first: int, samples: int) -> Sums:
        """Return the sums of samples ``[first, first + samples)``, orbits included."""
        random = np.random.default_rng([self._seed, first])
        weights = np.concatenate([np.zeros(0), *self._weights(random, np.empty((samples, 0), np.int64))])
        work = samples * len(self._view.search.levels)
        sums = Sums(samples, len(weights), float(weights.sum()), float(np.square(weights).sum()), work)
        return sums.scaled(self._view.search.orbits)

    def _weights(self, random: np.random.Generator, bound: _Ids) -> Iterator[npt.NDArray[np.float64]]:
        """Yield the weights of the samples that reach the end, of parts of a batch."""
        waiting = [(bound, np.ones(len(bound)))]
        while waiting:
            bound, weights = waiting.pop()
            if bound.shape[1] == len(self._view.search.levels):
                yield weights
                continue
            self._check()
            cuts = self._view.cuts(bound.shape[1], bound)
            if len(cuts) > 2:
                waiting += [(bound[a:b], weights[a:b]) for a, b in pairwise(cuts)]
                continue
            step = self._view.step(bound)
            rows, picked, chances = self._picked(random, step)
            waiting.append((np.column_stack([bound[rows], picked]), weights[rows] / chances))

    def _picked(self, random: np.random.Generator, step: BatchStep) -> tuple[_Ids, _Ids, npt.NDArray[np.float64]]:
        """Return the rows of samples that go on, what they picked, and how likely that was."""
        given = self._given(step)
        kept = np.flatnonzero(given)
        ends = np.cumsum(given[kept])
        samples = len(step.bound)
        if step.owners is None:
            firsts, lasts = np.zeros(samples, np.int64), np.full(samples, len(kept), np.int64)
        else:
            owners = step.owners[kept]
            firsts, lasts = (np.searchsorted(owners, np.arange(samples), side) for side in ("left", "right"))
        rows = np.flatnonzero(lasts > firsts)
        firsts, lasts = firsts[rows], lasts[rows]
        before = np.where(firsts > 0, ends[firsts - 1], 0.0)
        whole = ends[lasts - 1] - before
        places = np.searchsorted(ends, before + random.random(len(rows)) * whole, "right").clip(firsts, lasts - 1)
        taken = kept[places]
        chances = given[taken] / whole
        if step.owners is not None and "admitted" in vars(step):
            good = step.admitted[taken]
        else:
            good = step._allowed[taken] & step._fit(rows, taken)
        return rows[good], step.values[taken][good], chances[good]

    def _given(self, step: BatchStep) -> npt.NDArray[np.float64]:
        where = f"{type(self._estimator).__name__}.weights"
        try:
            given = np.asarray(self._estimator.weights(step))
        except QengineError:
            raise
        except Exception as error:
            raise ExecutionError(
                f"{where} failed: {described(error)}",
                code="EstimatorFailed",
                hint="What it raised is this error's __cause__.",
            ) from error
        numbers = given.dtype.kind in "fiub" and given.shape == step.values.shape
        if not numbers or not np.isfinite(given).all() or (given < 0).any():
            raise SemanticError(
                f"{where} returned {given!r:.80}, not a finite number from 0 up for each candidate.",
                hint="Return step.admitted.astype(float), where each that fits is as likely.",
            )
        return given.astype(np.float64)


class _View:
    """A search over a graph, of which many samples are looked at together."""

    def __init__(self, store: ExecView, search: Search, masks: Masks) -> None:
        self.store, self.search, self._masks = store, search, masks
        self._own: dict[int, _Truth] = {}
        self._edges: dict[tuple[int, int], _Truth] = {}

    def step(self, bound: _Ids) -> BatchStep:
        """Return the level that samples come to."""
        index = bound.shape[1]
        level = self.search.levels[index]
        if isinstance(level, EdgeLevel):
            return BatchStep(self, bound, *self._relationships(index, level, bound))
        own = self._vertices(index, level)
        if not level.sources:
            values = np.flatnonzero(own)
            return BatchStep(self, bound, values, None, np.ones(len(values), np.bool_))
        source = self._shortest(level.sources, bound)
        owners, values, repeated = self._neighbours(source, bound)
        return BatchStep(self, bound, values, owners, own[values] & ~repeated, source)

    def cuts(self, index: int, bound: _Ids) -> list[int]:
        """Return where samples are cut so that few candidates are looked at together, with both ends."""
        level = self.search.levels[index]
        if isinstance(level, EdgeLevel) or not level.sources or len(bound) < 2:
            return [0, len(bound)]
        source = self._shortest(level.sources, bound)
        ends = np.cumsum(self._degrees(source, bound))
        if ends[-1] <= _MOST_PLACES:
            return [0, len(bound)]
        inner = np.searchsorted(ends, np.arange(_MOST_PLACES, ends[-1], _MOST_PLACES)).tolist()
        cuts = sorted({0, len(bound), *inner})
        return cuts if len(cuts) > 2 else [0, len(bound) // 2, len(bound)]

    def fits(self, index: int, bound: _Ids, values: _Ids, given: Source | None) -> _Truth:
        """Return whether candidates, each with its sample's ids, satisfy what relates the level to earlier ones.

        ``given``: the source that the candidates are from.
        """
        level = self.search.levels[index]
        found: _Truth = np.ones(len(values), np.bool_)
        for k in level.different:
            found &= bound[:, k] != values
        if isinstance(level, VertexLevel):
            for k in level.less:
                found &= values < bound[:, k]
            for k in level.greater:
                found &= values > bound[:, k]

            def at(k: int) -> _Ids:
                return values if k == index else bound[:, k]

            for a, b, c, d in level.pairs:
                found &= (at(a) != at(b)) | (at(c) != at(d))
            for source in level.sources:
                if source is given:
                    continue
                rows = np.flatnonzero(found)
                found[rows] = self._joined(source, bound[rows], values[rows])
        for condition in level.conditions:
            rows = np.flatnonzero(found)
            found[rows] = self._holds(condition, index, bound[rows], values[rows])
        return found

    def _vertices(self, index: int, level: VertexLevel) -> _Truth:
        """Return by vertex whether it has a level's labels and satisfies its own predicates."""
        if index not in self._own:
            own: _Truth = np.zeros(self.store.vertex_count, np.bool_)
            for begin, end in self.store.label_ranges(level.labels).tolist():
                fits = self._masks.vertex_mask(level.name, level.predicates, begin, end) if level.predicates else True
                own[begin:end] = fits
            self._own[index] = own
        return self._own[index]

    def _lists(self, source: Source) -> Iterator[Adjacency]:
        for index in type_indices(self.store, source.types):
            for way in source.direction.stored(self.store.types[index].undirected):
                yield self.store.adjacency(index, way)

    def _degrees(self, source: Source, bound: _Ids) -> _Ids:
        total: _Ids = np.zeros(len(bound), np.int64)
        for lists in self._lists(source):
            begins, ends = lists.locate_all(bound[:, source.level].astype(np.uint32))
            total += (ends - begins).astype(np.int64)
        return total

    def _shortest(self, sources: Sequence[Source], bound: _Ids) -> Source:
        if len(sources) == 1:
            return sources[0]
        return min(sources, key=lambda each: int(self._degrees(each, bound).sum()))

    def _neighbours(self, source: Source, bound: _Ids) -> tuple[_Ids, _Ids, _Truth]:
        """Return the owners and ids of all neighbours, by owners, and which repeat an earlier one of the same owner."""
        parts = []
        for lists in self._lists(source):
            owners, positions = _slices(*lists.locate_all(bound[:, source.level].astype(np.uint32)))
            parts.append((owners, lists.neighbours[positions].astype(np.int64)))
        if not parts:
            return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.bool_)
        owners, values = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        if len(parts) > 1:
            order = np.lexsort((values, owners))
            owners, values = owners[order], values[order]
        repeated: _Truth = np.zeros(len(values), np.bool_)
        repeated[1:] = (values[1:] == values[:-1]) & (owners[1:] == owners[:-1])
        return owners, values, repeated

    def _joined(self, source: Source, bound: _Ids, values: _Ids) -> _Truth:
        found: _Truth = np.zeros(len(values), np.bool_)
        for lists in self._lists(source):
            begins, ends = _equal(lists, bound[:, source.level], values)
            found |= ends > begins
        return found

    def _relationships(self, index: int, level: EdgeLevel, bound: _Ids) -> tuple[_Ids, _Ids, _Truth]:
        parts = []
        start, end = bound[:, level.start], bound[:, level.end]
        for kind in type_indices(self.store, level.types):
            info = self.store.types[kind]
            both = info.undirected or level.direction is Direction.BOTH
            ways = [(start, end)] if both or level.direction is Direction.OUT else []
            if both or level.direction is Direction.IN:
                ways.append((end, start))
            out = self.store.adjacency(kind, Direction.OUT)
            for turn, (one, other) in enumerate(ways):
                begins, ends = _equal(out, one, other)
                if turn:  # a loop is there once
                    ends = np.where(one == other, begins, ends)
                owners, local = _slices(begins, ends)
                parts.append((owners, info.base + local, self._allowed(index, level, kind)[local]))
        if not parts:
            return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.bool_)
        owners, values, allowed = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        order = np.argsort(owners, kind="stable")
        return values[order], owners[order], allowed[order]

    def _allowed(self, index: int, level: EdgeLevel, kind: int) -> _Truth:
        if (index, kind) not in self._edges:
            count = self.store.types[kind].count
            whole = np.ones(count, np.bool_)
            if level.predicates:
                whole = np.asarray(self._masks.edge_mask(level.name, level.predicates, kind, 0, count), np.bool_)
            self._edges[index, kind] = whole
        return self._edges[index, kind]

    def _holds(self, condition: ColumnCondition, index: int, bound: _Ids, values: _Ids) -> _Truth:
        columns: dict[str, NodeColumn | RelationshipColumn] = {}
        sides = []
        for name, place, key in (
            ("left", condition.left, condition.left_key),
            ("right", condition.right, condition.right_key),
        ):
            of_node = isinstance(self.search.levels[place], VertexLevel)
            ids = np.ascontiguousarray(values if place == index else bound[:, place])
            columns[name] = (NodeColumn if of_node else RelationshipColumn)(ids)
            sides.append(Property(Variable(name, type=NODE if of_node else RELATIONSHIP), key))
        return self._masks.holds_of(Comparison((condition.op,), tuple(sides)), columns, len(values))


def _slices(begins: npt.NDArray[np.integer], ends: npt.NDArray[np.integer]) -> tuple[_Ids, _Ids]:
    """Return the owners and positions of all members of slices, the n-th slice's are owned by n."""
    first: _Ids = begins.astype(np.int64)
    lengths: _Ids = ends.astype(np.int64) - first
    owners = np.repeat(np.arange(len(lengths), dtype=np.int64), lengths)
    return owners, numbers_from(first, lengths)


def _equal(lists: Adjacency, vertices: _Ids, wanted: _Ids) -> tuple[_Ids, _Ids]:
    """Return the slices of vertices' lists that hold the wanted neighbour, found by halving."""
    found = []
    lows, highs = (each.astype(np.int64) for each in lists.locate_all(vertices.astype(np.uint32)))
    for above in (False, True):
        low, high = lows.copy(), highs.copy()
        rows = np.flatnonzero(low < high)
        while len(rows):
            middle = (low[rows] + high[rows]) // 2
            here = lists.neighbours[middle].astype(np.int64)
            smaller = here <= wanted[rows] if above else here < wanted[rows]
            low[rows] = np.where(smaller, middle + 1, low[rows])
            high[rows] = np.where(smaller, high[rows], middle)
            rows = rows[low[rows] < high[rows]]
        found.append(low)
    return found[0], found[1]
