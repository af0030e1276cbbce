// Exports the plan structs' layouts, so that a test can compare them with Python's mirror.
#include "qe/match_plan.h"

#include "base/layout.h"
#include "qe/abi.h"

namespace {

using namespace qe;

constexpr int32_t kEnd = kLayoutEnd;

// For each struct: its size, the offset of each field in order, kEnd.
const int32_t kLayout[] = {
    sizeof(Pcsr), QE_AT(Pcsr, form), QE_AT(Pcsr, lo), QE_AT(Pcsr, hi), QE_AT(Pcsr, n_keys), QE_AT(Pcsr, offsets),
    QE_AT(Pcsr, keys), QE_AT(Pcsr, groups), QE_AT(Pcsr, neighbours), QE_AT(Pcsr, edge_ids), QE_AT(Pcsr, n_entries), kEnd,
    sizeof(PlanSpan), QE_AT(PlanSpan, first), QE_AT(PlanSpan, count), kEnd,
    sizeof(PlanSource), QE_AT(PlanSource, level), QE_AT(PlanSource, flags), QE_AT(PlanSource, lists), kEnd,
    sizeof(PlanRange), QE_AT(PlanRange, begin), QE_AT(PlanRange, end), kEnd,
    sizeof(PlanPair), QE_AT(PlanPair, a), QE_AT(PlanPair, b), QE_AT(PlanPair, c), QE_AT(PlanPair, d), kEnd,
    sizeof(PlanColumn), QE_AT(PlanColumn, begin), QE_AT(PlanColumn, end), QE_AT(PlanColumn, values),
    QE_AT(PlanColumn, validity), QE_AT(PlanColumn, validity_offset), QE_AT(PlanColumn, kind), QE_AT(PlanColumn, unused),
    kEnd,
    sizeof(PlanCondition), QE_AT(PlanCondition, op), QE_AT(PlanCondition, left), QE_AT(PlanCondition, right),
    QE_AT(PlanCondition, unused), QE_AT(PlanCondition, left_columns), QE_AT(PlanCondition, right_columns), kEnd,
    sizeof(PlanEdgeType), QE_AT(PlanEdgeType, list), QE_AT(PlanEdgeType, way), QE_AT(PlanEdgeType, base),
    QE_AT(PlanEdgeType, bitset), QE_AT(PlanEdgeType, in_list), QE_AT(PlanEdgeType, unused), kEnd,
    sizeof(PlanLevel), QE_AT(PlanLevel, kind), QE_AT(PlanLevel, output), QE_AT(PlanLevel, sources),
    QE_AT(PlanLevel, ranges), QE_AT(PlanLevel, different), QE_AT(PlanLevel, less), QE_AT(PlanLevel, greater),
    QE_AT(PlanLevel, pairs), QE_AT(PlanLevel, conditions), QE_AT(PlanLevel, types), QE_AT(PlanLevel, start),
    QE_AT(PlanLevel, end), QE_AT(PlanLevel, bitset), QE_AT(PlanLevel, candidates), QE_AT(PlanLevel, n_candidates),
    QE_AT(PlanLevel, bitset_begin), QE_AT(PlanLevel, unused), kEnd,
    sizeof(MatchPlan), QE_AT(MatchPlan, n_levels), QE_AT(MatchPlan, seeds), QE_AT(MatchPlan, enumerated),
    QE_AT(MatchPlan, mode), QE_AT(MatchPlan, n_outputs), QE_AT(MatchPlan, n_lists), QE_AT(MatchPlan, breadth_first), QE_AT(MatchPlan, unused),
    QE_AT(MatchPlan, levels),
    QE_AT(MatchPlan, sources), QE_AT(MatchPlan, ranges), QE_AT(MatchPlan, pairs), QE_AT(MatchPlan, conditions),
    QE_AT(MatchPlan, columns), QE_AT(MatchPlan, types), QE_AT(MatchPlan, level_ids), QE_AT(MatchPlan, list_ids),
    QE_AT(MatchPlan, lists), kEnd,
};

}  // namespace

// Returns how many numbers the table has, and the table itself in *layout.
QE_API int32_t qe_plan_layout(const int32_t** layout) {
  *layout = kLayout;
  return static_cast<int32_t>(sizeof kLayout / sizeof *kLayout);
}
