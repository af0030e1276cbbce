// Folding rows that are given, or the entries of stored lists as they are read (fold.h).
//
// Entries are dealt in pieces of the lists, whoever's they are, to threads with groups each (fold_threads.h). The results are the
// same for every number of threads. Bytes moved: lists once, those of fold_table.cpp.
#include <algorithm>
#include <cstring>

#include "fold/fold_conditions.h"
#include "fold/fold_threads.h"

namespace qe::fold {

namespace {

constexpr uint64_t kPiece = 1 << 14;  // entries
constexpr uint64_t kShare = 4;  // vertices that are folded in the time of an entry

class EntryRows {
 public:
  EntryRows(const Lists& lists, const Condition* conditions, int n_conditions, Fold& fold, Own& own)
      : lists_(lists), conditions_(conditions), n_conditions_(n_conditions), fold_(fold), own_(own) {
    const int n_variables = fold.plan.n_variables;
    buffer_.resize(static_cast<size_t>(n_variables + 1) * kBlock);
    for (int k = 0; k <= n_variables; ++k) columns_.push_back(buffer_.data() + k * kBlock);
    spare_ = columns_.back();
    if (weighed()) weights_.resize(kBlock);
  }

  void entries(uint64_t begin, uint64_t end) {
    const uint64_t* after = std::upper_bound(lists_.begins, lists_.begins + lists_.n + 1, begin);
    for (uint64_t k = static_cast<uint64_t>(after - lists_.begins) - 1; begin < end; ++k) {
      const uint64_t stop = std::min(end, lists_.begins[k + 1]);
      const uint32_t owner = lists_.vertices ? lists_.vertices[k] : lists_.first + static_cast<uint32_t>(k);
      if (lists_.admits_owner && !lists_.admits_owner[owner]) begin = stop;
      while (begin < stop) {
        const uint64_t to = std::min(stop, begin + static_cast<uint64_t>(kBlock - n_));
        if (filtered()) some(owner, begin, to);
        else all(owner, begin, to);
        begin = to;
        if (n_ == kBlock) flush();
      }
    }
  }
  void flush() {
    if (n_conditions_) select();
    const int64_t* weights = weighed() ? weights_.data() : nullptr;
    if (weights && !fold_.counts(weights, static_cast<uint64_t>(n_))) throw Halt{kOverflow};
    if (n_) own_.add({n_, columns_.data(), weights});
    n_ = 0;
  }

 private:
  bool filtered() const {
    return lists_.admits_end || lists_.admits_edge || lists_.skip_loops || n_conditions_ || weighed();
  }
  bool weighed() const { return lists_.weighs_owner || lists_.weighs_end; }
  int64_t* column(int variable) const { return variable < 0 ? spare_ : columns_[static_cast<size_t>(variable)]; }
  int64_t edge(uint64_t e) const { return lists_.edge_base + static_cast<int64_t>(e); }

  void all(uint32_t owner, uint64_t begin, uint64_t end) {
    const auto count = static_cast<int>(end - begin);
    if (lists_.owner >= 0) std::fill_n(column(lists_.owner) + n_, count, owner);
    if (lists_.end >= 0) std::copy_n(lists_.ends + begin, count, column(lists_.end) + n_);
    if (lists_.edge >= 0)
      for (int64_t* to = column(lists_.edge) + n_; begin < end; ++begin) *to++ = edge(begin);
    n_ += count;
  }

