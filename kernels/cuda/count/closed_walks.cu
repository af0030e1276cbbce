// Closed walks of four and of five steps of one symmetric matrix without numbers, loops and repeats, over all vertices.
//
// Problem: sum over v of A^4[v, v], the same times a weight of v, and sum over v of A^5[v, v]. Each walk is counted at its
// least vertex, the root u (ids are by descending degree, so that little is left beyond hubs). With p[x] = how many
// neighbours beyond u it shares with x, b[x] = 1 for its own neighbours, and g = how many those are, all x beyond u, the walks
// are 4 p[x]^2 for each x, 2 g^2; times weights (w[u] + w[x]) p[x]^2 + 2 p[x] (sum over common neighbours a of w[a]) for each x,
// g (g w[u] + sum over b of w); 10 p[x] p[y] for each linked pair x < y, and 5 g (sum over b of p).
// Hubs come in groups of 32, a lane each. `walks_marks` writes which of a group each vertex neighbours, `walks_reach` adds
// these up over lists: p; `walks_sums` adds products up. When some roots are done `walks_strip` leaves them out: what remains is
// the same problem of a smaller matrix, whose vertices are numbered anew. When lists are short the rest is counted a block a
// root: roots of few paths by a hash table in shared memory (`walks_light`), others by an array over all vertices whose touched
// places are listed (`walks_heavy`).
// Preconditions: fewer than 2^32 entries; as said of each kernel. Launch: blocks of whole warps; a warp takes windows of kWindowEntries
// entries, whatever rows they belong to. Bytes moved for a group: 4 an entry and its mark at random; a row of 128 for each
// linked pair both of whom are reached, from L2 as far as it goes; for a root of the rest 4 at random for each link that is
// reached. Deterministic.
// Sources: Chiba and Nishizeki 1985 (walks at their vertex of the highest degree), Aktulga et al. 2014 (many vectors at once).
#include "base/grid.cuh"
#include "count/ways.cuh"
#include "qe/lists.h"
#include "qe/match_plan.h"

using namespace qe;
using namespace qe::eliminate;

namespace {

constexpr uint64_t kWindowEntries = 512;

// A matrix without empty rows. Row v is ids[offsets[v], offsets[v + 1]).
struct Remains {
  uint64_t* offsets;
  uint32_t* ids;
  uint32_t* heads;    // bit e % 32 of word e / 32: entry e begins a row
  uint32_t* firsts;   // of window w: the row of its first entry
  uint32_t* weights;  // of each vertex, or null
  uint64_t n, n_entries;
};

// What `walks_strip` needs besides. arrived, stopped, sizes are clear.
struct Strip {
  uint64_t* begins;  // where a row's entries that stay begin
  uint32_t* names;   // of each vertex that may stay, its new number
  uint64_t* sums;    // a number a block
  uint64_t* sizes;   // vertices that stay, entries, the sum over rows of entries squared
  uint32_t *arrived, *stopped;
  StopFlag stop;
};

// What walks are counted with. Roots are [first, first + n_roots), 32 a group.
struct Group {
  uint32_t* marks;    // bit k of [g * n + v]: v is a neighbour, and greater, of root 32 g + k
  uint32_t* reached;  // p of root 32 g + k at [(g * n + v) * 32 + k], if `any`
  uint32_t* any;      // bit v % 32 of [g * (n / 32 + 1) + v / 32]: v is reached by one of the group
  uint32_t* greater;  // of each root, how many neighbours are greater
  uint64_t* sums;     // three of two words: 2 p^2 + b g; (w[u] + w[x]) (p^2 + b g) + 2 p (sum of w); 2 p p + b p g
  StopFlag stop;
  uint32_t first, n_groups, n_roots;
  uint32_t fives;     // are walks of five steps asked for?
};

// What the rest is counted with: roots of few paths by a table of `slots`, a power of two, in shared memory; `left` gets the
// others, which have an array in global memory.
struct Rest {
  uint32_t* reached;  // n for each block: p, clear before and after
  uint32_t* touched;  // n for each block
  uint64_t* sums;     // as of `Group`
  uint32_t *left, *n_left;
  uint32_t slots, fives;
};

struct RestShared {
  uint64_t root;
  unsigned long long paths;
  uint32_t touched;
};

// p in an array over all vertices, whose touched places are listed.
struct WaysArray {
  uint32_t *reached, *touched;
  uint32_t* n_touched;  // in shared memory

