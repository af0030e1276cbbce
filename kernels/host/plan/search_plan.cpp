// What the levels of a plan say by themselves: what they mention, how their ids and vertices are ordered and apart.
#include "plan/search_derive.h"

#include <algorithm>
#include <utility>

#include "base/deep_stack.h"

namespace qe {

template <class Levels>
Levels Deriver<Levels>::mask_of(PlanSpan span) const {
  Levels mask;
  for (int k = 0; k < span.count; ++k) mask.add(plan_.level_ids[span.first + k]);
  return mask;
}

template <class Levels>
Levels Deriver<Levels>::mentioned(const PlanLevel& level, int self) const {
  Levels mask = mask_of(level.different) | mask_of(level.less) | mask_of(level.greater);
  for (int k = 0; k < level.sources.count; ++k) mask.add(plan_.sources[level.sources.first + k].level);
  for (int k = 0; k < level.pairs.count; ++k) {
    const PlanPair& pair = plan_.pairs[level.pairs.first + k];
    for (int other : {pair.a, pair.b, pair.c, pair.d}) mask.add(other);
  }
  for (int k = 0; k < level.conditions.count; ++k) {
    const PlanCondition& condition = plan_.conditions[level.conditions.first + k];
    for (int other : {condition.left, condition.right}) mask.add(other);
  }
  if (level.kind == kEdgeLevel)
    for (int end : {level.start, level.end}) mask.add(end);
  return mask - Levels::of(self);
}

template <class Levels>
bool Deriver<Levels>::overlap(const PlanLevel& one, const PlanLevel& other) const {
  for (int i = 0; i < one.ranges.count; ++i)
    for (int j = 0; j < other.ranges.count; ++j) {
      const PlanRange& a = plan_.ranges[one.ranges.first + i];
      const PlanRange& b = plan_.ranges[other.ranges.first + j];
      if (a.begin < b.end && b.begin < a.end) return true;
    }
  return false;
}

template <class Levels>
bool Deriver<Levels>::within(const PlanLevel& inner, const PlanLevel& outer) const {
  for (int i = 0; i < inner.ranges.count; ++i) {
    const PlanRange& a = plan_.ranges[inner.ranges.first + i];
    bool found = false;
    for (int j = 0; j < outer.ranges.count && !found; ++j) {
      const PlanRange& b = plan_.ranges[outer.ranges.first + j];
      found = b.begin <= a.begin && a.end <= b.end;
    }
    if (!found) return false;
  }
  return true;
}

template <class Levels>
bool Deriver<Levels>::same_lists(PlanSpan one, PlanSpan other) const {
  return one.count == other.count &&
         std::equal(plan_.list_ids + one.first, plan_.list_ids + one.first + one.count, plan_.list_ids + other.first);
}

template <class Levels>
SearchPlan Deriver<Levels>::run() {
  out_.plan = &plan_;
  out_.n_levels = plan_.n_levels;
  out_.seeds = plan_.seeds;
  out_.enumerated = std::max(plan_.enumerated, plan_.seeds);
  out_.levels.resize(static_cast<size_t>(plan_.n_levels));
  order_ids();
  for (int j = 0; j < plan_.n_levels; ++j) describe(j);
  meet();
  Levels counted, above;
  for (int j = out_.enumerated; j < plan_.n_levels; ++j) counted.add(j);
  for (int j = 0; j < out_.enumerated; ++j) {
    set_operands(j, above);
    above.add(j);
  }
  out_.counted = split(counted, above);
  for (int j = 0; j < plan_.n_levels; ++j) {
    settle(j);
    if (!info(j).vertex) settle_alike(j);
  }
  return std::move(out_);
}

// Closes the order that less and greater give over the levels: less_[x] holds y where id(x) < id(y) is known.
template <class Levels>
void Deriver<Levels>::order_ids() {
  for (int j = 0; j < plan_.n_levels; ++j) {
    less_[static_cast<size_t>(j)] |= mask_of(level(j).less);
    for_each(mask_of(level(j).greater), [&](int x) {
      if (x < j) less_[static_cast<size_t>(x)].add(j);
    });
  }
  for (int via = 0; via < plan_.n_levels; ++via)
    for (Levels& each : less_)
      if (each.has(via)) each |= less(via);
}

template <class Levels>
void Deriver<Levels>::describe(int j) {
  const PlanLevel& from = level(j);
  LevelInfo& to = info(j);
  Facts& known = facts(j);
  to.plan = &from;
  to.vertex = from.kind == kVertexLevel;
  if (to.vertex) known.apart = known_apart(j);
  known.different = mask_of(from.different) - known.apart;
  if (to.vertex) known.apart |= known.different;
  PlanLevel bare = from;
  bare.different.count = 0;
  known.needed = mentioned(bare, j);
  known.mentions = known.needed | known.different;
  if (!to.vertex) return;
  // Only constraints among levels bound by now hold when this one is searched.
  known.less = less(j) & Levels::below(j);
  for (int x = 0; x < j; ++x)
    if (less(x).has(j)) known.greater.add(x);
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

template <class Levels>
void Deriver<Levels>::meet() {
  for (int j = 0; j < plan_.n_levels; ++j) {
    near_[static_cast<size_t>(j)] |= facts(j).mentions;
    for_each(facts(j).mentions, [&](int x) { near_[static_cast<size_t>(x)].add(j); });
  }
}

namespace {

template <class Levels>
std::vector<int> listed(const Levels& levels) {
  std::vector<int> list;
  for_each(levels, [&](int level) { list.push_back(level); });
  return list;
}

}  // namespace

// Lists what a search reads of the level's facts.
template <class Levels>
void Deriver<Levels>::settle(int j) {
  LevelInfo& to = info(j);
  const Facts& known = facts(j);
  for (size_t k = 0; k < to.operands.size(); ++k) {
    to.operands[k].less = listed(known.operands[k].less);
    to.operands[k].greater = listed(known.operands[k].greater);
  }
  to.rest_less = listed(known.rest_less);
  to.rest_greater = listed(known.rest_greater);
  to.local_less = listed(known.local_less);
  to.local_greater = listed(known.local_greater);
  to.less = listed(known.less);
  to.greater = listed(known.greater);
  to.beside_seed = to.operands.size() == 2 && to.operands[0].from == From::kView && to.operands[0].newest < plan_.seeds &&
                   !to.operands[0].bounded() && to.operands[1].from == From::kView;
  for_each(known.different - known.grouped, [&](int other) { to.avoided.push_back({other, known.certain.has(other)}); });
}

// Does an edge level admit all relationships between its ends?
template <class Levels>
bool Deriver<Levels>::is_plain_edge(int j) const {
  bool plain = !info(j).vertex && level(j).conditions.count == 0 && level(j).pairs.count == 0;
  for (int k = 0; k < level(j).types.count; ++k) plain = plain && plan_.types[level(j).types.first + k].bitset == nullptr;
  return plain;
}

// Finds whether what is below an edge level may take any of its relationships for another (LevelInfo::alike): it may if
// neither it nor the later ones that it goes together with, by what must differ, tell one from another.
template <class Levels>
void Deriver<Levels>::settle_alike(int j) {
  const auto lists = [&](int of) {  // those that hold relationships of several types
    std::vector<int> found;
    for (int k = 0; k < level(of).types.count; ++k) {
      const int list = plan_.types[level(of).types.first + k].list;
      if (plan_.lists[list].edge_ids != nullptr) found.push_back(list);
    }
    return found;
  };
  Levels together = Levels::of(j), before;
  while (before != together) {
    before = together;
    for (int later = j + 1; later < plan_.n_levels; ++later) {
      if (info(later).vertex) continue;
      if (facts(later).different.meets(together)) together.add(later);
      if (together.has(later)) together |= facts(later).different - Levels::below(j);
    }
  }
  Levels avoided;
  bool alike = true;
  const std::vector<int> mixed = lists(j);
  for_each(together, [&](int each) {
    alike = alike && is_plain_edge(each) && (mixed.empty() || mixed == lists(each));
    avoided |= facts(each).different;
  });
  for (int later = j + 1; later < plan_.n_levels; ++later) alike = alike && !facts(later).needed.meets(together);
  info(j).alike = alike;
  info(j).beside = listed((avoided & Levels::below(j)) - facts(j).different);
}

// Levels whose vertex differs from j's by the order of ids, by their ranges or by a relationship that is no loop.
template <class Levels>
Levels Deriver<Levels>::known_apart(int j) const {
  Levels apart = less(j);
  for (int x = 0; x < plan_.n_levels; ++x) {
    if (level(x).kind != kVertexLevel || x == j) continue;
    if (less(x).has(j) || !overlap(level(j), level(x))) apart.add(x);
  }
  for (int k = 0; k < level(j).sources.count; ++k)
    if (!(source(j, k).flags & kLoops)) apart.add(source(j, k).level);
  return apart;
}

template <class Levels>
bool Deriver<Levels>::has_source(int j, const PlanSource& wanted) const {
  for (int k = 0; k < level(j).sources.count; ++k)
    if (source(j, k).level == wanted.level && same_lists(source(j, k).lists, wanted.lists)) return true;
  return false;
}

template <class Levels>
bool Deriver<Levels>::same_ranges(const PlanLevel& one, const PlanLevel& other) const {
  return within(one, other) && within(other, one);
}

SearchPlan derive(const MatchPlan& plan) {
  if (plan.n_levels <= 64) return Deriver<Bits<1>>(plan).run();
  SearchPlan found{};
  run_deep([&] { found = Deriver<Bits<kMaxLevels / 64>>(plan).run(); });
  return found;
}

template class Deriver<Bits<1>>;
template class Deriver<Bits<kMaxLevels / 64>>;

}  // namespace qe
