"""Runs a text by all ways, and says how it went or what differs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from qengine import Graph
from qengine.binder import bind
from qengine.builtin_procedures import EVERYWHERE
from qengine.errors import ExecutionError, QengineError, Unsupported
from qengine.syntax import parse
from qengine.syntax.checks import updates
from qengine.testing.compare import difference
from qengine.testing.oracle import TooExpensive, rows_of
from qengine.testing.random_query import RandomQuery
from qengine.testing.verify import verify
from qengine.testing.verify_physical import verify_physical

Outcome = Literal["rows", "empty", "refused", "error", "too expensive", "planned"]

_STEPS = 20_000  # of the reference


def check(
    graph: Graph,
    query: RandomQuery,
    *,
    thorough: bool = False,
    fails: bool = False,
    device: str = "cpu",
    threads: int = 1,
) -> Outcome:
    """Plan, explain and run a query; compare the engine's rows, columns and errors with the reference's.

    Parameters
    ----------
    thorough
        Compare the rows without the optimizer, and what EXPLAIN and Arrow give, too.
    fails
        Where the reference fails, so must the engine, unless its plan shows that no row is looked at.

    Raises
    ------
    AssertionError
        Where they differ.
    Exception
        Of any class outside ``QengineError``, with the query as a note.
    """
    with _told(query):
        try:
            prepared = graph.prepare(query.text)
        except QengineError as error:
            _is_refused(graph, query, error)
            return "refused"
        (statement,) = parse(query.text)
        if updates(statement.body):  # has tests of its own; here it may not change the graph
            return _planned(graph, query)
        if statement.explain is not None:
            return _explained(graph, query)
        plan = bind(statement, query.text, graph._store, procedures=EVERYWHERE).plan
        verify(plan)
        expected: list[tuple[Any, ...]] | None
        try:
            expected = rows_of(plan, graph._store, query.parameters, steps=_STEPS)
        except TooExpensive:
            return "too expensive"
        except ExecutionError:
            expected = None
        texts = [query.text, f"/*+ as_written */ {query.text}"] if thorough else [query.text]
        for text in texts:
            failed = _compare(graph, text, query, expected, device, threads)
        if expected is None:
            assert failed or not fails or "Limit 0" in str(graph.explain(query.text)), "the engine doesn't fail"
            return "error"
        if thorough:
            assert graph.explain(query.text).plan.columns == prepared.columns
            _to_arrow(graph, query)
        return "rows" if expected else "empty"


def _is_refused(graph: Graph, query: RandomQuery, error: QengineError) -> None:
    """Check that EXPLAIN refuses for the same reason."""
    try:
        graph.explain(query.text)
    except QengineError as other:
        assert str(other) == str(error)
        return
    raise AssertionError("EXPLAIN takes what isn't planned")


def _planned(graph: Graph, query: RandomQuery) -> Outcome:
    """Check that a statement that changes the graph is planned, and shown."""
    prepared = graph.prepare(query.text)
    verify(prepared._planned.logical)
    try:
        assert str(graph.explain(query.text))
    except Unsupported:  # what it reads is planned when it is carried out: each part for the version then
        return "refused"
    return "planned"


def _explained(graph: Graph, query: RandomQuery) -> Outcome:
    """Check that EXPLAIN and PROFILE in the text show a plan."""
    try:
        result = graph.query(query.text, query.parameters)
        assert result.columns == graph.prepare(query.text).columns
        assert result.fetchall()
    except ExecutionError:
        return "error"
    return "rows"


def _compare(
    graph: Graph, text: str, query: RandomQuery, expected: list[tuple[Any, ...]] | None, device: str, threads: int
) -> bool:
    """Compare the rows; tell whether the engine failed."""
    try:
        prepared = graph.prepare(text)
    except Unsupported:
        assert text != query.text  # the optimizer leaves out some of what isn't built
        return True
    planned = prepared._planned.physical
    assert planned is not None
    verify_physical(planned)
    result = prepared.run(query.parameters, device=device, threads=threads)
    assert result.columns == prepared.columns
    assert str(result.plan)
    try:
        found = [tuple(row) for row in result.fetchall()]
    except ExecutionError:
        assert expected is None, "the engine fails, the reference does not"
        return True
    if expected is not None and query.sure:  # what fails may stand in a row that the engine need not look at
        report = difference(expected, found, ordered=query.ordered, lists_ordered=query.lists_ordered)
        assert report is None, report
    return False


def _to_arrow(graph: Graph, query: RandomQuery) -> None:
    """Check that a result as Arrow data has its columns, or is refused with an error of ours."""
    result = graph.query(query.text, query.parameters, device="cpu", threads=1)
    try:
        table = result.to_arrow()
    except QengineError:
        return
    assert tuple(table.column_names) == result.columns


@contextmanager
def _told(query: RandomQuery) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        error.add_note(f"{query.text}\nparameters {query.parameters}")
        raise
