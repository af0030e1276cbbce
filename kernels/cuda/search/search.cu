// Finds or counts the embeddings of any MatchPlan: depth first, a candidate a lane, a stack a warp.
//
// Problem: as the host's search (search_worker.h): rows of the enumerated levels, with the count of their completions where
//   levels are only counted; or one count for each input row; or one count. Preconditions: the plan and all that it points to
//   are in device memory; lists ascending; `saved` has room for a stack of each warp of the grid.
// Launch: blocks of whole warps, any number; dynamic shared memory warp_bytes a warp. Warps wait for nobody who isn't running.
// Work: tasks of 32 roots, strided (ids are ordered by degree: each task gets a hub at most), or of 32 input rows, dealt by an
//   atomic counter. A warp without work joins a queue, and a busy one gives it half of the candidates of its topmost frame.
// Rows: places are taken from one counter, so there are no holes. Where there is none left each warp saves its stack and
//   leaves; the next launch goes on. Rows come in no fixed order. Counts of 64 bits are checked, the total has 128.
// Source: gMatch §4.
#include "base/stop.cuh"
#include "qe/abi.h"
#include "search/search_stack.cuh"

namespace qe {
namespace {

#ifndef QE_SHARE_EVERY
#define QE_SHARE_EVERY 32
#endif
constexpr uint32_t kShareEvery = QE_SHARE_EVERY;  // steps between two looks at other warps
constexpr uint64_t kGiveLeaves = 64;   // so many candidates of the last level are worth giving away

using Wide = unsigned long long;  // what atomics take

template <typename T>
__device__ T look(const T& at) {
  return *const_cast<const volatile T*>(&at);
}


class Search {
 public:
  __device__ Search(const SearchJob& job, char* shared)
      : job_(job), plan_(*job.plan), state_(*job.state), first_(plan_.seeds), last_(plan_.n_levels - 1),
        stop_(job.stop, &job.state->stop) {
    const int enumerated = max(plan_.enumerated, first_);
    row_depth_ = enumerated - first_;
    summed_ = enumerated == first_;
    counted_ = enumerated < plan_.n_levels;
    exists_ = plan_.mode == kExists;
    n_frames_ = max(1, plan_.n_levels - first_);
    frames_ = reinterpret_cast<Frame*>(shared);
    places_ = reinterpret_cast<uint32_t*>(frames_ + n_frames_);
    plain_leaf_ = counted_ && first_ <= last_ && is_plain(plan_, plan_.levels[last_]);
    if (seeded()) {
      n_tasks_ = (job.rows + kLanes - 1) / kLanes;
    } else {
      root_ = open_level(plan_, plan_.levels[0], nullptr);
      n_tasks_ = (root_.size + kLanes - 1) / kLanes;
    }
  }

  __device__ void run() {
    while (acquire()) {
      while (depth_ >= 0) {
        if (!go_on(steps_)) return;
        if (steps_ % kShareEvery == 0) share();
        Frame& frame = frames_[depth_];
        if (frame.at >= frame.total) {
          --depth_;
        } else if (depth_ < row_depth_ && __any_sync(kAllLanes, look(state_.full))) {  // lanes may see it at different times
          park();
          return;
        } else if (first_ + depth_ == last_) {
          visit_leaves();
        } else {
          descend();
        }
        __syncwarp();
      }
      add_total();
      if (lane_id() == 0) {
        __threadfence();
        atomicSub(&state_.working, 1);
      }
    }
  }

 private:
  __device__ bool seeded() const { return first_ > 0; }
  __device__ bool one_total() const { return summed_ && !seeded(); }

  // ------------------------------------------------------------------ entries

  // Collects the values of the levels that an entry binds; returns the entry of the row depth that it stands below.
  __device__ __noinline__ int gather(int depth, int entry, int64_t* values, int64_t* row) const {
    int anchor = 0;
    for (int d = depth; d > 0; --d) {
      if (d == row_depth_) anchor = entry;
      values[first_ + d - 1] = frames_[d].value[entry];
      entry = frames_[d].parent[entry];
    }
    if (row_depth_ == 0) anchor = entry;
    *row = frames_[0].value[entry];
    for (int s = 0; s < first_; ++s) values[s] = job_.seeds[s][*row];
    return anchor;
  }

