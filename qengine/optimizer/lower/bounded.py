"""Bounds what a pattern binds by the first key of an order of which only some first rows are wanted.

``ORDER BY a.x LIMIT 10`` needs no ``a`` whose x comes after that of ten rows. Where x is one element's property, what
is known of its values gives a bound that about enough rows lie within: the query is planned once more with that as a
condition of the element. Rows within the bound come before all others, so where they are enough they are the first.
Where many have the value of the bound, they are bounded by the second key, if that is a property of the same element.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from math import ceil, floor
from typing import Any

from qengine._frozen import frozen, replace
from qengine.catalog.values import ValueSummary
from qengine.catalog.view import CatalogView
from qengine.optimizer.labels import vertex_count
from qengine.optimizer.rows import estimated_rows
from qengine.optimizer.selectivity import selectivity
from qengine.optimizer.value_shares import nulls
from qengine.plan.expr import AggregateCall, Call, Comparison, Expr, Literal, Logical, Property, Variable
from qengine.plan.fallible import can_fail, condition_can_fail
from qengine.plan.logical import Aggregate, Distinct, Filter, Match, Operator, Project, Sort, Unit, Unwind
from qengine.plan.pattern import NO_HINTS, PatternNode, PatternRelationship, QueryGraph
from qengine.plan.physical import Eliminate
from qengine.plan.traverse import is_repeatable, operators, preorder
from qengine.types import BOOLEAN, Kind

_MARGIN = 8.0
"""Times as many rows as are wanted are expected within a bound: estimates are off, and values go with degrees."""
_LEAST_ROWS = 50_000.0
"""Rows that must be expected of a pattern: fewer take no longer than to plan twice."""
_LEAST_COST = 1e7
"""Nanoseconds that an elimination must take for the same."""
_LARGEST_SHARE = 0.2
"""Of the elements: beyond it little is saved, and lost where a bound was too narrow."""
_LARGEST_SHARE_OF_GROUPS = 0.05
"""The same where rows are grouped, but not by element: groups may take no rows without a bound."""
_TIES = 4.0
"""Times as many elements as are asked for from which on those that tie with a bound are bounded themselves."""
_RARE = 3.0
"""Times as wide as the next part of a histogram is one whose first values tell nothing of where others are."""
_ASSUMED = 100
"""Rows that are taken to be wanted where a parameter says how many."""
_ORDERED = (Kind.INTEGER, Kind.FLOAT, Kind.STRING)


def bounded_sort(sort: Sort, lowered: Operator, catalog: CatalogView) -> Sort | None:
    """Return a logical sort with a bound on what it sorts, which is right where it has as many rows as are wanted.

    None where the first rows can't be told so, or not in far less time. ``lowered``: the sort's physical form.
    """
    match sort.limit:
        case None | Literal(value=0):
            return None
        case Literal(value=int() as wanted):
            pass
        case _:
            wanted = _ASSUMED
    found = _bounded_property(sort)
    if found is None:
        return None
    made = estimated_rows(lowered, catalog)
    if max(made.values()) < _LEAST_ROWS and not any(map(_takes_long, operators(lowered))):
        return None
    key, match, grouped = found
    element = _element(match.graph, key)
    summary = None if element is None else _summary(element, key.key, catalog)
    if element is None or summary is None:
        return None
    values = _Values(element, key, summary, sort.keys[0].ascending, catalog)
    rows = made[id(lowered)]
    if grouped:  # at least one of each value
        rows = max(rows, values.number())
    share, groups = _MARGIN * wanted / max(rows, 1.0), grouped == "by value"
    if share > (_LARGEST_SHARE_OF_GROUPS if groups else _LARGEST_SHARE):
        return None
    condition = None if grouped else _among_ties(values, share, sort, match)
    condition = condition or _condition(values, share, groups=groups)
    if condition is None:
        return None
    bounded = replace(element, predicates=(*element.predicates, condition))
    return replace(sort, input=_with_element(sort.input, match, bounded))


def _takes_long(operator: Operator) -> bool:
    """Tell whether an operator is an elimination that takes as long as many rows do."""
    schedule = operator.schedule("cpu") if isinstance(operator, Eliminate) else None
    return schedule is not None and schedule.cost >= _LEAST_COST


def _bounded_property(sort: Sort) -> tuple[Property, Match, str] | None:
    """Return the property that the first key is, the match that binds its owner, and how rows are grouped.

    That is "by element" where the owner is among what rows are grouped by, else "by value"; "" where they aren't. None
    where something between would fail, or give other rows, if it saw fewer of them.
    """
    key, operator, grouped = sort.keys[0].expr, sort.input, ""
    if not all(map(_is_harmless, (each.expr for each in sort.keys))):
        return None
    while not (isinstance(operator, Match) and _element(operator.graph, key) is not None):
        named: Sequence[tuple[str, Expr]] = ()
        groups = False
        match operator:
            case Project(items=items):
                named = items
            case Aggregate(keys=keys, aggregates=aggregates) if keys and all(map(_is_bounded, aggregates)):
                named, groups = keys, True
            case Distinct(input=Project(items=items) as below):
                named, groups, operator = items, True, below
            case Distinct():
                grouped = "by value"
            case Filter(predicate=predicate) if is_repeatable(predicate) and not condition_can_fail(predicate):
                pass
            case Unwind(expr=expr) if expr.type.kind is Kind.LIST and _is_harmless(expr):
                pass
            case Match(graph=graph) if _is_plain(graph):
                pass
            case _:
                return None
        if not all(_is_harmless(expr) for _, expr in named):
            return None
        if named and isinstance(key, Variable):
            key = dict(named).get(key.name, key)
        elif named and isinstance(key, Property) and isinstance(key.subject, Variable):
            subject = dict(named).get(key.subject.name)
            if not isinstance(subject, Variable):
                return None
            key = replace(key, subject=subject)
        if groups and grouped != "by value":
            owner = key.subject if isinstance(key, Property) else None
            by_element = isinstance(owner, Variable) and owner.name in (
                expr.name for _, expr in named if isinstance(expr, Variable)
            )
            grouped = "by element" if by_element else "by value"
        operator = operator.input
    assert isinstance(key, Property)
    if (
        operator.optional
        or not isinstance(operator.input, Unit)
        or not _is_plain(operator.graph)
        or key.type.kind not in _ORDERED
    ):
        return None
    return key, operator, grouped


def _is_plain(graph: QueryGraph) -> bool:
    """Tell whether a pattern is matched as its planner likes, by conditions that can't fail."""
    elements: list[PatternNode | PatternRelationship] = [*graph.nodes, *graph.relationships]
    conditions = (*graph.predicates, *(each for element in elements for each in element.predicates))
    return graph.hints == NO_HINTS and not any(map(condition_can_fail, conditions))


