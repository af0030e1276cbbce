// Walks of variable length and shortest paths: for each input row, from a start vertex to one end or to all.
//
// Problem. A walk is a sequence of hops; a hop takes one entry of one layer's list of the vertex it stands on. With
//   `distinct_edges` a walk repeats no relationship (a trail), with `vertices` no vertex either. Between its ends it
//   passes only vertices of `through_bits`. Rows come out as (input row, end vertex, relationships).
// Preconditions. Lists are sorted ascending. A layer without `edge_ids` that isn't OUT has no equal entries in a list
//   (pcsr.h). `backward` holds for each layer of `forward` the one that leads back over the same relationships.
//   `maximum` is finite unless `distinct_edges`, `vertices` or a shortest mode. The shortest modes need `targets` where
//   `minimum` is above 1, and kAllShortest where `count` is. Free ends of walks of 0 or 1 hops and more, without their relationships, are told by
//   qe/reach.h alone.
// Work. Depth first, nothing recursive: memory is one frame a hop, O(1) bytes a vertex for bounds and visited marks.
//   Rows are dealt to threads once the first call has shown that there is much to do.
// Determinism. One row's walks come in a fixed order (types, then neighbours ascending); the order of rows depends on
//   the threads. kAnyShortest gives the same path on each run.
// 64 bits. Relationship ids, list offsets and lengths.
#pragma once
#include "qe/abi.h"
#include "qe/pcsr.h"

namespace qe {

constexpr int64_t kUnbounded = INT64_MAX;

enum WalkMode : int32_t {
  kEveryWalk = 0,    // each walk of minimum..maximum hops
  kEveryEnd = 1,     // each end of such a walk, once a row; without relationships
  kAnyShortest = 2,  // for each end, `count` shortest of the trails (or walks) of minimum..maximum hops
  kAllShortest = 3,  // for each end, all of the `count` least lengths that there are
};

enum VertexRule : int32_t {
  kAnyVertices = 0,
  kAcyclic = 1,  // no vertex twice
  kSimple = 2,   // none but the start, as the end
};

// One relationship type in one stored direction.
struct WalkLayer {
  Pcsr lists;
  Pcsr out;                 // the type's OUT adjacency: gives ids where `lists` has none
  int64_t base;             // global id = base + local id
  const uint64_t* allowed;  // bits by local id; null: all
  int32_t is_out;           // an entry's position in `lists` is its local id
  int32_t skip_loops;       // another layer has the self-loops
  int32_t two_way;          // a relationship walked from v to w can be walked from w to v
  int32_t reserved;
};

struct WalkPlan {
  const WalkLayer* forward;
  const WalkLayer* backward;
  int32_t n_layers;
  int32_t mode;
  int32_t distinct_edges;
  int32_t lists;               // whether the relationships are wanted
  int32_t vertices;            // VertexRule; kAnyVertices for the shortest modes
  int32_t hasty;               // whether trails between two ends are told by deviations alone
  int64_t vertex_count;
  int64_t minimum, maximum;    // hops; kUnbounded
  int64_t count;               // of the shortest modes: walks, or lengths
  int64_t rows;
  const int64_t* starts;       // [rows], -1: no walk
  const int64_t* targets;      // [rows], the only end allowed, -1: no walk; null: ends are free
  const int64_t* forbidden_offsets;  // [rows + 1] into `forbidden`; null: nothing is forbidden
  const int64_t* forbidden;    // global ids of relationships that the row's walks must not take
  const uint64_t* end_bits;    // bits by vertex that ends must have; null: all
  const uint64_t* through_bits;  // bits by vertex that may lie between the ends; null: all
  uint32_t end_lo, end_hi;     // ends lie in [end_lo, end_hi)
};

// A caller's buffers for one worker. `offsets` and `relationships` are unused without `lists`.
struct WalkOutput {
  int64_t* row;
  int64_t* end;
  int64_t* offsets;         // row_capacity + 1
  int64_t* relationships;
  int64_t* hops;            // how many hops the walk has, of the shortest modes; null: unwanted
  int64_t row_capacity;
  int64_t id_capacity;
  int64_t rows;             // written: rows filled
  int64_t needed_ids;       // written: length of a list that alone exceeds id_capacity, else 0
};

}  // namespace qe

// Makes the state of a run; plan, its arrays and control must outlive it. `handle` is null unless kOk.
QE_API int32_t qe_walk_open(const qe::WalkPlan* plan, qe::Control* control, void** handle);

// Fills the buffers, one for each of `n_outputs` workers (at most control->threads are of use; always give as many).
// May return with few or no rows before the end; `done` becomes 1 when there is nothing more. Where a buffer
// reports `needed_ids`, the next call needs a larger one. After an error only qe_walk_close may follow.
QE_API int32_t qe_walk_next(void* handle, qe::WalkOutput* outputs, int32_t n_outputs, int32_t* done);

QE_API void qe_walk_close(void* handle);
