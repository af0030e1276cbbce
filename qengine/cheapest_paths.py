"""Cheapest paths by a relationship's property: ``CALL paths.cheapest(start, end, {…})``.

Dijkstra's algorithm over the relationships of some types, laid out once a version of the graph.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from qengine._frozen import frozen
from qengine.errors import ExecutionError
from qengine.plan.pattern import Direction
from qengine.types import Node, Path, Relationship

if TYPE_CHECKING:
    from qengine.storage.store import GraphStore

SIGNATURE = "paths.cheapest(start :: NODE, end :: NODE?, options :: MAP) :: (path :: PATH, cost :: FLOAT)"

_OPTIONS = ("default", "direction", "types", "weight")
_POLLED = 1024  # nodes between two looks whether to stop


@frozen
class _Question:
    """What may be walked, and what it costs: ``weight`` None: each relationship costs the default."""

    types: tuple[str, ...]
    weight: str | None
    default: float | None
    direction: Direction


class _Lists:
    """How each vertex v can be left: ends, relationships and costs from ``offsets[v]`` to ``offsets[v + 1]``."""

    __slots__ = ("costs", "ends", "ids", "nbytes", "offsets")

    def __init__(self, store: GraphStore, question: _Question) -> None:
        import numpy as np

        starts: list[Any] = []
        ends: list[Any] = []
        ids: list[Any] = []
        costs: list[Any] = []
        for index, kind in enumerate(store.types):
            if question.types and kind.name not in question.types:
                continue
            every = np.arange(kind.base, kind.base + kind.count, dtype=np.int64)
            cost = _costs(store, index, kind.count, question)
            kept = ~np.isnan(cost)
            every, cost = every[kept], cost[kept]
            begin, end = (np.asarray(each, np.int64) for each in store.endpoints(every))
            both = kind.undirected or question.direction is Direction.BOTH
            if both or question.direction is Direction.OUT:
                starts, ends, ids, costs = [*starts, begin], [*ends, end], [*ids, every], [*costs, cost]
            if both or question.direction is Direction.IN:
                starts, ends, ids, costs = [*starts, end], [*ends, begin], [*ids, every], [*costs, cost]
        none = [np.zeros(0, np.int64)]
        start = np.concatenate([*none, *starts])
        order = np.argsort(start, kind="stable")
        counts = np.bincount(start, minlength=store.vertex_count)
        self.offsets = np.concatenate([[0], np.cumsum(counts)])
        self.ends = np.concatenate([*none, *ends])[order]
        self.ids = np.concatenate([*none, *ids])[order]
        self.costs = np.concatenate([np.zeros(0), *costs])[order]
        self.nbytes = 8 * (len(self.offsets) + 3 * len(self.ids))


def _costs(store: GraphStore, index: int, count: int, question: _Question) -> Any:
    """Return what each relationship of a type costs, as doubles; NaN where it can't be walked."""
    import numpy as np

    costs = np.full(count, np.nan if question.default is None else question.default)
    column = None if question.weight is None else store.relationship_property(index, question.weight)
    if column is None:
        return costs
    for place, value in enumerate(column.values(np.arange(count, dtype=np.int64))):
        if value is None:
            continue
        if type(value) not in (int, float) or not value >= 0:
            raise _wrong(f"A relationship has {value!r} as `{question.weight}`: costs are numbers from 0 on.")
        costs[place] = value
    return costs


def cheapest_paths(
    store: GraphStore, check: Callable[[], None], start: Node, end: Node | None, options: Mapping[str, Any]
) -> Iterator[tuple[Path, float]]:
    """Give the cheapest path between two nodes with its cost, or the cheapest to each node that is reached.

    Parameters
    ----------
    store
        The version of the graph.
    check
        Raises where the execution must stop.
    end
        None for all nodes, which come by their cost; the start is the first, at a cost of 0.
    options
        ``weight``: the property that says what a relationship costs; without, each costs 1. ``default``: the cost where
        it has none; without, it isn't walked. ``types``: a list of names; all without. ``direction``: "OUT" (as
        without), "IN" or "BOTH".

    Raises
    ------
    ExecutionError
        ``InvalidArgumentValue`` for other options, and costs that are no numbers from 0 on.
    """
    question = _question(options)
    key = ("cheapest", question.types, question.weight, question.default, question.direction)
    lists = store.derived.get(key, lambda: _Lists(store, question))
    numbers = [start.id] if end is None else [start.id, end.id]
    places = store.node_numbers.places(numbers).tolist()
    for vertex, cost, taken in _settled(places[0], lists, check):
        if end is None or vertex == places[-1]:
            yield _path(store, places[0], vertex, taken), cost
            if end is not None:
                return


def _settled(start: int, lists: _Lists, check: Callable[[], None]) -> Iterator[tuple[int, float, dict[int, Any]]]:
    """Give each vertex once its cost is known, and from where and by what relationship each has been reached so far."""
    offsets, ends, ids, costs = lists.offsets, lists.ends, lists.ids, lists.costs
    reached: dict[int, tuple[int, int]] = {}
    best = {start: 0.0}
    done: set[int] = set()
    waiting: list[tuple[float, int]] = [(0.0, start)]
    while waiting:
        cost, vertex = heapq.heappop(waiting)
        if vertex in done:
            continue
        done.add(vertex)
        if not len(done) % _POLLED:
            check()
        yield vertex, cost, reached
        span = slice(int(offsets[vertex]), int(offsets[vertex + 1]))
        for end, id, more in zip(ends[span].tolist(), ids[span].tolist(), costs[span].tolist(), strict=True):
            whole = cost + more
            if end not in done and whole < best.get(end, float("inf")):
                best[end] = whole
                reached[end] = vertex, id
                heapq.heappush(waiting, (whole, end))


def _path(store: GraphStore, start: int, end: int, reached: dict[int, tuple[int, int]]) -> Path:
    vertices, edges = [end], []
    while vertices[-1] != start:
        before, edge = reached[vertices[-1]]
        vertices.append(before)
        edges.append(edge)
    nodes: tuple[Any, ...] = tuple(store.nodes(vertices[::-1]))
    return Path(nodes, tuple(cast("list[Relationship]", store.relationships(edges[::-1]))))


def _question(options: Mapping[str, Any]) -> _Question:
    if unknown := sorted(options.keys() - set(_OPTIONS)):
        raise _wrong(f"paths.cheapest() has no option `{unknown[0]}`.")
    types = options.get("types") or []
    types = [types] if isinstance(types, str) else types
    weight, default, direction = options.get("weight"), options.get("default"), options.get("direction") or "OUT"
    if not all(isinstance(each, str) for each in types) or not isinstance(weight, str | None):
        raise _wrong("paths.cheapest() takes names of types as `types`, and of a property as `weight`.")
    if direction not in Direction.__members__:
        raise _wrong('paths.cheapest() takes "OUT", "IN" or "BOTH" as `direction`.')
    if default is None and weight is None:
        default = 1.0
    if default is not None and (type(default) not in (int, float) or not default >= 0):
        raise _wrong("paths.cheapest() takes a number from 0 on as `default`.")
    cost = None if default is None else float(default)
    return _Question(tuple(dict.fromkeys(types)), weight, cost, Direction[direction])


def _wrong(message: str) -> ExecutionError:
    return ExecutionError(
        message,
        code="InvalidArgumentValue",
        hint=f"Options are {', '.join(_OPTIONS)}: {{weight: 'km', types: ['ROAD']}}.",
    )
