// Counting in many small dense graphs at once: a symmetric matrix without numbers, loops and repeats that links only rows of one
// block, as the graphs that are linked among the neighbours of one root each. A block's rows are kept as bits.
//
// Triangles by pair: the bits that two linked rows have in common; where the one has few ids, those of them that the other has.
// Closed walks of four steps from each row: the rows of its neighbours are added up, counters of bits (set_ops), whose squares
// are added. Blocks of many rows are done by all threads, one after the other, others by one thread each; where a block's bits
// would take too much, only one row has bits, and counters are raised one by one. Bytes moved: a row of bits, a bit for each of
// the block's rows, for each entry. Deterministic. Sources: Muła, Kurz and Lemire 2018; Klarqvist, Muła and Lemire 2021;
// Lan et al. 2022 (small dense graphs in bits).
#include <algorithm>
#include <vector>

#include "count/eliminate.h"
#include "ops/set_ops.h"

namespace qe::eliminate {
namespace {

constexpr uint32_t kMany = 512;                      // rows of a block that all threads share
constexpr size_t kMostBits = size_t{64} << 20;       // bytes of a block's rows
constexpr size_t kFewer = 24;                        // ids that are looked up in the time of a block of words, about
constexpr uint64_t kPatience = 1 << 14;              // rows of bits between looks at the clock
constexpr size_t kBatch = 32;                        // rows that are added at a time

// One block's rows as bits, numbered from its first.
class BitRows {
 public:
  // Makes room for the block that begins at row `first` and has n rows.
  void open(uint32_t first, uint32_t n, Charge& charge) {
    first_ = first;
    n_ = n;
    words_ = (n + 64 * kRowBlock - 1) / (64 * kRowBlock) * kRowBlock;
    bits_.reserve(size_t{n} * words_, charge);
  }
  void fill(const Matrix& m, uint32_t from, uint32_t to) {
    std::fill(bits_.data() + from * words_, bits_.data() + to * words_, 0);
    for (uint32_t k = from; k < to; ++k) {
      uint64_t* bits = bits_.data() + k * words_;
      const Slice at = row(m, first_ + k);
      for (uint64_t e = at.begin; e < at.end; ++e) {
        const uint32_t x = m.ids[e] - first_;
        bits[x >> 6] |= uint64_t{1} << (x & 63);
      }
    }
  }
  static size_t bytes(uint32_t n) { return size_t{n} * ((n + 511) / 512) * 64; }

  const uint64_t* operator[](uint32_t k) const { return bits_.data() + k * words_; }
  size_t words() const { return words_; }
  uint32_t n() const { return n_; }
  uint32_t first() const { return first_; }

 private:
  Buffer<uint64_t> bits_;
  size_t words_ = 0;
  uint32_t first_ = 0, n_ = 0;
};

// out[e], for each entry: rows linked to both of its ends.
class Triangles {
 public:
  Triangles(const Matrix& m, const WorkQueue& queue, Charge& charge, uint32_t* out)
      : m_(m), ops_(set_ops(current_isa())), queue_(queue), charge_(charge), out_(out) {}

  void row_in(const BitRows& bits, uint32_t k) {
    const uint32_t first = bits.first();
    const Slice at = row(m_, first + k);
    if (at.begin == at.end) return;
    const uint64_t* own = bits[k];
    const bool own_few = (at.end - at.begin) * kRowBlock < bits.words() * kFewer;
    if (own_few || bits.words() > kRowBlock) shift(at, first);
    for (uint64_t e = at.begin; e < at.end; ++e) {
      const uint32_t x = m_.ids[e] - first;
      const Slice other = row(m_, first + x);
      const uint64_t least = std::min(at.end - at.begin, other.end - other.begin);
      if (least * kRowBlock >= bits.words() * kFewer) {
        out_[e] = static_cast<uint32_t>(ops_.and_count(own, bits[x], bits.words()));
      } else if (least == at.end - at.begin) {
        out_[e] = static_cast<uint32_t>(ops_.filter_count(bits[x], shifted_.data(), least));
      } else {
        uint32_t found = 0;
        for (uint64_t f = other.begin; f < other.end; ++f) {
          const uint32_t y = m_.ids[f] - first;
          found += static_cast<uint32_t>(own[y >> 6] >> (y & 63) & 1);
        }
        out_[e] = found;
      }
    }
    spend(at.end - at.begin);
  }

