// Predicates of one node or relationship over a range of ids: a program of truth values, run for each id by one thread.
//
// Launch: whole warps, no shared memory; all kernels are passes (base/stop.cuh).
// Bytes moved: at each id the columns that the program names, and a byte; tables and programs stay in the caches.
#include "base/warp.cuh"
#include "qe/conditions.h"
#include "qe/predicate.h"

using namespace qe;

namespace {

__device__ inline int64_t code_of(const PredicateStep& step, int64_t id) {
  const PlanColumn& column = step.column;
  if (id < column.begin || id >= column.end) return 0;
  const int64_t at = id - column.begin, bit = at + column.validity_offset;
  if (column.validity && !(column.validity[bit >> 3] >> (bit & 7) & 1)) return 0;
  switch (step.codes) {
    case kOfInt64: return static_cast<const int64_t*>(column.values)[at] - step.low + 1;
    case kOfInt32: return static_cast<const int32_t*>(column.values)[at] - step.low + 1;
    case kOfCodes: {
      const int64_t code = static_cast<const int32_t*>(column.values)[at];
      return code < 0 ? 0 : code + 1;
    }
    default: return 1 + (static_cast<const uint8_t*>(column.values)[bit >> 3] >> (bit & 7) & 1);
  }
}

__device__ inline uint32_t truth_of(const PredicateStep& step, int64_t id) {
  if (step.kind == kTable) return step.table[code_of(step, id)];
  const Number number = number_of(&step.column, 1, id);
  if (step.kind == kLacks) return number.present ? kFalse : kTrue;
  if (!number.present) return kNull;
  return compares(step.op, number, {true, step.whole != 0, step.integer, step.real}) ? kTrue : kFalse;
}

}  // namespace

// Of the ids [first, first + n) whether the program's last value is true: a byte each. Truth values are a stack of two bits each.
extern "C" __global__ void predicate_holds(const PredicateStep* steps, int32_t n_steps, int64_t first, uint64_t n, uint8_t* holds) {
  for (uint64_t i = thread(); i < n; i += threads()) {
    uint64_t stack = kTrue;  // without a step
    for (int k = 0; k < n_steps; ++k) {
      const PredicateStep& step = steps[k];
      const uint32_t last = stack & 3;
      if (step.kind < kAnd) {
        stack = stack << 2 | truth_of(step, first + static_cast<int64_t>(i));
      } else if (step.kind == kNot) {
        stack = (stack & ~uint64_t{3}) | negated_truth(last);
      } else {
        stack >>= 2;
        stack = (stack & ~uint64_t{3}) | joined_truth(step.kind, static_cast<uint32_t>(stack & 3), last);
      }
    }
    holds[i] = (stack & 3) == kTrue;
  }
}

// n truth values as bits, padded to whole words of 64: `words` of 32.
extern "C" __global__ void predicate_bits(const uint8_t* holds, uint64_t n, uint64_t words, uint32_t* bits) {
  for (uint64_t w = thread() / kLanes; w < words; w += threads() / kLanes) {
    const uint64_t i = w * kLanes + lane_id();
    const uint32_t word = __ballot_sync(kAllLanes, i < n && holds[i]);
    if (lane_id() == 0) bits[w] = word;
  }
}

// Of each share of n truth values, dealt to warps one after the other, how many are true.
extern "C" __global__ void predicate_counts(const uint8_t* holds, uint64_t n, uint64_t share, uint64_t n_shares, int64_t* counts) {
  for (uint64_t w = thread() / kLanes; w < n_shares; w += threads() / kLanes) {
    const uint64_t begin = w * share, end = n < begin + share ? n : begin + share;
    uint64_t mine = 0;
    for (uint64_t i = begin + lane_id(); i < end; i += kLanes) mine += holds[i];
    __syncwarp();
    mine = sum_over(mine);
    if (lane_id() == 0) counts[w] = static_cast<int64_t>(mine);
  }
}

// Where they are true, counted from `first`, ascending; ends: of each share, the sum of counts up to it.
extern "C" __global__ void predicate_places(const uint8_t* holds, uint64_t n, uint64_t share, uint64_t n_shares, const int64_t* ends,
                                            uint64_t first, uint32_t* places) {
  for (uint64_t w = thread() / kLanes; w < n_shares; w += threads() / kLanes) {
    const uint64_t begin = w * share, end = n < begin + share ? n : begin + share;
    uint64_t at = w ? static_cast<uint64_t>(ends[w - 1]) : 0;
    for (uint64_t tile = begin; tile < end; tile += kLanes) {
      const uint64_t i = tile + lane_id();
      const bool holds_here = i < end && holds[i];
      const uint32_t all = __ballot_sync(kAllLanes, holds_here);
      if (holds_here) places[at + static_cast<uint64_t>(rank_in(all))] = static_cast<uint32_t>(first + i);
      at += static_cast<uint64_t>(__popc(all));
    }
  }
}
