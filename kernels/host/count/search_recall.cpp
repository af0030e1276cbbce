// Counts of components that depend on more than two vertices bound above them, remembered.
//
// Where matched vertices must differ, a component mentions nearly every level above it: a few whose lists and bounds it
// reads, its near levels, and many whose vertices it must only avoid. Most of these lie where it never comes. What it
// counts depends on the vertices of the near levels, and on those of the others that are within its reach. The reach, a
// superset kept as a filter of bits, is found once for near vertices; a count is looked up by the near vertices and by
// those others that pass the filter. Tables forget what another key overwrites, and are given up where they don't help.
#include <algorithm>

#include "search/search_run.h"

namespace qe {
namespace {

// A component's tables begin with 4 KiB and grow to 4 MiB, those of reaches to 160 KiB.
constexpr size_t kFirstEntries = 64, kMostEntries = size_t{1} << 16, kMostReaches = size_t{1} << 10, kGrowth = 4;
constexpr size_t kMostRead = 2048;   // ids read to find a reach; beyond that all is within it
constexpr uint64_t kTrial = 1 << 13, kHits = 4;  // asked so often, one in so many must be found
constexpr uint64_t kTrialRead = 1 << 19;         // or once so many ids were read to find reaches

uint64_t mixed(uint64_t hash, uint32_t value) { return ((hash ^ value) * 0x9E3779B97F4A7C15u) ^ (hash >> 29); }

uint32_t place_of(uint64_t hash, size_t places) { return static_cast<uint32_t>(hash >> 32) & (places - 1); }

}  // namespace

// The count of a component by `anew`, or what it was when all that it depends on was the same.
template <typename Anew>
uint64_t Worker::recalled(const Node& node, Anew anew) {
  Recall& recall = recalls_[static_cast<size_t>(node.recall)];
  const bool tried = recall.asked > kTrial || recall.read > kTrialRead;
  const bool useless = tried && recall.found * kHits < recall.asked;
  if (useless || node.levels[0] == split_level_ || !make_recall(recall)) return anew();
  ++recall.asked;
  Recalled key{0, 0, {}};
  size_t n = 0;
  uint64_t hash = 0;
  for (int level : node.near) hash = mixed(hash, key.vertices[n++] = vertex(level));
  const Reach* reach = node.others.empty() ? nullptr : &reach_of(node, recall, key.vertices, hash);
  const size_t n_near = n;
  for (size_t k = 0; k < node.others.size(); ++k) {
    const uint32_t v = vertex(node.others[k]);
    if (!reach->has(v)) continue;
    if (n == kRecallVertices) return anew();
    key.vertices[n++] = v;
    if (!node.alike) key.among |= uint64_t{1} << k;
  }
  if (node.alike) {
    std::sort(key.vertices + n_near, key.vertices + n);
    key.among = n;
  }
  for (size_t k = n_near; k < n; ++k) hash = mixed(hash, key.vertices[k]);
  Recalled& known = recall.table.data()[place_of(mixed(hash, static_cast<uint32_t>(key.among)), recall.table.capacity())];
  if (known.among == key.among && std::equal(key.vertices, key.vertices + n, known.vertices)) {
    ++recall.found;
    return known.count;
  }
  key.count = anew();
  known = key;
  return key.count;
}

uint64_t Worker::recalled_count(const Node& node) {
  return recalled(node, [&] { return count_anew(node); });
}

bool Worker::recalled_any(const Node& node) {
  return recalled(node, [&] { return uint64_t{any_anew(node)}; }) > 0;
}

// Whether there are tables. They grow, and begin anew, once as many counts were missed as they have entries.
bool Worker::make_recall(Recall& recall) {
  const size_t entries = recall.table.capacity();
  if (recall.asked - recall.found < recall.enough) return entries > 0;
  const size_t wanted = entries == 0 ? kFirstEntries : entries * kGrowth, reaches = std::min(wanted / 4, kMostReaches);
  if (wanted > kMostEntries || !charge_.affords(wanted * sizeof(Recalled) + reaches * sizeof(Reach))) {
    recall.enough = ~uint64_t{0};
    return entries > 0;
  }
  std::fill_n(recall.reaches.reserve(reaches, charge_), reaches, Reach{{}, false, {}});
  std::fill_n(recall.table.reserve(wanted, charge_), wanted, Recalled{kNothingRecalled, 0, {}});
  recall.enough = recall.asked - recall.found + wanted;
  return true;
}

const Worker::Reach& Worker::reach_of(const Node& node, Recall& recall, const uint32_t* near, uint64_t hash) {
  Reach& reach = recall.reaches.data()[place_of(hash, recall.reaches.capacity())];
  if (reach.known && std::equal(near, near + node.near.size(), reach.near)) return reach;
  reach = Reach{{}, true, {}};
  std::copy_n(near, node.near.size(), reach.near);
  size_t read = 0;
  for (int level : node.within) {
    if (read <= kMostRead) read += find_reached(node, level, kMostRead - read);
    if (read > kMostRead) break;
    if (std::find(node.avoiding.begin(), node.avoiding.end(), level) == node.avoiding.end()) continue;
    for (uint32_t v : reached_[static_cast<size_t>(level)]) reach.add(v);
  }
  if (read > kMostRead) std::fill_n(reach.bits, kReachWords, ~uint64_t{0});
  spend(read);
  recall.read += read;
  return reach;
}

// Finds in reached_[level] all vertices that the level can have below the near vertices that are bound. Returns the
// ids read, more than `most` where it gave up.
size_t Worker::find_reached(const Node& node, int level, size_t most) {
  const PlanLevel& plan = *info(level).plan;
  std::vector<uint32_t>& found = reached_[static_cast<size_t>(level)];
  found.clear();
  if (info(level).fixed) return most + 1;
  const auto source = [&](int k) -> const PlanSource& { return match_.sources[plan.sources.first + k]; };
  const auto is_near = [&](int other) {
    return std::find(node.near.begin(), node.near.end(), other) != node.near.end();
  };
  const PlanSource* from = nullptr;  // a near one, else the one that reaches least
  for (int k = 0; k < plan.sources.count; ++k) {
    if (is_near(source(k).level)) {
      from = &source(k);
      break;
    }
    const auto size = [&](const PlanSource& each) { return reached_[static_cast<size_t>(each.level)].size(); };
    if (from == nullptr || size(source(k)) < size(*from)) from = &source(k);
  }
  size_t read = 0;
  const auto follow = [&](uint32_t v) {
    for (int k = 0; k < from->lists.count && read <= most; ++k) {
      const Pcsr& list = match_.lists[match_.list_ids[from->lists.first + k]];
      const Slice at = locate(list, v);
      const uint32_t* begin = std::lower_bound(list.neighbours + at.begin, list.neighbours + at.end, info(level).lo);
      const uint32_t* end = std::lower_bound(begin, list.neighbours + at.end, info(level).hi);
      read += static_cast<size_t>(end - begin) + 1;
      if (read <= most) found.insert(found.end(), begin, end);
    }
  };
  if (!is_near(from->level)) {
    for (uint32_t v : reached_[static_cast<size_t>(from->level)]) follow(v);
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return read;
  }
  follow(vertex(from->level));
  for (int k = 0; k < plan.sources.count; ++k) {
    const PlanSource& other = source(k);
    if (&other == from || !is_near(other.level)) continue;
    read += found.size();
    found.erase(std::remove_if(found.begin(), found.end(), [&](uint32_t v) { return !has_edge(other, v); }),
                found.end());
  }
  return read;
}

}  // namespace qe
