"""Which share of the rows of a search a filter above it keeps, by what statistics say of the nodes that it compares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from itertools import combinations

from qengine._frozen import record, replace
from qengine.catalog.view import CatalogView, Sample
from qengine.optimizer.correlation import Joint, over_two
from qengine.optimizer.given_labels import labels_given
from qengine.optimizer.labels import vertex_count
from qengine.optimizer.search_levels import NamedCondition, as_filter
from qengine.optimizer.selectivity import selectivity
from qengine.optimizer.unjoined import Element, different, equation, share_of_all
from qengine.plan.expr import Comparison, Expr, KeyOf, Property, Variable
from qengine.plan.logical import Filter, Operator, Project
from qengine.plan.pattern import Direction, LabelExpr, LabelIs, LabelOr, named
from qengine.plan.physical import (
    Attach,
    EdgeLevel,
    Eliminate,
    HashJoin,
    LookUp,
    Optional,
    Reach,
    RelationshipScan,
    Search,
    ThetaJoin,
    VertexLevel,
    Walk,
)
from qengine.plan.traverse import conjuncts, free_variables
from qengine.types import NODE, RELATIONSHIP

_UNKNOWN = 0.5


def filter_share(
    operator: Operator, predicates: Sequence[Expr], catalog: CatalogView, outer: Operator | None = None
) -> float:
    """Return the share of an operator's rows that are expected to satisfy conditions.

    Those on nodes of the search below, or a relationship and its ends, are looked up and sampled, those on the same
    ones together, and with what is known to hold below; of each other one half of the rows are taken.
    ``outer``: the plan of the rows that a subplan is applied to.
    """
    found = Below(catalog)
    found.read_below(operator)
    if outer is not None:
        found.read_below(outer)
    if not found.nodes:
        return _UNKNOWN
    found.join()
    return found.share(predicates)


def join_share(join: HashJoin, catalog: CatalogView) -> float:
    """Return the share of all pairs of rows that a join by values is expected to keep, by the values it compares."""
    found = Below(catalog)
    for side in (join.input, join.build):
        found.read_below(side)
    found.join()
    return found.share(_equations(join)) if found.nodes else _UNKNOWN


def ends_alike(walk: Walk, catalog: CatalogView) -> float:
    """Return how many times as many walks join two given nodes as any two, for the values that these are equal in."""
    found = Below(catalog)
    found.read_below(walk.input)
    names = {walk.start, walk.end.name}
    equal = [each for each in found.given if free_variables(each) == names and equation(each)]
    if not equal or not names <= found.nodes.keys():
        return 1.0
    alone = share_of_all(equal, found.nodes, catalog)
    return found.along(walk, equal, alone) / alone if alone else 1.0


def below(operator: Operator, catalog: CatalogView) -> Below:
    """Return what an operator's rows come from, and what joins the nodes of that."""
    found = Below(catalog)
    found.read_below(operator)
    found.join()
    return found


def _equations(join: HashJoin) -> list[Expr]:
    """Return what a join by values compares, as conditions."""
    sides = [dict(each.items) for each in (join.input, join.build) if isinstance(each, Project)]
    keys = [side.get(join.keys[0]) for side in sides]
    args = [key.args for key in keys if isinstance(key, KeyOf)]
    return [Comparison(("=",), pair) for pair in zip(*args, strict=True)] if len(args) == 2 else []


