// Elimination of a forest around a root: for each root u the pattern's other vertices are summed out from the leaves to the
// top, by sparse vectors over what u reaches.
//
// Problem: as kernels/host/count/rooted_forest.cpp. A block takes a root at a time. What is pushed over links is added up in
// shared memory: few numbers in a hash table, many in an array of some columns at a time. What is there makes the next sparse
// vector, or is only summed. masked_forest: the last node's sparse vector of each root a is looked up by the rows of another
// matrix, one for each pair (a, b) that a third one links.
// Preconditions: a matrix without numbers links a pair once; scratch_bytes of scratch for each block; nodes stand after those that they sum up; at most kMostForestNodes.
// Launch: blocks of whole warps, of shared memory sizeof(Shared) and `words` words. Bytes moved: for each number that is pushed
// its row, once more for each array of columns where it begins there, and an addition in shared memory for each entry.
// Deterministic. `flag` becomes 1 where numbers are too large.
// Sources: Gustavson 1978 (sparse accumulator); hash accumulators: Nagasaka et al. 2019; cutset conditioning, Dechter 1990.
#include "count/eliminate.cuh"
#include "qe/lists.h"
#include "qe/match_plan.h"

using namespace qe;
using namespace qe::eliminate;

namespace {

constexpr int kMostForestNodes = 32;
constexpr int kMostWarps = 32;
constexpr int kHalves = 2 * kWords;
constexpr uint64_t kPushesAlone = 16;  // numbers that are pushed into a table's columns alone, by those that it has room for

// See plan/elimination.py. start, link: places of matrices, vector: of vectors, -1 for none. The nodes that it sums up are
// children[first, first + count), equal ones side by side. slot: where its sparse vector is kept, kRow: it is a row of the
// root, kSummed: only its sum is wanted.
struct ForestNode {
  int32_t start, vector, link, first, count, slot;
};
constexpr int32_t kRow = -1, kSummed = -2;

struct ForestPlan {
  const ForestNode* nodes;
  const int32_t* children;
  const int32_t* tops;  // equal ones side by side
  const Matrix* matrices;
  const Number* const* vectors;
  const Number* roots;  // or null: 1 each
  char* scratch;
  uint64_t scratch_bytes;  // of a block
  int32_t n_nodes, n_tops, n_slots;
  uint32_t n;        // of what nodes' vectors may have
  uint32_t n_roots;
  uint32_t words;    // of shared memory, for what is added up
};

struct Shared {
  Number totals[kMostForestNodes];              // of nodes that are only summed
  Sum sums[kMostWarps];
  unsigned long long pushed[kMostForestNodes];  // numbers, by child
  uint64_t root;
  uint32_t ends[kMostForestNodes];              // of the columns of a child
  uint32_t not_begins[kMostForestNodes];        // where they begin, its bits turned round
  uint32_t sizes[kMostForestNodes];             // of the sparse vectors, by slot
};

// Entry i stands for ids[i]; numbers, factors: null for 1 each. Its number is the product.
struct Sparse {
  const uint32_t* ids;
  const Number* numbers;
  const Number* factors;
  uint64_t n;

  __device__ Number number(uint64_t i, bool* over) const {
    if (!numbers) return factors ? factors[ids[i]] : number_of(1);
    return factors ? times(numbers[i], factors[ids[i]], over) : numbers[i];
  }
};

__device__ Number power(const Number& base, int exponent, bool* over) {
  Number found = base;
  for (int k = 1; k < exponent; ++k) found = times(found, base, over);
  return found;
}

// Numbers in shared memory that all threads of a block add to: half a word of each side by side.
class SharedNumbers {
 public:
  __device__ SharedNumbers(uint32_t* words, uint32_t n) : words_(words), n_(n) {}

