// A masked product C⟨M⟩ = B diag(x) Cᵀ, which sums out a vertex between two that are linked: for each pair (a, b) of M the sum
// over c of left[a, c] * x[c] * right[b, c].
//
// Where lists of `right` are long and the rows of its transpose short, a's row is multiplied with those, and what M doesn't have is
// dropped (Gustavson 1978).
//
// Where there are no numbers common columns are counted (masked_counts). In general a's row of `left` is spread over an array,
// and each b's row of `right` looks its members up there; where a's row is much shorter, its members are sought in b's. Where all
// three are one symmetric matrix each pair is looked at from its end with the longer row, and a second pass copies what is found
// to its other place: the shorter row is read. Deterministic. Sources: Azad, Buluç and Gilbert 2015 (masked products); Chiba and
// Nishizeki 1985.
#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "count/masked_counts.h"
#include "count/triangle_counts.h"

namespace qe::eliminate {
namespace {

constexpr uint64_t kRows = 16;
constexpr uint64_t kGallop = 32;

struct Operands {
  const Matrix &across, &left, &right;
  bool mirrored;  // all three are one matrix, without numbers, loops and repeats
};

// Is the pair (a, b) of a symmetric matrix looked at from a?
bool leads(const Matrix& m, uint32_t a, uint32_t b) {
  const uint64_t own = length(row(m, a)), its = length(row(m, b));
  return own != its ? own > its : a < b;
}

template <typename V>
class MaskedRows {
 public:
  MaskedRows(const Operands& of, uint32_t n, const V* vector, const WorkQueue& queue, V* out)
      : of_(of), vector_(vector), patience_(queue, kPatience), out_(out), spread_(n, V{0}) {}

  void root(uint32_t a) {
    const Slice pairs = row(of_.across, a), own = row(of_.left, a);
    V most = 0;
    for (uint64_t e = own.begin; e < own.end; ++e) {
      const uint32_t c = of_.left.ids[e];
      spread_[c] = plus(spread_[c], times(value<V>(of_.left, e), vector_ ? vector_[c] : V{1}));
      most = std::max(most, spread_[c]);
    }
    const bool plain = of_.right.values.at == nullptr && most >> 32 == 0;  // fewer than 2^32 numbers below 2^32 don't wrap
    for (uint64_t p = pairs.begin; p < pairs.end; ++p) {
      const uint32_t b = of_.across.ids[p];
      if (of_.mirrored && !leads(of_.across, a, b)) continue;
      const Slice other = row(of_.right, b);
      patience_.spend(length(other) + 1);
      if (length(own) * kGallop < length(other)) out_[p] = sought(own, other);
      else out_[p] = plain ? plain_sum(other) : looked_up(other);
    }
    for (uint64_t e = own.begin; e < own.end; ++e) spread_[of_.left.ids[e]] = 0;
  }

 private:
  V sought(Slice own, Slice other) const {
    const uint32_t *left = of_.left.ids, *right = of_.right.ids;
    V sum = 0;
    for (uint64_t e = own.begin; e < own.end; ++e) {
      const uint32_t c = left[e];
      if (e > own.begin && left[e - 1] == c) continue;  // all of them are in spread_[c]
      for (const uint32_t* at = std::lower_bound(right + other.begin, right + other.end, c); at < right + other.end && *at == c; ++at)
        sum = plus(sum, times(spread_[c], value<V>(of_.right, static_cast<uint64_t>(at - right))));
    }
    return sum;
  }
  V looked_up(Slice other) const {
    V sum = 0;
    if (of_.right.values.at == nullptr) {
      for (uint64_t e = other.begin; e < other.end; ++e) sum = plus(sum, spread_[of_.right.ids[e]]);
      return sum;
    }
    for (uint64_t e = other.begin; e < other.end; ++e) {
      const V found = spread_[of_.right.ids[e]];
      if (found != 0) sum = plus(sum, times(found, value<V>(of_.right, e)));
    }
    return sum;
  }
  V plain_sum(Slice other) const {
    const V* spread = spread_.data();
    V sum = 0;
    for (const uint32_t *id = of_.right.ids + other.begin, *last = of_.right.ids + other.end; id < last; ++id) sum += spread[*id];
    return sum;
  }