  // The same where only one row has bits at a time.
  void row_alone(uint32_t first, uint32_t n, uint32_t k) {
    const Slice at = row(m_, first + k);
    if (at.begin == at.end) return;
    uint64_t* bits = alone_.reserve((n + 63) / 64 + 1, charge_);
    if (opened_ != n) std::fill(bits, bits + (n + 63) / 64, 0);
    opened_ = n;
    for (uint64_t e = at.begin; e < at.end; ++e) bits[(m_.ids[e] - first) >> 6] |= uint64_t{1} << ((m_.ids[e] - first) & 63);
    for (uint64_t e = at.begin; e < at.end; ++e) {
      const Slice other = row(m_, m_.ids[e]);
      uint32_t found = 0;
      for (uint64_t f = other.begin; f < other.end; ++f) {
        const uint32_t y = m_.ids[f] - first;
        found += static_cast<uint32_t>(bits[y >> 6] >> (y & 63) & 1);
      }
      out_[e] = found;
      spend((other.end - other.begin) / 8);
    }
    for (uint64_t e = at.begin; e < at.end; ++e) bits[(m_.ids[e] - first) >> 6] = 0;
  }

 private:
  void shift(Slice at, uint32_t first) {
    shifted_.resize(at.end - at.begin);
    for (uint64_t e = at.begin; e < at.end; ++e) shifted_[e - at.begin] = m_.ids[e] - first;
  }
  void spend(uint64_t steps) {
    if ((spent_ += steps + 1) < kPatience) return;
    spent_ = 0;
    queue_.poll();
  }

  const Matrix& m_;
  const SetOps& ops_;
  const WorkQueue& queue_;
  Charge& charge_;
  uint32_t* out_;
  std::vector<uint32_t> shifted_;
  Buffer<uint64_t> alone_;
  uint32_t opened_ = 0;
  uint64_t spent_ = 0;
};

// out[v], for each row: the squares of the walks of two steps to each row, added up.
class ClosedWalks {
 public:
  ClosedWalks(const Matrix& m, const WorkQueue& queue, Charge& charge, uint64_t* out)
      : m_(m), ops_(set_ops(current_isa())), queue_(queue), charge_(charge), out_(out) {}

  void row_in(const BitRows& bits, uint32_t k) {
    const Slice at = row(m_, bits.first() + k);
    const uint64_t length = at.end - at.begin;
    uint64_t steps = 0;
    for (uint64_t e = at.begin; e < at.end; ++e) {
      const Slice next = row(m_, m_.ids[e]);
      steps += next.end - next.begin;
    }
    if (steps == 0) {
      out_[bits.first() + k] = 0;
      return;
    }
    if (steps < (length + 8) * bits.words()) return row_alone(bits.first(), bits.n(), k);
    size_t digits = kLeastDigits;
    while (length >> digits) ++digits;
    const BitCounters counters{counters_.reserve(bits.words() * digits, charge_), digits};
    std::fill(counters.words, counters.words + bits.words() * digits, 0);
    BitRow batch[kBatch];
    size_t held = 0;
    for (uint64_t e = at.begin; e < at.end; ++e) {
      batch[held++] = {bits[m_.ids[e] - bits.first()], bits.words()};
      if (held == kBatch || e + 1 == at.end) {
        ops_.add_rows(batch, held, counters);
        held = 0;
      }
    }
    uint64_t found = 0;
    uint64_t sums[2 * 33 * kRowBlock];
    for (size_t block = 0; block < bits.words(); block += kRowBlock) {
      std::fill(sums, sums + 2 * digits * kRowBlock, 0);
      ops_.add_squares({counters.words + block * digits, digits}, sums);
      for (size_t d = 0; d < 2 * digits; ++d)
        for (size_t w = 0; w < kRowBlock; ++w) found += sums[d * kRowBlock + w] << d;
    }
    out_[bits.first() + k] = found;
    spend(length);
  }

  void row_alone(uint32_t first, uint32_t n, uint32_t k) {
    if (counts_.size() < n) {
      charge_.add((n - counts_.size()) * sizeof(uint32_t));
      counts_.resize(n, 0);
    }
    const Slice at = row(m_, first + k);
    uint64_t found = 0;  // the sum of c^2 grows by 2c + 1
    for (uint64_t e = at.begin; e < at.end; ++e) {
      const Slice next = row(m_, m_.ids[e]);
      for (uint64_t f = next.begin; f < next.end; ++f) found += 2 * uint64_t{counts_[m_.ids[f] - first]++} + 1;
      spend((next.end - next.begin) / 8);
    }
    for (uint64_t e = at.begin; e < at.end; ++e) {
      const Slice next = row(m_, m_.ids[e]);
      for (uint64_t f = next.begin; f < next.end; ++f) counts_[m_.ids[f] - first] = 0;
    }
    out_[first + k] = found;
  }

