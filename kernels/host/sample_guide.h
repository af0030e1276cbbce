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

constexpr int kGuidedLevels = 2;  // levels whose numbers come from one block

inline PhiloxBlock guide_block(SampleId id, int level) {
  return philox(id.number, (1ull << 34) + static_cast<uint64_t>(level / kGuidedLevels), id.seed);
}

struct GuideLevel {
  const double* ways = nullptr;     // of the vertices from `lo` on; null: all candidates are as likely
  uint32_t lo = 0;
  const double* running = nullptr;  // sums of ways: over the level's candidates, or within each list of its only source
};

using SampleGuide = std::vector<GuideLevel>;

}  // namespace qe
