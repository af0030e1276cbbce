"""What a statement is given to: a graph, of which it sees the latest version, or a transaction."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, Unpack

from qengine._lru import LruCache
from qengine.builtin_procedures import EVERYWHERE
from qengine.catalog.procedures import Procedures
from qengine.errors import InternalError, QengineError, QueryInterrupted, QueryTimeout, TransactionError
from qengine.exec.context import ExecutionContext
from qengine.exec.executions import Executions
from qengine.exec.scalar.import_roots import NO_IMPORTS
from qengine.learned import Learned
from qengine.options import LimitKeywords
from qengine.planned import PLANS, Planned
from qengine.planning import may_update
from qengine.result import Result
from qengine.statements import Statements
from qengine.storage.states import Commit
from qengine.storage.store import GraphStore
from qengine.write.overlay import Changes
from qengine.write.versions import Version, Versions, Writer
from qengine.write.write_set import WriteSet

if TYPE_CHECKING:
    from qengine.estimates import Estimates
    from qengine.live_reads import LivePlan
    from qengine.update_plans import UpdatePlans
    from qengine.write.open_folder import OpenFolder


_FEW = 1_000  # elements that a transaction may have changed where its reads may stay on the version below
_OfStore = tuple[GraphStore, int, Statements]
_Known = tuple[Version, int, Statements]
"""A version that was read, what there was besides it (``GraphView._state``), and its statements."""


@cache
def _carry_out() -> Callable[..., Result]:
    """Return what carries out an update, imported at the first one: an import takes 2 µs each time, even then."""
    from qengine.updating import carried_out

    return carried_out


class View(Protocol):
    """What a statement is given to."""

    def accept(self, **limits: Unpack[LimitKeywords]) -> ExecutionContext:
        """Return the limits of a statement, which hold from now on."""

    def current(self) -> Statements:
        """Return the statements of what is read now."""

    def update_plan(self, text: str, context: ExecutionContext) -> Planned | None:
        """Return what a statement was planned to, or plan it, if it changes the graph; else None."""

    def kept(self, text: str, context: ExecutionContext) -> tuple[Statements, Planned] | None:
        """Return an earlier version that may stand for the latest one, and a statement's plan, if one is kept."""

    def unaffected(
        self, text: str, params: Mapping[str, Any] | None, context: ExecutionContext
    ) -> tuple[Statements, Planned] | None:
        """Return an earlier version on which a statement has the rows that it has now, and its plan, if one is kept."""

    def live_plan(self, text: str, context: ExecutionContext) -> LivePlan | None:
        """Return what a statement that only reads was planned to, where it may be read without making a store."""

    def read_live(self, plan: LivePlan, params: Mapping[str, Any] | None, context: ExecutionContext) -> Result | None:
        """Carry out what ``live_plan`` gave; None where a store has to be made for it, or is there."""

    def update(
        self, planned: Planned, params: Mapping[str, Any] | None, device: str, context: ExecutionContext
    ) -> Result:
        """Carry out a statement that changes the graph."""


