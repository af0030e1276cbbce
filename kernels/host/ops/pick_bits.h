// Bits of a row at some columns, packed: bit k of what is written is the row's bit at the k-th of the columns.
//
// The columns are given as masks of words, so that a word of the row is read and packed at once (pext) where the processor can.
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/isa.h"

namespace qe {

// Columns 64 * word + k for the bits k of `mask`, which has `n` of them, at least one.
struct WordMask {
  uint64_t mask;
  uint32_t word, n;
};

// Writes whole words. Masks are ascending by word.
using PickBits = void (*)(const uint64_t* row, const WordMask* masks, size_t n_masks, uint64_t* out);

PickBits pick_bits(Isa isa);

}  // namespace qe
