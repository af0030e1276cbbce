// Builds PCSRs on the device: the arrays that the host builds, bit for bit (qengine/storage/forms.py), from pairs (list,
// neighbour) as numbers of 64 bits, the list in the upper half.
//
// Problem: `pcsr_pairs` writes the pairs of another PCSR, where asked also each of them turned round, a loop once. Once they are
// sorted, `pcsr_unpack` gives the neighbours and marks where lists begin; `pcsr_starts` makes the sorted form of these
// places, `pcsr_dense` of that the dense form. For groups: `pcsr_homes` numbers the lists' home groups, and when they are
// sorted by these, `pcsr_ranks` says how long lists are in that order and which open an overflow group; when these are
// added up, `pcsr_groups` fills the groups, and `pcsr_move` moves the neighbours to where the groups expect them.
// Preconditions: as said of each. No pair is kNoPair. Launch: any grid of one-dimensional blocks of whole warps, an entry
// a thread, strided (`pcsr_pairs` of the groups form: a group a warp). Shared memory: none.
// Bytes moved: a pair 8 to write and 8 to read, a neighbour 4; a list 20, in groups 70 more; a neighbour that is moved 8, and
// a binary search among the lists' begins. Deterministic.
// Source: GSI §IV.
#include "base/warp.cuh"
#include "qe/pcsr.h"

using namespace qe;

namespace {

constexpr uint64_t kNoPair = 0xFFFFFFFFFFFFFFFFull;

// Calls call(i) for each i < n that is this thread's.
template <typename Call>
__device__ void each(uint64_t n, Call call) {
  const uint64_t step = uint64_t{gridDim.x} * blockDim.x;
  for (uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step) call(i);
}

// How many of the n ascending numbers are less than `value`.
__device__ uint64_t below(const uint64_t* numbers, uint64_t n, uint64_t value) {
  uint64_t low = 0, high = n;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (numbers[middle] < value) low = middle + 1; else high = middle;
  }
  return low;
}

// The list that has an entry: list r has [begins[r], begins[r + 1]).
__device__ uint64_t list_of(const uint64_t* begins, uint64_t n, uint64_t entry) { return below(begins, n, entry + 1) - 1; }

__device__ void write_pair(uint64_t* pairs, uint64_t at, uint64_t n, bool both, uint32_t list, uint32_t neighbour) {
  pairs[at] = uint64_t{list} << 32 | neighbour;
  if (both) pairs[n + at] = list == neighbour ? kNoPair : uint64_t{neighbour} << 32 | list;
}

// The place of the j-th list by home groups in its own group and those that follow it.
__device__ uint64_t rank_of(const uint64_t* order, uint64_t j) {
  return j - below(order, j + 1, order[j] >> 32 << 32);
}

}  // namespace

// pairs[n_entries], or twice as many where `both` ways are wanted. `n_groups`: of the groups form, overflow groups too.
extern "C" __global__ void pcsr_pairs(const Pcsr* pcsr, uint64_t n_groups, int both, uint64_t* pairs) {
  const Pcsr& from = *pcsr;
  const uint64_t n = from.n_entries;
  if (from.form != kGroups) {
    const uint64_t lists = from.form == kDense ? from.hi - from.lo : from.n_keys;
    each(n, [&](uint64_t i) {
      const uint64_t r = list_of(from.offsets, lists, i);
      const uint32_t list = from.form == kDense ? from.lo + static_cast<uint32_t>(r) : from.keys[r];
      write_pair(pairs, i, n, both != 0, list, from.neighbours[i]);
    });
    return;
  }
  const uint64_t warps = uint64_t{gridDim.x} * blockDim.x / kLanes;
  for (uint64_t g = (uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) / kLanes; g < n_groups; g += warps) {
    const PcsrGroup& group = from.groups[g];
    for (int k = 0; k < kGroupPairs && group.pair[k].vertex != kNoVertex; ++k) {
      const bool last = k + 1 == kGroupPairs || group.pair[k + 1].vertex == kNoVertex;
      const uint64_t end = last ? group.end : group.pair[k + 1].offset;
      for (uint64_t i = uint64_t{group.pair[k].offset} + lane_id(); i < end; i += kLanes)
        write_pair(pairs, i, n, both != 0, group.pair[k].vertex, from.neighbours[i]);
    }
  }
}

// `pairs`: ascending. begins[i]: 1 where a list begins.
extern "C" __global__ void pcsr_unpack(const uint64_t* pairs, uint64_t n, uint32_t* neighbours, uint8_t* begins) {
  each(n, [&](uint64_t i) {
    neighbours[i] = static_cast<uint32_t>(pairs[i]);
    begins[i] = i == 0 || pairs[i] >> 32 != pairs[i - 1] >> 32;
  });
}

