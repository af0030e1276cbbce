"""MatchPlans on the device: the host's structs with the device's pointers (``kernels/include/qe/match_plan.h``)."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from qengine._frozen import frozen
from qengine.errors import OutOfMemory
from qengine.exec.common.match_plan import PLAN
from qengine.exec.common.resolve import ResolvedSearch
from qengine.exec.gpu.derived_plan import derive
from qengine.exec.gpu.launch import DeviceRun
from qengine.exec.gpu.memory import Resident, device_bytes, host_bytes
from qengine.exec.gpu.pcsr_build import symmetric_lists
from qengine.exec.gpu.placement import Use
from qengine.exec.view import ExecView
from qengine.plan.pattern import Direction
from qengine.storage.adjacency import Adjacency, Form, PcsrStruct

_ALIGNMENT = 256
_POINTERS = (
    ("bitset", "candidates"), (), (), (), (), ("values", "validity"), ("bitset",), (), (),
    ("offsets", "keys", "groups", "neighbours", "edge_ids"),
)  # fmt: skip
"""The fields of each table's records (in the order of ``ResolvedSearch.tables``) that are pointers."""
_LEVELS, _LEVEL_IDS, _LISTS = 0, 7, 9
_NEIGHBOURS = 3
"""Of ``PcsrStruct.arrays``."""

_MOST_PARTS = 64
"""Of an array that have a front each."""

_BUILT_BYTES = 1 << 24
"""Neighbours from which lists in both directions are built on the device: fewer are copied sooner."""

_TABLES = ("levels", "sources", "ranges", "pairs", "conditions", "columns", "types", "level_ids", "list_ids", "lists")


@frozen
class DevicePlan:
    """A plan in device memory.

    Attributes
    ----------
    address
        Of the device's ``qe::MatchPlan``.
    resolved
        The host's plan, from which it was made.
    lists
        ``match_plan.PCSR`` records with the device's pointers, as in ``MatchPlan::lists``. ``edge_ids`` is null.
    levels
        ``match_plan.LEVEL`` records with the device's pointers.
    record
        The device's ``qe::MatchPlan``: one ``match_plan.PLAN`` record.
    made
        What those who run the plan have made of it, to run it again, by their names.
    """

    address: int
    resolved: ResolvedSearch
    lists: npt.NDArray[Any]
    levels: npt.NDArray[Any]
    record: npt.NDArray[Any]
    parts: tuple[Resident, ...]
    made: dict[str, Any] = field(default_factory=dict)

    @property
    def host_bytes(self) -> int:
        """Bytes of the graph's arrays that lie in the host's memory."""
        return host_bytes(self.parts)


@contextmanager
def device_plan(
    store: ExecView, resolved: ResolvedSearch, run: DeviceRun, use: Use = Use.SEARCH
) -> Iterator[DevicePlan]:
    """Lend a plan on the device, made now or by an earlier query; the graph's lists stay there.

    ``use``: how lists are read that there is no room for.
    """
    memory = run.memory
    run.memory.expect(_bytes_of(resolved), int(store.vertex_count), use)
    key = (id(store), "plan", id(resolved), run.memory.placement)
    held: list[Resident] = []
    try:
        plan = _known(memory.pin(key), held, run) if resolved.reusable else None
        if plan is None:
            plan = _Upload(store, resolved, run, held).plan(key)
        yield plan
    finally:
        for resident in held:
            memory.unpin(resident)


def _known(resident: Resident | None, held: list[Resident], run: DeviceRun) -> DevicePlan | None:
    """Return the plan that is resident, None if parts of it aren't any more."""
    if resident is None:
        return None
    held.append(resident)
    plan: DevicePlan = resident.keep
    for part in plan.parts:
        found = run.memory.pin(part.key)
        if found is not None:
            held.append(found)
        if found is not part:
            return None
    return plan


