// Elimination's steps over vectors: messages (a matrix times a vector), products entry by entry, totals.
//
// A message sums out a vertex that one other knows. Bytes moved: the matrix once, the vector at random, 8 (16 wide) a row.
// Deterministic. Source: bucket elimination (Dechter 1999), on sparse matrices.
#include <algorithm>
#include <atomic>
#include <mutex>

#include "base/isa.h"
#include "count/eliminate.h"

namespace qe::eliminate {
namespace {

constexpr uint64_t kRows = 64;
constexpr uint64_t kEasy = 4;  // numbers that are read as soon as an entry of a matrix is dealt with elsewhere

// Sums without a check: fewer than 2^32 numbers below 2^32.
template <typename V>
uint64_t sum_of(const uint32_t* ids, const uint32_t* end, const V* vector) {
  uint64_t sums[4] = {0, 0, 0, 0};
  for (; ids + 4 <= end; ids += 4)
    for (int k = 0; k < 4; ++k) sums[k] += static_cast<uint64_t>(vector[ids[k]]);
  for (; ids < end; ++ids) sums[0] += static_cast<uint64_t>(*(vector + *ids));
  return sums[0] + sums[1] + sums[2] + sums[3];
}

// Sums of the numbers of 32 bits at [begin, end), or of products of two each.
template <typename V>
V sum_of(const Numbers* factors, int32_t n_factors, Slice at) {
  const auto* one = static_cast<const uint32_t*>(factors[0].at);
  const auto* other = static_cast<const uint32_t*>(factors[n_factors - 1].at);
  uint64_t plain = 0;
  if (n_factors == 1) {
    for (uint64_t e = at.begin; e < at.end; ++e) plain += one[e];
    return plain;
  }
  V sum = 0;
  for (uint64_t e = at.begin; e < at.end; ++e) sum = plus<V>(sum, static_cast<uint64_t>(one[e]) * other[e]);
  return sum;
}

constexpr uint64_t kLooked = 1 << 16;  // numbers that a worker looks at at a time

// Whether all of n numbers are below 2^32, in `below`.
template <typename V>
Status all_short(const V* numbers, uint64_t n, Control* control, bool* below) {
  WorkQueue queue(control, n, kLooked);
  std::atomic<bool> longer{false};
  const Status status = deal(workers_for(control, n / kEasy), queue, [&](int) {
    for (uint64_t begin, end; queue.take(&begin, &end);) {
      V all = 0;
      for (uint64_t i = begin; i < end; ++i) all |= numbers[i];
      if (all >> 32 != 0) longer = true;
    }
  });
  *below = !longer;
  return status;
}

// out[u]: the length of u's row.
template <typename V>
Status lengths(const Matrix& m, uint32_t n, V* out, Control* control) {
  return each_piece(workers_for(control, n / kEasy), control, n, kLooked, [&](uint64_t begin, uint64_t end) {
    for (uint64_t u = begin; u < end; ++u) {
      const bool has = u >= m.lo && u < m.hi;
      out[u] = has ? m.offsets[u - m.lo + 1] - m.offsets[u - m.lo] : 0;
    }
  });
}

template <typename V>
Status message(const Matrix& m, const Numbers* factors, int32_t n_factors, uint32_t n, const V* vector, V* out,
               Control* control) {
  const bool bare = n_factors == 0;
  if (bare && vector == nullptr) return lengths(m, n, out, control);
  bool below = true;
  if (bare)
    if (const Status status = all_short(vector, n, control, &below); status != kOk) return status;
  WorkQueue queue(control, n, kRows, kTogether);
  bool short_products = vector == nullptr && (n_factors == 1 || n_factors == 2);
  for (int32_t k = 0; k < n_factors; ++k) short_products = short_products && factors[k].bytes == 4;
  return deal(workers_for(control, entries_of(m) / kEasy), queue, [&](int) {
    for (uint64_t begin, end; queue.take(&begin, &end);) {
      for (uint64_t u = begin; u < end; ++u) {
        const Slice at = row(m, static_cast<uint32_t>(u));
        if (bare && below) {
          out[u] = sum_of(m.ids + at.begin, m.ids + at.end, vector);
        } else if (short_products) {
          out[u] = sum_of<V>(factors, n_factors, at);
        } else {
          V sum = 0;
          for (uint64_t e = at.begin; e < at.end; ++e) {
            V number = vector ? vector[m.ids[e]] : V{1};
            for (int32_t k = 0; k < n_factors; ++k) number = times(number, factors[k].get<V>(e));
            sum = plus(sum, number);
          }
          out[u] = sum;
        }
      }
    }
  });
}

constexpr uint64_t kPiece = 1 << 16;  // numbers of each vector that a worker adds up at a time
constexpr int32_t kShortBytes = 6;    // numbers of so many bytes together: the sum of a piece of their products fits 64 bits

constexpr uint64_t kLow = 0xffffffff;

// The sum of products of numbers of so few bytes that nothing can wrap: none is looked at for that. Masks tell the compiler that
// one multiplication of 32 bits does.
template <typename First, typename... Rest>
inline __attribute__((always_inline)) uint64_t plain_sum(uint64_t n, const First* first, const Rest*... rest) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < n; ++i) {
    uint64_t product = first[i];
    ((product = (product & kLow) * (static_cast<uint64_t>(rest[i]) & kLow)), ...);
    sum += product;
  }
  return sum;
}

