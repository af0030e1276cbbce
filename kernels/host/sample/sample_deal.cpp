// Deals a batch's places to the walks that are left between two levels, so that those which have died make room for others
// from the same beginnings.
//
// Walks get places in proportion to what they weigh; where picks are guided, alike, since what is ahead was looked at when
// they were picked. A walk's copies weigh together on average what it weighs: the mean stays unbiased. Copies draw by the numbers
// of their places. Systematic: one number of chance deals all places, in the order of the walks. Where the walks left are many
// and alike, nothing is dealt.
// Source: sample inheritance as in gSWORD §4.1, with places by weight (sequential Monte Carlo, Kitagawa 1996).
#include <algorithm>

#include "sample/sample_batch.h"

namespace qe {

void SampleBatch::deal(int level, int n, double chance) {
  if (alive_ == 0) return;
  shares_.resize(static_cast<size_t>(alive_));
  double total = 0, squares = 0;
  for (int k = 0; k < alive_; ++k) {
    const double share = guide_ != nullptr ? 1 : weight(k);
    shares_[static_cast<size_t>(k)] = share;
    total += share;
    squares += share * share;
  }
  if (total * total >= kEvenShare * squares * n) return;
  const auto stride = static_cast<size_t>(level);
  dealt_values_.resize(static_cast<size_t>(alive_) * stride);
  dealt_weights_.resize(static_cast<size_t>(alive_));
  for (int k = 0; k < alive_; ++k) {
    std::copy_n(values(k), stride, dealt_values_.data() + static_cast<size_t>(k) * stride);
    dealt_weights_[static_cast<size_t>(k)] = weight(k);
  }
  const int before = alive_;
  double reached = chance;
  alive_ = 0;
  for (int k = 0; k < before; ++k) {
    const double places = shares_[static_cast<size_t>(k)] / total * n;
    for (reached += places; reached >= 1 && alive_ < n; reached -= 1) {
      const int slot = alive_++;
      slot_[static_cast<size_t>(slot)] = slot;
      std::copy_n(dealt_values_.data() + static_cast<size_t>(k) * stride, stride, value(slot));
      weights_[static_cast<size_t>(slot)] = dealt_weights_[static_cast<size_t>(k)] / places;
    }
  }
  draw_numbers(level);
}

// Those that walks at other places had for this level, where `advance` draws no new ones.
void SampleBatch::draw_numbers(int level) {
  if (level % kBlockLevels != 0) draw_blocks(level);
  if (guide_ != nullptr && level % kGuidedLevels != 0) draw_fine(level);
}

void SampleBatch::resume(uint64_t first, int n, int level, const int64_t* rows, const double* weights, int stride) {
  first_ = first;
  alive_ = 0;
  for (int k = 0; k < n; ++k) {
    if (!(weights[k] > 0)) continue;
    slot_[static_cast<size_t>(alive_++)] = k;
    weights_[static_cast<size_t>(k)] = weights[k];
    std::copy_n(rows + static_cast<int64_t>(k) * stride, level, value(k));
  }
  draw_numbers(level);
}

}  // namespace qe
