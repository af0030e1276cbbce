"""Partial groups: keys with the states of aggregates, as each batch gives them, and their merging.

What the memory limit leaves no room for is spilled: dealt to files by the hash of the keys, each of which is merged by
itself. Of aggregates over different values that only count or add them, the values go to files of their own, dealt by
key and value: the different values of one group may be more than fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain

from qengine._frozen import frozen
from qengine.exec.common.aggregates import Aggregator, DistinctValues, State
from qengine.exec.common.batch import Batch, concatenate_batches
from qengine.exec.common.batch_parts import working_bytes
from qengine.exec.common.columns import ArrowColumn, Column, ConstantColumn, ListColumn
from qengine.exec.common.grouping import group_rows, known_apart
from qengine.exec.common.operators.distinct import distinct_of_files
from qengine.exec.common.runtime import Runtime
from qengine.exec.memory import Holding
from qengine.exec.spill.ahead import computed_ahead
from qengine.exec.spill.partitions import DEPTH, Partitions, waiting_bytes
from qengine.exec.spill.rows import SpilledRows

_FEW_GROUPS = 1024  # so many groups may wait to be merged
_LISTED = 3  # so many times the values in lists that were merged before may wait
_VALUE = "value"


@frozen
class Partial:
    """Groups so far: their keys, and the state of each aggregate. ``repeated``: a group may be among them twice."""

    length: int
    keys: list[Column]
    states: list[State]
    repeated: bool = False

    def columns(self) -> list[Column]:
        """Return all columns, those of the keys first."""
        return [*self.keys, *(column for state in self.states for column in state)]

    def compared(self) -> list[Column]:
        """Return the columns whose rows are looked at one by one when groups are merged: keys, and states of lists."""
        flat = ArrowColumn | ConstantColumn
        return [*self.keys, *(column for state in self.states for column in state if not isinstance(column, flat))]

    def as_batch(self) -> Batch:
        """Return the groups as rows."""
        return Batch(self.length, {str(place): column for place, column in enumerate(self.columns())})

    def like(self, rows: Batch) -> Partial:
        """Return rows, as ``as_batch`` makes them, as groups with so many keys and states as these."""
        columns = iter(rows.columns.values())
        keys = [next(columns) for _ in self.keys]
        return Partial(rows.length, keys, [[next(columns) for _ in state] for state in self.states], repeated=True)

    @property
    def listed(self) -> int:
        """Values that states list."""
        lists = [column for state in self.states for column in state if isinstance(column, ListColumn)]
        return sum(int(column.lengths().sum()) for column in lists)

    @property
    def nbytes(self) -> int:
        """Bytes of all columns."""
        return sum(column.nbytes for column in self.columns())


Merged = tuple[Sequence[Aggregator], Partial]


class GroupMerge:
    """Merges the partial groups of one ``Aggregate``.

    Parameters
    ----------
    aggregators
        What merges states.
    apart
        Whether no group comes twice.
    operator
        Whose groups they are: a profile counts there what is spilled.
    """

    def __init__(self, aggregators: Sequence[Aggregator], apart: bool, runtime: Runtime, operator: object) -> None:
        self._aggregators = aggregators
        self._apart = apart
        self._runtime = runtime
        self._operator = operator

    def merged(self, parts: Iterator[Partial], holding: Holding, depth: int = 0) -> Iterator[Merged]:
        """Yield parts that have no group in common, each with what makes results of its states.

        ``holding`` is of what is in memory; ``depth``: how often the groups have been dealt to files.
        """
        if self._apart:
            yield from ((self._aggregators, part) for part in parts)
            return
        held: list[Partial] = []
        rows, merged, given, needed = 0, 0, 0, 0
        listed, joined = 0, 0
        spilled: _SpilledGroups | None = None
        reducing = True  # merging leaves few groups of many: else they go to files as they come
        for part in parts:
            waiting = 0 if spilled is None else spilled.nbytes
            own = self._needed([part])
            if held and waiting + needed + own > holding.share():
                held = self._merged_aside(held, holding, rows)
                rows = merged = sum(each.length for each in held)
                needed = self._needed(held)
                if depth < DEPTH and waiting + 2 * needed > holding.share() and self._divides(held):
                    spilled = spilled or _SpilledGroups(
                        held[0], self._aggregators, depth, self._runtime, self._operator
                    )
                    spilled.add(held)
                    reducing = 2 * rows < given and not spilled.counted
                    held, waiting = [], spilled.nbytes
                    rows = merged = given = needed = listed = joined = 0
                holding.set(waiting + sum(each.nbytes for each in held))
            if spilled is not None and not reducing:
                spilled.add([part])
                holding.set(spilled.nbytes)
                continue
            held.append(part)
            rows += part.length
            given += part.length
            needed += own
            listed += part.listed
            if rows > 2 * merged + _FEW_GROUPS and listed >= _LISTED * joined and len(held) > 1:
                held = self._merged_aside(held, holding, rows)
                rows = merged = sum(each.length for each in held)
                listed = joined = sum(each.listed for each in held)
                needed = self._needed(held)
                holding.set(waiting + sum(each.nbytes for each in held))
            else:
                holding.set(holding.bytes + part.nbytes)
        if spilled is None:
            held = self._merged_aside(held, holding, rows)
            holding.set(sum(each.nbytes for each in held))
            yield from ((self._aggregators, part) for part in held)
            return
        spilled.add(held)
        held = []
        holding.set(0)
        yield from self._of_files(spilled, holding, depth)

    def _of_files(self, spilled: _SpilledGroups, holding: Holding, depth: int) -> Iterator[Merged]:
        """Yield the groups of files, each file's by itself."""
        if spilled.counted:
            counting = GroupMerge(spilled.aggregators, False, self._runtime, self._operator)
            yield from counting.merged(
                chain(chain.from_iterable(map(spilled.groups_of, spilled.files())), spilled.different()), holding
            )
            return
        files = spilled.files()
        share = holding.share()
        compared = spilled.compared
        fit = [file for file in files if file.length and file.working(compared) <= share]
        jobs = ((file.working(compared), partial(self._of_file, spilled, file)) for file in fit)
        for found in computed_ahead(jobs, self._runtime.context, holding):
            yield from ((self._aggregators, part) for part in found)
        for file in files:
            if file.working(compared) > share:
                yield from self.merged(spilled.groups_of(file), holding, depth + 1)
                holding.set(0)

    def _of_file(self, spilled: _SpilledGroups, file: SpilledRows) -> list[Partial]:
        return self._joined([spilled.like(file.whole())])

    def _needed(self, parts: Sequence[Partial]) -> int:
        """Return what it takes to hold and merge parts."""
        if self._runtime.memory.limit is None:
            return 0
        return sum(3 * part.nbytes + working_bytes(part.compared()) for part in parts)

    def _divides(self, parts: Sequence[Partial]) -> bool:
        """Tell whether dealing leaves less in each file: there are several groups, or values of one to be counted."""
        return sum(part.length for part in parts) > 1 or bool(_counted(self._aggregators))

    def _merged_aside(self, parts: list[Partial], holding: Holding, rows: int) -> list[Partial]:
        """Return parts that have no group in common: large ones as they come where that shows at once."""
        large = rows >= _FEW_GROUPS * len(parts) and parts and len(parts[0].keys) == 1
        alone = len(parts) == 1 and not parts[0].repeated
        if not parts or alone or (large and known_apart([part.keys[0] for part in parts])):
            return parts
        if self._runtime.memory.limit is not None:
            holding.also(self._needed(parts) - sum(part.nbytes for part in parts))
        return self._runtime.context.aside(lambda: self._joined(parts), rows + sum(part.listed for part in parts))

    def _joined(self, parts: list[Partial]) -> list[Partial]:
        """Return parts as one in which each group is there once."""
        joined = parts[0].like(concatenate_batches([part.as_batch() for part in parts]))
        groups = group_rows(joined.keys, joined.length)
        states = [each.merge(groups, state) for each, state in zip(self._aggregators, joined.states, strict=True)]
        return [Partial(groups.count, [groups.firsts(key) for key in joined.keys], states)]


