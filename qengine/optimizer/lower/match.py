"""Lowers ``Match``: one ``Search`` over what has a fixed length, walks over the rest, then what is left to filter.

The fixed-length relationships fall into connected components. A component is searched once one of its nodes is
bound (or when nothing is, cheapest first); a variable-length relationship is walked once one of its ends is bound. A
match with no variable-length part is a single search, however many components it has.
"""

from __future__ import annotations

from qengine._deadline import check_planning
from qengine._frozen import record, replace
from qengine.optimizer.access import with_access
from qengine.optimizer.difference import Differences, differences
from qengine.optimizer.lower.bound_edges import located, renamed
from qengine.optimizer.lower.conditions import PostFilters, split_predicates
from qengine.optimizer.lower.demand import Duplicates, Lowered
from qengine.optimizer.lower.inner_nodes import repetition_conditions, walk_mode
from qengine.optimizer.lower.links import with_links
from qengine.optimizer.lower.match_pairs import MatchPairs
from qengine.optimizer.lower.reach import reaching_by
from qengine.optimizer.lower.subquery import lower_part
from qengine.optimizer.lower.walks import (
    Repeated,
    WalkDemand,
    WalkPart,
    chain_edges,
    lower_walk,
    repeated_part,
    single_hop,
    walk_parts,
)
from qengine.optimizer.pattern_edges import given_name, pattern_edge
from qengine.plan.expr import Call, Comparison, Expr, HasLabels, Literal, PathOf, Variable
from qengine.plan.fallible import condition_can_fail
from qengine.plan.logical import Argument, Limit, Match, Project
from qengine.plan.pattern import MatchMode, Repetition
from qengine.plan.physical import PathPart, VertexLevel
from qengine.types import BOOLEAN, INTEGER, NODE, RELATIONSHIP


