// Counts relationships between groups of vertices: for each (owner's group, neighbour's group) that occurs, the
// entries, the owners that have such neighbours, the most that one owner has, and moments of how many each has.
//
// Groups are ranges of ids and lists are sorted, so a list's neighbours in one group are one run. Runs are short and as many
// as they are: where they begin is found without a branch, and how often each short length occurs is counted before anything is
// multiplied. Where all neighbours are in one group, lists are only measured, but read in their owners' group.
#include <algorithm>

#include "base/workers.h"
#include "load/loading.h"

namespace qe {
namespace {

constexpr int64_t kShort = 64;   // entries that are sooner compared all than searched
constexpr uint64_t kTabled = 64;  // lengths below it are counted in a table, where a group has entries enough to fill one

uint64_t below(const uint32_t* at, const uint32_t* end, uint32_t bound) {
  if (end - at > kShort) return std::lower_bound(at, end, bound) - at;
  uint32_t found = 0;
  for (; at < end; ++at) found += *at < bound;
  return found;
}

struct PairCounts {
  uint64_t entries = 0, owners = 0, largest = 0;
  double moments[4] = {0, 0, 0, 0};

  void add(uint64_t length, uint64_t times) {
    entries += times * length;
    owners += times;
    largest = std::max(largest, length);
    const double d = static_cast<double>(static_cast<int64_t>(length)), two = static_cast<double>(static_cast<int64_t>(times)) * d * (d - 1);
    moments[0] += two;
    moments[1] += two * (d - 2);
  }
  void add_sides(double lesser, double greater) {
    moments[2] += lesser * lesser;
    moments[3] += greater * greater;
  }
};

struct Pair {
  uint32_t owner, group;
  PairCounts counts;
};

// What the lengths of n lists tell; empty ones have no owner.
PairCounts measured(const uint64_t* begins, const uint64_t* ends, uint64_t n) {
  PairCounts found;
  double pairs = 0, triples = 0;
  for (uint64_t i = 0; i < n; ++i) {
    const uint64_t length = ends[i] - begins[i];
    const double d = static_cast<double>(static_cast<int64_t>(length)), two = d * (d - 1);
    found.entries += length;
    found.owners += length > 0;
    found.largest = std::max(found.largest, length);
    pairs += two;
    triples += two * (d - 2);
  }
  found.moments[0] = pairs;
  found.moments[1] = triples;
  return found;
}

}  // namespace
}  // namespace qe

