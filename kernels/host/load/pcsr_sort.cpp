// Sorts relationships into neighbour lists: by list, in a list by entry, equal ones in the order of the input.
//
// Two steps (the partitioned counting sort that in-memory joins use). Partition: each thread counts and then
// writes its share of the input into buckets of neighbouring lists; a thread's part of a bucket stands before the
// next thread's, so the order of the input is kept. Fill: threads take buckets in turn; a bucket's lists fit the
// cache, are counted, filled and sorted. The result is the same for every number of threads.
// Moves 3 * (8 or 12) bytes a relationship; needs a buffer of 8 bytes a relationship, 12 where `order` is asked for.
#include <algorithm>
#include <cstring>
#include <memory>

#include "base/stop.h"
#include "base/workers.h"
#include "load/loading.h"

namespace qe {
namespace {

constexpr uint32_t kMaxBuckets = 1024;
constexpr uint64_t kSerialBelow = 1 << 15;   // a short input isn't worth a thread or a partition
constexpr uint64_t kRadixFrom = 1 << 10;     // longer lists are sorted digit by digit
constexpr int kDigit = 11;
constexpr uint64_t kRowsAPoll = 1 << 16;     // about 0.1 ms

struct Entry { uint32_t list, entry; };
struct OrderedEntry { uint32_t list, entry, row; };

inline void set_row(Entry&, uint64_t) {}
inline void set_row(OrderedEntry& e, uint64_t row) { e.row = static_cast<uint32_t>(row); }

// What is sorted in a list: the entry alone, or with its row below it, so that the row decides between equal ones.
inline uint32_t sortable(const Entry& e) { return e.entry; }
inline uint64_t sortable(const OrderedEntry& e) { return static_cast<uint64_t>(e.entry) << 32 | e.row; }
inline uint32_t entry_of(uint32_t value) { return value; }
inline uint32_t entry_of(uint64_t value) { return static_cast<uint32_t>(value >> 32); }

// Rows come in ascending order, and the radix sort is stable: sorting by the entry suffices.
template <class Value>
void sort_list(Value* begin, uint64_t length, std::vector<Value>& spare) {
  if (std::is_sorted(begin, begin + length)) return;
  if (length < kRadixFrom) {
    std::sort(begin, begin + length);
    return;
  }
  uint32_t largest = 0;
  for (uint64_t i = 0; i < length; ++i) largest = std::max(largest, entry_of(begin[i]));
  if (spare.size() < length) spare.resize(length);
  Value *from = begin, *to = spare.data();
  for (int shift = 0; shift < 32 && (largest >> shift) != 0; shift += kDigit) {
    uint64_t place[(1 << kDigit) + 1] = {};
    auto digit = [shift](Value v) { return (entry_of(v) >> shift) & ((1u << kDigit) - 1); };
    for (uint64_t i = 0; i < length; ++i) ++place[digit(from[i]) + 1];
    for (int d = 0; d < 1 << kDigit; ++d) place[d + 1] += place[d];
    for (uint64_t i = 0; i < length; ++i) to[place[digit(from[i])]++] = from[i];
    std::swap(from, to);
  }
  if (from != begin) std::memcpy(begin, from, length * sizeof(Value));
}

template <class E>
class ListSort {
 public:
  ListSort(const ListEntries& given, const Control* control)
      : lists_(given.lists), entries_(given.entries), lo_(given.lo), n_lists_(given.n_lists), n_(given.n), control_(control),
        threads_(n_ < kSerialBelow ? 1 : std::max(control->threads, 1)) {
    const uint32_t most = n_ < kSerialBelow ? 1 : kMaxBuckets;
    while ((static_cast<uint64_t>(n_lists_) + (1ull << shift_) - 1) >> shift_ > most) ++shift_;
    n_buckets_ = static_cast<uint32_t>((n_lists_ + (1ull << shift_) - 1) >> shift_);
  }

  Status run(uint64_t* offsets, uint32_t* neighbours, uint32_t* order) {
    buffer_.reset(static_cast<E*>(std::malloc(std::max<uint64_t>(n_, 1) * sizeof(E))));
    if (!buffer_) return kOutOfMemory;
    const Status partitioned = partition();
    if (partitioned != kOk) return partitioned;
    if (stopped()) return kInterrupted;
    offsets[0] = 0;
    std::atomic<uint32_t> next{0};
    const Status filled = run_workers(threads_, [&](int) {
      std::vector<uint64_t> place;
      std::vector<Value> values, spare;
      for (uint32_t bucket; (bucket = next++) < n_buckets_ && !stopped();)
        fill(bucket, offsets, neighbours, order, place, values, spare);
    });
    return filled == kOk && stopped() ? kInterrupted : filled;
  }