def _counted(aggregators: Sequence[Aggregator]) -> dict[int, DistinctValues]:
    """Return the aggregates whose different values are only counted or added, by their places."""
    return {
        place: each
        for place, each in enumerate(aggregators)
        if isinstance(each, DistinctValues) and each.inner.of_fixed_size
    }


class _SpilledGroups:
    """Groups in files, and different values that are only counted or added in files of their own.

    Parameters
    ----------
    like
        Some of the groups.

    Attributes
    ----------
    counted
        The aggregates whose values are apart, by their places.
    aggregators
        What merges the states of the files' groups: for those whose values are apart the inner ones.
    """

    def __init__(
        self, like: Partial, aggregators: Sequence[Aggregator], depth: int, runtime: Runtime, operator: object
    ) -> None:
        self.counted = _counted(aggregators)
        self.aggregators = [
            self.counted[place].inner if place in self.counted else each for place, each in enumerate(aggregators)
        ]
        self._runtime = runtime
        self._operator = operator
        self._like = self._without_values(like)
        self._keys = [str(place) for place in range(len(like.keys))]
        context = runtime.context
        beside = len(self.counted)
        self._groups = Partitions(self._keys, depth, context, operator, beside)
        self._values = {
            place: Partitions([*self._keys, _VALUE], 0, context, operator, beside) for place in self.counted
        }

    @property
    def nbytes(self) -> int:
        """Bytes of what waits in memory to be written."""
        return waiting_bytes([self._groups, *self._values.values()])

    def add(self, parts: Sequence[Partial]) -> None:
        """Deal groups to the files."""
        for part in parts:
            for place, each in self.counted.items():
                groups, values = each.items_of(part.states[place])
                keys = {name: key.take(groups) for name, key in zip(self._keys, part.keys, strict=True)}
                self._values[place].add(Batch(len(values), {**keys, _VALUE: values}))
            self._groups.add(self._without_values(part).as_batch())

    @property
    def compared(self) -> int:
        """How many columns are looked at row by row when groups are merged."""
        return len(self._like.compared())

    def files(self) -> list[SpilledRows]:
        """Return the files: the groups of one are in no other."""
        return self._groups.files()

    def like(self, rows: Batch) -> Partial:
        """Return rows of a file as groups."""
        return self._like.like(rows)

    def groups_of(self, file: SpilledRows) -> Iterator[Partial]:
        """Yield the groups of a file."""
        return map(self._like.like, file.batches())

    def different(self) -> Iterator[Partial]:
        """Yield groups that have states of different values alone."""
        with self._runtime.memory.holding("Aggregate") as holding:
            for place, partitions in self._values.items():
                for batch in distinct_of_files(partitions.files(), self._runtime, holding, self._operator, 0):
                    yield self._of_values(batch, place)
                holding.set(0)

    def _of_values(self, batch: Batch, place: int) -> Partial:
        keys = [batch.columns[name] for name in self._keys]
        groups = group_rows(keys, batch.length)
        found = self._empty([groups.firsts(key) for key in keys], groups.count)
        found.states[place] = self.aggregators[place].partial(groups, [batch.columns[_VALUE]], None)
        return found

    def _without_values(self, part: Partial) -> Partial:
        """Return groups with no rows in the states of those whose values are apart."""
        states = [
            each.empty(part.length) if place in self.counted else state
            for place, (each, state) in enumerate(zip(self.aggregators, part.states, strict=True))
        ]
        return Partial(part.length, part.keys, states)

    def _empty(self, keys: list[Column], count: int) -> Partial:
        return Partial(count, keys, [each.empty(count) for each in self.aggregators])
