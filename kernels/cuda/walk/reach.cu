// What up to 64 sets of starts reach, a lane each: breadth first, a bit of a word for each lane in every vertex.
//
// Problem: as qe/reach.h, but for starts that come back to themselves (those are found on the host). `reach` makes levels in
// one cooperative launch until nothing new is reached, or as many as it is told to.
// A level pushes from the vertices of its frontier, or pulls into those that not all lanes have seen, whichever reads less.
// Both go over entries, not vertices: each item's number of entries is added up over the grid, warps take tiles of entries,
// and a lane finds the item of its entry among the tile's. So a hub is shared by all warps, and 32 short lists by one.
// Preconditions: the state is zeros but for what `reach_start` and the host write; fewer than 2^32 items (vertices times layers).
// Launch: whole warps; `reach` together, with kBlockWords numbers of 64 bits of shared memory.
// Bytes moved, a pulled entry: 4 and a word of 8 at random (32 of L2's sectors); pushed: 4 and two such words; an item 16 to 32.
// Order: lists depend on timing, bits don't.
// Source: MS-BFS (Then et al., PVLDB 8, 2014); push and pull: Beamer et al., SC 2012; tiles of entries: Merrill and Garland 2016.
#include "walk/reach_job.cuh"
#include "base/grid.cuh"

using namespace qe;

namespace {

constexpr int kThreads = 512, kBlocks = 2;
constexpr uint32_t kTile = 1024;              // entries that a warp takes at a time
constexpr unsigned long long kPullsAPush = 2;    // entries that are pulled while one is pushed
constexpr unsigned long long kScannedAPull = 4;  // vertices that are looked over while an entry is pulled

__device__ inline bool bit(const uint64_t* bits, uint64_t i) { return bits[i >> 6] >> (i & 63) & 1; }

// The first position in [begin, end) of an ascending list whose entry is not less than v.
__device__ inline uint64_t first_at_least(const uint32_t* list, uint64_t begin, uint64_t end, uint32_t v) {
  while (begin < end) {
    const uint64_t middle = begin + (end - begin) / 2;
    if (list[middle] < v) begin = middle + 1;
    else end = middle;
  }
  return begin;
}

// Whether a predicate of relationships holds for the entry `position` (vertex w) of v's list.
__device__ QE_APART bool is_allowed(const ReachLayer& layer, uint32_t v, uint32_t w, uint64_t position) {
  if (layer.is_out) return bit(layer.allowed, position);
  if (layer.lists.edge_ids) return bit(layer.allowed, layer.lists.edge_ids[position]);
  const Slice from_w = locate(layer.out, w);
  uint64_t at = first_at_least(layer.out.neighbours, from_w.begin, from_w.end, v);
  if (at < from_w.end && layer.out.neighbours[at] == v) return bit(layer.allowed, at);
  const Slice from_v = locate(layer.out, v);  // an undirected relationship loaded the other way
  return bit(layer.allowed, first_at_least(layer.out.neighbours, from_v.begin, from_v.end, w));
}

__device__ inline uint64_t entries_of(const ReachLayer* layers, uint32_t n_layers, uint32_t v) {
  uint64_t sum = 0;
  for (uint32_t k = 0; k < n_layers; ++k) {
    const Slice slice = locate(layers[k].lists, v);
    sum += slice.end - slice.begin;
  }
  return sum;
}

template <typename T>
__device__ inline T now(const T& word) { return *static_cast<const volatile T*>(&word); }

class Levels {
 public:
  __device__ Levels(const ReachJob& given, uint64_t* words)
      : job(given), state(*given.state), grid_(&given.state->arrived, &given.state->stopped, given.stop, words),
        depth_(state.depth), size_(state.size), push_cost_(state.push_cost), pull_cost_(state.pull_cost) {}

  __device__ void run() {
    for (uint32_t done = 0; done < job.levels && size_ > 0 && depth_ < job.maximum; ++done) {
      if (!level()) return;
    }
    if (blockIdx.x > 0 || threadIdx.x > 0) return;
    state.depth = depth_;
    state.size = size_;
    state.push_cost = push_cost_;
    state.pull_cost = pull_cost_;
  }

