// Counting the ways round a square: two levels b and c, each with candidates of its own, and a last level d that is a
// neighbour of both. Instead of intersecting the lists of every pair (b, c), each list is read once: a counter for each
// vertex d says in how many lists it came, and each time that it comes again the count of pairs grows by that number.
// Of many lists the heads that are kept as rows of bits (search_heads.cpp) are added to counters digit by digit, first.
//
// Preconditions: SearchPlan's Node::wedge. Bytes moved: each candidate's list once, or its row and tail, and a counter for
// each entry that is read, at random. A square costs the wedges below its first vertex: with ids by descending degree and
// the first vertex the least, few.
// Sources: priority wedge counting (Chiba and Nishizeki 1985; Wang et al., VLDB 2019); positional counts of bits
// (Klarqvist, Muła and Lemire 2021).
#include <algorithm>
#include <numeric>

#include "search/search_run.h"
#include "search/search_worker.h"

namespace qe {
namespace {

constexpr size_t kBlockBits = 64 * kRowBlock;
constexpr size_t kFewBlocks = 4;               // that lists which are long need to pay for
constexpr size_t kLine = 16;                   // ids
constexpr size_t kBatch = 32;                  // rows that are added at a time
constexpr size_t kMostRows = size_t{1} << 24;  // as spread_counters allows

// Clears the bits outside [begin, end) of counters of `words` words each.
void clear_outside(BitCounters counters, size_t words, size_t begin, size_t end) {
  for (size_t w = 0; w < words; ++w) {
    uint64_t kept = ~uint64_t{0};
    if (64 * w < begin) kept &= begin >= 64 * w + 64 ? 0 : ~uint64_t{0} << (begin & 63);
    if (64 * w + 64 > end) kept &= end <= 64 * w ? 0 : ~uint64_t{0} >> (64 - (end & 63));
    if (kept == ~uint64_t{0}) continue;
    uint64_t* at = counters.words + w / kRowBlock * counters.digits * kRowBlock + w % kRowBlock;
    for (size_t k = 0; k < counters.digits; ++k) at[k * kRowBlock] &= kept;
  }
}

}  // namespace

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
  for (int level : of.less) bounds.end = std::min(bounds.end, vertex(level));
  for (int level : of.greater) bounds.begin = std::max(bounds.begin, vertex(level) + 1);
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
    spend(kBindCost);
    if (count) {
      add_to(sum, add_wedge_list(list, bounds.end, lo, read));
      continue;
    }
    uint64_t before = 0;
    size_t k = 0;
    for (; k < list.n && list.data[k] < bounds.end; ++k) before += counters[list.data[k] - lo];
    add_to(sum, before);
    *read += k;
    spend(4 * k);
  }
  return sum;
}

