// Closed walks of five and six steps of one symmetric matrix without numbers, loops and repeats, and those of four by weights of
// their first vertices, over all vertices.
//
// Vertices go by descending length of their rows (RankedPairs), and each walk is counted at its first one in that order, the root u.
// With p[x] = how many neighbours after u it shares with x, q[x] = the sum of p over x's neighbours after u, for x after u, the walks
// that return to u with their last step only are f2 = u's neighbours after it, f3 = the sum of p over them, f4 = p.p, f5 = p.q and
// f6 = q.q; a closed walk is a ring of such. 32 roots are done at once, a lane each: first p, from bits that say whose neighbour a
// vertex is, then q and what they come to, from lines of p. Where rows get short, and where p might exceed 16 bits, each root sums
// up along the rows of what it reaches.
// Bytes moved for 32 roots: a mark and a line of 64 bytes for each entry between vertices that aren't before them, at random; for the
// rest a counter for each path, at random. Deterministic.
// Sources: Chiba and Nishizeki 1985 (walks at their vertex of the highest degree); Aktulga et al. 2014 (several vectors at once).
#include "count/closed_walks.h"
#include "ops/simd_lanes.h"

namespace qe::eliminate {
namespace {

constexpr uint32_t kMostInLane = 0xFFFF;
constexpr size_t kMostHeld = size_t{1} << 30;  // bytes of lines, beyond those of one worker

struct Found {
  Wide fives = 0, sixes = 0, weighted = 0;

  Found& operator+=(const Found& more) {
    fives += more.fives;
    sixes += more.sixes;
    weighted += more.weighted;
    return *this;
  }
  // Of a root, from walks that return to it with their last step only; what is equal for all roots is added elsewhere.
  void ring(Wide f2, Wide f3, Wide f4) {
    fives += 5 * f2 * f3;
    sixes += 6 * f2 * f4 + 3 * f3 * f3 + 2 * f2 * f2 * f2;
  }
};

using Total = Shared<Found>;

// Counts the walks of 32 roots at a time.
class BlockWalks {
 public:
  BlockWalks(const Ground& ground, uint32_t last, const WorkQueue& queue, Total& total)
      : ground_(ground), most_(last), ops_(simd_lanes(current_isa())), patience_(queue, kPatience), total_(total), begins_(ground.begins()),
        lines_(ground.n()), marks_(ground.n(), 0), live_(ground.n()) {
    std::iota(live_.begin(), live_.end(), 0);
  }
  ~BlockWalks() { total_.add(found_); }

  static size_t bytes(const Ground& ground) {
    return ground.n() * (sizeof(LaneLine) + sizeof(uint64_t) + 2 * sizeof(uint32_t));
  }

  // The roots from `first` on; blocks come in order.
  void block(uint32_t first) {
    const uint32_t last = std::min(first + kLanes, most_);
    const Sides& sides = ground_.sides();
    const uint32_t lo = sides.lo();
    const uint32_t* readable = sides.ids() + sides.entries();
    totals_ = {};
    for (uint32_t u = first; u < last; ++u)
      for (uint64_t e = ground_.late(u); e < sides.end(u); ++e) marks_[sides.neighbour(e)] |= uint32_t{1} << (u - first);
    size_t kept = 0;
    for (const uint32_t x : live_) {
      if (x < first) continue;
      const uint64_t end = ground_.advance(x, first, begins_[x]);
      if (begins_[x] == end) continue;
      live_[kept++] = x;
      ops_.count_marks(marks_.data() - lo, sides.ids() + begins_[x], end - begins_[x], own(x, first, last), &lines_[x]);
      spend(end - begins_[x]);
    }
    live_.resize(kept);
    uint64_t threes[kLanes] = {};
    for (const uint32_t x : live_) {
      LaneSums q;
      const uint32_t* ids = sides.ids() + begins_[x];
      const uint64_t n = sides.end(x) - begins_[x];
      const uint64_t squares =
          ops_.add_lanes(lines_.data() - lo, ids, n, readable, lines_[x], own(x, first, last), &q, &totals_);
      uint64_t met = 0;
      for (uint32_t rest = marks_[x]; rest; rest &= rest - 1) {
        const auto k = static_cast<uint32_t>(__builtin_ctz(rest));
        threes[k] += lines_[x].of[lane_of(k)];
        met += q.of[k];
      }
      if (ground_.weighted()) found_.weighted += ground_.weight(x) * (Wide{squares} + 2 * Wide{met});
      spend(2 * n);
    }
    for (uint32_t u = first; u < last; ++u) add_root(u, threes[u - first], totals_.squares[LaneTotals::square_of(u - first)]);
    for (int k = 0; k < 8; ++k) {
      found_.fives += 5 * Wide{totals_.products[k]};
      found_.sixes += 6 * (Wide{totals_.low[k]} + (Wide{totals_.high[k]} << 32));
    }
  }

