"""Dense lists of the next version, each of whose arrays is made when it is first read, in the time of copying it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from qengine.storage.adjacency import Adjacency, Form
from qengine.storage.arrays import Array
from qengine.storage.edits import Edit
from qengine.storage.forms import choose_changing
from qengine.storage.splicing import entry_places, spliced_entries, spliced_offsets


class Splice:
    """What changes of dense lists.

    Parameters
    ----------
    lists
        Those before.
    vertices
        How vertices move, None where ids stay. Those that go, or come again elsewhere, lose all entries.
    find
        Returns the edit of the entries; called once, when it is first needed.
    owners, entries
        uint32: the owners (ascending) and the neighbours of entries that come, new ids.
    ids
        How the ids beside the entries move, and what returns (uint32) those of the entries that come; None where there
        are none.
    """

    def __init__(
        self,
        lists: Adjacency,
        vertices: Edit | None,
        find: Callable[[], Edit],
        owners: Array,
        entries: Array,
        ids: tuple[Edit, Callable[[], Array]] | None,
    ) -> None:
        self.lists = lists
        self.vertices = vertices
        self.owners = owners
        self._find = find
        self._edit: Edit | None = None
        self._entries = entries
        self._ids = ids

    @property
    def has_ids(self) -> bool:
        """Whether ids stand beside the entries."""
        return self._ids is not None

    @property
    def edit(self) -> Edit:
        """The edit of the entries."""
        if self._edit is None:
            self._edit = self._find()
        return self._edit

    def rows(self) -> tuple[int, int]:
        """Return the range of the vertices that may have lists."""
        lo, hi = self.lists.lo, self.lists.hi
        if self.vertices is not None:
            last = np.array([hi - 1], np.int64)
            stays = int(self.vertices.back(self.vertices.follow(last))[0][0]) == hi - 1
            lo, hi = int(self.vertices.follow(np.array([lo], np.int64))[0]), int(self.vertices.follow(last)[0]) + stays
        if len(self.owners):
            lo, hi = min(lo, int(self.owners[0])), max(hi, int(self.owners[-1]) + 1)
        return lo, hi

    def made(self, name: str, rows: tuple[int, int]) -> Array:
        """Return one array of the lists of ``rows``."""
        if name == "offsets":
            return spliced_offsets(self.lists, self.vertices, self.edit, self.owners, rows)
        if name == "neighbours":
            return spliced_entries(self.lists.neighbours, self.edit, self._entries, self.vertices)
        assert self._ids is not None and self.lists.edge_ids is not None
        return spliced_entries(self.lists.edge_ids, self.edit, self._ids[1](), self._ids[0])


def key_places(lists: Adjacency, vertices: Edit | None, owners: Array, entries: Array) -> tuple[Array, Array]:
    """Return where entries belong in dense lists, after equal ones: places before any edit, int64, ascending.

    Parameters
    ----------
    lists
        Those before.
    vertices
        How vertices move, None where ids stay.
    owners, entries
        uint32, new ids; sorted by owner and entry.

    Returns
    -------
    places : int64
    bool
        Whether the entry before each place is in the same list and the same neighbour.
    """
    stays = np.ones(len(owners), np.bool_)
    old, bounds = owners, entries.astype(np.int64) + 1
    if vertices is not None:
        (places, own), (others, known) = vertices.back(owners.astype(np.int64)), vertices.back(entries.astype(np.int64))
        old, bounds = places.astype(np.uint32), np.where(own, others + known, 0)
        stays = own & known
    found = entry_places(lists, old, bounds.astype(np.uint32))
    assert lists.offsets is not None
    row = np.clip(old.astype(np.int64) - lists.lo, 0, len(lists.offsets) - 1)
    same = stays & (found > lists.offsets[row].astype(np.int64)) & (old >= lists.lo)
    same[same] = lists.neighbours[found[same] - 1] == bounds[same] - 1
    return found, same


class _Gate:
    """An attribute whose first reading makes the array; afterwards it is found in the object itself."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, lists: Any, owner: type) -> Any:
        return lists.make(self._name)


class SplicedAdjacency(Adjacency):
    """An adjacency of the dense form whose arrays are made when they are first read.

    Parameters
    ----------
    splice
        What they are made from, which is let go when all are there.
    length
        How many entries there are.
    rows
        The range of the vertices that may have lists.
    reason
        Why this form was chosen.
    """

    depth: int
    """Of how many lists that were never read these are to be made."""

    columns = np.empty((0, 3), np.uint32)  # aren't looked for: it takes as long as making the lists

    _splice: Splice | None
    _length: int
    _missing: set[str]
    _lock: threading.Lock

    def __init__(self, splice: Splice, length: int, rows: tuple[int, int], reason: str) -> None:
        own = self.__dict__  # the class is frozen
        own.update(form=Form.DENSE, lo=rows[0], hi=rows[1], keys=None, groups=None, home_groups=0, reason=reason)
        own.update(depth=1 + getattr(splice.lists, "depth", 0))
        own.update(_splice=splice, _length=length, _lock=threading.Lock(), _missing={"neighbours", "offsets"})
        if splice.has_ids:
            self._missing.add("edge_ids")
        else:
            own["edge_ids"] = None

    neighbours = _Gate()
    edge_ids = _Gate()
    offsets = _Gate()

    @classmethod
    def of(cls, splice: Splice, length: int) -> SplicedAdjacency | None:
        """Return the lists after a splice; None where another form is better by now."""
        lo, hi = splice.rows()
        form, reason = choose_changing(splice.lists.used, hi - lo, length)
        return cls(splice, length, (lo, hi), reason) if form is Form.DENSE and length else None

    def __len__(self) -> int:
        return self._length

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays, made or not."""
        return 8 * (self.hi - self.lo + 1) + 4 * self._length * (1 + self.has_ids)

    @property
    def has_ids(self) -> bool:
        """Whether relationship ids stand beside the entries; nothing is made for it."""
        return "edge_ids" in self._missing or self.__dict__["edge_ids"] is not None

    def make_all(self) -> None:
        """Make what wasn't made yet, which lets go what that is made of."""
        for name in sorted(self._missing):
            self.make(name)

    def make(self, name: str) -> Any:
        """Return one of the arrays; make it if that hasn't been done."""
        with self._lock:
            if name in self._missing:
                assert self._splice is not None
                self.__dict__[name] = self._splice.made(name, (self.lo, self.hi))
                self._missing.remove(name)
                if not self._missing:
                    self.__dict__.update(_splice=None, depth=0)
        return self.__dict__[name]
