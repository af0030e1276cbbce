// Triangles of one symmetric matrix without numbers, loops and repeats: how many each vertex is in, or each linked pair, or
// sums over all triangles of products of their corners' weights.
//
// Problem: as kernels/host/eliminate_triangles.cpp. Each triangle is found once, at its greatest id, the root (ids are by
// descending degree, so that lists of lesser ids are short). Its members are its lesser neighbours; which of those are linked
// is counted for all three corners, or sides. Lists of hubs are also rows of bits, where those are shorter to read. A warp
// takes some roots of few members together, and tests all pairs of a root's members. A block takes one root of many, marks
// its members, joins rows with the marks by AND, and looks lists up in them. What is found of the greatest hubs, which are in
// most triangles, is counted in shared memory, and before by each warp in words that stand for 1, 2, 4 … of 32 counters.
// Weights of four of the greatest hubs are looked up at once, in a table of the sums that four bits can stand for.
// Preconditions: `vertices`, `pairs`, `sums`, `rows`, `n_roots` and `taken` are clear, `triangle_roots` and `triangle_rows`
// have run.
// Launch: blocks of whole warps; shared memory as said at each kernel. Bytes moved: for each root and member the member's list
// or row, mostly from L2; for pairs also an addition for each triangle. Deterministic. Ends soon after *stop is set.
// Sources: Latapy 2008 (compact-forward), mark arrays (Chiba and Nishizeki 1985), hub bitmaps (Han et al. 2018), tables of
// sums (Arlazarov et al. 1970).
#include "eliminate.cuh"
#include "qe/lists.h"
#include "qe/match_plan.h"

using namespace qe;
using namespace qe::eliminate;

namespace {

constexpr uint32_t kTogether = 8;        // roots of few members that a warp takes
constexpr uint32_t kOthers = 1 << 16;    // marks of members that are no hubs, by the last bits of their ids
constexpr uint32_t kAhead = 4;           // loads that are under way at a time
constexpr int kPlanes = 6;               // bits of a counter: 63 rows are added up

// Vertices are numbered from the matrix's first. The row of vertex v, [offsets[v], offsets[v + 1]), is cut at middles[v], where
// ids stop to be less than v. A hub is one of the first `hubs` vertices: its bits are rows[v * words ..], in the order of
// `Words`, and ranks[] of a word is how many of its bits lie before.
struct Triangles {
  const uint64_t* offsets;
  const uint32_t* ids;
  uint64_t* middles;
  uint32_t* rows;
  uint16_t* ranks;        // null where vertices are counted
  uint32_t* roots;        // those of up to `few` members from the front, the others from the back
  uint32_t* n_roots;      // of few members, of many
  uint64_t* taken;        // of each
  const volatile int32_t* stop;
  unsigned long long* vertices;  // how many triangles each is in, or null
  uint32_t* pairs;               // the same by entry of the matrix, at those of lesser ids
  uint32_t lo, n, hubs, words, few;
  uint32_t kept;                 // what is found of the first so many vertices is counted in shared memory; 1,024 or more
  const uint32_t* weights;       // of each vertex, less than 2^27, or null
  unsigned long long* sums;      // `Corners`, or null

