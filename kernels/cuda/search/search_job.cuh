// What a launch of the search gets, and what its warps share. Python fills SearchJob in (qengine/exec/gpu/search_job.py mirrors it).
#pragma once
#include "qe/match_plan.h"

namespace qe {

// Zeroed before the first launch. Between two launches the host resets all but `next_task` and the totals, and swaps the
// saved stacks.
struct SearchState {
  uint64_t next_task;       // of the roots (or input rows) dealt so far, in groups of 32
  uint64_t rows;            // places for rows asked for; may exceed the capacity
  uint64_t total_low, total_high;
  int32_t working;          // warps that have work, or are being given some
  uint32_t served, waiting;  // of the queue of warps without work: how many have left it, and have joined it
  int32_t next_saved;       // of the stacks that the launch before has saved, taken so far
  int32_t saved;            // stacks saved by this launch
  int32_t full;             // no place for another row: stop where rows are made
  int32_t stop;             // leave at once
  int32_t status;           // a Status
};

struct SearchJob {
  const MatchPlan* plan;
  const int64_t* const* seeds;  // rows vertex ids for each seed level, -1: null
  uint64_t rows;                // input rows; 1 without seeds
  uint64_t capacity;            // places for rows
  int64_t* row;                 // [capacity] the input row
  int64_t* columns;             // [outputs][capacity]
  uint64_t* counts;             // [capacity] of each row, where levels are only counted; or of each input row; zeroed
  SearchState* state;
  char* donations;              // a Donation for each warp of the grid; zeroed before the first launch
  int32_t* queue;               // a place for each warp, by the order of joining: its number + 1; zeroed before each launch
  const char* saved_before;     // stacks to go on with
  char* saved;                  // room for a stack of each warp
  const int32_t* stop;          // the host's memory: not 0 to stop
  int32_t n_saved_before;
  int32_t unused;
};

}  // namespace qe
