// Refine, sample, validate: random embeddings, a walk a lane (gSWORD §3), with inheritance (§4.1) and streaming (§4.2).
//
// Problem: draw samples [first, first + samples) of a seed through the levels of a space, and add up their weights. A space
// says which places a level offers to a walk and which of them it admits; an estimator says which places it picks from, how,
// and whether the walk goes on. Random numbers are qe/sample.h's: without inheritance each sample is the host's, bit for bit.
//
// Streaming: a walk with many places is refined by all lanes of its warp, walk after walk. Survivors are numbered by ballots
// and the same one is picked as one lane alone would pick (the paper draws anew from a reservoir), so results don't depend
// on it. Inheritance: after each level but the last, lanes whose walk has ended go on from the walks of their warp that
// have not, dealt evenly (the paper takes one of them); a walk that k lanes go on from has its weight divided by k. The 32
// weights of a warp then depend on each other, and what counts is their sum.
//
// Order: where lists lie in the host's memory, samples are drawn in the order of their roots, so that all warps read near each
// other, and lists of fewer places by a warp together: the link then moves whole lines. Where the lists exceed what the device
// translates addresses of at a time, samples whose second vertices' lists are near each other are drawn together, again in the
// order of their roots. Few samples that are next to each other go to the same warp, for their lists are about as long.
//
// Launch: blocks of whole warps, at most kMostWarps; shared memory for kMostWarps totals. Warps take 64 samples in turn; each
// block writes its totals, added up in a fixed order: the same for the same number of blocks and threads.
// Weights are 64-bit floats, numbers of samples and places 64-bit.
#pragma once
#include "qe/sample.h"
#include "base/stop.cuh"

namespace qe {

constexpr int kMostWarps = 32;      // of a block
constexpr uint64_t kWalks = 64;     // of a warp at a time
constexpr uint64_t kBeside = 8;     // of these, that are next to each other in an order
constexpr int kOrderBits = 28;      // of a sample's number, and of a place in an order
constexpr uint64_t kOrderMask = (uint64_t{1} << kOrderBits) - 1;
constexpr uint64_t kOrderWindows = 256;

struct SampleTotals {
  double weight, square;
  uint64_t reached, work;
};

struct SampleJob {
  uint64_t seed, first, samples;
  SampleTotals* totals;           // one a block
  int64_t* rows;                  // samples * depth ids, or null; written for whole embeddings
  double* weights;                // of each sample, or null
  const uint64_t* order;          // the samples in the order in which they are drawn, in the lowest kOrderBits; or null: as numbered
  StopFlag stop;
  int32_t depth;                  // levels to bind
  int32_t inheritance;
  int32_t streaming;              // so many places are refined by a warp together; 0: none
  int32_t least;                  // not 0: prefixes as trawling takes them, of random depths from this on
  const GuideLevel* guide;        // of each level, for guided picks
  SampleWork work[kMaxDeviceLevels];    // of each level
};

struct SampleRandom {
  SampleId id;
  PhiloxBlock block;   // of the level's group
  PhiloxBlock guided;  // the same for guided picks

  __device__ uint32_t word(int level) const {
    const int k = level % kBlockLevels;
    return k == 0 ? block.word[0] : k == 1 ? block.word[1] : k == 2 ? block.word[2] : block.word[3];
  }
};

// A level's further numbers, call > 0: as qengine/estimate/reference.py draws them.
__device__ __noinline__ uint64_t choose_again(SampleId id, int level, uint64_t call, uint64_t n) {
  const uint64_t further = call << 34;
  const SampleRandom more = {id, philox(id.number, further + static_cast<uint64_t>(level / kBlockLevels), id.seed), {}};
  if (n <= kWideChoice) return more.word(level) * n >> 32;
  const uint64_t wide = philox(id.number, further + (1ull << 32) + static_cast<uint64_t>(level), id.seed).word[0];
  return multiply_high((static_cast<uint64_t>(more.word(level)) << 32) + wide, n);
}

template <typename Space>
struct Walk {
  typename Space::Values value;
  double weight;
  bool alive;
};

// What an estimator sees of a walk at one level.
template <typename Space, typename Level>
class SampleView {
 public:
  __device__ SampleView(const Space& space, Level level, const typename Space::Step& step, typename Space::Values& value,
                        const SampleRandom& random)
      : space_(space), level_(level), step_(step), value_(value), random_(random) {}

