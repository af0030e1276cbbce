"""The native functions of loading (``kernels/host``) as functions of NumPy arrays."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from qengine import _native
from qengine._control import Control, Status, call
from qengine._native import address
from qengine._system import usable_processors
from qengine.errors import InternalError, OutOfMemory
from qengine.storage.arrays import Array
from qengine.storage.structs import (
    EdgeColumns,
    EdgeLines,
    GroupedLists,
    KeyedLists,
    KeyTable,
    ListEntries,
    MergedLists,
    PairTable,
    RowIndex,
    WedgeLists,
)

NO_VERTEX = 0xFFFFFFFF

_library = _native.declared(
    "qe_count_vertices u4* u8 u4* u4 i4; qe_look_up i8* u8 p u4* p i4; qe_mark i8* u8 i8 u1* i4; "
    "qe_owners u4* u8* u8 u4* i4; qe_renumber u4* u8 u4* u4* i4; qe_order_by_degree u4* u4* u8; "
    "qe_pcsr_sort p u8* u4* u4* p; qe_pcsr_merge p p u4* p i4; qe_pcsr_locate p u4* u8 u8* u8*; "
    "qe_pcsr_degrees p u4* u8 u4 u4 f8*; qe_pair_statistics p p p; qe_acyclic p p u4 p; qe_antiparallel p p p; "
    "qe_mutual_pairs p p u4 p; qe_wedge_sample p u8 u8 u4* u1* p p; qe_distinct_sketch p u4 p u4 u8 p; "
    "qe_text_ends p u4 p u8 u8*; qe_csv_rows_end p u8 u1 i4 p; qe_numerals_scan u1* u8 u4 p i4; "
    "qe_numerals_changed p u4 p u8 p p i4; qe_edge_list p u8 c p p i4; qe_signature_build p u4* i4; qe_trim_heap; "
    "qe_signature_group u4 u4 -> u4; qe_checksum p p u8 u8 -> u8"
)
_SHORT = 1 << 20  # entries that are sorted before anybody could press Ctrl-C


def threads() -> int:
    """Return how many threads loading uses: one a CPU that this process may run on."""
    return usable_processors()


def trim_heap() -> None:
    """Give memory that loading has freed back to the system."""
    _call("qe_trim_heap")


def count_vertices(vertices: Array, counts: Array) -> None:
    """Add to ``counts[v]`` (uint32) how often ``v`` occurs in ``vertices`` (uint32)."""
    _call("qe_count_vertices", vertices, len(vertices), counts, len(counts), threads())


def look_up(keys: Array, low: int, table: Array) -> tuple[Array, int | None]:
    """Return ``table[keys - low]`` (uint32, ``NO_VERTEX`` outside), and the first row that found none.

    Parameters
    ----------
    keys
        int64[n].
    low
        The key of the first entry of ``table``.
    table
        uint32, ``NO_VERTEX`` for a key that nothing has.
    """
    found = np.empty(len(keys), np.uint32)
    missing = ctypes.c_uint64()
    where = KeyTable(address(table, np.uint32), len(table), low, NO_VERTEX)
    _call("qe_look_up", keys, len(keys), ctypes.byref(where), found, ctypes.byref(missing), threads())
    return found, missing.value if missing.value < len(keys) else None


def mark(keys: Array, low: int, seen: Array) -> None:
    """Set ``seen[keys - low]`` (uint8) to 1; ``keys`` are int64."""
    _call("qe_mark", keys, len(keys), low, seen, threads())


def owners(keys: Array, offsets: Array) -> Array:
    """Return for each entry of the lists ``offsets`` (uint64[k + 1]) its list's key (uint32)."""
    found = np.empty(int(offsets[-1]), np.uint32)
    _call("qe_owners", keys, offsets, len(keys), found, threads())
    return found


def renumber(index: Array, table: Array) -> Array:
    """Return ``table[index]``, all uint32."""
    out = np.empty(len(index), np.uint32)
    _call("qe_renumber", index, len(index), table, out, threads())
    return out


def order_by_degree(degrees: Array, vertices: Array) -> None:
    """Sort ``vertices`` (uint32) in place by descending ``degrees[vertex]`` (uint32), stable."""
    _call("qe_order_by_degree", degrees, vertices, len(vertices))