  const Operands& of_;
  const V* vector_;
  Patience patience_;
  V* out_;
  std::vector<V> spread_;
};

// n: vertices.
template <typename V>
void masked_product(const Operands& of, uint32_t n, const V* vector, V* out, Control* control) {
  Charge charge(control);
  const int threads = workers_for(control, entries_of(of.across));
  charge.add(static_cast<size_t>(threads) * n * sizeof(V));
  check(each_root(threads, control, n, kRows,
                  [&](const WorkQueue& queue) { return MaskedRows<V>(of, n, vector, queue, out); }));
  if (!of.mirrored) return;
  const Sides sides(of.across, control);
  charge.add(sides.turning_bytes());
  sides.each_turned(nullptr, nullptr, sides.offsets(), [&](uint32_t k, uint32_t other, uint64_t e, uint64_t place) {
    if (leads(of.across, sides.lo() + k, sides.lo() + other)) out[place] = out[e];
  });
}

// Which columns a vector of zeros and ones admits; nothing where it has other numbers.
template <typename V>
std::optional<std::vector<uint8_t>> admitted(const V* vector, uint32_t n, Charge& charge) {
  charge.add(n);
  std::vector<uint8_t> found(n);
  bool other = false;
  for (uint32_t c = 0; c < n; ++c) {
    other |= vector[c] > 1;
    found[c] = static_cast<uint8_t>(vector[c]);
  }
  if (other) return std::nullopt;
  return found;
}

constexpr uint64_t kAdded = 1 << 8;  // rows, between two looks whether to stop
constexpr uint64_t kMet = 1 << 14;   // entries, the same

// The sum of of(a) over the rows of a matrix.
template <typename Of>
uint64_t added(const Matrix& m, Control* control, Of&& of) {
  std::atomic<uint64_t> sum{0};
  check(each_piece(workers_for(control, entries_of(m)), control, m.hi > m.lo ? m.hi - m.lo : 0, kAdded, [&](uint64_t begin, uint64_t end) {
    uint64_t own = 0;
    for (uint64_t k = begin; k < end; ++k) own += of(m.lo + static_cast<uint32_t>(k));
    sum.fetch_add(own, std::memory_order_relaxed);
  }));
  return sum;
}

constexpr uint64_t kLittle = 2;  // times the entries of `right`: so many that meet aren't worth reading them all beforehand

// The rows of a matrix's transpose, in any order: how long they are, and once `fill` was called what is in them.
class Transposed {
 public:
  Transposed(const Matrix& m, uint32_t n, Control* control, Charge& charge)
      : m_(m), control_(control), threads_(workers_for(control, entries_of(m))) {
    charge.add((n + uint64_t{1}) * sizeof(uint64_t));
    begins_.resize(n + uint64_t{1});
    check(each_piece(threads_, control, entries_of(m), kMet, [&](uint64_t begin, uint64_t end) {
      for (uint64_t e = begin; e < end; ++e) __atomic_fetch_add(&begins_[m.ids[e]], 1, __ATOMIC_RELAXED);
    }));
    for (uint64_t c = 0, sum = 0; c <= n; ++c) sum += std::exchange(begins_[c], sum);
  }
  static uint64_t bytes(const Matrix& m, uint32_t n) { return 2 * (n + uint64_t{1}) * sizeof(uint64_t) + entries_of(m) * sizeof(uint32_t); }

  uint64_t begin(uint32_t c) const { return begins_[c]; }
  uint64_t end(uint32_t c) const { return begins_[c + 1]; }
  uint64_t length(uint32_t c) const { return end(c) - begin(c); }
  uint32_t id(uint64_t k) const { return ids_[k]; }

  void fill(Charge& charge) {
    charge.add(begins_.size() * sizeof(uint64_t) + begins_.back() * sizeof(uint32_t));
    std::vector<uint64_t> at(begins_);
    ids_.reset(new uint32_t[begins_.back()]);  // written first by those that write it
    check(each_piece(threads_, control_, m_.hi > m_.lo ? m_.hi - m_.lo : 0, kAdded, [&](uint64_t begin, uint64_t end) {
      for (uint64_t k = begin; k < end; ++k)
        for (uint64_t e = m_.offsets[k]; e < m_.offsets[k + 1]; ++e)
          ids_[__atomic_fetch_add(&at[m_.ids[e]], 1, __ATOMIC_RELAXED)] = m_.lo + static_cast<uint32_t>(k);
    }));
  }

 private:
  const Matrix& m_;
  Control* control_;
  int threads_;
  std::vector<uint64_t> begins_;
  std::unique_ptr<uint32_t[]> ids_;
};

template <typename V>
class TransposedRows {
 public:
  TransposedRows(const Operands& of, const Transposed& right, uint32_t n, const V* vector, const WorkQueue& queue, V* out)
      : of_(of), right_(right), vector_(vector), patience_(queue, kPatience), out_(out), places_(n) {}

  void root(uint32_t a) {
    const Slice pairs = row(of_.across, a), own = row(of_.left, a);
    const uint32_t* ids = of_.across.ids;
    for (uint64_t p = pairs.begin; p < pairs.end; ++p) {
      out_[p] = 0;
      if (p == pairs.begin || ids[p] != ids[p - 1]) places_[ids[p]] = p - pairs.begin + 1;
    }
    for (uint64_t e = own.begin; e < own.end && pairs.begin < pairs.end; ++e) {
      const uint32_t c = of_.left.ids[e];
      const V number = times(value<V>(of_.left, e), vector_ ? vector_[c] : V{1});
      if (number == 0) continue;
      patience_.spend(right_.length(c) + 1);
      for (uint64_t k = right_.begin(c); k < right_.end(c); ++k)
        if (const uint64_t place = places_[right_.id(k)]) {
          V& sum = out_[pairs.begin + place - 1];
          sum = plus(sum, number);
        }
    }
    for (uint64_t p = pairs.begin; p < pairs.end; ++p) {
      places_[ids[p]] = 0;
      if (p > pairs.begin && ids[p] == ids[p - 1]) out_[p] = out_[p - 1];
    }
  }

