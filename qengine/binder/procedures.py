"""Binds calls of procedures, and LOAD CSV."""

from __future__ import annotations

import json
from collections.abc import Mapping

from qengine.binder.binding import Binding, did_you_mean
from qengine.binder.expressions import ExpressionBinder
from qengine.binder.inference import accepts, may_be
from qengine.binder.scope import Scope, Symbol, hidden_name
from qengine.catalog.procedures import Procedure
from qengine.plan.expr import AggregateCall, Expr, Literal, Parameter, Variable
from qengine.plan.logical import Aggregate, Filter, LoadCsv, Operator, ProcedureCall, Project, Skip
from qengine.syntax import ast
from qengine.types import INTEGER, MAP, STRING, Kind, Type, indefinite, list_of

_ALGORITHMS = ("gds.", "algo.")
_ELSEWHERE = {
    "apoc.periodic.iterate": "Write MATCH … CALL (…) { … } IN TRANSACTIONS OF 1000 ROWS.",
    "apoc.periodic.commit": "Write MATCH … CALL (…) { … } IN TRANSACTIONS OF 1000 ROWS.",
    "apoc.load.json": "Pass what json.load gives, as in UNWIND $rows AS row; Graph.from_jsonl loads files.",
    "apoc.load.csv": "Write LOAD CSV WITH HEADERS FROM 'file:///x.csv' AS row.",
    "apoc.merge.node": "Write MERGE (n:$($labels) {key: value}).",
    "apoc.create.node": "Write CREATE (n:$($labels)) SET n = $properties.",
    "apoc.create.relationship": "Write CREATE (a)-[r:$($type)]->(b) SET r = $properties.",
    "apoc.merge.relationship": "Write MERGE (a)-[r:$($type)]->(b) SET r = $properties.",
    "apoc.create.setproperty": "Write SET n[key] = value.",
    "apoc.meta.schema": "Graph.schema has labels, types and properties; so has CALL db.schema.nodeTypeProperties().",
    "apoc.export.cypher.all": "Write graph.export(path, format='cypher').",
    "show_tables": "CALL db.labels() and db.relationshipTypes() list them; Graph.schema has all.",
    "table_info": "CALL db.schema.nodeTypeProperties() and db.schema.relTypeProperties() tell it.",
}
"""What to write for procedures of plugins and other engines, by their names in lower case."""
_LIBRARIES = "result.to_networkx(), to_igraph() or to_scipy() gives the graph to a library that has such algorithms."


def bind_procedure_call(
    binding: Binding, clause: ast.ProcedureCallClause, root: Operator, scope: Scope
) -> tuple[Operator, Scope]:
    """Return the rows behind a call inside of a larger query, and their scope.

    Raises
    ------
    SemanticError
        ``ProcedureNotFound``, ``InvalidNumberOfArguments``, ``InvalidArgumentType``, ``InvalidArgumentPassingMode``,
        ``VariableAlreadyBound``; ``UndefinedVariable`` for outputs that get no names, or that there are none of.
    """
    procedure = _procedure(binding, clause)
    if clause.args is None and procedure.signature.inputs:
        raise binding.error(
            "InvalidArgumentPassingMode",
            f"`{procedure.name}` needs its arguments in parentheses here.",
            clause.name_span,
            f"Write {_form(procedure)}. Only a call that stands alone takes them from parameters.",
        )
    if clause.items is None and not procedure.signature.is_void:
        names = ", ".join(each.name for each in procedure.signature.outputs)
        raise binding.error(
            "UndefinedVariable", f"The outputs of `{procedure.name}` get no names.", clause.span, f"Add YIELD {names}."
        )
    if clause.items == ():
        raise binding.error(
            "UnexpectedSyntax", "YIELD * can only end a call that stands alone.", clause.span, "Name the outputs."
        )
    return _called(binding, clause, procedure, clause.items or (), root, scope)


def bind_standalone_call(
    binding: Binding, clause: ast.ProcedureCallClause, root: Operator
) -> tuple[Operator, dict[str, Type]]:
    """Return the rows of a call that is a whole statement, and the columns of its result."""
    procedure = _procedure(binding, clause)
    items = clause.items or tuple(
        ast.YieldItem(each.name, each.name, span=clause.span) for each in procedure.signature.outputs
    )
    root, scope = _called(binding, clause, procedure, items, root, Scope())
    if not items:
        return without_rows(binding, root), {}
    symbols = {item.name: scope.symbols[item.name] for item in items}
    columns = ((name, Variable(symbol.name, type=symbol.type)) for name, symbol in symbols.items())
    return Project(root, tuple(columns)), {name: symbol.type for name, symbol in symbols.items()}


def without_rows(binding: Binding, root: Operator) -> Operator:
    """Return what takes all rows of an operator and emits none."""
    rows = Aggregate(root, (), ((binding.names.anonymous(), AggregateCall("count", (), type=INTEGER)),))
    return Skip(Project(rows, ()), Literal(1, type=INTEGER))


def in_subquery(binding: Binding, clause: ast.ProcedureCallClause) -> ast.CallClause:
    """Return ``OPTIONAL CALL p(…) YIELD …`` as the subquery that it stands for."""
    items = clause.items
    if not items:
        items = tuple(ast.YieldItem(each.name, each.name) for each in _procedure(binding, clause).signature.outputs)
    call = ast.ProcedureCallClause(
        clause.name, clause.args, clause.items, clause.where, span=clause.span, name_span=clause.name_span
    )
    named = tuple(
        ast.ReturnItem(ast.Variable(item.name, span=item.span), None, item.name, span=item.span) for item in items
    )
    returned = ast.ReturnClause(ast.Projection(named, span=clause.span), span=clause.span)
    query = ast.Query((call, returned), span=clause.span)
    return ast.CallClause(ast.Statement(query, span=clause.span), None, True, True, span=clause.span)


