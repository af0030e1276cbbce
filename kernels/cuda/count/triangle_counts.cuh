// What kernels that count triangles share: vertices and lists, roots of few members, what a block keeps of one of many.
//
// Each triangle is found once, at its greatest id, the root (ids are by descending degree, so that lists of lesser ids are
// short). Its members are its lesser neighbours. Lists of hubs are also rows of bits, where those are shorter to read.
#pragma once
#include "count/eliminate.cuh"
#include "qe/lists.h"
#include "qe/match_plan.h"

namespace qe::eliminate {

constexpr uint32_t kTogether = 8;        // roots of few members that a warp takes
constexpr uint32_t kOthers = 1 << 16;    // marks of members that are no hubs, by the last bits of their ids
constexpr uint32_t kAhead = 4;           // loads that are under way at a time

// Vertices are numbered from the matrix's first. The row of vertex v, [offsets[v], offsets[v + 1]), is cut at middles[v], where
// ids stop to be less than v. A hub is one of the first `hubs` vertices: its bits are rows[v * words ..], in the order of
// `word_place`, and ranks[] of a word is how many of its bits lie before.
struct Triangles {
  const uint64_t* offsets;
  const uint32_t* ids;
  uint64_t* middles;
  uint32_t* rows;
  uint16_t* ranks;        // null where vertices are counted
  uint32_t* roots;        // those of up to `few` members from the front, the others from the back
  uint32_t* n_roots;      // of few members, of many
  uint64_t* taken;        // of each
  StopFlag stop;
  unsigned long long* vertices;  // how many triangles each is in, or null
  uint32_t* pairs;               // the same by entry of the matrix, at those of lesser ids
  uint32_t lo, n, hubs, words, few;
  uint32_t hub_counters;                 // what is found of the first so many vertices is counted in shared memory; 1,024 or more
  uint32_t share, shares;        // of several devices each takes the roots of a remainder
  uint32_t* links;               // which members of each root are linked (triangle_weight_sums.cu), where that is asked for
  uint64_t* begins;              // of each root's links, their first word

  __device__ uint32_t id(uint64_t entry) const { return ids[entry] - lo; }
  __device__ Span lesser(uint32_t v) const { return {offsets[v], middles[v]}; }
  // Is v's list a row of bits?
  __device__ bool has_row(uint32_t v, uint64_t size) const { return v < hubs && 2 * size > v / 32 + 1; }
  __device__ const uint32_t* row_of(uint32_t v) const { return rows + uint64_t{v} * words; }
};

enum class Of { kVertices, kPairs, kLinks };  // what triangles are found for

// Where word w of a row is: rows are made of blocks of 128 words, which a warp reads at once: lane k gets the words k, 32 + k,
// 64 + k, 96 + k.
struct alignas(16) Words {
  uint32_t of[4];
};
constexpr uint32_t kBlock = 4 * kLanes;
__device__ inline uint32_t word_place(uint32_t w) { return w / kBlock * kBlock + w % kLanes * 4 + w / kLanes % 4; }

__device__ inline void set_bit(uint32_t* bits, uint32_t at) { atomicOr(&bits[at / 32], 1u << at % 32); }

// Where bit `at` of v's row, whose word is `word`, stands in v's list.
__device__ inline uint64_t place_of(const Triangles& t, uint32_t v, uint32_t at, uint32_t word) {
  return t.offsets[v] + t.ranks[uint64_t{v} * t.words + word_place(at / 32)] + __popc(word & ((1u << at % 32) - 1));
}

// How many words the rows of a root's members before member j take: row j has a bit for each member before j.
__device__ inline uint64_t link_words(uint64_t j) {
  if (j < 2) return 0;
  const uint64_t full = (j - 2) / 32;
  return (full + 1) * (16 * full + (j - 2) % 32 + 1);
}

// Notes that members i and j, i < j, of a root are linked.
__device__ inline void set_link(const Triangles& t, uint32_t root, uint64_t i, uint64_t j) {
  set_bit(t.links + t.begins[root] + link_words(j) + i / 32, i % 32);
}

// What a block finds of vertices; of the first `hub_counters` in shared memory until the end.
class Found {
 public:
  __device__ Found(const Triangles& t, uint32_t* counts, uint32_t hub_counters) : t_(t), counts_(counts), hub_counters_(hub_counters) {
    for (uint32_t i = threadIdx.x; i < hub_counters; i += blockDim.x) counts[i] = 0;
    __syncthreads();
  }
  __device__ void add(uint32_t v, uint32_t more) const {
    if (v < hub_counters_) atomicAdd(&counts_[v], more);  // no more than there are pairs, less than 2^32
    else add_out(v, more);
  }
  __device__ void add_out(uint32_t v, uint64_t more) const {
    if (more > 0) atomicAdd(&t_.vertices[v], static_cast<unsigned long long>(more));
  }
  // By the whole block, at the end.
  __device__ void flush() const {
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < hub_counters_ && i < t_.n; i += blockDim.x) add_out(i, counts_[i]);
  }

