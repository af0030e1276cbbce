"""Functions and aggregates that users register: functions of Python that expressions call.

>>> import qengine
>>> @qengine.function("text.reversed(text :: STRING) :: STRING")
... def backwards(text):
...     return text[::-1]
>>> @qengine.aggregate("stats.spread(x :: FLOAT) :: FLOAT?")
... def spread(values):
...     return max(values) - min(values) if values else None
>>> qengine.Graph().query("UNWIND [2, 9, 4] AS x RETURN stats.spread(x) AS s, text.reversed('abc') AS t").fetchall()
[Row(s=7.0, t='cba')]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

from qengine._arguments import tells_arguments
from qengine.builtin_procedures import EVERYWHERE
from qengine.catalog.procedures import Procedures
from qengine.catalog.user_functions import UserFunction, parse_function
from qengine.errors import SemanticError
from qengine.procedures import register

F = TypeVar("F", bound=Callable[..., Any])


@overload
def function(signature: str, function: F, *, vectorized: bool = False, deterministic: bool = True) -> F: ...
@overload
def function(
    signature: str, function: None = None, *, vectorized: bool = False, deterministic: bool = True
) -> Callable[[F], F]: ...
@tells_arguments
def function(
    signature: str, function: F | None = None, *, vectorized: bool = False, deterministic: bool = True
) -> F | Callable[[F], F]:
    """Register a function for all graphs; as a decorator, or with the function.

    Parameters
    ----------
    signature
        ``"my.f(x :: INTEGER, name :: STRING?) :: FLOAT?"``, with the types of ``qengine.procedure``. Where an argument
        without ``?`` is null the result is null, without a call. ``?`` behind the result's type: it may give None.
    function
        Called once for each row with the arguments in order; nodes, relationships and paths are as results have them.
    vectorized
        It is called with Arrow arrays of up to 65,536 rows instead, one for each argument: bool, int64, double and
        string arrays where the signature says so, others as results have them. It gives an array of as many values:
        of Arrow, NumPy or whatever has ``__arrow_c_array__``, or one scalar of Arrow for all rows. Arrays may hold
        nulls; the rows where an argument without ``?`` is null become null whatever it gives for them.
    deterministic
        It gives the same for the same arguments. Then it may be called once for several rows, earlier than rows are
        asked for, for rows that turn out not to be needed, and from several threads.

    Raises
    ------
    SemanticError
        ``InvalidSignature`` for a signature of another form, and the name of a built-in function.
    """
    return register_function(EVERYWHERE, signature, function, vectorized=vectorized, deterministic=deterministic)


@overload
def aggregate(signature: str, function: F, *, vectorized: bool = False) -> F: ...
@overload
def aggregate(signature: str, function: None = None, *, vectorized: bool = False) -> Callable[[F], F]: ...
@tells_arguments
def aggregate(signature: str, function: F | None = None, *, vectorized: bool = False) -> F | Callable[[F], F]:
    """Register an aggregate for all graphs; as a decorator, or with the function.

    Parameters
    ----------
    signature
        As for ``qengine.function``. Rows in which an argument without ``?`` is null are left out.
    function
        Called once for each group with a list of each argument's values, in the order of the rows; of empty lists where
        there are none. With DISTINCT each combination of arguments comes once.
    vectorized
        It gets Arrow arrays instead of lists.

    Raises
    ------
    SemanticError
        ``InvalidSignature`` for a signature of another form or without arguments, and the name of a built-in function.
    """
    return register_function(EVERYWHERE, signature, function, aggregate=True, vectorized=vectorized)


def register_function(
    registry: Procedures,
    signature: str,
    function: F | None,
    *,
    aggregate: bool = False,
    vectorized: bool = False,
    deterministic: bool = True,
) -> F | Callable[[F], F]:
    """Register a function in some registry, as ``function`` and ``aggregate`` do for all graphs."""
    parsed = parse_function(signature)
    if aggregate and not parsed[1]:
        raise SemanticError(
            f"The aggregate `{parsed[0]}` has no arguments to aggregate.",
            code="InvalidSignature",
            hint="Write it like my.median(x :: FLOAT) :: FLOAT?.",
        )

    def registered(function: F) -> F:
        if not callable(function):
            raise SemanticError(f"`{parsed[0]}` gets {function!r}, which can't be called.", code="InvalidArgumentType")
        made = UserFunction(parsed, function, aggregate=aggregate, vectorized=vectorized, deterministic=deterministic)
        registry.register_function(made)
        return function

    return registered if function is None else registered(function)


@tells_arguments
class Registering:
    """Has what registers procedures and functions for one graph."""

    _view: Any  # a ``GraphView``

    @property
    def user_functions(self) -> tuple[UserFunction, ...]:
        """The functions and aggregates of users that this graph's statements may call, by name."""
        return tuple(self._view.procedures.functions())

    @overload
    def register_procedure(self, signature: str, function: F, *, reads_graph: bool = False) -> F: ...
    @overload
    def register_procedure(
        self, signature: str, function: None = None, *, reads_graph: bool = False
    ) -> Callable[[F], F]: ...
    def register_procedure(
        self, signature: str, function: F | None = None, *, reads_graph: bool = False
    ) -> F | Callable[[F], F]:
        """Register a procedure that this graph's statements may ``CALL``, before those of the same name elsewhere.

        As a decorator, or with the function; everything as for ``qengine.procedure``, which registers for all graphs.

        Raises
        ------
        SemanticError
            ``InvalidSignature`` for a signature of another form.
        """
        return register(self._view.procedures, signature, function, reads_graph=reads_graph)

    @overload
    def register_function(
        self, signature: str, function: F, *, vectorized: bool = False, deterministic: bool = True
    ) -> F: ...
    @overload
    def register_function(
        self, signature: str, function: None = None, *, vectorized: bool = False, deterministic: bool = True
    ) -> Callable[[F], F]: ...
    def register_function(
        self, signature: str, function: F | None = None, *, vectorized: bool = False, deterministic: bool = True
    ) -> F | Callable[[F], F]:
        """Register a function that this graph's statements may call, before those of the same name elsewhere.

        As a decorator, or with the function; everything as for ``qengine.function``, which registers for all graphs.

        Raises
        ------
        SemanticError
            As ``qengine.function``.
        """
        return register_function(
            self._view.procedures, signature, function, vectorized=vectorized, deterministic=deterministic
        )

    @overload
    def register_aggregate(self, signature: str, function: F, *, vectorized: bool = False) -> F: ...
    @overload
    def register_aggregate(
        self, signature: str, function: None = None, *, vectorized: bool = False
    ) -> Callable[[F], F]: ...
    def register_aggregate(
        self, signature: str, function: F | None = None, *, vectorized: bool = False
    ) -> F | Callable[[F], F]:
        """Register an aggregate that this graph's statements may use, before those of the same name elsewhere.

        As a decorator, or with the function; everything as for ``qengine.aggregate``, which registers for all graphs.

        Raises
        ------
        SemanticError
            As ``qengine.aggregate``.
        """
        return register_function(self._view.procedures, signature, function, aggregate=True, vectorized=vectorized)
