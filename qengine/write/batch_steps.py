"""Steps of updates that are carried out for many rows at once.

A step means the same in both ways (``steps``). Here it is for those whose rows don't depend on what is done for rows
before them, or only as far as their keys tell: CREATE, MERGE (``batch_merge``), SET, REMOVE and DELETE
(``batch_changes``), and MATCH of nodes by their keys before them. First all is evaluated, then the graph is changed:
whatever isn't plain is ``Unbatched`` before anything was done, and goes row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial, singledispatchmethod
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from qengine.errors import Span
from qengine.exec.scalar.compare import equals
from qengine.exec.scalar.environment import Environment
from qengine.exec.scalar.values import NodeHandle, RelationshipHandle, failing_at
from qengine.plan import logical as op
from qengine.plan import updates as up
from qengine.plan.expr import Expr, Literal, MapOf, Parameter, Variable
from qengine.plan.pattern import MatchMode
from qengine.storage.arrays import Array
from qengine.write.ahead import Ahead
from qengine.write.batch_changes import BatchChanges, Divided, Values
from qengine.write.batch_merge import Merged, Outcome, merged
from qengine.write.column_values import ColumnValues, Unbatched, stored
from qengine.write.key_lookup import distinct_keys, keyed_nodes, nodes_by_keys, relationships_between
from qengine.write.live import LiveGraph
from qengine.write.overlay import Overlay
from qengine.write.table import Elements, Plain, Table, repeated

__all__ = ["BatchSteps", "ByRow", "Held"]

_Run = Callable[[Table], Table]
_Entity = NodeHandle | RelationshipHandle
_AT_ONCE = 4096  # elements that are read together
_PLAIN = frozenset((bool, int, float, str, type(None)))  # values of which a column is repeated as an array
_SHARE = 4  # a block's column is made anew where at least one of so many of its nodes changes


class Held(Protocol):
    """What an execution holds, and whether it may go on."""

    def check(self) -> None:
        """Raise where the execution must stop, or holds too much."""

    def look(self, more: int = 0) -> None:
        """Raise where it must stop, or holds too much with so many new elements ``more``."""


class ByRow:
    """What is done row by row. ``assign``: sets properties of one element; ``all``: compiles steps."""

    def __init__(
        self,
        assign: Callable[[_Entity, Mapping[str, Any]], None],
        all: Callable[[Iterable[up.Step]], Callable[..., Any]],
    ) -> None:
        self.assign = assign
        self.all = all


class BatchSteps:
    """Turns steps into functions from tables to tables.

    Parameters
    ----------
    graph, environment
        What is changed, and what expressions read of it.
    held
        Raises where the execution must stop.
    by_row
        What is done row by row.
    """

    def __init__(
        self,
        graph: LiveGraph,
        environment: Environment,
        held: Held,
        by_row: ByRow,
    ) -> None:
        self._graph = graph
        self._check, self._look = held.check, held.look
        self._by_row = by_row
        self._values = ColumnValues(environment, held.check)
        self._changes = BatchChanges(graph, held.check, held.look)
        #: Values that rows may have, by ``id`` of their expressions.
        self.ahead: dict[int, Ahead] = {}

    @property
    def _overlay(self) -> Overlay:
        return self._graph.overlay

    @singledispatchmethod
    def step(self, step: up.Step) -> _Run | None:
        """Return what carries out a step for a table; None where it has to be done row by row."""
        return None

    # ------------------------------------------------------------ reading

    def unwound(self, operator: op.Unwind) -> Table:
        """Return the rows of an ``UNWIND`` whose input is one row without columns.

        Raises
        ------
        Unbatched
            Where it unwinds what isn't a list.
        """
        (items,) = self._values.of(operator.expr, Table(1, {}))
        if type(items) is not list:
            raise Unbatched
        return Table(len(items), {operator.name: items})

    def match(self, operator: op.Match) -> _Run | None:
        """Return what finds the nodes of a pattern by their keys; None where it has other parts."""
        nodes = keyed_nodes(operator.graph)
        if nodes is None or operator.graph.mode is MatchMode.DIFFERENT_NODES or operator.optional:
            return None

        def run(table: Table) -> Table:
            for node in nodes:
                keys = {key: self._values.of(value, table) for key, value in node.keys}
                rows, numbers = nodes_by_keys(self._overlay, node.labels, keys, self._graph.context)
                table = table.take(rows).with_column(node.name, Elements(numbers, NodeHandle))
            return table

        return run

    # ------------------------------------------------------------ making

    @step.register
    def _(self, step: up.Create) -> _Run | None:
        if any(isinstance(each, up.NewRelationship) and each.dynamic is not None for each in step.elements):
            return None

        def run(table: Table) -> Table:
            properties = [self._values.properties(each.properties, table, each.span) for each in step.elements]
            new: set[str] = set()
            for each in step.elements:
                if isinstance(each, up.NewRelationship):
                    for end in {each.start, each.end} - new:
                        self._ends(table, end)
                else:
                    new.add(each.name)
            for each, columns in zip(step.elements, properties, strict=True):
                self._check()
                table = table.with_column(each.name, self._made(each, table, columns))
            return table

        return run

    def _made(self, element: up.NewElement, table: Table, columns: Mapping[str, list[Any]]) -> Elements:
        """Make an element for each row."""
        count = len(table)
        self._look(count)
        if isinstance(element, up.NewNode):
            labels = tuple(dict.fromkeys(element.labels))
            first = self._overlay.create_nodes(labels, count, columns) if count else 0
            return Elements(np.arange(first, first + count, dtype=np.int64), NodeHandle)
        starts, ends = (self._ends(table, end) for end in (element.start, element.end))
        first = self._overlay.create_relationships(element.type, starts, ends, columns) if count else 0
        return Elements(np.arange(first, first + count, dtype=np.int64), RelationshipHandle)

    def _ends(self, table: Table, name: str) -> Array:
        """Return the numbers of the nodes that relationships begin or end at; all of them are there."""
        column = table.columns[name]
        if not isinstance(column, Elements) or column.handle is not NodeHandle or (column.numbers < 0).any():
            raise Unbatched
        touched = self._overlay.touched_nodes((), ())
        if touched and any(touched.get(number, True) is None for number in column.numbers.tolist()):
            raise Unbatched
        return column.numbers

    @step.register
    def _(self, step: up.Merge) -> _Run | None:
        pattern = merged(step)
        if pattern is None:
            return None
        element = pattern.element

        def run(table: Table) -> Table:
            outcome = self._looked_for(pattern, table)
            creating, matching = table.take(outcome.makers), table.take(outcome.rows[outcome.matches])
            columns = self._columns((*pattern.keys.items(), *pattern.created), creating, element.span)
            if pattern.reads_own:
                for _, value in pattern.matched:
                    self._values.check_reads(value, matching, element.name)
                settings = {}
            else:
                settings = self._columns(pattern.matched, matching, element.span)
            made = self._made(
                element, creating, {k: each for k, each in columns.items() if each.count(None) < len(each)}
            )
            found = Elements(outcome.found(made.numbers), made.handle)
            result = table.take(outcome.rows).with_column(element.name, found)
            if pattern.reads_own:
                self._each(step.on_match, result.take(np.flatnonzero(outcome.matches)), element.name)
            elif settings:
                self._assign(Elements(found.numbers[outcome.matches], found.handle), settings)
            return result

        return run

    def _each(self, steps: Iterable[up.Step], table: Table, name: str) -> None:
        """Do steps, all of them for a row before the next, which change the elements of a column."""
        run = self._by_row.all(steps)
        for first in range(0, len(table), _AT_ONCE):
            part = table.take(np.arange(first, min(first + _AT_ONCE, len(table))))
            self._read_ahead(_elements(part, name))
            for row in part.rows():
                self._check()
                run([row])

    def _read_ahead(self, elements: Elements) -> None:
        numbers = list(dict.fromkeys(elements.numbers.tolist()))
        self._overlay.read_ahead(*((numbers, []) if elements.handle is NodeHandle else ([], numbers)))

    def _columns(self, items: Iterable[tuple[str, Expr]], table: Table, span: Span | None) -> dict[str, list[Any]]:
        return {key: stored(key, self._values.of(value, table), span) for key, value in items}

    def _looked_for(self, pattern: Merged, table: Table) -> Outcome:
        """Look for what a MERGE is of, for all rows."""
        keys = {key: self._values.of(value, table) for key, value in pattern.keys.items()}
        if any(None in values for values in keys.values()):
            raise Unbatched
        places: Sequence[Any] = list(distinct_keys(keys)) if keys else ()
        if isinstance(pattern.element, up.NewNode):
            found = nodes_by_keys(self._overlay, pattern.labels, keys, self._graph.context)
        else:
            starts, ends = self._ends(table, pattern.element.start), self._ends(table, pattern.element.end)
            found = relationships_between(self._overlay, pattern.element.type, starts, ends)
            found = self._with_values(*found, keys) if keys else found
            pairs = list(zip(starts.tolist(), ends.tolist(), strict=True))
            places = list(zip(pairs, places, strict=True)) if keys else pairs
        return Outcome(len(table), *found, places)

    def _with_values(self, rows: Array, numbers: Array, keys: Mapping[str, list[Any]]) -> tuple[Array, Array]:
        """Return the rows and relationships whose properties are as wanted."""
        kept = np.zeros(len(rows), np.bool_)
        for place, (row, number) in enumerate(zip(rows.tolist(), numbers.tolist(), strict=True)):
            state = self._overlay.relationship(number)
            properties = {} if state is None else state.properties
            kept[place] = all(equals(properties.get(key), values[row]) is True for key, values in keys.items())
        return rows[kept], numbers[kept]

    # ------------------------------------------------------------ changing

    @step.register
    def _(self, step: up.SetProperty) -> _Run | None:
        if not isinstance(step.subject, Variable):
            return None
        name = step.subject.name

        def run(table: Table) -> Table:
            part = _present(table, name)
            values = self._column(step.key, step.value, part, step.value.span, name)
            with failing_at(step.span):
                self._assign(_elements(part, name), {step.key: values})
            return table

        return run

    @step.register
    def _(self, step: up.SetProperties) -> _Run | None:
        if not isinstance(step.subject, Variable) or step.replace:
            return None
        name, value = step.subject.name, step.value

        def run(table: Table) -> Table:
            part = _present(table, name)
            if isinstance(value, MapOf) and len(dict(value.entries)) == len(value.entries):
                columns = {key: self._column(key, own, part, step.span, name) for key, own in value.entries}
            else:
                maps = self._values.maps(self._values.of(value, part))
                if any(None in values for values in maps.values()):
                    raise Unbatched  # what a map doesn't have stays, what is null in it goes
                columns = {key: stored(key, values, step.span) for key, values in maps.items()}
            with failing_at(step.span):
                self._assign(_elements(part, name), columns)
            return table

        return run

    def _column(self, key: str, value: Expr, table: Table, span: Span | None, subject: str) -> Values:
        """Return the values of a property of a column's elements, as they are stored."""
        ahead = self.ahead.get(id(value))
        if ahead is not None and ahead.name in table.columns:
            if ahead.apart and not _are_different(_elements(table, subject).numbers):
                raise Unbatched
            column = table.columns[ahead.name]
            return column if isinstance(column, Plain) else stored(key, table.values(ahead.name), span)
        if isinstance(value, Literal | Parameter):
            (one,) = stored(key, self._values.of(value, Table(1, {})), span)
            return Plain.repeated(one, len(table)) if type(one) in _PLAIN else repeated(one, len(table))
        return stored(key, self._values.of(value, table), span)

    @step.register
    def _(self, step: up.RemoveProperty) -> _Run | None:
        if not isinstance(step.subject, Variable):
            return None
        return self._patching(step, step.subject.name, lambda found: self._changes.remove(found, step.key))

    @step.register
    def _(self, step: up.SetLabels) -> _Run | None:
        if not isinstance(step.subject, Variable) or step.dynamic:
            return None

        def relabel(found: Divided) -> None:
            if not found.nodes:
                raise Unbatched
            self._changes.relabel(found, step.labels, remove=step.remove)

        return self._patching(step, step.subject.name, relabel)

    @step.register
    def _(self, step: up.Delete) -> _Run | None:
        runs: list[_Run] = []
        names = [each.name for each in step.subjects if isinstance(each, Variable)]
        for each, name in zip(step.subjects, names, strict=False):
            delete = partial(self._changes.delete, detach=step.detach, span=each.span or step.span)
            runs.append(self._patching(up.Delete((each,), step.detach, step.span), name, delete, gone=True))

        def run(table: Table) -> Table:
            if not all(isinstance(table.columns[name], Elements) for name in names):
                raise Unbatched
            for each in runs:
                each(table)
            return table

        return run if len(names) == len(step.subjects) else None

    def _patching(self, step: up.Step, name: str, patch: Callable[[Divided], None], *, gone: bool = False) -> _Run:
        """Return what carries out a step for the elements of a column: for many of them at once, else row by row.

        ``gone``: elements that aren't there any more are left out.
        """
        by_row = self._by_row.all((step,))

        def run(table: Table) -> Table:
            column = table.columns[name]
            if not isinstance(column, Elements):
                raise Unbatched
            found = self._changes.divided(column, gone=gone)
            if found is None:
                by_row(table.rows())
                return table
            patch(found)
            if len(found.others):
                by_row(table.take(found.others).rows())
            return table

        return run

    def _assign(self, subject: Elements, columns: Mapping[str, Values]) -> None:
        """Set properties of the element of each row: of many as a whole."""
        rest = self._assign_blocks(subject, columns)
        if rest is not None:
            if not len(rest):
                return
            subject = Elements(subject.numbers[rest], subject.handle)
            columns = {key: _picked(values, rest) for key, values in columns.items()}
        found = self._changes.divided(subject)
        if found is None or not self._changes.set(found, columns):
            self._assign_rows(subject, columns)
        elif len(found.others):
            others = Elements(subject.numbers[found.others], subject.handle)
            self._assign_rows(others, {key: _picked(values, found.others) for key, values in columns.items()})

    def _assign_blocks(self, subject: Elements, columns: Mapping[str, Values]) -> Array | None:
        """Set properties of the nodes of new blocks, where these are many of them; return the other rows (int64).

        None where that is all of them.
        """
        blocks = self._overlay.uncommitted_blocks() if subject.handle is NodeHandle else []
        given = {
            key: values if isinstance(values, list) else values.values() for key, values in columns.items() if blocks
        }
        if not blocks or any(None in values for values in given.values()):
            return None
        numbers = subject.numbers
        rest = np.ones(len(numbers), np.bool_)
        for block in blocks:
            inside = np.flatnonzero((numbers >= block.first) & (numbers < block.first + block.count))
            places = numbers[inside] - block.first
            if len(inside) * _SHARE < block.count or not len(inside) or len(np.unique(places)) < len(places):
                continue
            if self._overlay.are_touched(numbers[inside]):
                continue
            rows = inside.tolist()
            for key, values in given.items():
                self._check()
                column = list(self._overlay.node_blocks.by_first[block.first].columns.get(key, [None] * block.count))
                for place, row in zip(places.tolist(), rows, strict=True):
                    column[place] = values[row]
                self._overlay.set_block_column(block.first, key, column, len(rows))
            rest[inside] = False
        return None if rest.all() else np.flatnonzero(rest)

    def _assign_rows(self, subject: Elements, columns: Mapping[str, Values]) -> None:
        """Set properties of the element of each row, one after the other."""
        assign, keys, handle = self._by_row.assign, tuple(columns), subject.handle
        lists = [each if isinstance(each, list) else each.values() for each in columns.values()]
        values = list(zip(*lists, strict=True))
        for first in range(0, len(values), _AT_ONCE):
            part = subject.numbers[first : first + _AT_ONCE]
            self._read_ahead(Elements(part, handle))
            for number, own in zip(part.tolist(), values[first : first + _AT_ONCE], strict=True):
                self._check()
                assign(handle(number), dict(zip(keys, own, strict=True)))


def _elements(table: Table, name: str) -> Elements:
    """Return a column of elements, none of them null."""
    column = table.columns[name]
    if not isinstance(column, Elements) or (column.numbers < 0).any():
        raise Unbatched
    return column


def _are_different(numbers: Array) -> bool:
    if not (numbers[1:] > numbers[:-1]).all():
        numbers = np.sort(numbers)
    return bool((numbers[1:] != numbers[:-1]).all())


def _present(table: Table, name: str) -> Table:
    """Return the rows of a table in which a column has an element."""
    column = table.columns[name]
    if not isinstance(column, Elements):
        raise Unbatched
    return table.take(np.flatnonzero(column.numbers >= 0)) if (column.numbers < 0).any() else table


def _picked(values: Values, rows: Array) -> Values:
    if isinstance(values, Plain):
        return Plain(values.array.take(pa.array(rows)))
    return [values[row] for row in rows.tolist()]
