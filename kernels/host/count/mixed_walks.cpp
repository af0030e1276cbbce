// Closed walks of four steps along several matrices without numbers, loops and repeats, over all vertices.
//
// Vertices go by descending length of their rows (RankedMatrices), and each walk is counted at its first vertex, the root u, in
// each of the places that this may have (a pass): with p[w] = how many vertices after u lead from u along X and on to w along Y,
// and q[w] the same along X' and Y', its walks are p[w] q[w] for each w after u, and for w = u in some passes. While many
// are left 512 roots are done at once, a bit each: p is what the lines of w's neighbours add up to, and products follow from
// the sums' digits. For the rest each root counts the ends of its paths of two.
// Bytes moved: for 512 roots a line for each entry of each Y, for each X; for the rest a counter for each path, at random.
// Deterministic. Sources: as of closed_walks_bits.
#include <array>

#include "count/bit_batch.h"
#include "count/ranked_matrices.h"
#include "ops/counter_products.h"

namespace qe::eliminate {
namespace {

constexpr uint32_t kRoots = 64 * kRowBlock;
constexpr size_t kMostPasses = 4;

// planes: X, Y, X', Y'. factor: how often the walks with w after u count; back: those with w = u.
struct WalkPass {
  int32_t planes[4];
  uint32_t factor, back;
};

struct WalkTask {
  const RankedMatrices* matrices;
  const WalkPass* passes;
  int32_t n_passes, unused;
  uint64_t sum[2];
};

// Two steps: the planes of both.
using Path = std::array<int, 2>;

// What passes go along. paths: each once; lines: the X of some.
class Routes {
 public:
  explicit Routes(const WalkTask& task) : task_(task) {
    for (const WalkPass& pass : passes())
      for (int k = 0; k < 2; ++k) {
        const Path path{pass.planes[2 * k], pass.planes[2 * k + 1]};
        if (std::find(paths_.begin(), paths_.end(), path) == paths_.end()) paths_.push_back(path);
        if (std::find(lines_.begin(), lines_.end(), path[0]) == lines_.end()) lines_.push_back(path[0]);
      }
  }

  struct Passes {
    const WalkPass *first, *last;
    const WalkPass* begin() const { return first; }
    const WalkPass* end() const { return last; }
  };
  Passes passes() const { return {task_.passes, task_.passes + task_.n_passes}; }
  const RankedMatrices& matrices() const { return *task_.matrices; }
  const std::vector<Path>& paths() const { return paths_; }
  const std::vector<int>& lines() const { return lines_; }
  size_t path(const WalkPass& pass, int k) const {
    const Path wanted{pass.planes[2 * k], pass.planes[2 * k + 1]};
    return static_cast<size_t>(std::find(paths_.begin(), paths_.end(), wanted) - paths_.begin());
  }
  size_t line(int plane) const { return static_cast<size_t>(std::find(lines_.begin(), lines_.end(), plane) - lines_.begin()); }

 private:
  const WalkTask& task_;
  std::vector<Path> paths_;
  std::vector<int> lines_;
};

// Lines of 512 roots for each X: bit k of a vertex's line says whether root first() + k is before it and X links them.
class Batch {
 public:
  Batch(const Routes& routes, const SetOps& ops) : routes_(routes), ops_(ops), lines_(routes.lines().size()) {
    for (std::vector<RootLine>& each : lines_) each.resize(routes.matrices().n());
  }

  static size_t bytes(const Routes& routes) { return routes.lines().size() * routes.matrices().n() * sizeof(RootLine); }

  uint32_t first() const { return first_; }
  uint32_t last() const { return std::min(first_ + kRoots, routes_.matrices().n()); }

  // Are the next roots done at once? `begins`: where vertices come after the roots before.
  bool pays() const {
    const RankedMatrices& of = routes_.matrices();
    if (first_ >= of.n()) return false;
    uint64_t lines = 0, work = 0;
    for (const Path& path : routes_.paths()) {
      uint64_t left = of.n() / 4;
      const RankedRows& rows = of.plane(path[1]);
      for (uint32_t v = first_; v < of.n(); ++v) left += rows.offsets[v + 1] - rows.offsets[v];
      lines += left * ops_.line_cost;
    }
    constexpr uint32_t kSampled = 8;
    for (uint32_t u = first_; u < last() && work <= lines; u += kSampled)
      for (const Path& path : routes_.paths()) {
        const RankedRows &near = of.plane(path[0]), &beyond = of.plane(path[1]);
        for (const uint32_t* v = near.begin(u) + near.before(u, u); v < near.end(u); ++v)
          work += kSampled * (beyond.offsets[*v + 1] - beyond.offsets[*v]);
      }
    return work > lines;
  }

