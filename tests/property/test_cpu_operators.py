"""The CPU executor's operators of rows give what the reference executor gives, in batches of two rows too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine.errors import ExecutionError
from qengine.exec import reference
from qengine.exec.common import pipeline
from qengine.exec.common.operators import aggregate, aggregation, limit, partial_groups, rows, sort, stage
from qengine.exec.context import ExecutionContext
from qengine.exec.scalar.compare import order_key, row_key
from qengine.plan import logical as op
from qengine.plan.expr import AggregateCall, Call, Expr, Literal, Parameter, Property, Subquery, Variable
from qengine.plan.physical import Attach, Optional, PhysicalPlan
from qengine.storage import from_records
from qengine.types import INTEGER, Node
from tests.examples import examples

STORE = from_records(
    [
        {"labels": ["A"], "properties": {"v": v, "w": w}}
        for v, w in [(1, "x"), (1, "y"), (2, None), (None, "x"), (3, "z")]
    ],
)
NAMES = ("a", "b", "n")

VALUES = st.one_of(
    st.integers(-2, 3),
    st.sampled_from([0.0, -0.0, 1.0, 2.5, float("nan"), float("inf")]),
    st.sampled_from(["", "a", "b", "ä"]),
    st.booleans(),
    st.lists(st.integers(0, 1), max_size=2),
    st.dictionaries(st.sampled_from("xy"), st.integers(0, 1), max_size=1),
)
KINDS = [
    st.integers(-3, 3),
    st.integers(-(2**63), 2**63 - 1),
    st.sampled_from([0.0, -0.0, 1.0, 2.5, -7.25, float("nan"), float("inf")]),
    st.sampled_from(["", "a", "b", "ab", "ä"]),
    st.booleans(),
    st.sampled_from(STORE.nodes(range(5))),
    st.lists(st.integers(0, 2), max_size=2),
    VALUES,
    st.one_of(st.integers(-3, 3), st.sampled_from([1.0, 2.0, 0.5])),
]
NUMBERS = [st.integers(-5, 5), st.sampled_from([0.5, 1.0, -2.0, 4.0]), st.one_of(st.integers(0, 3), st.just(0.5))]


@st.composite
def tables(draw: st.DrawFn, kinds: Any = KINDS, least: int = 0) -> list[dict[str, Any]]:
    length = draw(st.integers(least, 14))
    columns = {}
    for name in "ab":
        values = draw(st.sampled_from(kinds))
        if draw(st.booleans()):
            values = values | st.none()
        columns[name] = draw(st.lists(values, min_size=length, max_size=length))
    columns["n"] = draw(st.lists(st.sampled_from(STORE.nodes(range(5))) | st.none(), min_size=length, max_size=length))
    return [dict(zip(NAMES, row, strict=True)) for row in zip(*(columns[name] for name in NAMES), strict=True)]


@pytest.fixture(params=[2, 65_536], autouse=True)
def batch_rows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    for module in (stage, aggregate, aggregation, sort, limit, rows):
        monkeypatch.setattr(module, "BATCH_ROWS", request.param)
    monkeypatch.setattr(partial_groups, "_FEW_GROUPS", request.param)
    defaults = pipeline._Builder.__call__.__defaults__
    monkeypatch.setattr(pipeline._Builder.__call__, "__defaults__", (request.param,))
    assert defaults is not None
    return int(request.param)


def source(*names: str) -> op.Operator:
    """The rows of parameter ``table``, and those that depend on an earlier plan's row for a subplan."""
    unwound = op.Unwind(op.Unit(), Parameter("table"), "row")
    return op.Project(unwound, tuple((name, Property(Variable("row"), name)) for name in names or NAMES))


def shown(value: Any) -> Any:
    if isinstance(value, Node):
        return ("node", value.id)
    return [shown(item) for item in value] if isinstance(value, list) else repr(value)


def run(plan: op.Operator, columns: tuple[str, ...], table: Any) -> list[tuple[Any, ...]] | str:
    try:
        result = []
        for batch in pipeline.run(PhysicalPlan(plan, columns), STORE, ExecutionContext({"table": table})):
            assert batch.length > 0
            result += list(zip(*(batch.values(name) for name in columns), strict=True))
        return result
    except ExecutionError as error:
        return f"{error.code}: {error.message}"


def expected(plan: op.Operator, columns: tuple[str, ...], table: Any) -> list[tuple[Any, ...]] | str:
    try:
        return list(reference.run(op.LogicalPlan(plan, columns), STORE, ExecutionContext({"table": table})))
    except ExecutionError as error:
        return f"{error.code}: {error.message}"


