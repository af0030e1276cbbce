// Breadth-first extension: a frontier of partial embeddings, a table a level, extended by one level at a time.
//
// Problem: the rows of a MatchPlan (all pointers on the device). For a table: `extend_bound` counts the slots of each
// row (qe/extend_step.h), a prefix sum numbers them, `extend_fill` tests slots [begin, end) and writes what passes,
// `extend_link` closes the gaps, `extend_gather` reads whole rows of values up through the parents. Each slot is tested
// once (Prealloc-Combine, GSI §V): a tile of slots owns as many places of one buffer, the GBA, as it has slots.
// `extend_count` counts a row's extensions instead; `extend_seeds` tests input rows.
// Preconditions: lists ascending; slots of a table below 2^63; rows of a table below 2^32.
// Launch: blocks of whole warps. A warp takes tiles of `tile` slots in turn, and up to QE_WINDOW_ROWS (1 to 32) rows of
// them together: long rows are shared by warps and short ones share a warp, which is what SGSI §7's four layers are
// for, without thresholds. Shared memory: window_bytes(...) a warp, for the values and operands of 32 rows.
// Bytes moved: a row's lists once for the 32 slots of a step; each survivor 8 (relationships 12) bytes to the GBA, and
// from there to its table. Deterministic: rows in the order of slots.
#include "base/stop.cuh"
#include "search/extend_window.cuh"

using namespace qe;

// Slots [begin, end) of the n rows of the table before `level`; row r has those from offsets[r] to offsets[r + 1]. Warps take
// tiles of `tile` slots by *ticket, which is 0 at first: tile t is slots begin + [t * tile, (t + 1) * tile).
struct SlotTiles {
  const uint64_t* offsets;
  uint64_t* ticket;
  uint64_t n, begin, end, tile;
  int32_t level, unused;
};

// What extend_fill has written of so many tiles. ends: running sum of counts.
struct Survivors {
  const void* values;
  const uint32_t* rows;
  const int64_t* ends;
  uint64_t tiles, tile;
};

namespace {

constexpr int kRows = QE_WINDOW_ROWS;  // of which a warp takes slots together
constexpr int kThreads = 256, kBlocks = 4;  // of a block at most; of a multiprocessor at least: 64 registers a thread

// Calls visit(active, lane of the slot's row, index in the row, row) for each slot of [begin, end) by the whole warp, with
// the window's rows loaded and planned.
template <typename Visit>
__device__ void each_slot(const MatchPlan& plan, const ExtendTables& tables, const SlotTiles& slots, uint64_t begin,
                          uint64_t end, const Window& to, Visit visit) {
  const uint64_t n = slots.n;
  const uint64_t* const offsets = slots.offsets;
  const int lane = lane_id(), level = slots.level;
  while (begin < end) {
    const uint64_t first = row_of(offsets, n, begin), row = first + lane;
    const uint64_t bound = first + kRows < n ? first + kRows : n;  // of the window's rows
    const uint64_t start = offsets[row < bound ? row : bound], next = offsets[row < bound ? row + 1 : bound];
    __syncwarp();
    to.starts[lane] = start;
    if (lane == kLanes - 1) to.starts[kLanes] = next;
    if (next > start && start < end) {
      load_row(plan, tables, level, row, to.row(lane));
      to.steps[lane] = plan_step(plan, level, to.row(lane));
    }
    __syncwarp();
    const uint64_t stop = to.starts[kLanes] < end ? to.starts[kLanes] : end;
    for (; begin < stop; begin += kLanes) {
      const uint64_t slot = begin + lane;
      const int at = to.row_at(slot);
      visit(slot < stop, at, slot - to.starts[at], first + at);
    }
    begin = stop;
  }
}

__device__ inline uint64_t next_tile(uint64_t* ticket) {
  uint64_t tile = 0;
  if (lane_id() == 0) tile = atomicAdd(reinterpret_cast<unsigned long long*>(ticket), 1ull);
  return __shfl_sync(kAllLanes, tile, 0);
}

}  // namespace

// sound[row] = 1 where all seeds of an input row are admitted. `seeds`: a column of input rows a seed, -1 for null.
extern "C" __global__ void extend_seeds(const MatchPlan* plan, const int64_t* const* seeds, uint64_t n,
                                        uint8_t* sound) {
  const Window to = window(*plan, plan->n_levels, plan->seeds);
  const StepRow row = to.row(lane_id());
  for (uint64_t at = warp_id() * kLanes + lane_id(); at < n; at += warps() * kLanes) {
    bool admitted = true;
    for (int level = 0; level < plan->seeds && admitted; ++level) {
      row.value[level * kLanes] = seeds[level][at];
      admitted = admits_seed(*plan, level, row);
    }
    sound[at] = admitted;
  }
}

// slots[row]: how many slots a row of the table of level - 1 has.
extern "C" __global__ void extend_bound(const MatchPlan* plan, const ExtendTables* tables, int32_t level, uint64_t n,
                                        uint64_t* slots) {
  const Window to = window(*plan, level, level);
  const StepRow row = to.row(lane_id());
  for (uint64_t at = warp_id() * kLanes + lane_id(); at < n; at += warps() * kLanes) {
    load_row(*plan, *tables, level, at, row);
    slots[at] = plan_step(*plan, level, row).slots;
  }
}

