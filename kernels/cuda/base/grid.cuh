// What all blocks of a cooperative launch do together: wait for each other, share loops, and add up in order.
//
// Preconditions: all blocks of the grid run at a time, and call the same functions in the same order. `arrived` and
// `stopped` are 0 at the launch. Shared memory: kBlockWords words of 64 bits a block.
#pragma once
#include "base/stop.cuh"

namespace qe {

constexpr int kBlockWords = 32;

class Grid {
 public:
  __device__ Grid(uint32_t* arrived, uint32_t* stopped, StopFlag flag, uint64_t* words)
      : arrived_(arrived), stopped_(stopped), stop_(flag), words_(words) {}

  // The stop flag, for loops of the caller's own.
  __device__ Stop& stop() { return stop_; }

  // Waits for all blocks; what they wrote before can be read afterwards. False: all must end, since the stop flag is set.
  // `stopped` holds the number of the first barrier after which all end, written before its writer arrives there: a block
  // that is still leaving the barrier before goes on, and none waits for one that has ended.
  __device__ QE_APART bool meet() {
    ++barriers_;
    const bool stopping = __syncthreads_or(stop_.thread());
    if (threadIdx.x == 0) {
      if (stopping) atomicCAS(stopped_, 0u, barriers_);
      __threadfence();
      atomicAdd(arrived_, 1u);
      while (*static_cast<volatile uint32_t*>(arrived_) < barriers_ * gridDim.x) stop_.thread();
      __threadfence();
    }
    __syncthreads();
    const uint32_t last = *static_cast<volatile uint32_t*>(stopped_);
    return last == 0 || last > barriers_;
  }

  // Calls call(i) for each i of [begin, end), neighbouring threads next to each other. Stopped, it leaves some out: all must meet
  // before they read what others have made.
  template <typename Call>
  __device__ void each(uint64_t begin, uint64_t end, Call call) {
    const uint64_t step = uint64_t{gridDim.x} * blockDim.x;
    for (uint64_t i = begin + blockIdx.x * blockDim.x + threadIdx.x; i < end && !stop_.thread(); i += step) call(i);
  }

  // Calls each warp with numbers of [0, n), 32 that are far from each other at a time: call(i, there is one).
  template <typename Call>
  __device__ void each_spread(uint64_t n, Call call) {
    const uint64_t stride = (n + kLanes - 1) / kLanes, warps = blockDim.x / kLanes;
    for (uint64_t w = blockIdx.x * warps + threadIdx.x / kLanes; w < stride && !stop_.warp(); w += gridDim.x * warps) {
      const uint64_t i = w + lane_id() * stride;
      call(i, i < n);
    }
  }

  // Calls write(i, again(i), the sum of again(0) to again(i - 1)) for each i < n; count(i), called once before, must give the
  // same, and may leave it where again(i) finds it. `sums`: a number a block. All must meet before the next scan.
  template <typename Count, typename Again, typename Write>
  __device__ bool scan(uint64_t n, uint64_t* sums, Count count, Again again, Write write) {
    const uint64_t share = (n + gridDim.x - 1) / gridDim.x;
    const uint64_t begin = min(n, blockIdx.x * share), end = min(n, begin + share);
    uint64_t mine = 0, total;
    for (uint64_t i = begin + threadIdx.x; i < end && !stop_.thread(); i += blockDim.x) mine += count(i);
    scan_block(mine, &total);
    if (threadIdx.x == 0) sums[blockIdx.x] = total;
    if (!meet()) return false;
    mine = 0;
    for (uint32_t b = threadIdx.x; b < blockIdx.x; b += blockDim.x) mine += sums[b];
    uint64_t base;
    scan_block(mine, &base);
    for (uint64_t tile = begin; tile < end; tile += blockDim.x) {
      const uint64_t i = tile + threadIdx.x;
      const uint64_t own = i < end ? again(i) : 0;
      const uint64_t upto = scan_block(own, &total);
      if (i < end) write(i, own, base + upto - own);
      base += total;
      if (__syncthreads_or(stop_.thread())) break;  // the next meeting ends all
    }
    return true;
  }

 private:
  // The sum over this thread and those before it in the block, and over all.
  __device__ QE_APART uint64_t scan_block(uint64_t mine, uint64_t* total) const {
    const uint64_t upto = scan_inclusive(mine);
    const uint32_t warp = threadIdx.x / kLanes, warps = blockDim.x / kLanes;
    if (lane_id() == kLanes - 1) words_[warp] = upto;
    __syncthreads();
    uint64_t before = 0, all = 0;
    for (uint32_t w = 0; w < warps; ++w) {
      if (w == warp) before = all;
      all += words_[w];
    }
    __syncthreads();
    *total = all;
    return before + upto;
  }

  uint32_t* arrived_;
  uint32_t* stopped_;
  Stop stop_;
  uint64_t* words_;
  uint32_t barriers_ = 0;
};

}  // namespace qe
