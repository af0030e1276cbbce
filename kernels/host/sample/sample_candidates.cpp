// Builds candidate graphs: see sample_candidates.h.
#include "sample/sample_candidates.h"

#include <algorithm>
#include <array>
#include <new>

#include "base/stop.h"

namespace qe {
namespace {

constexpr int64_t kEntryBytes = sizeof(uint32_t);

// The sum of term(0) to term(n - 1), in the order of qe/candidate_graph.h.
template <int lanes, typename Term>
double sum_in_lanes(uint64_t n, Term term) {
  std::array<double, lanes> parts;
  const uint64_t used = std::min<uint64_t>(n, lanes);
  for (uint64_t i = 0; i < used; ++i) parts[i] = term(i);
  for (uint64_t i = used; i < n; ++i) parts[i % lanes] += term(i);
  uint64_t width = 1;
  while (width < used) width *= 2;
  std::fill(parts.begin() + static_cast<int64_t>(used), parts.begin() + static_cast<int64_t>(width), 0.0);
  for (uint64_t half = width / 2; half > 0; half /= 2)
    for (uint64_t k = 0; k < half; ++k) parts[k] += parts[k + half];
  return parts[0];
}

}  // namespace

void CandidateGraph::poll() {
  if (const Status status = stopped(control_)) throw Halt{status};
}

void CandidateGraph::start_level(int j) {
  const PlanLevel& plan = from_.levels[j];
  Level& level = levels_[static_cast<size_t>(j)];
  if (plan.kind != kVertexLevel || plan.ranges.count == 0) return;
  level.lo = from_.ranges[plan.ranges.first].begin;
  level.hi = from_.ranges[plan.ranges.first + plan.ranges.count - 1].end;
  charge_.add(2 * (level.hi - level.lo));
  level.in.assign(level.hi - level.lo, 0);
  level.reached.assign(level.hi - level.lo, 0);
  auto admit = [&](uint32_t v) {
    const uint32_t bit = v - plan.bitset_begin;
    if (plan.bitset && !(plan.bitset[bit >> 6] >> (bit & 63) & 1)) return;
    if (!admits(signatures_, j, v)) return;
    level.in[v - level.lo] = 1;
    ++level.count;
  };
  if (plan.candidates) {
    for (int64_t k = 0; k < plan.n_candidates; ++k) admit(plan.candidates[k]);
    return;
  }
  for (int k = 0; k < plan.ranges.count; ++k) {
    const PlanRange& range = from_.ranges[plan.ranges.first + k];
    for (uint32_t v = range.begin; v < range.end; ++v) admit(v);
  }
}

// Collects the lists of a source between the candidates so far; marks what they reach.
bool CandidateGraph::gather(int j, const PlanSource& source, int64_t most_entries) {
  Level& start = levels_[static_cast<size_t>(source.level)];
  Level& end = levels_[static_cast<size_t>(j)];
  Edges edges{source.level, j, {}, {}};
  charge_.add((start.hi - start.lo + 1) * sizeof(uint64_t));
  edges.offsets.assign(start.hi - start.lo + 1, 0);
  const PlanRange bounds = {end.lo, end.hi};
  const bool single = source.lists.count == 1 && !(source.flags & kRepeats);
  for (uint32_t v = start.lo; v < start.hi; ++v) {
    const size_t before = edges.ids.size();
    if (start.in[v - start.lo]) {
      for (int k = 0; k < source.lists.count; ++k) {
        const Pcsr& list = from_.lists[from_.list_ids[source.lists.first + k]];
        const Slice at = cut_slice(list, v, bounds, false);
        for (uint64_t i = at.begin; i < at.end; ++i)
          if (end.in[list.neighbours[i] - end.lo]) edges.ids.push_back(list.neighbours[i]);
      }
      if (!single && edges.ids.size() > before + 1) {
        std::sort(edges.ids.begin() + static_cast<int64_t>(before), edges.ids.end());
        edges.ids.erase(std::unique(edges.ids.begin() + static_cast<int64_t>(before), edges.ids.end()), edges.ids.end());
      }
      if (edges.ids.size() == before) {
        start.in[v - start.lo] = 0;
        --start.count;
      }
      for (size_t i = before; i < edges.ids.size(); ++i) end.reached[edges.ids[i] - end.lo] = 1;
      if (entries_ + static_cast<int64_t>(edges.ids.size()) > most_entries) return false;
      if ((v & 0xFFF) == 0) poll();
    }
    edges.offsets[v - start.lo + 1] = edges.ids.size();
  }
  entries_ += static_cast<int64_t>(edges.ids.size());
  charge_.add(edges.ids.size() * kEntryBytes);
  edges_.push_back(std::move(edges));
  return true;
}

// Leaves only what is reached among the level's candidates; returns whether any left, and clears the marks.
bool CandidateGraph::settle(int j) {
  Level& level = levels_[static_cast<size_t>(j)];
  const int64_t before = level.count;
  for (size_t k = 0; k < level.in.size(); ++k) {
    level.count -= level.in[k] && !level.reached[k];
    level.in[k] &= level.reached[k];
    level.reached[k] = 0;
  }
  return level.count != before;
}

// Drops entries that are no candidates any more, and candidates that are left without entries.
bool CandidateGraph::filter(Edges& edges) {
  Level& start = levels_[static_cast<size_t>(edges.from)];
  Level& end = levels_[static_cast<size_t>(edges.to)];
  uint64_t out = 0, begin = 0;
  const int64_t before = start.count;
  for (uint32_t v = start.lo; v < start.hi; ++v) {
    const uint64_t last = edges.offsets[v - start.lo + 1], first = out;
    if (start.in[v - start.lo]) {
      for (uint64_t i = begin; i < last; ++i) {
        const uint32_t u = edges.ids[i];
        if (!end.in[u - end.lo]) continue;
        edges.ids[out++] = u;
        end.reached[u - end.lo] = 1;
      }
      if (out == first) {
        start.in[v - start.lo] = 0;
        --start.count;
      }
    }
    begin = last;
    edges.offsets[v - start.lo + 1] = out;
  }
  entries_ -= static_cast<int64_t>(edges.ids.size() - out);
  edges.ids.resize(out);
  return settle(edges.to) || start.count != before;
}

bool CandidateGraph::build(int64_t most_entries) {
  levels_.resize(static_cast<size_t>(from_.n_levels));
  for (int j = 0; j < from_.n_levels; ++j) start_level(j);
  for (int j = 0; j < from_.n_levels; ++j) {
    const PlanLevel& level = from_.levels[j];
    for (int k = 0; k < level.sources.count; ++k) {
      if (!gather(j, from_.sources[level.sources.first + k], most_entries)) return false;
      settle(j);
    }
  }
  for (int round = 0; round < kFilterRounds; ++round) {
    int64_t before = 0, after = 0;
    for (const Level& level : levels_) before += level.count;
    for (size_t k = edges_.size(); k > 0; --k) filter(edges_[k - 1]);
    for (Edges& edges : edges_) filter(edges);
    for (const Level& level : levels_) after += level.count;
    poll();
    if (!filters_on(before, after)) break;
  }
  for (int j = 0; j < from_.n_levels; ++j)
    empty_ = empty_ || (from_.levels[j].kind == kVertexLevel && levels_[static_cast<size_t>(j)].count == 0);
  bound_trees();
  make_plan();
  return true;
}

// Counts, from the last level to the first, the ways to bind the levels below each candidate along the tree edges: of each
// level the source with the fewest entries.
void CandidateGraph::bound_trees() {
  ways_.resize(levels_.size());
  branches_.assign(levels_.size(), 0);
  for (size_t j = 0; j < levels_.size(); ++j) ways_[j].assign(levels_[j].in.begin(), levels_[j].in.end());
  bound_ = 1;
  size_t next = edges_.size();
  for (int j = from_.n_levels - 1; j >= 0; --j) {
    if (from_.levels[j].kind != kVertexLevel) continue;
    const auto sources = static_cast<size_t>(from_.levels[j].sources.count);
    const std::vector<double>& here = ways_[static_cast<size_t>(j)];
    if (sources == 0) {
      bound_ *= sum_in_lanes<kRootLanes>(here.size(), [&](uint64_t i) { return here[i]; });
      continue;
    }
    const Edges* tree = nullptr;
    for (size_t k = next - sources; k < next; ++k)
      if (tree == nullptr || edges_[k].ids.size() < tree->ids.size()) tree = &edges_[k];
    next -= sources;
    std::vector<double>& parent = ways_[static_cast<size_t>(tree->from)];
    branches_[static_cast<size_t>(tree->from)] = 1;
    const uint32_t lo = levels_[static_cast<size_t>(j)].lo;
    for (size_t v = 0; v < parent.size(); ++v) {
      const uint32_t* ids = tree->ids.data() + tree->offsets[v];
      parent[v] *= sum_in_lanes<kListLanes>(tree->offsets[v + 1] - tree->offsets[v], [&](uint64_t i) { return here[ids[i] - lo]; });
    }
  }
}

const SampleGuide& CandidateGraph::guide() {
  if (!guide_.empty()) return guide_;
  guide_.resize(levels_.size());
  running_.resize(levels_.size());
  size_t next = 0;
  for (int j = 0; j < from_.n_levels; ++j) {
    const auto at = static_cast<size_t>(j);
    const size_t first = next, sources = static_cast<size_t>(from_.levels[j].sources.count);
    next += sources;
    if (from_.levels[j].kind != kVertexLevel || !branches_[at]) continue;
    std::vector<double>& ways = ways_[at];
    for (double& each : ways) each = tempered(each);
    const uint32_t lo = levels_[at].lo;
    std::vector<double>& running = running_[at];
    guide_[at] = {ways.data(), nullptr, lo, 0};
    if (sources > 1 || (sources == 1 && edges_.empty())) continue;  // a sketch has no lists
    const std::vector<uint32_t>& ids = sources == 0 ? roots_[at] : edges_[first].ids;
    charge_.add(ids.size() * sizeof(double));
    running.resize(ids.size());
    auto sum_up = [&](uint64_t begin, uint64_t end) {
      double total = 0;
      for (uint64_t i = begin; i < end; ++i) running[i] = total += ways[ids[i] - lo];
    };
    if (sources == 0) sum_up(0, ids.size());
    else
      for (size_t v = 0; v + 1 < edges_[first].offsets.size(); ++v) sum_up(edges_[first].offsets[v], edges_[first].offsets[v + 1]);
    guide_[at].running = running.data();
  }
  return guide_;
}

void CandidateGraph::make_plan() {
  plan_ = from_;
  plan_levels_.assign(from_.levels, from_.levels + from_.n_levels);
  lists_.assign(from_.lists, from_.lists + from_.n_lists);
  roots_.resize(levels_.size());
  size_t next = 0;
  for (int j = 0; j < from_.n_levels; ++j) {
    PlanLevel& level = plan_levels_[static_cast<size_t>(j)];
    if (level.kind != kVertexLevel) continue;
    const Level& own = levels_[static_cast<size_t>(j)];
    level.ranges = {static_cast<int32_t>(plan_ranges_.size()), own.lo < own.hi ? 1 : 0};
    if (own.lo < own.hi) plan_ranges_.push_back({own.lo, own.hi});
    level.bitset = nullptr;
    level.candidates = nullptr;
    level.n_candidates = 0;
    if (level.sources.count == 0) {
      std::vector<uint32_t>& roots = roots_[static_cast<size_t>(j)];
      for (size_t k = 0; k < own.in.size(); ++k)
        if (own.in[k]) roots.push_back(own.lo + static_cast<uint32_t>(k));
      level.candidates = roots.data();
      level.n_candidates = static_cast<int64_t>(roots.size());
    }
    const int32_t first = static_cast<int32_t>(plan_sources_.size());
    for (int k = 0; k < level.sources.count; ++k) {
      const Edges& edges = edges_[next++];
      const Level& start = levels_[static_cast<size_t>(edges.from)];
      PlanSource source = from_.sources[level.sources.first + k];
      source.flags = (source.flags & kLoops) | kWithin;
      source.lists = {static_cast<int32_t>(list_ids_.size()), 1};
      list_ids_.push_back(static_cast<int32_t>(lists_.size()));
      plan_sources_.push_back(source);
      Pcsr list{};
      list.form = kDense;
      list.lo = start.lo;
      list.hi = start.hi;
      list.offsets = edges.offsets.data();
      list.neighbours = edges.ids.data();
      list.n_entries = edges.ids.size();
      lists_.push_back(list);
    }
    level.sources.first = first;
  }
  plan_.n_lists = static_cast<int32_t>(lists_.size());
  plan_.levels = plan_levels_.data();
  plan_.sources = plan_sources_.data();
  plan_.ranges = plan_ranges_.data();
  plan_.list_ids = list_ids_.data();
  plan_.lists = lists_.data();
}

}  // namespace qe

