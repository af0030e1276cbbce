// The ways along two matrices: for each row r of the first, the sum over all columns z of the second of the square of how many
// ways there are from r to z. Closed walks of four steps from r, where both are one symmetric matrix.
//
// Of the second matrix's long rows the head, the columns before some bound, is kept as a row of bits (BitRows). Heads are added
// up as counters of bits (set_ops), the rest raises counters one by one. Columns are vertices, numbered by descending degree, so
// that most of what is long is head; of a matrix of blocks, which links rows of one block only, all of a row is. Bytes moved: a
// head, or a counter at random for each entry, for each entry of the first matrix. Deterministic. Sources: positional counts of
// bits (Klarqvist, Muła and Lemire 2021); Harley and Seal's counter (Muła, Kurz and Lemire 2018).
#include "count/bit_rows.h"

namespace qe::eliminate {

// Both without numbers; the second links a pair once. out has a number for each of n_roots rows.
struct RowSquares {
  const Matrix *start, *link;
  uint64_t* out;
  uint32_t n_roots, n_columns;
};

namespace {

constexpr size_t kLong = 128;                     // entries of a row whose head has bits
constexpr size_t kMostColumns = size_t{1} << 14;  // of a head
constexpr size_t kMostBytes = size_t{256} << 20;  // of all heads
constexpr size_t kBatch = 32;                     // heads that are added at a time
constexpr size_t kSquareCost = 8;                 // of 64 counters that are squared, in counters that are raised one by one
constexpr uint64_t kSteps = 1 << 16;

class Squares {
 public:
  Squares(const Matrix& start, const Matrix& link, const WorkQueue& queue, Charge& charge, uint64_t* out, size_t n_columns)
      : start_(start), link_(link), ops_(set_ops(current_isa())), patience_(queue, kSteps), charge_(charge), out_(out),
        columns_(n_columns) {}

  void root(const BitRows& heads, uint32_t r) {
    const Slice own = row(start_, r);
    uint64_t found = 0;
    const bool headed = add_heads(heads, own, &found);
    if (!headed || rest_ > 0) found = plus(found, add_rest(heads, own, headed));
    out_[r] = found;
  }

 private:
  uint32_t head_of(const BitRows& heads, uint32_t x) const { return (link_.rows ? link_.rows[x] : x) - heads.first(); }
  // The row of the second matrix, less its head where heads have been added.
  Slice rest(const BitRows& heads, uint32_t x, bool headed) const {
    Slice at = row(link_, x);
    if (headed && at.begin < at.end && heads.find(head_of(heads, x))) at.begin = heads.tail(head_of(heads, x));
    return at;
  }

  uint32_t* counts(const BitRows& heads) {
    const size_t n = std::max(heads.columns(), columns_);
    if (counts_.capacity() < n) {
      counts_.reserve(n, charge_);
      std::fill_n(counts_.data(), counts_.capacity(), 0);
    }
    return counts_.data();
  }

  // Raises counters by what heads have not counted: the sum of c^2 grows by 2c + 1.
  uint64_t add_rest(const BitRows& heads, Slice own, bool headed) {
    uint32_t* counters = counts(heads) - heads.origin();
    uint64_t found = 0;
    for (uint64_t e = own.begin; e < own.end; ++e) {
      const Slice at = rest(heads, start_.ids[e], headed);
      uint64_t more = 0;
      for (uint64_t f = at.begin; f < at.end; ++f) more += 2 * uint64_t{counters[link_.ids[f]]++} + 1;
      found = plus(found, more);
      patience_.spend(length(at) + 1);
    }
    for (uint64_t e = own.begin; e < own.end; ++e) {
      const Slice at = rest(heads, start_.ids[e], headed);
      for (uint64_t f = at.begin; f < at.end; ++f) counters[link_.ids[f]] = 0;
    }
    if (headed) std::fill_n(counts_.data(), heads.columns(), 0);
    return found;
  }

