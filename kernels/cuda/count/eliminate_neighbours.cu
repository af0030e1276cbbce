// Elimination among the neighbours of roots: which of them are linked.
//
// Problem: as kernels/host/count/eliminate_neighbours.cpp. `neighbours_*` find, for each root c and each pair (c, y) of `first`,
// the pairs (c, z) of `second` for which `by` links y to z: first how many, then which. Roots with many pairs are a block's, which
// marks the ends z in shared memory as bits and looks y's row up there; of others, and where y's row is far longer, the root's
// ends are sought in y's row.
// Preconditions: `second` links a pair once; offsets are clear before they count. Launch: as many blocks of whole warps as run at
// a time, shared memory as the kernels say. Bytes moved: y's row for each pair, each link once.
// Deterministic. `flag` becomes 1 where numbers are too large.
// Sources: Schank and Wagner 2005; Chiba and Nishizeki 1985.
#include "count/eliminate.cuh"
#include "qe/lists.h"

using namespace qe;
using namespace qe::eliminate;

namespace {

constexpr uint64_t kSeek = 16;       // times as long as what is sought in it
constexpr uint32_t kWarpBits = 8192;  // marks of a warp: an id's is at its remainder

// offsets[1 + k]: of the row of the k-th pair. from, other: the first pair of the roots [begin, end) in `first` and `second`.
// bits: ids that are marked in shared memory, a multiple of 32. few: pairs of a root that a warp takes.
struct Neighbours {
  Matrix first, second, by;
  uint64_t* offsets;
  uint32_t* ids;
  Number* values;
  uint64_t from, other;
  uint32_t begin, end, bits, few;
};

// Calls found(z's place, entry of `by`, its number among this lane's) for what is sought, z by z; returns how many there are before
// this lane, and in all. By a warp.
template <typename Found>
__device__ uint64_t seek(const Neighbours& task, Span other, Span at, Stop& stop, Found found) {
  uint64_t all = 0;
  uint32_t steps = 0;
  for (uint64_t first = other.begin; first < other.end && (++steps % kLookEvery || !stop.warp()); first += kLanes) {
    const uint64_t e = first + lane_id();
    uint64_t begin = 0, n = 0;
    if (e < other.end) {
      const uint32_t z = task.second.ids[e];
      begin = at.begin + lower_bound(task.by.ids + at.begin, at.size(), z);
      while (begin + n < at.end && task.by.ids[begin + n] == z) ++n;
    }
    const uint64_t upto = scan_inclusive(n);
    for (uint64_t i = 0; i < n; ++i) found(e, begin + i, all + upto - n + i);
    all += __shfl_sync(kAllLanes, upto, kLanes - 1);
  }
  return all;
}

// The same for the members of y's row that are marked: by their ids where those are less than `bits`, else, and where marks are
// `rough`, they are looked up.
template <typename Found>
__device__ uint64_t look_up(const Neighbours& task, const uint32_t* marks, bool rough, Span other, Span at, Stop& stop,
                            Found found) {
  uint64_t all = 0;
  const uint32_t* ends = task.second.ids + other.begin;
  uint32_t steps = 0;
  for (uint64_t first = at.begin; first < at.end && (++steps % kLookEvery || !stop.warp()); first += kLanes) {
    const uint64_t e = first + lane_id();
    bool hit = false;
    uint32_t z = 0;
    if (e < at.end) {
      z = task.by.ids[e];
      if (rough) hit = has_bit(marks, z % kWarpBits) && contains(ends, other.size(), z);
      else hit = z < task.bits ? has_bit(marks, z) : contains(ends, other.size(), z);
    }
    const uint32_t hits = __ballot_sync(kAllLanes, hit);
    if (hit) found(other.begin, e, all + rank_in(hits), z);
    all += __popc(hits);
  }
  return all;
}

// One pair's row, counted or written. By a warp.
template <bool kFill>
__device__ void pair_row(const Neighbours& task, const uint32_t* marks, bool rough, Span other, uint64_t pair, Stop& stop) {
  const Span at = row(task.by, task.first.ids[pair]);
  uint64_t* offset = task.offsets + (pair - task.from);
  const uint64_t to = kFill ? *offset : 0;
  const auto put = [&](uint64_t place, uint64_t entry, uint64_t number) {
    if (!kFill) return;
    task.ids[to + number] = static_cast<uint32_t>(place - task.other);
    if (task.values) task.values[to + number] = task.by.values[entry];
  };
  uint64_t n;
  if (other.size() * kSeek < at.size()) {
    n = seek(task, other, at, stop, put);
  } else {
    n = look_up(task, marks, rough, other, at, stop, [&](uint64_t begin, uint64_t entry, uint64_t number, uint32_t z) {
      if (kFill) put(begin + lower_bound(task.second.ids + begin, other.size(), z), entry, number);
    });
  }
  if (!kFill && lane_id() == 0) offset[1] = n;
}

// Roots with few pairs: a warp each. marks: kWarpBits bits a warp.
template <bool kFill>
__device__ void few(const Neighbours& task, const WorkQueue& queue, uint32_t* all_marks) {
  uint32_t* marks = all_marks + threadIdx.x / kLanes * (kWarpBits / 32);
  for (uint32_t w = lane_id(); w < kWarpBits / 32; w += kLanes) marks[w] = 0;
  __syncwarp();
  WorkTaker taker(queue, task.end - task.begin);
  while (true) {
    const uint64_t k = __shfl_sync(kAllLanes, lane_id() == 0 ? taker.take(1) : uint64_t{0}, 0);
    if (k >= task.end - task.begin) return;
    const uint32_t c = task.begin + static_cast<uint32_t>(k);
    const Span own = row(task.first, c), other = row(task.second, c);
    if (other.size() == 0 || other.size() > task.few) continue;
    for (uint64_t e = other.begin + lane_id(); e < other.end; e += kLanes) {
      const uint32_t mark = task.second.ids[e] % kWarpBits;
      atomicOr(&marks[mark / 32], 1u << mark % 32);
    }
    __syncwarp();
    for (uint64_t pair = own.begin; pair < own.end && !taker.stop().warp(); ++pair)
      pair_row<kFill>(task, marks, true, other, pair, taker.stop());
    __syncwarp();
    for (uint64_t e = other.begin + lane_id(); e < other.end; e += kLanes) marks[task.second.ids[e] % kWarpBits / 32] = 0;
    __syncwarp();
  }
}

// Roots with many: a block each. marks: task.bits bits.
template <bool kFill>
__device__ void many(const Neighbours& task, const WorkQueue& queue, uint32_t* marks, uint64_t* shared_root) {
  WorkTaker taker(queue, task.end - task.begin);
  for (uint32_t w = threadIdx.x; w < task.bits / 32; w += blockDim.x) marks[w] = 0;
  while (true) {
    if (threadIdx.x == 0) *shared_root = taker.take(1);
    __syncthreads();
    const uint64_t k = *shared_root;
    __syncthreads();
    if (k >= task.end - task.begin) return;
    const uint32_t c = task.begin + static_cast<uint32_t>(k);
    const Span own = row(task.first, c), other = row(task.second, c);
    if (other.size() <= task.few || own.size() == 0) continue;
    for (uint64_t e = other.begin + threadIdx.x; e < other.end && !taker.stop().thread(); e += blockDim.x) {
      const uint32_t z = task.second.ids[e];
      if (z < task.bits) atomicOr(&marks[z / 32], 1u << z % 32);
    }
    __syncthreads();
    for (uint64_t pair = own.begin + threadIdx.x / kLanes; pair < own.end && !taker.stop().warp(); pair += blockDim.x / kLanes)
      pair_row<kFill>(task, marks, false, other, pair, taker.stop());
    __syncthreads();
    for (uint64_t e = other.begin + threadIdx.x; e < other.end && !taker.stop().thread(); e += blockDim.x) {
      const uint32_t z = task.second.ids[e];
      if (z < task.bits) marks[z / 32] = 0;
    }
    __syncthreads();
  }
}

}  // namespace

