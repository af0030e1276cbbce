// What the functions of loading and of statistics take: plain structs, mirrored by qengine/storage/structs.py.
#pragma once
#include "qe/pcsr.h"

namespace qe {

// A row index: list k is [begins[k], ends[k]) and belongs to keys[k], ascending; without keys to first + k.
struct RowIndex {
  const uint32_t* keys;
  const uint64_t* begins;
  const uint64_t* ends;
  uint64_t n;
  uint32_t first;
  uint32_t unused;

  uint32_t key(uint64_t row) const { return keys == nullptr ? first + static_cast<uint32_t>(row) : keys[row]; }
};

// Entries to sort into lists: entry i belongs to list lists[i], in [lo, lo + n_lists).
struct ListEntries {
  const uint32_t* lists;
  const uint32_t* entries;
  uint64_t n;
  uint32_t lo;
  uint32_t n_lists;
};

// Lists in the sorted form: keys ascending, offsets one longer.
struct KeyedLists {
  const uint32_t* keys;
  const uint64_t* offsets;
  const uint32_t* neighbours;
  uint64_t n_keys;
};

// Where merged lists go: offsets[n_keys + 1], neighbours and ids. The keys are given.
struct MergedLists {
  const uint32_t* keys;
  uint64_t* offsets;
  uint32_t* neighbours;
  uint32_t* ids;
  uint64_t n_keys;
};

// Which vertex a key stands for: entries[key - low], `missing` for a key that is outside or that nothing has.
struct KeyTable {
  const uint32_t* entries;
  uint64_t size;
  int64_t low;
  uint32_t missing;
  uint32_t unused;
};

// Lists, all of whose neighbours are in [low, high), and groups of vertices: group_ends[n_groups], ascending.
struct GroupedLists {
  RowIndex rows;
  const uint32_t* neighbours;
  const uint32_t* group_ends;
  uint32_t n_groups;
  uint32_t low;
  uint32_t high;
  int32_t sides;  // whether neighbours with lesser ids are told from those with greater ones
};

// Where statistics of pairs of groups go: `capacity` places each, of pairs two and of moments four numbers a place.
struct PairTable {
  uint32_t* pairs;
  uint64_t* entries;
  uint64_t* owners;
  uint64_t* largest;
  double* moments;
  uint64_t capacity;
};

// Paths of two steps to sample: `rows` of what reaches a vertex, in `neighbours`, and `out`, what it reaches.
struct WedgeLists {
  RowIndex rows;
  const uint32_t* neighbours;
  const Pcsr* out;
  int32_t undirected;
  uint32_t unused;
};

// Columns of edges, each of as many places as the text may have lines. `third`: null where it isn't wanted.
struct EdgeColumns {
  int64_t* first;
  int64_t* second;
  int64_t* third;
};

// What a text of edges holds. bad_line: the first that is no edge, from 0; UINT64_MAX where all are.
struct EdgeLines {
  uint64_t n_rows;
  uint64_t n_lines;
  uint64_t bad_line;
};

// A sequence made of runs of another one, which has n_old elements, and of added ones: the places from begins[k] to
// begins[k + 1] hold the elements from sources[k] on, from n_old on those that are added. `begins` is one longer.
struct Runs {
  const uint64_t* begins;
  const uint64_t* sources;
  uint64_t n;
  uint64_t n_old;
};

// How elements that stay move: by shifts[k], where k counts the points that are at most the old place; modulo 2^32.
struct Moves {
  const uint32_t* points;
  const uint32_t* shifts;
  uint64_t n;
};

// Rows of dense lists: the new vertices low..low + n_rows - 1, made of runs of vertices. Old lists begin at `offsets`,
// n_old + 1 of them from the vertex old_low on.
struct SplicedRows {
  Runs runs;
  const uint8_t* fresh;
  const uint64_t* offsets;
  uint64_t n_old;
  uint64_t old_low;
  uint64_t low;
  uint64_t n_rows;
};

// Lists of n_vertices vertices. `origins`: the old vertex of each, -1 for none; `new_ids` by old vertex; both null
// where ids stay. `gone`: 1 for each old entry that goes; null for none. What is added comes by owner and entry.
// Beside each entry stands its old id (else its place), or its source; or by that the id of `places`.
struct Relisting {
  const Pcsr* old;
  const int64_t* origins;
  const uint32_t* new_ids;
  const uint8_t* gone;
  const uint32_t* owners;
  const uint32_t* entries;
  const uint32_t* sources;
  uint64_t n_added;
  const uint32_t* places;
  uint64_t n_vertices;
};

}  // namespace qe
