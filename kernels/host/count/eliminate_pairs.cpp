// Counts by two vertices, row by row (pair_rows.h).
//
// A worker takes a root as long as its part of the caller's buffers has room for a row of all vertices; the caller empties
// them and goes on at the next root. Bytes moved: those of the vectors, and 12 a pair that is written. Pairs of a root come
// in no order, the same for every number of threads. Source: Gustavson 1978.
#include <algorithm>

#include "count/pair_rows.h"

namespace qe::eliminate {

// What a call fills. Row r - first, for first <= r < next: ends and counts at [begins, begins + lengths).
struct PairChunk {
  uint64_t first, next, most;  // rows: at most so many a call
  uint64_t capacity;           // pairs that each worker has room for: no fewer than there are vertices
  uint32_t* ends;
  int64_t* counts;
  uint64_t* begins;
  uint64_t* lengths;
};

namespace {

template <typename V>
void pairs(const PairTerm* terms, int32_t n_terms, uint32_t n, PairChunk* chunk, Control* control) {
  const uint64_t rows = std::min<uint64_t>(n - chunk->first, chunk->most);
  const auto threads = static_cast<int>(control->threads);
  WorkQueue queue(control, rows, 1);
  Charge charge(control);
  charge.add(static_cast<size_t>(threads) * PairRows<V>::bytes(terms, n_terms, n));
  std::atomic<uint64_t> taken{0};
  const Status status = deal(threads, queue, [&](int worker) {
    PairRows<V> writer(terms, n_terms, n, queue);
    const uint64_t base = static_cast<uint64_t>(worker) * chunk->capacity;
    uint64_t used = 0;
    for (uint64_t row, after; chunk->capacity - used >= n && queue.take(&row, &after);) {
      taken.fetch_add(1, std::memory_order_relaxed);
      chunk->begins[row] = base + used;
      writer.row(static_cast<uint32_t>(chunk->first + row), [&](uint32_t end, Signed count) {
        if (count > INT64_MAX) throw Halt{kOverflow};
        chunk->ends[base + used] = end;
        chunk->counts[base + used++] = static_cast<int64_t>(count);
      });
      chunk->lengths[row] = base + used - chunk->begins[row];
    }
  });
  check(status);
  chunk->next = chunk->first + taken.load();
}

}  // namespace
}  // namespace qe::eliminate

// Fills the chunk from its first row on.
QE_API int32_t qe_eliminate_pairs(const qe::eliminate::PairTerm* terms, int32_t n_terms, uint32_t n, int32_t wide,
                                  qe::eliminate::PairChunk* chunk, qe::Control* control) {
  return qe::eliminate::numbered(wide, [&](auto zero) {
    return qe::eliminate::guarded([&] { qe::eliminate::pairs<decltype(zero)>(terms, n_terms, n, chunk, control); });
  });
}
