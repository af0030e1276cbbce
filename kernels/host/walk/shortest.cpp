// Shortest paths: one or all, between two vertices or from one to each of many. (Of more, or of a least length:
// walk_lengths.cpp, walk_labels.cpp.)
//
// A shortest path from s to another vertex t repeats nothing, so levels give it. To one t: levels from both ends, the
// cheaper frontier first, until they meet; then the forward side of the meeting is marked with its hops to t, and every
// step of a depth-first search that keeps to those marks leads to t. To all t: levels from s, and for each t that
// search backward from it; where all are wanted but none is given, each vertex has as many as those before it together.
// From s to s in at least one hop: walk_cycles.h, or levels where relationships may repeat; where any length will do,
// walk_components.h.
#include "walk/walk_components.h"
#include "walk/walk_rows.h"

namespace qe::walks {
namespace {

class ShortestPaths final : public Rows {
 public:
  explicit ShortestPaths(const WalkPlan& plan)
      : Rows(plan),
        all_(plan.mode == kAllShortest),
        from_(plan.vertex_count),
        to_(plan.vertex_count),
        cycles_(plan.vertex_count),
        components_(plan.vertex_count),
        trails_(plan.vertex_count) {
    any_length_ = plan.mode == kEveryEnd && plan.minimum > 0 && plan.maximum == kUnbounded &&
                  plan.vertices != kAcyclic && !plan.through_bits && !plan.forbidden_offsets;
    for (int32_t i = 0; i < plan.n_layers; ++i) any_length_ = any_length_ && !plan.forward[i].two_way;
  }

  Progress fill(Sink& sink, Poll& poll) override {
    const bool paths = all_ || sink.lists();  // else there is one end, and its length is enough
    const bool numbers = all_ && !sink.lists() && !bound();
    if (!searched_) {
      if (!(bound() ? search_target(poll, paths) : search_all(poll))) return Progress::kStopped;
      if (numbers && !number_paths(poll)) return Progress::kStopped;
      searched_ = true;
    }
    while (true) {
      if (walking_) {
        const Progress progress = trails_.fill(sink, poll);
        if (progress != Progress::kDone) return progress;
        walking_ = false;
      }
      if (next_ == (bound() ? 1 : from_.queue().size())) return Progress::kDone;
      const uint32_t end = bound() ? end_.lo : from_.queue()[next_];
      if (!paths && end != start_) {
        if (length_ != Levels::kNone && end_.accepts(end)) {
          if (!sink.fits(0)) return Progress::kPaused;
          sink.emit(row_, end, length_);
        }
      } else if (numbers && end != start_) {
        for (; end_.accepts(end) && given_ < numbers_[end]; ++given_) {
          if (!sink.fits(0)) return Progress::kPaused;
          sink.emit(row_, end, from_.of(end));
        }
        given_ = 0;
      } else if (any_length_) {
        bool closed = false;
        if (end_.accepts(end) && !components_.find(forward_, end, poll, closed)) return Progress::kStopped;
        if (closed) {
          if (!sink.fits(0)) return Progress::kPaused;
          sink.emit(row_, end, 0);
        }
      } else if (end_.accepts(end) && !walk_to(end, poll)) {
        return Progress::kStopped;
      }
      ++next_;
    }
  }

  int64_t bytes() const override {
    const int64_t numbers = numbers_ ? 8 * plan_.vertex_count : 0;
    return numbers + from_.bytes() + to_.bytes() + cycles_.bytes() + components_.bytes() + trails_.bytes();
  }

 private:
  void start() override {
    next_ = 0;
    given_ = 0;
    searched_ = walking_ = false;
    length_ = 0;
  }

  // Levels from the start up to the maximum.
  bool search_all(Poll& poll) {
    from_.start(start_);
    while (!from_.exhausted() && from_.depth() < plan_.maximum) {
      if (!from_.expand(forward_, poll, [](uint32_t) { return false; })) return false;
    }
    return true;
  }

  // How many shortest paths lead from the start to each vertex that was reached: levels are in the queue one by one.
  bool number_paths(Poll& poll) {
    if (!numbers_) numbers_ = zeroed<int64_t>(plan_.vertex_count);
    numbers_[start_] = 1;
    for (size_t i = 1; i < from_.queue().size(); ++i) {
      const uint32_t v = from_.queue()[i];
      int64_t steps = 1, sum = 0;
      backward_.any(v, [&](const WalkLayer&, uint32_t u, uint64_t) {
        ++steps;
        const bool before = from_.of(u) == from_.of(v) - 1 && (u == start_ || forward_.passes(u));
        if (before && __builtin_add_overflow(sum, numbers_[u], &sum)) sum = INT64_MAX;
        return false;
      });
      numbers_[v] = sum;
      if (poll.due(steps) && !poll.check()) return false;
    }
    return true;
  }