@record
class Below:
    """The nodes and the relationships of a search, as conditions see them; ``given``: what holds of several."""

    catalog: CatalogView
    nodes: dict[str, Element] = field(default_factory=dict)
    joints: list[Joint] = field(default_factory=list)
    searches: list[tuple[list[str], Search]] = field(default_factory=list)
    given: list[Expr] = field(default_factory=list)
    relationships: dict[str, Element] = field(default_factory=dict)
    walks: list[Walk] = field(default_factory=list)

    def read_below(self, operator: Operator) -> None:
        """Take what an operator's rows come from, as far as it only filters and joins them."""
        below = operator
        while isinstance(
            below,
            Attach
            | Eliminate
            | Filter
            | Optional
            | Project
            | Search
            | LookUp
            | RelationshipScan
            | HashJoin
            | Reach
            | ThetaJoin
            | Walk,
        ):
            if isinstance(below, Search):
                self.read(below)
            elif isinstance(below, Eliminate):
                self.read(below.search)
            elif isinstance(below, Optional):
                self.read_below(below.inner)
            elif isinstance(below, Walk):
                self.walks.append(below)
                if not below.end_bound:
                    self.nodes[below.end.name] = self._end(below)
            elif isinstance(below, Reach):
                self.nodes.setdefault(below.end.name, self._end(below))
            elif isinstance(below, LookUp) and below.relationship:
                self.relationships[below.name] = _looked_up(below, self.catalog)
            elif isinstance(below, LookUp):
                self.nodes[below.name] = Element(below.labels, (), 1.0)
                found = Property(Variable(below.name, type=NODE), below.key)
                self.given.append(Comparison(("=",), (found, below.value)))
            elif isinstance(below, RelationshipScan):
                self.relationships[below.name] = _scanned(below, self.catalog)
            elif isinstance(below, Filter):
                self.given += conjuncts(below.predicate)
            elif isinstance(below, ThetaJoin):
                self.read_below(below.build)
            elif isinstance(below, HashJoin):
                if not below.by_value:
                    return
                self.given += _equations(below)
                self.read_below(below.build)
            below = below.input

    def read(self, search: Search) -> None:
        """Take the levels of a search; what they are is said by the one that is not given them."""
        names = [level.name for level in search.levels]
        for place, level in enumerate(search.levels):
            if place < search.seeds:
                continue
            if isinstance(level, VertexLevel):
                self.nodes[level.name] = self._element(level)
            for each in level.conditions:
                sides = names[each.left], each.left_key, names[each.right], each.right_key
                self.given.append(as_filter(NamedCondition(each.op, *sides)))
        self.searches.append((names, search))

    def _end(self, walk: Walk | Reach) -> Element:
        """Return what is known of the node that a walk leads to."""
        return self._element(replace(walk.end, labels=labels_given(walk, walk.end.name, self.catalog)))

    def _element(self, level: VertexLevel) -> Element:
        share = selectivity(level.predicates, self.catalog, "node", level.labels) if level.predicates else 1.0
        return Element(level.labels, level.predicates, share)

    def join(self) -> None:
        """Find what joins the nodes of all searches that were read."""
        for names, search in self.searches:
            self._join_levels(names, search)
        for walk in self.walks:
            if not walk.end_bound and walk.minimum:  # its last hop
                before = f"before {walk.end.name}"
                self.nodes[before] = Element(None, (), 1.0)
                self._join("", (before, walk.end.name), walk.types, walk.direction, None)
        for each in self.joints:
            if each.name and len(each.types) == 1:
                type = LabelIs(each.types[0][0])
                self.relationships[each.name] = Element(type, each.predicates, each.share, "relationship")

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
        self.joints.append(self._joint(name, ends, types, direction is Direction.BOTH, edge, self.nodes))

    def _joint(
        self,
        name: str,
        ends: tuple[str, str],
        types: tuple[str, ...],
        both: bool,
        edge: EdgeLevel | None,
        nodes: Mapping[str, Element],
    ) -> Joint:
        labels = [named(nodes[end].labels) for end in ends]
        counted = []
        either_way = both
        for type in types or self.catalog.relationship_types:
            info = self.catalog.relationship_type(type)
            if info is not None:
                edges = self.catalog.edge_statistics(labels[0], type, labels[1]).edges
                if either_way and not info.undirected:
                    edges += self.catalog.edge_statistics(labels[1], type, labels[0]).edges
                both = both or info.undirected
                counted.append((type, float(edges)))
        predicates = edge.predicates if edge is not None else ()
        owners = LabelOr(tuple(LabelIs(type) for type, _ in counted))
        share = selectivity(predicates, self.catalog, "relationship", owners) if predicates else 1.0
        return Joint(name, ends, tuple(counted), both, predicates, share)

    def share(self, predicates: Sequence[Expr]) -> float:
        """Return the share of rows that satisfy some conditions."""
        of_names: dict[frozenset[str], list[Expr]] = {}
        for each in predicates:
            of_names.setdefault(free_variables(each), []).append(each)
        share = 1.0
        for names, conditions in of_names.items():
            share *= self._share(names, conditions)
        return share

    def _share(self, names: frozenset[str], predicates: list[Expr]) -> float:
        """Return the share of rows that satisfy conditions, all of which read the same variables."""
        unequal = [each for each in predicates if _tells_apart(each)]
        if unequal:
            rest = [each for each in predicates if each not in unequal]
            return self._different(names) * (self._share(names, rest) if rest else 1.0)
        joint = next((each for each in self.joints if names <= {each.name, *each.ends}), None)
        if joint is not None and len(names) > 1:
            scope = {joint.name, *joint.ends}
            given = [each for each in self.given if len(free_variables(each)) > 1 and free_variables(each) <= scope]
            return replace(joint, across=tuple(given)).conditional(predicates, self.nodes, self.catalog)
        if len(names) == 1:
            (name,) = names
            if name in self.nodes:
                node = self.nodes[name]
                return _given(predicates, node.predicates, node.share, self.catalog, "node", node.labels)
            if joint is not None:
                owners = LabelOr(tuple(LabelIs(type) for type, _ in joint.types))
                return _given(predicates, joint.predicates, joint.share, self.catalog, "relationship", owners)
        elements = {**self.nodes, **self.relationships}
        if not names <= elements.keys() or len(names) < 2:
            return float(_UNKNOWN ** len(predicates))
        given = [each for each in self.given if len(free_variables(each)) > 1 and free_variables(each) <= names]
        without = share_of_all(given, elements, self.catalog) if given else 1.0
        share = min(1.0, share_of_all([*given, *predicates], elements, self.catalog) / max(without, 1e-12))
        meeting = next(filter(None, (self._meeting(names, pair) for pair in combinations(self.joints, 2))), None)
        if meeting is not None and share:
            joints, nodes = meeting
            outer = frozenset(joints[0].ends) ^ frozenset(joints[1].ends)
            closed = any(outer == frozenset(each.ends) for each in self.joints)
            apart = "nodes" if closed else "relationships"
            return over_two(joints, nodes, predicates, self.given, share, self.catalog, apart=apart)
        walk = next((each for each in self.walks if names == {each.start, each.end.name}), None)
        equal = [each for each in predicates if equation(each)]
        if walk is None or not equal:
            return share
        alone = max(share_of_all(equal, elements, self.catalog), 1e-12)
        return min(1.0, share / alone) * self.along(walk, equal, alone)

    def _meeting(
        self, names: frozenset[str], joints: tuple[Joint, Joint]
    ) -> tuple[tuple[Joint, Joint], dict[str, Element]] | None:
        """Return two relationships that meet at a node and of which two elements have these names; None for others.

        With them the nodes at all ends.
        """
        one, other = joints
        ends = {*one.ends, *other.ends}
        meet = len(ends) == 3 and not set(one.ends).isdisjoint(other.ends)  # else a loop beside another
        if not meet or not ends <= self.nodes.keys() or not names <= {*ends, one.name, other.name}:
            return None
        return joints, {name: self.nodes[name] for name in ends}

    def sample_over(self, names: frozenset[str]) -> tuple[Sample, dict[str, str], list[Expr]] | None:
        """Return a sample of a relationship, or of two that meet, over some names, and which element of it each is.

        With what is asked of these elements. None where there is none.
        """
        one = next((each for each in self.joints if names <= {each.name, *each.ends} and len(each.types) == 1), None)
        if one is not None and len({*one.ends}) == 2:
            joints: tuple[Joint, ...] = (one,)
            labels = [named(self.nodes[end].labels) for end in one.ends]
            sample = self.catalog.relationship_sample(one.types[0][0], *labels, both=one.both)
            elements = {one.ends[0]: "start", one.name: "relationship", one.ends[1]: "end"}
        else:
            met = next(filter(None, (self._meeting(names, pair) for pair in combinations(self.joints, 2))), None)
            if met is None:
                return None
            joints, _ = met
            (middle,) = {*joints[0].ends} & {*joints[1].ends}
            kinds = [each.incidence(middle, self.nodes) for each in joints]
            label = named(self.nodes[middle].labels)
            sample = self.catalog.wedge_sample(label, *kinds, apart="relationships")
            elements = {middle: "middle"}
            for each, element in zip(joints, ("first", "last"), strict=True):
                elements[each.ends[0] if each.ends[1] == middle else each.ends[1]] = element
        if sample is None or not sample.size or not names <= elements.keys():
            return None
        conditions = [each for each in self.given if free_variables(each) <= elements.keys()]
        for end in elements.keys() & self.nodes.keys():
            conditions += self.nodes[end].predicates
        return sample, elements, conditions

    def along(self, walk: Walk, equal: Sequence[Expr], alone: float) -> float:
        """Return how many walks have equal values at both ends: most are of the longest ones.

        Of two hops that is sampled; over more each hop hands them on or draws them anew.
        """
        hops = max(walk.minimum, 1) if walk.maximum is None else max(walk.maximum, 1)
        if hops == 2:
            ends = (walk.start, ""), ("", walk.end.name)
            if walk.direction is Direction.IN:
                ends = ("", walk.start), (walk.end.name, "")
            nodes = {**self.nodes, "": Element(None, (), 1.0)}
            one, other = (
                self._joint("", each, walk.types, walk.direction is Direction.BOTH, None, nodes) for each in ends
            )
            return over_two((one, other), nodes, equal, (), alone, self.catalog, apart="relationships")
        ends_of = (walk.start, walk.end.name) if walk.direction is not Direction.IN else (walk.end.name, walk.start)
        joint = self._joint("", ends_of, walk.types, walk.direction is Direction.BOTH, None, self.nodes)
        kept = (joint.conditional(equal, self.nodes, self.catalog) - alone) / max(1.0 - alone, 1e-9)
        return alone + float(min(max(kept, 0.0), 1.0) ** hops) * (1.0 - alone)

    def _different(self, names: frozenset[str]) -> float:
        """Return how likely two elements differ: as if each were any of its kind."""
        counts = [vertex_count(self.catalog, self.nodes[name].labels) for name in names if name in self.nodes]
        edges = {each.name: sum(count for _, count in each.types) for each in self.joints}
        counts += [int(edges[name]) for name in names if name in edges]
        return 1.0 - 1.0 / max(*counts, 2) if len(counts) == 2 else _UNKNOWN


