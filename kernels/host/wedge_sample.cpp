// Samples the wedges of a relationship type, paths (a)->(b)->(c), and looks which of them (a)->(c) closes.
//
// The wedges stand in the order of b; one is drawn at a random place of each of equally long parts. So both row indices
// are read twice from their beginning to their end, and beside that only a few cache lines a sample.
//
// Preconditions: `into` and `out` are the lists of what a vertex is reached from, and of what it reaches; of an undirected
// type both are the same, and a wedge takes two entries of one list. Deterministic: the same samples for a seed.
#include <algorithm>

#include "qe/abi.h"
#include "qe/pcsr.h"
#include "qe/philox.h"

namespace qe {
namespace {

// The high half of the product: a number below `end`, by a random one.
uint64_t below(uint64_t random, uint64_t end) {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(random) * end) >> 64);
}

struct Wedges {  // around one vertex
  Slice before, after;
  uint64_t choices;  // of the second end, given the first

  uint64_t count() const { return (before.end - before.begin) * choices; }
};

Wedges around(const Pcsr& into, const Pcsr& out, bool undirected, uint32_t vertex) {
  Wedges found{locate(into, vertex), {0, 0}, 0};
  if (found.before.begin == found.before.end) return found;
  found.after = undirected ? found.before : locate(out, vertex);
  found.choices = found.after.end - found.after.begin;
  if (undirected) --found.choices;
  return found;
}

}  // namespace
}  // namespace qe

// Writes of at most `most` wedges the vertices ends[3] = (a, b, c), and whether a and c are different and joined;
// *samples is how many, *wedges how many there are.
QE_API int32_t qe_wedge_sample(const qe::Pcsr* into, const qe::Pcsr* out, int32_t undirected, uint64_t seed, uint64_t most,
                               uint32_t* ends, uint8_t* closed, uint64_t* samples, uint64_t* wedges) {
  using namespace qe;
  uint64_t total = 0;
  for (uint32_t v = into->lo; v < into->hi; ++v) total += around(*into, *out, undirected != 0, v).count();
  const uint64_t n = std::min(most, total);
  *wedges = total;
  *samples = n;
  const auto place = [&](uint64_t sample) {
    const auto begin = [&](uint64_t part) {
      return static_cast<uint64_t>(static_cast<unsigned __int128>(part) * total / n);
    };
    const PhiloxBlock random = philox(sample, 0, seed);
    const uint64_t first = begin(sample);
    return first + below(uint64_t{random.word[0]} << 32 | random.word[1], begin(sample + 1) - first);
  };
  uint64_t passed = 0, sample = 0;
  for (uint32_t v = into->lo; v < into->hi && sample < n; ++v) {
    const Wedges here = around(*into, *out, undirected != 0, v);
    const uint64_t count = here.count();
    for (; sample < n; ++sample) {
      const uint64_t at = place(sample) - passed;
      if (at >= count) break;
      const uint64_t first = at / here.choices;
      uint64_t second = at % here.choices;
      if (undirected && second >= first) ++second;  // another one of the same list
      const uint32_t a = into->neighbours[here.before.begin + first], c = out->neighbours[here.after.begin + second];
      const Slice list = locate(*out, a);
      ends[3 * sample] = a;
      ends[3 * sample + 1] = v;
      ends[3 * sample + 2] = c;
      closed[sample] = a != c && std::binary_search(out->neighbours + list.begin, out->neighbours + list.end, c);
    }
    passed += count;
  }
  return kOk;
}
