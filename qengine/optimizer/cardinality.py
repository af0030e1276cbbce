"""Cardinalities from statistics: candidates of a node, fan-out of a relationship, size of an extension.

Label pairs are taken as they are in the graph; everything else is assumed independent. Estimates only order
alternatives: they never decide whether a plan is right.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from qengine.catalog.view import CatalogView
from qengine.optimizer.labels import vertex_count
from qengine.optimizer.pattern_edges import PatternEdge
from qengine.plan.expr import Call, Comparison, Expr, Literal, Parameter, Property
from qengine.plan.pattern import Direction, PatternNode, certain_label

_RANGE = 0.3
_EQUALITY = 0.1
_OTHER = 0.5


@dataclass(slots=True)
class Cardinality:
    """Estimates over one catalogue and one pattern; remembers what it has looked up."""

    catalog: CatalogView
    nodes: dict[str, PatternNode]
    _labelled: dict[str, float] = field(default_factory=dict)
    _candidates: dict[str, float] = field(default_factory=dict)
    _probability: dict[str, float] = field(default_factory=dict)

    def labelled(self, name: str) -> float:
        """Return how many vertices have the node's labels."""
        if name not in self._labelled:
            self._labelled[name] = float(vertex_count(self.catalog, self.nodes[name].labels))
        return self._labelled[name]

    def candidates(self, name: str) -> float:
        """Return the expected number of candidates |C(u)| of a node: by labels and own predicates."""
        if name not in self._candidates:
            count = self.labelled(name)
            for predicate in self.nodes[name].predicates:
                count *= self._selectivity(predicate, "node")
            self._candidates[name] = max(count, 1e-3)
        return self._candidates[name]

    def probability(self, edge: PatternEdge) -> float:
        """Return how likely two vertices with the labels of the edge's ends are joined by a match of it."""
        if edge.name not in self._probability:
            start, end = edge.ends
            edges = self._edges(edge)
            for predicate in edge.relationship.predicates:
                edges *= self._selectivity(predicate, "relationship")
            pairs = max(self.labelled(start), 1.0) * max(self.labelled(end), 1.0)
            self._probability[edge.name] = max(min(edges / pairs, 1.0), 1e-12)
        return self._probability[edge.name]

    def fan_out(self, edge: PatternEdge, origin: str) -> float:
        """Return the mean number of neighbours over the edge of a vertex that can match its end ``origin``."""
        start, end = edge.ends
        return self.probability(edge) * max(self.labelled(end if origin == start else start), 1.0)

    def _edges(self, edge: PatternEdge) -> float:
        source, target = (certain_label(self.nodes[name].labels) for name in edge.ends)
        total = 0
        for info in edge.types:
            total += self.catalog.edge_statistics(source, info.name, target).edges
            if not info.undirected and edge.relationship.direction is Direction.BOTH:
                total += self.catalog.edge_statistics(target, info.name, source).edges
        return float(total)

    def _selectivity(self, predicate: Expr, entity: str) -> float:
        match predicate:
            case (
                Comparison(ops=("=",), args=(Property(key=key), Literal() | Parameter()))
                | Comparison(ops=("=",), args=(Literal() | Parameter(), Property(key=key)))
            ):
                distinct = self.catalog.distinct_values(entity, key)
                return 1.0 / distinct if distinct else _EQUALITY
            case Comparison(ops=ops) if "=" not in ops and "<>" not in ops:
                return _RANGE
            case Call(name="IN" | "STARTS WITH" | "CONTAINS" | "ENDS WITH" | "=~"):
                return _EQUALITY
            case _:
                return _OTHER
