"""What runs of an ``Eliminate`` on the device have shown, for later ones."""

from __future__ import annotations

from dataclasses import dataclass

from qengine.plan.physical import Eliminate
from qengine.plan.schedule import Call, KernelCall, Schedule

__all__ = ["OperatorFacts"]


@dataclass
class OperatorFacts:
    """What is known of an operator on one graph.

    ``wide``: a number of it has been too large for 64 bits. ``general``: a kernel has found that it doesn't take what
    it is given.
    """

    operator: Eliminate
    wide: bool = False
    general: bool = False

    @property
    def schedule(self) -> Schedule:
        """The device's."""
        found = self.operator.schedule("gpu")
        assert found is not None
        return found

    @property
    def calls(self) -> tuple[Call, ...]:
        """What is run now."""
        schedule = self.schedule
        return schedule.otherwise if self.general and schedule.otherwise else schedule.calls

    def totals(self) -> int:
        """Return how many sums of products are found over vertices."""
        dots = (call for call in self.calls if isinstance(call, KernelCall) and call.kernel == "dot")
        return sum(len(call.places) for call in dots)
