// The rows of a search's chunks as blocks of ids of variables, those for which conditions hold.
#pragma once
#include <vector>

#include "fold/fold_conditions.h"
#include "search/row_sink.h"
#include "search/states.h"

namespace qe::fold {

// columns: for each image of a row (rows of a symmetric pattern stand for several) the chunk's column of each variable; below 0
// that of the search's input rows, given[-1 - column]. weights: how often an input row counts, null: once. weighted: a row counts
// as often as its count says, times `orbits`.
struct SinkSource {
  const int32_t* columns;
  const int64_t* const* given;
  const int64_t* weights;
  const Condition* conditions;
  int64_t orbits;
  int32_t n_images, n_variables, n_given, n_conditions, weighted, unused;
};

// Folds that all rows go to. They must outlive the sink.
struct RowFoldPlan {
  SinkSource source;
  Fold* const* folds;
  int32_t n_folds, unused;
};

// A key of an order.
struct OrderKey {
  Column column;
  int32_t descending, unused;
};

// keys: the most significant first. n_outputs: columns of the search's rows, behind which input row each belongs to where seeded.
struct FirstRowsPlan {
  SinkSource source;
  const OrderKey* keys;
  Control* control;
  int64_t limit;
  int32_t n_keys, n_outputs, seeded, unused;
};

// A block of rows. chosen: their places in the chunk, from `begin` on where all rows are there.
struct SinkBlock {
  Block block;
  size_t begin;
  const uint16_t* chosen;
};

// Blocks of the rows that pass, with memory for one of them.
class SinkRows {
 public:
  explicit SinkRows(const SinkSource& source)
      : columns_(source.columns, source.columns + source.n_images * source.n_variables),
        given_(source.given, source.given + source.n_given), conditions_(source.conditions, source.conditions + source.n_conditions), source_(source),
        buffer_(static_cast<size_t>(source.n_variables + 1) * kBlock), at_(static_cast<size_t>(source.n_variables)) {}

  // Calls each(SinkBlock) with the rows of a chunk; returns how many there are, over all images.
  template <typename Each>
  uint64_t blocks(Chunk& chunk, Each&& each) {
    uint64_t passed = 0;
    for (int image = 0; image < source_.n_images; ++image) {
      const int32_t* columns = columns_.data() + image * source_.n_variables;
      for (size_t begin = 0; begin < chunk.n; begin += kBlock) {
        const auto n = static_cast<int>(std::min<size_t>(kBlock, chunk.n - begin));
        for (int v = 0; v < source_.n_variables; ++v)
          at_[static_cast<size_t>(v)] = columns[v] < 0 ? looked_up(v, given_[static_cast<size_t>(-1 - columns[v])], chunk.rows() + begin, n)
                                                       : chunk.column(columns[v]) + begin;
        const int kept = conditions_.empty() ? n : keep(n);
        if (kept == 0) continue;
        passed += static_cast<uint64_t>(kept);
        each(SinkBlock{{kept, at_.data(), weights(chunk, begin, kept)}, begin,
                       conditions_.empty() ? nullptr : chosen_});
      }
    }
    return passed;
  }

 private:
  int64_t* buffer(int v) { return buffer_.data() + static_cast<size_t>(v) * kBlock; }

  // What input rows have, by the row that each of n rows belongs to.
  const int64_t* looked_up(int v, const int64_t* given, const int64_t* rows, int n) {
    int64_t* to = buffer(v);
    for (int i = 0; i < n; ++i) to[i] = given[rows[i]];
    return to;
  }
  int keep(int n) {
    uint8_t holding[kBlock];
    select_block(conditions_.data(), static_cast<int>(conditions_.size()), at_.data(), n, holding);
    int kept = 0;
    for (int i = 0; i < n; ++i) {
      chosen_[kept] = static_cast<uint16_t>(i);
      kept += holding[i];
    }
    for (int v = 0; v < source_.n_variables; ++v) {
      const int64_t*& ids = at_[static_cast<size_t>(v)];
      int64_t* to = buffer(v);
      for (int i = 0; i < kept; ++i) to[i] = ids[chosen_[i]];
      ids = to;
    }
    return kept;
  }
  // How often each of the rows that pass counts, null: once.
  const int64_t* weights(Chunk& chunk, size_t begin, int n) {
    if (!source_.weighted && !source_.weights) return nullptr;
    int64_t* to = buffer(source_.n_variables);
    for (int i = 0; i < n; ++i) {
      const size_t at = begin + (conditions_.empty() ? static_cast<size_t>(i) : chosen_[i]);
      const int64_t count = source_.weighted ? chunk.counts()[at] : 1;
      const int64_t times = source_.weights ? source_.weights[chunk.rows()[at]] : 1;
      if (__builtin_mul_overflow(count, source_.weighted ? source_.orbits : 1, &to[i]) || __builtin_mul_overflow(to[i], times, &to[i]))
        throw Halt{kOverflow};
    }
    return to;
  }

  std::vector<int32_t> columns_;
  std::vector<const int64_t*> given_;
  std::vector<Condition> conditions_;
  SinkSource source_;
  std::vector<int64_t> buffer_;
  std::vector<const int64_t*> at_;
  uint16_t chosen_[kBlock];
};

}  // namespace qe::fold
