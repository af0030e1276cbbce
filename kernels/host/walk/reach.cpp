// The interface of qe/reach.h: lanes 64 at a time, of each ends level by level, and which starts are ends themselves.
//
// Where not every walk may bring a start back, lanes have seen their starts from the beginning, and those that are ends
// all the same are found in the end. Another start of the lane comes to start number i if the numbers differ in a bit:
// two lanes for each bit of the numbers, of the starts that have it and of those that don't, tell for all starts at
// once. Of the others each that may close a trail is tried (walk_cycles.h).
#include "qe/reach.h"

#include "base/workers.h"
#include "walk/reach_levels.h"

namespace qe::walks {
namespace {

constexpr uint64_t kSharedEnds = 1 << 15;  // vertices that are worth the start of threads to count
constexpr uint64_t kTogether = 1 << 16;    // entries whose levels are given in one call: deep graphs have many small ones

class Reach {
 public:
  // `levels`: made by another run over the same layers, null for none.
  Reach(const ReachPlan& plan, Control* control, std::unique_ptr<ReachLevels> levels)
      : plan_(plan), control_(control), levels_(std::move(levels)) {
    end_ = {plan.end_lo, plan.end_hi, plan.end_bits};
    returning_ = plan.end_lo >= plan.end_hi;  // there are no ends
    if (returning_ || plan.only_returns) return;
    if (!levels_) levels_ = std::make_unique<ReachLevels>(plan_, control);
    levels_->start(plan.offsets, plan.starts, plan.lanes, plan.minimum == 0 || plan.returns != kReturnsByWalk);
  }

  Status next(ReachOutput& output, int32_t& done) {
    output.rows = 0;
    for (uint64_t read = 0;;) {
      if (!emit(output)) return kOk;
      if (!levels_ || levels_->exhausted() || levels_->depth() >= plan_.maximum) break;
      read += levels_->cost();
      if (output.rows > 0 && read > kTogether) return kOk;
      const Status status = levels_->step();
      if (status != kOk) return status;
      list_ = place_ = 0;
    }
    if (!returning_) {
      const Status status = find_returns();
      if (status != kOk) return status;
    }
    for (; given_ < returns_.size(); ++given_) {
      if (output.rows == output.capacity) return kOk;
      put(output, returns_[given_].lane, returns_[given_].vertex, returns_[given_].hops);
    }
    done = 1;
    return kOk;
  }

  // Gives the levels away, cleared; null where there are none.
  std::unique_ptr<ReachLevels> take_levels() {
    if (levels_) levels_->clear();
    return std::move(levels_);
  }

  Status count(int64_t* counts) {
    std::fill(counts, counts + plan_.lanes, 0);
    if (levels_) {
      while (!levels_->exhausted() && levels_->depth() < plan_.maximum) {
        const Status status = levels_->step();
        if (status != kOk) return status;
      }
      const Status counted = count_seen(counts);
      if (counted != kOk) return counted;
      if (plan_.minimum == 0 || plan_.returns == kReturnsByWalk) return kOk;
      for (int32_t lane = 0; lane < plan_.lanes; ++lane) {
        for (int64_t i = plan_.offsets[lane]; i < plan_.offsets[lane + 1]; ++i) {
          counts[lane] -= end_.accepts(static_cast<uint32_t>(plan_.starts[i]));
        }
      }
    }
    const Status status = returning_ ? kOk : find_returns();
    for (const Return& each : returns_) ++counts[each.lane];
    return status;
  }

 private:
  struct Return {
    int32_t lane;
    uint32_t vertex;
    int64_t hops;
  };
  // What Poll asks of the memory of closed trails' search.
  struct CycleMeter final : Meter {
    explicit CycleMeter(const Cycles& c) : cycles(c) {}
    int64_t bytes() const override { return cycles.bytes(); }
    const Cycles& cycles;
  };

  static void put(ReachOutput& output, int64_t lane, uint32_t end, int64_t hops) {
    output.lane[output.rows] = lane;
    output.end[output.rows] = end;
    if (output.hops) output.hops[output.rows] = hops;
    ++output.rows;
  }

