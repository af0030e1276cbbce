"""The sampler in plain Python: the oracle of the native one, and the home of users' estimators.

An estimator says at each level which candidates a sample picks from (refine), which of them it takes and how likely
that was (sample), and whether the sample goes on (validate): the steps of gSWORD §3.1. ``WanderJoin`` and ``Alley``
are the built-in ones in these terms; they draw the very samples that the native sampler draws. Thousands of samples a
second.
"""

from __future__ import annotations

import operator
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from numbers import Real
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from qengine.errors import ExecutionError, QengineError, SemanticError, described
from qengine.estimate.kernel import philox
from qengine.estimate.result import Sums
from qengine.exec.common.lists_read import type_indices
from qengine.exec.view import ExecView, MaskProvider
from qengine.plan.pattern import Direction
from qengine.plan.physical import EdgeLevel, Search, Source, VertexLevel

Choose = Callable[[int], int]
"""Returns one of 0..n-1, each as likely as the others."""

_OPS = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_WIDE = 1 << 16
_CERTAIN = 1 + 1e-9  # a probability of 1, with what adding up others may leave


class Place:
    """A candidate where it stands in its list.

    ``value``: a vertex id, or a relationship's global id. ``repeated``: an earlier place holds the same vertex.
    ``allowed``: the relationship satisfies its own predicates.
    """

    __slots__ = ("allowed", "repeated", "value")

    def __init__(self, value: int, repeated: bool = False, allowed: bool = True) -> None:
        self.value = value
        self.repeated = repeated
        self.allowed = allowed


class _Own(Sequence[Place]):
    """A level's own vertices as places, which are made when they are asked for."""

    def __init__(self, vertices: npt.NDArray[np.int64]) -> None:
        self._vertices = vertices

    def __len__(self) -> int:
        return len(self._vertices)

    @overload
    def __getitem__(self, index: int) -> Place: ...
    @overload
    def __getitem__(self, index: slice) -> _Own: ...
    def __getitem__(self, index: int | slice) -> Place | _Own:
        found = self._vertices[index]
        return _Own(found) if isinstance(index, slice) else Place(int(found))


class Step:
    """What an estimator sees of a sample at one level.

    Attributes
    ----------
    index
        Number of the level.
    level
        The level, a ``VertexLevel`` or ``EdgeLevel`` of ``qengine.plan.physical``.
    bound
        Ids that the earlier levels are bound to.
    """

    def __init__(self, view: _View, index: int, bound: Sequence[int]) -> None:
        self._view = view
        self.index = index
        self.level = view.search.levels[index]
        self.bound = tuple(bound)
        self._source, self._places = view.places(index, self.bound)

    @property
    def places(self) -> Sequence[Place]:
        """Candidates of the source that has the fewest, in order; all admissible values are among them."""
        return self._places

    @property
    def admitted(self) -> Sequence[Place]:
        """The places that the level admits.

        Where nothing depends on the sample, as at most first levels, they are the same for all samples and cost
        nothing; else each place is looked at: neighbours of a vertex, as a rule.
        """
        if self._view.is_free(self.index):
            return self._places
        return [place for place in self._places if self.admits(place)]

    @property
    def has_source(self) -> bool:
        """Whether the candidates depend on the sample; else they are the level's own vertices."""
        return self._source is not None or isinstance(self.level, EdgeLevel)

    def admits(self, place: Place) -> bool:
        """Tell whether the level may be bound to a place's value. No value is admitted at two places."""
        return self._view.is_free(self.index) or self._view.admits(self.index, self.bound, place, self._source)


class Estimator(ABC):
    """Base of users' estimators. ``name`` appears in the estimate.

    The estimate is unbiased if every value that the level admits can be taken, ``sample`` tells its true probability,
    and ``validate`` rejects the values that are not admitted. A level that nothing has led to has all vertices of its
    labels as places: take of them by ``len`` and index, as ``admitted`` lets you, and a sample costs the degrees of the
    vertices that it passes. For example, half of the time the first::

        class FavoursTheFirst(Estimator):
            name = "first"

            def refine(self, step):
                return step.admitted

            def sample(self, step, refined, choose):
                n = len(refined)
                if n == 1:
                    return refined[0], 1.0
                choice = choose(2 * n - 2)
                return (refined[0], 0.5) if choice < n - 1 else (refined[choice - n + 2], 0.5 / (n - 1))

            def validate(self, step, place):
                return True

        graph.estimate("MATCH (a)-->(b)-->(c)", method=FavoursTheFirst())
    """

    name = "estimator"

    @abstractmethod
    def refine(self, step: Step) -> Sequence[Place]:
        """Return the places to pick from; none ends the sample."""

    def sample(self, step: Step, refined: Sequence[Place], choose: Choose) -> tuple[Place, float]:
        """Return one of them and its probability. The default: each is as likely."""
        return refined[choose(len(refined))], 1 / len(refined)

    @abstractmethod
    def validate(self, step: Step, place: Place) -> bool:
        """Tell whether the sample goes on with this place."""


