// Runs a search: see search_run.h.
#include "search/search_run.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <system_error>

#include "base/deep_stack.h"
#include "base/stop.h"
#include "search/search_extend.h"

namespace qe {
namespace {

std::atomic<int64_t> trial_ns{1'000'000}, trial_work{INT64_MAX};
constexpr int64_t kUnitRoots = 64;   // at most
constexpr int64_t kUnitsPerThread = 64;
constexpr int64_t kPartsPerThread = 16;
constexpr int64_t kUneven = 4;  // times as many parts as would do if units took alike; each part reads its roots anew
constexpr double kThreadNs = 250'000;  // of work that is worth a thread from the start
constexpr size_t kPieceChunks = 2;   // a piece of a frontier has as many rows as so many chunks

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

SearchRun::SearchRun(const MatchPlan& plan, Control* control, int64_t rows, const int64_t* const* seeds,
                     int64_t chunk_rows)
    : plan_(derive(plan)), match_(plan), control_(control), ops_(set_ops(current_isa())), rows_(rows), seeds_(seeds),
      chunk_rows_(static_cast<size_t>(chunk_rows)), charge_(control),
      constants_(std::make_unique<Constant[]>(plan_.levels.size())) {
  for (int level = 0; level < plan_.n_levels; ++level)
    if (plan_.levels[static_cast<size_t>(level)].plan->output >= 0)
      outputs_.push_back({level, plan_.levels[static_cast<size_t>(level)].plan->output});
  max_chunks_ = 2 * static_cast<size_t>(control->threads) + 1;
}

SearchRun::~SearchRun() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  freed_.notify_all();
  for (Thread& thread : threads_) thread.join();
  pool_->close();
}

int64_t SearchRun::count_roots(const PlanLevel& level) const {
  if (level.candidates) return level.n_candidates;
  int64_t n = 0;
  for (int k = 0; k < level.ranges.count; ++k) {
    const PlanRange& range = match_.ranges[level.ranges.first + k];
    n += range.end - range.begin;
  }
  return n;
}

void SearchRun::add_job(int component, const PlanLevel* root) {
  const int64_t roots = root ? count_roots(*root) : 1;
  const int64_t wanted = ceil_div(roots, kUnitsPerThread * control_->threads);
  const int64_t size = std::clamp<int64_t>(wanted, 1, kUnitRoots);
  const int64_t units = ceil_div(roots, size);
  jobs_.push_back({component, n_units_, units, roots});
  n_units_ += units;
}

void SearchRun::lay_out_units() {
  if (plan_.impossible) {
    totals_.assign(plan_.counted.empty() ? 1 : plan_.counted.size(), 0);
    if (seeded() && summed()) sums_.assign(static_cast<size_t>(rows_), 0);
    return;
  }
  if (seeded()) {
    unit_rows_ = std::clamp<int64_t>(rows_ / (kUnitsPerThread * control_->threads), 1, kUnitRoots);
    n_units_ = ceil_div(rows_, unit_rows_);
    if (summed()) sums_.assign(static_cast<size_t>(rows_), 0);
    return;
  }
  if (!summed()) {
    add_job(-1, &match_.levels[0]);
    return;
  }
  totals_.assign(plan_.counted.size(), 0);
  for (size_t k = 0; k < plan_.counted.size(); ++k) {
    const Node& node = plan_.counted[k];
    add_job(static_cast<int>(k), node.shape == NodeKind::kBranch ? &match_.levels[node.levels[0]] : nullptr);
  }
}

// The level whose candidates can be dealt to several workers below one root, or -1. Below it every result is either a
// row of its own or a term of a sum.
int SearchRun::split_level() const {
  const int level = seeded() ? plan_.seeds : 1;
  if (level >= plan_.n_levels || !plan_.levels[static_cast<size_t>(level)].vertex) return -1;
  if (level < plan_.enumerated) return level;
  if (!summed() || plan_.counted.size() != 1) return -1;
  const Node* node = &plan_.counted[0];
  if (!seeded()) {
    if (node->shape != NodeKind::kBranch || node->children.size() != 1) return -1;
    node = &node->children[0];
  }
  return node->shape == NodeKind::kBranch && node->levels[0] == level ? level : -1;
}

Set SearchRun::constant_set(int level) {
  const PlanLevel& from = match_.levels[level];
  if (from.candidates) return {from.candidates, static_cast<size_t>(from.n_candidates)};
  Constant& constant = constants_[static_cast<size_t>(level)];
  std::call_once(constant.once, [&] {
    uint32_t* out = constant.buffer.reserve(static_cast<size_t>(count_roots(from)) + kSlack, charge_);
    size_t n = 0;
    for (int k = 0; k < from.ranges.count; ++k) {
      const PlanRange& range = match_.ranges[from.ranges.first + k];
      for (uint32_t v = range.begin; v < range.end; ++v) {
        const uint32_t at = v - from.bitset_begin;
        out[n] = v;
        n += from.bitset == nullptr || (from.bitset[at >> 6] >> (at & 63) & 1);
      }
    }
    constant.set = {out, n};
  });
  return constant.set;
}

void SearchRun::poll(int64_t trial_end) {
  if (stop_.load(std::memory_order_relaxed)) throw Halt{kInterrupted};
  if (const Status status = stopped(control_); status != kOk) throw Halt{status};
  if (trial_end && now_ns() >= trial_end) throw Halt{kTrialOver};
}

void SearchRun::run_unit(Worker& worker, int64_t unit, bool whole) {
  if (seeded()) {
    run_rows(worker, unit, whole);
    return;
  }
  size_t k = 0;
  while (unit >= jobs_[k].first_unit + jobs_[k].n_units) ++k;
  Count sum = 0;
  run_roots(worker, jobs_[k], unit - jobs_[k].first_unit, &sum);
  if (jobs_[k].component < 0 || sum == 0) return;
  std::lock_guard<std::mutex> lock(mutex_);
  totals_[static_cast<size_t>(jobs_[k].component)] += sum;
}

void SearchRun::run_rows(Worker& worker, int64_t unit, bool whole) {
  const int64_t end = std::min(rows_, (unit + 1) * unit_rows_);
  for (int64_t row = unit * unit_rows_; row < end; ++row) {
    worker.prefetch_seeds(row, end);
    const uint64_t found = worker.search_row(row);
    if (!summed()) continue;
    uint64_t& sum = sums_[static_cast<size_t>(row)];
    if (whole) {
      sum = found;
    } else {
      const uint64_t after = __atomic_add_fetch(&sum, found, __ATOMIC_RELAXED);
      if (after < found) throw Halt{kOverflow};
    }
  }
}

bool SearchRun::found(int component) {
  std::lock_guard<std::mutex> lock(mutex_);
  return totals_[static_cast<size_t>(component)] > 0;
}

void SearchRun::run_roots(Worker& worker, const Job& job, int64_t unit, Count* sum) {
  const Node* node = job.component < 0 ? nullptr : &plan_.counted[static_cast<size_t>(job.component)];
  const bool once = node && match_.mode == kExists;
  if (once && found(job.component)) return;
  if (node && node->shape != NodeKind::kBranch) {
    *sum = worker.count(*node);
    return;
  }
  const PlanLevel& level = match_.levels[node ? node->levels[0] : 0];
  int range = 0;
  int64_t before = 0;  // roots in earlier ranges
  for (int64_t root = unit; root < job.n_roots; root += job.n_units) {
    uint32_t v;
    if (level.candidates) {
      v = level.candidates[root];
    } else {
      const PlanRange* at = match_.ranges + level.ranges.first;
      for (; root - before >= at[range].end - at[range].begin; ++range) before += at[range].end - at[range].begin;
      v = at[range].begin + static_cast<uint32_t>(root - before);
      const uint32_t bit = v - level.bitset_begin;
      if (level.bitset && !(level.bitset[bit >> 6] >> (bit & 63) & 1)) continue;
    }
    if (node) *sum += worker.count_root(*node, v);
    else worker.walk_root(v);
    if (once && *sum > 0) return;
  }
}

// Works on the caller's thread for a while. Returns whether all is done.
bool SearchRun::trial() {
  Worker worker(*this);
  if (!summed()) worker.chunk = make_chunk(true).release();
  std::unique_ptr<Chunk> chunk(worker.chunk);
  size_t rows = 0;
  worker.trial_end = now_ns() + trial_ns.load(std::memory_order_relaxed);
  if (const int64_t work = trial_work.load(std::memory_order_relaxed); work != INT64_MAX) worker.allow_work(work);
  try {
    while (first_unit_ < n_units_) {
      run_unit(worker, first_unit_, true);
      ++first_unit_;
      if (chunk) rows = chunk->n;
      if (now_ns() >= worker.trial_end) break;
    }
  } catch (const Halt& halt) {
    if (halt.status != kTrialOver) throw;
    if (seeded() && summed()) {  // the unit begins anew, perhaps in parts that add up
      const int64_t begin = first_unit_ * unit_rows_;
      std::fill(sums_.data() + begin, sums_.data() + std::min(rows_, begin + unit_rows_), 0);
    }
  }
  if (chunk) {
    chunk->n = rows;
    push(std::move(chunk));
  }
  return first_unit_ == n_units_;
}

void SearchRun::set_trial(int64_t ns, int64_t work) {
  trial_ns = ns;
  trial_work = work;
}

Status SearchRun::start() {
  try {
    lay_out_units();
    if (match_.breadth_first && !summed()) {
      if (plan_.impossible || try_breadth_first()) return kOk;
      working_ = 1;
      threads_.emplace_back([this] { work_breadth_first(); });
      return kOk;
    }
    bool all = false;
    const int64_t begun = now_ns();
    run_levels(match_.n_levels, [&] { all = trial(); });
    if (all) return kOk;
    const int64_t left = n_units_ - first_unit_;
    const int64_t most = kPartsPerThread * control_->threads;
    if (split_level() >= 0 && control_->threads > 1 && left < most) parts_ = std::min(most, kUneven * ceil_div(most, left));
    const int64_t threads = std::min<int64_t>(control_->threads, left * parts_);
    int64_t at_first = threads;  // as if what is left took as long by unit as what is done; where it takes longer wait() begins others
    if (first_unit_ > 0 && trial_ns.load(std::memory_order_relaxed) > 0) {
      const double expected = static_cast<double>(now_ns() - begun) / static_cast<double>(first_unit_) * static_cast<double>(left);
      if (expected < kThreadNs * static_cast<double>(threads)) at_first = std::min(threads, 1 + static_cast<int64_t>(expected / kThreadNs));
    }
    std::lock_guard<std::mutex> lock(mutex_);
    begin_threads(at_first);
    waiting_threads_ = threads - at_first;
    return kOk;
  } catch (const Halt& halt) {
    return halt.status;
  } catch (const std::bad_alloc&) {
    return kOutOfMemory;
  } catch (const std::system_error&) {  // no thread to be had
    return kOutOfMemory;
  }
}

// The lock is held.
void SearchRun::begin_threads(int64_t n) {
  for (int64_t k = 0; k < n; ++k) {
    threads_.emplace_back([this] { work(); });
    ++working_;
  }
}

void SearchRun::work() {
  Status status = kOk;
  std::unique_ptr<Chunk> last;
  const auto run_units = [&] {
    Worker worker(*this);
    try {
      if (!summed()) worker.chunk = make_chunk(false).release();
      const int64_t end = (n_units_ - first_unit_) * parts_;
      for (int64_t k = next_++; k < end; k = next_++) {
        if (parts_ > 1) worker.take_part(split_level(), k % parts_, parts_);
        run_unit(worker, first_unit_ + k / parts_, parts_ == 1);
      }
      if (RowSink* sink = worker.chunk ? sink_.load(std::memory_order_acquire) : nullptr) {
        sink->take(*worker.chunk);
        worker.chunk->n = 0;
        sink_waiting(*sink);
      }
    } catch (const Halt& halt) {
      status = halt.status;
    }
    last.reset(worker.chunk);
  };
  try {
    run_levels(match_.n_levels, run_units);
  } catch (const std::bad_alloc&) {
    status = kOutOfMemory;
  }
  std::lock_guard<std::mutex> lock(mutex_);
  if (last && status == kOk) put_together(std::move(last));
  if (status != kOk && status_ == kOk) status_ = status;
  if (status != kOk) stop_ = true;
  if (--working_ == 0) end_rest();
  filled_.notify_all();
  freed_.notify_all();
}

// The trial of a breadth-first run, which begins anew where it gives up.
bool SearchRun::try_breadth_first() {
  try {
    Extender(*this, 1, std::min(kTrialRows, kPieceChunks * chunk_rows_), now_ns() + trial_ns.load(std::memory_order_relaxed)).run(rows_);
    return true;
  } catch (const Halt& halt) {
    if (halt.status != kTrialOver) throw;
  }
  full_.clear();
  chunks_ = 0;
  return false;
}

void SearchRun::work_breadth_first() {
  Status status = kOk;
  try {
    Extender(*this, control_->threads, kPieceChunks * chunk_rows_, 0).run(rows_);
  } catch (const Halt& halt) {
    status = halt.status;
  } catch (const std::bad_alloc&) {
    status = kOutOfMemory;
  } catch (const std::system_error&) {
    status = kOutOfMemory;
  }
  std::lock_guard<std::mutex> lock(mutex_);
  status_ = status;
  working_ = 0;
  filled_.notify_all();
}

}  // namespace qe
