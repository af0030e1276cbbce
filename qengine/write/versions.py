"""The versions of a graph: each is a snapshot; one transaction at a time makes the next.

A commit costs what it has changed: it is kept beside the version that it was made above, and a store of both is made
(``storage.successor``) when the new version is first read.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Protocol

from qengine.errors import TransactionError
from qengine.exec.context import ExecutionContext
from qengine.storage.states import Commit, NodeState, RelationshipState
from qengine.storage.store import GraphStore
from qengine.storage.successor import successor
from qengine.write.base import Base
from qengine.write.overlay import Overlay

__all__ = ["CommitLog", "Version", "Versions", "Writer", "merged"]

_WAIT = 0.02  # seconds between two looks, while another transaction writes
_KEPT_COMMITS = 65_536  # above a version before a store is made of them
_LEAST_TOUCHED = 100_000  # elements above a version that are no reason for it
_TOUCHED_SHARE = 0.1  # of a version's elements, which are


class CommitLog(Protocol):
    """What keeps commits on disk."""

    def append(self, commit: Commit) -> None:
        """Keep a commit; it has happened once this returns."""


class _Chain:
    """A store and the commits since it was made. ``sealed``: the latest store made of it, and of how many of them."""

    def __init__(self, store: GraphStore) -> None:
        self.commits: list[Commit] = []
        self.store = store
        self.sealed = store, 0
        self.lock = threading.Lock()


class Version:
    """A snapshot of a graph."""

    def __init__(self, chain: _Chain, count: int) -> None:
        self._chain = chain
        self._count = count  # of the chain's commits, which are in this version
        self._store = None if count else chain.store

    @property
    def store(self) -> GraphStore:
        """The version's graph, made when first asked for."""
        if self._store is None:
            with self._chain.lock:
                if self._store is None:
                    self._store = self._made()
        return self._store

    @property
    def is_sealed(self) -> bool:
        """Whether its graph was made."""
        return self._store is not None

    def _made(self) -> GraphStore:
        chain = self._chain
        store, count = chain.sealed if chain.sealed[1] <= self._count else (chain.store, 0)
        store = successor(store, merged(chain.commits[count : self._count]))
        if self._count > chain.sealed[1]:
            chain.sealed = store, self._count
        return store


def merged(commits: Sequence[Commit]) -> Commit:
    """Return what commits have changed one after the other, as one."""
    if len(commits) == 1:
        return commits[0]
    nodes: dict[int, NodeState | None] = {}
    relationships: dict[int, RelationshipState | None] = {}
    for each in commits:
        nodes.update(each.nodes)
        relationships.update(each.relationships)
    rules = [each.rules for each in commits if each.rules is not None]
    last = commits[-1]
    return Commit(nodes, relationships, last.next_node, last.next_relationship, rules[-1] if rules else None)


class Versions:
    """The versions of one graph. Any number of threads may read ``latest`` and ask for a writer."""

    def __init__(self, store: GraphStore, log: CommitLog | None = None) -> None:
        self._chain = _Chain(store)
        self._overlay: Overlay | None = None
        self._log = log
        self._writing = threading.Lock()
        self._owner: int | None = None
        self.latest = Version(self._chain, 0)

    def writer(self, context: ExecutionContext) -> Writer:
        """Return the only writer there is, once those before it have ended.

        Raises
        ------
        TransactionError
            ``NestedTransaction`` where this thread has it already.
        QueryTimeout, QueryInterrupted
            By the context's limits, while others write.
        """
        if self._owner == threading.get_ident():
            raise TransactionError(
                "This thread is inside a transaction, which is still open.",
                hint="Ask the transaction itself: t.query(…), or end it first.",
                code="NestedTransaction",
            )
        while not self._writing.acquire(timeout=_WAIT):
            context.check()
        self._owner = threading.get_ident()
        try:
            return Writer(self, self._current_overlay())
        except BaseException:
            self._release()
            raise

    def _current_overlay(self) -> Overlay:
        """Return the latest version with what is above its base; a new one where that was read meanwhile."""
        chain = self._chain
        if chain.commits and (self.latest.is_sealed or self._is_heavy()):
            self._chain = _Chain(self.latest.store)
            self.latest = Version(self._chain, 0)
            self._overlay = None
        if self._overlay is None:
            self._overlay = Overlay(Base(self._chain.store))
        return self._overlay

    def _is_heavy(self) -> bool:
        if len(self._chain.commits) > _KEPT_COMMITS:
            return True
        base = self._chain.store
        most = max(_LEAST_TOUCHED, _TOUCHED_SHARE * (base.vertex_count + base.relationship_count))
        return self._overlay is not None and self._overlay.touched > most

    def _publish(self, commit: Commit) -> None:
        if self._log is not None:
            self._log.append(commit)
        self._chain.commits.append(commit)
        self.latest = Version(self._chain, len(self._chain.commits))

    def _release(self) -> None:
        self._owner = None
        self._writing.release()


class Writer:
    """The right to change a graph, until ``release``. What isn't committed by then is taken back."""

    def __init__(self, versions: Versions, overlay: Overlay) -> None:
        self._versions = versions
        self._open = True
        self._uncommitted: tuple[int, GraphStore] | None = None
        self.overlay = overlay

    def sealed(self) -> GraphStore:
        """Return the present state as a store, with what isn't committed yet."""
        changes = self.overlay.mark()
        if not changes:
            return self._versions.latest.store
        if self._uncommitted is None or self._uncommitted[0] != self.overlay.clock:
            store = successor(self.overlay.base.store, self.overlay.above())
            self._uncommitted = self.overlay.clock, store
        return self._uncommitted[1]

    def commit(self) -> None:
        """Make what was changed the latest version.

        Raises
        ------
        StorageError
            Where it can't be kept on disk; then nothing was changed.
        """
        if not self.overlay.mark():
            return
        commit = self.overlay.uncommitted()
        self._versions._publish(commit)
        self.overlay.committed()

    def release(self) -> None:
        """Let others write."""
        if self._open:
            self._open = False
            self.overlay.take_back(0)
            self._versions._release()