  __device__ uint32_t id(uint64_t entry) const { return ids[entry] - lo; }
  __device__ Span lesser(uint32_t v) const { return {offsets[v], middles[v]}; }
  // Is v's list a row of bits?
  __device__ bool has_row(uint32_t v, uint64_t size) const { return v < hubs && 2 * size > v / 32 + 1; }
  __device__ const uint32_t* row_of(uint32_t v) const { return rows + uint64_t{v} * words; }
};

enum class Of { kVertices, kPairs, kCorners };  // what triangles are counted by

// A row of bits is made of blocks of 128 words, which a warp reads at once: lane k gets the words k, 32 + k, 64 + k, 96 + k.
struct alignas(16) Words {
  uint32_t of[4];
};
constexpr uint32_t kBlock = 4 * kLanes;

// Where word w of a row is.
__device__ uint32_t word_place(uint32_t w) { return w / kBlock * kBlock + w % kLanes * 4 + w / kLanes % 4; }

// How many blocks of hub v's row have bits.
__device__ uint32_t blocks_of(uint32_t v) { return v / 32 / kBlock + 1; }

__device__ void set_bit(uint32_t* bits, uint32_t at) { atomicOr(&bits[at / 32], 1u << at % 32); }

// Where bit `at` of v's row, whose word is `word`, stands in v's list.
__device__ uint64_t place_of(const Triangles& t, uint32_t v, uint32_t at, uint32_t word) {
  return t.offsets[v] + t.ranks[uint64_t{v} * t.words + word_place(at / 32)] + __popc(word & ((1u << at % 32) - 1));
}

// What a block finds of vertices; of the first `kept` in shared memory until the end.
class Found {
 public:
  __device__ Found(const Triangles& t, uint32_t* counts, uint32_t kept) : t_(t), counts_(counts), kept_(kept) {
    for (uint32_t i = threadIdx.x; i < kept; i += blockDim.x) counts[i] = 0;
    __syncthreads();
  }
  __device__ void add(uint32_t v, uint32_t more) const {
    if (v < kept_) atomicAdd(&counts_[v], more);  // no more than there are pairs, less than 2^32
    else add_out(v, more);
  }
  __device__ void add_out(uint32_t v, uint64_t more) const {
    if (more > 0) atomicAdd(&t_.vertices[v], static_cast<unsigned long long>(more));
  }
  // By the whole block, at the end.
  __device__ void hand_on() const {
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < kept_ && i < t_.n; i += blockDim.x) add_out(i, counts_[i]);
  }

 private:
  const Triangles& t_;
  uint32_t* counts_;
  uint32_t kept_;
};

// Sums over triangles of 1, of the weights of the three corners, of the products of two, of the product of all three. There
// are less than 2^46 triangles of fewer than 2^32 pairs, so that 128 bits are enough.
struct Corners {
  Big of[4];

  // By a lane for its warp.
  __device__ void hand_on(unsigned long long* sums) const {
    for (int k = 0; k < 4; ++k) {
      const uint64_t words[2] = {of[k].low, of[k].high};
      add_together(reinterpret_cast<uint64_t*>(sums) + 2 * k, words, 2);
    }
  }
};

// Counts for roots of few members, a lane each, by a warp: all pairs of a root's members are tested.
template <Of kOf>
class FewMembers {
  static constexpr bool kPairs = kOf == Of::kPairs, kVertices = kOf == Of::kVertices, kCorners = kOf == Of::kCorners;

 public:
  // sums: of the warp, one for each root.
  __device__ FewMembers(const Triangles& t, const Found& vertices, uint32_t* sums) : t_(t), vertices_(vertices), sums_(sums) {}

  // begin, n: the lesser neighbours of this lane's root, none of lanes from kTogether on.
  __device__ void count(uint32_t root, uint64_t begin, uint32_t n) {
    const uint32_t lane = lane_id(), own = n * (n - 1) / 2;
    const uint32_t until = static_cast<uint32_t>(scan_inclusive(own)), all = __shfl_sync(kAllLanes, until, kLanes - 1);
    const uint32_t weight = kCorners && n > 0 ? t_.weights[root] : 0;
    if (kVertices && lane < kTogether) sums_[lane] = 0;
    __syncwarp();
    for (uint32_t first = 0; first < all; first += kLanes) {
      const uint32_t at = first + lane;
      uint32_t k = 0;  // whose pair this lane looks at
#pragma unroll
      for (uint32_t step = kTogether / 2; step > 0; step /= 2)
        if (__shfl_sync(kAllLanes, until, k + step - 1) <= at) k += step;
      const uint64_t from = __shfl_sync(kAllLanes, begin, k);
      const uint32_t pair = at - __shfl_sync(kAllLanes, until - own, k);
      const uint64_t heavy = kCorners ? __shfl_sync(kAllLanes, weight, k) : 0;
      if (at < all && test(from, pair, heavy) && kVertices) atomicAdd(&sums_[k], 1u);
    }
    __syncwarp();
    if (kVertices && lane < kTogether) vertices_.add_out(root, sums_[lane]);
  }

