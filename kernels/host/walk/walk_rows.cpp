// Rows of a plan's every walk.
#include "walk/walk_rows.h"

namespace qe::walks {

bool Rows::begin(int64_t row, int64_t start, int64_t target) {
  if (start < 0 || target < 0 || start >= plan_.vertex_count || target >= plan_.vertex_count) return false;
  row_ = row;
  start_ = static_cast<uint32_t>(start);
  end_ = {plan_.end_lo, plan_.end_hi, plan_.end_bits};
  if (bound()) {
    if (!end_.accepts(static_cast<uint32_t>(target))) return false;
    end_ = only(static_cast<uint32_t>(target));
  }
  if (plan_.forbidden_offsets) {
    std::vector<int64_t>& ids = forward_.forbidden;
    ids.assign(plan_.forbidden + plan_.forbidden_offsets[row], plan_.forbidden + plan_.forbidden_offsets[row + 1]);
    std::sort(ids.begin(), ids.end());
    backward_.forbidden = ids;
  }
  this->start();
  return true;
}

namespace {

class EveryWalk final : public Rows {
 public:
  explicit EveryWalk(const WalkPlan& plan) : Rows(plan), trails_(plan.vertex_count), bounds_(plan.vertex_count) {}

  Progress fill(Sink& sink, Poll& poll) override { return trails_.fill(sink, poll); }
  int64_t bytes() const override { return trails_.bytes() + bounds_.bytes(); }

 private:
  void start() override {
    TrailQuery query;
    query.hops = &forward_;
    query.start = start_;
    query.minimum = plan_.minimum;
    query.maximum = plan_.maximum;
    query.distinct_edges = plan_.distinct_edges != 0;
    query.vertices = static_cast<VertexRule>(plan_.vertices);
    query.end = end_;
    query.row = row_;
    if (bound() && plan_.maximum > 2) {
      bounds_.begin(end_.lo);
      query.bounds = &bounds_;
      query.backward = &bounding_;
    }
    trails_.begin(query);
  }

  Trails trails_;
  Bounds bounds_;
};

}  // namespace

std::unique_ptr<Rows> every_walk(const WalkPlan& plan) { return std::make_unique<EveryWalk>(plan); }

}  // namespace qe::walks
