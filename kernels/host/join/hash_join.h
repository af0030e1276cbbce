// The tables of a hash join, and how it is probed (hash_join.cpp).
#pragma once
#include "qe/abi.h"

namespace qe {

// Rows by group. `places`: of an array of groups, 0 for a hash table with a power of two of `slots`.
// `rows`: those of group g stand at [begins[g], begins[g + 1]).
struct JoinTable {
  int32_t n_keys;
  int32_t reserved;
  int64_t n;
  const int64_t* const* keys;
  int64_t low, places;
  int64_t slots;
  uint32_t* table;   // [slots]: the group, kEmpty for none
  uint32_t* begins;  // [groups + 1]: groups <= n, or `places` of them
  uint32_t* rows;    // [n]
};

// One equation of a test; an operand is a column of the build's rows or of the probing ones.
struct Equation {
  const int64_t *left, *right;
  int32_t left_built, right_built;
};

// No pair passes for which all equations hold.
struct JoinTest {
  int64_t count;
  Equation equations[2];
};

struct JoinProbe {
  const int64_t* const* keys;
  int64_t n;
  const JoinTest* tests;
  int64_t n_tests;
  int32_t once;  // a row of which one partner is found is through
  int32_t reserved;
  int64_t row, place;  // where to go on: the probing row, and how many of its group are through
  int64_t room;
  int64_t* out_probe;
  int64_t* out_built;
};

// Writes pairs until there is no room or no row left; *found: how many. Goes on where it was left.
Status find_pairs(const JoinTable& table, JoinProbe& probe, const Control* control, int64_t* found);

}  // namespace qe
