// Sums of lines of lanes, by the compiler's vectors: the same code for each instruction set.
#include "ops/simd_lanes.h"

namespace qe {
namespace {

constexpr size_t kAhead = 12;  // lines that are asked for before they are read

#define QE_INLINE __attribute__((always_inline)) inline

// A line in vectors of kBytes.
template <size_t kBytes>
struct Vectors;

// Written out: in GCC 12 a template's parameter as the vectors' size is ignored.
#define QE_VECTORS(bytes)                                                        \
  template <>                                                                    \
  struct Vectors<bytes> {                                                        \
    using Shorts = uint16_t __attribute__((vector_size(bytes), may_alias));      \
    using Words = uint32_t __attribute__((vector_size(bytes), may_alias));       \
    using Longs = uint64_t __attribute__((vector_size(bytes), may_alias));       \
  };
QE_VECTORS(16)
QE_VECTORS(32)
QE_VECTORS(64)
#undef QE_VECTORS

template <size_t kBytes>
constexpr size_t kPartsOf = sizeof(LaneLine) / kBytes;

alignas(64) constexpr uint16_t kBits[kLanes] = {
    1 << 0, 1 << 0, 1 << 1, 1 << 1, 1 << 2,  1 << 2,  1 << 3,  1 << 3,  1 << 4,  1 << 4,  1 << 5,  1 << 5,  1 << 6,  1 << 6,  1 << 7,  1 << 7,
    1 << 8, 1 << 8, 1 << 9, 1 << 9, 1 << 10, 1 << 10, 1 << 11, 1 << 11, 1 << 12, 1 << 12, 1 << 13, 1 << 13, 1 << 14, 1 << 14, 1 << 15, 1 << 15};

// All bits of the lanes, in one part of a line, whose root has a bit.
template <size_t kBytes>
QE_INLINE void spread(uint32_t bits, size_t part, typename Vectors<kBytes>::Shorts& out) {
  using Shorts = typename Vectors<kBytes>::Shorts;
  const typename Vectors<kBytes>::Words all = typename Vectors<kBytes>::Words{} + bits;
  out = (Shorts)(((Shorts)all & reinterpret_cast<const Shorts*>(kBits)[part]) != 0);
}

template <size_t kBytes>
QE_INLINE void count_marks_of(const uint32_t* marks, const uint32_t* ids, size_t n, uint32_t own, LaneLine* out) {
  using Shorts = typename Vectors<kBytes>::Shorts;
  constexpr size_t kParts = kPartsOf<kBytes>;
  Shorts sum[kParts] = {}, set;
  for (size_t i = 0; i < n; ++i)
    for (size_t part = 0; part < kParts; ++part) {
      spread<kBytes>(marks[ids[i]], part, set);
      sum[part] -= set;
    }
  for (size_t part = 0; part < kParts; ++part) {
    spread<kBytes>(own, part, set);
    reinterpret_cast<Shorts*>(out->of)[part] = sum[part] & set;
  }
}

template <size_t kBytes>
QE_INLINE void add_line(const LaneLine& line, typename Vectors<kBytes>::Words* low, typename Vectors<kBytes>::Words* high) {
  using Words = typename Vectors<kBytes>::Words;
  for (size_t part = 0; part < kPartsOf<kBytes>; ++part) {
    const Words words = reinterpret_cast<const Words*>(line.of)[part];
    low[part] += words & 0xFFFF;
    high[part] += words >> 16;
  }
}

// What a part of 16 roots' p and q comes to; their squares go to two arrays of eight.
template <size_t kBytes>
QE_INLINE void add_totals(const typename Vectors<kBytes>::Words& p, const typename Vectors<kBytes>::Words& q, size_t part,
                          typename Vectors<kBytes>::Longs& row, uint64_t* squares, LaneTotals* totals) {
  using Longs = typename Vectors<kBytes>::Longs;
  constexpr uint64_t kLow = 0xFFFFFFFF;
  const Longs square = (Longs)(p * p), even = square & kLow, odd = square >> 32;
  reinterpret_cast<Longs*>(squares)[part] += even;
  reinterpret_cast<Longs*>(squares + 8)[part] += odd;
  row += even + odd;
  const Longs q0 = (Longs)q & kLow, q1 = (Longs)q >> 32;
  reinterpret_cast<Longs*>(totals->products)[part] += ((Longs)p & kLow) * q0 + ((Longs)p >> 32) * q1;
  const Longs s0 = q0 * q0, s1 = q1 * q1;
  reinterpret_cast<Longs*>(totals->low)[part] += (s0 & kLow) + (s1 & kLow);
  reinterpret_cast<Longs*>(totals->high)[part] += (s0 >> 32) + (s1 >> 32);
}

template <size_t kBytes>
QE_INLINE uint64_t add_lanes_of(const LaneLine* lines, const uint32_t* ids, size_t n, const uint32_t* readable, const LaneLine& p,
                                uint32_t own, LaneSums* q, LaneTotals* totals) {
  using Shorts = typename Vectors<kBytes>::Shorts;
  using Words = typename Vectors<kBytes>::Words;
  using Longs = typename Vectors<kBytes>::Longs;
  constexpr size_t kParts = kPartsOf<kBytes>;
  Words low[kParts] = {}, high[kParts] = {};
  const auto ahead = static_cast<size_t>(readable - ids);
  const size_t near = ahead > kAhead ? (n < ahead - kAhead ? n : ahead - kAhead) : 0;
  size_t i = 0;
  for (; i < near; ++i) {
    __builtin_prefetch(lines + ids[i + kAhead]);
    add_line<kBytes>(lines[ids[i]], low, high);
  }
  for (; i < n; ++i) add_line<kBytes>(lines[ids[i]], low, high);
  Longs row = {};
  for (size_t part = 0; part < kParts; ++part) {
    if (own != ~uint32_t{0}) {
      Shorts set;
      spread<kBytes>(own, part, set);
      low[part] &= (Words)(((Words)set & 0xFFFF) != 0);
      high[part] &= (Words)(((Words)set >> 16) != 0);
    }
    reinterpret_cast<Words*>(q->of)[part] = low[part];
    reinterpret_cast<Words*>(q->of + 16)[part] = high[part];
    const Words of = reinterpret_cast<const Words*>(p.of)[part];
    add_totals<kBytes>(of & 0xFFFF, low[part], part, row, totals->squares, totals);
    add_totals<kBytes>(of >> 16, high[part], part, row, totals->squares + 16, totals);
  }
  uint64_t sum = 0;
  for (size_t k = 0; k < kBytes / sizeof(uint64_t); ++k) sum += row[k];
  return sum;
}

void count_marks(const uint32_t* marks, const uint32_t* ids, size_t n, uint32_t own, LaneLine* out) {
  count_marks_of<16>(marks, ids, n, own, out);
}
uint64_t add_lanes(const LaneLine* lines, const uint32_t* ids, size_t n, const uint32_t* readable, const LaneLine& p, uint32_t own,
                   LaneSums* q, LaneTotals* totals) {
  return add_lanes_of<16>(lines, ids, n, readable, p, own, q, totals);
}
constexpr SimdLanes kBaselineLanes = {count_marks, add_lanes, 8};

#if defined(QE_X86)
QE_AVX2 void count_marks_avx2(const uint32_t* marks, const uint32_t* ids, size_t n, uint32_t own, LaneLine* out) {
  count_marks_of<32>(marks, ids, n, own, out);
}
QE_AVX2 uint64_t add_lanes_avx2(const LaneLine* lines, const uint32_t* ids, size_t n, const uint32_t* readable, const LaneLine& p,
                                uint32_t own, LaneSums* q, LaneTotals* totals) {
  return add_lanes_of<32>(lines, ids, n, readable, p, own, q, totals);
}
constexpr SimdLanes kAvx2Lanes = {count_marks_avx2, add_lanes_avx2, 6};

QE_AVX512 void count_marks_avx512(const uint32_t* marks, const uint32_t* ids, size_t n, uint32_t own, LaneLine* out) {
  count_marks_of<64>(marks, ids, n, own, out);
}
QE_AVX512 uint64_t add_lanes_avx512(const LaneLine* lines, const uint32_t* ids, size_t n, const uint32_t* readable, const LaneLine& p,
                                    uint32_t own, LaneSums* q, LaneTotals* totals) {
  return add_lanes_of<64>(lines, ids, n, readable, p, own, q, totals);
}
constexpr SimdLanes kAvx512Lanes = {count_marks_avx512, add_lanes_avx512, 4};
#endif

}  // namespace

const SimdLanes& simd_lanes(Isa isa) {
#if defined(QE_X86)
  if (isa == kAvx512) return kAvx512Lanes;
  if (isa == kAvx2) return kAvx2Lanes;
#endif
  (void)isa;
  return kBaselineLanes;
}

}  // namespace qe
