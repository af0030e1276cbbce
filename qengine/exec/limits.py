"""Reads the limits of a query: seconds, bytes, threads, and where rows beyond them go."""

from __future__ import annotations

import math
import os
import re
from typing import Any

from qengine.errors import SemanticError

MOST_THREADS = 1024

_UNITS = {"": 1, **{letter: 1000**power for power, letter in enumerate("KMGT", 1)}}
_UNITS |= {f"{letter}I": 1024**power for power, letter in enumerate("KMGT", 1)}
_SIZE = re.compile(r"\s*((?:\d[\d_]*)?\.?\d+(?:[eE][+-]?\d+)?)\s*([KMGT]I?)?B?\s*", re.IGNORECASE)


def size(text: str) -> int:
    """Return the bytes that a text such as ``500M``, ``4G``, ``1.5GB``, ``2GiB`` or ``4096`` stands for.

    ``K``, ``M``, ``G`` and ``T`` are powers of 1,000, with an ``i`` powers of 1,024; case doesn't matter.

    Raises
    ------
    ValueError
        For another text, and where it is less than one byte.
    """
    found = _SIZE.fullmatch(text)
    if found is None:
        raise ValueError(f"not a size: {text!r}; try 500M or 4G")
    number = float(found[1].replace("_", "")) * _UNITS[(found[2] or "").upper()]
    if not 1 <= number < math.inf:
        raise ValueError("must be greater than 0" if number < 1 else f"not a size: {text!r}; try 500M or 4G")
    return int(number)


def number_of_bytes(name: str, value: Any) -> int | None:
    """Return a limit of memory: a number of bytes from 1 on, or a text as ``size`` reads it; None: no limit.

    Raises
    ------
    SemanticError
        For anything else.
    """
    if value is None or (type(value) is int and value > 0):
        return value
    what, hint = "a number of bytes", f'Give it like {name}=4_000_000_000 or {name}="4G", or None for no limit.'
    if isinstance(value, str):
        try:
            return size(value)
        except ValueError:
            raise _wrong(name, value, what, hint) from None
    number = _number(value)
    if math.isnan(number):
        raise _wrong(name, value, what, hint)
    if number < 1:
        raise _out_of_range(name, value, f"{what} greater than 0", hint)
    return None if number == math.inf else int(number)


def number_of_seconds(name: str, value: Any) -> float | None:
    """Return a limit of time, a number from 0 on; None: no limit.

    Raises
    ------
    SemanticError
        For anything else.
    """
    if value is None:
        return None
    number = _number(value)
    hint = f"Give seconds, like {name}=2.5, or None for no limit."
    if math.isnan(number):
        raise _wrong(name, value, "a number of seconds", hint)
    if number < 0:
        raise _out_of_range(name, value, "a number of seconds from 0 on", hint)
    return number


def number_of_threads(name: str, value: Any) -> int:
    """Return a number of threads, 0 for one a CPU.

    Raises
    ------
    SemanticError
        For no integer from 0 to ``MOST_THREADS``.
    """
    if type(value) is int and 0 <= value <= MOST_THREADS:
        return value
    hint = f"Give it like {name}=4, or 0 for one a CPU."
    if isinstance(value, bool | type) or not hasattr(value, "__index__"):
        raise _wrong(name, value, "a number of threads", hint)
    if not 0 <= (number := int(value)) <= MOST_THREADS:
        raise _out_of_range(name, value, f"a number of threads from 0 to {MOST_THREADS:,}", hint)
    return number


def check_positive(name: str, value: Any, what: str, hint: str) -> None:
    """Refuse what is no finite number greater than 0.

    Raises
    ------
    SemanticError
        With ``what`` it is, and a hint.
    """
    number = _number(value)
    if math.isnan(number):
        raise _wrong(name, value, what, hint)
    if not 0 < number < math.inf:
        raise _out_of_range(name, value, f"{what} greater than 0", hint)


def check_whole(name: str, value: Any, hint: str) -> None:
    """Refuse what is no integer, or what stands for one, as NumPy's do.

    Raises
    ------
    SemanticError
        With a hint.
    """
    if isinstance(value, bool | type) or not hasattr(value, "__index__"):
        raise _wrong(name, value, "an integer", hint)


def directory_of(given: Any) -> str | None:
    """Return the directory that ``spill_directory`` names; None: the system's for temporary files.

    Raises
    ------
    SemanticError
        For what is no path.
    """
    if given is None:
        return None
    try:
        path = os.fspath(given)
    except TypeError:
        path = b""
    if isinstance(path, str) and path and "\0" not in path:
        return path
    raise SemanticError(
        f"`spill_directory` is a path, not {given!r}.",
        hint='Give it like spill_directory="/var/tmp", or None for the system\'s directory of temporary files.',
        code="InvalidArgumentType",
    )


def _number(value: Any) -> float:
    """Return a number of any kind as a float, NaN where it is none; what is too large for one is infinite."""
    if isinstance(value, str | bytes | bool):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except (TypeError, ValueError):
        return math.nan


def _wrong(name: str, value: Any, what: str, hint: str) -> SemanticError:
    return SemanticError(f"`{name}` is {what}, not {value!r}.", hint=hint, code="InvalidArgumentType")


def _out_of_range(name: str, value: Any, what: str, hint: str) -> SemanticError:
    return SemanticError(f"`{name}` is {what}, not {value!r}.", hint=hint, code="NumberOutOfRange")
