// The matching order: which vertex is bound next.
//
// Left-deep orders by dynamic programming over connected sub-patterns: the cheapest way to go on depends on the set of
// bound vertices alone (and, for what is only counted, on which component of the rest is counted). Patterns of more
// than twelve vertices are ordered greedily with a look-ahead of one step, their small components exactly; simpler rules
// give orders to compare with, and are all that there is for patterns of more than 64. (Selinger et al. 1979; Moerkotte and Neumann 2006 for connected subsets; order_model.h
// for what is minimised.)
//
// What a count by the first vertex and another costs depends on which is first, for such counts are all kept: where an
// order is dear, the best ones that begin with each vertex are compared.
//
// Preconditions: at most kMaxOrdered vertices, masks and numbers within them. Deterministic. Takes some milliseconds at
// most for up to 64 vertices, then in about the square of their number, 0.2 s for 1,000; polls nothing. Recursion is as
// deep as there are vertices, for more than 64 on a stack of its own.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <type_traits>

#include "base/deep_stack.h"
#include "order/order_model.h"
#include "qe/abi.h"

namespace qe {
namespace {

constexpr int kExact = 12;        // vertices to order up to which every connected order is considered
constexpr int kSmall = 5;         // vertices of a component that a greedy order still orders exactly
constexpr int kStarts = 3;        // first vertices that a greedy order tries
constexpr int kSimpleStarts = 3;  // first vertices from which simpler rules are followed
constexpr int kPromising = 5;     // vertices, those cheapest to bind next, whose successors a greedy order looks at
constexpr double kWorthRoots = 5e7;  // nanoseconds that an order must cost for orders from each vertex to be looked at
constexpr double kInfinite = std::numeric_limits<double>::infinity();

// Vertices in a row: in place where there are at most 64, else on the heap.
template <int kCapacity>
class Row {
 public:
  using Number = uint8_t;

  void push_back(int vertex) { data_[n_++] = static_cast<Number>(vertex); }
  void append(const Number* begin, const Number* end) { n_ = static_cast<int>(std::copy(begin, end, data_ + n_) - data_); }
  const Number* begin() const { return data_; }
  const Number* end() const { return data_ + n_; }

 private:
  static_assert(kCapacity <= 256);
  int n_ = 0;
  Number data_[kCapacity];
};

template <>
class Row<kMaxOrdered> {
 public:
  using Number = uint16_t;

  void push_back(int vertex) { data_.push_back(static_cast<Number>(vertex)); }
  void append(const Number* begin, const Number* end) { data_.insert(data_.end(), begin, end); }
  const Number* begin() const { return data_.data(); }
  const Number* end() const { return data_.data() + data_.size(); }

 private:
  std::vector<Number> data_;
};

// Vertices in the order of binding, and what it costs.
template <class Set>
struct Path {
  double cost = 0.0;
  Row<Set::kCapacity> vertices;

  void add(int vertex) { vertices.push_back(vertex); }
  void add(const Path& other) { vertices.append(other.vertices.begin(), other.vertices.end()); }
  void add_all(const Set& part) {
    for_each(part, [&](int vertex) { add(vertex); });
  }
};

template <class Set>
Path<Set> all_of(const Set& part, double cost) {
  Path<Set> path;
  path.cost = cost;
  path.add_all(part);
  return path;
}

// The best paths that were found, by a set and another or a number; their vertices stand one after the other in one array.
template <class Set, class Second>
class Paths {
 public:
  bool find(const Set& bound, const Second& part, Path<Set>& path) const {
    const Kept* kept = table_.find(bound, part);
    if (kept == nullptr) return false;
    path.cost = kept->cost;
    path.vertices.append(vertices_.data() + kept->begin, vertices_.data() + kept->end);
    return true;
  }

  void put(const Set& bound, const Second& part, const Path<Set>& path) {
    const std::size_t begin = vertices_.size();
    vertices_.insert(vertices_.end(), path.vertices.begin(), path.vertices.end());
    table_.put(bound, part, {path.cost, begin, vertices_.size()});
  }

 private:
  struct Kept {
    double cost;
    std::size_t begin, end;
  };
  SetTable<Set, Second, Kept> table_;
  std::vector<typename Row<Set::kCapacity>::Number> vertices_;
};

// Finds an order: of sets up to `exact` vertices the best, of larger ones greedily; or follows one given, by each
// vertex's place in it. Sub-patterns that alone cost as much as `limit` are not looked into.
template <class Set>
class Orderer {
 public:
  using Path = qe::Path<Set>;

