"""PCSRs built on the device (``kernels/cuda/load/pcsr_build.cu``): the arrays that the host builds, bit for bit.

Pairs (list, neighbour) are sorted by CuPy as numbers of 64 bits; kernels make each form of the row index of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qengine import _native
from qengine.exec.common.match_plan import PCSR
from qengine.exec.gpu.arrays import working
from qengine.exec.gpu.launch import DeviceRun
from qengine.storage.adjacency import GROUP, Adjacency, Form
from qengine.storage.forms import home_groups

_THREADS = 256
_BLOCKS_EACH = 8
_KINDS: dict[str, np.dtype[Any]] = {
    "offsets": np.dtype(np.uint64), "keys": np.dtype(np.uint32), "groups": GROUP, "neighbours": np.dtype(np.uint32)
}  # fmt: skip
_WHAT = "relationships that are sorted"

LIST_ORDER = _native.record("u8 order ends opened n_lists; u4 homes unused")
"""Mirror of ``ListOrder`` of ``kernels/cuda/load/pcsr_build.cu``."""


@dataclass(frozen=True)
class DeviceLists:
    """The arrays of a PCSR on the device, blocks of its memory by their names in ``Adjacency``.

    ``arrays``: those that the form has, with their bytes. ``n``: neighbours.
    """

    form: Form
    lo: int
    hi: int
    n: int
    home_groups: int
    arrays: dict[str, tuple[Any, int]]

    def to_host(self, run: DeviceRun) -> Adjacency:
        """Return a copy in the host's memory."""
        found: dict[str, Any] = {}
        for name, (block, n_bytes) in self.arrays.items():
            found[name] = np.empty(n_bytes // _KINDS[name].itemsize, _KINDS[name])
            run.read(block.ptr, found[name])
        return Adjacency(self.form, self.lo, self.hi, home_groups=self.home_groups, **found)


def symmetric_lists(run: DeviceRun, out: Adjacency, loops: int, form: Form) -> DeviceLists:
    """Return the lists in both directions of a type of which the host has those in one, in half as many bytes.

    Parameters
    ----------
    loops
        How many of its relationships join a vertex with itself: these come once.
    """
    given = np.zeros(1, PCSR)
    given["form"], given["lo"], given["hi"], given["n_entries"] = out.form, out.lo, out.hi, len(out)
    given["n_keys"] = out.home_groups if out.keys is None else len(out.keys)
    held = []
    for name in ("offsets", "keys", "groups", "neighbours"):
        array = getattr(out, name)
        if array is not None and array.nbytes:
            held.append(run.upload(array, _WHAT))
            given[name] = held[-1].ptr
    record = run.upload(given, _WHAT)
    groups = 0 if out.groups is None else len(out.groups)
    with working(run, _WHAT) as cp:
        pairs = cp.empty(2 * len(out), np.uint64)
        _launch(run, "pcsr_pairs", len(out), np.uint64(record.ptr), np.uint64(groups), np.int32(1), pairs)
    return lists_from_pairs(run, pairs, form, len(pairs) - loops)


def lists_from_pairs(run: DeviceRun, pairs: Any, form: Form, n: int | None = None) -> DeviceLists:
    """Return the PCSR of pairs, which are sorted in place. Errors as above.

    Parameters
    ----------
    pairs
        uint64 CuPy array: the list in the upper half, the neighbour in the lower.
    n
        So many of them count, the least ones; all where nothing is said.
    """
    with working(run, _WHAT) as cp:
        pairs.sort()
        pairs = pairs[:n]
        return _Lists(run, cp, pairs).indexed(form)


class _Lists:
    """The sorted form of some pairs, and the other forms made of it."""

    def __init__(self, run: DeviceRun, cp: Any, pairs: Any) -> None:
        self.run, self.cp, self.n = run, cp, len(pairs)
        self.neighbours = run.allocate(4 * self.n, _WHAT)
        begins = cp.empty(self.n, np.uint8)
        self.launch("pcsr_unpack", self.n, pairs, np.uint64(self.n), _address(self.neighbours), begins)
        places = cp.flatnonzero(begins)
        del begins
        self.k = len(places)
        self.keys, self.offsets = run.allocate(4 * self.k, _WHAT), run.allocate(8 * (self.k + 1), _WHAT)
        sizes = np.uint64(self.n), places, np.uint64(self.k)
        self.launch("pcsr_starts", self.k + 1, pairs, *sizes, _address(self.keys), _address(self.offsets))
        ends = np.zeros(2, np.uint32)
        if self.k:
            run.wait()
            run.read(self.keys.ptr, ends[:1])
            run.read(self.keys.ptr + 4 * (self.k - 1), ends[1:])
        self.lo, self.hi = (int(ends[0]), int(ends[1]) + 1) if self.k else (0, 0)

    def indexed(self, form: Form) -> DeviceLists:
        """Return the lists with a row index of some form."""
        if form is Form.SORTED:
            return self.made(form, keys=(self.keys, 4 * self.k), offsets=(self.offsets, 8 * (self.k + 1)))
        if form is Form.DENSE:
            span = self.hi - self.lo + 1
            dense = self.run.allocate(8 * span, _WHAT)
            bounds = np.uint64(self.k), np.uint32(self.lo), np.uint32(self.hi)
            self.launch("pcsr_dense", span, _address(self.keys), _address(self.offsets), *bounds, _address(dense))
            return self.made(form, offsets=(dense, 8 * span))
        return self.grouped()

    def grouped(self) -> DeviceLists:
        """Return the groups form, whose lists lie group by group."""
        cp, k, run = self.cp, self.k, self.run
        homes = home_groups(k)
        order, lengths, opens = (cp.empty(k, np.uint64) for _ in range(3))
        keys, offsets = _address(self.keys), _address(self.offsets)
        self.launch("pcsr_homes", k, keys, np.uint64(k), np.uint32(homes), order)
        order.sort()
        self.launch("pcsr_ranks", k, order, np.uint64(k), offsets, lengths, opens)
        ends, opened = cp.cumsum(lengths), cp.cumsum(opens)
        more = np.zeros(1, np.uint64)
        if k:
            run.wait()
            run.read(opened.data.ptr + 8 * (k - 1), more)
        n_groups = homes + int(more[0])
        groups = run.allocate(GROUP.itemsize * n_groups, _WHAT)
        self.launch("pcsr_empty", n_groups, _address(groups), np.uint64(n_groups))
        begins = cp.empty(k, np.uint64)
        lists = np.array((*(each.data.ptr for each in (order, ends, opened)), k, homes, 0), LIST_ORDER)
        self.launch("pcsr_groups", k, lists, keys, offsets, _address(groups), begins)
        moved = run.allocate(4 * self.n, _WHAT)
        whole = np.uint64(self.n), offsets, np.uint64(k), begins
        self.launch("pcsr_move", self.n, _address(self.neighbours), *whole, _address(moved))
        self.neighbours = moved
        return self.made(Form.GROUPS, homes, groups=(groups, GROUP.itemsize * n_groups))

    def made(self, form: Form, homes: int = 0, **arrays: tuple[Any, int]) -> DeviceLists:
        """Return the lists once the kernels are done."""
        self.run.wait()
        arrays["neighbours"] = self.neighbours, 4 * self.n
        return DeviceLists(form, self.lo, self.hi, self.n, homes, arrays)

    def launch(self, name: str, n: int, *arguments: Any) -> None:
        """Launch a kernel over n entries."""
        _launch(self.run, name, n, *arguments)


def _launch(run: DeviceRun, name: str, n: int, *arguments: Any) -> None:
    if n:
        kernel = run.kernel("pcsr_build", name)
        most = _BLOCKS_EACH * run.device.multiprocessors
        run.launch(kernel, min(-(-n // _THREADS), most), _THREADS, arguments)


def _address(block: Any) -> np.uint64:
    return np.uint64(block.ptr)
