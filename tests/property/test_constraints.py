"""Random transactions under random constraints, against a model in plain Python.

A statement is accepted where the model accepts it. After each, the graph and the model hold the same: nothing of a
statement that was refused stays.
"""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import qengine
from tests.examples import examples

LABELS, KEYS = ("A", "B"), ("x", "y")
VALUES: tuple[Any, ...] = (0, 1, 1.0, "1", True, [1, 2], [1.0, 2], float("nan"))

properties = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES))
labels = st.sampled_from((("A",), ("A",), ("A", "B"), ("B",), ()))
place = st.integers(0, 7)
changes = st.one_of(
    st.tuples(st.just("create"), labels, properties),
    st.tuples(st.just("create"), labels, properties),
    st.tuples(st.just("join"), place, place, properties),
    st.tuples(st.just("set"), place, st.sampled_from(KEYS), st.sampled_from((*VALUES, None))),
    st.tuples(st.just("set joined"), place, st.sampled_from(KEYS), st.sampled_from((*VALUES, None))),
    st.tuples(st.just("label"), place, st.sampled_from(LABELS)),
    st.tuples(st.just("unlabel"), place, st.sampled_from(LABELS)),
    st.tuples(st.just("delete"), place),
    st.tuples(st.just("swap"), place, place, st.sampled_from(KEYS)),
)
unique = st.sampled_from(("IS UNIQUE", "IS KEY"))
single = st.sampled_from(
    ("IS UNIQUE", "IS KEY", "IS NOT NULL", "IS :: INTEGER | STRING", "IS :: LIST<INTEGER NOT NULL>")
)
targets = st.sampled_from(("A", "A", "T"))
rules = st.one_of(
    st.tuples(st.just("rule"), targets, st.sampled_from((("x",), ("y",))), single),
    st.tuples(st.just("rule"), targets, st.just(("x", "y")), unique),
)
others = st.one_of(rules, st.tuples(st.just("drop"), st.integers(0, 3)))
bounds = st.tuples(st.sampled_from(("read", "begin", "begin", "commit", "rollback")))
steps = st.lists(st.one_of(changes, changes, changes, bounds, others), min_size=12, max_size=40)


class Element:
    """A node or a relationship of the model."""

    def __init__(self, labels: set[str], values: dict[str, Any]) -> None:
        self.labels, self.values = labels, values

    def copy(self) -> Element:
        return Element(set(self.labels), dict(self.values))


class Model:
    """Nodes by number, relationships by number with their ends, and rules."""

    def __init__(self) -> None:
        self.nodes: dict[int, Element] = {}
        self.joined: dict[int, tuple[int, int, Element]] = {}
        self.rules: list[tuple[str, tuple[str, ...], str]] = []

    def copy(self) -> Model:
        made = Model()
        made.nodes = {number: each.copy() for number, each in self.nodes.items()}
        made.joined = {number: (start, end, each.copy()) for number, (start, end, each) in self.joined.items()}
        made.rules = list(self.rules)
        return made

    def holds(self) -> bool:
        return all(map(self._satisfied, self.rules))

    def _satisfied(self, rule: tuple[str, tuple[str, ...], str]) -> bool:
        label, keys, kind = rule
        elements = [*self.nodes.values(), *(each for _, _, each in self.joined.values())]
        found = [[each.values.get(key) for key in keys] for each in elements if label in each.labels]
        if kind in ("IS KEY", "IS NOT NULL") and any(value is None for values in found for value in values):
            return False
        whole = [values for values in found if None not in values]
        if kind.startswith("IS ::"):
            return all(_has_type(value, kind) for (value,) in whole)
        pairs = ((one, other) for place, one in enumerate(whole) for other in whole[:place])
        return kind == "IS NOT NULL" or not any(all(map(_equal, one, other)) for one, other in pairs)

    def content(self) -> Any:
        nodes = sorted((number, sorted(each.labels), _shown(each.values)) for number, each in self.nodes.items())
        joined = sorted((number, *ends, _shown(each.values)) for number, (*ends, each) in self.joined.items())
        return nodes, joined, sorted(map(str, self.rules))


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    return (type(one) is bool) == (type(other) is bool) and bool(one == other)


def _has_type(value: Any, kind: str) -> bool:
    if "LIST" in kind:
        return isinstance(value, list) and all(type(each) is int for each in value)
    return type(value) in (int, str)


def _shown(values: dict[str, Any]) -> str:
    return repr(sorted(values.items(), key=lambda each: each[0]))


