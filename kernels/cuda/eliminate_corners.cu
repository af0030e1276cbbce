// Sums over the triangles of one symmetric matrix of products of their corners' weights: of none, one, two and all three.
//
// Problem: as kernels/host/eliminate_triangle_sums.cpp, for weights of 27 bits. Bit p of the weights of all hubs is a row of
// bits, a plane; a last plane is of ones. A block takes one root of many members, and multiplies its planes, joined with the
// marks of its members, by the rows of eight members at once, on binary tensor cores: that is for each member how many of
// the root's other members are its neighbours, and the sum of their weights bit by bit. Lists are looked up in the marks.
// Preconditions: `sums` and `taken` are clear, `triangle_roots`, `triangle_rows_of_corners` and
// `triangle_planes` have run.
// Launch: blocks of whole warps; shared memory as said at each kernel. Bytes moved: for each root and member the member's list
// or row, mostly from L2. Deterministic. Ends soon after *stop is set.
// Sources: as of eliminate_triangles.cu; sums by bits: bit-serial products (Umuroglu et al. 2018).
#include "eliminate_triangles.cuh"
#include "hardware.cuh"

using namespace qe;
using namespace qe::eliminate;

namespace {

constexpr uint32_t kOnes = 27;  // the plane of ones; those after it, to 31, are of zeros
constexpr uint32_t kTile = 8;   // members whose rows are multiplied together: neighbours in the list, with rows of like lengths
constexpr uint32_t kStep = 16;  // words of each row that a warp reads at a time

// Where a lane has words of planes for one product (`multiply_bits`): planes 16 * half and on, words 2 * pair and 2 * pair + 1 of its
// four of a step.
__device__ uint64_t planes_place(uint32_t step, uint32_t half, uint32_t pair, uint32_t lane) {
  return ((uint64_t{step} * 2 + half) * 2 + pair) * kLanes + lane;
}

// What a lane adds up for a root. By plane 8 k + lane / 4: how many triangles' least corners have it in their weights, and the same
// times the members' weights. Of triangles found in lists: how many, the weights of their least corners, of their members, the
// products of both, in two words.
enum LaneSums : uint32_t { kByPlane, kWeighted = 4, kCount = 8, kLeast, kMembers, kBoth, kSums = 13 };

// How many steps of hub v's row have bits.
__device__ uint32_t steps_of(uint32_t v) { return v / 32 / kStep + 1; }

class CornersOfMany {
 public:
  __device__ CornersOfMany(const Triangles& t, const Many<Of::kCorners>& own)
      : t_(t), own_(own), sums_(reinterpret_cast<uint64_t*>(own.corners + blockDim.x / kLanes) + threadIdx.x) {
    clear();
  }

  // Adds up for one root, by the whole block.
  __device__ void count(uint32_t root) {
    list_ = t_.lesser(root);
    const uint32_t n = static_cast<uint32_t>(list_.size()), warps = blockDim.x / kLanes, lane = lane_id();
    own_.mark(t_, list_);
    __syncthreads();
    for (uint32_t first = threadIdx.x / kLanes * kTile; first < n; first += kLanes * warps) {
      const uint32_t i = first + lane / kTile * kTile * warps + lane % kTile;
      const uint32_t v = i < n ? t_.id(list_.begin + i) : 0;
      const bool has_row = i < n && t_.has_row(v, t_.lesser(v).size());
      multiply(v, has_row ? weight(v) : 0, __ballot_sync(kAllLanes, has_row));
    }
    for (uint32_t first = threadIdx.x / kLanes; first < n; first += kLanes * warps) {
      const uint32_t i = first + lane * warps, v = i < n ? t_.id(list_.begin + i) : 0;
      Span its;
      if (i < n) its = t_.lesser(v);
      if (t_.has_row(v, its.size())) its = {};
      const uint32_t own = its.size() > 0 ? weight(v) : 0;
      each_list(its, [&](int k, const Span& at, int of, int team) {
        const uint64_t heavy = __shfl_sync(kAllLanes, own, k);
        read(at, of, team, heavy);
      });
    }
    close(root);
    __syncthreads();
    own_.unmark(t_, list_);
  }

  // By the whole block, at the end.
  __device__ void hand_on() const {
    if (lane_id() == 0) own_.corners[threadIdx.x / kLanes].hand_on(t_.sums);
  }

 private:
  __device__ uint32_t weight(uint32_t v) const { return v < t_.kept ? own_.found[v] : t_.weights[v]; }

