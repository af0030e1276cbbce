// Counting by the tree of a SearchPlan: products over components, formulas at the ends.
#include <algorithm>

#include "search_edges.h"
#include "search_run.h"

namespace qe {
namespace {

constexpr uint64_t kUnknown = UINT64_MAX;
constexpr size_t kMemoShare = 8;  // counts are kept once so many-th part of the vertices has been visited

}  // namespace

uint64_t Worker::count(const Node& node) {
  const int level = node.levels[0];
  if (node.shape == Shape::kGroup) return count_group(node);
  if (node.shape == Shape::kLeaf) return info(level).vertex ? count_candidates(level, 0) : count_edges(level);
  uint64_t sum = 0;
  if (!info(level).vertex) {
    each_edge(level, [&] { add_to(sum, count_children(node.children)); });
    return sum;
  }
  if (node.wedge != Wedge::kNone) return count_wedge(node);
  const Set set = candidates(level);
  if (node.local && begin_local(level, set)) {
    sum = count_local(node, set);
    end_local();
    return sum;
  }
  const bool every = !info(level).filtered && info(level).different.empty();
  const Stride by = stride(level);
  for (size_t i = by.first; i < set.n; i += by.step) {
    spend(kBindCost);
    prefetch(info(level), set, i);
    if (!every && !passes(level, set.data[i], 0)) continue;
    frame(level).at = i;
    bind(level, set.data[i]);
    add_to(sum, count_below(node));
  }
  return sum;
}

// The product of a branch's children at the vertex that it is bound to. Where that is all it depends on, it is
// computed once for each vertex: this turns the count of a path or tree of any length into one pass over the lists.
uint64_t Worker::count_below(const Node& branch) {
  if (branch.memo < 0 || parts_ > 1) return count_children(branch.children);
  Memo& memo = memos_[static_cast<size_t>(branch.memo)];
  const LevelInfo& level = info(branch.levels[0]);
  const size_t n = level.hi - level.lo;
  if (memo.counts.capacity() == 0) {
    if (++memo.visits * kMemoShare < n || !charge_.affords(n * sizeof(uint64_t))) return count_children(branch.children);
    std::fill_n(memo.counts.reserve(n, charge_), n, kUnknown);
  }
  uint64_t& known = memo.counts.data()[vertex(branch.levels[0]) - level.lo];
  if (known == kUnknown) known = count_children(branch.children);
  return known;
}

uint64_t Worker::count_children(const std::vector<Node>& children) {
  uint64_t product = 1;
  for (const Node& child : children) {
    const uint64_t factor = count(child);
    if (factor == 0) return 0;
    product = times(product, factor);
  }
  return product;
}

// Tuples of pairwise different members, one of each level's set.
uint64_t Worker::count_group(const Node& node) {
  Levels group = 0;
  for (int level : node.levels) group |= bit_of(level);
  if (node.nested) {  // of a level's n candidates the k levels before it take k
    uint64_t product = 1, n = 0;
    for (size_t k = 0; k < node.levels.size(); ++k) {
      if (!node.repeats[k]) n = count_candidates(node.levels[k], group);
      if (n <= k) return 0;
      product = times(product, n - k);
    }
    return product;
  }
  Set sets[3];
  const size_t k = node.levels.size();
  for (size_t i = 0; i < k; ++i) {
    sets[i] = admitted(node.levels[i], group);
    if (sets[i].n == 0) return 0;
  }
  const auto common = [&](const Set& a, const Set& b) {
    spend(std::min(a.n, b.n));
    return static_cast<uint64_t>(intersect_count(ops_, a.data, a.n, b.data, b.n));
  };
  const Set &a = sets[0], &b = sets[1], &c = sets[2];
  if (k == 2) return times(a.n, b.n) - common(a, b);
  // |A||B||C| - |AB||C| - |AC||B| - |BC||A| + 2|ABC|, grouped so that nothing goes below zero
  uint32_t* out = scratch_.reserve(std::min(a.n, b.n) + kSlack, charge_);
  const Set both{out, intersect(ops_, a.data, a.n, b.data, b.n, out)};
  const uint64_t all = common(both, c);
  const uint64_t pairs = times(a.n, b.n) - both.n;  // (a, b) different
  const uint64_t triples = times(pairs, c.n);
  // of these, c equals a: |AC||B| - |ABC|, c equals b: |BC||A| - |ABC|
  return triples - (times(common(a, c), b.n) - all) - (times(common(b, c), a.n) - all);
}

bool Worker::any_children(const std::vector<Node>& children) {
  return std::all_of(children.begin(), children.end(), [&](const Node& child) { return any(child); });
}

bool Worker::any(const Node& node) {
  const int level = node.levels[0];
  if (node.shape != Shape::kBranch) return count(node) > 0;
  if (!info(level).vertex) {
    bool found = false;
    each_edge(level, [&] { found = found || any_children(node.children); });
    return found;
  }
  const Set set = candidates(level);
  const Stride by = stride(level);
  for (size_t i = by.first; i < set.n; i += by.step) {
    spend(kBindCost);
    if (!passes(level, set.data[i], 0)) continue;
    frame(level).at = i;
    bind(level, set.data[i]);
    if (any_children(node.children)) return true;
  }
  return false;
}

uint64_t Worker::count_root(const Node& branch, uint32_t root) {
  const int level = branch.levels[0];
  value_[level] = root;
  if (info(level).filtered && !passes_rest(level)) return 0;
  spend(kBindCost);
  bind(level, root);
  return match_.mode == kExists ? any_children(branch.children) : count_children(branch.children);
}

uint64_t Worker::count_edges(int level) {
  const LevelInfo& of = info(level);
  const PlanLevel& plan = *of.plan;
  bool plain = plan.conditions.count == 0 && plan.pairs.count == 0;
  for (int k = 0; k < plan.types.count; ++k) plain = plain && match_.types[plan.types.first + k].bitset == nullptr;
  uint64_t found = 0;
  if (!plain) {
    each_edge(level, [&] { ++found; });
    return found;
  }
  each_run(match_, plan, vertex(plan.start), vertex(plan.end), [&](const PlanEdgeType& type, Slice run) {
    found += run.end - run.begin;
    for (size_t k = 0; k < of.different.size(); ++k) {
      const int64_t id = value_[of.different[k]] - type.base;
      if (id < static_cast<int64_t>(run.begin) || id >= static_cast<int64_t>(run.end)) continue;
      bool first = true;  // two of them may be the same relationship
      for (size_t before = 0; before < k; ++before) first = first && value_[of.different[before]] - type.base != id;
      found -= first;
    }
  });
  return found;
}

}  // namespace qe
