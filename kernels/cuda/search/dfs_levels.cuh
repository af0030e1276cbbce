// The candidates of the nodes of a depth-first search, below the prefixes of a warp's stack.
//
// A node's candidates below an entry are numbered [0, pool's n); `test` tells what the one with a number is bound to, or that it
// is none. Viewed nodes take the shortest of their slices, and look candidates up in the others; general ones do as
// base/candidates.cuh says. Preconditions: lists ascending; those of views hold none twice. Lane by lane.
#pragma once
#include "base/candidates.cuh"
#include "search/dfs_plan.cuh"

namespace qe {

constexpr int kFromSlices = -2;  // a pivot that is no check: the level's candidates, or its ids

struct Pool {
  uint64_t begin;
  Ordinal n;
  int32_t pivot;
};

class DfsLevels {
 protected:
  __device__ DfsLevels(const DfsJob& job, char* stack)
      : job_(job), plan_(*job.plan), branches_(reinterpret_cast<DfsBranch*>(stack)) {}

  // The candidates of a level below an entry, before its tests.
  __device__ Pool open(const DfsNode& node, int entry) const {
    if constexpr (!kAllViewed)
      if (node.kind != kViewed) return open_general(plan_, branches_, node, entry);
    Pool pool{0, UINT32_MAX, kFromSlices};
    if (node.filter == kByList) pool.n = node.n_candidates;
    int depth = node.depth - 1;
    all_checks(node, [&](const DfsCheck& check, int k) {
      if (check.kind != kLinked) return true;
      for (; depth > check.depth; --depth) entry = branches_[depth].parent[entry];
      const DfsView& view = plan_.views[check.view];
      const DfsSlice slice = view.slices[static_cast<uint32_t>(branches_[depth].value[entry]) - view.lo];
      if (slice.n < pool.n) pool = {slice.begin, slice.n, k};
      return true;
    });
    return pool;
  }

  // What a level is bound to by a number of an entry's pool; false if it is no candidate.
  __device__ bool test(const DfsNode& node, int entry, int pivot, uint64_t begin, Ordinal number, Value* value) const {
    if constexpr (!kAllViewed)
      if (node.kind != kViewed) return test_general(job_, branches_, node, entry, {begin, number, pivot}, value);
    uint32_t vertex = static_cast<uint32_t>(begin + number);
    if (pivot != kFromSlices) vertex = plan_.views[plan_.checks[node.checks.first + pivot].view].neighbours[begin + number];
    else if (node.filter == kByList) vertex = node.candidates[begin + number];
    *value = vertex;
    return admits(node, entry, pivot, vertex);
  }

  // How many candidates a plain leaf has below an entry.
  __device__ uint64_t count_plain_leaf(const DfsNode& node, int entry, const Pool& pool) const {
    if constexpr (!kAllViewed)
      if (node.kind != kViewed) return count_general(plan_, branches_, node, entry, pool);
    const uint32_t* list = plan_.views[plan_.checks[node.checks.first + pool.pivot].view].neighbours + pool.begin;
    uint64_t n = pool.n;
    all_checks(node, [&](const DfsCheck& check, int k) {
      if (check.kind != kDifferent) return true;
      const Value other = value_at(node.depth - 1, entry, check.depth);
      const bool first = all_checks(node, [&](const DfsCheck& one, int before) {  // two may be the same vertex
        return before >= k || one.kind != kDifferent || value_at(node.depth - 1, entry, one.depth) != other;
      });
      n -= first && contains(list, pool.n, static_cast<uint32_t>(other));
      return true;
    });
    return n;
  }

  // The entry that stands above an entry, and what it is bound to.
  __device__ int entry_at(int depth, int entry, int wanted) const {
    for (; depth > wanted; --depth) entry = branches_[depth].parent[entry];
    return entry;
  }
  __device__ Value value_at(int depth, int entry, int wanted) const {
    return branches_[wanted].value[entry_at(depth, entry, wanted)];
  }

  const DfsJob& job_;
  const DfsPlan& plan_;
  DfsBranch* branches_;

 private:
  // Calls visit(check, its number) for a node's checks in turn as long as it returns true; returns whether it always did.
  template <typename Visit>
  __device__ bool all_checks(const DfsNode& node, const Visit& visit) const {
    for (int k = 0; k < node.checks.count; ++k)
      if (!visit(plan_.checks[node.checks.first + k], k)) return false;
    return true;
  }

