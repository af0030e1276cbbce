"""Bound expressions compiled and evaluated over rows of a graph of three nodes and three relationships."""

from types import MappingProxyType

import numpy as np
import pytest

from qengine.errors import ExecutionError, InternalError, Span
from qengine.exec.scalar.environment import Environment
from qengine.exec.scalar.evaluate import compile, compile_predicate
from qengine.exec.scalar.materialize import materialize
from qengine.exec.scalar.parameters import from_python
from qengine.exec.scalar.values import NodeHandle, PathHandle, RelationshipHandle
from qengine.plan import expr as x
from qengine.plan.pattern import LabelAnd, LabelAny, LabelIs, LabelNot, LabelOr
from qengine.storage.numbers import NumberRange, Numbers
from qengine.types import Node, Path, Relationship


class Column:
    nbytes = 0

    def __init__(self, values):
        self._values = values

    def value(self, id):
        return self._values[id] if id < len(self._values) else None

    def values(self, ids):
        return [self.value(id) for id in ids.tolist()]


class Type:
    def __init__(self, name, base, count, property_keys=()):
        self.name, self.base, self.count, self.property_keys = name, base, count, property_keys
        self.undirected = False


class Store:
    """(0:A:B {n: 1})-[0:R]->(1:A {s: 'x'}), (1)-[1:S {w: 2.5}]->(2), (2)-[2:S]->(2)."""

    vertex_count = 3
    types = (Type("R", 0, 1), Type("S", 1, 2, ("w",)))
    node_numbers = Numbers([NumberRange(0, 3)])
    relationship_numbers = Numbers([NumberRange(0, 3)])
    _labels = (("A", "B"), ("A",), ())
    _ends = ((0, 1), (1, 2), (2, 2))
    _nodes = MappingProxyType({"n": Column([1]), "s": Column([None, "x", None])})

    def property_keys(self, entity):
        return tuple(self._nodes) if entity == "node" else ("w",)

    def labels_of(self, vertex):
        return self._labels[vertex]

    def node_property(self, key):
        return self._nodes.get(key)

    def relationship_property(self, type_index, key):
        return Column([2.5, None]) if (type_index, key) == (1, "w") else None

    def type_of(self, ids):
        return np.array([0 if id == 0 else 1 for id in ids.tolist()])

    def endpoints(self, ids):
        ends = np.array([self._ends[id] for id in ids.tolist()])
        return ends[:, 0], ends[:, 1]

    def nodes(self, ids):
        return [Node(id, self._labels[id], {}) for id in ids]

    def relationships(self, ids):
        return [Relationship(id, "R" if id == 0 else "S", *self._ends[id], {}) for id in ids]


A, B, C = map(NodeHandle, range(3))
R, S, LOOP = map(RelationshipHandle, range(3))
ROW = {"a": A, "b": B, "c": C, "r": R, "s": S, "loop": LOOP, "none": None, "one": 1, "list": [1, None, 3],
       "hops": [R, S], "map": {"k": 1, "nothing": None}}  # fmt: skip


def lit(value):
    if isinstance(value, list):
        return x.ListOf(tuple(lit(item) for item in value))
    return x.Literal(value)


def var(name):
    return x.Variable(name)


def call(name, *args):
    return x.Call(name, tuple(arg if isinstance(arg, x.Expr) else lit(arg) for arg in args))


def value_of(expr, row=ROW, **parameters):
    return compile(expr, Environment(Store(), parameters, seed=1))(row)


def test_variables_literals_parameters_lists_and_maps():
    assert value_of(var("one")) == 1
    assert value_of(lit("text")) == "text"
    assert value_of(x.Parameter("p"), p=(1, {"k": np.int64(2)})) == [1, {"k": 2}]
    assert value_of(lit([1, [None]])) == [1, [None]]
    assert value_of(x.MapOf((("a", lit(1)), ("b", var("none"))))) == {"a": 1, "b": None}


def test_a_missing_parameter_is_named():
    with pytest.raises(ExecutionError, match=r"\$q has no value") as caught:
        value_of(x.Parameter("q", span=Span(3, 5)), p=1)
    assert (caught.value.code, caught.value.span) == ("ParameterMissing", Span(3, 5))


@pytest.mark.parametrize("value", [object(), 2**63, {1: 2}, {0: 2}, [1, b"x"], 1j, iter("a")])
def test_parameters_of_no_language_type_are_refused(value):
    with pytest.raises(ExecutionError):
        from_python(value, "p", [])


