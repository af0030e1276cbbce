"""All that cells match of a query: its first pattern, the matches that follow it, and those in expressions.

The nodes of the first pattern have shares. What follows hangs on a row of that pattern, which is found in one cell; so
all that may be matched there is sent to that cell: the other patterns' own nodes are *beside* the grid, in one part
each, and relationships between two of them go to every cell. So do those that a pattern of variable length may pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from qengine._frozen import frozen
from qengine.cluster.hypercube.plain import check_elements, expressions
from qengine.cluster.hypercube.tables import Tables
from qengine.cluster.hypercube.uses import Use, check_graph, matched
from qengine.errors import Unsupported
from qengine.plan.expr import Expr, Property, Subquery, Variable
from qengine.plan.logical import Filter, Match, Operator, Project, Sort, Unwind
from qengine.plan.pattern import PatternNode, PatternRelationship, QueryGraph
from qengine.plan.traverse import preorder
from qengine.types import LIST, NODE, RELATIONSHIP, Type

_MOST_VARIABLES = 60
"""Nodes of patterns: each has a bit of an integer."""


@frozen
class Gathered:
    """What cells match.

    Attributes
    ----------
    nodes
        Of all patterns, those of the first one at the start.
    gridded
        How many of them have shares.
    relationships
        Of all patterns.
    kinds, uses
        What tables these may be rows of: of each node the numbers of kinds, and the uses.
    joined
        The numbers of the nodes that are ends of a relationship of their own pattern.
    names
        Of each name of a node or relationship that of the pattern's element.
    reads
        Properties that are read: of which name, and their keys; not those of elements' own conditions.
    elements, columns
        What the last match's rows hold: nodes and relationships by their names, and names of plain values.
    """

    nodes: tuple[PatternNode, ...]
    gridded: int
    relationships: tuple[PatternRelationship, ...]
    kinds: tuple[frozenset[int], ...]
    uses: tuple[Use, ...]
    joined: frozenset[int]
    names: Mapping[str, str]
    reads: frozenset[tuple[str, str]]
    elements: Mapping[str, Type]
    columns: tuple[str, ...]

    def properties(self, more: Iterable[Expr]) -> dict[str, frozenset[str]]:
        """Return which properties cells read of each node and relationship; ``more``: what else they evaluate."""
        read = {*self.reads, *_read(more)}
        names = [each.name for each in self.nodes] + [each.name for each in self.relationships]
        found: dict[str, set[str]] = {name: set() for name in names}
        for name, key in read:
            if name in self.names:
                found[self.names[name]].add(key)
        return {name: frozenset(keys) for name, keys in found.items()}


def gathered(below: Sequence[Operator], above: Sequence[Operator], tables: Tables) -> Gathered:
    """Gather what cells match.

    Parameters
    ----------
    below
        The operators of a query up to its last match, from the first match upward; each treats rows one by one.
    above
        Those over them whose expressions cells evaluate.

    Raises
    ------
    Unsupported
        For what cells can't match, or don't know.
    """
    found = _Gathering(tables)
    for operator in below:
        found.operator(operator)
    elements, columns = dict(found.live), tuple(found.columns)
    for operator in above:
        found.inside(operator)
        found.check(operator)
    return Gathered(
        tuple(found.nodes), found.gridded, tuple(found.relationships), tuple(found.kinds),
        tuple(dict.fromkeys(found.uses)), frozenset(found.joined), found.names, frozenset(found.reads), elements,
        columns,
    )  # fmt: skip


class _Gathering:
    """What was met so far.

    Attributes
    ----------
    names
        Of each name of a node or relationship that of the pattern's element.
    live, columns
        Elements and plain columns of the rows of the outermost query.
    """

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.nodes: list[PatternNode] = []
        self.kinds: list[frozenset[int]] = []
        self.gridded = 0
        self.relationships: list[PatternRelationship] = []
        self.uses: list[Use] = []
        self.joined: set[int] = set()
        self.names: dict[str, str] = {}
        self.types: dict[str, Type] = {}
        self.live: dict[str, Type] = {}
        self.columns: list[str] = []
        self._number: dict[str, int] = {}
        self.reads: set[tuple[str, str]] = set()

    def operator(self, operator: Operator) -> None:
        """Go on with the next operator of the outermost query."""
        if isinstance(operator, Match):
            self.match(operator.graph)
            self.live |= {name: self.types[name] for name in operator.graph.variables()}
        self.inside(operator)
        self.check(operator)
        if isinstance(operator, Project):
            self._projected(operator)
            self.columns = [name for name, _ in operator.items if name not in self.types]
            self.live = {name: self.types[name] for name, _ in operator.items if name in self.types}
        elif isinstance(operator, Unwind):
            self.columns.append(operator.name)
        elif not isinstance(operator, Filter | Match):
            raise Unsupported(
                "Over tables nothing that looks at several rows stands between two patterns.",
                hint="Run several queries, or load the graph whole.",
            )

    def inside(self, operator: Operator) -> None:
        """Gather the patterns in an operator's expressions."""
        for expr in _expressions(operator):
            for part in preorder(expr):
                if isinstance(part, Subquery):
                    self._query(part.plan, part.kind)

    def _query(self, operator: Operator, kind: str | None) -> None:
        """Gather the patterns of a query in an expression; ``kind``: of the expression, None below the last operator.

        Names that its last projection gives are read nowhere.
        """
        for name in operator.child_fields:
            below = getattr(operator, name)
            for each in below if isinstance(below, tuple) else (below,):
                if isinstance(each, Operator):
                    self._query(each, kind if name == "inputs" else None)
        if isinstance(operator, Match):
            self.match(operator.graph)
        self.inside(operator)
        self.check(operator)
        if isinstance(operator, Project):
            if kind == "collect" and any(isinstance(e, Variable) and e.name in self.types for _, e in operator.items):
                raise Unsupported("Nodes and relationships of tables are in no list.", hint="Collect their properties.")
            if kind is None:
                self._projected(operator)

    def _projected(self, operator: Project) -> None:
        for name, expr in operator.items:
            if isinstance(expr, Variable) and expr.name in self.types:
                self.types[name] = self.types[expr.name]
                self.names[name] = self.names[expr.name]

    def match(self, graph: QueryGraph) -> None:
        """Gather the elements of a pattern; of one that was met before, none."""
        check_graph(graph)
        first = not self.nodes
        for node in graph.nodes:
            if node.name not in self.names and not node.bound:
                self._named(node.name, NODE)
                self._add(node)
        if first:
            self.gridded = len(self.nodes)
        new = [each for each in graph.relationships if each.name not in self.names]
        start = len(self.relationships)
        ways: dict[int, tuple[int, int]] = {}
        for place, each in enumerate(new, start):
            self._named(each.name, RELATIONSHIP if each.hops is None else LIST)
            self.relationships.append(each)
            if each.hops is not None:  # the ends of any relationship that is passed
                ways[place] = self._add(PatternNode(f"@{place} from")), self._add(PatternNode(f"@{place} to"))
        if len(self.nodes) > _MOST_VARIABLES:
            raise Unsupported(f"Over tables patterns have at most {_MOST_VARIABLES} nodes together.", span=graph.span)
        numbers = {name: self._number[self.names[name]] for node in graph.nodes if (name := node.name) in self.names}
        own = frozenset(numbers[node.name] for node in graph.nodes if not node.bound)
        uses = matched(dict(enumerate(new, start)), numbers, ways, self.kinds, own, self.tables)
        self.uses += uses
        for use in uses:
            hops = self.relationships[use.relationship].hops
            binds = own if hops is None or hops[0] else frozenset[int]()
            self.joined |= {use.first, use.second} & binds.union(*ways.values())

    def _named(self, name: str, kind: Type) -> None:
        self.names[name], self.types[name] = name, kind

    def _add(self, node: PatternNode) -> int:
        """Add a node, which may be of the kinds that its labels admit, and return its number."""
        admitted = (
            place
            for place, kind in enumerate(self.tables.kinds)
            if node.labels is None or node.labels.admits(frozenset(kind.labels))
        )
        self._number[node.name] = len(self.nodes)
        self.nodes.append(node)
        self.kinds.append(frozenset(admitted))
        return len(self.nodes) - 1

    def check(self, operator: Operator) -> None:
        """Raise where an operator that cells run needs more of an element than they know; note what it reads."""
        for each in operator.graph.relationships if isinstance(operator, Match) else ():
            check_elements(each.predicates, {each.name: RELATIONSHIP})  # of each hop, where there are several
        roots = list(_expressions(operator))
        check_elements(roots, self.types)
        if isinstance(operator, Sort) and any(isinstance(e, Variable) and e.name in self.types for e in roots):
            raise Unsupported("Nodes and relationships of tables have no order.", hint="Order by their properties.")
        if isinstance(operator, Match):  # but for the own conditions of what it binds
            given = [expr for node in operator.graph.nodes if node.bound for expr in node.predicates]
            roots = [*operator.graph.predicates, *given]
        self.reads |= set(_read(roots))


def _read(roots: Iterable[Expr]) -> Iterator[tuple[str, str]]:
    for root in roots:
        for part in preorder(root):
            if isinstance(part, Property) and isinstance(part.subject, Variable):
                yield part.subject.name, part.key


def _expressions(operator: Operator) -> Iterator[Expr]:
    """Yield the expressions of an operator, those of a match's nodes and of its whole pattern among them."""
    if not isinstance(operator, Match):
        yield from expressions(operator)
        return
    yield from operator.graph.predicates
    for node in operator.graph.nodes:
        yield from node.predicates
