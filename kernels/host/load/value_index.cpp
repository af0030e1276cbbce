// A hash index of a column: which rows have a value. Rows are sorted by the bucket that their value's hash falls into (a
// counting sort, so that the rows of a bucket ascend), and a look-up reads one bucket and compares. Null and NaN equal
// nothing and are left out; the zeros of either sign are one. A bucket whose rows all have one value is compared once.
// Deterministic. Building reads the column three times, and writes 4 bytes a row and bucket; it polls the context.
#include <cstring>

#include "base/stop.h"
#include "base/text_hash.h"
#include "qe/abi.h"

namespace qe {

enum ValueKind : int32_t { kInt64Values = 0, kFloat64Values = 1, kInt32Values = 2, kBitValues = 3, kTextValues = 4, kLargeTextValues = 5 };

// Mirrored, as ValueIndex is, by exec/common/value_index.py: `n` values of an Arrow array. `values`: the numbers, bits or bytes of texts; `offsets`: of
// texts; `valid`: bits, null where no value is missing. `first`: the array's offset into the bits.
struct ValueColumn {
  const void* values;
  const void* offsets;
  const uint8_t* valid;
  uint64_t first;
  uint64_t n;
  int32_t kind;
};

// `starts`: where the rows of each of 2^bits buckets begin, and the end; `rows`: by bucket; `alike`: a bit for each bucket, whether all
// its rows have the same value.
struct ValueIndex {
  ValueColumn column;
  uint32_t* starts;
  uint32_t* rows;
  uint8_t* alike;
  uint32_t bits;
};

static_assert(sizeof(ValueColumn) == 48 && sizeof(ValueIndex) == 80, "mirrored in Python");

namespace {

constexpr uint64_t kPolled = 1 << 16;  // rows between two looks
constexpr uint64_t kBlock = 32;        // rows whose buckets are fetched together
constexpr uint64_t kMostPairs = 16;    // rows of a bucket that are compared with each other
constexpr uint32_t kAbsent = 0xFFFFFFFF;

struct Text {
  const uint8_t* bytes;
  uint64_t length;
};

Text text_at(const ValueColumn& column, uint64_t i) {
  uint64_t begin, end;
  if (column.kind == kTextValues) {
    const auto* offsets = static_cast<const uint32_t*>(column.offsets);
    begin = offsets[i], end = offsets[i + 1];
  } else {
    const auto* offsets = static_cast<const uint64_t*>(column.offsets);
    begin = offsets[i], end = offsets[i + 1];
  }
  return {static_cast<const uint8_t*>(column.values) + begin, end - begin};
}

bool bit_at(const void* bits, uint64_t i) { return static_cast<const uint8_t*>(bits)[i >> 3] >> (i & 7) & 1; }

// A number that is the same for equal values of a column, and for texts a hash.
uint64_t word_at(const ValueColumn& column, uint64_t i) {
  switch (column.kind) {
    case kInt64Values: return static_cast<const uint64_t*>(column.values)[i];
    case kInt32Values: return static_cast<const uint32_t*>(column.values)[i];
    case kBitValues: return bit_at(column.values, column.first + i);
    case kFloat64Values: {
      const double value = static_cast<const double*>(column.values)[i];
      uint64_t word;
      std::memcpy(&word, &value, sizeof word);
      return value == 0 ? 0 : word;
    }
    default: {
      const Text text = text_at(column, i);
      return text_hash(text.bytes, text.length);
    }
  }
}

bool present(const ValueColumn& column, uint64_t i) {
  if (column.valid && !bit_at(column.valid, column.first + i)) return false;
  if (column.kind != kFloat64Values) return true;
  const double value = static_cast<const double*>(column.values)[i];
  return value == value;
}

bool equal(const ValueColumn& one, uint64_t i, const ValueColumn& other, uint64_t k) {
  if (one.kind < kTextValues) return word_at(one, i) == word_at(other, k);
  const Text a = text_at(one, i), b = text_at(other, k);
  return a.length == b.length && std::memcmp(a.bytes, b.bytes, a.length) == 0;
}

uint32_t bucket_of(uint64_t word, uint32_t bits) {
  return static_cast<uint32_t>(mixed(word + 0x9e3779b97f4a7c15ULL) >> (64 - bits));
}

uint32_t bucket(const ValueColumn& column, uint64_t i, uint32_t bits) { return bucket_of(word_at(column, i), bits); }

// Calls each(row, bucket) for all rows with a value, ascending; the buckets' entries are in the cache by then.
template <class Each>
Status for_rows(const ValueIndex& index, const Control* control, Each&& each) {
  const ValueColumn& column = index.column;
  uint32_t buckets[kBlock];
  for (uint64_t begin = 0; begin < column.n; begin += kBlock) {
    if (begin % kPolled == 0)
      if (const Status status = stopped(control); status != kOk) return status;
    const uint64_t size = column.n - begin < kBlock ? column.n - begin : kBlock;
    for (uint64_t k = 0; k < size; ++k) {
      buckets[k] = present(column, begin + k) ? bucket(column, begin + k, index.bits) : kAbsent;
      if (buckets[k] != kAbsent) __builtin_prefetch(index.starts + buckets[k], 1);
    }
    for (uint64_t k = 0; k < size; ++k)
      if (buckets[k] != kAbsent) each(static_cast<uint32_t>(begin + k), buckets[k]);
  }
  return kOk;
}

// A key, its bucket, and the rows of that: at least one.
struct Sought {
  uint64_t key;
  uint32_t at, begin, end;
};

// Finds the buckets of `size` keys, at most kBlock, and returns how many have rows. What is read of the first of these is
// in the cache then: each step of the way there is made for all keys before the next, so that none waits for another.
uint64_t seek(const ValueIndex& index, const ValueColumn& keys, uint64_t first, uint64_t size, Sought* sought) {
  const ValueColumn& column = index.column;
  uint64_t n = 0, some = 0;
  for (uint64_t key = first; key < first + size; ++key) {
    if (!present(keys, key)) continue;
    sought[n] = {key, bucket(keys, key, index.bits), 0, 0};
    __builtin_prefetch(index.starts + sought[n].at);
    __builtin_prefetch(index.alike + (sought[n].at >> 3));
    ++n;
  }
  for (uint64_t k = 0; k < n; ++k) {
    const uint32_t at = sought[k].at, begin = index.starts[at], end = index.starts[at + 1];
    if (begin == end) continue;
    sought[some++] = {sought[k].key, at, begin, end};
    __builtin_prefetch(index.rows + begin);
  }
  const auto* values = static_cast<const uint8_t*>(column.values);
  const uint32_t width = column.kind == kBitValues ? 0 : column.kind == kInt32Values ? 4 : 8;
  for (uint64_t k = 0; k < some; ++k) {
    const uint64_t row = index.rows[sought[k].begin];
    if (column.kind < kTextValues)
      __builtin_prefetch(width ? values + row * width : values + ((column.first + row) >> 3));
    else
      __builtin_prefetch(static_cast<const uint8_t*>(column.offsets) + row * (column.kind == kTextValues ? 4 : 8));
  }
  if (column.kind >= kTextValues)
    for (uint64_t k = 0; k < some; ++k) __builtin_prefetch(text_at(column, index.rows[sought[k].begin]).bytes);
  return some;
}

// Whether two rows before the end of a bucket have the same value; so many in one bucket are taken for such.
bool repeats(const ValueIndex& index, uint32_t begin, uint32_t end) {
  if (end - begin > kMostPairs) return true;
  for (uint32_t i = begin; i < end; ++i)
    for (uint32_t k = begin; k < i; ++k)
      if (equal(index.column, index.rows[i], index.column, index.rows[k])) return true;
  return false;
}

// Whether all rows before the end of a bucket have the same value.
Status alike(const ValueIndex& index, uint32_t begin, uint32_t end, const Control* control, bool* same) {
  *same = true;
  for (uint32_t i = begin + 1; i < end && *same; ++i) {
    if (i % kPolled == 0)
      if (const Status status = stopped(control); status != kOk) return status;
    *same = equal(index.column, index.rows[i], index.column, index.rows[begin]);
  }
  return kOk;
}

}  // namespace
}  // namespace qe

