// Counts ways round a square: two levels b and c with the same candidates, and a level d that is a neighbour of both.
//
// Problem: for each root u, the members v of its outer slice each give their inner slice; n(d) says in how many of these d
// comes. Counted is the sum over d of C(n, 2) (QE_PAIRS 0: each pair once), n (n-1) (1: different) or n n (2: any).
// Heavy roots count in shared memory, one tile of ids at a time (a piece of work is a root and a tile), light ones in a hash
// table. QE_PACKED: two 16-bit counters a word, for roots of fewer than 2^16 members. QE_SEARCHED: lists have no cuts where
// tiles begin, which are looked for: a piece is then a root and so many tiles, and each thread keeps where its first member's
// list goes on. QE_OVER_LINK: roots' lists are in the host's memory.
// Preconditions: lists without repetitions. Bytes moved: each inner slice once a root. Limit: one addition in shared memory a
// wedge, about 5 cycles for 32 of them. With ids by descending degree and u the least id of the square, wedges are few.
// Source: priority wedge counting (Chiba and Nishizeki 1985; Wang et al., VLDB 2019).
#include "count/counters.cuh"
#include "qe/lists.h"

#ifndef QE_PAIRS
#define QE_PAIRS 0
#endif

namespace qe {

struct WedgeTask {
  const uint32_t* roots;
  const uint32_t* n_roots;
  uint32_t* next;
  StopFlag stop;
  View outer, inner;
  const uint32_t* cuts;      // tiled: where tile k of vertex v's inner slice begins, at [v * (tiles + 1) + k]
  uint32_t lo, tile, tiles;  // tile k: ids [lo + k * tile, lo + (k + 1) * tile)
  uint32_t table;            // hashed: slots, a power of two, more than the wedges of a root
  int32_t bound;             // d is greater than the root (1), less (-1), or neither
  int32_t apart;             // 1: d is not the root
  unsigned long long* total;
};

__device__ inline uint64_t pairs_of(uint64_t n) {
  return QE_PAIRS == 0 ? n * (n - 1) / 2 : QE_PAIRS == 1 ? n * (n - 1) : n * n;
}

// What the n-th addition, which found n - 1 before, adds to pairs_of.
__device__ inline uint64_t pairs_more(uint64_t before) {
  return QE_PAIRS == 0 ? before : QE_PAIRS == 1 ? 2 * before : 2 * before + 1;
}

// Where each tile begins in each vertex's slice.
extern "C" __global__ void cut_tiles(View inner, uint32_t first, uint32_t end, uint32_t lo, uint32_t tile, uint32_t tiles,
                                     uint32_t* cuts) {
  const uint32_t v = first + blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= end) return;
  const ViewSlice slice = inner.slices[v];
  uint32_t at = slice.begin;
  uint32_t* to = cuts + size_t{v} * (tiles + 1);
  for (uint32_t k = 0; k < tiles; ++k) {
    if (k > 0 && at < slice.end) at += static_cast<uint32_t>(lower_bound(inner.neighbours + at, slice.end - at, lo + k * tile));
    to[k] = at;
  }
  to[tiles] = slice.end;
}

// Of the members of a list that a team takes at a time, a warp takes those from first_member() on, member_step() apart: so the
// longest lists, which come first, are dealt out; or neighbouring ones, for which it takes one request over the link, not 32.
#ifdef QE_OVER_LINK
__device__ inline uint32_t first_member() { return team_warp() * kWarp; }
__device__ inline uint32_t member_step() { return 1; }
#else
__device__ inline uint32_t first_member() { return team_warp(); }
__device__ inline uint32_t member_step() { return team_warps(); }
#endif

// The part of a slice that the root's bound admits.
__device__ inline uint2 bounded(const uint32_t* neighbours, uint32_t begin, uint32_t end, uint32_t root, int32_t bound) {
  if (bound == 0 || begin == end) return {begin, end};
  const uint32_t n = end - begin;
  const uint32_t* list = neighbours + begin;
  if (bound > 0) return {list[0] > root ? begin : begin + static_cast<uint32_t>(lower_bound(list, n, root + 1)), end};
  return {begin, list[n - 1] < root ? end : begin + static_cast<uint32_t>(lower_bound(list, n, root))};
}

// The part of a list with ids from `lo` to less than `hi`.
__device__ inline uint2 within(const uint32_t* neighbours, uint32_t begin, uint32_t end, uint32_t lo, uint32_t hi) {
  if (begin == end) return {begin, end};
  const uint32_t* list = neighbours + begin;
  const uint32_t n = end - begin;
  const uint32_t skip = list[0] >= lo ? 0 : static_cast<uint32_t>(lower_bound(list, n, lo));
  return {begin + skip, list[n - 1] < hi ? end : begin + static_cast<uint32_t>(lower_bound(list, n, hi))};
}

