"""Functions and operators of odd arguments: as columns, constants and rows they give what the reference gives."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import pytest

from qengine import Date, DateTime, Duration, Graph, LocalDateTime, LocalTime, Point, Time
from qengine.catalog.functions import Function, Slot, functions
from qengine.errors import ExecutionError, QengineError
from qengine.formats.literals import literal_text
from qengine.testing.compare import canonical

NAN, INFINITE = math.nan, math.inf
KINDS: Mapping[str, tuple[Sequence[Any], str]] = {
    "i": ([0, 1, -1, 2, 3, 7, 1000, 2**53 + 1, 2**63 - 1, -(2**63)], "INTEGER NUMBER"),
    "f": ([0.0, -0.0, 0.5, 1.5, -2.5, 1.0, 0.1, NAN, INFINITE, -INFINITE, 1e308, 5e-324, 9.3e18, -(2.0**63)],
          "FLOAT NUMBER"),
    "s": (["", "a", "abc", " x\t", "1", "-1.5", "true", "2024-02-29", "P1DT2H", "é", "e\u0301😀b", "FLOAT", "day",
           "NFD", "EUCLIDEAN", "HALF_UP", "NaN", "a.*", "[", "9223372036854775808", "\x00", "İß", "12:30+01:00",
           "2024-03-31T02:30:00[Europe/Berlin]"], "STRING"),
    "b": ([True, False], "BOOLEAN"),
    "li": ([[], [1, 2, 3], [0], [3, -1, 2**63 - 1]], "LIST"),
    "lf": ([[0.5, NAN], [1.0, -0.0, INFINITE], [INFINITE, -INFINITE], [1e200, -1e200]], "LIST"),
    "ls": ([["a", "b"], ["", "ab", "a"], ["1", "x"]], "LIST"),
    "d": ([Date("2024-02-29"), Date("1969-12-31"), Date("9999-12-31")], "DATE"),
    "lt": ([LocalTime("00:00"), LocalTime("23:59:59.999999999")], "LOCAL TIME"),
    "t": ([Time("10:00+01:00"), Time("23:59:59.999999999Z")], "TIME"),
    "ldt": ([LocalDateTime("2024-02-29T12:00"), LocalDateTime("1969-12-31T23:59:59.999999999")], "LOCAL DATETIME"),
    "dt": ([DateTime("2024-03-31T01:30Z"), DateTime("2024-06-01T00:00:00.000000001+02:00[Europe/Stockholm]")],
           "DATETIME"),
    "dur": ([Duration(months=1, days=2, nanoseconds=3), Duration(months=-13, days=40, nanoseconds=-1), Duration()],
            "DURATION"),
    "p": ([Point(1, 2), Point(1, 2, 3), Point(13.4, 52.5, crs="wgs-84"), Point(-0.0, 1e300)], "POINT"),
    "lm": ([[1, "a", None, 2.5, True], [None], [[1], [2, [3]]], [{"a": 1}], [None, NAN, 1, 1.0]], "LIST"),
    "m": ([{}, {"a": 1}, {"x": 1.0, "y": 2.0}, {"year": 2024, "month": 2}, {"days": 1, "hours": -30}, {"a": None},
           {"days": -(2**63)}, {"seconds": -(2**63)}, {"year": -(2**63)}, {"epochMillis": -(2**63)}], "MAP"),
}  # fmt: skip
"""Values by kind, and the names of their types in signatures."""
NO_PROPERTIES = ("lm", "m")
VALUES = [(kind, value) for kind, (values, _) in KINDS.items() for value in values]
BETWEEN = {"+", "-", "*", "/", "%", "^", "||", "=", "<>", "<", "<=", ">", ">=", "IN", "STARTS WITH", "ENDS WITH",
           "CONTAINS", "=~"}  # fmt: skip
FORMS = {"neg": "(-{})", "pos": "(+{})", "NOT": "(NOT {})", "IS NULL": "({} IS NULL)",
         "IS NOT NULL": "({} IS NOT NULL)", "[]": "{}[{}]", "[..]": "{}[{}..{}]"}  # fmt: skip
OF_ELEMENTS = {"id", "elementid", "labels", "type", "startnode", "endnode", "nodes", "relationships", "length"}
CALLED = [
    (function, count)
    for function in functions()
    if function.available and function.deterministic and not function.key.endswith(".statement")
    if function.key in BETWEEN | FORMS.keys() or (function.kind == "scalar" and function.key not in OF_ELEMENTS)
    for count in sorted(
        {max(1, len(each.parameters) - absent) for each in function.signatures for absent in range(each.optional + 1)}
    )
    if any(each.parameters for each in function.signatures)
]


def call(function: Function, args: Sequence[str]) -> str:
    if function.key in BETWEEN:
        return f"({args[0]} {function.key} {args[1]})"
    return FORMS.get(function.key, f"{function.name}({', '.join(['{}'] * len(args))})").format(*args)


def exact(value: Any) -> Any:
    """Return a value so that only the same ones are equal, 0.0 and -0.0 not among them."""
    if type(value) is float and value == 0:
        return str(value)
    if isinstance(value, list | tuple):
        return [exact(each) for each in value]
    return {key: exact(each) for key, each in value.items()} if isinstance(value, dict) else canonical(value)


def arguments(function: Function, count: int, chance: random.Random, most: int) -> list[tuple[Any, ...]]:
    """Return pairs of kinds and values to call a function with: half of what its signatures admit, half of anything."""
    slots = [each.parameters[:count] for each in function.signatures if len(each.parameters) >= count]
    found = [tuple(chance.choice(VALUES) for _ in range(count)) for _ in range(most // 2 if count > 1 else 0)]
    fitting = [[[pair for pair in VALUES if _fits(pair[0], slot)] or VALUES for slot in each] for each in slots]
    for values in fitting:
        few = math.prod(map(len, values)) <= most
        found += product(*values) if few else [tuple(map(chance.choice, values)) for _ in range(most)]
    return [tuple(("i", None) if chance.random() < 0.05 else pair for pair in each) for each in found]


def _fits(kind: str, slot: Slot) -> bool:
    names = {str(each).split("<")[0] for each in slot.types}
    return "ANY" in names or any(name in names for name in (KINDS[kind][1], *KINDS[kind][1].split()))


def outcome(graph: Graph, text: str, parameters: Mapping[str, Any] | None = None, device: str = "cpu") -> Any:
    """Return the rows, or that it fails."""
    try:
        return [exact(list(row)) for row in graph.query(text, parameters or {}, device=device).fetchall()]
    except QengineError:
        return "error"


def check(function: Function, count: int, seed: str, most: int) -> None:
    chance = random.Random(f"{function.key} {count} {seed}")
    names = "xyz"[:count]
    empty = Graph()
    text = f"RETURN {call(function, ['$' + name for name in names])} AS r"
    groups, failing = defaultdict(list), []
    for pairs in arguments(function, count, chance, most):
        values = tuple(value for _, value in pairs)
        found = outcome(empty, text, dict(zip(names, values, strict=True)), "reference")
        if found == "error":
            failing.append(values)
        else:
            groups[tuple(kind for kind, _ in pairs)].append((values, found[0][0]))
    every = [each for group in groups.values() for each in group]
    _check_rows(function, names, every)
    for values in chance.sample(failing, min(4, len(failing))):
        _check_failing(function, names, values)
    for values, wanted in chance.sample(every, min(6, len(every))):
        written = f"RETURN {call(function, [f'({literal_text(value)})' for value in values])} AS r"
        found = outcome(empty, written)
        assert found in ([[wanted]], "error" if wanted == exact(None) else [[wanted]]), written
    for kinds, group in groups.items():
        if not set(kinds).intersection(NO_PROPERTIES) and any(
            value is not None for values, _ in group for value in values
        ):
            _check_columns(function, names, group, chance)


def _check_rows(function: Function, names: str, every: Sequence[tuple[tuple[Any, ...], Any]]) -> None:
    rows = [dict(zip(names, values, strict=True)) for values, _ in every]
    called = call(function, [f"t.{name}" for name in names])
    for text in (f"UNWIND $rows AS t RETURN {called} AS r", f"UNWIND [t IN $rows | {called}] AS r RETURN r"):
        found = outcome(Graph(), text, {"rows": rows})
        for row, got, (_, wanted) in zip(rows, found, every, strict=True):
            assert got == [wanted], (text, row)


def _check_failing(function: Function, names: str, values: Sequence[Any]) -> None:
    row = dict(zip(names, values, strict=True))
    called = call(function, [f"t.{name}" for name in names])
    for text in (
        f"UNWIND $rows AS t RETURN {called} AS r",
        f"UNWIND $rows AS t WITH t WHERE {called} IS NULL RETURN t",
    ):
        assert outcome(Graph(), text, {"rows": [row]}) == "error", (text, row)


def _check_columns(
    function: Function, names: str, group: Sequence[tuple[tuple[Any, ...], Any]], chance: random.Random
) -> None:
    """Check a call of properties that are columns of one type, of one that is a constant, and where it is used."""
    graph = Graph.from_records(
        {
            "labels": ["T"],
            "properties": {"n": number, **{k: v for k, v in zip(names, values, strict=True) if v is not None}},
        }
        for number, (values, _) in enumerate(group)
    )
    given = [f"t.{name}" for name in names]
    called = call(function, given)
    found = outcome(graph, f"MATCH (t:T) RETURN {called} AS r ORDER BY t.n")
    if found == "error":  # of one type that it never takes
        assert all(wanted == exact(None) for _, wanted in group) or _is_refused(graph, called), called
        return
    for got, (values, wanted) in zip(found, group, strict=True):
        assert got == [wanted], (called, values)
    values, result = chance.choice(group)
    texts = [f"MATCH (t:T) RETURN t.n, {called} AS r ORDER BY r, t.n",
             f"MATCH (t:T) RETURN {called} AS r, count(*) AS c",
             f"MATCH (t:T) WHERE {called} IS NULL RETURN t.n", f"MATCH (t:T) WHERE {called} = $v RETURN t.n",
             f"MATCH (t:T) WITH t ORDER BY t.n RETURN collect({called}) AS r",
             f"MATCH (t:T) RETURN count(DISTINCT {called}) AS r"]  # fmt: skip
    for place, value in enumerate(values if len(names) > 1 else ()):
        same = [number for number, (each, _) in enumerate(group) if exact(each[place]) == exact(value)]
        constant = call(
            function, [*given[:place], chance.choice(["$c", f"({literal_text(value)})"]), *given[place + 1 :]]
        )
        _agree(graph, f"UNWIND $same AS n MATCH (t:T {{n: n}}) RETURN t.n, {constant} AS r", {"same": same, "c": value})
    original = graph.query(
        f"MATCH (t:T) WHERE t.n = $n RETURN {called}", {"n": group.index((values, result))}
    ).fetchall()
    for text in chance.sample(texts, 2):
        _agree(graph, text, {"v": original[0][0]})


def _agree(graph: Graph, text: str, parameters: Mapping[str, Any]) -> None:
    wanted, found = (outcome(graph, text, parameters, device) for device in ("reference", "cpu"))
    if isinstance(wanted, list) and isinstance(found, list) and "ORDER BY" not in text:
        wanted, found = sorted(wanted, key=repr), sorted(found, key=repr)
    assert found == wanted, (text, parameters)


def _is_refused(graph: Graph, called: str) -> bool:
    try:
        graph.explain(f"MATCH (t:T) RETURN {called}")
    except QengineError as error:
        return not isinstance(error, ExecutionError)
    return False


@pytest.mark.parametrize(("function", "count"), CALLED, ids=lambda each: getattr(each, "key", each))
def test_odd_arguments(function: Function, count: int) -> None:
    check(function, count, "few", 8)


@pytest.mark.nets
@pytest.mark.parametrize(("function", "count"), CALLED, ids=lambda each: getattr(each, "key", each))
def test_more_odd_arguments(function: Function, count: int) -> None:
    check(function, count, "more", 100)


@pytest.mark.parametrize(
    "called",
    [
        "range(t.least, t.n, 2)",
        "range(2, t.far, 3)",
        "range(t.least, -1, 3)",
        "date({year: t.least})",
        "duration({days: t.least})",
        "duration({seconds: t.least})",
        "datetime({epochMillis: t.least})",
        "localdatetime('2020-01-01T00:00') + duration({nanoseconds: t.least})",
        "round(0.0 / 0.0, t.least)",
        "right(t.least, t.n - t.n)",
    ],
)
def test_numbers_at_the_end_of_their_range(called: str) -> None:
    graph = Graph.from_records([{"labels": ["T"], "properties": {"least": -(2**63), "far": 2**53, "n": 1000}}])
    _agree(graph, f"MATCH (t:T) RETURN {called} AS r", {})


# ---------------------------------------------------------------- aggregates

AGGREGATES = ["count", "sum", "avg", "min", "max", "collect", "stDev", "stDevP"]
ROWS_OF = [
    "MATCH (t:T) RETURN {} AS r",
    "MATCH (t:T) RETURN t.g AS g, {} AS r",
    "MATCH (t:T)-[:R]->(u) RETURN u.n AS g, {} AS r",
    "MATCH (t:T)-[:R]->(u) RETURN u AS g, {} AS r",
    "MATCH (t:T)-[:R]->(u)<-[:R]-() RETURN {} AS r",
    "MATCH (u) RETURN u.n, COLLECT {{ MATCH (u)<-[:R]-(t) RETURN {} AS r }} AS c",
    "UNWIND $rows AS t RETURN t.g AS g, {} AS r",
    "MATCH (t:T) RETURN t.x AS k, {} AS r",
    "MATCH (t:T) WITH t.g AS g, {} AS r ORDER BY r, g LIMIT 3 RETURN g, r",
]


def _without_order(value: Any) -> Any:
    """Return a result whose lists are in no order, in which one of equal values may stand for the other."""
    if isinstance(value, list):
        return sorted(map(_without_order, value), key=repr)
    return "0.0" if value == "-0.0" else value


def check_aggregates(chance: random.Random) -> None:
    storable = [kind for kind in KINDS if kind not in NO_PROPERTIES]
    kinds = chance.choice([[chance.choice(storable)], ["i", "f"], ["i"], ["f"], ["dur"], storable])
    pool = [value for kind in kinds for value in KINDS[kind][0]]
    pool = chance.sample(pool, min(len(pool), 3)) if chance.random() < 0.4 else pool
    rows = [
        {"n": number, "g": chance.randint(0, 2), "y": chance.choice(pool)}
        | ({"x": chance.choice(pool)} if chance.random() < 0.85 else {})
        for number in range(chance.choice([0, 1, 2, 5, 9]))
    ]
    graph = Graph.from_records(
        [*({"id": each["n"], "labels": ["T"], "properties": each} for each in rows),
         *({"id": -1 - number, "properties": {"n": number}} for number in range(3))],
        [{"type": "R", "start": each["n"], "end": -1 - chance.randrange(3)}
         for each in rows for _ in range(chance.choice([0, 1, 1, 2]))],
    )  # fmt: skip
    for rows_of in ROWS_OF:
        value = chance.choice(["t.x", "t.x", "coalesce(t.x, t.y)", "[t.x, t.y]", "CASE WHEN t.g = 1 THEN t.x END"])
        value = chance.choice(["", "DISTINCT "]) + value
        share = "t.g / 2.0" if "t.g AS g" in rows_of else chance.choice(["0.0", "0.3", "1.0"])
        share = f"percentile{chance.choice(['Disc', 'Cont'])}({value}, {share})"
        for called in (f"{chance.choice(AGGREGATES)}({value})", share):
            text = rows_of.format(called)
            wanted, found = (outcome(graph, text, {"rows": rows}, device) for device in ("reference", "cpu"))
            assert _without_order(found) == _without_order(wanted), (text, rows)


@pytest.mark.parametrize("seed", range(12))
def test_aggregates_of_odd_values(seed: int) -> None:
    check_aggregates(random.Random(f"aggregates {seed}"))


@pytest.mark.nets
def test_more_aggregates_of_odd_values() -> None:
    for seed in range(12, 150):
        check_aggregates(random.Random(f"aggregates {seed}"))


@pytest.mark.parametrize("called", ["sum(t.g)", "count(t.x)", "max(t.x)", "avg(DISTINCT t.g)", "collect(t.g)"])
@pytest.mark.parametrize("pattern", ["(t:T)", "(t:T)-[:R]->()"])
def test_the_least_integer_is_a_key_of_groups(called: str, pattern: str) -> None:
    nodes = [{"id": n, "labels": ["T"], "properties": {"x": -(2**63) + n % 2, "g": n}} for n in range(4)]
    graph = Graph.from_records(nodes, [{"type": "R", "start": n, "end": 0} for n in range(4)])
    _agree(graph, f"MATCH {pattern} RETURN t.x AS k, {called} AS r", {})
