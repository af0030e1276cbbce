// What is folded by several threads: each has groups of its own, which are merged.
//
// Groups that codes have places for are merged at the end, range by range. Hashed ones go to the fold's shards whenever a thread has
// so many that its table outgrows the cache: so the groups of all threads take about as much memory as those of one, and merging
// them is dealt to all. The results are the same for every number of threads.
#pragma once
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "count/eliminate.h"
#include "fold/fold.h"

namespace qe::fold {

constexpr uint64_t kOwnGroups = 1 << 14;
constexpr uint64_t kMergedRange = 1 << 12;  // groups, between two looks whether to stop

// The groups of one thread.
class Own {
 public:
  // alone: nobody else folds meanwhile.
  Own(Fold& fold, size_t worker, bool alone) : fold_(fold), worker_(worker), table_(fold.table.get()) {
    if (alone) return;
    made_ = std::make_unique<Table>(fold.plan, fold.empty.data(), fold.charge, &fold.gathered);
    table_ = made_.get();
  }

  void add(const Block& block) {
    table_->add(block);
    if (made_ && fold_.plan.hashed && made_->size() >= kOwnGroups) share();
  }
  // Hashed groups become the fold's.
  void share() {
    if (!made_ || !fold_.plan.hashed) return;
    fold_.share(*made_, worker_ * 7);
    made_->clear();
  }
  const Table* own() const { return fold_.plan.hashed ? nullptr : made_.get(); }  // that is still to be merged

 private:
  Fold& fold_;
  size_t worker_;
  Table* table_;
  std::unique_ptr<Table> made_;
};

// Merges what threads have left of groups that aren't hashed.
inline void merge_own(Fold& fold, const std::vector<const Table*>& tables) {
  if (tables.empty()) return;
  const uint64_t slots = fold.plan.places * static_cast<uint64_t>(fold.plan.n_slots) * tables.size();
  eliminate::WorkQueue queue(fold.control, fold.plan.places, kMergedRange);
  check(eliminate::deal(eliminate::workers_for(fold.control, slots), queue, [&](int) {
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
