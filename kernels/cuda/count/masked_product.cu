// Elimination of a vertex between two that are linked: for each pair (a, b) of a matrix the sum over c of
// left[a, c] * vector[c] * right[b, c].
//
// Problem: as kernels/host/count/masked_product.cpp. The members of the shorter of two rows are sought in the longer one, in its
// row of bits if there is one: the longest rows of a matrix without numbers and repeats have one, over all vertices. A
// warp takes 32 pairs at a time and shares them out by the shorter rows' lengths. Where all three are one symmetric matrix
// without numbers, loops and repeats (`eliminate_triangle_sums`), each triangle is found once, at the pair of its greatest
// ids, and added to its three pairs; `eliminate_mirror` copies them to the pairs' other places. Ids are by descending degree,
// so lists of lesser ids are short. Triangles that are only counted come from triangle_counts.cu.
// Bytes moved: a pair, the ids of the shorter rows, and for each of them a sector of a row of bits, or a binary search.
// Preconditions: owners[p] is the row of entry p; `eliminate_triangle_sums`: out is clear, middles[v] is where v's row of
// lesser ids ends. Launch: as many blocks of whole warps as run at a time. Deterministic. `flag` becomes 1 where numbers are too
// large. Sources: Azad, Buluç and Gilbert 2015 (masked products); Latapy 2008
// (compact-forward).
#include "count/matrix_rows.cuh"
#include "qe/match_plan.h"

using namespace qe;
using namespace qe::eliminate;

namespace {

// Some entries, and a row of bits of their ids, or null.
struct List {
  Span span;
  const uint32_t* bits = nullptr;

  __device__ uint64_t size() const { return span.size(); }
};

constexpr uint64_t kSomewhere = ~uint64_t{0};  // an entry that was found by its bit
constexpr int kAtOnce = 4;                     // ids whose bits are read at a time

// Calls found(id, entry) for the entries of `few` whose bits are set, those of one lane of a team.
template <typename Found>
__device__ void each_set(const uint32_t* ids, const Span& few, const uint32_t* bits, int first, int team, Stop& stop, Found found) {
  for (uint64_t begin = few.begin + first; begin < few.end && !stop.thread(); begin += kAtOnce * team) {
    uint32_t id[kAtOnce], word[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) id[k] = begin + k * team < few.end ? ids[begin + k * team] : 0;
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) word[k] = begin + k * team < few.end ? bits[id[k] / 32] : 0;
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k)
      if (word[k] >> id[k] % 32 & 1) found(id[k], begin + k * team);
  }
}

// For each pair p below n: lists(p, &one, &other) tells whose common members are sought, meet(id, i, j, &sum) is called for entry
// i of the one and entry j of the other that are the same id, and done(p, sum) once at the end. kSomewhere stands for an entry of
// a list that has a row of bits.
template <typename Lists, typename Meet, typename Done>
__device__ void each_pair(const WorkQueue& queue, uint64_t n, const uint32_t* ones, const uint32_t* others, Lists lists, Meet meet,
                          Done done) {
  const int lane = lane_id();
  WorkTaker taker(queue, n);
  while (true) {
    const uint64_t first = __shfl_sync(kAllLanes, lane == 0 ? taker.take(kLanes) : uint64_t{0}, 0);
    if (first >= n) return;
    List one, other;
    if (first + lane < n) lists(first + lane, &one, &other);
    const bool turned = one.size() > other.size();
    const uint64_t least = turned ? other.size() : one.size();
    const int team = team_of(least);
    const uint64_t rows = reinterpret_cast<uint64_t>(turned ? one.bits : other.bits);
    for (int k = lane / team; k < kLanes; k += kLanes / team) {
      const Span at = one.span.of_lane(k), there = other.span.of_lane(k);
      const bool turn = __shfl_sync(kAllLanes, turned, k);
      const auto* bits = reinterpret_cast<const uint32_t*>(__shfl_sync(kAllLanes, rows, k));
      Sum sum;
      if (at.size() > 0 && there.size() > 0) {
        const Span& few = turn ? there : at;
        const Span& many = turn ? at : there;
        const uint32_t *seeking = turn ? others : ones, *sought = (turn ? ones : others) + many.begin;
        if (bits != nullptr) {
          each_set(seeking, few, bits, lane % team, team, taker.stop(),
                   [&](uint32_t id, uint64_t i) { meet(id, turn ? kSomewhere : i, turn ? i : kSomewhere, &sum); });
        } else {
          for (uint64_t i = few.begin + lane % team; i < few.end && !taker.stop().thread(); i += team) {
            const uint32_t id = seeking[i];
            for (uint64_t j = lower_bound(sought, many.size(), id); j < many.size() && sought[j] == id; ++j)
              meet(id, turn ? many.begin + j : i, turn ? i : many.begin + j, &sum);
          }
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

// out[p], for each entry p = (u, v) of `back`: the number of the matrix for (v, u), which it links.
extern "C" __global__ void eliminate_turned(const Matrix back, const uint32_t* owners, const Matrix m, Number* out) {
  for (uint64_t p = thread_id(); p < back.n_entries; p += uint64_t{gridDim.x} * blockDim.x) {
    const Span at = row(m, back.ids[p]);
    const uint64_t e = at.begin + lower_bound(m.ids + at.begin, at.size(), owners[p]);
    out[p] = e < at.end && m.ids[e] == owners[p] ? value(m, e) : number_of(0);
  }
}

// Sets the bits of rows hubs[k], of a matrix without repeats, in rows k, which are clear.
extern "C" __global__ void eliminate_bit_rows(const Matrix m, const uint32_t* hubs, uint64_t n_hubs, uint32_t* bits, uint64_t words) {
  for (uint64_t k = blockIdx.x; k < n_hubs; k += gridDim.x) {
    const Span span = row(m, hubs[k]);
    for (uint64_t e = span.begin + threadIdx.x; e < span.end; e += blockDim.x)
      atomicOr(&bits[k * words + m.ids[e] / 32], 1u << m.ids[e] % 32);
  }
}

// out[p], for each entry p of `across`: see above.
extern "C" __global__ void masked_product(const Matrix across, const uint32_t* owners, const Side one_side, const Side other_side,
                                          const Number* vector, Number* out, const WorkQueue queue, uint32_t* flag) {
  const Matrix &left = one_side.of, &right = other_side.of;
  bool over = false;
  each_pair(
      queue, across.n_entries, left.ids, right.ids,
      [&](uint64_t p, List* one, List* other) {
        *one = {row(left, owners[p]), one_side.rows.row(left, owners[p])};
        *other = {row(right, across.ids[p]), other_side.rows.row(right, across.ids[p])};
      },
      [&](uint32_t id, uint64_t i, uint64_t j, Sum* sum) {
        Number found = vector ? vector[id] : number_of(1);
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
      [&](uint64_t p, List* one, List* other) {
        const uint32_t v = owners[p], w = m.ids[p];
        if (w >= v) return;
        one->span = {m.offsets[v - m.lo], p};
        other->span = {m.offsets[w - m.lo], middles[w - m.lo]};
      },
      [&](uint32_t x, uint64_t i, uint64_t j, Sum* sum) {
        const uint32_t v = owners[i], w = owners[j];
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
