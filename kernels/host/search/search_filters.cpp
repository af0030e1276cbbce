// Tests of candidates, one or all of a level: bitset, difference, pairs, conditions, and all of a seed's constraints.
#include "qe/conditions.h"
#include "search/search_run.h"
#include "search/search_worker.h"

namespace qe {
namespace {

// Writes those of n ids whose value holds, and returns how many; `out` may be `ids`. Null holds of nothing. No branch depends
// on what is read, so that many ids' values, which lie anywhere, are on their way at a time.
template <typename T, typename Holds>
size_t keep_values(const PlanColumn& column, const uint32_t* ids, size_t n, uint32_t* out, Holds holds) {
  const T* values = static_cast<const T*>(column.values);
  const auto size = static_cast<uint64_t>(column.end - column.begin);
  if (size == 0) return 0;
  size_t kept = 0;
  for (size_t i = 0; i < n; ++i) {
    const uint32_t id = ids[i];
    const uint64_t place = id - static_cast<uint64_t>(column.begin);
    const bool inside = place < size;
    const uint64_t at = inside ? place : 0, bit = at + static_cast<uint64_t>(column.validity_offset);
    bool holding = inside & holds(values[at]);
    if (column.validity) holding &= (column.validity[bit >> 3] >> (bit & 7) & 1) != 0;
    out[kept] = id;
    kept += holding;
  }
  return kept;
}

// Those whose value OP bound, both of one type.
template <typename T>
size_t keep_compared(int32_t op, const PlanColumn& column, T bound, const uint32_t* ids, size_t n, uint32_t* out) {
  switch (op) {
    case kEqual: return keep_values<T>(column, ids, n, out, [=](T value) { return value == bound; });
    case kNotEqual: return keep_values<T>(column, ids, n, out, [=](T value) { return value != bound; });
    case kLess: return keep_values<T>(column, ids, n, out, [=](T value) { return value < bound; });
    case kLessEqual: return keep_values<T>(column, ids, n, out, [=](T value) { return value <= bound; });
    case kGreater: return keep_values<T>(column, ids, n, out, [=](T value) { return value > bound; });
    default: return keep_values<T>(column, ids, n, out, [=](T value) { return value >= bound; });
  }
}

int32_t turned(int32_t op) {
  switch (op) {
    case kLess: return kGreater;
    case kLessEqual: return kGreaterEqual;
    case kGreater: return kLess;
    case kGreaterEqual: return kLessEqual;
    default: return op;
  }
}

}  // namespace

// Those of a level's candidates that pass all of its tests, which are made one after the other for all of them. They are
// in the buffer of the level's frame that the candidates aren't in.
Set Worker::passing(int level, Set all) {
  const LevelInfo& of = info(level);
  if (!of.filtered && of.avoided.empty()) return all;
  Frame& to = frame(level);
  Buffer<uint32_t>& buffer = all.data == to.buffers[0].data() ? to.buffers[1] : to.buffers[0];
  uint32_t* out = buffer.reserve(all.n + kSlack, charge_);
  spend(all.n);
  const uint32_t* ids = all.data;
  size_t n = all.n;
  const auto keep = [&](auto holds) {
    size_t kept = 0;
    for (size_t i = 0; i < n; ++i) {
      const uint32_t id = ids[i];
      out[kept] = id;
      kept += holds(id);
    }
    ids = out;
    n = kept;
  };
  if (of.filtered && of.bitset) {
    const uint32_t begin = of.plan->bitset_begin;
    keep([&](uint32_t id) { return (of.bitset[(id - begin) >> 6] >> ((id - begin) & 63) & 1) != 0; });
  }
  const PlanSpan& conditions = of.plan->conditions;
  for (int k = 0; k < conditions.count; ++k) {
    n = keep_condition(level, match_.conditions[conditions.first + k], ids, n, out);
    ids = out;
  }
  for (const Avoided& other : of.avoided) {
    const int64_t taken = value_[other.level];
    keep([=](uint32_t id) { return id != taken; });
  }
  if (of.plan->pairs.count > 0)
    keep([&](uint32_t id) {
      value_[level] = id;
      return passes_rest(level);
    });
  return {ids, n};
}

// Those of n candidates of a level for which a condition holds; what the other level is bound to is read once.
size_t Worker::keep_condition(int level, const PlanCondition& condition, const uint32_t* ids, size_t n, uint32_t* out) {
  const bool left = condition.left == level;
  const PlanSpan& own = left ? condition.left_columns : condition.right_columns;
  const PlanSpan& others = left ? condition.right_columns : condition.left_columns;
  const PlanColumn& column = match_.columns[own.first];
  if (own.count == 1 && condition.op == kBetween) {
    const auto* bounds = static_cast<const int64_t*>(match_.columns[others.first].values);
    const auto between = [low = bounds[0], high = bounds[1]](int64_t value) { return (low <= value) & (value <= high); };
    if (column.kind == kInt32) return keep_values<int32_t>(column, ids, n, out, between);
    if (column.kind == kInt64) return keep_values<int64_t>(column, ids, n, out, between);
  } else if (own.count == 1 && condition.left != condition.right) {
    const int64_t id = value_[left ? condition.right : condition.left];
    const Number bound = number_of(match_.columns + others.first, others.count, id);
    if (!bound.present) return 0;
    const int32_t op = left ? condition.op : turned(condition.op);
    if (bound.whole && column.kind == kInt64) return keep_compared<int64_t>(op, column, bound.integer, ids, n, out);
    if (!bound.whole && column.kind == kFloat64) return keep_compared<double>(op, column, bound.real, ids, n, out);
  }
  size_t kept = 0;
  for (size_t i = 0; i < n; ++i) {
    const uint32_t id = ids[i];
    value_[level] = id;
    out[kept] = id;
    kept += holds(match_, condition, value_[condition.left], value_[condition.right]);
  }
  return kept;
}

// Pairs and conditions, with the level's value set.
bool Worker::passes_rest(int level) { return passes_pairs(match_, *info(level).plan, value_); }

bool Worker::passes(int level, uint32_t v) {
  const LevelInfo& of = info(level);
  for (const Avoided& other : of.avoided)
    if (value_[other.level] == v) return false;
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
