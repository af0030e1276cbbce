// Elimination of a vertex between two that are linked: for each pair (a, b) of a matrix the sum over c of
// left[a, c] * vector[c] * right[b, c].
//
// In general a's row of `left` is spread over an array, and each b's row of `right` looks its members up there; where a's
// row is much shorter, its members are sought in b's. Where all three are one symmetric matrix without numbers, loops and
// repeats, each triangle is found once, at the pair of its greatest ids, and adds to its three pairs: lists of lesser ids
// are short, since ids are by descending degree. Deterministic. Sources: Azad, Buluç and Gilbert 2015 (masked products);
// Latapy 2008 (compact-forward).
#include <algorithm>
#include <vector>

#include "eliminate.h"
#include "set_ops.h"

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
  const uint64_t entries = across.hi > across.lo ? across.offsets[across.hi - across.lo] : 0;
  Pieces pieces(control, n, kRows);
  Charge charge(control);
  const int threads = workers_for(control, entries);
  try {
    charge.add(static_cast<size_t>(threads) * n * sizeof(V));
  } catch (const Halt& halt) {
    return halt.status;
  }
  return deal(threads, pieces, [&](int) {
    std::vector<V> spread(n, V{0});
    for (uint64_t begin, end; pieces.take(&begin, &end);)
      for (uint64_t a = begin; a < end; ++a)
        close_row<V>(across, left, right, static_cast<uint32_t>(a), vector, spread.data(), out);
  });
}

// What one worker adds up triangles in: `sums`, at each pair's place in the list of lesser ids of its greater end, and
// `own`, which holds for the lesser ends of one vertex what is added to the vertex's own list when it is done.
template <typename Sum>
struct Tallies {
  std::vector<Sum> sums, own;
  std::vector<uint64_t> marks;
  std::vector<uint32_t> members;
};

// Adds the triangles whose greatest id is v. A triangle v > w > x is found in w's list of lesser ids, where v's are marked.
template <typename Sum, typename V>
void add_triangles(const Matrix& m, const uint64_t* ends, uint32_t v, const V* vector, const SetOps& ops, Tallies<Sum>& to) {
  const uint64_t begin = m.offsets[v - m.lo], end = ends[v - m.lo];
  if (end - begin < 2) return;
  for (uint64_t e = begin; e < end; ++e) to.marks[m.ids[e] >> 6] |= uint64_t{1} << (m.ids[e] & 63);
  for (uint64_t e = begin + 1; e < end; ++e) {
    const uint32_t w = m.ids[e];
    const uint64_t first = m.offsets[w - m.lo], last = ends[w - m.lo];
    if constexpr (std::is_same_v<Sum, uint32_t>) {
      const size_t n =
          ops.filter_tally(to.marks.data(), m.ids + first, last - first, to.sums.data() + first, to.members.data());
      for (size_t k = 0; k < n; ++k) ++to.own[to.members[k]];
      to.sums[e] += static_cast<uint32_t>(n);
    } else {
      for (uint64_t f = first; f < last; ++f) {
        const uint32_t x = m.ids[f];
        if (!(to.marks[x >> 6] >> (x & 63) & 1)) continue;
        to.sums[f] = plus<Sum>(to.sums[f], vector[v]);
        to.own[x] = plus<Sum>(to.own[x], vector[w]);
        to.sums[e] = plus<Sum>(to.sums[e], vector[x]);
      }
    }
  }
  for (uint64_t e = begin; e < end; ++e) {
    const uint32_t x = m.ids[e];
    to.sums[e] = plus<Sum>(to.sums[e], to.own[x]);
    to.own[x] = 0;
    to.marks[x >> 6] = 0;
  }
}

// Sum is uint32_t where triangles are only counted, else V.
template <typename V, typename Sum>
Status triangles(const Matrix& m, const V* vector, V* out, Control* control) {
  const uint32_t n = m.hi - m.lo;
  const uint64_t entries = n ? m.offsets[n] : 0;
  const int threads = workers_for(control, entries);
  Pieces pieces(control, n, kRows);
  Charge charge(control);
  try {
    charge.add(static_cast<size_t>(threads) * (entries + m.hi) * sizeof(Sum) + n * 16);
    std::vector<uint64_t> ends(n);
    for (uint32_t k = 0; k < n; ++k)
      ends[k] = static_cast<uint64_t>(
          std::lower_bound(m.ids + m.offsets[k], m.ids + m.offsets[k + 1], k + m.lo) - m.ids);
    std::vector<Tallies<Sum>> tallies(static_cast<size_t>(threads));
    const SetOps& ops = set_ops(current_isa());
    const Status status = deal(threads, pieces, [&](int worker) {
      Tallies<Sum>& own = tallies[static_cast<size_t>(worker)];
      own.sums.assign(entries, Sum{0});
      own.own.assign(m.hi, Sum{0});
      own.marks.assign(m.hi / 64 + 1, 0);
      own.members.resize(m.hi + kSlack);
      for (uint64_t begin, end; pieces.take(&begin, &end);)
        for (uint64_t k = begin; k < end; ++k)
          add_triangles<Sum, V>(m, ends.data(), static_cast<uint32_t>(n - 1 - k) + m.lo, vector, ops, own);
    });
    if (status != kOk) return status;
    // Both places of a pair get its sum: w's list has its greater members in the order in which they are visited.
    std::vector<uint64_t> cursor = ends;
    for (uint32_t k = 0; k < n; ++k) {
      for (uint64_t e = m.offsets[k]; e < ends[k]; ++e) {
        V sum = 0;
        for (const Tallies<Sum>& part : tallies)
          if (!part.sums.empty()) sum = plus<V>(sum, part.sums[e]);
        out[e] = out[cursor[m.ids[e] - m.lo]++] = sum;
      }
    }
    return kOk;
  } catch (const Halt& halt) {
    return halt.status;
  } catch (const std::bad_alloc&) {
    return kOutOfMemory;
  }
}

}  // namespace
}  // namespace qe::eliminate

using namespace qe::eliminate;
using qe::Control;

// out[p], for each entry p of `across`: see above. n: vertices.
QE_API int32_t qe_eliminate_close(const Matrix* across, const Matrix* left, const Matrix* right, uint32_t n,
                                  const void* vector, int32_t wide, void* out, Control* control) {
  return numbered(wide, [&](auto zero) {
    using V = decltype(zero);
    return close<V>(*across, *left, *right, n, static_cast<const V*>(vector), static_cast<V*>(out), control);
  });
}

// The same where all three are one symmetric matrix without numbers, loops and repeats.
QE_API int32_t qe_eliminate_triangles(const Matrix* matrix, const void* vector, int32_t wide, void* out,
                                      Control* control) {
  return numbered(wide, [&](auto zero) {
    using V = decltype(zero);
    const V* numbers = static_cast<const V*>(vector);
    if (vector == nullptr) return triangles<V, uint32_t>(*matrix, numbers, static_cast<V*>(out), control);
    return triangles<V, V>(*matrix, numbers, static_cast<V*>(out), control);
  });
}
