"""Deals the pieces of one query's work to devices, from one queue: a thread for each device takes the next piece."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from queue import Empty, Full, Queue
from threading import BrokenBarrierError, Thread
from typing import Generic, TypeVar

from qengine.exec.context import ExecutionContext, Status
from qengine.exec.gpu.device import guarded

_WAITING_CHUNKS = 4
"""Of each device, that have been found and are not taken yet."""

_LOOK_SECONDS = 0.02

Piece = TypeVar("Piece")
Found = TypeVar("Found")


class Dealing(Generic[Piece]):
    """Pieces that are being worked on by the devices of ``context.gpus``.

    The first error ends all of it: other devices stop within some milliseconds, and can be used as before.

    Parameters
    ----------
    context
        The query's limits, which hold for all. ``gpu_memory_limit`` is that of each device.
    pieces
        The heaviest first.
    work
        Does what there is for one device, with that as the thread's current one: given an iterator that takes the next
        piece, with its place among all, as long as there are any, and limits of its own.

    Attributes
    ----------
    taken
        How many pieces each device has taken, by its number.
    """

    def __init__(
        self,
        context: ExecutionContext,
        pieces: Sequence[Piece],
        work: Callable[[Iterator[tuple[int, Piece]], ExecutionContext], None],
    ) -> None:
        self.context = context
        self.inner = context.beside()
        self.inner.gpu_memory_limit = context.gpu_memory_limit
        self.taken = dict.fromkeys(context.gpus, 0)
        self._waiting = deque(enumerate(pieces))
        self._work = work
        self._errors: list[BaseException] = []
        self._threads = [
            Thread(target=self._follow, args=(number,), name=f"qengine-gpu-{number}", daemon=True)
            for number in self.takers(len(pieces))
        ]
        for thread in self._threads:
            thread.start()

    def takers(self, pieces: int) -> tuple[int, ...]:
        """Return the devices that work: no more than there are pieces."""
        return self.context.gpus[:pieces]

    def _follow(self, number: int) -> None:
        """Let a device work as long as there are pieces."""
        try:
            with guarded(number):
                self._work(self._pieces(number), self.inner)
        except BaseException as error:  # is raised where all are waited for
            self._errors.append(error)
            self.inner.interrupt()

    def _pieces(self, number: int) -> Iterator[tuple[int, Piece]]:
        while True:
            self.inner.check()
            try:
                piece = self._waiting.popleft()
            except IndexError:
                return
            self.taken[number] += 1
            yield piece

    @property
    def under_way(self) -> bool:
        """Whether any device still works."""
        return any(thread.is_alive() for thread in self._threads)

    def wait(self) -> None:
        """Wait for all devices.

        Raises
        ------
        QengineError
            The first error of any piece; ``DeviceError`` where a device has failed.
        """
        try:
            for thread in self._threads:
                thread.join()
        except BaseException as error:  # Ctrl-C, or what another signal's handler raises
            self.context.interrupt()
            self.stop()
            if isinstance(error, KeyboardInterrupt):
                self.context.raise_for(Status.INTERRUPTED)
            raise
        if self._errors:  # who waited for one that has failed says nothing of its own
            raise next((each for each in self._errors if not isinstance(each, BrokenBarrierError)), self._errors[0])

    def stop(self) -> None:
        """End what is still under way, and wait for that."""
        self.inner.interrupt()
        for thread in self._threads:
            thread.join()


def each_device(
    context: ExecutionContext, pieces: Sequence[Piece], work: Callable[[Iterator[Piece], ExecutionContext], Found]
) -> tuple[list[Found], dict[int, int]]:
    """Return what the devices give, in no given order, each for the pieces that it takes; and how many it took.

    Parameters and errors as of ``Dealing``.
    """
    found: list[Found] = []
    dealing = Dealing(context, pieces, lambda own, inner: found.append(work((piece for _, piece in own), inner)))
    dealing.wait()
    return found, dealing.taken


def deal(
    context: ExecutionContext, pieces: Sequence[Piece], work: Callable[[Piece, ExecutionContext], Found]
) -> tuple[list[Found], dict[int, int]]:
    """Return what pieces give, in their order, and how many each device took; all else as of ``Dealing``."""
    found: dict[int, Found] = {}

    def follow(own: Iterator[tuple[int, Piece]], inner: ExecutionContext) -> None:
        for place, piece in own:
            found[place] = work(piece, inner)

    dealing = Dealing(context, pieces, follow)
    dealing.wait()
    return [found[place] for place in range(len(pieces))], dealing.taken


def streamed(
    context: ExecutionContext,
    pieces: Sequence[Piece],
    work: Callable[[Piece, ExecutionContext], Iterator[Found]],
    done: Callable[[dict[int, int]], None],
) -> Iterator[Found]:
    """Yield what pieces yield, as it comes; then ``done`` is told how many each device has done.

    Parameters, errors as of ``Dealing``. Devices wait where what they have found isn't taken.
    """
    room: Queue[Found] = Queue(_WAITING_CHUNKS * len(context.gpus))

    def follow(own: Iterator[tuple[int, Piece]], inner: ExecutionContext) -> None:
        for each in (each for _, piece in own for each in work(piece, inner)):
            while True:
                try:
                    room.put(each, timeout=_LOOK_SECONDS)
                    break
                except Full:
                    inner.check()

    dealing = Dealing(context, pieces, follow)
    try:
        while True:
            over = not dealing.under_way  # before the look: what is put later is seen by the next
            try:
                yield room.get(timeout=0 if over else _LOOK_SECONDS)
            except Empty:
                if over:
                    break
        dealing.wait()
        done(dealing.taken)
    finally:
        dealing.stop()


def shares_in_words(taken: dict[int, int]) -> str:
    """Say how many pieces each device has done, for a profile."""
    counts = ", ".join(f"{count} on GPU {number}" for number, count in sorted(taken.items()))
    return f"done in {sum(taken.values())} pieces: {counts}"
