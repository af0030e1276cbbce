// Elimination of a forest around a root: for each root u the pattern's other vertices are summed out from the leaves to the
// top, by sparse vectors over what u reaches. With the root a 4-cycle's corner these are the counters of its wedges.
//
// An arm's sparse vector starts with a row of u, or with what is pushed over links: each of its numbers is added along a
// row to a dense array, whose touched places make the next sparse vector. Several arms that meet at a vertex multiply.
// Bytes moved: for each number that is pushed its row, and a counter for each entry, at random. Deterministic.
// Sources: Gustavson 1978 (sparse accumulator); cutset conditioning, Dechter 1990; Chiba and Nishizeki 1985 for wedges.
#include <algorithm>
#include <vector>

#include "eliminate.h"

namespace qe::eliminate {

// See plan/elimination.py. start, link: places of matrices, vector: of vectors, -1 for none. The arms that it sums up are
// children[first, first + count), equal ones side by side.
struct Arm {
  int32_t start, vector, link, first, count, unused;
};

struct AroundPlan {
  int32_t n_arms, n_tops;
  const Arm* arms;
  const int32_t* children;
  const int32_t* tops;         // equal ones side by side
  const Matrix* matrices;
  const void* const* vectors;
  const void* roots;           // a vector, or null: 1 each
  uint32_t n;
  uint32_t unused;
};

namespace {

constexpr uint64_t kRoots = 4;

template <typename V>
V power(V base, int exponent) {
  V found = base;
  for (int k = 1; k < exponent; ++k) found = times(found, base);
  return found;
}

template <typename V>
struct Sparse {
  std::vector<uint32_t> ids;
  std::vector<V> numbers;
  // Where the vector is a row itself: these instead, each number 1.
  const uint32_t* row = nullptr;
  size_t n = 0;

  const uint32_t* members() const { return row ? row : ids.data(); }
  V number(size_t i) const { return row ? V{1} : numbers[i]; }
};

template <typename V>
class Roots {
 public:
  Roots(const AroundPlan& plan, const Pieces& pieces)
      : plan_(plan), pieces_(pieces), dense_(plan.n, V{0}), touched_(plan.n + 1), arms_(static_cast<size_t>(plan.n_arms)) {}

  V root(uint32_t u) {
    V product = plan_.roots ? static_cast<const V*>(plan_.roots)[u] : V{1};
    if (product == 0) return product;
    for (int k = 0; k < plan_.n_tops;) {
      const int32_t top = plan_.tops[k];
      int repeats = 0;
      for (; k < plan_.n_tops && plan_.tops[k] == top; ++k) ++repeats;
      const V sum = total(top, u);
      if (sum == 0) return sum;
      product = times(product, power(sum, repeats));
    }
    return product;
  }

 private:
  const Arm& arm(int32_t k) const { return plan_.arms[k]; }
  const Matrix& matrix(int32_t k) const { return plan_.matrices[k]; }

  // The sum of an arm's vector.
  V total(int32_t k, uint32_t u) {
    const Arm& at = arm(k);
    const int32_t* children = plan_.children + at.first;
    const bool one_kind = at.count > 0 && children[0] == children[at.count - 1];
    V sum = 0;
    if (one_kind && at.start < 0 && at.vector < 0) {
      push(children[0], u);
      for (size_t i = 0; i < n_touched_; ++i) {
        V& number = dense_[touched_[i]];
        sum = plus(sum, power(number, at.count));
        number = 0;
      }
      return sum;
    }
    const Sparse<V>& made = vector(k, u);
    for (size_t i = 0; i < made.n; ++i) sum = plus(sum, made.number(i));
    return sum;
  }

  const Sparse<V>& vector(int32_t k, uint32_t u) {
    const Arm& at = arm(k);
    Sparse<V>& made = arms_[static_cast<size_t>(k)];
    const V* factors = at.vector < 0 ? nullptr : static_cast<const V*>(plan_.vectors[at.vector]);
    if (at.count == 0) {
      start(made, matrix(at.start), u, factors);
      return made;
    }
    const int32_t* children = plan_.children + at.first;
    for (int j = 0; j < at.count;) {
      const int32_t child = children[j];
      const int first = j;
      for (; j < at.count && children[j] == child; ++j) continue;
      push(child, u);
      if (first == 0) take(made, j, factors);
      else meet(made, j - first);
      if (made.n == 0) return made;
    }
    if (at.start >= 0) {
      spread(matrix(at.start), u);
      meet(made, 1);
    }
    return made;
  }

  // The row of the root.
  void start(Sparse<V>& made, const Matrix& m, uint32_t u, const V* factors) {
    const Slice at = row(m, u);
    made.n = at.end - at.begin;
    made.row = m.ids + at.begin;
    if (factors == nullptr && m.values == nullptr) return;
    made.row = nullptr;
    made.ids.clear();
    made.numbers.clear();
    for (uint64_t e = at.begin; e < at.end; ++e) {
      const V number = value<V>(m, e);
      const V factor = factors ? factors[m.ids[e]] : V{1};
      if (number == 0 || factor == 0) continue;
      made.ids.push_back(m.ids[e]);
      made.numbers.push_back(times(number, factor));
    }
    made.n = made.ids.size();
  }

