// The way of a search's rows to its consumer: chunks that workers fill, a bounded queue, and the sums where nothing is
// enumerated. A worker whose chunk is full waits until the consumer has taken one. Full chunks are lent as they are, others copied.
// Where there is a sink, workers give it their chunks, and those that wait, and no consumer sees them.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <utility>

#include "base/workers.h"
#include "search/search_run.h"

namespace qe {
namespace {

constexpr size_t kLentShare = 4;  // of a chunk's room that must be filled
constexpr auto kSoon = std::chrono::milliseconds(1);  // that few threads work alone
constexpr size_t kFewWaiting = 2;  // chunks that are not worth a sink
constexpr int64_t kPutTogether = 256;  // rows that are given back: what is done with each may take long

}  // namespace

std::unique_ptr<Chunk> SearchRun::make_chunk(bool trial) {
  const size_t capacity = trial ? std::min(kTrialRows, chunk_rows_) : chunk_rows_;
  std::lock_guard<std::mutex> lock(mutex_);
  const size_t columns = static_cast<size_t>(match_.n_outputs) + (match_.mode == kCount ? 2 : 1);
  std::unique_ptr<Chunk> chunk = capacity == chunk_rows_ ? pool_->get() : nullptr;
  if (lent_ > 0 && capacity == chunk_rows_) {  // what was lent is still charged: this one takes its place
    --lent_;
    charge_.give_back(capacity * columns * sizeof(int64_t));
  }
  if (chunk) {
    charge_.add(chunk->bytes());
    chunk->n = 0;
  } else {
    chunk = std::make_unique<Chunk>();
    chunk->n_outputs = match_.n_outputs;
    chunk->data.reserve(capacity * columns, charge_);
    chunk->capacity = capacity;
  }
  ++chunks_;
  return chunk;
}

void SearchRun::push(std::unique_ptr<Chunk> chunk) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (chunk->n == 0) {
    --chunks_;
    return;
  }
  full_.push_back(std::move(chunk));
  filled_.notify_one();
}

// Takes the last rows of a worker: few are put together with those of others, for a consumer does more for a chunk than for a row.
// They wait for the workers that still find some, or until the consumer has waited in vain. The lock is held.
void SearchRun::put_together(std::unique_ptr<Chunk> last) {
  if (last->n == 0) {
    --chunks_;
    return;
  }
  const bool few = kLentShare * last->n < last->capacity;
  if (!few || (rest_ && rest_->n + last->n > rest_->capacity)) {
    full_.push_back(std::move(last));
  } else if (!rest_) {
    rest_ = std::move(last);
  } else {
    for (int k = -1; k < match_.n_outputs + (match_.mode == kCount ? 1 : 0); ++k)
      std::copy_n(last->column(k), last->n, rest_->column(k) + rest_->n);
    rest_->n += last->n;
    free_.push_back(std::move(last));
    freed_.notify_one();
  }
}

void SearchRun::end_rest() {
  if (rest_) full_.push_back(std::move(rest_));
}

void SearchRun::exchange(Worker& worker) {
  if (worker.trial_end) throw Halt{kTrialOver};
  if (RowSink* sink = sink_.load(std::memory_order_acquire)) {
    sink->take(*worker.chunk);
    worker.chunk->n = 0;
    sink_waiting(*sink);
    worker.poll();
    return;
  }
  push(std::unique_ptr<Chunk>(worker.chunk));
  worker.chunk = nullptr;
  {
    std::unique_lock<std::mutex> lock(mutex_);
    freed_.wait(lock, [&] { return stop_ || sink_ || !free_.empty() || chunks_ < max_chunks_; });
    if (stop_) throw Halt{kInterrupted};
    if (RowSink* sink = sink_.load(std::memory_order_relaxed)) {
      lock.unlock();
      sink_waiting(*sink);
      lock.lock();
    }
    if (!free_.empty()) {
      worker.chunk = free_.back().release();
      free_.pop_back();
      worker.chunk->n = 0;
    }
  }
  if (worker.chunk == nullptr) worker.chunk = make_chunk(false).release();
  worker.poll();
}

Status SearchRun::put(int64_t n, const int64_t* const* columns) {
  for (int64_t begin = 0; begin < n; begin += kPutTogether) {
    auto chunk = std::make_unique<Chunk>();
    chunk->n = chunk->capacity = static_cast<size_t>(std::min(kPutTogether, n - begin));
    chunk->n_outputs = match_.n_outputs;
    try {
      chunk->data.reserve(chunk->n * static_cast<size_t>(match_.n_outputs + 2), charge_);
    } catch (const Halt& halt) {
      return halt.status;
    }
    for (int k = 0; k < match_.n_outputs; ++k) std::copy_n(columns[k] + begin, chunk->n, chunk->column(k));
    std::lock_guard<std::mutex> lock(mutex_);
    ++chunks_;
    full_.push_back(std::move(chunk));
  }
  return kOk;
}

