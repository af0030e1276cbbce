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
  std::vector<Head> others;  // that are excluded, and not taken
  forward_->any(near, [&](const WalkLayer& layer, uint32_t w, uint64_t position) {
    if (!is_free(near, layer, w, position)) return false;
    const int64_t edge = relationship_id(layer, near, w, position);
    const bool excluded = std::find(set.excluded.begin(), set.excluded.end(), edge) != set.excluded.end();
    (excluded ? others : heads_).push_back({edge, w});
    two_way = two_way || layer.two_way;
    return false;
  });
  bool found = false;
  const bool going = two_way ? complete_either_way(set, others, poll, found) : complete(set, heads_, poll, found);
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
      if (hops_[u] || u == blocked_ || !is_free(v, layer, u, position)) return false;
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

// The same where relationships may go both ways: a walk must not go back over its first one. Either it doesn't come back
// to where it begins, or it does, by another one than it began with, and leaves over one that is excluded; for over
// others it could have left at once. If the second is shorter, its two parts have no other vertex in common: from one, it
// would have gone on to the end.
bool Deviations::complete_either_way(Set& set, const std::vector<Head>& others, Poll& poll, bool& found) {
  const uint32_t near = set.vertices.back();
  Set direct = set, round = set;
  bool back = false;
  found = false;
  if (near != end_) {
    blocked_ = near;
    Set beyond = set;
    bool leads = false;
    bool going = complete(direct, heads_, poll, found);
    if (going && !others.empty() && forward_->passes(near)) going = complete(beyond, others, poll, leads);
    blocked_ = UINT32_MAX;
    if (!going) return false;
    if (leads) {
      if (!come_back(round, poll, back)) return false;
      round.edges.insert(round.edges.end(), beyond.edges.begin() + static_cast<ptrdiff_t>(set.fixed), beyond.edges.end());
      round.vertices.insert(round.vertices.end(), beyond.vertices.begin() + static_cast<ptrdiff_t>(set.fixed + 1),
                            beyond.vertices.end());
    }
  } else if (!come_back(round, poll, back)) {
    return false;
  }
  back = back && static_cast<int64_t>(round.edges.size()) <= maximum_;
  if (back && (!found || round.edges.size() < direct.edges.size())) {
    set = std::move(round);
  } else if (found) {
    set = std::move(direct);
  }
  found = found || back;
  return true;
}

// Appends a shortest closed trail from where a set's fixed part ends, over one of heads_. Vertices have up to two ways
// on to there, by different last relationships: one of them isn't what the trail began with. False: stopped.
bool Deviations::come_back(Set& set, Poll& poll, bool& found) {
  const uint32_t near = set.vertices.back();
  for (const Head& head : heads_) marks_[head.vertex] |= 2;
  const auto before = [](const Head& a, const Head& b) { return a.vertex < b.vertex; };
  std::sort(heads_.begin(), heads_.end(), before);
  ways_.clear();
  const auto arrive = [&](uint32_t v, int64_t edge, int64_t last, uint32_t on) {
    const uint32_t had = hops_[v];  // the first way there, + 1
    if (had && (ways_[had - 1].second || ways_[had - 1].last == last)) return;
    if (had) ways_[had - 1].second = true;
    ways_.push_back({edge, last, v, on, false});
    if (!had) {
      hops_[v] = static_cast<uint32_t>(ways_.size());
      queue_.push_back(v);
    }
  };
  queue_.clear();
  ways_.push_back({-1, -1, near, 0, true});
  bool going = true;
  for (uint32_t i = 0; going && !found && i < ways_.size(); ++i) {
    const Way way = ways_[i];
    if (i > 0 && !backward_->passes(way.vertex)) continue;
    int64_t steps = 1;
    if (i > 0 && (marks_[way.vertex] & 2)) {
      const auto [begin, end] = std::equal_range(heads_.begin(), heads_.end(), Head{0, way.vertex}, before);
      for (auto at_head = begin; at_head != end; ++at_head) {
        const Head& head = *at_head;
        ++steps;
        if (head.edge == way.last) continue;
        set.edges.push_back(head.edge);
        set.vertices.push_back(head.vertex);
        for (uint32_t at = i; at != 0; at = ways_[at].on) {
          set.edges.push_back(ways_[at].edge);
          set.vertices.push_back(ways_[ways_[at].on].vertex);
        }
        found = true;
        break;
      }
    }
    if (!found) {
      backward_->any(way.vertex, [&](const WalkLayer& layer, uint32_t u, uint64_t position) {
        ++steps;
        if (!is_free(way.vertex, layer, u, position)) return false;
        const int64_t edge = relationship_id(layer, way.vertex, u, position);
        if (u != near) arrive(u, edge, i == 0 ? edge : way.last, i);
        return false;
      });
    }
    going = !poll.due(steps) || poll.check();
  }
  for (const Head& head : heads_) {
    marks_[head.vertex] &= static_cast<uint8_t>(~2);
    if (going && head.vertex == near && (!found || set.edges.size() > set.fixed + 1)) {  // a loop
      set.edges.resize(set.fixed);
      set.vertices.resize(set.fixed + 1);
      set.edges.push_back(head.edge);
      set.vertices.push_back(near);
      found = true;
    }
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
      if (hops_[w] != left || w == blocked_ || (w != end_ && !forward_->passes(w)) || !is_free(v, layer, w, position)) return false;
      set.edges.push_back(relationship_id(layer, v, w, position));
      set.vertices.push_back(w);
      return true;
    });
    if (!stepped) return false;
  }
  return true;
}

}  // namespace qe::walks