 private:
  using Value = decltype(sortable(E{}));
  struct Free { void operator()(void* memory) const { std::free(memory); } };

  bool stopped() const { return interrupted(control_); }

  // Calls work(row) for the rows of a thread's share, as long as nobody stops it.
  template <class Work>
  void each_row(int worker, Work&& work) const {
    const uint64_t end = share(n_, worker + 1, threads_);
    for (uint64_t row = share(n_, worker, threads_); row < end && !stopped();)
      for (const uint64_t poll = std::min(end, row + kRowsAPoll); row < poll; ++row) work(row);
  }

  Status partition() {
    std::vector<uint64_t> place(static_cast<uint64_t>(threads_) * n_buckets_ + 1);
    const Status counted = run_workers(threads_, [&](int worker) {
      std::vector<uint64_t> own(n_buckets_);
      each_row(worker, [&](uint64_t row) { ++own[(lists_[row] - lo_) >> shift_]; });
      for (uint32_t bucket = 0; bucket < n_buckets_; ++bucket)
        place[static_cast<uint64_t>(bucket) * threads_ + worker] = own[bucket];
    });
    if (counted != kOk || stopped()) return counted;  // counts of a part would send the rest astray
    uint64_t sum = 0;
    for (uint64_t& one : place) {
      const uint64_t count = one;
      one = sum;
      sum += count;
    }
    bucket_begin_.resize(n_buckets_ + 1);
    for (uint32_t bucket = 0; bucket <= n_buckets_; ++bucket)
      bucket_begin_[bucket] = place[static_cast<uint64_t>(bucket) * threads_];
    return run_workers(threads_, [&](int worker) {
      std::vector<uint64_t> own(n_buckets_);
      for (uint32_t bucket = 0; bucket < n_buckets_; ++bucket)
        own[bucket] = place[static_cast<uint64_t>(bucket) * threads_ + worker];
      each_row(worker, [&](uint64_t row) {
        E one;
        one.list = lists_[row] - lo_;
        one.entry = entries_[row];
        set_row(one, row);
        buffer_[own[one.list >> shift_]++] = one;
      });
    });
  }

  void fill(uint32_t bucket, uint64_t* offsets, uint32_t* neighbours, uint32_t* order, std::vector<uint64_t>& place,
            std::vector<Value>& values, std::vector<Value>& spare) {
    const uint64_t first = static_cast<uint64_t>(bucket) << shift_;
    const uint64_t last = std::min<uint64_t>(first + (1ull << shift_), n_lists_);
    const uint64_t begin = bucket_begin_[bucket], end = bucket_begin_[bucket + 1];
    place.assign(last - first, 0);
    for (uint64_t i = begin; i < end; ++i) ++place[buffer_[i].list - first];
    uint64_t sum = 0;
    for (uint64_t list = first; list < last; ++list) {
      const uint64_t count = place[list - first];
      place[list - first] = sum;
      sum += count;
      offsets[list + 1] = begin + sum;
    }
    values.resize(end - begin);
    for (uint64_t i = begin; i < end; ++i) values[place[buffer_[i].list - first]++] = sortable(buffer_[i]);
    uint64_t from = 0;
    for (uint64_t list = first; list < last; ++list) {  // place[] now holds the lists' ends
      sort_list(values.data() + from, place[list - first] - from, spare);
      from = place[list - first];
    }
    for (uint64_t i = 0; i < values.size(); ++i) {
      neighbours[begin + i] = entry_of(values[i]);
      if constexpr (sizeof(Value) == 8) order[begin + i] = static_cast<uint32_t>(values[i]);
    }
  }

  const uint32_t* lists_;
  const uint32_t* entries_;
  uint32_t lo_, n_lists_;
  uint64_t n_;
  const Control* control_;
  int threads_;
  int shift_ = 0;
  uint32_t n_buckets_;
  std::unique_ptr<E[], Free> buffer_;
  std::vector<uint64_t> bucket_begin_;
};

}  // namespace
}  // namespace qe

// Sorts each list's entries; n < 2^32. offsets[n_lists + 1], neighbours[n] and
// order[n] (the input row of each neighbour; null: not wanted) are written. Runs on control->threads threads;
// control->stop is looked at after 2^16 rows and after each bucket.
QE_API int32_t qe_pcsr_sort(const qe::ListEntries* given, uint64_t* offsets, uint32_t* neighbours, uint32_t* order,
                            const qe::Control* control) {
  try {
    if (order != nullptr)
      return qe::ListSort<qe::OrderedEntry>(*given, control).run(offsets, neighbours, order);
    return qe::ListSort<qe::Entry>(*given, control).run(offsets, neighbours, nullptr);
  } catch (const std::bad_alloc&) {
    return qe::kOutOfMemory;
  }
}
