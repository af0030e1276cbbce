"""One estimate: counts where that is cheap, else chooses a sampler and lets it draw."""

from __future__ import annotations

import math
import os
import time
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field

from qengine._frozen import frozen, replace
from qengine.errors import QueryTimeout, Unsupported
from qengine.estimate.anytime import Goal, run
from qengine.estimate.choice import Trial, choose, error_after, hit_rarely, try_each
from qengine.estimate.device import (
    WORTH_SPREADING,
    DeviceBuilder,
    DeviceEstimator,
    DeviceSampler,
    DeviceTrawlingSampler,
    SpaceOnDevice,
    choose_device,
    device_sampler,
    device_trawling,
    on_device,
)
from qengine.estimate.lateness import Lateness, Stuck
from qengine.estimate.narrowed import begun_at, few_relationships
from qengine.estimate.norms import Reader
from qengine.estimate.prior import ENOUGH_HITS, Prior, together
from qengine.estimate.reference import Estimator, ReferenceSampler
from qengine.estimate.request import Request
from qengine.estimate.result import Estimate, Sums, interval
from qengine.estimate.sampler import MOST_WORK, PatternSampler, Sampler
from qengine.estimate.slices import SliceCount
from qengine.estimate.space import Builder, Prepared, Space, make_space, on_host, prepared
from qengine.estimate.tail_bound import bound_of_target, times_at_most
from qengine.estimate.target import Target, known_to_be_empty, sound_root, target_of
from qengine.estimate.trawling import other_spaces, trawler
from qengine.estimate.vectorised import BatchEstimator, BatchSampler
from qengine.exec.common.masks import Masks
from qengine.exec.common.operator_cache import PerOperatorCache
from qengine.exec.common.pipeline import run as run_exactly
from qengine.exec.common.pipeline import runtime_of
from qengine.exec.context import ExecutionContext
from qengine.exec.devices import asked_device
from qengine.exec.gpu import run as run_on_gpu
from qengine.exec.view import ExecView
from qengine.plan.differing import differs
from qengine.plan.physical import EdgeLevel, PhysicalPlan

_CHEAP = 20_000.0
"""Where there can't be more embeddings than this they are counted."""

_MOST_EXACT_WORK = 1 << 22
_WORK_PER_SAMPLE = 32
_WORK_PER_MS = 50_000

_TELLING = 0.12
"""Milliseconds of a budget, at most, that are left for telling what samples say."""

_HARD = 1.08
"""How many times its budget an estimate may take, by what looks at the time."""

_HAUL_PER_MS = 3_000
"""Ids that a haul's completions may read for each millisecond of the budget."""

_COUNTING_SHARE = 0.3
"""Of the time that is left, what counting may take before sampling is taken for cheaper."""

_COUNTING_ROWS_SHARE = 0.6
"""The same where few embeddings each go through more operators."""

_RARE = 8
"""How many times as much work counting may take where samples seldom hit: what is rare is soon counted, and samples say
little of it."""

_MOST_TIMES = 1 << 20
"""The same where time alone ends it."""

_SHORT = 0.02
"""Seconds in which trying each sampler would take too much, where what follows the pattern is run over samples."""

_NONE = Sums()

_FEW_RELATIONSHIPS, _FEW_PER_MS = 1 << 18, 4_000
"""Relationships that conditions may leave for lists of them to be made, in all and for each millisecond."""

_targets: PerOperatorCache[Target] = PerOperatorCache()
_begun_targets: PerOperatorCache[tuple[float, Target | None]] = PerOperatorCache()
"""What is sampled of a plan, so that what was resolved for it is found again."""

_too_long: PerOperatorCache[dict[float, int]] = PerOperatorCache()
"""How often a plan could not even be resolved by the end of a budget."""

_MOST_TRIES = 3
"""How often that is tried: what was read for it meanwhile, columns and their indexes, is there the next time."""

_stuck: PerOperatorCache[Stuck] = PerOperatorCache()
"""Where counting a plan by slices comes to nothing."""

_lateness: PerOperatorCache[Lateness] = PerOperatorCache()

_bounds: PerOperatorCache[float] = PerOperatorCache()
"""Bounds by statistics alone."""

_LEAST_PREPARATION = 10.0
"""Milliseconds that resolving may take under any budget, once a plan: what it finds is kept."""

