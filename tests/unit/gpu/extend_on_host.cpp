// The steps of the breadth-first extension (qe/extend_step.h), run one after the other on the host.
#include <vector>

#include "qe/extend_step.h"

using namespace qe;

namespace {

struct Table {
  std::vector<uint32_t> vertices, parents;
  std::vector<int64_t> edges;
};

}  // namespace

// Writes each embedding as its input row and the values of all levels; returns how many there are, at most `capacity`
// of them written. Slots are taken in pieces of `piece`.
extern "C" int64_t extend_on_host(const MatchPlan* plan, int64_t rows, const int64_t* const* seeds, int64_t piece,
                                  int64_t* out, int64_t capacity) {
  std::vector<Table> table(static_cast<size_t>(plan->n_levels));
  ExtendTables tables{};
  std::vector<int64_t> value(kMaxLevels), input;
  std::vector<const uint32_t*> data(4096);
  std::vector<uint32_t> length(4096);
  const StepRow row{value.data(), data.data(), length.data(), 1};
  for (int64_t k = 0; k < rows; ++k) {
    bool sound = true;
    for (int level = 0; level < plan->seeds && sound; ++level) {
      value[static_cast<size_t>(level)] = seeds[level][k];
      sound = admits_seed(*plan, level, row);
    }
    if (!sound) continue;
    input.push_back(k);
    for (int level = 0; level < plan->seeds; ++level)
      table[static_cast<size_t>(level)].vertices.push_back(static_cast<uint32_t>(seeds[level][k]));
  }
  uint64_t n = input.size();
  for (int level = 0; level < plan->n_levels; ++level) {
    Table& to = table[static_cast<size_t>(level)];
    if (level >= plan->seeds) {
      uint64_t made = 0;
      for (uint64_t r = 0; r < n; ++r) {
        uint64_t slots = 1;
        for (uint64_t i = 0; i < slots; i += static_cast<uint64_t>(piece)) {
          load_row(*plan, tables, level, r, row);
          const StepPlan step = plan_step(*plan, level, row);
          slots = step.slots;
          for (uint64_t k = i; k < i + static_cast<uint64_t>(piece) && k < slots; ++k) {
            int64_t found;
            if (!extension(*plan, level, step, row, k, &found)) continue;
            to.vertices.push_back(static_cast<uint32_t>(found));
            to.edges.push_back(found);
            to.parents.push_back(static_cast<uint32_t>(r));
            ++made;
          }
        }
      }
      n = made;
    }
    tables.vertices[level] = to.vertices.data();
    tables.edges[level] = to.edges.data();
    tables.parents[level] = to.parents.data();
  }
  for (uint64_t r = 0; r < n && static_cast<int64_t>(r) < capacity; ++r) {
    load_row(*plan, tables, plan->n_levels, r, row);
    int64_t* to = out + r * static_cast<uint64_t>(plan->n_levels + 1);
    to[0] = input[first_row(*plan, tables, plan->n_levels, r)];
    for (int level = 0; level < plan->n_levels; ++level) to[1 + level] = value[static_cast<size_t>(level)];
  }
  return static_cast<int64_t>(n);
}