 private:
  const Operands& of_;
  const Transposed& right_;
  const V* vector_;
  Patience patience_;
  V* out_;
  std::vector<uint64_t> places_;  // 1 + an entry of a's row, or 0
};

constexpr uint64_t kTurned = 4;  // entries that are looked up in the time of turning one, or of reading a turned one
constexpr uint64_t kSought = 16;  // entries that are looked up in the time of seeking one

// Tells whether rows of `right`'s transpose gave the sums.
template <typename V>
bool transposed(const Operands& of, uint32_t n, const V* vector, V* out, Control* control) {
  const uint64_t turned = entries_of(of.right) + entries_of(of.left);
  if (of.right.values.at || of.right.rows || of.left.rows || of.across.rows) return false;
  const uint64_t looked_up = added(of.across, control, [&](uint32_t a) {
    const Slice pairs = row(of.across, a);
    const uint64_t own = kSought * length(row(of.left, a));
    uint64_t sum = 0;
    for (uint64_t p = pairs.begin; p < pairs.end; ++p) sum += std::min(own, length(row(of.right, of.across.ids[p])));
    return sum;
  });
  if (looked_up < kTurned * turned) return false;
  Charge charge(control);
  if (!charge.affords(Transposed::bytes(of.right, n))) return false;
  Transposed right(of.right, n, control, charge);
  const uint64_t met = added(of.left, control, [&](uint32_t a) {
    const Slice own = row(of.left, a);
    uint64_t sum = 0;
    for (uint64_t e = own.begin; e < own.end; ++e) sum += right.length(of.left.ids[e]);
    return sum;
  });
  if (looked_up < kTurned * (turned + met)) return false;
  right.fill(charge);
  const int threads = workers_for(control, met + turned);
  charge.add(static_cast<size_t>(threads) * n * sizeof(uint64_t));
  check(each_root(threads, control, n, kRows,
                  [&](const WorkQueue& queue) { return TransposedRows<V>(of, right, n, vector, queue, out); }));
  return true;
}

// How many entries of `right` meet those of `across`.
uint64_t meeting(const Matrix& across, const Matrix& right, Control* control) {
  const uint64_t n = entries_of(across);
  std::atomic<uint64_t> found{0};
  check(each_piece(workers_for(control, n), control, n, kMet, [&](uint64_t begin, uint64_t end) {
    uint64_t own = 0;
    for (uint64_t p = begin; p < end; ++p) own += length(row(right, across.ids[p]));
    found.fetch_add(own, std::memory_order_relaxed);
  }));
  return found;
}

// Tells whether counting common columns gave the sums.
template <typename V>
bool counted(const Operands& of, uint32_t n, const V* vector, V* out, Control* control) {
  const bool numbers = of.left.values.at || of.right.values.at;
  if (numbers || meeting(of.across, of.right, control) < kLittle * entries_of(of.right)) return false;
  Charge charge(control);
  std::optional<std::vector<uint8_t>> admits;
  if (vector && !(admits = admitted(vector, n, charge))) return false;
  if (!is_plain(of.left, control) || !is_plain(of.right, control)) return false;
  check(masked_counts<V>(of.across, of.left, of.right, n, admits ? admits->data() : nullptr, out, control));
  return true;
}

}  // namespace
}  // namespace qe::eliminate

using namespace qe::eliminate;
using qe::Control;

// out[p], for each entry p of `across`: see above. n: vertices.
QE_API int32_t qe_masked_product(const Matrix* across, const Matrix* left, const Matrix* right, uint32_t n,
                                 const void* vector, int32_t wide, void* out, Control* control) {
  return numbered(wide, [&](auto zero) {
    using V = decltype(zero);
    const Operands of{*across, *left, *right, false};
    return guarded([&] {
      V* sums = static_cast<V*>(out);
      const V* weights = static_cast<const V*>(vector);
      if (transposed<V>(of, n, weights, sums, control)) return;
      if (!counted<V>(of, n, weights, sums, control)) masked_product<V>(of, n, weights, sums, control);
    });
  });
}

// The same of a symmetric matrix without numbers, loops and repeats: out[p], for each of its entries p, is the sum of the
// vector's numbers over the vertices that are linked to both ends.
QE_API int32_t qe_eliminate_triangle_sums(const Matrix* matrix, const void* vector, int32_t wide, void* out,
                                          Control* control) {
  if (entries_of(*matrix) == 0) return qe::kOk;
  return numbered(wide, [&](auto zero) {
    using V = decltype(zero);
    const Operands of{*matrix, *matrix, *matrix, true};
    return guarded([&] { masked_product<V>(of, matrix->hi, static_cast<const V*>(vector), static_cast<V*>(out), control); });
  });
}
