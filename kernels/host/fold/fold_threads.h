// What is folded by several threads: each has groups of its own, which are merged.
//
// Groups that codes have places for are merged at the end, range by range. Hashed ones, and those that have places in one table for all,
// go to the fold's shards whenever a thread has so many that its table outgrows the cache: so the groups of all threads take about as
// much memory as those of one, and merging them is dealt to all. Once most of a thread's rows are the first of their group in its table,
// rows go to the shards themselves, many of one shard together. The results are the same for every number of threads.
// Source: partitioned aggregation, Manegold, Boncz and Nes 2004; Cieslewicz and Ross 2007.
#pragma once
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "count/eliminate.h"
#include "fold/fold.h"

namespace qe::fold {

constexpr uint64_t kOwnGroups = 1 << 14;
constexpr uint64_t kMergedRange = 1 << 14;  // slots of each table, between two looks whether to stop

constexpr size_t kDealt = 256;  // rows that a shard takes together
constexpr size_t kMostVariables = 8;

// Rows of one thread by the shard of their group. A shard that others are at is waited for in the end alone.
class DealtRows {
 public:
  static size_t bytes(const Fold& fold) { return kShards * kDealt * width(fold) * sizeof(int64_t); }

  explicit DealtRows(Fold& fold) : fold_(fold), width_(width(fold)), counts_(kShards) {
    fold.begin_shards();
    buffer_.reserve(kShards * kDealt * width_, fold.charge);
  }
  ~DealtRows() { fold_.charge.give_back(buffer_.capacity() * sizeof(int64_t)); }
  DealtRows(const DealtRows&) = delete;
  DealtRows& operator=(const DealtRows&) = delete;

  // Calls busy(block, codes) with rows of a shard that others are at.
  template <typename Busy>
  void add(const Block& block, Busy&& busy) {
    if ((block.weights != nullptr) != weighed_) flush(0);
    weighed_ = block.weights != nullptr;
    uint64_t codes[kBlock];
    fold_.table->codes(block, codes);
    for (int i = 0; i < block.n; ++i) {
      const size_t shard = fold_.shard_of(codes[i]);
      int64_t* to = columns(shard) + counts_[shard];
      *to = static_cast<int64_t>(codes[i]);
      for (int k = 0; k < fold_.plan.n_variables; ++k) *(to += kDealt) = block.in_order ? block.first + i : block.ids[k][i];
      if (weighed_) *(to += kDealt) = block.weights[i];
      if (++counts_[shard] == kDealt) flush(shard, busy);
    }
  }
  // All that is left; `first` is the shard that comes first.
  void flush(size_t first) {
    for (size_t k = 0; k < kShards; ++k) {
      const size_t shard = (first + k) % kShards;
      if (counts_[shard] == 0) continue;
      const std::lock_guard<std::mutex> lock(fold_.shards[shard]->mutex);
      fold_.shards[shard]->table->add(taken(shard), codes(shard));
    }
  }

 private:
  static size_t width(const Fold& fold) { return static_cast<size_t>(fold.plan.n_variables) + 2; }
  int64_t* columns(size_t shard) { return buffer_.data() + shard * kDealt * width_; }

  const uint64_t* codes(size_t shard) { return reinterpret_cast<const uint64_t*>(columns(shard)); }
  // The rows of a shard, which are then gone: the next ones are written in their place.
  Block taken(size_t shard) {
    int64_t* const first = columns(shard);
    for (size_t k = 0; k + 2 < width_; ++k) ids_[k] = first + (k + 1) * kDealt;
    const auto n = static_cast<int>(std::exchange(counts_[shard], 0));
    return {n, ids_, weighed_ ? first + (width_ - 1) * kDealt : nullptr};
  }
  template <typename Busy>
  void flush(size_t shard, Busy&& busy) {
    Shard& to = *fold_.shards[shard];
    if (std::unique_lock<std::mutex> lock(to.mutex, std::try_to_lock); lock) to.table->add(taken(shard), codes(shard));
    else busy(taken(shard), codes(shard));
  }

