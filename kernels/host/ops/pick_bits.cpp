#include "ops/pick_bits.h"

#if defined(QE_X86)
#include <immintrin.h>
#endif

namespace qe {
namespace {

// Takes bits in turn, and writes each word that is full.
struct Packer {
  uint64_t* out;
  uint64_t word = 0;
  uint32_t filled = 0;

  inline __attribute__((always_inline)) void add(uint64_t bits, uint32_t n) {
    word |= bits << filled;
    filled += n;
    if (filled < 64) return;
    *out++ = word;
    filled -= 64;
    word = filled > 0 ? bits >> (n - filled) : 0;
  }
  inline __attribute__((always_inline)) void finish() {
    if (filled > 0) *out = word;
  }
};

void one_by_one(const uint64_t* row, const WordMask* masks, size_t n_masks, uint64_t* out) {
  Packer packer{out};
  for (size_t k = 0; k < n_masks; ++k) {
    uint64_t bits = 0;
    uint32_t n = 0;
    for (uint64_t rest = masks[k].mask; rest; rest &= rest - 1) bits |= (row[masks[k].word] >> __builtin_ctzll(rest) & 1) << n++;
    packer.add(bits, masks[k].n);
  }
  packer.finish();
}

#if defined(QE_X86)
QE_AVX2 void by_words(const uint64_t* row, const WordMask* masks, size_t n_masks, uint64_t* out) {
  Packer packer{out};
  for (size_t k = 0; k < n_masks; ++k) packer.add(_pext_u64(row[masks[k].word], masks[k].mask), masks[k].n);
  packer.finish();
}
#endif

}  // namespace

PickBits pick_bits([[maybe_unused]] Isa isa) {
#if defined(QE_X86)
  if (isa != kBaseline) return by_words;
#endif
  return one_by_one;
}

}  // namespace qe
