"""Sorts the predicates of a match: before it, inside the search, or on the rows that it gives."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import field

from qengine._frozen import record
from qengine.catalog.view import CatalogView
from qengine.optimizer.difference import Differences
from qengine.optimizer.search_levels import NamedCondition, as_filter
from qengine.plan.expr import Call, Comparison, Expr, Logical, Property, Variable
from qengine.plan.fallible import condition_can_fail
from qengine.plan.pattern import QueryGraph
from qengine.plan.traverse import free_variables
from qengine.types import BOOLEAN, Kind

_NUMBERS = (Kind.INTEGER, Kind.FLOAT)


@record
class PostFilters:
    """``inequalities``: nodes that must differ. ``conditions``: columns compared inside the search, numbers, or strings
    that must be equal. ``general``: everything else, on the rows.
    """

    inequalities: list[tuple[str, str]] = field(default_factory=list)
    conditions: list[NamedCondition] = field(default_factory=list)
    general: list[Expr] = field(default_factory=list)

    def inequalities_into(self, difference: Differences) -> None:
        """Treat ``a <> b`` like the differences that the match mode asks for."""
        difference.vertices |= {frozenset(pair) for pair in self.inequalities}

    def across(self, components: Sequence[Collection[str]], difference: Differences, ends: dict[str, str]) -> None:
        """Turn what spans two separately searched components into filters on rows.

        ``ends`` maps a relationship to one of its nodes.
        """
        place = {name: i for i, component in enumerate(components) for name in component}

        def spans(*names: str) -> bool:
            return len({place[name] for name in names}) > 1

        apart = sorted(sorted(pair) for pair in difference.vertices if spans(*pair))
        self.general += [_different(one, other) for one, other in apart]
        for first, second in difference.pairs:
            if spans(*first, *second):
                self.general.append(Logical("OR", (_different(*first), _different(*second))))
        edges = sorted(sorted(pair) for pair in difference.edges if spans(*(ends[name] for name in pair)))
        self.general += [_different(one, other) for one, other in edges]
        for each in [each for each in self.conditions if spans(each.left, each.right)]:
            self.conditions.remove(each)
            self.general.append(as_filter(each))


def split_predicates(
    graph: QueryGraph, catalog: CatalogView, columns: Collection[str], counted: bool = False
) -> tuple[list[Expr], PostFilters]:
    """Return the predicates that only read the input's columns, and the others sorted by kind.

    ``counted``: rows that are equal may come as one with a number, so that the match may be eliminated.
    """
    before: list[Expr] = []
    filters = PostFilters()
    nodes = {node.name for node in graph.nodes}
    for predicate in graph.predicates:
        if free_variables(predicate) <= set(columns) and not condition_can_fail(predicate):
            before.append(predicate)
            continue
        match predicate:
            case Comparison(ops=("<>",), args=(Variable(name=one), Variable(name=other))) if {one, other} <= nodes:
                filters.inequalities.append((one, other))
            case Comparison(ops=(op,), args=(Property() as left, Property() as right)) if (
                _kind(left, nodes, catalog) in _NUMBERS and _kind(right, nodes, catalog) in _NUMBERS
            ) or (
                op in ("=", "<>")
                and _within_search(left, right, graph, counted)
                and _kind(left, nodes, catalog) is Kind.STRING
            ):
                filters.conditions.append(_condition(op, left, right))
            case Call(name="NOT", args=(Comparison(ops=("=",), args=(Variable(name=one), Variable(name=other))),)) if {
                one,
                other,
            } <= nodes:
                filters.inequalities.append((one, other))
            case _:
                filters.general.append(predicate)
    return before, filters


def _condition(op: str, left: Property, right: Property) -> NamedCondition:
    assert isinstance(left.subject, Variable) and isinstance(right.subject, Variable)
    return NamedCondition(op, left.subject.name, left.key, right.subject.name, right.key)


def _kind(expr: Property, nodes: Collection[str], catalog: CatalogView) -> Kind | None:
    """Return of which kind the values of a node's property are, None of something else's."""
    if not isinstance(expr.subject, Variable) or expr.subject.name not in nodes:
        return None
    found = catalog.property_type("node", expr.key)
    return None if found is None else found.kind


def _within_search(left: Property, right: Property, graph: QueryGraph, counted: bool) -> bool:
    """Tell whether one property is compared of a relationship's two ends, or of any nodes where a search is asked for.

    Or of any where rows are counted: an elimination takes such conditions. Of others it is rather compared on rows.
    """
    if left.key != right.key or not (isinstance(left.subject, Variable) and isinstance(right.subject, Variable)):
        return False
    if counted or graph.hints.strategy == "search":
        return True
    ends = {left.subject.name, right.subject.name}
    return any({each.start, each.end} == ends and each.hops is None for each in graph.relationships)


def _different(one: str, other: str) -> Expr:
    return Comparison(("<>",), (Variable(one), Variable(other)), type=BOOLEAN)
