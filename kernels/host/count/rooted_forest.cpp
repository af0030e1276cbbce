// Elimination of a forest around a root: for each root u the pattern's other vertices are summed out from the leaves to the
// top, by sparse vectors over what u reaches. With the root a 4-cycle's corner these are the counters of its wedges.
//
// A node's sparse vector starts with a row of u, or with what is pushed over links: each of its numbers is added along a
// row to a dense array, whose touched places make the next sparse vector. Several nodes that meet at a vertex multiply. Where
// two meet whose product is only summed, one is pushed and the other reads what it finds along its rows. Where roots share
// most of what they reach, 16 are done at once, or 8 where 32 bits don't do: their numbers are kept side by side, a line of 64 bytes
// a vertex, so that a row of a link is read once for all of them. Every number of a line is bounded beforehand, by the greatest
// numbers of entries that a vertex has; other numbers are of 32 bits as long as those do, and are checked. Of roots that reach the same, one
// (eliminate_root_classes.h); and what is pushed by a few hubs around nearly all roots is pushed once (eliminate_heavy.cpp).
// Bytes moved: for each number that is pushed its row, and a counter for each entry, at random. Deterministic.
// Sources: Gustavson 1978 (sparse accumulator); cutset conditioning, Dechter 1990; Chiba and Nishizeki 1985 for wedges.
#include <optional>

#include "count/eliminate_heavy.h"
#include "count/eliminate_root_classes.h"

namespace qe::eliminate {

namespace {

constexpr uint64_t kRoots = 4;
constexpr size_t kLeastInBlocks = 64;          // roots
constexpr double kLeastPushed = 256;           // numbers that a root's first step pushes, on average, for blocks to pay
constexpr size_t kMostHeld = size_t{1} << 30;  // bytes of blocks

int threads_for(const ForestPlan& plan, const Control* control) {
  uint64_t entries = 0;
  for (int k = 0; k < plan.n_nodes; ++k) {
    if (plan.nodes[k].start < 0) continue;
    entries = std::max(entries, entries_of(plan.matrices[plan.nodes[k].start]));
  }
  return workers_for(control, 4 * entries);
}

// The most that a vector's numbers, or those that a node hands on, can be.
template <typename V>
class Bounds {
 public:
  explicit Bounds(const ForestPlan& plan) : plan_(plan), columns_(plan.n) {}

  double node(int32_t k, bool summed) {
    const ForestNode& at = plan_.nodes[k];
    double bound = at.start < 0 ? 1 : most_repeats(plan_.matrices[at.start]);
    if (at.vector >= 0) bound *= greatest(static_cast<const V*>(plan_.vectors[at.vector]));
    bool squared = summed && at.count == 2 && at.start < 0 && at.vector < 0;
    const int32_t* children = plan_.children + at.first;
    squared = squared && children[0] == children[1];
    for (int j = 0; j < at.count; ++j) {
      const double handed = node(children[j], false) * most_in_a_column(plan_.matrices[plan_.nodes[children[j]].link]);
      bound = squared ? handed : bound * handed;
      largest_ = std::max(largest_, handed);
    }
    largest_ = std::max(largest_, bound);
    return bound;
  }
  double largest() const { return largest_; }

 private:
  double greatest(const V* vector) const {
    return plan_.n == 0 ? 0 : static_cast<double>(*std::max_element(vector, vector + plan_.n));
  }
  // How often a row has an id, and a column one.
  double most_repeats(const Matrix& m) const {
    uint64_t most = 1;
    each(m, [&](Slice at) {
      for (uint64_t e = at.begin + 1, same = 1; e < at.end; ++e) {
        same = m.ids[e] == m.ids[e - 1] ? same + 1 : 1;
        most = std::max(most, same);
      }
    });
    return static_cast<double>(most);
  }
  double most_in_a_column(const Matrix& m) {
    std::fill(columns_.begin(), columns_.end(), 0);
    each(m, [&](Slice at) {
      for (uint64_t e = at.begin; e < at.end; ++e) ++columns_[m.ids[e]];
    });
    return columns_.empty() ? 0 : static_cast<double>(*std::max_element(columns_.begin(), columns_.end()));
  }
  template <typename Each>
  void each(const Matrix& m, Each&& each) const {
    for (uint32_t v = m.rows ? 0 : m.lo, n = m.rows ? m.n_rows : m.hi; v < n; ++v) each(row(m, v));
  }