  __device__ int level() const { return level_; }
  // Places to pick from: all that can be admitted are among them.
  __device__ uint64_t places() const { return step_.n; }
  // Do the places depend on the walk? Else they are the level's own vertices.
  __device__ bool has_source() const { return space_.has_source(level_); }
  // The id that an earlier level is bound to.
  __device__ int64_t bound(int level) const { return space_.id(level, value_); }
  // May the level be bound to the place? No vertex or relationship is admitted at two places.
  __device__ bool admits(uint64_t place) {
    const bool admitted = space_.admit(level_, step_, value_, place);
    bound_ = admitted ? place : ~0ull;  // what is not admitted may have been bound for a condition
    return admitted;
  }
  // One of 0..n-1, n > 0, each as likely as the others.
  __device__ uint64_t choose(uint64_t n) {
    const uint64_t call = calls_++;
    return call == 0 ? pick(random_.id, level_, random_.word(level_), n) : choose_again(random_.id, level_, call, n);
  }

  __device__ void bind(uint64_t place) {
    if (bound_ != place) space_.bind(level_, step_, value_, place);
    bound_ = place;
  }
  // The way that a guide gives to a place's vertex.
  __device__ double way(const GuideLevel& guide, uint64_t place) {
    bind(place);
    return guide.ways[space_.id(level_, value_) - guide.lo];
  }

