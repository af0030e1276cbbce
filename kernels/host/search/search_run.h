// A search under way: its units of work, its threads, and the rows on their way to the consumer.
//
// Units are strided groups of roots (ids are ordered by degree, so neighbouring roots weigh alike) or runs of input
// rows, dealt by an atomic counter; where they are few, each is cut into parts by the candidates of the next level.
// The first millisecond runs on the caller's thread: a small search never starts a thread. Its results count unit by
// unit; the unit that it breaks off is done again. Rows come in no fixed order unless there is one thread.
#pragma once
#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "base/charged_memory.h"
#include "base/threads.h"
#include "plan/search_plan.h"
#include "search/row_sink.h"
#include "search/search_pool.h"
#include "search/search_worker.h"

namespace qe {

using Count = unsigned __int128;

constexpr size_t kTrialRows = 4096;                       // of a chunk or piece in a trial
constexpr Status kTrialOver = static_cast<Status>(100);  // never leaves the library
constexpr int64_t kPollEvery = 1 << 18;                  // ids read between two looks at the clock

struct Output {
  int level, column;
};

class SearchRun {
 public:
  SearchRun(const MatchPlan& plan, Control* control, int64_t rows, const int64_t* const* seeds, int64_t chunk_rows);
  ~SearchRun();

  Status start();
  static void set_trial(int64_t ns, int64_t work);  // work: in ids read; see Worker::allow_work

  // Waits up to wait_ms for the next rows; *n: how many there are to take, *done: none will follow.
  Status wait(int64_t wait_ms, int64_t* n, bool* done);
  Status take(int64_t* const* columns);
  std::unique_ptr<Lent> lend();  // those rows themselves, null where they are few or sums

  // Gives back n rows that were taken: they wait again, a few together.
  Status put(int64_t n, const int64_t* const* columns);

  // From now on workers give rows to the sink, which must outlive the search, and so are those that wait to be taken. False, and
  // nothing done, where the search has ended and hardly any wait.
  bool attach(RowSink* sink);

  // For an unseeded search that walks nothing: the count of each component; their product is the result.
  const std::vector<Count>& totals() const { return totals_; }

  bool seeded() const { return plan_.seeds > 0; }
  const SearchPlan& plan() const { return plan_; }
  const SetOps& ops() const { return ops_; }
  Control* control() const { return control_; }
  const std::vector<Output>& outputs() const { return outputs_; }
  int64_t seed(int level, int64_t row) const { return seeds_[level][row]; }
  Set constant_set(int level);
  int64_t count_roots(const PlanLevel& level) const;  // vertices of its ranges, or candidates
  void poll(int64_t trial_end);
  void exchange(Worker& worker);  // pushes the worker's full chunk and gives it an empty one
  std::unique_ptr<Chunk> make_chunk(bool trial);
  void push(std::unique_ptr<Chunk> chunk);

 private:
  struct Job {  // what the units of an unseeded search do
    int component;  // -1: walk
    int64_t first_unit, n_units, n_roots;
  };

  bool summed() const { return plan_.enumerated <= plan_.seeds; }  // nothing is enumerated: results are counts
  void lay_out_units();
  void add_job(int component, const PlanLevel* root);
  int split_level() const;
  bool trial();
  void work();
  void begin_threads(int64_t n);
  void run_unit(Worker& worker, int64_t unit, bool whole);
  void run_rows(Worker& worker, int64_t unit, bool whole);
  void run_roots(Worker& worker, const Job& job, int64_t unit, Count* sum);
  bool try_breadth_first();
  void work_breadth_first();
  Status take_sums(int64_t* const* columns);
  void sink_waiting(RowSink& sink);
  void put_together(std::unique_ptr<Chunk> last);
  void end_rest();
  Status end_sink();
  bool found(int component);

  SearchPlan plan_;
  const MatchPlan& match_;
  Control* control_;
  const SetOps& ops_;
  int64_t rows_;
  const int64_t* const* seeds_;
  size_t chunk_rows_;
  std::vector<Output> outputs_;
  Charge charge_;

  std::vector<Job> jobs_;
  int64_t n_units_ = 0, unit_rows_ = 1, first_unit_ = 0, parts_ = 1;
  std::atomic<int64_t> next_{0};
  std::atomic<bool> stop_{false};
  std::vector<Count> totals_;
  std::vector<uint64_t> sums_;  // seeded: the count of each row

  struct Constant {  // the candidates of a level that depend on no other, made when first asked for
    std::once_flag once;
    Buffer<uint32_t> buffer;
    Set set{nullptr, 0};
  };
  std::unique_ptr<Constant[]> constants_;

  std::mutex mutex_;
  std::condition_variable filled_, freed_;
  std::deque<std::unique_ptr<Chunk>> full_;
  std::vector<std::unique_ptr<Chunk>> free_;
  std::unique_ptr<Chunk> rest_;  // few rows of workers that have ended
  std::shared_ptr<ChunkPool> pool_ = std::make_shared<ChunkPool>();
  size_t chunks_ = 0, max_chunks_ = 0;
  size_t lent_ = 0;  // chunks in whose place there is none yet
  std::atomic<RowSink*> sink_{nullptr};
  int working_ = 0;
  int64_t waiting_threads_ = 0;  // that begin where the first ones don't end soon
  Status status_ = kOk;
  std::vector<Thread> threads_;
};

}  // namespace qe
