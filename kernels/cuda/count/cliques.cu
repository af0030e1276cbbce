// Cliques along several matrices without numbers, loops and repeats: the sum over all ways to give the roles of a pattern, in
// which each two roles are linked by a matrix, to vertices, of the product of the vertices' weights in their roles.
//
// Problem: as kernels/host/count/cliques.cpp, in all only. Each clique of the matrices' union is found once, at its last vertex
// by rank, the root: the others are among the few neighbours of lesser rank, the universe. A block takes a root. It numbers the
// universe, and for each plane, a matrix or one seen from its other end, makes rows of bits over it, a ballot a word. A chain
// gives one role to the root, and the others to members one after the other: those of the second role are dealt to warps, which
// keep candidates of later roles as bits (ANDs of rows); the last two roles are counted by lanes, a population count a word.
// Symmetric roles are given to members in one order (`below`), times as many ways as there are (`factor`).
// Preconditions: `most` is what `clique_universes` finds; scratch has `scratch_words` words a block. Launch: as many blocks of
// whole warps as run at a time. Bytes moved: for each root a look-up for each plane and pair of members, mostly of a bit.
// Deterministic. `flag` becomes 1 where numbers are too large. Sources: Chiba and Nishizeki 1985; Grochow and Kellis 2007.
#include "count/matrix_rows.cuh"
#include "qe/match_plan.h"

namespace qe::eliminate {

constexpr int kMostRoles = 8;
constexpr int kMostPlanes = 32;

// As in kernels/host/count/cliques.cpp. Roles by level: the root's first. planes[i][j], i < j: along which plane level j is linked
// with level i, seen from i. below[i], bit j: level j's vertex is before that of level i.
struct Chain {
  int32_t roles[kMostRoles];
  int32_t planes[kMostRoles][kMostRoles];
  int32_t below[kMostRoles];
  uint64_t factor;
  int32_t by, unused;
};

// sides: of the planes that are in use. rank: of each vertex. weights: of each role, or null: 1 each. from_root, between: which
// planes lead from roots, and between others, a bit each; slots[p]: how many planes before p are among `between`. valued: bit k:
// role k has weights other than 0 and 1. most: members of a universe. total: three words.
struct CliqueTask {
  const Side* sides;
  const Chain* chains;
  const uint32_t* rank;
  const Number* weights[kMostRoles];
  uint32_t* scratch;
  uint64_t scratch_words;
  uint64_t* total;
  uint32_t slots[kMostPlanes];
  uint32_t n, n_roles, n_chains, n_planes;
  uint32_t from_root, between, n_between, valued;
  uint32_t most, unused;
};

}  // namespace qe::eliminate

using namespace qe;
using namespace qe::eliminate;

namespace {

constexpr uint32_t kAll = 0xFFFFFFFF;

// Is a neighbour of the root along plane p among its neighbours along a plane before?
__device__ bool is_known(const CliqueTask& task, uint32_t root, int p, uint32_t v) {
  for (int q = 0; q < p; ++q)
    if (task.from_root >> q & 1 && Members(task.sides[q], root).have(v)) return true;
  return false;
}

// What a block knows of its root. members: the universe; from_root, admitted: rows of bits by plane and by role; rows: by plane in
// `between` and member; sets: of each warp, by depth and level.
class Universe {
 public:
  __device__ Universe(const CliqueTask& task, uint32_t* scratch) : task_(task), scratch_(scratch) {}

  // By the whole block: numbers the universe; `n` is in shared memory. False where it has too few members.
  __device__ bool gather(uint32_t root, uint32_t* n, Stop& stop) {
    if (threadIdx.x == 0) *n = 0;
    __syncthreads();
    members_ = scratch_;
    for (int p = 0; p < static_cast<int>(task_.n_planes); ++p) {
      if (!(task_.from_root >> p & 1)) continue;
      const Matrix& of = task_.sides[p].of;
      const Span span = row(of, root);
      for (uint64_t e = span.begin + threadIdx.x; e < span.end && !stop.thread(); e += blockDim.x) {
        const uint32_t v = of.ids[e];
        if (task_.rank[v] < task_.rank[root] && !is_known(task_, root, p, v)) members_[atomicAdd(n, 1u)] = v;
      }
    }
    __syncthreads();
    n_ = *n;
    words_ = (n_ + kLanes - 1) / kLanes;
    from_root_ = members_ + task_.most;
    admitted_ = from_root_ + task_.n_planes * words_;
    rows_ = admitted_ + task_.n_roles * words_;
    sets_ = rows_ + uint64_t{task_.n_between} * n_ * words_ + threadIdx.x / kLanes * task_.n_roles * task_.n_roles * words_;
    return n_ + 1 >= task_.n_roles;
  }

