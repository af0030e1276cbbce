// Neighbours that are drawn for mini-batches: see qe/sampled_neighbours.h.
#include "qe/sampled_neighbours.h"

#include "qe/abi.h"

QE_API int32_t qe_sampled_neighbours(const qe::NeighbourJob* job) {
  for (uint64_t i = 0; i < job->n; ++i) qe::sample_neighbours(*job, i);
  return qe::kOk;
}