  // Levels from both ends until they meet; sets length_, and with `paths` marks the way in to_.
  bool search_target(Poll& poll, bool paths) {
    const uint32_t target = end_.lo;
    length_ = Levels::kNone;
    if (target == start_) return true;
    from_.start(start_);
    to_.start(target);
    uint64_t from_cost = from_.frontier_cost(forward_), to_cost = to_.frontier_cost(backward_);
    std::vector<uint32_t> meeting;
    while (!from_.exhausted() && !to_.exhausted() && from_.depth() + to_.depth() < plan_.maximum) {
      const bool ahead = from_cost <= to_cost;
      Levels& side = ahead ? from_ : to_;
      const Levels& other = ahead ? to_ : from_;
      const Hops& hops = ahead ? forward_ : backward_;
      const bool went = side.expand(hops, poll, [&](uint32_t w) {
        if (other.of(w) == Levels::kNone || !lies_between(w)) return false;
        meeting.push_back(w);
        return !all_;
      });
      if (!went) return false;
      if (!meeting.empty()) {
        length_ = from_.of(meeting[0]) + to_.of(meeting[0]);
        return !paths || mark_way(meeting, poll);
      }
      (ahead ? from_cost : to_cost) = side.frontier_cost(hops);
    }
    return true;
  }

  // Whether a path to a bound end may hold w.
  bool lies_between(uint32_t w) const { return w == start_ || w == end_.lo || forward_.passes(w); }

  // From where the levels met back to the start: gives each vertex on a shortest path its hops to the target.
  bool mark_way(std::vector<uint32_t>& now, Poll& poll) {
    std::vector<uint32_t> next;
    for (int64_t hops = from_.of(now[0]) - 1; hops >= 0; --hops, now.swap(next), next.clear()) {
      for (const uint32_t v : now) {
        int64_t steps = 1;
        backward_.any(v, [&](const WalkLayer&, uint32_t u, uint64_t) {
          ++steps;
          if (from_.of(u) != hops || to_.of(u) != Levels::kNone || !lies_between(u)) return false;
          to_.mark(u, length_ - hops);
          next.push_back(u);
          return !all_;
        });
        if (poll.due(steps) && !poll.check()) return false;
      }
    }
    return true;
  }

  // Levels backward from the start until one has a hop from it; sets `length`, 0 where none has. False: stopped.
  bool closed_walk(Poll& poll, int64_t& length) {
    to_.start(start_);
    while (!to_.exhausted() && to_.depth() < plan_.maximum) {
      for (size_t i = to_.frontier(); i < to_.queue().size(); ++i) {
        if (i > 0 && !backward_.passes(to_.queue()[i])) continue;
        int64_t steps = 1;
        const bool closes = backward_.any(to_.queue()[i], [&](const WalkLayer&, uint32_t w, uint64_t) {
          ++steps;
          return w == start_;
        });
        if (closes) {
          length = to_.depth() + 1;
          return true;
        }
        if (poll.due(steps) && !poll.check()) return false;
      }
      if (!to_.expand(backward_, poll, [](uint32_t) { return false; })) return false;
    }
    length = 0;
    return true;
  }

  // Sets out to enumerate the shortest paths to an end, if there are any. False: stopped.
  bool walk_to(uint32_t end, Poll& poll) {
    TrailQuery query;
    query.hops = &forward_;
    query.start = start_;
    query.end = only(end);
    query.row = row_;
    if (!all_) query.most = 1;
    query.distinct_edges = false;  // they repeat nothing anyway
    if (end == start_) {
      if (plan_.minimum > 0) {
        if (plan_.vertices == kAcyclic) return true;
        if (!plan_.distinct_edges) {
          if (!closed_walk(poll, query.maximum)) return false;
          query.exact = &to_;
        } else {
          if (!cycles_.find(backward_, start_, plan_.maximum, poll, query.maximum)) return false;
          query.cycles = &cycles_;
          query.distinct_edges = true;  // the way back may begin as the walk did
        }
        if (query.maximum == 0) return true;
      }
    } else if (bound()) {
      if (length_ == Levels::kNone) return true;
      query.maximum = length_;
      query.exact = &to_;
    } else {
      query.hops = &backward_;
      query.start = end;
      query.end = only(start_);
      query.maximum = from_.of(end);
      query.exact = &from_;
      query.reversed = true;
    }
    query.minimum = query.maximum;
    trails_.begin(query);
    walking_ = true;
    return true;
  }

  bool all_;
  Levels from_, to_;
  Cycles cycles_;
  Components components_;
  Trails trails_;
  Zeroed<int64_t> numbers_;  // of paths from the start
  int64_t given_ = 0;      // of the next end's
  int64_t length_ = 0;     // of a shortest path to a bound end, kNone: there is none
  size_t next_ = 0;        // the next end
  bool any_length_ = false;  // whether a walk back to the start is asked for, however long
  bool searched_ = false;
  bool walking_ = false;   // whether trails_ has more for the last end
};

}  // namespace

std::unique_ptr<Rows> shortest_paths(const WalkPlan& plan) { return std::make_unique<ShortestPaths>(plan); }

}  // namespace qe::walks
