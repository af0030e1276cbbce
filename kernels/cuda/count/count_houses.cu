// Counts houses: a square a, b, c, d and a vertex e linked to a and b, all five different.
//
// Problem: for each root a, n(x) says how many neighbours a and x have in common. For a member b of a's list, with t = n(b),
// the paths from b over c to d and a number P = sum over c in b's list, c other than a, of n(c) - 1 (d other than b). Of the t
// choices of e one is lost where c is in a's list, too, and one where d is in b's; summed over both directions of all edges
// these are the same, so that twice the houses are the sum over directed edges of t P - 2 Q, with Q the part of P whose c
// is in a's list. Counted are the two terms apart. Preconditions: one symmetric list, no loops, no repetitions.
// Counters are an array over [lo, lo + span) (QE_GLOBAL: in global memory, else shared), or for light roots a hash table.
// Bytes moved: each neighbour's list twice. Limit: an addition and a look-up in shared memory for each of their entries.
// Source: inclusion and exclusion over the free vertex (as GraphPi's, Shi et al. 2020).
#include "count/counters.cuh"

namespace qe {

constexpr uint32_t kMember = 0x80000000u;  // the vertex is in the root's list

struct HouseTask {
  const uint32_t* roots;
  const uint32_t* n_roots;
  uint32_t* next;
  StopFlag stop;
  View whole;
  uint32_t* scratch;  // QE_GLOBAL: span words a block, all zero, also afterwards unless the run was stopped
  uint32_t lo, span;
  uint32_t table;     // hashed: slots
  uint32_t unused;
  uint32_t* kept;     // filter: the roots with triangles
  uint32_t* n_kept;
  unsigned long long* total;  // t P (low, high), then Q
};

struct ArrayCounters {
  uint32_t* counts;
  uint32_t lo;

