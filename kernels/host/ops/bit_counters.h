// Adding rows of bits to counters, and what counters come to, for instruction sets without an operation of three operands: inlined into a function
// that is compiled for one of them.
#pragma once
#include <algorithm>

#include "ops/set_ops.h"

namespace qe {

// Adds bit by bit: `sum` becomes the lowest digit, the result is the next.
__attribute__((always_inline)) inline uint64_t add_bits(uint64_t& sum, uint64_t one, uint64_t other) {
  const uint64_t either = one ^ other, carry = (one & other) | (sum & either);
  sum ^= either;
  return carry;
}

// Adds eight to three digits; the result is the next.
__attribute__((always_inline)) inline uint64_t add_eight(uint64_t& ones, uint64_t& twos, uint64_t& fours, const uint64_t* x) {
  const uint64_t two_a = add_bits(ones, x[0], x[1]), two_b = add_bits(ones, x[2], x[3]);
  const uint64_t four_a = add_bits(twos, two_a, two_b);
  const uint64_t two_c = add_bits(ones, x[4], x[5]), two_d = add_bits(ones, x[6], x[7]);
  const uint64_t four_b = add_bits(twos, two_c, two_d);
  return add_bits(fours, four_a, four_b);
}

__attribute__((always_inline)) inline void add_rows_by_words(const BitRow* rows, size_t n, BitCounters to) {
  static constexpr uint64_t kNone[kRowBlock] = {};
  for (size_t i = 0; i < n; i += kRowsAtOnce) {
    const size_t some = std::min(kRowsAtOnce, n - i);
    size_t longest = 0;
    for (size_t k = 0; k < some; ++k) longest = std::max(longest, rows[i + k].n);
    for (size_t at = 0; at < longest; at += kRowBlock) {
      const uint64_t* x[kRowsAtOnce];
      for (size_t k = 0; k < kRowsAtOnce; ++k) x[k] = k < some && at < rows[i + k].n ? rows[i + k].words + at : kNone;
      uint64_t* digit = to.words + at * to.digits;
      uint64_t carry[kRowBlock];
      for (size_t w = 0; w < kRowBlock; ++w) {
        uint64_t ones = digit[w], twos = digit[kRowBlock + w], fours = digit[2 * kRowBlock + w];
        const uint64_t eight[kRowsAtOnce] = {x[0][w], x[1][w], x[2][w], x[3][w], x[4][w], x[5][w], x[6][w], x[7][w]};
        carry[w] = add_eight(ones, twos, fours, eight);
        digit[w] = ones;
        digit[kRowBlock + w] = twos;
        digit[2 * kRowBlock + w] = fours;
      }
      for (size_t d = kLeastDigits - 1; d < to.digits; ++d) {
        uint64_t left = 0;
        for (size_t w = 0; w < kRowBlock; ++w) {
          const uint64_t before = digit[d * kRowBlock + w];
          digit[d * kRowBlock + w] = before ^ carry[w];
          carry[w] &= before;
          left |= carry[w];
        }
        if (left == 0) break;
      }
    }
  }
}

__attribute__((always_inline)) inline void add_lines_by_words(const LineList& list, BitCounters to, size_t from,
                                                             uint32_t* counts) {
  static constexpr uint64_t kNone[kRowBlock] = {};
  std::fill_n(to.words, to.digits * kRowBlock, uint64_t{0});
  for (size_t i = 0; i < list.n; i += kRowsAtOnce) {
    const uint64_t* x[kRowsAtOnce];
    for (size_t k = 0; k < kRowsAtOnce; ++k) x[k] = i + k < list.n ? list.lines + uint64_t{list.ids[i + k]} * kRowBlock : kNone;
    for (size_t w = 0; w < kRowBlock; ++w) {
      uint64_t eight[kRowsAtOnce];
      for (size_t k = 0; k < kRowsAtOnce; ++k) eight[k] = x[k][w] & list.own[w];
      for (size_t k = i < from ? from - i : 0; k < kRowsAtOnce && i + k < list.n; ++k)
        counts[i + k - from] += static_cast<uint32_t>(__builtin_popcountll(eight[k]));
      uint64_t* digit = to.words + w;
      uint64_t carry = add_eight(digit[0], digit[kRowBlock], digit[2 * kRowBlock], eight);
      for (size_t d = kLeastSumDigits; d < to.digits && carry; ++d) {
        const uint64_t before = digit[d * kRowBlock];
        digit[d * kRowBlock] = before ^ carry;
        carry &= before;
      }
    }
  }
}

__attribute__((always_inline)) inline void add_squares_by_words(BitCounters from, uint64_t* sums) {
  for (size_t a = 0; a < from.digits; ++a)
    for (size_t b = a; b < from.digits; ++b)
      for (size_t w = 0; w < kRowBlock; ++w) {
        const uint64_t both = from.words[a * kRowBlock + w] & from.words[b * kRowBlock + w];
        sums[(a + b + (a < b)) * kRowBlock + w] += static_cast<uint64_t>(__builtin_popcountll(both));
      }
}

}  // namespace qe
