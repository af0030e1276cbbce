// Counts what completes the first vertices of an embedding, by the search.
#pragma once
#include <algorithm>
#include <memory>
#include <vector>

#include "search/search_run.h"

namespace qe {

// Counts completions of the first `depth` levels; one worker a thread.
class Completion {
 public:
  Completion(const MatchPlan& plan, int depth, Control* control)
      : plan_(plan), values_(static_cast<size_t>(depth)), seeds_(static_cast<size_t>(depth)) {
    plan_.seeds = plan_.enumerated = depth;
    plan_.mode = kCount;
    plan_.n_outputs = 0;
    plan_.breadth_first = 0;
    levels_.assign(plan.levels, plan.levels + plan.n_levels);
    for (PlanLevel& level : levels_) level.output = -1;
    plan_.levels = levels_.data();
    for (size_t k = 0; k < seeds_.size(); ++k) seeds_[k] = &values_[k];
    run_ = std::make_unique<SearchRun>(plan_, control, 1, seeds_.data(), 1);
  }

  // Forgets what earlier counts left behind, so that the next one's work depends on its prefix alone.
  void forget() { worker_.reset(); }

  // False: it takes more than *work, which becomes what is left of it.
  bool count(const int64_t* prefix, int64_t* work, uint64_t* found) {
    std::copy_n(prefix, values_.size(), values_.begin());
    if (run_->plan().impossible) {
      *found = 0;
      return true;
    }
    if (worker_ == nullptr) worker_ = std::make_unique<Worker>(*run_);
    worker_->allow_work(*work);
    try {
      *found = worker_->search_row(0);
      *work = worker_->work_left();
      return true;
    } catch (const Halt& halt) {
      worker_.reset();  // its scratch memory may be in any state
      if (halt.status != kTrialOver && halt.status != kOverflow) throw;
      *work = 0;
      return false;
    }
  }

 private:
  MatchPlan plan_;
  std::vector<PlanLevel> levels_;
  std::vector<int64_t> values_;
  std::vector<const int64_t*> seeds_;
  std::unique_ptr<SearchRun> run_;
  std::unique_ptr<Worker> worker_;
};

}  // namespace qe
