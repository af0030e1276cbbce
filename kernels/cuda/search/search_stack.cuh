// The stack of one warp's search, in shared memory: a frame for each bound level, up to 32 entries a frame.
//
// An entry binds its frame's level to a value, below the entry of the frame above that `parent` names; so lanes with
// different prefixes work side by side. Each frame also numbers the candidates of the next level below its entries:
// entry i has the numbers [end[i-1], end[i]), of which [0, at) are done.
// Source: gMatch §4 (warp-level batches, parent links).
#pragma once
#include "base/candidates.cuh"
#include "base/warp.cuh"
#include "search/search_job.cuh"

#ifndef QE_LEVELS
#error "QE_LEVELS: the most levels that a plan may have"
#endif

namespace qe {

struct Frame {
  int64_t value[kLanes];   // frame 0: the input row
  uint64_t end[kLanes];
  uint64_t begin[kLanes];  // Opening::begin
  uint64_t at, total;
  int8_t pivot[kLanes];    // Opening::pivot
  uint8_t parent[kLanes];
  int32_t n;
  int32_t unused;
};

// Part of a frame's candidates, given to another warp: what it needs to go on with them.
struct Donation {
  int32_t filled;  // 1: for the warp to take
  int32_t depth, n, unused;
  uint64_t at, total;
  int64_t value[QE_LEVELS + 1][kLanes];  // of the entries, for each frame
  uint32_t place[kLanes];                // of the row that each entry stands below, where it has one
};

struct SavedStack {
  int32_t depth, unused;
  Frame frames[1];  // as many as the search has
};

}  // namespace qe
