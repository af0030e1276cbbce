// Elimination around roots that reach the same few hubs. A hub's row is pushed once for all roots, and on through all nodes:
// what a node hands on around a root is a sparse vector, of what comes by other vertices, and some hubs' dense vectors times
// how often the root reaches the hubs there. A top's sum is made of products of sparse vectors, of places of dense ones, and
// of numbers that follow from two hubs; of powers above squares, from what the root reaches of hubs, which are remembered.
//
// It takes plans of chains: nodes that have one node below them, as closed walks have, and tops that are products of two or
// powers of one, since what hubs hand on adds up as long as nothing is multiplied. Where all vertices are neighbours of one,
// pushing its row around each takes the square of their number.
// Bytes moved: for each hub and node the node's link, once for each node below it, and for each root what it pushes by other
// vertices, with a number at random for each hub that it reaches. Deterministic.
// Sources: sets of few heavy and many light values, as in Alon, Yuster and Zwick 1997; Gustavson 1978.
#include "count/eliminate_heavy.h"

#include <map>
#include <optional>
#include <utility>

namespace qe::eliminate {
namespace {

constexpr size_t kMostHeavy = 8;
constexpr uint64_t kMuch = 16;   // times a node's link: what roots push by a hub
constexpr double kShare = 0.75;  // of what roots push
constexpr size_t kMostRemembered = 256;         // sums of powers, a worker
constexpr size_t kMostHeld = size_t{1} << 30;  // bytes

// Is a top's vector what one node hands on, to some power?
bool is_power(const ForestPlan& plan, const ForestNode& top) {
  const int32_t* children = plan.children + top.first;
  return top.start < 0 && top.count > 2 && std::count(children, children + top.count, children[0]) == top.count;
}

// Can hubs' vectors be added up?
bool is_chains(const ForestPlan& plan) {
  std::vector<bool> handed(static_cast<size_t>(plan.n_nodes), false);
  for (int k = 0; k < plan.n_nodes; ++k) {
    const ForestNode& at = plan.nodes[k];
    for (int j = 0; j < at.count; ++j) handed[static_cast<size_t>(plan.children[at.first + j])] = true;
  }
  for (int k = 0; k < plan.n_tops; ++k)
    if (handed[static_cast<size_t>(plan.tops[k])]) return false;
  for (int k = 0; k < plan.n_nodes; ++k) {
    const ForestNode& at = plan.nodes[k];
    const int given = at.count + (at.start >= 0);
    const bool is_top = !handed[static_cast<size_t>(k)];
    const bool multiplies = at.count == 2 || (at.count == 1 && given == 2) || is_power(plan, at);
    if (is_top ? !multiplies : given != 1) return false;
  }
  return plan.n_tops > 0;
}

// What the roots push by each vertex, added up over all nodes that start with a row.
std::vector<uint64_t> pushed_by_vertex(const ForestPlan& plan, const std::vector<uint32_t>& roots, uint64_t& total) {
  std::vector<uint64_t> pushed(plan.n, 0);
  for (int k = 0; k < plan.n_nodes; ++k) {
    const ForestNode& at = plan.nodes[k];
    if (at.start < 0 || at.link < 0) continue;
    const Matrix &start = plan.matrices[at.start], &link = plan.matrices[at.link];
    for (const uint32_t u : roots) {
      const Slice entries = row(start, u);
      for (uint64_t e = entries.begin; e < entries.end; ++e) {
        const Slice next = row(link, start.ids[e]);
        pushed[start.ids[e]] += next.end - next.begin;
        total += next.end - next.begin;
      }
    }
  }
  return pushed;
}

// What hubs hand on. A node's vectors are numbered: first those that begin at the first node of its chain, one a hub.
template <typename V>
class HeavyVectors {
 public:
  HeavyVectors(const ForestPlan& plan, const std::vector<uint32_t>& heavy, Control* control)
      : plan_(plan), heavy_(heavy), place_(plan.n, kLight), handed_(static_cast<size_t>(plan.n_nodes)),
        products_(static_cast<size_t>(plan.n_nodes)), patience_(control, 1 << 20) {
    for (size_t h = 0; h < heavy.size(); ++h) place_[heavy[h]] = static_cast<uint8_t>(h);
    for (int k = 0; k < plan.n_nodes; ++k) {
      if (node(k).link >= 0) hand_on(k);
      else if (node(k).start < 0 && node(k).count == 2) multiply(k);
    }
  }

  static size_t bytes(const ForestPlan& plan, size_t heavy) {
    const auto nodes = static_cast<size_t>(plan.n_nodes);
    return plan.n * (1 + heavy * nodes * (nodes + 1) / 2 * sizeof(V));
  }