class GraphView:
    """A graph's versions, and the plans of statements that change it, which hold for all versions.

    ``folder``: where it is kept, None for a graph in memory; it is closed with the view at the latest.
    """

    def __init__(self, versions: Versions, folder: OpenFolder | None = None) -> None:
        self.versions, self.folder = versions, folder
        self._close = None if folder is None else weakref.finalize(self, folder.close)
        self.executions = Executions()
        self.procedures = Procedures(EVERYWHERE)
        self.imports = NO_IMPORTS
        self.learned = Learned()
        self._updates: UpdatePlans | None = None
        self._reads: LruCache[tuple[LivePlan | None]] = LruCache(PLANS)
        self._known: _Known | None = None  # what was read last
        self._based: _Known | None = None  # the base of the latest version
        self._estimates: tuple[Statements, Estimates] | None = None

    def close(self) -> None:
        """Close the graph's folder; errors as for ``Log.close``."""
        if self._close is not None:
            self._close()

    @property
    def store(self) -> GraphStore:
        """The latest version."""
        return self.versions.latest.store

    def accept(self, **limits: Unpack[LimitKeywords]) -> ExecutionContext:
        """Return the limits of a statement, which hold from now on.

        Raises
        ------
        SemanticError
            For limits that there can't be.
        """
        context = ExecutionContext(None, **limits)
        context.imports, context.procedures = self.imports, self.procedures
        return self.executions.accept(context)

    def interrupt(self) -> None:
        """Stop all statements that were accepted so far."""
        self.executions.interrupt()

    def current(self) -> Statements:
        """Return the statements of the latest version."""
        latest, known = self.versions.latest, self._known
        if known is None or known[0].store is not latest.store or known[1] != self._state:
            self.learned.follow(latest.store)
            known = self._known = self._read(latest, known)
            if self._based is not None and not self._based[0].is_below(latest):
                self._based = None  # or it would stay as long as nobody writes
        return known[2]

    def _read(self, version: Version, known: _Known | None) -> _Known:
        """Return a version with its statements, which go on from those of one before."""
        store, state = version.store, self._state
        before = known[2] if known is not None and known[1] == state else None
        return version, state, Statements(store, self.executions, self.procedures, self.learned, before)

    @property
    def _state(self) -> int:
        """What changes with procedures and what was learned: neither is ever less than before."""
        return Procedures.changes + self.learned.round

    def kept(self, text: str, context: ExecutionContext) -> tuple[Statements, Planned] | None:
        """Return an earlier version that may stand for the latest one, and a statement's plan, if one is kept.

        None where the latest version has a store, and of a statement of which it isn't told what it reads.
        """
        return next(((statements, planned) for _, statements, planned in self._kept(text, None)), None)

    def _kept(self, text: str, context: ExecutionContext | None) -> Iterator[tuple[Version, Statements, Planned]]:
        """Give what ``kept`` returns, of the latest version's base and of what was read last.

        ``context``: under which a statement that was walked some times is planned for the base; None: it isn't.
        """
        latest, known, state = self.versions.latest, self._known, self._state
        if latest.is_sealed:
            return
        based = self._based
        if based is None or based[1] != state or not based[0].is_below(latest):
            base = latest.base
            if known is not None and known[1] == state and known[0].store is base.store:
                based = base, state, known[2]  # not that version, which may hold its own base
            else:
                based = self._read(base, known)
            self._based = based
            if known is not None and not known[0].is_below(latest):
                self.learned.follow(base.store)
                known = self._known = based  # what was read before is let go
        for each in (based,) if known is None or known[2] is based[2] else (based, known):
            version, then, statements = each
            if then != state or not version.is_below(latest):
                continue
            planned = statements.kept_plan(text)
            if planned is None and context is not None and each is based:
                live = self._reads.find((text, latest.undirected_types, Procedures.changes))
                planned = None if live is None or live[0] is None else live[0].planned_for(statements, context)
            if planned is not None and _tells_reads(planned):
                yield version, statements, planned

    def unaffected(
        self, text: str, params: Mapping[str, Any] | None, context: ExecutionContext
    ) -> tuple[Statements, Planned] | None:
        """Return what ``kept`` gives of a version since which nothing was changed that the statement reads."""
        latest = self.versions.latest
        for version, statements, planned in self._kept(text, context):
            reads = None if planned.reads is None else planned.reads.get()
            if reads is not None and version.stands_for(latest, reads, {**(params or {}), **planned.values}, context):
                return statements, planned
        return None

    def estimates(self) -> Estimates:
        """Return the estimates of statements over the latest version."""
        statements, known = self.current(), self._estimates
        if known is None or known[0] is not statements:
            from qengine.estimates import Estimates

            known = self._estimates = statements, Estimates(statements)
        return known[1]

    def update_plan(self, text: str, context: ExecutionContext) -> Planned | None:
        """Return what a statement was planned to, or plan it, if it changes the graph; else None."""
        return self.plan_update(text, self.versions.latest.undirected_types, context)

    def plan_update(self, text: str, undirected: frozenset[str], context: ExecutionContext) -> Planned | None:
        """Return what a statement was planned to, or plan it, if it changes a graph with such types; else None."""
        if not may_update(text):
            return None
        if self._updates is None:
            from qengine.update_plans import UpdatePlans

            self._updates = UpdatePlans(self.procedures)
        return self._updates.of(text, undirected, context)

    def live_plan(self, text: str, context: ExecutionContext) -> LivePlan | None:
        """Return what a statement that only reads was planned to, where it may be read without making a store."""
        latest = self.versions.latest
        return None if latest.is_sealed else self.plan_live(text, latest.undirected_types, context)

    def plan_live(self, text: str, undirected: frozenset[str], context: ExecutionContext) -> LivePlan | None:
        """Return what a statement was planned to, or plan it, if few elements may be all that it reads."""
        if not isinstance(text, str):
            return None
        key = text, undirected, Procedures.changes
        known = self._reads.find(key)
        if known is None:
            from qengine.live_reads import live_plan

            known = self._reads.get(key, lambda: (live_plan(text, undirected, context, self.procedures),))
        return known[0]

    def read_live(self, plan: LivePlan, params: Mapping[str, Any] | None, context: ExecutionContext) -> Result | None:
        """Carry out what ``live_plan`` gave, over the latest version; None where that has a store, or should."""
        version = self.versions.latest
        pending = version.pending() if plan.is_due() else None
        if pending is None:
            return None
        from qengine.live_reads import read_live

        begin = time.perf_counter()
        try:
            return read_live(plan, pending, params, context)
        finally:
            version.spend(time.perf_counter() - begin)

    def update(
        self, planned: Planned, params: Mapping[str, Any] | None, device: str, context: ExecutionContext
    ) -> Result:
        """Carry out a statement as a transaction of its own."""
        writer = self.versions.writer(context)
        try:
            result = _carry_out()(planned, params, device, context, writer, writer.commit)
            writer.end()
        finally:
            writer.release()
        return result

    def append(self, append: Callable[[Writer], Changes], context: ExecutionContext) -> Changes:
        """Let something be appended, as a transaction of its own; return what was done."""
        writer = self.versions.writer(context)
        try:
            changes = append(writer)
            writer.end()
        finally:
            writer.release()
        return changes


