"""Every error that qengine raises, and how one is shown: the line, a caret under the token, a hint.

``QengineError`` is the root. Catch it to catch everything that the engine reports on purpose; anything
else that escapes is a defect of the engine.
"""

from __future__ import annotations

from typing import NamedTuple

from qengine._frozen import frozen
from qengine._printable import printable_line

_MAX_LINE = 160


class Span(NamedTuple):
    """A place in a query's text: character offsets ``[start, end)``."""

    start: int
    end: int

    def to(self, other: Span) -> Span:
        """Return the span from this one's start to the other's end."""
        return Span(self.start, max(self.end, other.end))


class QengineError(Exception):
    """Root of all errors of the engine.

    Parameters
    ----------
    message
        One sentence: what is wrong, in the user's words.
    span
        Where in ``text``; None when the error has no place.
    text
        The query's text that ``span`` points into.
    hint
        What to do about it; None when nothing helps.
    code
        A stable name of the kind of error, for example ``"UndefinedVariable"``.
    """

    kind = "Error"

    def __init__(
        self,
        message: str,
        *,
        span: Span | None = None,
        text: str | None = None,
        hint: str | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.span = span
        self.text = text
        self.hint = hint
        self.code = code

    def __str__(self) -> str:
        return render(self)

    def _render_traceback_(self) -> list[str]:
        """Return what IPython shows: the caller's own lines and the error, without the engine's calls."""
        from pathlib import Path
        from traceback import extract_tb, format_list

        ours = str(Path(__file__).parent)
        frames = [each for each in extract_tb(self.__traceback__) if not each.filename.startswith(ours)]
        own = [each for each in frames if "IPython" not in each.filename]
        return [*format_list(own), f"{type(self).__name__}: {self}"]

    def at(self, text: str, span: Span | None = None) -> QengineError:
        """Fill in the place where it is missing, and return the error itself."""
        if self.text is None:
            self.text = text
        if self.span is None:
            self.span = span
        return self


class QuerySyntaxError(QengineError):
    """The text is not a query of the language."""

    kind = "Syntax error"


class SemanticError(QengineError):
    """The query is well formed but means nothing: unknown variable, wrong type, wrong use of an aggregate."""

    kind = "Semantic error"


class Unsupported(QengineError):
    """The query is legal, but this engine doesn't run it yet; it is never answered wrongly instead."""

    kind = "Unsupported"


class ExecutionError(QengineError):
    """A value made the query fail while it ran: a type error, division by zero, an argument out of range."""

    kind = "Execution error"


class ResourceError(QengineError):
    """The query was stopped by a limit or by the user."""

    kind = "Resource error"


class QueryTimeout(ResourceError):
    """The query ran longer than its ``timeout``."""

    kind = "Timeout"


class QueryInterrupted(ResourceError):
    """The query was stopped by Ctrl-C or ``graph.interrupt()``."""

    kind = "Interrupted"


class OutOfMemory(ResourceError):
    """The query needs more memory than ``memory_limit`` or the machine allows."""

    kind = "Out of memory"


class StorageError(QengineError):
    """A file can't be loaded, saved or opened: missing, damaged, of a newer format, or malformed."""

    kind = "Storage error"


class TransactionError(QengineError):
    """A transaction can't go on, or can't begin: it has ended, or this thread is inside another."""

    kind = "Transaction error"


class DeviceError(QengineError):
    """The asked device can't be used: no GPU, wrong driver, CuPy missing."""

    kind = "Device error"


class InternalError(QengineError):
    """A defect of the engine. Please report it with the query."""

    kind = "Internal error"


class StorageWarning(UserWarning):
    """A Python warning of a graph's files, as of a checkpoint in the background that has failed."""

    def __init__(self, message: str, *, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\nhint: {self.hint}"


class LoadingWarning(StorageWarning):
    """A warning while files are loaded: the graph may not hold what was meant, as where a file is left out."""


@frozen(held=True)
class Notice:
    """A warning that comes with a result: the query ran, but probably isn't what was meant."""

    code: str
    message: str
    span: Span | None = None
    hint: str | None = None


def render(error: QengineError | Notice, text: str | None = None) -> str:
    """Return an error or notice as text: message, line with caret, hint.

    All is safe to show on a terminal. Long lines are cut to a window round the place, so that a 10 MB query gives a
    short message.
    """
    kind = error.kind if isinstance(error, QengineError) else "Warning"
    lines = [f"{kind}: {printable_line(error.message)}"]
    text = text if text is not None else getattr(error, "text", None)
    if text is not None and error.span is not None:
        lines += _excerpt(text, error.span)
    if error.hint:
        lines.append(f"hint: {printable_line(error.hint)}")
    return "\n".join(lines)


def _excerpt(text: str, span: Span) -> list[str]:
    start = min(max(span.start, 0), len(text))
    if start == len(text):  # end of input: point behind the last character that is not white space
        start = len(text.rstrip())
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", start)
    last = len(text) if last < 0 else last
    number = text.count("\n", 0, first) + 1
    column = start - first
    width = max(1, min(span.end, last) - start)
    left = max(0, column - _MAX_LINE // 2) if last - first > _MAX_LINE else 0
    line = text[first + left : min(last, first + left + _MAX_LINE)].replace("\t", " ")
    line = printable_line(line)  # of as many characters
    head = ("…" if left else "") + line + ("…" if first + left + _MAX_LINE < last else "")
    offset = column - left + (1 if left else 0)
    label = f"{number} | "
    caret = "^" * max(1, min(width, len(head) - offset))
    return [f"  {label}{head}", f"  {' ' * (len(label) - 2)}| {' ' * offset}{caret}"]


def described(error: Exception) -> str:
    """Return what a user's code raised as the end of a sentence: its class and what it says, without place and hint."""
    text = error.message if isinstance(error, QengineError) else str(error)
    return f"{type(error).__name__}: {text.rstrip('.')}" if text else type(error).__name__
