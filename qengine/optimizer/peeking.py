"""Values of parameters that estimates may look at, and what then must hold of other values for the plan to be right.

A statement whose literals were lifted to parameters is planned for the values that its text has. Each estimate that has
looked at one is noted: for other values the plan is as good where these estimates come out about the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
from types import MappingProxyType
from typing import Any, TypeVar

from qengine._frozen import frozen, record
from qengine.plan.expr import Expr
from qengine.plan.pattern import LabelExpr
from qengine.plan.traverse import with_values

_Tree = TypeVar("_Tree")

NOTHING: Mapping[str, Any] = MappingProxyType({})

_SAME = 2.0
"""The factor by which two estimates of one share may differ and still be taken for the same."""


@frozen
class Assumption:
    """The share of nodes or relationships with some labels or types that was expected to satisfy some conditions."""

    predicates: tuple[Expr, ...]
    entity: str
    owners: LabelExpr | None
    share: float

    def admits(self, share: float) -> bool:
        """Tell whether an estimate for other values is about the same. None at all is like none alone."""
        return share == self.share or (share < self.share * _SAME and self.share < share * _SAME)


@record
class Peeks:
    """Values and lengths of lists by parameters' names, and the assumptions made of the values, each once."""

    values: Mapping[str, Any]
    lengths: Mapping[str, int]
    assumptions: dict[Assumption, None] = field(default_factory=dict)


_PEEKS: ContextVar[Peeks | None] = ContextVar("values that estimates look at", default=None)
_COUNTS: ContextVar[bool] = ContextVar("whether few elements are looked at one by one", default=False)


@contextmanager
def peeking(values: Mapping[str, Any], lengths: Mapping[str, int] = NOTHING) -> Iterator[Peeks]:
    """Let estimates look at the values of these parameters meanwhile; of lists at their ``lengths`` alone."""
    peeks = Peeks(values, lengths)
    token = _PEEKS.set(peeks)
    try:
        yield peeks
    finally:
        _PEEKS.reset(token)


def known_values() -> Mapping[str, Any]:
    """Return the values of parameters that planning may look at."""
    peeks = _PEEKS.get()
    return NOTHING if peeks is None else peeks.values


def note(assumption: Assumption) -> None:
    """Note what was expected of values that estimates may look at."""
    peeks = _PEEKS.get()
    if peeks is not None:
        peeks.assumptions[assumption] = None


def known_lengths() -> Mapping[str, int]:
    """Return the lengths of lists that are parameters, as far as planning may look at them."""
    peeks = _PEEKS.get()
    return NOTHING if peeks is None else peeks.lengths


@contextmanager
def counting_rare() -> Iterator[None]:
    """Let estimates look at the very elements that few satisfy meanwhile, and at the relationships of these.

    That takes some 0.1 ms a condition, and what is found holds for these values alone, not for others that are as rare.
    """
    token = _COUNTS.set(True)
    try:
        yield
    finally:
        _COUNTS.reset(token)


def counts_rare() -> bool:
    """Tell whether estimates look at the elements that few satisfy: not where a plan is meant for other values, too."""
    return _COUNTS.get() and not known_values()


def as_known(tree: _Tree) -> _Tree:
    """Return a part of a plan, or a tuple of such, with the values that estimates may look at in their places.

    By this estimates are remembered: those of a text hold for the same text whose literals were lifted.
    """
    values = known_values()
    found: _Tree = with_values(tree, values) if values else tree
    return found


def is_peeked(name: str) -> bool:
    """Tell whether estimates may look at the value of a parameter."""
    return name in known_values()
