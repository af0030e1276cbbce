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

// An array over all vertices, all 0 but at the places `touched`, or anywhere where those are too many to be listed.
template <typename Number>
class Dense {
 public:
  explicit Dense(uint32_t n) : numbers_(n, Number{0}), touched_(n + 1) {}

  // Before `additions` additions.
  void open(uint64_t additions) {
    n_ = 0;
    whole_ = additions > numbers_.size() / 4;
  }
  // Adds along ids, where no sum can wrap.
  void add(const uint32_t* ids, const uint32_t* end, Number more) {
    Number* numbers = numbers_.data();
    if (whole_) {
      for (; ids < end; ++ids) numbers[*ids] += more;
      return;
    }
    for (; ids < end; ++ids) {
      touch(*ids);
      numbers[*ids] += more;
    }
  }
  void add_checked(uint32_t v, Number more) {
    if (more == 0) return;
    if (!whole_) touch(v);
    numbers_[v] = plus(numbers_[v], more);
  }
  Number operator[](uint32_t v) const { return numbers_[v]; }

  // Calls each(v, number) for the numbers that are not 0, and clears them.
  template <typename Each>
  void drain(Each&& each) {
    const auto n = static_cast<uint32_t>(numbers_.size());
    if (whole_) {
      for (uint32_t v = 0; v < n; ++v)
        if (numbers_[v] != 0) each(v, numbers_[v]);
    } else {
      for (size_t i = 0; i < n_; ++i) each(touched_[i], numbers_[touched_[i]]);
    }
    clear();
  }
  void clear() {
    if (whole_) std::fill(numbers_.begin(), numbers_.end(), Number{0});
    else
      for (size_t i = 0; i < n_; ++i) numbers_[touched_[i]] = 0;
  }
  // The sum of the squares, where it can't wrap; cleared.
  uint64_t squares() {
    uint64_t sum = 0;
    if (whole_) {
      for (const Number number : numbers_) sum += static_cast<uint64_t>(number) * static_cast<uint64_t>(number);
    } else {
      for (size_t i = 0; i < n_; ++i) {
        const auto number = static_cast<uint64_t>(numbers_[touched_[i]]);
        sum += number * number;
      }
    }
    clear();
    return sum;
  }

 private:
  void touch(uint32_t v) {
    touched_[n_] = v;
    n_ += numbers_[v] == 0;
  }

  std::vector<Number> numbers_;
  std::vector<uint32_t> touched_;
  size_t n_ = 0;
  bool whole_ = false;
};

