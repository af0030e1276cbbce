// A table of what is known of a set of vertices together with another set or a number.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bits.h"

namespace qe {

// Values by a set and a second key, a number or a set, that is neither 0 nor empty; open addressing. A value found stays
// where it is until the next is put.
template <class Set, class Second, class Value>
class SetTable {
 public:
  const Value* find(const Set& first, const Second& second) const {
    if (slots_.empty()) return nullptr;
    for (std::size_t at = place(first, second);; at = (at + 1) & (slots_.size() - 1)) {
      const Slot& slot = slots_[at];
      if (!slot.second) return nullptr;
      if (slot.first == first && slot.second == second) return &slot.value;
    }
  }

  void put(const Set& first, const Second& second, const Value& value) {
    if (2 * used_ >= slots_.size()) grow();
    ++used_;
    insert({first, second, value});
  }

  void clear() {
    slots_.clear();
    used_ = 0;
  }

 private:
  struct Slot {
    Set first{};
    Second second{};
    Value value{};
  };

  static uint64_t folded(int number) { return static_cast<uint64_t>(number); }

  template <int kWords>
  static uint64_t folded(const Bits<kWords>& set) {
    uint64_t hash = set.word(0);
    for (int w = 1; w < kWords; ++w) hash = (hash ^ hash >> 29) * 0xD6E8FEB86659FD93u ^ set.word(w);
    return hash;
  }

  std::size_t place(const Set& first, const Second& second) const {
    uint64_t hash = (folded(first) + 0x9E3779B97F4A7C15u) * 0xBF58476D1CE4E5B9u ^ folded(second) * 0x94D049BB133111EBu;
    hash = (hash ^ hash >> 32) * 0x9E3779B97F4A7C15u;
    return (hash >> 32) & (slots_.size() - 1);
  }

  void insert(const Slot& slot) {
    std::size_t at = place(slot.first, slot.second);
    while (slots_[at].second) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = slot;
  }

  void grow() {
    std::vector<Slot> old(slots_.empty() ? 256 : 2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.second) insert(slot);
  }

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
};

}  // namespace qe
