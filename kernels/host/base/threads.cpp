// Threads that wait for work: see threads.h. They are never joined, and end with the process.
#include "base/threads.h"

#include <pthread.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace qe {

enum class State { kIdle, kWorking, kDone, kOver };

struct Helper {
  std::mutex mutex;
  std::condition_variable begun, ended;
  std::function<void()> work;
  State state = State::kIdle;
};

namespace {

constexpr size_t kMostIdle = 256;  // more than these end

struct Pool {
  std::mutex mutex;
  std::vector<Helper*> idle;
};

// Windows has no fork, and a macro in the place of pthread_atfork.
[[maybe_unused]] void lock_pool();
[[maybe_unused]] void unlock_pool();
[[maybe_unused]] void forget_threads();

Pool& pool() {
  static Pool& made = *[] {
    pthread_atfork(lock_pool, unlock_pool, forget_threads);
    return new Pool;  // outlives what other threads do while the process ends
  }();
  return made;
}

[[maybe_unused]] void lock_pool() { pool().mutex.lock(); }
[[maybe_unused]] void unlock_pool() { pool().mutex.unlock(); }

// In a forked process there are no threads but the caller's.
[[maybe_unused]] void forget_threads() {
  pool().idle.clear();
  pool().mutex.unlock();
}

void serve(Helper* helper) {
  std::unique_lock<std::mutex> lock(helper->mutex);
  for (;;) {
    helper->begun.wait(lock, [&] { return helper->state == State::kWorking || helper->state == State::kOver; });
    if (helper->state == State::kOver) break;
    lock.unlock();
    helper->work();
    helper->work = nullptr;
    lock.lock();
    helper->state = State::kDone;
    helper->ended.notify_one();
  }
  lock.unlock();
  delete helper;
}

Helper* waiting() {
  Pool& of = pool();
  std::lock_guard<std::mutex> lock(of.mutex);
  if (of.idle.empty()) return nullptr;
  Helper* found = of.idle.back();
  of.idle.pop_back();
  return found;
}

// Returns whether the helper waits for other work.
bool kept(Helper* helper) {
  Pool& of = pool();
  std::lock_guard<std::mutex> lock(of.mutex);
  if (of.idle.size() >= kMostIdle) return false;
  of.idle.push_back(helper);
  return true;
}

}  // namespace

Thread::Thread(std::function<void()> work) : helper_(waiting()) {
  if (!helper_) {
    auto made = std::make_unique<Helper>();
    std::thread(serve, made.get()).detach();
    helper_ = made.release();
  }
  std::lock_guard<std::mutex> lock(helper_->mutex);
  helper_->work = std::move(work);
  helper_->state = State::kWorking;
  helper_->begun.notify_one();
}

void Thread::join() {
  if (!helper_) return;
  {
    std::unique_lock<std::mutex> lock(helper_->mutex);
    helper_->ended.wait(lock, [&] { return helper_->state == State::kDone; });
    helper_->state = State::kIdle;
  }
  if (!kept(helper_)) {
    std::lock_guard<std::mutex> lock(helper_->mutex);
    helper_->state = State::kOver;
    helper_->begun.notify_one();
  }
  helper_ = nullptr;
}

}  // namespace qe
