// Rows folded into groups: what an aggregate needs of them, when keys and arguments are numbers of the rows' elements.
//
// What is asked for is a Plan (qe/fold.h). Rows come in blocks; a block's keys
// become the records of its groups, and each operation then goes through the block, so that what it reads stays in cache.
// All that records hold are whole numbers: floats are added as fixed-point digits, so sums are the same in any order, on any
// number of threads. Source: block-at-a-time execution, Boncz, Zukowski and Nes 2005; reproducible sums, Demmel and Nguyen 2015.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "base/charged_memory.h"
#include "base/zeroed.h"
#include "count/eliminate.h"
#include "fold/gathered.h"
#include "qe/fold.h"

namespace qe::fold {

using eliminate::check;

constexpr int kBlock = 1024;

// Up to kBlock rows. weights: how often each counts, or null: once. in_order: instead of `ids`, of one variable at most, those from
// `first` on.
struct Block {
  int n;
  const int64_t* const* ids;
  const int64_t* weights;
  bool in_order = false;
  int64_t first = 0;
};

// The groups met so far and their records, of which slot 0 counts rows: by code, or in a hash table.
class Table {
 public:
  // hashed: groups are looked for by their codes, as the plan says, or where a thread has a few of those that all share.
  // gathered: takes the numbers of rows; null of a table that others are merged into.
  Table(const Plan& plan, const int64_t* empty, Control* control, Charge& charge, bool hashed, Gathered* gathered = nullptr);

  void add(const Block& block);
  void add(const Block& block, const uint64_t* codes);  // whose groups are known
  void codes(const Block& block, uint64_t* codes) const;
  bool gathers() const { return !filled_.empty(); }
  // Adds the groups of another table: slots [begin, end) of all records where neither is hashed, or some of one that is.
  void merge(const Table& other, uint64_t begin, uint64_t end);
  void merge(const Table& other, const uint32_t* some, size_t n);
  void clear();  // hashed: leaves no group
  uint64_t size() const { return size_; }  // hashed: groups, else codes
  uint64_t code(uint64_t g) const { return hashed_ ? codes_[g] : g; }
  // Calls each(code, record) for each group, in no order where hashed; of those from `begin` to `end` of `size`.
  template <typename Each>
  void each(uint64_t begin, uint64_t end, Each&& each) const {
    for (uint64_t g = begin; g < end; ++g)
      if (hashed_ || record(g)[0]) each(code(g), record(g));
  }
  const int64_t* record(uint64_t g) const { return first_ + g * static_cast<uint64_t>(plan_.n_slots); }

 private:
  int64_t* record(uint64_t g) { return first_ + g * static_cast<uint64_t>(plan_.n_slots); }
  void find(const uint64_t* codes, int n, int64_t** records);
  void run_all(const Block& block, int64_t* const* records) const;
  void gather(const Block& block, const uint64_t* codes);
  void combine(int64_t* to, const int64_t* from, int first, int last) const;  // slots [first, last)
  void reserve(uint64_t more);
  uint64_t place(uint64_t code);

  const Plan& plan_;
  const int64_t* empty_;  // a record of no rows
  Charge& charge_;
  bool hashed_;
  int64_t* first_ = nullptr;      // the records
  Zeroed<int64_t> shared_;        // of a table for all threads
  std::vector<int64_t> slots_;    // of others
  std::vector<uint64_t> codes_;   // hashed: of each group
  std::vector<uint32_t> index_;   // hashed: 1 + a group, or 0; a power of two long
  uint64_t size_ = 0, room_ = 0;  // groups
  int shift_ = 64;
  bool alone_ = false;  // all rows are of one group
  Gathered* gathered_;
  std::vector<GatheredRows*> filled_;  // of each task that gathers: what its next numbers go to
};

// A column's numbers, of the type that it has. get: whether an element has one. in_order: calls each(i, number) for those of n elements
// from `first` on that have one.
template <typename T, bool kWhole>
struct Reader {
  const T* values;
  const uint8_t* validity;
  int64_t base, count, offset;

  explicit Reader(const Column& column)
      : values(static_cast<const T*>(column.values)), validity(column.validity), base(column.base), count(column.count),
        offset(column.validity_offset) {}

