// Finds or counts the embeddings of any MatchPlan, depth first: rows, counts by row or in all, existence.
//
// Problem: as the host's search (search_worker.h), by a tree laid out for it: rows of the enumerated levels and of the seeds'
//   input rows, each with the number of its completions where levels are only counted, or if it has one; or the number of all
//   embeddings of one component. A row may come in several parts whose counts add up, but where existence is asked for.
//   Preconditions: as in dfs_plan.cuh and dfs_levels.cuh.
// Launch: dfs_slices once a plan: blocks of any size, any number. dfs: blocks of whole warps, as many as run at a time; dynamic
//   shared memory for the branches of each warp, or `stacks`.
// Work: up to 32 candidates are bound at a time on each level: those of all prefixes are one pool, each lane tests one of the
//   pool, whichever prefix it belongs to, and what passes is packed into the next 32. Leaves count theirs without binding them.
//   Where one is enough for a prefix, all prefixes' first few candidates come before the pool, one of each prefix at a time: else
//   32 of one prefix would be searched to their ends, on each level, before it is known that one was enough.
//   How warps get their work: dfs_work.cuh.
// Rows: places are taken from one counter once a row's count is known, so there are no holes, and none without completions. They
//   come in no fixed order.
// Numbers: products and counts of rows are checked for 64 bits, the total has 128. Counts are deterministic, in all of a row's
//   parts.
// Source: tree of counts: Dechter and Mateescu, AIJ 2007; batches, sharing: gMatch §4.
#include "qe/abi.h"
#include "search/dfs_work.cuh"

namespace qe {
namespace {

#ifndef QE_BATCH
#define QE_BATCH 32
#endif
constexpr int kBatch = QE_BATCH;       // vertices bound at a time; 1: a prefix a warp
constexpr int kProbes = 8;             // places of a remembered count
constexpr int kTurns = 8;              // candidates that each entry is asked for in turn where one is enough
constexpr Ordinal kInTurn = kTurns * kLanes;

class DepthFirst : DfsWork {
 public:
  __device__ DepthFirst(const DfsJob& job, char* stack)
      : DfsWork(job, stack), row_depth_(plan_.row_depth), exists_(plan_.exists != 0) {}

  __device__ void run() {
    while (acquire()) {
      while (depth_ >= 0) {
        if (!go_on()) return;
        if (steps_ % kShareEvery == 0) share();
        if (!step()) {
          park();
          return;
        }
        __syncwarp();
      }
      release();
    }
    add_total();
  }

 private:
  // False: there is no place for a row.
  __device__ bool step() {
    const DfsBranch& branch = branches_[depth_];
    const int child = branch.child;
    const DfsNode& node = plan_.nodes[child >= 0 ? child : branch.node];
    if (child >= 0) count_child(node, child);
    else if (child != kDraw) return finish(node);
    else if (!draw(node)) close(node);
    return true;
  }

  // ------------------------------------------------------------------ branches

  // The entry that has a number of the pool; `end`: of this lane's entry. All lanes.
  __device__ static int owner(Ordinal end, Ordinal number) {
    int low = 0;
    for (int step = kLanes / 2; step > 0; step /= 2)
      if (__shfl_sync(kAllLanes, end, low + step - 1) <= number) low += step;
    return low;
  }

  __device__ static Ordinal scan(Ordinal mine) {
    for (int step = 1; step < kLanes; step *= 2) {
      const Ordinal before = __shfl_up_sync(kAllLanes, mine, step);
      if (lane_id() >= step) mine += before;
    }
    return mine;
  }

  // How many candidates an entry has. All lanes; `end`: as for `owner`.
  __device__ static Ordinal own(Ordinal end, int entry) {
    const Ordinal upto = __shfl_sync(kAllLanes, end, entry), before = __shfl_sync(kAllLanes, end, entry > 0 ? entry - 1 : 0);
    return entry > 0 ? upto - before : upto;
  }