  static constexpr uint8_t kLight = 255;
  // A vertex's place among the hubs.
  uint8_t place(uint32_t v) const { return place_[v]; }
  size_t hubs() const { return heavy_.size(); }
  // How many vectors a node hands on.
  size_t count(int32_t k) const { return handed_[static_cast<size_t>(k)].size(); }
  V at(int32_t k, size_t vector, uint32_t v) const { return handed_[static_cast<size_t>(k)][vector][v]; }
  // The sum of the products of two vectors that a top is handed.
  V product(int32_t top, size_t one, size_t other) const {
    const ForestNode& at = node(top);
    return products_[static_cast<size_t>(top)][one * count(plan_.children[at.first + 1]) + other];
  }

 private:
  const ForestNode& node(int32_t k) const { return plan_.nodes[k]; }
  const V* factors(int32_t k) const { return node(k).vector < 0 ? nullptr : static_cast<const V*>(plan_.vectors[node(k).vector]); }

  void hand_on(int32_t k) {
    const Matrix& link = plan_.matrices[node(k).link];
    std::vector<std::vector<V>>& made = handed_[static_cast<size_t>(k)];
    const V* weights = factors(k);
    if (node(k).count > 0) {
      for (const std::vector<V>& below : handed_[static_cast<size_t>(plan_.children[node(k).first])]) {
        std::vector<V> sums(plan_.n, V{0});
        for (uint32_t v = 0; v < plan_.n; ++v)
          if (below[v] != 0) add(link, v, weights ? times(below[v], weights[v]) : below[v], sums);
        made.push_back(std::move(sums));
      }
    }
    for (const uint32_t h : heavy_) {
      std::vector<V> sums(plan_.n, V{0});
      add(link, h, V{1}, sums);
      made.push_back(std::move(sums));
    }
  }

  void add(const Matrix& link, uint32_t v, V number, std::vector<V>& sums) {
    const Slice at = row(link, v);
    for (uint64_t e = at.begin; e < at.end; ++e) sums[link.ids[e]] = plus(sums[link.ids[e]], times(number, value<V>(link, e)));
    patience_.spend(at.end - at.begin + 1);
  }

  void multiply(int32_t top) {
    const int32_t one = plan_.children[node(top).first], other = plan_.children[node(top).first + 1];
    const V* weights = factors(top);
    for (const std::vector<V>& a : handed_[static_cast<size_t>(one)]) {
      for (const std::vector<V>& b : handed_[static_cast<size_t>(other)]) {
        V sum = 0;
        for (uint32_t v = 0; v < plan_.n; ++v) {
          if (a[v] == 0 || b[v] == 0 || (weights && weights[v] == 0)) continue;
          const V both = times(a[v], b[v]);
          sum = plus(sum, weights ? times(both, weights[v]) : both);
        }
        products_[static_cast<size_t>(top)].push_back(sum);
        patience_.spend(plan_.n);
      }
    }
  }

  const ForestPlan& plan_;
  const std::vector<uint32_t>& heavy_;
  std::vector<uint8_t> place_;
  std::vector<std::vector<std::vector<V>>> handed_;  // by node
  std::vector<std::vector<V>> products_;             // by top
  Patience patience_;
};

// What a node hands on around a root: an array's numbers, and vectors of hubs (places, how often).
template <typename V>
struct Handed {
  explicit Handed(uint32_t n) : light(n) {}

  Dense<V> light;
  std::vector<std::pair<size_t, V>> heavy;
};

template <typename V>
class HeavyRoots {
 public:
  HeavyRoots(const ForestPlan& plan, const HeavyVectors<V>& hubs, const std::vector<uint32_t>& roots, const WorkQueue& queue, V* out)
      : plan_(plan), hubs_(hubs), roots_(roots), patience_(queue, 1 << 20), out_(out), one_(plan.n), other_(plan.n) {}

  static size_t bytes(uint32_t n) { return n * (2 * (sizeof(V) + sizeof(uint32_t)) + sizeof(std::pair<uint32_t, V>)); }

  void root(uint32_t k) {
    V product = 1;
    for (int top = 0; top < plan_.n_tops && product != 0; ++top) product = times(product, total(plan_.tops[top], roots_[k]));
    out_[k] = product;
  }

 private:
  const ForestNode& node(int32_t k) const { return plan_.nodes[k]; }
  V weight(int32_t k, uint32_t v) const {
    return node(k).vector < 0 ? V{1} : static_cast<const V*>(plan_.vectors[node(k).vector])[v];
  }

