// A MatchPlan as a space to sample (sample.cuh): the functions of qe/sample.h, for levels of vertices and of relationships.
#pragma once
#include "sample/sample.cuh"

#ifndef QE_LEVELS
#define QE_LEVELS 64
#endif

namespace qe {

class PlanSpace {
 public:
  struct Values {
    int64_t at[QE_LEVELS];
  };
  using Step = SampleStep;

  __device__ explicit PlanSpace(const MatchPlan& plan) : plan_(plan) {}

  template <typename Call>
  __device__ static void each_level(int depth, Call call) {
#pragma unroll 1
    for (int level = 0; level < depth; ++level)
      if (!call(level)) return;
  }

  __device__ static Step no_step() { return {{0, 0}, -1, 0, {0, 0}}; }

  __device__ __noinline__ Step step(int level, const Values& value) const {
    const PlanLevel& at = plan_.levels[level];
    if (at.kind == kVertexLevel) return sample_step(plan_, at, value.at);
    Step step = no_step();
    step.n = count_places(plan_, at, value.at);
    return step;
  }

  __device__ bool has_source(int level) const {
    return plan_.levels[level].kind == kEdgeLevel || plan_.levels[level].sources.count > 0;
  }

  // May the level be bound to the place? If so, it is.
  __device__ __noinline__ bool admit(int level, const Step& step, Values& value, uint64_t place) const {
    const PlanLevel& at = plan_.levels[level];
    if (at.kind == kEdgeLevel) return bind_edge(plan_, level, value.at, place);
    return validate_vertex(plan_, level, step, sample_place(plan_, at, step, value.at, place), value.at);
  }

  __device__ __noinline__ void bind(int level, const Step& step, Values& value, uint64_t place) const {
    const PlanLevel& at = plan_.levels[level];
    if (at.kind == kEdgeLevel) bind_edge(plan_, level, value.at, place);
    else value.at[level] = sample_place(plan_, at, step, value.at, place).vertex;
  }

  __device__ static int64_t id(int level, const Values& value) { return value.at[level]; }

  // Gives all lanes what `from` has: the ids of the first levels, or a step.
  __device__ static void lend(Values& value, int levels, int from) {
    for (int k = 0; k < levels; ++k) value.at[k] = __shfl_sync(kAllLanes, value.at[k], from);
  }
  __device__ static Step lend(const Step& step, int from) {
    return {{__shfl_sync(kAllLanes, step.bounds.begin, from), __shfl_sync(kAllLanes, step.bounds.end, from)},
            __shfl_sync(kAllLanes, step.source, from),
            __shfl_sync(kAllLanes, step.n, from),
            {__shfl_sync(kAllLanes, step.slice.begin, from), __shfl_sync(kAllLanes, step.slice.end, from)}};
  }

 private:
  const MatchPlan& plan_;
};

}  // namespace qe
