// Elimination of a triangle's third vertex where all three sides are one symmetric matrix without numbers, loops and
// repeats: for each linked pair how many vertices are linked to both.
//
// Vertices go by descending length of their rows, and are numbered anew where they don't. For each vertex v and each a
// before it that it is linked to, the third vertex c is before a: a's earlier neighbours are looked up among v's. Or it
// is after a: then a is among the earlier neighbours of c, one of v's, and so many times they add to a's counter. Hence
// each row's early part is read once for each of its neighbours. Its head is kept as bits, where that is quicker: they are
// ANDed with v's marks, and added to counters digit by digit (BitCounters). They take at most as much memory as the rows.
// A second pass copies each pair's result to its other place. Bytes moved: for each pair the earlier parts of both rows, as
// far as they are before the later vertex. Deterministic. The numbering and the rows follow from the matrix alone: they are an
// index, which callers may keep.
// Sources: Chiba and Nishizeki 1985; hub bitmaps: LOTUS (Koohi Esfahani et al., PPoPP 2022); Klarqvist, Muła and Lemire 2021.
#include "eliminate_triangles.h"

#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "row_buckets.h"

namespace qe::eliminate {
namespace {

constexpr uint32_t kBits = 64 * kRowBlock;  // of a block
constexpr uint32_t kMostBlocks = 16;
constexpr uint64_t kLeastCost = 2;          // of a block, in ids
constexpr uint64_t kPairCost = 8;           // in ids read
constexpr size_t kBatch = 64;
constexpr size_t kMostDigits = 32;

struct alignas(64) Block {
  uint64_t words[kRowBlock];
};

// A row's early part: its head, blocks of bits from block `head` up to the next row's, and its tail, the ids that these don't
// hold. tail_id: the first of them, kNoVertex where there is none.
struct Row {
  uint32_t head, tail_id;
};

// What every worker reads.
class Rows {
 public:
  Rows(const Sides& sides, const SetOps& ops, Charge& charge)
      : lo_(sides.lo()), offsets_(sides.offsets()), rows_(sides.n() + 1), tail_begins_(sides.n() + 1), lates_(sides.n()) {
    charge.add(rows_.size() * (sizeof(Row) + 2 * sizeof(uint64_t)));
    sides.each_row([&](uint32_t k) {
      lates_[k] = sides.begin(k) + lower_bound(sides.ids() + sides.begin(k), sides.length(k), sides.lo() + k);
    });
    choose_heads(sides, ops);
    charge.add(rows_.back().head * sizeof(Block) + tail_begins_.back() * sizeof(uint32_t));
    heads_.resize(rows_.back().head);
    tails_.resize(tail_begins_.back());
    sides.each_row([&](uint32_t k) { fill(sides, k); });
  }

  size_t bytes() const {
    return rows_.size() * (sizeof(Row) + 2 * sizeof(uint64_t)) + heads_.size() * sizeof(Block) +
           tails_.size() * sizeof(uint32_t);
  }

  const Row* at(uint32_t k) const { return rows_.data() + k; }
  const uint64_t* lates() const { return lates_.data(); }
  uint32_t early(uint32_t k) const { return static_cast<uint32_t>(lates_[k] - offsets_[k]); }
  const Block* head(const Row* row) const { return heads_.data() + row->head; }
  const uint32_t* tail(uint32_t k) const { return tails_.data() + tail_begins_[k]; }
  static uint32_t blocks(const Row* row) { return row[1].head - row->head; }

  uint32_t first_id() const { return lo_ & ~(kBits - 1); }  // of the bits
  // Blocks that hold the ids before k, as far as heads do.
  uint32_t blocks_before(uint32_t k) const {
    return std::min((lo_ + k - first_id() + kBits - 1) / kBits, kMostBlocks);
  }

 private:
  void choose_heads(const Sides& sides, const SetOps& ops);
  void fill(const Sides& sides, uint32_t k);