_BUSY = 0.8
"""Of the time that resolving took too long, how much must be the processor's."""

_LEAST_MS, _LEAST_WALKS = 1_000, 1 << 18
"""Time or walks from which other matching orders are looked for, which takes some tenths of a second."""


def estimate(
    plan: PhysicalPlan,
    store: ExecView,
    context: ExecutionContext,
    request: Request,
    begin: float | None = None,
    prior: Prior | None = None,
) -> Estimate:
    """Estimate the only number that ``plan`` (one ``count(*)``) would give.

    Parameters
    ----------
    store
        The ``GraphStore``.
    context
        Parameters and limits; its timeout ends the estimate with an error, ``request.budget_ms`` with what is known.
    begin
        When the budget began, by ``time.perf_counter``; None: now.
    prior
        What statistics expect: it counts where a budget is given and samples hit seldom. Without it, and without
        samples, the value is 0 and the bound what is certain.

    Raises
    ------
    SemanticError, Unsupported
        If the request makes no sense, or the query is more than a pattern with conditions.
    """
    begin = time.perf_counter() if begin is None else begin
    request.check()
    if known_to_be_empty(plan.root):
        return _exactly(0.0, begin)
    known = _Known(begin, prior, request)
    if request.budget_ms is None:
        estimation = _estimation(plan, store, context, known)
        return estimation.run(estimation.prepare())
    lateness = _lateness.get(store, plan.root, lambda: (Lateness(), True))
    known.late = lateness.of(request.budget_ms)
    found = _within(request.budget_ms, plan, store, context, known)
    lateness.note(request.budget_ms, min(known.milliseconds(), known.busy()))
    return found


def _within(budget: float, plan: PhysicalPlan, store: ExecView, context: ExecutionContext, known: _Known) -> Estimate:
    """Return what an estimate finds until its budget, of milliseconds, is over."""
    end = _HARD * budget - known.late
    tried = _too_long.get(store, plan.root, lambda: ({}, True))
    if not any(budget <= longest and times >= _MOST_TRIES for longest, times in tried.items()):
        try:
            with context.within(max(end - known.milliseconds(), _LEAST_PREPARATION)):
                estimation = _estimation(plan, store, context, known)
                ready = estimation.prepare()
            with context.within(end - known.milliseconds()):
                return estimation.run(ready)
        except QueryTimeout:
            context.check()
            if not known.prepared and known.busy() > _BUSY * max(end, _LEAST_PREPARATION):  # else others took the time
                tried[budget] = tried.get(budget, 0) + 1
    if known.target is None and plan.careful is None:
        known.target = _target(store, plan)
    if known.target is not None and math.isinf(known.bound):
        target = known.target
        known.bound = _bounds.get(store, plan.root, lambda: (bound_of_target(target, store), True))
    return known.so_far()


def _target(store: ExecView, plan: PhysicalPlan) -> Target:
    return _targets.get(store, plan.root, lambda: (target_of(plan.root), True))


def _estimation(plan: PhysicalPlan, store: ExecView, context: ExecutionContext, known: _Known) -> _Estimation:
    """Return the estimate that is to be made, of the plan whose conditions fail nowhere."""
    request = known.request
    masks = Masks(runtime_of(store, context))
    plan = PhysicalPlan(sound_root(plan, store, masks), plan.columns)
    target = known.target = _target(store, plan)
    own = isinstance(request.method, Estimator | BatchEstimator | DeviceEstimator)
    if (
        request.method != "exact" and not own and _device_for(request, target) == "cpu"
    ):  # a device has the graph's lists
        most = _FEW_RELATIONSHIPS
        if request.budget_ms is not None:
            most = min(most, int(_FEW_PER_MS * request.budget_ms))
        target = _begun(target, store, masks, most)
    return _Estimation(plan, target, store, context, request, known, masks)


