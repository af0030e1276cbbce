// Rows of bits wait here by their length until there are as many of one length as are added to counters at once: no short row
// is added beside a long one in vain, and loops over their words end alike from row to row.
#pragma once
#include <algorithm>

#include "set_ops.h"

namespace qe {

// Of rows of at most `kLongest` blocks, each with a place.
template <uint32_t kLongest>
class RowBuckets {
 public:
  // Where rows go: all to counters; of those with a place before `sought`, what they have in common with `set` to `counts`.
  struct Target {
    const SetOps* ops;
    BitCounters counters;
    const uint64_t* set;
    uint32_t sought;
    uint32_t* counts;
  };

  // Takes a row of `blocks` blocks, perhaps none, and hands on all of its length if they are enough.
  void take(const uint64_t* words, uint32_t blocks, uint32_t place, const Target& to) {
    uint32_t& n = n_[blocks];
    rows_[blocks][n] = {words, blocks * kRowBlock};
    places_[blocks][n] = place;
    if (++n < kRowsAtOnce) return;
    n = 0;
    if (blocks > 0) hand_on(rows_[blocks], places_[blocks], kRowsAtOnce, to);
  }

  // Hands on all rows that still wait, the longest first; none is longer than `blocks` blocks.
  void finish(uint32_t blocks, const Target& to) {
    n_[0] = 0;
    BitRow rows[2 * kRowsAtOnce];
    uint32_t places[2 * kRowsAtOnce];
    uint32_t waiting = 0;
    for (uint32_t b = blocks; b > 0; --b) {
      std::copy_n(rows_[b], n_[b], rows + waiting);
      std::copy_n(places_[b], n_[b], places + waiting);
      waiting += n_[b];
      n_[b] = 0;
      if (waiting < kRowsAtOnce) continue;
      hand_on(rows, places, kRowsAtOnce, to);
      waiting -= kRowsAtOnce;
      std::copy_n(rows + kRowsAtOnce, waiting, rows);
      std::copy_n(places + kRowsAtOnce, waiting, places);
    }
    if (waiting > 0) hand_on(rows, places, waiting, to);
  }

 private:
  static void hand_on(const BitRow* rows, const uint32_t* places, uint32_t n, const Target& to) {
    to.ops->add_rows(rows, n, to.counters);
    if (to.sought == 0) return;
    BitRow found[kRowsAtOnce];
    uint32_t at[kRowsAtOnce];
    uint32_t sought = 0;
    for (uint32_t i = 0; i < n; ++i) {
      found[sought] = rows[i];
      at[sought] = places[i];
      sought += places[i] < to.sought;
    }
    to.ops->row_counts(to.set, found, sought, at, to.counts);
  }

  BitRow rows_[kLongest + 1][kRowsAtOnce];
  uint32_t places_[kLongest + 1][kRowsAtOnce];
  uint32_t n_[kLongest + 1] = {};
};

}  // namespace qe
