#include "walk/walk_trails.h"

namespace qe::walks {

void Trails::begin(const TrailQuery& query) {
  while (!frames_.empty()) pop();
  edges_.clear();
  marked_ = false;
  query_ = query;
  fresh_ = true;
  given_ = idle_ = 0;
  could_go_on_ = query.maximum == 0;
}

void Trails::push(uint32_t vertex, bool two_way) {
  Frame frame{0, 0, incident_.size(), vertex, -1, two_way, false};
  if (query_.distinct_edges && !vertices_.empty()) {
    if (two_way) incident_.push_back({vertices_.back(), edges_.back()});
    frame.revisit = occurs(vertex);
    for (size_t i = 0; frame.revisit && i < vertices_.size(); ++i) {
      if (vertices_[i] != vertex) continue;
      incident_.push_back({i + 1 < vertices_.size() ? vertices_[i + 1] : vertex, edges_[i]});
      if (frames_[i].two_way) incident_.push_back({vertices_[i - 1], edges_[i - 1]});
    }
  }
  if (marked_ && !frame.revisit) marks_[vertex >> 6] |= uint64_t{1} << (vertex & 63);
  frames_.push_back(frame);
  vertices_.push_back(vertex);
}

void Trails::pop() {
  const Frame& frame = frames_.back();
  if (marked_ && !frame.revisit) marks_[frame.vertex >> 6] &= ~(uint64_t{1} << (frame.vertex & 63));
  incident_.resize(frame.incident);
  frames_.pop_back();
  vertices_.pop_back();
  if (!edges_.empty()) edges_.pop_back();
}

bool Trails::occurs(uint32_t vertex) {
  if (vertices_.size() > kScanned && !marked_) {
    if (!marks_) marks_ = zeroed<uint64_t>((vertex_count_ + 63) / 64);
    for (const uint32_t v : vertices_) marks_[v >> 6] |= uint64_t{1} << (v & 63);
    marked_ = true;
  }
  if (marked_) return bit(marks_.get(), vertex);
  bool found = false;
  for (const uint32_t v : vertices_) found |= v == vertex;  // no early way out: the loop becomes vector code
  return found;
}

// Moves on to the next layer; on the last hop only to the part of the list where ends can be.
bool Trails::open(Frame& frame) {
  if (++frame.layer == query_.hops->n_layers) return false;
  const Pcsr& lists = query_.hops->layers[frame.layer].lists;
  const Slice slice = locate(lists, frame.vertex);
  frame.at = slice.begin;
  frame.end = slice.end;
  if (static_cast<int64_t>(frames_.size()) == query_.maximum && frame.at < frame.end) {
    could_go_on_ = true;
    const EndFilter& end = query_.end;
    if (lists.neighbours[frame.at] < end.lo) frame.at = lower_position(lists.neighbours, frame.at, frame.end, end.lo);
    if (frame.at < frame.end && lists.neighbours[frame.end - 1] >= end.hi) {
      frame.end = lower_position(lists.neighbours, frame.at, frame.end, end.hi);
    }
  }
  return true;
}

bool Trails::used(const Frame& frame, const WalkLayer& layer, uint32_t w) const {
  for (size_t i = frame.incident; i < incident_.size(); ++i) {
    if (incident_[i].other == w && incident_[i].edge == relationship_id(layer, frame.vertex, w, frame.at)) return true;
  }
  return false;
}

// Whether a walk that comes to w after `hops` hops cannot end in time. edges_ holds the first relationship.
bool Trails::hopeless(uint32_t w, int64_t hops) {
  int64_t least = 0;
  if (query_.exact) {
    least = query_.exact->of(w);
  } else if (query_.bounds) {
    least = query_.bounds->least(w);
  } else if (query_.cycles) {
    least = query_.cycles->remaining(w, edges_[0]);
  }
  if (least <= query_.maximum - hops) return false;
  could_go_on_ |= least != Levels::kNone;
  return true;
}

// Whether no more rows are wanted.
bool Trails::emit(Sink& sink, uint32_t w) {
  sink.emit(query_.row, query_.reversed ? query_.start : w, edges_.data(), static_cast<int64_t>(edges_.size()),
            query_.reversed);
  if (query_.found) query_.found->push_back(edges_);
  idle_ = 0;
  return ++given_ == query_.most;
}

// The last hop where nothing but the end matters: copies the list.
bool Trails::emit_many(Frame& frame, const WalkLayer& layer, Sink& sink, Poll& poll) {
  if (sink.lists() || query_.most != kUnbounded || query_.reversed || layer.allowed || layer.skip_loops ||
      query_.vertices != kAnyVertices || !query_.hops->forbidden.empty() || incident_.size() > frame.incident) {
    return false;
  }
  const uint64_t begin = frame.at;
  const uint64_t end = std::min(frame.end, begin + static_cast<uint64_t>(std::min(sink.room(), Poll::kInterval)));
  const uint32_t* neighbours = layer.lists.neighbours;
  for (; frame.at < end; ++frame.at) {
    if (!query_.end.accepts(neighbours[frame.at])) continue;
    sink.emit(query_.row, neighbours[frame.at], query_.maximum);
    ++given_;
  }
  poll.count(static_cast<int64_t>(end - begin));
  return true;
}

Progress Trails::fill(Sink& sink, Poll& poll) {
  const Hops& hops = *query_.hops;
  if (fresh_) {
    bool enough = false;
    if (query_.minimum == 0 && query_.end.accepts(query_.start)) {
      if (!sink.fits(0)) return Progress::kPaused;
      enough = emit(sink, query_.start);
    }
    fresh_ = false;
    if (enough || query_.maximum < std::max<int64_t>(1, query_.minimum)) return Progress::kDone;
    ids_ = query_.distinct_edges || sink.lists() || query_.cycles;
    push(query_.start, false);
  }
  while (!frames_.empty()) {
    if (poll.due(1)) {
      const int64_t before = poll.steps();
      if (!poll.check()) return Progress::kStopped;
      idle_ += poll.steps() - before;
      if (idle_ > query_.patience) return Progress::kDone;
      if (query_.bounds && !query_.bounds->grow(*query_.backward, poll.steps() - before, query_.maximum, poll)) {
        return Progress::kStopped;
      }
      if (poll.wants_pause()) return Progress::kPaused;
    }
    Frame& frame = frames_.back();
    if (frame.at == frame.end) {
      if (!open(frame)) pop();
      continue;
    }
    const int64_t length = static_cast<int64_t>(frames_.size());  // hops of the walk with the next one
    const WalkLayer& layer = hops.layers[frame.layer];
    const bool last = length == query_.maximum;
    if (length >= query_.minimum && !sink.fits(length)) return Progress::kPaused;
    if (last && emit_many(frame, layer, sink, poll)) continue;
    const uint32_t w = layer.lists.neighbours[frame.at];
    if ((layer.skip_loops && w == frame.vertex) || !hops.allows(layer, frame.vertex, w, frame.at) ||
        used(frame, layer, w)) {
      ++frame.at;
      continue;
    }
    const bool again = query_.vertices != kAnyVertices && occurs(w);
    if (again && (query_.vertices == kAcyclic || w != query_.start)) {
      ++frame.at;
      continue;
    }
    const bool ends = length >= query_.minimum && query_.end.accepts(w);
    if (last && !ends) {
      ++frame.at;
      continue;
    }
    edges_.push_back(ids_ ? relationship_id(layer, frame.vertex, w, frame.at) : -1);
    ++frame.at;
    if (!last && hopeless(w, length)) {
      edges_.pop_back();
      continue;
    }
    if (ends) {
      const bool enough = emit(sink, w);
      poll.count(sink.lists() ? length / 32 : 0);
      if (enough) {
        edges_.pop_back();
        while (!frames_.empty()) pop();
        return Progress::kDone;
      }
    }
    if (last || again || !hops.passes(w)) {
      edges_.pop_back();
    } else {
      poll.count(length / 32);
      push(w, layer.two_way != 0);
    }
  }
  return Progress::kDone;
}

int64_t Trails::bytes() const {
  return static_cast<int64_t>(frames_.capacity() * sizeof(Frame) + vertices_.capacity() * sizeof(uint32_t) +
                              edges_.capacity() * sizeof(int64_t) + incident_.capacity() * sizeof(Incident)) +
         (marks_ ? vertex_count_ / 8 : 0);
}

}  // namespace qe::walks
