// PCSR: the neighbours of one relationship type in one direction (GSI §IV, SGSI §4).
//
// `neighbours` holds the lists one after the other, each sorted ascending; equal entries are parallel
// relationships. The row index takes one of three forms behind locate(v) -> [begin, end):
//   dense   offsets[v - lo], v in [lo, hi): where most of the range has edges. Where no vertex has two, and those
//           that have one are few runs of ids, lists are columns: the runs say where v's is, and no offset is read
//   groups  hashed 128-byte groups of 15 (vertex, offset) pairs, an overflow link and END: one cache line pair
//           (one GPU transaction) for almost every look-up
//   sorted  keys ascending + offsets: binary search, the baseline
// Relationship ids: in the OUT adjacency an entry's position is its relationship's local id. Elsewhere `edge_ids`
// gives it where the type has parallel relationships or properties; else it is null and the id is found by
// searching the OUT adjacency.
#pragma once
#include "qe/portable.h"

namespace qe {

enum PcsrForm : int32_t { kDense = 0, kGroups = 1, kSorted = 2 };

constexpr uint32_t kNoVertex = 0xFFFFFFFFu;
constexpr int kGroupPairs = 15;

// 128 bytes. Pairs are filled from the front in offset order; an unused pair has vertex kNoVertex. `link` is the
// index of the group that continues this one, kNoVertex for none; `end` closes the last pair's list.
struct PcsrGroup {
  struct { uint32_t vertex, offset; } pair[kGroupPairs];
  uint32_t link;
  uint32_t end;
};
static_assert(sizeof(PcsrGroup) == 128, "one transaction");

struct Pcsr {
  int32_t form;
  uint32_t lo, hi;              // dense: id range [lo, hi) that offsets cover; others: range of the keys
  uint32_t n_keys;              // sorted: entries in keys; groups: number of home groups; dense: of runs
  const uint64_t* offsets;      // dense: hi - lo + 1; sorted: n_keys + 1; groups: null
  const uint32_t* keys;         // sorted; dense: of each run the first id, how many follow each other, the first one's entry
  const PcsrGroup* groups;      // groups only: home groups, then overflow groups
  const uint32_t* neighbours;   // n_entries
  const uint32_t* edge_ids;     // n_entries or null
  uint64_t n_entries;
};

struct Slice { uint64_t begin, end; };

QE_BOTH inline uint32_t group_hash(uint32_t v, uint32_t n) {  // multiply-shift onto [0, n)
  return static_cast<uint32_t>((static_cast<uint64_t>(v * 0x9E3779B1u) * n) >> 32);
}

// The two forms that search: see locate.
QE_BOTH QE_APART inline Slice locate_key(const Pcsr& p, uint32_t v) {
  if (p.form == kGroups) {
    if (p.n_keys == 0) return {0, 0};
    for (uint32_t g = group_hash(v, p.n_keys); g != kNoVertex; g = p.groups[g].link) {
      const PcsrGroup& group = p.groups[g];
      for (int i = 0; i < kGroupPairs && group.pair[i].vertex != kNoVertex; ++i) {
        if (group.pair[i].vertex != v) continue;
        const bool last = i + 1 == kGroupPairs || group.pair[i + 1].vertex == kNoVertex;
        return {group.pair[i].offset, last ? group.end : group.pair[i + 1].offset};
      }
    }
    return {0, 0};
  }
  uint32_t low = 0, high = p.n_keys;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (p.keys[middle] < v) low = middle + 1; else high = middle;
  }
  if (low == p.n_keys || p.keys[low] != v) return {0, 0};
  return {p.offsets[low], p.offsets[low + 1]};
}

// Whether lists are columns.
QE_BOTH inline bool has_columns(const Pcsr& p) { return p.form == kDense && p.n_keys != 0; }

// A vertex between runs has its empty list where it would begin, as with offsets.
QE_BOTH inline Slice locate_in_columns(const Pcsr& p, uint32_t v) {
  uint64_t behind = 0;
  for (const uint32_t* run = p.keys; run != p.keys + 3 * p.n_keys && v >= run[0]; run += 3) {
    const uint64_t begin = run[2] + uint64_t{v - run[0]};
    if (v - run[0] < run[1]) return {begin, begin + 1};
    behind = run[2] + uint64_t{run[1]};
  }
  return {behind, behind};
}

QE_BOTH inline Slice locate(const Pcsr& p, uint32_t v) {
  if (p.form != kDense) return locate_key(p, v);
  if (v < p.lo || v >= p.hi) return {0, 0};
  if (p.n_keys != 0) return locate_in_columns(p, v);
  return {p.offsets[v - p.lo], p.offsets[v - p.lo + 1]};
}

}  // namespace qe