@dataclass
class _Known:
    """What an estimate has found so far, which counts when its time is over.

    ``begin``: by ``time.perf_counter``. ``seed``: of all samples. ``slices``, ``tried``: as far as they have come.
    ``late``: milliseconds by which it is to end earlier. ``counting``: how many those first slices had, and took of the
    processor.
    """

    begin: float
    prior: Prior | None
    request: Request
    target: Target | None = None
    bound: float = math.inf
    prepared: bool = False
    slices: SliceCount | None = None
    tried: dict[str, Trial] = field(default_factory=dict)
    late: float = 0.0
    counting: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        self._busy = time.thread_time()
        asked = self.request.seed
        self.seed = int.from_bytes(os.urandom(8), "little") if asked is None else asked % 2**64

    def left(self) -> float:
        """Return the seconds that are left of the budget."""
        return self.deadline - time.perf_counter()

    @property
    def deadline(self) -> float:
        """When samples end, by ``time.perf_counter``, so that telling what they say is within the budget, too."""
        budget = self.request.budget_ms
        if budget is None:
            return math.inf
        return self.begin + (budget - max(min(_TELLING, 0.2 * budget), self.late)) / 1e3

    def milliseconds(self) -> float:
        """Return how long it took so far."""
        return 1e3 * (time.perf_counter() - self.begin)

    def busy(self) -> float:
        """Return how many milliseconds of the processor its thread took so far."""
        return 1e3 * (time.thread_time() - self._busy)

    def so_far(self) -> Estimate:
        """Return what the slices or pilots say, whichever are closer."""
        slices = self.slices
        if slices is not None and slices.sums.samples and (slices.first or slices.error <= self._best_pilot()[0]):
            return self.of_slices(slices)
        _, name, sums = self._best_pilot()
        return self.told(sums, name)

    def _best_pilot(self) -> tuple[float, str, Sums]:
        name = self.request.method if isinstance(self.request.method, str) else self.request.method.name
        found = [
            (sums.relative_error**2 if sums.hits else math.inf, -sums.samples, name, sums)
            for name, sums in ((name, trial.sums) for name, trial in self.tried.items())
        ]
        error, _, name, sums = min(found, key=lambda each: each[:2], default=(math.inf, 0, name, _NONE))
        return error, name, sums

    def of_slices(self, slices: SliceCount) -> Estimate:
        """Return what the slices that were counted say."""
        return self.told(slices.sums, slices.name, exposure=slices.share, least=slices.total)

    def told(
        self, sums: Sums, name: str, device: str = "cpu", exposure: float | None = None, least: float = 0.0
    ) -> Estimate:
        """Return what samples say, together with statistics where none hits, or few and a budget was given.

        ``exposure``: as ``together`` wants it. ``least``: so many there are.
        """
        request, bound = self.request, self.bound
        low, high = interval(sums, request.confidence)
        value = sums.mean
        enough = (
            ENOUGH_HITS if request.budget_ms is not None else 1e-9
        )  # so many samples, to be averaged, stay unbiased
        if self.prior is not None and sums.effective_hits < enough:
            expected = self.prior(request.confidence)
            value = together(
                sums, sums.samples / max(bound, 1.0) if exposure is None else exposure, expected, request.confidence
            )
            if not sums.samples:
                low, high, name = expected.low, expected.high, "statistics"
        value = max(min(value, bound), least)
        return Estimate(
            value,
            min(max(low, least, min(1.0, value) if sums.hits else 0.0), value),
            max(min(high, bound), value),
            sums.samples,
            sums.hits,
            name,
            False,
            bound,
            time.perf_counter() - self.begin,
            device,
            self.seed,
        )


def _begun(target: Target, store: ExecView, masks: Masks, most: int) -> Target:
    """Return a target that begins where conditions on relationships leave few of them, if they do."""
    looked_at, known = _begun_targets.get(store, target.search, lambda: _find_begun(target, store, masks, most))
    if known is None and looked_at < most:  # another budget let less be looked at
        known = _find_begun(target, store, masks, most)[0][1]
    return target if known is None else known


def _find_begun(target: Target, store: ExecView, masks: Masks, most: int) -> tuple[tuple[float, Target | None], bool]:
    keep = not differs(target.search)
    few = few_relationships(store, target.search, masks, most)
    if not few:
        edges = any(isinstance(each, EdgeLevel) for each in target.search.levels)
        return (most if edges else math.inf, None), keep
    first = Reader(store, target.search, None, 0).size(0)
    search = begun_at(target.search, few, first)
    return (most, replace(target, search=search, few=few)), keep


