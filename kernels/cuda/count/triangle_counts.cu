// Triangles of one symmetric matrix without numbers, loops and repeats: how many each vertex is in, or each linked pair.
//
// Problem: as kernels/host/count/triangle_counts.cpp. A warp takes some roots of few members together, and tests all pairs
// of a root's members. A block takes one root of many, marks its members, joins rows with the marks by AND, and looks lists up
// in them. Counted are all three corners, or sides. What is found of the greatest hubs, which are in most triangles, is counted
// in shared memory, and before by each warp in words that stand for 1, 2, 4 … of 32 counters.
// Preconditions: `vertices`, `pairs`, `rows`, `n_roots` and `taken` are clear, `triangle_roots` and `triangle_rows` have run.
// Launch: blocks of whole warps; shared memory as said at each kernel. Bytes moved: for each root and member the member's list
// or row, mostly from L2; for pairs also an addition for each triangle. Deterministic.
// Sources: Latapy 2008 (compact-forward), mark arrays (Chiba and Nishizeki 1985), hub bitmaps (Han et al. 2018).
#include "count/triangle_counts.cuh"

using namespace qe;
using namespace qe::eliminate;

namespace {

constexpr int kPlanes = 6;  // bits of a counter: 63 rows are added up

// How many blocks of words of hub v's row have bits.
__device__ uint32_t blocks_of(uint32_t v) { return v / 32 / kBlock + 1; }

template <Of kOf>
class HeavyMembers {
  static constexpr bool kPairs = kOf == Of::kPairs;

 public:
  __device__ HeavyMembers(const Triangles& t, const HeavyRoots& own, const Found& vertices)
      : t_(t), own_(own), vertices_(vertices) {}

  // Counts for one root, by the whole block.
  __device__ void count(uint32_t root, Stop& stop) {
    list_ = t_.lesser(root);
    const uint32_t n = static_cast<uint32_t>(list_.size()), warps = blockDim.x / kLanes;
    const int lane = lane_id();
    own_.mark(t_, list_);
    __syncthreads();
    uint64_t sum = 0;
    for (uint32_t first = threadIdx.x / kLanes; first < n && !stop.warp(); first += kLanes * warps) {
      const uint32_t i = first + lane * warps;
      uint32_t v = 0;
      Span its;
      if (i < n) {
        v = t_.id(list_.begin + i);
        its = t_.lesser(v);
      }
      const bool has_row = t_.has_row(v, its.size());
      for (uint32_t left = __ballot_sync(kAllLanes, has_row); left != 0; left &= left - 1) {
        const uint32_t hub = __shfl_sync(kAllLanes, v, __ffs(left) - 1);
        const uint32_t shared_by = join(hub);
        sum += shared_by;
        const uint32_t all = sum_over(shared_by);
        if (lane == 0 && all > 0) add(hub, first + (__ffs(left) - 1) * warps, all);
      }
      if (has_row) its = {};
      each_list(its, [&](int k, const Span& at, int of, int team) {
        const uint32_t member = __shfl_sync(kAllLanes, v, k);
        uint32_t shared_by = 0;
        each_part(at, stop, [&](const Span& part) { shared_by += read(part, of, team); });
        sum += shared_by;
        if (shared_by > 0) add(member, first + k * warps, shared_by);
      });
    }
    if (!kPairs) {
      sum = sum_over(sum);
      if (lane == 0) vertices_.add_out(root, sum);
    }
    __syncthreads();
    own_.unmark(t_, list_);
    for (uint32_t i = threadIdx.x; kPairs && i < n; i += blockDim.x) {
      const uint32_t v = t_.id(list_.begin + i);
      if (v >= t_.hub_counters) break;  // ids ascend
      const uint32_t found = own_.found[v];
      own_.found[v] = 0;
      if (found > 0) atomicAdd(&t_.pairs[list_.begin + i], found);
    }
  }

  // By the whole block, at the end.
  __device__ void flush() {
    if (!kPairs) empty();
  }

 private:
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
      const Words its = row[block * kLanes + lane], marks = reinterpret_cast<const Words*>(own_.hubs)[block * kLanes + lane];
      uint32_t both[4];
#pragma unroll
      for (uint32_t k = 0; k < 4; ++k) {
        both[k] = its.of[k] & marks.of[k];
        shared_by += __popc(both[k]);
      }
      if (!kPairs && block == 0) {
        pile(both[0]);
        both[0] = 0;
      }
#pragma unroll
      for (uint32_t k = 0; k < 4; ++k) {
        for (uint32_t left = both[k]; left != 0; left &= left - 1) {
          const uint32_t at = 32 * (block * kBlock + k * kLanes + lane) + __ffs(left) - 1;
          add(at, kPairs && at >= t_.hub_counters ? member_of(t_, list_, at) : 0, 1);
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
        if (!own_.may_have(t_, v)) continue;
        uint64_t at = 0;
        if (v >= t_.hubs || (kPairs && v >= t_.hub_counters)) {
          at = member_of(t_, list_, v);
          if (at == list_.size()) continue;
        }
        ++shared_by;
        add(v, at, 1);
        if (kPairs) atomicAdd(&t_.pairs[e + k * step], 1u);
      }
    }
    return shared_by;
  }

  // Adds to what was found of member number `place`.
  __device__ void add(uint32_t v, uint64_t place, uint32_t more) {
    if (!kPairs) vertices_.add(v, more);
    else if (v < t_.hub_counters) atomicAdd(&own_.found[v], more);
    else atomicAdd(&t_.pairs[list_.begin + place], more);
  }

  const Triangles& t_;
  const HeavyRoots own_;
  const Found& vertices_;
  Span list_;
  uint32_t planes_[kPlanes] = {}, piled_ = 0;  // for vertices
};

template <Of kOf>
__device__ void all_heavy(const Triangles& t, char* shared) {
  const HeavyRoots own(t, shared);
  own.clear(t);
  for (uint32_t i = threadIdx.x; kOf == Of::kPairs && i < t.hub_counters; i += blockDim.x) own.found[i] = 0;
  const Found vertices(t, own.found, kOf == Of::kVertices ? t.hub_counters : 0);
  HeavyMembers<kOf> members(t, own, vertices);
  each_heavy_root(t, own, members);
  members.flush();
  vertices.flush();
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
    const bool mine = size > 1 && v % t.shares == t.share && (size > t.few) == (many == 1);
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

// Triangles by vertices or pairs, at roots of few members: shared memory of 4 * kTogether bytes a warp, and for vertices 4 for each
// of `kept`.
extern "C" __global__ void __launch_bounds__(256, qe::blocks_each(256, 5)) triangles_of_vertices_light(const Triangles t) {
  extern __shared__ __align__(16) char shared[];
  all_light<Of::kVertices>(t, shared);
}
extern "C" __global__ void __launch_bounds__(256, qe::blocks_each(256, 5)) triangles_of_pairs_light(const Triangles t) {
  extern __shared__ __align__(16) char shared[];
  all_light<Of::kPairs>(t, shared);
}

// The same at roots of many: shared memory of 4 bytes for each of `words` and of `hub_counters`, and kOthers / 8 + 8.
extern "C" __global__ void __launch_bounds__(256, 4) triangles_of_vertices_heavy(const Triangles t) {
  extern __shared__ __align__(16) char shared[];
  all_heavy<Of::kVertices>(t, shared);
}
extern "C" __global__ void __launch_bounds__(256, 4) triangles_of_pairs_heavy(const Triangles t) {
  extern __shared__ __align__(16) char shared[];
  all_heavy<Of::kPairs>(t, shared);
}
