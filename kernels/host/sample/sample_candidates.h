// The candidate graph of a plan: candidate sets C(u), and for each source the candidates next to each candidate.
//
// Problem: from a plan without seeds, make one with the same embeddings whose lists hold nothing but candidates. C(u) starts
// as the vertices that ranges, bitset, predicates and signatures admit. A vertex leaves it if a source leads from it to no candidate,
// or to it from none; a few rounds over all sources remove most dead ends (directed arc consistency, as in CFL and CECI).
// The result is a plan like any other: each source has one list in dense form, without repetitions, within the level, so
// samplers and searches run on it unchanged. gSWORD's three CSRs (§3.1) are its sources, its row indexes and its lists.
//
// Also bounds the count: with one source of each level as a tree edge, the trees' embeddings are counted exactly. The same
// counts guide samples (sample_guide.h). The GPU builds the same graph (cuda/sample/candidate_graph.cu): whatever is changed
// here, the order of the steps or that of a sum, must be changed there.
// Memory: 4 bytes an entry and 8 a candidate and source, at most `most_entries` entries; the guide takes up to 8 bytes more
// for each. One thread, deterministic.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "base/charged_memory.h"
#include "qe/abi.h"
#include "qe/candidate_graph.h"
#include "qe/sample.h"
#include "sample/sample_guide.h"

namespace qe {

class CandidateGraph {
 public:
  CandidateGraph(const MatchPlan& plan, const LevelSignatures& signatures, Control* control)
      : from_(plan), signatures_(signatures), control_(control), charge_(control) {}

  // False: it would have more entries than that.
  bool build(int64_t most_entries);

  // Instead: a sketch, whose plan keeps the lists that it was made from (sample_sketch.cpp). False: making it would read
  // more entries than that.
  bool sketch(int64_t most_entries);

  const MatchPlan& plan() const { return plan_; }
  bool empty() const { return empty_; }         // a level has no candidate: there is no embedding
  int64_t entries() const { return entries_; }
  double tree_bound() const { return bound_; }  // embeddings of the vertex levels are not more
  const SampleGuide& guide();                   // made when first asked for

 private:
  struct Level {  // of vertices; else lo == hi
    uint32_t lo = 0, hi = 0;
    std::vector<uint8_t> in;  // for each id of [lo, hi): is it a candidate
    std::vector<uint8_t> reached;
    int64_t count = 0;
  };
  struct Edges {  // a source: lists of the candidates of level `from` within those of level `to`
    int from, to;
    std::vector<uint64_t> offsets;
    std::vector<uint32_t> ids;
  };

  void start_level(int j);
  bool gather(int j, const PlanSource& source, int64_t most_entries);
  bool filter(Edges& edges);
  bool settle(int j);
  int64_t entries_of(const PlanSource& source) const;
  void sum_lists(int j, const PlanSource& source);
  void plan_roots();
  void bound_trees();
  void make_plan();
  void poll();

  const MatchPlan& from_;
  const LevelSignatures signatures_;
  Control* control_;
  Charge charge_;
  std::vector<Level> levels_;
  std::vector<Edges> edges_;  // one a source, in the plan's order
  bool empty_ = false;
  int64_t entries_ = 0;
  double bound_ = 0;

  MatchPlan plan_{};
  std::vector<PlanLevel> plan_levels_;
  std::vector<PlanSource> plan_sources_;
  std::vector<PlanRange> plan_ranges_;
  std::vector<int32_t> list_ids_;
  std::vector<Pcsr> lists_;
  std::vector<std::vector<uint32_t>> roots_;  // candidates of levels without a source

  std::vector<std::vector<double>> ways_;     // of each level's candidates: see sample_guide.h
  std::vector<uint8_t> branches_;             // has the level others below it?
  std::vector<std::vector<double>> running_;
  SampleGuide guide_;
};

}  // namespace qe
