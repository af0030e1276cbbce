// Set operations in plain C++: the baseline versions, and those that vectors don't help.
#include "ops/set_ops.h"

#include "ops/bit_counters.h"
#include "qe/abi.h"
#include "qe/pcsr.h"

namespace qe {
namespace {

template <bool kStore>
size_t merge(const uint32_t* a, size_t na, const uint32_t* b, size_t nb, uint32_t* out) {
  size_t i = 0, j = 0, n = 0;
  while (i < na && j < nb) {
    const uint32_t x = a[i], y = b[j];
    if (kStore) out[n] = x;
    n += x == y;
    i += x <= y;
    j += y <= x;
  }
  return n;
}

size_t merge_store(const uint32_t* a, size_t na, const uint32_t* b, size_t nb, uint32_t* out) {
  return merge<true>(a, na, b, nb, out);
}

size_t merge_count(const uint32_t* a, size_t na, const uint32_t* b, size_t nb) {
  return merge<false>(a, na, b, nb, nullptr);
}

inline size_t bit(const uint64_t* bits, uint32_t v) { return (bits[v >> 6] >> (v & 63)) & 1; }

size_t and_count(const uint64_t* a, const uint64_t* b, size_t words) {
  size_t n = 0;
  for (size_t i = 0; i < words; ++i) n += static_cast<size_t>(__builtin_popcountll(a[i] & b[i]));
  return n;
}

uint64_t pair_count(const uint64_t* from, const uint64_t* set, const uint64_t* rows, size_t words, size_t begin, size_t end, bool below) {
  uint64_t n = 0;
  for (size_t w = begin; w < end; ++w)
    for (uint64_t rest = from[w]; rest; rest &= rest - 1) {
      const uint64_t* row = rows + (w * 64 + static_cast<size_t>(__builtin_ctzll(rest))) * words;
      n += and_count(set + begin, row + begin, (below ? w + 1 : end) - begin);
    }
  return n;
}

void row_counts(const uint64_t* set, const BitRow* rows, size_t n, const uint32_t* places, uint32_t* counts) {
  for (size_t i = 0; i < n; ++i) counts[places[i]] += static_cast<uint32_t>(and_count(set, rows[i].words, rows[i].n));
}

void add_rows(const BitRow* rows, size_t n, BitCounters to) { add_rows_by_words(rows, n, to); }

void add_lines(const LineList& list, BitCounters to, size_t from, uint32_t* counts) {
  add_lines_by_words(list, to, from, counts);
}

void add_squares(BitCounters from, uint64_t* sums) { add_squares_by_words(from, sums); }

template <bool kStore>
size_t gallop_through(const uint32_t* few, size_t n_few, const uint32_t* many, size_t n_many, uint32_t* out) {
  size_t n = 0, at = 0;
  for (size_t i = 0; i < n_few; ++i) {
    const uint32_t v = few[i];
    size_t step = 1;  // all before `at` are < v
    while (at + step < n_many && many[at + step] < v) {
      at += step;
      step *= 2;
    }
    const size_t end = at + step < n_many ? at + step + 1 : n_many;
    at += lower_bound(many + at, end - at, v);
    if (at == n_many) break;
    if (kStore) out[n] = v;
    n += many[at] == v;
  }
  return n;
}

}  // namespace

size_t filter_plain(const uint64_t* bits, const uint32_t* list, size_t n, uint32_t* out) {
  size_t found = 0;
  for (size_t i = 0; i < n; ++i) {
    out[found] = list[i];
    found += bit(bits, list[i]);
  }
  return found;
}

size_t filter_tally_plain(const uint64_t* bits, const uint32_t* list, size_t n, uint32_t* tally, uint32_t* out) {
  size_t found = 0;
  for (size_t i = 0; i < n; ++i) {
    const uint32_t v = list[i], member = bits[v >> 6] >> (v & 63) & 1;
    out[found] = v;
    found += member;
    tally[i] += member;
  }
  return found;
}

size_t filter_count_plain(const uint64_t* bits, const uint32_t* list, size_t n) {
  size_t c0 = 0, c1 = 0, c2 = 0, c3 = 0, i = 0;
  for (; i + 4 <= n; i += 4) {
    c0 += bit(bits, list[i]);
    c1 += bit(bits, list[i + 1]);
    c2 += bit(bits, list[i + 2]);
    c3 += bit(bits, list[i + 3]);
  }
  for (; i < n; ++i) c0 += bit(bits, list[i]);
  return c0 + c1 + c2 + c3;
}

void member_bits_plain(const uint64_t* bits, const uint32_t* list, size_t n, uint64_t* out) {
  for (size_t i = 0; i < n; i += 64) {
    uint64_t word = 0;
    const size_t end = n - i < 64 ? n - i : 64;
    for (size_t k = 0; k < end; ++k) word |= static_cast<uint64_t>(bit(bits, list[i + k])) << k;
    out[i >> 6] = word;
  }
}

void read_counters_plain(BitCounters from, const uint32_t* ids, size_t n, uint32_t first, uint32_t* out) {
  for (size_t i = 0; i < n; ++i) out[i] += from[ids[i] - first];
}

uint64_t spread_counters_plain(BitCounters from, size_t blocks, uint32_t* out) {
  uint64_t sum = 0;
  for (size_t w = 0; w < blocks * kRowBlock; ++w) {
    const uint64_t* at = from.words + w / kRowBlock * from.digits * kRowBlock + w % kRowBlock;
    uint32_t* counts = out + 64 * w;
    for (size_t i = 0; i < 64; ++i) counts[i] = 0;
    for (size_t k = 0; k < from.digits; ++k)
      for (uint64_t rest = at[k * kRowBlock]; rest; rest &= rest - 1) counts[__builtin_ctzll(rest)] += uint32_t{1} << k;
    for (size_t i = 0; i < 64; ++i) sum += uint64_t{counts[i]} * (counts[i] - uint64_t{counts[i] > 0});
  }
  return sum;
}

const SetOps kBaselineOps = {merge_store, merge_count, filter_plain, filter_tally_plain, filter_count_plain, member_bits_plain, and_count,
                             pair_count,  row_counts,  40,           add_rows,           read_counters_plain, spread_counters_plain, 250,
                             add_lines, 30, add_squares};

const SetOps& set_ops(Isa isa) {
#if defined(QE_X86)
  if (isa == kAvx512) return kAvx512Ops;
  if (isa == kAvx2) return kAvx2Ops;
#endif
  (void)isa;
  return kBaselineOps;
}

size_t gallop(const uint32_t* few, size_t n_few, const uint32_t* many, size_t n_many, uint32_t* out) {
  return gallop_through<true>(few, n_few, many, n_many, out);
}

size_t gallop_count(const uint32_t* few, size_t n_few, const uint32_t* many, size_t n_many) {
  return gallop_through<false>(few, n_few, many, n_many, nullptr);
}

size_t unite(const uint32_t* a, size_t na, const uint32_t* b, size_t nb, uint32_t* out) {
  size_t i = 0, j = 0, n = 0;
  uint32_t last = kNoVertex;
  while (i < na || j < nb) {
    const bool left = j == nb || (i < na && a[i] <= b[j]);
    const uint32_t v = left ? a[i++] : b[j++];
    out[n] = v;
    n += v != last;
    last = v;
  }
  return n;
}

}  // namespace qe

