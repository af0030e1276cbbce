// Sorts relationships into neighbour lists: by list, in a list by entry, equal ones in the order of the input.
//
// Two steps (the partitioned counting sort that in-memory joins use). Partition: each thread counts and then
// writes its share of the input into buckets of neighbouring lists; a thread's part of a bucket stands before the
// next thread's, so the order of the input is kept. Fill: threads take buckets in turn; a bucket's lists fit the
// cache, are counted, filled and sorted. Buckets are cut by entries and by lists, so that hubs don't share one.
// The result is the same for every number of threads.
// All buckets of a pass are partitioned and filled before the next pass reads the input again: a buffer of 8 bytes, 12
// where `order` is asked for, for a fourth of the relationships. Moves 3 * (8 or 12) bytes a relationship, and reads
// its list 3 times more.
#include <algorithm>
#include <cstring>
#include <memory>

#include "base/stop.h"
#include "base/workers.h"
#include "load/loading.h"

namespace qe {
namespace {

constexpr uint64_t kCuts = 512;              // a bucket takes this share of the entries, or of the lists
constexpr uint64_t kMaxRanges = 1 << 16;     // ranges of lists, of which buckets are made
constexpr uint64_t kPasses = 4;
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
    const uint64_t most = n_ < kSerialBelow ? 1 : std::min(kMaxRanges, n_ / 8);
    while ((static_cast<uint64_t>(n_lists_) + (1ull << shift_) - 1) >> shift_ > most) ++shift_;
    n_ranges_ = static_cast<uint32_t>((n_lists_ + (1ull << shift_) - 1) >> shift_);
  }

