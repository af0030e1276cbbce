// One step of WanderJoin for all walks of a batch, in one version per instruction set.
//
// Problem: each walk picks a vertex from the shortest of its lists, then it is looked up in the others; walks that find none
// end. First all walks of a batch pick, then all validate, so that what they read arrives in between. Levels are plain: what
// they don't demand isn't checked (see PlainLevel). With AVX-512 eight walks take each step together: lists, picks and
// binary searches are gathers, walks that end are compressed away, and no branch depends on one walk. All versions make the
// same walks and the same weights as qe/sample.h. Philox blocks are drawn the same way.
// Memory: 28 bytes a walk beside the batch's.
// Source: ThunderRW (VLDB 2021) for the interleaving; Philox: Salmon et al., SC 2011.
#pragma once
#include <cstdint>
#include <vector>

#include "base/isa.h"
#include "qe/lists.h"
#include "qe/sample.h"

namespace qe {

constexpr int kBatchSamples = 512;
constexpr int kAhead = 12;  // samples between asking for memory and using it

// A source with one dense list, which repeats nothing and stays within the level.
struct PlainSource {
  int level;
  uint32_t lo, hi;
  const uint64_t* offsets;
  const uint32_t* neighbours;
};

// A vertex level that demands nothing else than differences and an order of ids, as in candidate graphs: of sources as above,
// or one that picks from all of its candidates (or of a range) and demands nothing at all.
struct PlainLevel {
  std::vector<PlainSource> sources;
  std::vector<int> different;
  bool ordered = false;   // must ids be less or greater than those of earlier levels
  bool prefetch = false;  // its arrays don't fit the second-level cache
  uint64_t n_roots = 0;   // of a level without sources
  const uint32_t* candidates = nullptr;  // null: from `first_root` on
  uint32_t first_root = 0;

  bool extends() const { return !sources.empty(); }
};

struct List {
  const uint32_t* ids;
  uint64_t n;
};

inline List plain_list(const PlainSource& source, const int64_t* values) {
  const auto v = static_cast<uint32_t>(values[source.level]);
  if (v < source.lo || v >= source.hi) return {nullptr, 0};
  const uint64_t* at = source.offsets + (v - source.lo);
  return {source.neighbours + at[0], at[1] - at[0]};
}

// The part of a list that the order of ids leaves.
inline List cut_list(const PlainLevel& level, const PlainSource& source, const int64_t* values, PlanRange bounds) {
  List list = plain_list(source, values);
  if (!level.ordered || list.n == 0) return list;
  if (list.ids[list.n - 1] >= bounds.end) list.n = lower_bound(list.ids, list.n, bounds.end);
  if (list.n > 0 && list.ids[0] < bounds.begin) {
    const uint64_t skipped = lower_bound(list.ids, list.n, bounds.begin);
    list = {list.ids + skipped, list.n - skipped};
  }
  return list;
}

// What the walks of a batch picked: where the vertex stands, from how many, and from which source's list.
struct WalkPicks {
  const uint32_t* where[kBatchSamples];
  uint64_t n[kBatchSamples];
  int32_t source[kBatchSamples];
};

// The walks of a batch, by slot: `values` of `depth` levels each. `slots`: of the walks that are left, room for kBatchSamples.
struct Walks {
  const MatchPlan* plan;
  SampleId first;
  int depth;
  int64_t* values;
  double* weights;
  int* slots;
  const PhiloxBlock* blocks;

  int64_t* value(int slot) const { return values + static_cast<size_t>(slot) * static_cast<size_t>(depth); }
  SampleId id(int slot) const { return {first.seed, first.number + static_cast<uint64_t>(slot)}; }
  uint32_t word(int slot, int level) const { return blocks[slot].word[level % kBlockLevels]; }
};

// Asks for the row index of each list of the k-th walk that is left.
inline void prefetch_rows(const PlainLevel& plain, const Walks& walks, int k) {
  const int64_t* values = walks.value(walks.slots[k]);
  for (const PlainSource& source : plain.sources) {
    const auto v = static_cast<uint32_t>(values[source.level]);
    if (v >= source.lo && v < source.hi) __builtin_prefetch(source.offsets + (v - source.lo));
  }
}

struct WalkOps {
  // blocks[slot] becomes the block of counter (first.number + slot, high), for n slots.
  void (*draw)(SampleId first, uint64_t high, const int* slots, int n, PhiloxBlock* blocks);
  // Binds a level without sources for n walks, which all go on.
  void (*roots)(const PlainLevel& plain, int level, const Walks& walks, int n);
  // n walks pick; returns how many have something to pick from, their slots first.
  int (*pick)(const PlainLevel& plain, int level, const Walks& walks, int n, WalkPicks& picks);
  // n walks validate what they picked and bind it; returns how many go on, their slots first.
  int (*validate)(const PlainLevel& plain, int level, const Walks& walks, int n, const WalkPicks& picks);
};

const WalkOps& walk_ops(Isa isa);

extern const WalkOps kBaselineWalk;
#if defined(QE_X86)
extern const WalkOps kAvx512Walk;
#endif

}  // namespace qe
