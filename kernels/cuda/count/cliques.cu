// Cliques along several matrices without numbers, loops and repeats: the sum over all ways to give the roles of a pattern, in
// which each two roles are linked by a matrix, to vertices, of the product of the vertices' weights in their roles.
//
// Problem: as kernels/host/count/cliques.cpp, whose chains these are. Vertices go by descending length of their rows, all matrices
// together (CliqueIndex), and each clique of the matrices' union is found once, at its last vertex, the root: the others are among
// the few before it that it is linked with, the universe, numbered by rank. For each matrix and way that roles other than the
// root's are linked by, a slot, a team makes a row of bits for each vertex of the universe: a lane looks each entry of such a
// vertex's list up among the others. Then each warp gives roles to vertices, one after the other; candidates of later roles are
// ANDs of rows, and of the last role only bits are counted, a few lanes for each vertex of the last but one.
// A team is a warp (`cliques_light`), or a block whose rows are in shared memory (`cliques_heavy`) or in device memory
// (`cliques_global`). QE_ROLES: of the pattern; 0, on the host alone: as many as the task has. QE_VALUED: 1 where some role has
// weights other than 0 and 1, which are multiplied; else numbers are only counted.
// Preconditions: n_roles is 3 to 7, the total is 0; `most` is no less than any root's universe. Launch: as many blocks of whole
// warps as run at a time. Bytes moved: 6 for each entry of the lists of each universe's vertices, its rows of bits in shared memory.
// Deterministic. `flag` becomes 1 where numbers are too large.
// Sources: Chiba and Nishizeki 1985; Grochow and Kellis 2007 (orders of symmetric vertices).
#include "count/eliminate.cuh"

#ifndef QE_ROLES
#define QE_ROLES 0
#endif
#ifndef QE_VALUED
#define QE_VALUED 0
#endif

using namespace qe;
using namespace qe::eliminate;

namespace {

constexpr int kMostCliqueRoles = 8;
constexpr int kMostSlots = 16;

// The vertices before each one that some matrix links it with, by rank. planes: bit p where plane p does, seen from it; the planes
// of matrix m are 2 m and, from the other end, 2 m + 1. order: the vertices by rank. roots: ranks, the longest lists first.
struct CliqueIndex {
  const uint64_t* offsets;
  const uint32_t* ids;
  const uint16_t* planes;
  const uint32_t *order, *roots;
};

// Roles by level, the root's first. links[i][j], i < j: how level j is linked with level i, seen from i; a plane for i = 0, else a slot.
struct CliqueChain {
  uint64_t factor;
  uint8_t roles[kMostCliqueRoles];
  uint8_t links[kMostCliqueRoles][kMostCliqueRoles];
  uint8_t below[kMostCliqueRoles];  // bit j: level j's vertex is before that of this level
};

// weights: of each role by vertex, or null: 1 each. valued, bit k: role k has weights other than 0 and 1. Of `roots` [first, first +
// n_roots) are gone around, by `parts` teams each. most: vertices of a universe. lanes: at most so many share a row, a word each,
// whose vertices have fewer words; 1 to 32.
struct CliqueTask {
  CliqueIndex index;
  const Number* weights[kMostCliqueRoles];
  uint64_t* total;    // three words
  uint32_t* scratch;  // of cliques_global
  CliqueChain chains[kMostCliqueRoles];
  uint8_t own[kMostSlots], back[kMostSlots];  // the planes of slots, seen from the later vertex of a pair: its row's, and the other's
  uint32_t n_roles, n_chains, n_slots, n_planes;
  uint32_t first, n_roots, parts, most;
  uint32_t valued, lanes;
};

// Sets of candidates that a warp has: of the levels from d on for each depth d from 2 to n - 2.
__device__ constexpr int sets_before(int roles, int depth) {
  int found = 0;
  for (int d = 2; d < depth; ++d) found += roles - d;
  return found;
}
__device__ constexpr int sets_of(int roles) { return sets_before(roles, roles - 1); }

// A warp, or a block.
template <bool kBlock>
struct Team {
  uint32_t warp, warps;

