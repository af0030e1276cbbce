// Runs one function on several threads and turns what they throw into a status.
#pragma once
#include <atomic>
#include <new>
#include <vector>

#include "base/threads.h"
#include "qe/abi.h"

namespace qe {

// Calls work(worker) for worker = 0..threads-1, worker 0 on the calling thread; returns when all have ended.
template <class Work>
Status run_workers(int threads, Work&& work) {
  std::atomic<int32_t> status{kOk};
  auto guarded = [&](int worker) {
    try {
      work(worker);
    } catch (const std::bad_alloc&) {
      status = kOutOfMemory;
    } catch (...) {
      status = kInvalid;
    }
  };
  std::vector<Thread> others;
  try {
    others.reserve(threads > 1 ? threads - 1 : 0);
    for (int worker = 1; worker < threads; ++worker) others.emplace_back([&guarded, worker] { guarded(worker); });
  } catch (...) {  // no more threads to be had: the shares that have none are done here
    const int started = static_cast<int>(others.size());
    for (int worker = started + 1; worker < threads; ++worker) guarded(worker);
  }
  guarded(0);
  for (Thread& other : others) other.join();
  return static_cast<Status>(status.load());
}

// Splits [0, n) into `parts` runs of nearly equal length; returns where run `part` begins.
inline uint64_t share(uint64_t n, int part, int parts) {
  return n / parts * part + (n % parts) * part / parts;
}

}  // namespace qe