  __device__ void add(uint32_t id) {
    if (atomicAdd(&reached[id], 1u) == 0) touched[atomicAdd(n_touched, 1u)] = id;
  }
  __device__ uint32_t get(uint32_t id) const { return reached[id]; }
  __device__ uint32_t size() const { return *n_touched; }
  __device__ uint32_t id(uint32_t i) const { return touched[i]; }
  __device__ uint32_t count(uint32_t i) const { return reached[touched[i]]; }
  __device__ void clear(uint32_t i) { reached[touched[i]] = 0; }
};

__device__ uint32_t* any_of(const Remains& m, const Group& group, uint32_t g) { return group.any + g * (m.n / kLanes + 1); }

// Adds what each lane has found to sums, by the whole warp.
__device__ void flush(U128Sum (&found)[3], uint64_t* sums) {
  for (int k = 0; k < 3; ++k) {
    found[k].gather();
    const uint64_t words[2] = {found[k].low, found[k].high};
    if (lane_id() == 0) add_together(sums + 2 * k, words, 2);
  }
}

// Calls each warp with windows of each group, until it is stopped: call(group, window).
template <typename Call>
__device__ void each_window(const Remains& m, const Group& group, Call call) {
  const uint32_t n_groups = group.n_groups;
  Stop stop(group.stop);
  const uint64_t windows = (m.n_entries + kWindowEntries - 1) / kWindowEntries, warps = uint64_t{gridDim.x} * blockDim.x / kLanes;
  for (uint64_t i = thread_id() / kLanes; i < windows * n_groups && !stop.warp(); i += warps)
    call(static_cast<uint32_t>(i / windows), i % windows);
}

// Goes through a window row by row. begin(row, from its first entry on?); load(row, heads, id), 32 entries at a time: the id of
// each lane's, kNoVertex beyond the end, and where rows begin; take(which of these are the row's); end(row, all of it?).
template <typename Begin, typename Load, typename Take, typename End>
__device__ void go_through(const Remains& m, uint64_t window, Begin begin, Load load, Take take, End end) {
  const uint64_t first = window * kWindowEntries, last = min(first + kWindowEntries, m.n_entries);
  uint32_t row = m.firsts[window];
  bool headed = m.heads[first / kLanes] & 1;
  begin(row, headed);
  for (uint64_t at = first; at < last; at += kLanes) {
    uint32_t heads = m.heads[at / kLanes];
    if (at == first) heads &= ~1u;
    load(row, heads, at + lane_id() < last ? m.ids[at + lane_id()] : kNoVertex);
    uint32_t rest = kAllLanes;
    for (; heads != 0; heads &= heads - 1) {
      const uint32_t before = (heads & (0u - heads)) - 1;
      take(rest & before);
      end(row, headed);
      rest = ~before;
      headed = true;
      begin(++row, true);
    }
    take(rest);
  }
  end(row, headed && (last == m.n_entries || (m.heads[last / kLanes] & 1)));
}

}  // namespace

// Makes `to`: what is left of `from` when vertices less than `roots` are left out, and then those that have no entries. `from`
// has its first id at lo; of it, only offsets, ids and weights are read. to.heads are clear. A cooperative launch, of blocks with
// shared memory for kBlockWords words.
extern "C" __global__ void walks_strip(const Remains from, uint32_t lo, uint32_t roots, const Remains to, const Strip strip) {
  QE_SHARED(uint32_t, shared);
  Grid grid(strip.arrived, strip.stopped, strip.stop, reinterpret_cast<uint64_t*>(shared));
  const uint64_t n = from.n - roots;
  uint64_t squares = 0;
  const auto again = [&](uint64_t v) -> uint64_t {
    const uint64_t size = from.offsets[roots + v + 1] - strip.begins[v];
    return size > 0 ? uint64_t{1} << 32 | size : 0;
  };
  const auto count = [&](uint64_t v) {
    const uint64_t begin = from.offsets[roots + v], size = from.offsets[roots + v + 1] - begin;
    strip.begins[v] = begin + lower_bound(from.ids + begin, size, lo + roots);
    return again(v);
  };
  const auto write = [&](uint64_t v, uint64_t own, uint64_t before) {
    const uint32_t name = static_cast<uint32_t>(before >> 32);
    const uint64_t at = static_cast<uint32_t>(before), size = static_cast<uint32_t>(own);
    strip.names[v] = size > 0 ? name : kNoVertex;
    if (size > 0) {
      to.offsets[name] = at;
      if (from.weights) to.weights[name] = from.weights[roots + v];
      atomicOr(&to.heads[at / kLanes], 1u << at % kLanes);
      for (uint64_t w = (at + kWindowEntries - 1) / kWindowEntries; w * kWindowEntries < at + size; ++w) to.firsts[w] = name;
      squares += size * size;
    }
    if (v + 1 < n) return;
    strip.sizes[0] = name + (size > 0);
    strip.sizes[1] = to.offsets[name + (size > 0)] = at + size;
  };
  if (!grid.scan(n, strip.sums, count, again, write)) return;
  squares = sum_over(squares);
  if (lane_id() == 0) atomicAdd(reinterpret_cast<unsigned long long*>(&strip.sizes[2]), static_cast<unsigned long long>(squares));
  if (!grid.meet()) return;
  const uint64_t warps = uint64_t{gridDim.x} * blockDim.x / kLanes;
  for (uint64_t v = thread_id() / kLanes; v < n && !grid.stop().warp(); v += warps) {
    const uint32_t name = strip.names[v];
    if (name == kNoVertex) continue;
    const uint64_t begin = strip.begins[v], size = from.offsets[roots + v + 1] - begin, at = to.offsets[name];
    in_parts(uint64_t{0}, size, grid.stop(), [&](uint64_t first, uint64_t last) {
#pragma unroll 4
      for (uint64_t i = first + lane_id(); i < last; i += kLanes) to.ids[at + i] = strip.names[from.ids[begin + i] - lo - roots];
    });
  }
}