 private:
  const Space& space_;
  Level level_;
  const typename Space::Step& step_;
  typename Space::Values& value_;
  const SampleRandom& random_;
  uint64_t bound_ = ~0ull;  // the place that the level is bound to; no place: none
  uint64_t calls_ = 0;
};

// What estimators do unless they say otherwise.
struct SampleEstimator {
  // Does it pick from fewer places than all, ever, and at this level?
  static constexpr bool kRefines = true;
  template <typename View>
  __device__ static bool refines(View&) { return true; }
  // Does the job's guide say how likely each pick is?
  static constexpr bool kGuided = false;
  // May this place be picked?
  template <typename View>
  __device__ static bool refine(View& view, uint64_t place) { return view.admits(place); }
  // Which of the n > 0 places that may be picked is taken; *factor: the inverse of its probability.
  template <typename View>
  __device__ static uint64_t sample(View& view, uint64_t n, double* factor) {
    *factor = static_cast<double>(n);
    return view.choose(n);
  }
  // Does the walk go on with this place?
  template <typename View>
  __device__ static bool validate(View& view, uint64_t place) { return view.admits(place); }
};

// Picks any place, and sees afterwards whether it fits (Li et al., SIGMOD 2016).
struct WanderJoin : SampleEstimator {
  static constexpr bool kRefines = false;
};

// Picks among the places that fit (Kim et al., SIGMOD 2021, without branching and synopses).
struct Alley : SampleEstimator {
  template <typename View>
  __device__ static bool refines(View& view) { return view.has_source(); }
  template <typename View>
  __device__ static bool validate(View& view, uint64_t place) { return view.has_source() || view.admits(place); }
};

// Alley, each pick as likely as its ways to go on say (host/sample/sample_guide.h).
struct Guided : Alley {
  static constexpr bool kGuided = true;
};

// What a walk takes at a level: a place, and the inverse of its probability. `found`: else there was none.
struct SampleTaken {
  bool found;
  uint64_t place;
  double factor;
};

// One lane refines the places of its own walk. Survivors among the first 64 places are kept as bits; where a later one is
// picked, places are refined again. Stopped, it finds none, as all that take a place.
template <typename Estimator, typename View>
__device__ SampleTaken take_refined(View& view, Stop& stop) {
  const uint64_t n = view.places();
  uint64_t kept = 0, bits = 0, left = ~0ull;  // left: survivors to pass before the one that is picked
  SampleTaken taken = {false, 0, 0};
#pragma unroll 1
  for (uint64_t k = 0;; ++k) {
    if (k == n) {
      if (kept == 0) return taken;
      taken.found = true;
      left = Estimator::sample(view, kept, &taken.factor);
      const auto low = static_cast<uint32_t>(bits), high = static_cast<uint32_t>(bits >> 32);
      const auto early = static_cast<uint64_t>(__popc(low) + __popc(high));
      if (left < early) {
        const auto first = static_cast<uint64_t>(__popc(low));
        const bool in_low = left < first;
        taken.place = static_cast<uint64_t>(nth_lane(in_low ? low : high, static_cast<int>(in_low ? left : left - first)));
        taken.place += in_low ? 0 : 32;
        return taken;
      }
      left -= early;
      k = 64;
    }
    if ((k + 1) % kLookEvery == 0 && stop.thread()) return {false, 0, 0};
    if (!Estimator::refine(view, k)) continue;
    if (taken.found && left-- == 0) {
      taken.place = k;
      return taken;
    }
    if (k < 64) bits |= 1ull << k;
    ++kept;
  }
}

// All lanes refine the places of the leader's walk; returns what the leader takes.
template <typename Estimator, typename Space, typename Level>
__device__ SampleTaken take_streamed(const Space& space, Level level, const Walk<Space>& walk, const typename Space::Step& step,
                                     const SampleRandom& random, int leader, Stop& stop) {
  const int lane = lane_id();
  typename Space::Values value = walk.value;
  space.lend(value, level, leader);
  const typename Space::Step theirs = space.lend(step, leader);
  SampleView<Space, Level> view(space, level, theirs, value, random);  // choose is the leader's alone, in its own name
  uint64_t kept = 0, left = 0;
  uint32_t mine = 0;  // survivors of 32 places: of those that begin with place 32 * lane
  SampleTaken taken = {false, 0, 0};
#pragma unroll 1
  for (uint64_t begin = 0;; begin += kLanes) {
    if (begin >= theirs.n) {
      if (kept == 0) return taken;
      taken.found = true;
      if (lane == leader) left = Estimator::sample(view, kept, &taken.factor);
      left = __shfl_sync(kAllLanes, left, leader);
      begin = 0;
    }
    if ((begin / kLanes + 1) % kLookEvery == 0 && stop.warp()) return {false, 0, 0};
    const uint64_t place = begin + static_cast<uint64_t>(lane);
    uint32_t found;
    if (taken.found && begin < kLanes * kLanes) found = __shfl_sync(kAllLanes, mine, static_cast<int>(begin / kLanes));
    else found = __ballot_sync(kAllLanes, place < theirs.n && Estimator::refine(view, place));
    const auto here = static_cast<uint64_t>(__popc(found));
    if (taken.found && left < here) {
      taken.place = begin + static_cast<uint64_t>(nth_lane(found, static_cast<int>(left)));
      return taken;
    }
    left -= here;
    if (!taken.found && begin == static_cast<uint64_t>(lane) * kLanes) mine = found;
    kept += here;
  }
}

// Sums of ways run over survivors in their order, one after the other, as on the host: rounding picks the same there.

// One lane picks among the places of its own walk.
template <typename View>
__device__ SampleTaken take_guided(View& view, const GuideLevel& guide, double fraction, Stop& stop) {
  const uint64_t n = view.places();
  double total = 0;
  uint64_t bits = 0;
#pragma unroll 1
  for (uint64_t k = 0; k < n; ++k) {
    if ((k + 1) % kLookEvery == 0 && stop.thread()) return {false, 0, 0};
    if (!view.admits(k)) continue;
    if (k < 64) bits |= 1ull << k;
    total += view.way(guide, k);
  }
  SampleTaken taken = {total > 0, 0, 0};
  const double goal = fraction * total;
  double sum = 0;
#pragma unroll 1
  for (uint64_t k = 0; taken.found; ++k) {
    if ((k + 1) % kLookEvery == 0 && stop.thread()) return {false, 0, 0};
    if (k < 64 ? (bits >> k & 1) == 0 : !view.admits(k)) continue;
    const double way = view.way(guide, k);
    sum += way;
    if (!(sum > goal || sum >= total)) continue;
    taken.place = k;
    taken.factor = total / way;
    break;
  }
  return taken;
}

// All lanes refine the places of the leader's walk; returns what the leader takes.
template <typename Space, typename Level>
__device__ SampleTaken take_guided_streamed(const Space& space, Level level, const Walk<Space>& walk,
                                            const typename Space::Step& step, const SampleRandom& random,
                                            const GuideLevel& guide, int leader, Stop& stop) {
  typename Space::Values value = walk.value;
  space.lend(value, level, leader);
  const typename Space::Step theirs = space.lend(step, leader);
  SampleView<Space, Level> view(space, level, theirs, value, random);
  const double fraction = __shfl_sync(kAllLanes, guide_fraction(random.guided, level), leader);
  double total = 0, sum = 0, goal = 0;
  SampleTaken taken = {false, 0, 0};
#pragma unroll 1
  for (uint64_t begin = 0;; begin += kLanes) {
    if (begin >= theirs.n) {
      total = sum;
      if (!(total > 0)) return taken;
      taken.found = true;
      goal = fraction * total;
      sum = 0;
      begin = 0;
    }
    if ((begin / kLanes + 1) % kLookEvery == 0 && stop.warp()) return {false, 0, 0};
    const uint64_t place = begin + static_cast<uint64_t>(lane_id());
    const bool admitted = place < theirs.n && view.admits(place);
    const double mine = admitted ? view.way(guide, place) : 0;
#pragma unroll 1
    for (uint32_t left = __ballot_sync(kAllLanes, admitted); left; left &= left - 1) {
      const int lane = __ffs(static_cast<int>(left)) - 1;
      const double way = __shfl_sync(kAllLanes, mine, lane);
      sum += way;
      if (!taken.found || !(sum > goal || sum >= total)) continue;
      taken.place = begin + static_cast<uint64_t>(lane);
      taken.factor = total / way;
      return taken;
    }
  }
}

// Picks among a level's own vertices, whose sums of ways are known.
template <typename View>
__device__ SampleTaken take_guided_root(View& view, const GuideLevel& guide, double fraction) {
  const uint64_t n = view.places();
  const double total = guide.running[n - 1], goal = fraction * total;
  if (!(total > 0)) return {false, 0, 0};
  uint64_t low = 0, high = n;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (guide.running[middle] > goal || guide.running[middle] >= total) high = middle;
    else low = middle + 1;
  }
  return {true, low, total / view.way(guide, low)};
}