  // Adds the ends that lanes have seen.
  Status count_seen(int64_t* counts) const {
    const uint64_t n = end_.hi > end_.lo ? end_.hi - end_.lo : 0;
    const int workers = n < kSharedEnds ? 1 : control_->threads;
    return run_workers(workers, [&](int worker) {
      int64_t own[kLanes] = {};
      const uint64_t end = end_.lo + share(n, worker + 1, workers);
      for (uint64_t v = end_.lo + share(n, worker, workers); v < end; ++v) {
        uint64_t lanes = levels_->seen(static_cast<uint32_t>(v));
        if (!lanes || !end_.accepts(static_cast<uint32_t>(v))) continue;
        for (; lanes; lanes &= lanes - 1) ++own[__builtin_ctzll(lanes)];
      }
      for (int32_t lane = 0; lane < plan_.lanes; ++lane) {
        __atomic_fetch_add(&counts[lane], own[lane], __ATOMIC_RELAXED);
      }
    });
  }

  // Writes the ends of the last level; false: the buffer is full.
  bool emit(ReachOutput& output) {
    if (!levels_ || levels_->depth() < plan_.minimum) return true;
    const auto& fresh = levels_->fresh();
    for (; list_ < fresh.size(); ++list_, place_ = 0) {
      for (; place_ < fresh[list_].size(); ++place_) {
        const uint32_t v = fresh[list_][place_];
        if (!end_.accepts(v)) continue;
        uint64_t lanes = levels_->fresh_lanes(v);
        if (output.capacity - output.rows < __builtin_popcountll(lanes)) return false;
        for (; lanes; lanes &= lanes - 1) put(output, __builtin_ctzll(lanes), v, levels_->depth());
      }
    }
    return true;
  }

  // Finds the starts that are ends of their own lane.
  Status find_returns() {
    returning_ = true;
    if (plan_.minimum == 0 || plan_.returns == kReturnsByWalk || plan_.maximum < 1) return kOk;
    levels_.reset();
    for (int32_t lane = 0; lane < plan_.lanes; ++lane) {
      const int64_t begin = plan_.offsets[lane], end = plan_.offsets[lane + 1];
      std::vector<int64_t> alone;
      if (end - begin > 1) {
        const Status found = find_visited(lane, alone);
        if (found != kOk) return found;
      } else if (end > begin && end_.accepts(static_cast<uint32_t>(plan_.starts[begin]))) {
        alone.push_back(plan_.starts[begin]);
      }
      if (plan_.returns != kReturnsByTrail) continue;
      const Status closed = find_closed(lane, alone);
      if (closed != kOk) return closed;
    }
    return kOk;
  }

  // Starts that another start of the lane comes to; the others are added to `alone`.
  Status find_visited(int32_t lane, std::vector<int64_t>& alone) {
    const int64_t* starts = plan_.starts + plan_.offsets[lane];
    const int64_t n = plan_.offsets[lane + 1] - plan_.offsets[lane];
    std::vector<int64_t> offsets{0}, members;
    int32_t bits = 0;
    for (; (n - 1) >> bits; ++bits) {
      for (int64_t value = 0; value < 2; ++value) {
        for (int64_t i = 0; i < n; ++i) {
          if ((i >> bits & 1) == value) members.push_back(starts[i]);
        }
        offsets.push_back(static_cast<int64_t>(members.size()));
      }
    }
    ReachLevels levels(plan_, control_);
    levels.start(offsets.data(), members.data(), 2 * bits, true);
    while (!levels.exhausted() && levels.depth() < plan_.maximum) {
      const Status status = levels.step();
      if (status != kOk) return status;
    }
    for (int64_t i = 0; i < n; ++i) {
      const auto v = static_cast<uint32_t>(starts[i]);
      if (!end_.accepts(v)) continue;
      uint64_t others = 0;
      for (int32_t b = 0; b < bits; ++b) others |= uint64_t{1} << (2 * b + !(i >> b & 1));
      if (levels.seen(v) & others) {
        returns_.push_back({lane, v, plan_.maximum});
      } else {
        alone.push_back(starts[i]);
      }
    }
    return kOk;
  }

  Status find_closed(int32_t lane, const std::vector<int64_t>& starts) {
    Hops backward;
    backward.layers = plan_.closing;
    backward.n_layers = plan_.n_closing;
    backward.through = plan_.through_bits;
    if (!cycles_) cycles_ = std::make_unique<Cycles>(plan_.vertex_count);
    Shared shared(control_);
    const CycleMeter meter(*cycles_);
    Poll poll(shared, meter);
    for (const int64_t start : starts) {
      int64_t length = 0;
      const auto v = static_cast<uint32_t>(start);
      if (!cycles_->find(backward, v, plan_.maximum, poll, length)) return poll.status;
      if (poll.due(1) && !poll.check()) return poll.status;
      if (length > 0) returns_.push_back({lane, v, length});
    }
    return kOk;
  }

