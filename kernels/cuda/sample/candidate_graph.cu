// Builds a plan's candidate graph: the same as the host's, entry by entry (host/sample/sample_candidates.h says what it is).
//
// `candidate_rows` finds the vertices that ranges, bitset, predicates and signatures admit, and how long each of their lists
// is; then the host allocates. `candidate_filter` writes all entries as pairs and filters them along one source after the other, in the
// host's order: an entry stays if both ends are candidates, a vertex if it has an entry. What is left is packed in order, and
// ways are counted up the trees. `guide_temper` and `guide_running` make the guide of samples of it.
// Preconditions: the first two are cooperative launches; the state is zeros, but for bound = 1; fewer than 2^32 slots.
// Launch: whole warps; kRootLanes numbers of 64 bits of shared memory.
// Bytes moved: an entry's two ends once a step along its source, and their stamps, which stay in L2: 12 bytes an entry and
// step; some 30 for making and packing it. A step takes a barrier (2 us), so that small graphs are bound by those.
// Where more entries would be kept than `most_entries`, it ends with state->gathered above that. job.stop ends it.
// Source: gSWORD §3.1; directed arc consistency as in CFL (Bi et al., SIGMOD 2016).
#include "sample/candidate_graph.cuh"
#include "base/grid.cuh"
#include "qe/sample.h"

using namespace qe;

namespace {

constexpr int kThreads = 1024;

class Builder {
 public:
  __device__ Builder(const CandidateJob& given, int launch, char* memory)
      : job(given), plan(*given.plan), memory_(memory),
        grid(&given.state->arrived[launch], &given.state->stopped[launch], given.stop, reinterpret_cast<uint64_t*>(memory)) {}

  __device__ void measure() {
    for (int j = 0; j < job.n_levels; ++j) {
      const CandidateLevel& own = job.levels[j];
      const PlanLevel& level = plan.levels[j];
      grid.each(own.lo, own.hi, [&](uint64_t v) {
        const auto id = static_cast<uint32_t>(v);
        job.stamps[own.first + v - own.lo] = starts_with(level, id) && admits(job.signatures, j, id);
      });
    }
    if (job.n_rows == 0 && blockIdx.x == 0 && threadIdx.x == 0) job.starts[0] = 0;
    if (!grid.meet()) return;
    grid.scan(
        job.n_rows, job.sums, [&](uint64_t row) { return job.starts[row] = static_cast<uint32_t>(size_of(row)); },
        [&](uint64_t row) { return job.starts[row]; },
        [&](uint64_t row, uint64_t size, uint64_t before) {
          job.starts[row] = static_cast<uint32_t>(before);
          if (row + 1 < job.n_rows) return;
          job.starts[row + 1] = static_cast<uint32_t>(before + size);
          job.state->slots = before + size;
        });
  }

  __device__ void build() {
    if (!fill() || !filter() || !pack()) return;
    for (int j = job.n_levels - 1; j >= 0; --j) {
      if (plan.levels[j].kind != kVertexLevel) continue;
      if (job.levels[j].n_sources == 0) bound_roots(j);
      else {
        count_ways(j);
        if (!grid.meet()) return;
      }
    }
  }

 private:
  __device__ bool starts_with(const PlanLevel& level, uint32_t v) const {
    const uint32_t bit = v - level.bitset_begin;
    if (level.bitset && !(level.bitset[bit >> 6] >> (bit & 63) & 1)) return false;
    if (level.candidates) return contains(level.candidates, static_cast<size_t>(level.n_candidates), v);
    return in_ranges(plan, level, v);
  }

  __device__ const CandidateSource& source_of_row(uint64_t row) const {
    return job.sources[last_of(job.n_sources, [&](uint64_t s) { return job.sources[s].row <= row; })];
  }
  __device__ const CandidateSource& source_of_slot(uint64_t slot) const {
    return job.sources[last_of(job.n_sources, [&](uint64_t s) { return job.starts[job.sources[s].row] <= slot; })];
  }
  __device__ uint64_t rows_of(const CandidateSource& source) const {
    return job.levels[source.from].hi - job.levels[source.from].lo;
  }

  // The last number below n > 0 for which it is true; it is true for 0, and for none beyond one for which it is false.
  template <typename Test>
  __device__ static uint64_t last_of(uint64_t n, Test test) {
    uint64_t low = 0;
    while (n > 1) {
      const uint64_t half = n / 2;
      if (test(low + half)) low += half;
      n -= half;
    }
    return low;
  }

