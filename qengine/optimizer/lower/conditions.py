"""Sorts the predicates of a match: before it, inside the search, or on the rows that it gives."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field

from qengine._frozen import record
from qengine.catalog.view import CatalogView
from qengine.optimizer.difference import Differences
from qengine.optimizer.elimination.compared import Compared, Value, valued
from qengine.optimizer.search_levels import NamedCondition, as_filter
from qengine.optimizer.selectivity import selectivity
from qengine.optimizer.target import is_for_gpu
from qengine.plan.expr import Call, Comparison, Expr, Logical, Parameter, Property, Variable
from qengine.plan.fallible import can_fail, condition_can_fail
from qengine.plan.pattern import PatternNode, PatternRelationship, QueryGraph
from qengine.plan.traverse import comparisons_in, free_variables, only_variable
from qengine.types import BOOLEAN, Kind

_FEW_VALUES = 1 << 16
_MOST_COMPARED, _MOST_DIFFERENT = 6, 2  # conditions on two elements' values, of a pattern that is eliminated
_NUMBERS: frozenset[Kind | None] = frozenset((Kind.INTEGER, Kind.FLOAT))
_MOMENTS: frozenset[Kind | None] = frozenset((Kind.DATE, Kind.LOCAL_DATETIME))
_ORDERED = _MOMENTS | {Kind.INTEGER, Kind.STRING, Kind.FLOAT}
_TURNED = {">": "<", ">=": "<="}


def joined(graph: QueryGraph, names: Collection[str]) -> bool:
    """Tell whether a relationship of fixed length joins two nodes."""
    return any({each.start, each.end} == set(names) and each.hops is None for each in graph.relationships)


@record
class PostFilters:
    """``inequalities``: nodes that must differ. ``conditions``: columns compared inside the search, numbers, or strings
    that must be equal. ``values``: what an elimination may be asked of, strings and moments; of strings that must be
    equal a search is where that costs less than to compare rows. ``general``: everything else, on the rows. ``named``:
    as in ``split_predicates``.
    """

    inequalities: list[tuple[str, str]] = field(default_factory=list)
    conditions: list[NamedCondition] = field(default_factory=list)
    values: list[NamedCondition] = field(default_factory=list)
    general: list[Expr] = field(default_factory=list)
    named: Collection[str] | None = None

    def place(
        self, op: str, left: Property, right: Property, kinds: set[Kind | None], graph: QueryGraph, catalog: CatalogView
    ) -> list[NamedCondition] | None:
        """Return where a comparison of two properties of these kinds belongs, None on rows.

        Strings belong into a search where a relationship's ends must have the same, or a search is asked for. Whether
        two nodes of a tree have the same, or in which order strings and moments are, may be asked of an elimination if
        one of them is only counted. Strings of which there are few belong into a GPU's search, too: rows would have to
        leave it.
        """
        if kinds <= _NUMBERS:
            return self.conditions
        equal = op in ("=", "<>")
        if len(kinds) > 1 or left.key != right.key or not kinds <= ({Kind.STRING} if equal else _ORDERED):
            return None
        if not (isinstance(left.subject, Variable) and isinstance(right.subject, Variable)):
            return None
        names = {left.subject.name, right.subject.name}
        if equal and (graph.hints.strategy == "search" or (op == "=" and joined(graph, names))):
            return self.conditions
        if is_for_gpu() and not equal:
            return None
        counted = self.named is not None and not names <= set(self.named)
        if counted and len(graph.relationships) == len(graph.nodes) - 1:
            return self.values
        return self.conditions if is_for_gpu() and has_few_values(left.key, catalog) else None

    def inequalities_into(self, difference: Differences) -> None:
        """Treat ``a <> b`` like the differences that the match mode asks for."""
        difference.vertices |= {frozenset(pair) for pair in self.inequalities}

    def compare_on_rows(self) -> None:
        """Compare on rows what no elimination is asked for."""
        self.general += map(as_filter, self.values)
        self.values.clear()

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
    graph: QueryGraph, catalog: CatalogView, columns: Collection[str], named: Collection[str] | None = None
) -> tuple[list[Expr], PostFilters]:
    """Return the predicates that only read the input's columns, and the others sorted by kind.

    ``named``: what each row must say, where matches that agree in this may be counted; None where each must come.
    """
    before: list[Expr] = []
    filters = PostFilters(named=named)
    nodes = {node.name for node in graph.nodes}
    for predicate in graph.predicates:
        if free_variables(predicate) <= set(columns) and not condition_can_fail(predicate):
            before.append(predicate)
            continue
        match predicate:
            case Comparison(ops=("<>",), args=(Variable(name=one), Variable(name=other))) if {one, other} <= nodes:
                filters.inequalities.append((one, other))
            case Comparison(ops=(op,), args=(Property() as left, Property() as right)) if (
                place := filters.place(
                    op, left, right, {_kind(each, nodes, catalog) for each in (left, right)}, graph, catalog
                )
            ) is not None:
                place.append(_condition(op, left, right))
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


def has_few_values(key: str, catalog: CatalogView) -> bool:
    """Tell whether few different values of a property of nodes are expected, so that all get codes soon."""
    equation = Comparison(("=",), (Property(Variable("#node"), key), Parameter("")))
    return selectivity((equation,), catalog, "node", None) * _FEW_VALUES >= 1.0


_Element = PatternNode | PatternRelationship


def compared_values(conditions: Sequence[Expr], graph: QueryGraph, catalog: CatalogView) -> tuple[Compared, ...] | None:
    """Return conditions as what an elimination is asked of values; None where there are others, or too many."""
    elements: dict[str, _Element] = {node.name: node for node in graph.nodes if not node.bound}
    elements |= {edge.name: edge for edge in graph.relationships if edge.hops is None and not edge.bound}
    found = []
    for condition in conditions:
        for each in comparisons_in(condition):
            compared = _compared(each, elements, catalog)
            if compared is None:
                return None
            found.append(compared)
    different = sum(each.op == "<>" for each in found)
    return tuple(found) if different <= _MOST_DIFFERENT and len(found) <= _MOST_COMPARED else None


def _compared(condition: Expr, elements: Mapping[str, _Element], catalog: CatalogView) -> Compared | None:
    """Return a comparison of values of two elements; None for another condition."""
    match condition:
        case Comparison(ops=(("=" | "<>" | "<" | "<=" | ">" | ">=") as op,), args=(left, right)):
            one, other = only_variable(left), only_variable(right)
        case _:
            return None
    if one is None or other is None or one == other or not {one, other} <= elements.keys():
        return None
    kinds = {_kind_of(left, elements[one], catalog), _kind_of(right, elements[other], catalog)}
    nan = Kind.FLOAT in kinds
    values = _value(left, elements[one], nan), _value(right, elements[other], nan)
    if None in values or len(kinds) > 1 or not kinds <= _ORDERED:
        return None
    if op in _TURNED:
        one, other, values = other, one, (values[1], values[0])
    assert values[0] is not None and values[1] is not None
    return Compared(one, other, values[0], values[1], _TURNED.get(op, op))


def _value(side: Expr, element: _Element, nan: bool) -> Value | None:
    """Return an expression of an element as its value; None where it may fail for some that the element may be.

    It doesn't where all of these are asked whether they have it, and nothing else that would leave some out.
    """
    if not can_fail(side):
        return Value(valued(side, element.name), nan=nan)
    there = [isinstance(each, Call) and each.name == "IS NOT NULL" for each in element.predicates]
    if not all(there) or not any(isinstance(each, Call) and each.args == (side,) for each in element.predicates):
        return None
    return Value(valued(side, element.name), element.labels if isinstance(element, PatternNode) else None, nan)


def _kind_of(side: Expr, element: _Element, catalog: CatalogView) -> Kind | None:
    """Return of which kind the values are that an expression gives, as far as it is known."""
    match side:
        case Property(subject=Variable(), key=key):
            found = catalog.property_type("node" if isinstance(element, PatternNode) else "relationship", key)
            return None if found is None else found.kind
        case Property(subject=subject) if subject.type.kind in _MOMENTS:
            return Kind.INTEGER
    return None if side.type.kind in _MOMENTS else side.type.kind


def _different(one: str, other: str) -> Expr:
    return Comparison(("<>",), (Variable(one), Variable(other)), type=BOOLEAN)
