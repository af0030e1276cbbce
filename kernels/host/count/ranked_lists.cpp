// Of each vertex those before it by rank that some of several matrices links it with, and which do: what a GPU counts cliques by.
//
// Precondition: `ranked` has 16 planes at most. Bytes moved: each entry of a plane is read once, ascending lists are merged.
// Deterministic.
#include "count/ranked_matrices.h"

namespace qe::eliminate {
namespace {

constexpr int kMostPlanes = 16;

// Calls take(id, planes) for the vertices before u that planes link it with, ascending; bit p: plane p does, seen from u.
template <typename Take>
void each_before(const RankedMatrices& of, uint32_t u, Take take) {
  const uint32_t *at[kMostPlanes], *end[kMostPlanes];
  for (int p = 0; p < of.n_planes(); ++p) {
    const RankedRows& rows = of.plane(p);
    at[p] = end[p] = nullptr;
    if (rows.offsets.empty()) continue;  // the other end of a symmetric one
    at[p] = rows.begin(u);
    end[p] = at[p] + rows.before(u, u);
  }
  while (true) {
    uint32_t least = u;
    for (int p = 0; p < of.n_planes(); ++p)
      if (at[p] != end[p]) least = std::min(least, *at[p]);
    if (least == u) return;
    uint32_t planes = 0;
    for (int p = 0; p < of.n_planes(); ++p) {
      if (at[p] == end[p] || *at[p] != least) continue;
      planes |= 1u << p;
      ++at[p];
    }
    take(least, static_cast<uint16_t>(planes));
  }
}

}  // namespace
}  // namespace qe::eliminate

using namespace qe::eliminate;
using qe::Control;

// Fills offsets, n + 1, and, where `ids` is not null, ids and planes, an entry each, and the vertices by rank.
QE_API int32_t qe_ranked_lists(const RankedMatrices* ranked, uint64_t* offsets, uint32_t* ids, uint16_t* planes, uint32_t* order,
                               Control* control) {
  return guarded([&] {
    if (ranked->n_planes() > kMostPlanes) throw qe::Halt{qe::kInvalid};
    Patience patience(control, 1 << 18);
    uint64_t n = 0;
    for (uint32_t u = 0; u < ranked->n(); ++u) {
      offsets[u] = n;
      const uint64_t before = n;
      each_before(*ranked, u, [&](uint32_t id, uint16_t by) {
        if (ids) ids[n] = id, planes[n] = by;
        ++n;
      });
      if (ids) order[u] = ranked->vertex(u);
      patience.spend(n - before + 16);
    }
    offsets[ranked->n()] = n;
  });
}
