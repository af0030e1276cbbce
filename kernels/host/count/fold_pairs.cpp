// Values at the far end of pairs, by groups of roots: of the vertices v that the roots of a group have a count for
// (pair_rows.h), how many different classes there are, the least and the greatest.
//
// A worker takes a group at a time and goes through its roots' rows, which are not kept; each class is stamped with the
// group that has met it last. Bytes moved: those of the rows, and 8 a pair. The same for every number of threads.
#include <algorithm>
#include <vector>

#include "count/pair_rows.h"

namespace qe::eliminate {

constexpr uint64_t kRootsAtOnce = 16;     // between two looks whether to stop: a row may be as long as there are vertices
constexpr uint32_t kNoClass = UINT32_MAX;  // of a vertex whose value is null

// groups: n_groups + 1 places in roots, where the roots of each begin. classes: of each of n vertices, below n_classes.
// For each group: how many classes, the least (kNoClass for none), and the greatest (0 for none).
struct PairFold {
  const PairTerm* terms;
  const uint32_t* roots;
  const uint64_t* groups;
  const uint32_t* classes;
  uint64_t* distinct;
  uint32_t* least;
  uint32_t* greatest;
  uint64_t n_groups;
  uint32_t n_classes;
  uint32_t n;
  int32_t n_terms;
  int32_t unused;
};

namespace {

template <typename V>
void fold(const PairFold& task, Control* control) {
  const auto threads = static_cast<int>(std::min<uint64_t>(control->threads, std::max<uint64_t>(task.n_groups, 1)));
  WorkQueue queue(control, task.n_groups, 1);
  Charge charge(control);
  charge.add(static_cast<size_t>(threads) *
             (PairRows<V>::bytes(task.terms, task.n_terms, task.n) + task.n_classes * sizeof(uint64_t)));
  const Status status = deal(threads, queue, [&](int) {
    PairRows<V> rows(task.terms, task.n_terms, task.n, queue);
    std::vector<uint64_t> met(task.n_classes, UINT64_MAX);
    for (uint64_t group, after; queue.take(&group, &after);) {
      uint64_t distinct = 0;
      uint32_t least = kNoClass, greatest = 0;
      for (uint64_t r = task.groups[group]; r < task.groups[group + 1]; ++r) {
        if (r % kRootsAtOnce == 0) queue.poll();
        rows.ends(task.roots[r], [&](uint32_t end) {
          const uint32_t value = task.classes[end];
          if (value == kNoClass || met[value] == group) return;
          met[value] = group;
          ++distinct;
          least = std::min(least, value);
          greatest = std::max(greatest, value);
        });
      }
      task.distinct[group] = distinct;
      task.least[group] = least;
      task.greatest[group] = greatest;
    }
  });
  check(status);
}

}  // namespace
}  // namespace qe::eliminate

QE_API int32_t qe_fold_pairs(const qe::eliminate::PairFold* task, int32_t wide, qe::Control* control) {
  return qe::eliminate::numbered(wide, [&](auto zero) {
    return qe::eliminate::guarded([&] { qe::eliminate::fold<decltype(zero)>(*task, control); });
  });
}