// Marks the neighbours of roots, a block each, and clears `reached` of rows that windows cut; marks, any, greater are clear.
extern "C" __global__ void walks_marks(const Remains m, const Group group) {
  const uint64_t cut = (m.n_entries + kWindowEntries - 1) / kWindowEntries * kLanes, threads = uint64_t{gridDim.x} * blockDim.x;
  for (uint64_t i = thread_id(); i < cut * group.n_groups; i += threads)
    group.reached[(i / cut * m.n + m.firsts[i % cut / kLanes]) * kLanes + i % kLanes] = 0;
  const uint32_t root = group.first + blockIdx.x;
  const uint64_t last = m.offsets[root + 1];
  uint32_t* marks = group.marks + blockIdx.x / kLanes * m.n;
  uint32_t found = 0;
  Stop stop(group.stop);
  each_part({m.offsets[root], last}, stop, [&](const Span& part) {
    for (uint64_t e = part.begin + threadIdx.x; e < part.end; e += blockDim.x) {
      const uint32_t v = m.ids[e];
      if (v < root) continue;
      atomicOr(&marks[v], 1u << blockIdx.x % kLanes);
      ++found;
    }
  });
  found = sum_over(found);
  if (lane_id() == 0 && found > 0) atomicAdd(&group.greater[blockIdx.x], found);
}

// Counts common neighbours.
extern "C" __global__ void __launch_bounds__(256, qe::blocks_each(256, 6)) walks_reach(const Remains m, const Group group) {
  const uint32_t lane = lane_id();
  each_window(m, group, [&](uint32_t g, uint64_t window) {
    const uint32_t* marks = group.marks + g * m.n;
    uint32_t* reached = group.reached + g * m.n * kLanes + lane;
    uint32_t* any = any_of(m, group, g);
    const uint32_t root = group.first + g * kLanes + lane;
    uint32_t mark = 0, live = 0, found = 0;
    go_through(
        m, window, [](uint32_t, bool) {},
        [&](uint32_t, uint32_t, uint32_t id) {
          mark = id == kNoVertex ? 0 : marks[id];
          live = __ballot_sync(kAllLanes, mark != 0);
        },
        [&](uint32_t part) {
          for (uint32_t left = live & part; left != 0; left &= left - 1)
            found += __shfl_sync(kAllLanes, mark, __ffs(left) - 1) >> lane & 1;
        },
        [&](uint32_t row, bool all) {
          if (row <= root) found = 0;
          if (__any_sync(kAllLanes, found != 0)) {
            if (lane == 0) atomicOr(&any[row / kLanes], 1u << row % kLanes);
            if (all) reached[uint64_t{row} * kLanes] = found;
            else if (found != 0) atomicAdd(&reached[uint64_t{row} * kLanes], found);
          }
          found = 0;
        });
  });
}

