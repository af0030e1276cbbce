// A masked product in many small dense graphs at once, as local_triangles.cpp, of which one side has numbers: for each entry (x, y)
// the sum over the rows z that are linked to both x and y of the number of entry (y, z).
//
// The numbers of a row y are spread over its block; for each x that it is linked to they are added up where the bits of both rows
// (BitRows) are, or where x's ids are if these are few. The sum goes to y's place in row x. Sums are checked where numbers have
// more than 32 bits. Bytes moved: a row of bits for each entry, and a number for each triangle's side from both of its ends.
// Deterministic. Sources: Lan et al. 2022 (small dense graphs in bits); Azad, Buluç and Gilbert 2015 (masked products).
#include "count/bit_rows.h"

namespace qe::eliminate {
namespace {

constexpr uint64_t kSteps = 1 << 14;
constexpr size_t kWord = 2;  // ids that are looked up in the time of a word of both rows' bits, about

template <typename V, bool checked>
class LocalSums {
 public:
  LocalSums(const Matrix& m, const WorkQueue& queue, Charge& charge, V* out)
      : m_(m), patience_(queue, kSteps), charge_(charge), out_(out) {}

  void root(const BitRows& bits, uint32_t y) {
    const Slice at = row(m_, y);
    if (at.begin == at.end) return;
    const uint32_t first = bits.first();
    V* numbers = spread(at, bits);
    const uint64_t* own = bits.find(y - first);
    for (uint64_t e = at.begin; e < at.end; ++e) {
      const uint32_t x = m_.ids[e];
      const Slice other = row(m_, x);
      const uint64_t* linked = bits.find(x - first);
      const uint64_t place = other.begin + lower_bound(m_.ids + other.begin, length(other), y);
      if (own == nullptr || linked == nullptr || length(other) < kWord * bits.words()) {
        out_[place] = along(other, numbers, first);
        patience_.spend(length(other) / 4 + 1);
      } else {
        out_[place] = common(own, linked, bits.words(), numbers);
        patience_.spend(bits.words() + length(other) / 8);
      }
    }
    for (uint64_t e = at.begin; e < at.end; ++e) numbers[m_.ids[e] - first] = 0;
  }

 private:
  static V sum(V a, V b) { return checked ? plus(a, b) : a + b; }

  V along(Slice at, const V* numbers, uint32_t first) const {
    V found = 0;
    for (uint64_t e = at.begin; e < at.end; ++e) found = sum(found, numbers[m_.ids[e] - first]);
    return found;
  }
  static V common(const uint64_t* one, const uint64_t* other, size_t words, const V* numbers) {
    V found = 0;
    for (size_t w = 0; w < words; ++w, numbers += 64)
      for (uint64_t rest = one[w] & other[w]; rest; rest &= rest - 1) found = sum(found, numbers[__builtin_ctzll(rest)]);
    return found;
  }
  V* spread(Slice at, const BitRows& bits) {
    if (spread_.capacity() < bits.columns()) {
      spread_.reserve(bits.columns(), charge_);
      std::fill_n(spread_.data(), spread_.capacity(), V{0});
    }
    for (uint64_t e = at.begin; e < at.end; ++e) spread_.data()[m_.ids[e] - bits.first()] = value<V>(m_, e);
    return spread_.data();
  }

  const Matrix& m_;
  Patience patience_;
  Charge& charge_;
  V* out_;
  Buffer<V> spread_;  // of the numbers of a row; all 0 between two rows
};

template <typename V, bool checked>
void sum_blocks(const Matrix& m, const uint64_t* blocks, uint64_t n_blocks, V* out, Control* control) {
  Charge charge(control);
  each_block(m, blocks, n_blocks, control, charge,
             [&](const WorkQueue& queue) { return LocalSums<V, checked>(m, queue, charge, out); });
}

}  // namespace
}  // namespace qe::eliminate

using namespace qe::eliminate;

// out[e], for each entry e: see above. m has numbers; rows [blocks[b], blocks[b + 1]) are a block; m.lo is 0.
QE_API int32_t qe_eliminate_local_sums(const Matrix* m, const uint64_t* blocks, uint64_t n_blocks, int32_t wide, void* out,
                                       qe::Control* control) {
  return numbered(wide, [&](auto zero) {
    using V = decltype(zero);
    return guarded([&] {
      auto* to = static_cast<V*>(out);
      if (m->values.at == nullptr || m->values.bytes > 4) sum_blocks<V, true>(*m, blocks, n_blocks, to, control);
      else sum_blocks<V, false>(*m, blocks, n_blocks, to, control);
    });
  });
}
