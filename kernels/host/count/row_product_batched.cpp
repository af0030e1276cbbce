// Elimination around many roots at once: the vectors of 16 roots (of 8 where 32 bits don't do) are kept side by side, a line
// of 64 bytes a vertex, so that a row of a link is read once for all of them.
//
// It pays where a node is pushed on from what another has reached: around most roots that is much of the graph, the same
// for all. Every number is bounded beforehand, by the greatest numbers of entries that a vertex has; sums are of 128 bits.
// Bytes moved: for each block the rows of what its roots reach, and a line for each of their entries, at random.
// Deterministic. Source: products with several vectors at once, Aktulga et al. 2014.
#include "count/row_product_batched.h"

#include "count/eliminate_root_classes.h"

namespace qe::eliminate {
namespace {

constexpr double kLeastPushed = 256;  // numbers that a root's first step pushes, on average
constexpr size_t kLine = 64;

template <typename Number>
struct alignas(kLine) Line {
  static constexpr size_t kRoots = kLine / sizeof(Number);
  Number of[kRoots];
};

// A line for each vertex; those that are not 0 are listed.
template <typename Number>
class Lines {
 public:
  explicit Lines(uint32_t n) : lines_(n), seen_(n, 0), touched_(n) {}

  // Before so many lines are added to: where they are many all are listed.
  void open(uint64_t additions) {
    whole_ = additions >= lines_.size();
    if (!whole_) return;
    for (size_t v = 0; v < lines_.size(); ++v) touched_[v] = static_cast<uint32_t>(v);
    n_ = lines_.size();
  }
  void add(const uint32_t* ids, const uint32_t* end, const Line<Number>& line) {
    constexpr ptrdiff_t kAhead = 8;
    const Line<Number> more = line;
    const auto raise = [&](Line<Number>& to) {
      for (size_t r = 0; r < Line<Number>::kRoots; ++r) to.of[r] += more.of[r];
    };
    if (!whole_) {
      for (; ids < end; ++ids) raise(touch(*ids));
      return;
    }
    Line<Number>* lines = lines_.data();
    for (; ids < end; ++ids) {
      if (end - ids > kAhead) __builtin_prefetch(lines + ids[kAhead], 1);
      raise(lines[*ids]);
    }
  }
  Line<Number>& touch(uint32_t v) {
    if (!seen_[v]) {
      seen_[v] = 1;
      touched_[n_++] = v;
    }
    return lines_[v];
  }
  const Line<Number>& operator[](uint32_t v) const { return lines_[v]; }
  Line<Number>& operator[](uint32_t v) { return lines_[v]; }
  const uint32_t* begin() const { return touched_.data(); }
  const uint32_t* end() const { return touched_.data() + n_; }
  void clear() {
    if (whole_) std::fill(lines_.begin(), lines_.end(), Line<Number>{});
    else
      for (const uint32_t v : *this) {
        lines_[v] = {};
        seen_[v] = 0;
      }
    n_ = 0;
    whole_ = false;
  }

 private:
  std::vector<Line<Number>> lines_;
  std::vector<uint8_t> seen_;
  std::vector<uint32_t> touched_;
  size_t n_ = 0;
  bool whole_ = false;
};

template <typename Number, typename V>
class BlockRoots {
 public:
  static constexpr uint32_t kRoots = Line<Number>::kRoots;

  BlockRoots(const ForestPlan& plan, const WorkQueue& queue) : plan_(plan), queue_(queue), pushed_(plan.n) {
    made_.reserve(static_cast<size_t>(plan.n_nodes));
    for (int k = 0; k < plan.n_nodes; ++k) made_.emplace_back(plan.n);
  }

  // Writes what is summed up around n roots, at most kRoots.
  void block(const uint32_t* roots, uint32_t n, V* out) {
    roots_ = roots;
    n_ = n;
    std::fill(out, out + n, V{1});
    for (int k = 0; k < plan_.n_tops;) {
      const int32_t top = plan_.tops[k];
      int repeats = 0;
      for (; k < plan_.n_tops && plan_.tops[k] == top; ++k) ++repeats;
      Wide sums[kRoots] = {};
      add_up(top, sums);
      for (uint32_t r = 0; r < n; ++r) {
        if (out[r] == 0) continue;
        if (sums[r] == 0) {
          out[r] = 0;
          continue;
        }
        const V sum = static_cast<V>(sums[r]);
        if (static_cast<Wide>(sum) != sums[r]) throw Halt{kOverflow};
        out[r] = times(out[r], power(sum, repeats));
      }
    }
  }

