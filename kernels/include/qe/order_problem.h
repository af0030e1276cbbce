// A pattern to order, as plain data: what the matching order of a search is chosen by. Mirrored by
// qengine/optimizer/order.py.
//
// Vertices are numbers below kMaxOrdered. A set of vertices is a mask of `words` words, the least vertices in the first: one
// word for up to 64 vertices, kMaxOrdered / 64 for more. Pointers stay the caller's.
#pragma once
#include "qe/portable.h"

namespace qe {

constexpr int kMaxOrdered = 1024;

// What the kernels take on a machine, in nanoseconds of one core (of the whole device for a GPU), and what they can do.
struct OrderConstants {
  double locate;      // finding a vertex's list
  double at_hand;     // a list that was found before
  double set_up;      // of an intersection
  double read;        // an id of an intersection's least list
  double bind;        // a vertex
  double check;       // a vertex against one other, or one relationship by its predicates
  double test;        // a vertex by its own predicates, or a value of it against one of another
  double counter;     // a counter of a wedge, and its clearing
  double look_up;     // a remembered count
  double row;         // writing one
  double remembered;  // counts by one or two vertices that a table holds
  double recalled;    // the same by three; 0: none are kept
  int32_t tabled;     // whether all counts by the first vertex and another are kept
  int32_t wedges;     // whether squares are counted by their wedges
  int32_t overlaps;   // whether vertices of different candidates that must only differ are counted by what these share
  int32_t unused;
};

// Degrees in one pattern edge, seen from one end; qengine.optimizer.order_problem.Ties says what each is.
struct OrderDegrees {
  double fan_out, most, skew, tail, lesser, mixed, greater;
};

// A pattern edge: how likely two vertices with the ends' labels are joined, and degrees from the first to the second
// end and back.
struct OrderLink {
  double probability;
  OrderDegrees there, back;
};

struct OrderProblem {
  const double* candidates;   // by labels and predicates
  const double* labelled;     // by labels alone
  const int32_t* kinds;       // equal for vertices with the same labels and predicates
  const int32_t* ends;        // two of each link: different vertices
  const OrderLink* links;
  const int32_t* sorts;       // two of each link: its sort of edges at either end; numbered from 0 at each vertex
  const int32_t* meetings;    // a vertex and two sorts of edges at it
  const double* together;     // and how many times likelier a vertex has an edge of one as it has one of the other
  const int32_t* different;   // pairs that may coincide and must not
  const int32_t* less;        // pairs (a, b) with id(a) < id(b)
  const uint64_t* entangled;  // for each vertex the set of those, perhaps with itself, that it is compared with in other ways
  const int32_t* triangles;   // three vertices of each, linked pairwise
  const double* closures;     // and how many times greater the odds of each link are, given the other two: three of each
  const uint64_t* known;      // sets of vertices whose rows are better known, the largest first
  const double* factors;      // and how many times more they are than degrees say
  const uint64_t* filtered;   // the set of those whose predicates are checked vertex by vertex
  const uint64_t* walked;     // and of those whose relationships are looked at one by one
  const uint64_t* bound;      // of those that each input row gives
  const uint64_t* wanted;     // of those to emit
  int32_t count;
  int32_t n_links;
  int32_t n_meetings;
  int32_t n_different;
  int32_t n_less;
  int32_t n_triangles;
  int32_t n_known;
  int32_t counted;            // whether the others are only counted, else all are enumerated
  int32_t words;              // of a set
};

}  // namespace qe
