// Looks many vertices up in one PCSR: what tests compare the builders with, and Python's batched look-ups.
#include <algorithm>

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

// Adds to degrees[i] how many neighbours in [low, high) vertices[i] has.
QE_API int32_t qe_pcsr_degrees(const qe::Pcsr* pcsr, const uint32_t* vertices, uint64_t n, uint32_t low, uint32_t high,
                               double* degrees) {
  for (uint64_t i = 0; i < n; ++i) {
    const qe::Slice slice = qe::locate(*pcsr, vertices[i]);
    const uint32_t *begin = pcsr->neighbours + slice.begin, *end = pcsr->neighbours + slice.end;
    if (begin == end) continue;
    const auto *from = *begin >= low ? begin : std::lower_bound(begin, end, low);
    const auto *to = end[-1] < high ? end : std::lower_bound(from, end, high);
    degrees[i] += static_cast<double>(to - from);
  }
  return qe::kOk;
}