  // Binds the next level to the candidate with this number below the frame; false if it is none.
  __device__ __noinline__ bool bind(int depth, uint64_t number, int64_t* values, int* entry, int* anchor, int64_t* row) const {
    const Frame& frame = frames_[depth];
    int low = 0;
    if (depth == 0 && !seeded()) {
      number = number % kLanes * n_tasks_ + number / kLanes;
      if (number >= root_.size) return false;
    } else {
      int high = frame.n - 1;
      while (low < high) {
        const int middle = (low + high) / 2;
        if (frame.end[middle] > number) high = middle;
        else low = middle + 1;
      }
      if (low > 0) number -= frame.end[low - 1];
    }
    *entry = low;
    *anchor = gather(depth, low, values, row);
    if (exists_ && depth >= row_depth_ && !one_total() && look(*place_of(*anchor)) != 0) return false;
    return draw(plan_, first_ + depth, values, frame.pivot[low], frame.begin[low], number);
  }

  // Numbers the candidates of the level below a frame; false if there are none, or none left to look at.
  __device__ __noinline__ bool enter(int depth) {
    Frame& frame = frames_[depth];
    const int lane = lane_id();
    const bool held = lane < frame.n;
    int64_t values[QE_LEVELS], row;
    int anchor = 0;
    Opening opening{0, 0, 0};
    if (held) anchor = gather(depth, lane, values, &row);
    if (first_ + depth > last_) {  // seeds were all
      count(held, anchor, 1);
      return false;
    }
    const PlanLevel& level = plan_.levels[first_ + depth];
    if (held) opening = open_level(plan_, level, values);
    if (plain_leaf_ && first_ + depth == last_) {
      count(held, anchor, held ? count_plain(plan_, level, values, opening) : 0);
      return false;
    }
    const uint64_t end = scan_inclusive(opening.size);
    frame.end[lane] = end;
    frame.begin[lane] = opening.begin;
    frame.pivot[lane] = static_cast<int8_t>(opening.pivot);
    const uint64_t total = __shfl_sync(kAllLanes, end, kLanes - 1);
    if (lane == 0) {
      frame.at = 0;
      frame.total = total;
    }
    __syncwarp();
    return total > 0;
  }

  // ------------------------------------------------------------------ results

  __device__ uint64_t* place_of(int anchor) const {
    return job_.counts + (summed_ ? static_cast<uint64_t>(frames_[0].value[anchor]) : places_[anchor]);
  }

  // Adds the completions that this lane has found below an entry of the row depth.
  __device__ __noinline__ void count(bool found, int anchor, uint64_t n) {
    found = found && n > 0;
    if (exists_) {
      if (one_total()) {
        if (__any_sync(kAllLanes, found) && lane_id() == 0) {
          atomicExch(reinterpret_cast<Wide*>(&state_.total_low), Wide{1});
          atomicExch(&state_.stop, 1);
        }
      } else if (found) {
        atomicExch(reinterpret_cast<Wide*>(place_of(anchor)), Wide{1});
      }
      return;
    }
    if (one_total()) {
      if (found) mine_ += n;
      return;
    }
    const uint32_t who = __ballot_sync(kAllLanes, found);
    if (who == 0) return;
    const int leader = __ffs(who) - 1, common = __shfl_sync(kAllLanes, anchor, leader);
    if (__all_sync(kAllLanes, !found || anchor == common)) {
      n = sum_over(found ? n : 0);
      found = lane_id() == leader;
    }
    if (!found) return;
    const uint64_t before = atomicAdd(reinterpret_cast<Wide*>(place_of(anchor)), Wide{n});
    if (before + n < before) fail(kOverflow);
  }

  __device__ void add_total() {
    if (!one_total() || exists_) return;
    const uint64_t n = sum_over(mine_);
    mine_ = 0;
    if (lane_id() != 0 || n == 0) return;
    const uint64_t before = atomicAdd(reinterpret_cast<Wide*>(&state_.total_low), Wide{n});
    if (before + n < before) atomicAdd(reinterpret_cast<Wide*>(&state_.total_high), Wide{1});
  }

  __device__ void fail(int32_t status) {
    atomicExch(&state_.status, status);
    atomicExch(&state_.stop, 1);
  }

