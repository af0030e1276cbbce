"""The memory account of one execution: what operators, values, kernels and gathered rows take, and its limit.

Everything is charged before it is made. Three kinds of entry share one account:

- A ``Holding`` is what an operator or a result keeps: set to its size, released at the end.
- A charge is for a value that an expression is about to make. Values are freed by Python, so charges end by scope:
  who evaluates an expression takes a ``mark`` before and settles it with what is left afterwards.
- Native kernels count in ``Control.memory_used`` what they take. They get as limit what the others leave.

Inside a loop of the language (``reduce``, a comprehension, the rows of a batch) the values of earlier turns are garbage
but for what the loop keeps. To find out what that is takes time, so a ``Loop`` is asked only when the account is full.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from sys import getsizeof
from typing import Any

from qengine._control import Control
from qengine.errors import OutOfMemory
from qengine.exec.sizes import size_of

_LONG = 1 << 20  # bytes whose making takes long enough to look at the clock before
_SLIGHT = 1 << 20  # bytes that are needed for a while and not worth refusing a query
_ENDLESS = 1 << 62
_STEPS = 1024  # turns of loops between two looks at the clock
_LARGEST_BATCH, _SMALLEST_BATCH = 1 << 26, 1 << 16
_BATCHES = 16  # what a batch may hold is this part of the limit


def _unchecked() -> None:
    """Never raise."""


class Oversized(Exception):
    """The columns of a batch would take too much: it must be cut. ``rows``: how many may do."""

    def __init__(self, rows: int) -> None:
        super().__init__(rows)
        self.rows = max(1, rows)


class MemoryAccount:
    """The bytes that one execution holds.

    Parameters
    ----------
    limit
        The most bytes, None for no limit.
    check
        Raises if the execution must stop; called before what takes long.
    control
        Counts what native kernels take; None where there are none.

    Attributes
    ----------
    charged
        Bytes held and charged, those of values included that open loops have dropped.
    batch_bytes
        What the columns of one batch may take, where it has several rows.
    """

    __slots__ = ("_alarm", "_control", "_held", "_loops", "_steps", "batch_bytes", "charged", "check", "limit", "peak")

    def __init__(
        self, limit: int | None, check: Callable[[], None] = _unchecked, control: Control | None = None
    ) -> None:
        self.begin(limit, check, control)

    def begin(self, limit: int | None, check: Callable[[], None], control: Control | None) -> None:
        """Begin anew, for another execution with these limits: nothing is held any more."""
        self.limit = limit
        self.check = check
        self.charged = 0
        self.peak = 0
        self.batch_bytes = _LARGEST_BATCH
        if limit is not None:
            self.batch_bytes = max(_SMALLEST_BATCH, min(_LARGEST_BATCH, limit // _BATCHES))
        self._control = control
        self._held = 0
        self._steps = 0
        self._loops: list[Loop] = []
        self._alarm = _ENDLESS if limit is None else max(0, limit)

    def end(self) -> None:
        """Let go of the execution."""
        self.check = _unchecked
        self._control = None

    def holding(self, operator: str) -> Holding:
        """Return a holding of no bytes for an operator, named as EXPLAIN names it."""
        return Holding(self, operator)

    def left(self) -> int:
        """Return how many bytes may still be taken, at least 1; there is a limit."""
        assert self.limit is not None
        return max(1, self.limit - self.charged - self._native())

    def unclaimed(self, own: int) -> float:
        """Return how many bytes all but ``own`` leave of the limit; infinite where there is none."""
        return inf if self.limit is None else max(0, self.limit - self.charged - self._native() + own)

    # ------------------------------------------------------------ values

    def charge(self, count: int) -> None:
        """Charge ``count`` bytes of a value that is about to be made.

        Raises
        ------
        OutOfMemory
            Where the limit doesn't allow it.
        QueryTimeout, QueryInterrupted
            Where the execution must stop, and the value is a large one.
        """
        self.charged += count
        if self.charged > self._alarm or count >= _LONG:
            self._look()

    def look(self, count: int) -> None:
        """Look at the clock before a value of ``count`` bytes is made, if that takes long."""
        if count >= _LONG:
            self.check()

    def settle(self, mark: int, result: Any) -> None:
        """Replace what was charged since ``mark`` by what an expression's ``result`` takes, where that is known."""
        kind = type(result)
        if kind is str:
            self.charged = min(self.charged, mark + getsizeof(result))
        elif kind is int or kind is bool or kind is float or result is None:
            self.charged = mark

    def steps(self, count: int) -> None:
        """Count turns of loops that are about to be made; looks at the clock after many."""
        self._steps += count
        if self._steps >= _STEPS:
            self._steps = 0
            self.check()

    def loop(self, retained: Callable[[], int]) -> Loop:
        """Open a loop; ``retained`` tells the bytes of what its turns so far have left."""
        loop = Loop(self, retained)
        self._loops.append(loop)
        return loop

    def close(self, loop: Loop) -> None:
        """Close a loop, the innermost; count what it has left, if its turns took much."""
        self._loops.pop()
        if self.limit is None:
            return
        if 8 * (self.charged - loop.mark) > self.limit:
            self.charged = min(self.charged, loop.mark + loop.retained())
        self._alarm = self.limit - self._native()

    def _look(self) -> None:
        self.check()
        if self.limit is None:
            return
        dropped = sum(loop.dropped() for loop in self._loops) if self.charged > self._alarm else 0
        left = self.limit - self._native() - (self.charged - dropped)
        if left < 0:
            raise OutOfMemory(
                f"The query's values take more than the memory limit of {self.limit:,} bytes.",
                hint="Raise memory_limit, or make shorter strings and lists: aggregate or filter earlier.",
                code="OutOfMemory",
            )
        self.peak = max(self.peak, self.limit - left)
        self._alarm = self.charged + left

    def _native(self) -> int:
        return 0 if self._control is None else int(self._control.memory_used)

    # ------------------------------------------------------------ batches

    def room(self, rows: int, count: int) -> None:
        """Make sure that columns of ``count`` bytes for ``rows`` rows are no more than a batch may have.

        Raises
        ------
        Oversized
            If they are, and the batch can be cut.
        OutOfMemory
            If it has but one row, and the limit doesn't allow it.
        """
        if count > self.batch_bytes:
            if rows > 1:
                raise Oversized(rows * self.batch_bytes // count)
            if self.limit is not None:
                self.afford(count)

    def afford(self, count: int) -> None:
        """Make sure that ``count`` bytes more could be held."""
        self.charge(count)
        self.charged -= count

    # ------------------------------------------------------------ holdings

    def hold(self, operator: str, before: int, count: int) -> None:
        """Let what an operator holds go from ``before`` to ``count`` bytes (by ``Holding``)."""
        used = self.charged + count - before
        if self.limit is not None:
            native = self._native()
            if count > before and used + native > self.limit:
                raise OutOfMemory(
                    f"{operator} needs {count:,} bytes for its rows, and other operators hold "
                    f"{self.charged - before + native:,}: more than the memory limit of {self.limit:,}.",
                    hint="Raise memory_limit, filter earlier, return fewer columns, or add a LIMIT to ORDER BY.",
                    code="OutOfMemory",
                )
            self._held += count - before
            self._alarm = self.limit - native
            if self._control is not None:
                self._control.memory_limit = max(1, self.limit - self._held)
        self.charged = used
        self.peak = max(self.peak, used)


class Loop:
    """A loop of the language that is being run.

    ``begun``: what was charged when its present turn began; who runs it keeps that up to date.
    """

    __slots__ = ("begun", "mark", "retained")

    def __init__(self, account: MemoryAccount, retained: Callable[[], int]) -> None:
        self.mark = self.begun = account.charged
        self.retained = retained

    def dropped(self) -> int:
        """Return the bytes that were charged for earlier turns and are no longer held."""
        taken = self.begun - self.mark
        return max(0, taken - self.retained()) if taken else 0


class ListBytes:
    """Measures a growing list, each item once."""

    __slots__ = ("_bytes", "_items", "_sized")

    def __init__(self, items: list[Any]) -> None:
        self._items = items
        self._sized = 0
        self._bytes = 0

    def __call__(self) -> int:
        """Return the bytes of the items so far."""
        fresh = self._items[self._sized :]
        self._sized += len(fresh)
        self._bytes += size_of(fresh)
        return self._bytes


class Holding:
    """What one operator holds; give it back with ``release`` or by leaving the ``with`` block."""

    __slots__ = ("_account", "_operator", "bytes")

    def __init__(self, account: MemoryAccount, operator: str) -> None:
        self._account = account
        self._operator = operator
        self.bytes = 0

    def __enter__(self) -> Holding:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def add(self, count: int) -> None:
        """Hold ``count`` bytes more.

        Raises
        ------
        OutOfMemory
            Where the limit doesn't allow it.
        """
        self.set(self.bytes + count)

    def set(self, count: int) -> None:
        """Hold ``count`` bytes in all.

        Raises
        ------
        OutOfMemory
            Where the limit doesn't allow it.
        """
        self._account.hold(self._operator, self.bytes, count)
        self.bytes = count

    def also(self, count: int) -> None:
        """Make sure that ``count`` bytes more could be held for a while, for what is made of those that are.

        A few don't matter.

        Raises
        ------
        OutOfMemory
            Where the limit doesn't allow it.
        """
        if count > _SLIGHT:
            held = self.bytes
            self.add(count)
            self.set(held)

    def share(self) -> float:
        """Return how many bytes the operator takes before it spills: half of what others leave, so that there is
        room for one more. Infinite where there is no limit.
        """
        return self._account.unclaimed(self.bytes) / 2

    def release(self) -> None:
        """Give everything back."""
        self.set(0)
