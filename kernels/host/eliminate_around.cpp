// Elimination of a forest around a root: for each root u the pattern's other vertices are summed out from the leaves to the
// top, by sparse vectors over what u reaches. With the root a 4-cycle's corner these are the counters of its wedges.
//
// An arm's sparse vector starts with a row of u, or with what is pushed over links: each of its numbers is added along a
// row to a dense array, whose touched places make the next sparse vector. Several arms that meet at a vertex multiply. Where
// two meet whose product is only summed, one is pushed and the other reads what it finds along its rows. Where roots share
// most of what they reach, many are done at once (eliminate_blocks.cpp).
// Bytes moved: for each number that is pushed its row, and a counter for each entry, at random. Deterministic.
// Sources: Gustavson 1978 (sparse accumulator); cutset conditioning, Dechter 1990; Chiba and Nishizeki 1985 for wedges.
#include <algorithm>

#include "eliminate_blocks.h"

namespace qe::eliminate {

namespace {

constexpr uint64_t kRoots = 4;
constexpr size_t kMostHeld = size_t{1} << 30;  // bytes of blocks

template <typename V>
Status around(const AroundPlan& plan, V* out, Control* control) {
  Pieces pieces(control, plan.n, kRoots);
  Charge charge(control);
  uint64_t entries = 0;
  for (int k = 0; k < plan.n_arms; ++k) {
    if (plan.arms[k].start < 0) continue;
    entries = std::max(entries, entries_of(plan.matrices[plan.arms[k].start]));
  }
  const int threads = workers_for(control, 4 * entries);
  const auto workers = static_cast<size_t>(threads);
  const BlockChoice blocks = choose_blocks<V>(plan);
  const size_t held = workers * blocks.memory(plan.n);
  const bool in_blocks = blocks.bytes != 0 && held <= kMostHeld && charge.affords(held);
  try {
    if (in_blocks) charge.add(held);
    const size_t arms = (sizeof(V) + 4) * static_cast<size_t>(plan.n_arms);
    if (!in_blocks) charge.add(workers * plan.n * (Scratch<V>::kBytes + arms));
  } catch (const Halt& halt) {
    return halt.status;
  }
  if (in_blocks) return around_by_blocks<V>(plan, blocks, threads, out, control);
  return deal(threads, pieces, [&](int) {
    Scratch<V> scratch(plan.n);
    Roots<V> roots(plan, pieces, scratch);
    for (uint64_t begin, end; pieces.take(&begin, &end);)
      for (uint64_t u = begin; u < end; ++u) out[u] = roots.root(static_cast<uint32_t>(u));
  });
}

}  // namespace
}  // namespace qe::eliminate

// out[u], for each of plan.n roots: plan.roots' number times the sums of the tops' vectors.
QE_API int32_t qe_eliminate_around(const qe::eliminate::AroundPlan* plan, int32_t wide, void* out, qe::Control* control) {
  return qe::eliminate::numbered(wide, [&](auto zero) {
    using V = decltype(zero);
    return qe::eliminate::around<V>(*plan, static_cast<V*>(out), control);
  });
}