def assert_same_rows(
    plan: op.Operator, columns: tuple[str, ...], table: Any, *, ordered: bool, oracle: op.Operator | None = None
) -> None:
    found, wanted = run(plan, columns, table), expected(oracle or plan, columns, table)
    if isinstance(found, str) or isinstance(wanted, str):
        assert found == wanted
        return
    left, right = [tuple(map(shown, row)) for row in found], [tuple(map(shown, row)) for row in wanted]
    if ordered:
        assert left == right
    else:
        assert Counter(map(repr, left)) == Counter(map(repr, right))


A, B, N = Variable("a"), Variable("b"), Variable("n")


@settings(max_examples=examples(60))
@given(tables())
def test_project_and_filter(table: Any) -> None:
    kept = op.Filter(source(), Call("<>", (A, B)))
    plan = op.Project(kept, (("a", A), ("c", Call("IS NULL", (B,))), ("v", Property(N, "v")), ("n", N)))
    assert_same_rows(plan, ("a", "c", "v", "n"), table, ordered=True)


@settings(max_examples=examples(60))
@given(tables())
def test_filter_wants_a_boolean(table: Any) -> None:
    assert_same_rows(op.Filter(source(), A), NAMES, table, ordered=True)


@settings(max_examples=examples(60))
@given(
    tables(),
    st.lists(st.tuples(st.sampled_from([A, B, N, Property(N, "w")]), st.booleans()), min_size=1, max_size=3),
    st.none() | st.integers(0, 6),
)
def test_sort(table: Any, keys: list[tuple[Expr, bool]], count: int | None) -> None:
    most = None if count is None else Literal(count, type=INTEGER)
    plan = op.Sort(source(), tuple(op.SortKey(expr, ascending) for expr, ascending in keys), most)
    assert_same_rows(plan, NAMES, table, ordered=True)


@settings(max_examples=examples(60))
@given(tables(), st.integers(0, 6), st.integers(0, 6))
def test_skip_and_limit(table: Any, first: int, count: int) -> None:
    plan = op.Limit(op.Skip(source(), Literal(first)), Literal(count))
    assert_same_rows(plan, NAMES, table, ordered=True)


@pytest.mark.parametrize("count", [-1, 1.0, "x", None])
@pytest.mark.parametrize("kind", [op.Skip, op.Limit])
def test_counts_are_natural_numbers(kind: Any, count: Any) -> None:
    assert isinstance(run(kind(source(), Literal(count)), NAMES, []), str)


@settings(max_examples=examples(60))
@given(tables())
def test_distinct(table: Any) -> None:
    def keys(found: list[tuple[Any, ...]]) -> list[Any]:
        return [row_key([("node", v.id) if isinstance(v, Node) else v for v in row]) for row in found]

    for columns in (("a",), ("a", "b"), ("n",), NAMES):
        plan = op.Distinct(source(*columns))
        found, wanted = run(plan, columns, table), expected(plan, columns, table)
        assert keys(found) == keys(wanted)  # type: ignore[arg-type]


@settings(max_examples=examples(60))
@given(tables(), st.booleans())
def test_union(table: Any, every: bool) -> None:
    plan = op.Union((source("a", "n"), op.Filter(source("n", "a"), Call("IS NOT NULL", (A,)))), every)
    assert_same_rows(plan, ("a", "n"), table, ordered=every)


@settings(max_examples=examples(60))
@given(tables())
def test_unwind(table: Any) -> None:
    for row in table:
        row["a"] = row["a"] if isinstance(row["a"], list) else [row["a"], row["b"]]
    plan = op.Unwind(source(), A, "x")
    assert_same_rows(plan, (*NAMES, "x"), table, ordered=True)
    assert_same_rows(op.Unwind(source(), Literal(None), "x"), (*NAMES, "x"), table, ordered=True)
    assert_same_rows(op.Unwind(source(), B, "x"), (*NAMES, "x"), table, ordered=True)


AGGREGATES = ["count", "sum", "avg", "min", "max", "collect", "stdev", "stdevp", "percentilecont", "percentiledisc"]


def normal(value: Any) -> Any:
    """Aggregates up to the order of additions, and the order of what is collected."""
    if isinstance(value, float):
        return f"{value + 0.0:.9g}"
    if isinstance(value, list):
        return sorted((shown(item) for item in value), key=repr)
    return shown(value)


