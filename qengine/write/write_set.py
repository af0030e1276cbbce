"""What commits have changed since a version that was read, as far as who read it may notice.

New elements are told by their labels and types, changed ones by their properties' keys. What a plan reads
(``plan.read_set``) tells whether its rows are still those of that version, which then stands for the later one.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from qengine.plan.read_set import ReadSet
from qengine.storage.normal import language_type
from qengine.storage.patched_columns import same_value
from qengine.storage.states import Commit, NodeState, RelationshipState, size_of
from qengine.storage.store import GraphStore
from qengine.storage.variant import from_python
from qengine.write.base import Base

_MOST = 1_000  # elements that a commit may touch to be looked at; of larger ones nothing is known
_MOST_KINDS = 1_000  # of labels, relationships and keys, beyond which all may have changed


class WriteSet:
    """What commits above a store have changed; any number of threads may ask.

    It only grows: who asks for fewer commits than others have may be told of more than there was.
    """

    def __init__(self, store: GraphStore) -> None:
        self._store = store
        self._base = Base(store)
        self._lock = threading.Lock()
        self._done = 0
        self._names = {*store.labels, *(each.name for each in store.types)}
        self._nodes: set[frozenset[str]] = set()
        self._relationships: set[tuple[str, frozenset[str], frozenset[str]]] = set()
        self._keys: set[str] = set()
        self._fresh: dict[int, frozenset[str]] = {}  # labels of new nodes
        self._typed: set[tuple[str, str, type]] = set()  # kinds of values that columns have
        self._anything = False
        self._answers: dict[ReadSet, tuple[int, bool]] = {}

    def leaves(self, reads: ReadSet, commits: Sequence[Commit], first: int, end: int) -> bool:
        """Tell whether commits from ``first`` on, before ``end``, have changed nothing of what is read."""
        if self._done < end - first:
            with self._lock:
                while self._done < end - first and not self._anything:
                    self._add(commits[first + self._done])
                    self._done += 1
        if self._anything:
            return False
        kinds = len(self._nodes) + len(self._relationships) + len(self._keys)
        known = self._answers.get(reads)
        if known is None or known[0] != kinds:
            known = self._answers[reads] = kinds, self._is_apart(reads)
        return known[1]

    def _is_apart(self, reads: ReadSet) -> bool:
        with self._lock:
            return not (
                any(map(reads.has_node, self._nodes))
                or any(reads.has_relationship(*each) for each in self._relationships)
                or any(map(reads.has_key, self._keys))
            )

    def _add(self, commit: Commit) -> None:
        patched = commit.node_patches or commit.relationship_patches
        if patched or commit.rules is not None or size_of(commit) > _MOST:
            self._anything = True
            return
        nodes = [*commit.nodes.items(), *(each for block in commit.node_blocks for each in block.states())]
        for number, node in nodes:
            if not self._add_node(number, node):
                self._anything = True
                return
        relationships = [
            *commit.relationships.items(),
            *(each for block in commit.relationship_blocks for each in block.states()),
        ]
        for number, relationship in relationships:
            if not self._add_relationship(number, relationship):
                self._anything = True
                return
        self._anything = len(self._nodes) + len(self._relationships) + len(self._keys) > _MOST_KINDS

    def _add_node(self, number: int, state: NodeState | None) -> bool:
        """Add what is said of a node; return False where more is changed than is told here."""
        if state is None or not self._names.issuperset(state.labels):
            return False
        labels = frozenset(state.labels)
        if number < self._store.next_node:
            before = self._base.node(number)
            if before is None or frozenset(before.labels) != labels:
                return False
            return self._add_keys("node", before.properties, state.properties)
        if self._fresh.setdefault(number, labels) != labels:
            return False
        self._nodes.add(labels)
        return self._fit("node", state.properties.items())

    def _add_relationship(self, number: int, state: RelationshipState | None) -> bool:
        if state is None or state.type not in self._names:
            return False
        if number < self._store.next_relationship:
            before = self._base.relationship(number)
            if before is None or (before.type, before.start, before.end) != (state.type, state.start, state.end):
                return False
            return self._add_keys("relationship", before.properties, state.properties)
        ends = [self._fresh.get(each) or self._base.label_set(each) for each in (state.start, state.end)]
        if ends[0] is None or ends[1] is None:
            return False
        self._relationships.add((state.type, ends[0], ends[1]))
        return self._fit("relationship", state.properties.items())

    def _add_keys(self, entity: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
        changed = [key for key in {*before, *after} if not same_value(before.get(key), after.get(key))]
        self._keys.update(changed)
        return self._fit(entity, ((key, after[key]) for key in changed if key in after))

    def _fit(self, entity: str, properties: Iterable[tuple[str, Any]]) -> bool:
        """Tell whether values are of the types that their properties have: analysis of statements goes by these."""
        for key, value in properties:
            place = entity, key, type(value)
            if place in self._typed:
                continue
            known = self._store.property_type(entity, key)
            if known is None or language_type(from_python([value], key).type) != known:
                return False
            if place[2] is not list:
                self._typed.add(place)
        return True
