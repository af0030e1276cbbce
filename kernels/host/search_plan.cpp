// Derives operands and the counting tree from a MatchPlan (see search_plan.h).
#include "search_plan.h"

#include <algorithm>

namespace qe {
namespace {

Levels mask_of(const MatchPlan& plan, PlanSpan span) {
  Levels mask = 0;
  for (int k = 0; k < span.count; ++k) mask |= bit_of(plan.level_ids[span.first + k]);
  return mask;
}

Levels mentioned(const MatchPlan& plan, const PlanLevel& level, int self) {
  Levels mask = mask_of(plan, level.different) | mask_of(plan, level.less) | mask_of(plan, level.greater);
  for (int k = 0; k < level.sources.count; ++k) mask |= bit_of(plan.sources[level.sources.first + k].level);
  for (int k = 0; k < level.pairs.count; ++k) {
    const PlanPair& pair = plan.pairs[level.pairs.first + k];
    mask |= bit_of(pair.a) | bit_of(pair.b) | bit_of(pair.c) | bit_of(pair.d);
  }
  for (int k = 0; k < level.conditions.count; ++k) {
    const PlanCondition& condition = plan.conditions[level.conditions.first + k];
    mask |= bit_of(condition.left) | bit_of(condition.right);
  }
  if (level.kind == kEdgeLevel) mask |= bit_of(level.start) | bit_of(level.end);
  return mask & ~bit_of(self);
}

bool overlap(const MatchPlan& plan, const PlanLevel& one, const PlanLevel& other) {
  for (int i = 0; i < one.ranges.count; ++i)
    for (int j = 0; j < other.ranges.count; ++j) {
      const PlanRange& a = plan.ranges[one.ranges.first + i];
      const PlanRange& b = plan.ranges[other.ranges.first + j];
      if (a.begin < b.end && b.begin < a.end) return true;
    }
  return false;
}

bool within(const MatchPlan& plan, const PlanLevel& inner, const PlanLevel& outer) {
  for (int i = 0; i < inner.ranges.count; ++i) {
    const PlanRange& a = plan.ranges[inner.ranges.first + i];
    bool found = false;
    for (int j = 0; j < outer.ranges.count && !found; ++j) {
      const PlanRange& b = plan.ranges[outer.ranges.first + j];
      found = b.begin <= a.begin && a.end <= b.end;
    }
    if (!found) return false;
  }
  return true;
}

bool same_lists(const MatchPlan& plan, PlanSpan one, PlanSpan other) {
  return one.count == other.count &&
         std::equal(plan.list_ids + one.first, plan.list_ids + one.first + one.count, plan.list_ids + other.first);
}

class Deriver {
 public:
  explicit Deriver(const MatchPlan& plan) : plan_(plan) {}

  SearchPlan run() {
    out_.plan = &plan_;
    out_.n_levels = plan_.n_levels;
    out_.seeds = plan_.seeds;
    out_.walked = std::max(plan_.walked, plan_.seeds);
    out_.levels.resize(static_cast<size_t>(plan_.n_levels));
    order_ids();
    for (int j = 0; j < plan_.n_levels; ++j) describe(j);
    Levels counted = 0;
    for (int j = out_.walked; j < plan_.n_levels; ++j) counted |= bit_of(j);
    Levels above = 0;
    for (int j = 0; j < out_.walked; ++j) {
      set_operands(j, above);
      above |= bit_of(j);
    }
    out_.counted = split(counted, above);
    return std::move(out_);
  }

 private:
  const PlanLevel& level(int j) const { return plan_.levels[j]; }
  LevelInfo& info(int j) { return out_.levels[static_cast<size_t>(j)]; }

  const PlanSource& source(int j, int k) const { return plan_.sources[level(j).sources.first + k]; }

  // Closes the order that less and greater give over the levels: less_[x] holds y where id(x) < id(y) is known.
  void order_ids() {
    for (int j = 0; j < plan_.n_levels; ++j) {
      less_[j] |= mask_of(plan_, level(j).less);
      const Levels greater = mask_of(plan_, level(j).greater);
      for (int x = 0; x < j; ++x)
        if (greater & bit_of(x)) less_[x] |= bit_of(j);
    }
    for (int via = 0; via < plan_.n_levels; ++via)
      for (int x = 0; x < plan_.n_levels; ++x)
        if (less_[x] & bit_of(via)) less_[x] |= less_[via];
  }

