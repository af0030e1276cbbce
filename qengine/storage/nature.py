"""What plans rely on of a graph, and which versions that follow each other share: their plans hold for all of them.

Plans read nothing of a graph but names, types and facts, which are compared here, and numbers that estimates are made
of, which may change a little. Whether a type has circles, or joins vertices both ways, is found when somebody asks.
From then on the answer holds for all versions of a nature: one that might be wrong later ends it. What nobody has asked
when a relationship came that might matter is answered so that it is right whatever there is. Where one was deleted, the
version that has it still is looked at, since others that have it, too, may be read or come back.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING
from weakref import ref

from qengine._frozen import frozen
from qengine.catalog.rules import Rules

if TYPE_CHECKING:
    from qengine.storage.store import GraphStore

_DRIFT = 0.1  # of the nodes with some labels, the relationships of a type, and all elements, may change
_SLACK = 32  # of the nodes with some labels, and of the relationships of a type, may come or go however few there are


class Facts:
    """Answers by type that hold for all versions of a nature; any number of threads may ask.

    Attributes
    ----------
    unknown
        The answer that is right whatever there is.
    """

    def __init__(self, unknown: bool) -> None:
        self.unknown = unknown
        self._lock = threading.Lock()
        self._known: dict[str, bool] = {}

    def of(self, type: str, find: Callable[[], bool]) -> bool:
        """Return the answer for a type, found if nobody has asked before."""
        known = self._known.get(type)
        return self.settle(type, find()) if known is None else known

    def settle(self, type: str, found: bool) -> bool:
        """Take an answer, where there is none yet; return the one that holds."""
        with self._lock:
            return self._known.setdefault(type, found)

    def survives(self, type: str) -> bool:
        """Tell whether the answer for a type stays right, now that another one may be."""
        return self.settle(type, self.unknown) == self.unknown

    def is_unknown(self, type: str) -> bool:
        """Tell whether the answer for a type is right whatever there is."""
        return self._known.get(type) == self.unknown

    def get(self, type: str) -> bool | None:
        """Return the answer for a type, None where nobody has asked."""
        return self._known.get(type)

    def items(self) -> list[tuple[str, bool]]:
        """Return what was asked by now."""
        return list(self._known.items())

    def take(self, types: Iterable[str], known: Facts) -> None:
        """Take the answers for types whose relationships are the same."""
        for type in types:
            if (found := known.get(type)) is not None:
                self.settle(type, found)


@frozen
class _Shape:
    """Names, types and facts of a graph; plans rely on them."""

    labels: tuple[str, ...]
    label_sets: frozenset[frozenset[str]]
    types: tuple[tuple[str, bool, bool, bool, tuple[str, ...]], ...]
    properties: tuple[tuple[str, str, object], ...]
    rules: Rules

    @classmethod
    def of(cls, store: GraphStore) -> _Shape:
        """Return a graph's shape."""
        return cls(
            store.labels,
            frozenset(group.labels for group in store.groups),
            tuple((each.name, each.undirected, each.parallel, each.loops, each.property_keys) for each in store.types),
            tuple(
                (entity, key, store.property_type(entity, key))
                for entity in ("node", "relationship")
                for key in store.property_keys(entity)
            ),
            store.rules,
        )


def _sizes(store: GraphStore) -> Mapping[object, int]:
    return {**dict(store.label_sets), **{each.name: each.count for each in store.types}}


class Nature:
    """What plans rely on, of one version and those after it that have the same nature.

    ``acyclic``, ``antiparallel``: by type, as ``CatalogView`` has them.
    """

    def __init__(self, store: GraphStore) -> None:
        self.acyclic = Facts(unknown=False)
        self.antiparallel = Facts(unknown=True)
        #: Whether some version lacks relationships that others have: its own answers don't hold for these.
        self.lost = False
        self._first = ref(store)
        self._shape = _Shape.of(store)
        self._sizes = _sizes(store)
        #: Of versions that were made of the same one, but have other names or types than that, and how many elements
        #: differed when it began.
        self.later: tuple[Nature, int] | None = None
        self._most = _DRIFT * (store.vertex_count + store.relationship_count)

    def whole(self, store: GraphStore) -> GraphStore | None:
        """Return a version whose answers hold for all of this nature, for one of them; None where there is none now."""
        return self._first() if self.lost else store

    def fits(self, store: GraphStore, touched: int) -> bool:
        """Tell whether a version has the same names, types and facts, and about the same numbers of elements.

        ``touched``: how many elements differ from those that estimates were made of, or a few more.
        """
        if touched > self._most or _Shape.of(store) != self._shape:
            return False
        sizes = _sizes(store)
        return all(abs(sizes[name] - size) <= max(_SLACK, _DRIFT * size) for name, size in self._sizes.items())


def following(
    base: GraphStore,
    store: GraphStore,
    touched: int,
    doubts: Mapping[str, Callable[[], tuple[bool, bool]]],
    *,
    grows: bool,
) -> tuple[Nature | None, int]:
    """Return the nature of a version that was made of another one, None where it is another one.

    Parameters
    ----------
    base, store
        The version before, and the next one.
    touched
        How many elements differ.
    doubts
        Of types with new relationships: what tells whether these may have made a circle, and whether they may join
        vertices both ways that were joined one way.
    grows
        Whether it has all relationships of the version before.

    Returns
    -------
    tuple
        The nature, and how many elements differ from those of the first version that had it, at most.
    """
    own = base.nature
    known = [(own, base.drift), *([] if own.later is None else [own.later])]
    for nature, before in known:
        if nature.fits(store, before + touched) and _stays(nature, doubts):
            nature.lost = nature.lost or not grows
            return nature, before + touched
    return (_begun(base, store, touched) if grows else None), 0


def _stays(nature: Nature, doubts: Mapping[str, Callable[[], tuple[bool, bool]]]) -> bool:
    """Tell whether what is known of types stays right, now that they have other relationships."""
    for name, doubt in doubts.items():
        if nature.acyclic.is_unknown(name) and nature.antiparallel.is_unknown(name):
            continue
        circle, turned = doubt()
        if circle and not nature.acyclic.survives(name):
            return False
        if turned and not nature.antiparallel.survives(name):
            return False
    return True


def _begun(base: GraphStore, store: GraphStore, touched: int) -> Nature:
    """Return a nature that begins with a version, for those which are made of the same base after it.

    Nothing tells of types that the base hasn't what relationships of later versions may make wrong.
    """
    found = Nature(store)
    known = {each.name for each in base.types}
    for each in store.types:
        if each.name not in known:
            found.acyclic.survives(each.name)
            found.antiparallel.survives(each.name)
    base.nature.later = found, touched
    return found