  __device__ void add(uint32_t i, const Number& more, bool* over) {
    uint32_t carry = 0;
#pragma unroll
    for (int half = 0; half < kHalves; ++half) {
      const uint64_t added = (more.word[half / 2] >> 32 * (half % 2) & 0xFFFFFFFFu) + carry;
      const uint32_t low = static_cast<uint32_t>(added);
      carry = static_cast<uint32_t>(added >> 32);
      if (low != 0) carry += atomicAdd(&words_[half * n_ + i], low) + low < low;
    }
    *over |= carry != 0;
  }
  // Adds 1 where there are never 2^32: of the ways over a vertex each there is one at most.
  __device__ void count(uint32_t i) { atomicAdd(&words_[i], 1u); }

  // By one thread, when all has been added.
  __device__ Number take(uint32_t i) {
    const Number found = get(i);
    clear(i);
    return found;
  }
  __device__ void clear(uint32_t i) {
#pragma unroll
    for (int half = 0; half < kHalves; ++half) words_[half * n_ + i] = 0;
  }
  __device__ Number get(uint32_t i) const {
    Number found{};
#pragma unroll
    for (int half = 0; half < kHalves; ++half) found.word[half / 2] |= uint64_t{words_[half * n_ + i]} << 32 * (half % 2);
    return found;
  }
  __device__ void put(uint32_t i, const Number& number) {
#pragma unroll
    for (int half = 0; half < kHalves; ++half)
      words_[half * n_ + i] = static_cast<uint32_t>(number.word[half / 2] >> 32 * (half % 2));
  }

 private:
  uint32_t* words_;
  uint32_t n_;
};

// By place: what a child pushes, and the products of what others have pushed.
struct Added {
  SharedNumbers numbers, products;
};

// The columns [begin, end), each in its place.
struct Columns {
  uint32_t begin, end;

  __device__ uint32_t size() const { return end - begin; }
  __device__ uint32_t id(uint32_t i) const { return begin + i; }
  __device__ bool has(uint32_t id) const { return id >= begin && id < end; }
  __device__ uint32_t place(uint32_t id, bool) const { return id - begin; }
  __device__ Span clipped(const Matrix& m, Span all) const {
    const uint32_t* ids = m.ids + all.begin;
    const uint64_t n = all.size(), from = all.begin;
    if (n == 0) return {};
    if (ids[n - 1] >= end) all.end = from + lower_bound(ids, n, end);
    if (ids[0] < begin) all.begin = from + lower_bound(ids, n, begin);
    return all;
  }
  __device__ void clear(uint32_t) const {}
};

// Any columns, by hashing: linear probing, empty places have the key kNoVertex.
struct Hashed {
  uint32_t* keys;
  uint32_t bits;

  __device__ uint32_t size() const { return 1u << bits; }
  __device__ uint32_t id(uint32_t i) const { return keys[i]; }
  // The place of a column, kNoVertex where it has none and isn't to get one.
  __device__ uint32_t place(uint32_t id, bool added) const {
    for (uint32_t i = id * 0x9E3779B1u >> (32 - bits);; i = (i + 1) & (size() - 1)) {
      uint32_t key = keys[i];
      if (key == kNoVertex && added) {
        key = atomicCAS(&keys[i], kNoVertex, id);
        if (key == kNoVertex) return i;
      }
      if (key == id) return i;
      if (key == kNoVertex) return kNoVertex;
    }
  }
  __device__ bool has(uint32_t) const { return true; }
  __device__ Span clipped(const Matrix&, const Span& all) const { return all; }
  __device__ void clear(uint32_t i) const { keys[i] = kNoVertex; }
};

class Roots {
 public:
  // words: plan.words of shared memory.
  __device__ Roots(const ForestPlan& plan, Shared& shared, uint32_t* words, Stop& stop)
      : plan_(plan), shared_(shared), words_(words), stop_(stop) {
    numbers_ = reinterpret_cast<Number*>(plan.scratch + blockIdx.x * plan.scratch_bytes);
    ids_ = reinterpret_cast<uint32_t*>(numbers_ + uint64_t{plan.n} * plan.n_slots);
    while ((1 + 2 * kHalves) << (most_bits_ + 1) <= plan.words) ++most_bits_;
    for (uint32_t i = threadIdx.x; i < plan.words; i += blockDim.x) words_[i] = 0;
    __syncthreads();
  }