def sort_lists(
    lists: Array, lo: int, count: int, entries: Array, *, order: bool, workers: int | None = None
) -> tuple[Array, Array, Array | None]:
    """Group ``entries`` by ``lists`` and sort each group, equal entries in the order of the input.

    Parameters
    ----------
    lists, entries
        uint32[n]; lists lie in ``[lo, lo + count)``.
    order
        Whether to return the input row of each sorted entry.
    workers
        Threads; None for one a CPU.

    Returns
    -------
    offsets : uint64[count + 1]
    sorted entries : uint32[n]
    order : uint32[n] or None

    Raises
    ------
    KeyboardInterrupt
        Soon after Ctrl-C.
    """
    offsets = np.empty(count + 1, np.uint64)
    neighbours = np.empty(len(lists), np.uint32)
    rows = np.empty(len(lists), np.uint32) if order else None
    control = Control(threads=workers or threads())
    given = ListEntries(address(lists, np.uint32), address(entries, np.uint32), len(lists), lo, count)

    def sort() -> int:
        where = ctypes.byref(given), offsets, neighbours, rows, ctypes.addressof(control)
        return int(_library().qe_pcsr_sort(*where))

    check_status("qe_pcsr_sort", sort() if len(lists) < _SHORT else call(control, sort))
    return offsets, neighbours, rows


def merge_lists(
    out: tuple[Array, Array, Array], into: tuple[Array, Array, Array], ids: Array | None, keys: Array
) -> tuple[Array, Array, Array | None]:
    """Merge OUT and IN lists of an undirected type; a self-loop is taken once.

    Parameters
    ----------
    out, into
        Keys (uint32, ascending), offsets (uint64) and neighbours (uint32) of both sides.
    ids
        uint32: the OUT position of each IN entry; None where the merged entries' aren't wanted.
    keys
        The union of both sides' keys.

    Returns
    -------
    offsets : uint64[len(keys) + 1]
    neighbours : uint32
    ids : uint32 or None
        The OUT position of each entry.
    """
    size = len(out[2]) + len(into[2])
    offsets = np.empty(len(keys) + 1, np.uint64)
    neighbours, merged = np.empty(size, np.uint32), None if ids is None else np.empty(size, np.uint32)
    numbers = None if merged is None else address(merged, np.uint32)
    places = address(offsets, np.uint64), address(neighbours, np.uint32), numbers
    to = MergedLists(address(keys, np.uint32), *places, len(keys))
    sides = [KeyedLists(*map(address, side, _LISTS), len(side[0])) for side in (out, into)]
    _call("qe_pcsr_merge", *map(ctypes.byref, sides), ids, ctypes.byref(to), threads())
    total = int(offsets[-1])
    for array in (neighbours, merged):
        if array is not None:
            array.resize(total, refcheck=False)
    return offsets, neighbours, merged


def locate(pcsr: ctypes.Structure, vertices: Array) -> tuple[Array, Array]:
    """Return the slices (uint64 begins and ends) of the vertices' (uint32) lists in a ``qe::Pcsr``."""
    begins, ends = np.empty(len(vertices), np.uint64), np.empty(len(vertices), np.uint64)
    _call("qe_pcsr_locate", ctypes.addressof(pcsr), vertices, len(vertices), begins, ends)
    return begins, ends


def add_degrees(pcsr: ctypes.Structure, vertices: Array, low: int, high: int, degrees: Array) -> None:
    """Add to ``degrees`` (float64) how many neighbours in ``[low, high)`` each vertex (uint32) has."""
    _call("qe_pcsr_degrees", ctypes.addressof(pcsr), vertices, len(vertices), low, high, degrees)


Rows = tuple[Array | None, int, Array, Array]
"""A row index as kernels take it.

Owners (uint32, ascending; None for ``first``, ``first + 1``, …), ``first``, begins and ends (uint64) of their lists.
"""


def wedge_sample(
    rows: Rows, neighbours: Array, out: ctypes.Structure, undirected: bool, seed: int, most: int
) -> tuple[Array, Array, int]:
    """Sample paths of two steps of a type: ``rows`` of what reaches a vertex, a ``qe::Pcsr`` of what it reaches.

    Returns
    -------
    uint32[samples, 3]
        The vertices of each path; at most ``most`` paths, in the order of the middle one.
    bool[samples]
        Whether the first and the last one are different, and the first one reaches the last one.
    int
        How many paths there are.
    """
    vertices, closed = np.empty((most, 3), np.uint32), np.empty(most, np.uint8)
    samples, wedges = ctypes.c_uint64(), ctypes.c_uint64()
    lists = WedgeLists(_row_index(rows), address(neighbours, np.uint32), ctypes.addressof(out), undirected)
    found = vertices, closed, ctypes.byref(samples), ctypes.byref(wedges)
    _call("qe_wedge_sample", ctypes.byref(lists), seed, most, *found)
    return vertices[: samples.value], closed[: samples.value].astype(np.bool_), wedges.value


def acyclic(into: ctypes.Structure, out: ctypes.Structure, n: int) -> bool:
    """Tell whether no path over a type, two ``qe::Pcsr`` of ``n`` vertices, leads back to where it began."""
    found = ctypes.c_int32()
    _call("qe_acyclic", ctypes.addressof(into), ctypes.addressof(out), n, ctypes.byref(found))
    return bool(found.value)


