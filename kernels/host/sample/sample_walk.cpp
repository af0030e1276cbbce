// Steps of WanderJoin, one walk at a time: see sample_walk.h.
#include "sample/sample_walk.h"

namespace qe {
namespace {

void draw(SampleId first, uint64_t high, const int* slots, int n, PhiloxBlock* blocks) {
  for (int k = 0; k < n; ++k) {
    const int slot = slots[k];
    blocks[slot] = philox(first.number + static_cast<uint64_t>(slot), high, first.seed);
  }
}

void roots(const PlainLevel& plain, int level, const Walks& walks, int n) {
  for (int k = 0; k < n; ++k) {
    const int slot = walks.slots[k];
    const uint64_t choice = pick(walks.id(slot), level, walks.word(slot, level), plain.n_roots);
    walks.value(slot)[level] = plain.candidates ? plain.candidates[choice] : plain.first_root + static_cast<uint32_t>(choice);
    walks.weights[slot] *= static_cast<double>(plain.n_roots);
  }
}

int pick_each(const PlainLevel& plain, int level, const Walks& walks, int n, WalkPicks& picks) {
  const PlanLevel& demands = walks.plan->levels[level];
  int picked = 0;
  for (int k = 0; plain.prefetch && k < kAhead && k < n; ++k) prefetch_rows(plain, walks, k);
  for (int k = 0; k < n; ++k) {
    if (plain.prefetch && k + kAhead < n) prefetch_rows(plain, walks, k + kAhead);
    const int slot = walks.slots[k];
    const int64_t* values = walks.value(slot);
    const PlanRange bounds = plain.ordered ? sample_bounds(*walks.plan, demands, values) : PlanRange{0, 0};
    List least = cut_list(plain, plain.sources[0], values, bounds);
    int source = 0;
    for (size_t j = 1; j < plain.sources.size(); ++j) {
      const List list = cut_list(plain, plain.sources[j], values, bounds);
      if (plain.prefetch) __builtin_prefetch(list.ids + list.n / 2);
      if (list.n < least.n) {
        least = list;
        source = static_cast<int>(j);
      }
    }
    if (least.n == 0) continue;
    picks.where[picked] = least.ids + pick(walks.id(slot), level, walks.word(slot, level), least.n);
    picks.n[picked] = least.n;
    picks.source[picked] = source;
    if (plain.prefetch) __builtin_prefetch(picks.where[picked]);
    walks.slots[picked++] = slot;
  }
  return picked;
}

int validate_each(const PlainLevel& plain, int level, const Walks& walks, int n, const WalkPicks& picks) {
  int left = 0;
  for (int k = 0; k < n; ++k) {
    const int slot = walks.slots[k];
    const uint32_t v = *picks.where[k];
    int64_t* values = walks.value(slot);
    bool fits = true;
    for (int other : plain.different) fits &= values[other] != static_cast<int64_t>(v);
    for (size_t j = 0; j < plain.sources.size() && fits; ++j) {
      if (static_cast<int>(j) == picks.source[k]) continue;
      const List list = plain_list(plain.sources[j], values);
      fits = contains(list.ids, list.n, v);
    }
    if (!fits) continue;
    values[level] = v;
    walks.weights[slot] *= static_cast<double>(picks.n[k]);
    walks.slots[left++] = slot;
  }
  return left;
}

}  // namespace

const WalkOps kBaselineWalk = {draw, roots, pick_each, validate_each};

const WalkOps& walk_ops(Isa isa) {
#if defined(QE_X86)
  if (isa == kAvx512) return kAvx512Walk;
#endif
  static_cast<void>(isa);
  return kBaselineWalk;
}

}  // namespace qe
