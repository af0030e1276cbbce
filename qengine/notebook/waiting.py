"""Waits for a result, and says meanwhile how far it is; an interrupt stops the query."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from qengine.errors import QueryInterrupted

if TYPE_CHECKING:
    from qengine.result import Result

_ROWS = 200
_QUIET = 1.0  # seconds before anything is said
_EVERY = 0.5


def fetched_ahead(result: Result) -> None:
    """Compute the rows that will be shown, so that what fails does so in the cell; they can still be fetched.

    Raises
    ------
    QueryInterrupted
        Where the user has stopped it.
    QengineError
        What the query raises.
    """
    failed: list[BaseException] = []

    def fetch() -> None:
        try:
            result.preview(_ROWS)
        except BaseException as error:
            failed.append(error)

    begin = time.monotonic()
    worker = threading.Thread(target=fetch, name="qengine-notebook", daemon=True)
    worker.start()
    shown: _Line | None = None
    try:
        worker.join(_QUIET)
        while worker.is_alive():
            shown = shown or _line(result)
            shown.say(progress(result, time.monotonic() - begin))
            worker.join(_EVERY)
    except KeyboardInterrupt:
        result.cancel()
        worker.join()
        raise QueryInterrupted("The query was interrupted.", code="Interrupted") from None
    finally:
        if shown is not None:
            shown.end(f"took {time.monotonic() - begin:.1f} s")
    if failed:
        raise failed[0]


def progress(result: Result, seconds: float) -> str:
    """Return how far a result is: the time, the rows so far and how many are expected, the memory."""
    stats, plan = result.stats, result.plan
    rows = f"{stats.rows:,} rows"
    with suppress(Exception):  # an expectation is worth no failure
        rows += f" of about {plan.estimates[id(plan.root)]:,.0f}"
    return f"{seconds:.1f} s, {rows}, {stats.bytes / 1e6:,.0f} MB on the {stats.device.upper()}; stop: interrupt"


class _Line:
    """A line below the cell, which changes."""

    def __init__(self) -> None:
        self._shown: Any = None

    def say(self, text: str) -> None:
        """Show a text in place of the one that is shown."""
        from IPython.display import display

        bundle = {"text/plain": text}
        if self._shown is None:
            self._shown = display(bundle, raw=True, display_id=True)
        else:
            self._shown.update(bundle, raw=True)

    end = say


class _Button(_Line):
    """A line with a button, which stops the query."""

    def __init__(self, result: Result) -> None:
        import ipywidgets
        from IPython.display import display

        super().__init__()
        self._button = ipywidgets.Button(description="Stop", icon="stop", layout={"width": "80px"})
        self._text = ipywidgets.Label()
        self._button.on_click(lambda _: result.cancel())
        self._box = ipywidgets.HBox([self._button, self._text])
        # Some kernels send what comes from a widget to the shell that made it, which is busy: not for this one,
        # and before it is shown, since a click can come at once.
        vars(self._button.comm).pop("_reply_subshell_id", None)
        display(self._box)

    def say(self, text: str) -> None:
        self._text.value = text

    def end(self, text: str) -> None:
        """Take the button away and leave the text, which saved notebooks keep."""
        self._box.close()
        super().say(text)


def _line(result: Result) -> _Line:
    """Return a line with a button where a click can come while the cell runs: by a subshell of the kernel."""
    from IPython.core.getipython import get_ipython

    kernel = getattr(get_ipython(), "kernel", None)
    if getattr(kernel, "_supports_kernel_subshells", False):
        with suppress(ImportError):
            return _Button(result)
    return _Line()