def bind_load_csv(binding: Binding, clause: ast.LoadCsvClause, root: Operator, scope: Scope) -> tuple[Operator, Scope]:
    """Return the rows behind LOAD CSV, and their scope."""
    if clause.periodic is not None:
        binding.notice(
            "PeriodicCommitIgnored",
            "",
            "USING PERIODIC COMMIT has no effect: the statement is one transaction.",
            clause.periodic,
            f"Write LOAD CSV … AS {clause.name} CALL ({clause.name}) {{ … }} IN TRANSACTIONS OF 1000 ROWS.",
        )
    url = ExpressionBinder(binding, scope, "LOAD CSV").value(clause.url)
    if not may_be(url.type, Kind.STRING):
        raise binding.error(
            "InvalidArgumentType", f"LOAD CSV takes a STRING, not {indefinite(url.type)}.", clause.url.span
        )
    _check_new(binding, clause.name, scope.symbols, clause)
    symbol = Symbol(binding.names.fresh(clause.name), MAP if clause.headers else list_of(STRING))
    symbols = {clause.name: symbol}
    text = binding.text.lower()
    for name, type in (("linenumber", INTEGER), ("file", STRING)):
        if f"{name}(" in text:
            symbols[hidden_name(name)] = Symbol(binding.names.anonymous(), type)
    line, file = (symbols[key].name if key in symbols else "" for key in map(hidden_name, ("linenumber", "file")))
    root = LoadCsv(root, url, symbol.name, clause.headers, clause.separator, line, file)
    return root, scope.with_symbols(symbols)


def _procedure(binding: Binding, clause: ast.ProcedureCallClause) -> Procedure:
    found = binding.procedures.find(clause.name)
    if found is None:
        near = _ELSEWHERE.get(clause.name.lower()) or did_you_mean(binding.procedures.nearest(clause.name))
        if clause.name.lower().startswith(_ALGORITHMS):
            near = _LIBRARIES
        raise binding.error(
            "ProcedureNotFound",
            f"There is no procedure `{clause.name}`.",
            clause.name_span,
            near or "CALL dbms.procedures() lists those that there are; Graph.register_procedure adds one.",
        )
    return found


def _form(procedure: Procedure) -> str:
    return f"{procedure.name}({', '.join(each.name for each in procedure.signature.inputs)})"


def _called(
    binding: Binding,
    clause: ast.ProcedureCallClause,
    procedure: Procedure,
    items: tuple[ast.YieldItem, ...],
    root: Operator,
    scope: Scope,
) -> tuple[Operator, Scope]:
    args = _arguments(binding, clause, procedure, scope)
    types = {each.name: each.type for each in procedure.signature.outputs}
    symbols: dict[str, Symbol] = {}
    for item in items:
        if item.output not in types:
            raise binding.error(
                "UndefinedVariable",
                f"`{procedure.name}` has no output `{item.output}`.",
                item.span,
                f"Its outputs are {', '.join(types)}." if types else "It is VOID: leave out YIELD.",
            )
        _check_new(binding, item.name, scope.symbols, item)
        _check_new(binding, item.name, symbols, item)
        symbols[item.name] = Symbol(binding.names.fresh(item.name), types[item.output])
    outputs = tuple((item.output, symbols[item.name].name) for item in items)
    root, scope = ProcedureCall(root, procedure, args, outputs, clause.span), scope.with_symbols(symbols)
    if clause.where is not None:
        root = Filter(root, ExpressionBinder(binding, scope, "WHERE").condition(clause.where))
    return root, scope


def _arguments(
    binding: Binding, clause: ast.ProcedureCallClause, procedure: Procedure, scope: Scope
) -> tuple[Expr, ...]:
    inputs = procedure.signature.inputs
    defaults = [Literal(json.loads(each.default), type=each.type) for each in inputs if each.default is not None]
    needed = len(inputs) - len(defaults)
    if clause.args is None:
        return (*(Parameter(each.name, span=clause.name_span) for each in inputs[:needed]), *defaults)
    if not needed <= len(clause.args) <= len(inputs):
        raise binding.error(
            "InvalidNumberOfArguments",
            f"`{procedure.name}` takes {f'{needed} to ' if defaults else ''}{len(inputs) or 'no'} "
            f"argument{'s' if len(inputs) != 1 else ''}, not {len(clause.args)}.",
            clause.span,
            f"Write {_form(procedure)}.",
        )
    binder = ExpressionBinder(binding, scope, "CALL")
    args = tuple(map(binder.value, clause.args))
    for field, arg, node in zip(inputs, args, clause.args, strict=False):
        if not accepts(field.type, arg.type):
            raise binding.error(
                "InvalidArgumentType",
                f"`{procedure.name}` takes {indefinite(field.type)} as `{field.name}`, not {indefinite(arg.type)}.",
                node.span,
                f"Write {_form(procedure)}.",
            )
    return (*args, *defaults[len(args) - needed :])


def _check_new(binding: Binding, name: str, symbols: Mapping[str, Symbol], place: ast.Ast) -> None:
    if name in symbols:
        raise binding.error(
            "VariableAlreadyBound", f"Variable `{name}` is already defined.", place.span, "Rename it: … AS other."
        )
