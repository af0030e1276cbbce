// Counts the embeddings of a plan, or the completions of rows that bind its first levels, by breadth-first extension, in one
// launch.
//
// Problem: the tree of counts that the host derives (qe/derived_plan.h) as a list of steps over tables of rows. A row binds
// one level, and extends a row of the table above it; table 0 is the one row that binds nothing. `kExtend` makes a table
// of all extensions of another's rows by one level, `kTally` counts them for each row, `kFold` adds up a table's rows by
// the rows that they extend. What a row's steps count multiplies: that is its weight, and table 0's the answer; or where
// tables are given that bind the first levels, `kSettle` makes it the count of each row of the last one. Levels that don't
// mention each other are so never combined, and memory is bounded by paths of the tree. Where it is enough to know which
// counts are 0, all that is counted for a row is 0 or 1, and its candidates are left once some have been found.
// Preconditions: all of the grid's blocks run at a time (a cooperative launch); the state is zeros, but for the rows of the
// last table that is given; so are `keys`.
// Launch: blocks of whole warps. A warp takes up to 32 rows in turn, and tests their candidates (qe/extend_step.h) a slot a
// lane; rows with many are cut into tiles that all warps share, after a barrier (SGSI §7's layers). Shared memory: `warp_bytes`
// a warp, for the values and operands of 32 rows.
// Bytes moved: a row's lists once; each row made 8 bytes (of a relationship 12), read once a step on it, 16 a step for weights;
// each row that is brought together with others 40, 20 of them at random.
// The order of rows depends on timing, the sums don't. Where a table or the list of tiles has no room, or a sum exceeds 64
// bits, all stop; the state says why. job.stop ends it.
// Source: Prealloc-Combine's slots (GSI §V), rows with the same input (§VI-B); AND/OR search graphs merged by context (Dechter
// and Mateescu, AIJ 2007).
#include "base/stop.cuh"
#include "count/count_bfs_job.cuh"
#include "search/extend_window.cuh"

using namespace qe;

namespace {

constexpr int kThreads = 256, kBlocks = 4;
constexpr int kProbes = 16;  // of the hash table; a row that finds no place by then is a class of its own
constexpr uint32_t kOwnClass = 0x80000000u, kNoClass = 0xFFFFFFFFu;

struct Worker {
  const TotalJob& job;
  const MatchPlan& plan;
  const bool once;
  uint32_t barriers = 0;
  Stop stop;

  __device__ explicit Worker(const TotalJob& given)
      : job(given), plan(*given.plan), once(given.once != 0), stop(given.stop) {}

  // Waits for all blocks. An outcome is written before the block arrives, so that all read the same one afterwards.
  __device__ void meet(int32_t* outcome) {
    ++barriers;
    const bool stopping = __syncthreads_or(stop.thread());
    if (threadIdx.x == 0) {
      if (stopping) fail(outcome, kStopped);
      __threadfence();
      atomicAdd(&job.state->arrived, 1u);
      while (*static_cast<volatile uint32_t*>(&job.state->arrived) < barriers * gridDim.x) stop.thread();
      __threadfence();
    }
    __syncthreads();
  }

  __device__ void fail(int32_t* outcome, Outcome why) { atomicExch(outcome, static_cast<int32_t>(why)); }

  // By the whole warp: has it been told to stop, or has any warp failed?
  __device__ bool must_stop(int32_t* outcome) {
    if (stop.warp()) fail(outcome, kStopped);
    return __shfl_sync(kAllLanes, *static_cast<volatile int32_t*>(outcome), 0) != kDone;
  }

  // Whether a table of classes brings rows together.
  __device__ bool shares(const TotalTable& table) const { return job.state->rows[table.up] >= table.least; }

  __device__ uint32_t rows_of(int32_t number) const {
    const TotalTable& table = job.tables[number];
    return job.state->rows[table.classes != nullptr && !shares(table) ? table.up : number];
  }