  Orderer(OrderModel<Set>& model, int exact, double limit = kInfinite, const int* place = nullptr, bool wanted_first = false)
      : model_(model), exact_(exact), limit_(limit), place_(place), wanted_first_(wanted_first) {}

  Path order() { return walk(model_.given); }

 private:
  // ------------------------------------------------------------ what makes rows

  // The cost of going on from a set of bound vertices, and the vertices in order.
  Path walk(const Set& bound) {
    const OrderProblem& problem = model_.problem;
    const Set rest = model_.all - bound;
    if (rest.empty() || (problem.counted && bound.contains(model_.wanted))) {
      Path path = count_all(bound, rest);
      if (model_.wanted || !problem.counted) path.cost += model_.constants.row * model_.rows(bound);
      return path;
    }
    Path path;
    if (!walked_.find(bound, 1, path)) {
      path = walk_on(bound, rest);
      walked_.put(bound, 1, path);
    }
    return path;
  }

  Path walk_on(const Set& bound, const Set& rest) {
    const double rows = model_.rows(bound);
    Path best = all_of(rest, kInfinite);
    if (rows * model_.constants.locate >= limit_) return best;
    const Set wanted = wanted_first_ ? model_.wanted & rest : Set{};
    int choices[kExact];
    const int n = choose(bound, wanted ? wanted : rest, rows, choices);
    for (int k = 0; k < n; ++k) {
      const double taken = own(bound, choices[k], rows);
      if (taken >= best.cost) continue;
      const Path more = walk(bound | Set::of(choices[k]));
      if (taken + more.cost < best.cost) best = before(choices[k], taken, more);
    }
    return best;
  }

  static Path before(int vertex, double cost, const Path& more) {
    Path path;
    path.cost = cost + more.cost;
    path.add(vertex);
    path.add(more);
    return path;
  }

  // ------------------------------------------------------------ what is only counted

  Path count_all(const Set& bound, Set rest) {
    Path path;
    const double calls = model_.rows(bound);
    while (rest) {
      const Set part = model_.component(rest);
      rest -= part;
      path.cost += calls * model_.entry(bound, part);
      if (model_.is_plain(bound, part)) {
        path.add_all(part);
        continue;
      }
      const Path inner = count(bound, part);
      path.cost += inner.cost;
      path.add(inner);
    }
    return path;
  }

  // The cost of counting a component below some bound vertices, over the whole search.
  Path count(const Set& bound, const Set& part) {
    Path path;
    if (!counted_.find(bound, part, path)) {
      path = count_on(bound, part);
      counted_.put(bound, part, path);
    }
    return path;
  }

  Path count_on(const Set& bound, const Set& part) {
    const double times = model_.times(bound, part);
    const double formula = model_.formula(bound, part);
    if (formula != kNoCost) return all_of(part, times * formula);
    Path best = all_of(part, kInfinite);
    if (times * model_.constants.locate >= limit_) return best;
    int choices[kExact];
    const int n = choose(bound, part, times, choices);
    for (int k = 0; k < n; ++k) {
      const Path found = branch(bound, part, choices[k], best.cost);
      if (found.cost < best.cost) best = found;
    }
    return best;
  }

  // The cost of counting a component vertex by vertex of its first one; infinite from `limit` on.
  Path branch(const Set& bound, const Set& part, int vertex, double limit) {
    const double times = model_.times(bound, part);
    const typename OrderModel<Set>::Step step = model_.step(bound, vertex);
    const Set inner = bound | Set::of(vertex);
    Set rest = part - Set::of(vertex);
    Path path;
    path.cost = times * (step.cost + step.size * model_.constants.bind);
    const double wedge = model_.wedge(bound, part, vertex);
    if (wedge != kNoCost)
      return branch_or_wedge(bound, part, vertex, times * wedge,
                             path.cost + times * step.size * model_.entry(inner, rest));
    path.add(vertex);
    while (rest) {
      const Set child = model_.component(rest);
      rest -= child;
      if (path.cost >= limit) {
        path.cost = kInfinite;
        return path;
      }
      path.cost += times * step.size * model_.entry(inner, child, Set::of(vertex));
      if (model_.is_plain(inner, child)) {
        path.add_all(child);
        continue;
      }
      const double formula = model_.formula(inner, child, Set::of(vertex));
      if (formula != kNoCost) {
        path.cost += model_.times(inner, child) * formula;
        path.add_all(child);
        continue;
      }
      const Path below = count(inner, child);
      path.cost += below.cost;
      path.add(below);
    }
    return path;
  }

