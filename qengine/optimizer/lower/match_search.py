"""Puts the search of a part of a match on top of the plan, or the join or the elimination in its place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from qengine._deadline import check_planning
from qengine._frozen import record, replace
from qengine.catalog.costs import costs
from qengine.optimizer.access import with_access
from qengine.optimizer.difference import Differences
from qengine.optimizer.intervals import expected_rows
from qengine.optimizer.joins import Join, JoinSide
from qengine.optimizer.lower.conditions import PostFilters, compared_values, has_few_values, joined
from qengine.optimizer.lower.demand import Duplicates
from qengine.optimizer.lower.kernel_hints import check_kernels
from qengine.optimizer.lower.links import absent_links
from qengine.optimizer.lower.match_strategy import MatchRequest, MatchStrategies, MatchStrategy
from qengine.optimizer.pattern_edges import PatternEdge
from qengine.optimizer.search_levels import as_filter
from qengine.optimizer.symmetry import Symmetry
from qengine.optimizer.target import is_for_gpu
from qengine.plan.device_cost import device_search_cost
from qengine.plan.elimination_text import milliseconds
from qengine.plan.expr import Expr, Literal, Variable
from qengine.plan.logical import Argument, Operator, Project, Unit
from qengine.plan.physical import Eliminate, FewOrMany, HashJoin, Level, Search, check_levels
from qengine.plan.traverse import free_variables
from qengine.types import INTEGER

_ALONE = 12  # nodes of a pattern that may be eliminated, or be cut into parts


@record
class MatchSearches(MatchStrategies):
    """The searches of a match, part by part."""

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
        self._follow(request, self._strategy(request), filters, wanted, final)

    def _follow(
        self, request: MatchRequest, strategy: MatchStrategy, filters: PostFilters, wanted: set[str], final: bool
    ) -> None:
        """Put what was chosen on top of the plan."""
        if strategy.join is not None and not strategy.join.most:
            self._join(strategy.join, filters, wanted, final)
            return
        if strategy.join is not None:
            self._by_rows(strategy.join, request, strategy, filters, wanted, final)
            return
        self._emit(request, strategy)
        self._compare_walks(list(request.matching.edges), self.walked)
        self.searched += request.matching.edges

    def _counted_by_elimination(self, filters: PostFilters, difference: Differences) -> bool:
        """Count all by an elimination that tells what a search doesn't, if one pays; tell whether.

        That is which relationships must not be there, and how values of two elements compare.
        """
        if self.demand.duplicates is not Duplicates.COUNT or self.bound or filters.values:
            return False
        links = absent_links(filters.general, self.graph, self.catalog)
        compared = () if is_for_gpu() else self._compared_by_elimination(filters)
        if not (links or compared):
            return False
        conditions = [*(each.condition for each in links), *compared]
        rest = replace(filters, general=[each for each in filters.general if each not in conditions])
        names = list(self.nodes)
        wanted = self._wanted(rest, difference)
        request = self._request(names, self.fixed, difference, rest, wanted, True)
        request = replace(request, absent=tuple(each.edge for each in links), compared=compared)
        strategy = self._strategy(request)
        if strategy.elimination is None or strategy.join is not None:
            return False
        if is_for_gpu() and all(each.device == "cpu" for each in strategy.elimination.schedules):
            return False
        filters.general[:] = rest.general
        self._emit(request, strategy)
        self.searched += self.fixed
        return True

    def _compared_by_elimination(self, filters: PostFilters) -> tuple[Expr, ...]:
        """Return the conditions on rows that an elimination can be asked."""
        found = (each for each in filters.general if len(free_variables(each)) > 1)
        return tuple(each for each in found if compared_values((each,), self.graph, self.catalog) is not None)

    def _compared_by_values(self, filters: PostFilters, difference: Differences) -> bool:
        """Match all with strings compared on the way where an elimination does so, at relationships, or where rows of
        which they are the same take less to find than to keep; tell whether.

        So are few different ones on a GPU, which rows would have to leave. Else what is left is compared on rows.
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
        close = [each.op in ("=", "<>") and joined(self.graph, (each.left, each.right)) for each in values]
        simple = len(self.fixed) == 1 or not request.emitted  # else pairs are emitted, and compared, as fast or faster
        takes = simple if any(close) else strategy.elimination is not None
        if strategy.join is None and takes and (all(close) or strategy.elimination is not None):
            self._emit(request, strategy)
            self.searched += self.fixed
            return True
        filters.conditions[:] = before
        filters.values += values
        filters.compare_on_rows()
        same = strategy.join is None and all(each.op == "=" for each in values)
        there = is_for_gpu() and strategy.join is None
        if not (there and all(has_few_values(each.left_key, self.catalog) for each in values)) and (
            not same or strategy.order.cost >= self._cost_on_rows(filters, difference)
        ):
            return False
        del filters.general[-len(values) :]
        filters.conditions += values  # which the request has
        self._emit(request, strategy)
        self.searched += self.fixed
        return True

    def _cost_on_rows(self, filters: PostFilters, difference: Differences) -> float:
        """Return what matching all takes where the rows, or pairs, are compared."""
        wanted = self._wanted(filters, difference)
        request = self._request(list(self.nodes), self.fixed, difference, filters, wanted, True)
        strategy = self._strategy(request)
        tests = costs("cpu", "join")["test"] * strategy.order.rows
        if strategy.join is not None:
            return strategy.join.cost + tests
        if strategy.elimination is not None:
            return strategy.elimination.schedules[0].cost + tests
        return strategy.order.cost + tests

    def _emit(self, request: MatchRequest, strategy: MatchStrategy) -> None:
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
            given=expected_rows(self.root, self.catalog).high if matching.bound else 1.0,
        )
        if strategy.elimination is not None:
            self.root = self._eliminate(search, request, strategy)
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

    def _eliminate(self, search: Search, request: MatchRequest, strategy: MatchStrategy) -> Operator:
        found, searched = strategy.elimination, request.searched(strategy.order)
        outputs = self._outputs(request.matching, request.emitted)
        assert found is not None
        first = found.schedules[0]
        if self.graph.hints.eliminates:
            if self.purpose is None:
                check_kernels(self.graph.hints, found.schedules)
            reason = "as hinted"
        elif first.device == "gpu":
            instead = device_search_cost(search.shapes, searched, search.on_gpu)
            reason = f"on the GPU only: ~{milliseconds(first.cost)} instead of {milliseconds(instead)} by search"
        else:
            reason = f"~{milliseconds(first.cost)} instead of {milliseconds(searched)} by search"
        plain, alone = replace(search, input=Unit()), request.eliminated_alone
        found_by = found.steps, found.terms, found.searches
        return Eliminate(self.root, plain, *found_by, outputs, found.schedules, reason, alone)

    def _levels(self, request: MatchRequest, strategy: MatchStrategy) -> tuple[Level, ...]:
        """Lay out the levels of a search; they must be few enough where it is run as one."""
        levels = with_access(self._built(request, strategy.order), len(request.matching.bound), self.catalog)
        if strategy.elimination is None:
            check_levels(len(levels), self.graph.span)
        return levels

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
        other = self._apart()
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
        self._compare_walks(list(join.build.edges), self.walked)

    def _by_rows(
        self,
        join: Join,
        request: MatchRequest,
        strategy: MatchStrategy,
        filters: PostFilters,
        wanted: set[str],
        final: bool,
    ) -> None:
        """Search from the rows where they are few, and join them with what is searched once where they are many."""
        few, many = self._from_rows(), self._from_rows()
        few._emit(request, strategy)
        few._compare_walks(list(request.matching.edges), few.walked)
        after = replace(filters, general=[])
        many._join(join, after, wanted, final)
        many._filter(after.general)
        weights = [each.weight or each.input_weight for each in (few, many)]
        names = [name for name in few.columns if name != weights[0]]
        weight = None if weights == [None, None] else self._unused("@weight")
        self.root = FewOrMany(self.root, few._selected(names, weight), many._selected(names, weight), join.most)
        self.columns = names if weight is None else [*names, weight]
        self.bound |= few.bound
        self.weight = weight
        self.searched += request.matching.edges

    def _from_rows(self) -> Self:
        """Return the state of lowering what begins with the rows that are given."""
        return replace(
            self,
            root=Argument(tuple(self.columns)),
            columns=list(self.columns),
            bound=set(self.bound),
            searched=list(self.searched),
            walked=list(self.walked),
        )

    def _selected(self, names: Sequence[str], weight: str | None) -> Operator:
        """Return the plan with these columns, and the weight of its rows under this name, if there is to be one."""
        own = self.weight or self.input_weight
        items: list[tuple[str, Expr]] = [(name, Variable(name)) for name in names]
        if weight is not None:
            items.append((weight, Literal(1, type=INTEGER) if own is None else Variable(own)))
        return self.root if [name for name, _ in items] == self.columns else Project(self.root, tuple(items))

    def _apart(self) -> Self:
        """Return the state of lowering what reads none of the rows, and will be joined with them."""
        return replace(
            self,
            root=Unit(),
            columns=[],
            bound=set(),
            walked=[],
            input_weight=None,
            weight=None,
            taken=self.taken.union(self.columns),
        )

    def _side(self, side: JoinSide, needed: set[str], final: bool) -> list[Expr]:
        """Search one side of a join, and return the conditions that are left to be checked on rows."""
        if self.bound.issuperset(side.names) and not (side.edges or side.compares):
            return []
        own = PostFilters(conditions=list(side.conditions))
        self._search(list(side.names), list(side.edges), side.difference, own, needed, final)
        return own.general


def _images(symmetry: Symmetry, emit: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Return what is emitted in the orders in which an embedding is an embedding, too."""
    maps = (dict(zip(symmetry.order, image, strict=True)) for image in symmetry.images)
    return tuple(tuple(image[name] for name in emit) for image in maps)
