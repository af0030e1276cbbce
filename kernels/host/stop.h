// Whether what runs must stop.
#pragma once
#include <ctime>

#include "qe/abi.h"

namespace qe {

inline Status stopped(const Control* control) {
  if (__atomic_load_n(&control->stop, __ATOMIC_RELAXED)) return kInterrupted;
  if (control->deadline_ns == 0) return kOk;
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  const int64_t now = static_cast<int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
  return now >= control->deadline_ns ? kTimeout : kOk;
}

}  // namespace qe
