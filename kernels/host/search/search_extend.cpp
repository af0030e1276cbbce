// Breadth-first enumeration: see search_extend.h.
#include "search/search_extend.h"

#include <algorithm>
#include <new>

#include "search/search_edges.h"

namespace qe {
namespace {

constexpr size_t kSliceRows = 256;
constexpr size_t kBatchRows = 16384;  // rows of a frontier that are counted before any is filled

}  // namespace

// Binds the levels below `depth` to a row of a frontier, value k at values[k * stride]. What the row shares with the one
// before stays as it is.
void Worker::restore(const int64_t* values, size_t stride, int depth) {
  const int known = std::min(depth, bound_depth_);
  int same = 0;
  while (same < known && value_[same] == values[static_cast<size_t>(same) * stride]) ++same;
  for (int level = same; level < depth; ++level) {
    const int64_t value = values[static_cast<size_t>(level) * stride];
    if (!info(level).vertex) {
      value_[level] = value;
      continue;
    }
    const bool kept = info(level).base;
    if (kept && (level > same || level >= known)) candidates(level);
    const Set& set = frame(level).kept;
    if (kept) frame(level).at = lower_bound(set.data, set.n, static_cast<uint32_t>(value));
    bind(level, static_cast<uint32_t>(value));
    held_[level] = stamp_[level];
  }
  bound_depth_ = depth;
}

uint64_t Worker::count_extensions(int level) {
  spend(kBindCost);
  return info(level).vertex ? count_candidates(level) : count_edges(level);
}

// Writes extensions [begin, end) of the row that is bound.
void Worker::fill_extensions(int level, size_t begin, size_t end, int64_t* out) {
  spend(kBindCost);
  if (info(level).vertex) {
    const Set set = admitted(level);
    std::copy(set.data + begin, set.data + end, out);
    return;
  }
  size_t at = 0;
  each_edge(level, [&] {
    if (at >= begin && at < end) *out++ = value_[level];
    ++at;
  });
}

uint64_t Worker::count_completions() {
  return match_.mode == kExists ? any_children(plan_.counted) : count_children(plan_.counted);
}

Extender::Extender(SearchRun& run, int threads, size_t piece_rows, int64_t trial_end)
    : run_(run), plan_(run.plan()), piece_rows_(piece_rows), charge_(run.control()) {
  for (int k = 0; k < threads; ++k) workers_.push_back(std::make_unique<Worker>(run));
  workers_[0]->trial_end = trial_end;
  for (int k = 1; k < threads; ++k) helpers_.emplace_back([this, k] { help(*workers_[static_cast<size_t>(k)]); });
}

Extender::~Extender() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    over_ = true;
  }
  begun_.notify_all();
  for (Thread& helper : helpers_) helper.join();
}

void Extender::work_off(Worker& worker) {
  Status status = kOk;
  try {
    for (;;) {
      size_t begin, end;
      {
        std::lock_guard<std::mutex> lock(mutex_);
        if (next_ == end_ || status_ != kOk) break;
        begin = next_;
        end = next_ = std::min(end_, begin + kSliceRows);
      }
      (*slice_)(worker, begin, end);
    }
  } catch (const Halt& halt) {
    status = halt.status;
  } catch (const std::bad_alloc&) {
    status = kOutOfMemory;
  }
  std::lock_guard<std::mutex> lock(mutex_);
  if (status != kOk && status_ == kOk) status_ = status;
}

void Extender::help(Worker& worker) {
  int64_t seen = 0;
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    begun_.wait(lock, [&] { return over_ || generation_ != seen; });
    if (over_) return;
    seen = generation_;
    lock.unlock();
    work_off(worker);
    lock.lock();
    if (--busy_ == 0) ended_.notify_one();
  }
}

// Does `work` for the slices of [0, n) on all workers.
void Extender::in_slices(size_t n, const Slice& work) {
  if (helpers_.empty() || n <= kSliceRows) {
    work(*workers_[0], 0, n);
    return;
  }
  {
    std::lock_guard<std::mutex> lock(mutex_);
    slice_ = &work;
    next_ = 0;
    end_ = n;
    busy_ = helpers_.size();
    ++generation_;
  }
  begun_.notify_all();
  work_off(*workers_[0]);
  std::unique_lock<std::mutex> lock(mutex_);
  ended_.wait(lock, [&] { return busy_ == 0; });
  if (status_ != kOk) throw Halt{status_};
}