// Adds products up.
extern "C" __global__ void __launch_bounds__(256, 4) walks_sums(const Remains m, const Group group) {
  const uint32_t lane = lane_id();
  U128Sum found[3];
  U128Sum &fours = found[0], &weighted = found[1], &fives = found[2];
  each_window(m, group, [&](uint32_t g, uint64_t window) {
    const uint32_t* marks = group.marks + g * m.n;
    const uint32_t* reached = group.reached + g * m.n * kLanes + lane;
    const uint32_t* is_reached = any_of(m, group, g);
    const uint32_t root = g * kLanes + lane;
    const uint64_t greater = group.greater[root];
    const uint64_t heavy = m.weights && greater > 0 ? m.weights[group.first + root] : 0;
    uint32_t ids = 0, beyond = 0, mark = 0, marked = 0, weight = 0;
    uint64_t own = 0, others = 0, weights = 0;  // of the row: p, the sum of p beyond it, of its neighbours' weights
    bool any = false;
    go_through(
        m, window,
        [&](uint32_t row, bool headed) {
          any = has_bit(is_reached, row);
          own = any ? reached[uint64_t{row} * kLanes] : 0;
          others = weights = 0;
          const uint32_t linked = headed ? marks[row] : 0;
          if (!headed || (!any && linked == 0)) return;
          const uint64_t back = linked >> lane & 1 ? greater : 0, both = own * own + back;
          fours.add({own * own, 0});
          fours.add({both, 0});
          fives.add_product(own, back);
          if (m.weights) weighted.add_product(heavy + m.weights[row], both);
        },
        [&](uint32_t row, uint32_t heads, uint32_t id) {
          const uint32_t upto = (2u << lane) - 1;
          ids = id;
          beyond = __ballot_sync(kAllLanes, group.fives && id != kNoVertex && id > row + __popc(heads & upto) &&
                                                    has_bit(is_reached, id));
          if (!m.weights) return;
          mark = id == kNoVertex ? 0 : marks[id];
          weight = mark == 0 ? 0 : m.weights[id];
          marked = __ballot_sync(kAllLanes, mark != 0);
        },
        [&](uint32_t part) {
          if (!any) return;
          for (uint32_t left = beyond & part; left != 0;) {
            uint32_t more[4];
#pragma unroll
            for (int i = 0; i < 4; ++i, left &= left - 1) {
              const uint32_t id = __shfl_sync(kAllLanes, ids, left != 0 ? __ffs(left) - 1 : 0);
              more[i] = left != 0 ? reached[uint64_t{id} * kLanes] : 0;
            }
#pragma unroll
            for (int i = 0; i < 4; ++i) others += more[i];
          }
          for (uint32_t left = m.weights ? marked & part : 0; left != 0; left &= left - 1) {
            const uint64_t one = __shfl_sync(kAllLanes, weight, __ffs(left) - 1);
            if (__shfl_sync(kAllLanes, mark, __ffs(left) - 1) >> lane & 1) weights += one;
          }
        },
        [&](uint32_t, bool) {
          if (!any) return;
          fives.add_product(2 * own, others);
          if (m.weights) weighted.add_product(2 * own, weights);
        });
  });
  flush(found, group.sums);
}

