"""Binds ``CALL { … }``.

A body that only reads, row by row, is joined to the clauses before it. One that does more, such as to aggregate, sort
or to limit, becomes a ``COLLECT { … }`` of its rows as maps, which is unwound; what plans and runs reading queries does
it for these too. One that updates, or runs in transactions of its own, becomes a step of an ``Update``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from qengine._frozen import frozen, replace
from qengine.binder.binding import Binding
from qengine.binder.expressions import ExpressionBinder
from qengine.binder.inference import join
from qengine.binder.projection import bind_with
from qengine.binder.scope import Outer, Scope, Symbol, hidden_name
from qengine.binder.set_operations import bind_set_operation
from qengine.plan.expr import Call, Case, Comparison, Expr, Literal, MapOf, Property, Subquery, Variable, list_of_items
from qengine.plan.logical import Argument, Filter, LoadCsv, Match, Operator, ProcedureCall, Project, Unwind
from qengine.plan.traverse import operators, started
from qengine.plan.updates import CallSubquery
from qengine.syntax import ast
from qengine.types import INTEGER, LIST, MAP, NULL, Type, list_of

BindClauses = Callable[
    [Binding, tuple[ast.Clause, ...], Operator, Scope, tuple[ast.Clause, ...]], tuple[Operator, Scope]
]
"""Binds the clauses before RETURN, which is given last, on the rows of an operator."""


@frozen
class _Branch:
    """A query of the body: its rows, and what its columns stand for; None where it returns nothing."""

    root: Operator
    symbols: dict[str, Symbol] | None


@frozen
class _Body:
    """The bound body: its queries, the columns that they import, and the names and types of what they return.

    ``union``: what joins several.
    """

    branches: tuple[_Branch, ...]
    union: ast.UnionQuery | None
    outer: tuple[str, ...]
    types: dict[str, Type] | None


def kept(scope: Scope, carried: tuple[Symbol, ...]) -> dict[str, Expr]:
    """Return the columns that a scope's names stand for, and outer ones, as expressions that hand them on."""
    columns: dict[str, Expr] = {}
    for symbol in scope.symbols.values():
        for each in symbol.columns():
            if symbol.value is None or each.name not in columns:
                columns[each.name] = Variable(each.name, type=each.type)
    return columns | {symbol.name: Variable(symbol.name, type=symbol.type) for symbol in carried}


def with_names(clause: ast.CallClause, scope: Scope) -> ast.CallClause:
    """Return ``OPTIONAL { MATCH … }`` as a call that returns the names which its patterns add to a scope."""
    query = clause.body.body
    assert isinstance(query, ast.Query)
    *matches, last = query.clauses
    names = [name for match in matches if isinstance(match, ast.MatchClause) for name in _named(match.patterns)]
    items = [
        ast.ReturnItem(ast.Variable(name, span=last.span), None, name, span=last.span)
        for name in dict.fromkeys(names)
        if scope.find(name) is None
    ]
    if not items:  # as many rows as there are matches, each with something
        items = [ast.ReturnItem(ast.Literal(True, span=last.span), hidden_name("match"), "", span=last.span)]
    returned = ast.ReturnClause(ast.Projection(tuple(items), span=last.span), span=last.span)
    body = ast.Query((*matches, returned), span=query.span)
    return replace(clause, body=ast.Statement(body, span=clause.body.span), gives_names=False)


def _named(elements: Iterable[ast.Ast]) -> Iterator[str]:
    """Give the names of paths and of what they are made of."""
    for element in elements:
        if isinstance(element, (ast.PathPattern, ast.QuantifiedPath, ast.NodePattern, ast.RelationshipPattern)):
            if element.name is not None:
                yield element.name
            if isinstance(element, (ast.PathPattern, ast.QuantifiedPath)):
                yield from _named(element.elements)


