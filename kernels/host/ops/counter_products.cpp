#include "ops/counter_products.h"

#if defined(QE_X86)
#include <immintrin.h>
#endif

namespace qe {
namespace {

inline __attribute__((always_inline)) void by_words(BitCounters one, BitCounters other, uint64_t* sums) {
  for (size_t i = 0; i < one.digits; ++i)
    for (size_t j = 0; j < other.digits; ++j)
      for (size_t w = 0; w < kRowBlock; ++w)
        sums[(i + j) * kRowBlock + w] +=
            static_cast<uint64_t>(__builtin_popcountll(one.words[i * kRowBlock + w] & other.words[j * kRowBlock + w]));
}

void baseline(BitCounters one, BitCounters other, uint64_t* sums) { by_words(one, other, sums); }

#if defined(QE_X86)
QE_AVX2 void avx2(BitCounters one, BitCounters other, uint64_t* sums) { by_words(one, other, sums); }

QE_AVX512 void avx512(BitCounters one, BitCounters other, uint64_t* sums) {
  for (size_t i = 0; i < one.digits; ++i) {
    const __m512i own = _mm512_loadu_si512(one.words + i * kRowBlock);
    for (size_t j = 0; j < other.digits; ++j) {
      uint64_t* to = sums + (i + j) * kRowBlock;
      const __m512i both = _mm512_popcnt_epi64(_mm512_and_si512(own, _mm512_loadu_si512(other.words + j * kRowBlock)));
      _mm512_storeu_si512(to, _mm512_add_epi64(_mm512_loadu_si512(to), both));
    }
  }
}
#endif

}  // namespace

AddProducts add_products([[maybe_unused]] Isa isa) {
#if defined(QE_X86)
  if (isa == kAvx512) return avx512;
  if (isa == kAvx2) return avx2;
#endif
  return baseline;
}

}  // namespace qe
