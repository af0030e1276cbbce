// Bitmaps to look up members in, instead of merging two lists: marks of the set that stays while others come and go, and
// rows of hubs that come up again and again. Both are made once merging has cost as much as they do, so a search never
// takes more than about twice the time of merging alone.
#include <algorithm>

#include "search/search_run.h"
#include "search/search_worker.h"

namespace qe {
namespace {

constexpr size_t kMarkCost = 3;  // of marking a set, in ids read by merging
constexpr size_t kGallopCost = 20;  // of looking one id up by galloping, in ids read
constexpr size_t kRowWords = size_t{1} << 19;  // 4 MiB of hub rows a view
constexpr size_t kNoRow = SIZE_MAX;

}  // namespace

// A bitmap of the older part, or null where merging is cheaper. It is made once merging has read as much as making it
// costs, so it never more than doubles the work.
const uint64_t* Worker::marks(int level, const Pair& pair) {
  Marks& marks = frame(level).marks;
  const LevelInfo& of = info(level);
  const uint32_t first = of.lo >> 6;
  if (pair.newest.n > pair.older.n * kGallopRatio) return nullptr;
  if (marks.stamp == pair.stamp) return marks.bits.data() - first;
  if (marks.wanted != pair.stamp) {
    marks.wanted = pair.stamp;
    marks.spent = 0;
  }
  if (marks.spent < kMarkCost * pair.older.n) {
    marks.spent += std::min(pair.older.n, pair.newest.n * kGallopRatio);
    return nullptr;
  }
  if (marks.bits.capacity() == 0) {
    const size_t words = (of.hi >> 6) - first + 1;
    if (!charge_.affords(words * sizeof(uint64_t))) return nullptr;
    std::fill_n(marks.bits.reserve(words, charge_), words, uint64_t{0});
  }
  uint64_t* bits = marks.bits.data();
  for (size_t i = 0; i < marks.n; ++i) bits[(marks.members.data()[i] >> 6) - first] = 0;
  uint32_t* members = marks.members.reserve(pair.older.n, charge_);
  for (size_t i = 0; i < pair.older.n; ++i) {
    const uint32_t v = pair.older.data[i];
    members[i] = v;
    bits[(v >> 6) - first] |= uint64_t{1} << (v & 63);
  }
  spend(2 * pair.older.n);
  marks.n = pair.older.n;
  marks.stamp = pair.stamp;
  return bits - first;
}

// A bitmap of the newest operand, or null: it is one list's whole view, and its vertex has come up often enough for the
// bitmap to have saved more reading than it costs. Then the older part's members are looked up in it.
const uint64_t* Worker::hub_row(const Operand& operand, Set list, size_t saved) {
  if (operand.from != From::kView || operand.bounded() || list.n < kLongList) return nullptr;
  const View& view = plan_.views[static_cast<size_t>(operand.index)];
  if (!view.unique) return nullptr;
  ViewState& state = views_[static_cast<size_t>(operand.index)];
  if (state.slots.capacity() == 0) {
    if (!charge_.affords(kHubPlaces * sizeof(RowSlot) + kRowWords * sizeof(uint64_t))) return nullptr;
    std::fill_n(state.slots.reserve(kHubPlaces, charge_), kHubPlaces, RowSlot{kNoVertex, 0, kNoRow});
    state.rows.reserve(kRowWords, charge_);
  }
  const uint32_t v = vertex(view.level), first = view.lo >> 6;
  RowSlot& slot = state.slots.data()[v % kHubPlaces];
  if (slot.vertex == v && slot.row != kNoRow) return state.rows.data() + slot.row - first;
  if (slot.row != kNoRow) return nullptr;  // the first hub keeps its place
  if (slot.vertex != v) slot = {v, 0, kNoRow};
  slot.saved = static_cast<uint32_t>(std::min<size_t>(UINT32_MAX, slot.saved + saved));
  const size_t words = ((view.below ? std::min(view.hi, v) : view.hi) >> 6) - first + 1;
  if (slot.saved < words / 4 + 3 * list.n || words > kRowWords - state.rows_used) return nullptr;
  slot.row = state.rows_used;
  state.rows_used += words;
  uint64_t* row = state.rows.data() + slot.row;
  std::fill_n(row, words, uint64_t{0});
  for (size_t i = 0; i < list.n; ++i) row[(list.data[i] >> 6) - first] |= uint64_t{1} << (list.data[i] & 63);
  spend(words / 4 + 3 * list.n);
  return row - first;
}

// The bitmap to look one of the two sets up in, and which: marks of the older part, or a hub's row.
Worker::Probe Worker::probe(int level, const Pair& pair) {
  const Operand& last = *pair.last;
  uint32_t end = kNoVertex;
  if (const uint64_t* row = whole_row(last, pair.newest, &end); row && pair.older.n <= 2 * pair.newest.n)
    return {row, false, end};
  if (pair.newest.n > pair.older.n) {
    const size_t merging = std::min(pair.older.n + pair.newest.n, kGallopCost * pair.older.n);
    if (const uint64_t* row = hub_row(last, pair.newest, merging - pair.older.n)) return {row, false};
  }
  return {marks(level, pair), true};
}

}  // namespace qe
