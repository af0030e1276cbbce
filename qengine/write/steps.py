"""Carries out the steps of updates, each for all rows, over a graph that changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import singledispatchmethod
from typing import Any, TypeAlias

from qengine._frozen import replace
from qengine.errors import ExecutionError, InternalError, Span
from qengine.exec.reference.match import Matcher
from qengine.exec.scalar.entities import label_names
from qengine.exec.scalar.environment import Row
from qengine.exec.scalar.evaluate import compile
from qengine.exec.scalar.values import NodeHandle, PathHandle, RelationshipHandle, failing_at, kind_of, wrong_argument
from qengine.plan import updates as up
from qengine.plan.expr import Expr, MapOf
from qengine.plan.traverse import free_variables
from qengine.storage.states import NodeState
from qengine.write.ahead import Ahead
from qengine.write.batch_steps import BatchSteps, ByRow, Held
from qengine.write.bodies import Bodies, Body
from qengine.write.column_values import Unbatched
from qengine.write.live import LiveEnvironment, LiveGraph, gone
from qengine.write.rules import add_rule, drop_rule
from qengine.write.table import Rows, Table, as_rows
from qengine.write.values import storable_properties, storable_value

__all__ = ["Given", "Held", "Run", "StepCompiler", "enough"]

Given: TypeAlias = Rows | Table
Run = Callable[[Given], Given]
_Run = Callable[[Rows], Rows]
_ForRow = Callable[[Row], None]
_AT_ONCE = 4096  # rows whose elements are read together
LEAST = 16  # rows that are carried out together
_FEW = 4  # rows whose elements are read one by one
_Entity = NodeHandle | RelationshipHandle
_NOTHING: Mapping[int, Ahead] = {}


def enough(rows: Given) -> bool:
    """Tell whether rows are so many that they are carried out together."""
    return len(rows) >= LEAST


class StepCompiler:
    """Turns steps into functions from rows to rows, once a statement: row by row, or as ``batches`` does it.

    Parameters
    ----------
    graph, environment
        What is changed, and what expressions read of it.
    held
        Raises where the execution must stop.
    call
        Compiles ``CALL { … }``, row by row and for tables.
    together
        Carry out many rows at once where a step can be done so.
    """

    def __init__(
        self,
        graph: LiveGraph,
        environment: LiveEnvironment,
        held: Held,
        call: tuple[Callable[[up.CallSubquery], _Run], Callable[[up.CallSubquery], Body | None]],
        *,
        together: bool,
    ) -> None:
        self._graph = graph
        self._overlay = graph.overlay
        self._env = environment
        self._check = held.check
        self._call, self._call_together = call
        self._together = together
        self.batches = BatchSteps(graph, environment, held, ByRow(self._assign, self._each_by_row))
        self.bodies = Bodies(graph.overlay, environment, self.batches, held)

    def all(self, steps: Iterable[up.Step], ahead: Mapping[int, Ahead] = _NOTHING) -> Run:
        """Return what carries out steps one after the other: many rows together, where a step can be done so.

        ``ahead``: values that rows may have, by ``id`` of their expressions.
        """
        self.batches.ahead.update(ahead)
        runs = [self._either(each) for each in steps]

        def run(rows: Given) -> Given:
            for each in runs:
                rows = each(rows)
            return rows

        return run

    def _either(self, step: up.Step) -> Run:
        by_row = self.step(step)
        together = self._for_tables(step) if self._together else None

        def run(rows: Given) -> Given:
            if together is not None and enough(rows):
                table = rows if isinstance(rows, Table) else Table.of(rows)
                with suppress(Unbatched):
                    return together(table)
            return by_row(as_rows(rows))

        return run

    def _for_tables(self, step: up.Step) -> Body | None:
        """Return what carries out a step for a table; None where it has to be done row by row."""
        if isinstance(step, up.ForEach):
            return self.bodies.for_each(step, self.all(step.steps))
        if isinstance(step, up.CallSubquery):
            return self._call_together(step)
        return self.batches.step(step)

    def _each_by_row(self, steps: Iterable[up.Step]) -> _Run:
        runs = [self.step(each) for each in steps]

        def run(rows: Rows) -> Rows:
            for each in runs:
                rows = each(rows)
            return rows

        return run

    @singledispatchmethod
    def step(self, step: up.Step) -> _Run:
        """Return what carries out one step."""
        raise InternalError(f"The step {type(step).__name__} can't be carried out.")

    def _each(self, do: _ForRow, span: Span | None, *read: Expr) -> _Run:
        """Return what does something for each row.

        ``span``: where it fails unless the error says so. ``read``: what it changes, and what that is evaluated of.
        """
        names = sorted(frozenset[str]().union(*map(free_variables, read)))

        def run(rows: Rows) -> Rows:
            for first in range(0, len(rows), _AT_ONCE):
                part = rows[first : first + _AT_ONCE]
                if len(part) > _FEW:
                    self._read_ahead([row[name] for row in part for name in names])
                with failing_at(span):
                    for row in part:
                        self._check()
                        do(row)
            return rows

        return run

    def _read_ahead(self, values: list[Any]) -> None:
        nodes = dict.fromkeys(value.id for value in values if type(value) is NodeHandle)
        relationships = dict.fromkeys(value.id for value in values if type(value) is RelationshipHandle)
        self._overlay.read_ahead(list(nodes), list(relationships))

    # ------------------------------------------------------------ making

    @step.register
    def _(self, step: up.Create) -> _Run:
        make = self._maker(step.elements)

        def run(rows: Rows) -> Rows:
            made = []
            for row in rows:
                self._check()
                made.append(make(dict(row)))
            return made

        return run

    def _maker(self, elements: Iterable[up.NewElement]) -> Callable[[dict[str, Any]], dict[str, Any]]:
        """Return what makes elements and adds them to a row."""
        makers = [
            self._node_maker(each) if isinstance(each, up.NewNode) else self._relationship_maker(each)
            for each in elements
        ]

        def make(row: dict[str, Any]) -> dict[str, Any]:
            for each in makers:
                each(row)
            return row

        return make

    def _node_maker(self, element: up.NewNode) -> _ForRow:
        properties = self._properties(element.properties, element.span)
        name, labels, create = element.name, tuple(dict.fromkeys(element.labels)), self._overlay.create_node
        if element.dynamic:
            return self._labelled_maker(element, labels, properties)

        def make(row: Any) -> None:
            row[name] = NodeHandle(create(labels, properties(row)))

        return make

    def _labelled_maker(
        self, element: up.NewNode, labels: tuple[str, ...], properties: Callable[[Row], Mapping[str, Any]]
    ) -> _ForRow:
        """Return what makes a node whose labels expressions name."""
        name, span, create = element.name, element.span, self._overlay.create_node
        dynamic = [compile(each, self._env) for each in element.dynamic]

        def make(row: Any) -> None:
            given = properties(row)
            with failing_at(span):
                named = [own for each in dynamic for own in label_names(each(row))]
            row[name] = NodeHandle(create(tuple(dict.fromkeys((*labels, *named))), given))

        return make

    def _relationship_maker(self, element: up.NewRelationship) -> _ForRow:
        properties = self._properties(element.properties, element.span)
        create = self._overlay.create_relationship
        name, kind, span = element.name, element.type, element.span
        start, end = element.start, element.end
        type = compile(element.dynamic, self._env) if element.dynamic is not None else None

        def make(row: Any) -> None:
            ends = self._end(row[start], start, span), self._end(row[end], end, span)
            named = kind if type is None else self._one_type(type(row), span)
            row[name] = RelationshipHandle(create(named, *ends, properties(row)))

        return make

    def _one_type(self, value: Any, span: Span | None) -> str:
        """Return the type that ``[:$(value)]`` gives a new relationship."""
        with failing_at(span):
            names = label_names(value)
            if len(set(names)) != 1:
                message = f"A relationship to create has exactly one type, not {len(set(names))}."
                raise ExecutionError(message, code="NoSingleRelationshipType")
        return names[0]

    def _end(self, value: Any, name: str, span: Span | None) -> int:
        """Return the number of a node that a new relationship begins or ends at."""
        if type(value) is not NodeHandle:
            if value is None:
                message = f"A relationship can't be made: its node `{name}` is null."
                raise ExecutionError(
                    message, code="EntityNotFound", span=span, hint="Filter the rows without it first."
                )
            error = wrong_argument(f"The relationship's end `{name}`", "a node", value)
            error.span = span
            raise error
        if self._overlay.touched_node(value.id) is None:
            raise gone("node", span)
        return value.id

    def _properties(self, expr: Expr | None, span: Span | None) -> Callable[[Row], Mapping[str, Any]]:
        """Return what evaluates the properties of a new element; nulls are left out."""
        if expr is None:
            return lambda row: {}
        if isinstance(expr, MapOf):  # the common form: each value has its place in the text
            entries = [(key, compile(value, self._env), value.span or span) for key, value in expr.entries]

            def literal(row: Row) -> Mapping[str, Any]:
                found = {}
                for key, evaluate, place in entries:
                    value = evaluate(row)
                    if value is not None:
                        found[key] = storable_value(key, value, place)
                return found

            return literal
        evaluate = compile(expr, self._env)
        return lambda row: storable_properties(self._as_map(evaluate(row), span), span)

    def _as_map(self, value: Any, span: Span | None) -> Mapping[str, Any]:
        """Return the properties that a map, a node or a relationship holds."""
        if type(value) is dict:
            return value
        if type(value) in (NodeHandle, RelationshipHandle):
            return self._env.properties(value)
        if value is None:
            return {}
        error = wrong_argument("Properties", "a map, a node or a relationship", value)
        error.span = span
        raise error

    @step.register
    def _(self, step: up.Merge) -> _Run:
        matcher = Matcher(step.graph, self._graph, self._env, self._check)
        make = self._maker(step.elements)
        names = step.graph.variables()
        created, matched = self._each_by_row(step.on_create), self._each_by_row(step.on_match)
        bound = [node.name for node in step.graph.nodes if node.bound]
        refuse = self._null_check(step)

        def run(rows: Rows) -> Rows:
            found = []
            for place, row in enumerate(rows):
                self._check()
                if not place % _AT_ONCE and len(rows) > _FEW:
                    self._read_ahead([each[name] for each in rows[place : place + _AT_ONCE] for name in bound])
                for name in bound:
                    self._end(row[name], name, step.span)
                refuse(row)
                embeddings = [{**row, **{name: each[name] for name in names}} for each in matcher.embeddings(row)]
                if embeddings:
                    found += matched(embeddings)
                else:
                    found += created([self._with_paths(step, make(dict(row)))])
            return found

        return run

    def _with_paths(self, step: up.Merge, row: dict[str, Any]) -> dict[str, Any]:
        for path in step.graph.paths:
            if path.name:
                elements = [row[name] for name in path.elements]
                row[path.name] = PathHandle(tuple(elements[::2]), tuple(elements[1::2]))
        return row

    def _null_check(self, step: up.Merge) -> _ForRow:
        """Return what refuses rows in which a property to find an element by is null: it would never be found."""
        values = [
            (key, compile(value, self._env), value.span or step.span)
            for element in step.elements
            if isinstance(element.properties, MapOf)
            for key, value in element.properties.entries
        ]

        def refuse(row: Row) -> None:
            for key, evaluate, span in values:
                if evaluate(row) is None:
                    raise ExecutionError(
                        f"MERGE can't find anything by the property {key}, which is null.",
                        span=span,
                        code="MergeReadOwnWrites",
                        hint="Leave it out, or set it with ON CREATE SET.",
                    )

        return refuse

    # ------------------------------------------------------------ changing

    @step.register
    def _(self, step: up.SetProperty) -> _Run:
        subject, value, key = compile(step.subject, self._env), compile(step.value, self._env), step.key
        place = step.value.span or step.span

        def do(row: Row) -> None:
            entity = self._entity(subject(row), "SET", step.span)
            if entity is not None:
                new = value(row)
                self._assign(entity, {key: new if new is None else storable_value(key, new, place)}, replace=False)

        return self._each(do, step.span, step.subject, step.value)

    @step.register
    def _(self, step: up.SetProperties) -> _Run:
        subject, value = compile(step.subject, self._env), compile(step.value, self._env)

        def do(row: Row) -> None:
            entity = self._entity(subject(row), "SET", step.span)
            if entity is not None:
                given = self._as_map(value(row), step.span)
                stored = storable_properties(given, step.span)
                nulls = dict.fromkeys(key for key, each in given.items() if each is None)
                self._assign(entity, {**stored, **nulls}, replace=step.replace)

        return self._each(do, step.span, step.subject, step.value)

    @step.register
    def _(self, step: up.RemoveProperty) -> _Run:
        subject = compile(step.subject, self._env)

        def do(row: Row) -> None:
            entity = self._entity(subject(row), "REMOVE", step.span)
            if entity is not None:
                self._assign(entity, {step.key: None}, replace=False)

        return self._each(do, step.span, step.subject)

    def _assign(self, entity: _Entity, given: Mapping[str, Any], *, replace: bool) -> None:
        """Set properties of an element, and take away those that are null, or that aren't given where ``replace``."""
        overlay, number = self._overlay, entity.id
        state = overlay.node(number) if type(entity) is NodeHandle else overlay.relationship(number)
        if state is None:
            raise gone("node" if type(entity) is NodeHandle else "relationship")
        old = state.properties
        new = {} if replace else dict(old)
        count = sum(key not in given for key in old) if replace else 0
        for key, value in given.items():
            if value is not None:
                new[key] = value
                count += 1
            elif key in old:
                new.pop(key, None)
                count += 1
        if isinstance(state, NodeState):
            overlay.set_node_properties(number, state, new, count)
        else:
            overlay.set_relationship_properties(number, state, new, count)

    @step.register
    def _(self, step: up.SetLabels) -> _Run:
        subject = compile(step.subject, self._env)
        named, remove = step.labels, step.remove
        dynamic = [compile(each, self._env) for each in step.dynamic]
        clause = "REMOVE" if remove else "SET"

        def do(row: Row) -> None:
            entity = self._entity(subject(row), clause, step.span)
            if entity is None:
                return
            if type(entity) is not NodeHandle:
                raise ExecutionError(
                    "Only nodes have labels that can change.", code="InvalidArgumentType", span=step.span
                )
            state = self._overlay.node(entity.id)
            if state is None:
                raise gone("node")
            labels = state.labels
            given = (*named, *(name for each in dynamic for name in label_names(each(row))))
            new = tuple(each for each in labels if each not in given)
            if not remove:
                new = tuple(dict.fromkeys((*labels, *given)))
            if new != labels:
                self._overlay.set_labels(entity.id, new)

        return self._each(do, step.span, step.subject)

    def _entity(self, value: Any, clause: str, span: Span | None) -> _Entity | None:
        if value is None or type(value) in (NodeHandle, RelationshipHandle):
            return value  # type: ignore[no-any-return]
        message = f"{clause} changes nodes and relationships, not a value of type {kind_of(value)}."
        raise ExecutionError(message, code="InvalidArgumentType", span=span)

    # ------------------------------------------------------------ deleting

    @step.register
    def _(self, step: up.Delete) -> _Run:
        subjects = [(compile(each, self._env), each.span or step.span) for each in step.subjects]

        def do(row: Row) -> None:
            for evaluate, span in subjects:
                with failing_at(span):
                    self._delete(evaluate(row), step.detach, span)

        return self._each(do, step.span, *(() if step.detach else step.subjects))

    def _delete(self, value: Any, detach: bool, span: Span | None) -> None:
        overlay = self._overlay
        match value:
            case None:
                pass
            case NodeHandle():
                if detach:
                    overlay.delete_relationships_of(value.id)
                else:
                    self._graph.deleted.setdefault(value.id, span)
                overlay.delete_node(value.id)
            case RelationshipHandle():
                overlay.delete_relationship(value.id)
            case PathHandle():
                for each in (*value.relationships, *value.nodes):
                    self._delete(each, detach, span)
            case _:
                message = f"DELETE takes nodes, relationships and paths, not a value of type {kind_of(value)}."
                raise ExecutionError(message, code="InvalidArgumentType")

    # ------------------------------------------------------------ rules

    @step.register
    def _(self, step: up.AddRule) -> _Run:
        def do(row: Row) -> None:
            name = self._given_name(step.given, row)
            add_rule(self._overlay, step if name is None else replace(step, rule=replace(step.rule, name=name)))

        return self._each(do, step.span)

    @step.register
    def _(self, step: up.DropRule) -> _Run:
        def do(row: Row) -> None:
            name = self._given_name(step.given, row)
            drop_rule(self._overlay, step if name is None else replace(step, name=name))

        return self._each(do, step.span)

    def _given_name(self, given: Expr | None, row: Row) -> str | None:
        """Return the name of an index or a constraint that a parameter gives; None where the text names it."""
        if given is None:
            return None
        name = compile(given, self._env)(row)
        if type(name) is not str or not name:
            error = wrong_argument("The name of an index or a constraint", "a string with characters", name)
            error.span = given.span
            raise error
        return name

    # ------------------------------------------------------------ nesting

    @step.register
    def _(self, step: up.ForEach) -> _Run:
        items, steps, name = compile(step.items, self._env), self.all(step.steps), step.name

        def do(row: Row) -> None:
            found = items(row)
            if found is not None and type(found) is not list:
                found = [found]
            if found:
                steps([{**row, name: item} for item in found])

        return self._each(do, step.items.span)

    @step.register
    def _(self, step: up.CallSubquery) -> _Run:
        return self._call(step)