def _is_harmless(expr: Expr) -> bool:
    return is_repeatable(expr) and not can_fail(expr)


def _is_bounded(named: tuple[str, AggregateCall]) -> bool:
    """Tell whether an aggregate can't fail: sums of integers can exceed 64 bits."""
    call = named[1]
    known = call.name in ("count", "min", "max", "avg", "collect")
    floats = call.name == "sum" and all(arg.type.kind is Kind.FLOAT for arg in call.args)
    return (known or floats) and all(map(_is_harmless, call.args))


def _element(graph: QueryGraph, key: Expr) -> PatternNode | PatternRelationship | None:
    """Return the node or the relationship whose property a key is; None where it is none that is matched by itself."""
    if not isinstance(key, Property) or not isinstance(key.subject, Variable):
        return None
    for node in graph.nodes:
        if node.name == key.subject.name:
            return None if node.bound else node
    for edge in graph.relationships:
        if edge.name == key.subject.name:
            return None if edge.bound or edge.hops or edge.chain else edge
    return None


def _summary(element: PatternNode | PatternRelationship, key: str, catalog: CatalogView) -> ValueSummary | None:
    """Return what is known of a property's values; None where they have no order, or are of several types' elements."""
    if isinstance(element, PatternNode):
        found = catalog.value_summaries("node", key, element.labels)
    else:
        found = catalog.value_summaries("relationship", key, element.types)
    if found is None or len(found) != 1 or not found[0].distinct or found[0].minimum is None:
        return None
    return found[0]


