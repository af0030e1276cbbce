// Counts by two vertices, row by row: for each root u the signed sum of terms, each a sparse vector over the other vertex
// (eliminate_roots.h) times its root's number, or a number where both are one vertex.
//
// A worker takes a root as long as its part of the caller's buffers has room for a row of all vertices; the caller empties
// them and goes on at the next root. Bytes moved: those of the vectors, and 12 a pair that is written. Pairs of a root come
// in no order, the same for every number of threads. Source: Gustavson 1978.
#include <algorithm>
#include <vector>

#include "count/eliminate_roots.h"

namespace qe::eliminate {

using Signed = __int128;

// plan: its first top, or without tops the roots' own numbers, for pairs (u, u). The factor is of 128 bits.
struct PairTerm {
  const ForestPlan* plan;
  uint64_t factor_low;
  int64_t factor_high;
};

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
class PairRows {
 public:
  PairRows(const PairTerm* terms, int32_t n_terms, uint32_t n, const WorkQueue& queue)
      : terms_(terms), scratch_(n), sums_(n, Signed{0}) {
    roots_.reserve(static_cast<size_t>(n_terms));
    for (int32_t t = 0; t < n_terms; ++t) roots_.emplace_back(*terms[t].plan, queue, scratch_);
  }

  // Writes the row of u; returns its length.
  uint64_t row(uint32_t u, uint32_t* ends, int64_t* counts) {
    touched_.clear();
    for (size_t t = 0; t < roots_.size(); ++t) add(terms_[t], roots_[t], u);
    uint64_t length = 0;
    for (const uint32_t v : touched_) {
      const Signed sum = sums_[v];
      sums_[v] = 0;
      if (sum == 0) continue;
      if (sum < 0) throw Halt{kInvalid};
      if (sum > INT64_MAX) throw Halt{kOverflow};
      ends[length] = v;
      counts[length++] = static_cast<int64_t>(sum);
    }
    return length;
  }

 private:
  void add(const PairTerm& term, Roots<V>& roots, uint32_t u) {
    const ForestPlan& plan = *term.plan;
    const V own = plan.roots ? static_cast<const V*>(plan.roots)[u] : V{1};
    if (own == 0) return;
    const Signed factor = static_cast<Signed>(term.factor_high) * (Signed{1} << 64) + term.factor_low;
    const Signed scaled = times(factor, narrowed(own));
    if (plan.n_tops == 0) return add(u, scaled);
    const Sparse<V>& made = roots.vector(plan.tops[0], u);
    for (size_t i = 0; i < made.n; ++i) add(made.members()[i], times(scaled, narrowed(made.number(i))));
  }
  void add(uint32_t v, Signed more) {
    if (sums_[v] == 0) touched_.push_back(v);  // twice where terms cancel each other in between
    sums_[v] = plus(sums_[v], more);
  }
  static Signed narrowed(V number) {
    if (static_cast<Wide>(number) >> 127) throw Halt{kOverflow};
    return static_cast<Signed>(number);
  }

  const PairTerm* terms_;
  Scratch<V> scratch_;
  std::vector<Roots<V>> roots_;
  std::vector<Signed> sums_;
  std::vector<uint32_t> touched_;
};

template <typename V>
Status pairs(const PairTerm* terms, int32_t n_terms, uint32_t n, PairChunk* chunk, Control* control) {
  const uint64_t rows = std::min<uint64_t>(n - chunk->first, chunk->most);
  const auto threads = static_cast<int>(control->threads);
  WorkQueue queue(control, rows, 1);
  Charge charge(control);
  try {
    charge.add(static_cast<size_t>(threads) * n * (Scratch<V>::kBytes + sizeof(Signed) + 4));
  } catch (const Halt& halt) {
    return halt.status;
  }
  std::atomic<uint64_t> taken{0};
  const Status status = deal(threads, queue, [&](int worker) {
    PairRows<V> writer(terms, n_terms, n, queue);
    const uint64_t base = static_cast<uint64_t>(worker) * chunk->capacity;
    uint64_t used = 0;
    for (uint64_t row, after; chunk->capacity - used >= n && queue.take(&row, &after);) {
      taken.fetch_add(1, std::memory_order_relaxed);
      chunk->begins[row] = base + used;
      chunk->lengths[row] = writer.row(static_cast<uint32_t>(chunk->first + row), chunk->ends + base + used,
                                       chunk->counts + base + used);
      used += chunk->lengths[row];
    }
  });
  chunk->next = chunk->first + taken.load();
  return status;
}

}  // namespace
}  // namespace qe::eliminate

// Fills the chunk from its first row on.
QE_API int32_t qe_eliminate_pairs(const qe::eliminate::PairTerm* terms, int32_t n_terms, uint32_t n, int32_t wide,
                                  qe::eliminate::PairChunk* chunk, qe::Control* control) {
  return qe::eliminate::numbered(wide, [&](auto zero) {
    return qe::eliminate::pairs<decltype(zero)>(terms, n_terms, n, chunk, control);
  });
}
