// Steps of WanderJoin with AVX-512, eight walks in the lanes of a register: see sample_walk.h.
#include "sample/sample_walk.h"

#if defined(QE_X86)
#include <immintrin.h>

namespace qe {
namespace {

constexpr int kLanes = 8;

QE_AVX512 inline __mmask8 first_lanes(int n) { return static_cast<__mmask8>(n >= kLanes ? 0xFF : n > 0 ? (1u << n) - 1 : 0); }

QE_AVX512 inline __m512i gather64(__mmask8 lanes, __m512i at, const void* base) {
  return _mm512_mask_i64gather_epi64(_mm512_setzero_si512(), lanes, at, base, 8);
}

QE_AVX512 inline __m512i gather32(__mmask8 lanes, __m512i at, const void* base) {
  return _mm512_cvtepu32_epi64(_mm512_mask_i64gather_epi32(_mm256_setzero_si256(), lanes, at, base, 4));
}

QE_AVX512 inline __m512i load_slots(const int* slots) {
  return _mm512_cvtepu32_epi64(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(slots)));
}

QE_AVX512 inline void store_slots(int* slots, __mmask8 lanes, __m512i slot) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(slots), _mm512_cvtepi64_epi32(_mm512_maskz_compress_epi64(lanes, slot)));
}

QE_AVX512 inline void prefetch_lanes(__mmask8 lanes, __m512i addresses) {
  alignas(64) const char* each[kLanes];
  _mm512_store_si512(each, addresses);
  for (int k = 0; k < kLanes; ++k)
    if (lanes >> k & 1) __builtin_prefetch(each[k]);
}

QE_AVX512 inline __m512i add_scaled(const void* base, __m512i index, int shift) {
  return _mm512_add_epi64(_mm512_set1_epi64(reinterpret_cast<int64_t>(base)), _mm512_slli_epi64(index, shift));
}

