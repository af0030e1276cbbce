// Elimination of a triangle's third vertex where all three sides are one symmetric matrix without numbers, loops and
// repeats: for each linked pair how many vertices are linked to both, or the sum of a vector over those.
//
// Each pair is looked at from its end with the longer row. That row is marked in a bitmap (spread over an array where a
// vector is summed), and the other end's is looked up in it. The heads of rows are kept as bits, where that is quicker,
// and ANDed with the marks; they take at most as much memory as the rows. A second pass copies each pair's result to its
// other place. Bytes moved: for each pair its shorter row. Deterministic.
// Sources: Chiba and Nishizeki 1985; the hub bitmaps of LOTUS (Koohi Esfahani et al., PPoPP 2022).
#include <algorithm>
#include <vector>

#include "eliminate.h"
#include "set_ops.h"

namespace qe::eliminate {
namespace {

constexpr uint64_t kRoots = 4;
constexpr uint64_t kPatience = 1 << 18;  // ids read between looks at the clock
constexpr size_t kBlock = 8;             // words that are ANDed at a time
constexpr uint32_t kMostBlocks = 16;
constexpr uint64_t kLeastCost = 8;       // of a block, in ids: it is as many bytes as 16
constexpr size_t kAhead = 8;             // pairs
constexpr size_t kLine = 64;             // bytes
constexpr size_t kMostLines = 8;         // of a row that are fetched ahead

// A row, as it is looked up: where it begins, its length, and its head. The first `ids` ids of it are the bits of `blocks`
// blocks of words from block `first` on.
struct Row {
  uint64_t begin;
  uint32_t length, ids, first, blocks;
};

struct alignas(64) Block {
  uint64_t words[kBlock];
};

// What every worker reads. Vertices are numbered from the matrix's first.
class Sides {
 public:
  Sides(const Matrix& m, const SetOps& ops, Control* control)
      : m_(m), ops_(ops), control_(control), charge_(control), n_(m.hi - m.lo),
        threads_(workers_for(control, entries_of(m))) {
    charge_.add(n_ * sizeof(Row));
    rows_.resize(n_);
    each_row([&](uint32_t k) { rows_[k] = {begin(k), static_cast<uint32_t>(end(k) - begin(k)), 0, 0, 0}; });
  }

  uint32_t n() const { return n_; }
  int threads() const { return threads_; }
  const uint32_t* ids() const { return m_.ids; }
  uint64_t begin(uint32_t k) const { return m_.offsets[k]; }
  uint64_t end(uint32_t k) const { return m_.offsets[k + 1]; }
  uint32_t neighbour(uint64_t e) const { return m_.ids[e] - m_.lo; }
  const SetOps& ops() const { return ops_; }
  Control* control() const { return control_; }
  Charge& charge() { return charge_; }

  // Is the pair (k, other) looked at from k?
  bool leads(uint32_t k, uint32_t other) const {
    const uint32_t own = rows_[k].length, its = rows_[other].length;
    return own != its ? own > its : k < other;
  }

  // First id, a multiple of a block's.
  uint32_t first_id() const { return m_.lo & ~uint32_t{64 * kBlock - 1}; }
  size_t blocks() const { return std::max<size_t>((m_.hi - first_id()) / (64 * kBlock) + 1, kMostBlocks); }

  const Row& row(uint32_t k) const { return rows_[k]; }
  const Row* rows() const { return rows_.data(); }
  const Block* head(const Row& row) const { return heads_.data() + row.first; }

  void make_heads();

 private:
  void choose_head(Row& row, uint64_t cost) const;
  template <typename Each>
  void each_row(Each&& each);

  const Matrix& m_;
  const SetOps& ops_;
  Control* control_;
  Charge charge_;
  uint32_t n_;
  int threads_;
  std::vector<Row> rows_;
  std::vector<Block> heads_;
};

template <typename Each>
void Sides::each_row(Each&& each) {
  Pieces pieces(control_, n_, kShort);
  const Status status = deal(threads_, pieces, [&](int) {
    for (uint64_t begin, end; pieces.take(&begin, &end);)
      for (uint64_t k = begin; k < end; ++k) each(static_cast<uint32_t>(k));
  });
  if (status != kOk) throw Halt{status};
}

// Chooses the head that saves most, if a block takes as long as looking up `cost` ids.
void Sides::choose_head(Row& row, uint64_t cost) const {
  uint64_t saved = 0;
  const uint32_t* list = m_.ids + row.begin;
  row.blocks = row.ids = 0;
  for (uint32_t blocks = 1; blocks <= kMostBlocks && row.length > cost * blocks; blocks *= 2) {
    const uint64_t limit = first_id() + uint64_t{64} * kBlock * blocks;
    const size_t ids = limit > UINT32_MAX ? row.length : lower_bound(list, row.length, static_cast<uint32_t>(limit));
    if (ids <= cost * blocks + saved) continue;
    saved = ids - cost * blocks;
    row.blocks = blocks;
    row.ids = static_cast<uint32_t>(ids);
  }
}

void Sides::make_heads() {
  const uint64_t room = entries_of(m_) * sizeof(uint32_t) / sizeof(Block);
  uint64_t wanted = 0;
  for (uint64_t cost = std::max<uint64_t>(ops_.row_cost, kLeastCost);; cost *= 2) {  // where heads would take too much memory: those that save more
    each_row([&](uint32_t k) { choose_head(rows_[k], cost); });
    wanted = 0;
    for (Row& row : rows_) {
      row.first = static_cast<uint32_t>(wanted);
      wanted += row.blocks;
    }
    if (wanted <= room) break;
  }
  charge_.add(wanted * sizeof(Block));
  heads_.assign(wanted, Block{});
  each_row([&](uint32_t k) {
    const Row& row = rows_[k];
    for (uint32_t i = 0; i < row.ids; ++i) {
      const uint32_t bit = m_.ids[row.begin + i] - first_id();
      heads_[row.first + bit / (64 * kBlock)].words[(bit >> 6) % kBlock] |= uint64_t{1} << (bit & 63);
    }
  });
}

// One worker's marks, by which the pairs of one vertex are counted.
class Counting {
 public:
  Counting(const Sides& sides, const Pieces& pieces, uint32_t* out)
      : sides_(sides), pieces_(pieces), out_(out), marks_(sides.blocks()) {}

