// Walking the relationships of an edge level.
#pragma once
#include "qe/plan_edges.h"
#include "search/search_worker.h"

namespace qe {

// Calls visit(type, ids, run) for each run of relationships of an edge level before its filters: those of one type between
// its ends, one way. `ids`: of positions within the type; null: they are that. They are looked for in the list of the end
// that was bound first, which many rows in a row have in common. cursors: two.
template <typename Visit>
void each_alike_run(const MatchPlan& match, const PlanLevel& level, uint32_t start, uint32_t end, EdgeCursor* cursors, Visit visit) {
  for (int k = 0; k < level.types.count; ++k) {
    const PlanEdgeType& type = match.types[level.types.first + k];
    const Pcsr& out = match.lists[type.list];
    const Pcsr* in = type.in_list < 0 ? nullptr : match.lists + type.in_list;
    const auto between = [&](uint32_t u, uint32_t v, bool v_first, EdgeCursor& cursor) {
      const bool backward = v_first && in && in->edge_ids;
      const Slice run = backward ? cursor.entries(*in, v, u) : cursor.entries(out, u, v);
      const uint32_t* ids = backward ? in->edge_ids : out.edge_ids;
      if (run.begin < run.end) visit(type, ids, run);
    };
    if (type.way != kBackward) between(start, end, level.end < level.start, cursors[0]);
    if (type.way == kBackward || (type.way == kEitherWay && start != end))
      between(end, start, level.start < level.end, cursors[1]);
  }
}

// The same for each relationship: visit(type, id).
template <typename Visit>
void each_id(const MatchPlan& match, const PlanLevel& level, uint32_t start, uint32_t end, EdgeCursor* cursors, Visit visit) {
  each_alike_run(match, level, start, end, cursors, [&](const PlanEdgeType& type, const uint32_t* ids, Slice run) {
    for (uint64_t at = run.begin; at < run.end; ++at) visit(type, ids ? ids[at] : at);
  });
}

// Binds the level to each of its relationships in turn.
template <typename Visit>
void Worker::each_edge(int level, Visit visit) {
  const LevelInfo& of = info(level);
  const PlanLevel& plan = *of.plan;
  EdgeCursor* cursors = cursors_.data() + 2 * level;
  each_id(match_, plan, vertex(plan.start), vertex(plan.end), cursors, [&](const PlanEdgeType& type, uint64_t at) {
    if (type.bitset && !(type.bitset[at >> 6] >> (at & 63) & 1)) return;
    value_[level] = type.base + static_cast<int64_t>(at);
    bool apart = true;
    for (const Avoided& other : of.avoided) apart = apart && value_[other.level] != value_[level];
    if (!apart || !passes_rest(level)) return;
    spend(1);
    visit();
  });
}

// Calls visit(times) with the level bound to relationships that stand for all: each for so many that are alike.
template <typename Visit>
void Worker::each_alike(int level, Visit visit) {
  const LevelInfo& of = info(level);
  if (!of.alike) return each_edge(level, [&] { visit(uint64_t{1}); });
  const PlanLevel& plan = *of.plan;
  EdgeCursor* cursors = cursors_.data() + 2 * level;
  each_alike_run(match_, plan, vertex(plan.start), vertex(plan.end), cursors,
                 [&](const PlanEdgeType& type, const uint32_t* ids, Slice run) {
    int64_t any = -1;  // of those that no other level is bound to
    uint64_t times = 0;
    spend(run.end - run.begin);
    for (uint64_t at = run.begin; at < run.end; ++at) {
      const int64_t id = type.base + static_cast<int64_t>(ids ? ids[at] : at);
      const auto taken = [&](int other) { return value_[other] == id; };
      if (std::any_of(of.avoided.begin(), of.avoided.end(), [&](const Avoided& other) { return taken(other.level); })) continue;
      if (std::none_of(of.beside.begin(), of.beside.end(), taken)) {
        any = id;
        ++times;
        continue;
      }
      value_[level] = id;
      visit(uint64_t{1});
    }
    if (times == 0) return;
    value_[level] = any;
    visit(times);
  });
}

}  // namespace qe