// For tests and benchmarks: one operation of one instruction set. `out` may be null for those that count.
enum SetOp : int32_t { kMerge = 0, kMergeCount, kGallop, kGallopCount, kUnite };

QE_API int64_t qe_set_operation(int32_t isa, int32_t operation, const uint32_t* a, int64_t na, const uint32_t* b,
                                int64_t nb, uint32_t* out) {
  const qe::SetOps& ops = qe::set_ops(static_cast<qe::Isa>(isa));
  const auto left = static_cast<size_t>(na), right = static_cast<size_t>(nb);
  switch (operation) {
    case kMerge: return static_cast<int64_t>(ops.merge(a, left, b, right, out));
    case kMergeCount: return static_cast<int64_t>(ops.merge_count(a, left, b, right));
    case kGallop: return static_cast<int64_t>(qe::gallop(a, left, b, right, out));
    case kGallopCount: return static_cast<int64_t>(qe::gallop_count(a, left, b, right));
    case kUnite: return static_cast<int64_t>(qe::unite(a, left, b, right, out));
    default: return -1;
  }
}

// Likewise: bit i of `out` says whether list[i]'s bit is set.
QE_API void qe_member_bits(int32_t isa, const uint64_t* bits, const uint32_t* list, int64_t n, uint64_t* out) {
  qe::set_ops(static_cast<qe::Isa>(isa)).member_bits(bits, list, static_cast<size_t>(n), out);
}

