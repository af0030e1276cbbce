// Predicates of one element over a range of ids: a program of truth values, run for blocks that fit into the first cache.
//
// Of conditions that must all hold those that hold least in a block are asked first, others where one id at least is left.
//
// Where the zones of a column settle a comparison its numbers aren't read.
//
// Bytes moved: the columns that the program names, once at most, and a byte for each id; rooms for truth values that wait stay in the
// caches. A truth value is two bits here, true and false, neither for null: joins are then a few operations on bytes.
#include <algorithm>
#include <cstring>
#include <vector>

#include "base/isa.h"
#include "count/eliminate.h"
#include "qe/conditions.h"
#include "qe/predicate.h"

namespace qe::predicates {

constexpr uint64_t kBlock = 2048, kPiece = 1 << 15;

#define QE_INLINE inline __attribute__((always_inline))

// Writes bits [at, at + n) as bytes of 0 and 1.
QE_INLINE void unpack(const uint8_t* bits, uint64_t at, uint64_t n, uint8_t* bytes) {
  uint64_t i = 0;
  for (; i < n && (at + i) & 7; ++i) bytes[i] = bits[(at + i) >> 3] >> ((at + i) & 7) & 1;
  for (; i + 8 <= n; i += 8) {
    const uint64_t lanes = bits[(at + i) >> 3] * 0x0101010101010101u & 0x8040201008040201u;
    const uint64_t eight = (lanes + 0x7f7f7f7f7f7f7f7fu) >> 7 & 0x0101010101010101u;
    std::memcpy(bytes + i, &eight, 8);
  }
  for (; i < n; ++i) bytes[i] = bits[(at + i) >> 3] >> ((at + i) & 7) & 1;
}

template <class Value>
QE_INLINE void compare(const Value* values, Value constant, int32_t op, uint64_t n, uint8_t* truth) {
  switch (op) {
    case kEqual: for (uint64_t i = 0; i < n; ++i) truth[i] = static_cast<uint8_t>(kFalse - (values[i] == constant)); break;
    case kNotEqual: for (uint64_t i = 0; i < n; ++i) truth[i] = static_cast<uint8_t>(kFalse - (values[i] != constant)); break;
    case kLess: for (uint64_t i = 0; i < n; ++i) truth[i] = static_cast<uint8_t>(kFalse - (values[i] < constant)); break;
    case kLessEqual: for (uint64_t i = 0; i < n; ++i) truth[i] = static_cast<uint8_t>(kFalse - (values[i] <= constant)); break;
    case kGreater: for (uint64_t i = 0; i < n; ++i) truth[i] = static_cast<uint8_t>(kFalse - (values[i] > constant)); break;
    default: for (uint64_t i = 0; i < n; ++i) truth[i] = static_cast<uint8_t>(kFalse - (values[i] >= constant));
  }
}

// What a comparison is for all numbers of a zone, kNull where they must be read.
inline uint8_t zone_truth(const PredicateStep& step, uint64_t zone) {
  const auto number = [&](uint64_t at) {
    if (step.column.kind == kFloat64) return Number{true, false, 0, static_cast<const double*>(step.zones)[at]};
    return Number{true, true, static_cast<const int64_t*>(step.zones)[at], 0};
  };
  const Number low = number(2 * zone), high = number(2 * zone + 1), constant{true, step.whole != 0, step.integer, step.real};
  if (!compares(kLessEqual, low, high)) return kNull;  // one is no number
  const bool truth = compares(step.op, low, constant), parted = compares(kLess, low, constant) != compares(kLess, high, constant);
  if (truth != compares(step.op, high, constant) || (parted && (step.op == kEqual || step.op == kNotEqual))) return kNull;
  return truth ? kTrue : kFalse;
}

// What a comparison is for all numbers of [at, at + n), kNull where they must be read.
inline uint8_t known_truth(const PredicateStep& step, uint64_t at, uint64_t n) {
  const uint8_t truth = zone_truth(step, at / kZone);
  for (uint64_t zone = at / kZone + 1; zone <= (at + n - 1) / kZone; ++zone)
    if (zone_truth(step, zone) != truth) return kNull;
  return truth;
}

// Of the values [at, at + n) of a step's column, all of which it covers.
QE_INLINE void test_inside(const PredicateStep& step, uint64_t at, uint64_t n, uint8_t* truth) {
  const PlanColumn& column = step.column;
  const uint64_t bit = at + static_cast<uint64_t>(column.validity_offset);
  uint8_t present[kBlock];
  if (column.validity) unpack(column.validity, bit, n, present);
  if (const uint8_t known = step.zones ? known_truth(step, at, n) : uint8_t{kNull}; known != kNull) {
    if (column.validity) for (uint64_t i = 0; i < n; ++i) truth[i] = static_cast<uint8_t>(known & -present[i]);
    else std::memset(truth, known, n);
    return;
  }
  const int64_t* integers = static_cast<const int64_t*>(column.values) + at;
  const int32_t* codes = static_cast<const int32_t*>(column.values) + at;
  if (step.kind == kLacks) {
    if (step.codes == kOfCodes) for (uint64_t i = 0; i < n; ++i) truth[i] = codes[i] < 0 ? kTrue : kFalse;
    else if (column.validity) for (uint64_t i = 0; i < n; ++i) truth[i] = static_cast<uint8_t>(kTrue + present[i]);
    else std::memset(truth, kFalse, n);
    return;
  }
  if (step.kind == kTable) {
    if (step.codes == kOfInt64) {
      const int64_t low = step.low - 1;
      if (column.validity) for (uint64_t i = 0; i < n; ++i) truth[i] = step.table[present[i] ? integers[i] - low : 0];
      else for (uint64_t i = 0; i < n; ++i) truth[i] = step.table[integers[i] - low];
    } else if (step.codes == kOfInt32) {
      const int64_t low = step.low - 1;
      for (uint64_t i = 0; i < n; ++i) truth[i] = step.table[!column.validity || present[i] ? codes[i] - low : 0];
    } else if (step.codes == kOfCodes) {
      for (uint64_t i = 0; i < n; ++i) truth[i] = step.table[codes[i] < 0 ? 0 : codes[i] + 1];
    } else {
      unpack(static_cast<const uint8_t*>(column.values), bit, n, truth);
      const uint8_t null = step.table[0], zero = step.table[1], one = step.table[2];
      for (uint64_t i = 0; i < n; ++i) truth[i] = truth[i] ? one : zero;
      if (column.validity) for (uint64_t i = 0; i < n; ++i) truth[i] = present[i] ? truth[i] : null;
    }
    return;
  }
  if (step.codes == kOfCodes) {
    compare(codes, static_cast<int32_t>(step.integer), step.op, n, truth);
    for (uint64_t i = 0; i < n; ++i) truth[i] = codes[i] < 0 ? uint8_t{kNull} : truth[i];
    return;
  }
  if (column.kind == kInt64 && step.whole) compare(integers, step.integer, step.op, n, truth);
  else if (column.kind == kFloat64 && !step.whole) compare(static_cast<const double*>(column.values) + at, step.real, step.op, n, truth);
  else for (uint64_t i = 0; i < n; ++i) {
    const Number constant{true, step.whole != 0, step.integer, step.real};
    const Number number = number_of(&column, 1, column.begin + static_cast<int64_t>(at + i));
    truth[i] = compares(step.op, number, constant) ? kTrue : kFalse;
  }
  if (column.validity) for (uint64_t i = 0; i < n; ++i) truth[i] &= static_cast<uint8_t>(-present[i]);
}

// Of ids [first, first + n): those that the column doesn't cover have null.
QE_INLINE void test(const PredicateStep& step, int64_t first, uint64_t n, uint8_t* truth) {
  const int64_t last = first + static_cast<int64_t>(n);
  const int64_t low = std::min(std::max(first, step.column.begin), last), high = std::max(std::min(last, step.column.end), low);
  uint8_t outside = step.kind == kLacks ? kTrue : kNull;
  if (step.kind == kTable) outside = step.table[0];
  if (low > first) std::memset(truth, outside, static_cast<size_t>(low - first));
  if (high < last) std::memset(truth + (high - first), outside, static_cast<size_t>(last - high));
  if (high > low) test_inside(step, static_cast<uint64_t>(low - step.column.begin), static_cast<uint64_t>(high - low), truth + (low - first));
}

QE_INLINE void join(int32_t kind, const uint8_t* other, uint64_t n, uint8_t* truth) {
  if (kind == kAnd) for (uint64_t i = 0; i < n; ++i) truth[i] = joined_truth(kAnd, truth[i], other[i]);
  else if (kind == kOr) for (uint64_t i = 0; i < n; ++i) truth[i] = joined_truth(kOr, truth[i], other[i]);
  else for (uint64_t i = 0; i < n; ++i) truth[i] = joined_truth(kXor, truth[i], other[i]);
}

// Runs a program for ids [first, first + n), n <= kBlock; room: a block for each truth value that may wait, the last one the first.
QE_INLINE void evaluate(const PredicateStep* steps, int32_t n_steps, int64_t first, uint64_t n, uint8_t* room) {
  uint8_t* top = room - kBlock;
  for (int32_t k = 0; k < n_steps; ++k) {
    const PredicateStep& step = steps[k];
    if (step.kind < kAnd) {
      test(step, first, n, top += kBlock);
    } else if (step.kind == kNot) {
      for (uint64_t i = 0; i < n; ++i) top[i] = negated_truth(top[i]);
    } else {
      join(step.kind, top, n, top - kBlock);
      top -= kBlock;
    }
  }
}

using Evaluate = void (*)(const PredicateStep*, int32_t, int64_t, uint64_t, uint8_t*);

// Steps [begin, end), a program of its own which must be true; for how many ids of a block it was, all until it is asked.
struct Part {
  int32_t begin, end;
  uint64_t held = kBlock;
};

// The parts of a program that ANDs join, those that zones may settle first, else in their order. begins: where the value starts that each step leaves.
std::vector<Part> parts_of(const PredicateStep* steps, int32_t n_steps, const std::vector<int32_t>& begins) {
  std::vector<Part> parts;
  int32_t end = n_steps;
  for (; steps[end - 1].kind == kAnd; end = parts.back().begin) parts.push_back({begins[static_cast<size_t>(end - 2)], end - 1});
  parts.push_back({0, end});
  std::reverse(parts.begin(), parts.end());
  std::stable_partition(parts.begin(), parts.end(), [&](const Part& part) { return steps[part.begin].zones != nullptr; });
  return parts;
}

// Writes whether all parts are true for ids [first, first + n), n <= kBlock; none is asked where none holds before it.
void conjunction(Evaluate evaluate, const PredicateStep* steps, std::vector<Part>& parts, bool counted, int64_t first, uint64_t n,
                 uint8_t* room, uint8_t* holds) {
  for (size_t k = 0; k < parts.size(); ++k) {
    if (k && !std::memchr(holds, 1, n)) return;
    Part& part = parts[k];
    evaluate(steps + part.begin, part.end - part.begin, first, n, room);
    if (k) for (uint64_t i = 0; i < n; ++i) holds[i] &= room[i];
    else for (uint64_t i = 0; i < n; ++i) holds[i] = room[i] & kTrue;
    if (counted) part.held = static_cast<uint64_t>(std::count(room, room + n, uint8_t{kTrue}));
  }
}

void evaluate_baseline(const PredicateStep* steps, int32_t n_steps, int64_t first, uint64_t n, uint8_t* room) {
  evaluate(steps, n_steps, first, n, room);
}

#if QE_X86
QE_AVX2 void evaluate_avx2(const PredicateStep* steps, int32_t n_steps, int64_t first, uint64_t n, uint8_t* room) {
  evaluate(steps, n_steps, first, n, room);
}

QE_AVX512 void evaluate_avx512(const PredicateStep* steps, int32_t n_steps, int64_t first, uint64_t n, uint8_t* room) {
  evaluate(steps, n_steps, first, n, room);
}
#endif

Evaluate chosen() {
#if QE_X86
  if (current_isa() == kAvx512) return evaluate_avx512;
  if (current_isa() == kAvx2) return evaluate_avx2;
#endif
  return evaluate_baseline;
}

// How many of bytes of 0 and 1 are 1.
uint64_t ones(const uint8_t* bytes, uint64_t begin, uint64_t end) {
  uint64_t sum = 0, i = begin, eight = 0;
  for (; i + 8 <= end; i += 8) {
    std::memcpy(&eight, bytes + i, 8);
    sum += eight * 0x0101010101010101u >> 56;
  }
  for (; i < end; ++i) sum += bytes[i];
  return sum;
}

// Writes places [places, stop), as many as there are from begin on; no branch tells where.
template <class Place>
void write_places(const uint8_t* holds, uint64_t begin, uint64_t end, int64_t first, Place* places, const Place* stop) {
  for (uint64_t i = begin; places < stop; i += 8) {
    uint64_t eight = 1;
    if (i + 8 <= end) std::memcpy(&eight, holds + i, 8);
    if (!eight) continue;
    for (uint64_t k = i; k < i + 8 && places < stop; ++k) {
      *places = static_cast<Place>(first + static_cast<int64_t>(k));
      places += holds[k];
    }
  }
}

}  // namespace qe::predicates

