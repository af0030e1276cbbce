// Products of the ways along pairs of matrices: for each row r the sum over all columns z of weight[z] * the product over some
// kinds of ways of (ways of this kind from r to z)^k.
//
// Problem: rows of products of a `start` and a `link`, all without numbers, raised entry by entry to powers, multiplied and added
// up: closed walks of four steps along any matrices, K2,3 of any relationships (k up to 3), the common neighbours of linked
// pairs. A row of few ways of one kind is made in a hash table in shared memory by a block (`row_products_light`), in which those
// of other kinds are looked up; it lists rows of more. These have a counter in shared memory for each column and kind, some
// columns at a time (`row_products_heavy`). Where rows are `ranked` only ways over vertices after the row's, to columns that aren't
// before it, are taken: each closed walk of four is found once, at its first vertex. QE_KINDS: of ways, QE_RANKED: whether
// rows are ranked; 0 and -1, on the host alone: as the task says.
// Preconditions: `through` is 0 or 1; *n_left is 0 before `row_products_light`. Launch: as many blocks of whole warps as run at a
// time. Bytes moved: 4 for each way, and a place of the table, or a counter at random, in shared memory; counters are read once
// for each row. Deterministic. `flag` becomes 1 where numbers are too large.
// Sources: Gustavson 1978; Chiba and Nishizeki 1985; hash accumulators: Nagasaka et al. 2019.
#include "count/ways.cuh"
#include "qe/lists.h"

#ifndef QE_KINDS
#define QE_KINDS 0
#endif
#ifndef QE_RANKED
#define QE_RANKED -1
#endif

using namespace qe;
using namespace qe::eliminate;

namespace {

constexpr int kMostKinds = 3;
constexpr uint64_t kLookups = 16;  // ways of other kinds that a light row may have, by those that a table has room for

// Ways of two steps over the vertices where `through` is 1, or over all where it is null.
struct Ways {
  Matrix start, link;
  const Number* through;
  uint32_t exponent, unused;
};

// weights, factors: of columns, and of rows, or null. ends, owners: as in `Local` (eliminate_neighbours.cu) where columns are
// rows of one root's, else null: they are [0, n). left: rows that have many ways. ranked: see above; products in columns after the
// row's count `factor` times, that in its own `back` times. adds: to what `out` has.
struct RowProducts {
  Ways ways[kMostKinds];
  const Number *weights, *factors;
  const uint64_t* ends;
  const uint32_t* owners;
  Number* out;
  uint32_t *left, *n_left;
  uint64_t n;
  uint32_t n_rows, n_kinds;
  uint32_t slots, counters;  // of the table, a power of two; of columns, for each kind
  uint32_t ranked, adds, factor, back;
};

__device__ inline uint32_t kinds_of(const RowProducts& task) { return QE_KINDS ? QE_KINDS : task.n_kinds; }

__device__ inline bool is_ranked(const RowProducts& task) { return QE_RANKED >= 0 ? QE_RANKED : task.ranked; }

// What a block has beside its table or counters.
struct ProductsShared {
  uint64_t taken;
  unsigned long long ways[kMostKinds];
  Sum sums[32];
};

// A span of entries without those whose ids are less than `least`.
__device__ inline Span since(const Matrix& m, Span span, uint32_t least) {
  span.begin += lower_bound(m.ids + span.begin, span.size(), least);
  return span;
}

// The first steps of the ways from a row.
__device__ inline Span first_steps(const RowProducts& task, const Ways& ways, uint32_t r) {
  const Span all = row(ways.start, r);
  return is_ranked(task) ? since(ways.start, all, r + 1) : all;
}

// The second steps of the ways from row r whose first is an entry.
__device__ inline Span beyond(const RowProducts& task, const Ways& ways, uint32_t r, uint64_t e) {
  const uint32_t v = ways.start.ids[e];
  if (ways.through && is_zero(ways.through[v])) return {};
  const Span all = row(ways.link, v);
  return is_ranked(task) ? since(ways.link, all, r) : all;
}

// Adds what a column of row r counts for; of(kind): the ways to it.
template <typename Of>
__device__ void add_product(const RowProducts& task, uint32_t r, uint32_t column, Of of, Sum& sum, bool* over) {
  uint32_t ways[kMostKinds] = {};
#pragma unroll
  for (uint32_t kind = 0; kind < kinds_of(task); ++kind)
    if ((ways[kind] = of(kind)) == 0) return;
  Number found = number_of(ways[0]);
#pragma unroll
  for (uint32_t kind = 0; kind < kinds_of(task); ++kind)
    for (uint32_t k = kind == 0; k < task.ways[kind].exponent; ++k) found = times(found, number_of(ways[kind]), over);
  if (is_ranked(task)) found = times(found, number_of(column == r ? task.back : task.factor), over);
  sum.add(task.weights ? times(found, task.weights[column], over) : found);
}

// Writes the sum of a row, by the whole block.
__device__ void write_row(const RowProducts& task, uint32_t r, Sum sum, ProductsShared& own, bool* over) {
  sum.gather(kLanes);
  if (lane_id() == 0) own.sums[threadIdx.x / kLanes] = sum;
  __syncthreads();
  if (threadIdx.x < kLanes) {
    Sum all;
    if (threadIdx.x < blockDim.x / kLanes) all = own.sums[threadIdx.x];
    all.gather(kLanes);
    if (threadIdx.x == 0) {
      if (is_ranked(task) && task.adds) all.add(task.out[r]);
      const Number number = all.number(over);
      task.out[r] = task.factors ? times(number, task.factors[r], over) : number;
    }
  }
  __syncthreads();
}

}  // namespace

