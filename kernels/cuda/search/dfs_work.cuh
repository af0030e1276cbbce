// Where a warp of the depth-first search gets its work: tasks, stacks that were saved, and gifts of other warps.
//
// Tasks are a few roots each, or a part of what lies below a hub; they are dealt by an atomic counter. A warp without work joins
// a queue, and a busy one gives it half of what is left of the topmost pool of its spine, with the stack above: the pool's
// numbers are divided, so each candidate is still drawn once, by one of the two. Where rows are made above that pool both have
// the row, and each makes it with its part of the count. Warps wait for nobody who isn't running.
// Where there is no place for another row each warp saves its stack and leaves; the next launch goes on.
// Source: gMatch §4.3.
#pragma once
#include "base/stop.cuh"
#include "search/dfs_levels.cuh"

#ifndef QE_SHARE_EVERY
#define QE_SHARE_EVERY 32
#endif

namespace qe {

constexpr uint32_t kShareEvery = QE_SHARE_EVERY;  // steps between two looks at other warps
constexpr uint64_t kGiveLast = 64;  // candidates of the last branch of the spine that are worth giving away

using Wide = unsigned long long;  // what atomics take

template <typename T>
__device__ T look(const T& at) {
  return *const_cast<const volatile T*>(&at);
}

class DfsWork : protected DfsLevels {
 protected:
  __device__ DfsWork(const DfsJob& job, char* stack)
      : DfsLevels(job, stack), state_(*job.state), stop_(job.stop, &job.state->stop) {
    hub_tasks_ = uint64_t{job.hubs} * job.parts;
    n_tasks_ = hub_tasks_ + (job.n_roots - job.hubs + job.batch - 1) / job.batch;
  }

  // Called once a step, whichever loop it is in. False: the warp must leave all of its loops; it stays so.
  __device__ bool go_on() {
    if (++steps_ % kLookEvery == 0) stop_.warp();
    return !stop_.stopped();
  }

  // Gets the warp something to do; false if there is nothing left.
  __device__ bool acquire() {
    Work work = kNothing;
    uint64_t index = 0;
    if (lane_id() == 0) work = stop_.thread() ? kEnd : choose(&index);
    work = static_cast<Work>(__shfl_sync(kAllLanes, static_cast<int>(work), 0));
    index = __shfl_sync(kAllLanes, index, 0);
    if (work == kEnd) return false;
    if (work == kNothing) return wait_for_gift();
    if (work == kSavedStack) take(*stack_at(job_.saved_before, index));
    else begin(index);
    return true;
  }

  // All that the warp had is done.
  __device__ void release() {
    if (lane_id() != 0) return;
    __threadfence();
    atomicSub(&state_.working, 1);
  }

  // Gives work to a warp that has none, now and then.
  __device__ void share() {
    bool give = false;
    if (lane_id() == 0) give = static_cast<int32_t>(look(state_.waiting) - look(state_.served)) > 0;
    if (__shfl_sync(kAllLanes, give, 0)) give_away();
  }

  // Saves the stack for the next launch.
  __device__ void park() {
    int k = 0;
    if (lane_id() == 0) k = atomicAdd(&state_.saved, 1);
    k = __shfl_sync(kAllLanes, k, 0);
    put(*stack_at(job_.saved, static_cast<uint64_t>(k)), depth_);
    __syncwarp();
    release();
  }

  DfsState& state_;
  SharedStop stop_;
  int depth_ = -1;
  uint32_t part_, parts_;  // of the candidates of the spine's second branch: which part, of how many
  uint32_t steps_ = 0;

 private:
  enum Work : int { kNothing, kEnd, kSavedStack, kTask };

  // What is left to be dealt: nothing any more once it has been nothing. Saved stacks come first, also where there is no place
  // for rows: there are at most as many as warps, so each is gone on with or saved again.
  __device__ Work choose(uint64_t* index) {  // lane 0
    const bool saved = look(state_.next_saved) < job_.n_saved_before;
    const bool tasks = !look(state_.full) && look(state_.next_task) < n_tasks_;
    if (!saved && !tasks) return kNothing;
    atomicAdd(&state_.working, 1);
    __threadfence();
    if (saved) {
      const int k = atomicAdd(&state_.next_saved, 1);
      *index = static_cast<uint64_t>(k);
      if (k < job_.n_saved_before) return kSavedStack;
    }
    if (tasks) {
      *index = atomicAdd(reinterpret_cast<Wide*>(&state_.next_task), Wide{1});
      if (*index < n_tasks_) return kTask;
    }
    __threadfence();
    atomicSub(&state_.working, 1);
    return kNothing;
  }

  __device__ void begin(uint64_t task) {
    uint64_t root, n = 1;
    part_ = 0;
    parts_ = 1;
    if (task < hub_tasks_) {
      root = task / job_.parts;
      part_ = static_cast<uint32_t>(task % job_.parts);
      parts_ = job_.parts;
    } else {
      root = job_.hubs + (task - hub_tasks_) * job_.batch;
      n = min(static_cast<uint64_t>(job_.batch), job_.n_roots - root);
    }
    DfsBranch& branch = branches_[0];
    branch.end[lane_id()] = ~Ordinal{0};
    branch.pivot[lane_id()] = static_cast<int8_t>(plan_.pivot);
    branch.begin[lane_id()] = plan_.first;
    if (lane_id() == 0) {
      branch.first = static_cast<Ordinal>(root);
      branch.step = 1;
      branch.at = 0;
      branch.count = static_cast<Ordinal>(n);
      branch.node = 0;
      branch.child = kDraw;
    }
    depth_ = 0;
    __syncwarp();
  }