  uint32_t lo_;
  const uint64_t* offsets_;  // the matrix's
  std::vector<Row> rows_;
  std::vector<uint64_t> tail_begins_;  // up to the next row's
  std::vector<uint64_t> lates_;
  std::vector<Block> heads_;
  std::vector<uint32_t> tails_;
};

// Chooses for each row the head that saves most, if a block takes as long as looking up `cost` ids. Where heads would take
// too much memory they must save more.
void Rows::choose_heads(const Sides& sides, const SetOps& ops) {
  const uint64_t room = sides.entries() * sizeof(uint32_t) / sizeof(Block);
  for (uint64_t cost = std::max<uint64_t>(ops.row_cost, kLeastCost);; cost *= 2) {
    sides.each_row([&](uint32_t k) {
      const uint32_t* list = sides.ids() + sides.begin(k);
      const uint32_t all = early(k);
      uint32_t chosen = 0, held = 0;
      uint64_t saved = 0;
      for (uint32_t blocks = 1, ids = 0; blocks <= kMostBlocks && ids < all; ++blocks) {
        while (ids < all && list[ids] - first_id() < blocks * kBits) ++ids;
        if (ids <= cost * blocks + saved) continue;
        saved = ids - cost * blocks;
        chosen = blocks;
        held = ids;
      }
      rows_[k] = {chosen, held < all ? list[held] : kNoVertex};
      tail_begins_[k] = all - held;
    });
    uint32_t head = 0;
    uint64_t tail = 0;
    for (uint32_t k = 0; k <= sides.n(); ++k) {
      head += std::exchange(rows_[k].head, head);
      tail += std::exchange(tail_begins_[k], tail);
    }
    if (head <= room) return;
  }
}

void Rows::fill(const Sides& sides, uint32_t k) {
  const Row* row = at(k);
  const uint64_t tail = lates_[k] - (tail_begins_[k + 1] - tail_begins_[k]);
  for (uint64_t e = sides.begin(k); e < tail; ++e) {
    const uint32_t bit = sides.ids()[e] - first_id();
    heads_[row->head + bit / kBits].words[(bit >> 6) % kRowBlock] |= uint64_t{1} << (bit & 63);
  }
  std::copy(sides.ids() + tail, sides.ids() + lates_[k], tails_.begin() + static_cast<ptrdiff_t>(tail_begins_[k]));
}

// One worker's marks and counters, by which the pairs of one vertex are counted.
class Counting {
 public:
  Counting(const Sides& sides, const Rows& rows, const SetOps& ops, const Pieces& pieces, uint32_t* out)
      : sides_(sides), rows_(rows), ops_(ops), pieces_(pieces), out_(out),
        marks_(std::max<size_t>((sides.lo() + sides.n() - rows.first_id()) / kBits + 1, kMostBlocks)),
        digits_(kMostBlocks * kMostDigits), tally_(sides.n(), 0) {}

  static size_t bytes(const Sides& sides) { return sides.n() * (sizeof(uint32_t) + 1); }

  void root(uint32_t v) {
    const uint32_t early = rows_.early(v);
    if (early == 0) return;
    const uint32_t* list = sides_.ids() + sides_.begin(v);
    uint32_t* out = out_ + sides_.begin(v);
    const size_t n = sides_.length(v);
    open(list, early, v, n);
    std::fill_n(out, early, 0);
    const RowBuckets<kMostBlocks>::Target to{&ops_, counters_, marks_.data()->words, early, out};
    for (size_t from = 0; from < n; from += kBatch) {
      // Where rows are is looked up first, without branches: many at once are waited for.
      const size_t some = std::min(kBatch, n - from);
      size_t n_tails = 0;
      for (size_t k = 0; k < some; ++k) {
        const Row* row = rows_.at(list[from + k] - sides_.lo());
        heads_[k] = rows_.head(row)->words;
        lengths_[k] = std::min(Rows::blocks(row), blocks_);
        __builtin_prefetch(heads_[k]);
        __builtin_prefetch(heads_[k] + (lengths_[k] > 1 ? kRowBlock : 0));
        tails_[n_tails] = static_cast<uint32_t>(from + k);
        n_tails += row->tail_id < (from + k < early ? kNoVertex : sides_.lo() + v);
      }
      for (size_t k = 0; k < n_tails; ++k) __builtin_prefetch(rows_.tail(list[tails_[k]] - sides_.lo()));
      for (size_t k = 0; k < some; ++k) buckets_.take(heads_[k], lengths_[k], static_cast<uint32_t>(from + k), to);
      for (size_t k = 0; k < n_tails; ++k) {
        const uint32_t i = tails_[k];
        if (i < early) out[i] += tail(list[i] - sides_.lo(), kNoVertex);
        else tail(list[i] - sides_.lo(), sides_.lo() + v);
      }
    }
    buckets_.finish(blocks_, to);
    close(list, early, out);
  }

