// Rows, vertices or entries of lists folded into groups (qe/fold.h), and the groups taken out of their tables.
//
// Launch: whole warps, no shared memory; all kernels are passes (base/stop.cuh).
// Bytes moved: a row's ids, at them each column of a key or an argument (32 of L2's sectors), and an atomic of 8 a slot that
// changes. Order: records don't depend on it, for all they hold is whole numbers.
#include "fold/fold_rows.cuh"

using namespace qe;
using namespace qe::fold;

namespace {

constexpr uint32_t kTile = 1024;  // entries that a warp takes at a time
__device__ inline uint32_t copy_of(const DeviceTable& table) { return static_cast<uint32_t>(thread() / kLanes % table.copies); }

__device__ inline bool is_taken(const DeviceTable& table, uint64_t place) {
  return table.codes ? table.codes[place] != kNoCode
                     : table.slots[place * static_cast<uint64_t>(table.plan.n_slots)] != 0;
}

}  // namespace

// Rows that are given.
extern "C" __global__ void fold_rows(DeviceTable table, FoldRows rows) {
  const uint32_t copy = copy_of(table);
  for (uint64_t i = thread(); i < rows.n; i += threads()) {
    const int64_t weight = static_cast<int64_t>((rows.weights ? rows.weights[i] : 1) * rows.times);
    add_row(table, copy, weight, [&](int variable) { return rows.id(variable, i); });
  }
}

// Adds up n weights: the lower and the higher halves of all.
extern "C" __global__ void fold_weigh(const uint64_t* weights, uint64_t n, uint64_t* halves) {
  uint64_t low = 0, high = 0;
  for (uint64_t i = thread(); i < n; i += threads()) low += weights[i] & UINT32_MAX, high += weights[i] >> 32;
  __syncwarp();
  low = sum_over(low), high = sum_over(high);
  if (lane_id() == 0) atomicAdd(halves, low), atomicAdd(halves + 1, high);
}

// The vertices [begin, begin + n), those of which `admitted` has a byte that isn't 0 (null: all).
extern "C" __global__ void fold_vertices(DeviceTable table, uint64_t begin, uint64_t n, const uint8_t* admitted) {
  const uint32_t copy = copy_of(table);
  for (uint64_t i = thread(); i < n; i += threads())
    if (!admitted || admitted[i]) add_row(table, copy, 1, [&](int) { return static_cast<int64_t>(begin + i); });
}

// The entries [begin, end) of lists for which all conditions hold. `begin` is a multiple of kTile.
extern "C" __global__ void fold_entries(DeviceTable table, Lists lists, const Condition* conditions, int32_t n_conditions,
                                        uint64_t begin, uint64_t end) {
  const uint32_t copy = copy_of(table);
  for (uint64_t tile = begin + thread() / kLanes * kTile; tile < end; tile += threads() / kLanes * kTile) {
    const uint64_t stop = end < tile + kTile ? end : tile + kTile;
    const uint64_t first = row_of(lists.begins, lists.n, tile), last = row_of(lists.begins, lists.n, stop - 1);
    for (uint64_t e = tile + lane_id(); e < stop; e += kLanes) {
      uint64_t low = first, high = last;  // the last list that begins at or before e
      while (low < high) {
        const uint64_t middle = (low + high + 1) / 2;
        if (lists.begins[middle] <= e) low = middle;
        else high = middle - 1;
      }
      const uint32_t owner = lists.vertices ? lists.vertices[low] : lists.first + static_cast<uint32_t>(low), other = lists.ends[e];
      if (lists.admits_owner && !lists.admits_owner[owner]) continue;
      if (lists.admits_end && !lists.admits_end[other]) continue;
      if (lists.skip_loops && other == owner) continue;
      if (lists.admits_edge && !lists.admits_edge[e]) continue;
      const auto id = [&](int variable) {
        return variable == lists.end ? int64_t{other} : variable == lists.owner ? int64_t{owner} : lists.edge_base + static_cast<int64_t>(e);
      };
      if (all_hold(conditions, n_conditions, id)) add_row(table, copy, 1, id);
    }
  }
}

// Makes all places those of no rows.
extern "C" __global__ void fold_clear(DeviceTable table) {
  const uint64_t slots = static_cast<uint64_t>(table.plan.n_slots), n = table.places * table.copies;
  for (uint64_t i = thread(); i < n * slots; i += threads()) table.slots[i] = table.empty[i % slots];
  if (table.codes)
    for (uint64_t i = thread(); i < n; i += threads()) table.codes[i] = kNoCode;
}

