"""Closed walks of four and of five steps, where only their sums are asked for
(``kernels/cuda/count/closed_walks.cu``).

Each is counted at its least vertex: those of hubs first, 32 hubs at a time, then the rest around each vertex.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine import _native
from qengine.exec.gpu.eliminate_matrix import DeviceMatrix, work_queue
from qengine.exec.gpu.launch import DeviceRun

REMAINS = _native.record("u8 offsets ids heads firsts weights n n_entries")
"""As the kernels' ``Remains``."""

STRIP = _native.record("u8 begins names sums sizes arrived stopped stop")
"""As the kernels' ``Strip``."""

GROUP = _native.record("u8 marks reached any greater sums stop; u4 first n_groups n_roots fives")
"""As the kernels' ``Group``."""

REST = _native.record("u8 reached touched sums left n_left; u4 slots fives")
"""As the kernels' ``Rest``."""

WINDOW = 512
"""Entries that a warp takes at a time, as the kernels' ``kWindowEntries``."""

REST_SHARED = 24
"""Bytes of shared memory of a block that counts for the rest, beside its table."""

_SLOTS = 2_048
"""Of that table."""

_STRIP_SHARED = 8 * 32
"""The same of a block that leaves vertices out."""

_LANES = 32
_THREADS, _LIGHT_THREADS, _HEAVY_THREADS = 256, 128, 512

_FIRST_ROOTS = 1024
"""So many roots are left out at first, then twice as many each time."""

_ROOM = 1 << 29
"""Bytes for what groups of roots reach."""

_WORTH, _WORTH_OF_FOURS = 40, 4
"""Roots are counted 32 at a time while that reads so many times fewer entries than all walks from each vertex do. Those
of five steps from their least vertex are far fewer."""

_WHAT = "counting closed walks"


@dataclass(eq=False)
class _Remains:
    """``record``: where a matrix is, its ids from ``lo`` on. ``squares``: the sum of its rows' lengths squared."""

    record: npt.NDArray[Any]
    lo: int
    squares: int

    @property
    def n(self) -> int:
        """How many vertices it has."""
        return int(self.record["n"])

    @property
    def entries(self) -> int:
        """How many pairs it links."""
        return int(self.record["n_entries"])