  __device__ uint32_t add(uint32_t id) {
    atomicAdd(&counts[id - lo], 1u);
    return 0;
  }
  __device__ uint32_t& at(uint32_t id) { return counts[id - lo]; }
};

// Calls visit(warp-uniform member b, begin, end of its slice) for the members of the root's list, dealt to the team's warps.
// Ends early when the run is stopped.
template <typename Visit>
__device__ void each_member(const View& whole, const ViewSlice& list, TeamQueue& queue, Visit visit) {
  const uint32_t lane = threadIdx.x % kWarp, n = list.end - list.begin, step = team_warps();
  for (uint32_t first = team_warp(); first < n && !queue.stopped_from(first, kWarp * step); first += kWarp * step) {
    ViewSlice slice{0, 0, 0, 0, 0};
    uint32_t v = 0;
    if (first + lane * step < n) {
      v = whole.neighbours[list.begin + first + lane * step];
      slice = whole.slices[v];
    }
    const uint32_t left = (n - first + step - 1) / step, m = left < kWarp ? left : kWarp;
    for (uint32_t k = 0; k < m; ++k)
      visit(__shfl_sync(kFull, v, k), __shfl_sync(kFull, slice.begin, k), __shfl_sync(kFull, slice.end, k));
  }
}

template <typename Counters>
__device__ void count_root(const HouseTask& task, uint32_t root, const ViewSlice& list, Counters& counters, Sum& all,
                           Sum& lost, TeamQueue& queue) {
  each_member(task.whole, list, queue, [&](uint32_t, uint32_t begin, uint32_t end) {
    each_id(task.whole.neighbours, begin, end, queue.stop, [&](uint32_t c) { counters.add(c); });
  });
  if (queue.team_stopped()) return;  // what one warp has not added others would seek
  // A member that has no neighbour in common with the root has no counter yet: add makes one.
  for (uint32_t j = list.begin + team_rank(); j < list.end; j += team_size()) counters.add(task.whole.neighbours[j]);
  team_sync();
  for (uint32_t j = list.begin + team_rank(); j < list.end; j += team_size())
    counters.at(task.whole.neighbours[j]) += kMember - 1;
  team_sync();
  each_member(task.whole, list, queue, [&](uint32_t b, uint32_t begin, uint32_t end) {
    const uint32_t t = counters.at(b) & ~kMember;
    if (t == 0) return;
    uint64_t paths = 0, through = 0;
    each_id(task.whole.neighbours, begin, end, queue.stop, [&](uint32_t c) {
      const uint32_t counter = counters.at(c);
      const uint32_t more = c == root ? 0 : (counter & ~kMember) - 1;
      paths += more;
      if (counter & kMember) through += more;
    });
    all.add_product(paths, t);
    lost.add(through);
  });
}

#ifndef QE_TEAM_WARP
extern "C" __global__ void count_houses_array(const HouseTask task) {
  QE_SHARED(uint32_t, shared);
  __shared__ uint32_t piece;
#ifdef QE_GLOBAL
  ArrayCounters counters{task.scratch + size_t{blockIdx.x} * task.span, task.lo};
#else
  ArrayCounters counters{shared, task.lo};
  for (uint32_t i = threadIdx.x; i < task.span; i += blockDim.x) shared[i] = 0;
#endif
  const uint32_t n_roots = *task.n_roots;
  Sum all, lost;
  TeamQueue queue(task.next, n_roots, task.stop);
  while (true) {
    team_sync();
    const uint32_t at = queue.take(&piece);
    if (at >= n_roots) break;
    const uint32_t root = task.roots[at];
    const ViewSlice list = task.whole.slices[root];
    count_root(task, root, list, counters, all, lost, queue);
    team_sync();
#ifdef QE_GLOBAL
    each_member(task.whole, list, queue, [&](uint32_t b, uint32_t begin, uint32_t end) {
      for (uint32_t j = begin + threadIdx.x % kWarp; j < end; j += kWarp) counters.at(task.whole.neighbours[j]) = 0;
      counters.at(b) = 0;
    });
#else
    for (uint32_t i = threadIdx.x; i < task.span; i += blockDim.x) shared[i] = 0;
#endif
  }
  all.flush(task.total);
  lost.flush(task.total + 2);
}
#endif

#ifdef QE_TEAM_WARP
// Keeps the roots two of whose members are linked: others have no house. A root of too many members for the table is kept.
extern "C" __global__ void keep_triangular(const HouseTask task) {
  QE_SHARED(uint32_t, shared);
  uint32_t* keys = shared + team_in_block() * task.table;
  const uint32_t mask = task.table - 1, lane = threadIdx.x % kWarp, n_roots = *task.n_roots;
  for (uint32_t i = lane; i < task.table; i += kWarp) keys[i] = kEmpty;
  TeamQueue queue(task.next, n_roots, task.stop);
  while (true) {
    __syncwarp();
    const uint32_t at = queue.take(nullptr);
    if (at >= n_roots) break;
    const uint32_t root = task.roots[at];
    const ViewSlice list = task.whole.slices[root];
    bool found = 2 * (list.end - list.begin) > task.table;
    if (!found) {
      for (uint32_t j = list.begin + lane; j < list.end; j += kWarp) {
        const uint32_t id = task.whole.neighbours[j];
        uint32_t slot = id & mask;
        while (atomicCAS(&keys[slot], kEmpty, id) != kEmpty) slot = (slot + 1) & mask;
      }
      __syncwarp();
      for (uint32_t first = list.begin; first < list.end && !__any_sync(kFull, found); first += kWarp) {
        ViewSlice slice{0, 0, 0, 0, 0};
        if (first + lane < list.end) slice = task.whole.slices[task.whole.neighbours[first + lane]];
        each_id_of_short(task.whole.neighbours, slice.begin, slice.end, [&](uint32_t, uint32_t id) {
          for (uint32_t slot = id & mask; keys[slot] != kEmpty; slot = (slot + 1) & mask) found |= keys[slot] == id;
        });
      }
      __syncwarp();
      for (uint32_t i = lane; i < task.table; i += kWarp) keys[i] = kEmpty;
    }
    if (__any_sync(kFull, found) && lane == 0) task.kept[atomicAdd(task.n_kept, 1u)] = root;
  }
}
#endif

extern "C" __global__ void count_houses_hashed(const HouseTask task) {
  QE_SHARED(uint32_t, shared);
  __shared__ uint32_t piece;
  HashCounters counters(shared + team_in_block() * 2 * task.table, task.table);
  counters.clear();
  const uint32_t n_roots = *task.n_roots;
  Sum all, lost;
  TeamQueue queue(task.next, n_roots, task.stop);
  while (true) {
    team_sync();
    const uint32_t at = queue.take(&piece);
    if (at >= n_roots) break;
    const uint32_t root = task.roots[at];
    count_root(task, root, task.whole.slices[root], counters, all, lost, queue);
    team_sync();
    counters.clear();
  }
  all.flush(task.total);
  lost.flush(task.total + 2);
}

}  // namespace qe