  void some(uint32_t owner, uint64_t begin, uint64_t end) {
    const int64_t own = lists_.weighs_owner ? lists_.weighs_owner[owner] : 1;
    if (!own) return;
    int64_t *owners = column(lists_.owner), *ends = column(lists_.end);
    int64_t* edges = lists_.edge >= 0 ? column(lists_.edge) : nullptr;
    int64_t* weights = weighed() ? weights_.data() : nullptr;
    const uint8_t *admits_end = lists_.admits_end, *admits_edge = lists_.admits_edge;
    const int64_t* weighs_end = lists_.weighs_end;
    const uint8_t* lessens_owner = lists_.lessens_owner;
    const int64_t fewer = lists_.lessens_end ? lists_.lessens_end[owner] : 0;
    const bool skip_loops = lists_.skip_loops;
    const int64_t edge_base = lists_.edge_base;
    int n = n_;
    for (uint64_t e = begin; e < end; ++e) {
      const uint32_t other = lists_.ends[e];
      bool kept = (!admits_end || admits_end[other]) && (!admits_edge || admits_edge[e]);
      kept &= !skip_loops || other != owner;
      owners[n] = owner;
      ends[n] = other;
      if (edges) edges[n] = edge_base + static_cast<int64_t>(e);
      if (weights) {
        const int64_t owned = lessens_owner ? own - lessens_owner[other] : own;
        weights[n] = weighs_end ? owned * (weighs_end[other] - fewer) : owned;
        kept &= weights[n] != 0;
      }
      n += kept;
    }
    n_ = n;
  }

  // Leaves of a block the rows for which all conditions hold.
  void select() {
    uint8_t holding[kBlock];
    select_block(conditions_, n_conditions_, columns_.data(), n_, holding);
    int64_t* columns[9];
    size_t n_columns = columns_.size() - 1;
    std::copy_n(columns_.begin(), n_columns, columns);
    if (weighed()) columns[n_columns++] = weights_.data();
    for (size_t k = 0; k < n_columns; ++k) {
      int64_t* ids = columns[k];
      for (int i = 0, n = 0; i < n_; ++i) {
        ids[n] = ids[i];
        n += holding[i];
      }
    }
    n_ = static_cast<int>(std::count(holding, holding + n_, 1));
  }

  const Lists& lists_;
  const Condition* conditions_;
  int n_conditions_;
  Fold& fold_;
  Own& own_;
  std::vector<int64_t> buffer_, weights_;
  std::vector<int64_t*> columns_;
  int64_t* spare_;
  int n_ = 0;
};

constexpr int kRun = 64;  // vertices that are looked at together

constexpr uint64_t kMany = 4 * kRun;  // vertices, one after the other, that are given as such

// Whether none of a run is admitted.
bool is_empty(const uint8_t* admitted) {
  uint64_t words[kRun / 8], all = 0;
  std::memcpy(words, admitted, kRun);
  for (uint64_t word : words) all |= word;
  return !all;
}

// How many of the first n are admitted one after the other, in whole runs, at most kBlock; without `admitted`, all.
uint64_t in_order(const uint8_t* admitted, uint64_t n) {
  const auto most = std::min<uint64_t>(kBlock, n);
  if (!admitted) return most;
  uint64_t found = 0;
  for (; found + kRun <= most; found += kRun) {
    uint64_t words[kRun / 8], all = 0x0101010101010101;
    std::memcpy(words, admitted + found, kRun);
    for (uint64_t word : words) all &= word;
    if (all != 0x0101010101010101) break;
  }
  return found;
}

// Folds the vertices of [begin, end), each less by `first` in `admitted`.
void fold_vertices(Own& own, uint64_t first, uint64_t begin, uint64_t end, const uint8_t* admitted) {
  int64_t ids[kBlock];
  const int64_t* const columns[1] = {ids};
  for (int n = 0; begin < end; n = 0) {
    uint64_t many = 0;
    while (begin < end && n <= kBlock - kRun) {
      const uint64_t most = std::min<uint64_t>(kRun, end - begin);
      many = in_order(admitted ? admitted + begin : nullptr, end - begin);
      if (!admitted || many >= kMany) break;
      if (most == kRun && is_empty(admitted + begin)) {
        begin += most;
        continue;
      }
      for (const uint64_t behind = begin + most; begin < behind; ++begin) {
        ids[n] = static_cast<int64_t>(first + begin);
        n += admitted[begin] != 0;
      }
    }
    if (n) own.add({n, columns, nullptr});
    if (admitted && many < kMany) continue;
    own.add({static_cast<int>(many), nullptr, nullptr, true, static_cast<int64_t>(first + begin)});
    begin += many;
  }
}

// Threads that fold rows: as many as have more rows each than there are places of groups, where each has all of them.
int row_workers(const Fold& fold, uint64_t n) {
  const int threads = eliminate::workers_for(fold.control, n / kShare);
  const uint64_t most = fold.plan.hashed || fold.plan.shared ? n : n / std::max<uint64_t>(1, fold.plan.places);
  return static_cast<int>(std::clamp<uint64_t>(most, 1, static_cast<uint64_t>(threads)));
}

}  // namespace
}  // namespace qe::fold

