// Walks of the least lengths between two vertices: `count` of the shortest, or all that have one of the `count` least
// lengths that there are, from `minimum` hops on.
//
// Lengths are tried one after another, each by a depth-first search for walks of just that length, which backward
// levels from the end cut short. It is over once there are enough, or when nothing that was cut or ended could have
// gone on to the end. From the second path on vertices come twice, so that levels alone would miss some, and trails that
// could lead to the end, but for what they have taken, are many: where none comes for about as long as a search of
// a part of the graph takes, they are found by how they leave those before (walk_deviations.h).
#include "walk/walk_deviations.h"
#include "walk/walk_rows.h"

namespace qe::walks {
namespace {

class LeastLengths final : public Rows {
 public:
  explicit LeastLengths(const WalkPlan& plan)
      : Rows(plan), trails_(plan.vertex_count), bounds_(plan.vertex_count), deviations_(plan.vertex_count) {
    if (!plan.distinct_edges) return;
    int64_t graph = plan.vertex_count;
    for (int32_t i = 0; i < plan.n_layers; ++i) graph += static_cast<int64_t>(plan.forward[i].lists.n_entries);
    patience_ = plan.hasty ? -1 : kLeastPatience + graph / 4;
  }

  Progress fill(Sink& sink, Poll& poll) override {
    while (!deviating_ && length_ <= plan_.maximum) {
      if (idle_ > patience_) {
        deviating_ = true;
        some_ = trails_.given() > 0;
        if (plan_.mode == kAnyShortest) left_ -= trails_.given();
        deviations_.begin(forward_, backward_, start_, end_.lo, plan_.maximum);
        break;
      }
      const Progress progress = trails_.fill(sink, poll);
      if (progress != Progress::kDone) return progress;
      idle_ = trails_.idle() + (trails_.given() > 0 ? 0 : idle_);
      if (idle_ > patience_) continue;
      left_ -= plan_.mode == kAnyShortest ? trails_.given() : trails_.given() > 0;
      if (left_ == 0 || !trails_.could_go_on()) break;
      ++length_;
      search();
    }
    return deviating_ ? deviate(sink, poll) : Progress::kDone;
  }

  int64_t bytes() const override {
    int64_t sum = trails_.bytes() + bounds_.bytes() + deviations_.bytes();
    if (!found_.empty()) {
      sum += static_cast<int64_t>(found_.size() * (sizeof(found_[0]) + 8 * found_[0].size()));  // all of one length
    }
    return sum;
  }

 private:
  static constexpr int64_t kLeastPatience = 1 << 14;

  void start() override {
    length_ = plan_.minimum;
    left_ = plan_.count;
    idle_ = 0;
    deviating_ = waiting_ = some_ = false;
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
    found_.clear();
    if (patience_ != kUnbounded) {
      query.patience = patience_ - idle_;
      query.found = &found_;
    }
    trails_.begin(query);
  }

  // Goes on behind what was found before: all trails below `length_`, and of that length those in `found_`.
  Progress deviate(Sink& sink, Poll& poll) {
    for (bool over = false; left_ > 0; waiting_ = false) {
      if (!waiting_) {
        if (!deviations_.next(poll, path_, over)) return Progress::kStopped;
        if (over) break;
        const auto length = static_cast<int64_t>(path_.size());
        if (length < length_ || std::find(found_.begin(), found_.end(), path_) != found_.end()) continue;
        if (plan_.mode == kAllShortest && length > length_ && some_ && --left_ == 0) break;
        if (length > length_) found_.clear();
        length_ = length;
        some_ = true;
        waiting_ = true;
      }
      if (!sink.fits(length_)) return Progress::kPaused;
      sink.emit(row_, end_.lo, path_.data(), length_, false);
      if (plan_.mode == kAnyShortest) --left_;
    }
    return Progress::kDone;
  }

  Trails trails_;
  Bounds bounds_;
  Deviations deviations_;
  std::vector<std::vector<int64_t>> found_;  // of the length that is being tried
  std::vector<int64_t> path_;
  int64_t length_ = 0;  // that is being tried
  int64_t left_ = 0;    // walks, or lengths, still to find
  int64_t idle_ = 0, patience_ = kUnbounded;  // steps since the last row; with how many the trails are given up
  bool deviating_ = false, waiting_ = false;  // whether they are; whether path_ is still to be given
  bool some_ = false;   // whether there are walks of that length
};

}  // namespace

std::unique_ptr<Rows> least_lengths(const WalkPlan& plan) { return std::make_unique<LeastLengths>(plan); }

}  // namespace qe::walks
