// The work for one input row after the other: one class for each mode of a plan.
#pragma once
#include <memory>

#include "walk/walk_trails.h"

namespace qe::walks {

class Rows : public Meter {
 public:
  explicit Rows(const WalkPlan& plan) : plan_(plan) {
    forward_.layers = plan.forward;
    backward_.layers = plan.backward;
    forward_.n_layers = backward_.n_layers = plan.n_layers;
    forward_.through = backward_.through = plan.through_bits;
    bounding_ = backward_;
  }

  // Takes up a row; false: it has no walks. `target`: 0 where ends are free.
  bool begin(int64_t row, int64_t start, int64_t target);

  virtual Progress fill(Sink& sink, Poll& poll) = 0;

 protected:
  virtual void start() = 0;

  bool bound() const { return plan_.targets != nullptr; }
  EndFilter only(uint32_t v) const { return {v, v + 1, nullptr}; }

  const WalkPlan& plan_;
  Hops forward_, backward_;  // without what the row forbids
  Hops bounding_;            // backward with it: the same for all rows, and enough for a bound
  int64_t row_ = 0;
  uint32_t start_ = 0;
  EndFilter end_;            // of this row
};

std::unique_ptr<Rows> every_walk(const WalkPlan& plan);
std::unique_ptr<Rows> every_end(const WalkPlan& plan);     // minimum > 1, or walks that may repeat relationships
std::unique_ptr<Rows> shortest_paths(const WalkPlan& plan);  // count and minimum are 0 or 1
std::unique_ptr<Rows> least_lengths(const WalkPlan& plan);   // to bound ends
std::unique_ptr<Rows> to_each_end(const WalkPlan& plan);     // `count` paths each, of 0 or 1 hops and more

}  // namespace qe::walks