// Of a block of up to three vectors: the sum of the products, which is right where the widths allow, and the numbers' bits.
struct BlockSum {
  uint64_t sum;
  uint64_t bits[3];
};

constexpr uint64_t kBlock = 512;
constexpr int kBlockWidth = 9;  // bits by which a sum of so many numbers is longer than they are

// Numbers of more than 32 bits are cut: `fits` tells. `count` is a constant where this is inlined, so that the loop is vector code.
inline __attribute__((always_inline)) BlockSum block_sum(const uint64_t* const* at, int count, uint64_t n) {
  uint64_t sum = 0, one = 0, other = 0, third = 0;
  for (uint64_t i = 0; i < n; ++i) {
    uint64_t product = at[0][i];
    one |= product;
    if (count > 1) {
      other |= at[1][i];
      product = (product & kLow) * (at[1][i] & kLow);
    }
    if (count > 2) {
      third |= at[2][i];
      product = (product & kLow) * (at[2][i] & kLow);
    }
    sum += product;
  }
  return {sum, {one, other, third}};
}

// Copies narrower numbers, so that blocks of any widths are summed by the same code: the copies stay in L1.
template <typename N>
inline __attribute__((always_inline)) void widen(const void* numbers, uint64_t n, uint64_t* out) {
  for (uint64_t i = 0; i < n; ++i) out[i] = static_cast<const N*>(numbers)[i];
}

inline __attribute__((always_inline)) BlockSum any_block_sum(const Numbers* factors, int count, uint64_t begin, uint64_t n) {
  alignas(64) uint64_t copies[3][kBlock];
  const uint64_t* at[3] = {copies[0], copies[1], copies[2]};
  for (int k = 0; k < count; ++k) {
    const char* from = static_cast<const char*>(factors[k].at) + begin * factors[k].bytes;
    if (factors[k].bytes == 2) {
      widen<uint16_t>(from, n, copies[k]);
    } else if (factors[k].bytes == 4) {
      widen<uint32_t>(from, n, copies[k]);
    } else {
      at[k] = reinterpret_cast<const uint64_t*>(from);
    }
  }
  if (count == 1) return block_sum(at, 1, n);
  return count == 2 ? block_sum(at, 2, n) : block_sum(at, 3, n);
}

