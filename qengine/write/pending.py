"""A version that isn't made into a store yet, as those read it who need little of it: a store and the commits above.

What commits have touched is gathered by readers, when the first needs it, and each commit once: an element's states
are kept with the number of the commit that each is of, so that every version finds its own among them. Writers take no
part: they append commits to a list, of which a version has a beginning.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

from qengine._cached import cached_property
from qengine.plan.pattern import LabelExpr
from qengine.storage.states import Commit, NodeState, Patch, RelationshipState, size_of
from qengine.storage.store import GraphStore
from qengine.types import Type
from qengine.write.base import Base
from qengine.write.block_table import place_of
from qengine.write.patch_table import apply_patches
from qengine.write.value_types import property_types, types_given

_S = TypeVar("_S", NodeState, RelationshipState)
_Entry = tuple[int, _S | None, Any]  # the commit's place, the state after it, and the entry before
_MOST_AT_ONCE = 10_000  # touched elements that a reader gathers, rather than to have a store made


class History:
    """A store and the commits above it, gathered as far as a reader has needed them.

    ``commits``: may grow meanwhile; what readers are given a version of stays.
    """

    def __init__(self, store: GraphStore, commits: Sequence[Commit]) -> None:
        self._store = store
        self._commits = commits
        self._gathered = 0
        self._gathering = threading.Lock()  # of readers alone, who hold it for some milliseconds at most
        self.nodes = _Touched[NodeState]()
        self.relationships = _Touched[RelationshipState]()
        self.labels: dict[str, dict[int, None]] = {}  # nodes that had a label after some commit
        self.added: dict[int, dict[int, None]] = {}  # relationships of a node that aren't in the store
        self.pairs: dict[tuple[int, int], dict[int, None]] = {}
        self._types: dict[tuple[str, str], tuple[int, frozenset[Type]]] = {}

    @cached_property
    def base(self) -> Base:
        """The store, read element by element."""
        return Base(self._store)

    def version(self, count: int) -> PendingVersion | None:
        """Return the version after so many commits; None where gathering them would take long."""
        if self._gathered < count:
            fresh = self._commits[self._gathered : count]
            if sum(map(size_of, fresh)) > _MOST_AT_ONCE:
                return None
            with self._gathering:
                for place in range(self._gathered, count):
                    self._gather(place, self._commits[place])
                    self._gathered = place + 1
        return PendingVersion(self, count)

    def _gather(self, place: int, commit: Commit) -> None:
        known = self.base.has
        for number, node in self._patched(commit.node_patches, commit.nodes, self.nodes, self.base.node).items():
            for label in () if node is None else node.labels:
                self.labels.setdefault(label, {})[number] = None
            self.nodes.put(place, number, node)
        for number, node in _states(commit.node_blocks, commit.nodes):
            for label in () if node is None else node.labels:
                self.labels.setdefault(label, {})[number] = None
            self.nodes.put(place, number, node)
        links = self._patched(
            commit.relationship_patches, commit.relationships, self.relationships, self.base.relationship
        )
        for number, link in links.items():
            self.relationships.put(place, number, link)
        for number, state in _states(commit.relationship_blocks, commit.relationships):
            if state is not None and not known(number):
                for end in (state.start, state.end):
                    self.added.setdefault(end, {})[number] = None
                self.pairs.setdefault((state.start, state.end), {})[number] = None
            self.relationships.put(place, number, state)

    @staticmethod
    def _patched(
        patches: Sequence[Patch],
        touched: Mapping[int, Any],
        before: _Touched[_S],
        base: Callable[[int], _S | None],
    ) -> dict[int, _S | None]:
        """Return what patches make of elements, but for those of which a commit says more."""
        numbers = sorted({number for patch in patches for number in patch.numbers.tolist()}.difference(touched))
        states = {number: before.last(number) if number in before.entries else base(number) for number in numbers}
        apply_patches(states, patches)
        return states

    def types_of(self, place: tuple[str, str], count: int) -> frozenset[Type]:
        """Return the types of a property's values in the store, and of those that the first commits gave."""
        known = self._types.get(place)
        done, found = known or (0, property_types(self._store, *place))
        if done < count:
            found = found.union(*(types_given(each, *place) for each in self._commits[done:count]))
            self._types[place] = count, found
        return found

    def values_of(self, touched: _Touched[Any], key: str) -> Mapping[Any, Mapping[int, None]]:
        """Return the elements that had a value of a property after some commit, by what equal values share."""
        found = touched.values.get(key)
        if found is None:
            with self._gathering:
                found = touched.index(key)
        return found