bool SearchRun::attach(RowSink* sink) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (summed() || (working_ == 0 && full_.size() < kFewWaiting)) return false;
  sink_.store(sink, std::memory_order_release);
  freed_.notify_all();
  return true;
}

// Gives the sink the chunks that wait.
void SearchRun::sink_waiting(RowSink& sink) {
  for (;;) {
    std::unique_ptr<Chunk> chunk;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (full_.empty()) return;
      chunk = std::move(full_.front());
      full_.pop_front();
    }
    sink.take(*chunk);
    std::lock_guard<std::mutex> lock(mutex_);
    if (chunk->capacity == chunk_rows_) free_.push_back(std::move(chunk));
    else --chunks_;
  }
}

// Gives the sink what waits, and takes from it what the consumer gets. The workers have ended.
Status SearchRun::end_sink() {
  RowSink& sink = *sink_.load(std::memory_order_relaxed);
  std::atomic<int32_t> halted{kOk};
  const auto threads = static_cast<int>(std::min<size_t>(full_.size(), static_cast<size_t>(control_->threads)));
  const Status ran = run_workers(threads, [&](int) {
    try {
      sink_waiting(sink);
    } catch (const Halt& halt) {
      halted = halt.status;
    }
  });
  if (halted != kOk) return static_cast<Status>(halted.load());
  if (ran != kOk) return ran;
  sink_ = nullptr;
  for (size_t n = 1; n > 0;) {
    std::unique_ptr<Chunk> chunk;
    if (!free_.empty()) {
      chunk = std::move(free_.back());
      free_.pop_back();
    } else {
      chunk = make_chunk(false);
    }
    chunk->n = n = sink.give(*chunk);
    sink.given += n;
    push(std::move(chunk));
  }
  return kOk;
}

Status SearchRun::wait(int64_t wait_ms, int64_t* n, bool* done) {
  *n = 0;
  *done = false;
  std::unique_lock<std::mutex> lock(mutex_);
  const auto ready = [&] { return (!full_.empty() && !sink_) || working_ == 0 || status_ != kOk; };
  if (waiting_threads_ > 0 && !filled_.wait_for(lock, kSoon, ready)) {
    try {
      begin_threads(std::exchange(waiting_threads_, 0));
    } catch (const std::exception&) {  // those that work do all of it
    }
  }
  if (!filled_.wait_for(lock, std::chrono::milliseconds(wait_ms), ready) && !sink_) end_rest();
  if (status_ != kOk) return status_;
  if (sink_) {
    if (working_ > 0) return kOk;
    lock.unlock();
    try {
      if (const Status status = end_sink(); status != kOk) return status;
    } catch (const Halt& halt) {
      return halt.status;
    }
    lock.lock();
  }
  if (!full_.empty()) {
    *n = static_cast<int64_t>(full_.front()->n);
  } else if (working_ == 0) {
    *n = static_cast<int64_t>(sums_.size()) - std::count(sums_.begin(), sums_.end(), uint64_t{0});
    *done = *n == 0;
  }
  return kOk;
}

Status SearchRun::take(int64_t* const* columns) {
  if (full_.empty()) return take_sums(columns);
  std::unique_ptr<Chunk> chunk;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    chunk = std::move(full_.front());
    full_.pop_front();
  }
  const int n_columns = match_.n_outputs + (match_.mode == kCount ? 2 : 1);
  for (int k = 0; k < n_columns; ++k) std::memcpy(columns[k], chunk->column(k - 1), chunk->n * sizeof(int64_t));
  std::lock_guard<std::mutex> lock(mutex_);
  if (chunk->capacity == chunk_rows_) free_.push_back(std::move(chunk));
  else --chunks_;
  freed_.notify_one();
  return kOk;
}

std::unique_ptr<Lent> SearchRun::lend() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (full_.empty() || full_.front()->capacity != chunk_rows_ || kLentShare * full_.front()->n < chunk_rows_) return nullptr;
  auto lent = std::make_unique<Lent>();
  lent->chunk = std::move(full_.front());
  lent->pool = pool_;
  full_.pop_front();
  ++lent_;
  --chunks_;
  freed_.notify_one();
  return lent;
}

// Rows (input row, count) of a seeded search that walks nothing, without those that count 0.
Status SearchRun::take_sums(int64_t* const* columns) {
  int64_t n = 0;
  for (size_t row = 0; row < sums_.size(); ++row) {
    if (sums_[row] == 0) continue;
    if (sums_[row] > INT64_MAX) return kOverflow;
    columns[0][n] = static_cast<int64_t>(row);
    columns[1][n++] = static_cast<int64_t>(sums_[row]);
  }
  sums_.clear();
  return kOk;
}

}  // namespace qe