 private:
  // False: all must end.
  __device__ bool level() {
    const bool pulls = push_cost_ * kPullsAPush > pull_cost_ + job.n_vertices / kScannedAPull;
    const uint64_t n_items = uint64_t{pulls ? job.n_vertices : size_} * job.n_layers;
    const auto entries = [&](uint64_t i) { return entries_of_item(pulls, static_cast<uint32_t>(i)); };
    const bool scanned = grid_.scan(n_items, job.sums, entries, entries, [&](uint64_t i, uint64_t own, uint64_t before) {
      job.before[i] = before;
      if (i + 1 == n_items) state.entries = before + own;
    });
    if (!scanned || !grid_.meet()) return false;
    if (pulls) expand<true>(n_items);
    else expand<false>(n_items);
    if (!grid_.meet()) return false;
    settle();
    if (!grid_.meet()) return false;
    const ReachFound& found = state.found[depth_ % 3];
    size_ = now(found.size);
    push_cost_ = now(found.push_cost);
    pull_cost_ -= now(found.completed);
    ++depth_;
    return true;
  }

  __device__ uint32_t frontier(uint32_t i) const { return job.lists[depth_ & 1][i]; }
  __device__ bool passes(uint32_t v) const { return depth_ == 0 || !job.through || bit(job.through, v); }

  // An item is a vertex of the frontier, or any vertex, and a layer.
  __device__ uint64_t entries_of_item(bool pulls, uint32_t item) const {
    const uint32_t place = job.n_layers == 1 ? item : item / job.n_layers, layer = item - place * job.n_layers;
    const uint32_t v = pulls ? place : frontier(place);
    if (pulls ? job.seen[v] == job.lanes : !passes(v)) return 0;
    const Slice slice = locate((pulls ? job.backward : job.forward)[layer].lists, v);
    return slice.end - slice.begin;
  }

  template <bool kPulls>
  __device__ void expand(uint64_t n_items) {
    const uint64_t total = now(state.entries), tiles = (total + kTile - 1) / kTile;
    const uint64_t warps = uint64_t{gridDim.x} * (blockDim.x / kLanes);
    for (uint64_t tile = blockIdx.x * (blockDim.x / kLanes) + threadIdx.x / kLanes; tile < tiles; tile += warps) {
      if (grid_.stop().warp()) return;
      const uint64_t begin = tile * kTile, end = min(total, begin + kTile);
      uint64_t low = row_of(job.before, n_items, begin);
      const uint64_t last = row_of(job.before, n_items, end - 1);
      for (uint64_t first = begin; first < end; first += kLanes) {
        const uint64_t entry = min(first + lane_id(), end - 1);
        uint64_t item = low, above = last + 1;
        while (above - item > 1) {
          const uint64_t middle = item + (above - item) / 2;
          if (job.before[middle] <= entry) item = middle;
          else above = middle;
        }
        low = __shfl_sync(kAllLanes, item, kLanes - 1);
        uint32_t fresh = kNoVertex;
        if (first + lane_id() < end) fresh = follow<kPulls>(static_cast<uint32_t>(item), entry - job.before[item]);
        append(fresh);
      }
    }
  }

  // Lets lanes go along an entry; returns the vertex that they come to, if they are the first of this level.
  template <bool kPulls>
  __device__ uint32_t follow(uint32_t item, uint64_t offset) {
    const uint32_t place = job.n_layers == 1 ? item : item / job.n_layers, number = item - place * job.n_layers;
    const uint32_t v = kPulls ? place : frontier(place);
    const ReachLayer& layer = (kPulls ? job.backward : job.forward)[number];
    const uint64_t position = locate(layer.lists, v).begin + offset;
    const uint32_t w = layer.lists.neighbours[position], from = kPulls ? w : v, to = kPulls ? v : w;
    const uint64_t stand = job.bits[depth_ & 1][from];
    if (stand == 0) return kNoVertex;
    uint64_t* next = job.bits[~depth_ & 1] + to;
    const uint64_t come = stand & ~(job.seen[to] | now(*next));
    if (come == 0 || (kPulls && !passes(from)) || (layer.allowed && !is_allowed(layer, v, w, position))) return kNoVertex;
    const auto bits = reinterpret_cast<unsigned long long*>(next);
    return atomicOr(bits, static_cast<unsigned long long>(come)) == 0 ? to : kNoVertex;
  }

  // Puts the vertices of all lanes that have one into the next frontier.
  __device__ void append(uint32_t v) {
    const uint32_t mask = __ballot_sync(kAllLanes, v != kNoVertex);
    if (mask == 0) return;
    uint32_t at = 0;
    if (lane_id() == 0) at = atomicAdd(&state.found[depth_ % 3].size, static_cast<uint32_t>(__popc(mask)));
    at = __shfl_sync(kAllLanes, at, 0) + rank_in(mask);
    if (v != kNoVertex) job.lists[~depth_ & 1][at] = v;
  }