  Status run(uint64_t* offsets, uint32_t* neighbours, uint32_t* order) {
    Status status = count();
    if (status != kOk || stopped()) return status != kOk ? status : kInterrupted;  // counts of a part would send the rest astray
    buffer_.reset(static_cast<E*>(std::malloc(std::max<uint64_t>(largest_pass(), 1) * sizeof(E))));
    if (!buffer_) return kOutOfMemory;
    offsets[0] = 0;
    for (uint32_t first = 0, end; first < n_buckets() && status == kOk && !stopped(); first = end) {
      end = pass_end(first);
      status = partition(first, end);
      if (status != kOk || stopped()) break;
      std::atomic<uint32_t> next{first};
      status = run_workers(threads_, [&](int) {
        std::vector<uint64_t> place;
        std::vector<Value> ordered, spare;
        for (uint32_t bucket; (bucket = next++) < end && !stopped();)
          fill(bucket, buffer_.get() + (begins_[bucket] - begins_[first]), offsets, neighbours, order, place, ordered, spare);
      });
    }
    return status == kOk && stopped() ? kInterrupted : status;
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

  uint32_t n_buckets() const { return static_cast<uint32_t>(begins_.size()) - 1; }

  // The buckets of a pass end where the next one would be more than a share of all entries; it has one at least.
  uint32_t pass_end(uint32_t bucket) const {
    const uint64_t most = begins_[bucket] + (n_ < kSerialBelow ? n_ : n_ / kPasses);
    while (++bucket < n_buckets() && begins_[bucket + 1] <= most) {}
    return bucket;
  }

  uint64_t largest_pass() const {
    uint64_t largest = 0;
    for (uint32_t first = 0, end; first < n_buckets(); first = end) {
      end = pass_end(first);
      largest = std::max(largest, begins_[end] - begins_[first]);
    }
    return largest;
  }

  // Counts the entries of ranges of lists, cuts these into buckets, and finds where each thread's part of one begins.
  Status count() {
    std::vector<std::vector<uint64_t>> counts(threads_);
    const Status counted = run_workers(threads_, [&](int worker) {
      std::vector<uint64_t> own(n_ranges_);
      each_row(worker, [&](uint64_t row) { ++own[(lists_[row] - lo_) >> shift_]; });
      counts[worker] = std::move(own);
    });
    if (counted != kOk || stopped()) return counted;
    bucket_of_.resize(n_ranges_);
    const uint64_t most_ranges = std::max<uint64_t>(n_ranges_ / kCuts, 1);
    uint64_t sum = 0;
    for (uint32_t range = 0; range < n_ranges_; ++range) {
      uint64_t here = 0;
      for (const auto& own : counts) here += own[range];
      if (range == 0 || range - ranges_.back() >= most_ranges || sum + here - begins_.back() > n_ / kCuts) {
        ranges_.push_back(range);
        begins_.push_back(sum);
      }
      bucket_of_[range] = static_cast<uint16_t>(ranges_.size() - 1);
      sum += here;
    }
    ranges_.push_back(n_ranges_);
    begins_.push_back(sum);
    place_.assign(static_cast<uint64_t>(threads_) * n_buckets(), 0);
    for (uint32_t bucket = 0; bucket < n_buckets(); ++bucket) {
      uint64_t at = begins_[bucket];
      for (int worker = 0; worker < threads_; ++worker) {
        place_[static_cast<uint64_t>(worker) * n_buckets() + bucket] = at;
        for (uint32_t range = ranges_[bucket]; range < ranges_[bucket + 1]; ++range) at += counts[worker][range];
      }
    }
    return kOk;
  }

  Status partition(uint32_t first, uint32_t end) {
    return run_workers(threads_, [&](int worker) {
      const uint64_t* const place = place_.data() + static_cast<uint64_t>(worker) * n_buckets();
      std::vector<uint64_t> own(place + first, place + end);
      for (uint64_t& at : own) at -= begins_[first];
      each_row(worker, [&](uint64_t row) {
        E one;
        one.list = lists_[row] - lo_;
        const uint32_t bucket = bucket_of_[one.list >> shift_] - first;  // of an earlier pass: a large number
        if (bucket >= end - first) return;
        one.entry = entries_[row];
        set_row(one, row);
        buffer_[own[bucket]++] = one;
      });
    });
  }

  void fill(uint32_t bucket, const E* given, uint64_t* offsets, uint32_t* neighbours, uint32_t* order,
            std::vector<uint64_t>& place, std::vector<Value>& ordered, std::vector<Value>& spare) {
    const uint64_t first = static_cast<uint64_t>(ranges_[bucket]) << shift_;
    const uint64_t last = std::min<uint64_t>(static_cast<uint64_t>(ranges_[bucket + 1]) << shift_, n_lists_);
    const uint64_t begin = begins_[bucket], n = begins_[bucket + 1] - begin;
    place.assign(last - first, 0);
    for (uint64_t i = 0; i < n; ++i) ++place[given[i].list - first];
    uint64_t sum = 0;
    for (uint64_t list = first; list < last; ++list) {
      const uint64_t count = place[list - first];
      place[list - first] = sum;
      sum += count;
      offsets[list + 1] = begin + sum;
    }
    Value* values;
    if constexpr (sizeof(Value) == 4) {
      values = neighbours + begin;
    } else {
      ordered.resize(n);
      values = ordered.data();
    }
    for (uint64_t i = 0; i < n; ++i) values[place[given[i].list - first]++] = sortable(given[i]);
    uint64_t from = 0;
    for (uint64_t list = first; list < last; ++list) {  // place[] now holds the lists' ends
      sort_list(values + from, place[list - first] - from, spare);
      from = place[list - first];
    }
    if constexpr (sizeof(Value) == 8) {
      for (uint64_t i = 0; i < n; ++i) {
        neighbours[begin + i] = entry_of(values[i]);
        order[begin + i] = static_cast<uint32_t>(values[i]);
      }
    }
  }

  const uint32_t* lists_;
  const uint32_t* entries_;
  uint32_t lo_, n_lists_;
  uint64_t n_;
  const Control* control_;
  int threads_;
  int shift_ = 0;
  uint32_t n_ranges_;
  std::vector<uint16_t> bucket_of_;  // of each range
  std::vector<uint32_t> ranges_;     // the first range of each bucket, and how many there are
  std::vector<uint64_t> begins_;     // the first entry of each bucket, and how many there are
  std::vector<uint64_t> place_;      // by thread and bucket: where its entries begin
  std::unique_ptr<E[], Free> buffer_;
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