  V total(int32_t top, uint32_t u) {
    const ForestNode& at = node(top);
    const int32_t first = plan_.children[at.first], last = plan_.children[at.first + at.count - 1];
    hand_on(first, u, one_);
    if (first != last) hand_on(last, u, other_);
    const Handed<V>& beside = first == last ? one_ : other_;
    V sum;
    if (at.start >= 0) sum = read_row(top, u, first, last, beside);
    else if (at.count > 2) sum = powers(top, first);
    else sum = first == last ? square(top, first) : product_of(top, first, last);
    one_.light.clear();
    if (first != last) other_.light.clear();
    return sum;
  }

  // What hubs add to a node's vector at v.
  V by_hubs(int32_t k, const Handed<V>& handed, uint32_t v) const {
    V sum = 0;
    for (const auto& [vector, often] : handed.heavy) sum = plus(sum, times(often, hubs_.at(k, vector, v)));
    return sum;
  }

  // Leaves what a node hands on in `to`, whose array is clear.
  void hand_on(int32_t k, uint32_t u, Handed<V>& to) {
    members_.clear();
    const ForestNode& at = node(k);
    if (at.count > 0) {
      hand_on(plan_.children[at.first], u, to);
      members_.clear();
      to.light.drain([&](uint32_t v, V number) { member(k, v, number); });
    } else {
      to.heavy.clear();
      const Matrix& start = plan_.matrices[at.start];
      const Slice entries = row(start, u);
      for (uint64_t e = entries.begin; e < entries.end; ++e) member(k, start.ids[e], value<V>(start, e));
    }
    push(k, to);
  }

  void member(int32_t k, uint32_t v, V number) {
    const V factor = weight(k, v);
    if (number != 0 && factor != 0) members_.emplace_back(v, times(number, factor));
  }

  void push(int32_t k, Handed<V>& to) {
    const Matrix& link = plan_.matrices[node(k).link];
    const size_t own = hubs_.count(k) - hubs_.hubs();  // its first vector that begins at this node
    uint64_t additions = 0;
    for (const auto& [v, number] : members_) {
      const Slice at = row(link, v);
      if (hubs_.place(v) == HeavyVectors<V>::kLight) additions += at.end - at.begin;
    }
    to.light.open(additions);
    for (const auto& [v, number] : members_) {
      if (hubs_.place(v) != HeavyVectors<V>::kLight) {
        to.heavy.emplace_back(own + hubs_.place(v), number);
        continue;
      }
      const Slice at = row(link, v);
      for (uint64_t e = at.begin; e < at.end; ++e) to.light.add_checked(link.ids[e], 0, times(number, value<V>(link, e)));
      patience_.spend(at.end - at.begin + 1);
    }
  }

  // The sum of the numbers of the root's row, each times what the top is handed there.
  V read_row(int32_t top, uint32_t u, int32_t first, int32_t last, const Handed<V>& beside) const {
    const Matrix& start = plan_.matrices[node(top).start];
    const Slice entries = row(start, u);
    V sum = 0;
    for (uint64_t e = entries.begin; e < entries.end; ++e) {
      const uint32_t v = start.ids[e];
      const V factor = weight(top, v) == 0 ? V{0} : value<V>(start, e);
      if (factor == 0) continue;
      V found = plus(one_.light[v], by_hubs(first, one_, v));
      if (node(top).count == 2 && found != 0) found = times(found, plus(beside.light[v], by_hubs(last, beside, v)));
      if (found != 0) sum = plus(sum, times(times(found, weight(top, v)), factor));
    }
    return sum;
  }

  V square(int32_t top, int32_t child) {
    V sum = 0;
    one_.light.each([&](uint32_t v, V number) {
      const V factor = weight(top, v);
      if (factor == 0) return;
      const V hubs = by_hubs(child, one_, v);
      sum = plus(sum, times(factor, times(number, plus(number, plus(hubs, hubs)))));
    });
    return plus(sum, among_hubs(top, one_, one_));
  }

  V powers(int32_t top, int32_t child) {
    const int exponent = node(top).count;
    V sum = powers_of_hubs(top, child);
    one_.light.each([&](uint32_t v, V number) {
      const V factor = weight(top, v);
      if (factor == 0) return;
      const V hubs = by_hubs(child, one_, v);
      sum = plus(sum, times(factor, power(plus(number, hubs), exponent) - power(hubs, exponent)));
    });
    return sum;
  }

