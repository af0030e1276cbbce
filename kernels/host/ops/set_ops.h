// Set operations on sorted lists of vertex ids, in one version per instruction set.
//
// Lists are strictly ascending and hold ids below kNoVertex. `out` must not overlap an input and must have room for
// min(na, nb) + kSlack ids: vector stores write whole blocks. Bitmaps hold id v at bit v % 64 of word v / 64.
// All versions give the same results. Costs on a Zen 4 core: a merge reads both lists at 0.2 ns an id, a bitmap test
// costs 0.2 ns an id of the one list, galloping some 5 ns an id of the short list.
// Source: block-wise merging after Han, Zou, Yu (SIGMOD 2018) and Inoue et al. (VLDB 2014); galloping after Bentley and Yao.
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/isa.h"
#include "qe/lists.h"

namespace qe {

constexpr size_t kSlack = 16;
constexpr size_t kGallopRatio = 32;  // the longer list is galloped through when it is this many times longer
constexpr size_t kRowBlock = 8;      // words of a row of bits that are read at a time

// A row of bits, a multiple of kRowBlock words.
struct BitRow {
  const uint64_t* words;
  size_t n;
};

// Counters that rows of bits are added to: how many rows have a bit. They are kept as bits themselves, so that 512 of them
// grow in a few operations: of each block of rows `digits` blocks of words, from the counters' lowest digit on.
// `digits` must be enough for every count, and no fewer than kLeastDigits. (Harley and Seal's counter: Muła, Kurz and
// Lemire 2018.)
struct BitCounters {
  uint64_t* words;
  size_t digits;

