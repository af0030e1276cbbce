// Walks of the least lengths between two vertices: `count` of the shortest, or all that have one of the `count` least
// lengths that there are, from `minimum` hops on.
//
// Lengths are tried one after another, each by a depth-first search for walks of just that length, which backward
// levels from the end cut short. It is over once there are enough, or when nothing that was cut or ended could have
// gone on to the end. From the second path on vertices come twice, so that levels alone would miss some; where there
// are fewer than asked for, all walks that could lead to the end are tried, as by kEveryWalk.
#include "walk/walk_rows.h"

namespace qe::walks {
namespace {

class LeastLengths final : public Rows {
 public:
  explicit LeastLengths(const WalkPlan& plan) : Rows(plan), trails_(plan.vertex_count), bounds_(plan.vertex_count) {}

  Progress fill(Sink& sink, Poll& poll) override {
    while (length_ <= plan_.maximum) {
      const Progress progress = trails_.fill(sink, poll);
      if (progress != Progress::kDone) return progress;
      left_ -= plan_.mode == kAnyShortest ? trails_.given() : trails_.given() > 0;
      if (left_ == 0 || !trails_.could_go_on()) break;
      ++length_;
      search();
    }
    return Progress::kDone;
  }

  int64_t bytes() const override { return trails_.bytes() + bounds_.bytes(); }

 private:
  void start() override {
    length_ = plan_.minimum;
    left_ = plan_.count;
    bounds_.begin(end_.lo);
    search();
  }

  void search() {
    TrailQuery query;
    query.hops = &forward_;
    query.start = start_;
    query.minimum = query.maximum = length_;
    query.distinct_edges = plan_.distinct_edges != 0;
    query.end = end_;
    query.row = row_;
    query.bounds = &bounds_;
    query.backward = &bounding_;
    if (plan_.mode == kAnyShortest) query.most = left_;
    trails_.begin(query);
  }

  Trails trails_;
  Bounds bounds_;
  int64_t length_ = 0;  // that is being tried
  int64_t left_ = 0;    // walks, or lengths, still to find
};

}  // namespace

std::unique_ptr<Rows> least_lengths(const WalkPlan& plan) { return std::make_unique<LeastLengths>(plan); }

}  // namespace qe::walks
