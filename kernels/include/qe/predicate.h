// Predicates of one node or relationship: a program of truth values over columns. Shared by host and GPU.
#pragma once
#include "qe/match_plan.h"

namespace qe {

constexpr uint64_t kZone = 2048;

// One step: kTable, kCompare and kLacks push a truth value, the others replace the last one or two.
// kTable: `table` by the code that a column has for an id: 0 for null, else its number - low + 1. Codes are int32 below 0 for
// null; bits are 0 and 1. kCompare: the column's number, `op`, and a constant. kLacks: whether it has no number.
// On the host alone codes can be compared, with `integer`, whatever a column holds can be lacked, and a comparison may have
// `zones`: of each kZone numbers of the column the least and the greatest, int64, or of doubles double; null where not known.
struct PredicateStep {
  PlanColumn column;
  const uint8_t* table;
  const void* zones;
  int64_t low, integer;
  double real;
  int32_t kind, op, codes, whole;
};

// Bits, so that joins are operations on these.
enum Truth : uint8_t { kNull = 0, kTrue = 1, kFalse = 2 };
enum StepKind : int32_t { kTable = 0, kCompare = 1, kLacks = 2, kAnd = 3, kOr = 4, kXor = 5, kNot = 6 };
enum CodeKind : int32_t { kOfInt64 = 0, kOfInt32 = 1, kOfCodes = 2, kOfBits = 3 };

template <typename Bits>
QE_BOTH inline Bits joined_truth(int32_t kind, Bits a, Bits b) {
  if (kind == kAnd) return static_cast<Bits>((a & b & kTrue) | ((a | b) & kFalse));
  if (kind == kOr) return static_cast<Bits>(((a | b) & kTrue) | (a & b & kFalse));
  return a == kNull || b == kNull ? Bits{kNull} : a == b ? Bits{kFalse} : Bits{kTrue};
}

template <typename Bits>
QE_BOTH inline Bits negated_truth(Bits a) {
  return static_cast<Bits>((a & kTrue) << 1 | a >> 1);
}

}  // namespace qe
