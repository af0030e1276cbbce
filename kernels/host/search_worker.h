// One worker of a search: the depth-first walk over the levels, with all of its scratch memory.
//
// Problem: enumerate or count the embeddings of a SearchPlan below given roots. Preconditions: neighbour lists
// ascending; the plan's arrays outlive the worker. Memory: a buffer as long as the shortest operand for each level, one
// for each view that is a union. Bytes moved: the operands of each intersection, once. Deterministic for one unit of work.
// Counts are 64-bit and checked; sums over units are 128-bit.
// Source: generic join (Ngo et al. 2018) vertex by vertex, with the input-set cache of GraphMatch §4.2 as views.
#pragma once
#include <cstdint>
#include <vector>

#include "search_memory.h"
#include "search_plan.h"
#include "set_ops.h"

namespace qe {

class SearchRun;
struct Chunk;

struct Set {
  const uint32_t* data;
  size_t n;
};

class Worker {
 public:
  explicit Worker(SearchRun& run);

  // Unseeded: binds level 0 to root and walks on, or counts component `component` below it.
  void walk_root(uint32_t root);
  uint64_t count_root(const Node& branch, uint32_t root);
  uint64_t count(const Node& node);

  // Seeded: binds the seeds of one input row and walks on; returns the count where nothing is walked.
  uint64_t search_row(int64_t row);

  // Takes only every parts-th candidate of the split level from now on, beginning with `part`.
  void take_part(int level, int64_t part, int64_t parts);

  // Stops (throws Halt) when the run must. `trial_end`: the time (ns) at which this worker gives up, 0 for never.
  void poll();
  int64_t trial_end = 0;
  Chunk* chunk = nullptr;  // rows emitted so far, not yet pushed

 private:
  struct Frame {
    Set kept{nullptr, 0};  // candidates before bitset, different, pairs and conditions
    size_t at = 0;         // index in kept of the vertex that the level is bound to
    Buffer<uint32_t> buffers[2];
  };
  struct ViewState {
    Set set{nullptr, 0};
    uint64_t stamp = 0;
    Buffer<uint32_t> buffers[2];
  };
  struct Stride {
    size_t first, step;
  };

  const LevelInfo& info(int level) const { return plan_.levels[static_cast<size_t>(level)]; }
  Frame& frame(int level) { return frames_[static_cast<size_t>(level)]; }
  uint32_t vertex(int level) const { return static_cast<uint32_t>(value_[level]); }

  void bind(int level, uint32_t vertex) {
    value_[level] = vertex;
    stamp_[level] = ++clock_;
  }
  void spend(size_t cost) {
    budget_ -= static_cast<int64_t>(cost);
    if (budget_ < 0) poll();
  }
  Stride stride(int level) const {
    return level == split_level_ ? Stride{static_cast<size_t>(part_), static_cast<size_t>(parts_)} : Stride{0, 1};
  }

  // Sets (search_sets.cpp)
  Set view(int index);
  Set unite_lists(const View& view, ViewState& state, uint32_t v, uint32_t lo, uint32_t hi);
  Set operand(const Operand& operand, const LevelInfo& level);
  int operands(int level, Set* sets);
  Set intersect_all(Set* sets, int n, Frame& to);
  Set within_ranges(const PlanLevel& level, Set set, Frame& to);
  Set candidates(int level);
  Set admitted(int level, Levels besides);
  size_t count_candidates(int level, Levels besides);
  size_t forbidden(int level, Levels besides, const Set* sets, int n);

  // Filters (search_filters.cpp)
  bool admits(int level, uint32_t vertex);
  bool passes(int level, uint32_t vertex, Levels besides);
  bool passes_rest(int level);
  bool holds(const PlanCondition& condition) const;
  bool has_edge(const PlanSource& source, uint32_t to) const;

  // Relationships (search_edges.cpp)
  template <typename Visit>
  void each_edge(int level, Visit visit);
  uint64_t count_edges(int level);

  // Walking (search_walk.cpp)
  void walk(int level);
  void walk_vertices(int level);
  void walk_below(int level);
  void emit_prefix();
  void emit(uint64_t count);
  void emit_all(int level, Set set);

  // Counting (search_count.cpp)
  uint64_t count_children(const std::vector<Node>& children);
  uint64_t count_group(const Node& node);
  bool any(const Node& node);
  bool any_children(const std::vector<Node>& children);

  SearchRun& run_;
  const SearchPlan& plan_;
  const MatchPlan& match_;
  const SetOps& ops_;
  Charge charge_;
  std::vector<Frame> frames_;
  std::vector<ViewState> views_;
  Buffer<uint32_t> scratch_;
  int64_t value_[kMaxLevels] = {};
  uint64_t stamp_[kMaxLevels] = {};
  uint64_t clock_ = 0;
  int64_t budget_ = 0;
  int64_t row_ = 0;
  int split_level_ = -1;
  int64_t part_ = 0, parts_ = 1;
};

}  // namespace qe