  const ForestPlan& plan_;
  std::vector<uint64_t> columns_;
  double largest_ = 1;
};

// Of how many bytes are numbers of lines: where nodes reach so much that roots share most of it, and 32 or 64 bits hold every
// vector. 0 where roots are done one by one.
template <typename V>
int line_bytes(const ForestPlan& plan) {
  bool reaches = false;
  const auto plain = [&](int32_t k) { return k < 0 || plan.matrices[k].values.at == nullptr; };
  for (int k = 0; k < plan.n_nodes; ++k) {
    const ForestNode& at = plan.nodes[k];
    if (!plain(at.start) || !plain(at.link)) return 0;
    for (int j = 0; j < at.count && at.link >= 0; ++j) {  // what it is handed it hands on
      const ForestNode& child = plan.nodes[plan.children[at.first + j]];
      reaches = reaches || (child.count == 0 && pushed_by_rows(plan, child) >= kLeastPushed);
    }
  }
  if (!reaches) return 0;
  Bounds<V> bounds(plan);
  for (int k = 0; k < plan.n_tops; ++k) bounds.node(plan.tops[k], true);
  return bounds.largest() < 0x1p32 ? 4 : bounds.largest() < 0x1p63 ? 8 : 0;
}

template <typename Number, typename V>
bool by_lines(const ForestPlan& plan, const std::vector<uint32_t>& roots, int threads, V* out, Control* control) {
  using Block = Forest<Line<Number>, V>;
  Charge charge(control);
  const size_t held = static_cast<size_t>(threads) * Block::bytes(plan);
  if (held > kMostHeld || !charge.affords(held)) return false;
  charge.add(held);
  WorkQueue queue(control, roots.size(), Block::kRoots);
  check(deal(threads, queue, [&](int) {
    Block worker(plan, queue);
    for (uint64_t begin, end; queue.take(&begin, &end);)
      worker.block(roots.data() + begin, static_cast<uint32_t>(end - begin), out + begin);
  }));
  return true;
}

// Sums up around one root after the other, in 32 bits as long as those do.
template <typename V>
class OneByOne {
 public:
  OneByOne(const ForestPlan& plan, const std::vector<uint32_t>& roots, const WorkQueue& queue, V* out)
      : plan_(plan), roots_(roots), queue_(queue), out_(out), few_(plan, queue) {}

  static size_t bytes(const ForestPlan& plan) { return Forest<uint32_t, V>::bytes(plan) + Forest<V, V>::bytes(plan); }

  void root(uint32_t k) {
    if (left_ > 0) --left_;
    else if (fits(k)) return;
    if (!many_) many_.emplace(plan_, queue_);
    many_->block(roots_.data() + k, 1, out_ + k);
  }

 private:
  static constexpr int kNext = 16;  // roots after one that takes more bits are not tried in 32

  bool fits(uint32_t k) {
    try {
      few_.block(roots_.data() + k, 1, out_ + k);
      return true;
    } catch (const Halt& halt) {
      if (halt.status != kOverflow) throw;
      few_.reset();
      left_ = kNext;
      return false;
    }
  }

  const ForestPlan& plan_;
  const std::vector<uint32_t>& roots_;
  const WorkQueue& queue_;
  V* out_;
  Forest<uint32_t, V> few_;
  std::optional<Forest<V, V>> many_;
  int left_ = 0;
};

// out[k]: what is summed up around roots[k].
template <typename V>
void sums_around(const ForestPlan& plan, const std::vector<uint32_t>& roots, V* out, Control* control) {
  const int threads = threads_for(plan, control);
  const std::vector<uint32_t> heavy = choose_heavy(plan, roots);
  if (!heavy.empty() && around_by_heavy<V>(plan, heavy, roots, threads, out, control)) return;
  const int bytes = roots.size() < kLeastInBlocks ? 0 : line_bytes<V>(plan);
  if (bytes == 4 && by_lines<uint32_t>(plan, roots, threads, out, control)) return;
  if (bytes == 8 && by_lines<uint64_t>(plan, roots, threads, out, control)) return;
  Charge charge(control);
  charge.add(static_cast<size_t>(threads) * OneByOne<V>::bytes(plan));
  check(each_root(threads, control, roots.size(), kRoots,
                  [&](const WorkQueue& queue) { return OneByOne<V>(plan, roots, queue, out); }));
}

template <typename V>
void around(const ForestPlan& plan, V* out, Control* control) {
  const auto* own = static_cast<const V*>(plan.roots);
  Charge charge(control);
  charge.add(RootClasses::bytes(plan.n));
  const RootClasses classes(plan, control, [own](uint32_t u) { return own == nullptr || own[u] != 0; });
  charge.add(classes.firsts().size() * sizeof(V));
  std::vector<V> sums(classes.firsts().size());
  sums_around<V>(plan, classes.firsts(), sums.data(), control);
  for (uint32_t u = 0; u < plan.n; ++u) {
    const uint32_t k = classes.of(u);
    const V sum = k == RootClasses::kNone ? V{0} : sums[k];
    out[u] = own == nullptr ? sum : times(own[u], sum);
  }
}

}  // namespace
}  // namespace qe::eliminate

// out[u], for each of plan.n roots: plan.roots' number times the sums of the tops' vectors.
QE_API int32_t qe_rooted_forest(const qe::eliminate::ForestPlan* plan, int32_t wide, void* out, qe::Control* control) {
  return qe::eliminate::numbered(wide, [&](auto zero) {
    using V = decltype(zero);
    return qe::eliminate::guarded([&] { qe::eliminate::around<V>(*plan, static_cast<V*>(out), control); });
  });
}