class Pair:
    """A graph and its model, and what both were when a transaction began."""

    def __init__(self) -> None:
        self.graph = qengine.Graph()
        self.model = Model()
        self.transaction: Any = None
        self.before: Model | None = None

    def query(self, text: str, **parameters: Any) -> list[Any]:
        return list((self.transaction or self.graph).query(text, parameters).fetchall())

    def step(self, step: tuple[Any, ...]) -> None:
        match step:
            case ("begin",) if self.transaction is None:
                self.transaction, self.before = self.graph.transaction(), self.model.copy()
            case ("commit" | "rollback" as how,) if self.transaction is not None:
                getattr(self.transaction, how)()
                if how == "rollback":
                    assert self.before is not None
                    self.model = self.before
                self.transaction = None
            case ("read" | "begin" | "commit" | "rollback",):
                pass
            case _:
                self.statement(step)
        if step[0] == "read" or self.transaction is None:
            assert self.content() == self.model.content()

    def statement(self, step: tuple[Any, ...]) -> None:
        made = self.model.copy()
        text, parameters = _applied(made, step)
        if text is None:
            return
        accepted = made.holds()
        try:
            rows = self.query(text, **parameters)
        except qengine.ExecutionError as error:
            expected = "ConstraintCreationFailed" if step[0] == "rule" else "ConstraintValidationFailed"
            assert error.code == expected and not accepted, (text, parameters, str(error))
            return
        assert accepted, (text, parameters, self.model.rules)
        if step[0] == "create":
            made.nodes[rows[0][0]] = made.nodes.pop(-1)
        elif step[0] == "join":
            made.joined[rows[0][0]] = made.joined.pop(-1)
        self.model = made

    def content(self) -> Any:
        nodes = sorted(
            (number, sorted(labels), _shown(values))
            for number, labels, values in self.query("MATCH (n) RETURN id(n), labels(n), properties(n)")
        )
        text = "MATCH (a)-[r]->(b) RETURN id(r), id(a), id(b), properties(r)"
        joined = sorted((*numbers, _shown(values)) for *numbers, values in self.query(text))
        shown = self.query("SHOW CONSTRAINTS YIELD name, properties RETURN name, properties")
        assert len(shown) == len(self.model.rules)
        return nodes, joined, sorted(map(str, self.model.rules))


def _applied(model: Model, step: tuple[Any, ...]) -> tuple[str | None, dict[str, Any]]:
    """Apply a step to the model, and return the statement that does the same; None where it makes no sense."""
    match step:
        case ("create", named, values):
            model.nodes[-1] = Element(set(named), dict(values))
            return f"CREATE (n{''.join(map(':{}'.format, named))}) SET n = $values RETURN id(n)", {"values": values}
        case ("rule", label, keys, kind):
            if any(each[:2] == (label, keys) for each in model.rules):
                return None, {}
            model.rules.append((label, keys, kind))
            pattern = "(e:A)" if label == "A" else "()-[e:T]-()"
            listed = ", ".join(f"e.{key}" for key in keys)
            return f"CREATE CONSTRAINT {_named(model.rules[-1])} FOR {pattern} REQUIRE ({listed}) {kind}", {}
        case ("drop", place) if place < len(model.rules):
            return f"DROP CONSTRAINT {_named(model.rules.pop(place))}", {}
        case ("set joined", place, key, value) if model.joined:
            number = sorted(model.joined)[place % len(model.joined)]
            _put(model.joined[number][2].values, key, value)
            return f"MATCH ()-[r]->() WHERE id(r) = $number SET r.{key} = $value", {"number": number, "value": value}
        case (("join" | "set" | "label" | "unlabel" | "delete" | "swap"), place, *_) if model.nodes:
            return _applied_to_node(model, sorted(model.nodes)[place % len(model.nodes)], step)
    return None, {}


def _applied_to_node(model: Model, number: int, step: tuple[Any, ...]) -> tuple[str | None, dict[str, Any]]:
    node, found = model.nodes[number], "MATCH (n) WHERE id(n) = $number"
    match step:
        case ("join", _, place, values):
            other = sorted(model.nodes)[place % len(model.nodes)]
            model.joined[-1] = number, other, Element({"T"}, dict(values))
            text = f"{found} MATCH (m) WHERE id(m) = $other CREATE (n)-[r:T]->(m) SET r = $values RETURN id(r)"
            return text, {"number": number, "other": other, "values": values}
        case ("set", _, key, value):
            _put(node.values, key, value)
            return f"{found} SET n.{key} = $value", {"number": number, "value": value}
        case ("label", _, label):
            node.labels.add(label)
            return f"{found} SET n:{label}", {"number": number}
        case ("unlabel", _, label):
            node.labels.discard(label)
            return f"{found} REMOVE n:{label}", {"number": number}
        case ("delete", _):
            del model.nodes[number]
            model.joined = {each: (*ends, own) for each, (*ends, own) in model.joined.items() if number not in ends}
            return f"{found} DETACH DELETE n", {"number": number}
        case ("swap", _, place, key):
            other = sorted(model.nodes)[place % len(model.nodes)]
            values = node.values.get(key), model.nodes[other].values.get(key)
            _put(model.nodes[other].values, key, values[0])
            _put(node.values, key, values[1])
            found = f"{found} MATCH (m) WHERE id(m) = $other WITH n, m, n.{key} AS a, m.{key} AS b"
            return f"{found} SET m.{key} = a, n.{key} = b", {"number": number, "other": other}
    raise AssertionError(step)


def _put(values: dict[str, Any], key: str, value: Any) -> None:
    values.pop(key, None)
    if value is not None:
        values[key] = value


def _named(rule: tuple[str, tuple[str, ...], str]) -> str:
    return f"c_{rule[0]}_{'_'.join(rule[1])}"


@settings(max_examples=examples(90), deadline=None)
@given(st.lists(rules, min_size=1, max_size=3), steps)
def test_what_a_model_accepts_is_accepted(rules: list[tuple[Any, ...]], steps: list[tuple[Any, ...]]) -> None:
    pair = Pair()
    for step in (*rules, *steps):
        pair.step(step)
    if pair.transaction is not None:
        pair.step(("commit",))
    assert pair.content() == pair.model.content()