  bool get(int64_t id, T* number) const {
    const int64_t at = id - base;
    if constexpr (!kWhole) {
      if (static_cast<uint64_t>(at) >= static_cast<uint64_t>(count)) return false;
      if (validity && !(validity[(at + offset) >> 3] >> ((at + offset) & 7) & 1)) return false;
    }
    *number = values[at];
    return !std::is_same_v<T, int32_t> || *number >= 0;
  }

  template <typename Each>
  void in_order(int64_t first, int n, Each&& each) const {
    const int64_t at = first - base;
    const int64_t begin = kWhole ? 0 : std::clamp<int64_t>(-at, 0, n), end = kWhole ? n : std::clamp<int64_t>(count - at, begin, n);
    if (kWhole || !validity) {
      for (int64_t i = begin; i < end; ++i)
        if (!std::is_same_v<T, int32_t> || values[at + i] >= 0) each(static_cast<int>(i), values[at + i]);
      return;
    }
    for (int64_t i = begin, bit = at + offset + begin; i < end; ++i, ++bit)
      if (validity[bit >> 3] >> (bit & 7) & 1) each(static_cast<int>(i), values[at + i]);
  }
};

struct IdReader {
  bool get(int64_t id, int64_t* number) const {
    *number = id;
    return true;
  }

  template <typename Each>
  void in_order(int64_t first, int n, Each&& each) const {
    for (int i = 0; i < n; ++i) each(i, first + i);
  }
};

template <typename Read>
void with_reader(const Column& column, Read&& read) {
  switch (column.kind) {
    case kIds: return read(IdReader{}, int64_t{});
    case kInt64: return column.whole ? read(Reader<int64_t, true>(column), int64_t{}) : read(Reader<int64_t, false>(column), int64_t{});
    case kFloat64: return column.whole ? read(Reader<double, true>(column), double{}) : read(Reader<double, false>(column), double{});
    default: return column.whole ? read(Reader<int32_t, true>(column), int32_t{}) : read(Reader<int32_t, false>(column), int32_t{});
  }
}

inline uint64_t hash_of(uint64_t code) { return (code ^ code >> 32) * 0x9E3779B97F4A7C15u; }

// Groups of one range of hashes, or of codes, that threads merge theirs into. made: what only it has.
struct alignas(64) Shard {
  std::mutex mutex;
  Table* table;
  std::unique_ptr<Table> made;
};

constexpr int kShardBits = 8;
constexpr size_t kShards = size_t{1} << kShardBits;

// An integer of the same order: of floats with NaN greatest, and both zeros equal.
template <typename Number>
int64_t ordered(Number number) {
  if constexpr (std::is_same_v<Number, double>) {
    number = std::isnan(number) ? NAN : number + 0.0;
    int64_t bits;
    std::memcpy(&bits, &number, sizeof bits);
    return bits < 0 ? bits ^ INT64_MAX : bits;
  } else {
    return number;
  }
}

// A fold under way: its plan, and the groups of all rows so far. A thread that folds by itself uses `table`. Several have a table
// each (fold_threads.h) and merge it into `table` in the end; or what they have goes to `shards`: where groups are hashed, tables
// apart, where one table has places for all of them, its ranges.
struct Fold {
  Fold(const Plan& given, Control* control);

  // Charges the weights of rows to what they may add up to, from any thread; false, and nothing done, where that is too much.
  bool counts(const int64_t* weights, uint64_t n);
  void begin_shards();
  size_t shard_of(uint64_t code) const {
    return static_cast<size_t>(plan.hashed ? hash_of(code) * 0x9E3779B97F4A7C15u >> (64 - kShardBits) : code >> range_bits);
  }
  void share(const Table& from, size_t first);  // merges hashed groups into the shards, of which the `first` is the first

  std::vector<Key> keys;
  std::vector<Task> tasks;
  std::vector<int64_t> empty;  // a record of no rows
  Plan plan;                   // over these
  Control* control;
  Charge charge;
  Gathered gathered;
  std::unique_ptr<Table> table;
  std::once_flag sharing;
  std::vector<std::unique_ptr<Shard>> shards;
  uint64_t total = 0;
  int range_bits = 0;  // places of a shard, as a power of two
};

}  // namespace qe::fold
