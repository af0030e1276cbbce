"""Ways of asking a graph the same query: each gives the rows that the query has."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from qengine import Graph, dbapi
from qengine.cli.formats import write
from qengine.cli.values import to_json, to_text
from qengine.errors import OutOfMemory, QengineError, QueryInterrupted, QueryTimeout, Unsupported
from tests.crossings.outcomes import Case, plain, rows_of

__all__ = ["DOORS", "Door"]

Door = Callable[[Graph, Case, random.Random], None]
DOORS: dict[str, Door] = {}


def _door(run: Door) -> Door:
    DOORS[run.__name__] = run
    return run


def _ask(graph: Graph, case: Case, **options: Any) -> Any:
    options.setdefault("device", "cpu")
    return graph.query(case.query.text, case.query.parameters, **options)


def _asked(graph: Graph, case: Case, **options: Any) -> Any:
    return rows_of(lambda: _ask(graph, case, **options).fetchall())


@_door
def again(graph: Graph, case: Case, chance: random.Random) -> None:
    for _ in range(3):
        case.check(_asked(graph, case))


@_door
def prepared(graph: Graph, case: Case, chance: random.Random) -> None:
    statement = graph.prepare(case.query.text)
    for _ in range(3):
        case.check(rows_of(lambda: statement.run(case.query.parameters, threads=chance.choice([0, 1, 3])).fetchall()))


@_door
def threads(graph: Graph, case: Case, chance: random.Random) -> None:
    for count in (1, 2, 8):
        case.check(_asked(graph, case, threads=count))


@_door
def as_written(graph: Graph, case: Case, chance: random.Random) -> None:
    try:
        statement = graph.prepare(f"/*+ as_written */ {case.query.text}")
    except Unsupported:
        return
    case.check(rows_of(lambda: statement.run(case.query.parameters).fetchall()))


@_door
def little_memory(graph: Graph, case: Case, chance: random.Random) -> None:
    for limit in (1, chance.randint(1, 4096), chance.randint(4096, 1 << 17), chance.randint(1 << 17, 1 << 22), 1 << 30):
        found = _asked(graph, case, memory_limit=limit, threads=chance.choice([0, 1, 4]))
        if not isinstance(found, OutOfMemory):
            case.check(found)
        else:
            assert limit < 1 << 30
    case.check(_asked(graph, case))


@_door
def little_memory_as_arrow(graph: Graph, case: Case, chance: random.Random) -> None:
    for limit in (1, chance.randint(1, 4096), chance.randint(4096, 1 << 17), chance.randint(1 << 17, 1 << 22)):
        found = rows_of(lambda: _from_arrow(_ask(graph, case, memory_limit=limit)))
        if not isinstance(found, OutOfMemory):
            case.check(found, plain)


@_door
def little_time(graph: Graph, case: Case, chance: random.Random) -> None:
    for _ in range(3):
        found = _asked(graph, case, timeout=chance.choice([0, 1e-9, 1e-6, chance.random() * 0.004]))
        if not isinstance(found, QueryTimeout):
            case.check(found)
    case.check(_asked(graph, case, timeout=60))


@_door
def cancelled(graph: Graph, case: Case, chance: random.Random) -> None:
    result = _ask(graph, case)
    timer = threading.Timer(chance.random() * 0.003, chance.choice([result.cancel, result.close, graph.interrupt]))
    timer.start()
    found = rows_of(result.fetchall)
    timer.join()
    if not isinstance(found, QueryInterrupted):
        case.check(found)
    case.check(_asked(graph, case))


@_door
def half_read(graph: Graph, case: Case, chance: random.Random) -> None:
    for _ in range(2):
        result = _ask(graph, case)
        first = rows_of(lambda: result.fetchmany(chance.choice([0, 1, 2, 5])))
        if chance.random() < 0.5:
            result.close()
            assert rows_of(result.fetchall) == []
        elif not isinstance(first, QengineError):
            rest = rows_of(result.fetchall)
            case.check(rest if isinstance(rest, QengineError) else first + rest)
    case.check(_asked(graph, case))


@_door
def interleaved(graph: Graph, case: Case, chance: random.Random) -> None:
    results = [_ask(graph, case) for _ in range(3)]
    found: list[Any] = [[] for _ in results]
    going = list(range(3))
    while going:
        at = chance.choice(going)
        rows = rows_of(lambda: results[at].fetchmany(chance.choice([1, 2, 3])))
        if isinstance(rows, QengineError):
            found[at] = rows
        else:
            found[at] += rows
        if not rows or isinstance(rows, QengineError):
            going.remove(at)
    for rows in found:
        case.check(rows)


@_door
def several_ways_of_one_result(graph: Graph, case: Case, chance: random.Random) -> None:
    def fetch() -> Any:
        result = _ask(graph, case)
        rows: list[Any] = []
        for _ in range(4):
            way = chance.choice(["one", "many", "preview", "iterate", "str", "html"])
            if way == "one":
                row = result.fetchone()
                rows += [] if row is None else [row]
            elif way == "many":
                rows += result.fetchmany(chance.randint(0, 3))
            elif way == "preview":
                seen, more = result.preview(2)
                assert len(seen) <= 2
            elif way == "iterate":
                rows += [row for row, _ in zip(result, range(2), strict=False)][:2] if False else []
            elif way == "str":
                str(result)
            else:
                result._repr_html_()
        table = result.to_arrow() if chance.random() < 0.5 else None
        rows += result.fetchall() if table is None else _table_rows(table)
        assert result.fetchone() is None
        return rows

    case.check(rows_of(fetch), plain)


@_door
def many_threads(graph: Graph, case: Case, chance: random.Random) -> None:
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda count: _asked(graph, case, threads=count), [0, 1, 2, 3, 0, 1, 2, 3]):
            case.check(found)


@_door
def shared_result(graph: Graph, case: Case, chance: random.Random) -> None:
    """Threads that fetch from one result get each row once."""
    result = _ask(graph, case)
    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(lambda size: rows_of(lambda: list(iter(lambda: result.fetchmany(size), []))), [1, 2, 3, 5]))
    errors = [part for part in parts if isinstance(part, QengineError)]
    if errors:
        case.check(errors[0])
    elif case.rows is not None:
        rows = [row for part in parts for batch in part for row in batch]
        Case(case.query.__class__(case.query.text, case.query.parameters, False, case.query.lists_ordered), case.rows).check(rows)


@_door
def in_asyncio(graph: Graph, case: Case, chance: random.Random) -> None:
    async def one() -> Any:
        return await asyncio.to_thread(_asked, graph, case)

    async def several() -> Any:
        return await asyncio.gather(*(one() for _ in range(3)))

    for found in asyncio.run(several()):
        case.check(found)


def _table_rows(table: Any) -> Any:
    columns = [column.to_pylist() for column in table.columns]
    return list(zip(*columns, strict=True)) if columns else [()] * table.num_rows


def _from_arrow(result: Any) -> Any:
    table = result.to_arrow()
    assert tuple(table.column_names) == result.columns
    table.validate(full=True)
    return _table_rows(table)


@_door
def arrow(graph: Graph, case: Case, chance: random.Random) -> None:
    case.check(rows_of(lambda: _from_arrow(_ask(graph, case))), plain)


@_door
def arrow_reader(graph: Graph, case: Case, chance: random.Random) -> None:
    def fetch() -> Any:
        reader = _ask(graph, case).to_reader()
        table = reader.read_all()
        table.validate(full=True)
        return _table_rows(table)

    case.check(rows_of(fetch), plain)


def _loose(value: Any) -> Any:
    """Return a value as frames have it, where integers beside nulls are floats and null is NaN."""
    value = plain(value.tolist() if hasattr(value, "tolist") else value)
    match value:
        case bool():
            return value
        case int():
            return float(value)
        case float() if value != value:
            return None
        case "NaN":
            return None
        case list():
            return [_loose(item) for item in value]
        case dict():
            return {key: _loose(each) for key, each in value.items() if _loose(each) is not None}
        case _ if type(value).__name__ in ("NAType", "NaTType"):
            return None
        case _:
            return value


@_door
def pandas(graph: Graph, case: Case, chance: random.Random) -> None:
    def fetch() -> Any:
        result = _ask(graph, case)
        frame = result.to_pandas()
        assert tuple(frame.columns) == result.columns
        return list(zip(*[frame.iloc[:, i].tolist() for i in range(frame.shape[1])], strict=True))

    case.check(rows_of(fetch), _loose)


@_door
def polars(graph: Graph, case: Case, chance: random.Random) -> None:
    def fetch() -> Any:
        result = _ask(graph, case)
        frame = result.to_polars()
        assert tuple(frame.columns) == result.columns
        return frame.rows()

    case.check(rows_of(fetch), _loose)


@_door
def json_out(graph: Graph, case: Case, chance: random.Random) -> None:
    format = chance.choice(["json", "jsonl"])

    def fetch() -> Any:
        out = io.StringIO()
        result = _ask(graph, case)
        count = write(result, format, out)
        text = out.getvalue()
        found = json.loads(text) if format == "json" else [json.loads(line) for line in text.split("\n")[:-1]]
        assert len(found) == count
        return [[row[name] for name in result.columns] for row in found]

    case.check(rows_of(fetch), to_json)


@_door
def csv_out(graph: Graph, case: Case, chance: random.Random) -> None:
    def fetch() -> Any:
        out = io.StringIO(newline="")
        count = write(_ask(graph, case), "csv", out)
        header, *found = csv.reader(io.StringIO(out.getvalue(), newline=""))
        assert len(found) == count
        return found

    if case.query.lists_ordered:
        case.check(rows_of(fetch), lambda value: value if isinstance(value, str) and False else _csv_text(value))


def _csv_text(value: Any) -> str:
    return "" if value is None else to_text(value)


@_door
def other_formats(graph: Graph, case: Case, chance: random.Random) -> None:
    for format in ("table", "vertical", "markdown"):
        found = rows_of(lambda: [(write(_ask(graph, case), format, io.StringIO()),)])
        if case.rows is None:
            case.check(found)
        else:
            assert found == [(len(case.rows),)], (format, found)


@_door
def db_api(graph: Graph, case: Case, chance: random.Random) -> None:
    connection = dbapi.connect(graph)
    cursor = connection.cursor()

    def fetch() -> Any:
        try:
            cursor.execute(case.query.text, case.query.parameters)
            return cursor.fetchall()
        except dbapi.Error as error:
            assert isinstance(error.__cause__, QengineError)
            raise error.__cause__ from None

    case.check(rows_of(fetch))
    cursor.close()


@_door
def explained(graph: Graph, case: Case, chance: random.Random) -> None:
    assert str(graph.explain(case.query.text))
    assert graph.query(f"EXPLAIN {case.query.text}", case.query.parameters).fetchall()
    case.check(_asked(graph, case))
    shown = rows_of(lambda: graph.query(f"PROFILE {case.query.text}", case.query.parameters).fetchall())
    if case.rows is None:
        case.check(shown)
    else:
        assert not isinstance(shown, QengineError), shown
    result = _ask(graph, case)
    str(result.plan)
    rows = rows_of(result.fetchall)
    str(result.plan)
    repr(result.stats)
    result._repr_html_()
    case.check(rows)


@_door
def in_transaction(graph: Graph, case: Case, chance: random.Random) -> None:
    with graph.transaction() as t:
        case.check(rows_of(lambda: t.query(case.query.text, case.query.parameters).fetchall()))
        t.query("CREATE (:Passing {k: 99})-[:PASSES {k: 98}]->(:A {k: 97})")
        t.query("MATCH (n) SET n.i = 17, n:C REMOVE n:A")
        within = rows_of(lambda: t.query(case.query.text, case.query.parameters).fetchall())
        case.check(_asked(graph, case))
        t.rollback()
    del within
    case.check(_asked(graph, case))


@_door
def lifted(graph: Graph, case: Case, chance: random.Random) -> None:
    """Parameters written as literals."""
    import re

    text = case.query.text
    for name, value in case.query.parameters.items():
        text = re.sub(rf"\${name}\b", lambda _: to_text(value, True), text)
    case.check(rows_of(lambda: graph.query(text).fetchall()))


@_door
def called(graph: Graph, case: Case, chance: random.Random) -> None:
    """The query inside others."""
    columns = graph.prepare(case.query.text).columns
    if "{" in "".join(columns) or "`" in "".join(columns):
        return
    names = ", ".join(f"`{name}`" for name in columns)
    body = case.query.text

    def ask(text: str) -> Any:
        return rows_of(lambda: graph.query(text, case.query.parameters).fetchall())

    bag = Case(type(case.query)(body, case.query.parameters, False, case.query.lists_ordered), case.rows)
    bag.check(ask(f"CALL () {{ {body} }} RETURN {names}"))
    bag.check(ask(f"{body} NEXT RETURN {names}") if False else ask(f"CALL () {{ {body} }} WITH * RETURN {names}"))
    if case.rows is not None:
        count = len(case.rows)
        one = lambda value: Case(type(case.query)(body), [(value,)])
        one(count).check(ask(f"CALL () {{ {body} }} RETURN count(*) AS c"))
        one(count).check(ask(f"RETURN COUNT {{ {body} }} AS c"))
        one(count > 0).check(ask(f"RETURN EXISTS {{ {body} }} AS c"))
        twice = Case(bag.query, case.rows * 2)
        twice.check(ask(f"UNWIND [1, 2] AS x__ CALL () {{ {body} }} RETURN {names}"))
        if len(columns) == 1:
            one(count).check(ask(f"RETURN size(COLLECT {{ {body} }}) AS c"))
        pairs = ", ".join(f"`{name}`: `{name}`" for name in columns)
        fields = ", ".join(f"m__.`{name}` AS `{name}`" for name in columns)
        bag.check(ask(f"CALL () {{ {body} }} WITH {{{pairs}}} AS m__ RETURN {fields}"))
        bag.check(ask(f"CALL () {{ {body} }} WITH collect({{{pairs}}}) AS l__ UNWIND l__ AS m__ RETURN {fields}"))
        if case.query.lists_ordered:
            order = ", ".join(f"`{name}`" for name in columns)
            bag.check(ask(f"CALL () {{ {body} }} RETURN {names} ORDER BY {order}"))
            half = count // 2
            first = ask(f"CALL () {{ {body} }} RETURN {names} ORDER BY {order} LIMIT {half}")
            rest = ask(f"CALL () {{ {body} }} RETURN {names} ORDER BY {order} SKIP {half}")
            if isinstance(first, QengineError) or isinstance(rest, QengineError):
                bag.check(first if isinstance(first, QengineError) else rest)
            else:
                bag.check(first + rest)
            from qengine.testing.compare import canonical

            groups = ask(f"CALL () {{ {body} }} RETURN {names}, count(*) AS c__")
            if isinstance(groups, QengineError):
                bag.check(groups)
            else:
                assert sum(row[-1] for row in groups) == count
                distinct = ask(f"CALL () {{ {body} }} RETURN DISTINCT {names}")
                Case(bag.query, [row[:-1] for row in groups]).check(distinct)
                union = ask(f"CALL () {{ {body} }} RETURN {names} UNION CALL () {{ {body} }} RETURN {names}")
                Case(bag.query, [row[:-1] for row in groups]).check(union)
                assert ask(f"CALL () {{ {body} }} RETURN {names} EXCEPT ALL CALL () {{ {body} }} RETURN {names}") == []
                bag.check(ask(f"CALL () {{ {body} }} RETURN {names} INTERSECT ALL CALL () {{ {body} }} RETURN {names}"))
