// A hash table of counters by vertex id in shared memory, for one team.
#pragma once
#include "count/count.cuh"

namespace qe {

struct HashCounters {
  uint32_t* keys;
  uint32_t* counts;
  uint32_t slots;  // a power of two, more than the ids that come

  // `memory`: two words a slot.
  __device__ HashCounters(uint32_t* memory, uint32_t slots) : keys(memory), counts(memory + slots), slots(slots) {}

  __device__ void clear() {
    for (uint32_t i = team_rank(); i < slots; i += team_size()) keys[i] = kEmpty, counts[i] = 0;
  }

  __device__ uint32_t first_slot(uint32_t id) const { return id * 0x9E3779B1u >> 7 & (slots - 1); }

  // Adds one to the id's counter, and returns what it was.
  __device__ uint32_t add(uint32_t id) {
    uint32_t slot = first_slot(id);
    while (true) {
      const uint32_t key = atomicCAS(&keys[slot], kEmpty, id);
      if (key == kEmpty || key == id) return atomicAdd(&counts[slot], 1u);
      slot = (slot + 1) & (slots - 1);
    }
  }

  // The counter of an id that has been added.
  __device__ uint32_t& at(uint32_t id) {
    uint32_t slot = first_slot(id);
    while (keys[slot] != id) slot = (slot + 1) & (slots - 1);
    return counts[slot];
  }
};

}  // namespace qe