  static size_t bytes(const Sides& sides) { return sides.blocks() * sizeof(Block); }

  void root(uint32_t k) {
    const uint64_t begin = sides_.begin(k), end = sides_.end(k);
    if (end - begin > places_.size()) places_.resize(end - begin);
    const uint32_t first = sides_.first_id();
    auto* words = marks_.data()->words;
    for (uint64_t e = begin; e < end; ++e) {
      const uint32_t bit = sides_.ids()[e] - first;
      words[bit >> 6] |= uint64_t{1} << (bit & 63);
    }
    size_t n = 0;
    for (uint64_t e = begin; e < end; ++e) {
      if (e + 2 * kAhead < end) __builtin_prefetch(sides_.rows() + sides_.neighbour(e + 2 * kAhead));
      places_[n] = e;
      n += sides_.leads(k, sides_.neighbour(e));
    }
    for (size_t i = 0; i < n; ++i) {
      if (i + kAhead < n) prefetch(sides_.row(sides_.neighbour(places_[i + kAhead])));
      count(sides_.row(sides_.neighbour(places_[i])), out_ + places_[i]);
    }
    for (uint64_t e = begin; e < end; ++e) words[(sides_.ids()[e] - first) >> 6] = 0;
  }

 private:
  void count(const Row& row, uint32_t* to) {
    const SetOps& ops = sides_.ops();
    const uint64_t* marks = marks_.data()->words;
    const uint32_t* tail = sides_.ids() + row.begin + row.ids;
    *to = static_cast<uint32_t>(ops.filter_count(marks - (sides_.first_id() >> 6), tail, row.length - row.ids));
    if (row.blocks > 0) {
      const BitRow head{sides_.head(row)->words, row.blocks * kBlock};
      const uint32_t place = 0;
      ops.row_counts(marks, &head, 1, &place, to);
    }
    spend(row.length - row.ids + 16);
  }

  void prefetch(const Row& row) const {
    const char* tail = reinterpret_cast<const char*>(sides_.ids() + row.begin + row.ids);
    const size_t bytes = std::min<size_t>((row.length - row.ids) * sizeof(uint32_t), kMostLines * kLine);
    for (size_t at = 0; at < bytes; at += kLine) __builtin_prefetch(tail + at);
    const Block* head = sides_.head(row);
    for (uint32_t b = 0; b < row.blocks; ++b) __builtin_prefetch(head + b);
  }

  void spend(uint64_t ids) {
    spent_ += ids;
    if (spent_ < kPatience) return;
    spent_ = 0;
    pieces_.poll();
  }

  const Sides& sides_;
  const Pieces& pieces_;
  uint32_t* out_;
  std::vector<Block> marks_;
  std::vector<uint64_t> places_;
  uint64_t spent_ = 0;
};

// The same for sums of a vector's numbers.
template <typename V>
class Summing {
 public:
  Summing(const Sides& sides, const Pieces& pieces, const V* vector, bool wraps, uint32_t lo, V* out)
      : sides_(sides), pieces_(pieces), vector_(vector), wraps_(wraps), lo_(lo), out_(out), spread_(sides.n(), V{0}) {}

  static size_t bytes(const Sides& sides) { return sides.n() * sizeof(V); }

  void root(uint32_t k) {
    const uint64_t begin = sides_.begin(k), end = sides_.end(k);
    for (uint64_t e = begin; e < end; ++e) spread_[sides_.neighbour(e)] = vector_[sides_.ids()[e]];
    const V* spread = spread_.data() - lo_;
    for (uint64_t e = begin; e < end; ++e) {
      const uint32_t other = sides_.neighbour(e);
      if (!sides_.leads(k, other)) continue;
      const uint32_t* id = sides_.ids() + sides_.begin(other);
      const uint32_t* last = sides_.ids() + sides_.end(other);
      spent_ += static_cast<uint64_t>(last - id) + 1;
      V sum = 0;
      if (wraps_)
        for (; id < last; ++id) sum = plus<V>(sum, spread[*id]);
      else
        for (; id < last; ++id) sum += spread[*id];
      out_[e] = sum;
      if (spent_ < kPatience) continue;
      spent_ = 0;
      pieces_.poll();
    }
    for (uint64_t e = begin; e < end; ++e) spread_[sides_.neighbour(e)] = 0;
  }