  // Whether each entry above has found one, or has no candidates. All lanes.
  __device__ static bool settled(const DfsBranch& branch) {
    const Ordinal candidates = own(branch.end[lane_id()], lane_id());
    return __all_sync(kAllLanes, branch.sum[lane_id()] > 0 || candidates == 0);
  }

  // Binds the next batch; false if there is none.
  __device__ bool draw(const DfsNode& node) {
    DfsBranch& branch = branches_[node.depth];
    const Ordinal end = branch.end[lane_id()], first = branch.first, step = branch.step, count = branch.count;
    const bool once = exists_ && !node.spine;  // an entry above is done when one has been found
    Ordinal at = branch.at;
    int n = 0;
    if (once && settled(branch)) at = count;
    while (n < kBatch && at < count) {
      const Ordinal k = at + static_cast<Ordinal>(lane_id());
      const bool in_turn = once && at < kInTurn;
      int entry;
      Ordinal number;  // of the entry's candidates
      bool wanted;
      if (in_turn) {
        entry = static_cast<int>(k % kLanes);
        number = k / kLanes;
        const Ordinal candidates = own(end, entry);
        wanted = k < kInTurn && number < candidates;
      } else {
        const Ordinal ahead = once ? kInTurn : 0, pooled = first + (k - ahead) * step;
        entry = owner(end, pooled);
        if (once) {  // what is left of an entry that is done is passed over
          const int here = __shfl_sync(kAllLanes, entry, 0);
          if (branch.sum[here] > 0) {
            at = ahead + __shfl_sync(kAllLanes, end, here);
            continue;
          }
        }
        const Ordinal before = __shfl_sync(kAllLanes, end, entry > 0 ? entry - 1 : 0);
        number = entry > 0 ? pooled - before : pooled;
        wanted = k < count && !(once && number < kTurns);
      }
      Value value = 0;
      const bool found = wanted && !(once && branch.sum[entry] > 0) &&
                         test(node, entry, branch.pivot[entry], branch.begin[entry], number, &value);
      const uint32_t mask = __ballot_sync(kAllLanes, found);
      const int taken = min(__popc(mask), kBatch - n), rank = rank_in(mask);
      if (found && rank < taken) {
        branch.value[n + rank] = value;
        branch.parent[n + rank] = static_cast<uint8_t>(entry);
        branch.product[n + rank] = node.spine && node.depth > 0 ? branches_[node.depth - 1].product[entry] : 1;
        if (node.spine && node.depth == row_depth_) branch.sum[n + rank] = 0;
      }
      at += static_cast<Ordinal>(taken < __popc(mask) ? nth_lane(mask, taken) : kLanes);
      if (in_turn) at = min(at, kInTurn);
      n += taken;
      if (!go_on()) break;
    }
    __syncwarp();
    if (lane_id() == 0) {
      branch.at = at;
      branch.n = n;
      branch.child = node.child;
    }
    __syncwarp();
    return n > 0;
  }

  // The batch is counted: adds it up, or makes its rows. False: there is no place for all of them.
  __device__ bool finish(const DfsNode& node) {
    DfsBranch& branch = branches_[node.depth];
    const int lane = lane_id();
    const uint64_t product = lane < branch.n ? branch.product[lane] : 0;
    if (!node.spine) {
      if (product > 0) add(branch.sum[branch.parent[lane]], product);
    } else if (node.depth == row_depth_) {
      if (!emit(branch)) return false;
    } else if (row_depth_ >= 0) {
      if (product > 0) add(branches_[row_depth_].sum[entry_at(node.depth, lane, row_depth_)], product);
    } else if (!exists_) {
      low_ += product;
      high_ += low_ < product;
    } else if (__any_sync(kAllLanes, product > 0) && lane == 0) {
      atomicExch(reinterpret_cast<Wide*>(&state_.total_low), Wide{1});
      atomicExch(&state_.stop, 1);
    }
    __syncwarp();
    if (lane == 0) branch.child = kDraw;
    __syncwarp();
    return true;
  }

