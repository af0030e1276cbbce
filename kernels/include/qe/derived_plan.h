// DerivedPlan: what is derived from a MatchPlan before it runs, as plain data (host/plan/search_plan.h says what it means).
//
// The host derives it once; other executors read it instead of deriving again. Spans index the plan's own tables. Nodes
// stand parents first, and the children of one node stand together, so a span holds them.
// Python mirrors every struct (qengine/exec/gpu/derived_plan.py; a test compares the layouts).
#pragma once
#include "qe/match_plan.h"

namespace qe {

enum DerivedFrom : int32_t { kFromCandidates = 0, kFromCandidatesBefore = 1, kFromCandidatesAfter = 2, kFromView = 3, kFromConstant = 4 };
enum DerivedShape : int32_t { kLeafShape = 0, kGroupShape = 1, kBranchShape = 2 };
enum DerivedWedge : int32_t { kNoWedge = 0, kOrderedWedge = 1, kDifferentWedge = 2, kEqualWedge = 3, kApartWedge = 4 };

struct DerivedView {
  int32_t level;
  int32_t kind;
  PlanSpan lists;  // entries of MatchPlan::list_ids
  uint32_t lo, hi;
  int32_t unique, below, above, within;  // 0 or 1
};

struct DerivedOperand {
  int32_t from;    // DerivedFrom
  int32_t index;   // level, view, or level of the constant set
  int32_t newest;
  int32_t clip;    // 0 or 1
  uint64_t less, greater;
};

// Sets of levels are masks: bit j is level j.
struct DerivedLevel {
  uint32_t lo, hi;
  PlanSpan operands;
  int32_t vertex, fixed, filtered, check_ranges;  // 0 or 1
  int32_t cut;                                    // DerivedFrom
  int32_t unused;
  uint64_t rest_less, rest_greater, local_less, local_greater, less, greater;
  uint64_t different, certain, apart, mentions;
};

struct DerivedNode {
  int32_t shape;  // DerivedShape
  int32_t wedge;  // DerivedWedge
  PlanSpan levels;    // entries of DerivedPlan::ids
  PlanSpan context;   // entries of DerivedPlan::ids
  PlanSpan children;  // entries of DerivedPlan::nodes
  int32_t memo;
  int32_t nested, local, pairs;  // 0 or 1
  uint64_t repeats;              // group: bit k: the k-th level has the candidates of the one before
};

struct DerivedPlan {
  int32_t n_levels, seeds, enumerated;
  int32_t impossible;  // 1: some level has no range
  int32_t n_kinds, n_memos;
  int32_t n_roots;     // the first nodes: components of the counted levels
  int32_t n_nodes, n_operands, n_views, n_ids;
  int32_t unused;
  const DerivedLevel* levels;
  const DerivedOperand* operands;
  const DerivedView* views;
  const DerivedNode* nodes;
  const int32_t* ids;
};

}  // namespace qe
