// The tree of the levels that are only counted, and which way each of its components is counted.
#include "plan/search_derive.h"

#include <algorithm>
#include <utility>

namespace qe {

// Splits a set of counted levels into components, and each component into a node.
template <class Levels>
std::vector<Node> Deriver<Levels>::split(Levels set, const Levels& above) {
  std::vector<Node> nodes;
  while (set) {
    Levels part, more = Levels::of(set.first());
    while (more) {
      part |= more;
      Levels met;
      for_each(more, [&](int j) { met |= near_[static_cast<size_t>(j)]; });
      more = (met & set) - part;
    }
    nodes.push_back(node(part, above));
    set -= part;
  }
  return nodes;
}

template <class Levels>
Node Deriver<Levels>::node(const Levels& part, const Levels& above) {
  Node made = shaped(part, above);
  remember(made, part, above);
  return made;
}

template <class Levels>
Node Deriver<Levels>::shaped(const Levels& part, const Levels& above) {
  Node made;
  for_each(part, [&](int j) { made.levels.push_back(j); });
  if (made.levels.size() == 1) {
    set_operands(made.levels[0], above);
    return made;
  }
  if (only_different(made.levels, part)) {
    made.shape = NodeKind::kGroup;
    made.nested = nest(made, part);
    if (made.nested || (overlaps_ && made.levels.size() <= 3)) {
      for (int j : made.levels) {
        facts(j).grouped = part;
        set_operands(j, above);
      }
      return made;
    }
  }
  const int first = *std::min_element(made.levels.begin(), made.levels.end());
  const Levels rest = part - Levels::of(first);
  set_operands(first, above);
  Node branch;
  branch.shape = NodeKind::kBranch;
  branch.levels = {first};
  branch.children = split(rest, above | Levels::of(first));
  branch.wedge = wedge_of(branch, part);
  branch.pairs = branch.children.size() == 1 && branch.children[0].shape == NodeKind::kLeaf &&
                 is_pair(first, branch.children[0].levels[0]);
  branch.tables = branch.children.size() <= kMostColumns &&
                  std::any_of(branch.children.begin(), branch.children.end(), [](const Node& child) { return child.table >= 0; });
  branch.through = through(branch);
  if (branch.through >= 0) {
    Node& child = branch.children[static_cast<size_t>(branch.through)];
    child.end = child.shape == NodeKind::kLeaf && is_end(first, child);
    branch.tables = branch.tables || child.once;
  }
  branch.local = made.levels.size() > 2 && is_local(branch, rest);
  branch.spokes = is_spokes(branch);
  if (only_ordered(made.levels, part)) branch.chosen = made.levels.size();
  branch.ends = info(first).vertex && std::all_of(branch.children.begin(), branch.children.end(),
                                                  [&](const Node& child) { return child.memo < 0 && is_end(first, child); });
  return branch;
}

// Finds the context of a component. It pays to remember the count where part of the levels above is not in it, and
// counting takes more than a look-up.
template <class Levels>
void Deriver<Levels>::remember(Node& node, const Levels& part, const Levels& above) {
  Levels context;
  bool cheap = node.shape != NodeKind::kBranch || node.chosen > 0;
  for_each(part, [&](int j) {
    const LevelInfo& each = info(j);
    context |= facts(j).mentions - part;
    cheap = cheap && each.vertex && !each.filtered && !each.check_ranges && level(j).sources.count <= 1;
  });
  bool vertices = true;
  for_each(context, [&](int j) {
    if (!vertices) return;
    node.context.push_back(j);
    vertices = vertices && info(j).vertex;
  });
  node.by_vertices = vertices;
  if (!vertices) return;
  if (!cheap && node.context.size() > 2) recall(node, part, above);
  else if (!cheap && context != above) node.memo = out_.n_memos++;
  if (!is_prefixed(node, above)) return;
  const size_t size = node.context.size();
  node.once = size > 1 && newest_vertex(above - Levels::of(node.context[size - 1])) == node.context[size - 2];
  if (context != above && (size == 1 || !cheap)) node.table = out_.n_tables++;
}

// Are the levels of the context, but for the last, all that are bound above that one? Then what is known by the last holds
// until one of the others is bound anew, and a table forgets nothing.
template <class Levels>
bool Deriver<Levels>::is_prefixed(const Node& node, const Levels& above) const {
  const std::vector<int>& context = node.context;
  if (context.size() < 2) return !context.empty();
  if (node.recall >= 0 && !node.others.empty()) return false;
  return (above & Levels::below(context[context.size() - 2] + 1)).size() + 1 == static_cast<int>(context.size());
}

// The child of a branch that its vertices can be pushed on to, or -1. What hangs on that child doesn't depend on the
// branch's vertex, so that what meets at a vertex of the child is one; and nothing starts from the candidates of either.
template <class Levels>
int Deriver<Levels>::through(const Node& branch) const {
  if (branch.children.size() > kMostColumns || info(branch.levels[0]).base) return -1;
  for (size_t k = 0; k < branch.children.size(); ++k) {
    const Node& child = branch.children[k];
    const bool plain = child.wedge == Wedge::kNone && child.chosen == 0 && !child.local && !child.ends;
    const bool fits = child.shape == NodeKind::kLeaf ||
                      (child.shape == NodeKind::kBranch && plain && child.children.size() <= kMostColumns);
    const bool known = child.table >= 0 || (child.once && child.shape == NodeKind::kBranch);
    if (!known || child.context.size() < 2 || !fits || info(child.levels[0]).base) continue;
    const bool apart = std::none_of(child.children.begin(), child.children.end(), [&](const Node& below) {
      return !below.by_vertices || std::find(below.context.begin(), below.context.end(), branch.levels[0]) != below.context.end();
    });
    if (apart && info(child.levels[0]).vertex) return static_cast<int>(k);
  }
  return -1;
}

// Finds what the count of a component depends on where it mentions many levels, most of which it must only avoid.
template <class Levels>
void Deriver<Levels>::recall(Node& node, const Levels& part, const Levels& above) {
  constexpr int kMostNear = 6;
  constexpr int kMostOthers = 64;  // which of them count is a word of bits, but where they are alike
  Levels near, others;
  bool plain = true;  // no relationships that must differ
  for_each(part, [&](int j) {
    plain = plain && (info(j).vertex || facts(j).different.empty());
    near |= facts(j).needed;
    others |= facts(j).mentions;
  });
  near -= part;
  others = others - part - near;
  for_each(near | others, [&](int j) { plain = plain && info(j).vertex; });
  if (!plain || near == above || near.size() > kMostNear) return;
  Levels avoiding, from;  // levels that must keep off others, and those by which they are reached
  bool alike = true;
  for (int j = plan_.n_levels - 1; j >= 0; --j) {
    if (!part.has(j) || !info(j).vertex) continue;
    alike = alike && facts(j).apart.contains(others);
    if (facts(j).different.meets(others)) avoiding.add(j);
    if (!avoiding.has(j) && !from.has(j)) continue;
    Levels sources;
    for (int k = 0; k < level(j).sources.count; ++k) sources.add(source(j, k).level);
    if (!sources.meets(near)) from |= sources;
  }
  if (!alike && others.size() > kMostOthers) return;
  node.alike = alike;
  for_each(avoiding | from, [&](int j) { node.within.push_back(j); });
  for_each(avoiding, [&](int j) { node.avoiding.push_back(j); });
  for_each(near, [&](int j) { node.near.push_back(j); });
  for_each(others, [&](int j) { node.others.push_back(j); });
  node.recall = out_.n_recalls++;
}

// Do all candidates of the levels `rest`, which are below the branch, lie among those that the branch kept, cut down
// by lists and bounds of these levels alone?
template <class Levels>
bool Deriver<Levels>::is_local(const Node& branch, const Levels& rest) {
  const int first = branch.levels[0];
  const LevelInfo& root = info(first);
  if (!root.vertex || root.fixed || root.filtered || !facts(first).different.empty() || !countable(branch)) return false;
  const Levels inside = rest | Levels::of(first);
  for (int j = first + 1; j < plan_.n_levels; ++j) {
    if (!rest.has(j)) continue;
    const LevelInfo& each = info(j);
    if (!each.vertex || each.filtered || level(j).candidates != nullptr || each.check_ranges) return false;
    if (!can_start_from(first, j) || !same_ranges(level(first), level(j))) return false;
    if (facts(j).less - inside != facts(first).less || facts(j).greater - inside != facts(first).greater) return false;
    for (int k = 0; k < level(j).sources.count; ++k)
      if (!inside.has(source(j, k).level) && !has_source(first, source(j, k))) return false;
  }
  return true;
}

template <class Levels>
Wedge Deriver<Levels>::wedge_of(const Node& branch, const Levels& part) {
  if (branch.children.size() != 1 || branch.children[0].shape != NodeKind::kBranch) return Wedge::kNone;
  const Node& second = branch.children[0];
  if (second.children.size() != 1 || second.children[0].shape != NodeKind::kLeaf) return Wedge::kNone;
  const int b = branch.levels[0], c = second.levels[0], d = second.children[0].levels[0];
  const LevelInfo& leaf = info(d);
  if (!info(b).vertex || !info(c).vertex || !leaf.vertex || leaf.filtered || leaf.check_ranges) return Wedge::kNone;
  if (level(d).sources.count != 2 || level(d).candidates != nullptr || info(b).fixed || info(c).fixed)
    return Wedge::kNone;
  const PlanSource &one = source(d, 0), &other = source(d, 1);
  const bool between = (one.level == b && other.level == c) || (one.level == c && other.level == b);
  if (!between || (facts(d).less | facts(d).greater | facts(d).different).meets(part)) return Wedge::kNone;
  for (int k = 0; k < level(c).sources.count; ++k)
    if (source(c, k).level == b) return Wedge::kNone;
  if (level(c).pairs.count > 0 || level(c).conditions.count > 0) return Wedge::kNone;
  const bool ordered = facts(c).less.has(b) || facts(c).greater.has(b);
  const bool different = facts(c).different.has(b);
  if (same_lists(one.lists, other.lists) && inside(b, c, part) && inside(c, b, part))
    return ordered ? Wedge::kOrdered : different ? Wedge::kDifferent : Wedge::kEqual;
  return ordered || different ? Wedge::kNone : Wedge::kApart;
}

// Are the operands of leaf `to` what level `from` kept, and a list of its vertex?
template <class Levels>
bool Deriver<Levels>::is_pair(int from, int to) {
  const LevelInfo& leaf = info(to);
  return leaf.vertex && facts(to).local_less.empty() && facts(to).local_greater.empty() && leaf.operands.size() == 2 &&
         leaf.operands[0].from == From::kCandidates && leaf.operands[0].index == from &&
         leaf.operands[1].from == From::kView && out_.views[static_cast<size_t>(leaf.operands[1].index)].level == from;
}

// Is each candidate an end of the relationships that the only child binds, whichever these are, and no more asked of it?
template <class Levels>
bool Deriver<Levels>::is_spokes(const Node& branch) {
  const int d = branch.levels[0];
  if (branch.children.size() != 1 || branch.children[0].shape != NodeKind::kLeaf || !info(d).vertex) return false;
  const int e = branch.children[0].levels[0];
  const PlanLevel& end = level(d);
  if (info(e).vertex || !is_plain_edge(e) || info(d).filtered || end.candidates != nullptr) return false;
  if (end.sources.count != 1 || end.ranges.count != 1 || !(source(d, 0).flags & kWithin)) return false;
  if (facts(d).less || facts(d).greater || facts(d).different) return false;
  if (level(e).start != source(d, 0).level && level(e).end != source(d, 0).level) return false;
  std::vector<int> read, wanted;
  for (int k = 0; k < source(d, 0).lists.count; ++k) read.push_back(plan_.list_ids[source(d, 0).lists.first + k]);
  for (int k = 0; k < level(e).types.count; ++k) {
    const PlanEdgeType& type = plan_.types[level(e).types.first + k];
    const bool from_start = level(e).start != d;
    if (type.way == kEitherWay || (type.way == kForward) == from_start) wanted.push_back(type.list);
    if (type.way == kEitherWay || (type.way == kForward) != from_start) wanted.push_back(type.in_list);
  }
  std::sort(read.begin(), read.end());
  std::sort(wanted.begin(), wanted.end());
  return read == wanted;
}

// Is the child's count one of the common members of a set that stays while the branch's vertex changes, and of one list
// of that vertex? Bounds by that vertex hold within the list.
template <class Levels>
bool Deriver<Levels>::is_end(int from, const Node& child) {
  if (child.shape == NodeKind::kBranch && child.chosen == 0) return false;
  for (size_t k = 1; k < child.levels.size(); ++k)
    if (!child.nested || !child.repeats[k]) return false;
  for (int j : child.levels) {
    const LevelInfo& each = info(j);
    if (!each.vertex || each.filtered || each.check_ranges) return false;
    if (facts(j).different.has(from)) return false;
  }
  const LevelInfo& leaf = info(child.levels[0]);
  if (leaf.operands.size() < 2 || leaf.operands.back().from != From::kView) return false;
  if (leaf.operands[leaf.operands.size() - 2].newest >= from) return false;
  const View& view = out_.views[static_cast<size_t>(leaf.operands.back().index)];
  return view.level == from && view.unique;
}

// Do the levels below differ from each other only where a formula counts them?
template <class Levels>
bool Deriver<Levels>::countable(const Node& branch) {
  for (const Node& child : branch.children) {
    for (int j : child.levels)
      if (!facts(j).grouped.contains(facts(j).different)) return false;
    if (child.shape == NodeKind::kBranch && !countable(child)) return false;
    if (child.shape == NodeKind::kGroup && !child.nested) return false;
  }
  return true;
}

// Are these vertex levels that mention each other by nothing but "different", each pair of them?
template <class Levels>
bool Deriver<Levels>::only_different(const std::vector<int>& members, const Levels& part) {
  for (int j : members) {
    if (!info(j).vertex) return false;
    if ((facts(j).different & part) != (part & Levels::below(j))) return false;
    if (facts(j).needed.meets(part)) return false;
  }
  return true;
}

// Are these vertex levels with the same candidates but for the order of their ids, which is known for each pair?
template <class Levels>
bool Deriver<Levels>::only_ordered(const std::vector<int>& members, const Levels& part) {
  for (int j : members) {
    if (!info(j).vertex) return false;
    PlanLevel bare = level(j);
    bare.less.count = bare.greater.count = bare.different.count = 0;
    if (mentioned(bare, j).meets(part)) return false;
    for (int x : members) {
      if (x == j) continue;
      if (!less(j).has(x) && !less(x).has(j)) return false;
      if (!inside(j, x, part)) return false;
    }
  }
  return true;
}

// Orders a group's levels so that each one's candidates contain those of the one before, if that can be done.
template <class Levels>
bool Deriver<Levels>::nest(Node& group, const Levels& part) {
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
template <class Levels>
bool Deriver<Levels>::inside(int i, int k, const Levels& part) {
  const PlanLevel &in = level(i), &out = level(k);
  if (out.pairs.count > 0 || out.conditions.count > 0 || !within(in, out)) return false;
  if (out.bitset != nullptr && out.bitset != in.bitset) return false;
  if (out.candidates != nullptr && out.candidates != in.candidates) return false;
  if (facts(k).less - facts(i).less - part || facts(k).greater - facts(i).greater - part) return false;
  if (facts(k).different - part - facts(i).apart) return false;
  for (int s = 0; s < out.sources.count; ++s)
    if (!has_source(i, source(k, s))) return false;
  return true;
}

template class Deriver<Bits<1>>;
template class Deriver<Bits<kMaxLevels / 64>>;

}  // namespace qe
