// Elimination's steps over vectors: messages (a matrix times a vector), products entry by entry, totals.
//
// A message sums out a vertex that one other knows. Bytes moved: the matrix once, the vector at random, 8 (16 wide) a row.
// Deterministic. Source: bucket elimination (Dechter 1999), on sparse matrices.
#include <algorithm>

#include "eliminate.h"

namespace qe::eliminate {
namespace {

constexpr uint64_t kRows = 512;

template <typename V>
Status message(const Matrix& m, uint32_t n, const V* vector, V* out, Control* control) {
  const uint64_t entries = m.hi > m.lo ? m.offsets[m.hi - m.lo] : 0;
  Pieces pieces(control, n, kRows);
  // Sums of fewer than 2^32 numbers below 2^32 don't wrap.
  const bool safe = std::is_same_v<V, Narrow> && m.values == nullptr &&
                    (vector == nullptr || *std::max_element(vector, vector + n) < uint64_t{1} << 32);
  return deal(workers_for(control, entries), pieces, [&](int) {
    for (uint64_t begin, end; pieces.take(&begin, &end);) {
      for (uint64_t u = begin; u < end; ++u) {
        const Slice at = row(m, static_cast<uint32_t>(u));
        V sum = 0;
        if (vector == nullptr && m.values == nullptr) {
          sum = at.end - at.begin;
        } else if (safe) {
          for (uint64_t e = at.begin; e < at.end; ++e) sum += vector[m.ids[e]];
        } else {
          for (uint64_t e = at.begin; e < at.end; ++e) {
            const V number = value<V>(m, e);
            sum = plus(sum, vector ? times(number, vector[m.ids[e]]) : number);
          }
        }
        out[u] = sum;
      }
    }
  });
}

template <typename V>
Status product(const V* const* factors, int32_t count, uint64_t n, V* out, Control* control) {
  Pieces pieces(control, n, kShort);
  return deal(workers_for(control, n), pieces, [&](int) {
    for (uint64_t begin, end; pieces.take(&begin, &end);) {
      for (uint64_t i = begin; i < end; ++i) {
        V found = factors[0][i];
        for (int32_t k = 1; k < count && found != 0; ++k) {
          if (factors[k][i] == 0) found = 0;  // before a product of others could wrap
        }
        for (int32_t k = 1; k < count && found != 0; ++k) found = times(found, factors[k][i]);
        out[i] = found;
      }
    }
  });
}

}  // namespace
}  // namespace qe::eliminate

using namespace qe::eliminate;
using qe::Control;

// out[u], for each of n vertices: the sum over the row of u of the matrix's numbers times the vector's (null: 1).
QE_API int32_t qe_eliminate_message(const Matrix* matrix, uint32_t n, const void* vector, int32_t wide, void* out,
                                    Control* control) {
  return numbered(wide, [&](auto zero) {
    using V = decltype(zero);
    return message<V>(*matrix, n, static_cast<const V*>(vector), static_cast<V*>(out), control);
  });
}

// out[i]: the product of the factors' i-th numbers; out may be one of them.
QE_API int32_t qe_eliminate_product(const void* const* factors, int32_t count, uint64_t n, int32_t wide, void* out,
                                    Control* control) {
  return numbered(wide, [&](auto zero) {
    using V = decltype(zero);
    return product<V>(reinterpret_cast<const V* const*>(factors), count, n, static_cast<V*>(out), control);
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
