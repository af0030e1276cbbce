// Relationships between two bound vertices: ranges of positions in OUT adjacencies.
#pragma once
#include "qe/lists.h"
#include "qe/match_plan.h"

namespace qe {

// The relationships of one type from u to v, as local ids; each has the same ends.
QE_BOTH inline Slice edges_between(const Pcsr& out, uint32_t u, uint32_t v) {
  const Slice at = locate(out, u);
  const uint32_t* list = out.neighbours + at.begin;
  const uint64_t n = at.end - at.begin;
  const uint64_t begin = lower_bound(list, n, v);
  uint64_t end = begin;
  while (end < n && list[end] == v) ++end;
  return {at.begin + begin, at.begin + end};
}

// Calls visit(type, slice) for each run of the level's relationships before its filters.
template <typename Visit>
QE_BOTH void each_run(const MatchPlan& match, const PlanLevel& level, uint32_t start, uint32_t end, Visit visit) {
  for (int k = 0; k < level.types.count; ++k) {
    const PlanEdgeType& type = match.types[level.types.first + k];
    const Pcsr& out = match.lists[type.list];
    if (type.way != kBackward) visit(type, edges_between(out, start, end));
    if (type.way == kBackward || (type.way == kEitherWay && start != end)) visit(type, edges_between(out, end, start));
  }
}

}  // namespace qe