// Takes the walks of a warp that are `going` through one level.
template <typename Estimator, typename Space, typename Level>
__device__ void advance(const Space& space, Level level, Walk<Space>& walk, bool going, const SampleRandom& random,
                        const SampleJob& job, uint64_t* work, Stop& stop) {
  typename Space::Step step = space.no_step();
  if (going) step = space.step(level, walk.value);
  SampleView<Space, Level> view(space, level, step, walk.value, random);
  bool refines = false;
  if constexpr (Estimator::kRefines) refines = going && step.n > 0 && Estimator::refines(view);
  if (going) {
    const SampleWork cost = job.work[level];
    const uint64_t places = refines ? step.n : static_cast<uint64_t>(step.n > 0);
    *work += static_cast<uint64_t>(cost.walk) + static_cast<uint64_t>(cost.place) * places;
  }
  SampleTaken taken = {false, 0, 0};
  GuideLevel guide = {};
  if constexpr (Estimator::kGuided) guide = job.guide[level];
  if constexpr (Estimator::kRefines) {
    const bool large = job.streaming && refines && step.n >= static_cast<uint64_t>(job.streaming);
    uint32_t left = job.streaming ? __ballot_sync(kAllLanes, large) : 0;
#pragma unroll 1
    for (; left; left &= left - 1) {
      const int leader = __ffs(static_cast<int>(left)) - 1;
      SampleTaken theirs;
      if (Estimator::kGuided && guide.ways)
        theirs = take_guided_streamed(space, level, walk, step, random, guide, leader, stop);
      else theirs = take_streamed<Estimator>(space, level, walk, step, random, leader, stop);
      if (lane_id() == leader) taken = theirs;
    }
    if (refines && !large) {
      if (Estimator::kGuided && guide.ways) taken = take_guided(view, guide, guide_fraction(random.guided, level), stop);
      else taken = take_refined<Estimator>(view, stop);
    }
  }
  if (!going) return;
  if (!refines && step.n > 0) {
    if (Estimator::kGuided && guide.ways) {
      taken = take_guided_root(view, guide, guide_fraction(random.guided, level));
    } else {
      taken.found = true;
      taken.place = Estimator::sample(view, step.n, &taken.factor);
    }
  }
  walk.alive = taken.found && Estimator::validate(view, taken.place);
  if (!walk.alive) return;
  view.bind(taken.place);
  walk.weight *= taken.factor;
}

// Lanes without a walk go on from those that have one.
template <typename Space>
__device__ void inherit(const Space& space, int levels, Walk<Space>& walk) {
  const uint32_t valid = __ballot_sync(kAllLanes, walk.alive);
  if (valid == 0 || valid == kAllLanes) return;
  const int parents = __popc(valid), heirs = kLanes - parents;
  const int rank = rank_in(walk.alive ? valid : ~valid);
  if (walk.alive) walk.weight /= 1 + heirs / parents + (rank < heirs % parents ? 1 : 0);
  const int from = walk.alive ? lane_id() : nth_lane(valid, rank % parents);
  space.lend(walk.value, levels, from);
  walk.weight = __shfl_sync(kAllLanes, walk.weight, from);
  walk.alive = true;
}