#ifndef QE_TEAM_WARP
extern "C" __global__ void count_wedges_tiled(const WedgeTask task) {
  QE_SHARED(uint32_t, counters);
  __shared__ uint32_t piece;
#ifdef QE_PACKED
  const uint32_t words = (task.tile + 1) / 2;
#else
  const uint32_t words = task.tile;
#endif
  const uint32_t lane = threadIdx.x % kWarp, taken = kWarp * team_warps();
#ifdef QE_SEARCHED
  const uint32_t run = min(task.tiles, uint32_t{QE_SEARCHED});  // the root's first members are read once for these
#else
  const uint32_t run = 1;
#endif
  const uint32_t runs = (task.tiles + run - 1) / run, n_pieces = *task.n_roots * runs;
  for (uint32_t i = threadIdx.x; i < words; i += blockDim.x) counters[i] = 0;
  Sum sum;
  TeamQueue queue(task.next, n_pieces, task.stop);
  while (true) {
    __syncthreads();
    const uint32_t at = queue.take(&piece);
    if (at >= n_pieces) break;
    const uint32_t root = task.roots[at / runs], tile_end = min(task.tiles, (at % runs + 1) * run);
    const ViewSlice outer = task.outer.slices[root];
    const uint32_t n = outer.end - outer.begin;
#ifdef QE_SEARCHED
    uint2 rest{0, kEmpty};  // of the list of the thread's first member: what is in this tile and those behind it
#endif
    for (uint32_t tile = at % runs * run; tile < tile_end; ++tile) {
      const uint32_t lo = task.lo + tile * task.tile;
      if (task.bound > 0 && root + 1 >= lo + task.tile) continue;
      if (task.bound < 0 && root <= lo) continue;
      if (run > 1 && queue.team_stopped()) break;
      const bool cut = root - lo < task.tile;
      for (uint32_t first = first_member(); first < n && !queue.stopped_from(first, taken); first += taken) {
        uint2 part{0, 0};
        if (first + lane * member_step() < n) {
#ifdef QE_SEARCHED
          const bool again = first == first_member() && rest.y != kEmpty;
          if (again) {
            part = rest;
          } else {
            const ViewSlice slice = task.inner.slices[task.outer.neighbours[outer.begin + first + lane * member_step()]];
            part = {slice.begin, slice.end};
          }
          const uint32_t end = part.y;
          if (task.tiles > 1) part = within(task.inner.neighbours, part.x, part.y, lo, lo + task.tile);
          if (first == first_member()) rest = {part.y, end};
#else
          const uint32_t v = task.outer.neighbours[outer.begin + first + lane * member_step()];
          const uint32_t* cuts = task.cuts + size_t{v} * (task.tiles + 1) + tile;
          part = {cuts[0], cuts[1]};
#endif
          if (cut) part = bounded(task.inner.neighbours, part.x, part.y, root, task.bound);
        }
        const auto count = [&](uint32_t id) {
          const uint32_t place = id - lo;
#ifdef QE_PACKED
          atomicAdd(&counters[place / 2], 1u << place % 2 * 16);
#else
          atomicAdd(&counters[place], 1u);
#endif
        };
        if (are_short(part.y - part.x)) {
          each_id_of_short(task.inner.neighbours, part.x, part.y, [&](uint32_t, uint32_t id) { count(id); });
          continue;
        }
        for (uint32_t left = __ballot_sync(kFull, part.x < part.y); left != 0; left &= left - 1) {
          const int k = __ffs(left) - 1;
          each_id(task.inner.neighbours, __shfl_sync(kFull, part.x, k), __shfl_sync(kFull, part.y, k), queue.stop, count);
        }
      }
      __syncthreads();
      if (task.apart && cut && threadIdx.x == 0) {
        const uint32_t place = root - lo;
#ifdef QE_PACKED
        counters[place / 2] &= 0xFFFF0000u >> place % 2 * 16;
#else
        counters[place] = 0;
#endif
      }
      if (task.apart && cut) __syncthreads();
      uint64_t found = 0;
      for (uint32_t i = threadIdx.x; i < words / 4; i += blockDim.x) {
        const uint4 four = reinterpret_cast<uint4*>(counters)[i];
        if ((four.x | four.y | four.z | four.w) == 0) continue;
        reinterpret_cast<uint4*>(counters)[i] = {0, 0, 0, 0};
        const uint32_t each[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int k = 0; k < 4; ++k) {
#ifdef QE_PACKED
          found += pairs_of(each[k] & 0xFFFF) + pairs_of(each[k] >> 16);
#else
          found += pairs_of(each[k]);
#endif
        }
      }
      sum.add(found);
    }
  }
  sum.flush(task.total);
}
#endif

extern "C" __global__ void count_wedges_hashed(const WedgeTask task) {
  QE_SHARED(uint32_t, shared);
  __shared__ uint32_t piece;
  HashCounters counters(shared + team_in_block() * 2 * task.table, task.table);
  const uint32_t lane = threadIdx.x % kWarp, n_roots = *task.n_roots;
  counters.clear();
  Sum sum;
  TeamQueue queue(task.next, n_roots, task.stop);
  while (true) {
    team_sync();
    const uint32_t at = queue.take(&piece);
    if (at >= n_roots) break;
    const uint32_t root = task.roots[at];
    const ViewSlice outer = task.outer.slices[root];
    const uint32_t n = outer.end - outer.begin, taken = kWarp * team_warps();
    uint64_t found = 0;
    for (uint32_t first = first_member(); first < n && !queue.stopped_from(first, taken); first += taken) {
      uint2 part{0, 0};
      if (first + lane * member_step() < n) {
        const ViewSlice slice = task.inner.slices[task.outer.neighbours[outer.begin + first + lane * member_step()]];
        part = bounded(task.inner.neighbours, slice.begin, slice.end, root, task.bound);
      }
      each_id_of_short(task.inner.neighbours, part.x, part.y, [&](uint32_t, uint32_t id) {
        if (!task.apart || id != root) found += pairs_more(counters.add(id));
      });
    }
    sum.add(found);
    team_sync();
    counters.clear();
  }
  sum.flush(task.total);
}

}  // namespace qe