  // The pool is empty: gives the branch above what was counted.
  __device__ void close(const DfsNode& node) {
    const DfsBranch& branch = branches_[node.depth];
    depth_ = node.depth - 1;
    if (depth_ < 0) return;
    if (node.spine) {
      if (lane_id() == 0) branches_[depth_].child = depth_ == row_depth_ ? -1 : kDraw;
      __syncwarp();
      return;
    }
    const int lane = lane_id();
    if (node.memo >= 0 && branch.computed >> lane & 1) remember(node, key_of(node, lane), branch.sum[lane]);
    const uint64_t sum = branch.sum[branch.leader[lane]];
    multiply(branches_[depth_], sum, node.next);
  }

  // Multiplies what each entry has by what its child counts; goes on with the next child if anything is left.
  __device__ void multiply(DfsBranch& branch, uint64_t count, int next) {
    uint64_t product = lane_id() < branch.n ? branch.product[lane_id()] : 0;
    if (product > 0) {
      if (exists_) count = count > 0;
      if (__umul64hi(product, count) != 0) fail(kOverflow);
      branch.product[lane_id()] = product *= count;
    }
    const bool any = __any_sync(kAllLanes, product > 0);
    __syncwarp();  // all have read which child this was
    if (lane_id() == 0) branch.child = any ? next : kDraw;
    __syncwarp();
  }

  // Counts a child of the branch that is bound last, or goes down to it.
  __device__ void count_child(const DfsNode& node, int index) {
    DfsBranch& branch = branches_[node.depth - 1];
    const int lane = lane_id();
    const bool live = lane < branch.n && branch.product[lane] > 0;
    if (node.leaf) {
      if (!node.again) members_ = count_leaf(node, live);
      const auto minus = static_cast<uint64_t>(node.minus);
      multiply(branch, members_ > minus ? members_ - minus : 0, node.next);
      return;
    }
    DfsBranch& below = branches_[node.depth];
    below.leader[lane] = static_cast<uint8_t>(lane);
    below.sum[lane] = 0;
    bool wanted = live;
    if (node.memo >= 0) wanted = recall(node, live, below);
    const Pool pool = wanted ? open(node, lane) : Pool{0, 0, 0};
    const Ordinal end = scan(pool.n), total = __shfl_sync(kAllLanes, end, kLanes - 1);
    below.end[lane] = end;
    below.begin[lane] = pool.begin;
    below.pivot[lane] = static_cast<int8_t>(pool.pivot);
    const uint32_t computed = __ballot_sync(kAllLanes, wanted);
    if (lane == 0) {
      const bool cut = node.spine && node.depth == 1;
      below.first = cut ? part_ : 0;
      below.step = cut ? parts_ : 1;
      below.at = 0;
      below.count = total > below.first ? (total - below.first + below.step - 1) / below.step : 0;
      if (exists_ && !node.spine && total > 0) below.count += kInTurn;
      below.node = index;
      below.child = kDraw;
      below.computed = computed;
    }
    depth_ = node.depth;
    __syncwarp();
  }

  // ------------------------------------------------------------------ leaves

