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
