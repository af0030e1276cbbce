// What the kernels of reach.cu are given, laid out as in exec/gpu/reach_job.py.
#pragma once
#include "base/stop.cuh"
#include "qe/pcsr.h"

namespace qe {

// One relationship type in one stored direction, as qe::WalkLayer without what only walks need.
struct ReachLayer {
  Pcsr lists;
  Pcsr out;                 // the type's OUT lists: they give ids where `lists` has none; needed with `allowed` alone
  const uint64_t* allowed;  // bits by local relationship id; null: all
  int32_t is_out;           // an entry's position in `lists` is its local id
  int32_t unused;
};

// What a level finds.
struct ReachFound {
  uint32_t size;                 // vertices of the next frontier
  uint32_t unused;
  unsigned long long push_cost;  // entries that leave it
  unsigned long long completed;  // entries that come to those vertices that all lanes have seen now
};

struct ReachState {
  uint32_t arrived, stopped;     // of base/grid.cuh, 0 at each launch
  uint32_t size, unused;         // of the frontier
  int64_t depth;                 // levels made
  unsigned long long push_cost;  // entries that leave the frontier
  unsigned long long pull_cost;  // entries that come to vertices which not all lanes have seen
  unsigned long long entries;    // of the level
  ReachFound found[3];           // of the level of number n in found[n % 3]; the next one is 0
};

// `bits` and `lists` of level n are those of n % 2; a word of the other `bits` is what comes to a vertex next.
struct ReachJob {
  StopFlag stop;
  ReachState* state;
  const ReachLayer* forward;     // [n_layers]
  const ReachLayer* backward;    // [n_layers], those that lead back
  const uint64_t* through;       // bits by vertex that may lie between start and end; null: all
  uint64_t* seen;                // [n_vertices] the lanes that have come to a vertex
  uint64_t* bits[2];             // [n_vertices] the lanes that stand on it; 0 at first
  uint32_t* lists[2];            // [n_vertices] the frontier
  uint64_t* before;              // [n_vertices * n_layers] entries of a level before those of an item
  uint64_t* sums;                // [blocks]
  uint64_t lanes;                // all lanes, as bits
  int64_t maximum;               // levels
  uint32_t n_layers, n_vertices;
  uint32_t levels;               // of this launch, at most
  uint32_t unused;
};

// Ends: vertices of [lo, hi) whose bit is set; null: all.
struct ReachEnds {
  uint32_t lo, hi;
  const uint64_t* bits;
};

}  // namespace qe
