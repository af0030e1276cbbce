// Looks many vertices up in one PCSR: what tests compare the host's look-up with.
//
// Preconditions: none. Launch: any grid of one-dimensional blocks, a vertex a thread, strided. Shared memory: none.
// Bytes moved: for each vertex its slice of 16 bytes, and what locate reads (dense 16, groups 128 a group, sorted 8 log n).
// Deterministic.
#include "qe/pcsr.h"

extern "C" __global__ void pcsr_locate(const qe::Pcsr* pcsr, const uint32_t* vertices, uint64_t n, qe::Slice* slices) {
  const uint64_t step = uint64_t{gridDim.x} * blockDim.x;
  for (uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step)
    slices[i] = qe::locate(*pcsr, vertices[i]);
}
