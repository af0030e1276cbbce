// What the counting kernels share: slices of neighbour lists, rows of hubs, teams of threads, marks, 128-bit sums.
//
// A slice is the part of a vertex's list that one view of the plan admits (range, below or above the vertex itself); it is
// found once for every vertex by `slice_view`, so that no other kernel searches lists. Ids near the view's first id are
// hubs (ids go by descending degree): the members of a slice among the first `hubs` ids are also kept as a row of bits where
// that is shorter to read. A list is then its row and the members from `tail` on.
#pragma once
#include "base/stop.cuh"
#include "qe/match_plan.h"

namespace qe {

constexpr uint32_t kWarp = 32;
constexpr uint32_t kFull = 0xFFFFFFFFu;
constexpr uint32_t kEmpty = 0xFFFFFFFFu;  // a hash table's free slot; no vertex has this id

struct alignas(16) ViewSlice {
  uint32_t begin, tail, end;        // begin < tail: the members before `tail` are in the vertex's row
  uint16_t first_word, end_word;    // the row's words that can hold any
};

struct View {
  const ViewSlice* slices;     // of vertex v at [v]
  const uint32_t* neighbours;
  const uint32_t* rows;        // of vertex base + i at [i * hub_words]
};

// Vertices that may be roots: the ids [first, end), or candidates[first .. end), where the bitset (bit i: id bitset_begin + i)
// admits them; null: no such thing. Of each `round` of them in a row those from `begin` on, `taken` of them: one device's share.
struct RootSet {
  const uint32_t* candidates;
  const uint64_t* bitset;
  uint32_t first, end, bitset_begin, begin, taken, round;

  // The nth root of the share, kNoVertex if that is none.
  __device__ uint32_t root(uint32_t n) const {
    const uint64_t at = uint64_t{n / taken} * round + begin + n % taken;
    if (at >= end - first) return kNoVertex;
    const uint32_t v = candidates ? candidates[first + at] : first + at;
    const uint32_t bit = v - bitset_begin;
    return bitset && !(bitset[bit >> 6] >> (bit & 63) & 1) ? kNoVertex : v;
  }
};

struct Sum {
  uint64_t low = 0, high = 0;

  __device__ void add(uint64_t more) {
    low += more;
    high += low < more;
  }
  __device__ void add_product(uint64_t a, uint64_t b) {
    high += __umul64hi(a, b);
    add(a * b);
  }
  // Adds the block's sums to *total. All threads of the block call it.
  __device__ void flush(unsigned long long* total) {
    __shared__ uint64_t lows[kWarp], highs[kWarp];
    const uint32_t lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
    reduce();
    __syncthreads();
    if (lane == 0) {
      lows[warp] = low;
      highs[warp] = high;
    }
    __syncthreads();
    if (warp != 0) return;
    const bool mine = lane < blockDim.x / kWarp;
    low = mine ? lows[lane] : 0;
    high = mine ? highs[lane] : 0;
    reduce();
    if (lane != 0 || (low | high) == 0) return;
    const unsigned long long before = atomicAdd(total, static_cast<unsigned long long>(low));
    const uint64_t carry = before + low < before;
    if (high + carry) atomicAdd(total + 1, static_cast<unsigned long long>(high + carry));
  }

 private:
  // Gives lane 0 the warp's sum.
  __device__ void reduce() {
    for (int step = 16; step > 0; step /= 2) {
      const uint64_t more = __shfl_down_sync(kFull, low, step);
      high += __shfl_down_sync(kFull, high, step);
      add(more);
    }
  }
};

// QE_TEAM_WARP: a team is a warp, else a block.
#ifdef QE_TEAM_WARP
__device__ inline uint32_t team_rank() { return threadIdx.x % kWarp; }
__device__ inline uint32_t team_size() { return kWarp; }
__device__ inline uint32_t team_warp() { return 0; }
__device__ inline uint32_t team_warps() { return 1; }
__device__ inline uint32_t team_in_block() { return threadIdx.x / kWarp; }
__device__ inline uint32_t teams_in_block() { return blockDim.x / kWarp; }
__device__ inline void team_sync() { __syncwarp(); }
#else
__device__ inline uint32_t team_rank() { return threadIdx.x; }
__device__ inline uint32_t team_size() { return blockDim.x; }
__device__ inline uint32_t team_warp() { return threadIdx.x / kWarp; }
__device__ inline uint32_t team_warps() { return blockDim.x / kWarp; }
__device__ inline uint32_t team_in_block() { return 0; }
__device__ inline uint32_t teams_in_block() { return 1; }
__device__ inline void team_sync() { __syncthreads(); }
#endif
__device__ inline uint32_t all_teams() { return gridDim.x * teams_in_block(); }

// Calls visit(id) for list[begin .. end), all lanes of a warp together; four loads are under way at a time. Looks before a long
// list, not within: ten million entries take some 50 ms. Of a list that is left out nothing is visited.
template <typename Visit>
__device__ void each_id(const uint32_t* list, uint32_t begin, uint32_t end, Stop& stop, Visit visit) {
  if (end - begin > kLookEntries && stop.warp()) return;
  for (uint32_t j = begin + threadIdx.x % kWarp; j < end; j += 4 * kWarp) {
    uint32_t ids[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) ids[i] = j + i * kWarp < end ? list[j + i * kWarp] : kNoVertex;
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if (ids[i] != kNoVertex) visit(ids[i]);
  }
}

// Which lane's list has entry `at` of all, where `start` is how many entries lists of lanes before have; the lanes' starts
// don't descend. Called by all lanes, each with an entry of its own.
__device__ inline uint32_t owner_of(uint32_t start, uint32_t at) {
  uint32_t k = 0;
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    const uint32_t begins = __shfl_sync(kFull, start, k + step);
    if (begins <= at) k += step;
  }
  return k;
}