  void describe(int j) {
    const PlanLevel& from = level(j);
    LevelInfo& to = info(j);
    to.plan = &from;
    to.vertex = from.kind == kVertexLevel;
    to.mentions = mentioned(plan_, from, j);
    for (int k = 0; k < from.different.count; ++k) {
      const int other = plan_.level_ids[from.different.first + k];
      const bool ordered = to.vertex && ((less_[j] & bit_of(other)) || (less_[other] & bit_of(j)));
      if (to.vertex && (ordered || !overlap(plan_, from, level(other)))) {
        to.mentions &= ~bit_of(other);
        continue;
      }
      to.different.push_back(other);
    }
    to.mentions = mentions_of(j, to);
    if (!to.vertex) return;
    // Only constraints among levels bound by now hold when this one is searched.
    for (int x = 0; x < j; ++x) {
      if (less_[j] & bit_of(x)) to.less |= bit_of(x);
      if (less_[x] & bit_of(j)) to.greater |= bit_of(x);
    }
    if (from.ranges.count == 0) {
      out_.impossible = true;
      return;
    }
    to.lo = plan_.ranges[from.ranges.first].begin;
    to.hi = plan_.ranges[from.ranges.first + from.ranges.count - 1].end;
    to.fixed = from.sources.count == 0;
    to.bitset = from.bitset;
    to.filtered = from.bitset != nullptr || from.pairs.count > 0 || from.conditions.count > 0;
  }

  // Like mentioned(), but with only those of `different` that are left.
  Levels mentions_of(int j, const LevelInfo& to) const {
    PlanLevel bare = level(j);
    bare.different.count = 0;
    Levels mask = mentioned(plan_, bare, j);
    for (int other : to.different) mask |= bit_of(other);
    return mask;
  }

  bool has_source(int j, const PlanSource& wanted) const {
    for (int k = 0; k < level(j).sources.count; ++k)
      if (source(j, k).level == wanted.level && same_lists(plan_, source(j, k).lists, wanted.lists)) return true;
    return false;
  }

  // May level j start from what level i kept? Its sources, ranges and bounds must include those of i.
  bool can_start_from(int i, int j) {
    if (!info(i).vertex || i < plan_.seeds || level(i).sources.count == 0) return false;
    for (int k = 0; k < level(i).sources.count; ++k)
      if (!has_source(j, source(i, k))) return false;
    if (level(i).candidates != nullptr && level(i).candidates != level(j).candidates) return false;
    if ((info(i).less & ~info(j).less) != 0 || (info(i).greater & ~info(j).greater) != 0) return false;
    return within(plan_, level(j), level(i));
  }

  // The levels of `bounds` that no other of them implies.
  Levels reduced(Levels bounds, bool less) const {
    Levels kept = bounds;
    for (int x = 0; x < plan_.n_levels; ++x)
      for (int y = 0; y < plan_.n_levels; ++y)
        if ((bounds & bit_of(x)) && (bounds & bit_of(y)) && x != y) {
          const bool implied = less ? (less_[y] & bit_of(x)) != 0 : (less_[x] & bit_of(y)) != 0;
          if (implied) kept &= ~bit_of(x);
        }
    return kept;
  }

  int view_of(const PlanSource& from, int j) {
    View view{from.level, from.lists, from.lists.count == 1 && !from.repeats, info(j).lo, info(j).hi,
              (info(j).less & bit_of(from.level)) != 0, (info(j).greater & bit_of(from.level)) != 0};
    for (size_t k = 0; k < out_.views.size(); ++k) {
      const View& old = out_.views[k];
      if (old.level == view.level && same_lists(plan_, old.lists, view.lists) && old.lo == view.lo &&
          old.hi == view.hi && old.below == view.below && old.above == view.above)
        return static_cast<int>(k);
    }
    out_.views.push_back(view);
    return static_cast<int>(out_.views.size()) - 1;
  }

  // Levels whose bound holds once the one of `level` does.
  Levels implied(int by, bool less) const {
    Levels mask = bit_of(by);
    for (int x = 0; x < plan_.n_levels; ++x)
      if (less ? (less_[by] & bit_of(x)) : (less_[x] & bit_of(by))) mask |= bit_of(x);
    return mask;
  }