  // Takes places for up to `wanted` rows; returns how many there are, and the first.
  __device__ int take_places(int wanted, uint64_t* first) {
    uint64_t at = 0;
    if (lane_id() == 0) at = atomicAdd(reinterpret_cast<Wide*>(&state_.rows), static_cast<Wide>(wanted));
    *first = at = __shfl_sync(kAllLanes, at, 0);
    const uint64_t left = at < job_.capacity ? job_.capacity - at : 0;
    const int taken = left < static_cast<uint64_t>(wanted) ? static_cast<int>(left) : wanted;
    if (taken < wanted && lane_id() == 0) atomicExch(&state_.full, 1);
    return taken;
  }

  __device__ void write_row(uint64_t place, int64_t row, const int64_t* values) {
    job_.row[place] = row;
    for (int j = first_; j < first_ + row_depth_; ++j) {
      const int32_t column = plan_.levels[j].output;
      if (column >= 0) job_.columns[column * job_.capacity + place] = values[j];
    }
  }

  // ------------------------------------------------------------------ steps

  // 32 candidates of the last level.
  __device__ void visit_leaves() {
    Frame& frame = frames_[depth_];
    const uint64_t number = frame.at + lane_id();
    int64_t values[QE_LEVELS], row;
    int entry, anchor = 0;
    const bool found = number < frame.total && bind(depth_, number, values, &entry, &anchor, &row);
    int done = kLanes;
    if (counted_) {
      count(found, anchor, 1);
    } else if (const uint32_t mask = __ballot_sync(kAllLanes, found)) {
      uint64_t first;
      const int wanted = __popc(mask), taken = take_places(wanted, &first), rank = rank_in(mask);
      if (found && rank < taken) write_row(first + rank, row, values);
      if (taken < wanted) done = nth_lane(mask, taken);
    }
    __syncwarp();
    if (lane_id() == 0) frame.at += done;
    __syncwarp();
  }

  // Binds the next level to up to 32 candidates, and goes down to them.
  __device__ void descend() {
    Frame& frame = frames_[depth_];
    Frame& below = frames_[depth_ + 1];
    const bool rows = counted_ && !summed_ && depth_ + 1 == row_depth_;
    int n = 0;
    bool blocked = false;
    while (n < kLanes && frame.at < frame.total && !blocked) {
      if (!go_on(draws_)) return;
      const uint64_t number = frame.at + lane_id();
      int64_t values[QE_LEVELS], row;
      int entry, anchor;
      const bool found = number < frame.total && bind(depth_, number, values, &entry, &anchor, &row);
      const uint32_t mask = __ballot_sync(kAllLanes, found);
      int taken = min(__popc(mask), kLanes - n);
      uint64_t place = 0;
      if (rows && taken > 0) {
        const int wanted = taken;
        taken = take_places(wanted, &place);
        blocked = taken < wanted;
      }
      const int rank = rank_in(mask);
      if (found && rank < taken) {
        below.value[n + rank] = values[first_ + depth_];
        below.parent[n + rank] = static_cast<uint8_t>(entry);
        if (rows) {
          places_[n + rank] = static_cast<uint32_t>(place + rank);
          write_row(place + rank, row, values);
        }
      }
      const int done = taken < __popc(mask) ? nth_lane(mask, taken) : kLanes;
      n += taken;
      __syncwarp();
      if (lane_id() == 0) frame.at += done;
      __syncwarp();
    }
    if (n == 0) return;
    if (lane_id() == 0) below.n = n;
    __syncwarp();
    if (enter(depth_ + 1)) ++depth_;
  }

  // ------------------------------------------------------------------ sharing work

  // Called once a step of a loop, which `steps` counts. False: the warp must leave all of its loops; it stays so.
  __device__ bool go_on(uint32_t& steps) {
    if (++steps % kLookEvery == 0) stop_.warp();
    return !stop_.stopped();
  }

  // Hands on what was counted, now and then, and gives work to a warp that has none.
  __device__ void share() {
    if (steps_ % (32 * kShareEvery) == 0) add_total();
    bool give = false;
    if (lane_id() == 0) give = static_cast<int32_t>(look(state_.waiting) - look(state_.served)) > 0;
    if (__shfl_sync(kAllLanes, give, 0)) give_away();
  }

