"""Conditions as programs that native code runs on the host, beside the reference and beside columns of expressions."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from qengine import Graph
from qengine.errors import QengineError
from qengine.exec.common import access, masks, predicate_programs, property_texts, zones
from qengine.exec.common.predicate_programs import NoProgram, Predicates
from tests.property.test_aggregate_entries import agrees
from tests.property.test_gpu_predicates import BY_HOST, COMPARED, LEAVES, N, table

MOMENTS = [f"x.m {op} localdatetime('{each}')" for op in COMPARED for each in (
    "2020-01-02T00:00", "2020-01-02T00:00:00.000000001", "9999-01-01T00:00")]  # fmt: skip
DAYS = [f"x.d {op} date('{each}')" for op in COMPARED for each in ("2020-02-01", "1900-01-01", "9999999-01-01")]
FLAGS = [f"x.b {op} {each}" for op in COMPARED for each in ("true", "false")] + ["true > x.b", "x.b XOR x.i > 0"]
TEXTS = [f"x.t {op} '{each}'" for op in COMPARED for each in ("", "aa", "ab", "zz")] + ["'aa' < x.t", "x.t <> 3"]
JOINED = [
    "x.i > 0 AND x.v < 5 OR NOT x.b", "NOT (x.v < 5 AND x.w > 0)", "NOT x.t < 'b' OR x.i IS NULL AND x.d.year > 2020",
    "x.i > 0 AND x.f * 2 > 4 AND 10 / x.f >= 5", "x.f > 0 AND 10 / x.f >= 5", "x.f = 1 AND 10 / x.f >= 5",
    " OR ".join(f"x.i = {k}" for k in range(40)), " AND ".join(f"x.u <> 'only {k}'" for k in range(40)),
]  # fmt: skip
CONDITIONS = [*LEAVES, *BY_HOST, *MOMENTS, *DAYS, *FLAGS, *TEXTS, *JOINED]


def columns(n: int, seed: int) -> dict[str, Any]:
    moments = [None if k % 7 == 0 else datetime(2020, 1, 1) + timedelta(hours=k % 50) for k in range(n)]
    return table(n, seed) | {"m": pa.array(moments, pa.timestamp("ms"))}


@pytest.fixture(scope="module")
def graph() -> Graph:
    """Two labels, so that a column begins in the middle of the ids, and relationships of two types."""
    random = np.random.default_rng(3)
    one, other = ({"id": np.arange(begin, begin + N)} | columns(N, begin) for begin in (0, N))
    del other["b"]  # a property that only some nodes can have
    del one["i"]
    links = {"start": random.integers(0, N, 300), "end": random.integers(N, 2 * N, 300)}
    back = {"start": random.integers(N, 2 * N, 200), "end": random.integers(0, N, 200)}
    made = [("R", "A", "B", pa.table(links | columns(300, 5))), ("S", "B", "A", pa.table(back | columns(200, 6)))]
    return Graph.from_arrow([("A", pa.table(one)), ("B", pa.table(other))], made, key="id")


@pytest.fixture(autouse=True)
def natively(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(masks, "_NATIVE", 1)
    monkeypatch.setattr(access, "SCANS", dict.fromkeys(access.SCANS, 1 << 40))
    monkeypatch.setattr(predicate_programs, "_TABLED", 1)
    monkeypatch.setattr(property_texts, "_LEAST", 1)
    yield


@pytest.mark.parametrize("condition", CONDITIONS)
def test_nodes_as_the_reference_says(graph: Graph, condition: str) -> None:
    for label in ("", ":A", ":B"):
        agrees(graph, f"MATCH (x{label}) WHERE {condition.replace('$p', '4')} RETURN id(x)")


@pytest.mark.parametrize("condition", CONDITIONS[::3])
def test_relationships_as_the_reference_says(graph: Graph, condition: str) -> None:
    for kind in ("", ":R", ":S"):
        agrees(graph, f"MATCH (a)-[x{kind}]->(b) WHERE {condition.replace('$p', '4')} RETURN id(x), id(b)")


def answer(graph: Graph, query: str) -> Any:
    try:
        return graph.query(query, {"p": 4}, threads=3).fetchall()
    except QengineError as error:
        return str(error)


def test_ranges_of_many_blocks_as_columns_say(monkeypatch: pytest.MonkeyPatch) -> None:
    n = 70_001
    large = Graph.from_arrow([("A", pa.table({"id": np.arange(n)} | columns(n, 1)))], [], key="id")
    for condition in CONDITIONS:
        query = f"MATCH (x:A) WHERE {condition} RETURN count(*), sum(x.id)"
        monkeypatch.setattr(masks, "_NATIVE", 1)
        found = answer(large, query)
        monkeypatch.setattr(masks, "_NATIVE", 2 * n)
        assert found == answer(large, query), condition


def test_what_has_a_program(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """All but what compares with null, with what a column can't hold, or asks many different days for something."""
    refused: list[str] = []
    program = Predicates.program

    def noted(self: Predicates, predicates: Any, elements: Any) -> Any:
        try:
            return program(self, predicates, elements)
        except NoProgram:
            refused.append(condition)
            raise

    monkeypatch.setattr(Predicates, "program", noted)
    for condition in [*LEAVES, *MOMENTS, *DAYS, *FLAGS, *TEXTS]:
        answer(graph, f"MATCH ()-[x:R]->() WHERE {condition} RETURN count(*)")
    far = [each for each in (*MOMENTS, *DAYS) if "9999" in each or ("0001'" in each and ("=" in each or "<>" in each))]
    assert set(refused) <= {"x.d.year = 2021", *(each for each in LEAVES if "null" in each), *far}
    assert len(refused) < 20


