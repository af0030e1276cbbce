"""How a device computes an ``Eliminate``: which kernels give its steps and its totals, in which order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from threading import Lock
from typing import Any, overload

from qengine._frozen import frozen


@frozen
class KernelCall:
    """One run of a kernel of the table (``plan.kernels``), which is told by its name and the device.

    ``places``: the steps that it gives the numbers of, or the totals: the sums of the numbers of these steps.
    ``reads``: the steps that it takes, as the kernel's row orders them. ``results``: of a kernel that finds several
    sums at once, for each place which of them it is; of ``dot``, how many of the ``reads`` are its factors. ``cost``:
    nanoseconds that are expected.
    """

    kernel: str
    places: tuple[int, ...]
    reads: tuple[int, ...] = ()
    results: tuple[int, ...] = ()
    cost: float = 0.0


@frozen
class Among:
    """Calls over pairs of roots and their neighbours, which are run together, for some roots after the other.

    ``by_root``: the calls that sum them by the graph's vertices, or give their numbers to its pairs. ``totals``: those
    that add numbers over pairs up.
    """

    calls: tuple[KernelCall, ...]
    by_root: tuple[KernelCall, ...]
    totals: tuple[KernelCall, ...]

    @property
    def steps(self) -> tuple[int, ...]:
        """The places of the steps over pairs."""
        return tuple(place for call in self.calls for place in call.places)

    @property
    def all(self) -> tuple[KernelCall, ...]:
        """All calls, in order."""
        return (*self.calls, *self.by_root, *self.totals)


Call = KernelCall | Among


@frozen
class Schedule:
    """The calls of one device in order: each step that they read has been given before.

    ``cost``: nanoseconds that are expected. ``otherwise``: calls of kernels that take whatever comes, to be run where
    one of ``calls`` finds at run time what it can't take (``Kernel.unless``), or where a number exceeds 64 bits and
    one of them has no more; () where all of ``calls`` always do.
    """

    device: str
    calls: tuple[Call, ...]
    cost: float
    otherwise: tuple[Call, ...] = ()

    @property
    def every(self) -> tuple[KernelCall, ...]:
        """The calls, those among pairs in their place."""
        return tuple(call for each in self.calls for call in (each.all if isinstance(each, Among) else (each,)))


class Schedules(Sequence[Schedule]):
    """The schedules of one program, each made when it is first asked for: most statements run on one device.

    What makes them may refer to a graph. They compare by content, and are copied and pickled as a tuple. Any number of
    threads may ask at a time.
    """

    def __init__(self, making: Iterable[Schedule]) -> None:
        self._making = iter(making)
        self._made: list[Schedule] = []
        self._lock = Lock()

    def _begun(self, count: int) -> bool:
        """Make so many if there are; tell whether there are."""
        with self._lock:
            while len(self._made) < count and (made := next(self._making, None)) is not None:
                self._made.append(made)
            return len(self._made) >= count

    def _all(self) -> tuple[Schedule, ...]:
        return tuple(iter(self))

    def __iter__(self) -> Iterator[Schedule]:
        count = 0
        while self._begun(count + 1):
            yield self._made[count]
            count += 1

    def __bool__(self) -> bool:
        return self._begun(1)

    def __len__(self) -> int:
        return len(self._all())

    @overload
    def __getitem__(self, place: int) -> Schedule: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Schedule, ...]: ...
    def __getitem__(self, place: int | slice) -> Schedule | tuple[Schedule, ...]:
        if isinstance(place, int) and place >= 0 and self._begun(place + 1):
            return self._made[place]
        return self._all()[place]

    def __eq__(self, other: object) -> bool:
        return self._all() == tuple(iter(other)) if isinstance(other, Schedules | tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._all())

    def __repr__(self) -> str:
        return repr(self._all())

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (self._all(),)
