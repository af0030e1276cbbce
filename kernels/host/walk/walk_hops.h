// What a hop may be: the entries of the layers, less those that predicates or other columns rule out.
#pragma once
#include <algorithm>
#include <vector>

#include "qe/walk.h"

namespace qe::walks {

inline bool bit(const uint64_t* bits, uint64_t i) { return bits[i >> 6] >> (i & 63) & 1; }

// The first position in [begin, end) of a sorted list whose entry is not less than v.
inline uint64_t lower_position(const uint32_t* list, uint64_t begin, uint64_t end, uint32_t v) {
  return static_cast<uint64_t>(std::lower_bound(list + begin, list + end, v) - list);
}

// The global id of the relationship behind entry `position` (vertex w) of v's list.
inline int64_t relationship_id(const WalkLayer& layer, uint32_t v, uint32_t w, uint64_t position) {
  if (layer.is_out) return layer.base + static_cast<int64_t>(position);
  if (layer.lists.edge_ids) return layer.base + layer.lists.edge_ids[position];
  const Slice from_w = locate(layer.out, w);
  const uint64_t found = lower_position(layer.out.neighbours, from_w.begin, from_w.end, v);
  if (found < from_w.end && layer.out.neighbours[found] == v) return layer.base + static_cast<int64_t>(found);
  const Slice from_v = locate(layer.out, v);  // an undirected relationship loaded the other way
  return layer.base + static_cast<int64_t>(lower_position(layer.out.neighbours, from_v.begin, from_v.end, w));
}

struct Hops {
  const WalkLayer* layers = nullptr;
  int32_t n_layers = 0;
  std::vector<int64_t> forbidden;  // ascending
  const uint64_t* through = nullptr;

  // Whether a walk may go on from v, where v isn't its start.
  bool passes(uint32_t v) const { return !through || bit(through, v); }

  // Whether an entry may be taken at all. Loops are another matter: see skip_loops.
  bool allows(const WalkLayer& layer, uint32_t v, uint32_t w, uint64_t position) const {
    if (!layer.allowed && forbidden.empty()) return true;
    const int64_t id = relationship_id(layer, v, w, position);
    if (layer.allowed && !bit(layer.allowed, static_cast<uint64_t>(id - layer.base))) return false;
    return forbidden.empty() || !std::binary_search(forbidden.begin(), forbidden.end(), id);
  }

  uint64_t degree(uint32_t v) const {
    uint64_t sum = 0;
    for (int32_t i = 0; i < n_layers; ++i) {
      const Slice slice = locate(layers[i].lists, v);
      sum += slice.end - slice.begin;
    }
    return sum;
  }

  // Calls visit(layer, w, position) for each hop from v until it returns true; whether it did.
  template <class Visit>
  bool any(uint32_t v, Visit&& visit) const {
    for (int32_t i = 0; i < n_layers; ++i) {
      const WalkLayer& layer = layers[i];
      const Slice slice = locate(layer.lists, v);
      for (uint64_t at = slice.begin; at < slice.end; ++at) {
        const uint32_t w = layer.lists.neighbours[at];
        if (layer.skip_loops && w == v) continue;
        if (allows(layer, v, w, at) && visit(layer, w, at)) return true;
      }
    }
    return false;
  }
};

// The vertices that a walk may end on.
struct EndFilter {
  uint32_t lo = 0, hi = 0;
  const uint64_t* bits = nullptr;

  bool accepts(uint32_t v) const { return v >= lo && v < hi && (!bits || bit(bits, v)); }
};

}  // namespace qe::walks