@record
class MatchLowering(MatchPairs):
    """Lowers one match."""

    def run(self) -> Lowered:
        """Lower the whole match."""
        check_planning()
        if Literal(False, type=BOOLEAN) in self.graph.predicates:
            return self._nothing()
        graph, self.root, columns, sure = located(self.graph, self.root, self.columns, self.catalog)
        self.columns = list(columns)
        graph = self.graph = with_links(renamed(graph), self.catalog)
        self.nodes = {node.name: node for node in graph.nodes}
        self.bound = {node.name for node in graph.nodes if node.bound}
        fixed, self.walks = walk_parts(graph, self.catalog)
        self.fixed = [pattern_edge(self.catalog, relationship) for relationship in fixed]
        named = self.demand.columns if self.demand.duplicates is Duplicates.COUNT else None
        before, filters = split_predicates(graph, self.catalog, self.columns, named)
        filters.general += repetition_conditions(graph, self.walks)
        if not self.walks:
            self._check_size(list(self.nodes), self.fixed)
        self._filter_bound_nodes(sure)
        self._filter(before)
        difference = differences(graph, self.fixed, self.catalog)
        empty = difference.contradiction or any(not edge.types for edge in self.fixed)
        empty = empty or any(not walk.types and walk.minimum > 0 for walk in self.walks)
        if empty:
            return self._nothing()
        filters.inequalities_into(difference)
        self.difference, self.inequalities = difference, filters.inequalities
        while self._look_up(filters):
            pass
        if not (self.walks or self._valued(filters)):
            last = all(name in self.bound for name in self.nodes) and not self.fixed
            apart = last or self._counted_by_elimination(filters, difference)
            if not (apart or self._compared_by_values(filters, difference)):
                wanted = self._wanted(filters, difference)
                self._search(list(self.nodes), self.fixed, difference, filters, wanted, final=True)
        else:
            filters.compare_on_rows()
            self._in_parts(difference, filters)
        self._same_as_bound()
        self._bind_paths()
        self._filter([each for each in filters.general if not condition_can_fail(each)])
        self._filter([each for each in filters.general if condition_can_fail(each)])
        weight = self.weight or self.input_weight
        read = self.demand.columns | ({weight} if weight else set())
        self.root, self.columns = reaching_by(self.root, self.columns, read)
        return Lowered(self.root, tuple(self.columns), weight)

    def _filter_bound_nodes(self, sure: frozenset[str]) -> None:
        ends = {end for each in self.graph.relationships for end in (each.start, each.end)}
        conditions: list[Expr] = []
        for node in self.graph.nodes:
            if node.bound:
                if node.name not in ends | sure:  # nothing looks for its neighbours: null would pass
                    conditions.append(Call("IS NOT NULL", (Variable(node.name, type=NODE),), type=BOOLEAN))
                if node.labels is not None:
                    conditions.append(HasLabels(Variable(node.name, type=NODE), node.labels))
                conditions += node.predicates
        self._filter(conditions)

    def _in_parts(self, difference: Differences, filters: PostFilters) -> None:
        components = self._components()
        filters.across(components, difference, {edge.name: edge.ends[0] for edge in self.fixed})
        wanted = self._wanted(filters, difference)
        todo = list(self.walks)
        while components or todo:
            if self._look_up(filters):
                continue
            ready = next((each for each in components if each & self.bound), None)
            if ready is not None:
                components.remove(ready)
                edges = [edge for edge in self.fixed if set(edge.ends) <= ready]
                if ready - self.bound or edges:
                    self._search(sorted(ready, key=list(self.nodes).index), edges, difference, filters, wanted)
                continue
            walk = min(
                (each for each in todo if each.begins & self.bound),
                key=lambda each: not {each.start, each.end} <= self.bound,
                default=None,
            )
            shortest_waits = (
                walk is not None and walk.selected and not {walk.start, walk.end} <= self.bound and len(components) > 1
            )
            if walk is not None and not shortest_waits:
                todo.remove(walk)
                self._walk(walk, wanted)
                continue
            start = self._next(components, filters)
            components.remove(start)
            edges = [edge for edge in self.fixed if set(edge.ends) <= start]
            names = sorted(start, key=list(self.nodes).index)
            last = not (components or todo)
            if not self._joined_by_value(names, edges, difference, filters, wanted, last):
                self._search(names, edges, difference, filters, wanted)

    def _walk(self, walk: WalkPart, wanted: set[str]) -> None:
        compare = self._compares_relationships()
        others: list[str] = []
        if compare:
            others += [edge.name for edge in self.searched if set(edge.type_names()) & set(walk.types)]
            others += [other.name for other in self.walked if set(other.types) & set(walk.types)]
        named = walk.name in wanted or self._is_compared(walk)
        named = named or (walk.chain is not None and walk.chain.bounds in wanted)
        compared = bool(others) and walk.selected and walk.chain is None and walk.repetition is None
        named = named or compared
        distinct_ends = self.demand.duplicates is Duplicates.IGNORE and not self.graph.hints.as_written
        demand = WalkDemand(named, tuple(others), walk_mode(self.graph, walk), distinct_ends)
        self.root, added = lower_walk(
            self.root, walk, self._level, self.bound, self.columns, demand, self._repeated, self._path_parts
        )
        self.columns += added
        self.bound |= {walk.start, walk.end}
        if compared:
            self._compare_selected(walk)
        self.walked.append(walk)

    def _level(self, name: str) -> VertexLevel:
        """Return a node as the end of a walk, with the indexes that may find it."""
        node = self.nodes[name]
        (level,) = with_access((VertexLevel(name, node.labels, node.predicates),), 0, self.catalog)
        assert isinstance(level, VertexLevel)
        return level

    def _repeated(self, repetition: Repetition, backwards: bool) -> Repeated:
        """Lower what a quantified path repeats, from its first node on or, backwards, from its last."""
        nodes, relationships = repetition.nodes, repetition.relationships
        if backwards:
            nodes, relationships = nodes[::-1], relationships[::-1]
        begin, graph = nodes[0], repetition.graph
        bound = tuple(replace(each, bound=True) if each.name == begin else each for each in graph.nodes)
        part = Match(Argument((begin,)), replace(graph, nodes=bound, hints=self.graph.hints))
        wanted = frozenset((*nodes[1:], *relationships))
        return lower_part(part, wanted, self.catalog), begin, relationships, nodes[1:]

    def _path_parts(self, walk: WalkPart) -> tuple[PathPart, ...]:
        """Lower the parts of a selected path."""
        chain = walk.chain
        assert chain is not None
        nodes = {node.name: node for node in chain.graph.nodes}
        parts = []
        edges = chain_edges(chain)
        closed = walk.start == walk.end and len(edges) == 1
        for place, edge in enumerate(edges):
            near, behind = chain.elements[2 * place], nodes[chain.elements[2 * place + 2]]
            minimum, maximum = edge.hops or (1, 1)
            if chain.graph.mode is MatchMode.DIFFERENT_NODES and not closed:
                minimum = max(1, minimum)
            repetition = repeated_part(edge.repetition or single_hop(edge, near, chain.graph), closed)
            level = VertexLevel(behind.name, behind.labels, behind.predicates)
            parts.append(PathPart(*self._repeated(repetition, False), minimum, maximum, level))
        return tuple(parts)

    def _is_compared(self, walk: WalkPart) -> bool:
        if not self._compares_relationships():
            return False
        others = [other.types for other in self.walks if other is not walk]
        others += [edge.type_names() for edge in self.fixed if edge not in self.searched]
        return any(set(types) & set(walk.types) for types in others)

    def _same_as_bound(self) -> None:
        """Compare with the relationships that the input rows gave: the pattern found them under another name."""
        conditions = []
        for relationship in self.graph.relationships:
            if relationship.bound:
                given = Variable(given_name(relationship.name), type=RELATIONSHIP)
                conditions.append(Comparison(("=",), (Variable(relationship.name), given)))
        self._filter(conditions)

    def _bind_paths(self) -> None:
        paths = [path for path in self.graph.paths if path.name and path.name in self._needed_names()]
        if not paths:
            return
        items: list[tuple[str, Expr]] = [(name, Variable(name)) for name in self.columns]
        items += [(str(path.name), PathOf(path.elements)) for path in paths]
        self.root = Project(self.root, tuple(items))
        self.columns += [str(path.name) for path in paths]

    def _nothing(self) -> Lowered:
        """Emit no row, with the right columns."""
        new = [name for name in self.graph.variables() if name not in self.columns]
        items = [(name, Variable(name)) for name in self.columns]
        none = Limit(self.root, Literal(0, type=INTEGER))
        self.root = Project(none, (*items, *((name, Literal(None)) for name in new)))
        return Lowered(self.root, (*self.columns, *new), self.input_weight)
