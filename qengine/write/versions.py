"""The versions of a graph: each is a snapshot; one transaction at a time makes the next.

A commit costs what it has changed: it is kept beside the version that it was made above, its base, and a store of both
is made (``storage.successor``) when much is first read of the new version. Who reads little walks both
(``write.pending``). A base stays while few elements are touched above it; then a store that was made anyway takes its
place. Where nobody reads and much is touched, a thread makes one, while writers and readers go on.

Where the graph has a folder, a commit is appended to its log while other writers wait. Then they go on above it, while
the thread that has committed waits for the disk, so threads share syncs. Readers see the commit after that: what was
read can't be lost. If the disk refuses, what waits fails and stays unseen, and there is no writer any more.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from qengine._cached import cached_property
from qengine.errors import StorageError, TransactionError
from qengine.exec.context import ExecutionContext
from qengine.plan.read_set import ReadSet
from qengine.storage.states import Commit, size_of
from qengine.storage.store import GraphStore
from qengine.storage.successor import Successors, successor
from qengine.write.base import Base
from qengine.write.merged_commits import merged
from qengine.write.open_folder import News, OpenFolder
from qengine.write.overlay import Overlay
from qengine.write.pending import History, PendingVersion
from qengine.write.write_set import WriteSet

FOLDING = "qengine-fold"
"""The name of the thread that makes a new base, where much is above the one that there is."""

_ENOUGH = 0.1  # seconds of reading a version element by element, before a store is made of it: about what that takes
_WAIT = 0.02  # seconds between two looks, while another transaction writes
_KEPT_COMMITS = 65_536  # above a version before a store is made of them, by a thread that nobody waits for
_LEAST_TOUCHED = 100_000  # elements above a version that are no reason for it
_TOUCHED_SHARE = 0.1  # of a version's elements, which are
_MOST_FULL = 2.0  # times as many of these, at which a writer makes the store
_FEW_TOUCHED = 1_000  # elements above a version of which each later one is made
_FEW_SHARE = 0.01  # of a version's elements, which are as few
_COMMITS_EACH = 4  # commits for each of these elements, above a version that is read
_LEAST_FEW = 16  # which are few above any version


class _Chain:
    """A store and the commits since it was made. ``sealed``: the latest store made of it, and of how many of them."""

    def __init__(self, store: GraphStore, commits: Sequence[Commit] = ()) -> None:
        self.commits = list(commits)
        self.history = History(store, self.commits)
        self.store = store
        self.sealed = store, 0
        self.successors = Successors(store)
        self.lock = threading.Lock()
        size = store.vertex_count + store.relationship_count
        self.few = min(_FEW_TOUCHED, max(_LEAST_FEW, int(_FEW_SHARE * size)))
        self._sized: tuple[int, Commit | None, int] = 0, None, 0

    def touched(self, count: int) -> int:
        """Return how many elements the first commits touch, so many of these."""
        known, last, size = self._sized
        if not (known <= count and (not known or self.commits[known - 1] is last)):
            known = size = 0
        size += sum(map(size_of, self.commits[known:count]))
        self._sized = count, self.commits[count - 1] if count else None, size
        return size


class Version:
    """A snapshot of a graph. ``number``: of its last commit, in the log where there is one."""

    def __init__(self, chain: _Chain, count: int, number: int) -> None:
        self.number = number
        self._chain = chain
        self._count = count  # of the chain's commits, which are in this version
        self._store = None if count else chain.store
        self._spent = 0.0
        self._writes: tuple[_Chain, WriteSet] | None = None

    @property
    def store(self) -> GraphStore:
        """The version's graph, made when first asked for."""
        if self._store is None:
            with self._chain.lock:
                if self._store is None:
                    self._store = self._made()
        return self._store

    @cached_property
    def base(self) -> Version:
        """The version that its commits are above, whose graph was made."""
        return Version(self._chain, 0, self.number - self._count)

    @property
    def undirected_types(self) -> frozenset[str]:
        """The names of the types whose relationships have no direction."""
        return self._chain.store.undirected_types

    def pending(self) -> PendingVersion | None:
        """Return what those walk who read little of it; None where its graph was made, or is to be made for them."""
        return self._chain.history.version(self._count) if self._store is None and self._spent < _ENOUGH else None

    def spend(self, seconds: float) -> None:
        """Take note of the time that was read without its graph being made: from some time on, that is."""
        self._spent += seconds

    @property
    def is_sealed(self) -> bool:
        """Whether its graph was made."""
        return self._store is not None

    def is_below(self, later: Version) -> bool:
        """Tell whether a later version has what this one has, whose graph was made, and commits above it."""
        return later._chain is self._chain or later._chain.store is self._store

    def stands_for(self, later: Version, reads: ReadSet, values: Mapping[str, Any], context: ExecutionContext) -> bool:
        """Tell whether rows of a plan that reads this are the same on a later version; it is asked of one below.

        ``values``: those of parameters.
        """
        chain, first = later._chain, self._count if later._chain is self._chain else 0
        if self._writes is None or self._writes[0] is not chain:
            self._writes = chain, WriteSet(self.store)
        return self._writes[1].leaves(reads, chain.commits, (first, later._count), values, context)

    def _made(self) -> GraphStore:
        """Return the graph, made of the chain's store, whose indexes are kept, or of a later one above many commits."""
        chain = self._chain
        store, count = chain.sealed if chain.sealed[1] <= self._count else (chain.store, 0)
        if count == self._count:
            return store
        kept, since = store.kept, count
        if chain.touched(self._count) <= chain.few:
            store, count = chain.store, 0
        for each in merged(chain.commits[count : self._count]):
            store = chain.successors.version(each) if store is chain.store else successor(store, each)
        for each in chain.commits[since : self._count]:
            kept = kept.after(each, store.rules)
        store.kept = kept
        if self._count > chain.sealed[1]:
            chain.sealed = store, self._count
        return store