  // The sum of the powers of what comes by hubs alone.
  V powers_of_hubs(int32_t top, int32_t child) {
    if (one_.heavy.empty()) return 0;
    if (remembered_.size() == kMostRemembered) remembered_.clear();
    const auto [place, made] = remembered_.try_emplace({top, one_.heavy}, V{0});
    if (!made) return place->second;
    V sum = 0;
    for (uint32_t v = 0; v < plan_.n; ++v) {
      const V factor = weight(top, v);
      const V hubs = factor == 0 ? V{0} : by_hubs(child, one_, v);
      if (hubs != 0) sum = plus(sum, times(factor, power(hubs, node(top).count)));
    }
    patience_.spend(plan_.n);
    return place->second = sum;
  }

  V product_of(int32_t top, int32_t first, int32_t last) {
    V sum = 0;
    one_.light.each([&](uint32_t v, V number) {
      const V factor = weight(top, v);
      const V there = factor == 0 ? V{0} : plus(other_.light[v], by_hubs(last, other_, v));
      if (there != 0) sum = plus(sum, times(factor, times(number, there)));
    });
    other_.light.each([&](uint32_t v, V number) {
      const V factor = weight(top, v);
      const V there = factor == 0 ? V{0} : by_hubs(first, one_, v);
      if (there != 0) sum = plus(sum, times(factor, times(number, there)));
    });
    return plus(sum, among_hubs(top, one_, other_));
  }

  V among_hubs(int32_t top, const Handed<V>& one, const Handed<V>& other) const {
    V sum = 0;
    for (const auto& [a, often] : one.heavy)
      for (const auto& [b, as_often] : other.heavy) {
        const V product = hubs_.product(top, a, b);
        if (product != 0) sum = plus(sum, times(times(often, as_often), product));
      }
    return sum;
  }

  const ForestPlan& plan_;
  const HeavyVectors<V>& hubs_;
  const std::vector<uint32_t>& roots_;
  Patience patience_;
  V* out_;
  Handed<V> one_, other_;
  std::vector<std::pair<uint32_t, V>> members_;
  std::map<std::pair<int32_t, std::vector<std::pair<size_t, V>>>, V> remembered_;  // sums of powers
};

}  // namespace

std::vector<uint32_t> choose_heavy(const ForestPlan& plan, const std::vector<uint32_t>& roots) {
  if (!is_chains(plan)) return {};
  uint64_t total = 0, most_entries = 0, by_hubs = 0;
  const std::vector<uint64_t> pushed = pushed_by_vertex(plan, roots, total);
  for (int k = 0; k < plan.n_nodes; ++k)
    if (plan.nodes[k].link >= 0) most_entries = std::max(most_entries, entries_of(plan.matrices[plan.nodes[k].link]));
  std::vector<uint32_t> heavy;
  for (uint32_t v = 0; v < plan.n; ++v)
    if (pushed[v] > kMuch * most_entries) heavy.push_back(v);
  std::stable_sort(heavy.begin(), heavy.end(), [&](uint32_t a, uint32_t b) { return pushed[a] > pushed[b]; });
  if (heavy.size() > kMostHeavy) heavy.resize(kMostHeavy);
  for (const uint32_t v : heavy) by_hubs += pushed[v];
  if (static_cast<double>(by_hubs) < kShare * static_cast<double>(total)) heavy.clear();
  return heavy;
}

template <typename V>
bool around_by_heavy(const ForestPlan& plan, const std::vector<uint32_t>& heavy, const std::vector<uint32_t>& roots, int threads,
                     V* out, Control* control) {
  Charge charge(control);
  const size_t held = HeavyVectors<V>::bytes(plan, heavy.size()) + static_cast<size_t>(threads) * HeavyRoots<V>::bytes(plan.n);
  if (held > kMostHeld || !charge.affords(held)) return false;
  charge.add(held);
  std::optional<HeavyVectors<V>> hubs;
  try {
    hubs.emplace(plan, heavy, control);
  } catch (const Halt& halt) {
    if (halt.status != kOverflow) throw;
    return false;
  }
  check(each_root(threads, control, roots.size(), 4,
                  [&](const WorkQueue& queue) { return HeavyRoots<V>(plan, *hubs, roots, queue, out); }));
  return true;
}

template bool around_by_heavy<Narrow>(const ForestPlan&, const std::vector<uint32_t>&, const std::vector<uint32_t>&, int, Narrow*,
                                      Control*);
template bool around_by_heavy<Wide>(const ForestPlan&, const std::vector<uint32_t>&, const std::vector<uint32_t>&, int, Wide*,
                                    Control*);

}  // namespace qe::eliminate
