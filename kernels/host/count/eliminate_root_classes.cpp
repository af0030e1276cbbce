// Classes of roots: see eliminate_root_classes.h. Rows are hashed, and compared where hashes are equal.
//
// That reads each row twice, in order. Where roots push little it would take as long as what it saves: then each root is a
// class. Deterministic. Source: false twins, as in modular decomposition (Habib and Paul 2010).
#include "count/eliminate_root_classes.h"

namespace qe::eliminate {
namespace {

constexpr double kLeastPushed = 16;  // numbers that a root's row pushes, on average, for rows to be compared
constexpr uint64_t kSteps = 1 << 18;  // ids that are read between looks at the clock

uint64_t mixed(uint64_t hash, uint64_t more) {
  hash = (hash ^ more) * 0x9E3779B97F4A7C15;
  return hash ^ hash >> 29;
}

Wide number(const Matrix& m, uint64_t entry) { return m.values.at ? m.values.get<Wide>(entry) : Wide{1}; }

uint64_t hash_of(const Matrix& m, uint32_t v) {
  const Slice at = row(m, v);
  uint64_t hash = at.end - at.begin;
  for (uint64_t e = at.begin; e < at.end; ++e) hash = mixed(hash, m.ids[e]);
  if (m.values.at == nullptr) return hash;
  for (uint64_t e = at.begin; e < at.end; ++e) {
    const Wide found = number(m, e);
    hash = mixed(hash, static_cast<uint64_t>(found) ^ static_cast<uint64_t>(found >> 64));
  }
  return hash;
}

bool same_rows(const Matrix& m, uint32_t one, uint32_t other) {
  const Slice a = row(m, one), b = row(m, other);
  if (a.end - a.begin != b.end - b.begin || !std::equal(m.ids + a.begin, m.ids + a.end, m.ids + b.begin)) return false;
  if (m.values.at == nullptr) return true;
  for (uint64_t k = 0; k < a.end - a.begin; ++k)
    if (number(m, a.begin + k) != number(m, b.begin + k)) return false;
  return true;
}

// The matrices whose rows nodes start with.
std::vector<const Matrix*> starts_of(const ForestPlan& plan) {
  std::vector<const Matrix*> starts;
  for (int k = 0; k < plan.n_nodes; ++k) {
    if (plan.nodes[k].start < 0) continue;
    const Matrix* const start = plan.matrices + plan.nodes[k].start;
    if (std::find(starts.begin(), starts.end(), start) == starts.end()) starts.push_back(start);
  }
  return starts;
}

}  // namespace

double pushed_by_rows(const ForestPlan& plan, const ForestNode& node) {
  const Matrix &start = plan.matrices[node.start], &link = plan.matrices[node.link];
  uint64_t sum = 0;
  for (uint64_t e = 0, n = entries_of(start); e < n; ++e) {
    const Slice at = row(link, start.ids[e]);
    sum += at.end - at.begin;
  }
  return static_cast<double>(sum) / plan.n;
}

bool RootClasses::shares(const ForestPlan& plan) {
  for (int k = 0; k < plan.n_nodes; ++k) {
    const ForestNode& at = plan.nodes[k];
    if (at.start >= 0 && at.link >= 0 && pushed_by_rows(plan, at) >= kLeastPushed) return true;
  }
  return false;
}

void RootClasses::join(const ForestPlan& plan, Control* control) {
  const std::vector<const Matrix*> starts = starts_of(plan);
  size_t places = 1;
  while (places < 2 * firsts_.size()) places *= 2;
  std::vector<uint32_t> table(places, kNone);  // classes, by hash
  Patience patience(control, kSteps);
  uint32_t found = 0;
  for (const uint32_t u : firsts_) {
    uint64_t hash = 0;
    for (const Matrix* start : starts) {
      hash = mixed(hash, hash_of(*start, u));
      const Slice at = row(*start, u);
      patience.spend(length(at) + 1);
    }
    size_t place = hash & (places - 1);
    const auto twins = [&](uint32_t other) {
      return std::all_of(starts.begin(), starts.end(), [&](const Matrix* m) { return same_rows(*m, u, other); });
    };
    while (table[place] != kNone && !twins(firsts_[table[place]])) place = (place + 1) & (places - 1);
    if (table[place] == kNone) {
      table[place] = found;
      firsts_[found++] = u;  // no later than where u is read
    }
    of_[u] = table[place];
  }
  firsts_.resize(found);
}

}  // namespace qe::eliminate
