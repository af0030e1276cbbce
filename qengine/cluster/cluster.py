"""``Cluster``: a saved graph, and the workers that answer queries over it together."""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator, Mapping
from functools import partial
from math import inf
from threading import Lock
from typing import TYPE_CHECKING, Any, Unpack

from qengine._system import usable_processors
from qengine.cluster.cut import Cut, cut
from qengine.cluster.dealing import deal
from qengine.cluster.engine import Engine
from qengine.cluster.wire import decoded
from qengine.cluster.worker import Answer, Task, open_version
from qengine.errors import OutOfMemory, QengineError, QueryInterrupted, QueryTimeout, StorageError
from qengine.exec.common.batch import Batch, concatenate_batches
from qengine.exec.common.pipeline import continuing
from qengine.exec.common.results import result_rows
from qengine.exec.context import ExecutionContext
from qengine.explain import Explanation
from qengine.options import EstimateKeywords, LimitKeywords, Limits, with_options
from qengine.plan.column_types import column_types
from qengine.plan.shares import Share, guided_shares
from qengine.planned import Planned
from qengine.prepared import Prepared
from qengine.result import Result, ResultBatch, ResultStats
from qengine.statements import named_parameters

if TYPE_CHECKING:
    from qengine.estimate import Estimate

_GUIDED = ((4e9, (4, 2, 1, 1)), (5e8, (3, 1)), (0.0, (1,)))
"""What each worker takes in turn, from so many nanoseconds on that it is expected to work in all. A part takes some
10 ms beside its share: it is handed out, and makes anew what it has in common with others, as rows of hubs."""
_REPEATED = (3, 1)
"""The most where each part does more anew, as a join's table."""
_LEAST_COST = 5e7
"""Nanoseconds of one core that a search must be expected to take to be done in parts."""
_FINAL = (OutOfMemory, QueryInterrupted, QueryTimeout, StorageError)
"""Errors of a part that are the query's; after others it runs again in one process, whose answer or error counts."""


class ClusterExplanation(Explanation):
    """A plan, and ``dealt``: how it is done in parts, or why in one process."""

    dealt: str = ""

    def __str__(self) -> str:
        return f"{super().__str__()}\n{self.dealt}"

    __repr__ = __str__

    def to_json(self) -> dict[str, Any]:
        """Return the plan as JSON-ready dicts, with ``dealt``."""
        return {**super().to_json(), "dealt": self.dealt}