  uint32_t operator[](size_t bit) const {
    const uint64_t* at = words + bit / (64 * kRowBlock) * digits * kRowBlock + bit / 64 % kRowBlock;
    uint32_t found = 0;
    for (size_t k = 0; k < digits; ++k) found |= static_cast<uint32_t>(at[k * kRowBlock] >> (bit & 63) & 1) << k;
    return found;
  }
};

constexpr size_t kLeastDigits = 4;
constexpr size_t kRowsAtOnce = 8;  // that are added to counters

constexpr size_t kLeastSumDigits = 3;

// Lines of kRowBlock words, one an id, of which those of n ids are added up as far as they have bits in common with `own`. Ids
// before `readable` may be read ahead.
struct LineList {
  const uint64_t* lines;
  const uint32_t *ids, *readable;
  size_t n;
  const uint64_t* own;
};

struct SetOps {
  // Common ids of a and b, and how many.
  size_t (*merge)(const uint32_t* a, size_t na, const uint32_t* b, size_t nb, uint32_t* out);
  size_t (*merge_count)(const uint32_t* a, size_t na, const uint32_t* b, size_t nb);
  // Those of a list whose bit is set.
  size_t (*filter)(const uint64_t* bits, const uint32_t* list, size_t n, uint32_t* out);
  // The same; tally[i] grows by 1 where list[i]'s bit is set.
  size_t (*filter_tally)(const uint64_t* bits, const uint32_t* list, size_t n, uint32_t* tally, uint32_t* out);
  size_t (*filter_count)(const uint64_t* bits, const uint32_t* list, size_t n);
  // Bit i of `out` (whole words): whether the bit of list[i] is set.
  void (*member_bits)(const uint64_t* bits, const uint32_t* list, size_t n, uint64_t* out);
  // Bits common to two bitmaps of `words` words.
  size_t (*and_count)(const uint64_t* a, const uint64_t* b, size_t words);
  // Pairs of a bit x of `from` and a bit y of `set` where y is in row x. Rows have `words` words; only words [begin, end) of the
  // sets and the rows count, and of row x only the words up to x's where `below` (its other bits are 0).
  uint64_t (*pair_count)(const uint64_t* from, const uint64_t* set, const uint64_t* rows, size_t words, size_t begin, size_t end, bool below);
  // counts[places[i]] grows by the bits common to the i-th of n rows and the set.
  void (*row_counts)(const uint64_t* set, const BitRow* rows, size_t n, const uint32_t* places, uint32_t* counts);
  size_t row_cost;  // of 8 words in row_counts, in ids looked up by filter_count
  void (*add_rows)(const BitRow* rows, size_t n, BitCounters to);
  // out[i] grows by the counter of bit ids[i] - first.
  void (*read_counters)(BitCounters from, const uint32_t* ids, size_t n, uint32_t first, uint32_t* out);
  // Writes the counters of `blocks` blocks of bits, each below 2^24; returns the sum of c (c - 1) over them.
  uint64_t (*spread_counters)(BitCounters from, size_t blocks, uint32_t* out);
  size_t spread_cost;  // of 64 counters in spread_counters, in counters that are raised one by one
  // Writes to a block of counters in how many of a list's lines each bit is. Of those from the `from`-th on, which are as many as
  // `counts`, these grow by a line's bits. to.digits must be enough, and no fewer than kLeastSumDigits.
  void (*add_lines)(const LineList& list, BitCounters to, size_t from, uint32_t* counts);
  size_t line_cost;  // of a line in add_lines, in ids looked up at random
  // The squares of a block of counters: the sum of all 2^k * sums[k * kRowBlock + w] grows by them, 2 * digits lines.
  void (*add_squares)(BitCounters from, uint64_t* sums);
};

const SetOps& set_ops(Isa isa);

extern const SetOps kBaselineOps;
#if defined(QE_X86)
extern const SetOps kAvx2Ops;
extern const SetOps kAvx512Ops;
#endif

size_t filter_plain(const uint64_t* bits, const uint32_t* list, size_t n, uint32_t* out);
size_t filter_tally_plain(const uint64_t* bits, const uint32_t* list, size_t n, uint32_t* tally, uint32_t* out);
size_t filter_count_plain(const uint64_t* bits, const uint32_t* list, size_t n);
void member_bits_plain(const uint64_t* bits, const uint32_t* list, size_t n, uint64_t* out);
void read_counters_plain(BitCounters from, const uint32_t* ids, size_t n, uint32_t first, uint32_t* out);
uint64_t spread_counters_plain(BitCounters from, size_t blocks, uint32_t* out);
size_t gallop(const uint32_t* few, size_t n_few, const uint32_t* many, size_t n_many, uint32_t* out);
size_t gallop_count(const uint32_t* few, size_t n_few, const uint32_t* many, size_t n_many);

// Sets the bits of a list's ids, the bit of `first` being the lowest.
inline void set_bits(uint64_t* bits, const uint32_t* list, size_t n, uint32_t first) {
  for (size_t i = 0; i < n; ++i) bits[(list[i] - first) >> 6] |= uint64_t{1} << ((list[i] - first) & 63);
}

// The two operations that callers use: merge or gallop by the sizes.
inline size_t intersect(const SetOps& ops, const uint32_t* a, size_t na, const uint32_t* b, size_t nb, uint32_t* out) {
  if (na > nb) return intersect(ops, b, nb, a, na, out);
  if (na == 0) return 0;
  return nb / na >= kGallopRatio ? gallop(a, na, b, nb, out) : ops.merge(a, na, b, nb, out);
}

inline size_t intersect_count(const SetOps& ops, const uint32_t* a, size_t na, const uint32_t* b, size_t nb) {
  if (na > nb) return intersect_count(ops, b, nb, a, na);
  if (na == 0) return 0;
  return nb / na >= kGallopRatio ? gallop_count(a, na, b, nb) : ops.merge_count(a, na, b, nb);
}

// Union of two ascending lists, which may repeat ids, each id once. `out` needs na + nb.
size_t unite(const uint32_t* a, size_t na, const uint32_t* b, size_t nb, uint32_t* out);

}  // namespace qe