  void mark() {
    for (size_t k = 0; k < lines_.size(); ++k) {
      const RankedRows& rows = routes_.matrices().plane(routes_.lines()[k]);
      std::fill(lines_[k].begin(), lines_[k].end(), RootLine{});
      for (uint32_t u = first_; u < last(); ++u) {
        const uint32_t bit = u - first_;
        for (const uint32_t* v = rows.begin(u) + rows.before(u, u); v < rows.end(u); ++v)
          lines_[k][*v].words[bit >> 6] |= uint64_t{1} << (bit & 63);
      }
    }
  }
  void step() { first_ = last(); }
  const uint64_t* lines(size_t k) const { return lines_[k].data()->words; }

 private:
  const Routes& routes_;
  const SetOps& ops_;
  uint32_t first_ = 0;
  std::vector<std::vector<RootLine>> lines_;
};

// Products of what the roots of a batch share with each vertex.
class BatchWalks {
 public:
  BatchWalks(const Routes& routes, const Batch& batch, const SetOps& ops, const WorkQueue& queue)
      : routes_(routes), batch_(batch), ops_(ops), multiply_(add_products(current_isa())), patience_(queue, kPatience),
        counters_(routes.paths().size() * kMostSumDigits), products_(kMostPasses * 2 * kMostSumDigits), digits_(routes.paths().size()) {}

  void vertex(uint32_t w) {
    const RootLine own = before(w);
    for (size_t k = 0; k < digits_.size(); ++k) {
      const Path& path = routes_.paths()[k];
      const RankedRows& back = routes_.matrices().plane(routes_.matrices().turned(path[1]));
      const size_t begin = back.before(w, batch_.first() + 1), n = static_cast<size_t>(back.end(w) - back.begin(w)) - begin;
      digits_[k] = n == 0 ? 0 : sum_digits(n);
      if (n == 0) continue;
      const LineList list{batch_.lines(routes_.line(path[0])), back.begin(w) + begin, back.ids.data() + back.ids.size(), n, own.words};
      ops_.add_lines(list, counters(k), n, nullptr);
      patience_.spend(n * kRowBlock);
    }
    RootLine* products = products_.data();
    for (const WalkPass& pass : routes_.passes()) {
      const size_t one = routes_.path(pass, 0), other = routes_.path(pass, 1);
      if (digits_[one] > 0 && digits_[other] > 0) multiply_(counters(one), counters(other), products->words);
      products += 2 * kMostSumDigits;
    }
  }

  Wide sum() const {
    Wide total = 0;
    const RootLine* products = products_.data();
    for (const WalkPass& pass : routes_.passes()) {
      Wide found = 0;
      for (size_t k = 0; k < 2 * kMostSumDigits; ++k)
        for (const uint64_t word : products[k].words) found += Wide{word} << k;
      total = plus(total, times(found, Wide{pass.factor}));
      products += 2 * kMostSumDigits;
    }
    return total;
  }

 private:
  BitCounters counters(size_t k) { return {counters_[k * kMostSumDigits].words, digits_[k]}; }

  // The roots before a vertex.
  RootLine before(uint32_t w) const {
    RootLine line{};
    const uint32_t n = std::min(w - batch_.first(), kRoots);
    for (uint32_t k = 0; k < n / 64; ++k) line.words[k] = ~uint64_t{0};
    if (n % 64 > 0) line.words[n / 64] = (uint64_t{1} << n % 64) - 1;
    return line;
  }

  const Routes& routes_;
  const Batch& batch_;
  const SetOps& ops_;
  const AddProducts multiply_;
  Patience patience_;
  std::vector<RootLine> counters_, products_;  // by path; by pass
  std::vector<size_t> digits_;
};

// The same of one root after the other.
class SingleWalks {
 public:
  SingleWalks(const Routes& routes, const WorkQueue& queue)
      : routes_(routes), patience_(queue, kPatience), counters_(routes.matrices().n(), 0) {}

  static size_t bytes(const Routes& routes) { return routes.matrices().n() * sizeof(uint32_t); }

  void root(uint32_t u) {
    for (const WalkPass& pass : routes_.passes()) {
      const Path one{pass.planes[0], pass.planes[1]}, other{pass.planes[2], pass.planes[3]};
      Wide found = 0;
      each_path(one, u, [&](uint32_t w, uint64_t&) { ++counters_[w]; });
      found = each_path(other, u, [&](uint32_t w, uint64_t& sum) { sum += counters_[w]; });
      each_path(one, u, [&](uint32_t w, uint64_t&) { counters_[w] = 0; });
      sum_ = plus(sum_, times(found, Wide{pass.factor}));
    }
  }
  Wide sum() const { return sum_; }

