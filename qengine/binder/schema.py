"""Binds commands about indexes and constraints, and SHOW, whose rows are known when it is planned."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from qengine.binder.binding import Binding
from qengine.binder.scope import Scope, Symbol
from qengine.catalog.functions import Function, functions
from qengine.catalog.procedures import Procedure
from qengine.catalog.rules import INDEXES, TYPE, Rule, Rules
from qengine.catalog.user_functions import UserFunction
from qengine.plan.expr import Expr, ListOf, Literal, MapOf, Parameter, Property, Variable
from qengine.plan.logical import Operator, Project, Unwind
from qengine.plan.rule_text import rule_statement
from qengine.plan.updates import AddRule, DropRule, Step
from qengine.syntax import ast
from qengine.types import ANY, BOOLEAN, INTEGER, STRING

__all__ = ["bind_schema", "bind_show"]

_UNBUILT = {
    "BTREE": ("BTREE indexes are those of older versions.", "Write CREATE INDEX; its kind is RANGE."),
}


def bind_schema(binding: Binding, clause: ast.SchemaClause) -> Step:
    """Return the step of a command that makes or drops an index or a constraint.

    Raises
    ------
    Unsupported
        For kinds of index that aren't built.
    """
    if clause.kind in _UNBUILT:
        message, hint = _UNBUILT[clause.kind]
        raise binding.unsupported(message, clause.span, hint)
    rule = None
    given = None if clause.given is None else Parameter(clause.given.name, span=clause.given.span)
    if clause.kind:
        rule = Rule(clause.name, clause.kind, clause.entity, clause.label, clause.keys, clause.type)
    if not clause.drops:
        assert rule is not None
        if rule.kind == "FULLTEXT":
            message = "The FULLTEXT index is kept and listed, and changes nothing: no procedure searches it."
            advice = "CONTAINS, STARTS WITH and =~ search texts without an index."
            binding.notice("NoEffect", rule.name, message, clause.span, advice)
        return AddRule(rule.named() if given is None else rule, clause.lenient, given, clause.span)
    return DropRule(clause.name, rule, clause.constraint, clause.lenient, given, clause.span)


# ---------------------------------------------------------------- SHOW


def bind_show(binding: Binding, clause: ast.ShowClause, root: Operator) -> tuple[Operator, Scope]:
    """Return the rows of SHOW, and the scope behind it."""
    names = clause.columns
    words = frozenset(clause.words)
    rules = binding.catalog.rules
    found: Iterable[dict[str, Any]]
    match clause.what:
        case "INDEXES":
            found = (row for row in _indexes(rules) if not words & set(INDEXES) or row["type"] in words)
        case "CONSTRAINTS":
            found = (row for row in _constraints(rules) if _is_meant(row["type"], words))
        case "FUNCTIONS":
            users = binding.procedures.functions()
            found = _functions(() if "BUILT" in words else users, built_in="USER" not in words)
        case _:
            found = _procedures(binding.procedures)
    rows = ListOf(tuple(MapOf(tuple((name, _constant(row[name])) for name in names)) for row in found))
    item = binding.names.anonymous()
    row = Variable(item)
    symbols = {name: Symbol(binding.names.fresh(name), ANY) for name in names}
    made = Unwind(root, rows, item)
    return Project(made, tuple((symbols[name].name, Property(row, name)) for name in names)), Scope(symbols)


def _constant(value: Any) -> Expr:
    match value:
        case bool():
            return Literal(value, type=BOOLEAN)
        case int():
            return Literal(value, type=INTEGER)
        case str():
            return Literal(value, type=STRING)
        case float():
            return Literal(value, type=ANY)
        case tuple():
            return ListOf(tuple(map(_constant, value)))
        case _:
            return Literal(None)


def _indexes(rules: Rules) -> Iterator[dict[str, Any]]:
    """Give declared indexes, and those that constraints of uniqueness come with."""
    for place, rule in enumerate(rules.all):
        if rule.is_constraint and not rule.is_unique:
            continue
        yield {
            **_about(place, rule),
            "state": "ONLINE",
            "populationPercent": 100.0,
            "type": "RANGE" if rule.is_constraint else rule.kind,
            "owningConstraint": rule.name if rule.is_constraint else None,
        }


def _constraints(rules: Rules) -> Iterator[dict[str, Any]]:
    for place, rule in enumerate(rules.all):
        if rule.is_constraint:
            yield {
                **_about(place, rule),
                "type": rule.type_name,
                "ownedIndex": rule.name if rule.is_unique else None,
                "propertyType": rule.type if rule.kind == TYPE else None,
            }


def _about(place: int, rule: Rule) -> dict[str, Any]:
    return {
        "id": place + 1,
        "name": rule.name,
        "entityType": rule.entity,
        "labelsOrTypes": rule.labels or None,
        "properties": rule.keys or None,
        "createStatement": rule_statement(rule),
    }


def _is_meant(type: str, words: frozenset[str]) -> bool:
    """Tell whether words like NODE KEY or EXISTENCE admit a type of constraint like NODE_PROPERTY_EXISTENCE."""
    spelt = {"UNIQUE": "UNIQUENESS", "REL": "RELATIONSHIP", "EXIST": "EXISTENCE", "EXISTS": "EXISTENCE"}
    wanted = {spelt.get(word, word) for word in words} - {"ALL"}
    return wanted <= {*type.split("_"), *(("NODE",) if type == "UNIQUENESS" else ())}


def _functions(users: Iterable[UserFunction], *, built_in: bool) -> Iterator[dict[str, Any]]:
    """Give the built-in functions, once for each name, and those of users."""
    for each in functions() if built_in else ():
        if each.kind != "operator" and each.available:
            for name in (each.name, *each.aliases):
                signature = "; ".join(f"{name}{signature}" for signature in each.signatures) or name
                yield _function(each, name, signature, built_in=True)
    for user in users:
        yield _function(user.about, user.name, user.signature, built_in=False)


def _function(about: Function, name: str, signature: str, *, built_in: bool) -> dict[str, Any]:
    aggregating = about.kind == "aggregate"
    return {
        "name": name,
        "category": "Aggregating" if aggregating else "Scalar",
        "description": about.doc,
        "signature": signature,
        "isBuiltIn": built_in,
        "aggregating": aggregating,
    }


def _procedures(known: Iterable[Procedure]) -> Iterator[dict[str, Any]]:
    for each in known:
        yield {
            "name": each.name,
            "description": each.description,
            "mode": "READ",
            "worksOnSystem": False,
            "signature": str(each.signature),
        }
