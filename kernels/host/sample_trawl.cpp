// Trawling: sampled prefixes whose completions are counted exactly (gSWORD §5, Algorithm 4).
//
// Problem: sample number k takes a depth d with P(d = j) proportional to 2^-j, j from `least` to the deepest possible, binds
// d levels at random, and counts what completes them by the search. Its weight times that count is unbiased for whatever
// d. A prefix whose completions take more than `most_work` is sampled to the end instead: whether it does depends on the
// prefix alone, so the mean stays unbiased, and no time limit decides which prefixes count. Threads take blocks of samples;
// sums are added in the order of the blocks, the same for every number of threads.
#include <algorithm>
#include <atomic>
#include <memory>

#include "sample_batch.h"
#include "stop.h"
#include "search_run.h"
#include "workers.h"

namespace qe {

struct TrawlTask {
  int32_t method;
  int32_t least;      // depth
  uint64_t seed;
  uint64_t first;
  int64_t samples;
  int64_t most_work;  // of one sample, in ids read
  const GuideLevel* guide;  // of prefixes, or null
};

namespace {

constexpr int64_t kBlockSamples = 32;

// Counts completions of the first `depth` levels; one worker a thread.
class Completion {
 public:
  Completion(const MatchPlan& plan, int depth, Control* control)
      : plan_(plan), values_(static_cast<size_t>(depth)), seeds_(static_cast<size_t>(depth)) {
    plan_.seeds = plan_.walked = depth;
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
      if (halt.status != kTrialOver) throw;
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

// Levels before the first edge level: only vertices can be given to a search.
int leading_vertices(const MatchPlan& plan) {
  int n = 0;
  while (n < plan.n_levels && plan.levels[n].kind == kVertexLevel) ++n;
  return n;
}

class Trawler {  // of one thread
 public:
  Trawler(const MatchPlan& plan, Control* control, const TrawlTask& task)
      : plan_(plan), control_(control), task_(task), deepest_(leading_vertices(plan)),
        least_(std::min(task.least, deepest_)), whole_(plan, task.method, plan.n_levels, task.seed, task.guide),
        prefixes_(static_cast<size_t>(deepest_) + 1), completions_(static_cast<size_t>(deepest_) + 1) {}

  void draw(uint64_t number, SampleSums* sums) {
    const auto depth = static_cast<size_t>(trawled_depth({task_.seed, number}, least_, deepest_));
    if (prefixes_[depth] == nullptr) {
      prefixes_[depth] = std::make_unique<SampleBatch>(plan_, task_.method, static_cast<int>(depth), task_.seed, task_.guide);
      completions_[depth] = std::make_unique<Completion>(plan_, static_cast<int>(depth), control_);
    }
    SampleBatch& prefix = *prefixes_[depth];
    scratch_.assign(static_cast<size_t>(plan_.n_levels), SampleSums{});
    prefix.draw(number, 1, scratch_.data());
    double weight = 0;
    if (prefix.alive() > 0) {
      int64_t work = task_.most_work;
      uint64_t found = 0;
      completions_[depth]->forget();
      if (completions_[depth]->count(prefix.values(0), &work, &found)) {
        weight = prefix.weight(0) * static_cast<double>(found);
      } else {
        whole_.draw(number, 1, scratch_.data());  // the same numbers: the same prefix
        if (whole_.alive() > 0) weight = whole_.weight(0);
      }
      sums->work += task_.most_work - work;
    }
    for (const SampleSums& level : scratch_) sums->work += level.work;
    sums->weight += weight;
    sums->square += weight * weight;
    sums->reached += weight > 0;
  }

 private:
  const MatchPlan& plan_;
  Control* control_;
  const TrawlTask& task_;
  int deepest_, least_;
  SampleBatch whole_;
  std::vector<std::unique_ptr<SampleBatch>> prefixes_;
  std::vector<std::unique_ptr<Completion>> completions_;
  std::vector<SampleSums> scratch_;
};

Status trawl(const MatchPlan& plan, Control* control, const TrawlTask& task, SampleSums* sums) {
  const int64_t blocks = (task.samples + kBlockSamples - 1) / kBlockSamples;
  std::vector<SampleSums> parts(static_cast<size_t>(blocks));
  std::atomic<int64_t> next{0};
  std::atomic<int32_t> stop{kOk};
  auto work = [&](int) {
    try {
      Trawler trawler(plan, control, task);
      for (int64_t block = next++; block < blocks && !stop; block = next++) {
        if (const Status status = stopped(control)) stop = status;
        const int64_t begin = block * kBlockSamples, end = std::min(task.samples, begin + kBlockSamples);
        for (int64_t k = begin; k < end && !stop; ++k)
          trawler.draw(task.first + static_cast<uint64_t>(k), &parts[static_cast<size_t>(block)]);
      }
    } catch (const Halt& halt) {
      stop = halt.status;
    }
  };
  const auto threads = static_cast<int>(std::min<int64_t>(control->threads, blocks));
  const Status status = run_workers(std::max(threads, 1), work);
  for (const SampleSums& part : parts) sums->add(part);
  return status != kOk ? status : static_cast<Status>(stop.load());
}

// Adds up the completions of each vertex of the first level; false: that takes more than `work`.
bool count_within(const MatchPlan& plan, Control* control, int64_t work, double* total) {
  Completion completion(plan, 1, control);
  const PlanLevel& level = plan.levels[0];
  const SampleStep step = {sample_bounds(plan, level, nullptr), -1, fixed_places(plan, level), {0, 0}};
  *total = 0;
  for (uint64_t k = 0; k < step.n; ++k) {
    if ((work -= static_cast<int64_t>(kBindCost)) < 0) return false;
    int64_t root = fixed_place(plan, level, k).vertex;
    uint64_t found = 0;
    if (!completion.count(&root, &work, &found)) return false;
    *total += static_cast<double>(found);
  }
  return true;
}

}  // namespace
}  // namespace qe

// Trawls and adds the sums to *sums. The plan has no seeds and begins with a vertex level.
QE_API int32_t qe_trawl_run(const qe::MatchPlan* plan, qe::Control* control, const qe::TrawlTask* task,
                            qe::SampleSums* sums) {
  const bool sound = plan->seeds == 0 && plan->n_levels > 0 && plan->n_levels <= qe::kMaxLevels &&
                     plan->levels[0].kind == qe::kVertexLevel && task->least > 0 && task->samples >= 0 &&
                     control->threads > 0;
  if (!sound) return qe::kInvalid;
  try {
    return qe::trawl(*plan, control, *task, sums);
  } catch (const std::bad_alloc&) {
    return qe::kOutOfMemory;
  }
}

// Counts the embeddings of a plan without seeds if that takes at most `work` ids read on one thread: *done says whether.
QE_API int32_t qe_count_within(const qe::MatchPlan* plan, qe::Control* control, int64_t work, double* total,
                               int32_t* done) {
  *done = 0;
  if (plan->seeds != 0 || plan->n_levels == 0 || plan->levels[0].kind != qe::kVertexLevel) return qe::kInvalid;
  try {
    *done = qe::count_within(*plan, control, work, total);
    return qe::kOk;
  } catch (const qe::Halt& halt) {
    return halt.status;
  } catch (const std::bad_alloc&) {
    return qe::kOutOfMemory;
  }
}
