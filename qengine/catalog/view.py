"""What planners may know of a graph: names, kinds, counts. Storage implements it; planners read nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from qengine._frozen import KeptHash, frozen
from qengine.catalog.rules import Rules
from qengine.catalog.values import ValueSummary
from qengine.types import Type

Labels = Any
"""What labels nodes have: a label's name, any other label expression (``plan.pattern.LabelExpr``), None for all."""


@frozen
class RelationshipTypeInfo(KeptHash):
    """What is known of one relationship type.

    ``undirected``: stored once, the same both ways: ``->``, ``<-`` and ``--`` all match it either way.
    ``parallel``: two vertices may have several relationships of it in one direction. ``loops``: it has
    self-loops. ``count``: relationships (each undirected one once). ``dense``: whether the lists of its sources, and
    those of its targets, stand in order of all vertices, so that none need be looked up.
    """

    name: str
    count: int
    undirected: bool = False
    parallel: bool = False
    loops: bool = False
    dense: tuple[bool, bool] = (True, True)


@frozen
class EdgeStatistics:
    """Relationships of one (source labels, type, target labels), any of them None for all.

    ``edges``: how many; ``sources``/``targets``: distinct ends; ``max_out``/``max_in``: largest degrees.
    Moments tell how unequal the degrees d of the sources (``out_``) and the targets (``in_``) are: ``pairs`` is the sum
    of d(d-1), ``triples`` of d(d-1)(d-2). ``lesser_squares`` (``greater_squares``) is the sum over the sources of the
    square of how many targets have a lesser (greater) id. A moment of a relation with edges is 0 where it isn't known.
    """

    edges: int
    sources: int
    targets: int
    max_out: int = 0
    max_in: int = 0
    out_pairs: float = 0.0
    out_triples: float = 0.0
    in_pairs: float = 0.0
    in_triples: float = 0.0
    lesser_squares: float = 0.0
    greater_squares: float = 0.0


@frozen
class Incidence(KeptHash):
    """Relationships of a vertex: of some ``types``, going ``out`` of it, coming ``into`` it or either way.

    Only those whose other end has the ``labels``. Undirected ones go both ways.
    """

    types: tuple[str, ...]
    out: bool
    into: bool
    labels: Labels


TriangleSide = tuple[Incidence, Incidence]
"""A pattern's relationship as the kinds that it is of, seen from its two ends."""


class SampledColumn(Protocol):
    """A property of a sample's rows; each answer is an array of truth values, one a row."""

    @property
    def values(self) -> Any:
        """The different values, ascending."""

    @property
    def codes(self) -> Any:
        """int32: the place of each row's value among ``values``, -1 for null."""

    @property
    def numbers(self) -> Any:
        """float64 where values are numbers (NaN: null), else None."""

    @property
    def missing(self) -> Any:
        """Which rows have no value."""

    def compare(self, op: str, value: Any, *, keep: bool = True) -> Any:
        """Return for which rows ``row OP value`` is true; None where values can't be compared."""

    def against(self, op: str, other: Any) -> Any:
        """Return for which rows ``row OP row of another column`` is true; None where values can't be compared."""

    def field(self, name: str) -> SampledColumn | None:
        """Return the column of a field of temporal values; None where these have none of this name."""

    def mapped(self, function: Callable[[Any], Any]) -> SampledColumn:
        """Return the column of what a function gives for each value; null for null. All are texts, or all integers."""

    def where(self, tested: Callable[[Sequence[Any]], list[bool] | None]) -> Any:
        """Return for which rows a test of the value is true, given what tells it of all ``values``; None: of none."""


class Sample(Protocol):
    """Some of the elements that a pattern's node or relationship may be, with their properties; ``size`` rows.

    ``total``: how many elements it was drawn from, about; ``size`` where it has all of them.
    """

    size: int
    total: float

    def column(self, element: str, key: str) -> SampledColumn | None:
        """Return a property of an element, None where its values can't be compared."""

    def ids(self, element: str, rows: Any) -> Any:
        """Return the ids of an element in the rows for which ``rows``, an array of truth values, is true."""

    def shuffled(self, rows: int, turn: int) -> Sample:
        """Return so many rows in another order, each turn in another one: beside each other they are independent."""

    def matched(
        self, element: str, key: str, other: Any, other_key: str, rows: int
    ) -> tuple[Sample, Sample, Any] | None:
        """Return pairs of elements of two samples whose properties are equal: some rows of both, beside each other.

        ``element``: of both samples. ``rows``: at most so many, evenly spread over all such pairs. With them
        float64[pairs], what each counts for: an element beside itself less than one, as often as it would be beside
        itself if all elements were sampled. None where values can't be compared.
        """


