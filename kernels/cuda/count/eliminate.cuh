// What the kernels of elimination share: matrices on the device, and numbers that never wrap unseen.
//
// Numbers have 64 bits, 128 where a family is compiled with QE_WIDE = 1. A sum has 64 bits more than what is added up, enough for
// 2^64 of them; a product or a sum that is no number is told in a flag, and what was computed is of no use then.
#pragma once
#include "base/stop.cuh"

#ifndef QE_WIDE
#define QE_WIDE 0
#endif

namespace qe::eliminate {

constexpr int kWords = QE_WIDE ? 2 : 1;

template <int kSize>
struct alignas(8 * kSize) NumberOf {
  uint64_t word[kSize];  // the lowest first
};
using Number = NumberOf<kWords>;

// Row v is ids[offsets[v - lo], offsets[v - lo + 1]), ascending; outside [lo, hi) rows are empty. values: a number an entry,
// or null: 1 each. The same id twice in a row counts twice. rows: if not null, row v, for v < n_rows, is that of rows[v] instead.
struct Matrix {
  const uint64_t* offsets;
  const uint32_t* ids;
  const Number* values;
  const uint32_t* rows;
  uint64_t n_entries;
  uint32_t lo, hi;
  uint32_t n_rows, unused;
};

__device__ inline Number number_of(uint64_t low) {
  Number made{};
  made.word[0] = low;
  return made;
}

__device__ inline Number value(const Matrix& m, uint64_t entry) { return m.values ? m.values[entry] : number_of(1); }

template <int kSize>
__device__ bool is_zero(const NumberOf<kSize>& number) {
  uint64_t any = 0;
  for (int i = 0; i < kSize; ++i) any |= number.word[i];
  return any == 0;
}

// The same number with kSize words, no fewer than it has.
template <int kSize>
__device__ NumberOf<kSize> resized(const Number& number) {
  NumberOf<kSize> made{};
  for (int i = 0; i < kWords; ++i) made.word[i] = number.word[i];
  return made;
}

// a * b; sets *over where that is no number.
template <int kSize>
__device__ NumberOf<kSize> times(const NumberOf<kSize>& a, const NumberOf<kSize>& b, bool* over) {
  NumberOf<kSize> product{};
  product.word[0] = a.word[0] * b.word[0];
  const uint64_t high = __umul64hi(a.word[0], b.word[0]);
  if constexpr (kSize == 2) {
    const uint64_t one = a.word[1] != 0 ? a.word[1] : b.word[1], other = a.word[1] != 0 ? b.word[0] : a.word[0];
    product.word[1] = high + one * other;
    *over |= (a.word[1] != 0 && b.word[1] != 0) || __umul64hi(one, other) != 0 || product.word[1] < high;
  } else {
    *over |= high != 0;
  }
  return product;
}

template <int kSize>
struct SumOf {
  uint64_t word[kSize + 1] = {};

  __device__ void add(const NumberOf<kSize>& more) {
    uint64_t carry = 0;
#pragma unroll
    for (int i = 0; i < kSize; ++i) carry = add_word(i, more.word[i], carry);
    word[kSize] += carry;
  }
  __device__ void add(const SumOf& more) {
    uint64_t carry = 0;
#pragma unroll
    for (int i = 0; i <= kSize; ++i) carry = add_word(i, more.word[i], carry);
  }
  // The sum as a number; sets *over where it is none.
  __device__ NumberOf<kSize> number(bool* over) const {
    NumberOf<kSize> made;
    for (int i = 0; i < kSize; ++i) made.word[i] = word[i];
    *over |= word[kSize] != 0;
    return made;
  }
  // Adds up the sums of each `team` lanes, 1 to 32, and gives them the result; by the whole warp.
  __device__ void gather(int team) {
    for (int step = team / 2; step > 0; step /= 2) {
      SumOf other;
#pragma unroll
      for (int i = 0; i <= kSize; ++i) other.word[i] = __shfl_xor_sync(kAllLanes, word[i], step);
      add(other);
    }
  }

 private:
  __device__ uint64_t add_word(int i, uint64_t more, uint64_t carry) {
    const uint64_t sum = word[i] + more;
    word[i] = sum + carry;
    return (sum < more) + (word[i] < sum);
  }
};
using Sum = SumOf<kWords>;

// Adds to words [0, n) of a number that other threads add to; returns what is carried beyond them.
__device__ inline uint64_t add_together(uint64_t* words, const uint64_t* more, int n) {
  uint64_t carry = 0;
  for (int i = 0; i < n; ++i) {
    const uint64_t added = more[i] + carry;
    carry = added < carry;
    if (added == 0) continue;
    carry += atomicAdd(&words[i], added) + added < added;
  }
  return carry;
}

struct U128Sum {  // 128 bits
  uint64_t low = 0, high = 0;