def bind_reading_call(
    binding: Binding,
    clause: ast.CallClause,
    root: Operator,
    scope: Scope,
    carried: tuple[Symbol, ...],
    bind: BindClauses,
) -> tuple[Operator, Scope]:
    """Return the rows behind a CALL that only reads, and their scope. ``carried``: outer columns to hand on as well."""
    body = _body(binding, clause, scope, bind)
    if body.types is None:
        if any(isinstance(each, ProcedureCall) for branch in body.branches for each in operators(branch.root)):
            message = "A procedure isn't called in a subquery that returns nothing and updates nothing."
            raise binding.unsupported(message, clause.span, "Call it without CALL { … }, or RETURN something.")
        return root, scope
    columns = kept(scope, carried)
    only = body.branches[0]
    if len(body.branches) == 1 and not clause.optional and only.symbols is not None:
        joined = _joined(only.root, root, columns)
        if joined is not None:
            return joined, scope.with_symbols(only.symbols)
    source = _collected(binding, body, clause)
    if clause.optional:
        rows = Variable(binding.names.anonymous(), type=source.type)
        root = Project(root, (*columns.items(), (rows.name, source)))
        size = Call("size", (rows,), type=INTEGER)
        empty = Comparison(("=",), (size, Literal(0, type=INTEGER)))
        source = Case(((empty, list_of_items((Literal(None, type=NULL),), type=LIST)),), rows, type=rows.type)
    row = Variable(binding.names.anonymous(), type=MAP)
    symbols = {alias: Symbol(binding.names.fresh(alias), type) for alias, type in body.types.items()}
    added = [(symbol.name, Property(row, alias, type=symbol.type)) for alias, symbol in symbols.items()]
    return Project(Unwind(root, source, row.name), (*columns.items(), *added)), scope.with_symbols(symbols)


def _joined(body: Operator, root: Operator, columns: dict[str, Expr]) -> Operator | None:
    """Return a body on top of the rows that it is called for, None where it isn't carried out row by row."""
    spine: list[Match | Filter | Unwind | ProcedureCall | LoadCsv | Project] = []
    while not isinstance(body, Argument):
        if not isinstance(body, (Match, Filter, Unwind, ProcedureCall, LoadCsv, Project)):
            return None
        spine.append(body)
        body = body.input
    for operator in reversed(spine):
        if isinstance(operator, Project):
            own = {name for name, _ in operator.items}
            others = ((name, expr) for name, expr in columns.items() if name not in own)
            root = Project(root, (*operator.items, *others))
        else:
            root = replace(operator, input=root)
    return root


def _collected(binding: Binding, body: _Body, clause: ast.CallClause) -> Expr:
    """Return the list of the body's rows, each a map."""
    column = binding.names.anonymous()
    inputs = []
    for branch in body.branches:
        assert branch.symbols is not None
        entries = ((alias, Variable(each.name, type=each.type)) for alias, each in branch.symbols.items())
        inputs.append(Project(branch.root, ((column, MapOf(tuple(sorted(entries)))),)))
    plan: Operator = inputs[0]
    if body.union is not None:
        plan = bind_set_operation(binding, body.union, inputs, ((column, MAP),))
    return Subquery("collect", plan, body.outer, type=list_of(MAP), span=clause.span)


def bind_updating_call(
    binding: Binding, clause: ast.CallClause, scope: Scope, bind: BindClauses
) -> tuple[CallSubquery, dict[str, Symbol]]:
    """Return the step that a CALL is which updates or has transactions of its own, and the names that it adds."""
    body = _body(binding, clause, scope, bind)
    symbols: dict[str, Symbol] = {}
    if body.types is None:
        plans = [branch.root for branch in body.branches]
    elif len(body.branches) == 1:
        symbols = body.branches[0].symbols or {}
        plans = [body.branches[0].root]
    else:
        symbols = {alias: Symbol(binding.names.fresh(alias), type) for alias, type in body.types.items()}
        plans = [_renamed(branch, symbols) for branch in body.branches]
    if body.types is None and len(plans) > 1:
        plans = [Project(plan, ()) for plan in plans]
    plan = plans[0]
    if body.union is not None:
        types = tuple((symbol.name, symbol.type) for symbol in symbols.values())
        plan = bind_set_operation(binding, body.union, plans, types)
    columns = tuple(symbol.name for symbol in symbols.values())
    settings = clause.transactions
    batch = report = None
    if settings is not None:
        written = settings.batch if settings.batch is not None else ast.Literal(1000, span=settings.span)
        batch = ExpressionBinder(binding, Scope(), "IN TRANSACTIONS").value(written)
        if settings.report is not None:
            _check_new(binding, settings.report, scope, settings)
            report = Symbol(binding.names.fresh(settings.report), MAP)
            symbols = {**symbols, settings.report: report}
    return CallSubquery(
        plan,
        body.outer,
        columns,
        unit=body.types is None,
        optional=clause.optional,
        batch=batch,
        on_error=settings.on_error if settings is not None else "fail",
        report=report.name if report is not None else None,
        span=clause.span,
    ), symbols


def _renamed(branch: _Branch, symbols: dict[str, Symbol]) -> Operator:
    own = branch.symbols or {}
    items = ((symbol.name, Variable(own[alias].name, type=own[alias].type)) for alias, symbol in symbols.items())
    return Project(branch.root, tuple(items))


