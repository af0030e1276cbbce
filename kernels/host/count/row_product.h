// Accumulators of row products: rows of a matrix are added to one, each times a number, and its sums make a sparse vector.
//
// A number is that of one root, which is checked for overflow, or a line of numbers of several roots side by side, which callers
// bound beforehand. Sources: Gustavson 1978 (sparse accumulator); products with several vectors at once, Aktulga et al. 2014.
#pragma once
#include <algorithm>
#include <vector>

#include "count/eliminate.h"

namespace qe::eliminate {

constexpr size_t kLineBytes = 64;

template <typename Number>
struct alignas(kLineBytes) Line {
  static constexpr uint32_t kRoots = kLineBytes / sizeof(Number);
  Number of[kRoots];
};

template <typename Number>
struct RootsOf {
  static constexpr uint32_t n = 1;
};
template <typename Number>
struct RootsOf<Line<Number>> {
  static constexpr uint32_t n = Line<Number>::kRoots;
};

template <typename V>
V power(V base, int exponent) {
  V found = base;
  for (int k = 1; k < exponent; ++k) found = times(found, base);
  return found;
}
template <typename Number>
Line<Number> power(Line<Number> base, int exponent) {
  Line<Number> found = base;
  for (int k = 1; k < exponent; ++k)
    for (uint32_t r = 0; r < Line<Number>::kRoots; ++r) found.of[r] *= base.of[r];
  return found;
}
template <typename Number>
Line<Number> times(Line<Number> a, const Line<Number>& b) {
  for (uint32_t r = 0; r < Line<Number>::kRoots; ++r) a.of[r] *= b.of[r];
  return a;
}

// A number that must fit.
template <typename Number, typename V>
Number narrowed(V number) {
  const auto found = static_cast<Number>(number);
  if (static_cast<V>(found) != number) throw Halt{kOverflow};
  return found;
}

template <typename Number>
struct Sparse {
  std::vector<uint32_t> ids;
  std::vector<Number> numbers;
  // Where the vector is a row itself: these instead, each number 1.
  const uint32_t* row = nullptr;
  size_t n = 0;

  const uint32_t* members() const { return row ? row : ids.data(); }
  Number number(size_t i) const { return row ? Number{1} : numbers[i]; }
  void clear() {
    row = nullptr;
    ids.clear();
    numbers.clear();
    n = 0;
  }
  void add(uint32_t v, const Number& number) {
    ids.push_back(v);
    numbers.push_back(number);
    ++n;
  }
};

// An array over all columns, all 0 but at the places `touched`, or anywhere where those are too many to be listed.
template <typename Number>
class Dense {
  static constexpr bool kIsLine = RootsOf<Number>::n > 1;

 public:
  explicit Dense(uint32_t n) : numbers_(n, Number{}), touched_(n + 1), seen_(kIsLine ? n : 0, 0) {}

  static constexpr size_t kBytes = sizeof(Number) + sizeof(uint32_t) + kIsLine;  // a column

  // Before `additions` additions, after which the numbers are listed or not.
  void open(uint64_t additions, bool listed = true) {
    n_ = 0;
    additions_ = additions;
    whole_ = kIsLine ? additions >= numbers_.size() : !listed && additions > numbers_.size() / 4;
  }
  // Adds along ids, where no sum can wrap.
  void add(const uint32_t* ids, const uint32_t* end, const Number& given) {
    const Number more = given;
    if (!whole_) {
      for (; ids < end; ++ids) raise(touch(*ids), more);
      return;
    }
    constexpr ptrdiff_t kAhead = 8;
    Number* numbers = numbers_.data();
    for (; ids < end; ++ids) {
      if (kIsLine && end - ids > kAhead) __builtin_prefetch(numbers + ids[kAhead], 1);
      raise(numbers[*ids], more);
    }
  }
  // Adds to the number of one root.
  template <typename V>
  void add_checked(uint32_t v, uint32_t root, V more) {
    if (more == 0) return;
    Number& to = whole_ ? numbers_[v] : touch(v);
    if constexpr (kIsLine) to.of[root] += static_cast<std::decay_t<decltype(to.of[0])>>(more);
    else to = plus(to, more);
  }
  const Number& operator[](uint32_t v) const { return numbers_[v]; }
  uint64_t additions() const { return additions_; }

  // The sum of the numbers at some places, which can't wrap.
  uint64_t sum(const uint32_t* ids, const uint32_t* end) const {
    uint64_t sums[4] = {0, 0, 0, 0};
    for (; ids + 4 <= end; ids += 4)
      for (int k = 0; k < 4; ++k) sums[k] += numbers_[ids[k]];
    for (; ids < end; ++ids) sums[0] += numbers_[*ids];
    return sums[0] + sums[1] + sums[2] + sums[3];
  }

  // Calls each(v, number) for the numbers that are not 0, and perhaps for lines that are.
  template <typename Each>
  void each(Each&& each) const {
    const auto n = static_cast<uint32_t>(numbers_.size());
    if (whole_) {
      for (uint32_t v = 0; v < n; ++v)
        if (!is_zero(numbers_[v])) each(v, numbers_[v]);
    } else {
      for (size_t i = 0; i < n_; ++i) each(touched_[i], numbers_[touched_[i]]);
    }
  }
  // Calls each(number) for all numbers that are not 0, and perhaps for some that are; clears them.
  template <typename Each>
  void drain_numbers(Each&& each) {
    if (whole_) std::for_each(numbers_.begin(), numbers_.end(), each);
    else
      for (size_t i = 0; i < n_; ++i) each(numbers_[touched_[i]]);
    clear();
  }
  // As `each`, and clears them.
  template <typename Each>
  void drain(Each&& each) {
    this->each(each);
    clear();
  }
  void clear() {
    if (whole_) {
      std::fill(numbers_.begin(), numbers_.end(), Number{});
      return;
    }
    for (size_t i = 0; i < n_; ++i) {
      numbers_[touched_[i]] = {};
      if constexpr (kIsLine) seen_[touched_[i]] = 0;
    }
  }

 private:
  Number& touch(uint32_t v) {
    if constexpr (kIsLine) {
      if (!seen_[v]) {
        seen_[v] = 1;
        touched_[n_++] = v;
      }
    } else {
      touched_[n_] = v;
      n_ += numbers_[v] == 0;
    }
    return numbers_[v];
  }
  static void raise(Number& to, const Number& more) {
    if constexpr (kIsLine) {
      for (uint32_t r = 0; r < RootsOf<Number>::n; ++r) to.of[r] += more.of[r];
    } else {
      to += more;
    }
  }
  static bool is_zero(const Number& number) {
    if constexpr (kIsLine) return false;
    else return number == 0;
  }

  std::vector<Number> numbers_;
  std::vector<uint32_t> touched_;
  std::vector<uint8_t> seen_;  // of lines
  size_t n_ = 0;
  uint64_t additions_ = 0;
  bool whole_ = false;
};

}  // namespace qe::eliminate
