// Runs what recurses as deep as a pattern is large on a stack of its own: that of the caller may be small.
// Patterns of up to kShallow levels fit any.
#pragma once
#include <pthread.h>

#include <cstddef>
#include <exception>
#include <new>

namespace qe {

constexpr int kShallow = 64;
constexpr std::size_t kDeepStack = std::size_t{32} << 20;  // bytes; 1,024 levels have been seen to take 4 MiB

// Calls run() and waits for it; throws what it throws, std::bad_alloc where there is no room for the stack.
template <class Run>
void run_deep(Run&& run) {
  struct Call {
    Run& run;
    std::exception_ptr error;
  } call{run, nullptr};
  const auto start = [](void* given) -> void* {
    Call& call = *static_cast<Call*>(given);
    try {
      call.run();
    } catch (...) {
      call.error = std::current_exception();
    }
    return nullptr;
  };
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) throw std::bad_alloc();
  pthread_t thread;
  const bool started = pthread_attr_setstacksize(&attributes, kDeepStack) == 0 &&
                       pthread_create(&thread, &attributes, start, &call) == 0;
  pthread_attr_destroy(&attributes);
  if (!started) throw std::bad_alloc();
  pthread_join(thread, nullptr);
  if (call.error) std::rethrow_exception(call.error);
}

// Calls run() where a pattern of so many levels has room for its recursion.
template <class Run>
void run_levels(int n_levels, Run&& run) {
  if (n_levels <= kShallow) run();
  else run_deep(run);
}

}  // namespace qe
