// Exports a SearchPlan as a DerivedPlan: the derivation of host/plan/search_plan.h in flat tables.
#include "qe/derived_plan.h"

#include <new>
#include <vector>

#include "base/layout.h"
#include "plan/search_derive.h"
#include "qe/abi.h"

namespace qe {
namespace {

static_assert(static_cast<int>(From::kConstant) == kFromConstant && static_cast<int>(From::kView) == kFromView &&
              static_cast<int>(From::kCandidatesAfter) == kFromCandidatesAfter);
static_assert(static_cast<int>(NodeKind::kBranch) == kBranchShape && static_cast<int>(NodeKind::kGroup) == kGroupShape);
static_assert(static_cast<int>(Wedge::kApart) == kApartWedge && static_cast<int>(Wedge::kOrdered) == kOrderedWedge);

}  // namespace

// The tables, and the header that points into them.
struct Derivation {
  DerivedPlan plan{};
  std::vector<DerivedLevel> levels;
  std::vector<DerivedOperand> operands;
  std::vector<DerivedView> views;
  std::vector<DerivedNode> nodes;
  std::vector<int32_t> ids;

  explicit Derivation(Deriver<Bits<1>> deriver) : Derivation(deriver.run(), deriver) {}

  Derivation(const SearchPlan& from, const Deriver<Bits<1>>& deriver) {
    for (size_t j = 0; j < from.levels.size(); ++j) add_level(from.levels[j], deriver.facts()[j]);
    for (const View& view : from.views)
      views.push_back({view.level, view.kind, view.lists, view.lo, view.hi, view.unique, view.below, view.above, view.within});
    std::vector<const Node*> sources;
    for (const Node& node : from.counted) sources.push_back(&node);
    for (size_t k = 0; k < sources.size(); ++k) {  // breadth first: `sources` grows by the children
      const Node& node = *sources[k];
      const PlanSpan children{static_cast<int32_t>(sources.size()), static_cast<int32_t>(node.children.size())};
      for (const Node& child : node.children) sources.push_back(&child);
      uint64_t repeats = 0;
      for (size_t i = 0; i < node.repeats.size(); ++i) repeats |= uint64_t{node.repeats[i]} << i;
      nodes.push_back({static_cast<int32_t>(node.shape), static_cast<int32_t>(node.wedge), add_ids(node.levels),
                       add_ids(node.context), children, node.memo, node.nested, node.local, node.pairs, repeats});
    }
    plan.n_levels = from.n_levels;
    plan.seeds = from.seeds;
    plan.enumerated = from.enumerated;
    plan.impossible = from.impossible;
    plan.n_kinds = from.n_kinds;
    plan.n_memos = from.n_memos;
    plan.n_roots = static_cast<int32_t>(from.counted.size());
    plan.n_nodes = static_cast<int32_t>(nodes.size());
    plan.n_operands = static_cast<int32_t>(operands.size());
    plan.n_views = static_cast<int32_t>(views.size());
    plan.n_ids = static_cast<int32_t>(ids.size());
    plan.levels = levels.data();
    plan.operands = operands.data();
    plan.views = views.data();
    plan.nodes = nodes.data();
    plan.ids = ids.data();
  }

  PlanSpan add_ids(const std::vector<int>& more) {
    const PlanSpan span{static_cast<int32_t>(ids.size()), static_cast<int32_t>(more.size())};
    ids.insert(ids.end(), more.begin(), more.end());
    return span;
  }

  void add_level(const LevelInfo& level, const LevelFacts<Bits<1>>& facts) {
    const PlanSpan span{static_cast<int32_t>(operands.size()), static_cast<int32_t>(level.operands.size())};
    for (size_t k = 0; k < level.operands.size(); ++k) {
      const Operand& each = level.operands[k];
      operands.push_back({static_cast<int32_t>(each.from), each.index, each.newest, each.clip,
                          facts.operands[k].less.word(0), facts.operands[k].greater.word(0)});
    }
    levels.push_back({level.lo, level.hi, span, level.vertex, level.fixed, level.filtered, level.check_ranges,
                      static_cast<int32_t>(level.cut), 0, facts.rest_less.word(0), facts.rest_greater.word(0),
                      facts.local_less.word(0), facts.local_greater.word(0), facts.less.word(0), facts.greater.word(0),
                      facts.different.word(0), facts.certain.word(0), facts.apart.word(0), facts.mentions.word(0)});
  }
};

}  // namespace qe

