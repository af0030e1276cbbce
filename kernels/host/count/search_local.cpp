// Counting below a branch whose subtree draws all candidates from the branch's own: cliques and their like.
//
// Problem: the branch's candidates are the universe U, numbered 0..|U|-1 by id. Each neighbour list that the subtree uses
// becomes a row of |U| bits, made when first needed and used by every level and iteration below; intersections are
// ANDs of rows, the last level is a population count. Preconditions: SearchPlan's Node::local; ids ascending in U, so that
// a bound on ids is a bound on numbers. Bytes moved: each list once, then |U| / 8 bytes an intersection, from L1 or L2.
// With ids by descending degree and each clique rooted at its least vertex, |U| stays in the hundreds.
#include <algorithm>

#include "search/search_run.h"
#include "search/search_worker.h"

namespace qe {
namespace {

constexpr size_t kMinUniverse = 3;
constexpr size_t kMaxUniverse = 4096;  // rows of 512 bytes, 2 MiB a kind of view

}  // namespace

// Numbers the universe. False: it is too large, or too small to bother.
bool Worker::begin_local(int level, Set universe) {
  if (universe.n < kMinUniverse || universe.n > kMaxUniverse) return false;
  Local& local = local_;
  const LevelInfo& of = info(level);
  local.universe = universe;
  local.words = (universe.n + 63) / 64;
  local.first_word = of.lo >> 6;
  local.levels.resize(plan_.levels.size());
  const size_t rows = static_cast<size_t>(plan_.n_kinds) * universe.n;
  const size_t span = (of.hi >> 6) - local.first_word + 1;  // words
  if (!charge_.affords(sizeof(uint64_t) * (rows * (local.words + 1) + 33 * span))) return false;
  local.rows.reserve(rows * local.words, charge_);
  const bool more = local.row_epoch.capacity() < rows;
  local.row_epoch.reserve(rows, charge_);
  if (more || ++local.epoch == 0) {
    std::fill_n(local.row_epoch.data(), local.row_epoch.capacity(), 0);
    local.made.assign(static_cast<size_t>(plan_.n_kinds), 0);
    local.epoch = 1;
  }
  if (local.bits.capacity() < span) {
    local.bits.reserve(span, charge_);
    std::fill_n(local.bits.data(), local.bits.capacity(), uint64_t{0});
  }
  uint64_t* bits = local.bits.data();
  uint32_t* index = local.index.reserve(span * 64, charge_);
  for (size_t i = 0; i < universe.n; ++i) {
    const uint32_t v = universe.data[i] - local.first_word * 64;
    bits[v >> 6] |= uint64_t{1} << (v & 63);
    index[v] = static_cast<uint32_t>(i);
  }
  spend(2 * universe.n);
  return true;
}

void Worker::end_local() {
  for (size_t i = 0; i < local_.universe.n; ++i)
    local_.bits.data()[(local_.universe.data[i] >> 6) - local_.first_word] = 0;
}

// The view's row at the vertex that its level is bound to.
const uint64_t* Worker::local_row(int index) {
  Local& local = local_;
  const View& view = plan_.views[static_cast<size_t>(index)];
  const size_t at = local.levels[static_cast<size_t>(view.level)].at;
  const size_t number = static_cast<size_t>(view.kind) * local.universe.n + at;
  uint64_t* row = local.rows.data() + number * local.words;
  if (local.row_epoch.data()[number] == local.epoch) return row;
  local.row_epoch.data()[number] = local.epoch;
  std::fill_n(row, local.words, uint64_t{0});
  const uint32_t x = local.universe.data[at];
  size_t passed = 0;
  Heads& of = heads(view);
  if (const Head* head = view.unique ? of.find(x) : nullptr) {
    const Set members = before({local.universe.data, view.below ? at : local.universe.n}, of.end(*head));
    ops_.member_bits(of.row(*head) - (of.first >> 6), members.data, members.n, row);
    spend(kBindCost / 4 + members.n / 4);
    if (head->tail == 0 || local.universe.data[local.universe.n - 1] < of.end(*head)) return row;
    passed = head->tail;
  }
  ViewState& state = views_[static_cast<size_t>(index)];
  Set list = neighbours(view, state, x);
  if (view.unique && passed == 0) make_head(view, x, list);
  if (!view.unique) state.stamp = 0;  // its buffer is used again
  list = {list.data + passed, list.n - passed};
  uint32_t* common = local.common.reserve(std::max(local.universe.n, list.n) + kSlack, charge_);
  size_t n;
  if (list.n > local.universe.n * kGallopRatio)
    n = gallop(local.universe.data, local.universe.n, list.data, list.n, common);
  else
    n = ops_.filter(local.bits.data() - local.first_word, list.data, list.n, common);
  const uint32_t* indices = local.index.data() - size_t{64} * local.first_word;
  for (size_t i = 0; i < n; ++i) {
    const uint32_t bit = indices[common[i]];
    row[bit >> 6] |= uint64_t{1} << (bit & 63);
  }
  spend(list.n + 4 * n);
  return row;
}

// Makes all rows of a view's kind: cliques need each of them sooner or later.
void Worker::make_local_rows(int index) {
  const View& view = plan_.views[static_cast<size_t>(index)];
  uint32_t& made = local_.made[static_cast<size_t>(view.kind)];
  if (made == local_.epoch) return;
  made = local_.epoch;
  size_t& at = local_.levels[static_cast<size_t>(view.level)].at;
  for (at = 0; at < local_.universe.n; ++at) local_row(index);
}

// The bitmaps whose intersection is a level's candidates, and the words that can hold any; returns how many bitmaps.
int Worker::local_operands(int level, const uint64_t** operands, Words* words) {
  const LevelInfo& of = info(level);
  size_t lo = 0, hi = local_.universe.n;  // numbers
  int n = 0;
  *words = {0, local_.words};
  for (const Operand& operand : of.operands) {
    if (operand.from == From::kView) {
      const View& view = plan_.views[static_cast<size_t>(operand.index)];
      const size_t at = local_.levels[static_cast<size_t>(view.level)].at;
      if (view.below) hi = std::min(hi, at);
      if (view.above) lo = std::max(lo, at + 1);
      operands[n++] = local_row(operand.index);
    } else if (local_.levels[static_cast<size_t>(operand.index)].words.end > 0) {  // else it is the universe
      const LocalLevel& base = local_.levels[static_cast<size_t>(operand.index)];
      *words = base.words;
      operands[n++] = base.kept.data();
    }
  }
  words->begin = std::max(words->begin, lo >> 6);
  words->end = std::max(words->begin, std::min(words->end, (hi + 63) >> 6));
  return n;
}

// The level's candidates as a bitmap, exact within *words.
const uint64_t* Worker::local_intersection(int level, Words* words) {
  const LevelInfo& of = info(level);
  const uint64_t* operands[kMaxLevels + 1];
  const int n = local_operands(level, operands, words);
  LocalLevel& to = local_.levels[static_cast<size_t>(level)];
  uint64_t* kept = to.kept.reserve(local_.words, charge_);
  size_t lo = 0, hi = local_.universe.n;
  for (int other : of.local_less) hi = std::min(hi, local_.levels[static_cast<size_t>(other)].at);
  for (int other : of.local_greater) lo = std::max(lo, local_.levels[static_cast<size_t>(other)].at + 1);
  words->begin = std::max(words->begin, lo >> 6);
  words->end = std::max(words->begin, std::min(words->end, (hi + 63) >> 6));
  for (size_t w = words->begin; w < words->end; ++w) {
    uint64_t word = ~uint64_t{0};
    for (int k = 0; k < n; ++k) word &= operands[k][w];
    if (w == hi >> 6) word &= (uint64_t{1} << (hi & 63)) - 1;
    if (w == lo >> 6) word &= ~uint64_t{0} << (lo & 63);
    kept[w] = word;
  }
  return kept;
}

uint64_t Worker::local_size(int level) {
  const LevelInfo& of = info(level);
  Words words;
  spend(local_.words);
  const uint64_t* operands[kMaxLevels + 1];
  if (of.local_less.empty() && of.local_greater.empty() && of.operands.size() <= 2) {
    const int n = local_operands(level, operands, &words);
    if (n > 0) {
      const uint64_t* a = operands[0] + words.begin;
      return ops_.and_count(a, operands[n - 1] + words.begin, words.end - words.begin);
    }
  }
  const uint64_t* bits = local_intersection(level, &words) + words.begin;
  return ops_.and_count(bits, bits, words.end - words.begin);
}

uint64_t Worker::local_children(const std::vector<Node>& children) {
  uint64_t product = 1;
  for (const Node& child : children) {
    if (child.chosen > 0) {
      product = times(product, combinations(local_size(child.levels[0]), child.chosen));
    } else if (child.shape == NodeKind::kBranch) {
      product = times(product, local_branch(child));
    } else {
      uint64_t n = 0;
      for (size_t k = 0; k < child.levels.size(); ++k) {
        if (k == 0 || !child.repeats[k]) n = local_size(child.levels[k]);
        if (n <= k) return 0;
        product = times(product, n - k);
      }
    }
    if (product == 0) return 0;
  }
  return product;
}

uint64_t Worker::local_branch(const Node& node) {
  const int level = node.levels[0];
  LocalLevel& here = local_.levels[static_cast<size_t>(level)];
  const uint64_t* kept = local_intersection(level, &here.words);
  const Words words = here.words;
  uint64_t sum = 0;
  if (node.pairs) {
    const int index = info(node.children[0].levels[0]).operands[1].index;
    make_local_rows(index);
    size_t members = 0;
    for (size_t w = words.begin; w < words.end; ++w) members += static_cast<size_t>(__builtin_popcountll(kept[w]));
    spend(members * (2 + (words.end - words.begin) / 2));
    const View& view = plan_.views[static_cast<size_t>(index)];
    const uint64_t* rows = local_.rows.data() + static_cast<size_t>(view.kind) * local_.universe.n * local_.words;
    here.words = {0, 0};
    return ops_.pair_count(kept, kept, rows, local_.words, words.begin, words.end, view.below);
  }
  for (size_t w = words.begin; w < words.end; ++w) {
    for (uint64_t rest = kept[w]; rest; rest &= rest - 1) {
      here.at = w * 64 + static_cast<size_t>(__builtin_ctzll(rest));
      spend(kBindCost);
      add_to(sum, local_children(node.children));
    }
  }
  here.words = {0, 0};
  return sum;
}

uint64_t Worker::count_local(const Node& node, Set universe) {
  const int level = node.levels[0];
  const Stride by = stride(level);
  uint64_t sum = 0;
  for (size_t i = by.first; i < universe.n; i += by.step) {
    spend(kBindCost);
    local_.levels[static_cast<size_t>(level)].at = i;
    add_to(sum, local_children(node.children));
  }
  return sum;
}

}  // namespace qe