  // The number of one root, for thread 0; by the whole block.
  __device__ Number root(uint32_t u) {
    Number product = plan_.roots ? plan_.roots[u] : number_of(1);
    if (is_zero(product)) return product;
    for (int k = 0; k < plan_.n_nodes; ++k)
      if (plan_.nodes[k].slot != kRow && !make(k, u)) return number_of(0);
    for (int k = 0; k < plan_.n_tops;) {
      const int32_t top = plan_.tops[k];
      int repeats = 0;
      for (; k < plan_.n_tops && plan_.tops[k] == top; ++k) ++repeats;
      const Number sum = plan_.nodes[top].slot == kSummed ? shared_.totals[top] : total(of(plan_.nodes[top], u));
      product = is_zero(sum) ? sum : times(product, power(sum, repeats, &over_), &over_);
      if (is_zero(product)) return product;
    }
    return product;
  }

  // out[p], for each pair p = (a, b) of `across`: the sum of the last node's numbers around a at the row of `right` for b; by
  // the whole block.
  __device__ void pairs_of(uint32_t a, const Matrix& across, const Matrix& right, Number* out) {
    const Span pairs = row(across, a);
    if (pairs.size() == 0) return;
    for (int k = 0; k < plan_.n_nodes; ++k)
      if (plan_.nodes[k].slot != kRow && !make(k, a)) return;
    const Sparse found = of(plan_.nodes[plan_.n_nodes - 1], a);
    if (found.n == 0) return;
    if (found.n <= (uint64_t{1} << most_bits_) / 3 * 2) {
      const Hashed hashed = table(found.n);
      look_up(found, hashed, pairs, across, right, SharedNumbers(words_, hashed.size()), out);
      if (block_stopped()) return;
      for (uint32_t i = threadIdx.x; i < hashed.size(); i += blockDim.x) hashed.keys[i] = 0;
      __syncthreads();
      return;
    }
    const uint32_t each = plan_.words / kHalves;
    for (uint64_t from = 0; from < plan_.n; from += each) {
      const Columns columns{static_cast<uint32_t>(from), from + each < plan_.n ? static_cast<uint32_t>(from) + each : plan_.n};
      look_up(found, columns, pairs, across, right, SharedNumbers(words_, each), out);
      if (block_stopped()) return;
    }
  }
  __device__ bool over() const { return over_; }

 private:
  __device__ const Matrix& matrix(int32_t k) const { return plan_.matrices[k]; }
  __device__ const Number* factors(const ForestNode& node) const {
    return node.vector < 0 ? nullptr : plan_.vectors[node.vector];
  }

  __device__ Sparse of(const ForestNode& node, uint32_t u) const {
    if (node.slot >= 0) {
      const uint64_t at = uint64_t{plan_.n} * node.slot;
      return {ids_ + at, numbers_ + at, nullptr, shared_.sizes[node.slot]};
    }
    const Matrix& m = matrix(node.start);
    const Span at = row(m, u);
    return {m.ids + at.begin, m.values ? m.values + at.begin : nullptr, factors(node), at.size()};
  }

  // A barrier: has any warp of the block been stopped? What it has not made must not be read.
  __device__ bool block_stopped() const { return __syncthreads_or(stop_.stopped()); }

