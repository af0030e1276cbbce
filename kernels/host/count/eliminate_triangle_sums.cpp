// Elimination of a triangle's third vertex where all three sides are one symmetric matrix without numbers, loops and
// repeats: for each linked pair the sum of a vector over the vertices that are linked to both.
//
// Each pair is looked at from its end with the longer row. The vector is spread over an array for the members of that row,
// and the other end's row adds up what it finds there. A second pass copies each pair's result to its other place. Bytes
// moved: for each pair its shorter row. Deterministic. Source: Chiba and Nishizeki 1985.
#include "count/triangle_counts.h"

namespace qe::eliminate {
namespace {

// Is the pair (k, other) looked at from k?
bool leads(const Sides& sides, uint32_t k, uint32_t other) {
  const uint64_t own = sides.length(k), its = sides.length(other);
  return own != its ? own > its : k < other;
}

// One worker's array, by which the pairs of one vertex are summed up.
template <typename V>
class Summing {
 public:
  Summing(const Sides& sides, const WorkQueue& queue, const V* vector, bool wraps, V* out)
      : sides_(sides), queue_(queue), vector_(vector), wraps_(wraps), out_(out), spread_(sides.n(), V{0}) {}

  static size_t bytes(const Sides& sides) { return sides.n() * sizeof(V); }

  void root(uint32_t k) {
    const uint64_t begin = sides_.begin(k), end = sides_.end(k);
    for (uint64_t e = begin; e < end; ++e) spread_[sides_.neighbour(e)] = vector_[sides_.ids()[e]];
    const V* spread = spread_.data() - sides_.lo();
    for (uint64_t e = begin; e < end; ++e) {
      const uint32_t other = sides_.neighbour(e);
      if (!leads(sides_, k, other)) continue;
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
      queue_.poll();
    }
    for (uint64_t e = begin; e < end; ++e) spread_[sides_.neighbour(e)] = 0;
  }

 private:
  const Sides& sides_;
  const WorkQueue& queue_;
  const V* vector_;
  bool wraps_;
  V* out_;
  std::vector<V> spread_;
  uint64_t spent_ = 0;
};

template <typename V>
void sum_up(const Matrix& matrix, const V* numbers, V* sums, Control* control) {
  const Sides sides(matrix, control);
  Charge charge(control);
  charge.add(static_cast<size_t>(sides.threads()) * Summing<V>::bytes(sides) + sides.turning_bytes());
  // Sums of fewer than 2^32 numbers below 2^32 don't wrap.
  const bool wraps = *std::max_element(numbers + matrix.lo, numbers + matrix.hi) >> 32 != 0;
  sides.each_root([&](const WorkQueue& queue) { return Summing<V>(sides, queue, numbers, wraps, sums); });
  sides.each_turned(nullptr, nullptr, sides.offsets(), [&](uint32_t k, uint32_t other, uint64_t e, uint64_t place) {
    if (leads(sides, k, other)) sums[place] = sums[e];
  });
}

}  // namespace
}  // namespace qe::eliminate

using namespace qe::eliminate;
using qe::Control;

// out[p], for each entry p of the matrix: the sum of the vector's numbers over the vertices that are linked to both ends.
QE_API int32_t qe_eliminate_triangle_sums(const Matrix* matrix, const void* vector, int32_t wide, void* out,
                                          Control* control) {
  if (entries_of(*matrix) == 0) return qe::kOk;
  return numbered(wide, [&](auto zero) {
    using V = decltype(zero);
    return guarded([&] { sum_up<V>(*matrix, static_cast<const V*>(vector), static_cast<V*>(out), control); });
  });
}
