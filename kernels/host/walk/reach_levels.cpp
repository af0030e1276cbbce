// Pushes and pulls the levels of qe/reach.h.
//
// A vertex has a cell: the lanes that have seen it, and those that come to it next. Pushing, workers or the lanes of a
// frontier's vertex into its neighbours' cells; pulling, a vertex that lanes have not seen gathers those that stand on
// its neighbours, until it has them all. What has been touched is settled afterwards: it is the next frontier.
#include "walk/reach_levels.h"

#include <atomic>

#include "base/workers.h"
#include "qe/reach.h"

namespace qe::walks {
namespace {

constexpr uint64_t kAlone = 1 << 16;       // entries that one worker reads before others are worth their start
constexpr uint64_t kPullsAPush = 3;        // entries that are pulled while one is pushed
constexpr uint64_t kScannedAPull = 8;      // cells that are looked over while an entry is pulled
constexpr uint64_t kLook = 1 << 14;        // entries between two looks
constexpr uint64_t kPushed = 64;           // vertices dealt at once
constexpr uint64_t kPulled = 1024;
constexpr uint64_t kAhead = 12;            // entries that are fetched ahead
constexpr uint64_t kFew = 32;              // one in so many vertices is zeroed by itself; of more, all are new

uint64_t all_of(int32_t lanes) { return lanes == kLanes ? ~uint64_t{0} : (uint64_t{1} << lanes) - 1; }

bool allows(const WalkLayer& layer, uint32_t v, uint32_t w, uint64_t position) {
  return !layer.allowed || bit(layer.allowed, static_cast<uint64_t>(relationship_id(layer, v, w, position) - layer.base));
}

}  // namespace

// A level that workers make together.
struct ReachLevels::Expansion {
  std::atomic<uint64_t> next{0};
  std::atomic<int32_t> status{kOk};

