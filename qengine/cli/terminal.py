"""Errors, warnings and colours on a terminal."""

from __future__ import annotations

import codecs
import errno
import io
import os
import shutil
import sys
import traceback
from pathlib import Path
from typing import Any, Protocol, TypeGuard

from qengine._printable import printable
from qengine.errors import InternalError, Notice, QengineError, render

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_LINES = str.maketrans("┌┬┐├┼┤└┴┘─│", "+++++++++-|")


class Sink(Protocol):
    """Where text goes: a file, a buffer, a pager."""

    def write(self, text: str, /) -> int:
        """Write some text."""

    def flush(self) -> None:
        """Hand on what is held back."""


class Screen(io.TextIOBase):
    """Standard output as a person sees it: what is written is made safe to show."""

    @property
    def room(self) -> int | None:
        """How many cells a line has; None where standard output is no terminal."""
        return shutil.get_terminal_size().columns if sys.stdout.isatty() else None

    def writable(self) -> bool:
        """Say that the stream can be written to."""
        return True

    def write(self, text: str) -> int:
        """Write a text without what would steer the terminal."""
        sys.stdout.write(printable(text))
        return len(text)

    def flush(self) -> None:
        """Hand on what is held back."""
        sys.stdout.flush()


def standard_output() -> Sink:
    """Return where results go: the screen, or standard output as it is, where that is a file or a pipe."""
    return Screen() if sys.stdout.isatty() else sys.stdout


def room_of(out: Sink) -> int | None:
    """Return how many cells a line has where text goes, None where it has no end."""
    return out.room if isinstance(out, Screen) else None


def report(error: QengineError) -> None:
    """Write an error to standard error, in red on a terminal."""
    text = render(error)
    if colours(sys.stderr):
        first, _, rest = text.partition("\n")
        text = f"\x1b[1;31m{first}\x1b[0m" + (f"\n{rest}" if rest else "")
    print(text, file=sys.stderr)


def has_no_room(error: Exception) -> TypeGuard[OSError]:
    """Tell whether an error says that a disk is full, or a quota used up."""
    return isinstance(error, OSError) and error.errno in _NO_ROOM


def report_unforeseen(error: Exception, more: str) -> None:
    """Report output that finds no room, or a defect, with where it came up; ``more`` follows in the defect's hint."""
    if has_no_room(error):
        report(QengineError(f"The output can't be written: {error.strerror}."))
        return
    frames = traceback.extract_tb(error.__traceback__)
    place = next((each for each in reversed(frames) if "qengine" in each.filename), None)
    where = f" ({Path(place.filename).name}, line {place.lineno})" if place else ""
    hint = f"This is a mistake of qengine's own; {more}."
    report(InternalError(f"{type(error).__name__}: {error}{where}", hint=hint))


def colours(stream: Any) -> bool:
    """Tell whether to use colours on a stream: a terminal, and ``NO_COLOR`` is not set."""
    return not os.environ.get("NO_COLOR") and bool(stream.isatty()) and os.environ.get("TERM") != "dumb"


def write_any_character() -> None:
    """Have standard output write what its encoding lacks: lines of tables as ASCII, other characters as escapes."""
    codecs.register_error("qengine", _instead)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="qengine")


def _instead(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lost = error.object[error.start : error.end].translate(_LINES)
    return lost.encode("ascii", "backslashreplace").decode("ascii"), error.end


def warn(notice: Notice, text: str) -> None:
    """Write a warning about a statement to standard error."""
    print(render(notice, text), file=sys.stderr)
