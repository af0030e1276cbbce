// Elimination's steps over vectors: messages (a matrix times a vector), products entry by entry, totals, signed terms.
//
// Problem: as kernels/host/count/eliminate_vectors.cpp. A message sums out a vertex that one other knows: `eliminate_message`,
// a warp for each window of QE_WINDOW entries whatever rows they belong to, so that hubs don't stall; rows that windows cut
// are put together by `eliminate_join`. Rows that no entry belongs to are left as they are: the caller clears `out`.
// Preconditions: all pointers on the device; vectors have a number for each vertex of the graph.
// Launch: blocks of whole warps, a warp for each window or part, or a thread for each number.
// Bytes moved by a message: 4 (with values 12) an entry, and the vector at random, a sector of 32 bytes from L2 for each entry
// that L1 does not have. Deterministic. `over` becomes 1 where numbers are too large. Source: bucket elimination (Dechter
// 1999), on sparse matrices; rows cut by entries: Merrill and Garland 2016.
#include "count/eliminate.cuh"
#include "qe/match_plan.h"

using namespace qe;
using namespace qe::eliminate;

namespace {

constexpr uint64_t kWindow = QE_WINDOW;
constexpr int kMostFactors = 16;
constexpr int kMostSums = 24;  // a launch

// What windows leave of the rows that they cut: of window w sums[2 w] is of the row that began before it, sums[2 w + 1] of the
// row that goes on after it, and open[w] that row's number and 1, 0 where there is none.
struct Parts {
  Sum* sums;
  uint32_t* open;
};

struct Factors {
  const Number* of[kMostFactors];
  uint32_t n, unused;
};

struct Sums {
  Factors of[kMostSums];
  uint64_t n;
};

enum Cut : int { kWhole, kBefore, kOpen };  // by a window

// The sum over entries begin, begin + step, … of a row that ends at `end`; four loads are under way at a time.
__device__ Sum sum_of(const Matrix& m, const Number* vector, uint64_t begin, uint64_t end, uint32_t step, bool* over) {
  Sum sum;
  for (; begin < end; begin += 4 * step) {
    uint32_t ids[4];
    Number numbers[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) ids[i] = begin + i * step < end ? m.ids[begin + i * step] : kNoVertex;
#pragma unroll
    for (int i = 0; i < 4; ++i)
      numbers[i] = ids[i] == kNoVertex ? number_of(0) : vector ? vector[ids[i]] : number_of(1);
    if (m.values) {
      for (int i = 0; i < 4; ++i)
        if (ids[i] != kNoVertex) numbers[i] = times(numbers[i], m.values[begin + i * step], over);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) sum.add(numbers[i]);
  }
  return sum;
}

// The product of the factors' i-th numbers. Where one is 0 nothing is too large.
template <int kSize>
__device__ NumberOf<kSize> product_of(const Factors& factors, uint64_t i, bool* over) {
  NumberOf<kSize> product = resized<kSize>(factors.of[0][i]);
  bool zero = is_zero(product), too_large = false;
  for (uint32_t k = 1; k < factors.n && !zero; ++k) {
    const NumberOf<kSize> factor = resized<kSize>(factors.of[k][i]);
    zero = is_zero(factor);
    product = times(product, factor, &too_large);
  }
  *over |= too_large && !zero;
  return zero ? NumberOf<kSize>{} : product;
}

}  // namespace

