"""``Repeat``: quantified paths of several relationships. The ways of one repetition come from a subplan, and are kept.

Walks are followed depth first, many at a time (``_Repeated.run``). Where only their ends are wanted, sets of vertices
are followed instead (``repeat_ends``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from qengine.exec.common.batch import Batch, concatenate_batches
from qengine.exec.common.columns import BoolArray, IntArray, vertex_ids
from qengine.exec.common.grouping import group_rows
from qengine.exec.common.operators.repeat_ends import Ends, Starts
from qengine.exec.common.operators.repeat_ways import Extension, Walks, Ways, longer
from qengine.exec.common.operators.stage import ROW, Build, Stage
from qengine.plan import physical
from qengine.plan.pattern import PathMode

if TYPE_CHECKING:
    pass

_ROWS = 8192  # walks that are handed on at a time
_CELLS = 1 << 20  # numbers in the columns of walks that are made longer at a time
_TOGETHER = 1 << 16  # such walks


def repeat_stage(operator: physical.Repeat, build: Build, first: int) -> Stage:
    """Emit the walks from each input row's vertex."""
    upstream = build(operator.input, first)
    ways = Ways(operator, operator.mode, build)

    def run(outer: Batch) -> Iterator[Batch]:
        batches = upstream(outer)
        if operator.by is not None and operator.start not in operator.by:
            batches = _gathered(batches, build)
        for batch in batches:
            repeated = _Repeated(operator, build, batch, ways)
            wanted = min(first, _ROWS)
            if operator.distinct_ends:
                yield from repeated.reached()
            else:
                yield from repeated.run(wanted)

    return run


def _gathered(batches: Iterator[Batch], build: Build) -> Iterator[Batch]:
    """Yield all rows together."""
    with build.runtime.memory.holding("Repeat") as holding:
        found: list[Batch] = []
        for batch in batches:
            found.append(batch)
            holding.add(batch.nbytes)
        if found:
            yield concatenate_batches(found)


