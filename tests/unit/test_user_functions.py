"""Functions and aggregates that users register: signatures, null rules, values in and out, errors, limits, lists."""

from __future__ import annotations

import io
import itertools
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import qengine
from qengine.builtin_procedures import EVERYWHERE
from qengine.catalog.user_functions import UserFunction, parse_function
from qengine.cli.commands import COMMANDS
from qengine.cli.session import Session

DEVICES = ["cpu", "reference"]


@pytest.fixture
def graph() -> qengine.Graph:
    made = qengine.Graph()
    made.query("UNWIND range(1, 6) AS x CREATE (:N {x: x, name: 'n' + x})-[:R]->(:M {x: -x})")
    return made


@pytest.fixture(autouse=True)
def unregistered() -> Iterator[None]:
    before = EVERYWHERE._functions
    yield
    EVERYWHERE._functions = before


def values(graph: qengine.Graph, text: str, device: str = "cpu", **params: Any) -> list[Any]:
    return [row[0] for row in graph.query(text, params, device=device).fetchall()]


def failing(graph: qengine.Graph, text: str, device: str = "cpu") -> qengine.QengineError:
    with pytest.raises(qengine.QengineError) as caught:
        graph.query(text, device=device).fetchall()
    return caught.value


# ---------------------------------------------------------------- signatures and registries


def test_a_signature_has_arguments_and_one_result() -> None:
    name, inputs, output = parse_function("my.f(x :: LIST<INTEGER>, `a b` :: STRING?) :: FLOAT?")
    assert (name, [each.name for each in inputs], [each.nullable for each in inputs]) == (
        "my.f",
        ["x", "a b"],
        [False, True],
    )
    assert str(output) == "result :: FLOAT?"


@pytest.mark.parametrize(
    "text",
    ["f", "f()", "f(x :: INTEGER)", "f(x) :: INTEGER", "f(x :: NOTHING) :: INTEGER", "f() :: (x :: INTEGER)",
     "f() :: VOID", "size(x :: LIST) :: INTEGER", "COUNT(x :: LIST) :: INTEGER", 5, None],
)  # fmt: skip
def test_other_texts_are_no_signatures(text: Any) -> None:
    with pytest.raises(qengine.SemanticError) as caught:
        qengine.function(text, lambda *args: None)
    assert caught.value.code == "InvalidSignature"


def test_aggregates_have_arguments_and_functions_can_be_called() -> None:
    with pytest.raises(qengine.SemanticError, match="no arguments to aggregate"):
        qengine.aggregate("my.none() :: INTEGER", lambda: 1)
    with pytest.raises(qengine.SemanticError, match="can't be called"):
        qengine.function("my.f() :: INTEGER", 5)  # type: ignore[call-overload]


def test_a_decorator_registers_and_gives_the_function_back() -> None:
    @qengine.function("my.twice(x :: INTEGER) :: INTEGER")
    def twice(x: int) -> int:
        return 2 * x

    assert twice(4) == 8
    assert values(qengine.Graph(), "RETURN my.twice(4)") == [8]


def test_a_graph_has_its_own_before_those_of_all() -> None:
    one, other = qengine.Graph(), qengine.Graph()
    qengine.function("my.who() :: STRING", lambda: "all")
    assert values(one, "RETURN my.who()") == ["all"]
    one.register_function("my.who() :: STRING", lambda: "one")  # the plan above no longer holds
    assert values(one, "RETURN my.who()") == ["one"]
    assert values(other, "RETURN my.who()") == ["all"]
    one.register_aggregate("my.many(x :: ANY) :: INTEGER", len)
    assert values(one, "UNWIND [5, 6] AS x RETURN my.many(x)") == [2]
    error = failing(other, "RETURN my.many(1)")
    assert error.code == "UnknownFunction"
    assert [each.name for each in one.user_functions] == ["my.many", "my.who"]
    assert repr(one.user_functions[0]) == "<Aggregate my.many(x :: ANY) :: INTEGER>"


