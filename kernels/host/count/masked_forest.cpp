// A masked product whose left side is a forest: for each pair (a, b) of a matrix the sum over c of s[c] * right[b, c], where s is
// the sparse vector of the forest's last node around a (forest_roots.h). It sums out a tree that hangs at both ends of a pair.
//
// s is spread over an array, where each b's row of `right` is looked up: what the tree pushes over its last links is the most that
// it could read, and only what lies on a's pairs is read here. And what lets such a matrix be seen from its other ends.
// Deterministic. Sources: Gustavson 1978; Azad, Buluç and Gilbert 2015 (masked products).
#include <algorithm>
#include <cstring>

#include "count/forest_roots.h"

namespace qe::eliminate {
namespace {

constexpr uint64_t kRows = 4;
constexpr uint64_t kPatience = 1 << 18;

template <typename V>
class MaskedForestRows {
 public:
  MaskedForestRows(const ForestPlan& plan, const Matrix& across, const Matrix& right, uint32_t n, const WorkQueue& queue, V* out)
      : last_(plan.tops[0]), across_(across), right_(right), patience_(queue, kPatience), out_(out), forest_(plan, queue),
        spread_(std::max(n, plan.n), V{0}) {}

  static size_t bytes(const ForestPlan& plan, uint32_t n) { return Forest<V, V>::bytes(plan) + std::max(n, plan.n) * sizeof(V); }

  void root(uint32_t a) {
    const Slice pairs = row(across_, a);
    if (pairs.begin == pairs.end) return;
    const Sparse<V>& found = forest_.vector(last_, a);
    V most = 0;
    for (size_t i = 0; i < found.n; ++i) most = std::max(most, spread_[found.members()[i]] = plus(spread_[found.members()[i]], found.number(i)));
    const bool plain = right_.values.at == nullptr && most >> 32 == 0;  // fewer than 2^32 numbers below 2^32 don't wrap
    for (uint64_t p = pairs.begin; p < pairs.end; ++p) {
      const Slice other = row(right_, across_.ids[p]);
      patience_.spend(length(other) + 1);
      out_[p] = plain ? plain_sum(other) : checked_sum(other);
    }
    for (size_t i = 0; i < found.n; ++i) spread_[found.members()[i]] = 0;
  }

 private:
  V plain_sum(Slice at) const {
    V sum = 0;
    for (uint64_t e = at.begin; e < at.end; ++e) sum += spread_[right_.ids[e]];
    return sum;
  }
  V checked_sum(Slice at) const {
    V sum = 0;
    for (uint64_t e = at.begin; e < at.end; ++e)
      if (const V found = spread_[right_.ids[e]]; found != 0) sum = plus(sum, times(found, value<V>(right_, e)));
    return sum;
  }

  int32_t last_;
  const Matrix &across_, &right_;
  Patience patience_;
  V* out_;
  Forest<V, V> forest_;
  std::vector<V> spread_;
};

// to[place of (b, a)] = from[place of (a, b)]: rows of `to` are filled in the order of those of `from`.
template <typename T>
void turn(const Matrix& from, const Matrix& to, Control* control) {
  Charge charge(control);
  const uint32_t rows = to.hi - to.lo;
  charge.add(rows * sizeof(uint64_t));
  std::vector<uint64_t> cursor(to.offsets, to.offsets + rows);
  Patience patience(control, kPatience);
  const auto* numbers = static_cast<const T*>(from.values.at);
  auto* out = static_cast<T*>(const_cast<void*>(to.values.at));
  for (uint32_t a = from.lo; a < from.hi; ++a) {
    const Slice at = row(from, a);
    patience.spend(length(at) + 1);
    for (uint64_t e = at.begin; e < at.end; ++e) {
      const uint32_t b = from.ids[e] - to.lo;
      if (b >= rows || cursor[b] == to.offsets[b + 1] || to.ids[cursor[b]] != a) throw Halt{kInvalid};
      out[cursor[b]++] = numbers[e];
    }
  }
}

}  // namespace
}  // namespace qe::eliminate

using namespace qe::eliminate;
using qe::Control;

// out[p], for each entry p of `across`: see above. plan: its first top has no link. n: vertices.
QE_API int32_t qe_masked_forest(const ForestPlan* plan, const Matrix* across, const Matrix* right, uint32_t n, int32_t wide,
                                void* out, Control* control) {
  return numbered(wide, [&](auto zero) {
    using V = decltype(zero);
    return guarded([&] {
      const int threads = workers_for(control, 4 * entries_of(*across));
      qe::Charge charge(control);
      charge.add(static_cast<size_t>(threads) * MaskedForestRows<V>::bytes(*plan, n));
      check(each_root(threads, control, n, kRows, [&](const WorkQueue& queue) {
        return MaskedForestRows<V>(*plan, *across, *right, n, queue, static_cast<V*>(out));
      }));
    });
  });
}

// Writes the numbers of `from` to those of `to`, which has its pairs from the other ends, in the order of its rows.
QE_API int32_t qe_eliminate_turned(const Matrix* from, const Matrix* to, Control* control) {
  return guarded([&] {
    if (from->values.bytes == 2) turn<uint16_t>(*from, *to, control);
    else if (from->values.bytes == 4) turn<uint32_t>(*from, *to, control);
    else if (from->values.bytes == 8) turn<uint64_t>(*from, *to, control);
    else turn<Wide>(*from, *to, control);
  });
}