  // Nobody stands on the frontier any more; what has come to a vertex has seen it.
  __device__ void settle() {
    ReachFound& found = state.found[depth_ % 3];
    const uint32_t fresh = now(found.size);
    unsigned long long leave = 0, completed = 0;
    grid_.each(0, max(size_, fresh), [&](uint64_t i) {
      if (i < size_) job.bits[depth_ & 1][frontier(static_cast<uint32_t>(i))] = 0;
      if (i >= fresh) return;
      const uint32_t v = job.lists[~depth_ & 1][i];
      const uint64_t seen = job.seen[v] | job.bits[~depth_ & 1][v];
      job.seen[v] = seen;
      leave += entries_of(job.forward, job.n_layers, v);
      if (seen == job.lanes) completed += entries_of(job.backward, job.n_layers, v);
    });
    if (leave) atomicAdd(&found.push_cost, leave);
    if (completed) atomicAdd(&found.completed, completed);
    if (blockIdx.x == 0 && threadIdx.x == 0) state.found[(depth_ + 1) % 3] = ReachFound{};
  }

  const ReachJob& job;
  ReachState& state;
  Grid grid_;
  int64_t depth_;
  uint32_t size_;
  unsigned long long push_cost_, pull_cost_;
};

__device__ inline bool accepts(const ReachEnds& ends, uint32_t v) {
  return v >= ends.lo && v < ends.hi && (!ends.bits || bit(ends.bits, v));
}

}  // namespace

// Lanes stand on their starts: `vertices` differ, `lanes` are those of each. They have seen them, too, where `seen`.
extern "C" __global__ void reach_start(
    const ReachJob* given, const uint32_t* vertices, const uint64_t* lanes, uint32_t n, uint32_t seen) {
  const ReachJob& job = *given;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    const uint32_t v = vertices[i];
    job.lists[0][i] = v;
    job.bits[0][v] = lanes[i];
    if (seen) job.seen[v] = lanes[i];
    atomicAdd(&job.state->push_cost, static_cast<unsigned long long>(entries_of(job.forward, job.n_layers, v)));
  }
}

extern "C" __global__ void __launch_bounds__(kThreads, blocks_each(kThreads, kBlocks)) reach(const ReachJob* given) {
  QE_SHARED(uint64_t, words);
  Levels(*given, words).run();
}

// Takes back that lanes have seen their starts.
extern "C" __global__ void reach_forget(const ReachJob* given, const uint32_t* vertices, const uint64_t* lanes, uint32_t n) {
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    given->seen[vertices[i]] &= ~lanes[i];
  }
}

// Writes the ends among `list`, or among [first, first + n) where it is null, that have bits in `words`, and these; `number`
// becomes how many there are.
extern "C" __global__ void reach_found(
    const ReachEnds ends, const uint32_t* list, const uint64_t* words, uint32_t first, uint32_t n, unsigned long long* number,
    uint32_t* vertices, uint64_t* lanes) {
  const uint32_t step = gridDim.x * blockDim.x;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i - lane_id() < n; i += step) {
    const uint32_t v = i >= n ? kNoVertex : list ? list[first + i] : first + i;
    const uint64_t found = v != kNoVertex && accepts(ends, v) ? words[v] : 0;
    const uint32_t mask = __ballot_sync(kAllLanes, found != 0);
    if (mask == 0) continue;
    uint64_t at = 0;
    if (lane_id() == 0) at = atomicAdd(number, static_cast<unsigned long long>(__popc(mask)));
    at = __shfl_sync(kAllLanes, at, 0) + rank_in(mask);
    if (found) vertices[at] = v, lanes[at] = found;
  }
}

// Adds to counts[lane] the ends that each lane has seen.
extern "C" __global__ void reach_count(const ReachJob* given, const ReachEnds ends, unsigned long long* counts) {
  const uint32_t step = gridDim.x * blockDim.x;
  unsigned long long low = 0, high = 0;  // of this lane of the warp, and of that 32 above
  for (uint64_t i = uint64_t{ends.lo} + blockIdx.x * blockDim.x + threadIdx.x; i - lane_id() < ends.hi; i += step) {
    const auto v = static_cast<uint32_t>(i);
    const uint64_t seen = i < ends.hi && accepts(ends, v) ? given->seen[v] : 0;
    if (!__any_sync(kAllLanes, seen != 0)) continue;
    for (int lane = 0; lane < kLanes; ++lane) {
      const uint32_t lower = __ballot_sync(kAllLanes, seen >> lane & 1), upper = __ballot_sync(kAllLanes, seen >> (lane + 32) & 1);
      if (lane_id() != lane) continue;
      low += __popc(lower);
      high += __popc(upper);
    }
  }
  if (low) atomicAdd(&counts[lane_id()], low);
  if (high) atomicAdd(&counts[lane_id() + kLanes], high);
}
