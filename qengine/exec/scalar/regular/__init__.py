"""Regular expressions of ``=~``, as Python's ``re.fullmatch`` reads them, in a time that limits can stop.

Three engines give the same answers:

- RE2 takes a time linear in the text. It has all that is regular (``translate``).
- Python's own is the quickest on short texts, but may take a time exponential in the text, and nothing stops it. It is
  asked only where a bound of its steps is small.
- What is left (looking around, references back, …) goes to ``program``, which counts its steps and looks at the clock.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from re import _parser  # the tree that ``re.compile`` is made of
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from qengine._cached import cached_property
from qengine._frozen import frozen
from qengine.errors import ExecutionError
from qengine.exec.memory import MemoryAccount
from qengine.exec.scalar.regular.effort import Effort, effort_of
from qengine.exec.scalar.regular.program import Program, compile_program
from qengine.exec.scalar.regular.translate import translated

_FEW_STEPS = 1 << 16  # of Python's engine: some milliseconds


@frozen
class Linear:
    """An expression for RE2, anchored at both ends: for texts of ``ascii`` alone, and for ``any`` text; None: none."""

    ascii: str | None
    any: str | None


class _Expression:
    """``compiled``: by Python. ``effort``: what that may take."""

    def __init__(self, compiled: re.Pattern[str], tree: Any) -> None:
        self.compiled = compiled
        self.effort: Effort = effort_of(tree)
        self._tree = tree

    @cached_property
    def linear(self) -> Linear:
        """The same for RE2."""
        return Linear(translated(self._tree, ascii_only=True), translated(self._tree, ascii_only=False))

    @cached_property
    def program(self) -> Program:
        """The same for our own engine."""
        return compile_program(self._tree)


@functools.lru_cache(maxsize=256)
def _expression(text: str) -> _Expression:
    """Return what an expression means.

    Raises
    ------
    ExecutionError
        For a malformed expression.
    """
    try:
        compiled = re.compile(text)
        tree = _parser.parse(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise ExecutionError(
            f"The regular expression {text!r} is malformed: {error}.", code="InvalidArgumentValue"
        ) from None
    return _Expression(compiled, tree)


def linear(text: str) -> Linear:
    """Return an expression for RE2.

    Raises
    ------
    ExecutionError
        For a malformed expression.
    """
    return _expression(text).linear


def matches(text: str, pattern: str, memory: MemoryAccount) -> bool:
    """Return whether the whole of a text matches a regular expression.

    Raises
    ------
    ExecutionError
        For a malformed expression, or one that is too large.
    QueryTimeout, QueryInterrupted, OutOfMemory
        As ``memory`` says.
    """
    expression = _expression(pattern)
    if expression.effort.steps(len(text)) <= _FEW_STEPS:
        return expression.compiled.fullmatch(text) is not None
    memory.charge(0 if len(text) < _FEW_STEPS else len(text))  # looks at the clock
    form = expression.linear.ascii if text.isascii() else expression.linear.any
    if form is not None:
        try:
            return bool(pc.match_substring_regex(pa.scalar(text), form).as_py())
        except (pa.ArrowInvalid, UnicodeEncodeError):  # too large for RE2, or not a text for Arrow
            pass
    return expression.program.matches(text, memory)


def _matches(memory: MemoryAccount, text: Any, pattern: Any) -> bool | None:
    """Return ``text =~ pattern``."""
    if type(text) is not str or type(pattern) is not str:
        return None
    return matches(text, pattern, memory)


REGULAR: dict[str, Callable[..., Any]] = {"=~": _matches}
"""The operator; takes the ``MemoryAccount`` first."""
