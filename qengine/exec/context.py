"""What an execution carries from operator to operator: parameters, limits, and the way to stop it."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from qengine._control import Control, Status, call
from qengine._frozen import record
from qengine.errors import InternalError, OutOfMemory, QueryInterrupted, QueryTimeout, ResourceError, SemanticError
from qengine.exec.memory import Holding, MemoryAccount
from qengine.plan.physical import Search

__all__ = ["Control", "ExecutionContext", "OperatorStats", "Rivals", "Status"]

_ENDLESS = 1e9  # seconds: a timeout beyond this is none
_SHORT_READS = 1 << 22  # numbers that are read before anybody could press Ctrl-C


@record
class OperatorStats:
    """What one operator did: rows emitted and the bytes that they took, seconds spent in it and below it."""

    rows: int = 0
    seconds: float = 0.0
    bytes: int = 0


class Rivals(Protocol):
    """Finds other matching orders for a search that takes long."""

    def __call__(
        self, store: Any, search: Search, masks: Any, context: ExecutionContext, samples: int
    ) -> Sequence[Search]:
        """Return searches with the same total in orders that look better, the most promising first; perhaps none.

        ``samples``: the effort, samples drawn in each order looked at.
        """


def _limit(name: str, value: Any, what: str) -> Any:
    """Return a limit that a query was given, a number or None.

    Raises
    ------
    SemanticError
        If it is neither.
    """
    if value is None or type(value) is int:
        return value
    try:
        number = math.nan if isinstance(value, str | bytes | bool) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if math.isnan(number):
        raise _no_limit(name, value, what)
    return number


def _no_limit(name: str, value: Any, what: str) -> SemanticError:
    """Return the error that a limit is of another type."""
    return SemanticError(
        f"`{name}` is {what}, not {value!r}.", hint=f"Give it like {name}=4.", code="InvalidArgumentType"
    )


class ExecutionContext:
    """The parameters and limits of one execution, shared by all of its operators.

    Parameters
    ----------
    parameters
        Values of ``$name``.
    timeout
        Seconds from now, None for no limit.
    memory_limit
        Bytes that operators, values and gathered rows may take at once, None for no limit.
    threads
        Worker threads of native operators; 0 for one a CPU that this process may run on.
    gpu_memory_limit
        Bytes that the execution may use on the device, None for what it has.

    Raises
    ------
    SemanticError
        For a limit that is no number, or threads that are no integer.
    """

    __slots__ = (
        "_beside", "_gathered", "_memory", "control", "gpu_memory_limit", "memory_limit", "parameters", "profile",
        "rivals", "timeout",
    )  # fmt: skip

    def __init__(
        self,
        parameters: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        memory_limit: int | None = None,
        threads: int = 0,
        gpu_memory_limit: int | None = None,
    ) -> None:
        self.parameters: Mapping[str, Any] = {} if parameters is None else parameters
        self.timeout = timeout = _limit("timeout", timeout, "a number of seconds")
        #: By ``id`` of an operator, while a query is profiled; else None.
        self.profile: dict[int, OperatorStats] | None = None
        #: Looks for better matching orders of searches that take long; None: no search is overtaken.
        self.rivals: Rivals | None = None
        self._beside: ExecutionContext | None = None
        self._memory: MemoryAccount | None = None
        self._gathered: Holding | None = None
        memory_limit = _limit("memory_limit", memory_limit, "a number of bytes")
        self.memory_limit = None if memory_limit is None or memory_limit == math.inf else int(memory_limit)
        self.gpu_memory_limit = _limit("gpu_memory_limit", gpu_memory_limit, "a number of bytes")
        if isinstance(threads, bool) or not hasattr(threads, "__index__"):
            raise _no_limit("threads", threads, "a number of threads")
        deadline = 0 if timeout is None or timeout > _ENDLESS else max(1, time.monotonic_ns() + int(timeout * 1e9))
        workers = threads if threads > 0 else len(os.sched_getaffinity(0))
        self.control = Control(threads=workers, deadline_ns=deadline, memory_limit=self.memory_limit or 0)

    @property
    def threads(self) -> int:
        """Worker threads of native operators."""
        return int(self.control.threads)

    @property
    def memory(self) -> MemoryAccount:
        """The account of all that the execution holds; made when first asked for."""
        if self._memory is None:
            self._memory = MemoryAccount(self.memory_limit, self.check, self.control)
        return self._memory

    @property
    def memory_peak(self) -> int:
        """The most bytes that were accounted for at once so far."""
        native = int(self.control.memory_used)
        return native if self._memory is None else max(self._memory.peak, self._memory.charged + native)

    def check(self) -> None:
        """Raise if the execution must stop. Operators written in Python call it at least once a batch.

        Raises
        ------
        QueryInterrupted
            After ``interrupt``.
        QueryTimeout
            Once the time is over.
        """
        if self.control.stop or (self._beside is not None and self._beside.control.stop):
            self.raise_for(Status.INTERRUPTED)
        if self.control.deadline_ns and time.monotonic_ns() >= self.control.deadline_ns:
            self.raise_for(Status.TIMEOUT)

    def check_result(self, held: int = 0) -> None:
        """Raise if the execution must stop, or if ``held`` bytes of its result, gathered, exceed what is left.

        Raises
        ------
        QueryInterrupted, QueryTimeout
            As ``check``.
        OutOfMemory
            Where the limit doesn't allow them.
        """
        self.check()
        if self.memory_limit is None:
            return
        if self._gathered is None:
            self._gathered = self.memory.holding("The result")
        try:
            self._gathered.set(held)
        except OutOfMemory:
            raise OutOfMemory(
                f"The rows of the result take {held:,} bytes so far: more than the memory limit of "
                f"{self.memory_limit:,} leaves.",
                hint="Raise memory_limit, or fetch the rows in parts: iterate, fetchmany(n) or to_reader().",
                code="OutOfMemory",
            ) from None

    def beside(self) -> ExecutionContext:
        """Return limits for work that runs beside this and may fail alone: what is left of the time and the memory."""
        left = None if self.memory_limit is None else self.memory.left()
        found = ExecutionContext(self.parameters, None, left, self.threads)
        found.timeout = self.timeout
        found.control.deadline_ns = self.control.deadline_ns
        found._beside = self
        return found

    def interrupt(self) -> None:
        """Stop the execution soon, from any thread."""
        self.control.stop = 1

    def run(self, function: Callable[..., int], *args: Any, reads: int | None = None) -> None:
        """Call a native function, and raise if it fails.

        Parameters
        ----------
        function
            Returns a status; polls ``control``, which must be among ``args``.
        reads
            How many numbers it reads at most, where that is known: Ctrl-C waits for what takes a few milliseconds.
        """
        if reads is not None and reads < _SHORT_READS:
            self.raise_for(function(*args))
        else:
            self.raise_for(call(self.control, function, *args))

    def raise_for(self, status: int) -> None:
        """Raise the error that a native function's status stands for; return if it is ``OK``.

        Raises
        ------
        QueryInterrupted, QueryTimeout, OutOfMemory
            As the names say.
        ResourceError
            If a 64-bit count overflowed.
        InternalError
            If the function refused its arguments.
        """
        if status == Status.OK:
            return
        if status == Status.INTERRUPTED:
            raise QueryInterrupted("The query was interrupted.", code="Interrupted")
        if status == Status.TIMEOUT:
            raise QueryTimeout(
                f"The query ran longer than its timeout of {self.timeout} s.",
                hint="Give a longer timeout, or make the pattern more selective.",
                code="Timeout",
            )
        if status == Status.OUT_OF_MEMORY:
            limit = "the machine has" if self.memory_limit is None else f"its limit of {self.memory_limit:,} bytes"
            raise OutOfMemory(
                f"The query needs more memory than {limit}.",
                hint="Raise memory_limit, or ask for fewer rows (count, LIMIT).",
                code="OutOfMemory",
            )
        if status == Status.OVERFLOW:
            raise ResourceError("A count exceeds 64 bits (9,223,372,036,854,775,807).", code="CountOverflow")
        raise InternalError(f"A native kernel refused its arguments (status {status}).", code="NativeInvalid")
