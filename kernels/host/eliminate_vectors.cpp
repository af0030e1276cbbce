// Elimination's steps over vectors: messages (a matrix times a vector), products entry by entry, totals.
//
// A message sums out a vertex that one other knows. Bytes moved: the matrix once, the vector at random, 8 (16 wide) a row.
// Deterministic. Source: bucket elimination (Dechter 1999), on sparse matrices.
#include <algorithm>

#include "eliminate.h"

namespace qe::eliminate {
namespace {

constexpr uint64_t kRows = 64;

// Sums without a check: fewer than 2^32 numbers below 2^32.
template <typename V>
uint64_t sum_of(const uint32_t* ids, const uint32_t* end, const V* vector) {
  uint64_t sums[4] = {0, 0, 0, 0};
  for (; ids + 4 <= end; ids += 4)
    for (int k = 0; k < 4; ++k) sums[k] += static_cast<uint64_t>(vector[ids[k]]);
  for (; ids < end; ++ids) sums[0] += static_cast<uint64_t>(*(vector + *ids));
  return sums[0] + sums[1] + sums[2] + sums[3];
}

// Sums of the numbers of 32 bits at [begin, end), or of products of two each.
template <typename V>
V sum_of(const Numbers* factors, int32_t n_factors, Slice at) {
  const auto* one = static_cast<const uint32_t*>(factors[0].at);
  const auto* other = static_cast<const uint32_t*>(factors[n_factors - 1].at);
  uint64_t plain = 0;
  if (n_factors == 1) {
    for (uint64_t e = at.begin; e < at.end; ++e) plain += one[e];
    return plain;
  }
  V sum = 0;
  for (uint64_t e = at.begin; e < at.end; ++e) sum = plus<V>(sum, static_cast<uint64_t>(one[e]) * other[e]);
  return sum;
}

template <typename V>
Status message(const Matrix& m, const Numbers* factors, int32_t n_factors, uint32_t n, const V* vector, V* out,
               Control* control) {
  Pieces pieces(control, n, kRows);
  const bool below = vector == nullptr || n == 0 || *std::max_element(vector, vector + n) >> 32 == 0;
  const bool bare = n_factors == 0;
  bool short_products = vector == nullptr && (n_factors == 1 || n_factors == 2);
  for (int32_t k = 0; k < n_factors; ++k) short_products = short_products && factors[k].bytes == 4;
  return deal(workers_for(control, entries_of(m)), pieces, [&](int) {
    for (uint64_t begin, end; pieces.take(&begin, &end);) {
      for (uint64_t u = begin; u < end; ++u) {
        const Slice at = row(m, static_cast<uint32_t>(u));
        if (bare && vector == nullptr) {
          out[u] = at.end - at.begin;
        } else if (bare && below) {
          out[u] = sum_of(m.ids + at.begin, m.ids + at.end, vector);
        } else if (short_products) {
          out[u] = sum_of<V>(factors, n_factors, at);
        } else {
          V sum = 0;
          for (uint64_t e = at.begin; e < at.end; ++e) {
            V number = vector ? vector[m.ids[e]] : V{1};
            for (int32_t k = 0; k < n_factors; ++k) number = times(number, factors[k].get<V>(e));
            sum = plus(sum, number);
          }
          out[u] = sum;
        }
      }
    }
  });
}

template <typename V>
Status product(const Numbers* factors, int32_t count, uint64_t n, V* out, Control* control) {
  Pieces pieces(control, n, kShort);
  return deal(workers_for(control, n), pieces, [&](int) {
    for (uint64_t begin, end; pieces.take(&begin, &end);) {
      for (uint64_t i = begin; i < end; ++i) {
        V found = factors[0].get<V>(i);
        for (int32_t k = 1; k < count && found != 0; ++k) {
          if (factors[k].get<V>(i) == 0) found = 0;  // before a product of others could wrap
        }
        for (int32_t k = 1; k < count && found != 0; ++k) found = times(found, factors[k].get<V>(i));
        out[i] = found;
      }
    }
  });
}

}  // namespace
}  // namespace qe::eliminate

using namespace qe::eliminate;
using qe::Control;

// out[u], for each of n vertices: the sum over the entries of u's row of the product of their factors (in place of the
// matrix's own numbers) and the vector's number (null: 1).
QE_API int32_t qe_eliminate_message(const Matrix* matrix, const Numbers* factors, int32_t n_factors, uint32_t n,
                                    const void* vector, int32_t wide, void* out, Control* control) {
  return numbered(wide, [&](auto zero) {
    using V = decltype(zero);
    return message<V>(*matrix, factors, n_factors, n, static_cast<const V*>(vector), static_cast<V*>(out), control);
  });
}

// out[i]: the product of the factors' i-th numbers.
QE_API int32_t qe_eliminate_product(const Numbers* factors, int32_t count, uint64_t n, int32_t wide, void* out,
                                    Control* control) {
  return numbered(wide, [&](auto zero) {
    using V = decltype(zero);
    return product<V>(factors, count, n, static_cast<V*>(out), control);
  });
}

// halves: the low and the high 64 bits of the sum.
QE_API int32_t qe_eliminate_total(const void* vector, uint64_t n, int32_t wide, uint64_t* halves) {
  return numbered(wide, [&](auto zero) {
    using V = decltype(zero);
    const V* numbers = static_cast<const V*>(vector);
    Wide sum = 0;
    for (uint64_t i = 0; i < n; ++i)
      if (__builtin_add_overflow(sum, static_cast<Wide>(numbers[i]), &sum)) return qe::kOverflow;
    halves[0] = static_cast<uint64_t>(sum);
    halves[1] = static_cast<uint64_t>(sum >> 64);
    return qe::kOk;
  });
}
