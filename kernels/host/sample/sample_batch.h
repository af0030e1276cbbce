// Samples of a plan on one thread: a batch goes through the levels together.
//
// Problem: bind the first `depth` levels of a plan at random for samples [first, first + n) of a seed, and add up their
// weights at each level. A batch takes one level after the other: all of its samples locate their lists, then pick, then
// validate, and those that are left go on. So what one sample waits for is asked for while others are worked on: memory
// latency, which bounds random walks, is hidden (after ThunderRW, VLDB 2021). Deterministic: sums run over a batch in the
// order of its samples. Memory: some 100 bytes a sample of a batch and level.
#pragma once
#include <cstdint>
#include <vector>

#include "base/charged_memory.h"
#include "base/stop.h"
#include "ops/set_ops.h"
#include "qe/sample.h"
#include "sample/sample_walk.h"

namespace qe {

constexpr double kEvenShare = 0.5;  // nothing is dealt where walks of equal weight that say as much fill that of the places

constexpr uint64_t kPlacesALook = 1 << 14;  // some tenths of a millisecond: budgets may be one

// Work of a level for one sample, of one more source, and of validating one candidate against one source.
constexpr int32_t kLevelWork = 8, kSourceWork = 8, kMemberWork = 5;

// What samples weighed when they had bound a level: the sum, the sum of squares, how many got there, and the work done
// on the level (SampleWork).
struct SampleSums {
  double weight = 0, square = 0;
  int64_t reached = 0, work = 0;

  void add(const SampleSums& more) {
    weight += more.weight;
    square += more.square;
    reached += more.reached;
    work += more.work;
  }
};

class SampleBatch {
 public:
  // `guide`: of the plan's candidate graph, for Alley; null: all candidates are as likely. `control`: looked at while
  // long lists are refined, throws Halt; null where nothing is drawn.
  SampleBatch(const MatchPlan& plan, int32_t method, int depth, uint64_t seed, const GuideLevel* guide,
              const Control* control);

  // Draws samples [first, first + n), n <= kBatchSamples, and adds to sums[0..depth).
  void draw(uint64_t first, int n, SampleSums* sums);

  // The same step by step: `begin`, then `advance` through each level, which adds to *sums.
  void begin(uint64_t first, int n);

  // Instead of `begin`: walks that have bound levels [0, level) elsewhere, by the same numbers; rows of `stride` ids, weight 0
  // where a walk has ended.
  void resume(uint64_t first, int n, int level, const int64_t* rows, const double* weights, int stride);
  void advance(int level, SampleSums* sums);

  // Between two levels: leaves only the walks for which keep(k) is true, k as in values(k).
  template <typename Keep>
  void retain(Keep keep) {
    int left = 0;
    for (int k = 0; k < alive_; ++k)
      if (keep(k)) slot_[static_cast<size_t>(left++)] = slot_[static_cast<size_t>(k)];
    alive_ = left;
  }

  // Between two levels: deals n places to the walks that have bound levels [0, level), in proportion to what each
  // weighs, alike where they are guided, and divides their weights by the places that they get on average. `chance`: in [0, 1).
  void deal(int level, int n, double chance);

  SampleWork work(int level) const;

  // Those of the last draw that got to the end: how many, their values by level, weight and number.
  int alive() const { return alive_; }
  const int64_t* values(int k) const { return &values_[static_cast<size_t>(slot_[static_cast<size_t>(k)] * depth_)]; }
  double weight(int k) const { return weights_[static_cast<size_t>(slot_[static_cast<size_t>(k)])]; }

 private:
  // A pick on its way: what the sample chose, and where its vertex stands.
  struct Pending {
    SampleStep step;
    const uint32_t* where;  // null: `place` holds it
    bool after_first;       // an earlier entry of the list may repeat the vertex
    SamplePlace place;
  };

  const int64_t* value(int slot) const {
    return &values_[static_cast<size_t>(slot) * static_cast<size_t>(depth_)];
  }
  int64_t* value(int slot) { return &values_[static_cast<size_t>(slot) * static_cast<size_t>(depth_)]; }
  SampleId id(int slot) const { return {seed_, first_ + static_cast<uint64_t>(slot)}; }
  uint32_t word(int slot, int level) const { return blocks_[static_cast<size_t>(slot)].word[level % kBlockLevels]; }
  bool is_bare(const PlanLevel& level) const;
  PlainLevel plain_level(int level) const;  // reads no arrays of the graph: where it is on a device, plans are priced, too
  PlainLevel plain_roots(int level) const;
  Walks walks() { return {&plan_, {seed_, first_}, depth_, values_.data(), weights_.data(), slot_.data(), blocks_.data()}; }
  void prefetch_lists(const PlanLevel& level, int slot);
  void prefetch_members(const PlanLevel& level, const SampleStep& step, int slot);

  void draw_blocks(int level);
  void draw_fine(int level);
  void draw_numbers(int level);

  // Each takes the samples that are left through a level, and returns how many places were refined or picked.
  int64_t walk_plain(int level);
  int64_t refine_plain(int level);  // sample_plain.cpp
  int64_t walk_vertices(int level);
  int64_t refine_vertices(int level);
  void extend_edges(int level);
  int64_t guide_roots(int level);   // these: sample_guide.cpp

  // Counts places that were refined, and now and then looks whether to stop.
  void refined(uint64_t places) {
    if ((since_look_ += places) < kPlacesALook) return;
    since_look_ = 0;
    if (const Status status = stopped(control_); status != kOk) throw Halt{status};
  }

  // Makes room for n ids that are left of a list, and for what another list leaves of these.
  void make_room(uint64_t n) {
    if (refined_.size() >= n + kSlack) return;
    refined_.resize(2 * n + kSlack);
    narrowed_.resize(2 * n + kSlack);
  }

  const GuideLevel* guide_of(int level) const;
  // Binds one of the ids, each as likely as its ways say, but none at the places to skip (ascending); false: there is none.
  // `running`: their sums of ways, null: not known.
  bool bind_guided(int level, int slot, List ids, const double* running, const uint64_t* skipped, size_t n_skipped);

  const MatchPlan& plan_;
  int32_t method_;
  int depth_;
  uint64_t seed_, first_ = 0;
  int alive_ = 0;          // samples that are left
  std::vector<int> slot_;  // of the samples that are left, ascending
  std::vector<int64_t> values_;
  std::vector<double> weights_;
  std::vector<PhiloxBlock> blocks_;
  std::vector<Pending> pending_;
  std::vector<uint32_t> refined_, narrowed_;
  const WalkOps& walk_;
  std::vector<PlainLevel> plain_;
  std::vector<WalkPicks> picks_;  // one
  const GuideLevel* guide_;
  const Control* control_;
  uint64_t since_look_ = 0;
  std::vector<PhiloxBlock> fine_;  // for guided picks: 64 bits a level
  std::vector<double> summed_;
  std::vector<double> shares_, dealt_weights_;  // scratch of `deal`
  std::vector<int64_t> dealt_values_;
};

}  // namespace qe
