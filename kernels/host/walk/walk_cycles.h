// Shortest closed trails through one vertex s.
//
// Levels backward from s that never pass through s again, with two labels a vertex: the shortest way to s, and the
// shortest whose last relationship is another. A closed trail that begins with e and comes to v needs the shortest
// way from v that does not end with e; two labels always hold it. The first e of s that closes one gives the length.
// Exact for directed, undirected and mixed layers: a shortest closed walk that doesn't end with the relationship
// that it began with repeats no vertex but s. (Directed layers never repeat it; there the second label is idle.)
#pragma once
#include "walk/walk_levels.h"

namespace qe::walks {

class Cycles {
 public:
  explicit Cycles(int64_t vertex_count) : vertex_count_(vertex_count) {}

  // Sets `length` to the shortest closed trail's number of hops, 0 where none has up to `maximum`. False: stopped.
  bool find(const Hops& backward, uint32_t s, int64_t maximum, Poll& poll, int64_t& length);

  // Hops of the shortest way from v to s, not through s, whose last relationship isn't `first`.
  int64_t remaining(uint32_t v, int64_t first) const {
    const Label& label = labels_[v];
    if (label.count == 0) return Levels::kNone;
    if (label.last[0] != first) return label.hops[0];
    return label.count == 2 ? label.hops[1] : Levels::kNone;
  }

  int64_t bytes() const {
    return labels_ ? static_cast<int64_t>(sizeof(Label)) * vertex_count_ +
                         static_cast<int64_t>(sizeof(Arrival) * queue_.capacity())
                   : 0;
  }

 private:
  struct Label {
    int64_t last[2];
    uint32_t hops[2];
    uint32_t count;
  };
  struct Arrival {
    uint32_t vertex, label;
  };

  void arrive(uint32_t v, int64_t hops, int64_t last) {
    Label& label = labels_[v];
    if (label.count == 2 || (label.count == 1 && label.last[0] == last)) return;
    label.last[label.count] = last;
    label.hops[label.count] = static_cast<uint32_t>(hops);
    queue_.push_back({v, label.count++});
  }

  int64_t vertex_count_;
  Zeroed<Label> labels_;
  std::vector<Arrival> queue_;
};

}  // namespace qe::walks