// The sum of the products of a piece of up to three vectors of at most kShortBytes, the widest first.
inline __attribute__((always_inline)) uint64_t any_plain_sum(const Numbers* factors, int count, uint64_t begin, uint64_t n) {
  const auto* words = static_cast<const uint32_t*>(factors[0].at) + begin;
  const uint16_t* at[3] = {};
  for (int k = 0; k < count; ++k) at[k] = static_cast<const uint16_t*>(factors[k].at) + begin;
  const bool longer = factors[0].bytes == 4;
  if (count == 1) return longer ? plain_sum(n, words) : plain_sum(n, at[0]);
  if (count == 2) return longer ? plain_sum(n, words, at[1]) : plain_sum(n, at[0], at[1]);
  return plain_sum(n, at[0], at[1], at[2]);
}

// The sums above in one instruction set.
struct Sums {
  BlockSum (*block)(const Numbers* factors, int count, uint64_t begin, uint64_t n);
  uint64_t (*plain)(const Numbers* factors, int count, uint64_t begin, uint64_t n);
};

#define QE_SUMS(name, target)                                                                        \
  target BlockSum name##_block(const Numbers* factors, int count, uint64_t begin, uint64_t n) {      \
    return any_block_sum(factors, count, begin, n);                                                  \
  }                                                                                                  \
  target uint64_t name##_plain(const Numbers* factors, int count, uint64_t begin, uint64_t n) {      \
    return any_plain_sum(factors, count, begin, n);                                                  \
  }                                                                                                  \
  constexpr Sums name##_sums = {name##_block, name##_plain};

QE_SUMS(baseline, )
#if defined(QE_X86)
QE_SUMS(avx2, QE_AVX2)
QE_SUMS(avx512, QE_AVX512)
#endif
#undef QE_SUMS

const Sums& sums_for(Isa isa) {
#if defined(QE_X86)
  if (isa != kBaseline) return isa == kAvx512 ? avx512_sums : avx2_sums;
#endif
  (void)isa;
  return baseline_sums;
}

// Whether nothing was cut and the sum of a block has no more than 64 bits, given its numbers' bits.
bool fits(const BlockSum& found, int count) {
  const auto width = [&](int k) { return k < count ? 64 - (found.bits[k] ? __builtin_clzll(found.bits[k]) : 64) : 0; };
  if (count > 1 && (width(0) > 32 || width(1) > 32)) return false;
  if (count > 2 && (width(0) + width(1) > 32 || width(2) > 32)) return false;
  return width(0) + width(1) + width(2) + kBlockWidth <= 64;
}

// The sum of the products of up to three numbers of at most 64 bits, in `sum`; false where a product has more bits.
bool sum_products(const Numbers* factors, int32_t count, uint64_t begin, uint64_t end, Wide* sum) {
  const Sums& sums = sums_for(current_isa());
  Wide own = 0;
  for (uint64_t first = begin; first < end; first += kBlock) {
    const uint64_t last = std::min(first + kBlock, end);
    const BlockSum found = sums.block(factors, count, first, last - first);
    if (fits(found, count)) {
      own += found.sum;  // of fewer than 2^32 blocks
      continue;
    }
    bool wraps = false;
    for (uint64_t i = first; i < last; ++i) {
      uint64_t product = factors[0].get<uint64_t>(i);
      for (int32_t k = 1; k < count; ++k) wraps |= __builtin_mul_overflow(product, factors[k].get<uint64_t>(i), &product);
      own += product;
    }
    if (wraps) return false;
  }
  *sum = own;
  return true;
}

// The product of the factors' i-th numbers, in 64 bits as far as those do.
Wide product_at(const Numbers* factors, int32_t count, uint64_t i) {
  Narrow narrow = 1;
  int32_t k = 0;
  for (; k < count && factors[k].bytes < 16; ++k) {
    Narrow next;
    if (__builtin_mul_overflow(narrow, factors[k].get<Narrow>(i), &next)) break;
    narrow = next;
    if (narrow == 0) return 0;
  }
  for (int32_t rest = k; rest < count; ++rest)
    if (factors[rest].get<Wide>(i) == 0) return 0;  // before a product of others could wrap
  Wide wide = narrow;
  for (; k < count; ++k) wide = times(wide, factors[k].get<Wide>(i));
  return wide;
}