  // What a row's class has counted.
  __device__ uint64_t shared_count(const TotalTable& classes, uint32_t row) const {
    const uint32_t at = shares(classes) ? classes.classes[row] : row;
    return at == kNoClass ? 0 : classes.counts[at];
  }

  // What the steps on a row have counted so far.
  __device__ uint64_t weight(const TotalTable& table, uint32_t row, const TotalStep& step, int32_t* outcome) {
    if (step.pending == kNothing) return 1;
    const auto taken = static_cast<uint32_t>(step.taken);
    const uint64_t found = step.through < 0 ? table.counts[row] : shared_count(job.tables[step.through], row);
    uint64_t count = found > taken ? found - taken : 0;
    if (once) count = count != 0;
    if (step.pending == kFirst) return count;
    const uint64_t before = table.weights[row];
    if (__umul64hi(before, count) != 0) fail(outcome, kTooMany);
    return before * count;
  }

  __device__ void add(unsigned long long* count, uint64_t more, int32_t* outcome) {
    if (atomicAdd(count, static_cast<unsigned long long>(more)) + more < more) fail(outcome, kTooMany);
  }

  // Reads what a row is bound to, up to table 0.
  __device__ void load(const TotalStep& step, uint32_t at, StepRow row) {
    for (uint64_t rest = step.blank; rest != 0; rest &= rest - 1) row.value[(__ffsll(rest) - 1) * row.stride] = -1;
    int32_t number = step.from;
    while (number > 0) {
      const TotalTable& table = job.tables[number];
      if (table.classes == nullptr)
        row.value[table.level * row.stride] = table.edges != nullptr ? table.edges[at] : int64_t{table.vertices[at]};
      at = row_above(table, at);
      number = table.up;
    }
  }

  __device__ uint32_t row_above(const TotalTable& table, uint32_t at) const {
    const bool own = table.parents == nullptr || (table.classes != nullptr && !shares(table));
    return own ? at : table.parents[at];
  }

  // The vertices by which a row is brought together with others: never 0.
  __device__ uint64_t key_of(const TotalStep& step, uint32_t at) const {
    uint64_t key = 0;
    for (int32_t number = step.from; number > 0;) {
      const TotalTable& table = job.tables[number];
      if (table.classes == nullptr && (table.level == step.by[0] || table.level == step.by[1]))
        key |= uint64_t{table.vertices[at]} << (table.level == step.by[0] ? 0 : 32);
      at = row_above(table, at);
      number = table.up;
    }
    return key + 1;
  }

  // Whether a level's candidates are one list, without those that `different` excludes.
  __device__ bool is_list(const LevelTraits& traits, int index) {
    const PlanLevel& level = plan.levels[index];
    return traits.plain && traits.operands == 1 && level.ranges.count == 1 && level.bitset == nullptr &&
           level.pairs.count == 0 && level.conditions.count == 0;
  }

  __device__ uint64_t size_of_list(int index, StepRow row) {
    const PlanSpan different = plan.levels[index].different;
    uint64_t n = *row.length;
    for (int k = 0; k < different.count; ++k) {
      const uint32_t other = vertex_of(row, plan.level_ids[different.first + k]);
      bool again = false;
      for (int before = 0; before < k; ++before)
        again = again || vertex_of(row, plan.level_ids[different.first + before]) == other;
      if (!again && contains(*row.data, *row.length, other)) --n;
    }
    return n;
  }

  // How many slots of a row one tile has; a row with no more is not cut.
  __device__ static uint64_t tile_size(uint64_t slots, uint64_t least) {
    const uint64_t size = (slots / (256 * kLanes) + kLanes - 1) / kLanes * kLanes;
    return size > least ? size : least;
  }

  // Whether it doesn't matter how many more a row has: no group takes so many.
  __device__ bool enough(const TotalStep& step, uint32_t row) const {
    if (!once || step.kind != kTally) return false;
    return *static_cast<volatile unsigned long long*>(&job.tables[step.from].counts[row]) > kMaxDeviceLevels;
  }