// out[r], for rows of few ways; `left` gets the others. Shared memory: ProductsShared, and for each slot 4 and 4 for each kind.
extern "C" __global__ void __launch_bounds__(256)
    row_products_light(const RowProducts task, const WorkQueue queue, uint32_t* flag) {
  QE_SHARED(uint32_t, shared);
  ProductsShared& own = *reinterpret_cast<ProductsShared*>(shared);
  const uint32_t n_kinds = kinds_of(task);
  WaysTable table(shared + sizeof(ProductsShared) / 4, task.slots, n_kinds);
  table.clear();
  WorkTaker taker(queue, task.n_rows);
  Stop& stop = taker.stop();
  bool over = false;
  while (true) {
    if (threadIdx.x == 0) own.taken = taker.take(1);
    if (threadIdx.x < kMostKinds) own.ways[threadIdx.x] = 0;
    __syncthreads();
    if (own.taken >= task.n_rows) break;
    const uint32_t r = static_cast<uint32_t>(own.taken);
    const bool none = task.factors && is_zero(task.factors[r]);
    stop.warp();  // warps that take nothing look, too
#pragma unroll
    for (uint32_t kind = 0; kind < n_kinds; ++kind) {
      if (none) break;
      const Span mine = first_steps(task, task.ways[kind], r);
      uint64_t ways = 0;
      for (uint64_t e = mine.begin + threadIdx.x; e < mine.end && !stop.thread(); e += blockDim.x)
        ways += beyond(task, task.ways[kind], r, e).size();
      ways = sum_over(ways);
      if (lane_id() == 0 && ways > 0) atomicAdd(&own.ways[kind], static_cast<unsigned long long>(ways));
    }
    __syncthreads();
    uint32_t fewest = 0;
    uint64_t all = 0;
#pragma unroll
    for (uint32_t kind = 0; kind < n_kinds; ++kind) {
      all += own.ways[kind];
      if (own.ways[kind] < own.ways[fewest]) fewest = kind;
    }
    const uint64_t ways = own.ways[fewest];
    if (ways > table.room() || (ways > 0 && all - ways > kLookups * table.room())) {
      if (threadIdx.x == 0) task.left[atomicAdd(task.n_left, 1u)] = r;
      __syncthreads();
      continue;
    }
    table.fit(static_cast<uint32_t>(ways));
    const auto each_way = [&](uint32_t kind, auto take) {
      const Ways& of = task.ways[kind];
      each_list_of(
          ways > 0 ? first_steps(task, of, r) : Span{}, stop, [&](uint64_t e) { return beyond(task, of, r, e); },
          [&](int, const Span& part, int place, int team) {
            for (uint64_t e = part.begin + place; e < part.end; e += team) take(of.link.ids[e]);
          });
    };
#pragma unroll
    for (uint32_t kind = 0; kind < n_kinds; ++kind)
      if (kind == fewest) each_way(kind, [&](uint32_t column) { table.add(column, kind); });
    __syncthreads();
#pragma unroll
    for (uint32_t kind = 0; kind < n_kinds; ++kind)
      if (kind != fewest) each_way(kind, [&](uint32_t column) { table.raise(column, kind); });
    if (n_kinds > 1) __syncthreads();
    Sum sum;
    for (uint32_t i = threadIdx.x; i < table.size() && ways > 0; i += blockDim.x) {
      const uint32_t column = table.id(i);
      if (column == kNoVertex) continue;
      add_product(task, r, column, [&](uint32_t kind) { return table.count(i, kind); }, sum, &over);
      table.clear(i);
    }
    write_row(task, r, sum, own, &over);
  }
  raise_flag(flag, over);
}

