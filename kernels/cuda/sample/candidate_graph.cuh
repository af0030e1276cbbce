// The arguments of the kernels of candidate_graph.cu. Python mirrors them (qengine/exec/gpu/candidate_job.py; a test compares
// the layouts).
//
// Vertices of all levels stand one after the other: those of level j are the ids [lo, hi), from place `first` on. So do rows,
// one for each vertex of the level that a source leads from, and slots, one for each entry of the rows' lists before
// anything is removed.
#pragma once
#include "qe/candidate_graph.h"
#include "qe/match_plan.h"

namespace qe {

struct CandidateLevel {  // an edge level has lo == hi
  uint64_t first;
  uint32_t lo, hi;
  int32_t source, n_sources;  // of all sources, in the plan's order
};

// Entry `source` of MatchPlan::sources, from level `from` to level `to`. `row`: its first.
struct CandidateSource {
  uint64_t row;
  int32_t from, to;
  int32_t source, unused;
};

// Filtering along one source. Steps are numbered; before this one, a vertex of the two levels is a candidate if its stamp is
// at least that of the level's last step.
struct CandidateStep {
  int32_t source, from_stamp, to_stamp;
};

struct CandidateState {
  uint32_t arrived[2], stopped[2];  // of the two launches
  uint64_t slots;
  uint64_t gathered;                // entries between candidates when each source was filtered for the first time
  uint64_t entries;                 // that are left
  double bound;                     // starts as 1
  uint64_t rounds;
  uint32_t counts[kFilterRounds + 1][kMaxDeviceLevels];  // candidates after so many rounds
};

struct CandidateJob {
  const MatchPlan* plan;
  LevelSignatures signatures;
  const int32_t* stop;
  CandidateState* state;
  const CandidateLevel* levels;
  const CandidateSource* sources;
  const CandidateStep* steps;  // each source once, then kFilterRounds rounds: all from last to first, all from first to last
  const int32_t* stamps_after;  // [kFilterRounds + 1][n_levels]: the stamp of each level's candidates after so many rounds
  uint64_t* sums;              // a number a block
  uint16_t* stamps;            // of each vertex: the last step that left it, 1: none has, 0: it never was a candidate
  uint32_t* starts;            // [n_rows + 1]: first slot
  uint32_t* from;              // [slots]: places of the ends among the vertices; `to` is kNoVertex where it is removed
  uint32_t* to;
  uint32_t* places;            // [slots + 1]: entries that are left before it
  uint32_t* ids;               // [entries]
  uint64_t* offsets;           // of each source its dense row index: a number a row, and one more
  uint32_t* roots;             // candidates of a level without a source, from its first place on
  double* ways;                // of each vertex: sample_guide.h
  uint64_t* begins;            // [n_sources + 1]: first entry of each source
  uint64_t* n_roots;           // [n_levels]
  uint64_t n_vertices, n_rows, slots, most_entries;
  int32_t n_levels, n_sources;
};

// A level's lists whose ways are added up, or (without offsets) its one list of `n` ids.
struct RunningLists {
  const uint64_t* offsets;  // n + 1
  const uint32_t* ids;
  const double* ways;       // of the vertices from `lo` on
  double* running;          // as long as ids
  uint64_t n;
  uint32_t lo, unused;
};

}  // namespace qe
