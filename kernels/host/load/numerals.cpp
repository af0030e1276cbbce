// Finds numbers that a column of 64-bit integers or of doubles would change: 007, +46, 0x1F, 12345678901234567890.
//
// Reading numbers loses how they were written. First the bytes of a whole file are scanned for what may be changed, once
// and without a thought for columns; where something is found, the columns are read as text, and each text is compared
// with its number.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/workers.h"

namespace qe {
namespace {

constexpr uint64_t kSerialBelow = 1 << 18;
constexpr int kMostWorkers = 64;
constexpr uint32_t kOddlyWritten = 1;  // a leading zero or plus, or hexadecimal digits
constexpr uint32_t kManyDigits = 2;    // more than 15 digits, or an exponent of three
constexpr int kAlwaysHeld = 15;        // decimal digits that every double of ordinary size holds
constexpr int kMostDigits = 767;       // of the longest double
constexpr int64_t kLargestExponent = 100'000;
constexpr uint64_t kLargestWhole = uint64_t{1} << 53;

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_blank(char c) { return c == ' ' || c == '\t'; }
inline bool precedes_field(char c) { return c == ',' || c == '"' || c == '\n' || c == '\r' || is_blank(c); }
inline bool is_odd_zero(const char* at, const char* end) {
  return end - at > 1 && *at == '0' && (is_digit(at[1]) || (at[1] | 0x20) == 'x');
}

// Looks at what may be a number; leaves `at` behind its digits.
uint32_t scan_number(const char*& at, const char* end) {
  uint32_t found = 0;
  if (*at == '+' || *at == '-') {
    const bool plus = *at++ == '+';
    if (at == end || !(is_digit(*at) || *at == '.')) return 0;
    if (plus) found |= kOddlyWritten;
  }
  if (is_odd_zero(at, end)) found |= kOddlyWritten;
  const char* first = at;
  while (at < end && (is_digit(*at) || *at == '.')) ++at;
  if (at - first > kAlwaysHeld) found |= kManyDigits;
  if (at > first && at < end && (*at | 0x20) == 'e') {
    const char* digits = at + 1;
    if (digits < end && (*digits == '+' || *digits == '-')) ++digits;
    if (end - digits >= 3 && is_digit(digits[0]) && is_digit(digits[1]) && is_digit(digits[2])) found |= kManyDigits;
  }
  return found;
}

uint32_t scan(const char* data, const char* begin, const char* end, const char* data_end, uint32_t wanted) {
  uint32_t found = 0;
  bool fresh = begin == data || precedes_field(begin[-1]);
  for (const char* at = begin; at < end && (found & wanted) != wanted;) {
    if (fresh && (is_digit(*at) || *at == '-' || *at == '+' || *at == '.')) {
      found |= scan_number(at, data_end);
      fresh = false;
    } else {
      fresh = precedes_field(*at++);
    }
  }
  return found;
}

// A decimal number: ± digits · 10^exponent, without zeros at either end of the digits.
struct Numeral {
  bool plain = true;      // written as numbers usually are
  bool whole = true;      // without a point and an exponent
  bool number = true;     // false: a word, such as nan
  int count = 0;          // of digits, without the zeros at both ends
  int64_t exponent = 0;   // of the last of them
  uint64_t value = 0;     // of up to 19 digits
  char digits[kMostDigits + 1];
};

void read_numeral(const char* at, const char* end, Numeral& found) {
  while (at < end && is_blank(*at)) ++at;
  while (at < end && is_blank(end[-1])) --end;
  if (at < end && (*at == '+' || *at == '-')) found.plain = *at++ != '+';
  found.number = at < end && (is_digit(*at) || *at == '.');
  if (!found.number) return;
  found.plain = found.plain && !is_odd_zero(at, end);
  int64_t zeros = 0, behind_point = 0;  // zeros: since the last other digit
  for (; at < end && (is_digit(*at) || (*at == '.' && found.whole)); ++at) {
    if (*at == '.') {
      found.whole = false;
      continue;
    }
    behind_point += !found.whole;
    if (*at == '0') {
      zeros += 1;
      continue;
    }
    if (found.count == 0) zeros = 0;
    for (; zeros > 0; --zeros, ++found.count)
      if (found.count < kMostDigits) found.digits[found.count] = '0';
    if (found.count < kMostDigits) found.digits[found.count] = *at;
    ++found.count;
  }
  found.exponent = zeros - behind_point;
  if (at < end && (*at | 0x20) == 'e') {
    found.whole = false;
    ++at;
    const bool negative = at < end && *at == '-';
    if (at < end && (*at == '+' || *at == '-')) ++at;
    int64_t sum = 0;
    for (; at < end && is_digit(*at); ++at) sum = sum < kLargestExponent ? sum * 10 + (*at - '0') : sum;
    found.exponent += negative ? -sum : sum;
  }
  if (found.count <= 19)
    for (int i = 0; i < found.count; ++i) found.value = found.value * 10 + (found.digits[i] - '0');
}

// Tells whether a double, printed with as many digits as a numeral has, gives these: by printing it. Below a power of two
// doubles lie twice as dense: what is printed may be read as another, and its shortest text is the next above.
bool prints_as(const Numeral& text, double number, bool power_of_two) {
  char printed[kMostDigits + 32];
  const int length = std::snprintf(printed, sizeof(printed), "%.*e", text.count - 1, number);
  bool same = true;
  for (int i = 0, seen = 0; i < length && same; ++i) {
    if (printed[i] == 'e') same = std::atoll(printed + i + 1) == text.exponent + text.count - 1;
    if (printed[i] == 'e') break;
    if (is_digit(printed[i])) same = printed[i] == text.digits[seen++];
  }
  return same || (power_of_two && std::strtod(printed, nullptr) != number);
}

int bits(unsigned __int128 value) {
  const uint64_t high = value >> 64, low = value;
  return high != 0 ? 128 - __builtin_clzll(high) : low != 0 ? 64 - __builtin_clzll(low) : 0;
}

// The same without printing, for most numbers: |number - value · 10^exponent| is at most half of 10^exponent.
bool rounds_to(const Numeral& text, double number) {
  const int64_t places = -text.exponent;
  int binary = 0;
  const auto fraction = static_cast<uint64_t>(std::ldexp(std::frexp(number, &binary), 53));
  const int64_t shift = 53 - binary;  // number = fraction / 2^shift
  const bool power_of_two = fraction == uint64_t{1} << 52;
  if (power_of_two || text.count > 19 || places < 0 || places > 22 || shift < 1 || shift + bits(text.value) > 126)
    return prints_as(text, number, power_of_two);
  unsigned __int128 left = fraction;
  for (int64_t i = 0; i < places; ++i) left *= 10;
  const unsigned __int128 right = static_cast<unsigned __int128>(text.value) << shift;
  const unsigned __int128 difference = left > right ? left - right : right - left;
  return difference <= static_cast<unsigned __int128>(1) << (shift - 1);
}

// `number`: what was read of the text; null where that was an integer.
bool holds(const char* at, const char* end, const double* number) {
  Numeral text;
  read_numeral(at, end, text);
  if (!text.number) return true;
  if (!text.plain) return false;
  if (number == nullptr || text.count == 0) return true;
  const int64_t size = text.count + text.exponent;
  if (text.whole) return size <= kAlwaysHeld || (size <= 19 && std::fabs(*number) < static_cast<double>(kLargestWhole));
  if (text.count <= kAlwaysHeld && text.exponent >= -290 && size <= 300) return true;
  if (text.count > kMostDigits || std::isinf(*number) || *number == 0) return false;
  return rounds_to(text, std::fabs(*number));
}

template <class Offset>
uint64_t first_changed(const Offset* offsets, const char* bytes, uint64_t n, const double* numbers, int threads) {
  const int workers = n < kSerialBelow / 16 ? 1 : std::clamp(threads, 1, kMostWorkers);
  uint64_t first[kMostWorkers];
  std::fill_n(first, workers, n);
  run_workers(workers, [&](int worker) {
    const uint64_t last = share(n, worker + 1, workers);
    for (uint64_t i = share(n, worker, workers); i < last; ++i) {
      if (holds(bytes + offsets[i], bytes + offsets[i + 1], numbers == nullptr ? nullptr : numbers + i)) continue;
      first[worker] = i;
      return;
    }
  });
  return *std::min_element(first, first + workers);
}

}  // namespace
}  // namespace qe

