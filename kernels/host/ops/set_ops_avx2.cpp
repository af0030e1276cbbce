// Set operations with AVX2: blocks of 8 against 8, all pairs by rotating one of them.
#include "ops/set_ops.h"

#include "ops/bit_counters.h"

#if defined(QE_X86)
#include <immintrin.h>

#include <array>

namespace qe {
namespace {

// For each mask of 8 lanes, the permutation that moves its lanes to the front.
struct CompressTable {
  alignas(32) uint32_t lanes[256][8] = {};
  constexpr CompressTable() {
    for (int mask = 0; mask < 256; ++mask) {
      int n = 0;
      for (int lane = 0; lane < 8; ++lane)
        if (mask >> lane & 1) lanes[mask][n++] = static_cast<uint32_t>(lane);
    }
  }
};
constexpr CompressTable kCompress;

// Up to 8 ids from p; missing lanes hold `fill`, which is no id.
QE_AVX2 inline __m256i load_some(const uint32_t* p, size_t n, int fill) {
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256i wanted = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), lane);
  const __m256i some = _mm256_maskload_epi32(reinterpret_cast<const int*>(p), wanted);
  return _mm256_blendv_epi8(_mm256_set1_epi32(fill), some, wanted);
}

// Lanes of a that are equal to some lane of b.
QE_AVX2 inline unsigned common(__m256i a, __m256i b) {
  const __m256i next = _mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 0);
  const __m256i after = _mm256_setr_epi32(2, 3, 4, 5, 6, 7, 0, 1);
  __m256i other = _mm256_permutevar8x32_epi32(b, next);
  __m256i even = _mm256_cmpeq_epi32(a, b), odd = _mm256_cmpeq_epi32(a, other);
  for (int turn = 0; turn < 3; ++turn) {
    b = _mm256_permutevar8x32_epi32(b, after);
    other = _mm256_permutevar8x32_epi32(other, after);
    even = _mm256_or_si256(even, _mm256_cmpeq_epi32(a, b));
    odd = _mm256_or_si256(odd, _mm256_cmpeq_epi32(a, other));
  }
  return static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_or_si256(even, odd))));
}

template <bool kStore>
QE_AVX2 inline size_t keep(__m256i a, unsigned mask, uint32_t* out) {
  if (kStore) {
    const __m256i order = _mm256_load_si256(reinterpret_cast<const __m256i*>(kCompress.lanes[mask]));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm256_permutevar8x32_epi32(a, order));
  }
  return static_cast<size_t>(__builtin_popcount(mask));
}

template <bool kStore>
QE_AVX2 size_t merge(const uint32_t* a, size_t na, const uint32_t* b, size_t nb, uint32_t* out) {
  size_t i = 0, j = 0, n = 0;
  while (i + 8 <= na && j + 8 <= nb) {
    const __m256i va = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(a + i));
    const __m256i vb = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b + j));
    const uint32_t a_max = a[i + 7], b_max = b[j + 7];
    n += keep<kStore>(va, common(va, vb), out + n);
    i += (a_max <= b_max) * 8;
    j += (b_max <= a_max) * 8;
  }
  while (i < na && j < nb) {
    const size_t left = na - i, right = nb - j;
    const __m256i va = load_some(a + i, left, -1), vb = load_some(b + j, right, -2);
    const uint32_t a_max = left > 8 ? a[i + 7] : a[na - 1], b_max = right > 8 ? b[j + 7] : b[nb - 1];
    n += keep<kStore>(va, common(va, vb), out + n);
    i += (a_max <= b_max) * 8;
    j += (b_max <= a_max) * 8;
  }
  return n;
}

QE_AVX2 size_t merge_store(const uint32_t* a, size_t na, const uint32_t* b, size_t nb, uint32_t* out) {
  return merge<true>(a, na, b, nb, out);
}

QE_AVX2 size_t merge_count(const uint32_t* a, size_t na, const uint32_t* b, size_t nb) {
  return merge<false>(a, na, b, nb, nullptr);
}

QE_AVX2 size_t and_count(const uint64_t* a, const uint64_t* b, size_t words) {
  size_t n = 0;
  for (size_t i = 0; i < words; ++i) n += static_cast<size_t>(_mm_popcnt_u64(a[i] & b[i]));
  return n;
}

QE_AVX2 uint64_t pair_count(const uint64_t* from, const uint64_t* set, const uint64_t* rows, size_t words, size_t begin, size_t end,
                            bool below) {
  uint64_t n = 0;
  for (size_t w = begin; w < end; ++w)
    for (uint64_t rest = from[w]; rest; rest &= rest - 1) {
      const uint64_t* row = rows + (w * 64 + _tzcnt_u64(rest)) * words;
      const size_t last = below ? w + 1 : end;
      for (size_t i = begin; i < last; ++i) n += static_cast<uint64_t>(_mm_popcnt_u64(set[i] & row[i]));
    }
  return n;
}

QE_AVX2 void row_counts(const uint64_t* set, const BitRow* rows, size_t n, const uint32_t* places, uint32_t* counts) {
  for (size_t i = 0; i < n; ++i) {
    const uint64_t* row = rows[i].words;
    uint64_t found = 0;
    for (size_t w = 0; w < rows[i].n; ++w) found += static_cast<uint64_t>(_mm_popcnt_u64(set[w] & row[w]));
    counts[places[i]] += static_cast<uint32_t>(found);
  }
}

QE_AVX2 void add_rows(const BitRow* rows, size_t n, BitCounters to) { add_rows_by_words(rows, n, to); }

QE_AVX2 void add_lines(const LineList& list, BitCounters to, size_t from, uint32_t* counts) {
  add_lines_by_words(list, to, from, counts);
}

QE_AVX2 void add_squares(BitCounters from, uint64_t* sums) { add_squares_by_words(from, sums); }

}  // namespace

const SetOps kAvx2Ops = {merge_store, merge_count, filter_plain, filter_tally_plain, filter_count_plain, member_bits_plain,
                         and_count,   pair_count,  row_counts,   12,                 add_rows,           read_counters_plain, spread_counters_plain, 250,
                         add_lines, 8, add_squares};

}  // namespace qe
#endif
