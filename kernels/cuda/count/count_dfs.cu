// Counts the embeddings of a plan by the tree that the host derives of its levels (host/plan/search_plan.h).
//
// Problem: the number of embeddings of one component of a plan without seeds whose levels bind vertices and whose lists hold
//   none twice. Preconditions: as in tree_plan.cuh; lists ascending; the state and the tables of remembered counts zeroed.
// Launch: tree_slices once a plan: blocks of any size, any number. count_dfs: blocks of whole warps, any number;
//   dynamic shared memory warp_bytes a warp.
// Work: a warp takes tasks, a few roots or a part of what lies below a hub, from one counter. Up to 32 vertices are bound at a
//   time on each level: the candidates of all of them are one pool, each lane tests one of the pool, whichever prefix it
//   belongs to, and what passes is packed into the next 32. Leaves count theirs without binding them.
// Numbers: products are checked for 64 bits, the total has 128. Deterministic.
//   Asked to leave, warps end their tasks; the state and the tables of remembered counts are then another launch's to go on with.
// Source: tree of counts: Dechter and Mateescu, AIJ 2007; batches: gMatch §4.2.
#include "base/candidates.cuh"
#include "base/stop.cuh"
#include "base/warp.cuh"
#include "count/tree_node.cuh"
#include "qe/abi.h"

namespace qe {
namespace {

#ifndef QE_BATCH
#define QE_BATCH 32
#endif
constexpr int kBatch = QE_BATCH;       // vertices bound at a time; 1: a prefix a warp
constexpr int kProbes = 8;             // places of a remembered count
constexpr int kFromList = -2;          // a pivot that is no check: the level's candidates

using Wide = unsigned long long;  // what atomics take

template <typename T>
__device__ T look(const T& at) {
  return *const_cast<const volatile T*>(&at);
}

struct Pool {
  uint64_t begin;
  uint32_t n;
  int32_t pivot;
};

class TreeCount {
 public:
  __device__ TreeCount(const TreePlan& plan, TreeState& state, TreeMemo* memos, StopFlag flag, char* shared)
      : plan_(plan), state_(state), memos_(memos), stop_(flag, &state.stop), branches_(reinterpret_cast<Branch*>(shared)) {
    hub_tasks_ = uint64_t{plan.twice} * plan.parts * plan.parts + uint64_t{plan.once - plan.twice} * plan.parts;
    n_tasks_ = hub_tasks_ + (plan.n_roots - plan.once + plan.batch - 1) / plan.batch;
  }

  __device__ void run() {
    while (take_task()) {
      while (depth_ >= 0) {
        if (!go_on()) return;
        const Branch& branch = branches_[depth_];
        const int child = branch.child;
        at_node(plan_, child >= 0 ? child : branch.node, [&](auto node) {
          if (child >= 0) {
            count_child(node, child);
          } else if (node.leaf() == 0) {
            if (child != kDraw) finish(node);
            else if (!draw(node)) close(node);
          }
        });
        __syncwarp();
      }
    }
    add_total();
  }

 private:
  // ------------------------------------------------------------------ tasks

  __device__ bool take_task() {
    uint64_t task = n_tasks_;
    if (lane_id() == 0 && !look(state_.leave)) task = atomicAdd(reinterpret_cast<Wide*>(&state_.next_task), Wide{1});
    task = __shfl_sync(kAllLanes, task, 0);
    if (task >= n_tasks_) return false;
    uint32_t root, n = 1;
    part_[0] = part_[1] = 0;
    parts_[0] = parts_[1] = 1;
    const uint64_t each = plan_.parts, twice = plan_.twice * each * each;
    if (task < twice) {
      root = static_cast<uint32_t>(task / (each * each));
      part_[0] = static_cast<uint32_t>(task / each % each);
      part_[1] = static_cast<uint32_t>(task % each);
      parts_[0] = parts_[1] = plan_.parts;
    } else if (task < hub_tasks_) {
      root = plan_.twice + static_cast<uint32_t>((task - twice) / each);
      part_[0] = static_cast<uint32_t>((task - twice) % each);
      parts_[0] = plan_.parts;
    } else {
      root = plan_.once + static_cast<uint32_t>(task - hub_tasks_) * plan_.batch;
      n = min(plan_.batch, plan_.n_roots - root);
    }
    const TreeNode& node = plan_.nodes[0];
    Branch& branch = branches_[0];
    branch.end[lane_id()] = UINT32_MAX;
    branch.pivot[lane_id()] = static_cast<int8_t>(kFromList);
    branch.begin[lane_id()] = node.first;
    if (lane_id() == 0) {
      branch.first = root;
      branch.step = 1;
      branch.at = 0;
      branch.count = n;
      branch.node = 0;
      branch.child = kDraw;
    }
    depth_ = 0;
    __syncwarp();
    return true;
  }

