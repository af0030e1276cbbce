// The ways along two matrices: for each row r of the first, the sum over all columns z of the second of the square of how many
// ways there are from r to z.
//
// The second matrix's rows are long or short. Of long ones the head, the columns before some bound, is kept as a row of bits;
// heads are added up as counters of bits (set_ops), the rest raises counters one by one. Columns are vertices, numbered by
// descending degree, so that most of what is long is head. Bytes moved: a head, or a counter at random for each entry, for each
// entry of the first matrix. Deterministic. Sources: positional counts of bits (Klarqvist, Muła and Lemire 2021); Harley and
// Seal's counter (Muła, Kurz and Lemire 2018).
#include <algorithm>
#include <limits>
#include <vector>

#include "count/eliminate.h"
#include "ops/set_ops.h"
#include "qe/lists.h"

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
constexpr uint64_t kPatience = 1 << 16;
constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

// The heads of a matrix's long rows.
class Heads {
 public:
  Heads(const Matrix& m, uint32_t n_columns, Charge& charge) : m_(m), places_(m.hi - m.lo, kNone), tails_(m.hi - m.lo, 0) {
    const size_t blocks = (std::min<size_t>(n_columns, kMostColumns) + 64 * kRowBlock - 1) / (64 * kRowBlock);
    columns_ = blocks * 64 * kRowBlock;
    words_ = blocks * kRowBlock;
    const size_t most = kMostBytes / (words_ * sizeof(uint64_t));
    uint32_t n = 0;
    for (uint32_t k = 0; k < m.hi - m.lo && n < most; ++k)
      if (m.offsets[k + 1] - m.offsets[k] >= kLong) places_[k] = n++;
    const size_t bytes = n * words_ * sizeof(uint64_t);
    if (!charge.affords(bytes)) n = 0;
    if (n == 0) std::fill(places_.begin(), places_.end(), kNone);
    else charge.add(bytes);
    bits_.assign(n * words_, 0);
  }

  size_t rows() const { return places_.size(); }
  size_t words() const { return words_; }
  size_t columns() const { return columns_; }
  // Of row lo + k; null where it has none.
  const uint64_t* find(uint32_t k) const { return places_[k] == kNone ? nullptr : bits_.data() + places_[k] * words_; }
  uint64_t tail(uint32_t k) const { return tails_[k]; }  // its first entry that isn't in the head

  void fill(uint32_t k) {
    if (places_[k] == kNone) return;
    uint64_t* bits = bits_.data() + places_[k] * words_;
    const uint64_t begin = m_.offsets[k], end = m_.offsets[k + 1];
    tails_[k] = begin + lower_bound(m_.ids + begin, end - begin, static_cast<uint32_t>(columns_));
    for (uint64_t e = begin; e < tails_[k]; ++e) bits[m_.ids[e] >> 6] |= uint64_t{1} << (m_.ids[e] & 63);
  }

 private:
  const Matrix& m_;
  std::vector<uint32_t> places_;
  std::vector<uint64_t> tails_;
  std::vector<uint64_t> bits_;
  size_t columns_, words_;
};

class Worker {
 public:
  Worker(const RowSquares& task, const Heads& heads, const WorkQueue& queue, Charge& charge)
      : start_(*task.start), link_(*task.link), heads_(heads), ops_(set_ops(current_isa())), queue_(queue), charge_(charge),
        counts_(std::max<size_t>(task.n_columns, heads.columns()), 0) {}

  static size_t bytes(const RowSquares& task, const Heads& heads) {
    return std::max<size_t>(task.n_columns, heads.columns()) * sizeof(uint32_t);
  }

  uint64_t root(uint32_t r) {
    const Slice own = row(start_, r);
    uint64_t found = add_heads(own);
    for (uint64_t e = own.begin; e < own.end; ++e) {
      const Slice at = rest(start_.ids[e]);
      for (uint64_t f = at.begin; f < at.end; ++f) found = plus(found, 2 * uint64_t{counts_[link_.ids[f]]++} + 1);
      spend(at.end - at.begin);
    }
    for (uint64_t e = own.begin; e < own.end; ++e) {
      const Slice at = rest(start_.ids[e]);
      for (uint64_t f = at.begin; f < at.end; ++f) counts_[link_.ids[f]] = 0;
    }
    if (headed_) std::fill_n(counts_.begin(), heads_.columns(), 0);
    return found;
  }