  // Chooses between the two orders below `first`: the wedge binds the vertex that closes the square last.
  Path branch_or_wedge(const Set& bound, const Set& part, int first, double wedge, double branched) {
    const int last = (model_.adjacent[first] & part).last();
    const int second = (part - Set::of(first) - Set::of(last)).last();
    Path by_wedge;
    by_wedge.cost = wedge;
    for (const int vertex : {first, second, last}) by_wedge.add(vertex);
    if (place_ != nullptr && place_[second] < place_[last]) return by_wedge;
    const Path other = before(first, branched, branch(bound | Set::of(first), part - Set::of(first), last, kInfinite));
    return place_ != nullptr || other.cost < wedge ? other : by_wedge;
  }

  // ------------------------------------------------------------ choices

  // Writes the vertices of `part` to try next, at most kExact, linked ones where there are any; returns how many.
  int choose(const Set& bound, const Set& part, double times, int* choices) {
    if (place_ != nullptr) {
      choices[0] = part.first();
      for_each(part, [&](int vertex) {
        if (place_[vertex] < place_[choices[0]]) choices[0] = vertex;
      });
      return 1;
    }
    if (bound.empty() && part.contains(model_.root) && model_.root) {
      choices[0] = model_.root.first();
      return 1;
    }
    int n = 0;
    const Set linked = part & model_.near(bound);
    const Set from = linked ? linked : part;
    if (part.size() <= exact_ || from.size() == 1) {
      for_each(from, [&](int vertex) { choices[n++] = vertex; });
      return n;
    }
    ranked_.clear();
    for_each(from, [&](int vertex) {
      ranks_[vertex] = own(bound, vertex, times);
      ranked_.push_back(vertex);
    });
    const auto by_rank = [&](int some, int other) { return ranks_[some] < ranks_[other]; };
    std::stable_sort(ranked_.begin(), ranked_.end(), by_rank);
    if (ranked_.size() > kPromising) ranked_.resize(kPromising);
    std::sort(ranked_.begin(), ranked_.end());
    for (const int vertex : ranked_) ranks_[vertex] = promise(bound, part, vertex, times);
    std::stable_sort(ranked_.begin(), ranked_.end(), by_rank);
    n = std::min(static_cast<int>(ranked_.size()), bound == model_.given ? kStarts : 1);
    std::copy_n(ranked_.begin(), n, choices);
    return n;
  }

  double own(const Set& bound, int vertex, double times) {
    const typename OrderModel<Set>::Step step = model_.step(bound, vertex);
    return times * (step.cost + step.size * model_.constants.bind);
  }

  // The cost of binding a vertex and then the best next one of each component that this leaves.
  double promise(const Set& bound, const Set& part, int vertex, double times) {
    const Set after = bound | Set::of(vertex);
    double promised = own(bound, vertex, times);
    for (Set rest = part - Set::of(vertex); rest;) {
      const Set child = model_.component(rest);
      rest -= child;
      const Set linked = child & model_.adjacent[vertex];
      double least = kInfinite;
      for_each(linked ? linked : child, [&](int other) { least = std::min(least, own(after, other, 1.0)); });
      promised += model_.times(after, child) * least;
    }
    return promised;
  }