using namespace qe::predicates;

// Writes whether the program's last value is true for ids [first, first + n): a byte of 0 or 1 each.
// Errors: kInvalid where steps join values that there aren't, or leave none or several.
QE_API int32_t qe_predicate_holds(const qe::PredicateStep* steps, int32_t n_steps, int64_t first, uint64_t n, uint8_t* holds,
                                  qe::Control* control) {
  int32_t depth = 0, deepest = 0;
  std::vector<int32_t> begins(static_cast<size_t>(n_steps));
  for (int32_t k = 0; k < n_steps; ++k) {
    const bool joins = steps[k].kind >= qe::kAnd && steps[k].kind != qe::kNot;
    depth += steps[k].kind < qe::kAnd ? 1 : joins ? -1 : 0;
    deepest = std::max(deepest, depth);
    if (depth < 1) return qe::kInvalid;
    int32_t begin = k;
    for (int32_t values = steps[k].kind < qe::kAnd ? 0 : joins ? 2 : 1; values; --values) begin = begins[static_cast<size_t>(begin - 1)];
    begins[static_cast<size_t>(k)] = begin;
  }
  if (depth != 1) return qe::kInvalid;
  const Evaluate evaluate = chosen();
  const std::vector<Part> parts = parts_of(steps, n_steps, begins);
  return qe::eliminate::each_piece(qe::eliminate::workers_for(control, n), control, n, kPiece, [&](uint64_t begin, uint64_t end) {
    std::vector<uint8_t> room(static_cast<uint64_t>(deepest) * kBlock);
    std::vector<Part> own = parts;
    for (uint64_t at = begin; at < end; at += kBlock) {
      const bool counted = at == begin && own.size() > 1;  // the first block tells which part is to come first
      conjunction(evaluate, steps, own, counted, first + static_cast<int64_t>(at), std::min(kBlock, end - at), room.data(), holds + at);
      if (counted) std::stable_sort(own.begin(), own.end(), [](const Part& a, const Part& b) { return a.held < b.held; });
    }
  });
}

