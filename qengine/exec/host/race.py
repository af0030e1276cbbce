"""A count that takes long is overtaken: searches in other matching orders run beside it, and the first to end wins.

The optimizer's estimates assume that relationships are independent; in dense patterns of many vertices they are off by
orders of magnitude, and an order chosen by them can take a thousand times the time of the best. Samples of the graph
itself tell orders apart, at the price of some milliseconds: more than most queries take, little where a search is
still running after a quarter of a second. A few promising orders are then tried in turns, each turn longer than the
last. Since two searches at a time share the cores, the worst that poor rivals do is to double the time.
"""

from __future__ import annotations

import time

from qengine.errors import QengineError, QueryInterrupted
from qengine.exec.common.resolve import resolve
from qengine.exec.context import ExecutionContext
from qengine.exec.host.native_search import SearchHandle
from qengine.exec.view import ExecView, MaskProvider
from qengine.plan.physical import Search

_PATIENCE = 0.25
"""Seconds that a search takes before others are looked for."""

_SAMPLES = 500
_FIRST_TURN = 0.1
_LONGER = 4
"""A rival runs for this many seconds; in its next turn, from the beginning again, for this many times as long."""

_POLL_MS = 10
"""How long one of two searches is waited for before the other is."""


class _Rivals:
    """Searches for the same total in other orders, one at a time under way, under limits of their own."""

    def __init__(
        self, store: ExecView, search: Search, context: ExecutionContext, masks: MaskProvider, chunk_rows: int
    ) -> None:
        self._store, self._masks, self._chunk_rows = store, masks, chunk_rows
        self._context = context.beside()
        assert context.rivals is not None
        self._left = list(context.rivals(store, search, masks, self._context, _SAMPLES))
        self._turn = _FIRST_TURN
        self._running: SearchHandle | None = None
        self._until = 0.0

    def total(self) -> tuple[int, Search] | None:
        """Return the total and which search found it, None while it isn't known."""
        if not self._left:
            return None
        if self._running is None:
            resolved = resolve(self._store, self._left[0], self._masks)
            if resolved is None:
                return 0, self._left[0]
            self._running = SearchHandle(resolved, (), 1, self._context, self._chunk_rows)
            self._until = time.monotonic() + self._turn
        if self._running.wait(_POLL_MS)[1]:
            return self._running.total(), self._left[0]
        if len(self._left) > 1 and time.monotonic() >= self._until:
            self.close()
            self._left.append(self._left.pop(0))
            self._turn *= _LONGER ** (1 / len(self._left))
        return None

    def close(self) -> None:
        """Stop the one under way."""
        if self._running is not None:
            self._running.close()
            self._running = None


def raced(
    running: SearchHandle,
    store: ExecView,
    search: Search,
    context: ExecutionContext,
    masks: MaskProvider,
    chunk_rows: int,
) -> tuple[int, Search]:
    """Return the total of a search without seeds that walks nothing, orbits left out, and which search found it.

    ``running`` is ``search`` under way; it is left open. A search whose order is fixed runs alone.

    Raises
    ------
    QueryTimeout, QueryInterrupted, OutOfMemory
        By the context's limits. Rivals that fail are dropped.
    """
    begin = time.monotonic()
    rivals: _Rivals | None = None
    alone = search.fixed or context.rivals is None
    try:
        while True:
            if running.wait(*(() if rivals is None else (_POLL_MS,)))[1]:
                return running.total(), search
            if alone or time.monotonic() - begin < _PATIENCE:
                continue
            try:
                if rivals is None:
                    rivals = _Rivals(store, search, context, masks, chunk_rows)
                elif (found := rivals.total()) is not None:
                    return found
            except QueryInterrupted:  # Ctrl-C while samples were drawn: it is meant for the whole query
                context.interrupt()
            except QengineError:  # the search itself meets the limits, too, if they are what it failed by
                alone = True
                if rivals is not None:
                    rivals.close()
                rivals = None
    finally:
        if rivals is not None:
            rivals.close()
