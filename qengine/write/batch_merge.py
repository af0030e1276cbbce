"""MERGE for many rows at once: of a node by properties, or of a relationship between two nodes that are known.

A row finds what the graph has, and what rows before it have made: those are the rows with equal keys, if nothing that
the clause does touches the keys. So the graph is asked once for all rows, and a table of keys tells the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from qengine._frozen import frozen
from qengine.plan import updates as up
from qengine.plan.expr import Expr, Literal, MapOf, Property, Variable
from qengine.plan.pattern import (
    Direction,
    LabelExpr,
    LabelIs,
    MatchMode,
    PatternNode,
    PatternRelationship,
)
from qengine.plan.traverse import free_variables, is_repeatable, rewrite
from qengine.storage.arrays import Array
from qengine.write.key_lookup import keyed_nodes
from qengine.write.live import equalities

Settings = tuple[tuple[str, Expr], ...]


@frozen
class Merged:
    """What is merged by its keys alone.

    ``labels``: of a node to find. ``keys``: properties, each with what it must equal. ``created``, ``matched``: what
    ON CREATE and ON MATCH set of the element: none of the keys. ``reads_own``: ``matched`` reads the element.
    ``on_match``: the steps that set ``matched``. ``created_labels``, ``matched_labels``: labels that it is given.
    ``either``: a relationship may lead either way.
    """

    element: up.NewElement
    labels: LabelExpr | None
    keys: Mapping[str, Expr]
    created: Settings
    matched: Settings
    reads_own: bool
    on_match: tuple[up.Step, ...]
    created_labels: tuple[str, ...]
    matched_labels: tuple[up.SetLabels, ...]
    either: bool


def merged(step: up.Merge) -> Merged | None:
    """Return what a step merges, None where that has to be looked for row by row."""
    if len(step.elements) != 1 or step.graph.paths or step.graph.mode is MatchMode.DIFFERENT_NODES:
        return None
    (element,) = step.elements
    if element.properties is not None and not isinstance(element.properties, MapOf):
        return None
    entries = () if element.properties is None else element.properties.entries
    found = _node(step, element) if isinstance(element, up.NewNode) else _relationship(step, element)
    on_create, created_labels = _without_labels(step.on_create, element)
    on_match, matched_labels = _without_labels(step.on_match, element)
    created, matched = _settings(on_create, element.name), _settings(on_match, element.name)
    if found is None or created is None or matched is None:
        return None
    labels, keys = found
    same = len(keys) == len(entries) == len(dict(keys)) and all(each in entries for each in keys)
    touched = [key for key, _ in created]
    if not same or len(set(touched)) < len(touched) or dict(keys).keys() & {*touched, *(key for key, _ in matched)}:
        return None
    created = _of_rows(created, element.name, dict(keys))
    if created is None:
        return None
    reads_own = any(element.name in free_variables(value) for _, value in matched)
    if reads_own and len(matched) != len(on_match):
        return None
    named = tuple(dict.fromkeys(label for each in created_labels for label in each.labels))
    either = any(edge.direction is Direction.BOTH for edge in step.graph.relationships)
    return Merged(element, labels, dict(keys), created, matched, reads_own, on_match, named, matched_labels, either)


def _node(step: up.Merge, element: up.NewNode) -> tuple[LabelExpr | None, Settings] | None:
    nodes = keyed_nodes(step.graph)
    if nodes is None or len(nodes) != 1:
        return None
    (node,) = nodes
    alike = node.labels is None or node.labels.admits(frozenset(element.labels))
    return (node.labels, node.keys) if alike else None


def _relationship(step: up.Merge, element: up.NewRelationship) -> tuple[None, Settings] | None:
    graph = step.graph
    if len(graph.relationships) != 1:
        return None
    (edge,) = graph.relationships
    if edge.hops is not None or edge.bound or edge.types != LabelIs(element.type):
        return None
    if not all(node.bound and node.labels is None and not node.predicates for node in graph.nodes):
        return None
    found = equalities(edge, graph.predicates, frozenset(graph.variables()))
    keys = tuple((key, value) for key, value, _ in found)
    ends = (edge.start, edge.end) == (element.start, element.end)
    ends = ends or (edge.direction is Direction.BOTH and {edge.start, edge.end} == {element.start, element.end})
    return (None, keys) if ends and len(keys) == len(graph.predicates) + len(edge.predicates) else None


def _without_labels(
    steps: Iterable[up.Step], element: up.NewElement
) -> tuple[tuple[up.Step, ...], tuple[up.SetLabels, ...]]:
    """Return steps without those that give a node labels of the text, and these."""
    others: list[up.Step] = []
    labels: list[up.SetLabels] = []
    for step in steps:
        match step:
            case up.SetLabels(subject=Variable(name=name), dynamic=(), remove=False) if (
                name == element.name and isinstance(element, up.NewNode)
            ):
                labels.append(step)
            case _:
                others.append(step)
    return tuple(others), tuple(labels)


def _settings(steps: Iterable[up.Step], name: str) -> Settings | None:
    """Return the properties of the element that steps set, None where they do something else."""
    found: list[tuple[str, Expr]] = []
    for step in steps:
        match step:
            case up.SetProperty(subject=Variable(name=own), key=key, value=value) if own == name:
                found.append((key, value))
            case up.SetProperties(subject=Variable(name=own), value=MapOf(entries=entries), replace=False) if (
                own == name and name not in free_variables(step.value)
            ):
                found += entries
            case _:
                return None
    return tuple(found)


def keys_of(step: up.Merge) -> Mapping[str, Mapping[str, Expr]] | None:
    """Return by element the properties that a MERGE looks for, each with what it must equal.

    None where the pattern says more of its elements, or the same property twice.
    """
    graph = step.graph
    asked_of: tuple[PatternNode | PatternRelationship, ...] = (*graph.nodes, *graph.relationships)
    patterns = {each.name: each for each in asked_of}
    unknown, asked = frozenset(graph.variables()), len(graph.predicates)
    found: dict[str, Mapping[str, Expr]] = {}
    for element in step.elements:
        if element.properties is not None and not isinstance(element.properties, MapOf):
            return None
        entries = () if element.properties is None else element.properties.entries
        keys = [(key, value) for key, value, _ in equalities(patterns[element.name], graph.predicates, unknown)]
        same = len(keys) == len(entries) == len(dict(keys)) and all(each in entries for each in keys)
        if not same:
            return None
        found[element.name] = dict(keys)
        asked += len(patterns[element.name].predicates)
    return found if sum(map(len, found.values())) == asked else None


def settings_of(
    step: up.Merge, keys: Mapping[str, Mapping[str, Expr]]
) -> tuple[Mapping[str, Settings], Mapping[str, Settings]] | None:
    """Return by element what ON CREATE and ON MATCH set: none of the keys, and of values of the row alone.

    None where they do anything else.
    """
    kept = {key for own in keys.values() for key in own}
    both: list[dict[str, Settings]] = []
    for steps in (step.on_create, step.on_match):
        found: dict[str, Settings] = dict.fromkeys(keys, ())
        for each in steps:
            subject = getattr(each, "subject", None)
            name = subject.name if isinstance(subject, Variable) else ""
            settings = _settings((each,), name) if name in keys else None
            if settings is None or not kept.isdisjoint(key for key, _ in settings):
                return None
            found[name] += settings
        both.append(found)
    made: dict[str, Settings] = {}
    for name, settings in both[0].items():
        own = _of_rows(settings, name, keys[name]) if len(dict(settings)) == len(settings) else None
        if own is None:
            return None
        made[name] = own
    values = [value for all in (made, both[1]) for settings in all.values() for _, value in settings]
    return None if any(keys.keys() & free_variables(each) for each in values) else (made, both[1])


def _of_rows(created: Settings, name: str, keys: Mapping[str, Expr]) -> Settings | None:
    """Return what is set of a new element, with what it is known to have in place of its properties.

    None where more of it is read than properties.
    """
    known = dict(keys)

    def read(expr: Expr) -> Expr:
        if isinstance(expr, Property) and isinstance(expr.subject, Variable) and expr.subject.name == name:
            return known.get(expr.key, Literal(None, type=expr.type))
        return expr

    found = []
    for key, value in created:
        changed = rewrite(value, read)
        if name in free_variables(changed) or not (changed is value or all(map(is_repeatable, known.values()))):
            return None
        known[key] = changed
        found.append((key, changed))
    return tuple(found)


class Outcome:
    """Which rows find something, and which of the others look for the same.

    Parameters
    ----------
    count
        How many rows there are.
    rows, numbers
        int64: rows that find something, ascending, and what they find.
    places
        Of each row: equal for rows that look for the same.

    Attributes
    ----------
    makers
        int64: the rows for which something is made, ascending.
    rows
        int64: the rows of the result: each once for all that it finds.
    matches
        bool, of each row of the result: whether what it has was there.
    """

    def __init__(self, count: int, rows: Array, numbers: Array, places: Sequence[Any]) -> None:
        missing = np.ones(count, np.bool_)
        missing[rows] = False
        lacking = np.flatnonzero(missing)
        wanted = places if len(lacking) == count else [places[row] for row in lacking.tolist()]
        self._which, firsts = _groups(wanted)
        self.makers = lacking[firsts]
        every = np.concatenate((rows, lacking))
        matches = np.ones(len(every), np.bool_)
        matches[len(rows) + firsts] = False
        self._order = np.argsort(every, kind="stable")
        self._numbers = numbers
        self.rows, self.matches = every[self._order], matches[self._order]

    def found(self, made: Array, numbers: Array | None = None) -> Array:
        """Return the numbers (int64) that the rows of the result have.

        ``made``: of what was made for ``makers``. ``numbers``: of what rows find, where these are other elements.
        """
        known = self._numbers if numbers is None else numbers
        whole: Array = np.concatenate((known, made[self._which]))[self._order]
        return whole


def _groups(places: Sequence[Any]) -> tuple[Array, Array]:
    """Return the group of equal places that each is in, numbered as they come, and the first of each group."""
    numbers = dict.fromkeys(places)
    if len(numbers) == len(places):
        every = np.arange(len(places), dtype=np.int64)
        return every, every
    numbers = dict(zip(numbers, range(len(numbers)), strict=True))
    which = np.fromiter(map(numbers.__getitem__, places), np.int64, len(places))
    return which, np.unique(which, return_index=True)[1]


def rounds(numbers: Array, least: int) -> Iterator[Array]:
    """Give rows (int64, ascending): the first of each number, then the second, and so on.

    What rounds of fewer than ``least`` rows would give comes together at last.
    """
    order = np.argsort(numbers, kind="stable")
    begins = np.flatnonzero(np.diff(numbers[order], prepend=-1))
    round_of = np.arange(len(order)) - np.repeat(begins, np.diff(begins, append=len(order)))
    counts = np.bincount(round_of)
    order = order[np.argsort(round_of, kind="stable")]
    first = 0
    for count in counts[counts >= least].tolist():
        yield np.sort(order[first : first + count])
        first += count
    if first < len(order):
        yield np.sort(order[first:])
