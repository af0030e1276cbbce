// Relationships between two bound vertices: ranges of positions in OUT adjacencies.
#pragma once
#include "search_worker.h"

namespace qe {

// The relationships of one type from u to v, as local ids; each has the same ends.
inline Slice edges_between(const Pcsr& out, uint32_t u, uint32_t v) {
  const Slice at = locate(out, u);
  const uint32_t* list = out.neighbours + at.begin;
  const size_t n = at.end - at.begin;
  const size_t begin = lower_bound(list, n, v);
  size_t end = begin;
  while (end < n && list[end] == v) ++end;
  return {at.begin + begin, at.begin + end};
}

// Calls visit(type, slice) for each run of the level's relationships before its filters.
template <typename Visit>
void each_run(const MatchPlan& match, const PlanLevel& level, uint32_t start, uint32_t end, Visit visit) {
  for (int k = 0; k < level.types.count; ++k) {
    const PlanEdgeType& type = match.types[level.types.first + k];
    const Pcsr& out = match.lists[type.list];
    if (type.way != kBackward) visit(type, edges_between(out, start, end));
    if (type.way == kBackward || (type.way == kEitherWay && start != end)) visit(type, edges_between(out, end, start));
  }
}

// Binds the level to each of its relationships in turn.
template <typename Visit>
void Worker::each_edge(int level, Visit visit) {
  const LevelInfo& of = info(level);
  const PlanLevel& plan = *of.plan;
  each_run(match_, plan, vertex(plan.start), vertex(plan.end), [&](const PlanEdgeType& type, Slice run) {
    for (uint64_t at = run.begin; at < run.end; ++at) {
      if (type.bitset && !(type.bitset[at >> 6] >> (at & 63) & 1)) continue;
      value_[level] = type.base + static_cast<int64_t>(at);
      bool apart = true;
      for (int other : of.different) apart = apart && value_[other] != value_[level];
      if (!apart || !passes_rest(level)) continue;
      spend(1);
      visit();
    }
  });
}

}  // namespace qe