class WalkCounter:
    """Counts closed walks of the matrix of a simple graph, for one run.

    Parameters
    ----------
    blocks
        Gets what kernels may use until they are waited for.
    """

    def __init__(self, run: DeviceRun, blocks: list[Any]) -> None:
        self.run = run
        self.blocks = blocks

    def count(self, matrix: DeviceMatrix, weights: Any, *, fives: bool) -> Any:
        """Return a block that gets three sums of two words: of half the closed walks of four steps, of these by
        weights, and of a fifth of those of five steps.

        Parameters
        ----------
        weights
            None, or a block of uint32, one for each row's vertex.
        fives
            Whether walks of five steps are asked for.
        """
        sums = self.block(6 * 8, clear=True)
        if not matrix.entries:
            return sums
        record = np.zeros((), REMAINS)
        record["offsets"], record["ids"] = matrix.record["offsets"], matrix.record["ids"]
        record["n"], record["n_entries"] = matrix.rows, matrix.entries
        record["weights"] = 0 if weights is None else weights.ptr
        left = _Remains(record, int(matrix.record["lo"]), 0)
        stripping = _Stripping(self, left)
        left = stripping.without(left, 0)
        room = min(_ROOM, self.run.free_bytes() // 4)
        scratch = self.block(room)
        roots = min(_FIRST_ROOTS, left.n)
        while room >= _group_bytes(left.n) and self.is_worth(left, roots, fives):
            for group in self.groups(left, roots, scratch, room):
                group["sums"], group["fives"] = sums.ptr, fives
                self.launch(left, group)
            left = stripping.without(left, roots)
            roots = min(2 * roots, left.n)
        if left.entries:
            self.launch_rest(left, sums, fives)
        return sums

    def is_worth(self, left: _Remains, roots: int, fives: bool) -> bool:
        """Tell whether the first roots are counted 32 at a time."""
        if not left.entries:
            return False
        groups = -(-roots // _LANES)
        around = left.squares * left.squares // left.entries if fives else left.squares
        return min(around, left.n * left.entries) > (_WORTH if fives else _WORTH_OF_FOURS) * groups * left.entries

    def groups(self, left: _Remains, roots: int, scratch: Any, room: int) -> Iterator[Any]:
        """Yield the groups of so many roots, as many at a time as there is room for."""
        most = room // _group_bytes(left.n)
        for first in range(0, roots, most * _LANES):
            group = np.zeros((), GROUP)
            group["first"], group["n_roots"] = first, min(most * _LANES, roots - first)
            group["n_groups"] = n = -(-int(group["n_roots"]) // _LANES)
            sizes = 4 * _LANES, 4 * (left.n // _LANES + 1), 4 * left.n
            ends = np.cumsum([n * size for size in sizes]).tolist()
            group["greater"], group["any"], group["marks"] = (scratch.ptr + place for place in (0, *ends[:2]))
            group["reached"], group["stop"] = scratch.ptr + -(-ends[2] // 256) * 256, self.run.stop_flag
            self.run.clear(scratch, ends[2])
            yield group

    def launch(self, left: _Remains, group: Any) -> None:
        """Start the kernels for some groups."""
        self.run.launch(self.kernel("walks_marks"), int(group["n_roots"]), _THREADS, (left.record, group))
        for name in ("walks_reach", "walks_sums"):
            kernel = self.kernel(name)
            blocks = max(1, self.run.device.resident_blocks(kernel, _THREADS, 0))
            self.run.launch(kernel, blocks, _THREADS, (left.record, group))

    def launch_rest(self, left: _Remains, sums: Any, fives: bool) -> None:
        """Start the kernels for all that remains."""
        heavy = self.kernel("walks_heavy", REST_SHARED)
        resident = self.run.device.resident_blocks(heavy, _HEAVY_THREADS, REST_SHARED)
        blocks = max(1, min(resident, left.n, self.run.free_bytes() // 4 // (8 * left.n)))
        reached = self.block(4 * left.n * blocks, clear=True)
        touched, roots, counters = self.block(4 * left.n * blocks), self.block(4 * left.n), self.block(24, clear=True)
        at = int(counters.ptr)
        rest = np.array((reached.ptr, touched.ptr, sums.ptr, roots.ptr, at, _SLOTS, fives), REST)
        shared = REST_SHARED + 8 * _SLOTS
        light = self.kernel("walks_light", shared)
        most = max(1, self.run.device.resident_blocks(light, _LIGHT_THREADS, shared))
        queues = (work_queue(at + 8 * k, self.run.stop_flag) for k in (1, 2))
        self.run.launch(light, most, _LIGHT_THREADS, (left.record, rest, next(queues)), shared)
        self.run.launch(heavy, blocks, _HEAVY_THREADS, (left.record, rest, next(queues)), REST_SHARED)

    def kernel(self, name: str, shared_bytes: int = 0) -> Any:
        """Return a kernel."""
        return self.run.kernel("closed_walks", name, None, shared_bytes)

    def block(self, n_bytes: int, *, clear: bool = False) -> Any:
        """Return a block that lives as long as the run."""
        self.blocks.append(self.run.zeroed(n_bytes, _WHAT) if clear else self.run.allocate(n_bytes, _WHAT))
        return self.blocks[-1]


class _Stripping:
    """Leaves vertices out, from one of two blocks to the other."""

    def __init__(self, counter: WalkCounter, whole: _Remains) -> None:
        self.counter = counter
        self.kernel = counter.kernel("walks_strip", _STRIP_SHARED)
        self.blocks = max(1, counter.run.device.resident_blocks(self.kernel, _THREADS, _STRIP_SHARED))
        n, entries = whole.n, whole.entries
        self.heads = 4 * (entries // 32 + 1)
        sizes = (
            self.heads,
            8 * (n + 1),
            4 * entries,
            4 * (entries // WINDOW + 1),
            4 * n if whole.record["weights"] else 0,
        )
        ends = np.cumsum([-(-size // 256) * 256 for size in sizes])
        self.places = dict(zip(("heads", "offsets", "ids", "firsts", "weights"), (0, *ends[:-1].tolist()), strict=True))
        self.targets = [counter.block(int(ends[-1])) for _ in range(2)]
        self.state_bytes = 8 * 4
        self.scratch = counter.block(self.state_bytes + 8 * self.blocks + 12 * n)

    def without(self, of: _Remains, roots: int) -> _Remains:
        """Return what is left without the first vertices and those that have no entries then. Waits for it."""
        run, (target, other) = self.counter.run, self.targets
        self.targets = [other, target]
        run.clear(target, self.heads)
        run.clear(self.scratch, self.state_bytes)
        record = np.zeros((), REMAINS)
        for name, place in self.places.items():
            record[name] = target.ptr + place
        record["weights"] = int(record["weights"]) if of.record["weights"] else 0
        strip = np.zeros((), STRIP)
        at = int(self.scratch.ptr)
        strip["sizes"], strip["arrived"], strip["stopped"] = at, at + 24, at + 28
        strip["sums"] = at + self.state_bytes
        strip["begins"] = int(strip["sums"]) + 8 * self.blocks
        strip["names"], strip["stop"] = int(strip["begins"]) + 8 * (of.n - roots), run.stop_flag
        arguments = of.record, np.uint32(of.lo), np.uint32(roots), record, strip
        run.launch(self.kernel, self.blocks, _THREADS, arguments, _STRIP_SHARED, together=True)
        run.wait()
        sizes = np.empty(3, np.uint64)
        run.read(at, sizes)
        record["n"], record["n_entries"] = sizes[:2]
        return _Remains(record, 0, int(sizes[2]))


def _group_bytes(n: int) -> int:
    """Return the bytes that a group of roots of n vertices takes, or a little more."""
    return 4 * (_LANES * n + n + n // _LANES + 1 + _LANES) + 256
