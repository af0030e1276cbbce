// Memory of a search: growing buffers charged to the execution's budget, and the way a search ends early.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "qe/abi.h"

namespace qe {

// Thrown through the recursion of one worker; never leaves the library.
struct Halt {
  Status status;
};

// Bytes charged to Control::memory_used, given back on destruction.
class Charge {
 public:
  explicit Charge(Control* control) : control_(control) {}
  Charge(const Charge&) = delete;
  Charge& operator=(const Charge&) = delete;
  ~Charge() { __atomic_fetch_sub(&control_->memory_used, held_, __ATOMIC_RELAXED); }

  void add(size_t bytes) {
    const auto more = static_cast<int64_t>(bytes);
    const int64_t used = __atomic_add_fetch(&control_->memory_used, more, __ATOMIC_RELAXED);
    __atomic_fetch_add(&held_, more, __ATOMIC_RELAXED);
    if (control_->memory_limit > 0 && used > control_->memory_limit) throw Halt{kOutOfMemory};
  }

  void give_back(size_t bytes) {
    const auto less = static_cast<int64_t>(bytes);
    __atomic_fetch_sub(&control_->memory_used, less, __ATOMIC_RELAXED);
    __atomic_fetch_sub(&held_, less, __ATOMIC_RELAXED);
  }

  // Is there room for something that would be nice to have?
  bool affords(size_t bytes) const {
    const int64_t used = __atomic_load_n(&control_->memory_used, __ATOMIC_RELAXED);
    return control_->memory_limit <= 0 || used + static_cast<int64_t>(bytes) <= control_->memory_limit / 2;
  }

 private:
  Control* control_;
  int64_t held_ = 0;
};

// An array of T without initial values. It grows, keeping nothing.
template <typename T>
class Buffer {
 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept : data_(other.data_), capacity_(other.capacity_) {
    other.data_ = nullptr;
    other.capacity_ = 0;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { std::free(data_); }

  T* reserve(size_t n, Charge& charge) {
    if (n > capacity_) grow(n, charge);
    return data_;
  }
  T* data() const { return data_; }
  size_t capacity() const { return capacity_; }

 private:
  void grow(size_t n, Charge& charge) {
    const size_t wanted = n > 2 * capacity_ ? n : 2 * capacity_;
    charge.add((wanted - capacity_) * sizeof(T));
    std::free(data_);
    data_ = static_cast<T*>(std::malloc(wanted * sizeof(T)));
    capacity_ = data_ ? wanted : 0;
    if (data_ == nullptr) throw Halt{kOutOfMemory};
  }

  T* data_ = nullptr;
  size_t capacity_ = 0;
};

}  // namespace qe