  __device__ QE_APART Slice slice(const PlanSource& from, int list, uint32_t v, const CandidateLevel& to) const {
    return cut_slice(list_of(from, list), v, {to.lo, to.hi}, false);
  }
  __device__ const Pcsr& list_of(const PlanSource& from, int list) const {
    return plan.lists[plan.list_ids[from.lists.first + list]];
  }

  __device__ uint64_t size_of(uint64_t row) const {
    const CandidateSource& source = source_of_row(row);
    const CandidateLevel& start = job.levels[source.from];
    const uint64_t at = row - source.row;
    if (job.stamps[start.first + at] == 0) return 0;
    const PlanSource& from = plan.sources[source.source];
    uint64_t n = 0;
    for (int k = 0; k < from.lists.count; ++k) {
      const Slice found = slice(from, k, start.lo + static_cast<uint32_t>(at), job.levels[source.to]);
      n += found.end - found.begin;
    }
    return n;
  }

  // Writes all entries, each row's ascending; what an earlier list of the row, or place of the list, has is removed at once.
  __device__ bool fill() {
    grid.each(0, job.slots, [&](uint64_t slot) {
      const CandidateSource& source = source_of_slot(slot);
      const CandidateLevel &start = job.levels[source.from], &end = job.levels[source.to];
      const uint32_t* starts = job.starts + source.row;
      const uint64_t row = last_of(rows_of(source), [&](uint64_t at) { return starts[at] <= slot; });
      const uint32_t v = start.lo + static_cast<uint32_t>(row);
      const PlanSource& from = plan.sources[source.source];
      uint64_t k = slot - starts[row];
      int list = 0;
      Slice at = slice(from, 0, v, end);
      while (k >= at.end - at.begin) {
        k -= at.end - at.begin;
        at = slice(from, ++list, v, end);
      }
      const uint32_t* ids = list_of(from, list).neighbours + at.begin;
      const uint32_t id = ids[k];
      bool repeated = k > 0 && ids[k - 1] == id;
      uint64_t place = starts[row] + k;
      for (int other = 0; other < from.lists.count; ++other) {
        if (other == list) continue;
        const Slice there = slice(from, other, v, end);
        const uint32_t* others = list_of(from, other).neighbours + there.begin;
        const uint64_t n = there.end - there.begin;
        const uint64_t before = lower_bound(others, n, id), upto = lower_bound(others, n, id + 1);
        place += other < list ? upto : before;
        repeated = repeated || (other < list && upto > before);
      }
      job.from[place] = static_cast<uint32_t>(start.first + row);
      job.to[place] = repeated ? kNoVertex : static_cast<uint32_t>(end.first + id - end.lo);
    });
    return grid.meet();
  }

  // Removes entries along one source whose ends are no candidates any more, and stamps the ends of the others; returns how many
  // this thread has kept.
  __device__ uint64_t step(int number) {
    const CandidateStep& own = job.steps[number];
    const CandidateSource& source = job.sources[own.source];
    const auto stamp = static_cast<uint16_t>(number + 2);
    uint64_t kept = 0;
    grid.each(job.starts[source.row], job.starts[source.row + rows_of(source)], [&](uint64_t slot) {
      const uint32_t to = job.to[slot];
      if (to == kNoVertex) return;
      const uint32_t from = job.from[slot];
      const uint16_t had[2] = {job.stamps[from], job.stamps[to]};
      if (had[0] < own.from_stamp || had[1] < own.to_stamp) {
        job.to[slot] = kNoVertex;
        return;
      }
      if (had[0] != stamp) job.stamps[from] = stamp;
      if (had[1] != stamp) job.stamps[to] = stamp;
      ++kept;
    });
    return kept;
  }

  // Counts the candidates after so many rounds.
  __device__ bool count(int rounds) {
    for (int j = 0; j < job.n_levels; ++j) {
      const CandidateLevel& level = job.levels[j];
      uint32_t n = 0;
      grid.each(level.first, level.first + level.hi - level.lo, [&](uint64_t at) { n += is_candidate(j, rounds, at); });
      __syncwarp();
      n = sum_over(n);
      if (lane_id() == 0 && n != 0) atomicAdd(&job.state->counts[rounds][j], n);
    }
    return grid.meet();
  }
  __device__ bool is_candidate(int level, int rounds, uint64_t at) const {
    return job.stamps[at] >= job.stamps_after[rounds * job.n_levels + level];
  }
  __device__ int64_t counted(int rounds) const {
    int64_t n = 0;
    for (int j = 0; j < job.n_levels; ++j) n += job.state->counts[rounds][j];
    return n;
  }

