// Tests of single candidates: bitset, difference, pairs, conditions, and all of a seed's constraints.
#include "qe/conditions.h"
#include "search/search_run.h"
#include "search/search_worker.h"

namespace qe {

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

namespace {

// Writes the ids whose numbers lie between two, inclusive; `out` may be `ids`. No branch depends on what is read, so that
// many ids' numbers, which lie anywhere, are on their way at a time.
template <typename T>
size_t numbers_between(const PlanColumn& column, const int64_t* bounds, const uint32_t* ids, size_t n, uint32_t* out) {
  const T* values = static_cast<const T*>(column.values);
  const uint64_t size = static_cast<uint64_t>(column.end - column.begin);
  size_t kept = 0;
  for (size_t i = 0; i < n; ++i) {
    const uint32_t id = ids[i];
    const uint64_t place = static_cast<uint64_t>(static_cast<int64_t>(id) - column.begin);
    const bool inside = place < size;
    const uint64_t at = inside ? place : 0, bit = at + static_cast<uint64_t>(column.validity_offset);
    const int64_t number = values[at];
    bool holds = inside & (bounds[0] <= number) & (number <= bounds[1]);
    if (column.validity) holds &= (column.validity[bit >> 3] >> (bit & 7) & 1) != 0;
    out[kept] = id;
    kept += holds;
  }
  return kept;
}

}  // namespace

// Writes the candidates of a level `between` that its bitset and conditions admit; returns how many.
size_t Worker::select_between(const LevelInfo& of, Set all, uint32_t* out) const {
  if (of.bitset) {
    size_t kept = 0;
    for (size_t i = 0; i < all.n; ++i) {
      const uint32_t at = all.data[i] - of.plan->bitset_begin;
      out[kept] = all.data[i];
      kept += of.bitset[at >> 6] >> (at & 63) & 1;
    }
    all = {out, kept};
  }
  for (int k = 0; k < of.plan->conditions.count; ++k) {
    const PlanCondition& condition = match_.conditions[of.plan->conditions.first + k];
    if (condition.left_columns.count == 0) return 0;
    if (condition.left_columns.count > 1) {
      size_t kept = 0;
      for (size_t i = 0; i < all.n; ++i) {
        const uint32_t id = all.data[i];
        out[kept] = id;
        kept += holds(match_, condition, id, id);
      }
      all = {out, kept};
      continue;
    }
    const PlanColumn& column = match_.columns[condition.left_columns.first];
    const auto* bounds = static_cast<const int64_t*>(match_.columns[condition.right_columns.first].values);
    if (column.begin == column.end) return 0;
    const auto select = column.kind == kInt32 ? numbers_between<int32_t> : numbers_between<int64_t>;
    all = {out, select(column, bounds, all.data, all.n, out)};
  }
  return all.n;
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
