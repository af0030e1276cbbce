// Checksums of bytes, for writing and reading saved graphs: see checksum.h.
#include "load/checksum.h"
#include "qe/abi.h"

QE_API uint64_t qe_checksum(uint64_t* state, const unsigned char* data, uint64_t n, uint64_t total) {
  return qe::checksum(state, data, n, total);
}
