// Reachability from many sets of starts at once: which vertices each set reaches, and in how many hops at least.
//
// Problem. A lane is a set of starts. Its ends are the vertices that a walk of minimum..maximum hops from one of its
//   starts comes to, passing only vertices of `through_bits`. A walk of least length repeats nothing but, perhaps, its
//   start as its end; which of those count is said by `returns`. Rows come out as (lane, end, hops).
// Preconditions. Layers as in qe/walk.h, `backward` those that lead back. `minimum` is 0 or 1. `hops`
//   are the least from any start of the lane; for a start that is its own end they are right in lanes of one start.
// Work. Levels of 64 lanes together, a bit for each lane in a word of each vertex, so that an entry of a list is read
//   once a level for all lanes that stand there. A level pushes from its frontier, or pulls into the vertices that
//   lanes have not seen, whichever reads less. Threads share a level where it is worth their start.
// Determinism. The same rows on each run, in an order that depends on the threads.
// Memory. 32 bytes a vertex, charged whole; a page that no walk comes to is never touched. Where few vertices are come
//   to, the next 64 lanes have the same memory.
// Sources. MS-BFS: Then et al., PVLDB 8, 2014; push and pull: Beamer et al., SC 2012.
#pragma once
#include "qe/walk.h"

namespace qe {

constexpr int32_t kLanes = 64;

enum ReturnRule : int32_t {
  kReturnsByWalk = 0,   // a start is an end where any walk comes back to it
  kReturnsByTrail = 1,  // only where another start comes to it, or one that repeats no relationship
  kNeverReturns = 2,    // only where another start comes to it
};

struct ReachPlan {
  const WalkLayer* forward;
  const WalkLayer* backward;
  const WalkLayer* closing;      // n_closing: `backward`, or what it has merged, by which closed trails are told
  int32_t n_layers;
  int32_t lanes;
  int32_t returns;               // ReturnRule
  int32_t minimum;               // hops, 0 or 1
  int32_t only_returns;          // ends are only those starts that `returns` counts and another rule than walk's finds
  int32_t n_closing;
  int64_t maximum;               // hops; kUnbounded
  int64_t vertex_count;
  const int64_t* offsets;        // [lanes + 1] into `starts`
  const int64_t* starts;         // vertices; within a lane each once
  const uint64_t* end_bits;      // bits by vertex that ends must have; null: all
  const uint64_t* through_bits;  // bits by vertex that may lie between start and end; null: all
  uint32_t end_lo, end_hi;       // ends lie in [end_lo, end_hi)
};

// A caller's buffers. `hops` may be null.
struct ReachOutput {
  int64_t* lane;
  int64_t* end;
  int64_t* hops;
  int64_t capacity;
  int64_t rows;  // written: rows filled
};

}  // namespace qe

// Makes the state of a run; plan, its arrays and control must outlive it. `handle` is null unless kOk.
QE_API int32_t qe_reach_open(const qe::ReachPlan* plan, qe::Control* control, void** handle);

// Fills the buffers; `done` becomes 1 when there is nothing more. After an error only qe_reach_close may follow.
QE_API int32_t qe_reach_next(void* handle, qe::ReachOutput* output, int32_t* done);

// Instead of rows: writes how many ends each lane has to counts[0 .. lanes).
QE_API int32_t qe_reach_count(void* handle, int64_t* counts);

QE_API void qe_reach_close(void* handle);
