"""Triangles on the device: by vertex, by linked pair (``kernels/cuda/count/triangle_counts.cu``), by weights
(``kernels/cuda/count/triangle_weight_sums.cu``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from qengine import _native
from qengine._frozen import frozen
from qengine.exec.gpu.eliminate_matrix import ALL, DeviceMatrix
from qengine.exec.gpu.launch import DeviceRun
from qengine.exec.gpu.memory import Resident, device_bytes
from qengine.exec.view import ExecView

TRIANGLES = _native.record(
    "u8 offsets ids middles rows ranks roots n_roots taken stop vertices pairs; "
    "u4 lo n hubs words few hub_counters share shares; u8 links begins"
)
"""As the kernels' ``Triangles``."""

TRIANGLES_OF_VERTICES = "triangles of vertices"
LINKS_OF_TRIANGLES = "links of triangles"
"""Each ends the names of residents that are these."""

_HUBS = 16_384
"""So many vertices have their lesser neighbours as rows of bits: 32 MB, which stay in the L2 cache."""

_FEW = 64
"""A root of more members is a block's."""

_HUB_COUNTERS = 2_048
"""What a block finds of so many vertices, those of the least ids, it counts in shared memory. No fewer than 1,024."""

_TOGETHER = 8
"""Roots of few members that a warp takes."""

_MARKS = (1 << 16) // 8
"""Bytes of marks of members that are no hubs."""

_BLOCK = 128
"""Words of a row that a warp reads at once."""

_CHUNK = 4 * 1_024
"""Bytes of shared memory of a warp that sums weights up."""

_LINKS_OF_LISTS, _LEAST_LINKS = 8, 1 << 30
"""Links that take no more than so many times the bytes of the lists, or so many bytes, are made."""

MOST_WEIGHT = 2**27
"""The sum of 32 weights has 32 bits."""

_THREADS, _MANY_THREADS = 256, 128
_LANES = 32
_WHAT = "counting triangles"


@frozen
class _Index:
    """What triangles of a matrix are counted by, on the device: ``rows`` of bits, ``places`` (cut rows, sorted roots).

    ``ranks``: of bits in rows, None where only vertices are counted.
    """

    rows: Any
    places: Any
    ranks: Any