class _Repeated:
    """The walks of one batch."""

    def __init__(self, operator: physical.Repeat, build: Build, batch: Batch, ways: Ways) -> None:
        from qengine.exec.host.walk import end_filter, forbidden_relationships

        runtime = build.runtime
        self.operator, self.runtime, self.batch, self.ways = operator, runtime, batch, ways
        self.starts = vertex_ids(batch.columns[operator.start])
        self.targets = vertex_ids(batch.columns[operator.end.name]) if operator.end_bound else None
        self.ends = end_filter(runtime.store, operator.end, build.masks)
        forbidden = forbidden_relationships([batch.columns[name] for name in operator.different])
        self.forbidden: IntArray | None = None
        self.relationships = sum(kind.count for kind in runtime.store.types) + 1
        if forbidden is not None:
            rows = np.repeat(np.arange(batch.length), np.diff(forbidden[0]))
            self.forbidden = np.unique(rows * self.relationships + forbidden[1])
        self.found: list[Walks] = []
        self.held = self.rows = 0  # bytes of these, and how many there are

    # ------------------------------------------------------------ all walks

    def run(self, wanted: int) -> Iterator[Batch]:
        """Yield the input rows joined with their walks, at least ``wanted`` at a time but for the last."""
        together = max(1, min(_TOGETHER, 8 * wanted))
        with self.runtime.memory.holding("Repeat") as holding:
            begun = self._begun()
            waiting, bytes_waiting = [begun] if begun.count else [], begun.nbytes
            while waiting:
                self.runtime.context.check()
                walks = waiting.pop()
                bytes_waiting -= walks.nbytes
                most = max(1, min(together, _CELLS // (2 + len(walks.edges) + len(walks.met))))
                begin, count = self.ways.of(walks.vertices, most)
                if len(count) < walks.count:
                    waiting.append(walks.take(slice(len(count), None)))
                    bytes_waiting += waiting[-1].nbytes
                    walks = walks.take(slice(0, len(count)))
                going = self._following(walks, Extension.every(begin, count))
                if going.count:
                    waiting.append(going)
                    bytes_waiting += going.nbytes
                holding.set(self.ways.nbytes + bytes_waiting + self.held)
                if self.rows >= wanted:
                    yield from self._joined()
                    together = min(_TOGETHER, 4 * together)
            yield from self._joined()

    def _begun(self) -> Walks:
        operator = self.operator
        there = self.starts >= 0
        if self.targets is not None:
            there &= self.targets >= 0
        rows = np.flatnonzero(there)
        walks = Walks.begun(rows, self.starts[rows], operator.mode)
        if operator.minimum == 0:
            self._note(walks.where(self._may_end(rows, walks.vertices)))
        return walks if operator.maximum != 0 else walks.take(slice(0, 0))

    def _following(self, walks: Walks, extension: Extension) -> Walks:
        """Return the walks one repetition longer that may go on; note those that are wanted."""
        operator = self.operator
        number = walks.repetitions + 1
        last = operator.maximum is not None and number >= operator.maximum
        if last:
            ends = self.ways.nodes[-1][extension.ways]
            extension = extension.where(self._may_end(walks.origins[extension.parents], ends))
        if self.forbidden is not None:
            extension = extension.where(self._free(walks, extension))
        whole = operator.relationships is not None or not (last or operator.mode is PathMode.WALK)
        _, found = longer(walks, extension, self.ways, operator.mode, whole=whole)
        if number >= operator.minimum:
            self._note(found if last else found.where(self._may_end(found.origins, found.vertices)))
        return found.take(slice(0, 0)) if last else found.open(operator.mode)

    def _may_end(self, rows: IntArray, vertices: IntArray) -> BoolArray:
        if self.targets is not None:
            return np.asarray(self.targets[rows] == vertices)
        return self.ends.of(vertices)

    def _free(self, walks: Walks, extension: Extension) -> BoolArray:
        """Tell which ways take no relationship that the walk's row forbids."""
        assert self.forbidden is not None
        rows = walks.origins[extension.parents] * self.relationships
        kept = np.ones(len(rows), np.bool_)
        if len(self.forbidden):
            for column in self.ways.edges:
                keys = rows + column[extension.ways]
                places = np.minimum(np.searchsorted(self.forbidden, keys), len(self.forbidden) - 1)
                kept &= self.forbidden[places] != keys
        return kept

    def _joined(self) -> Iterator[Batch]:
        """Yield the input rows of the walks that were found, and forget these."""
        from qengine.exec.host.walk import joined_walks
        from qengine.exec.host.walk_kernel import WalkChunk

        found, self.found = [walks for walks in self.found if walks.count], []
        self.held = self.rows = 0
        if not found:
            return
        rows, ends = (np.concatenate(each) for each in ([w.origins for w in found], [w.vertices for w in found]))
        offsets = edges = None
        if self.operator.relationships is not None:
            lengths = np.repeat([len(walks.edges) for walks in found], [walks.count for walks in found])
            offsets = np.concatenate(([0], np.cumsum(lengths)))
            edges = np.concatenate([walks.edges.T.ravel() for walks in found])
        yield from joined_walks(self.operator, self.batch, WalkChunk(rows, ends, offsets, edges), self.runtime.context)

    def _note(self, walks: Walks) -> None:
        """Keep walks that were found."""
        self.found.append(walks)
        self.held += walks.nbytes
        self.rows += walks.count

    # ------------------------------------------------------------ ends alone

    def reached(self) -> Iterator[Batch]:
        """Yield the input rows joined with each end that a walk leads to; with ``by``, rows equal in these once."""
        from qengine.exec.host.walk import joined_walks
        from qengine.exec.host.walk_kernel import WalkChunk

        store, targets = self.runtime.store, self.targets
        every = np.arange(store.vertex_count)
        admitted = np.ones(len(every), np.bool_) if targets is not None else self._may_end(every, every)
        rows, groups, batch = self._groups()
        order = np.lexsort((self.starts[rows], groups))
        rows, groups = rows[order], groups[order]
        with self.runtime.memory.holding("Repeat") as holding:
            ends = Ends(self.operator, self.ways, store.vertex_count, admitted, holding)
            for lo in range(0, int(groups[-1]) + 1 if len(groups) else 0, ends.groups_together()):
                hi = min(lo + ends.groups_together(), int(groups[-1]) + 1)
                here = slice(*np.searchsorted(groups, (lo, hi)).tolist())
                owners, own = groups[here] - lo, rows[here]
                pairs = np.unique(np.stack((owners, self.starts[own])), axis=1)
                places = None if targets is None else owners * store.vertex_count + targets[own]
                seen = ends.of(hi - lo, Starts(*pairs), places)
                if places is not None:
                    taken = own[seen[places]]
                    yield from joined_walks(
                        self.operator, batch, WalkChunk(taken, self.starts[taken]), self.runtime.context
                    )
                    continue
                if self.operator.by is not None:
                    owners, which = np.unique(owners, return_index=True)
                    own = own[which]
                for owner, row in zip(owners.tolist(), own.tolist(), strict=True):
                    found = np.flatnonzero(seen[owner * store.vertex_count :][: store.vertex_count] & admitted)
                    chunk = WalkChunk(np.full(len(found), row), found)
                    yield from joined_walks(self.operator, batch, chunk, self.runtime.context)

    def _groups(self) -> tuple[IntArray, IntArray, Batch]:
        """Return the rows with a start, the group of each, and the columns that come out of their operator."""
        operator, batch = self.operator, self.batch
        rows = np.flatnonzero(self.starts >= 0 if self.targets is None else (self.starts >= 0) & (self.targets >= 0))
        if operator.by is None:
            return rows, np.unique(self.starts[rows], return_inverse=True)[1], batch
        names = [*operator.by, *(name for name in (ROW,) if name in batch.columns)]
        codes = group_rows([batch.columns[name] for name in names], batch.length).codes
        return rows, codes[rows], batch.select(names)
