// Counting by elimination: what its kernels share. A vector has a number for each vertex, a matrix is a list of linked
// vertices a row, perhaps with numbers. Numbers are computed in 64 bits, or in 128 where those overflowed: `wide` says which.
// Sums and products are checked: a kernel that would wrap returns kOverflow.
#pragma once
#include <atomic>
#include <cstdint>
#include <type_traits>

#include "base/charged_memory.h"
#include "base/stop.h"
#include "base/workers.h"
#include "qe/abi.h"
#include "qe/pcsr.h"

namespace qe::eliminate {

using Narrow = uint64_t;
using Wide = unsigned __int128;

// Whole numbers of 2, 4, 8 or 16 bytes each.
struct Numbers {
  const void* at;
  int32_t bytes;
  int32_t unused;

  template <typename V>
  V get(uint64_t place) const {
    if (bytes == 2) return static_cast<const uint16_t*>(at)[place];
    if (bytes == 4) return static_cast<const uint32_t*>(at)[place];
    if (bytes == 8) return static_cast<const uint64_t*>(at)[place];
    return static_cast<V>(static_cast<const Wide*>(at)[place]);
  }
};

// Row v is ids[offsets[v - lo], offsets[v - lo + 1]), ascending; outside [lo, hi) rows are empty. values: a number an entry,
// or null: 1 each. The same id twice in a row counts twice. rows: if not null, row v, for v < n_rows, is that of rows[v] instead.
struct Matrix {
  const uint64_t* offsets;
  const uint32_t* ids;
  Numbers values;
  const uint32_t* rows;
  uint32_t lo, hi;
  uint32_t n_rows, unused;
};

// The lists of one type in one direction, of which `admitted` may select relationships by their local ids.
struct Part {
  Pcsr lists;
  Pcsr out;                 // the type's OUT lists, in which ids that aren't kept are found
  const uint8_t* admitted;  // a byte a relationship, or null: all
  int32_t ids;              // where a relationship's id is: IdsFrom
  int32_t skip_loops;       // another part has them
  int32_t repeats;          // may a list have an id twice?
  int32_t unused;
};

enum IdsFrom : int32_t { kPlace = 0, kEdgeIds = 1, kBackward = 2, kEitherWay = 3 };

inline Slice row(const Matrix& m, uint32_t v) {
  if (m.rows) {
    if (v >= m.n_rows) return {0, 0};
    v = m.rows[v];
  }
  if (v < m.lo || v >= m.hi) return {0, 0};
  return {m.offsets[v - m.lo], m.offsets[v - m.lo + 1]};
}

inline uint64_t length(Slice at) { return at.end - at.begin; }

inline uint64_t entries_of(const Matrix& m) { return m.hi > m.lo ? m.offsets[m.hi - m.lo] : 0; }

template <typename V>
V value(const Matrix& m, uint64_t entry) {
  return m.values.at ? m.values.get<V>(entry) : V{1};
}

template <typename V>
V plus(V a, V b) {
  V sum;
  if (__builtin_add_overflow(a, b, &sum)) throw Halt{kOverflow};
  return sum;
}

template <typename V>
V times(V a, V b) {
  V product;
  if (__builtin_mul_overflow(a, b, &product)) throw Halt{kOverflow};
  return product;
}

inline void check(Status status) {
  if (status != kOk) throw Halt{status};
}

// Deals [0, n) in pieces to workers; looks at the clock and the stop flag between them. together: as many pieces are taken as one while
// there are very many, for what is dealt, and the looks, are numbers that all threads write, which takes them longer than a few light
// rows. Source: guided self-scheduling, Polychronopoulos and Kuck 1987.
class WorkQueue {
 public:
  WorkQueue(Control* control, uint64_t n, uint64_t size, uint64_t together = 1)
      : control_(control), n_(n), size_(size), together_(together), often_(kOften * size * static_cast<uint64_t>(control->threads)) {}

