// Which vertices lie on closed walks: where relationships go one way, those of strongly connected components of two
// vertices and more, and those with a loop. (Tarjan 1972, without recursion.) What is found is kept: vertices are
// searched once, from whichever start comes to them first.
#pragma once
#include "walk/walk_levels.h"

namespace qe::walks {

class Components {
 public:
  explicit Components(int64_t vertex_count) : vertex_count_(vertex_count) {}

  // Sets `closed` to whether a walk of one hop and more leads from s back to s. False: stopped.
  bool find(const Hops& hops, uint32_t s, Poll& poll, bool& closed) {
    if (!order_) {
      order_ = zeroed<uint32_t>(vertex_count_);
      least_ = zeroed<uint32_t>(vertex_count_);
      closed_ = zeroed<uint8_t>(vertex_count_);
    }
    if (!order_[s] && !search(hops, s, poll)) return false;
    closed = closed_[s] != 0;
    return true;
  }

  int64_t bytes() const {
    return (order_ ? 9 * vertex_count_ : 0) + static_cast<int64_t>(sizeof(Frame) * frames_.capacity()) +
           4 * static_cast<int64_t>(open_.capacity());
  }

 private:
  static constexpr uint32_t kOver = UINT32_MAX;  // of a vertex whose component is known

  struct Frame {
    uint32_t vertex;
    int32_t layer;
    uint64_t taken;  // entries of the layer's list that were followed
  };

  void enter(uint32_t v) {
    order_[v] = least_[v] = ++count_;
    open_.push_back(v);
    frames_.push_back({v, 0, 0});
  }

  bool search(const Hops& hops, uint32_t s, Poll& poll) {
    enter(s);
    while (!frames_.empty()) {
      int64_t steps = 1;
      const uint32_t v = frames_.back().vertex;
      if (const uint32_t w = next(hops, frames_.back(), steps); w != kOver) {
        enter(w);
      } else {
        if (least_[v] == order_[v]) close(v);
        frames_.pop_back();
        if (!frames_.empty()) lower(frames_.back().vertex, least_[v]);
      }
      if (poll.due(steps) && !poll.check()) return false;
    }
    return true;
  }

  // The next vertex that a frame's leads to and no walk has come to before, kOver where there is none.
  uint32_t next(const Hops& hops, Frame& frame, int64_t& steps) {
    const uint32_t v = frame.vertex;
    for (; frame.layer < hops.n_layers; ++frame.layer, frame.taken = 0) {
      const WalkLayer& layer = hops.layers[frame.layer];
      const Slice slice = locate(layer.lists, v);
      for (uint64_t at = slice.begin + frame.taken; at < slice.end; ++at) {
        const uint32_t w = layer.lists.neighbours[at];
        ++steps;
        ++frame.taken;
        if (!hops.allows(layer, v, w, at)) continue;
        if (w == v) closed_[v] = 1;
        if (!order_[w]) return w;
        lower(v, least_[w]);
      }
    }
    return kOver;
  }

  void lower(uint32_t v, uint32_t least) { least_[v] = std::min(least_[v], least); }

  // Takes the component of v, its first vertex, off the open ones.
  void close(uint32_t v) {
    const bool several = open_.back() != v;
    for (uint32_t w = kOver; w != v;) {
      w = open_.back();
      open_.pop_back();
      least_[w] = kOver;
      closed_[w] |= several;
    }
  }

  int64_t vertex_count_;
  Zeroed<uint32_t> order_, least_;  // from 1 on; of the open vertices that each leads back to
  Zeroed<uint8_t> closed_;
  std::vector<Frame> frames_;
  std::vector<uint32_t> open_;
  uint32_t count_ = 0;
};

}  // namespace qe::walks
