"""``Distinct`` and ``Union``: each different row once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from qengine.exec.common.batch import Batch, concatenate_batches
from qengine.exec.common.batch_parts import fitting, working_bytes
from qengine.exec.common.columns import ArrowColumn, ConstantColumn
from qengine.exec.common.grouping import group_rows
from qengine.exec.common.operators.stage import Build, Stage
from qengine.exec.common.runtime import Runtime
from qengine.exec.memory import Holding
from qengine.exec.spill.ahead import computed_ahead
from qengine.exec.spill.partitions import DEPTH, Partitions
from qengine.exec.spill.rows import SpilledRows, in_blocks
from qengine.plan import logical

_SEEN = "#seen"  # marks rows that were emitted before they went to a file


def distinct_stage(operator: logical.Distinct, build: Build, first: int) -> Stage:
    """Emit each different input row at its first place. Holds the different rows."""
    upstream = build(operator.input, first)
    return lambda outer: _distinct(upstream(outer), build.runtime, "Distinct", operator)


def union_stage(operator: logical.Union, build: Build, first: int) -> Stage:
    """Emit the rows of all inputs, one after the other; each different one once unless ``all``."""
    stages = [build(each, first) for each in operator.inputs]

    def run(outer: Batch) -> Iterator[Batch]:
        names: list[str] | None = None
        for stage in stages:
            for batch in stage(outer):
                names = names or list(batch.columns)
                yield batch.select(names)

    return run if operator.all else lambda outer: _distinct(run(outer), build.runtime, "Union", operator)


def _distinct(batches: Iterator[Batch], runtime: Runtime, name: str, operator: object) -> Iterator[Batch]:
    """Yield each different row of an operator's batches."""
    with runtime.memory.holding(name) as holding:
        yield from distinct_rows(batches, runtime, holding, operator)


def distinct_rows(
    batches: Iterator[Batch], runtime: Runtime, holding: Holding, operator: object, depth: int = 0
) -> Iterator[Batch]:
    """Yield the new rows of the batches.

    Waiting rows are compared with those seen once they are as many: so each row takes part in few comparisons, and
    the first rows come at once. Batches are thinned out before they wait, unless that was of little use. Once there is
    no memory for more, all rows, those seen marked as such, are spilled: dealt to files, and compared file by file.

    Parameters
    ----------
    depth
        How often the rows have been dealt to files before.
    """
    seen: Batch | None = None
    waiting: list[Batch] = []
    rows = working = 0
    thin = True
    spilled: Partitions | None = None
    limited = runtime.memory.limit is not None
    for batch in fitting(batches, holding):
        runtime.context.check()
        if limited:
            holding.also(working_bytes(batch.columns.values()))
        own = _first_rows(batch, 0) if thin else batch
        thin = thin and 2 * own.length <= batch.length
        working += _working([own]) if limited else 0
        if spilled is None and limited and working > holding.share():
            if waiting:
                seen, fresh = _joined_aside(runtime, seen, waiting)
                waiting, rows, working = [], 0, _working([seen, own])
                holding.set(seen.nbytes)
                yield from _shown(fresh)
            if seen is not None and depth < DEPTH and 2 * working > holding.share():
                spilled = Partitions(_compared(own), depth, runtime.context, operator)
                spilled.add(_marked(seen, True))
                seen = None
        if spilled is not None:
            spilled.add(_marked(own, False))
            holding.set(spilled.nbytes)
            continue
        waiting.append(own)
        rows += own.length
        holding.add(own.nbytes)
        if seen is None or rows >= seen.length:
            holding.also(working)
            seen, fresh = _joined_aside(runtime, seen, waiting)
            waiting, rows, working = [], 0, _working([seen]) if limited else 0
            holding.set(seen.nbytes)
            yield from _shown(fresh)
    if waiting:
        holding.also(working)
        _, fresh = _joined_aside(runtime, seen, waiting)
        yield from _shown(fresh)
    if spilled is not None:
        holding.set(0)
        seen = None
        yield from distinct_of_files(spilled.files(), runtime, holding, operator, depth)


def distinct_of_files(
    files: Sequence[SpilledRows], runtime: Runtime, holding: Holding, operator: object, depth: int
) -> Iterator[Batch]:
    """Yield the different rows of files: of those that fit at once, on all threads, of others as of any batches.

    No two files have a row in common; ``depth``: how often the rows had been dealt before they went to these.
    """
    share = holding.share()
    needed = [file.working(file.width) for file in files]
    fit = [(needs, partial(_of_file, file)) for file, needs in zip(files, needed, strict=True) if 0 < needs <= share]
    for found in computed_ahead(fit, runtime.context, holding):
        for fresh in _shown(found):
            yield from in_blocks(fresh, runtime.context)
    for file, needs in zip(files, needed, strict=True):
        if needs > share:
            yield from distinct_rows(file.batches(), runtime, holding, operator, depth + 1)
            holding.set(0)


def _of_file(file: SpilledRows) -> Batch:
    return _first_rows(file.whole(), 0)


def _compared(batch: Batch) -> list[str]:
    """Return the columns by which rows differ: all but the mark."""
    return [name for name in batch.columns if name != _SEEN]


def _marked(batch: Batch, seen: bool) -> Batch:
    """Return rows that are dealt to files, marked as seen, or else as they already are."""
    if _SEEN in batch.columns and not seen:
        return batch
    return batch.with_columns({_SEEN: ConstantColumn(seen, batch.length)})


def _shown(fresh: Batch) -> Iterator[Batch]:
    """Yield new rows but those that were seen before they were dealt to files."""
    if _SEEN in fresh.columns:
        seen = fresh.columns[_SEEN]
        fresh = fresh.select(_compared(fresh))
        if isinstance(seen, ArrowColumn):
            fresh = fresh.filter(~seen.array.to_numpy(zero_copy_only=False))
        elif isinstance(seen, ConstantColumn) and seen.value:
            return
    if fresh.length:
        yield fresh


def _joined_aside(runtime: Runtime, seen: Batch | None, waiting: list[Batch]) -> tuple[Batch, Batch]:
    rows = sum(batch.length for batch in waiting) + (0 if seen is None else seen.length)
    return runtime.context.aside(lambda: _joined(seen, waiting), rows)


def _working(batches: list[Batch]) -> int:
    """Return what the comparison of rows with each other takes for a while."""
    return sum(working_bytes(batch.columns.values()) for batch in batches)


def _joined(seen: Batch | None, waiting: list[Batch]) -> tuple[Batch, Batch]:
    """Return all different rows, and those of them that weren't seen before."""
    if seen is None:
        rows = _first_rows(concatenate_batches(waiting), 0)
        return rows, rows
    fresh = _first_rows(concatenate_batches([seen, *waiting]), seen.length)
    return (concatenate_batches([seen, fresh]) if fresh.length else seen), fresh


def _first_rows(batch: Batch, start: int) -> Batch:
    """Return each different row at its first place, if that is ``start`` or later."""
    groups = group_rows([batch.columns[name] for name in _compared(batch)], batch.length)
    if groups.count == batch.length and not start:
        return batch
    first = np.zeros(batch.length, dtype=np.bool_)
    first[groups.first] = True
    first[:start] = False
    return batch.take(np.flatnonzero(first))
