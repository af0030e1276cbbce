"""Calls functions of users: for rows one by one, for arrays of them, for groups; what fails in one becomes an error.

A function is called within the limits of the query, which are looked at between two calls; with arrays, they are of at
most ``ROWS`` rows.
"""

from __future__ import annotations

import time
from array import array as packed
from collections.abc import Callable, Sequence
from typing import Any

from qengine._limits import limited_by, running
from qengine._printable import printable
from qengine._text import are_texts
from qengine.catalog.fields import Field
from qengine.catalog.user_functions import UserFunction
from qengine.errors import ExecutionError, ResourceError, Span, described
from qengine.exec.scalar.declared import fitting, kind_told, told
from qengine.exec.scalar.foreign import find_in_graph
from qengine.exec.scalar.materialize import materialize
from qengine.exec.scalar.parameters import from_python
from qengine.exec.scalar.values import Given
from qengine.exec.view import GraphReader
from qengine.types import Kind

ROWS = 1 << 16
"""Rows that a vectorized function gets at a time, at most."""

FAILED = "FunctionCallFailed"
_MOST = 4096  # rows between two looks at the clock; fewer where they take long
_SECONDS = 0.005
_SHOWN = 60  # characters of an argument in a message
_PLAIN: dict[Kind, type] = {Kind.BOOLEAN: bool, Kind.INTEGER: int, Kind.FLOAT: float, Kind.STRING: str}
_NULL = type(None)


def _are_values(results: Sequence[Any], kind: type | None) -> bool:
    """Tell whether all of some values of one class are values of the language."""
    if kind is str:
        return are_texts(results)
    if kind is int:
        try:
            packed("q", results)
        except OverflowError:
            return False
    return True


