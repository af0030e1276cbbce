"""Ways of asking a graph for the same rows: limits, threads, cancelling, forms of results, and queries around it."""

from __future__ import annotations

import asyncio
import csv
import functools
import io
import json
import operator
import random
import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from qengine import Graph, dbapi
from qengine.cli.formats import write
from qengine.cli.values import to_json, to_text
from qengine.errors import OutOfMemory, QengineError, QueryInterrupted, QueryTimeout, Unsupported
from tests.crossings.outcomes import Case, Outcome, Rows, outcome, plain

Door = Callable[[Graph, Case, random.Random], None]


def _start(graph: Graph, case: Case, **options: Any) -> Any:
    return graph.query(case.query.text, case.query.parameters, device="cpu", **options)


def _asked(graph: Graph, case: Case, **options: Any) -> Outcome:
    return outcome(lambda: _start(graph, case, **options).fetchall())


# ---------------------------------------------------------------- running


def again(graph: Graph, case: Case, chance: random.Random) -> None:
    statement = graph.prepare(case.query.text)
    for threads in (1, 2, 8):
        case.check(_asked(graph, case, threads=threads))
        case.check(outcome(lambda: statement.run(case.query.parameters, threads=chance.randint(0, 3)).fetchall()))


def as_written(graph: Graph, case: Case, chance: random.Random) -> None:
    try:
        statement = graph.prepare(f"/*+ as_written */ {case.query.text}")
    except Unsupported:
        return
    case.check(outcome(statement.run(case.query.parameters).fetchall))


def explained(graph: Graph, case: Case, chance: random.Random) -> None:
    text, parameters = case.query.text, case.query.parameters
    assert str(graph.explain(text))
    assert graph.query(f"EXPLAIN {text}", parameters).fetchall()
    case.check(_asked(graph, case))
    profile = outcome(graph.query(f"PROFILE {text}", parameters).fetchall)
    assert case.rows is None or not isinstance(profile, QengineError), profile
    result = _start(graph, case)
    case.check(outcome(result.fetchall))
    assert str(result.plan) and repr(result.stats)


def estimated(graph: Graph, case: Case, chance: random.Random) -> None:
    try:
        graph.estimate(case.query.text, case.query.parameters, samples=100, seed=1)
        case.check(_asked(graph, case, cardinalities="sampled"))
    except Unsupported:
        pass
    case.check(_asked(graph, case))


# ---------------------------------------------------------------- limits


def little_memory(graph: Graph, case: Case, chance: random.Random) -> None:
    for most in (1, 1 << 12, 1 << 17, 1 << 22):
        found = _asked(graph, case, memory_limit=chance.randint(1, most), threads=chance.choice([0, 1, 4]))
        if not isinstance(found, OutOfMemory):
            case.check(found)
        result = _start(graph, case, memory_limit=chance.randint(1, most))
        found = outcome(lambda result=result: _rows_of_table(result.to_arrow()))
        if not isinstance(found, OutOfMemory):
            case.check(found, plain)
    case.check(_asked(graph, case, memory_limit="1G"))


def little_time(graph: Graph, case: Case, chance: random.Random) -> None:
    for timeout in (0, 1e-9, chance.random() * 0.004):
        found = _asked(graph, case, timeout=timeout)
        if not isinstance(found, QueryTimeout):
            case.check(found)
    case.check(_asked(graph, case, timeout=600))


def cancelled(graph: Graph, case: Case, chance: random.Random) -> None:
    result = _start(graph, case)
    stop = chance.choice([result.cancel, graph.interrupt])
    timer = threading.Timer(chance.random() * 0.003, stop)
    timer.start()
    found = outcome(result.fetchall)
    timer.join()
    if not isinstance(found, QueryInterrupted):
        case.check(found)
    case.check(_asked(graph, case))


# ---------------------------------------------------------------- several at a time


def half_read(graph: Graph, case: Case, chance: random.Random) -> None:
    results = [_start(graph, case) for _ in range(3)]
    results[0].close()
    assert results[0].fetchall() == []
    found: list[Outcome] = [[], []]
    going = [0, 1]
    while going:
        at = chance.choice(going)
        rows, before = outcome(lambda at=at: results[1 + at].fetchmany(chance.randint(1, 3))), found[at]
        found[at] = rows if isinstance(rows, QengineError) or isinstance(before, QengineError) else before + rows
        if not rows or isinstance(rows, QengineError):
            going.remove(at)
    for each in found:
        case.check(each)


