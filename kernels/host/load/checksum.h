// The checksum of saved files: finds any changed byte, at memory speed. Not meant against an attacker.
//
// Eight lanes take 64-bit words in turn: lane = (lane ^ word) * odd, rotated. A step is a bijection of the lane for a
// fixed word and of the word for a fixed lane, so a change within one word always changes the lane's final state;
// lanes are joined by the same step, so it always changes the result.
#pragma once
#include <cstdint>
#include <cstring>

namespace qe {

constexpr int kChecksumLanes = 8;

inline uint64_t checksum_step(uint64_t lane, uint64_t word) {
  lane = (lane ^ word) * 0x9E3779B97F4A7C15ull;
  return lane << 29 | lane >> 35;
}

// Continues *state (kChecksumLanes words, all zero at first) over data[n]; n is a multiple of 64 except in the last
// call. Returns the checksum of all that was given so far, `total` bytes.
inline uint64_t checksum(uint64_t* state, const unsigned char* data, uint64_t n, uint64_t total) {
  uint64_t lane[kChecksumLanes];
  std::memcpy(lane, state, sizeof lane);
  uint64_t i = 0;
  for (; i + sizeof lane <= n; i += sizeof lane) {
    uint64_t word[kChecksumLanes];
    std::memcpy(word, data + i, sizeof word);
    for (int k = 0; k < kChecksumLanes; ++k) lane[k] = checksum_step(lane[k], word[k]);
  }
  for (int k = 0; i < n; i += 8, ++k) {
    uint64_t word = 0;
    std::memcpy(&word, data + i, n - i < 8 ? n - i : 8);
    lane[k] = checksum_step(lane[k], word);
  }
  std::memcpy(state, lane, sizeof lane);
  uint64_t result = checksum_step(0, total);
  for (uint64_t one : lane) result = checksum_step(result, one);
  return result ^ result >> 32;
}

}  // namespace qe