  Fold& fold_;
  size_t width_;  // a code, variables, a weight
  bool weighed_ = false;
  const int64_t* ids_[kMostVariables];
  std::vector<size_t> counts_;
  Buffer<int64_t> buffer_;
};

// The groups of one thread.
class Own {
 public:
  // alone: nobody else folds meanwhile.
  Own(Fold& fold, size_t worker, bool alone)
      : fold_(fold), worker_(worker), shares_(!alone && (fold.plan.hashed || fold.plan.shared)), table_(fold.table.get()) {
    if (alone) return;
    made_ = std::make_unique<Table>(fold.plan, fold.empty.data(), fold.control, fold.charge, shares_, &fold.gathered);
    table_ = made_.get();
  }

  void add(const Block& block) {
    if (dealt_) {
      dealt_->add(block, [this](const Block& each, const uint64_t* codes) { busy(each, codes); });
      return;
    }
    table_->add(block);
    rows_ += static_cast<uint64_t>(block.n);
    if (!shares_ || made_->size() < kOwnGroups) return;
    const bool few = kFewRows * rows_ < kFewGroups * made_->size();
    if (few && !made_->gathers() && fold_.charge.affords(DealtRows::bytes(fold_))) dealt_ = std::make_unique<DealtRows>(fold_);
    merge();
  }
  // What all threads share becomes the fold's.
  void share() {
    if (!shares_) return;
    if (dealt_) dealt_->flush(first());
    merge();
  }
  const Table* own() const { return shares_ ? nullptr : made_.get(); }  // that is still to be merged

 private:
  static constexpr uint64_t kFewRows = 4, kFewGroups = 5;  // fewer than 5 rows for 4 groups

  size_t first() const { return worker_ * (kShards / 16 + 1); }  // shard, another one for each thread
  void busy(const Block& block, const uint64_t* codes) {
    made_->add(block, codes);
    if (made_->size() >= kOwnGroups) merge();
  }
  void merge() {
    fold_.share(*made_, first());
    made_->clear();
    rows_ = 0;
  }

  Fold& fold_;
  size_t worker_;
  bool shares_;
  uint64_t rows_ = 0;  // in the table
  Table* table_;
  std::unique_ptr<Table> made_;
  std::unique_ptr<DealtRows> dealt_;
};

// Merges what threads have left of groups that aren't hashed.
inline void merge_own(Fold& fold, const std::vector<const Table*>& tables) {
  if (tables.empty()) return;
  const uint64_t slots = fold.plan.places * static_cast<uint64_t>(fold.plan.n_slots);
  eliminate::WorkQueue queue(fold.control, slots, kMergedRange);
  check(eliminate::deal(eliminate::workers_for(fold.control, slots * tables.size()), queue, [&](int) {
    for (uint64_t begin, end; queue.take(&begin, &end);)
      for (const Table* table : tables) fold.table->merge(*table, begin, end);
  }));
}

// Deals [0, n) in pieces of `grain`: work(queue, own) folds the pieces that it takes.
template <typename Work>
void deal_tables(Fold& fold, uint64_t n, uint64_t grain, int threads, Work&& work) {
  eliminate::WorkQueue queue(fold.control, n, grain);
  std::vector<std::unique_ptr<Own>> owners(static_cast<size_t>(threads));
  check(eliminate::deal(threads, queue, [&](int worker) {
    auto& own = owners[static_cast<size_t>(worker)];
    own = std::make_unique<Own>(fold, static_cast<size_t>(worker), threads == 1);
    work(queue, *own);
    own->share();
  }));
  std::vector<const Table*> left;
  for (const auto& own : owners)
    if (own && own->own()) left.push_back(own->own());
  merge_own(fold, left);
}

}  // namespace qe::fold
