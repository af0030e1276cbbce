"""Lowers ``Match``: one ``Search`` over what has a fixed length, walks over the rest, then what is left to filter.

The fixed-length relationships fall into connected components. A component is searched once one of its nodes is
bound (or when nothing is, cheapest first); a variable-length relationship is walked once one of its ends is bound. A
match with no variable-length part is a single search, however many components it has.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import field
from math import inf

from qengine._deadline import check_planning
from qengine._frozen import frozen, record, replace
from qengine.catalog.view import CatalogView
from qengine.optimizer.access import looked_up_rows, with_access
from qengine.optimizer.cardinality import Cardinality
from qengine.optimizer.count_shapes import count_shapes
from qengine.optimizer.difference import Differences, differences
from qengine.optimizer.elimination import Eliminated, Wanted, eliminated
from qengine.optimizer.existence import first_match, rows_first
from qengine.optimizer.given_labels import with_likely_labels
from qengine.optimizer.intervals import Interval, expected_rows
from qengine.optimizer.joins import Join, JoinSide, better_join, enumerated_instead, reversed_semi_join
from qengine.optimizer.lower.bound_edges import renamed
from qengine.optimizer.lower.conditions import PostFilters, compared_values, joined, split_predicates
from qengine.optimizer.lower.demand import Demand, Duplicates, Lowered
from qengine.optimizer.lower.inner_nodes import repetition_conditions, walk_mode
from qengine.optimizer.lower.kernel_hints import check_kernels
from qengine.optimizer.lower.reach import reaching_by
from qengine.optimizer.lower.subquery import attach_subqueries, lower_part
from qengine.optimizer.lower.walks import (
    Repeated,
    WalkDemand,
    WalkPart,
    chain_edges,
    lower_walk,
    single_hop,
    walk_parts,
)
from qengine.optimizer.matching import Matching, MatchingOrder, matching_order, order_on_gpu
from qengine.optimizer.pattern_edges import PatternEdge, edge_of_types, given_name, pattern_edge
from qengine.optimizer.search_levels import NamedCondition, SearchSpec, as_filter, build_levels
from qengine.optimizer.symmetry import Symmetry
from qengine.optimizer.target import is_for_gpu
from qengine.plan.access import equality
from qengine.plan.count_shapes import Component, View
from qengine.plan.device_cost import device_search_cost
from qengine.plan.expr import Call, Comparison, Expr, HasLabels, Literal, PathOf, Variable
from qengine.plan.fallible import condition_can_fail
from qengine.plan.logical import Argument, Filter, Limit, Match, Operator, Project, Unit
from qengine.plan.pattern import Chain, MatchMode, PatternNode, QueryGraph, Repetition
from qengine.plan.physical import Eliminate, HashJoin, Level, LookUp, PathPart, Search, VertexLevel, check_levels
from qengine.plan.traverse import conjunction, free_variables, is_repeatable
from qengine.types import BOOLEAN, INTEGER, NODE, RELATIONSHIP

_WIDE_ROWS = 2.0**50
"""Where so many embeddings are expected, a search's counts, of 64 bits, may not do: elimination has more."""
_TRIANGLE = 5.0
"""How many times less eliminating a triangle must be expected to take than searching it: on eight graphs (R-MAT 10 to
14, social, uniform) it was expected to take 0.2 to 0.3 times as long, and took 1.0 to 4.1 times as long."""

_WIDE_COST = 1e9
"""Nanoseconds that elimination may then take, however little a search would."""
_FEW_FOUND = 2.0
"""Nodes that a look-up may find where the node is a neighbour of one that is there."""
_ALONE = 12  # nodes of a pattern that may be eliminated, or be cut into parts


@frozen
class _MatchRequest:
    """What a search is asked for. ``emitted``: variables; ``existence``: one match is as good as all."""

    matching: Matching
    emitted: set[str]
    existence: bool