void Extender::run(int64_t input_rows) {
  Worker& own = *workers_[0];
  own.chunk = run_.make_chunk(own.trial_end != 0).release();
  std::unique_ptr<Chunk> last;
  const bool seeded = plan_.seeds > 0;
  const size_t rows = seeded ? static_cast<size_t>(input_rows) : 1;
  try {
    for (size_t begin = 0; begin < rows; begin += kBatchRows) {
      const size_t n = std::min(kBatchRows, rows - begin);
      std::vector<char> sound(n, 1);
      if (seeded) {
        in_slices(n, [&](Worker& worker, size_t from, size_t to) {
          for (size_t k = from; k < to; ++k) sound[k] = worker.bind_seeds(static_cast<int64_t>(begin + k));
        });
      }
      Frontier first{plan_.seeds, static_cast<size_t>(std::count(sound.begin(), sound.end(), 1)), {}};
      first.data.reserve(first.n * static_cast<size_t>(1 + plan_.seeds) + 1, charge_);
      size_t at = 0;
      for (size_t k = 0; k < n; ++k) {
        if (!sound[k]) continue;
        first.column(0)[at] = static_cast<int64_t>(begin + k);
        for (int level = 0; level < plan_.seeds; ++level)
          first.column(1 + level)[at] = run_.seed(level, static_cast<int64_t>(begin + k));
        ++at;
      }
      extend(first);
    }
  } catch (...) {
    last.reset(own.chunk);
    throw;
  }
  run_.push(std::unique_ptr<Chunk>(own.chunk));
}

void Extender::extend(Frontier& from) {
  const int level = from.depth;
  if (level == plan_.enumerated) {
    emit(from);
    return;
  }
  for (size_t row = 0; row < from.n; row += kBatchRows) {
    const size_t n = std::min(kBatchRows, from.n - row);
    std::vector<size_t> ends(n);
    in_slices(n, [&](Worker& worker, size_t begin, size_t end) {
      for (size_t k = begin; k < end; ++k) {
        worker.restore(from.column(1) + row + k, from.n, level);
        ends[k] = worker.count_extensions(level);
      }
    });
    for (size_t k = 1; k < n; ++k) ends[k] += ends[k - 1];
    for (size_t begin = 0; begin < ends[n - 1]; begin += piece_rows_)
      fill(from, ends, row, begin, std::min(ends[n - 1], begin + piece_rows_));
  }
}

// Makes the frontier of extensions [begin, end) of the rows from `first_row` on, whose extensions end at `ends`; extends it.
void Extender::fill(Frontier& from, const std::vector<size_t>& ends, size_t first_row, size_t begin, size_t end) {
  const int level = from.depth;
  Frontier to{level + 1, end - begin, {}};
  const size_t columns = static_cast<size_t>(level) + 2;
  Charge charge(run_.control());
  to.data.reserve(to.n * columns, charge);
  const auto first = static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(), begin) - ends.begin());
  const auto last = static_cast<size_t>(std::lower_bound(ends.begin(), ends.end(), end) - ends.begin());
  in_slices(last + 1 - first, [&](Worker& worker, size_t slice_begin, size_t slice_end) {
    for (size_t k = first + slice_begin; k < first + slice_end; ++k) {
      const size_t row_begin = k == 0 ? 0 : ends[k - 1];
      const size_t low = std::max(begin, row_begin), high = std::min(end, ends[k]);
      if (low >= high) continue;
      const size_t at = low - begin, n = high - low;
      for (int column = 0; column <= level; ++column)
        std::fill_n(to.column(column) + at, n, from.column(column)[first_row + k]);
      worker.restore(from.column(1) + first_row + k, from.n, level);
      worker.fill_extensions(level, low - row_begin, high - row_begin, to.column(level + 1) + at);
    }
  });
  extend(to);
}

// Emits complete rows, as often as the levels that are only counted say.
void Extender::emit(Frontier& rows) {
  std::vector<uint64_t> counts(rows.n, 1);
  if (!plan_.counted.empty())
    in_slices(rows.n, [&](Worker& worker, size_t begin, size_t end) {
      for (size_t k = begin; k < end; ++k) {
        worker.restore(rows.column(1) + k, rows.n, rows.depth);
        counts[k] = worker.count_completions();
      }
    });
  const int32_t mode = plan_.plan->mode;
  if (mode == kRows && plan_.counted.empty()) {
    copy(rows, 0, rows.n);
    return;
  }
  Chunk*& chunk = workers_[0]->chunk;
  for (size_t k = 0; k < rows.n; ++k) {
    if (mode == kCount && counts[k] > INT64_MAX) throw Halt{kOverflow};
    const uint64_t times = mode == kRows ? counts[k] : counts[k] > 0;
    for (uint64_t n = 0; n < times; ++n) {
      copy(rows, k, k + 1);
      if (mode == kCount) chunk->counts()[chunk->n - 1] = static_cast<int64_t>(counts[k]);
    }
  }
}

void Extender::copy(Frontier& rows, size_t begin, size_t end) {
  Worker& own = *workers_[0];
  while (begin < end) {
    if (own.chunk->n == own.chunk->capacity) run_.exchange(own);
    const size_t at = own.chunk->n, n = std::min(end - begin, own.chunk->capacity - at);
    std::copy_n(rows.column(0) + begin, n, own.chunk->rows() + at);
    for (const Output& output : run_.outputs())
      std::copy_n(rows.column(1 + output.level) + begin, n, own.chunk->column(output.column) + at);
    own.chunk->n += n;
    begin += n;
  }
}

}  // namespace qe
