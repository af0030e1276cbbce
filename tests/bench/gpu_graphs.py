"""The generated graphs of the benchmarks, made on the GPU: the same bits as ``qengine.testing.generate``.

PCG64 (XSL-RR 128/64) is a linear congruence: each thread jumps to its part of the stream (Brown, "Random Number
Generation with Arbitrary Strides", 1994).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

_SHIFT, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)

_SOURCE = r"""
typedef unsigned __int128 u128;
extern "C" __global__ void raws(unsigned long long high, unsigned long long low, unsigned long long inc_high,
                                unsigned long long inc_low, unsigned long long skip, long long n,
                                unsigned long long* out) {
  const u128 step = ((u128)0x2360ED051FC65DA4ull << 64) | 0x4385DF649FCCF645ull;
  const u128 inc = ((u128)inc_high << 64) | inc_low;
  const int each = 64;
  const long long first = (blockIdx.x * (long long)blockDim.x + threadIdx.x) * each;
  if (first >= n) return;
  u128 state = ((u128)high << 64) | low, mul = 1, add = 0, m = step, a = inc;
  for (unsigned long long left = skip + first; left; left >>= 1) {
    if (left & 1) { mul *= m; add = add * m + a; }
    a *= m + 1;
    m *= m;
  }
  state = state * mul + add;
  for (long long i = first; i < n && i < first + each; ++i) {
    state = state * step + inc;
    const unsigned long long folded = (unsigned long long)(state >> 64) ^ (unsigned long long)state;
    const int turn = (int)(state >> 122);
    out[i] = (folded >> turn) | (folded << ((-turn) & 63));
  }
}
"""


@dataclass(frozen=True)
class DeviceCsr:
    """A simple undirected graph on the device, ids by descending degree (ties by the generator's id).

    ``offsets``: uint64[n + 1], ``neighbours``: uint32, ascending in each row.
    """

    offsets: Any
    neighbours: Any

    @property
    def n(self) -> int:
        return len(self.offsets) - 1


class _Stream:
    def __init__(self, seed: int) -> None:
        import cupy as cp

        state = np.random.PCG64(seed).state["state"]
        self._words = [np.uint64(x) for v in (state["state"], state["inc"]) for x in (v >> 64, v & (2**64 - 1))]
        self._kernel = cp.RawModule(code=_SOURCE, options=("--std=c++17", "--device-int128")).get_function("raws")
        self._cp = cp

    def numbers(self, first: int, n: int) -> Any:
        """Return the stream's numbers from ``first`` on: uint64[n]."""
        out = self._cp.empty(n, np.uint64)
        blocks = -(-n // (64 * 128))
        self._kernel((blocks,), (128,), (*self._words, np.uint64(first), np.int64(n), out))
        return out


def rmat(scale: int, edge_factor: int, seed: int) -> DeviceCsr:
    """Return the R-MAT graph of ``qengine.testing.generate.graphs`` with the Graph500 probabilities."""
    m = edge_factor << scale
    ((source, target),) = _rmat_draws(scale, m, seed, m)
    return _csr(1 << scale, source, target)


def rmat_edges(
    scale: int, edge_factor: int, seed: int, each: int = 1 << 27
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return the edges of ``rmat`` once, the lesser end first, in the host's memory; ``each``: draws at a time.

    It takes some 60 bytes of the device a draw, where ``rmat`` takes three times that.
    """
    import cupy as cp

    n, m = 1 << scale, edge_factor << scale
    keys = cp.empty(m, np.uint64)
    for at, (source, target) in zip(range(0, m, each), _rmat_draws(scale, m, seed, each), strict=True):
        pairs = _keys(source, target)
        pairs[source == target] = np.uint64(2**64 - 1)
        keys[at : at + each] = pairs
        del source, target, pairs
    keys.sort()
    cp.get_default_memory_pool().free_all_blocks()
    kept = cp.ones(m, bool)
    kept[1:] = keys[1:] != keys[:-1]
    kept &= keys != np.uint64(2**64 - 1)
    keys = keys[kept]
    del kept
    pieces = [slice(at, at + each) for at in range(0, len(keys), each)]
    degree = cp.zeros(n, np.int64)
    for piece in pieces:
        for ends in _ends(keys[piece]):
            degree += cp.bincount(ends.astype(np.int64), minlength=n)
    rank, _ = _ranks(degree)
    start, end = np.empty(len(keys), np.int32), np.empty(len(keys), np.int32)
    for piece in pieces:
        one, other = (rank[ends].astype(np.int32) for ends in _ends(keys[piece]))
        start[piece], end[piece] = cp.minimum(one, other).get(), cp.maximum(one, other).get()
    del keys
    cp.get_default_memory_pool().free_all_blocks()
    return start, end


def _rmat_draws(scale: int, m: int, seed: int, each: int) -> Iterator[tuple[Any, Any]]:
    """Yield the ends of ``m`` edges as they are drawn, loops and repetitions among them, ``each`` at a time: uint64."""
    import cupy as cp

    n, pairs = 1 << scale, (scale + 1) // 2
    a, ab, abc = (np.uint64(int(p * 2**32)) for p in (0.57, 0.57 + 0.19, 0.57 + 0.19 + 0.19))
    raw = _Stream(seed)
    ids = cp.empty(n, np.uint64)
    ids[cp.argsort(raw.numbers(pairs * m, n))] = cp.arange(n, dtype=np.uint64)
    for first in range(0, m, each):
        size = min(each, m - first)
        source, target = cp.zeros(size, np.uint64), cp.zeros(size, np.uint64)
        for pair in range(pairs):
            words = raw.numbers(pair * m + first, size)
            for half in range(2):
                if 2 * pair + half >= scale:
                    break
                h = words >> np.uint64(32) if half == 0 else words & np.uint64(0xFFFFFFFF)
                down = h >= ab
                right = ((h >= a) & ~down) | (h >= abc)
                source = source * np.uint64(2) + down
                target = target * np.uint64(2) + right
            del words
        yield ids[source], ids[target]


def uniform(log2n: int, m: int, seed: int) -> DeviceCsr:
    """Return the uniform random graph of ``m`` draws on 2**log2n vertices."""
    words = _Stream(seed).numbers(0, m)
    mask = np.uint64((1 << log2n) - 1)
    return _csr(1 << log2n, (words >> np.uint64(32)) & mask, words & mask)


def from_edges(n: int, source: Any, target: Any) -> DeviceCsr:
    """Return the graph of some edges (NumPy arrays), loops and repetitions dropped."""
    import cupy as cp

    return _csr(n, cp.asarray(source).astype(np.uint64), cp.asarray(target).astype(np.uint64))


def with_star(graph: DeviceCsr) -> DeviceCsr:
    """Return the graph with one node more, a neighbour of all others."""
    import cupy as cp

    places = cp.arange(len(graph.neighbours), dtype=np.uint64)
    source = cp.searchsorted(graph.offsets, places, side="right").astype(np.uint32) - np.uint32(1)
    del places
    once = source < graph.neighbours
    leaves = cp.arange(graph.n, dtype=np.uint64)
    source = cp.concatenate([source[once].astype(np.uint64), leaves])
    target = cp.concatenate([graph.neighbours[once].astype(np.uint64), cp.full_like(leaves, graph.n)])
    return _csr(graph.n + 1, source, target)


def _csr(n: int, source: Any, target: Any) -> DeviceCsr:
    import cupy as cp

    kept = source != target
    source, target = source[kept], target[kept]
    keys = _keys(source, target)
    del source, target
    keys.sort()
    keys = keys[cp.concatenate([cp.ones(1, bool), keys[1:] != keys[:-1]])]
    one, other = _ends(keys)
    degree = cp.bincount(one.astype(np.int64), minlength=n) + cp.bincount(other.astype(np.int64), minlength=n)
    rank, order = _ranks(degree)
    one, other = rank[one], rank[other]
    keys = cp.concatenate([(one << _SHIFT) | other, (other << _SHIFT) | one])
    del one, other
    keys.sort()
    offsets = cp.zeros(n + 1, np.uint64)
    offsets[1:] = cp.cumsum(degree[order])
    neighbours = (keys & _LOW).astype(np.uint32)
    del keys
    cp.get_default_memory_pool().free_all_blocks()
    return DeviceCsr(offsets, neighbours)


def _keys(source: Any, target: Any) -> Any:
    """Return edges as numbers, the lesser end in the upper half."""
    import cupy as cp

    return (cp.minimum(source, target) << _SHIFT) | cp.maximum(source, target)


def _ends(keys: Any) -> tuple[Any, Any]:
    return keys >> _SHIFT, keys & _LOW


def _ranks(degree: Any) -> tuple[Any, Any]:
    """Return the place of each vertex by descending degree (ties by id), uint64, and the vertex of each place."""
    import cupy as cp

    n = len(degree)
    order = cp.argsort((np.uint64(n) - degree.astype(np.uint64)) * np.uint64(n) + cp.arange(n, dtype=np.uint64))
    rank = cp.empty(n, np.uint64)
    rank[order] = cp.arange(n, dtype=np.uint64)
    return rank, order
