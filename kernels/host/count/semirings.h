// Semirings of aggregates: what is added up over the ways through a pattern, other than how many there are.
//
// A vector has a number where it is present, and none elsewhere: that is the semiring's zero. It is multiplied by counts (of
// relationships, or of ways), of which only IntSum and FloatSum see more than whether they are 0. Source: functional aggregate
// queries, Abo Khamis, Ngo and Rudra 2016.
#pragma once
#include <cmath>

#include "count/eliminate.h"

namespace qe::eliminate {

// Mirrored by whoever calls the functions of semiring_vectors.cpp.
enum Semiring : int32_t { kExists, kMinInt, kMaxInt, kMinFloat, kMaxFloat, kSumInt, kSumFloat };

// Whether any is present: vectors have no numbers.
struct Exists {
  using Number = uint8_t;
  using Weight = bool;
  static constexpr bool kFirstSettles = true;

  void add(Number, Weight) {}
  void merge(const Exists&) {}
  Number number() const { return 1; }
};

// The least or the greatest number. NaN is greater than all others; of equal numbers the first stays.
template <typename T, bool kGreatest>
class Extreme {
 public:
  using Number = T;
  using Weight = bool;
  static constexpr bool kFirstSettles = false;

  void add(Number number, Weight) {
    if (empty_ || (kGreatest ? less(best_, number) : less(number, best_))) best_ = number;
    empty_ = false;
  }
  void merge(const Extreme& other) {
    if (!other.empty_) add(other.best_, true);
  }
  Number number() const { return best_; }

 private:
  static bool less(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
    return a < b;
  }

  T best_{};
  bool empty_ = true;
};

// The exact sum of whole numbers, in 128 bits.
class IntSum {
 public:
  using Number = __int128;
  using Weight = Wide;
  static constexpr bool kFirstSettles = false;

  void add(Number number, Weight weight) {
    if (weight >> 127) throw Halt{kOverflow};
    sum_ = plus(sum_, times(number, static_cast<Number>(weight)));
  }
  void merge(const IntSum& other) { sum_ = plus(sum_, other.sum_); }
  Number number() const { return sum_; }

 private:
  Number sum_ = 0;
};

// The sum of floating-point numbers, of which what roundings lose is added up beside it (Neumaier 1974). It depends on the order of
// additions, never on the number of threads.
class FloatSum {
 public:
  using Number = double;
  using Weight = double;
  static constexpr bool kFirstSettles = false;

  void add(Number number, Weight weight) { add(number * weight); }
  void merge(const FloatSum& other) {
    add(other.sum_);
    lost_ += other.lost_;
  }
  Number number() const { return std::isfinite(sum_) ? sum_ + lost_ : sum_; }

 private:
  void add(double number) {
    const double sum = sum_ + number;
    lost_ += std::fabs(sum_) >= std::fabs(number) ? (sum_ - sum) + number : (number - sum) + sum_;
    sum_ = sum;
  }

  double sum_ = 0, lost_ = 0;
};

// Calls typed(S{}) with the semiring.
template <typename Typed>
Status in_semiring(int32_t semiring, Typed&& typed) {
  switch (semiring) {
    case kExists: return typed(Exists{});
    case kMinInt: return typed(Extreme<int64_t, false>{});
    case kMaxInt: return typed(Extreme<int64_t, true>{});
    case kMinFloat: return typed(Extreme<double, false>{});
    case kMaxFloat: return typed(Extreme<double, true>{});
    case kSumInt: return typed(IntSum{});
    case kSumFloat: return typed(FloatSum{});
    default: return kInvalid;
  }
}

}  // namespace qe::eliminate