def test_names_are_case_sensitive_and_misspellings_told() -> None:
    qengine.function("my.twice(x :: INTEGER) :: INTEGER", lambda x: 2 * x)
    for text in ("RETURN my.Twice(1)", "RETURN my.twise(1)"):
        error = failing(qengine.Graph(), text)
        assert (error.code, error.hint) == ("UnknownFunction", "Did you mean `my.twice`?")


# ---------------------------------------------------------------- values


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("vectorized", [False, True])
def test_an_argument_without_a_mark_makes_null_of_null(graph: qengine.Graph, device: str, vectorized: bool) -> None:
    calls = []

    def add(x: Any, y: Any) -> Any:
        calls.append((x, y))
        return pc.add(x, pc.coalesce(y, 100)) if vectorized else x + (100 if y is None else y)

    graph.register_function("my.add(x :: INTEGER, y :: INTEGER?) :: INTEGER", add, vectorized=vectorized)
    text = "UNWIND [[1, 2], [null, 2], [3, null], [null, null]] AS p RETURN my.add(p[0], p[1])"
    assert values(graph, text, device) == [3, None, 103, None]
    if not vectorized:
        assert calls == [(1, 2), (3, None)]


@pytest.mark.parametrize("device", DEVICES)
def test_integers_become_floats_where_floats_are_declared(device: str) -> None:
    graph = qengine.Graph()
    graph.register_function("my.kind(x :: FLOAT) :: STRING", lambda x: type(x).__name__)
    graph.register_function("my.back(x :: INTEGER) :: FLOAT", lambda x: x)
    graph.register_function("my.half(x :: FLOAT) :: FLOAT", lambda x: pc.divide(x, 2), vectorized=True)
    found = graph.query("UNWIND [1, 2] AS x RETURN my.kind(x), my.back(x), my.half(x)", device=device).fetchall()
    assert [tuple(row) for row in found] == [("float", 1.0, 0.5), ("float", 2.0, 1.0)]
    assert type(found[0][1]) is float


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("vectorized", [False, True])
def test_nodes_go_in_and_come_out(graph: qengine.Graph, device: str, vectorized: bool) -> None:
    if vectorized:
        graph.register_function(
            "my.name(n :: NODE) :: STRING?",
            lambda n: pc.struct_field(n, ["properties", "name"]),
            vectorized=True,
        )
    else:
        graph.register_function("my.name(n :: NODE) :: STRING?", lambda n: n["name"])
        graph.register_function("my.same(n :: NODE) :: NODE", lambda n: n)
        text = "MATCH (n:N {x: 2}) WITH my.same(n) AS m MATCH (m)-->(k) RETURN k.x"
        assert values(graph, text, device) == [-2]
    assert values(graph, "MATCH (n:N) WHERE n.x < 3 RETURN my.name(n) ORDER BY n.x", device) == ["n1", "n2"]


@pytest.mark.parametrize("device", DEVICES)
def test_lists_maps_and_temporal_values(device: str) -> None:
    graph = qengine.Graph()
    graph.register_function("my.pair(x :: ANY, y :: ANY?) :: LIST<ANY>", lambda x, y: (x, y))
    graph.register_function("my.map(keys :: LIST<STRING>) :: MAP", lambda keys: dict.fromkeys(keys, 1))
    graph.register_function("my.later(d :: DATE, n :: INTEGER) :: DATE", lambda d, n: qengine.Date(2024, 2, 28 + n - 1))
    found = graph.query(
        "RETURN my.pair(1, null) AS a, my.map(['p', 'q']) AS b, my.later(date('2024-02-28'), 2) AS c", device=device
    ).fetchall()
    assert found[0][:2] == ([1, None], {"p": 1, "q": 1})
    assert str(found[0][2]) == "2024-02-29"


@pytest.mark.parametrize(
    "given",
    [pa.array([2, 3], pa.int32()), np.array([2, 3]), pa.chunked_array([[2], [3]]), [2, 3]],
    ids=["narrow", "numpy", "chunks", "list"],
)
def test_a_vectorized_function_gives_any_array(given: Any) -> None:
    graph = qengine.Graph()
    graph.register_function("my.v(x :: INTEGER) :: INTEGER", lambda x: given, vectorized=True)
    assert values(graph, "UNWIND [1, 2] AS x RETURN my.v(x)") == [2, 3]


