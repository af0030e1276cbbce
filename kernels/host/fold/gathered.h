// Numbers of rows that are kept as they are folded, each with its group's code and how often it counts: percentiles need all of them.
#pragma once
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "base/charged_memory.h"

namespace qe::fold {

// The bits of a number, which gathered ones are kept as.
inline int64_t bits_of(int64_t number) { return number; }
inline int64_t bits_of(int32_t number) { return number; }
inline int64_t bits_of(double number) {
  int64_t bits;
  std::memcpy(&bits, &number, sizeof bits);
  return bits;
}

// Up to kRoom numbers of one task, that one thread adds. weights: null where each counts once.
struct GatheredRows {
  static constexpr int kRoom = 1 << 13;
  struct Row {
    uint64_t code;
    int64_t number;
  };

  GatheredRows(int task, bool weighed) : task(task), rows(new Row[kRoom]), weights(weighed ? new int64_t[kRoom] : nullptr) {}

  bool takes(int more, const int64_t* weighed) const { return n + more <= kRoom && (weighed != nullptr) == (weights != nullptr); }
  void add(uint64_t code, int64_t number, int64_t weight) {
    rows[static_cast<size_t>(n)] = {code, number};
    if (weights) weights[static_cast<size_t>(n)] = weight;
    ++n;
  }

  int task, n = 0;
  std::unique_ptr<Row[]> rows;
  std::unique_ptr<int64_t[]> weights;
};

// What all threads have gathered.
class Gathered {
 public:
  explicit Gathered(Charge& charge) : charge_(charge) {}

  GatheredRows* more(int task, const int64_t* weights) {
    charge_.add(GatheredRows::kRoom * (sizeof(GatheredRows::Row) + (weights ? sizeof(int64_t) : 0)));
    auto made = std::make_unique<GatheredRows>(task, weights != nullptr);
    std::lock_guard<std::mutex> lock(mutex_);
    parts_.push_back(std::move(made));
    return parts_.back().get();
  }
  const std::vector<std::unique_ptr<GatheredRows>>& parts() const { return parts_; }

 private:
  Charge& charge_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<GatheredRows>> parts_;
};

}  // namespace qe::fold
