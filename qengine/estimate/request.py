"""What is asked of an estimate."""

from __future__ import annotations

from qengine._frozen import frozen
from qengine.errors import SemanticError
from qengine.estimate.device import DeviceEstimator
from qengine.estimate.kernel import HAUL_WALKS
from qengine.estimate.reference import Estimator
from qengine.estimate.vectorised import BatchEstimator
from qengine.exec.limits import check_positive, check_whole

_NUMBERS = {"rel_error": "a number", "budget_ms": "a number of milliseconds", "samples": "a number of samples"}
_EXAMPLES = {"rel_error": 0.05, "budget_ms": 20, "samples": "10_000"}
METHODS = ("auto", "wanderjoin", "alley", "guided", "trawling", "exact")


@frozen
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
        check_positive("confidence", self.confidence, "a number between 0 and 1", "0.95 is usual.")
        if not self.confidence < 1:
            raise SemanticError("The confidence must lie between 0 and 1.", hint="0.95 is usual.")
        for name, what in _NUMBERS.items():
            if (value := getattr(self, name)) is not None:
                check_positive(name, value, what, f"Give it like {name}={_EXAMPLES[name]}, or leave it out.")
        if self.samples is not None and self.samples != int(self.samples):
            check_whole("samples", self.samples, "Give it like samples=10_000, or leave it out.")
        if self.seed is not None:
            check_whole("seed", self.seed, "Give it like seed=1, or None for another one each time.")
