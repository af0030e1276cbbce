"""The generated graphs of the benchmarks, made on the GPU: the same bits as ``qengine.testing.generate``.

PCG64 (XSL-RR 128/64) is a linear congruence: each thread jumps to its part of the stream (Brown, "Random Number
Generation with Arbitrary Strides", 1994).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

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
        self._at = 0
        self._cp = cp

    def take(self, n: int) -> Any:
        out = self._cp.empty(n, np.uint64)
        blocks = -(-n // (64 * 128))
        self._kernel((blocks,), (128,), (*self._words, np.uint64(self._at), np.int64(n), out))
        self._at += n
        return out


def rmat(scale: int, edge_factor: int, seed: int) -> DeviceCsr:
    """Return the R-MAT graph of ``qengine.testing.generate.graphs`` with the Graph500 probabilities."""
    import cupy as cp

    n, m = 1 << scale, edge_factor << scale
    a, ab, abc = (np.uint64(int(p * 2**32)) for p in (0.57, 0.57 + 0.19, 0.57 + 0.19 + 0.19))
    raw = _Stream(seed)
    source, target = cp.zeros(m, np.uint64), cp.zeros(m, np.uint64)
    for pair in range((scale + 1) // 2):
        words = raw.take(m)
        for half in range(2):
            if 2 * pair + half >= scale:
                break
            h = words >> np.uint64(32) if half == 0 else words & np.uint64(0xFFFFFFFF)
            down = h >= ab
            right = ((h >= a) & ~down) | (h >= abc)
            source = source * np.uint64(2) + down
            target = target * np.uint64(2) + right
        del words
    order = cp.argsort(raw.take(n))
    ids = cp.empty(n, np.uint64)
    ids[order] = cp.arange(n, dtype=np.uint64)
    return _csr(n, ids[source], ids[target])


def uniform(log2n: int, m: int, seed: int) -> DeviceCsr:
    """Return the uniform random graph of ``m`` draws on 2**log2n vertices."""
    words = _Stream(seed).take(m)
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

    shift, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    kept = source != target
    source, target = source[kept], target[kept]
    keys = (cp.minimum(source, target) << shift) | cp.maximum(source, target)
    del source, target
    keys.sort()
    keys = keys[cp.concatenate([cp.ones(1, bool), keys[1:] != keys[:-1]])]
    one, other = keys >> shift, keys & low
    degree = cp.bincount(one.astype(np.int64), minlength=n) + cp.bincount(other.astype(np.int64), minlength=n)
    order = cp.argsort((np.uint64(n) - degree.astype(np.uint64)) * np.uint64(n) + cp.arange(n, dtype=np.uint64))
    rank = cp.empty(n, np.uint64)
    rank[order] = cp.arange(n, dtype=np.uint64)
    one, other = rank[one], rank[other]
    keys = cp.concatenate([(one << shift) | other, (other << shift) | one])
    del one, other
    keys.sort()
    offsets = cp.zeros(n + 1, np.uint64)
    offsets[1:] = cp.cumsum(degree[order])
    neighbours = (keys & low).astype(np.uint32)
    del keys
    cp.get_default_memory_pool().free_all_blocks()
    return DeviceCsr(offsets, neighbours)
