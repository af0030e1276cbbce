"""Lowers the operators around matches: works out which columns each needs, and hands that down."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch

from qengine._frozen import replace
from qengine.catalog.view import CatalogView
from qengine.optimizer.intervals import expected_rows
from qengine.optimizer.lower.bounded import bounded_sort
from qengine.optimizer.lower.by_ends import by_ends
from qengine.optimizer.lower.by_node import by_node
from qengine.optimizer.lower.completed import completed, matched_alone
from qengine.optimizer.lower.counted_values import counted_values
from qengine.optimizer.lower.demand import Demand, Duplicates, Lowered, Reads
from qengine.optimizer.lower.distinct import distinct_as_groups, is_read_soon
from qengine.optimizer.lower.lengths import lengths_alone
from qengine.optimizer.lower.members import GivenRows, lower_match
from qengine.optimizer.lower.one_row import joined_to_one_row, of_one_row
from qengine.optimizer.lower.reach import counted_ends
from qengine.optimizer.lower.subquery import attach_subqueries
from qengine.optimizer.lower.unrolled import is_of_several, unrolled
from qengine.optimizer.rows import estimated_rows
from qengine.plan.columns import columns_of
from qengine.plan.expr import AggregateCall, Call, Expr, Literal, Variable
from qengine.plan.folding import WEIGHED
from qengine.plan.logical import (
    Aggregate,
    Argument,
    Distinct,
    Filter,
    Limit,
    LoadCsv,
    Match,
    Operator,
    ProcedureCall,
    Project,
    Skip,
    Sort,
    SortKey,
    Union,
    Unit,
    Unwind,
)
from qengine.plan.pattern import PatternNode, PatternRelationship, QueryGraph
from qengine.plan.physical import Bounded, Optional, Walk
from qengine.plan.predicates import is_cheap
from qengine.plan.traverse import free_variables, operators
from qengine.types import BOOLEAN, INTEGER

_FEW_WALKS = 1e4  # are made in less time than it takes to plan how to count them


@singledispatch
def lower(operator: Operator, demand: Demand, catalog: CatalogView) -> Lowered:
    """Return the physical form of an operator for what the one above it needs."""
    raise TypeError(f"no lowering for {type(operator).__name__}")


@lower.register
def _unit(operator: Unit, demand: Demand, catalog: CatalogView) -> Lowered:
    return Lowered(operator, ())


@lower.register
def _argument(operator: Argument, demand: Demand, catalog: CatalogView) -> Lowered:
    return Lowered(operator, operator.columns)


@lower.register
def _match(operator: Match, demand: Demand, catalog: CatalogView) -> Lowered:
    plain = unrolled(operator, demand)
    if plain is None:
        return _lowered_match(operator, demand, catalog)
    if not is_of_several(operator.graph):
        walked = _lowered_match(operator, demand, catalog)
        if _has_few_walks(walked.root, catalog):
            return walked
    return lower(plain, demand, catalog)


def _has_few_walks(root: Operator, catalog: CatalogView) -> bool:
    """Tell whether a plan is expected to make few walks, each of which is a row."""
    to_bound = any(isinstance(each, Walk) and each.end_bound for each in operators(root))
    return not to_bound and max(estimated_rows(root, catalog).values()) < _FEW_WALKS


def _lowered_match(operator: Match, demand: Demand, catalog: CatalogView) -> Lowered:
    graph = operator.graph
    names = {node.name for node in graph.nodes if node.bound}
    names |= {edge.name for edge in graph.relationships if edge.bound}
    names |= {name for predicate in graph.predicates for name in free_variables(predicate)}
    elements: list[PatternNode | PatternRelationship] = [*graph.nodes, *graph.relationships]
    for element in elements:
        for predicate in element.predicates:
            names |= free_variables(predicate) - {element.name}
    for path in graph.paths:
        names |= set(path.elements)
    names -= set(graph.variables())
    below = Demand(demand.columns | names, demand.duplicates)
    source = lower(operator.input, below, catalog)
    if not operator.optional:
        return lower_match(graph, catalog, demand, GivenRows(source.root, source.columns, source.weight))
    arguments = tuple(name for name in source.columns if name in names)
    wanted = demand.columns & set(graph.variables())
    rows = expected_rows(source.root, catalog)
    inner_demand = Demand(frozenset(wanted), demand.duplicates, demand.times * rows.high, demand.least * rows.low)
    given = GivenRows(Argument(arguments), arguments, outer=source.root, taken=frozenset(source.columns))
    inner = lower_match(graph, catalog, inner_demand, given)
    added = tuple(name for name in inner.columns if name not in arguments and name in wanted)
    matched = _matched(graph) if graph.variables() and _matched(graph) in demand.columns else None
    root: Operator = Optional(source.root, inner.root, added, inner.weight, matched)
    added += (matched,) if matched is not None else ()
    if inner.weight is None:
        return Lowered(root, (*source.columns, *added), source.weight)
    if source.weight is None:
        return Lowered(root, (*source.columns, *added, inner.weight), inner.weight)
    kept = [name for name in (*source.columns, *added) if name != source.weight]
    product = Call("*", (Variable(source.weight), Variable(inner.weight)))
    items = (*((name, Variable(name)) for name in kept), (inner.weight, product))
    return Lowered(Project(root, items), (*kept, inner.weight), inner.weight)


@lower.register
def _filter(operator: Filter, demand: Demand, catalog: CatalogView) -> Lowered:
    source = lower(operator.input, demand.also(operator.predicate), catalog)
    root, columns, (predicate,) = attach_subqueries(source.root, source.columns, (operator.predicate,), catalog)
    return Lowered(Filter(root, predicate), columns, source.weight)


@lower.register
def _project(operator: Project, demand: Demand, catalog: CatalogView) -> Lowered:
    wanted = [(name, expr) for name, expr in operator.items if name in demand.columns or not is_cheap(expr)]
    exprs = [expr for _, expr in wanted]
    below = replace(demand, columns=frozenset(), exprs=()).also(*exprs)
    if all(isinstance(expr, Variable) and expr.name == name for name, expr in wanted):
        below = replace(below, exprs=demand.exprs)
    source = lower(operator.input, below, catalog)
    root, _, changed = attach_subqueries(source.root, source.columns, exprs, catalog)
    if source.weight is None:
        root, changed = lengths_alone(root, changed)
    items = [(name, expr) for (name, _), expr in zip(wanted, changed, strict=True)]
    if source.weight is not None:
        items.append((source.weight, Variable(source.weight)))
    return Lowered(Project(root, tuple(items)), tuple(name for name, _ in items), source.weight)


@lower.register
def _aggregate(operator: Aggregate, demand: Demand, catalog: CatalogView) -> Lowered:
    if (apart := of_one_row(operator)) is not None:
        row, by_others = apart
        groups = lower(by_others, demand, catalog)
        given = lower(row, Demand(frozenset(columns_of(row))), catalog)
        return Lowered(joined_to_one_row(given.root, groups.root, groups.columns), columns_of(operator))
    alone = matched_alone(operator)
    if alone is not None and not operator.keys:
        operator, alone = alone, None
    calls = [_without_bound_variable(call, operator.input) for _, call in operator.aggregates]
    root = by_node(operator, calls, lambda each, its: _with_rows(each, its, demand, catalog), catalog)
    if alone is not None:
        root = completed(operator, root, alone, lambda each: lower(each, demand, catalog).root, catalog)
    if (counted := counted_values(operator, root, catalog)) is not None:
        root = replace(counted, input=lower(counted.input, demand, catalog).root)
    elif (told := by_ends(operator, calls, root, catalog)) is not None:
        root = told
    return Lowered(root, columns_of(operator))


def _with_rows(operator: Aggregate, calls: Sequence[AggregateCall], demand: Demand, catalog: CatalogView) -> Aggregate:
    """Lower an aggregate, with the calls that it is computed by, and what its rows come from."""
    keys = [expr for _, expr in operator.keys]
    below = Demand(frozenset(), _duplicates(calls), demand.times, demand.least, exprs=()).also(*keys, *calls)
    source = lower(operator.input, below, catalog)
    exprs: list[Expr] = [*keys, *calls]
    root, _, changed = attach_subqueries(source.root, source.columns, exprs, catalog)
    if source.weight is None:
        root, changed = lengths_alone(root, changed)
    new_keys = tuple((name, expr) for (name, _), expr in zip(operator.keys, changed, strict=False))
    new_calls = tuple(
        (name, call)
        for (name, _), call in zip(operator.aggregates, changed[len(keys) :], strict=True)
        if isinstance(call, AggregateCall)
    )
    return counted_ends(Aggregate(root, new_keys, new_calls, source.weight))


def _duplicates(calls: Sequence[AggregateCall]) -> Duplicates:
    if all(call.distinct or call.name in ("min", "max") for call in calls):
        return Duplicates.IGNORE
    if all(call.distinct or call.name in WEIGHED for call in calls):
        return Duplicates.COUNT
    return Duplicates.KEEP


def _without_bound_variable(call: AggregateCall, source: Operator) -> AggregateCall:
    """Turn ``count(x)`` into ``count(*)`` where ``x`` is matched below, so never null: nobody needs it then.

    Where ``x`` is matched optionally, what is counted is whether there was a match.
    """
    if call.name != "count" or call.distinct or len(call.args) != 1 or not isinstance(call.args[0], Variable):
        return call
    name, projected = call.args[0].name, False
    while isinstance(source, Filter | Project) or (isinstance(source, Match) and name not in source.graph.variables()):
        if isinstance(source, Project):
            expr = dict(source.items)[name]
            if not isinstance(expr, Variable):
                return call
            name, projected = expr.name, True
        source = source.input
    if not isinstance(source, Match) or (source.optional and projected):
        return call
    args = (Variable(_matched(source.graph), type=BOOLEAN),) if source.optional else ()
    return AggregateCall("count", args, type=call.type, span=call.span)


def _matched(graph: QueryGraph) -> str:
    """Return the column that is true where an optional pattern has a match, null where it has none."""
    return f"@matched {graph.variables()[0]}"


@lower.register
def _distinct(operator: Distinct, demand: Demand, catalog: CatalogView) -> Lowered:
    if (grouped := distinct_as_groups(operator, demand)) is not None:
        found = lower(grouped, demand, catalog)
        if demand.reads is Reads.ALL or is_read_soon(found.root):
            return found
    below = replace(demand, columns=frozenset(columns_of(operator)), duplicates=Duplicates.IGNORE, exprs=None)
    source = lower(operator.input, below, catalog)
    return Lowered(Distinct(source.root), source.columns)


@lower.register
def _sort(operator: Sort, demand: Demand, catalog: CatalogView) -> Lowered:
    whole = _sorted(operator, demand, catalog)
    bounded = None if whole.weight is not None else bounded_sort(operator, whole.root, catalog)
    if bounded is None:
        return whole
    within = _sorted(bounded, demand, catalog)
    assert operator.limit is not None
    return replace(whole, root=Bounded(whole.root, within.root, operator.limit))


def _sorted(operator: Sort, demand: Demand, catalog: CatalogView) -> Lowered:
    exprs = [key.expr for key in operator.keys]
    source = lower(operator.input, demand.keeping().reading(Reads.ALL).also(*exprs), catalog)
    root, columns, changed = attach_subqueries(source.root, source.columns, exprs, catalog)
    keys = tuple(SortKey(expr, key.ascending) for key, expr in zip(operator.keys, changed, strict=True))
    root = Sort(root, keys, operator.limit)
    if columns != source.columns:  # what is sorted may be the result of a query, which has its own columns alone
        root = Project(root, tuple((name, Variable(name)) for name in source.columns))
    return Lowered(root, source.columns, source.weight)


@lower.register
def _skip(operator: Skip, demand: Demand, catalog: CatalogView) -> Lowered:
    source = lower(operator.input, demand.keeping().reading(Reads.FEW), catalog)
    return Lowered(Skip(source.root, operator.count), source.columns)


@lower.register
def _limit(operator: Limit, demand: Demand, catalog: CatalogView) -> Lowered:
    source = lower(operator.input, demand.keeping().reading(Reads.FEW), catalog)
    return Lowered(Limit(source.root, operator.count), source.columns)


@lower.register
def _unwind(operator: Unwind, demand: Demand, catalog: CatalogView) -> Lowered:
    source = lower(operator.input, demand.also(operator.expr), catalog)
    root, columns, (expr,) = attach_subqueries(source.root, source.columns, (operator.expr,), catalog)
    return Lowered(Unwind(root, expr, operator.name), (*columns, operator.name), source.weight)


@lower.register
def _procedure_call(operator: ProcedureCall, demand: Demand, catalog: CatalogView) -> Lowered:
    source = lower(operator.input, demand.keeping().also(*operator.args), catalog)
    root, columns, args = attach_subqueries(source.root, source.columns, operator.args, catalog)
    outputs = tuple((output, name) for output, name in operator.outputs if name in demand.columns)
    call = ProcedureCall(root, operator.procedure, tuple(args), outputs, operator.span)
    return Lowered(call, (*columns, *(name for _, name in outputs)), source.weight)


@lower.register
def _load_csv(operator: LoadCsv, demand: Demand, catalog: CatalogView) -> Lowered:
    source = lower(operator.input, demand.also(operator.url), catalog)
    root, columns, (url,) = attach_subqueries(source.root, source.columns, (operator.url,), catalog)
    fields = demand.keys_of(operator.name) if operator.headers else None
    return Lowered(replace(operator, input=root, url=url, fields=fields), (*columns, *operator.added), source.weight)


@lower.register
def _union(operator: Union, demand: Demand, catalog: CatalogView) -> Lowered:
    columns = columns_of(operator)
    if operator.all and demand.duplicates is Duplicates.COUNT:
        return _counted_union(operator, demand, catalog)
    duplicates = Duplicates.KEEP if operator.all else Duplicates.IGNORE
    inner = Demand(frozenset(columns), duplicates, demand.times, demand.least)
    sources = [lower(each, inner, catalog) for each in operator.inputs]
    return Lowered(Union(tuple(each.root for each in sources), operator.all), sources[0].columns)


def _counted_union(operator: Union, demand: Demand, catalog: CatalogView) -> Lowered:
    """Lower a union of rows that may come once with how often, where one of its inputs does that."""
    columns = [name for name in columns_of(operator) if name in demand.columns]
    inner = Demand(frozenset(columns), Duplicates.COUNT, demand.times, demand.least)
    sources = [lower(each, inner, catalog) for each in operator.inputs]
    weight = next((each.weight for each in sources if each.weight is not None), None)
    inputs: list[Operator] = []
    for source in sources:
        items: list[tuple[str, Expr]] = [(name, Variable(name)) for name in columns]
        if weight is not None:
            once = Literal(1, type=INTEGER)
            items.append((weight, once if source.weight is None else Variable(source.weight)))
        as_they_are = source.weight == weight and source.columns == tuple(name for name, _ in items)
        inputs.append(source.root if as_they_are else Project(source.root, tuple(items)))
    return Lowered(Union(tuple(inputs), all=True), (*columns, *((weight,) if weight is not None else ())), weight)