  // Takes what 32 slots give: `at`: the lane of each slot's row, which is row `row`.
  __device__ void take(const TotalStep& step, bool passes, int at, uint32_t row, int64_t value, int32_t* outcome) {
    const uint32_t passing = __ballot_sync(kAllLanes, passes);
    if (passing == 0) return;
    if (step.kind == kTally) {
      const uint32_t together = __match_any_sync(kAllLanes, passes ? at : -1);
      if (passes && lane_id() == __ffs(together) - 1)
        add(&job.tables[step.from].counts[row], static_cast<uint64_t>(__popc(together)), outcome);
      return;
    }
    const TotalTable& to = job.tables[step.to];
    uint32_t first = 0;
    if (lane_id() == 0) {
      first = atomicAdd(&job.state->rows[step.to], static_cast<uint32_t>(__popc(passing)));
      if (first > job.room - kLanes) fail(outcome, kNoRoom);
    }
    first = __shfl_sync(kAllLanes, first, 0);
    if (!passes || first > job.room - kLanes) return;
    const uint32_t place = first + rank_in(passing);
    if (to.edges != nullptr) to.edges[place] = value;
    else to.vertices[place] = static_cast<uint32_t>(value);
    to.parents[place] = row;
  }

  // The first half of a step: all rows, but those with more than `least` slots only cut into tiles.
  __device__ void rows(const TotalStep& step, uint32_t number, uint32_t n, uint64_t least, int each) {
    const Window to = window(plan, step.level, step.level, job.warp_bytes);
    const LevelTraits traits = traits_of(plan, step.level);
    const bool at_once = step.kind == kTally && is_list(traits, step.level);
    const TotalTable& from = job.tables[step.from];
    const bool starts = from.classes != nullptr && step.pending == kNothing && !shares(from);
    int32_t* outcome = &job.state->outcome[2 * number];
    const int lane = lane_id();
    for (uint64_t first = warp_id() * each; first < n; first += warps() * each) {
      if (must_stop(outcome)) return;
      const uint32_t row = static_cast<uint32_t>(first) + lane;
      uint64_t slots = 0;
      __syncwarp();
      if (lane < each && row < n) {
        uint64_t so_far = weight(from, row, step, outcome);
        if (starts) {  // what its kShare would have done
          const TotalStep& share = job.steps[number - 1];
          const TotalTable& up = job.tables[share.from];
          up.weights[row] = weight(up, row, share, outcome);
          so_far = up.weights[row] != 0;
        }
        uint64_t counted = 0;
        if (so_far != 0) {
          load(step, row, to.row(lane));
          to.steps[lane] = plan_step(plan, step.level, to.row(lane));
          slots = to.steps[lane].slots;
          if (at_once && to.steps[lane].kind == kFromOperand) {
            counted = size_of_list(step.level, to.row(lane));
            slots = 0;
          }
        }
        from.counts[row] = counted;
        from.weights[row] = so_far;
        if (slots > least) {
          cut(number, row, slots, tile_size(slots, least), outcome);
          slots = 0;
        }
      }
      const uint64_t end = scan_inclusive(slots);
      to.starts[lane] = end - slots;
      const uint64_t total = __shfl_sync(kAllLanes, end, kLanes - 1);
      __syncwarp();
      for (uint64_t begin = 0; begin < total; begin += kLanes) {
        const uint64_t slot = begin + lane;
        const int at = to.row_at(slot);
        int64_t value = 0;
        const bool passes =
            slot < total && !enough(step, static_cast<uint32_t>(first) + at) &&
            extension(plan, traits, step.level, to.steps[at], to.row(at), slot - to.starts[at], &value);
        take(step, passes, at, static_cast<uint32_t>(first) + at, value, outcome);
      }
    }
  }

