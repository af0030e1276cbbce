"""Nodes and parts of a match that values join to the rows: looked up, or matched apart and joined."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import sqrt

from qengine._frozen import record
from qengine.optimizer.access import looked_up_rows
from qengine.optimizer.cardinality import Cardinality
from qengine.optimizer.difference import Differences
from qengine.optimizer.intervals import expected_rows
from qengine.optimizer.lower.conditions import PostFilters
from qengine.optimizer.lower.demand import Duplicates
from qengine.optimizer.lower.equations import Equation, equations, is_simple, joined_by_value
from qengine.optimizer.lower.match_search import MatchSearches
from qengine.optimizer.lower.partners import EVERY_PAIR, Partners, partners
from qengine.optimizer.pattern_edges import PatternEdge
from qengine.optimizer.search_levels import NamedCondition, as_filter
from qengine.plan.access import equality
from qengine.plan.expr import TRUE, Expr
from qengine.plan.fallible import condition_can_fail
from qengine.plan.physical import LookUp, ThetaJoin
from qengine.plan.traverse import conjunction, free_variables, is_repeatable

_FEW_FOUND = 2.0
"""Nodes that a look-up may find where relationships or a walk lead to the node from one that is there."""

_OFTEN = 4.0
"""Times that a node may be found in the mean by look-ups; joined by values it is matched once."""

_MANY_PAIRS = 1e5
"""Of rows and nodes: from so many on they are rather joined by values than compared."""


@record
class MatchByValue(MatchSearches):
    """What values join to the rows of a match."""

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
            if found is None or not (free_variables(found.value) <= set(self.columns) and is_repeatable(found.value)):
                continue
            ends = [edge.ends for edge in self.fixed]
            ends += [(walk.start, walk.end) for walk in self.walks if not walk.selected]  # from each row of its own
            near = any(node.name in each and not self.bound.isdisjoint(each) for each in ends)
            rows = looked_up_rows(node, found, self.catalog)
            if rows is not None and (not near or rows < _FEW_FOUND) and not self._finds_often(node.name, rows):
                unique = found.identity or self.catalog.is_key(found.key)
                given = (self.root, node.name, node.labels, found.key, found.value, rows)
                return LookUp(*given, unique=unique, identity=found.identity)
        return None

    def _finds_often(self, node: str, found: float) -> bool:
        """Tell whether look-ups would find nodes so often that those wanted are rather found once, and joined."""
        if found <= _FEW_FOUND or self.graph.hints.strategy is not None:
            return False
        candidates = Cardinality(self.catalog, self.nodes).candidates(node)
        if candidates < found:  # there are fewer pairs of rows and nodes
            return True
        given = expected_rows(self.root, self.catalog)
        rows = sqrt(given.low * given.high) * self.demand.times * found
        return rows > max(_MANY_PAIRS, _OFTEN * candidates)

    def _leads(self, start: set[str], filters: PostFilters) -> bool:
        """Tell whether a component's match gives values of which another component has an index."""
        given = start.union(self.columns)
        return any(
            (found := equality(predicate, node.name)) is not None
            and free_variables(found.value) <= given
            and looked_up_rows(node, found, self.catalog) is not None
            for predicate in (*filters.general, *map(as_filter, filters.conditions))
            for node in self.nodes.values()
            if node.name not in start | self.bound
        )

    def _valued(self, filters: PostFilters) -> bool:
        """Tell whether values, and nothing else, join components, or one to the rows."""
        conditions = [*filters.general, *map(as_filter, filters.conditions)]
        if not conditions:
            return False
        components = self._components()
        if len(components) > 1 and any(self._leads(each, filters) for each in components):
            return True
        cardinality = Cardinality(self.catalog, self.nodes)
        given = self._rows_given()
        for place, part in enumerate(components):
            if part & self.bound:
                continue
            most = max(map(cardinality.candidates, part))
            if given * most > _MANY_PAIRS and self._are_joined(conditions, self.columns, part):
                return True
            for other in components[:place]:
                many = max(map(cardinality.candidates, other)) * most > _MANY_PAIRS
                if many and any(
                    self._are_joined(conditions, self._variables(one), two)
                    for one, two in ((other, part), (part, other))
                ):
                    return True
        return False

    def _are_joined(self, conditions: Sequence[Expr], rows: Collection[str], part: set[str]) -> bool:
        """Tell whether conditions on values find the partners of rows in a part; never where a search is asked for."""
        if self.graph.hints.strategy is not None:
            return False
        if equations(conditions, rows, self._variables(part)):
            return True
        return self._ways(conditions, rows, part) is not None

    def _ways(self, conditions: Sequence[Expr], rows: Collection[str], part: set[str]) -> Partners | None:
        """Return how conditions find partners of rows in a part; None where that is of no use."""
        found = partners(conditions, rows, self._variables(part))
        if found is None and self._is_only_asked(part) and self._is_one_of_two(part):
            found = EVERY_PAIR if any(_spans(each, rows) for each in conditions) else None
        return found if self._is_of_use(found, part) else None

    def _is_one_of_two(self, part: set[str]) -> bool:
        """Tell whether the match has but a part and one more, or rows that are given."""
        others = [each for each in self._components() if each != part]
        given = bool(self.columns) and not any(each & self.bound for each in others)
        return not self.walks and len(others) + given == 1

    def _is_of_use(self, found: Partners | None, part: set[str]) -> bool:
        """Tell whether a way finds few pairs, or needs few of those that it finds."""
        if found is None or found.closed:
            return found is not None
        every = found is EVERY_PAIR
        return self._is_only_asked(part) and (every or found.told or self.demand.duplicates is Duplicates.IGNORE)

    def _variables(self, part: set[str]) -> set[str]:
        return part.union(edge.name for edge in self.fixed if set(edge.ends) <= part)

    def _is_only_asked(self, part: set[str]) -> bool:
        """Tell whether of a part only is asked whether it matches, or how often."""
        return self.demand.duplicates is not Duplicates.KEEP and not self._variables(part) & self._needed_later()

    def _needed_later(self) -> set[str]:
        """Return the variables that are read by more than conditions."""
        needed = set(self.demand.columns)
        for path in self.graph.paths:
            if path.name and path.name in needed:
                needed |= set(path.elements)
        return needed | {each.name for each in self.graph.relationships if each.bound}

    def _next(self, components: Sequence[set[str]], filters: PostFilters) -> set[str]:
        """Return the component to match next, of those that nothing but values joins to the rows."""
        cardinality = Cardinality(self.catalog, self.nodes)
        return min(
            components,
            key=lambda each: (
                not self._equations(each, filters) and self._partners(each, filters) is None,
                not self._leads(each, filters),
                not self.walks and self._is_only_asked(each),
                min(map(cardinality.candidates, each)),
            ),
        )

    def _has_many_pairs(self, part: set[str]) -> bool:
        if not self.columns or self.graph.hints.strategy is not None:
            return False
        cardinality = Cardinality(self.catalog, self.nodes)
        return self._rows_given() * max(map(cardinality.candidates, part)) > _MANY_PAIRS

    def _rows_given(self) -> float:
        """Return about how many rows are given in all."""
        return expected_rows(self.root, self.catalog).high * self.demand.times

    def _equations(self, part: set[str], filters: PostFilters) -> list[Equation]:
        """Return what joins a component to the rows: equal values, where there are many pairs of both."""
        return equations(filters.general, self.columns, self._variables(part)) if self._has_many_pairs(part) else []

    def _partners(self, part: set[str], filters: PostFilters) -> Partners | None:
        """Return what else joins it to them."""
        if not self._has_many_pairs(part):
            return None
        return self._ways(filters.general, self.columns, part)

    def _joined_by_value(
        self,
        names: list[str],
        edges: list[PatternEdge],
        difference: Differences,
        filters: PostFilters,
        wanted: set[str],
        last: bool,
    ) -> bool:
        """Search a component apart and join it with the rows, if values do that; tell whether. ``last``: of all."""
        part = set(names)
        by = self._equations(part, filters)
        asked = last and self._is_only_asked(part)
        found = self._partners(part, filters)
        if by and found is not None and not (asked or found.narrow):
            found = None
        if not by and found is None:
            return False
        other = self._apart()
        other._search(names, edges, difference, filters, wanted)
        if found is None:
            self.root = joined_by_value(self.root, self.columns, other.root, other.columns, by)
            self.columns += other.columns
        else:
            self._theta_join(found, other, filters, part, last)
        self.bound |= other.bound
        self._compare_walks(edges, self.walked)
        self.searched += edges
        return True

    def _theta_join(
        self, found: Partners, other: MatchSearches, filters: PostFilters, part: set[str], last: bool
    ) -> None:
        """Join the rows with a part's by conditions, which are asked on the way as far as they can be.

        Those that can fail wait until all others hold.
        """
        known = {*self.columns, *other.columns}
        near = [each for each in filters.general if is_simple(each) and free_variables(each) <= known]
        near.sort(key=condition_can_fail)
        every = last and not self.walked and len(near) == len(filters.general)
        if not every:
            near = [each for each in near if not condition_can_fail(each)]
        needed = self._needed_later()
        alone = every and self._is_only_asked(part)
        emit = tuple(name for name in other.columns if not every or name in needed)
        semi = alone and self.demand.duplicates is Duplicates.IGNORE
        count = self._unused("@weight") if alone and not semi else None
        condition = conjunction(tuple(near)) if near else TRUE
        self.root = ThetaJoin(self.root, other.root, found.ways, condition, emit, found.told and every, semi, count)
        filters.general = [each for each in filters.general if each not in near]
        self.columns += emit
        if count is not None:
            self._weigh(count)


def _spans(condition: Expr, rows: Collection[str]) -> bool:
    """Tell whether a condition reads some rows, and others."""
    reads = free_variables(condition)
    return is_simple(condition) and not reads.isdisjoint(rows) and not reads <= set(rows)
