// What is folded by several threads: each has a table of its own, and these are merged at the end.
#pragma once
#include <memory>
#include <utility>
#include <vector>

#include "count/eliminate.h"
#include "fold/fold.h"

namespace qe::fold {

// Deals [0, n) in pieces of `grain`: work(queue, table) folds the pieces that it takes.
template <typename Work>
void deal_tables(Fold& fold, uint64_t n, uint64_t grain, int threads, Work&& work) {
  eliminate::WorkQueue queue(fold.control, n, grain);
  std::vector<std::unique_ptr<Table>> tables(static_cast<size_t>(threads));
  check(eliminate::deal(threads, queue, [&](int worker) {
    auto& own = tables[static_cast<size_t>(worker)];
    if (worker) own = std::make_unique<Table>(fold.plan, fold.empty.data(), fold.charge);
    work(queue, worker ? *own : *fold.table);
  }));
  for (const auto& table : tables)
    if (table) fold.table->merge(*table, fold.control);
}

}  // namespace qe::fold
