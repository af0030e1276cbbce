// Elimination of a forest around a root: for each root u the pattern's other vertices are summed out from the leaves to the
// top, by sparse vectors over what u reaches.
//
// Problem: as kernels/host/count/rooted_forest.cpp. A block takes a root at a time. What is pushed over links is added to
// the block's array over all vertices, whose touched places are listed; they make the next sparse vector and are cleared.
// Preconditions: the scratch is clear (it is again at the end, unless it was stopped), scratch_bytes of it for each block;
// nodes stand after those that they sum up; at most kMostForestNodes. Launch: blocks of whole warps, of shared memory
// sizeof(Shared). Bytes moved: for each number that is pushed its row, and an atomic addition at random for each entry.
// Deterministic. `flag` becomes 1 where numbers are too large.
// Sources: Gustavson 1978 (sparse accumulator); cutset conditioning, Dechter 1990.
#include "count/eliminate.cuh"
#include "qe/lists.h"

using namespace qe;
using namespace qe::eliminate;

namespace {

constexpr int kMostForestNodes = 32;
constexpr int kMostWarps = 32;

// See plan/elimination.py. start, link: places of matrices, vector: of vectors, -1 for none. The nodes that it sums up are
// children[first, first + count), equal ones side by side. slot: where its sparse vector is kept, -1: it is a row of the root.
struct ForestNode {
  int32_t start, vector, link, first, count, slot;
};

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
  uint32_t unused;
};

struct Shared {
  uint64_t root;
  uint32_t touched;            // places of the array
  uint32_t sizes[kMostForestNodes];   // of the sparse vectors, by slot
  Sum sums[kMostWarps];
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

class Roots {
 public:
  __device__ Roots(const ForestPlan& plan, Shared& shared, Stop& stop) : plan_(plan), shared_(shared), stop_(stop) {
    const uint64_t n = plan.n;
    dense_ = reinterpret_cast<Number*>(plan.scratch + blockIdx.x * plan.scratch_bytes);
    numbers_ = dense_ + n;
    touched_ = reinterpret_cast<uint32_t*>(numbers_ + n * plan.n_slots);
    marks_ = touched_ + n;
    ids_ = marks_ + n;
  }

  // The number of one root, for thread 0; by the whole block.
  __device__ Number root(uint32_t u) {
    Number product = plan_.roots ? plan_.roots[u] : number_of(1);
    if (is_zero(product)) return product;
    for (int k = 0; k < plan_.n_nodes; ++k)
      if (plan_.nodes[k].slot >= 0 && !make(plan_.nodes[k], u)) return number_of(0);
    for (int k = 0; k < plan_.n_tops;) {
      const int32_t top = plan_.tops[k];
      int repeats = 0;
      for (; k < plan_.n_tops && plan_.tops[k] == top; ++k) ++repeats;
      const Number sum = total(of(plan_.nodes[top], u));
      product = is_zero(sum) ? sum : times(product, power(sum, repeats, &over_), &over_);
      if (is_zero(product)) return product;
    }
    return product;
  }
  __device__ bool over() const { return over_; }

 private:
  __device__ const Matrix& matrix(int32_t k) const { return plan_.matrices[k]; }
  __device__ const Number* factors(const ForestNode& node) const { return node.vector < 0 ? nullptr : plan_.vectors[node.vector]; }

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

  // Makes the sparse vector of a node that sums up others; false if it was stopped.
  __device__ bool make(const ForestNode& node, uint32_t u) {
    const int32_t* children = plan_.children + node.first;
    uint32_t* ids = ids_ + uint64_t{plan_.n} * node.slot;
    Number* numbers = numbers_ + uint64_t{plan_.n} * node.slot;
    const Number* own = factors(node);
    uint32_t n = 0;
    for (int j = 0; j < node.count;) {
      const int32_t child = children[j];
      int exponent = 0;
      for (; j < node.count && children[j] == child; ++j) ++exponent;
      const bool first = j == exponent;
      if (!push(plan_.nodes[child], u)) return false;
      const uint32_t touched = min(shared_.touched, plan_.n);
      if (first) n = touched;
      for (uint32_t i = threadIdx.x; i < n && !stop_.thread(); i += blockDim.x) {
        const uint32_t x = first ? touched_[i] : ids[i];
        Number found = first ? own ? own[x] : number_of(1) : numbers[i];
        if (!is_zero(found)) found = is_zero(dense_[x]) ? dense_[x] : times(found, power(dense_[x], exponent, &over_), &over_);
        ids[i] = x;
        numbers[i] = found;
      }
      if (block_stopped()) return false;
      for (uint32_t i = threadIdx.x; i < touched && !stop_.thread(); i += blockDim.x) {
        dense_[touched_[i]] = number_of(0);
        if (QE_WIDE) marks_[touched_[i]] = 0;
      }
      if (block_stopped()) return false;
    }
    if (node.start >= 0)
      for (uint32_t i = threadIdx.x; i < n && !stop_.thread(); i += blockDim.x)
        if (!is_zero(numbers[i])) numbers[i] = times(numbers[i], entry(matrix(node.start), u, ids[i]), &over_);
    if (threadIdx.x == 0) shared_.sizes[node.slot] = n;
    return !block_stopped();
  }