  // Whether entries of this depth stand below rows with places.
  __device__ bool has_places(int depth) const { return counted_ && !summed_ && depth >= row_depth_; }

  __device__ Donation& donation(int warp) const { return reinterpret_cast<Donation*>(job_.donations)[warp]; }

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

  __device__ __noinline__ void give_away() {
    int depth = 0;
    uint64_t left = 0;
    for (; depth <= depth_; ++depth) {
      left = frames_[depth].total - frames_[depth].at;
      if (left > 1 && left < ~uint64_t{0} / 2 && (first_ + depth != last_ || left >= kGiveLeaves)) break;
    }
    if (depth > depth_) return;
    const int lane = lane_id();
    int receiver = -1;
    if (lane == 0) receiver = next_waiting();
    receiver = __shfl_sync(kAllLanes, receiver, 0);
    if (receiver < 0) return;
    Donation& to = donation(receiver);
    Frame& frame = frames_[depth];
    if (lane < frame.n) {
      int entry = lane;
      for (int d = depth; d >= 0; --d) {
        if (d == row_depth_ && has_places(depth)) to.place[lane] = places_[entry];
        to.value[d][lane] = frames_[d].value[entry];
        entry = d > 0 ? frames_[d].parent[entry] : 0;
      }
    }
    const uint64_t kept = frame.total - left / 2;
    if (lane == 0) {
      to.depth = depth;
      to.n = frame.n;
      to.at = kept;
      to.total = frame.total;
    }
    __threadfence();
    __syncwarp();
    if (lane == 0) {
      frame.total = kept;
      atomicAdd(&state_.working, 1);  // for the receiver
      __threadfence();
      atomicExch(&to.filled, 1);
    }
    __syncwarp();
  }

  // Goes on with what another warp has put into this one's donation.
  __device__ __noinline__ void receive() {
    Donation& from = donation(warp_number());
    const int lane = lane_id();
    __threadfence();
    const int depth = look(from.depth), n = look(from.n);
    const uint64_t at = look(from.at), total = look(from.total);
    for (int d = 0; d <= depth; ++d) {
      Frame& frame = frames_[d];
      frame.value[lane] = lane < n ? look(from.value[d][lane]) : 0;
      frame.parent[lane] = static_cast<uint8_t>(lane);
      if (d == row_depth_ && has_places(depth) && lane < n) places_[lane] = look(from.place[lane]);
      if (lane == 0) {
        frame.n = n;
        frame.at = frame.total = 0;
      }
    }
    __threadfence();
    __syncwarp();
    if (lane == 0) atomicExch(&from.filled, 0);
    if (depth == 0 && !seeded()) open_roots();
    else enter(depth);
    __syncwarp();
    if (lane == 0) {
      frames_[depth].at = at;
      frames_[depth].total = total;
    }
    depth_ = depth;
    __syncwarp();
  }

  __device__ void open_roots() {
    if (lane_id() == 0) {
      Frame& frame = frames_[0];
      frame.n = 1;
      frame.value[0] = 0;
      frame.begin[0] = root_.begin;
      frame.pivot[0] = static_cast<int8_t>(root_.pivot);
    }
    __syncwarp();
  }

  // ------------------------------------------------------------------ finding work

  enum Work : int { kNothing, kEnd, kSavedStack, kTask, kGift };

  // Gets the warp something to do; false if there is nothing left.
  __device__ bool acquire() {
    for (;;) {
      int work = kNothing;
      uint64_t index = 0;
      if (lane_id() == 0) work = stop_.thread() ? kEnd : choose(&index);
      work = __shfl_sync(kAllLanes, work, 0);
      index = __shfl_sync(kAllLanes, index, 0);
      if (work == kEnd) return false;
      if (work == kNothing) return wait_for_gift();
      if (work == kSavedStack) return restore(index);
      if (begin(index)) return true;
      if (lane_id() == 0) {
        __threadfence();
        atomicSub(&state_.working, 1);
      }
    }
  }

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

