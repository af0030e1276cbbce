// Counting by the tree of a SearchPlan: products over components, formulas at the ends.
#include <algorithm>

#include "search/search_edges.h"
#include "search/search_run.h"

namespace qe {
namespace {

constexpr size_t kMemoEntries = size_t{1} << 17;       // at most: 2 MiB
constexpr uint64_t kMemoShare = 16;                    // a table is made for so many times fewer entries than it has
constexpr uint64_t kMemoTrial = 4, kMemoHits = 16;     // asked so many times its size, one in so many must be found

}  // namespace

uint64_t Worker::count(const Node& node) {
  if (node.memo >= 0) return remembered(node, [&] { return count_anew(node); });
  return node.recall >= 0 ? recalled_count(node) : count_anew(node);
}

uint64_t Worker::count_anew(const Node& node) {
  if (node.shape == NodeKind::kGroup) return count_group(node);
  if (node.shape == NodeKind::kBranch) return count_branch(node);
  const int level = node.levels[0];
  return info(level).vertex ? count_candidates(level) : count_edges(level);
}

// The count of a component, looked up by the vertices of its context in a table that forgets what another key
// overwrites. With one vertex and a large enough table nothing is forgotten: the count of a path or tree of any length
// is one pass over the lists. The table is not used any more when it doesn't help.
// Where it is only asked whether there is an embedding, what is kept of a branch is 0 or 1.
template <typename Anew>
uint64_t Worker::remembered(const Node& node, Anew anew) {
  if (node.levels[0] == split_level_) return anew();  // only a part of it
  Memo& memo = memos_[static_cast<size_t>(node.memo)];
  if (memo.size == 0) size_memo(node, memo);
  ++memo.asked;
  const bool useless = memo.asked > kMemoTrial * memo.size && memo.found * kMemoHits < memo.asked;
  if (memo.asked * kMemoShare < memo.size || useless) return anew();
  if (memo.table.capacity() == 0) {
    if (!charge_.affords(memo.size * sizeof(Remembered))) return anew();
    std::fill_n(memo.table.reserve(memo.size, charge_), memo.size, Remembered{UINT64_MAX, 0});
  }
  uint64_t key = 0;
  for (int level : node.context) key = key << 32 | vertex(level);
  const uint64_t hash = node.context.size() < 2 ? key : (key * 0x9E3779B97F4A7C15u) >> 32;
  const size_t slot = hash & (memo.size - 1);
  const Remembered& known = memo.table.data()[slot];
  if (known.key == key) {
    ++memo.found;
    return known.count;
  }
  const uint64_t sum = anew();
  memo.table.data()[slot] = {key, sum};
  return sum;
}

void Worker::size_memo(const Node& node, Memo& memo) const {
  size_t keys = 1;
  for (int level : node.context) keys = std::min<size_t>(kMemoEntries, keys * (info(level).hi - info(level).lo));
  memo.size = 1;
  while (memo.size < keys) memo.size *= 2;
}

uint64_t Worker::count_branch(const Node& node) {
  const int level = node.levels[0];
  uint64_t sum = 0;
  if (!info(level).vertex) {
    each_alike(level, [&](uint64_t alike) { add_to(sum, times(alike, count_children(node.children))); });
    return sum;
  }
  if (node.spokes && level != split_level_) return count_spokes(node);
  if (node.chosen > 0 && level != split_level_) return combinations(count_candidates(level), node.chosen);
  if (node.wedge != Wedge::kNone) return count_wedge(node);
  if (node.ends) return count_ends(node);
  const Set set = candidates(level);
  if (node.local && begin_local(level, set)) {
    sum = count_local(node, set);
    end_local();
    return sum;
  }
  if (node.tables) return sum_by_tables(node, set);
  each_passing(level, set, [&] { add_to(sum, count_children(node.children)); });
  return sum;
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

// Tuples of pairwise different members, one of each level's set. Where it is only asked whether there is one, the number
// is a smaller one, which doesn't overflow: of k sets no more than k members each matter.
uint64_t Worker::count_group(const Node& node) {
  const bool exists = match_.mode == kExists;
  if (node.nested) {  // of a level's n candidates the k levels before it take k
    uint64_t product = 1, n = 0;
    for (size_t k = 0; k < node.levels.size(); ++k) {
      if (!node.repeats[k]) {
        n = count_candidates(node.levels[k]);
        size_t last = k;  // of the levels with these candidates
        while (last + 1 < node.levels.size() && node.repeats[last + 1]) ++last;
        if (n <= last) return 0;  // before the product exceeds 64 bits
      }
      if (!exists) product = times(product, n - k);
    }
    return product;
  }
  Set sets[3];
  const size_t k = node.levels.size();
  for (size_t i = 0; i < k; ++i) {
    sets[i] = admitted(node.levels[i]);
    if (sets[i].n == 0) return 0;
    if (exists) sets[i].n = std::min(sets[i].n, k);
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
  if (node.shape != NodeKind::kBranch) return count(node) > 0;
  if (node.memo >= 0) return remembered(node, [&] { return uint64_t{any_anew(node)}; }) > 0;
  return node.recall >= 0 ? recalled_any(node) : any_anew(node);
}

bool Worker::any_anew(const Node& node) {
  const int level = node.levels[0];
  if (!info(level).vertex) {
    bool found = false;
    each_alike(level, [&](uint64_t) { found = found || any_children(node.children); });
    return found;
  }
  if (node.spokes && level != split_level_) return count_spokes(node) > 0;
  const Set set = candidates(level);
  const Stride by = stride(level);
  for (size_t i = by.first; i < set.n; i += by.step) {
    spend(kBindCost);
    if (!passes(level, set.data[i])) continue;
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
  for (int k = 0; k < plan.types.count; ++k) {
    const PlanEdgeType& type = match_.types[plan.types.first + k];
    plain = plain && type.bitset == nullptr && (of.avoided.empty() || match_.lists[type.list].edge_ids == nullptr);
  }
  uint64_t found = 0;
  if (!plain) {
    each_edge(level, [&] { ++found; });
    return found;
  }
  each_run(match_, plan, vertex(plan.start), vertex(plan.end), [&](const PlanEdgeType& type, Slice run) {
    found += run.end - run.begin;
    for (size_t k = 0; k < of.avoided.size(); ++k) {
      const int64_t id = value_[of.avoided[k].level] - type.base;
      if (id < static_cast<int64_t>(run.begin) || id >= static_cast<int64_t>(run.end)) continue;
      bool first = true;  // two of them may be the same relationship
      for (size_t before = 0; before < k; ++before) first = first && value_[of.avoided[before].level] - type.base != id;
      found -= first;
    }
  });
  return found;
}

// The relationships of a vertex that lead to the branch's, but for those that other levels are bound to.
uint64_t Worker::count_spokes(const Node& branch) {
  const int end = branch.levels[0], edge = branch.children[0].levels[0];
  const PlanLevel& plan = *info(edge).plan;
  const PlanSource& source = match_.sources[info(end).plan->sources.first];
  const uint32_t centre = vertex(source.level);
  uint64_t found = 0;
  for (int k = 0; k < source.lists.count; ++k) {
    const Slice at = locate(match_.lists[match_.list_ids[source.lists.first + k]], centre);
    found += at.end - at.begin;
  }
  for (int k = 0; k < plan.types.count; ++k) {  // both lists hold the self-loops
    const PlanEdgeType& type = match_.types[plan.types.first + k];
    if (type.way != kEitherWay || !(source.flags & kLoops)) continue;
    const Slice loops = edges_between(match_.lists[type.list], centre, centre);
    found -= loops.end - loops.begin;
  }
  const std::vector<Avoided>& avoided = info(edge).avoided;
  for (size_t k = 0; k < avoided.size(); ++k) {
    const int64_t id = value_[avoided[k].level];
    const PlanLevel& other = *info(avoided[k].level).plan;
    const bool known = std::any_of(avoided.begin(), avoided.begin() + static_cast<std::ptrdiff_t>(k),
                                   [&](const Avoided& before) { return value_[before.level] == id; });
    const uint32_t start = vertex(other.start), last = vertex(other.end);
    if (known || (start != centre && last != centre)) continue;
    const uint32_t far = start == centre ? last : start;
    const bool turned = plan.start == end;
    bool there = false;
    each_run(match_, plan, turned ? far : centre, turned ? centre : far, [&](const PlanEdgeType& type, Slice run) {
      const uint32_t* ids = match_.lists[type.list].edge_ids;
      for (uint64_t at = run.begin; at < run.end; ++at)
        there = there || type.base + static_cast<int64_t>(ids ? ids[at] : at) == id;
    });
    found -= there;
  }
  return found;
}

}  // namespace qe
