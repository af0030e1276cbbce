"""An adjacency of a saved graph, whose arrays can't be had before they are checked.

Whatever reads one of them first has all checked, once: checksums, and that they are what ``forms.py`` writes
(``kernels/host/load/saved_lists.h``). From then on it is an ``Adjacency`` like any other.
"""

from __future__ import annotations

import ctypes
import threading
from typing import Any

import numpy as np

from qengine import _native
from qengine._frozen import frozen
from qengine._limits import stop_if_due
from qengine.plan.pattern import Direction
from qengine.storage.adjacency import Adjacency, Form, PcsrStruct
from qengine.storage.blocks import BLOCK, BlockFile, BlocksStruct, limited

_ARRAYS = ("neighbours", "edge_ids", "offsets", "keys", "groups")
_WAIT = 0.05  # seconds between looks at a query's limits while another thread checks
_WRONG_BLOCK = 1
_FAULTS = {
    2: "the row index is malformed",
    3: "a list isn't sorted, or repeats a neighbour",
    4: "a neighbour is out of range",
    5: "a node is its own neighbour where it may not be",
    6: "a relationship id is out of range",
}
_WITHOUT_IDS, _POSITIONS, _STORED = range(3)
_MASK = 2**64 - 1

Digests = tuple[int, int]
"""Of a type's relationships as they are and turned round, without loops in the second (``qe::SavedLists``)."""


_ListsStruct = _native.struct(
    "qe::SavedLists",
    "BlocksStruct file; PcsrStruct lists; u8 n_groups n_ids; u4 low high; "
    "i4 parallel loops turned ids both_ways fault; u8 place; u8[2] digests; p parts_done parts_digests",
    BlocksStruct=BlocksStruct,
    PcsrStruct=PcsrStruct,
)


@frozen
class ListFacts:
    """What is claimed of a type, which its lists must keep.

    ``type``, ``direction``: whose lists they are. ``count``: relationships. ``reach``: where the neighbours' ids lie.
    ``stored_ids``: whether the other direction has relationship ids beside its entries. ``digests``: of its
    relationships; None where the graph was saved without: then both directions are compared, when the second is
    checked. ``seen``: the digests of the directions that were checked, shared by both.
    """

    type: str
    direction: Direction
    count: int
    reach: tuple[int, int]
    undirected: bool
    parallel: bool
    loops: bool
    stored_ids: bool
    digests: Digests | None
    seen: dict[Direction, Digests]


