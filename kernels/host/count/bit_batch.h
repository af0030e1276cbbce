// Lines of bits that say which of 512 vertices, the roots, each vertex after them neighbours: what the roots share with a
// vertex is the sum of its neighbours' lines, 512 numbers at once. Roots go by descending length of their rows, so that little is
// left when some thousands are done: then lists are shorter than lines.
// Bytes moved for a block of roots: a line for each entry between vertices that aren't before them, at random; entries are read
// one after the other. Source: positional counts of bits (Klarqvist, Muła and Lemire 2021), turned: a bit is a root.
#pragma once
#include <vector>

#include "count/ranked_pairs.h"
#include "ops/set_ops.h"

namespace qe::eliminate {

constexpr size_t kMostSumDigits = 33;

// Of the sum of n lines.
inline size_t sum_digits(uint64_t n) {
  size_t digits = kLeastSumDigits;
  while (n >> digits) ++digits;
  return digits;
}

struct alignas(64) RootLine {
  uint64_t words[kRowBlock];
};

class BitBatch {
 public:
  static constexpr uint32_t kRoots = 64 * kRowBlock;

  BitBatch(const Sides& sides, const uint64_t* lates)
      : sides_(sides), lates_(lates), ops_(set_ops(current_isa())), left_(sides.entries()), last_(std::min(kRoots, sides.n())) {
    while (n_ < sides.n() && sides.length(n_) > 0) ++n_;
    lines_.resize(n_);
    begins_.resize(n_);
    live_.resize(n_);
    for (uint32_t v = 0; v < n_; ++v) begins_[v] = sides.begin(v);
    std::iota(live_.begin(), live_.end(), 0);
  }

  static size_t bytes(const Sides& sides) { return sides.n() * (sizeof(RootLine) + sizeof(uint64_t) + sizeof(uint32_t)); }

  const SetOps& ops() const { return ops_; }
  uint32_t first() const { return first_; }  // of the roots
  uint32_t last() const { return last_; }
  const RootLine& line(uint32_t v) const { return lines_[v]; }  // bit k: root first() + k, which is before v
  // Of each vertex that has neighbours and isn't before the roots, the first entry that leads to a vertex that isn't.
  const std::vector<uint64_t>& begins() const { return begins_; }
  LineList list(uint64_t begin, uint64_t end, const RootLine& own) const {
    const uint32_t* ids = sides_.ids();
    return {lines_.data()->words - uint64_t{sides_.lo()} * kRowBlock, ids + begin, ids + sides_.entries(), end - begin, own.words};
  }

  // Are the next roots done at once? each(u): what they take one by one, in ids looked up at random. Some are asked for all.
  template <typename Each>
  bool pays(Each&& each) const {
    constexpr uint32_t kSampled = 8;
    const uint64_t lines = (left_ + n_ / 4) * ops_.line_cost;
    uint64_t work = 0;
    for (uint32_t u = first_; u < last_ && work <= lines; u += kSampled) work += kSampled * each(u);
    return work > lines;
  }

  // Calls worker.row(v, begin, end) for each vertex v after the first root: entries from `begin` on lead to vertices that aren't
  // before it. make(pieces): a worker. Then come the next roots.
  template <typename Make>
  void each_row(Make&& make) {
    mark();
    constexpr uint64_t kRows = 8;
    WorkQueue queue(sides_.control(), live_.size(), kRows);
    check(deal(sides_.threads(), queue, [&](int) {
      auto worker = make(queue);
      for (uint64_t from, to; queue.take(&from, &to);)
        for (uint64_t k = from; k < to; ++k) {
          const uint32_t v = live_[k];
          const uint64_t end = sides_.end(v);
          uint64_t& begin = begins_[v];
          if (v > first_ && begin < end) worker.row(v, begin, end);
          while (begin < end && sides_.neighbour(begin) < last_) ++begin;
        }
    }));
    step();
  }

 private:
  void mark() {
    sides_.each_range([&](uint32_t from, uint32_t to) {
      to = std::min(to, n_);
      if (from >= to) return;
      std::fill(lines_.begin() + from, lines_.begin() + to, RootLine{});
      for (uint32_t u = first_; u < last_ && u < n_; ++u) {
        const uint32_t bit = u - first_;
        uint64_t e = lates_[u];
        if (from > u) e += lower_bound(sides_.ids() + e, sides_.end(u) - e, sides_.lo() + from);
        for (; e < sides_.end(u) && sides_.neighbour(e) < to; ++e) lines_[sides_.neighbour(e)].words[bit >> 6] |= uint64_t{1} << (bit & 63);
      }
    });
  }

  void step() {
    for (uint32_t u = first_; u < last_; ++u) left_ -= 2 * (sides_.end(u) - lates_[u]);
    live_.erase(std::remove_if(live_.begin(), live_.end(),
                               [&](uint32_t v) { return v < last_ || begins_[v] == sides_.end(v); }),
                live_.end());
    first_ = last_;
    last_ = static_cast<uint32_t>(std::min<uint64_t>(uint64_t{last_} + kRoots, sides_.n()));
  }

  const Sides& sides_;
  const uint64_t* lates_;
  const SetOps& ops_;
  uint64_t left_;  // entries between vertices that aren't before the roots
  uint32_t n_ = 0;  // vertices that have neighbours
  uint32_t first_ = 0, last_;
  std::vector<RootLine> lines_;
  std::vector<uint64_t> begins_;
  std::vector<uint32_t> live_;  // vertices that aren't before the roots and have such neighbours
};

}  // namespace qe::eliminate
