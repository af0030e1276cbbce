// Looks many vertices up in one PCSR: what tests compare the builders with, and Python's batched look-up.
#include "qe/abi.h"
#include "qe/pcsr.h"

QE_API int32_t qe_pcsr_locate(const qe::Pcsr* pcsr, const uint32_t* vertices, uint64_t n, uint64_t* begins,
                              uint64_t* ends) {
  for (uint64_t i = 0; i < n; ++i) {
    const qe::Slice slice = qe::locate(*pcsr, vertices[i]);
    begins[i] = slice.begin;
    ends[i] = slice.end;
  }
  return qe::kOk;
}
