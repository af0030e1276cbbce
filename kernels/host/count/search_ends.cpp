// Counting the ends of a branch: for each vertex x of its candidates, how many members of a set that stays the same lie in
// x's list. Triangles, diamonds and the last levels of most dense patterns are of this form.
//
// Preconditions: SearchPlan's Node::ends. The set is marked in a bitmap once; each list is looked up in it, or where the
// list's head has a row (search_heads.cpp), that is ANDed with the marks. Few members are looked up in the rows instead.
// Bytes moved: 64 a 512 ids of the span that row and set share, and 4 for each id of a list that has no row or is past it.
#include <algorithm>

#include "search/search_run.h"
#include "search/search_worker.h"

namespace qe {
namespace {

constexpr size_t kFewVertices = 3, kFewMembers = 8;  // for which marking the set doesn't pay

// Ways to choose the levels of the child from n candidates.
uint64_t arrangements(const Node& child, uint64_t n) {
  return child.chosen > 0 ? combinations(n, child.chosen) : falling(n, child.levels.size());
}

// The arrangements that n counts allow.
uint64_t sum_ends(const Node& child, const uint32_t* counts, size_t n) {
  uint64_t sum = 0;
  if (child.levels.size() == 1 && child.chosen == 0) {
    for (size_t i = 0; i < n; ++i) sum += counts[i];  // below 2^64: both factors are below 2^32
  } else {
    for (size_t i = 0; i < n; ++i) add_to(sum, arrangements(child, counts[i]));
  }
  return sum;
}

}  // namespace

// Every parts-th of the set, where the level is the one whose candidates are dealt to several workers.
Set Worker::own_share(int level, Set set) {
  const Stride by = stride(level);
  if (by.step == 1) return set;
  uint32_t* out = ends_.share.reserve(set.n, charge_);
  size_t n = 0;
  for (size_t i = by.first; i < set.n; i += by.step) out[n++] = set.data[i];
  return {out, n};
}

// The members of the child's candidates that don't depend on the branch's vertex, without those that are forbidden.
Set Worker::staying_part(int level, const Node& child) {
  const int leaf = child.levels[0];
  const LevelInfo& of = info(leaf);
  Set set = partial(leaf, of.operands.size() - 2);
  // A cut by the branch's own position is a bound that the list satisfies.
  if (of.cut != From::kCandidates && of.operands[0].index != level) set = cut_part(of);
  set = bounded(set, of.rest_less, of.rest_greater, level);
  for (const Avoided& other : of.avoided) {
    const uint32_t v = vertex(other.level);
    const size_t at = lower_bound(set.data, set.n, v);
    if (at == set.n || set.data[at] != v) continue;
    uint32_t* out = ends_.staying.reserve(set.n, charge_);
    if (set.data != out) std::copy_n(set.data, at, out);
    std::copy(set.data + at + 1, set.data + set.n, out + at);
    set = {out, set.n - 1};
  }
  return set;
}

// The marks: a bitmap from the view's first id on, with room for any row. All 0.
uint64_t* Worker::end_marks(const View& view) {
  const size_t span = ((view.hi - (view.lo & ~63u)) >> 6) + 1 + 2 * kRowBlock;
  if (ends_.bits.capacity() < span) {
    ends_.bits.reserve(span, charge_);
    std::fill_n(ends_.bits.data(), ends_.bits.capacity(), uint64_t{0});
  }
  return aligned(ends_.bits.data());
}

// counts[i]: how many of `staying` are in the view of the set's i-th vertex, by looking lists up in marks of `staying`.
void Worker::count_marked(const View& view, Set staying, Set set, uint32_t* counts) {
  const uint32_t first = view.lo & ~63u;
  uint64_t* bits = end_marks(view);
  for (size_t i = 0; i < staying.n; ++i) bits[(staying.data[i] - first) >> 6] |= uint64_t{1} << (staying.data[i] & 63);
  // Words outside [skip, end) hold no marks.
  const size_t skip = ((staying.data[0] - first) >> 6) / kRowBlock * kRowBlock;
  const size_t end = (((staying.data[staying.n - 1] - first) >> 6) / kRowBlock + 1) * kRowBlock;
  BitRow* rows = ends_.rows.reserve(set.n, charge_);
  uint32_t* places = ends_.places.reserve(set.n, charge_);
  Heads& heads = this->heads(view);
  ViewState& state = views_[static_cast<size_t>(&view - plan_.views.data())];
  const uint64_t* bit_zero = bits - (first >> 6);
  size_t n = 0, cost = 0;
  for (size_t i = 0; i < set.n; ++i) {
    const uint32_t x = set.data[i];
    prefetch(view, set, i);
    size_t passed = 0;
    if (const Head* at = heads.find(x)) {
      const size_t words = std::min<size_t>(at->words, end);
      rows[n] = {heads.row(*at) + skip, words > skip ? words - skip : 0};
      places[n++] = static_cast<uint32_t>(i);
      cost += words / 4;
      counts[i] = 0;  // grows by the row's
      passed = at->tail;
      if (passed == 0 || end <= at->words) continue;
    }
    Set list = neighbours(view, state, x);
    if (passed == 0) make_head(view, x, list);
    list = {list.data + passed, list.n - passed};
    const bool gallops = list.n > staying.n * kGallopRatio;
    const size_t found = gallops ? gallop_count(staying.data, staying.n, list.data, list.n)
                                 : ops_.filter_count(bit_zero, list.data, list.n);
    counts[i] = static_cast<uint32_t>(found);
    spend(kBindCost + (gallops ? staying.n * kGallopRatio : list.n));
  }
  ops_.row_counts(bits + skip, rows, n, places, counts);
  for (size_t i = 0; i < staying.n; ++i) bits[(staying.data[i] - first) >> 6] = 0;
  spend(kBindCost / 4 * set.n + 2 * staying.n + cost);
}

// The same vertex by vertex: the set's few members are looked up in the rows, or the lists merged.
void Worker::count_each(const View& view, Set staying, Set set, uint32_t* counts) {
  Heads& heads = this->heads(view);
  ViewState& state = views_[static_cast<size_t>(&view - plan_.views.data())];
  for (size_t i = 0; i < set.n; ++i) {
    const uint32_t x = set.data[i];
    prefetch(view, set, i);
    Set rest = staying;
    size_t found = 0, passed = 0;
    const Head* at = heads.find(x);
    if (at != nullptr) {
      const Set inside = before(staying, heads.end(*at));
      found = ops_.filter_count(heads.row(*at) - (heads.first >> 6), inside.data, inside.n);
      spend(kBindCost / 4 + inside.n);
      passed = at->tail;
      rest = passed > 0 ? Set{staying.data + inside.n, staying.n - inside.n} : Set{nullptr, 0};
    }
    if (rest.n > 0) {
      Set list = neighbours(view, state, x);
      if (at == nullptr) make_head(view, x, list);
      list = {list.data + passed, list.n - passed};
      found += intersect_count(ops_, rest.data, rest.n, list.data, list.n);
      spend(kBindCost + std::min(rest.n + list.n, kGallopRatio * std::min(rest.n, list.n)));
    }
    counts[i] = static_cast<uint32_t>(found);
  }
}

// The same where lists are columns: the one neighbour of each vertex is looked up in the marks.
void Worker::count_column(const View& view, Set staying, Set set, uint32_t* counts) {
  const Pcsr& list = match_.lists[match_.list_ids[view.lists.first]];
  const uint32_t first = view.lo & ~63u;
  uint64_t* bits = end_marks(view);
  for (size_t i = 0; i < staying.n; ++i) bits[(staying.data[i] - first) >> 6] |= uint64_t{1} << (staying.data[i] & 63);
  for (size_t i = 0; i < set.n; ++i) {
    prefetch_list(list, set, i);
    const Slice at = locate(list, set.data[i]);
    const uint32_t y = at.end > at.begin ? list.neighbours[at.begin] : kNoVertex;
    counts[i] = y >= view.lo && y < view.hi ? bits[(y - first) >> 6] >> (y & 63) & 1 : 0;
  }
  for (size_t i = 0; i < staying.n; ++i) bits[(staying.data[i] - first) >> 6] = 0;
  spend(kBindCost / 4 * set.n + 2 * staying.n);
}

// Without those at the ends of the set whose lists are bounded to ids that the staying part has none of.
Set Worker::meeting(const View& view, Set set, Set staying) {
  size_t begin = 0, end = set.n;
  while (view.below && begin < end && set.data[begin] <= staying.data[0]) ++begin;
  while (view.above && begin < end && set.data[end - 1] >= staying.data[staying.n - 1]) --end;
  return {set.data + begin, end - begin};
}

void Worker::count_common(const View& view, Set staying, Set set, uint32_t* counts) {
  const Set met = meeting(view, set, staying);
  uint32_t* to = counts + (met.data - set.data);
  std::fill(counts, to, 0);
  std::fill(to + met.n, counts + set.n, 0);
  const bool column = view.unique && has_columns(match_.lists[match_.list_ids[view.lists.first]]);
  if (column && !view.below && !view.above && met.n >= staying.n) count_column(view, staying, met, to);
  else if (met.n < kFewVertices || staying.n < kFewMembers) count_each(view, staying, met, to);
  else count_marked(view, staying, met, to);
}

uint64_t Worker::count_ends(const Node& branch) {
  const int level = branch.levels[0];
  const Set set = own_share(level, admitted(level));
  if (set.n == 0) return 0;
  uint32_t* counts = ends_.counts.reserve(set.n, charge_);
  uint64_t* products = ends_.products.reserve(branch.children.size() > 1 ? set.n : 0, charge_);
  for (const Node& child : branch.children) {
    const Set staying = staying_part(level, child);
    if (staying.n == 0) return 0;
    count_common(plan_.views[static_cast<size_t>(info(child.levels[0]).operands.back().index)], staying, set, counts);
    if (branch.children.size() == 1) return sum_ends(child, counts, set.n);
    if (&child == &branch.children[0]) std::fill_n(products, set.n, uint64_t{1});
    for (size_t i = 0; i < set.n; ++i) products[i] = times(products[i], arrangements(child, counts[i]));
  }
  uint64_t sum = 0;
  for (size_t i = 0; i < set.n; ++i) add_to(sum, products[i]);
  return sum;
}

}  // namespace qe
