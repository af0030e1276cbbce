// Threads for work that may be short: where one ends it stays, and begins what comes next.
#pragma once
#include <functional>
#include <utility>

namespace qe {

struct Helper;

// As std::thread, but made of one that waits for work where there is any. Work must not throw.
class Thread {
 public:
  // Throws std::system_error where the machine has no more threads, std::bad_alloc.
  explicit Thread(std::function<void()> work);
  Thread(Thread&& other) noexcept : helper_(std::exchange(other.helper_, nullptr)) {}
  Thread& operator=(Thread&&) = delete;
  ~Thread() { join(); }

  // Waits until the work is done; does nothing the second time.
  void join();

 private:
  Helper* helper_;
};

}  // namespace qe
