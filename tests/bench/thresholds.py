"""What our engine must show, relative to peers in the same run where they run, and in absolute time elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log
from typing import Protocol

from tests.bench.cells import Outcome, Status

OURS = "qengine"

# Triangles of R-MAT 16, in seconds, on the machine where the compiled matchers of the literature were timed.
_REFERENCE_MACHINE = {"duckdb": 0.70, "kuzu": 1.18, "graphblas": 0.134}


@dataclass(frozen=True)
class Verdict:
    """Whether a threshold holds; None where the run does not tell."""

    holds: bool | None
    text: str


class Threshold(Protocol):
    """Something that a suite's outcome is held to."""

    def judge(self, outcome: Outcome) -> Verdict: ...


@dataclass(frozen=True)
class Times:
    """At least ``factor`` times as fast as one peer."""

    workload: str
    peer: str
    factor: float

    def judge(self, outcome: Outcome) -> Verdict:
        need = f"{self.workload}: ≥ {self.factor:g}× {self.peer}"
        return _compare(need, _ratio(outcome, self.workload, (self.peer,)), self.factor)


@dataclass(frozen=True)
class BestOf:
    """In the geometric mean over the workloads, ``factor`` times as fast as the fastest of the peers on each."""

    workloads: tuple[str, ...]
    peers: tuple[str, ...]
    factor: float

    def judge(self, outcome: Outcome) -> Verdict:
        names = self.workloads[0] if len(self.workloads) == 1 else "geometric mean"
        need = f"{names}: ≥ {self.factor:g}× the better of {' and '.join(self.peers)}"
        ratios = [_ratio(outcome, workload, self.peers) for workload in self.workloads]
        known = [log(ratio) for ratio in ratios if ratio is not None]
        complete = len(known) == len(ratios)
        return _compare(need, exp(sum(known) / len(known)) if complete else None, self.factor)


@dataclass(frozen=True)
class AtMost:
    """An absolute time."""

    workload: str
    limit: float

    def judge(self, outcome: Outcome) -> Verdict:
        return _within(f"{self.workload}: ≤ {self.limit:g} s", outcome.seconds(OURS, self.workload), self.limit)


@dataclass(frozen=True)
class Scaled:
    """An absolute time measured elsewhere, scaled by how this machine runs the peers' triangles.

    For engines of the literature in C++ that are not installed here. The scale is that of the peer that is slowed
    down least: other work on the machine makes peers slower, and must not make the limit more generous.
    """

    workload: str
    limit: float
    source: str

    def judge(self, outcome: Outcome) -> Verdict:
        slowdowns = [
            seconds / reference
            for peer, reference in _REFERENCE_MACHINE.items()
            if (seconds := outcome.seconds(peer, "triangle")) is not None
        ]
        if not slowdowns:
            return Verdict(None, f"{self.workload}: {self.source}, needs a peer's triangle as the scale")
        limit = self.limit * min(slowdowns)
        need = f"{self.workload}: ≤ {limit:.3g} s ({self.source}, scaled to this machine)"
        return _within(need, outcome.seconds(OURS, self.workload), limit)


@dataclass(frozen=True)
class Rate:
    """Embeddings counted in a second, over all workloads of the suite together."""

    per_second: float

    def judge(self, outcome: Outcome) -> Verdict:
        need = f"embeddings: ≥ {self.per_second:.3g} a second"
        ours = [cell for (engine, _), cell in outcome.cells.items() if engine == OURS]
        if not ours or any(cell.status is not Status.OK for cell in ours):
            return Verdict(None, f"{need}; not all were counted")
        rate = sum(cell.answer for cell in ours if isinstance(cell.answer, int)) / sum(c.seconds for c in ours)
        return Verdict(rate >= self.per_second, f"{need}; is {rate:.3g}")


def _ratio(outcome: Outcome, workload: str, peers: tuple[str, ...]) -> float | None:
    ours = outcome.seconds(OURS, workload)
    theirs = [seconds for peer in peers if (seconds := outcome.seconds(peer, workload)) is not None]
    return min(theirs) / ours if ours is not None and theirs else None


def _compare(need: str, ratio: float | None, factor: float) -> Verdict:
    if ratio is None:
        return Verdict(None, f"{need}; one of them gave no time")
    return Verdict(ratio >= factor, f"{need}; is {ratio:.3g}×")


def _within(need: str, seconds: float | None, limit: float) -> Verdict:
    if seconds is None:
        return Verdict(None, f"{need}; no time")
    return Verdict(seconds <= limit, f"{need}; is {seconds:.3g} s")