// Builds the candidate graph of a plan without seeds, which must live as long. *graph is null where it would have more than
// `most_entries` entries.
QE_API int32_t qe_candidates_build(const qe::MatchPlan* plan, const qe::LevelSignatures* signatures, qe::Control* control,
                                   int64_t most_entries, qe::CandidateGraph** graph) {
  *graph = nullptr;
  if (plan->seeds != 0) return qe::kInvalid;
  try {
    auto made = std::make_unique<qe::CandidateGraph>(*plan, *signatures, control);
    if (made->build(most_entries)) *graph = made.release();
    return qe::kOk;
  } catch (const qe::Halt& halt) {
    return halt.status;
  } catch (const std::bad_alloc&) {
    return qe::kOutOfMemory;
  }
}

// The same without lists: a sketch. *graph is null where making one would read more than `most_entries` entries.
QE_API int32_t qe_candidates_sketch(const qe::MatchPlan* plan, qe::Control* control, int64_t most_entries,
                                     qe::CandidateGraph** graph) {
  *graph = nullptr;
  if (plan->seeds != 0) return qe::kInvalid;
  try {
    auto made = std::make_unique<qe::CandidateGraph>(*plan, qe::LevelSignatures{}, control);
    if (made->sketch(most_entries)) *graph = made.release();
    return qe::kOk;
  } catch (const qe::Halt& halt) {
    return halt.status;
  } catch (const std::bad_alloc&) {
    return qe::kOutOfMemory;
  }
}

// Its plan, which lives as long as the graph; what it is like: entries, whether it is empty, and the bound.
QE_API const qe::MatchPlan* qe_candidates_plan(const qe::CandidateGraph* graph, int64_t* entries, int32_t* empty,
                                               double* bound) {
  *entries = graph->entries();
  *empty = graph->empty();
  *bound = graph->tree_bound();
  return &graph->plan();
}

// Its guide, a record a level, which lives as long as the graph. Not for two threads at a time.
QE_API int32_t qe_candidates_guide(qe::CandidateGraph* graph, const qe::GuideLevel** guide) {
  try {
    *guide = graph->guide().data();
    return qe::kOk;
  } catch (const qe::Halt& halt) {
    return halt.status;
  } catch (const std::bad_alloc&) {
    return qe::kOutOfMemory;
  }
}

QE_API void qe_candidates_close(qe::CandidateGraph* graph) { delete graph; }
