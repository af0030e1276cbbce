// Whether what runs must stop.
#pragma once
#include <ctime>

#include "qe/abi.h"

namespace qe {

// CLOCK_MONOTONIC in nanoseconds.
inline int64_t now_ns() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

// Looks at the stop flag alone.
inline bool interrupted(const Control* control) {
  if (__atomic_add_fetch(&control->looks, 1, __ATOMIC_RELAXED) == control->stop_at)
    __atomic_store_n(&control->stop, 1, __ATOMIC_RELAXED);
  return __atomic_load_n(&control->stop, __ATOMIC_RELAXED) != 0;
}

// Looks at the stop flag and the clock.
inline Status stopped(const Control* control) {
  if (interrupted(control)) return kInterrupted;
  return control->deadline_ns != 0 && now_ns() >= control->deadline_ns ? kTimeout : kOk;
}

}  // namespace qe
