// Whether no path of a type's relationships leads back to where it began: vertices that nothing leads to any more are taken
// away with their relationships until there is none. Bytes moved: a counter a vertex, at random, for each relationship of
// those that are taken away: few where most vertices are on a circle. Source: Kahn 1962.
#include <vector>

#include "base/workers.h"
#include "qe/pcsr.h"

// into, out: what leads to each of n vertices, and what it leads to.
QE_API int32_t qe_acyclic(const qe::Pcsr* into, const qe::Pcsr* out, uint32_t n, int32_t* acyclic) {
  using namespace qe;
  return run_workers(1, [&](int) {
    std::vector<uint32_t> left(n);  // relationships that still lead to a vertex
    std::vector<uint32_t> free;
    for (uint32_t v = 0; v < n; ++v) {
      const Slice at = locate(*into, v);
      left[v] = static_cast<uint32_t>(at.end - at.begin);
      if (left[v] == 0) free.push_back(v);
    }
    uint32_t taken = 0;
    while (!free.empty()) {
      const Slice at = locate(*out, free.back());
      free.pop_back();
      ++taken;
      for (uint64_t e = at.begin; e < at.end; ++e)
        if (--left[out->neighbours[e]] == 0) free.push_back(out->neighbours[e]);
    }
    *acyclic = taken == n;
  });
}
