"""``node``: makes the classes of plans; each declares which of its fields hold its children."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, fields
from typing import Any, TypeVar, dataclass_transform

from qengine._frozen import frozen

_C = TypeVar("_C", bound=type)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def node(*children: str) -> Callable[[_C], _C]:
    """Make a class a frozen, slotted dataclass with declared children, whose names are its ``child_fields``.

    Parameters
    ----------
    children
        The fields that hold expressions, operators, or other nodes with such below them: one, None, or nested tuples
        with some among names and numbers. In the order of the fields; none for a leaf.

    Raises
    ------
    TypeError
        For a name that isn't a field's, or another order.
    """

    def make(cls: _C) -> _C:
        made: Any = frozen(cls)
        if children != tuple(each.name for each in fields(made) if each.name in children):
            raise TypeError(f"The children of {cls.__name__} aren't fields in their order: {', '.join(children)}.")
        made.child_fields = children
        return made  # type: ignore[no-any-return]

    return make
