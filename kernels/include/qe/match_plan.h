// MatchPlan: a matching order as plain data, with names resolved to arrays. Host and GPU run the same plan.
//
// Levels bind one after the other. A vertex level binds each vertex of the intersection of its sources that its
// ranges, bitset and constraints admit; an edge level binds each relationship between the vertices of two earlier
// levels. Spans point into the plan's tables, so a plan can be copied to a device table by table.
// Python fills it in (qengine/exec/common/match_plan.py mirrors every struct; a test compares the layouts).
#pragma once
#include "qe/pcsr.h"
#include "qe/portable.h"

namespace qe {

constexpr int kMaxLevels = 1024;     // of a search on the host
constexpr int kMaxDeviceLevels = 64;  // on a GPU, where sets of levels are words

enum LevelKind : int32_t { kVertexLevel = 0, kEdgeLevel = 1 };
enum EdgeWay : int32_t { kForward = 0, kBackward = 1, kEitherWay = 2 };
enum CompareOp : int32_t { kEqual = 0, kNotEqual = 1, kLess = 2, kLessEqual = 3, kGreater = 4, kGreaterEqual = 5, kBetween = 6 };
enum ColumnKind : int32_t { kInt64 = 0, kFloat64 = 1, kInt32 = 2 };
enum SourceFlag : int32_t { kRepeats = 1, kLoops = 2, kWithin = 4, kSymmetric = 8 };
enum SearchMode : int32_t { kRows = 0, kCount = 1, kExists = 2 };

struct PlanSpan {
  int32_t first, count;
};

// The union of the lists (entries of MatchPlan::list_ids, which index MatchPlan::lists) of level's vertex.
struct PlanSource {
  int32_t level;
  // kRepeats: a list may hold a vertex twice (parallel relationships), kLoops: or its own vertex. kWithin: none of them
  // holds a vertex outside one range of the level. kSymmetric: v is in the union of u's lists if u is in that of v's.
  int32_t flags;
  PlanSpan lists;
};

struct PlanRange {
  uint32_t begin, end;
};

// Not both: vertex of level a = vertex of level b, and c = d.
struct PlanPair {
  int32_t a, b, c, d;
};

// Values of ids [begin, end): vertex ids, or global relationship ids. Null outside and where validity's bit is 0.
struct PlanColumn {
  int64_t begin, end;
  const void* values;
  const uint8_t* validity;  // Arrow's bitmap, or null: all valid
  int64_t validity_offset;
  int32_t kind;
  int32_t unused;
};

// left OP right between the columns of two levels; a level's columns cover disjoint ids. kBetween: of one level, right is its
// own, and the values of right's column are two integers between which, inclusive, left's must be.
struct PlanCondition {
  int32_t op;
  int32_t left, right;
  int32_t unused;
  PlanSpan left_columns, right_columns;
};

// Relationships of one type: those in start's OUT list (forward), end's (backward), or both (a self-loop once).
struct PlanEdgeType {
  int32_t list;            // the type's OUT adjacency; with ids it may be that of several types (depth first on the host)
  int32_t way;
  int64_t base;            // global id = base + position in OUT, or the id there
  const uint64_t* bitset;  // admitted local ids, or null: all
  int32_t in_list;         // the type's IN adjacency, with ids, where the plan reads it; else -1
  int32_t unused;
};

struct PlanLevel {
  int32_t kind;
  int32_t output;              // column of the rows, -1: not emitted
  PlanSpan sources;            // vertex
  PlanSpan ranges;             // vertex: ascending, disjoint; none: no vertex at all
  PlanSpan different;          // entries of level_ids: this vertex (relationship) must differ from theirs
  PlanSpan less, greater;      // entries of level_ids: this id must be less (greater) than theirs
  PlanSpan pairs, conditions;
  PlanSpan types;              // edge
  int32_t start, end;          // edge: levels of its ends
  const uint64_t* bitset;      // vertex: admitted ids, bit i is id bitset_begin + i, or null: all
  const uint32_t* candidates;  // vertex: the admitted ids where they are few, ascending, or null; then no bitset
  int64_t n_candidates;
  uint32_t bitset_begin;
  uint32_t unused;
};

struct MatchPlan {
  int32_t n_levels;
  int32_t seeds;    // the first levels are bound by the input rows
  int32_t enumerated;   // levels before this one make a row each; the others are only counted (or tested)
  int32_t mode;
  int32_t n_outputs;
  int32_t n_lists;
  int32_t breadth_first;  // walk level by level, rows in a fixed order
  int32_t unused;
  const PlanLevel* levels;
  const PlanSource* sources;
  const PlanRange* ranges;
  const PlanPair* pairs;
  const PlanCondition* conditions;
  const PlanColumn* columns;
  const PlanEdgeType* types;
  const int32_t* level_ids;
  const int32_t* list_ids;
  const Pcsr* lists;
};

}  // namespace qe
