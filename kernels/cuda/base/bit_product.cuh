// Products of bit matrices on the tensor cores.
//
// Source: NVIDIA PTX ISA, mma with .b1 operands. Compute capability 7.5 counts only differing bits: of two sets of n and m bits
// that differ in x there are (n + m - x) / 2 in common.
#pragma once
#include "base/hardware.cuh"
#include "base/warp.cuh"

namespace qe {

// Adds to c what 16 rows of 256 bits (a) and 8 columns of as many (b) have in common, each with each. All lanes of a warp call
// it. Lane 4 r + q has words q and q + 4 of rows r (a[0], a[2]) and r + 8 (a[1], a[3]), and of column r (b[0], b[1]); of c the
// numbers of rows r (c[0], c[1]) and r + 8 (c[2], c[3]) in columns 2 q and 2 q + 1.
__device__ inline void multiply_bits(int32_t (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
#if QE_ARCHITECTURE >= 800
  add_common_bits(c, a, b);
#else
  constexpr uint32_t kBits = 10, kMask = (1u << kBits) - 1;  // a row has at most 256
  uint32_t sizes = static_cast<uint32_t>(__popc(a[0]) + __popc(a[2]) + ((__popc(a[1]) + __popc(a[3])) << kBits) +
                                         ((__popc(b[0]) + __popc(b[1])) << 2 * kBits));
  sizes += __shfl_xor_sync(kAllLanes, sizes, 1);
  sizes += __shfl_xor_sync(kAllLanes, sizes, 2);
  int32_t different[2][2] = {};
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    add_different_bits(different[half], a[half], b[0]);
    add_different_bits(different[half], a[half + 2], b[1]);
  }
#pragma unroll
  for (int column = 0; column < 2; ++column) {
    const uint32_t size = __shfl_sync(kAllLanes, sizes, (2 * (lane_id() % 4) + column) * 4) >> 2 * kBits;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const uint32_t both = (sizes >> half * kBits & kMask) + size;
      c[2 * half + column] += (static_cast<int32_t>(both) - different[half][column]) / 2;
    }
  }
#endif
}

}  // namespace qe