 private:
  // Calls each(w, sum) for the end of each path of two steps by vertices after the root to one after it; returns all sums.
  template <typename Each>
  Wide each_path(const Path& path, uint32_t u, Each&& each) {
    const RankedRows &near = routes_.matrices().plane(path[0]), &beyond = routes_.matrices().plane(path[1]);
    Wide total = 0;
    for (const uint32_t* v = near.begin(u) + near.before(u, u); v < near.end(u); ++v) {
      uint64_t sum = 0;
      const uint32_t* w = beyond.begin(*v) + beyond.before(*v, u + 1);
      patience_.spend(static_cast<uint64_t>(beyond.end(*v) - w) + 8);
      for (; w < beyond.end(*v); ++w) each(*w, sum);
      total += sum;
    }
    return total;
  }

  const Routes& routes_;
  Patience patience_;
  std::vector<uint32_t> counters_;
  Wide sum_ = 0;
};

// How many vertices after u lead from it along X and back along Y.
uint64_t there_and_back(const RankedMatrices& of, uint32_t u, int x, int y) {
  const RankedRows &there = of.plane(x), &back = of.plane(of.turned(y));
  const size_t one = there.before(u, u), other = back.before(u, u);
  const auto n_one = static_cast<size_t>(there.end(u) - there.begin(u)), n_other = static_cast<size_t>(back.end(u) - back.begin(u));
  return intersect_count(set_ops(current_isa()), there.begin(u) + one, n_one - one, back.begin(u) + other, n_other - other);
}

Wide returns(const Routes& routes, Control* control) {
  const RankedMatrices& of = routes.matrices();
  Patience patience(control, kPatience);
  Wide total = 0;
  for (const WalkPass& pass : routes.passes()) {
    if (pass.back == 0) continue;
    const int32_t* planes = pass.planes;
    for (uint32_t u = 0; u < of.n(); ++u) {
      const uint64_t one = there_and_back(of, u, planes[0], planes[1]);
      if (one > 0) total += Wide{pass.back} * one * there_and_back(of, u, planes[2], planes[3]);
      patience.spend(64);
    }
  }
  return total;
}

// Calls make(queue) for each thread and its work(worker, k) for all k; adds the workers' sums to the total.
template <typename Make, typename Work>
void add_sums(Control* control, int threads, uint32_t n, Wide& total, Make&& make, Work&& work) {
  std::vector<Wide> sums(static_cast<size_t>(threads), 0);
  WorkQueue queue(control, n, 8);
  check(deal(threads, queue, [&](int number) {
    auto worker = make(queue);
    for (uint64_t begin, end; queue.take(&begin, &end);)
      for (; begin < end; ++begin) work(worker, static_cast<uint32_t>(begin));
    sums[static_cast<size_t>(number)] = worker.sum();
  }));
  for (const Wide sum : sums) total = plus(total, sum);
}

void count(WalkTask& task, Control* control) {
  const Routes routes(task);
  const RankedMatrices& of = routes.matrices();
  const SetOps& ops = set_ops(current_isa());
  const int threads = workers_for(control, of.entries());
  Charge charge(control);
  charge.add(of.bytes() + Batch::bytes(routes) + static_cast<size_t>(threads) * SingleWalks::bytes(routes));
  Wide total = returns(routes, control);
  Batch batch(routes, ops);
  for (; batch.pays(); batch.step()) {
    batch.mark();
    const uint32_t after = batch.first() + 1;
    add_sums(control, threads, of.n() - after, total,
             [&](const WorkQueue& queue) { return BatchWalks(routes, batch, ops, queue); },
             [&](BatchWalks& worker, uint32_t k) { worker.vertex(after + k); });
  }
  const uint32_t first = batch.first();
  add_sums(control, threads, of.n() - first, total, [&](const WorkQueue& queue) { return SingleWalks(routes, queue); },
           [&](SingleWalks& worker, uint32_t k) { worker.root(first + k); });
  task.sum[0] = static_cast<uint64_t>(total);
  task.sum[1] = static_cast<uint64_t>(total >> 64);
}

}  // namespace
}  // namespace qe::eliminate

using namespace qe::eliminate;
using qe::Control;

// See above. Any number of threads may ask at a time.
QE_API int32_t qe_mixed_walks(WalkTask* task, Control* control) {
  return guarded([&] { count(*task, control); });
}