// Calls visit(k, id) for the entries of all lanes' lists, list[begin .. end) of lane k: short lists are read side by side.
template <typename Visit>
__device__ void each_id_of_short(const uint32_t* list, uint32_t begin, uint32_t end, Visit visit) {
  const uint32_t lane = threadIdx.x % kWarp, n = end - begin;
  uint32_t start = n;
  for (int step = 1; step < 32; step *= 2) {
    const uint32_t more = __shfl_up_sync(kFull, start, step);
    if (lane >= step) start += more;
  }
  const uint32_t total = __shfl_sync(kFull, start, 31);
  start -= n;
  for (uint32_t first = 0; first < total; first += 4 * kWarp) {
    uint32_t owners[4], ids[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const uint32_t at = first + i * kWarp + lane;
      const uint32_t k = owner_of(start, at);
      const uint32_t shift = __shfl_sync(kFull, begin - start, k);
      owners[i] = k;
      ids[i] = at < total ? list[shift + at] : kNoVertex;
    }
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if (ids[i] != kNoVertex) visit(owners[i], ids[i]);
  }
}

// Are the lanes' lists of n entries short enough to be read side by side?
__device__ inline bool are_short(uint32_t n) {
  return sum_over(n) <= kWarp * __popc(__ballot_sync(kFull, n > 0));
}

// The pieces of work 0 .. n-1, dealt to teams one by one: the first by the team's number, so that teams don't queue for it at
// one address. Whoever finds that the run is stopped takes all work away.
struct TeamQueue {
  uint32_t* next;  // how many were dealt beside the first ones
  uint32_t n;
  uint32_t own;
  Stop stop;

  __device__ TeamQueue(uint32_t* next, uint32_t n, StopFlag flag)
      : next(next), n(n), own(team_in_block() * gridDim.x + blockIdx.x), stop(flag) {}

  // Has the run been stopped? For the middle of a piece; the same for all lanes of a warp.
  __device__ bool stopped() {
    if (stop.warp() && threadIdx.x % kWarp == 0) atomicMax(next, n);
    return stop.stopped();
  }

  // The same in a loop over a piece's members, `least` a round: the first round follows the look of take().
  __device__ bool stopped_from(uint32_t first, uint32_t least) { return first >= least && stopped(); }

  // A barrier of the team, before which each warp of a block looks; the same for all of it: has any found that the run is
  // stopped?
  __device__ bool team_stopped() {
#ifdef QE_TEAM_WARP
    __syncwarp();
    return stop.stopped();
#else
    return __syncthreads_or(stopped());
#endif
  }

  // The next piece, the same for the whole team; n or more at the end. All threads pass a barrier of the team before they call.
  __device__ uint32_t take(uint32_t* shared) {
    uint32_t at = 0;
    if (team_rank() == 0) {
      at = own != kNoVertex ? own : all_teams() < n ? all_teams() + atomicAdd(next, 1u) : n;
      own = kNoVertex;
      if (at < n && stop.thread()) {
        atomicMax(next, n);
        at = n;
      }
    }
#ifdef QE_TEAM_WARP
    return __shfl_sync(kFull, at, 0);
#else
    if (threadIdx.x == 0) *shared = at;
    __syncthreads();
    return *shared;
#endif
  }
};

}  // namespace qe