  // Deals [0, n) in parts of `size` and calls work(i), which returns the entries read; false: it must stop.
  template <class Work>
  void deal(uint64_t n, uint64_t size, const Control* control, Work&& work) {
    uint64_t steps = 0;
    while (true) {
      const uint64_t begin = next.fetch_add(size, std::memory_order_relaxed);
      if (begin >= n) return;
      for (uint64_t i = begin; i < std::min(begin + size, n); ++i) {
        steps += 1 + work(i);
        if (steps < kLook) continue;
        steps = 0;
        const Status now = stopped(control);
        if (now != kOk) status = now;
        if (status.load(std::memory_order_relaxed) != kOk) return;
      }
    }
  }
};

ReachLevels::ReachLevels(const ReachPlan& plan, Control* control)
    : plan_(plan), control_(control), charge_(control), fresh_(control->threads), shares_(control->threads) {
  charge_.add(static_cast<size_t>(plan.vertex_count) * (sizeof(Cell) + 2 * sizeof(uint64_t)));
  allocate();
}

void ReachLevels::allocate() {
  cells_.reset();  // before the new ones are there, which are charged once
  now_.reset();
  after_.reset();
  cells_ = zeroed<Cell>(plan_.vertex_count);
  now_ = zeroed<uint64_t>(plan_.vertex_count);
  after_ = zeroed<uint64_t>(plan_.vertex_count);
}

void ReachLevels::clear() {
  if (many_) {
    allocate();
  } else {
    for (const uint32_t v : visited_) {
      cells_[v] = {};
      now_[v] = after_[v] = 0;
    }
  }
  many_ = false;
  visited_.clear();
  for (auto& list : fresh_) list.clear();
  push_cost_ = pull_cost_ = size_ = 0;
  depth_ = 0;
}

void ReachLevels::remember(const std::vector<uint32_t>& vertices) {
  many_ = many_ || visited_.size() + vertices.size() > static_cast<uint64_t>(plan_.vertex_count) / kFew;
  if (!many_) visited_.insert(visited_.end(), vertices.begin(), vertices.end());
}

void ReachLevels::start(const int64_t* offsets, const int64_t* starts, int32_t lanes, bool seen) {
  lanes_ = all_of(lanes);
  pull_cost_ = 0;
  for (int32_t i = 0; i < plan_.n_layers; ++i) pull_cost_ += plan_.backward[i].lists.n_entries;
  for (int32_t lane = 0; lane < lanes; ++lane) {
    for (int64_t i = offsets[lane]; i < offsets[lane + 1]; ++i) {
      const auto v = static_cast<uint32_t>(starts[i]);
      if (!now_[v]) {
        fresh_[0].push_back(v);
        push_cost_ += entries(plan_.forward, v);
      }
      now_[v] |= uint64_t{1} << lane;
      if (seen) cells_[v].seen |= uint64_t{1} << lane;
    }
  }
  size_ = fresh_[0].size();
  remember(fresh_[0]);
}

uint64_t ReachLevels::entries(const WalkLayer* layers, uint32_t v) const {
  uint64_t sum = 0;
  for (int32_t i = 0; i < plan_.n_layers; ++i) {
    const Slice slice = locate(layers[i].lists, v);
    sum += slice.end - slice.begin;
  }
  return sum;
}

uint64_t ReachLevels::pull_cost() const {
  return pull_cost_ + static_cast<uint64_t>(plan_.vertex_count) / kScannedAPull;
}

Status ReachLevels::step() {
  const bool pulls = push_cost_ * kPullsAPush > pull_cost();
  const int workers = cost() < kAlone ? 1 : control_->threads;
  const Status expanded = expand(pulls, workers);
  if (expanded != kOk) return expanded;
  const Status settled = run_workers(workers, [&](int worker) {
    for (size_t i = worker; i < fresh_.size(); i += workers) {
      for (const uint32_t v : fresh_[i]) now_[v] = 0;
    }
    settle(shares_[worker]);
  });
  if (settled != kOk) return settled;
  take_over(workers);
  return stopped(control_);
}

Status ReachLevels::expand(bool pulls, int workers) {
  Expansion expansion;
  const uint64_t* through = depth_ > 0 ? plan_.through_bits : nullptr;
  std::vector<uint64_t> before(fresh_.size() + 1);
  for (size_t i = 0; i < fresh_.size(); ++i) before[i + 1] = before[i] + fresh_[i].size();
  const Status status = run_workers(workers, [&](int worker) {
    std::vector<uint32_t>& touched = shares_[worker].touched;
    if (pulls) {
      const auto work = [&](uint64_t v) { return pull(static_cast<uint32_t>(v), touched, through); };
      expansion.deal(static_cast<uint64_t>(plan_.vertex_count), kPulled, control_, work);
      return;
    }
    size_t list = 0;
    expansion.deal(size_, kPushed, control_, [&](uint64_t i) {
      while (i >= before[list + 1]) ++list;
      const uint32_t v = fresh_[list][i - before[list]];
      return !through || bit(through, v) ? push(v, touched, workers == 1) : 0;
    });
  });
  return status != kOk ? status : static_cast<Status>(expansion.status.load());
}

// Both return how many entries they have read.
uint64_t ReachLevels::push(uint32_t v, std::vector<uint32_t>& touched, bool alone) {
  const uint64_t lanes = now_[v];
  uint64_t steps = 0;
  for (int32_t i = 0; i < plan_.n_layers; ++i) {
    const WalkLayer& layer = plan_.forward[i];
    const Slice slice = locate(layer.lists, v);
    for (uint64_t at = slice.begin; at < slice.end; ++at) {
      if (at + kAhead < slice.end) __builtin_prefetch(&cells_[layer.lists.neighbours[at + kAhead]], 1);
      const uint32_t w = layer.lists.neighbours[at];
      Cell& cell = cells_[w];
      const uint64_t come = lanes & ~(cell.seen | __atomic_load_n(&cell.next, __ATOMIC_RELAXED));
      if (!come || !allows(layer, v, w, at)) continue;
      uint64_t had = cell.next;
      if (alone) {
        cell.next |= come;
      } else {
        had = __atomic_fetch_or(&cell.next, come, __ATOMIC_RELAXED);
      }
      if (!had) touched.push_back(w);
    }
    steps += slice.end - slice.begin;
  }
  return steps;
}

uint64_t ReachLevels::pull(uint32_t v, std::vector<uint32_t>& touched, const uint64_t* through) {
  const uint64_t missing = lanes_ & ~cells_[v].seen;
  uint64_t steps = 0, come = 0;
  for (int32_t i = 0; i < plan_.n_layers && come != missing; ++i) {
    const WalkLayer& layer = plan_.backward[i];
    const Slice slice = locate(layer.lists, v);
    uint64_t at = slice.begin;
    for (; at < slice.end && come != missing; ++at) {
      const uint32_t u = layer.lists.neighbours[at];
      const uint64_t more = now_[u] & missing & ~come;
      if (more && (!through || bit(through, u)) && allows(layer, v, u, at)) come |= more;
    }
    steps += at - slice.begin;
  }
  if (come) {
    cells_[v].next = come;
    touched.push_back(v);
  }
  return steps;
}

// Makes what a worker has touched its part of the frontier.
void ReachLevels::settle(Share& share) {
  share.push_cost = share.complete_cost = 0;
  for (const uint32_t v : share.touched) {
    Cell& cell = cells_[v];
    after_[v] = cell.next;
    cell.seen |= cell.next;
    cell.next = 0;
    share.push_cost += entries(plan_.forward, v);
    if (cell.seen == lanes_) share.complete_cost += entries(plan_.backward, v);
  }
}

void ReachLevels::take_over(int workers) {
  std::swap(now_, after_);
  push_cost_ = size_ = 0;
  for (size_t i = 0; i < fresh_.size(); ++i) {
    fresh_[i].clear();
    if (i >= static_cast<size_t>(workers)) continue;
    fresh_[i].swap(shares_[i].touched);
    push_cost_ += shares_[i].push_cost;
    pull_cost_ -= shares_[i].complete_cost;
    size_ += fresh_[i].size();
    remember(fresh_[i]);
  }
  ++depth_;
  size_t bytes = 4 * visited_.capacity();
  for (size_t i = 0; i < fresh_.size(); ++i) bytes += 4 * (fresh_[i].capacity() + shares_[i].touched.capacity());
  if (bytes > queue_bytes_) {
    charge_.add(bytes - queue_bytes_);
    queue_bytes_ = bytes;
  }
}

}  // namespace qe::walks
