// Sketchs: candidate graphs without lists, where these would be too many to gather. See sample_candidates.h.
//
// Problem: give the trees of a candidate graph, and with them guide and bound, straight from the plan's own lists. Each level
// but the roots keeps one source, that with the fewest entries, the latest of several; ways are summed along its lists, within
// the order of ids that the plan demands between the two ends. Candidates are those that ranges, bitset and predicates
// admit; roots without a way are left out. The plan's lists stay as they are. Reads each tree's lists once.
#include "base/stop.h"
#include "sample/sample_candidates.h"

namespace qe {
namespace {

// The ids that a level may take below vertex v of an earlier level.
PlanRange ordered(const MatchPlan& plan, const PlanLevel& level, int from, uint32_t v, PlanRange bounds) {
  for (int k = 0; k < level.less.count; ++k)
    if (plan.level_ids[level.less.first + k] == from && v < bounds.end) bounds.end = v;
  for (int k = 0; k < level.greater.count; ++k)
    if (plan.level_ids[level.greater.first + k] == from && v >= bounds.begin) bounds.begin = v + 1;
  return bounds;
}

}  // namespace

int64_t CandidateGraph::entries_of(const PlanSource& source) const {
  int64_t entries = 0;
  for (int k = 0; k < source.lists.count; ++k)
    entries += static_cast<int64_t>(from_.lists[from_.list_ids[source.lists.first + k]].n_entries);
  return entries;
}

bool CandidateGraph::sketch(int64_t most_entries) {
  const auto n = static_cast<size_t>(from_.n_levels);
  std::vector<const PlanSource*> trees(n, nullptr);
  for (size_t j = 0; j < n; ++j) {
    const PlanLevel& level = from_.levels[j];
    if (level.kind != kVertexLevel || level.ranges.count == 0) continue;
    for (int k = 0; k < level.sources.count; ++k) {
      const PlanSource& source = from_.sources[level.sources.first + k];
      const PlanSource* best = trees[j];
      const int64_t more = best ? entries_of(source) - entries_of(*best) : -1;
      if (more < 0 || (more == 0 && source.level > best->level)) trees[j] = &source;
    }
    if (trees[j]) entries_ += entries_of(*trees[j]);
    entries_ += from_.ranges[level.ranges.first + level.ranges.count - 1].end - from_.ranges[level.ranges.first].begin;
    if (entries_ > most_entries) return false;
  }
  levels_.resize(n);
  ways_.resize(n);
  branches_.assign(n, 0);
  for (size_t j = 0; j < n; ++j) {
    start_level(static_cast<int>(j));
    charge_.add(levels_[j].in.size() * sizeof(double));
    ways_[j].assign(levels_[j].in.begin(), levels_[j].in.end());
    empty_ = empty_ || (from_.levels[j].kind == kVertexLevel && levels_[j].count == 0);
  }
  bound_ = 1;
  for (size_t j = n; j-- > 0;) {
    if (from_.levels[j].kind != kVertexLevel) continue;
    if (trees[j]) {
      branches_[static_cast<size_t>(trees[j]->level)] = 1;
      sum_lists(static_cast<int>(j), *trees[j]);
      continue;
    }
    double total = 0;
    for (double ways : ways_[j]) total += ways;
    bound_ *= total;
  }
  empty_ = empty_ || bound_ == 0;
  plan_roots();
  return true;
}

// Multiplies the ways of each vertex of the source's level by those in its lists.
void CandidateGraph::sum_lists(int j, const PlanSource& source) {
  const PlanLevel& level = from_.levels[j];
  const Level& start = levels_[static_cast<size_t>(source.level)];
  const Level& end = levels_[static_cast<size_t>(j)];
  const std::vector<double>& here = ways_[static_cast<size_t>(j)];
  std::vector<double>& parent = ways_[static_cast<size_t>(source.level)];
  for (uint32_t v = start.lo; v < start.hi; ++v) {
    if (((v - start.lo) & 0xFFF) == 0) poll();
    if (!start.in[v - start.lo]) continue;
    const PlanRange bounds = ordered(from_, level, source.level, v, {end.lo, end.hi});
    double sum = 0;
    for (int k = 0; k < source.lists.count && bounds.begin < bounds.end; ++k) {
      const Pcsr& list = from_.lists[from_.list_ids[source.lists.first + k]];
      const Slice at = cut_slice(list, v, bounds, false);
      for (uint64_t i = at.begin; i < at.end; ++i) sum += here[list.neighbours[i] - end.lo];
    }
    parent[v - start.lo] *= sum;
  }
}

// The plan, but for the candidates of levels without a source: those that have a way.
void CandidateGraph::plan_roots() {
  plan_ = from_;
  plan_levels_.assign(from_.levels, from_.levels + from_.n_levels);
  roots_.resize(levels_.size());
  for (size_t j = 0; j < levels_.size(); ++j) {
    PlanLevel& level = plan_levels_[j];
    if (level.kind != kVertexLevel || level.sources.count > 0) continue;
    for (size_t k = 0; k < ways_[j].size(); ++k)
      if (ways_[j][k] > 0) roots_[j].push_back(levels_[j].lo + static_cast<uint32_t>(k));
    level.candidates = roots_[j].data();
    level.n_candidates = static_cast<int64_t>(roots_[j].size());
  }
  plan_.levels = plan_levels_.data();
}

}  // namespace qe
