// The operands of each level's intersection: which earlier set it starts from, which lists it adds, which bounds are left.
#include "plan/search_derive.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace qe {

// May level j start from what level i kept? Its sources, ranges and bounds must include those of i.
template <class Levels>
bool Deriver<Levels>::can_start_from(int i, int j) {
  if (!info(i).vertex || i < plan_.seeds || level(i).sources.count == 0) return false;
  for (int k = 0; k < level(i).sources.count; ++k)
    if (!has_source(j, source(i, k))) return false;
  if (level(i).candidates != nullptr && level(i).candidates != level(j).candidates) return false;
  if (!facts(j).less.contains(facts(i).less) || !facts(j).greater.contains(facts(i).greater)) return false;
  return within(level(j), level(i));
}

// The levels of `bounds` that no other of them implies.
template <class Levels>
Levels Deriver<Levels>::reduced(const Levels& bounds, bool less) const {
  Levels kept = bounds;
  for_each(bounds, [&](int x) {
    for_each(bounds, [&](int y) {
      if (x != y && (less ? this->less(y).has(x) : this->less(x).has(y))) kept -= Levels::of(x);
    });
  });
  return kept;
}

template <class Levels>
int Deriver<Levels>::view_of(const PlanSource& from, int j) {
  View view{from.level, from.lists, from.lists.count == 1 && !(from.flags & kRepeats), info(j).lo, info(j).hi,
            facts(j).less.has(from.level), facts(j).greater.has(from.level),
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
template <class Levels>
Levels Deriver<Levels>::implied(int by, bool less) const {
  Levels found = Levels::of(by);
  if (less) return found | this->less(by);
  for (int x = 0; x < plan_.n_levels; ++x)
    if (this->less(x).has(by)) found.add(x);
  return found;
}

// The last of some levels that is a vertex, -1 for none: sets depend on no relationship, and only vertices are stamped when
// they are bound.
template <class Levels>
int Deriver<Levels>::newest_vertex(const Levels& levels) const {
  int newest = -1;
  for_each(levels, [&](int x) {
    if (info(x).vertex) newest = x;
  });
  return newest;
}

template <class Levels>
void Deriver<Levels>::set_operands(int j, const Levels& above) {
  LevelInfo& to = info(j);
  Facts& known = facts(j);
  if (!to.vertex || out_.impossible) return;
  const PlanLevel& from = level(j);
  const Levels less = reduced(known.less, true), greater = reduced(known.greater, false);
  const int base = base_of(j, above);
  const auto add = [&](From kind, int index, int newest, bool clip, const Levels& below, const Levels& beyond) {
    to.operands.push_back({kind, index, newest, {}, {}, clip});
    known.operands.push_back({below, beyond});
  };
  if (base >= 0) {
    info(base).base = true;
    const bool clip = info(base).lo != to.lo || info(base).hi != to.hi;
    const Levels before = above & Levels::below(base);
    add(From::kCandidates, base, newest_vertex(before), clip, less - facts(base).less, greater - facts(base).greater);
  }
  for (int k = 0; k < from.sources.count; ++k) {
    if (base >= 0 && has_source(base, source(j, k))) continue;
    const int index = view_of(source(j, k), j);
    const View& view = out_.views[static_cast<size_t>(index)];
    add(From::kView, index, view.level, false, view.below ? less - implied(view.level, true) : less,
        view.above ? greater - implied(view.level, false) : greater);
  }
  const bool given = from.candidates != nullptr && (base < 0 || level(base).candidates == nullptr);
  if (to.fixed || given) add(From::kConstant, j, -1, false, less, greater);
  known.local_less = less;
  known.local_greater = greater;
  for (const Bounds& bounds : known.operands) {
    known.local_less &= bounds.less;
    known.local_greater &= bounds.greater;
  }
  sort_operands(j);
  place_bounds(j);
  for_each(known.different, [&](int x) {
    if (is_candidate(x, j)) known.certain.add(x);
  });
  to.check_ranges = from.ranges.count > 1 && !to.fixed && !given && (base < 0 || !same_ranges(level(base), from));
  if (to.fixed) {  // the constant set is filtered by the bitset once
    to.bitset = nullptr;
    to.filtered = from.pairs.count > 0 || from.conditions.count > 0;
  }
}

// Is the vertex of level x, but for the difference, always a candidate of level j?
template <class Levels>
bool Deriver<Levels>::is_candidate(int x, int j) {
  const PlanLevel& of = level(j);
  if (!info(x).vertex || of.bitset != nullptr || of.candidates != nullptr || !within(level(x), of)) return false;
  if (!facts(x).less.contains(facts(j).less) || !facts(x).greater.contains(facts(j).greater)) return false;
  for (int k = 0; k < of.sources.count; ++k) {
    const PlanSource& from = source(j, k);
    const PlanSource back{x, from.flags, from.lists};
    const bool returns = (from.flags & kSymmetric) && has_source(from.level, back);
    if (!returns && !has_source(x, from)) return false;
  }
  return true;
}

template <class Levels>
int Deriver<Levels>::base_of(int j, const Levels& above) {
  int base = -1;
  for_each(above & Levels::below(j), [&](int i) {
    if (can_start_from(i, j) && (base < 0 || level(i).sources.count >= level(base).sources.count)) base = i;
  });
  return base;
}

// Orders the operands by the level that they last depend on.
template <class Levels>
void Deriver<Levels>::sort_operands(int j) {
  std::vector<Operand>& operands = info(j).operands;
  std::vector<Bounds>& bounds = facts(j).operands;
  std::vector<size_t> places(operands.size());
  std::iota(places.begin(), places.end(), size_t{0});
  std::stable_sort(places.begin(), places.end(), [&](size_t a, size_t b) { return operands[a].newest < operands[b].newest; });
  std::vector<Operand> sorted;
  std::vector<Bounds> sorted_bounds;
  for (size_t k : places) {
    sorted.push_back(operands[k]);
    sorted_bounds.push_back(bounds[k]);
  }
  operands = std::move(sorted);
  bounds = std::move(sorted_bounds);
}

// Leaves to each operand but the last the bounds by levels that it depends on anyway.
template <class Levels>
void Deriver<Levels>::place_bounds(int j) {
  LevelInfo& to = info(j);
  Facts& known = facts(j);
  const size_t last = to.operands.size() - 1;
  if (to.operands[last].from == From::kCandidates)
    cut_by_position(to.operands[last].index, known.operands[last].less, known.operands[last].greater,
                    to.operands[last].from);
  for (size_t k = 0; k < last; ++k) {
    Bounds& bounds = known.operands[k];
    const Levels settled = Levels::below(to.operands[k].newest + 1);
    known.rest_less |= bounds.less - settled;
    known.rest_greater |= bounds.greater - settled;
    bounds.less &= settled;
    bounds.greater &= settled;
  }
  if (to.operands.size() == 2 && to.operands[0].from == From::kCandidates)
    cut_by_position(to.operands[0].index, known.rest_less, known.rest_greater, to.cut);
}

// A bound by the kept set's own level is a position in the set.
template <class Levels>
void Deriver<Levels>::cut_by_position(int base, Levels& less, Levels& greater, From& cut) const {
  if (less.has(base)) {
    cut = From::kCandidatesBefore;
    less -= implied(base, true);
  } else if (greater.has(base)) {
    cut = From::kCandidatesAfter;
    greater -= implied(base, false);
  }
}

template class Deriver<Bits<1>>;
template class Deriver<Bits<kMaxLevels / 64>>;

}  // namespace qe