 private:
  const Triangles& t_;
  uint32_t* counts_;
  uint32_t hub_counters_;
};

// Counts for roots of few members, a lane each, by a warp: all pairs of a root's members are tested.
template <Of kOf>
class LightMembers {
  static constexpr bool kPairs = kOf == Of::kPairs, kVertices = kOf == Of::kVertices;

 public:
  // sums: of the warp, one for each root.
  __device__ LightMembers(const Triangles& t, const Found& vertices, uint32_t* sums) : t_(t), vertices_(vertices), sums_(sums) {}

  // begin, n: the lesser neighbours of this lane's root, none of lanes from kTogether on.
  __device__ void count(uint32_t root, uint64_t begin, uint32_t n, Stop& stop) {
    const uint32_t lane = lane_id(), own = n * (n - 1) / 2;
    const uint32_t until = static_cast<uint32_t>(scan_inclusive(own)), all = __shfl_sync(kAllLanes, until, kLanes - 1);
    if (kVertices && lane < kTogether) sums_[lane] = 0;
    __syncwarp();
    for (uint32_t first = 0; first < all; first += kLanes) {
      if ((first / kLanes + 1) % kLookEvery == 0 && stop.warp()) break;
      const uint32_t at = first + lane;
      uint32_t k = 0;  // whose pair this lane looks at
#pragma unroll
      for (uint32_t step = kTogether / 2; step > 0; step /= 2)
        if (__shfl_sync(kAllLanes, until, k + step - 1) <= at) k += step;
      const uint64_t from = __shfl_sync(kAllLanes, begin, k);
      const uint32_t pair = at - __shfl_sync(kAllLanes, until - own, k);
      const uint32_t its = __shfl_sync(kAllLanes, root, static_cast<int>(k));
      if (at < all && test(its, from, pair) && kVertices) atomicAdd(&sums_[k], 1u);
    }
    __syncwarp();
    if (kVertices && lane < kTogether) vertices_.add_out(root, sums_[lane]);
  }

 private:
  // Are two members linked? If so, counts the triangle.
  __device__ bool test(uint32_t root, uint64_t from, uint32_t pair) {
    const uint32_t j = static_cast<uint32_t>((1 + sqrtf(8.0f * pair + 1)) / 2), i = pair - j * (j - 1) / 2;  // i < j
    const uint32_t least = t_.id(from + i), v = t_.id(from + j);
    const Span its = t_.lesser(v);
    uint64_t side = 0;
    if (t_.has_row(v, its.size())) {
      const uint32_t word = t_.row_of(v)[word_place(least / 32)];
      if (!(word >> least % 32 & 1)) return false;
      if (kPairs) side = place_of(t_, v, least, word);
    } else {
      side = its.begin + lower_bound(t_.ids + its.begin, its.size(), least + t_.lo);
      if (side == its.end || t_.id(side) != least) return false;
    }
    if (kPairs) {
      atomicAdd(&t_.pairs[from + i], 1u);
      atomicAdd(&t_.pairs[from + j], 1u);
      atomicAdd(&t_.pairs[side], 1u);
    } else if (!kVertices) {
      set_link(t_, root, i, j);
    } else {
      vertices_.add(least, 1);
      vertices_.add(v, 1);
    }
    return true;
  }