  // Counts along heads, where that takes less: their squares, and where rows have tails their counters.
  bool add_heads(const BitRows& heads, Slice own, uint64_t* found) {
    const size_t words = heads.words();
    uint64_t n = 0, entries = 0;
    rest_ = 0;
    for (uint64_t e = own.begin; e < own.end; ++e) {
      const Slice at = row(link_, start_.ids[e]);
      rest_ += length(at);
      if (heads.whole() || at.begin == at.end) continue;
      const uint32_t k = head_of(heads, start_.ids[e]);
      if (heads.find(k) == nullptr) continue;
      ++n;
      entries += heads.tail(k) - at.begin;
    }
    if (heads.whole()) {
      n = length(own);
      entries = rest_;
    }
    rest_ -= entries;
    if (n < 2 || entries < words * ((rest_ > 0 ? ops_.spread_cost : kSquareCost) + n / 4)) return false;
    size_t digits = kLeastDigits;
    while (n >> digits) ++digits;
    const BitCounters counters{counters_.reserve(words * digits, charge_), digits};
    std::fill_n(counters.words, words * digits, 0);
    BitRow batch[kBatch];
    size_t held = 0;
    for (uint64_t e = own.begin; e < own.end; ++e) {
      const bool empty = !heads.whole() && length(row(link_, start_.ids[e])) == 0;
      const uint64_t* head = empty ? nullptr : heads.find(head_of(heads, start_.ids[e]));
      if (head) batch[held++] = {head, words};
      if (held < kBatch) continue;
      ops_.add_rows(batch, held, counters);
      held = 0;
    }
    ops_.add_rows(batch, held, counters);
    patience_.spend(n * words);
    *found = rest_ > 0 ? plus(ops_.spread_counters(counters, words / kRowBlock, counts(heads)), entries) : squares(counters, words);
    return true;
  }

  uint64_t squares(BitCounters counters, size_t words) const {
    uint64_t found = 0;
    uint64_t sums[2 * 33 * kRowBlock];
    for (size_t block = 0; block < words; block += kRowBlock) {
      std::fill(sums, sums + 2 * counters.digits * kRowBlock, 0);
      ops_.add_squares({counters.words + block * counters.digits, counters.digits}, sums);
      for (size_t d = 0; d < 2 * counters.digits; ++d)
        for (size_t w = 0; w < kRowBlock; ++w) found += sums[d * kRowBlock + w] << d;
    }
    return found;
  }

  const Matrix &start_, &link_;
  const SetOps& ops_;
  Patience patience_;
  Charge& charge_;
  uint64_t* out_;
  size_t columns_;
  Buffer<uint32_t> counts_;  // all 0 between two rows
  Buffer<uint64_t> counters_;
  uint64_t rest_ = 0;  // entries of a root's rows that aren't in heads
};

void row_squares(const RowSquares& task, Control* control) {
  Charge charge(control);
  const Matrix& link = *task.link;
  const int threads = workers_for(control, 4 * entries_of(*task.start));
  BitRows heads;
  heads.open(link, {link.lo, link.hi - link.lo, 0, std::min<size_t>(task.n_columns, kMostColumns), kLong, kMostBytes}, charge);
  check(each_row(threads, control, heads.n(), 64, [&](uint32_t k) { heads.fill(k); }));
  WorkQueue queue(control, task.n_roots, 16);
  check(deal(threads, queue, [&](int) {
    Squares worker(*task.start, link, queue, charge, task.out, task.n_columns);
    for (uint64_t r, after; queue.take(&r, &after);)
      for (; r < after; ++r) worker.root(heads, static_cast<uint32_t>(r));
  }));
}

}  // namespace
}  // namespace qe::eliminate

using namespace qe::eliminate;

QE_API int32_t qe_row_squares(const RowSquares* task, qe::Control* control) {
  return guarded([&] { row_squares(*task, control); });
}

// out[v], for each row v: its closed walks of four steps. Rows [blocks[b], blocks[b + 1]) are a block (each_block); m.lo is 0.
QE_API int32_t qe_eliminate_local_walks(const Matrix* m, const uint64_t* blocks, uint64_t n_blocks, uint64_t* out,
                                        qe::Control* control) {
  return guarded([&] {
    qe::Charge charge(control);
    each_block(*m, blocks, n_blocks, control, charge,
               [&](const WorkQueue& queue) { return Squares(*m, *m, queue, charge, out, 0); });
  });
}
