"""What is noted of each pattern whose order is chosen, where someone asks: its parts, and the rows they should have."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from qengine._frozen import frozen
from qengine.optimizer.order import CostModel
from qengine.optimizer.order_problem import mask_of
from qengine.plan.expr import Expr
from qengine.plan.pattern import PatternNode, PatternRelationship, QueryGraph
from qengine.plan.traverse import free_variables


@frozen
class NotedOrder:
    """A pattern that was ordered. ``conditions``: on two of its nodes. ``numbers``: of its nodes, in the model."""

    nodes: Mapping[str, PatternNode]
    relationships: tuple[PatternRelationship, ...]
    conditions: tuple[Expr, ...]
    numbers: Mapping[str, int]
    model: CostModel

    def rows(self, names: Collection[str]) -> float:
        """Return the embeddings that the part between some of its nodes is expected to have."""
        return self.model.rows(mask_of(self.numbers[name] for name in names))

    def part(self, names: Collection[str]) -> QueryGraph:
        """Return the part between some of its nodes, with the conditions that are on these alone."""
        within = frozenset(names)
        return QueryGraph(
            tuple(node for name, node in self.nodes.items() if name in within),
            tuple(each for each in self.relationships if within.issuperset((each.start, each.end))),
            predicates=tuple(each for each in self.conditions if free_variables(each) <= within),
        )


_NOTES: ContextVar[list[NotedOrder] | None] = ContextVar("orders that are noted", default=None)


@contextmanager
def noted_orders() -> Iterator[list[NotedOrder]]:
    """Note in a list the orders that are chosen meanwhile, of patterns that begin without input rows."""
    notes: list[NotedOrder] = []
    token = _NOTES.set(notes)
    try:
        yield notes
    finally:
        _NOTES.reset(token)


def note_order() -> list[NotedOrder] | None:
    """Return where orders are to be noted, None where nobody asks."""
    return _NOTES.get()