@frozen
class _Estimation:
    """One estimate under way. ``lent``: keeps what is borrowed on the device."""

    plan: PhysicalPlan
    target: Target
    store: ExecView
    context: ExecutionContext
    request: Request
    known: _Known
    masks: Masks
    lent: ExitStack = field(default_factory=ExitStack)

    def prepare(self) -> Prepared | None:
        """Return what is sampled, resolved, where something is; the next estimate of the plan finds that if it can."""
        found = None
        if self.request.method != "exact":
            found = prepared(self.target, self.store, self.context, self.request.budget_ms, self.masks)
            if found is not None:
                self.known.bound = found.bound
        self.known.prepared = True
        return found

    def run(self, ready: Prepared | None) -> Estimate:
        """Return the estimate, given what ``prepare`` found."""
        device = _device_for(self.request, self.target)
        if device == "gpu":
            self.context.gpus = asked_device(self.request.device)[1]
        if self.request.method == "exact":
            return _count(self.plan, self.store, self.context, self.known.begin, device)
        with self.lent:
            if device == "gpu":
                self._use_gpus()
            space = None if ready is None else self._space(ready, device)
            if space is None or space.bound == 0:
                return _exactly(0.0, self.known.begin)
            self.known.bound = space.bound
            found = self._counted_at_once(space)
            return self._sampled(space, device) if found is None else found

    def _use_gpus(self) -> None:
        """Let the first of the GPUs that may be used be the current device from here on."""
        from qengine.exec.gpu.device import guarded, usable

        self.context.gpus = usable(self.context.gpus)
        self.lent.enter_context(guarded(self.context.gpus[0]))

    def _space(self, ready: Prepared, device: str) -> Space | None:
        """Return what to sample; None where there certainly is no embedding."""
        request = self.request
        build: Builder = DeviceBuilder(self.store, self.lent) if device == "gpu" else on_host
        guided = request.method == "guided"
        limits = request.walks, request.budget_ms
        return make_space(self.target, self.store, self.context, *limits, guided, build, ready)

    # -- counting ----------------------------------------------------------------------------------------------

    def _counted_at_once(self, space: Space) -> Estimate | None:
        """Return the count where the method is open and counting takes little."""
        if self.request.method != "auto":
            return None
        if self.target.tail is not None:
            return self._counted_rows(space)
        if space.bound <= _CHEAP and self.request.budget_ms is None:
            return _count(self.plan, self.store, self.context, self.known.begin, "cpu")
        slices = self.known.slices = SliceCount(self.target, space, self.context, self.known.seed)
        time_ms = 1e3 * _COUNTING_SHARE * self.known.left()
        if self._stuck().within(time_ms):
            return None
        busy = self.known.busy()
        try:
            return self._counted(slices)
        finally:
            self.known.counting = time_ms, self.known.busy() - busy
            if not slices.counted.samples:
                self._stuck().note(*self.known.counting)

    def _counted_rows(self, space: Space) -> Estimate | None:
        """Return the count where something follows the pattern, if few rows are expected.

        Where not even the pattern is known to have few embeddings, these are counted first.
        """
        known, few = self.known, space.bound <= _CHEAP
        if not few and self._expected() <= _CHEAP:
            slices = SliceCount(self.target, space, self.context, known.seed)
            with self._some_time(_COUNTING_SHARE):
                few = slices.go_on(_exact_work(self.request)) and slices.total <= _CHEAP
            self.context.check()
            if slices.complete:
                times = times_at_most(self.target, self.store) if slices.total else 0.0
                known.bound = min(known.bound, slices.total * times) if slices.total else 0.0
        if known.bound == 0:
            return _exactly(0.0, known.begin)
        if few:
            try:
                with self._some_time(_COUNTING_ROWS_SHARE):
                    return _count(self.plan, self.store, self.context, known.begin, "cpu")
            except QueryTimeout:
                self.context.check()
        return None

    def _expected(self) -> float:
        """Return what statistics expect of the count."""
        prior = self.known.prior
        return math.inf if prior is None else prior(self.request.confidence).value

    def _counted(self, slices: SliceCount, times: int = 1) -> Estimate | None:
        """Return the count if what is left of it takes little work; ``times``: as much as that so often."""
        with self._some_time(_COUNTING_SHARE):
            complete = slices.go_on(_exact_work(self.request, times))
        self.context.check()
        return _exactly(slices.total, self.known.begin) if complete else None

    def _some_time(self, share: float) -> AbstractContextManager[None]:
        """Limit a block to a share of what is left of the budget, if there is one."""
        if self.request.budget_ms is None:
            return nullcontext()
        return self.context.within(1e3 * share * self.known.left())

    # -- sampling ----------------------------------------------------------------------------------------------

    def _sampled(self, space: Space, device: str) -> Estimate:
        """Draw by the sampler that is asked for, or the one that looks best."""
        request = self.request
        deadline = None if request.budget_ms is None else self.known.deadline
        goal = Goal(request.confidence, request.rel_error, request.samples, deadline)
        sampling = _Sampling(self, space, device, self.known.seed)
        if isinstance(request.method, Estimator | BatchEstimator):
            return sampling.drawn(sampling.by_user(request.method, deadline), goal)
        samplers = sampling.samplers()
        name = request.method.name if isinstance(request.method, DeviceEstimator) else request.method
        if name == "auto":
            return self._best(sampling, samplers, goal)
        if name not in samplers:
            raise Unsupported(
                f"The method {name!r} can't take this query: trawling counts completions of a pattern alone, and "
                "inherits no samples.",
                hint='Use method="alley".',
            )
        return sampling.drawn(samplers[name], goal)

    def _best(self, sampling: _Sampling, samplers: dict[str, Sampler], goal: Goal) -> Estimate:
        """Try each sampler and go on with the best; where none hits often, count after all, or trawl."""
        if self.target.tail is not None and self.known.left() < _SHORT:
            return sampling.drawn(samplers.get("guided", samplers["alley"]), goal)
        slices = self.known.slices
        tried = self.known.tried = try_each(samplers, goal)
        if slices is not None and goal.timed_alone and self._slices_are_best(slices, tried):
            return self._by_slices(slices)
        if slices is not None and hit_rarely(tried):
            found = self._counted(slices, _RARE)
            if found is not None:
                return found
            if not self.request.inheritance:
                samplers["trawling"] = sampling.trawling(sampling.ways())
        if slices is not None and self.known.counting is not None:
            self._stuck().note(*self.known.counting, slices.share)
        sampler, goal, first = choose(samplers, tried, goal)
        return sampling.drawn(sampler, goal, first)

    def _stuck(self) -> Stuck:
        return _stuck.get(self.store, self.target.search, lambda: (Stuck(), True))

    def _by_slices(self, slices: SliceCount) -> Estimate:
        """Count slices until time is over: a sample of all where it isn't enough for these."""
        with self._some_time(1.0):
            complete = slices.sample_others(_exact_work(self.request, _MOST_TIMES))
        self.context.check()
        return _exactly(slices.total, self.known.begin) if complete else self.known.so_far()

    def _slices_are_best(self, slices: SliceCount, tried: dict[str, Trial]) -> bool:
        """Tell whether counting on ends within the budget, or says more by then than any sampler."""
        left = self.known.left()
        if not slices.counted.samples or left <= 0:
            return False
        sampled = error_after(tried, left)
        return slices.seconds_left() < left or slices.error_after(left) < sampled or math.isinf(sampled)