@frozen
class _Values:
    """Values of a property among elements that satisfy their conditions, in one direction of their order."""

    element: PatternNode | PatternRelationship
    key: Property
    summary: ValueSummary
    ascending: bool
    catalog: CatalogView

    def number(self) -> float:
        """Return how many different ones there are, at most."""
        distinct = float(self.summary.distinct or 1)
        if isinstance(self.element, PatternRelationship):
            return distinct
        kept = self._share(self.element.predicates) if self.element.predicates else 1.0
        return min(distinct, kept * vertex_count(self.catalog, self.element.labels))

    def missing(self) -> float:
        """Return the share of the elements that have none."""
        return 0.0 if self._own() else nulls(self.summary)

    def first(self, share: float) -> tuple[Any, float] | None:
        """Return the first one up to which a share of the elements lies, with the share that does; None without one."""
        own, summary = self._own(), self.summary
        of_all = self._share(own) if own else 1.0
        if not of_all:
            return None

        def reached(value: Any) -> float:
            return self._share((*own, self.up_to(value))) / of_all

        common = {value for value, _ in summary.common}
        known = sorted(common | set(summary.bounds), reverse=not self.ascending)
        place = bisect_left(known, share, key=reached)
        if not place and known[1:] and known[0] not in common:  # how many have the first is a guess
            place = 1
        if place == len(known):
            return None
        value, most = known[place], reached(known[place])
        if place and most > share and isinstance(value, int | float):
            before = known[place - 1]
            least = min(share, reached(before))
            if place == 1 and known[2:] and abs(value - before) > _RARE * abs(known[2] - value):
                return value, most
            # within a part of the histogram values are spread evenly, but where the first ones are rare
            between = before + (value - before) * (share - least) / (most - least)
            between = between if isinstance(value, float) else ceil(between) if self.ascending else floor(between)
            if (found := reached(between)) >= share:
                return between, found
        return value, most

    def up_to(self, value: Any) -> Expr:
        """Return the condition of being no later than a value; of null it isn't true."""
        op = "<=" if self.ascending else ">="
        return Comparison((op,), (self.key, Literal(value, type=self.key.type)), type=BOOLEAN)

    def before(self, value: Any) -> tuple[Expr, float]:
        """Return the condition of coming before a value, which is true of no null, and the share that does."""
        op, own = "<" if self.ascending else ">", self._own()
        condition = Comparison((op,), (self.key, Literal(value, type=self.key.type)), type=BOOLEAN)
        return condition, self._share((*own, condition)) / (self._share(own) if own else 1.0)

    def _own(self) -> tuple[Expr, ...]:
        """Return the element's conditions on the property alone."""
        keys = ((each, {part.key for part in preorder(each) if isinstance(part, Property)})
                for each in self.element.predicates)  # fmt: skip
        return tuple(each for each, read in keys if read == {self.key.key})

    def _share(self, predicates: Sequence[Expr]) -> float:
        if isinstance(self.element, PatternNode):
            return selectivity(predicates, self.catalog, "node", self.element.labels)
        return selectivity(predicates, self.catalog, "relationship", self.element.types)


def _among_ties(values: _Values, share: float, sort: Sort, match: Match) -> Expr | None:
    """Return the condition of coming before a value, or having it and coming early by the second key; None without one.

    That is where the elements that have the value are several times as many as are asked for.
    """
    share -= 0.0 if values.ascending else values.missing()
    found = values.first(share) if share > 0 and values.key.type.kind is not Kind.FLOAT else None
    if found is None or found[1] < _TIES * share:
        return None
    sooner, before = values.before(found[0])
    if before >= share or len(sort.keys) < 2:
        return None
    second = _bounded_property(replace(sort, keys=sort.keys[1:]))
    if second is None or second[1] is not match or second[0].subject != values.key.subject:
        return None
    summary = _summary(values.element, second[0].key, values.catalog)
    if summary is None:
        return None
    others = _Values(values.element, second[0], summary, sort.keys[1].ascending, values.catalog)
    early = _condition(others, (share - before) / (found[1] - before), groups=False)
    if early is None:
        return None
    tied = Comparison(("=",), (values.key, Literal(found[0], type=values.key.type)), type=BOOLEAN)
    parts: list[Expr] = [sooner, Logical("AND", (tied, early), type=BOOLEAN)]
    if not values.ascending:
        parts.append(Call("IS NULL", (values.key,), type=BOOLEAN))
    return Logical("OR", tuple(parts), type=BOOLEAN)


def _condition(values: _Values, share: float, *, groups: bool) -> Expr | None:
    """Return a condition that a share of the elements or more satisfies, those first in order; None without one.

    Null comes last, NaN before it.
    """
    key, limit = values.key, _LARGEST_SHARE_OF_GROUPS if groups else _LARGEST_SHARE
    missing = Call("IS NULL", (key,), type=BOOLEAN)
    if not values.ascending:
        without = values.missing()
        if without > limit:
            return None
        if not groups and without >= share:
            return missing
        share = share if groups else share - without
    found = values.first(share)
    if found is None or found[1] > limit:
        return None
    if values.ascending:
        return values.up_to(found[0])
    if key.type.kind is Kind.FLOAT:
        before = Comparison(("<",), (key, Literal(found[0], type=key.type)), type=BOOLEAN)
        return Logical("OR", (missing, Call("NOT", (before,), type=BOOLEAN)), type=BOOLEAN)
    return Logical("OR", (missing, values.up_to(found[0])), type=BOOLEAN)


def _with_element(operator: Operator, match: Match, element: PatternNode | PatternRelationship) -> Operator:
    """Return operators over a match of which an element has other conditions."""
    if operator is not match:
        below = _with_element(operator.input, match, element)  # type: ignore[attr-defined]
        return replace(operator, input=below)
    graph = match.graph
    nodes = tuple(element if each.name == element.name else each for each in graph.nodes)
    edges = tuple(element if each.name == element.name else each for each in graph.relationships)
    return replace(match, graph=replace(graph, nodes=nodes, relationships=edges))