  ReachPlan plan_;
  Control* control_;
  std::unique_ptr<ReachLevels> levels_;
  std::unique_ptr<Cycles> cycles_;
  EndFilter end_;
  std::vector<Return> returns_;
  size_t list_ = 0, place_ = 0;  // the next vertex of the last level to emit
  size_t given_ = 0;             // of returns_
  bool returning_ = false;       // whether returns_ is complete, and all levels have been emitted
};

// All lanes, so many at a time as have a bit in a word.
class Parts {
 public:
  Parts(const ReachPlan& plan, Control* control) : plan_(plan), control_(control) {}

  // Returns early with the rows of the first levels that give any; from the second part on it fills the buffer, for
  // many small parts would be as many calls.
  Status next(ReachOutput& output, int32_t& done) {
    output.rows = 0;
    while (output.capacity - output.rows >= kLanes) {
      if (!part_) open();
      ReachOutput rest = output;
      rest.lane += output.rows;
      rest.end += output.rows;
      if (rest.hops) rest.hops += output.rows;
      rest.capacity -= output.rows;
      int32_t part_done = 0;
      const Status status = part_->next(rest, part_done);
      if (status != kOk) return status;
      for (int64_t i = 0; i < rest.rows; ++i) rest.lane[i] += begin_;
      output.rows += rest.rows;
      if (part_done) {
        begin_ += kLanes;
        if (begin_ >= plan_.lanes) {
          done = 1;
          return kOk;
        }
        close();
      } else if (begin_ == 0 && output.rows > 0) {
        return kOk;
      }
    }
    return kOk;
  }

  Status count(int64_t* counts) {
    for (; begin_ < plan_.lanes; begin_ += kLanes) {
      open();
      const Status status = part_->count(counts + begin_);
      if (status != kOk) return status;
      close();
    }
    return kOk;
  }

 private:
  void open() {
    ReachPlan plan = plan_;
    plan.offsets += begin_;
    plan.lanes = static_cast<int32_t>(std::min<int64_t>(plan_.lanes - begin_, kLanes));
    part_ = std::make_unique<Reach>(plan, control_, std::move(levels_));
  }

  void close() {
    levels_ = part_->take_levels();
    part_.reset();
  }

  ReachPlan plan_;
  Control* control_;
  std::unique_ptr<Reach> part_;
  std::unique_ptr<ReachLevels> levels_;  // of the part before
  int64_t begin_ = 0;  // the part's first lane
};

// Calls work() and turns what it throws into a status.
template <class Work>
Status guarded(Work&& work) {
  try {
    return work();
  } catch (const Halt& halt) {
    return halt.status;
  } catch (const std::bad_alloc&) {
    return kOutOfMemory;
  }
}

}  // namespace
}  // namespace qe::walks

QE_API int32_t qe_reach_open(const qe::ReachPlan* plan, qe::Control* control, void** handle) {
  *handle = nullptr;
  if (plan->lanes < 1 || plan->minimum < 0 || plan->minimum > 1 || plan->maximum < 0 ||
      plan->returns < qe::kReturnsByWalk || plan->returns > qe::kNeverReturns || plan->end_hi > plan->vertex_count) {
    return qe::kInvalid;
  }
  return qe::walks::guarded([&] {
    *handle = new qe::walks::Parts(*plan, control);
    return qe::kOk;
  });
}

QE_API int32_t qe_reach_next(void* handle, qe::ReachOutput* output, int32_t* done) {
  *done = 0;
  if (output->capacity < qe::kLanes) return qe::kInvalid;
  return qe::walks::guarded([&] { return static_cast<qe::walks::Parts*>(handle)->next(*output, *done); });
}

QE_API int32_t qe_reach_count(void* handle, int64_t* counts) {
  return qe::walks::guarded([&] { return static_cast<qe::walks::Parts*>(handle)->count(counts); });
}

QE_API void qe_reach_close(void* handle) { delete static_cast<qe::walks::Parts*>(handle); }