class WanderJoin(Estimator):
    """Picks any candidate, and sees afterwards whether it fits (Li et al., SIGMOD 2016)."""

    name = "wanderjoin"

    def refine(self, step: Step) -> Sequence[Place]:
        """Return all places."""
        return step.places

    def validate(self, step: Step, place: Place) -> bool:
        """Tell whether the level admits the place."""
        return step.admits(place)


class Alley(Estimator):
    """Picks among the candidates that fit (Kim et al., SIGMOD 2021, without branching and synopses)."""

    name = "alley"

    def refine(self, step: Step) -> Sequence[Place]:
        """Return the places that the level admits; all where they are the level's own vertices."""
        return step.admitted if step.has_source else step.places

    def validate(self, step: Step, place: Place) -> bool:
        """Tell whether the level admits the place, which refinement has seen to where there is a source."""
        return step.has_source or step.admits(place)


class ReferenceSampler:
    """Draws the samples of an estimator one by one.

    Parameters
    ----------
    store
        The ``GraphStore``.
    search
        A search without seeds.
    masks
        Evaluates predicates of single variables.
    seed
        Of the samples' random numbers.
    check
        Called before each sample; raises where sampling must stop.
    deadline
        ``time.perf_counter`` value after which no sample is begun but the first.

    Raises
    ------
    SemanticError
        Where a method of the estimator returns what it must not.
    ExecutionError
        ``EstimatorFailed`` where one raises an error, which is its ``__cause__``.
    """

    batch = 256
    soon = 16

    def __init__(
        self,
        store: ExecView,
        search: Search,
        masks: MaskProvider,
        estimator: Estimator,
        seed: int,
        check: Callable[[], None] | None = None,
        deadline: float | None = None,
    ) -> None:
        self.name = estimator.name
        self._view = _View(store, search, masks)
        self._estimator = estimator
        self._seed = seed
        self._check = check
        self._deadline = deadline

    def draw(self, first: int, samples: int) -> Sums:
        """Return the sums of samples ``[first, first + samples)``, orbits included; of fewer where the time is over."""
        weights: list[float] = []
        for number in range(first, first + samples):
            if weights and self._deadline is not None and time.perf_counter() >= self._deadline:
                break
            weights.append(self.weigh(number))
        samples = len(weights)
        orbits = self._view.search.orbits
        hits = sum(weight > 0 for weight in weights)
        work = samples * len(self._view.search.levels)
        square = sum(weight * weight for weight in weights)
        return Sums(samples, hits, float(sum(weights)), float(square), work).scaled(orbits)

    def weigh(self, number: int) -> float:
        """Return the weight of one sample: 0 where it isn't an embedding."""
        if self._check is not None:
            self._check()
        bound: list[int] = []
        weight = 1.0
        for index in range(len(self._view.search.levels)):
            step = Step(self._view, index, bound)
            refined = _refined(self._estimator, step)
            if not len(refined):
                return 0.0
            place, probability = _sampled(self._estimator, step, refined, _Draws(self._seed, number, index))
            if not _validated(self._estimator, step, place):
                return 0.0
            bound.append(place.value)
            weight /= probability
        return weight


def _refined(estimator: Estimator, step: Step) -> Sequence[Place]:
    with _Named(estimator, "refine"):
        found = estimator.refine(step)
    if not isinstance(found, Sequence | np.ndarray) or isinstance(found, str | bytes):
        raise _wrong(estimator, "refine", found, "a sequence of places", "step.admitted")
    return found


def _sampled(estimator: Estimator, step: Step, refined: Sequence[Place], choose: Choose) -> tuple[Place, float]:
    with _Named(estimator, "sample"):
        found = estimator.sample(step, refined, choose)
    if not isinstance(found, tuple) or len(found) != 2 or not isinstance(found[0], Place):
        raise _wrong(estimator, "sample", found, "a place and its probability", "refined[k], 1 / len(refined)")
    probability = found[1]
    if isinstance(probability, bool) or not isinstance(probability, Real) or not 0 < probability <= _CERTAIN:
        hint = "1 / len(refined), where each place is as likely"
        raise _wrong(estimator, "sample", probability, "a probability above 0 and at most 1", hint)
    return found[0], float(probability)


