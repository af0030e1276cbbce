// Sets of small numbers as bits, in as many words as the largest number needs: kWords is known at compile time, so that
// sets of up to 64 numbers are plain words.
#pragma once
#include <cstddef>
#include <cstdint>

namespace qe {

template <int kWords>
class Bits {
 public:
  static constexpr int kCapacity = 64 * kWords;  // numbers are below it

  static Bits of(int number) {
    Bits set;
    set.add(number);
    return set;
  }

  // The numbers below n, which is at most kCapacity.
  static Bits below(int n) {
    Bits set;
    for (int w = 0; w < kWords; ++w) {
      const int left = n - 64 * w;
      set.words_[w] = left >= 64 ? ~uint64_t{0} : left <= 0 ? 0 : (uint64_t{1} << left) - 1;
    }
    return set;
  }

  // The set whose words stand at `words`, the least numbers in the first.
  static Bits from(const uint64_t* words) {
    Bits set;
    for (int w = 0; w < kWords; ++w) set.words_[w] = words[w];
    return set;
  }

  void add(int number) { words_[number >> 6] |= uint64_t{1} << (number & 63); }
  bool has(int number) const { return words_[number >> 6] >> (number & 63) & 1; }

  bool empty() const {
    uint64_t all = 0;
    for (int w = 0; w < kWords; ++w) all |= words_[w];
    return all == 0;
  }
  explicit operator bool() const { return !empty(); }

  int size() const {
    int n = 0;
    for (int w = 0; w < kWords; ++w) n += __builtin_popcountll(words_[w]);
    return n;
  }

  // The least and the greatest number of a set that isn't empty.
  int first() const {
    int w = 0;
    while (w + 1 < kWords && words_[w] == 0) ++w;
    return 64 * w + __builtin_ctzll(words_[w]);
  }
  int last() const {
    int w = kWords - 1;
    while (w > 0 && words_[w] == 0) --w;
    return 64 * w + 63 - __builtin_clzll(words_[w]);
  }

  uint64_t word(int w) const { return words_[w]; }

  bool contains(const Bits& other) const { return (other - *this).empty(); }
  bool meets(const Bits& other) const { return !(*this & other).empty(); }

  Bits& operator|=(const Bits& other) {
    for (int w = 0; w < kWords; ++w) words_[w] |= other.words_[w];
    return *this;
  }
  Bits& operator&=(const Bits& other) {
    for (int w = 0; w < kWords; ++w) words_[w] &= other.words_[w];
    return *this;
  }
  Bits& operator-=(const Bits& other) {
    for (int w = 0; w < kWords; ++w) words_[w] &= ~other.words_[w];
    return *this;
  }
  friend Bits operator|(Bits some, const Bits& other) { return some |= other; }
  friend Bits operator&(Bits some, const Bits& other) { return some &= other; }
  friend Bits operator-(Bits some, const Bits& other) { return some -= other; }
  friend bool operator==(const Bits& some, const Bits& other) {
    uint64_t differ = 0;
    for (int w = 0; w < kWords; ++w) differ |= some.words_[w] ^ other.words_[w];
    return differ == 0;
  }
  friend bool operator!=(const Bits& some, const Bits& other) { return !(some == other); }

 private:
  uint64_t words_[kWords] = {};
};

// Calls use(number) for the members, ascending.
template <int kWords, class Use>
inline void for_each(const Bits<kWords>& set, Use&& use) {
  for (int w = 0; w < kWords; ++w)
    for (uint64_t rest = set.word(w); rest != 0; rest &= rest - 1) use(64 * w + __builtin_ctzll(rest));
}

}  // namespace qe