// Adds the groups of one hashed table to another, which has none of them.
extern "C" __global__ void fold_move(DeviceTable from, DeviceTable to) {
  const uint64_t slots = static_cast<uint64_t>(from.plan.n_slots);
  for (uint64_t place = thread(); place < from.places; place += threads()) {
    if (!is_taken(from, place)) continue;
    const uint64_t at = place_of(to, from.codes[place]);
    for (uint64_t k = 0; k < slots; ++k) to.slots[at * slots + k] = from.slots[place * slots + k];
  }
}

// Adds all copies of a dense table up in the first.
extern "C" __global__ void fold_merge(DeviceTable table) {
  const uint64_t slots = static_cast<uint64_t>(table.plan.n_slots), n = table.places * slots;
  for (uint64_t i = thread(); i < n; i += threads()) {
    const int32_t slot = static_cast<int32_t>(i % slots);
    int32_t operation = fold::kCount;
    for (int k = 0; k < table.plan.n_tasks; ++k)
      if (table.plan.tasks[k].slot <= slot) operation = table.plan.tasks[k].operation;
    for (uint32_t copy = 1; copy < table.copies; ++copy) combine(operation, table.slots + i, table.slots[copy * n + i]);
  }
}

// Of each share of the places, dealt to warps one after the other, how many are taken.
extern "C" __global__ void fold_taken(DeviceTable table, uint64_t share, uint64_t n_shares, int64_t* counts) {
  for (uint64_t w = thread() / kLanes; w < n_shares; w += threads() / kLanes) {
    const uint64_t begin = w * share, end = table.places < begin + share ? table.places : begin + share;
    uint64_t mine = 0;
    for (uint64_t place = begin + lane_id(); place < end; place += kLanes) mine += is_taken(table, place);
    __syncwarp();
    mine = sum_over(mine);
    if (lane_id() == 0) counts[w] = static_cast<int64_t>(mine);
  }
}

// The places that are taken, in their order, and the codes of their groups; ends: of each share's, the sum up to it.
extern "C" __global__ void fold_places(DeviceTable table, uint64_t share, uint64_t n_shares, const int64_t* ends, int64_t* places,
                                       uint64_t* codes) {
  for (uint64_t w = thread() / kLanes; w < n_shares; w += threads() / kLanes) {
    const uint64_t begin = w * share, end = table.places < begin + share ? table.places : begin + share;
    uint64_t at = w ? static_cast<uint64_t>(ends[w - 1]) : 0;
    for (uint64_t tile = begin; tile < end; tile += kLanes) {
      const uint64_t place = tile + lane_id();
      const bool taken = place < end && is_taken(table, place);
      const uint32_t all = __ballot_sync(kAllLanes, taken);
      if (taken) {
        const uint64_t to = at + static_cast<uint64_t>(rank_in(all));
        places[to] = static_cast<int64_t>(place);
        codes[to] = table.codes ? table.codes[place] : place;
      }
      at += static_cast<uint64_t>(__popc(all));
    }
  }
}

// Of the groups at n places their slots, one column after the other: of kDistinct one, how many bits are set.
extern "C" __global__ void fold_gather(DeviceTable table, const int64_t* places, uint64_t n, int64_t* columns) {
  for (uint64_t i = thread(); i < n; i += threads()) {
    const int64_t* const record = table.slots + static_cast<uint64_t>(places[i]) * static_cast<uint64_t>(table.plan.n_slots);
    uint64_t to = i;
    for (int t = 0; t < table.plan.n_tasks; ++t) {
      const Task& task = table.plan.tasks[t];
      int64_t bits = 0;
      for (int k = 0; k < task.digits; ++k) {
        const int64_t slot = record[task.slot + k];
        if (task.operation == kDistinct) {
          bits += __popc(static_cast<uint32_t>(slot)) + __popc(static_cast<uint32_t>(slot >> 32));
        } else {
          columns[to] = slot;
          to += n;
        }
      }
      if (task.operation == kDistinct) {
        columns[to] = bits;
        to += n;
      }
    }
  }
}

// Counts for each group of `of`, by its place, the groups of `table` whose first keys are its keys and whose last one isn't null.
extern "C" __global__ void fold_different(DeviceTable table, DeviceTable of, uint64_t* counts) {
  const uint64_t last = table.plan.keys[table.plan.n_keys - 1].places;
  for (uint64_t place = thread(); place < table.places; place += threads()) {
    if (!is_taken(table, place)) continue;
    const uint64_t code = table.codes ? table.codes[place] : place;
    if (code % last) atomicAdd(counts + place_of(of, code / last), uint64_t{1});
  }
}

// The numbers at n places.
extern "C" __global__ void fold_chosen(const int64_t* numbers, const int64_t* places, uint64_t n, int64_t* chosen) {
  for (uint64_t i = thread(); i < n; i += threads()) chosen[i] = numbers[places[i]];
}
