"""Procedures: their signatures, as openCypher writes them, and the registries in which statements look them up.

A registry holds the functions of users, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

from qengine import _nearest
from qengine._frozen import frozen
from qengine.catalog.fields import NAME, Field, fields_of, invalid_signature

if TYPE_CHECKING:
    from qengine.catalog.user_functions import UserFunction
    from qengine.catalog.view import CatalogView


@frozen
class ProcedureSignature:
    """``name(inputs) :: (outputs)``; a procedure without outputs is VOID: its calls keep the rows as they are."""

    name: str
    inputs: tuple[Field, ...]
    outputs: tuple[Field, ...]

    @property
    def is_void(self) -> bool:
        """Whether the procedure has no outputs."""
        return not self.outputs

    def __str__(self) -> str:
        outputs = f"({', '.join(map(str, self.outputs))})" if self.outputs else "VOID"
        return f"{self.name}({', '.join(map(str, self.inputs))}) :: {outputs}"


ProcedureFunction = Callable[["CatalogView", Any, Sequence[Any]], Any]
"""Gives the rows of a call: of the graph's version, the execution's context and the arguments."""


class Procedure:
    """A signature and the function behind it. Two are equal only if they are the same.

    ``function`` gets the graph's version, the execution's context and the arguments as values of results; it returns
    rows: tuples in the order of the outputs, mappings from their names, or a table.
    """

    __slots__ = ("description", "function", "signature")

    def __init__(self, signature: ProcedureSignature, function: ProcedureFunction, description: str = "") -> None:
        self.signature = signature
        self.function = function
        self.description = description

    @property
    def name(self) -> str:
        """Its full name, with dots."""
        return self.signature.name

    def __repr__(self) -> str:
        return f"<Procedure {self.signature}>"


_REGISTERING = Lock()


class Procedures:
    """Procedures and functions of users by name; those that aren't here are looked for in ``parent``.

    ``changes`` counts registrations everywhere, so that plans made before are told apart.
    """

    changes = 0

    def __init__(self, parent: Procedures | None = None) -> None:
        self._parent = parent
        self._own: dict[str, Procedure] = {}
        self._functions: dict[str, UserFunction] = {}

    def register(self, procedure: Procedure) -> None:
        """Add a procedure, in place of one of the same name."""
        with _REGISTERING:
            self._own = {**self._own, procedure.name: procedure}
            Procedures.changes += 1

    def register_function(self, function: UserFunction) -> None:
        """Add a function, in place of one of the same name."""
        with _REGISTERING:
            self._functions = {**self._functions, function.name: function}
            Procedures.changes += 1

    def function(self, name: str) -> UserFunction | None:
        """Return the user's function with a name, None if there is none. Names are case-sensitive."""
        found = self._functions.get(name)
        return found if found is not None or self._parent is None else self._parent.function(name)

    def functions(self) -> list[UserFunction]:
        """Return all functions of users by their names' order, each name once."""
        found = {} if self._parent is None else {each.name: each for each in self._parent.functions()}
        return sorted((found | self._functions).values(), key=lambda each: each.name)

    def find(self, name: str) -> Procedure | None:
        """Return the procedure with a name, None if there is none. Names are case-sensitive."""
        found = self._own.get(name)
        return found if found is not None or self._parent is None else self._parent.find(name)

    def nearest(self, name: str) -> str | None:
        """Return the name that ``name`` is probably a misspelling of, None if it is of none."""
        for each in self:
            if each.name.lower() == name.lower():
                return each.name
        return _nearest.nearest(name, (each.name for each in self))

    def __iter__(self) -> Iterator[Procedure]:
        """Give all procedures by their names' order, each name once."""
        found = {} if self._parent is None else {each.name: each for each in self._parent}
        return iter(sorted((found | self._own).values(), key=lambda each: each.name))


_SIGNATURE = re.compile(
    rf"\s*({NAME}(?:\.{NAME})*)\s*\((.*?)\)\s*::\s*(?:\((.*)\)|(VOID))\s*", re.DOTALL | re.IGNORECASE
)


def parse_signature(text: str) -> ProcedureSignature:
    """Read a signature as openCypher writes it, such as ``"test.my.proc(in :: INTEGER?) :: (out :: STRING?)"``.

    ``?`` behind a type admits null; lists are ``LIST``, ``LIST<T>`` or ``LIST OF T``; ``:: ()`` and ``:: VOID`` have no
    outputs. An argument ``name = 300 :: INTEGER`` may be left out; what it is then is written as JSON.

    Raises
    ------
    SemanticError
        ``InvalidSignature`` for a text of another form, an unknown type, two arguments or outputs of one name.
    """
    found = _SIGNATURE.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise invalid_signature(f"{text!r} is no signature of a procedure.")
    name, inputs, outputs, _ = found.groups()
    name = ".".join(part.strip("`") for part in name.split("."))
    return ProcedureSignature(name, fields_of(inputs, text, defaults=True), fields_of(outputs or "", text))
