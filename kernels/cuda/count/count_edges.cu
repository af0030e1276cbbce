// Counts what two linked vertices have in common: triangles, diamonds, fans.
//
// Problem: sum over roots u and members v of u's outer slice of g(t), t the number of members that u's marked slice and v's
// streamed slice share; g is C(t, k) or t (t-1) ... of QE_TAKEN = k factors.
// Preconditions: lists without repetitions. A team (QE_TEAM_WARP: a warp, else a block) takes a root at a time, marks its
// slice in shared memory (a bitmap over the first ids, a hash table for the others) and looks the streamed lists up in it,
// a list a warp; lists of hubs are rows of bits, joined by AND. A warp that is a team takes several roots at once. Bytes moved: the streamed lists once, from L2 mostly.
// Limit: a look-up takes about 3.5 cycles of shared memory a warp (random banks), a row word one.
// Source: mark arrays (Chiba and Nishizeki 1985), hub bitmaps (Han et al. 2018).
#include "count/count.cuh"
#include "qe/lists.h"

#ifndef QE_TAKEN
#define QE_TAKEN 1     // factors of g
#define QE_ORDERED 0   // 1: C(t, k)
#endif

namespace qe {

#ifdef QE_TEAM_WARP
constexpr uint32_t kMostTeams = 8, kMostRoots = 4;  // of a block; that a team takes at once
#define QE_BOUNDS __launch_bounds__(kMostTeams * kWarp, blocks_each(kMostTeams * kWarp, 5))
#else
constexpr uint32_t kMostRoots = 1;
#define QE_BOUNDS
#endif

struct EdgeTask {
  const uint32_t* roots;
  const uint32_t* n_roots;
  uint32_t* next;
  StopFlag stop;
  View outer, marked, streamed;
  uint32_t base, hub_words;   // rows: ids [base, base + 32 * hub_words)
  uint32_t range;             // ids [base, base + range) are marked in the bitmap, range >= 32 * hub_words
  uint32_t table;             // slots of the hash table for the others, a power of two
  unsigned long long* total;
};

struct Marks {
  uint32_t* bits;
  uint32_t* keys;
  uint32_t base, range, mask;
  const uint32_t* list;  // members past the bitmap, where they are too many for the table
  uint32_t n_list;
  bool rest;

