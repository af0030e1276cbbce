// The plain C interface's common parts: export macro, status codes, the control block.
// Every exported function returns a Status and never throws; Python raises the matching error.
#pragma once
#include "qe/portable.h"

#define QE_API extern "C" __attribute__((visibility("default")))

namespace qe {

enum Status : int32_t {
  kOk = 0,
  kInterrupted = 1,   // Control::stop became 1 (interrupt() or Ctrl-C)
  kTimeout = 2,       // the deadline passed
  kOutOfMemory = 3,   // an allocation failed or the budget would be exceeded
  kOverflow = 4,      // a 64-bit count would wrap
  kInvalid = 5,       // malformed arguments: a defect of the caller
};

// Shared by Python and the kernels while an operator runs. Python writes `stop`, kernels poll it (host/base/stop.h).
// `deadline_ns` is CLOCK_MONOTONIC in nanoseconds, 0 for none.
struct Control {
  mutable int32_t stop;
  int32_t threads;       // worker threads to use, >= 1
  int64_t deadline_ns;
  int64_t memory_limit;  // bytes the call may allocate, 0 for no limit
  int64_t memory_used;   // bytes in use, written by kernels
  mutable int64_t looks;  // how often kernels have looked whether to stop
  int64_t stop_at;        // the look that sets `stop`, 0 for none: tests stop a run at a given place
};

}  // namespace qe