def _validated(estimator: Estimator, step: Step, place: Place) -> bool:
    with _Named(estimator, "validate"):
        found = estimator.validate(step, place)
    if not isinstance(found, bool | np.bool_):
        raise _wrong(estimator, "validate", found, "True or False", "step.admits(place)")
    return bool(found)


class _Named:
    """Says of an error in a method of an estimator whose it is; entered for each place of a sample, so it is light."""

    __slots__ = ("_estimator", "_method")

    def __init__(self, estimator: Estimator, method: str) -> None:
        self._estimator, self._method = estimator, method

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception) and not isinstance(error, QengineError):
            where = f"{type(self._estimator).__name__}.{self._method}"
            raise ExecutionError(
                f"{where} failed: {described(error)}",
                code="EstimatorFailed",
                hint="What it raised is this error's __cause__.",
            ) from error


def _wrong(estimator: Estimator, method: str, found: object, wanted: str, example: str) -> SemanticError:
    return SemanticError(
        f"{type(estimator).__name__}.{method} returned {found!r:.80}, not {wanted}.", hint=f"Return {example}."
    )


def expectation(store: ExecView, search: Search, masks: MaskProvider, estimator: Estimator) -> float:
    """Return the mean weight over all ways that an estimator's samples can go, each with its probability.

    For tiny graphs: every value of every random number is tried. An unbiased estimator gives the true count.
    """
    view = _View(store, search, masks)

    def below(bound: list[int]) -> float:
        if len(bound) == len(search.levels):
            return 1.0
        step = Step(view, len(bound), bound)
        refined = _refined(estimator, step)
        total = 0.0
        for k in range(len(refined)):
            place, probability = _sampled(estimator, step, refined, lambda n, k=k: k)  # type: ignore[misc]
            if _validated(estimator, step, place):
                total += below([*bound, place.value]) / probability / len(refined)
        return total

    return below([]) * search.orbits


