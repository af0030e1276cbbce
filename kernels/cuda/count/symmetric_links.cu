// Which neighbours of each vertex are linked, in one symmetric matrix without numbers, loops and repeats; and the ways along
// it from what two linked vertices have in common.
//
// Problem: with S(a, b) the common neighbours of a linked pair, `links_*` write S(c, y) for each root c and neighbour y as what
// neighbours_* (eliminate_neighbours.cu) write, given how many each pair has: the triangles of the pair. A pair is looked
// at once: the neighbours of its lesser id y are marked, the list of its greater id c, which is the shorter one (ids are by
// descending degree), is read, and each hit is written for both roots.
// `link_squares` adds up, for each linked pair (a, b), sum over z of |S(a, b) and N(z)|^2 = sum over x, x' in S(a, b) of W[x, x'],
// where W[x, x'] is how many neighbours x and x' share: a block makes the row of W of one x in shared memory, for x' < x, and
// sums it over the S(a, b) of all pairs that x is linked to.
// Preconditions: fewer than 2^32 entries; as said of each kernel. Launch: as many blocks of whole warps as run at a time. Bytes
// moved: `links_*`: d(c) ids for each pair with links, and each link once; `link_squares`: a counter for each path of two steps
// whose ends are x' < x, and 4 for each x' < x in each S(a, b) that has x. Deterministic.
// Sources: Schank and Wagner 2005; Chiba and Nishizeki 1985; Gustavson 1978 (rows of a product).
#include "count/ways.cuh"
#include "qe/lists.h"

using namespace qe;
using namespace qe::eliminate;

namespace {

constexpr uint32_t kRoughMarks = 1 << 16;   // of a block, by the last bits of ids that have none of their own
constexpr uint32_t kWarpMarks = 1 << 13;    // of a warp, all of them rough
constexpr uint32_t kRootsTaken = 32;        // at a time
constexpr uint32_t kListsEach = 8;          // between two looks at the stop flag
constexpr uint64_t kNoPair = ~uint64_t{0};

// The pairs of some roots are the entries [from, to) of the matrix, numbered from 0. offsets[k]: where the links of pair k begin
// in `ids`, which are numbers of pairs.
struct SymmetricLinks {
  Matrix matrix;
  const uint32_t* owners;  // of each entry of the matrix, its row
  const uint32_t* counts;  // of each entry whose id is less than its row, the triangles
  uint64_t* offsets;
  uint32_t* ids;
  uint64_t from, to;
  uint32_t few;            // entries of a root's row that a warp takes
  uint32_t exact;          // the first so many ids have marks of their own in a block, a multiple of 32

  __device__ bool has(uint64_t entry) const { return from <= entry && entry < to; }
};

// `ends`: of each link the vertex that it leads to. out: a number for each pair; `lesser`: only for those whose second id is less
// than the first. begin, end: the places of the x. counters: of shared memory.
struct LinkSquares {
  SymmetricLinks links;
  const uint32_t* ends;
  Number* out;
  uint32_t begin, end, counters, lesser;
};

__device__ inline uint64_t entry_of(const Matrix& m, const Span& at, uint32_t v) {
  return at.begin + lower_bound(m.ids + at.begin, at.size(), v);
}

// Marks of one root's neighbours, by a team of threads: where in its row a vertex stands.
class MarkedRow {
 public:
  // words: 2 * exact / 32 and rough / 32.
  __device__ MarkedRow(const Matrix& m, uint32_t* words, uint32_t exact, uint32_t rough)
      : m_(m), bits_(words), before_(words + exact / 32), rough_(words + exact / 16), n_exact_(exact), n_rough_(rough) {}

