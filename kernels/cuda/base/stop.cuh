// How the host stops a kernel: the stop flag, and when kernels look at it.
//
// The flag is an int32 in the host's memory: 0 to go on; else end soon, what was computed is thrown away.
// Contract. A kernel is one of two kinds.
//   A pass goes once over arrays in device memory, some steps for each number that it reads or writes. It has no flag: the
//   memory's bandwidth bounds it, and the host looks at a query's limits between launches.
//   All other kernels look. They call `warp()` or `thread()` in every loop whose length data decides, at least every
//   kLookEntries entries of a list, and end their loops when it returns true. It stays true. Barriers are still passed by all:
//   a warp that is stopped leaves its loops, not the block. Where others rely on what it would have done the block asks
//   together (`__syncthreads_or(stop.stopped())`). Nothing that a stopped kernel leaves is read, except by the next kernels of
//   its run, which must come to an end with it.
// Cost. A call reads the clock. The flag itself is read once in kLookCycles by each warp, since the host answers some 1.4
// reads a microsecond, of all warps together: 8,448 warps that each read it once in 9 ms took 12 to 60 % longer. The first
// reads come after kLookCycles, spread over as long again, so kernels of less than that never read it. A kernel ends at most
// some 70 ms after it was told.
// tests/property/test_gpu_stops.py counts looks and work in all kernels.
#pragma once
#include "base/hardware.cuh"
#include "base/warp.cuh"

#ifndef QE_LOOK_CYCLES
#define QE_LOOK_CYCLES (1 << 26)
#endif
#ifndef QE_LOOK_ENTRIES
#define QE_LOOK_ENTRIES (1 << 16)
#endif
#ifndef QE_LOOK_EVERY
#define QE_LOOK_EVERY 64
#endif

namespace qe {

using StopFlag = const volatile int32_t*;

constexpr uint32_t kLookCycles = QE_LOOK_CYCLES;     // some 35 ms between two looks
constexpr uint32_t kSharedLookCycles = kLookCycles / 4;  // where a warp that looks tells all others
constexpr uint32_t kLookEntries = QE_LOOK_ENTRIES;  // of a list, between two calls
constexpr uint32_t kLookEvery = QE_LOOK_EVERY;      // steps between two calls, of kernels whose steps are short

class Stop {
 public:
  __device__ explicit Stop(StopFlag flag) : flag_(flag) {
    const uint32_t warp = blockIdx.x * (blockDim.x / kLanes) + threadIdx.x / kLanes;
    looked_ = cycles() + kLookCycles / kLanes * (warp % kLanes);
  }

  // Must the kernel end? Asked by a whole warp; the same for all lanes.
  __device__ bool warp() {
    if (lane_id() == 0) look();
    return stopped_ = __any_sync(kAllLanes, stopped_);
  }

  // The same for one thread, also where others of its warp are elsewhere.
  __device__ bool thread() {
    look();
    return stopped_;
  }

  // Whether it has been told so, without another look.
  __device__ bool stopped() const { return stopped_; }

 private:
  __device__ void look() {
    if (stopped_ || cycles() - looked_ + kLookCycles < 2 * kLookCycles) return;
    looked_ = cycles();
    stopped_ = read_host(flag_) != 0;
  }

  StopFlag flag_;
  uint32_t looked_;  // until the first look up to kLookCycles in the future; clocks wrap, and calls may be seconds apart
  bool stopped_ = false;
};

// The same for warps that can stop each other, by a word in device memory: it is read at each call, and set by the first that
// finds the flag.
class SharedStop {
 public:
  __device__ SharedStop(StopFlag flag, int32_t* word) : flag_(flag), word_(word), looked_(cycles()) {}

  // By one lane, as are the looks.
  __device__ bool thread() {
    if (stopped_) return true;
    if (*const_cast<const volatile int32_t*>(word_) != 0) return stopped_ = true;
    if (cycles() - looked_ < kSharedLookCycles) return false;
    looked_ = cycles();
    if (read_host(flag_) == 0) return false;
    atomicExch(word_, 1);
    return stopped_ = true;
  }

  // By the whole warp, the same for all lanes; stays true.
  __device__ bool warp() {
    if (lane_id() == 0) thread();
    return stopped_ = __any_sync(kAllLanes, stopped_);
  }

  __device__ bool stopped() const { return stopped_; }

 private:
  StopFlag flag_;
  int32_t* word_;
  uint32_t looked_;
  bool stopped_ = false;
};

// Calls run(first, last) for the entries [begin, end) of a list in parts of at most kLookEntries, as long as the warp isn't
// stopped. By the whole warp.
template <typename Number, typename Run>
__device__ void in_parts(Number begin, Number end, Stop& stop, Run run) {
#pragma unroll 1
  while (true) {
    const bool long_one = begin < end && end - begin > kLookEntries;
    const Number upto = long_one ? static_cast<Number>(begin + kLookEntries) : end;
    run(begin, upto);
    if (!long_one || stop.warp()) return;
    begin = upto;
  }
}

}  // namespace qe
