// Ways for a warp to count the common ids of k ascending lists, for the micro-benchmark beside this file.
//
// Problem p has lists ids[begins[p * k + j], begins[p * k + j + 1]), j = 0..k-1, the shortest first; ids are unique in a list
// and below 32 * kWords. A warp a problem, strided. counts[p]: common ids.
#include "qe/lists.h"

using namespace qe;

namespace {

constexpr uint32_t kAll = 0xFFFFFFFFu;
constexpr int kWords = 1024;  // of one warp's bitmap
constexpr int kMost = 4;

struct List {
  const uint32_t* data;
  uint32_t n;
};

__device__ inline int lane_id() { return threadIdx.x % 32; }

__device__ inline uint32_t sum_over(uint32_t mine) {
  for (int step = 16; step > 0; step /= 2) mine += __shfl_xor_sync(kAll, mine, step);
  return mine;
}

// A lane an id of the shortest list, looked up in each other by binary search.
__device__ uint32_t by_binary_search(const List* lists, int k, uint32_t*) {
  uint32_t found = 0;
  for (uint32_t i = lane_id(); i < lists[0].n; i += 32) {
    bool common = true;
    for (int j = 1; j < k && common; ++j) common = contains(lists[j].data, lists[j].n, lists[0].data[i]);
    found += common;
  }
  return found;
}

// First index from `at` on whose id is >= v, in steps that double.
__device__ inline uint32_t gallop(const List& list, uint32_t at, uint32_t v) {
  uint32_t step = 1;
  while (at + step < list.n && list.data[at + step - 1] < v) {
    at += step;
    step *= 2;
  }
  const uint32_t most = list.n - at < step ? list.n - at : step;
  return at + static_cast<uint32_t>(lower_bound(list.data + at, most, v));
}

// A lane a run of the shortest list; all lists are sought in turn for the next id that may be common (leapfrog).
__device__ uint32_t by_leapfrog(const List* lists, int k, uint32_t*) {
  const uint32_t each = (lists[0].n + 31) / 32, begin = lane_id() * each;
  const uint32_t end = begin + each < lists[0].n ? begin + each : lists[0].n;
  if (begin >= end) return 0;
  uint32_t found = 0, at[kMost];
  for (int j = 1; j < k; ++j) at[j] = static_cast<uint32_t>(lower_bound(lists[j].data, lists[j].n, lists[0].data[begin]));
  for (uint32_t i = begin; i < end;) {
    const uint32_t v = lists[0].data[i];
    uint32_t next = v;
    for (int j = 1; j < k && next == v; ++j) {
      at[j] = gallop(lists[j], at[j], v);
      if (at[j] == lists[j].n) return found;
      next = lists[j].data[at[j]];
    }
    if (next == v) {
      ++found;
      ++i;
    } else {
      const List rest{lists[0].data, end};
      i = gallop(rest, i + 1, next);
    }
  }
  return found;
}

// Two lists merged: a lane a diagonal of the merge path.
__device__ uint32_t merged(const List& a, const List& b) {
  const uint32_t total = a.n + b.n, each = (total + 31) / 32;
  const uint32_t begin = lane_id() * each < total ? lane_id() * each : total;
  const uint32_t end = begin + each < total ? begin + each : total;
  uint32_t low = begin > b.n ? begin - b.n : 0, high = begin < a.n ? begin : a.n;
  while (low < high) {
    const uint32_t middle = (low + high) / 2;
    if (a.data[middle] < b.data[begin - middle - 1]) low = middle + 1; else high = middle;
  }
  uint32_t i = low, j = begin - low, found = 0;
  for (uint32_t at = begin; at < end && i < a.n; ++at) {
    if (j == b.n || a.data[i] < b.data[j]) {
      ++i;
    } else {
      found += a.data[i] == b.data[j];
      ++j;
    }
  }
  return found;
}

// Two lists block against block: 32 ids of each are compared with each other (AllCompare).
__device__ uint32_t compared(const List& a, const List& b) {
  uint32_t i = 0, j = 0, found = 0;
  while (i < a.n && j < b.n) {
    const uint32_t x = i + lane_id() < a.n ? a.data[i + lane_id()] : 0xFFFFFFFEu;
    const uint32_t y = j + lane_id() < b.n ? b.data[j + lane_id()] : 0xFFFFFFFFu;
    bool same = false;
    for (int lane = 0; lane < 32; ++lane) same |= x == __shfl_sync(kAll, y, lane);
    found += same;
    const uint32_t last_x = __shfl_sync(kAll, x, 31), last_y = __shfl_sync(kAll, y, 31);
    i += last_x <= last_y ? 32 : 0;
    j += last_y <= last_x ? 32 : 0;
  }
  return found;
}

__device__ uint32_t by_merge(const List* lists, int, uint32_t*) { return merged(lists[0], lists[1]); }
__device__ uint32_t by_all_compare(const List* lists, int, uint32_t*) { return compared(lists[0], lists[1]); }

__device__ void mark(const List& list, uint32_t* bits) {
  for (int w = lane_id(); w < kWords; w += 32) bits[w] = 0;
  __syncwarp();
  for (uint32_t i = lane_id(); i < list.n; i += 32) atomicOr(bits + list.data[i] / 32, 1u << list.data[i] % 32);
  __syncwarp();
}

__device__ uint32_t marked(const List& list, const uint32_t* bits) {
  uint32_t found = 0;
  for (uint32_t i = lane_id(); i < list.n; i += 32) found += bits[list.data[i] / 32] >> list.data[i] % 32 & 1;
  return found;
}

// The shortest list marked in shared memory, the other looked up.
__device__ uint32_t by_marks(const List* lists, int, uint32_t* bits) {
  mark(lists[0], bits);
  return marked(lists[1], bits);
}

template <typename Count>
__device__ void each_problem(const uint32_t* ids, const uint64_t* begins, int k, uint64_t problems, uint32_t* counts,
                             Count count) {
  extern __shared__ uint32_t shared[];
  uint32_t* bits = shared + threadIdx.x / 32 * kWords;
  const uint64_t step = uint64_t{gridDim.x} * blockDim.x / 32;
  for (uint64_t p = (uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32; p < problems; p += step) {
    List lists[kMost];
    for (int j = 0; j < k; ++j)
      lists[j] = {ids + begins[p * k + j], static_cast<uint32_t>(begins[p * k + j + 1] - begins[p * k + j])};
    const uint32_t found = sum_over(count(lists, k, bits));
    if (lane_id() == 0) counts[p] = found;
    __syncwarp();
  }
}

}  // namespace

#define QE_OPERATION(name)                                                                                        \
  extern "C" __global__ void name##_lists(const uint32_t* ids, const uint64_t* begins, int32_t k, uint64_t n,      \
                                          uint32_t* counts) {                                                      \
    each_problem(ids, begins, k, n, counts, [](const List* lists, int of, uint32_t* bits) {                        \
      return by_##name(lists, of, bits);                                                                           \
    });                                                                                                            \
  }

QE_OPERATION(binary_search)
QE_OPERATION(leapfrog)
QE_OPERATION(merge)
QE_OPERATION(all_compare)
QE_OPERATION(marks)

// The longer lists against marks of the first problem's shortest, made once a warp: what sharing an input is worth.
extern "C" __global__ void kept_marks_lists(const uint32_t* ids, const uint64_t* begins, int32_t k, uint64_t n,
                                            uint32_t* counts) {
  extern __shared__ uint32_t shared[];
  uint32_t* bits = shared + threadIdx.x / 32 * kWords;
  mark({ids + begins[0], static_cast<uint32_t>(begins[1] - begins[0])}, bits);
  each_problem(ids, begins, k, n, counts, [](const List* lists, int, uint32_t* kept) { return marked(lists[1], kept); });
}