 private:
  // The row of the second matrix, less its head where heads have been added.
  Slice rest(uint32_t x) const {
    Slice at = row(link_, x);
    if (headed_ && at.begin < at.end && heads_.find(head_of(x))) at.begin = heads_.tail(head_of(x));
    return at;
  }
  uint32_t head_of(uint32_t x) const { return (link_.rows ? link_.rows[x] : x) - link_.lo; }

  // Counts along heads, where that takes less; returns the sum of the squares.
  uint64_t add_heads(Slice own) {
    headed_ = false;
    uint64_t n = 0, entries = 0;
    for (uint64_t e = own.begin; e < own.end; ++e) {
      const Slice at = row(link_, start_.ids[e]);
      if (at.begin == at.end) continue;
      const uint32_t k = head_of(start_.ids[e]);
      if (heads_.find(k) == nullptr) continue;
      ++n;
      entries += heads_.tail(k) - at.begin;
    }
    const size_t words = heads_.words();
    if (n < 2 || entries < words * (ops_.spread_cost + n / 4)) return 0;
    headed_ = true;
    size_t digits = kLeastDigits;
    while (n >> digits) ++digits;
    const BitCounters counters{counters_.reserve(words * digits, charge_), digits};
    std::fill_n(counters.words, words * digits, 0);
    BitRow batch[kBatch];
    size_t held = 0;
    for (uint64_t e = own.begin; e < own.end; ++e) {
      const Slice at = row(link_, start_.ids[e]);
      const uint64_t* head = at.begin == at.end ? nullptr : heads_.find(head_of(start_.ids[e]));
      if (head) batch[held++] = {head, words};
      if (held < kBatch) continue;
      ops_.add_rows(batch, held, counters);
      held = 0;
    }
    ops_.add_rows(batch, held, counters);
    spend(n * words);
    return plus(ops_.spread_counters(counters, words / kRowBlock, counts_.data()), entries);
  }

  void spend(uint64_t steps) {
    if ((spent_ += steps + 1) < kPatience) return;
    spent_ = 0;
    queue_.poll();
  }

  const Matrix &start_, &link_;
  const Heads& heads_;
  const SetOps& ops_;
  const WorkQueue& queue_;
  Charge& charge_;
  std::vector<uint32_t> counts_;
  Buffer<uint64_t> counters_;
  bool headed_ = false;
  uint64_t spent_ = 0;
};

Status row_squares(const RowSquares& task, Control* control) {
  Charge charge(control);
  const int threads = workers_for(control, 4 * entries_of(*task.start));
  Heads heads(*task.link, task.n_columns, charge);
  WorkQueue filling(control, heads.rows(), 64);
  const Status filled = deal(threads, filling, [&](int) {
    for (uint64_t k, after; filling.take(&k, &after);)
      for (; k < after; ++k) heads.fill(static_cast<uint32_t>(k));
  });
  if (filled != kOk) return filled;
  charge.add(static_cast<size_t>(threads) * Worker::bytes(task, heads));
  WorkQueue queue(control, task.n_roots, 16);
  return deal(threads, queue, [&](int) {
    Worker worker(task, heads, queue, charge);
    for (uint64_t r, after; queue.take(&r, &after);)
      for (; r < after; ++r) task.out[r] = worker.root(static_cast<uint32_t>(r));
  });
}

}  // namespace
}  // namespace qe::eliminate

using namespace qe::eliminate;

QE_API int32_t qe_row_squares(const RowSquares* task, qe::Control* control) {
  try {
    return row_squares(*task, control);
  } catch (const qe::Halt& halt) {
    return halt.status;
  } catch (const std::bad_alloc&) {
    return qe::kOutOfMemory;
  }
}
