// Looking up relationships of one vertex after the other in its list.
#pragma once
#include "qe/lists.h"
#include "qe/pcsr.h"

namespace qe {

// Where the relationships of one vertex were looked for last. Those of its neighbours in ascending order lie one behind the other.
struct EdgeCursor {
  const Pcsr* list = nullptr;
  uint32_t vertex = 0;
  Slice at{0, 0};
  uint64_t next = 0;

  // The entries of v's list that are u.
  Slice entries(const Pcsr& of, uint32_t v, uint32_t u) {
    if (list != &of || vertex != v) {
      list = &of;
      vertex = v;
      at = locate(of, v);
      next = at.begin;
    }
    const uint32_t* ids = of.neighbours;
    if (next == at.end || ids[next] != u) {
      const bool behind = next < at.end && ids[next] < u;
      const uint64_t begin = behind ? next + 1 : at.begin, end = behind ? at.end : next;
      next = begin + lower_bound(ids + begin, end - begin, u);
    }
    const uint64_t first = next;
    while (next < at.end && ids[next] == u) ++next;
    return {first, next};
  }
};

}  // namespace qe
