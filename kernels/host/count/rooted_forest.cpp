// Elimination of a forest around a root: for each root u the pattern's other vertices are summed out from the leaves to the
// top, by sparse vectors over what u reaches. With the root a 4-cycle's corner these are the counters of its wedges.
//
// A node's sparse vector starts with a row of u, or with what is pushed over links: each of its numbers is added along a
// row to a dense array, whose touched places make the next sparse vector. Several nodes that meet at a vertex multiply. Where
// two meet whose product is only summed, one is pushed and the other reads what it finds along its rows. Where roots share
// most of what they reach, many are done at once (row_product_batched.cpp); of roots that reach the same, one
// (eliminate_root_classes.h); and what is pushed by a few hubs around nearly all roots is pushed once (eliminate_heavy.cpp).
// Bytes moved: for each number that is pushed its row, and a counter for each entry, at random. Deterministic.
// Sources: Gustavson 1978 (sparse accumulator); cutset conditioning, Dechter 1990; Chiba and Nishizeki 1985 for wedges.
#include <algorithm>

#include "count/eliminate_heavy.h"
#include "count/eliminate_root_classes.h"
#include "count/row_product_batched.h"

namespace qe::eliminate {

namespace {

constexpr uint64_t kRoots = 4;
constexpr size_t kLeastInBlocks = 64;            // roots
constexpr size_t kMostHeld = size_t{1} << 30;  // bytes of blocks

int threads_for(const ForestPlan& plan, const Control* control) {
  uint64_t entries = 0;
  for (int k = 0; k < plan.n_nodes; ++k) {
    if (plan.nodes[k].start < 0) continue;
    entries = std::max(entries, entries_of(plan.matrices[plan.nodes[k].start]));
  }
  return workers_for(control, 4 * entries);
}

// out[k]: what is summed up around roots[k].
template <typename V>
Status sums_around(const ForestPlan& plan, const std::vector<uint32_t>& roots, V* out, Control* control) {
  const int threads = threads_for(plan, control);
  const std::vector<uint32_t> heavy = choose_heavy(plan, roots);
  if (!heavy.empty() && around_by_heavy<V>(plan, heavy, roots, threads, out, control)) return kOk;
  Charge charge(control);
  const auto workers = static_cast<size_t>(threads);
  const BlockChoice blocks = roots.size() < kLeastInBlocks ? BlockChoice{0, 0} : choose_blocks<V>(plan);
  const size_t held = workers * blocks.memory(plan.n);
  if (blocks.bytes != 0 && held <= kMostHeld && charge.affords(held)) {
    charge.add(held);
    return row_product_batched<V>(plan, blocks, roots, threads, out, control);
  }
  const size_t nodes = (sizeof(V) + 4) * static_cast<size_t>(plan.n_nodes);
  charge.add(workers * plan.n * (Scratch<V>::kBytes + nodes));
  WorkQueue queue(control, roots.size(), kRoots);
  return deal(threads, queue, [&](int) {
    Scratch<V> scratch(plan.n);
    Roots<V> worker(plan, queue, scratch);
    for (uint64_t begin, end; queue.take(&begin, &end);)
      for (uint64_t k = begin; k < end; ++k) out[k] = worker.root(roots[k]);
  });
}

template <typename V>
void around(const ForestPlan& plan, V* out, Control* control) {
  const auto* own = static_cast<const V*>(plan.roots);
  Charge charge(control);
  charge.add(RootClasses::bytes(plan.n));
  const RootClasses classes(plan, control, [own](uint32_t u) { return own == nullptr || own[u] != 0; });
  charge.add(classes.firsts().size() * sizeof(V));
  std::vector<V> sums(classes.firsts().size());
  if (const Status status = sums_around<V>(plan, classes.firsts(), sums.data(), control); status != kOk) throw Halt{status};
  for (uint32_t u = 0; u < plan.n; ++u) {
    const uint32_t k = classes.of(u);
    const V sum = k == RootClasses::kNone ? V{0} : sums[k];
    out[u] = own == nullptr ? sum : times(own[u], sum);
  }
}

}  // namespace
}  // namespace qe::eliminate

// out[u], for each of plan.n roots: plan.roots' number times the sums of the tops' vectors.
QE_API int32_t qe_rooted_forest(const qe::eliminate::ForestPlan* plan, int32_t wide, void* out, qe::Control* control) {
  return qe::eliminate::numbered(wide, [&](auto zero) {
    using V = decltype(zero);
    return qe::eliminate::guarded([&] { qe::eliminate::around<V>(*plan, static_cast<V*>(out), control); });
  });
}
