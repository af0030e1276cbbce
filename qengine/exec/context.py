"""What an execution carries from operator to operator: parameters, limits, and the way to stop it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager
from dataclasses import field
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from weakref import finalize, ref

from qengine._control import Control, Status, call
from qengine._frozen import record
from qengine._system import usable_processors
from qengine.errors import InternalError, OutOfMemory, QueryInterrupted, QueryTimeout, ResourceError
from qengine.exec.limits import directory_of, number_of_bytes, number_of_seconds, number_of_threads
from qengine.exec.memory import Holding, MemoryAccount
from qengine.exec.scalar.import_roots import NO_IMPORTS, ImportRoots
from qengine.exec.threads import run_aside
from qengine.exec.view import ExecView, MaskProvider
from qengine.plan.logical import Operator
from qengine.plan.physical import Search

if TYPE_CHECKING:
    from qengine.catalog.procedures import Procedures
    from qengine.exec.spill.folder import SpillFolder

__all__ = ["Control", "ExecutionContext", "OperatorStats", "Rivals", "Status"]

_ENDLESS = 1e9  # seconds: a timeout beyond this is none
_SHORT_READS = 1 << 22  # numbers that are read before anybody could press Ctrl-C
_SOON_NS = 20_000_000  # what has no more time than this needs no thread that Ctrl-C can stop
_ASIDE_ROWS = 1 << 17  # rows that are sorted, grouped or joined in some ten milliseconds
_ASIDE_SECONDS = 0.02  # between two looks, while somebody else computes
_LEAST_PLANNING_NS = 100_000_000  # planning may always take so long: a short timeout is met by what executes


Computed = TypeVar("Computed")


@record
class OperatorStats:
    """What one operator did: rows emitted and the bytes that they took, seconds spent in it and below it.

    ``notes``: what of it was done otherwise than planned, and why. ``spilled_bytes``, ``spilled_files``: what it wrote
    to disk, for want of memory.
    """

    rows: int = 0
    seconds: float = 0.0
    bytes: int = 0
    notes: list[str] = field(default_factory=list)
    spilled_bytes: int = 0
    spilled_files: int = 0


class Rivals(Protocol):
    """Finds other matching orders for a search that takes long."""

    def __call__(
        self, store: ExecView, search: Search, masks: MaskProvider, context: ExecutionContext, samples: int
    ) -> Sequence[Search]:
        """Return searches with the same total in orders that look better, the most promising first; perhaps none.

        ``samples``: the effort, samples drawn in each order looked at.
        """


class ExecutionContext:
    """The parameters and limits of one execution, shared by all of its operators.

    Whatever is given one, or a run on a device, raises ``QueryTimeout``, ``QueryInterrupted`` and ``OutOfMemory`` by
    its limits; docstrings name other errors.

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
        Bytes that the execution may use on each device, None for what it has.
    spill_directory
        Where rows go that the memory limit leaves no room for; None: the system's directory of temporary files.

    Raises
    ------
    SemanticError
        For limits that ``exec.limits`` refuses.
    """

    __slots__ = (
        "__weakref__", "_beside", "_folder", "_gathered", "_memory", "began", "control", "gathers",
        "gpu_memory_limit", "gpus", "handed_on", "imports", "memory_limit", "number", "on_device", "parameters",
        "planning_ends", "procedures", "profile", "rivals", "running", "spill_directory", "text", "timeout",
    )  # fmt: skip

    def __init__(
        self,
        parameters: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        memory_limit: int | str | None = None,
        threads: int = 0,
        gpu_memory_limit: int | str | None = None,
        spill_directory: str | PathLike[str] | None = None,
    ) -> None:
        self.parameters: Mapping[str, Any] = {} if parameters is None else parameters
        self.timeout = timeout = None if timeout is None else number_of_seconds("timeout", timeout)
        #: By ``id`` of an operator, while a query is profiled; else None.
        self.profile: dict[int, OperatorStats] | None = None
        #: Whether all rows are wanted at once, as arrays.
        self.gathers = False
        #: The operator whose batches may be long, for all rows are wanted at once and nothing else looks at them.
        self.handed_on: Operator | None = None
        #: Gets the result's columns, by name, where they can stay on the device that finds them; None: rows are wanted.
        self.on_device: dict[str, Any] | None = None
        #: Looks for better matching orders of searches that take long; None: no search is overtaken.
        self.rivals: Rivals | None = None
        #: Those that the statement may call, where they are to be listed.
        self.procedures: Procedures | None = None
        #: The statement that runs under these limits.
        self.text = ""
        #: What lists those that the graph runs which has accepted it; as which one, and when (seconds since 1970).
        self.running: Callable[[], list[ExecutionContext]] | None = None
        self.number, self.began = 0, 0.0
        #: Where LOAD CSV may read.
        self.imports: ImportRoots = NO_IMPORTS
        #: Numbers of the GPUs that it may use; empty: the current one.
        self.gpus: tuple[int, ...] = ()
        self._beside: ExecutionContext | None = None
        self._memory: MemoryAccount | None = None
        self._gathered: Holding | None = None
        if memory_limit is not None:
            memory_limit = number_of_bytes("memory_limit", memory_limit)
        self.memory_limit = memory_limit
        self.gpu_memory_limit = (
            None if gpu_memory_limit is None else number_of_bytes("gpu_memory_limit", gpu_memory_limit)
        )
        self.spill_directory = None if spill_directory is None else directory_of(spill_directory)
        self._folder: SpillFolder | None = None
        if threads != 0:
            threads = number_of_threads("threads", threads)
        workers = threads or usable_processors()
        deadline = self.planning_ends = 0
        if timeout is not None and timeout <= _ENDLESS:
            now = time.monotonic_ns()
            deadline = max(1, now + int(timeout * 1e9))
            #: When planning must have ended: a little after the deadline where that is near, 0 for never.
            self.planning_ends = max(deadline, now + _LEAST_PLANNING_NS)
        self.control = Control(0, workers, deadline, memory_limit or 0)

    def note(self, operator: object, text: str) -> None:
        """Tell a profile what an operator does otherwise than planned; each text once."""
        stats = None if self.profile is None else self.profile.get(id(operator))
        if stats is not None and text not in stats.notes:
            stats.notes.append(text)

    def spill_folder(self) -> SpillFolder:
        """Return the execution's folder on disk, made when first asked for. It ends with the context, at the latest.

        Raises
        ------
        ResourceError
            ``SpillFailed`` where it can't be made.
        """
        if self._folder is None:
            from qengine.exec.spill.folder import SpillFolder

            self._folder = SpillFolder(self.spill_directory)
            finalize(self, self._folder.remove)
        return self._folder

    def end_spilling(self) -> None:
        """Remove the execution's folder on disk, if there is one."""
        if self._folder is not None:
            self._folder.remove()
            self._folder = None

    def count_spilled(self, operator: object, nbytes: int, files: int) -> None:
        """Tell a profile what an operator has written to disk."""
        stats = None if self.profile is None else self.profile.get(id(operator))
        if stats is not None:
            stats.spilled_bytes += nbytes
            stats.spilled_files += files

    @property
    def threads(self) -> int:
        """Worker threads of native operators."""
        return int(self.control.threads)

    @property
    def memory(self) -> MemoryAccount:
        """The account of all that the execution holds; made when first asked for."""
        if self._memory is None:
            self._memory = MemoryAccount(self.memory_limit, self._checking(), self.control)
        return self._memory

    def use_account(self, account: MemoryAccount) -> None:
        """Let an account be that of the execution, from its beginning: what was compiled before charges to it."""
        account.begin(self.memory_limit, self._checking(), self.control)
        self._memory = account

    def _checking(self) -> Callable[[], None]:
        """Return what checks the execution while there is one: its account, which it holds, must not hold it."""
        own = ref(self)

        def check() -> None:
            if (context := own()) is not None:
                context.check()

        return check

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

    def check_interrupted(self) -> None:
        """Raise if the execution was interrupted, whatever its time.

        Raises
        ------
        QueryInterrupted
            After ``interrupt``.
        """
        if self.control.stop or (self._beside is not None and self._beside.control.stop):
            self.raise_for(Status.INTERRUPTED)

    def check_planning(self) -> None:
        """Raise if the execution must stop while its statement is still planned.

        Raises
        ------
        QueryInterrupted, QueryTimeout
            As ``check``; short timeouts are left to what executes.
        """
        if self.control.stop:
            raise QueryInterrupted("The query was interrupted while it was planned.", code="Interrupted")
        if self.planning_ends and time.monotonic_ns() >= self.planning_ends:
            raise QueryTimeout(
                f"Planning the query took longer than its timeout of {self.timeout} s.",
                hint="Give a longer timeout, or split the query; pass long lists as parameters.",
                code="Timeout",
            )

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
            raise self._result_too_large(held) from None

    def _result_too_large(self, held: int) -> OutOfMemory:
        return OutOfMemory(
            f"The rows of the result take {held:,} bytes so far: more than the memory limit of "
            f"{self.memory_limit:,} leaves.",
            hint="Raise memory_limit, or fetch the rows in parts: iterate, fetchmany(n) or to_reader().",
            code="OutOfMemory",
        )

    def beside(self) -> ExecutionContext:
        """Return limits for work that runs beside this and may fail alone: what is left of the time and the memory."""
        left = None if self.memory_limit is None else self.memory.left()
        found = ExecutionContext(self.parameters, None, left, self.threads)
        found.timeout = self.timeout
        found.control.deadline_ns = self.control.deadline_ns
        found.planning_ends = self.planning_ends
        found._beside = self
        return found

    def inside(self, outer: ExecutionContext) -> ExecutionContext:
        """Let the execution end with another that waits for it, at the latest; return it."""
        self._beside = outer
        self.imports, self.procedures = outer.imports, outer.procedures
        if ends := outer.control.deadline_ns:
            self.control.deadline_ns = min(self.control.deadline_ns or ends, ends)
            self.planning_ends = min(self.planning_ends or ends, max(ends, time.monotonic_ns() + _LEAST_PLANNING_NS))
            self.timeout = outer.timeout
        return self

    @contextmanager
    def within(self, milliseconds: float) -> Iterator[None]:
        """Let ``QueryTimeout`` be raised in this block after so long, if the execution's own time isn't over before.

        ``check`` after the block tells whether that was over, too.
        """
        control = self.control
        own = control.deadline_ns
        deadline_ns = time.monotonic_ns() + int(min(milliseconds, _ENDLESS) * 1e6)
        control.deadline_ns = min(own or deadline_ns, deadline_ns)
        try:
            yield
        finally:
            control.deadline_ns = own

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
            How many numbers it reads at most, where that is known: Ctrl-C waits for what takes a few milliseconds,
            as it does where the execution's time, or that of a block, is nearly over.
        """
        if (reads is not None and reads < _SHORT_READS) or self._ends_soon():
            self.raise_for(function(*args))
        else:
            self.raise_for(call(self.control, function, *args))

    def _ends_soon(self) -> bool:
        deadline: int = self.control.deadline_ns
        return deadline != 0 and deadline - time.monotonic_ns() < _SOON_NS

    def aside(self, compute: Callable[[], Computed], rows: int) -> Computed:
        """Return what a function returns that can't look whether to stop: one call of a library on so many rows.

        Where these are many it runs on a thread of its own, and is left alone if the execution must stop.

        Parameters
        ----------
        compute
            Changes nothing that others see, for it may go on for a while after this has raised.

        Raises
        ------
        QueryInterrupted, QueryTimeout
            As ``check``.
        """
        return compute() if rows < _ASIDE_ROWS else self.awaited(self.begun(compute))

    def begun(self, compute: Callable[[], Computed]) -> Future[Computed]:
        """Let a function run on a thread of its own. It changes nothing that others see, as for ``aside``."""
        outcome: Future[Computed] = Future()

        def work() -> None:
            try:
                outcome.set_result(compute())
            except BaseException as error:
                outcome.set_exception(error)

        run_aside(work)
        return outcome

    def awaited(self, outcome: Future[Computed]) -> Computed:
        """Return what a function returns that has begun; it is left alone if the execution must stop.

        Raises
        ------
        QueryInterrupted, QueryTimeout
            As ``check``.
        """
        while not wait((outcome,), _ASIDE_SECONDS).done:
            self.check()
        return outcome.result()

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
            gathered = 0 if self._gathered is None else self._gathered.bytes
            if self.memory_limit is not None and gathered > self.memory_limit // 2:  # not what found the next rows
                raise self._result_too_large(gathered)
            limit = "the machine has" if self.memory_limit is None else f"its limit of {self.memory_limit:,} bytes"
            raise OutOfMemory(
                f"The query needs more memory than {limit}.",
                hint="Raise memory_limit, or ask for fewer rows (count, LIMIT).",
                code="OutOfMemory",
            )
        if status == Status.OVERFLOW:
            raise ResourceError("A count exceeds 64 bits (9,223,372,036,854,775,807).", code="CountOverflow")
        raise InternalError(f"A native kernel refused its arguments (status {status}).", code="NativeInvalid")
