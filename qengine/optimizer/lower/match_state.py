"""What has been lowered of a ``Match`` so far, its rows and its columns, and what is left of it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import field

from qengine._frozen import frozen, record
from qengine.catalog.view import CatalogView
from qengine.optimizer.difference import Differences
from qengine.optimizer.lower.conditions import PostFilters
from qengine.optimizer.lower.demand import Demand
from qengine.optimizer.lower.subquery import attach_subqueries
from qengine.optimizer.lower.walks import WalkPart
from qengine.optimizer.pattern_edges import PatternEdge
from qengine.plan.expr import Call, Expr, Quantifier, Variable
from qengine.plan.logical import Filter, Operator, Project
from qengine.plan.pattern import MatchMode, PatternNode, QueryGraph
from qengine.plan.traverse import conjunction, free_variables
from qengine.types import BOOLEAN, RELATIONSHIP, list_of


@frozen
class Purpose:
    """What an elimination is for that the host runs in the place of rows.

    ``first``: the node to count by first. ``valued``: one by whose values counts are multiplied (``NodeValues``).
    ``budget``: nanoseconds that it may take, however little a search would.
    """

    first: str
    valued: str | None
    budget: float


@record
class MatchState:
    """What has been lowered of one match, and what is left of it.

    ``root`` grows from the input; ``columns`` are its columns by now.
    ``taken``: columns of what this will be joined with. ``purpose``: of an elimination that is not asked for its rows.
    """

    graph: QueryGraph
    catalog: CatalogView
    demand: Demand
    root: Operator
    columns: list[str]
    input_weight: str | None
    bound: set[str] = field(default_factory=set)
    nodes: dict[str, PatternNode] = field(default_factory=dict)
    fixed: list[PatternEdge] = field(default_factory=list)
    walks: list[WalkPart] = field(default_factory=list)
    walked: list[WalkPart] = field(default_factory=list)
    difference: Differences = field(default_factory=Differences)
    inequalities: Sequence[tuple[str, str]] = ()
    searched: list[PatternEdge] = field(default_factory=list)
    weight: str | None = None
    taken: frozenset[str] = frozenset()
    purpose: Purpose | None = None

    def _filter(self, conditions: Sequence[Expr]) -> None:
        if not conditions:
            return
        self.root, columns, (predicate,) = attach_subqueries(
            self.root, tuple(self.columns), (conjunction(tuple(conditions)),), self.catalog
        )
        self.columns = list(columns)
        self.root = Filter(self.root, predicate)

    def _wanted(self, filters: PostFilters, difference: Differences) -> set[str]:
        """Return the pattern variables that something after the search reads."""
        wanted = set(self.demand.columns)
        for predicate in filters.general:
            wanted |= free_variables(predicate)
        for path in self.graph.paths:
            if path.name and path.name in wanted:
                wanted |= set(path.elements)
        for relationship in self.graph.relationships:
            if relationship.bound:
                wanted.add(relationship.name)
        if self.walks:
            for walk in self.walks:
                wanted |= {walk.start, walk.end}
            if self._compares_relationships():
                wanted |= {e.name for e in self.fixed if any(set(e.type_names()) & set(w.types) for w in self.walks)}
            if len(self._components()) > 1:  # searched one by one: compared when both are there
                wanted |= difference.edges.members()
                wanted |= {name for pair in difference.vertices for name in pair}
                wanted |= {name for pair in difference.pairs for both in pair for name in both}
        return wanted

    def _components(self) -> list[set[str]]:
        components: list[set[str]] = []
        for name in self.nodes:
            joined = {name}
            for edge in self.fixed:
                if name in edge.ends:
                    joined |= set(edge.ends)
            overlapping = [component for component in components if component & joined]
            components = [component for component in components if not component & joined]
            components.append(joined.union(*overlapping))
        return components

    def _weigh(self, name: str) -> None:
        before = self.weight or self.input_weight
        self.weight = name
        self.columns.append(name)
        if before is None:
            return
        product = Call("*", (Variable(before), Variable(name)))
        kept = [each for each in self.columns if each not in (name, before)]
        items = [(each, Variable(each)) for each in kept]
        self.root = Project(self.root, (*items, (name, product)))
        self.columns = [*kept, name]

    def _unused(self, prefix: str) -> str:
        numbered = (f"{prefix}{number}" for number in itertools.count(len(self.columns)))
        return next(name for name in numbered if name not in self.columns and name not in self.taken)

    def _compares_relationships(self) -> bool:
        return self.graph.mode is not MatchMode.REPEATABLE_ELEMENTS

    def _compare_walks(self, edges: Iterable[PatternEdge], walks: Iterable[WalkPart]) -> None:
        """Relationships that were searched must not be part of these walks."""
        if not self._compares_relationships():
            return
        conditions: list[Expr] = []
        for walk in walks:
            shared = (edge for edge in edges if set(edge.type_names()) & set(walk.types))
            conditions += [_not_in(Variable(edge.name, type=RELATIONSHIP), walk) for edge in shared]
        self._filter(conditions)

    def _compare_selected(self, walk: WalkPart) -> None:
        """Leave out selected walks that have a relationship of what was found before; these are selected first."""
        self._compare_walks(self.searched, [walk])
        if self._compares_relationships():
            item = Variable("@step", type=RELATIONSHIP)
            relationships = Variable(walk.name, type=list_of(RELATIONSHIP))
            shared = (other for other in self.walked if set(other.types) & set(walk.types))
            self._filter([Quantifier("all", item.name, relationships, _not_in(item, other)) for other in shared])

    def _needed_names(self) -> set[str]:
        return set(self.demand.columns).union(*(free_variables(each) for each in self.graph.predicates))


def _not_in(relationship: Expr, walk: WalkPart) -> Expr:
    inside = Call("IN", (relationship, Variable(walk.name, type=list_of(RELATIONSHIP))), type=BOOLEAN)
    return Call("NOT", (inside,), type=BOOLEAN)