  // By the whole warp, at the end.
  __device__ void hand_on() {
    for (Big& sum : corners_.of) sum.gather();
    if (lane_id() == 0) corners_.hand_on(t_.sums);
  }

 private:
  // Are two members linked? If so, counts the triangle. heavy: the root's weight.
  __device__ bool test(uint64_t from, uint32_t pair, uint64_t heavy) {
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
    } else if (kCorners) {
      const uint64_t one = t_.weights[v], other = t_.weights[least];
      corners_.of[0].add({1, 0});
      corners_.of[1].add({heavy + one + other, 0});
      corners_.of[2].add({heavy * (one + other) + one * other, 0});
      corners_.of[3].add_product(heavy * one, other);
    } else {
      vertices_.add(least, 1);
      vertices_.add(v, 1);
    }
    return true;
  }

  const Triangles& t_;
  const Found& vertices_;
  uint32_t* sums_;
  Corners corners_;
};

// The sums of weights of the first 1,024 vertices, four by four: lane k of a warp has those of word k's vertices, from table_of(k)
// on, 16 numbers for the bits 4 j to 4 j + 3; the one for bits b is at table_place(k, b), so that lanes read from other banks.
constexpr uint32_t kTable = 32 * 8 * 16 + 16;
__device__ uint32_t table_of(uint32_t lane) { return lane * 8 * 16 + lane / 16 * 16; }
__device__ uint32_t table_place(uint32_t lane, uint32_t bits) { return bits ^ lane % 16; }

// What a block keeps of roots of many members: marks, in hubs' order of `Words`, and of the first vertices what was found of
// them, or their weights. For corners also a table of weights, and sums of each warp.
struct Many {
  Words* hubs;
  uint32_t *others, *found;
  uint64_t* dealt;
  uint32_t* table;
  Corners* corners;

  __device__ Many(const Triangles& t, char* shared)
      : hubs(reinterpret_cast<Words*>(shared)), others(reinterpret_cast<uint32_t*>(shared) + t.words),
        found(others + kOthers / 32), dealt(reinterpret_cast<uint64_t*>(found + t.kept)),
        table(reinterpret_cast<uint32_t*>(dealt + 1)), corners(reinterpret_cast<Corners*>(table + kTable)) {}

  __device__ uint32_t& hub_word(uint32_t v) const { return reinterpret_cast<uint32_t*>(hubs)[word_place(v / 32)]; }
};

template <Of kOf>
class ManyMembers {
  static constexpr bool kPairs = kOf == Of::kPairs, kVertices = kOf == Of::kVertices, kCorners = kOf == Of::kCorners;

 public:
  __device__ ManyMembers(const Triangles& t, const Many& own, const Found& vertices)
      : t_(t), own_(own), vertices_(vertices), table_(own.table + table_of(lane_id())) {}