def test_nodes_of_a_result_can_be_parameters():
    node, other = Node(1, ("A",), {}), Node(2, (), {})
    edge = Relationship(1, "S", 1, 2, {})
    assert from_python([node, edge], "p", []) == [B, S]
    assert from_python(Path((node, other), (edge,)), "p", []) == PathHandle((B, C), (S,))


@pytest.mark.parametrize(
    ("subject", "key", "expected"),
    [("a", "n", 1), ("a", "s", None), ("b", "s", "x"), ("c", "n", None), ("a", "unknown", None), ("s", "w", 2.5),
     ("loop", "w", None), ("r", "w", None), ("map", "k", 1), ("map", "no", None), ("none", "n", None)],
)  # fmt: skip
def test_properties(subject, key, expected):
    assert value_of(x.Property(var(subject), key)) == expected
    assert value_of(call("[]", var(subject), key)) == expected


@pytest.mark.parametrize(
    ("expr", "code"),
    [
        (x.Property(var("one"), "k", span=Span(1, 2)), "InvalidArgumentType"),
        (x.Call("[]", (var("map"), lit(1)), span=Span(1, 2)), "MapElementAccessByNonString"),
        (x.Call("[]", (var("one"), lit(1)), span=Span(1, 2)), "InvalidArgumentType"),
        (x.Call("[]", (var("list"), lit("k")), span=Span(1, 2)), "InvalidArgumentType"),
        (x.Call("+", (lit(True), x.Call("+", (lit(1), lit({})), span=Span(1, 2)))), "InvalidArgumentType"),
        (x.Call("labels", (var("one"),), span=Span(1, 2)), "InvalidArgumentValue"),
        (x.Call("type", (var("a"),), span=Span(1, 2)), "InvalidArgumentValue"),
        (x.Call("range", (lit(1), lit(2), lit(0)), span=Span(1, 2)), "NumberOutOfRange"),
        (x.Logical("AND", (lit(True), x.Literal(1, span=Span(1, 2)))), "InvalidArgumentType"),
        (x.HasLabels(var("one"), LabelIs("A"), span=Span(1, 2)), "InvalidArgumentType"),
        (x.MapProjection(var("one"), (), True, span=Span(1, 2)), "InvalidArgumentType"),
    ],
)
def test_errors_name_the_innermost_place(expr, code):
    with pytest.raises(ExecutionError) as caught:
        value_of(expr)
    assert (caught.value.code, caught.value.span) == (code, Span(1, 2))


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (call("[]", var("list"), 0), 1),
        (call("[]", var("list"), -1), 3),
        (call("[]", var("list"), 3), None),
        (call("[]", var("list"), -4), None),
        (call("[]", var("none"), 0), None),
        (call("labels", var("a")), ["A", "B"]),
        (call("labels", var("none")), None),
        (call("type", var("s")), "S"),
        (call("startnode", var("s")), B),
        (call("endnode", var("s")), C),
        (call("id", var("c")), 2),
        (call("id", var("loop")), 2),
        (call("elementid", var("c")), "2"),
        (call("properties", var("b")), {"s": "x"}),
        (call("properties", var("s")), {"w": 2.5}),
        (call("properties", var("map")), {"k": 1, "nothing": None}),
        (call("keys", var("a")), ["n"]),
        (call("keys", var("loop")), []),
        (call("keys", var("map")), ["k", "nothing"]),
        (call("keys", var("none")), None),
        (call("rand"), 0.13436424411240122),
        (call("nodes", x.PathOf(("a", "r", "b"))), [A, B]),
        (call("relationships", x.PathOf(("b", "r", "a"))), [R]),
        (call("length", x.PathOf(("a",))), 0),
        (x.PathOf(("a", "hops", "c")), PathHandle((A, B, C), (R, S))),
        (x.PathOf(("c", "loop", "c")), PathHandle((C, C), (LOOP,))),
        (x.PathOf(("a", "none", "b")), None),
        (x.MapProjection(var("b"), (("t", lit(1)),), True), {"s": "x", "t": 1}),
        (x.MapProjection(var("b"), (("s", lit(1)),), True), {"s": 1}),
        (x.MapProjection(var("none"), (), True), None),
        (x.Case(((call("=", var("one"), 1), lit("yes")),), lit("no")), "yes"),
        (x.Case(((call("=", var("none"), 1), lit("yes")),), lit("no")), "no"),
        (x.Comparison(("<", "<="), (lit(1), lit(2), lit(2))), True),
        (x.Comparison(("<", "<="), (lit(1), lit(None), lit(2))), None),
        (x.Comparison(("<", "<"), (lit(None), lit(3), lit(2))), False),
        (x.Comparison(("=",), (lit(1), lit(1.0))), True),
    ],
)
def test_expressions(expr, expected):
    result = value_of(expr)
    assert result == expected
    assert type(result) is type(expected)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (LabelIs("A"), [True, True, False]),
        (LabelAny(), [True, True, False]),
        (LabelNot(LabelIs("B")), [False, True, True]),
        (LabelAnd((LabelIs("A"), LabelIs("B"))), [True, False, False]),
        (LabelOr((LabelIs("B"), LabelNot(LabelAny()))), [True, False, True]),
    ],
)
def test_label_tests(labels, expected):
    assert [value_of(x.HasLabels(var(name), labels)) for name in "abc"] == expected
    assert value_of(x.HasLabels(var("none"), labels)) is None


