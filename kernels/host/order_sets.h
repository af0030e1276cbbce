// Sets of up to 64 vertices as masks, and a table of what is known of pairs of sets.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace qe {

inline int size_of(uint64_t set) { return __builtin_popcountll(set); }
inline int least_of(uint64_t set) { return __builtin_ctzll(set); }
inline int last_of(uint64_t set) { return 63 - __builtin_clzll(set); }
inline uint64_t one(int vertex) { return uint64_t{1} << vertex; }

// Calls use(vertex) for the members, ascending.
template <class Use>
void for_each(uint64_t set, Use&& use) {
  for (; set != 0; set &= set - 1) use(least_of(set));
}

// Values by two sets, of which the second is not empty; open addressing. A value found stays where it is until the next is put.
template <class Value>
class SetTable {
 public:
  const Value* find(uint64_t first, uint64_t second) const {
    if (slots_.empty()) return nullptr;
    for (std::size_t at = place(first, second);; at = (at + 1) & (slots_.size() - 1)) {
      const Slot& slot = slots_[at];
      if (slot.second == 0) return nullptr;
      if (slot.first == first && slot.second == second) return &slot.value;
    }
  }

  void put(uint64_t first, uint64_t second, const Value& value) {
    if (2 * used_ >= slots_.size()) grow();
    ++used_;
    insert({first, second, value});
  }

 private:
  struct Slot {
    uint64_t first, second;
    Value value;
  };

  std::size_t place(uint64_t first, uint64_t second) const {
    uint64_t hash = (first + 0x9E3779B97F4A7C15u) * 0xBF58476D1CE4E5B9u ^ second * 0x94D049BB133111EBu;
    hash = (hash ^ hash >> 32) * 0x9E3779B97F4A7C15u;
    return (hash >> 32) & (slots_.size() - 1);
  }

  void insert(const Slot& slot) {
    std::size_t at = place(slot.first, slot.second);
    while (slots_[at].second != 0) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = slot;
  }

  void grow() {
    std::vector<Slot> old(slots_.empty() ? 256 : 2 * slots_.size(), Slot{});
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.second != 0) insert(slot);
  }

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
};

}  // namespace qe
