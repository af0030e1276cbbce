// Samples of any plan: see sample.cuh. A lane walks through the plan as it lies in device memory, by qe/sample.h.
//
// QE_LEVELS: the most levels of the variant; a walk's ids take 8 bytes a level and lane of local memory. Bytes moved: a
// level reads its records (the same for all lanes, from L1), a row index entry a list, and the ids that it picks or
// searches. Limit: the random reads, 130 G/s from L2 on an H200.
//
// With QE_ESTIMATOR, the name of an estimator that stands before this file, there is one kernel, for it.
#include "sample/sample_plan.cuh"

#define QE_SAMPLER(name, Estimator)                                                                                    \
  extern "C" __global__ void __launch_bounds__(256) name(const qe::MatchPlan* plan, const qe::SampleJob job) {         \
    extern __shared__ __align__(16) char shared[];                                                                     \
    qe::draw_samples<Estimator>(qe::PlanSpace(*plan), job, reinterpret_cast<qe::SampleTotals*>(shared));               \
  }

#ifdef QE_ESTIMATOR
QE_SAMPLER(sample_own, QE_ESTIMATOR)
#else
QE_SAMPLER(sample_wanderjoin, qe::WanderJoin)
QE_SAMPLER(sample_alley, qe::Alley)
QE_SAMPLER(sample_guided, qe::Guided)

// order[k]: sample k's place at the first level, which has no source, in the upper half, and k in the lower: to be sorted.
// Launch: any threads, no shared memory; a pass (base/stop.cuh). At most 2^32 samples.
extern "C" __global__ void sample_roots(const qe::MatchPlan* plan, const qe::SampleJob job, uint64_t* order) {
  const uint64_t places = qe::sample_step(*plan, plan->levels[0], nullptr).n;
  for (uint64_t k = qe::thread(); k < job.samples; k += qe::threads()) {
    const qe::SampleId id = {job.seed, job.first + k};
    const uint64_t root = places ? qe::pick(id, 0, qe::sample_block(id, 0).word[0], places) : 0;
    order[k] = root << 32 | k;
  }
}
#endif
