// Steps over vectors in a semiring: a matrix times a vector, a vector times counts, and what a vector adds up to.
//
// As eliminate_vectors.cpp, for aggregates. A row is added up in the order of its entries, a vector in pieces of one size whose
// sums are added up in order: results are the same for every number of threads. Bytes moved: the matrix once, the vector at
// random. Source: functional aggregate queries, Abo Khamis, Ngo and Rudra 2016.
#include <algorithm>
#include <vector>

#include "count/semirings.h"

namespace qe::eliminate {

// numbers: 1, 8 or 16 bytes each, as the semiring's. present: a byte an element, or null: all are.
struct SemiringVector {
  void* numbers;
  uint8_t* present;
};

// Numbers of relationships or of ways, all multiplied.
struct Weights {
  const Numbers* factors;
  int32_t count;
};

namespace {

constexpr uint64_t kRows = 64;
constexpr uint64_t kPiece = 1 << 12;
constexpr uint64_t kSteps = 1 << 18;

// The product of the i-th weights, which is 0 where any is.
template <typename Weight>
Weight weight_at(const Weights& weights, uint64_t i) {
  for (int32_t k = 0; k < weights.count; ++k)
    if (weights.factors[k].get<Wide>(i) == 0) return Weight{0};
  if constexpr (std::is_same_v<Weight, bool>) {
    return true;
  } else {
    Weight found{1};
    for (int32_t k = 0; k < weights.count; ++k) {
      const auto factor = static_cast<Weight>(weights.factors[k].get<Wide>(i));
      if constexpr (std::is_same_v<Weight, Wide>) found = times(found, factor);
      else found *= factor;
    }
    return found;
  }
}

// What is added up, and whether anything was.
template <typename S>
struct Added {
  S sum;
  bool any = false;

  // Adds the element i of a vector times a weight; tells whether more could change the sum.
  bool add(const SemiringVector& vector, uint64_t i, typename S::Weight weight) {
    if (weight == 0 || (vector.present && !vector.present[i])) return true;
    any = true;
    if constexpr (!S::kFirstSettles) sum.add(static_cast<const typename S::Number*>(vector.numbers)[i], weight);
    return !S::kFirstSettles;
  }
  void merge(const Added& other) {
    if (!other.any) return;
    any = true;
    sum.merge(other.sum);
  }
  void write(const SemiringVector& to, uint64_t i) const {
    to.present[i] = any;
    if constexpr (!S::kFirstSettles) static_cast<typename S::Number*>(to.numbers)[i] = any ? sum.number() : typename S::Number{};
  }
};

template <typename S>
class MatVecRows {
 public:
  MatVecRows(const Matrix& m, const Weights& weights, const SemiringVector& vector, const WorkQueue& queue, const SemiringVector& out)
      : m_(m), weights_(weights), vector_(vector), patience_(queue, kSteps), out_(out) {}

  void root(uint32_t u) {
    const Slice at = row(m_, u);
    Added<S> found;
    uint64_t e = at.begin;
    while (e < at.end && found.add(vector_, m_.ids[e], weight_at<typename S::Weight>(weights_, e))) ++e;
    found.write(out_, u);
    patience_.spend(e - at.begin + 1);
  }

 private:
  const Matrix& m_;
  const Weights& weights_;
  const SemiringVector& vector_;
  Patience patience_;
  const SemiringVector& out_;
};

template <typename S>
void total(const SemiringVector& vector, const Weights& weights, uint64_t n, const SemiringVector& out, Control* control) {
  const uint64_t pieces = (n + kPiece - 1) / kPiece;
  Charge charge(control);
  charge.add(pieces * sizeof(Added<S>));
  std::vector<Added<S>> sums(pieces);
  check(each_row(workers_for(control, n), control, pieces, 16, [&](uint32_t piece) {
    const uint64_t end = std::min((piece + uint64_t{1}) * kPiece, n);
    for (uint64_t i = piece * kPiece; i < end; ++i)
      if (!sums[piece].add(vector, i, weight_at<typename S::Weight>(weights, i))) break;
  }));
  Added<S> sum;
  for (const Added<S>& each : sums) sum.merge(each);
  sum.write(out, 0);
}

template <typename S>
void product(const SemiringVector& vector, const Weights& weights, uint64_t n, const SemiringVector& out, Control* control) {
  const uint64_t pieces = (n + kPiece - 1) / kPiece;
  check(each_row(workers_for(control, n), control, pieces, 16, [&](uint32_t piece) {
    const uint64_t end = std::min((piece + uint64_t{1}) * kPiece, n);
    for (uint64_t i = piece * kPiece; i < end; ++i) {
      Added<S> found;
      found.add(vector, i, weight_at<typename S::Weight>(weights, i));
      found.write(out, i);
    }
  }));
}

}  // namespace
}  // namespace qe::eliminate

using namespace qe::eliminate;
using qe::Control;

// In each of these `weights` are of entries or elements, in place of a matrix's own numbers, and `out` has both arrays; a number
// that isn't present is 0. semiring: Semiring. kOverflow: a whole sum has more than 127 bits.

// out[u], for each of n vertices: the sum over the entries of u's row of their weights times the vector's numbers.
QE_API int32_t qe_semiring_matvec(const Matrix* matrix, const Weights* weights, const SemiringVector* vector, uint32_t n,
                                  int32_t semiring, const SemiringVector* out, Control* control) {
  return in_semiring(semiring, [&](auto zero) {
    using S = decltype(zero);
    return each_root(workers_for(control, entries_of(*matrix)), control, n, kRows,
                     [&](const WorkQueue& queue) { return MatVecRows<S>(*matrix, *weights, *vector, queue, *out); });
  });
}

// out[i], for i < n: the vector's number times its weights.
QE_API int32_t qe_semiring_product(const Weights* weights, const SemiringVector* vector, uint64_t n, int32_t semiring,
                                   const SemiringVector* out, Control* control) {
  return in_semiring(semiring, [&](auto zero) {
    return guarded([&] { product<decltype(zero)>(*vector, *weights, n, *out, control); });
  });
}

// out[0]: the sum of these.
QE_API int32_t qe_semiring_total(const Weights* weights, const SemiringVector* vector, uint64_t n, int32_t semiring,
                                 const SemiringVector* out, Control* control) {
  return in_semiring(semiring, [&](auto zero) {
    return guarded([&] { total<decltype(zero)>(*vector, *weights, n, *out, control); });
  });
}