  void set_operands(int j, Levels above) {
    LevelInfo& to = info(j);
    if (!to.vertex || out_.impossible) return;
    const PlanLevel& from = level(j);
    const Levels less = reduced(to.less, true), greater = reduced(to.greater, false);
    int base = -1;
    for (int i = 0; i < j; ++i)
      if ((above & bit_of(i)) && can_start_from(i, j) &&
          (base < 0 || level(i).sources.count >= level(base).sources.count))
        base = i;
    if (base >= 0) {
      Operand operand{From::kKept, base, less & ~info(base).less, greater & ~info(base).greater,
                      info(base).lo != to.lo || info(base).hi != to.hi};
      if (operand.less & bit_of(base)) {
        operand.from = From::kKeptBefore;
        operand.less &= ~implied(base, true);
      } else if (operand.greater & bit_of(base)) {
        operand.from = From::kKeptAfter;
        operand.greater &= ~implied(base, false);
      }
      to.operands.push_back(operand);
    }
    for (int k = 0; k < from.sources.count; ++k) {
      if (base >= 0 && has_source(base, source(j, k))) continue;
      const int index = view_of(source(j, k), j);
      const View& view = out_.views[static_cast<size_t>(index)];
      Operand operand{From::kView, index, less, greater, false};
      if (view.below) operand.less &= ~implied(view.level, true);
      if (view.above) operand.greater &= ~implied(view.level, false);
      to.operands.push_back(operand);
    }
    const bool given = from.candidates != nullptr && (base < 0 || level(base).candidates == nullptr);
    if (to.fixed || given) to.operands.push_back({From::kConstant, j, less, greater, false});
    to.check_ranges = from.ranges.count > 1 && !to.fixed && !given &&
                      (base < 0 || !same_ranges(level(base), from));
    if (to.fixed) {  // the constant set is filtered by the bitset once
      to.bitset = nullptr;
      to.filtered = from.pairs.count > 0 || from.conditions.count > 0;
    }
  }

  bool same_ranges(const PlanLevel& one, const PlanLevel& other) const {
    return within(plan_, one, other) && within(plan_, other, one);
  }

  // Splits a set of counted levels into components, and each component into a node.
  std::vector<Node> split(Levels set, Levels above) {
    std::vector<Node> nodes;
    while (set != 0) {
      Levels part = set & (~set + 1), before = 0;
      while (part != before) {
        before = part;
        for (int j = 0; j < plan_.n_levels; ++j)
          if ((set & bit_of(j)) && ((info(j).mentions & part) || mentioned_by(part, j))) part |= bit_of(j);
      }
      nodes.push_back(node(part, above));
      set &= ~part;
    }
    return nodes;
  }

  bool mentioned_by(Levels part, int j) {
    for (int x = 0; x < plan_.n_levels; ++x)
      if ((part & bit_of(x)) && (info(x).mentions & bit_of(j))) return true;
    return false;
  }

  Node node(Levels part, Levels above) {
    std::vector<int> members;
    for (int j = 0; j < plan_.n_levels; ++j)
      if (part & bit_of(j)) members.push_back(j);
    if (members.size() == 1) {
      set_operands(members[0], above);
      return {Shape::kLeaf, members, false, {}};
    }
    if (only_different(members, part)) {
      const bool same = alike(members, part);
      if (same || members.size() <= 3) {
        for (int j : members) set_operands(j, above);
        return {Shape::kGroup, members, same, {}};
      }
    }
    const int first = members[0];
    set_operands(first, above);
    const Levels rest = part & ~bit_of(first);
    return {Shape::kBranch, {first}, false, split(rest, above | bit_of(first))};
  }

  // Are these vertex levels that mention each other by nothing but "different", each pair of them?
  bool only_different(const std::vector<int>& members, Levels part) {
    for (int j : members) {
      if (!info(j).vertex) return false;
      Levels different = 0;
      for (int other : info(j).different) different |= bit_of(other);
      const Levels earlier = part & (bit_of(j) - 1);
      if ((different & part) != earlier) return false;
      PlanLevel bare = level(j);
      bare.different.count = 0;
      if (mentioned(plan_, bare, j) & part) return false;
    }
    return true;
  }

  // Do all members have the same candidates?
  bool alike(const std::vector<int>& members, Levels part) {
    const int first = members[0];
    const PlanLevel& one = level(first);
    for (int j : members) {
      const PlanLevel& other = level(j);
      if (one.sources.count != other.sources.count || one.bitset != other.bitset ||
          one.candidates != other.candidates || !same_ranges(one, other) || other.pairs.count || other.conditions.count ||
          info(first).less != info(j).less || info(first).greater != info(j).greater)
        return false;
      for (int k = 0; k < one.sources.count; ++k)
        if (!has_source(j, source(first, k))) return false;
      Levels outside = 0, first_outside = 0;
      for (int x : info(j).different) outside |= bit_of(x) & ~part;
      for (int x : info(first).different) first_outside |= bit_of(x) & ~part;
      if (outside != first_outside) return false;
    }
    return true;
  }

  const MatchPlan& plan_;
  SearchPlan out_{};
  Levels less_[kMaxLevels] = {};
};

}  // namespace

SearchPlan derive(const MatchPlan& plan) { return Deriver(plan).run(); }

}  // namespace qe
