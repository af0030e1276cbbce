// What must hold of the lists of a saved graph before a kernel reads them.
#pragma once
#include <cstdint>

#include "load/saved_blocks.h"
#include "qe/pcsr.h"

namespace qe {

enum SavedFault : int32_t {
  kNoFault = 0,
  kWrongChecksum = 1,   // of block `place` of the file
  kWrongIndex = 2,      // the row index isn't one that was written: offsets, keys or groups; `place` is the row or group
  kUnsorted = 3,        // a list doesn't ascend, or repeats a neighbour where the type has no parallel relationships
  kOutside = 4,         // a neighbour is outside [low, high)
  kLoop = 5,            // a vertex is its own neighbour where the type has no such relationship
  kWrongId = 6,         // a relationship id is `n_ids` or more
};

enum SavedIds : int32_t { kWithoutIds = 0, kPositions = 1, kStored = 2 };

// Mirrored by qengine/storage/saved_lists.py. Sizes of arrays fit `lists`, and all arrays lie inside the file.
//
// Digests are sums over the entries of a mixed number of (start, end), or of (start, end, id): an adjacency and its
// transpose have the same. `digests[0]` takes entries as they are, `digests[1]` (if `both_ways`) turned round, without
// loops.
struct SavedLists {
  SavedBlocks file;
  Pcsr lists;
  uint64_t n_groups;   // of the groups form, overflow groups too
  uint64_t n_ids;
  uint32_t low, high;  // neighbours must lie in [low, high)
  int32_t parallel;    // lists may repeat a neighbour
  int32_t loops;
  int32_t turned;      // lists are those of end vertices
  int32_t ids;         // SavedIds: what the digests mix in
  int32_t both_ways;
  int32_t fault;       // SavedFault, written
  uint64_t place;      // written
  uint64_t digests[2];  // written
  uint8_t* parts_done;  // one for each part of the entries; those that are set are left out, so a stopped check goes on
  uint64_t* parts_digests;  // two for each part
};

// Entries are checked in parts that end where blocks of the file do.
inline uint64_t entry_parts(const SavedLists& saved) {
  if (saved.lists.n_entries == 0) return 0;
  const uint64_t begin = reinterpret_cast<const unsigned char*>(saved.lists.neighbours) - saved.file.data;
  return (begin + 4 * saved.lists.n_entries - 1) / kSavedBlock - begin / kSavedBlock + 1;
}

}  // namespace qe
