// Counting the ways round a square: two levels b and c, each with candidates of its own, and a last level d that is a
// neighbour of both. Instead of intersecting the lists of every pair (b, c), each list is read once: a counter for each
// vertex d says in how many lists it came, and each time that it comes again the count of pairs grows by that number.
//
// Preconditions: SearchPlan's Node::wedge. Bytes moved: each candidate's list once, and a counter for each entry, at random.
// A square costs the wedges below its first vertex: with ids by descending degree and the first vertex the least, few.
// Source: priority wedge counting (Chiba and Nishizeki 1985; Wang et al., VLDB 2019).
#include <algorithm>

#include "search_run.h"
#include "search_worker.h"

namespace qe {

// The operand of level d that is a view of level `from`.
const Operand& Worker::operand_at(int d, int from) const {
  const std::vector<Operand>& operands = info(d).operands;
  return plan_.views[static_cast<size_t>(operands[0].index)].level == from ? operands[0] : operands[1];
}

// What d can be for one vertex of the operand's level, but for the ids from `bounds.end` on: looking for where these begin
// would cost more than stopping there.
Set Worker::wedge_list(const Operand& operand, uint32_t v, PlanRange bounds) {
  const View& view = plan_.views[static_cast<size_t>(operand.index)];
  ViewState& state = views_[static_cast<size_t>(operand.index)];
  const Set list = neighbours(view, state, v);
  if (!view.unique) state.stamp = 0;  // its buffer is used again
  const size_t skip = bounds.begin > 0 ? lower_bound(list.data, list.n, bounds.begin) : 0;
  return {list.data + skip, list.n - skip};
}

// The ids that the levels above allow d.
PlanRange Worker::wedge_bounds(int d) const {
  const LevelInfo& of = info(d);
  PlanRange bounds{0, of.hi};
  for (Levels rest = of.less; rest; rest &= rest - 1) bounds.end = std::min(bounds.end, vertex(__builtin_ctzll(rest)));
  for (Levels rest = of.greater; rest; rest &= rest - 1)
    bounds.begin = std::max(bounds.begin, vertex(__builtin_ctzll(rest)) + 1);
  return bounds;
}

// Reads the lists of the set's vertices: returns how often their members had come before, and counts each once more if
// `count`. *read grows by the members.
uint64_t Worker::add_wedges(int d, int from, Set set, bool count, size_t* read) {
  const Operand& operand = operand_at(d, from);
  const PlanRange bounds = wedge_bounds(d);
  uint32_t* counters = wedges_.data();
  const uint32_t lo = info(d).lo;
  uint64_t sum = 0;
  for (size_t i = 0; i < set.n; ++i) {
    prefetch(info(from), set, i);
    const Set list = wedge_list(operand, set.data[i], bounds);
    uint64_t before = 0;
    size_t k = 0;
    if (count) {
      for (; k < list.n && list.data[k] < bounds.end; ++k) before += counters[list.data[k] - lo]++;
    } else {
      for (; k < list.n && list.data[k] < bounds.end; ++k) before += counters[list.data[k] - lo];
    }
    add_to(sum, before);
    *read += k;
    spend(kBindCost + 4 * k);
  }
  return sum;
}

void Worker::clear_wedges(int d, int from, Set set, size_t read) {
  const LevelInfo& of = info(d);
  uint32_t* counters = wedges_.data();
  if (read > (of.hi - of.lo) / 8) {
    std::fill_n(counters, of.hi - of.lo, 0);
    return;
  }
  const Operand& operand = operand_at(d, from);
  const PlanRange bounds = wedge_bounds(d);
  for (size_t i = 0; i < set.n; ++i) {
    const Set list = wedge_list(operand, set.data[i], bounds);
    for (size_t k = 0; k < list.n && list.data[k] < bounds.end; ++k) counters[list.data[k] - of.lo] = 0;
  }
}

// Takes the counters of the vertices that d must not be.
std::vector<uint32_t> Worker::take_forbidden(int d) {
  std::vector<uint32_t> taken;
  for (int level : info(d).different) {
    const uint32_t v = vertex(level);
    if (v < info(d).lo || v >= info(d).hi) continue;
    uint32_t& counter = wedges_.data()[v - info(d).lo];
    if (counter > 0) taken.push_back(counter);
    counter = 0;
  }
  return taken;
}

uint64_t Worker::count_wedge(const Node& node) {
  const int b = node.levels[0], c = node.children[0].levels[0], d = node.children[0].children[0].levels[0];
  if (b == split_level_ && part_ > 0) return 0;  // one worker does it all: reading the lists once is little work
  const Set firsts = admitted(b, 0);
  const size_t span = info(d).hi - info(d).lo;
  if (wedges_.capacity() < span) {
    wedges_.reserve(span, charge_);
    std::fill_n(wedges_.data(), wedges_.capacity(), 0);
  }
  size_t read = 0;
  uint64_t pairs = add_wedges(d, b, firsts, true, &read);
  const size_t entries = read;
  const std::vector<uint32_t> taken = take_forbidden(d);
  if (node.wedge == Wedge::kApart) {
    size_t more = 0;
    pairs = add_wedges(d, c, admitted(c, 0), false, &more);
    clear_wedges(d, b, firsts, read);
    return pairs;
  }
  clear_wedges(d, b, firsts, read);
  uint64_t left = entries;
  for (const uint64_t counter : taken) {
    pairs -= counter * (counter - 1) / 2;
    left -= counter;
  }
  if (node.wedge == Wedge::kOrdered) return pairs;
  pairs = times(pairs, 2);
  if (node.wedge == Wedge::kEqual) add_to(pairs, left);
  return pairs;
}

}  // namespace qe
