"""Samplers on the GPU: the CPU's samples, drawn by ``qengine.exec.gpu.sample``."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from qengine._frozen import frozen
from qengine.errors import InternalError, OutOfMemory, SemanticError
from qengine.estimate.candidates import CandidateGraph, Candidates, build
from qengine.estimate.kernel import HAUL_WALKS, Draw, level_work
from qengine.estimate.result import Sums
from qengine.estimate.sampler import LEAST_DEPTH, PatternSampler, Sampler, TrawlingSampler
from qengine.estimate.space import Space
from qengine.estimate.target import Target
from qengine.exec.candidates import LevelSignatures
from qengine.exec.common.resolve import ResolvedSearch
from qengine.exec.context import ExecutionContext
from qengine.exec.devices import asked_device
from qengine.exec.view import ExecView
from qengine.plan.physical import MAX_DEVICE_LEVELS, VertexLevel, check_device_levels

if TYPE_CHECKING:
    from qengine.exec.gpu.candidate_graph import DeviceCandidates

_MANY_SAMPLES = 1 << 20
"""Samples from which "auto" takes the GPU: about 0.1 s of the CPU's."""

_FEW_ENTRIES = 1 << 12
"""Entries up to which one core of the host builds a candidate graph faster than the device, which takes 0.7 ms for
any."""

_WORTH_COPYING = 1 << 24
"""Samples from which a candidate graph that was built on the device is copied to the host, to be packed there."""

_WORTH_COMPILING = 1 << 28
"""Samples from which kernels are compiled for one pattern, which takes about as long as these in the general ones."""

_HAULS_AT_ONCE = 64
"""Drawn while as many are counted: 16,384 prefixes."""

_COUNTED_AT_ONCE = 2
"""Such parts: threads that find no more hauls in one go on with the next."""

WORTH_SPREADING = 1 << 23
"""Samples at a time that are worth several devices: some milliseconds of one."""

_TEAM = 64
"""With inheritance samples are drawn in multiples of this."""


@frozen(held=True)
class DeviceEstimator:
    """An estimator of yours for the GPU, as CUDA C++ that NVRTC compiles when it is first used.

    ``source`` defines a struct ``Estimator`` that derives from ``qe::SampleEstimator`` and replaces what it wants of

    - ``refine(step, place)``: may this place be picked? By default where ``step.admits(place)``.
    - ``sample(step, n, &factor)``: which of the n places that may be picked is taken, from 0, and the inverse of its
      probability. By default each is as likely.
    - ``validate(step, place)``: does the walk go on with this place? By default where ``step.admits(place)``.

    All are static templates over the type of ``step``, which says ``level()``, ``places()`` (how many there are),
    ``has_source()``, ``bound(level)`` (the id that an earlier level has), ``admits(place)`` and ``choose(n)`` (one of
    0..n-1). They are what ``Estimator`` is in Python, and draw the same samples if they say the same; the host runs
    that one, not this. The estimate is unbiased under the same conditions. For example, half of the time the first::

        struct Estimator : qe::SampleEstimator {
          template <typename Step>
          __device__ static uint64_t sample(Step& step, uint64_t n, double* factor) {
            if (n == 1) return *factor = 1, 0;
            const uint64_t choice = step.choose(2 * n - 2);
            const bool first = choice < n - 1;
            *factor = first ? 2 : 2.0 * (n - 1);
            return first ? 0 : choice - n + 2;
          }
        };
    """

    name: str
    source: str


def choose_device(asked: str, samples: int | None, levels: int) -> str:
    """Return "cpu" or "gpu"; "auto" takes the GPU where there is one and many samples are asked for.

    Raises
    ------
    DeviceError
        For a GPU that can't be used, and for a name that is no device.
    Unsupported
        For "gpu" where the search that is sampled has more ``levels`` than its kernels take.
    """
    asked, numbers = asked_device(asked)
    if asked == "cpu" or (asked == "auto" and (samples is None or samples < _MANY_SAMPLES)):
        return "cpu"
    if asked == "auto" and levels > MAX_DEVICE_LEVELS:
        return "cpu"
    check_device_levels(levels)
    from qengine.exec.gpu.device import missing, usable

    if asked == "gpu":
        usable(numbers)
        return "gpu"
    return "gpu" if missing() is None else "cpu"


@frozen
class DeviceBuilder:
    """Builds candidate graphs on the device where they are large, else, or where there is no room, on the host.

    ``lent``: keeps what is borrowed on the device as long as the graph is used.
    """

    store: ExecView
    lent: ExitStack

    def __call__(
        self,
        plan: ResolvedSearch,
        context: ExecutionContext,
        most_entries: int,
        signatures: LevelSignatures | None,
        expected: int,
    ) -> Candidates | None:
        """Build one as ``candidates.build``."""
        if expected > _FEW_ENTRIES:
            from qengine.exec.gpu.candidate_graph import build_on_device
            from qengine.exec.gpu.launch import device_run
            from qengine.exec.gpu.upload import device_plan

            try:
                run = self.lent.enter_context(device_run(context))
                on_device = self.lent.enter_context(device_plan(self.store, plan, run))
                return build_on_device(self.store, on_device, run, most_entries, signatures)
            except OutOfMemory:
                pass
        return build(plan, context, most_entries, signatures)