 private:
  // The roots before a vertex.
  static uint32_t own(uint32_t x, uint32_t first, uint32_t last) {
    return x < last ? (uint32_t{1} << (x - first)) - 1 : ~uint32_t{0};
  }

  void add_root(uint32_t u, uint64_t f3, uint64_t f4) {
    const Sides& sides = ground_.sides();
    const uint64_t f2 = ground_.after(u);
    found_.ring(f2, f3, f4);
    Wide near = 0;
    for (uint64_t e = ground_.late(u); e < sides.end(u); ++e) {
      const uint32_t b = sides.neighbour(e);
      marks_[b] = 0;
      if (ground_.weighted()) near += ground_.weight(b);
    }
    if (ground_.weighted()) found_.weighted += ground_.weight(u) * (Wide{f4} + Wide{f2} * f2) + f2 * near;
  }

  void spend(uint64_t lines) {
    patience_.spend(4 * lines + 32);
  }

  const Ground& ground_;
  uint32_t most_;
  const SimdLanes& ops_;
  Patience patience_;
  Total& total_;
  std::vector<uint64_t> begins_;
  std::vector<LaneLine> lines_;  // p
  std::vector<uint32_t> marks_;  // of which roots a vertex is a neighbour, and after them
  std::vector<uint32_t> live_;   // vertices that aren't before the roots and have such neighbours
  LaneTotals totals_;
  Found found_;
};

// The same of one root after the other: those before `before`, and from `from` on.
class SingleWalks {
 public:
  SingleWalks(const Ground& ground, uint32_t before, uint32_t from, const WorkQueue& queue, Total& total)
      : ground_(ground), before_(before), from_(from), patience_(queue, kPatience), total_(total), begins_(ground.begins()), p_(ground.n(), 0),
        q_(ground.n(), 0) {}
  ~SingleWalks() { total_.add(found_); }

  static size_t bytes(const Ground& ground) { return ground.n() * (sizeof(uint64_t) + 4 * sizeof(uint32_t)); }

  void root(uint32_t u) {
    if (u >= ground_.n() || (u >= before_ && u < from_) || ground_.after(u) == 0) return;
    const Sides& sides = ground_.sides();
    reached_.clear();
    beyond_.clear();
    for (uint64_t e = ground_.late(u); e < sides.end(u); ++e) push(sides.neighbour(e), u, 1, p_, reached_);
    for (const uint32_t x : reached_) push(x, u, p_[x], q_, beyond_);
    Wide f4 = 0, f5 = 0, f6 = 0, by_weight = 0, near = 0;
    for (const uint32_t x : reached_) {
      const Wide square = Wide{p_[x]} * p_[x];
      f4 += square;
      f5 += uint64_t{p_[x]} * q_[x];
      if (ground_.weighted()) by_weight += ground_.weight(x) * square;
    }
    for (const uint32_t x : beyond_) f6 += uint64_t{q_[x]} * q_[x];
    uint64_t f3 = 0;
    for (uint64_t e = ground_.late(u); e < sides.end(u); ++e) {
      const uint32_t b = sides.neighbour(e);
      f3 += p_[b];
      if (!ground_.weighted()) continue;
      near += ground_.weight(b);
      by_weight += 2 * Wide{ground_.weight(b)} * q_[b];
    }
    const uint64_t f2 = ground_.after(u);
    found_.ring(f2, f3, f4);
    found_.fives += 5 * f5;
    found_.sixes += 6 * f6;
    if (ground_.weighted()) found_.weighted += by_weight + ground_.weight(u) * (f4 + Wide{f2} * f2) + f2 * near;
    for (const uint32_t x : reached_) p_[x] = 0;
    for (const uint32_t x : beyond_) q_[x] = 0;
  }

