"""The ways of one repetition of a quantified path: columns, found by a subplan and kept by the vertex they begin in.

Which of them may go on a walk is told by comparing columns: ``longer`` takes many walks at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from qengine.exec.common.batch import Batch
from qengine.exec.common.columns import BoolArray, IntArray, NodeColumn, numbers_from
from qengine.exec.common.operators.stage import Build, numbered, rows_of
from qengine.plan import physical
from qengine.plan.pattern import PathMode

_OF_NODES = (PathMode.ACYCLIC, PathMode.SIMPLE)

_KEPT_WAYS = 1 << 21
_SMALL_RUNS = 16  # of the subplan; the next find as many vertices' ways as are known
_FIRST = 64  # vertices that the subplan is run for at first: each may have very many ways


class Walks(NamedTuple):
    """Walks of equally many repetitions, column by column.

    ``origins`` (int64[n]): what each belongs to, a number of the caller's. ``vertices`` (int64[n]): where it has come
    to. ``edges`` (int64[m, n]): its relationships in order. ``met`` (int64[m, n]): its vertices in order, the start
    first, where these must differ. Either has no rows where it isn't kept.
    """

    origins: IntArray
    vertices: IntArray
    edges: IntArray
    met: IntArray
    repetitions: int

    @property
    def count(self) -> int:  # type: ignore[override]
        """How many they are."""
        return len(self.origins)

    @property
    def nbytes(self) -> int:
        """Bytes of the columns."""
        return 8 * len(self.origins) * (2 + len(self.edges) + len(self.met))

    @staticmethod
    def begun(origins: IntArray, starts: IntArray, mode: PathMode) -> Walks:
        """Return the walks that have made no step."""
        none = np.empty((0, len(starts)), np.int64)
        return Walks(origins, starts, none, starts[None, :] if mode in _OF_NODES else none, 0)

    @staticmethod
    def together(parts: list[Walks]) -> Walks:
        """Return the walks of several parts, at least one."""
        if len(parts) == 1:
            return parts[0]
        origins, vertices, edges, met = (np.concatenate(each, axis=-1) for each in list(zip(*parts, strict=True))[:4])
        return Walks(origins, vertices, edges, met, parts[0].repetitions)

    def take(self, which: IntArray | slice) -> Walks:
        """Return some of them."""
        edges, met = self.edges[:, which], self.met[:, which]
        return Walks(self.origins[which], self.vertices[which], edges, met, self.repetitions)

    def where(self, kept: BoolArray) -> Walks:
        """Return those for which ``kept`` is true."""
        return self if kept.all() else self.take(np.flatnonzero(kept))

    def open(self, mode: PathMode) -> Walks:
        """Return those that may go on: not what ends where it started, if nothing else may."""
        return self.where(self.vertices != self.met[0]) if mode is PathMode.SIMPLE and self.repetitions else self


class Ways:
    """The ways from each vertex, found when they are first asked for.

    Attributes
    ----------
    edges, nodes
        The relationships of each way in order, and the node behind each: int64[length, ways] or longer.
    kept
        How many there are.

    A way that its mode would never allow is left out: with a relationship twice, or a node. ``lasting``: where a way
    stands holds until ``let_go``, not only until the next call; and where vertices are asked for in many small parts,
    others are found along with them.
    """

    def __init__(
        self, operator: physical.Repeat | physical.PathPart, mode: PathMode, build: Build, *, lasting: bool = False
    ) -> None:
        self.operator, self.mode, self.runtime, self.lasting = operator, mode, build.runtime, lasting
        self._inner = build(operator.repeated)
        self.length = len(operator.relationships_of)
        self._forget()

    def _forget(self) -> None:
        count = self.runtime.store.vertex_count
        self._begin = np.zeros(count, np.int64)
        self._count = np.zeros(count, np.int64)
        self._known = np.zeros(count, np.bool_)
        self.kept = self._runs = 0
        self.edges = np.empty((self.length, 0), np.int64)
        self.nodes = np.empty((self.length, 0), np.int64)
        self._least = np.full(self.length, 2**63 - 1)
        self._most = np.full(self.length, -1)

    @property
    def nbytes(self) -> int:
        """Bytes of what is kept."""
        return 17 * len(self._begin) + self.edges.nbytes + self.nodes.nbytes

    def of(self, vertices: IntArray, most: int) -> tuple[IntArray, IntArray]:
        """Return where the ways from the first of some vertices begin in the columns, and how many there are.

        They hold until the next call. Vertices are as many as have ``most`` ways together, at least one.
        """
        if not self.lasting:
            self.let_go()
        size = _FIRST
        while True:
            some = vertices[:size]
            missing = np.unique(some[~self._known[some]])
            if len(missing):
                self._find(missing)
            ways = np.cumsum(self._count[some])
            if len(some) == len(vertices) or ways[-1] >= most:
                break
            size *= 2 + 6 * int(ways[-1] < most // 8)
        fitting = max(1, int(np.searchsorted(ways, most, side="right")))
        return self._begin[some[:fitting]], self._count[some[:fitting]]

    def may_share(self, one: int, other: int) -> bool:
        """Tell whether a relationship at place ``one`` of a way may stand at place ``other`` of another."""
        return bool(self._least[one] <= self._most[other] and self._least[other] <= self._most[one])

    def let_go(self) -> None:
        """Forget the ways if they are many."""
        if self.kept > _KEPT_WAYS:
            self._forget()

    def _find(self, vertices: IntArray) -> None:
        self._runs += 1
        if self.lasting and self._runs > _SMALL_RUNS:
            known = int(np.count_nonzero(self._known))
            vertices = np.union1d(vertices, np.flatnonzero(~self._known)[:known])
        operator, parts = self.operator, []
        with self.runtime.memory.holding("Repeat") as holding:
            for found in self._inner(numbered(Batch(len(vertices), {operator.begin: NodeColumn(vertices)}))):
                rows = rows_of(found)
                assert rows is not None
                columns = [_ids(found, name) for name in (*operator.relationships_of, *operator.nodes_of)]
                kept = _possible(vertices[rows], columns, self.mode)
                parts.append([column if kept is None else column[kept] for column in (rows, *columns)])
                holding.add(8 * len(rows) * (1 + len(columns)))
            if parts:
                holding.also(2 * holding.bytes)  # side by side, and in order
                self._keep(vertices, [np.concatenate(each) for each in zip(*parts, strict=True)])
        self._known[vertices] = True

    def _keep(self, vertices: IntArray, columns: list[IntArray]) -> None:
        rows = columns[0]
        if (rows[1:] < rows[:-1]).any():
            order = np.argsort(rows, kind="stable")
            columns = [column[order] for column in columns]
        counts = np.bincount(rows, minlength=len(vertices))
        self._count[vertices] = counts
        self._begin[vertices] = self.kept + np.cumsum(counts) - counts
        size = self.kept + len(rows)
        if size > self.edges.shape[1]:
            room = np.empty((self.length, 2 * size - self.kept), np.int64)
            self.edges = np.concatenate((self.edges[:, : self.kept], room), axis=1)
            self.nodes = np.concatenate((self.nodes[:, : self.kept], room), axis=1)
        edges, nodes = (np.stack(each) for each in (columns[1 : self.length + 1], columns[self.length + 1 :]))
        self.edges[:, self.kept : size], self.nodes[:, self.kept : size] = edges, nodes
        if len(rows):
            self._least = np.minimum(self._least, edges.min(axis=1))
            self._most = np.maximum(self._most, edges.max(axis=1))
        self.kept = size


def _ids(batch: Batch, name: str) -> IntArray:
    ids: IntArray = batch.columns[name].ids  # type: ignore[attr-defined]
    return ids


def _possible(begins: IntArray, columns: list[IntArray], mode: PathMode) -> BoolArray | None:
    """Return which ways a walk may take at all; None: each."""
    half = len(columns) // 2
    edges, nodes = columns[:half], columns[half:]
    kept = np.ones(len(begins), np.bool_)
    pairs = []
    if mode is not PathMode.WALK:
        pairs += [(one, other) for place, one in enumerate(edges) for other in edges[place + 1 :]]
    if mode in _OF_NODES:
        inner = [begins, *nodes[:-1]]
        pairs += [(one, other) for place, one in enumerate(inner) for other in inner[place + 1 :]]
        pairs += [(one, nodes[-1]) for one in inner[1 if mode is PathMode.SIMPLE else 0 :]]
    for one, other in pairs:
        kept &= one != other
    return None if kept.all() else kept


class Extension(NamedTuple):
    """Walks with one way more each: the walk and the way of each (int64[n])."""

    parents: IntArray
    ways: IntArray

    @staticmethod
    def every(begin: IntArray, count: IntArray) -> Extension:
        """Return all ways that begin where walks have come to, as ``Ways.of`` says."""
        return Extension(np.repeat(np.arange(len(count)), count), numbers_from(begin, count))

    def where(self, kept: BoolArray) -> Extension:
        """Return those for which ``kept`` is true."""
        return self if kept.all() else Extension(self.parents[kept], self.ways[kept])


def longer(
    walks: Walks, extension: Extension, ways: Ways, mode: PathMode, *, whole: bool = True
) -> tuple[BoolArray, Walks]:
    """Return which of some extensions repeat nothing that the mode forbids, and these walks.

    ``whole``: with their relationships and vertices, where these are kept.
    """
    parents, taken = extension
    kept = np.ones(len(parents), np.bool_)
    nodes = ways.nodes[:, taken]
    edges = before = np.empty((0, len(parents)), np.int64)
    if whole or mode is not PathMode.WALK:
        edges, before = ways.edges[:, taken], walks.edges[:, parents]
    if mode is not PathMode.WALK:
        for place, new in enumerate(edges):
            for other in range(ways.length):
                if ways.may_share(place, other) and len(before):
                    kept &= (before[other :: ways.length] != new).all(axis=0)
    met = walks.met[:, parents]
    for place, new in enumerate(nodes if len(met) else ()):
        closing = mode is PathMode.SIMPLE and place == len(nodes) - 1  # a walk may end where it starts
        kept &= (met[int(closing) :] != new).all(axis=0)
    found = Walks(walks.origins[parents], nodes[-1], before[:0], met[:0], walks.repetitions + 1)
    if whole:
        behind = nodes if len(met) else met
        found = found._replace(edges=np.concatenate((before, edges)), met=np.concatenate((met, behind)))
    return kept, found.where(kept)
