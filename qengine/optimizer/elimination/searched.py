"""Terms of an elimination that are searched: those that no vertices can be summed out of, or that cost less so.

What must differ ties together parts of a pattern that else are counted apart: a search then counts a part anew for all
that it must avoid. In a term nothing must differ, and each part depends only on the vertices that it hangs on. Where
labels tell most vertices apart, there are few terms and each leaves little to search. (Curticapean, Dell, Marx 2017.)
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import isinf

from qengine._deadline import check_planning
from qengine._frozen import frozen, replace
from qengine.catalog.view import CatalogView
from qengine.optimizer.access import with_access
from qengine.optimizer.cardinality import cardinality_of
from qengine.optimizer.count_shapes import count_shapes
from qengine.optimizer.difference import Differences
from qengine.optimizer.elimination.quotients import Bundle, Quotient
from qengine.optimizer.matching import Matching, MatchingOrder, matching_order, order_on_gpu
from qengine.optimizer.pattern_edges import PatternEdge, edge_of_types
from qengine.optimizer.search_levels import SearchSpec, build_levels
from qengine.optimizer.target import is_for_gpu
from qengine.plan.device_cost import device_search_cost
from qengine.plan.logical import Unit
from qengine.plan.pattern import Direction, LabelAnd, PatternNode
from qengine.plan.physical import MAX_LEVELS, Level, Search

_LEAST, _LEAST_UNLABELLED = 5e6, 2e8
"""Nanoseconds that a search must cost for terms of it to be searched instead, where labels tell vertices apart and
where none do: there terms cost nearly as much as the pattern, and it takes longer to plan them."""

_MOST = 64

_A_SEARCH = 2e6
"""Nanoseconds that planning and starting a search take."""

_GAIN = 2.0
"""How many times cheaper terms must be than what they replace: what searches cost is only estimated."""

_COUNT = "@count"
"""The column of a term's count."""


@frozen
class Pattern:
    """What is counted: the ``names`` of its nodes in order, its ``nodes`` by name, its ``edges``."""

    names: Sequence[str]
    nodes: dict[str, PatternNode]
    edges: Sequence[PatternEdge]


class TermSearches:
    """The searches of terms by now, each with its factor; equal ones are one.

    Parameters
    ----------
    device
        What counts: "cpu" or "gpu".
    limit
        Nanoseconds that counting may cost; infinite where elimination is asked for, so that only those terms are
        searched that can't be summed out.
    told_apart
        Whether labels tell some vertices apart.
    """

    def __init__(self, pattern: Pattern, catalog: CatalogView, device: str, limit: float, told_apart: bool) -> None:
        self._pattern = pattern
        self._catalog = catalog
        self._device = device
        self._limit = limit
        self._any = told_apart and not isinf(limit)
        self._most = int(min(limit / _A_SEARCH, _MOST)) if limit >= (_LEAST if told_apart else _LEAST_UNLABELLED) else 0
        self._tried = 0
        self._found: dict[Hashable, tuple[Search, int]] = {}
        self._cost = 0.0

    def add(self, quotient: Quotient, factor: int, summed: float | None) -> bool:
        """Add the search of a term where it costs much less than ``summed``; tell whether that is so.

        Parameters
        ----------
        summed
            Nanoseconds that summing the term's vertices out takes, None where they can't be.
        """
        if self._tried == self._most or (summed is not None and (not self._any or summed <= _GAIN * _A_SEARCH)):
            return False
        check_planning()
        self._tried += 1
        search = _search_of(quotient, self._pattern, self._catalog)
        if search is None or (summed is not None and not self._gains(_A_SEARCH + self.cost(search), summed)):
            return False
        key = tuple(each if each.predicates else replace(each, name="") for each in search.levels), search.orbits
        if key not in self._found:
            self._cost += _A_SEARCH + self.cost(search)
        first, before = self._found.get(key, (search, 0))
        self._found[key] = first, before + factor
        return True

    def cost(self, search: Search) -> float:
        """Return the nanoseconds that the search of a term takes."""
        return search_cost(self._device, search)

    def affords(self, beside: float) -> bool:
        """Tell whether the searches, and ``beside`` them so many nanoseconds, cost little enough."""
        return self._gains(self._cost + beside, self._limit)

    def pays(self, cost: float, summed: float | None) -> bool:
        """Tell whether a sum with these searches is to be taken, where summing everything out costs ``summed``."""
        return self._gains(cost, self._limit if summed is None else summed)

    def found(self, *, alone: bool) -> tuple[tuple[Search, int], ...]:
        """Return the searches with their factors, those that cancel out aside.

        Parameters
        ----------
        alone
            Whether nothing is summed out beside them: where elimination is asked for, that is none.
        """
        if alone and isinf(self._limit):
            return ()
        return tuple((search, factor) for search, factor in self._found.values() if factor)

    @staticmethod
    def _gains(cost: float, instead: float) -> bool:
        return _GAIN * cost < instead