@settings(max_examples=examples(45))
@given(tables() | tables(NUMBERS), st.booleans(), st.sampled_from([(), (A,), (N,), (A, N), (Property(N, "v"),)]))
@pytest.mark.parametrize("name", AGGREGATES)
def test_aggregates(name: str, table: Any, distinct: bool, keys: tuple[Expr, ...]) -> None:
    extra = (Literal(0.5),) if name.startswith("percentile") else ()
    subjects = [B, Property(N, "v"), Property(N, "w")]
    for subject in subjects:
        call = AggregateCall(name, (subject, *extra), distinct)
        names = tuple(f"k{index}" for index in range(len(keys)))
        plan = op.Aggregate(
            source(), tuple(zip(names, keys, strict=True)), (("x", call), ("rows", AggregateCall("count", ())))
        )
        columns = (*names, "x", "rows")
        found, wanted = run(plan, columns, table), expected(plan, columns, table)
        if isinstance(wanted, str):
            assert isinstance(found, str) and found.split(":")[0] == wanted.split(":")[0]
            continue

        def rows(result: Any) -> Counter[Any]:
            width = len(keys)
            return Counter(
                repr((row_key([("n", v.id) if isinstance(v, Node) else v for v in row[:width]]),
                      [normal(value) for value in row[width:]]))
                .replace("-0.0", "0.0").replace("1.0", "1").replace("2.0", "2").replace("0.0", "0")
                for row in result
            )  # fmt: skip

        assert rows(found) == rows(wanted)


@settings(max_examples=examples(45))
@given(st.lists(st.tuples(st.integers(-4, 4) | st.none(), st.integers(0, 2), st.integers(1, 2**40)), max_size=12))
@pytest.mark.parametrize("name", ["count", "sum", "avg", "min", "max"])
def test_weights_count_rows_so_often(name: str, table: Any) -> None:
    data = [{"a": a, "b": b, "n": weight} for a, b, weight in table]
    for keys in ((), (("k", B),)):
        for distinct in (False, True):
            call = AggregateCall(name, (A,), distinct)
            plan = op.Aggregate(source(), keys, (("x", call), ("rows", AggregateCall("count", ()))), weight="n")
            assert_same_rows(plan, (*(name for name, _ in keys), "x", "rows"), data, ordered=False)


def test_weights_repeat_what_is_collected() -> None:
    data = [{"a": 1, "b": 0, "n": 2}, {"a": None, "b": 0, "n": 3}, {"a": 2.5, "b": 0, "n": 1}]
    plan = op.Aggregate(source(), (), (("x", AggregateCall("collect", (A,))),), weight="n")
    assert run(plan, ("x",), data) == [([1, 1, 2.5],)]


@pytest.mark.parametrize("values", [[2**63 - 1, 1], [2**62, 2**62, 5], [-(2**63), -1]])
def test_sums_beyond_64_bits_are_errors(values: list[int]) -> None:
    data = [{"a": value, "b": 0, "n": 1} for value in values]
    plan = op.Aggregate(source(), (), (("x", AggregateCall("sum", (A,))),))
    assert str(run(plan, ("x",), data)).startswith("IntegerOverflow")


def test_sums_may_pass_beyond_64_bits_on_the_way() -> None:
    data = [{"a": value, "b": 0, "n": 1} for value in [2**63 - 1, 2**63 - 1, -(2**63 - 1)]]
    plan = op.Aggregate(source(), (), (("x", AggregateCall("sum", (A,))),))
    assert run(plan, ("x",), data) == [(2**63 - 1,)]


# ---------------------------------------------------------------- subplans


INNER = op.Filter(op.Unwind(op.Argument(("a", "n")), Parameter("inner"), "x"), Call(">=", (Variable("x"), A)))
SUBPLANS: dict[str, op.Operator] = {
    "rows": op.Project(INNER, (("x", Variable("x")),)),
    "distinct": op.Distinct(op.Project(INNER, (("x", Variable("x")),))),
    "sorted": op.Project(op.Sort(INNER, (op.SortKey(Variable("x"), False),)), (("x", Variable("x")),)),
    "top": op.Project(op.Sort(INNER, (op.SortKey(Variable("x"), False),), Literal(2)), (("x", Variable("x")),)),
    "limited": op.Project(op.Limit(op.Skip(INNER, Literal(1)), Literal(2)), (("x", Variable("x")),)),
    "grouped": op.Aggregate(INNER, (("x", Variable("x")),), (("c", AggregateCall("count", ())),)),
    "counted": op.Aggregate(INNER, (), (("x", AggregateCall("count", ())),)),
    "many aggregates": op.Project(
        op.Aggregate(INNER, (), (("c", AggregateCall("collect", (Variable("x"),))), ("m", AggregateCall("max", (A,))))),
        (("x", Call("size", (Variable("c"),))),),
    ),
    "union": op.Union((op.Project(INNER, (("x", Variable("x")),)), op.Project(op.Unit(), (("x", Literal(1)),))), False),
    "alone": op.Project(op.Unwind(op.Unit(), Parameter("inner"), "x"), (("x", Variable("x")),)),
}


