// Walking the levels that make rows, and writing the rows.
#include <algorithm>

#include "search/search_edges.h"
#include "search/search_run.h"

namespace qe {

Worker::Worker(SearchRun& run)
    : run_(run), plan_(run.plan()), match_(*run.plan().plan), ops_(run.ops()), charge_(run.control()) {
  std::fill_n(value_, plan_.levels.size(), 0);
  std::fill_n(stamp_, plan_.levels.size(), 0);
  std::fill_n(held_, plan_.levels.size(), 0);
  frames_.resize(plan_.levels.size());
  for (size_t k = 0; k < frames_.size(); ++k) frames_[k].partials.resize(plan_.levels[k].operands.size());
  views_.resize(plan_.views.size());
  cursors_.resize(2 * plan_.levels.size());
  memos_.resize(static_cast<size_t>(plan_.n_memos));
  tables_.resize(static_cast<size_t>(plan_.n_tables));
  pushed_.resize(plan_.levels.size());
  recalls_.resize(static_cast<size_t>(plan_.n_recalls));
  if (plan_.n_recalls > 0) reached_.resize(static_cast<size_t>(plan_.n_levels));
  heads_.resize(static_cast<size_t>(plan_.n_kinds));
  cuts_.resize(static_cast<size_t>(plan_.n_kinds));
}

void Worker::allow_work(int64_t work) {
  budget_ = std::min(work, kPollEvery);
  allowance_ = work - budget_;
}

void Worker::poll() {
  if (allowance_ <= 0) throw Halt{kTrialOver};
  budget_ = std::min(allowance_, kPollEvery);
  if (allowance_ != INT64_MAX) allowance_ -= budget_;
  run_.poll(trial_end);
}

void Worker::take_part(int level, int64_t part, int64_t parts) {
  split_level_ = level;
  part_ = part;
  parts_ = parts;
}

void Worker::walk_root(uint32_t root) {
  value_[0] = root;
  if (info(0).filtered && !passes_rest(0)) return;
  spend(kBindCost);
  bind(0, root);
  walk_below(0);
}

// False: a seed is null or not admitted.
bool Worker::bind_seeds(int64_t row) {
  spend(kBindCost);
  row_ = row;
  bound_depth_ = 0;
  for (int level = 0; level < plan_.seeds; ++level) {
    const int64_t v = run_.seed(level, row);
    const bool same = stamp_[level] > 0 && value_[level] == v;  // before that is tried
    if (v < 0 || !admits(level, static_cast<uint32_t>(v))) {
      value_[level] = -1;
      return false;
    }
    bind(level, static_cast<uint32_t>(v));
    if (!same) held_[level] = stamp_[level];
  }
  return true;
}

void Worker::prefetch_seeds(int64_t row, int64_t end) const {
  const auto at = [&](int level, int64_t ahead) { return row + ahead < end ? run_.seed(level, row + ahead) : -1; };
  for (int level = 0; level < plan_.seeds; ++level)
    for (int index : info(level).feeds) prefetch_list(match_.lists[index], at(level, kNear), at(level, kFar));
}

uint64_t Worker::search_row(int64_t row) {
  if (!bind_seeds(row)) return 0;
  if (plan_.enumerated > plan_.seeds) {
    walk(plan_.seeds);
    return 0;
  }
  if (match_.mode == kExists) return any_children(plan_.counted);
  return count_children(plan_.counted);
}

void Worker::walk_below(int level) {
  if (level + 1 == plan_.enumerated) emit_prefix();
  else walk(level + 1);
}

void Worker::walk(int level) {
  if (info(level).vertex) walk_vertices(level);
  else each_edge(level, [&] { walk_below(level); });
}

void Worker::walk_vertices(int level) {
  const Set set = candidates(level);
  const bool last = level + 1 == plan_.enumerated && plan_.counted.empty() && match_.mode == kRows;
  if (last && stride(level).step == 1) {
    emit_all(level, passing(level, set));
    return;
  }
  each_passing(level, set, [&] { walk_below(level); });
}

void Worker::emit_prefix() {
  if (match_.mode == kExists) {
    if (any_children(plan_.counted)) emit(1);
    return;
  }
  uint64_t n = UINT64_MAX;
  try {
    n = count_children(plan_.counted);
  } catch (const Halt& halt) {
    // So many rows are never all taken: this worker emits them until the search is closed, and counts nothing more.
    if (match_.mode == kCount || halt.status != kOverflow) throw;
  }
  if (match_.mode == kCount) {
    if (n > 0) emit(n);
    return;
  }
  for (uint64_t k = 0; k < n; ++k) {
    emit(1);
    spend(1);
  }
}

void Worker::emit(uint64_t count) {
  if (count > INT64_MAX) throw Halt{kOverflow};
  if (chunk->n == chunk->capacity) run_.exchange(*this);
  const size_t at = chunk->n++;
  if (run_.seeded()) chunk->rows()[at] = row_;
  for (const Output& output : run_.outputs()) chunk->column(output.column)[at] = value_[output.level];
  if (match_.mode == kCount) chunk->counts()[at] = static_cast<int64_t>(count);
}

// Emits one row for each vertex of the set, bound to the last enumerated level.
void Worker::emit_all(int level, Set set) {
  while (set.n > 0) {
    if (chunk->n == chunk->capacity) run_.exchange(*this);
    const size_t at = chunk->n, n = std::min(set.n, chunk->capacity - at);
    if (run_.seeded()) std::fill_n(chunk->rows() + at, n, row_);
    for (const Output& output : run_.outputs()) {
      int64_t* to = chunk->column(output.column) + at;
      if (output.level == level) std::copy_n(set.data, n, to);
      else std::fill_n(to, n, value_[output.level]);
    }
    chunk->n += n;
    set = {set.data + n, set.n - n};
    spend(n);
  }
}

}  // namespace qe