// The upper halves of words are never looked at before the end: products are of the lower ones.
QE_AVX512 void draw(SampleId first, uint64_t high, const int* slots, int n, PhiloxBlock* blocks) {
  const __m512i low_half = _mm512_set1_epi64(0xFFFFFFFF);
  const __m512i by_a = _mm512_set1_epi64(0xD2511F53), by_c = _mm512_set1_epi64(0xCD9E8D57);
  for (int k = 0; k < n; k += kLanes) {
    const __mmask8 lanes = first_lanes(n - k);
    const __m512i slot = load_slots(slots + k);
    __m512i a = _mm512_add_epi64(_mm512_set1_epi64(static_cast<int64_t>(first.number)), slot);
    __m512i b = _mm512_srli_epi64(a, 32);
    __m512i c = _mm512_set1_epi64(static_cast<int64_t>(high)), d = _mm512_srli_epi64(c, 32);
    uint32_t k0 = static_cast<uint32_t>(first.seed), k1 = static_cast<uint32_t>(first.seed >> 32);
    for (int round = 0; round < 10; ++round) {
      const __m512i one = _mm512_mul_epu32(a, by_a), two = _mm512_mul_epu32(c, by_c);
      a = _mm512_ternarylogic_epi64(_mm512_srli_epi64(two, 32), b, _mm512_set1_epi64(k0), 0x96);
      c = _mm512_ternarylogic_epi64(_mm512_srli_epi64(one, 32), d, _mm512_set1_epi64(k1), 0x96);
      b = two;
      d = one;
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    const __m512i front = _mm512_or_si512(_mm512_and_si512(a, low_half), _mm512_slli_epi64(b, 32));
    const __m512i back = _mm512_or_si512(_mm512_and_si512(c, low_half), _mm512_slli_epi64(d, 32));
    const __m512i at = _mm512_slli_epi64(slot, 1);
    _mm512_mask_i64scatter_epi64(blocks, lanes, at, front, 8);
    _mm512_mask_i64scatter_epi64(blocks, lanes, _mm512_add_epi64(at, _mm512_set1_epi64(1)), back, 8);
  }
}

// What `pick` gives each lane, n > 0.
QE_AVX512 inline __m512i pick_lanes(__mmask8 lanes, const Walks& walks, int level, __m512i slot, __m512i n) {
  const __m512i at = _mm512_add_epi64(_mm512_slli_epi64(slot, 2), _mm512_set1_epi64(level % kBlockLevels));
  const __m512i word = gather32(lanes, at, walks.blocks);
  __m512i choice = _mm512_srli_epi64(_mm512_mul_epu32(word, n), 32);
  const __mmask8 wide = _mm512_mask_cmpgt_epu64_mask(lanes, n, _mm512_set1_epi64(kWideChoice));
  if (wide == 0) return choice;
  alignas(64) uint64_t choices[kLanes], slots[kLanes], words[kLanes], places[kLanes];
  _mm512_store_si512(choices, choice);
  _mm512_store_si512(slots, slot);
  _mm512_store_si512(words, word);
  _mm512_store_si512(places, n);
  for (int k = 0; k < kLanes; ++k)
    if (wide >> k & 1)
      choices[k] = pick_wide(walks.id(static_cast<int>(slots[k])), level, static_cast<uint32_t>(words[k]), places[k]);
  return _mm512_load_si512(choices);
}

// Binds a vertex in each lane, picked from n.
QE_AVX512 inline void bind(__mmask8 lanes, const Walks& walks, int level, __m512i slot, __m512i row, __m512i v, __m512i n) {
  _mm512_mask_i64scatter_epi64(walks.values + level, lanes, row, v, 8);
  const __m512d weight = _mm512_mask_i64gather_pd(_mm512_setzero_pd(), lanes, slot, walks.weights, 8);
  _mm512_mask_i64scatter_pd(walks.weights, lanes, slot, _mm512_mul_pd(weight, _mm512_cvtepu64_pd(n)), 8);
}

QE_AVX512 void roots(const PlainLevel& plain, int level, const Walks& walks, int n) {
  const __m512i depth = _mm512_set1_epi64(walks.depth), places = _mm512_set1_epi64(static_cast<int64_t>(plain.n_roots));
  for (int k = 0; k < n; k += kLanes) {
    const __mmask8 lanes = first_lanes(n - k);
    const __m512i slot = load_slots(walks.slots + k);
    const __m512i choice = pick_lanes(lanes, walks, level, slot, places);
    const __m512i v = plain.candidates ? gather32(lanes, choice, plain.candidates)
                                       : _mm512_add_epi64(choice, _mm512_set1_epi64(plain.first_root));
    bind(lanes, walks, level, slot, _mm512_mul_epu32(slot, depth), v, places);
  }
}

// A list in each lane: entries [begin, end) of a source's neighbours.
struct Lists {
  __m512i begin, end;
};

// The place of each lane's vertex in the source's row index; `lanes` loses those that have none.
QE_AVX512 inline __m512i row_place(__mmask8& lanes, const PlainSource& source, const Walks& walks, __m512i row) {
  const __m512i at = _mm512_sub_epi64(gather64(lanes, row, walks.values + source.level), _mm512_set1_epi64(source.lo));
  lanes = _mm512_mask_cmplt_epu64_mask(lanes, at, _mm512_set1_epi64(source.hi - source.lo));
  return at;
}

QE_AVX512 inline Lists lists_of(__mmask8 lanes, const PlainSource& source, const Walks& walks, __m512i row) {
  const __m512i at = row_place(lanes, source, walks, row);
  return {gather64(lanes, at, source.offsets), gather64(lanes, at, source.offsets + 1)};
}

QE_AVX512 inline void prefetch_rows(const PlainLevel& plain, const Walks& walks, int k, int n) {
  if (k >= n) return;
  const __m512i row = _mm512_mul_epu32(load_slots(walks.slots + k), _mm512_set1_epi64(walks.depth));
  for (const PlainSource& source : plain.sources) {
    __mmask8 lanes = first_lanes(n - k);
    const __m512i at = row_place(lanes, source, walks, row);
    prefetch_lanes(lanes, add_scaled(source.offsets, at, 3));
  }
}

QE_AVX512 int pick_each(const PlainLevel& plain, int level, const Walks& walks, int n, WalkPicks& picks) {
  if (plain.ordered) return kBaselineWalk.pick(plain, level, walks, n, picks);
  const __m512i depth = _mm512_set1_epi64(walks.depth);
  constexpr int kEarlier = 2 * kLanes;
  int picked = 0;
  for (int k = 0; plain.prefetch && k < kEarlier; k += kLanes) prefetch_rows(plain, walks, k, n);
  for (int k = 0; k < n; k += kLanes) {
    if (plain.prefetch) prefetch_rows(plain, walks, k + kEarlier, n);
    const __mmask8 lanes = first_lanes(n - k);
    const __m512i slot = load_slots(walks.slots + k), row = _mm512_mul_epu32(slot, depth);
    __m512i where = _mm512_setzero_si512(), least = _mm512_set1_epi64(-1), from = where;
    for (size_t j = 0; j < plain.sources.size(); ++j) {
      const PlainSource& source = plain.sources[j];
      const Lists list = lists_of(lanes, source, walks, row);
      const __m512i size = _mm512_sub_epi64(list.end, list.begin);
      const __m512i address = add_scaled(source.neighbours, list.begin, 2);
      if (plain.prefetch && plain.sources.size() > 1)
        prefetch_lanes(lanes, _mm512_add_epi64(address, _mm512_slli_epi64(_mm512_srli_epi64(size, 1), 2)));
      const __mmask8 less = _mm512_cmplt_epu64_mask(size, least);
      least = _mm512_mask_mov_epi64(least, less, size);
      where = _mm512_mask_mov_epi64(where, less, address);
      from = _mm512_mask_mov_epi64(from, less, _mm512_set1_epi64(static_cast<int64_t>(j)));
    }
    const __mmask8 some = _mm512_mask_test_epi64_mask(lanes, least, least);
    const __m512i choice = pick_lanes(some, walks, level, slot, least);
    where = _mm512_add_epi64(where, _mm512_slli_epi64(choice, 2));
    if (plain.prefetch) prefetch_lanes(some, where);
    const int kept = _mm_popcnt_u32(some);
    _mm512_mask_storeu_epi64(picks.where + picked, first_lanes(kept), _mm512_maskz_compress_epi64(some, where));
    _mm512_mask_storeu_epi64(picks.n + picked, first_lanes(kept), _mm512_maskz_compress_epi64(some, least));
    store_slots(picks.source + picked, some, from);
    store_slots(walks.slots + picked, some, slot);
    picked += kept;
  }
  return picked;
}

// Groups of lanes that validate together: while one waits for memory another goes on.
constexpr int kGroups = 4;

struct Group {
  __mmask8 lanes;
  __m512i slot, row, v, from;
};

// Of each lane one source or the next: numbers as said of them, addresses of what is read.
QE_AVX512 inline __m512i either(__mmask8 next, uint64_t one, uint64_t other) {
  return _mm512_mask_mov_epi64(_mm512_set1_epi64(static_cast<int64_t>(one)), next, _mm512_set1_epi64(static_cast<int64_t>(other)));
}

QE_AVX512 inline __m512i read64(__mmask8 lanes, __m512i addresses) {
  return _mm512_mask_i64gather_epi64(_mm512_setzero_si512(), lanes, addresses, nullptr, 1);
}

QE_AVX512 inline __m512i read32(__mmask8 lanes, __m512i addresses) {
  return _mm512_cvtepu32_epi64(_mm512_mask_i64gather_epi32(_mm256_setzero_si256(), lanes, addresses, nullptr, 1));
}

QE_AVX512 inline uint64_t address_of(const void* base) { return reinterpret_cast<uint64_t>(base); }

// Drops the lanes whose vertex isn't in the list of the source `a`, or where the walk picked from `a` or one before it, of
// `b`: the last id that isn't greater is sought in all lanes at once.
QE_AVX512 inline void look_up(const Walks& walks, const PlainSource& a, const PlainSource& b, int index, Group* groups) {
  const __m512i one = _mm512_set1_epi64(1);
  __m512i at[kGroups], left[kGroups];
  __mmask8 more = 0;
  for (int g = 0; g < kGroups; ++g) {
    Group& group = groups[g];
    const __mmask8 next = _mm512_cmple_epu64_mask(group.from, _mm512_set1_epi64(index));
    const __m512i level = either(next, static_cast<uint64_t>(a.level), static_cast<uint64_t>(b.level));
    const __m512i u = gather64(group.lanes, _mm512_add_epi64(group.row, level), walks.values);
    const __m512i row = _mm512_sub_epi64(u, either(next, a.lo, b.lo));
    group.lanes = _mm512_mask_cmplt_epu64_mask(group.lanes, row, either(next, a.hi - a.lo, b.hi - b.lo));
    const __m512i place = _mm512_add_epi64(either(next, address_of(a.offsets), address_of(b.offsets)), _mm512_slli_epi64(row, 3));
    const __m512i begin = read64(group.lanes, place), end = read64(group.lanes, _mm512_add_epi64(place, _mm512_set1_epi64(8)));
    left[g] = _mm512_sub_epi64(end, begin);
    group.lanes = _mm512_mask_test_epi64_mask(group.lanes, left[g], left[g]);
    at[g] = _mm512_add_epi64(either(next, address_of(a.neighbours), address_of(b.neighbours)), _mm512_slli_epi64(begin, 2));
    more = static_cast<__mmask8>(more | _mm512_cmpgt_epu64_mask(left[g], one));
  }
  while (more) {
    more = 0;
    for (int g = 0; g < kGroups; ++g) {
      const __m512i half = _mm512_srli_epi64(left[g], 1), middle = _mm512_add_epi64(at[g], _mm512_slli_epi64(half, 2));
      at[g] = _mm512_mask_mov_epi64(at[g], _mm512_cmple_epu64_mask(read32(groups[g].lanes, middle), groups[g].v), middle);
      left[g] = _mm512_sub_epi64(left[g], half);
      more = static_cast<__mmask8>(more | _mm512_cmpgt_epu64_mask(left[g], one));
    }
  }
  for (int g = 0; g < kGroups; ++g)
    groups[g].lanes = _mm512_mask_cmpeq_epu64_mask(groups[g].lanes, read32(groups[g].lanes, at[g]), groups[g].v);
}

QE_AVX512 int validate_each(const PlainLevel& plain, int level, const Walks& walks, int n, const WalkPicks& picks) {
  const __m512i depth = _mm512_set1_epi64(walks.depth);
  int left = 0;
  for (int begin = 0; begin < n; begin += kGroups * kLanes) {
    Group groups[kGroups];
    for (int g = 0; g < kGroups; ++g) {
      const int k = begin + g * kLanes;
      Group& group = groups[g];
      group.lanes = first_lanes(n - k);
      group.slot = load_slots(walks.slots + k);
      group.row = _mm512_mul_epu32(group.slot, depth);
      group.v = read32(group.lanes, _mm512_maskz_loadu_epi64(group.lanes, picks.where + k));
      group.from = load_slots(picks.source + k);
      for (int other : plain.different)
        group.lanes = _mm512_mask_cmpneq_epu64_mask(group.lanes, gather64(group.lanes, group.row, walks.values + other), group.v);
    }
    for (size_t j = 0; j + 1 < plain.sources.size(); ++j)
      look_up(walks, plain.sources[j], plain.sources[j + 1], static_cast<int>(j), groups);
    for (int g = 0; g < kGroups; ++g) {
      const int k = begin + g * kLanes;
      const Group& group = groups[g];
      bind(group.lanes, walks, level, group.slot, group.row, group.v, _mm512_maskz_loadu_epi64(group.lanes, picks.n + k));
      store_slots(walks.slots + left, group.lanes, group.slot);
      left += _mm_popcnt_u32(group.lanes);
    }
  }
  return left;
}

}  // namespace

const WalkOps kAvx512Walk = {draw, roots, pick_each, validate_each};

}  // namespace qe
#endif
