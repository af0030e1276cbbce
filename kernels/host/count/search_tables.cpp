// Branches whose components are looked up in tables by the branch's vertex.
//
// What hangs on a branch's vertex is counted anew for every vertex above it that leads there: the trees of a pattern, and
// the way back of a circle, whose count depends on the vertex that the circle began with, too. A table has an entry for
// each vertex that the branch's level can have. An entry holds as long as the other levels that the count depends on stay
// bound as they are: it says by the stamp of their last binding when it was made, so that nothing has to be cleared. In
// cyclic patterns this is dynamic programming over a tree decomposition whose bags are such vertices.
//
// Where all entries of a table would be looked up in one pass over the branch that begins a way back, there is none: the
// branch's vertices are pushed on with weights, level by level, and what meets at a vertex is added up.
//
// Preconditions: Node::table, which the tree says where nothing is lost that way. Bytes moved: 16 a vertex that is looked
// up. Memory: 16 bytes for each id between the first and the last of the level, for each of the components and workers.
#include <algorithm>

#include "search/search_run.h"
#include "search/search_worker.h"

namespace qe {
namespace {

constexpr size_t kLookUpCost = 2;                     // in ids read
constexpr size_t kMostEntries = size_t{1} << 20;      // of a table: 16 MiB
constexpr size_t kShare = 16;                         // a table is made for so many times fewer look-ups than it has entries
constexpr size_t kPending = 64;                       // sums that are fetched together before they grow
constexpr size_t kSeenApart = 4096;  // ids that are added up before it is known whether they meet
constexpr size_t kFewMeet = 16;      // that one in so many does isn't worth adding up
constexpr size_t kAhead = 8;                          // entries of tables that are fetched before they are read

}  // namespace

// The table of a component for its counts as things stand, from id `lo` of the branch's level on. Without entries where
// there is none: it may not pay yet, or there is no memory.
Worker::Column Worker::column(const Node& child, size_t entries, size_t look_ups) {
  Column column{nullptr, 1};
  if (child.table < 0 || child.levels[0] == split_level_) return column;
  Table& table = tables_[static_cast<size_t>(child.table)];
  if (table.counts.capacity() == 0) {
    table.asked += look_ups;
    if (entries > kMostEntries || table.asked * kShare < entries) return column;
    if (!charge_.affords(entries * sizeof(Counted))) return column;
    std::fill_n(table.counts.reserve(entries, charge_), entries, Counted{0, 0});
  }
  column.counts = table.counts.data();
  for (size_t k = 0; k + 1 < child.context.size(); ++k)
    column.stamp = std::max(column.stamp, stamp_[child.context[k]]);
  return column;
}

// The product of the counts of a branch's children for its vertex x, but for the child `besides`. Counts that stand in no
// table yet are found with the level bound to x.
uint64_t Worker::product_at(const Node& node, const Column* columns, uint32_t x, int besides) {
  const int level = node.levels[0];
  uint64_t product = 1;
  bool bound = false;
  for (size_t k = 0; k < node.children.size() && product > 0; ++k) {
    if (static_cast<int>(k) == besides) continue;
    Counted* known = columns[k].counts == nullptr ? nullptr : columns[k].counts + (x - info(level).lo);
    if (known != nullptr && known->stamp == columns[k].stamp) {
      product = product == 1 ? known->count : times(product, known->count);
      continue;
    }
    if (!bound) {
      spend(kBindCost);
      bind(level, x);
      bound = true;
    }
    const Node& child = node.children[k];
    const uint64_t found = known == nullptr ? count(child) : count_anew(child);
    if (known != nullptr) *known = {columns[k].stamp, found};
    product = times(product, found);
  }
  return product;
}

void Worker::fill_columns(const Node& node, size_t look_ups, Column* columns) {
  const LevelInfo& of = info(node.levels[0]);
  for (size_t k = 0; k < node.children.size(); ++k) columns[k] = column(node.children[k], of.hi - of.lo, look_ups);
}

// The sum over the set, candidates of the branch that may be filtered, of the product of its children's counts.
uint64_t Worker::sum_by_tables(const Node& node, Set set) {
  const int level = node.levels[0];
  const bool every = !info(level).filtered && info(level).avoided.empty();
  const Stride by = stride(level);
  Column columns[kMostColumns];
  fill_columns(node, set.n, columns);
  if (node.through >= 0 && node.children[static_cast<size_t>(node.through)].once) {
    Pushed& from = pushed(level, false);
    size_t n = 0;
    for (size_t i = by.first; i < set.n; i += by.step)
      if (every || passes(level, set.data[i])) from.ids.data()[n++] = set.data[i];
    std::fill_n(from.weights.data(), n, uint64_t{1});
    return push_on(node, columns, n);
  }
  uint64_t sum = 0;
  for (size_t i = by.first; i < set.n; i += by.step) {
    const uint32_t x = set.data[i];
    if (!every && !passes(level, x)) continue;
    frame(level).at = i;
    add_to(sum, product_at(node, columns, x, -1));
    spend(kLookUpCost);
  }
  return sum;
}

// The vertices that a level is pushed to, and their weights; with `sums`, which are all 0 between uses, to add these up.
Worker::Pushed& Worker::pushed(int level, bool sums) {
  Pushed& to = pushed_[static_cast<size_t>(level)];
  const size_t span = info(level).hi - info(level).lo;
  to.ids.reserve(span, charge_);
  to.weights.reserve(span, charge_);
  if (sums && to.sums.capacity() == 0) std::fill_n(to.sums.reserve(span, charge_), span, uint64_t{0});
  return to;
}

// The sum over the first n vertices that the branch's level is pushed to, of weight times the counts of its children.
uint64_t Worker::push_on(const Node& node, const Column* columns, size_t n) {
  const int level = node.levels[0];
  Pushed& at = pushed_[static_cast<size_t>(level)];
  uint32_t* ids = at.ids.data();
  uint64_t* weights = at.weights.data();
  uint64_t sum = 0;
  size_t kept = 0;
  for (size_t i = 0; i < n; ++i) {
    if (i + kAhead < n) {
      for (size_t k = 0; k < node.children.size(); ++k)
        if (columns[k].counts != nullptr) __builtin_prefetch(columns[k].counts + (ids[i + kAhead] - info(level).lo));
    }
    const uint64_t weight = times(weights[i], product_at(node, columns, ids[i], node.through));
    ids[kept] = ids[i];
    weights[kept] = weight;
    kept += weight > 0;
    if (node.through < 0) add_to(sum, weight);
  }
  spend(kLookUpCost * n);
  return node.through < 0 ? sum : push(node.children[static_cast<size_t>(node.through)], level, kept);
}

// The view of level `from` that a level's candidates are, null where they are something else.
const View* Worker::plain_view(int level, int from) const {
  const LevelInfo& of = info(level);
  const Operand& only = of.operands[0];
  if (of.operands.size() > 1 || only.from != From::kView || only.bounded() || only.clip || of.check_ranges) return nullptr;
  const View& view = plan_.views[static_cast<size_t>(only.index)];
  return view.level == from ? &view : nullptr;
}

Set Worker::list_at(const View& view, uint32_t v) {
  return neighbours(view, views_[static_cast<size_t>(&view - plan_.views.data())], v);
}

// The sum over the first n vertices that level `from` is pushed to, of weight times the component's count.
uint64_t Worker::push(const Node& node, int from, size_t n) {
  const int level = node.levels[0];
  const LevelInfo& of = info(level);
  const uint32_t* xs = pushed_[static_cast<size_t>(from)].ids.data();
  const uint64_t* weights = pushed_[static_cast<size_t>(from)].weights.data();
  if (node.shape == NodeKind::kLeaf) {
    uint64_t sum = 0;
    const View* view = node.end ? &plan_.views[static_cast<size_t>(of.operands.back().index)] : nullptr;
    if (view != nullptr && !view->below && !view->above) {
      const Set staying = staying_part(from, node);
      if (staying.n == 0) return 0;
      uint32_t* counts = ends_.counts.reserve(n, charge_);
      count_common(*view, staying, {xs, n}, counts);
      for (size_t i = 0; i < n; ++i) add_to(sum, times(weights[i], counts[i]));
      return sum;
    }
    for (size_t i = 0; i < n; ++i) {
      spend(kBindCost);
      bind(from, xs[i]);
      add_to(sum, times(weights[i], count_candidates(level)));
    }
    return sum;
  }
  const bool every = !of.filtered && of.avoided.empty();
  Pushed& to = pushed(level, true);
  const size_t span = of.hi - of.lo;
  const bool apart = to.came > kSeenApart && to.came - to.met < to.came / kFewMeet;
  uint64_t* sums = to.sums.data();
  uint64_t sum = 0;
  size_t came = 0, met = 0, pending = 0;
  uint32_t ys[kPending];
  uint64_t more[kPending];
  const auto go_on = [&] {
    Column columns[kMostColumns];
    fill_columns(node, met, columns);
    add_to(sum, push_on(node, columns, met));
    met = 0;
  };
  const auto settle = [&] {
    for (size_t k = 0; k < pending; ++k) {
      uint64_t& sum = sums[ys[k] - of.lo];
      if (sum == 0) to.ids.data()[met++] = ys[k];
      add_to(sum, more[k]);
    }
    pending = 0;
  };
  // Where hardly any have met, ids that come go on as they are, some together.
  const auto take = [&](uint32_t y, uint64_t weight) {
    if (apart) {
      to.ids.data()[met] = y;
      to.weights.data()[met] = weight;
      if (++met == span) go_on();
      return;
    }
    __builtin_prefetch(sums + (y - of.lo), 1);
    ys[pending] = y;
    more[pending] = weight;
    if (++pending == kPending) settle();
  };
  const View* view = every ? plain_view(level, from) : nullptr;
  for (size_t i = 0; i < n; ++i) {
    if (view == nullptr) bind(from, xs[i]);
    else prefetch(*view, {xs, n}, i);
    const Set set = view == nullptr ? candidates(level) : list_at(*view, xs[i]);
    for (size_t k = 0; k < set.n; ++k) {
      const uint32_t y = set.data[k];
      if (!every && !passes(level, y)) continue;
      take(y, weights[i]);
    }
    came += set.n;
    spend(kLookUpCost + set.n);
  }
  settle();
  if (!apart) {
    to.came += came;
    to.met += met;
    for (size_t i = 0; i < met; ++i) {
      uint64_t& of_id = sums[to.ids.data()[i] - of.lo];
      to.weights.data()[i] = of_id;
      of_id = 0;
    }
  }
  go_on();
  return sum;
}

}  // namespace qe