  // How many candidates the leaf has below this lane's entry; at least `enough` of them where it is only asked whether one is.
  __device__ uint64_t count_leaf(const DfsNode& node, bool live) {
    const int lane = lane_id();
    const Pool pool = live ? open(node, lane) : Pool{0, 0, 0};
    if (node.plain) return live ? count_plain_leaf(node, lane, pool) : 0;
    uint64_t found = 0;
    Ordinal asked = 0, left = pool.n;
    if (exists_) {
      const auto enough = static_cast<uint64_t>(node.enough);
      for (; asked < kTurns; ++asked) {
        const bool wanted = asked < pool.n && found < enough;
        if (!__any_sync(kAllLanes, wanted)) return found;
        Value value;
        found += wanted && test(node, lane, pool.pivot, pool.begin, asked, &value);
      }
      left = found < enough && pool.n > asked ? pool.n - asked : 0;
    }
    const Ordinal end = scan(left), start = end - left, total = __shfl_sync(kAllLanes, end, kLanes - 1);
    for (Ordinal base = 0; base < total;) {
      const Ordinal number = base + static_cast<Ordinal>(lane);
      const int entry = owner(end, number);
      if (exists_) {  // what is left of an entry that has enough is passed over
        const int here = __shfl_sync(kAllLanes, entry, 0);
        if (__shfl_sync(kAllLanes, found, here) >= static_cast<uint64_t>(node.enough)) {
          base = __shfl_sync(kAllLanes, end, here);
          continue;
        }
      }
      const uint64_t begin = __shfl_sync(kAllLanes, pool.begin, entry);
      const int pivot = __shfl_sync(kAllLanes, pool.pivot, entry);
      const Ordinal before = __shfl_sync(kAllLanes, start, entry);
      Value value;
      const bool passes = number < total && test(node, entry, pivot, begin, asked + number - before, &value);
      const uint32_t mask = __ballot_sync(kAllLanes, passes);
      const auto from = static_cast<uint32_t>(max(start, base) - base);  // of this lane's numbers
      const auto to = static_cast<uint32_t>(min(end, base + kLanes) - base);
      if (start < base + kLanes && end > base) found += __popc(mask & bits_between(from, to));
      if (!go_on()) break;
      base += kLanes;
    }
    return found;
  }

  // Bits [from, to) of 32, from < 32.
  __device__ static uint32_t bits_between(uint32_t from, uint32_t to) {
    const uint32_t upto = to >= 32 ? kAllLanes : (1u << to) - 1;
    return upto & ~((1u << from) - 1);
  }

  // ------------------------------------------------------------------ remembered counts

  __device__ uint64_t key_of(const DfsNode& node, int entry) const {
    uint64_t key = 0;
    int depth = node.depth - 1;
    for (int k = 0; k < 2; ++k) {
      if (node.memo_depth[k] < 0) continue;
      for (; depth > node.memo_depth[k]; --depth) entry = branches_[depth].parent[entry];
      key = key << 32 | static_cast<uint32_t>(branches_[depth].value[entry]);
    }
    return key + 1;
  }

  __device__ DfsMemo* table(const DfsNode& node) const {
    return job_.memos + (static_cast<size_t>(node.memo) << plan_.memo_bits);
  }

  __device__ uint64_t place(uint64_t key, int probe) const {
    return ((key * 0x9E3779B97F4A7C15ull >> (64 - plan_.memo_bits)) + probe) & ((uint64_t{1} << plan_.memo_bits) - 1);
  }

