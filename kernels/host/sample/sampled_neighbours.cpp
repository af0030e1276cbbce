// Neighbours that are drawn for mini-batches: see qe/sampled_neighbours.h.
#include "qe/sampled_neighbours.h"

#include "qe/abi.h"

// at[i]: how many neighbours of node i are drawn.
QE_API int32_t qe_sampled_counts(const qe::NeighbourJob* job) {
  for (uint64_t i = 0; i < job->n; ++i) job->at[i] = static_cast<int64_t>(qe::sampled_count(*job, i));
  return qe::kOk;
}

QE_API int32_t qe_sampled_neighbours(const qe::NeighbourJob* job) {
  for (uint64_t i = 0; i < job->n; ++i) qe::sample_neighbours(*job, i);
  return qe::kOk;
}
