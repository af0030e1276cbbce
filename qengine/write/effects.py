"""Which steps and operators of the body of a FOREACH or a CALL may each be carried out for all rows before the next.

Row by row, all of a body is done for a row before any of it for the next one. That is the same if no part of the body
reads what another one changes, and no two settle the same: whether an element is there, which label or value it has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain

from qengine._frozen import frozen, replace
from qengine.exec.scalar.entities import ENTITIES
from qengine.plan import logical as op
from qengine.plan import updates as up
from qengine.plan.expr import Call, Expr, MapOf, Property, Variable
from qengine.plan.pattern import LabelExpr, QueryGraph
from qengine.plan.traverse import free_variables, is_repeatable, preorder
from qengine.write.ahead import SIMPLE
from qengine.write.batch_merge import Merged, merged
from qengine.write.key_lookup import keyed_nodes
from qengine.write.patch_table import names_in

_ALL = "*"  # in place of a property's key: any
_FIXED = frozenset(("nodes", "relationships", "length", "id", "elementid"))  # functions of what never changes
_KEY = "key"
_NODES = "nodes"  # which there are; with a name behind it those of a label
_TYPE = "type"  # which relationships there are; with a name behind it those of a type
_ANY_TYPE = "a type that an expression names"
_ANY_LABEL = "a label that an expression names"
_NAMED_LABEL = "a label that the text names"


@frozen
class Effects:
    """What a part of a body reads, makes or changes, and settles, as names of facts.

    A node that is made is a fact of its own for each of its labels. ``settles``: changes of which the last one counts.
    ``values``: that a row's element has a value of the row, as text: who finds it by a value doesn't mind who sets it.
    ``merges``: labels and keys of a node that is merged by values of the row, and nothing else of it: those that merge
    alike come to the same nodes in any order. Empty for all else.
    """

    reads: frozenset[str] = frozenset()
    changes: frozenset[str] = frozenset()
    settles: frozenset[str] = frozenset()
    values: frozenset[str] = frozenset()
    merges: str = ""


@frozen
class Given:
    """What is known of the rows that a body is given.

    ``plain``: columns that hold values without elements in them. ``keys``: returns the keys of maps that an expression
    gives, None where they aren't known.
    """

    plain: frozenset[str]
    keys: Callable[[Expr], frozenset[str] | None]

    def without(self, name: str) -> Given:
        """Return the same of rows in which a column is another one."""
        return Given(self.plain - {name}, lambda expr: None if name in free_variables(expr) else self.keys(expr))


def are_apart(parts: Sequence[Effects | None]) -> bool:
    """Tell whether parts of a body may each be carried out for all rows before the next; None: it may do anything."""
    known = [each for each in parts if each is not None and each != Effects()]
    if None in parts:
        return parts.count(None) == 1 and not known  # nothing else does anything
    for place, one in enumerate(known):
        for other in known[:place]:
            if one.merges and one.merges == other.merges:
                continue
            same = frozenset(_key(each.split(" ")[0]) for each in one.values & other.values)
            if _meet(one.reads - same, other.changes) or _meet(other.reads - same, one.changes):
                return False
            if _meet(one.settles, other.settles):
                return False
    return True


def deletes_what_it_finds(parts: Sequence[op.Operator | up.Step | Expr], plain: frozenset[str]) -> bool:
    """Tell whether a body finds single relationships and deletes these, and perhaps nodes of its rows, or single nodes.

    Row by row it doesn't find again what it has deleted, which a second deletion leaves as it is. Nodes of rows are
    deleted whatever is found only where the pattern is optional. ``plain``: columns of values, which stay as they are.
    """
    if not parts or not isinstance(parts[0], op.Match) or not isinstance(parts[-1], up.Delete):
        return False
    graph = parts[0].graph
    edges, nodes = graph.relationships, graph.nodes
    if len(edges) > 1 or graph.paths:
        return False
    if edges:
        (edge,) = edges
        single = edge.hops is None and not edge.bound and {each.name for each in nodes} == {edge.start, edge.end}
        names = {edge.name, *(each.name for each in nodes if each.bound and parts[0].optional)}
    else:
        single = len(nodes) == 1 and not nodes[0].bound
        names = {each.name for each in nodes}
    known = plain.union((each.name for each in edges), (each.name for each in nodes))
    conditions = chain(graph.predicates, *(each.predicates for each in edges), *(each.predicates for each in nodes))
    return (
        single
        and all(is_repeatable(each) and free_variables(each) <= known for each in conditions)
        and all(
            isinstance(step, up.Delete)
            and all(isinstance(each, Variable) and each.name in names for each in step.subjects)
            for step in parts[1:]
        )
    )


def _meet(some: frozenset[str], others: frozenset[str]) -> bool:
    if not some.isdisjoint(others):
        return True
    every = _key(_ALL)
    return (every in some and _has_key(others)) or (every in others and _has_key(some))


def _has_key(facts: frozenset[str]) -> bool:
    return any(each.startswith(_KEY) for each in facts)


def _key(key: str) -> str:
    return f"{_KEY} {key}"


def effects_of(part: op.Operator | up.Step | Expr, given: Given) -> Effects | None:
    """Return the effects of an operator (not those of its input), a step or a value; None where they aren't known.

    ``given``: what is known of the rows.
    """
    match part:
        case op.Argument() | op.Distinct():
            return Effects()
        case op.Sort(keys=sorted_by):
            return _reading((key.expr for key in sorted_by), given)
        case op.Filter(predicate=expr) | op.Unwind(expr=expr) | op.Skip(count=expr) | op.Limit(count=expr):
            return _reading((expr,), given)
        case op.Project(items=items):
            return _reading((expr for _, expr in items), given)
        case op.Aggregate(keys=keys, aggregates=aggregates, weight=None):
            args = (arg for _, call in aggregates for arg in call.args)
            return _reading((*(expr for _, expr in keys), *args), given)
        case op.Match(graph=graph):
            nodes = keyed_nodes(graph)
            if nodes is None:
                return _matched(graph, given)
            found = [_reading((value for _, value in node.keys), given) for node in nodes]
            found += [Effects(_looked_for(node.labels, dict(node.keys))) for node in nodes]
            return _together(found)
        case up.ForEach(items=items, steps=steps):
            inside = [effects_of(each, given.without(part.name)) for each in steps]
            return _together((_reading((items,), given), *inside)) if are_apart(inside) else None
        case up.Step():
            return _of_step(part, given)
        case op.Operator():
            return None
    return _reading((part,), given)


def _matched(graph: QueryGraph, given: Given) -> Effects | None:
    """Return the effects of finding a pattern; None for paths of which some are selected, or parts are repeated."""
    edges = graph.relationships
    if graph.paths or any(edge.repetition is not None or edge.chain is not None for edge in edges):
        return None
    ends = {end for edge in edges for end in (edge.start, edge.end)}
    reads: set[str] = set()
    for node in graph.nodes:
        if node.labels is not None or not (node.bound or node.name in ends):
            reads |= _looked_for(node.labels, ())
    for edge in edges:
        reads |= {_ANY_TYPE, *(f"{_TYPE} {name}" for name in names_in(edge.types) or ())}
        if not names_in(edge.types):
            reads.add(_TYPE)
    own = ((*edge.predicates, *edge.inner) for edge in edges)
    conditions = chain(graph.predicates, *(node.predicates for node in graph.nodes), *own)
    return _together((Effects(frozenset(reads)), _reading(conditions, given)))


def _of_step(step: up.Step, given: Given) -> Effects | None:
    match step:
        case up.Create(elements=elements):
            return _together(_made(each, given) for each in elements)
        case up.Merge():
            return _of_merge(step, given)
        case up.SetProperty(subject=Variable(), key=key, value=value):
            return _set(key, value, given)
        case up.SetProperties(subject=Variable(), value=MapOf(entries=entries), replace=False):
            return _together(_set(key, value, given) for key, value in entries)
        case up.SetProperties(subject=Variable(name=name), value=value, replace=replace):
            return _map_set(name, value, given, replace=replace)
        case up.RemoveProperty(subject=Variable(), key=key):
            return Effects(frozenset(), frozenset((_key(key),)), frozenset((_key(key),)))
        case up.SetLabels(subject=Variable(), labels=labels, dynamic=dynamic):
            own = [Effects(changes=frozenset((_NAMED_LABEL, *_labelled(labels))), settles=frozenset(_labelled(labels)))]
            if dynamic:  # what is settled isn't known
                some = frozenset((_ANY_LABEL,))
                own.append(Effects(frozenset((_NAMED_LABEL,)), some, some))
            return _together((_reading(dynamic, given), *own)) if not (labels and dynamic) else None
    return None


def _of_merge(step: up.Merge, given: Given) -> Effects | None:
    pattern = merged(step)
    if pattern is None:
        return None
    found = [_made(each, given) for each in step.elements]
    found += [_set(key, value, given) for key, value in (*pattern.created, *pattern.matched)]
    if isinstance(pattern.element, up.NewNode):
        name = pattern.element.name
        values = [_value(key, name, _path(value, given)) for key, value in pattern.keys.items()]
        found.append(Effects(_looked_for(pattern.labels, pattern.keys), values=frozenset(values)))
    else:
        reads = (f"{_TYPE} {pattern.element.type}", _ANY_TYPE, *map(_key, pattern.keys))
        found.append(Effects(frozenset(reads)))
    every = _together(found)
    return None if every is None else replace(every, merges=_merges(pattern, given))


def _merges(pattern: Merged, given: Given) -> str:
    """Return ``Effects.merges`` of a pattern."""
    element = pattern.element
    more = pattern.created, pattern.matched, pattern.created_labels, pattern.matched_labels
    if not isinstance(element, up.NewNode) or element.dynamic or any(more):
        return ""
    if any(_path(value, given) is None for value in pattern.keys.values()):
        return ""
    return f"{sorted(element.labels)} {sorted(pattern.keys)}"


def _together(parts: Iterable[Effects | None]) -> Effects | None:
    """Return the effects of several parts as those of one."""
    found = list(parts)
    known = [each for each in found if each is not None]
    if len(known) < len(found):
        return None
    return Effects(
        frozenset().union(*(each.reads for each in known)),
        frozenset().union(*(each.changes for each in known)),
        frozenset().union(*(each.settles for each in known)),
        frozenset().union(*(each.values for each in known)),
    )


def _made(element: up.NewElement, given: Given) -> Effects | None:
    """Return the effects of making an element; a map gives it its properties, or a value without elements."""
    map = element.properties
    if map is not None and not isinstance(map, MapOf) and _path(map, given) is None:
        return None
    named: tuple[Expr | None, ...]
    if isinstance(element, up.NewNode):
        named = element.dynamic
        changes = [_NODES, *_labelled(element.labels), *([_ANY_LABEL] if named else [])]
    else:
        named = (element.dynamic,)
        changes = [_TYPE, f"{_TYPE} {element.type}" if element.dynamic is None else _ANY_TYPE]
    read = tuple(each for each in (map, *named) if each is not None)
    return _together((_reading(read, given), Effects(frozenset(), frozenset(changes))))


def _set(key: str, value: Expr, given: Given) -> Effects | None:
    own = frozenset((_key(key),))
    return _together((_reading((value,), given), Effects(frozenset(), own, own)))


def _labelled(labels: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"{_NODES} {each}" for each in labels)


def _map_set(name: str, value: Expr, given: Given, *, replace: bool) -> Effects | None:
    """Return the effects of setting the properties of an element to a map, or adding the map to them."""
    path, keys = _path(value, given), given.keys(value)
    if path is None or keys is None or replace:
        return _set(_ALL, value, given)
    own = frozenset(map(_key, keys))
    return Effects(frozenset(), own, own, frozenset(_value(key, name, f"{path} {key}") for key in keys))


def _value(key: str, name: str, path: str | None) -> str:
    return f"{key} {name} {path}"


def _path(expr: Expr, given: Given) -> str | None:
    """Return where in a row a value is, as text; None for what isn't a value of the row without elements in it."""
    if isinstance(expr, Variable):
        return expr.name if expr.name in given.plain else None
    if not isinstance(expr, Property):
        return None
    path = _path(expr.subject, given)
    return None if path is None else f"{path} {expr.key}"


def _looked_for(labels: LabelExpr | None, keys: Iterable[str]) -> frozenset[str]:
    """Return what finding nodes by labels and properties reads."""
    named = names_in(labels)
    nodes = _labelled(named) if named else (_NODES,) if labels is None else (_NODES, _NAMED_LABEL)
    return frozenset((_ANY_LABEL, *nodes, *map(_key, keys)))


def _reading(exprs: Iterable[Expr], given: Given) -> Effects | None:
    """Return what expressions read: properties, and nothing else of a graph."""
    reads = set()
    for expr in exprs:
        if not is_repeatable(expr):
            return None
        for each in preorder(expr):
            if not isinstance(each, SIMPLE) or (
                isinstance(each, Call) and each.name in ENTITIES and each.name not in _FIXED
            ):
                return None
            if isinstance(each, Property) and _path(each, given) is None:
                reads.add(_key(each.key))
    return Effects(frozenset(reads))
