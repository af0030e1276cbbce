"""Something that is done once nothing has been under way for a while."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class WhenIdle:
    """Calls ``act`` in a thread of its own when no ``with`` block of it has been entered for some seconds.

    It is called once after each time that any was. The thread ends with the call.

    Parameters
    ----------
    seconds
        How long nothing must have been under way.
    clock, sleep
        Of the thread; tests have their own.
    """

    def __init__(
        self,
        act: Callable[[], None],
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._act = act
        self._seconds = seconds
        self._clock = clock
        self._sleep = sleep
        self._under_way = 0
        self._idle_since = 0.0
        self._waiting = False
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._lock:
            self._under_way += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._under_way -= 1
            self._idle_since = self._clock()
            start, self._waiting = not self._waiting, True
        if start:
            threading.Thread(target=self.wait, name="qengine-idle", daemon=True).start()

    def wait(self) -> None:
        """Wait until it is time, and act."""
        while (left := self._left()) > 0:
            self._sleep(left)
        self._act()

    def _left(self) -> float:
        """Return for how long to sleep; 0: now is the time, and whoever comes later starts another wait."""
        with self._lock:
            left = self._seconds if self._under_way else self._idle_since + self._seconds - self._clock()
            if left <= 0:
                self._waiting = False
            return max(0.0, left)