class FunctionCaller:
    """Calls one function in one execution.

    Parameters
    ----------
    function
        What is called.
    span
        Where the statement calls it.
    reader
        Makes values of nodes and relationships, and finds those that the function gives.
    check
        Raises where the execution must stop.
    """

    def __init__(
        self, function: UserFunction, span: Span | None, reader: GraphReader, check: Callable[[], None]
    ) -> None:
        self.function, self._span, self._reader, self.check = function, span, reader, check
        self._rows = 0

    def values(self, columns: Sequence[list[Any]], length: int) -> list[Any]:
        """Return the results for rows, given the values of each argument; of an aggregate those of one list a group.

        Raises
        ------
        ExecutionError
            ``InvalidArgumentType`` for an argument of another type, ``FunctionCallFailed`` where the function raises an
            error, or gives what its signature doesn't say.
        """
        if self.function.aggregate:
            return [self._group(values) for values in columns[0]]
        given = [self.taken(field, values) for field, values in zip(self.function.inputs, columns, strict=True)]
        null = self._nulls(given)
        if null:
            kept = [place for place in range(length) if place not in null]
            given = [[values[place] for place in kept] for values in given]
        results = self._called(given, length - len(null))
        if not null:
            return results
        whole: list[Any] = [None] * length
        for place, result in zip(kept, results, strict=True):
            whole[place] = result
        return whole

    def _nulls(self, given: Sequence[list[Any]]) -> set[int]:
        """Return the rows where an argument is null that may not be."""
        found: set[int] = set()
        for field, values in zip(self.function.inputs, given, strict=True):
            if not field.nullable and None in values:
                found.update(place for place, value in enumerate(values) if value is None)
        return found

    def taken(self, field: Field, values: list[Any]) -> list[Any]:
        """Return an argument's values as the function gets them; ``ExecutionError`` for those of another type."""
        if set(map(type, values)) <= {_PLAIN.get(field.type.kind), _NULL}:
            return values
        nullable = Field(field.name, field.type)
        try:
            fit = [fitting(value, nullable) for value in values]
        except TypeError:
            raise self._mistaken(field, values) from None
        return [value for (value,) in materialize([(value,) for value in fit], self._reader, self.check)]

    def _mistaken(self, field: Field, values: list[Any]) -> ExecutionError:
        nullable = Field(field.name, field.type)
        for value in values:
            try:
                fitting(value, nullable)
            except TypeError:
                break
        return ExecutionError(
            f"`{self.function.name}` takes {told(field)} as `{field.name}`, not {kind_told(value)}.",
            code="InvalidArgumentType",
            span=self._span,
        )

    def _called(self, given: Sequence[list[Any]], length: int) -> list[Any]:
        if self.function.vectorized:
            return self._by_arrays(given, length)
        results: list[Any] = []
        size = 1
        while (done := len(results)) < length:
            self.check()
            begin = time.perf_counter()
            some = [values[done : done + size] for values in given]
            made = self._by_row(some, min(size, length - done))
            results += self._checked(made)
            late = time.perf_counter() - begin > _SECONDS
            size = max(1, size // 4) if late else min(_MOST, size * 4)
        return results

    def _by_row(self, given: Sequence[list[Any]], length: int) -> list[Any]:
        function = self.function.function
        results: list[Any] = []
        try:
            with limited_by(running.limits):
                results.extend(map(function, *given) if given else (function() for _ in range(length)))
            if len(results) < length:  # ``map`` ended by it
                raise StopIteration
        except Exception as error:
            row = len(results)
            shown = ", ".join(
                f"{field.name} = {_shown(values[row])}"
                for field, values in zip(self.function.inputs, given, strict=True)
            )
            raise self._error_of(error, f"in row {self._rows + row + 1:,}{shown and f' ({shown})'}") from error
        self._rows += length
        return results

    def _checked(self, results: list[Any]) -> list[Any]:
        """Return what the function gave as values of the language, of the type that it declares."""
        field = self.function.output
        wanted = _PLAIN.get(field.type.kind)
        if set(map(type, results)) <= ({wanted, _NULL} if field.nullable else {wanted}):
            there = results if None not in results else [each for each in results if each is not None]
            if _are_values(there, wanted):
                return results
        return [self._result(value) for value in results]

    def _result(self, value: Any) -> Any:
        field, given = self.function.output, list[Given]()
        try:
            value = from_python(value, "the result", given)
            find_in_graph(given, self._reader)
        except ExecutionError as error:
            raise self._failed(f"gave no value of the language: {error.message.rstrip('.')}", error.hint) from error
        try:
            return fitting(value, field)
        except TypeError:
            raise self._failed(f"gave {kind_told(value)} where its signature says {told(field)}") from None

    def _group(self, rows: list[Any]) -> Any:
        """Return an aggregate of a group: of the values of its only argument, or of rows of several."""
        self.check()
        inputs = self.function.inputs
        single = len(inputs) == 1 and not inputs[0].nullable
        columns = [rows] if single else [[row[place] for row in rows] for place in range(len(inputs))]
        given = [self.taken(field, values) for field, values in zip(inputs, columns, strict=True)]
        if self.function.vectorized:
            given = [self._array(field, values) for field, values in zip(inputs, given, strict=True)]
        return self.of_group(given, len(rows))

    def of_group(self, given: Sequence[Any], length: int) -> Any:
        """Return an aggregate of a group, given a list or an array of each argument's values."""
        try:
            with limited_by(running.limits):
                result = self.function.function(*given)
        except Exception as error:
            raise self._error_of(error, f"for a group of {length:,} rows") from error
        return self._checked([result])[0]

    # ---------------------------------------------------------------- arrays

    def _by_arrays(self, given: Sequence[list[Any]], length: int) -> list[Any]:
        results: list[Any] = []
        for begin in range(0, length, ROWS):
            end = min(begin + ROWS, length)
            pairs = zip(self.function.inputs, given, strict=True)
            found = self.arrays([self._array(field, values[begin:end]) for field, values in pairs], end - begin)
            results += found if type(found) is list else found.to_pylist()
        return results

    def _array(self, field: Field, values: list[Any]) -> Any:
        from qengine.exec.arrow_values import array_of

        return as_declared(array_of(values), field)

    def arrays(self, given: Sequence[Any], length: int) -> Any:
        """Return the results for rows, given arrays of the declared types.

        Returns
        -------
        pyarrow.Array or list
            An array of booleans, 64-bit integers, doubles or strings where the signature says so; else values.

        Raises
        ------
        ExecutionError
            As ``values``.
        """
        self.check()
        begin, self._rows = self._rows + 1, self._rows + length
        try:
            with limited_by(running.limits):
                found = _arrow(self.function.function(*given), length)
        except Exception as error:
            raise self._error_of(error, f"in rows {begin:,} to {self._rows:,}") from error
        if len(found) != length:
            raise self._failed(f"gave {len(found):,} values for {length:,} rows")
        null = _strict_nulls(self.function.inputs, given)
        return self._declared(found, null)

    def admits(self, type: Any, field: Field) -> bool:
        """Tell whether an array of an Arrow type holds values that a field of a plain type admits."""
        return _may_be(type, field.type.kind)

    def _declared(self, found: Any, null: Any) -> Any:
        import pyarrow.compute as pc

        field = self.function.output
        if field.type.kind not in _PLAIN:
            values = from_python(found, "the result", [])
            nulls = [False] * len(values) if null is None else null.to_pylist()
            return [None if lost else self._result(value) for value, lost in zip(values, nulls, strict=True)]
        if not _may_be(found.type, field.type.kind):
            raise self._failed(f"gave an array of {found.type} where its signature says {told(field)}")
        try:
            found = as_declared(found, field)
        except ValueError as error:
            raise self._failed(f"gave an array of {found.type}: {error}") from error
        if null is not None:
            lost = found.is_null() if found.null_count else None
            if lost is not None and not field.nullable and pc.any(pc.and_not(lost, null)).as_py():
                raise self._failed(f"gave null where its signature says {told(field)}")
            return pc.if_else(null, None, found)
        if found.null_count and not field.nullable:
            raise self._failed(f"gave null where its signature says {told(field)}")
        return found

    # ---------------------------------------------------------------- errors

    def _error_of(self, error: Exception, where: str) -> Exception:
        if isinstance(error, ResourceError) or (isinstance(error, ExecutionError) and error.code == FAILED):
            return error
        return self._failed(f"failed {where}: {described(error)}")

    def _failed(self, what: str, hint: str | None = None) -> ExecutionError:
        kind = "aggregate" if self.function.aggregate else "function"
        return ExecutionError(f"The {kind} `{self.function.name}` {what}.", code=FAILED, span=self._span, hint=hint)


def as_declared(array: Any, field: Field) -> Any:
    """Return an array in the Arrow type of a field's plain type, any other as it is; ``ValueError`` where none fits."""
    import pyarrow as pa

    types = {Kind.BOOLEAN: pa.bool_(), Kind.INTEGER: pa.int64(), Kind.FLOAT: pa.float64(), Kind.STRING: pa.string()}
    type = types.get(field.type.kind)
    if type is None or array.type == type or array.type == pa.large_string():
        return array
    return array.cast(type)


def _arrow(found: Any, length: int) -> Any:
    """Return what a vectorized function gave as one array."""
    import pyarrow as pa

    if isinstance(found, pa.Scalar):
        return pa.repeat(found, length)
    if isinstance(found, pa.ChunkedArray):
        return found.combine_chunks()
    return found if isinstance(found, pa.Array) else pa.array(found)


def _may_be(type: Any, kind: Kind) -> bool:
    """Tell whether an array of an Arrow type may stand for values of a plain type."""
    import pyarrow.types as t

    tests: dict[Kind, tuple[Callable[[Any], bool], ...]] = {
        Kind.BOOLEAN: (t.is_boolean,),
        Kind.INTEGER: (t.is_integer,),
        Kind.FLOAT: (t.is_floating, t.is_integer),
        Kind.STRING: (t.is_string, t.is_large_string),
    }
    return bool(t.is_null(type)) or any(test(type) for test in tests[kind])


def _strict_nulls(inputs: Sequence[Field], given: Sequence[Any]) -> Any:
    """Return where an argument is null that may not be; None if nowhere."""
    import pyarrow.compute as pc

    found = None
    for field, array in zip(inputs, given, strict=True):
        if not field.nullable and array.null_count:
            found = array.is_null() if found is None else pc.or_(found, array.is_null())
    return found


def _shown(value: Any) -> str:
    text = printable(repr(value))
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
