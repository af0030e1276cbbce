// What the 32 lanes of a warp do together. All lanes must call these functions at the same time.
#pragma once
#include "base/hardware.cuh"

namespace qe {

constexpr int kLanes = 32;
constexpr uint32_t kAllLanes = 0xFFFFFFFFu;

__device__ inline int lane_id() { return static_cast<int>(threadIdx.x % kLanes); }

// Of all threads of a grid in one dimension: which this one is, and how many there are.
__device__ inline uint64_t thread() { return uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ inline uint64_t threads() { return uint64_t{gridDim.x} * blockDim.x; }

// The sum over this lane and those before it.
__device__ inline uint64_t scan_inclusive(uint64_t mine) {
  const int lane = lane_id();
  for (int step = 1; step < kLanes; step *= 2) {
    const uint64_t before = __shfl_up_sync(kAllLanes, mine, step);
    if (lane >= step) mine += before;
  }
  return mine;
}

// The sum over all lanes, given to each.
template <typename T>
__device__ T sum_over(T mine) {
  for (int step = kLanes / 2; step > 0; step /= 2) mine += __shfl_xor_sync(kAllLanes, mine, step);
  return mine;
}

__device__ inline uint32_t sum_over(uint32_t mine) {
#if QE_ARCHITECTURE >= 800
  return __reduce_add_sync(kAllLanes, mine);
#else
  return sum_over<uint32_t>(mine);
#endif
}

// The greatest number of all lanes, given to each.
__device__ inline uint32_t most_of(uint32_t mine) {
#if QE_ARCHITECTURE >= 800
  return __reduce_max_sync(kAllLanes, mine);
#else
  for (int step = kLanes / 2; step > 0; step /= 2) mine = max(mine, __shfl_xor_sync(kAllLanes, mine, step));
  return mine;
#endif
}

// How many lanes of the mask come before this one.
__device__ inline int rank_in(uint32_t mask) { return __popc(mask & ((1u << lane_id()) - 1)); }

// The lane of the mask's bit number n (from 0), which must exist.
__device__ inline int nth_lane(uint32_t mask, int n) {
  for (; n > 0; --n) mask &= mask - 1;
  return __ffs(mask) - 1;
}

// The last of n rows whose entries begin at or before `entry`: a lane probes one of 32 rows at a time. Row k has the entries
// [offsets[k], offsets[k + 1]).
__device__ inline uint64_t row_of(const uint64_t* offsets, uint64_t n, uint64_t entry) {
  uint64_t low = 0, high = n;
  while (high - low > 1) {
    const uint64_t step = (high - low + kLanes - 1) / kLanes;
    const uint64_t probe = low + (lane_id() + 1) * step;
    const uint32_t below = __ballot_sync(kAllLanes, probe < high && offsets[probe] <= entry);
    low += __popc(below) * step;
    high = low + step < high ? low + step : high;
  }
  return low;
}

}  // namespace qe
