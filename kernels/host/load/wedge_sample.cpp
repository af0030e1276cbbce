// Samples the wedges of a relationship type, paths (a)->(b)->(c), and looks which of them (a)->(c) closes.
//
// The wedges stand in the order of b; one is drawn at a random place of each of equally long parts. So both row indices
// are read twice from their beginning to their end, and beside that only a few cache lines a sample.
//
// Preconditions: `into` and `out` are the lists of what a vertex is reached from, and of what it reaches; of an undirected
// type both are the same, and a wedge takes two entries of one list. Deterministic: the same samples for a seed.
#include <algorithm>

#include "load/loading.h"
#include "qe/abi.h"
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

// The parts that so many wedges fall into, a sample each. 64-bit division is what this would take its time by.
struct Parts {
  uint64_t total, n, seed;
  uint64_t whole = total / n, rest = total % n;

  uint64_t begin(uint64_t part) const { return part * whole + part * rest / n; }
  uint64_t place(uint64_t part) const {  // of the sample
    const PhiloxBlock random = philox(part, 0, seed);
    const uint64_t first = begin(part);
    return first + below(uint64_t{random.word[0]} << 32 | random.word[1], begin(part + 1) - first);
  }
};

constexpr int kTogether = 16;  // searches whose cache misses overlap

// Tells of up to kTogether wedges sampled[3] = (a, b, c) whether a and c are different and joined, by searches side by side.
// No list is empty: a reaches b.
void find_closed(const Pcsr& out, const uint32_t* sampled, uint64_t n, uint8_t* closed) {
  const uint32_t* at[kTogether];
  uint64_t left[kTogether], longest = 0;
  for (uint64_t i = 0; i < n; ++i) {
    const Slice list = locate(out, sampled[3 * i]);
    at[i] = out.neighbours + list.begin;
    left[i] = list.end - list.begin;
    longest = std::max(longest, left[i]);
    __builtin_prefetch(at[i] + left[i] / 2);
  }
  for (; longest > 1; longest -= longest / 2) {
    for (uint64_t i = 0; i < n; ++i) {
      const uint64_t half = left[i] / 2;
      at[i] += at[i][half] <= sampled[3 * i + 2] ? half : 0;
      left[i] -= half;
    }
  }
  for (uint64_t i = 0; i < n; ++i) closed[i] = sampled[3 * i] != sampled[3 * i + 2] && *at[i] == sampled[3 * i + 2];
}

}  // namespace
}  // namespace qe

// Writes of at most `most` (below 2^32) wedges the vertices sampled[3] = (a, b, c), and whether a and c are different and
// joined; *samples is how many, *wedges how many there are.
QE_API int32_t qe_wedge_sample(const qe::WedgeLists* lists, uint64_t seed, uint64_t most, uint32_t* sampled, uint8_t* closed,
                               uint64_t* samples, uint64_t* wedges) {
  using namespace qe;
  const RowIndex& rows = lists->rows;
  const Pcsr& out = *lists->out;
  const bool undirected = lists->undirected != 0;
  const auto around = [&](uint64_t row) {
    Wedges found{{rows.begins[row], rows.ends[row]}, {0, 0}, 0};
    if (found.before.begin == found.before.end) return found;
    found.after = undirected ? found.before : locate(out, rows.key(row));
    found.choices = found.after.end - found.after.begin - (undirected ? 1 : 0);
    return found;
  };
  uint64_t total = 0;
  for (uint64_t row = 0; row < rows.n; ++row) total += around(row).count();
  const uint64_t n = std::min(most, total);
  *wedges = total;
  *samples = n;
  if (n == 0) return kOk;
  const Parts parts{total, n, seed};
  uint64_t passed = 0, sample = 0, at = parts.place(0);
  for (uint64_t row = 0; sample < n; ++row) {
    const Wedges here = around(row);
    const uint64_t reached = passed + here.count();
    while (sample < n && at < reached) {
      const uint64_t before = (at - passed) / here.choices;
      uint64_t after = (at - passed) % here.choices;
      if (undirected && after >= before) ++after;  // another one of the same list
      sampled[3 * sample] = lists->neighbours[here.before.begin + before];
      sampled[3 * sample + 1] = rows.key(row);
      sampled[3 * sample + 2] = out.neighbours[here.after.begin + after];
      if (++sample < n) at = parts.place(sample);
    }
    passed = reached;
  }
  for (uint64_t i = 0; i < n; i += kTogether) find_closed(out, sampled + 3 * i, std::min<uint64_t>(kTogether, n - i), closed + i);
  return kOk;
}
