// A 64-bit checksum for files: finds any changed byte, at memory speed. Not meant against an attacker.
//
// Eight lanes take 64-bit words in turn: lane = (lane ^ word) * odd, rotated. A step is a bijection of the lane for a
// fixed word and of the word for a fixed lane, so a change within one word always changes the lane's final state;
// lanes are joined by the same step, so it always changes the result.
#include <cstring>

#include "qe/abi.h"

namespace {

constexpr uint64_t kOdd = 0x9E3779B97F4A7C15ull;
constexpr int kLanes = 8;

inline uint64_t step(uint64_t lane, uint64_t word) {
  lane = (lane ^ word) * kOdd;
  return lane << 29 | lane >> 35;
}

}  // namespace

// Continues *state (kLanes words, all zero at first) over data[n]; n is a multiple of 64 except in the last call.
// Returns the checksum of all that was given so far, `total` bytes.
QE_API uint64_t qe_checksum(uint64_t* state, const unsigned char* data, uint64_t n, uint64_t total) {
  uint64_t lane[kLanes];
  std::memcpy(lane, state, sizeof lane);
  uint64_t i = 0;
  for (; i + 8 * kLanes <= n; i += 8 * kLanes) {
    uint64_t word[kLanes];
    std::memcpy(word, data + i, sizeof word);
    for (int k = 0; k < kLanes; ++k) lane[k] = step(lane[k], word[k]);
  }
  for (int k = 0; i < n; i += 8, ++k) {
    uint64_t word = 0;
    std::memcpy(&word, data + i, n - i < 8 ? n - i : 8);
    lane[k] = step(lane[k], word);
  }
  std::memcpy(state, lane, sizeof lane);
  uint64_t result = step(0, total);
  for (uint64_t one : lane) result = step(result, one);
  return result ^ result >> 32;
}
