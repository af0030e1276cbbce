// Samples of any plan: see sample.cuh. A lane walks through the plan as it lies in device memory, by qe/sample.h.
//
// QE_LEVELS: the most levels of the variant; a walk's ids take 8 bytes a level and lane of local memory. Bytes moved: a
// level reads its records (the same for all lanes, from L1), a row index entry a list, and the ids that it picks or
// searches. Limit: the random reads, 130 G/s from L2 on an H200.
//
// QE_ESTIMATOR: the estimator, of sample.cuh or of code that stands before this file. A variant has one: compilers take as
// long for each as for all else.
#include "sample/sample_plan.cuh"

#ifndef QE_ESTIMATOR
#define QE_ESTIMATOR qe::WanderJoin
#endif

extern "C" __global__ void __launch_bounds__(256) sample_walks(const qe::MatchPlan* plan, const qe::SampleJob job) {
  extern __shared__ __align__(16) char shared[];
  qe::draw_samples<QE_ESTIMATOR>(qe::PlanSpace(*plan), job, reinterpret_cast<qe::SampleTotals*>(shared));
}
