// The candidates of one level of a MatchPlan for one prefix of bound levels, lane by lane.
//
// A level's candidates are numbered [0, size): the entries of its shortest source, or of its candidate list, or the ids of
// its ranges, or the relationships of its runs. `draw` gives the one with a number, or says that it is none: not in the other
// sources, not admitted, or there before under another number (parallel relationships, several lists). So each admitted
// candidate has exactly one number. Bytes moved: a binary search in each other list. Deterministic.
// Source: generic join (Ngo et al. 2018), one candidate a lane (gMatch §4).
#pragma once
#include "qe/conditions.h"
#include "qe/lists.h"
#include "qe/match_plan.h"
#include "qe/plan_edges.h"

namespace qe {

// Where candidates come from: the number of a source of the level, or one of these.
enum Pivot : int32_t { kFromRanges = -1, kFromCandidates = -2, kFromEdges = -3 };

struct Opening {
  int32_t pivot;
  uint64_t begin;  // one list, candidates or one range: where the first lies
  uint64_t size;
};

struct IdRange {
  uint32_t lo, hi;
};

// Calls, not copies: inlined where they are used these would take minutes to compile and gain nothing.
__device__ __noinline__ Slice locate_hashed(const Pcsr& list, uint32_t vertex) { return locate(list, vertex); }

__device__ inline Slice find_list(const Pcsr& list, uint32_t vertex) {
  if (list.form != kDense) return locate_hashed(list, vertex);
  if (vertex < list.lo || vertex >= list.hi) return {0, 0};
  return {list.offsets[vertex - list.lo], list.offsets[vertex - list.lo + 1]};
}

__device__ inline const Pcsr& list_of(const MatchPlan& plan, const PlanSource& source, int k) {
  return plan.lists[plan.list_ids[source.lists.first + k]];
}

// The hull of the level's ranges, cut by the bounds on ids; hi >= lo.
__device__ inline IdRange bounds_of(const MatchPlan& plan, const PlanLevel& level, const int64_t* values) {
  if (level.ranges.count == 0) return {0, 0};
  uint32_t lo = plan.ranges[level.ranges.first].begin;
  uint32_t hi = plan.ranges[level.ranges.first + level.ranges.count - 1].end;
  for (int k = 0; k < level.less.count; ++k)
    hi = min(hi, static_cast<uint32_t>(values[plan.level_ids[level.less.first + k]]));
  for (int k = 0; k < level.greater.count; ++k)
    lo = max(lo, static_cast<uint32_t>(values[plan.level_ids[level.greater.first + k]]) + 1);
  return {lo, max(lo, hi)};
}

// The part of ids[begin, end) that lies in the bounds.
__device__ __noinline__ Slice cut(const uint32_t* ids, Slice slice, IdRange bounds) {
  if (slice.begin < slice.end && ids[slice.begin] < bounds.lo)
    slice.begin += lower_bound(ids + slice.begin, slice.end - slice.begin, bounds.lo);
  if (slice.begin < slice.end && ids[slice.end - 1] >= bounds.hi)
    slice.end = slice.begin + lower_bound(ids + slice.begin, slice.end - slice.begin, bounds.hi);
  return slice;
}

__device__ inline Slice cut_list(const Pcsr& list, uint32_t vertex, IdRange bounds) {
  return cut(list.neighbours, find_list(list, vertex), bounds);
}

__device__ inline uint32_t vertex_of(const PlanSource& source, const int64_t* values) {
  return static_cast<uint32_t>(values[source.level]);
}

__device__ __noinline__ bool has_edge(const MatchPlan& plan, const PlanSource& source, const int64_t* values, uint32_t to) {
  for (int k = 0; k < source.lists.count; ++k) {
    const Pcsr& list = list_of(plan, source, k);
    const Slice at = find_list(list, vertex_of(source, values));
    if (contains(list.neighbours + at.begin, at.end - at.begin, to)) return true;
  }
  return false;
}

__device__ inline bool in_ranges(const MatchPlan& plan, const PlanLevel& level, uint32_t vertex) {
  for (int k = 0; k < level.ranges.count; ++k) {
    const PlanRange& range = plan.ranges[level.ranges.first + k];
    if (range.begin <= vertex && vertex < range.end) return true;
  }
  return false;
}

__device__ inline bool is_among(const MatchPlan& plan, PlanSpan levels, const int64_t* values, int64_t value) {
  for (int k = 0; k < levels.count; ++k)
    if (values[plan.level_ids[levels.first + k]] == value) return true;
  return false;
}

__device__ inline bool has_bit(const uint64_t* bits, uint64_t at) { return bits[at >> 6] >> (at & 63) & 1; }

// The level's pairs and conditions, with its own value set.
__device__ __noinline__ bool rest_holds(const MatchPlan& plan, const PlanLevel& level, const int64_t* values) {
  for (int k = 0; k < level.pairs.count; ++k) {
    const PlanPair& pair = plan.pairs[level.pairs.first + k];
    if (values[pair.a] == values[pair.b] && values[pair.c] == values[pair.d]) return false;
  }
  for (int k = 0; k < level.conditions.count; ++k) {
    const PlanCondition& condition = plan.conditions[level.conditions.first + k];
    if (!holds(plan, condition, values[condition.left], values[condition.right])) return false;
  }
  return true;
}

__device__ __noinline__ Opening open_edges(const MatchPlan& plan, const PlanLevel& level, const int64_t* values) {
  uint64_t size = 0;
  each_run(plan, level, static_cast<uint32_t>(values[level.start]), static_cast<uint32_t>(values[level.end]),
           [&](const PlanEdgeType&, Slice run) { size += run.end - run.begin; });
  return {kFromEdges, 0, size};
}

// `values`: of the levels bound so far.
__device__ __noinline__ Opening open_level(const MatchPlan& plan, const PlanLevel& level, const int64_t* values) {
  if (level.kind == kEdgeLevel) return open_edges(plan, level, values);
  const IdRange bounds = bounds_of(plan, level, values);
  int32_t pivot = kFromRanges;
  uint64_t least = UINT64_MAX;
  for (int s = 0; s < level.sources.count; ++s) {
    const PlanSource& source = plan.sources[level.sources.first + s];
    uint64_t n = 0;
    for (int k = 0; k < source.lists.count; ++k) {
      const Slice at = find_list(list_of(plan, source, k), vertex_of(source, values));
      n += at.end - at.begin;
    }
    if (n < least) {
      least = n;
      pivot = s;
    }
  }
  if (level.candidates && static_cast<uint64_t>(level.n_candidates) <= least) {
    const Slice part = cut(level.candidates, {0, static_cast<uint64_t>(level.n_candidates)}, bounds);
    return {kFromCandidates, part.begin, part.end - part.begin};
  }
  if (pivot == kFromRanges) {
    if (level.ranges.count == 1) return {pivot, bounds.lo, bounds.hi - bounds.lo};
    uint64_t size = 0;
    for (int k = 0; k < level.ranges.count; ++k) {
      const PlanRange& range = plan.ranges[level.ranges.first + k];
      const uint32_t lo = max(range.begin, bounds.lo), hi = min(range.end, bounds.hi);
      if (lo < hi) size += hi - lo;
    }
    return {pivot, bounds.lo, size};
  }
  const PlanSource& source = plan.sources[level.sources.first + pivot];
  if (source.lists.count == 1) {
    const Slice part = cut_list(list_of(plan, source, 0), vertex_of(source, values), bounds);
    return {pivot, part.begin, part.end - part.begin};
  }
  uint64_t size = 0;
  for (int k = 0; k < source.lists.count; ++k) {
    const Slice part = cut_list(list_of(plan, source, k), vertex_of(source, values), bounds);
    size += part.end - part.begin;
  }
  return {pivot, 0, size};
}

// Entry `number` of a source's lists one after the other; false if an entry before it has the same vertex.
__device__ __noinline__ bool draw_from_lists(const MatchPlan& plan, const PlanLevel& level, const PlanSource& source,
                                       const int64_t* values, uint64_t number, uint32_t* found) {
  const IdRange bounds = bounds_of(plan, level, values);
  const uint32_t vertex = vertex_of(source, values);
  for (int k = 0; k < source.lists.count; ++k) {
    const Pcsr& list = list_of(plan, source, k);
    const Slice part = cut_list(list, vertex, bounds);
    if (number >= part.end - part.begin) {
      number -= part.end - part.begin;
      continue;
    }
    const uint32_t* at = list.neighbours + part.begin + number;
    *found = *at;
    if (number > 0 && at[-1] == *at) return false;
    for (int before = 0; before < k; ++before) {
      const Pcsr& other = list_of(plan, source, before);
      const Slice whole = find_list(other, vertex);
      if (contains(other.neighbours + whole.begin, whole.end - whole.begin, *at)) return false;
    }
    return true;
  }
  return false;
}

__device__ __noinline__ bool draw_vertex(const MatchPlan& plan, const PlanLevel& level, const int64_t* values, int32_t pivot,
                                   uint64_t begin, uint64_t number, uint32_t* found) {
  if (pivot == kFromCandidates) {
    *found = level.candidates[begin + number];
    return true;
  }
  if (pivot == kFromRanges) {
    if (level.ranges.count == 1) {
      *found = static_cast<uint32_t>(begin + number);
      return true;
    }
    const IdRange bounds = bounds_of(plan, level, values);
    for (int k = 0; k < level.ranges.count; ++k) {
      const PlanRange& range = plan.ranges[level.ranges.first + k];
      const uint32_t lo = max(range.begin, bounds.lo), hi = min(range.end, bounds.hi);
      if (lo >= hi) continue;
      if (number < hi - lo) {
        *found = lo + static_cast<uint32_t>(number);
        return true;
      }
      number -= hi - lo;
    }
    return false;
  }
  const PlanSource& source = plan.sources[level.sources.first + pivot];
  if (source.lists.count > 1) return draw_from_lists(plan, level, source, values, number, found);
  const uint32_t* at = list_of(plan, source, 0).neighbours + begin + number;
  *found = *at;
  return number == 0 || !(source.flags & kRepeats) || at[-1] != *at;
}

// All that a level demands of a vertex besides its bounds on ids and the source `pivot`; sets the level's value.
__device__ __noinline__ bool admits(const MatchPlan& plan, int index, int64_t* values, int32_t pivot, uint32_t vertex) {
  const PlanLevel& level = plan.levels[index];
  if (level.ranges.count > 1 && !in_ranges(plan, level, vertex)) return false;
  if (is_among(plan, level.different, values, vertex)) return false;
  if (level.bitset && !has_bit(level.bitset, vertex - level.bitset_begin)) return false;
  if (level.candidates && pivot != kFromCandidates &&
      !contains(level.candidates, static_cast<size_t>(level.n_candidates), vertex))
    return false;
  for (int s = 0; s < level.sources.count; ++s)
    if (s != pivot && !has_edge(plan, plan.sources[level.sources.first + s], values, vertex)) return false;
  values[index] = vertex;
  return rest_holds(plan, level, values);
}

// All that a level demands of a vertex that is given: for seeds. `vertex`: -1 for null.
__device__ inline bool admits_seed(const MatchPlan& plan, int index, int64_t* values, int64_t vertex) {
  if (vertex < 0) return false;
  const IdRange bounds = bounds_of(plan, plan.levels[index], values);
  const auto v = static_cast<uint32_t>(vertex);
  return bounds.lo <= v && v < bounds.hi && admits(plan, index, values, kFromRanges, v);
}

__device__ __noinline__ bool draw_edge(const MatchPlan& plan, int index, int64_t* values, uint64_t number) {
  const PlanLevel& level = plan.levels[index];
  int64_t id = -1;
  each_run(plan, level, static_cast<uint32_t>(values[level.start]), static_cast<uint32_t>(values[level.end]),
           [&](const PlanEdgeType& type, Slice run) {
             const uint64_t n = run.end - run.begin;
             if (number < n) {
               const uint64_t at = run.begin + number;
               if (!type.bitset || has_bit(type.bitset, at)) id = type.base + static_cast<int64_t>(at);
             }
             number -= n;  // wraps once it is found: no later run has so many
           });
  if (id < 0 || is_among(plan, level.different, values, id)) return false;
  values[index] = id;
  return rest_holds(plan, level, values);
}

// Binds level `index` to the candidate with this number; false if it is none.
__device__ inline bool draw(const MatchPlan& plan, int index, int64_t* values, int32_t pivot, uint64_t begin,
                            uint64_t number) {
  const PlanLevel& level = plan.levels[index];
  if (level.kind == kEdgeLevel) return draw_edge(plan, index, values, number);
  uint32_t vertex;
  return draw_vertex(plan, level, values, pivot, begin, number, &vertex) && admits(plan, index, values, pivot, vertex);
}

// How many candidates a level has of which every number is one, but for those that `different` excludes.
__device__ __noinline__ uint64_t count_plain(const MatchPlan& plan, const PlanLevel& level, const int64_t* values,
                                       const Opening& opening) {
  uint64_t n = opening.size;
  for (int k = 0; k < level.different.count && n > 0; ++k) {
    const int64_t other = values[plan.level_ids[level.different.first + k]];
    bool first = true;
    for (int before = 0; before < k; ++before) first = first && values[plan.level_ids[level.different.first + before]] != other;
    const auto vertex = static_cast<uint32_t>(other);
    bool held;
    if (opening.pivot == kFromRanges) {
      held = opening.begin <= vertex && vertex < opening.begin + opening.size;
    } else {
      const Pcsr& list = list_of(plan, plan.sources[level.sources.first], 0);
      held = contains(list.neighbours + opening.begin, opening.size, vertex);
    }
    n -= first && held;
  }
  return n;
}

}  // namespace qe
