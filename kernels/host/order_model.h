// What an order of binding costs: a model of what the search reads, in nanoseconds of one core.
//
// The rows of a bound set, and the candidates of a vertex given such a set, depend on the set alone, so that
// sub-patterns can be solved once (order_choice.cpp).
//
// Sizes. With d the degree of a vertex in one pattern edge, two edges to different vertices occur as often as E[d(d-1)]
// says, not E[d]^2: hubs are reached more often than others, and from them more is reached. The first three moments are
// known; each edge beyond the third multiplies as the third does. (Chung and Lu 2002: with these degrees, edges are
// independent.) Edges of two sorts go together at a vertex as their degrees do. Between hubs more edges would be expected than there can be: x of them make the chance x / (1 + x).
//
// In triangles edges aren't independent: the odds of a link that closes some are multiplied by what samples say.
// And what is asked for is there: a pattern whose parts have embeddings is taken to have one.
//
// Where the rows of a part are known to be other than that, what has the part is corrected by the same factor, for as
// many such parts as share no edge, the largest first.
//
// Costs. A step reads the least of the lists that it intersects. What is only counted falls apart into components,
// which multiply and whose counts are remembered by the vertices that they depend on; a component that is one vertex
// or a group of vertices that are only different from each other is counted by formula; squares are counted by their
// wedges (search_plan.h says when).
#pragma once
#include <vector>

#include "order_sets.h"
#include "qe/order_problem.h"

namespace qe {

constexpr double kNoCost = -1.0;  // there is no such way

class OrderModel {
 public:
  struct Step {
    double size, cost;
  };

  OrderModel(const OrderProblem& problem, const OrderConstants& constants);

  const OrderProblem& problem;
  const OrderConstants& constants;
  uint64_t all;
  uint64_t adjacent[kMaxOrdered] = {};
  uint64_t different[kMaxOrdered] = {};
  uint64_t ordered[kMaxOrdered] = {};

  // The expected number of embeddings of the sub-pattern over a set of vertices.
  double rows(uint64_t bound);

  // The expected candidates of a vertex for one row of a bound set, and the cost of finding them.
  Step step(uint64_t bound, int vertex);

  // The vertices that share an edge with some vertex of a set.
  uint64_t near(uint64_t part) const;

  // The part of a set that its least vertex is in: parts don't mention each other, by an edge or a constraint.
  uint64_t component(uint64_t part) const;

  // How often a component is counted: once a row of what is bound, or less where it is remembered.
  double times(uint64_t bound, uint64_t part);

  // Whether a component is one vertex whose list alone says how many there are.
  bool is_plain(uint64_t bound, uint64_t part) const;

  // What each call of a component costs beside counting it; `newest` was bound last.
  double entry(uint64_t bound, uint64_t part, uint64_t newest = 0);

  // The cost of counting a component once by a formula; kNoCost where it must be walked.
  double formula(uint64_t bound, uint64_t part, uint64_t newest = 0);

  // The cost of counting the pairs of ways from `first` and another vertex to a third by counters, or kNoCost.
  double wedge(uint64_t bound, uint64_t part, int first);

 private:
  enum Order : uint8_t { kFree, kLesser, kGreater };  // how the vertex at an edge's other end is ordered against this

  struct Way {  // an edge at a vertex
    int origin;  // the vertex at the other end
    int sort;    // of edges at this vertex
    int far;     // of edges at the origin
    double probability;
    const OrderTies* ties;  // from there
    Order there;            // how this vertex is ordered against that one
    Order back;             // and that one against this
  };

  struct Closing {  // a triangle, seen from one of its vertices: by each of the other two, in whose order they stand
    int origin, other;
    double odds;
    bool operator<(const Closing& than) const { return origin < than.origin; }
  };

  struct Growth {  // of edges of one sort; by two orders how much likelier a vertex has the one where it has the other
    double table[3][3];
    double tail;  // times as much from the third on
  };

  struct Present {  // an edge that a vertex has
    int sort;
    Order order;
  };

  void fill();
  void mention(int some, int other);
  void meet();
  Growth growth_at(int vertex, int sort) const;
  Step step_by_degrees(uint64_t bound, int vertex) const;
  double rows_by_degrees(uint64_t bound);
  double correction(uint64_t bound);
  bool exhausted(uint64_t bound, int vertex) const;
  double grown(const Way& way, uint64_t bound) const;
  double growth_of(int vertex, Present next, const Present* present, int n) const;
  double closed(int vertex, int origin, uint64_t others, double chance) const;
  uint64_t mentions(uint64_t part) const;
  double size_cost(uint64_t bound, int vertex, uint64_t newest);
  bool same_kind(int some, int other, uint64_t bound) const;

  uint64_t mentioned_[kMaxOrdered] = {};
  std::vector<Way> ways_[kMaxOrdered];
  std::vector<Closing> closings_[kMaxOrdered];
  std::vector<Growth> growth_[kMaxOrdered];    // by sort of edges
  std::vector<double> together_[kMaxOrdered];  // by two sorts; empty where there is one
  SetTable<double> rows_;
  SetTable<double> corrections_;
  SetTable<Step> steps_;
};

}  // namespace qe
