// Refine, sample, validate: random embeddings of a MatchPlan, one level at a time, on host and GPU alike.
//
// A sample binds the plan's levels one after the other. At each level it takes the source with the fewest candidates,
// picks one of them (WanderJoin: any, then validates it; Alley: one of those that pass validation), and multiplies its
// weight by the number that it picked from: the inverse of the pick's probability. A sample that reaches the end counts
// its weight, any other counts 0; the mean is unbiased for the number of embeddings (Horvitz and Thompson), and so is
// the mean at each level for the number of embeddings of the levels so far.
//
// Candidates stand in a fixed order (lists as the plan names them, ids ascending), and the random number of a level is a
// function of seed, sample and level: a sample is the same wherever and in whatever order it is drawn.
// Where a source has several lists, or lists that repeat a vertex, a vertex counts at its first place only. Levels without a
// source pick from their ranges or candidates; what predicates reject there ends the sample.
// Source: gSWORD (SIGMOD 2024) §3; WanderJoin: Li et al., SIGMOD 2016; Alley: Kim et al., SIGMOD 2021.
#pragma once
#include "qe/conditions.h"
#include "qe/lists.h"
#include "qe/match_plan.h"
#include "qe/philox.h"
#include "qe/plan_edges.h"

namespace qe {

enum SampleMethod : int32_t { kWanderJoin = 0, kAlley = 1 };

// Whose random numbers: a sample of a stream of samples.
struct SampleId {
  uint64_t seed, number;
};

// What a level costs, in units of about a nanosecond of one core (counted, not measured: the same everywhere): for each
// walk that comes, and for each place that it refines, or picks where it only picks.
struct SampleWork {
  int32_t walk, place;
};

constexpr int kBlockLevels = 4;            // levels whose numbers come from one block
constexpr uint64_t kWideChoice = 1 << 16;  // more candidates than this take a number of 64 bits

QE_BOTH inline uint64_t block_of(int level) { return static_cast<uint64_t>(level / kBlockLevels); }

QE_BOTH inline PhiloxBlock sample_block(SampleId id, int level) { return philox(id.number, block_of(level), id.seed); }

QE_BOTH inline uint64_t multiply_high(uint64_t a, uint64_t b) {
  const uint64_t low = (a & 0xFFFFFFFFu) * (b & 0xFFFFFFFFu), one = (a >> 32) * (b & 0xFFFFFFFFu);
  const uint64_t two = (a & 0xFFFFFFFFu) * (b >> 32) + (low >> 32);
  const uint64_t middle = one + (two & 0xFFFFFFFFu);
  return (a >> 32) * (b >> 32) + (two >> 32) + (middle >> 32);
}

QE_BOTH QE_APART inline uint64_t pick_wide(SampleId id, int level, uint32_t word, uint64_t n) {
  const PhiloxBlock more = philox(id.number, (1ull << 32) + static_cast<uint64_t>(level), id.seed);
  return multiply_high((static_cast<uint64_t>(word) << 32) + more.word[0], n);
}

// One of 0..n-1, n > 0, by the level's word of its block. No choice is more likely than another by more than 2^-16.
QE_BOTH inline uint64_t pick(SampleId id, int level, uint32_t word, uint64_t n) {
  return n <= kWideChoice ? (static_cast<uint64_t>(word) * n) >> 32 : pick_wide(id, level, word, n);
}

constexpr int kGuidedLevels = 2;  // levels whose numbers for guided picks come from one block: 64 bits each

QE_BOTH inline uint64_t guide_block_of(int level) { return (1ull << 34) + static_cast<uint64_t>(level / kGuidedLevels); }

QE_BOTH inline PhiloxBlock guide_block(SampleId id, int level) { return philox(id.number, guide_block_of(level), id.seed); }

// A level's number of its block, in [0, 1).
QE_BOTH inline double guide_fraction(const PhiloxBlock& block, int level) {
  const bool second = level % kGuidedLevels != 0;
  const uint64_t high = second ? block.word[2] : block.word[0], low = second ? block.word[3] : block.word[1];
  return static_cast<double>((high << 32 | low) >> 11) * (1.0 / 9007199254740992.0);
}

// How many ways each candidate of a level has to go on: see host/sample/sample_guide.h.
struct GuideLevel {
  const double* ways;     // of the vertices from `lo` on; null: all candidates are as likely
  const double* running;  // sums of ways: over the level's candidates, or within each list of its only source; or null
  uint32_t lo;
  uint32_t unused;
};

constexpr uint64_t kDepthBlock = 1ull << 33;  // of Philox, apart from those of the levels

constexpr int kHaulWalks = 256;  // prefixes that are trawled together

// Where the prefixes of a trawled haul end: P(depth = j) is proportional to 2^-j, j from `least` to `deepest` (gSWORD §5).
QE_BOTH inline int trawled_depth(SampleId id, int least, int deepest) {
  const double u = philox(id.number, kDepthBlock, id.seed).word[0] * (1.0 / 4294967296.0);
  double total = 0, share = 1;
  for (int j = least; j <= deepest; ++j, share /= 2) total += share;
  double reached = 0;
  share = 1;
  for (int j = least; j < deepest; ++j, share /= 2) {
    reached += share / total;
    if (u < reached) return j;
  }
  return deepest;
}

// The candidates that one level's pick is made from.
struct SampleStep {
  PlanRange bounds;     // by the hull of the ranges and the order of ids
  int32_t source;       // entry of MatchPlan::sources, -1: the level's own ranges or candidates
  uint64_t n;           // places, 0: the sample ends
  Slice slice;          // of the source's first list
};

struct SamplePlace {
  uint32_t vertex;
  bool repeated;  // an earlier place has the same vertex
};

QE_BOTH inline PlanRange sample_bounds(const MatchPlan& plan, const PlanLevel& level, const int64_t* value) {
  PlanRange bounds = {0, 0};
  if (level.ranges.count == 0) return bounds;
  bounds = {plan.ranges[level.ranges.first].begin, plan.ranges[level.ranges.first + level.ranges.count - 1].end};
  for (int k = 0; k < level.less.count; ++k) {
    const auto other = static_cast<uint32_t>(value[plan.level_ids[level.less.first + k]]);
    if (other < bounds.end) bounds.end = other;
  }
  for (int k = 0; k < level.greater.count; ++k) {
    const auto other = static_cast<uint32_t>(value[plan.level_ids[level.greater.first + k]]);
    if (other >= bounds.begin) bounds.begin = other + 1;
  }
  return bounds;
}

// The part of v's list within the bounds.
QE_BOTH inline Slice cut_slice(const Pcsr& list, uint32_t v, PlanRange bounds, bool whole) {
  Slice at = locate(list, v);
  if (whole || at.begin == at.end) return at;
  const uint32_t* ids = list.neighbours;
  const uint64_t end = at.end;
  if (ids[at.begin] < bounds.begin) at.begin += lower_bound(ids + at.begin, at.end - at.begin, bounds.begin);
  if (at.begin < end && ids[end - 1] >= bounds.end) at.end = at.begin + lower_bound(ids + at.begin, end - at.begin, bounds.end);
  return at;
}

QE_BOTH inline bool takes_whole_lists(const PlanLevel& level, const PlanSource& source) {
  return (source.flags & kWithin) && level.less.count == 0 && level.greater.count == 0;
}

QE_BOTH inline uint64_t fixed_places(const MatchPlan& plan, const PlanLevel& level) {
  if (level.candidates) return static_cast<uint64_t>(level.n_candidates);
  uint64_t n = 0;
  for (int k = 0; k < level.ranges.count; ++k) {
    const PlanRange& range = plan.ranges[level.ranges.first + k];
    n += range.end - range.begin;
  }
  return n;
}

// The places that a vertex level picks from, given the values of earlier levels.
QE_BOTH inline SampleStep sample_step(const MatchPlan& plan, const PlanLevel& level, const int64_t* value) {
  SampleStep step = {sample_bounds(plan, level, value), -1, 0, {0, 0}};
  if (step.bounds.begin >= step.bounds.end) return step;
  if (level.sources.count == 0) {
    step.n = fixed_places(plan, level);
    return step;
  }
  for (int k = 0; k < level.sources.count; ++k) {
    const PlanSource& source = plan.sources[level.sources.first + k];
    const bool whole = takes_whole_lists(level, source);
    Slice first = {0, 0};
    uint64_t n = 0;
    for (int j = 0; j < source.lists.count; ++j) {
      const Pcsr& list = plan.lists[plan.list_ids[source.lists.first + j]];
      const Slice at = cut_slice(list, static_cast<uint32_t>(value[source.level]), step.bounds, whole);
      if (j == 0) first = at;
      n += at.end - at.begin;
    }
    if (k == 0 || n < step.n) {
      step.source = level.sources.first + k;
      step.n = n;
      step.slice = first;
    }
    if (n == 0) return step;
  }
  return step;
}

QE_BOTH inline SamplePlace fixed_place(const MatchPlan& plan, const PlanLevel& level, uint64_t k) {
  if (level.candidates) return {level.candidates[k], false};
  const PlanRange* range = plan.ranges + level.ranges.first;
  while (k >= range->end - range->begin) {
    k -= range->end - range->begin;
    ++range;
  }
  return {range->begin + static_cast<uint32_t>(k), false};
}

// The k-th place of a step, k < step.n.
QE_BOTH inline SamplePlace sample_place(const MatchPlan& plan, const PlanLevel& level, const SampleStep& step,
                                        const int64_t* value, uint64_t k) {
  if (step.source < 0) return fixed_place(plan, level, k);
  const PlanSource& source = plan.sources[step.source];
  const auto v = static_cast<uint32_t>(value[source.level]);
  const bool whole = takes_whole_lists(level, source);
  Slice at = step.slice;
  int list = 0;
  while (k >= at.end - at.begin) {
    k -= at.end - at.begin;
    at = cut_slice(plan.lists[plan.list_ids[source.lists.first + ++list]], v, step.bounds, whole);
  }
  const uint32_t* ids = plan.lists[plan.list_ids[source.lists.first + list]].neighbours + at.begin;
  SamplePlace place = {ids[k], k > 0 && ids[k - 1] == ids[k]};
  for (int earlier = 0; earlier < list && !place.repeated; ++earlier) {
    const Pcsr& other = plan.lists[plan.list_ids[source.lists.first + earlier]];
    const Slice there = locate(other, v);
    place.repeated = contains(other.neighbours + there.begin, there.end - there.begin, place.vertex);
  }
  return place;
}

// Is the vertex in one of the source's lists?
QE_BOTH inline bool source_holds(const MatchPlan& plan, const PlanSource& source, const int64_t* value, uint32_t vertex) {
  for (int k = 0; k < source.lists.count; ++k) {
    const Pcsr& list = plan.lists[plan.list_ids[source.lists.first + k]];
    const Slice at = locate(list, static_cast<uint32_t>(value[source.level]));
    if (contains(list.neighbours + at.begin, at.end - at.begin, vertex)) return true;
  }
  return false;
}

QE_BOTH inline bool in_ranges(const MatchPlan& plan, const PlanLevel& level, uint32_t vertex) {
  for (int k = 0; k < level.ranges.count; ++k) {
    const PlanRange& range = plan.ranges[level.ranges.first + k];
    if (range.begin <= vertex && vertex < range.end) return true;
  }
  return false;
}

// May the level bind the vertex that the step offers? Writes it to value[index].
QE_BOTH inline bool validate_vertex(const MatchPlan& plan, int index, const SampleStep& step, SamplePlace place,
                                    int64_t* value) {
  const PlanLevel& level = plan.levels[index];
  const uint32_t v = place.vertex;
  if (place.repeated || v < step.bounds.begin || v >= step.bounds.end) return false;
  for (int k = 0; k < level.different.count; ++k)
    if (value[plan.level_ids[level.different.first + k]] == static_cast<int64_t>(v)) return false;
  if (step.source >= 0) {
    if (level.ranges.count > 1 && !(plan.sources[step.source].flags & kWithin) && !in_ranges(plan, level, v)) return false;
    if (level.candidates && !contains(level.candidates, static_cast<size_t>(level.n_candidates), v)) return false;
  }
  if (level.bitset) {
    const uint32_t at = v - level.bitset_begin;
    if (!(level.bitset[at >> 6] >> (at & 63) & 1)) return false;
  }
  for (int k = level.sources.first; k < level.sources.first + level.sources.count; ++k)
    if (k != step.source && !source_holds(plan, plan.sources[k], value, v)) return false;
  value[index] = v;
  return passes_pairs(plan, level, value);
}

// Alley's refinement: calls visit(vertex) for each place of the step that passes, in order. value[index] is overwritten.
template <typename Visit>
QE_BOTH void refine(const MatchPlan& plan, int index, const SampleStep& step, int64_t* value, Visit visit) {
  for (uint64_t k = 0; k < step.n; ++k) {
    const SamplePlace place = sample_place(plan, plan.levels[index], step, value, k);
    if (validate_vertex(plan, index, step, place, value)) visit(place.vertex);
  }
}

// Relationships between the two ends of an edge level, before its filters.
QE_BOTH inline uint64_t count_places(const MatchPlan& plan, const PlanLevel& level, const int64_t* value) {
  uint64_t n = 0;
  each_run(plan, level, static_cast<uint32_t>(value[level.start]), static_cast<uint32_t>(value[level.end]),
           [&n](const PlanEdgeType&, Slice run) { n += run.end - run.begin; });
  return n;
}

// Binds the k-th of them; false where the level's filters reject it.
QE_BOTH inline bool bind_edge(const MatchPlan& plan, int index, int64_t* value, uint64_t k) {
  const PlanLevel& level = plan.levels[index];
  bool admitted = false;
  each_run(plan, level, static_cast<uint32_t>(value[level.start]), static_cast<uint32_t>(value[level.end]),
           [&](const PlanEdgeType& type, Slice run) {
             const uint64_t n = run.end - run.begin;
             if (k < n) {
               const uint64_t at = run.begin + k;
               admitted = !type.bitset || (type.bitset[at >> 6] >> (at & 63) & 1);
               value[index] = type.base + static_cast<int64_t>(at);
             }
             k = k < n ? ~0ull : k - n;
           });
  if (!admitted) return false;
  for (int j = 0; j < level.different.count; ++j)
    if (value[plan.level_ids[level.different.first + j]] == value[index]) return false;
  return passes_pairs(plan, level, value);
}

// Extends a sample by one edge level; returns the factor of its weight, 0: it ends.
QE_BOTH inline uint64_t sample_edge(const MatchPlan& plan, int index, int32_t method, SampleId id, uint32_t word,
                                    int64_t* value) {
  const uint64_t places = count_places(plan, plan.levels[index], value);
  if (places == 0) return 0;
  if (method == kWanderJoin) return bind_edge(plan, index, value, pick(id, index, word, places)) ? places : 0;
  uint64_t kept = 0;
  for (uint64_t k = 0; k < places; ++k) kept += bind_edge(plan, index, value, k);
  if (kept == 0) return 0;
  uint64_t wanted = pick(id, index, word, kept);
  for (uint64_t k = 0;; ++k)
    if (bind_edge(plan, index, value, k) && wanted-- == 0) return kept;
}

}  // namespace qe
