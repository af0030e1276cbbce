"""A statement that is ready to run, and where its errors are when its plan was made for another text."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from qengine._frozen import frozen
from qengine.errors import Notice, QengineError, Span
from qengine.plan.comparisons import ComparedParameter
from qengine.plan.logical import LogicalPlan
from qengine.plan.physical import PhysicalPlan

if TYPE_CHECKING:
    from qengine.exec.choice import LargestSearch
    from qengine.optimizer.open_ranges import ByValues
    from qengine.plan.read_set import ReadSet
    from qengine.storage.later import Later
    from qengine.write.reading import PartPlans

PLANS = 256
"""Plans of a kind that a graph keeps."""


@frozen
class Places:
    """Places in a text for those in another that differs from it in literals alone.

    ``planned``: where the literals of the text that was planned begin and end, ``here``: those of this text.
    """

    planned: Sequence[Span]
    here: Sequence[Span]

    def of(self, span: Span) -> Span:
        """Return the place in this text."""
        return Span(self._offset(span.start), self._offset(span.end))

    def _offset(self, offset: int) -> int:
        last = bisect_right(self.planned, offset, key=lambda span: span.start) - 1
        if last < 0:
            return offset
        planned, here = self.planned[last], self.here[last]
        if offset >= planned.end:
            return offset - planned.end + here.end
        return min(offset - planned.start + here.start, here.end)


@frozen
class Planned:
    """A statement that is ready to run.

    ``largest``: the search that is estimated to find the most embeddings. ``devices``: where it ran and why, by the
    device that was asked for. ``values``: the literals that the plan has parameters for, by their names. ``places``:
    None where the plan was made for this text. ``parts``: of a statement that changes the graph, the plans of what it
    reads first; None for one that only reads. ``compared``: parameters whose values may be of types that no property
    compared with them has; ``told``: of which this was logged. ``reads``: what of a graph it reads, None where that may
    be anything. ``by_values``: plans for what ranges of parameters leave and for lists' lengths, None for neither.
    """

    text: str
    logical: LogicalPlan
    physical: PhysicalPlan | None
    notices: tuple[Notice, ...]
    parameters: Mapping[str, Span | None]
    largest: LargestSearch | None
    devices: dict[str, tuple[str, str]] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    places: Places | None = None
    parts: PartPlans | None = None
    compared: tuple[ComparedParameter, ...] = ()
    told: set[str] = field(default_factory=set)
    reads: Later[ReadSet | None] | None = None
    by_values: ByValues[Planned] | None = None

    def at(self, error: QengineError) -> QengineError:
        """Fill in the text of an error that the plan has raised, with the place in it, and return the error itself."""
        if error.text is None and error.span is not None and self.places is not None:
            error.span = self.places.of(error.span)
        return error.at(self.text)


def reads_of(plan: LogicalPlan) -> Later[ReadSet | None]:
    """Return what ``plan.read_set`` finds of a plan, when somebody asks."""
    from qengine.storage.later import Later  # the libraries come with a package's first graph

    def find() -> ReadSet | None:
        from qengine.plan.read_set import read_set  # not before a read behind a commit

        return read_set(plan)

    return Later(find)
