"""Deals the pieces of one query's work to devices, from one queue: a thread for each device takes the next piece."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from queue import Empty, Full, Queue
from threading import Thread
from typing import Generic, TypeVar

from qengine.exec.context import ExecutionContext, Status
from qengine.exec.gpu.device import guarded

__all__ = ["Dealing", "deal", "shares_in_words", "streamed"]

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
        The query's limits, which hold for every piece. ``gpu_memory_limit`` is that of each device.
    pieces
        The heaviest first.
    work
        Does a piece, given its place among all and limits of its own, with the thread's device as the current one.

    Attributes
    ----------
    taken
        How many pieces each device has done, by its number.
    """

    def __init__(
        self,
        context: ExecutionContext,
        pieces: Sequence[Piece],
        work: Callable[[int, Piece, ExecutionContext], None],
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
            for number in context.gpus[: len(pieces)]
        ]
        for thread in self._threads:
            thread.start()

    def _follow(self, number: int) -> None:
        """Do pieces on a device, as long as there are any."""
        try:
            with guarded(number):
                while self._waiting:
                    self.inner.check()
                    try:
                        place, piece = self._waiting.popleft()
                    except IndexError:  # another device was quicker
                        return
                    self._work(place, piece, self.inner)
                    self.taken[number] += 1
        except BaseException as error:  # is raised where all are waited for
            self._errors.append(error)
            self.inner.interrupt()

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
        except KeyboardInterrupt:
            self.context.interrupt()
            self.stop()
            self.context.raise_for(Status.INTERRUPTED)
        if self._errors:
            raise self._errors[0]

    def stop(self) -> None:
        """End what is still under way, and wait for that."""
        self.inner.interrupt()
        for thread in self._threads:
            thread.join()


def deal(
    context: ExecutionContext, pieces: Sequence[Piece], work: Callable[[Piece, ExecutionContext], Found]
) -> tuple[list[Found], dict[int, int]]:
    """Return what pieces give, in their order, and how many each device has done. Parameters, errors as of ``Dealing``."""
    found: dict[int, Found] = {}

    def keep(place: int, piece: Piece, inner: ExecutionContext) -> None:
        found[place] = work(piece, inner)

    dealing = Dealing(context, pieces, keep)
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

    def give(place: int, piece: Piece, inner: ExecutionContext) -> None:
        for each in work(piece, inner):
            while True:
                try:
                    room.put(each, timeout=_LOOK_SECONDS)
                    break
                except Full:
                    inner.check()

    dealing = Dealing(context, pieces, give)
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