  __device__ void cut(uint32_t number, uint32_t row, uint64_t slots, uint64_t size, int32_t* outcome) {
    const auto n = static_cast<uint32_t>((slots + size - 1) / size);
    const uint32_t first = atomicAdd(&job.state->tiles[number], n);
    if (first > job.tile_room || n > job.tile_room - first) {
      fail(outcome, kNoRoom);
      return;
    }
    for (uint32_t k = 0; k < n; ++k) job.tiles[first + k] = {row, k};
  }

  // The second half of a step: the tiles.
  __device__ void tiles(const TotalStep& step, uint32_t number, uint32_t n, uint64_t least) {
    const Window to = window(plan, step.level, step.level, job.warp_bytes);
    const LevelTraits traits = traits_of(plan, step.level);
    int32_t* outcome = &job.state->outcome[2 * number + 1];
    const int lane = lane_id();
    for (uint64_t t = warp_id(); t < n; t += warps()) {
      if (must_stop(outcome)) return;
      const TotalTile tile = job.tiles[t];
      __syncwarp();
      if (lane == 0) {
        load(step, tile.row, to.row(0));
        to.steps[0] = plan_step(plan, step.level, to.row(0));
      }
      __syncwarp();
      const uint64_t slots = to.steps[0].slots, size = tile_size(slots, least);
      const uint64_t first = tile.number * size;
      const uint64_t end = first + size < slots ? first + size : slots;
      uint64_t counted = 0;
      for (uint64_t begin = first; begin < end; begin += kLanes) {
        if (once && __any_sync(kAllLanes, counted > kMaxDeviceLevels || enough(step, tile.row))) break;
        const uint64_t slot = begin + lane;
        int64_t value = 0;
        const bool passes = slot < end && extension(plan, traits, step.level, to.steps[0], to.row(0), slot, &value);
        if (step.kind == kTally) counted += __popc(__ballot_sync(kAllLanes, passes));
        else take(step, passes, 0, tile.row, value, outcome);
      }
      if (lane == 0 && counted != 0) add(&job.tables[step.from].counts[tile.row], counted, outcome);
    }
  }

  // The first half of bringing rows together: each finds its place in the hash table, the first one there makes a row of
  // the table of classes.
  __device__ QE_APART void share(const TotalStep& step, uint32_t number, uint32_t n) {
    const TotalTable &from = job.tables[step.from], &to = job.tables[step.to];
    int32_t* outcome = &job.state->outcome[2 * number];
    for (uint64_t first = warp_id() * kLanes; first < n; first += warps() * kLanes) {
      if (must_stop(outcome)) return;
      const uint32_t row = static_cast<uint32_t>(first) + lane_id();
      uint32_t place = kNoClass;
      bool makes = false;
      if (row < n) {
        from.weights[row] = weight(from, row, step, outcome);
        if (from.weights[row] != 0) {
          place = place_of(key_of(step, row), &makes);
          makes = makes || place == kNoClass;
        }
      }
      const uint32_t making = __ballot_sync(kAllLanes, makes);
      uint32_t made = 0;
      if (lane_id() == 0 && making != 0) made = atomicAdd(&job.state->rows[step.to], static_cast<uint32_t>(__popc(making)));
      made = __shfl_sync(kAllLanes, made, 0) + rank_in(making);
      if (makes) {
        to.parents[made] = row;
        if (place == kNoClass) place = kOwnClass | made;
        else job.firsts[place] = made;
      }
      if (row < n) to.classes[row] = place;
    }
  }

  // The place of a key in the hash table, kNoClass if there is none nearby. `first`: whether it was empty.
  __device__ uint32_t place_of(uint64_t key, bool* first) const {
    uint32_t at = static_cast<uint32_t>(((key * 0x9E3779B97F4A7C15ull >> 32) * job.key_room) >> 32);
    for (int k = 0; k < kProbes; ++k) {
      const uint64_t there = atomicCAS(&job.keys[at], 0ull, static_cast<unsigned long long>(key));
      *first = there == 0;
      if (there == 0 || there == key) return at;
      at = at + 1 < job.key_room ? at + 1 : 0;
    }
    return kNoClass;
  }