 private:
  // Marks v's earlier neighbours, and clears the counters of all before v.
  void open(const uint32_t* list, uint32_t early, uint32_t v, size_t n) {
    const uint32_t first = rows_.first_id();
    auto* words = marks_.data()->words;
    for (uint32_t i = 0; i < early; ++i) words[(list[i] - first) >> 6] |= uint64_t{1} << (list[i] & 63);
    size_t digits = kLeastDigits;
    while (n >> digits) ++digits;
    blocks_ = rows_.blocks_before(v);
    std::memset(digits_.data(), 0, blocks_ * digits * sizeof(Block));
    counters_ = {digits_.data()->words, digits};
    spend(n * kPairCost + early);
  }

  // Looks the ids of row k's tail up that are before `end`, and counts them where they are.
  uint32_t tail(uint32_t k, uint32_t end) {
    const uint64_t* marks = marks_.data()->words - (rows_.first_id() >> 6);
    uint32_t* tally = tally_.data() - sides_.lo();
    const uint32_t* begin = rows_.tail(k);
    const uint32_t* last = rows_.tail(k + 1);
    const uint32_t* id = begin;
    uint32_t found = 0;
    for (; id < last && *id < end; ++id) {
      const auto bit = static_cast<uint32_t>(marks[*id >> 6] >> (*id & 63) & 1);
      found += bit;
      tally[*id] += bit;
    }
    spend(static_cast<size_t>(id - begin));
    return found;
  }

  // Adds what has been counted to the results, and clears all but the counters.
  void close(const uint32_t* list, uint32_t early, uint32_t* out) {
    const uint32_t first = rows_.first_id();
    const size_t within = lower_bound(list, early, first + blocks_ * kBits);
    ops_.read_counters(counters_, list, within, first, out);
    for (uint32_t i = 0; i < early; ++i) {
      uint32_t& tally = tally_[list[i] - sides_.lo()];
      out[i] += tally;
      tally = 0;
      marks_.data()->words[(list[i] - first) >> 6] = 0;
    }
  }

  void spend(uint64_t ids) {
    spent_ += ids;
    if (spent_ < kPatience) return;
    spent_ = 0;
    pieces_.poll();
  }

  const Sides& sides_;
  const Rows& rows_;
  const SetOps& ops_;
  const Pieces& pieces_;
  uint32_t* out_;
  std::vector<Block> marks_, digits_;
  std::vector<uint32_t> tally_;  // of tails; all 0 between two vertices
  BitCounters counters_{nullptr, 0};
  uint32_t blocks_ = 0;
  RowBuckets<kMostBlocks> buckets_;
  const uint64_t* heads_[kBatch];
  uint32_t lengths_[kBatch];
  uint32_t tails_[kBatch];
  uint64_t spent_ = 0;
};

}  // namespace

// What counting takes that follows from the matrix alone. The matrix's arrays must outlive it.
class TriangleIndex {
 public:
  TriangleIndex(const Matrix& matrix, Control* control) : given_(matrix), ranked_(matrix) {
    if (entries_of(matrix) == 0) return;
    const Sides sides(given_, control);
    Charge charge(control);
    uint32_t k = 1;
    while (k < sides.n() && sides.length(k - 1) >= sides.length(k)) ++k;
    if (k < sides.n()) rank(sides, charge);
    rows_.emplace(Sides(ranked_, control), set_ops(current_isa()), charge);
  }

