"""What executors and samplers read of a graph, and of the predicates on its elements.

A ``GraphStore`` is an ``ExecView``. Planners see a graph through ``catalog.view.CatalogView`` alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from qengine.catalog.view import CatalogView
from qengine.types import Node, Relationship

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from qengine._lru import LruCache
    from qengine.plan.expr import Expr
    from qengine.plan.pattern import Direction, LabelExpr
    from qengine.plan.physical import VertexLevel
    from qengine.storage.adjacency import Adjacency
    from qengine.storage.arrays import Array
    from qengine.storage.columns import PropertyColumn
    from qengine.storage.numbers import Numbers
    from qengine.storage.signatures import Signatures
    from qengine.storage.store import EdgeType, LabelGroup, Place


class ColumnReader(Protocol):
    """The values of one property."""

    @property
    def nbytes(self) -> int:
        """Bytes of all values."""

    def value(self, id: int) -> Any:
        """Return the value of one id."""

    def values(self, ids: Any) -> list[Any]:
        """Return the values of ids, an integer array, as Python values; None for null."""


class TypeReader(Protocol):
    """One relationship type."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def base(self) -> int:
        """The id of its first relationship."""

    @property
    def count(self) -> int:
        """How many relationships it has."""

    @property
    def undirected(self) -> bool:
        """Whether its relationships are matched both ways."""

    @property
    def property_keys(self) -> Sequence[str]:
        """Keys of the properties that its relationships have."""


class ResultReader(Protocol):
    """The part of a graph that makes result values."""

    def nodes(self, ids: Any) -> list[Node | None]:
        """Return the nodes with these ids (-1 or None: None)."""

    def relationships(self, ids: Any) -> list[Relationship | None]:
        """Return the relationships with these ids (-1 or None: None)."""


class GraphReader(ResultReader, Protocol):
    """The part of a graph that value by value evaluation and the reference executor read."""

    @property
    def vertex_count(self) -> int:
        """Number of vertices; their ids are ``0..vertex_count - 1``."""

    @property
    def node_numbers(self) -> Numbers:
        """What users see of the ids of vertices."""

    @property
    def relationship_numbers(self) -> Numbers:
        """What users see of the ids of relationships."""

    @property
    def types(self) -> Sequence[TypeReader]:
        """Relationship types; the ids of one are ``base..base + count - 1``."""

    def property_keys(self, entity: str) -> tuple[str, ...]:
        """All property keys of "node" or "relationship"s."""

    def labels_of(self, vertex: int) -> tuple[str, ...]:
        """Labels of a vertex."""

    def node_property(self, key: str) -> ColumnReader | None:
        """Values of one property of the nodes; None for an unknown key."""

    def relationship_property(self, type_index: int, key: str) -> ColumnReader | None:
        """Values of one property of one type's relationships, by id within the type; None for an unknown key."""

    def type_of(self, relationship_ids: Any) -> Any:
        """Return the type indices int32[n] of relationships int64[n]."""

    def endpoints(self, relationship_ids: Any) -> tuple[Any, Any]:
        """Return start and end vertices, uint32[n] each, of relationships int64[n]."""


class ExecView(CatalogView, GraphReader, Protocol):
    """All that executors over columns and kernels read: ranges of labels, lists of neighbours, property columns."""

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays, with those that are derived and kept."""

    @property
    def derived(self) -> LruCache[Any]:
        """What executions have computed of the graph alone, each with ``nbytes``; they may add to it."""

    def made_of(self, key: str) -> ExecView | None:
        """Return the version before, while it is there, if this one can follow its indexes of a property of nodes."""

    def follow_index(self, place: Place, before: Any) -> Any:
        """Return an index that follows that of ``made_of``; None where there is none, or too much differs."""

    @property
    def groups(self) -> tuple[LabelGroup, ...]:
        """The ranges of vertices with exactly the same labels, ascending; they cover all ids."""

    @property
    def types(self) -> tuple[EdgeType, ...]:
        """Relationship types with their places in the id space."""

    @property
    def signatures(self) -> Signatures:
        """What kinds of neighbours each vertex has, computed when first asked for."""

    def label_ranges(self, expr: LabelExpr | None) -> Array:
        """Return the ids that satisfy a label expression as merged ranges ``[begin, end)``: uint32[k, 2], read-only."""

    def group_labels(self, group: int) -> tuple[str, ...]:
        """Return the labels of the ``group``-th of ``groups`` in the order of ``labels``."""

    def node_property(self, key: str) -> PropertyColumn | None:
        """Return a node property's column, None where no node has it."""

    def type_index(self, name: str) -> int | None:
        """Return the index of a relationship type, None for an unknown one."""

    def matching_types(self, expr: LabelExpr | None) -> tuple[int, ...]:
        """Return the indices of the types that satisfy a label expression over the type, ascending."""

    def adjacency(self, type_index: int, direction: Direction) -> Adjacency:
        """Return a type's stored adjacency: OUT, and IN of a directed type or BOTH of an undirected one."""

    def relationship_property(self, type_index: int, key: str) -> PropertyColumn | None:
        """Return the column of a relationship property by id within the type, None where the type lacks it."""


class MaskProvider(Protocol):
    """Evaluates the predicates of one variable over a range of ids.

    A mask, its bits and places are NumPy arrays, of bool, uint8 and uint32, or the same on a device (``OnDevice``).
    """

    def count(self, mask: Any) -> int:
        """Return how many truth values are true."""

    def bits(self, mask: Any) -> Any:
        """Return truth values as bits, padded to whole 64-bit words."""

    def places(self, mask: Any, first: int) -> Any:
        """Return where they are true, counted from ``first``, ascending."""

    def vertex_list(self, level: VertexLevel, ranges: Sequence[Sequence[int]]) -> npt.NDArray[np.int64] | None:
        """Return the vertices, ascending, of a level's ranges that satisfy its predicates, where indexes find few."""

    def scanned(self, level: VertexLevel) -> None:
        """Take note that a mask was made for a level which admits few vertices."""

    def vertex_mask(self, name: str, predicates: tuple[Expr, ...], begin: int, end: int) -> Any:
        """Return for each vertex of ``[begin, end)`` whether all predicates are true."""

    def mask_within(
        self, name: str, predicates: tuple[Expr, ...], ranges: Sequence[Sequence[int]], begin: int, end: int
    ) -> Any:
        """Return for each vertex of ``[begin, end)`` whether it is in one of some ranges and satisfies predicates."""

    def edge_mask(self, name: str, predicates: tuple[Expr, ...], type_index: int, begin: int, end: int) -> Any:
        """Return the same for the relationships of a type with local ids ``[begin, end)``."""
