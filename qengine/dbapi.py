"""Python's DB-API 2.0 (PEP 249) over graphs, for tools that speak it.

>>> import qengine.dbapi
>>> connection = qengine.dbapi.connect()
>>> cursor = connection.cursor()
>>> _ = cursor.execute("CREATE (:Person {name: %(name)s, age: $age})", {"name": "Ada", "age": 36})
>>> connection.commit()
>>> cursor.execute("MATCH (p:Person) RETURN p.name AS name, p.age AS age").fetchall()
[Row(name='Ada', age=36)]
>>> [column[0] for column in cursor.description]
['name', 'age']

Statements may write parameters as ``$name``, too. The first that changes the graph begins a transaction, which
``commit`` or ``rollback`` ends; until then no other connection or thread can change the graph. Dates and times come as
those of ``datetime`` where these hold them, else as the engine's.
"""

from __future__ import annotations

import datetime
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from types import TracebackType
from typing import Any, TypeVar

from qengine import errors
from qengine._arguments import tells_arguments
from qengine.graph import Graph
from qengine.planning import may_update
from qengine.result import Result, Row
from qengine.temporal import Duration, Temporal
from qengine.transaction import Transaction
from qengine.types import Kind

__all__ = [
    "BINARY", "DATETIME", "NUMBER", "ROWID", "STRING", "Binary", "Connection", "Cursor", "DataError", "DatabaseError",
    "Date", "DateFromTicks", "Error", "IntegrityError", "InterfaceError", "InternalError", "NotSupportedError",
    "OperationalError", "ProgrammingError", "Time", "TimeFromTicks", "Timestamp", "TimestampFromTicks", "Warning",
    "apilevel", "connect", "paramstyle", "threadsafety",
]  # fmt: skip

apilevel = "2.0"
threadsafety = 1
"""Threads may share the module, not connections."""
paramstyle = "pyformat"
"""Parameters are written ``%(name)s``, or as in the language, ``$name``."""