def test_a_scalar_of_arrow_stands_for_all_rows() -> None:
    graph = qengine.Graph()
    graph.register_function("my.v(x :: INTEGER) :: STRING", lambda x: pa.scalar("a"), vectorized=True)
    assert values(graph, "UNWIND [1, 2] AS x RETURN my.v(x)") == ["a", "a"]


def test_a_vectorized_function_gets_few_rows_at_a_time() -> None:
    graph, sizes = qengine.Graph(), []

    def seen(x: Any) -> Any:
        sizes.append(len(x))
        return x

    graph.register_function("my.seen(x :: INTEGER) :: INTEGER", seen, vectorized=True)
    assert values(graph, "UNWIND range(1, 200000) AS x RETURN sum(my.seen(x))") == [200000 * 200001 // 2]
    assert sum(sizes) == 200_000
    assert max(sizes) <= 65_536


@pytest.mark.parametrize(
    "value",
    ["[y IN $l | my.f(y)]", "reduce(s = 0, y IN $l | s + my.f(y))", "all(y IN $l WHERE my.f(y) > 0)"],
)
def test_what_is_made_of_the_items_of_a_constant_list_is_made_once(graph: qengine.Graph, value: str) -> None:
    calls: list[int] = []
    graph.register_function("my.f(x :: INTEGER) :: INTEGER", lambda x: calls.append(x) or x)
    text = f"MATCH (n:N|M), (m:N) WHERE n.x IN [y IN $l | y] RETURN n.x, {value}"
    given = list(range(1, 100))
    found = graph.query(text, {"l": given}, device="cpu").fetchall()
    assert len(calls) == len(given)
    assert sorted(found) == sorted(graph.query(text, {"l": given}, device="reference").fetchall())
    assert graph.query("MATCH (n:None) RETURN [y IN $l | 1 / y]", {"l": [0] * 100}).fetchall() == []
    with pytest.raises(qengine.ExecutionError, match="zero"):
        graph.query("MATCH (n:N) RETURN [y IN $l | 1 / y]", {"l": [1] * 99 + [0]}).fetchall()


def test_a_deterministic_function_is_called_once_for_constants() -> None:
    graph, counter = qengine.Graph(), itertools.count(1)
    graph.register_function("my.once() :: INTEGER", lambda: next(counter))
    assert len(set(values(graph, "UNWIND range(1, 50) AS x RETURN my.once()"))) == 1
    graph.register_function("my.each() :: INTEGER", lambda: next(counter), deterministic=False)
    assert len(set(values(graph, "UNWIND range(1, 50) AS x RETURN my.each()"))) == 50


@pytest.mark.parametrize("device", DEVICES)
def test_they_stand_wherever_expressions_do(graph: qengine.Graph, device: str) -> None:
    graph.register_function("my.even(x :: INTEGER) :: BOOLEAN", lambda x: x % 2 == 0)
    text = "MATCH (n:N)-[:R]->(m) WHERE my.even(n.x) AND my.even(m.x) RETURN n.x ORDER BY my.even(n.x), n.x DESC"
    assert values(graph, text, device) == [6, 4, 2]
    assert values(graph, "RETURN [x IN range(1, 5) WHERE my.even(x) | x]", device) == [[2, 4]]
    assert values(graph, "MATCH (n:N) WHERE EXISTS { (n)-->(m) WHERE my.even(m.x) } RETURN count(*)", device) == [3]
    # Only the rows of the branch need it.
    graph.register_function("my.inverse(x :: INTEGER) :: FLOAT", lambda x: 1 / x)
    text = "UNWIND [0, 2] AS x RETURN CASE WHEN x = 0 THEN null ELSE my.inverse(x) END"
    assert values(graph, text, device) == [None, 0.5]


def test_changes_may_call_them(graph: qengine.Graph) -> None:
    graph.register_function("my.twice(x :: INTEGER) :: INTEGER", lambda x: 2 * x)
    graph.query("MATCH (n:N) SET n.x = my.twice(n.x)")
    assert values(graph, "MATCH (n:N) RETURN sum(n.x)") == [42]
    with graph.transaction() as transaction:
        assert transaction.query("MATCH (n:N) RETURN sum(my.twice(n.x))").fetchall()[0][0] == 84


def test_a_function_may_query() -> None:
    graph = qengine.Graph()
    graph.register_function(
        "my.count(n :: INTEGER) :: INTEGER",
        lambda n: graph.query("UNWIND range(1, $n) AS x RETURN count(*)", {"n": n}).fetchall()[0][0],
    )
    assert values(graph, "UNWIND [3, 5] AS n RETURN my.count(n)") == [3, 5]


# ---------------------------------------------------------------- aggregates


@pytest.mark.parametrize("device", DEVICES)
def test_an_aggregate_gets_the_values_of_a_group(graph: qengine.Graph, device: str) -> None:
    graph.register_aggregate("my.median(x :: FLOAT) :: FLOAT?", lambda x: sorted(x)[len(x) // 2] if x else None)
    text = "UNWIND [1, 5, null, 2, 7, 4] AS x RETURN x % 2 AS k, my.median(x) + 1 AS m ORDER BY k"
    assert [tuple(row) for row in graph.query(text, device=device)] == [(0, 5.0), (1, 6.0), (None, None)]
    assert values(graph, "MATCH (n:Nobody) RETURN my.median(n.x)", device) == [None]
    assert values(graph, "UNWIND [1, 1, 1, 2, 3] AS x RETURN my.median(DISTINCT x)", device) == [2.0]


@pytest.mark.parametrize("device", DEVICES)
def test_vectorized_aggregates_get_arrays(graph: qengine.Graph, device: str) -> None:
    graph.register_aggregate("my.sd(x :: FLOAT) :: FLOAT?", lambda x: np.std(x.to_numpy()), vectorized=True)
    found = graph.query("UNWIND range(1, 6) AS x RETURN x % 2, my.sd(x) ORDER BY x % 2", device=device).fetchall()
    assert [row[1] for row in found] == pytest.approx([np.std([2, 4, 6]), np.std([1, 3, 5])])


@pytest.mark.parametrize("device", DEVICES)
def test_several_arguments_stay_together(device: str) -> None:
    graph = qengine.Graph()
    graph.register_aggregate("my.pairs(x :: INTEGER, y :: STRING?) :: LIST<ANY>", lambda x, y: [x, y])
    text = "UNWIND [[1, 'a'], [null, 'b'], [3, null], [1, 'a']] AS p RETURN my.pairs({}p[0], p[1])"
    assert values(graph, text.format(""), device) == [[[1, 3, 1], ["a", None, "a"]]]
    assert values(graph, text.format("DISTINCT "), device) == [[[1, 3], ["a", None]]]


def test_aggregates_stand_where_aggregates_may() -> None:
    graph = qengine.Graph()
    graph.register_aggregate("my.last(x :: ANY) :: ANY?", lambda x: x[-1] if x else None)
    graph.register_function("my.f(x :: ANY) :: ANY", lambda x: x)
    assert failing(graph, "UNWIND [1] AS x RETURN my.last(my.last(x))").code == "NestedAggregation"
    assert failing(graph, "UNWIND [1] AS x WITH x WHERE my.last(x) = 1 RETURN x").code == "InvalidAggregation"
    assert failing(graph, "UNWIND [1] AS x RETURN my.last(*)").code == "UnexpectedSyntax"
    assert failing(graph, "UNWIND [1] AS x RETURN my.f(DISTINCT x)").code == "UnexpectedSyntax"
    assert failing(graph, "RETURN my.f(1, 2)").code == "InvalidNumberOfArguments"


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize("device", DEVICES)
def test_an_error_names_function_row_and_arguments(device: str) -> None:
    graph = qengine.Graph()
    graph.register_function("my.inverse(x :: INTEGER) :: FLOAT", lambda x: 1 / x)
    error = failing(graph, "UNWIND range(-70, 5) AS x RETURN my.inverse(x)", device)
    assert error.code == "FunctionCallFailed"
    assert error.message == ("The function `my.inverse` failed in row 71 (x = 0): ZeroDivisionError: division by zero.")
    assert error.span is not None


@pytest.mark.parametrize("device", DEVICES)
def test_an_iterator_that_ends_is_an_error_as_any(device: str) -> None:
    graph, left = qengine.Graph(), iter(range(3))
    graph.register_function("my.next(x :: INTEGER) :: INTEGER", lambda x: next(left))
    error = failing(graph, "UNWIND range(1, 9) AS x RETURN my.next(x)", device)
    assert error.message == "The function `my.next` failed in row 4 (x = 4): StopIteration."


def test_an_error_of_a_query_in_a_function_has_neither_place_nor_hint() -> None:
    graph = qengine.Graph()
    graph.register_function("my.count(x :: INTEGER) :: INTEGER", lambda x: graph.query("RETURN 1 / 0").value())
    error = failing(graph, "RETURN my.count(1)")
    assert error.message == (
        "The function `my.count` failed in row 1 (x = 1): ExecutionError: Integer division by zero in /."
    )


def test_an_error_of_a_vectorized_function_names_its_rows() -> None:
    graph = qengine.Graph()

    def picky(x: Any) -> Any:
        if pc.any(pc.equal(x, 70_000)).as_py():
            raise ValueError("no")
        return x

    graph.register_function("my.picky(x :: INTEGER) :: INTEGER", picky, vectorized=True)
    error = failing(graph, "UNWIND range(1, 80000) AS x RETURN sum(my.picky(x))")
    first, last = (int(each.replace(",", "")) for each in error.message.split("rows ")[1].split(":")[0].split(" to "))
    assert first <= 70_000 <= last
    graph.register_aggregate("my.bad(x :: INTEGER) :: INTEGER", lambda x: 1 / 0)
    error = failing(graph, "UNWIND range(1, 3) AS x RETURN my.bad(x)")
    assert error.message.startswith("The aggregate `my.bad` failed for a group of 3 rows: ZeroDivisionError")


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("signature", "given", "told"),
    [
        ("() :: INTEGER", "a", "gave a value of type STRING where its signature says an INTEGER"),
        ("() :: INTEGER", None, "gave null where its signature says an INTEGER"),
        ("() :: INTEGER", 2**70, "the result holds an integer of more than 64 bits"),
        ("() :: STRING?", object(), "gave no value of the language"),
        ("() :: LIST<INTEGER>", ["a"], "gave a value of type LIST"),
    ],
)
def test_results_are_what_the_signature_says(device: str, signature: str, given: Any, told: str) -> None:
    graph = qengine.Graph()
    graph.register_function(f"my.f{signature}", lambda: given)
    error = failing(graph, "RETURN my.f()", device)
    assert error.code == "FunctionCallFailed"
    assert told in error.message


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (pa.array([1, 2, 3]), "gave 3 values for 2 rows"),
        (pa.array(["a", "b"]), "gave an array of string where its signature says an INTEGER"),
        (pa.array([1.5, 2.5]), "gave an array of double"),
        (pa.array([1, None]), "gave null"),
        (pa.array([2**63, 1], pa.uint64()), "gave an array of uint64"),
        (5, "failed in rows 1 to 2"),
    ],
)
def test_arrays_are_what_the_signature_says(given: Any, told: str) -> None:
    graph = qengine.Graph()
    graph.register_function("my.f(x :: INTEGER) :: INTEGER", lambda x: given, vectorized=True)
    assert told in failing(graph, "UNWIND [1, 2] AS x RETURN my.f(x)").message


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("vectorized", [False, True])
def test_arguments_are_checked(device: str, vectorized: bool) -> None:
    graph = qengine.Graph()
    graph.register_function("my.f(x :: INTEGER) :: INTEGER", lambda x: x, vectorized=vectorized)
    assert failing(graph, "RETURN my.f('a')", device).code == "InvalidArgumentType"
    error = failing(graph, "UNWIND [1, 'a'] AS x RETURN my.f(x)", device)
    assert (error.code, error.message) == (
        "InvalidArgumentType",
        "`my.f` takes an INTEGER as `x`, not a value of type STRING.",
    )


