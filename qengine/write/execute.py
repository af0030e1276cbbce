"""Runs a statement that changes the graph: rows go from step to step, the reading between them is planned or walked."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from qengine._frozen import replace
from qengine.errors import ExecutionError, OutOfMemory, QengineError, ResourceError, Span, Unsupported
from qengine.exec.common.csv_blocks import rows_of_file
from qengine.exec.context import ExecutionContext, OperatorStats
from qengine.exec.memory import MemoryAccount
from qengine.exec.reference.run import Compiler, Source, Subqueries
from qengine.exec.scalar.environment import Row
from qengine.exec.scalar.evaluate import compile
from qengine.exec.scalar.values import failing_at, number_of_rows
from qengine.plan import logical as op
from qengine.plan import updates as up
from qengine.plan.columns import columns_of
from qengine.plan.expr import Variable
from qengine.plan.traverse import nodes_of
from qengine.storage.arrays import Array
from qengine.storage.store import GraphStore
from qengine.write.ahead import Ahead, values_ahead
from qengine.write.base_columns import are_gone, incident
from qengine.write.bodies import Body
from qengine.write.column_values import Unbatched
from qengine.write.execution import Execution
from qengine.write.key_lookup import few_rows
from qengine.write.live import LiveEnvironment, LiveGraph
from qengine.write.overlay import Overlay
from qengine.write.reading import PartPlans, PartReader, begins_alone, behind_update, matches, reads_graph
from qengine.write.rules import check_touched
from qengine.write.steps import Given, Held, StepCompiler, enough
from qengine.write.table import Plain, Rows, Table, as_rows

_PLACE = " place"  # a column: of which row of a table a row is
_ROW = 300  # bytes that a row takes, as a dictionary
_CHANGE = 200  # and each change that is noted to be taken back, with what is new in it
_NONE: Any = None  # in place of an execution, between two of them
_PROGRAMS = 256  # compiled statements that are kept for a version
_NEW = 160  # of a new element that was made with many others
_LOOKS = 256  # rows or changes between two looks at the memory


def execute(
    plan: op.LogicalPlan, parts: PartPlans | None, overlay: Overlay, execution: Execution
) -> list[tuple[Any, ...]]:
    """Carry out a statement and return its rows, of values as a result has them.

    It is compiled when it is first carried out over an overlay.

    Parameters
    ----------
    parts
        Plans of what it reads first: the engine's executors run them. None: all is read value by value.
    overlay
        What is changed. Where the statement fails, what it has done to it stays: the caller takes it back.

    Raises
    ------
    ExecutionError
        Where a value makes the statement fail, a node is left out that relationships still have as an end, or a
        constraint isn't satisfied in the end.
    """
    context, programs = execution.context, overlay.programs
    kept = context.profile is None  # the numbers of a profile are those of one execution
    key = id(plan), parts is None, context.memory_limit is None
    # A program is taken out while it runs, so that a statement that is run inside itself gets another.
    program: _Program = (programs.pop(key, None) if kept else None) or _Program(plan, parts, overlay, context)
    try:
        return program.run(execution)
    finally:
        program.end()
        if kept:
            programs[key] = program
        if len(programs) > _PROGRAMS:
            programs.pop(next(iter(programs)))


class _Program:
    """A statement, compiled for one overlay, and for executions with a limit of memory or without.

    It serves one execution at a time: what is compiled reads its parameters, its clock and its account of memory where
    ``run`` has put them.
    """

    def __init__(self, plan: op.LogicalPlan, parts: PartPlans | None, overlay: Overlay, context: ExecutionContext):
        """``context``: of the first execution."""
        self._plan = plan  # kept: it is known by its ``id``
        self._overlay = overlay
        self._memory = MemoryAccount(None)
        self._graph = LiveGraph(overlay)
        self._compiler = _Compiler(self._graph, parts, self._memory, context)
        self._source: Callable[[], Rows] | None = None

    def run(self, execution: Execution) -> list[tuple[Any, ...]]:
        """Carry out the statement; errors as ``execute``."""
        context, overlay, graph = execution.context, self._overlay, self._graph
        context.use_account(self._memory)
        graph.begin(context)
        self._compiler.begin(execution)
        if self._source is None:
            self._source = self._compiler.whole(self._plan.root, wanted=bool(self._plan.columns))
        mark = overlay.mark()
        rows = self._source()
        _check_end(graph, min(mark, overlay.mark()))
        columns = self._plan.columns
        if not columns:
            return []
        from qengine.exec.scalar.materialize import materialize

        return materialize([[row[name] for name in columns] for row in rows], graph, context.check)

    def end(self) -> None:
        """Let go of the execution, with its parameters and what it has on disk."""
        self._memory.end()
        self._graph.end()
        self._compiler.end()


def _check_end(graph: LiveGraph, mark: int) -> None:
    """Check what a statement, or a part of it that is committed, has done since a mark of the overlay."""
    _check_ends(graph)
    check_touched(graph, mark)


def _check_ends(graph: LiveGraph) -> None:
    """Refuse to leave relationships without an end."""
    overlay = graph.overlay
    for number, span in graph.deleted.items():
        if overlay.touched_node(number) is None and overlay.has_relationships(number):
            raise _connected(span)
    for numbers, span in graph.deleted_together:
        if _have_relationships(overlay, numbers):
            raise _connected(span)
    graph.deleted.clear()  # what is committed isn't looked at again by each later part
    graph.deleted_together.clear()


def _have_relationships(overlay: Overlay, nodes: Array) -> bool:
    """Tell whether those of some nodes that are deleted have relationships."""
    apart = overlay.are_apart(nodes, nodes=True)
    kept = nodes[~apart]
    kept = kept[are_gone(overlay, kept, nodes=True)]
    links = incident(overlay.base.store, kept)
    links = links[~overlay.are_apart(links, nodes=False)]
    if not are_gone(overlay, links, nodes=False).all():
        return True
    looked_at = [number for number in nodes[apart].tolist() if overlay.touched_node(number) is None]
    if overlay.relationships_apart:
        looked_at += kept.tolist()
    return any(map(overlay.has_relationships, looked_at))


def _connected(span: Span | None) -> ExecutionError:
    return ExecutionError(
        "A node can't be deleted while it has relationships.",
        code="DeleteConnectedNode",
        span=span,
        hint="Delete them, too, or write DETACH DELETE.",
    )


def _without(rows: Given, names: Collection[str]) -> Given:
    """Return rows without some columns."""
    if isinstance(rows, Table):
        return rows.without(names)
    return [{name: value for name, value in row.items() if name not in names} for row in rows]


def _batch_size(value: Any, step: up.CallSubquery) -> int:
    """Return how many rows are a transaction."""
    span = step.batch.span if step.batch is not None else step.span
    with failing_at(span):
        return number_of_rows("IN TRANSACTIONS OF", value, least=1)


def _measured(source: Source, stats: OperatorStats) -> Source:
    """Return a source with its rows and its seconds, those of what it reads included, counted."""

    def rows(outer: Row) -> Iterator[dict[str, Any]]:
        begin = time.perf_counter()
        for row in source(outer):
            stats.seconds += time.perf_counter() - begin
            stats.rows += 1
            yield row
            begin = time.perf_counter()
        stats.seconds += time.perf_counter() - begin

    return rows


class _Held(Held):
    """What a statement holds: the rows between its steps and its changes, as far as the memory limit allows."""

    def __init__(self, overlay: Overlay, memory: MemoryAccount) -> None:
        self._overlay = overlay
        self._holding = memory.holding("Update")

    def begin(self, context: ExecutionContext) -> None:
        """Hold nothing, for an execution whose account has begun anew."""
        self._check = context.check
        self._rows = self._bytes = self._count = self._holding.bytes = 0
        self._before, self._patched = self._overlay.in_blocks, self._overlay.in_patches

    def end(self) -> None:
        """Let go of the execution."""
        self._check = _NONE

    def check(self) -> None:
        """Raise where the execution must stop, or holds too much."""
        self._check()
        self._count += 1
        if self._count >= _LOOKS:
            self.look()

    def look(self, more: int = 0) -> None:
        """Raise where the execution must stop, or holds too much with so many new elements ``more``."""
        self._check()
        self._count = 0
        overlay = self._overlay
        new = max(0, overlay.in_blocks - self._before) + more
        made = new * _NEW + max(0, overlay.in_patches - self._patched)
        self._holding.set(self._rows * _ROW + self._bytes + overlay.mark() * _CHANGE + made)

    def together(self, table: Table) -> Table:
        """Return a table, which is held until the statement ends."""
        self._bytes += table.nbytes
        self.look()
        return table

    def gathered(self, rows: Iterator[dict[str, Any]]) -> Rows:
        """Return rows as a list, which is held until the statement ends."""
        found = []
        for row in rows:
            found.append(row)
            self._rows += 1
            self.check()
        return found


class _Compiler(Compiler):
    """Compiles plans with updates; what only reads is left to the engine where that is right and worth the while."""

    _file_rows = staticmethod(rows_of_file)

    def __init__(
        self, graph: LiveGraph, parts: PartPlans | None, memory: MemoryAccount, context: ExecutionContext
    ) -> None:
        """``memory``: the account of all executions; ``context``: the limits of the first."""

        def environment(subqueries: Subqueries) -> LiveEnvironment:
            return LiveEnvironment(graph, subqueries=subqueries, memory=memory)

        super().__init__(environment, lambda: graph, self._version_now, context)
        self._live, self._parts = graph, parts
        self._handed: dict[int, Callable[[], Rows]] = {}  # by the ``id`` of an update its rows, to walk on from
        self._held = _Held(graph.overlay, memory)
        self._check = self._held.check
        env: LiveEnvironment = self._env  # type: ignore[assignment]
        self._steps = StepCompiler(graph, env, self._held, (self._call, self._body), together=parts is not None)

    def _version_now(self) -> GraphStore:
        return self._execution.sealed()

    def begin(self, execution: Execution) -> None:
        """Let what was compiled serve an execution."""
        self._execution, self._context = execution, execution.context
        self._held.begin(execution.context)
        self._env.begin(execution.context.parameters)  # type: ignore[attr-defined]

    def end(self) -> None:
        """Let go of the execution."""
        self._execution = self._context = _NONE
        self._held.end()
        self._env.end()  # type: ignore[attr-defined]

    def rows(self, operator: op.Operator) -> Source:
        """Return the generator of an operator's rows, which a profile counts."""
        source = self._rows(operator)
        profile = self._context.profile  # what is profiled is compiled for one execution
        return source if profile is None else _measured(source, profile.setdefault(id(operator), OperatorStats()))

    def _rows(self, operator: op.Operator) -> Source:
        if isinstance(operator, up.Update):
            handed = self._handed.get(id(operator))
            return self._update(operator) if handed is None else lambda outer: iter(handed())
        if (behind := self._behind(operator)) is not None:
            return lambda outer: iter(as_rows(behind(outer)))
        changes = up.writes(operator)
        if changes and isinstance(operator, op.Limit):
            source, count = self.rows(operator.input), compile(operator.count, self._env)
            return lambda outer: islice(list(source(outer)), number_of_rows("LIMIT", count(outer)))
        if changes or self._parts is None or isinstance(operator, op.Unit) or not begins_alone(operator):
            return super().rows(operator)
        if self._context.profile is None and not matches(operator):
            return super().rows(operator)
        return self._read(operator, PartReader(operator, self._parts))

    def _read(self, operator: op.Operator, reader: PartReader) -> Source:
        """Return the rows of what only reads, and begins with nothing."""
        walked: list[Source] = []

        def rows(outer: Row) -> Iterator[dict[str, Any]]:
            planned = reader.planned(self._live.overlay, self._execution)
            if planned is not None:
                return planned
            if not walked:
                walked.append(super(_Compiler, self).rows(operator))
            return walked[0](outer)

        return rows

    def _behind(self, operator: op.Operator) -> Callable[[Row], Given] | None:
        """Return what gives the rows of what goes on from those of an update: the engine's where these are many."""
        found = behind_update(operator) if self._parts is not None and self._context.profile is None else None
        if found is None or id(found[1]) in self._handed or not reads_graph(found[0]):
            return None
        assert self._parts is not None
        reader = PartReader(found[0], self._parts)
        run = self._updated(found[1], reader.given)
        given: Rows = []
        walked: list[Source] = []
        self._handed[id(found[1])] = lambda: given

        def rows(outer: Row) -> Given:
            nonlocal given
            updated = run(outer)
            live = self._live
            if not (live.deleted or live.deleted_together):  # relationships of those may have no end, until the end
                with suppress(Unbatched, Unsupported, ExecutionError):  # an error comes again where its row is
                    if (table := reader.continued(updated, live.overlay, self._execution)) is not None:
                        return self._held.together(table)
            given = as_rows(updated)
            if not walked:
                walked.append(super(_Compiler, self).rows(operator))
            return self._held.gathered(walked[0](outer))

        return rows

    def whole(self, root: op.Operator, *, wanted: bool) -> Callable[[], Rows]:
        """Return what runs a whole plan and gives its rows, or none where they aren't ``wanted``."""
        if isinstance(root, up.Update) and self._context.profile is None:
            run = self._updated(root, None if wanted else ())

            def found() -> Rows:
                given = run({})
                return as_rows(given) if wanted else []

            return found
        source = self.rows(root)
        return lambda: list(source({}))

    def _update(self, operator: up.Update) -> Source:
        run = self._updated(operator)
        return lambda outer: iter(as_rows(run(outer)))

    def _updated(self, operator: up.Update, wanted: Collection[str] | None = None) -> Callable[[Row], Given]:
        """Return what carries out an update; ``wanted``: the columns of its rows that are read, None for all."""
        ahead = values_ahead(operator.steps) if self._plans(operator.input) else {}
        together = self._together(operator.input) or self._planned(operator, ahead.values(), wanted)
        run = self._steps.all(operator.steps, ahead)
        # Where the engine doesn't find the rows as a table, there are few, or they fail: they are walked.
        behind = self._behind(operator.input)
        if behind is None:
            source = super().rows(operator.input) if self._plans(operator.input) else self.rows(operator.input)
        names = frozenset(each.name for each in ahead.values())
        walks = self._parts is not None and self._context.profile is None
        few = few_rows(self._live, self._env, operator.input) if walks else None

        def rows(outer: Row) -> Given:
            if behind is not None:
                return run(behind(outer))
            if few is not None and (found := few()) is not None:
                return run(found)
            given: Table | None = None
            if together is not None:
                try:
                    given = together()
                except Unbatched:
                    given = None
            if given is None:
                return run(self._held.gathered(source(outer)))
            result = run(self._held.together(given))
            return _without(result, names) if names else result

        return rows

    def _plans(self, operator: op.Operator) -> bool:
        """Tell whether the engine may find the rows of what is read."""
        alone = self._parts is not None and self._context.profile is None and begins_alone(operator)
        return alone and matches(operator) and not up.writes(operator)

    def _planned(
        self, update: up.Update, ahead: Iterable[Ahead], wanted: Collection[str] | None
    ) -> Callable[[], Table | None] | None:
        """Return what gives the rows that the engine finds as a table, with values for steps; None for other rows."""
        operator = update.input
        if not self._plans(operator):
            return None
        assert self._parts is not None
        columns = columns_of(operator)
        if wanted is not None:
            read = up.names_read(update.steps).union(wanted)
            columns = tuple(name for name in columns if name in read) or columns
        items, more = tuple((name, Variable(name)) for name in columns), tuple((each.name, each.expr) for each in ahead)
        plain = PartReader(operator if columns == columns_of(operator) else op.Project(operator, items), self._parts)
        readers = [plain]
        if more:
            readers.insert(0, PartReader(op.Project(operator, (*items, *more)), self._parts))

        def found() -> Table | None:
            # An element that is a parameter may be one that steps change.
            for reader in [plain] if self._env.given_elements else readers:
                try:
                    return reader.table(self._live.overlay, self._execution)
                except ExecutionError:  # it comes again where its row is
                    continue
            return None

        return found

    def _together(self, operator: op.Operator) -> Callable[[], Table | None] | None:
        """Return what gives the rows of what is read as a table, None for what is read otherwise."""
        batches = self._steps.batches
        if self._parts is None or self._context.profile is not None:
            return None
        if isinstance(operator, op.Unwind) and isinstance(operator.input, op.Unit):

            def unwound() -> Table | None:
                table = batches.unwound(operator)
                return table if enough(table) else None

            return unwound
        if not isinstance(operator, op.Match):
            return None
        below, match = self._together(operator.input), batches.match(operator)
        if below is None or match is None:
            return None

        def matched() -> Table | None:
            table = below()
            return None if table is None else match(self._held.together(table))

        return matched

    # ------------------------------------------------------------ CALL { … }

    def _call(self, step: up.CallSubquery) -> Callable[[Rows], Rows]:
        source = self.rows(step.plan)
        nothing = dict.fromkeys(step.columns)

        def for_row(row: dict[str, Any]) -> Rows:
            self._check()
            found = list(source(row))
            if step.unit:
                return [row]
            if not found and step.optional:
                return [{**row, **nothing}]
            return [{**row, **{name: each[name] for name in step.columns}} for each in found]

        def run(rows: Rows) -> Rows:
            return [made for row in rows for made in for_row(row)]

        return run if step.batch is None else self._in_batches(step, run)

    def _body(self, step: up.CallSubquery) -> Body | None:
        """Return what runs a ``CALL`` for a table; None where it must be run for each row, or has transactions."""
        return None if step.batch is not None else self._whole_body(step)

    def _whole_body(self, step: up.CallSubquery) -> Body | None:
        profiled = self._context.profile is not None
        if profiled or self._parts is None:
            return None
        return self._steps.bodies.called(step, self._steps.all, self._matched)

    def _matched(self, operator: op.Match) -> Body:
        """Return what gives a table's rows with the embeddings of a pattern, row after row, as the engine finds it."""
        assert self._parts is not None
        graph = operator.graph
        new = graph.variables()
        mentioned = {each.name for each in nodes_of(graph) if isinstance(each, Variable)}
        mentioned.update(node.name for node in graph.nodes if node.bound)
        mentioned.update(edge.name for edge in graph.relationships if edge.bound)
        given = tuple(sorted(mentioned.intersection(columns_of(operator.input))))
        reader = PartReader(replace(operator, input=op.Argument((*given, _PLACE))), self._parts)

        def run(table: Table) -> Table:
            live = self._live
            if live.deleted or live.deleted_together:  # relationships of those may have no end, until the end
                raise Unbatched
            columns = {name: table.columns[name] for name in given}
            columns[_PLACE] = Plain(pa.array(np.arange(len(table))))
            try:
                found = reader.continued(Table(len(table), columns), live.overlay, self._execution)
            except (Unsupported, ExecutionError, OutOfMemory):  # row by row holds less; an error has its place there
                raise Unbatched from None
            if found is None:
                raise Unbatched
            places = np.array(found.values(_PLACE) if len(found) else (), np.int64)
            order = np.argsort(places, kind="stable")
            found = self._held.together(found.take(order))
            table = table.take(places[order])
            for name in new:
                table = table.with_column(name, found.columns[name] if len(found) else [])
            return table

        return run

    def _in_batches(self, step: up.CallSubquery, by_row: Callable[[Rows], Rows]) -> Callable[[Rows], Rows]:
        assert step.batch is not None
        together = self._whole_body(step)

        def for_rows(rows: Rows) -> Rows:
            if together is not None and enough(rows):
                with suppress(Unbatched):
                    return as_rows(together(Table.of(rows)))
            return by_row(rows)

        size = compile(step.batch, self._env)

        def run(rows: Rows) -> Rows:
            if self._execution.commit is None:
                raise ExecutionError(
                    "CALL { … } IN TRANSACTIONS can't run inside a transaction.",
                    code="TransactionStartFailed",
                    span=step.span,
                    hint="Give the statement to graph.query(…), or leave IN TRANSACTIONS out.",
                )
            _check_end(self._live, 0)
            self._execution.commit()
            count = _batch_size(size({}), step)
            found: Rows = []
            stopped = False
            for first in range(0, len(rows), count):
                part = rows[first : first + count]
                made, error = ([], None) if stopped else self._batch(part, for_rows, step.on_error == "fail")
                failed = stopped or error is not None
                found += self._reported(step, part if failed else made, error, begun=not stopped, failed=failed)
                stopped = stopped or (error is not None and step.on_error == "break")
            return found

        return run

    def _batch(self, rows: Rows, for_rows: Callable[[Rows], Rows], must_hold: bool) -> tuple[Rows, QengineError | None]:
        """Run some rows as a transaction; return what they give, or why they were taken back."""
        overlay = self._live.overlay
        mark, changes = overlay.mark(), replace(overlay.changes)
        try:
            made = for_rows(rows)
            _check_end(self._live, mark)
        except ResourceError:
            raise
        except QengineError as error:
            if must_hold:
                raise
            overlay.take_back(mark)
            overlay.changes = changes
            return [], error
        assert self._execution.commit is not None
        self._execution.commit()
        return made, None

    def _reported(
        self, step: up.CallSubquery, rows: Rows, error: QengineError | None, *, begun: bool, failed: bool
    ) -> Rows:
        """Return rows with how their transaction ended; those of one that failed have nulls for what it would give."""
        extra: dict[str, Any] = {} if not failed or step.unit else dict.fromkeys(step.columns)
        if step.report is not None:
            message = None if error is None else error.message
            extra[step.report] = {
                "started": begun,
                "committed": begun and error is None,
                "transactionId": None,
                "errorMessage": message,
            }
        return [{**row, **extra} for row in rows] if extra else rows
