// Rows of counts by two vertices: for each root u the signed sum of terms, each a sparse vector over the other vertex
// (forest_roots.h) times its root's number, or a number where both are one vertex.
#pragma once
#include <vector>

#include "count/forest_roots.h"

namespace qe::eliminate {

using Signed = __int128;

// plan: its first top, or without tops the roots' own numbers, for pairs (u, u). The factor is of 128 bits.
struct PairTerm {
  const ForestPlan* plan;
  uint64_t factor_low;
  int64_t factor_high;
};

template <typename V>
class PairRows {
 public:
  PairRows(const PairTerm* terms, int32_t n_terms, uint32_t n, const WorkQueue& queue)
      : terms_(terms), sums_(n, Signed{0}) {
    roots_.reserve(static_cast<size_t>(n_terms));
    for (int32_t t = 0; t < n_terms; ++t) roots_.emplace_back(*terms[t].plan, queue);
  }

  // What a worker takes.
  static size_t bytes(const PairTerm* terms, int32_t n_terms, uint32_t n) {
    size_t sum = n * (sizeof(Signed) + sizeof(uint32_t));
    for (int32_t t = 0; t < n_terms; ++t) sum += Forest<V, V>::bytes(*terms[t].plan);
    return sum;
  }

  // Calls take(v, count) for each vertex of the row of u; counts are positive.
  template <typename Take>
  void row(uint32_t u, Take&& take) {
    touched_.clear();
    for (size_t t = 0; t < roots_.size(); ++t) add(terms_[t], roots_[t], u);
    for (const uint32_t v : touched_) {
      const Signed sum = sums_[v];
      sums_[v] = 0;
      if (sum == 0) continue;
      if (sum < 0) throw Halt{kInvalid};
      take(v, sum);
    }
  }

  // Calls take(v) for each vertex of the row of u, perhaps several times.
  template <typename Take>
  void ends(uint32_t u, Take&& take) {
    if (roots_.size() > 1 || terms_[0].plan->n_tops == 0) {
      row(u, [&](uint32_t v, Signed) { take(v); });
      return;
    }
    const ForestPlan& plan = *terms_[0].plan;
    if (plan.roots && static_cast<const V*>(plan.roots)[u] == 0) return;
    const Sparse<V>& made = roots_[0].vector(plan.tops[0], u);
    for (size_t i = 0; i < made.n; ++i)
      if (made.number(i) != 0) take(made.members()[i]);
  }

 private:
  void add(const PairTerm& term, Forest<V, V>& roots, uint32_t u) {
    const ForestPlan& plan = *term.plan;
    const V own = plan.roots ? static_cast<const V*>(plan.roots)[u] : V{1};
    if (own == 0) return;
    const Signed factor = static_cast<Signed>(term.factor_high) * (Signed{1} << 64) + term.factor_low;
    const Signed scaled = times(factor, signed_of(own));
    if (plan.n_tops == 0) return add(u, scaled);
    const Sparse<V>& made = roots.vector(plan.tops[0], u);
    for (size_t i = 0; i < made.n; ++i) add(made.members()[i], times(scaled, signed_of(made.number(i))));
  }
  void add(uint32_t v, Signed more) {
    if (sums_[v] == 0) touched_.push_back(v);  // twice where terms cancel each other in between
    sums_[v] = plus(sums_[v], more);
  }
  static Signed signed_of(V number) {
    if (static_cast<Wide>(number) >> 127) throw Halt{kOverflow};
    return static_cast<Signed>(number);
  }

  const PairTerm* terms_;
  std::vector<Forest<V, V>> roots_;
  std::vector<Signed> sums_;
  std::vector<uint32_t> touched_;
};

}  // namespace qe::eliminate
