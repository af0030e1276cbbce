// Builds vertex signatures (qe/signature.h).
//
// Each vertex by itself, threads take shares of the ids; reads a list's ends of runs, writes 64 bytes a vertex. Deterministic.
#include "qe/abi.h"
#include "qe/signature.h"

#include <algorithm>

#include "base/workers.h"

namespace {

constexpr uint64_t kBlock = 64;

}  // namespace

// Fills table[kSignatureWords * n_vertices].
QE_API int32_t qe_signature_build(const qe::SignatureInput* in, uint32_t* table, int32_t threads) {
  using namespace qe;
  const uint64_t n = in->n_vertices, blocks = (n + kBlock - 1) / kBlock;
  return run_workers(threads, [&](int worker) {
    uint32_t words[kSignatureWords];
    for (uint64_t block = worker; block < blocks; block += static_cast<uint64_t>(threads))
      for (uint64_t v = block * kBlock; v < std::min(n, (block + 1) * kBlock); ++v) {
        signature_of(*in, static_cast<uint32_t>(v), words);
        for (int w = 0; w < kSignatureWords; ++w) table[static_cast<uint64_t>(w) * n + v] = words[w];
      }
  });
}

// Returns the group that a kind of neighbour counts in.
QE_API uint32_t qe_signature_group(uint32_t list_number, uint32_t label) {
  return qe::signature_group(list_number, label);
}
