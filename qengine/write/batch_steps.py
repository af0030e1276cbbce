"""Steps of updates that are carried out for many rows at once.

A step means the same in both ways (``steps``). Here it is for those whose rows don't depend on what is done for rows
before them, or only as far as their keys tell: CREATE, MERGE (``batch_merge``), SET, REMOVE and DELETE
(``batch_changes``), and MATCH of nodes by their keys before them. First all is evaluated, then the graph is changed:
whatever isn't plain is ``Unbatched`` before anything was done, and goes row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial, singledispatchmethod
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from qengine.errors import Span
from qengine.exec.scalar.compare import equals
from qengine.exec.scalar.environment import Environment
from qengine.exec.scalar.values import NodeHandle, PathHandle, RelationshipHandle, failing_at
from qengine.plan import logical as op
from qengine.plan import updates as up
from qengine.plan.expr import Expr, MapOf, Variable
from qengine.plan.pattern import MatchMode
from qengine.plan.traverse import free_variables, is_repeatable
from qengine.storage.arrays import Array
from qengine.storage.states import NodeState
from qengine.temporal.arrow import to_values
from qengine.write.ahead import reads_of
from qengine.write.batch_changes import BatchChanges, Divided, Values
from qengine.write.batch_merge import Merged, Outcome, merged, rounds
from qengine.write.batch_names import named_merge, names_expressions
from qengine.write.batch_paths import MergedPath, leaves_of, merged_path, with_labels
from qengine.write.column_values import ColumnValues, Unbatched, rows_by_names, stored
from qengine.write.key_lookup import (
    distinct_keys,
    keyed_nodes,
    nodes_by_identity,
    nodes_by_keys,
    relationships_between,
)
from qengine.write.live import LiveGraph
from qengine.write.overlay import Overlay
from qengine.write.table import Column, Elements, Plain, Table, repeated

_Run = Callable[[Table], Table]
_Entity = NodeHandle | RelationshipHandle
_Setting = tuple[Array | None, Mapping[str, Values]]  # rows (None: all), and what is set of them
_ByRow = Callable[..., Any]
_Named = list[tuple[tuple[str, ...], Array | None]]  # rows (None: all) of the same labels, or type
_AT_ONCE = 4096  # elements that are read together
_ROUND = 64  # rows that are worth columns
_PLAIN = frozenset((bool, int, float, str, type(None)))  # values of which a column is repeated as an array
_NOBODY = NodeState((), {})  # in place of null, which has no properties
_SHARE = 4  # a block's column is made anew where at least one of so many of its nodes changes


class Held(Protocol):
    """What an execution holds, and whether it may go on."""

    def check(self) -> None:
        """Raise where the execution must stop, or holds too much."""

    def look(self, more: int = 0) -> None:
        """Raise where it must stop, or holds too much with so many new elements ``more``."""


class ByRow:
    """What is done row by row.

    ``assign``: sets properties of one element (entity, values, ``replace``: in place of all that it has); ``all``:
    compiles steps.
    """

    def __init__(
        self,
        assign: Callable[..., None],
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
        #: What evaluates expressions.
        self.values = ColumnValues(environment, held.check, self._properties)
        self._changes = BatchChanges(graph, held.check, held.look)
        #: Values that rows may have, by ``id`` of their expressions.
        self.ahead = self.values.ahead

    @property
    def _overlay(self) -> Overlay:
        return self._graph.overlay

    def _properties(self, column: Elements, key: str) -> Column:
        """Return a property of elements: from the base's column where they are as they are there."""
        overlay, numbers = self._overlay, column.numbers
        is_node = column.handle is NodeHandle
        patches = overlay.node_patches if is_node else overlay.relationship_patches
        if is_node and not overlay.are_apart(numbers, nodes=True).any() and not patches.deleted(numbers).any():
            store = overlay.base.store
            places = store.node_numbers.places(numbers)
            if (places[numbers >= 0] < 0).any():
                raise Unbatched  # one isn't there any more
            found = store.node_property(key)
            values = patches.values(numbers, key, pa.nulls(len(numbers)) if found is None else found.take(places))
            return Plain(values) if _is_plain(values.type) else to_values(values)
        listed: list[Any] = []
        for first in range(0, len(numbers), _AT_ONCE):
            self._check()
            part = numbers[first : first + _AT_ONCE]
            self._read_ahead(Elements(part[part >= 0], column.handle))
            read = overlay.node if is_node else overlay.relationship
            states = [read(number) if number >= 0 else _NOBODY for number in part.tolist()]
            if None in states:
                raise Unbatched
            listed += [state.properties.get(key) for state in states]  # type: ignore[union-attr]
        return listed

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
        (items,) = self.values.of(operator.expr, Table(1, {}))
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
                if node.identity is None:
                    keys = {key: self.values.of(value, table) for key, value in node.keys}
                    rows, numbers = nodes_by_keys(self._overlay, node.labels, keys, self._graph.context)
                else:
                    values = self.values.of(node.identity[1], table)
                    rows, numbers = nodes_by_identity(self._overlay, node.labels, node.identity[0], values)
                table = table.take(rows).with_column(node.name, Elements(numbers, NodeHandle))
            return table

        return run

    # ------------------------------------------------------------ making

    @step.register
    def _(self, step: up.Create) -> _Run | None:
        def run(table: Table) -> Table:
            properties = [self.values.properties(each.properties, table, each.span) for each in step.elements]
            named = [self._named(each, table) for each in step.elements]
            new: set[str] = set()
            for each in step.elements:
                if isinstance(each, up.NewRelationship):
                    for end in {each.start, each.end} - new:
                        self._ends(table, end)
                else:
                    new.add(each.name)
            for each, columns, names in zip(step.elements, properties, named, strict=True):
                self._check()
                table = table.with_column(each.name, self._made(each, table, columns, names))
            return table

        return run

    def _named(self, element: up.NewElement, table: Table) -> _Named:
        """Return the labels of the nodes to make, or the type of the relationships, with the rows that have them."""
        if isinstance(element, up.NewNode):
            dynamic, fixed = element.dynamic, element.labels
        else:
            dynamic, fixed = (() if element.dynamic is None else (element.dynamic,)), (element.type,)
        if not dynamic or not len(table):
            return [(tuple(dict.fromkeys(fixed)), None)]
        found = rows_by_names([self.values.of(each, table) for each in dynamic])
        if isinstance(element, up.NewNode):
            return [(tuple(dict.fromkeys((*fixed, *names))), rows) for names, rows in found]
        if any(len(names) != 1 for names, _ in found):
            raise Unbatched
        return [*found]

    def _made(
        self, element: up.NewElement, table: Table, columns: Mapping[str, list[Any]], named: _Named | None = None
    ) -> Elements:
        """Make an element for each row; ``named``: as of ``_named``, where they aren't the same for all."""
        count = len(table)
        self._look(count)
        numbers = np.empty(count, np.int64)
        is_node = isinstance(element, up.NewNode)
        ends = [] if isinstance(element, up.NewNode) else [self._ends(table, e) for e in (element.start, element.end)]
        for names, rows in (self._named(element, table) if named is None else named) if count else ():
            own = columns if rows is None else _given_columns(columns, rows)
            size = count if rows is None else len(rows)
            if is_node:
                first = self._overlay.create_nodes(names, size, own)
            else:
                starts, stops = ends if rows is None else (each[rows] for each in ends)
                first = self._overlay.create_relationships(names[0], starts, stops, own)
            numbers[slice(None) if rows is None else rows] = np.arange(first, first + size)
        return Elements(numbers, NodeHandle if is_node else RelationshipHandle)

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
        if names_expressions(step):
            return named_merge(step, self._overlay, self.values, self.step)
        pattern = merged(step)
        if pattern is None:
            path = merged_path(step)
            return None if path is None else partial(self._path, path)
        element = pattern.element
        relabel = [self._relabelling(each, element.name, each.labels) for each in pattern.matched_labels]
        named: _Named | None = None
        if isinstance(element, up.NewNode):
            named = [(tuple(dict.fromkeys((*element.labels, *pattern.created_labels))), None)]

        def run(table: Table) -> Table:
            outcome = self._looked_for(pattern, table)
            creating, matching = table.take(outcome.makers), table.take(outcome.rows[outcome.matches])
            changed = dict(pattern.matched)
            columns = self._columns((*pattern.keys.items(), *pattern.created), creating, element.span, changed)
            if pattern.reads_own:
                for _, value in pattern.matched:
                    self.values.check_reads(value, matching, element.name)
                settings = {}
            else:
                settings = self._columns(pattern.matched, matching, element.span, changed)
            made = self._made(
                element, creating, {k: each for k, each in columns.items() if each.count(None) < len(each)}, named
            )
            found = Elements(outcome.found(made.numbers), made.handle)
            result = table.take(outcome.rows).with_column(element.name, found)
            if pattern.reads_own:
                self._in_rounds(step, pattern, result.take(np.flatnonzero(outcome.matches)))
            elif settings:
                self._assign(Elements(found.numbers[outcome.matches], found.handle), settings)
            for each in relabel:
                each(result.take(np.flatnonzero(outcome.matches)))
            return result

        return run

    def _path(self, path: MergedPath, table: Table) -> Table:
        """Merge a path with new nodes."""
        changed = {key for own in path.matched.values() for key, _ in own}
        keys = {
            name: {key: self._value(value, table, changed) for key, value in own.items()}
            for name, own in path.keys.items()
        }
        every = {f"{name} {key}": values for name, own in keys.items() for key, values in own.items()}
        if any(None in values for values in every.values()):
            raise Unbatched
        known = {name: self._ends(table, name) for name in path.known}
        parts = [each.tolist() for each in known.values()]
        places = list(zip(*parts, *([distinct_keys(every)] if every else []), strict=True))
        rows, there = self._paths_there(path, known, keys)
        outcome = Outcome(len(table), rows, rows, places)
        creating, matching = table.take(outcome.makers), table.take(outcome.rows[outcome.matches])
        columns, settings = {}, {}
        for each in path.elements:
            entries = (*path.keys[each.name].items(), *path.created[each.name])
            given = self._columns(entries, creating, each.span, changed)
            columns[each.name] = {key: values for key, values in given.items() if values.count(None) < len(values)}
            settings[each.name] = self._columns(path.matched[each.name], matching, each.span, changed)
        table = table.take(outcome.rows)
        for each in path.elements:
            made = self._made(each, creating, columns[each.name])
            creating = creating.with_column(each.name, made)
            found = Elements(outcome.found(made.numbers, there[each.name]), made.handle)
            table = table.with_column(each.name, found)
            if settings[each.name]:
                self._assign(Elements(found.numbers[outcome.matches], made.handle), settings[each.name])
        return table

    def _paths_there(
        self, path: MergedPath, known: Mapping[str, Array], keys: Mapping[str, Mapping[str, list[Any]]]
    ) -> tuple[Array, dict[str, Array]]:
        """Return the rows that find a path, ascending, and by name the numbers of its elements, int64 each."""
        labels = {each.name: each.labels for each in path.elements if isinstance(each, up.NewNode)}
        if path.first in known:
            rows, there = np.arange(len(known[path.first])), {path.first: known[path.first]}
        else:
            rows, numbers = nodes_by_keys(self._overlay, path.labels, keys[path.first], self._graph.context)
            there = {path.first: numbers}
        for hop in path.hops:
            at, numbers, ends = leaves_of(self._overlay, hop.edge.type, there[hop.near], hop.ways, self._check)
            rows, there = rows[at], {name: each[at] for name, each in there.items()}
            there[hop.edge.name] = numbers
            if hop.far in there:
                kept = there[hop.far] == ends
            elif hop.far in known:
                kept = known[hop.far][rows] == ends
            else:
                kept = with_labels(self._overlay, ends, labels[hop.far])
                kept[kept] = self._equal(Elements(ends[kept], NodeHandle), rows[kept], keys[hop.far])
            there.setdefault(hop.far, ends)
            chosen = np.flatnonzero(kept)
            own = Elements(numbers[chosen], RelationshipHandle)
            chosen = chosen[self._equal(own, rows[chosen], keys[hop.edge.name])]
            rows, there = rows[chosen], {name: each[chosen] for name, each in there.items()}
        return rows, there

    def _equal(self, elements: Elements, rows: Array, keys: Mapping[str, list[Any]]) -> Array:
        """Tell which elements have the values of properties that their rows look for."""
        kept = np.ones(len(rows), np.bool_)
        for key, values in keys.items():
            column = self._properties(elements, key)
            listed = column if isinstance(column, list) else column.values()
            pairs = zip(listed, rows.tolist(), strict=True)
            kept &= np.fromiter((equals(value, values[row]) is True for value, row in pairs), np.bool_, len(rows))
        return kept

    def _in_rounds(self, step: up.Merge, pattern: Merged, table: Table) -> None:
        """Do ON MATCH for rows whose elements it reads: for the first rows of all elements, then the second, …"""
        name = pattern.element.name
        for rows in rounds(_elements(table, name).numbers, _ROUND):
            part = table.take(rows)
            subject = _elements(part, name)
            done = 0
            if _are_different(subject.numbers):
                with suppress(Unbatched):
                    for key, value in pattern.matched:
                        self._assign(subject, {key: self._column(key, value, part, step.span, name, {key})})
                        done += 1
            if done < len(pattern.matched):
                self._each(pattern.on_match[done:], part, name)

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

    def _columns(
        self, items: Iterable[tuple[str, Expr]], table: Table, span: Span | None, changed: Collection[str]
    ) -> dict[str, list[Any]]:
        return {key: stored(key, self._value(value, table, changed), span) for key, value in items}

    def _value(self, expr: Expr, table: Table, changed: Collection[str]) -> list[Any]:
        """Return an expression's value for each row; elements of rows have their properties, but for those ``changed``.

        ``changed``: properties that the step may set of what rows before have found.
        """
        known = self.values.ahead.get(id(expr))
        is_known = known is not None and known.name in table.columns
        if is_known or any(key in changed for _, key in reads_of(expr) or ()):
            return self.values.of(expr, table)
        column = self.values.of_elements(expr, table)
        return column if isinstance(column, list) else column.values()

    def _looked_for(self, pattern: Merged, table: Table) -> Outcome:
        """Look for what a MERGE is of, for all rows."""
        changed = dict(pattern.matched)
        keys = {key: self._value(value, table, changed) for key, value in pattern.keys.items()}
        if any(None in values for values in keys.values()):
            raise Unbatched
        places: Sequence[Any] = list(distinct_keys(keys)) if keys else ()
        if isinstance(pattern.element, up.NewNode):
            found = nodes_by_keys(self._overlay, pattern.labels, keys, self._graph.context)
        else:
            starts, ends = self._ends(table, pattern.element.start), self._ends(table, pattern.element.end)
            found = relationships_between(self._overlay, pattern.element.type, starts, ends, either=pattern.either)
            kept = self._equal(Elements(found[1], RelationshipHandle), found[0], keys)
            found = found[0][kept], found[1][kept]
            if pattern.either:
                starts, ends = np.minimum(starts, ends), np.maximum(starts, ends)
            pairs = list(zip(starts.tolist(), ends.tolist(), strict=True))
            places = list(zip(pairs, places, strict=True)) if keys else pairs
        return Outcome(len(table), *found, places)

    # ------------------------------------------------------------ changing

    @step.register
    def _(self, step: up.SetProperty) -> _Run | None:
        if not isinstance(step.subject, Variable):
            return None
        name = step.subject.name

        def run(table: Table) -> Table:
            part = _present(table, name)
            values = self._column(step.key, step.value, part, step.value.span, name, {step.key})
            with failing_at(step.span):
                self._assign(_elements(part, name), {step.key: values})
            return table

        return run

    @step.register
    def _(self, step: up.SetProperties) -> _Run | None:
        if not isinstance(step.subject, Variable):
            return None
        name, value, replace = step.subject.name, step.value, step.replace
        literal = isinstance(value, MapOf) and len(dict(value.entries)) == len(value.entries)
        keys = {key for key, _ in value.entries} if isinstance(value, MapOf) and not replace else None

        def run(table: Table) -> Table:
            part = _present(table, name)
            subject = _elements(part, name)
            if literal:
                assert isinstance(value, MapOf)
                entries = {key: self._column(key, own, part, step.span, name, keys) for key, own in value.entries}
                settings: list[_Setting] = [(None, entries)]
            else:
                settings = self._maps(step, part)
                if len(settings) > 1 and not _are_different(subject.numbers):
                    raise Unbatched  # of what several maps set the last one counts
            with failing_at(step.span):
                for rows, columns in settings:
                    own = subject if rows is None else Elements(subject.numbers[rows], subject.handle)
                    self._assign(own, columns, replace=replace)
            return table

        return run

    def _maps(self, step: up.SetProperties, table: Table) -> list[_Setting]:
        """Return the maps of a step as columns: of all rows, or, where null takes away, of those with the same keys."""
        values = self.values.of(step.value, table)
        maps = self.values.maps(values)
        alike: dict[frozenset[str], list[int]] = {}
        if not step.replace and any(None in each for each in maps.values()):
            for row, each in enumerate(values):
                alike.setdefault(frozenset(each), []).append(row)
        if len(alike) < 2:
            return [(None, {key: stored(key, each, step.span) for key, each in maps.items()})]
        return [
            (
                np.array(rows, np.int64),
                {key: stored(key, [values[row][key] for row in rows], step.span) for key in keys},
            )
            for keys, rows in alike.items()
        ]

    def _column(
        self, key: str, value: Expr, table: Table, span: Span | None, subject: str, keys: Collection[str] | None
    ) -> Values:
        """Return the values of a property of a column's elements, as they are stored.

        ``keys``: the properties that the step sets of these elements; None: all.
        """
        ahead = self.ahead.get(id(value))
        if ahead is not None and ahead.name in table.columns:
            if ahead.apart and not _are_different(_elements(table, subject).numbers):
                raise Unbatched
            column = table.columns[ahead.name]
            return column if isinstance(column, Plain) else stored(key, table.values(ahead.name), span)
        if not free_variables(value) and is_repeatable(value):
            (one,) = stored(key, self.values.of(value, Table(1, {})), span)
            return Plain.repeated(one, len(table)) if type(one) in _PLAIN else repeated(one, len(table))
        reads = [each for each in reads_of(value) or () if isinstance(table.columns.get(each[0]), Elements)]
        if not reads:
            return stored(key, self.values.of(value, table), span)
        own = [name for name, read in reads if keys is None or read in keys]
        if own and (any(name != subject for name in own) or not _are_different(_elements(table, subject).numbers)):
            raise Unbatched  # what a row before it sets
        column = self.values.of_elements(value, table)
        if isinstance(column, Elements):
            raise Unbatched
        return column if isinstance(column, Plain) else stored(key, column, span)

    @step.register
    def _(self, step: up.RemoveProperty) -> _Run | None:
        if not isinstance(step.subject, Variable):
            return None
        return self._patching(step, step.subject.name, lambda found: self._changes.remove(found, step.key))

    @step.register
    def _(self, step: up.SetLabels) -> _Run | None:
        if not isinstance(step.subject, Variable):
            return None
        name = step.subject.name
        if not step.dynamic:
            return self._relabelling(step, name, step.labels)
        by_row = self._by_row.all((step,))

        def run(table: Table) -> Table:
            part = _present(table, name)
            values = [self._column("", each, part, step.span, name, set()) for each in step.dynamic]
            for names, rows in rows_by_names([each if isinstance(each, list) else each.values() for each in values]):
                own = part.take(rows)
                self._relabelling(step, name, tuple(dict.fromkeys((*step.labels, *names))), by_row)(own)
            return table

        return run

    def _relabelling(
        self, step: up.SetLabels, name: str, labels: tuple[str, ...], by_row: _ByRow | None = None
    ) -> _Run:
        """Return what carries out a step for rows that give or take away the same labels."""

        def relabel(found: Divided) -> None:
            if not found.nodes:
                raise Unbatched
            self._changes.relabel(found, labels, remove=step.remove)

        return self._patching(step, name, relabel, by_row=by_row)

    @step.register
    def _(self, step: up.Delete) -> _Run | None:
        runs: list[_Run] = []
        names = [each.name for each in step.subjects if isinstance(each, Variable)]
        for each, name in zip(step.subjects, names, strict=False):
            delete = partial(self._changes.delete, detach=step.detach, span=each.span or step.span)
            runs.append(self._patching(up.Delete((each,), step.detach, step.span), name, delete, gone=True))

        def run(table: Table) -> Table:
            parts = [_parts(table.columns[name]) for name in names]
            for each, name, elements in zip(runs, names, parts, strict=True):
                for column in elements:
                    each(Table(len(column.numbers), {name: column}))
            return table

        return run if len(names) == len(step.subjects) else None

    def _patching(
        self,
        step: up.Step,
        name: str,
        patch: Callable[[Divided], None],
        *,
        gone: bool = False,
        by_row: _ByRow | None = None,
    ) -> _Run:
        """Return what carries out a step for the elements of a column: for many of them at once, else ``by_row``.

        ``gone``: elements that aren't there any more are left out.
        """
        by_row = self._by_row.all((step,)) if by_row is None else by_row

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

    def _assign(self, subject: Elements, columns: Mapping[str, Values], *, replace: bool = False) -> None:
        """Set properties of the element of each row: of many as a whole; ``replace``: all others go."""
        rest = self._assign_blocks(subject, columns, replace=replace)
        if rest is not None:
            if not len(rest):
                return
            subject = Elements(subject.numbers[rest], subject.handle)
            columns = {key: _picked(values, rest) for key, values in columns.items()}
        found = self._changes.divided(subject)
        if found is None or not self._changes.set(found, columns, replace=replace):
            self._assign_rows(subject, columns, replace=replace)
        elif len(found.others):
            others = Elements(subject.numbers[found.others], subject.handle)
            picked = {key: _picked(values, found.others) for key, values in columns.items()}
            self._assign_rows(others, picked, replace=replace)

    def _assign_blocks(self, subject: Elements, columns: Mapping[str, Values], *, replace: bool) -> Array | None:
        """Set properties of the nodes of new blocks, where these are many of them; return the other rows (int64).

        None where that is all of them.
        """
        blocks = self._overlay.uncommitted_blocks() if subject.handle is NodeHandle else []
        if not blocks:
            return None
        given = {key: values if isinstance(values, list) else values.values() for key, values in columns.items()}
        numbers = subject.numbers
        rest = np.ones(len(numbers), np.bool_)
        for block in blocks:
            inside = np.flatnonzero((numbers >= block.first) & (numbers < block.first + block.count))
            places = numbers[inside] - block.first
            if len(inside) * _SHARE < block.count or not len(inside) or len(np.unique(places)) < len(places):
                continue
            if self._overlay.are_touched(numbers[inside]):
                continue
            rows, own = inside.tolist(), places.tolist()
            for key in (*given, *(key for key in block.columns if replace and key not in given)):
                self._check()
                column = list(self._overlay.node_blocks.by_first[block.first].columns.get(key, [None] * block.count))
                values = given.get(key)
                new = repeated(None, len(rows)) if values is None else [values[row] for row in rows]
                count = len(rows)
                for place, value in zip(own, new, strict=True):
                    if value is None and column[place] is None:
                        count -= 1
                    column[place] = value
                self._overlay.set_block_column(block.first, key, column, count)
            rest[inside] = False
        return None if rest.all() else np.flatnonzero(rest)

    def _assign_rows(self, subject: Elements, columns: Mapping[str, Values], *, replace: bool) -> None:
        """Set properties of the element of each row, one after the other."""
        assign, keys, handle = self._by_row.assign, tuple(columns), subject.handle
        lists = [each if isinstance(each, list) else each.values() for each in columns.values()]
        values = list(zip(*lists, strict=True)) if lists else [()] * len(subject.numbers)
        for first in range(0, len(values), _AT_ONCE):
            part = subject.numbers[first : first + _AT_ONCE]
            self._read_ahead(Elements(part, handle))
            for number, own in zip(part.tolist(), values[first : first + _AT_ONCE], strict=True):
                self._check()
                assign(handle(number), dict(zip(keys, own, strict=True)), replace=replace)


def _is_plain(kind: Any) -> bool:
    tests = (pa.types.is_int64, pa.types.is_float64, pa.types.is_boolean, pa.types.is_string, pa.types.is_null)
    return any(test(kind) for test in tests)


def _given_columns(columns: Mapping[str, list[Any]], rows: Array) -> dict[str, list[Any]]:
    """Return the values that columns give some rows."""
    listed = rows.tolist()
    picked = {key: [values[row] for row in listed] for key, values in columns.items()}
    return {key: values for key, values in picked.items() if values.count(None) < len(values)}


def _parts(column: Any) -> list[Elements]:
    """Return the elements of a column to delete: of paths their relationships, then their nodes."""
    if isinstance(column, Elements):
        return [column]
    if not isinstance(column, list) or not {PathHandle, type(None)}.issuperset(map(type, column)):
        raise Unbatched
    paths = [each for each in column if each is not None]
    relationships = [each.id for path in paths for each in path.relationships]
    nodes = [each.id for path in paths for each in path.nodes]
    return [
        Elements(np.array(relationships, np.int64), RelationshipHandle),
        Elements(np.array(nodes, np.int64), NodeHandle),
    ]


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
