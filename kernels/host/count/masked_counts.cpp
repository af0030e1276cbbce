// Common columns of the rows of two matrices, for each entry of a third: see masked_counts.h.
//
// Rows of `right` are kept as bits where they have an id in each block of columns or more, else as runs of bits where many of
// their ids lie together, and as lists elsewhere. a's row of `left` is set in a row of bits over all columns, and each b's row
// compared with that: runs by words, the rest id by id. Where a's row is shorter its ids are looked up in b's bits instead, or
// sought in b's list. Bytes moved: for an entry of `across` at most b's row, at best an eighth of its columns or a's row.
// Deterministic. Sources: Han, Zou and Yu 2018 (bitmaps beside lists); Lemire et al. 2018 (Roaring: containers by density).
#include "count/masked_counts.h"

#include <algorithm>
#include <vector>

#include "ops/set_ops.h"
#include "qe/lists.h"

namespace qe::eliminate {
namespace {

constexpr uint64_t kRows = 16;
constexpr uint64_t kPatience = 1 << 16;
constexpr uint32_t kBlock = 64 * kRowBlock;        // columns of a block of bits
constexpr size_t kGallop = 24;                     // ids of a list that are read in the time of seeking one
constexpr size_t kMostBytes = size_t{512} << 20;   // of all bits
constexpr uint64_t kFar = 8, kNear = 4;            // entries ahead whose rows are looked up, and read

// A row's columns from 64 * first on, as bits.
struct Run {
  uint32_t first, n_words;
  uint64_t bits;  // where they begin
};

// The rows of a matrix, each as runs of bits and a list of the other ids.
class HybridRows {
 public:
  HybridRows(const Matrix& m, const SetOps& ops, Charge& charge, Control* control)
      : m_(m), least_(2 * static_cast<uint32_t>(ops.row_cost)), n_(m.hi > m.lo ? m.hi - m.lo : 0), threads_(workers_for(control, entries_of(m))) {
    const size_t entries = entries_of(m);
    // A block of bits stands for an id or more.
    const size_t blocks = std::min(entries, kMostBytes / (kBlock / 8));
    charge.add((n_ + 1) * (sizeof(Bounds) + sizeof(uint32_t)) + entries * sizeof(uint32_t));
    ids_.resize(entries);
    bounds_.resize(n_ + 1);
    WorkQueue counting(control, n_, 256);
    each(counting, [&](uint32_t k) { count(k); });
    uint64_t runs = 0, bits = 0;
    for (uint32_t k = 0; k < n_; ++k) {
      Bounds& at = bounds_[k];
      if (bits + at.n_words > blocks * kRowBlock) at.n_runs = at.n_words = 0, at.whole = false;
      at.runs = runs, at.bits = bits;
      runs += at.n_runs, bits += at.n_words;
    }
    charge.add(runs * sizeof(Run) + bits * sizeof(uint64_t));
    runs_.resize(runs);
    bits_.assign(bits, 0);
    WorkQueue filling(control, n_, 256);
    each(filling, [&](uint32_t k) { fill(k); });
  }

  uint32_t size() const { return n_; }
  // How many ids of row k are set in `bits`.
  uint64_t common(uint32_t k, const uint64_t* bits, const SetOps& ops) const {
    const Bounds& own = bounds_[k];
    uint64_t found = 0;
    for (const Run *run = runs_.data() + own.runs, *end = run + own.n_runs; run < end; ++run)
      found += ops.and_count(bits + run->first, bits_.data() + run->bits, run->n_words);
    return own.n_rest == 0 ? found : found + ops.filter_count(bits, ids_.data() + own.rest, own.n_rest);
  }
  // How many of an ascending list's ids row k has, if it is all bits from column 0 on.
  bool is_whole(uint32_t k) const { return bounds_[k].whole; }
  uint64_t members(uint32_t k, const uint32_t* list, size_t n, const SetOps& ops) const {
    const uint32_t end = 64 * bounds_[k].n_words;
    if (list[n - 1] >= end) n = lower_bound(list, n, end);
    return ops.filter_count(bits_.data() + bounds_[k].bits, list, n);
  }
  // What `common` takes, in ids.
  uint64_t work(uint32_t k, const SetOps& ops) const {
    return bounds_[k].n_words / kRowBlock * ops.row_cost + bounds_[k].n_rest + 4;
  }
  // Begins to read what row k is compared by, and before that where this is.
  void prefetch(uint32_t k) const {
    const Bounds& own = bounds_[k];
    __builtin_prefetch(runs_.data() + own.runs);
    __builtin_prefetch(bits_.data() + own.bits);
    __builtin_prefetch(ids_.data() + own.rest);
  }
  void prefetch_bounds(uint32_t k) const { __builtin_prefetch(&bounds_[k]); }