// out[r], for the rows that are left. Shared memory: ProductsShared and `counters` of 32 bits for each kind.
extern "C" __global__ void __launch_bounds__(1024)
    row_products_heavy(const RowProducts task, const WorkQueue queue, uint32_t* flag) {
  QE_SHARED(uint32_t, shared);
  ProductsShared& own = *reinterpret_cast<ProductsShared*>(shared);
  uint32_t* counts = shared + sizeof(ProductsShared) / 4;
  const uint32_t n_kinds = kinds_of(task);
  const uint64_t n = *task.n_left;
  WorkTaker taker(queue, n);
  Stop& stop = taker.stop();
  bool over = false;
  for (uint32_t i = threadIdx.x; i < n_kinds * task.counters; i += blockDim.x) counts[i] = 0;
  while (true) {
    if (threadIdx.x == 0) own.taken = taker.take(1);
    __syncthreads();
    if (own.taken >= n) break;
    const uint32_t r = task.left[own.taken];
    const uint64_t begin = task.owners ? task.ends[task.owners[r]] : 0, end = task.owners ? task.ends[task.owners[r] + 1] : task.n;
    Sum sum;
    for (uint64_t tile = is_ranked(task) ? r : begin; tile < end; tile += task.counters) {
      const uint64_t last = tile + task.counters < end ? tile + task.counters : end;
      stop.warp();  // warps that take nothing look, too
#pragma unroll
      for (uint32_t kind = 0; kind < n_kinds; ++kind) {
        const Ways& of = task.ways[kind];
        uint32_t* to = counts + kind * task.counters;
        each_list_of(
            first_steps(task, of, r), stop,
            [&](uint64_t e) {
              Span its = beyond(task, of, r, e);
              const uint32_t* ids = of.link.ids + its.begin;
              const uint64_t from = its.begin, size = its.size();
              if (last < end) its.end = from + lower_bound(ids, size, static_cast<uint32_t>(last));
              if (tile > begin) its.begin = from + lower_bound(ids, size, static_cast<uint32_t>(tile));
              return its;
            },
            [&](int, const Span& part, int place, int team) {
#pragma unroll 4
              for (uint64_t e = part.begin + place; e < part.end; e += team) atomicAdd(&to[of.link.ids[e] - tile], 1u);
            });
      }
      __syncthreads();
      for (uint32_t i = threadIdx.x; i < last - tile; i += blockDim.x) {
        add_product(
            task, r, static_cast<uint32_t>(tile + i), [&](uint32_t kind) { return counts[kind * task.counters + i]; }, sum, &over);
#pragma unroll
        for (uint32_t kind = 0; kind < n_kinds; ++kind) counts[kind * task.counters + i] = 0;
      }
      __syncthreads();
    }
    write_row(task, r, sum, own, &over);
  }
  raise_flag(flag, over);
}
