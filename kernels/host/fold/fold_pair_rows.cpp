// Rows of counts by two vertices (pair_rows.h) folded as they are made: none is kept, or seen by anybody else.
//
// A worker takes some roots at a time, writes their rows into a block, and folds that into groups of its own (fold_threads.h). Bytes moved: those of the rows' vectors, and of fold_table.cpp. The same for every number of threads.
#include <algorithm>

#include "count/pair_rows.h"
#include "fold/fold_conditions.h"
#include "fold/fold_threads.h"

namespace qe::fold {

using eliminate::PairTerm;

// Rows of all n vertices. root, end: variables that a pair's ends are, -1: none. weighted: a pair counts as often as its count
// says, else once. Only pairs for which all conditions hold are folded.
struct PairSource {
  const PairTerm* terms;
  const Condition* conditions;
  int32_t n_terms;
  uint32_t n;
  int32_t root, end;
  int32_t weighted, n_conditions;
};

namespace {

constexpr uint64_t kRoots = 16;  // between two looks whether to stop: a row may be as long as there are vertices

class Blocks {
 public:
  Blocks(Fold& fold, const PairSource& source, Own& own) : fold_(fold), source_(source), own_(own) {
    buffer_.resize(static_cast<size_t>(fold.plan.n_variables + 2) * kBlock);
    for (int k = 0; k < fold.plan.n_variables; ++k) columns_.push_back(column(k));
  }

  void add(uint32_t root, uint32_t end, eliminate::Signed count) {
    if (source_.n_conditions && !passes(root, end)) return;
    if (count > INT64_MAX) throw Halt{kOverflow};
    place(source_.root)[n_] = root;
    place(source_.end)[n_] = end;
    weights()[n_] = static_cast<int64_t>(count);
    if (++n_ == kBlock) flush();
  }
  void flush() {
    const int64_t* given = source_.weighted ? weights() : nullptr;
    if (!fold_.counts(given, static_cast<uint64_t>(n_))) throw Halt{kOverflow};
    if (n_) own_.add({n_, columns_.data(), given});
    n_ = 0;
  }

 private:
  bool passes(uint32_t root, uint32_t end) const {
    int64_t row[2] = {0, 0};
    if (source_.root >= 0) row[source_.root] = root;
    if (source_.end >= 0) row[source_.end] = end;
    return std::all_of(source_.conditions, source_.conditions + source_.n_conditions,
                       [&](const Condition& each) { return holds(each, row); });
  }
  int64_t* column(int k) { return buffer_.data() + static_cast<size_t>(k) * kBlock; }
  int64_t* place(int variable) { return column(variable < 0 ? fold_.plan.n_variables : variable); }
  int64_t* weights() { return column(fold_.plan.n_variables + 1); }

  Fold& fold_;
  const PairSource& source_;
  Own& own_;
  std::vector<int64_t> buffer_;
  std::vector<const int64_t*> columns_;
  int n_ = 0;
};

template <typename V>
void fold_rows(Fold& fold, const PairSource& source) {
  const int threads = eliminate::workers_for(fold.control, source.n * kRoots);
  Charge charge(fold.control);
  charge.add(static_cast<size_t>(threads) * eliminate::PairRows<V>::bytes(source.terms, source.n_terms, source.n));
  deal_tables(fold, source.n, kRoots, threads, [&](eliminate::WorkQueue& queue, Own& own) {
    Blocks blocks(fold, source, own);
    eliminate::PairRows<V> rows(source.terms, source.n_terms, source.n, queue);
    for (uint64_t begin, end; queue.take(&begin, &end);)
      for (auto root = static_cast<uint32_t>(begin); root < end; ++root)
        rows.row(root, [&](uint32_t v, eliminate::Signed count) { blocks.add(root, v, count); });
    blocks.flush();
  });
}

}  // namespace
}  // namespace qe::fold

// kOverflow: a number on the way, or what all counts add up to, is too much; what has been folded then is of no use.
QE_API int32_t qe_fold_pair_rows(qe::fold::Fold* fold, const qe::fold::PairSource* source, int32_t wide, qe::Control*) {
  return qe::eliminate::numbered(wide, [&](auto zero) {
    return qe::eliminate::guarded([&] { qe::fold::fold_rows<decltype(zero)>(*fold, *source); });
  });
}
