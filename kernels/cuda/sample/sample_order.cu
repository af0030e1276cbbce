// In which order samples of a plan are drawn where lists lie in the host's memory: see sample.cuh.
//
// Launch: any threads, no shared memory; passes (base/stop.cuh). At most 2^kOrderBits samples. Bytes moved: for the order of
// roots only the order; for that of second vertices an entry of each root's list, in the order of the roots.
#include "sample/sample.cuh"

namespace qe {

// The place that a sample picks at a level, if none is refused.
__device__ inline uint64_t first_pick(SampleId id, int level, uint64_t places) {
  return places ? pick(id, level, sample_block(id, level).word[level % kBlockLevels], places) : 0;
}

}  // namespace qe

// order[k]: the place of sample k at the first level, which has no source, above k: to be sorted.
extern "C" __global__ void sample_roots(const qe::MatchPlan* plan, const qe::SampleJob job, uint64_t* order) {
  const uint64_t places = qe::sample_step(*plan, plan->levels[0], nullptr).n;
  for (uint64_t k = qe::thread(); k < job.samples; k += qe::threads())
    order[k] = qe::first_pick({job.seed, job.first + k}, 0, places) << qe::kOrderBits | k;
}

// Puts above each sample of the order of roots its place there, and above that a window of 2^window entries in which the list of
// its second vertex begins, in plan->lists[list]: to be sorted. The first `heavy` come first, wherever that is.
extern "C" __global__ void sample_windows(const qe::MatchPlan* plan, const qe::SampleJob job, int32_t list, int32_t window,
                                          uint64_t heavy, uint64_t* order) {
  const qe::PlanLevel& level = plan->levels[1];
  for (uint64_t at = qe::thread(); at < job.samples; at += qe::threads()) {
    const uint64_t number = order[at] & qe::kOrderMask;
    const qe::SampleId id = {job.seed, job.first + number};
    const qe::SampleStep root = qe::sample_step(*plan, plan->levels[0], nullptr);
    uint64_t found = 0;
    if (at >= heavy && root.n > 0) {
      const int64_t value[1] = {qe::fixed_place(*plan, plan->levels[0], order[at] >> qe::kOrderBits).vertex};
      const qe::SampleStep step = qe::sample_step(*plan, level, value);
      if (step.n > 0) {
        const uint32_t second = qe::sample_place(*plan, level, step, value, qe::first_pick(id, 1, step.n)).vertex;
        found = min(qe::kOrderWindows - 1, 1 + (qe::locate(plan->lists[list], second).begin >> window));
      }
    }
    order[at] = (found << qe::kOrderBits | at) << qe::kOrderBits | number;
  }
}
