// What the host derives from a MatchPlan before it searches: operands of each intersection, and a tree of counts.
//
// Operands. A level's candidates are the intersection of its operands: the kept set of an earlier level whose sources
// are a subset of its own (so a clique's intersections grow by one list a level), slices of neighbour lists, and a
// constant set. Slices are views: computed once each time that their level binds a vertex, however many later levels
// and iterations use them. Operands are ordered by the level that they last depend on; the intersection of the first
// few is computed once each time that this level binds, so only the newest operand is intersected anew each time.
// Bounds (id < id of another level) that an operand satisfies by construction are left out.
//
// Tree. Levels that are only counted form a pseudo-tree: once a level is bound, the levels below it fall apart into
// components that don't mention each other; their counts multiply. A component whose members only demand to be
// different from each other, or in an order, is counted by a formula. (AND/OR search: Dechter and Mateescu, AIJ 2007.)
// What a component counts depends on the levels that it mentions: where these are few, counts are remembered by their
// vertices; vertices that need only be avoided count where they are within reach. A branch whose subtree draws all
// candidates from its own is local: it is counted with bitmaps over them.
#pragma once
#include <cstdint>
#include <vector>

#include "qe/match_plan.h"

namespace qe {

// The neighbours of level's vertex in [lo, hi) over the lists, and less (greater) than the vertex itself where asked.
struct View {
  int level;
  PlanSpan lists;
  bool unique;  // one list without repetitions: the view is a slice of it
  uint32_t lo, hi;
  bool below, above;
  bool within;  // its lists stay in [lo, hi) by themselves
  int kind;  // views of one kind differ by the level alone
};

enum class From : uint8_t { kCandidates, kCandidatesBefore, kCandidatesAfter, kView, kConstant };

// kCandidatesBefore/After: the part of the candidates before (after) the vertex that its level is at.
struct Operand {
  From from;
  int index;             // level, view, or level of the constant set
  int newest;            // the last level that it depends on, -1 for none
  std::vector<int> less, greater;  // levels whose bounds still have to be applied
  bool clip;                       // to the level's [lo, hi)

  bool bounded() const { return !less.empty() || !greater.empty(); }
};

// A level whose value this one's must not be; `certain`: that is among the candidates for sure.
struct Avoided {
  int level;
  bool certain;
};

struct LevelInfo {
  const PlanLevel* plan = nullptr;
  bool vertex = true;
  uint32_t lo = 0, hi = 0;          // hull of the ranges
  // By `newest`. The last one satisfies all bounds. The others satisfy only those of levels that they depend on:
  // their intersection still needs `less` and `greater`, or the part of it (where it is one kept set) that `cut` says.
  std::vector<Operand> operands;
  std::vector<int> rest_less, rest_greater;
  From cut = From::kCandidates;
  std::vector<int> local_less, local_greater;  // bounds that no operand satisfies by construction
  bool beside_seed = false;         // two lists of vertices, the first a seed's and unbounded
  bool check_ranges = false;        // several ranges, and no operand lies within them
  std::vector<Avoided> avoided;     // but for the levels of its own group
  std::vector<int> less, greater;   // all earlier levels whose id is known to be greater (less)
  std::vector<int> feeds;           // lists (indices into MatchPlan::lists) that later levels read at this one's vertex
  const uint64_t* bitset = nullptr;
  bool fixed = false;               // no sources: candidates are a constant set
  bool filtered = false;            // bitset, pairs or conditions
  bool base = false;                // others start from it
  // Edge level: relationships of one type between the same ends, the same way, are the same to all that is below, but for
  // those of the levels `beside`, earlier ones that some later level must avoid, too.
  bool alike = false;
  std::vector<int> beside;
};

// How two levels b and c between the same two vertices go together where a wedge counts them.
enum class Wedge : uint8_t {
  kNone,
  kOrdered,    // the same candidates, each pair once
  kDifferent,  // the same candidates, b other than c
  kEqual,      // the same candidates, any pair
  kApart,      // candidates of their own
};

enum class NodeKind : uint8_t {
  kLeaf,    // one level that no other mentions
  kGroup,   // vertex levels linked by nothing but "different"
  kBranch,  // bind level, multiply the children
};

constexpr size_t kMostColumns = 8;  // children of a branch that are counted by tables

struct Node {
  NodeKind shape = NodeKind::kLeaf;
  std::vector<int> levels;  // branch and leaf: one
  std::vector<Node> children;

  // The levels above that the count depends on. Where they are at most two of several vertices, it is remembered by
  // them under the number `memo`; else that is -1.
  std::vector<int> context;
  bool by_vertices = false;  // these are all vertices; else some of them are left out
  int memo = -1;

  // Where the levels that the context has but for its last are all that are bound above that one: counts stand in the
  // table of this number by the vertex of the last, which is the branch right above (search_tables.cpp). Else -1.
  int table = -1;

  // Its context is as said there, and the branch right above is gone through once until the levels above it are bound anew.
  bool once = false;

  // A leaf that is pushed on to: its count is one of ends, as below.
  bool end = false;

  // Where it mentions more: the levels above whose lists or bounds it reads, at most six, those whose vertices it
  // must only avoid, its own levels that must avoid these, and with them those by which they are reached. Its counts
  // are remembered under the number `recall` (search_recall.cpp), or -1.
  // `alike`: each of the others must be avoided by all of them, so that only the set of their vertices matters.
  std::vector<int> near, others, avoiding, within;
  bool alike = true;
  int recall = -1;

  // Group: each level's candidates contain those of the one before; `repeats[k]`: they are the same.
  bool nested = false;
  std::vector<bool> repeats;

  // Branch whose levels have the same candidates but for the order of their ids: so many of the first level's
  // candidates are chosen. Else 0.
  size_t chosen = 0;

  // Branch b above branch c above leaf d, which is a neighbour of both and of nothing else.
  Wedge wedge = Wedge::kNone;

  // Branch: all candidates below are among this level's, and depend on nothing else from above.
  bool local = false;

  // Local branch above one leaf: that takes the branch's candidates and the branch's own row.
  bool pairs = false;

  // Branch: the counts of some children are in tables.
  bool tables = false;

  // Branch: the child that its vertices can be pushed on to, with weights: it depends on what is bound above this one's
  // level, and on that. Else -1.
  int through = -1;

  // Branch: its vertices are ends of a relationship that its child binds, and nothing more is asked of either but to be
  // other relationships: these are counted, not the vertices.
  bool spokes = false;

  // Branch: each child counts the common members of a set that stays and of the list of the branch's vertex.
  bool ends = false;
};

struct SearchPlan {
  const MatchPlan* plan;
  int n_levels, seeds, enumerated;  // enumerated >= seeds
  std::vector<LevelInfo> levels;
  std::vector<View> views;
  int n_kinds = 0, n_memos = 0, n_tables = 0, n_recalls = 0;
  std::vector<PlanRange> kinds;  // ids that the views of a kind are taken at
  std::vector<Node> counted;    // components of the levels from `enumerated` on
  bool impossible = false;      // some level has no range
};

// The plan must have at most kMaxLevels levels. Takes about the square of their number in time, 0.1 s for 1,000.
SearchPlan derive(const MatchPlan& plan);

}  // namespace qe