  // Counts for one root, by the whole block.
  __device__ void count(uint32_t root) {
    list_ = t_.lesser(root);
    const uint32_t n = static_cast<uint32_t>(list_.size()), warps = blockDim.x / kLanes;
    const int lane = lane_id();
    for (uint32_t i = threadIdx.x; i < n; i += blockDim.x) {
      const uint32_t v = t_.id(list_.begin + i);
      if (v < t_.hubs) atomicOr(&own_.hub_word(v), 1u << v % 32);
      else set_bit(own_.others, v % kOthers);
    }
    __syncthreads();
    uint64_t sum = 0;
    for (uint32_t first = threadIdx.x / kLanes; first < n; first += kLanes * warps) {
      const uint32_t i = first + lane * warps;
      uint32_t v = 0, own = 0;
      Span its;
      if (i < n) {
        v = t_.id(list_.begin + i);
        its = t_.lesser(v);
        if (kCorners) own = weight(v);
      }
      const bool has_row = t_.has_row(v, its.size());
      for (uint32_t left = __ballot_sync(kAllLanes, has_row); left != 0; left &= left - 1) {
        const uint32_t hub = __shfl_sync(kAllLanes, v, __ffs(left) - 1);
        const uint32_t shared_by = join(hub);
        sum += shared_by;
        if (kCorners) {
          weigh(__shfl_sync(kAllLanes, own, __ffs(left) - 1), shared_by);
          continue;
        }
        const uint32_t all = __reduce_add_sync(kAllLanes, shared_by);
        if (lane == 0 && all > 0) add(hub, first + (__ffs(left) - 1) * warps, all);
      }
      if (has_row) its = {};
      uint32_t left = __ballot_sync(kAllLanes, its.size() > 0);
      if (left == 0) continue;
      const int team = team_of(its.size());
      while (left != 0) {  // a list for each team
        int k = 0;
        bool any = false;
        for (int of = 0; of < kLanes && left != 0; of += team, left &= left - 1) {
          if (of > lane || lane >= of + team) continue;
          k = __ffs(left) - 1;
          any = true;
        }
        const Span at = its.of_lane(k);
        const uint32_t member = __shfl_sync(kAllLanes, v, k);
        const uint32_t heavy = kCorners ? __shfl_sync(kAllLanes, own, k) : 0;
        const uint32_t shared_by = any ? read(at, lane % team, team) : 0;
        sum += shared_by;
        if (kCorners) weigh(heavy, shared_by);
        else if (shared_by > 0) add(member, first + k * warps, shared_by);
      }
    }
    if (!kPairs) sum = sum_over(sum);
    if (kVertices && lane == 0) vertices_.add_out(root, sum);
    if (kCorners) close(root, sum);
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < n; i += blockDim.x) {
      const uint32_t v = t_.id(list_.begin + i);
      if (v < t_.hubs) own_.hub_word(v) = 0;
      else own_.others[v % kOthers / 32] = 0;
      if (!kPairs || v >= t_.kept) continue;
      const uint32_t found = own_.found[v];
      own_.found[v] = 0;
      if (found > 0) atomicAdd(&t_.pairs[list_.begin + i], found);
    }
  }

  // By the whole block, at the end.
  __device__ void hand_on() {
    if (kVertices) empty();
    if (kCorners && lane_id() == 0) own_.corners[threadIdx.x / kLanes].hand_on(t_.sums);
  }

 private:
  __device__ uint32_t weight(uint32_t v) const { return v < t_.kept ? own_.found[v] : t_.weights[v]; }

  // Takes a member's weight to what was found with it, `shared_by` triangles, their least corners' weights in `last_`.
  __device__ void weigh(uint64_t own, uint32_t shared_by) {
    least_ += last_;
    members_ += own * shared_by;
    if (last_ >> 37 == 0) both_.add({own * last_, 0});
    else both_.add_product(own, last_);
    last_ = 0;
  }

  // Takes the root's weight to what was found with it, `n` triangles by the warp.
  __device__ void close(uint32_t root, uint64_t n) {
    const uint64_t own = weight(root);
    Corners& corners = own_.corners[threadIdx.x / kLanes];
    Big others{members_, 0};
    others.add({least_, 0});
    others.gather();
    both_.gather();
    if (lane_id() == 0) {
      corners.of[0].add({n, 0});
      corners.of[1].add(others);
      corners.of[1].add_product(own, n);
      corners.of[2].add(both_);
      corners.of[2].add(times(others, own));
      corners.of[3].add(times(both_, own));
    }
    least_ = members_ = 0;
    both_ = {};
  }

  __device__ static Big times(const Big& a, uint64_t b) {
    Big product;
    product.add_product(a.low, b);
    product.high += a.high * b;
    return product;
  }

  // Adds the counters of bits to what was found.
  __device__ void empty() {
    uint32_t any = 0;
#pragma unroll
    for (int p = 0; p < kPlanes; ++p) any |= planes_[p];
    for (; any != 0; any &= any - 1) {
      const int k = __ffs(any) - 1;
      uint32_t count = 0;
#pragma unroll
      for (int p = 0; p < kPlanes; ++p) count |= (planes_[p] >> k & 1) << p;
      vertices_.add(32 * lane_id() + k, count);
    }
#pragma unroll
    for (int p = 0; p < kPlanes; ++p) planes_[p] = 0;
    piled_ = 0;
  }

  // Joins a hub's row with the marks; returns what this lane finds.
  __device__ uint32_t join(uint32_t hub) {
    const Words* row = reinterpret_cast<const Words*>(t_.row_of(hub));
    const uint32_t lane = lane_id();
    uint32_t shared_by = 0;
    for (uint32_t block = 0; block < blocks_of(hub); ++block) {
      const Words its = row[block * kLanes + lane], marks = own_.hubs[block * kLanes + lane];
      uint32_t both[4];
#pragma unroll
      for (uint32_t k = 0; k < 4; ++k) {
        both[k] = its.of[k] & marks.of[k];
        shared_by += __popc(both[k]);
      }
      if (!kPairs && block == 0) {
        if (kVertices) pile(both[0]);
        else last_ += looked_up(both[0]);
        both[0] = 0;
      }
#pragma unroll
      for (uint32_t k = 0; k < 4; ++k) {
        for (uint32_t left = both[k]; left != 0; left &= left - 1) {
          const uint32_t at = 32 * (block * kBlock + k * kLanes + lane) + __ffs(left) - 1;
          if (kCorners) last_ += weight(at);
          else add(at, kPairs && at >= t_.kept ? place(at) : 0, 1);
          if (kPairs) atomicAdd(&t_.pairs[place_of(t_, hub, at, its.of[k])], 1u);
        }
      }
    }
    return shared_by;
  }

  // Adds 1 to the counters of the bits of a lane's word, one of a row's first 32.
  __device__ void pile(uint32_t bits) {
#pragma unroll
    for (int p = 0; p < kPlanes; ++p) {
      const uint32_t carried = planes_[p] & bits;
      planes_[p] ^= bits;
      bits = carried;
    }
    if (++piled_ == (1u << kPlanes) - 1) empty();
  }

  // The sum of the weights of a lane's word, one of a row's first 32.
  __device__ uint32_t looked_up(uint32_t bits) const {
    uint32_t sum = 0;
#pragma unroll
    for (uint32_t j = 0; j < 8; ++j) sum += table_[16 * j + table_place(lane_id(), bits >> 4 * j & 15)];
    return sum;
  }

  // Which member a vertex is; it may be none.
  __device__ uint64_t place(uint32_t v) const { return lower_bound(t_.ids + list_.begin, list_.size(), v + t_.lo); }

  // Reads entries first, first + step, … of a list; returns how many are members.
  __device__ uint32_t read(const Span& list, uint32_t first, uint32_t step) {
    uint32_t shared_by = 0;
    for (uint64_t e = list.begin + first; e < list.end; e += kAhead * step) {
      uint32_t ids[kAhead];
#pragma unroll
      for (uint32_t k = 0; k < kAhead; ++k) ids[k] = e + k * step < list.end ? t_.id(e + k * step) : kNoVertex;
#pragma unroll
      for (uint32_t k = 0; k < kAhead; ++k) {
        const uint32_t v = ids[k];
        if (v == kNoVertex) continue;
        if (!(v < t_.hubs ? own_.hub_word(v) >> v % 32 & 1 : has_bit(own_.others, v % kOthers))) continue;
        uint64_t at = 0;
        if (v >= t_.hubs || (kPairs && v >= t_.kept)) {
          at = place(v);
          if (at == list_.size() || t_.id(list_.begin + at) != v) continue;
        }
        ++shared_by;
        if (kCorners) last_ += weight(v);
        else add(v, at, 1);
        if (kPairs) atomicAdd(&t_.pairs[e + k * step], 1u);
      }
    }
    return shared_by;
  }

  // Adds to what was found of member number `place`.
  __device__ void add(uint32_t v, uint64_t place, uint32_t more) {
    if (!kPairs) vertices_.add(v, more);
    else if (v < t_.kept) atomicAdd(&own_.found[v], more);
    else atomicAdd(&t_.pairs[list_.begin + place], more);
  }

  const Triangles& t_;
  const Many own_;
  const Found& vertices_;
  Span list_;
  uint32_t planes_[kPlanes] = {}, piled_ = 0;  // for vertices
  const uint32_t* table_;
  uint64_t last_ = 0;                          // for corners, of a lane: least corners' weights of one member,
  uint64_t least_ = 0, members_ = 0;           // of all the root's members, and the members' weights, once a triangle
  Big both_;                                   // the products of both
};