  size_t bytes() const {
    return (rows_ ? rows_->bytes() : 0) + offsets_.size() * sizeof(uint64_t) +
           (order_.size() + rank_.size() + ids_.size()) * sizeof(uint32_t);
  }

  void count(uint32_t* out, Control* control) const {
    if (!rows_) return;
    Charge charge(control);
    charge.add(bytes());
    if (order_.empty()) return count_ranked(out, control);
    const Sides sides(given_, control);
    charge.add(sides.entries() * sizeof(uint32_t) + sides.turning_bytes());
    std::vector<uint32_t> counts(sides.entries());
    count_ranked(counts.data(), control);
    sides.each_turned(order_.data(), rank_.data(), offsets_.data(),
                      [&](uint32_t, uint32_t, uint64_t e, uint64_t place) { out[e] = counts[place]; });
  }

 private:
  // Numbers vertices anew by descending length of their rows.
  void rank(const Sides& sides, Charge& charge) {
    const uint32_t n = sides.n();
    charge.add(n * (2 * sizeof(uint32_t) + sizeof(uint64_t)) + sides.turning_bytes() + sides.entries() * sizeof(uint32_t));
    order_.resize(n);
    rank_.resize(n);
    offsets_.resize(n + 1);
    ids_.resize(sides.entries());
    std::iota(order_.begin(), order_.end(), 0);
    std::stable_sort(order_.begin(), order_.end(),
                     [&](uint32_t a, uint32_t b) { return sides.length(a) > sides.length(b); });
    for (uint32_t k = 0; k < n; ++k) {
      rank_[order_[k]] = k;
      offsets_[k + 1] = offsets_[k] + sides.length(order_[k]);
    }
    sides.each_turned(order_.data(), rank_.data(), offsets_.data(),
                      [&](uint32_t u, uint32_t, uint64_t, uint64_t place) { ids_[place] = u; });
    ranked_ = {offsets_.data(), ids_.data(), {}, 0, n};
  }

  void count_ranked(uint32_t* out, Control* control) const {
    const Sides sides(ranked_, control);
    Charge charge(control);
    charge.add(static_cast<size_t>(sides.threads()) * Counting::bytes(sides) + sides.turning_bytes());
    const SetOps& ops = set_ops(current_isa());
    sides.each_root([&](const Pieces& pieces) { return Counting(sides, *rows_, ops, pieces, out); });
    sides.each_early(rows_->lates(), [&](uint64_t e, uint64_t place) { out[place] = out[e]; });
  }

  const Matrix given_;
  Matrix ranked_;  // the same, or with its vertices numbered anew
  std::vector<uint32_t> order_, rank_, ids_;
  std::vector<uint64_t> offsets_;
  std::optional<Rows> rows_;
};

}  // namespace qe::eliminate

using namespace qe::eliminate;
using qe::Control;

// Makes the index of a matrix, for qe_eliminate_triangles, and tells its bytes; close it with
// qe_eliminate_triangle_index_close.
QE_API int32_t qe_eliminate_triangle_index(const Matrix* matrix, TriangleIndex** index, uint64_t* bytes, Control* control) {
  return guarded([&] {
    auto made = std::make_unique<TriangleIndex>(*matrix, control);
    *bytes = made->bytes();
    *index = made.release();
  });
}

QE_API void qe_eliminate_triangle_index_close(TriangleIndex* index) { delete index; }

// out[p], for each entry p of the index's matrix: how many vertices are linked to both of its ends. Any number of threads may
// ask one index at a time.
QE_API int32_t qe_eliminate_triangles(const TriangleIndex* index, uint32_t* out, Control* control) {
  return guarded([&] { index->count(out, control); });
}
