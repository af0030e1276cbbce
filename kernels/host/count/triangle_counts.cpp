// Elimination of a triangle's third vertex where all three sides are one symmetric matrix without numbers, loops and
// repeats: for each linked pair how many vertices are linked to both.
//
// Vertices go by descending length of their rows (RankedPairs). Each triangle is found at its first vertex, u. While many are left
// 512 such roots are done at once, by a line of bits for each vertex b that says which of them it neighbours (BitBatch): what the
// lines of two linked vertices b and x have in common are their triangles, and for each root u these add up, over the neighbours
// b of x, to those of the pair (u, x). The rest is found by lists: neighbours of u are marked, and looked up in the rows of each
// other. A second pass adds what was found at both places of each pair. Bytes moved: BitBatch', and the entries' counts.
// Deterministic. Sources: Chiba and Nishizeki 1985; Latapy 2008; Klarqvist, Muła and Lemire 2021.
#include <memory>

#include "count/bit_batch.h"

namespace qe::eliminate {
namespace {

// Counts for all roots of a block, row by row.
class BlockRows {
 public:
  BlockRows(const Sides& sides, const uint64_t* lates, const BitBatch& lines, const WorkQueue& queue, uint32_t* out)
      : sides_(sides), lates_(lates), lines_(lines), patience_(queue, kPatience), out_(out) {}

  void row(uint32_t v, uint64_t begin, uint64_t end) {
    const uint64_t late = std::max(begin, lates_[v]);
    const uint32_t* ids = sides_.ids();
    const uint64_t roots = lower_bound(ids + begin, late - begin, sides_.lo() + lines_.last());
    if (roots == 0 || end - begin < 2) return;
    const BitCounters counters{counters_[0].words, sum_digits(end - begin)};
    const SetOps& ops = lines_.ops();
    ops.add_lines(lines_.list(begin, end, lines_.line(v)), counters, late - begin, out_ + late);
    ops.read_counters(counters, ids + begin, roots, sides_.lo() + lines_.first(), out_ + begin);
    patience_.spend((end - begin) * kRowBlock);
  }

 private:
  const Sides& sides_;
  const uint64_t* lates_;
  const BitBatch& lines_;
  Patience patience_;
  uint32_t* out_;
  RootLine counters_[kMostSumDigits];
};

// Counts for one root after the other.
class SingleRoots {
 public:
  SingleRoots(const Sides& sides, const uint64_t* lates, uint32_t first, const WorkQueue& queue, uint32_t* out)
      : sides_(sides), lates_(lates), first_(first), alone_(sides.threads() == 1), patience_(queue, kPatience), out_(out),
        places_(sides.n(), 0) {}

  static size_t bytes(const Sides& sides) { return sides.n() * sizeof(uint32_t); }

  void root(uint32_t u) {
    const uint64_t begin = lates_[u], end = sides_.end(u);
    if (u < first_ || end - begin < 2) return;
    uint32_t* own = out_ + begin;
    for (uint64_t e = begin; e < end; ++e) places_[sides_.neighbour(e)] = static_cast<uint32_t>(e - begin) + 1;
    for (uint64_t e = begin; e < end; ++e) {
      const uint32_t b = sides_.neighbour(e);
      uint32_t found = 0;
      for (uint64_t k = lates_[b]; k < sides_.end(b); ++k) {
        const uint32_t place = places_[sides_.neighbour(k)];
        if (place == 0) continue;
        ++found;
        add(out_ + k, 1);
        add(own + place - 1, 1);
      }
      if (found > 0) add(own + (e - begin), found);
      patience_.spend(sides_.end(b) - lates_[b] + 8);
    }
    for (uint64_t e = begin; e < end; ++e) places_[sides_.neighbour(e)] = 0;
  }

 private:
  // Other threads add to the same rows.
  void add(uint32_t* to, uint32_t n) const {
    if (alone_) *to += n;
    else __atomic_fetch_add(to, n, __ATOMIC_RELAXED);
  }

  const Sides& sides_;
  const uint64_t* lates_;
  uint32_t first_;
  bool alone_;
  Patience patience_;
  uint32_t* out_;
  std::vector<uint32_t> places_;  // of a root's neighbours in its row, from 1 on; all 0 between two roots
};

void count_ranked(const RankedPairs& pairs, uint32_t* out, Control* control) {
  const Sides sides(pairs.ranked(), control);
  const uint64_t* lates = pairs.lates();
  Charge charge(control);
  charge.add(BitBatch::bytes(sides) + static_cast<size_t>(sides.threads()) * SingleRoots::bytes(sides) + sides.turning_bytes());
  sides.each_range([&](uint32_t from, uint32_t to) { std::fill(out + sides.begin(from), out + sides.begin(to), 0); });
  BitBatch lines(sides, lates);
  const auto late = [&](uint32_t v) { return sides.end(v) - lates[v]; };
  while (lines.pays([&](uint32_t u) {
    uint64_t work = 0;
    for (uint64_t e = lates[u]; e < sides.end(u); ++e) work += late(sides.neighbour(e));
    return work;
  })) {
    lines.each_row([&](const WorkQueue& queue) { return BlockRows(sides, lates, lines, queue, out); });
  }
  sides.each_root([&](const WorkQueue& queue) { return SingleRoots(sides, lates, lines.first(), queue, out); });
  sides.each_early(lates, [&](uint64_t e, uint64_t place) { out[e] = out[place] = out[e] + out[place]; });
}

void count(const RankedPairs& pairs, uint32_t* out, Control* control) {
  if (pairs.empty()) return;
  Charge charge(control);
  charge.add(pairs.bytes());
  if (pairs.order() == nullptr) return count_ranked(pairs, out, control);
  const Sides sides(pairs.given(), control);
  charge.add(sides.entries() * sizeof(uint32_t) + sides.turning_bytes());
  std::vector<uint32_t> counts(sides.entries());
  count_ranked(pairs, counts.data(), control);
  sides.each_turned(pairs.order(), pairs.rank(), pairs.offsets(),
                    [&](uint32_t, uint32_t, uint64_t e, uint64_t place) { out[e] = counts[place]; });
}

}  // namespace
}  // namespace qe::eliminate

using namespace qe::eliminate;
using qe::Control;

// Ranks a matrix's vertices, for qe_triangle_counts, and tells the bytes that takes; close it with qe_ranked_pairs_close.
QE_API int32_t qe_ranked_pairs(const Matrix* matrix, RankedPairs** pairs, uint64_t* bytes, Control* control) {
  return guarded([&] {
    auto made = std::make_unique<RankedPairs>(*matrix, control);
    *bytes = made->bytes();
    *pairs = made.release();
  });
}

QE_API void qe_ranked_pairs_close(RankedPairs* pairs) { delete pairs; }

// out[p], for each entry p of the matrix that was ranked: how many vertices are linked to both of its ends. Any number of threads
// may ask at a time.
QE_API int32_t qe_triangle_counts(const RankedPairs* pairs, uint32_t* out, Control* control) {
  return guarded([&] { count(*pairs, out, control); });
}