  __device__ bool filter() {
    int number = 0;
    uint64_t kept = 0;
    for (; number < job.n_sources; ++number) {
      kept += step(number);
      if (!grid.meet()) return false;
    }
    __syncwarp();
    kept = sum_over(kept);
    if (lane_id() == 0 && kept != 0) atomicAdd(reinterpret_cast<unsigned long long*>(&job.state->gathered), static_cast<unsigned long long>(kept));
    if (!count(0) || job.state->gathered > job.most_entries) return false;
    do {
      for (int k = 0; k < 2 * job.n_sources; ++k, ++number) {
        step(number);
        if (!grid.meet()) return false;
      }
      if (!count(++rounds_)) return false;
    } while (rounds_ < kFilterRounds && filters_on(counted(rounds_ - 1), counted(rounds_)));
    if (blockIdx.x == 0 && threadIdx.x == 0) job.state->rounds = static_cast<uint64_t>(rounds_);
    return true;
  }

  // Packs the entries that are left, and the candidates of levels without a source; ways become 1 for each candidate.
  __device__ bool pack() {
    for (int j = 0; j < job.n_levels; ++j) {
      const CandidateLevel& level = job.levels[j];
      grid.each(level.first, level.first + level.hi - level.lo, [&](uint64_t at) { job.ways[at] = is_candidate(j, rounds_, at); });
    }
    if (job.slots == 0 && blockIdx.x == 0 && threadIdx.x == 0) job.places[0] = 0;
    auto left = [&](uint64_t slot) { return uint64_t{job.to[slot] != kNoVertex}; };
    const bool packed = grid.scan(job.slots, job.sums, left, left, [&](uint64_t slot, uint64_t is_left, uint64_t before) {
      job.places[slot] = static_cast<uint32_t>(before);
      if (is_left) {
        const CandidateLevel& to = job.levels[source_of_slot(slot).to];
        job.ids[before] = to.lo + static_cast<uint32_t>(job.to[slot] - to.first);
      }
      if (slot + 1 == job.slots) job.places[slot + 1] = static_cast<uint32_t>(before + is_left);
    });
    if (!packed || !grid.meet()) return false;
    for (int s = 0; s < job.n_sources; ++s) {
      const CandidateSource& source = job.sources[s];
      const uint32_t* starts = job.starts + source.row;
      const uint64_t n = rows_of(source);
      const uint32_t begin = job.places[starts[0]];
      grid.each(0, n + 1, [&](uint64_t row) { job.offsets[source.row + s + row] = job.places[starts[row]] - begin; });
      if (blockIdx.x == 0 && threadIdx.x == 0) {
        job.begins[s] = begin;
        job.begins[s + 1] = job.state->entries = job.places[starts[n]];
      }
    }
    for (int j = 0; j < job.n_levels; ++j) {
      const CandidateLevel& level = job.levels[j];
      const uint64_t n = level.hi - level.lo;
      if (level.n_sources > 0 || n == 0) continue;
      auto is_root = [&](uint64_t at) { return uint64_t{is_candidate(j, rounds_, level.first + at)}; };
      const bool done = grid.scan(n, job.sums, is_root, is_root, [&](uint64_t at, uint64_t is, uint64_t before) {
        if (is) job.roots[level.first + before] = level.lo + static_cast<uint32_t>(at);
        if (at + 1 == n) job.n_roots[j] = before + is;
      });
      if (!done || !grid.meet()) return false;
    }
    return grid.meet();
  }

  // The source of a level with the fewest entries, the first of those.
  __device__ int tree_of(const CandidateLevel& level) const {
    int tree = level.source;
    for (int s = tree + 1; s < level.source + level.n_sources; ++s)
      if (entries_of(s) < entries_of(tree)) tree = s;
    return tree;
  }
  __device__ uint64_t entries_of(int source) const { return job.begins[source + 1] - job.begins[source]; }