// Adds the heads of the set's lists, as far as there are rows of bits for them, to the counters, and notes what is left of
// the lists. Nothing has been counted before. Returns how often members had come before; false: there is nothing to gain.
bool Worker::add_wedge_rows(int d, int from, Set set, uint64_t* pairs, size_t* read) {
  const Operand& operand = operand_at(d, from);
  const View& view = plan_.views[static_cast<size_t>(operand.index)];
  if (!view.unique || set.n * kLongList < kFewBlocks * kRowBlock * ops_.spread_cost || set.n >= kMostRows) return false;
  Heads& heads = this->heads(view);
  const PlanRange bounds = wedge_bounds(d);
  const size_t begin = std::max(bounds.begin, std::max(info(d).lo, heads.first)) - heads.first;
  const size_t end = bounds.end > heads.first ? std::min<size_t>(bounds.end - heads.first, 64 * heads.row_words) : 0;
  if (heads.places.capacity() == 0 || begin >= end) return false;
  const size_t skipped = begin / kBlockBits * kRowBlock, most = rounded((end + 63) / 64) - skipped;

  WedgeRows& scratch = wedge_rows_;
  size_t digits = kLeastDigits;
  while (set.n >> digits) ++digits;
  const BitCounters counters{aligned(scratch.digits.reserve(most * digits + kRowBlock, charge_)), digits};
  std::fill_n(counters.words, most * digits, uint64_t{0});
  Set* rest = scratch.rest.reserve(set.n, charge_);
  BitRow batch[kBatch];
  size_t added = 0, words = 0;
  scratch.n = 0;
  for (size_t i = 0; i < set.n; ++i) {
    prefetch(info(from), set, i);
    if (i + kNear < set.n) {
      const uint32_t next = set.data[i + kNear];
      if (const Head* row = heads.find(next))
        for (size_t w = skipped; w < row->words; w += kRowBlock) __builtin_prefetch(heads.row(*row) + w);
    }
    const uint32_t x = set.data[i];
    const Set list = neighbours(view, views_[static_cast<size_t>(operand.index)], x);
    size_t passed = 0;
    if (const Head* row = heads.find(x)) {
      passed = row->tail > 0 ? row->tail : list.n;
      const size_t own = std::min<size_t>(row->words, skipped + most);
      if (own > skipped) {
        batch[added++] = {heads.row(*row) + skipped, own - skipped};
        words = std::max(words, own - skipped);
      }
      if (added == kBatch) {
        ops_.add_rows(batch, added, counters);
        added = 0;
      }
    } else if (list.n >= kLongList) {
      make_head(view, x, list);
    }
    if (passed < list.n) rest[scratch.n++] = {list.data + passed, list.n - passed};
    spend(kBindCost);
  }
  ops_.add_rows(batch, added, counters);
  clear_outside(counters, words, begin - 64 * skipped, end - 64 * skipped);
  uint32_t* counts = scratch.counts.reserve(64 * words, charge_);
  *pairs = ops_.spread_counters(counters, words / kRowBlock, counts) / 2;
  if (const size_t last = std::min(end, 64 * (skipped + words)); last > begin) {
    const uint32_t *one = counts + (begin - 64 * skipped), *after = counts + (last - 64 * skipped);
    std::copy(one, after, wedges_.data() + (heads.first + begin - info(d).lo));
    *read += std::accumulate(one, after, uint64_t{0});
  }
  spend(words * ops_.spread_cost);
  for (size_t i = 0; i < scratch.n; ++i) {
    if (i + kFar < scratch.n)
      for (size_t k = 0; k < 4 * kLine; k += kLine) __builtin_prefetch(rest[i + kFar].data + k);
    Set list = rest[i];
    if (list.data[0] < bounds.begin) {
      const size_t skip = lower_bound(list.data, list.n, bounds.begin);
      list = {list.data + skip, list.n - skip};
    }
    add_to(*pairs, add_wedge_list(list, bounds.end, info(d).lo, read));
  }
  return true;
}

// Reads a list up to `end`: returns how often its members had come before, and counts each once more.
uint64_t Worker::add_wedge_list(Set list, uint32_t end, uint32_t lo, size_t* read) {
  uint32_t* counters = wedges_.data();
  uint64_t before = 0;
  size_t k = 0;
  for (; k < list.n && list.data[k] < end; ++k) before += counters[list.data[k] - lo]++;
  *read += k;
  spend(4 * k);
  return before;
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
  for (const Avoided& other : info(d).avoided) {
    const uint32_t v = vertex(other.level);
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
  const Set firsts = admitted(b);
  const size_t span = info(d).hi - info(d).lo;
  if (wedges_.capacity() < span) {
    wedges_.reserve(span, charge_);
    std::fill_n(wedges_.data(), wedges_.capacity(), 0);
  }
  size_t read = 0;
  uint64_t pairs = 0;
  if (node.wedge == Wedge::kApart || !add_wedge_rows(d, b, firsts, &pairs, &read))
    pairs = add_wedges(d, b, firsts, true, &read);
  const size_t entries = read;
  const std::vector<uint32_t> taken = take_forbidden(d);
  if (node.wedge == Wedge::kApart) {
    size_t more = 0;
    pairs = add_wedges(d, c, admitted(c), false, &more);
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
