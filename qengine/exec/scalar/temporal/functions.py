"""The temporal functions by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from qengine.exec.scalar.strict import strict
from qengine.exec.scalar.temporal.between import DISTANCES
from qengine.exec.scalar.temporal.construct import CONSTRUCTORS, duration, from_epoch, from_epoch_milliseconds
from qengine.exec.scalar.temporal.truncate import TRUNCATIONS

CLOCK_FUNCTIONS: dict[str, Callable[..., Any]] = {**CONSTRUCTORS, **TRUNCATIONS}
"""Those that may read the query's time; they take the ``Environment`` first."""

TEMPORAL_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **DISTANCES,
    "duration": strict(duration),
    "datetime.fromepoch": strict(from_epoch),
    "datetime.fromepochmillis": strict(from_epoch_milliseconds),
}
"""All others."""