  // Called once a step, whichever loop it is in. False: the warp must leave all of its loops; it stays so.
  __device__ bool go_on() {
    if (++steps_ % kLookEvery == 0) stop_.warp([&] { atomicExch(&state_.leave, 1); });
    return !stop_.stopped();
  }

  // ------------------------------------------------------------------ candidates

  // The candidates of a level below an entry, before its tests: its shortest slice, or its list.
  template <typename AnyNode>
  __device__ Pool open(const AnyNode& node, int entry) const {
    Pool pool{0, UINT32_MAX, kFromList};
    if (node.filter() == kByList) pool.n = node.at.n_candidates;
    int depth = node.depth() - 1;
    node.all_checks(plan_, [&](const TreeCheck& check, int k) {
      if (check.kind != kLinked) return true;
      for (; depth > check.depth; --depth) entry = branches_[depth].parent[entry];
      const TreeView& view = plan_.views[check.view];
      const TreeSlice slice = view.slices[branches_[depth].value[entry] - view.lo];
      if (slice.n < pool.n) pool = {slice.begin, slice.n, k};
      return true;
    });
    return pool;
  }

  template <typename AnyNode>
  __device__ uint32_t candidate(const AnyNode& node, int pivot, uint64_t at) const {
    if (pivot != kFromList) return plan_.views[plan_.checks[node.checks().first + pivot].view].neighbours[at];
    return node.filter() == kByList ? node.at.candidates[at] : static_cast<uint32_t>(at);
  }

  // Whether a candidate is one below an entry.
  template <typename AnyNode>
  __device__ bool admits(const AnyNode& node, int entry, int pivot, uint32_t vertex) const {
    if (node.filter() == kByBits && !has_bit(node.at.bitset, vertex - node.at.bitset_begin)) return false;
    if (node.filter() == kByList && pivot != kFromList && !contains(node.at.candidates, node.at.n_candidates, vertex))
      return false;
    if (node.ranges().count > 0 && !in_ranges(node.ranges(), vertex)) return false;
    if (node.pairs().count > 0 && !passes_pairs(node, entry, vertex)) return false;
    int depth = node.depth() - 1;
    return node.all_checks(plan_, [&](const TreeCheck& check, int k) {
      for (; depth > check.depth; --depth) entry = branches_[depth].parent[entry];
      const uint32_t other = branches_[depth].value[entry];
      if (check.kind == kDifferent) return vertex != other;
      if (check.kind != kLinked) return check.kind == kLower ? vertex < other : vertex > other;
      if (k == pivot) return true;
      const TreeView& view = plan_.views[check.view];
      const TreeSlice slice = view.slices[other - view.lo];
      return contains(view.neighbours + slice.begin, slice.n, vertex);
    });
  }

  // No pair of the level has both its equalities.
  template <typename AnyNode>
  __device__ bool passes_pairs(const AnyNode& node, int entry, uint32_t vertex) const {
    const auto value = [&](int32_t depth) { return depth < 0 ? vertex : value_at(node.depth() - 1, entry, depth); };
    for (int k = 0; k < node.pairs().count; ++k) {
      const PlanPair pair = plan_.pairs[node.pairs().first + k];
      if (value(pair.a) == value(pair.b) && value(pair.c) == value(pair.d)) return false;
    }
    return true;
  }

  __device__ bool in_ranges(PlanSpan ranges, uint32_t vertex) const {
    for (int k = 0; k < ranges.count; ++k) {
      const PlanRange range = plan_.ranges[ranges.first + k];
      if (range.begin <= vertex && vertex < range.end) return true;
    }
    return false;
  }

  // The entry that has a number of the pool; `end`: of this lane's entry. All lanes.
  __device__ static int owner(uint32_t end, uint32_t number) {
    int low = 0;
    for (int step = kLanes / 2; step > 0; step /= 2)
      if (__shfl_sync(kAllLanes, end, low + step - 1) <= number) low += step;
    return low;
  }

  // ------------------------------------------------------------------ branches