// `places`: where the n_lists lists begin among the n pairs. keys[n_lists], offsets[n_lists + 1].
extern "C" __global__ void pcsr_starts(const uint64_t* pairs, uint64_t n, const int64_t* places, uint64_t n_lists,
                                       uint32_t* keys, uint64_t* offsets) {
  each(n_lists + 1, [&](uint64_t r) {
    offsets[r] = r < n_lists ? static_cast<uint64_t>(places[r]) : n;
    if (r < n_lists) keys[r] = static_cast<uint32_t>(pairs[places[r]] >> 32);
  });
}

// dense[hi - lo + 1], of the sorted form.
extern "C" __global__ void pcsr_dense(const uint32_t* keys, const uint64_t* offsets, uint64_t n_lists, uint32_t lo,
                                      uint32_t hi, uint64_t* dense) {
  each(uint64_t{hi} - lo + 1, [&](uint64_t i) {
    uint64_t low = 0, high = n_lists;
    while (low < high) {
      const uint64_t middle = low + (high - low) / 2;
      if (keys[middle] < lo + i) low = middle + 1; else high = middle;
    }
    dense[i] = offsets[low];
  });
}

// order[r]: the home group of list r in the upper half, r in the lower.
extern "C" __global__ void pcsr_homes(const uint32_t* keys, uint64_t n_lists, uint32_t homes, uint64_t* order) {
  each(n_lists, [&](uint64_t r) { order[r] = uint64_t{group_hash(keys[r], homes)} << 32 | r; });
}

// `order`: ascending now. lengths[j]: of the j-th list in this order. opens[j]: 1 where it opens an overflow group.
extern "C" __global__ void pcsr_ranks(const uint64_t* order, uint64_t n_lists, const uint64_t* offsets, uint64_t* lengths,
                                      uint64_t* opens) {
  each(n_lists, [&](uint64_t j) {
    const auto r = static_cast<uint32_t>(order[j]);
    const uint64_t rank = rank_of(order, j);
    lengths[j] = offsets[r + 1] - offsets[r];
    opens[j] = rank > 0 && rank % kGroupPairs == 0;
  });
}

// groups[n_groups]: without a pair.
extern "C" __global__ void pcsr_empty(PcsrGroup* groups, uint64_t n_groups) {
  each(n_groups, [&](uint64_t g) {
    for (auto& pair : groups[g].pair) pair = {kNoVertex, 0};
    groups[g].link = kNoVertex;
    groups[g].end = 0;
  });
}

// Lists in the order of their homes. `ends`, `opened`: lengths and opens added up, each with those before it.
struct ListOrder {
  const uint64_t* order;
  const uint64_t* ends;
  const uint64_t* opened;
  uint64_t n_lists;
  uint32_t homes, unused;
};

// begins[r]: where list r goes.
extern "C" __global__ void pcsr_groups(const ListOrder lists, const uint32_t* keys, const uint64_t* offsets, PcsrGroup* groups,
                                       uint64_t* begins) {
  const uint64_t *const order = lists.order, *const ends = lists.ends, *const opened = lists.opened, n_lists = lists.n_lists;
  auto group_of = [&](uint64_t j, uint64_t rank) {
    return rank < kGroupPairs ? order[j] >> 32 : lists.homes + opened[j] - 1;
  };
  each(n_lists, [&](uint64_t j) {
    const auto r = static_cast<uint32_t>(order[j]);
    const uint64_t rank = rank_of(order, j), group = group_of(j, rank);
    const uint64_t begin = ends[j] - (offsets[r + 1] - offsets[r]);
    groups[group].pair[rank % kGroupPairs] = {keys[r], static_cast<uint32_t>(begin)};
    begins[r] = begin;
    const bool last = j + 1 == n_lists || order[j + 1] >> 32 != order[j] >> 32;
    if (last || rank % kGroupPairs == kGroupPairs - 1) groups[group].end = static_cast<uint32_t>(ends[j]);
    if (rank > 0 && rank % kGroupPairs == 0) groups[group_of(j - 1, rank - 1)].link = static_cast<uint32_t>(group);
  });
}

// Moves the n neighbours of the lists that begin at `offsets` to lists that begin at `begins`.
extern "C" __global__ void pcsr_move(const uint32_t* neighbours, uint64_t n, const uint64_t* offsets, uint64_t n_lists,
                                     const uint64_t* begins, uint32_t* moved) {
  each(n, [&](uint64_t i) {
    const uint64_t r = list_of(offsets, n_lists, i);
    moved[begins[r] + (i - offsets[r])] = neighbours[i];
  });
}