@settings(max_examples=examples(24))
@given(tables([st.integers(0, 3), st.sampled_from([0.0, 1.0, 2.0]), st.one_of(st.integers(0, 2), st.just(1.0))]),
       st.lists(st.integers(0, 3), max_size=5))  # fmt: skip
@pytest.mark.parametrize("kind", ["exists", "count", "collect"])
@pytest.mark.parametrize("name", sorted(SUBPLANS))
def test_attach(name: str, kind: Any, table: Any, inner: list[int]) -> None:
    subplan = SUBPLANS[name]
    if name == "grouped":
        subplan = op.Project(subplan, (("x", Variable("c")),))
    outer = () if name == "alone" else ("a", "n")
    plan = Attach(source(), subplan, kind, "y", outer)
    oracle = op.Project(source(), (("a", A), ("b", B), ("n", N), ("y", Subquery(kind=kind, plan=subplan, outer=outer))))
    found = attached(plan, table, inner)
    wanted = attached(oracle, table, inner)
    assert found == wanted


def attached(plan: op.Operator, table: Any, inner: list[int]) -> list[Any]:
    context = ExecutionContext({"table": table, "inner": inner})
    columns = (*NAMES, "y")
    rows: Iterator[Any]
    if isinstance(plan, Attach):
        batches = pipeline.run(PhysicalPlan(plan, columns), STORE, context)
        rows = (row for batch in batches for row in zip(*(batch.values(name) for name in columns), strict=True))
    else:
        rows = reference.run(op.LogicalPlan(plan, columns), STORE, context)
    return [[*map(shown, row[:3]), sorted(map(shown, row[3])) if isinstance(row[3], list) else row[3]] for row in rows]


@settings(max_examples=examples(45))
@given(tables([st.integers(0, 3)]), st.lists(st.integers(0, 3), max_size=5))
@pytest.mark.parametrize("name", ["rows", "sorted", "limited", "distinct", "counted"])
def test_optional(name: str, table: Any, inner: list[int]) -> None:
    context = ExecutionContext({"table": table, "inner": inner})
    plan = Optional(source(), SUBPLANS[name], ("x",))
    columns = (*NAMES, "x")
    batches = pipeline.run(PhysicalPlan(plan, columns), STORE, context)
    found = [row for batch in batches for row in zip(*(batch.values(name) for name in columns), strict=True)]
    lists = attached(Attach(source(), SUBPLANS[name], "collect", "y", ("a", "n")), table, inner)
    wanted = [[*row[:3], value] for row in lists for value in row[3] or ["None"]]
    assert sorted(map(str, ([*map(shown, row)] for row in found))) == sorted(map(str, wanted))


def test_subplans_inside_subplans() -> None:
    """For each a: the x >= a for which there is no y > x."""
    x = Variable("x")
    greater = op.Filter(op.Unwind(op.Argument(("x",)), Parameter("inner"), "z"), Call(">", (Variable("z"), x)))
    inner = op.Project(
        op.Filter(Attach(INNER, greater, "exists", "e", ("x",)), Call("NOT", (Variable("e"),))), (("x", x),)
    )
    table = [{"a": a, "b": None, "n": None} for a in (0, 3, 0, 7)]
    found = attached(Attach(source(), inner, "collect", "y", ("a", "n")), table, [5, 1, 3, 5, 2])
    assert [row[3] for row in found] == [["5", "5"], ["5", "5"], ["5", "5"], []]


@given(st.lists(VALUES | st.none(), min_size=1, max_size=12))
def test_order_is_that_of_order_key(values: list[Any]) -> None:
    table = [{"a": value, "b": None, "n": None} for value in values]
    plan = op.Sort(source("a"), (op.SortKey(A),))
    assert [shown(value) for (value,) in run(plan, ("a",), table)] == [  # type: ignore[misc]
        shown(value) for value in sorted(values, key=order_key)
    ]
