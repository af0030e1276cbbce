// The levels that most samples spend their time on, without the checks that such levels don't need: see PlainLevel in
// sample_batch.h. They pick exactly what the general code in qe/sample.h picks.
#include <algorithm>
#include <atomic>

#include "qe/abi.h"
#include "sample_batch.h"

namespace qe {
namespace {

constexpr uint64_t kCachedBytes = 1 << 19;

std::atomic<bool> plain_wanted{true};

}  // namespace

SampleBatch::PlainLevel SampleBatch::plain_level(int index) const {
  const PlanLevel& level = plan_.levels[index];
  const bool bare = level.kind == kVertexLevel && level.ranges.count > 0 && level.bitset == nullptr &&
                    level.candidates == nullptr && level.pairs.count == 0 && level.conditions.count == 0;
  if (!bare || !plain_wanted.load(std::memory_order_relaxed)) return {};
  PlainLevel plain;
  uint64_t bytes = 0;
  for (int k = 0; k < level.sources.count; ++k) {
    const PlanSource& source = plan_.sources[level.sources.first + k];
    if (source.lists.count != 1 || (source.flags & kRepeats) || !(source.flags & kWithin)) return {};
    const Pcsr& list = plan_.lists[plan_.list_ids[source.lists.first]];
    if (list.form != kDense) return {};
    plain.sources.push_back({source.level, list.lo, list.hi, list.offsets, list.neighbours});
    bytes += sizeof(uint64_t) * (list.hi - list.lo) + sizeof(uint32_t) * list.n_entries;
  }
  for (int k = 0; k < level.different.count; ++k) plain.different.push_back(plan_.level_ids[level.different.first + k]);
  plain.prefetch = bytes > kCachedBytes;
  plain.ordered = level.less.count > 0 || level.greater.count > 0;
  return plain;
}

inline SampleBatch::List SampleBatch::plain_list(const PlainSource& source, int slot) const {
  const auto v = static_cast<uint32_t>(value(slot)[source.level]);
  if (v < source.lo || v >= source.hi) return {nullptr, 0};
  const uint64_t* at = source.offsets + (v - source.lo);
  return {source.neighbours + at[0], at[1] - at[0]};
}

// The part of a list that the order of ids leaves.
inline SampleBatch::List SampleBatch::plain_list(const PlainLevel& level, const PlainSource& source, int slot,
                                                 PlanRange bounds) const {
  List list = plain_list(source, slot);
  if (!level.ordered || list.n == 0) return list;
  if (list.ids[list.n - 1] >= bounds.end) list.n = lower_bound(list.ids, list.n, bounds.end);
  if (list.n > 0 && list.ids[0] < bounds.begin) {
    const uint64_t skipped = lower_bound(list.ids, list.n, bounds.begin);
    list = {list.ids + skipped, list.n - skipped};
  }
  return list;
}

inline PlanRange SampleBatch::plain_bounds(const PlainLevel& plain, int level, int slot) const {
  return plain.ordered ? sample_bounds(plan_, plan_.levels[level], value(slot)) : PlanRange{0, 0};
}

inline void SampleBatch::prefetch_plain(const PlainLevel& level, int k) const {
  const int slot = slot_[static_cast<size_t>(k)];
  for (const PlainSource& source : level.sources) {
    const auto v = static_cast<uint32_t>(value(slot)[source.level]);
    if (v >= source.lo && v < source.hi) __builtin_prefetch(source.offsets + (v - source.lo));
  }
}

// WanderJoin: pick from the shortest list; then, when that has arrived, look the vertex up in the others.
int64_t SampleBatch::walk_plain(int level) {
  const PlainLevel& plain = plain_[static_cast<size_t>(level)];
  const int before = alive_;
  int picked = 0;
  for (int k = 0; plain.prefetch && k < kAhead && k < before; ++k) prefetch_plain(plain, k);
  for (int k = 0; k < before; ++k) {
    if (plain.prefetch && k + kAhead < before) prefetch_plain(plain, k + kAhead);
    const int slot = slot_[static_cast<size_t>(k)];
    const PlanRange bounds = plain_bounds(plain, level, slot);
    List least = plain_list(plain, plain.sources[0], slot, bounds);
    int source = 0;
    for (size_t j = 1; j < plain.sources.size(); ++j) {
      const List list = plain_list(plain, plain.sources[j], slot, bounds);
      if (plain.prefetch) __builtin_prefetch(list.ids + list.n / 2);
      if (list.n < least.n) {
        least = list;
        source = static_cast<int>(j);
      }
    }
    if (least.n == 0) continue;
    Pending& pending = pending_[static_cast<size_t>(picked)];
    pending.where = least.ids + pick(id(slot), level, word(slot, level), least.n);
    pending.step.n = least.n;
    pending.step.source = source;
    if (plain.prefetch) __builtin_prefetch(pending.where);
    slot_[static_cast<size_t>(picked++)] = slot;
  }
  alive_ = 0;
  for (int k = 0; k < picked; ++k) {
    const int slot = slot_[static_cast<size_t>(k)];
    const Pending& pending = pending_[static_cast<size_t>(k)];
    const uint32_t v = *pending.where;
    int64_t* values = value(slot);
    bool fits = true;
    for (int other : plain.different) fits &= values[other] != static_cast<int64_t>(v);
    for (size_t j = 0; j < plain.sources.size() && fits; ++j) {
      if (static_cast<int>(j) == pending.step.source) continue;
      const List list = plain_list(plain.sources[j], slot);
      fits = contains(list.ids, list.n, v);
    }
    if (!fits) continue;
    values[level] = v;
    weights_[static_cast<size_t>(slot)] *= static_cast<double>(pending.step.n);
    slot_[static_cast<size_t>(alive_++)] = slot;
  }
  return picked;
}

// Alley: intersect the lists, the shortest first; leave out the vertices that must differ by skipping their places.
int64_t SampleBatch::refine_plain(int level) {
  const PlainLevel& plain = plain_[static_cast<size_t>(level)];
  const SetOps& ops = set_ops(current_isa());
  const int before = alive_;
  const GuideLevel* guide = guide_of(level);
  const size_t n_sources = plain.sources.size();
  uint64_t validated = 0;
  alive_ = 0;
  for (int k = 0; plain.prefetch && k < kAhead && k < before; ++k) prefetch_plain(plain, k);
  for (int k = 0; k < before; ++k) {
    if (plain.prefetch && k + kAhead < before) prefetch_plain(plain, k + kAhead);
    const int slot = slot_[static_cast<size_t>(k)];
    List lists[kMaxLevels];
    const PlanRange bounds = plain_bounds(plain, level, slot);
    lists[0] = plain_list(plain, plain.sources[0], slot, bounds);
    size_t shortest = 0;
    for (size_t j = 1; j < n_sources; ++j) {
      lists[j] = plain_list(plain, plain.sources[j], slot, bounds);
      if (lists[j].n < lists[shortest].n) shortest = j;
    }
    List kept = lists[shortest];
    validated += kept.n;
    if (n_sources > 1 && refined_.size() < kept.n + kSlack) {
      refined_.resize(2 * kept.n + kSlack);
      narrowed_.resize(2 * kept.n + kSlack);
    }
    uint32_t* out = refined_.data();
    for (size_t j = 0; j < n_sources && kept.n > 0; ++j) {
      if (j == shortest) continue;
      kept = {out, intersect(ops, kept.ids, kept.n, lists[j].ids, lists[j].n, out)};
      out = out == refined_.data() ? narrowed_.data() : refined_.data();
    }
    uint64_t skipped[kMaxLevels];
    size_t n_skipped = 0;
    int64_t* values = value(slot);
    for (int other : plain.different) {
      const auto v = static_cast<uint32_t>(values[other]);
      const uint64_t at = lower_bound(kept.ids, kept.n, v);
      if (at < kept.n && kept.ids[at] == v && std::find(skipped, skipped + n_skipped, at) == skipped + n_skipped)
        skipped[n_skipped++] = at;
    }
    if (kept.n == n_skipped) continue;
    if (n_skipped > 1) std::sort(skipped, skipped + n_skipped);
    if (guide) {
      const double* running = guide->running && !plain.ordered ? guide->running + (kept.ids - plain.sources[0].neighbours) : nullptr;
      if (bind_guided(level, slot, kept, running, skipped, n_skipped)) slot_[static_cast<size_t>(alive_++)] = slot;
      continue;
    }
    const uint64_t left = kept.n - n_skipped;
    uint64_t choice = pick(id(slot), level, word(slot, level), left);
    for (size_t j = 0; j < n_skipped; ++j) choice += skipped[j] <= choice;
    values[level] = kept.ids[choice];
    weights_[static_cast<size_t>(slot)] *= static_cast<double>(left);
    slot_[static_cast<size_t>(alive_++)] = slot;
  }
  return static_cast<int64_t>(validated);
}

}  // namespace qe

// For tests: whether plain levels are recognized; returns whether they were before.
QE_API int32_t qe_sample_plain(int32_t wanted) { return qe::plain_wanted.exchange(wanted != 0); }