  // Joins the queue, and waits until a busy warp gives it something or none is busy any more: then false.
  __device__ bool wait_for_gift() {
    Donation& mine = donation(warp_number());
    if (lane_id() == 0) {
      const uint32_t place = atomicAdd(&state_.waiting, 1u);
      while (atomicCAS(&job_.queue[place % queue_size()], 0, warp_number() + 1) != 0) {  // the one before isn't served yet
      }
    }
    for (uint32_t round = 0;; ++round) {
      int work = kNothing;
      if (lane_id() == 0) {
        if (look(mine.filled)) work = kGift;
        else if (round % 8 == 0 && (stop_.thread() || look(state_.working) == 0)) work = kEnd;
      }
      work = __shfl_sync(kAllLanes, work, 0);
      if (work == kEnd) return false;
      if (work == kGift) {
        receive();
        return true;
      }
      __nanosleep(1000);
    }
  }

  // Begins a task; false if there is nothing in it.
  __device__ bool begin(uint64_t task) {
    depth_ = 0;
    Frame& frame = frames_[0];
    const int lane = lane_id();
    if (!seeded()) {
      open_roots();
      if (lane == 0) {
        frame.at = task * kLanes;
        frame.total = (task + 1) * kLanes;
      }
      __syncwarp();
      return true;
    }
    const uint64_t row = task * kLanes + lane;
    int64_t values[QE_LEVELS];
    bool admitted = row < job_.rows;
    for (int s = 0; s < first_ && admitted; ++s) admitted = admits_seed(plan_, s, values, job_.seeds[s][row]);
    const uint32_t mask = __ballot_sync(kAllLanes, admitted);
    if (admitted) frame.value[rank_in(mask)] = static_cast<int64_t>(row);
    if (lane == 0) frame.n = __popc(mask);
    __syncwarp();
    return mask != 0 && enter(0);
  }

  // ------------------------------------------------------------------ saving the stack

  __device__ size_t stack_bytes(int frames) const { return sizeof(SavedStack) + sizeof(Frame) * (frames - 1); }

  __device__ void park() {
    int k = 0;
    if (lane_id() == 0) k = atomicAdd(&state_.saved, 1);
    k = __shfl_sync(kAllLanes, k, 0);
    auto* to = reinterpret_cast<SavedStack*>(job_.saved + stack_bytes(n_frames_) * k);
    if (lane_id() == 0) to->depth = depth_;
    const auto* from = reinterpret_cast<const uint64_t*>(frames_);
    auto* words = reinterpret_cast<uint64_t*>(to->frames);
    for (size_t i = lane_id(); i < sizeof(Frame) / 8 * (depth_ + 1); i += kLanes) words[i] = from[i];
    __threadfence();
    __syncwarp();
    if (lane_id() == 0) atomicSub(&state_.working, 1);
  }

  __device__ bool restore(uint64_t k) {
    const auto* from = reinterpret_cast<const SavedStack*>(job_.saved_before + stack_bytes(n_frames_) * k);
    depth_ = from->depth;
    const auto* words = reinterpret_cast<const uint64_t*>(from->frames);
    auto* to = reinterpret_cast<uint64_t*>(frames_);
    for (size_t i = lane_id(); i < sizeof(Frame) / 8 * (depth_ + 1); i += kLanes) to[i] = words[i];
    __syncwarp();
    return true;
  }

  const SearchJob& job_;
  const MatchPlan& plan_;
  SearchState& state_;
  const int first_, last_;   // the first level to search, the last
  int row_depth_;            // of the frame that binds the last enumerated level
  int n_frames_;
  bool summed_;              // nothing is enumerated: one count, or one for each input row
  bool counted_;             // the levels after the row depth are only counted
  bool exists_, plain_leaf_;
  Frame* frames_;
  uint32_t* places_;         // of the rows that the entries of the row depth make
  Opening root_{0, 0, 0};
  uint64_t n_tasks_;
  int depth_ = -1;
  uint64_t mine_ = 0;        // counted by this lane since the last add_total
  uint32_t steps_ = 0, draws_ = 0;
  SharedStop stop_;
};

}  // namespace
}  // namespace qe

extern "C" __global__ void __launch_bounds__(128) search(const qe::SearchJob* job, uint32_t warp_bytes) {
  extern __shared__ __align__(16) char shared[];
  qe::Search(*job, shared + size_t{warp_bytes} * (threadIdx.x / qe::kLanes)).run();
}
