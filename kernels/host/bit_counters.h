// Adding rows of bits to counters, for instruction sets without an operation of three operands: inlined into a function
// that is compiled for one of them.
#pragma once
#include <algorithm>

#include "set_ops.h"

namespace qe {

// Adds bit by bit: `sum` becomes the lowest digit, the result is the next.
__attribute__((always_inline)) inline uint64_t add_bits(uint64_t& sum, uint64_t one, uint64_t other) {
  const uint64_t either = one ^ other, carry = (one & other) | (sum & either);
  sum ^= either;
  return carry;
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
        const uint64_t two_a = add_bits(ones, x[0][w], x[1][w]), two_b = add_bits(ones, x[2][w], x[3][w]);
        const uint64_t four_a = add_bits(twos, two_a, two_b);
        const uint64_t two_c = add_bits(ones, x[4][w], x[5][w]), two_d = add_bits(ones, x[6][w], x[7][w]);
        const uint64_t four_b = add_bits(twos, two_c, two_d);
        carry[w] = add_bits(fours, four_a, four_b);
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

}  // namespace qe
