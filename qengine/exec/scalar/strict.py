"""Null in, null out: the rule of most functions and operators."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any


def strict(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make ``function`` return null when any of its arguments is null."""

    @wraps(function)
    def null_or_result(*args: Any) -> Any:
        for arg in args:
            if arg is None:
                return None
        return function(*args)

    return null_or_result