  // Binds the next batch; false if there is none.
  template <typename AnyNode>
  __device__ bool draw(const AnyNode& node) {
    Branch& branch = branches_[node.depth()];
    const uint32_t end = branch.end[lane_id()], first = branch.first, step = branch.step, count = branch.count;
    uint32_t at = branch.at;
    int n = 0;
    while (n < kBatch && at < count) {
      const uint32_t k = at + static_cast<uint32_t>(lane_id()), number = first + k * step;
      const int entry = owner(end, number);
      const uint32_t before = __shfl_sync(kAllLanes, end, entry > 0 ? entry - 1 : 0);
      uint32_t vertex = 0;
      bool found = k < count;
      if (found) {
        const int pivot = branch.pivot[entry];
        vertex = candidate(node, pivot, branch.begin[entry] + (entry > 0 ? number - before : number));
        found = admits(node, entry, pivot, vertex);
      }
      const uint32_t mask = __ballot_sync(kAllLanes, found);
      const int taken = min(__popc(mask), kBatch - n), rank = rank_in(mask);
      if (found && rank < taken) {
        branch.value[n + rank] = vertex;
        branch.parent[n + rank] = static_cast<uint8_t>(entry);
        branch.product[n + rank] = node.spine() && node.depth() > 0 ? branches_[node.depth() - 1].product[entry] : 1;
      }
      at += static_cast<uint32_t>(taken < __popc(mask) ? nth_lane(mask, taken) : kLanes);
      n += taken;
      if (!go_on()) break;
    }
    __syncwarp();
    if (lane_id() == 0) {
      branch.at = at;
      branch.n = n;
      branch.child = node.child();
    }
    __syncwarp();
    return n > 0;
  }

  // The batch is counted: adds it up.
  template <typename AnyNode>
  __device__ void finish(const AnyNode& node) {
    Branch& branch = branches_[node.depth()];
    const bool held = lane_id() < branch.n;
    const uint64_t product = held ? branch.product[lane_id()] : 0;
    if (node.spine()) {
      low_ += product;
      high_ += low_ < product;
    } else if (product > 0) {
      const uint64_t before = atomicAdd(reinterpret_cast<Wide*>(&branch.sum[branch.parent[lane_id()]]), Wide{product});
      if (before + product < before) fail(kOverflow);
    }
    __syncwarp();
    if (lane_id() == 0) branch.child = kDraw;
    __syncwarp();
  }

  // The pool is empty: gives the branch above what was counted.
  template <typename AnyNode>
  __device__ void close(const AnyNode& node) {
    const Branch& branch = branches_[node.depth()];
    depth_ = node.depth() - 1;
    if (depth_ < 0) return;
    if (node.spine()) {
      if (lane_id() == 0) branches_[node.depth() - 1].child = kDraw;
      __syncwarp();
      return;
    }
    const int lane = lane_id();
    if (node.memo() >= 0 && branch.computed >> lane & 1) remember(node, key_of(node, lane), branch.sum[lane]);
    const uint64_t sum = branch.sum[branch.leader[lane]];
    multiply(branches_[node.depth() - 1], sum, node.next());
  }

  // Multiplies what each entry has by what its child counts; goes on with the next child if anything is left.
  __device__ void multiply(Branch& branch, uint64_t count, int next) {
    uint64_t product = lane_id() < branch.n ? branch.product[lane_id()] : 0;
    if (product > 0) {
      if (__umul64hi(product, count) != 0) fail(kOverflow);
      branch.product[lane_id()] = product *= count;
    }
    const bool any = __any_sync(kAllLanes, product > 0);
    __syncwarp();  // all have read which child this was
    if (lane_id() == 0) branch.child = any ? next : kDraw;
    __syncwarp();
  }

  // Counts a child of the branch that is bound last, or goes down to it.
  template <typename AnyNode>
  __device__ void count_child(const AnyNode& node, int index) {
    Branch& branch = branches_[node.depth() - 1];
    const int lane = lane_id();
    const bool live = lane < branch.n && branch.product[lane] > 0;
    if (node.leaf()) {
      if (!node.again()) members_ = count_leaf(node, live);
      const auto minus = static_cast<uint64_t>(node.minus());
      multiply(branch, members_ > minus ? members_ - minus : 0, node.next());
      return;
    }
    Branch& below = branches_[node.depth()];
    below.leader[lane] = static_cast<uint8_t>(lane);
    below.sum[lane] = 0;
    bool wanted = live;
    if (node.memo() >= 0) wanted = recall(node, live, below);
    const Pool pool = wanted ? open(node, lane) : Pool{0, 0, 0};
    const uint32_t end = scan(pool.n), total = __shfl_sync(kAllLanes, end, kLanes - 1);
    below.end[lane] = end;
    below.begin[lane] = pool.begin;
    below.pivot[lane] = static_cast<int8_t>(pool.pivot);
    const uint32_t computed = __ballot_sync(kAllLanes, wanted);
    if (lane == 0) {
      const int cut = node.spine() && node.depth() <= 2 ? node.depth() - 1 : -1;
      below.first = cut >= 0 ? part_[cut] : 0;
      below.step = cut >= 0 ? parts_[cut] : 1;
      below.at = 0;
      below.count = total > below.first ? (total - below.first + below.step - 1) / below.step : 0;
      below.node = index;
      below.child = kDraw;
      below.computed = computed;
    }
    depth_ = node.depth();
    __syncwarp();
  }

