// Codes of integers: equal ones get the same, from 0 on in the order in which they first come.
//
// A table of 8 bytes a slot, half of them a hash and half a row, between 4/3 and 8/3 slots a code; the hash's highest bits are
// the slot, so a table grows without a look at the values. Bytes moved: the values once, a code a row, and a slot's cache line.
#include <cstdlib>
#include <cstring>

#include "qe/abi.h"

namespace qe {
namespace {

constexpr uint64_t kBlock = 64;  // rows whose slots are fetched together
constexpr int kLeastBits = 10;

struct Slot {
  uint32_t hash, row;  // row: one more than that of the first with this value; 0: empty
};

uint32_t hash_of(uint64_t x) {  // the finalizer of MurmurHash3
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdULL;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ULL;
  return static_cast<uint32_t>(x >> 32);
}

class Table {
 public:
  ~Table() { std::free(slots_); }

  // Doubles the slots, which begin with 2^kLeastBits; false where there is no memory.
  bool grow() {
    const int bits = slots_ ? bits_ + 1 : kLeastBits;
    auto* slots = static_cast<Slot*>(std::calloc(uint64_t{1} << bits, sizeof(Slot)));
    if (slots == nullptr) return false;
    if (slots_ != nullptr)
      for (uint64_t i = 0; i <= mask_; ++i)
        if (slots_[i].row != 0) place(slots, bits, slots_[i]);
    std::free(slots_);
    slots_ = slots;
    bits_ = bits;
    mask_ = (uint64_t{1} << bits) - 1;
    return true;
  }

  bool full(uint64_t used) const { return 4 * used > 3 * mask_; }
  void fetch(uint32_t hash) const { __builtin_prefetch(slots_ + (hash >> (32 - bits_)), 1); }

  // The slot of a value, empty if it is new.
  Slot* find(uint32_t hash, int64_t value, const int64_t* values) const {
    for (uint64_t at = hash >> (32 - bits_);; at = (at + 1) & mask_) {
      Slot& slot = slots_[at];
      if (slot.row == 0 || (slot.hash == hash && values[slot.row - 1] == value)) return &slot;
    }
  }

 private:
  static void place(Slot* slots, int bits, Slot slot) {
    const uint64_t mask = (uint64_t{1} << bits) - 1;
    uint64_t at = slot.hash >> (32 - bits);
    while (slots[at].row != 0) at = (at + 1) & mask;
    slots[at] = slot;
  }

  Slot* slots_ = nullptr;
  int bits_ = 0;
  uint64_t mask_ = 0;
};

}  // namespace
}  // namespace qe

// Writes a code for each of n values, n < 2^31, and the first row of each code; *count: how many codes there are.
QE_API int32_t qe_integer_codes(const int64_t* values, uint64_t n, int64_t* codes, int64_t* first, uint64_t* count) {
  using namespace qe;
  if (n >= uint64_t{1} << 31) return kInvalid;
  Table table;
  if (!table.grow()) return kOutOfMemory;
  uint64_t used = 0;
  uint32_t hashes[kBlock];
  for (uint64_t begin = 0; begin < n; begin += kBlock) {
    const uint64_t size = n - begin < kBlock ? n - begin : kBlock;
    while (table.full(used + size))
      if (!table.grow()) return kOutOfMemory;
    for (uint64_t k = 0; k < size; ++k) {
      hashes[k] = hash_of(static_cast<uint64_t>(values[begin + k]));
      table.fetch(hashes[k]);
    }
    for (uint64_t k = 0; k < size; ++k) {
      const uint64_t row = begin + k;
      Slot* slot = table.find(hashes[k], values[row], values);
      if (slot->row == 0) {
        *slot = {hashes[k], static_cast<uint32_t>(row + 1)};
        first[used] = static_cast<int64_t>(row);
        codes[row] = static_cast<int64_t>(used++);
      } else {
        codes[row] = codes[slot->row - 1];
      }
    }
  }
  *count = used;
  return kOk;
}
