// Stops and pauses: every few thousand steps a worker looks at the clock, the stop flag and its memory.
#pragma once
#include <atomic>

#include "base/stop.h"
#include "qe/abi.h"

namespace qe::walks {

// How a piece of work came back: through, out of room or time for now, or stopped with an error.
enum class Progress { kDone, kPaused, kStopped };

// What a worker's memory is asked of.
struct Meter {
  virtual ~Meter() = default;
  virtual int64_t bytes() const = 0;
};

// What the workers of one run share.
struct Shared {
  explicit Shared(const Control* c) : control(c) {}
  const Control* control;
  std::atomic<int64_t> next_row{0};
  std::atomic<int64_t> bytes{0};
  std::atomic<bool> hurry{false};  // a worker's buffer is full: the others hand over what they have
};

class Poll {
 public:
  static constexpr int64_t kInterval = 8192;

  Poll(Shared& shared, const Meter& meter) : shared_(shared), meter_(meter) {}

  void count(int64_t steps) { left_ -= steps; }

  // Counts steps (each about one entry looked at); true when it is time for check().
  bool due(int64_t steps) { return (left_ -= steps) <= 0; }

  // False: the run must stop, `status` says why.
  bool check() {
    steps_ += kInterval - left_;
    left_ = kInterval;
    const Control& control = *shared_.control;
    const int64_t bytes = meter_.bytes();
    const int64_t used = shared_.bytes.fetch_add(bytes - bytes_) + bytes - bytes_;
    bytes_ = bytes;
    status = stopped(&control);
    if (status == kOk && control.memory_limit && used > control.memory_limit) status = kOutOfMemory;
    return status == kOk;
  }

  // Steps since the last resume(), as far as check() has seen them.
  int64_t steps() const { return steps_; }
  bool wants_pause() const { return steps_ >= pause_after_ || shared_.hurry.load(std::memory_order_relaxed); }
  void resume(int64_t pause_after) {
    steps_ = 0;
    pause_after_ = pause_after;
  }

  Status status = kOk;

 private:
  Shared& shared_;
  const Meter& meter_;
  int64_t left_ = kInterval;
  int64_t steps_ = 0;
  int64_t pause_after_ = 0;
  int64_t bytes_ = 0;
};

}  // namespace qe::walks