  OrderModel<Set>& model_;
  const int exact_;
  const double limit_;
  const int* const place_;
  const bool wanted_first_;
  std::vector<int> ranked_;  // scratch of choose
  double ranks_[Set::kCapacity];
  Paths<Set, Set> counted_;
  Paths<Set, int> walked_;
};

// Small patterns are solved by tables of sub-patterns; of large ones only orders are looked at.
template <class Set>
constexpr bool is_large() {
  return Set::kCapacity > 64;
}

template <class Set>
const Path<Set>& cheaper(const Path<Set>& some, const Path<Set>& other) {
  return other.cost < some.cost ? other : some;
}

// Whether an order of n vertices that costs so much is looked at with what is known where it begins.
template <class Set>
bool is_rooted(const OrderModel<Set>& model, int n, double cost) {
  const bool matters = model.constants.tabled && model.problem.counted && !model.wanted && model.given.empty();
  return matters && n > kSmall && n <= kExact && cost > kWorthRoots;
}

template <class Set>
Path<Set> follow(OrderModel<Set>& model, const int* order, int n) {
  std::vector<int> place(model.adjacent.size());
  for (int k = 0; k < n; ++k) place[order[k]] = k;
  if (is_large<Set>()) model.number_by(order, n);
  Path<Set> found = Orderer<Set>(model, 0, kInfinite, place.data()).order();
  if (!is_rooted(model, n, found.cost)) return found;
  model.root = Set::of(order[0]);
  found = cheaper(found, Orderer<Set>(model, 0, kInfinite, place.data()).order());
  model.root = Set{};
  return found;
}

// Follows the free vertices, linked ones first, by the least rank given what is bound by then; those of `first` before the
// others. Ranks of large patterns' vertices are found again only where a neighbour was bound.
template <class Set, class Rank>
Path<Set> by_rule(OrderModel<Set>& model, int start, const Set& first, Rank&& rank) {
  std::vector<int> order;
  std::vector<std::pair<double, double>> ranks(model.adjacent.size());
  Set bound = model.given, near = model.near(bound), known;
  for (int vertex = start;;) {
    order.push_back(vertex);
    bound.add(vertex);
    near |= model.adjacent[vertex];
    known = is_large<Set>() ? known - model.adjacent[vertex] : Set{};
    Set rest = model.all - bound;
    if (rest.empty()) return follow(model, order.data(), static_cast<int>(order.size()));
    if (first.meets(rest)) rest &= first;
    const Set linked = near & rest;
    std::pair<double, double> least{kInfinite, kInfinite};
    for_each(linked ? linked : rest, [&](int each) {
      if (!known.has(each)) ranks[each] = rank(bound, each);
      known.add(each);
      if (ranks[each] < least) least = ranks[each], vertex = each;
    });
  }
}

// The best of the orders that bind next the vertex with most edges to bound ones, or that which leaves fewest rows.
//
// The first closes circles before it leaves a dense part (RI, Bonnici et al. 2013), where looking one step ahead sees
// only that a path is cheaper to follow; it doesn't depend on estimates. The first order of at most `cheap` is taken.
// With `wanted_first` what is to be emitted is bound before the rest.
template <class Set>
Path<Set> by_simple_rules(OrderModel<Set>& model, double cheap, bool wanted_first) {
  const OrderProblem& problem = model.problem;
  const Set first = wanted_first ? model.wanted - model.given : Set{};
  std::vector<int> rarest;
  std::vector<double> rarity(model.adjacent.size());
  for_each(first ? first : model.all - model.given, [&](int vertex) {
    rarity[vertex] = problem.candidates[vertex] / (1 + model.adjacent[vertex].size());
    rarest.push_back(vertex);
  });
  std::stable_sort(rarest.begin(), rarest.end(), [&](int some, int other) { return rarity[some] < rarity[other]; });
  if (rarest.size() > kSimpleStarts) rarest.resize(kSimpleStarts);
  Path<Set> best;
  best.cost = kInfinite;
  const auto closing = [&](const Set& bound, int each) -> std::pair<double, double> {
    return {-(model.adjacent[each] & bound).size(), -model.adjacent[each].size()};
  };
  const auto fewest = [&](const Set& bound, int each) -> std::pair<double, double> {
    const typename OrderModel<Set>::Step step = model.step(bound, each);
    return {step.size, step.cost};
  };
  for (const int start : rarest) {
    for (const bool closes : {true, false}) {
      const Path<Set> found = closes ? by_rule(model, start, first, closing) : by_rule(model, start, first, fewest);
      if (found.cost < best.cost) best = found;
      if (best.cost <= cheap) return best;
    }
  }
  return best;
}

// The cheapest of an order and the best ones that begin with each vertex: then more is known of what is kept.
template <class Set>
Path<Set> by_root(OrderModel<Set>& model, Path<Set> best) {
  for_each(model.all, [&](int vertex) {
    model.root = Set::of(vertex);
    best = cheaper(best, Orderer<Set>(model, kExact, best.cost).order());
  });
  model.root = Set{};
  return best;
}

// The cheapest order of the vertices that aren't bound: exact up to kExact of them.
template <class Set>
Path<Set> best_order(OrderModel<Set>& model, double cheap) {
  const OrderProblem& problem = model.problem;
  const int free = (model.all - model.given).size();
  const bool emits = problem.counted && model.wanted;
  if (free <= kSmall) return Orderer<Set>(model, kExact).order();
  Path<Set> found;
  found.cost = kInfinite;
  if (free > kExact) {
    found = by_simple_rules(model, cheap, false);
    if (found.cost <= cheap) return found;
  }
  if (free > kExact && is_large<Set>()) return emits ? cheaper(found, by_simple_rules(model, cheap, true)) : found;
  found = cheaper(Orderer<Set>(model, kSmall).order(), found);
  if (free <= kExact) {
    found = cheaper(found, Orderer<Set>(model, kExact, found.cost).order());
    return is_rooted(model, free, found.cost) ? by_root(model, found) : found;
  }
  return emits ? cheaper(found, Orderer<Set>(model, kSmall, kInfinite, nullptr, true).order()) : found;
}

// A model of either size, and the orders by it.
class Ordering {
 public:
  virtual ~Ordering() = default;
  virtual double best(double cheap, int32_t* order) = 0;
  virtual double cost(const int32_t* order, int n) = 0;
  virtual double rows(const uint64_t* part) = 0;
};

template <class Set>
class OrderingOf final : public Ordering {
 public:
  OrderingOf(const OrderProblem& problem, const OrderConstants& constants) : model_(problem, constants) {}

