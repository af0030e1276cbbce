// The levels that most samples spend their time on, without the checks that such levels don't need: which they are, and
// Alley on them (WanderJoin: sample_walk.h). They pick exactly what the general code in qe/sample.h picks.
#include <algorithm>
#include <atomic>

#include "qe/abi.h"
#include "sample/sample_batch.h"

namespace qe {
namespace {

constexpr uint64_t kCachedBytes = 1 << 19;

std::atomic<bool> plain_wanted{true};

}  // namespace

bool SampleBatch::is_bare(const PlanLevel& level) const {
  return level.kind == kVertexLevel && level.ranges.count > 0 && level.bitset == nullptr && level.pairs.count == 0 &&
         level.conditions.count == 0 && plain_wanted.load(std::memory_order_relaxed);
}

PlainLevel SampleBatch::plain_level(int index) const {
  const PlanLevel& level = plan_.levels[index];
  if (!is_bare(level) || level.sources.count == 0 || level.candidates != nullptr) return {};
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

// A level whose every candidate is bound when it is picked.
PlainLevel SampleBatch::plain_roots(int index) const {
  const PlanLevel& level = plan_.levels[index];
  if (!is_bare(level) || level.sources.count > 0) return {};
  if (level.different.count > 0 || level.less.count > 0 || level.greater.count > 0) return {};
  PlainLevel plain;
  const PlanRange first = plan_.ranges[level.ranges.first], last = plan_.ranges[level.ranges.first + level.ranges.count - 1];
  if (level.candidates == nullptr) {
    if (level.ranges.count > 1) return {};
    plain.first_root = first.begin;
    plain.n_roots = first.end - first.begin;
    return plain;
  }
  const int64_t n = level.n_candidates;
  if (n == 0 || level.candidates[0] < first.begin || level.candidates[n - 1] >= last.end) return {};
  plain.candidates = level.candidates;
  plain.n_roots = static_cast<uint64_t>(n);
  return plain;
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
  const Walks all = walks();
  for (int k = 0; plain.prefetch && k < kAhead && k < before; ++k) prefetch_rows(plain, all, k);
  for (int k = 0; k < before; ++k) {
    if (plain.prefetch && k + kAhead < before) prefetch_rows(plain, all, k + kAhead);
    const int slot = slot_[static_cast<size_t>(k)];
    List lists[kMaxLevels];
    int64_t* values = value(slot);
    const PlanRange bounds = plain.ordered ? sample_bounds(plan_, plan_.levels[level], values) : PlanRange{0, 0};
    lists[0] = cut_list(plain, plain.sources[0], values, bounds);
    size_t shortest = 0;
    for (size_t j = 1; j < n_sources; ++j) {
      lists[j] = cut_list(plain, plain.sources[j], values, bounds);
      if (lists[j].n < lists[shortest].n) shortest = j;
    }
    List kept = lists[shortest];
    validated += kept.n;
    refined(kept.n);
    if (n_sources > 1) make_room(kept.n);
    uint32_t* out = refined_.data();
    for (size_t j = 0; j < n_sources && kept.n > 0; ++j) {
      if (j == shortest) continue;
      kept = {out, intersect(ops, kept.ids, kept.n, lists[j].ids, lists[j].n, out)};
      out = out == refined_.data() ? narrowed_.data() : refined_.data();
    }
    uint64_t skipped[kMaxLevels];
    size_t n_skipped = 0;
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
