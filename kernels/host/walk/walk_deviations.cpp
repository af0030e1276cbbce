#include "walk/walk_deviations.h"

#include <algorithm>

namespace qe::walks {

void Deviations::begin(const Hops& forward, const Hops& backward, uint32_t start, uint32_t end, int64_t maximum) {
  if (!hops_) {
    hops_ = zeroed<uint32_t>(vertex_count_);
    marks_ = zeroed<uint8_t>(vertex_count_);
  }
  forward_ = &forward;
  backward_ = &backward;
  end_ = end;
  maximum_ = maximum;
  sets_.clear();
  kept_ = 0;
  last_ = Set{{}, {start}, 0, {}};
  begun_ = false;
}

bool Deviations::next(Poll& poll, std::vector<int64_t>& edges, bool& over) {
  if (!begun_) {
    begun_ = true;
    if (!add(last_, 0, {}, poll)) return false;
  } else {
    for (size_t i = last_.fixed; i <= last_.edges.size(); ++i) {
      if (i > 0 && !forward_->passes(last_.vertices[i])) break;
      std::vector<int64_t> excluded;
      if (i == last_.fixed) excluded = last_.excluded;
      if (i < last_.edges.size()) excluded.push_back(last_.edges[i]);
      if (!add(last_, i, std::move(excluded), poll)) return false;
    }
  }
  over = sets_.empty();
  if (over) return true;
  std::pop_heap(sets_.begin(), sets_.end(), shorter);
  last_ = std::move(sets_.back());
  sets_.pop_back();
  kept_ -= last_.bytes();
  edges = last_.edges;
  return true;
}

// Whether the set's trails may still take an entry: the relationships of the fixed part join its own vertices.
bool Deviations::is_free(uint32_t v, const WalkLayer& layer, uint32_t w, uint64_t position) const {
  if (!(marks_[v] & 1) || !(marks_[w] & 1)) return true;
  return !std::binary_search(taken_.begin(), taken_.end(), relationship_id(layer, v, w, position));
}

// Adds the set of trails that begin as another's shortest does, if there are any. False: stopped.
bool Deviations::add(const Set& from, size_t fixed, std::vector<int64_t> excluded, Poll& poll) {
  if (static_cast<int64_t>(fixed) >= maximum_) return true;
  Set set;
  set.fixed = fixed;
  set.edges.assign(from.edges.begin(), from.edges.begin() + static_cast<ptrdiff_t>(fixed));
  set.vertices.assign(from.vertices.begin(), from.vertices.begin() + static_cast<ptrdiff_t>(fixed + 1));
  set.excluded = std::move(excluded);
  taken_ = set.edges;
  std::sort(taken_.begin(), taken_.end());
  for (const uint32_t v : set.vertices) marks_[v] |= 1;
  heads_.clear();
  const uint32_t near = set.vertices.back();
  bool two_way = false;
  forward_->any(near, [&](const WalkLayer& layer, uint32_t w, uint64_t position) {
    if (!is_free(near, layer, w, position)) return false;
    const int64_t edge = relationship_id(layer, near, w, position);
    if (std::find(set.excluded.begin(), set.excluded.end(), edge) != set.excluded.end()) return false;
    heads_.push_back({edge, w});
    two_way = two_way || layer.two_way;
    return false;
  });
  bool found = false, going = complete(set, heads_, poll, found);
  if (going && found && two_way && std::count(set.edges.begin(), set.edges.end(), set.edges[fixed]) > 1) {
    // The shortest walk goes back over its first relationship: each of these by itself, without the way back.
    Set best;
    const std::vector<int64_t> taken = taken_;
    for (size_t i = 0; going && i < heads_.size(); ++i) {
      const Head head = heads_[i];
      Set other;
      other.edges.assign(set.edges.begin(), set.edges.begin() + static_cast<ptrdiff_t>(fixed));
      other.vertices.assign(set.vertices.begin(), set.vertices.begin() + static_cast<ptrdiff_t>(fixed + 1));
      taken_ = taken;
      taken_.insert(std::lower_bound(taken_.begin(), taken_.end(), head.edge), head.edge);
      const bool marked = marks_[head.vertex] & 1;
      marks_[head.vertex] |= 1;
      bool leads = false;
      going = complete(other, {head}, poll, leads);
      if (!marked) marks_[head.vertex] &= static_cast<uint8_t>(~1);
      if (leads && (best.edges.empty() || other.edges.size() < best.edges.size())) best = std::move(other);
    }
    found = !best.edges.empty();
    set.edges = std::move(best.edges);
    if (found) set.vertices = std::move(best.vertices);
  }
  for (size_t i = 0; i <= fixed; ++i) marks_[from.vertices[i]] &= static_cast<uint8_t>(~1);
  if (going && found) {
    kept_ += set.bytes();
    sets_.push_back(std::move(set));
    std::push_heap(sets_.begin(), sets_.end(), shorter);
  }
  return going;
}

// Appends a shortest way to the end that begins over one of `heads`. False: stopped.
bool Deviations::complete(Set& set, const std::vector<Head>& heads, Poll& poll, bool& found) {
  const int64_t most = maximum_ - static_cast<int64_t>(set.edges.size()) - 1;  // hops behind a head
  for (const Head& head : heads) marks_[head.vertex] |= 2;
  queue_.assign(1, end_);
  hops_[end_] = 1;
  uint32_t met = marks_[end_] & 2 ? end_ : UINT32_MAX;
  bool going = true;
  for (size_t i = 0; going && met == UINT32_MAX && i < queue_.size(); ++i) {
    const uint32_t v = queue_[i];
    if (hops_[v] > most || (i > 0 && !backward_->passes(v))) continue;
    int64_t steps = 1;
    backward_->any(v, [&](const WalkLayer& layer, uint32_t u, uint64_t position) {
      ++steps;
      if (hops_[u] || !is_free(v, layer, u, position)) return false;
      hops_[u] = hops_[v] + 1;
      queue_.push_back(u);
      if (!(marks_[u] & 2) || !forward_->passes(u)) return false;
      met = u;
      return true;
    });
    going = !poll.due(steps) || poll.check();
  }
  for (const Head& head : heads) {
    if (going && !found && head.vertex == met) found = build(set, head);
    marks_[head.vertex] &= static_cast<uint8_t>(~2);
  }
  for (const uint32_t v : queue_) hops_[v] = 0;
  return going;
}

// Appends the way over a head, down the hops that are left from there.
bool Deviations::build(Set& set, const Head& head) {
  set.edges.push_back(head.edge);
  set.vertices.push_back(head.vertex);
  for (uint32_t left = hops_[head.vertex] - 1; left > 0; --left) {
    const uint32_t v = set.vertices.back();
    const bool stepped = forward_->any(v, [&](const WalkLayer& layer, uint32_t w, uint64_t position) {
      if (hops_[w] != left || (w != end_ && !forward_->passes(w)) || !is_free(v, layer, w, position)) return false;
      set.edges.push_back(relationship_id(layer, v, w, position));
      set.vertices.push_back(w);
      return true;
    });
    if (!stepped) return false;
  }
  return true;
}

}  // namespace qe::walks
