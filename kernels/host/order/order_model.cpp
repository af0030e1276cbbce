// Sizes and costs of the sub-patterns of one pattern (order_model.h).
//
// Deterministic. Memory: 40 bytes for each set and each pair of a set and a vertex that was asked for.
#include "order/order_model.h"

#include <algorithm>
#include <cmath>

namespace qe {
namespace {

constexpr double kLeast = 1e-9;  // rows; nothing is taken for impossible
constexpr double kMost = 1e200;  // rows, so that what they cost is finite
constexpr double kRepeated = 0.25;  // exponent of what further sorts of edges say, beside the one that says most

class GeometricMean {
 public:
  void add(double value) {
    product_ *= std::max(value, kLeast);
    ++n_;
    if (product_ < 1e200 && product_ > 1e-200) return;
    int exponent;
    product_ = std::frexp(product_, &exponent);
    exponent_ += exponent;
  }
  double value() const { return n_ == 0 ? 1.0 : std::pow(product_, 1.0 / n_) * std::exp2(double(exponent_) / n_); }

 private:
  double product_ = 1.0;  // times 2 to the power of exponent_
  int exponent_ = 0;
  int n_ = 0;
};

// The chance of an edge of which so many are expected between two vertices.
double saturated(double expected) { return expected / (1.0 + expected); }

bool equal(const OrderDegrees& some, const OrderDegrees& other) {
  return some.fan_out == other.fan_out && some.most == other.most && some.skew == other.skew &&
         some.tail == other.tail && some.lesser == other.lesser && some.mixed == other.mixed &&
         some.greater == other.greater;
}

}  // namespace

template <class Set>
OrderModel<Set>::OrderModel(const OrderProblem& stated, const OrderConstants& taken)
    : problem(stated),
      constants(taken),
      all(Set::below(stated.count)),
      given(Set::from(stated.bound)),
      wanted(Set::from(stated.wanted)),
      adjacent(static_cast<std::size_t>(stated.count)),
      different(adjacent.size()),
      ordered(adjacent.size()),
      filtered_(Set::from(stated.filtered)),
      walked_(Set::from(stated.walked)),
      mentioned_(adjacent.size()),
      ways_(adjacent.size()),
      closings_(adjacent.size()),
      growth_(adjacent.size()),
      together_(adjacent.size()) {
  for (int k = 0; k < problem.n_known; ++k) known_.push_back(Set::from(problem.known + k * problem.words));
  fill();
  meet();
  if (problem.n_known > 0) related_ = adjacent;
  for (const Set& part : known_)
    if (part.size() == 2) {
      related_[part.first()] |= Set::of(part.last());
      related_[part.last()] |= Set::of(part.first());
    }
}

template <class Set>
void OrderModel<Set>::number_by(const int* order, int n) {
  places_.assign(adjacent.size(), 0);
  for (int k = 0; k < n; ++k) places_[order[k]] = k;
  rows_.clear();
}

// The last of some vertices, by their numbers.
template <class Set>
int OrderModel<Set>::last_of(const Set& part) const {
  if (places_.empty()) return part.last();
  int last = part.first();
  for_each(part, [&](int vertex) {
    if (places_[vertex] > places_[last]) last = vertex;
  });
  return last;
}

template <class Set>
void OrderModel<Set>::fill() {
  const std::size_t count = adjacent.size();
  std::vector<Order> orders(problem.n_less > 0 ? count * count : 0, kFree);  // of the second vertex against the first
  const auto order_of = [&](int some, int other) { return orders.empty() ? kFree : orders[some * count + other]; };
  for (int k = 0; k < problem.n_less; ++k) {
    const int small = problem.less[2 * k], big = problem.less[2 * k + 1];
    orders[big * count + small] = kLesser;
    orders[small * count + big] = kGreater;
    mention(small, big);
    ordered[small] |= Set::of(big);
    ordered[big] |= Set::of(small);
  }
  for (int k = 0; k < problem.n_links; ++k) {
    const int start = problem.ends[2 * k], end = problem.ends[2 * k + 1];
    const OrderLink& link = problem.links[k];
    const Order order = order_of(start, end), back = order_of(end, start);
    const int here = problem.sorts[2 * k], there = problem.sorts[2 * k + 1];
    ways_[end].push_back({start, there, here, link.probability, &link.there, order, back});
    ways_[start].push_back({end, here, there, link.probability, &link.back, back, order});
    adjacent[start] |= Set::of(end);
    adjacent[end] |= Set::of(start);
    mention(start, end);
  }
  for (int k = 0; k < problem.n_different; ++k) {
    const int some = problem.different[2 * k], other = problem.different[2 * k + 1];
    if (order_of(some, other) != kFree) continue;
    different[some] |= Set::of(other);
    different[other] |= Set::of(some);
    mention(some, other);
  }
  for (int k = 0; k < problem.n_triangles; ++k) {
    const int32_t* corner = problem.triangles + 3 * k;
    for (int at = 0; at < 3; ++at) {
      const int here = corner[at], next = corner[(at + 1) % 3], last = corner[(at + 2) % 3];
      closings_[here].push_back({next, last, problem.closures[3 * k + at]});
      closings_[here].push_back({last, next, problem.closures[3 * k + (at + 2) % 3]});
    }
  }
  for (std::vector<Closing>& each : closings_) std::stable_sort(each.begin(), each.end());
  for (int vertex = 0; vertex < problem.count; ++vertex)
    mentioned_[vertex] |= Set::from(problem.entangled + vertex * problem.words) - Set::of(vertex);
}

template <class Set>
void OrderModel<Set>::mention(int some, int other) {
  mentioned_[some] |= Set::of(other);
  mentioned_[other] |= Set::of(some);
}

template <class Set>
void OrderModel<Set>::meet() {
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

template <class Set>
typename OrderModel<Set>::Growth OrderModel<Set>::growth_at(int vertex, int sort) const {
  GeometricMean skew, lesser, greater, mixed, tail;
  for (int k = 0; k < problem.n_links; ++k) {
    const bool starts = problem.ends[2 * k] == vertex;
    if (!starts && problem.ends[2 * k + 1] != vertex) continue;
    if (problem.sorts[2 * k + !starts] != sort) continue;
    const OrderDegrees& degrees = starts ? problem.links[k].there : problem.links[k].back;
    skew.add(degrees.skew);
    lesser.add(degrees.lesser);
    greater.add(degrees.greater);
    mixed.add(degrees.mixed);
    tail.add(degrees.tail);
  }
  const double some = (lesser.value() + mixed.value()) / 2, more = (greater.value() + mixed.value()) / 2;
  return {{{skew.value(), some, more}, {some, lesser.value(), mixed.value()}, {more, mixed.value(), greater.value()}},
          tail.value()};
}

// ---------------------------------------------------------------- sizes

// What is asked for is there, if what it is asked of is: unless it is known to be less.
template <class Set>
double OrderModel<Set>::rows(const Set& bound) {
  if (bound.empty() || bound == given) return 1.0;
  if (const double* found = rows_.find(bound, 2)) return *found;
  const double factor = problem.n_known == 0 ? 1.0 : correction(bound);
  double found = std::max(rows_by_degrees(bound) * factor, kLeast);
  const Set before = bound - Set::of(last_of(bound - given));
  if (given.empty() && !before.empty()) found = std::max(found, std::min(1.0, rows(before)) * std::min(1.0, factor));
  rows_.put(bound, 2, found);
  return found;
}

template <class Set>
double OrderModel<Set>::rows_by_degrees(const Set& bound) {
  if (bound.empty() || bound == given) return 1.0;
  if (const double* found = rows_.find(bound, 1)) return *found;
  const int last = last_of(bound - given);
  const Set before = bound - Set::of(last);
  const double size = problem.n_known == 0 ? step(before, last).size : step_by_degrees(before, last).size;
  const double found = std::min(rows_by_degrees(before) * size, kMost);
  rows_.put(bound, 1, found);
  return found;
}

template <class Set>
double OrderModel<Set>::correction(const Set& bound) {
  if (const double* found = corrections_.find(bound, 1)) return *found;
  std::vector<Known> within;
  for (int k = 0; k < problem.n_known; ++k)
    if (bound.contains(known_[k])) within.push_back({known_[k], problem.factors[k]});
  const double factor = composed(within);
  corrections_.put(bound, 1, factor);
  return factor;
}

// The factor of parts together: each counts given what is known of the vertices that it shares with those before it.
template <class Set>
double OrderModel<Set>::composed(const std::vector<Known>& parts) {
  double factor = 1.0;
  std::vector<Set> taken;
  for (const Known& each : parts) {
    if (!adds(core(each.part), taken)) continue;
    std::vector<Known> shared;
    for (const Set& other : taken)
      if (const Set both = each.part & other; both.size() > 1) shared.push_back({both, correction(both)});
    factor *= each.factor / composed(shared);
    taken.push_back(each.part);
  }
  return factor;
}

// The vertices of a part between which is what it says: those within a tree, where its ends are more or less for that.
template <class Set>
Set OrderModel<Set>::core(const Set& part) const {
  Set inner;
  int ends = 0;
  for_each(part, [&](int vertex) {
    const int degree = (adjacent[vertex] & part).size();
    if (degree > 1) inner |= Set::of(vertex);
    ends += degree;
  });
  return ends == 2 * (part.size() - 1) && inner.size() > 1 ? inner : part;
}

// Whether a part has two vertices that something is known of, and that no other part has: else its circles are theirs.
template <class Set>
bool OrderModel<Set>::adds(const Set& part, const std::vector<Set>& others) const {
  for (Set left = part; left; left -= Set::of(left.first())) {
    const int vertex = left.first();
    Set alone = related_[vertex] & left;
    for (const Set& other : others)
      if (other.has(vertex)) alone -= other;
    if (!alone.empty()) return true;
  }
  return false;
}

template <class Set>
typename OrderModel<Set>::Step OrderModel<Set>::step(const Set& bound, int vertex) {
  if (const Step* found = steps_.find(bound, vertex + 1)) return *found;
  Step found = step_by_degrees(bound, vertex);
  if (problem.n_known > 0)
    found.size = std::max(found.size * correction(bound | Set::of(vertex)) / correction(bound), kLeast);
  steps_.put(bound, vertex + 1, found);
  return found;
}

// Multiplies the shortest list by the chances that its members are in the others.
template <class Set>
typename OrderModel<Set>::Step OrderModel<Set>::step_by_degrees(const Set& bound, int vertex) const {
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
  List lists[2 * Set::kCapacity];
  Present kinds[2 * Set::kCapacity];
  int n = 0;
  for (const Way& way : ways_[vertex]) {
    if (!bound.has(way.origin) || n == 2 * Set::kCapacity) continue;
    const double growth = grown(way, bound);
    const double length = std::min({way.degrees->fan_out * growth, way.degrees->most, labelled});
    lists[n++] = {length, way.probability * growth, way.origin, {way.sort, way.back}};
  }
  const double checks = constants.check * (different[vertex] & bound).size();
  const double halves = std::ldexp(1.0, -((ordered[vertex] & bound) - adjacent[vertex]).size());
  if (n == 0) return {std::max(problem.candidates[vertex] * halves, kLeast), constants.locate};
  std::sort(lists, lists + n);
  double size = lists[0].size, least = 1.0;
  kinds[0] = lists[0].kind;
  Set others = Set::of(lists[0].origin);
  for (int k = 1; k < n; ++k) {
    const double growth = growth_of(vertex, lists[k].kind, kinds, k);
    const double chance = closed(vertex, lists[k].origin, others, saturated(lists[k].probability * growth));
    others |= Set::of(lists[k].origin);
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
  if (filtered_.has(vertex)) cost += constants.test * size;
  if (walked_.has(vertex)) cost += constants.check * size;
  return {std::max(size * halves * (problem.candidates[vertex] / labelled), kLeast), cost};
}

// The chance of a link from `origin`, given those from `others` with which it makes triangles: what is close is closer
// with each of them, what keeps apart does so at the first link that closes a circle.
template <class Set>
double OrderModel<Set>::closed(int vertex, int origin, const Set& others, double chance) const {
  double more = 1.0, less = 1.0;
  const std::vector<Closing>& near = closings_[vertex];
  const auto [begin, end] = std::equal_range(near.begin(), near.end(), Closing{origin, 0, 0.0});
  for (auto each = begin; each != end; ++each) {
    if (!others.has(origin) && !others.has(each->other)) continue;
    more *= std::max(each->odds, 1.0);
    less = std::min(each->odds, less);
  }
  const double odds = others.size() > 1 ? more : more * less;
  return odds == 1.0 ? chance : chance * odds / (1.0 - chance + chance * odds);
}

// Whether some bound vertex has no neighbour left for this one: as many as it has at most are taken by others.
template <class Set>
bool OrderModel<Set>::exhausted(const Set& bound, int vertex) const {
  const Set others = different[vertex] & bound;
  if (others.empty()) return false;
  return std::any_of(ways_[vertex].begin(), ways_[vertex].end(), [&](const Way& way) {
    if (!bound.has(way.origin)) return false;
    int taken = 0;
    for_each(others & adjacent[way.origin], [&](int other) {
      taken += problem.kinds[other] == problem.kinds[vertex] &&
               std::any_of(ways_[other].begin(), ways_[other].end(), [&](const Way& like) {
                 return like.origin == way.origin && equal(*like.degrees, *way.degrees);
               });
    });
    return taken >= way.degrees->most;
  });
}

// How much likelier an edge is at the end of a way, by the edges that this vertex has to what is bound.
template <class Set>
double OrderModel<Set>::grown(const Way& way, const Set& bound) const {
  Present present[2 * Set::kCapacity];
  int n = 0;
  Set seen;
  for (const Way& each : ways_[way.origin]) {
    if (!bound.has(each.origin) || n == 2 * Set::kCapacity) continue;
    if (problem.n_less == 0 && seen.has(each.origin)) continue;
    seen |= Set::of(each.origin);
    present[n++] = {each.sort, each.back};
  }
  return growth_of(way.origin, {way.far, way.there}, present, n) * (way.there == kFree ? 1.0 : 0.5);
}

// How much likelier an edge is at a vertex that has those `present`, of its own sort and of others. Sorts go together by the
// same hubs: what one says, others mostly repeat.
template <class Set>
double OrderModel<Set>::growth_of(int vertex, Present next, const Present* present, int n) const {
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

template <class Set>
Set OrderModel<Set>::near(const Set& part) const {
  Set found;
  for_each(part, [&](int vertex) { found |= adjacent[vertex]; });
  return found;
}

// ---------------------------------------------------------------- counted parts

template <class Set>
Set OrderModel<Set>::component(const Set& part) const {
  Set found, news = Set::of(part.first());
  while (news) {
    found |= news;
    news = (mentions(news) & part) - found;
  }
  return found;
}

template <class Set>
Set OrderModel<Set>::mentions(const Set& part) const {
  Set found;
  for_each(part, [&](int vertex) { found |= mentioned_[vertex]; });
  return found;
}

template <class Set>
double OrderModel<Set>::times(const Set& bound, const Set& part) {
  const double calls = rows(bound);
  const Set context = mentions(part) & bound;
  if (context == bound || bound.meets(given)) return calls;
  const int size = context.size();
  if (size > (constants.recalled > 0.0 ? 3 : 2)) return calls;
  const double distinct = std::min(calls, rows(context));
  if (constants.tabled && size <= 2 && root && context.contains(root)) return distinct;  // search_tables.cpp
  if (size > 2 && near(part).contains(context)) return distinct;  // no count of its own is kept, but those above it are
  const double kept = size > 2 ? constants.recalled : constants.remembered;
  return calls - (calls - distinct) * std::min(1.0, kept / std::max(distinct, 1.0));
}

template <class Set>
bool OrderModel<Set>::is_plain(const Set& bound, const Set& part) const {
  if (part.size() > 1) return false;
  const int vertex = part.first();
  return (adjacent[vertex] & bound).size() <= 1 && !filtered_.has(vertex);
}

template <class Set>
double OrderModel<Set>::entry(const Set& bound, const Set& part, const Set& newest) {
  if (is_plain(bound, part)) return size_cost(bound, part.first(), newest);
  return (mentions(part) & bound) != bound ? constants.look_up : 0.0;
}

// The cost of finding how many candidates there are: a list of an older vertex is at hand.
template <class Set>
double OrderModel<Set>::size_cost(const Set& bound, int vertex, const Set& newest) {
  const double cost = step(bound, vertex).cost;
  const Set origin = adjacent[vertex] & bound;
  const bool at_hand = newest && !origin.meets(newest) && origin.size() <= 1;
  return at_hand ? cost - constants.locate + constants.at_hand : cost;
}

template <class Set>
double OrderModel<Set>::formula(const Set& bound, const Set& part, const Set& newest) {
  if (part.size() == 1) return size_cost(bound, part.first(), newest);
  for (Set left = part; left; left -= Set::of(left.first())) {
    const int vertex = left.first();
    if (!different[vertex].contains(part - Set::of(vertex))) return kNoCost;
    if ((adjacent[vertex] | ordered[vertex]).meets(part)) return kNoCost;
    if (Set::from(problem.entangled + vertex * problem.words).meets(part - Set::of(vertex))) return kNoCost;
  }
  bool alike = true;
  for_each(part, [&](int vertex) { alike = alike && same_kind(part.first(), vertex, bound); });
  if (!alike && (part.size() > 3 || !constants.overlaps)) return kNoCost;
  double cost = 0.0, read = 0.0;
  for_each(part, [&](int vertex) {
    cost += size_cost(bound, vertex, newest);
    read += step(bound, vertex).size;
  });
  // Those of different candidates may meet: what these have in common is counted.
  return alike ? cost / part.size() : cost + constants.set_up + constants.read * read;
}

// Whether two vertices have the same candidates.
template <class Set>
bool OrderModel<Set>::same_kind(int some, int other, const Set& bound) const {
  if (some == other) return true;
  if (problem.kinds[some] != problem.kinds[other] || (ordered[some] & bound) != (ordered[other] & bound)) return false;
  const auto within = [&](int here, int there) {
    return std::all_of(ways_[here].begin(), ways_[here].end(), [&](const Way& way) {
      return !bound.has(way.origin) ||
             std::any_of(ways_[there].begin(), ways_[there].end(), [&](const Way& like) {
               return like.origin == way.origin && equal(*like.degrees, *way.degrees);
             });
    });
  };
  return within(some, other) && within(other, some);
}

template <class Set>
double OrderModel<Set>::wedge(const Set& bound, const Set& part, int first) {
  const Set rest = part - Set::of(first);
  if (!constants.wedges || bound.empty() || part.size() != 3) return kNoCost;
  const Set ends = adjacent[first] & rest;
  if (ends.empty() || ends == rest) return kNoCost;
  const int last = ends.last(), second = (rest - ends).last();
  if ((adjacent[last] & (bound | part)) != (Set::of(first) | Set::of(second)) || filtered_.has(last))
    return kNoCost;
  if ((different[last] | ordered[last]).meets(part)) return kNoCost;
  const auto ways = [&](int vertex) {
    const Step found = step(bound, vertex);
    const double each = constants.bind + constants.locate + constants.counter * step(bound | Set::of(vertex), last).size;
    return found.cost + found.size * each;
  };
  if (same_kind(first, second, bound | Set::of(last))) return ways(first);
  if ((different[first] | ordered[first]).has(second)) return kNoCost;
  return ways(first) + ways(second);
}

template class OrderModel<Bits<1>>;
template class OrderModel<Bits<kMaxOrdered / 64>>;

}  // namespace qe
