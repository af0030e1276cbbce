// The arguments of `count_bfs`. Python mirrors them (qengine/exec/gpu/count_bfs.py; a test compares the layouts).
#pragma once
#include "qe/match_plan.h"

namespace qe {

constexpr int kMaxSteps = 4 * kMaxDeviceLevels;
constexpr int kMaxTables = 2 * kMaxDeviceLevels + 1;

enum TotalKind : int32_t { kExtend = 0, kTally = 1, kFold = 2, kSettle = 3, kShare = 4 };
enum Outcome : int32_t { kDone = 0, kNoRoom = 1, kTooMany = 2, kStopped = 3 };
// What the steps on a row have counted so far: nothing; `counts`; `counts` times `weights`.
enum Pending : int32_t { kNothing = 0, kFirst = 1, kProduct = 2 };

// A table's columns, and the level that it binds; `up`: the table that its rows extend. A table of classes binds no level
// (-1): its rows are those of `up` brought together, `classes` says which row of it stands for each of those, `parents`
// which of those it is read from. Where `up` has fewer than `least` rows nothing is brought together: its rows are theirs.
struct TotalTable {
  uint32_t* vertices;  // of a vertex level
  int64_t* edges;      // of a relationship level
  uint32_t* parents;   // null: each row extends the one with its own number
  unsigned long long* weights;
  unsigned long long* counts;
  uint32_t* classes;
  int32_t level, up;
  uint32_t least, unused;
};

// One step on the rows of table `from`. `to`: kExtend and kShare: the table that is made. `pending`: what earlier steps on
// these rows have counted; `taken`: of the last one's count so many are not to be had, since other levels have them;
// `through`: the table of classes that has this count, or -1. `by`: kShare: rows with the same vertices of these levels (or
// of one, -1) are brought together. `blank`: earlier levels that this one must differ from, and that don't yet have a vertex.
struct TotalStep {
  int32_t kind, level, from, to, pending, taken, through;
  int32_t by[2];
  int32_t unused;
  uint64_t blank;
};

// A part of the candidates of one row.
struct TotalTile {
  uint32_t row, number;
};

struct TotalState {
  uint32_t arrived;
  uint32_t rows[kMaxTables];
  uint32_t tiles[kMaxSteps];
  int32_t outcome[2 * kMaxSteps];  // of each step's two halves
};

// `once`: 1: it is enough to know which counts are 0. `keys`, `firsts`: a hash table of `key_room` places for the rows that
// are brought together, empty (0) between steps.
struct TotalJob {
  const MatchPlan* plan;
  const int32_t* stop;
  TotalState* state;
  const TotalTable* tables;
  const TotalStep* steps;
  TotalTile* tiles;
  unsigned long long* keys;
  uint32_t* firsts;
  uint32_t n_steps, room, tile_room, warp_bytes;
  uint32_t key_room;
  int32_t once;
};

}  // namespace qe