def several_threads(graph: Graph, case: Case, chance: random.Random) -> None:
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda count: _asked(graph, case, threads=count), [0, 1, 2, 3] * 2):
            case.check(found)


def one_result_for_threads(graph: Graph, case: Case, chance: random.Random) -> None:
    result = _start(graph, case)

    def fetched(size: int) -> Outcome:
        return outcome(lambda: [row for rows in iter(lambda: result.fetchmany(size), []) for row in rows])

    with ThreadPoolExecutor(3) as pool:
        parts = list(pool.map(fetched, [1, 2, 5]))
    error = next((part for part in parts if isinstance(part, QengineError)), None)
    case.of(case.query.text, case.rows).check(error or functools.reduce(operator.iadd, parts, []))  # type: ignore[arg-type]


def tasks(graph: Graph, case: Case, chance: random.Random) -> None:
    async def all_of_them() -> list[Outcome]:
        return await asyncio.gather(*(asyncio.to_thread(_asked, graph, case) for _ in range(3)))

    for found in asyncio.run(all_of_them()):
        case.check(found)


# ---------------------------------------------------------------- forms of results


def _rows_of_table(table: Any) -> Rows:
    table.validate(full=True)
    columns = [column.to_pylist() for column in table.columns]
    return list(zip(*columns, strict=True)) if columns else [()] * table.num_rows


def arrow(graph: Graph, case: Case, chance: random.Random) -> None:
    case.check(outcome(lambda: _rows_of_table(_start(graph, case).to_arrow())), plain)
    case.check(outcome(lambda: _rows_of_table(_start(graph, case).to_reader().read_all())), plain)


def frames(graph: Graph, case: Case, chance: random.Random) -> None:
    def of_pandas() -> Any:
        frame = _start(graph, case).to_pandas()
        return zip(*[frame.iloc[:, at].tolist() for at in range(frame.shape[1])], strict=True)

    case.check(outcome(of_pandas), plain)
    case.check(outcome(lambda: _start(graph, case).to_polars().rows()), plain)


def mixed_ways(graph: Graph, case: Case, chance: random.Random) -> None:
    """Rows of one result come once, whatever looks at them and takes them."""

    def fetch() -> Rows:
        result = _start(graph, case)
        rows: Rows = []
        for way in chance.choices(["one", "many", "preview", "str", "html"], k=4):
            if way == "one":
                rows += [row for row in [result.fetchone()] if row is not None]
            elif way == "many":
                rows += result.fetchmany(chance.randint(0, 3))
            elif way == "preview":
                assert len(result.preview(2)[0]) <= 2
            else:
                assert str(result) if way == "str" else result._repr_html_()
        return rows + (result.fetchall() if chance.random() < 0.5 else _rows_of_table(result.to_arrow()))

    case.check(outcome(fetch), plain)


def texts(graph: Graph, case: Case, chance: random.Random) -> None:
    def written(form: str, read: Callable[[str], Any]) -> Outcome:
        out = io.StringIO(newline="")
        return outcome(lambda: read(out.getvalue()) if write(_start(graph, case), form, out) >= 0 else ())

    names = graph.prepare(case.query.text).columns
    case.check(written("json", lambda text: [[row[name] for name in names] for row in json.loads(text)]), to_json)
    case.check(
        written("jsonl", lambda text: [[json.loads(row)[name] for name in names] for row in text.split("\n")[:-1]]),
        to_json,
    )
    if case.query.lists_ordered:
        read = written("csv", lambda text: list(csv.reader(io.StringIO(text, newline="")))[1:])
        case.check(read, lambda value: "" if value is None else to_text(value))
    for form in ("table", "vertical", "markdown"):
        counted = outcome(lambda form=form: [(write(_start(graph, case), form, io.StringIO()),)])
        case.of(case.query.text, None if case.rows is None else [(len(case.rows),)]).check(counted)


