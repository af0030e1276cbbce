"""Whether a route of a pattern leads from its root to any of some nodes of a version.

The root is followed while its lists are short, then both ends until they meet, each time that whose lists are shorter.
What would read much isn't followed: then they may meet.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from typing import Any

import numpy as np

from qengine.exec.common.access import hash_index, note_scan
from qengine.exec.common.columns import numbers_from
from qengine.exec.context import ExecutionContext
from qengine.plan.access import HASH
from qengine.plan.expr import Expr, ListOf, Literal, Parameter
from qengine.plan.pattern import Direction, LabelExpr
from qengine.plan.read_set import Copied, Root, Route, Step
from qengine.storage.adjacency import Adjacency
from qengine.storage.arrays import Array
from qengine.storage.store import GraphStore

_MOST = 5_000  # entries of lists that are read
_MOST_ROOTS = 256  # nodes that a root may be
_FEW = 1_000  # entries that are read without a look at how many there are the other way
_NONE = np.empty(0, np.int64)

_Located = list[tuple[Adjacency, Array, Array]]  # lists, and where in them those of some nodes begin and end


class Unknown(Exception):
    """What a root is can't be told here."""


class Meeting:
    """Follows routes through a version. ``values``: of parameters; ``context``: the limits of who asks."""

    def __init__(self, store: GraphStore, values: Mapping[str, Any], context: ExecutionContext) -> None:
        self._store, self._values, self._context = store, values, context
        self._left = _MOST
        self._wanted: dict[Root, frozenset[int | str]] = {}
        self._nodes: dict[Root, Array] = {}

    def wanted(self, root: Root) -> frozenset[int | str]:
        """Return the values of a root's properties.

        Raises
        ------
        Unknown
            Where these are no integers or strings, or many.
        """
        found = self._wanted.get(root)
        if found is None:
            values = [value for probe in root.probes for value in self._value(probe.value, listed=probe.op == "IN")]
            if len(values) > _MOST_ROOTS or any(type(value) not in (int, str) for value in values):
                raise Unknown
            found = self._wanted[root] = frozenset(values)
        return found

    def _value(self, expr: Expr, *, listed: bool) -> list[Any]:
        """Return the values that a property may equal; no null, which nothing equals."""
        match expr:
            case Literal(value=value):
                pass
            case Parameter(name=name) if name in self._values:
                value = self._values[name]
            case ListOf(items=items) if listed:
                return [value for item in items for value in self._value(item, listed=False)]
            case _:
                raise Unknown
        if value is None:
            return []
        if not listed:
            return [value]
        if not isinstance(value, list | tuple) or len(value) > _MOST_ROOTS:
            raise Unknown
        return [item for item in value if item is not None]

    def _root(self, root: Root) -> Array:
        """Return the nodes that a root is (int64, ascending); errors as ``wanted``."""
        if (known := self._nodes.get(root)) is not None:
            return known
        found: set[int] = set()
        for key in {probe.key for probe in root.probes}:
            for value in self.wanted(root):
                found.update(self._having(key, value))
                if len(found) > _MOST_ROOTS:
                    raise Unknown
        labels = self._store.label_set
        ids = [each for each in sorted(found) if all(condition.admits(labels(each)) for condition in root.labels)]
        nodes = self._nodes[root] = np.array(ids, np.int64)
        return nodes

    def _having(self, key: str, value: int | str) -> Sequence[int]:
        """Return the nodes that have a value of a property.

        Raises
        ------
        Unknown
            Where that has no index yet.
        """
        index = hash_index(self._store, key, self._context)
        if index is not None:
            return index.few(value, self._context)
        if self._store.node_property(key) is None:
            return ()
        note_scan(self._store, HASH, key)
        raise Unknown

    def is_there(self, copied: Copied, value: int | str) -> bool:
        """Tell whether a node that rows may have has a value of the property that is copied; errors as ``wanted``."""
        of, labels = copied.of, self._store.label_set
        return any(of is None or of.admits(labels(each)) for each in self._having(copied.source, value))

    def meets(self, route: Route | None, goals: Collection[int]) -> bool:
        """Tell whether a route may lead to one of some nodes, by their ids; None leads anywhere.

        Raises
        ------
        Unknown
            As ``wanted``.
        """
        if route is None:
            return True
        steps, near, far = list(route.steps), self._root(route.root), None
        if any(step.hops[1] is None for step in steps):  # short chains end; what branches leads nearly everywhere
            self._left = min(self._left, _FEW)
        while steps and len(near):
            ahead = self._located(near, steps[0], back=False)
            cost = _entries(ahead)
            if cost > _FEW:
                far = np.array(sorted(goals), np.int64) if far is None else far
                behind = self._located(far, steps[-1], back=True)
                if (other := _entries(behind)) < cost:
                    self._left -= other
                    if self._left < 0:
                        return True
                    goals = far = _follow(far, behind, steps, -1)
                    if not len(far):
                        return False
                    continue
            self._left -= cost
            if self._left < 0:
                return True
            near = _follow(near, ahead, steps, 0)
        if isinstance(goals, Set) and len(near) <= _FEW:
            return not goals.isdisjoint(near.tolist())
        return len(np.intersect1d(near, np.array(sorted(goals), np.int64) if far is None else far)) > 0

    def _located(self, nodes: Array, step: Step, *, back: bool) -> _Located:
        lists = self._lists(step.types, step.direction.reversed() if back else step.direction)
        if len(nodes) == 1:
            places = [each.locate(int(nodes[0])) for each in lists]
            return [
                (each, np.array([begin]), np.array([end])) for each, (begin, end) in zip(lists, places, strict=True)
            ]
        found = [each.locate_all(nodes.astype(np.uint32)) for each in lists]
        return [
            (each, begins.astype(np.int64), ends.astype(np.int64))
            for each, (begins, ends) in zip(lists, found, strict=True)
        ]

    def _lists(self, types: LabelExpr | None, direction: Direction) -> list[Adjacency]:
        return [
            self._store.adjacency(each.index, way)
            for each in self._store.types
            if types is None or types.admits(frozenset((each.name,)))
            for way in direction.stored(each.undirected)
        ]


def _entries(located: _Located) -> int:
    return sum(int((ends - begins).sum()) for _, begins, ends in located)


def _follow(nodes: Array, located: _Located, steps: list[Step], place: int) -> Array:
    """Return where the first step, or the last, leads from some nodes, and put what is left of it in its place."""
    found = [each.neighbours[_positions(begins, ends)] for each, begins, ends in located]
    step = steps[place]
    least, most = step.hops
    reached = np.unique(np.concatenate([_NONE, *found, *(() if least else (nodes,))]))
    more = None if most is None else most - 1
    if least or more == 0 or len(reached) == len(nodes):
        del steps[place]
    else:
        steps[place] = Step(step.types, step.direction, (0, more))
    return reached


def _positions(begins: Array, ends: Array) -> Array | slice:
    """Return the positions in some slices, one after the other (int64)."""
    if len(begins) == 1:
        return slice(int(begins[0]), int(ends[0]))
    return numbers_from(begins, ends - begins)
