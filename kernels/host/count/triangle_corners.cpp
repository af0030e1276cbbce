// What lies across from each corner of triangles, summed by corner: of one symmetric matrix without numbers, loops and repeats, for
// each vertex a the sum over its triangles (a, b, c) of the weights of the pairs (b, c) and (c, b).
//
// Each triangle is found once, at its first vertex by descending length of rows (RankedPairs), and adds to all three: neighbours of
// that vertex are marked, and looked up in the rows of each other; which are found is noted without a branch, and added up after
// that. Each thread adds to sums of its own, which are checked only where they could exceed a number. Bytes moved: as
// triangle_counts.cpp by lists, and a weight for each side of a triangle. Deterministic: sums of whole numbers. Sources: Latapy
// 2008; Chiba and Nishizeki 1985; the weights by reverse accumulation, Baur and Strassen 1983.
#include <algorithm>

#include "count/ranked_pairs.h"

namespace qe::eliminate {

// The weight of an entry (b, c) is starts[b] * numbers of the entry * ends[c]; null stands for ones.
struct SideWeights {
  Numbers numbers;
  const void* starts;
  const void* ends;
};

namespace {

template <typename V>
V weight(const SideWeights& of, uint32_t b, uint32_t c, uint64_t e) {
  V found = of.numbers.at ? of.numbers.get<V>(e) : V{1};
  if (of.starts) found = times(found, static_cast<const V*>(of.starts)[b]);
  return of.ends ? times(found, static_cast<const V*>(of.ends)[c]) : found;
}

// Adds what is found at roots to `sums`. weights: of each late entry, both ways.
template <typename V, bool checked>
class CornerRoots {
 public:
  CornerRoots(const Sides& sides, const uint64_t* lates, const V* weights, const WorkQueue& queue, V* sums)
      : sides_(sides), lates_(lates), weights_(weights), patience_(queue, kPatience), sums_(sums), places_(sides.n(), 0),
        found_(sides.n()) {}

  static size_t bytes(const Sides& sides) { return sides.n() * (sizeof(uint32_t) + sizeof(Found) + sizeof(V)); }

  void root(uint32_t u) {
    const uint64_t begin = lates_[u], end = sides_.end(u);
    if (end - begin < 2) return;
    for (uint64_t e = begin; e < end; ++e) places_[sides_.neighbour(e)] = static_cast<uint32_t>(e - begin) + 1;
    V own = 0;
    for (uint64_t e = begin; e < end; ++e) {
      const uint32_t b = sides_.neighbour(e);
      const uint64_t late = lates_[b], n = sides_.end(b) - late;
      size_t met = 0;
      for (uint64_t k = 0; k < n; ++k) {
        const uint32_t c = sides_.neighbour(late + k), place = places_[c];
        found_[met] = {c, static_cast<uint32_t>(k), place};
        met += place != 0;
      }
      V across = 0;
      for (size_t i = 0; i < met; ++i) {
        const Found& at = found_[i];
        own = sum(own, weights_[late + at.entry]);
        across = sum(across, weights_[begin + at.place - 1]);
        sums_[at.corner] = sum(sums_[at.corner], weights_[e]);
      }
      sums_[b] = sum(sums_[b], across);
      patience_.spend(n + 8);
    }
    sums_[u] = sum(sums_[u], own);
    for (uint64_t e = begin; e < end; ++e) places_[sides_.neighbour(e)] = 0;
  }

 private:
  struct Found {
    uint32_t corner, entry, place;
  };

  static V sum(V a, V b) { return checked ? plus(a, b) : a + b; }

  const Sides& sides_;
  const uint64_t* lates_;
  const V* weights_;
  Patience patience_;
  V* sums_;
  std::vector<uint32_t> places_;  // of a root's neighbours in its row, from 1 on; all 0 between two roots
  std::vector<Found> found_;      // in one row
};

// Adds up what threads find, and adds that to `out`.
template <typename V, bool checked>
void add_corners(const RankedPairs& pairs, const Sides& sides, const std::vector<V>& weights, V* out, Control* control) {
  std::vector<std::vector<V>> sums(static_cast<size_t>(sides.threads()));
  WorkQueue queue(control, sides.n(), 4);
  check(deal(sides.threads(), queue, [&](int worker) {
    std::vector<V>& own = sums[static_cast<size_t>(worker)];
    own.assign(sides.n(), V{0});
    CornerRoots<V, checked> roots(sides, pairs.lates(), weights.data(), queue, own.data());
    for (uint64_t begin, end; queue.take(&begin, &end);)
      for (uint64_t k = begin; k < end; ++k) roots.root(static_cast<uint32_t>(k));
  }));
  for (uint32_t k = 0; k < sides.n(); ++k) {
    V& to = out[pairs.given().lo + (pairs.order() ? pairs.order()[k] : k)];
    for (const std::vector<V>& own : sums)
      if (!own.empty()) to = plus(to, own[k]);
  }
}

template <typename V>
void corner_sums(const RankedPairs& pairs, const SideWeights& of, V* out, Control* control) {
  if (pairs.empty()) return;
  const Sides given(pairs.given(), control), sides(pairs.ranked(), control);
  const auto threads = static_cast<size_t>(sides.threads());
  Charge charge(control);
  charge.add(sides.entries() * sizeof(V) + threads * CornerRoots<V, true>::bytes(sides) + sides.turning_bytes());
  std::vector<V> weights(sides.entries());
  const uint32_t lo = given.lo();
  given.each_turned(pairs.order(), pairs.rank(), pairs.offsets(), [&](uint32_t u, uint32_t v, uint64_t e, uint64_t place) {
    const uint32_t b = pairs.order() ? pairs.order()[u] : u, c = pairs.order() ? pairs.order()[v] : v;
    weights[place] = weight<V>(of, lo + b, lo + c, e);
  });
  sides.each_early(pairs.lates(), [&](uint64_t e, uint64_t place) { weights[place] = plus(weights[place], weights[e]); });
  const V most = *std::max_element(weights.begin(), weights.end());
  if (most > static_cast<V>(-1) / sides.entries()) add_corners<V, true>(pairs, sides, weights, out, control);  // a vertex has fewer triangles
  else add_corners<V, false>(pairs, sides, weights, out, control);
}

}  // namespace
}  // namespace qe::eliminate

using namespace qe::eliminate;
using qe::Control;

// Adds to out[a], for each vertex a, the sum over its triangles: see above.
QE_API int32_t qe_triangle_corners(const RankedPairs* pairs, const SideWeights* weights, int32_t wide, void* out, Control* control) {
  return numbered(wide, [&](auto zero) {
    using V = decltype(zero);
    return guarded([&] { corner_sums<V>(*pairs, *weights, static_cast<V*>(out), control); });
  });
}
