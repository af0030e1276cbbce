// The groups of a fold on a device and their records, to which all threads add at once by atomics.
//
// Dense, a record stands at its group's code; there may be several tables, `copies`, so that threads which meet the same few
// groups don't wait for each other: they are added up at the end. Hashed, groups stand where linear probing finds room; there
// always is some, for the host sees to it that not more than half of the places are taken.
#pragma once
#include "base/hardware.cuh"
#include "qe/conditions.h"
#include "qe/fold.h"

namespace qe::fold {

constexpr uint64_t kNoCode = UINT64_MAX;

// Mirrored by exec/gpu/folds.py. `slots`: records of copies times places. `codes`: of hashed groups, else null. `empty`: a record
// of no rows. `groups`: how many hashed ones there are. `places`: of a copy, hashed a power of two.
struct DeviceTable {
  Plan plan;
  int64_t* slots;
  uint64_t* codes;
  const int64_t* empty;
  uint64_t* groups;
  uint64_t places;
  uint32_t copies, unused;
};

struct Value {
  bool present;
  int64_t whole;
  double real;
};

__device__ inline Value value_of(const Column& column, int64_t id) {
  if (column.kind == kIds) return {true, id, 0};
  const int64_t at = id - column.base;
  if (!column.whole) {
    if (static_cast<uint64_t>(at) >= static_cast<uint64_t>(column.count)) return {false, 0, 0};
    const int64_t bit = at + column.validity_offset;
    if (column.validity && !(column.validity[bit >> 3] >> (bit & 7) & 1)) return {false, 0, 0};
  }
  if (column.kind == kFloat64) return {true, 0, static_cast<const double*>(column.values)[at]};
  if (column.kind == kInt64) return {true, static_cast<const int64_t*>(column.values)[at], 0};
  const int32_t code = static_cast<const int32_t*>(column.values)[at];
  return {code >= 0, code, 0};
}

__device__ inline Number number_of(const Column& column, int64_t id) {
  const Value value = value_of(column, id);
  return {value.present, column.kind != kFloat64, value.whole, value.real};
}

// The place of a group, made if need be.
__device__ inline uint64_t place_of(const DeviceTable& table, uint64_t code) {
  if (!table.codes) return code;
  const uint64_t mask = table.places - 1;
  uint64_t at = (code ^ code >> 32) * 0x9E3779B97F4A7C15u;
  for (at = (at ^ at >> 29) & mask;; at = (at + 1) & mask) {
    uint64_t found = static_cast<volatile uint64_t*>(table.codes)[at];
    if (found == kNoCode) {
      found = atomicCAS(table.codes + at, kNoCode, code);
      if (found == kNoCode) {
        atomicAdd(table.groups, uint64_t{1});
        return at;
      }
    }
    if (found == code) return at;
  }
}

__device__ inline void add(int64_t* slot, int64_t number) {
  atomicAdd(reinterpret_cast<uint64_t*>(slot), static_cast<uint64_t>(number));
}

// Combines a number with a slot of a task's record. Most rows find that nothing changes, and then don't write.
__device__ inline void combine(int32_t operation, int64_t* slot, int64_t number) {
  const int64_t now = *static_cast<volatile int64_t*>(slot);
  switch (operation) {
    case kMin:
      if (number < now) atomicMin(slot, number);
      return;
    case kMax:
      if (number > now) atomicMax(slot, number);
      return;
    case kDistinct:
      if (number & ~now) atomicOr(reinterpret_cast<uint64_t*>(slot), static_cast<uint64_t>(number));
      return;
    default:
      if (number) add(slot, number);
  }
}

__device__ inline void run(const Task& task, const Value& value, int64_t weight, int64_t* record) {
  int64_t* const to = record + task.slot;
  const bool real = task.column.kind == kFloat64;
  const auto digit = [&](int k, int64_t number) {
    if (number) add(to + k, number * weight);
  };
  switch (task.operation) {
    case kCount: return add(to, weight);
    case kMin:
    case kMax: return combine(task.operation, to, real ? ordered(value.real) : value.whole);
    case kDistinct: return combine(kDistinct, to + (value.whole >> 6), static_cast<int64_t>(uint64_t{1} << (value.whole & 63)));
    default:
      if (real) FloatDigits<0>{task.digits, task.scale, static_cast<double>(int64_t{1} << task.bits)}.each(value.real, digit);
      else IntegerDigits{task.digits, task.bits}.each(value.whole, digit);
  }
}

// Adds a row to its group: id(variable) gives its ids.
template <typename Id>
__device__ void add_row(const DeviceTable& table, uint32_t copy, int64_t weight, Id id) {
  uint64_t code = 0;
  for (int k = 0; k < table.plan.n_keys; ++k) {
    const Key& key = table.plan.keys[k];
    const Value value = value_of(key.column, id(key.column.variable));
    code = code * key.places + (value.present ? static_cast<uint64_t>(value.whole - key.low + 1) : 0);
  }
  const uint64_t slots = static_cast<uint64_t>(table.plan.n_slots);
  int64_t* const record = table.slots + (copy * table.places + place_of(table, code)) * slots;
  for (int k = 0; k < table.plan.n_tasks; ++k) {
    const Task& task = table.plan.tasks[k];
    if (!task.has_column) {
      add(record + task.slot, weight);
      continue;
    }
    const Value value = value_of(task.column, id(task.column.variable));
    if (value.present) run(task, value, weight, record);
  }
}

template <typename Id>
__device__ bool all_hold(const Condition* conditions, int32_t n, Id id) {
  for (int k = 0; k < n; ++k) {
    const Condition& each = conditions[k];
    const Number left = number_of(each.left, id(each.left.variable)), right = number_of(each.right, id(each.right.variable));
    if (!compares(each.op, left, right)) return false;
  }
  return true;
}

}  // namespace qe::fold
