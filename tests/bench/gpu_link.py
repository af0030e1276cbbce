"""How fast a kernel reads lines of the host's memory over the link: ``python -m tests.bench.gpu_link``.

Each line is read once, by a warp. What is read at a time lies within a window, in a random order, one line of so many.
Of each window and each distance: million lines a second.
"""

from __future__ import annotations

import numpy as np

from qengine.exec.gpu.device import cupy
from qengine.exec.gpu.paged import Pages

SOURCE = r"""
extern "C" __global__ void read_lines(const unsigned* from, unsigned long long lines, unsigned long long window,
                                      unsigned apart, unsigned* out) {
  const unsigned long long warps = 1ull * gridDim.x * blockDim.x / 32, n = lines / apart;
  const unsigned lane = threadIdx.x % 32;
  unsigned sum = 0;
  for (unsigned long long k = (1ull * blockIdx.x * blockDim.x + threadIdx.x) / 32; k < n; k += 4 * warps) {
    unsigned got[4] = {0, 0, 0, 0};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const unsigned long long j = k + i * warps, begin = j / window * window;
      if (j < n) got[i] = from[(begin + ((j - begin) * 2654435761ull & window - 1)) * apart * 32 + lane];
    }
    sum += got[0] + got[1] + got[2] + got[3];
  }
  if (sum == 1) *out = sum;
}"""
LINE, BYTES = 128, 2 << 30
WINDOWS = (LINE, 1 << 20, 1 << 26, 1 << 28, 1 << 29, 1 << 30, 1 << 31)
APART = (1, 4, 32)


def main() -> None:
    """Print a table for memory that the driver maps and for memory that is registered."""
    cp = cupy()
    kernel, out, pages = cp.RawKernel(SOURCE, "read_lines"), cp.zeros(1, np.uint32), Pages(cp.cuda.runtime.getDevice())
    for name, runs in (("mapped", [(pages.size, True), (BYTES, False)]), ("registered", [(BYTES, False)])):
        block = pages.make(runs)
        at = block.ptr + block.n_bytes - BYTES
        for apart in APART:
            rates = []
            for window in WINDOWS:
                lines = min(window // LINE, BYTES // LINE // apart)
                given = np.uint64(at), np.uint64(BYTES // LINE), np.uint64(lines), np.uint32(apart), out
                best = min(_milliseconds(lambda given=given: kernel((1056,), (256,), given)) for _ in range(3))
                rates.append(f"{window * apart / 1e6:,.1f} MB: {BYTES / LINE / apart / best / 1e3:.0f}")
            print(name, f"one line of {apart};", "; ".join(rates), flush=True)
        del block
        pages.trim()


def _milliseconds(run: object) -> float:
    cuda = cupy().cuda
    begin, end = cuda.Event(), cuda.Event()
    begin.record()
    run()  # type: ignore[operator]
    end.record()
    end.synchronize()
    return float(cuda.get_elapsed_time(begin, end))


if __name__ == "__main__":
    main()
