// Samples of a plan on all threads.
//
// Samples are cut into blocks that threads take from a counter. Each block adds up its own sums; they are added in the
// order of the blocks, so that the result is the same for every number of threads. Rows of a block stand together, blocks
// in order. Stop flag and deadline are looked at before each batch (some 0.01 to 10 ms of one core).
#include <algorithm>
#include <atomic>

#include "base/stop.h"
#include "base/workers.h"
#include "qe/abi.h"
#include "sample/sample_batch.h"

namespace qe {

// What to sample: the first `depth` levels of a plan, samples [first, first + samples) of the stream `seed`. `guide`: null, or
// for Alley the guide of the candidate graph whose plan it is.
struct SampleTask {
  int32_t method;
  int32_t depth;
  uint64_t seed;
  uint64_t first;
  int64_t samples;
  const GuideLevel* guide;
};

namespace {

constexpr int64_t kBlockSamples = 8 * kBatchSamples;

class SampleRun {
 public:
  SampleRun(const MatchPlan& plan, Control* control, const SampleTask& task, int64_t* rows, double* weights)
      : plan_(plan), control_(control), task_(task), rows_(rows), weights_(weights),
        blocks_((task.samples + kBlockSamples - 1) / kBlockSamples),
        sums_(static_cast<size_t>(blocks_ * task.depth)), found_(static_cast<size_t>(blocks_)) {}

  Status run() {
    const auto threads = static_cast<int>(std::min<int64_t>(control_->threads, blocks_));
    const Status status = run_workers(std::max(threads, 1), [this](int) {
      try {
        work();
      } catch (const Halt& halt) {
        stop_ = halt.status;
      }
    });
    return status != kOk ? status : static_cast<Status>(stop_.load());
  }

  void total(SampleSums* sums) const {
    for (int64_t block = 0; block < blocks_; ++block)
      for (int level = 0; level < task_.depth; ++level)
        sums[level].add(sums_[static_cast<size_t>(block * task_.depth + level)]);
  }

  // Closes the gaps between the blocks' rows; returns how many there are.
  int64_t close_up() {
    int64_t n = 0;
    for (int64_t block = 0; block < blocks_; ++block) {
      const int64_t at = block * kBlockSamples, count = found_[static_cast<size_t>(block)];
      if (at != n) {
        std::copy_n(rows_ + at * task_.depth, count * task_.depth, rows_ + n * task_.depth);
        std::copy_n(weights_ + at, count, weights_ + n);
      }
      n += count;
    }
    return n;
  }

 private:
  void work() {
    SampleBatch batch(plan_, task_.method, task_.depth, task_.seed, task_.guide, control_);
    for (int64_t block = next_++; block < blocks_; block = next_++) {
      const int64_t begin = block * kBlockSamples, end = std::min(task_.samples, begin + kBlockSamples);
      int64_t& found = found_[static_cast<size_t>(block)];
      for (int64_t at = begin; at < end; at += kBatchSamples) {
        if (const Status status = stopped(control_)) stop_ = status;
        if (stop_) return;
        const auto n = static_cast<int>(std::min<int64_t>(kBatchSamples, end - at));
        batch.draw(task_.first + static_cast<uint64_t>(at), n, &sums_[static_cast<size_t>(block * task_.depth)]);
        if (rows_ == nullptr) continue;
        for (int k = 0; k < batch.alive(); ++k, ++found) {
          std::copy_n(batch.values(k), task_.depth, rows_ + (begin + found) * task_.depth);
          weights_[begin + found] = batch.weight(k);
        }
      }
    }
  }

  const MatchPlan& plan_;
  Control* control_;
  const SampleTask& task_;
  int64_t* rows_;
  double* weights_;
  int64_t blocks_;
  std::vector<SampleSums> sums_;
  std::vector<int64_t> found_;
  std::atomic<int64_t> next_{0};
  std::atomic<int32_t> stop_{kOk};
};

}  // namespace
}  // namespace qe

// Draws samples and adds their sums at each level to sums[0..depth). With `rows` (samples * depth ids) and `weights`
// (samples), writes those that bound all levels, row by row, in the order of their numbers; *n_rows says how many.
QE_API int32_t qe_sample_run(const qe::MatchPlan* plan, qe::Control* control, const qe::SampleTask* task,
                             qe::SampleSums* sums, int64_t* rows, double* weights, int64_t* n_rows) {
  const bool sound = plan->seeds == 0 && plan->n_levels <= qe::kMaxLevels && task->depth > 0 &&
                     task->depth <= plan->n_levels && task->samples >= 0 && control->threads > 0 &&
                     (task->method == qe::kAlley || (task->method == qe::kWanderJoin && task->guide == nullptr));
  if (!sound) return qe::kInvalid;
  try {
    qe::SampleRun run(*plan, control, *task, rows, weights);
    const qe::Status status = run.run();
    if (status != qe::kOk) return status;
    run.total(sums);
    if (rows != nullptr) *n_rows = run.close_up();
    return qe::kOk;
  } catch (const std::bad_alloc&) {
    return qe::kOutOfMemory;
  }
}

// What each of the first `depth` levels costs; `guide` as in a task.
QE_API int32_t qe_sample_work(const qe::MatchPlan* plan, int32_t method, int32_t depth, const qe::GuideLevel* guide,
                              qe::SampleWork* costs) {
  if (depth > plan->n_levels) return qe::kInvalid;
  try {
    const qe::SampleBatch batch(*plan, method, depth, 0, guide, nullptr);
    for (int level = 0; level < depth; ++level) costs[level] = batch.work(level);
    return qe::kOk;
  } catch (const std::bad_alloc&) {
    return qe::kOutOfMemory;
  }
}

// For tests: the four words of a Philox block.
QE_API void qe_philox(uint64_t low, uint64_t high, uint64_t key, uint32_t* words) {
  const qe::PhiloxBlock block = qe::philox(low, high, key);
  for (int k = 0; k < 4; ++k) words[k] = block.word[k];
}
