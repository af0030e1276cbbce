// Candidate sets of a worker: views, operands and their intersections.
#include <algorithm>

#include "search/search_run.h"
#include "search/search_worker.h"

namespace qe {
namespace {

constexpr size_t kCutPlaces = size_t{1} << 17;  // of a kind of view: 2 MiB
constexpr size_t kCutShare = 16;  // they are made once so many times fewer were asked for
constexpr size_t kSetCost = 8;   // of an intersection, in ids read, beside the ids themselves

Set slice(const uint32_t* data, size_t n, uint32_t lo, uint32_t hi) {
  if (n == 0) return {nullptr, 0};
  size_t begin = 0, end = n;
  if (data[0] < lo) begin = lower_bound(data, n, lo);
  if (data[n - 1] >= hi) end = lower_bound(data, n, hi);
  return {data + begin, end > begin ? end - begin : 0};
}

}  // namespace

Set Worker::view(int index) {
  const View& view = plan_.views[static_cast<size_t>(index)];
  ViewState& state = views_[static_cast<size_t>(index)];
  const uint64_t stamp = view.level < plan_.seeds ? held_[view.level] : stamp_[view.level];
  if (state.stamp != stamp) {
    state.set = neighbours(view, state, vertex(view.level));
    state.stamp = stamp;
  }
  return state.set;
}

Set Worker::neighbours(const View& view, ViewState& state, uint32_t v) {
  const uint32_t lo = view.above ? std::max(view.lo, v + 1) : view.lo;
  const uint32_t hi = view.below ? std::min(view.hi, v) : view.hi;
  if (!view.unique) return unite_lists(view, state, v, lo, hi);
  const Pcsr& list = match_.lists[match_.list_ids[view.lists.first]];
  if (view.within && !view.above && !view.below) {
    const Slice at = locate(list, v);
    return {list.neighbours + at.begin, at.end - at.begin};
  }
  return cut_list(view, list, v, lo, hi);
}

// A list within [lo, hi), which the vertex determines. Searching lists costs more than most of what is done with a cut,
// and vertices come up often: where the cut was is kept, for views of one kind together. Where there are fewer places than
// vertices, long lists alone are worth one.
Set Worker::cut_list(const View& view, const Pcsr& list, uint32_t v, uint32_t lo, uint32_t hi) {
  Cuts& cuts = cuts_[static_cast<size_t>(view.kind)];
  const size_t places = cuts.places.capacity();
  if (places == 0) make_cuts(view, cuts);
  Cut* known = places == 0 ? nullptr : cuts.places.data() + ((v - cuts.base) & cuts.mask);
  if (known != nullptr && known->vertex == v) return {known->data, known->n};
  const Slice at = locate(list, v);
  const Set found = slice(list.neighbours + at.begin, at.end - at.begin, lo, hi);
  if (known != nullptr && (cuts.all || at.end - at.begin >= kLongList) && found.n <= UINT32_MAX)
    *known = {v, static_cast<uint32_t>(found.n), found.data};
  return found;
}

// Makes room for cuts once they were asked for often enough.
void Worker::make_cuts(const View& view, Cuts& cuts) {
  const PlanRange& of = plan_.kinds[static_cast<size_t>(view.kind)];
  size_t places = 1;
  while (places < kCutPlaces && places < of.end - of.begin) places *= 2;
  if (++cuts.asked * kCutShare < places || !charge_.affords(places * sizeof(Cut))) return;
  std::fill_n(cuts.places.reserve(places, charge_), places, Cut{kNoVertex, 0, nullptr});
  cuts.base = of.begin;
  cuts.mask = static_cast<uint32_t>(places - 1);
  cuts.all = places >= of.end - of.begin;
}

Set Worker::unite_lists(const View& view, ViewState& state, uint32_t v, uint32_t lo, uint32_t hi) {
  Set all{nullptr, 0};
  int turn = 0;  // the buffer that `all` is not in
  for (int k = 0; k < view.lists.count; ++k) {
    const Pcsr& list = match_.lists[match_.list_ids[view.lists.first + k]];
    const Slice at = locate(list, v);
    const Set more = slice(list.neighbours + at.begin, at.end - at.begin, lo, hi);
    if (more.n == 0 && view.lists.count > 1) continue;
    uint32_t* to = state.buffers[turn].reserve(all.n + more.n + kSlack, charge_);
    all = {to, unite(all.data, all.n, more.data, more.n, to)};
    turn ^= 1;
    spend(all.n);
  }
  return all;
}

Set Worker::operand(const Operand& operand, const LevelInfo& level) {
  Set set{nullptr, 0};
  if (operand.from == From::kView) set = view(operand.index);
  else if (operand.from == From::kConstant) set = run_.constant_set(operand.index);
  else set = cut(frame(operand.index).kept, operand.from, operand.index);
  if (operand.clip) set = slice(set.data, set.n, level.lo, level.hi);
  return bounded(set, operand.less, operand.greater);
}

// A kept set, or the part of it before or after its level's vertex.
Set Worker::cut(Set set, From cut, int level) {
  const size_t at = frame(level).at;
  if (cut == From::kCandidatesBefore) return {set.data, at};
  if (cut == From::kCandidatesAfter) return {set.data + at + 1, set.n - at - 1};
  return set;
}

// The ids of a set that are less, and greater, than those of some levels; but for the bounds by level `besides`.
Set Worker::bounded(Set set, const std::vector<int>& less, const std::vector<int>& greater, int besides) {
  if ((less.empty() && greater.empty()) || set.n == 0) return set;
  uint32_t lo = 0, hi = kNoVertex;
  for (int level : less)
    if (level != besides) hi = std::min(hi, vertex(level));
  for (int level : greater)
    if (level != besides) lo = std::max(lo, vertex(level) + 1);
  return slice(set.data, set.n, lo, hi);
}

// The intersection of the operands 0 to k of a level, computed once for each binding of the level they last depend on.
const Set& Worker::partial(int level, size_t k) {
  const LevelInfo& of = info(level);
  Partial& part = frame(level).partials[k];
  const uint64_t stamp = stamp_of(of.operands[k].newest);
  const From from = of.operands[k].from;
  const bool lent = k == 0 && from != From::kView && from != From::kConstant;
  const uint32_t* kept = lent ? frame(of.operands[k].index).kept.data : nullptr;
  if (part.stamp == stamp && part.kept == kept) return part.set;
  part.stamp = stamp;
  part.kept = kept;
  const Set one = operand(of.operands[k], of);
  if (k == 0 || one.n == 0) {
    part.set = one;
    return part.set;
  }
  const Set& sofar = partial(level, k - 1);
  uint32_t end = kNoVertex;
  if (const uint64_t* row = whole_row(of.operands[k], one, &end); row && sofar.n <= 2 * one.n) {
    const Set inside = before(sofar, end);
    uint32_t* out = part.buffer.reserve(inside.n + kSlack, charge_);
    spend(kSetCost + inside.n);
    part.set = {out, ops_.filter(row, inside.data, inside.n, out)};
    return part.set;
  }
  const size_t fewer = std::min(sofar.n, one.n);
  uint32_t* out = part.buffer.reserve(fewer + kSlack, charge_);
  spend(kSetCost + fewer + std::min(std::max(sofar.n, one.n), fewer * kGallopRatio));
  part.set = {out, intersect(ops_, sofar.data, sofar.n, one.data, one.n, out)};
  return part.set;
}

// The two sets whose intersection is a level's candidates; with one operand only the newest. False: one is empty.
bool Worker::pair(int level, Pair* pair) {
  const LevelInfo& of = info(level);
  const size_t n = of.operands.size();
  if (of.beside_seed) return pair_beside_seed(of, pair);
  pair->last = &of.operands[n - 1];
  pair->newest = operand(*pair->last, of);
  if (pair->newest.n == 0) return false;
  if (n == 1) return true;
  pair->older = partial(level, n - 2);
  if (pair->older.n == 0) return false;
  pair->stamp = frame(level).partials[n - 2].stamp;
  return true;
}

// The same where the first operand is a seed's list: it may stay the same from row to row. Of two seeds' lists, that is the
// older part which has done so for longer.
bool Worker::pair_beside_seed(const LevelInfo& of, Pair* pair) {
  const Operand *older = &of.operands[0], *newest = &of.operands[1];
  const bool seeds = newest->newest < plan_.seeds && !newest->bounded() && of.rest_less.empty() && of.rest_greater.empty();
  if (seeds && held_[older->newest] > held_[newest->newest]) std::swap(older, newest);
  pair->last = newest;
  pair->newest = operand(*newest, of);
  if (pair->newest.n == 0) return false;
  pair->older = operand(*older, of);
  pair->stamp = held_[older->newest];
  return pair->older.n > 0;
}

Set Worker::within_ranges(const PlanLevel& level, Set set, Frame& to) {
  Buffer<uint32_t>& buffer = set.data == to.buffers[0].data() ? to.buffers[1] : to.buffers[0];
  uint32_t* out = buffer.reserve(set.n + kSlack, charge_);
  size_t n = 0;
  for (int k = 0; k < level.ranges.count; ++k) {
    const PlanRange& range = match_.ranges[level.ranges.first + k];
    const Set part = slice(set.data, set.n, range.begin, range.end);
    n = static_cast<size_t>(std::copy(part.data, part.data + part.n, out + n) - out);
  }
  return {out, n};
}

// The level's candidates before its filters; kept for the levels that start from them.
Set Worker::candidates(int level) {
  const LevelInfo& of = info(level);
  Frame& to = frame(level);
  to.kept = {nullptr, 0};
  Pair sets;
  if (!pair(level, &sets)) return to.kept;
  if (of.operands.size() == 1) {
    to.kept = sets.newest;
  } else {
    const Probe in = probe(level, sets);
    const Set older = in.bits && in.older_marked ? Set{nullptr, 0} : before(older_part(of, sets), in.end);
    const Set& list = in.older_marked ? sets.newest : older;
    const size_t fewer = in.bits ? list.n : std::min(older.n, sets.newest.n);
    uint32_t* out = to.buffers[0].reserve(fewer + kSlack, charge_);
    spend(kSetCost + fewer + (in.bits ? 0 : std::min(std::max(older.n, sets.newest.n), fewer * kGallopRatio)));
    to.kept = {out, in.bits ? ops_.filter(in.bits, list.data, list.n, out)
                            : intersect(ops_, older.data, older.n, sets.newest.data, sets.newest.n, out)};
  }
  if (of.check_ranges && to.kept.n > 0) to.kept = within_ranges(*of.plan, to.kept, to);
  return to.kept;
}

// The older part within all bounds.
Set Worker::older_part(const LevelInfo& of, const Pair& pair) {
  return bounded(of.cut == From::kCandidates ? pair.older : cut_part(of), of.rest_less, of.rest_greater);
}

// The first operand, a kept set, before or after the vertex that its level is at.
Set Worker::cut_part(const LevelInfo& of) {
  const Operand& kept = of.operands[0];
  Set older = cut(frame(kept.index).kept, of.cut, kept.index);
  if (kept.clip) older = slice(older.data, older.n, of.lo, of.hi);
  return bounded(older, kept.less, kept.greater);
}

// The level's candidates after its filters.
Set Worker::admitted(int level) { return passing(level, candidates(level)); }

size_t Worker::count_candidates(int level) {
  const LevelInfo& from = info(level);
  if (from.filtered || from.check_ranges) return admitted(level).n;
  const bool whole =
      from.fixed && !from.plan->bitset && from.avoided.empty() && from.less.empty() && from.greater.empty();
  if (whole) return static_cast<size_t>(run_.count_roots(*from.plan));
  Pair sets;
  if (!pair(level, &sets)) return 0;
  size_t found = sets.newest.n;
  if (from.operands.size() == 1) {
    sets.older = sets.newest;
  } else {
    const Probe in = probe(level, sets);
    const Set older = in.bits && in.older_marked ? Set{nullptr, 0} : before(older_part(from, sets), in.end);
    const Set& list = in.older_marked ? sets.newest : older;
    const size_t fewer = in.bits ? list.n : std::min(older.n, sets.newest.n);
    spend(kSetCost + fewer + (in.bits ? 0 : std::min(std::max(older.n, sets.newest.n), fewer * kGallopRatio)));
    found = in.bits ? ops_.filter_count(in.bits, list.data, list.n)
                    : intersect_count(ops_, older.data, older.n, sets.newest.data, sets.newest.n);
  }
  return found == 0 || from.avoided.empty() ? found : found - forbidden(level, sets);
}

// How many members of the intersection are bound by the levels that this one must differ from.
size_t Worker::forbidden(int level, const Pair& pair) {
  const std::vector<Avoided>& avoided = info(level).avoided;
  size_t found = 0;
  for (size_t k = 0; k < avoided.size(); ++k) {
    const uint32_t v = vertex(avoided[k].level);
    bool counts = true;
    for (size_t before = 0; before < k && counts; ++before) counts = vertex(avoided[before].level) != v;
    found += counts && (avoided[k].certain ||
                        (contains(pair.newest.data, pair.newest.n, v) && contains(pair.older.data, pair.older.n, v)));
  }
  return found;
}

}  // namespace qe
