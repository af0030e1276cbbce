"""``SelectPaths``: the shortest paths along a chain of quantified parts. Ways of each part come from subplans.

Starts are followed together (``selected_states``), and walks unwound from their ends (``selected_walks``). Where one
path or length between two ends is wanted, a state is looked at where it is first come to: if all walks by those that
end in it repeat something, lengths are tried one by one (``selected_lengths``), as for more paths or lengths.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from qengine.exec.common.batch import Batch
from qengine.exec.common.columns import (
    BoolArray,
    Column,
    IntArray,
    ListColumn,
    NodeColumn,
    RelationshipColumn,
    integer_column,
    vertex_ids,
)
from qengine.exec.common.expressions.compiler import compile_predicate
from qengine.exec.common.operators.repeat_ways import Extension, Ways
from qengine.exec.common.operators.selected_lengths import Lengths, Selection
from qengine.exec.common.operators.selected_states import Levels, Part, Shape
from qengine.exec.common.operators.selected_walks import Accepts, Found, Unwinding
from qengine.exec.common.operators.stage import Build, Stage
from qengine.exec.memory import Holding
from qengine.plan import physical

_ROWS = 8192  # paths that are handed on at a time
_STATES = 1 << 20  # that may be come to from the starts that are followed together
_CELLS = 1 << 18  # relationships of walks that are unwound together


def select_paths_stage(operator: physical.SelectPaths, build: Build, first: int) -> Stage:
    """Emit the selected paths from each input row's vertex."""
    upstream = build(operator.input, first)
    ways = [Ways(part, operator.mode, build, lasting=True) for part in operator.parts]

    def run(outer: Batch) -> Iterator[Batch]:
        for batch in upstream(outer):
            yield from _Selected(operator, build, batch, ways).run(min(first, _ROWS))

    return run


