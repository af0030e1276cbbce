// Breadth-first enumeration: a frontier of partial embeddings is extended level by level, in pieces that fit the memory.
//
// Problem: the rows of a SearchPlan that walks levels, in an order that depends on the plan alone, not on threads.
// For each piece of a frontier: count the extensions of each row, add up, allocate the next frontier exactly, fill it; then
// extend that before the next piece. Rows are dealt in slices to all workers, which use the same sets, marks and views
// as the depth-first walk; rows that share a beginning share its intersections. Memory: at most `piece_rows` rows a
// level. Bytes moved: each frontier is written once and read twice; each intersection is done twice (counting need not
// store it).
// Source: Extend and Prealloc-Combine (GSI §V), with the two passes of moderngpu's expansion join.
#pragma once
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "search/search_run.h"

namespace qe {

class Extender {
 public:
  // `trial_end`: when to give up (ns), 0 for never; then there must be one thread.
  Extender(SearchRun& run, int threads, size_t piece_rows, int64_t trial_end);
  ~Extender();

  // Emits all rows; throws Halt.
  void run(int64_t input_rows);

 private:
  struct Frontier {  // column 0: input rows; column 1 + k: what level k is bound to
    int depth;
    size_t n;
    Buffer<int64_t> data;
    int64_t* column(int k) { return data.data() + static_cast<size_t>(k) * n; }
  };
  using Slice = std::function<void(Worker&, size_t begin, size_t end)>;

  void in_slices(size_t n, const Slice& work);
  void work_off(Worker& worker);
  void help(Worker& worker);
  void extend(Frontier& from);
  void fill(Frontier& from, const std::vector<size_t>& ends, size_t first_row, size_t begin, size_t end);
  void emit(Frontier& rows);
  void copy(Frontier& rows, size_t begin, size_t end);

  SearchRun& run_;
  const SearchPlan& plan_;
  const size_t piece_rows_;
  Charge charge_;
  std::vector<std::unique_ptr<Worker>> workers_;  // the first is the caller's

  std::mutex mutex_;
  std::condition_variable begun_, ended_;
  const Slice* slice_ = nullptr;
  size_t next_ = 0, end_ = 0;
  int64_t generation_ = 0;
  size_t busy_ = 0;
  bool over_ = false;
  Status status_ = kOk;
  std::vector<Thread> helpers_;
};

}  // namespace qe
