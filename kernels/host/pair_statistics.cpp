// Counts relationships between groups of vertices: for each (owner's group, neighbour's group) that occurs, the
// entries, the owners that have such neighbours, the most that one owner has, and moments of how many each has.
//
// Groups are ranges of ids and lists are sorted, so a list's neighbours in one group are one run: a list costs one
// binary search a run (two in the owner's own group), not one look a neighbour.
#include <algorithm>
#include <unordered_map>

#include "workers.h"

// keys[n_keys] (null: first, first + 1, ...) with lists [begins, ends) of `neighbours`; group_ends[n_groups] ascending. Writes at most `capacity`
// entries of pair[2], entries, owners, largest, in ascending order of the pair; *n_pairs is how many there are.
// moments[4] of each, d being how many such neighbours an owner has: the sums of d(d-1), of d(d-1)(d-2), and (in the
// owner's own group, else 0) of the squares of how many of them have a lesser, and a greater, id than the owner.
QE_API int32_t qe_pair_statistics(const uint32_t* keys, uint32_t first, const uint64_t* begins, const uint64_t* ends, uint64_t n_keys,
                                  const uint32_t* neighbours, const uint32_t* group_ends, uint32_t n_groups,
                                  uint32_t* pairs, uint64_t* entries, uint64_t* owners, uint64_t* largest,
                                  double* moments, uint64_t capacity, uint64_t* n_pairs) {
  using namespace qe;
  struct Counts { uint64_t entries = 0, owners = 0, largest = 0; double moments[4] = {0, 0, 0, 0}; };
  return run_workers(1, [&](int) {
    std::unordered_map<uint64_t, Counts> found;
    std::vector<Counts*> known(n_groups, nullptr);  // of the owner's group
    auto group_of = [&](uint32_t vertex) {
      return static_cast<uint32_t>(std::upper_bound(group_ends, group_ends + n_groups, vertex) - group_ends);
    };
    uint32_t owner = 0;
    for (uint64_t row = 0; row < n_keys; ++row) {
      if (begins[row] == ends[row]) continue;
      const uint32_t key = keys == nullptr ? first + static_cast<uint32_t>(row) : keys[row];
      if (key >= group_ends[owner]) {  // owners ascend
        owner = group_of(key);
        std::fill(known.begin(), known.end(), nullptr);
      }
      const uint64_t own = static_cast<uint64_t>(owner) << 32;
      const uint32_t* at = neighbours + begins[row];
      const uint32_t* end = neighbours + ends[row];
      while (at < end) {
        const uint32_t group = group_of(*at);
        const uint32_t* stop = end[-1] < group_ends[group] ? end : std::lower_bound(at, end, group_ends[group]);
        if (known[group] == nullptr) known[group] = &found[own | group];  // stays where it is
        Counts& counts = *known[group];
        const uint64_t length = stop - at;
        counts.entries += length;
        ++counts.owners;
        counts.largest = std::max(counts.largest, length);
        const double d = static_cast<double>(length);
        counts.moments[0] += d * (d - 1);
        counts.moments[1] += d * (d - 1) * (d - 2);
        if (group == owner) {
          const double lesser = static_cast<double>(std::lower_bound(at, stop, key) - at);
          counts.moments[2] += lesser * lesser;
          counts.moments[3] += (d - lesser) * (d - lesser);
        }
        at = stop;
      }
    }
    std::vector<uint64_t> order;
    order.reserve(found.size());
    for (const auto& one : found) order.push_back(one.first);
    std::sort(order.begin(), order.end());
    *n_pairs = order.size();
    for (uint64_t i = 0; i < std::min<uint64_t>(order.size(), capacity); ++i) {
      const Counts& counts = found[order[i]];
      pairs[2 * i] = static_cast<uint32_t>(order[i] >> 32);
      pairs[2 * i + 1] = static_cast<uint32_t>(order[i]);
      entries[i] = counts.entries;
      owners[i] = counts.owners;
      largest[i] = counts.largest;
      std::copy_n(counts.moments, 4, moments + 4 * i);
    }
  });
}
