"""Functions and aggregates of users: their signatures, and what a statement's plan holds of one."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from qengine.catalog.fields import NAME, Field, fields_of, invalid_signature
from qengine.catalog.functions import Function, Signature, Slot, lookup
from qengine.errors import SemanticError

_SIGNATURE = re.compile(rf"\s*({NAME}(?:\.{NAME})*)\s*\((.*)\)\s*::\s*([^()]+?)\s*", re.DOTALL)
_EXAMPLE = 'Write it like "my.function(name :: STRING, count :: INTEGER?) :: FLOAT".'


class UserFunction:
    """A function of Python with its signature. Two are equal only if they are the same.

    Attributes
    ----------
    about
        What the binder checks calls by, and SHOW FUNCTIONS lists.
    inputs, output
        Types of arguments and result. Where an argument that isn't nullable is null, the result of a function is null
        without a call, and an aggregate leaves the row out.
    function
        What is called: with the arguments of a row, of many rows as Arrow arrays if ``vectorized``; of an aggregate
        with a list, or an Arrow array, of each argument's values in a group.
    aggregate, vectorized, deterministic
        ``deterministic``: it gives the same for the same arguments, so it may be called once for several rows.
    """

    __slots__ = ("about", "aggregate", "deterministic", "function", "inputs", "output", "vectorized")

    def __init__(
        self,
        signature: tuple[str, tuple[Field, ...], Field],
        function: Callable[..., Any],
        *,
        aggregate: bool,
        vectorized: bool,
        deterministic: bool,
    ) -> None:
        name, self.inputs, self.output = signature
        self.function = function
        self.aggregate, self.vectorized, self.deterministic = aggregate, vectorized, deterministic
        shape = Signature(tuple(Slot((each.type,)) for each in self.inputs), Slot((self.output.type,)))
        self.about = Function(
            name=name,
            key=name,
            aliases=(),
            former=(),
            kind="aggregate" if aggregate else "scalar",
            signatures=(shape,),
            strict=not any(each.nullable for each in self.inputs),
            deterministic=deterministic,
            available=True,
            total=False,
            doc=(function.__doc__ or "").strip().partition("\n")[0],
        )

    @property
    def name(self) -> str:
        """Its full name, with dots."""
        return self.about.name

    @property
    def signature(self) -> str:
        """Its signature as it is registered by."""
        output = str(self.output).partition(" ")[2]
        return f"{self.name}({', '.join(map(str, self.inputs))}) {output}"

    def __repr__(self) -> str:
        return f"<{'Aggregate' if self.aggregate else 'Function'} {self.signature}>"


def parse_function(text: str) -> tuple[str, tuple[Field, ...], Field]:
    """Read the signature of a function, such as ``"my.f(x :: INTEGER, y :: STRING?) :: FLOAT?"``.

    Types are those of ``parse_signature``.

    Returns
    -------
    tuple
        The name, the arguments, and the result as a field of the name ``result``.

    Raises
    ------
    SemanticError
        ``InvalidSignature`` for a text of another form, an unknown type, two arguments of one name, and the name of a
        built-in function.
    """
    found = _SIGNATURE.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise invalid_signature(f"{text!r} is no signature of a function.", _EXAMPLE)
    name = ".".join(part.strip("`") for part in found[1].split("."))
    if lookup(name) is not None:
        raise SemanticError(
            f"There is a built-in function `{name}`.", code="InvalidSignature", hint=f"Call it my.{name}, for example."
        )
    (output,) = fields_of(f"result :: {found[3]}", text)
    return name, fields_of(found[2], text), output
