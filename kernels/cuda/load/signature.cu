// Builds the signatures of all vertices (qe/signature.h): the host's table.
//
// Preconditions: all pointers of the input are the device's. Launch: any grid of one-dimensional blocks, a vertex a thread,
// strided. Shared memory: none. Bytes moved: the ends of each run of neighbours with the same labels, 64 bytes a vertex written.
// Deterministic. Source: GSI §III-A.
#include "qe/signature.h"

using namespace qe;

// table[kSignatureWords * n_vertices].
extern "C" __global__ void signature_build(const SignatureInput* given, uint32_t* table) {
  const SignatureInput& in = *given;
  const uint64_t step = uint64_t{gridDim.x} * blockDim.x, n = in.n_vertices;
  for (uint64_t v = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; v < n; v += step) {
    uint32_t words[kSignatureWords];
    signature_of(in, static_cast<uint32_t>(v), words);
    for (int w = 0; w < kSignatureWords; ++w) table[w * n + v] = words[w];
  }
}