def search_cost(device: str, search: Search) -> float:
    """Return the nanoseconds that a search takes on a device, "cpu" or "gpu"."""
    if device == "cpu":
        return search.cost or 0.0
    return device_search_cost(search.shapes, search.cost, search.on_gpu)


def _search_of(quotient: Quotient, pattern: Pattern, catalog: CatalogView) -> Search | None:
    """Return a search that counts a quotient's homomorphisms; None where conditions of several nodes or edges meet."""
    classes: dict[str, list[str]] = {}
    for name, place in zip(pattern.names, quotient.classes, strict=True):
        classes.setdefault(pattern.names[place], []).append(name)
    nodes: dict[str, PatternNode] = {}
    for name, members in classes.items():
        node = _one_node([pattern.nodes[member] for member in members])
        if node is None:
            return None
        nodes[name] = node
    edges: dict[Hashable, PatternEdge] = {}
    for bundle in quotient.bundles:
        edge = _one_edge(bundle, pattern)
        if edge is None:
            return None
        ends: Hashable = frozenset(edge.ends) if edge.symmetric else edge.ends
        alone = edge.multiple or edge.relationship.predicates
        edges.setdefault(edge.name if alone else (ends, bundle.types, edge.symmetric), edge)
    matching = Matching(tuple(nodes), tuple(edges.values()), (), Differences(), counted=True, symmetric=True)
    cardinality = cardinality_of(catalog, nodes)
    order = matching_order(matching, cardinality)
    levels = _levels(matching, nodes, order, catalog)
    shapes = count_shapes(levels, catalog) if is_for_gpu() else ()
    if is_for_gpu() and not shapes:
        order = order_on_gpu(matching, order, cardinality)
        levels = _levels(matching, nodes, order, catalog)
    if len(levels) > MAX_LEVELS:
        return None
    same = [" = ".join(members) for members in classes.values() if len(members) > 1]
    return Search(
        Unit(), levels, 0, (), count=_COUNT, orbits=order.symmetry.orbits, reason=", ".join([order.told(), *same]),
        rows=order.rows, cost=order.cost, shapes=shapes, on_gpu=order.on_gpu,
    )  # fmt: skip


def _levels(
    matching: Matching, nodes: dict[str, PatternNode], order: MatchingOrder, catalog: CatalogView
) -> tuple[Level, ...]:
    spec = SearchSpec(nodes, matching.edges, (), order.names, (), matching.difference, order.symmetry.greater)
    return with_access(build_levels(spec), 0, catalog)


def _one_node(members: Sequence[PatternNode]) -> PatternNode | None:
    """Return the node that several nodes are which coincide; None where that would take their predicates together."""
    if len(members) == 1:
        return members[0]
    if any(node.predicates for node in members):
        return None
    labels = tuple(dict.fromkeys(node.labels for node in members if node.labels is not None))
    return replace(members[0], labels=LabelAnd(labels) if len(labels) > 1 else next(iter(labels), None))


def _one_edge(bundle: Bundle, pattern: Pattern) -> PatternEdge | None:
    """Return the relationship that those of a bundle are; None where it is a self-loop, or conditions would meet."""
    first, *others = (pattern.edges[place] for place in bundle.members)
    if bundle.start == bundle.end or any(each.relationship.predicates for each in others):
        return None
    start, end = pattern.names[bundle.start], pattern.names[bundle.end]
    direction = Direction.BOTH if bundle.symmetric else Direction.OUT
    own = first.relationship
    same = bundle.types == first.type_names() and bundle.symmetric == first.symmetric
    if same and (own.start, own.end, own.direction) == (start, end, direction):
        return first
    relationship = replace(own, start=start, end=end, direction=direction)
    if same:
        return replace(first, relationship=relationship, ends=(start, end))
    return edge_of_types(relationship, tuple(info for info in first.types if info.name in bundle.types))