// Fills an index's arrays: starts has 2^bits + 1 entries (bits from 1 to 31), alike 2^bits / 8, or one, rows as many as the column,
// whose length is below 2^32 - 1. *unique: whether no two rows have the same value.
QE_API int32_t qe_value_index_build(const qe::ValueIndex* index, int32_t* unique, const qe::Control* control) {
  using namespace qe;
  if (index->bits < 1 || index->bits > 31 || index->column.n >= kAbsent) return kInvalid;
  const uint64_t buckets = 1ULL << index->bits;
  uint32_t* starts = index->starts;
  std::memset(starts, 0, (buckets + 1) * sizeof *starts);
  Status status = for_rows(*index, control, [&](uint32_t, uint32_t at) { ++starts[at]; });
  if (status != kOk) return status;
  uint32_t sum = 0;
  for (uint64_t at = 0; at <= buckets; ++at) {
    const uint32_t size = starts[at];
    starts[at] = sum;
    sum += size;
  }
  status = for_rows(*index, control, [&](uint32_t row, uint32_t at) { index->rows[starts[at]++] = row; });
  if (status != kOk) return status;
  std::memmove(starts + 1, starts, buckets * sizeof *starts);  // each has moved to the end of its bucket
  starts[0] = 0;
  *unique = 1;
  std::memset(index->alike, 0, (buckets + 7) / 8);
  for (uint64_t at = 0; at < buckets; ++at) {
    if (at % kPolled == 0 && (status = stopped(control)) != kOk) return status;
    const uint32_t begin = starts[at], end = starts[at + 1];
    bool same;
    if ((status = alike(*index, begin, end, control, &same)) != kOk) return status;
    index->alike[at >> 3] |= static_cast<uint8_t>(same << (at & 7));
    if (end - begin > 1 && *unique) *unique = !(same || repeats(*index, begin, end));
  }
  return kOk;
}

