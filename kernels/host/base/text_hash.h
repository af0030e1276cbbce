// Hashes of texts, the same wherever one is taken. They last as long as the process: nothing stored depends on them.
#pragma once
#include <cstdint>
#include <cstring>

namespace qe {

inline uint64_t mixed(uint64_t x) {  // the finalizer of MurmurHash3
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdULL;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ULL;
  return x ^ (x >> 33);
}

inline uint64_t text_hash(const uint8_t* bytes, uint64_t length) {
  uint64_t hash = 0x9e3779b97f4a7c15ULL ^ length;
  while (length > 0) {
    const uint64_t part = length < 8 ? length : 8;
    uint64_t word = 0;
    std::memcpy(&word, bytes, part);
    hash = mixed(hash ^ word) + 0x9e3779b97f4a7c15ULL;
    bytes += part;
    length -= part;
  }
  return hash;
}

}  // namespace qe
