// Comparisons that rows must satisfy before they are folded.
#pragma once
#include <algorithm>

#include "fold/fold.h"
#include "qe/conditions.h"

namespace qe::fold {

inline Number number_at(const Column& column, int64_t id) {
  Number found{false, false, 0, 0};
  with_reader(column, [&](const auto& reader, auto number) {
    if (!reader.get(id, &number)) return;
    found.present = true;
    if constexpr (std::is_same_v<decltype(number), double>) {
      found.real = number;
    } else {
      found.whole = true;
      found.integer = number;
    }
  });
  return found;
}

// row: an id for each variable.
inline bool holds(const Condition& condition, const int64_t* row) {
  const Number a = number_at(condition.left, row[condition.left.variable]);
  const Number b = number_at(condition.right, row[condition.right.variable]);
  return compares(condition.op, a, b);
}

// The numbers of a column at n ids, and which of these have one.
template <typename T>
void numbers_at(const Column& column, const int64_t* ids, int n, T* numbers, uint8_t* present) {
  with_reader(column, [&](const auto& reader, auto number) {
    for (int i = 0; i < n; ++i) {
      number = 0;
      present[i] &= reader.get(ids[i], &number);
      numbers[i] = static_cast<T>(number);
    }
  });
}

// Calls use(compare) with what compares two numbers of a type; NaN differs from everything.
template <typename Use>
void with_comparison(int32_t op, Use&& use) {
  switch (op) {
    case kEqual: return use([](auto a, auto b) { return a == b; });
    case kNotEqual: return use([](auto a, auto b) { return !(a == b); });
    case kLess: return use([](auto a, auto b) { return a < b; });
    case kLessEqual: return use([](auto a, auto b) { return a <= b; });
    case kGreater: return use([](auto a, auto b) { return a > b; });
    default: return use([](auto a, auto b) { return a >= b; });
  }
}

template <typename T>
void compare_block(const Condition& condition, const int64_t* left, const int64_t* right, int n, uint8_t* holding) {
  T a[kBlock], b[kBlock];
  numbers_at(condition.left, left, n, a, holding);
  numbers_at(condition.right, right, n, b, holding);
  with_comparison(condition.op, [&](const auto& compare) {
    for (int i = 0; i < n; ++i) holding[i] &= compare(a[i], b[i]);
  });
}

// Marks those of up to kBlock rows for which all conditions hold. columns: the ids of each variable.
inline void select_block(const Condition* conditions, int n_conditions, const int64_t* const* columns, int n, uint8_t* holding) {
  std::fill_n(holding, n, 1);
  for (int k = 0; k < n_conditions; ++k) {
    const Condition& each = conditions[k];
    const int64_t *left = columns[each.left.variable], *right = columns[each.right.variable];
    const bool a = each.left.kind == kFloat64, b = each.right.kind == kFloat64;
    if (a && b) {
      compare_block<double>(each, left, right, n, holding);
    } else if (!a && !b) {
      compare_block<int64_t>(each, left, right, n, holding);
    } else {
      for (int i = 0; i < n; ++i)
        holding[i] &= compares(each.op, number_at(each.left, left[i]), number_at(each.right, right[i]));
    }
  }
}

}  // namespace qe::fold