def _states(blocks: Sequence[Any], touched: Mapping[int, Any]) -> Iterator[tuple[int, Any]]:
    """Give the states of a commit's elements, those of blocks too."""
    for block in blocks:
        yield from ((number, state) for number, state in block.states() if number not in touched)
    yield from touched.items()


class _Touched(Generic[_S]):
    """The states of touched elements by number: the last first, each with the place of its commit."""

    def __init__(self) -> None:
        self.entries: dict[int, _Entry[_S]] = {}
        self.values: dict[str, dict[Any, dict[int, None]]] = {}

    def put(self, place: int, number: int, state: _S | None) -> None:
        self._index(number, state, self.values)
        entry = self.entries.get(number)
        if entry is None or entry[0] < place:
            self.entries[number] = place, state, entry

    def last(self, number: int) -> _S | None:
        return self.entries[number][1]

    def index(self, key: str) -> dict[Any, dict[int, None]]:
        if key not in self.values:
            found: dict[Any, dict[int, None]] = {}
            for number, entry in self.entries.items():
                while entry is not None:
                    self._index(number, entry[1], {key: found})
                    entry = entry[2]
            self.values[key] = found
        return self.values[key]

    @staticmethod
    def _index(number: int, state: _S | None, values: Mapping[str, dict[Any, dict[int, None]]]) -> None:
        for key, found in values.items() if state is not None else ():
            assert state is not None
            if (value := state.properties.get(key)) is not None:
                found.setdefault(place_of(value), {})[number] = None


class _AsOf(Mapping[int, _S | None]):
    """The touched elements as one version has them."""

    def __init__(self, touched: _Touched[_S], count: int) -> None:
        self._entries: dict[int, Any] = touched.entries
        self._count = count

    def get(self, number: int, default: Any = None) -> Any:
        entry = self._entries.get(number)
        while entry is not None:
            if entry[0] < self._count:
                return entry[1]
            entry = entry[2]
        return default

    def __getitem__(self, number: int) -> _S | None:
        found = self.get(number, _ABSENT)
        if found is _ABSENT:
            raise KeyError(number)
        return found  # type: ignore[no-any-return]

    def __contains__(self, number: object) -> bool:
        return isinstance(number, int) and self.get(number, _ABSENT) is not _ABSENT

    def __iter__(self) -> Iterator[int]:
        return (number for number in list(self._entries) if number in self)

    def __len__(self) -> int:
        return len(self._entries)  # or a little less: others may have been touched since


_ABSENT: Any = object()


def _place(state: NodeState, key: str) -> Any:
    value = state.properties.get(key)
    return _ABSENT if value is None else place_of(value)