// out[u]: the sum over the row of u of the matrix's numbers times the vector's (null: 1).
extern "C" __global__ void eliminate_message(const Matrix m, const Number* vector, Number* out, Parts parts,
                                             uint32_t* flag) {
  const uint64_t window = thread_id() / kLanes, first = window * kWindow;
  if (first >= m.n_entries) return;
  const uint64_t last = first + kWindow < m.n_entries ? first + kWindow : m.n_entries;
  const uint64_t rows = m.hi - m.lo;
  const int lane = lane_id();
  uint32_t open = 0;
  bool over = false;
  for (uint64_t row = row_of(m.offsets, rows, first);; row += kLanes) {
    uint64_t from = last, to = last;  // of this lane's row
    if (row + lane < rows) {
      from = m.offsets[row + lane];
      to = m.offsets[row + lane + 1];
    }
    const Cut cut = from < first ? kBefore : to > last ? kOpen : kWhole;
    const uint64_t begin = from < first ? first : from < last ? from : last, end = to < last ? to : last;
    const int team = team_of(end - begin);
    for (int k = lane / team; k < kLanes; k += kLanes / team) {
      const uint64_t at = __shfl_sync(kAllLanes, begin, k), stop = __shfl_sync(kAllLanes, end, k);
      const int where = __shfl_sync(kAllLanes, static_cast<int>(cut), k);
      if (!__any_sync(kAllLanes, at < stop)) continue;
      Sum sum = sum_of(m, vector, at + lane % team, stop, team, &over);
      sum.gather(team);
      if (lane % team != 0 || at >= stop) continue;
      if (where == kWhole) out[m.lo + row + k] = sum.number(&over);
      else parts.sums[2 * window + (where == kOpen)] = sum;
      if (where == kOpen) open = static_cast<uint32_t>(row + k + 1);
    }
    if (__shfl_sync(kAllLanes, to, kLanes - 1) >= last) break;
  }
  const uint32_t goes_on = __ballot_sync(kAllLanes, open != 0);
  if (goes_on ? open != 0 : lane == 0) parts.open[window] = open;
  raise_flag(flag, over);
}

// Completes the rows that windows have cut; launched as the message was.
extern "C" __global__ void eliminate_join(const Matrix m, Parts parts, Number* out, uint32_t* flag) {
  const uint64_t window = thread_id() / kLanes;
  if (window * kWindow >= m.n_entries) return;
  const uint32_t open = parts.open[window];
  if (open == 0) return;
  const uint64_t end = m.offsets[open];
  const int lane = lane_id();
  bool over = false;
  Sum sum;
  if (lane == 0) sum = parts.sums[2 * window + 1];
  for (uint64_t next = window + 1 + lane; next * kWindow < end; next += kLanes) sum.add(parts.sums[2 * next]);
  sum.gather(kLanes);
  if (lane == 0) out[m.lo + open - 1] = sum.number(&over);
  raise_flag(flag, over);
}

// out[u]: how many entries the row of u has, for u in [lo, hi).
extern "C" __global__ void eliminate_lengths(const Matrix m, Number* out) {
  const uint64_t row = thread_id();
  if (row < m.hi - m.lo) out[m.lo + row] = number_of(m.offsets[row + 1] - m.offsets[row]);
}

// out[i]: the product of the factors' i-th numbers.
extern "C" __global__ void eliminate_product(const Factors factors, uint64_t n, Number* out, uint32_t* flag) {
  const uint64_t i = thread_id();
  if (i >= n) return;
  bool over = false;
  out[i] = product_of<kWords>(factors, i, &over);
  raise_flag(flag, over);
}

// out[i] = 1 for i in [begin, end).
extern "C" __global__ void eliminate_ones(uint64_t begin, uint64_t end, Number* out) {
  const uint64_t i = begin + thread_id();
  if (i < end) out[i] = number_of(1);
}

// to[i] += more[i], of n words: what another device has, which has other numbers than 0 where this one has 0, or whose sums
// have 64 bits.
extern "C" __global__ void eliminate_add(uint64_t* to, const uint64_t* more, uint64_t n) {
  const uint64_t i = thread_id();
  if (i < n) to[i] += more[i];
}

// out[v]: twice the triangles of v, the ordered pairs of the other two; a thread a vertex.
extern "C" __global__ void triangle_ends(const unsigned long long* vertices, uint32_t lo, uint32_t n, Number* out) {
  const uint64_t v = thread_id();
  if (v < n) out[lo + v] = number_of(2 * vertices[v]);
}

// out[v]: a vector's number (null: 1) as a weight. flag becomes 1 where one is not less than `most`.
extern "C" __global__ void vector_weights(const Number* vector, uint32_t lo, uint32_t n, uint32_t most, uint32_t* out,
                                          uint32_t* flag) {
  const uint64_t v = thread_id();
  if (v >= n) return;
  const Number number = vector ? vector[lo + v] : number_of(1);
  bool large = number.word[0] >= most;
  for (int k = 1; k < kWords; ++k) large |= number.word[k] != 0;
  out[v] = static_cast<uint32_t>(number.word[0]);
  raise_flag(flag, large);
}