  __device__ void clear(uint32_t first, uint32_t step) {
    for (uint32_t i = first; i < n_exact_ / 32; i += step) bits_[i] = 0;
    for (uint32_t i = first; i < n_rough_ / 32; i += step) rough_[i] = 0;
  }
  __device__ void mark(const Span& at, uint32_t first, uint32_t step, Stop& stop) {
    at_ = at;
    for (uint64_t e = at.begin + first; e < at.end && !stop.thread(); e += step) {
      const uint32_t id = m_.ids[e] - m_.lo;
      if (id < n_exact_) {
        atomicOr(&bits_[id / 32], 1u << id % 32);
        if (e == at.begin || (m_.ids[e - 1] - m_.lo) / 32 != id / 32) before_[id / 32] = static_cast<uint32_t>(e - at.begin);
      } else {
        atomicOr(&rough_[id % n_rough_ / 32], 1u << id % 32);
      }
    }
  }
  __device__ void unmark(uint32_t first, uint32_t step, Stop& stop) {
    for (uint64_t e = at_.begin + first; e < at_.end && !stop.thread(); e += step) {
      const uint32_t id = m_.ids[e] - m_.lo;
      (id < n_exact_ ? bits_[id / 32] : rough_[id % n_rough_ / 32]) = 0;
    }
  }
  // The entry of the root's row that is v; kNoPair if it is none.
  __device__ uint64_t find(uint32_t v) const {
    const uint32_t id = v - m_.lo;
    if (id < n_exact_) {
      const uint32_t word = bits_[id / 32];
      return word >> id % 32 & 1 ? at_.begin + before_[id / 32] + __popc(word & ((1u << id % 32) - 1)) : kNoPair;
    }
    if (!has_bit(rough_, id % n_rough_)) return kNoPair;
    const uint64_t e = entry_of(m_, at_, v);
    return e < at_.end && m_.ids[e] == v ? e : kNoPair;
  }

 private:
  const Matrix& m_;
  uint32_t *bits_, *before_, *rough_;
  uint32_t n_exact_, n_rough_;
  Span at_;
};

// Writes the links of pairs of a marked root y with each c > y, by some warps of which this is one. Neighbouring pairs are
// different warps': the longest lists are side by side.
__device__ void write_links(const SymmetricLinks& task, const MarkedRow& marked, uint32_t y, const Span& own, uint64_t warp,
                            uint64_t warps, Stop& stop) {
  const Matrix& m = task.matrix;
  const uint32_t lane = lane_id();
  for (uint64_t first = entry_of(m, own, y) + warp; first < own.end && !stop.warp(); first += warps * kLanes) {
    const uint64_t e = first + lane * warps;
    uint64_t mine = kNoPair, other = kNoPair;  // where the links are written: of root y, of root c
    Span its;
    if (e < own.end) {
      its = row(m, m.ids[e]);
      const uint64_t back = entry_of(m, its, y);
      if (task.has(e)) mine = task.offsets[e - task.from];
      if (task.has(back)) other = task.offsets[back - task.from];
      const uint64_t one = task.has(e) ? e : back;
      if (!task.has(one) || task.offsets[one - task.from] == task.offsets[one - task.from + 1]) its = {};
    }
    each_list(its, [&](int k, const Span& list, int place, int team) {
      const uint64_t to_mine = __shfl_sync(kAllLanes, mine, k), to_other = __shfl_sync(kAllLanes, other, k);
      const uint32_t all = (team == kLanes ? kAllLanes : (1u << team) - 1) << (lane - place);
      const uint32_t longest = most_of(static_cast<uint32_t>(list.size()));
      uint32_t n = 0, steps = 0;
      for (uint32_t i = 0; i < longest && (++steps % kLookEvery || !stop.warp()); i += team) {
        const uint64_t z = list.begin + i + place;
        const uint64_t hit = z < list.end ? marked.find(m.ids[z]) : kNoPair;
        const uint32_t hits = __ballot_sync(kAllLanes, hit != kNoPair) & all;
        if (hit != kNoPair) {
          const uint32_t number = n + rank_in(hits);
          if (to_mine != kNoPair) task.ids[to_mine + number] = static_cast<uint32_t>(hit - task.from);
          if (to_other != kNoPair) task.ids[to_other + number] = static_cast<uint32_t>(z - task.from);
        }
        n += __popc(hits);
      }
    });
  }
}

// Whether a root's own pairs are all among the pairs, and none has links.
__device__ bool is_bare(const SymmetricLinks& task, const Span& own) {
  return own.size() == 0 || (task.has(own.begin) && task.has(own.end - 1) &&
                             task.offsets[own.begin - task.from] == task.offsets[own.end - task.from]);
}

}  // namespace

