"""Expressions over the rows of a table, column by column, where they read nothing that a step may change.

What can't be evaluated so, or fails for a row, is ``Unbatched``: nothing was changed by then, and whoever asked goes
row by row, where the error, if there is one, comes at its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from qengine._frozen import replace
from qengine.errors import ExecutionError, QengineError, ResourceError, Span
from qengine.exec.scalar.entities import ENTITIES, label_names
from qengine.exec.scalar.environment import Environment
from qengine.exec.scalar.evaluate import compile
from qengine.exec.scalar.values import NodeHandle, RelationshipHandle
from qengine.plan import expr as x
from qengine.plan.traverse import free_variables, is_repeatable, preorder, rewrite
from qengine.storage.arrays import Array
from qengine.write.ahead import SIMPLE, Ahead
from qengine.write.table import Column, Elements, Table, repeated
from qengine.write.values import storable_value

if TYPE_CHECKING:
    from qengine.write.overlay import Overlay

_NULL = type(None)
_TEXT = frozenset((str,))
_PLAIN = frozenset((bool, int, float, str, _NULL))
_MAPS = frozenset((dict,))
_MAPS_OR_NULLS = frozenset((dict, _NULL))
_ELEMENTS = frozenset((NodeHandle, RelationshipHandle))
_MOST_KEYS = 256  # different keys of maps that become columns


class Unbatched(Exception):
    """Rows have to be carried out one by one."""


@contextmanager
def whole_or_nothing(overlay: Overlay) -> Iterator[None]:
    """Take back what a ``with`` block has changed where it fails for a row, which then is ``Unbatched``."""
    mark, changes = overlay.mark(), replace(overlay.changes)
    try:
        yield
    except ResourceError:
        raise
    except (QengineError, Unbatched):
        overlay.take_back(mark)
        overlay.changes = changes
        raise Unbatched from None


class ColumnValues:
    """Evaluates expressions over tables.

    Parameters
    ----------
    env
        What expressions read besides their rows.
    check
        Raises where the execution must stop.
    properties
        Returns a property of elements as a column.

    Attributes
    ----------
    ahead
        Values that rows may have, by ``id`` of their expressions.
    """

    def __init__(
        self, env: Environment, check: Callable[[], None], properties: Callable[[Elements, str], Column]
    ) -> None:
        self._env = env
        self._check = check
        self._properties = properties
        self.ahead: dict[int, Ahead] = {}

    def of(self, expr: x.Expr, table: Table) -> list[Any]:
        """Return an expression's value for each row.

        Raises
        ------
        Unbatched
            As the module says.
        """
        self._check()
        known = self.ahead.get(id(expr))
        if known is not None and not known.apart and known.name in table.columns:
            return table.values(known.name)
        match expr:
            case x.Literal(value=value):
                return repeated(value, len(table))
            case x.Parameter(name=name):
                return repeated(self._env.parameter(name), len(table))
            case x.Variable(name=name):
                return table.values(name)
            case x.Property(key=key):
                values = self._subject(expr, table)
                classes = set(map(type, values))
                if classes <= _MAPS:
                    try:
                        return list(map(itemgetter(key), values))
                    except KeyError:
                        return [value.get(key) for value in values]
                if classes <= _MAPS_OR_NULLS:
                    return [None if value is None else value.get(key) for value in values]
        return self._one_by_one(expr, table)

    def _subject(self, expr: x.Property, table: Table) -> list[Any]:
        """Return the values of which a property is read: none of them an element, whose properties may change.

        Raises
        ------
        Unbatched
            For others.
        """
        subject = expr.subject
        column = table.columns.get(subject.name) if isinstance(subject, x.Variable) else self.of(subject, table)
        if not isinstance(column, list) or not _ELEMENTS.isdisjoint(map(type, column)):
            raise Unbatched
        return column

    def _one_by_one(self, expr: x.Expr, table: Table) -> list[Any]:
        names = tuple(free_variables(expr))
        self.check_reads(expr, table)
        columns = [table.values(name) for name in names]
        found = []
        try:
            evaluate = compile(expr, self._env)
            if not names and len(table) and is_repeatable(expr):
                return repeated(evaluate({}), len(table))
            rows = zip(*columns, strict=True) if names else iter([()] * len(table))
            for values in rows:
                self._check()
                found.append(evaluate(dict(zip(names, values, strict=True))))
        except ExecutionError:
            raise Unbatched from None
        return found

    def of_elements(self, expr: x.Expr, table: Table) -> Column:
        """Return an expression's values, which may read properties of the table's elements as they are now.

        Raises
        ------
        Unbatched
            As the module says.
        """
        columns: dict[str, Column] = dict(table.columns)

        def read(each: x.Expr) -> x.Expr:
            if not isinstance(each, x.Property) or not isinstance(each.subject, x.Variable):
                return each
            column = table.columns.get(each.subject.name)
            if not isinstance(column, Elements):
                return each
            name = f"{each.subject.name} {each.key}"
            if name not in columns:
                columns[name] = self._properties(column, each.key)
            return x.Variable(name, type=each.type)

        changed = rewrite(expr, read)
        if isinstance(changed, x.Variable):
            return columns[changed.name]
        return self.of(changed, Table(len(table), columns))

    def check_reads(self, expr: x.Expr, table: Table, own: str = "") -> None:
        """Refuse an expression that reads more than its row's values and properties of ``own``, a column to come.

        Raises
        ------
        Unbatched
            As it says.
        """
        for each in preorder(expr):
            if not isinstance(each, SIMPLE):
                raise Unbatched
            if not (self._env.given_elements or free_variables(each)):
                continue  # made of literals and parameters, none of them an element
            if isinstance(each, x.Call) and each.name in ENTITIES:
                raise Unbatched
            if isinstance(each, x.Property) and not (
                own and isinstance(each.subject, x.Variable) and each.subject.name == own
            ):
                self._subject(each, table)

    def properties(self, expr: x.Expr | None, table: Table, span: Span | None) -> dict[str, list[Any]]:
        """Return the properties that a map gives each row, by key, None for those that it doesn't give.

        Raises
        ------
        Unbatched
            Where the value isn't a map for each row, too.
        """
        if expr is None:
            return {}
        if isinstance(expr, x.MapOf):
            given = {key: (value, value.span or span) for key, value in expr.entries}
            columns = {key: stored(key, self.of(value, table), place) for key, (value, place) in given.items()}
        else:
            columns = {key: stored(key, each, span) for key, each in self.maps(self.of(expr, table)).items()}
        return {key: column for key, column in columns.items() if column.count(None) < len(column)}

    def maps(self, values: Sequence[Any]) -> Mapping[str, list[Any]]:
        """Return maps as columns, None for what a map doesn't have.

        Raises
        ------
        Unbatched
            For values that are no maps, or have too many different keys.
        """
        if not _MAPS.issuperset(map(type, values)):
            raise Unbatched
        keys = dict.fromkeys(key for each in dict.fromkeys(map(tuple, values)) for key in each)
        if len(keys) > _MOST_KEYS:
            raise Unbatched
        return {key: [value.get(key) for value in values] for key in keys}


def stored(key: str, values: list[Any], span: Span | None) -> list[Any]:
    """Return the values of a property as they are stored.

    Raises
    ------
    Unbatched
        For one that can't be a property's, and for a property without a name.
    """
    if not key:
        raise Unbatched
    if _PLAIN.issuperset(map(type, values)):
        return values
    try:
        return [None if value is None else storable_value(key, value, span) for value in values]
    except ExecutionError:
        raise Unbatched from None


def rows_by_names(columns: Sequence[list[Any]]) -> list[tuple[tuple[str, ...], Array]]:
    """Return the names that ``$(value)`` gives, of all columns together, each once, with the rows (int64) of these.

    Raises
    ------
    Unbatched
        For values that are no names.
    """
    found: dict[tuple[str, ...], list[int]] = {}
    known: dict[Any, list[int]] = {}
    for row, values in enumerate(zip(*columns, strict=True)):
        key = values if _TEXT.issuperset(map(type, values)) else tuple(map(_names, values))
        rows = known.get(key)
        if rows is None:
            named = tuple(dict.fromkeys(name for value in values for name in _names(value)))
            rows = known[key] = found.setdefault(named, [])
        rows.append(row)
    return [(names, np.array(rows, np.int64)) for names, rows in found.items()]


def _names(value: Any) -> tuple[str, ...]:
    try:
        return tuple(label_names(value))
    except ExecutionError:
        raise Unbatched from None