  double best(double cheap, int32_t* order) override {
    return computed([&] {
      const Path<Set> path = best_order(model_, cheap);
      const int32_t* end = std::copy(path.vertices.begin(), path.vertices.end(), order);
      if (is_large<Set>()) model_.number_by(order, static_cast<int>(end - order));
      return path.cost;
    });
  }

  double cost(const int32_t* order, int n) override {
    return computed([&] { return follow(model_, order, n).cost; });
  }

  double rows(const uint64_t* part) override {
    return computed([&] { return model_.rows(Set::from(part)); });
  }

 private:
  template <class Compute>
  static double computed(Compute&& compute) {
    if (!is_large<Set>()) return compute();
    double found = 0.0;
    run_deep([&] { found = compute(); });
    return found;
  }

  OrderModel<Set> model_;
};

// Has `use` take a new model of a problem; returns a status.
template <class Use>
int32_t with_model(const OrderProblem& problem, const OrderConstants& constants, Use&& use) {
  const bool small = problem.words == 1;
  if (problem.count > (small ? 64 : kMaxOrdered) || (!small && problem.words != kMaxOrdered / 64)) return kInvalid;
  try {
    std::unique_ptr<Ordering> made;
    if (small) made = std::make_unique<OrderingOf<Bits<1>>>(problem, constants);
    else made = std::make_unique<OrderingOf<Bits<kMaxOrdered / 64>>>(problem, constants);
    use(std::move(made));
    return kOk;
  } catch (...) {
    return kOutOfMemory;
  }
}

}  // namespace
}  // namespace qe

// Opens a model of a problem; both structs and what they point to must live until it is closed.
QE_API int32_t qe_order_open(const qe::OrderProblem* problem, const qe::OrderConstants* constants, void** model) {
  return qe::with_model(*problem, *constants, [&](auto made) { *model = made.release(); });
}

// Writes the vertices that aren't bound, in the order that costs least, its cost in nanoseconds, and the expected
// embeddings of the set `part`. An order that costs at most `cheap` is good enough: looking for a better one would take
// longer.
QE_API int32_t qe_order_solve(const qe::OrderProblem* problem, const qe::OrderConstants* constants, double cheap,
                              const uint64_t* part, int32_t* order, double* cost, double* rows) {
  return qe::with_model(*problem, *constants, [&](auto made) {
    *cost = made->best(cheap, order);
    *rows = made->rows(part);
  });
}

// Writes what the order `given` of the n vertices that aren't bound costs.
QE_API int32_t qe_order_price(const qe::OrderProblem* problem, const qe::OrderConstants* constants,
                              const int32_t* given, int32_t n, double* cost) {
  return qe::with_model(*problem, *constants, [&](auto made) { *cost = made->cost(given, n); });
}

QE_API void qe_order_close(void* model) { delete static_cast<qe::Ordering*>(model); }

// Writes the expected embeddings of the sub-pattern over a set of vertices.
QE_API int32_t qe_order_rows(void* model, const uint64_t* part, double* rows) {
  try {
    *rows = static_cast<qe::Ordering*>(model)->rows(part);
    return qe::kOk;
  } catch (...) {
    return qe::kOutOfMemory;
  }
}