  __device__ Team() : warp(kBlock ? threadIdx.x / kLanes : 0), warps(kBlock ? blockDim.x / kLanes : 1) {}
  __device__ void sync() const {
    if constexpr (kBlock) __syncthreads();
    else __syncwarp();
  }
  // The same; is it true for one of them?
  __device__ bool sync_or(bool mine) const {
    if constexpr (kBlock) return __syncthreads_or(mine);
    __syncwarp();
    return __any_sync(kAllLanes, mine);
  }
};

// What a team has of a root.
struct Around {
  uint32_t *ids, *root_rows, *role_rows, *rows;
  uint32_t* sets;  // the warp's own
  uint32_t n, words;
  uint32_t chains;        // bit c: the root may begin chain c
  uint32_t lanes, mask;  // lanes of a row in the last step, and which bits of each word these take
};

// Of the memory of a team: the same as _words in qengine/exec/gpu/cliques.py.
__device__ inline uint64_t rows_begin(const CliqueTask& task, uint32_t warps, int sets) {
  const uint64_t words = (task.most + 31) / 32;
  return task.most + words * (task.n_planes + task.n_roles + uint64_t{warps} * sets);
}
__device__ inline uint64_t team_words(const CliqueTask& task, uint32_t warps, int sets) {
  return rows_begin(task, warps, sets) + uint64_t{task.n_slots} * task.most * ((task.most + 31) / 32);
}

__device__ inline bool admits(const CliqueTask& task, int role, uint32_t rank) {
  return !task.weights[role] || !is_zero(task.weights[role][task.index.order[rank]]);
}

// Makes the universe, which planes link the root with it, and who of it may take which role; rows are cleared.
template <bool kBlock>
__device__ void gather(const CliqueTask& task, const Team<kBlock>& team, uint32_t root, Around& of, Stop& stop) {
  const uint64_t begin = task.index.offsets[root];
  const uint32_t lane = lane_id();
  for (uint32_t w = team.warp; w < of.words && !stop.warp(); w += team.warps) {
    const uint32_t i = w * 32 + lane;
    const bool is_one = i < of.n;
    const uint32_t id = is_one ? task.index.ids[begin + i] : 0, planes = is_one ? task.index.planes[begin + i] : 0;
    if (is_one) of.ids[i] = id;
    for (uint32_t p = 0; p < task.n_planes; ++p) {
      const uint32_t bits = __ballot_sync(kAllLanes, planes >> p & 1);
      if (lane == 0) of.root_rows[p * of.words + w] = bits;
    }
    for (uint32_t role = 0; role < task.n_roles; ++role) {
      const uint32_t bits = __ballot_sync(kAllLanes, is_one && admits(task, role, id));
      if (lane == 0) of.role_rows[role * of.words + w] = bits;
    }
  }
  const uint32_t threads = team.warps * kLanes;
  const uint64_t all = uint64_t{task.n_slots} * of.n * of.words;
  for (uint64_t i = team.warp * kLanes + lane; i < all && !stop.thread(); i += threads) of.rows[i] = 0;
}

// The chains of those given for whose levels there are candidates next to the root; by each warp.
__device__ inline uint32_t begun(const CliqueTask& task, const Around& of) {
  uint32_t found = 0;
  for (uint32_t left = of.chains; left != 0; left &= left - 1) {
    const CliqueChain& chain = task.chains[__ffs(left) - 1];
    bool all = true;
    for (uint32_t j = 1; j < task.n_roles && all; ++j) {
      const uint32_t *linked = of.root_rows + chain.links[0][j] * of.words, *admitted = of.role_rows + chain.roles[j] * of.words;
      uint32_t any = 0;
      for (uint32_t w = lane_id(); w < of.words; w += kLanes) any |= linked[w] & admitted[w];
      all = __any_sync(kAllLanes, any != 0);
    }
    if (all) found |= left & (0u - left);
  }
  return found;
}

// How many of the first n ids are less.
__device__ inline uint32_t place_of(const uint32_t* ids, uint32_t n, uint32_t id) {
  uint32_t low = 0, high = n;
  while (low < high) {
    const uint32_t middle = (low + high) / 2;
    if (ids[middle] < id) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Makes the rows of bits: each pair of the universe is found in the list of its later vertex.
template <bool kBlock>
__device__ void link(const CliqueTask& task, const Team<kBlock>& team, const Around& of, Stop& stop) {
  const CliqueIndex& index = task.index;
  for (uint32_t i = team.warp; i < of.n && !stop.warp(); i += team.warps) {
    const uint32_t v = of.ids[i];
    in_parts(index.offsets[v], index.offsets[v + 1], stop, [&](uint64_t first, uint64_t last) {
      for (uint64_t e = first + lane_id(); e < last; e += kLanes) {
        const uint32_t id = index.ids[e], j = place_of(of.ids, i, id);
        if (j == i || of.ids[j] != id) continue;
        const uint32_t planes = index.planes[e];
        for (uint32_t s = 0; s < task.n_slots; ++s) {
          uint32_t* rows = of.rows + uint64_t{s} * of.n * of.words;
          if (planes >> task.own[s] & 1) atomicOr(&rows[uint64_t{i} * of.words + j / 32], 1u << j % 32);
          if (planes >> task.back[s] & 1) atomicOr(&rows[uint64_t{j} * of.words + i / 32], 1u << i % 32);
        }
      }
    });
  }
}

// Gives the roles of a chain to vertices around a root, by a warp: each lane adds up what it finds.
template <int kRoles, bool kValued>
class Giver {
 public:
  __device__ Giver(const CliqueTask& task, const CliqueChain& chain, const Around& of, Stop& stop, Sum& sum, bool* over)
      : task_(task), chain_(chain), of_(of), stop_(stop), sum_(sum), over_(over) {}

  // Whether a vertex is a candidate for the level next to the root.
  __device__ bool may_begin(uint32_t at) const { return candidates<1>(1, at / 32) >> at % 32 & 1; }

  // Adds all ways to go on up, where level 1's vertex is number `at`; scale: what each counts for.
  __device__ void begin(uint32_t at, const Number& scale) {
    go_on<1>(at, scale);
    if (!kValued && found_ != 0) sum_.add(times(scale, number_of(found_), over_));
  }

 private:
  template <int kLevel>
  __device__ void go_on(uint32_t at, const Number& before) {
    const Number scale = weighed<kLevel>(at, before);
    if constexpr (kLevel == kRoles - 2) {
      const uint32_t* linked = row(kLevel, kLevel + 1, at);
      for (uint32_t w = lane_id(); w < of_.words; w += kLanes) end(linked[w] & candidates<kLevel>(kLevel + 1, w), w, scale);
    } else {
      if (!narrow<kLevel>(at)) return;
      if constexpr (kLevel == kRoles - 3) {
        pairs(scale);
      } else {
        const uint32_t* own = set(kLevel + 1, kLevel + 1);
        for (uint32_t w = 0; w < of_.words; ++w)
          for (uint32_t left = own[w]; left != 0 && !stop_.warp(); left &= left - 1)
            go_on<kLevel + 1>(w * 32 + __ffs(left) - 1, scale);
      }
    }
  }

  __device__ uint32_t* set(int depth, int level) const {
    return of_.sets + (sets_before(kRoles, depth) + level - depth) * of_.words;
  }
  __device__ const uint32_t* row(int from, int to, uint32_t at) const {
    return of_.rows + (uint64_t{chain_.links[from][to]} * of_.n + at) * of_.words;
  }

  // A word of what may be given a level's role once all before level kDepth have vertices.
  template <int kDepth>
  __device__ uint32_t candidates(int level, uint32_t w) const {
    if constexpr (kDepth == 1)
      return of_.root_rows[chain_.links[0][level] * of_.words + w] & of_.role_rows[chain_.roles[level] * of_.words + w];
    else
      return set(kDepth, level)[w];
  }

  // Makes the candidates of later levels where level kLevel's vertex is number `at`; false where one has none.
  template <int kLevel>
  __device__ bool narrow(uint32_t at) {
    __syncwarp();  // what is overwritten has been read
    const uint32_t first = at / 32, less = (1u << at % 32) - 1;
#pragma unroll
    for (int j = kLevel + 1; j < kRoles; ++j) {
      const uint32_t* linked = row(kLevel, j, at);
      const bool below = chain_.below[kLevel] >> j & 1;
      uint32_t* to = set(kLevel + 1, j);
      uint32_t any = 0;
      for (uint32_t w = lane_id(); w < of_.words; w += kLanes) {
        uint32_t found = linked[w] & candidates<kLevel>(j, w);
        if (below && w >= first) found = w == first ? found & less : 0;
        any |= to[w] = found;
      }
      if (!__any_sync(kAllLanes, any != 0)) return false;
    }
    __syncwarp();
    return true;
  }

  // Adds the ways to give the last two roles to candidates.
  __device__ void pairs(const Number& scale) {
    const uint32_t *one = set(kRoles - 2, kRoles - 2), *other = set(kRoles - 2, kRoles - 1);
    const uint32_t* rows = row(kRoles - 2, kRoles - 1, 0);
    const uint32_t words = of_.words;
    if (words <= task_.lanes) {
      const uint32_t place = lane_id() % of_.lanes;
      const uint32_t mine = place < words ? other[place] : 0;
      const uint32_t* column = rows + (place < words ? place : 0);
      for (uint32_t w = 0; w < words; ++w)
        for (uint32_t left = one[w] & of_.mask; left != 0; left &= left - 1) {
          const uint32_t at = w * 32 + __ffs(left) - 1;
          end(mine & column[at * words], place, weighed<kRoles - 2>(at, scale));
        }
      return;
    }
    for (uint32_t w = 0; w < words; ++w)
      for (uint32_t left = one[w]; left != 0 && !stop_.warp(); left &= left - 1) {
        const uint32_t at = w * 32 + __ffs(left) - 1;
        const uint32_t* linked = rows + uint64_t{at} * words;
        const Number each = weighed<kRoles - 2>(at, scale);
        for (uint32_t i = lane_id(); i < words; i += kLanes) end(other[i] & linked[i], i, each);
      }
  }

  // Adds the vertices of a word up that may take the last role.
  __device__ void end(uint32_t bits, uint32_t w, const Number& scale) {
    if constexpr (!kValued) {
      found_ += __popc(bits);
    } else if (task_.valued >> chain_.roles[kRoles - 1] & 1) {
      for (; bits != 0; bits &= bits - 1) sum_.add(weighed<kRoles - 1>(w * 32 + __ffs(bits) - 1, scale));
    } else if (bits != 0) {
      sum_.add(times(scale, number_of(__popc(bits)), over_));
    }
  }

  template <int kLevel>
  __device__ Number weighed(uint32_t at, const Number& scale) const {
    const int role = chain_.roles[kLevel];
    if (!kValued || !(task_.valued >> role & 1)) return scale;
    return times(scale, task_.weights[role][task_.index.order[of_.ids[at]]], over_);
  }

  const CliqueTask& task_;
  const CliqueChain& chain_;
  const Around& of_;
  Stop& stop_;
  Sum& sum_;
  bool* over_;
  uint64_t found_ = 0;  // where nothing has weights
};

// Adds the cliques around a root up, those of one of its parts.
template <int kRoles, bool kValued, bool kBlock>
__device__ void count_around(const CliqueTask& task, const Team<kBlock>& team, const Around& of, uint64_t item, Stop& stop,
                             Sum& sum, bool* over) {
  const uint32_t part = static_cast<uint32_t>(item % task.parts), root = task.index.roots[task.first + item / task.parts];
  const uint32_t all = task.n_chains * of.n, step = task.parts * team.warps;
  for (uint32_t i = part * team.warps + team.warp; i < all && !stop.warp(); i += step) {
    const uint32_t c = i / of.n, at = i % of.n;
    if (!(of.chains >> c & 1)) continue;
    const CliqueChain& chain = task.chains[c];
    Giver<kRoles, kValued> giver(task, chain, of, stop, sum, over);
    if (!giver.may_begin(at)) continue;
    Number scale = number_of(chain.factor);
    const int role = chain.roles[0];
    if (kValued && task.valued >> role & 1) scale = times(scale, task.weights[role][task.index.order[root]], over);
    giver.begin(at, scale);
  }
}

// Goes around roots, each by a team that has memory for it.
template <int kRoles, bool kValued, bool kBlock>
__device__ void count_cliques(const CliqueTask& task, const WorkQueue& queue, uint32_t* flag, uint32_t* memory, uint64_t* taken) {
  const Team<kBlock> team;
  const uint32_t lane = lane_id();
  const int sets = sets_of(kRoles);
  const uint64_t n = uint64_t{task.n_roots} * task.parts, words = (task.most + 31) / 32;
  WorkTaker taker(queue, n);
  Stop& stop = taker.stop();
  Around of{};
  of.ids = memory;
  of.root_rows = of.ids + task.most;
  of.role_rows = of.root_rows + task.n_planes * words;
  of.sets = of.role_rows + (task.n_roles + uint64_t{team.warp} * sets) * words;
  of.rows = memory + rows_begin(task, team.warps, sets);
  Sum sum;
  bool over = false;
  while (true) {
    if (lane == 0 && team.warp == 0) *taken = taker.take(1);
    team.sync();
    const uint64_t item = *taken;
    if (item >= n) break;
    stop.warp();  // warps that take nothing look, too
    const uint32_t root = task.index.roots[task.first + item / task.parts];
    of.n = static_cast<uint32_t>(task.index.offsets[root + 1] - task.index.offsets[root]);
    of.words = (of.n + 31) / 32;
    for (of.lanes = 1; of.lanes < of.words && of.lanes < task.lanes;) of.lanes *= 2;
    const uint32_t rows = kLanes / of.lanes;
    of.mask = (rows < 32 ? ~0u / ((1u << rows) - 1) : 1u) << lane / of.lanes;
    of.chains = __ballot_sync(kAllLanes, lane < task.n_chains && admits(task, task.chains[lane % kMostCliqueRoles].roles[0], root));
    if (of.chains != 0) gather(task, team, root, of, stop);
    if (team.sync_or(stop.stopped()) || of.chains == 0) continue;  // stopped: what others would read is not all there
    of.chains = begun(task, of);
    if (of.chains != 0) link(task, team, of, stop);
    team.sync();
    count_around<kRoles, kValued>(task, team, of, item, stop, sum, &over);
    team.sync();
  }
  sum.gather(kLanes);
  if (lane == 0) add_together(task.total, sum.word, kWords + 1);
  raise_flag(flag, over);
}

template <int kRoles>
struct Roles {
  static constexpr int kNumber = kRoles;
};

// The same for as many roles as the task has.
template <bool kBlock>
__device__ void count_all(const CliqueTask& task, const WorkQueue& queue, uint32_t* flag, uint32_t* memory, uint64_t* taken) {
#if QE_ROLES
  count_cliques<QE_ROLES, QE_VALUED, kBlock>(task, queue, flag, memory, taken);
#else
  const auto with = [&](auto roles) {
    constexpr int kRoles = decltype(roles)::kNumber;
    if (task.valued) count_cliques<kRoles, true, kBlock>(task, queue, flag, memory, taken);
    else count_cliques<kRoles, false, kBlock>(task, queue, flag, memory, taken);
  };
  switch (task.n_roles) {
    case 3: return with(Roles<3>{});
    case 4: return with(Roles<4>{});
    case 5: return with(Roles<5>{});
    case 6: return with(Roles<6>{});
    default: return with(Roles<7>{});
  }
#endif
}

}  // namespace

// Roots of small universes, a warp each. Shared memory: for each warp 8 bytes, then for each team_words.
extern "C" __global__ void __launch_bounds__(256) cliques_light(const CliqueTask task, const WorkQueue queue, uint32_t* flag) {
  QE_SHARED(uint32_t, shared);
  const uint32_t warp = threadIdx.x / kLanes, warps = blockDim.x / kLanes;
  uint32_t* memory = shared + 2 * warps + warp * team_words(task, 1, sets_of(static_cast<int>(task.n_roles)));
  count_all<false>(task, queue, flag, memory, reinterpret_cast<uint64_t*>(shared) + warp);
}

// Roots whose rows fit, a block each. Shared memory: 8 bytes, then team_words.
extern "C" __global__ void __launch_bounds__(1024) cliques_heavy(const CliqueTask task, const WorkQueue queue, uint32_t* flag) {
  QE_SHARED(uint32_t, shared);
  count_all<true>(task, queue, flag, shared + 2, reinterpret_cast<uint64_t*>(shared));
}

// Other roots, a block each, which has team_words of the scratch. Shared memory: 8 bytes.
extern "C" __global__ void __launch_bounds__(1024) cliques_global(const CliqueTask task, const WorkQueue queue, uint32_t* flag) {
  QE_SHARED(uint32_t, shared);
  const uint64_t words = team_words(task, blockDim.x / kLanes, sets_of(static_cast<int>(task.n_roles)));
  count_all<true>(task, queue, flag, task.scratch + blockIdx.x * words, reinterpret_cast<uint64_t*>(shared));
}