  // Fills in the counts that are remembered, and lets one entry count for all with the same vertices. Returns whether this
  // lane's entry must be counted.
  __device__ bool recall(const DfsNode& node, bool live, DfsBranch& below) {
    const int lane = lane_id();
    const uint64_t key = live ? key_of(node, lane) : 0;
    const int leader = __ffs(__match_any_sync(kAllLanes, key)) - 1;
    below.leader[lane] = static_cast<uint8_t>(leader);
    if (!live || leader != lane) return false;
    DfsMemo* entries = table(node);
    for (int probe = 0; probe < kProbes; ++probe) {
      const DfsMemo& at = entries[place(key, probe)];
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
  __device__ void remember(const DfsNode& node, uint64_t key, uint64_t count) {
    DfsMemo* entries = table(node);
    for (int probe = 0; probe < kProbes; ++probe) {
      DfsMemo& at = entries[place(key, probe)];
      const uint64_t held = atomicCAS(reinterpret_cast<Wide*>(&at.key), Wide{0}, Wide{key});
      if (held != 0 && held != key) continue;
      atomicExch(reinterpret_cast<Wide*>(&at.count), Wide{count + 1});
      return;
    }
  }

  // ------------------------------------------------------------------ results

  // Makes the rows of a batch that have completions, and forgets their counts. False: there is no place for all of them.
  __device__ bool emit(DfsBranch& branch) {
    uint64_t* counts = row_depth_ + 1 == plan_.spine ? branch.product : branch.sum;
    const int lane = lane_id();
    const bool wanted = lane < branch.n && counts[lane] > 0;
    const uint32_t mask = __ballot_sync(kAllLanes, wanted);
    if (mask == 0) return true;
    uint64_t first;
    const int n = __popc(mask), taken = take_places(n, &first), rank = rank_in(mask);
    if (wanted && rank < taken) {
      write_row(first + static_cast<uint64_t>(rank), counts[lane]);
      counts[lane] = 0;
    }
    __syncwarp();
    return taken == n;
  }

  // Takes places for up to `wanted` rows; returns how many there are, and the first.
  __device__ int take_places(int wanted, uint64_t* first) {
    uint64_t at = 0;
    if (lane_id() == 0) at = atomicAdd(reinterpret_cast<Wide*>(&state_.rows), static_cast<Wide>(wanted));
    *first = at = __shfl_sync(kAllLanes, at, 0);
    const uint64_t left = at < job_.capacity ? job_.capacity - at : 0;
    const int taken = left < static_cast<uint64_t>(wanted) ? static_cast<int>(left) : wanted;
    if (taken < wanted && lane_id() == 0) atomicExch(&state_.full, 1);
    return taken;
  }

  __device__ void write_row(uint64_t place, uint64_t count) {
    int64_t row = 0;
    int entry = lane_id();
    for (int depth = row_depth_; depth >= 0; --depth) {
      const DfsBranch& branch = branches_[depth];
      const DfsNode& node = plan_.nodes[branch.node];
      const auto value = static_cast<int64_t>(branch.value[entry]);
      if (node.level < 0) row = value;
      if (node.output >= 0) job_.columns[static_cast<uint64_t>(node.output) * job_.capacity + place] = value;
      entry = branch.parent[entry];
    }
    job_.row[place] = row;
    if (job_.counts) job_.counts[place] = count;
  }

  __device__ void add(uint64_t& to, uint64_t n) {
    const uint64_t before = atomicAdd(reinterpret_cast<Wide*>(&to), Wide{n});
    if (before + n < before) fail(kOverflow);
  }

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
    if (lane_id() != 0 || (low_ | high_) == 0) return;
    const uint64_t before = atomicAdd(reinterpret_cast<Wide*>(&state_.total_low), Wide{low_});
    high_ += before + low_ < before;
    if (high_ > 0) atomicAdd(reinterpret_cast<Wide*>(&state_.total_high), Wide{high_});
  }

  const int row_depth_;
  const bool exists_;
  uint64_t members_ = 0;          // what the last leaf had below this lane's entry
  uint64_t low_ = 0, high_ = 0;   // counted by this lane
};

}  // namespace
}  // namespace qe

extern "C" __global__ void dfs_slices(const qe::DfsPlan* plan) {
  for (uint32_t v = 0; v < plan->n_views; ++v) {
    const qe::DfsView& view = plan->views[v];
    const qe::Pcsr& list = plan->match->lists[view.list];
    for (uint32_t id = view.lo + blockIdx.x * blockDim.x + threadIdx.x; id < view.hi; id += gridDim.x * blockDim.x) {
      qe::IdRange bounds{view.begin, view.end};
      if (view.below) bounds.hi = min(bounds.hi, id);
      if (view.above) bounds.lo = max(bounds.lo, id + 1);
      const qe::Slice at = bounds.lo < bounds.hi ? qe::cut_list(list, id, bounds) : qe::Slice{0, 0};
      view.slices[id - view.lo] = {at.begin, static_cast<uint32_t>(at.end - at.begin), 0};
    }
  }
}

extern "C" __global__ void __launch_bounds__(128) dfs(const qe::DfsJob* job) {
  extern __shared__ __align__(16) char shared[];
  const size_t bytes = sizeof(qe::DfsBranch) * job->plan->branches, warp = threadIdx.x / qe::kLanes;
  char* stack = shared + bytes * warp;
  if constexpr (QE_LEVELS > 8) stack = job->stacks + bytes * (size_t{blockIdx.x} * (blockDim.x / qe::kLanes) + warp);
  qe::DepthFirst(*job, stack).run();
}
