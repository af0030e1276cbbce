"""Counts how often a statement looks whether it must stop, and stops it at a look of one's choice.

Python looks by ``ExecutionContext.check`` and ``check_planning``, native functions count in ``Control.looks``: both are
numbered together here. Nothing depends on time: what passes between two looks is measured in processor time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from qengine.exec.context import ExecutionContext


@dataclass
class Looks:
    """What was seen of the statements of a block.

    ``stop_at``: the number of the look at which they are stopped, 0 for none; ``stop`` does it, where that is a look of
    Python's and not of a native function. ``count``: looks so far. ``longest``: the most processor time between two
    looks, in seconds (native looks between two of Python's are taken to lie evenly), ``where``: which look came then.
    """

    stop_at: int = 0
    stop: Callable[[ExecutionContext], None] = ExecutionContext.interrupt
    count: int = 0
    longest: float = 0.0
    where: str = ""
    _last: float = field(default_factory=time.process_time)
    _seen: dict[int, int] = field(default_factory=dict)

    @property
    def late(self) -> int:
        """Looks after the one that interrupted."""
        return max(0, self.count - self.stop_at) if self.stop_at else 0

    def look(self, context: ExecutionContext, what: str) -> None:
        """Count a look of Python's, and the native ones since the last."""
        control = context.control
        native = max(0, control.looks - self._seen.get(id(context), 0))
        self._seen[id(context)] = control.looks
        self.count += 1 + native
        now = time.process_time()
        if (gap := (now - self._last) / (1 + native)) > self.longest:
            self.longest, self.where = gap, f"{what} at look {self.count}"
        self._last = now
        if self.stop_at:
            if self.count >= self.stop_at:
                self.stop(context)
            else:  # or a native look is the one
                control.stop_at = control.looks + self.stop_at - self.count


@contextmanager
def watched(stop_at: int = 0, stop: Callable[[ExecutionContext], None] = ExecutionContext.interrupt) -> Iterator[Looks]:
    """Count the looks of all statements that are run in a block; stop them at look number ``stop_at``."""
    looks = Looks(stop_at, stop)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("check", "check_planning"):
            patch.setattr(ExecutionContext, name, _counted(getattr(ExecutionContext, name), looks))
        patch.setattr(ExecutionContext, "__init__", _begun(ExecutionContext.__init__, looks))
        yield looks


def _begun(begin: Any, looks: Looks) -> Any:
    """Let a native look be the one of a statement that is run without a look of Python's before: its plan is kept."""

    def begun(context: ExecutionContext, *args: Any, **options: Any) -> None:
        begin(context, *args, **options)
        looks._seen.pop(id(context), None)
        if looks.stop_at:
            context.control.stop_at = max(1, looks.stop_at - looks.count)

    return begun


def _counted(check: Any, looks: Looks) -> Any:
    def counted(context: ExecutionContext) -> None:
        looks.look(context, check.__name__)
        check(context)

    return counted