def _tells_reads(planned: Planned) -> bool:
    """Tell whether a plan may run on an earlier version, if that has all that it reads: without warnings."""
    return not planned.notices and planned.logical.explain is None and planned.reads is not None


class TransactionView:
    """A transaction: what it has done so far is seen by its own statements alone."""

    def __init__(self, graph: GraphView, writer: Writer) -> None:
        self._graph = graph
        self._writer: Writer | None = writer
        self._known: _OfStore | None = None
        self._based: _OfStore | None = None  # what the changes are above
        self._written: tuple[GraphStore, int, WriteSet, Commit] | None = None  # these, by the overlay's clock

    @property
    def writer(self) -> Writer:
        """The right to change the graph.

        Raises
        ------
        TransactionError
            ``TransactionEnded`` after ``end``.
        """
        if self._writer is None:
            raise TransactionError(
                "The transaction has ended.", hint="Begin another with graph.transaction().", code="TransactionEnded"
            )
        return self._writer

    def end(self, *, commit: bool) -> None:
        """Keep what was done, or take it back, and let others write."""
        writer = self.writer
        try:
            if commit:
                writer.end()
        finally:
            self._writer = None
            writer.release()

    @property
    def ended(self) -> bool:
        """Whether it has ended."""
        return self._writer is None

    def accept(self, **limits: Unpack[LimitKeywords]) -> ExecutionContext:
        """Return the limits of a statement, which hold from now on."""
        return self._graph.accept(**limits)

    def current(self) -> Statements:
        """Return the statements of what the transaction sees."""
        self._known = self._read(self.writer.sealed(), self._known)
        return self._known[2]

    def _read(self, store: GraphStore, known: _OfStore | None) -> _OfStore:
        """Return the statements of a store, which are known where it is the one before."""
        registered = Procedures.changes
        if known is not None and known[0] is store and known[1] == registered:
            return known
        return store, registered, Statements(store, self._graph.executions, self._graph.procedures)

    def update_plan(self, text: str, context: ExecutionContext) -> Planned | None:
        """Return what a statement was planned to, or plan it, if it changes the graph; else None."""
        return self._graph.plan_update(text, self.writer.undirected_types, context)

    def kept(self, text: str, context: ExecutionContext) -> tuple[Statements, Planned] | None:
        """Return the version below the changes, where these are few, and what a statement is planned to for it."""
        writer = self.writer
        if writer.is_sealed or writer.overlay.touched > _FEW:
            return None
        self._based = self._read(writer.overlay.base.store, self._based)
        statements = self._based[2]
        try:
            planned, _ = statements.plan(text, False, context, quiet=True)
        except (QueryTimeout, QueryInterrupted):
            raise
        except QengineError:  # that of what the transaction sees counts
            return None
        return (statements, planned) if _tells_reads(planned) else None

    def unaffected(
        self, text: str, params: Mapping[str, Any] | None, context: ExecutionContext
    ) -> tuple[Statements, Planned] | None:
        """Return what ``kept`` does where the transaction has changed nothing that the statement reads.

        None for one that is walked: that takes less than to tell.
        """
        writer = self.writer
        live = None if writer.is_sealed else self._graph.plan_live(text, writer.undirected_types, context)
        if writer.is_sealed or (live is not None and live.is_enough):
            return None
        found = self.kept(text, context)
        if found is not None:
            statements, planned = found
            if self._written is None or self._written[:2] != (statements.store, writer.overlay.clock):
                self._written = (
                    statements.store,
                    writer.overlay.clock,
                    WriteSet(statements.store),
                    writer.overlay.above(),
                )
            _, _, written, commit = self._written
            reads = None if planned.reads is None else planned.reads.get()
            values = {**(params or {}), **planned.values}
            if reads is not None and written.leaves(reads, [commit], (0, 1), values, context):
                return found
        return None

    def live_plan(self, text: str, context: ExecutionContext) -> LivePlan | None:
        """Return what a statement that only reads was planned to, where it may be read without making a store."""
        writer = self.writer
        return None if writer.is_sealed else self._graph.plan_live(text, writer.undirected_types, context)

    def read_live(self, plan: LivePlan, params: Mapping[str, Any] | None, context: ExecutionContext) -> Result | None:
        """Carry out what ``live_plan`` gave, over what the transaction has done; None where that reads much."""
        writer = self.writer
        if writer.is_sealed or not plan.is_due():
            return None
        from qengine.live_reads import read_live

        return read_live(plan, writer.overlay, params, context)

    def update(
        self, planned: Planned, params: Mapping[str, Any] | None, device: str, context: ExecutionContext
    ) -> Result:
        """Carry out a statement; where it fails, what it has done is taken back."""
        return _carry_out()(planned, params, device, context, self.writer, None)

    def append(self, append: Callable[[Writer], Changes], context: ExecutionContext) -> Changes:
        """Let something be appended as a part of the transaction; return what was done."""
        return append(self.writer)


