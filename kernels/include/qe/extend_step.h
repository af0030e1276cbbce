// Extending one row of a frontier by one level: what the breadth-first extension does for each row and each slot.
//
// A row's candidates are numbered: slot i is the i-th entry of the rarest operand (a neighbour list, the level's few
// candidates, or its ranges), cut to the bounds of the level. A slot gives a value or none: an entry that came before,
// or one that another operand or constraint refuses. The number of slots bounds the number of extensions, so that room
// for these can be allocated before any is computed (Prealloc-Combine, GSI §V).
// A row is kept in columns: what it is bound to at value[k * stride], its operands at data[k * stride], so that the
// threads of a warp keep theirs side by side in shared memory.
#pragma once
#include "qe/conditions.h"
#include "qe/lists.h"
#include "qe/match_plan.h"
#include "qe/plan_edges.h"
#include "qe/portable.h"

namespace qe {

// Tables of partial embeddings, one a level. Seeds are columns of the first table; each later one holds what its level
// is bound to and the row of the table before that it extends.
struct ExtendTables {
  const uint32_t* vertices[kMaxDeviceLevels];  // of vertex levels
  const int64_t* edges[kMaxDeviceLevels];      // of relationship levels
  const uint32_t* parents[kMaxDeviceLevels];   // of levels that are no seeds
};

enum DriverKind : int32_t { kFromOperand = 0, kFromRanges = 1, kFromEdges = 2 };

struct StepRow {
  int64_t* value;         // of each level bound so far
  const uint32_t** data;  // of each operand: the lists of the sources one after the other, then the few candidates
  uint32_t* length;
  int stride;
};

// Where a row's slots come from. `first` and `last`: the driver's operands. `source`: the driver among the level's
// sources, -1 for its few candidates. Bounds: ids in [lo, hi).
struct StepPlan {
  uint64_t slots;
  int32_t kind;
  int32_t source, first, last;
  uint32_t lo, hi;
};

// What a level spares its slots. `plain`: each source is one list without repetitions, so that every slot of an operand
// holds an id of its own. `free`: nothing but operands and bounds.
struct LevelTraits {
  int32_t operands;
  bool plain, free;
};

QE_BOTH inline bool bit_at(const uint64_t* bits, uint64_t at) { return bits[at >> 6] >> (at & 63) & 1; }

QE_BOTH inline LevelTraits traits_of(const MatchPlan& plan, int level) {
  const PlanLevel& of = plan.levels[level];
  LevelTraits traits{of.candidates != nullptr ? 1 : 0, true, true};
  for (int k = 0; k < of.sources.count; ++k) {
    const PlanSource& source = plan.sources[of.sources.first + k];
    traits.operands += source.lists.count;
    traits.plain = traits.plain && source.lists.count == 1 && !(source.flags & kRepeats);
  }
  traits.free = of.ranges.count == 1 && of.bitset == nullptr && of.different.count == 0 && of.pairs.count == 0 &&
                of.conditions.count == 0;
  return traits;
}

// Reads what row `at` of the table of level - 1 is bound to, up through its parents.
QE_BOTH QE_APART inline void load_row(const MatchPlan& plan, const ExtendTables& tables, int level, uint64_t at,
                                      StepRow row) {
  for (int k = level - 1; k >= 0; --k) {
    const bool vertex = plan.levels[k].kind == kVertexLevel;
    row.value[k * row.stride] = vertex ? int64_t{tables.vertices[k][at]} : tables.edges[k][at];
    if (k >= plan.seeds) at = tables.parents[k][at];
  }
}

QE_BOTH inline uint32_t vertex_of(StepRow row, int level) {
  return static_cast<uint32_t>(row.value[level * row.stride]);
}

// The part of an operand within [lo, hi).
QE_BOTH QE_APART inline void cut(StepRow row, int operand, uint32_t lo, uint32_t hi) {
  const uint32_t* list = row.data[operand * row.stride];
  const uint32_t n = row.length[operand * row.stride];
  if (n == 0 || (list[0] >= lo && list[n - 1] < hi)) return;
  const size_t begin = lower_bound(list, n, lo), end = begin + lower_bound(list + begin, n - begin, hi);
  row.data[operand * row.stride] = list + begin;
  row.length[operand * row.stride] = static_cast<uint32_t>(end - begin);
}

// Bounds of the ids that a vertex level admits in this row.
QE_BOTH inline PlanRange bounds_of(const MatchPlan& plan, const PlanLevel& level, StepRow row) {
  uint32_t lo = plan.ranges[level.ranges.first].begin;
  uint32_t hi = plan.ranges[level.ranges.first + level.ranges.count - 1].end;
  for (int k = 0; k < level.less.count; ++k) {
    const uint32_t bound = vertex_of(row, plan.level_ids[level.less.first + k]);
    hi = bound < hi ? bound : hi;
  }
  for (int k = 0; k < level.greater.count; ++k) {
    const uint32_t bound = vertex_of(row, plan.level_ids[level.greater.first + k]) + 1;
    lo = bound > lo ? bound : lo;
  }
  return {lo, hi > lo ? hi : lo};
}

QE_BOTH inline uint64_t within(PlanRange range, uint32_t lo, uint32_t hi) {
  const uint32_t begin = range.begin > lo ? range.begin : lo, end = range.end < hi ? range.end : hi;
  return end > begin ? end - begin : 0;
}

// Finds the operands of a row whose values are loaded, cuts them, and chooses the rarest.
QE_BOTH QE_APART inline StepPlan plan_step(const MatchPlan& plan, int index, StepRow row) {
  const PlanLevel& level = plan.levels[index];
  StepPlan step{0, kFromEdges, -1, 0, 0, 0, 0};
  if (level.kind == kEdgeLevel) {
    each_run(plan, level, vertex_of(row, level.start), vertex_of(row, level.end),
             [&](const PlanEdgeType&, Slice run) { step.slots += run.end - run.begin; });
    return step;
  }
  const PlanRange bounds = bounds_of(plan, level, row);
  step.lo = bounds.begin;
  step.hi = bounds.end;
  step.kind = kFromRanges;
  int operand = 0;
  for (int k = 0; k < level.sources.count; ++k) {
    const PlanSource& source = plan.sources[level.sources.first + k];
    const int first = operand;
    uint64_t slots = 0;
    for (int l = 0; l < source.lists.count; ++l, ++operand) {
      const Pcsr& list = plan.lists[plan.list_ids[source.lists.first + l]];
      const Slice at = locate(list, vertex_of(row, source.level));
      row.data[operand * row.stride] = list.neighbours + at.begin;
      row.length[operand * row.stride] = static_cast<uint32_t>(at.end - at.begin);
      cut(row, operand, step.lo, step.hi);
      slots += row.length[operand * row.stride];
    }
    if (step.kind == kFromRanges || slots < step.slots) {
      step.kind = kFromOperand;
      step.slots = slots;
      step.source = k;
      step.first = first;
      step.last = operand;
    }
  }
  if (level.candidates != nullptr) {
    row.data[operand * row.stride] = level.candidates;
    row.length[operand * row.stride] = static_cast<uint32_t>(level.n_candidates);
    cut(row, operand, step.lo, step.hi);
    const uint64_t slots = row.length[operand * row.stride];
    if (step.kind == kFromRanges || slots < step.slots) {
      step.kind = kFromOperand;
      step.slots = slots;
      step.source = -1;
      step.first = operand;
      step.last = operand + 1;
    }
  }
  if (step.kind == kFromRanges)
    for (int k = 0; k < level.ranges.count; ++k)
      step.slots += within(plan.ranges[level.ranges.first + k], step.lo, step.hi);
  return step;
}

// Bitset, ranges and difference: what an id must satisfy besides bounds and operands.
QE_BOTH inline bool admits_vertex(const MatchPlan& plan, const PlanLevel& level, StepRow row, uint32_t v) {
  if (level.ranges.count > 1) {
    bool inside = false;
    for (int k = 0; k < level.ranges.count && !inside; ++k) {
      const PlanRange range = plan.ranges[level.ranges.first + k];
      inside = range.begin <= v && v < range.end;
    }
    if (!inside) return false;
  }
  if (level.bitset != nullptr && !bit_at(level.bitset, v - level.bitset_begin)) return false;
  for (int k = 0; k < level.different.count; ++k)
    if (vertex_of(row, plan.level_ids[level.different.first + k]) == v) return false;
  return true;
}

// Pairs and conditions of a level whose own value is `value`.
QE_BOTH QE_APART inline bool admits_rest(const MatchPlan& plan, int index, StepRow row, int64_t value) {
  const PlanLevel& level = plan.levels[index];
  auto of = [&](int k) { return k == index ? value : row.value[k * row.stride]; };
  for (int k = 0; k < level.pairs.count; ++k) {
    const PlanPair& pair = plan.pairs[level.pairs.first + k];
    if (of(pair.a) == of(pair.b) && of(pair.c) == of(pair.d)) return false;
  }
  for (int k = 0; k < level.conditions.count; ++k) {
    const PlanCondition& condition = plan.conditions[level.conditions.first + k];
    if (!holds(plan, condition, of(condition.left), of(condition.right))) return false;
  }
  return true;
}

QE_BOTH inline bool in_operands(StepRow row, int first, int last, uint32_t v) {
  for (int k = first; k < last; ++k)
    if (contains(row.data[k * row.stride], row.length[k * row.stride], v)) return true;
  return false;
}

// Is v in all operands but the driver's?
QE_BOTH inline bool in_others(const MatchPlan& plan, const PlanLevel& level, const StepPlan& step, StepRow row,
                              uint32_t v) {
  int operand = 0;
  for (int k = 0; k < level.sources.count; ++k) {
    const int first = operand;
    operand += plan.sources[level.sources.first + k].lists.count;
    if (k != step.source && !in_operands(row, first, operand, v)) return false;
  }
  return level.candidates == nullptr || step.first == operand || in_operands(row, operand, operand + 1, v);
}

// The i-th id of the level's ranges within the bounds.
QE_BOTH QE_APART inline uint32_t id_in_ranges(const MatchPlan& plan, const PlanLevel& level, const StepPlan& step,
                                              uint64_t i) {
  for (int k = 0; k < level.ranges.count; ++k) {
    const PlanRange range = plan.ranges[level.ranges.first + k];
    const uint64_t n = within(range, step.lo, step.hi);
    if (i < n) return (range.begin > step.lo ? range.begin : step.lo) + static_cast<uint32_t>(i);
    i -= n;
  }
  return kNoVertex;
}

// The id in a slot of the driver's lists; false where it came before.
QE_BOTH inline bool id_in_lists(const StepPlan& step, StepRow row, uint64_t i, uint32_t* v) {
  int k = step.first;
  while (i >= row.length[k * row.stride]) i -= row.length[k++ * row.stride];
  const uint32_t* list = row.data[k * row.stride];
  *v = list[i];
  if (step.source < 0) return true;
  return !(i > 0 && list[i - 1] == *v) && !in_operands(row, step.first, k, *v);
}

// The relationship in a slot; false where the level doesn't admit it.
QE_BOTH QE_APART inline bool edge_at(const MatchPlan& plan, const PlanLevel& level, StepRow row, uint64_t i,
                                     int64_t* value) {
  bool admitted = false;
  uint64_t before = 0;
  each_run(plan, level, vertex_of(row, level.start), vertex_of(row, level.end), [&](const PlanEdgeType& type, Slice run) {
    const uint64_t n = run.end - run.begin;
    if (i >= before && i < before + n) {
      const uint64_t local = run.begin + i - before;
      *value = type.base + static_cast<int64_t>(local);
      admitted = type.bitset == nullptr || bit_at(type.bitset, local);
    }
    before += n;
  });
  for (int k = 0; k < level.different.count && admitted; ++k)
    admitted = row.value[plan.level_ids[level.different.first + k] * row.stride] != *value;
  return admitted;
}

// Does slot i of the row give an extension, and which?
QE_BOTH inline bool extension(const MatchPlan& plan, const LevelTraits& traits, int index, const StepPlan& step,
                              StepRow row, uint64_t i, int64_t* value) {
  const PlanLevel& level = plan.levels[index];
  if (traits.plain && step.kind == kFromOperand) {
    const uint32_t id = row.data[step.first * row.stride][i];
    for (int k = 0; k < traits.operands; ++k)
      if (k != step.first && !contains(row.data[k * row.stride], row.length[k * row.stride], id)) return false;
    *value = id;
    return traits.free || (admits_vertex(plan, level, row, id) && admits_rest(plan, index, row, id));
  }
  if (step.kind == kFromEdges) return edge_at(plan, level, row, i, value) && admits_rest(plan, index, row, *value);
  uint32_t v;
  if (step.kind == kFromRanges) v = id_in_ranges(plan, level, step, i);
  else if (!id_in_lists(step, row, i, &v)) return false;
  *value = v;
  return admits_vertex(plan, level, row, v) && in_others(plan, level, step, row, v) && admits_rest(plan, index, row, v);
}

// All that a seed's level demands of the value that it is given.
QE_BOTH QE_APART inline bool admits_seed(const MatchPlan& plan, int index, StepRow row) {
  const PlanLevel& level = plan.levels[index];
  const int64_t given = row.value[index * row.stride];
  if (given < 0 || level.ranges.count == 0) return false;
  const uint32_t v = static_cast<uint32_t>(given);
  const PlanRange bounds = bounds_of(plan, level, row);
  if (v < bounds.begin || v >= bounds.end || !admits_vertex(plan, level, row, v)) return false;
  for (int k = 0; k < level.sources.count; ++k) {
    const PlanSource& source = plan.sources[level.sources.first + k];
    bool found = false;
    for (int l = 0; l < source.lists.count && !found; ++l) {
      const Pcsr& list = plan.lists[plan.list_ids[source.lists.first + l]];
      const Slice at = locate(list, vertex_of(row, source.level));
      found = contains(list.neighbours + at.begin, at.end - at.begin, v);
    }
    if (!found) return false;
  }
  const size_t n = static_cast<size_t>(level.n_candidates);
  if (level.candidates != nullptr && !contains(level.candidates, n, v)) return false;
  return admits_rest(plan, index, row, given);
}

}  // namespace qe