  // By the whole block.
  __device__ void make_rows(uint32_t root, Stop& stop) {
    const uint32_t warp = threadIdx.x / kLanes, warps = blockDim.x / kLanes;
    for (uint32_t p = 0; p < task_.n_planes; ++p) {
      if (task_.from_root >> p & 1 && p % warps == warp) {
        const Members linked(task_.sides[p], root);
        make_row(from_root_ + p * words_, [&](uint32_t v) { return linked.have(v); });
      }
      if (!(task_.between >> p & 1)) continue;
      for (uint32_t u = warp; u < n_ && !stop.warp(); u += warps) {
        const Members linked(task_.sides[p], members_[u]);
        make_row(row_of(p, u), [&](uint32_t v) { return linked.have(v); });
      }
    }
    for (uint32_t k = warp; k < task_.n_roles; k += warps)
      if (task_.weights[k]) make_row(admitted_ + k * words_, [&](uint32_t v) { return !is_zero(task_.weights[k][v]); });
    __syncthreads();
  }

  // Counts the cliques of a chain, each `scale` times, into a sum of this lane's; by the whole block.
  __device__ void count(const Chain& chain, const Number& scale, Stop& stop, Sum& sum, bool* over) {
    begin(chain);
    const uint32_t warp = threadIdx.x / kLanes, warps = blockDim.x / kLanes;
    if (task_.n_roles == 3) {
      if (warp == 0) pairs(chain, 1, scale, sum, over);
      return;
    }
    const uint32_t* first = set(1, 1);
    for (uint32_t u = warp; u < n_; u += warps)
      if (has_bit(first, u) && narrow(chain, 1, u)) deeper(chain, weighed(chain.roles[1], u, scale, over), stop, sum, over);
  }

 private:
  template <typename Has>
  __device__ void make_row(uint32_t* to, Has has) const {
    for (uint32_t w = 0; w < words_; ++w) {
      const uint32_t at = w * kLanes + lane_id();
      const bool bit = at < n_ && has(members_[at]);
      const uint32_t word = __ballot_sync(kAllLanes, bit);
      if (lane_id() == 0) to[w] = word;
    }
  }

  __device__ uint32_t* row_of(uint32_t p, uint32_t u) const { return rows_ + (uint64_t{task_.slots[p]} * n_ + u) * words_; }
  __device__ uint32_t* set(uint32_t depth, uint32_t level) const { return sets_ + (depth * task_.n_roles + level) * words_; }
  __device__ bool is_valued(int role) const { return task_.valued >> role & 1; }
  __device__ Number weighed(int role, uint32_t u, const Number& scale, bool* over) const {
    return is_valued(role) ? times(scale, task_.weights[role][members_[u]], over) : scale;
  }

  // The candidates of all levels next to the root; by each warp for itself.
  __device__ void begin(const Chain& chain) const {
    __syncwarp();
    for (uint32_t j = 1; j < task_.n_roles; ++j) {
      const uint32_t* linked = from_root_ + chain.planes[0][j] * words_;
      const uint32_t* admitted = task_.weights[chain.roles[j]] ? admitted_ + chain.roles[j] * words_ : nullptr;
      for (uint32_t w = lane_id(); w < words_; w += kLanes) set(1, j)[w] = linked[w] & (admitted ? admitted[w] : kAll);
    }
    __syncwarp();
  }

  // The candidates of later levels where level i's vertex is member `at`; false where one has none. By the whole warp.
  __device__ bool narrow(const Chain& chain, uint32_t i, uint32_t at) const {
    bool all = true;
    for (uint32_t j = i + 1; j < task_.n_roles && all; ++j) {
      const uint32_t *linked = row_of(chain.planes[i][j], at), *before = set(i, j);
      const bool below = chain.below[i] >> j & 1;
      bool some = false;
      for (uint32_t w = lane_id(); w < words_; w += kLanes) {
        uint32_t word = linked[w] & before[w];
        if (below && w >= at / kLanes) word = w > at / kLanes ? 0 : word & ((1u << at % kLanes) - 1);
        set(i + 1, j)[w] = word;
        some = some || word != 0;
      }
      all = __any_sync(kAllLanes, some);
    }
    __syncwarp();
    return all;
  }

  // Goes through the levels from the second on, but for the last two. By the whole warp.
  __device__ void deeper(const Chain& chain, const Number& scale, Stop& stop, Sum& sum, bool* over) const {
    const uint32_t last = task_.n_roles - 2;
    uint32_t next[kMostRoles];  // member that a level looks at next
    Number scales[kMostRoles];
    uint32_t i = 2;
    next[i] = 0;
    scales[i] = scale;
    while (i >= 2 && !stop.warp()) {
      if (i == last) {
        pairs(chain, i, scales[i], sum, over);
        --i;
        continue;
      }
      const uint32_t at = following(set(i, i), next[i]);
      if (at >= n_) {
        --i;
        continue;
      }
      next[i] = at + 1;
      if (!narrow(chain, i, at)) continue;
      scales[i + 1] = weighed(chain.roles[i], at, scales[i], over);
      next[++i] = 0;
    }
    __syncwarp();
  }

