// What is summed out around roots: see rooted_forest.cpp. Sparse vectors over what a root reaches, one for each node.
#pragma once
#include "count/row_product.h"

namespace qe::eliminate {

// See plan/elimination.py. start, link: places of matrices, vector: of vectors, -1 for none. The nodes that it sums up are
// children[first, first + count), equal ones side by side.
struct ForestNode {
  int32_t start, vector, link, first, count, unused;
};

struct ForestPlan {
  int32_t n_nodes, n_tops;
  const ForestNode* nodes;
  const int32_t* children;
  const int32_t* tops;         // equal ones side by side
  const Matrix* matrices;
  const void* const* vectors;
  const void* roots;           // a vector, or null: 1 each
  uint32_t n;
  uint32_t unused;
};

// V: of the plan's vectors and of results. Number: of accumulators (row_product.h), one that is checked, or a line that can't wrap.
template <typename Number, typename V>
class Forest {
 public:
  static constexpr uint32_t kRoots = RootsOf<Number>::n;

  Forest(const ForestPlan& plan, const WorkQueue& queue)
      : plan_(plan), patience_(queue, uint64_t{1} << (kIsLine ? 18 : 20)), dense_(plan.n),
        made_(static_cast<size_t>(plan.n_nodes)) {
    if constexpr (kIsLine) {  // no more than `bytes`
      for (Sparse<Number>& each : made_) {
        each.ids.reserve(plan.n);
        each.numbers.reserve(plan.n);
      }
    }
  }

  static size_t bytes(const ForestPlan& plan) {
    return plan.n * (Dense<Number>::kBytes + (sizeof(Number) + sizeof(uint32_t)) * static_cast<size_t>(plan.n_nodes));
  }

  // out[k]: what is summed up around roots[k], whatever its own number is; n <= kRoots.
  void block(const uint32_t* roots, uint32_t n, V* out) {
    roots_ = roots;
    n_ = n;
    std::fill(out, out + n, V{1});
    for (int k = 0; k < plan_.n_tops;) {
      const int32_t top = plan_.tops[k];
      int repeats = 0;
      for (; k < plan_.n_tops && plan_.tops[k] == top; ++k) ++repeats;
      Sum sums[kRoots] = {};
      total(top, sums);
      for (uint32_t r = 0; r < n; ++r)
        out[r] = out[r] == 0 || sums[r] == 0 ? V{0} : times(out[r], power(narrowed<V>(sums[r]), repeats));
      if (!kIsLine && out[0] == 0) return;
    }
  }

  // After an exception.
  void reset() { dense_.clear(); }

  // A node's vector around one root; it holds until the next call.
  const Sparse<Number>& vector(int32_t k, uint32_t u) {
    roots_ = &u;
    n_ = 1;
    make(k);
    return made(k);
  }

 private:
  static constexpr bool kIsLine = kRoots > 1;
  using Sum = std::conditional_t<kIsLine, Wide, V>;

  const ForestNode& node(int32_t k) const { return plan_.nodes[k]; }
  const Matrix& matrix(int32_t k) const { return plan_.matrices[k]; }
  Sparse<Number>& made(int32_t k) { return made_[static_cast<size_t>(k)]; }
  const V* factors(int32_t k) const { return node(k).vector < 0 ? nullptr : static_cast<const V*>(plan_.vectors[node(k).vector]); }

  // Adds the sum of a node's vector, for each root.
  void total(int32_t k, Sum* sums) {
    const ForestNode& at = node(k);
    const int32_t* children = plan_.children + at.first;
    if (at.count > 0 && at.start < 0 && at.vector < 0) {
      const bool like = std::count(children, children + at.count, children[0]) == at.count;
      if (like && at.count == 2) return add_squares(children[0], sums);
      if constexpr (!kIsLine) {
        if (like) {
          push(children[0]);
          dense_.drain([&](uint32_t, Number number) { *sums = plus(*sums, power(V{number}, at.count)); });
          return;
        }
        if (at.count == 2) {
          const bool deeper = node(children[0]).count > 0;
          return add_products(children[deeper], children[!deeper], sums);
        }
      }
    }
    make(k);
    for (size_t i = 0; i < made(k).n; ++i) {
      const Number number = made(k).number(i);
      if constexpr (kIsLine) {
        for (uint32_t r = 0; r < kRoots; ++r) sums[r] += number.of[r];
      } else {
        *sums = plus<V>(*sums, number);
      }
    }
  }

