// Tests of single candidates: bitset, difference, pairs, comparisons of columns, and all of a seed's constraints.
#include <cmath>

#include "search_run.h"
#include "search_worker.h"

namespace qe {
namespace {

enum class Order { kLess, kEqual, kGreater, kUnordered };

template <typename T>
Order order(T a, T b) {
  return a < b ? Order::kLess : a > b ? Order::kGreater : a == b ? Order::kEqual : Order::kUnordered;
}

// Exact: no rounding of the integer.
Order order(int64_t a, double b) {
  if (std::isnan(b)) return Order::kUnordered;
  if (b >= 9223372036854775808.0) return Order::kLess;
  if (b < -9223372036854775808.0) return Order::kGreater;
  const auto whole = static_cast<int64_t>(b);
  if (a != whole) return order(a, whole);
  return order(static_cast<double>(whole), b);
}

Order reversed(Order o) { return o == Order::kLess ? Order::kGreater : o == Order::kGreater ? Order::kLess : o; }

struct Number {
  bool present, whole;
  int64_t integer;
  double real;
};

Number number(const PlanColumn* columns, int n, int64_t id) {
  for (int k = 0; k < n; ++k) {
    const PlanColumn& column = columns[k];
    if (id < column.begin || id >= column.end) continue;
    const int64_t at = id - column.begin, bit = at + column.validity_offset;
    if (column.validity && !(column.validity[bit >> 3] >> (bit & 7) & 1)) break;
    if (column.kind == kInt64) return {true, true, static_cast<const int64_t*>(column.values)[at], 0};
    return {true, false, 0, static_cast<const double*>(column.values)[at]};
  }
  return {false, false, 0, 0};
}

bool satisfies(int32_t op, Order o) {
  switch (op) {
    case kEqual: return o == Order::kEqual;
    case kNotEqual: return o != Order::kEqual;
    case kLess: return o == Order::kLess;
    case kLessEqual: return o == Order::kLess || o == Order::kEqual;
    case kGreater: return o == Order::kGreater;
    default: return o == Order::kGreater || o == Order::kEqual;
  }
}

}  // namespace

// Null makes it false; NaN differs from everything.
bool Worker::holds(const PlanCondition& condition) const {
  const Number a = number(match_.columns + condition.left_columns.first, condition.left_columns.count,
                          value_[condition.left]);
  const Number b = number(match_.columns + condition.right_columns.first, condition.right_columns.count,
                          value_[condition.right]);
  if (!a.present || !b.present) return false;
  Order o;
  if (a.whole && b.whole) o = order(a.integer, b.integer);
  else if (a.whole) o = order(a.integer, b.real);
  else if (b.whole) o = reversed(order(b.integer, a.real));
  else o = order(a.real, b.real);
  return satisfies(condition.op, o);
}

// Pairs and conditions, with the level's value set.
bool Worker::passes_rest(int level) {
  const PlanLevel& plan = *info(level).plan;
  for (int k = 0; k < plan.pairs.count; ++k) {
    const PlanPair& pair = match_.pairs[plan.pairs.first + k];
    if (value_[pair.a] == value_[pair.b] && value_[pair.c] == value_[pair.d]) return false;
  }
  for (int k = 0; k < plan.conditions.count; ++k)
    if (!holds(match_.conditions[plan.conditions.first + k])) return false;
  return true;
}

bool Worker::passes(int level, uint32_t v, Levels besides) {
  const LevelInfo& of = info(level);
  for (int other : of.different)
    if (!(besides & bit_of(other)) && value_[other] == v) return false;
  if (!of.filtered) return true;
  if (of.bitset) {
    const uint32_t at = v - of.plan->bitset_begin;
    if (!(of.bitset[at >> 6] >> (at & 63) & 1)) return false;
  }
  value_[level] = v;
  return passes_rest(level);
}

bool Worker::has_edge(const PlanSource& source, uint32_t to) const {
  for (int k = 0; k < source.lists.count; ++k) {
    const Pcsr& list = match_.lists[match_.list_ids[source.lists.first + k]];
    const Slice at = locate(list, vertex(source.level));
    if (contains(list.neighbours + at.begin, at.end - at.begin, to)) return true;
  }
  return false;
}

// All that a level demands of a vertex that is given: for seeds.
bool Worker::admits(int level, uint32_t v) {
  const PlanLevel& plan = *info(level).plan;
  bool inside = false;
  for (int k = 0; k < plan.ranges.count && !inside; ++k) {
    const PlanRange& range = match_.ranges[plan.ranges.first + k];
    inside = range.begin <= v && v < range.end;
  }
  if (!inside) return false;
  if (plan.candidates && !contains(plan.candidates, static_cast<size_t>(plan.n_candidates), v)) return false;
  if (plan.bitset) {
    const uint32_t at = v - plan.bitset_begin;
    if (!(plan.bitset[at >> 6] >> (at & 63) & 1)) return false;
  }
  for (int k = 0; k < plan.less.count; ++k)
    if (v >= vertex(match_.level_ids[plan.less.first + k])) return false;
  for (int k = 0; k < plan.greater.count; ++k)
    if (v <= vertex(match_.level_ids[plan.greater.first + k])) return false;
  for (int k = 0; k < plan.different.count; ++k)
    if (v == vertex(match_.level_ids[plan.different.first + k])) return false;
  for (int k = 0; k < plan.sources.count; ++k)
    if (!has_edge(match_.sources[plan.sources.first + k], v)) return false;
  value_[level] = v;
  return passes_rest(level);
}

}  // namespace qe