class _Draws:
    """The random numbers of one sample at one level, as in ``kernels/include/qe/sample.h``."""

    def __init__(self, seed: int, number: int, level: int) -> None:
        self._seed, self._number, self._level = seed, number, level
        self._calls = 0

    def __call__(self, n: int) -> int:
        """Return one of 0..n-1. Only the first number of a level is the native sampler's.

        Raises
        ------
        SemanticError
            If ``n`` is no number of choices.
        """
        if not isinstance(n, int | np.integer) or n < 1:
            raise SemanticError(
                f"An estimator called choose({n!r:.80}).", hint="Call it with the number of choices, at least 1."
            )
        n = int(n)
        call, self._calls = self._calls, self._calls + 1
        word = philox(self._number, (call << 34) + self._level // 4, self._seed)[self._level % 4]
        if n <= _WIDE:
            return word * n >> 32
        more = philox(self._number, (call << 34) + (1 << 32) + self._level, self._seed)[0]
        return ((word << 32) + more) * n >> 64


def _depends_on_nothing(level: VertexLevel) -> bool:
    return not (level.sources or level.different or level.less or level.greater or level.pairs or level.conditions)


class _View:
    """A search over a graph, looked at level by level."""

    def __init__(self, store: ExecView, search: Search, masks: MaskProvider) -> None:
        self.store = store
        self.search = search
        self._masks = masks
        self._ranges = [
            store.label_ranges(level.labels).tolist() if isinstance(level, VertexLevel) else []
            for level in search.levels
        ]
        self._allowed: dict[int, Any] = {}
        self._own: dict[int, _Own] = {}
        self._free = [isinstance(level, VertexLevel) and _depends_on_nothing(level) for level in search.levels]

    def is_free(self, index: int) -> bool:
        """Tell whether a level admits all its own vertices, whatever the sample is bound to."""
        return self._free[index]

    def places(self, index: int, bound: tuple[int, ...]) -> tuple[Source | None, Sequence[Place]]:
        level = self.search.levels[index]
        if isinstance(level, EdgeLevel):
            return None, [Place(id, allowed=fits) for id, fits in self._relationships(index, level, bound)]
        if not self._ranges[index]:
            return None, []
        low = max([self._ranges[index][0][0], *(bound[k] + 1 for k in level.greater)])
        high = min([self._ranges[index][-1][1], *(bound[k] for k in level.less)])
        if low >= high:
            return None, []
        if not level.sources:
            return None, self._own_places(index, level)
        found = [(source, self._neighbours(source, bound, low, high)) for source in level.sources]
        return min(found, key=lambda each: len(each[1]))

    def _own_places(self, index: int, level: VertexLevel) -> _Own:
        if index not in self._own:
            parts = [np.empty(0, np.int64)]
            for begin, end in self._ranges[index]:
                vertices = np.arange(begin, end, dtype=np.int64)
                if level.predicates:
                    fits = self._masks.vertex_mask(level.name, level.predicates, begin, end)
                    vertices = vertices[np.asarray(fits, np.bool_)]
                parts.append(vertices)
            self._own[index] = _Own(np.concatenate(parts))
        return self._own[index]

    def admits(self, index: int, bound: tuple[int, ...], place: Place, source: Source | None) -> bool:
        level = self.search.levels[index]
        values = (*bound, place.value)
        if place.repeated or not place.allowed or any(bound[k] == place.value for k in level.different):
            return False
        if isinstance(level, VertexLevel):
            v = place.value
            fits = (
                any(begin <= v < end for begin, end in self._ranges[index])
                and self._masked(index, level, v)
                and all(v < bound[k] for k in level.less)
                and all(v > bound[k] for k in level.greater)
                and all(self._joined(each, bound, v) for each in level.sources if each is not source)
                and not any(values[a] == values[b] and values[c] == values[d] for a, b, c, d in level.pairs)
            )
            if not fits:
                return False
        return all(self._holds(each, values) for each in level.conditions)

    def _lists(self, source: Source, vertex: int) -> Iterator[list[int]]:
        for index in type_indices(self.store, source.types):
            for way in source.direction.stored(self.store.types[index].undirected):
                lists = self.store.adjacency(index, way)
                begin, end = lists.locate(vertex)
                yield lists.neighbours[begin:end].tolist()

    def _neighbours(self, source: Source, bound: tuple[int, ...], low: int, high: int) -> list[Place]:
        places: list[Place] = []
        seen: set[int] = set()
        for neighbours in self._lists(source, bound[source.level]):
            for v in neighbours:
                if low <= v < high:
                    places.append(Place(v, v in seen))
                seen.add(v)
        return places

    def _joined(self, source: Source, bound: tuple[int, ...], vertex: int) -> bool:
        return any(vertex in neighbours for neighbours in self._lists(source, bound[source.level]))

    def _masked(self, index: int, level: VertexLevel, vertex: int) -> bool:
        if not level.predicates:
            return True
        if index not in self._allowed:
            self._allowed[index] = {
                begin + k
                for begin, end in self._ranges[index]
                for k, fits in enumerate(self._masks.vertex_mask(level.name, level.predicates, begin, end))
                if fits
            }
        return vertex in self._allowed[index]

    def _relationships(self, index: int, level: EdgeLevel, bound: tuple[int, ...]) -> Iterator[tuple[int, bool]]:
        start, end = bound[level.start], bound[level.end]
        for kind in type_indices(self.store, level.types):
            info = self.store.types[kind]
            both = info.undirected or level.direction is Direction.BOTH
            ends = [(start, end)] if both or level.direction is Direction.OUT else []
            if start != end if both else level.direction is Direction.IN:
                ends.append((end, start))
            out = self.store.adjacency(kind, Direction.OUT)
            for u, v in ends:
                first, last = out.locate(u)
                for local in range(first, last):
                    if int(out.neighbours[local]) == v:
                        yield info.base + local, self._allows(index, level, kind, local)

    def _allows(self, index: int, level: EdgeLevel, kind: int, local: int) -> bool:
        if not level.predicates:
            return True
        masks = self._allowed.setdefault(index, {})
        if kind not in masks:
            count = self.store.types[kind].count
            masks[kind] = self._masks.edge_mask(level.name, level.predicates, kind, 0, count)
        return bool(masks[kind][local])

    def _holds(self, condition: Any, values: tuple[int, ...]) -> bool:
        left = self._property(condition.left, condition.left_key, values)
        right = self._property(condition.right, condition.right_key, values)
        return left is not None and right is not None and bool(_OPS[condition.op](left, right))

    def _property(self, index: int, key: str, values: tuple[int, ...]) -> Any:
        of_node = isinstance(self.search.levels[index], VertexLevel)
        (element,) = (self.store.nodes if of_node else self.store.relationships)([values[index]])
        return None if element is None else element.get(key)