// Looks values of the column's kind up: *found pairs, of which the first `capacity` are written; key_of: which of the
// keys, ascending; row_of: its rows, ascending.
QE_API int32_t qe_value_index_find(const qe::ValueIndex* index, const qe::ValueColumn* keys, uint64_t capacity,
                                   uint32_t* key_of, uint32_t* row_of, uint64_t* found, const qe::Control* control) {
  using namespace qe;
  uint64_t n = 0;
  Sought sought[kBlock];
  for (uint64_t first = 0; first < keys->n; first += kBlock) {
    if (first % kPolled == 0)
      if (const Status status = stopped(control); status != kOk) return status;
    const uint64_t some = seek(*index, *keys, first, keys->n - first < kBlock ? keys->n - first : kBlock, sought);
    for (uint64_t k = 0; k < some; ++k) {
      const auto [key, at, begin, end] = sought[k];
      const bool alike = bit_at(index->alike, at);
      if (alike && !equal(index->column, index->rows[begin], *keys, key)) continue;
      for (uint32_t i = begin; i < end; ++i) {
        const uint32_t row = index->rows[i];
        if (i % kPolled == 0)
          if (const Status status = stopped(control); status != kOk) return status;
        if (!alike && !equal(index->column, row, *keys, key)) continue;
        if (n < capacity) key_of[n] = static_cast<uint32_t>(key), row_of[n] = row;
        ++n;
      }
    }
  }
  *found = n;
  return kOk;
}

// Looks one value up in an index of 64-bit integers (`number`) or of texts (`text`, `length` bytes): found[0] rows, the
// first `capacity` of them, ascending, behind it. For statements that look up a node each, beside qe_value_index_find.
QE_API int32_t qe_value_index_one(const qe::ValueIndex* index, int64_t number, const uint8_t* text, uint64_t length,
                                  uint32_t capacity, uint32_t* found, const qe::Control* control) {
  using namespace qe;
  const ValueColumn& column = index->column;
  const bool is_text = column.kind >= kTextValues;
  if (!is_text && column.kind != kInt64Values) return kInvalid;
  const uint64_t word = is_text ? text_hash(text, length) : static_cast<uint64_t>(number);
  const uint32_t at = bucket_of(word, index->bits);
  uint32_t n = 0;
  for (uint32_t i = index->starts[at]; i < index->starts[at + 1]; ++i) {
    const uint32_t row = index->rows[i];
    if (i % kPolled == 0)
      if (const Status status = stopped(control); status != kOk) return status;
    if (is_text) {
      const Text other = text_at(column, row);
      if (other.length != length || std::memcmp(other.bytes, text, length) != 0) continue;
    } else if (word_at(column, row) != word) {
      continue;
    }
    if (n++ < capacity) found[n] = row;
  }
  found[0] = n;
  return kOk;
}
