// Powers of the ways along two matrices: for each row r the sum over all columns z of weight[z] * (ways from r to z)^k.
//
// Problem: a row of the product of `start` and `link`, both without numbers, raised entry by entry to a power and added up: walks
// of four steps (k = 2), K2,3 (k = 3), the common neighbours of linked pairs. A row of few ways is made in a hash table in
// shared memory by a block (`row_powers_light`), which lists those of more; these have a counter in shared memory for each
// column, some columns at a time (`row_powers_heavy`).
// Preconditions: each links a pair once; *n_left is 0 before `row_powers_light`. Launch: as many blocks of whole warps as run at a
// time. Bytes moved: 4 for each way, and a place of the table, or a counter at random, in shared memory; counters are read once
// for each row. Deterministic. `flag` becomes 1 where numbers are too large.
// Sources: Gustavson 1978; Chiba and Nishizeki 1985; hash accumulators: Nagasaka et al. 2019.
#include "count/ways.cuh"
#include "qe/lists.h"

using namespace qe;
using namespace qe::eliminate;

namespace {

// weights, factors: of columns, and of rows, or null. ends, owners: as in `Local` (eliminate_neighbours.cu) where columns are
// rows of one root's, else null: they are [0, n). left: rows that have many ways.
struct RowPowers {
  Matrix start, link;
  const Number *weights, *factors;
  const uint64_t* ends;
  const uint32_t* owners;
  Number* out;
  uint32_t *left, *n_left;
  uint64_t n;
  uint32_t n_rows, exponent;
  uint32_t slots, counters;  // of the table, a power of two; of columns
};

// What a block has beside its table or counters.
struct PowersShared {
  uint64_t taken;
  unsigned long long ways;
  Sum sums[32];
};

__device__ inline Number power_of(const RowPowers& task, uint32_t column, uint32_t ways, bool* over) {
  const Number base = number_of(ways);
  Number found = base;
  for (uint32_t k = 1; k < task.exponent; ++k) found = times(found, base, over);
  return task.weights ? times(found, task.weights[column], over) : found;
}

// Writes the sum of a row, by the whole block.
__device__ void write_row(const RowPowers& task, uint32_t r, Sum sum, PowersShared& own, bool* over) {
  sum.gather(kLanes);
  if (lane_id() == 0) own.sums[threadIdx.x / kLanes] = sum;
  __syncthreads();
  if (threadIdx.x < kLanes) {
    Sum all;
    if (threadIdx.x < blockDim.x / kLanes) all = own.sums[threadIdx.x];
    all.gather(kLanes);
    if (threadIdx.x == 0) {
      const Number number = all.number(over);
      task.out[r] = task.factors ? times(number, task.factors[r], over) : number;
    }
  }
  __syncthreads();
}

}  // namespace

// out[r], for rows of few ways; `left` gets the others. Shared memory: PowersShared and 8 for each slot.
extern "C" __global__ void __launch_bounds__(256) row_powers_light(const RowPowers task, const WorkQueue queue, uint32_t* flag) {
  QE_SHARED(uint32_t, shared);
  PowersShared& own = *reinterpret_cast<PowersShared*>(shared);
  WaysTable table(shared + sizeof(PowersShared) / 4, task.slots);
  table.clear();
  WorkTaker taker(queue, task.n_rows);
  Stop& stop = taker.stop();
  bool over = false;
  while (true) {
    if (threadIdx.x == 0) own.taken = taker.take(1), own.ways = 0;
    __syncthreads();
    if (own.taken >= task.n_rows) break;
    const uint32_t r = static_cast<uint32_t>(own.taken);
    const Span mine = row(task.start, r);
    const bool none = task.factors && is_zero(task.factors[r]);
    stop.warp();  // warps that take nothing look, too
    uint64_t ways = 0;
    for (uint64_t e = mine.begin + threadIdx.x; e < mine.end && !none && !stop.thread(); e += blockDim.x)
      ways += row(task.link, task.start.ids[e]).size();
    ways = sum_over(ways);
    if (lane_id() == 0 && ways > 0) atomicAdd(&own.ways, static_cast<unsigned long long>(ways));
    __syncthreads();
    ways = own.ways;
    if (ways > table.room()) {
      if (threadIdx.x == 0) task.left[atomicAdd(task.n_left, 1u)] = r;
      __syncthreads();
      continue;
    }
    table.fit(static_cast<uint32_t>(ways));
    each_list_of(
        mine, stop, [&](uint64_t e) { return none ? Span{} : row(task.link, task.start.ids[e]); },
        [&](int, const Span& part, int place, int team) {
          for (uint64_t e = part.begin + place; e < part.end; e += team) table.add(task.link.ids[e]);
        });
    __syncthreads();
    Sum sum;
    for (uint32_t i = threadIdx.x; i < table.size() && ways > 0; i += blockDim.x) {
      const uint32_t column = table.id(i);
      if (column == kNoVertex) continue;
      sum.add(power_of(task, column, table.count(i), &over));
      table.clear(i);
    }
    write_row(task, r, sum, own, &over);
  }
  raise_flag(flag, over);
}

// out[r], for the rows that are left. Shared memory: PowersShared and `counters` of 32 bits.
extern "C" __global__ void __launch_bounds__(1024) row_powers_heavy(const RowPowers task, const WorkQueue queue, uint32_t* flag) {
  QE_SHARED(uint32_t, shared);
  PowersShared& own = *reinterpret_cast<PowersShared*>(shared);
  uint32_t* counts = shared + sizeof(PowersShared) / 4;
  const uint64_t n = *task.n_left;
  WorkTaker taker(queue, n);
  Stop& stop = taker.stop();
  bool over = false;
  for (uint32_t i = threadIdx.x; i < task.counters; i += blockDim.x) counts[i] = 0;
  while (true) {
    if (threadIdx.x == 0) own.taken = taker.take(1);
    __syncthreads();
    if (own.taken >= n) break;
    const uint32_t r = task.left[own.taken];
    const Span mine = row(task.start, r);
    const uint64_t begin = task.owners ? task.ends[task.owners[r]] : 0, end = task.owners ? task.ends[task.owners[r] + 1] : task.n;
    Sum sum;
    for (uint64_t tile = begin; tile < end; tile += task.counters) {
      const uint64_t last = tile + task.counters < end ? tile + task.counters : end;
      stop.warp();  // warps that take nothing look, too
      each_list_of(
          mine, stop,
          [&](uint64_t e) {
            Span its = row(task.link, task.start.ids[e]);
            const uint32_t* ids = task.link.ids + its.begin;
            const uint64_t from = its.begin, size = its.size();
            if (last < end) its.end = from + lower_bound(ids, size, static_cast<uint32_t>(last));
            if (tile > begin) its.begin = from + lower_bound(ids, size, static_cast<uint32_t>(tile));
            return its;
          },
          [&](int, const Span& part, int place, int team) {
#pragma unroll 4
            for (uint64_t e = part.begin + place; e < part.end; e += team) atomicAdd(&counts[task.link.ids[e] - tile], 1u);
          });
      __syncthreads();
      for (uint32_t i = threadIdx.x; i < last - tile; i += blockDim.x) {
        const uint32_t ways = counts[i];
        if (ways == 0) continue;
        sum.add(power_of(task, static_cast<uint32_t>(tile + i), ways, &over));
        counts[i] = 0;
      }
      __syncthreads();
    }
    write_row(task, r, sum, own, &over);
  }
  raise_flag(flag, over);
}
