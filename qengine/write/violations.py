"""Values against the types that constraints require, and the errors of elements that are not as these require."""

from __future__ import annotations

from typing import Any

from qengine.catalog.rules import Rule
from qengine.errors import ExecutionError
from qengine.exec.scalar.values import type_of
from qengine.plan.expr_text import literal_text, name_text
from qengine.plan.rule_text import requirement

_LONGEST = 60  # characters of a value in a message


def has_type(value: Any, type: str) -> bool:
    """Tell whether a value, which isn't null, is of a type like ``INTEGER | LIST<STRING NOT NULL>``."""
    types = type.split(" | ")
    if type_of(value) != "LIST":
        return type_of(value) in types
    lists = [each for each in types if each.startswith("LIST<")]
    return any(all(f"LIST<{type_of(item)} NOT NULL>" == each for item in value) for each in lists)


def violation(
    rule: Rule,
    number: int,
    key: str,
    value: Any,
    *,
    other: int | None = None,
    code: str = "ConstraintValidationFailed",
) -> ExecutionError:
    """Return the error of an element that a constraint doesn't admit.

    Parameters
    ----------
    number
        Of the element.
    key, value
        The property that is not as it must be, None where it has none; of a unique constraint all values, in the order
        of its keys.
    other
        The element that has the same values, where the constraint is about these.
    """
    kind = "node" if rule.of_nodes else "relationship"
    about = f"{kind} {number} with the {'label' if rule.of_nodes else 'type'} {name_text(rule.label)}"
    if other is not None:
        pairs = zip(rule.keys, value, strict=True)
        listed = " and ".join(f"{name_text(each)} = {_shown(one)}" for each, one in pairs)
        message = f"{about} has {listed}, as {kind} {other} has"
    elif value is None:
        message = f"{about} has no property {name_text(key)}"
    else:
        type = type_of(value)
        type = "LIST of other items" if type == "LIST" and "LIST<" in rule.type else type
        message = f"{about} has {name_text(key)} = {_shown(value)}, of type {type}"
    return ExecutionError(
        f"{message[0].upper()}{message[1:]}; the constraint {name_text(rule.name)} requires {requirement(rule)}.",
        code=code,
    )


def _shown(value: Any) -> str:
    text = literal_text(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