@frozen
class _MatchStrategy:
    """How that is done: in an order, or instead by a join, or by elimination, on the devices of its schedules.

    ``counted``: what isn't wanted is counted, not enumerated. ``shapes``: as in ``Search``.
    """

    order: MatchingOrder
    counted: bool
    elimination: Eliminated | None = None
    join: Join | None = None
    shapes: tuple[Component[View], ...] = ()


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
class MatchLowering:
    """State of lowering one match. ``root`` grows from the input; ``columns`` are its columns by now.

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

    def run(self) -> Lowered:
        """Lower the whole match."""
        check_planning()
        if Literal(False, type=BOOLEAN) in self.graph.predicates:
            return self._nothing()
        graph = self.graph = renamed(self.graph)
        self.nodes = {node.name: node for node in graph.nodes}
        self.bound = {node.name for node in graph.nodes if node.bound}
        fixed, self.walks = walk_parts(graph, self.catalog)
        self.fixed = [pattern_edge(self.catalog, relationship) for relationship in fixed]
        named = self.demand.columns if self.demand.duplicates is Duplicates.COUNT else None
        before, filters = split_predicates(graph, self.catalog, self.columns, named)
        filters.general += repetition_conditions(graph, self.walks)
        if not self.walks:
            self._check_size(list(self.nodes), self.fixed)
        self._filter_bound_nodes()
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
        if not (self.walks or self._equated(filters)):
            last = all(name in self.bound for name in self.nodes) and not self.fixed
            if not (last or self._compared_by_values(filters, difference)):
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

    # ------------------------------------------------------------ steps

    def _filter_bound_nodes(self) -> None:
        ends = {end for each in self.graph.relationships for end in (each.start, each.end)}
        conditions: list[Expr] = []
        for node in self.graph.nodes:
            if node.bound:
                if node.name not in ends:  # nothing looks for its neighbours: null would pass
                    conditions.append(Call("IS NOT NULL", (Variable(node.name, type=NODE),), type=BOOLEAN))
                if node.labels is not None:
                    conditions.append(HasLabels(Variable(node.name, type=NODE), node.labels))
                conditions += node.predicates
        self._filter(conditions)

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
            cardinality = Cardinality(self.catalog, self.nodes)
            start = min(components, key=lambda each: min(cardinality.candidates(name) for name in each))
            components.remove(start)
            edges = [edge for edge in self.fixed if set(edge.ends) <= start]
            self._search(sorted(start, key=list(self.nodes).index), edges, difference, filters, wanted)

    def _look_up(self, filters: PostFilters) -> bool:
        """Find one of the nodes by the value of a property that the rows give, if any is; tell whether one is."""
        conditions: list[Expr | NamedCondition] = [*filters.general, *filters.conditions]
        for condition in conditions:
            predicate = as_filter(condition) if isinstance(condition, NamedCondition) else condition
            look_up = self._looked_up(predicate)
            if look_up is None:
                continue
            if isinstance(condition, NamedCondition):
                filters.conditions.remove(condition)
            elif not condition_can_fail(condition):
                filters.general.remove(condition)
            self.root = look_up
            self.columns.append(look_up.name)
            self.bound.add(look_up.name)
            self._filter(self.nodes[look_up.name].predicates)
            return True
        return False

    def _looked_up(self, predicate: Expr) -> LookUp | None:
        """Return what finds an unbound node by an equation with what the rows give; None where that doesn't pay."""
        for node in self.nodes.values():
            found = None if node.name in self.bound else equality(predicate, node.name)
            if found is None or not (free_variables(found[1]) <= set(self.columns) and is_repeatable(found[1])):
                continue
            near = any(node.name in edge.ends and not self.bound.isdisjoint(edge.ends) for edge in self.fixed)
            rows = looked_up_rows(node, found[0], self.catalog)
            if rows is not None and (not near or rows < _FEW_FOUND):
                unique = self.catalog.is_key(found[0])
                return LookUp(self.root, node.name, node.labels, *found, rows, unique)
        return None

    def _equated(self, filters: PostFilters) -> bool:
        """Tell whether a node in one component is looked up by the value that a node in another one has."""
        components = self._components()
        conditions = [*filters.general, *map(as_filter, filters.conditions)]
        return len(components) > 1 and any(
            len([each for each in components if each & free_variables(predicate)]) > 1
            and any(
                (found := equality(predicate, node.name)) and looked_up_rows(node, found[0], self.catalog) is not None
                for node in self.nodes.values()
            )
            for predicate in conditions
        )

    def _search(
        self,
        names: list[str],
        edges: list[PatternEdge],
        difference: Differences,
        filters: PostFilters,
        wanted: set[str],
        final: bool = False,
    ) -> None:
        request = self._request(names, edges, difference, filters, wanted, final)
        self._check_size(names, edges)
        check_planning()
        strategy = self._strategy(request)
        if strategy.join is not None:
            self._join(strategy.join, filters, wanted, final)
            return
        self._emit(request, strategy)
        self._compare_walks(edges)
        self.searched += edges

    def _compared_by_values(self, filters: PostFilters, difference: Differences) -> bool:
        """Match all with strings compared on the way where an elimination does so, or at relationships; tell whether.

        Else what is left to be compared is compared on rows.
        """
        names, values = list(self.nodes), list(filters.values)
        if not values:
            return False
        before = list(filters.conditions)
        filters.conditions += values
        filters.values.clear()
        wanted = self._wanted(filters, difference)
        self._check_size(names, self.fixed)
        request = self._request(names, self.fixed, difference, filters, wanted, True)
        strategy = self._strategy(request)
        close = [joined(self.graph, (each.left, each.right)) for each in values]
        simple = len(self.fixed) == 1 or not request.emitted  # else pairs are emitted, and compared, as fast or faster
        takes = simple if any(close) else strategy.elimination is not None
        if strategy.join is None and takes and (all(close) or strategy.elimination is not None):
            self._emit(request, strategy)
            self.searched += self.fixed
            return True
        filters.conditions[:] = before
        filters.values += values
        filters.compare_on_rows()
        return False

    def _request(
        self,
        names: list[str],
        edges: list[PatternEdge],
        difference: Differences,
        filters: PostFilters,
        wanted: set[str],
        final: bool,
    ) -> _MatchRequest:
        """State what is to be matched, and what of it is wanted one by one, counted, or only to exist."""
        seeds = [name for name in names if name in self.bound and self._constrained(name, edges, difference, filters)]
        new = [name for name in names if name not in self.bound]
        variables = {*new, *(edge.name for edge in edges)}
        emitted = wanted & variables
        ends = {end for edge in edges if edge.name in emitted for end in edge.ends}
        free = final and not self.graph.hints.as_written
        countable = free and self.demand.duplicates is not Duplicates.KEEP
        existence = countable and self.demand.duplicates is Duplicates.IGNORE
        as_found = free and not (seeds or filters.conditions)
        listed = as_found and len(new) > 2 and emitted == set(new)
        matching = Matching(
            new,
            edges,
            seeds,
            difference,
            filters.conditions,
            wanted=((emitted | ends) if countable else variables) & set(new),
            counted=countable,
            symmetric=listed or (as_found and countable and not existence and emitted <= set(new)),
            listed=listed,
            hints=self.graph.hints,
        )
        return _MatchRequest(matching, emitted, existence)

    def _strategy(self, request: _MatchRequest) -> _MatchStrategy:
        """Choose the order, whether all rows are enumerated, and whether elimination or a join takes the search's
        place.
        """
        matching = request.matching
        nodes = with_likely_labels(self.nodes, matching.edges, matching.bound, self.catalog)
        cardinality = Cardinality(self.catalog, nodes)
        order = matching_order(matching, cardinality)
        if request.existence:
            order = first_match(matching, order, cardinality)
        enumerated = enumerated_instead(matching, order, cardinality) if request.existence else None
        shapes = self._shapes(request, order)
        if is_for_gpu() and not (shapes or request.existence):
            order = order_on_gpu(matching, order, cardinality)
        found = order if enumerated is None else matching_order(enumerated, cardinality)
        least = _WIDE_COST if order.rows > _WIDE_ROWS and not request.existence else 0.0
        searched = device_search_cost(shapes, found.cost, found.on_gpu)
        limits = {"cpu": max(found.cost, least), "gpu": max(searched, least)}
        if _is_triangle(matching) and not request.emitted:
            limits["cpu"] /= _TRIANGLE
        if self.purpose is not None:
            limits = {"cpu": max(limits["cpu"], self.purpose.budget)}
        elimination = self._elimination(matching, request.emitted, limits, bool(shapes))
        if elimination is not None and elimination.searches:
            join = _worth_it(self._better_join(request, matching, order, cardinality), matching, searched)
            if join is not None and join.cost < elimination.schedules[0].cost and not _is_better(elimination, join):
                return _MatchStrategy(order, matching.counted, join=join)
        if elimination is not None and elimination.schedules[0].device == "cpu":
            instead = rows_first(matching, order, cardinality) if request.existence else order
            return _MatchStrategy(instead, matching.counted, elimination=elimination, shapes=shapes)
        if enumerated is not None:
            matching, order = enumerated, found
        join = _worth_it(self._better_join(request, matching, order, cardinality), matching, searched)
        if join is not None and elimination is not None and _is_better(elimination, join):
            join = None
        if elimination is not None and not (join or request.existence) and len(request.emitted) < 2:
            return _MatchStrategy(order, matching.counted, elimination=elimination, shapes=shapes)
        return _MatchStrategy(order, matching.counted, join=join, shapes=shapes)

    def _better_join(
        self, request: _MatchRequest, matching: Matching, order: MatchingOrder, cardinality: Cardinality
    ) -> Join | None:
        """Return a join that costs much less than a search; whether a match is there is rather asked by a semi-join."""
        rows = expected_rows(self.root, self.catalog) if matching.bound else Interval(1.0, 1.0)
        given = Interval(self.demand.least * rows.low, self.demand.times * rows.high)
        asked = matching.bound and request.existence and matching.hints.join is None
        join = None if asked and not request.emitted else better_join(matching, order, cardinality, given)
        if join is None:
            return reversed_semi_join(matching, order, cardinality, given.high) if asked else None
        return replace(join, rows=rows.high * join.rows)

    def _shapes(self, request: _MatchRequest, order: MatchingOrder) -> tuple[Component[View], ...]:
        """Return the shapes that a GPU counts all embeddings by."""
        matching = request.matching
        if not matching.counted or matching.bound or request.emitted or request.existence:
            return ()
        return count_shapes(self._built(request, order), self.catalog)

    def _emit(self, request: _MatchRequest, strategy: _MatchStrategy) -> None:
        """Put the search, or its elimination, on top of the plan."""
        matching, order = request.matching, strategy.order
        levels = self._levels(request, strategy)
        emit = tuple(level.name for level in levels[len(matching.bound) :] if level.name in request.emitted)
        shortened = strategy.counted and (levels[-1].name not in request.emitted or strategy.elimination is not None)
        weighed = shortened and self.demand.duplicates is Duplicates.COUNT
        name = self._unused("@weight") if weighed else None
        search = Search(
            self.root,
            levels,
            len(matching.bound),
            emit,
            count=name,
            exists=shortened and not weighed,
            orbits=1 if order.symmetry.images else order.symmetry.orbits,
            images=_images(order.symmetry, emit),
            strategy="extend" if self.graph.hints.strategy == "extend" else "search",
            fixed=bool(order.reason),
            reason=order.told(),
            rows=order.rows,
            cost=order.cost,
            shapes=strategy.shapes,
            on_gpu=order.on_gpu,
        )
        if strategy.elimination is not None:
            self.root = self._eliminate(search, strategy, self._outputs(matching, request.emitted))
        elif self.graph.hints.eliminates:
            raise self.graph.hints.unfollowed(
                "eliminate",
                "This pattern can't be counted by elimination.",
                hint="Leave the hint eliminate out. What can be: counts in all, or by up to two nodes, of a pattern of "
                "up to 12 nodes that is a forest, or becomes one without one node or without corners of triangles; of "
                "up to 64 nodes where (almost) nothing must differ, and 12 are left without the trees that hang there.",
            )
        else:
            self.root = search
        self.columns += emit
        self.bound |= set(matching.names)
        if name is not None:
            self._weigh(name)

    def _levels(self, request: _MatchRequest, strategy: _MatchStrategy) -> tuple[Level, ...]:
        """Lay out the levels of a search; they must be few enough where it is run as one."""
        levels = with_access(self._built(request, strategy.order), len(request.matching.bound), self.catalog)
        if strategy.elimination is None:
            check_levels(len(levels), self.graph.span)
        return levels

    def _built(self, request: _MatchRequest, order: MatchingOrder) -> tuple[Level, ...]:
        matching = request.matching
        parts = SearchSpec(
            self.nodes,
            matching.edges,
            matching.bound,
            order.names,
            request.emitted,
            matching.difference,
            order.symmetry.greater,
            matching.conditions,
            existence=request.existence,
        )
        return build_levels(parts)

    def _check_size(self, names: Sequence[str], edges: Sequence[PatternEdge]) -> None:
        """Refuse a pattern whose search would be too large before its order is looked for, which takes long.

        So large a pattern isn't eliminated, and joined only where that is asked for. Its search binds all nodes, and
        the relationships that pairs of nodes don't stand for.
        """
        if self.graph.hints.join is None and len(names) > _ALONE:
            every = self.demand.duplicates is not Duplicates.IGNORE
            new = sum(name not in self.bound for name in names)
            check_levels(new + every * sum(edge.multiple for edge in edges), self.graph.span)

    def _join(self, join: Join, filters: PostFilters, wanted: set[str], final: bool) -> None:
        """Search the two sides of a join apart, the one that is held over no input."""
        needed = wanted | set(join.keys) | join.compared()
        across = [as_filter(each) for each in join.conditions]
        across += self._side(join.probe, needed, final)
        other = replace(
            self,
            root=Unit(),
            columns=[],
            bound=set(),
            walked=[],
            input_weight=None,
            weight=None,
            taken=self.taken.union(self.columns),
        )
        across += other._side(join.build, needed, final)
        filters.general += across
        later = wanted.union(*map(free_variables, across))
        new = [name for name in other.columns if name not in self.columns]
        emit = tuple(name for name in new if name in later or name == other.weight)
        semi = not emit and final and self.demand.duplicates is Duplicates.IGNORE
        self.root = HashJoin(self.root, other.root, join.keys, emit, join.apart, semi, join.reason, join.rows)
        self.columns += [name for name in emit if name != other.weight]
        self.bound |= other.bound
        if other.weight is not None:
            self._weigh(other.weight)
        self._compare_walks(list(join.build.edges))

    def _side(self, side: JoinSide, needed: set[str], final: bool) -> list[Expr]:
        """Search one side of a join, and return the conditions that are left to be checked on rows."""
        if self.bound.issuperset(side.names) and not (side.edges or side.compares):
            return []
        own = PostFilters(conditions=list(side.conditions))
        self._search(list(side.names), list(side.edges), side.difference, own, needed, final)
        return own.general

    def _elimination(
        self, matching: Matching, emitted: set[str], limits: Mapping[str, float], shaped: bool
    ) -> Eliminated | None:
        """Return how to eliminate what is counted, where that costs less than ``limits`` or the hints ask for it.

        ``shaped``: a GPU's search has a kernel for the pattern.
        """
        hints = self.graph.hints
        asked = hints.eliminates
        free = hints.strategy is None and not (hints.order or hints.rule or hints.join)
        compared = compared_values(matching.conditions, self.catalog)
        countable = matching.counted and not matching.bound and compared is not None
        if not (asked or free) or not countable or len(emitted) > 2 or not emitted <= set(matching.names):
            return None
        if len(emitted) == 2 and not isinstance(self.root, Unit):
            return None  # pairs are not kept for the next input row
        purpose = self.purpose
        if not asked and purpose is None and _is_clique(matching, len(emitted)):
            if len(matching.names) == 3 and all(edge.symmetric for edge in matching.edges):
                return None  # a search finds each triangle once, and keeps no index
            if shaped and all(edge.symmetric for edge in matching.edges):
                limits = {"cpu": limits["cpu"]}
        if compared:
            limits = {"cpu": limits["cpu"]}
        valued = None if purpose is None else purpose.valued
        wanted = Wanted(self._outputs(matching, emitted), valued, compared or ())
        edges, difference = self._for_elimination(matching)
        if asked:
            limits = dict.fromkeys(limits, inf)
        found = None
        for some in ({"gpu": limits["gpu"]}, limits) if is_for_gpu() and "gpu" in limits else (limits,):
            found = eliminated(matching.names, self.nodes, edges, difference, wanted, self.catalog, some, hints.kernels)
            if found is not None:
                break
        if found is None:
            return None
        if self.demand.duplicates is Duplicates.IGNORE and (found.searches or (len(found.terms) > 1 and not asked)):
            return None  # a search stops at the first embedding
        return found

    def _for_elimination(self, matching: Matching) -> tuple[Sequence[PatternEdge], Differences]:
        """Return the relationships of a matching, and what must differ, so that elimination sums least.

        To it, ends that coincide mean one matrix times another, and a relationship that is another one a single
        matrix. Where directed types are traversed either way, it takes relationships that differ for ends that do.
        """
        either_way = any(edge.symmetric and not (edge.multiple or edge.types[0].undirected) for edge in matching.edges)
        if not either_way or matching.difference is not self.difference:
            return matching.edges, matching.difference
        edges = [edge_of_types(edge.relationship, edge.types) for edge in matching.edges]
        difference = differences(self.graph, edges, self.catalog)
        difference.vertices |= {frozenset(pair) for pair in self.inequalities}
        return edges, difference

    def _outputs(self, matching: Matching, emitted: set[str]) -> tuple[str, ...]:
        """Return what is emitted, in the order of the pattern's nodes but for what is to come first."""
        found = [name for name in matching.names if name in emitted]
        first = None if self.purpose is None else self.purpose.first
        return tuple(sorted(found, key=lambda name: name != first))

    def _eliminate(self, search: Search, strategy: _MatchStrategy, outputs: tuple[str, ...]) -> Operator:
        found = strategy.elimination
        assert found is not None
        first = found.schedules[0]
        searched = search.cost or 0.0
        if self.graph.hints.eliminates:
            if self.purpose is None:
                check_kernels(self.graph.hints, found.schedules)
            reason = "as hinted"
        elif first.device == "gpu":
            instead = device_search_cost(search.shapes, searched, search.on_gpu)
            reason = f"on the GPU only: ~{_ms(first.cost)} instead of {_ms(instead)} by search"
        else:
            reason = f"~{_ms(first.cost)} instead of {_ms(searched)} by search"
        plain = replace(search, input=Unit())
        return Eliminate(self.root, plain, found.steps, found.terms, found.searches, outputs, found.schedules, reason)

    def _constrained(self, name: str, edges: list[PatternEdge], difference: Differences, filters: PostFilters) -> bool:
        """Tell whether a bound node takes part in the search at all."""
        return (
            any(name in edge.ends for edge in edges)
            or any(name in pair for pair in difference.vertices)
            or any(name in (each.left, each.right) for each in filters.conditions)
        )

    def _unused(self, prefix: str) -> str:
        numbered = (f"{prefix}{number}" for number in itertools.count(len(self.columns)))
        return next(name for name in numbered if name not in self.columns and name not in self.taken)

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

    def _walk(self, walk: WalkPart, wanted: set[str]) -> None:
        compare = self._compares_relationships()
        others: list[str] = []
        if compare:
            others += [edge.name for edge in self.searched if set(edge.type_names()) & set(walk.types)]
            others += [other.name for other in self.walked if set(other.types) & set(walk.types)]
        named = walk.name in wanted or self._is_compared(walk)
        named = named or (walk.chain is not None and walk.chain.bounds in wanted)
        distinct_ends = self.demand.duplicates is Duplicates.IGNORE and not self.graph.hints.as_written
        demand = WalkDemand(named, tuple(others), walk_mode(self.graph, walk), distinct_ends)
        self.root, added = lower_walk(
            self.root, walk, self.nodes, self.bound, self.columns, demand, self._repeated, self._path_parts
        )
        self.columns += added
        self.bound |= {walk.start, walk.end}
        self.walked.append(walk)

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

    def _path_parts(self, chain: Chain) -> tuple[PathPart, ...]:
        """Lower the parts of a selected path."""
        nodes = {node.name: node for node in chain.graph.nodes}
        parts = []
        for place, edge in enumerate(chain_edges(chain)):
            near, behind = chain.elements[2 * place], nodes[chain.elements[2 * place + 2]]
            minimum, maximum = edge.hops or (1, 1)
            if chain.graph.mode is MatchMode.DIFFERENT_NODES:  # its two ends differ
                minimum = max(1, minimum)
            repetition = edge.repetition or single_hop(edge, near, chain.graph)
            level = VertexLevel(behind.name, behind.labels, behind.predicates)
            parts.append(PathPart(*self._repeated(repetition, False), minimum, maximum, level))
        return tuple(parts)

    def _compares_relationships(self) -> bool:
        return self.graph.mode is not MatchMode.REPEATABLE_ELEMENTS

    def _is_compared(self, walk: WalkPart) -> bool:
        if not self._compares_relationships():
            return False
        others = [other.types for other in self.walks if other is not walk]
        others += [edge.type_names() for edge in self.fixed if edge not in self.searched]
        return any(set(types) & set(walk.types) for types in others)

    def _compare_walks(self, edges: list[PatternEdge]) -> None:
        """Relationships searched after a walk must not be part of it."""
        if not self._compares_relationships():
            return
        conditions: list[Expr] = []
        for edge in edges:
            for walk in self.walked:
                if set(edge.type_names()) & set(walk.types):
                    inside = Call("IN", (Variable(edge.name, type=RELATIONSHIP), Variable(walk.name)), type=BOOLEAN)
                    conditions.append(Call("NOT", (inside,), type=BOOLEAN))
        self._filter(conditions)

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

    def _needed_names(self) -> set[str]:
        return set(self.demand.columns).union(*(free_variables(each) for each in self.graph.predicates))

    def _nothing(self) -> Lowered:
        """Emit no row, with the right columns."""
        new = [name for name in self.graph.variables() if name not in self.columns]
        items = [(name, Variable(name)) for name in self.columns]
        none = Limit(self.root, Literal(0, type=INTEGER))
        self.root = Project(none, (*items, *((name, Literal(None)) for name in new)))
        return Lowered(self.root, (*self.columns, *new), self.input_weight)


