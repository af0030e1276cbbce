// Rows of counts by two vertices: for each root u the signed sum of terms, each a sparse vector over the other vertex
// (forest_roots.h) times its root's number, or a number where both are one vertex.
#pragma once
#include <algorithm>
#include <utility>
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

inline bool same_matrix(const Matrix& a, const Matrix& b) {
  return a.offsets == b.offsets && a.ids == b.ids && a.values.at == b.values.at && a.values.bytes == b.values.bytes &&
         a.rows == b.rows && a.lo == b.lo && a.hi == b.hi && a.n_rows == b.n_rows;
}

// Do two plans make the same vector around each root, whatever the roots' own numbers are?
inline bool same_vector(const ForestPlan& a, const ForestPlan& b) {
  const auto matrix = [](const ForestPlan& plan, int32_t k) { return k < 0 ? Matrix{} : plan.matrices[k]; };
  const auto vector = [](const ForestPlan& plan, int32_t k) { return k < 0 ? nullptr : plan.vectors[k]; };
  if (a.n_nodes != b.n_nodes || a.tops[0] != b.tops[0]) return false;
  for (int32_t k = 0; k < a.n_nodes; ++k) {
    const ForestNode &one = a.nodes[k], &other = b.nodes[k];
    if ((one.start < 0) != (other.start < 0) || (one.link < 0) != (other.link < 0) || one.count != other.count) return false;
    if (!std::equal(a.children + one.first, a.children + one.first + one.count, b.children + other.first)) return false;
    if (!same_matrix(matrix(a, one.start), matrix(b, other.start)) || !same_matrix(matrix(a, one.link), matrix(b, other.link)))
      return false;
    if (vector(a, one.vector) != vector(b, other.vector)) return false;
  }
  return true;
}

template <typename V>
class PairRows {
 public:
  PairRows(const PairTerm* terms, int32_t n_terms, uint32_t n, const WorkQueue& queue)
      : terms_(terms) {
    roots_.reserve(static_cast<size_t>(n_terms));
    for (int32_t t = 0; t < n_terms; ++t) roots_.emplace_back(*terms[t].plan, queue);
    size_t vectors = 0;
    for (size_t t = 0; t < roots_.size(); ++t) {
      const ForestPlan& plan = *terms[t].plan;
      has_vector_.push_back(plan.n_tops > 0);
      if (plan.n_tops == 0 || (vectors > 0 && same_vector(*terms[vector_].plan, plan))) continue;
      vector_ = t;
      ++vectors;
    }
    alone_ = vectors == 1;
    if (!alone_) sums_.assign(n, Signed{0});
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
    if (alone_) return alone(u, take);
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

  // Is each row one vector, the same for roots that reach the same, times a number, and another number at the root itself?
  // The plan of that vector; null where rows are otherwise.
  static const ForestPlan* alone_in(const PairTerm* terms, int32_t n_terms) {
    const ForestPlan* found = nullptr;
    for (int32_t t = 0; t < n_terms; ++t) {
      if (terms[t].plan->n_tops == 0) continue;
      if (found != nullptr && !same_vector(*found, *terms[t].plan)) return nullptr;
      found = terms[t].plan;
    }
    return found;
  }
  // That vector around u, whatever u's numbers are.
  const Sparse<V>& vector(uint32_t u) { return roots_[vector_].vector(terms_[vector_].plan->tops[0], u); }
  // What its numbers are multiplied by, and the number at u.
  std::pair<Signed, Signed> scales(uint32_t u) const {
    Signed own = 0, scaled = 0;
    for (size_t t = 0; t < roots_.size(); ++t) {
      Signed& to = has_vector_[t] ? scaled : own;
      to = plus(to, scale(terms_[t], u));
    }
    return {scaled, own};
  }

  static Signed product(Signed factor, V number) {
    if (factor == static_cast<int64_t>(factor) && number >> 63 == 0)
      return static_cast<Signed>(static_cast<int64_t>(factor)) * static_cast<int64_t>(number);
    return times(factor, signed_of(number));
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
  // The row where all vectors are one, which is read as it is, and other terms are only numbers of u with itself.
  template <typename Take>
  void alone(uint32_t u, Take&& take) {
    auto [scaled, own] = scales(u);
    if (scaled != 0) {
      const Sparse<V>& made = vector(u);
      const uint32_t* members = made.members();
      for (size_t i = 0; i < made.n;) {
        const uint32_t v = members[i];
        Signed sum = product(scaled, made.number(i));
        for (++i; i < made.n && members[i] == v; ++i) sum = plus(sum, product(scaled, made.number(i)));
        if (v == u) sum = plus(sum, std::exchange(own, Signed{0}));
        give(v, sum, take);
      }
    }
    give(u, own, take);
  }
  template <typename Take>
  static void give(uint32_t v, Signed count, Take&& take) {
    if (count < 0) throw Halt{kInvalid};
    if (count > 0) take(v, count);
  }

  // What the numbers of a term's vector around u are multiplied by.
  Signed scale(const PairTerm& term, uint32_t u) const {
    const V own = term.plan->roots ? static_cast<const V*>(term.plan->roots)[u] : V{1};
    if (own == 0) return 0;
    const Signed factor = static_cast<Signed>(term.factor_high) * (Signed{1} << 64) + term.factor_low;
    return product(factor, own);
  }
  void add(const PairTerm& term, Forest<V, V>& roots, uint32_t u) {
    const Signed scaled = scale(term, u);
    if (scaled == 0) return;
    if (term.plan->n_tops == 0) return add(u, scaled);
    const Sparse<V>& made = roots.vector(term.plan->tops[0], u);
    for (size_t i = 0; i < made.n; ++i) add(made.members()[i], product(scaled, made.number(i)));
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
  std::vector<Signed> sums_;  // where several terms have vectors
  std::vector<uint32_t> touched_;
  std::vector<bool> has_vector_;
  size_t vector_ = 0;  // the last term that has one of its own
  bool alone_ = false;
};

}  // namespace qe::eliminate