  // ------------------------------------------------------------------ stacks elsewhere

  __device__ DfsStack* stack_at(const char* stacks, uint64_t k) const {
    const size_t each = sizeof(DfsStack) + sizeof(DfsBranch) * (plan_.spine - 1);
    return reinterpret_cast<DfsStack*>(const_cast<char*>(stacks) + each * k);
  }

  // Writes the branches down to a depth.
  __device__ void put(DfsStack& to, int depth) const {
    const auto* from = reinterpret_cast<const uint64_t*>(branches_);
    auto* words = reinterpret_cast<uint64_t*>(to.branches);
    for (size_t i = lane_id(); i < sizeof(DfsBranch) / 8 * (depth + 1); i += kLanes) words[i] = from[i];
    if (lane_id() == 0) {
      to.depth = depth;
      to.part = part_;
      to.parts = parts_;
    }
    __threadfence();
  }

  // Reads them again, past caches that may hold what was there before.
  __device__ void take(const DfsStack& from) {
    depth_ = look(from.depth);
    part_ = look(from.part);
    parts_ = look(from.parts);
    const auto* words = reinterpret_cast<const uint64_t*>(from.branches);
    auto* to = reinterpret_cast<uint64_t*>(branches_);
    for (size_t i = lane_id(); i < sizeof(DfsBranch) / 8 * (depth_ + 1); i += kLanes) to[i] = look(words[i]);
    __syncwarp();
  }

  // ------------------------------------------------------------------ gifts

  __device__ static int warp_number() {
    return static_cast<int>(blockIdx.x * (blockDim.x / kLanes) + threadIdx.x / kLanes);
  }

  __device__ static uint32_t queue_size() { return gridDim.x * (blockDim.x / kLanes); }

  // The number of a warp that waits for work, taken out of the queue; -1 if there is none, or others are faster.
  __device__ int next_waiting() {  // lane 0
    const uint32_t place = look(state_.served);
    if (static_cast<int32_t>(look(state_.waiting) - place) <= 0) return -1;
    if (atomicCAS(&state_.served, place, place + 1) != place) return -1;
    int32_t& entry = job_.queue[place % queue_size()];
    while (look(entry) == 0) {  // it has joined, and is just writing its number
    }
    return atomicExch(&entry, 0) - 1;
  }

  __device__ void give_away() {
    const int last = plan_.spine - 1;
    int depth = 0;
    Ordinal left = 0;
    for (bool found = false; !found; ++depth) {
      if (depth > min(depth_, last) || !plan_.nodes[branches_[depth].node].spine) return;
      const DfsBranch& branch = branches_[depth];
      left = branch.at < branch.count ? branch.count - branch.at : 0;
      found = left > (depth == last ? kGiveLast : 1);
    }
    --depth;
    int receiver = -1;
    if (lane_id() == 0) receiver = next_waiting();
    receiver = __shfl_sync(kAllLanes, receiver, 0);
    if (receiver < 0) return;
    DfsStack& to = *stack_at(job_.gifts, static_cast<uint64_t>(receiver));
    DfsBranch& branch = branches_[depth];
    const Ordinal count = branch.count, kept = count - left / 2;
    put(to, depth);
    __syncwarp();
    if (lane_id() == 0) {
      to.at = kept;
      to.count = count;
      branch.count = kept;
      atomicAdd(&state_.working, 1);  // for the receiver
      __threadfence();
      atomicExch(&to.filled, 1);
    }
    __syncwarp();
  }

  // Goes on with what another warp has given to this one: of the branches above the last nothing is left to be drawn.
  __device__ void receive() {
    DfsStack& from = *stack_at(job_.gifts, static_cast<uint64_t>(warp_number()));
    __threadfence();
    take(from);
    if (plan_.row_depth >= 0 && plan_.row_depth < depth_) branches_[plan_.row_depth].sum[lane_id()] = 0;
    for (int d = lane_id(); d < depth_; d += kLanes) branches_[d].at = branches_[d].count = 0;
    if (lane_id() == 0) {
      DfsBranch& branch = branches_[depth_];
      branch.at = static_cast<Ordinal>(look(from.at));
      branch.count = static_cast<Ordinal>(look(from.count));
      branch.child = kDraw;
      __threadfence();
      atomicExch(&from.filled, 0);
    }
    __syncwarp();
  }

  // Joins the queue, and waits until a busy warp gives it something or none is busy any more: then false.
  __device__ bool wait_for_gift() {
    DfsStack& mine = *stack_at(job_.gifts, static_cast<uint64_t>(warp_number()));
    if (lane_id() == 0) {
      const uint32_t place = atomicAdd(&state_.waiting, 1u);
      while (atomicCAS(&job_.queue[place % queue_size()], 0, warp_number() + 1) != 0) {  // the one before isn't served yet
      }
    }
    for (uint32_t round = 0;; ++round) {
      int work = 0;  // 1: a gift, 2: the end
      if (lane_id() == 0) {
        if (look(mine.filled)) work = 1;
        else if (round % 8 == 0 && (stop_.thread() || look(state_.working) == 0)) work = 2;
      }
      work = __shfl_sync(kAllLanes, work, 0);
      if (work == 2) return false;
      if (work == 1) {
        receive();
        return true;
      }
      __nanosleep(1000);
    }
  }

  uint64_t hub_tasks_, n_tasks_;
};

}  // namespace qe