  const Triangles& t_;
  const Found& vertices_;
  uint32_t* sums_;
};

// What a block keeps of roots of many members: marks, of hubs in words placed as rows' are, and of the first vertices what was
// found of them, or where there are links how many marks are before each word.
struct HeavyRoots {
  uint32_t *hubs, *others, *found;
  uint64_t* dealt;

  __device__ HeavyRoots(const Triangles& t, char* shared)
      : hubs(reinterpret_cast<uint32_t*>(shared)), others(hubs + t.words), found(others + kOthers / 32),
        dealt(reinterpret_cast<uint64_t*>(found + t.hub_counters)) {}

  __device__ uint32_t& hub_word(uint32_t v) const { return hubs[word_place(v / 32)]; }

  // All of these by the whole block, which meets afterwards.
  __device__ void clear(const Triangles& t) const {
    for (uint32_t i = threadIdx.x; i < t.words; i += blockDim.x) hubs[i] = 0;
    for (uint32_t i = threadIdx.x; i < kOthers / 32; i += blockDim.x) others[i] = 0;
  }
  __device__ void mark(const Triangles& t, const Span& members) const {
    for (uint64_t e = members.begin + threadIdx.x; e < members.end; e += blockDim.x) {
      const uint32_t v = t.id(e);
      if (v < t.hubs) atomicOr(&hub_word(v), 1u << v % 32);
      else set_bit(others, v % kOthers);
    }
  }
  __device__ void unmark(const Triangles& t, const Span& members) const {
    for (uint64_t e = members.begin + threadIdx.x; e < members.end; e += blockDim.x) {
      const uint32_t v = t.id(e);
      if (v < t.hubs) hub_word(v) = 0;
      else others[v % kOthers / 32] = 0;
    }
  }
  // May a vertex be a member? Of hubs it is one, then.
  __device__ bool may_have(const Triangles& t, uint32_t v) const {
    return v < t.hubs ? hub_word(v) >> v % 32 & 1 : has_bit(others, v % kOthers);
  }
};

// Which member of a root a vertex is; the number of members if it is none.
__device__ inline uint64_t member_of(const Triangles& t, const Span& members, uint32_t v) {
  const uint64_t at = lower_bound(t.ids + members.begin, members.size(), v + t.lo);
  return at == members.size() || t.id(members.begin + at) != v ? members.size() : at;
}

// Takes roots of many members, one at a time, by the whole block: members.count(root, the stop flag).
template <typename Members>
__device__ void each_heavy_root(const Triangles& t, const HeavyRoots& own, Members& members) {
  const WorkQueue queue{t.taken + 1, t.stop};
  const uint64_t n = t.n_roots[1];
  WorkTaker taker(queue, n);
  while (true) {
    if (threadIdx.x == 0) *own.dealt = taker.take(1);
    __syncthreads();
    const uint64_t at = *own.dealt;
    if (at >= n) break;
    members.count(t.roots[t.n - 1 - at], taker.stop());  // all have read what was dealt when they pass its barriers
  }
}

template <Of kOf>
__device__ void all_light(const Triangles& t, char* shared) {
  uint32_t* sums = reinterpret_cast<uint32_t*>(shared) + threadIdx.x / kLanes * kTogether;
  uint32_t* found = reinterpret_cast<uint32_t*>(shared) + blockDim.x / kLanes * kTogether;
  const Found vertices(t, found, kOf == Of::kVertices ? t.hub_counters : 0);
  const WorkQueue queue{t.taken, t.stop};
  const uint64_t n = t.n_roots[0];
  const uint32_t lane = lane_id();
  WorkTaker taker(queue, n);
  LightMembers<kOf> members(t, vertices, sums);
  while (true) {
    const uint64_t first = __shfl_sync(kAllLanes, lane == 0 ? taker.take(kTogether) : uint64_t{0}, 0);
    if (first >= n) break;
    uint32_t root = 0;
    Span own;
    if (lane < kTogether && first + lane < n) {
      root = t.roots[first + lane];
      own = t.lesser(root);
    }
    members.count(root, own.begin, static_cast<uint32_t>(own.size()), taker.stop());
  }
  vertices.flush();
}

}  // namespace qe::eliminate
