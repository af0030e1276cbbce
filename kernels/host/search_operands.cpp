// The operands of each level's intersection: which earlier set it starts from, which lists it adds, which bounds are left.
#include "search_derive.h"

#include <algorithm>

namespace qe {
namespace {

int newest(Levels levels) { return levels == 0 ? -1 : 63 - __builtin_clzll(levels); }

}  // namespace

// May level j start from what level i kept? Its sources, ranges and bounds must include those of i.
bool Deriver::can_start_from(int i, int j) {
  if (!info(i).vertex || i < plan_.seeds || level(i).sources.count == 0) return false;
  for (int k = 0; k < level(i).sources.count; ++k)
    if (!has_source(j, source(i, k))) return false;
  if (level(i).candidates != nullptr && level(i).candidates != level(j).candidates) return false;
  if ((info(i).less & ~info(j).less) != 0 || (info(i).greater & ~info(j).greater) != 0) return false;
  return within(level(j), level(i));
}

// The levels of `bounds` that no other of them implies.
Levels Deriver::reduced(Levels bounds, bool less) const {
  Levels kept = bounds;
  for (int x = 0; x < plan_.n_levels; ++x)
    for (int y = 0; y < plan_.n_levels; ++y)
      if ((bounds & bit_of(x)) && (bounds & bit_of(y)) && x != y) {
        const bool implied = less ? (less_[y] & bit_of(x)) != 0 : (less_[x] & bit_of(y)) != 0;
        if (implied) kept &= ~bit_of(x);
      }
  return kept;
}

int Deriver::view_of(const PlanSource& from, int j) {
  View view{from.level, from.lists, from.lists.count == 1 && !(from.flags & kRepeats), info(j).lo, info(j).hi,
            (info(j).less & bit_of(from.level)) != 0, (info(j).greater & bit_of(from.level)) != 0,
            (from.flags & kWithin) != 0, -1};
  for (size_t k = 0; k < out_.views.size(); ++k) {
    const View& old = out_.views[k];
    if (!same_lists(old.lists, view.lists) || old.lo != view.lo || old.hi != view.hi ||
        old.below != view.below || old.above != view.above)
      continue;
    if (old.level == view.level) return static_cast<int>(k);
    view.kind = old.kind;
  }
  const PlanRange ids{info(from.level).lo, info(from.level).hi};
  if (view.kind < 0) {
    view.kind = out_.n_kinds++;
    out_.kinds.push_back(ids);
  }
  PlanRange& hull = out_.kinds[static_cast<size_t>(view.kind)];
  hull = {std::min(hull.begin, ids.begin), std::max(hull.end, ids.end)};
  out_.views.push_back(view);
  std::vector<int>& feeds = info(from.level).feeds;
  for (int k = 0; k < from.lists.count; ++k) {
    const int list = plan_.list_ids[from.lists.first + k];
    if (std::find(feeds.begin(), feeds.end(), list) == feeds.end()) feeds.push_back(list);
  }
  return static_cast<int>(out_.views.size()) - 1;
}

// Levels whose bound holds once the one of `level` does.
Levels Deriver::implied(int by, bool less) const {
  Levels mask = bit_of(by);
  for (int x = 0; x < plan_.n_levels; ++x)
    if (less ? (less_[by] & bit_of(x)) : (less_[x] & bit_of(by))) mask |= bit_of(x);
  return mask;
}

// Those that are vertices: sets depend on no relationship, and only vertices are stamped when they are bound.
Levels Deriver::vertices(Levels levels) const {
  for (int x = 0; x < plan_.n_levels; ++x)
    if (!info(x).vertex) levels &= ~bit_of(x);
  return levels;
}

void Deriver::set_operands(int j, Levels above) {
  LevelInfo& to = info(j);
  if (!to.vertex || out_.impossible) return;
  const PlanLevel& from = level(j);
  const Levels less = reduced(to.less, true), greater = reduced(to.greater, false);
  const int base = base_of(j, above);
  if (base >= 0) out_.bases |= bit_of(base);
  if (base >= 0)
    to.operands.push_back({From::kKept, base, newest(vertices(above & (bit_of(base) - 1))), less & ~info(base).less,
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
bool Deriver::is_candidate(int x, int j) {
  const PlanLevel& of = level(j);
  if (!info(x).vertex || of.bitset != nullptr || of.candidates != nullptr || !within(level(x), of)) return false;
  if ((info(j).less & ~info(x).less) != 0 || (info(j).greater & ~info(x).greater) != 0) return false;
  for (int k = 0; k < of.sources.count; ++k) {
    const PlanSource& from = source(j, k);
    const PlanSource back{x, from.flags, from.lists};
    const bool returns = (from.flags & kSymmetric) && has_source(from.level, back);
    if (!returns && !has_source(x, from)) return false;
  }
  return true;
}

int Deriver::base_of(int j, Levels above) {
  int base = -1;
  for (int i = 0; i < j; ++i)
    if ((above & bit_of(i)) && can_start_from(i, j) &&
        (base < 0 || level(i).sources.count >= level(base).sources.count))
      base = i;
  return base;
}

// Orders the operands, and leaves to each but the last the bounds by levels that it depends on anyway.
void Deriver::place_bounds(LevelInfo& to) {
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
void Deriver::cut_by_position(int base, Levels& less, Levels& greater, From& cut) const {
  if (less & bit_of(base)) {
    cut = From::kKeptBefore;
    less &= ~implied(base, true);
  } else if (greater & bit_of(base)) {
    cut = From::kKeptAfter;
    greater &= ~implied(base, false);
  }
}

}  // namespace qe
