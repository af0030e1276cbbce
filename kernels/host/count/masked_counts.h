// Masked products of matrices without numbers, which only count: how many columns a row of each have in common.
#pragma once
#include "count/eliminate.h"

namespace qe::eliminate {

// Whether a matrix has numbers, or may have an entry twice in a row.
bool is_plain(const Matrix& m, Control* control);

// out[p], for each entry p = (a, b) of `across`: how many c that `admits` (n bytes, null: all) are in a's row of `left` and
// in b's of `right`, both plain. V: of 64 or 128 bits.
template <typename V>
Status masked_counts(const Matrix& across, const Matrix& left, const Matrix& right, uint32_t n, const uint8_t* admits, V* out,
                     Control* control);

extern template Status masked_counts<Narrow>(const Matrix&, const Matrix&, const Matrix&, uint32_t, const uint8_t*, Narrow*,
                                             Control*);
extern template Status masked_counts<Wide>(const Matrix&, const Matrix&, const Matrix&, uint32_t, const uint8_t*, Wide*,
                                           Control*);

}  // namespace qe::eliminate
