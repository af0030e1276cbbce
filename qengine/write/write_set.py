"""What commits have changed since a version that was read, as far as who read it may notice.

New elements are told by their labels and types, changed ones by their properties' keys. What a plan reads
(``plan.read_set``) tells whether its rows are still those of that version, which then stands for the later one: where
nothing that was changed may be among what is read, and where patterns have roots, nothing that these lead to
(``write.meeting``).
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from qengine.exec.common.value_index import Unanswered
from qengine.exec.context import ExecutionContext
from qengine.plan.read_set import Copied, ReadEdge, ReadSet, Root
from qengine.storage.normal import language_type
from qengine.storage.patched_columns import same_value
from qengine.storage.states import Commit, NodeState, RelationshipState, size_of
from qengine.storage.store import GraphStore
from qengine.storage.variant import from_python
from qengine.write.base import Base
from qengine.write.meeting import Meeting, Unknown

_MOST = 1_000  # elements that a commit may touch to be looked at; of larger ones nothing is known
_MOST_IN_ALL = 4_000  # elements that all of them may
_KEPT = 256  # plans of which is kept what new elements may be to them

_PLAIN = frozenset((int, str))

_Kind = tuple[str, frozenset[str], frozenset[str]]


class WriteSet:
    """What commits above a store have changed; any number of threads may ask.

    It only grows: who asks for fewer commits than others have may be told of more than there was.
    """

    def __init__(self, store: GraphStore) -> None:
        self._store = store
        self._base = Base(store)
        self._lock = threading.Lock()
        self._done = self._size = 0
        self._names = {*store.labels, *(each.name for each in store.types)}
        self._undirected = store.undirected_types
        self._labels: set[frozenset[str]] = set()  # of new nodes
        self._made: list[tuple[frozenset[str], Mapping[str, Any]]] = []  # labels and properties of these
        self._kinds: dict[_Kind, int] = {}
        self._new: list[tuple[int, int, int]] = []  # of relationships the kind, and the numbers of both ends
        self._keys: set[str] = set()
        self._fresh: dict[int, frozenset[str]] = {}  # labels of new nodes, by number
        self._typed: set[tuple[str, str, type]] = set()  # kinds of values that columns have
        self._anything = False
        self._asked: dict[ReadSet, _Asked] = {}

    def leaves(
        self,
        reads: ReadSet,
        commits: Sequence[Commit],
        span: tuple[int, int],
        values: Mapping[str, Any],
        context: ExecutionContext,
    ) -> bool:
        """Tell whether some commits have changed nothing of what is read.

        Parameters
        ----------
        reads
            What a plan reads.
        commits, span
            Commits, and which of them: from the first on, before the second number.
        values
            Those of parameters.
        context
            The limits of who asks.
        """
        first, end = span
        meeting = Meeting(self._store, values, context)
        try:
            with self._lock:
                while self._done < end - first and not self._anything:
                    self._add(commits[first + self._done])
                    self._done += 1
                if self._anything:
                    return False
                asked = self._asked.get(reads)
                if asked is None:
                    if len(self._asked) >= _KEPT:
                        self._asked.clear()
                    asked = self._asked[reads] = _Asked(reads)
                self._follow(asked)
                if asked.is_hit or any(map(asked.is_fresh, reads.roots, map(meeting.wanted, reads.roots))):
                    return False
                candidates, fresh = asked.candidates(), asked.unseen()
            for copied, unseen, value in fresh:
                if meeting.is_there(copied, value):
                    asked.is_hit = True
                    return False
                unseen.pop(value, None)
            return not any(
                meeting.meets(edge.near, starts) and meeting.meets(edge.far, ends) for edge, starts, ends in candidates
            )
        except (Unknown, Unanswered):
            return False

    def _follow(self, asked: _Asked) -> None:
        """Add what is new since a plan was asked for."""
        reads = asked.reads
        if len(self._labels) > asked.labels or len(self._keys) > asked.keys:
            asked.is_hit |= any(map(reads.has_node, self._labels)) or any(map(reads.has_key, self._keys))
            asked.labels, asked.keys = len(self._labels), len(self._keys)
        for type, start, end in list(self._kinds)[len(asked.ways) :]:
            directed = type not in self._undirected
            asked.ways.append(
                [
                    (place, forward)
                    for place, edge in enumerate(reads.edges)
                    for forward in edge.ways(type, start, end, directed=directed)
                ]
            )
        for kind, begin, stop in self._new[asked.relationships :]:
            for place, forward in asked.ways[kind]:
                ends = self._base.node_place(begin), self._base.node_place(stop)
                asked.add(place, *(ends if forward else ends[::-1]))
        for labels, properties in self._made[asked.nodes :]:
            asked.add_node(labels, properties)
        asked.relationships, asked.nodes = len(self._new), len(self._made)

    def _add(self, commit: Commit) -> None:
        patched = commit.node_patches or commit.relationship_patches
        size = size_of(commit)
        self._size += size
        if patched or commit.rules is not None or size > _MOST or self._size > _MOST_IN_ALL:
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
        self._labels.add(labels)
        self._made.append((labels, state.properties))
        return self._fit("node", state.properties.items())

    def _add_relationship(self, number: int, state: RelationshipState | None) -> bool:
        if state is None or state.type not in self._names:
            return False
        if number < self._store.next_relationship:
            before = self._base.relationship(number)
            if before is None or (before.type, before.start, before.end) != (state.type, state.start, state.end):
                return False
            return self._add_keys("relationship", before.properties, state.properties)
        start, end = (self._fresh.get(each) or self._base.label_set(each) for each in (state.start, state.end))
        if start is None or end is None:
            return False
        kind = self._kinds.setdefault((state.type, start, end), len(self._kinds))
        self._new.append((kind, state.start, state.end))
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


class _Asked:
    """What new elements may be to a plan. ``is_hit``: one of them surely is, whatever the parameters.

    ``ways``: by kind of relationship, which of the plan's each may be, and whether from its start to its end.
    ``labels``, ``keys``, ``relationships``, ``nodes``: how many of each were looked at.
    """

    def __init__(self, reads: ReadSet) -> None:
        self.reads = reads
        self.is_hit = False
        self.ways: list[list[tuple[int, bool]]] = []
        self.labels = self.keys = self.relationships = self.nodes = 0
        self._ends: list[tuple[set[int], set[int]]] = [(set(), set()) for _ in reads.edges]
        self._values: list[tuple[Root, str, set[int | str], list[Any]]] = [
            (root, probe.key, set(), []) for root in reads.roots for probe in root.probes
        ]
        self._copies: list[tuple[Copied, dict[int | str, None]]] = [(each, {}) for each in reads.copied]

    def add(self, place: int, start: int, end: int) -> None:
        """Add a new relationship that may be one of the plan's, by its place there, and the ids of its ends.

        These are -1 of new nodes, to which only new relationships lead.
        """
        edge, (starts, ends) = self.reads.edges[place], self._ends[place]
        if edge.near is None and edge.far is None:
            self.is_hit = True
        if start >= 0:
            starts.add(start)
        if end >= 0:
            ends.add(end)

    def add_node(self, labels: frozenset[str], properties: Mapping[str, Any]) -> None:
        """Add a new node."""
        for root, key, values, others in self._values:
            value = properties.get(key)
            if value is not None and all(each.admits(labels) for each in root.labels):
                if type(value) in _PLAIN:
                    values.add(value)
                else:
                    others.append(value)
        for copied, unseen in self._copies:
            value = properties.get(copied.key)
            if value is not None and (copied.labels is None or copied.labels.admits(labels)):
                if type(value) in _PLAIN:
                    unseen[value] = None
                else:
                    self.is_hit = True

    def unseen(self) -> list[tuple[Copied, dict[int | str, None], int | str]]:
        """Return values of new nodes that rows may look up, each with where it is kept until no row is known to."""
        return [(copied, unseen, value) for copied, unseen in self._copies for value in unseen]

    def candidates(self) -> list[tuple[ReadEdge, set[int], set[int]]]:
        """Return relationships of the plan with the ids of the nodes that their ends may be, of which none is new."""
        found = []
        for edge, (starts, ends) in zip(self.reads.edges, self._ends, strict=True):
            if (starts or ends) and (starts or edge.near is None) and (ends or edge.far is None):
                found.append((edge, starts.copy(), ends.copy()))
        return found

    def is_fresh(self, root: Root, wanted: frozenset[int | str]) -> bool:
        """Tell whether a new node may be a root that is found by some values."""
        return any(others or not wanted.isdisjoint(values) for each, _, values, others in self._values if each is root)
