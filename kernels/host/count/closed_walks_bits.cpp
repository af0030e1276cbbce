// Closed walks of four steps of one symmetric matrix without numbers, loops and repeats, over all vertices.
//
// Vertices go by descending length of their rows (RankedPairs), and each walk is counted at its first vertex, the root u. With
// p[x] = how many neighbours after u it shares with x, for x after u, and g = how many those are, its walks are 4 p[x]^2 for each x,
// and 2 g^2. While many are left 512 roots are done at once: p is what the lines of x's neighbours add up to (BitBatch), and
// its squares follow from the sum's digits. For the rest each root counts the ends of its paths of two.
// Bytes moved: BitBatch'; for the rest a counter for each path, at random. Deterministic.
// Sources: Chiba and Nishizeki 1985 (walks at their vertex of the highest degree); Klarqvist, Muła and Lemire 2021.
#include "count/bit_batch.h"
#include "count/closed_walks.h"

namespace qe::eliminate {
namespace {

using Total = Shared<Wide>;

// Squares of what the roots of a block share with each vertex.
class BlockSquares {
 public:
  BlockSquares(const BitBatch& lines, const WorkQueue& queue, Total& total) : lines_(lines), patience_(queue, kPatience), total_(total) {
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
    patience_.spend((end - begin) * kRowBlock);
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
  Patience patience_;
  Total& total_;
  RootLine all_;
  RootLine counters_[kMostSumDigits];
  RootLine squares_[2 * kMostSumDigits] = {};
};

// The same of one root after the other.
class SingleSquares {
 public:
  SingleSquares(const Ground& ground, const BitBatch& lines, const WorkQueue& queue, Total& total)
      : ground_(ground), first_(lines.first()), patience_(queue, kPatience), total_(total), begins_(lines.begins()),
        counters_(ground.n(), 0) {}
  ~SingleSquares() { total_.add(sum_); }

  static size_t bytes(const Ground& ground) { return ground.n() * (sizeof(uint64_t) + sizeof(uint32_t)); }

  void root(uint32_t u) {
    if (u < first_ || u >= ground_.n()) return;
    each_path(u, [&](uint32_t& counter, uint64_t& sum) { sum += 2 * uint64_t{counter++} + 1; });
    each_path(u, [](uint32_t& counter, uint64_t&) { counter = 0; });
  }

 private:
  // Calls each(counter, sum) for the end of each path of two by vertices after the root.
  template <typename Each>
  void each_path(uint32_t u, Each&& each) {
    const Sides& sides = ground_.sides();
    for (uint64_t e = ground_.late(u); e < sides.end(u); ++e) {
      const uint32_t b = sides.neighbour(e);
      const uint64_t end = ground_.advance(b, u + 1, begins_[b]);
      uint64_t sum = 0;
      for (uint64_t k = begins_[b]; k < end; ++k) each(counters_[sides.neighbour(k)], sum);
      sum_ += sum;
      patience_.spend(end - begins_[b] + 8);
    }
  }

  const Ground& ground_;
  uint32_t first_;
  Patience patience_;
  Total& total_;
  std::vector<uint64_t> begins_;  // where rows lead to vertices after the root
  std::vector<uint32_t> counters_;
  Wide sum_ = 0;
};

Wide closed_walks(const RankedPairs& pairs, Control* control) {
  if (pairs.empty()) return 0;
  const Ground ground(pairs, nullptr, control);
  const Sides& sides = ground.sides();
  const uint64_t* lates = pairs.lates();
  Charge charge(control);
  charge.add(pairs.bytes() + BitBatch::bytes(sides) + static_cast<size_t>(sides.threads()) * SingleSquares::bytes(ground));
  BitBatch lines(sides, lates);
  Total total;
  while (lines.pays([&](uint32_t u) {
    uint64_t work = 0;
    for (uint64_t e = lates[u]; e < sides.end(u); ++e) work += sides.end(sides.neighbour(e)) - lines.begins()[sides.neighbour(e)];
    return work;
  })) {
    lines.each_row([&](const WorkQueue& queue) { return BlockSquares(lines, queue, total); });
  }
  sides.each_root([&](const WorkQueue& queue) { return SingleSquares(ground, lines, queue, total); });
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