// Derives the plan, of at most kMaxDeviceLevels levels. overlaps: 0 or 1, as for the host (Deriver). *derived is null
// unless the status is kOk; free it with qe_derived_close. The header that qe_derived_plan returns lives as long.
QE_API int32_t qe_derived_open(const qe::MatchPlan* plan, int32_t overlaps, qe::Derivation** derived) {
  *derived = nullptr;
  if (plan->n_levels < 0 || plan->n_levels > qe::kMaxDeviceLevels || plan->seeds > plan->n_levels) return qe::kInvalid;
  try {
    *derived = new qe::Derivation(qe::Deriver<qe::Bits<1>>(*plan, overlaps != 0));
  } catch (const std::bad_alloc&) {
    return qe::kOutOfMemory;
  }
  return qe::kOk;
}

QE_API const qe::DerivedPlan* qe_derived_plan(const qe::Derivation* derived) { return &derived->plan; }

QE_API void qe_derived_close(qe::Derivation* derived) { delete derived; }

// For each struct its size, the offset of each field in order, -1: as qe_plan_layout.
QE_API int32_t qe_derived_layout(const int32_t** layout) {
  using namespace qe;
  static const int32_t table[] = {
      sizeof(DerivedView), QE_AT(DerivedView, level), QE_AT(DerivedView, kind), QE_AT(DerivedView, lists),
      QE_AT(DerivedView, lo), QE_AT(DerivedView, hi), QE_AT(DerivedView, unique), QE_AT(DerivedView, below),
      QE_AT(DerivedView, above), QE_AT(DerivedView, within), -1,
      sizeof(DerivedOperand), QE_AT(DerivedOperand, from), QE_AT(DerivedOperand, index), QE_AT(DerivedOperand, newest),
      QE_AT(DerivedOperand, clip), QE_AT(DerivedOperand, less), QE_AT(DerivedOperand, greater), -1,
      sizeof(DerivedLevel), QE_AT(DerivedLevel, lo), QE_AT(DerivedLevel, hi), QE_AT(DerivedLevel, operands),
      QE_AT(DerivedLevel, vertex), QE_AT(DerivedLevel, fixed), QE_AT(DerivedLevel, filtered),
      QE_AT(DerivedLevel, check_ranges), QE_AT(DerivedLevel, cut), QE_AT(DerivedLevel, unused),
      QE_AT(DerivedLevel, rest_less), QE_AT(DerivedLevel, rest_greater), QE_AT(DerivedLevel, local_less),
      QE_AT(DerivedLevel, local_greater), QE_AT(DerivedLevel, less), QE_AT(DerivedLevel, greater),
      QE_AT(DerivedLevel, different), QE_AT(DerivedLevel, certain), QE_AT(DerivedLevel, apart),
      QE_AT(DerivedLevel, mentions), -1,
      sizeof(DerivedNode), QE_AT(DerivedNode, shape), QE_AT(DerivedNode, wedge), QE_AT(DerivedNode, levels),
      QE_AT(DerivedNode, context), QE_AT(DerivedNode, children), QE_AT(DerivedNode, memo), QE_AT(DerivedNode, nested),
      QE_AT(DerivedNode, local), QE_AT(DerivedNode, pairs), QE_AT(DerivedNode, repeats), -1,
      sizeof(DerivedPlan), QE_AT(DerivedPlan, n_levels), QE_AT(DerivedPlan, seeds), QE_AT(DerivedPlan, enumerated),
      QE_AT(DerivedPlan, impossible), QE_AT(DerivedPlan, n_kinds), QE_AT(DerivedPlan, n_memos),
      QE_AT(DerivedPlan, n_roots), QE_AT(DerivedPlan, n_nodes), QE_AT(DerivedPlan, n_operands),
      QE_AT(DerivedPlan, n_views), QE_AT(DerivedPlan, n_ids), QE_AT(DerivedPlan, unused), QE_AT(DerivedPlan, levels),
      QE_AT(DerivedPlan, operands), QE_AT(DerivedPlan, views), QE_AT(DerivedPlan, nodes), QE_AT(DerivedPlan, ids), -1,
  };
  *layout = table;
  return static_cast<int32_t>(sizeof table / sizeof *table);
}
