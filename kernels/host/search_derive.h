// The derivation of a SearchPlan (search_plan.h), step by step. Levels are numbered as in the MatchPlan.
#pragma once
#include <cstddef>
#include <vector>

#include "search_plan.h"

namespace qe {

class Deriver {
 public:
  explicit Deriver(const MatchPlan& plan) : plan_(plan) {}

  SearchPlan run();

 private:
  const PlanLevel& level(int j) const { return plan_.levels[j]; }
  const LevelInfo& info(int j) const { return out_.levels[static_cast<size_t>(j)]; }
  LevelInfo& info(int j) { return out_.levels[static_cast<size_t>(j)]; }
  const PlanSource& source(int j, int k) const { return plan_.sources[level(j).sources.first + k]; }

  // What each level says by itself (search_plan.cpp)
  void order_ids();
  void describe(int j);
  Levels known_apart(int j) const;
  Levels mentions_of(int j, const LevelInfo& to) const;
  bool has_source(int j, const PlanSource& wanted) const;
  bool same_ranges(const PlanLevel& one, const PlanLevel& other) const;
  bool same_lists(PlanSpan one, PlanSpan other) const;
  bool within(const PlanLevel& inner, const PlanLevel& outer) const;
  bool overlap(const PlanLevel& one, const PlanLevel& other) const;
  Levels mask_of(PlanSpan span) const;
  Levels mentioned(const PlanLevel& level, int self) const;

  // Operands of a level's intersection, given the levels above it (search_operands.cpp)
  bool can_start_from(int i, int j);
  Levels vertices(Levels levels) const;
  Levels reduced(Levels bounds, bool less) const;
  int view_of(const PlanSource& from, int j);
  Levels implied(int by, bool less) const;
  void set_operands(int j, Levels above);
  bool is_candidate(int x, int j);
  int base_of(int j, Levels above);
  void place_bounds(LevelInfo& to);
  void cut_by_position(int base, Levels& less, Levels& greater, From& cut) const;

  // The tree of the counted levels (search_tree.cpp)
  std::vector<Node> split(Levels set, Levels above);
  bool mentioned_by(Levels part, int j);
  Node node(Levels part, Levels above);
  Node shaped(Levels part, Levels above);
  void remember(Node& node, Levels part, Levels above);
  void recall(Node& node, Levels part, Levels above);
  bool is_local(const Node& branch, Levels rest);
  Wedge wedge_of(const Node& branch, Levels part);
  bool is_pair(int from, int to);
  bool is_end(int from, const Node& child);
  bool countable(const Node& branch);
  bool only_different(const std::vector<int>& members, Levels part);
  bool only_ordered(const std::vector<int>& members, Levels part);
  bool nest(Node& group, Levels part);
  bool inside(int i, int k, Levels part);

  const MatchPlan& plan_;
  SearchPlan out_{};
  Levels less_[kMaxLevels] = {};  // less_[x] holds y where id(x) < id(y) is known
};

}  // namespace qe