namespace {

__device__ inline Span entries_beyond(const Remains& m, uint32_t v, uint32_t least) {
  const uint64_t begin = m.offsets[v], end = m.offsets[v + 1];
  return {begin + lower_bound(m.ids + begin, end - begin, least + 1), end};
}

// Adds the walks of one root with these neighbours beyond it up, by the whole block. `ways` is empty before and after.
template <typename Ways>
__device__ void add_walks(const Remains& m, uint32_t root, const Span& neighbours, bool is_fives, Ways& ways, U128Sum (&found)[3],
                          Stop& stop) {
  U128Sum &fours = found[0], &weighted = found[1], &fives = found[2];
  const uint32_t lane = lane_id();
  const uint64_t greater = neighbours.size(), heavy = m.weights ? m.weights[root] : 0;
  const auto beyond_root = [&](uint64_t e) { return entries_beyond(m, m.ids[e], root); };
  stop.warp();  // warps that take nothing look, too
  each_list_of(neighbours, stop, beyond_root, [&](int, const Span& part, int place, int team) {
    for (uint64_t at = part.begin + place; at < part.end; at += team) ways.add(m.ids[at]);
  });
  __syncthreads();
  for (uint64_t e = neighbours.begin + threadIdx.x; e < neighbours.end && !stop.thread(); e += blockDim.x) {
    fours.add({greater, 0});
    if (is_fives) fives.add_product(ways.get(m.ids[e]), greater);
    if (m.weights) weighted.add_product(heavy + m.weights[m.ids[e]], greater);
  }
  uint64_t twice = 0;  // the weight of the lane's neighbour
  if (m.weights)
    each_list_of(
        neighbours, stop,
        [&](uint64_t e) {
          twice = uint64_t{2} * m.weights[m.ids[e]];
          return beyond_root(e);
        },
        [&](int k, const Span& part, int place, int team) {
          const uint64_t theirs = __shfl_sync(kAllLanes, twice, k);
          uint64_t sum = 0;
          for (uint64_t at = part.begin + place; at < part.end; at += team) sum += ways.get(m.ids[at]);
          weighted.add_product(theirs, sum);
        });
  const uint32_t n = ways.size();
  for (uint32_t first = threadIdx.x - lane; first < n && !stop.warp(); first += blockDim.x) {
    const uint32_t id = first + lane < n ? ways.id(first + lane) : kNoVertex;
    const uint64_t p = id != kNoVertex ? ways.count(first + lane) : 0;
    fours.add({p * p, 0});
    fours.add({p * p, 0});
    if (m.weights && p > 0) weighted.add_product(heavy + m.weights[id], p * p);
    if (!is_fives) continue;
    each_list(p > 0 ? entries_beyond(m, id, id) : Span{}, [&](int k, const Span& list, int place, int team) {
      const uint64_t theirs = __shfl_sync(kAllLanes, 2 * p, k);
      uint64_t sum = 0;
      each_part(list, stop, [&](const Span& part) {
        for (uint64_t at = part.begin + place; at < part.end; at += team) sum += ways.get(m.ids[at]);
      });
      fives.add_product(theirs, sum);
    });
  }
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < n; i += blockDim.x) ways.clear(i);
}

}  // namespace

// Adds up for roots of few paths, and lists the others. Shared memory: RestShared and 8 bytes for each slot.
extern "C" __global__ void __launch_bounds__(256) walks_light(const Remains m, const Rest rest, const WorkQueue queue) {
  QE_SHARED(uint32_t, shared);
  RestShared& own = *reinterpret_cast<RestShared*>(shared);
  WaysTable table(shared + sizeof(RestShared) / 4, rest.slots);
  table.clear();
  WorkTaker taker(queue, m.n);
  U128Sum found[3];
  while (true) {
    if (threadIdx.x == 0) own.root = taker.take(1), own.paths = 0;
    __syncthreads();
    if (own.root >= m.n) break;
    const uint32_t root = static_cast<uint32_t>(own.root);
    const Span neighbours = entries_beyond(m, root, root);
    taker.stop().warp();  // warps that take nothing look, too
    uint64_t paths = 0;
    for (uint64_t e = neighbours.begin + threadIdx.x; e < neighbours.end && !taker.stop().thread(); e += blockDim.x)
      paths += m.offsets[m.ids[e] + 1] - m.offsets[m.ids[e]];
    paths = sum_over(paths);
    if (lane_id() == 0 && paths > 0) atomicAdd(&own.paths, static_cast<unsigned long long>(paths));
    __syncthreads();
    paths = own.paths;
    if (paths > table.room()) {
      if (threadIdx.x == 0) rest.left[atomicAdd(rest.n_left, 1u)] = root;
    } else if (paths > 0) {
      table.fit(static_cast<uint32_t>(paths));
      add_walks(m, root, neighbours, rest.fives, table, found, taker.stop());
    }
    __syncthreads();
  }
  flush(found, rest.sums);
}

// The same for those that are left: reached is clear. Blocks have shared memory for RestShared.
extern "C" __global__ void __launch_bounds__(512) walks_heavy(const Remains m, const Rest rest, const WorkQueue queue) {
  QE_SHARED(uint32_t, shared);
  RestShared& own = *reinterpret_cast<RestShared*>(shared);
  WaysArray ways{rest.reached + blockIdx.x * m.n, rest.touched + blockIdx.x * m.n, &own.touched};
  const uint64_t n = *rest.n_left;
  WorkTaker taker(queue, n);
  U128Sum found[3];
  while (true) {
    if (threadIdx.x == 0) own.root = taker.take(1), own.touched = 0;
    __syncthreads();
    if (own.root >= n) break;
    const uint32_t root = rest.left[own.root];
    add_walks(m, root, entries_beyond(m, root, root), rest.fives, ways, found, taker.stop());
    __syncthreads();
  }
  flush(found, rest.sums);
}
