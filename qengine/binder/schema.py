"""Binds commands about indexes and constraints, and SHOW, whose rows are known when it is planned."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from qengine._frozen import replace
from qengine.binder.binding import Binding
from qengine.binder.scope import Scope, Symbol
from qengine.catalog.functions import functions, special_functions
from qengine.catalog.procedures import Procedure
from qengine.catalog.rules import ANALYZERS, DEFAULT_ANALYZER, INDEXES, TYPE, Rule, Rules
from qengine.catalog.user_functions import UserFunction
from qengine.plan.expr import Expr, ListOf, Literal, MapOf, Parameter, Property, Variable
from qengine.plan.logical import Operator, ProcedureCall, Project, Unwind
from qengine.plan.rule_text import index_options, rule_statement
from qengine.plan.updates import AddRule, DropRule, Step
from qengine.syntax import ast
from qengine.types import ANY, BOOLEAN, INTEGER, STRING


def bind_schema(binding: Binding, clause: ast.SchemaClause) -> Step:
    """Return the step of a command that makes or drops an index or a constraint."""
    rule = None
    given = None if clause.given is None else Parameter(clause.given.name, span=clause.given.span)
    if clause.kind:
        type = clause.type if clause.analyzer is None else _with_analyzer(binding, clause, clause.analyzer)
        rule = Rule(clause.name, clause.kind, clause.entity, clause.label, clause.keys, type)
    if not clause.drops:
        assert rule is not None
        return AddRule(rule.named() if given is None else rule, clause.lenient, given, clause.span)
    return DropRule(clause.name, rule, clause.constraint, clause.lenient, given, clause.span)


def _with_analyzer(binding: Binding, clause: ast.SchemaClause, analyzer: ast.Literal) -> str:
    """Return the ``type`` of a FULLTEXT index's rule that names an analyzer."""
    if analyzer.value not in ANALYZERS:
        message, hint = f"There is no analyzer {analyzer.value!r}.", f"There are {', '.join(ANALYZERS)}."
        raise binding.error("InvalidArgumentValue", message, analyzer.span, hint)
    if analyzer.value == DEFAULT_ANALYZER:
        return clause.type
    labels = json.loads(clause.type) if clause.type else [clause.label]
    return json.dumps({"labels": labels, "analyzer": analyzer.value})


# ---------------------------------------------------------------- SHOW


def bind_show(binding: Binding, clause: ast.ShowClause, root: Operator, scope: Scope) -> tuple[Operator, Scope]:
    """Return the rows of SHOW or TERMINATE, and the scope behind it, with the columns of those before it."""
    names = clause.columns
    clashing = next((name for name in _yielded(clause) if name in scope.symbols), None)
    if clashing is not None:
        raise binding.error(
            "VariableAlreadyBound", f"Variable `{clashing}` is already defined.", clause.span, f"{clashing} AS other"
        )
    symbols = {name: Symbol(binding.names.fresh(name), ANY) for name in names}
    behind = scope.with_symbols(symbols)
    if clause.what in _PROCEDURES:
        procedure = binding.procedures.find(_PROCEDURES[clause.what])
        assert procedure is not None
        outputs = tuple((name, symbols[name].name) for name in names)
        return ProcedureCall(root, procedure, (_named(binding, clause, scope),), outputs, clause.span), behind
    rows = ListOf(
        tuple(MapOf(tuple((name, _constant(row.get(name))) for name in names)) for row in _rows(binding, clause))
    )
    item = binding.names.anonymous()
    row = Variable(item)
    kept = tuple((symbol.name, Variable(symbol.name, type=symbol.type)) for symbol in scope.symbols.values())
    columns = tuple((symbols[name].name, Property(row, name)) for name in names)
    return Project(Unwind(root, rows, item), (*kept, *columns)), behind


def _yielded(clause: ast.ShowClause) -> tuple[str, ...]:
    """Return the names that a SHOW gives its columns."""
    if clause.selection is None or clause.selection.projection.star:
        return clause.columns
    return tuple(item.alias or item.text for item in clause.selection.projection.items)


def selection_of(clause: ast.ShowClause, before: tuple[str, ...]) -> ast.WithClause:
    """Return what YIELD and WHERE of a SHOW say, which keeps the columns of those before it."""
    assert clause.selection is not None
    selection, projection = clause.selection, clause.selection.projection
    if projection.star or not before:
        return selection
    kept = tuple(ast.ReturnItem(ast.Variable(name, span=clause.span), None, name, span=clause.span) for name in before)
    return replace(selection, projection=replace(projection, items=(*kept, *projection.items)))


