"""How late estimates of a plan come, and counts that take their time for nothing.

What ends an estimate can't be looked at between any two of its steps.
"""

from __future__ import annotations

_MOST = 0.95  # of a budget: some is left to tell what statistics expect
_CAUTION = 1.5  # how much earlier the next one ends than this one should have
_MOST_BUDGETS = 8
_EARLY = 0.1
_FORGOTTEN, _LEAST_FORGOTTEN = 0.5, 0.05
"""The share by which an estimate that came early, by ``_EARLY`` of its budget, lets the next one go on for longer: half
after one that came late, as the first that runs what follows a pattern does, half as much after each other one."""

_HOPELESS = 24.0  # a count is given a third of the time that is left: it may take twelve times as long to be tried


class Lateness:
    """Milliseconds by which estimates of one plan are to end earlier than they are told to, by their budget."""

    def __init__(self) -> None:
        self._late: dict[float, tuple[float, float]] = {}  # by budget, with the share that is forgotten

    def of(self, budget_ms: float) -> float:
        """Return by how much an estimate of this budget has to end earlier; 0 where none was made before."""
        return self._late.get(budget_ms, (0.0, 0.0))[0]

    def note(self, budget_ms: float, milliseconds: float) -> None:
        """Note how long an estimate took; the first of a budget finds nothing warm, and tells nothing."""
        known = self._late.get(budget_ms)
        if known is None:
            if len(self._late) >= _MOST_BUDGETS:  # budgets that are never the same again
                self._late.clear()
            self._late[budget_ms] = 0.0, 2 * _FORGOTTEN
            return
        late, forgotten = known
        over = milliseconds - budget_ms
        if over > 0:
            late, forgotten = late + _CAUTION * over, max(forgotten / 2, _LEAST_FORGOTTEN)
        elif over < -_EARLY * budget_ms:
            late -= forgotten * late
        self._late[budget_ms] = min(late, _MOST * budget_ms), forgotten


class Stuck:
    """The longest time in which a count of a plan came to nothing: it needs twice that to be tried again."""

    def __init__(self) -> None:
        self._milliseconds = 0.0

    def within(self, milliseconds: float) -> bool:
        """Tell whether a count would come to nothing in that time, too."""
        return milliseconds < 2 * self._milliseconds

    def note(self, milliseconds: float, busy: float, share: float = 0.0) -> None:
        """Note that one of ``milliseconds`` came to nothing, of which the processor was busy with it for ``busy``.

        ``share``: of all that it had counted by then. One that would need several times as long is not tried either.
        """
        if busy > milliseconds / 2:  # else it was others that took the time
            self._milliseconds = max(self._milliseconds, milliseconds, busy / share / _HOPELESS if share else 0.0)
