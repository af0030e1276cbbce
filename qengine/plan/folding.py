"""Which aggregates can be folded from rows of ids: those whose keys and arguments are each of one variable."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from qengine._frozen import replace
from qengine.plan.expr import AggregateCall, Call, Expr, Literal, Parameter, Variable
from qengine.plan.logical import Aggregate
from qengine.plan.physical import Carried, CarriedByValue, EdgeLevel, Eliminate, Search, SearchPart, VertexLevel
from qengine.plan.traverse import free_variables, is_repeatable
from qengine.types import NODE, RELATIONSHIP, Type

_FOLDED = frozenset({"count", "sum", "avg", "min", "max"})
GATHERED = frozenset({"percentilecont", "percentiledisc"})
"""Aggregates of a fold that keeps the values of each group, in any order: the host's alone."""
EXTREMES = frozenset({"min", "max"})
SUMMED = frozenset({"count", "sum", "avg"})
"""Aggregates of which those of parts add up."""
WEIGHED_VALUES = GATHERED | {"stdev", "stdevp"}
"""Aggregates that need all values of a group, each with how often it comes."""
WEIGHED = _FOLDED | WEIGHED_VALUES
"""Aggregates that take a row's weight as a number; the others repeat the row."""
_BEYOND = "@beyond"
_OF_ENTRY = "@of entry"
ENTRY = "@entry"
"""The variable of a relationship that a search doesn't tell."""
COUNTED, LEAST = " counted", " least"
"""Behind the name of a column of sums beyond an end: that of how many values were added, and of the least of them."""


def folded_variables(operator: Aggregate) -> frozenset[str] | None:
    """Return the variables that an aggregate's keys and arguments read; None where it can't be folded."""
    exprs: list[Expr] = [expr for _, expr in operator.keys]
    for _, call in operator.aggregates:
        if call.name not in _FOLDED | GATHERED or (call.distinct and call.name not in ("count", *EXTREMES)):
            return None
        if not all(isinstance(each, Literal | Parameter) for each in call.args[1:]):
            return None
        exprs += call.args[:1]
    if not all(len(free_variables(expr)) == 1 and is_repeatable(expr) for expr in exprs):
        return None
    return frozenset(map(variable_of, exprs))


def variable_of(expr: Expr) -> str:
    """Return the only variable of an expression."""
    (name,) = free_variables(expr)
    return name


def ends_of(carried: Iterable[Carried | CarriedByValue]) -> dict[str, str]:
    """Return the ends of entries that nodes are carried by, themselves or by others that stand before them."""
    found: dict[str, str] = {}
    for each in carried:
        found[each.name] = found.get(each.bearer, each.bearer)
    return found


def ignores_repeats(calls: Sequence[AggregateCall]) -> bool:
    """Tell whether aggregates are the same however often a row comes."""
    return all(call.distinct or call.name in EXTREMES for call in calls)


def of_entries(operator: Aggregate) -> tuple[Aggregate, dict[Expr, Expr]]:
    """Return an aggregate over relationships, with expressions of several variables as ones of the relationship alone,
    and what each of these stands for. As it is where its rows are no entries of lists.
    """
    search = operator.input.search if isinstance(operator.input, Eliminate) else operator.input
    levels = entry_levels(search) if isinstance(search, Search) else None
    first, second, edge = levels or (None, None, None)
    if first is None or second is None:
        return operator, {}
    relationship = Variable(ENTRY if edge is None else edge.name, type=RELATIONSHIP)
    told = {first.name, second.name, relationship.name}
    made: dict[Expr, Expr] = {}

    def of_entry(expr: Expr) -> Expr:
        read = free_variables(expr)
        if len(read) < 2 or not read <= told or not is_repeatable(expr):
            return expr
        name = next((name for name, known in made.items() if known == expr), None)
        if name is None:
            name = Call(_OF_ENTRY, (relationship, Literal(len(made))), type=expr.type)
            made[name] = expr
        return name

    keys = tuple((name, of_entry(expr)) for name, expr in operator.keys)
    calls = tuple(
        (name, replace(call, args=(*map(of_entry, call.args[:1]), *call.args[1:])))
        for name, call in operator.aggregates
    )
    return (replace(operator, keys=keys, aggregates=calls), made) if made else (operator, {})


def beyond(node: str, column: str, type: Type) -> Call:
    """Return the expression of a node that stands for a column of an aggregate by it (``AggregateEntries.values``)."""
    return Call(_BEYOND, (Variable(node, type=NODE), Literal(column)), type=type)


def column_beyond(expr: Expr) -> str:
    """Return the column that an expression of ``beyond`` stands for, "" for others."""
    match expr:
        case Call(name=name, args=(_, Literal(value=column))) if name == _BEYOND:
            return str(column)
    return ""


def entry_levels(search: Search) -> tuple[VertexLevel, VertexLevel | None, EdgeLevel | None] | None:
    """Return the levels of a search that reads one vertex, or the relationships of one pattern: each entry is a row.

    None of other searches. A second vertex may have to differ from the first.
    """
    first, *more = search.levels if search.levels else (None,)
    if isinstance(search, SearchPart):
        return None
    if not isinstance(first, VertexLevel) or first.sources or first.conditions or search.orbits > 1 or search.images:
        return None
    if not more:
        return first, None, None
    second, *more = more
    edge = more[0] if more else None
    if not isinstance(second, VertexLevel) or len(second.sources) != 1 or len(more) > 1:
        return None
    if second.less or second.greater or second.pairs or not isinstance(edge, EdgeLevel | None):
        return None
    source = second.sources[0]
    if edge is not None:
        ways = {(0, 1): edge.direction, (1, 0): edge.direction.reversed()}
        if edge.different or edge.types != source.types or ways.get((edge.start, edge.end)) != source.direction:
            return None
    return first, second, edge