template <typename V>
Status product(const Numbers* factors, int32_t count, uint64_t n, V* out, Control* control) {
  WorkQueue queue(control, n, kShort);
  return deal(workers_for(control, n / kEasy), queue, [&](int) {
    for (uint64_t begin, end; queue.take(&begin, &end);) {
      for (uint64_t i = begin; i < end; ++i) {
        V found = factors[0].get<V>(i);
        for (int32_t k = 1; k < count && found != 0; ++k) {
          if (factors[k].get<V>(i) == 0) found = 0;  // before a product of others could wrap
        }
        for (int32_t k = 1; k < count && found != 0; ++k) found = times(found, factors[k].get<V>(i));
        out[i] = found;
      }
    }
  });
}

// The sum of the products of the factors' i-th numbers, as its low and its high 64 bits.
Status total(const Numbers* factors, int32_t count, uint64_t n, uint64_t* halves, Control* control) {
  WorkQueue queue(control, n, kPiece);
  std::mutex mutex;
  Wide sum = 0;
  int32_t bytes = 0;
  bool narrow = count >= 1 && count <= 3;
  for (int32_t k = 0; k < count; ++k) {
    narrow = narrow && factors[k].bytes <= 8;
    bytes += factors[k].bytes;
  }
  const bool plain = narrow && bytes <= kShortBytes;
  Numbers turned[2];
  if (plain && count == 2 && factors[1].bytes == 4) {
    turned[0] = factors[1];
    turned[1] = factors[0];
    factors = turned;
  }
  const Status status = deal(workers_for(control, n / kEasy), queue, [&](int) {
    Wide own = 0;
    for (uint64_t begin, end; queue.take(&begin, &end);) {
      Wide found = 0;
      if (plain) {
        found = sums_for(current_isa()).plain(factors, count, begin, end - begin);
      } else if (!narrow || !sum_products(factors, count, begin, end, &found)) {
        found = 0;
        for (uint64_t i = begin; i < end; ++i) found = plus(found, product_at(factors, count, i));
      }
      own = plus(own, found);
    }
    const std::lock_guard<std::mutex> lock(mutex);
    sum = plus(sum, own);
  });
  halves[0] = static_cast<uint64_t>(sum);
  halves[1] = static_cast<uint64_t>(sum >> 64);
  return status;
}

}  // namespace
}  // namespace qe::eliminate

using namespace qe::eliminate;
using qe::Control;

// out[u], for each of n vertices: the sum over the entries of u's row of the product of their factors (in place of the
// matrix's own numbers) and the vector's number (null: 1).
QE_API int32_t qe_eliminate_message(const Matrix* matrix, const Numbers* factors, int32_t n_factors, uint32_t n,
                                    const void* vector, int32_t wide, void* out, Control* control) {
  return numbered(wide, [&](auto zero) {
    using V = decltype(zero);
    return message<V>(*matrix, factors, n_factors, n, static_cast<const V*>(vector), static_cast<V*>(out), control);
  });
}

// out[i]: the product of the factors' i-th numbers.
QE_API int32_t qe_eliminate_product(const Numbers* factors, int32_t count, uint64_t n, int32_t wide, void* out,
                                    Control* control) {
  return numbered(wide, [&](auto zero) {
    using V = decltype(zero);
    return product<V>(factors, count, n, static_cast<V*>(out), control);
  });
}

// halves: for each of n_sums sums the low and the high 64 bits of the sum of the products of its factors' i-th numbers (of none:
// 1 each). The factors of sum s are factors[first[s], first[s + 1]).
QE_API int32_t qe_eliminate_totals(const Numbers* factors, const int32_t* first, int32_t n_sums, uint64_t n, uint64_t* halves,
                                   Control* control) {
  for (int32_t s = 0; s < n_sums; ++s) {
    const qe::Status status = total(factors + first[s], first[s + 1] - first[s], n, halves + 2 * s, control);
    if (status != qe::kOk) return status;
  }
  return qe::kOk;
}
