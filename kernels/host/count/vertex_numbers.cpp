// Numbers by vertex as eliminations take and give them: floats as whole numbers, and counts without those that are 0.
//
// A float of one sign is m * 2^(e - 53) with a whole m of 53 bits. A part of them has those with `top - width + 53 < e <= top`,
// as multiples of 2^exponent, the greatest power that all are multiples of: below 2^width. Bytes moved: 8 a number for each pass,
// and what is written. The same for every number of threads.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <vector>

#include "count/eliminate.h"

namespace qe::eliminate {

struct FloatSpan {  // of a part: its greatest exponent, and that of its lowest bit; top is INT32_MIN where there is none
  int32_t top, lowest;
};

namespace {

constexpr uint64_t kPiece = 1 << 14;
constexpr int kMantissa = 53;

struct Split {
  int exponent;
  uint64_t mantissa;
};

// Of a number above 0.
Split split(double value) {
  int exponent;
  const double mantissa = std::frexp(value, &exponent);
  return {exponent, static_cast<uint64_t>(std::ldexp(mantissa, kMantissa))};
}

void lower(std::atomic<int32_t>& least, int32_t value) {
  for (int32_t seen = least; value < seen && !least.compare_exchange_weak(seen, value);) {}
}

void raise(std::atomic<int32_t>& greatest, int32_t value) {
  for (int32_t seen = greatest; value > seen && !greatest.compare_exchange_weak(seen, value);) {}
}

}  // namespace
}  // namespace qe::eliminate

using namespace qe::eliminate;

// Finds the span of the part of the greatest finite numbers of a sign whose exponents are at most `most`.
QE_API int32_t qe_float_span(const double* values, uint64_t n, double sign, int32_t most, int32_t width, FloatSpan* span,
                             qe::Control* control) {
  std::atomic<int32_t> top{INT32_MIN}, lowest{INT32_MAX};
  const qe::Status status = each_piece(workers_for(control, n), control, n, kPiece, [&](uint64_t begin, uint64_t end) {
    int32_t greatest = INT32_MIN;
    for (uint64_t i = begin; i < end; ++i)
      if (const double value = sign * values[i]; value > 0)
        if (const int exponent = split(value).exponent; exponent <= most) greatest = std::max(greatest, exponent);
    raise(top, greatest);
  });
  if (status != qe::kOk || top == INT32_MIN) {
    *span = {INT32_MIN, 0};
    return status;
  }
  const int32_t above = top - (width - kMantissa);
  const qe::Status found = each_piece(workers_for(control, n), control, n, kPiece, [&](uint64_t begin, uint64_t end) {
    int32_t least = INT32_MAX;
    for (uint64_t i = begin; i < end; ++i)
      if (const double value = sign * values[i]; value > 0) {
        const Split of = split(value);
        if (of.exponent > above && of.exponent <= top)
          least = std::min(least, of.exponent - kMantissa + __builtin_ctzll(of.mantissa));
      }
    lower(lowest, least);
  });
  *span = {top, lowest};
  return found;
}

// Writes the numbers of a part, 0 for others: uint64[n], or where they are `wide` uint64[n, 2], the lower halves first.
QE_API int32_t qe_float_parts(const double* values, uint64_t n, double sign, const FloatSpan* span, int32_t width, int32_t wide,
                              uint64_t* numbers, qe::Control* control) {
  const int32_t above = span->top - (width - kMantissa);
  return each_piece(workers_for(control, n), control, n, kPiece, [&](uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end; ++i) {
      unsigned __int128 number = 0;
      if (const double value = sign * values[i]; value > 0)
        if (const Split of = split(value); of.exponent > above && of.exponent <= span->top) {
          const int32_t shift = of.exponent - kMantissa - span->lowest;
          number = shift < 0 ? of.mantissa >> -shift : static_cast<unsigned __int128>(of.mantissa) << shift;
        }
      if (!wide) {
        numbers[i] = static_cast<uint64_t>(number);
      } else {
        numbers[2 * i] = static_cast<uint64_t>(number);
        numbers[2 * i + 1] = static_cast<uint64_t>(number >> 64);
      }
    }
  });
}

// Writes the places of all counts but 0, ascending, and these counts; found: how many.
QE_API int32_t qe_counts_found(const int64_t* counts, uint64_t n, int64_t* places, int64_t* numbers, uint64_t* found,
                               qe::Control* control) {
  return guarded([&] {
    std::vector<uint64_t> begins(n / kPiece + 2);
    check(each_piece(workers_for(control, n), control, n, kPiece, [&](uint64_t begin, uint64_t end) {
      begins[begin / kPiece + 1] = end - begin - static_cast<uint64_t>(std::count(counts + begin, counts + end, 0));
    }));
    for (size_t k = 1; k < begins.size(); ++k) begins[k] += begins[k - 1];
    *found = begins.back();
    check(each_piece(workers_for(control, n), control, n, kPiece, [&](uint64_t begin, uint64_t end) {
      uint64_t at = begins[begin / kPiece];
      for (uint64_t i = begin; i < end; ++i)
        if (counts[i] != 0) {
          places[at] = static_cast<int64_t>(i);
          numbers[at++] = counts[i];
        }
    }));
  });
}
