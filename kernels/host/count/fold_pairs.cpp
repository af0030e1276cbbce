// Values at the far end of pairs, by groups of roots: of the vertices v that the roots of a group have a count for
// (pair_rows.h), how many different classes there are, the least and the greatest.
//
// A worker takes a group at a time and goes through its roots' rows, which are not kept; each class is stamped with the
// group that has met it last. Bytes moved: those of the rows, and 8 a pair. Where each root is a group, and rows are one
// vector but for a number at the root itself, roots that reach the same (eliminate_root_classes.h) have one row made for
// all of them; each then looks at its own place in it. The same for every number of threads.
#include <algorithm>
#include <vector>

#include "count/eliminate_root_classes.h"
#include "count/pair_rows.h"

namespace qe::eliminate {

constexpr uint64_t kRootsAtOnce = 16;     // between two looks whether to stop: a row may be as long as there are vertices
constexpr uint32_t kNoClass = UINT32_MAX;  // of a vertex whose value is null

// groups: n_groups + 1 places in roots, where the roots of each begin. classes: of each of n vertices, below n_classes.
// For each group: how many classes, the least (kNoClass for none), and the greatest (0 for none).
struct PairFold {
  const PairTerm* terms;
  const uint32_t* roots;
  const uint64_t* groups;
  const uint32_t* classes;
  uint64_t* distinct;
  uint32_t* least;
  uint32_t* greatest;
  uint64_t n_groups;
  uint32_t n_classes;
  uint32_t n;
  int32_t n_terms;
  int32_t unused;
};

namespace {

// What a row meets: how often each class, and how many; the two least and the two greatest, in case one is left out.
class Meetings {
 public:
  explicit Meetings(uint32_t n_classes) : times_(n_classes, 0), stamps_(n_classes, kNone) {}

  static size_t bytes(uint32_t n_classes) { return n_classes * 2 * sizeof(uint32_t); }

  void clear() {
    ++turn_;
    distinct_ = 0;
    least_[0] = least_[1] = kNoClass;
    greatest_[0] = greatest_[1] = 0;
  }
  void add(uint32_t value) {
    if (stamps_[value] == turn_) {
      ++times_[value];
      return;
    }
    stamps_[value] = turn_;
    times_[value] = 1;
    ++distinct_;
    least_[1] = std::min(least_[1], std::max(least_[0], value));
    least_[0] = std::min(least_[0], value);
    greatest_[1] = distinct_ == 1 ? 0 : std::max(greatest_[1], std::min(greatest_[0], value));
    greatest_[0] = std::max(greatest_[0], value);
  }
  uint32_t times(uint32_t value) const { return stamps_[value] == turn_ ? times_[value] : 0; }

  // Writes that one class is met, or none.
  static void only(const PairFold& task, uint64_t group, uint32_t value) {
    task.distinct[group] = value != kNoClass;
    task.least[group] = value;
    task.greatest[group] = value == kNoClass ? 0 : value;
  }
  // Writes what is met, less one class, or with one more, if any (kNoClass: none).
  void write(const PairFold& task, uint64_t group, uint32_t less, uint32_t more) const {
    const bool fewer = less != kNoClass;
    uint32_t least = least_[fewer && less == least_[0]];
    uint32_t greatest = greatest_[fewer && less == greatest_[0]];
    if (more != kNoClass) {
      least = std::min(least, more);
      greatest = std::max(greatest, more);
    }
    task.distinct[group] = distinct_ - fewer + (more != kNoClass);
    task.least[group] = least;
    task.greatest[group] = greatest;
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  std::vector<uint32_t> times_, stamps_;
  uint32_t turn_ = kNone;
  uint64_t distinct_ = 0;
  uint32_t least_[2] = {}, greatest_[2] = {};
};

// The groups of the roots of each class, and which they are.
struct Alike {
  std::vector<uint64_t> begins;
  std::vector<uint32_t> groups;

