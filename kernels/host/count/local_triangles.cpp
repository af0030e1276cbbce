// A masked product in many small dense graphs at once: a symmetric matrix without numbers, loops and repeats that links only rows
// of one block, as the graphs that are linked among the neighbours of one root each. For each entry the rows linked to both ends.
//
// A block's rows are kept as bits (BitRows): what two linked rows have in common are the bits of both; where the one has few ids,
// those of them that the other has. Where a block has no room for bits only one row has some at a time. Bytes moved: a row of
// bits, a bit for each of the block's rows, for each entry. Deterministic. Sources: Muła, Kurz and Lemire 2018; Lan et al. 2022
// (small dense graphs in bits).
#include "count/bit_rows.h"

namespace qe::eliminate {
namespace {

constexpr size_t kFewer = 24;  // ids that are looked up in the time of a block of words, about
constexpr uint64_t kSteps = 1 << 14;

class Triangles {
 public:
  Triangles(const Matrix& m, const WorkQueue& queue, Charge& charge, uint32_t* out)
      : m_(m), ops_(set_ops(current_isa())), patience_(queue, kSteps), charge_(charge), out_(out) {}

  void root(const BitRows& bits, uint32_t r) {
    const Slice at = row(m_, r);
    if (at.begin == at.end) return;
    const uint32_t first = bits.first();
    const uint64_t* own = bits.find(r - first);
    const bool alone = own == nullptr;
    if (alone) own = spread(at, bits);
    else if (length(at) * kRowBlock < bits.words() * kFewer || bits.words() > kRowBlock) shift(at, first);
    for (uint64_t e = at.begin; e < at.end; ++e) {
      const uint32_t x = m_.ids[e] - first;
      const Slice other = row(m_, m_.ids[e]);
      const uint64_t least = std::min(length(at), length(other));
      if (!alone && least * kRowBlock >= bits.words() * kFewer) {
        out_[e] = static_cast<uint32_t>(ops_.and_count(own, bits.find(x), bits.words()));
      } else if (!alone && least == length(at)) {
        out_[e] = static_cast<uint32_t>(ops_.filter_count(bits.find(x), shifted_.data(), least));
      } else {
        out_[e] = members(own, other, first);
      }
      if (alone) patience_.spend(length(other) / 8);
    }
    patience_.spend(length(at) + 1);
    if (!alone) return;
    for (uint64_t e = at.begin; e < at.end; ++e) spread_.data()[(m_.ids[e] - first) >> 6] = 0;
  }

 private:
  // How many of a row's ids have bits.
  uint32_t members(const uint64_t* bits, Slice at, uint32_t first) const {
    uint32_t found = 0;
    for (uint64_t f = at.begin; f < at.end; ++f) {
      const uint32_t y = m_.ids[f] - first;
      found += static_cast<uint32_t>(bits[y >> 6] >> (y & 63) & 1);
    }
    return found;
  }
  void shift(Slice at, uint32_t first) {
    shifted_.resize(length(at));
    for (uint64_t e = at.begin; e < at.end; ++e) shifted_[e - at.begin] = m_.ids[e] - first;
  }
  const uint64_t* spread(Slice at, const BitRows& bits) {
    if (spread_.capacity() < bits.words()) {
      spread_.reserve(bits.words(), charge_);
      std::fill_n(spread_.data(), spread_.capacity(), 0);
    }
    set_bits(spread_.data(), m_.ids + at.begin, length(at), bits.first());
    return spread_.data();
  }

  const Matrix& m_;
  const SetOps& ops_;
  Patience patience_;
  Charge& charge_;
  uint32_t* out_;
  std::vector<uint32_t> shifted_;
  Buffer<uint64_t> spread_;  // all 0 between two rows
};

}  // namespace
}  // namespace qe::eliminate

using namespace qe::eliminate;

// out[e], for each entry e: how many rows both of its ends are linked to. Rows [blocks[b], blocks[b + 1]) are a block; m.lo is 0.
QE_API int32_t qe_eliminate_local_triangles(const Matrix* m, const uint64_t* blocks, uint64_t n_blocks, uint32_t* out,
                                            qe::Control* control) {
  return guarded([&] {
    qe::Charge charge(control);
    each_block(*m, blocks, n_blocks, control, charge,
               [&](const WorkQueue& queue) { return Triangles(*m, queue, charge, out); });
  });
}
