"""Mini-batches of sampled neighbours (``kernels/include/qe/sampled_neighbours.h``): the same on host and GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine import _native

JOB = _native.record("u8 offsets ends nodes at sources targets n_lists n first seed batch; u4 hop most again unused")
"""As the kernels' ``NeighbourJob``."""

Launch = Callable[[str, int, npt.NDArray[Any]], None]
"""Runs a kernel, by its name, for so many nodes: of a ``JOB`` record."""


class NeighbourLists:
    """Lists of neighbours in the host's memory.

    Parameters
    ----------
    starts, ends
        int64[m]: pairs of a node and its neighbour, each once, in any order; ids below 2^32.
    """

    def __init__(self, starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]) -> None:
        pairs = starts.astype(np.uint64) << np.uint64(32) | ends.astype(np.uint64)
        pairs.sort()
        self.ends: Any = pairs.astype(np.uint32)  # the lower halves
        self.n = int(starts.max(initial=-1)) + 1
        self.offsets: Any = np.zeros(self.n + 1, np.uint64)
        np.cumsum(np.bincount(starts, minlength=self.n), out=self.offsets[1:])

    def sample(
        self, seeds: npt.NDArray[np.int64], fanout: Sequence[int], again: bool, stream: tuple[int, int]
    ) -> tuple[Any, Any]:
        """Return the nodes of a batch, int64[n], the seeds first, and pairs of places in it, int64[2, m].

        Parameters
        ----------
        seeds
            Each once.
        fanout
            For each hop how many neighbours a node has at most; ``again``: with replacement, so many.
        stream
            Two numbers from which others are drawn: the same give the same samples.
        """
        return self.drawn(np, _on_host, seeds, fanout, again, stream)

    def drawn(
        self, xp: Any, launch: Launch, seeds: Any, fanout: Sequence[int], again: bool, stream: tuple[int, int]
    ) -> tuple[Any, Any]:
        """Return a batch as ``sample``. ``xp``: NumPy, or CuPy, of which the seeds and the result are arrays, too."""
        nodes = frontier = seeds
        pieces, before = [], 0
        job = np.zeros(1, JOB)
        job["offsets"], job["ends"], job["n_lists"] = _address(self.offsets), _address(self.ends), self.n
        (job["seed"], job["batch"]), job["again"] = stream, again
        for hop, most in enumerate(fanout):
            n = len(frontier)
            counts = xp.empty(n, np.int64)
            job["nodes"], job["at"], job["n"] = _address(frontier), _address(counts), n
            job["first"], job["hop"], job["most"] = before, hop, most
            launch("sampled_counts", n, job)
            sums = xp.cumsum(counts)
            pairs = xp.empty((2, int(sums[-1]) if n else 0), np.int64)
            at = sums - counts
            job["at"], job["sources"], job["targets"] = _address(at), _address(pairs[0]), _address(pairs[1])
            launch("sampled_neighbours", n, job)
            pieces.append(pairs)
            before = len(nodes)
            found = xp.sort(pairs[0])
            is_first = xp.ones(len(found), np.bool_)
            is_first[1:] = found[1:] != found[:-1]
            found = found[is_first]  # NumPy's `unique` takes ten times as long, by a hash table
            frontier = found[xp.isin(found, nodes, invert=True)]
            nodes = xp.concatenate([nodes, frontier])
        edges = xp.concatenate(pieces, axis=1)
        order = xp.argsort(nodes)
        edges[0] = order[xp.searchsorted(nodes[order], edges[0])]
        return nodes, edges


def _on_host(name: str, n: int, job: npt.NDArray[Any]) -> None:
    getattr(_library(), f"qe_{name}")(job.ctypes.data)


def _address(array: Any) -> int:
    return int(array.ctypes.data if isinstance(array, np.ndarray) else array.data.ptr)


_library = _native.declared("qe_sampled_counts p; qe_sampled_neighbours p")
