// Elimination of a vertex between two that are linked: for each pair (a, b) of a matrix the sum over c of
// left[a, c] * vector[c] * right[b, c].
//
// In general a's row of `left` is spread over an array, and each b's row of `right` looks its members up there; where a's
// row is much shorter, its members are sought in b's. Deterministic. Source: Azad, Buluç and Gilbert 2015 (masked
// products).
#include <algorithm>
#include <vector>

#include "count/eliminate.h"

namespace qe::eliminate {
namespace {

constexpr uint64_t kRows = 16;
constexpr uint64_t kGallop = 32;

template <typename V>
V weight(const V* vector, uint32_t c) {
  return vector ? vector[c] : V{1};
}

template <typename V>
void close_row(const Matrix& across, const Matrix& left, const Matrix& right, uint32_t a, const V* vector, V* spread,
               V* out) {
  const Slice pairs = row(across, a), own = row(left, a);
  for (uint64_t e = own.begin; e < own.end; ++e) {
    const uint32_t c = left.ids[e];
    spread[c] = plus(spread[c], times(value<V>(left, e), weight(vector, c)));
  }
  for (uint64_t p = pairs.begin; p < pairs.end; ++p) {
    const Slice other = row(right, across.ids[p]);
    V sum = 0;
    if ((own.end - own.begin) * kGallop < other.end - other.begin) {
      const uint32_t *first = right.ids + other.begin, *last = right.ids + other.end;
      for (uint64_t e = own.begin; e < own.end; ++e) {
        const uint32_t c = left.ids[e];
        if (e > own.begin && left.ids[e - 1] == c) continue;  // all of them are in spread[c]
        for (const uint32_t* at = std::lower_bound(first, last, c); at < last && *at == c; ++at)
          sum = plus(sum, times(spread[c], value<V>(right, static_cast<uint64_t>(at - right.ids))));
      }
    } else {
      for (uint64_t e = other.begin; e < other.end; ++e) {
        const V found = spread[right.ids[e]];
        if (found != 0) sum = plus(sum, times(found, value<V>(right, e)));
      }
    }
    out[p] = sum;
  }
  for (uint64_t e = own.begin; e < own.end; ++e) spread[left.ids[e]] = 0;
}

template <typename V>
Status close(const Matrix& across, const Matrix& left, const Matrix& right, uint32_t n, const V* vector, V* out,
             Control* control) {
  WorkQueue queue(control, n, kRows);
  Charge charge(control);
  const int threads = workers_for(control, entries_of(across));
  try {
    charge.add(static_cast<size_t>(threads) * n * sizeof(V));
  } catch (const Halt& halt) {
    return halt.status;
  }
  return deal(threads, queue, [&](int) {
    std::vector<V> spread(n, V{0});
    for (uint64_t begin, end; queue.take(&begin, &end);)
      for (uint64_t a = begin; a < end; ++a)
        close_row<V>(across, left, right, static_cast<uint32_t>(a), vector, spread.data(), out);
  });
}

}  // namespace
}  // namespace qe::eliminate

using namespace qe::eliminate;
using qe::Control;

// out[p], for each entry p of `across`: see above. n: vertices.
QE_API int32_t qe_masked_product(const Matrix* across, const Matrix* left, const Matrix* right, uint32_t n,
                                 const void* vector, int32_t wide, void* out, Control* control) {
  return numbered(wide, [&](auto zero) {
    using V = decltype(zero);
    return close<V>(*across, *left, *right, n, static_cast<const V*>(vector), static_cast<V*>(out), control);
  });
}