 private:
  const ForestNode& node(int32_t k) const { return plan_.nodes[k]; }

  // The sum of a node's vector, for each root.
  void add_up(int32_t k, Wide* sums) {
    const ForestNode& at = node(k);
    const int32_t* children = plan_.children + at.first;
    if (at.count == 2 && children[0] == children[1] && at.start < 0 && at.vector < 0) {
      push(children[0]);
      add_squares(sums);
      pushed_.clear();
      return;
    }
    make(k);
    Lines<Number>& made = made_[static_cast<size_t>(k)];
    for (const uint32_t v : made)
      for (uint32_t r = 0; r < kRoots; ++r) sums[r] += made[v].of[r];
    made.clear();
  }

  void add_squares(Wide* sums) {
    if constexpr (sizeof(Number) == 4) {
      uint64_t low[kRoots] = {}, high[kRoots] = {};  // halves of squares, of fewer than 2^32 numbers
      for (const uint32_t v : pushed_) {
        const Line<Number> line = pushed_[v];
        for (uint32_t r = 0; r < kRoots; ++r) {
          const uint64_t square = static_cast<uint64_t>(line.of[r]) * line.of[r];
          low[r] += square & 0xFFFFFFFF;
          high[r] += square >> 32;
        }
      }
      for (uint32_t r = 0; r < kRoots; ++r) sums[r] += low[r] + (static_cast<Wide>(high[r]) << 32);
    } else {
      for (const uint32_t v : pushed_)
        for (uint32_t r = 0; r < kRoots; ++r) sums[r] += static_cast<Wide>(pushed_[v].of[r]) * pushed_[v].of[r];
    }
  }

  // Makes a node's vectors; pushed_ is clear before and after.
  void make(int32_t k) {
    const ForestNode& at = node(k);
    Lines<Number>& made = made_[static_cast<size_t>(k)];
    if (at.count == 0) {
      spread(plan_.matrices[at.start], made);
    } else {
      const int32_t* children = plan_.children + at.first;
      for (int j = 0; j < at.count;) {
        const int32_t child = children[j];
        const int first = j;
        for (; j < at.count && children[j] == child; ++j) continue;
        push(child);
        if (first == 0) {
          std::swap(made, pushed_);
          raise(made, j);
        } else {
          meet(made, j - first);
        }
      }
      if (at.start >= 0) {
        spread(plan_.matrices[at.start], pushed_);
        meet(made, 1);
      }
    }
    if (at.vector < 0) return;
    const auto* factors = static_cast<const V*>(plan_.vectors[at.vector]);
    for (const uint32_t v : made)
      for (Number& number : made[v].of) number *= static_cast<Number>(factors[v]);
  }

  // Adds the roots' rows.
  void spread(const Matrix& m, Lines<Number>& to) {
    for (uint32_t r = 0; r < n_; ++r) {
      const Slice at = row(m, roots_[r]);
      for (uint64_t e = at.begin; e < at.end; ++e) ++to.touch(m.ids[e]).of[r];
    }
  }

  // Adds what a node hands on to pushed_.
  void push(int32_t child) {
    make(child);
    Lines<Number>& from = made_[static_cast<size_t>(child)];
    const Matrix& link = plan_.matrices[node(child).link];
    uint64_t steps = 0;
    for (const uint32_t v : from) {
      const Slice at = row(link, v);
      steps += at.end - at.begin;
    }
    pushed_.open(steps);
    steps = 0;
    for (const uint32_t v : from) {
      const Slice at = row(link, v);
      pushed_.add(link.ids + at.begin, link.ids + at.end, from[v]);
      if ((steps += at.end - at.begin) < 1 << 18) continue;
      steps = 0;
      queue_.poll();
    }
    from.clear();
  }

