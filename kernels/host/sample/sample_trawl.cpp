// Trawling: sampled prefixes whose completions are counted exactly (gSWORD §5, Algorithm 4), in hauls of many prefixes.
//
// Problem: haul number k takes a depth d with P(d = j) proportional to 2^-j, j from `least` to the deepest possible, binds d
// levels at random kHaulWalks times (samples [k * kHaulWalks, (k + 1) * kHaulWalks)), and counts what completes each prefix by
// the search. Those whose completions take too long go on by another level, after places were dealt to those that are left
// (sample_deal.cpp), and are tried again, until all are complete. The haul weighs the mean of weight times completions, which
// is unbiased for the count: what is tried and dealt depends on the prefixes so far alone, never on time. Threads take hauls;
// sums are added in the order of the hauls, the same for every number of threads.
#include <algorithm>
#include <atomic>
#include <memory>

#include "base/stop.h"
#include "base/workers.h"
#include "sample/sample_batch.h"
#include "sample/sample_completion.h"

namespace qe {

struct TrawlTask {
  int32_t method;
  int32_t least;      // depth
  uint64_t seed;
  uint64_t first;     // haul
  int64_t hauls;
  int64_t most_work;  // of counting in one haul, in ids read
  const GuideLevel* guide;  // of prefixes, or null
  // Prefixes that were drawn elsewhere: kHaulWalks rows of `stride` ids a haul, and what they weigh, 0 for none; or null.
  const int64_t* prefixes;
  const double* weights;
  int64_t stride;
};

namespace {

constexpr int kTries = 3;              // prefixes of one level that take too long before the others go on without trying
constexpr int64_t kMostShare = 1 << 4;  // one prefix may take that part of a haul's work
constexpr uint64_t kDealBlock = 1ull << 35;  // of Philox, apart from those of the levels

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
        least_(std::min(task.least, deepest_)), walks_(plan, task.method, plan.n_levels, task.seed, task.guide, control),
        completions_(static_cast<size_t>(deepest_) + 1) {}

  void draw(uint64_t haul, SampleSums* sums) {
    const int depth = trawled_depth({task_.seed, haul}, least_, deepest_);
    for (auto& each : completions_)
      if (each) each->forget();
    work_ = task_.most_work;
    double weight = 0;
    SampleSums walked;
    const uint64_t number = haul * kHaulWalks;
    if (task_.prefixes != nullptr) {
      const auto at = static_cast<int64_t>(number - task_.first * kHaulWalks);
      const auto stride = static_cast<int>(task_.stride);
      walks_.resume(number, kHaulWalks, depth, task_.prefixes + at * stride, task_.weights + at, stride);
    } else {
      walks_.begin(number, kHaulWalks);
    }
    for (int level = task_.prefixes != nullptr ? depth : 0; level < plan_.n_levels && walks_.alive() > 0; ++level) {
      if (level >= depth) {
        if (level <= deepest_) weight += complete(level);
        const double chance = philox(haul, kDealBlock + static_cast<uint64_t>(level), task_.seed).word[0] * (1.0 / 4294967296.0);
        walks_.deal(level, kHaulWalks, chance);
      }
      walks_.advance(level, &walked);
    }
    for (int k = 0; k < walks_.alive(); ++k) weight += walks_.weight(k);
    weight /= kHaulWalks;
    sums->work += walked.work + task_.most_work - work_;
    sums->weight += weight;
    sums->square += weight * weight;
    sums->reached += weight > 0;
  }

 private:
  // Takes out the walks whose completions can be counted; returns what they weigh together.
  double complete(int level) {
    std::unique_ptr<Completion>& completion = completions_[static_cast<size_t>(level)];
    if (completion == nullptr) completion = std::make_unique<Completion>(plan_, level, control_);
    double found = 0;
    int failed = 0;
    const int64_t most = task_.most_work / kMostShare;
    walks_.retain([&](int k) {
      if (failed == kTries || work_ < most) return true;
      int64_t left = most;
      uint64_t completions = 0;
      const bool counted = completion->count(walks_.values(k), &left, &completions);
      work_ -= most - left;
      if (counted) found += walks_.weight(k) * static_cast<double>(completions);
      else ++failed;
      return !counted;
    });
    return found;
  }

  const MatchPlan& plan_;
  Control* control_;
  const TrawlTask& task_;
  int deepest_, least_;
  int64_t work_ = 0;
  SampleBatch walks_;
  std::vector<std::unique_ptr<Completion>> completions_;  // by the levels of their prefixes
};

Status trawl(const MatchPlan& plan, Control* control, const TrawlTask& task, SampleSums* sums) {
  std::vector<SampleSums> parts(static_cast<size_t>(task.hauls));
  std::atomic<int64_t> next{0};
  std::atomic<int32_t> stop{kOk};
  auto work = [&](int) {
    try {
      Trawler trawler(plan, control, task);
      for (int64_t haul = next++; haul < task.hauls && !stop; haul = next++) {
        if (const Status status = stopped(control)) stop = status;
        else trawler.draw(task.first + static_cast<uint64_t>(haul), &parts[static_cast<size_t>(haul)]);
      }
    } catch (const Halt& halt) {
      stop = halt.status;
    }
  };
  const auto threads = static_cast<int>(std::min<int64_t>(control->threads, task.hauls));
  const Status status = run_workers(std::max(threads, 1), work);
  for (const SampleSums& part : parts) sums->add(part);
  return status != kOk ? status : static_cast<Status>(stop.load());
}

}  // namespace
}  // namespace qe

// Trawls and adds the sums to *sums. The plan has no seeds and begins with a vertex level.
QE_API int32_t qe_trawl_run(const qe::MatchPlan* plan, qe::Control* control, const qe::TrawlTask* task,
                            qe::SampleSums* sums) {
  const bool sound = plan->seeds == 0 && plan->n_levels > 0 && plan->n_levels <= qe::kMaxLevels &&
                     plan->levels[0].kind == qe::kVertexLevel && task->least > 0 && task->hauls >= 0 &&
                     control->threads > 0;
  if (!sound) return qe::kInvalid;
  try {
    return qe::trawl(*plan, control, *task, sums);
  } catch (const std::bad_alloc&) {
    return qe::kOutOfMemory;
  }
}
