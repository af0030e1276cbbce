// Picks that are as likely as their ways to go on say: see sample_guide.h.
#include "sample/sample_guide.h"

#include <algorithm>

#include "sample/sample_batch.h"

namespace qe {
const GuideLevel* SampleBatch::guide_of(int level) const {
  const GuideLevel* guide = guide_ ? guide_ + level : nullptr;
  return guide && guide->ways ? guide : nullptr;
}

bool SampleBatch::bind_guided(int level, int slot, List ids, const double* running, const uint64_t* skipped,
                              size_t n_skipped) {
  const GuideLevel& guide = *guide_of(level);
  if (running == nullptr || n_skipped > 0) {
    if (summed_.size() < ids.n) summed_.resize(2 * ids.n);
    double total = 0;
    size_t next = 0;
    for (uint64_t k = 0; k < ids.n; ++k) {
      if (next < n_skipped && skipped[next] == k) ++next;
      else total += guide.ways[ids.ids[k] - guide.lo];
      summed_[k] = total;
    }
    running = summed_.data();
  }
  const double total = running[ids.n - 1];
  if (!(total > 0)) return false;
  auto choice = static_cast<uint64_t>(std::upper_bound(running, running + ids.n, guide_fraction(fine_[static_cast<size_t>(slot)], level) * total) - running);
  if (choice == ids.n)  // by rounding
    choice = static_cast<uint64_t>(std::lower_bound(running, running + ids.n, total) - running);
  const uint32_t v = ids.ids[choice];
  value(slot)[level] = v;
  weights_[static_cast<size_t>(slot)] *= total / guide.ways[v - guide.lo];
  return true;
}

// Levels without a source have the same candidates for every sample: one is picked, then validated.
int64_t SampleBatch::guide_roots(int level) {
  const PlanLevel& plan = plan_.levels[level];
  const List candidates = {plan.candidates, static_cast<uint64_t>(plan.n_candidates)};
  const int before = alive_;
  alive_ = 0;
  for (int k = 0; k < before && candidates.n > 0; ++k) {
    const int slot = slot_[static_cast<size_t>(k)];
    const SampleStep step = sample_step(plan_, plan, value(slot));
    refined(candidates.n);
    if (step.n == 0 || !bind_guided(level, slot, candidates, guide_of(level)->running, nullptr, 0)) continue;
    const SamplePlace place = {static_cast<uint32_t>(value(slot)[level]), false};
    if (validate_vertex(plan_, level, step, place, value(slot))) slot_[static_cast<size_t>(alive_++)] = slot;
  }
  return 0;
}

}  // namespace qe
