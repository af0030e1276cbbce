// Neighbours that are drawn for mini-batches: see qe/sampled_neighbours.h.
//
// Launch: any threads, a node a thread, strided; no shared memory; passes (base/stop.cuh). Bytes moved: a sector of the lists
// for each neighbour, 16 bytes written.
#include "qe/sampled_neighbours.h"
#include "base/warp.cuh"

// at[i]: how many neighbours of node i are drawn.
extern "C" __global__ void sampled_counts(const qe::NeighbourJob job) {
  for (uint64_t i = qe::thread(); i < job.n; i += qe::threads()) job.at[i] = static_cast<int64_t>(qe::sampled_count(job, i));
}

extern "C" __global__ void sampled_neighbours(const qe::NeighbourJob job) {
  for (uint64_t i = qe::thread(); i < job.n; i += qe::threads()) qe::sample_neighbours(job, i);
}
