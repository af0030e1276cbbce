#include "walk/walk_cycles.h"

namespace qe::walks {

bool Cycles::find(const Hops& backward, uint32_t s, int64_t maximum, Poll& poll, int64_t& length) {
  if (!labels_) labels_ = zeroed<Label>(vertex_count_);
  for (const Arrival& arrival : queue_) labels_[arrival.vertex] = Label{};
  queue_.clear();
  length = 0;
  if (maximum < 1) return true;
  const bool loop = backward.any(s, [&](const WalkLayer& layer, uint32_t v, uint64_t position) {
    if (v == s) return true;
    arrive(v, 1, relationship_id(layer, s, v, position));
    return false;
  });
  if (loop) {
    length = 1;
    return true;
  }
  for (size_t i = 0; i < queue_.size(); ++i) {
    const uint32_t v = queue_[i].vertex;
    if (!backward.passes(v)) continue;
    const Label& own = labels_[v];
    const int64_t hops = own.hops[queue_[i].label];
    const int64_t last = own.last[queue_[i].label];
    if (hops >= maximum) return true;
    int64_t steps = 1;
    const bool closed = backward.any(v, [&](const WalkLayer& layer, uint32_t u, uint64_t position) {
      ++steps;
      if (u == s) return relationship_id(layer, v, u, position) != last;
      arrive(u, hops + 1, last);
      return false;
    });
    if (closed) {
      length = hops + 1;
      return true;
    }
    if (poll.due(steps) && !poll.check()) return false;
  }
  return true;
}

}  // namespace qe::walks
