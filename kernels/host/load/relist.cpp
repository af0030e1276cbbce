// Makes the lists of a graph's next version where many vertices or relationships change: list by list in the order of
// the new vertices, each renumbered, with what is added, and sorted again if its order has changed.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <vector>

#include "base/workers.h"
#include "load/loading.h"

namespace qe {
namespace {

constexpr uint64_t kSerialBelow = 1 << 16;
constexpr uint64_t kBlock = 1 << 12;  // vertices that a worker takes at a time
constexpr uint64_t kShort = 24;       // entries that are sorted by insertion

int workers_for(uint64_t n, int threads) { return n < kSerialBelow ? 1 : std::max(threads, 1); }

// Calls work(begin, end) for blocks of [0, n), on several threads.
template <class Work>
Status in_blocks(uint64_t n, int workers, Work&& work) {
  std::atomic<uint64_t> next{0};
  return run_workers(workers, [&](int) {
    for (uint64_t begin; (begin = next.fetch_add(kBlock)) < n;) work(begin, std::min(begin + kBlock, n));
  });
}

Slice old_list(const Relisting& given, uint64_t vertex) {
  const int64_t old = given.origins == nullptr ? static_cast<int64_t>(vertex) : given.origins[vertex];
  return old < 0 ? Slice{0, 0} : locate(*given.old, static_cast<uint32_t>(old));
}

uint64_t first_added(const Relisting& given, uint64_t vertex) {
  return std::lower_bound(given.owners, given.owners + given.n_added, vertex) - given.owners;
}

// One list as it is made: entries with what stands beside them.
struct List {
  uint32_t* entries;
  uint32_t* beside;
  uint64_t n;

  bool before(uint64_t i, uint64_t j) const {
    return entries[i] != entries[j] ? entries[i] < entries[j] : beside != nullptr && beside[i] < beside[j];
  }

  void sort(std::vector<uint64_t>& spare) const {
    uint64_t sorted = 1;
    while (sorted < n && !before(sorted, sorted - 1)) ++sorted;
    if (sorted >= n) return;
    if (n <= kShort) return insert(sorted);
    if (beside == nullptr) return std::sort(entries, entries + n);
    spare.resize(n);
    for (uint64_t i = 0; i < n; ++i) spare[i] = static_cast<uint64_t>(entries[i]) << 32 | beside[i];
    std::sort(spare.begin(), spare.end());
    for (uint64_t i = 0; i < n; ++i) {
      entries[i] = static_cast<uint32_t>(spare[i] >> 32);
      beside[i] = static_cast<uint32_t>(spare[i]);
    }
  }

  void insert(uint64_t sorted) const {
    for (; sorted < n; ++sorted)
      for (uint64_t i = sorted; i > 0 && before(i, i - 1); --i) {
        std::swap(entries[i], entries[i - 1]);
        if (beside != nullptr) std::swap(beside[i], beside[i - 1]);
      }
  }
};

}  // namespace
}  // namespace qe

// offsets[v] for v in [0, n_vertices]: where the list of the new vertex v will begin.
QE_API int32_t qe_relist_offsets(const qe::Relisting* given, uint64_t* offsets, int32_t threads) {
  using namespace qe;
  offsets[0] = 0;
  const Status status = in_blocks(given->n_vertices, workers_for(given->n_vertices, threads), [&](uint64_t v, uint64_t end) {
    for (uint64_t added = first_added(*given, v); v < end; ++v) {
      const Slice list = old_list(*given, v);
      uint64_t n = list.end - list.begin;
      if (given->gone != nullptr) n -= std::accumulate(given->gone + list.begin, given->gone + list.end, uint64_t{0});
      for (; added < given->n_added && given->owners[added] == v; ++added) ++n;
      offsets[v + 1] = n;
    }
  });
  for (uint64_t v = 0; v < given->n_vertices; ++v) offsets[v + 1] += offsets[v];
  return status;
}

// Fills the lists. `beside`, unless it is null, gets what stands beside each entry; places[source], unless it is null,
// where an entry of OUT has come to stand. kInvalid where a vertex with entries has no new id.
QE_API int32_t qe_relist(const qe::Relisting* given, const uint64_t* offsets, uint32_t* neighbours, uint32_t* beside,
                         uint32_t* places, int32_t threads) {
  using namespace qe;
  std::atomic<bool> valid{true};
  const int workers = workers_for(offsets[given->n_vertices], threads);
  const Status status = in_blocks(given->n_vertices, workers, [&](uint64_t v, uint64_t end) {
    const Pcsr& old = *given->old;
    std::vector<uint64_t> spare;
    bool known = true;
    for (uint64_t added = first_added(*given, v); v < end; ++v) {
      const uint64_t first = offsets[v];
      List list{neighbours + first, beside == nullptr ? nullptr : beside + first, 0};
      auto add = [&](uint32_t entry, uint64_t source) {
        list.entries[list.n] = entry;
        if (beside != nullptr)
          list.beside[list.n] = given->places == nullptr ? static_cast<uint32_t>(source) : given->places[source];
        ++list.n;
      };
      const Slice from = old_list(*given, v);
      for (uint64_t i = from.begin; i < from.end; ++i) {
        if (given->gone != nullptr && given->gone[i] != 0) continue;
        const uint32_t entry = given->new_ids == nullptr ? old.neighbours[i] : given->new_ids[old.neighbours[i]];
        known &= entry != kNoVertex;
        add(entry, old.edge_ids == nullptr ? i : old.edge_ids[i]);
      }
      for (; added < given->n_added && given->owners[added] == v; ++added) add(given->entries[added], given->sources[added]);
      list.sort(spare);
      if (places != nullptr)
        for (uint64_t i = 0; i < list.n; ++i) places[list.beside[i]] = static_cast<uint32_t>(first + i);
    }
    if (!known) valid = false;
  });
  return status == kOk && !valid ? kInvalid : status;
}
