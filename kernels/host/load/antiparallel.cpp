// Whether two different vertices are joined by relationships of a type both ways: in some vertex's two sorted lists the
// same neighbour. Each pair is looked for at its lesser vertex, hubs come first, and the first pair found is enough. Bytes
// moved: the greater neighbours of each vertex, once, where there is no pair. How many such pairs there are is counted at every
// `stride`-th vertex.
#include <algorithm>

#include "base/workers.h"
#include "ops/set_ops.h"
#include "qe/pcsr.h"

namespace qe {
namespace {

// The neighbours of a vertex that are greater than it.
std::pair<const uint32_t*, size_t> greater_neighbours(const Pcsr& lists, uint32_t v) {
  const Slice at = locate(lists, v);
  const uint32_t* end = lists.neighbours + at.end;
  const uint32_t* begin = std::upper_bound(lists.neighbours + at.begin, end, v);
  return {begin, static_cast<size_t>(end - begin)};
}

}  // namespace
}  // namespace qe

// into, out: what leads to each vertex, and what it leads to.
QE_API int32_t qe_antiparallel(const qe::Pcsr* into, const qe::Pcsr* out, int32_t* antiparallel) {
  using namespace qe;
  return run_workers(1, [&](int) {
    const SetOps& ops = set_ops(current_isa());
    *antiparallel = 0;
    for (uint32_t v = std::max(into->lo, out->lo), end = std::min(into->hi, out->hi); v < end; ++v) {
      const auto [targets, n_targets] = greater_neighbours(*out, v);
      if (n_targets == 0) continue;
      const auto [sources, n_sources] = greater_neighbours(*into, v);
      if (n_sources == 0 || intersect_count(ops, targets, n_targets, sources, n_sources) == 0) continue;
      *antiparallel = 1;
      return;
    }
  });
}

// Counts, at every `stride`-th vertex v, the vertices w > v with relationships from v to w and back.
QE_API int32_t qe_mutual_pairs(const qe::Pcsr* into, const qe::Pcsr* out, uint32_t stride, uint64_t* found) {
  using namespace qe;
  return run_workers(1, [&](int) {
    const SetOps& ops = set_ops(current_isa());
    *found = 0;
    const uint64_t first = std::max(into->lo, out->lo), end = std::min(into->hi, out->hi);
    for (uint64_t k = first + stride / 2; k < end; k += stride) {
      const auto [targets, n_targets] = greater_neighbours(*out, static_cast<uint32_t>(k));
      if (n_targets == 0) continue;
      const auto [sources, n_sources] = greater_neighbours(*into, static_cast<uint32_t>(k));
      if (n_sources > 0) *found += intersect_count(ops, targets, n_targets, sources, n_sources);
    }
  });
}