def db_api(graph: Graph, case: Case, chance: random.Random) -> None:
    connection = dbapi.connect(graph)
    cursor = connection.cursor()
    text = re.sub(r"\$(\w+)", r"%(\1)s", case.query.text) if chance.random() < 0.5 else case.query.text
    try:
        found: Outcome = [tuple(row) for row in cursor.execute(text, case.query.parameters).fetchall()]
    except dbapi.Error as error:
        assert isinstance(error.__cause__, QengineError)
        found = error.__cause__
    case.check(found, dbapi._native)
    connection.close()


# ---------------------------------------------------------------- other texts


def literals(graph: Graph, case: Case, chance: random.Random) -> None:
    given = case.query.parameters
    text = re.sub(r"\$(\w+)", lambda name: to_text(given[name[1]], True), case.query.text)
    case.check(outcome(graph.query(text, device="cpu").fetchall))


def around(graph: Graph, case: Case, chance: random.Random) -> None:
    """Queries around a query whose rows follow from its own."""
    body, rows = case.query.text, case.rows
    columns = graph.prepare(body).columns
    names = ", ".join(f"`{name}`" for name in columns)
    pairs = ", ".join(f"`{name}`: `{name}`" for name in columns)
    fields = ", ".join(f"m.`{name}` AS `{name}`" for name in columns)
    inner = f"CALL () {{ {body} }}"

    def check(text: str, expected: Callable[[Rows], Rows]) -> None:
        other = case.of(text, None if rows is None else expected(rows))
        other.check(_asked(graph, other))

    laws: list[tuple[str, Callable[[Rows], Rows]]] = [
        (f"{inner} RETURN {names}", lambda rows: rows),
        (f"{inner} RETURN count(*) AS c", lambda rows: [(len(rows),)]),
        (f"RETURN COUNT {{ {body} }} AS c", lambda rows: [(len(rows),)]),
        (f"RETURN EXISTS {{ {body} }} AS e", lambda rows: [(bool(rows),)]),
        (f"UNWIND [1, 2] AS x {inner} RETURN {names}", lambda rows: rows * 2),
        (f"{inner} WITH {{{pairs}}} AS m RETURN {fields}", lambda rows: rows),
        (f"{inner} WITH collect({{{pairs}}}) AS l UNWIND l AS m RETURN {fields}", lambda rows: rows),
    ]
    if len(columns) == 1:
        laws.append((f"RETURN size(COLLECT {{ {body} }}) AS c", lambda rows: [(len(rows),)]))
    if case.query.lists_ordered:
        laws += [
            (f"{inner} RETURN {names} ORDER BY {names}", lambda rows: rows),
            (f"{inner} RETURN {names} EXCEPT ALL {inner} RETURN {names}", lambda rows: []),
            (f"{inner} RETURN {names} INTERSECT ALL {inner} RETURN {names}", lambda rows: rows),
        ]
        half = 0 if rows is None else len(rows) // 2
        halves = [f"{inner} RETURN {names} ORDER BY {names} {cut} {half}" for cut in ("LIMIT", "SKIP")]
        parts = [_asked(graph, case.of(text, None)) for text in halves]
        if not any(isinstance(part, QengineError) for part in parts):
            case.of(halves[0], rows).check(functools.reduce(operator.iadd, parts, []))  # type: ignore[arg-type]
        groups = _asked(graph, case.of(f"{inner} RETURN {names}, count(*) AS c", None))
        if not isinstance(groups, QengineError) and rows is not None:
            assert sum(row[-1] for row in groups) == len(rows)
            laws += [
                (f"{inner} RETURN DISTINCT {names}", lambda rows: [row[:-1] for row in groups]),
                (f"{inner} RETURN {names} UNION {inner} RETURN {names}", lambda rows: [row[:-1] for row in groups]),
            ]
    for text, expected in chance.sample(laws, 4):
        check(text, expected)


DOORS: tuple[Door, ...] = (
    again, as_written, estimated, little_memory, little_time, cancelled, half_read, several_threads,
    one_result_for_threads, tasks, arrow, frames, mixed_ways, texts, db_api, literals, around,
)  # fmt: skip
