"""What is asked of an estimate."""

from __future__ import annotations

from dataclasses import dataclass

from qengine.errors import SemanticError
from qengine.estimate.device import DeviceEstimator
from qengine.estimate.kernel import HAUL_WALKS
from qengine.estimate.reference import Estimator
from qengine.estimate.vectorised import BatchEstimator

__all__ = ["METHODS", "Request"]

METHODS = ("auto", "wanderjoin", "alley", "guided", "trawling", "exact")


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of an estimate; see ``Graph.estimate``."""

    method: str | Estimator | BatchEstimator | DeviceEstimator = "auto"
    rel_error: float | None = None
    confidence: float = 0.95
    budget_ms: float | None = None
    samples: int | None = None
    seed: int | None = None
    device: str = "auto"
    inheritance: bool = False

    @property
    def walks(self) -> int | None:
        """How many walks are asked for: of trawling, a sample is a haul of many."""
        if self.samples is None or self.method != "trawling":
            return self.samples
        return self.samples * HAUL_WALKS

    def check(self) -> None:
        """Refuse what makes no sense.

        Raises
        ------
        SemanticError
            With what is wrong and what is possible.
        """
        if not isinstance(self.method, str | Estimator | BatchEstimator | DeviceEstimator):
            name = getattr(self.method, "__name__", None) if isinstance(self.method, type) else None
            raise SemanticError(
                f"The method is {f'the class {name}' if name else repr(self.method)}, not an estimator.",
                hint=f"Make one: method={name}()." if name else "Give a name, or an instance of an Estimator.",
            )
        if isinstance(self.method, str) and self.method not in METHODS:
            raise SemanticError(
                f"There is no estimator {self.method!r}.", hint="Use one of: " + ", ".join(map(repr, METHODS)) + "."
            )
        if not 0 < self.confidence < 1:
            raise SemanticError("The confidence must lie between 0 and 1.", hint="0.95 is usual")
        for name in ("rel_error", "budget_ms", "samples"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise SemanticError(f"{name} must be greater than 0.")
