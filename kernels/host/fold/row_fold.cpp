// Rows of a search folded by the threads that find them (search/row_sink.h): no row is handed over.
//
// Each thread has groups of its own (fold_threads.h). Bytes moved: those of fold_table.cpp. The same for every number of threads.
#include "fold/fold_threads.h"
#include "fold/sink_rows.h"

namespace qe::fold {

namespace {

class RowFold : public RowSink {
 public:
  explicit RowFold(const RowFoldPlan& plan) : source_(plan.source), folds_(plan.folds, plan.folds + plan.n_folds) {
    images_.assign(source_.columns, source_.columns + source_.n_images * source_.n_variables);
    conditions_.assign(source_.conditions, source_.conditions + source_.n_conditions);
    source_.columns = images_.data();
    source_.conditions = conditions_.data();
  }

  void take(Chunk& chunk) override {
    states_.with([&](size_t k) { return std::make_unique<State>(*this, k); }, [&](State& state) {
      const uint64_t rows = state.rows.blocks(chunk, [&](const SinkBlock& each) {
        for (size_t k = 0; k < folds_.size(); ++k) {
          if (!folds_[k]->counts(each.block.weights, static_cast<uint64_t>(each.block.n))) throw Halt{kOverflow};
          state.owners[k]->add(each.block);
        }
      });
      taken += chunk.n * static_cast<uint64_t>(source_.n_images);
      passed += rows;
    });
  }

  // Merges what all threads have folded.
  void merge() {
    for (size_t k = 0; k < folds_.size(); ++k) {
      std::vector<const Table*> left;
      for (const auto& state : states_.all())
        if (const Table* own = state->owners[k]->own()) left.push_back(own);
      merge_own(*folds_[k], left);
      if (!left.empty()) continue;
      const size_t states = states_.all().size();
      check(eliminate::each_row(static_cast<int>(std::max<size_t>(1, states)), folds_[k]->control, states, 1,
                                [&](uint32_t place) { states_.all()[place]->owners[k]->share(); }));
    }
  }

 private:
  struct State {
    State(const RowFold& of, size_t k) : rows(of.source_) {
      for (Fold* fold : of.folds_) owners.push_back(std::make_unique<Own>(*fold, k, false));
    }
    SinkRows rows;
    std::vector<std::unique_ptr<Own>> owners;
  };

  SinkSource source_;
  std::vector<Fold*> folds_;
  std::vector<int32_t> images_;
  std::vector<Condition> conditions_;
  States<State> states_;
};

}  // namespace
}  // namespace qe::fold

using qe::fold::RowFold;

QE_API int32_t qe_row_fold_open(const qe::fold::RowFoldPlan* plan, qe::RowSink** sink) {
  return qe::eliminate::guarded([&] { *sink = new RowFold(*plan); });
}

// Once all rows are taken: makes their groups the folds'.
QE_API int32_t qe_row_fold_merge(qe::RowSink* sink, qe::Control*) {
  return qe::eliminate::guarded([&] { static_cast<RowFold*>(sink)->merge(); });
}