@frozen
class SpaceOnDevice:
    """What is sampled, on the device. ``sampled``: a ``SampledSpace``; ``run``: a ``DeviceRun``."""

    space: Space
    sampled: Any
    run: Any


@contextmanager
def on_device(
    space: Space,
    store: ExecView,
    context: ExecutionContext,
    samples: int | None,
    any_plan: bool = False,
    elsewhere: bool = False,
) -> Iterator[SpaceOnDevice]:
    """Lend what is sampled on the current device.

    ``samples``: how many are asked for. ``any_plan``: whether it shall be for the kernels that take any plan.
    ``elsewhere``: whether a candidate graph that was built on a device was built on another one.

    Raises
    ------
    DeviceError, OutOfMemory
        If there is no usable device, or no room on it.
    """
    from qengine.exec.gpu.launch import device_run
    from qengine.exec.gpu.placement import Use
    from qengine.exec.gpu.sample import plan_space
    from qengine.exec.gpu.upload import device_plan

    candidates = space.candidates
    there = None if candidates is None or elsewhere else _on_device(candidates)
    with ExitStack() as lent:
        run = lent.enter_context(device_run(context)) if there is None else there.run
        sampled = None
        wanted = samples or 0
        if (
            candidates is not None
            and candidates.listed
            and not any_plan
            and (there is None or wanted >= _WORTH_COPYING)
        ):
            sampled = _packed(candidates.resolved(), run, wanted)
        if sampled is None and there is not None:
            sampled = plan_space(there.on_device)
        if sampled is None:
            resolved = space.resolved if candidates is None else candidates.resolved()
            sampled = plan_space(lent.enter_context(device_plan(store, resolved, run, Use.LISTS)))
        yield SpaceOnDevice(space, sampled, run)


def _on_device(candidates: Candidates) -> DeviceCandidates | None:
    """Return a candidate graph if it was built on the device."""
    return None if isinstance(candidates, CandidateGraph) else cast("DeviceCandidates", candidates)


def _packed(candidates: ResolvedSearch, run: Any, samples: int) -> Any:
    """Return a candidate graph for kernels that know its plan, if they are compiled or that is worth it; else None."""
    from qengine.exec.gpu.compiled import is_compiled
    from qengine.exec.gpu.sample_packed import packed_plan

    packed = packed_plan(candidates, run.context)
    if packed is None:
        return None
    macros, _, _ = packed.variant(run.device)
    macros = {**run.device.macros, **macros}
    wanted = samples >= _WORTH_COMPILING or is_compiled("sample_packed", run.device.capability, macros)
    return packed.space(run) if wanted else None


