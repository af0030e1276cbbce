"""A progress bar on the terminal for loading that takes over a second; nothing elsewhere."""

from __future__ import annotations

import sys
import threading
from types import TracebackType
from typing import Any

from qengine._printable import printable_line

_DELAY = 1.0  # seconds before a bar is worth showing


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
        self._bar: Any = None
        self._row: Any = None

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
        if self._bar is not None:
            self._bar.stop()

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
        if self._bar is not None:
            self._bar.update(self._row, completed=done)

    def _start(self) -> None:
        from rich.console import Console
        from rich.markup import escape
        from rich.progress import Progress as Bar

        with self._lock:
            self._bar = Bar(console=Console(stderr=True), transient=True)
            self._row = self._bar.add_task(escape(self._task), total=self._total, completed=self._done)
            self._bar.start()
