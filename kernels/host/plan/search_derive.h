// The derivation of a SearchPlan (search_plan.h), step by step. Levels are numbered as in the MatchPlan.
#pragma once
#include <cstddef>
#include <vector>

#include "base/bits.h"
#include "plan/search_plan.h"

namespace qe {

// What is known of a level while the plan is derived, as sets of levels.
template <class Levels>
struct LevelFacts {
  struct Bounds {  // those that an operand leaves, in the order of LevelInfo::operands
    Levels less, greater;
  };
  std::vector<Bounds> operands;
  Levels rest_less, rest_greater, local_less, local_greater;
  Levels needed;         // those that it reads, or that it is bound by
  Levels mentions;       // these, and `different`
  Levels less, greater;  // all earlier levels whose id is known to be greater (less)
  Levels different;      // those that the level's value must differ from, and that nothing else keeps apart
  Levels grouped;        // those of `different` in its own group, which are kept apart by its formula
  Levels certain;        // those of `different` whose vertex is among the candidates for sure
  Levels apart;          // all levels whose vertex is known to be another one
};

// `Levels`: Bits that hold all levels of the plan.
template <class Levels>
class Deriver {
 public:
  using Facts = LevelFacts<Levels>;

  // overlaps: are up to three vertices of different candidates that must only differ counted by what these share?
  explicit Deriver(const MatchPlan& plan, bool overlaps = true)
      : plan_(plan),
        overlaps_(overlaps),
        facts_(static_cast<size_t>(plan.n_levels)),
        less_(facts_.size()),
        near_(facts_.size()) {}

  SearchPlan run();

  // By level, once it ran.
  const std::vector<Facts>& facts() const { return facts_; }

 private:
  using Bounds = typename Facts::Bounds;

  const PlanLevel& level(int j) const { return plan_.levels[j]; }
  const LevelInfo& info(int j) const { return out_.levels[static_cast<size_t>(j)]; }
  LevelInfo& info(int j) { return out_.levels[static_cast<size_t>(j)]; }
  const Facts& facts(int j) const { return facts_[static_cast<size_t>(j)]; }
  Facts& facts(int j) { return facts_[static_cast<size_t>(j)]; }
  const Levels& less(int j) const { return less_[static_cast<size_t>(j)]; }
  const PlanSource& source(int j, int k) const { return plan_.sources[level(j).sources.first + k]; }

  // What each level says by itself (search_plan.cpp)
  void order_ids();
  void describe(int j);
  void meet();
  void settle(int j);
  bool is_plain_edge(int j) const;
  void settle_alike(int j);
  Levels known_apart(int j) const;
  bool has_source(int j, const PlanSource& wanted) const;
  bool same_ranges(const PlanLevel& one, const PlanLevel& other) const;
  bool same_lists(PlanSpan one, PlanSpan other) const;
  bool within(const PlanLevel& inner, const PlanLevel& outer) const;
  bool overlap(const PlanLevel& one, const PlanLevel& other) const;
  Levels mask_of(PlanSpan span) const;
  Levels mentioned(const PlanLevel& level, int self) const;

  // Operands of a level's intersection, given the levels above it (search_operands.cpp)
  bool can_start_from(int i, int j);
  int newest_vertex(const Levels& levels) const;
  Levels reduced(const Levels& bounds, bool less) const;
  int view_of(const PlanSource& from, int j);
  Levels implied(int by, bool less) const;
  void set_operands(int j, const Levels& above);
  bool is_candidate(int x, int j);
  int base_of(int j, const Levels& above);
  void sort_operands(int j);
  void place_bounds(int j);
  void cut_by_position(int base, Levels& less, Levels& greater, From& cut) const;

  // The tree of the counted levels (search_tree.cpp)
  std::vector<Node> split(Levels set, const Levels& above);
  Node node(const Levels& part, const Levels& above);
  Node shaped(const Levels& part, const Levels& above);
  void remember(Node& node, const Levels& part, const Levels& above);
  bool is_prefixed(const Node& node, const Levels& above) const;
  int through(const Node& branch) const;
  void recall(Node& node, const Levels& part, const Levels& above);
  bool is_local(const Node& branch, const Levels& rest);
  Wedge wedge_of(const Node& branch, const Levels& part);
  bool is_pair(int from, int to);
  bool is_spokes(const Node& branch);
  bool is_end(int from, const Node& child);
  bool countable(const Node& branch);
  bool only_different(const std::vector<int>& members, const Levels& part);
  bool only_ordered(const std::vector<int>& members, const Levels& part);
  bool nest(Node& group, const Levels& part);
  bool inside(int i, int k, const Levels& part);

  const MatchPlan& plan_;
  const bool overlaps_;
  SearchPlan out_{};
  std::vector<Facts> facts_;
  std::vector<Levels> less_;  // less_[x] holds y where id(x) < id(y) is known
  std::vector<Levels> near_;  // near_[x] holds y where either mentions the other
};

extern template class Deriver<Bits<1>>;
extern template class Deriver<Bits<kMaxLevels / 64>>;

}  // namespace qe