 private:
  struct Bounds {
    uint64_t runs, bits, rest;          // where its runs begin, their bits, and its other ids
    uint32_t n_runs, n_words, n_rest;
    bool whole;
  };

  template <typename Each>
  void each(WorkQueue& queue, Each&& run) {
    const Status status = deal(threads_, queue, [&](int) {
      for (uint64_t k, after; queue.take(&k, &after);)
        for (; k < after; ++k) run(static_cast<uint32_t>(k));
    });
    if (status != kOk) throw Halt{status};
  }

  // Calls found(block, begin, end) for the ids of each block of columns.
  template <typename Found>
  void each_block(uint32_t k, Found&& found) const {
    const uint64_t end = m_.offsets[k + 1];
    for (uint64_t e = m_.offsets[k]; e < end;) {
      const uint32_t block = m_.ids[e] / kBlock;
      uint64_t after = e + 1;
      while (after < end && m_.ids[after] / kBlock == block) ++after;
      found(block, e, after);
      e = after;
    }
  }

  void count(uint32_t k) {
    const uint64_t begin = m_.offsets[k], end = m_.offsets[k + 1];
    Bounds& own = bounds_[k];
    const uint64_t every = begin < end ? m_.ids[end - 1] / kBlock + 1 : 0;
    own.whole = begin < end && end - begin >= every;
    if (own.whole) {
      own.n_runs = 1;
      own.n_words = static_cast<uint32_t>(every * kRowBlock);
      return;
    }
    uint64_t runs = 0, blocks = 0;
    uint32_t next = kNoVertex;
    each_block(k, [&](uint32_t block, uint64_t from, uint64_t to) {
      if (to - from < least_) return;
      runs += block != next;
      ++blocks;
      next = block + 1;
    });
    own.n_runs = static_cast<uint32_t>(runs);
    own.n_words = static_cast<uint32_t>(blocks * kRowBlock);
  }

  void fill(uint32_t k) {
    Bounds& own = bounds_[k];
    own.rest = m_.offsets[k];
    own.n_rest = 0;
    if (own.whole) {
      runs_[own.runs] = {0, own.n_words, own.bits};
      for (uint64_t e = m_.offsets[k]; e < m_.offsets[k + 1]; ++e)
        bits_[own.bits + m_.ids[e] / 64] |= uint64_t{1} << (m_.ids[e] & 63);
      return;
    }
    uint32_t* rest = ids_.data() + own.rest;
    uint64_t bits = own.bits;
    Run* run = runs_.data() + own.runs;
    uint32_t next = kNoVertex;
    each_block(k, [&](uint32_t block, uint64_t begin, uint64_t end) {
      if (own.n_runs == 0 || end - begin < least_) {
        rest = std::copy(m_.ids + begin, m_.ids + end, rest);
        return;
      }
      if (block == next) (run - 1)->n_words += kRowBlock;
      else *run++ = {block * static_cast<uint32_t>(kRowBlock), kRowBlock, bits};
      next = block + 1;
      for (uint64_t e = begin; e < end; ++e) {
        const uint32_t place = m_.ids[e] % kBlock;
        bits_[bits + place / 64] |= uint64_t{1} << (place & 63);
      }
      bits += kRowBlock;
    });
    own.n_rest = static_cast<uint32_t>(rest - (ids_.data() + own.rest));
  }

  const Matrix& m_;
  const uint32_t least_;  // ids of a block that has bits
  const uint32_t n_;
  const int threads_;
  std::vector<Bounds> bounds_;
  std::vector<Run> runs_;
  std::vector<uint64_t> bits_;
  std::vector<uint32_t> ids_;  // those of row k that aren't in runs, from offsets[k] on
};

template <typename V>
class Worker {
 public:
  Worker(const Matrix& across, const Matrix& left, const Matrix& right, const HybridRows& rows, uint32_t n,
         const uint8_t* admits, const WorkQueue& queue, V* out)
      : across_(across), left_(left), right_(right), rows_(rows), admits_(admits), ops_(set_ops(current_isa())),
        queue_(queue), out_(out), bits_(words(n), 0) {}

  static size_t words(uint32_t n) { return (n + kBlock - 1) / kBlock * kRowBlock; }

