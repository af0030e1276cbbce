// Counts slice by slice: exact where there is time for all slices, a sample of them where there is not.
//
// Problem: the vertices of a plan's first level are cut into slices, and what completes those of one slice is counted by the
// search. Slices come in a random order, each once, so that the slices counted so far are a simple random sample without
// replacement of all: their mean, times how many slices there are, is unbiased for the count (where one is counted at
// all), and its error is 0 once all are counted. Slice k takes the vertices k, k + slices, k + 2 slices, …: stored
// vertices stand by descending degree, so that all slices have their share of hubs (systematic sampling).
// Source: Cochran, Sampling Techniques, 1977, chapters 8 and 9.
#include <numeric>
#include <utility>

#include "base/stop.h"
#include "qe/sample.h"
#include "sample/sample_completion.h"

namespace qe {

// Slices [first, last) of a seed's order, while they take at most `work` ids read in all.
struct SliceTask {
  uint64_t seed;
  int64_t slices;
  int64_t first;
  int64_t last;
  int64_t work;
};

// What was counted: slices, those with an embedding, sums of their counts and squares, and the ids that were read.
struct SliceSums {
  double weight, square;
  int64_t done, hits, work;
};

namespace {

constexpr int64_t kWorkALook = 1 << 13;       // ids read between two looks whether to stop
constexpr uint64_t kSliceBlock = 1ull << 36;  // of Philox, apart from those of the levels

std::vector<int64_t> slice_order(const SliceTask& task) {
  std::vector<int64_t> order(static_cast<size_t>(task.slices));
  std::iota(order.begin(), order.end(), 0);
  for (size_t left = order.size(); left > 1; --left) {
    const uint32_t word = philox(left, kSliceBlock, task.seed).word[0];
    std::swap(order[left - 1], order[static_cast<size_t>((static_cast<uint64_t>(word) * left) >> 32)]);
  }
  return order;
}

class SliceCount {
 public:
  SliceCount(const MatchPlan& plan, Control* control, const SliceTask& task, SliceSums* sums)
      : plan_(plan), control_(control), task_(task), sums_(sums), completion_(plan, 1, control), left_(task.work),
        look_(task.work) {}

  void run() {
    const PlanLevel& level = plan_.levels[0];
    const uint64_t n = fixed_places(plan_, level), slices = static_cast<uint64_t>(task_.slices);
    const std::vector<int64_t> order = slice_order(task_);
    for (auto at = static_cast<size_t>(task_.first); at < static_cast<size_t>(task_.last); ++at) {
      double total = 0;
      bool counted = true;
      for (auto k = static_cast<uint64_t>(order[at]); k < n && counted; k += slices) counted = count(level, k, &total);
      sums_->work = task_.work - std::max<int64_t>(left_, 0);
      if (!counted) return;
      sums_->weight += total;
      sums_->square += total * total;
      sums_->hits += total > 0;
      ++sums_->done;
    }
  }

 private:
  // False: it takes too much work.
  bool count(const PlanLevel& level, uint64_t k, double* total) {
    if ((left_ -= static_cast<int64_t>(kBindCost)) < 0) return false;
    if (left_ < look_) {
      look_ = left_ - kWorkALook;
      if (const Status status = stopped(control_); status != kOk) throw Halt{status};
    }
    const int64_t root = fixed_place(plan_, level, k).vertex;
    uint64_t found = 0;
    if (!completion_.count(&root, &left_, &found)) return false;
    *total += static_cast<double>(found);
    return true;
  }

  const MatchPlan& plan_;
  Control* control_;
  const SliceTask& task_;
  SliceSums* sums_;
  Completion completion_;
  int64_t left_, look_;
};

}  // namespace
}  // namespace qe

// Counts slices of a plan without seeds on one thread, and adds them to *sums, whole ones alone, whatever is returned.
QE_API int32_t qe_count_slices(const qe::MatchPlan* plan, qe::Control* control, const qe::SliceTask* task,
                               qe::SliceSums* sums) {
  const bool sound = plan->seeds == 0 && plan->n_levels > 0 && plan->levels[0].kind == qe::kVertexLevel && task->slices > 0 &&
                     task->first >= 0 && task->last <= task->slices;
  if (!sound) return qe::kInvalid;
  try {
    qe::SliceCount(*plan, control, *task, sums).run();
    return qe::kOk;
  } catch (const qe::Halt& halt) {
    return halt.status;
  } catch (const std::bad_alloc&) {
    return qe::kOutOfMemory;
  }
}
