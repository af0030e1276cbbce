// What is summed out around a root, for as many roots at once as numbers fit into 64 bytes: see row_product_batched.cpp.
#pragma once
#include "count/eliminate_roots.h"

namespace qe::eliminate {

// Whether a plan is done by blocks of roots: where nodes reach so much that roots share most of it, and numbers of 32 or 64
// bits hold every vector. bytes: of a number, 0 where it is not.
struct BlockChoice {
  int32_t bytes;
  uint64_t lines;  // that a worker holds for each vertex

  size_t memory(uint32_t n) const { return lines * n * (64 + 1 + sizeof(uint32_t)); }
};

// V: of the plan's vectors.
template <typename V>
BlockChoice choose_blocks(const ForestPlan& plan);

// out[k]: what is summed up around the root roots[k], whatever its own number is.
template <typename V>
Status row_product_batched(const ForestPlan& plan, BlockChoice choice, const std::vector<uint32_t>& roots, int threads, V* out,
                           Control* control);

}  // namespace qe::eliminate
