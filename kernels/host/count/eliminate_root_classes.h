// Classes of roots that reach the same: what is summed out around a root depends on the rows in which its nodes start, and
// on nothing else of it. Leaves of one hub, and the corners of one side of a complete bipartite graph, are one class each.
#pragma once
#include <vector>

#include "count/forest_roots.h"

namespace qe::eliminate {

// A root whose number in plan.roots is 0 is in no class.
class RootClasses {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0};

  // counts(u): is the root's number not 0?
  template <typename Counts>
  RootClasses(const ForestPlan& plan, Control* control, Counts&& counts) : of_(plan.n, kNone) {
    for (uint32_t u = 0; u < plan.n; ++u)
      if (counts(u)) firsts_.push_back(u);
    if (shares(plan)) {
      join(plan, control);
    } else {
      for (uint32_t k = 0; k < firsts_.size(); ++k) of_[firsts_[k]] = k;
    }
  }

  static size_t bytes(uint32_t n) { return n * (4 * sizeof(uint32_t) + sizeof(uint64_t)); }

  // The first root of each class, ascending.
  const std::vector<uint32_t>& firsts() const { return firsts_; }
  // The class of a root, as a place in firsts().
  uint32_t of(uint32_t u) const { return of_[u]; }

 private:
  // Can it pay to compare rows?
  static bool shares(const ForestPlan& plan);
  void join(const ForestPlan& plan, Control* control);

  std::vector<uint32_t> firsts_, of_;
};

// How many numbers a root's row pushes over a node's link, on average.
double pushed_by_rows(const ForestPlan& plan, const ForestNode& node);

}  // namespace qe::eliminate
