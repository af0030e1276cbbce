// What each of several threads has for itself while it works for a sink.
#pragma once
#include <memory>
#include <mutex>
#include <vector>

namespace qe {

// States that threads borrow one each, as many as there are threads at once.
template <typename State>
class States {
 public:
  // Calls use(state) with one that nobody else has, made by make(k) where there is none.
  template <typename Make, typename Use>
  void with(Make&& make, Use&& use) {
    State* state = nullptr;
    size_t k = 0;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (!idle_.empty()) {
        state = idle_.back();
        idle_.pop_back();
      } else {
        k = begun_++;
      }
    }
    if (state == nullptr) {
      std::unique_ptr<State> made = make(k);
      state = made.get();
      std::lock_guard<std::mutex> lock(mutex_);
      all_.push_back(std::move(made));
    }
    use(*state);
    std::lock_guard<std::mutex> lock(mutex_);
    idle_.push_back(state);
  }
  const std::vector<std::unique_ptr<State>>& all() const { return all_; }

 private:
  std::mutex mutex_;
  size_t begun_ = 0;
  std::vector<std::unique_ptr<State>> all_;
  std::vector<State*> idle_;
};

}  // namespace qe
