// The tree of the levels that are only counted, and which way each of its components is counted.
#include "search_derive.h"

#include <algorithm>
#include <utility>

namespace qe {

// Splits a set of counted levels into components, and each component into a node.
std::vector<Node> Deriver::split(Levels set, Levels above) {
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

bool Deriver::mentioned_by(Levels part, int j) {
  for (int x = 0; x < plan_.n_levels; ++x)
    if ((part & bit_of(x)) && (info(x).mentions & bit_of(j))) return true;
  return false;
}

Node Deriver::node(Levels part, Levels above) {
  Node made = shaped(part, above);
  remember(made, part, above);
  return made;
}

Node Deriver::shaped(Levels part, Levels above) {
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
  if (only_ordered(made.levels, part)) branch.chosen = made.levels.size();
  branch.ends = info(first).vertex && std::all_of(branch.children.begin(), branch.children.end(),
                                                  [&](const Node& child) { return is_end(first, child); });
  return branch;
}

// Finds the context of a component. It pays to remember the count where part of the levels above is not in it, and
// counting takes more than a look-up.
void Deriver::remember(Node& node, Levels part, Levels above) {
  Levels context = 0;
  bool cheap = node.shape != Shape::kBranch || node.chosen > 0;
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
  if (cheap) return;
  if (node.context.size() > 2) recall(node, part, above);
  else if (context != above) node.memo = out_.n_memos++;
}

// Finds what the count of a component depends on where it mentions many levels, most of which it must only avoid.
void Deriver::recall(Node& node, Levels part, Levels above) {
  constexpr int kMostNear = 6;
  Levels near = 0, others = 0;
  for (Levels rest = part; rest; rest &= rest - 1) {
    const int j = __builtin_ctzll(rest);
    if (!info(j).vertex && !info(j).different.empty()) return;
    PlanLevel bare = level(j);
    bare.different.count = 0;
    near |= mentioned(bare, j) & ~part;
    others |= info(j).mentions & ~part;
  }
  others &= ~near;
  for (Levels rest = near | others; rest; rest &= rest - 1)
    if (!info(__builtin_ctzll(rest)).vertex) return;
  if (near == above || __builtin_popcountll(near) > kMostNear) return;
  Levels avoiding = 0, from = 0;  // levels that must keep off others, and those by which they are reached
  for (int j = plan_.n_levels - 1; j >= 0; --j) {
    if (!(part & bit_of(j)) || !info(j).vertex) continue;
    node.alike = node.alike && (others & ~info(j).apart) == 0;
    for (int x : info(j).different)
      if (others & bit_of(x)) avoiding |= bit_of(j);
    if (!((avoiding | from) & bit_of(j))) continue;
    Levels sources = 0;
    for (int k = 0; k < level(j).sources.count; ++k) sources |= bit_of(source(j, k).level);
    if ((sources & near) == 0) from |= sources;
  }
  for (int j = 0; j < plan_.n_levels; ++j) {
    if ((avoiding | from) & bit_of(j)) node.within.push_back(j);
    if (avoiding & bit_of(j)) node.avoiding.push_back(j);
  }
  for (int j = 0; j < plan_.n_levels; ++j) {
    if (near & bit_of(j)) node.near.push_back(j);
    if (others & bit_of(j)) node.others.push_back(j);
  }
  node.recall = out_.n_recalls++;
}

// Do all candidates of the levels `rest`, which are below the branch, lie among those that the branch kept, cut down
// by lists and bounds of these levels alone?
bool Deriver::is_local(const Node& branch, Levels rest) {
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

Wedge Deriver::wedge_of(const Node& branch, Levels part) {
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
  if (same_lists(one.lists, other.lists) && inside(b, c, part) && inside(c, b, part))
    return ordered ? Wedge::kOrdered : different ? Wedge::kDifferent : Wedge::kEqual;
  return ordered || different ? Wedge::kNone : Wedge::kApart;
}

// Are the operands of leaf `to` what level `from` kept, and a list of its vertex?
bool Deriver::is_pair(int from, int to) {
  const LevelInfo& leaf = info(to);
  return leaf.vertex && !leaf.local_less && !leaf.local_greater && leaf.operands.size() == 2 &&
         leaf.operands[0].from == From::kKept && leaf.operands[0].index == from &&
         leaf.operands[1].from == From::kView && out_.views[static_cast<size_t>(leaf.operands[1].index)].level == from;
}

// Is the child's count one of the common members of a set that stays while the branch's vertex changes, and of one list
// of that vertex? Bounds by that vertex hold within the list.
bool Deriver::is_end(int from, const Node& child) {
  if ((child.shape == Shape::kBranch && child.chosen == 0) || child.memo >= 0) return false;
  for (size_t k = 1; k < child.levels.size(); ++k)
    if (!child.nested || !child.repeats[k]) return false;
  for (int j : child.levels) {
    const LevelInfo& each = info(j);
    if (!each.vertex || each.filtered || each.check_ranges) return false;
    if (std::count(each.different.begin(), each.different.end(), from) > 0) return false;
  }
  const LevelInfo& leaf = info(child.levels[0]);
  if (leaf.operands.size() < 2 || leaf.operands.back().from != From::kView) return false;
  if (leaf.operands[leaf.operands.size() - 2].newest >= from) return false;
  const View& view = out_.views[static_cast<size_t>(leaf.operands.back().index)];
  return view.level == from && view.unique;
}

// Do the levels below differ from each other only where a formula counts them?
bool Deriver::countable(const Node& branch) {
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
bool Deriver::only_different(const std::vector<int>& members, Levels part) {
  for (int j : members) {
    if (!info(j).vertex) return false;
    Levels different = 0;
    for (int other : info(j).different) different |= bit_of(other);
    const Levels earlier = part & (bit_of(j) - 1);
    if ((different & part) != earlier) return false;
    PlanLevel bare = level(j);
    bare.different.count = 0;
    if (mentioned(bare, j) & part) return false;
  }
  return true;
}

// Are these vertex levels with the same candidates but for the order of their ids, which is known for each pair?
bool Deriver::only_ordered(const std::vector<int>& members, Levels part) {
  for (int j : members) {
    if (!info(j).vertex) return false;
    PlanLevel bare = level(j);
    bare.less.count = bare.greater.count = bare.different.count = 0;
    if (mentioned(bare, j) & part) return false;
    for (int x : members) {
      if (x == j) continue;
      if (!(less_[j] & bit_of(x)) && !(less_[x] & bit_of(j))) return false;
      if (!inside(j, x, part)) return false;
    }
  }
  return true;
}

// Orders a group's levels so that each one's candidates contain those of the one before, if that can be done.
bool Deriver::nest(Node& group, Levels part) {
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
bool Deriver::inside(int i, int k, Levels part) {
  const PlanLevel &in = level(i), &out = level(k);
  if (out.pairs.count > 0 || out.conditions.count > 0 || !within(in, out)) return false;
  if (out.bitset != nullptr && out.bitset != in.bitset) return false;
  if (out.candidates != nullptr && out.candidates != in.candidates) return false;
  if ((info(k).less & ~info(i).less & ~part) != 0 || (info(k).greater & ~info(i).greater & ~part) != 0) return false;
  for (int x : info(k).different)
    if (!(part & bit_of(x)) && !(info(i).apart & bit_of(x))) return false;
  for (int s = 0; s < out.sources.count; ++s)
    if (!has_source(i, source(k, s))) return false;
  return true;
}

}  // namespace qe
