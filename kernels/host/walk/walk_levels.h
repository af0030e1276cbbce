// Breadth-first levels from one vertex, grown level by level; starting anew costs what was reached, not the graph.
#pragma once
#include <vector>

#include "base/zeroed.h"
#include "walk/walk_hops.h"
#include "walk/walk_poll.h"

namespace qe::walks {

class Levels {
 public:
  static constexpr int64_t kNone = INT64_MAX;

  explicit Levels(int64_t vertex_count) : vertex_count_(vertex_count) {}

  void start(uint32_t source) {
    if (!level_) level_ = zeroed<uint32_t>(vertex_count_);
    for (const uint32_t v : queue_) level_[v] = 0;
    queue_.clear();
    frontier_ = 0;
    depth_ = 0;
    mark(source, 0);
  }

  // Hops from (or to) the source, kNone where v has not been reached.
  int64_t of(uint32_t v) const { return level_[v] ? static_cast<int64_t>(level_[v]) - 1 : kNone; }

  void mark(uint32_t v, int64_t hops) {
    queue_.push_back(v);
    level_[v] = static_cast<uint32_t>(hops + 1);
  }

  // Adds the next level, calling visit(v) for each vertex of it until that returns true (then the level is
  // incomplete). False: the poll stopped it.
  template <class Visit>
  bool expand(const Hops& hops, Poll& poll, Visit&& visit) {
    const size_t end = queue_.size();
    ++depth_;
    bool met = false;
    for (size_t i = frontier_; i < end && !met; ++i) {
      if (i > 0 && !hops.passes(queue_[i])) continue;
      int64_t steps = 1;
      met = hops.any(queue_[i], [&](const WalkLayer&, uint32_t w, uint64_t) {
        ++steps;
        if (level_[w]) return false;
        mark(w, depth_);
        return visit(w);
      });
      if (poll.due(steps) && !poll.check()) return false;
    }
    frontier_ = end;
    return true;
  }

  uint64_t frontier_cost(const Hops& hops) const {
    uint64_t sum = 0;
    for (size_t i = frontier_; i < queue_.size(); ++i) sum += 1 + hops.degree(queue_[i]);
    return sum;
  }

  int64_t depth() const { return depth_; }
  bool exhausted() const { return frontier_ == queue_.size(); }
  size_t frontier() const { return frontier_; }
  const std::vector<uint32_t>& queue() const { return queue_; }  // all reached, in the order of their levels
  int64_t bytes() const { return level_ ? 4 * (vertex_count_ + static_cast<int64_t>(queue_.capacity())) : 0; }

 private:
  int64_t vertex_count_;
  Zeroed<uint32_t> level_;  // hops + 1
  std::vector<uint32_t> queue_;
  size_t frontier_ = 0;  // where the last level begins in queue_
  int64_t depth_ = 0;
};

}  // namespace qe::walks