  __device__ static uint32_t scan(uint32_t mine) {
    for (int step = 1; step < kLanes; step *= 2) {
      const uint32_t before = __shfl_up_sync(kAllLanes, mine, step);
      if (lane_id() >= step) mine += before;
    }
    return mine;
  }

  // ------------------------------------------------------------------ leaves

  // How many candidates the leaf has below this lane's entry.
  template <typename AnyNode>
  __device__ uint64_t count_leaf(const AnyNode& node, bool live) {
    const int lane = lane_id();
    const Pool pool = live ? open(node, lane) : Pool{0, 0, 0};
    if (node.plain()) return live ? count_plain_leaf(node, lane, pool) : 0;
    const uint32_t end = scan(pool.n), start = end - pool.n, total = __shfl_sync(kAllLanes, end, kLanes - 1);
    uint64_t found = 0;
    for (uint32_t base = 0; base < total; base += kLanes) {
      const uint32_t number = base + static_cast<uint32_t>(lane);
      const int entry = owner(end, number);
      const uint64_t begin = __shfl_sync(kAllLanes, pool.begin, entry);
      const int pivot = __shfl_sync(kAllLanes, pool.pivot, entry);
      const uint32_t before = __shfl_sync(kAllLanes, start, entry);
      const bool passes =
          number < total && admits(node, entry, pivot, candidate(node, pivot, begin + (number - before)));
      const uint32_t mask = __ballot_sync(kAllLanes, passes);
      const uint32_t from = max(start, base) - base, to = min(end, base + kLanes) - base;  // of this lane's numbers
      if (start < base + kLanes && end > base) found += __popc(mask & bits_between(from, to));
      if (!go_on()) break;
    }
    return found;
  }

  // Bits [from, to) of 32, from < 32.
  __device__ static uint32_t bits_between(uint32_t from, uint32_t to) {
    const uint32_t upto = to >= 32 ? kAllLanes : (1u << to) - 1;
    return upto & ~((1u << from) - 1);
  }

  template <typename AnyNode>
  __device__ uint64_t count_plain_leaf(const AnyNode& node, int entry, const Pool& pool) const {
    const uint32_t* list = plan_.views[plan_.checks[node.checks().first + pool.pivot].view].neighbours + pool.begin;
    uint64_t n = pool.n;
    node.all_checks(plan_, [&](const TreeCheck& check, int k) {
      if (check.kind != kDifferent) return true;
      const uint32_t other = value_at(node.depth() - 1, entry, check.depth);
      const bool first = node.all_checks(plan_, [&](const TreeCheck& one, int before) {  // two may be the same vertex
        return before >= k || one.kind != kDifferent || value_at(node.depth() - 1, entry, one.depth) != other;
      });
      n -= first && contains(list, pool.n, other);
      return true;
    });
    return n;
  }

  __device__ uint32_t value_at(int depth, int entry, int wanted) const {
    for (; depth > wanted; --depth) entry = branches_[depth].parent[entry];
    return branches_[depth].value[entry];
  }

  // ------------------------------------------------------------------ remembered counts

  template <typename AnyNode>
  __device__ uint64_t key_of(const AnyNode& node, int entry) const {
    uint64_t key = 0;
    int depth = node.depth() - 1;
    for (int k = 0; k < 2; ++k) {
      if (node.memo_depth(k) < 0) continue;
      for (; depth > node.memo_depth(k); --depth) entry = branches_[depth].parent[entry];
      key = key << 32 | branches_[depth].value[entry];
    }
    return key + 1;
  }

  template <typename AnyNode>
  __device__ TreeMemo* table(const AnyNode& node) const {
    return memos_ + (static_cast<size_t>(node.memo()) << plan_.memo_bits);
  }