// Writes where bytes of 0 and 1 are 1, counted from `first`, ascending: as many int64, or where not `wide` uint32.
QE_API int32_t qe_predicate_places(const uint8_t* holds, uint64_t n, int64_t first, int32_t wide, void* places, qe::Control* control) {
  return qe::eliminate::guarded([&] {
    const int threads = qe::eliminate::workers_for(control, n);
    std::vector<uint64_t> begins(n / kPiece + 2);
    qe::eliminate::check(qe::eliminate::each_piece(threads, control, n, kPiece, [&](uint64_t begin, uint64_t end) {
      begins[begin / kPiece + 1] = ones(holds, begin, end);
    }));
    for (size_t k = 1; k < begins.size(); ++k) begins[k] += begins[k - 1];
    qe::eliminate::check(qe::eliminate::each_piece(threads, control, n, kPiece, [&](uint64_t begin, uint64_t end) {
      const uint64_t at = begins[begin / kPiece], stop = begins[begin / kPiece + 1];
      if (wide) write_places(holds, begin, end, first, static_cast<int64_t*>(places) + at, static_cast<int64_t*>(places) + stop);
      else write_places(holds, begin, end, first, static_cast<uint32_t*>(places) + at, static_cast<uint32_t*>(places) + stop);
    }));
  });
}