// Likewise with bitmaps: `list` against `bits` (out or null); with list null the common bits of two bitmaps.
QE_API int64_t qe_bitmap_operation(int32_t isa, const uint64_t* bits, const uint32_t* list, int64_t n, uint32_t* out,
                                   const uint64_t* other) {
  const qe::SetOps& ops = qe::set_ops(static_cast<qe::Isa>(isa));
  const auto size = static_cast<size_t>(n);
  if (list == nullptr && out != nullptr) {  // pairs: n words a row, `other` holds the rows, out[0] says "below"
    return static_cast<int64_t>(ops.pair_count(bits, bits, other, size, 0, size, out[0] != 0));
  }
  if (list == nullptr) return static_cast<int64_t>(ops.and_count(bits, other, size));
  return static_cast<int64_t>(out ? ops.filter(bits, list, size, out) : ops.filter_count(bits, list, size));
}

// Likewise: counts[i] grows by the bits common to the i-th of n rows of `words` words, a multiple of 8, and the set.
QE_API void qe_row_counts(int32_t isa, const uint64_t* set, const uint64_t* rows, int64_t n, int64_t words,
                          uint32_t* counts) {
  for (int64_t i = 0; i < n; ++i) {
    const qe::BitRow row{rows + i * words, static_cast<size_t>(words)};
    const auto place = static_cast<uint32_t>(i);
    qe::set_ops(static_cast<qe::Isa>(isa)).row_counts(set, &row, 1, &place, counts);
  }
}

// Likewise: adds n rows of `words` words to counters, `digits` times `words` words.
QE_API void qe_add_rows(int32_t isa, const uint64_t* rows, int64_t n, int64_t words, uint64_t* counters, int64_t digits) {
  const qe::SetOps& ops = qe::set_ops(static_cast<qe::Isa>(isa));
  const qe::BitCounters to{counters, static_cast<size_t>(digits)};
  for (int64_t i = 0; i < n; i += 11) {  // in parts that are no multiple of what is added at once
    qe::BitRow some[11];
    for (int64_t k = 0; k < 11 && i + k < n; ++k) some[k] = {rows + (i + k) * words, static_cast<size_t>(words)};
    ops.add_rows(some, static_cast<size_t>(n - i < 11 ? n - i : 11), to);
  }
}

// Likewise: counts[i] grows by how many rows have bit ids[i] - first.
QE_API void qe_read_counters(int32_t isa, uint64_t* counters, int64_t digits, const uint32_t* ids, int64_t n, uint32_t first,
                             uint32_t* counts) {
  qe::set_ops(static_cast<qe::Isa>(isa)).read_counters({counters, static_cast<size_t>(digits)}, ids, static_cast<size_t>(n), first, counts);
}

// Likewise: every[k] becomes how many rows, of `words` words, have bit k; returns the sum of c (c - 1) over those.
QE_API uint64_t qe_spread_counters(int32_t isa, uint64_t* counters, int64_t digits, int64_t words, uint32_t* every) {
  return qe::set_ops(static_cast<qe::Isa>(isa)).spread_counters({counters, static_cast<size_t>(digits)}, static_cast<size_t>(words) / qe::kRowBlock, every);
}

// Likewise: adds up the n lines `ids` as far as they have bits in common with `own`; counts: of those from `from` on.
QE_API void qe_add_lines(int32_t isa, const uint64_t* lines, const uint32_t* ids, int64_t n, const uint64_t* own,
                         qe::BitCounters* to, int64_t from, uint32_t* counts) {
  const auto size = static_cast<size_t>(n);
  qe::set_ops(static_cast<qe::Isa>(isa)).add_lines({lines, ids, ids + size, size, own}, *to, static_cast<size_t>(from), counts);
}

// Likewise: writes the sums of squares of counters.
QE_API void qe_add_squares(int32_t isa, const qe::BitCounters* counters, uint64_t* sums) {
  qe::set_ops(static_cast<qe::Isa>(isa)).add_squares(*counters, sums);
}