class _Gate:
    """An attribute whose first reading checks all arrays; afterwards it is found in the object itself."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, lists: Any, owner: type) -> Any:
        lists.check()
        return lists.__dict__[self._name]


class SavedAdjacency(Adjacency):
    """An adjacency whose arrays are parts of a mapped file, checked when the first of them is read.

    Parameters
    ----------
    lists
        With the arrays as they stand in the file; their sizes fit each other.
    file
        The file.
    facts
        What they are checked against.
    """

    _unchecked: Adjacency | None
    _length: int
    _bytes: int
    _source: tuple[BlockFile, ListFacts]
    _lock: threading.Lock
    _progress: _Progress | None
    _fault: str

    def __init__(self, lists: Adjacency, file: BlockFile, facts: ListFacts) -> None:
        own = self.__dict__  # the class is frozen
        own.update({name: value for name, value in vars(lists).items() if name not in _ARRAYS})
        own.update(_unchecked=lists, _length=len(lists.neighbours), _bytes=lists.nbytes, _source=(file, facts))
        own.update(_lock=threading.Lock(), _progress=None, _fault="")

    neighbours = _Gate()
    edge_ids = _Gate()
    offsets = _Gate()
    keys = _Gate()
    groups = _Gate()

    def __len__(self) -> int:
        return self._length

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return self._bytes

    @property
    def reach(self) -> tuple[int, int]:
        """A range ``[begin, end)`` of ids that holds all neighbours, told by the lists of the other direction."""
        return self._source[1].reach

    def check(self) -> None:
        """Check the arrays, if that hasn't been done.

        Raises
        ------
        StorageError
            If they are damaged, always the same.
        ResourceError
            If the query that reads them must stop; the next one goes on from there.
        """
        while not self._lock.acquire(timeout=_WAIT):
            stop_if_due()
        try:
            if self._unchecked is not None:
                self._check(self._unchecked)
                self.__dict__.update({name: getattr(self._unchecked, name) for name in _ARRAYS})
                self.__dict__.update(_unchecked=None, _progress=None)
        finally:
            self._lock.release()

    def _check(self, lists: Adjacency) -> None:
        file, facts = self._source
        if file.trusted:
            return
        if self._progress is None:
            self.__dict__["_progress"] = _Progress(lists, facts, file)
        if not self._fault:
            assert self._progress is not None
            self.__dict__["_fault"] = _fault(self._progress.run(), facts, file)
        if self._fault:
            raise file.damaged(self._fault)


class _Progress:
    """What the native check takes, and how far it has come."""

    def __init__(self, lists: Adjacency, facts: ListFacts, file: BlockFile | None) -> None:
        blocks = BlocksStruct() if file is None else file.struct  # without a file: places are addresses
        begin = lists.neighbours.ctypes.data - (blocks.data or 0)
        parts = begin % BLOCK + lists.neighbours.nbytes
        self._done = np.zeros(parts // BLOCK + 1, np.uint8)
        self._digests = np.zeros((len(self._done), 2), np.uint64)
        self._size = lists.nbytes
        is_out = facts.direction is Direction.OUT
        ids = _WITHOUT_IDS if not facts.stored_ids else _POSITIONS if is_out else _STORED
        self._keep = lists, file
        self._struct = _ListsStruct(
            blocks,
            lists.as_struct(),
            0 if lists.groups is None else len(lists.groups),
            facts.count,
            *facts.reach,
            facts.parallel,
            facts.loops,
            facts.direction is Direction.IN,
            ids,
            is_out and facts.undirected,
        )
        self._struct.parts_done = self._done.ctypes.data
        self._struct.parts_digests = self._digests.ctypes.data

    def run(self) -> ctypes.Structure:
        """Go on with the check; return what it found."""
        struct = self._struct
        limited(lambda control: int(_library().qe_check_lists(ctypes.byref(struct), ctypes.byref(control))), self._size)
        return struct


def digests_of(out: Adjacency, facts: ListFacts) -> Digests:
    """Return the digests of a type's relationships, from its OUT lists; ``facts`` are theirs."""
    found = _Progress(out, facts, None).run()
    if found.fault:
        raise ValueError(f"relationships {facts.type}: {_FAULTS[found.fault]}")
    return int(found.digests[0]), int(found.digests[1])


def _fault(found: ctypes.Structure, facts: ListFacts, file: BlockFile) -> str:
    """Return what is wrong with lists, "" where nothing is."""
    where = f"relationships {facts.type}, direction {facts.direction.value}"
    if found.fault == _WRONG_BLOCK:
        return file.wrong_block(found.place)
    if found.fault:
        return f"{where}: {_FAULTS[found.fault]}"
    return "" if _fits(found, facts) else f"{where}: both directions don't hold the same relationships"


def _fits(found: ctypes.Structure, facts: ListFacts) -> bool:
    """Tell whether the digests are those of the type's relationships, as far as these are known."""
    facts.seen[facts.direction] = int(found.digests[0]), int(found.digests[1])
    out = facts.digests or facts.seen.get(Direction.OUT)
    if out is None:
        return True
    if facts.seen.get(Direction.OUT, out) != out:
        return False
    for way, (digest, _) in list(facts.seen.items()):
        if way is not Direction.OUT and digest != (sum(out) & _MASK if way is Direction.BOTH else out[0]):
            return False
    return True


def well_sized(lists: Adjacency) -> bool:
    """Tell whether the arrays of an adjacency are those of its form, and as long as each other demands."""
    offsets, keys, groups, ids = lists.offsets, lists.keys, lists.groups, lists.edge_ids
    if ids is not None and len(ids) != len(lists.neighbours):
        return False
    if not len(lists.neighbours) and lists.lo != lists.hi:
        return False
    if lists.form is Form.GROUPS:
        return offsets is None and keys is None and groups is not None and 1 <= lists.home_groups <= len(groups)
    if offsets is None or groups is not None or lists.home_groups:
        return False
    if lists.form is Form.DENSE:
        return keys is None and len(offsets) == lists.hi - lists.lo + 1
    return keys is not None and len(offsets) == len(keys) + 1


_library = _native.declared("qe_check_lists p p")
