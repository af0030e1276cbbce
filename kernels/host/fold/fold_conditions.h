// Comparisons that rows must satisfy before they are folded.
#pragma once
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

}  // namespace qe::fold
