// Rows that are given by their ids, dealt to all threads of a grid.
#pragma once
#include "base/warp.cuh"
#include "fold/fold_table.cuh"

namespace qe::fold {

constexpr int kVariables = 8;

// n rows: by variable ids of 32 bits, or where `wide` has its bit of 64. weights: how often each counts, `times` as often; or null.
struct FoldRows {
  const void* ids[kVariables];
  const uint64_t* weights;
  uint64_t n, times;
  uint32_t wide, unused;

  __device__ int64_t id(int variable, uint64_t i) const {
    const void* const of = ids[variable];
    return wide >> variable & 1 ? static_cast<const int64_t*>(of)[i] : static_cast<int64_t>(static_cast<const uint32_t*>(of)[i]);
  }
};

}  // namespace qe::fold