// Tests slots. The survivors of tile t are the first counts[t] of as many places of `values` (uint32, of edge levels int64) and
// `rows`. Tiles that are left out when the run is stopped have no survivors.
extern "C" __global__ void __launch_bounds__(kThreads, kBlocks)
    extend_fill(const MatchPlan* plan, const ExtendTables* tables, const SlotTiles slots, void* values, uint32_t* rows,
                int64_t* counts, StopFlag flag) {
  const uint64_t begin = slots.begin, end = slots.end, tile = slots.tile;
  const int32_t level = slots.level;
  Stop stop(flag);
  const Window to = window(*plan, level, level);
  const LevelTraits traits = traits_of(*plan, level);
  const bool vertex = plan->levels[level].kind == kVertexLevel;
  const int lane = lane_id();
  const uint64_t tiles = (end - begin + tile - 1) / tile;
  auto store = [&](uint64_t at, int64_t value, uint32_t row) {
    if (vertex) static_cast<uint32_t*>(values)[at] = static_cast<uint32_t>(value);
    else static_cast<int64_t*>(values)[at] = value;
    rows[at] = row;
  };
  for (uint64_t t = next_tile(slots.ticket); t < tiles; t = next_tile(slots.ticket)) {
    const uint64_t first = begin + t * tile, last = first + tile < end ? first + tile : end;
    uint64_t written = t * tile;  // in the GBA
    each_slot(*plan, *tables, slots, first, stop.warp() ? first : last, to, [&](bool active, int at, uint64_t i, uint64_t row) {
      int64_t value = 0;
      const bool passes = active && extension(*plan, traits, level, to.steps[at], to.row(at), i, &value);
      const uint32_t passing = __ballot_sync(kAllLanes, passes);
      const uint32_t place = rank_in(passing);
      if (passes) store(written + place, value, static_cast<uint32_t>(row));
      written += __popc(passing);
    });
    if (lane == 0) counts[t] = static_cast<int64_t>(written - t * tile);
  }
}

// Copies the survivors of all tiles to places [place, place + ends[tiles - 1]) of a table.
extern "C" __global__ void extend_link(const Survivors found, int32_t vertex, uint64_t place, uint32_t* vertices,
                                       int64_t* edges, uint32_t* parents) {
  for (uint64_t t = warp_id(); t < found.tiles; t += warps()) {
    const uint64_t begin = t == 0 ? 0 : found.ends[t - 1], n = found.ends[t] - begin;
    for (uint64_t k = lane_id(); k < n; k += kLanes) {
      const uint64_t from = t * found.tile + k, to = place + begin + k;
      if (vertex) vertices[to] = static_cast<const uint32_t*>(found.values)[from];
      else edges[to] = static_cast<const int64_t*>(found.values)[from];
      parents[to] = found.rows[from];
    }
  }
}

// Writes columns of rows of the table of level - 1: all n of them, or those that `chosen` names. outputs[k]: what level k
// is bound to (uint32, of edge levels int64), null where it isn't asked for; `first`: rows of the first table, or null.
extern "C" __global__ void extend_gather(const MatchPlan* plan, const ExtendTables* tables, int32_t level, uint64_t n,
                                         const int64_t* chosen, void* const* outputs, uint32_t* first) {
  for (uint64_t to = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; to < n; to += uint64_t{gridDim.x} * blockDim.x) {
    uint64_t at = chosen != nullptr ? static_cast<uint64_t>(chosen[to]) : to;
    for (int k = level - 1; k >= plan->seeds; --k) {
      if (outputs[k] != nullptr) {
        if (plan->levels[k].kind == kVertexLevel) static_cast<uint32_t*>(outputs[k])[to] = tables->vertices[k][at];
        else static_cast<int64_t*>(outputs[k])[to] = tables->edges[k][at];
      }
      at = tables->parents[k][at];
    }
    if (first != nullptr) first[to] = static_cast<uint32_t>(at);
  }
}

// Adds to counts[row] how many of the slots extend the row.
extern "C" __global__ void __launch_bounds__(kThreads, kBlocks)
    extend_count(const MatchPlan* plan, const ExtendTables* tables, const SlotTiles slots, uint64_t* counts, StopFlag flag) {
  const uint64_t begin = slots.begin, end = slots.end, tile = slots.tile;
  const int32_t level = slots.level;
  Stop stop(flag);
  const Window to = window(*plan, level, level);
  const LevelTraits traits = traits_of(*plan, level);
  const int lane = lane_id();
  const uint64_t tiles = (end - begin + tile - 1) / tile;
  for (uint64_t t = next_tile(slots.ticket); t < tiles && !stop.warp(); t = next_tile(slots.ticket)) {
    const uint64_t first = begin + t * tile, last = first + tile < end ? first + tile : end;
    each_slot(*plan, *tables, slots, first, last, to, [&](bool active, int at, uint64_t i, uint64_t row) {
      int64_t value;
      const bool passes = active && extension(*plan, traits, level, to.steps[at], to.row(at), i, &value);
      const uint32_t together = __match_any_sync(kAllLanes, passes ? at : -1);
      if (passes && lane == __ffs(together) - 1)
        atomicAdd(reinterpret_cast<unsigned long long*>(counts + row),
                  static_cast<unsigned long long>(__popc(together)));
    });
  }
}

// Copies one number to the host's memory: a copy by the driver would wait for those of rows that are under way.
extern "C" __global__ void extend_report(const int64_t* number, int64_t* host) {
  if (threadIdx.x == 0) *host = *number;
}
