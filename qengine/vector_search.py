"""The elements whose vectors are most like one: ``CALL db.index.vector.queryNodes(index, count, vector)``.

A VECTOR index says of what label and property, and how vectors are compared. The search is exact: the vectors of the
index are one matrix, laid out once a version of the graph, and all of them are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from qengine.errors import ExecutionError
from qengine.plan.pattern import LabelIs

if TYPE_CHECKING:
    from qengine.catalog.rules import Rule
    from qengine.exec.scalar.scored import ScoredElements
    from qengine.storage.store import GraphStore

__all__ = ["NODES", "RELATIONSHIPS", "nearest_elements"]

_INPUTS = "(indexName :: STRING, numberOfNearestNeighbours :: INTEGER, query :: LIST<ANY>)"
NODES = f"db.index.vector.queryNodes{_INPUTS} :: (node :: NODE, score :: FLOAT)"
RELATIONSHIPS = f"db.index.vector.queryRelationships{_INPUTS} :: (relationship :: RELATIONSHIP, score :: FLOAT)"

_PIECE = 1 << 16
"""Elements whose vectors are read, or compared, between two looks whether to stop."""


class _Vectors:
    """The elements of an index that have a vector of so many dimensions: their ids, and the vectors as rows of doubles.

    ``squares``: float64[n], the square of each vector's length.
    """

    __slots__ = ("ids", "matrix", "nbytes", "squares")

    def __init__(self, parts: Iterator[tuple[Any, Any, int]], dimension: int, check: Callable[[], None]) -> None:
        import numpy as np

        ids, rows = [np.zeros(0, np.int64)], [np.zeros((0, dimension))]
        for column, (begin, end), first in parts:
            for low in range(begin, end, _PIECE):
                check()
                places, found = _read(column.slice(low, min(end, low + _PIECE)), dimension)
                ids.append(places + (low + first))
                rows.append(found)
        self.ids, self.matrix = np.concatenate(ids), np.concatenate(rows)
        self.squares = np.einsum("ij,ij->i", self.matrix, self.matrix)
        self.nbytes = self.ids.nbytes + self.matrix.nbytes + self.squares.nbytes


def _read(array: Any, dimension: int) -> tuple[Any, Any]:
    """Return the places that have a vector of so many dimensions, and the vectors as rows."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    from qengine.temporal.arrow import to_values

    kind = array.type
    if (pa.types.is_list(kind) or pa.types.is_large_list(kind)) and (
        pa.types.is_floating(kind.value_type) or pa.types.is_integer(kind.value_type)
    ):
        fits = pc.fill_null(pc.equal(pc.list_value_length(array), dimension), False)
        places = np.flatnonzero(np.asarray(fits))
        numbers = pc.list_flatten(array.take(pa.array(places)))
        if not numbers.null_count:
            return places, np.asarray(numbers, np.float64).reshape(-1, dimension)
    found = [
        (place, value)
        for place, value in enumerate(to_values(array))
        if type(value) is list and len(value) == dimension and all(type(each) in (int, float) for each in value)
    ]
    matrix = np.array([value for _, value in found], np.float64).reshape(-1, dimension)
    return np.array([place for place, _ in found], np.int64), matrix


def nearest_elements(
    store: GraphStore, check: Callable[[], None], entity: str, index: str, count: int, query: Sequence[Any]
) -> ScoredElements:
    """Return the elements most like a vector with their scores, best first; of equal ones the older first.

    Parameters
    ----------
    store
        The version of the graph.
    check
        Raises where the execution must stop.
    entity, index
        "NODE" or "RELATIONSHIP", and the name of a VECTOR index of such.
    count
        How many at most, at least 1.
    query
        Numbers; elements whose vectors have more or fewer are left out.

    Raises
    ------
    ExecutionError
        ``InvalidArgumentValue`` where there is no such index, and for a count or a vector that is none.
    """
    rule = _rule(store, index, entity)
    vector = _checked(count, query)

    def of_nodes() -> Iterator[tuple[Any, Any, int]]:
        column = store.node_property(rule.keys[0])
        for begin, end in store.label_ranges(LabelIs(rule.label)).tolist() if column is not None else ():
            yield column, (begin, end), 0

    def of_relationships() -> Iterator[tuple[Any, Any, int]]:
        type = store.type_index(rule.label)
        column = None if type is None else store.relationship_property(type, rule.keys[0])
        if type is not None and column is not None:
            yield column, (0, store.types[type].count), store.types[type].base

    ids, scores = _best(store, check, rule, of_nodes if rule.of_nodes else of_relationships, vector, count)
    numbers = store.node_numbers if rule.of_nodes else store.relationship_numbers
    from qengine.exec.scalar.scored import ScoredElements  # not when qengine is imported

    return ScoredElements(rule.of_nodes, numbers.of(ids), scores)


def _rule(store: GraphStore, name: str, entity: str) -> Rule:
    rule = store.rules.named(name)
    if rule is None or rule.kind != "VECTOR" or rule.entity != entity:
        kinds = "nodes" if entity == "NODE" else "relationships"
        hint = "SHOW INDEXES lists those that there are; CREATE VECTOR INDEX name FOR (n:Label) ON n.key makes one."
        raise ExecutionError(f"There is no VECTOR index {name!r} of {kinds}.", code="InvalidArgumentValue", hint=hint)
    return rule


def _checked(count: int, query: Sequence[Any]) -> list[float]:
    if count < 1:
        raise ExecutionError("At least 1 neighbour must be asked for.", code="InvalidArgumentValue")
    if not query or any(type(number) not in (int, float) for number in query):
        raise ExecutionError("A vector is a list of numbers that isn't empty.", code="InvalidArgumentValue")
    return list(map(float, query))


def _best(
    store: GraphStore,
    check: Callable[[], None],
    rule: Rule,
    parts: Callable[[], Iterator[tuple[Any, Any, int]]],
    vector: list[float],
    count: int,
) -> tuple[Any, Any]:
    """Return the ids (int64) of the elements with the best scores, and these (float64)."""
    import numpy as np

    place = ("vectors", rule.entity, rule.label, rule.keys, len(vector))
    vectors = store.derived.get(place, lambda: _Vectors(parts(), len(vector), check))
    query = np.array(vector)
    square = float(query @ query)
    scores = np.empty(len(vectors.ids))
    with np.errstate(divide="ignore", invalid="ignore"):
        for low in range(0, len(scores), _PIECE):
            check()
            some = slice(low, low + _PIECE)
            if rule.type == "EUCLIDEAN":
                apart = vectors.matrix[some] - query
                scores[some] = 1 / (1 + np.einsum("ij,ij->i", apart, apart))
            else:
                lengths = np.sqrt(vectors.squares[some] * square)
                scores[some] = (1 + np.clip(vectors.matrix[some] @ query / lengths, -1, 1)) / 2
    known = np.flatnonzero(~np.isnan(scores))  # a vector of length 0 is like none by the cosine
    if count < len(known):
        known = known[np.argpartition(-scores[known], count - 1)]
        least = scores[known[count - 1]]
        known = np.flatnonzero(scores >= least)
    order = known[np.lexsort((vectors.ids[known], -scores[known]))][:count]
    return vectors.ids[order], scores[order]