@frozen
class _Sampling:
    """The samplers of one estimate, over one space and on one device."""

    of: _Estimation
    space: Space
    device: str
    seed: int

    def samplers(self) -> dict[str, Sampler]:
        """Return the samplers that there are for the target, by name. What they borrow on the device stays lent."""
        request, target, space = self.of.request, self.of.target, self.space
        own = request.method if isinstance(request.method, DeviceEstimator) else None
        if request.method == "trawling" and target.tail is None and not request.inheritance:
            return {"trawling": self.trawling(self.ways())}
        names = ["wanderjoin", "alley"] if space.candidates is None else ["wanderjoin", "alley", "guided"]
        context, store = self.of.context, self.of.store
        found: dict[str, Sampler]
        found = {name: PatternSampler(target, space, context, self.seed, store, name) for name in names}
        if self.device == "gpu":
            given = (self.places(own is not None), target, store, context, self.seed)
            if own is not None:
                return {own.name: device_sampler(*given, own, request.inheritance)}
            for name in (each for each in names if request.method in ("auto", each)):
                found[name] = device_sampler(*given, name, request.inheritance)
        return found

    def places(self, any_plan: bool) -> dict[int, SpaceOnDevice]:
        """Lend what is sampled on each device that draws, by their numbers: on one alone where few samples are wanted.

        ``any_plan``: as of ``on_device``.
        """
        from qengine.exec.gpu.device import using

        context, walks, lent = self.of.context, self.of.request.walks, self.of.lent
        numbers = context.gpus if walks is not None and walks >= WORTH_SPREADING else context.gpus[:1]
        found: dict[int, SpaceOnDevice] = {}
        for number in numbers:
            with using(number):
                place = on_device(self.space, self.of.store, context, walks, any_plan, elsewhere=bool(found))
                found[number] = lent.enter_context(place)
        return found

    def ways(self) -> list[tuple[Target, Space]]:
        """Return the target, and the same in other orders where there is time to look for them."""
        request = self.of.request
        own = [(self.of.target, self.space)]
        short = request.budget_ms is not None and request.budget_ms < _LEAST_MS
        few = request.walks is not None and request.walks < _LEAST_WALKS
        return own if short or few else [*own, *other_spaces(self.of.target, self.of.store, self.of.context)]

    def trawling(self, ways: list[tuple[Target, Space]]) -> Sampler:
        """Return the sampler that trawls the best of some ways."""
        context = self.of.context
        budget = self.of.request.budget_ms
        found = trawler(
            ways, context, self.seed, MOST_WORK if budget is None else min(MOST_WORK, int(_HAUL_PER_MS * budget))
        )
        if self.device != "gpu":
            return found
        place = self.of.lent.enter_context(on_device(found.space, self.of.store, context, self.of.request.walks))
        return device_trawling(place, found, context)

    def by_user(self, estimator: Estimator | BatchEstimator, deadline: float | None) -> Sampler:
        """Return the sampler of a user's estimator."""
        target, context = self.of.target, self.of.context
        if target.tail is not None:
            raise Unsupported(
                "Estimators written in Python sample a pattern alone: this query has more after it.",
                hint='Use method="alley".',
            )
        masks = Masks(runtime_of(self.of.store, context))
        if isinstance(estimator, BatchEstimator):
            return BatchSampler(self.of.store, target.search, masks, estimator, self.seed, context.check)
        return ReferenceSampler(self.of.store, target.search, masks, estimator, self.seed, context.check, deadline)

    def drawn(self, sampler: Sampler, goal: Goal, first: int = 0) -> Estimate:
        """Draw samples from number ``first`` on until the goal is met, and return what they say."""
        sums = run(sampler, goal, first)
        device = self.device if isinstance(sampler, DeviceSampler | DeviceTrawlingSampler) else "cpu"
        exposure = sampler.exposure if isinstance(sampler, PatternSampler) else None
        return self.of.known.told(sums, sampler.name, device, exposure)


