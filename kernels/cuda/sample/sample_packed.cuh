// A candidate graph as a space to sample (sample.cuh), packed, with the shape of its plan known to the compiler.
//
// Levels are vertices; ids count from the first of their level's range, so that they and the row indexes take 2 bytes where
// they fit, and a graph of some 100 KB lies in shared memory. A walk's ids and the lists of a step are registers.
// Macros: QE_DEPTH levels; QE_FROM, QE_SOURCES, QE_DIFFERENT: for each level the levels of its sources (4 bits each, the
// first lowest), how many they are, and the levels that it must differ from (bits); QE_LESS, QE_GREATER: the levels whose ids
// its own must be below or above (bits; at levels with sources); QE_WIDTH: the most sources of a level; QE_ID, QE_OFFSET:
// types of ids and of row index entries; QE_COPIED, QE_THREADS.
#pragma once
#include "sample/sample.cuh"

namespace qe {

constexpr int kPackedLevels = 16, kPackedSources = 64;

struct PackedWord {  // copied as a whole
  uint32_t part[4];
};

struct PackedGraph {
  const PackedWord* words;  // row indexes, then ids
  uint32_t n_words;
  uint32_t ids;             // byte at which the ids begin
  uint32_t lo[kPackedLevels];                               // the id that is a level's 0
  uint32_t roots[kPackedLevels], n_roots[kPackedLevels];    // of levels without a source, among the ids
  uint32_t offsets[kPackedSources], entries[kPackedSources];  // of each source: where its row index and its ids begin
};

constexpr uint64_t kFrom[] = {QE_FROM};
constexpr int kSources[] = {QE_SOURCES};
constexpr uint32_t kDifferent[] = {QE_DIFFERENT}, kBelow[] = {QE_LESS}, kAbove[] = {QE_GREATER};

QE_BOTH constexpr int source_level(int level, int k) { return static_cast<int>(kFrom[level] >> (4 * k) & 15); }
QE_BOTH constexpr int first_source(int level) {
  int n = 0;
  for (int k = 0; k < level; ++k) n += kSources[k];
  return n;
}

template <int k>
struct Fixed {
  QE_BOTH constexpr operator int() const { return k; }
};

class PackedSpace {
 public:
  using Id = QE_ID;
  using Offset = QE_OFFSET;
  struct Values {
    uint32_t at[QE_DEPTH];
  };
  struct Step {
    uint64_t n;
    int32_t source;  // of the level's, -1: its roots
    uint32_t begin;
    uint32_t begins[QE_WIDTH], sizes[QE_WIDTH];  // of all its lists
  };

  __device__ PackedSpace(const PackedGraph& graph, const char* memory)
      : graph_(graph), offsets_(reinterpret_cast<const Offset*>(memory)), ids_(reinterpret_cast<const Id*>(memory + graph.ids)) {}

  template <typename Call>
  __device__ static void each_level(int, Call call) {
    each_from<0>(call);
  }

  __device__ static Step no_step() { return {}; }

  template <int level>
  __device__ Step step(Fixed<level>, const Values& value) const {
    Step step = {};
    if constexpr (kSources[level] == 0) {
      step.n = graph_.n_roots[level];
      step.source = -1;
      step.begin = graph_.roots[level];
    } else {
#pragma unroll
      for (int k = 0; k < kSources[level]; ++k) {
        const int source = first_source(level) + k;
        const Offset* at = offsets_ + graph_.offsets[source] + value.at[source_level(level, k)];
        step.begins[k] = graph_.entries[source] + at[0];
        step.sizes[k] = at[1] - at[0];
        if constexpr (kBelow[level] != 0 || kAbove[level] != 0) cut<level>(value, &step.begins[k], &step.sizes[k]);
        if (k > 0 && step.sizes[k] >= step.n) continue;
        step.n = step.sizes[k];
        step.source = k;
        step.begin = step.begins[k];
      }
    }
    return step;
  }

  template <int level>
  __device__ static constexpr bool has_source(Fixed<level>) {
    return kSources[level] > 0;
  }

  template <int level>
  __device__ bool admit(Fixed<level>, const Step& step, Values& value, uint64_t place) const {
    const uint32_t v = ids_[step.begin + static_cast<uint32_t>(place)];
    bool fits = true;
#pragma unroll
    for (int k = 0; k < level; ++k)
      if (kDifferent[level] >> k & 1) fits = fits && value.at[k] + graph_.lo[k] != v + graph_.lo[level];
#pragma unroll
    for (int k = 0; k < kSources[level]; ++k)
      if (kSources[level] > 1 && k != step.source) fits = fits && holds(step.begins[k], step.sizes[k], v);
    if (fits) value.at[level] = v;
    return fits;
  }

  template <int level>
  __device__ void bind(Fixed<level>, const Step& step, Values& value, uint64_t place) const {
    value.at[level] = ids_[step.begin + static_cast<uint32_t>(place)];
  }

  __device__ int64_t id(int level, const Values& value) const {
    int64_t found = 0;
#pragma unroll
    for (int k = 0; k < QE_DEPTH; ++k)
      if (k == level) found = static_cast<int64_t>(value.at[k]) + graph_.lo[k];
    return found;
  }

  __device__ static void lend(Values& value, int levels, int from) {
#pragma unroll
    for (int k = 0; k < QE_DEPTH; ++k)
      if (k < levels) value.at[k] = __shfl_sync(kAllLanes, value.at[k], from);
  }
  __device__ static Step lend(const Step& step, int from) {
    Step lent;
    lent.n = __shfl_sync(kAllLanes, step.n, from);
    lent.source = __shfl_sync(kAllLanes, step.source, from);
    lent.begin = __shfl_sync(kAllLanes, step.begin, from);
#pragma unroll
    for (int k = 0; k < QE_WIDTH; ++k) {
      lent.begins[k] = __shfl_sync(kAllLanes, step.begins[k], from);
      lent.sizes[k] = __shfl_sync(kAllLanes, step.sizes[k], from);
    }
    return lent;
  }

 private:
  template <int k, typename Call>
  __device__ static void each_from(Call& call) {
    if constexpr (k < QE_DEPTH) {
      if (call(Fixed<k>())) each_from<k + 1>(call);
    }
  }

  // How many ids of a list are below v.
  __device__ uint32_t below(uint32_t begin, uint32_t n, uint32_t v) const {
    const Id* list = ids_ + begin;
#pragma unroll 1
    while (n > 1) {
      const uint32_t half = n / 2;
      list += list[half - 1] < v ? half : 0;
      n -= half;
    }
    return static_cast<uint32_t>(list - ids_) - begin + (n == 1 && *list < v);
  }

  __device__ bool holds(uint32_t begin, uint32_t n, uint32_t v) const {
    const uint32_t at = below(begin, n, v);
    return at < n && ids_[begin + at] == v;
  }

  // Leaves of a list what the order of ids admits.
  template <int level>
  __device__ void cut(const Values& value, uint32_t* begin, uint32_t* n) const {
#pragma unroll
    for (int k = 0; k < level; ++k) {
      const int64_t other = static_cast<int64_t>(value.at[k]) + graph_.lo[k] - graph_.lo[level];
      if (kBelow[level] >> k & 1) *n = other <= 0 ? 0 : below(*begin, *n, static_cast<uint32_t>(other));
      if (kAbove[level] >> k & 1) {
        const uint32_t passed = other < 0 ? 0 : below(*begin, *n, static_cast<uint32_t>(other + 1));
        *begin += passed;
        *n -= passed;
      }
    }
  }

  const PackedGraph& graph_;
  const Offset* offsets_;
  const Id* ids_;
};

}  // namespace qe
