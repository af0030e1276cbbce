"""The elements whose vectors are most like one: ``CALL db.index.vector.queryNodes(index, count, vector)``.

A VECTOR index says of what label and property, and how vectors are compared. The search is exact: all vectors are
compared. They are matrices, of which later versions lay out what was touched (``qengine.storage.segments``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from qengine.errors import ExecutionError

if TYPE_CHECKING:
    from qengine.catalog.rules import Rule
    from qengine.exec.context import ExecutionContext
    from qengine.exec.memory import Holding
    from qengine.exec.scalar.scored import ScoredElements
    from qengine.storage.segments import Segment
    from qengine.storage.store import GraphStore

_INPUTS = "(indexName :: STRING, numberOfNearestNeighbours :: INTEGER, query :: LIST<ANY>)"
NODES = f"db.index.vector.queryNodes{_INPUTS} :: (node :: NODE, score :: FLOAT)"
RELATIONSHIPS = f"db.index.vector.queryRelationships{_INPUTS} :: (relationship :: RELATIONSHIP, score :: FLOAT)"

_PIECE = 1 << 16
"""Elements whose vectors are read, or compared, between two looks whether to stop."""


class _Vectors:
    """The elements of an index that have a vector of so many dimensions, in segments.

    The fields of each: the vectors as rows of doubles, and the square of each one's length (float64).
    """

    __slots__ = ("segments",)

    def __init__(self, segments: Iterator[Segment] | Sequence[Segment]) -> None:
        self.segments = tuple(each for each in segments if each.count)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(each.nbytes for each in self.segments)

    @property
    def count(self) -> int:
        """How many elements have a vector."""
        return sum(each.count for each in self.segments)


def _laid_out(
    store: GraphStore, rule: Rule, dimension: int, numbers: Any, holding: Holding, check: Callable[[], None]
) -> Segment:
    """Return the vectors of the elements of some numbers (int64), or of all elements, as a segment."""
    import numpy as np

    from qengine.storage.segments import Segment, pieces

    ids, rows = [np.zeros(0, np.int64)], [np.zeros((0, dimension))]
    for some, (column,) in pieces(store, rule, numbers, _PIECE):
        check()
        places, found = _read(column, dimension)
        holding.add(2 * found.nbytes)  # also while they become one
        ids.append(some[places])
        rows.append(found)
    matrix = np.concatenate(rows)
    known = store.node_numbers if rule.of_nodes else store.relationship_numbers
    numbers = np.asarray(known.of(np.concatenate(ids)), np.int64)
    return Segment(numbers, (matrix, np.einsum("ij,ij->i", matrix, matrix)))


def _vectors(store: GraphStore, context: ExecutionContext, rule: Rule, dimension: int) -> _Vectors:
    """Return the vectors of an index, made of those of the version before where it had them."""

    def make(before: _Vectors | None, touched: Any) -> _Vectors:
        from qengine.storage.segments import following

        kept, again = ([], None) if before is None else following(before.segments, touched)
        with context.memory.holding(f"The VECTOR index {rule.name}") as holding:
            return _Vectors((*kept, _laid_out(store, rule, dimension, again, holding, context.check)))

    found: _Vectors = store.kept.get((rule.meaning, dimension), make)
    return found


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
    store: GraphStore, context: ExecutionContext, entity: str, index: str, count: int, query: Sequence[Any]
) -> ScoredElements:
    """Return the elements most like a vector with their scores, best first; of equal ones the older first.

    Parameters
    ----------
    store
        The version of the graph.
    context
        The execution's limits.
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
    OutOfMemory
        Where the vectors take more than the memory limit.
    """
    rule = _rule(store, index, entity)
    vector = _checked(count, query)

    vectors = _vectors(store, context, rule, len(vector))
    numbers, scores = _best(store, rule, vectors, vector, count, context.check)
    from qengine.exec.scalar.scored import ScoredElements  # not when qengine is imported

    return ScoredElements(rule.of_nodes, numbers, scores)


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
    store: GraphStore, rule: Rule, vectors: _Vectors, vector: list[float], count: int, check: Callable[[], None]
) -> tuple[Any, Any]:
    """Return the numbers (int64) of the elements with the best scores, and these (float64)."""
    import numpy as np

    query = np.array(vector)
    numbers, scores = [np.zeros(0, np.int64)], [np.zeros(0)]
    for segment in vectors.segments:
        found = _scores(segment, query, euclidean=rule.type == "EUCLIDEAN", check=check)
        if segment.alive is not None:
            found[~segment.alive] = np.nan
        known = np.flatnonzero(~np.isnan(found))  # a vector of length 0 is like none by the cosine
        if count < len(known):
            best = known[np.argpartition(-found[known], count - 1)]
            known = np.flatnonzero(found >= found[best[count - 1]])
        numbers.append(segment.numbers[known])
        scores.append(found[known])
    of, score = np.concatenate(numbers), np.concatenate(scores)
    ids = (store.node_numbers if rule.of_nodes else store.relationship_numbers).places(of)
    order = np.lexsort((ids, -score))[:count]
    return of[order], score[order]


def _scores(segment: Segment, query: Any, *, euclidean: bool, check: Callable[[], None]) -> Any:
    """Return how much each vector of a segment is like one (float64); NaN where that isn't defined."""
    import numpy as np

    matrix, squares = segment.fields
    square = float(query @ query)
    scores = np.empty(len(matrix))
    with np.errstate(divide="ignore", invalid="ignore"):
        for low in range(0, len(scores), _PIECE):
            check()
            some = slice(low, low + _PIECE)
            if euclidean:
                apart = matrix[some] - query
                scores[some] = 1 / (1 + np.einsum("ij,ij->i", apart, apart))
            else:
                lengths = np.sqrt(squares[some] * square)
                scores[some] = (1 + np.clip(matrix[some] @ query / lengths, -1, 1)) / 2
    return scores
