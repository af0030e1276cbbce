"""Declared indexes that were searched: what outlives the version of a graph that it was made of."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from qengine.catalog.rules import Rules
from qengine.storage.arrays import Array
from qengine.storage.states import Commit

_EMPTY = np.empty(0, np.int64)


class KeptIndexes:
    """The indexes of one version by places: what their rules say (``catalog.rules.Rule.meaning``), and perhaps more.

    An index of the version before comes with the numbers of the elements that commits have touched since (int64,
    ascending), and is brought up to date when it is next searched. One of which more was touched than it has elements
    is let go. Any number of threads may use it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: dict[tuple[Any, ...], tuple[Any, Array]] = {}

    @property
    def nbytes(self) -> int:
        """Bytes of all indexes."""
        return sum(int(index.nbytes) for index, _ in list(self._made.values()))

    def get(self, place: tuple[Any, ...], make: Callable[[Any, Array], Any]) -> Any:
        """Return an index; ``make`` makes it of the one before, None if there is none, and what was touched since."""
        with self._lock:
            index, touched = self._made.get(place, (None, _EMPTY))
        if index is None or len(touched):
            index = make(index, touched)
            with self._lock:
                self._made[place] = index, _EMPTY
        return index

    def after(self, commit: Commit, rules: Rules) -> KeptIndexes:
        """Return those of a later version, of the indexes that it declares; ``commit``: all that was touched since."""
        later = KeptIndexes()
        with self._lock:
            made = list(self._made.items())
        declared = {rule.meaning for rule in rules.indexes} if made else ()
        made = [each for each in made if each[0][0] in declared]
        for place, (index, before) in made:
            touched = np.union1d(before, _touched(commit, place[0][1] == "NODE"))
            if len(touched) <= index.count:
                later._made[place] = index, touched
        return later


def _touched(commit: Commit, of_nodes: bool) -> Array:
    """Return the numbers of the elements that a commit has changed, made or deleted."""
    single: Collection[int] = commit.nodes if of_nodes else commit.relationships
    blocks = commit.node_blocks if of_nodes else commit.relationship_blocks
    patches = commit.node_patches if of_nodes else commit.relationship_patches
    return np.concatenate(
        [
            np.fromiter(single, np.int64, len(single)),
            *(np.arange(each.first, each.first + each.count, dtype=np.int64) for each in blocks),
            *(each.numbers for each in patches),
        ]
    )
