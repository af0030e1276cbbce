// The first rows of a search by an order of keys, kept by the threads that find them (search/row_sink.h).
//
// Each thread keeps a few times as many rows as are wanted, and the bound that as many don't come after; whoever does is left out by
// the first key that tells, a block at a time. A thread's bound is everybody's as soon as it is the least. Of rows that tie with the
// last one any may be kept. Bytes moved: the first key's numbers at all rows, the others' at few.
// Source: stopping early at a bound, Carey and Kossmann, SIGMOD 1997.
#include <algorithm>

#include "fold/fold_threads.h"
#include "fold/sink_rows.h"

namespace qe::fold {

namespace {

constexpr size_t kRoom = 1024;  // rows beyond those that are wanted

// The number of an id's place in an ascending order: null comes last.
template <typename Reader, typename Number>
int64_t rank(const Reader& reader, Number number, int64_t id, bool descending) {
  const int64_t found = reader.get(id, &number) ? ordered(number) : INT64_MAX;
  return descending ? ~found : found;
}

class FirstRows : public RowSink {
 public:
  explicit FirstRows(const FirstRowsPlan& plan)
      : source_(plan.source), keys_(plan.keys, plan.keys + plan.n_keys), charge_(plan.control),
        limit_(static_cast<size_t>(plan.limit)), n_keys_(keys_.size()), first_(plan.seeded ? -1 : 0),
        n_columns_(static_cast<size_t>(plan.n_outputs - first_)) {
    images_.assign(source_.columns, source_.columns + source_.n_images * source_.n_variables);
    conditions_.assign(source_.conditions, source_.conditions + source_.n_conditions);
    source_.columns = images_.data();
    source_.conditions = conditions_.data();
  }

  void take(Chunk& chunk) override {
    states_.with([&](size_t) { return std::make_unique<State>(*this); }, [&](State& state) {
      {
        std::lock_guard<std::mutex> lock(mutex_);
        if (!bound_.empty()) state.bound = bound_;
      }
      passed += state.rows.blocks(chunk, [&](const SinkBlock& each) { add(state, chunk, each); });
      taken += chunk.n;
    });
  }

  size_t give(Chunk& chunk) override {
    if (!ended_) {
      ended_ = true;
      for (const auto& state : states_.all()) kept_.insert(kept_.end(), state->kept.begin(), state->kept.end());
      cut(kept_);
    }
    const size_t n = std::min(chunk.capacity, kept_.size() / width() - given_);
    for (size_t i = 0; i < n; ++i)
      for (size_t k = 0; k < n_columns_; ++k)
        chunk.column(first_ + static_cast<int>(k))[i] = kept_[(given_ + i) * width() + n_keys_ + k];
    given_ += n;
    return n;
  }

 private:
  struct State {
    explicit State(FirstRows& of) : rows(of.source_) {
      of.charge_.add((2 * of.limit_ + kRoom + kBlock) * of.width() * sizeof(int64_t));
    }
    SinkRows rows;
    std::vector<int64_t> bound;  // the keys of a row that enough others don't come after; empty: none known
    std::vector<int64_t> kept;   // rows: their keys, then their ids
  };

  size_t width() const { return n_keys_ + n_columns_; }

  void add(State& state, Chunk& chunk, const SinkBlock& given) {
    uint16_t rows[kBlock];
    int n = given.block.n;
    for (int i = 0; i < n; ++i) rows[i] = static_cast<uint16_t>(i);
    if (!state.bound.empty()) n = within(state.bound, given.block, rows);
    const size_t first = state.kept.size();
    state.kept.resize(first + static_cast<size_t>(n) * width());
    int64_t* to = state.kept.data() + first;
    for (size_t k = 0; k < n_keys_; ++k) {
      const int64_t* ids = given.block.ids[keys_[k].column.variable];
      with_reader(keys_[k].column, [&](const auto& reader, auto number) {
        for (int i = 0; i < n; ++i) to[static_cast<size_t>(i) * width() + k] = rank(reader, number, ids[rows[i]], keys_[k].descending);
      });
    }
    for (size_t k = 0; k < n_columns_; ++k) {
      const int64_t* ids = chunk.column(first_ + static_cast<int>(k)) + given.begin;
      for (int i = 0; i < n; ++i)
        to[static_cast<size_t>(i) * width() + n_keys_ + k] = ids[given.chosen ? given.chosen[rows[i]] : rows[i]];
    }
    if (state.kept.size() > (2 * limit_ + kRoom) * width()) tighten(state);
  }

  // Keeps the rows that come before the bound; returns how many.
  int within(const std::vector<int64_t>& bound, const Block& block, uint16_t* rows) const {
    uint16_t before[kBlock];
    int n_before = 0, n = block.n;
    for (size_t k = 0; k < n_keys_ && n > 0; ++k) {
      const int64_t* ids = block.ids[keys_[k].column.variable];
      const int64_t limit = bound[k];
      int tied = 0;
      with_reader(keys_[k].column, [&](const auto& reader, auto number) {
        for (int i = 0; i < n; ++i) {
          const int64_t found = rank(reader, number, ids[rows[i]], keys_[k].descending);
          before[n_before] = rows[i];
          n_before += found < limit;
          rows[tied] = rows[i];
          tied += found == limit;
        }
      });
      n = tied;
    }
    std::copy(before, before + n_before, rows);
    return n_before;
  }

  // Leaves the first rows, as many as are wanted; the last of them is the last.
  void cut(std::vector<int64_t>& kept) const {
    const size_t n = kept.size() / width();
    if (n <= limit_) return;
    std::vector<const int64_t*> rows(n);
    for (size_t i = 0; i < n; ++i) rows[i] = kept.data() + i * width();
    std::nth_element(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(limit_ - 1), rows.end(), [&](const int64_t* a, const int64_t* b) {
      return std::lexicographical_compare(a, a + n_keys_, b, b + n_keys_);
    });
    std::vector<int64_t> left;
    left.reserve(kept.capacity());
    for (size_t i = 0; i < limit_; ++i) left.insert(left.end(), rows[i], rows[i] + width());
    kept.swap(left);
  }

  void tighten(State& state) {
    cut(state.kept);
    const auto last = state.kept.end() - static_cast<std::ptrdiff_t>(width());
    state.bound.assign(last, last + static_cast<std::ptrdiff_t>(n_keys_));
    std::lock_guard<std::mutex> lock(mutex_);
    if (bound_.empty() || state.bound < bound_) bound_ = state.bound;
    else state.bound = bound_;
  }

  SinkSource source_;
  std::vector<OrderKey> keys_;
  Charge charge_;
  size_t limit_, n_keys_;
  int first_;  // column of a chunk that rows begin with
  size_t n_columns_;
  std::vector<int32_t> images_;
  std::vector<Condition> conditions_;
  States<State> states_;
  std::mutex mutex_;
  std::vector<int64_t> bound_;  // the least of all threads
  std::vector<int64_t> kept_;
  size_t given_ = 0;
  bool ended_ = false;
};

}  // namespace
}  // namespace qe::fold

QE_API int32_t qe_first_rows_open(const qe::fold::FirstRowsPlan* plan, qe::RowSink** sink) {
  return qe::eliminate::guarded([&] { *sink = new qe::fold::FirstRows(*plan); });
}
