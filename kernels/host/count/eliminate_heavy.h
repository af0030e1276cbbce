// What is summed out around roots that reach the same few hubs: see eliminate_heavy.cpp.
#pragma once
#include "count/forest_roots.h"

namespace qe::eliminate {

// The hubs that nearly all is pushed by around some roots; none where there are none, or a plan isn't two chains of nodes.
std::vector<uint32_t> choose_heavy(const ForestPlan& plan, const std::vector<uint32_t>& roots);

// out[k]: what is summed up around roots[k], whatever its own number is. False, and nothing written, where what hubs hand on
// doesn't fit V or the memory.
template <typename V>
bool around_by_heavy(const ForestPlan& plan, const std::vector<uint32_t>& heavy, const std::vector<uint32_t>& roots, int threads,
                     V* out, Control* control);

}  // namespace qe::eliminate
