// Closed walks of four steps of one symmetric matrix without numbers, loops and repeats, over all vertices.
//
// Vertices go by descending length of their rows (RankedPairs), and each walk is counted at its first vertex, the root u. With
// p[x] = how many neighbours after u it shares with x, for x after u, and g = how many those are, its walks are 4 p[x]^2 for each x,
// and 2 g^2. While many are left 512 roots are done at once: p is what the lines of x's neighbours add up to (BitBatch), and
// its squares follow from the sum's digits. For the rest each root counts the ends of its paths of two.
// Bytes moved: BitBatch'; for the rest a counter for each path, at random. Deterministic.
// Sources: Chiba and Nishizeki 1985 (walks at their vertex of the highest degree); Klarqvist, Muła and Lemire 2021.
#include <mutex>

#include "count/bit_batch.h"

namespace qe::eliminate {
namespace {

// What all workers find.
class Total {
 public:
  void add(Wide found) {
    const std::lock_guard<std::mutex> lock(mutex_);
    sum_ += found;
  }
  Wide sum() const { return sum_; }

 private:
  std::mutex mutex_;
  Wide sum_ = 0;
};

// Squares of what the roots of a block share with each vertex.
class BlockSquares {
 public:
  BlockSquares(const BitBatch& lines, const WorkQueue& queue, Total& total) : lines_(lines), queue_(queue), total_(total) {
    for (uint64_t& word : all_.words) word = ~uint64_t{0};
  }

  ~BlockSquares() {
    Wide sum = 0;
    for (size_t k = 0; k < 2 * kMostSumDigits; ++k)
      for (const uint64_t word : squares_[k].words) sum += Wide{word} << k;
    total_.add(sum);
  }

  void row(uint32_t v, uint64_t begin, uint64_t end) {
    const BitCounters counters{counters_[0].words, sum_digits(end - begin)};
    lines_.ops().add_lines(lines_.list(begin, end, v < lines_.last() ? before(v) : all_), counters, end - begin, nullptr);
    lines_.ops().add_squares(counters, squares_[0].words);
    if ((spent_ += (end - begin) * kRowBlock) < kPatience) return;
    spent_ = 0;
    queue_.poll();
  }

 private:
  // The roots before a root.
  RootLine before(uint32_t v) const {
    RootLine line{};
    const uint32_t n = v - lines_.first();
    for (uint32_t w = 0; w < n / 64; ++w) line.words[w] = ~uint64_t{0};
    if (n % 64 > 0) line.words[n / 64] = (uint64_t{1} << n % 64) - 1;
    return line;
  }

  const BitBatch& lines_;
  const WorkQueue& queue_;
  Total& total_;
  RootLine all_;
  RootLine counters_[kMostSumDigits];
  RootLine squares_[2 * kMostSumDigits] = {};
  uint64_t spent_ = 0;
};

// The same of one root after the other.
class SingleSquares {
 public:
  SingleSquares(const Sides& sides, const uint64_t* lates, const BitBatch& lines, const WorkQueue& queue, Total& total)
      : sides_(sides), lates_(lates), first_(lines.first()), queue_(queue), total_(total), begins_(lines.begins()),
        counters_(sides.n(), 0) {}
  ~SingleSquares() { total_.add(sum_); }

  static size_t bytes(const Sides& sides) { return sides.n() * (sizeof(uint64_t) + sizeof(uint32_t)); }

  void root(uint32_t u) {
    if (u < first_) return;
    for (uint64_t e = lates_[u]; e < sides_.end(u); ++e) {
      const uint32_t b = sides_.neighbour(e);
      const uint64_t end = sides_.end(b);
      uint64_t& begin = begins_[b];
      while (begin < end && sides_.neighbour(begin) <= u) ++begin;
      uint64_t sum = 0;
      for (uint64_t k = begin; k < end; ++k) sum += 2 * uint64_t{counters_[sides_.neighbour(k)]++} + 1;
      sum_ += sum;
      spend(end - begin);
    }
    for (uint64_t e = lates_[u]; e < sides_.end(u); ++e) {
      const uint32_t b = sides_.neighbour(e);
      for (uint64_t k = begins_[b]; k < sides_.end(b); ++k) counters_[sides_.neighbour(k)] = 0;
    }
  }

 private:
  void spend(uint64_t ids) {
    if ((spent_ += ids + 8) < kPatience) return;
    spent_ = 0;
    queue_.poll();
  }

  const Sides& sides_;
  const uint64_t* lates_;
  uint32_t first_;
  const WorkQueue& queue_;
  Total& total_;
  std::vector<uint64_t> begins_;  // where rows lead to vertices after the root
  std::vector<uint32_t> counters_;
  Wide sum_ = 0;
  uint64_t spent_ = 0;
};

Wide closed_walks(const RankedPairs& pairs, Control* control) {
  if (pairs.empty()) return 0;
  const Sides sides(pairs.ranked(), control);
  const uint64_t* lates = pairs.lates();
  Charge charge(control);
  charge.add(pairs.bytes() + BitBatch::bytes(sides) + static_cast<size_t>(sides.threads()) * SingleSquares::bytes(sides));
  BitBatch lines(sides, lates);
  Total total;
  while (lines.pays([&](uint32_t u) {
    uint64_t work = 0;
    for (uint64_t e = lates[u]; e < sides.end(u); ++e) work += sides.end(sides.neighbour(e)) - lines.begins()[sides.neighbour(e)];
    return work;
  })) {
    lines.each_row([&](const WorkQueue& queue) { return BlockSquares(lines, queue, total); });
  }
  sides.each_root([&](const WorkQueue& queue) { return SingleSquares(sides, lates, lines, queue, total); });
  Wide back = 0;
  for (uint32_t u = 0; u < sides.n(); ++u) back += Wide{sides.end(u) - lates[u]} * (sides.end(u) - lates[u]);
  return 4 * total.sum() + 2 * back;
}

}  // namespace
}  // namespace qe::eliminate

using namespace qe::eliminate;
using qe::Control;

// The closed walks of four steps of a matrix, over all vertices: a number of two words, the lower first. Any number of threads may
// ask at a time.
QE_API int32_t qe_closed_walks(const RankedPairs* pairs, uint64_t* sum, Control* control) {
  return guarded([&] {
    const Wide found = closed_walks(*pairs, control);
    sum[0] = static_cast<uint64_t>(found);
    sum[1] = static_cast<uint64_t>(found >> 64);
  });
}
