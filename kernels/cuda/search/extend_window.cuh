// Up to 32 rows of a frontier in one warp's shared memory, a lane a row: their values, their operands, and where their slots
// begin.
#pragma once
#include "base/warp.cuh"
#include "qe/extend_step.h"

extern __shared__ __align__(16) char shared[];

namespace qe {

__device__ inline uint64_t warp_id() { return (uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) / kLanes; }
__device__ inline uint64_t warps() { return uint64_t{gridDim.x} * blockDim.x / kLanes; }

struct Window {
  int64_t* values;
  const uint32_t** data;
  uint64_t* starts;  // kLanes + 1
  StepPlan* steps;
  uint32_t* length;

  __device__ StepRow row(int lane) const { return {values + lane, data + lane, length + lane, kLanes}; }

  // The last row whose slots begin at or before `slot`.
  __device__ int row_at(uint64_t slot) const {
    int at = 0;
    for (int half = kLanes / 2; half > 0; half /= 2)
      if (starts[at + half] <= slot) at += half;
    return at;
  }
};

// Bytes of a window, as window_bytes in Python: 8-byte arrays first.
__device__ inline uint32_t window_bytes(int depth, int operands) {
  return (8u * kLanes * (depth + operands) + 8u * (kLanes + 1) + sizeof(StepPlan) * kLanes + 4u * kLanes * operands + 7) &
         ~7u;
}

// A warp's window of rows with `depth` values, for candidates of `level`. `bytes`: of each warp's shared memory.
__device__ inline Window window(const MatchPlan& plan, int level, int depth, uint32_t bytes) {
  const int operands = level < plan.n_levels ? traits_of(plan, level).operands : 0;
  char* at = shared + threadIdx.x / kLanes * bytes;
  Window to;
  to.values = reinterpret_cast<int64_t*>(at);
  to.data = reinterpret_cast<const uint32_t**>(to.values + kLanes * depth);
  to.starts = reinterpret_cast<uint64_t*>(to.data + kLanes * operands);
  to.steps = reinterpret_cast<StepPlan*>(to.starts + kLanes + 1);
  to.length = reinterpret_cast<uint32_t*>(to.steps + kLanes);
  return to;
}

// The same with no more bytes a warp than these rows take.
__device__ inline Window window(const MatchPlan& plan, int level, int depth) {
  const int operands = level < plan.n_levels ? traits_of(plan, level).operands : 0;
  return window(plan, level, depth, window_bytes(depth, operands));
}

}  // namespace qe