  void row_of(uint32_t a) {
    const Slice pairs = row(across_, a);
    if (pairs.begin == pairs.end) return;
    const Slice all = row(left_, a);
    const uint32_t* own = left_.ids + all.begin;
    size_t n = all.end - all.begin;
    if (admits_) {
      if (own_.size() < n) own_.resize(n);
      n = static_cast<size_t>(std::copy_if(own, own + n, own_.begin(), [&](uint32_t c) { return admits_[c] != 0; }) - own_.begin());
      own = own_.data();
    }
    if (n == 0) return std::fill(out_ + pairs.begin, out_ + pairs.end, V{0});
    for (size_t i = 0; i < n; ++i) bits_[own[i] >> 6] |= uint64_t{1} << (own[i] & 63);
    for (uint64_t p = pairs.begin; p < pairs.end; ++p) {
      if (p + kFar < pairs.end)
        if (const uint32_t far = place(across_.ids[p + kFar]); far < rows_.size()) rows_.prefetch_bounds(far);
      if (p + kNear < pairs.end)
        if (const uint32_t near = place(across_.ids[p + kNear]); near < rows_.size()) rows_.prefetch(near);
      out_[p] = common(across_.ids[p], own, n);
    }
    for (size_t i = 0; i < n; ++i) bits_[own[i] >> 6] = 0;
  }

 private:
  // Which row of `right` is b's; none where it has no such.
  uint32_t place(uint32_t b) const {
    if (right_.rows) return b < right_.n_rows ? right_.rows[b] - right_.lo : kNoVertex;
    return b - right_.lo;
  }

  V common(uint32_t b, const uint32_t* own, size_t n) {
    const uint32_t k = place(b);
    if (k >= rows_.size()) return 0;
    const uint64_t work = rows_.work(k, ops_);
    if (n < work && rows_.is_whole(k)) {
      spend(n);
      return rows_.members(k, own, n, ops_);
    }
    const bool sought = n * kGallop < work;
    spend(sought ? n * kGallop : work);
    if (sought) return gallop_count(own, n, right_.ids + right_.offsets[k], right_.offsets[k + 1] - right_.offsets[k]);
    return rows_.common(k, bits_.data(), ops_);
  }

  void spend(uint64_t steps) {
    if ((spent_ += steps) < kPatience) return;
    spent_ = 0;
    queue_.poll();
  }

  const Matrix &across_, &left_, &right_;
  const HybridRows& rows_;
  const uint8_t* admits_;
  const SetOps& ops_;
  const WorkQueue& queue_;
  V* out_;
  std::vector<uint64_t> bits_;
  std::vector<uint32_t> own_;  // a's row, as far as it is admitted
  uint64_t spent_ = 0;
};

}  // namespace

bool is_plain(const Matrix& m, Control* control) {
  if (m.values.at) return false;
  std::atomic<bool> repeats{false};
  WorkQueue queue(control, m.hi > m.lo ? m.hi - m.lo : 0, 1024);
  const Status status = deal(workers_for(control, entries_of(m)), queue, [&](int) {
    for (uint64_t k, after; queue.take(&k, &after);) {
      bool found = false;
      for (; k < after; ++k)
        for (uint64_t e = m.offsets[k] + 1; e < m.offsets[k + 1]; ++e) found |= m.ids[e] == m.ids[e - 1];
      if (found) repeats = true;
    }
  });
  if (status != kOk) throw Halt{status};
  return !repeats;
}

template <typename V>
Status masked_counts(const Matrix& across, const Matrix& left, const Matrix& right, uint32_t n, const uint8_t* admits, V* out,
                     Control* control) {
  Charge charge(control);
  const SetOps& ops = set_ops(current_isa());
  const HybridRows rows(right, ops, charge, control);
  const int threads = workers_for(control, entries_of(across));
  charge.add(static_cast<size_t>(threads) * Worker<V>::words(n) * sizeof(uint64_t));
  const uint32_t n_rows = across.rows ? across.n_rows : across.hi;
  WorkQueue queue(control, n_rows, kRows);
  return deal(threads, queue, [&](int) {
    Worker<V> worker(across, left, right, rows, n, admits, queue, out);
    for (uint64_t a, after; queue.take(&a, &after);)
      for (; a < after; ++a) worker.row_of(static_cast<uint32_t>(a));
  });
}

template Status masked_counts<Narrow>(const Matrix&, const Matrix&, const Matrix&, uint32_t, const uint8_t*, Narrow*, Control*);
template Status masked_counts<Wide>(const Matrix&, const Matrix&, const Matrix&, uint32_t, const uint8_t*, Wide*, Control*);

}  // namespace qe::eliminate