using namespace qe::fold;
using qe::Charge;
using qe::Control;

QE_API int32_t qe_fold_open(const Plan* plan, Control* control, Fold** fold) {
  return qe::eliminate::guarded([&] { *fold = new Fold(*plan, control); });
}

QE_API void qe_fold_close(Fold* fold) { delete fold; }

// Folds n rows, an array of ids for each variable. kOverflow, with nothing done: their weights, not negative, add up to too much.
QE_API int32_t qe_fold_rows(Fold* fold, uint64_t n, const int64_t* const* ids, const int64_t* weights) {
  return qe::eliminate::guarded([&] {
    check(stopped(fold->control));
    if (!fold->counts(weights, n)) throw qe::Halt{qe::kOverflow};
    deal_tables(*fold, n, kPiece, row_workers(*fold, n), [&](auto& queue, Own& own) {
      std::vector<const int64_t*> at(static_cast<size_t>(fold->plan.n_variables));
      for (uint64_t begin, end; queue.take(&begin, &end);)
        for (int count = 0; begin < end; begin += static_cast<uint64_t>(count)) {
          count = static_cast<int>(std::min<uint64_t>(kBlock, end - begin));
          for (size_t k = 0; k < at.size(); ++k) at[k] = ids[k] + begin;
          own.add({count, at.data(), weights ? weights + begin : nullptr});
        }
    });
  });
}

// Folds the entries of lists, of at most 8 variables. Products of two weights fit 64 bits. kOverflow: they add up to too much.
QE_API int32_t qe_fold_entries(Fold* fold, const Lists* lists, const Condition* conditions, int32_t n_conditions) {
  const uint64_t n = lists->begins[lists->n];
  return qe::eliminate::guarded([&] {
    const bool weighed = lists->weighs_owner || lists->weighs_end;
    if (!weighed && !fold->counts(nullptr, n)) throw qe::Halt{qe::kOverflow};
    deal_tables(*fold, n, kPiece, qe::eliminate::workers_for(fold->control, n), [&](auto& queue, Own& own) {
      EntryRows rows(*lists, conditions, n_conditions, *fold, own);
      for (uint64_t begin, end; queue.take(&begin, &end);) rows.entries(begin, end);
      rows.flush();
    });
  });
}

// Folds n vertices from `first` on, those of which `admitted` has a byte that isn't 0 (null: all), of at most one variable.
QE_API int32_t qe_fold_vertices(Fold* fold, uint64_t first, uint64_t n, const uint8_t* admitted, Control*) {
  return qe::eliminate::guarded([&] {
    if (!fold->counts(nullptr, n)) throw qe::Halt{qe::kOverflow};
    deal_tables(*fold, n, kPiece, qe::eliminate::workers_for(fold->control, n / kShare), [&](auto& queue, Own& own) {
      for (uint64_t begin, end; queue.take(&begin, &end);) fold_vertices(own, first, begin, end, admitted);
    });
  });
}

// The least (0 for none) and the greatest amount of the numbers but 0, as bits: an infinity or NaN is at least 0x7FF0000000000000.
QE_API void qe_fold_float_range(const Column* column, uint64_t* least, uint64_t* greatest) {
  uint64_t low = UINT64_MAX, high = 0;
  const Reader<double, false> reader(*column);
  for (int64_t k = 0; k < column->count; ++k) {
    double number;
    if (!reader.get(column->base + k, &number)) continue;
    uint64_t bits;
    __builtin_memcpy(&bits, &number, sizeof bits);
    bits &= INT64_MAX;
    high = std::max(high, bits);
    low = std::min(low, bits - 1);  // 0 becomes the greatest
  }
  *least = low + 1;
  *greatest = high;
}