  __device__ void add(const U128Sum& more) {
    low += more.low;
    high += more.high + (low < more.low);
  }
  __device__ void add_product(uint64_t a, uint64_t b) { add({a * b, __umul64hi(a, b)}); }
  __device__ void gather() {
    for (int step = kLanes / 2; step > 0; step /= 2)
      add({__shfl_xor_sync(kAllLanes, low, step), __shfl_xor_sync(kAllLanes, high, step)});
  }
};

__device__ inline bool has_bit(const uint32_t* bits, uint32_t at) { return bits[at / 32] >> at % 32 & 1; }

struct Span {
  uint64_t begin = 0, end = 0;

  __device__ uint64_t size() const { return end - begin; }
  __device__ Span of_lane(int k) const { return {__shfl_sync(kAllLanes, begin, k), __shfl_sync(kAllLanes, end, k)}; }
};

__device__ inline Span row(const Matrix& m, uint32_t v) {
  if (m.rows) {
    if (v >= m.n_rows) return {};
    v = m.rows[v];
  }
  if (v < m.lo || v >= m.hi) return {};
  return {m.offsets[v - m.lo], m.offsets[v - m.lo + 1]};
}

// Work that is dealt out, and an int32 in the host's memory that becomes 1 when all must end. Of several devices each takes
// number `share` of every `shares` pieces.
struct WorkQueue {
  uint64_t* next;
  StopFlag stop;
  uint32_t share = 0, shares = 1;
};

// Takes pieces of [0, n). Threads have one each; those who are dealt to ask it to take.
class WorkTaker {
 public:
  __device__ WorkTaker(const WorkQueue& queue, uint64_t n) : queue_(queue), n_(n), stop_(queue.stop) {}

  // The first of `pieces` pieces, always the same number; n or more at the end. By one thread.
  __device__ uint64_t take(uint64_t pieces) {
    return stop_.thread() ? n_ : atomicAdd(queue_.next, pieces) * queue_.shares + queue_.share * pieces;
  }

  // The stop flag, for the middle of a piece.
  __device__ Stop& stop() { return stop_; }

 private:
  const WorkQueue& queue_;
  uint64_t n_;
  Stop stop_;
};

// Calls call(part) for parts of a span, of which each lane has its own or none, as long as this lane isn't stopped.
template <typename Call>
__device__ void each_part(Span span, Stop& stop, Call call) {
#pragma unroll 1
  while (true) {
    const bool long_one = span.size() > kLookEntries;
    const Span part{span.begin, long_one ? span.begin + kLookEntries : span.end};
    call(part);
    if (!long_one || stop.thread()) return;
    span.begin = part.end;
  }
}

// How many lanes a row gets, so that those of 32 rows take about four entries each and none more than 64, given the entries
// of this lane's row; the same for all lanes.
__device__ inline int team_of(uint64_t n) {
  const uint64_t all = sum_over(n);
  const uint64_t rows = __popc(__ballot_sync(kAllLanes, n > 0));
  int team = 1;
  while (team < kLanes && (4 * team * rows < all || __any_sync(kAllLanes, n > uint64_t{64} * team))) team *= 2;
  return team;
}

// Gives each team of lanes a list of its own, until all lists have been read: take(lane whose list it is, entries, this lane's
// number in its team, lanes of a team), where entries may be none. By the whole warp.
template <typename Take>
__device__ void each_list(const Span& its, Take take) {
  uint32_t left = __ballot_sync(kAllLanes, its.size() > 0);
  if (left == 0) return;
  const int lane = lane_id(), team = team_of(its.size());
  while (left != 0) {
    int k = 0;
    bool any = false;
    for (int of = 0; of < kLanes && left != 0; of += team, left &= left - 1) {
      if (of > lane || lane >= of + team) continue;
      k = __ffs(left) - 1;
      any = true;
    }
    const Span at = its.of_lane(k);
    take(k, any ? at : Span{}, lane % team, team);
  }
}

__device__ inline void raise_flag(uint32_t* flag, bool over) {
  if (over) atomicExch(flag, 1u);
}

__device__ inline uint64_t thread_id() { return uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; }

}  // namespace qe::eliminate
