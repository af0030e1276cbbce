// Matrices without numbers, loops and repeats whose vertices go by descending length of their rows, all matrices and both ways
// together: what cliques and closed walks along several matrices are counted by. It follows from the matrices alone: it is an
// index, which callers may keep.
#pragma once
#include <algorithm>
#include <numeric>
#include <vector>

#include "count/eliminate.h"
#include "qe/lists.h"

namespace qe::eliminate {

// Rows by rank: row u is ids[offsets[u], offsets[u + 1]), ascending.
struct RankedRows {
  std::vector<uint64_t> offsets;
  std::vector<uint32_t> ids;

  const uint32_t* begin(uint32_t u) const { return ids.data() + offsets[u]; }
  const uint32_t* end(uint32_t u) const { return ids.data() + offsets[u + 1]; }
  // How many ids of row u are before v.
  size_t before(uint32_t u, uint32_t v) const { return lower_bound(begin(u), static_cast<size_t>(end(u) - begin(u)), v); }
  size_t bytes() const { return offsets.size() * sizeof(uint64_t) + ids.size() * sizeof(uint32_t); }
};

// Matrix m has two planes: 2 m is the matrix, 2 m + 1 the same from the other end. Of a symmetric one both are plane 2 m.
class RankedMatrices {
 public:
  RankedMatrices(const Matrix* matrices, const int32_t* symmetric, int32_t n_matrices, uint32_t n, Control* control)
      : n_(n) {
    Charge charge(control);
    Patience patience(control, 1 << 18);
    size_t bytes = n * (3 * sizeof(uint32_t) + sizeof(uint64_t));
    for (int32_t m = 0; m < n_matrices; ++m) bytes += 2 * (entries_of(matrices[m]) * sizeof(uint32_t) + (n + 1) * sizeof(uint64_t));
    charge.add(bytes);
    rank(matrices, n_matrices, patience);
    planes_.resize(2 * static_cast<size_t>(n_matrices));
    for (int32_t m = 0; m < n_matrices; ++m) {
      symmetric_.push_back(symmetric[m] != 0);
      RankedRows& back = planes_[2 * static_cast<size_t>(m) + 1];
      fill(matrices[m], back, patience);
      turn(back, planes_[2 * static_cast<size_t>(m)], patience);
      if (symmetric[m]) back = {};
    }
  }

  bool plain() const { return plain_; }  // are there no loops and repeats? Else nothing may be counted
  uint32_t n() const { return n_; }
  uint32_t vertex(uint32_t rank) const { return order_[rank]; }
  int n_planes() const { return static_cast<int>(planes_.size()); }
  const RankedRows& plane(int p) const { return planes_[static_cast<size_t>(p)]; }
  int turned(int p) const { return symmetric_[static_cast<size_t>(p / 2)] ? p : p ^ 1; }
  uint64_t entries() const {
    uint64_t found = 0;
    for (const RankedRows& each : planes_) found += each.ids.size();
    return found;
  }
  size_t bytes() const {
    size_t found = order_.size() * sizeof(uint32_t);
    for (const RankedRows& each : planes_) found += each.bytes();
    return found;
  }

 private:
  void rank(const Matrix* matrices, int32_t n_matrices, Patience& patience) {
    std::vector<uint32_t> lengths(n_, 0);
    for (int32_t m = 0; m < n_matrices; ++m) {
      const Matrix& of = matrices[m];
      for (uint32_t v = of.lo; v < of.hi; ++v) {
        const Slice own = row(of, v);
        lengths[v] += static_cast<uint32_t>(length(own));
        for (uint64_t e = own.begin; e < own.end; ++e) {
          ++lengths[of.ids[e]];
          plain_ = plain_ && of.ids[e] != v && (e == own.begin || of.ids[e - 1] != of.ids[e]);
        }
        patience.spend(length(own) + 1);
      }
    }
    order_.resize(n_);
    rank_.resize(n_);
    std::iota(order_.begin(), order_.end(), 0);
    std::stable_sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) { return lengths[a] > lengths[b]; });
    for (uint32_t k = 0; k < n_; ++k) rank_[order_[k]] = k;
  }

  // The matrix from the other end: rows are gone through by rank, so that what they add to others ascends.
  void fill(const Matrix& of, RankedRows& back, Patience& patience) {
    back.offsets.assign(n_ + 1, 0);
    back.ids.resize(entries_of(of));
    for (uint64_t e = 0; e < entries_of(of); ++e) ++back.offsets[rank_[of.ids[e]] + 1];
    std::partial_sum(back.offsets.begin(), back.offsets.end(), back.offsets.begin());
    std::vector<uint64_t> cursor(back.offsets.begin(), back.offsets.end() - 1);
    for (uint32_t u = 0; u < n_; ++u) {
      const Slice own = row(of, order_[u]);
      for (uint64_t e = own.begin; e < own.end; ++e) back.ids[cursor[rank_[of.ids[e]]]++] = u;
      patience.spend(length(own) + 1);
    }
  }

  static void turn(const RankedRows& from, RankedRows& to, Patience& patience) {
    const auto n = static_cast<uint32_t>(from.offsets.size() - 1);
    to.offsets.assign(n + 1, 0);
    to.ids.resize(from.ids.size());
    for (const uint32_t id : from.ids) ++to.offsets[id + 1];
    std::partial_sum(to.offsets.begin(), to.offsets.end(), to.offsets.begin());
    std::vector<uint64_t> cursor(to.offsets.begin(), to.offsets.end() - 1);
    for (uint32_t u = 0; u < n; ++u) {
      for (const uint32_t* id = from.begin(u); id < from.end(u); ++id) to.ids[cursor[*id]++] = u;
      patience.spend(static_cast<uint64_t>(from.end(u) - from.begin(u)) + 1);
    }
  }

  uint32_t n_;
  bool plain_ = true;
  std::vector<uint32_t> order_, rank_;
  std::vector<RankedRows> planes_;
  std::vector<bool> symmetric_;
};

}  // namespace qe::eliminate
