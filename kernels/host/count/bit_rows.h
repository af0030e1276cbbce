// Rows of a matrix as bits, of those rows that are long and of their first columns: the head of a row. Bit k of a head's words
// is column origin + k; what a row has beyond is its tail.
#pragma once
#include <algorithm>
#include <limits>
#include <vector>

#include "count/eliminate.h"
#include "ops/set_ops.h"
#include "qe/lists.h"

namespace qe::eliminate {

class BitRows {
 public:
  // Which rows [first, first + n), as stored, have heads: those of at least so many entries, as far as these bytes do; of
  // least = 0, where no row has more columns, all or none.
  struct Shape {
    uint32_t first, n, origin;
    size_t columns, least, most_bytes;
  };

  // Makes room; without it no row has a head. The matrix must outlive what is filled.
  void open(const Matrix& m, const Shape& shape, Charge& charge) {
    m_ = &m;
    shape_ = shape;
    words_ = (std::max<size_t>(shape.columns, 1) + 64 * kRowBlock - 1) / (64 * kRowBlock) * kRowBlock;
    const size_t row_bytes = words_ * sizeof(uint64_t), most = shape.most_bytes / row_bytes;
    const auto fits = [&](size_t n) { return bits_.capacity() >= n * words_ || charge.affords(n * row_bytes); };
    whole_ = shape.least == 0 && shape.n <= most && fits(shape.n);
    size_t n = shape.n;
    if (!whole_) {
      const uint64_t* offsets = m.offsets + (shape.first - m.lo);
      places_.assign(shape.n, kNone);
      tails_.assign(offsets, offsets + shape.n);
      n = 0;
      for (uint32_t k = 0; k < shape.n && n < most && shape.least > 0; ++k)
        if (offsets[k + 1] - offsets[k] >= shape.least) places_[k] = static_cast<uint32_t>(n++);
      if (!fits(n)) {
        std::fill(places_.begin(), places_.end(), kNone);
        return;
      }
    }
    bits_.reserve(n * words_, charge);
  }
  void fill(uint32_t k) {
    const uint64_t* offsets = m_->offsets + (shape_.first - m_->lo);
    const uint64_t begin = offsets[k];
    uint64_t end = offsets[k + 1];
    if (!whole_ && places_[k] == kNone) return;
    uint64_t* bits = bits_.data() + (whole_ ? k : places_[k]) * words_;
    if (!whole_) {
      const uint64_t past = shape_.origin + uint64_t{64} * words_;
      if (begin < end && m_->ids[end - 1] >= past) end = begin + lower_bound(m_->ids + begin, end - begin, static_cast<uint32_t>(past));
      tails_[k] = end;
    }
    std::fill(bits, bits + words_, 0);
    set_bits(bits, m_->ids + begin, end - begin, shape_.origin);
  }

  // The head of row first + k, null where it has none, and its first entry that isn't in it.
  const uint64_t* find(uint32_t k) const {
    if (whole_) return bits_.data() + k * words_;
    return places_[k] == kNone ? nullptr : bits_.data() + places_[k] * words_;
  }
  // Has every row a head, and no tail?
  bool whole() const { return whole_; }
  uint64_t tail(uint32_t k) const { return tails_[k]; }
  size_t words() const { return words_; }
  size_t columns() const { return 64 * words_; }
  uint32_t first() const { return shape_.first; }
  uint32_t origin() const { return shape_.origin; }
  uint32_t n() const { return shape_.n; }

 private:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  const Matrix* m_ = nullptr;
  Shape shape_{};
  size_t words_ = 0;
  bool whole_ = false;
  std::vector<uint32_t> places_;
  std::vector<uint64_t> tails_;
  Buffer<uint64_t> bits_;
};

// Calls worker.root(bits, first + k) for all rows of all blocks: rows [blocks[b], blocks[b + 1]) of a matrix link to one another
// only. Blocks of many rows are done by all threads, one after the other, others by one thread each; where a block's bits would
// take too much there are none. make(queue): a worker.
template <typename Make>
void each_block(const Matrix& m, const uint64_t* blocks, uint64_t n_blocks, Control* control, Charge& charge, Make&& make) {
  constexpr uint32_t kMany = 512;                // rows of a block that all threads share
  constexpr size_t kMostBits = size_t{64} << 20;  // bytes of a block's rows
  const int threads = workers_for(control, entries_of(m));
  const auto open = [&](uint64_t b, BitRows& bits) {
    const auto first = static_cast<uint32_t>(blocks[b]), n = static_cast<uint32_t>(blocks[b + 1] - blocks[b]);
    bits.open(m, {first, n, first, n, 0, kMostBits}, charge);
  };
  BitRows shared;
  for (uint64_t b = 0; b < n_blocks; ++b) {
    if (blocks[b + 1] - blocks[b] < kMany) continue;
    open(b, shared);
    check(each_row(threads, control, shared.n(), 64, [&](uint32_t k) { shared.fill(k); }));
    WorkQueue queue(control, shared.n(), 4);
    check(deal(threads, queue, [&](int) {
      auto worker = make(queue);
      for (uint64_t k, to; queue.take(&k, &to);)
        for (; k < to; ++k) worker.root(shared, shared.first() + static_cast<uint32_t>(k));
    }));
  }
  WorkQueue queue(control, n_blocks, 16);
  check(deal(threads, queue, [&](int) {
    auto worker = make(queue);
    BitRows bits;
    for (uint64_t b, to; queue.take(&b, &to);)
      for (; b < to; ++b) {
        if (blocks[b] == blocks[b + 1] || blocks[b + 1] - blocks[b] >= kMany) continue;
        open(b, bits);
        for (uint32_t k = 0; k < bits.n(); ++k) bits.fill(k);
        for (uint32_t k = 0; k < bits.n(); ++k) worker.root(bits, bits.first() + k);
      }
  }));
}

}  // namespace qe::eliminate
