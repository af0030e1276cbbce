// Neighbours that are drawn for mini-batches: see qe/sampled_neighbours.h.
//
// Launch: any threads, a node a thread, strided; no shared memory; a pass (base/stop.cuh). Bytes moved: a sector of the lists
// for each neighbour, which crosses nothing but the device's memory, and 16 written.
#include "qe/sampled_neighbours.h"
#include "base/warp.cuh"

extern "C" __global__ void sampled_neighbours(const qe::NeighbourJob job) {
  for (uint64_t i = qe::thread(); i < job.n; i += qe::threads()) qe::sample_neighbours(job, i);
}
