"""Output that goes through a pager once it is longer than the terminal, while it is still being written."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys

from qengine._printable import printable
from qengine.cli.terminal import Screen


class PagerClosed(Exception):
    """The user left the pager: nobody reads the rest."""


class PagedOutput(Screen):
    """The shell's screen: short output is printed, long output is piped to ``$PAGER`` (``less``) as it comes."""

    def __init__(self) -> None:
        self._held: list[str] = []
        self._lines = 0
        self._pager: subprocess.Popen[str] | None = None
        self._limit = shutil.get_terminal_size().lines - 2 if sys.stdout.isatty() else None

    def write(self, text: str) -> int:
        """Write, and start the pager when the screen is full.

        Raises
        ------
        PagerClosed
            If the user has left the pager.
        """
        text = printable(text)
        if self._pager is not None:
            self._feed(text)
        elif self._limit is None:
            sys.stdout.write(text)
        else:
            self._held.append(text)
            self._lines += text.count("\n")
            if self._lines > self._limit:
                self._open()
        return len(text)

    def flush(self) -> None:
        """Print what was held back, or wait until the user leaves the pager; what follows starts a new page."""
        self._lines = 0
        if self._pager is None:
            sys.stdout.write("".join(self._held))
            sys.stdout.flush()
            self._held.clear()
            return
        pager, self._pager = self._pager, None
        assert pager.stdin is not None
        with contextlib.suppress(OSError):
            pager.stdin.close()
        while pager.returncode is None:
            with contextlib.suppress(KeyboardInterrupt):  # it is the pager's, which stays
                pager.wait()

    def _open(self) -> None:
        command = os.environ.get("PAGER") or ("less -SRFX" if shutil.which("less") else "")
        if not command:
            self._limit = None
            self.flush()
            return
        self._pager = subprocess.Popen(command, stdin=subprocess.PIPE, text=True, shell=True)
        held, self._held = "".join(self._held), []
        self._feed(held)

    def _feed(self, text: str) -> None:
        assert self._pager is not None and self._pager.stdin is not None
        try:
            self._pager.stdin.write(text)
        except OSError:
            raise PagerClosed from None