  // The second half: each row gets its class instead of its place, which is empty again.
  __device__ QE_APART void settle_classes(const TotalStep& step, uint32_t n) {
    uint32_t* classes = job.tables[step.to].classes;
    for (uint64_t row = warp_id() * kLanes + lane_id(); row < n && !stop.thread(); row += warps() * kLanes) {
      const uint32_t place = classes[row];
      if (place == kNoClass) continue;
      if (!(place & kOwnClass)) job.keys[place] = 0;
      classes[row] = place & kOwnClass ? place & ~kOwnClass : job.firsts[place];
    }
  }

  // Makes what all steps have counted for a row its count.
  __device__ void settle(const TotalStep& step, uint32_t number, uint32_t n) {
    for (uint64_t row = warp_id() * kLanes + lane_id(); row < n && !stop.thread(); row += warps() * kLanes) {
      const auto at = static_cast<uint32_t>(row);
      job.tables[step.from].counts[at] = weight(job.tables[step.from], at, step, &job.state->outcome[2 * number]);
    }
  }

  // Adds up the rows of a table by the rows that they extend.
  __device__ void fold(const TotalStep& step, uint32_t number, uint32_t n) {
    const TotalTable& from = job.tables[step.from];
    const TotalTable& up = job.tables[from.up];
    int32_t* outcome = &job.state->outcome[2 * number];
    const int lane = lane_id();
    for (uint64_t first = warp_id() * kLanes; first < n && !stop.warp(); first += warps() * kLanes) {
      const uint32_t row = static_cast<uint32_t>(first) + lane;
      const uint64_t mine = row < n ? weight(from, row, step, outcome) : 0;
      const uint32_t parent = row < n ? from.parents[row] : 0;
      const uint32_t leader = __shfl_sync(kAllLanes, parent, 0);
      if (__all_sync(kAllLanes, (row >= n || parent == leader) && mine < UINT64_MAX / kLanes)) {
        const uint64_t all = sum_over(mine);
        if (lane == 0 && all != 0) add(&up.counts[leader], all, outcome);
      } else if (mine != 0) {
        add(&up.counts[parent], mine, outcome);
      }
    }
  }
};

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads, kBlocks) count_bfs(const TotalJob* given) {
  const TotalJob& job = *given;
  Worker worker(job);
  for (uint32_t k = 0; k < job.n_steps; ++k) {
    const TotalStep step = job.steps[k];
    const uint32_t n = worker.rows_of(step.from);
    if (n == 0) continue;
    if (step.kind == kShare) {
      if (!worker.shares(job.tables[step.to])) continue;
      worker.share(step, k, n);
      worker.meet(&job.state->outcome[2 * k]);
      if (job.state->outcome[2 * k] != kDone) return;
      worker.settle_classes(step, n);
      worker.meet(&job.state->outcome[2 * k + 1]);
      if (job.state->outcome[2 * k + 1] != kDone) return;
      continue;
    }
    const uint64_t all = warps();
    const int each = n >= kLanes * all ? kLanes : static_cast<int>((n + all - 1) / all);
    const uint64_t least = each < 8 ? 2 * kLanes : 16 * kLanes;
    if (step.kind == kFold) worker.fold(step, k, n);
    else if (step.kind == kSettle) worker.settle(step, k, n);
    else worker.rows(step, k, n, least, each);
    worker.meet(&job.state->outcome[2 * k]);
    if (job.state->outcome[2 * k] != kDone) return;
    const uint32_t tiles = job.state->tiles[k];
    if (tiles == 0) continue;
    worker.tiles(step, k, tiles, least);
    worker.meet(&job.state->outcome[2 * k + 1]);
    if (job.state->outcome[2 * k + 1] != kDone) return;
  }
}
