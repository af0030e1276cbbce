"""Hints that name kernels: what is computed by none of them is refused."""

from __future__ import annotations

from collections.abc import Iterable

from qengine.plan.pattern import Hints
from qengine.plan.schedule import Schedule


def check_kernels(hints: Hints, schedules: Iterable[Schedule]) -> None:
    """Refuse a hint that names a kernel which nothing is computed by.

    Raises
    ------
    Unsupported
        For the first of those kernels.
    """
    used = {call.kernel for schedule in schedules for call in schedule.every} if hints.kernels else set()
    for name in hints.kernels:
        if name not in used:
            raise hints.unfollowed(
                "kernel",
                f"The kernel {name} takes no step of this pattern.",
                hint=f"Those that it is counted by are {', '.join(sorted(used))}.",
            )