def _make(version: Version) -> None:
    """Make a version's graph; what is wrong with it is told to the writer that needs it."""
    with contextlib.suppress(Exception):
        _ = version.store.statistics


class Versions:
    """The versions of one graph. Any number of threads may read ``latest`` and ask for a writer.

    Attributes
    ----------
    latest
        What is read: the version of the last commit that was acknowledged.
    """

    def __init__(self, store: GraphStore, folder: OpenFolder | None = None, commits: Sequence[Commit] = ()) -> None:
        self._folder = folder
        self._overlay: Overlay | None = None
        self._writing = threading.Lock()
        self._folding: threading.Thread | None = None
        self._owner: int | None = None
        self._publishing = threading.Lock()
        self._restart(_Chain(store, commits), 0)

    def _restart(self, chain: _Chain, number: int) -> None:
        """Make all of a chain's commits the latest version."""
        self._chain, self._overlay = chain, None
        self.latest = self._tip = Version(chain, len(chain.commits), number)

    def writer(self, context: ExecutionContext) -> Writer:
        """Return the only writer there is, once those before it have ended.

        Raises
        ------
        TransactionError
            ``NestedTransaction`` where this thread has it already.
        QueryTimeout, QueryInterrupted
            By the context's limits, while others write.
        StorageError, TransactionError
            As ``OpenFolder.begin``.
        """
        if self._owner == threading.get_ident():
            raise TransactionError(
                "This thread is inside a transaction, which is still open.",
                hint="Ask the transaction itself: t.query(…), or end it first.",
                code="NestedTransaction",
            )
        self._acquire(context)
        try:
            self._begin()
            return Writer(self, self._current_overlay())
        except BaseException:
            self._release()
            raise

    def refresh(self, context: ExecutionContext) -> bool:
        """Take over what other processes have committed; return whether there was anything.

        Raises
        ------
        StorageError
            As ``OpenFolder.follow``.
        """
        if self._folder is None or self._folder.is_writing:
            return False
        self._acquire(context)
        try:
            news = self._folder.follow()
            if news is not None:
                self._learn(news, self._tip.number)
            return news is not None
        finally:
            self._release()

    def checkpoint(self, context: ExecutionContext) -> None:
        """Save the latest version in the graph's folder, in place of the log.

        Raises
        ------
        StorageError, TransactionError
            As ``OpenFolder.begin`` and ``OpenFolder.checkpoint``; where there is no folder.
        """
        if self._folder is None:
            raise StorageError("The graph has no folder.", hint='Save it: graph.save("folder").')
        if not self._folder.is_writing:
            self._acquire(context)
            try:
                self._begin()
            finally:
                self._release()
        self._folder.checkpoint(self.latest)

    def _acquire(self, context: ExecutionContext) -> None:
        if not self._writing.acquire(blocking=False):
            while not self._writing.acquire(timeout=_WAIT):
                context.check()
        self._owner = threading.get_ident()

    def _begin(self) -> None:
        """Get the right to write to the folder."""
        if self._folder is None or self._folder.is_ready(self._tip.number):
            return
        was_writing = self._folder.is_writing
        news = self._folder.begin()
        if not was_writing:
            self._learn(news or News(None, []), self._folder.number)
        elif self._folder.number != self._tip.number:
            self._folder.begin()  # refuses if a sync has failed just now
            raise StorageError("A commit was interrupted, and may be in the log.", hint="Open the graph again.")

    def _learn(self, news: News, number: int) -> None:
        """Go on from what others have committed."""
        if news.store is not None:
            self._restart(_Chain(news.store, news.commits), number)
        elif self._chain.commits and self._tip.is_sealed:
            self._restart(_Chain(self._tip.store, news.commits), number)
        else:
            self._chain.commits += news.commits
            self._restart(self._chain, number)

    def _current_overlay(self) -> Overlay:
        """Return the last commit's version with what is above its base; a new one where that was read meanwhile."""
        if self._chain.commits and self._is_heavy():
            tip = Version(_Chain(self._tip.store), 0, self._tip.number)
            _ = tip.store.statistics  # which would hold the version before
            with self._publishing:
                if self.latest.number == tip.number:
                    self.latest = tip
            self._chain, self._tip, self._overlay = tip._chain, tip, None
        if self._overlay is None:
            self._overlay = Overlay(Base(self._chain.store))
        return self._overlay

    def _is_heavy(self) -> bool:
        """Tell whether the base is to be another one now; begin to make one beside where it soon is to be."""
        chain, overlay = self._chain, self._overlay
        if overlay is None:
            return True
        touched, commits = overlay.touched, len(chain.commits)
        many = touched > chain.few or commits > _COMMITS_EACH * chain.few
        if self._tip.is_sealed and (many or self._tip.store.is_better_base):
            return True
        if touched <= _LEAST_TOUCHED and commits <= _KEPT_COMMITS:
            return False
        fullness = max(commits / _KEPT_COMMITS, touched / max(_LEAST_TOUCHED, _TOUCHED_SHARE * overlay.base.size))
        if fullness <= 1:
            return False
        return fullness > _MOST_FULL or self._is_nearly_made()

    def _is_nearly_made(self) -> bool:
        """Tell whether a graph was made of all but few of the commits; else let a thread make one of all."""
        made = self._chain.sealed[1]
        if made and sum(size_of(each) for each in self._chain.commits[made:]) <= self._chain.few:
            return True
        if self._folding is None or not self._folding.is_alive():
            self._folding = threading.Thread(target=_make, args=(self._tip,), name=FOLDING, daemon=True)
            self._folding.start()
        return False

    def _append(self, commit: Commit) -> Version:
        """Log a commit, so that it is what the next writer begins from; errors as ``Log.append``."""
        count = self._tip._count
        self._chain.commits[count:] = [commit]  # no version has it yet, nor what an interrupt may have left there
        version = Version(self._chain, count + 1, self._tip.number + 1)
        try:
            if self._folder is not None:
                self._folder.append(commit)
            self._tip = version
        except BaseException:
            if self._folder is not None and self._folder.number == version.number:  # Ctrl-C came when it was logged
                self._tip, self._overlay = version, None
            else:
                del self._chain.commits[count:]
            raise
        return version

    def _replace(self, store: GraphStore) -> Version:
        """Save a store in the graph's folder, for the next writer to begin from; else as ``OpenFolder.checkpoint``."""
        chain = _Chain(store)
        version = Version(chain, 0, self._tip.number + 1)
        try:
            if self._folder is not None:
                self._folder.checkpoint(version)
        except BaseException:
            if self._folder is not None and self._folder.number == version.number:  # Ctrl-C came when it was saved
                self._chain, self._tip, self._overlay = chain, version, None
            raise
        self._chain, self._tip, self._overlay = chain, version, None
        return version

    def _acknowledge(self, version: Version) -> None:
        """Show a version to readers once the log says that it may be; errors as ``Log.wait``."""
        if self._folder is not None:
            try:
                self._folder.wait(version.number)
            except StorageError:
                raise
            except BaseException:  # Ctrl-C: what is logged stands
                self._folder.wait(version.number)
                self._publish(version)
                raise
        self._publish(version)
        if self._folder is not None:
            self._folder.checkpoint_if_due(version)

    def _publish(self, version: Version) -> None:
        with self._publishing:
            if version.number > self.latest.number:
                self.latest = version

    def _release(self) -> None:
        self._owner = None
        self._writing.release()