class TriangleCounter:
    """Counts triangles of matrices of simple graphs, for one run. What they are counted by stays there.

    Parameters
    ----------
    held
        Gets what is resident, pinned.
    blocks
        Gets what kernels may use until they are waited for.
    share
        Of the roots of triangles, where pairs are counted: the device's number, and of how many.
    """

    def __init__(
        self,
        store: ExecView,
        run: DeviceRun,
        held: list[Resident],
        blocks: list[Any],
        share: tuple[int, int] = ALL,
    ) -> None:
        self.share = share
        self.store = store
        self.run = run
        self.held = held
        self.blocks = blocks

    def count(self, matrix: DeviceMatrix, by_pair: bool) -> Any:
        """Return a block that gets the triangles of each row's vertex (uint64), or each entry (uint32) of lesser ids.

        Those of vertices stay on the device, as degrees do, where no conditions decide what the matrix is.
        """
        key = None if by_pair or matrix.key is None else (*matrix.key, TRIANGLES_OF_VERTICES)
        if key is not None and (resident := self.run.memory.pin(key)) is not None:
            self.held.append(resident)
            return resident.block
        out = self.zeroed(4 * matrix.entries if by_pair else 8 * matrix.rows)
        if matrix.entries:
            of = "pairs" if by_pair else "vertices"
            task = self.task(matrix, of)
            task[of] = out.ptr
            light = 4 * _TOGETHER * _THREADS // _LANES + (0 if by_pair else 4 * _HUB_COUNTERS)
            self.launch(of, task, _heavy_bytes(task), light)
        if key is not None:
            self.run.wait()  # kernels that were stopped have not counted all
            self.held.append(self.run.memory.add(key, out, device_bytes(out, 8 * matrix.rows), out))
            self.run.memory.follow(self.store)
        return out

    def corners(self, matrix: DeviceMatrix, weights: Any) -> Any:
        """Return a block that gets four sums over the matrix's triangles, 128 bits each.

        They are of 1, of the weights of the three corners, of the products of two of these, and of the product of all.
        None where the links by which triangles are weighed would be too large.

        Parameters
        ----------
        weights
            A block of uint32, less than ``MOST_WEIGHT``, one for each row's vertex.
        """
        sums = self.zeroed(4 * 16)
        if matrix.entries:
            task = self.linked(matrix)
            if task is None:
                return None
            given = task, np.uint64(weights.ptr), np.uint64(sums.ptr)
            shared = _CHUNK * _MANY_THREADS // _LANES
            self.launch_all("triangle_weight_sums", "triangle_corners", _MANY_THREADS, given, shared)
        return sums

    def linked(self, matrix: DeviceMatrix) -> Any:
        """Return a task with links, which are made once and stay; None where they would be too large."""
        task = self.task(matrix, "vertices")
        key = None if matrix.key is None else (*matrix.key, _HUBS, _FEW, LINKS_OF_TRIANGLES)
        if key is not None and (resident := self.run.memory.pin(key)) is not None:
            self.held.append(resident)
            task["begins"], task["links"] = (block.ptr for block in resident.block)
            return task
        begins, counted = self.run.allocate(8 * matrix.rows, _WHAT), self.zeroed(8)
        self.blocks.append(begins)
        task["begins"] = begins.ptr
        kernel = self.run.kernel("triangle_weight_sums", "triangle_link_places")
        self.run.launch(kernel, -(-matrix.rows // _THREADS), _THREADS, (task, np.uint64(counted.ptr)))
        self.run.wait()
        words = np.empty(1, np.uint64)
        self.run.read(counted.ptr, words)
        n_bytes = 4 * int(words[0])
        if n_bytes > min(max(_LINKS_OF_LISTS * 4 * matrix.entries, _LEAST_LINKS), self.run.free_bytes() // 4):
            return None
        links = self.zeroed(n_bytes)
        task["links"] = links.ptr
        self.launch("links", task, _heavy_bytes(task), 4 * _TOGETHER * _THREADS // _LANES)
        task["taken"] = self.zeroed(2 * 8).ptr
        if key is not None:
            self.run.wait()  # kernels that were stopped have not found all
            blocks = begins, links
            self.held.append(self.run.memory.add(key, blocks, 8 * matrix.rows + n_bytes, blocks))
            self.run.memory.follow(self.store)
        return task

    def task(self, matrix: DeviceMatrix, of: str) -> Any:
        """Return a task without what is to be counted. ``of``: "vertices" or "pairs"."""
        share = self.share if of == "pairs" else ALL
        key = None if matrix.key is None else (*matrix.key, "triangles", of, _HUBS, _FEW, share)
        if key is not None and (resident := self.run.memory.pin(key)) is not None:
            self.held.append(resident)
            index: _Index = resident.keep
            return self.filled(matrix, index, share)
        hubs, words = _rows_of(matrix)
        sizes = {
            "rows": 4 * hubs * words,
            "places": 12 * matrix.rows + 8,
            "ranks": 2 * hubs * words if of == "pairs" else 0,
        }
        index = _Index(
            self.run.zeroed(sizes["rows"], _WHAT),
            self.run.zeroed(sizes["places"], _WHAT, placed=True),
            self.run.allocate(sizes["ranks"], _WHAT) if of == "pairs" else None,
        )
        task = self.filled(matrix, index, share)
        for name, lanes in (("triangle_roots", matrix.rows), ("triangle_rows", hubs * _LANES)):
            if lanes:
                kernel = self.run.kernel("triangle_counts", name)
                self.run.launch(kernel, -(-lanes // _THREADS), _THREADS, (task,))
        if key is None:
            self.blocks.append(index)
        else:
            self.run.publish()
            of_places = device_bytes(index.places, sizes["places"])
            self.held.append(self.run.memory.add(key, index, sizes["rows"] + of_places + sizes["ranks"], index))
            self.run.memory.follow(self.store)
        return task

    def filled(self, matrix: DeviceMatrix, index: _Index, share: tuple[int, int]) -> Any:
        """Return a task with what its index says, and with nothing taken of it yet."""
        record, n = matrix.record, matrix.rows
        task = np.zeros((), TRIANGLES)
        task["offsets"], task["ids"], task["lo"], task["n"] = record["offsets"], record["ids"], record["lo"], n
        places = int(index.places.ptr)
        task["n_roots"], task["middles"], task["roots"] = places, places + 8, places + 8 + 8 * n
        task["rows"], task["ranks"] = index.rows.ptr, 0 if index.ranks is None else index.ranks.ptr
        task["hubs"], task["words"] = _rows_of(matrix)
        task["taken"], task["stop"] = self.zeroed(2 * 8).ptr, self.run.stop_flag
        task["few"], task["hub_counters"] = _FEW, _HUB_COUNTERS
        task["share"], task["shares"] = share
        return task

    def zeroed(self, n_bytes: int) -> Any:
        """Return a block of zeros that lives as long as the run."""
        self.blocks.append(self.run.zeroed(n_bytes, _WHAT, placed=True))
        return self.blocks[-1]

    def launch(self, of: str, task: Any, many_bytes: int, few_bytes: int) -> None:
        """Start the kernels side by side: roots of few members fill the last moments of those of many."""
        family = "triangle_weight_sums" if of == "links" else "triangle_counts"
        heavy, light = ((family, f"triangles_of_{of}_{size}") for size in ("heavy", "light"))
        self.run.side_by_side(
            lambda stream: self.launch_all(*heavy, _MANY_THREADS, (task,), many_bytes, stream),
            lambda stream: self.launch_all(*light, _THREADS, (task,), few_bytes, stream),
        )

    def launch_all(
        self, family: str, name: str, threads: int, given: Sequence[Any], shared_bytes: int, stream: Any = None
    ) -> None:
        """Start a kernel on as many blocks as run at a time."""
        kernel = self.run.kernel(family, name, None, shared_bytes)
        blocks = max(1, self.run.device.resident_blocks(kernel, threads, shared_bytes))
        self.run.launch(kernel, blocks, threads, given, shared_bytes, stream=stream)


def _rows_of(matrix: DeviceMatrix) -> tuple[int, int]:
    """Return how many hubs have rows, and of how many words."""
    hubs = min(_HUBS, matrix.rows)
    return hubs, -(-hubs // (32 * _BLOCK)) * _BLOCK


def _heavy_bytes(task: Any) -> int:
    return 4 * (int(task["words"]) + _HUB_COUNTERS) + _MARKS + 8
