"""Parsing one statement, and what holds while a statement is parsed and planned."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING

from qengine._deadline import planning_deadline
from qengine.errors import QengineError, QueryInterrupted, SemanticError, Unsupported

if TYPE_CHECKING:
    from qengine.syntax import ast
    from qengine.syntax.scanner import Tokens

_SETTERS = ("SETNODEVECTORPROPERTY", "SETRELATIONSHIPVECTORPROPERTY")  # procedures that are SET in other words
_MAKERS = (
    "CREATEINDEX",
    "CREATEUNIQUEPROPERTYCONSTRAINT",
    "CREATENODEKEY",
    "CREATENODEINDEX",
    "CREATERELATIONSHIPINDEX",
)
_UPDATING = (
    *("CREATE", "MERGE", "SET", "REMOVE", "DELETE", "DROP", "FOREACH", "INSERT", "TRANSACTIONS"),
    *_SETTERS,
    *_MAKERS,  # which are CREATE INDEX and CREATE CONSTRAINT
)
_LONG = 4096  # characters of texts of which nothing is remembered
_WORDS = re.compile(rf"\b(?:{'|'.join(_UPDATING)})\b")


def may_update(text: str) -> bool:
    """Tell whether a text has a word of those that change a graph; this is asked of every statement."""
    if not isinstance(text, str):
        return False
    return _has_updating_word(text) if len(text) > _LONG else _known_to_update(text)


def _has_updating_word(text: str) -> bool:
    upper = text.upper()
    for word in _UPDATING:  # which takes a tenth of what the expression takes
        if word in upper:
            return _WORDS.search(upper) is not None
    return False


_known_to_update = lru_cache(maxsize=1024)(_has_updating_word)


def check_text(text: object) -> None:
    """Refuse what is no statement's text.

    Raises
    ------
    SemanticError
        With the type that it is of.
    """
    if not isinstance(text, str):
        raise SemanticError(f"A statement is a str, not a value of Python's {type(text).__name__}.")


def one_statement(text: str, tokens: Tokens | None = None) -> ast.Statement:
    """Return the one statement of a text; ``tokens``: those of ``scanned``, where they are known.

    Raises
    ------
    QuerySyntaxError, SemanticError
        For a text of none, or of several.
    """
    from qengine.syntax import parse

    check_text(text)
    statements = parse(text, tokens)
    if len(statements) != 1:
        found = "none" if not statements else f"{len(statements)} statements"
        raise SemanticError(
            f"There must be one statement, not {found}.",
            span=statements[1].span if statements else None,
            hint="Run them one by one with graph.script(text)." if statements else "Type a query.",
        )
    return statements[0]


@contextmanager
def planning(text: str, check: Callable[[], None], what: str = "query") -> Iterator[None]:
    """Let planning be stopped, give its errors their text, and turn what Python raises where it is stopped into ours.

    ``check`` raises where it must stop.
    """
    try:
        with planning_deadline(check):
            check()
            yield
    except QengineError as error:
        raise error.at(text) from None
    except RecursionError:
        raise too_deep() from None
    except KeyboardInterrupt:
        raise QueryInterrupted(f"The {what} was interrupted while it was planned.", code="Interrupted") from None


def too_deep() -> Unsupported:
    """Return the refusal of a plan that needs more of Python's stack than the caller has left."""
    return Unsupported(
        "The query nests deeper than the calls that Python allows from here.",
        hint="Split it into several queries, or run it from fewer nested calls.",
    )
