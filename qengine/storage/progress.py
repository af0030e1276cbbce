"""A progress bar on the terminal for loading that takes over a second; nothing elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType

from qengine._printable import printable_line

_DELAY = 1.0  # seconds before a bar is worth showing
_EVERY = 0.1  # seconds between two states of it
_CELLS = 40
_CLEAR = "\r\x1b[K"


class Progress:
    """Counts steps of a task and shows them on stderr, if that is a terminal, once the task takes long.

    Parameters
    ----------
    task
        What is done, for example ``"Reading"``.
    total
        Number of steps.
    """

    def __init__(self, task: str, total: float) -> None:
        self._task = printable_line(task)
        self._total = total
        self._done = 0.0
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._drawn: float | None = None  # when it was last drawn

    def __enter__(self) -> Progress:
        if sys.stderr.isatty():
            self._timer = threading.Timer(_DELAY, self._start)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is None:
            return
        self._timer.cancel()
        self._timer.join()
        if self._drawn is not None:
            self._write(_CLEAR)

    def advance(self, steps: float = 1.0) -> None:
        """Count steps, from any thread."""
        with self._lock:
            self._show(self._done + steps)

    def reach(self, done: float) -> None:
        """Say how many steps are done in all."""
        with self._lock:
            self._show(done)

    def _show(self, done: float) -> None:
        self._done = done
        if self._drawn is not None and time.monotonic() - self._drawn >= _EVERY:
            self._draw()

    def _start(self) -> None:
        with self._lock:
            self._draw()

    def _draw(self) -> None:
        self._drawn = time.monotonic()
        share = min(1.0, self._done / self._total) if self._total > 0 else 1.0
        full = round(share * _CELLS)
        self._write(f"{_CLEAR}{self._task} {'━' * full}{'─' * (_CELLS - full)} {share:4.0%}")

    def _write(self, text: str) -> None:
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except (OSError, ValueError):  # a terminal that has gone, or lacks the characters, is no reason to stop loading
            pass
