// Copies arrays of the host's memory by all threads: bytes as they are, or numbers of 32 bits as such of 64.
//
// Where they go is new memory as a rule, which takes longer to touch for the first time than to write: that is why one thread is
// too slow. Arrays may not overlap. Bytes moved: each read and written once. The same for every number of threads.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "count/eliminate.h"

namespace qe {

struct ArrayCopy {
  const void* from;
  void* to;
  uint64_t n;        // bytes, or numbers
  uint64_t widened;  // whether uint32 become int64
};

namespace {

constexpr uint64_t kPiece = 1 << 17;  // bytes, or numbers: some tens of microseconds

uint64_t pieces_of(const ArrayCopy& each) {
  return (each.n + kPiece - 1) / kPiece;
}

void copy(const ArrayCopy& each, uint64_t begin, uint64_t end) {
  if (each.widened) {
    const auto* from = static_cast<const uint32_t*>(each.from);
    auto* to = static_cast<int64_t*>(each.to);
    for (uint64_t i = begin; i < end; ++i) to[i] = from[i];
  } else {
    std::memcpy(static_cast<char*>(each.to) + begin, static_cast<const char*>(each.from) + begin, end - begin);
  }
}

}  // namespace
}  // namespace qe

QE_API int32_t qe_copy_arrays(const qe::ArrayCopy* copies, uint64_t n, qe::Control* control) {
  uint64_t pieces = 0;
  for (uint64_t k = 0; k < n; ++k) pieces += qe::pieces_of(copies[k]);
  qe::eliminate::WorkQueue queue(control, pieces, 1);
  const int threads = static_cast<int>(std::min<uint64_t>(control->threads, pieces));
  return qe::eliminate::deal(threads, queue, [&](int) {
    for (uint64_t piece, end; queue.take(&piece, &end);) {
      const qe::ArrayCopy* each = copies;
      for (; piece >= qe::pieces_of(*each); ++each) piece -= qe::pieces_of(*each);
      qe::copy(*each, piece * qe::kPiece, std::min(each->n, (piece + 1) * qe::kPiece));
    }
  });
}
