// Walking the relationships of an edge level.
#pragma once
#include "qe/plan_edges.h"
#include "search/search_worker.h"

namespace qe {

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
      for (const Avoided& other : of.avoided) apart = apart && value_[other.level] != value_[level];
      if (!apart || !passes_rest(level)) continue;
      spend(1);
      visit();
    }
  });
}

}  // namespace qe