  void add_squares(int32_t child, Sum* sums) {
    push(child, false);
    if constexpr (kIsLine) {
      uint64_t low[kRoots] = {}, high[kRoots] = {};  // halves of squares, of fewer than 2^32 numbers
      dense_.drain_numbers([&](const Number& line) {
        for (uint32_t r = 0; r < kRoots; ++r) {
          if constexpr (sizeof(line.of[0]) == 4) {
            const uint64_t square = static_cast<uint64_t>(line.of[r]) * line.of[r];
            low[r] += square & 0xFFFFFFFF;
            high[r] += square >> 32;
          } else {
            sums[r] += static_cast<Wide>(line.of[r]) * line.of[r];
          }
        }
      });
      for (uint32_t r = 0; r < kRoots; ++r) sums[r] += low[r] + (static_cast<Wide>(high[r]) << 32);
    } else if (sizeof(Number) == 4 && total_ >> 32 == 0) {
      uint64_t sum = 0;  // at most the square of their sum
      dense_.drain_numbers([&](uint64_t number) { sum += number * number; });
      *sums = plus<V>(*sums, sum);
    } else {
      dense_.drain_numbers([&](V number) { *sums = plus(*sums, times(number, number)); });
    }
  }

  // The sum of the product of what two nodes hand on: one is pushed, the other reads what it finds along its rows.
  void add_products(int32_t pushed, int32_t read, Sum* sums) {
    make(read);
    push(pushed, false);
    const Sparse<Number>& from = made(read);
    const Matrix& link = matrix(node(read).link);
    for (size_t i = 0; i < from.n && dense_.additions() > 0; ++i) {
      const Slice at = row(link, from.members()[i]);
      patience_.spend(at.end - at.begin);
      V found = 0;
      if constexpr (sizeof(Number) == 4) {
        if (link.values.at == nullptr) {
          *sums = plus(*sums, times(V{from.number(i)}, V{dense_.sum(link.ids + at.begin, link.ids + at.end)}));
          continue;
        }
      }
      for (uint64_t e = at.begin; e < at.end; ++e) {
        const V there = dense_[link.ids[e]];
        if (there != 0) found = plus(found, times(there, value<V>(link, e)));
      }
      *sums = plus(*sums, times(V{from.number(i)}, found));
    }
    dense_.clear();
  }

  // Makes a node's vector; the array is clear before and after.
  void make(int32_t k) {
    const ForestNode& at = node(k);
    if (at.count == 0) return start(k);
    const int32_t* children = plan_.children + at.first;
    for (int j = 0; j < at.count;) {
      const int32_t child = children[j];
      const int first = j;
      for (; j < at.count && children[j] == child; ++j) continue;
      push(child);
      if (first == 0) take(k, j);
      else meet(made(k), j - first);
      if (made(k).n == 0) return;
    }
    if (at.start >= 0) {
      spread(matrix(at.start));
      meet(made(k), 1);
    }
  }

  // The rows of the roots.
  void start(int32_t k) {
    const Matrix& m = matrix(node(k).start);
    if constexpr (!kIsLine) {
      if (node(k).vector < 0 && m.values.at == nullptr) {
        const Slice at = row(m, *roots_);
        made(k).n = at.end - at.begin;
        made(k).row = m.ids + at.begin;
        return;
      }
      const V* weights = factors(k);
      const Slice at = row(m, *roots_);
      made(k).clear();
      for (uint64_t e = at.begin; e < at.end; ++e) {
        const V number = value<V>(m, e), factor = weights ? weights[m.ids[e]] : V{1};
        if (number != 0 && factor != 0) made(k).add(m.ids[e], times(narrowed<Number>(number), narrowed<Number>(factor)));
      }
    } else {
      spread(m);
      take(k, 1);
    }
  }