// offsets[1 + k], for each pair k: how many links it has.
extern "C" __global__ void links_sizes(const SymmetricLinks task) {
  const uint64_t k = thread_id(), e = task.from + k;
  if (e >= task.to) return;
  const Matrix& m = task.matrix;
  const uint32_t c = task.owners[e], y = m.ids[e];
  task.offsets[1 + k] = task.counts[y < c ? e : entry_of(m, row(m, y), c)];
}

// The links of pairs whose lesser id has at most `few` neighbours, a warp each. Shared memory: kWarpMarks bits a warp.
extern "C" __global__ void __launch_bounds__(256) links_light(const SymmetricLinks task, const WorkQueue queue) {
  QE_SHARED(uint32_t, shared);
  const Matrix& m = task.matrix;
  MarkedRow marked(m, shared + threadIdx.x / kLanes * (kWarpMarks / 32), 0, kWarpMarks);
  marked.clear(lane_id(), kLanes);
  __syncwarp();
  const uint64_t n = m.hi - m.lo;
  WorkTaker taker(queue, n);
  while (true) {
    const uint64_t some = __shfl_sync(kAllLanes, lane_id() == 0 ? taker.take(kRootsTaken) : uint64_t{0}, 0);
    if (some >= n) return;
    const uint64_t last = some + kRootsTaken < n ? some + kRootsTaken : n;
    for (uint64_t k = some; k < last; ++k) {
      const uint32_t y = m.lo + static_cast<uint32_t>(k);
      const Span own = row(m, y);
      if (own.size() > task.few || is_bare(task, own)) continue;
      marked.mark(own, lane_id(), kLanes, taker.stop());
      __syncwarp();
      write_links(task, marked, y, own, 0, 1, taker.stop());
      __syncwarp();
      marked.unmark(lane_id(), kLanes, taker.stop());
      __syncwarp();
    }
  }
}

// The others, a block each. Shared memory: 16 bytes, and 8 for each 32 of task.exact, 4 for each 32 of kRoughMarks.
extern "C" __global__ void __launch_bounds__(256) links_heavy(const SymmetricLinks task, const WorkQueue queue) {
  QE_SHARED(uint32_t, shared);
  uint64_t* taken = reinterpret_cast<uint64_t*>(shared);
  const Matrix& m = task.matrix;
  MarkedRow marked(m, shared + 4, task.exact, kRoughMarks);
  marked.clear(threadIdx.x, blockDim.x);
  const uint64_t n = m.hi - m.lo;
  WorkTaker taker(queue, n);
  while (true) {
    if (threadIdx.x == 0) *taken = taker.take(1);
    __syncthreads();
    const uint64_t k = *taken;
    __syncthreads();
    if (k >= n) return;
    const uint32_t y = m.lo + static_cast<uint32_t>(k);
    const Span own = row(m, y);
    if (own.size() <= task.few || is_bare(task, own)) continue;
    taker.stop().warp();  // warps that take nothing look, too
    marked.mark(own, threadIdx.x, blockDim.x, taker.stop());
    __syncthreads();
    write_links(task, marked, y, own, threadIdx.x / kLanes, blockDim.x / kLanes, taker.stop());
    __syncthreads();
    marked.unmark(threadIdx.x, blockDim.x, taker.stop());
    __syncthreads();
  }
}

