// What guides the picks of samples: how many ways each candidate has to go on.
//
// In a candidate graph each level but the roots keeps one of its sources, the one with the fewest entries: the levels become
// trees. The number of ways to bind the levels below v in its tree, whatever other sources and differences demand, says how
// many embeddings v may lead to; none uses a vertex without a way. Alley's picks proportional to that make the weights of
// samples much more alike. ways[v] is a power of the number, below 1, since it exaggerates. Any positive numbers leave the
// mean unbiased.
// Source: trees of candidates as in FaSTest (Shin et al., PVLDB 2024), here for the picks of Alley (SIGMOD 2021).
#pragma once
#include <cstdint>
#include <vector>

#include "qe/sample.h"

namespace qe {

using SampleGuide = std::vector<GuideLevel>;

}  // namespace qe
