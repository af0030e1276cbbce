// Samples of a candidate graph whose plan is known to the compiler: see sample.cuh and sample_packed.cuh.
//
// Launch: QE_THREADS a block, so many blocks that 1,024 threads share a multiprocessor. Shared memory: kMostWarps totals, and
// with QE_COPIED the whole graph, which each block reads once. Limit: where the graph is in shared memory its random reads,
// about 132 * 32 banks / 3.5 a cycle on an H200, else L2's.
#include "sample/sample_packed.cuh"

namespace qe {

template <typename Estimator>
__device__ void draw_packed(const PackedGraph& graph, const SampleJob& job, char* shared) {
  auto* totals = reinterpret_cast<SampleTotals*>(shared);
#if QE_COPIED
  auto* copy = reinterpret_cast<PackedWord*>(shared + kMostWarps * sizeof(SampleTotals));
  for (uint32_t k = threadIdx.x; k < graph.n_words; k += blockDim.x) copy[k] = graph.words[k];
  __syncthreads();
  draw_samples<Estimator>(PackedSpace(graph, reinterpret_cast<const char*>(copy)), job, totals);
#else
  draw_samples<Estimator>(PackedSpace(graph, reinterpret_cast<const char*>(graph.words)), job, totals);
#endif
}

}  // namespace qe

#ifndef QE_ESTIMATOR
#define QE_ESTIMATOR qe::WanderJoin
#endif

extern "C" __global__ void __launch_bounds__(QE_THREADS, 1024 / QE_THREADS)
    sample_walks(const qe::PackedGraph graph, const qe::SampleJob job) {
  extern __shared__ __align__(16) char shared[];
  qe::draw_packed<QE_ESTIMATOR>(graph, job, shared);
}
