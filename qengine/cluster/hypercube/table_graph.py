"""``TableGraph``: a graph that stays in tables, and an engine that moves what a query needs of them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from functools import partial
from threading import Lock
from typing import Any, Unpack

from qengine.cluster.cut import merged
from qengine.cluster.hypercube.cells import CellAnswer, CellWork, Limited, MergeWork
from qengine.cluster.hypercube.dealing import Dealer, NodeDealer, RelationshipDealer, dealers
from qengine.cluster.hypercube.exchange import Exchange, Scan
from qengine.cluster.hypercube.explanation import Moved, SharesExplanation, SharesPlan, TableMoves
from qengine.cluster.hypercube.grid import Grids
from qengine.cluster.hypercube.heavy import Sampled, layout_of
from qengine.cluster.hypercube.joins import Join, join_of
from qengine.cluster.hypercube.slices import ROOM
from qengine.cluster.hypercube.sources import Spread
from qengine.cluster.hypercube.tables import Tables
from qengine.cluster.wire import decoded
from qengine.errors import QengineError, QueryInterrupted, Unsupported
from qengine.exec.common.batch import Batch, concatenate_batches
from qengine.exec.common.pipeline import continuing
from qengine.exec.common.results import result_rows
from qengine.exec.context import ExecutionContext
from qengine.graph import Graph
from qengine.optimizer.rules import rewritten
from qengine.options import LimitKeywords, Limits, with_options
from qengine.plan.column_types import column_types
from qengine.planned import Planned
from qengine.result import Result, ResultBatch, ResultStats
from qengine.statements import named_parameters

_CELL_BYTES = 1 << 28
"""Bytes that a cell is to get at most; what it does takes some times as many."""
_MOST_CELLS = 1024


class TableGraph:
    """A graph that stays in tables; ``qengine.cluster.tables`` makes one.

    A query's pattern is joined in one round: rows are sent to cells by hashes of their keys (``hypercube.shares``),
    each cell finds the embeddings that are its own, with whatever hangs on them, and what follows is done in two steps,
    in cells and here.
    Answers are those of ``Graph.query`` on the whole graph; floats that were summed may differ in their last digits,
    and rows without ``ORDER BY`` come in another order. Ends of relationships are trusted to be keys of nodes. One
    query has the engine at a time, others wait. ``with`` closes it at the end of the block.

    Parameters
    ----------
    tables
        What the graph consists of.
    exchange
        The engine.
    cells
        The most cells that a query has; None: as many as there are workers, and more where a cell would get more than
        256 MiB.
    threads
        Of each cell.
    """

    def __init__(self, tables: Tables, exchange: Exchange, cells: int | None = None, threads: int = 1) -> None:
        self._tables, self._exchange, self._cells, self._threads = tables, exchange, cells, threads
        self._schema = Graph._loaded(tables.empty())
        self._turn = Lock()

    @with_options(Limits)
    def query(self, text: str, params: Mapping[str, Any] | None = None, **limits: Unpack[LimitKeywords]) -> Result:
        """Run a statement that begins with a pattern, and return its result.

        Parameters, errors and result as for ``Graph.query``; the result's ``plan`` tells, once rows are fetched, what
        was sent for them.

        Parameters
        ----------
        memory_limit, spill_directory
            Of each cell, and of this process. A cell that what was sent leaves too little room in is done in slices.
        threads
            Of this process; those of cells are told when the tables are opened.

        Raises
        ------
        Unsupported
            For what one round can't answer, as matches after groups and named paths, with what to do.
        StorageError
            For tables that can't be read, keys that are missing or occur twice.
        ResourceError
            ``WorkerLost`` from the result's methods, where several workers have died of the same task.
        QengineError
            As ``Graph.query``.
        """
        return self._started(text, params, limits)[0]

    def explain(self, text: str, params: Mapping[str, Any] | None = None) -> SharesExplanation:
        """Return how a query is answered: shares, cells, what is expected to be sent; parameters as for ``query``."""
        return self._started(text, params, {})[1]

    def profile(
        self, text: str, params: Mapping[str, Any] | None = None, **limits: Unpack[LimitKeywords]
    ) -> SharesExplanation:
        """Run a query for what it sends, and return how it was answered; everything as for ``query``."""
        result, explanation = self._started(text, params, limits)
        for _ in result._unread_batches():
            pass
        return explanation

    def interrupt(self) -> None:
        """Stop all queries that were given and have not ended, from any thread."""
        self._schema.interrupt()

    def close(self) -> None:
        """End the workers."""
        self._exchange.close()
        self._schema.close()

    def __enter__(self) -> TableGraph:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        kinds, tables = len(self._tables.kinds), len(self._tables.relationships)
        return f"<TableGraph of {kinds} kinds of nodes, {tables} tables of relationships, by {self._exchange.name}>"

    def _started(self, text: str, params: Mapping[str, Any] | None, limits: Any) -> tuple[Result, SharesExplanation]:
        """Return a statement's result, of which nothing is computed yet, and how it is answered."""
        view = self._schema._view
        context = view.accept(**limits)
        if view.update_plan(text, context) is not None:
            raise Unsupported("Tables aren't changed by queries.", hint="Change them where they come from.")
        planned, seconds = view.current().plan(text, False, context)
        if planned.physical is None or planned.logical.explain is not None:
            raise Unsupported("Over tables a plan is shown by explain(text).", hint="Leave out EXPLAIN or PROFILE.")
        context.parameters = {**named_parameters(planned.text, planned.parameters, params), **planned.values}
        try:
            join = join_of(rewritten(planned.logical.root), self._tables)
            plan = self._shared(join, context)
        except QengineError as error:
            raise planned.at(error) from None
        explanation = SharesExplanation(plan, self._exchange.name, self._exchange.workers, join)
        stats = ResultStats(planning_seconds=seconds, plan=planned.physical, device_reason="by shares, in cells")
        batches = self._batches(planned, join, context, stats, explanation)
        types = partial(column_types, planned.logical.root)
        columns = planned.logical.columns
        return Result(columns, batches, stats, explanation, planned.notices, context, types), explanation

    def _shared(self, join: Join, context: ExecutionContext) -> SharesPlan:
        """Return the grids of a join, and what its tables are expected to send by them."""
        variables = len(join.variables)
        alone = dealers(join, self._tables, Grids.of((1,) * variables), context.parameters)
        spreads = [self._spread(dealer) for dealer in alone]
        sampled = [Sampled(each, found.sample, found.rows) for each, (_, found) in zip(alone, spreads, strict=True)]
        most = self._cells or self._exchange.workers
        room = _CELL_BYTES if context.memory_limit is None else min(_CELL_BYTES, context.memory_limit // ROOM)
        while True:
            layout = layout_of(sampled, variables, join.gridded, most)
            moves = [
                TableMoves(name, each.load(layout.grids)) for (name, _), each in zip(spreads, sampled, strict=True)
            ]
            plan = SharesPlan(join.variables[: join.gridded], layout, tuple(moves))
            if self._cells is not None or 2 * most > _MOST_CELLS or plan.fullest <= room:
                return plan
            most *= 2

    def _spread(self, dealer: Dealer) -> tuple[str, Spread]:
        """Return what a dealer's table is called, and what was looked at of it."""
        if isinstance(dealer, NodeDealer):
            kind = self._tables.kinds[dealer.kind]
            name, spread = kind.name, kind.spread
        else:
            assert isinstance(dealer, RelationshipDealer)
            table = self._tables.relationships[dealer.table]
            name, spread = f"relationships {table.type}", table.spread
        assert spread is not None
        return name, spread

    def _batches(
        self, planned: Planned, join: Join, context: ExecutionContext, stats: ResultStats, told: SharesExplanation
    ) -> Iterator[ResultBatch]:
        """Yield the result's rows, once all cells have answered."""
        begin = time.perf_counter()
        columns = planned.logical.columns
        try:
            parts = self._parts(join, context, told)
            rows = concatenate_batches(parts) if parts else Batch(1, {})
            tail = merged(join.tail, tuple(rows.columns) if parts else None)
            for batch in continuing(tail, self._schema._store, context)(rows):
                stats.rows += batch.length
                stats.seconds += time.perf_counter() - begin
                yield from result_rows(batch.select(columns), self._schema._store, context)
                begin = time.perf_counter()
        except QengineError as error:
            raise planned.at(error) from None
        except KeyboardInterrupt:
            context.interrupt()
            raise QueryInterrupted("The query was interrupted.", code="Interrupted") from None
        finally:
            stats.seconds += time.perf_counter() - begin

    def _parts(self, join: Join, context: ExecutionContext, told: SharesExplanation) -> list[Batch]:
        """Return the rows that cells, or those who merge, have given, and tell what was sent."""
        grid, moved = told.plan.layout.grids, Moved()
        deals = dealers(join, self._tables, grid, context.parameters)
        ends = context.control.deadline_ns
        seconds = max(0.0, (ends - time.monotonic_ns()) / 1e9) if ends else None
        spill = None if context.spill_directory is None else str(context.spill_directory)
        limits = Limited(seconds, context.memory_limit, spill, self._threads)
        bare = self._tables.bare()
        merge = MergeWork(join.merge, context.parameters, limits) if join.merge else None
        places = self._exchange.workers if merge else 1
        work = CellWork(join, bare, grid, tuple(deals), context.parameters, limits, places)
        scans = [Scan(self._spread(dealer)[1].source, dealer) for dealer in deals]
        found = []
        with self._turn:
            for answer in self._exchange.run(scans, work, merge, context.check):
                if answer.error is not None:
                    raise answer.error
                if isinstance(answer, CellAnswer):
                    moved.add(answer)
                    found += [decoded(rows) for _, rows in answer.rows]
                elif answer.rows is not None:
                    found.append(decoded(answer.rows))
        told.moved = moved
        return found