  // Makes the sparse vector, or the sum, of node k, which sums up others; false if it was stopped.
  __device__ bool make(int k, uint32_t u) {
    const ForestNode& node = plan_.nodes[k];
    const int32_t* children = plan_.children + node.first;
    if (threadIdx.x < kMostForestNodes) {
      shared_.pushed[threadIdx.x] = 0;
      shared_.ends[threadIdx.x] = shared_.not_begins[threadIdx.x] = 0;
    }
    if (threadIdx.x == 0) {
      if (node.slot >= 0) shared_.sizes[node.slot] = 0;
      shared_.totals[k] = number_of(0);
    }
    __syncthreads();
    int fewest = 0;
    for (int j = 0; j < node.count; j = next(node, j)) measure(plan_.nodes[children[j]], u, j);
    if (block_stopped()) return false;
    uint64_t all = 0;
    uint32_t begin = 0, end = plan_.n;
    for (int j = 0; j < node.count; j = next(node, j)) {
      all += shared_.pushed[j];
      if (shared_.pushed[j] < shared_.pushed[fewest]) fewest = j;
      begin = max(begin, ~shared_.not_begins[j]);
      end = min(end, shared_.ends[j]);
    }
    const uint64_t least = shared_.pushed[fewest];
    Sum sum;
    const uint64_t room = (uint64_t{1} << most_bits_) / 3 * 2;
    if (least > 0 && begin < end && !(least <= room && all - least <= kPushesAlone * room)) {
      const uint32_t each = plan_.words / (kHalves * (next(node, 0) < node.count ? 2 : 1));
      for (uint64_t from = begin; from < end; from += each) {
        const Columns columns{static_cast<uint32_t>(from), from + each < end ? static_cast<uint32_t>(from) + each : end};
        if (!add_up(node, u, columns, fewest, words_, each, sum)) return false;
      }
    } else if (least > 0 && begin < end) {
      const Hashed hashed = table(least);
      if (!add_up(node, u, hashed, fewest, words_, hashed.size(), sum)) return false;
      for (uint32_t i = threadIdx.x; i < hashed.size(); i += blockDim.x) hashed.keys[i] = 0;
    }
    if (node.slot == kSummed) {
      const Number found = over_all(sum);
      if (threadIdx.x == 0) shared_.totals[k] = found;
    }
    return !block_stopped();
  }

  // An empty table with room for so many columns.
  __device__ Hashed table(uint64_t n) {
    Hashed made{words_ + 2 * kHalves * (1u << most_bits_), 5};
    while ((1u << made.bits) < n + n / 2) ++made.bits;
    for (uint32_t i = threadIdx.x; i < made.size(); i += blockDim.x) made.clear(i);
    __syncthreads();
    return made;
  }

  // Adds to each pair's number what a vector has at those places of its row that are here; the numbers are zeros again.
  template <typename Places>
  __device__ void look_up(const Sparse& from, const Places& places, const Span& pairs, const Matrix& across,
                          const Matrix& right, SharedNumbers numbers, Number* out) {
    for (uint64_t i = threadIdx.x; i < from.n && !stop_.thread(); i += blockDim.x)
      if (places.has(from.ids[i])) numbers.add(places.place(from.ids[i], true), from.number(i, &over_), &over_);
    if (block_stopped()) return;
    const uint64_t warps = blockDim.x / kLanes, warp = threadIdx.x / kLanes;
    for (uint64_t first = pairs.begin + warp; first < pairs.end && !stop_.warp(); first += warps * kLanes) {
      const uint64_t pair = first + lane_id() * warps;
      Span its;
      if (pair < pairs.end) its = places.clipped(right, row(right, across.ids[pair]));
      each_list(its, [&](int k, const Span& at, int lane, int team) {
        Sum sum;
        each_part(at, stop_, [&](const Span& part) {
          for (uint64_t e = part.begin + lane; e < part.end; e += team) {
            const uint32_t place = places.place(right.ids[e], false);
            if (place != kNoVertex) sum.add(times(numbers.get(place), value(right, e), &over_));
          }
        });
        __syncwarp();
        sum.gather(team);
        const uint64_t of = first + k * warps;
        if (lane != 0 || at.size() == 0) return;
        sum.add(out[of]);
        out[of] = sum.number(&over_);
      });
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < places.size(); i += blockDim.x) numbers.clear(i);
    __syncthreads();
  }

  // The child after those that are child j of a node.
  __device__ int next(const ForestNode& node, int j) const {
    const int32_t* children = plan_.children + node.first;
    const int32_t child = children[j];
    while (j < node.count && children[j] == child) ++j;
    return j;
  }