class CatalogView(Protocol):
    """A read-only view of one graph's schema and statistics."""

    @property
    def vertex_count(self) -> int:
        """Number of vertices."""

    @property
    def rules(self) -> Rules:
        """Declared indexes, and constraints that the graph satisfies."""

    @property
    def labels(self) -> tuple[str, ...]:
        """All labels, in the order of first appearance."""

    @property
    def relationship_types(self) -> tuple[str, ...]:
        """All relationship types, in the order of first appearance."""

    @property
    def label_sets(self) -> tuple[tuple[frozenset[str], int], ...]:
        """Each set of labels that vertices have, with how many have exactly it."""

    def has_label(self, name: str) -> bool:
        """Tell whether it is one of the labels."""

    def has_type(self, name: str) -> bool:
        """Tell whether it is one of the relationship types."""

    def relationship_type(self, name: str) -> RelationshipTypeInfo | None:
        """Return what is known of a type, None for an unknown one."""

    def property_type(self, entity: str, key: str) -> Type | None:
        """Return the type of property ``key`` of "node" or "relationship"s; ANY if mixed, None if unknown."""

    def is_key(self, key: str) -> bool:
        """Tell whether it is known that no two nodes have the same value of a property."""

    def property_keys(self, entity: str) -> tuple[str, ...]:
        """Return all property keys of "node" or "relationship"s."""

    def edge_statistics(self, source: Labels, type: str | None, target: Labels) -> EdgeStatistics:
        """Return statistics of the relationships between nodes with some labels."""

    def edges_by_label_sets(self, type: str) -> Any:
        """Return int64[pairs, 3]: places in ``label_sets`` of sources and targets, and how many relationships.

        Pairs may be there several times. Relationships of an undirected type count both ways, a self-loop once.
        """

    def acyclic(self, type: str) -> bool:
        """Tell whether no path of relationships of a directed type leads back to where it began; False if unknown."""

    def antiparallel(self, type: str) -> bool:
        """Tell whether relationships of a directed type join two different vertices both ways; True if unknown."""

    def mutual_pairs(self, type: str) -> float | None:
        """Return about how many ordered pairs of different vertices relationships of a directed type join both ways.

        None of other types, of those with parallel relationships, and where it is unknown.
        """

    def closing_odds(self, type: str, labels: Sequence[Labels]) -> float:
        """Return by how much the odds of a relationship of a type grow where it closes a triangle of such.

        ``labels``: of the three vertices. 1 where nothing is known.
        """

    def closed_wedges(self, type: str) -> float:
        """Return about how many paths of two relationships of a type have a third from their first to their last node.

        Of an undirected type, three different nodes in each of their six orders.
        """

    def mixed_closing_odds(
        self, labels: tuple[Labels, Labels, Labels], sides: tuple[TriangleSide, TriangleSide, TriangleSide]
    ) -> tuple[float, float, float]:
        """Return by how much the odds of each side of a triangle grow where the other two are, of any kinds.

        ``labels``: of the three vertices. ``sides``: of the first and second vertex, of the second and
        third, of the first and third. 1 where nothing is known.
        """

    def together(self, labels: Labels, one: Incidence, other: Incidence) -> float:
        """Return E[dd'] / E[d]E[d'] of the degrees d and d' that vertices have in two kinds of relationships.

        ``labels``: of the vertices. 1 where nothing is known: as if degrees were independent.
        """

    def degrees_of(self, nodes: Any, kind: Incidence) -> Any:
        """Return float64: how many relationships of a kind some nodes (their ids) have. None where that's not known."""

    def value_summaries(self, entity: str, key: str, owners: Any) -> tuple[ValueSummary, ...] | None:
        """Return what is known of a property's values, None where nothing is.

        Parameters
        ----------
        entity
            "node" or "relationship".
        owners
            A label expression (``plan.pattern.LabelExpr``), or None for all. There is one summary of all nodes that
            satisfy it, or one of each relationship type that does.
        """

    def node_sample(self, labels: Any, *, every: bool = False) -> Sample | None:
        """Return a sample of the nodes that satisfy a label expression (``plan.pattern.LabelExpr``, None: all).

        Its only element is "node". None where there is none. ``every``: it has all of them, None where that's too many.
        """

    def relationship_sample(
        self, type: str, source: Labels, target: Labels, *, both: bool, many: bool = False
    ) -> Sample | None:
        """Return a sample of a type's relationships between nodes with some labels.

        Its elements are "start", "relationship" and "end". ``both``: each stands in it in both directions. ``many``: a
        large sample, for what is rare. None where there is none.
        """

    def relationships_at(self, type: str, nodes: Any, element: str, other: Labels, *, both: bool) -> Sample | None:
        """Return a sample of the relationships that some nodes (their ids) have, who are its ``element``.

        That is "start" or "end"; the other end has the labels ``other``. Else as ``relationship_sample``.
        """

    def wedge_sample(
        self, labels: Labels, one: Incidence, other: Incidence, *, apart: str, many: bool = False
    ) -> Sample | None:
        """Return a sample of pairs of relationships, one of each kind, that meet at a node with some labels.

        Its elements are "first", "middle", "last", and of kinds of one type "to_first" and "to_last". ``apart``:
        what differs, "relationships", "nodes" (the outer ones) or "". ``many``: a large sample. None where there is
        none.
        """

    def closing(self, sample: Any, kind: Incidence) -> Any:
        """Return how many relationships of a kind the first node has to the last, of each pair of such a sample."""

    def joined_again(self, sample: Any, one: Incidence, other: Incidence, *, apart: bool) -> float | None:
        """Return how many pairs of relationships join the outer nodes of a pair of such a sample, on average.

        ``one``, ``other``: the kinds of the two, seen from the first and from the last node; ``labels`` of the node
        where they meet. ``apart``: that isn't the middle node of the sample's pair. None where it isn't known.
        """
