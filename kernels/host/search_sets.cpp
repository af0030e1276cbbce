// Candidate sets of a worker: views, operands and their intersections.
#include <algorithm>

#include "search_run.h"
#include "search_worker.h"

namespace qe {
namespace {

constexpr size_t kSetCost = 8;  // of an intersection, in ids read, beside the ids themselves

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
  if (state.stamp == stamp_[view.level]) return state.set;
  state.stamp = stamp_[view.level];
  const uint32_t v = vertex(view.level);
  const uint32_t lo = view.above ? std::max(view.lo, v + 1) : view.lo;
  const uint32_t hi = view.below ? std::min(view.hi, v) : view.hi;
  if (view.unique) {
    const Pcsr& list = match_.lists[match_.list_ids[view.lists.first]];
    const Slice at = locate(list, v);
    state.set = slice(list.neighbours + at.begin, at.end - at.begin, lo, hi);
  } else {
    state.set = unite_lists(view, state, v, lo, hi);
  }
  return state.set;
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
  switch (operand.from) {
    case From::kKept: set = frame(operand.index).kept; break;
    case From::kKeptBefore: set = {frame(operand.index).kept.data, frame(operand.index).at}; break;
    case From::kKeptAfter: {
      const Frame& from = frame(operand.index);
      set = {from.kept.data + from.at + 1, from.kept.n - from.at - 1};
      break;
    }
    case From::kView: set = view(operand.index); break;
    case From::kConstant: set = run_.constant_set(operand.index); break;
  }
  if (!operand.less && !operand.greater && !operand.clip) return set;
  uint32_t lo = operand.clip ? level.lo : 0, hi = operand.clip ? level.hi : kNoVertex;
  for (Levels rest = operand.less; rest; rest &= rest - 1) hi = std::min(hi, vertex(__builtin_ctzll(rest)));
  for (Levels rest = operand.greater; rest; rest &= rest - 1) lo = std::max(lo, vertex(__builtin_ctzll(rest)) + 1);
  return slice(set.data, set.n, lo, hi);
}

// Fills `sets` with the level's operands, shortest first; returns how many, or 0 if one of them is empty.
int Worker::operands(int level, Set* sets) {
  const LevelInfo& to = info(level);
  int n = 0;
  for (const Operand& each : to.operands) {
    const Set set = operand(each, to);
    if (set.n == 0) return 0;
    int at = n++;
    for (; at > 0 && sets[at - 1].n > set.n; --at) sets[at] = sets[at - 1];
    sets[at] = set;
  }
  return n;
}

Set Worker::intersect_all(Set* sets, int n, Frame& to) {
  Set all = sets[0];
  for (int k = 1; k < n && all.n > 0; ++k) {
    uint32_t* out = to.buffers[k & 1].reserve(all.n + kSlack, charge_);
    spend(kSetCost + all.n + std::min(sets[k].n, all.n * kGallopRatio));
    all = {out, intersect(ops_, all.data, all.n, sets[k].data, sets[k].n, out)};
  }
  return all;
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
  Set sets[kMaxLevels + 1];
  Frame& to = frame(level);
  const int n = operands(level, sets);
  to.kept = n == 0 ? Set{nullptr, 0} : intersect_all(sets, n, to);
  if (info(level).check_ranges && to.kept.n > 0) to.kept = within_ranges(*info(level).plan, to.kept, to);
  return to.kept;
}

// The level's candidates after its filters; `besides`: levels that it need not differ from.
Set Worker::admitted(int level, Levels besides) {
  const Set all = candidates(level);
  Frame& to = frame(level);
  Buffer<uint32_t>& buffer = all.data == to.buffers[0].data() ? to.buffers[1] : to.buffers[0];
  uint32_t* out = buffer.reserve(all.n + kSlack, charge_);
  size_t n = 0;
  spend(all.n);
  for (size_t i = 0; i < all.n; ++i)
    if (passes(level, all.data[i], besides)) out[n++] = all.data[i];
  return {out, n};
}

size_t Worker::count_candidates(int level, Levels besides) {
  const LevelInfo& from = info(level);
  if (from.filtered || from.check_ranges) return admitted(level, besides).n;
  const bool whole = from.fixed && !from.plan->bitset && from.different.empty() && !from.less && !from.greater;
  if (whole) return static_cast<size_t>(run_.count_roots(*from.plan));
  Set sets[kMaxLevels + 1];
  const int n = operands(level, sets);
  if (n == 0) return 0;
  size_t found = sets[0].n;
  if (n > 1) {
    const Set most = n == 2 ? sets[0] : intersect_all(sets, n - 1, frame(level));
    const Set& last = sets[n - 1];
    spend(kSetCost + most.n + std::min(last.n, most.n * kGallopRatio));
    found = intersect_count(ops_, most.data, most.n, last.data, last.n);
  }
  return found == 0 || from.different.empty() ? found : found - forbidden(level, besides, sets, n);
}

// How many members of the intersection are bound by the levels that this one must differ from.
size_t Worker::forbidden(int level, Levels besides, const Set* sets, int n) {
  const std::vector<int>& different = info(level).different;
  size_t found = 0;
  for (size_t k = 0; k < different.size(); ++k) {
    if (besides & bit_of(different[k])) continue;
    const uint32_t v = vertex(different[k]);
    bool counts = true;
    for (size_t before = 0; before < k && counts; ++before)
      counts = (besides & bit_of(different[before])) || vertex(different[before]) != v;
    for (int s = 0; s < n && counts; ++s) counts = contains(sets[s].data, sets[s].n, v);
    found += counts;
  }
  return found;
}

}  // namespace qe
