"""Steps of updates that are carried out for many rows at once.

A step means the same in both ways (``steps``). Here it is for those whose rows don't depend on what is done for rows
before them, or only as far as their keys tell: CREATE, MERGE (``batch_merge``), SET of properties, and MATCH of nodes
by their keys before them. First all is evaluated, then the graph is changed: whatever isn't plain is ``Unbatched``
before anything was done, and goes row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import singledispatchmethod
from typing import Any, Protocol

import numpy as np

from qengine.errors import Span
from qengine.exec.scalar.compare import equals
from qengine.exec.scalar.environment import Environment
from qengine.exec.scalar.values import NodeHandle, RelationshipHandle, failing_at
from qengine.plan import logical as op
from qengine.plan import updates as up
from qengine.plan.expr import Expr, Variable
from qengine.plan.pattern import MatchMode
from qengine.storage.arrays import Array
from qengine.write.batch_merge import Merged, Outcome, merged
from qengine.write.column_values import ColumnValues, Unbatched, stored
from qengine.write.key_lookup import distinct_keys, keyed_nodes, nodes_by_keys, relationships_between
from qengine.write.live import LiveGraph
from qengine.write.overlay import Overlay
from qengine.write.table import Elements, Table

__all__ = ["BatchSteps", "ByRow", "Held"]

_Run = Callable[[Table], Table]
_Entity = NodeHandle | RelationshipHandle
_AT_ONCE = 4096  # elements that are read together
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
        touched = self._overlay.touched_nodes()
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
                self._assign_rows(Elements(found.numbers[outcome.matches], found.handle), settings)
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
            subject = _elements(table, name)
            values = stored(step.key, self._values.of(step.value, table), step.value.span)
            with failing_at(step.span):
                self._assign(subject, {step.key: values})
            return table

        return run

    @step.register
    def _(self, step: up.SetProperties) -> _Run | None:
        if not isinstance(step.subject, Variable) or step.replace:
            return None
        name = step.subject.name

        def run(table: Table) -> Table:
            subject = _elements(table, name)
            maps = self._values.maps(self._values.of(step.value, table))
            if any(None in values for values in maps.values()):
                raise Unbatched  # what a map doesn't have stays, what is null in it goes
            columns = {key: stored(key, values, step.span) for key, values in maps.items()}
            with failing_at(step.span):
                self._assign(subject, columns)
            return table

        return run

    def _assign(self, subject: Elements, columns: Mapping[str, list[Any]]) -> None:
        """Set properties of the element of each row: of a block's nodes as a whole where there are many."""
        numbers = subject.numbers
        rest = np.ones(len(numbers), np.bool_)
        if subject.handle is NodeHandle and not any(None in values for values in columns.values()):
            touched = self._overlay.touched_nodes()
            for block in self._overlay.uncommitted_blocks():
                inside = np.flatnonzero((numbers >= block.first) & (numbers < block.first + block.count))
                places = numbers[inside] - block.first
                if len(inside) * _SHARE < block.count or not len(inside) or len(np.unique(places)) < len(places):
                    continue
                if touched and any(number in touched for number in numbers[inside].tolist()):
                    continue
                rows = inside.tolist()
                for key, values in columns.items():
                    self._check()
                    column = list(
                        self._overlay.node_blocks.by_first[block.first].columns.get(key, [None] * block.count)
                    )
                    for place, row in zip(places.tolist(), rows, strict=True):
                        column[place] = values[row]
                    self._overlay.set_block_column(block.first, key, column, len(rows))
                rest[inside] = False
        if rest.all():
            self._assign_rows(subject, columns)
        elif rest.any():
            kept = np.flatnonzero(rest)
            own = {key: [values[row] for row in kept.tolist()] for key, values in columns.items()}
            self._assign_rows(Elements(numbers[kept], subject.handle), own)

    def _assign_rows(self, subject: Elements, columns: Mapping[str, list[Any]]) -> None:
        """Set properties of the element of each row, one after the other."""
        assign, keys, handle = self._by_row.assign, tuple(columns), subject.handle
        values = list(zip(*columns.values(), strict=True))
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
