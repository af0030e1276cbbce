"""What runs of an ``Eliminate`` on the device have shown, for later ones."""

from __future__ import annotations

from dataclasses import dataclass

from qengine.exec.view import ExecView
from qengine.plan.elimination import Matrix
from qengine.plan.kernels import kernel
from qengine.plan.physical import Eliminate
from qengine.plan.schedule import Among, Call, KernelCall, Schedule


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

    @property
    def at_random(self) -> str:
        """A kernel of what is run that reads lists at random, so that they must be on the device; "": there is none."""
        every = (each for call in self.calls for each in (call.all if isinstance(call, Among) else (call,)))
        return next((each.kernel for each in every if not kernel("gpu", each.kernel).far), "")

    def lists_bytes(self, store: ExecView) -> int:
        """Return the bytes of the graph's lists that the operator's matrices are made of."""
        lists = {
            (index, direction): store.adjacency(index, direction)
            for step in self.operator.steps
            if isinstance(step, Matrix)
            for relation in step.relations
            for name in relation.types
            if (index := store.type_index(name)) is not None
            for direction in relation.direction.stored(store.types[index].undirected)
        }
        return sum(each.nbytes - (0 if each.edge_ids is None else each.edge_ids.nbytes) for each in lists.values())

    def totals(self) -> int:
        """Return how many sums of products are found over vertices."""
        dots = (call for call in self.calls if isinstance(call, KernelCall) and call.kernel == "dot")
        return sum(len(call.places) for call in dots)