def _scanned(scan: RelationshipScan, catalog: CatalogView) -> Element:
    """Return what is known of a relationship that an index finds."""
    types = _any_of(scan.types)
    share = selectivity(scan.predicates, catalog, "relationship", types)
    return Element(types, scan.predicates, share, "relationship")


def _looked_up(look_up: LookUp, catalog: CatalogView) -> Element:
    """Return what is known of a relationship that a value of the rows finds, or names."""
    if not look_up.types:
        return Element(None, (), 1.0, "relationship")
    types, of = _any_of(look_up.types), Variable(look_up.name, type=RELATIONSHIP)
    equation = (Comparison(("=",), (Property(of, look_up.key), look_up.value)),)
    return Element(types, equation, selectivity(equation, catalog, "relationship", types), "relationship")


def _any_of(names: tuple[str, ...]) -> LabelExpr:
    types = tuple(map(LabelIs, names))
    return types[0] if len(types) == 1 else LabelOr(types)


def _tells_apart(predicate: Expr) -> bool:
    match predicate:
        case Comparison(ops=("<>",), args=(Variable(), Variable())):
            return True
    return False


def _given(
    predicates: Sequence[Expr],
    known: Sequence[Expr],
    share: float,
    catalog: CatalogView,
    entity: str,
    owners: LabelExpr | None,
) -> float:
    """Return the share of the elements that satisfy conditions, of those that satisfy others: ``share`` of all."""
    found = selectivity(different((*known, *predicates)), catalog, entity, owners)
    return min(1.0, found / max(share, 1e-12))
