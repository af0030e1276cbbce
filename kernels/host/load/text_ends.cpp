// Finds the least and the greatest of an array's texts, by their bytes. Bytes moved: the offsets, and a cache line a text; the
// rest of a text is read only where its first eight bytes don't tell it from the least or the greatest so far.
#include <algorithm>
#include <cstring>

#include "base/workers.h"

namespace qe {
namespace {

struct Text {
  const uint8_t* bytes;
  uint64_t length;

  uint64_t head() const {  // the first eight bytes as a number that is as great as they are; absent ones are zeros
    uint64_t word = 0;
    if (length >= sizeof(word)) {
      std::memcpy(&word, bytes, sizeof(word));
      return __builtin_bswap64(word);
    }
    for (uint64_t i = 0; i < length; ++i) word |= uint64_t{bytes[i]} << (8 * (sizeof(word) - 1 - i));
    return word;
  }
  bool operator<(const Text& other) const {
    const uint64_t both = std::min(length, other.length);
    const int order = both == 0 ? 0 : std::memcmp(bytes, other.bytes, both);
    return order != 0 ? order < 0 : length < other.length;
  }
};

template <class Offset>
void find_ends(const Offset* offsets, const uint8_t* bytes, uint64_t n, uint64_t* ends) {
  const auto text = [&](uint64_t i) { return Text{bytes + offsets[i], static_cast<uint64_t>(offsets[i + 1] - offsets[i])}; };
  uint64_t least = text(0).head(), greatest = least;
  for (uint64_t i = 1; i < n; ++i) {
    const Text here = text(i);
    const uint64_t head = here.head();
    if (head <= least && here < text(ends[0])) {
      ends[0] = i;
      least = head;
    }
    if (head >= greatest && text(ends[1]) < here) {
      ends[1] = i;
      greatest = head;
    }
  }
}

}  // namespace
}  // namespace qe

// Text i of n, at least one, is bytes[offsets[i], offsets[i + 1]), offsets of `offset_width` bytes (4 or 8). Writes the places
// of the first that is least and of the first that is greatest: ends[2].
QE_API int32_t qe_text_ends(const void* offsets, uint32_t offset_width, const uint8_t* bytes, uint64_t n, uint64_t* ends) {
  using namespace qe;
  ends[0] = ends[1] = 0;
  if (offset_width == 4) {
    find_ends(static_cast<const uint32_t*>(offsets), bytes, n, ends);
  } else {
    find_ends(static_cast<const uint64_t*>(offsets), bytes, n, ends);
  }
  return kOk;
}
