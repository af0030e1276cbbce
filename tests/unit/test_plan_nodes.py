"""Every class of a plan declares the fields that hold its children, and no others."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from dataclasses import fields, is_dataclass
from typing import Any, get_args, get_type_hints

import pytest

import qengine
from qengine import Graph, plan
from qengine._frozen import frozen
from qengine.plan.expr import ConstantList, Expr, Literal
from qengine.plan.logical import LogicalPlan, Operator, Step
from qengine.plan.node import node
from qengine.plan.physical import PhysicalPlan

UNTYPED = {(Literal, "value")}  # a Python value, no part of the plan
CONSTANT = {ConstantList}  # one constant for whoever looks for parts


def types_of(kind: type) -> dict[str, Any]:
    """Return the types of a class's fields; names that its module imports for checkers alone are other modules'."""
    modules = (module for name, module in sys.modules.items() if name.startswith(f"{plan.__name__}."))
    known = {name: each for module in modules for name, each in vars(module).items() if isinstance(each, type)}
    return get_type_hints(kind, localns={**known, **vars(sys.modules[kind.__module__])})


def classes_in(hint: Any) -> set[type]:
    """Return the classes that a type names, in unions, tuples and mappings too."""
    below = [classes_in(each) for each in get_args(hint)]
    return set().union(*below) if below else {hint}


def every_class() -> dict[type, dict[str, Any]]:
    """Return the classes that a plan can consist of, with the types of their fields."""
    for module in pkgutil.walk_packages(qengine.__path__, "qengine."):
        if module.name.split(".")[1] in ("plan", "optimizer", "binder"):
            importlib.import_module(module.name)
    found: dict[type, dict[str, Any]] = {}
    waiting: list[type] = [LogicalPlan, PhysicalPlan, Expr, Operator, Step]
    while waiting:
        kind = waiting.pop()
        if kind not in found and is_dataclass(kind) and vars(sys.modules[kind.__module__]).get(kind.__name__) is kind:
            found[kind] = types_of(kind)
            waiting += kind.__subclasses__()
            waiting += [each for hint in found[kind].values() for each in classes_in(hint)]
    return found


HINTS = every_class()
CLASSES = sorted(HINTS, key=lambda kind: (kind.__module__, kind.__qualname__))


def with_children() -> set[type]:
    """Return the classes of which an instance may be, or hold, an expression, operator or step."""
    found = {each for each in CLASSES if issubclass(each, Expr | Operator | Step)} | {Expr, Operator, Step}
    while True:
        holders = {
            each for each in CLASSES if any(found & classes_in(HINTS[each][field.name]) for field in fields(each))
        }
        if holders <= found:
            return found
        found |= holders


NODES = with_children()


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: f"{kind.__module__}.{kind.__qualname__}")
def test_fields_that_hold_nodes_are_declared(kind: type) -> None:
    held = tuple(field.name for field in fields(kind) if NODES & classes_in(HINTS[kind][field.name]))
    assert getattr(kind, "child_fields", ()) == (() if kind in CONSTANT else held)


def test_no_field_hides_nodes_behind_any() -> None:
    hidden = {
        (each, field.name)
        for each in CLASSES
        for field in fields(each)
        if {Any, object} & classes_in(HINTS[each][field.name])
    }
    assert hidden == UNTYPED


def test_the_classes_are_found() -> None:
    names = {each.__name__ for each in CLASSES}
    assert names >= {
        "Call",
        "Subquery",
        "Match",
        "SortKey",
        "QueryGraph",
        "VertexLevel",
        "NodeIndicator",
        "Eliminate",
        "Hints",
    }
    assert {each.__name__ for each in NODES} >= {"SortKey", "QueryGraph", "PatternNode", "Relation", "PhysicalPlan"}


@pytest.mark.parametrize("children", [("left", "rihgt"), ("right", "left"), ("left", "left")])
def test_names_of_children_are_checked_when_a_class_is_made(children: tuple[str, ...]) -> None:
    class Pair:
        left: Expr
        right: Expr

    with pytest.raises(TypeError, match=r"The children of Pair aren't fields in their order: "):
        node(*children)(Pair)


def test_a_field_that_is_not_declared_is_found() -> None:
    @frozen
    class Forgetful(Operator):
        input: Operator

    assert Forgetful.child_fields == ()
    assert NODES & classes_in(types_of(Forgetful)["input"])


def test_a_subclass_declares_its_own_children() -> None:
    @node("left")
    class One(Expr):
        left: Expr

    @node("left", "right")
    class Two(One):
        right: Expr

    assert (One.child_fields, Two.child_fields) == (("left",), ("left", "right"))


def test_parameters_of_given_cardinalities_are_not_the_query_s() -> None:
    graph = Graph.from_records([{"id": 1, "labels": "A"}], [{"type": "T", "start": 1, "end": 1}])
    given = {"(:A)-[:T]->({x: $p})": 3.0}
    assert graph.query("MATCH (a:A)-[:T]->(b) RETURN count(*)", cardinalities=given).value() == 1
