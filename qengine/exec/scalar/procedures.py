"""Calls procedures: checks and converts arguments and rows, and turns what fails in a function into an error."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from qengine._limits import limited_by, running
from qengine.catalog.fields import Field
from qengine.catalog.view import CatalogView
from qengine.errors import ExecutionError, ResourceError, described
from qengine.exec.scalar.declared import fitting, kind_told, told
from qengine.exec.scalar.foreign import find_in_graph
from qengine.exec.scalar.materialize import materialize
from qengine.exec.scalar.parameters import from_python
from qengine.exec.scalar.scored import ScoredElements
from qengine.exec.scalar.values import Given
from qengine.exec.view import GraphReader
from qengine.plan.logical import ProcedureCall

if TYPE_CHECKING:
    from qengine.exec.context import ExecutionContext

_PLAIN = frozenset((bool, float))  # values of the language, whatever they are


class ProcedureCaller:
    """Calls the procedure of an operator, in one execution.

    Parameters
    ----------
    operator
        Says which procedure, and which of its outputs are wanted.
    reader
        Makes values of nodes and relationships, and finds those that the procedure gives.
    version
        Returns the version of the graph that the procedure reads.
    context
        The execution's limits, which hold between two rows of the procedure.
    """

    def __init__(
        self,
        operator: ProcedureCall,
        reader: GraphReader,
        version: Callable[[], CatalogView],
        context: ExecutionContext,
    ) -> None:
        signature = operator.procedure.signature
        self._procedure, self._span = operator.procedure, operator.span
        self._inputs, self._outputs = signature.inputs, signature.outputs
        places = {field.name: place for place, field in enumerate(signature.outputs)}
        self._wanted = [places[output] for output, _ in operator.outputs]
        self._reader, self._version, self._context = reader, version, context
        self._is_sure = False  # whether what comes is known to be of the outputs' types

    def rows(self, args: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        """Give the wanted outputs of each row for some arguments; of a VOID procedure one empty row.

        Raises
        ------
        ExecutionError
            ``InvalidArgumentType`` for an argument of another type, ``ProcedureCallFailed`` where the function raises
            an error or gives what its signature doesn't say.
        """
        pairs = zip(self._inputs, args, strict=True)
        (given,) = materialize([[self._argument(field, value) for field, value in pairs]], self._reader)
        found = self._iterate(given)
        if not self._outputs:
            for _ in found:
                pass
            yield ()
            return
        for row in found:
            values = row if self._is_sure else self._values(row)
            yield tuple([values[place] for place in self._wanted])

    def _argument(self, field: Field, value: Any) -> Any:
        try:
            return fitting(value, field)
        except TypeError:
            raise ExecutionError(
                f"`{self._procedure.name}` takes {told(field)} as `{field.name}`, not {kind_told(value)}.",
                code="InvalidArgumentType",
                span=self._span,
            ) from None

    def _iterate(self, args: Sequence[Any]) -> Iterator[Any]:
        """Give what the function gives, row by row; what it runs in turn doesn't end the limits of this query."""
        limits, context = running.limits, self._context
        try:
            with limited_by(limits):
                found = self._procedure.function(self._version(), context, args)
                self._is_sure = isinstance(found, ScoredElements)
                if self._is_sure:
                    yield from found.rows(self._reader, context.check)
                    return
                rows = iter(() if found is None else self._of_table(found))
            while True:
                context.check()
                with limited_by(limits):
                    row = next(rows, _END)
                if row is _END:
                    return
                yield row
        except (ResourceError, GeneratorExit):
            raise
        except Exception as error:
            if isinstance(error, ExecutionError) and (error.code == _FAILED or not error.text):
                error.span = error.span or self._span  # what a procedure itself says, not a query that it runs
                raise
            raise self._failed(f"failed: {described(error)}") from error

    def _of_table(self, found: Any) -> Any:
        if not hasattr(found, "__arrow_c_stream__"):
            return found
        import pyarrow as pa

        table = pa.table(found)
        unknown = set(table.column_names) ^ {field.name for field in self._outputs}
        if unknown:
            raise self._failed(f"gave a table whose columns aren't its outputs: {', '.join(sorted(unknown))}")
        return self._of_batches(table)

    def _of_batches(self, table: Any) -> Iterator[tuple[Any, ...]]:
        for batch in table.select([field.name for field in self._outputs]).to_batches(max_chunksize=4096):
            yield from zip(*(from_python(column, "", []) for column in batch.columns), strict=True)

    def _values(self, row: Any) -> list[Any]:
        """Return a row's values in the order of the outputs."""
        outputs = self._outputs
        if isinstance(row, Mapping):
            if unknown := row.keys() - {field.name for field in outputs}:
                raise self._failed(f"gave `{min(map(str, unknown))}`, which is none of its outputs")
            row = [row.get(field.name) for field in outputs]
        elif not isinstance(row, tuple | list):
            raise self._failed(f"gave a {type(row).__name__} as a row: rows are tuples or dicts")
        elif len(row) != len(outputs):
            raise self._failed(f"gave a row of {len(row)} values for {len(outputs)} outputs")
        return [self._value(field, value) for field, value in zip(outputs, row, strict=True)]

    def _value(self, field: Field, value: Any) -> Any:
        if type(value) not in _PLAIN:
            given: list[Given] = []
            try:
                value = from_python(value, f"`{field.name}`", given)
                find_in_graph(given, self._reader)
            except ExecutionError as error:
                raise self._failed(f"gave no value of the language as `{field.name}`", error.hint) from error
        try:
            return fitting(value, field)
        except TypeError:
            raise self._failed(f"gave {kind_told(value)} as `{field.name}`, which is {told(field)}") from None

    def _failed(self, what: str, hint: str | None = None) -> ExecutionError:
        message = f"The procedure `{self._procedure.name}` {what}."
        return ExecutionError(message, code=_FAILED, span=self._span, hint=hint)


_END = object()
_FAILED = "ProcedureCallFailed"
