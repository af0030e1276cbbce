"""Chooses how a part of a match is done: a search in an order, a join of two searches, or an elimination."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from math import inf

from qengine._frozen import frozen, record, replace
from qengine.optimizer.cardinality import Cardinality, cardinality_of
from qengine.optimizer.count_shapes import count_shapes
from qengine.optimizer.difference import Differences, differences
from qengine.optimizer.elimination import Eliminated, Wanted, eliminated
from qengine.optimizer.existence import first_match, rows_first
from qengine.optimizer.given_labels import with_likely_labels
from qengine.optimizer.intervals import Interval, expected_rows
from qengine.optimizer.joins import Join, better_join, enumerated_instead, reversed_semi_join
from qengine.optimizer.lower.conditions import PostFilters, compared_values
from qengine.optimizer.lower.demand import Duplicates
from qengine.optimizer.lower.match_state import MatchState
from qengine.optimizer.matching import Matching, MatchingOrder, matching_order, order_on_gpu
from qengine.optimizer.pattern_edges import PatternEdge, edge_of_types
from qengine.optimizer.possible_labels import is_impossible
from qengine.optimizer.search_levels import SearchSpec, as_filter, build_levels
from qengine.optimizer.target import is_for_gpu
from qengine.plan.count_shapes import Component, View
from qengine.plan.device_cost import device_search_cost
from qengine.plan.expr import Expr
from qengine.plan.logical import Unit
from qengine.plan.physical import Level

_WIDE_ROWS = 2.0**50
"""Where so many embeddings are expected, a search's counts, of 64 bits, may not do: elimination has more."""
_TRIANGLE = 5.0
"""How many times less eliminating a triangle must be expected to take than searching it: on eight graphs (R-MAT 10 to
14, social, uniform) it was expected to take 0.2 to 0.3 times as long, and took 1.0 to 4.1 times as long."""

_FAR_MORE = 2.0
"""By how many times conditions must leave a larger share of a node than of another for it to come second."""

_ASKED = 200.0
"""Nanoseconds of making a row and looking whether a relationship is there: 250 in l8 and l9 of tests/bench/network."""

_WIDE_COST = 1e9
"""Nanoseconds that elimination may then take, however little a search would."""


@frozen
class MatchRequest:
    """What a search is asked for. ``emitted``: variables; ``existence``: one match is as good as all.

    ``absent``: relationships that must not be there, ``compared``: conditions on values of two elements, beside those
    of the matching: what an elimination alone is asked here, else rows.
    """

    matching: Matching
    emitted: set[str]
    existence: bool
    absent: tuple[PatternEdge, ...] = ()
    compared: tuple[Expr, ...] = ()

    @property
    def eliminated_alone(self) -> bool:
        """Whether a search doesn't tell all that is asked."""
        return bool(self.absent or self.compared)

    def searched(self, order: MatchingOrder) -> float:
        """Return the nanoseconds of a search in an order, and of asking its rows one by one what it doesn't tell."""
        return order.cost + (_ASKED * order.rows if self.eliminated_alone else 0.0)


@frozen
class MatchStrategy:
    """How that is done: in an order, or instead by a join, or by elimination, on the devices of its schedules.

    ``counted``: what isn't wanted is counted, not enumerated. ``shapes``: as in ``Search``.
    """

    order: MatchingOrder
    counted: bool
    elimination: Eliminated | None = None
    join: Join | None = None
    shapes: tuple[Component[View], ...] = ()