  // Counts what a child, number j of its node, has to push, and finds the columns that it has.
  __device__ void measure(const ForestNode& child, uint32_t u, int j) {
    const Sparse from = of(child, u);
    const Matrix& link = matrix(child.link);
    uint64_t pushed = 0;
    uint32_t end = 0, not_begin = 0;
    for (uint64_t i = threadIdx.x; i < from.n && !stop_.thread(); i += blockDim.x) {
      const Span its = row(link, from.ids[i]);
      if (its.size() == 0) continue;
      pushed += its.size();
      end = max(end, link.ids[its.end - 1] + 1);
      not_begin = max(not_begin, ~link.ids[its.begin]);
    }
    pushed = sum_over(pushed);
    end = most_of(end);
    not_begin = most_of(not_begin);
    if (lane_id() != 0 || pushed == 0) return;
    atomicAdd(&shared_.pushed[j], static_cast<unsigned long long>(pushed));
    atomicMax(&shared_.ends[j], end);
    atomicMax(&shared_.not_begins[j], not_begin);
  }

  // Adds up what the children of a node push to some columns, the one with the fewest first, and multiplies it; false if it was
  // stopped. words: zeros, and so they are again; of n numbers, and of as many products where there are several children.
  template <typename Places>
  __device__ bool add_up(const ForestNode& node, uint32_t u, const Places& places, int fewest, uint32_t* words, uint32_t n,
                         Sum& sum) {
    Added added{SharedNumbers(words, n), SharedNumbers(words + kHalves * n, n)};
    int left = 0;
    for (int j = 0; j < node.count; j = next(node, j)) ++left;
    bool first = true;
    for (int j = fewest; left > 0; --left) {
      push(plan_.nodes[plan_.children[node.first + j]], u, places, first, added.numbers);
      if (block_stopped()) return false;
      multiply(node, u, next(node, j) - j, places, added, first, left == 1, sum);
      if (block_stopped()) return false;
      j = first ? 0 : next(node, j);
      if (j == fewest) j = next(node, j);
      first = false;
    }
    return true;
  }

  // Multiplies each column's product by the power of its number; takes it where this is the `last` of the node's children.
  template <typename Places>
  __device__ void multiply(const ForestNode& node, uint32_t u, int exponent, const Places& places, Added& added, bool first,
                           bool last, Sum& sum) {
    const Number* own = factors(node);
    for (uint32_t i = threadIdx.x; i < places.size() && !stop_.thread(); i += blockDim.x) {
      Number found = added.numbers.take(i);
      const Number before = first ? number_of(1) : added.products.take(i);
      if (is_zero(found) || is_zero(before)) continue;
      found = times(before, power(found, exponent, &over_), &over_);
      if (first && own) found = times(found, own[places.id(i)], &over_);
      if (last && node.start >= 0 && !is_zero(found)) found = times(found, entry(matrix(node.start), u, places.id(i)), &over_);
      if (is_zero(found)) continue;
      if (!last) {
        added.products.put(i, found);
      } else if (node.slot == kSummed) {
        sum.add(found);
      } else {
        const uint64_t at = uint64_t{plan_.n} * node.slot + atomicAdd(&shared_.sizes[node.slot], 1u);
        ids_[at] = places.id(i);
        numbers_[at] = found;
      }
    }
  }

  // The sum of a row's numbers for one id.
  __device__ Number entry(const Matrix& m, uint32_t u, uint32_t x) {
    const Span at = row(m, u);
    Sum sum;
    for (uint64_t e = at.begin + lower_bound(m.ids + at.begin, at.size(), x); e < at.end && m.ids[e] == x; ++e)
      sum.add(value(m, e));
    return sum.number(&over_);
  }

