// A symmetric matrix without numbers, loops and repeats whose vertices go by descending length of their rows: as it is, or
// numbered anew. It follows from the matrix alone: it is an index, which callers may keep.
#pragma once
#include <cstring>
#include <numeric>
#include <vector>

#include "count/triangle_counts.h"

namespace qe::eliminate {

// The matrix's arrays must outlive it.
class RankedPairs {
 public:
  RankedPairs(const Matrix& matrix, Control* control) : given_(matrix), ranked_(matrix) {
    if (entries_of(matrix) == 0) return;
    const Sides sides(given_, control);
    Charge charge(control);
    uint32_t k = 1;
    while (k < sides.n() && sides.length(k - 1) >= sides.length(k)) ++k;
    if (k < sides.n()) rank(sides, charge);
    const Sides ranked(ranked_, control);
    charge.add(ranked.n() * sizeof(uint64_t));
    lates_.resize(ranked.n());
    ranked.each_row([&](uint32_t v) {
      lates_[v] = ranked.begin(v) + lower_bound(ranked.ids() + ranked.begin(v), ranked.length(v), ranked.lo() + v);
    });
  }

  size_t bytes() const {
    return (offsets_.size() + lates_.size()) * sizeof(uint64_t) + (order_.size() + rank_.size() + ids_.size()) * sizeof(uint32_t);
  }

  bool empty() const { return lates_.empty(); }
  const Matrix& given() const { return given_; }
  const Matrix& ranked() const { return ranked_; }
  const uint64_t* lates() const { return lates_.data(); }  // of each row, the first entry that leads to a vertex after it
  const uint32_t* order() const { return order_.empty() ? nullptr : order_.data(); }  // given vertices by rank; null: the same
  const uint32_t* rank() const { return rank_.empty() ? nullptr : rank_.data(); }
  const uint64_t* offsets() const { return ranked_.offsets; }

 private:
  void rank(const Sides& sides, Charge& charge) {
    const uint32_t n = sides.n();
    charge.add(n * (2 * sizeof(uint32_t) + sizeof(uint64_t)) + sides.turning_bytes() + sides.entries() * sizeof(uint32_t));
    order_.resize(n);
    rank_.resize(n);
    offsets_.resize(n + 1);
    ids_.resize(sides.entries());
    std::iota(order_.begin(), order_.end(), 0);
    std::stable_sort(order_.begin(), order_.end(),
                     [&](uint32_t a, uint32_t b) { return sides.length(a) > sides.length(b); });
    for (uint32_t k = 0; k < n; ++k) {
      rank_[order_[k]] = k;
      offsets_[k + 1] = offsets_[k] + sides.length(order_[k]);
    }
    sides.each_turned(order_.data(), rank_.data(), offsets_.data(),
                      [&](uint32_t u, uint32_t, uint64_t, uint64_t place) { ids_[place] = u; });
    ranked_ = {offsets_.data(), ids_.data(), {}, nullptr, 0, n, 0, 0};
  }

  const Matrix given_;
  Matrix ranked_;
  std::vector<uint32_t> order_, rank_, ids_;
  std::vector<uint64_t> offsets_, lates_;
};

}  // namespace qe::eliminate
