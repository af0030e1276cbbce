// Rows of a search that a consumer reads where the workers wrote them, and the way of their memory back to the workers.
//
// A chunk that is lent is no longer the search's: it may outlive it, and the consumer accounts for what it holds. Once that gives
// it back, a search that still runs takes it for its next rows, so that the system needn't find and clear memory again.
#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "base/charged_memory.h"

namespace qe {

// Rows, column by column: input row, outputs, count. Input rows are written where the search has seeds.
struct Chunk {
  size_t n = 0, capacity = 0;
  Buffer<int64_t> data;
  int n_outputs = 0;

  int64_t* rows() { return data.data(); }
  int64_t* column(int k) { return data.data() + capacity * static_cast<size_t>(k + 1); }
  int64_t* counts() { return column(n_outputs); }
  size_t bytes() const { return data.capacity() * sizeof(int64_t); }
};

// Chunks of one size that have come back; few are kept.
class ChunkPool {
 public:
  // One that nothing is charged for; null if there is none.
  std::unique_ptr<Chunk> get() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (kept_.empty()) return nullptr;
    std::unique_ptr<Chunk> chunk = std::move(kept_.back());
    kept_.pop_back();
    return chunk;
  }
  void give(std::unique_ptr<Chunk> chunk) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (open_ && kept_.size() < kMost) kept_.push_back(std::move(chunk));
  }
  void close() {
    std::lock_guard<std::mutex> lock(mutex_);
    open_ = false;
    kept_.clear();
  }

 private:
  static constexpr size_t kMost = 2;

  std::mutex mutex_;
  std::vector<std::unique_ptr<Chunk>> kept_;
  bool open_ = true;
};

// A chunk in the hands of a consumer.
struct Lent {
  std::unique_ptr<Chunk> chunk;
  std::shared_ptr<ChunkPool> pool;
};

}  // namespace qe
