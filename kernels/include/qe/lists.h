// Searching one ascending list of ids.
#pragma once
#include "qe/portable.h"

namespace qe {

// First index of list[0..n) whose id is >= v.
QE_BOTH inline size_t lower_bound(const uint32_t* list, size_t n, uint32_t v) {
  const uint32_t* base = list;
  while (n > 1) {
    const size_t half = n / 2;
    base += (base[half - 1] < v) * half;
    n -= half;
  }
  return static_cast<size_t>(base - list) + (n == 1 && *base < v);
}

QE_BOTH inline bool contains(const uint32_t* list, size_t n, uint32_t v) {
  const size_t at = lower_bound(list, n, v);
  return at < n && list[at] == v;
}

}  // namespace qe
