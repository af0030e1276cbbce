// What host and GPU do alike when they build candidate graphs (host/sample/sample_candidates.h,
// cuda/sample/candidate_graph.cu): how far candidates are filtered, and in which order ways are added up, so that both make the
// same graph and the same guide.
#pragma once
#include "qe/portable.h"
#include "qe/signature.h"

#ifndef __CUDACC_RTC__
#include <cmath>
#endif

namespace qe {

constexpr int kFilterRounds = 3;    // over all sources, beside the first
constexpr int64_t kRoundGain = 16;  // another round only where the last removed one candidate in so many

// Sums of ways are of so many partial sums, the k-th of the terms k, k + lanes, ..., which are then added in halves.
constexpr int kListLanes = 32, kRootLanes = 1024;

// The signatures of a graph, and for each level kSignatureWords words that its vertices' signatures must have; or no table.
struct LevelSignatures {
  const uint32_t* table;
  const uint32_t* wanted;
  uint32_t n_vertices;
  uint32_t unused;
};

QE_BOTH inline bool admits(const LevelSignatures& signatures, int level, uint32_t v) {
  return signatures.table == nullptr ||
         signature_admits(signatures.table, signatures.n_vertices, v, signatures.wanted + kSignatureWords * level);
}

// Is one more round worth it?
QE_BOTH inline bool filters_on(int64_t before, int64_t after) { return (before - after) * kRoundGain > before; }

// What guides picks: a power of the ways below 1, since what closes cycles prunes those with most ways most. Made of square
// roots, which are rounded alike everywhere.
QE_BOTH inline double tempered(double ways) {
  const double root = sqrt(ways);
  return root * sqrt(root);
}

}  // namespace qe
