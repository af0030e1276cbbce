// What the kernels that eliminate a triangle's third vertex share: a symmetric matrix without numbers, loops and repeats,
// whose pairs are looked at from one end, and the copying of what is found to each pair's other place.
#pragma once
#include <algorithm>
#include <vector>

#include "count/eliminate.h"
#include "qe/lists.h"

namespace qe::eliminate {

constexpr uint64_t kPatience = 1 << 18;  // ids read between looks at the clock

// The matrix; vertices are numbered from its first.
class Sides {
 public:
  Sides(const Matrix& m, Control* control)
      : m_(m), control_(control), n_(m.hi - m.lo), threads_(workers_for(control, entries_of(m))) {}

  uint32_t n() const { return n_; }
  uint32_t lo() const { return m_.lo; }
  int threads() const { return threads_; }
  Control* control() const { return control_; }
  const uint64_t* offsets() const { return m_.offsets; }
  const uint32_t* ids() const { return m_.ids; }
  uint64_t begin(uint32_t k) const { return m_.offsets[k]; }
  uint64_t end(uint32_t k) const { return m_.offsets[k + 1]; }
  uint64_t length(uint32_t k) const { return end(k) - begin(k); }
  uint64_t entries() const { return end(n_ - 1); }
  uint32_t neighbour(uint64_t e) const { return m_.ids[e] - m_.lo; }

  // Calls each(k) for all rows, on all threads.
  template <typename Each>
  void each_row(Each&& each) const {
    check(eliminate::each_row(threads_, control_, n_, 1 << 10, each));
  }

  // Calls worker.root(k) for all rows, on all threads. make(queue): a worker.
  template <typename Make>
  void each_root(Make&& make) const {
    check(eliminate::each_root(threads_, control_, n_, 4, make));
  }

  // Calls each(u, v, e, place) for all entries e of the rows order[0], order[1], …: u and v are the places of its ends in
  // this order, and if vertices were numbered so, the same pair seen from v would be at `place` of rows with these offsets.
  // A thread has a range of places: of one row they come one after the other. order, rank: null for the identity.
  template <typename Each>
  void each_turned(const uint32_t* order, const uint32_t* rank, const uint64_t* offsets, Each&& each) const {
    each_part(offsets, [&](uint32_t from, uint32_t to, uint64_t* cursor, uint32_t u) {
      const uint32_t k = order ? order[u] : u;
      for (uint64_t e = begin(k); e < end(k); ++e) {
        const uint32_t v = rank ? rank[neighbour(e)] : neighbour(e);
        if (v >= from && v < to) each(u, v, e, cursor[v - from]++);
      }
    });
  }

  // Calls each(e, place) for all entries e that lead to a vertex before their own, where `place` is that of the same pair
  // in the row of this vertex. lates[k]: the first entry of row k that leads to a vertex after it.
  template <typename Each>
  void each_early(const uint64_t* lates, Each&& each) const {
    each_part(lates, [&](uint32_t from, uint32_t to, uint64_t* cursor, uint32_t u) {
      uint64_t e = begin(u);
      if (from > 0) e += qe::lower_bound(m_.ids + e, lates[u] - e, m_.lo + from);
      for (; e < lates[u] && neighbour(e) < to; ++e) each(e, cursor[neighbour(e) - from]++);
    });
  }

  // Calls each(from, to) for ranges of vertices whose rows have as many entries, one a thread.
  template <typename Each>
  void each_range(Each&& each) const {
    const int parts = threads_;
    check(eliminate::each_row(threads_, control_, static_cast<uint64_t>(parts), 1,
                              [&](uint32_t part) { each(bound(part, parts), bound(part + 1, parts)); }));
  }

  // Bytes of each_turned and each_early.
  size_t turning_bytes() const { return n_ * sizeof(uint64_t); }

 private:
  // Calls each(from, to, cursor, u) for each vertex u, for each range [from, to) of vertices, one a thread. cursor: where in
  // places the range's begin, which each may move.
  template <typename Each>
  void each_part(const uint64_t* places, Each&& each) const {
    const int parts = threads_;
    check(eliminate::each_row(threads_, control_, static_cast<uint64_t>(parts), 1, [&](uint32_t part) {
      const uint32_t from = bound(part, parts), to = bound(part + 1, parts);
      std::vector<uint64_t> cursor(places + from, places + to);
      for (uint32_t u = 0; u < n_; ++u) {
        if (u % (1 << 16) == 0) check(stopped(control_));
        each(from, to, cursor.data(), u);
      }
    }));
  }

  // The first row of a part, where parts have as many entries.
  uint32_t bound(uint32_t part, int parts) const {
    if (static_cast<int>(part) == parts) return n_;
    const uint64_t wanted = share(entries(), static_cast<int>(part), parts);
    return static_cast<uint32_t>(std::lower_bound(m_.offsets, m_.offsets + n_, wanted) - m_.offsets);
  }

  const Matrix& m_;
  Control* control_;
  uint32_t n_;
  int threads_;
};

}  // namespace qe::eliminate