  // Multiplies the ways of each candidate above by those that the level's add up to; a list with more than a few by the warp.
  __device__ void count_ways(int j) {
    const CandidateLevel& level = job.levels[j];
    const int tree = tree_of(level);
    const CandidateSource& source = job.sources[tree];
    const double* here = job.ways + level.first;
    double* above = job.ways + job.levels[source.from].first;
    const uint64_t* offsets = job.offsets + source.row + tree;
    const uint32_t* ids = job.ids + job.begins[tree];
    grid.each_spread(rows_of(source), [&](uint64_t row, bool is) {
      const bool wanted = is && above[row] != 0;
      const uint64_t begin = wanted ? offsets[row] : 0;
      const uint64_t n = wanted ? offsets[row + 1] - begin : 0;
      auto term = [&](uint64_t k) { return k < n ? here[ids[begin + k] - level.lo] : 0.0; };
      constexpr uint64_t kFew = 4;
      if (wanted && n <= kFew) above[row] *= (term(0) + term(2)) + (term(1) + term(3));
      for (uint32_t many = __ballot_sync(kAllLanes, n > kFew); many != 0; many &= many - 1) {
        const int from = __ffs(many) - 1;
        const uint64_t first = __shfl_sync(kAllLanes, begin, from), last = first + __shfl_sync(kAllLanes, n, from);
        double part = 0;
        in_parts(first, last, grid.stop(), [&](uint64_t begin, uint64_t end) {
          for (uint64_t k = begin + lane_id(); k < end; k += kListLanes) part += here[ids[k] - level.lo];
        });
        part = sum_over(part);
        if (lane_id() == from) above[row] *= part;
      }
    });
  }

  // Multiplies the bound by the ways of a level without a source. The first block does.
  __device__ void bound_roots(int j) {
    if (blockIdx.x != 0) return;
    const CandidateLevel& level = job.levels[j];
    auto* parts = reinterpret_cast<double*>(memory_);
    for (uint64_t k = threadIdx.x; k < kRootLanes; k += blockDim.x) {
      parts[k] = 0;
      for (uint64_t at = k; at < level.hi - level.lo && !grid.stop().thread(); at += kRootLanes) parts[k] += job.ways[level.first + at];
    }
    for (uint32_t half = kRootLanes / 2; half > 0; half /= 2) {
      __syncthreads();
      for (uint32_t k = threadIdx.x; k < half; k += blockDim.x) parts[k] += parts[k + half];
    }
    __syncthreads();
    if (threadIdx.x == 0) job.state->bound *= parts[0];
  }

  const CandidateJob& job;
  const MatchPlan& plan;
  char* memory_;
  Grid grid;
  int rounds_ = 0;
};

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads, 1) candidate_rows(const CandidateJob* job) {
  extern __shared__ __align__(16) char shared[];
  Builder(*job, 0, shared).measure();
}

extern "C" __global__ void __launch_bounds__(kThreads, 1) candidate_filter(const CandidateJob* job) {
  extern __shared__ __align__(16) char shared[];
  Builder(*job, 1, shared).build();
}

extern "C" __global__ void guide_temper(double* ways, uint64_t n) {
  const uint64_t at = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x;
  if (at < n) ways[at] = tempered(ways[at]);
}

// Writes the sums of ways within each list, entry by entry in this order: so none without ways adds to them by rounding.
extern "C" __global__ void guide_running(const RunningLists lists, StopFlag flag) {
  Stop stop(flag);
  const uint64_t n = lists.offsets ? lists.n : 1, stride = (n + kLanes - 1) / kLanes, warps = blockDim.x / kLanes;
  for (uint64_t w = blockIdx.x * warps + threadIdx.x / kLanes; w < stride && !stop.warp(); w += gridDim.x * warps) {
    const uint64_t row = w + lane_id() * stride;
    const uint64_t begin = lists.offsets && row < n ? lists.offsets[row] : 0;
    const uint64_t end = row >= n ? 0 : lists.offsets ? lists.offsets[row + 1] : lists.n;
    constexpr uint64_t kFew = 8;
    double total = 0;
    if (end - begin <= kFew)
      for (uint64_t k = begin; k < end; ++k) lists.running[k] = total += lists.ways[lists.ids[k] - lists.lo];
    for (uint32_t many = __ballot_sync(kAllLanes, end - begin > kFew); many != 0; many &= many - 1) {
      const int from = __ffs(many) - 1;
      const uint64_t first = __shfl_sync(kAllLanes, begin, from), last = __shfl_sync(kAllLanes, end, from);
      double upto = 0;
      for (uint64_t k = first; k < last && !stop.warp(); k += kLanes) {
        const uint64_t own = k + lane_id();
        const double ways = own < last ? lists.ways[lists.ids[own] - lists.lo] : 0;
        double sum = 0;
        for (int lane = 0; lane < kLanes; ++lane) {
          upto += __shfl_sync(kAllLanes, ways, lane);
          if (lane == lane_id()) sum = upto;
        }
        if (own < last) lists.running[own] = sum;
      }
    }
  }
}