def antiparallel(into: ctypes.Structure, out: ctypes.Structure) -> bool:
    """Tell whether relationships of a type, two ``qe::Pcsr``, join two different vertices both ways."""
    found = ctypes.c_int32()
    _call("qe_antiparallel", ctypes.addressof(into), ctypes.addressof(out), ctypes.byref(found))
    return bool(found.value)


def mutual_pairs(into: ctypes.Structure, out: ctypes.Structure, stride: int) -> int:
    """Count pairs that relationships of a type, two ``qe::Pcsr``, join both ways: those at every ``stride``-th vertex.

    Each pair is at its lesser vertex.
    """
    found = ctypes.c_uint64()
    _call("qe_mutual_pairs", ctypes.addressof(into), ctypes.addressof(out), stride, ctypes.byref(found))
    return found.value


def pair_statistics(
    rows: Rows, neighbours: Array, reach: tuple[int, int], group_ends: Array, sides: bool
) -> tuple[Array, Array]:
    """Count a PCSR's entries between groups of vertices.

    Parameters
    ----------
    rows
        Its row index.
    neighbours
        uint32, each list ascending.
    reach
        A range of ids that holds all neighbours.
    group_ends
        uint32, ascending: one more than each group's last vertex.
    sides
        Whether to tell neighbours with lesser ids from those with greater ones.

    Returns
    -------
    uint64[pairs, 5]
        Owner's group, neighbour's group, entries, owners, most entries of one owner; ascending.
    float64[pairs, 4]
        Over the owners with d such entries each: the sums of d(d-1) and of d(d-1)(d-2); where both groups are one and
        ``sides`` is set, the sums of the squares of how many neighbours have a lesser, and a greater, id than their
        owner, else 0.
    """
    capacity = min(len(group_ends) ** 2, len(neighbours))
    pairs = np.empty((capacity, 2), np.uint32)
    counts = np.empty((3, capacity), np.uint64)
    moments = np.empty((capacity, 4), np.float64)
    found = ctypes.c_uint64()
    arrays = address(neighbours, np.uint32), address(group_ends, np.uint32)
    lists = GroupedLists(_row_index(rows), *arrays, len(group_ends), *reach, sides)
    columns = (address(column, np.uint64) for column in counts)
    table = PairTable(address(pairs, np.uint32), *columns, address(moments, np.float64), capacity)
    _call("qe_pair_statistics", ctypes.byref(lists), ctypes.byref(table), ctypes.byref(found))
    numbers = np.concatenate((pairs.astype(np.uint64), counts.T), axis=1)
    return numbers[: found.value], moments[: found.value]


def distinct_sketch(array: Any) -> float:
    """Return about how many different values an Arrow array without nulls has: of 4 or 8 bytes each, or texts."""
    found = ctypes.c_double()
    if pa.types.is_primitive(array.type):
        width = array.type.bit_width // 8
        values = array.buffers()[1].address + array.offset * width if len(array) else None
        _call("qe_distinct_sketch", values, width, None, 0, len(array), ctypes.byref(found))
    else:
        offsets, width, texts = _texts(array)
        _call("qe_distinct_sketch", texts, 0, offsets, width, len(array), ctypes.byref(found))
    return found.value


def text_ends(array: Any) -> tuple[int, int]:
    """Return where the least and the greatest of an Arrow array's texts are, without nulls and at least one."""
    ends = np.empty(2, np.uint64)
    offsets, width, texts = _texts(array)
    _call("qe_text_ends", offsets, width, texts, len(array), ends)
    return int(ends[0]), int(ends[1])


def csv_rows_end(block: bytearray, size: int, separator: str, *, last: bool) -> tuple[int, bool]:
    """Return where the last whole row of a block of a CSV file ends, and whether a quote is odd then.

    Parameters
    ----------
    block
        Bytes that begin a row.
    size
        How many of them are there.
    separator
        The character between fields, of ASCII.
    last
        Whether the file ends with the block.

    Returns
    -------
    int
        The end of the last row before an odd quote, 0 where there is none.
    bool
        Whether there is an odd one: in the middle of a field, behind a backslash, or left open at the end of the file.
    """
    end = _native.array_of(ctypes.c_uint64, 2)()
    _call("qe_csv_rows_end", ctypes.addressof(ctypes.c_char.from_buffer(block)), size, ord(separator), last, end)
    return int(end[0]), bool(end[1])


ODDLY_WRITTEN, MANY_DIGITS = 1, 2
"""What ``scan_numerals`` looks for: 007, +46 or 0x1F; more than 15 digits, or an exponent of three."""


