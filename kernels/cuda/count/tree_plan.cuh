// What a count by a tree of levels gets: the tree that the host derives, laid out for warps, and a warp's stack. Python fills
// the former in (qengine/exec/gpu/dfs_plan.py mirrors the structs).
#pragma once
#include "base/warp.cuh"
#include "qe/match_plan.h"

namespace qe {

// The part of a vertex's list that a level admits by its range of ids (and by the order of the two ids).
struct TreeSlice {
  uint64_t begin;
  uint32_t n;
  uint32_t unused;
};

// Slices for the vertices [lo, hi) of the level that the lists belong to.
struct TreeView {
  TreeSlice* slices;
  const uint32_t* neighbours;
  uint32_t lo, hi;
  uint32_t begin, end;    // ids that the slices are cut to
  int32_t list;           // of MatchPlan::lists
  int32_t below, above;   // 1: and to ids less (greater) than the vertex itself
  int32_t unused;
};

enum TreeCheckKind : int32_t { kLinked = 0, kDifferent = 1, kLower = 2, kHigher = 3 };

// What a level demands of a vertex beside the one that is bound at a depth above.
struct TreeCheck {
  int32_t kind;
  int32_t depth;
  int32_t view;  // linked: the candidate is in this slice of that vertex
  int32_t unused;
};

// How its own predicate says which vertices a level admits: not at all, by `bitset`, or by `candidates`.
enum TreeFilter : int32_t { kNoFilter = 0, kByBits = 1, kByList = 2 };

// A level. Branches bind a vertex and multiply what their children count; leaves count their candidates.
struct TreeNode {
  int32_t leaf;          // 0 or 1
  int32_t depth;         // branches above it
  int32_t child, next;   // nodes, -1: none
  int32_t spine;         // 1: nothing else is multiplied with what stands below, so it adds to the total at once
  int32_t plain;         // leaf: every entry of its only slice counts, but for those that `different` excludes
  int32_t minus;         // leaf: so many of the candidates are taken by the leaves before it in its group
  int32_t again;         // leaf: has the candidates of the leaf before it
  int32_t filter;        // TreeFilter
  int32_t memo;          // number of the table that remembers its counts, -1: none
  int32_t memo_depth[2]; // by the vertices at these depths, -1: by one alone
  PlanSpan checks;       // those at the lowest depths first
  PlanSpan ranges;       // where it has several
  PlanSpan pairs;        // of TreePlan::pairs
  // The rest is not known when a kernel is compiled for a tree.
  uint32_t bitset_begin;
  uint32_t n_candidates;
  uint32_t first;        // root: the first id, where it has no candidates
  uint32_t unused;
  const uint64_t* bitset;       // admitted ids, or null: all
  const uint32_t* candidates;   // the admitted ids, ascending, or null
};

struct TreePlan {
  const TreeNode* nodes;  // the first is the root
  const TreeCheck* checks;
  const TreeView* views;
  const PlanRange* ranges;
  const PlanPair* pairs;   // of depths instead of levels, -1: the candidate
  uint32_t n_roots;
  // The first roots are the hubs: the work below each is cut in parts. So many roots are cut in `parts` by the second branch,
  // so many of these again in `parts` by the third; the others go `batch` at a time.
  uint32_t once, twice, parts, batch;
  uint32_t memo_bits;     // of the number of entries of each table
  uint32_t n_views, unused;
};

struct TreeState {
  uint64_t next_task;
  uint64_t total_low, total_high;
  int32_t stop;
  int32_t status;  // a Status
  int32_t leave;   // 1: take no more tasks; another launch goes on with those that are left
  int32_t unused;
};

// A remembered count, plus 1; 0: not there yet. The key is the vertices' ids plus 1, 0: a free place.
struct TreeMemo {
  uint64_t key, count;
};

constexpr int kDraw = -2;  // Branch::child: a new batch is due

// The batch that a branch has bound, and the pool that the next one comes from. Entry i of the branch above has the numbers
// [end[i-1], end[i]) of the pool.
struct Branch {
  uint64_t begin[kLanes];  // of the pivot's slice
  uint64_t sum[kLanes];    // for each entry above: counted so far
  uint64_t product[kLanes];  // for each entry bound: of the children counted so far
  uint32_t value[kLanes];
  uint32_t end[kLanes];
  uint8_t parent[kLanes];  // the entry above
  uint8_t leader[kLanes];  // for each entry above: the one that is counted in its place
  int8_t pivot[kLanes];
  uint32_t first, step, at, count;  // of the pool's numbers: first + step * i, i in [at, count)
  int32_t n, node;
  int32_t child;           // to be counted next, -1: none, or kDraw
  uint32_t computed;       // entries above that are remembered when all is counted
};

}  // namespace qe
