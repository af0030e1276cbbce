// The matching order: which vertex is bound next.
//
// Left-deep orders by dynamic programming over connected sub-patterns: the cheapest way to go on depends on the set of
// bound vertices alone (and, for what is only counted, on which component of the rest is counted). Patterns of more
// than ten vertices are ordered greedily with a look-ahead of one step, their small components exactly; simpler rules
// give orders to compare with. (Selinger et al. 1979; Moerkotte and Neumann 2006 for connected subsets; order_model.h
// for what is minimised.)
//
// Preconditions: at most kMaxOrdered vertices, masks and numbers within them. Deterministic. Takes some milliseconds at
// most, and polls nothing.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "order_model.h"
#include "qe/abi.h"

namespace qe {
namespace {

constexpr int kExact = 10;        // vertices to order up to which every connected order is considered
constexpr int kSmall = 5;         // vertices of a component that a greedy order still orders exactly
constexpr int kStarts = 3;        // first vertices that a greedy order tries
constexpr int kSimpleStarts = 3;  // first vertices from which simpler rules are followed
constexpr int kPromising = 5;     // vertices, those cheapest to bind next, whose successors a greedy order looks at
constexpr double kInfinite = std::numeric_limits<double>::infinity();

// Vertices in the order of binding, and what it costs.
struct Path {
  double cost = 0.0;
  int n = 0;
  uint8_t vertices[kMaxOrdered];

  void add(int vertex) { vertices[n++] = static_cast<uint8_t>(vertex); }
  void add(const Path& other) {
    std::copy(other.vertices, other.vertices + other.n, vertices + n);
    n += other.n;
  }
  void add_all(uint64_t part) {
    for_each(part, [&](int vertex) { add(vertex); });
  }
};

Path all_of(uint64_t part, double cost) {
  Path path;
  path.cost = cost;
  path.add_all(part);
  return path;
}

// The best paths that were found, by two sets; their vertices stand one after the other in one array.
class Paths {
 public:
  bool find(uint64_t bound, uint64_t part, Path& path) const {
    const Kept* kept = table_.find(bound, part);
    if (kept == nullptr) return false;
    path.cost = kept->cost;
    path.n = kept->n;
    std::copy_n(vertices_.data() + kept->begin, kept->n, path.vertices);
    return true;
  }

  void put(uint64_t bound, uint64_t part, const Path& path) {
    table_.put(bound, part, {path.cost, static_cast<uint32_t>(vertices_.size()), path.n});
    vertices_.insert(vertices_.end(), path.vertices, path.vertices + path.n);
  }

 private:
  struct Kept {
    double cost;
    uint32_t begin;
    int32_t n;
  };
  SetTable<Kept> table_;
  std::vector<uint8_t> vertices_;
};

// Finds an order: of sets up to `exact` vertices the best, of larger ones greedily; or follows one given, by each
// vertex's place in it. Sub-patterns that alone cost as much as `limit` are not looked into.
class Orderer {
 public:
  Orderer(OrderModel& model, int exact, double limit = kInfinite, const int* place = nullptr, bool wanted_first = false)
      : model_(model), exact_(exact), limit_(limit), place_(place), wanted_first_(wanted_first) {}

  Path order() { return walk(model_.problem.bound); }

 private:
  // ------------------------------------------------------------ what makes rows

  // The cost of going on from a set of bound vertices, and the vertices in order.
  Path walk(uint64_t bound) {
    const OrderProblem& problem = model_.problem;
    const uint64_t rest = model_.all & ~bound;
    if (rest == 0 || (problem.counted && (problem.wanted & ~bound) == 0)) {
      Path path = count_all(bound, rest);
      if (problem.wanted != 0 || !problem.counted) path.cost += model_.constants.row * model_.rows(bound);
      return path;
    }
    Path path;
    if (!walked_.find(bound, 1, path)) {
      path = walk_on(bound, rest);
      walked_.put(bound, 1, path);
    }
    return path;
  }