// Writes at most table->capacity entries of pair[2], entries, owners, largest, in ascending order of the pair; *n_pairs is how
// many there are.
// moments[4] of each, d being how many such neighbours an owner has: the sums of d(d-1), of d(d-1)(d-2), and (in the owner's
// own group and where `sides` is set, else 0) of the squares of how many of them have a lesser, and a greater, id than the owner.
QE_API int32_t qe_pair_statistics(const qe::GroupedLists* lists, const qe::PairTable* table, uint64_t* n_pairs) {
  using namespace qe;
  const RowIndex& rows = lists->rows;
  const uint32_t *const keys = rows.keys, *const neighbours = lists->neighbours, *const group_ends = lists->group_ends;
  const uint64_t *const begins = rows.begins, *const ends = rows.ends;
  const uint32_t n_groups = lists->n_groups, low = lists->low, high = lists->high;
  const bool sides = lists->sides != 0;
  return run_workers(1, [&](int) {
    std::vector<Pair> found;  // ascending
    const auto group_of = [&](uint32_t vertex) {
      return static_cast<uint32_t>(std::upper_bound(group_ends, group_ends + n_groups, vertex) - group_ends);
    };
    const uint32_t least = low < high ? group_of(low) : 0, most = low < high ? group_of(high - 1) : 0;
    std::vector<uint32_t> groups(least == most ? 0 : high - low);  // of each vertex that may be a neighbour
    for (uint32_t group = least, v = low; v < low + groups.size(); ++v) {
      while (v >= group_ends[group]) ++group;
      groups[v - low] = group;
    }
    const auto add_sides = [&](PairCounts& counts, uint64_t row, const uint32_t* begin, const uint32_t* end) {
      const int64_t lesser = below(begin, end, rows.key(row));
      counts.add_sides(static_cast<double>(lesser), static_cast<double>(end - begin - lesser));
    };
    std::vector<uint32_t> cuts, kinds;  // where the runs of a list begin, and their groups
    std::vector<uint32_t> lengths;      // by group and length: how many runs
    std::vector<PairCounts> own(least == most ? 0 : most + 1);  // of one owner's group, empty before it
    std::vector<uint32_t> touched;                              // which of them aren't, where no lengths are in a table
    const auto give = [&](uint32_t owner, uint32_t group) {
      if (own[group].owners > 0) found.push_back({owner, group, own[group]});
      own[group] = {};
    };
    for (uint64_t row = 0, stop; row < rows.n; row = stop) {  // owners ascend: the rows of one group after the other
      const uint32_t owner = group_of(rows.key(row));
      stop = keys == nullptr ? std::min<uint64_t>(rows.n, group_ends[owner] - rows.first)
                             : std::lower_bound(keys + row, keys + rows.n, group_ends[owner]) - keys;
      if (least == most) {
        PairCounts counts = measured(begins + row, ends + row, stop - row);
        if (counts.owners == 0) continue;
        for (uint64_t i = row; i < stop && owner == least && sides; ++i) add_sides(counts, i, neighbours + begins[i], neighbours + ends[i]);
        found.push_back({owner, least, counts});
        continue;
      }
      uint64_t entries = 0;
      for (uint64_t i = row; i < stop; ++i) entries += ends[i] - begins[i];
      const uint64_t tabled = std::min<uint64_t>(kTabled, entries / (most + 1));
      lengths.assign(tabled * (most + 1), 0);
      for (uint64_t i = row; i < stop; ++i) {
        const uint32_t* at = neighbours + begins[i];
        const uint64_t length = ends[i] - begins[i];
        if (cuts.size() <= length) {
          cuts.resize(length + 1);
          kinds.resize(length + 1);
        }
        uint64_t runs = 0;
        uint32_t last = n_groups;
        for (uint32_t j = 0; j < length; ++j) {
          const uint32_t group = groups[at[j] - low];
          cuts[runs] = j;
          kinds[runs] = group;
          runs += group != last;
          last = group;
        }
        cuts[runs] = static_cast<uint32_t>(length);
        for (uint64_t run = 0; run < runs; ++run) {
          const uint32_t group = kinds[run];
          const uint64_t run_length = cuts[run + 1] - cuts[run];
          if (run_length < tabled) {
            ++lengths[group * tabled + run_length];
          } else {
            if (tabled == 0 && own[group].owners == 0) touched.push_back(group);
            own[group].add(run_length, 1);
          }
          if (group == owner && sides) add_sides(own[group], i, at + cuts[run], at + cuts[run + 1]);
        }
      }
      if (tabled == 0) {  // fewer entries than groups, which are not gone through
        std::sort(touched.begin(), touched.end());
        for (const uint32_t group : touched) give(owner, group);
        touched.clear();
        continue;
      }
      for (uint32_t group = least; group <= most; ++group) {
        for (uint64_t length = 1; length < tabled; ++length) {
          if (const uint64_t times = lengths[group * tabled + length]; times > 0) own[group].add(length, times);
        }
        give(owner, group);
      }
    }
    *n_pairs = found.size();
    for (uint64_t i = 0; i < std::min<uint64_t>(found.size(), table->capacity); ++i) {
      const PairCounts& counts = found[i].counts;
      table->pairs[2 * i] = found[i].owner;
      table->pairs[2 * i + 1] = found[i].group;
      table->entries[i] = counts.entries;
      table->owners[i] = counts.owners;
      table->largest[i] = counts.largest;
      std::copy_n(counts.moments, 4, table->moments + 4 * i);
    }
  });
}
