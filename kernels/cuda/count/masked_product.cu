// Elimination of a vertex between two that are linked: for each pair (a, b) of a matrix the sum over c of
// left[a, c] * vector[c] * right[b, c].
//
// Problem: as kernels/host/count/masked_product.cpp. The members of the shorter of two rows are sought in the longer one; a
// warp takes 32 pairs at a time and shares them out by the shorter rows' lengths. Where all three are one symmetric matrix
// without numbers, loops and repeats (`eliminate_triangle_sums`), each triangle is found once, at the pair of its greatest
// ids, and added to its three pairs; `eliminate_mirror` copies them to the pairs' other places. Ids are by descending degree,
// so lists of lesser ids are short. Triangles that are only counted come from triangle_counts.cu.
// Preconditions: owners[p] is the row of entry p; `eliminate_triangle_sums`: out is clear, middles[v] is where v's row of
// lesser ids ends. Launch: as many blocks of whole warps as run at a time. Deterministic. `flag` becomes 1 where numbers are too
// large. Sources: Azad, Buluç and Gilbert 2015 (masked products); Latapy 2008
// (compact-forward).
#include "count/eliminate.cuh"
#include "qe/lists.h"
#include "qe/match_plan.h"

using namespace qe;
using namespace qe::eliminate;

namespace {

// For each pair p below n: lists(p, &one, &other) tells whose common members are sought, meet(i, j, &sum) is called for entry
// i of the one and entry j of the other that are the same id, and done(p, sum) once at the end.
template <typename Lists, typename Meet, typename Done>
__device__ void each_pair(const WorkQueue& queue, uint64_t n, const uint32_t* ones, const uint32_t* others, Lists lists, Meet meet,
                          Done done) {
  const int lane = lane_id();
  WorkTaker taker(queue, n);
  while (true) {
    const uint64_t first = __shfl_sync(kAllLanes, lane == 0 ? taker.take(kLanes) : uint64_t{0}, 0);
    if (first >= n) return;
    Span one, other;
    if (first + lane < n) lists(first + lane, &one, &other);
    const bool turned = one.size() > other.size();
    const uint64_t least = turned ? other.size() : one.size();
    const int team = team_of(least);
    for (int k = lane / team; k < kLanes; k += kLanes / team) {
      const Span at = one.of_lane(k), there = other.of_lane(k);
      const bool turn = __shfl_sync(kAllLanes, turned, k);
      Sum sum;
      if (at.size() > 0 && there.size() > 0) {
        const Span& few = turn ? there : at;
        const Span& many = turn ? at : there;
        const uint32_t *seeking = turn ? others : ones, *sought = (turn ? ones : others) + many.begin;
        for (uint64_t i = few.begin + lane % team; i < few.end && !taker.stop().thread(); i += team) {
          const uint32_t id = seeking[i];
          for (uint64_t j = lower_bound(sought, many.size(), id); j < many.size() && sought[j] == id; ++j)
            meet(turn ? many.begin + j : i, turn ? i : many.begin + j, &sum);
        }
      }
      sum.gather(team);
      if (lane % team == 0 && first + k < n) done(first + k, sum);
    }
  }
}

__device__ void add_number(Number* to, const Number& more, uint32_t* flag) {
  raise_flag(flag, add_together(to->word, more.word, kWords) != 0);
}

}  // namespace

// owners[p]: the row of entry p. middles[v - lo], where not null: the first entry of v's row that is not less than v.
extern "C" __global__ void eliminate_owners(const Matrix m, uint32_t* owners, uint64_t* middles) {
  for (uint64_t k = thread_id() / kLanes; k < m.hi - m.lo; k += uint64_t{gridDim.x} * blockDim.x / kLanes) {
    const uint64_t begin = m.offsets[k], end = m.offsets[k + 1];
    const uint32_t v = m.lo + static_cast<uint32_t>(k);
    for (uint64_t p = begin + lane_id(); p < end; p += kLanes) owners[p] = v;
    if (middles && lane_id() == 0) middles[k] = begin + lower_bound(m.ids + begin, end - begin, v);
  }
}

// out[p], for each entry p of `across`: see above.
extern "C" __global__ void masked_product(const Matrix across, const uint32_t* owners, const Matrix left,
                                          const Matrix right, const Number* vector, Number* out, const WorkQueue queue,
                                          uint32_t* flag) {
  bool over = false;
  each_pair(
      queue, across.n_entries, left.ids, right.ids,
      [&](uint64_t p, Span* one, Span* other) {
        *one = row(left, owners[p]);
        *other = row(right, across.ids[p]);
      },
      [&](uint64_t i, uint64_t j, Sum* sum) {
        Number found = vector ? vector[left.ids[i]] : number_of(1);
        if (left.values) found = times(found, left.values[i], &over);
        if (right.values) found = times(found, right.values[j], &over);
        sum->add(found);
      },
      [&](uint64_t p, const Sum& sum) { out[p] = sum.number(&over); });
  raise_flag(flag, over);
}

// The same for one matrix, at the pairs whose second id is less than the first.
extern "C" __global__ void eliminate_triangle_sums(const Matrix m, const uint32_t* owners, const uint64_t* middles,
                                               const Number* vector, Number* out, const WorkQueue queue, uint32_t* flag) {
  bool over = false;
  auto weight = [&](uint32_t v) { return vector ? vector[v] : number_of(1); };
  each_pair(
      queue, m.n_entries, m.ids, m.ids,
      [&](uint64_t p, Span* one, Span* other) {
        const uint32_t v = owners[p], w = m.ids[p];
        if (w >= v) return;
        *one = {m.offsets[v - m.lo], p};
        *other = {m.offsets[w - m.lo], middles[w - m.lo]};
      },
      [&](uint64_t i, uint64_t j, Sum* sum) {
        const uint32_t x = m.ids[i], v = owners[i], w = owners[j];
        sum->add(weight(x));
        add_number(&out[i], weight(w), flag);
        add_number(&out[j], weight(v), flag);
      },
      [&](uint64_t p, const Sum& sum) {
        if (m.ids[p] >= owners[p]) return;
        add_number(&out[p], sum.number(&over), flag);
      });
  raise_flag(flag, over);
}

// Copies what pairs (a, b) with b < a have to (b, a).
extern "C" __global__ void eliminate_mirror(const Matrix m, const uint32_t* owners, Number* out) {
  for (uint64_t p = thread_id(); p < m.n_entries; p += uint64_t{gridDim.x} * blockDim.x) {
    const uint32_t a = owners[p], b = m.ids[p];
    if (b <= a) continue;
    const uint64_t begin = m.offsets[b - m.lo], end = m.offsets[b - m.lo + 1];
    out[p] = out[begin + lower_bound(m.ids + begin, end - begin, a)];
  }
}

// out[p], for each entry p of the matrix: the triangles of the pair, which `pairs` has for those of lesser ids.
extern "C" __global__ void triangle_sides(const Matrix m, const uint32_t* owners, const uint32_t* pairs, Number* out) {
  for (uint64_t p = thread_id(); p < m.n_entries; p += uint64_t{gridDim.x} * blockDim.x) {
    const uint32_t a = owners[p], b = m.ids[p];
    uint64_t place = p;
    if (b > a) {
      const uint64_t begin = m.offsets[b - m.lo];
      place = begin + lower_bound(m.ids + begin, m.offsets[b - m.lo + 1] - begin, a);
    }
    out[p] = number_of(pairs[place]);
  }
}