@record
class MatchStrategies(MatchState):
    """The choice of how a part of a match is done."""

    def _request(
        self,
        names: list[str],
        edges: list[PatternEdge],
        difference: Differences,
        filters: PostFilters,
        wanted: set[str],
        final: bool,
    ) -> MatchRequest:
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
        return MatchRequest(matching, emitted, existence)

    def _strategy(self, request: MatchRequest) -> MatchStrategy:
        """Choose the order, whether all rows are enumerated, and whether elimination or a join takes the search's
        place.
        """
        matching = request.matching
        nodes = with_likely_labels(self.nodes, matching.edges, matching.bound, self.root, self.catalog)
        cardinality = cardinality_of(self.catalog, nodes)
        order = matching_order(matching, cardinality)
        if is_impossible(nodes, matching.edges, self.catalog):
            order = replace(order, rows=0.0)  # in an order as good as any: relationships may come
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
        if _is_triangle(matching) and not (request.emitted or _multiplies(matching)):
            limits["cpu"] /= _TRIANGLE
        if self.purpose is not None:
            limits = {"cpu": max(limits["cpu"], self.purpose.budget)}
        asking = request.searched(order) - order.cost
        limits = {device: limit + asking for device, limit in limits.items()}
        elimination = self._elimination(request, limits, bool(shapes))
        if elimination is not None and elimination.searches:
            join = _worth_it(self._better_join(request, matching, order, cardinality), matching, searched)
            if join is not None and join.cost < elimination.schedules[0].cost and not _is_better(elimination, join):
                return MatchStrategy(order, matching.counted, join=join)
        if elimination is not None and elimination.schedules[0].device == "cpu":
            instead = rows_first(matching, order, cardinality) if request.existence else order
            return MatchStrategy(instead, matching.counted, elimination=elimination, shapes=shapes)
        if enumerated is not None:
            matching, order = enumerated, found
        join = _worth_it(self._better_join(request, matching, order, cardinality), matching, searched)
        if join is not None and elimination is not None and _is_better(elimination, join):
            join = None
        if elimination is not None and not (join or request.existence) and len(request.emitted) < 2:
            return MatchStrategy(order, matching.counted, elimination=elimination, shapes=shapes)
        return MatchStrategy(order, matching.counted, join=join, shapes=shapes)

    def _better_join(
        self, request: MatchRequest, matching: Matching, order: MatchingOrder, cardinality: Cardinality
    ) -> Join | None:
        """Return a join that costs much less than a search; whether a match is there is rather asked by a semi-join."""
        rows = expected_rows(self.root, self.catalog) if matching.bound else Interval(1.0, 1.0)
        given = Interval(self.demand.least * rows.low, self.demand.times * rows.high)
        asked = matching.bound and request.existence and matching.hints.join is None
        join = None if asked and not request.emitted else better_join(matching, order, cardinality, given)
        if join is None:
            return reversed_semi_join(matching, order, cardinality, given.high) if asked else None
        return replace(join, rows=rows.high * join.rows)

    def _shapes(self, request: MatchRequest, order: MatchingOrder) -> tuple[Component[View], ...]:
        """Return the shapes that a GPU counts all embeddings by."""
        matching = request.matching
        if not matching.counted or matching.bound or request.emitted or request.existence:
            return ()
        return count_shapes(self._built(request, order), self.catalog)

    def _built(self, request: MatchRequest, order: MatchingOrder) -> tuple[Level, ...]:
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

    def _constrained(self, name: str, edges: list[PatternEdge], difference: Differences, filters: PostFilters) -> bool:
        """Tell whether a bound node takes part in the search at all."""
        return (
            any(name in edge.ends for edge in edges)
            or any(name in pair for pair in difference.vertices)
            or any(name in (each.left, each.right) for each in filters.conditions)
        )

    def _elimination(self, request: MatchRequest, limits: Mapping[str, float], shaped: bool) -> Eliminated | None:
        """Return how to eliminate what is counted, where that costs less than ``limits`` or the hints ask for it.

        ``shaped``: a GPU's search has a kernel for the pattern.
        """
        matching, emitted = request.matching, request.emitted
        hints = self.graph.hints
        asked = hints.eliminates
        free = hints.strategy is None and not (hints.order or hints.rule or hints.join)
        conditions = (*map(as_filter, matching.conditions), *request.compared)
        compared = compared_values(conditions, self.graph, self.catalog)
        countable = matching.counted and not matching.bound and compared is not None
        if not (asked or free) or not countable or len(emitted) > 2 or not emitted <= set(matching.names):
            return None
        if len(emitted) == 2 and not isinstance(self.root, Unit):
            return None  # pairs are not kept for the next input row
        purpose = self.purpose
        if not asked and purpose is None and _is_clique(matching, len(emitted)):
            once = not _multiplies(matching) and all(edge.symmetric for edge in matching.edges)
            if len(matching.names) == 3 and once:
                return None  # a search finds each triangle once, and keeps no index
            if shaped and all(edge.symmetric for edge in matching.edges):
                limits = {"cpu": limits["cpu"]}
        if compared:
            limits = {"cpu": limits["cpu"]}
        valued = None if purpose is None else purpose.valued
        wanted = Wanted(self._outputs(matching, emitted), valued, compared or (), request.absent)
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
        """Return what is emitted: first what is to come first, or of two the one whose conditions leave far less."""
        found = [name for name in matching.names if name in emitted]
        first = None if self.purpose is None else self.purpose.first
        if first is None and len(found) == 2:
            cardinality = cardinality_of(self.catalog, self.nodes)
            one, other = (cardinality.candidates(name) / max(cardinality.labelled(name), 1.0) for name in found)
            first = found[one > _FAR_MORE * other]
        return tuple(sorted(found, key=lambda name: name != first))


def _worth_it(join: Join | None, matching: Matching, searched: float) -> Join | None:
    """Return a join that costs less than a search does on a GPU, in so many nanoseconds, if the plan is for one."""
    if join is None or matching.hints.join is not None or not is_for_gpu():
        return join
    return join if join.cost < searched else None


def _is_triangle(matching: Matching) -> bool:
    """Tell whether a matching is three nodes that are joined pairwise, and nothing else."""
    joined = {frozenset(edge.ends) for edge in matching.edges}
    return len(matching.names) == len(matching.edges) == len(joined) == 3 and all(len(pair) == 2 for pair in joined)


def _multiplies(matching: Matching) -> bool:
    """Tell whether two vertices may be joined by several relationships that match the same one."""
    return any(edge.multiple for edge in matching.edges)


def _is_better(elimination: Eliminated, join: Join) -> bool:
    """Tell whether an elimination takes less than a join, which the host runs, where a GPU will run the plan."""
    return is_for_gpu() and any(each.device == "gpu" and each.cost < join.cost for each in elimination.schedules)


def _is_clique(matching: Matching, emitted: int) -> bool:
    """Tell whether all nodes of a pattern of three and more, by a node four, are linked, and two at most both ways.

    Where more are, few neighbours are left to sum over. Triangles by a node are two steps.
    """
    linked = {frozenset(edge.ends) for edge in matching.edges}
    pairs = itertools.combinations(matching.names, 2)
    every = emitted < 2 and len(matching.names) > 2 + emitted and all(frozenset(pair) in linked for pair in pairs)
    return every and len(matching.edges) < len(linked) + 2
