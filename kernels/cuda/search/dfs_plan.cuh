// What the depth-first search gets: the tree of a plan's levels, laid out for warps, a launch's arguments, and a warp's stack.
//
// The tree: a chain of branches for the levels that make a row each, and below it the tree of counts that the host derives of
// the others (host/plan/search_plan.h). Its spine is the chain of branches, from the root on, below which nothing is multiplied
// but by what was counted before: their pools can be divided between warps.
// Python fills all but the stacks in (qengine/exec/gpu/dfs_plan.py mirrors the structs).
#pragma once
#include "base/warp.cuh"
#include "qe/match_plan.h"

// The most levels of plans that have general nodes; 0: for plans whose nodes are all viewed.
#ifndef QE_LEVELS
#define QE_LEVELS 0
#endif

namespace qe {

constexpr bool kAllViewed = QE_LEVELS == 0;

template <bool B, typename T, typename F>
struct Choose {
  using Type = T;
};
template <typename T, typename F>
struct Choose<false, T, F> {
  using Type = F;
};
using Value = Choose<kAllViewed, uint32_t, int64_t>::Type;    // what a level is bound to: relationships have 64 bits
using Ordinal = Choose<kAllViewed, uint32_t, uint64_t>::Type;  // of a candidate among those of 32 prefixes

// The part of a vertex's list that a level admits by its range of ids (and by the order of the two ids).
struct DfsSlice {
  uint64_t begin;
  uint32_t n;
  uint32_t unused;
};

// Slices for the vertices [lo, hi) of the level that the lists belong to.
struct DfsView {
  DfsSlice* slices;
  const uint32_t* neighbours;
  uint32_t lo, hi;
  uint32_t begin, end;    // ids that the slices are cut to
  int32_t list;           // of MatchPlan::lists
  int32_t below, above;   // 1: and to ids less (greater) than the vertex itself
  int32_t unused;
};

enum DfsCheckKind : int32_t { kLinked = 0, kDifferent = 1, kLower = 2, kHigher = 3 };

// What a level demands of a vertex beside the one that is bound at a depth above.
struct DfsCheck {
  int32_t kind;
  int32_t depth;
  int32_t view;  // linked: the candidate is in this slice of that vertex
  int32_t unused;
};

// How its own predicate says which vertices a level admits: not at all, by `bitset`, or by `candidates`.
enum DfsFilter : int32_t { kNoFilter = 0, kByBits = 1, kByList = 2 };

// Where a node's candidates come from: slices of views; the plan's level, whatever it demands; what is given for a seed; the
// numbers of the input rows.
enum DfsKind : int32_t { kViewed = 0, kGeneral = 1, kSeed = 2, kInputRow = 3 };

// A level. Branches bind it and multiply what their children count; leaves count their candidates.
struct DfsNode {
  int32_t leaf;          // 0 or 1
  int32_t depth;         // branches above it
  int32_t child, next;   // nodes, -1: none
  int32_t kind;          // DfsKind
  int32_t level;         // of MatchPlan::levels, -1: input rows
  int32_t output;        // column of the rows, -1: not emitted
  int32_t spine;         // 1: of the spine
  int32_t plain;         // leaf: every number is a candidate, but for those that `different` excludes
  int32_t minus;         // leaf: so many of the candidates are taken by the leaves before it in its group
  int32_t again;         // leaf: has the candidates of the leaf before it
  int32_t memo;          // number of the table that remembers its counts, -1: none
  int32_t memo_depth[2]; // by the vertices at these depths, -1: by one alone
  // The rest is of viewed nodes.
  int32_t filter;        // DfsFilter
  int32_t enough;        // leaf: so many candidates settle whether there is an embedding
  PlanSpan checks;       // those at the lowest depths first
  PlanSpan ranges;       // where it has several
  PlanSpan pairs;        // of DfsPlan::pairs
  uint32_t bitset_begin;
  uint32_t n_candidates;
  const uint64_t* bitset;       // admitted ids, or null: all
  const uint32_t* candidates;   // the admitted ids, ascending, or null
};

struct DfsPlan {
  const MatchPlan* match;
  const DfsNode* nodes;    // the first is the root
  const DfsCheck* checks;
  const DfsView* views;
  const PlanRange* ranges;
  const PlanPair* pairs;   // of depths instead of levels, -1: the candidate
  uint64_t first;          // where the root's candidates begin
  int32_t pivot;           // of the root: Pivot, or kFromSlices
  int32_t exists;          // 1: all that matters of a count is whether it is 0
  int32_t spine;           // branches of the spine
  int32_t row_depth;       // the branch that makes the rows, -1: the total is wanted
  int32_t branches;        // most that are bound at a time
  uint32_t memo_bits;      // of the number of entries of each table of remembered counts
  uint32_t n_views, unused;
};

// Zeroed before the first launch. Between two launches the host resets all but `next_task` and the totals, and swaps the
// saved stacks.
struct DfsState {
  uint64_t next_task;
  uint64_t rows;             // places for rows asked for; may exceed the capacity
  uint64_t total_low, total_high;
  int32_t working;           // warps that have work, or are being given some
  uint32_t served, waiting;  // of the queue of warps without work: how many have left it, and have joined it
  int32_t next_saved;        // of the stacks that the launch before has saved, taken so far
  int32_t saved;             // stacks saved by this launch
  int32_t full;              // no place for another row: stop where rows are made
  int32_t stop;              // leave at once
  int32_t status;            // a Status
};

// A remembered count, plus 1; 0: not there yet. The key is the vertices' ids plus 1, 0: a free place.
struct DfsMemo {
  uint64_t key, count;
};

struct DfsJob {
  const DfsPlan* plan;
  DfsState* state;
  DfsMemo* memos;               // zeroed
  const int64_t* const* seeds;  // vertex ids by input row for each seed level, -1: null
  int64_t* row;                 // [capacity] the input row
  int64_t* columns;             // [outputs][capacity]
  uint64_t* counts;             // [capacity] of each row, or null
  uint64_t capacity;            // places for rows
  char* stacks;                 // QE_LEVELS > 8: room for the branches of each warp of the grid, else in shared memory
  char* gifts;                  // a DfsStack for each warp: what others give it; zeroed before the first launch
  const char* saved_before;     // stacks to go on with
  char* saved;                  // room for a stack of each warp
  int32_t* queue;               // a place for each warp, by the order of joining: its number + 1; zeroed before each launch
  const int32_t* stop;          // the host's memory: not 0 to stop
  uint64_t n_roots;             // candidates of the root
  uint32_t hubs, parts;         // so many roots, the first, are cut in `parts` by the second branch
  uint32_t batch;               // the others go so many at a time
  int32_t n_saved_before;
};

constexpr int kDraw = -2;  // DfsBranch::child: a new batch is due

// The batch that a branch has bound, and the pool that the next one comes from. Entry i of the branch above has the numbers
// [end[i-1], end[i]) of the pool.
struct DfsBranch {
  uint64_t begin[kLanes];    // of the pivot's slice
  uint64_t sum[kLanes];      // counted so far: for each entry above; where rows are made for each entry bound
  uint64_t product[kLanes];  // for each entry bound: of the children counted so far
  Value value[kLanes];
  Ordinal end[kLanes];
  uint8_t parent[kLanes];    // the entry above
  uint8_t leader[kLanes];    // for each entry above: the one that is counted in its place
  int8_t pivot[kLanes];
  Ordinal first, step, at, count;  // of the pool's numbers: first + step * i, i in [at, count)
  int32_t n, node;
  int32_t child;             // to be counted next, -1: none, or kDraw
  uint32_t computed;         // entries above that are remembered when all is counted
};

// A stack outside of its warp: saved, or with a part of its last branch's pool given to another. Of the spine only.
struct DfsStack {
  int32_t filled;  // a gift: 1: for the warp to take
  int32_t depth;
  uint32_t part, parts;  // as DfsWork::part_
  uint64_t at, count;          // a gift: the part of the last pool
  DfsBranch branches[1];       // as many as the spine has
};

}  // namespace qe
