"""Which way to intersect sorted lists wins where, on the device: ``python -m tests.bench.intersections``.

A warp counts the common ids of two (or three) lists. The table says how long one id of the shortest list takes, in
nanoseconds of one warp: the time of the launch times the warps that the device runs at a time, over all these ids.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from qengine import _assets
from qengine.exec.gpu import nvrtc
from qengine.exec.gpu.device import cupy, device

OPERATIONS = ("binary_search", "leapfrog", "merge", "all_compare", "marks", "kept_marks")
ANY_NUMBER = ("binary_search", "leapfrog")
WARPS, WORDS = 8, 1024
UNIVERSE = 32 * WORDS
IDS = 1 << 25


def problems(short: int, ratio: int, k: int) -> tuple[Any, Any, int]:
    """Return ids, begins and the number of random problems: lists of ``short`` and of ``short * ratio`` ids."""
    random = np.random.default_rng(short * 1000 + ratio)
    n = max(1024, IDS // (short * (1 + ratio * (k - 1))))
    lengths = np.tile([short] + [short * ratio] * (k - 1), n)
    begins = np.concatenate(([0], np.cumsum(lengths))).astype(np.uint64)
    some = 64  # different problems; the others repeat them
    lists = [np.sort(random.choice(UNIVERSE, length, replace=False)) for length in lengths[: some * k]]
    ids = np.tile(np.concatenate(lists).astype(np.uint32), -(-n // some))[: int(begins[-1])]
    return ids, begins, n


def nanoseconds(name: str, given: tuple[Any, Any, int], k: int, module: Any) -> tuple[float, Any]:
    """Return how long an id of the shortest list takes one warp, and the counts."""
    cp = cupy()
    ids, begins, n = cp.asarray(given[0]), cp.asarray(given[1]), given[2]
    counts = cp.empty(n, np.uint32)
    kernel = module.get_function(f"{name}_lists")
    shared = 4 * WORDS * WARPS if "marks" in name else 0
    blocks = device().resident_blocks(kernel, 32 * WARPS, shared)
    best = np.inf
    for _ in range(4):
        begin, end = cp.cuda.Event(), cp.cuda.Event()
        begin.record()
        kernel((blocks,), (32 * WARPS,), (ids, begins, np.int32(k), np.uint64(n), counts), shared_mem=shared)
        end.record()
        end.synchronize()
        best = min(best, cp.cuda.get_elapsed_time(begin, end))
    return best * 1e6 * blocks * WARPS / float(n * int(given[1][1])), counts.get()


def main() -> None:
    source = _assets.asset("tests", "bench", "intersections.cu")
    include = f"--include-path={_assets.asset('kernels', 'include')}"
    options = ["--std=c++17", "--device-as-default-execution-space", include]
    module = cupy().cuda.function.Module()
    module.load(nvrtc.compile_program(source.read_text(), source.name, device().capability, options))
    print("| lists | shortest | times longer |", " | ".join(OPERATIONS), "|")
    print("|---" * (3 + len(OPERATIONS)) + "|")
    for k in (2, 3):
        for short in (8, 32, 128, 512, 2048):
            for ratio in (1, 4, 16):
                given = problems(short, ratio, k)
                cells, truth = [], None
                for name in OPERATIONS:
                    if k > 2 and name not in ANY_NUMBER:
                        cells.append("")
                        continue
                    took, counts = nanoseconds(name, given, k, module)
                    truth = counts if truth is None else truth
                    assert name == "kept_marks" or (counts == truth).all(), name
                    cells.append(f"{took:.2f}")
                print(f"| {k} | {short} | {ratio} |", " | ".join(cells), "|")


if __name__ == "__main__":
    main()
