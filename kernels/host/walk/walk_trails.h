// Enumerates the walks from one vertex, depth first, one frame a hop, in a form that can pause at any row.
//
// A relationship can only be repeated from a vertex that it touches. So a frame keeps the relationships of the walk
// that could be taken again from its vertex: none as a rule, and then no entry's identity is looked at.
#pragma once
#include <vector>

#include "walk/walk_bounds.h"
#include "walk/walk_sink.h"

namespace qe::walks {

struct TrailQuery {
  const Hops* hops = nullptr;
  uint32_t start = 0;
  int64_t minimum = 0, maximum = 0;
  bool distinct_edges = true;
  VertexRule vertices = kAnyVertices;
  EndFilter end;
  int64_t row = 0;
  // A cut by one of these at most: known levels to the end, levels to grow, or ways back to the start.
  const Levels* exact = nullptr;
  Bounds* bounds = nullptr;
  const Hops* backward = nullptr;  // for `bounds`
  const Cycles* cycles = nullptr;
  int64_t most = kUnbounded;  // rows that are wanted
  int64_t patience = kUnbounded;  // steps without a row after which it gives up
  std::vector<std::vector<int64_t>>* found = nullptr;  // gets what rows hold
  // Walked against the pattern: rows show the start, and the relationships in reverse.
  bool reversed = false;
};

class Trails {
 public:
  explicit Trails(int64_t vertex_count) : vertex_count_(vertex_count) {}

  void begin(const TrailQuery& query);

  // Emits rows until all are out, the buffer is full, or it is time for a pause.
  Progress fill(Sink& sink, Poll& poll);

  // Once `fill` is done: how many rows came out, and whether a larger maximum could give more.
  int64_t given() const { return given_; }
  bool could_go_on() const { return could_go_on_; }
  // Steps since the last row, as far as they were looked at: more than the query's patience, if it gave up.
  int64_t idle() const { return idle_; }

  int64_t bytes() const;

 private:
  static constexpr size_t kScanned = 32;  // up to this many hops the walk's vertices are scanned, not marked

  struct Frame {
    uint64_t at, end;   // entries of the layer's list still to take
    size_t incident;    // where this frame's used relationships begin in incident_
    uint32_t vertex;
    int32_t layer;
    bool two_way;       // the relationship that led here can be walked back
    bool revisit;       // the vertex occurs earlier in the walk
  };
  struct Incident {     // a relationship of the walk that can be taken from the frame's vertex to `other`
    uint32_t other;
    int64_t edge;
  };

  void push(uint32_t vertex, bool two_way);
  void pop();
  bool occurs(uint32_t vertex);
  bool open(Frame& frame);
  bool used(const Frame& frame, const WalkLayer& layer, uint32_t w) const;
  bool hopeless(uint32_t w, int64_t hops);
  bool emit(Sink& sink, uint32_t w);
  bool emit_many(Frame& frame, const WalkLayer& layer, Sink& sink, Poll& poll);

  int64_t vertex_count_;
  TrailQuery query_;
  bool fresh_ = false;
  int64_t given_ = 0, idle_ = 0;
  bool could_go_on_ = false;
  bool ids_ = false;  // whether relationships of the walk must be known by id
  std::vector<Frame> frames_;
  std::vector<uint32_t> vertices_;   // of the walk; frames_[i].vertex
  std::vector<int64_t> edges_;       // edges_[i] leads from vertices_[i] to vertices_[i + 1]
  std::vector<Incident> incident_;
  Zeroed<uint64_t> marks_;  // bits of the walk's vertices, made for long walks
  bool marked_ = false;                             // whether marks_ is in use for this walk
};

}  // namespace qe::walks
