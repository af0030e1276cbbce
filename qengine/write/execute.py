"""Runs a statement that changes the graph: rows go from step to step, the reading between them is planned or walked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import Any

from qengine.errors import ExecutionError, QengineError, ResourceError
from qengine.exec.context import ExecutionContext
from qengine.exec.reference.run import Compiler, Source
from qengine.exec.scalar.environment import Row
from qengine.exec.scalar.evaluate import compile
from qengine.exec.scalar.values import failing_at, number_of_rows
from qengine.plan import logical as op
from qengine.plan import updates as up
from qengine.storage.store import GraphStore
from qengine.write.column_values import Unbatched
from qengine.write.live import LiveEnvironment, LiveGraph
from qengine.write.overlay import Overlay
from qengine.write.reading import PartReader
from qengine.write.rules import check_touched
from qengine.write.steps import Given, Held, StepCompiler, enough
from qengine.write.table import Rows, Table, as_rows

__all__ = ["execute"]

_ROW = 300  # bytes that a row takes, as a dictionary
_CHANGE = 200  # and each change that is noted to be taken back, with what is new in it
_CELL = 80  # of a row of a table, and of each value that is made for it
_NEW = 160  # of a new element that was made with many others
_LOOKS = 256  # rows or changes between two looks at the memory


def execute(
    plan: op.LogicalPlan,
    overlay: Overlay,
    context: ExecutionContext,
    reader: PartReader | None,
    commit: Callable[[], None] | None,
    sealed: Callable[[], GraphStore],
) -> list[tuple[Any, ...]]:
    """Carry out a statement and return its rows, of values as a result has them.

    Parameters
    ----------
    overlay
        What is changed. Where the statement fails, what it has done to it stays: the caller takes it back.
    reader
        Reads by the engine's executors what doesn't depend on what the statement has changed; None: all is read value
        by value.
    commit
        Ends a transaction in the middle, for ``IN TRANSACTIONS``; None where the statement is part of a larger one.
    sealed
        Returns what procedures read: the present state as a version.

    Raises
    ------
    ExecutionError
        Where a value makes the statement fail, a node is left out that relationships still have as an end, or a
        constraint isn't satisfied in the end.
    """
    graph = LiveGraph(overlay, context)
    mark = overlay.mark()
    compiler = _Compiler(graph, context, reader, commit, sealed)
    columns = plan.columns
    rows = compiler.result(plan.root, wanted=bool(columns))
    _check_end(graph, min(mark, overlay.mark()))
    if not columns:
        return []
    from qengine.exec.scalar.materialize import materialize

    return materialize([[row[name] for name in columns] for row in rows], graph, context.check)


def _check_end(graph: LiveGraph, mark: int) -> None:
    """Check what a statement, or a part of it that is committed, has done since a mark of the overlay."""
    _check_ends(graph)
    check_touched(graph, mark)


def _check_ends(graph: LiveGraph) -> None:
    """Refuse to leave relationships without an end."""
    overlay = graph.overlay
    for number, span in graph.deleted.items():
        if overlay.touched_node(number) is None and overlay.has_relationships(number):
            raise ExecutionError(
                "A node can't be deleted while it has relationships.",
                code="DeleteConnectedNode",
                span=span,
                hint="Delete them, too, or write DETACH DELETE.",
            )


def _batch_size(value: Any, step: up.CallSubquery) -> int:
    """Return how many rows are a transaction."""
    span = step.batch.span if step.batch is not None else step.span
    with failing_at(span):
        count = number_of_rows("IN TRANSACTIONS OF", value)
    if count == 0:
        message = "IN TRANSACTIONS OF needs a number of rows from 1 on, not 0."
        raise ExecutionError(message, code="NegativeIntegerArgument", span=span)
    return count


class _Held(Held):
    """What a statement holds: the rows between its steps and its changes, as far as the memory limit allows."""

    def __init__(self, overlay: Overlay, context: ExecutionContext) -> None:
        self._overlay = overlay
        self._context = context
        self._holding = context.memory.holding("Update")
        self._rows = self._cells = self._count = 0
        self._before = overlay.in_blocks

    def check(self) -> None:
        """Raise where the execution must stop, or holds too much."""
        self._context.check()
        self._count += 1
        if self._count >= _LOOKS:
            self.look()

    def look(self, more: int = 0) -> None:
        """Raise where the execution must stop, or holds too much with so many new elements ``more``."""
        self._context.check()
        self._count = 0
        new = max(0, self._overlay.in_blocks - self._before) + more
        self._holding.set(self._rows * _ROW + self._cells * _CELL + self._overlay.mark() * _CHANGE + new * _NEW)

    def together(self, table: Table) -> Table:
        """Return a table, which is held until the statement ends."""
        self._cells += len(table) * (len(table.columns) + 1)
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

    def __init__(
        self,
        graph: LiveGraph,
        context: ExecutionContext,
        reader: PartReader | None,
        commit: Callable[[], None] | None,
        sealed: Callable[[], GraphStore],
    ) -> None:
        def environment(subqueries: Any) -> LiveEnvironment:
            return LiveEnvironment(graph, context.parameters, subqueries=subqueries, memory=context.memory)

        super().__init__(environment, lambda: graph, sealed, context)
        self._held = _Held(graph.overlay, context)
        self._check = self._held.check
        self._live = graph
        self._reader = reader
        self._commit = commit
        env: LiveEnvironment = self._env  # type: ignore[assignment]
        self._steps = StepCompiler(graph, env, self._held, self._call, together=reader is not None)

    def rows(self, operator: op.Operator) -> Source:
        """Return the generator of an operator's rows."""
        if isinstance(operator, up.Update):
            return self._update(operator)
        changes = up.writes(operator)
        if changes and isinstance(operator, op.Limit):
            source, count = self.rows(operator.input), compile(operator.count, self._env)
            return lambda outer: islice(list(source(outer)), number_of_rows("LIMIT", count(outer)))
        if changes or self._reader is None or isinstance(operator, op.Unit):
            return super().rows(operator)
        return self._read(operator)

    def _read(self, operator: op.Operator) -> Source:
        """Return the rows of what only reads, and begins with nothing."""
        reader = self._reader
        if reader is None or not reader.begins_alone(operator):
            return super().rows(operator)
        walked: list[Source] = []

        def rows(outer: Row) -> Iterator[dict[str, Any]]:
            planned = reader.planned(operator, self._live.overlay)
            if planned is not None:
                return planned
            if not walked:
                walked.append(super(_Compiler, self).rows(operator))
            return walked[0](outer)

        return rows

    def result(self, root: op.Operator, *, wanted: bool) -> Rows:
        """Run a whole plan; return its rows, or none where they aren't ``wanted``."""
        if isinstance(root, up.Update):
            found = self._updated(root)({})
            return as_rows(found) if wanted else []
        return list(self.rows(root)({}))

    def _update(self, operator: up.Update) -> Source:
        run = self._updated(operator)
        return lambda outer: iter(as_rows(run(outer)))

    def _updated(self, operator: up.Update) -> Callable[[Row], Given]:
        """Return what carries out an update."""
        together, run = self._together(operator.input), self._steps.all(operator.steps)
        source = self.rows(operator.input)

        def rows(outer: Row) -> Given:
            given: Given | None = None
            if together is not None:
                with suppress(Unbatched):
                    given = self._held.together(together())
            return run(self._held.gathered(source(outer)) if given is None else given)

        return rows

    def _together(self, operator: op.Operator) -> Callable[[], Table] | None:
        """Return what gives the rows of what is read as a table, None for what is read otherwise."""
        batches = self._steps.batches
        if self._reader is None:
            return None
        if isinstance(operator, op.Unwind) and isinstance(operator.input, op.Unit):

            def unwound() -> Table:
                table = batches.unwound(operator)
                if not enough(table):
                    raise Unbatched
                return table

            return unwound
        if not isinstance(operator, op.Match):
            return None
        below, match = self._together(operator.input), batches.match(operator)
        return None if below is None or match is None else lambda: match(self._held.together(below()))

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

        return run if step.batch is None else self._in_batches(step, for_row)

    def _in_batches(self, step: up.CallSubquery, for_row: Callable[[dict[str, Any]], Rows]) -> Callable[[Rows], Rows]:
        assert step.batch is not None
        size = compile(step.batch, self._env)

        def run(rows: Rows) -> Rows:
            if self._commit is None:
                raise ExecutionError(
                    "CALL { … } IN TRANSACTIONS can't run inside a transaction.",
                    code="TransactionStartFailed",
                    span=step.span,
                    hint="Give the statement to graph.query(…), or leave IN TRANSACTIONS out.",
                )
            _check_end(self._live, 0)
            self._commit()
            count = _batch_size(size({}), step)
            found: Rows = []
            stopped = False
            for first in range(0, len(rows), count):
                part = rows[first : first + count]
                made, error = ([], None) if stopped else self._batch(part, for_row, step.on_error == "fail")
                failed = stopped or error is not None
                found += self._reported(step, part if failed else made, error, begun=not stopped, failed=failed)
                stopped = stopped or (error is not None and step.on_error == "break")
            return found

        return run

    def _batch(
        self, rows: Rows, for_row: Callable[[dict[str, Any]], Rows], must_hold: bool
    ) -> tuple[Rows, QengineError | None]:
        """Run some rows as a transaction; return what they give, or why they were taken back."""
        overlay = self._live.overlay
        mark, changes = overlay.mark(), replace(overlay.changes)
        try:
            made = [each for row in rows for each in for_row(row)]
            _check_end(self._live, mark)
        except ResourceError:
            raise
        except QengineError as error:
            if must_hold:
                raise
            overlay.take_back(mark)
            overlay.changes = changes
            return [], error
        assert self._commit is not None
        self._commit()
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