class _Selected:
    """The paths of one batch."""

    def __init__(self, operator: physical.SelectPaths, build: Build, batch: Batch, ways: Sequence[Ways]) -> None:
        from qengine.exec.host.walk import end_filter, forbidden_relationships

        self.operator, self.runtime, self.batch = operator, build.runtime, batch
        store, masks = build.runtime.store, build.masks
        parts = [
            Part(own, part.minimum, part.maximum, end_filter(store, part.node, masks).of)
            for own, part in zip(ways, operator.parts, strict=True)
        ]
        self.shape = Shape(parts, max(1, store.vertex_count))
        lengths = [None if part.maximum is None else part.maximum * part.length for part in parts]
        most = None if None in lengths else sum(each or 0 for each in lengths)
        self.selection = Selection(operator.selector, operator.mode, operator.minimum, most, self._chosen(build))
        self.admitted = end_filter(store, operator.end, masks).of
        self.forbidden = forbidden_relationships([batch.columns[name] for name in operator.different])
        self._sort_rows()
        self.found: list[tuple[IntArray, IntArray, Found]] = []
        self.rows = 0

    def _chosen(self, build: Build) -> Accepts | None:
        """Return what tells the paths that satisfy the operator's condition."""
        chosen = self.operator.condition
        if chosen is None:
            return None
        holds = compile_predicate(chosen.expr, build.runtime)

        def accepts(starts: IntArray, ends: IntArray, found: Found) -> BoolArray:
            columns: dict[str, Column] = {chosen.first: NodeColumn(starts), chosen.last: NodeColumn(ends)}
            columns[chosen.relationships] = _relationships(found)
            columns[chosen.bounds] = _bounds(found)
            return holds(Batch(found.count, columns))

        return accepts

    def _sort_rows(self) -> None:
        """Give different starts numbers, and put rows in the order of these, or with given ends of both."""
        vertices = vertex_ids(self.batch.columns[self.operator.start])
        bound = self.operator.end_bound
        targets = vertex_ids(self.batch.columns[self.operator.end.name]) if bound else np.zeros_like(vertices)
        rows = np.flatnonzero((vertices >= 0) & (targets >= 0))
        self.starts, numbers = np.unique(vertices[rows], return_inverse=True)
        keys = numbers * self.shape.vertices + targets[rows] if bound else numbers
        order = np.argsort(keys, kind="stable")
        self.row_order, self.row_keys = rows[order], keys[order]

    def run(self, wanted: int) -> Iterator[Batch]:
        """Yield the input rows joined with their paths, at least ``wanted`` at a time but for the last."""
        most = max(1, _STATES // self.shape.stride)
        begin, together = 0, max(1, min(most, wanted))
        with self.runtime.memory.holding("SelectPaths") as holding:
            while begin < len(self.starts):
                for part in self.shape.parts:
                    part.ways.let_go()
                end = min(len(self.starts), begin + together)
                for found, levels, states in self._group(begin, end, holding):
                    self._note(begin, found, levels.keys[states])
                    if self.rows >= wanted:
                        yield from self._joined()
                begin, together = end, min(most, 4 * together)
            yield from self._joined()

    # ------------------------------------------------------------ starts together

    def _group(self, begin: int, end: int, holding: Holding) -> Iterator[tuple[Found, Levels, IntArray]]:
        """Yield the paths from some starts: their ends are places in the states of some levels."""
        starts, pairs = self.starts[begin:end], None
        if self.operator.end_bound:
            size = self.shape.vertices
            here = slice(*np.searchsorted(self.row_keys, (begin * size, end * size)).tolist())
            pairs = np.unique(self.row_keys[here]) - begin * size
        if self.selection.shortest:
            failed: list[IntArray] = []
            yield from self._first(starts, pairs, failed, holding)
            pairs = np.unique(np.concatenate(failed))
            if not len(pairs):
                return
        lengths = Lengths(self.shape, self.selection, self.runtime.memory, holding)
        yield from lengths.of(starts, self._wanted(pairs), pairs)

    def _wanted(self, pairs: IntArray | None) -> Callable[[IntArray, IntArray], BoolArray]:
        """Return what tells the pairs of a start and an end that are asked for. ``pairs``: these; None: all."""
        if pairs is None:
            return lambda starts, vertices: self.admitted(vertices)
        size = self.shape.vertices

        def wanted(starts: IntArray, vertices: IntArray) -> BoolArray:
            keys = starts * size + vertices
            if not len(pairs):
                return np.zeros(len(keys), np.bool_)
            return np.asarray(pairs[np.minimum(np.searchsorted(pairs, keys), len(pairs) - 1)] == keys)

        return wanted

    def _first(
        self, starts: IntArray, pairs: IntArray | None, failed: list[IntArray], holding: Holding
    ) -> Iterator[tuple[Found, Levels, IntArray]]:
        """Yield the paths by states where they are first come to; add to ``failed`` the pairs that have others."""
        selection, shape = self.selection, self.shape
        groups = selection.selector.groups
        levels = Levels(shape, starts, self._wanted(pairs), holding, every=False, single=not groups)
        left = None if pairs is None else np.bincount(pairs // shape.vertices, minlength=len(starts))
        waiting = [np.empty(0, np.int64)]
        while True:
            self.runtime.context.check()
            going = not levels.ended and (selection.most is None or levels.number <= selection.most)
            if going:
                waiting.append(levels.next(selection.least))
                if left is not None:
                    left -= np.bincount(levels.keys[waiting[-1]] // shape.stride, minlength=len(starts))
                    levels.open = left > 0
                    going = bool(levels.open.any())
            if not going or levels.number * sum(map(len, waiting)) > _CELLS:
                states = np.concatenate(waiting)
                unwinding = Unwinding(
                    levels, states, selection.mode, once=False, accepts=selection.accepts, memory=self.runtime.memory
                )
                for found in unwinding.run(None if groups else np.ones(len(states), np.int64)):
                    yield found, levels, states
                keys = levels.keys[states[unwinding.counts == 0]]
                failed.append(keys // shape.stride * shape.vertices + keys % shape.vertices)
                waiting = [np.empty(0, np.int64)]
            if not going:
                return

    # ------------------------------------------------------------ rows

    def _note(self, begin: int, found: Found, keys: IntArray) -> None:
        """Keep paths, joined with the rows that ask for them."""
        keys = keys[found.ends]
        numbers, ends = begin + keys // self.shape.stride, keys % self.shape.vertices
        wanted = numbers * self.shape.vertices + ends if self.operator.end_bound else numbers
        low, high = (np.searchsorted(self.row_keys, wanted, side=side) for side in ("left", "right"))
        paths, places = Extension.every(low, high - low)
        rows = self.row_order[places]
        if self.forbidden is not None:
            free = self._free(rows, found.take(paths))
            rows, paths = rows[free], paths[free]
        if len(rows):
            self.found.append((rows, ends[paths], found.take(paths)))
            self.rows += len(rows)

    def _free(self, rows: IntArray, paths: Found) -> BoolArray:
        """Tell which paths take no relationship that their row forbids."""
        assert self.forbidden is not None
        offsets, ids = self.forbidden
        size = 1 + max(int(ids.max(initial=0)), int(paths.edges.max(initial=0)))
        forbidden = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)) * size + ids
        owners = np.repeat(np.arange(paths.count), np.diff(paths.offsets))
        taken = np.isin(rows[owners] * size + paths.edges, forbidden)
        free = np.ones(paths.count, np.bool_)
        free[owners[taken]] = False
        return free

    def _joined(self) -> Iterator[Batch]:
        """Yield the rows of the paths that were found, and forget these."""
        from qengine.exec.host.walk import joined

        parts, self.found, self.rows = self.found, [], 0
        if not parts:
            return
        operator, found = self.operator, Found.together([found for _, _, found in parts])
        added: dict[str, Column] = {}
        if not operator.end_bound:
            added[operator.end.name] = NodeColumn(np.concatenate([ends for _, ends, _ in parts]))
        if operator.relationships is not None:
            added[operator.relationships] = _relationships(found)
        if operator.bounds is not None:
            added[operator.bounds] = _bounds(found)
        rows = np.concatenate([rows for rows, _, _ in parts])
        yield from joined(self.batch, rows, added, self.runtime.context)


def _relationships(found: Found) -> ListColumn:
    return ListColumn(found.offsets, RelationshipColumn(found.edges))


def _bounds(found: Found) -> ListColumn:
    places = np.arange(found.count + 1) * found.bounds.shape[1]
    return ListColumn(places, integer_column(found.bounds.ravel()))
