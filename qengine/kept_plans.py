"""The plans of one version of a graph, and of those after it that have the same nature."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from qengine._lru import LruCache
from qengine.plan.physical import AggregateByClasses, AggregateByNode, Eliminate
from qengine.plan.traverse import operators
from qengine.planned import PLANS, Planned

if TYPE_CHECKING:
    from qengine.shared_plans import SharedFamilies


class KeptPlans:
    """Plans by texts; any number of threads may use them."""

    def __init__(self) -> None:
        self.plans: LruCache[Planned] = LruCache(PLANS)
        self.shared: SharedFamilies | None = None
        self._fresh: deque[Planned] = deque(maxlen=2 * PLANS)

    def note(self, planned: Planned) -> None:
        """Take note of a plan that was made for a version."""
        if planned.physical is not None:
            self._fresh.append(planned)

    def let_go(self) -> None:
        """Begin another version: make what plans have not made yet, which would hold the version that it is made of."""
        while self._fresh:
            try:
                planned = self._fresh.popleft()
            except IndexError:  # another thread took the last
                return
            assert planned.physical is not None
            for each in operators(planned.physical.root):
                if isinstance(each, AggregateByNode):
                    made = [*(part.program for part in each.sums), *(part.program for part in each.pairs)]
                elif isinstance(each, AggregateByClasses):
                    made = [each.program]
                else:
                    made = [each] if isinstance(each, Eliminate) else []
                for program in made:
                    tuple(program.schedules)
