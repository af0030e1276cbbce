"""All scalar functions and operators by name: functions in lower case, operators by symbol."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from qengine.exec.scalar.casts import CASTS
from qengine.exec.scalar.collections import COLLECTIONS
from qengine.exec.scalar.conversion import CONVERSIONS
from qengine.exec.scalar.entities import ENTITIES
from qengine.exec.scalar.lists import LISTS
from qengine.exec.scalar.mathematics import MATHEMATICS
from qengine.exec.scalar.operators import MEMBERSHIP, OPERATORS
from qengine.exec.scalar.points import POINT_FUNCTIONS, POINTS
from qengine.exec.scalar.regular import REGULAR
from qengine.exec.scalar.strings import STRINGS
from qengine.exec.scalar.temporal.functions import CLOCK_FUNCTIONS, TEMPORAL_FUNCTIONS
from qengine.exec.scalar.type_tests import TYPE_TESTS
from qengine.exec.scalar.vectors import VECTORS

GRAPH_FUNCTIONS: dict[str, Callable[..., Any]] = {**ENTITIES, **CLOCK_FUNCTIONS, **POINT_FUNCTIONS, **CASTS}
"""The part of ``FUNCTIONS`` that takes the ``Environment`` as first argument."""

ACCOUNTED_FUNCTIONS: dict[str, Callable[..., Any]] = {**MEMBERSHIP, **REGULAR}
"""The part that takes the ``MemoryAccount`` as first argument: what may take long is stopped by it."""

FUNCTIONS: dict[str, Callable[..., Any]] = {
    **OPERATORS,
    **CONVERSIONS,
    **LISTS,
    **COLLECTIONS,
    **MATHEMATICS,
    **STRINGS,
    **TEMPORAL_FUNCTIONS,
    **TYPE_TESTS,
    **POINTS,
    **VECTORS,
    **GRAPH_FUNCTIONS,
    **ACCOUNTED_FUNCTIONS,
}
"""Every scalar name of the catalogue but ``coalesce``, which looks at no more arguments than it needs (``logic``).

Arguments are values of the language, checked by the function itself.
"""
