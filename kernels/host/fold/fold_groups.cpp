// The groups of a fold, in the order of their codes (fold.h).
//
// Hashed groups are dealt to buckets by samples of their codes, and each bucket is sorted by the digits in which its codes differ.
// Bytes moved: a code and an address a group some times, each record once. Source: sample sort, Frazer and McKellar 1970; digits of
// 11 bits.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "fold/fold_threads.h"

namespace qe::fold {
namespace {

struct Group {
  uint64_t code;
  const int64_t* record;
};

constexpr uint64_t kTaken = 1 << 12;     // groups, between two looks whether to stop
constexpr uint64_t kSearched = 1 << 14;  // places or groups of a table that are looked through together
constexpr size_t kSamples = 32;          // of a bucket
constexpr size_t kFewSorted = 1 << 10;   // groups that are sorted by comparing
constexpr int kDigit = 11;

bool before(const Group& a, const Group& b) { return a.code < b.code; }

void sort_groups(Group* groups, Group* spare, size_t n) {
  if (n <= kFewSorted) {
    std::sort(groups, groups + n, before);
    return;
  }
  uint64_t differ = 0;
  for (size_t i = 1; i < n; ++i) differ |= groups[i].code ^ groups[0].code;
  Group *from = groups, *to = spare;
  for (int shift = 0; shift < 64 && differ >> shift; shift += kDigit) {
    constexpr uint64_t mask = (uint64_t{1} << kDigit) - 1;
    if ((differ >> shift & mask) == 0) continue;
    size_t places[mask + 2] = {};
    for (size_t i = 0; i < n; ++i) ++places[(from[i].code >> shift & mask) + 1];
    for (size_t d = 0; d < mask; ++d) places[d + 1] += places[d];
    for (size_t i = 0; i < n; ++i) to[places[from[i].code >> shift & mask]++] = from[i];
    std::swap(from, to);
  }
  if (from != groups) std::copy(from, from + n, groups);
}

// What a fold's tables have, in pieces of which each has its groups in a row: of codes, in their order. No group is in two tables.
class Pieces {
 public:
  explicit Pieces(Fold& fold) : fold_(fold) {
    split(*fold.table);
    for (const auto& shard : fold.shards)
      if (shard->made) split(*shard->made);
    std::vector<uint64_t> found(pieces_.size());
    each([&](uint64_t k) {
      pieces_[k].table->each(pieces_[k].begin, pieces_[k].end, [&n = found[k]](uint64_t, const int64_t*) { ++n; });
    });
    for (size_t k = 0; k < pieces_.size(); ++k) groups_ += std::exchange(pieces_[k].first, groups_) + found[k];
  }

  uint64_t groups() const { return groups_; }
  // Calls use(place, code, record) for each group, on all threads; of each piece that which `begin` returns.
  template <typename Begin>
  void each_group(Begin&& begin) const {
    each([&](uint64_t k) {
      auto use = begin();
      uint64_t place = pieces_[k].first;
      pieces_[k].table->each(pieces_[k].begin, pieces_[k].end, [&](uint64_t code, const int64_t* record) { use(place++, code, record); });
    });
  }

 private:
  struct Piece {
    const Table* table;
    uint64_t begin, end, first;
  };

  void split(const Table& table) {
    for (uint64_t begin = 0; begin < table.size(); begin += kSearched)
      pieces_.push_back({&table, begin, std::min(table.size(), begin + kSearched), 0});
  }
  template <typename Each>
  void each(Each&& one) const {
    const int threads = eliminate::workers_for(fold_.control, pieces_.size() * kSearched);
    check(eliminate::each_piece(threads, fold_.control, pieces_.size(), 1, [&](uint64_t k, uint64_t) { one(k); }));
  }

  Fold& fold_;
  std::vector<Piece> pieces_;
  uint64_t groups_ = 0;
};

// Groups in the order of their codes.
class Ordered {
 public:
  explicit Ordered(Fold& fold) : fold_(fold), charge_(fold.control) {
    const Pieces pieces(fold);
    const auto n = static_cast<size_t>(pieces.groups());
    charge_.add(2 * n * sizeof(Group));
    groups_.reset(new Group[n]);
    spare_.reset(new Group[n]);
    size_ = n;
    pieces.each_group([&] {
      return [&](uint64_t place, uint64_t code, const int64_t* record) { groups_[place] = {code, record}; };
    });
    if (fold.plan.hashed) sort();
  }

  // Writes the code of each key, and for each task its slots: of kDistinct one, how many bits are set.
  void take(int64_t* keys, int64_t* columns) {
    dealt(size_, kTaken, [&](uint64_t begin, uint64_t end) {
      for (uint64_t g = begin; g < end; ++g) write(g, keys + g, columns + g);
    });
  }

 private:
  template <typename Work>
  void dealt(uint64_t n, uint64_t grain, Work&& work) {
    check(eliminate::each_piece(eliminate::workers_for(fold_.control, size_), fold_.control, n, grain, work));
  }