 private:
  // Adds a number along a row, as far as it leads to vertices after u. Places that get one are listed.
  void push(uint32_t v, uint32_t u, uint32_t number, std::vector<uint32_t>& to, std::vector<uint32_t>& listed) {
    const Sides& sides = ground_.sides();
    const uint64_t end = ground_.advance(v, u + 1, begins_[v]);
    for (uint64_t e = begins_[v]; e < end; ++e) {
      uint32_t& at = to[sides.neighbour(e)];
      if (at == 0) listed.push_back(sides.neighbour(e));
      at += number;
    }
    patience_.spend(end - begins_[v] + 8);
  }

  const Ground& ground_;
  uint32_t before_, from_;
  Patience patience_;
  Total& total_;
  std::vector<uint64_t> begins_;
  std::vector<uint32_t> p_, q_, reached_, beyond_;
  Found found_;
};

// The first root from `first` on from which one after the other takes less than 32 at once. Some are asked for all.
uint32_t end_of_blocks(const Ground& ground, uint32_t first) {
  constexpr uint32_t kSampled = 16;
  const Sides& sides = ground.sides();
  const size_t cost = simd_lanes(current_isa()).cost;
  uint64_t left = sides.entries();
  for (uint32_t u = 0; u < first; ++u) left -= 2 * ground.after(u);
  for (; first < ground.n(); first += kLanes) {
    const uint32_t last = std::min(first + kLanes, ground.n());
    const uint64_t lines = (left + 4 * (ground.n() - first)) * cost;
    uint64_t work = 0;
    for (uint32_t u = first; u < last && work <= lines; u += kSampled) {
      uint64_t paths = 0;
      for (uint64_t e = ground.late(u); e < sides.end(u); ++e) {
        const uint32_t b = sides.neighbour(e);
        paths += sides.length(b) - lower_bound(sides.ids() + sides.begin(b), sides.length(b), sides.lo() + u + 1);
      }
      const uint64_t mean = paths / std::max<uint64_t>(1, ground.after(u));
      work += kSampled * (paths + std::min(left, paths * mean));
    }
    if (work <= lines) return first;
    for (uint32_t u = first; u < last; ++u) left -= 2 * ground.after(u);
  }
  return ground.n();
}

Found long_walks(const RankedPairs& pairs, const uint64_t* weights, Control* control) {
  if (pairs.empty()) return {};
  Charge charge(control);
  charge.add(pairs.bytes() + (weights ? pairs.ranked().hi - pairs.ranked().lo : 0) * sizeof(uint64_t));
  const Ground ground(pairs, weights, control);
  const Sides& sides = ground.sides();
  uint32_t first = 0;
  while (first < ground.n() && sides.length(first) > kMostInLane) ++first;
  const uint32_t last = end_of_blocks(ground, first);
  Total total;
  if (first < last) {
    const size_t each = BlockWalks::bytes(ground);
    const int threads = std::max(1, std::min(sides.threads(), static_cast<int>(std::min(kMostHeld / each, size_t{1} << 16))));
    Charge held(control);
    held.add(static_cast<size_t>(threads) * each);
    WorkQueue queue(control, (last - first + kLanes - 1) / kLanes, 1);
    check(deal(threads, queue, [&](int) {
      BlockWalks worker(ground, last, queue, total);
      for (uint64_t begin, end; queue.take(&begin, &end);)
        for (uint64_t k = begin; k < end; ++k) worker.block(first + static_cast<uint32_t>(k) * kLanes);
    }));
  }
  if (first == 0 && last == ground.n()) return total.sum();
  charge.add(static_cast<size_t>(sides.threads()) * SingleWalks::bytes(ground));
  sides.each_root([&](const WorkQueue& queue) { return SingleWalks(ground, first, last, queue, total); });
  return total.sum();
}

}  // namespace
}  // namespace qe::eliminate

using namespace qe::eliminate;
using qe::Control;

// Of a matrix with fewer than 2^32 entries, over all vertices: the closed walks of five steps, those of six, and those of four times
// the weights of the vertices that they begin at, which are below 2^32 (null: 0). Each is a number of two words, the lower first.
// Any number of threads may ask at a time.
QE_API int32_t qe_long_closed_walks(const RankedPairs* pairs, const uint64_t* weights, uint64_t* sums, Control* control) {
  return guarded([&] {
    const Found found = long_walks(*pairs, weights, control);
    const Wide all[] = {found.fives, found.sixes, found.weighted};
    for (int k = 0; k < 3; ++k) {
      sums[2 * k] = static_cast<uint64_t>(all[k]);
      sums[2 * k + 1] = static_cast<uint64_t>(all[k] >> 64);
    }
  });
}