def _worth_it(join: Join | None, matching: Matching, searched: float) -> Join | None:
    """Return a join that costs less than a search does on a GPU, in so many nanoseconds, if the plan is for one."""
    if join is None or matching.hints.join is not None or not is_for_gpu():
        return join
    return join if join.cost < searched else None


def _is_triangle(matching: Matching) -> bool:
    """Tell whether a matching is three nodes that are joined pairwise, and nothing else."""
    joined = {frozenset(edge.ends) for edge in matching.edges}
    return len(matching.names) == len(matching.edges) == len(joined) == 3 and all(len(pair) == 2 for pair in joined)


def _is_better(elimination: Eliminated, join: Join) -> bool:
    """Tell whether an elimination takes less than a join, which the host runs, where a GPU will run the plan."""
    return is_for_gpu() and any(each.device == "gpu" and each.cost < join.cost for each in elimination.schedules)


def _ms(nanoseconds: float) -> str:
    return f"{nanoseconds / 1e6:,.3g} ms"


def _images(symmetry: Symmetry, emit: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Return what is emitted in the orders in which an embedding is an embedding, too."""
    maps = (dict(zip(symmetry.order, image, strict=True)) for image in symmetry.images)
    return tuple(tuple(image[name] for name in emit) for image in maps)


def _is_clique(matching: Matching, emitted: int) -> bool:
    """Tell whether all nodes of a pattern of three and more, by a node four, are linked, and two at most both ways.

    Where more are, few neighbours are left to sum over. Triangles by a node are two steps.
    """
    linked = {frozenset(edge.ends) for edge in matching.edges}
    pairs = itertools.combinations(matching.names, 2)
    every = emitted < 2 and len(matching.names) > 2 + emitted and all(frozenset(pair) in linked for pair in pairs)
    return every and len(matching.edges) < len(linked) + 2
