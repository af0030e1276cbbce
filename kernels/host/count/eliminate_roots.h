// What is summed out around a root: see rooted_forest.cpp. Sparse vectors over what the root reaches, one for each node.
#pragma once
#include <algorithm>
#include <vector>

#include "count/eliminate.h"

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
    additions_ = additions;
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
  uint64_t additions() const { return additions_; }

  // The sum of the numbers at some places, where it can't wrap.
  uint64_t sum(const uint32_t* ids, const uint32_t* end) const {
    uint64_t sums[4] = {0, 0, 0, 0};
    for (; ids + 4 <= end; ids += 4)
      for (int k = 0; k < 4; ++k) sums[k] += numbers_[ids[k]];
    for (; ids < end; ++ids) sums[0] += numbers_[*ids];
    return sums[0] + sums[1] + sums[2] + sums[3];
  }

  // Calls each(v, number) for the numbers that are not 0.
  template <typename Each>
  void each(Each&& each) const {
    const auto n = static_cast<uint32_t>(numbers_.size());
    if (whole_) {
      for (uint32_t v = 0; v < n; ++v)
        if (numbers_[v] != 0) each(v, numbers_[v]);
    } else {
      for (size_t i = 0; i < n_; ++i) each(touched_[i], numbers_[touched_[i]]);
    }
  }
  // The same, and clears them.
  template <typename Each>
  void drain(Each&& each) {
    this->each(each);
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
  uint64_t additions_ = 0;
  bool whole_ = false;
};

// Arrays that one worker's plans share: all 0 between two uses.
template <typename V>
struct Scratch {
  explicit Scratch(uint32_t n) : dense(n), other(n), counters(n) {}

  static constexpr size_t kBytes = 2 * (sizeof(V) + 4) + 8;  // a vertex
  Dense<V> dense, other;
  Dense<uint32_t> counters;
};

template <typename V>
class Roots {
 public:
  Roots(const ForestPlan& plan, const WorkQueue& queue, Scratch<V>& scratch)
      : plan_(plan), queue_(queue), dense_(scratch.dense), other_(scratch.other), counters_(scratch.counters),
        nodes_(static_cast<size_t>(plan.n_nodes)) {}

  // What is summed up around a root, whatever its own number is.
  V root(uint32_t u) {
    V product = 1;
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

  // A node's vector; it holds until the next call.
  const Sparse<V>& vector(int32_t k, uint32_t u) {
    const ForestNode& at = node(k);
    Sparse<V>& made = nodes_[static_cast<size_t>(k)];
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

 private:
  const ForestNode& node(int32_t k) const { return plan_.nodes[k]; }
  const Matrix& matrix(int32_t k) const { return plan_.matrices[k]; }

  // The sum of a node's vector.
  V total(int32_t k, uint32_t u) {
    const ForestNode& at = node(k);
    const int32_t* children = plan_.children + at.first;
    V sum = 0;
    if (at.count > 0 && at.start < 0 && at.vector < 0) {
      const int32_t first = children[0], last = children[at.count - 1];
      const auto firsts = static_cast<int>(std::count(children, children + at.count, first));
      if (first == last) {
        if (at.count == 2 && count(first, u)) return counters_.squares();
        push(first, u, dense_);
        dense_.drain([&](uint32_t, V number) { sum = plus(sum, power(number, at.count)); });
        return sum;
      }
      const auto lasts = static_cast<int>(std::count(children, children + at.count, last));
      if (firsts == 1 && lasts == 1 && at.count == 2) return product_sum(first, last, u);
      if (firsts + lasts == at.count && node(first).count == 0) {  // whose vector needs no array of its own
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

  // The sum of the product of what two nodes hand on. One that is a row without numbers is counted in 32 bits.
  V product_sum(int32_t one, int32_t other, uint32_t u) {
    const bool swapped = !countable(other) && countable(one);
    const int32_t pushed = swapped ? one : other, read = swapped ? other : one;
    V sum = 0;
    if (count(pushed, u)) {
      if (counters_.additions() > 0) sum = read_along(read, u, counters_);
      counters_.clear();
    } else if (node(read).count == 0 || node(pushed).count == 0) {
      const bool last = node(read).count == 0;  // its vector needs no array of its own
      push(last ? pushed : read, u, dense_);
      if (dense_.additions() > 0) sum = read_along(last ? read : pushed, u, dense_);
      dense_.clear();
    } else {
      push(pushed, u, other_);
      if (other_.additions() > 0) sum = read_along(read, u, other_);
      other_.clear();
    }
    return sum;
  }

  // The sum over a node's vector and its link of the numbers found in an array.
  template <typename Number>
  V read_along(int32_t child, uint32_t u, const Dense<Number>& in) {
    const Sparse<V>& from = vector(child, u);
    const Matrix& link = matrix(node(child).link);
    uint64_t steps = 0;
    V sum = 0;
    for (size_t i = 0; i < from.n; ++i) {
      const V number = from.number(i);
      if (number == 0) continue;
      const Slice at = row(link, from.members()[i]);
      if ((steps += at.end - at.begin) >> 20) {
        steps = 0;
        queue_.poll();
      }
      V found = 0;
      if constexpr (std::is_same_v<Number, uint32_t>) {
        if (link.values.at == nullptr) {
          found = in.sum(link.ids + at.begin, link.ids + at.end);
          sum = plus(sum, times(number, found));
          continue;
        }
      }
      for (uint64_t e = at.begin; e < at.end; ++e) {
        const V there = in[link.ids[e]];
        if (there != 0) found = plus(found, times(there, value<V>(link, e)));
      }
      sum = plus(sum, times(number, found));
    }
    return sum;
  }

  // Is a node a row without numbers, handed on without numbers?
  bool countable(int32_t child) const {
    const ForestNode& at = node(child);
    return at.count == 0 && at.vector < 0 && matrix(at.link).values.at == nullptr && matrix(at.start).values.at == nullptr;
  }

  // Adds what such a node hands on to the counters, where 32 bits do. False where they may not.
  bool count(int32_t child, uint32_t u) {
    if (!countable(child)) return false;
    const Matrix& m = matrix(node(child).start);
    const Matrix& link = matrix(node(child).link);
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
    queue_.poll();
    return true;
  }

  // The row of the root.
  void start(Sparse<V>& made, const Matrix& m, uint32_t u, const V* factors) {
    const Slice at = row(m, u);
    made.n = at.end - at.begin;
    made.row = m.ids + at.begin;
    if (factors == nullptr && m.values.at == nullptr) return;
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

  // Adds what a node hands on to an array.
  void push(int32_t child, uint32_t u, Dense<V>& to) {
    const Sparse<V>& from = vector(child, u);
    const Matrix& link = matrix(node(child).link);
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
        queue_.poll();
      }
      const V number = from.number(i);
      if (link.values.at == nullptr && !wraps) {
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

  const ForestPlan& plan_;
  const WorkQueue& queue_;
  Dense<V>&dense_, &other_;
  Dense<uint32_t>& counters_;
  std::vector<Sparse<V>> nodes_;
};

}  // namespace qe::eliminate
