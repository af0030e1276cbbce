// The search's plain C interface: open, take rows, close.
#include <new>

#include "search/search_run.h"

using qe::Control;
using qe::Lent;
using qe::MatchPlan;
using qe::RowSink;
using qe::SearchRun;

// Begins a search. `seeds`: an array of `rows` vertex ids (-1: null) for each seed level. The plan, its arrays and the seeds
// must live until the search is closed. *run is null unless the status is kOk.
QE_API int32_t qe_search_open(const MatchPlan* plan, Control* control, int64_t rows, const int64_t* const* seeds,
                              int64_t chunk_rows, SearchRun** run) {
  *run = nullptr;
  const bool sound = plan->n_levels >= 0 && plan->n_levels <= qe::kMaxLevels && plan->seeds <= plan->n_levels &&
                     plan->enumerated <= plan->n_levels && rows >= 0 && chunk_rows > 0 && control->threads > 0;
  if (!sound) return qe::kInvalid;
  SearchRun* opened = nullptr;
  try {
    opened = new SearchRun(*plan, control, rows, seeds, chunk_rows);
  } catch (const std::bad_alloc&) {
    return qe::kOutOfMemory;
  }
  const qe::Status status = opened->start();
  if (status != qe::kOk) {
    delete opened;
    return status;
  }
  *run = opened;
  return qe::kOk;
}

// Waits up to wait_ms for rows. *n: how many there are to take, 0 if none yet; *done: none will follow.
QE_API int32_t qe_search_wait(SearchRun* run, int64_t wait_ms, int64_t* n, int32_t* done) {
  bool finished = false;
  const qe::Status status = run->wait(wait_ms, n, &finished);
  *done = finished;
  return status;
}

// Copies those rows: columns[0] gets the input rows, then one column an output, then counts (mode kCount).
// A seeded search that walks nothing gives (input row, count).
QE_API int32_t qe_search_take(SearchRun* run, int64_t* const* columns) { return run->take(columns); }

// Lends those rows: *columns is the first of as many columns as `take` fills, *capacity numbers apart; input rows are not written
// without seeds. Null where they must be taken. The consumer gives them back by qe_search_return, also after the search is closed.
QE_API int32_t qe_search_lend(SearchRun* run, Lent** lent, int64_t** columns, int64_t* capacity) {
  *lent = nullptr;
  try {
    *lent = run->lend().release();
  } catch (const std::bad_alloc&) {
    return qe::kOutOfMemory;
  }
  if (*lent == nullptr) return qe::kOk;
  *columns = (*lent)->chunk->rows();
  *capacity = static_cast<int64_t>((*lent)->chunk->capacity);
  return qe::kOk;
}

QE_API void qe_search_return(Lent* lent) {
  const std::unique_ptr<Lent> owned(lent);
  owned->pool->give(std::move(owned->chunk));
}

// Gives back n rows of a search without seeds that doesn't count: an array an output. They come again, or go to a sink.
QE_API int32_t qe_search_put(SearchRun* run, int64_t n, const int64_t* const* columns) { return run->put(n, columns); }

// Gives the rows that are not yet taken to a sink, from now on; *attached: 0 where the search has ended and hardly any are left.
// The consumer waits as before, and takes what the sink gives it. The sink must be freed after the search is closed.
QE_API int32_t qe_search_attach(SearchRun* run, RowSink* sink, int32_t* attached) {
  *attached = run->attach(sink);
  return qe::kOk;
}

// Rows that a sink has taken, those for which its conditions held, and those that it gave the consumer.
QE_API void qe_sink_rows(const RowSink* sink, uint64_t* rows) {
  rows[0] = sink->taken;
  rows[1] = sink->passed;
  rows[2] = sink->given;
}

QE_API void qe_sink_close(RowSink* sink) { delete sink; }

// After an unseeded search that walks nothing: the factors of its count, as (low, high) halves; returns how many.
QE_API int32_t qe_search_totals(SearchRun* run, uint64_t* halves, int32_t capacity) {
  int32_t n = 0;
  for (const qe::Count& total : run->totals()) {
    if (n == capacity) break;
    halves[2 * n] = static_cast<uint64_t>(total);
    halves[2 * n + 1] = static_cast<uint64_t>(total >> 64);
    ++n;
  }
  return n;
}

// Stops the search if it still runs, and frees it.
QE_API void qe_search_close(SearchRun* run) { delete run; }

// For tests: how long a search runs on the caller's thread before it starts its own; 0: not at all. `work`: after how many ids
// read it does so, unless it is breadth first; INT64_MAX: however many.
QE_API void qe_search_trial(int64_t ns, int64_t work) { SearchRun::set_trial(ns, work); }