  __device__ bool admits(const DfsNode& node, int entry, int pivot, uint32_t vertex) const {
    if (node.filter == kByBits && !has_bit(node.bitset, vertex - node.bitset_begin)) return false;
    if (node.filter == kByList && pivot != kFromSlices && !contains(node.candidates, node.n_candidates, vertex))
      return false;
    if (node.ranges.count > 0 && !in_ranges(node.ranges, vertex)) return false;
    if (node.pairs.count > 0 && !passes_pairs(node, entry, vertex)) return false;
    int depth = node.depth - 1;
    return all_checks(node, [&](const DfsCheck& check, int k) {
      for (; depth > check.depth; --depth) entry = branches_[depth].parent[entry];
      const auto other = static_cast<uint32_t>(branches_[depth].value[entry]);
      if (check.kind == kDifferent) return vertex != other;
      if (check.kind != kLinked) return check.kind == kLower ? vertex < other : vertex > other;
      if (k == pivot) return true;
      const DfsView& view = plan_.views[check.view];
      const DfsSlice slice = view.slices[other - view.lo];
      return contains(view.neighbours + slice.begin, slice.n, vertex);
    });
  }

  // No pair of the level has both its equalities.
  __device__ bool passes_pairs(const DfsNode& node, int entry, uint32_t vertex) const {
    const auto value = [&](int32_t depth) {
      return depth < 0 ? static_cast<Value>(vertex) : value_at(node.depth - 1, entry, depth);
    };
    for (int k = 0; k < node.pairs.count; ++k) {
      const PlanPair pair = plan_.pairs[node.pairs.first + k];
      if (value(pair.a) == value(pair.b) && value(pair.c) == value(pair.d)) return false;
    }
    return true;
  }

  __device__ bool in_ranges(PlanSpan ranges, uint32_t vertex) const {
    for (int k = 0; k < ranges.count; ++k) {
      const PlanRange range = plan_.ranges[ranges.first + k];
      if (range.begin <= vertex && vertex < range.end) return true;
    }
    return false;
  }

  // ------------------------------------------------------------------ nodes that are not viewed

  // Calls, without this object: its address taken, all of it would be in memory, and the stack's address space unknown.

  static constexpr int kValues = kAllViewed ? 1 : QE_LEVELS;

  // Collects the values of the levels that an entry binds; returns its input row.
  __device__ static int64_t gather(const DfsPlan& plan, const DfsBranch* branches, int depth, int entry, int64_t* values) {
    int64_t row = 0;
    for (; depth >= 0; --depth) {
      const DfsBranch& branch = branches[depth];
      const int level = plan.nodes[branch.node].level;
      const auto value = static_cast<int64_t>(branch.value[entry]);
      if (level < 0) row = value;
      else values[level] = value;
      entry = branch.parent[entry];
    }
    return row;
  }

  __device__ __noinline__ static Pool open_general(const DfsPlan& plan, const DfsBranch* branches, const DfsNode& node,
                                                   int entry) {
    if (node.kind == kSeed) return {0, 1, 0};
    int64_t values[kValues];
    gather(plan, branches, node.depth - 1, entry, values);
    const Opening opening = open_level(*plan.match, plan.match->levels[node.level], values);
    return {opening.begin, static_cast<Ordinal>(opening.size), opening.pivot};
  }

  // `at`: where the pool begins, the number, and the pivot.
  __device__ __noinline__ static bool test_general(const DfsJob& job, const DfsBranch* branches, const DfsNode& node,
                                                   int entry, Pool at, Value* value) {
    *value = static_cast<Value>(at.n);
    if (node.kind == kInputRow) return true;
    const DfsPlan& plan = *job.plan;
    int64_t values[kValues];
    const int64_t row = gather(plan, branches, node.depth - 1, entry, values);
    if (node.kind == kSeed) {
      const int64_t given = job.seeds[node.level][row];
      *value = static_cast<Value>(given);
      return admits_seed(*plan.match, node.level, values, given);
    }
    if (!draw(*plan.match, node.level, values, at.pivot, at.begin, at.n)) return false;
    *value = static_cast<Value>(values[node.level]);
    return true;
  }

  __device__ __noinline__ static uint64_t count_general(const DfsPlan& plan, const DfsBranch* branches, const DfsNode& node,
                                                        int entry, Pool pool) {
    int64_t values[kValues];
    gather(plan, branches, node.depth - 1, entry, values);
    return count_plain(*plan.match, plan.match->levels[node.level], values, {pool.pivot, pool.begin, pool.n});
  }
};

}  // namespace qe