// Adds the product of each sum's vectors, of 128 bits whatever numbers have, up over all n vertices, into totals, three words each;
// blocks share the sums evenly. One of no vectors is left alone. flag becomes 1 where a product is too large.
extern "C" __global__ void eliminate_sums(const Sums sums, uint64_t n, uint64_t* totals, uint32_t* flag) {
  const uint32_t which = blockIdx.x % sums.n, n_blocks = gridDim.x / sums.n;
  const Factors& factors = sums.of[which];
  if (factors.n == 0) return;
  bool over = false;
  SumOf<2> sum;
  for (uint64_t i = uint64_t{blockIdx.x} / sums.n * blockDim.x + threadIdx.x; i < n; i += uint64_t{n_blocks} * blockDim.x)
    sum.add(product_of<2>(factors, i, &over));
  sum.gather(kLanes);
  if (lane_id() == 0) add_together(totals + 3 * which, sum.word, 3);
  raise_flag(flag, over);
}

// sums[i] += factor * vector[i] in two's complement; a null vector: 1 everywhere.
extern "C" __global__ void eliminate_term(const Number* vector, int64_t factor, uint64_t n, Sum* sums) {
  const uint64_t i = thread_id();
  if (i >= n) return;
  const Number number = vector ? vector[i] : number_of(1);
  const uint64_t size = factor < 0 ? 0 - static_cast<uint64_t>(factor) : static_cast<uint64_t>(factor);
  Sum product;
  uint64_t carried = 0;
  for (int k = 0; k < kWords; ++k) {
    const uint64_t low = number.word[k] * size;
    product.word[k] = low + carried;
    carried = __umul64hi(number.word[k], size) + (product.word[k] < low);
  }
  product.word[kWords] = carried;
  if (factor < 0) {
    for (int k = 0; k <= kWords; ++k) product.word[k] = ~product.word[k];
    product.add(number_of(1));
  }
  sums[i].add(product);
}

// counts[i]: the i-th sum. flag becomes 1 where one has more than 63 bits, flag[1] where one is negative.
extern "C" __global__ void eliminate_counts(const Sum* sums, uint64_t n, int64_t* counts, uint32_t* flag) {
  const uint64_t i = thread_id();
  if (i >= n) return;
  const Sum sum = sums[i];
  counts[i] = static_cast<int64_t>(sum.word[0]);
  const bool negative = sum.word[kWords] >> 63;
  uint64_t high = sum.word[0] >> 63;
  for (int k = 1; k <= kWords; ++k) high |= sum.word[k];
  raise_flag(flag, high != 0 && !negative);
  raise_flag(flag + 1, negative);
}

// parts[p]: how many of the numbers [p * each, p * each + each) of n are not 0; a warp a part.
extern "C" __global__ void eliminate_present(const int64_t* counts, uint64_t n, uint64_t each, uint64_t n_parts,
                                             uint64_t* parts) {
  const uint64_t part = thread_id() / kLanes;
  if (part >= n_parts) return;
  const uint64_t end = min(n, (part + 1) * each);
  uint64_t present = 0;
  for (uint64_t i = part * each + lane_id(); i < end; i += kLanes) present += counts[i] != 0;
  present = sum_over(present);
  if (lane_id() == 0) parts[part] = present;
}

// Hands on, in their order, the numbers that are not 0 and their places, from `begin` on; launched as `eliminate_present` was.
extern "C" __global__ void eliminate_gather(const int64_t* counts, uint64_t n, uint64_t each, uint64_t n_parts,
                                            const uint64_t* parts, uint64_t begin, int64_t* places, int64_t* kept) {
  const uint64_t part = thread_id() / kLanes;
  if (part >= n_parts) return;
  const uint64_t end = min(n, (part + 1) * each);
  uint64_t to = 0;
  for (uint64_t p = lane_id(); p < part; p += kLanes) to += parts[p];
  to = sum_over(to);
  for (uint64_t first = part * each; first < end; first += kLanes) {
    const uint64_t i = first + lane_id();
    const int64_t count = i < end ? counts[i] : 0;
    const uint32_t present = __ballot_sync(kAllLanes, count != 0);
    if (count != 0) {
      places[to + rank_in(present)] = static_cast<int64_t>(begin + i);
      kept[to + rank_in(present)] = count;
    }
    to += __popc(present);
  }
}