template <Of kOf>
__device__ void all_of_few(const Triangles& t, char* shared) {
  uint32_t* sums = reinterpret_cast<uint32_t*>(shared) + threadIdx.x / kLanes * kTogether;
  uint32_t* found = reinterpret_cast<uint32_t*>(shared) + blockDim.x / kLanes * kTogether;
  const Found vertices(t, found, kOf == Of::kVertices ? t.kept : 0);
  const Deal deal{t.taken, t.stop};
  const uint64_t n = t.n_roots[0];
  const uint32_t lane = lane_id();
  Taker taker(deal, n);
  FewMembers<kOf> members(t, vertices, sums);
  while (true) {
    const uint64_t first = __shfl_sync(kAllLanes, lane == 0 ? taker.take(kTogether) : uint64_t{0}, 0);
    if (first >= n) break;
    uint32_t root = 0;
    Span own;
    if (lane < kTogether && first + lane < n) {
      root = t.roots[first + lane];
      own = t.lesser(root);
    }
    members.count(root, own.begin, static_cast<uint32_t>(own.size()));
  }
  if (kOf == Of::kCorners) members.hand_on();
  vertices.hand_on();
}

// Copies the first vertices' weights, and makes the table of their sums.
__device__ void lay_weights_out(const Triangles& t, const Many& own) {
  for (uint32_t i = threadIdx.x; i < t.kept; i += blockDim.x) own.found[i] = i < t.n ? t.weights[i] : 0;
  for (uint32_t i = threadIdx.x; i < 4 * blockDim.x / kLanes; i += blockDim.x)
    own.corners[i / 4].of[i % 4] = {};
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < 32 * 8 * 16; i += blockDim.x) {
    const uint32_t lane = i / 128, first = i / 16 * 4, bits = i % 16;
    uint32_t sum = 0;
    for (uint32_t k = 0; k < 4; ++k) sum += bits >> k & 1 ? own.found[first + k] : 0;
    own.table[table_of(lane) + i % 128 / 16 * 16 + table_place(lane, bits)] = sum;
  }
}

