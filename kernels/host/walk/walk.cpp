// The interface of qe/walk.h: deals rows to workers, each of which goes on where it paused.
#include <system_error>

#include "base/threads.h"
#include "walk/walk_rows.h"

namespace qe::walks {
namespace {

constexpr int64_t kAloneSteps = 1 << 20;  // what one worker does before threads are worth their start
constexpr int64_t kDeal = 16;             // rows dealt at once, fewer where there are few

std::unique_ptr<Rows> make_rows(const WalkPlan& plan) {
  switch (plan.mode) {
    case kEveryWalk: return every_walk(plan);
    // A shortest walk of one hop or more repeats no relationship unless it returns to its start, and no inner vertex.
    case kEveryEnd: return plan.minimum <= 1 ? shortest_paths(plan) : every_end(plan);
    case kAnyShortest:
      if (plan.count > 1 && plan.minimum <= 1 && !plan.targets) return to_each_end(plan);
      [[fallthrough]];
    case kAllShortest: return plan.count > 1 || plan.minimum > 1 ? least_lengths(plan) : shortest_paths(plan);
  }
  return nullptr;
}

class Worker {
 public:
  Worker(const WalkPlan& plan, Shared& shared)
      : plan_(plan), shared_(shared), rows_(make_rows(plan)), poll_(shared, *rows_) {}

  bool done() const { return done_; }

  Status fill(WalkOutput& out, int64_t pause_after) {
    try {
      Sink sink(out, plan_.lists != 0);
      poll_.resume(pause_after);
      if (!done_) work(sink);
      return poll_.status;
    } catch (const std::bad_alloc&) {
      return kOutOfMemory;
    }
  }

 private:
  void work(Sink& sink) {
    while (true) {
      if (busy_) {
        const Progress progress = rows_->fill(sink, poll_);
        if (progress == Progress::kPaused) shared_.hurry = true;
        if (progress != Progress::kDone) return;
        busy_ = false;
      }
      if (poll_.due(1)) {
        if (!poll_.check() || poll_.wants_pause()) return;
      }
      if (row_ == dealt_ && !deal()) {
        done_ = true;
        return;
      }
      busy_ = rows_->begin(row_, plan_.starts[row_], plan_.targets ? plan_.targets[row_] : 0);
      ++row_;
    }
  }

  bool deal() {
    const int64_t size = std::clamp<int64_t>(plan_.rows / (8 * shared_.control->threads), 1, kDeal);
    row_ = std::min(shared_.next_row.fetch_add(size), plan_.rows);
    dealt_ = std::min(row_ + size, plan_.rows);
    return row_ < dealt_;
  }

  const WalkPlan& plan_;
  Shared& shared_;
  std::unique_ptr<Rows> rows_;
  Poll poll_;
  int64_t row_ = 0, dealt_ = 0;  // rows dealt to this worker and not begun: [row_, dealt_)
  bool busy_ = false;            // whether the last row begun has more
  bool done_ = false;
};

struct Run {
  Run(const WalkPlan& p, Control* control) : plan(p), shared(control) {
    workers.push_back(std::make_unique<Worker>(plan, shared));
  }

  Status next(WalkOutput* outputs, int32_t n_outputs) {
    const bool alone = first || n_outputs == 1 || plan.rows == 1;
    first = false;
    const size_t size = alone ? 1 : static_cast<size_t>(n_outputs);
    while (workers.size() < size) workers.push_back(std::make_unique<Worker>(plan, shared));
    for (int32_t i = 0; i < n_outputs; ++i) outputs[i].rows = outputs[i].needed_ids = 0;
    shared.hurry = false;
    std::vector<Status> statuses(size, kOk);
    std::vector<Thread> threads;
    const int64_t pause_after = alone && n_outputs > 1 && plan.rows > 1 ? kAloneSteps : INT64_MAX;
    for (size_t i = 1; i < size; ++i) {
      const auto fill = [&, i] { statuses[i] = workers[i]->fill(outputs[i], pause_after); };
      try {
        threads.emplace_back(fill);
      } catch (const std::system_error&) {
        fill();  // the machine has no more threads
      }
    }
    statuses[0] = workers[0]->fill(outputs[0], pause_after);
    for (Thread& thread : threads) thread.join();
    for (const Status status : statuses) {
      if (status != kOk) return status;
    }
    return kOk;
  }

  bool done() const {
    bool all = true;
    for (const auto& worker : workers) all = all && worker->done();
    return all;
  }

  WalkPlan plan;
  Shared shared;
  std::vector<std::unique_ptr<Worker>> workers;
  bool first = true;
};

}  // namespace
}  // namespace qe::walks

QE_API int32_t qe_walk_open(const qe::WalkPlan* plan, qe::Control* control, void** handle) {
  *handle = nullptr;
  if (plan->mode < qe::kEveryWalk || plan->mode > qe::kAllShortest || plan->minimum < 0 || plan->rows < 0 ||
      (plan->mode >= qe::kAnyShortest && plan->count < 1) ||
      (plan->mode >= qe::kAnyShortest && plan->minimum > 1 && !plan->targets) ||
      (plan->mode == qe::kAllShortest && plan->count > 1 && !plan->targets) ||
      (plan->mode == qe::kEveryEnd && plan->lists) ||
      ((plan->mode == qe::kEveryEnd || (plan->mode == qe::kAnyShortest && plan->count == 1)) && !plan->lists &&
       plan->minimum <= 1 && !plan->targets) ||
      plan->vertices < qe::kAnyVertices || plan->vertices > qe::kSimple ||
      (plan->mode >= qe::kAnyShortest && plan->vertices != qe::kAnyVertices) ||
      (plan->mode < qe::kAnyShortest && !plan->distinct_edges && plan->vertices == qe::kAnyVertices &&
       plan->maximum == qe::kUnbounded)) {
    return qe::kInvalid;
  }
  try {
    *handle = new qe::walks::Run(*plan, control);
    return qe::kOk;
  } catch (const std::bad_alloc&) {
    return qe::kOutOfMemory;
  }
}

QE_API int32_t qe_walk_next(void* handle, qe::WalkOutput* outputs, int32_t n_outputs, int32_t* done) {
  qe::walks::Run& run = *static_cast<qe::walks::Run*>(handle);
  *done = 0;
  if (n_outputs < 1) return qe::kInvalid;
  try {
    const qe::Status status = run.next(outputs, n_outputs);
    *done = run.done();
    return status;
  } catch (const std::bad_alloc&) {
    return qe::kOutOfMemory;
  }
}

QE_API void qe_walk_close(void* handle) { delete static_cast<qe::walks::Run*>(handle); }