  static void raise(Lines<Number>& made, int exponent) {
    if (exponent == 1) return;
    for (const uint32_t v : made)
      for (Number& number : made[v].of) {
        const Number base = number;
        for (int k = 1; k < exponent; ++k) number *= base;
      }
  }

  // Multiplies by what is in pushed_, to some power, and clears that.
  void meet(Lines<Number>& made, int exponent) {
    raise(pushed_, exponent);
    for (const uint32_t v : made)
      for (uint32_t r = 0; r < kRoots; ++r) made[v].of[r] *= pushed_[v].of[r];
    pushed_.clear();
  }

  const ForestPlan& plan_;
  const WorkQueue& queue_;
  std::vector<Lines<Number>> made_;
  Lines<Number> pushed_;
  const uint32_t* roots_ = nullptr;
  uint32_t n_ = 0;
};

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
  double most_repeats(const Matrix& m) const {
    uint32_t most = 1;
    for (uint32_t v = m.lo; v < m.hi; ++v) {
      const Slice at = row(m, v);
      for (uint64_t e = at.begin + 1, same = 1; e < at.end; ++e) {
        same = m.ids[e] == m.ids[e - 1] ? same + 1 : 1;
        most = std::max(most, static_cast<uint32_t>(same));
      }
    }
    return most;
  }
  double most_in_a_column(const Matrix& m) {
    std::fill(columns_.begin(), columns_.end(), 0);
    for (uint64_t e = 0, n = entries_of(m); e < n; ++e) ++columns_[m.ids[e]];
    return columns_.empty() ? 0 : *std::max_element(columns_.begin(), columns_.end());
  }

  const ForestPlan& plan_;
  std::vector<uint32_t> columns_;
  double largest_ = 1;
};

template <typename Number, typename V>
Status run(const ForestPlan& plan, const std::vector<uint32_t>& roots, int threads, V* out, Control* control) {
  WorkQueue queue(control, roots.size(), BlockRoots<Number, V>::kRoots);
  return deal(threads, queue, [&](int) {
    BlockRoots<Number, V> worker(plan, queue);
    for (uint64_t begin, end; queue.take(&begin, &end);)
      worker.block(roots.data() + begin, static_cast<uint32_t>(end - begin), out + begin);
  });
}

}  // namespace

template <typename V>
BlockChoice choose_blocks(const ForestPlan& plan) {
  bool reaches = false;
  const auto plain = [&](int32_t k) { return k < 0 || plan.matrices[k].values.at == nullptr; };
  for (int k = 0; k < plan.n_nodes; ++k) {
    const ForestNode& at = plan.nodes[k];
    if (!plain(at.start) || !plain(at.link)) return {0, 0};
    for (int j = 0; j < at.count && at.link >= 0; ++j) {  // what it is handed it hands on
      const ForestNode& child = plan.nodes[plan.children[at.first + j]];
      reaches = reaches || (child.count == 0 && pushed_by_rows(plan, child) >= kLeastPushed);
    }
  }
  if (!reaches) return {0, 0};
  Bounds<V> bounds(plan);
  for (int k = 0; k < plan.n_tops; ++k) bounds.node(plan.tops[k], true);
  const int32_t bytes = bounds.largest() < 0x1p32 ? 4 : bounds.largest() < 0x1p63 ? 8 : 0;
  return {bytes, static_cast<uint64_t>(plan.n_nodes) + 1};
}

template <typename V>
Status row_product_batched(const ForestPlan& plan, BlockChoice choice, const std::vector<uint32_t>& roots, int threads, V* out,
                           Control* control) {
  return choice.bytes == 4 ? run<uint32_t>(plan, roots, threads, out, control)
                           : run<uint64_t>(plan, roots, threads, out, control);
}

template BlockChoice choose_blocks<Narrow>(const ForestPlan&);
template BlockChoice choose_blocks<Wide>(const ForestPlan&);
template Status row_product_batched<Narrow>(const ForestPlan&, BlockChoice, const std::vector<uint32_t>&, int, Narrow*, Control*);
template Status row_product_batched<Wide>(const ForestPlan&, BlockChoice, const std::vector<uint32_t>&, int, Wide*, Control*);

}  // namespace qe::eliminate