  __device__ uint64_t place(uint64_t key, int probe) const {
    return ((key * 0x9E3779B97F4A7C15ull >> (64 - plan_.memo_bits)) + probe) & ((uint64_t{1} << plan_.memo_bits) - 1);
  }

  // Fills in the counts that are remembered, and lets one entry count for all with the same vertices. Returns whether this
  // lane's entry must be counted.
  template <typename AnyNode>
  __device__ bool recall(const AnyNode& node, bool live, Branch& below) {
    const int lane = lane_id();
    const uint64_t key = live ? key_of(node, lane) : 0;
    const int leader = __ffs(__match_any_sync(kAllLanes, key)) - 1;
    below.leader[lane] = static_cast<uint8_t>(leader);
    if (!live || leader != lane) return false;
    TreeMemo* entries = table(node);
    for (int probe = 0; probe < kProbes; ++probe) {
      const TreeMemo& at = entries[place(key, probe)];
      const uint64_t held = look(at.key);
      if (held == 0) return true;
      if (held != key) continue;
      const uint64_t count = look(at.count);
      if (count == 0) return true;
      below.sum[lane] = count - 1;
      return false;
    }
    return true;
  }

  // All who count for the same vertices find the same, so it matters not who writes. Where there is no place it is forgotten.
  template <typename AnyNode>
  __device__ void remember(const AnyNode& node, uint64_t key, uint64_t count) {
    TreeMemo* entries = table(node);
    for (int probe = 0; probe < kProbes; ++probe) {
      TreeMemo& at = entries[place(key, probe)];
      const uint64_t held = atomicCAS(reinterpret_cast<Wide*>(&at.key), Wide{0}, Wide{key});
      if (held != 0 && held != key) continue;
      atomicExch(reinterpret_cast<Wide*>(&at.count), Wide{count + 1});
      return;
    }
  }

  // ------------------------------------------------------------------ results

  __device__ void fail(int32_t status) {
    atomicExch(&state_.status, status);
    atomicExch(&state_.stop, 1);
  }

  __device__ void add_total() {
    for (int step = kLanes / 2; step > 0; step /= 2) {
      const uint64_t low = __shfl_xor_sync(kAllLanes, low_, step), high = __shfl_xor_sync(kAllLanes, high_, step);
      low_ += low;
      high_ += high + (low_ < low);
    }
    if (lane_id() != 0) return;
    const uint64_t before = atomicAdd(reinterpret_cast<Wide*>(&state_.total_low), Wide{low_});
    high_ += before + low_ < before;
    if (high_ > 0) atomicAdd(reinterpret_cast<Wide*>(&state_.total_high), Wide{high_});
  }

  const TreePlan& plan_;
  TreeState& state_;
  TreeMemo* memos_;
  SharedStop stop_;
  Branch* branches_;
  uint64_t hub_tasks_, n_tasks_;
  uint32_t part_[2], parts_[2];   // of the second and third branch's candidates: which, of how many
  int depth_ = -1;
  uint64_t members_ = 0;          // what the last leaf had below this lane's entry
  uint64_t low_ = 0, high_ = 0;   // counted by this lane
  uint32_t steps_ = 0;
};

}  // namespace
}  // namespace qe

extern "C" __global__ void tree_slices(const qe::MatchPlan* match, const qe::TreePlan* plan) {
  for (uint32_t v = 0; v < plan->n_views; ++v) {
    const qe::TreeView& view = plan->views[v];
    const qe::Pcsr& list = match->lists[view.list];
    for (uint32_t id = view.lo + blockIdx.x * blockDim.x + threadIdx.x; id < view.hi; id += gridDim.x * blockDim.x) {
      qe::IdRange bounds{view.begin, view.end};
      if (view.below) bounds.hi = min(bounds.hi, id);
      if (view.above) bounds.lo = max(bounds.lo, id + 1);
      const qe::Slice at = bounds.lo < bounds.hi ? qe::cut_list(list, id, bounds) : qe::Slice{0, 0};
      view.slices[id - view.lo] = {at.begin, static_cast<uint32_t>(at.end - at.begin), 0};
    }
  }
}

extern "C" __global__ void __launch_bounds__(128) count_dfs(const qe::TreePlan* plan, qe::TreeState* state,
                                                            qe::TreeMemo* memos, qe::StopFlag stop,
                                                            uint32_t warp_bytes) {
  extern __shared__ __align__(16) char shared[];
  qe::TreeCount(*plan, *state, memos, stop, shared + size_t{warp_bytes} * (threadIdx.x / qe::kLanes)).run();
}