def _named(binding: Binding, clause: ast.ShowClause, scope: Scope) -> Expr:
    """Return a list of what is asked for by name, null for all."""
    if not clause.names:
        return Literal(None)
    return ListOf(tuple(_name(binding, each, scope) for each in clause.names))


def _name(binding: Binding, name: ast.Expression, scope: Scope) -> Expr:
    match name:
        case ast.Literal(value=value):
            return Literal(value, type=STRING)
        case ast.Parameter(name=known):
            return Parameter(known, span=name.span)
        case ast.Variable(name=known) if known in scope.symbols:
            symbol = scope.symbols[known]
            return Variable(symbol.name, type=symbol.type)
    message = f"Variable `{binding.text[name.span.start : name.span.end]}` is not defined."
    raise binding.error("UndefinedVariable", message, name.span, "Texts stand in quotes.")


def _rows(binding: Binding, clause: ast.ShowClause) -> Iterable[dict[str, Any]]:
    words, rules = frozenset(clause.words), binding.catalog.rules
    match clause.what:
        case "INDEXES":
            return (row for row in _indexes(rules) if not words & set(INDEXES) or row["type"] in words)
        case "CONSTRAINTS":
            return (row for row in _constraints(rules) if _is_meant(row["type"], words))
        case "FUNCTIONS":
            users = binding.procedures.functions()
            return _functions(() if "BUILT" in words else users, built_in=not {"USER", "DEFINED"} <= words)
        case "PROCEDURES":
            return _procedures(binding.procedures)
        case "DATABASES":
            wanted = {str(each.name if isinstance(each, ast.Variable) else "") for each in clause.names}
            given = any(not isinstance(each, ast.Variable) for each in clause.names)
            return [_DATABASE] if given or not wanted or _DATABASE["name"] in wanted else []
        case _:  # there are no users, roles, rights, aliases or servers
            return []


_PROCEDURES = {
    "SETTINGS": "dbms.listConfig",
    "TRANSACTIONS": "dbms.listTransactions",
    "TERMINATED": "dbms.killTransactions",
}
_DATABASE: dict[str, Any] = {
    "name": "qengine",
    "type": "standard",
    "aliases": (),
    "access": "read-write",
    "role": "primary",
    "writer": True,
    "requestedStatus": "online",
    "currentStatus": "online",
    "statusMessage": "",
    "default": True,
    "home": True,
    "constituents": (),
}
"""The one graph that a statement can read, as a database."""


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
        case dict():
            return MapOf(tuple((key, _constant(each)) for key, each in value.items()))
        case _:
            return Literal(None)


def _indexes(rules: Rules) -> Iterator[dict[str, Any]]:
    """Give declared indexes, and those that constraints of uniqueness come with."""
    for place, rule in enumerate(rules.all):
        if rule.is_constraint and not rule.is_unique:
            continue
        options = index_options(rule)
        yield {  # no use is counted: lastRead, readCount and trackedSince are null
            **_about(place, rule),
            "state": "ONLINE",
            "populationPercent": 100.0,
            "type": "RANGE" if rule.is_constraint else rule.kind,
            "indexProvider": options["indexProvider"],
            "owningConstraint": rule.name if rule.is_constraint else None,
            "options": options,
            "failureMessage": "",
        }


def _constraints(rules: Rules) -> Iterator[dict[str, Any]]:
    for place, rule in enumerate(rules.all):
        if rule.is_constraint:
            yield {
                **_about(place, rule),
                "type": rule.type_name,
                "ownedIndex": rule.name if rule.is_unique else None,
                "propertyType": rule.type if rule.kind == TYPE else None,
                "options": index_options(rule) if rule.is_unique else None,
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
                yield _function(name, signature, each.doc, aggregating=each.kind == "aggregate")
    for name, signature, doc in special_functions() if built_in else ():
        yield _function(name, f"{name}{signature}", doc)
    for user in users:
        yield _function(user.name, user.signature, user.about.doc, aggregating=user.aggregate, built_in=False)


def _function(
    name: str, signature: str, description: str, *, aggregating: bool = False, built_in: bool = True
) -> dict[str, Any]:
    return {
        "name": name,
        "category": "Aggregating" if aggregating else "Scalar",
        "description": description,
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
            "admin": False,
            "signature": str(each.signature),
        }