def test_a_label_test_of_a_relationship_is_about_its_type():
    assert value_of(x.HasLabels(var("r"), LabelIs("R"))) is True
    assert value_of(x.HasLabels(var("r"), LabelIs("S"))) is False


T, F, N = True, False, None


@pytest.mark.parametrize(
    ("op", "table"),
    [
        ("AND", [[T, F, N], [F, F, F], [N, F, N]]),
        ("OR", [[T, T, T], [T, F, N], [T, N, N]]),
        ("XOR", [[F, T, N], [T, F, N], [N, N, N]]),
    ],
)
def test_truth_tables(op, table):
    for a, line in zip((T, F, N), table, strict=True):
        for b, expected in zip((T, F, N), line, strict=True):
            assert value_of(x.Logical(op, (lit(a), lit(b)))) is expected
            assert value_of(x.Logical(op, (lit(a), lit(b), lit(False)))) is (False if op == "AND" else expected)


def over(items, condition=None):
    return {"variable": "i", "source": lit(items), "condition": condition}


def test_list_comprehension():
    small = call("<", var("i"), 3)
    assert value_of(x.ListComprehension(**over([1, 2, None, 3], small), result=None)) == [1, 2]
    assert value_of(x.ListComprehension(**over([1, 2]), result=call("+", var("i"), var("one")))) == [2, 3]
    assert value_of(x.ListComprehension("i", var("none"), None, None)) is None
    inner = x.ListComprehension("i", lit([7]), None, var("i"))
    shadowing = x.ListComprehension("i", lit([1, 2]), None, call("+", inner, var("i")))
    assert value_of(shadowing) == [[7, 1], [7, 2]]


@pytest.mark.parametrize(
    ("items", "all_", "any_", "none", "single"),
    [
        ([], T, F, T, F),
        ([T], T, T, F, T),
        ([F], F, F, T, F),
        ([T, T], T, T, F, F),
        ([T, F], F, T, F, T),
        ([N], N, N, N, N),
        ([T, N], N, T, F, N),
        ([F, N], F, N, N, N),
        ([T, T, N], N, T, F, F),
    ],
)
def test_quantifiers(items, all_, any_, none, single):
    for name, expected in [("all", all_), ("any", any_), ("none", none), ("single", single)]:
        assert value_of(x.Quantifier(name, **over(items, var("i")))) is expected
        assert value_of(x.Quantifier(name, "i", var("none"), var("i"))) is None


def test_reduce():
    total = x.Reduce("sum", lit(10), "i", lit([1, 2, 3]), call("+", var("sum"), var("i")))
    assert value_of(total) == 16
    assert value_of(x.Reduce("sum", lit(10), "i", var("none"), var("sum"))) is None


def test_predicates_are_true_or_not_and_never_numbers():
    env = Environment(Store())
    assert [compile_predicate(lit(v), env)({}) for v in (True, False, None)] == [True, False, False]
    with pytest.raises(ExecutionError, match="needs a boolean"):
        compile_predicate(lit(1), env)({})


def test_a_subquery_needs_an_executor_that_runs_it():
    expr = x.Subquery("exists", None, ())
    with pytest.raises(InternalError):
        compile(expr, Environment(Store()))
    assert compile(expr, Environment(Store(), subqueries=lambda found: lambda row: found.kind))({}) == "exists"


def test_timestamp_stays_the_same_in_one_execution():
    env = Environment(Store())
    assert len({compile(call("timestamp"), env)({}) for _ in range(3)}) == 1


def test_materialize_replaces_handles_everywhere():
    rows = [[A, [R, {"k": PathHandle((B, C), (S,))}], 1], [None, A, "x"]]
    (node, (edge, inside), one), (nothing, again, text) = materialize(rows, Store())
    assert (node.labels, edge.type, one, nothing, text) == (("A", "B"), "R", 1, None, "x")
    assert node is again
    assert [type(part) for part in inside["k"]] == [Node, Relationship, Node]
    assert materialize([[1, [None]]], None) == [(1, [None])]