def _body(binding: Binding, clause: ast.CallClause, scope: Scope, bind: BindClauses) -> _Body:
    body = clause.body.body
    queries = body.queries if isinstance(body, ast.UnionQuery) else (body,)
    imports = [_imports(binding, clause, query, scope) for query in queries]
    read = Outer(scope) if clause.star else None  # what of all that is visible the body reads
    imported = (symbol for _, symbols in imports for symbol in symbols.values())
    outer = tuple(dict.fromkeys(each.name for symbol in imported for each in symbol.columns()))
    branches = []
    for clauses, symbols in imports:
        last = clauses[-1]
        returns = isinstance(last, ast.ReturnClause)
        listed = clause.star or clause.variables is not None  # then they are seen in all of the body, behind WITH too
        start = Scope(outer=read or Outer(Scope(symbols))) if listed else Scope(symbols)
        root, inside = bind(binding, clauses[:-1] if returns else clauses, Argument(outer), start, (last,))
        if not isinstance(last, ast.ReturnClause) or not (last.projection.items or last.projection.star):
            branches.append(_Branch(root, None))
            continue
        _check_named(binding, last.projection)
        root, inside = bind_with(binding, ast.WithClause(last.projection, span=last.span), root, inside, ())
        branches.append(_Branch(root, dict(inside.symbols)))
    if read is not None:
        outer = tuple(read.captured)
        branches = [replace(branch, root=started(branch.root, Argument(outer))) for branch in branches]
    first = branches[0].symbols
    union = body if isinstance(body, ast.UnionQuery) else None
    if first is None:
        return _Body(tuple(branches), union, outer, None)
    for query, branch in zip(queries, branches, strict=True):
        if sorted(branch.symbols or ()) != sorted(first):
            raise binding.error(
                "DifferentColumnsInUnion",
                "The queries of a UNION return different columns.",
                query.clauses[-1].span,
                "Name them alike with AS.",
            )
        for name in branch.symbols or ():
            _check_new(binding, name, scope, query.clauses[-1])
    types = {alias: join([(branch.symbols or {})[alias].type for branch in branches]) for alias in first}
    return _Body(tuple(branches), union, outer, types)


def _check_named(binding: Binding, projection: ast.Projection) -> None:
    for item in projection.items:
        if item.alias is None and not isinstance(item.expression, ast.Variable):
            message = "A column that CALL { … } returns needs a name."
            raise binding.error("NoExpressionAlias", message, item.span, f"Write {item.text} AS name.")


def _check_new(binding: Binding, name: str, scope: Scope, place: ast.Ast) -> None:
    if scope.find(name) is not None:
        raise binding.error(
            "VariableAlreadyBound",
            f"Variable `{name}` is already defined outside the subquery.",
            place.span,
            f"Return it under another name: {name} AS ….",
        )


def _imports(
    binding: Binding, clause: ast.CallClause, query: ast.Query, scope: Scope
) -> tuple[tuple[ast.Clause, ...], dict[str, Symbol]]:
    """Return a query's clauses without a WITH that only imports, and what is imported."""
    clauses = query.clauses
    names: list[str] = []
    if clause.star:  # all that is visible, of which the body imports what it reads
        pass
    elif clause.variables is not None:
        names = [each.name for each in clause.variables]
        for each in clause.variables:
            if scope.find(each.name) is None:
                raise binding.undefined(each.name, each.span, scope)
    elif (found := _importing(clauses[0], scope)) is not None:
        names, clauses = list(found), clauses[1:]
    symbols = ((name, scope.find(name)) for name in dict.fromkeys(names))
    return clauses, {name: symbol for name, symbol in symbols if symbol is not None}


def _importing(clause: ast.Clause, scope: Scope) -> Iterator[str] | None:
    """Return the names that a WITH at the start of a body imports, None where it is none of that kind."""
    if not isinstance(clause, ast.WithClause) or clause.where is not None:
        return None
    projection = clause.projection
    if projection.distinct or projection.order or projection.skip is not None or projection.limit is not None:
        return None
    if projection.star:
        return scope.visible() if not projection.items else None
    names = [each.expression.name for each in projection.items if isinstance(each.expression, ast.Variable)]
    renamed = any(each.alias not in (None, name) for each, name in zip(projection.items, names, strict=False))
    if renamed or len(names) < len(projection.items) or any(scope.find(name) is None for name in names):
        return None
    return iter(names)