@dataclass
class _Upload:
    store: ExecView
    resolved: ResolvedSearch
    run: DeviceRun
    held: list[Resident]

    def plan(self, key: Any) -> DevicePlan:
        """Copy the plan: the graph's arrays one by one, all that belongs to it alone in one block."""
        begin = len(self.held)
        tables = [table.copy() for table in self.resolved.tables]
        tables[_LEVEL_IDS] = _needed_differences(self.resolved, tables[_LEVELS], tables[_LEVEL_IDS])
        places = self.lists(tables[_LISTS]) | self.columns()
        places |= {each.address: each.address for each in self.resolved.lent}
        own = _own_arrays(self.resolved.keep)
        pieces: list[npt.NDArray[np.uint8]] = []
        offsets: dict[int, int] = {}  # of the host's address in the block
        size = 0
        for address, array in own.items():
            offsets[address] = size
            pieces.append(array)
            size += -(-array.nbytes // _ALIGNMENT) * _ALIGNMENT
        starts = []
        for table in tables:
            starts.append(size)
            size += -(-table.nbytes // _ALIGNMENT) * _ALIGNMENT
        header = size
        block = self.run.allocate(size + PLAN.itemsize, "the plan and its predicates")
        places |= {address: block.ptr + offset for address, offset in offsets.items()}
        for table, fields in zip(tables, _POINTERS, strict=True):
            for name in fields:
                table[name] = [places.get(int(address), 0) if address else 0 for address in table[name]]
        record = self.resolved.plan.copy()
        for name, start in zip(_TABLES, starts, strict=True):
            record[name] = block.ptr + start
        image = np.zeros(size + PLAN.itemsize, np.uint8)
        everything = [*zip(offsets.values(), pieces, strict=True), *zip(starts, map(_bytes, tables), strict=True)]
        for start, piece in (*everything, (header, _bytes(record))):
            image[start : start + len(piece)] = piece
        self.run.write(block, image)
        self.run.publish()
        parts = tuple(self.held[begin:])
        plan = DevicePlan(block.ptr + header, self.resolved, tables[_LISTS], tables[_LEVELS], record, parts)
        self.held.append(self.resident(key, block, image.nbytes, plan))
        return plan

    def resident(self, key: Any, block: Any, n_bytes: int, plan: DevicePlan) -> Resident:
        """Keep the block as long as the query, or longer if the plan can be used again."""
        if self.resolved.reusable:
            return self.run.memory.add(key, block, n_bytes, plan)
        return Resident(key, block, n_bytes, plan, pins=1)

    def lists(self, table: npt.NDArray[Any]) -> dict[int, int]:
        """Make the graph's lists resident; return the device's addresses by the host's."""
        table["edge_ids"] = 0  # relationships are found by their position in OUT
        for name in ("n_keys", "keys"):  # columns are found by their offsets
            table[name][table["form"] == Form.DENSE] = 0
        places: dict[int, int] = {}
        for each in self.resolved.keep:
            if isinstance(each, PcsrStruct):
                self.build(each.arrays[_NEIGHBOURS])
                for k, array in enumerate(each.arrays[:-1]):
                    if array is not None and array.nbytes and array.ctypes.data not in places:
                        by_vertex = k != _NEIGHBOURS
                        starts = _starts(self.store, each, by_vertex=by_vertex)
                        places[array.ctypes.data] = resident_array(
                            self.store, array, self.run, self.held, by_vertex=by_vertex, starts=starts
                        )
        return places

    def build(self, neighbours: npt.NDArray[np.uint32] | None) -> None:
        """Build large lists in both directions on the device, of those in one: that is half as much to copy."""
        if neighbours is None or neighbours.nbytes < _BUILT_BYTES or _is_there(self.store, neighbours, self.run):
            return
        if not self.run.memory.placement.is_whole:
            return
        found = _both_ways(self.store, neighbours)
        if found is None:
            return
        out, both = found
        try:
            made = symmetric_lists(self.run, out, 2 * len(out) - len(both), both.form)
        except OutOfMemory:  # it takes more room than the lists alone
            return
        for name, (block, n_bytes) in made.arrays.items():
            array = getattr(both, name)
            self.held.append(self.run.memory.add(_name_of(self.store, array), block, n_bytes, array))
        self.run.memory.follow(self.store)

    def columns(self) -> dict[int, int]:
        """Make the property columns that are compared resident; return the device's addresses by the host's."""
        places: dict[int, int] = {}
        for each in self.resolved.keep:
            if isinstance(each, pa.Array) and len(each):
                validity, values = each.buffers()
                found = [np.frombuffer(values, np.uint8)[8 * each.offset : 8 * (each.offset + len(each))]]
                if validity is not None:
                    found.append(np.frombuffer(validity, np.uint8))
                places |= {
                    part.ctypes.data: resident_array(
                        self.store, part, self.run, self.held, "properties", by_vertex=True
                    )
                    for part in found
                }
        return places


def resident_array(
    store: ExecView,
    array: npt.NDArray[Any],
    run: DeviceRun,
    held: list[Resident],
    what: str = "the graph's relationships",
    *,
    by_vertex: bool = False,
    starts: Sequence[int] = (0,),
) -> int:
    """Return where an array of the graph is on the device, copied there if it isn't yet; ``held`` gets it, pinned.

    Where the query's placement says so part of it lies in the host's memory. ``by_vertex``, ``starts``: as of
    ``DeviceRun.place``.
    """
    if run.memory.placement.is_whole:
        run.memory.expect(array.nbytes, int(store.vertex_count))
    placed = run.memory.placement
    key: Any = _name_of(store, array)
    if not placed.is_whole:
        key = (*key, placed)
    resident = run.memory.pin(key)
    if resident is None:
        block = run.copied(run.place(array.nbytes, what, by_vertex=by_vertex, starts=starts), array)
        resident = run.memory.add(key, block, device_bytes(block, array.nbytes), array)
        run.memory.follow(store)
    held.append(resident)
    assert resident.address is not None
    return resident.address


def resident_lists(
    store: ExecView, lists: Adjacency, run: DeviceRun, held: list[Resident], *, ids: bool = False
) -> tuple[int, ...]:
    """Return the fields of a ``match_plan.PCSR`` record with the device's addresses of lists that become resident.

    ``ids``: whether the relationships' ids are wanted; else ``edge_ids`` is null. ``held`` gets the arrays, pinned.
    """

    def address(array: npt.NDArray[Any] | None, *, by_vertex: bool = False) -> int:
        if array is None or not array.nbytes:
            return 0
        starts = _starts(store, struct, by_vertex=by_vertex)
        return resident_array(store, array, run, held, by_vertex=by_vertex, starts=starts)

    run.memory.expect(lists.nbytes, int(store.vertex_count))
    struct = lists.as_struct()
    *index, neighbours, edge_ids = struct.arrays
    begins = (address(each, by_vertex=True) for each in index)
    addresses = (*begins, address(neighbours), address(edge_ids) if ids else 0)
    n_keys = 0 if lists.form is Form.DENSE else struct.n_keys  # as in ``_Upload.lists``
    return struct.form, struct.lo, struct.hi, n_keys, *addresses, len(lists)


def _starts(store: ExecView, lists: ctypes.Structure, *, by_vertex: bool) -> Sequence[int]:
    """Return where the parts of an array of lists begin, in bytes, that are of vertices with the same labels.

    Of these the first have most neighbours. Where there are many parts, or lists are found otherwise than by the row
    index of all vertices, the array is one. ``by_vertex``: it is the row index.
    """
    offsets, _, _, neighbours, _ = lists.arrays
    begins = [int(group.begin) for group in store.groups if group.begin < group.end]
    if offsets is None or neighbours is None or len(begins) > _MOST_PARTS or len(offsets) != lists.hi - lists.lo + 1:
        return (0,)
    rows = [begin - lists.lo for begin in begins if lists.lo <= begin < lists.hi]
    if by_vertex:
        return (0, *(offsets.itemsize * row for row in rows))
    return (0, *(neighbours.itemsize * int(offsets[row]) for row in rows))


def _bytes_of(resolved: ResolvedSearch) -> int:
    """Return the bytes of the graph's arrays that a plan reads."""
    arrays: dict[int, int] = {
        array.ctypes.data: int(array.nbytes)
        for each in resolved.keep
        if isinstance(each, PcsrStruct)
        for array in each.arrays[:-1]
        if array is not None
    }
    return sum(arrays.values()) + sum(int(each.nbytes) for each in resolved.keep if isinstance(each, pa.Array))


def _name_of(store: ExecView, array: npt.NDArray[Any]) -> tuple[int, int, int]:
    return id(store), array.ctypes.data, array.nbytes


def _is_there(store: ExecView, array: npt.NDArray[Any], run: DeviceRun) -> bool:
    resident = run.memory.pin(_name_of(store, array))
    if resident is not None:
        run.memory.unpin(resident)
    return resident is not None


def _both_ways(store: ExecView, neighbours: npt.NDArray[np.uint32]) -> tuple[Adjacency, Adjacency] | None:
    """Return the lists in one direction and in both of the type that has these neighbours in both; None if none has."""
    for info in store.types:
        if info.undirected:
            both = store.adjacency(info.index, Direction.BOTH)
            if both.neighbours.ctypes.data == neighbours.ctypes.data:
                return store.adjacency(info.index, Direction.OUT), both
    return None


def _needed_differences(
    resolved: ResolvedSearch, levels: npt.NDArray[Any], level_ids: npt.NDArray[Any]
) -> npt.NDArray[Any]:
    """Let each level differ only from those that it could be equal to, as the host derives it; return the new ids."""
    ids = [level_ids]
    n = len(level_ids)
    for k, mask in enumerate(derive(resolved.plan).levels["different"].tolist()):
        kept = [j for j in range(k) if mask >> j & 1]
        levels["different"]["first"][k], levels["different"]["count"][k] = n, len(kept)
        ids.append(np.array(kept, level_ids.dtype))
        n += len(kept)
    return np.concatenate(ids)


def _own_arrays(keep: tuple[Any, ...]) -> dict[int, npt.NDArray[np.uint8]]:
    """Return the arrays that a plan points into besides the graph's, by address."""
    return {each.ctypes.data: _bytes(each) for each in keep if isinstance(each, np.ndarray)}


def _bytes(array: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)