# ---------------------------------------------------------------- limits


@pytest.mark.parametrize("kind", ["rows", "arrays", "groups"])
def test_they_stop_between_two_calls(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, calls, begin = qengine.Graph(), [], time.monotonic_ns()
    # Each call takes ten seconds by the clock that the query is looked after with.
    monkeypatch.setattr("qengine.exec.context.time.monotonic_ns", lambda: begin + len(calls) * 10_000_000_000)

    def slow(x: Any) -> Any:
        calls.append(1)
        return x if kind != "groups" else 1

    if kind == "groups":
        graph.register_aggregate("my.slow(x :: INTEGER) :: INTEGER", slow)
        text = "UNWIND range(1, 2000) AS x RETURN x, my.slow(x)"
    else:
        graph.register_function("my.slow(x :: INTEGER) :: INTEGER", slow, vectorized=kind == "arrays")
        text = "UNWIND range(1, 10000000) AS x RETURN sum(my.slow(x))"
    with pytest.raises(qengine.QueryTimeout):
        graph.query(text, timeout=95).fetchall()
    assert 10 <= len(calls) < 30


def test_an_interrupt_stops_them() -> None:
    graph = qengine.Graph()

    def interrupting(x: int) -> int:
        if x == 3:
            graph.interrupt()
        return x

    graph.register_function("my.f(x :: INTEGER) :: INTEGER", interrupting)
    with pytest.raises(qengine.QueryInterrupted):
        graph.query("UNWIND range(1, 100000) AS x RETURN my.f(x)").fetchall()


def test_what_they_make_is_charged() -> None:
    graph = qengine.Graph()
    graph.register_function("my.long(x :: INTEGER) :: STRING", lambda x: "a" * 10_000)
    with pytest.raises(qengine.OutOfMemory):
        graph.query("UNWIND range(1, 10000) AS x RETURN collect(my.long(x))", memory_limit=20_000_000).fetchall()


# ---------------------------------------------------------------- lists


def test_they_are_listed() -> None:
    graph = qengine.Graph()
    graph.register_function("my.f(x :: INTEGER) :: INTEGER", _documented)
    graph.register_aggregate("my.g(x :: INTEGER) :: INTEGER", len)
    text = "SHOW {} FUNCTIONS YIELD name, signature, description, aggregating, isBuiltIn"
    shown = graph.query(text.format("USER DEFINED")).fetchall()
    assert [tuple(row)[:2] for row in shown] == [
        ("my.f", "my.f(x :: INTEGER) :: INTEGER"),
        ("my.g", "my.g(x :: INTEGER) :: INTEGER"),
    ]
    assert tuple(shown[0])[2:] == ("Adds one.", False, False)
    everything = {row[0] for row in graph.query(text.format("")).fetchall()}
    built_in = {row[0] for row in graph.query(text.format("BUILT IN")).fetchall()}
    assert everything == built_in | {"my.f", "my.g"}
    listed = values(graph, "CALL dbms.functions() YIELD name WHERE name STARTS WITH 'my.' RETURN name")
    assert listed == ["my.f", "my.g"]


def test_the_shell_lists_and_explains_them() -> None:
    graph = qengine.Graph()
    graph.register_function("my.f(x :: INTEGER) :: INTEGER", _documented)
    session, out = Session(graph), io.StringIO()
    COMMANDS[":functions"](session, "my.", out)
    COMMANDS[":help"](session, "my.f", out)
    assert out.getvalue().split("\n") == [
        f"  {'my.f':27}Adds one.",
        "  my.f(INTEGER) -> INTEGER",
        "Adds one.",
        "",
    ]


def test_plans_show_them() -> None:
    graph = qengine.Graph()
    graph.register_function("my.f(x :: INTEGER) :: INTEGER", _documented)
    plan = graph.explain("UNWIND [1] AS x RETURN my.f(x) AS y")
    assert "my.f(x)" in str(plan)
    assert "my.f(x :: INTEGER) :: INTEGER" in str(plan.to_json())
    assert isinstance(graph.user_functions[0], UserFunction)


def _documented(x: int) -> int:
    """Adds one.

    More.
    """
    return x + 1
