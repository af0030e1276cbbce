// What closed walks of a ranked matrix (RankedPairs) are counted along, from each walk's first vertex, and where it adds up.
#pragma once
#include <mutex>
#include <vector>

#include "count/ranked_pairs.h"

namespace qe::eliminate {

// What all workers find.
template <typename Found>
class Shared {
 public:
  void add(const Found& more) {
    const std::lock_guard<std::mutex> lock(mutex_);
    sum_ += more;
  }
  const Found& sum() const { return sum_; }

 private:
  std::mutex mutex_;
  Found sum_{};
};

// What walks are counted along. weights: of each vertex, or none: 0 each.
class Ground {
 public:
  Ground(const RankedPairs& pairs, const uint64_t* weights, Control* control)
      : sides_(pairs.ranked(), control), lates_(pairs.lates()) {
    while (n_ < sides_.n() && sides_.length(n_) > 0) ++n_;
    if (weights == nullptr) return;
    weights_.resize(n_);
    const uint32_t* order = pairs.order();
    for (uint32_t v = 0; v < n_; ++v) weights_[v] = weights[pairs.given().lo + (order ? order[v] : v)];
  }

  const Sides& sides() const { return sides_; }
  uint32_t n() const { return n_; }  // vertices that have neighbours
  uint64_t late(uint32_t u) const { return lates_[u]; }
  uint64_t after(uint32_t u) const { return sides_.end(u) - lates_[u]; }  // how many neighbours are after it
  bool weighted() const { return !weights_.empty(); }
  uint64_t weight(uint32_t v) const { return weights_[v]; }
  // Moves the first entry of a row that leads to a vertex from `first` on; returns the row's end.
  uint64_t advance(uint32_t v, uint32_t first, uint64_t& begin) const {
    const uint64_t end = sides_.end(v);
    while (begin < end && sides_.neighbour(begin) < first) ++begin;
    return end;
  }
  std::vector<uint64_t> begins() const { return {sides_.offsets(), sides_.offsets() + n_}; }

 private:
  const Sides sides_;
  const uint64_t* lates_;
  uint32_t n_ = 0;
  std::vector<uint64_t> weights_;
};

}  // namespace qe::eliminate
