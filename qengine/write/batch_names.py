"""MERGE for many rows at once where expressions name labels or types: the rows of each name are merged as if it stood
in the text.

Rows of different names never find what the others make: types differ, and of labels none has all that another names. So
they may be merged one name after the other, if no element is then changed by rows of two names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from qengine._frozen import replace as with_fields
from qengine.exec.scalar.values import NodeHandle, RelationshipHandle
from qengine.plan import updates as up
from qengine.plan.expr import Call, Expr, Variable
from qengine.plan.pattern import LabelAnd, LabelExpr, LabelIs, QueryGraph
from qengine.storage.arrays import Array
from qengine.write.column_values import ColumnValues, Unbatched, rows_by_names, whole_or_nothing
from qengine.write.overlay import Overlay
from qengine.write.table import Elements, Table

_Run = Callable[[Table], Table]
_Names = tuple[tuple[str, ...], ...]
_ROWS_EACH = 16  # rows of a name, on average, from which on they are merged together
_MOST = 256  # names whose steps are kept


def names_expressions(step: up.Merge) -> bool:
    """Tell whether expressions name labels or types of what a step merges."""
    return any(each.dynamic for each in step.elements)


def named_merge(
    step: up.Merge, overlay: Overlay, values: ColumnValues, compiled: Callable[[up.Merge], _Run | None]
) -> _Run | None:
    """Return what carries out a step of which ``names_expressions`` holds.

    ``compiled``: compiles one with names; it returns None where that has to be done row by row.
    """
    expressions = {each.name: _expressions(each) for each in step.elements if each.dynamic}
    given = {label for each in (*step.on_create, *step.on_match) for label in getattr(each, "labels", ())}
    runs: dict[_Names, _Run | None] = {}

    def groups(table: Table) -> list[tuple[_Names, Array]]:
        """Return the names of each element of ``expressions``, with the rows (int64) that have these."""
        group_of = np.zeros(len(table), np.int64)
        known: list[_Names] = [()]
        for exprs in expressions.values():
            found = rows_by_names([values.of(each, table) for each in exprs])
            place = np.empty(len(table), np.int64)
            for number, (_, rows) in enumerate(found):
                place[rows] = number
            pairs, group_of = np.unique(group_of * len(found) + place, return_inverse=True)
            known = [(*known[pair // len(found)], found[pair % len(found)][0]) for pair in pairs.tolist()]
        order = np.argsort(group_of, kind="stable")
        parts = np.split(order, np.cumsum(np.bincount(group_of, minlength=len(known)))[:-1])
        return list(zip(known, parts, strict=True))

    def run(table: Table) -> Table:
        if not len(table):
            raise Unbatched
        found = groups(table)
        if len(found) > 1:
            _check_apart(step, [names for names, _ in found], given, len(table))
        with whole_or_nothing(overlay):
            results = []
            for names, rows in found:
                if names not in runs:
                    if len(runs) >= _MOST:
                        runs.clear()
                    runs[names] = compiled(_with_names(step, dict(zip(expressions, names, strict=True))))
                each = runs[names]
                if each is None:
                    raise Unbatched
                results.append(each(table.take(rows).with_column(_ROW, Elements(rows, NodeHandle))))
            if len(results) > 1 and step.on_match:
                _check_different(step, results)
        return _joined(step, table, results)

    return run


_ROW = "\0row"  # the column with the places of rows


def _expressions(element: up.NewElement) -> tuple[Expr, ...]:
    if isinstance(element, up.NewNode):
        return element.dynamic
    return () if element.dynamic is None else (element.dynamic,)


def _check_apart(step: up.Merge, groups: list[_Names], given: set[str], rows: int) -> None:
    """Refuse groups of names of which one may find what another has made, and very many groups."""
    if len(groups) * _ROWS_EACH > rows:
        raise Unbatched
    fixed = [frozenset(each.labels) if isinstance(each, up.NewNode) else None for each in step.elements if each.dynamic]
    sets = [tuple(frozenset(names) | (own or frozenset()) for names, own in zip(g, fixed, strict=True)) for g in groups]
    if len(set(sets)) < len(sets):
        raise Unbatched
    for own, column in zip(fixed, zip(*sets, strict=True), strict=True):
        if len(set(map(len, column))) > 1 or (own is not None and any(each - own & given for each in column)):
            raise Unbatched


def _with_names(step: up.Merge, names: Mapping[str, tuple[str, ...]]) -> up.Merge:
    """Return a step in which names stand in place of expressions."""
    elements: list[up.NewElement] = []
    labels: dict[str, LabelExpr | None] = {}
    for each in step.elements:
        if each.name not in names:
            elements.append(each)
        elif isinstance(each, up.NewNode):
            whole = tuple(dict.fromkeys((*each.labels, *names[each.name])))
            elements.append(with_fields(each, labels=whole, dynamic=()))
            every = tuple(map(LabelIs, whole))
            labels[each.name] = None if not every else every[0] if len(every) == 1 else LabelAnd(every)
        else:
            if len(names[each.name]) != 1:
                raise Unbatched
            elements.append(with_fields(each, type=names[each.name][0], dynamic=None))
            labels[each.name] = LabelIs(names[each.name][0])
    graph: QueryGraph = step.graph
    nodes = tuple(with_fields(n, labels=labels[n.name]) if n.name in labels else n for n in graph.nodes)
    edges = tuple(with_fields(e, types=labels[e.name]) if e.name in labels else e for e in graph.relationships)
    predicates = tuple(each for each in graph.predicates if not _asks_names(each, names))
    graph = with_fields(graph, nodes=nodes, relationships=edges, predicates=predicates)
    return with_fields(step, graph=graph, elements=tuple(elements))


def _asks_names(predicate: Expr, names: Mapping[str, tuple[str, ...]]) -> bool:
    """Tell whether a predicate is that an element has the labels or the type that an expression names."""
    match predicate:
        case Call(name="$all", args=(Variable(name=name), _)):
            return name in names
    return False


def _check_different(step: up.Merge, results: list[Table]) -> None:
    """Refuse results of which two have an element in common, which ON MATCH may have changed for both."""
    for kind in (up.NewNode, up.NewRelationship):
        own = [each.name for each in step.elements if isinstance(each, kind)]
        parts = [np.unique(np.concatenate([_numbers(each, name) for name in own])) for each in results if own]
        every = np.concatenate([np.empty(0, np.int64), *parts])
        if len(np.unique(every)) < len(every):
            raise Unbatched


def _numbers(table: Table, name: str) -> Array:
    column = table.columns[name]
    assert isinstance(column, Elements)
    return column.numbers


def _joined(step: up.Merge, table: Table, results: list[Table]) -> Table:
    """Return the rows of all results, in the order of the rows that they come of."""
    rows = np.concatenate([_numbers(each, _ROW) for each in results])
    order = np.argsort(rows, kind="stable")
    joined = table.take(rows[order])
    for each in step.elements:
        numbers = np.concatenate([_numbers(result, each.name) for result in results])[order]
        handle = NodeHandle if isinstance(each, up.NewNode) else RelationshipHandle
        joined = joined.with_column(each.name, Elements(numbers, handle))
    return joined