 private:
  void spend(uint64_t steps) {
    if ((spent_ += steps + 1) < kPatience) return;
    spent_ = 0;
    queue_.poll();
  }

  const Matrix& m_;
  const SetOps& ops_;
  const WorkQueue& queue_;
  Charge& charge_;
  uint64_t* out_;
  Buffer<uint64_t> counters_;
  std::vector<uint32_t> counts_;
  uint64_t spent_ = 0;
};

// Calls worker.row_in or row_alone for all rows of all blocks. make(pieces, charge): a worker.
template <typename Make>
Status each_block(const Matrix& m, const uint64_t* blocks, uint64_t n_blocks, Control* control, Make&& make) {
  Charge charge(control);
  const int threads = workers_for(control, entries_of(m));
  BitRows shared;
  const auto size = [&](uint64_t b) { return static_cast<uint32_t>(blocks[b + 1] - blocks[b]); };
  for (uint64_t b = 0; b < n_blocks; ++b) {
    const uint32_t first = static_cast<uint32_t>(blocks[b]), n = size(b);
    if (n < kMany) continue;
    const bool alone = BitRows::bytes(n) > kMostBits || !charge.affords(BitRows::bytes(n));
    WorkQueue filled(control, n, 64), queue(control, n, 4);
    if (!alone) {
      shared.open(first, n, charge);
      const Status status = deal(threads, filled, [&](int) {
        for (uint64_t from, to; filled.take(&from, &to);)
          shared.fill(m, static_cast<uint32_t>(from), static_cast<uint32_t>(to));
      });
      if (status != kOk) return status;
    }
    const Status status = deal(threads, queue, [&](int) {
      auto worker = make(queue, charge);
      for (uint64_t k, to; queue.take(&k, &to);)
        for (; k < to; ++k) {
          if (alone) worker.row_alone(first, n, static_cast<uint32_t>(k));
          else worker.row_in(shared, static_cast<uint32_t>(k));
        }
    });
    if (status != kOk) return status;
  }
  WorkQueue queue(control, n_blocks, 16);
  return deal(threads, queue, [&](int) {
    auto worker = make(queue, charge);
    BitRows bits;
    for (uint64_t b, to; queue.take(&b, &to);)
      for (; b < to; ++b) {
        const uint32_t n = size(b);
        if (n == 0 || n >= kMany) continue;
        bits.open(static_cast<uint32_t>(blocks[b]), n, charge);
        bits.fill(m, 0, n);
        for (uint32_t k = 0; k < n; ++k) worker.row_in(bits, k);
      }
  });
}

}  // namespace
}  // namespace qe::eliminate

using namespace qe::eliminate;
using qe::Control;

// out[e], for each entry e: how many rows both of its ends are linked to. Rows [blocks[b], blocks[b + 1]) are a block; m.lo is 0.
QE_API int32_t qe_eliminate_local_triangles(const Matrix* m, const uint64_t* blocks, uint64_t n_blocks, uint32_t* out,
                                            Control* control) {
  try {
    return each_block(*m, blocks, n_blocks, control, [&](const WorkQueue& queue, qe::Charge& charge) {
      return Triangles(*m, queue, charge, out);
    });
  } catch (const qe::Halt& halt) {
    return halt.status;
  } catch (const std::bad_alloc&) {
    return qe::kOutOfMemory;
  }
}

// out[v], for each row v: its closed walks of four steps.
QE_API int32_t qe_eliminate_local_walks(const Matrix* m, const uint64_t* blocks, uint64_t n_blocks, uint64_t* out,
                                        Control* control) {
  try {
    return each_block(*m, blocks, n_blocks, control, [&](const WorkQueue& queue, qe::Charge& charge) {
      return ClosedWalks(*m, queue, charge, out);
    });
  } catch (const qe::Halt& halt) {
    return halt.status;
  } catch (const std::bad_alloc&) {
    return qe::kOutOfMemory;
  }
}