  bool take(uint64_t* begin, uint64_t* end) {
    if (status_.load(std::memory_order_relaxed) != kOk) return false;
    uint64_t size = size_;
    if (together_ > 1) {
      const uint64_t dealt = next_.load(std::memory_order_relaxed);
      if (dealt < n_) size *= std::clamp<uint64_t>((n_ - dealt) / often_, 1, together_);
    }
    *begin = next_.fetch_add(size, std::memory_order_relaxed);
    if (*begin >= n_) return false;
    *end = *begin + size < n_ ? *begin + size : n_;
    poll();
    return true;
  }
  void poll() const {
    check(stopped(control_));
  }
  const Control* control() const { return control_; }
  void fail(Status status) { status_ = status; }
  Status status() const { return static_cast<Status>(status_.load()); }

 private:
  static constexpr uint64_t kOften = 64;  // pieces of a thread behind what is taken together

  Control* control_;
  uint64_t n_, size_, together_, often_;
  std::atomic<int32_t> status_{kOk};
  alignas(64) std::atomic<uint64_t> next_{0};
};

constexpr uint64_t kTogether = 8;  // pieces of rows

constexpr uint64_t kShort = 1 << 15;  // entries that are worth a thread

inline int workers_for(const Control* control, uint64_t entries) {
  return static_cast<int>(std::min<uint64_t>(control->threads, std::max<uint64_t>(1, entries / kShort)));
}

// Calls work(worker) on so many threads until all pieces are taken; work loops over queue.take.
template <typename Work>
Status deal(int threads, WorkQueue& queue, Work&& work) {
  const Status ran = run_workers(threads, [&](int worker) {
    try {
      work(worker);
    } catch (const Halt& halt) {
      queue.fail(halt.status);
    }
  });
  return queue.status() != kOk ? queue.status() : ran;
}

// Looks at the clock and the stop flag once in so many steps.
class Patience {
 public:
  Patience(const Control* control, uint64_t steps) : control_(control), steps_(steps) {}
  Patience(const WorkQueue& queue, uint64_t steps) : Patience(queue.control(), steps) {}

  void spend(uint64_t steps) {
    if ((spent_ += steps) < steps_) return;
    spent_ = 0;
    check(stopped(control_));
  }

 private:
  const Control* control_;
  uint64_t steps_, spent_ = 0;
};

// Calls worker.root(k) for k < n. make(queue): a worker.
template <typename Make>
Status each_root(int threads, Control* control, uint64_t n, uint64_t size, Make&& make) {
  WorkQueue queue(control, n, size, kTogether);
  return deal(threads, queue, [&](int) {
    auto worker = make(static_cast<const WorkQueue&>(queue));
    for (uint64_t begin, end; queue.take(&begin, &end);)
      for (uint64_t k = begin; k < end; ++k) worker.root(static_cast<uint32_t>(k));
  });
}

// Calls each(begin, end) for pieces of [0, n).
template <typename Each>
Status each_piece(int threads, Control* control, uint64_t n, uint64_t size, Each&& each) {
  WorkQueue queue(control, n, size);
  return deal(threads, queue, [&](int) {
    for (uint64_t begin, end; queue.take(&begin, &end);) each(begin, end);
  });
}

// Calls each(k) for k < n.
template <typename Each>
Status each_row(int threads, Control* control, uint64_t n, uint64_t size, Each&& each) {
  WorkQueue queue(control, n, size, kTogether);
  return deal(threads, queue, [&](int) {
    for (uint64_t begin, end; queue.take(&begin, &end);)
      for (uint64_t k = begin; k < end; ++k) each(static_cast<uint32_t>(k));
  });
}

// Calls run(), and tells the status that ends it.
template <typename Run>
Status guarded(Run&& run) {
  try {
    run();
    return kOk;
  } catch (const Halt& halt) {
    return halt.status;
  } catch (const std::bad_alloc&) {
    return kOutOfMemory;
  }
}

// Calls typed(V{}) with the type of the numbers.
template <typename Typed>
Status numbered(int32_t wide, Typed&& typed) {
  return wide ? typed(Wide{}) : typed(Narrow{});
}

}  // namespace qe::eliminate
