"""The graphs of scripts, built from the path patterns that describe them.

The engine's own parser reads the patterns, and the reference executor evaluates their properties. A named node is
described once, by labels, by properties, or as a path of its own. Elsewhere its name refers to it.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import qengine
from qengine.syntax import ast, parse
from tests.scripts.procedures import with_procedures
from tests.scripts.script import GraphText, Script, ScriptError

FOLDER = Path(__file__).parent / "graphs"


def graph_of(script: Script, wanted: GraphText) -> qengine.Graph:
    """Return the graph that a paragraph of a script names or describes.

    Raises
    ------
    ScriptError
        For an unknown name, and for a pattern that doesn't describe a graph.
    """
    return with_procedures(_graph_of(script, wanted))


def _graph_of(script: Script, wanted: GraphText) -> qengine.Graph:
    if wanted.name is None:
        return _described(script, wanted.line + 1, wanted.lines)
    if wanted.name == "world":
        return _world()
    path = FOLDER / f"{wanted.name}.txt"
    if not path.exists():
        known = sorted([each.stem for each in FOLDER.glob("*.txt")] + ["world"])
        script.fail(wanted.line, f"there is no graph '{wanted.name}'; there are {', '.join(known)}.")
    return _stored(path)


def value_of(expression: str) -> Any:
    """Return the value of an expression without variables."""
    return qengine.Graph.from_records([]).query(f"RETURN {expression}", device="reference").value()


@functools.cache
def _world() -> qengine.Graph:
    return qengine.example()


@functools.cache
def _stored(path: Path) -> qengine.Graph:
    """Return a graph of ``graphs/``, whose files hold patterns and comments."""
    return _described(Script(path), 1, tuple(path.read_text().splitlines()))


def _described(script: Script, first: int, lines: tuple[str, ...]) -> qengine.Graph:
    made = _Description(script)
    for number, line in enumerate(lines, first):
        if line and not line.startswith("#"):
            made.add(number, line)
    return made.graph()


@dataclass
class _Element:
    """A node or relationship, with the text of its ``properties``."""

    line: int
    record: dict[str, Any]
    properties: str = "{}"


@dataclass
class _Description:
    """The nodes and relationships described so far."""

    script: Script
    nodes: list[_Element] = field(default_factory=list)
    relationships: list[_Element] = field(default_factory=list)
    mentioned: dict[str, int] = field(default_factory=dict)
    described: set[str] = field(default_factory=set)
    directed: dict[str, bool] = field(default_factory=dict)

    def add(self, line: int, patterns: str) -> None:
        """Add the patterns of one line."""
        text = f"MATCH {patterns} FINISH"
        try:
            (statement,) = parse(text)
        except qengine.QuerySyntaxError as error:
            self.script.fail(line, f"no patterns of a graph.\n{error}")
        assert isinstance(statement.body, ast.Query)
        match = statement.body.clauses[0]
        if len(statement.body.clauses) != 2 or not isinstance(match, ast.MatchClause) or match.where or match.mode:
            self.script.fail(line, "no patterns of a graph, but clauses of a query.")
        for pattern in match.patterns:
            self._path(line, text, pattern)

    def _path(self, line: int, text: str, pattern: ast.PathPattern) -> None:
        if pattern.name or pattern.selector or pattern.path_mode:
            self.script.fail(line, "a path of a graph has no name, selector or mode.")
        alone = len(pattern.elements) == 1
        ends = [self._node(line, text, each, alone) for each in pattern.elements[::2]]
        for place, relationship in enumerate(pattern.elements[1::2]):
            self._relationship(line, text, relationship, ends[place : place + 2])

    def _node(self, line: int, text: str, node: ast.Ast, alone: bool) -> str:
        if not isinstance(node, ast.NodePattern) or node.where:
            self.script.fail(line, "a node of a graph is written (name:Label {key: value}).")
        name = node.name or f"({len(self.nodes)})"
        if node.labels is None and node.properties is None and node.name and not alone:
            self.mentioned.setdefault(name, line)
            return name
        if name in self.described:
            self.script.fail(line, f"node `{name}` is described twice.")
        self.described.add(name)
        record = {"id": name, "labels": self._names(line, node.labels)}
        self.nodes.append(_Element(line, record, self._properties(line, text, node.properties)))
        return name

    def _relationship(self, line: int, text: str, pattern: ast.Ast, ends: list[str]) -> None:
        names = self._names(line, pattern.types) if isinstance(pattern, ast.RelationshipPattern) else []
        if not isinstance(pattern, ast.RelationshipPattern) or len(names) != 1 or pattern.hops or pattern.where:
            self.script.fail(line, "a relationship of a graph is written -[:TYPE {key: value}]->.")
        if pattern.left and pattern.right:
            self.script.fail(line, "a relationship of a graph points one way, or has no arrow head at all.")
        directed = pattern.left or pattern.right
        if self.directed.setdefault(names[0], directed) != directed:
            self.script.fail(line, f"type `{names[0]}` has a direction in one place, and none in another.")
        first, last = reversed(ends) if pattern.left else ends
        record = {"type": names[0], "start": first, "end": last}
        self.relationships.append(_Element(line, record, self._properties(line, text, pattern.properties)))

    def _names(self, line: int, labels: ast.LabelExpression | None) -> list[str]:
        match labels:
            case None:
                return []
            case ast.LabelName(name=name):
                return [name]
            case ast.LabelConjunction(args=args):
                return [name for each in args for name in self._names(line, each)]
            case _:
                self.script.fail(line, "labels of a graph are names, as in :Person:Actor.")

    def _properties(self, line: int, text: str, properties: ast.Expression | None) -> str:
        if properties is None:
            return "{}"
        if not isinstance(properties, ast.MapLiteral):
            self.script.fail(line, "properties of a graph are written {key: value}.")
        return text[properties.span.start : properties.span.end]

    def graph(self) -> qengine.Graph:
        """Return the graph."""
        for name, line in self.mentioned.items():
            if name not in self.described:
                self.script.fail(line, f"node `{name}` isn't described; describe one without labels as ({name}).")
        elements = [*self.nodes, *self.relationships]
        try:
            values = value_of("[" + ", ".join(each.properties for each in elements) + "]")
        except qengine.QengineError:
            values = [self._value(each) for each in elements]
        for each, properties in zip(elements, values, strict=True):
            each.record["properties"] = properties
        try:
            return qengine.Graph.from_records(
                [each.record for each in self.nodes],
                [each.record for each in self.relationships],
                undirected=[name for name, directed in self.directed.items() if not directed],
            )
        except qengine.StorageError as error:
            self.script.fail(elements[0].line, str(error))

    def _value(self, element: _Element) -> Any:
        """Evaluate the properties of one element, to find the one that is wrong."""
        try:
            return value_of(element.properties)
        except qengine.QengineError as error:
            raise ScriptError(f"{self.script.path.name}:{element.line}: {error}") from None
