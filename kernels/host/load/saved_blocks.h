// The blocks of a mapped file of a saved graph, whose checksums are compared when a block is first needed.
#pragma once
#include <algorithm>
#include <cstdint>

#include "load/checksum.h"

namespace qe {

constexpr uint64_t kSavedBlock = 1 << 18;  // bytes, as in qengine/storage/kernels.py: stays in the second-level cache

// Mirrored by qengine/storage/blocks.py. `done` has a byte for each block, set once its checksum was right; any number
// of threads may set it.
struct SavedBlocks {
  const unsigned char* data;
  uint64_t bytes;
  const uint64_t* checksums;  // null: all were compared before
  uint8_t* done;
};

// Tells whether a block's checksum is right; compares it once.
inline bool right_block(const SavedBlocks& file, uint64_t block) {
  if (file.checksums == nullptr || __atomic_load_n(file.done + block, __ATOMIC_RELAXED)) return true;
  const uint64_t begin = block * kSavedBlock, size = std::min(kSavedBlock, file.bytes - begin);
  uint64_t state[kChecksumLanes] = {};
  if (checksum(state, file.data + begin, size, size) != file.checksums[block]) return false;
  __atomic_store_n(file.done + block, 1, __ATOMIC_RELAXED);
  return true;
}

}  // namespace qe