  // The sum of a row's numbers for one id.
  __device__ Number entry(const Matrix& m, uint32_t u, uint32_t x) {
    const Span at = row(m, u);
    Sum sum;
    for (uint64_t e = at.begin + lower_bound(m.ids + at.begin, at.size(), x); e < at.end && m.ids[e] == x; ++e)
      sum.add(value(m, e));
    return sum.number(&over_);
  }

  // Adds what a node hands on to the array, and lists the places; false if it was stopped.
  __device__ bool push(const ForestNode& node, uint32_t u) {
    if (threadIdx.x == 0) shared_.touched = 0;
    __syncthreads();
    const Sparse from = of(node, u);
    const Matrix& link = matrix(node.link);
    const int lane = lane_id();
    for (uint64_t first = threadIdx.x - lane; first < from.n && !stop_.warp(); first += blockDim.x) {
      Span own;
      Number number = number_of(0);
      if (first + lane < from.n) number = from.number(first + lane, &over_);
      if (!is_zero(number)) own = row(link, from.ids[first + lane]);
      const int team = team_of(own.size());
      for (int k = lane / team; k < kLanes; k += kLanes / team) {
        const Span at = own.of_lane(k);
        Number more;
        for (int i = 0; i < kWords; ++i) more.word[i] = __shfl_sync(kAllLanes, number.word[i], k);
        each_part(at, stop_, [&](const Span& part) {
          for (uint64_t e = part.begin + lane % team; e < part.end; e += team)
            add(link.ids[e], link.values ? times(more, link.values[e], &over_) : more);
        });
      }
    }
    return !block_stopped();
  }

  __device__ void add(uint32_t x, const Number& more) {
    if (is_zero(more)) return;
#if QE_WIDE
    const bool fresh = atomicExch(&marks_[x], 1u) == 0;
    over_ |= add_together(dense_[x].word, more.word, kWords) != 0;
#else
    const uint64_t before = atomicAdd(&dense_[x].word[0], more.word[0]);
    const bool fresh = before == 0;
    over_ |= before + more.word[0] < before;
#endif
    if (!fresh) return;
    const uint32_t at = atomicAdd(&shared_.touched, 1u);
    if (at < plan_.n) touched_[at] = x;  // more only after a number has wrapped
  }

  // The sum of a sparse vector; the same for the whole block.
  __device__ Number total(const Sparse& of) {
    Sum sum;
    for (uint64_t i = threadIdx.x; i < of.n && !stop_.thread(); i += blockDim.x) sum.add(of.number(i, &over_));
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
  Stop& stop_;
  Number *dense_, *numbers_;
  uint32_t *touched_, *marks_, *ids_;  // marks: where numbers can't tell by themselves that a place is fresh
  bool over_ = false;
};

}  // namespace

// out[u], for each of plan.n_roots roots: plan.roots' number times the sums of the tops' vectors.
extern "C" __global__ void __launch_bounds__(512)
    rooted_forest(const ForestPlan plan, Number* out, const WorkQueue queue, uint32_t* flag) {
  extern __shared__ __align__(16) char shared[];
  Shared& own = *reinterpret_cast<Shared*>(shared);
  WorkTaker taker(queue, plan.n_roots);
  Roots roots(plan, own, taker.stop());
  while (true) {
    if (threadIdx.x == 0) own.root = taker.take(1);
    __syncthreads();
    const uint64_t u = own.root;
    __syncthreads();
    if (u >= plan.n_roots) break;
    taker.stop().warp();  // warps that take nothing look, too, where roots have little to do
    const Number number = roots.root(static_cast<uint32_t>(u));
    if (threadIdx.x == 0) out[u] = number;
  }
  raise_flag(flag, roots.over());
}
