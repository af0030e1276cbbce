// What loading does with long arrays of vertices: count degrees, look keys up, renumber, order by degree, name the
// owners of list entries.
#include <algorithm>
#include <cstring>

#include "base/workers.h"
#include "load/loading.h"

namespace qe {
namespace {

constexpr uint64_t kSerialBelow = 1 << 16;
constexpr int kMostCounters = 8;  // private counter arrays: 4 bytes a vertex each
constexpr int kDigit = 11;

int workers_for(uint64_t n, int threads) { return n < kSerialBelow ? 1 : std::max(threads, 1); }

}  // namespace
}  // namespace qe

// counts[v] += how often v occurs in vertices[n]; every v < n_vertices.
QE_API int32_t qe_count_vertices(const uint32_t* vertices, uint64_t n, uint32_t* counts, uint32_t n_vertices,
                                 int32_t threads) {
  using namespace qe;
  const int workers = n_vertices > n ? 1 : std::min(workers_for(n, threads), kMostCounters);
  if (workers == 1) {
    for (uint64_t i = 0; i < n; ++i) ++counts[vertices[i]];
    return kOk;
  }
  return run_workers(workers, [&](int worker) {
    std::vector<uint32_t> own(n_vertices);
    const uint64_t end = share(n, worker + 1, workers);
    for (uint64_t i = share(n, worker, workers); i < end; ++i) ++own[vertices[i]];
    for (uint32_t v = 0; v < n_vertices; ++v)
      if (own[v] != 0) __atomic_fetch_add(&counts[v], own[v], __ATOMIC_RELAXED);
  });
}

// out[i]: the vertex of keys[i]; *first_missing is the least i whose key has none, n where all have one.
QE_API int32_t qe_look_up(const int64_t* keys, uint64_t n, const qe::KeyTable* table, uint32_t* out,
                          uint64_t* first_missing, int32_t threads) {
  using namespace qe;
  const int workers = workers_for(n, threads);
  std::vector<uint64_t> first(workers, n);
  const Status status = run_workers(workers, [&](int worker) {
    const uint64_t begin = share(n, worker, workers), end = share(n, worker + 1, workers);
    uint64_t bad = n;
    for (uint64_t i = end; i-- > begin;) {
      const uint64_t place = static_cast<uint64_t>(keys[i]) - static_cast<uint64_t>(table->low);
      out[i] = place < table->size ? table->entries[place] : table->missing;
      if (out[i] == table->missing) bad = i;
    }
    first[worker] = bad;
  });
  *first_missing = *std::min_element(first.begin(), first.end());
  return status;
}

// seen[keys[i] - low] = 1 for all i; every key lies in [low, low + size of seen).
QE_API int32_t qe_mark(const int64_t* keys, uint64_t n, int64_t low, uint8_t* seen, int32_t threads) {
  using namespace qe;
  const int workers = workers_for(n, threads);
  return run_workers(workers, [&](int worker) {
    const uint64_t end = share(n, worker + 1, workers);
    for (uint64_t i = share(n, worker, workers); i < end; ++i)
      __atomic_store_n(&seen[static_cast<uint64_t>(keys[i]) - static_cast<uint64_t>(low)], 1, __ATOMIC_RELAXED);
  });
}

// owners[i] = keys[k] for offsets[k] <= i < offsets[k + 1].
QE_API int32_t qe_owners(const uint32_t* keys, const uint64_t* offsets, uint64_t n_keys, uint32_t* owners,
                         int32_t threads) {
  using namespace qe;
  const int workers = n_keys == 0 ? 1 : workers_for(offsets[n_keys], threads);
  return run_workers(workers, [&](int worker) {
    const uint64_t end = share(n_keys, worker + 1, workers);
    for (uint64_t k = share(n_keys, worker, workers); k < end; ++k)
      std::fill(owners + offsets[k], owners + offsets[k + 1], keys[k]);
  });
}

// out[i] = table[index[i]]; out may be index.
QE_API int32_t qe_renumber(const uint32_t* index, uint64_t n, const uint32_t* table, uint32_t* out, int32_t threads) {
  using namespace qe;
  const int workers = workers_for(n, threads);
  return run_workers(workers, [&](int worker) {
    const uint64_t end = share(n, worker + 1, workers);
    for (uint64_t i = share(n, worker, workers); i < end; ++i) out[i] = table[index[i]];
  });
}

// Sorts vertices[n] by descending degree[vertex], stable (radix sort, one pass for 11 bits of the largest degree).
QE_API int32_t qe_order_by_degree(const uint32_t* degree, uint32_t* vertices, uint64_t n) {
  using namespace qe;
  return run_workers(1, [&](int) {
    uint32_t largest = 0;
    for (uint64_t i = 0; i < n; ++i) largest = std::max(largest, degree[vertices[i]]);
    std::vector<uint32_t> spare(n);
    uint32_t *from = vertices, *to = spare.data();
    for (int shift = 0; shift < 32 && (largest >> shift) != 0; shift += kDigit) {
      constexpr uint32_t kMask = (1u << kDigit) - 1;
      uint64_t place[kMask + 2] = {};
      auto digit = [&](uint32_t vertex) { return kMask - ((degree[vertex] >> shift) & kMask); };
      for (uint64_t i = 0; i < n; ++i) ++place[digit(from[i]) + 1];
      for (uint32_t d = 0; d <= kMask; ++d) place[d + 1] += place[d];
      for (uint64_t i = 0; i < n; ++i) to[place[digit(from[i])]++] = from[i];
      std::swap(from, to);
    }
    if (from != vertices) std::memcpy(vertices, from, n * sizeof(uint32_t));
  });
}