// data[n]: a CSV file. Writes to *found the bits of what stands in it where a field may begin: 1, a number that begins
// with a zero or a plus that it doesn't need, or with 0x; 2, one of more than 15 digits or with an exponent of three
// digits. Ends early when all bits of `wanted` are found.
QE_API int32_t qe_numerals_scan(const char* data, uint64_t n, uint32_t wanted, uint32_t* found, int32_t threads) {
  using namespace qe;
  const int workers = n < kSerialBelow ? 1 : std::clamp(threads, 1, kMostWorkers);
  uint32_t one_found[kMostWorkers] = {};
  const Status status = run_workers(workers, [&](int worker) {
    const char* begin = data + share(n, worker, workers);
    one_found[worker] = scan(data, begin, data + share(n, worker + 1, workers), data + n, wanted);
  });
  *found = 0;
  for (const uint32_t each : one_found) *found |= each;
  return status;
}

// Text i of n is bytes[offsets[i], offsets[i + 1]), offsets of `offset_width` bytes (4 or 8). numbers[n]: the doubles read
// of them, or null: they were read as integers. Writes the first row whose text isn't what its number gives again when
// printed with as many digits, or n. Empty texts, and words such as nan, are held.
QE_API int32_t qe_numerals_changed(const void* offsets, uint32_t offset_width, const char* bytes, uint64_t n,
                                   const double* numbers, uint64_t* row, int32_t threads) {
  using namespace qe;
  *row = offset_width == 4 ? first_changed(static_cast<const uint32_t*>(offsets), bytes, n, numbers, threads)
                           : first_changed(static_cast<const uint64_t*>(offsets), bytes, n, numbers, threads);
  return kOk;
}
