// Sums over lists of vertices of what each has for 32 roots, in one version per instruction set.
//
// A line is 32 numbers of 16 bits, a lane each. Root k has lane `lane_of(k)`, so that a line's words hold roots k and 16 + k: they
// are taken apart by a shift.
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/isa.h"

namespace qe {

constexpr uint32_t kLanes = 32;

constexpr uint32_t lane_of(uint32_t root) { return 2 * (root & 15) + (root >> 4); }

struct alignas(64) LaneLine {
  uint16_t of[kLanes];
};

struct alignas(64) LaneSums {
  uint32_t of[kLanes];  // by root
};

// What is added up over many vertices, of numbers p and sums q.
struct alignas(64) LaneTotals {
  uint64_t squares[kLanes];     // p^2; root k's at `square_of(k)`
  uint64_t products[8];         // p q of all roots, in parts
  uint64_t low[8], high[8];     // q^2 of all roots: the lower and the upper halves of squares, in parts

  static constexpr uint32_t square_of(uint32_t root) { return (2 * (root >> 4) + (root & 1)) * 8 + (root & 15) / 2; }
};

struct SimdLanes {
  // Writes to `out` how many of n marks have each root's bit, of those roots that `own` allows. No more than 65,535 may.
  void (*count_marks)(const uint32_t* marks, const uint32_t* ids, size_t n, uint32_t own, LaneLine* out);
  // Adds up the lines of n ids, q, for the roots that `own` allows: where no sum exceeds 32 bits. `totals` grows by what they and the
  // line p come to. Returns the sum of p^2. Ids before `readable` may be read ahead.
  uint64_t (*add_lanes)(const LaneLine* lines, const uint32_t* ids, size_t n, const uint32_t* readable, const LaneLine& p, uint32_t own,
                        LaneSums* q, LaneTotals* totals);
  size_t cost;  // of an id in both, in ids looked up at random
};

const SimdLanes& simd_lanes(Isa isa);

}  // namespace qe