  // Multiplies the rows of members, a lane each, by the planes; who: those that have rows, in ascending order.
  __device__ void multiply(uint32_t v, uint32_t own, uint32_t who) {
    const uint32_t n = __popc(who), lane = lane_id();
    if (n == 0) return;
    const int whose = (who & (who + 1)) == 0 ? static_cast<int>(lane) : lane < n ? nth_lane(who, static_cast<int>(lane)) : 0;
    const uint32_t hub = __shfl_sync(kAllLanes, v, whose), heavy = __shfl_sync(kAllLanes, own, whose);
    if (n > 2 * kTile) multiply_tiles<4>(hub, heavy, n);
    else multiply_tiles<2>(hub, heavy, n);
  }

  // The same for n members. Lane 4 r + q has four words of each step of member r of each tile.
  template <int kTiles>
  __device__ void multiply_tiles(uint32_t hub, uint32_t heavy, uint32_t n) {
    const uint32_t lane = lane_id(), r = lane / 4, q = lane % 4;
    uint32_t at[kTiles], n_steps[kTiles];
#pragma unroll
    for (int k = 0; k < kTiles; ++k) {
      const uint32_t member = kTile * k + r, id = __shfl_sync(kAllLanes, hub, static_cast<int>(member));
      at[k] = (member < n ? id : 0) * t_.words + 4 * q;  // the first vertex has no lesser neighbours: a row of zeros
      const uint32_t last = min(kTile * k + kTile, n) - 1;
      n_steps[k] = kTile * k < n ? steps_of(__shfl_sync(kAllLanes, hub, static_cast<int>(last))) : 0;
    }
    const uint32_t most = steps_of(__shfl_sync(kAllLanes, hub, static_cast<int>(n - 1)));
    const Words* planes = reinterpret_cast<const Words*>(t_.planes) + lane;
    int32_t found[kTiles][2][4] = {};
    for (uint32_t step = 0; step < most; ++step) {
      Words its[kTiles];
#pragma unroll
      for (int k = 0; k < kTiles; ++k)
        if (step < n_steps[k]) its[k] = *reinterpret_cast<const Words*>(t_.rows + at[k] + step * kStep);
      const Words marks = *reinterpret_cast<const Words*>(own_.hubs + step * kStep + 4 * q);
#pragma unroll
      for (int k = 0; k < kTiles; ++k)
#pragma unroll
        for (int w = 0; w < 4; ++w) its[k].of[w] &= marks.of[w];
#pragma unroll
      for (uint32_t half = 0; half < 2; ++half) {
        const Words of_planes[2] = {planes[planes_place(step, half, 0, 0)], planes[planes_place(step, half, 1, 0)]};
#pragma unroll
        for (int k = 0; k < kTiles; ++k) {
          if (step >= n_steps[k]) continue;
          const uint32_t low[2] = {its[k].of[0], its[k].of[1]}, high[2] = {its[k].of[2], its[k].of[3]};
          multiply_bits(found[k][half], of_planes[0].of, low);
          multiply_bits(found[k][half], of_planes[1].of, high);
        }
      }
    }
    uint64_t by_plane[4] = {}, weighted[4] = {};
#pragma unroll
    for (int k = 0; k < kTiles; ++k) {
      const int member = static_cast<int>(kTile * k + 2 * q);
      const uint64_t one = __shfl_sync(kAllLanes, heavy, member), other = __shfl_sync(kAllLanes, heavy, member + 1);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int32_t(&two)[4] = found[k][i / 2];
        const uint32_t a = static_cast<uint32_t>(two[i % 2 * 2]), b = static_cast<uint32_t>(two[i % 2 * 2 + 1]);
        by_plane[i] += a + b;
        weighted[i] += one * a + other * b;
      }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      sum(kByPlane + i) += by_plane[i];
      sum(kWeighted + i) += weighted[i];
    }
  }

  // Reads entries first, first + step, … of the list of a member of weight `own`.
  __device__ void read(const Span& its, uint32_t first, uint32_t step, uint64_t own) {
    const uint32_t* list = t_.ids + its.begin;
    const uint32_t n = static_cast<uint32_t>(its.size());
    uint32_t shared_by = 0;
    uint64_t weights = 0;
    for (uint32_t i = first; i < n; i += kAhead * step) {
      uint32_t ids[kAhead];
#pragma unroll
      for (uint32_t k = 0; k < kAhead; ++k) ids[k] = i + k * step < n ? list[i + k * step] - t_.lo : kNoVertex;
#pragma unroll
      for (uint32_t k = 0; k < kAhead; ++k) {
        const uint32_t v = ids[k];
        if (v == kNoVertex || !own_.may_have(t_, v)) continue;
        if (v >= t_.hubs && member_of(t_, list_, v) == list_.size()) continue;
        ++shared_by;
        weights += weight(v);
      }
    }
    if (shared_by == 0) return;
    sum(kCount) += shared_by;
    sum(kLeast) += weights;
    sum(kMembers) += own * shared_by;
    Big both{sum(kBoth), sum(kBoth + 1)};
    both.add_product(own, weights);
    sum(kBoth) = both.low;
    sum(kBoth + 1) = both.high;
  }