def _device_for(request: Request, target: Target) -> str:
    """Return "cpu" or "gpu"; refuse what the device that is asked for, or taken, can't do."""
    own = isinstance(request.method, DeviceEstimator)
    asked = "gpu" if own and request.device == "auto" else request.device
    device = choose_device(asked, request.walks, len(target.search.levels))
    if own and device != "gpu":
        raise Unsupported("This estimator is for the GPU.", hint='Use device="gpu", or an Estimator written in Python.')
    if request.inheritance and (
        device != "gpu" or target.tail is not None or isinstance(request.method, Estimator | BatchEstimator)
    ):
        raise Unsupported(
            "Samples are inherited on the GPU only, where a pattern alone is sampled.",
            hint='Use device="gpu", or leave inheritance out.',
        )
    return device


def _exact_work(request: Request, times: int = 1) -> int:
    """Return how many ids counting may read before sampling is taken for cheaper: some tenths of what it will read.

    ``times``: as much as that so often.
    """
    work = _MOST_EXACT_WORK * times
    if request.samples is not None:
        work = min(work, _WORK_PER_SAMPLE * request.samples * times)
    if request.budget_ms is not None:
        work = min(work, int(_WORK_PER_MS * request.budget_ms * times))
    return work


def _count(plan: PhysicalPlan, store: ExecView, context: ExecutionContext, begin: float, device: str) -> Estimate:
    (rows,) = (run_on_gpu if device == "gpu" else run_exactly)(plan, store, context)
    return _exactly(float(rows.values(plan.columns[0])[0]), begin, device)


def _exactly(count: float, begin: float, device: str = "cpu") -> Estimate:
    return Estimate(count, count, count, 0, 0, "exact", True, count, time.perf_counter() - begin, device)
