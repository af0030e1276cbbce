"""Sorts the predicates of a match: before it, inside the search, or on the rows that it gives."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import field

from qengine._frozen import record
from qengine.catalog.view import CatalogView
from qengine.optimizer.difference import Differences
from qengine.optimizer.elimination import Compared
from qengine.optimizer.search_levels import NamedCondition, as_filter
from qengine.optimizer.selectivity import selectivity
from qengine.optimizer.target import is_for_gpu
from qengine.plan.expr import Call, Comparison, Expr, Logical, Parameter, Property, Variable
from qengine.plan.fallible import condition_can_fail
from qengine.plan.pattern import QueryGraph
from qengine.plan.traverse import free_variables
from qengine.types import BOOLEAN, Kind

_FEW_VALUES = 1 << 16
_MOST_COMPARED = 2  # conditions on two nodes' values, of a pattern that is eliminated
_NUMBERS: frozenset[Kind | None] = frozenset((Kind.INTEGER, Kind.FLOAT))
_CODED: frozenset[Kind | None] = frozenset((Kind.INTEGER, Kind.STRING))
_ORDERED = frozenset((*_CODED, Kind.FLOAT, Kind.DATE, Kind.LOCAL_DATETIME))
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


def compared_values(conditions: Sequence[NamedCondition], catalog: CatalogView) -> tuple[Compared, ...] | None:
    """Return conditions as what an elimination is asked of values; None where there are others, or too many."""
    found = []
    for each in conditions:
        types = [catalog.property_type("node", key) for key in (each.left_key, each.right_key)]
        kinds = {None if type is None else type.kind for type in types}
        comparable = _CODED if each.op in ("=", "<>") else _ORDERED
        if each.left_key != each.right_key:  # equal values of one property have one vertex
            comparable = comparable & _NUMBERS if comparable is _ORDERED else frozenset()
        if each.left == each.right or len(kinds) > 1 or not kinds <= comparable:
            return None
        sides = [(each.left, each.left_key), (each.right, each.right_key)]
        (one, key), (other, other_key) = sides[::-1] if each.op in _TURNED else sides
        found.append(Compared(one, other, key, other_key, _TURNED.get(each.op, each.op)))
    return tuple(found) if len(found) <= _MOST_COMPARED else None


def _different(one: str, other: str) -> Expr:
    return Comparison(("<>",), (Variable(one), Variable(other)), type=BOOLEAN)