  // Takes the root's weight to what was found with it.
  __device__ void close(uint32_t root) {
    const uint64_t own = weight(root);
    uint64_t n = sum(kCount), least = sum(kLeast), members = sum(kMembers);
    Big both{sum(kBoth), sum(kBoth + 1)};
#pragma unroll
    for (uint32_t k = 0; k < 4; ++k) {
      const uint32_t plane = 8 * k + lane_id() / 4;
      if (plane < kOnes) {
        least += sum(kByPlane + k) << plane;
        both.add_product(sum(kWeighted + k), uint64_t{1} << plane);
      } else if (plane == kOnes) {
        n += sum(kByPlane + k);
        members += sum(kWeighted + k);
      }
    }
    clear();
    Corners& corners = own_.corners[threadIdx.x / kLanes];
    Big others{members, 0};
    others.add({least, 0});
    others.gather();
    both.gather();
    n = sum_over(n);
    if (lane_id() == 0) {
      corners.of[0].add({n, 0});
      corners.of[1].add(others);
      corners.of[1].add_product(own, n);
      corners.of[2].add(both);
      corners.of[2].add(times(others, own));
      corners.of[3].add(times(both, own));
    }
  }

  __device__ void clear() const {
    for (uint32_t k = 0; k < kSums; ++k) sum(k) = 0;
  }

  __device__ static Big times(const Big& a, uint64_t b) {
    Big product;
    product.add_product(a.low, b);
    product.high += a.high * b;
    return product;
  }

  // This lane's sums for one root, in shared memory.
  __device__ uint64_t& sum(uint32_t k) const { return sums_[k * blockDim.x]; }

  const Triangles& t_;
  const Many<Of::kCorners> own_;
  uint64_t* sums_;
  Span list_;
};

}  // namespace

// Makes the rows of hubs; a warp each.
extern "C" __global__ void triangle_rows_of_corners(const Triangles t) { make_rows<Of::kCorners>(t); }

// Makes the planes; a warp a word.
extern "C" __global__ void triangle_planes(const Triangles t) {
  const uint32_t lane = lane_id(), w = static_cast<uint32_t>(thread_id() / kLanes), v = 32 * w + lane;
  if (w >= t.words) return;
  const uint32_t weight = v < t.hubs ? t.weights[v] : 0;
  uint32_t own = lane == kOnes ? kAllLanes : 0;
  for (uint32_t plane = 0; plane < kOnes; ++plane) {
    const uint32_t bits = __ballot_sync(kAllLanes, weight >> plane & 1);
    if (lane == plane) own = bits;
  }
  const uint32_t r = lane % 8, q = w % kStep / 4;
  t.planes[4 * planes_place(w / kStep, lane / 16, w % 4 / 2, 4 * r + q) + w % 2 * 2 + lane / 8 % 2] = own;
}

// Sums at roots of few members: shared memory of 4 * kTogether bytes a warp.
extern "C" __global__ void __launch_bounds__(256, 5) triangles_of_corners_few(const Triangles t) {
  extern __shared__ __align__(16) char shared[];
  all_of_few<Of::kCorners>(t, shared);
}

// The same at roots of many: shared memory of 4 bytes for each of `words` and of `kept`, kOthers / 8 + 8, sizeof(Corners) a warp,
// and 8 * kSums a thread.
extern "C" __global__ void __launch_bounds__(128, 5) triangles_of_corners_many(const Triangles t) {
  extern __shared__ __align__(16) char shared[];
  const Many<Of::kCorners> own(t, shared);
  own.clear(t);
  for (uint32_t i = threadIdx.x; i < t.kept; i += blockDim.x) own.found[i] = i < t.n ? t.weights[i] : 0;
  for (uint32_t i = threadIdx.x; i < 4 * blockDim.x / kLanes; i += blockDim.x) own.corners[i / 4].of[i % 4] = {};
  __syncthreads();
  CornersOfMany members(t, own);
  each_root_of_many(t, own, members);
  members.hand_on();
}
