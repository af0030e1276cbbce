// Rows of bits for the heads of lists that come up again and again: ids among a view's first kHeadWords words.
//
// Where ids go by descending degree, or belong to one label, the heads of lists are dense: a row is ANDed with a bitmap,
// or a few ids are looked up in it, instead of reading the list. Bytes: up to 1,024 a row, one place for so many vertices
// of a view's level as there are, at most kHeadPlaces. A row is made when its list is read a second time, as long as saves
// most, and only where the list has more ids than the row costs and there is room. Source: the hub bitmaps of LOTUS (Koohi
// Esfahani et al., PPoPP 2022).
#include <algorithm>

#include "search/search_run.h"
#include "search/search_worker.h"

namespace qe {
namespace {

constexpr size_t kHeadWords = 128;
constexpr size_t kHeadBlocks = 8;                // of a row on average: 4 MiB of rows a kind of view
constexpr size_t kHeadPlaces = size_t{1} << 13;
constexpr size_t kTailCost = 24;                 // of reading what a row doesn't hold, in ids, beside them
constexpr uint32_t kPatience = 64;               // times that another vertex wants a place before it gets it

}  // namespace

// The rows of a kind of view; without places where there is no memory for them.
Worker::Heads& Worker::heads(const View& view) {
  Heads& heads = heads_[static_cast<size_t>(view.kind)];
  if (heads.row_words > 0) return heads;
  const PlanRange& of = plan_.kinds[static_cast<size_t>(view.kind)];
  heads.first = view.lo & ~63u;
  heads.row_words = std::min(kHeadWords, rounded(((view.hi - heads.first) >> 6) + 1));
  size_t n = 1;
  while (n < kHeadPlaces && n < of.end - of.begin) n *= 2;
  const size_t blocks = n * std::min(kHeadBlocks, heads.row_words / kRowBlock);
  const size_t words = (blocks + 1) * kRowBlock;
  if (!charge_.affords(n * sizeof(Head) + words * sizeof(uint64_t))) return heads;
  std::fill_n(heads.places.reserve(n, charge_), n, Head{kNoVertex, 0, 0, 0, 0, 0});
  heads.rows.reserve(words, charge_);
  heads.blocks = static_cast<uint32_t>(blocks);
  heads.mask = static_cast<uint32_t>(n - 1);
  heads.base = of.begin;
  return heads;
}

// Takes note that `list`, all of x's view, was read for want of a row, and makes that where it pays.
void Worker::make_head(const View& view, uint32_t x, Set list) {
  Heads& heads = this->heads(view);
  if (heads.places.capacity() == 0) return;
  Head& at = heads.place(x);
  if (at.vertex != x) {
    if (++at.spent > kPatience * (at.words > 0)) at = {x, 0, 0, 0, at.block, at.blocks};
    return;
  }
  const uint32_t hi = view.below ? std::min(view.hi, x) : view.hi;
  if (hi <= heads.first || list.n == 0) return;
  const size_t most = std::min(heads.row_words, rounded(((hi - heads.first) >> 6) + 1)) / kRowBlock;
  if (list.n < ops_.row_cost || at.tail == kNoVertex) return;  // a row doesn't pay
  size_t blocks = 0, held = 0, saved = 0;
  for (size_t k = 1, ids = 0; k <= most && ids < list.n; ++k) {
    while (ids < list.n && list.data[ids] - heads.first < 64 * kRowBlock * k) ++ids;
    const size_t gain = ids == list.n ? ids + kTailCost : ids;
    if (gain < ops_.row_cost * k + saved) continue;
    saved = gain - ops_.row_cost * k;
    blocks = k;
    held = ids;
  }
  spend(held);
  if (blocks > at.blocks && blocks <= heads.blocks - heads.block) {
    at.block = heads.block;
    at.blocks = static_cast<uint32_t>(blocks);
    heads.block += at.blocks;
  }
  if (blocks == 0 || blocks > at.blocks) {
    at.tail = kNoVertex;
    return;
  }
  const size_t words = blocks * kRowBlock;
  const Set head{list.data, held};
  uint64_t* row = heads.row(at);
  std::fill_n(row, words, uint64_t{0});
  set_bits(row, head.data, head.n, heads.first);
  spend(words / 4 + 3 * head.n);
  at = {x, 0, static_cast<uint32_t>(words), static_cast<uint32_t>(head.n < list.n ? head.n : 0), at.block, at.blocks};
}

// A row that holds all of an operand, which is one list's whole view: *end is where the row does. Null: there is none yet.
const uint64_t* Worker::whole_row(const Operand& operand, Set list, uint32_t* end) {
  if (operand.from != From::kView || operand.bounded()) return nullptr;
  const View& view = plan_.views[static_cast<size_t>(operand.index)];
  if (!view.unique) return nullptr;
  Heads& heads = this->heads(view);
  const uint32_t x = vertex(view.level);
  const Head* at = heads.find(x);
  if (at == nullptr) make_head(view, x, list);
  if (at == nullptr || at->tail > 0) return nullptr;
  *end = heads.end(*at);
  return heads.row(*at) - (heads.first >> 6);
}

}  // namespace qe