  void sort() {
    const int threads = eliminate::workers_for(fold_.control, size_);
    if (threads == 1) {
      sort_groups(groups_.get(), spare_.get(), size_);
      return;
    }
    const size_t buckets = 4 * static_cast<size_t>(threads), chunks = static_cast<size_t>(threads);
    std::vector<uint64_t> samples;
    for (size_t k = 0; k < kSamples * buckets; ++k) samples.push_back(groups_[k * size_ / (kSamples * buckets)].code);
    std::sort(samples.begin(), samples.end());
    std::vector<uint64_t> bounds;  // a bucket begins with its bound
    for (size_t k = 1; k < buckets; ++k) bounds.push_back(samples[k * kSamples]);
    const auto bucket = [&](uint64_t code) {
      return static_cast<size_t>(std::upper_bound(bounds.begin(), bounds.end(), code) - bounds.begin());
    };
    std::vector<std::vector<size_t>> places(chunks, std::vector<size_t>(buckets));
    dealt(chunks, 1, [&](uint64_t k, uint64_t) {
      for (size_t i = k * size_ / chunks; i < (k + 1) * size_ / chunks; ++i) ++places[k][bucket(groups_[i].code)];
    });
    std::vector<size_t> begins(buckets + 1);
    size_t at = 0;
    for (size_t b = 0; b < buckets; ++b) {
      begins[b] = at;
      for (auto& each : places) at += std::exchange(each[b], at);
    }
    begins[buckets] = size_;
    dealt(chunks, 1, [&](uint64_t k, uint64_t) {
      for (size_t i = k * size_ / chunks; i < (k + 1) * size_ / chunks; ++i) spare_[places[k][bucket(groups_[i].code)]++] = groups_[i];
    });
    std::swap(groups_, spare_);
    dealt(buckets, 1, [&](uint64_t b, uint64_t) {
      sort_groups(groups_.get() + begins[b], spare_.get() + begins[b], begins[b + 1] - begins[b]);
    });
  }

  void write(uint64_t g, int64_t* key, int64_t* column) const {
    uint64_t code = groups_[g].code;
    for (int k = fold_.plan.n_keys; k-- > 0; code /= fold_.plan.keys[k].places)
      key[static_cast<size_t>(k) * size_] = static_cast<int64_t>(code % fold_.plan.keys[k].places);
    const int64_t* record = groups_[g].record;
    for (const Task& task : fold_.tasks) {
      if (task.operation == kDistinct) {
        int64_t bits = 0;
        for (int k = 0; k < task.digits; ++k) bits += __builtin_popcountll(static_cast<uint64_t>(record[task.slot + k]));
        *column = bits;
        column += size_;
        continue;
      }
      for (int k = 0; k < task.digits; ++k, column += size_) *column = record[task.slot + k];
    }
  }

  Fold& fold_;
  Charge charge_;
  std::unique_ptr<Group[]> groups_, spare_;
  size_t size_ = 0;
};

}  // namespace
}  // namespace qe::fold

namespace qe::fold {
namespace {

// No group is in two tables any more.
void collect(Fold& fold) {
  if (fold.shards.empty() || !fold.plan.hashed) return;
  fold.share(*fold.table, 0);
  fold.table->clear();
}

constexpr uint64_t kCountedApart = kSearched / 4;  // groups that each piece counts for itself

// Counts groups by the codes of all keys but the last, n ascending ones, where that isn't null.
class Different {
 public:
  Different(const uint64_t* codes, uint64_t n, uint64_t last, int64_t* counts)
      : codes_(codes), n_(n), last_(last), dense_(codes[n - 1] - codes[0] == n - 1), counts_(counts), own_(n <= kCountedApart ? n : 0) {}
  Different(Different&&) = default;
  ~Different() {
    for (uint64_t i = 0; i < own_.size(); ++i)
      if (own_[i]) __atomic_fetch_add(counts_ + i, own_[i], __ATOMIC_RELAXED);
  }

  void operator()(uint64_t, uint64_t code, const int64_t*) {
    if (code % last_ == 0) return;
    const uint64_t first = code / last_;
    const uint64_t at = dense_ ? first - codes_[0] : static_cast<uint64_t>(std::lower_bound(codes_, codes_ + n_, first) - codes_);
    if (own_.empty()) __atomic_fetch_add(counts_ + at, 1, __ATOMIC_RELAXED);
    else ++own_[at];
  }

 private:
  const uint64_t* codes_;
  uint64_t n_, last_;
  bool dense_;
  int64_t* counts_;
  std::vector<int64_t> own_;
};

}  // namespace
}  // namespace qe::fold

using qe::fold::Fold;

// Tells how many groups there are. No rows may be folded any more.
QE_API int32_t qe_fold_groups(Fold* fold, uint64_t* n) {
  return qe::eliminate::guarded([&] {
    qe::fold::collect(*fold);
    *n = qe::fold::Pieces(*fold).groups();
  });
}

// Writes these groups, in the order of their codes: the code of each key, one key after the other, and for each task its slots, one
// column after the other: of kDistinct one, how many bits are set.
QE_API int32_t qe_fold_take(Fold* fold, int64_t* keys, int64_t* columns, qe::Control*) {
  return qe::eliminate::guarded([&] { qe::fold::Ordered(*fold).take(keys, columns); });
}

// Adds to counts[i] how many groups there are whose code without its last key, which is not null, is codes[i]: n ascending ones, of which
// every group has one. No rows may be folded any more.
QE_API int32_t qe_fold_different(Fold* fold, const uint64_t* codes, uint64_t n, int64_t* counts, qe::Control*) {
  return qe::eliminate::guarded([&] {
    qe::fold::collect(*fold);
    const auto last = static_cast<uint64_t>(fold->plan.keys[fold->plan.n_keys - 1].places);
    if (n) qe::fold::Pieces(*fold).each_group([&] { return qe::fold::Different(codes, n, last, counts); });
  });
}
