// A node of a tree of counts as kernels look at it: known when they are compiled, or read from the plan.
//
// For kernels that are compiled for one tree, code before theirs defines QE_TREE_NODES, the number of nodes, and in namespace qe
// the constexpr tables kNodes and kChecks (qengine/exec/gpu/tree_code.py writes it). What the compiler knows costs nothing at run
// time: loops over checks are unrolled, and depths are addresses.
#pragma once
#include "count/tree_plan.cuh"

namespace qe {

#ifndef QE_TREE_NODES
#define QE_TREE_NODES 0
__device__ constexpr TreeNode kNodes[1] = {};
__device__ constexpr TreeCheck kChecks[1] = {};
#endif

// Node K; -1: any, read from `at`.
template <int K>
struct Node {
  const TreeNode& at;

#define QE_KNOWN(name)                                  \
  __device__ auto name() const {                        \
    if constexpr (K >= 0) {                             \
      constexpr auto known = kNodes[K < 0 ? 0 : K].name; \
      return known;                                     \
    } else {                                            \
      return at.name;                                   \
    }                                                   \
  }
  QE_KNOWN(leaf)
  QE_KNOWN(depth)
  QE_KNOWN(child)
  QE_KNOWN(next)
  QE_KNOWN(spine)
  QE_KNOWN(plain)
  QE_KNOWN(minus)
  QE_KNOWN(again)
  QE_KNOWN(filter)
  QE_KNOWN(memo)
  QE_KNOWN(checks)
  QE_KNOWN(ranges)
  QE_KNOWN(pairs)
#undef QE_KNOWN

  __device__ int32_t memo_depth(int k) const {
    if constexpr (K >= 0) return kNodes[K < 0 ? 0 : K].memo_depth[k];
    else return at.memo_depth[k];
  }

  // Calls visit(check, its number) for the checks in turn as long as it returns true; tells whether it always did.
  template <int I = 0, typename Visit>
  __device__ bool all_checks(const TreePlan& plan, const Visit& visit) const {
    if constexpr (K < 0) {
      for (int k = 0; k < at.checks.count; ++k)
        if (!visit(plan.checks[at.checks.first + k], k)) return false;
      return true;
    } else if constexpr (I < kNodes[K < 0 ? 0 : K].checks.count) {
      constexpr TreeCheck check = kChecks[kNodes[K < 0 ? 0 : K].checks.first + I];
      return visit(check, I) && all_checks<I + 1>(plan, visit);
    } else {
      return true;
    }
  }
};

// Calls act(node) with a node of the tree.
template <int K = 0, typename Act>
__device__ void at_node(const TreePlan& plan, int index, const Act& act) {
  if constexpr (QE_TREE_NODES == 0) {
    act(Node<-1>{plan.nodes[index]});
  } else if constexpr (K < QE_TREE_NODES) {
    if (index == K) act(Node<K>{plan.nodes[K]});
    else at_node<K + 1>(plan, index, act);
  }
}

}  // namespace qe
