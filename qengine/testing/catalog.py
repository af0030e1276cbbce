"""A catalogue written by hand: a graph's schema without a graph, for tests of the stages that only plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from qengine.catalog.view import EdgeStatistics, Incidence, Labels, RelationshipTypeInfo, TriangleSide
from qengine.plan.pattern import LabelExpr
from qengine.types import FLOAT, INTEGER, STRING, Type, list_of


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)  # known by identity, as a graph is
class WrittenCatalog:
    """A ``CatalogView`` of what its fields say; every count in it is made up, but always the same."""

    labels: tuple[str, ...] = ()
    types: tuple[RelationshipTypeInfo, ...] = ()
    node_properties: Mapping[str, Type] = field(default_factory=dict)
    relationship_properties: Mapping[str, Type] = field(default_factory=dict)
    vertex_count: int = 100

    @property
    def relationship_types(self) -> tuple[str, ...]:
        """All relationship types."""
        return tuple(info.name for info in self.types)

    @property
    def label_sets(self) -> tuple[tuple[frozenset[str], int], ...]:
        """Each label alone, on equally many vertices."""
        return tuple((frozenset((label,)), self.vertex_count // len(self.labels)) for label in self.labels)

    def has_label(self, name: str) -> bool:
        """Tell whether it is one of the labels."""
        return name in self.labels

    def has_type(self, name: str) -> bool:
        """Tell whether it is one of the relationship types."""
        return name in self.relationship_types

    def relationship_type(self, name: str) -> RelationshipTypeInfo | None:
        """Return what is known of a type."""
        return next((info for info in self.types if info.name == name), None)

    def property_type(self, entity: str, key: str) -> Type | None:
        """Return a property's type, None for an unknown one."""
        return self._properties(entity).get(key)

    def property_keys(self, entity: str) -> tuple[str, ...]:
        """Return all property keys."""
        return tuple(self._properties(entity))

    def edge_statistics(self, source: Labels, type: str | None, target: Labels) -> EdgeStatistics:
        """Return the same numbers for all pairs of labels."""
        count = sum(info.count for info in self.types if type in (None, info.name))
        return EdgeStatistics(count, count, count, 1, 1)

    def edges_by_label_sets(self, type: str) -> Any:
        """Return as many relationships between any two labels."""
        labels, count = len(self.labels), sum(info.count for info in self.types if type == info.name)
        return np.array(
            [(one, other, max(count // labels**2, 1)) for one in range(labels) for other in range(labels)]
        ).reshape(-1, 3)

    def acyclic(self, type: str) -> bool:
        """Return False: any type may lead back to where a path began."""
        return False

    def antiparallel(self, type: str) -> bool:
        """Return True: any two vertices may be joined both ways."""
        return True

    def mutual_pairs(self, type: str) -> float | None:
        """Return None: it is not known."""
        return None

    def closing_odds(self, type: str, labels: Sequence[Labels]) -> float:
        """Return 1: triangles are as frequent as if relationships were independent."""
        return 1.0

    def mixed_closing_odds(
        self, labels: tuple[Labels, Labels, Labels], sides: tuple[TriangleSide, TriangleSide, TriangleSide]
    ) -> tuple[float, float, float]:
        """Return 1 for each: triangles are as frequent as if relationships were independent."""
        return 1.0, 1.0, 1.0

    def together(self, labels: Labels, one: Incidence, other: Incidence) -> float:
        """Return 1: degrees are independent."""
        return 1.0

    def degrees_of(self, nodes: Any, kind: Incidence) -> None:
        """Return None: there are no nodes."""
        return None

    def value_summaries(self, entity: str, key: str, owners: LabelExpr | None) -> None:
        """Return None: nothing is known of the values."""
        return None

    def node_sample(self, labels: LabelExpr | None, *, every: bool = False) -> None:
        """Return None: there are no nodes."""
        return None

    def relationship_sample(self, type: str, source: Labels, target: Labels, *, both: bool, many: bool = False) -> None:
        """Return None: there are no relationships."""
        return None

    def relationships_at(self, type: str, nodes: Any, element: str, other: Labels, *, both: bool) -> None:
        """Return None: there are no relationships."""
        return None

    def wedge_sample(self, labels: Labels, one: Incidence, other: Incidence, *, apart: str, many: bool = False) -> None:
        """Return None: there are no relationships."""
        return None

    def closing(self, sample: Any, kind: Incidence) -> None:
        """Return None: there are no relationships."""
        return None

    def joined_again(self, sample: Any, one: Incidence, other: Incidence, *, apart: bool) -> None:
        """Return None: there are no relationships."""
        return None

    def _properties(self, entity: str) -> Mapping[str, Type]:
        return self.node_properties if entity == "node" else self.relationship_properties


SOCIAL = WrittenCatalog(
    labels=("Person", "City", "Country"),
    types=(
        RelationshipTypeInfo("knows", 500),
        RelationshipTypeInfo("lives_in", 60),
        RelationshipTypeInfo("borders", 20, undirected=True),
    ),
    node_properties={
        "name": STRING,
        "age": INTEGER,
        "height": FLOAT,
        "code": STRING,
        "population": INTEGER,
        "tags": list_of(STRING),
    },
    relationship_properties={"since": INTEGER, "weight": FLOAT, "note": STRING},
)