class SnapshotView:
    """One version of a graph, which can only be read; what runs on it ends with the query that it is for."""

    def __init__(self, store: GraphStore, outer: ExecutionContext) -> None:
        self._procedures = outer.procedures or EVERYWHERE
        self._statements = Statements(store, Executions(), self._procedures)
        self._outer = outer

    def accept(self, **limits: Unpack[LimitKeywords]) -> ExecutionContext:
        """Return the limits of a statement; it ends with the query that it is for, at the latest."""
        return self._statements.accept(**limits).inside(self._outer)

    def current(self) -> Statements:
        """Return the statements of the version."""
        return self._statements

    def update_plan(self, text: str, context: ExecutionContext) -> Planned | None:
        """Refuse a statement that changes the graph.

        Raises
        ------
        TransactionError
            ``ReadOnly``.
        """
        from qengine.update_plans import plan_update

        undirected = self._statements.store.undirected_types
        if may_update(text) and plan_update(text, undirected, context, self._procedures) is not None:
            raise TransactionError("A procedure can only read the graph.", code="ReadOnly")
        return None

    def kept(self, text: str, context: ExecutionContext) -> tuple[Statements, Planned] | None:
        """Return None: there is a store."""
        return None

    def unaffected(
        self, text: str, params: Mapping[str, Any] | None, context: ExecutionContext
    ) -> tuple[Statements, Planned] | None:
        """Return None: there is a store."""
        return None

    def live_plan(self, text: str, context: ExecutionContext) -> LivePlan | None:
        """Return None: there is a store."""
        return None

    def read_live(self, plan: LivePlan, params: Mapping[str, Any] | None, context: ExecutionContext) -> Result | None:
        """Return None: there is a store."""
        return None

    def update(
        self, planned: Planned, params: Mapping[str, Any] | None, device: str, context: ExecutionContext
    ) -> Result:
        """Is never asked for: there are no plans of updates."""
        raise InternalError("A snapshot has no plans of updates.")