class PendingVersion:
    """A version as ``write.live`` reads it (``Readable``)."""

    def __init__(self, history: History, count: int) -> None:
        self._history, self._count = history, count
        self.base = history.base
        self._nodes = _AsOf(history.nodes, count)
        self._relationships = _AsOf(history.relationships, count)
        self.values = _Values(lambda key: history.values_of(history.nodes, key))
        self.relationship_values = _Values(lambda key: history.values_of(history.relationships, key))

    @property
    def nodes_above(self) -> int:
        """How many nodes are above the base, or a little more."""
        return len(self._nodes)

    @property
    def relationships_above(self) -> int:
        """How many relationships are above the base, or a little more."""
        return len(self._relationships)

    def node(self, number: int) -> NodeState | None:
        """Return a node, None where there is none."""
        found = self._nodes.get(number, False)
        return self.base.node(number) if found is False else found

    def relationship(self, number: int) -> RelationshipState | None:
        """Return a relationship, None where there is none."""
        found = self._relationships.get(number, False)
        return self.base.relationship(number) if found is False else found

    def known_relationship(self, number: int) -> RelationshipState | None:
        """Return a relationship, None where there is none."""
        return self.relationship(number)

    def touched_node(self, number: int) -> NodeState | bool | None:
        """Return a node that was touched, None for one that was deleted, False for one that is as in the base."""
        return self._nodes.get(number, False)  # type: ignore[no-any-return]

    def touched_relationship(self, number: int) -> RelationshipState | bool | None:
        """Return a relationship that was touched, None for one that was deleted, False for one as in the base."""
        return self._relationships.get(number, False)  # type: ignore[no-any-return]

    def touched_nodes(
        self, keys: Collection[str] | None = None, labels: Collection[str] | None = None
    ) -> Mapping[int, NodeState | None]:
        """Return all nodes that were touched."""
        return self._nodes

    def touched_relationships(self, keys: Collection[str] | None = None) -> Mapping[int, RelationshipState | None]:
        """Return all relationships that were touched."""
        return self._relationships

    def block_nodes(self, expr: LabelExpr | None) -> Iterator[int]:
        """Give nothing: the elements of blocks are among those that were touched one by one."""
        return iter(())

    def nodes_having(self, wanted: Mapping[str, Any]) -> list[int]:
        """Return the nodes above the base whose properties equal some values; perhaps others."""
        return self.values.find(wanted, self._nodes)

    def relationships_having(self, wanted: Mapping[str, Any]) -> list[int]:
        """Return the relationships above the base whose properties equal some values; perhaps others."""
        return self.relationship_values.find(wanted, self._relationships)

    def nodes_with(self, key: str, value: Any) -> list[int]:
        """Return the nodes above the base that have a value of a property."""
        place = place_of(value)
        states = ((number, self._nodes.get(number)) for number in self.nodes_having({key: value}))
        return [number for number, state in states if state is not None and _place(state, key) == place]

    def property_types(self, entity: str, key: str) -> frozenset[Type]:
        """Return the types that the values of a property have, perhaps some more."""
        return self._history.types_of((entity, key), self._count)

    def added(self, node: int) -> Iterator[tuple[int, RelationshipState]]:
        """Give the relationships of a node that are not in the base."""
        return self._there(self._history.added.get(node))

    def added_between(self, one: int, other: int) -> Iterator[tuple[int, RelationshipState]]:
        """Give the relationships between two nodes that are not in the base, first those from ``one``."""
        for pair in ((one, other), (other, one)) if one != other else ((one, other),):
            yield from self._there(self._history.pairs.get(pair))

    def _there(self, numbers: Mapping[int, None] | None) -> Iterator[tuple[int, RelationshipState]]:
        for number in list(numbers or ()):
            state = self._relationships.get(number)
            if state is not None:
                yield number, state

    def labelled(self, label: str) -> list[int]:
        """Return the touched nodes that have a label."""
        states = ((number, self._nodes.get(number)) for number in list(self._history.labels.get(label, ())))
        return [number for number, state in states if state is not None and label in state.labels]


class _Values:
    """Finds touched elements by the values of their properties (``touched.TouchedValues``)."""

    def __init__(self, of: Callable[[str], Mapping[Any, Mapping[int, None]]]) -> None:
        self._of = of

    def find(self, wanted: Mapping[str, Any], touched: Mapping[int, Any]) -> list[int]:
        """Return the ``touched`` elements whose properties equal some values; perhaps others."""
        buckets = [self._of(key).get(place_of(value), {}) for key, value in wanted.items()]
        fewest = min(buckets, key=len)
        return [number for number in list(fewest) if touched.get(number) is not None]
