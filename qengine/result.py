"""What a query gives: a lazy stream of rows, as Python values or as Arrow data."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from functools import lru_cache, partial
from itertools import islice, repeat
from operator import itemgetter, length_hint
from sys import maxsize
from threading import RLock, get_ident
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Protocol, TypeVar

from qengine._arguments import tells_arguments
from qengine._elsewhere import no_attribute
from qengine._frozen import record
from qengine._gc import gc_paused
from qengine._notices import line
from qengine._printable import printable_line
from qengine.errors import Notice, QengineError, QueryInterrupted
from qengine.result_graphs import GraphForms

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow as pa

    from qengine.plan.physical import PhysicalPlan
    from qengine.types import Type
    from qengine.write.overlay import Changes

_PREVIEW_ROWS = 20
_ROWS_AT_ONCE = 4096  # rows that become Python values at a time
_TUPLE_METHODS = ("count", "index")  # which columns of these names hide, as in every named tuple
_FIRST_ROWS = 256  # rows that become Python values first, where memory is limited
_LOADED_BYTES = 1 << 22  # what such rows may take, where it is known
_ROW_BYTES = 64  # of a row without its values
_FEW_ROWS = 16  # of which Python's search for cycles isn't held up


class ResultBatch(Protocol):
    """Some rows of a result, column by column: what an executor hands over."""

    @property
    def length(self) -> int:
        """Number of rows."""

    def values(self, name: str) -> list[Any]:
        """Return a column as Python values."""

    def arrow(self, name: str, tell: Callable[[str], None]) -> pa.Array:
        """Return a column as an Arrow array; nodes, relationships and paths are structs.

        ``tell`` hears of values that change their form.
        """

    @property
    def held_bytes(self) -> int:
        """Bytes that the rows hold beside what ``arrow`` gives."""

    def slice(self, offset: int, length: int) -> ResultBatch:
        """Return the rows ``[offset, offset + length)`` as far as there are."""


Fetched = TypeVar("Fetched")


class Limits(Protocol):
    """What stops a result that is fetched: the limits of its execution."""

    @property
    def memory_limit(self) -> int | None:
        """Bytes that the query may take, None for no limit."""

    gathers: bool
    """Whether all rows are wanted at once, as arrays."""

    on_device: dict[str, Any] | None
    """Gets the columns of a result that stays on a device; None: rows are wanted."""

    def check_result(self, held: int = 0) -> None:
        """Raise where the query must stop; called between conversions, with the bytes gathered so far."""

    def interrupt(self) -> None:
        """Stop the query soon, from any thread."""


class Row(tuple[Any, ...]):
    """One row: a tuple whose fields are also found by column name, as ``row["name"]`` or ``row.name``.

    ``columns``, ``keys``, ``get`` and ``asdict`` are the row's own: columns of these names are found by ``[]`` alone,
    as are those whose names are no identifiers. pandas and polars take a list of rows as one of named tuples.
    """

    __slots__ = ()
    columns: tuple[str, ...] = ()
    _fields: tuple[str, ...] = ()  # this, the next and _replace are by what others know a named tuple
    _field_defaults: ClassVar[dict[str, Any]] = {}

    def __getattr__(self, name: str) -> Any:
        if name in self.columns:
            return self[name]
        raise AttributeError(f"the row has no column {name!r}; there are: {', '.join(map(repr, self.columns))}")

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            try:
                key = self.columns.index(key)
            except ValueError:
                raise KeyError(f"no column {key!r}; there are: {', '.join(self.columns)}") from None
        return tuple.__getitem__(self, key)

    def keys(self) -> tuple[str, ...]:
        """Return the columns' names: what ``dict(row)`` asks for."""
        return self.columns

    def __reduce__(self) -> tuple[Any, ...]:
        return _row, (self.columns, tuple(self))

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of a column, or ``default`` where there is no such column."""
        return self[name] if name in self.columns else default

    def asdict(self) -> dict[str, Any]:
        """Return the row as a dict from column name to value."""
        return dict(zip(self.columns, self, strict=True))

    def _replace(self, **changed: Any) -> Row:
        """Return the row with other values in some columns."""
        if unknown := changed.keys() - set(self.columns):
            raise ValueError(f"no columns of these names: {sorted(unknown)}")
        return type(self)(changed.get(name, value) for name, value in self.asdict().items())

    def __repr__(self) -> str:
        return "Row(" + ", ".join(f"{printable_line(name)}={value!r}" for name, value in self.asdict().items()) + ")"


@lru_cache(maxsize=64)
def _row_type(columns: tuple[str, ...]) -> type[Row]:
    """Return the type of the rows of results with these columns."""
    ours = {name: property(itemgetter(place)) for place, name in enumerate(columns) if name in _TUPLE_METHODS}
    return type("Row", (Row,), {**ours, "__slots__": (), "__annotations__": {}, "columns": columns, "_fields": columns})


def _row(columns: tuple[str, ...], values: tuple[Any, ...]) -> Row:
    """Return a row that was pickled or copied."""
    return _row_type(columns)(values)


@record
class ResultStats:
    """What the execution took so far.

    ``rows``: rows produced. ``seconds``: time spent executing. ``planning_seconds``: parsing, binding, planning; 0
    where the graph had the statement's plan, and in later runs of a prepared statement. ``device``: "cpu", "gpu" or
    "reference", ``device_reason``: why. ``bytes``: peak of what the operators accounted for. ``plan``: what was
    executed, None for the reference. ``changes``: what the statement has done to the graph, None for one that reads.
    """

    rows: int = 0
    seconds: float = 0.0
    planning_seconds: float = 0.0
    device: str = "cpu"
    bytes: int = 0
    device_reason: str = "as asked"
    plan: PhysicalPlan | None = field(default=None, repr=False)
    changes: Changes | None = None

    @property
    def operators(self) -> tuple[tuple[str, str], ...]:
        """For each operator of the plan, the last one first, its name and the device that runs it.

        Under "gpu" the searches run there and the rest on the CPU.
        """
        from qengine.exec.choice import devices_of

        return () if self.plan is None else devices_of(self.plan, self.device)


@tells_arguments
class Result(GraphForms):
    """The rows of one query, computed while they are fetched.

    Iterate over it, fetch rows, or take everything as Arrow data; each row comes once, whichever way is used.
    Errors of execution (``ExecutionError``, ``QueryTimeout``, ``OutOfMemory`` …) come from these calls. Close it
    (or use ``with``) to stop a query early; a dropped result stops by itself.

    One thread fetches at a time. ``cancel`` and ``close`` may be called from any thread while another fetches, which
    then gets ``QueryInterrupted``. So a service can stop the query of a request that is given up:

    >>> async def rows(graph, text):  # doctest: +SKIP
    ...     result = await asyncio.to_thread(graph.query, text)
    ...     try:
    ...         return await asyncio.to_thread(result.fetchall)
    ...     finally:
    ...         result.cancel()  # where the task is cancelled meanwhile; else nothing is left to stop
    """

    shows_plan: ClassVar[bool] = False
    """Whether it is the result of EXPLAIN or PROFILE, which is looked at as a plan."""

    def __init__(
        self,
        columns: tuple[str, ...],
        batches: Iterator[ResultBatch],
        stats: ResultStats,
        plan: Any,
        notices: tuple[Notice, ...] = (),
        limits: Limits | None = None,
        types: Callable[[], Mapping[str, Type]] = dict,
    ) -> None:
        """``limits``: of the query, None where nothing is left to stop.

        ``types``: tells which types columns have, of those that are known without a row.
        """
        self._columns = columns
        self._batches = batches
        self._limits = limits
        self._types = types
        self._pending: list[ResultBatch] = []
        self._loaded: Iterator[Row] = iter(())
        self._loaded_bytes = 0  # of those, where memory is limited
        self._limited = limits is not None and limits.memory_limit is not None
        self._at_once = _FIRST_ROWS if self._limited else _ROWS_AT_ONCE
        self._turn = RLock()  # of who fetches or closes
        self._ended = False
        self._closed_by: int | None = None  # the thread that closed it before its end
        self._row_type = _row_type(columns)
        self.stats = stats
        self.plan = plan
        self.notices = notices

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return self._columns

    @property
    def types(self) -> dict[str, str]:
        """The columns' types as far as they are known before the query runs, by name; "ANY" where they aren't."""
        known = self._types()
        return {name: str(known[name]) if name in known else "ANY" for name in self._columns}

    # ------------------------------------------------------------ rows

    def __iter__(self) -> Iterator[Row]:
        while length_hint(self._loaded) or self._load():
            yield from self._loaded

    def __next__(self) -> Row:
        if (row := self.fetchone()) is None:
            raise StopIteration
        return row

    def fetchone(self) -> Row | None:
        """Return the next row, None after the last."""
        while (row := next(self._loaded, None)) is None and self._load():
            pass
        return row

    def fetchmany(self, size: int = 100) -> list[Row]:
        """Return the next rows, at most ``size``."""
        size = min(size, maxsize)
        found = list(islice(self._loaded, max(0, size)))
        while len(found) < size and self._load():
            found += islice(self._loaded, size - len(found))
        return found

    def fetchall(self) -> list[Row]:
        """Return all rows that are left."""
        return self._in_turn(self._all_rows)

    def _all_rows(self) -> list[Row]:
        found = list(self._loaded)
        held = self._loaded_bytes
        with gc_paused():
            while self._load(held):
                found += self._loaded
                held += self._loaded_bytes
                self._go_on(held)
        return found

    def value(self) -> Any:
        """Return the first column of the next row: the answer of ``RETURN count(*)``. None without a row."""
        row = self.fetchone()
        return None if row is None else row[0]

    def _load(self, held: int = 0) -> bool:
        """Turn the next batch that isn't empty into rows, and return whether there was one.

        ``held``: bytes of the rows that are being gathered.
        """
        return self._in_turn(partial(self._load_next, held))

    def _load_next(self, held: int) -> bool:
        if length_hint(self._loaded):  # another thread was quicker
            return True
        while (batch := self._next_batch(held)) is not None:
            if batch.length > self._at_once:
                self._pending.insert(0, batch.slice(self._at_once, batch.length))
                batch = batch.slice(0, self._at_once)
            if batch.length:
                self._loaded = iter(self._as_rows(batch))
                if self._limited:
                    self._go_on(held + self._loaded_bytes)
                    few = _LOADED_BYTES * batch.length // max(1, self._loaded_bytes)
                    self._at_once = max(1, min(few, 4 * self._at_once, _ROWS_AT_ONCE))
                return True
        return False

    def _in_turn(self, fetch: Callable[[], Fetched]) -> Fetched:
        """Return what ``fetch`` returns, alone among all threads; turn Ctrl-C into ``QueryInterrupted``."""
        try:
            with self._turn:
                return fetch()
        except KeyboardInterrupt:
            self.cancel()
            self._forget()
            raise QueryInterrupted("The query was interrupted.", code="Interrupted") from None

    def _as_rows(self, batch: ResultBatch) -> list[Row]:
        if batch.length <= _FEW_ROWS:
            return self._rows_of(batch)
        with gc_paused():
            return self._rows_of(batch)

    def _rows_of(self, batch: ResultBatch) -> list[Row]:
        columns = [batch.values(name) for name in self._columns]
        if self._limited:
            from qengine.exec.sizes import size_of

            self._loaded_bytes = _ROW_BYTES * batch.length + sum(map(size_of, columns))
        return list(map(self._row_type, zip(*columns, strict=True) if columns else repeat((), batch.length)))

    def _next_batch(self, held: int = 0) -> ResultBatch | None:
        if self._pending:
            self._go_on(held)
            return self._pending.pop(0)
        return self._computed()

    def _computed(self) -> ResultBatch | None:
        """Return the next batch of those that are still to be computed, None once there is none."""
        batch = next(self._batches, None)
        if batch is None:
            if self._closed_by not in (None, get_ident()):
                raise QueryInterrupted("Another thread has closed the result.", code="Interrupted")
            self._ended = True
        return batch

    def _go_on(self, held: int = 0) -> None:
        """Stop the query if its time is over, it was interrupted, or its rows fill the memory that it may take.

        What executes can't tell while rows are made. ``held``: bytes that were gathered of them.
        """
        if self._limits is None:
            return
        try:
            self._limits.check_result(held)
        except QengineError:
            self._forget()
            raise

    # ------------------------------------------------------------ Arrow

    def to_arrow(self) -> pa.Table:
        """Return the rows that are left as a table.

        Nodes are structs {id: int64, labels: list<string>, properties: struct}, relationships
        {id, type, start, end, properties}, paths {nodes: list, relationships: list}; a property that one lacks is
        null. Maps are structs. Values of different types, also inside lists and maps, are a dense union, and so are
        maps with different keys. A column without a value has the type that the query's analysis tells, where that is
        a boolean, a number, a string or a list of such, else null.

        Values that Arrow has no type for (times with an offset, moments of several time zones, dates beyond its range)
        become text, and a notice with the code ``ArrowConversion`` says so.
        """
        from qengine.exec.arrow_out import table_of

        if self._limits is not None:
            self._limits.gathers = True
        return self._in_turn(
            lambda: table_of(self._columns, self._unread_batches(), self._types(), self._go_on, self._tell)
        )

    def to_dlpack(self) -> dict[str, Any]:
        """Return the columns of the rows that are left for other libraries' ``from_dlpack``, which share their memory.

        Integers are int64, floats float64, booleans uint8 of 0 and 1; nodes and relationships are their ids, int64.

        Raises
        ------
        Unsupported
            For a column of anything else, or with nulls.
        """
        from qengine.exec.arrow_out import dlpack_of

        return dlpack_of(self.to_arrow())

    def to_cupy(self) -> dict[str, Any]:
        """Return the columns of the rows that are left as arrays of CuPy, by name; types as of ``to_dlpack``.

        Where a GPU matches a whole query (``device="gpu"``), and each column is made of one node or relationship, they
        stay in its memory from the start: nothing is copied to the host. All else is computed as ever, and copied
        there. Libraries that take ``__dlpack__`` share the arrays: ``torch.from_dlpack(result.to_cupy()["a"])``.

        Raises
        ------
        DeviceError
            Without CuPy, or a GPU.
        Unsupported
            For a column of anything but numbers, booleans, nodes and relationships, or with nulls.
        OutOfMemory
            Where the device, or ``gpu_memory_limit``, has no room for them.
        """
        from qengine.exec.arrow_out import dlpack_of
        from qengine.exec.gpu.arrays import on_device

        kept: dict[str, Any] = {}
        if self._limits is not None:
            self._limits.on_device = kept
        table = self.to_arrow()
        if not kept:
            return on_device(dlpack_of(table))
        self.stats.rows += len(kept[self._columns[0]])
        return kept

    def to_reader(self) -> pa.RecordBatchReader:
        """Return the rows that are left as a stream of record batches, computed while it is read.

        Where the columns' types are only known after all rows, they are gathered first. A reader takes rows from the
        result when it is first read.
        """
        from qengine.exec.arrow_out import reader_of

        def begun() -> pa.RecordBatchReader:
            ahead, unread = self._ahead(), self._unread_batches()
            return reader_of(self._columns, ahead, unread, self._types(), self._go_on, self._tell)

        return self._in_turn(begun)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        # Some libraries ask for several streams and read one, the others only for their schema.
        return self.to_reader().__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> pandas.DataFrame:
        """Return the rows that are left as a pandas data frame (pandas must be installed).

        Columns are as ``to_arrow`` has them, but Python objects where pandas would lose something: values of different
        types, and in lists and maps times, and nulls beside numbers. Integers beside nulls become floats, or ``Int64``
        where floats would lose digits.
        """
        from qengine.exec.frames import to_pandas

        return to_pandas(self.to_arrow())

    def to_polars(self) -> polars.DataFrame:
        """Return the rows that are left as a polars data frame (polars must be installed).

        Columns are as ``to_arrow`` has them; durations with months or days, values of different types, and times of a
        zone that polars lacks are Python objects.
        """
        from qengine.exec.frames import to_polars

        return to_polars(self.to_arrow())

    def _tell(self, name: str, change: str) -> None:
        """Add a notice that the values of a column change their form in Arrow."""
        notice = Notice("ArrowConversion", f"Column {name!r}: {change}")
        if notice not in self.notices:
            self.notices = (*self.notices, notice)

    def _unread_batches(self) -> Iterator[ResultBatch]:
        """Take the batches that are left one by one."""
        self._put_back()
        while (batch := self._in_turn(self._next_batch)) is not None:
            yield batch

    def _ahead(self) -> Iterator[ResultBatch]:
        """Look at the batches that are left one by one; they stay unread."""
        self._put_back()
        yield from tuple(self._pending)
        while (batch := self._in_turn(self._computed)) is not None:
            self._pending.append(batch)
            yield batch

    def _put_back(self) -> None:
        """Make the rows that were loaded and not fetched a batch again."""
        if rows := list(self._loaded):
            from qengine.exec.arrow_out import RowBatch

            self._pending.insert(0, RowBatch(self._columns, rows))

    # ------------------------------------------------------------ showing

    def preview(self, rows: int = _PREVIEW_ROWS) -> tuple[list[Row], bool]:
        """Return the next rows without consuming them, and whether there are more."""
        found: list[Row] = []
        for batch in self._ahead():
            found += self._as_rows(batch.slice(0, rows + 1 - len(found)))
            if len(found) > rows:
                break
        return found[:rows], len(found) > rows

    def to_svg(self) -> str | None:
        """Return a picture of the nodes, relationships and paths in the next rows, without consuming them.

        An SVG document of up to 2,000 elements; None where the rows hold no relationship.
        """
        from qengine.notebook.page import picture

        return picture(self)

    def to_widget(self, height: int = 480) -> Any:
        """Return that picture as a widget to walk through, so many pixels high; None where rows hold no relationship.

        To zoom, drag, search and hide, in notebooks that run widgets; its package is anywidget.

        Raises
        ------
        SemanticError
            Where anywidget isn't installed.
        """
        from qengine.notebook.page import elements
        from qengine.notebook.widget import walkable

        found = elements(self)
        return walkable(found, height) if found is not None else None

    def _repr_html_(self) -> str:
        """Return the next rows as a table in pages, the picture of what they hold, and the warnings."""
        from qengine.notebook.page import html

        return html(self)

    def _ipython_display_(self) -> None:
        from qengine.notebook.display import show

        show(self)

    def __str__(self) -> str:
        """Return the next rows as a table that fits the terminal, without consuming them, changes and warnings."""
        from shutil import get_terminal_size

        from qengine.cli.table import table_lines

        rows, more = self.preview()
        lines = [*table_lines(self._columns, rows, get_terminal_size((120, 24)).columns)] if self._columns else []
        lines += [str(self.stats.changes)] if self.stats.changes is not None else []
        lines += [f"first {len(rows)} rows"] if more else []
        return "\n".join([*lines, *(f"Warning: {line(notice)}" for notice in self.notices)])

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Show the table in IPython, where a cell's last value is meant to be looked at."""
        printer.text("<Result …>" if cycle else str(self))

    def __repr__(self) -> str:
        """Return the columns; never runs the query, as debuggers and logs ask for this."""
        return f"<Result columns={list(self._columns)} device={self.stats.device!r}; print() shows the next rows>"

    # ------------------------------------------------------------ ending

    if not TYPE_CHECKING:  # for type checkers there are no others

        def __getattr__(self, name: str) -> NoReturn:
            raise no_attribute("result", name, dir(type(self)))

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "A result isn't pickled, as its rows are computed while they are fetched: pickle fetchall() or to_arrow()."
        )

    def cancel(self) -> None:
        """Stop this query soon, from any thread; other queries go on.

        Who fetches from it gets ``QueryInterrupted``, and so does who fetches next where nobody does. Where all rows
        were fetched this does nothing.
        """
        if self._limits is not None and not self._is_over():
            self._limits.interrupt()

    def _is_over(self) -> bool:
        """Tell whether all rows are computed and nobody turns them into something else."""
        if not self._ended or self._pending:
            return False
        free = self._turn.acquire(blocking=False)
        if free:
            self._turn.release()
        return free

    def close(self) -> None:
        """Stop the query and forget rows that were not fetched, from any thread.

        Another thread that fetches meanwhile gets ``QueryInterrupted``; the query has ended when this returns.
        """
        self.cancel()
        with self._turn:
            if not self._ended:
                self._closed_by = get_ident()
            self._forget()

    def _forget(self) -> None:
        """End the execution, and drop all rows that were not fetched."""
        close = getattr(self._batches, "close", None)
        if close is not None:
            close()
        self._batches = iter(())
        self._pending = []
        deque(self._loaded, maxlen=0)

    def __enter__(self) -> Result:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
