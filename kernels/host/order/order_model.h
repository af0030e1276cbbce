// What an order of binding costs: a model of what the search reads, in nanoseconds of one core, or of a GPU.
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
// And what is asked for is there: a pattern whose parts have embeddings is taken to have one, unless it is known to have
// less.
//
// Where the rows of a part are known to be other than that, what has the part is corrected by the same factor. Parts that
// share vertices are independent given these: the factor of each is divided by that of what it shares with others, as in
// a junction tree. A part whose edges are all in others says nothing more: of three squares over two vertices two do.
// What a tree of four vertices and more says is between those within: of several around these one counts.
//
// Costs. A step reads the least of the lists that it intersects. What is only counted falls apart into components,
// which multiply and whose counts are remembered by the vertices that they depend on; a component that is one vertex
// or a group of vertices that are only different from each other is counted by formula; squares are counted by their
// wedges (search_plan.h says when).
#pragma once
#include <vector>

#include "order/order_sets.h"
#include "qe/order_problem.h"

namespace qe {

constexpr double kNoCost = -1.0;  // there is no such way

// `Set`: Bits that hold all vertices of the problem.
template <class Set>
class OrderModel {
 public:
  struct Step {
    double size, cost;
  };

  OrderModel(const OrderProblem& problem, const OrderConstants& constants);

  const OrderProblem& problem;
  const OrderConstants& constants;
  const Set all, given, wanted;  // all vertices, those of the input row, those to emit
  std::vector<Set> adjacent, different, ordered;

  // Numbers the vertices by an order of those that aren't given. The rows of a set are those of the set without its last
  // vertex, times the candidates of this: along the order that is looked at, sets differ by their last vertex alone.
  // Without an order the vertices' own numbers count.
  void number_by(const int* order, int n);

  // The expected number of embeddings of the sub-pattern over a set of vertices.
  double rows(const Set& bound);

  // The expected candidates of a vertex for one row of a bound set, and the cost of finding them.
  Step step(const Set& bound, int vertex);

  // The vertices that share an edge with some vertex of a set.
  Set near(const Set& part) const;

  // The part of a set that its least vertex is in: parts don't mention each other, by an edge or a constraint.
  Set component(const Set& part) const;

  // How often a component is counted: once a row of what is bound, or less where it is remembered.
  double times(const Set& bound, const Set& part);

  // The vertex that is bound first, where that is known, or empty: counts by it and another are all kept.
  Set root;

  // Whether a component is one vertex whose list alone says how many there are.
  bool is_plain(const Set& bound, const Set& part) const;

  // What each call of a component costs beside counting it; `newest` was bound last.
  double entry(const Set& bound, const Set& part, const Set& newest = {});

  // The cost of counting a component once by a formula; kNoCost where it must be enumerated.
  double formula(const Set& bound, const Set& part, const Set& newest = {});

  // The cost of counting the pairs of ways from `first` and another vertex to a third by counters, or kNoCost.
  double wedge(const Set& bound, const Set& part, int first);

 private:
  enum Order : uint8_t { kFree, kLesser, kGreater };  // how the vertex at an edge's other end is ordered against this

  struct Way {  // an edge at a vertex
    int origin;  // the vertex at the other end
    int sort;    // of edges at this vertex
    int far;     // of edges at the origin
    double probability;
    const OrderDegrees* degrees;  // from there
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

  struct Known {  // how many times as many rows a part has as by degrees
    Set part;
    double factor;
  };

  struct Present {  // an edge that a vertex has
    int sort;
    Order order;
  };

  void fill();
  void mention(int some, int other);
  void meet();
  Growth growth_at(int vertex, int sort) const;
  Step step_by_degrees(const Set& bound, int vertex) const;
  double rows_by_degrees(const Set& bound);
  double correction(const Set& bound);
  double composed(const std::vector<Known>& parts);
  Set core(const Set& part) const;
  bool adds(const Set& part, const std::vector<Set>& others) const;
  bool exhausted(const Set& bound, int vertex) const;
  double grown(const Way& way, const Set& bound) const;
  double growth_of(int vertex, Present next, const Present* present, int n) const;
  double closed(int vertex, int origin, const Set& others, double chance) const;
  Set mentions(const Set& part) const;
  double size_cost(const Set& bound, int vertex, const Set& newest);
  bool same_kind(int some, int other, const Set& bound) const;

  int last_of(const Set& part) const;

  const Set filtered_, walked_;
  std::vector<int> places_;  // of the vertices in the order that numbers them; empty: their own numbers
  std::vector<Set> mentioned_;
  std::vector<std::vector<Way>> ways_;
  std::vector<std::vector<Closing>> closings_;
  std::vector<std::vector<Growth>> growth_;    // by sort of edges
  std::vector<std::vector<double>> together_;  // by two sorts; empty where there is one
  std::vector<Set> known_;                     // the sets whose rows are better known
  std::vector<Set> related_;                   // of each vertex: those that an edge or a set of the two joins it with
  SetTable<Set, int, double> rows_;
  SetTable<Set, int, double> corrections_;
  SetTable<Set, int, Step> steps_;
};

extern template class OrderModel<Bits<1>>;
extern template class OrderModel<Bits<kMaxOrdered / 64>>;

}  // namespace qe
