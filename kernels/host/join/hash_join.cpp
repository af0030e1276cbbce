// Joins two tables of ids: rows of one are found by their keys, rows of the other look theirs up.
//
// Build: rows are grouped by their key columns, in a counting sort that keeps their order. The groups of one column
// whose ids lie close together are numbered by the ids themselves (an array); all others by a hash table with linear
// probing whose slots point at a row of the group. Probe: streams pairs of rows in the order of the probing rows, as
// many as the caller has room for, and goes on from there; tests rule out pairs. Ids below 0 are null and join nothing.
// Both run on the calling thread and are deterministic. Bytes moved: build 24 a row and column and two random accesses
// a row; probe one or two random accesses a row, and what the tests read of each pair.
// Source: Graefe 1993 §4; no partitioning: ids that are near each other come together from the search already.
#include <algorithm>
#include <vector>

#include "base/stop.h"
#include "join/hash_join.h"

namespace qe {
namespace {

constexpr int64_t kRowsAPoll = 1 << 16;
constexpr int64_t kAhead = 8;  // rows whose groups are asked for before they are needed
constexpr uint32_t kEmpty = UINT32_MAX;

inline bool is_null(const int64_t* const* keys, int32_t n_keys, int64_t row) {
  for (int32_t k = 0; k < n_keys; ++k)
    if (keys[k][row] < 0) return true;
  return false;
}

inline uint64_t hash_of(const int64_t* const* keys, int32_t n_keys, int64_t row) {
  uint64_t hash = 0;
  for (int32_t k = 0; k < n_keys; ++k) {
    hash = (hash ^ static_cast<uint64_t>(keys[k][row])) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 32;
  }
  return hash;
}

inline bool same_key(const int64_t* const* one, int64_t i, const int64_t* const* other, int64_t j, int32_t n_keys) {
  for (int32_t k = 0; k < n_keys; ++k)
    if (one[k][i] != other[k][j]) return false;
  return true;
}

// Numbers each row's group, and notes in `firsts` a row of each: for the hash table.
int64_t find_groups(const JoinTable& to, uint32_t* group_of, uint32_t* firsts, int64_t begin, int64_t end,
                    int64_t groups) {
  const auto mask = static_cast<uint64_t>(to.slots - 1);
  for (int64_t i = begin; i < end; ++i) {
    if (is_null(to.keys, to.n_keys, i)) {
      group_of[i] = kEmpty;
      continue;
    }
    uint64_t slot = hash_of(to.keys, to.n_keys, i) & mask;
    while (to.table[slot] != kEmpty && !same_key(to.keys, firsts[to.table[slot]], to.keys, i, to.n_keys))
      slot = (slot + 1) & mask;
    if (to.table[slot] == kEmpty) {
      firsts[groups] = static_cast<uint32_t>(i);
      to.table[slot] = static_cast<uint32_t>(groups++);
    }
    group_of[i] = to.table[slot];
  }
  return groups;
}

Status build(const JoinTable& to, const Control* control) {
  std::vector<uint32_t> group_of(static_cast<size_t>(to.n));
  int64_t groups = to.places;
  if (to.places == 0) {
    std::vector<uint32_t> firsts(static_cast<size_t>(to.n));
    std::fill_n(to.table, to.slots, kEmpty);
    for (int64_t i = 0; i < to.n; i += kRowsAPoll) {
      if (const Status status = stopped(control); status != kOk) return status;
      groups = find_groups(to, group_of.data(), firsts.data(), i, std::min(to.n, i + kRowsAPoll), groups);
    }
  } else {
    for (int64_t i = 0; i < to.n; ++i) {
      const int64_t id = to.keys[0][i];
      group_of[static_cast<size_t>(i)] = id < 0 ? kEmpty : static_cast<uint32_t>(id - to.low);
    }
  }
  if (const Status status = stopped(control); status != kOk) return status;
  std::fill_n(to.begins, groups + 1, 0u);
  for (const uint32_t group : group_of)
    if (group != kEmpty) ++to.begins[group + 1];
  for (int64_t g = 0; g < groups; ++g) to.begins[g + 1] += to.begins[g];
  // Each group's begin moves to its end while it is filled, and back to the end of the one before afterwards.
  if (const Status status = stopped(control); status != kOk) return status;
  for (int64_t i = 0; i < to.n; ++i) {
    const uint32_t group = group_of[static_cast<size_t>(i)];
    if (group != kEmpty) to.rows[to.begins[group]++] = static_cast<uint32_t>(i);
  }
  for (int64_t g = groups; g > 0; --g) to.begins[g] = to.begins[g - 1];
  to.begins[0] = 0;
  return kOk;
}

// The group of a probing row, kEmpty for none.
uint32_t look_up(const JoinTable& in, const JoinProbe& probe, int64_t row) {
  if (is_null(probe.keys, in.n_keys, row)) return kEmpty;
  if (in.places > 0) {
    const int64_t place = probe.keys[0][row] - in.low;
    return place >= 0 && place < in.places ? static_cast<uint32_t>(place) : kEmpty;
  }
  const auto mask = static_cast<uint64_t>(in.slots - 1);
  uint64_t slot = hash_of(probe.keys, in.n_keys, row) & mask;
  while (in.table[slot] != kEmpty) {
    if (same_key(in.keys, in.rows[in.begins[in.table[slot]]], probe.keys, row, in.n_keys)) return in.table[slot];
    slot = (slot + 1) & mask;
  }
  return kEmpty;
}

inline void ask_for(const JoinTable& in, const JoinProbe& probe, int64_t row) {
  if (row >= probe.n || is_null(probe.keys, in.n_keys, row)) return;
  if (in.places > 0) {
    const int64_t place = probe.keys[0][row] - in.low;
    if (place >= 0 && place < in.places) __builtin_prefetch(in.begins + place);
  } else {
    __builtin_prefetch(in.table + (hash_of(probe.keys, in.n_keys, row) & static_cast<uint64_t>(in.slots - 1)));
  }
}

inline bool passes(const JoinProbe& probe, int64_t row, int64_t built) {
  for (int64_t t = 0; t < probe.n_tests; ++t) {
    const JoinTest& test = probe.tests[t];
    bool all = true;
    for (int64_t e = 0; e < test.count && all; ++e) {
      const Equation& of = test.equations[e];
      all = of.left[of.left_built ? built : row] == of.right[of.right_built ? built : row];
    }
    if (all) return false;
  }
  return true;
}

}  // namespace

Status find_pairs(const JoinTable& in, JoinProbe& probe, const Control* control, int64_t* found) {
  int64_t n = 0, steps = 0;
  for (; probe.row < probe.n; ++probe.row, probe.place = 0) {
    if (++steps >= kRowsAPoll) {
      if (const Status status = stopped(control); status != kOk) return status;
      steps = 0;
    }
    ask_for(in, probe, probe.row + kAhead);
    const uint32_t group = look_up(in, probe, probe.row);
    if (group == kEmpty) continue;
    const int64_t first = in.begins[group], end = in.begins[group + 1];
    for (int64_t at = first + probe.place; at < end; ++at) {
      if (n == probe.room) {
        probe.place = at - first;
        *found = n;
        return kOk;
      }
      ++steps;
      const int64_t built = in.rows[at];
      if (!passes(probe, probe.row, built)) continue;
      probe.out_probe[n] = probe.row;
      probe.out_built[n++] = built;
      if (probe.once) break;
    }
  }
  *found = n;
  return kOk;
}

}  // namespace qe

// Fills the arrays of a table, which the caller allocates, from its keys. At most 2^32 - 2 rows.
QE_API int32_t qe_join_build(const qe::JoinTable* table, const qe::Control* control) {
  if (table->n_keys < 1 || (table->places > 0 && table->n_keys != 1)) return qe::kInvalid;
  if (table->n >= qe::kEmpty || table->places >= qe::kEmpty) return qe::kOutOfMemory;
  try {
    return qe::build(*table, control);
  } catch (const std::bad_alloc&) {
    return qe::kOutOfMemory;
  }
}

// Writes the next pairs of rows and how many they are: fewer than there is room for once all are through.
QE_API int32_t qe_join_probe(const qe::JoinTable* table, qe::JoinProbe* probe, const qe::Control* control,
                             int64_t* found) {
  return qe::find_pairs(*table, *probe, control, found);
}