template <typename V>
class Roots {
 public:
  Roots(const AroundPlan& plan, const Pieces& pieces)
      : plan_(plan), pieces_(pieces), dense_(plan.n), other_(plan.n), counters_(plan.n),
        arms_(static_cast<size_t>(plan.n_arms)) {}

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
    V sum = 0;
    if (at.count > 0 && at.start < 0 && at.vector < 0) {
      const int32_t first = children[0], last = children[at.count - 1];
      const auto firsts = static_cast<int>(std::count(children, children + at.count, first));
      if (first == last) {
        if (at.count == 2 && count_squares(first, u, &sum)) return sum;
        push(first, u, dense_);
        dense_.drain([&](uint32_t, V number) { sum = plus(sum, power(number, at.count)); });
        return sum;
      }
      const auto lasts = static_cast<int>(std::count(children, children + at.count, last));
      if (firsts + lasts == at.count && arm(first).count == 0) {  // whose vector needs no array of its own
        push(last, u, dense_);
        push(first, u, other_);
        dense_.drain([&](uint32_t v, V number) {
          const V beside = other_[v];
          if (beside != 0) sum = plus(sum, times(power(number, lasts), power(beside, firsts)));
        });
        other_.clear();
        return sum;
      }
    }
    const Sparse<V>& made = vector(k, u);
    for (size_t i = 0; i < made.n; ++i) sum = plus(sum, made.number(i));
    return sum;
  }

  // The pairs of equal arms that are rows without numbers: counters of 32 bits do. False where they are not.
  bool count_squares(int32_t child, uint32_t u, V* sum) {
    const Arm& at = arm(child);
    const Matrix& link = matrix(at.link);
    if (at.count > 0 || at.vector >= 0 || link.values != nullptr || matrix(at.start).values != nullptr) return false;
    const Matrix& m = matrix(at.start);
    const Slice members = row(m, u);
    uint64_t additions = 0;
    for (uint64_t e = members.begin; e < members.end; ++e) {
      const Slice pushed = row(link, m.ids[e]);
      additions += pushed.end - pushed.begin;
    }
    if (additions >> 32) return false;
    counters_.open(additions);
    for (uint64_t e = members.begin; e < members.end; ++e) {
      const Slice pushed = row(link, m.ids[e]);
      counters_.add(link.ids + pushed.begin, link.ids + pushed.end, 1);
    }
    pieces_.poll();
    *sum = counters_.squares();
    return true;
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
      push(child, u, dense_);
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

  // Adds what an arm hands on to an array.
  void push(int32_t child, uint32_t u, Dense<V>& to) {
    const Sparse<V>& from = vector(child, u);
    const Matrix& link = matrix(arm(child).link);
    uint64_t additions = 0;
    V bound = 0;  // of every sum
    bool wraps = false;
    for (size_t i = 0; i < from.n; ++i) {
      const Slice at = row(link, from.members()[i]);
      additions += at.end - at.begin;
      V most;
      wraps = wraps || __builtin_mul_overflow(from.number(i), static_cast<V>(at.end - at.begin), &most) ||
              __builtin_add_overflow(bound, most, &bound);
    }
    to.open(additions);
    uint64_t steps = 0;
    for (size_t i = 0; i < from.n; ++i) {
      const Slice at = row(link, from.members()[i]);
      steps += at.end - at.begin;
      if (steps >> 20) {
        steps = 0;
        pieces_.poll();
      }
      const V number = from.number(i);
      if (link.values == nullptr && !wraps) {
        to.add(link.ids + at.begin, link.ids + at.end, number);
        continue;
      }
      for (uint64_t e = at.begin; e < at.end; ++e) to.add_checked(link.ids[e], times(number, value<V>(link, e)));
    }
  }

  void spread(const Matrix& m, uint32_t u) {
    const Slice at = row(m, u);
    dense_.open(at.end - at.begin);
    for (uint64_t e = at.begin; e < at.end; ++e) dense_.add_checked(m.ids[e], value<V>(m, e));
  }

  // Makes a sparse vector of the array's numbers to some power, times factors, and clears the array.
  void take(Sparse<V>& made, int exponent, const V* factors) {
    made.row = nullptr;
    made.ids.clear();
    made.numbers.clear();
    dense_.drain([&](uint32_t v, V number) {
      if (factors != nullptr && factors[v] == 0) return;
      const V found = power(number, exponent);
      made.ids.push_back(v);
      made.numbers.push_back(factors ? times(found, factors[v]) : found);
    });
    made.n = made.ids.size();
  }

  // Multiplies a sparse vector by the array's numbers to some power, and clears the array.
  void meet(Sparse<V>& made, int exponent) {
    size_t kept = 0;
    for (size_t i = 0; i < made.n; ++i) {
      const V number = dense_[made.ids[i]];
      if (number == 0) continue;
      made.ids[kept] = made.ids[i];
      made.numbers[kept++] = times(made.numbers[i], power(number, exponent));
    }
    made.n = kept;
    dense_.clear();
  }

  const AroundPlan& plan_;
  const Pieces& pieces_;
  Dense<V> dense_, other_;
  Dense<uint32_t> counters_;
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
    charge.add(static_cast<size_t>(threads) * plan.n * (sizeof(V) + 4) * static_cast<size_t>(3 + plan.n_arms));
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
