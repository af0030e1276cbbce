// Conditions between the levels of a plan: comparisons of numeric columns, and pairs. Shared by host and GPU.
#pragma once
#include "qe/match_plan.h"

namespace qe {

enum class Order : int32_t { kLess, kEqual, kGreater, kUnordered };

template <typename T>
QE_BOTH inline Order order(T a, T b) {
  return a < b ? Order::kLess : a > b ? Order::kGreater : a == b ? Order::kEqual : Order::kUnordered;
}

// Exact: no rounding of the integer.
QE_BOTH inline Order order(int64_t a, double b) {
  if (b != b) return Order::kUnordered;
  if (b >= 9223372036854775808.0) return Order::kLess;
  if (b < -9223372036854775808.0) return Order::kGreater;
  const int64_t whole = static_cast<int64_t>(b);
  if (a != whole) return order(a, whole);
  return order(static_cast<double>(whole), b);
}

QE_BOTH inline Order reversed(Order o) {
  return o == Order::kLess ? Order::kGreater : o == Order::kGreater ? Order::kLess : o;
}

struct Number {
  bool present, whole;
  int64_t integer;
  double real;
};

// The value of an id in the one of `n` columns that covers it.
QE_BOTH inline Number number_of(const PlanColumn* columns, int n, int64_t id) {
  for (int k = 0; k < n; ++k) {
    const PlanColumn& column = columns[k];
    if (id < column.begin || id >= column.end) continue;
    const int64_t at = id - column.begin, bit = at + column.validity_offset;
    if (column.validity && !(column.validity[bit >> 3] >> (bit & 7) & 1)) break;
    if (column.kind == kInt64) return {true, true, static_cast<const int64_t*>(column.values)[at], 0};
    if (column.kind == kInt32) return {true, true, static_cast<const int32_t*>(column.values)[at], 0};
    return {true, false, 0, static_cast<const double*>(column.values)[at]};
  }
  return {false, false, 0, 0};
}

QE_BOTH inline bool satisfies(int32_t op, Order o) {
  switch (op) {
    case kEqual: return o == Order::kEqual;
    case kNotEqual: return o != Order::kEqual;
    case kLess: return o == Order::kLess;
    case kLessEqual: return o == Order::kLess || o == Order::kEqual;
    case kGreater: return o == Order::kGreater;
    default: return o == Order::kGreater || o == Order::kEqual;
  }
}

// Does `a op b` hold? Null makes it false; NaN differs from everything.
QE_BOTH inline bool compares(int32_t op, const Number& a, const Number& b) {
  if (!a.present || !b.present) return false;
  Order o;
  if (a.whole && b.whole) o = order(a.integer, b.integer);
  else if (a.whole) o = order(a.integer, b.real);
  else if (b.whole) o = reversed(order(b.integer, a.real));
  else o = order(a.real, b.real);
  return satisfies(op, o);
}

// Does the condition hold between the ids that its two levels are bound to?
QE_BOTH inline bool holds(const MatchPlan& plan, const PlanCondition& condition, int64_t left, int64_t right) {
  const Number a = number_of(plan.columns + condition.left_columns.first, condition.left_columns.count, left);
  if (condition.op == kBetween) {
    const int64_t* bounds = static_cast<const int64_t*>(plan.columns[condition.right_columns.first].values);
    return a.present && a.whole && bounds[0] <= a.integer && a.integer <= bounds[1];
  }
  const Number b = number_of(plan.columns + condition.right_columns.first, condition.right_columns.count, right);
  return compares(condition.op, a, b);
}

// Do a level's pairs and conditions hold? `value`: what the levels are bound to, its own included.
QE_BOTH inline bool passes_pairs(const MatchPlan& plan, const PlanLevel& level, const int64_t* value) {
  for (int k = 0; k < level.pairs.count; ++k) {
    const PlanPair& pair = plan.pairs[level.pairs.first + k];
    if (value[pair.a] == value[pair.b] && value[pair.c] == value[pair.d]) return false;
  }
  for (int k = 0; k < level.conditions.count; ++k) {
    const PlanCondition& condition = plan.conditions[level.conditions.first + k];
    if (!holds(plan, condition, value[condition.left], value[condition.right])) return false;
  }
  return true;
}

}  // namespace qe
