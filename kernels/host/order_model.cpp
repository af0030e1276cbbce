// Sizes and costs of the sub-patterns of one pattern (order_model.h).
//
// Deterministic. Memory: 40 bytes for each set and each pair of a set and a vertex that was asked for.
#include "order_model.h"

#include <algorithm>
#include <cmath>

namespace qe {
namespace {

constexpr double kLeast = 1e-9;  // rows; nothing is taken for impossible
constexpr double kRepeated = 0.25;  // exponent of what further sorts of edges say, beside the one that says most

class GeometricMean {
 public:
  void add(double value) {
    product_ *= std::max(value, kLeast);
    ++n_;
  }
  double value() const { return n_ == 0 ? 1.0 : std::pow(product_, 1.0 / n_); }

 private:
  double product_ = 1.0;
  int n_ = 0;
};

// The chance of an edge of which so many are expected between two vertices.
double saturated(double expected) { return expected / (1.0 + expected); }

bool equal(const OrderTies& some, const OrderTies& other) {
  return some.fan_out == other.fan_out && some.most == other.most && some.skew == other.skew &&
         some.tail == other.tail && some.lesser == other.lesser && some.mixed == other.mixed &&
         some.greater == other.greater;
}

}  // namespace

OrderModel::OrderModel(const OrderProblem& given, const OrderConstants& taken) : problem(given), constants(taken) {
  all = problem.count == kMaxOrdered ? ~uint64_t{0} : one(problem.count) - 1;
  fill();
  meet();
}

void OrderModel::fill() {
  Order orders[kMaxOrdered][kMaxOrdered] = {};
  for (int k = 0; k < problem.n_less; ++k) {
    const int small = problem.less[2 * k], big = problem.less[2 * k + 1];
    orders[big][small] = kLesser;
    orders[small][big] = kGreater;
    mention(small, big);
    ordered[small] |= one(big);
    ordered[big] |= one(small);
  }
  for (int k = 0; k < problem.n_links; ++k) {
    const int start = problem.ends[2 * k], end = problem.ends[2 * k + 1];
    const OrderLink& link = problem.links[k];
    const Order order = orders[start][end], back = orders[end][start];
    const int here = problem.sorts[2 * k], there = problem.sorts[2 * k + 1];
    ways_[end].push_back({start, there, here, link.probability, &link.there, order, back});
    ways_[start].push_back({end, here, there, link.probability, &link.back, back, order});
    adjacent[start] |= one(end);
    adjacent[end] |= one(start);
    mention(start, end);
  }
  for (int k = 0; k < problem.n_different; ++k) {
    const int some = problem.different[2 * k], other = problem.different[2 * k + 1];
    if (orders[some][other] != kFree) continue;
    different[some] |= one(other);
    different[other] |= one(some);
    mention(some, other);
  }
  for (int k = 0; k < problem.n_triangles; ++k) {
    const int32_t* corner = problem.triangles + 3 * k;
    for (int at = 0; at < 3; ++at) {
      const int here = corner[at], next = corner[(at + 1) % 3], last = corner[(at + 2) % 3];
      closings_[here].push_back({next, last, problem.closures[k]});
      closings_[here].push_back({last, next, problem.closures[k]});
    }
  }
  for (std::vector<Closing>& each : closings_) std::stable_sort(each.begin(), each.end());
  for (int k = 0; k < problem.n_entangled; ++k) {
    const uint64_t group = problem.entangled[k];
    for_each(group, [&](int vertex) { mentioned_[vertex] |= group & ~one(vertex); });
  }
}

void OrderModel::mention(int some, int other) {
  mentioned_[some] |= one(other);
  mentioned_[other] |= one(some);
}

void OrderModel::meet() {
  for (int vertex = 0; vertex < problem.count; ++vertex) {
    int sorts = 1;
    for (const Way& way : ways_[vertex]) sorts = std::max(sorts, way.sort + 1);
    for (int sort = 0; sort < sorts; ++sort) growth_[vertex].push_back(growth_at(vertex, sort));
    if (sorts > 1) together_[vertex].assign(sorts * sorts, 1.0);
  }
  for (int k = 0; k < problem.n_meetings; ++k) {
    const int32_t* meeting = problem.meetings + 3 * k;
    std::vector<double>& table = together_[meeting[0]];
    const std::size_t sorts = growth_[meeting[0]].size();
    table[meeting[1] * sorts + meeting[2]] = table[meeting[2] * sorts + meeting[1]] = problem.together[k];
  }
}

OrderModel::Growth OrderModel::growth_at(int vertex, int sort) const {
  GeometricMean skew, lesser, greater, mixed, tail;
  for (int k = 0; k < problem.n_links; ++k) {
    const bool starts = problem.ends[2 * k] == vertex;
    if (!starts && problem.ends[2 * k + 1] != vertex) continue;
    if (problem.sorts[2 * k + !starts] != sort) continue;
    const OrderTies& ties = starts ? problem.links[k].there : problem.links[k].back;
    skew.add(ties.skew);
    lesser.add(ties.lesser);
    greater.add(ties.greater);
    mixed.add(ties.mixed);
    tail.add(ties.tail);
  }
  const double some = (lesser.value() + mixed.value()) / 2, more = (greater.value() + mixed.value()) / 2;
  return {{{skew.value(), some, more}, {some, lesser.value(), mixed.value()}, {more, mixed.value(), greater.value()}},
          tail.value()};
}

// ---------------------------------------------------------------- sizes

double OrderModel::rows(uint64_t bound) {
  const double found = rows_by_degrees(bound);
  return problem.n_known == 0 ? found : std::max(found * correction(bound), kLeast);
}

double OrderModel::rows_by_degrees(uint64_t bound) {
  const uint64_t given = problem.bound;
  if (bound == 0 || bound == given) return 1.0;
  if (const double* found = rows_.find(bound, 1)) return *found;
  const int last = last_of(bound & ~given);
  const uint64_t before = bound & ~one(last);
  const double size = problem.n_known == 0 ? step(before, last).size : step_by_degrees(before, last).size;
  double found = rows_by_degrees(before) * size;
  if (given == 0) found = std::max(found, std::min(1.0, rows_by_degrees(before)));  // what is asked for is there
  rows_.put(bound, 1, found);
  return found;
}

double OrderModel::correction(uint64_t bound) {
  if (const double* found = corrections_.find(bound, 1)) return *found;
  double factor = 1.0;
  uint64_t taken[kMaxOrdered * kMaxOrdered];
  int n = 0;
  for (int k = 0; k < problem.n_known && n < kMaxOrdered * kMaxOrdered; ++k) {
    const uint64_t part = problem.known[k];
    if ((part & ~bound) != 0) continue;
    if (std::any_of(taken, taken + n, [&](uint64_t other) { return size_of(part & other) > 1; })) continue;
    factor *= problem.factors[k];
    taken[n++] = part;
  }
  corrections_.put(bound, 1, factor);
  return factor;
}

OrderModel::Step OrderModel::step(uint64_t bound, int vertex) {
  if (const Step* found = steps_.find(bound, vertex + 1)) return *found;
  Step found = step_by_degrees(bound, vertex);
  if (problem.n_known > 0)
    found.size = std::max(found.size * correction(bound | one(vertex)) / correction(bound), kLeast);
  steps_.put(bound, vertex + 1, found);
  return found;
}

// Multiplies the shortest list by the chances that its members are in the others.
OrderModel::Step OrderModel::step_by_degrees(uint64_t bound, int vertex) const {
  struct List {
    double size, probability;
    int origin;
    Present kind;
    bool operator<(const List& other) const {
      if (size != other.size) return size < other.size;
      if (probability != other.probability) return probability < other.probability;
      return kind.sort != other.kind.sort ? kind.sort < other.kind.sort : kind.order < other.kind.order;
    }
  };
  const double labelled = std::max(problem.labelled[vertex], 1.0);
  List lists[2 * kMaxOrdered];
  Present kinds[2 * kMaxOrdered];
  int n = 0;
  for (const Way& way : ways_[vertex]) {
    if ((bound >> way.origin & 1) == 0 || n == 2 * kMaxOrdered) continue;
    const double growth = grown(way, bound);
    const double length = std::min({way.ties->fan_out * growth, way.ties->most, labelled});
    lists[n++] = {length, way.probability * growth, way.origin, {way.sort, way.back}};
  }
  const double checks = constants.check * size_of(different[vertex] & bound);
  const double halves = std::ldexp(1.0, -size_of(ordered[vertex] & bound & ~adjacent[vertex]));
  if (n == 0) return {std::max(problem.candidates[vertex] * halves, kLeast), constants.locate};
  std::sort(lists, lists + n);
  double size = lists[0].size, least = 1.0;
  kinds[0] = lists[0].kind;
  uint64_t others = one(lists[0].origin);
  for (int k = 1; k < n; ++k) {
    const double growth = growth_of(vertex, lists[k].kind, kinds, k);
    const double chance = closed(vertex, lists[k].origin, others, saturated(lists[k].probability * growth));
    others |= one(lists[k].origin);
    kinds[k] = lists[k].kind;
    size *= chance;
    least = std::min(least, chance);
  }
  if (exhausted(bound, vertex)) size = 0.0;
  double cost = constants.locate + checks;
  if (n > 1) {  // the newest list meets what the others have in common, or is met by it
    const double older = n == 2 ? lists[0].size : std::min(lists[0].size, size / least);
    cost += constants.set_up + constants.read * older;
  }
  if (problem.filtered >> vertex & 1) cost += constants.check * size;
  return {std::max(size * halves * (problem.candidates[vertex] / labelled), kLeast), cost};
}

// The chance of a link from `origin`, given those from `others` with which it makes triangles: what is close is closer
// with each of them, what keeps apart does so at the first link that closes a circle.
double OrderModel::closed(int vertex, int origin, uint64_t others, double chance) const {
  double more = 1.0, less = 1.0;
  const std::vector<Closing>& near = closings_[vertex];
  const auto [begin, end] = std::equal_range(near.begin(), near.end(), Closing{origin, 0, 0.0});
  for (auto each = begin; each != end; ++each) {
    if (((one(origin) | one(each->other)) & others) == 0) continue;
    more *= std::max(each->odds, 1.0);
    less = std::min(each->odds, less);
  }
  const double odds = size_of(others) > 1 ? more : more * less;
  return odds == 1.0 ? chance : chance * odds / (1.0 - chance + chance * odds);
}

// Whether some bound vertex has no neighbour left for this one: as many as it has at most are taken by others.
bool OrderModel::exhausted(uint64_t bound, int vertex) const {
  const uint64_t others = different[vertex] & bound;
  if (others == 0) return false;
  return std::any_of(ways_[vertex].begin(), ways_[vertex].end(), [&](const Way& way) {
    if ((bound >> way.origin & 1) == 0) return false;
    int taken = 0;
    for_each(others & adjacent[way.origin], [&](int other) {
      taken += problem.kinds[other] == problem.kinds[vertex] &&
               std::any_of(ways_[other].begin(), ways_[other].end(), [&](const Way& like) {
                 return like.origin == way.origin && equal(*like.ties, *way.ties);
               });
    });
    return taken >= way.ties->most;
  });
}

// How much likelier an edge is at the end of a way, by the edges that this vertex has to what is bound.
double OrderModel::grown(const Way& way, uint64_t bound) const {
  Present present[2 * kMaxOrdered];
  int n = 0;
  uint64_t seen = 0;
  for (const Way& each : ways_[way.origin]) {
    if ((bound >> each.origin & 1) == 0 || n == 2 * kMaxOrdered) continue;
    if (problem.n_less == 0 && (seen >> each.origin & 1) != 0) continue;
    seen |= one(each.origin);
    present[n++] = {each.sort, each.back};
  }
  return growth_of(way.origin, {way.far, way.there}, present, n) * (way.there == kFree ? 1.0 : 0.5);
}

// How much likelier an edge is at a vertex that has those `present`, of its own sort and of others. Sorts go together by the
// same hubs: what one says, others mostly repeat.
double OrderModel::growth_of(int vertex, Present next, const Present* present, int n) const {
  const Growth& growth = growth_[vertex][next.sort];
  double own = 1.0, more = 1.0, less = 1.0, all = 1.0;
  int alike = 0;
  GeometricMean mean;
  for (int k = 0; k < n; ++k) {
    if (present[k].sort == next.sort) {
      ++alike;
      if (problem.n_less > 0) mean.add(growth.table[next.order][present[k].order]);
      continue;
    }
    const double factor = together_[vertex][next.sort * growth_[vertex].size() + present[k].sort];
    more = std::max(more, factor);
    less = std::min(less, factor);
    all *= factor;
  }
  if (alike > 0) own = (problem.n_less > 0 ? mean.value() : growth.table[kFree][kFree]) * (alike > 1 ? growth.tail : 1.0);
  return n - alike < 2 ? own * all : own * more * less * std::pow(all / (more * less), kRepeated);
}

uint64_t OrderModel::near(uint64_t part) const {
  uint64_t found = 0;
  for_each(part, [&](int vertex) { found |= adjacent[vertex]; });
  return found;
}

// ---------------------------------------------------------------- counted parts

uint64_t OrderModel::component(uint64_t part) const {
  uint64_t found = 0, news = part & -part;
  while (news != 0) {
    found |= news;
    news = mentions(news) & part & ~found;
  }
  return found;
}

uint64_t OrderModel::mentions(uint64_t part) const {
  uint64_t found = 0;
  for_each(part, [&](int vertex) { found |= mentioned_[vertex]; });
  return found;
}

double OrderModel::times(uint64_t bound, uint64_t part) {
  const double calls = rows(bound);
  const uint64_t context = mentions(part) & bound;
  if (context == bound || (bound & problem.bound) != 0) return calls;
  const int size = size_of(context);
  if (size > 3) return calls;
  const double distinct = std::min(calls, rows(context));
  if (size > 2) return distinct;  // no count of its own is kept, but those above it are
  return calls - (calls - distinct) * std::min(1.0, constants.remembered / std::max(distinct, 1.0));
}

bool OrderModel::is_plain(uint64_t bound, uint64_t part) const {
  if (size_of(part) > 1) return false;
  const int vertex = least_of(part);
  return size_of(adjacent[vertex] & bound) <= 1 && (problem.filtered >> vertex & 1) == 0;
}

double OrderModel::entry(uint64_t bound, uint64_t part, uint64_t newest) {
  if (is_plain(bound, part)) return size_cost(bound, least_of(part), newest);
  return (mentions(part) & bound) != bound ? constants.look_up : 0.0;
}

// The cost of finding how many candidates there are: a list of an older vertex is at hand.
double OrderModel::size_cost(uint64_t bound, int vertex, uint64_t newest) {
  const double cost = step(bound, vertex).cost;
  const uint64_t origin = adjacent[vertex] & bound;
  const bool at_hand = newest != 0 && (origin & newest) == 0 && size_of(origin) <= 1;
  return at_hand ? cost - constants.locate + constants.at_hand : cost;
}

double OrderModel::formula(uint64_t bound, uint64_t part, uint64_t newest) {
  if (size_of(part) == 1) return size_cost(bound, least_of(part), newest);
  for (uint64_t left = part; left != 0; left &= left - 1) {
    const int vertex = least_of(left);
    if ((different[vertex] & part) != (part & ~one(vertex))) return kNoCost;
    if (((adjacent[vertex] | ordered[vertex]) & part) != 0) return kNoCost;
  }
  double cost = 0.0;
  bool alike = true;
  for_each(part, [&](int vertex) {
    cost += size_cost(bound, vertex, newest);
    alike = alike && same_kind(least_of(part), vertex, bound);
  });
  if (alike) return cost / size_of(part);
  return size_of(part) <= 3 ? cost : kNoCost;
}

// Whether two vertices have the same candidates.
bool OrderModel::same_kind(int some, int other, uint64_t bound) const {
  if (some == other) return true;
  if (problem.kinds[some] != problem.kinds[other] || ((ordered[some] ^ ordered[other]) & bound) != 0) return false;
  const auto within = [&](int here, int there) {
    return std::all_of(ways_[here].begin(), ways_[here].end(), [&](const Way& way) {
      return (bound >> way.origin & 1) == 0 ||
             std::any_of(ways_[there].begin(), ways_[there].end(), [&](const Way& like) {
               return like.origin == way.origin && equal(*like.ties, *way.ties);
             });
    });
  };
  return within(some, other) && within(other, some);
}

double OrderModel::wedge(uint64_t bound, uint64_t part, int first) {
  const uint64_t rest = part & ~one(first);
  if (bound == 0 || size_of(part) != 3) return kNoCost;
  const uint64_t ends = adjacent[first] & rest;
  if (ends == 0 || ends == rest) return kNoCost;
  const int last = last_of(ends), second = last_of(rest & ~ends);
  if ((adjacent[last] & (bound | part)) != (one(first) | one(second)) || (problem.filtered >> last & 1) != 0)
    return kNoCost;
  if (((different[last] | ordered[last]) & part) != 0) return kNoCost;
  const auto ways = [&](int vertex) {
    const Step found = step(bound, vertex);
    const double each = constants.bind + constants.locate + constants.counter * step(bound | one(vertex), last).size;
    return found.cost + found.size * each;
  };
  if (same_kind(first, second, bound | one(last))) return ways(first);
  if (((different[first] | ordered[first]) >> second & 1) != 0) return kNoCost;
  return ways(first) + ways(second);
}

}  // namespace qe
