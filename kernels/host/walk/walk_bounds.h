// Least numbers of hops that are still to go, by which a search for walks to one end is cut.
#pragma once
#include <algorithm>

#include "walk/walk_cycles.h"
#include "walk/walk_levels.h"

namespace qe::walks {

// Backward levels from the end. They grow with the search: a level is added once the search has taken as many steps
// as the level's lists have entries, so they never cost more than the search itself and short searches pay nothing.
class Bounds {
 public:
  explicit Bounds(int64_t vertex_count) : levels_(vertex_count) {}

  // Keeps the levels of the same target.
  void begin(uint32_t target) {
    if (started_ && target == target_) return;
    started_ = true;
    target_ = target;
    levels_.start(target);
    budget_ = 0;
  }

  // At most the number of hops from v to the target.
  int64_t least(uint32_t v) const {
    const int64_t known = levels_.of(v);
    if (known != Levels::kNone) return known;
    return levels_.exhausted() ? Levels::kNone : levels_.depth() + 1;
  }

  // Adds the levels that `steps` more steps of a search of walks up to `maximum` hops pay for. False: stopped.
  bool grow(const Hops& backward, int64_t steps, int64_t maximum, Poll& poll) {
    budget_ += steps;
    while (!levels_.exhausted() && levels_.depth() < maximum - 1) {
      const int64_t cost = static_cast<int64_t>(levels_.frontier_cost(backward));
      if (cost > budget_) return true;
      budget_ -= cost;
      if (!levels_.expand(backward, poll, [](uint32_t) { return false; })) return false;
    }
    return true;
  }

  int64_t bytes() const { return levels_.bytes(); }

 private:
  Levels levels_;
  uint32_t target_ = 0;
  int64_t budget_ = 0;
  bool started_ = false;
};

}  // namespace qe::walks