// offsets[1 + k]: how long the row of the k-th pair is, for roots with at most `few` pairs. Shared memory: kWarpBits bits a warp.
extern "C" __global__ void __launch_bounds__(256) neighbours_count_few(const Neighbours task, const WorkQueue queue) {
  QE_SHARED(uint32_t, shared);
  few<false>(task, queue, shared);
}

// The same for the others. Shared memory: task.bits bits and a word of 64.
extern "C" __global__ void __launch_bounds__(512) neighbours_count_many(const Neighbours task, const WorkQueue queue) {
  QE_SHARED(uint32_t, shared);
  many<false>(task, queue, shared + 4, reinterpret_cast<uint64_t*>(shared));
}

// The rows, at their offsets.
extern "C" __global__ void __launch_bounds__(256) neighbours_fill_few(const Neighbours task, const WorkQueue queue) {
  QE_SHARED(uint32_t, shared);
  few<true>(task, queue, shared);
}

extern "C" __global__ void __launch_bounds__(512) neighbours_fill_many(const Neighbours task, const WorkQueue queue) {
  QE_SHARED(uint32_t, shared);
  many<true>(task, queue, shared + 4, reinterpret_cast<uint64_t*>(shared));
}

// out[e]: the vector's number for the end of the e-th of n pairs.
extern "C" __global__ void pair_ends(const uint32_t* ids, uint64_t n, const Number* vector, Number* out) {
  const uint64_t e = thread_id();
  if (e < n) out[e] = vector[ids[e]];
}

// out[e]: the row for the end of the e-th of n pairs.
extern "C" __global__ void pair_rows(const uint32_t* ids, uint64_t n, const uint32_t* rows, uint32_t* out) {
  const uint64_t e = thread_id();
  if (e < n) out[e] = rows[ids[e]];
}