@dataclass
class DeviceSampler(PatternSampler):
    """Samples a target's search on the GPU.

    With inheritance samples are others than the CPU's, drawn in multiples of 64, and ``Sums.square`` is that of
    independent samples that vary as these do.
    """

    _samples: Any = None
    _inheritance: bool = False
    _others: Mapping[int, Any] = field(default_factory=dict)  # what draws on further devices, by their numbers

    def _native(self, first: int, samples: int, rows: bool) -> Draw:
        if self._inheritance:
            samples = -(-samples // _TEAM) * _TEAM
        if self._others and not rows and samples >= WORTH_SPREADING:
            return Draw((self._spread(first, samples),))
        found = self._samples.draw(self.seed, first, samples, rows=rows, inheritance=self._inheritance)
        totals = found.totals
        level = Sums(samples, totals.reached, totals.weight, totals.square, totals.work)
        if found.rows is None or found.weights is None:
            return Draw((level,))
        hit = np.flatnonzero(found.weights)
        return Draw((level,), found.rows[hit], found.weights[hit])

    def _spread(self, first: int, samples: int) -> Sums:
        """Return the sums of samples that several devices draw: the same ones, in pieces."""
        from qengine.exec.gpu.dealing import deal
        from qengine.exec.gpu.device import device

        each = -(-samples // ((1 + len(self._others)) * _TEAM)) * _TEAM  # pieces take the same; each ends with a few
        end = first + samples

        def draw(begin: int, inner: ExecutionContext) -> Sums:
            drawing, n = self._others.get(device().number, self._samples), min(each, end - begin)
            totals = drawing.draw(self.seed, begin, n, inheritance=self._inheritance).totals
            return Sums(n, totals.reached, totals.weight, totals.square, totals.work)

        found, _ = deal(self.context, range(first, end, each), draw)
        return sum(found, Sums())


@dataclass
class DeviceTrawlingSampler(TrawlingSampler):
    """Trawls prefixes that the GPU draws while the CPU counts what completes those before them (gSWORD figure 9).

    The same as the CPU's: which prefixes are completed depends on no time.
    """

    _prefixes: Any = None
    _deepest: int = 0

    def draw(self, first: int, samples: int) -> Sums:
        """Return the sums of hauls ``[first, first + samples)``, orbits included."""
        total = Sums()
        counting: deque[Future[Sums]] = deque()
        if self.guided:
            assert self.space.guide is not None  # made here, before several threads read it
        with ThreadPoolExecutor(_COUNTED_AT_ONCE) as host:
            end = self.skipped + first + samples
            for begin in range(self.skipped + first, end, _HAULS_AT_ONCE):
                hauls = min(_HAULS_AT_ONCE, end - begin)
                found = self._prefixes.draw(
                    self.seed,
                    begin * HAUL_WALKS,
                    hauls * HAUL_WALKS,
                    rows=True,
                    least=min(LEAST_DEPTH, self._deepest),
                )
                total += Sums(work=found.totals.work)
                if len(counting) == _COUNTED_AT_ONCE:
                    total += counting.popleft().result()
                counting.append(host.submit(self._trawl, begin, hauls, (found.rows, found.weights)))
            for each in counting:
                total += each.result()
        return total.scaled(self.target.search.orbits)


def device_trawling(place: SpaceOnDevice, trawling: TrawlingSampler, context: ExecutionContext) -> Sampler:
    """Return what draws the hauls of another sampler, their prefixes on the device. ``place``: of the other's space.

    Raises
    ------
    OutOfMemory
        If there is no room for them.
    """
    levels = trawling.target.search.levels
    deepest = next((k for k, level in enumerate(levels) if not isinstance(level, VertexLevel)), len(levels))
    prefixes = _samples(place, context, deepest, "guided" if trawling.guided else "alley")
    return DeviceTrawlingSampler(
        trawling.target,
        trawling.space,
        context,
        trawling.seed,
        trawling.guided,
        trawling.skipped,
        _prefixes=prefixes,
        _deepest=deepest,
    )


def device_sampler(
    places: Mapping[int, SpaceOnDevice],
    target: Target,
    store: ExecView,
    context: ExecutionContext,
    seed: int,
    method: str | DeviceEstimator,
    inheritance: bool = False,
) -> DeviceSampler:
    """Return a sampler by WanderJoin, Alley, Alley with guided picks, or a user's estimator.

    ``places``: what is sampled, by devices' numbers, on the current one first.

    Raises
    ------
    SemanticError
        If the estimator's source doesn't compile; the message holds the compiler's.
    OutOfMemory
        If there is no room for the sums.
    """
    name = method if isinstance(method, str) else method.name
    first = next(iter(places.values()))
    try:
        drawing = {
            number: _samples_on(number, place, context, len(target.search.levels), method)
            for number, place in places.items()
            if place is first or _can_be_guided(place, method)
        }
    except InternalError as error:
        if isinstance(method, str) or error.code != "Nvrtc":
            raise
        raise SemanticError(
            f"The estimator {name!r} doesn't compile. {error.message}",
            hint="See the docstring of qengine.estimate.DeviceEstimator.",
        ) from None
    samples = drawing.pop(next(iter(places)))
    given = target, first.space, context, seed, store, name
    return DeviceSampler(*given, _samples=samples, _inheritance=inheritance, _others=drawing)


def _samples_on(
    number: int, place: SpaceOnDevice, context: ExecutionContext, depth: int, method: str | DeviceEstimator
) -> Any:
    from qengine.exec.gpu.device import using

    with using(number):
        return _samples(place, context, depth, method)


def _can_be_guided(place: SpaceOnDevice, method: str | DeviceEstimator) -> bool:
    """Tell whether a device beside the first can have what a method needs: guides of the device's making stay there."""
    return method != "guided" or isinstance(place.space.candidates, CandidateGraph)


def _samples(place: SpaceOnDevice, context: ExecutionContext, depth: int, method: str | DeviceEstimator) -> Any:
    """Return what draws samples of the first ``depth`` levels."""
    from qengine.exec.gpu.sample import DeviceSamples, with_estimator
    from qengine.exec.gpu.sample_job import WORK

    sampled = place.sampled if isinstance(method, str) else with_estimator(place.sampled, method.name, method.source)
    kernel = method if isinstance(method, str) else "own"
    candidates = place.space.candidates
    plan, on_host = (place.space.plan, None) if candidates is None else candidates.outline(method == "guided")
    costs = "wanderjoin" if method == "wanderjoin" else "alley"
    work = level_work(plan, costs, depth, context, on_host).view(WORK).reshape(-1)
    guide = _guide(candidates, place.run) if method == "guided" and candidates is not None else ()
    return DeviceSamples(place.run, sampled, kernel, work, guide)


def _guide(candidates: Candidates, run: Any) -> tuple[Any, ...]:
    """Return the guide of a candidate graph on the device, as ``sample.upload_guide`` does."""
    from qengine.exec.gpu.sample import upload_guide

    if isinstance(candidates, CandidateGraph):
        return upload_guide(run, candidates.guide_levels())
    return cast("DeviceCandidates", candidates).guide_blocks()