// Draws one sample a lane, `number` of those of the job.
template <typename Estimator, typename Space>
__device__ Walk<Space> draw_walk(const Space& space, const SampleJob& job, uint64_t number, uint64_t* work, Stop& stop) {
  SampleRandom random = {{job.seed, job.first + number}, {}, {}};
  Walk<Space> walk;
  walk.weight = 1;
  walk.alive = number < job.samples;
  const SampleId haul = {job.seed, random.id.number / kHaulWalks};
  const int depth = job.least && walk.alive ? trawled_depth(haul, job.least, job.depth) : job.depth;
  space.each_level(job.depth, [&](auto level) {
    const bool going = walk.alive && level < depth;
    if (!__any_sync(kAllLanes, going)) return false;
    if (level % kBlockLevels == 0 && going) random.block = sample_block(random.id, level);
    if constexpr (Estimator::kGuided)
      if (level % kGuidedLevels == 0 && going) random.guided = guide_block(random.id, level);
    advance<Estimator>(space, level, walk, going, random, job, work, stop);
    if (job.inheritance && level + 1 < job.depth) inherit(space, level + 1, walk);
    return true;
  });
  if (!walk.alive) walk.weight = 0;
  return walk;
}

// Adds up the totals of a block's warps, in their order.
__device__ inline void write_totals(SampleTotals* at, SampleTotals* shared_totals, SampleTotals mine) {
  mine = {sum_over(mine.weight), sum_over(mine.square), sum_over(mine.reached), sum_over(mine.work)};
  if (lane_id() == 0) shared_totals[threadIdx.x / kLanes] = mine;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (unsigned k = 1; k < blockDim.x / kLanes; ++k) {
    mine.weight += shared_totals[k].weight;
    mine.square += shared_totals[k].square;
    mine.reached += shared_totals[k].reached;
    mine.work += shared_totals[k].work;
  }
  at[blockIdx.x] = mine;
}

// Draws the job's samples. With inheritance a warp's 32 weights count by their sum S: `square` grows so that samples vary
// as independent ones would whose mean varies as the sums do. E[S²] - (1 - 1/32) E[S]² for each warp, the second term from
// two warps that don't depend on each other.
template <typename Estimator, typename Space>
__device__ void draw_samples(const Space& space, const SampleJob& job, SampleTotals* shared_totals) {
  SampleTotals mine = {0, 0, 0, 0};
  const uint64_t warps = static_cast<uint64_t>(gridDim.x) * (blockDim.x / kLanes);
  const uint64_t self = static_cast<uint64_t>(blockIdx.x) * (blockDim.x / kLanes) + threadIdx.x / kLanes;
  Stop stop(job.stop);
  for (uint64_t round = 0; round * kWalks < job.samples && !stop.stopped(); round += warps) {
    double before = 0;
#pragma unroll 1
    for (uint64_t half = 0; half < 2 && !stop.warp(); ++half) {
      const uint64_t slot = half * kLanes + static_cast<uint64_t>(lane_id());
      uint64_t number = (round + self) * kWalks + slot;
      if (job.order) {
        const uint64_t beside = round == 0 ? 1 : kBeside;  // the first have the longest lists
        const uint64_t place = round * kWalks + (slot / beside * warps + self) * beside + slot % beside;
        number = place < job.samples ? job.order[place] & kOrderMask : job.samples;
      }
      const Walk<Space> walk = draw_walk<Estimator>(space, job, number, &mine.work, stop);
      mine.weight += walk.weight;
      mine.reached += walk.alive;
      if (job.inheritance) {
        const double team = sum_over(walk.weight);
        if (lane_id() == 0) mine.square += team * team - 2 * (1 - 1.0 / kLanes) * before * team;
        before = team;
      } else {
        mine.square += walk.weight * walk.weight;
      }
      if (job.weights == nullptr || number >= job.samples) continue;
      job.weights[number] = walk.weight;
      if (!walk.alive || job.rows == nullptr) continue;
      for (int level = 0; level < job.depth; ++level)
        job.rows[number * static_cast<uint64_t>(job.depth) + static_cast<uint64_t>(level)] = space.id(level, walk.value);
    }
  }
  write_totals(job.totals, shared_totals, mine);
}

}  // namespace qe