  // Adds what a node hands on to the numbers of columns, of such as have a place where they aren't `added`. Neighbouring
  // entries are different warps': ids are by descending degree, so that the longest lists are side by side.
  template <typename Places>
  __device__ void push(const ForestNode& node, uint32_t u, const Places& places, bool added, SharedNumbers& numbers) {
    const Sparse from = of(node, u);
    const Matrix& link = matrix(node.link);
    const bool plain = !from.numbers && !from.factors && !link.values;
    const uint64_t warps = blockDim.x / kLanes, warp = threadIdx.x / kLanes;
    for (uint64_t first = warp; first < from.n && !stop_.warp(); first += warps * kLanes) {
      const uint64_t i = first + lane_id() * warps;
      Span its;
      Number number = number_of(0);
      if (i < from.n) number = from.number(i, &over_);
      if (!is_zero(number)) its = places.clipped(link, row(link, from.ids[i]));
      each_list(its, [&](int k, const Span& at, int lane, int team) {
        Number more;
        for (int word = 0; word < kWords; ++word) more.word[word] = __shfl_sync(kAllLanes, number.word[word], k);
        each_part(at, stop_, [&](const Span& part) {
          for (uint64_t e = part.begin + lane; e < part.end; e += team) {
            const uint32_t place = places.place(link.ids[e], added);
            if (place == kNoVertex) continue;
            if (plain) numbers.count(place);
            else numbers.add(place, link.values ? times(more, link.values[e], &over_) : more, &over_);
          }
        });
      });
    }
  }

  // The sum of a sparse vector; the same for the whole block.
  __device__ Number total(const Sparse& of) {
    Sum sum;
    for (uint64_t i = threadIdx.x; i < of.n && !stop_.thread(); i += blockDim.x) sum.add(of.number(i, &over_));
    return over_all(sum);
  }

  // The sum over all threads of the block, for each.
  __device__ Number over_all(Sum sum) {
    sum.gather(kLanes);
    if (lane_id() == 0) shared_.sums[threadIdx.x / kLanes] = sum;
    __syncthreads();
    Sum all;
    for (uint32_t w = 0; w < blockDim.x / kLanes; ++w) all.add(shared_.sums[w]);
    __syncthreads();
    return all.number(&over_);
  }

  const ForestPlan& plan_;
  Shared& shared_;
  uint32_t* words_;
  Stop& stop_;
  Number* numbers_;
  uint32_t* ids_;
  uint32_t most_bits_ = 0;  // of the places of a table
  bool over_ = false;
};

// Deals the roots to blocks: take(roots, k) for number k of them, by the whole block. shared: as the launch says.
template <typename Take>
__device__ void each_root(const ForestPlan& plan, const WorkQueue& queue, uint32_t* shared, uint32_t* flag, Take take) {
  Shared& own = *reinterpret_cast<Shared*>(shared);
  WorkTaker taker(queue, plan.n_roots);
  Roots roots(plan, own, shared + sizeof(Shared) / 4, taker.stop());
  while (true) {
    if (threadIdx.x == 0) own.root = taker.take(1);
    __syncthreads();
    const uint64_t root = own.root;
    __syncthreads();
    if (root >= plan.n_roots) break;
    taker.stop().warp();  // warps that take nothing look, too, where roots have little to do
    take(roots, static_cast<uint32_t>(root));
  }
  raise_flag(flag, roots.over());
}

}  // namespace

// out[u], for each of plan.n_roots roots: plan.roots' number times the sums of the tops' vectors.
extern "C" __global__ void __launch_bounds__(512)
    rooted_forest(const ForestPlan plan, Number* out, const WorkQueue queue, uint32_t* flag) {
  QE_SHARED(uint32_t, shared);
  each_root(plan, queue, shared, flag, [&](Roots& roots, uint32_t u) {
    const Number number = roots.root(u);
    if (threadIdx.x == 0) out[u] = number;
  });
}

// out[p], for each pair p of `across`, which has plan.n_roots rows from `lo` on: see above. out: zeros.
extern "C" __global__ void __launch_bounds__(512)
    masked_forest(const ForestPlan plan, const Matrix across, const Matrix right, Number* out, const WorkQueue queue,
                  uint32_t* flag) {
  QE_SHARED(uint32_t, shared);
  each_root(plan, queue, shared, flag,
            [&](Roots& roots, uint32_t k) { roots.pairs_of(across.lo + k, across, right, out); });
}