  __device__ bool has(uint32_t id) const {
    const uint32_t at = id - base;
    if (at < range) return bits[at / 32] >> at % 32 & 1;
    if (!rest) return false;
    if (list) return contains(list, n_list, id);
    for (uint32_t slot = id & mask;; slot = (slot + 1) & mask) {
      const uint32_t key = keys[slot];
      if (key == id) return true;
      if (key == kEmpty) return false;
    }
  }
};

__device__ inline uint64_t chosen(uint64_t t) {
  uint64_t product = t;
#pragma unroll
  for (int k = 1; k < QE_TAKEN; ++k) {
    if (t < k + 1) return 0;
    product *= t - k;
    if (QE_ORDERED) product /= k + 1;
  }
  return product;
}

// Takes up what the lanes found of member k's list: as it is where g is the number itself, else for lane k.
__device__ inline void collect(uint32_t shared_by, int k, uint32_t* t, uint64_t* found) {
  if (QE_TAKEN == 1) {
    *found += shared_by;
    return;
  }
  shared_by = sum_over(shared_by);
  if (threadIdx.x % kWarp == k) *t += shared_by;
}

extern "C" __global__ void QE_BOUNDS count_edges(const EdgeTask task) {
  QE_SHARED(uint32_t, shared);
  __shared__ uint32_t piece;
#ifdef QE_TEAM_WARP
  __shared__ uint32_t tallies[kMostTeams][kWarp];
#endif
  const uint32_t words = task.range / 32;
  Marks marks;
  marks.bits = shared + team_in_block() * (words + task.table);
  marks.keys = marks.bits + words;
  marks.base = task.base;
  marks.range = task.range;
  marks.mask = task.table - 1;
  for (uint32_t i = team_rank(); i < words; i += team_size()) marks.bits[i] = 0;
  for (uint32_t i = team_rank(); i < task.table; i += team_size()) marks.keys[i] = kEmpty;
  const uint32_t lane = threadIdx.x % kWarp, n_roots = *task.n_roots;
  const uint32_t each = kMostRoots == 1 ? 1 : max(1u, min(kMostRoots, (n_roots + all_teams() - 1) / all_teams()));
  const uint32_t n_pieces = (n_roots + each - 1) / each;
  Sum sum;
  TeamQueue queue(task.next, n_pieces, task.stop);
  while (true) {
    team_sync();
    const uint32_t at = queue.take(&piece);
    if (at >= n_pieces) break;
    ViewSlice outers{0, 0, 0, 0, 0}, markeds{0, 0, 0, 0, 0};  // of the piece's roots, a lane a root; of its one root
    const auto of = [](uint32_t value, uint32_t r) { return kMostRoots == 1 ? value : __shfl_sync(kFull, value, r); };
    const uint32_t mine = kMostRoots == 1 ? at : at + lane * n_pieces;
    if (mine < n_roots) {
      const uint32_t root = task.roots[mine];
      outers = task.outer.slices[root];
      markeds = task.marked.slices[root];
    }
    for (uint32_t r = 0; r < each; ++r) {
      const uint32_t outer_begin = of(outers.begin, r), n_outer = of(outers.end, r) - outer_begin;
      const uint32_t begin = of(markeds.begin, r), n = of(markeds.end, r) - begin;
      if (n < QE_TAKEN || n_outer == 0) continue;
      const uint32_t* list = task.marked.neighbours + begin;
      marks.rest = list[n - 1] - task.base >= task.range;
      marks.list = nullptr;
      if (marks.rest && 2 * n > task.table) {
        const uint32_t skip = static_cast<uint32_t>(lower_bound(list, n, task.base + task.range));
        if (2 * (n - skip) > task.table) {
          marks.list = list + skip;
          marks.n_list = n - skip;
        }
      }
      for (uint32_t i = team_rank(); i < n; i += team_size()) {
        const uint32_t id = list[i], bit = id - task.base;
        if (bit < task.range) {
          atomicOr(&marks.bits[bit / 32], 1u << bit % 32);
        } else if (!marks.list) {
          uint32_t slot = id & marks.mask;
          while (atomicCAS(&marks.keys[slot], kEmpty, id) != kEmpty) slot = (slot + 1) & marks.mask;
        }
      }
      team_sync();
      uint64_t found = 0;
      const uint32_t step = team_warps();
      for (uint32_t first = team_warp(); first < n_outer; first += kWarp * step) {
        if (queue.stopped_from(first, kWarp * step)) break;
        const uint32_t member = first + lane * step;
        ViewSlice slice{0, 0, 0, 0, 0};
        uint32_t v = 0;
        if (member < n_outer) {
          v = task.outer.neighbours[outer_begin + member];
          slice = task.streamed.slices[v];
        }
        uint32_t t = 0;  // of the lane's own member, where g is no sum
        for (uint32_t left = __ballot_sync(kFull, slice.begin != slice.tail); left != 0; left &= left - 1) {
          const int k = __ffs(left) - 1;
          const uint32_t span = __shfl_sync(kFull, slice.first_word | slice.end_word << 16, k);
          const uint32_t* row = task.streamed.rows + size_t{__shfl_sync(kFull, v, k) - task.base} * task.hub_words;
          uint32_t shared_by = 0;
#pragma unroll 4
          for (uint32_t w = (span & 0xFFFF) + lane; w < span >> 16; w += kWarp) shared_by += __popc(row[w] & marks.bits[w]);
          collect(shared_by, k, &t, &found);
        }
#ifdef QE_TEAM_WARP
        if (are_short(slice.end - slice.tail)) {
          uint32_t* tally = tallies[team_in_block()];
          if (QE_TAKEN > 1) tally[lane] = 0;
          __syncwarp();
          each_id_of_short(task.streamed.neighbours, slice.tail, slice.end, [&](uint32_t k, uint32_t id) {
            if (!marks.has(id)) return;
            if (QE_TAKEN == 1) ++found;
            else atomicAdd(&tally[k], 1u);
          });
          __syncwarp();
          if (QE_TAKEN > 1) found += chosen(t + tally[lane]);
          continue;
        }
#endif
        for (uint32_t left = __ballot_sync(kFull, slice.tail < slice.end); left != 0; left &= left - 1) {
          const int k = __ffs(left) - 1;
          uint32_t shared_by = 0;
          each_id(task.streamed.neighbours, __shfl_sync(kFull, slice.tail, k), __shfl_sync(kFull, slice.end, k), queue.stop,
                  [&](uint32_t id) { shared_by += marks.has(id); });
          collect(shared_by, k, &t, &found);
        }
        if (QE_TAKEN > 1) found += chosen(t);
      }
      sum.add(found);
      team_sync();
      for (uint32_t i = team_rank(); i < n; i += team_size()) {
        const uint32_t bit = list[i] - task.base;
        if (bit < task.range) marks.bits[bit / 32] = 0;
      }
      if (marks.rest && !marks.list)
        for (uint32_t i = team_rank(); i < task.table; i += team_size()) marks.keys[i] = kEmpty;
      if (each > 1) team_sync();
    }
  }
  sum.flush(task.total);
}

}  // namespace qe
