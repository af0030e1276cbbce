"""A small graph made for a statement: it has the labels, types and properties that the statement names.

Every path pattern of the statement is there twice, so that most conditions meet something; nodes that one variable
stands for are one node. Properties have the values that the statement compares them with, or others of their type.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from qengine.storage import GraphStore, from_records
from qengine.syntax import ast
from qengine.syntax.parts import parts_of

_COPIES = 2
_MOST_STEPS = 2  # of one relationship of variable length
_VALUES = (0, 1, 2, "a", "b", True, 0.5)


@dataclass
class StatementGraph:
    """Records as ``from_records`` takes them, and values for the statement's parameters."""

    nodes: list[dict[str, Any]] = field(default_factory=list)
    relationships: list[dict[str, Any]] = field(default_factory=list)
    parameters: dict[str, Any] = field(default_factory=dict)

    def store(self) -> GraphStore:
        """Return the graph as a store."""
        return from_records(self.nodes, self.relationships)


def graph_for(statement: ast.Statement, seed: int | str) -> StatementGraph:
    """Return a graph for a parsed statement, the same for the same seed."""
    chance = random.Random(f"graph for {seed}")
    parts = list(parts_of(statement))
    values = _Values(chance, parts)
    made = StatementGraph(parameters=values.parameters())
    patterns = [part for part in parts if isinstance(part, ast.PathPattern)]
    for copy in range(_COPIES):
        instance = _Instance(chance, values, made, copy)
        for pattern in patterns:
            instance.path(pattern.elements)
    return made


class _Values:
    """Which values properties and parameters have."""

    def __init__(self, chance: random.Random, parts: list[ast.Ast]) -> None:
        self._chance = chance
        self._known: dict[str, list[Any]] = {}
        self._parameters: dict[str, Any] = {}
        for part in parts:
            self._note(part)

    def _note(self, part: ast.Ast) -> None:
        match part:
            case ast.Comparison(operands=operands):
                for one, other in pairwise(operands):
                    self._compared(one, other)
                    self._compared(other, one)
            case ast.Binary(op="IN", left=left, right=ast.ListLiteral(items=items)):
                for item in items:
                    self._compared(left, item)
            case ast.Binary(op="IN", left=left, right=ast.Parameter(name=name)):
                self._parameters[name] = [self.of(left.key)] if isinstance(left, ast.PropertyAccess) else [1, "a"]
            case ast.Binary(op="STARTS WITH" | "ENDS WITH" | "CONTAINS" | "=~", left=left, right=right):
                self._compared(left, right)
            case (
                ast.NodePattern(properties=ast.MapLiteral(entries=entries))
                | ast.RelationshipPattern(properties=ast.MapLiteral(entries=entries))
            ):
                for key, value in entries:
                    self._known_key(key, value)
            case ast.UnwindClause(expression=ast.Parameter(name=name)):
                self._parameters[name] = [1, 2]
            case ast.Projection(skip=skip, limit=limit):
                for count in (skip, limit):
                    if isinstance(count, ast.Parameter):
                        self._parameters[count.name] = 2
            case ast.PropertyAccess(key=key):
                self._known.setdefault(key, [])
            case ast.Parameter(name=name):
                self._parameters.setdefault(name, self._chance.choice(_VALUES))

    def _compared(self, one: ast.Expression, other: ast.Expression) -> None:
        if isinstance(one, ast.PropertyAccess):
            self._known_key(one.key, other)

    def _known_key(self, key: str, value: ast.Expression) -> None:
        known = self._known.setdefault(key, [])
        if isinstance(value, ast.Literal) and value.value is not None:
            known.append(value.value)
        elif isinstance(value, ast.Parameter):
            self._parameters[value.name] = self.of(key)

    def of(self, key: str) -> Any:
        """Return a value of a property."""
        known = self._known.setdefault(key, [])
        if not known:
            known.append(self._chance.choice(_VALUES))
        return self._chance.choice(known)

    def properties(self) -> dict[str, Any]:
        """Return some of the properties, with values."""
        return {key: self.of(key) for key in self._known if self._chance.random() < 0.8}

    def parameters(self) -> dict[str, Any]:
        """Return a value for each parameter."""
        return dict(self._parameters)


class _Instance:
    """One copy of all patterns: a node for each variable, in ``graph``."""

    def __init__(self, chance: random.Random, values: _Values, graph: StatementGraph, copy: int) -> None:
        self._chance = chance
        self._values = values
        self._graph = graph
        self._copy = copy
        self._places: dict[str, int] = {}

    def path(self, elements: tuple[ast.Ast, ...]) -> int | None:
        """Add a path; return its last node."""
        last: int | None = None
        waiting: ast.RelationshipPattern | None = None
        for element in elements:
            if isinstance(element, ast.RelationshipPattern):
                waiting = element
                continue
            if isinstance(element, ast.QuantifiedPath):
                node = self.path(element.elements)
            else:
                assert isinstance(element, ast.NodePattern)
                node = self._node(element.name, element.labels)
            if waiting is not None and last is not None and node is not None:
                self._join(last, waiting, node)
            last, waiting = node, None
        return last

    def _node(self, name: str | None, labels: ast.LabelExpression | None = None) -> int:
        place = self._places.get(name) if name is not None else None
        if place is None:
            place = len(self._graph.nodes)
            self._graph.nodes.append({"id": place, "labels": [], "properties": self._values.properties()})
            if name is not None:
                self._places[name] = place
        own = self._graph.nodes[place]["labels"]
        own += [label for label in self._names(labels) if label not in own]
        return place

    def _join(self, start: int, pattern: ast.RelationshipPattern, end: int) -> None:
        steps = 1 if pattern.hops is None else min(max(1, pattern.hops.minimum), _MOST_STEPS)
        kinds = self._names(pattern.types) or ["RELATED"]
        for step in range(steps):
            following = end if step == steps - 1 else self._node(None)
            ends = (following, start) if pattern.left and not pattern.right else (start, following)
            properties = self._values.properties()
            kind = self._chance.choice(kinds)
            self._graph.relationships.append({"type": kind, "start": ends[0], "end": ends[1], "properties": properties})
            start = following

    def _names(self, labels: ast.LabelExpression | None) -> list[str]:
        """Return labels with which an element satisfies an expression, if that is easily told."""
        match labels:
            case ast.LabelName(name=name):
                return [name]
            case ast.LabelConjunction(args=args):
                return [name for arg in args for name in self._names(arg)]
            case ast.LabelDisjunction(args=args):
                return self._names(args[self._copy % len(args)])
        return []