template <Of kOf>
__device__ void all_of_many(const Triangles& t, char* shared) {
  const Many own(t, shared);
  for (uint32_t i = threadIdx.x; i < t.words; i += blockDim.x) reinterpret_cast<uint32_t*>(own.hubs)[i] = 0;
  for (uint32_t i = threadIdx.x; i < kOthers / 32; i += blockDim.x) own.others[i] = 0;
  for (uint32_t i = threadIdx.x; kOf == Of::kPairs && i < t.kept; i += blockDim.x) own.found[i] = 0;
  if (kOf == Of::kCorners) lay_weights_out(t, own);
  const Found vertices(t, own.found, kOf == Of::kVertices ? t.kept : 0);
  const Deal deal{t.taken + 1, t.stop};
  const uint64_t n = t.n_roots[1];
  Taker taker(deal, n);
  ManyMembers<kOf> members(t, own, vertices);
  while (true) {
    if (threadIdx.x == 0) *own.dealt = taker.take(1);
    __syncthreads();
    const uint64_t at = *own.dealt;
    if (at >= n) break;
    members.count(t.roots[t.n - 1 - at]);  // all have read what was dealt when they pass its barriers
  }
  members.hand_on();
  vertices.hand_on();
}

}  // namespace

// Cuts the rows, and sorts the vertices that may be roots by how many members they have; a thread each.
extern "C" __global__ void triangle_roots(const Triangles t) {
  const uint32_t v = static_cast<uint32_t>(uint64_t{blockIdx.x} * blockDim.x + threadIdx.x);
  uint64_t size = 0;
  if (v < t.n) {
    const uint64_t begin = t.offsets[v];
    size = lower_bound(t.ids + begin, t.offsets[v + 1] - begin, v + t.lo);
    t.middles[v] = begin + size;
  }
  for (int many = 0; many < 2; ++many) {
    const bool mine = size > 1 && (size > t.few) == (many == 1);
    const uint32_t who = __ballot_sync(kAllLanes, mine);
    if (who == 0) continue;
    uint32_t place = 0;
    if (lane_id() == 0) place = atomicAdd(&t.n_roots[many], static_cast<uint32_t>(__popc(who)));
    place = __shfl_sync(kAllLanes, place, 0) + rank_in(who);
    if (mine) t.roots[many ? t.n - 1 - place : place] = v;
  }
}

