// What the levels of a plan say by themselves: what they mention, how their ids and vertices are ordered and apart.
#include "search_derive.h"

#include <algorithm>
#include <utility>

namespace qe {

Levels Deriver::mask_of(PlanSpan span) const {
  Levels mask = 0;
  for (int k = 0; k < span.count; ++k) mask |= bit_of(plan_.level_ids[span.first + k]);
  return mask;
}

Levels Deriver::mentioned(const PlanLevel& level, int self) const {
  Levels mask = mask_of(level.different) | mask_of(level.less) | mask_of(level.greater);
  for (int k = 0; k < level.sources.count; ++k) mask |= bit_of(plan_.sources[level.sources.first + k].level);
  for (int k = 0; k < level.pairs.count; ++k) {
    const PlanPair& pair = plan_.pairs[level.pairs.first + k];
    mask |= bit_of(pair.a) | bit_of(pair.b) | bit_of(pair.c) | bit_of(pair.d);
  }
  for (int k = 0; k < level.conditions.count; ++k) {
    const PlanCondition& condition = plan_.conditions[level.conditions.first + k];
    mask |= bit_of(condition.left) | bit_of(condition.right);
  }
  if (level.kind == kEdgeLevel) mask |= bit_of(level.start) | bit_of(level.end);
  return mask & ~bit_of(self);
}

bool Deriver::overlap(const PlanLevel& one, const PlanLevel& other) const {
  for (int i = 0; i < one.ranges.count; ++i)
    for (int j = 0; j < other.ranges.count; ++j) {
      const PlanRange& a = plan_.ranges[one.ranges.first + i];
      const PlanRange& b = plan_.ranges[other.ranges.first + j];
      if (a.begin < b.end && b.begin < a.end) return true;
    }
  return false;
}

bool Deriver::within(const PlanLevel& inner, const PlanLevel& outer) const {
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

bool Deriver::same_lists(PlanSpan one, PlanSpan other) const {
  return one.count == other.count &&
         std::equal(plan_.list_ids + one.first, plan_.list_ids + one.first + one.count, plan_.list_ids + other.first);
}

SearchPlan Deriver::run() {
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

// Closes the order that less and greater give over the levels: less_[x] holds y where id(x) < id(y) is known.
void Deriver::order_ids() {
  for (int j = 0; j < plan_.n_levels; ++j) {
    less_[j] |= mask_of(level(j).less);
    const Levels greater = mask_of(level(j).greater);
    for (int x = 0; x < j; ++x)
      if (greater & bit_of(x)) less_[x] |= bit_of(j);
  }
  for (int via = 0; via < plan_.n_levels; ++via)
    for (int x = 0; x < plan_.n_levels; ++x)
      if (less_[x] & bit_of(via)) less_[x] |= less_[via];
}

void Deriver::describe(int j) {
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
Levels Deriver::known_apart(int j) const {
  Levels apart = less_[j];
  for (int x = 0; x < plan_.n_levels; ++x) {
    if (level(x).kind != kVertexLevel || x == j) continue;
    if ((less_[x] & bit_of(j)) || !overlap(level(j), level(x))) apart |= bit_of(x);
  }
  for (int k = 0; k < level(j).sources.count; ++k)
    if (!(source(j, k).flags & kLoops)) apart |= bit_of(source(j, k).level);
  return apart;
}

// Like mentioned(), but with only those of `different` that are left.
Levels Deriver::mentions_of(int j, const LevelInfo& to) const {
  PlanLevel bare = level(j);
  bare.different.count = 0;
  Levels mask = mentioned(bare, j);
  for (int other : to.different) mask |= bit_of(other);
  return mask;
}

bool Deriver::has_source(int j, const PlanSource& wanted) const {
  for (int k = 0; k < level(j).sources.count; ++k)
    if (source(j, k).level == wanted.level && same_lists(source(j, k).lists, wanted.lists)) return true;
  return false;
}

bool Deriver::same_ranges(const PlanLevel& one, const PlanLevel& other) const {
  return within(one, other) && within(other, one);
}

SearchPlan derive(const MatchPlan& plan) { return Deriver(plan).run(); }

}  // namespace qe
