"""Waits for a result, and says meanwhile how far it is; an interrupt stops the query."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from qengine.errors import QueryInterrupted

if TYPE_CHECKING:
    from qengine.result import Result

__all__ = ["fetched_ahead", "progress"]

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
    shown = None
    try:
        worker.join(_QUIET)
        while worker.is_alive():
            shown = _say(progress(result, time.monotonic() - begin), shown)
            worker.join(_EVERY)
    except KeyboardInterrupt:
        result.cancel()
        worker.join()
        raise QueryInterrupted("The query was interrupted.", code="Interrupted") from None
    finally:
        if shown is not None:
            _say(f"took {time.monotonic() - begin:.1f} s", shown)
    if failed:
        raise failed[0]


def progress(result: Result, seconds: float) -> str:
    """Return how far a result is: the time, the rows so far and how many are expected, the memory."""
    stats, plan = result.stats, result.plan
    rows = f"{stats.rows:,} rows"
    with suppress(Exception):  # an expectation is worth no failure
        rows += f" of about {plan.estimates[id(plan.root)]:,.0f}"
    return f"{seconds:.1f} s, {rows}, {stats.bytes / 1e6:,.0f} MB on the {stats.device.upper()}; stop: interrupt"


def _say(text: str, shown: Any) -> Any:
    """Show a line, in place of the one that is shown."""
    from IPython.display import display

    bundle = {"text/plain": text}
    if shown is None:
        return display(bundle, raw=True, display_id=True)
    shown.update(bundle, raw=True)
    return shown
