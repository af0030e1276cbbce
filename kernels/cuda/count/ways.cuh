// How many ways lead from a root to each vertex: a hash table in a block's shared memory, for roots with few of them.
#pragma once
#include "count/eliminate.cuh"
#include "qe/match_plan.h"

namespace qe::eliminate {

// By a block. Linear probing; empty places have the key kNoVertex. Ways of several kinds have a number each.
class WaysTable {
 public:
  // words: (1 + kinds) * slots, a power of two.
  __device__ WaysTable(uint32_t* words, uint32_t slots, uint32_t kinds = 1)
      : keys_(words), counts_(words + slots), slots_(slots), kinds_(kinds) {}

  __device__ void clear() {
    for (uint32_t i = threadIdx.x; i < slots_; i += blockDim.x) clear(i);
  }
  __device__ void clear(uint32_t i) {
    keys_[i] = kNoVertex;
    for (uint32_t kind = 0; kind < kinds_; ++kind) counts_[kind * slots_ + i] = 0;
  }

  // How many ways it has room for: a third is left free.
  __device__ uint32_t room() const { return slots_ / 3 * 2; }
  // Uses only as much as so many ways take. It must be empty.
  __device__ void fit(uint32_t ways) {
    bits_ = 5;
    while ((1u << bits_) < ways + ways / 2) ++bits_;
  }

  __device__ void add(uint32_t id, uint32_t kind = 0) {
    uint32_t i = first(id);
    while (true) {
      const uint32_t key = keys_[i];
      if (key == id || (key == kNoVertex && is_mine(atomicCAS(&keys_[i], kNoVertex, id), id))) break;
      i = (i + 1) & (size() - 1);
    }
    atomicAdd(&counts_[kind * slots_ + i], 1u);
  }
  // Counts a way to a vertex that it has, and none to others.
  __device__ void raise(uint32_t id, uint32_t kind) {
    for (uint32_t i = first(id);; i = (i + 1) & (size() - 1)) {
      const uint32_t key = keys_[i];
      if (key == id) atomicAdd(&counts_[kind * slots_ + i], 1u);
      if (key == id || key == kNoVertex) return;
    }
  }
  __device__ uint32_t get(uint32_t id) const {
    for (uint32_t i = first(id);; i = (i + 1) & (size() - 1)) {
      const uint32_t key = keys_[i];
      if (key == id) return counts_[i];
      if (key == kNoVertex) return 0;
    }
  }

  // Its places in use: the vertex, or kNoVertex, and its number.
  __device__ uint32_t size() const { return 1u << bits_; }
  __device__ uint32_t id(uint32_t i) const { return keys_[i]; }
  __device__ uint32_t count(uint32_t i, uint32_t kind = 0) const { return counts_[kind * slots_ + i]; }

 private:
  __device__ uint32_t first(uint32_t id) const { return id * 0x9E3779B1u >> (32 - bits_); }
  __device__ static bool is_mine(uint32_t before, uint32_t id) { return before == kNoVertex || before == id; }

  uint32_t *keys_, *counts_;
  uint32_t slots_, kinds_, bits_ = 5;
};

// Gives the warps of a block, and their lanes, lists of their own: list(entry) for each entry of a row, then
// take(lane whose list it is, part of it, this lane's number in its team, lanes of a team). Neighbouring entries are different
// warps': ids are by descending degree, so that the longest lists are side by side.
template <typename List, typename Take>
__device__ void each_list_of(const Span& own, Stop& stop, List list, Take take) {
  const uint64_t warps = blockDim.x / kLanes, warp = threadIdx.x / kLanes;
  for (uint64_t first = own.begin + warp; first < own.end && !stop.warp(); first += warps * kLanes) {
    const uint64_t e = first + lane_id() * warps;
    const Span its = e < own.end ? list(e) : Span{};
    each_list(its, [&](int k, const Span& at, int place, int team) {
      each_part(at, stop, [&](const Span& part) { take(k, part, place, team); });
    });
  }
}

}  // namespace qe::eliminate
