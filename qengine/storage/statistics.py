"""What is counted of a graph: relationships between labels, degrees, values of properties."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from qengine._cached import cached_property
from qengine._frozen import frozen, replace
from qengine._printable import printable_line
from qengine.catalog.values import ValueSummary
from qengine.catalog.view import EdgeStatistics, Incidence, Labels, TriangleSide
from qengine.plan.pattern import Direction, LabelExpr, LabelIs, expression
from qengine.storage.arrays import Array
from qengine.storage.columns import PropertyColumn
from qengine.storage.group_pairs import NOTHING, GroupPairs, PairCounts
from qengine.storage.joint_degrees import JointDegrees
from qengine.storage.kernels import acyclic, antiparallel, mutual_pairs, pair_statistics
from qengine.storage.list_changes import ListChange, changed_edges, changed_pairs, falling
from qengine.storage.mixed_triangles import Corners, MixedTriangles, Odds, Sides
from qengine.storage.nature import Facts
from qengine.storage.samples import Samples, have_labels
from qengine.storage.values import summarize
from qengine.storage.variant import concatenate
from qengine.storage.wedges import WedgeSummary, sample_wedges

if TYPE_CHECKING:
    from qengine.storage.store import GraphStore, LabelGroup

_MANY = 1 << 12  # relationships of a type that are worth counting beforehand
_MUTUAL_SAMPLE = 1 << 22  # relationships of a type among which pairs joined both ways are counted
_MANY_VALUES = 1 << 14  # nodes with a label, or relationships of a type, whose values are worth summarizing beforehand
_MOST_PAIRS = 64  # of label groups that are looked up for two labels
_FIRST = 16  # vertices of a group, and neighbours of each, among which pairs of groups are looked for
_COUNTED_AGAIN = 1 << 20  # relationships of a type that are gone through for labels that several groups have
_MOST_EXPRESSIONS = 1 << 12  # pairs of label expressions whose relationships are remembered
_HUBS = 10
_QUANTILES = (0.5, 0.9, 0.99)

_T = TypeVar("_T")


@frozen
class DegreeSummary:
    """Degrees of the vertices with a label in one type and direction.

    ``vertices``: with the label; ``with_edges``: of them with a degree above 0; ``mean``, ``median``, ``p90``,
    ``p99`` and ``maximum`` are over all ``vertices``. ``hubs``: numbers of the ten with the greatest degrees above 0
    (or fewer), each with its degree, the greatest first.
    """

    vertices: int
    with_edges: int
    mean: float
    median: float
    p90: float
    p99: float
    maximum: int
    hubs: tuple[tuple[int, int], ...] = ()


class Statistics:
    """Statistics of one graph: what is large is counted while it is loaded, the rest when first asked for, and kept.

    ``print(graph.statistics)`` shows the relationships between label sets, and the values of properties.
    """

    def __init__(self, store: GraphStore) -> None:
        self._store = store
        self._pairs: dict[tuple[int, Direction], GroupPairs] = {}
        self._groups: dict[str | None, list[int]] = {None: list(range(len(store.groups)))}
        for index, group in enumerate(store.groups):
            for label in group.labels:
                self._groups.setdefault(label, []).append(index)
        self._edges: dict[tuple[str | None, str | None, str | None], EdgeStatistics] = {}
        self._of_expressions: dict[Any, EdgeStatistics] = {}
        self._wedges: dict[str, WedgeSummary] = {}
        self._together = JointDegrees(store)
        self._mixed = MixedTriangles(store, self._together)
        self._mutual: dict[str, float] = {}
        self._values: dict[tuple[str, str, str | LabelExpr | None], ValueSummary] = {}
        self.samples = Samples(store, self._together)

    def gather(self) -> None:
        """Count relationships between labels and summarize the values of properties, by label and by type.

        What is small is left out: it takes less than a millisecond when it is first asked for. So are circles, for
        which few queries ask. Whether relationships are antiparallel takes at most some 2 % of the loading time.
        """
        for edge_type in self._store.types:
            if edge_type.count >= _MANY:
                for way in dict.fromkeys(self._directions(edge_type.index)):
                    self._counts(edge_type.index, way)
                self.wedges(edge_type.name)
                if not edge_type.parallel:
                    self.antiparallel(edge_type.name)
        for entity, key, owner in self.properties():
            if self._size(entity, owner) >= _MANY_VALUES:
                self.values(entity, key, owner)

    def take_over(self, before: Statistics, types: Collection[str]) -> None:
        """Take what holds still from the statistics of the version before, whose vertex ids are the same.

        ``types``: those with the same relationships. There may be new vertices, and some may have other labels; then
        what depends on that is left out.
        """
        store, old = self._store, before._store
        same_nodes = store.groups == old.groups
        same_labels = _keep_labels(old.groups, store.groups)
        indices = {old.type_index(name): store.type_index(name) for name in types}
        for (index, way), counts in list(before._pairs.items()) if same_labels else ():
            new = indices.get(index)
            if new is not None:
                self._pairs[new, way] = counts
        if store.nature is not old.nature:
            store.nature.acyclic.take(types, old.nature.acyclic)
            store.nature.antiparallel.take(types, old.nature.antiparallel)
        self._mutual.update(_of(types, before._mutual))
        if same_nodes:
            self._wedges.update(_of(types, before._wedges))
        for key, edges in list(before._edges.items()):
            whole = (key[0], key[2]) == (None, None)  # counted in another way where there is one group
            if key[1] in types and (len(old.groups) > 1 or same_nodes if whole else same_labels):
                self._edges[key] = edges
        for (entity, name, owner), summary in list(before._values.items()):
            if entity == "node":
                same = same_nodes and store.node_property(name) is old.node_property(name)
            else:
                same = self._column(name, owner) is before._column(name, owner) is not None
            if same:
                self._values[entity, name, owner] = summary

    def follow(self, before: Statistics, changes: Mapping[str, Mapping[Direction, ListChange]], *, moves: bool) -> None:
        """Take what is known of types in the version before, and what small changes of their lists make of it.

        ``moves``: whether vertices have other ids than before. Then those that keep their labels keep the place of
        their group; else a group may have been split where some of its vertices have other labels now.
        """
        store, old = self._store, before._store
        if moves:
            names = [group.labels for group in old.groups]
            same_places = names == [group.labels for group in store.groups[: len(names)]]
        else:
            same_places = _keep_labels(old.groups, store.groups)
        ends = tuple(np.array([group.end for group in each.groups], np.uint32) for each in (old, store))
        for name, by_way in changes.items():
            index, was = store.type_index(name), old.type_index(name)
            assert index is not None and was is not None
            counted = {way: before._pairs.get((was, way)) for way in by_way} if same_places else {}
            found = {
                way: counts and changed_pairs(counts, by_way[way], (ends[0], ends[1]), way is not Direction.IN)
                for way, counts in counted.items()
            }
            if all(found.values()):
                self._pairs.update({(index, way): counts for way, counts in found.items() if counts})
            self._follow_edges(before, index, by_way)

    def _follow_edges(self, before: Statistics, index: int, by_way: Mapping[Direction, ListChange]) -> None:
        out, into = (by_way[way] for way in self._directions(index))
        for key, known in list(before._edges.items()):
            source, type, target = key
            if type != self._store.types[index].name or self._may_be_between_groups(source, index, target):
                continue
            old, new = (
                (partial(have_labels, each._store, labels=source), partial(have_labels, each._store, labels=target))
                for each in (before, self)
            )
            edges = changed_edges(known, out, into, old, new)
            if edges is not None:
                self._edges[key] = edges

    def _column(self, key: str, type: Any) -> PropertyColumn | None:
        index = self._store.type_index(type)
        return None if index is None else self._store.relationship_property(index, key)

    def gather_all(self) -> None:
        """Gather, and look for circles and antiparallel relationships: what is worth keeping with a saved graph."""
        self.gather()
        for edge_type in self._store.types:
            self.acyclic(edge_type.name)
            self.antiparallel(edge_type.name)

    def edges(self, source: Labels, type: str | None, target: Labels) -> EdgeStatistics:
        """Return statistics of the matches of ``(:source)-[:type]->(:target)``; None stands for all.

        A relationship of an undirected type counts both ways, a self-loop once.
        """
        key = (source, type, target)
        known: dict[Any, EdgeStatistics] = self._edges
        if isinstance(source, LabelExpr) or isinstance(target, LabelExpr):
            known = self._of_expressions
            if len(known) >= _MOST_EXPRESSIONS:
                known.clear()
        found = known.get(key)
        if found is None:
            found = self._between_groups(*key) or self._of_type(*key) or self._of_pairs(*key)
            found = known[key] = found or self._between_ranges(*key)
        return found

    def edges_by_label_sets(self, type: str) -> Array:
        """Return what ``CatalogView.edges_by_label_sets`` does."""
        index = self._store.type_index(type)
        if index is None:
            return np.zeros((0, 3), np.int64)
        if len(self._store.label_sets) == 1:
            return np.array([[0, 0, self.edges(None, type, None).edges]])
        counts = self._counts(index, self._directions(index)[0])
        places = {labels: place for place, (labels, _) in enumerate(self._store.label_sets)}
        of_groups = np.array([places[group.labels] for group in self._store.groups], np.int64)
        return np.column_stack((of_groups[counts.groups], counts.numbers[:, 0]))

    def degrees(self, label: str | None, type: str, direction: Direction = Direction.OUT) -> DegreeSummary:
        """Return a summary of the degrees of the vertices with a label (None: all).

        Raises
        ------
        KeyError
            For an unknown type.
        """
        store = self._store
        index = store.type_index(type)
        if index is None:
            raise KeyError(type)
        degrees = np.zeros(store.vertex_count, np.int64)
        both = store.types[index].undirected or direction is Direction.BOTH
        for way in self._ways(index, Direction.BOTH if both else direction):
            self._degrees(index, way, label, None, degrees)
        inside = np.flatnonzero(have_labels(self._store, np.arange(store.vertex_count), label))
        own = degrees[inside]
        if not len(own):
            return DegreeSummary(0, 0, 0.0, 0.0, 0.0, 0.0, 0)
        median, p90, p99 = np.quantile(own, _QUANTILES).tolist()
        first = np.argsort(-own, kind="stable")[:_HUBS]
        numbers = store.node_numbers.of(inside[first]).tolist()
        hubs = tuple((vertex, most) for vertex, most in zip(numbers, own[first].tolist(), strict=True) if most)
        with_edges = int(np.count_nonzero(own))
        return DegreeSummary(len(own), with_edges, float(own.mean()), median, p90, p99, int(own.max()), hubs)

    def wedges(self, type: str) -> WedgeSummary:
        """Return how many paths of two steps a type makes, and the share of them that a third closes to a triangle.

        Raises
        ------
        KeyError
            For an unknown type.
        """
        index = self._store.type_index(type)
        if index is None:
            raise KeyError(type)
        if type not in self._wedges:
            out, into = (self._store.adjacency(index, way) for way in self._directions(index))
            ends = self._group_ends.astype(np.int64)
            sizes = np.diff(ends, prepend=0)
            chances = partial(self._chances, index, sizes)
            undirected = self._store.types[index].undirected
            self._wedges[type] = sample_wedges(into, out, undirected, ends, partial(self._chance, type), chances)
        return self._wedges[type]

    def acyclic(self, type: str) -> bool:
        """Tell whether no path of relationships of a type leads back to where it began; never where it is undirected.

        False for an unknown type.
        """
        index = self._store.type_index(type)
        if index is None or self._store.types[index].undirected:
            return False
        return self._fact(self._store.nature.acyclic, type, _is_acyclic)

    def antiparallel(self, type: str) -> bool:
        """Tell whether relationships of a directed type join two different vertices both ways.

        False for undirected and unknown types.
        """
        index = self._store.type_index(type)
        if index is None or self._store.types[index].undirected:
            return False
        return self._fact(self._store.nature.antiparallel, type, _is_antiparallel)

    def _fact(self, facts: Facts, type: str, find: Callable[[GraphStore, int], bool]) -> bool:
        """Return an answer for a type that holds for all versions of the graph's nature."""

        def found() -> bool:
            whole = self._store.nature.whole(self._store)
            index = None if whole is None else whole.type_index(type)
            return facts.unknown if whole is None or index is None else find(whole, index)

        return facts.of(type, found)

    def mutual_pairs(self, type: str) -> float | None:
        """Return what ``CatalogView.mutual_pairs`` does: counted, or in a large type at every so many vertices."""
        index = self._store.type_index(type)
        if index is None or self._store.types[index].undirected or self._store.types[index].parallel:
            return None
        if not self.antiparallel(type):
            return 0.0
        if type not in self._mutual:
            into, out = (self._store.adjacency(index, way) for way in (Direction.IN, Direction.OUT))
            stride = max(1, self._store.types[index].count // _MUTUAL_SAMPLE)
            found = mutual_pairs(into.struct, out.struct, stride)
            self._mutual[type] = 2.0 * found * stride
        return self._mutual[type]

    def closing_odds(self, type: str, labels: Sequence[Labels]) -> float:
        """Return what ``CatalogView.closing_odds`` does."""
        if self._store.type_index(type) is None:
            return 1.0
        found = self.wedges(type)
        groups = [self._only_group(label) for label in labels]
        if set(labels) == {None} and None in groups:
            return found.odds
        one, other, third = sorted(-1 if group is None else group for group in groups)
        return found.kinds.get((one, other, third), found.labelled_odds)

    def closed_wedges(self, type: str) -> float:
        """Return what ``CatalogView.closed_wedges`` does."""
        if self._store.type_index(type) is None:
            return 0.0
        found = self.wedges(type)
        return found.wedges * found.closed

    def mixed_closing_odds(
        self, labels: Corners, sides: tuple[TriangleSide, TriangleSide, TriangleSide]
    ) -> tuple[float, float, float]:
        """Return what ``CatalogView.mixed_closing_odds`` does."""
        return self._mixed.odds(labels, sides)

    def together(self, labels: Labels, one: Incidence, other: Incidence) -> float:
        """Return what ``CatalogView.together`` does."""
        return self._together.factor(labels, one, other)

    def degrees_of(self, nodes: Array, kind: Incidence) -> Array:
        """Return what ``CatalogView.degrees_of`` does."""
        return self._together.of_nodes(nodes.astype(np.uint32), kind)

    def values(self, entity: str, key: str, owner: str | None = None) -> ValueSummary:
        """Return a summary of the values of a property of "node" or "relationship"s.

        Parameters
        ----------
        owner
            The nodes' label (None: all nodes), or the relationships' type (None: the only one that has the property).

        Raises
        ------
        KeyError
            For an unknown property, or one that several types have and no type is named.
        """
        if entity == "node":
            if self._store.node_property(key) is None:
                raise KeyError(key)
            return self._of_nodes(key, owner)
        owners = [each.name for each in self._store.types if key in each.property_keys and owner in (None, each.name)]
        if len(owners) != 1:
            raise KeyError(key)
        return self._of_relationships(key, owners[0])

    def value_summaries(self, entity: str, key: str, owners: LabelExpr | None) -> tuple[ValueSummary, ...]:
        """Return what is known of a property's values; parameters as ``CatalogView.value_summaries``."""
        if entity == "node":
            return (self._of_nodes(key, owners.name if isinstance(owners, LabelIs) else owners),)
        types = (self._store.types[index].name for index in self._store.matching_types(owners))
        return tuple(self._of_relationships(key, name) for name in types)

    def properties(self) -> Iterator[tuple[str, str, str]]:
        """Yield each property with its owner: ("node", key, label), then ("relationship", key, type)."""
        store = self._store
        for label in store.labels:
            for key in store.property_keys("node"):
                column = store.node_property(key)
                ranges = store.label_ranges(LabelIs(label)).tolist()
                if column is not None and any(low < column.end and column.begin < high for low, high in ranges):
                    yield "node", key, label
        for edge_type in store.types:
            for key in edge_type.property_keys:
                yield "relationship", key, edge_type.name

    def know(self, type: str, found: EdgeStatistics) -> None:
        """Take the statistics of all relationships of a type from a saved graph."""
        self._edges[None, type, None] = found

    def know_pairs(self, type_index: int, direction: Direction, found: GroupPairs) -> None:
        """Take what is counted of a type by (owner's group, neighbour's group) from a saved graph."""
        self._pairs[type_index, direction] = found

    def know_wedges(self, type: str, found: WedgeSummary) -> None:
        """Take what is sampled of a type's wedges from a saved graph."""
        self._wedges[type] = found

    def know_acyclic(self, type: str, found: bool) -> None:
        """Take from a saved graph whether a directed type has no circles."""
        self._store.nature.acyclic.settle(type, found)

    def know_antiparallel(self, type: str, found: bool) -> None:
        """Take from a saved graph whether a directed type joins vertices both ways."""
        self._store.nature.antiparallel.settle(type, found)

    def know_values(self, entity: str, key: str, owner: str | None, found: ValueSummary) -> None:
        """Take the summary of a property from a saved graph."""
        self._values[entity, key, owner] = found

    def know_together(self, label: str | None, one: Incidence, other: Incidence, factor: float) -> None:
        """Take from a saved graph how degrees in two kinds of relationships go together."""
        self._together.factors.get((label, one, other), lambda: factor)

    def know_mixed_triangles(self, labels: Corners, sides: Sides, odds: Odds) -> None:
        """Take from a saved graph what is sampled of a kind of triangles."""
        self._mixed.known.get((labels, sides), lambda: odds)

    def known_together(self) -> list[tuple[Any, float]]:
        """Return what is known by now of how degrees go together: by label and two kinds of relationships."""
        return [each for each in self._together.factors.items() if _is_of_labels(each[0])]

    def known_mixed_triangles(self) -> list[tuple[Any, Odds]]:
        """Return what is sampled by now of triangles: by their corners' labels and their sides."""
        return [each for each in self._mixed.known.items() if _is_of_labels(each[0])]

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that are kept; what is told of labels, types and properties aside."""
        pairs = sum(counts.nbytes for counts in list(self._pairs.values()))
        return pairs + self._together.nbytes + self.samples.nbytes

    def known_pairs(self) -> list[tuple[tuple[int, Direction], GroupPairs]]:
        """Return what is counted by now between label groups, from both ends: by type and direction."""
        known = dict(self._pairs)
        return [(key, known[key]) for key in known if all((key[0], way) in known for way in self._directions(key[0]))]

    def known_wedges(self) -> list[tuple[str, WedgeSummary]]:
        """Return what is sampled by now of types' wedges."""
        return list(self._wedges.items())

    def known_acyclic(self) -> list[tuple[str, bool]]:
        """Return of which directed types it is known by now whether they have no circles."""
        return self._store.nature.acyclic.items()

    def known_antiparallel(self) -> list[tuple[str, bool]]:
        """Return of which directed types it is known by now whether they join vertices both ways."""
        return self._store.nature.antiparallel.items()

    def known_values(self) -> list[tuple[tuple[str, str, str | None], ValueSummary]]:
        """Return the summaries made by now, by entity, property and label or type that has it.

        There are none of other label expressions.
        """
        return [
            ((entity, key, owner), found)
            for (entity, key, owner), found in list(self._values.items())
            if (owner is None or isinstance(owner, str)) and self._has(entity, key, owner)
        ]

    def _has(self, entity: str, key: str, owner: str | None) -> bool:
        """Tell whether there is a column of a property: queries may ask for others."""
        if entity == "node":
            return self._store.node_property(key) is not None and (owner is None or owner in self._store.labels)
        index = None if owner is None else self._store.type_index(owner)
        return index is not None and self._store.relationship_property(index, key) is not None

    def pairs(self, type_index: int) -> dict[tuple[int, int], EdgeStatistics]:
        """Return statistics of a type between label groups, by the indices of both ends' groups."""
        forward, backward = self._directions(type_index)
        back = self._counts(type_index, backward)
        return {
            (source, target): _statistics(counts, back[target, source])
            for (source, target), counts in self._counts(type_index, forward).items()
        }

    def __repr__(self) -> str:
        store = self._store
        names = [
            "".join(f":{label}" for label in labels) for labels in map(store.group_labels, range(len(store.groups)))
        ]
        lines = [f"{store.vertex_count:,} nodes, {store.relationship_count:,} relationships"]
        for edge_type in store.types:
            for (source, target), found in self.pairs(edge_type.index).items():
                arrow = "-" if edge_type.undirected else "->"
                lines.append(
                    f"({names[source]})-[:{edge_type.name}]{arrow}({names[target]})  {found.edges:,}"
                    f"  ends {found.sources:,} and {found.targets:,}"
                    f"  degrees {found.edges / found.sources:.1f} (most {found.max_out:,})"
                    f" and {found.edges / found.targets:.1f} (most {found.max_in:,})"
                )
        for edge_type in store.types:
            wedges = self.wedges(edge_type.name)
            if not wedges.wedges:
                continue
            lines.append(
                f"[:{edge_type.name}]  {wedges.wedges:,} paths of two steps, {wedges.closed:.1%} of them closed"
            )
        for entity, key, owner in self.properties():
            name = f"(:{owner})" if entity == "node" else f"[:{owner}]"
            lines.append(f"{name}.{key}  {self.values(entity, key, owner)!r}")
        return "\n".join(map(printable_line, lines))

    def _of_nodes(self, key: str, labels: str | LabelExpr | None) -> ValueSummary:
        known = ("node", key, labels)
        if known not in self._values:
            ranges = self._store.label_ranges(expression(labels)).tolist()
            self._values[known] = _summary(self._store.node_property(key), ranges)
        return self._values[known]

    def _of_relationships(self, key: str, type: str) -> ValueSummary:
        known = ("relationship", key, type)
        if known not in self._values:
            index = self._store.type_index(type)
            assert index is not None
            ranges = [[0, self._store.types[index].count]]
            self._values[known] = _summary(self._store.relationship_property(index, key), ranges)
        return self._values[known]

    def _size(self, entity: str, owner: str) -> int:
        """Return how many nodes have a label, or relationships a type."""
        if entity == "node":
            return sum(high - low for low, high in self._store.label_ranges(LabelIs(owner)).tolist())
        index = self._store.type_index(owner)
        return 0 if index is None else self._store.types[index].count

    def _directions(self, index: int) -> tuple[Direction, Direction]:
        return (Direction.BOTH,) * 2 if self._store.types[index].undirected else (Direction.OUT, Direction.IN)

    def _ways(self, index: int, direction: Direction) -> tuple[Direction, ...]:
        """Return the stored adjacencies that make a direction."""
        directed = not self._store.types[index].undirected
        return (Direction.OUT, Direction.IN) if direction is Direction.BOTH and directed else (direction,)

    @cached_property
    def _group_ends(self) -> Array:
        return np.array([group.end for group in self._store.groups], np.uint32)

    def _counts(self, index: int, direction: Direction) -> GroupPairs:
        """Return what is counted by (owner's group, neighbour's group)."""
        if (index, direction) not in self._pairs:
            self._pairs[index, direction] = self._count(
                index, direction, self._group_ends, direction is not Direction.IN
            )
        return self._pairs[index, direction]

    def _count(self, index: int, direction: Direction, group_ends: Array, sides: bool) -> GroupPairs:
        lists = self._store.adjacency(index, direction)
        forward, backward = self._directions(index)
        back = self._store.adjacency(index, backward if direction is forward else forward)
        reach = back.lo, back.hi
        return GroupPairs.counted(*pair_statistics(lists.row_index(), lists.neighbours, reach, group_ends, sides))

    def _chance(self, type: str) -> float:
        """Return how likely two vertices are joined if a third one joins them, by degrees, as in the cost model."""
        found, vertices = self.edges(None, type, None), float(self._store.vertex_count)
        edges = max(float(found.edges), 1.0)
        grown = (max(pairs * vertices / edges**2, 1.0) for pairs in (found.out_pairs, found.in_pairs))
        return float(_saturated(math.prod(grown) * edges / vertices**2))

    def _chances(self, index: int, sizes: Array, first: Array, second: Array, third: Array) -> Array:
        """Return how likely vertices of groups are joined by labels, and by degrees, as both are joined to a second."""
        ways = self._directions(index)
        moments = {way: _Moments(self._counts(index, way), sizes) for way in dict.fromkeys(ways)}
        forward, backward = (moments[way] for way in ways)
        grown = forward.skew(first, third) * forward.skew(first, second)
        grown *= backward.skew(third, first) * backward.skew(third, second)
        edges = forward.entries(first, third)
        chances: Array = _saturated(np.sqrt(grown) * edges / (sizes[first] * sizes[third]))
        return chances

    def _between_groups(self, source: Labels, type: str | None, target: Labels) -> EdgeStatistics | None:
        """Answer from the pairs of groups where no more than one has relationships; None where several have."""
        index = None if type is None else self._store.type_index(type)
        first, second = (self._groups_of(labels) for labels in (source, target))
        if index is None or not 1 <= len(first) * len(second) <= (_MOST_PAIRS if source or target else 1):
            return None
        forward, backward = self._directions(index)
        counts, back = self._counts(index, forward), self._counts(index, backward)
        found = [pair for pair in product(first, second) if pair in counts] or [(first[0], second[0])]
        if len(found) > 1:
            return None
        one, other = found[0]
        return _statistics(counts.get((one, other), NOTHING), back.get((other, one), NOTHING))

    def _may_be_between_groups(self, source: str | None, index: int, target: str | None) -> bool:
        """Tell whether ``_between_groups`` may answer; what isn't counted yet is not counted for it."""
        first, second = (self._groups.get(label, []) for label in (source, target))
        if not 1 <= len(first) * len(second) <= (_MOST_PAIRS if source or target else 1):
            return False
        counts: Collection[tuple[int, int]] | None = self._pairs.get((index, self._directions(index)[0]))
        if counts is None:
            counts = self._some_pairs(index, first)
        return sum(pair in counts for pair in product(first, second)) < 2

    def _some_pairs(self, index: int, groups: Sequence[int]) -> set[tuple[int, int]]:
        """Return pairs of groups that relationships join: those of the first vertices of some groups."""
        lists = self._store.adjacency(index, self._directions(index)[0])
        ends = self._group_ends.astype(np.int64)
        found = set()
        for group in groups:
            begin, end = self._store.groups[group].begin, self._store.groups[group].end
            begins, stops = lists.locate_all(np.arange(begin, min(end, begin + _FIRST), dtype=np.uint32))
            for low, high in zip(begins.tolist(), stops.tolist(), strict=True):
                others = np.searchsorted(ends, lists.neighbours[low : min(high, low + _FIRST)], side="right")
                found |= {(group, other) for other in others.tolist()}
        return found

    def _of_type(self, source: Labels, type: str | None, target: Labels) -> EdgeStatistics | None:
        """Answer for all relationships of a type by the lengths of its lists; None for others."""
        index = None if type is None else self._store.type_index(type)
        if index is None or source is not None or target is not None:
            return None
        all_vertices = np.array([self._store.vertex_count], np.uint32)
        ways = self._directions(index)
        found = {way: self._count(index, way, all_vertices, False).get((0, 0), NOTHING) for way in dict.fromkeys(ways)}
        return _statistics(*(found[way] for way in ways))

    def _of_pairs(self, source: Labels, type: str | None, target: Labels) -> EdgeStatistics | None:
        """Answer for a large type by the pairs of groups, as if who has many in one had many in the others.

        How many relationships there are is exact. None for all types together, and for small ones.
        """
        index = None if type is None else self._store.type_index(type)
        if index is None or self._store.types[index].count < _COUNTED_AGAIN:
            return None
        first, second = (set(self._groups_of(labels)) for labels in (source, target))
        forward, backward = (self._counts(index, way) for way in self._directions(index))
        return _statistics(forward.added(first, second), backward.added(second, first))

    def _groups_of(self, labels: Labels) -> Sequence[int]:
        """Return the indices of the groups that satisfy a label expression."""
        if isinstance(labels, LabelExpr):
            return [index for index, group in enumerate(self._store.groups) if labels.admits(group.labels)]
        return self._groups.get(labels, ())

    def _only_group(self, labels: Labels) -> int | None:
        """Return the index of the one group that has some labels, or None."""
        own = self._groups_of(labels)
        return own[0] if len(own) == 1 else None

    def _between_ranges(self, source: Labels, type: str | None, target: Labels) -> EdgeStatistics:
        """Count vertex by vertex: for labels that several groups share, and for all types together.

        Of one type those vertices alone that have any: of many types each has few.
        """
        store = self._store
        if type is not None:
            index = store.type_index(type)
            if index is None:
                return EdgeStatistics(0, 0, 0)
            forward, backward = self._directions(index)
            out = self._listed_degrees(index, forward, source, target)[1]
            into = self._listed_degrees(index, backward, target, source)[1]
        else:
            out, into = (np.zeros(store.vertex_count, np.int64) for _ in range(2))
            for index in range(len(store.types)):
                forward, backward = self._directions(index)
                self._degrees(index, forward, source, target, out)
                self._degrees(index, backward, target, source, into)
        return EdgeStatistics(
            edges=int(out.sum()),
            sources=int(np.count_nonzero(out)),
            targets=int(np.count_nonzero(into)),
            max_out=int(out.max(initial=0)),
            max_in=int(into.max(initial=0)),
            out_pairs=falling(out, 2),
            out_triples=falling(out, 3),
            in_pairs=falling(into, 2),
            in_triples=falling(into, 3),
        )

    def _degrees(self, index: int, direction: Direction, label: Labels, other: Labels, out: Array) -> None:
        """Add to ``out`` how many neighbours with label ``other`` each vertex with ``label`` has."""
        vertices, degrees = self._listed_degrees(index, direction, label, other)
        out[vertices] += degrees

    def _listed_degrees(self, index: int, direction: Direction, label: Labels, other: Labels) -> tuple[Array, Array]:
        """Return the vertices with ``label`` that have lists, and how many neighbours with ``other`` (int64) each."""
        lists = self._store.adjacency(index, direction)
        vertices, begins, ends = lists.rows()
        if other is None:
            degrees = (ends - begins).astype(np.int64)
        else:
            counted = np.zeros(len(lists) + 1, np.int64)
            np.cumsum(have_labels(self._store, lists.neighbours, other), out=counted[1:])
            degrees = counted[ends] - counted[begins]
        if label is None:
            return vertices, degrees
        kept = have_labels(self._store, vertices, label)
        return vertices[kept], degrees[kept]


class _Moments:
    """Entries between pairs of groups, and E[d(d-1)]/E[d]² of the owners' degrees d, at least 1."""

    def __init__(self, counts: GroupPairs, sizes: Array) -> None:
        self._groups = len(sizes)
        owners = counts.groups[:, 0]
        self._pairs = owners * self._groups + counts.groups[:, 1]
        entries = counts.numbers[:, 0].astype(np.float64)
        skew = np.maximum(counts.moments[:, 0] * sizes[owners] / entries**2, 1.0)
        self._entries, self._skew = np.append(entries, 0.0), np.append(skew, 1.0)  # the last: of pairs without an entry

    def entries(self, owners: Array, neighbours: Array) -> Array:
        """Return the entries of pairs of groups."""
        return self._entries[self._places(owners, neighbours)]

    def skew(self, owners: Array, neighbours: Array) -> Array:
        """Return the owners' moment of pairs of groups."""
        return self._skew[self._places(owners, neighbours)]

    def _places(self, owners: Array, neighbours: Array) -> Array:
        wanted = owners * self._groups + neighbours
        places = np.searchsorted(self._pairs, wanted)
        absent = len(self._pairs)
        return np.where(self._pairs[np.minimum(places, absent - 1)] == wanted, places, absent)


def _is_acyclic(store: GraphStore, type: int) -> bool:
    into, out = (store.adjacency(type, way) for way in (Direction.IN, Direction.OUT))
    apart = into.hi <= out.lo or out.hi <= into.lo  # from one label to another
    return apart or acyclic(into.struct, out.struct, store.vertex_count)


def _is_antiparallel(store: GraphStore, type: int) -> bool:
    if store.nature.acyclic.get(store.types[type].name):
        return False
    into, out = (store.adjacency(type, way) for way in (Direction.IN, Direction.OUT))
    return antiparallel(into.struct, out.struct)


def _keep_labels(before: Sequence[LabelGroup], after: Sequence[LabelGroup]) -> bool:
    """Tell whether groups are those before, the last perhaps with more vertices, and others after them."""
    same = [(group.labels, group.begin) for group in before] == [
        (group.labels, group.begin) for group in after[: len(before)]
    ]
    return same and (not before or before[-1].end <= after[len(before) - 1].end)


def _of(types: Collection[str], known: Mapping[str, _T]) -> dict[str, _T]:
    """Return what is known by now of some types."""
    return {name: found for name, found in list(known.items()) if name in types}


def _saturated(expected: Any) -> Any:
    """Return how likely a relationship is of which so many are expected: few pairs have nearly all of very many."""
    return expected / (1 + expected)


def _summary(column: PropertyColumn | None, ranges: Sequence[Sequence[int]]) -> ValueSummary:
    """Summarize a property's values for the ids of some ranges ``[begin, end)``."""
    count = sum(high - low for low, high in ranges)
    if column is None:
        return ValueSummary(count, count, 0)
    parts = [(max(low, column.begin), min(high, column.end)) for low, high in ranges]
    arrays = [column.slice(low, high) for low, high in parts if low < high]
    found = summarize(concatenate(arrays)) if arrays else ValueSummary(0, 0, 0)
    outside = count - found.count
    return replace(found, count=count, nulls=found.nulls + outside) if outside else found


def _statistics(forward: PairCounts, backward: PairCounts) -> EdgeStatistics:
    entries, sources, most_out, out_pairs, out_triples, lesser, greater = forward
    _, targets, most_in, in_pairs, in_triples, _, _ = backward
    return EdgeStatistics(
        entries, sources, targets, most_out, most_in, out_pairs, out_triples, in_pairs, in_triples, lesser, greater
    )


def _is_of_labels(key: Any) -> bool:
    """Tell whether what is known is of single labels, or of all: what is of other expressions isn't saved."""
    if isinstance(key, Incidence):
        return not isinstance(key.labels, LabelExpr)
    return all(map(_is_of_labels, key)) if isinstance(key, tuple) else not isinstance(key, LabelExpr)
