"""Puts together what the conditions of a match say of one property: one value, or one list of values.

Why: ``x.p = 1 AND x.p = y.p`` says ``y.p = 1``, which cuts the candidates of ``y``, and then nothing is left to join;
``IN`` lists have in common what is in all of them, and where that is nothing the match is empty (``contradictions``).
When: conjuncts compare a node's or relationship's property by ``=`` or ``IN`` with literals, or by ``=`` with another
property, of which the same is known then; values that other comparisons with literals exclude are left out. A property
of which one value is known is that value in other comparisons, too: ``x.p = 1 AND x.p < y.p`` says ``y.p > 1``.
Wrong for: parameters, whose values are not known yet; relationships of variable length, whose hops may differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from typing import Any, TypeGuard, TypeVar

from qengine._frozen import frozen, replace
from qengine.optimizer.rules.tree import changes, with_graph
from qengine.plan.constants import COMPARE, FALSE
from qengine.plan.expr import Call, Comparison, Expr, ListOf, Literal, Property, Variable, list_of_items
from qengine.plan.logical import Match, Operator
from qengine.plan.pattern import PatternNode, PatternRelationship, QueryGraph
from qengine.plan.predicates import placed
from qengine.types import BOOLEAN, NODE, RELATIONSHIP

Element = TypeVar("Element", PatternNode, PatternRelationship)
Values = dict[tuple[type, Any], Literal]

_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<>": "<>"}


@frozen
class _Fact:
    """What a predicate says of a property: it is one of ``values``, or compares by ``op`` with the only one of them."""

    predicate: Expr
    of: Property
    op: str
    values: tuple[Literal, ...]


@changes(Match)
def known_values(operator: Operator) -> Operator:
    """Apply the rule to one operator."""
    return with_graph(operator, _narrowed)


def _narrowed(graph: QueryGraph) -> QueryGraph:
    predicates = [*_predicates(graph)]
    if not predicates:
        return graph
    if not any(map(_may_list, predicates)):
        return graph
    facts = [fact for fact in map(_fact, predicates) if fact is not None]
    if not any(fact.op == "IN" for fact in facts):
        return graph
    links = [link for link in map(_link, predicates) if link]
    compared = [each for each in predicates if _compares(each)]
    apart = not links and not compared and len({fact.of for fact in facts}) == len(facts)
    if apart and all(_says(fact, _values(fact.values)) for fact in facts if fact.op == "IN"):
        return graph
    same = _Same()
    for link in links:
        same.join(link)
    for fact in facts:
        same.join((fact.of,))
    instead: dict[int, Expr | None] = {}
    added: list[Expr] = []
    known: dict[Expr, Literal] = {}
    for members in same.groups():
        about = [fact for fact in facts if fact.of in members]
        if not any(fact.op == "IN" for fact in about):
            continue
        values = reduce(_remaining, about, _values(next(fact for fact in about if fact.op == "IN").values))
        for member in members:
            own = [fact for fact in about if fact.of == member and fact.op == "IN"]
            if len(own) == 1 and _says(own[0], values):
                continue
            new = _condition(member, values)
            instead.update((id(fact.predicate), None) for fact in own[1:])
            if own:
                instead[id(own[0].predicate)] = new
            else:
                added.append(new)
        if len(values) == 1:
            linking = (each for each in predicates if (link := _link(each)) and link[0] in members)
            instead.update((id(each), None) for each in linking)
            known.update(dict.fromkeys(members, next(iter(values.values()))))
    for comparison in compared:
        if not known.keys().isdisjoint(comparison.args):
            instead[id(comparison)] = None
            added += _with_known(comparison, known)
    return _rewritten(graph, instead, added) if instead or added else graph


class _Same:
    """Properties that are equal, in groups."""

    def __init__(self) -> None:
        self._group: dict[Property, dict[Property, None]] = {}

    def join(self, equal: tuple[Property, ...]) -> None:
        """Say that properties are equal."""
        joined: dict[Property, None] = {}
        for each in equal:
            joined.update(self._group.get(each, {each: None}))
        self._group.update(dict.fromkeys(joined, joined))

    def groups(self) -> Iterator[dict[Property, None]]:
        """Yield the groups, in the order in which they were first spoken of."""
        yield from {id(group): group for group in self._group.values()}.values()


def _predicates(graph: QueryGraph) -> Iterator[Expr]:
    """Yield the conditions that each hold for one value of their variables."""
    for node in graph.nodes:
        yield from node.predicates
    for edge in graph.relationships:
        if edge.hops is None:
            yield from edge.predicates
    yield from graph.predicates


def _may_list(predicate: Expr) -> bool:
    """Tell whether a condition may be a fact that says which values there are."""
    return (isinstance(predicate, Comparison) and predicate.ops == ("=",)) or isinstance(predicate, Call)


def _fact(predicate: Expr) -> _Fact | None:
    match predicate:
        case Call(name="IN", args=(Property() as of, ListOf(items=items))) if _is_plain(of):
            values = tuple(item for item in items if isinstance(item, Literal))
            return _Fact(predicate, of, "IN", values) if len(values) == len(items) else None
        case Comparison(ops=(op,), args=(Property() as of, Literal() as value)) if _is_plain(of):
            pass
        case Comparison(ops=(op,), args=(Literal() as value, Property() as of)) if _is_plain(of) and op in _FLIPPED:
            op = _FLIPPED[op]
        case _:
            return None
    return _Fact(predicate, of, "IN" if op == "=" else op, (value,))


def _link(predicate: Expr) -> tuple[Property, ...]:
    """Return two properties that a condition says are equal, () if it says no such thing."""
    match predicate:
        case Comparison(ops=("=",), args=(Property() as one, Property() as other)) if one != other:
            return (one, other) if _is_plain(one) and _is_plain(other) else ()
    return ()


def _compares(predicate: Expr) -> TypeGuard[Comparison]:
    """Tell whether a condition compares two properties otherwise than by ``=``."""
    if not isinstance(predicate, Comparison) or len(predicate.ops) != 1 or predicate.ops[0] not in _FLIPPED:
        return False
    return predicate.ops != ("=",) and all(isinstance(each, Property) and _is_plain(each) for each in predicate.args)


def _with_known(comparison: Comparison, known: Mapping[Expr, Literal]) -> Iterator[Expr]:
    """Yield what a comparison says where the values of one or both properties are known: nothing where it holds."""
    (op,), (left, right) = comparison.ops, comparison.args
    if left in known and right in known:
        if not _holds(op, known[left].value, known[right].value):
            yield FALSE
    elif left in known:
        yield Comparison((_FLIPPED[op],), (right, known[left]))
    else:
        yield Comparison((op,), (left, known[right]))


def _is_plain(of: Property) -> bool:
    return isinstance(of.subject, Variable) and of.subject.type in (NODE, RELATIONSHIP)


def _values(literals: Iterable[Literal]) -> Values:
    """Return the values of literals, each once: 1 is 1.0, and is not true. No value equals null."""
    return {(_kind(each.value), each.value): each for each in reversed([*literals]) if each.value is not None}


def _kind(value: Any) -> type:
    return float if type(value) is int else type(value)


def _remaining(values: Values, fact: _Fact) -> Values:
    """Return the values that a fact leaves."""
    if fact.op == "IN":
        others = _values(fact.values)
        return {key: literal for key, literal in values.items() if key in others}
    (bound,) = fact.values
    return {key: literal for key, literal in values.items() if _holds(fact.op, literal.value, bound.value)}


def _holds(op: str, left: Any, right: Any) -> bool:
    """Tell whether a comparison is true; of values of different kinds only ``<>`` is, and none of null."""
    if right is None:
        return False
    return COMPARE[op](left, right) if _kind(left) is _kind(right) else op == "<>"


def _says(fact: _Fact, values: Values) -> bool:
    """Tell whether a condition says as much as that the property is one of some of its values."""
    own = _values(fact.values)
    return len(own) == len(values) and (len(own) != 1 or isinstance(fact.predicate, Comparison))


def _condition(of: Property, values: Values) -> Expr:
    literals = tuple(reversed(values.values()))
    if len(literals) == 1:
        return Comparison(("=",), (of, literals[0]))
    return Call("IN", (of, list_of_items(literals)), type=BOOLEAN)


def _rewritten(graph: QueryGraph, instead: dict[int, Expr | None], added: list[Expr]) -> QueryGraph:
    def changed(predicates: tuple[Expr, ...]) -> tuple[Expr, ...]:
        news = (instead.get(id(each), each) for each in predicates)
        return tuple(new for new in news if new is not None)

    def element(old: Element) -> Element:
        return replace(old, predicates=changed(old.predicates))

    graph = replace(
        graph,
        nodes=tuple(map(element, graph.nodes)),
        relationships=tuple(map(element, graph.relationships)),
        predicates=changed(graph.predicates),
    )
    return reduce(placed, added, graph)
