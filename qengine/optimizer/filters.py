"""Which share of the rows of a search a filter above it keeps, by what statistics say of the nodes that it compares."""

from __future__ import annotations

from dataclasses import field

from qengine._frozen import record
from qengine.catalog.view import CatalogView
from qengine.optimizer.correlation import Element, Joint, apart
from qengine.optimizer.labels import vertex_count
from qengine.optimizer.selectivity import selectivity
from qengine.plan.expr import Comparison, Expr, Variable
from qengine.plan.logical import Filter, Operator, Project
from qengine.plan.pattern import Direction, LabelIs, LabelOr, certain_label
from qengine.plan.physical import EdgeLevel, HashJoin, LookUp, Reach, Search, ThetaJoin, VertexLevel, Walk
from qengine.plan.traverse import conjuncts, free_variables

__all__ = ["filter_share"]

_UNKNOWN = 0.5


def filter_share(filter: Filter, catalog: CatalogView) -> float:
    """Return the share of its input's rows that a filter is expected to keep.

    Conditions on one or two nodes of the search below, or a relationship and its ends, are looked up and sampled; each
    other one keeps half of the rows.
    """
    found = _Below(catalog)
    found.read_below(filter.input)
    if not found.nodes:
        return _UNKNOWN
    found.join()
    share = 1.0
    for part in conjuncts(filter.predicate):
        share *= found.share(part)
    return share


@record
class _Below:
    """The nodes and the relationships of a search, as conditions see them."""

    catalog: CatalogView
    nodes: dict[str, Element] = field(default_factory=dict)
    joints: list[Joint] = field(default_factory=list)
    searches: list[tuple[list[str], Search]] = field(default_factory=list)

    def read_below(self, operator: Operator) -> None:
        """Take what an operator's rows come from, as far as it only filters and joins them."""
        below = operator
        while isinstance(below, Filter | Project | Search | LookUp | HashJoin | Reach | ThetaJoin | Walk):
            if isinstance(below, Search):
                self.read(below)
            elif isinstance(below, Reach | Walk):
                self.nodes.setdefault(below.end.name, Element(below.end.labels, below.end.predicates, 1.0))
            elif isinstance(below, LookUp):
                self.nodes[below.name] = Element(below.labels, (), 1.0)
            elif isinstance(below, HashJoin | ThetaJoin):
                if isinstance(below, HashJoin) and not below.by_value:
                    return
                self.read_below(below.build)
            below = below.input

    def read(self, search: Search) -> None:
        """Take the levels of a search; what they are is said by the one that is not given them."""
        names = [level.name for level in search.levels]
        for place, level in enumerate(search.levels):
            if place < search.seeds:
                continue
            if isinstance(level, VertexLevel):
                share = selectivity(level.predicates, self.catalog, "node", level.labels) if level.predicates else 1.0
                self.nodes[level.name] = Element(level.labels, level.predicates, share)
        self.searches.append((names, search))

    def join(self) -> None:
        """Find what joins the nodes of all searches that were read."""
        for names, search in self.searches:
            self._join_levels(names, search)

    def _join_levels(self, names: list[str], search: Search) -> None:
        if not {level.name for level in search.levels if isinstance(level, VertexLevel)} <= self.nodes.keys():
            return
        edges = [level for level in search.levels if isinstance(level, EdgeLevel)]
        for edge in edges:
            self._join(edge.name, (names[edge.start], names[edge.end]), edge.types, edge.direction, edge)
        explicit = {frozenset(each.ends) for each in self.joints}
        for level in search.levels:
            for source in level.sources if isinstance(level, VertexLevel) else ():
                ends = names[source.level], level.name
                if frozenset(ends) not in explicit:
                    self._join("", ends, source.types, source.direction, None)

    def _join(
        self, name: str, ends: tuple[str, str], types: tuple[str, ...], direction: Direction, edge: EdgeLevel | None
    ) -> None:
        if direction is Direction.IN:
            ends = ends[1], ends[0]
        labels = [certain_label(self.nodes[end].labels) for end in ends]
        counted, both = [], direction is Direction.BOTH
        for type in types or self.catalog.relationship_types:
            info = self.catalog.relationship_type(type)
            if info is not None:
                both = both or info.undirected
                counted.append((type, float(self.catalog.edge_statistics(labels[0], type, labels[1]).edges)))
        predicates = edge.predicates if edge is not None else ()
        owners = LabelOr(tuple(LabelIs(type) for type, _ in counted))
        share = selectivity(predicates, self.catalog, "relationship", owners) if predicates else 1.0
        self.joints.append(Joint(name, ends, tuple(counted), both, predicates, share))

    def share(self, predicate: Expr) -> float:
        """Return the share of rows that satisfy one condition."""
        names = free_variables(predicate)
        joint = next((each for each in self.joints if names <= {each.name, *each.ends}), None)
        match predicate:
            case Comparison(ops=("<>",), args=(Variable(), Variable())):
                return self._different(names)
        if joint is not None and len(names) > 1:
            return joint.conditional(predicate, self.nodes, self.catalog)
        if len(names) == 1:
            (name,) = names
            if name in self.nodes:
                return selectivity((predicate,), self.catalog, "node", self.nodes[name].labels)
            if joint is not None:
                owners = LabelOr(tuple(LabelIs(type) for type, _ in joint.types))
                return selectivity((predicate,), self.catalog, "relationship", owners)
        return apart(predicate, self.nodes, self.catalog) if names <= set(self.nodes) and len(names) == 2 else _UNKNOWN

    def _different(self, names: frozenset[str]) -> float:
        counts = [vertex_count(self.catalog, self.nodes[name].labels) for name in names if name in self.nodes]
        return 1.0 - 1.0 / max(*counts, 2) if len(counts) == 2 else _UNKNOWN