class Cluster:
    """A saved graph, queried by several processes together; ``qengine.cluster.open`` makes one.

    What can be cut into parts of a pattern's first vertices is answered by the workers, everything else by this
    process, which has the graph mapped, too; ``explain`` says which. Statements that change the graph are refused.
    Results are those of ``Graph.query``; floats that were summed may differ in their last digits, and rows without
    ``ORDER BY`` come in another order. The rows of all parts are held here before the first is returned. One query has
    the workers at a time, others wait. ``with`` closes it at the end of the block.

    Parameters
    ----------
    path
        The saved graph's folder.
    threads
        Of each worker.
    least_cost
        Nanoseconds of one core from which on a search is done in parts.
    """

    def __init__(self, path: str, engine: Engine, threads: int = 1, least_cost: float = _LEAST_COST) -> None:
        self._graph, self._version = open_version(path)
        self._engine, self._threads, self._least_cost = engine, threads, least_cost
        self._turn = Lock()

    @with_options(Limits)
    def query(self, text: str, params: Mapping[str, Any] | None = None, **limits: Unpack[LimitKeywords]) -> Result:
        """Run a statement that reads, and return its result; parameters, errors and result as for ``Graph.query``.

        Parameters
        ----------
        memory_limit, spill_directory
            Of each process.
        threads
            Of this process; those of workers are told when the cluster is opened.

        Raises
        ------
        TransactionError
            For a statement that changes the graph.
        ResourceError
            ``WorkerLost`` from the result's methods, where several workers have died of the same part.
        QengineError
            As ``Graph.query``.
        """
        view = self._graph._view
        context = view.accept(**limits)
        if view.update_plan(text, context) is None:
            planned, seconds = view.current().plan(text, False, context)
            found = self._cut(planned)
            if isinstance(found, Cut):
                return self._result(planned, found, params, context, seconds)
        return Prepared(view, text, None, context).start(params, "cpu", context)

    def explain(self, text: str) -> ClusterExplanation:
        """Return the plan of a statement; its last line tells how it is done in parts, or why in one process."""
        plain = self._graph.explain(text, device="cpu")
        found = ClusterExplanation(plain.plan, self._graph._store, "cpu", plain.device_reason, plain.notices)
        view = self._graph._view
        context = view.accept()
        if view.update_plan(text, context) is not None:
            found.dealt = "Refused: it changes the graph."
            return found
        how = self._cut(view.current().plan(text, False, context)[0])
        if isinstance(how, Cut):
            name = how.search.levels[0].name
            workers = f"{self._engine.workers} {'worker' if self._engine.workers == 1 else 'workers'}"
            found.dealt = f"In parts by the vertices of {name}: {workers} of {self._engine.name}."
        else:
            found.dealt = f"In this process: {how}."
        return found

    def estimate(
        self, text: str, params: Mapping[str, Any] | None = None, **options: Unpack[EstimateKeywords]
    ) -> Estimate:
        """Estimate how many rows a pattern has, in this process; everything as for ``Graph.estimate``."""
        return self._graph.estimate(text, params, **options)

    def interrupt(self) -> None:
        """Stop all queries that were given to the cluster and have not ended, from any thread."""
        self._graph.interrupt()

    def close(self) -> None:
        """End the workers, and let go of the graph."""
        self._engine.close()
        self._graph.close()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Cluster of {self._engine.workers} {self._engine.name}, {self._graph!r}>"

    def _cut(self, planned: Planned) -> Cut | str:
        """Return how a statement is done in parts, or why it isn't."""
        if planned.physical is None or planned.physical.explain is not None:
            return "it asks for a plan"
        faster = self._engine.workers * self._threads / usable_processors()
        found = cut(planned.physical, faster)
        if isinstance(found, Cut) and found.cost is not None and found.cost < self._least_cost:
            return "it is expected to take less than workers are told of it in"
        return found

    def _result(
        self, planned: Planned, how: Cut, params: Mapping[str, Any] | None, context: ExecutionContext, seconds: float
    ) -> Result:
        assert planned.physical is not None
        context.parameters = {**named_parameters(planned.text, planned.parameters, params), **planned.values}
        stats = ResultStats(planning_seconds=seconds, device_reason="in parts, by workers", plan=planned.physical)
        explanation = Explanation(planned.physical, self._graph._store, "cpu", stats.device_reason, planned.notices)
        types = partial(column_types, planned.logical.root)
        batches = self._batches(planned, how, context, stats)
        return Result(planned.logical.columns, batches, stats, explanation, planned.notices, context, types)

    def _batches(
        self, planned: Planned, how: Cut, context: ExecutionContext, stats: ResultStats
    ) -> Iterator[ResultBatch]:
        """Yield the result's rows, once all parts are there."""
        begin = time.perf_counter()
        try:
            parts = self._parts(how, context, stats)
            failed = next((each for each in parts if isinstance(each, QengineError)), None)
            stats.seconds += time.perf_counter() - begin
            if isinstance(failed, _FINAL):
                raise planned.at(failed)
            if failed is None:
                yield from self._merged(
                    planned, how, [each for each in parts if isinstance(each, Batch)], context, stats
                )
                return
        except KeyboardInterrupt:
            context.interrupt()
            raise QueryInterrupted("The query was interrupted.", code="Interrupted") from None
        stats.device_reason = "a part has failed"
        yield from self._graph._view.current().start(planned, context, stats)

    def _parts(self, how: Cut, context: ExecutionContext, stats: ResultStats) -> list[Batch | QengineError | None]:
        """Return what the workers found for each part of the roots, in the order of these: rows, none, or an error."""
        workers = self._engine.workers
        each = inf if how.cost is None or not self._least_cost else how.cost / workers
        parts = next(parts for least, parts in _GUIDED if each >= least)
        shares = guided_shares(workers, min(parts, _REPEATED, key=len) if how.repeats else parts)
        with self._turn:
            context.check()
            tasks = [self._task(how, share, context) for share in shares]
            answers: list[Answer] = [pickle.loads(data) for data in deal(self._engine, tasks, context.check)]
        stats.bytes = max(each.bytes for each in answers) if answers else 0
        return [each.error or (None if each.rows is None else decoded(each.rows)) for each in answers]

    def _task(self, how: Cut, share: Share, context: ExecutionContext) -> bytes:
        ends = context.control.deadline_ns
        seconds = max(0.0, (ends - time.monotonic_ns()) / 1e9) if ends else None
        spill = None if context.spill_directory is None else str(context.spill_directory)
        part, given = how.part(share), dict(context.parameters)
        task = Task(part, given, seconds, context.memory_limit, spill, self._threads, self._version)
        return pickle.dumps(task, pickle.HIGHEST_PROTOCOL)

    def _merged(
        self, planned: Planned, how: Cut, parts: list[Batch], context: ExecutionContext, stats: ResultStats
    ) -> Iterator[ResultBatch]:
        """Yield the rows that the plan's tail makes of those of all parts."""
        store, columns = self._graph._store, planned.logical.columns
        rows = concatenate_batches(parts) if parts else Batch(1, {})
        tail = how.merged(tuple(rows.columns) if parts else None)
        begin = time.perf_counter()
        try:
            for batch in continuing(tail, store, context)(rows):
                stats.rows += batch.length
                stats.seconds += time.perf_counter() - begin
                yield from result_rows(batch.select(columns), store, context)
                begin = time.perf_counter()
        except QengineError as error:
            raise planned.at(error) from None