def test_a_program_that_joins_nothing_is_refused() -> None:
    import ctypes

    from qengine import _native
    from qengine.exec.common.predicate_programs import STEP, Step
    from qengine.exec.context import ExecutionContext

    run = _native.declared("qe_predicate_holds p i4 i8 u8 p p")().qe_predicate_holds
    control = ctypes.byref(ExecutionContext().control)
    for kinds in ((3,), (6,), ()):  # AND, NOT, nothing at all
        records = np.array([Step(kind).record(0, 0, 0) for kind in kinds], STEP)
        holds = np.zeros(4, np.uint8)
        assert run(records.ctypes.data, len(records), 0, 4, holds.ctypes.data, control) != 0


IN_RUNS = [
    f"x.{name} {op} {value}"
    for op in COMPARED
    for name, values in {
        "up": ("-1", "0", "4095", "4096", "4096.5", "30000", "29999.0", "1e30"),
        "real": ("-1.0", "0", "2048.25", "9999", "1e300", "0.0 / 0.0"),
        "odd": ("-1.0", "3000"),
        "day": ("date('1970-01-01')", "date('1980-01-01')", "date('9999-01-01')"),
        "flat": ("3", "4", "2.5"),
    }.items()
    for value in values
] + [
    f"x.{name} IN {values}"
    for name in ("up", "real", "odd", "day", "id", "id + 1")
    for values in ("[3]", "[0, 4095, 4096, 4096.5, 1e30]", "[2048.25, 0.0 / 0.0, -1]", "[9, null]", "[]", "['a', 3]")
]


@pytest.fixture(scope="module")
def in_runs() -> Graph:
    """Ascending columns in blocks of 3,000, some with nulls, NaN among doubles, and one of two values."""
    n = 30_001
    up = np.arange(n) // 3 * 3
    absent = np.random.default_rng(4).random(n) < 0.1
    found = {
        "id": np.arange(n), "up": pa.array(up, mask=absent), "real": np.roll(up / 4.0, 7_000),
        "odd": np.where(up % 6_000 == 0, np.nan, up / 4.0), "flat": np.where(up < 15_000, 3, 4),
        "day": pa.array(up.astype(np.int32), pa.date32(), mask=absent),
    }  # fmt: skip
    return Graph.from_arrow([("B", pa.table({"id": np.arange(n, n + 700)})), ("A", pa.table(found))], [], key="id")


@pytest.mark.parametrize("condition", IN_RUNS)
def test_zones_settle_what_their_numbers_do(in_runs: Graph, condition: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zones, "_LEAST", 1)
    for each in (condition, f"NOT {condition} OR x.up > 9 AND x.real > 5"):
        query = f"MATCH (x) WHERE {each} RETURN count(*), sum(x.id), min(x.id)"
        monkeypatch.setattr(masks, "_NATIVE", 1)
        found = answer(in_runs, query)
        monkeypatch.setattr(masks, "_NATIVE", 1 << 40)
        assert found == answer(in_runs, query), each


def test_what_zones_settle_is_not_read(in_runs: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """Zones that say otherwise than the numbers are believed; of columns in no order there are none."""
    monkeypatch.setattr(zones, "_LEAST", 1)
    made: list[int] = []
    honest = zones._made

    def all_large(numbers: Any, runtime: Any) -> Any:
        made.append(len(honest(numbers, runtime)))
        return np.full_like(honest(numbers, runtime), 1 << 40)

    monkeypatch.setattr(zones, "_made", all_large)
    n = 30_001
    shuffled = np.random.default_rng(5).permutation(n)
    fresh = Graph.from_arrow([("A", pa.table({"id": np.arange(n), "none": shuffled}))], [], key="id")
    assert answer(fresh, "MATCH (x:A) WHERE x.id >= 1000000 RETURN count(*)") == [(n,)]
    assert answer(fresh, "MATCH (x:A) WHERE x.none >= 1000000 RETURN count(*)") == [(0,)]
    assert made == [15, 0]


def test_lists_of_few_constants_are_compared_with_them(in_runs: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[list[int]] = []
    program = Predicates.program

    def noted(self: Predicates, predicates: Any, elements: Any) -> Any:
        found.append([each.kind for each in program(self, predicates, elements)])
        return program(self, predicates, elements)

    monkeypatch.setattr(Predicates, "program", noted)
    assert answer(in_runs, "MATCH (x:A) WHERE x.real IN [0.0, 1.5, 7.25] RETURN count(*)") == [(6,)]
    assert found == [[1, 1, 4, 1, 4]]
