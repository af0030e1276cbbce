"""``SelectPaths``: the shortest paths along a chain of quantified parts. Ways of each part come from subplans."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from qengine.exec.common.batch import Batch
from qengine.exec.common.columns import (
    Column,
    IntArray,
    ListColumn,
    NodeColumn,
    RelationshipColumn,
    integer_column,
    vertex_ids,
)
from qengine.exec.common.operators.repeat_ways import Ways
from qengine.exec.common.operators.selected_walks import Levels, Part, Selection, Taken, Way, shortest_walks
from qengine.exec.common.operators.stage import Build, Stage
from qengine.plan import physical

__all__ = ["select_paths_stage"]

_ROWS = 8192  # paths that are handed on at a time
_ITEM_BYTES = 64


def select_paths_stage(operator: physical.SelectPaths, build: Build, first: int) -> Stage:
    """Emit the selected paths from each input row's vertex."""
    upstream = build(operator.input, first)
    ways = [Ways(part, operator.mode, build) for part in operator.parts]

    def run(outer: Batch) -> Iterator[Batch]:
        for batch in upstream(outer):
            yield from _Selected(operator, build, batch, ways).run(min(first, _ROWS))

    return run


class _Selected:
    """The paths of one batch."""

    def __init__(self, operator: physical.SelectPaths, build: Build, batch: Batch, ways: Sequence[Ways]) -> None:
        from qengine.exec.host.walk import end_filter, forbidden_relationships

        self.operator, self.runtime, self.batch, self.ways = operator, build.runtime, batch, ways
        self.starts = vertex_ids(batch.columns[operator.start])
        self.targets = vertex_ids(batch.columns[operator.end.name]) if operator.end_bound else None
        store, masks = build.runtime.store, build.masks
        self.admitted = end_filter(store, operator.end, masks)
        self.forbidden = forbidden_relationships([batch.columns[name] for name in operator.different])
        self.parts = [
            Part(_of(own), part.minimum, part.maximum, end_filter(store, part.node, masks).admits, own.length)
            for own, part in zip(ways, operator.parts, strict=True)
        ]
        lengths = [None if part.maximum is None else part.maximum * part.length for part in self.parts]
        most = None if None in lengths else sum(each or 0 for each in lengths)
        self.selection = Selection(operator.selector, operator.mode, operator.minimum, most)

    def run(self, wanted: int) -> Iterator[Batch]:
        """Yield the input rows joined with their paths, at least ``wanted`` at a time but for the last."""
        context = self.runtime.context
        rows: list[int] = []
        ends: list[int] = []
        found: list[Taken] = []
        with self.runtime.memory.holding("SelectPaths") as holding:
            for row, start in enumerate(self.starts.tolist()):
                if start < 0:
                    continue
                levels = Levels(start, self.parts)
                for end in self._ends(row, levels):
                    for taken in shortest_walks(levels, end, self.selection, context.check):
                        if self._is_free(row, taken):
                            rows.append(row)
                            ends.append(end)
                            found.append(taken)
                    items = len(levels.seen) + sum(len(each.edges) for each in found[-1:]) * len(found)
                    holding.set(sum(own.nbytes for own in self.ways) + _ITEM_BYTES * items)
                    if len(rows) >= wanted:
                        yield from self._joined(rows, ends, found)
                        rows, ends, found = [], [], []
            if rows:
                yield from self._joined(rows, ends, found)

    def _ends(self, row: int, levels: Levels) -> list[int]:
        if self.targets is not None:
            target = int(self.targets[row])
            return [target] if target >= 0 else []
        return [end for end in sorted(levels.ends(self.selection.most)) if self.admitted.admits(end)]

    def _is_free(self, row: int, taken: Taken) -> bool:
        if self.forbidden is None:
            return True
        offsets, ids = self.forbidden
        return set(ids[offsets[row] : offsets[row + 1]].tolist()).isdisjoint(taken.edges)

    def _joined(self, rows: list[int], ends: list[int], found: list[Taken]) -> Iterator[Batch]:
        from qengine.exec.host.walk import joined

        operator = self.operator
        offsets = np.cumsum([0, *(len(taken.edges) for taken in found)])
        edges = _array([edge for taken in found for edge in taken.edges])
        added: dict[str, Column] = {}
        if not operator.end_bound:
            added[operator.end.name] = NodeColumn(_array(ends))
        if operator.relationships is not None:
            added[operator.relationships] = ListColumn(offsets, RelationshipColumn(edges))
        if operator.bounds is not None:
            places = _array([place for taken in found for place in taken.bounds])
            count = len(self.parts) - 1
            added[operator.bounds] = ListColumn(np.arange(len(found) + 1) * count, integer_column(places))
        yield from joined(self.batch, _array(rows), added, self.runtime.context)


def _of(ways: Ways) -> Callable[[Sequence[int]], dict[int, list[Way]]]:
    """Return what gives the ways from some vertices as tuples."""

    def found(vertices: Sequence[int]) -> dict[int, list[Way]]:
        ways.runtime.context.check()
        known: dict[int, list[Way]] = {}
        begin, count = ways.of(_array(list(vertices)), 2**62)
        for vertex, at, number in zip(vertices, begin.tolist(), count.tolist(), strict=True):
            edges, nodes = (each[:, at : at + number].T.tolist() for each in (ways.edges, ways.nodes))
            known[vertex] = [(tuple(one), tuple(other)) for one, other in zip(edges, nodes, strict=True)]
        return known

    return found


def _array(values: list[int]) -> IntArray:
    return np.array(values, np.int64)
