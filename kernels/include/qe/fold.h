// What an aggregate needs of rows, when its keys and arguments are numbers of the rows' elements. Shared by host and GPU.
//
// A row is an id for each variable. A key or an argument is a column by one variable's ids. All that records hold are whole
// numbers: floats are added as fixed-point digits, so sums are the same in any order, on any number of threads.
// Source: reproducible sums, Demmel and Nguyen 2015.
#pragma once
#include "qe/portable.h"

namespace qe::fold {

enum Kind : int32_t { kIds = 0, kInt64 = 1, kFloat64 = 2, kCodes = 3 };  // kIds: the id itself; kCodes: int32, below 0: null
enum Operation : int32_t { kCount = 0, kSum = 1, kMin = 2, kMax = 3, kDistinct = 4, kGather = 5 };

// A number of each element with an id in [base, base + count); others have none. whole: all rows' elements have one.
struct Column {
  const void* values;
  const uint8_t* validity;  // bits, from validity_offset on; or null
  int64_t base, count, validity_offset;
  int32_t kind, variable;
  int32_t whole, unused;
};

// A key: 0 for null, else number - low + 1, below places.
struct Key {
  Column column;
  int64_t low;
  uint64_t places;
};

// An operation on the numbers of a column, without one on rows (kCount alone). Its record has from `slot` on:
// kCount: how many; kMin, kMax: the number, floats as integers of the same order with NaN greatest; kDistinct: `digits` words of
// bits, one for each code; kGather, the host's alone: how many rows have a number, which are kept besides (fold/gathered.h); kSum: `digits` sums of `bits` bits of each number, the highest first. Floats are first multiplied by
// `scale`, so that they are below 2^bits, and the highest digit is their nearest integer.
struct Task {
  Column column;
  int32_t operation, has_column, slot, digits;
  int64_t bits;
  double scale;
};

// `places`: the product of the keys' places. Weights add up to `most` at most. Slot 0 of a record counts rows. hashed: there is no
// record for each place; shared, the host's alone: there is, but one table alone for all threads.
struct Plan {
  const Key* keys;
  const Task* tasks;
  uint64_t places, most;
  int32_t n_keys, n_tasks, n_slots, n_variables;
  int32_t hashed, shared;
};

// A comparison of two columns' numbers (qe/match_plan.h): null makes it false.
struct Condition {
  Column left, right;
  int32_t op, unused;
};

// Relationships of one type. begins: n + 1 places in `ends`, of the lists of n vertices from `first` on, or of `vertices`.
// The id of an entry's relationship is its place from edge_base on. admits: a byte a vertex (from 0 on), or a relationship (by its
// place), or null: all. weighs: a number a vertex, whose product says how often a row counts, or null: 1; lessens: a byte a vertex, of
// the row's other one, taken off that number, or null; the host's alone.
// Variables that a row's owner, end and relationship are, -1: none.
struct Lists {
  const uint32_t* vertices;
  const uint64_t* begins;
  const uint32_t* ends;
  const uint8_t* admits_owner;
  const uint8_t* admits_end;
  const uint8_t* admits_edge;
  const int64_t* weighs_owner;
  const int64_t* weighs_end;
  const uint8_t* lessens_owner;
  const uint8_t* lessens_end;
  int64_t edge_base;
  uint64_t n;
  uint32_t first;
  int32_t owner, end, edge;
  int32_t skip_loops, unused;
};

QE_BOTH inline int64_t ordered(int64_t number) { return number; }
QE_BOTH inline int64_t ordered(int32_t number) { return number; }

// An integer of the same order, NaN greatest, and both zeros equal.
QE_BOTH inline int64_t ordered(double number) {
  if (number != number) return 0x7FF8000000000000;
  union {
    double real;
    int64_t bits;
  } same = {number + 0.0};
  return same.bits < 0 ? same.bits ^ INT64_MAX : same.bits;
}

QE_BOTH inline int64_t nearest(double number) {
#ifdef __CUDACC__
  return __double2ll_rn(number);
#else
  return __builtin_lrint(number);
#endif
}

// Whole numbers by digits: calls add(place, digit) for each; the lower ones are not negative.
struct IntegerDigits {
  int digits;
  int64_t bits;

  template <typename Add>
  QE_BOTH void each(int64_t number, Add&& add) const {
    const int64_t mask = (int64_t{1} << bits) - 1;
    for (int k = digits - 1; k > 0; --k, number >>= bits) add(k, number & mask);
    add(0, number);
  }
};

// Floats by digits; kDigits: how many, 0 if that isn't known. step: 2^bits.
template <int kDigits>
struct FloatDigits {
  int digits;
  double scale, step;

  template <typename Add>
  QE_BOTH void each(double number, Add&& add) const {
    double left = number * scale;
    const int n = kDigits ? kDigits : digits;
    for (int k = 0; k < n; ++k) {
      const int64_t digit = nearest(left);
      add(k, digit);
      left = (left - static_cast<double>(digit)) * step;
    }
  }
};

}  // namespace qe::fold
