// Rows of a search joined by the threads that find them (search/row_sink.h): pairs go on to another sink.
//
// Each thread looks the rows of its chunks up in a table that is read alone, writes some pairs' columns, and hands these on. Bytes
// moved: those of hash_join.cpp, and a number a pair and column.
#include <memory>
#include <vector>

#include "count/eliminate.h"
#include "join/joined_rows.h"
#include "search/states.h"

namespace qe {

namespace {

constexpr size_t kPairs = 1 << 14;

class JoinedRows : public RowSink {
 public:
  explicit JoinedRows(const JoinedRowsPlan& plan)
      : plan_(plan), keys_(plan.keys, plan.keys + plan.table->n_keys), columns_(plan.columns, plan.columns + plan.n_columns),
        tests_(plan.tests, plan.tests + plan.n_tests), charge_(plan.control) {}

  void take(Chunk& chunk) override {
    try {
      states_.with([&](size_t) { return std::make_unique<State>(*this); }, [&](State& state) { join(state, chunk); });
    } catch (const Halt& halt) {
      halted_ = halt.status;  // a chunk of others may have many pairs left: they end for the same reason
      throw;
    } catch (...) {
      halted_ = kOutOfMemory;
      throw;
    }
    taken += chunk.n;
    passed += chunk.n;
  }

 private:
  struct State {
    explicit State(JoinedRows& of) : probing(kPairs), built(kPairs) {
      const size_t width = of.columns_.size() + 1;
      of.charge_.add(2 * kPairs * sizeof(int64_t));
      pairs.n_outputs = static_cast<int>(of.columns_.size());
      pairs.data.reserve(width * kPairs, of.charge_);
      pairs.capacity = kPairs;
    }
    std::vector<int64_t> probing, built;
    Chunk pairs;
  };

  void join(State& state, Chunk& chunk) {
    std::vector<const int64_t*> keys;
    for (const int32_t key : keys_) keys.push_back(chunk.column(key));
    std::vector<JoinTest> tests;
    const auto operand = [&](const JoinedColumn& of) { return of.built ? of.built : chunk.column(of.column); };
    for (const JoinedTest& each : tests_) {
      JoinTest test{each.count, {}};
      for (int64_t e = 0; e < each.count; ++e) {
        const JoinedColumn &left = each.operands[2 * e], &right = each.operands[2 * e + 1];
        test.equations[e] = {operand(left), operand(right), left.built != nullptr, right.built != nullptr};
      }
      tests.push_back(test);
    }
    JoinProbe probe{keys.data(), static_cast<int64_t>(chunk.n), tests.data(), static_cast<int64_t>(tests.size()), plan_.once, 0,
                    0, 0, static_cast<int64_t>(kPairs), state.probing.data(), state.built.data()};
    while (probe.row < probe.n) {
      if (const int32_t status = halted_; status != kOk) throw Halt{static_cast<Status>(status)};
      eliminate::check(stopped(plan_.control));
      int64_t found = 0;
      eliminate::check(find_pairs(*plan_.table, probe, plan_.control, &found));
      state.pairs.n = static_cast<size_t>(found);
      for (size_t k = 0; k < columns_.size(); ++k) {
        const JoinedColumn& of = columns_[k];
        const int64_t* from = of.built ? of.built : chunk.column(of.column);
        const int64_t* rows = of.built ? state.built.data() : state.probing.data();
        int64_t* to = state.pairs.column(static_cast<int>(k));
        for (int64_t i = 0; i < found; ++i) to[i] = from[rows[i]];
      }
      if (found) plan_.to->take(state.pairs);
    }
  }

  JoinedRowsPlan plan_;
  std::vector<int32_t> keys_;
  std::vector<JoinedColumn> columns_;
  std::vector<JoinedTest> tests_;
  Charge charge_;
  States<State> states_;
  std::atomic<int32_t> halted_{kOk};
};

}  // namespace
}  // namespace qe

QE_API int32_t qe_joined_rows_open(const qe::JoinedRowsPlan* plan, qe::RowSink** sink) {
  return qe::eliminate::guarded([&] { *sink = new qe::JoinedRows(*plan); });
}
