// The levels of a breadth-first search by up to 64 lanes at once (qe/reach.h).
#pragma once
#include <algorithm>
#include <vector>

#include "base/charged_memory.h"
#include "qe/reach.h"
#include "walk/walk_cycles.h"

namespace qe::walks {

class ReachLevels {
 public:
  ReachLevels(const ReachPlan& plan, Control* control);

  // Lanes stand on their starts. Unless `seen`, a start that is come to again is of a later level, too.
  void start(const int64_t* offsets, const int64_t* starts, int32_t lanes, bool seen);

  // Forgets all lanes: another start() may follow.
  void clear();

  // Goes on to the next level.
  Status step();

  int64_t depth() const { return depth_; }
  bool exhausted() const { return size_ == 0; }

  // About how many entries the next level reads, pushed or pulled, whichever is less.
  uint64_t cost() const { return std::min(push_cost_, pull_cost()); }

  // The vertices that lanes have come to in the last level, by worker, and which lanes.
  const std::vector<std::vector<uint32_t>>& fresh() const { return fresh_; }
  uint64_t fresh_lanes(uint32_t v) const { return now_[v]; }

  // The lanes that have come to v, in any level.
  uint64_t seen(uint32_t v) const { return cells_[v].seen; }

 private:
  struct Cell {
    uint64_t seen, next;
  };
  // What a worker finds while a level is made.
  struct alignas(64) Share {
    std::vector<uint32_t> touched;
    uint64_t push_cost = 0, complete_cost = 0;
  };
  struct Expansion;

  Status expand(bool pulls, int workers);
  uint64_t push(uint32_t v, std::vector<uint32_t>& touched, bool alone);
  uint64_t pull(uint32_t v, std::vector<uint32_t>& touched, const uint64_t* through);
  void settle(Share& share);
  void take_over(int workers);
  void allocate();
  void remember(const std::vector<uint32_t>& vertices);
  uint64_t entries(const WalkLayer* layers, uint32_t v) const;
  uint64_t pull_cost() const;

  const ReachPlan plan_;  // but for lanes, offsets and starts, which start() has its own of
  Control* control_;
  Charge charge_;
  Zeroed<Cell> cells_;
  Zeroed<uint64_t> now_, after_;  // lanes that stand on a vertex
  std::vector<std::vector<uint32_t>> fresh_;
  std::vector<Share> shares_;
  std::vector<uint32_t> visited_;  // what lanes have come to, as long as these are few; else `many_`
  bool many_ = false;
  uint64_t lanes_ = 0;      // all lanes, as bits
  size_t size_ = 0;         // vertices in fresh_
  uint64_t push_cost_ = 0;  // entries that leave the last level
  uint64_t pull_cost_ = 0;  // entries that come to vertices which not all lanes have seen
  int64_t depth_ = 0;
  size_t queue_bytes_ = 0;  // charged
};

}  // namespace qe::walks