  Path walk_on(uint64_t bound, uint64_t rest) {
    const double rows = model_.rows(bound);
    Path best = all_of(rest, kInfinite);
    if (rows * model_.constants.locate >= limit_) return best;
    const uint64_t wanted = wanted_first_ ? model_.problem.wanted & rest : 0;
    int choices[kMaxOrdered];
    const int n = choose(bound, wanted != 0 ? wanted : rest, rows, choices);
    for (int k = 0; k < n; ++k) {
      const double taken = own(bound, choices[k], rows);
      if (taken >= best.cost) continue;
      const Path more = walk(bound | one(choices[k]));
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

  Path count_all(uint64_t bound, uint64_t rest) {
    Path path;
    const double calls = model_.rows(bound);
    while (rest != 0) {
      const uint64_t part = model_.component(rest);
      rest &= ~part;
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
  Path count(uint64_t bound, uint64_t part) {
    Path path;
    if (!counted_.find(bound, part, path)) {
      path = count_on(bound, part);
      counted_.put(bound, part, path);
    }
    return path;
  }

  Path count_on(uint64_t bound, uint64_t part) {
    const double times = model_.times(bound, part);
    const double formula = model_.formula(bound, part);
    if (formula != kNoCost) return all_of(part, times * formula);
    Path best = all_of(part, kInfinite);
    if (times * model_.constants.locate >= limit_) return best;
    int choices[kMaxOrdered];
    const int n = choose(bound, part, times, choices);
    for (int k = 0; k < n; ++k) {
      const Path found = branch(bound, part, choices[k], best.cost);
      if (found.cost < best.cost) best = found;
    }
    return best;
  }

  // The cost of counting a component vertex by vertex of its first one; infinite from `limit` on.
  Path branch(uint64_t bound, uint64_t part, int vertex, double limit) {
    const double times = model_.times(bound, part);
    const OrderModel::Step step = model_.step(bound, vertex);
    const uint64_t inner = bound | one(vertex);
    uint64_t rest = part & ~one(vertex);
    Path path;
    path.cost = times * (step.cost + step.size * model_.constants.bind);
    const double wedge = model_.wedge(bound, part, vertex);
    if (wedge != kNoCost)
      return branch_or_wedge(bound, part, vertex, times * wedge,
                             path.cost + times * step.size * model_.entry(inner, rest));
    path.add(vertex);
    while (rest != 0) {
      const uint64_t child = model_.component(rest);
      rest &= ~child;
      if (path.cost >= limit) {
        path.cost = kInfinite;
        return path;
      }
      path.cost += times * step.size * model_.entry(inner, child, one(vertex));
      if (model_.is_plain(inner, child)) {
        path.add_all(child);
        continue;
      }
      const double formula = model_.formula(inner, child, one(vertex));
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
  Path branch_or_wedge(uint64_t bound, uint64_t part, int first, double wedge, double branched) {
    const int last = last_of(model_.adjacent[first] & part);
    const int second = last_of(part & ~(one(first) | one(last)));
    Path by_wedge;
    by_wedge.cost = wedge;
    for (const int vertex : {first, second, last}) by_wedge.add(vertex);
    if (place_ != nullptr && place_[second] < place_[last]) return by_wedge;
    const Path other = before(first, branched, branch(bound | one(first), part & ~one(first), last, kInfinite));
    return place_ != nullptr || other.cost < wedge ? other : by_wedge;
  }

  // ------------------------------------------------------------ choices

  // Writes the vertices of `part` to try next, linked ones where there are any; returns how many.
  int choose(uint64_t bound, uint64_t part, double times, int* choices) {
    int n = 0;
    if (place_ != nullptr) {
      for_each(part, [&](int vertex) {
        if (n == 0 || place_[vertex] < place_[choices[0]]) choices[0] = vertex;
        n = 1;
      });
      return n;
    }
    const uint64_t linked = part & model_.near(bound);
    for_each(linked != 0 ? linked : part, [&](int vertex) { choices[n++] = vertex; });
    if (size_of(part) <= exact_ || n == 1) return n;
    double ranks[kMaxOrdered];
    for (int k = 0; k < n; ++k) ranks[choices[k]] = own(bound, choices[k], times);
    const auto by_rank = [&](int some, int other) { return ranks[some] < ranks[other]; };
    std::stable_sort(choices, choices + n, by_rank);
    n = std::min(n, kPromising);
    std::sort(choices, choices + n);
    for (int k = 0; k < n; ++k) ranks[choices[k]] = promise(bound, part, choices[k], times);
    std::stable_sort(choices, choices + n, by_rank);
    return std::min(n, bound == model_.problem.bound ? kStarts : 1);
  }

  double own(uint64_t bound, int vertex, double times) {
    const OrderModel::Step step = model_.step(bound, vertex);
    return times * (step.cost + step.size * model_.constants.bind);
  }

  // The cost of binding a vertex and then the best next one of each component that this leaves.
  double promise(uint64_t bound, uint64_t part, int vertex, double times) {
    const uint64_t after = bound | one(vertex);
    double promised = own(bound, vertex, times);
    for (uint64_t rest = part & ~one(vertex); rest != 0;) {
      const uint64_t child = model_.component(rest);
      rest &= ~child;
      const uint64_t linked = child & model_.adjacent[vertex];
      double least = kInfinite;
      for_each(linked != 0 ? linked : child, [&](int other) { least = std::min(least, own(after, other, 1.0)); });
      promised += model_.times(after, child) * least;
    }
    return promised;
  }

  OrderModel& model_;
  const int exact_;
  const double limit_;
  const int* const place_;
  const bool wanted_first_;
  Paths counted_, walked_;
};

Path follow(OrderModel& model, const int* order, int n) {
  int place[kMaxOrdered] = {};
  for (int k = 0; k < n; ++k) place[order[k]] = k;
  return Orderer(model, 0, kInfinite, place).order();
}

// Follows the free vertices, linked ones first, by the least rank given what is bound by then.
template <class Rank>
Path by_rule(OrderModel& model, int start, Rank&& rank) {
  int order[kMaxOrdered], n = 0;
  uint64_t bound = model.problem.bound;
  for (int vertex = start;;) {
    order[n++] = vertex;
    bound |= one(vertex);
    const uint64_t rest = model.all & ~bound;
    if (rest == 0) return follow(model, order, n);
    const uint64_t linked = model.near(bound) & rest;
    std::pair<double, double> least{kInfinite, kInfinite};
    for_each(linked != 0 ? linked : rest, [&](int each) {
      const std::pair<double, double> found = rank(bound, each);
      if (found < least) least = found, vertex = each;
    });
  }
}

// The best of the orders that bind next the vertex with most edges to bound ones, or that which leaves fewest rows.
//
// The first closes circles before it leaves a dense part (RI, Bonnici et al. 2013), where looking one step ahead sees
// only that a path is cheaper to follow; it doesn't depend on estimates. The first order of at most `cheap` is taken.
Path by_simple_rules(OrderModel& model, double cheap) {
  const OrderProblem& problem = model.problem;
  std::vector<int> rarest;
  double rarity[kMaxOrdered];
  for_each(model.all & ~problem.bound, [&](int vertex) {
    rarity[vertex] = problem.candidates[vertex] / (1 + size_of(model.adjacent[vertex]));
    rarest.push_back(vertex);
  });
  std::stable_sort(rarest.begin(), rarest.end(), [&](int some, int other) { return rarity[some] < rarity[other]; });
  if (rarest.size() > kSimpleStarts) rarest.resize(kSimpleStarts);
  Path best;
  best.cost = kInfinite;
  const auto closing = [&](uint64_t bound, int each) -> std::pair<double, double> {
    return {-size_of(model.adjacent[each] & bound), -size_of(model.adjacent[each])};
  };
  const auto fewest = [&](uint64_t bound, int each) -> std::pair<double, double> {
    const OrderModel::Step step = model.step(bound, each);
    return {step.size, step.cost};
  };
  for (const int start : rarest) {
    for (const bool closes : {true, false}) {
      const Path found = closes ? by_rule(model, start, closing) : by_rule(model, start, fewest);
      if (found.cost < best.cost) best = found;
      if (best.cost <= cheap) return best;
    }
  }
  return best;
}

const Path& cheaper(const Path& some, const Path& other) { return other.cost < some.cost ? other : some; }

// The cheapest order of the vertices that aren't bound: exact up to kExact of them.
Path best_order(OrderModel& model, double cheap) {
  const OrderProblem& problem = model.problem;
  const int free = size_of(model.all & ~problem.bound);
  if (free <= kSmall) return Orderer(model, kExact).order();
  Path found;
  found.cost = kInfinite;
  if (free > kExact) {
    found = by_simple_rules(model, cheap);
    if (found.cost <= cheap) return found;
  }
  found = cheaper(Orderer(model, kSmall).order(), found);
  if (free <= kExact) return cheaper(found, Orderer(model, kExact, found.cost).order());
  if (problem.counted && problem.wanted != 0)
    return cheaper(found, Orderer(model, kSmall, kInfinite, nullptr, true).order());
  return found;
}

}  // namespace
}  // namespace qe

// Opens a model of a problem; both structs and what they point to must live until it is closed.
QE_API int32_t qe_order_open(const qe::OrderProblem* problem, const qe::OrderConstants* constants, void** model) {
  try {
    *model = new qe::OrderModel(*problem, *constants);
    return qe::kOk;
  } catch (...) {
    return qe::kOutOfMemory;
  }
}

QE_API void qe_order_close(void* model) { delete static_cast<qe::OrderModel*>(model); }

// Writes the vertices that aren't bound, in the order that costs least, and its cost in nanoseconds. An order that costs
// at most `cheap` is good enough: looking for a better one would take longer.
QE_API int32_t qe_order_best(void* model, double cheap, int32_t* order, double* cost) {
  try {
    const qe::Path path = qe::best_order(*static_cast<qe::OrderModel*>(model), cheap);
    std::copy_n(path.vertices, path.n, order);
    *cost = path.cost;
    return qe::kOk;
  } catch (...) {
    return qe::kOutOfMemory;
  }
}

// Writes what the order `given` of the n vertices that aren't bound costs.
QE_API int32_t qe_order_cost(void* model, const int32_t* given, int32_t n, double* cost) {
  try {
    *cost = qe::follow(*static_cast<qe::OrderModel*>(model), given, n).cost;
    return qe::kOk;
  } catch (...) {
    return qe::kOutOfMemory;
  }
}

// Writes the expected embeddings of the sub-pattern over a set of vertices.
QE_API int32_t qe_order_rows(void* model, uint64_t part, double* rows) {
  try {
    *rows = static_cast<qe::OrderModel*>(model)->rows(part);
    return qe::kOk;
  } catch (...) {
    return qe::kOutOfMemory;
  }
}