  Alike(const PairFold& task, const RootClasses& classes) : begins(classes.firsts().size() + 1), groups(task.n_groups) {
    for (uint64_t g = 0; g < task.n_groups; ++g) ++begins[classes.of(task.roots[g]) + 1];
    for (size_t k = 1; k < begins.size(); ++k) begins[k] += begins[k - 1];
    std::vector<uint64_t> next(begins.begin(), begins.end() - 1);
    for (uint64_t g = 0; g < task.n_groups; ++g) groups[next[classes.of(task.roots[g])]++] = static_cast<uint32_t>(g);
  }
};

// Each root is a group, and rows are alone.
template <typename V>
void fold_alike(const PairFold& task, const ForestPlan& plan, Control* control) {
  Charge charge(control);
  charge.add(RootClasses::bytes(plan.n) + plan.n + task.n_groups * (sizeof(uint64_t) + sizeof(uint32_t)) * 2);
  std::vector<bool> asked(plan.n);
  for (uint64_t g = 0; g < task.n_groups; ++g) asked[task.roots[g]] = true;
  const RootClasses classes(plan, control, [&](uint32_t u) { return asked[u]; });
  const Alike alike(task, classes);
  const uint64_t n_classes = classes.firsts().size();
  const auto threads = static_cast<int>(std::min<uint64_t>(control->threads, std::max<uint64_t>(n_classes, 1)));
  WorkQueue queue(control, n_classes, 1);
  charge.add(static_cast<size_t>(threads) * (PairRows<V>::bytes(task.terms, task.n_terms, task.n) +
                                             Meetings::bytes(task.n_classes) + plan.n * sizeof(Signed)));
  const Status status = deal(threads, queue, [&](int) {
    PairRows<V> rows(task.terms, task.n_terms, task.n, queue);
    Meetings met(task.n_classes);
    std::vector<Signed> numbers(plan.n, Signed{0});
    for (uint64_t k, after; queue.take(&k, &after);) {
      if (k % kRootsAtOnce == 0) queue.poll();
      met.clear();
      const Sparse<V>& made = rows.vector(classes.firsts()[k]);
      for (size_t i = 0; i < made.n; ++i) {
        const uint32_t v = made.members()[i];
        if (made.number(i) == 0) continue;
        if (numbers[v] == 0 && task.classes[v] != kNoClass) met.add(task.classes[v]);
        numbers[v] = plus(numbers[v], PairRows<V>::product(Signed{1}, made.number(i)));
      }
      for (uint64_t m = alike.begins[k]; m < alike.begins[k + 1]; ++m) {
        const uint32_t group = alike.groups[m], u = task.roots[group], own = task.classes[u];
        const auto [scaled, at_root] = rows.scales(u);
        if (scaled < 0) throw Halt{kInvalid};
        const Signed sum = plus(times(scaled, numbers[u]), at_root);
        if (sum < 0) throw Halt{kInvalid};
        if (scaled == 0) {
          Meetings::only(task, group, sum > 0 ? own : kNoClass);
          continue;
        }
        const bool counts = own != kNoClass, was = numbers[u] != 0;
        met.write(task, group, counts && was && sum == 0 && met.times(own) == 1 ? own : kNoClass,
                  counts && !was && sum > 0 && met.times(own) == 0 ? own : kNoClass);
      }
      for (size_t i = 0; i < made.n; ++i) numbers[made.members()[i]] = 0;
    }
  });
  check(status);
}

template <typename V>
void fold(const PairFold& task, Control* control) {
  const ForestPlan* const alone = PairRows<V>::alone_in(task.terms, task.n_terms);
  if (alone != nullptr && task.groups[task.n_groups] == task.n_groups) return fold_alike<V>(task, *alone, control);
  const auto threads = static_cast<int>(std::min<uint64_t>(control->threads, std::max<uint64_t>(task.n_groups, 1)));
  WorkQueue queue(control, task.n_groups, 1);
  Charge charge(control);
  charge.add(static_cast<size_t>(threads) *
             (PairRows<V>::bytes(task.terms, task.n_terms, task.n) + task.n_classes * sizeof(uint64_t)));
  const Status status = deal(threads, queue, [&](int) {
    PairRows<V> rows(task.terms, task.n_terms, task.n, queue);
    std::vector<uint64_t> met(task.n_classes, UINT64_MAX);
    for (uint64_t group, after; queue.take(&group, &after);) {
      uint64_t distinct = 0;
      uint32_t least = kNoClass, greatest = 0;
      for (uint64_t r = task.groups[group]; r < task.groups[group + 1]; ++r) {
        if (r % kRootsAtOnce == 0) queue.poll();
        rows.ends(task.roots[r], [&](uint32_t end) {
          const uint32_t value = task.classes[end];
          if (value == kNoClass || met[value] == group) return;
          met[value] = group;
          ++distinct;
          least = std::min(least, value);
          greatest = std::max(greatest, value);
        });
      }
      task.distinct[group] = distinct;
      task.least[group] = least;
      task.greatest[group] = greatest;
    }
  });
  check(status);
}

}  // namespace
}  // namespace qe::eliminate

QE_API int32_t qe_fold_pairs(const qe::eliminate::PairFold* task, int32_t wide, qe::Control* control) {
  return qe::eliminate::numbered(wide, [&](auto zero) {
    return qe::eliminate::guarded([&] { qe::eliminate::fold<decltype(zero)>(*task, control); });
  });
}