def scan_numerals(data: Array, wanted: int) -> int:
    """Return which kinds of numbers that may be changed by reading stand in the bytes (uint8) of a CSV file.

    ``wanted``: kinds, added up; the scan ends where all are found.
    """
    found = ctypes.c_uint32()
    _call("qe_numerals_scan", data, len(data), wanted, ctypes.byref(found), threads())
    return found.value


def changed_numeral(texts: Any, numbers: Any) -> int | None:
    """Return the first row of which an Arrow array of doubles or int64 doesn't hold what its text says; None if all do.

    A double holds a text if it gives the same digits when printed with as many. Integers were read right; they don't
    hold leading zeros, a plus, and hexadecimal digits.
    """
    row = ctypes.c_uint64()
    offsets, width, data = _texts(texts)
    values = None
    if pa.types.is_floating(numbers.type):
        values = numbers.buffers()[1].address + numbers.offset * 8
    _call("qe_numerals_changed", offsets, width, data, len(texts), values, ctypes.byref(row), threads())
    return row.value if row.value < len(texts) else None


def build_signatures(given: ctypes.Structure, table: Array) -> None:
    """Fill ``table`` (uint32[16, vertices]) with the signatures made from a ``qe::SignatureInput``."""
    _call("qe_signature_build", ctypes.addressof(given), table, threads())


def signature_group(list_number: int, label: int) -> int:
    """Return the group of a signature that a kind of neighbour counts in."""
    return int(_library().qe_signature_group(list_number, label))


class Lines(NamedTuple):
    """What ``edge_list`` read: int64 columns, the number of newlines, and the first bad line (from 0) if there is one.

    ``third`` is None where it wasn't asked for, ``NO_NUMBER`` in a line that has none.
    """

    first: Array
    second: Array
    third: Array | None
    newlines: int
    bad: int | None


NO_NUMBER = -(2**63)


def edge_list(data: bytearray, size: int, letter: str = "\0", *, third: bool = False) -> Lines:
    """Parse the first ``size`` bytes of ``data``, whole lines of two integers (or three).

    ``letter``: read only the lines of a graph file that start with it.
    """
    columns = [np.empty(size // 4 + 1, np.int64) for _ in range(3 if third else 2)]
    to, found = EdgeColumns(*(address(column, np.int64) for column in columns)), EdgeLines()
    text = (ctypes.c_char * size).from_buffer(data) if size else None
    _library().qe_edge_list(text, size, letter.encode(), ctypes.byref(to), ctypes.byref(found), threads())
    for column in columns:
        column.resize(found.n_rows, refcheck=False)
    failed = None if found.bad_line == 2**64 - 1 else found.bad_line
    return Lines(columns[0], columns[1], columns[2] if third else None, found.n_lines, failed)


class Checksum:
    """A running 64-bit checksum; parts before the last must be multiples of 64 bytes long."""

    def __init__(self) -> None:
        self._state = _Lanes()
        self._total = 0
        self.value = self.update(b"")

    def update(self, data: bytes | bytearray | memoryview[Any]) -> int:
        """Add bytes; return the checksum of all so far."""
        array = np.frombuffer(data, np.uint8)
        self._total += len(array)
        self.value = int(_library().qe_checksum(self._state, address(array, np.uint8), len(array), self._total))
        return self.value


def checksum(data: bytes) -> int:
    """Return the checksum of some bytes that ``Checksum`` computes; for many small ones."""
    size = len(data)
    return _library().qe_checksum(_Lanes(), data, size, size)  # type: ignore[no-any-return]


_LISTS = (np.uint32, np.uint64, np.uint32)
_Lanes = ctypes.c_uint64 * 8


def _call(name: str, *arguments: Any) -> None:
    check_status(name, getattr(_library(), name)(*arguments))


def check_status(name: str, status: int) -> None:
    """Raise the error that a kernel's status stands for."""
    if status == Status.INTERRUPTED:
        raise KeyboardInterrupt
    if status == Status.OUT_OF_MEMORY:
        raise OutOfMemory("loading needs more memory than there is", hint="Load fewer relationships, or close others.")
    if status:
        raise InternalError(f"{name} failed with status {status}")


def _texts(array: Any) -> tuple[int, int, int | None]:
    """Return of an Arrow array of texts the address of the offsets, how many bytes each has, and the texts' address."""
    _, offsets, texts = array.buffers()
    width = 8 if array.type == pa.large_string() else 4
    return offsets.address + array.offset * width, width, None if texts is None else texts.address


def _row_index(rows: Rows) -> ctypes.Structure:
    owners, first, begins, ends = rows
    keys = None if owners is None else address(owners, np.uint32)
    return RowIndex(keys, address(begins, np.uint64), address(ends, np.uint64), len(begins), first)