class Writer:
    """The right to change a graph, until ``release``. What isn't committed by then is taken back."""

    def __init__(self, versions: Versions, overlay: Overlay) -> None:
        self._versions = versions
        self._open = True
        self._uncommitted: tuple[int, GraphStore] | None = None
        self._below: Overlay | None = None  # the versions' overlay, where this writer has a store of its own
        self.overlay = overlay

    def sealed(self) -> GraphStore:
        """Return the present state as a store, with what isn't committed yet."""
        if not self.overlay.is_changed:
            return self._versions._tip.store if self._below is None else self.overlay.base.store
        if self._uncommitted is None or self._uncommitted[0] != self.overlay.clock:
            store = successor(self.overlay.base.store, commit := self.overlay.above())
            if self._below is None and self._versions._tip.is_sealed:  # whose indexes are later ones
                store.kept = self._versions._tip.store.kept.after(commit, store.rules)
            self._uncommitted = self.overlay.clock, store
        return self._uncommitted[1]

    @property
    def is_sealed(self) -> bool:
        """Whether ``sealed`` returns a store that there is."""
        if self.overlay.is_changed:
            return self._uncommitted is not None and self._uncommitted[0] == self.overlay.clock
        return self._below is not None or self._versions._tip.is_sealed

    @property
    def undirected_types(self) -> frozenset[str]:
        """The names of the types whose relationships have no direction."""
        return self.overlay.base.store.undirected_types

    def rebase(self, store: GraphStore) -> None:
        """Go on from a store that was made of ``sealed``; it isn't committed yet, and neither is what was before it."""
        if self._below is None:
            self._below = self.overlay
        self.overlay, self._uncommitted = Overlay(Base(store)), None

    def commit(self) -> None:
        """Make what was changed the latest version, and go on.

        Raises
        ------
        StorageError
            Where it can't be kept on disk; then nothing was changed.
        """
        self._versions._acknowledge(self._logged())

    def end(self) -> None:
        """Make what was changed the latest version, once others may write; errors as ``commit``."""
        try:
            version = self._logged()
        finally:
            self.release()
        self._versions._acknowledge(version)

    def _logged(self) -> Version:
        if self._below is not None:
            version = self._versions._replace(self.sealed())
            self.overlay, self._below, self._uncommitted = self._versions._current_overlay(), None, None
            return version
        if not self.overlay.is_changed:
            return self._versions._tip  # perhaps of another thread, which waits for the disk: it was read here
        version = self._versions._append(self.overlay.uncommitted())
        self.overlay.committed()
        return version

    def release(self) -> None:
        """Let others write; what wasn't committed is taken back."""
        if self._open:
            self._open = False
            (self._below or self.overlay).ended()
            self._versions._release()