  // The first bit that is set from one on; n or more if there is none.
  __device__ uint32_t following(const uint32_t* bits, uint32_t at) const {
    while (at < n_) {
      const uint32_t rest = bits[at / kLanes] >> at % kLanes;
      if (rest != 0) return at + __ffs(rest) - 1;
      at = (at / kLanes + 1) * kLanes;
    }
    return at;
  }

  // The ways to give the last two roles of a chain to candidates, a lane for each of the first of them. By the whole warp.
  __device__ void pairs(const Chain& chain, uint32_t i, const Number& scale, Sum& sum, bool* over) const {
    const uint32_t *from = set(i, i), *to = set(i, i + 1);
    const int one = chain.roles[i], other = chain.roles[i + 1], plane = chain.planes[i][i + 1];
    uint64_t all = 0;
    for (uint32_t u = lane_id(); u < n_; u += kLanes) {
      if (!has_bit(from, u)) continue;
      const uint32_t* linked = row_of(plane, u);
      if (is_valued(other)) {
        sum_ends(other, to, linked, weighed(one, u, scale, over), sum, over);
        continue;
      }
      uint32_t found = 0;
      for (uint32_t w = 0; w < words_; ++w) found += __popc(to[w] & linked[w]);
      if (is_valued(one)) sum.add(times(weighed(one, u, scale, over), number_of(found), over));
      else all += found;
    }
    if (all > 0) sum.add(times(scale, number_of(all), over));
    __syncwarp();
  }

  __device__ void sum_ends(int role, const uint32_t* to, const uint32_t* linked, const Number& scale, Sum& sum, bool* over) const {
    for (uint32_t w = 0; w < words_; ++w)
      for (uint32_t rest = to[w] & linked[w]; rest != 0; rest &= rest - 1)
        sum.add(weighed(role, w * kLanes + __ffs(rest) - 1, scale, over));
  }

  const CliqueTask& task_;
  uint32_t* scratch_;
  uint32_t *members_ = nullptr, *from_root_ = nullptr, *admitted_ = nullptr, *rows_ = nullptr, *sets_ = nullptr;
  uint32_t n_ = 0, words_ = 0;
};

struct CliqueShared {
  uint64_t taken;
  uint32_t members, unused;
};

}  // namespace

// *most: no universe has more members.
extern "C" __global__ void clique_universes(const CliqueTask task, uint32_t* most, const WorkQueue queue) {
  WorkTaker taker(queue, task.n);
  while (true) {
    const uint64_t first = __shfl_sync(kAllLanes, lane_id() == 0 ? taker.take(1) : uint64_t{0}, 0);
    if (first >= task.n) return;
    const uint32_t root = static_cast<uint32_t>(first);
    uint32_t found = 0;
    for (uint32_t p = 0; p < task.n_planes; ++p) {
      if (!(task.from_root >> p & 1)) continue;
      const Matrix& of = task.sides[p].of;
      const Span span = row(of, root);
      for (uint64_t e = span.begin + lane_id(); e < span.end && !taker.stop().thread(); e += kLanes)
        found += task.rank[of.ids[e]] < task.rank[root];
    }
    found = static_cast<uint32_t>(sum_over(found));
    if (lane_id() == 0 && found > 0) atomicMax(most, found);
  }
}

extern "C" __global__ void __launch_bounds__(128) cliques(const CliqueTask task, const WorkQueue queue, uint32_t* flag) {
  QE_SHARED(uint32_t, shared);
  CliqueShared& own = *reinterpret_cast<CliqueShared*>(shared);
  WorkTaker taker(queue, task.n);
  Stop& stop = taker.stop();
  Universe universe(task, task.scratch + blockIdx.x * task.scratch_words);
  bool over = false;
  Sum sum;
  while (true) {
    if (threadIdx.x == 0) own.taken = taker.take(1);
    __syncthreads();
    if (own.taken >= task.n) break;
    const uint32_t root = static_cast<uint32_t>(own.taken);
    stop.warp();  // warps that take nothing look, too
    const bool enough = universe.gather(root, &own.members, stop);
    if (enough) universe.make_rows(root, stop);
    for (uint32_t c = 0; c < task.n_chains && enough; ++c) {
      const Chain& chain = task.chains[c];
      Number scale = number_of(chain.factor);
      const Number* weights = task.weights[chain.roles[0]];
      if (weights) scale = times(scale, weights[root], &over);
      if (!is_zero(scale)) universe.count(chain, scale, stop, sum, &over);
    }
    __syncthreads();
  }
  sum.gather(kLanes);
  if (lane_id() == 0) add_together(task.total, sum.word, kWords + 1);
  raise_flag(flag, over);
}