T = TypeVar("T")
_PIECE = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`|//[^\n]*|/\*.*?\*/|%\(([^\W\d]\w*)\)s", re.DOTALL)


class Warning(Exception):
    """Something important that is no error."""


class Error(Exception):
    """What all errors of this module are; its cause is the error of the engine."""


class InterfaceError(Error):
    """A wrong use of this module, as of a cursor that is closed."""


class DatabaseError(Error):
    """An error of the engine."""


class DataError(DatabaseError):
    """A value that an expression can't take."""


class OperationalError(DatabaseError):
    """A file, a limit, a device or a transaction that doesn't allow what was asked for."""


class IntegrityError(DatabaseError):
    """A constraint that would not hold."""


class InternalError(DatabaseError):
    """A fault of the engine."""


class ProgrammingError(DatabaseError):
    """A statement that isn't of the language, or that means nothing."""


class NotSupportedError(DatabaseError):
    """A statement that the engine doesn't carry out."""


_ERRORS: tuple[tuple[type[errors.QengineError], type[DatabaseError]], ...] = (
    (errors.QuerySyntaxError, ProgrammingError),
    (errors.SemanticError, ProgrammingError),
    (errors.Unsupported, NotSupportedError),
    (errors.ExecutionError, DataError),
    (errors.InternalError, InternalError),
    (errors.QengineError, OperationalError),
)


class _TypeSet(frozenset[str]):
    """Kinds of values: equal to the type code of each column that holds one of them."""

    def __eq__(self, other: object) -> bool:
        return other in self if isinstance(other, str) else frozenset.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = frozenset.__hash__


STRING = _TypeSet([Kind.STRING.value])
BINARY = _TypeSet()
NUMBER = _TypeSet([Kind.INTEGER.value, Kind.FLOAT.value, Kind.NUMBER.value, Kind.BOOLEAN.value])
DATETIME = _TypeSet(
    each.value for each in (Kind.DATE, Kind.TIME, Kind.LOCAL_TIME, Kind.DATETIME, Kind.LOCAL_DATETIME, Kind.DURATION)
)
ROWID = _TypeSet()

Date = datetime.date
Time = datetime.time
Timestamp = datetime.datetime


def DateFromTicks(ticks: float) -> datetime.date:  # noqa: N802
    """Return the local date of seconds since 1970."""
    return datetime.date(*time.localtime(ticks)[:3])


def TimeFromTicks(ticks: float) -> datetime.time:  # noqa: N802
    """Return the local time of seconds since 1970."""
    return datetime.time(*time.localtime(ticks)[3:6])


def TimestampFromTicks(ticks: float) -> datetime.datetime:  # noqa: N802
    """Return the local date and time of seconds since 1970."""
    return datetime.datetime(*time.localtime(ticks)[:6])


def Binary(value: Any) -> Any:  # noqa: N802
    """Refuse bytes, which properties can't hold.

    Raises
    ------
    NotSupportedError
        Always.
    """
    raise NotSupportedError("Properties can't hold bytes; encode them as text.")


@tells_arguments
def connect(graph: Graph | str | PathLike[str] | None = None, *, autocommit: bool = False) -> Connection:
    """Return a connection to a graph.

    Parameters
    ----------
    graph
        A ``Graph``, which stays open when the connection is closed; the folder of a saved one; None: a new, empty one.
    autocommit
        Whether each statement takes effect by itself, without ``commit``.

    Raises
    ------
    OperationalError
        If there is no such folder.
    """
    if isinstance(graph, Graph):
        return Connection(graph, autocommit=autocommit)
    opened = _translated(lambda: Graph() if graph is None else Graph.open(graph))
    return Connection(opened, autocommit=autocommit, owned=True)


@tells_arguments
class Connection:
    """A connection to a graph. One thread at a time may use it and its cursors."""

    Warning = Warning
    Error = Error
    InterfaceError = InterfaceError
    DatabaseError = DatabaseError
    DataError = DataError
    OperationalError = OperationalError
    IntegrityError = IntegrityError
    InternalError = InternalError
    ProgrammingError = ProgrammingError
    NotSupportedError = NotSupportedError

    def __init__(self, graph: Graph, *, autocommit: bool = False, owned: bool = False) -> None:
        """``owned``: close the graph together with the connection."""
        self._graph: Graph | None = graph
        self._owned = owned
        self._transaction: Transaction | None = None
        self.autocommit = autocommit

    def cursor(self) -> Cursor:
        """Return a new cursor."""
        self._open()
        return Cursor(self)

    def commit(self) -> None:
        """Make what was done since the last ``commit`` or ``rollback`` visible to others."""
        self._open()
        if (transaction := self._ended()) is not None:
            _translated(transaction.commit)

    def rollback(self) -> None:
        """Take back what was done since the last ``commit`` or ``rollback``."""
        self._open()
        if (transaction := self._ended()) is not None:
            _translated(transaction.rollback)

    def close(self) -> None:
        """Take back what wasn't committed, and close the connection; a second time does nothing."""
        if self._graph is None:
            return
        self.rollback()
        graph, self._graph = self._graph, None
        if self._owned:
            _translated(graph.close)

    def _open(self) -> Graph:
        if self._graph is None:
            raise InterfaceError("The connection is closed.")
        return self._graph

    def _ended(self) -> Transaction | None:
        transaction, self._transaction = self._transaction, None
        return transaction

    def _run(self, text: str, params: Mapping[str, Any] | None) -> Result:
        """Start a statement: in the transaction, which one that may change the graph begins."""
        graph = self._open()
        if self._transaction is None and not self.autocommit and may_update(text):
            self._transaction = graph.transaction()
        return (self._transaction or graph).query(text, params)

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Commit where the block has ended, roll back where it raised an error; the connection stays open."""
        if self._graph is not None:
            self.commit() if kind is None else self.rollback()


@tells_arguments
class Cursor:
    """Runs statements one after the other, and fetches what the last has given.

    ``description``: of each column name, type (the language's, None where that isn't known before the rows) and five
    times None; None after a statement without columns. ``rowcount``: nodes and relationships that were created and
    deleted, -1 for statements that read. ``arraysize``: rows that ``fetchmany`` returns by default.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.description: tuple[tuple[str, str | None, None, None, None, None, None], ...] | None = None
        self.rowcount = -1
        self.arraysize = 1
        self._result: Result | None = None
        self._dated = False  # whether rows may hold dates and times
        self._is_open = True

    def execute(self, operation: str, parameters: Mapping[str, Any] | None = None) -> Cursor:
        """Run a statement and return the cursor.

        Raises
        ------
        ProgrammingError, NotSupportedError, DataError, IntegrityError, OperationalError
            As the engine refuses it.
        """
        self._check()
        if self._result is not None:
            self._result.close()
        self._result, self.description, self.rowcount = None, None, -1
        if parameters is not None and not isinstance(parameters, Mapping):
            raise ProgrammingError(
                f"Parameters are a dict from names to values, not a {type(parameters).__name__}: "
                "execute('RETURN %(x)s', {'x': 1})."
            )
        text = _PIECE.sub(lambda match: match[0] if match[1] is None else f"${match[1]}", operation)
        result = self._result = _translated(lambda: self.connection._run(text, parameters))
        if result.columns:
            types = {name: kind.kind.value for name, kind in result._types().items() if kind.kind is not Kind.ANY}
            self.description = tuple((name, types.get(name), None, None, None, None, None) for name in result.columns)
            self._dated = any(name not in types or types[name] == DATETIME for name in result.columns)
        if (done := result.stats.changes) is not None:
            self.rowcount = (
                done.nodes_created + done.nodes_deleted + done.relationships_created + done.relationships_deleted
            )
        return self

    def executemany(self, operation: str, parameters: Iterable[Mapping[str, Any]]) -> Cursor:
        """Run a statement for each of some parameters; ``rowcount`` is their sum."""
        total = 0
        for each in parameters:
            self.execute(operation, each)
            total += max(0, self.rowcount)
        self.rowcount = total
        return self

    def fetchone(self) -> Row | None:
        """Return the next row, None after the last."""
        result = self._rows()
        row = _translated(result.fetchone)
        return None if row is None else self._plain([row])[0]

    def fetchmany(self, size: int | None = None) -> list[Row]:
        """Return the next rows, at most ``size``."""
        result = self._rows()
        return self._plain(_translated(lambda: result.fetchmany(self.arraysize if size is None else size)))

    def fetchall(self) -> list[Row]:
        """Return all rows that are left."""
        result = self._rows()
        return self._plain(_translated(result.fetchall))

    def _plain(self, rows: list[Row]) -> list[Row]:
        """Return rows with Python's own dates and times, which other tools know, where these hold them."""
        return [type(row)(map(_native, row)) for row in rows] if self._dated else rows

    def close(self) -> None:
        """Stop the statement, and close the cursor."""
        if self._result is not None:
            self._result.close()
        self._result, self._is_open = None, False

    def setinputsizes(self, sizes: Sequence[Any]) -> None:
        """Do nothing: parameters have the sizes that they have."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Do nothing: values have the sizes that they have."""

    def _check(self) -> None:
        if not self._is_open:
            raise InterfaceError("The cursor is closed.")
        self.connection._open()

    def _rows(self) -> Result:
        self._check()
        if self._result is None or self.description is None:
            raise ProgrammingError("There is no statement with rows to fetch from.")
        return self._result

    def __iter__(self) -> Iterator[Row]:
        while (row := self.fetchone()) is not None:
            yield row

    def __enter__(self) -> Cursor:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _native(value: Any) -> Any:
    if not isinstance(value, Temporal) or isinstance(value, Duration):  # a timedelta tells no days from 24 hours
        return value
    try:
        return value.to_native()
    except errors.ExecutionError:  # of more digits or years than Python's have
        return value


def _translated(run: Callable[[], T]) -> T:
    """Return what is returned; raise this module's errors for those of the engine."""
    try:
        return run()
    except errors.QengineError as error:
        kind = next(ours for theirs, ours in _ERRORS if isinstance(error, theirs))
        if error.code == "ConstraintValidationFailed":
            kind = IntegrityError
        raise kind(str(error)) from error
