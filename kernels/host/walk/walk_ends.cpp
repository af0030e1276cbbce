// Each end of a row's walks once, where levels alone don't tell (walk.cpp sends the other cases to shortest paths).
//
// Walks that may repeat relationships: sets of vertices after 0, 1, 2, … hops; from `minimum` hops on, a vertex that
// has been an end is left out of the set, for what follows it has followed it before. Trails of at least two hops:
// enumerated, an end is taken when first seen; over once all vertices within reach have been.
#include "walk/walk_rows.h"

namespace qe::walks {
namespace {

class VertexSet {
 public:
  explicit VertexSet(int64_t vertex_count) : vertex_count_(vertex_count) {}

  void clear() {
    for (const uint32_t v : members_) bits_[v >> 6] = 0;
    members_.clear();
  }
  bool has(uint32_t v) const { return bits_ && bit(bits_.get(), v); }
  bool add(uint32_t v) {
    if (!bits_) bits_ = zeroed<uint64_t>((vertex_count_ + 63) / 64);
    if (bit(bits_.get(), v)) return false;
    bits_[v >> 6] |= uint64_t{1} << (v & 63);
    members_.push_back(v);
    return true;
  }
  const std::vector<uint32_t>& members() const { return members_; }
  int64_t bytes() const {
    return (bits_ ? vertex_count_ / 8 : 0) + 4 * static_cast<int64_t>(members_.capacity());
  }

 private:
  int64_t vertex_count_;
  Zeroed<uint64_t> bits_;
  std::vector<uint32_t> members_;
};

class EveryEnd : public Rows {
 public:
  explicit EveryEnd(const WalkPlan& plan) : Rows(plan), ends_(plan.vertex_count) {}

  // Finds the ends, then hands them out.
  Progress fill(Sink& sink, Poll& poll) override {
    if (!found_ && !find(poll)) return Progress::kStopped;
    found_ = true;
    for (; given_ < ends_.members().size(); ++given_) {
      if (!sink.fits(0)) return Progress::kPaused;
      sink.emit(row_, ends_.members()[given_]);
    }
    return Progress::kDone;
  }

 protected:
  virtual bool find(Poll& poll) = 0;

  void start() override {
    ends_.clear();
    given_ = 0;
    found_ = false;
  }

  VertexSet ends_;

 private:
  size_t given_ = 0;
  bool found_ = false;
};

class EndsOfWalks final : public EveryEnd {
 public:
  explicit EndsOfWalks(const WalkPlan& plan)
      : EveryEnd(plan), now_(plan.vertex_count), next_(plan.vertex_count), seen_(plan.vertex_count) {}

  int64_t bytes() const override { return ends_.bytes() + now_.bytes() + next_.bytes() + seen_.bytes(); }

 private:
  bool find(Poll& poll) override {
    now_.clear();
    seen_.clear();
    now_.add(start_);
    for (int64_t hops = 0; !now_.members().empty(); ++hops) {
      next_.clear();
      for (const uint32_t v : now_.members()) {
        const bool stands = hops > 0 && !forward_.passes(v);
        if (hops >= plan_.minimum) {
          if (!seen_.add(v)) continue;
          if (end_.accepts(v)) ends_.add(v);
        }
        if (hops == plan_.maximum || stands) continue;
        int64_t steps = 1;
        forward_.any(v, [&](const WalkLayer&, uint32_t w, uint64_t) {
          ++steps;
          next_.add(w);
          return false;
        });
        if (poll.due(steps) && !poll.check()) return false;
      }
      std::swap(now_, next_);
    }
    return true;
  }

  VertexSet now_, next_, seen_;
};

class EndsOfTrails final : public EveryEnd {
 public:
  explicit EndsOfTrails(const WalkPlan& plan)
      : EveryEnd(plan), trails_(plan.vertex_count), bounds_(plan.vertex_count), reach_(plan.vertex_count) {}

  int64_t bytes() const override { return ends_.bytes() + trails_.bytes() + bounds_.bytes() + reach_.bytes(); }

 private:
  static constexpr int64_t kRows = 1024;

  bool find(Poll& poll) override {
    size_t possible = 1;
    TrailQuery query;
    query.hops = &forward_;
    query.start = start_;
    query.minimum = plan_.minimum;
    query.maximum = plan_.maximum;
    query.distinct_edges = plan_.distinct_edges != 0;
    query.vertices = static_cast<VertexRule>(plan_.vertices);
    query.end = end_;
    if (bound()) {
      query.most = 1;
      bounds_.begin(end_.lo);
      query.bounds = &bounds_;
      query.backward = &bounding_;
    } else {
      reach_.start(start_);
      while (!reach_.exhausted() && reach_.depth() < plan_.maximum) {
        if (!reach_.expand(forward_, poll, [](uint32_t) { return false; })) return false;
      }
      possible = 0;
      for (const uint32_t v : reach_.queue()) possible += end_.accepts(v);
      if (plan_.vertices == kAcyclic && plan_.minimum > 0) possible -= end_.accepts(start_);
    }
    trails_.begin(query);
    for (Progress progress = Progress::kPaused; progress == Progress::kPaused && ends_.members().size() < possible;) {
      WalkOutput out{rows_, found_ends_, nullptr, nullptr, nullptr, kRows, 0, 0, 0};
      Sink sink(out, false);
      progress = trails_.fill(sink, poll);
      for (int64_t i = 0; i < out.rows; ++i) ends_.add(static_cast<uint32_t>(found_ends_[i]));
    }
    return poll.status == kOk;
  }

  Trails trails_;
  Bounds bounds_;
  Levels reach_;
  int64_t rows_[kRows], found_ends_[kRows];
};

}  // namespace

std::unique_ptr<Rows> every_end(const WalkPlan& plan) {
  if (plan.distinct_edges || plan.vertices != kAnyVertices) return std::make_unique<EndsOfTrails>(plan);
  return std::make_unique<EndsOfWalks>(plan);
}

}  // namespace qe::walks