namespace {

// Adds up the row of W for x, columns [tile, last), by the whole block.
__device__ void count_ways(const Matrix& m, const Span& own, uint32_t tile, uint32_t last, uint32_t* ways, Stop& stop) {
  each_list_of(
      own, stop,
      [&](uint64_t e) {
        Span its = row(m, m.ids[e]);
        const uint64_t end = entry_of(m, its, last);
        if (tile > m.lo) its.begin = entry_of(m, its, tile);
        its.end = end;
        return its;
      },
      [&](int, const Span& part, int place, int team) {
#pragma unroll 4
        for (uint64_t e = part.begin + place; e < part.end; e += team) atomicAdd(&ways[m.ids[e] - tile], 1u);
      });
}

// Adds what W says of x and [tile, last) to the pairs (a, b) that x is linked to, by the whole block; `more`: to each.
__device__ void add_ways(const LinkSquares& task, uint32_t x, const Span& own, uint32_t tile, uint32_t last, uint64_t more,
                         const uint32_t* ways, Stop& stop) {
  const SymmetricLinks& links = task.links;
  const Matrix& m = links.matrix;
  const uint64_t warps = blockDim.x / kLanes, lane = lane_id();
  for (uint64_t first = own.begin + threadIdx.x / kLanes; first < own.end && !stop.warp(); first += warps * kLanes) {
    Span pairs;  // the links of (a, x): the pairs (a, b)
    const uint64_t e = first + lane * warps;  // the longest are side by side
    if (e < own.end) {
      const uint32_t a = m.ids[e];
      const Span its = row(m, a);
      const uint64_t back = entry_of(m, its, x);
      if (links.has(back)) {
        pairs = {links.offsets[back - links.from], links.offsets[back - links.from + 1]};
        if (task.lesser)
          pairs.end = pairs.begin + lower_bound(links.ids + pairs.begin, pairs.size(),
                                                static_cast<uint32_t>(entry_of(m, its, a) - links.from));
      }
    }
    const uint64_t until = scan_inclusive(pairs.size()), all = __shfl_sync(kAllLanes, until, kLanes - 1);
    for (uint64_t begin = 0; begin < all && !stop.warp(); begin += kLanes) {
      const uint64_t at = begin + lane;
      int k = 0;  // whose pair this lane takes
#pragma unroll
      for (int step = kLanes / 2; step > 0; step /= 2)
        if (__shfl_sync(kAllLanes, until, k + step - 1) <= at) k += step;
      const uint64_t entry = __shfl_sync(kAllLanes, pairs.begin, k) + at - __shfl_sync(kAllLanes, until - pairs.size(), k);
      uint32_t pair = 0;
      Span common;
      if (at < all) {
        pair = links.ids[entry];
        common = {links.offsets[pair], links.offsets[pair + 1]};
        if (tile > m.lo) common.begin += lower_bound(task.ends + common.begin, common.size(), tile);
      }
      uint32_t lists = 0;
      bool ended = false;
      each_list(common, [&](int k, const Span& list, int place, int team) {
        if (ended || (ended = ++lists % kListsEach == 0 && stop.warp())) return;
        uint64_t sum = 0;
        each_part(list, stop, [&](const Span& part) {
          for (uint64_t e = part.begin + place; e < part.end; e += team) {
            const uint32_t other = task.ends[e];
            if (other >= last) break;
            sum += ways[other - tile];
          }
        });
        for (int step = team / 2; step > 0; step /= 2) sum += __shfl_xor_sync(kAllLanes, sum, step);
        const uint32_t its = __shfl_sync(kAllLanes, pair, k);
        if (place == 0 && list.size() > 0)
          atomicAdd(reinterpret_cast<unsigned long long*>(&task.out[its].word[0]),
                    static_cast<unsigned long long>(2 * sum + more));
      });
    }
  }
}

}  // namespace

// out[k], which is clear, for each pair k or those of lesser ids: see above. Shared memory: 16 bytes and `counters` of 32 bits.
extern "C" __global__ void __launch_bounds__(1024) link_squares(const LinkSquares task, const WorkQueue queue) {
  QE_SHARED(uint32_t, shared);
  uint64_t* taken = reinterpret_cast<uint64_t*>(shared);
  uint32_t* ways = shared + 4;
  const Matrix& m = task.links.matrix;
  const uint64_t n = task.end - task.begin;
  WorkTaker taker(queue, n);
  for (uint32_t i = threadIdx.x; i < task.counters; i += blockDim.x) ways[i] = 0;
  while (true) {
    if (threadIdx.x == 0) *taken = taker.take(1);
    __syncthreads();
    const uint64_t k = *taken;
    __syncthreads();
    if (k >= n) return;
    const uint32_t x = m.lo + task.begin + static_cast<uint32_t>(k);
    const Span own = row(m, x);
    if (is_bare(task.links, own)) continue;
    uint32_t tile = m.lo;
    do {
      taker.stop().warp();  // warps that take nothing look, too
      const uint32_t last = x - tile > task.counters ? tile + task.counters : x;
      count_ways(m, own, tile, last, ways, taker.stop());
      __syncthreads();
      add_ways(task, x, own, tile, last, tile == m.lo ? own.size() : 0, ways, taker.stop());
      __syncthreads();
      for (uint32_t i = threadIdx.x; i < last - tile; i += blockDim.x) ways[i] = 0;
      __syncthreads();
      tile = last;
    } while (tile < x);
  }
}