 private:
  const Sides& sides_;
  const Pieces& pieces_;
  const V* vector_;
  bool wraps_;
  uint32_t lo_;
  V* out_;
  std::vector<V> spread_;
  uint64_t spent_ = 0;
};

// The first row of a part, where parts have as many entries.
uint32_t bound(const Sides& sides, uint64_t part, uint64_t parts) {
  const uint64_t wanted = share(sides.end(sides.n() - 1), static_cast<int>(part), static_cast<int>(parts));
  uint32_t low = 0, high = sides.n();
  if (part == parts) return high;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (sides.begin(middle) < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Copies each pair's number to its other place. A worker has a range of the rows that are written: as the rows are read in
// order, a row's places come one after the other.
template <typename Number>
Status mirror(const Sides& sides, uint32_t lo, Number* out) {
  const auto parts = static_cast<uint64_t>(sides.threads());
  Pieces pieces(sides.control(), parts, 1);
  return deal(sides.threads(), pieces, [&](int) {
    for (uint64_t part, after; pieces.take(&part, &after);) {
      const uint32_t from = bound(sides, part, parts), to = bound(sides, part + 1, parts);
      std::vector<uint64_t> cursor(to - from);
      for (uint32_t k = from; k < to; ++k) cursor[k - from] = sides.begin(k);
      for (uint32_t k = 0; k < sides.n(); ++k) {
        if (k % kShort == 0) pieces.poll();
        const uint64_t length = sides.row(k).length;
        const uint32_t* list = sides.ids() + sides.begin(k);
        uint64_t e = sides.begin(k) + (from == 0 ? 0 : lower_bound(list, length, lo + from));
        for (; e < sides.end(k) && sides.neighbour(e) < to; ++e) {
          const uint64_t place = cursor[sides.neighbour(e) - from]++;
          if (sides.leads(k, sides.neighbour(e))) out[place] = out[e];
        }
      }
    }
  });
}

// Runs Worker::root for all roots, then mirrors.
template <typename Worker, typename Number, typename Make>
Status each_root(Sides& sides, uint32_t lo, Number* out, Make&& make) {
  sides.charge().add(static_cast<size_t>(sides.threads()) * Worker::bytes(sides) + sides.n() * sizeof(uint64_t));
  Pieces pieces(sides.control(), sides.n(), kRoots);
  const Status status = deal(sides.threads(), pieces, [&](int) {
    Worker worker = make(pieces);
    for (uint64_t begin, end; pieces.take(&begin, &end);)
      for (uint64_t k = begin; k < end; ++k) worker.root(static_cast<uint32_t>(k));
  });
  return status != kOk ? status : mirror(sides, lo, out);
}

template <typename Run>
Status guarded(Run&& run) {
  try {
    return run();
  } catch (const Halt& halt) {
    return halt.status;
  } catch (const std::bad_alloc&) {
    return kOutOfMemory;
  }
}

}  // namespace
}  // namespace qe::eliminate

using namespace qe::eliminate;
using qe::Control;

// out[p], for each entry p of the matrix: how many vertices are linked to both of its ends.
QE_API int32_t qe_eliminate_triangles(const Matrix* matrix, uint32_t* out, Control* control) {
  if (entries_of(*matrix) == 0) return qe::kOk;
  return guarded([&] {
    Sides sides(*matrix, qe::set_ops(qe::current_isa()), control);
    sides.make_heads();
    return each_root<Counting>(sides, matrix->lo, out,
                               [&](const Pieces& pieces) { return Counting(sides, pieces, out); });
  });
}

// out[p]: the sum of the vector's numbers over those vertices.
QE_API int32_t qe_eliminate_triangle_sums(const Matrix* matrix, const void* vector, int32_t wide, void* out,
                                          Control* control) {
  if (entries_of(*matrix) == 0) return qe::kOk;
  return guarded([&] {
    Sides sides(*matrix, qe::set_ops(qe::current_isa()), control);
    return numbered(wide, [&](auto zero) {
      using V = decltype(zero);
      const V* numbers = static_cast<const V*>(vector);
      // Sums of fewer than 2^32 numbers below 2^32 don't wrap.
      const bool wraps = *std::max_element(numbers + matrix->lo, numbers + matrix->hi) >> 32 != 0;
      V* sums = static_cast<V*>(out);
      return each_root<Summing<V>>(sides, matrix->lo, sums, [&](const Pieces& pieces) {
        return Summing<V>(sides, pieces, numbers, wraps, matrix->lo, sums);
      });
    });
  });
}
