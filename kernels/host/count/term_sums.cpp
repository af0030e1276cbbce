// Sums of terms by vertex: each a factor times a vector of counts, exactly.
//
// Input: vectors of n numbers of 64 bits, or of 128 as pairs with the lower half first. Output: int64, or float64 rounded once, to
// the nearest. kOverflow where a number on the way exceeds 127 bits, or an int64 63. Bytes moved: each vector once. The same for
// every number of threads.
#include "count/eliminate.h"

namespace qe::eliminate {

struct SumTerm {
  const uint64_t* numbers;
  int64_t factor;
  int32_t wide, unused;
};

namespace {

constexpr uint64_t kPiece = 1 << 13;

__int128 number_at(const SumTerm& term, uint64_t i) {
  if (!term.wide) return term.numbers[i];
  if (term.numbers[2 * i + 1] >> 63) throw Halt{kOverflow};
  return static_cast<__int128>(term.numbers[2 * i + 1]) << 64 | term.numbers[2 * i];
}

__int128 sum_at(const SumTerm* terms, int n_terms, uint64_t i) {
  __int128 sum = 0, product;
  for (int k = 0; k < n_terms; ++k)
    if (__builtin_mul_overflow(number_at(terms[k], i), static_cast<__int128>(terms[k].factor), &product) ||
        __builtin_add_overflow(sum, product, &sum))
      throw Halt{kOverflow};
  return sum;
}

}  // namespace
}  // namespace qe::eliminate

using namespace qe::eliminate;

// Writes whole, or rounded where that is null.
QE_API int32_t qe_term_sums(const SumTerm* terms, int32_t n_terms, uint64_t n, int64_t* whole, double* rounded, qe::Control* control) {
  return each_piece(workers_for(control, n * static_cast<uint64_t>(n_terms)), control, n, kPiece, [&](uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end; ++i) {
      const __int128 sum = sum_at(terms, n_terms, i);
      if (!whole) {
        rounded[i] = static_cast<double>(sum);
      } else {
        whole[i] = static_cast<int64_t>(sum);
        if (whole[i] != sum) throw qe::Halt{qe::kOverflow};
      }
    }
  });
}