  void spread(const Matrix& m) {
    uint64_t additions = 0;
    for (uint32_t r = 0; r < n_; ++r) additions += length(row(m, roots_[r]));
    dense_.open(additions);
    for (uint32_t r = 0; r < n_; ++r) {
      const Slice at = row(m, roots_[r]);
      for (uint64_t e = at.begin; e < at.end; ++e) {
        if constexpr (kIsLine) dense_.add_checked(m.ids[e], r, 1);
        else dense_.add_checked(m.ids[e], r, narrowed<Number>(value<V>(m, e)));
      }
    }
  }

  // Adds what a node hands on to the array; `listed`: are the numbers asked for one by one?
  void push(int32_t child, bool listed = true) {
    make(child);
    const Sparse<Number>& from = made(child);
    const Matrix& link = matrix(node(child).link);
    uint64_t additions = 0;
    bool wraps = false;
    total_ = 0;
    for (size_t i = 0; i < from.n; ++i) {
      const uint64_t n = length(row(link, from.members()[i]));
      additions += n;
      if constexpr (!kIsLine) {
        V most;
        wraps = wraps || __builtin_mul_overflow(V{from.number(i)}, V{n}, &most) || __builtin_add_overflow(total_, most, &total_);
      }
    }
    if (wraps || link.values.at != nullptr) total_ = ~V{0};
    wraps = wraps || narrow(total_) != total_;
    dense_.open(additions, listed);
    for (size_t i = 0; i < from.n; ++i) {
      const Slice at = row(link, from.members()[i]);
      patience_.spend(length(at));
      if (kIsLine || (link.values.at == nullptr && !wraps)) {
        dense_.add(link.ids + at.begin, link.ids + at.end, from.number(i));
        continue;
      }
      if constexpr (!kIsLine)
        for (uint64_t e = at.begin; e < at.end; ++e)
          dense_.add_checked(link.ids[e], 0, times(from.number(i), narrowed<Number>(value<V>(link, e))));
    }
  }
  static V narrow(V number) {
    if constexpr (kIsLine) return number;
    else return static_cast<Number>(number);
  }

  // Makes a node's vector of the array's numbers to some power, times its factors, and clears the array.
  void take(int32_t k, int exponent) {
    const V* weights = factors(k);
    Sparse<Number>& to = made(k);
    to.clear();
    dense_.drain([&](uint32_t v, const Number& number) {
      if (weights != nullptr && weights[v] == 0) return;
      Number found = power(number, exponent);
      if (weights != nullptr) found = scaled(found, weights[v]);
      to.add(v, found);
    });
  }
  static Number scaled(Number number, V factor) {
    if constexpr (kIsLine) {
      for (auto& each : number.of) each *= static_cast<std::decay_t<decltype(each)>>(factor);
      return number;
    } else {
      return times(number, narrowed<Number>(factor));
    }
  }

  // Multiplies a sparse vector by the array's numbers to some power, and clears the array.
  void meet(Sparse<Number>& to, int exponent) {
    size_t kept = 0;
    for (size_t i = 0; i < to.n; ++i) {
      const Number& number = dense_[to.ids[i]];
      if constexpr (!kIsLine)
        if (number == 0) continue;
      to.ids[kept] = to.ids[i];
      to.numbers[kept++] = times(to.numbers[i], power(number, exponent));
    }
    to.n = kept;
    to.ids.resize(kept);
    to.numbers.resize(kept);
    dense_.clear();
  }

  const ForestPlan& plan_;
  Patience patience_;
  Dense<Number> dense_;
  std::vector<Sparse<Number>> made_;
  const uint32_t* roots_ = nullptr;
  uint32_t n_ = 0;
  V total_ = 0;  // what the array's numbers add up to, at most
};

}  // namespace qe::eliminate