// Makes the rows of hubs, and their ranks; a warp each.
extern "C" __global__ void triangle_rows(const Triangles t) {
  const uint32_t lane = lane_id();
  const uint32_t v = static_cast<uint32_t>((uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) / kLanes);
  if (v >= t.hubs) return;
  const Span list = t.lesser(v);
  if (!t.has_row(v, list.size())) return;
  uint32_t* row = t.rows + uint64_t{v} * t.words;
  for (uint64_t e = list.begin + lane; e < list.end; e += kLanes) {
    const uint32_t at = t.id(e);
    atomicOr(&row[word_place(at / 32)], 1u << at % 32);
  }
  if (!t.ranks) return;
  __syncwarp();
  uint64_t before = 0;
  for (uint32_t first = 0; first < v / 32 + 1; first += kLanes) {
    const uint32_t place = word_place(first + lane);
    const uint64_t bits = __popc(row[place]), until = scan_inclusive(bits);
    t.ranks[uint64_t{v} * t.words + place] = static_cast<uint16_t>(before + until - bits);
    before += __shfl_sync(kAllLanes, until, kLanes - 1);
  }
}

// Triangles by vertices, pairs or corners, at roots of few members: shared memory of 4 * kTogether bytes a warp, and for vertices
// 4 for each of `kept`.
extern "C" __global__ void __launch_bounds__(256, 5) triangles_of_vertices_few(const Triangles t) {
  extern __shared__ __align__(16) char shared[];
  all_of_few<Of::kVertices>(t, shared);
}
extern "C" __global__ void __launch_bounds__(256, 5) triangles_of_pairs_few(const Triangles t) {
  extern __shared__ __align__(16) char shared[];
  all_of_few<Of::kPairs>(t, shared);
}
extern "C" __global__ void __launch_bounds__(256, 4) triangles_of_corners_few(const Triangles t) {
  extern __shared__ __align__(16) char shared[];
  all_of_few<Of::kCorners>(t, shared);
}

// The same at roots of many: shared memory of 4 bytes for each of `words` and of `kept`, and kOthers / 8 + 8; for corners also
// 4 * kTable, and sizeof(Corners) a warp.
extern "C" __global__ void __launch_bounds__(256, 4) triangles_of_vertices_many(const Triangles t) {
  extern __shared__ __align__(16) char shared[];
  all_of_many<Of::kVertices>(t, shared);
}
extern "C" __global__ void __launch_bounds__(256, 4) triangles_of_pairs_many(const Triangles t) {
  extern __shared__ __align__(16) char shared[];
  all_of_many<Of::kPairs>(t, shared);
}
extern "C" __global__ void __launch_bounds__(256, 4) triangles_of_corners_many(const Triangles t) {
  extern __shared__ __align__(16) char shared[];
  all_of_many<Of::kCorners>(t, shared);
}