  // Adds what an arm hands on to the dense array.
  void push(int32_t child, uint32_t u) {
    const Sparse<V>& from = vector(child, u);
    const Matrix& link = matrix(arm(child).link);
    n_touched_ = 0;
    uint64_t steps = 0;
    for (size_t i = 0; i < from.n; ++i) {
      const Slice at = row(link, from.members()[i]);
      steps += at.end - at.begin;
      if (steps >> 20) {
        steps = 0;
        pieces_.poll();
      }
      if (link.values == nullptr && from.row) {
        for (uint64_t e = at.begin; e < at.end; ++e) {  // fewer than 2^64 in all
          touch(link.ids[e]);
          ++dense_[link.ids[e]];
        }
        continue;
      }
      const V number = from.number(i);
      for (uint64_t e = at.begin; e < at.end; ++e) {
        const V more = link.values ? times(number, value<V>(link, e)) : number;
        if (more == 0) continue;
        touch(link.ids[e]);
        V& sum = dense_[link.ids[e]];
        sum = plus(sum, more);
      }
    }
  }

  void spread(const Matrix& m, uint32_t u) {
    const Slice at = row(m, u);
    n_touched_ = 0;
    for (uint64_t e = at.begin; e < at.end; ++e) {
      const V number = value<V>(m, e);
      if (number == 0) continue;
      touch(m.ids[e]);
      dense_[m.ids[e]] = plus(dense_[m.ids[e]], number);
    }
  }

  void touch(uint32_t v) {
    touched_[n_touched_] = v;
    n_touched_ += dense_[v] == 0;
  }

  // Makes a sparse vector of the dense array's numbers to some power, times factors, and clears the array.
  void take(Sparse<V>& made, int exponent, const V* factors) {
    made.row = nullptr;
    made.ids.clear();
    made.numbers.clear();
    for (size_t i = 0; i < n_touched_; ++i) {
      const uint32_t v = touched_[i];
      V& number = dense_[v];
      if (factors == nullptr || factors[v] != 0) {
        const V found = power(number, exponent);
        made.ids.push_back(v);
        made.numbers.push_back(factors ? times(found, factors[v]) : found);
      }
      number = 0;
    }
    made.n = made.ids.size();
  }

  // Multiplies a sparse vector by the dense array's numbers to some power, and clears the array.
  void meet(Sparse<V>& made, int exponent) {
    size_t kept = 0;
    for (size_t i = 0; i < made.n; ++i) {
      const V number = dense_[made.ids[i]];
      if (number == 0) continue;
      made.ids[kept] = made.ids[i];
      made.numbers[kept++] = times(made.numbers[i], power(number, exponent));
    }
    made.n = kept;
    for (size_t i = 0; i < n_touched_; ++i) dense_[touched_[i]] = 0;
  }

  const AroundPlan& plan_;
  const Pieces& pieces_;
  std::vector<V> dense_;
  std::vector<uint32_t> touched_;
  size_t n_touched_ = 0;
  std::vector<Sparse<V>> arms_;
};

template <typename V>
Status around(const AroundPlan& plan, V* out, Control* control) {
  Pieces pieces(control, plan.n, kRoots);
  Charge charge(control);
  uint64_t entries = 0;
  for (int k = 0; k < plan.n_arms; ++k) {
    if (plan.arms[k].start < 0) continue;
    const Matrix& m = plan.matrices[plan.arms[k].start];
    entries = std::max(entries, m.hi > m.lo ? m.offsets[m.hi - m.lo] : uint64_t{0});
  }
  const int threads = workers_for(control, 4 * entries);
  try {
    charge.add(static_cast<size_t>(threads) * plan.n * (sizeof(V) + 4) * static_cast<size_t>(1 + plan.n_arms));
  } catch (const Halt& halt) {
    return halt.status;
  }
  return deal(threads, pieces, [&](int) {
    Roots<V> roots(plan, pieces);
    for (uint64_t begin, end; pieces.take(&begin, &end);)
      for (uint64_t u = begin; u < end; ++u) out[u] = roots.root(static_cast<uint32_t>(u));
  });
}

}  // namespace
}  // namespace qe::eliminate

// out[u], for each of plan.n roots: plan.roots' number times the sums of the tops' vectors.
QE_API int32_t qe_eliminate_around(const qe::eliminate::AroundPlan* plan, int32_t wide, void* out, qe::Control* control) {
  return qe::eliminate::numbered(wide, [&](auto zero) {
    using V = decltype(zero);
    return qe::eliminate::around<V>(*plan, static_cast<V*>(out), control);
  });
}
