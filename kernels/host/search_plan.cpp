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
    if (to.vertex) to.apart = known_apart(j);
    for (int k = 0; k < from.different.count; ++k) {
      const int other = plan_.level_ids[from.different.first + k];
      if (!(to.apart & bit_of(other))) to.different.push_back(other);
      if (to.vertex) to.apart |= bit_of(other);
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

  // Levels whose vertex differs from j's by the order of ids, by their ranges or by a relationship that is no loop.
  Levels known_apart(int j) const {
    Levels apart = less_[j];
    for (int x = 0; x < plan_.n_levels; ++x) {
      if (level(x).kind != kVertexLevel || x == j) continue;
      if ((less_[x] & bit_of(j)) || !overlap(plan_, level(j), level(x))) apart |= bit_of(x);
    }
    for (int k = 0; k < level(j).sources.count; ++k)
      if (!(source(j, k).flags & kLoops)) apart |= bit_of(source(j, k).level);
    return apart;
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
    View view{from.level, from.lists, from.lists.count == 1 && !(from.flags & kRepeats), info(j).lo, info(j).hi,
              (info(j).less & bit_of(from.level)) != 0, (info(j).greater & bit_of(from.level)) != 0,
              (from.flags & kWithin) != 0, -1};
    for (size_t k = 0; k < out_.views.size(); ++k) {
      const View& old = out_.views[k];
      if (!same_lists(plan_, old.lists, view.lists) || old.lo != view.lo || old.hi != view.hi ||
          old.below != view.below || old.above != view.above)
        continue;
      if (old.level == view.level) return static_cast<int>(k);
      view.kind = old.kind;
    }
    if (view.kind < 0) view.kind = out_.n_kinds++;
    out_.views.push_back(view);
    std::vector<int>& feeds = info(from.level).feeds;
    for (int k = 0; k < from.lists.count; ++k) {
      const int list = plan_.list_ids[from.lists.first + k];
      if (std::find(feeds.begin(), feeds.end(), list) == feeds.end()) feeds.push_back(list);
    }
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
    const int base = base_of(j, above);
    if (base >= 0) out_.bases |= bit_of(base);
    if (base >= 0)
      to.operands.push_back({From::kKept, base, newest(above & (bit_of(base) - 1)), less & ~info(base).less,
                             greater & ~info(base).greater, info(base).lo != to.lo || info(base).hi != to.hi});
    for (int k = 0; k < from.sources.count; ++k) {
      if (base >= 0 && has_source(base, source(j, k))) continue;
      const int index = view_of(source(j, k), j);
      const View& view = out_.views[static_cast<size_t>(index)];
      Operand operand{From::kView, index, view.level, less, greater, false};
      if (view.below) operand.less &= ~implied(view.level, true);
      if (view.above) operand.greater &= ~implied(view.level, false);
      to.operands.push_back(operand);
    }
    const bool given = from.candidates != nullptr && (base < 0 || level(base).candidates == nullptr);
    if (to.fixed || given) to.operands.push_back({From::kConstant, j, -1, less, greater, false});
    to.local_less = to.local_greater = ~Levels{0};
    for (const Operand& operand : to.operands) {
      to.local_less &= operand.less;
      to.local_greater &= operand.greater;
    }
    place_bounds(to);
    for (int x : to.different)
      if (is_candidate(x, j)) to.certain |= bit_of(x);
    to.check_ranges = from.ranges.count > 1 && !to.fixed && !given && (base < 0 || !same_ranges(level(base), from));
    if (to.fixed) {  // the constant set is filtered by the bitset once
      to.bitset = nullptr;
      to.filtered = from.pairs.count > 0 || from.conditions.count > 0;
    }
  }

  // Is the vertex of level x, but for the difference, always a candidate of level j?
  bool is_candidate(int x, int j) {
    const PlanLevel& of = level(j);
    if (!info(x).vertex || of.bitset != nullptr || of.candidates != nullptr || !within(plan_, level(x), of)) return false;
    if ((info(j).less & ~info(x).less) != 0 || (info(j).greater & ~info(x).greater) != 0) return false;
    for (int k = 0; k < of.sources.count; ++k) {
      const PlanSource& from = source(j, k);
      const PlanSource back{x, from.flags, from.lists};
      const bool returns = (from.flags & kSymmetric) && has_source(from.level, back);
      if (!returns && !has_source(x, from)) return false;
    }
    return true;
  }

  int base_of(int j, Levels above) {
    int base = -1;
    for (int i = 0; i < j; ++i)
      if ((above & bit_of(i)) && can_start_from(i, j) &&
          (base < 0 || level(i).sources.count >= level(base).sources.count))
        base = i;
    return base;
  }

  static int newest(Levels levels) { return levels == 0 ? -1 : 63 - __builtin_clzll(levels); }

  // Orders the operands, and leaves to each but the last the bounds by levels that it depends on anyway.
  void place_bounds(LevelInfo& to) {
    std::stable_sort(to.operands.begin(), to.operands.end(),
                     [](const Operand& a, const Operand& b) { return a.newest < b.newest; });
    Operand& last = to.operands.back();
    if (last.from == From::kKept) cut_by_position(last.index, last.less, last.greater, last.from);
    for (size_t k = 0; k + 1 < to.operands.size(); ++k) {
      Operand& operand = to.operands[k];
      const Levels known = operand.newest < 0 ? 0 : bit_of(operand.newest) | (bit_of(operand.newest) - 1);
      to.rest_less |= operand.less & ~known;
      to.rest_greater |= operand.greater & ~known;
      operand.less &= known;
      operand.greater &= known;
    }
    if (to.operands.size() == 2 && to.operands[0].from == From::kKept)
      cut_by_position(to.operands[0].index, to.rest_less, to.rest_greater, to.cut);
  }

  // A bound by the kept set's own level is a position in the set.
  void cut_by_position(int base, Levels& less, Levels& greater, From& cut) const {
    if (less & bit_of(base)) {
      cut = From::kKeptBefore;
      less &= ~implied(base, true);
    } else if (greater & bit_of(base)) {
      cut = From::kKeptAfter;
      greater &= ~implied(base, false);
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
    Node made = shaped(part, above);
    remember(made, part, above);
    return made;
  }

  Node shaped(Levels part, Levels above) {
    Node made;
    for (int j = 0; j < plan_.n_levels; ++j)
      if (part & bit_of(j)) made.levels.push_back(j);
    if (made.levels.size() == 1) {
      set_operands(made.levels[0], above);
      return made;
    }
    if (only_different(made.levels, part)) {
      made.shape = Shape::kGroup;
      made.nested = nest(made, part);
      if (made.nested || made.levels.size() <= 3) {
        for (int j : made.levels) set_operands(j, above);
        return made;
      }
    }
    const int first = *std::min_element(made.levels.begin(), made.levels.end());
    const Levels rest = part & ~bit_of(first);
    set_operands(first, above);
    Node branch;
    branch.shape = Shape::kBranch;
    branch.levels = {first};
    branch.children = split(rest, above | bit_of(first));
    branch.wedge = wedge_of(branch, part);
    branch.pairs = branch.children.size() == 1 && branch.children[0].shape == Shape::kLeaf &&
                   is_pair(first, branch.children[0].levels[0]);
    branch.local = made.levels.size() > 2 && is_local(branch, rest);
    return branch;
  }

  // Finds the context of a component. It pays to remember the count where part of the levels above is not in it, and
  // counting takes more than a look-up.
  void remember(Node& node, Levels part, Levels above) {
    Levels context = 0;
    bool cheap = node.shape != Shape::kBranch;
    for (int j = 0; j < plan_.n_levels; ++j) {
      if (!(part & bit_of(j))) continue;
      const LevelInfo& each = info(j);
      context |= each.mentions & ~part;
      cheap = cheap && each.vertex && !each.filtered && !each.check_ranges && level(j).sources.count <= 1;
    }
    for (Levels rest = context; rest; rest &= rest - 1) {
      node.context.push_back(__builtin_ctzll(rest));
      if (!info(node.context.back()).vertex) return;
    }
    if (!cheap && node.context.size() <= 2 && context != above) node.memo = out_.n_memos++;
  }

  // Do all candidates of the levels `rest`, which are below the branch, lie among those that the branch kept, cut down
  // by lists and bounds of these levels alone?
  bool is_local(const Node& branch, Levels rest) {
    const int first = branch.levels[0];
    const LevelInfo& root = info(first);
    if (!root.vertex || root.fixed || root.filtered || !root.different.empty() || !countable(branch)) return false;
    const Levels outside = ~(rest | bit_of(first));
    for (int j = first + 1; j < plan_.n_levels; ++j) {
      if (!(rest & bit_of(j))) continue;
      const LevelInfo& each = info(j);
      if (!each.vertex || each.filtered || level(j).candidates != nullptr || each.check_ranges) return false;
      if (!can_start_from(first, j) || !same_ranges(level(first), level(j))) return false;
      if ((each.less & outside) != root.less || (each.greater & outside) != root.greater) return false;
      for (int k = 0; k < level(j).sources.count; ++k)
        if ((outside & bit_of(source(j, k).level)) && !has_source(first, source(j, k))) return false;
    }
    return true;
  }

  Wedge wedge_of(const Node& branch, Levels part) {
    if (branch.children.size() != 1 || branch.children[0].shape != Shape::kBranch) return Wedge::kNone;
    const Node& second = branch.children[0];
    if (second.children.size() != 1 || second.children[0].shape != Shape::kLeaf) return Wedge::kNone;
    const int b = branch.levels[0], c = second.levels[0], d = second.children[0].levels[0];
    const LevelInfo& leaf = info(d);
    if (!info(b).vertex || !info(c).vertex || !leaf.vertex || leaf.filtered || leaf.check_ranges) return Wedge::kNone;
    if (level(d).sources.count != 2 || level(d).candidates != nullptr || info(b).fixed || info(c).fixed)
      return Wedge::kNone;
    const PlanSource &one = source(d, 0), &other = source(d, 1);
    const bool between = (one.level == b && other.level == c) || (one.level == c && other.level == b);
    if (!between || ((leaf.less | leaf.greater) & part) != 0) return Wedge::kNone;
    for (int x : leaf.different)
      if (part & bit_of(x)) return Wedge::kNone;
    for (int k = 0; k < level(c).sources.count; ++k)
      if (source(c, k).level == b) return Wedge::kNone;
    if (level(c).pairs.count > 0 || level(c).conditions.count > 0) return Wedge::kNone;
    const bool ordered = ((info(c).less | info(c).greater) & bit_of(b)) != 0;
    const bool different = std::count(info(c).different.begin(), info(c).different.end(), b) > 0;
    if (same_lists(plan_, one.lists, other.lists) && inside(b, c, part) && inside(c, b, part))
      return ordered ? Wedge::kOrdered : different ? Wedge::kDifferent : Wedge::kEqual;
    return ordered || different ? Wedge::kNone : Wedge::kApart;
  }

  // Are the operands of leaf `to` what level `from` kept, and a list of its vertex?
  bool is_pair(int from, int to) {
    const LevelInfo& leaf = info(to);
    return leaf.vertex && !leaf.local_less && !leaf.local_greater && leaf.operands.size() == 2 &&
           leaf.operands[0].from == From::kKept && leaf.operands[0].index == from &&
           leaf.operands[1].from == From::kView && out_.views[static_cast<size_t>(leaf.operands[1].index)].level == from;
  }

  // Do the levels below differ from each other only where a formula counts them?
  bool countable(const Node& branch) {
    for (const Node& child : branch.children) {
      if (child.shape == Shape::kBranch && !(info(child.levels[0]).different.empty() && countable(child))) return false;
      if (child.shape == Shape::kLeaf && !info(child.levels[0]).different.empty()) return false;
      if (child.shape != Shape::kGroup) continue;
      if (!child.nested) return false;
      for (int j : child.levels)
        for (int x : info(j).different)
          if (std::find(child.levels.begin(), child.levels.end(), x) == child.levels.end()) return false;
    }
    return true;
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

  // Orders a group's levels so that each one's candidates contain those of the one before, if that can be done.
  bool nest(Node& group, Levels part) {
    std::vector<int>& levels = group.levels;
    for (size_t k = 0; k + 1 < levels.size(); ++k)
      for (size_t m = k + 1; m < levels.size(); ++m)
        if (!inside(levels[k], levels[m], part)) std::swap(levels[k], levels[m]);
    for (size_t k = 0; k < levels.size(); ++k) {
      if (k > 0 && !inside(levels[k - 1], levels[k], part)) return false;
      group.repeats.push_back(k > 0 && inside(levels[k], levels[k - 1], part));
    }
    return true;
  }

  // Is each candidate of level i one of level k, but for the differences within `part`?
  bool inside(int i, int k, Levels part) {
    const PlanLevel &in = level(i), &out = level(k);
    if (out.pairs.count > 0 || out.conditions.count > 0 || !within(plan_, in, out)) return false;
    if (out.bitset != nullptr && out.bitset != in.bitset) return false;
    if (out.candidates != nullptr && out.candidates != in.candidates) return false;
    if ((info(k).less & ~info(i).less & ~part) != 0 || (info(k).greater & ~info(i).greater & ~part) != 0) return false;
    for (int x : info(k).different)
      if (!(part & bit_of(x)) && !(info(i).apart & bit_of(x))) return false;
    for (int s = 0; s < out.sources.count; ++s)
      if (!has_source(i, source(k, s))) return false;
    return true;
  }

  const MatchPlan& plan_;
  SearchPlan out_{};
  Levels less_[kMaxLevels] = {};
};

}  // namespace

SearchPlan derive(const MatchPlan& plan) { return Deriver(plan).run(); }

}  // namespace qe
