// Makes the lists of a graph's next version from those of the version before, in time of copying them: runs of entries
// that stay are copied, with a shift where the ids in them move; new entries come between them.
#include <algorithm>
#include <cstring>
#include <vector>

#include "base/workers.h"
#include "load/loading.h"

namespace qe {
namespace {

constexpr uint64_t kSerialBelow = 1 << 20;  // entries that are copied in less time than threads begin
constexpr uint64_t kFewBuckets = 1 << 12, kManyBuckets = 1 << 16;

int workers_for(uint64_t n, int threads) { return n < kSerialBelow ? 1 : std::max(threads, 1); }

// The shift of each id, looked up by the id's upper bits; only buckets in which it changes more than once are searched.
class Shifts {
 public:
  explicit Shifts(const Moves& moves) : moves_(moves) {
    const uint64_t most = moves.n * 16 <= kFewBuckets ? kFewBuckets : kManyBuckets;
    const uint64_t last = moves.n == 0 ? 0 : moves.points[moves.n - 1];
    while ((last >> bits_) + 1 >= most) ++bits_;
    last_ = (last >> bits_) + 1;
    buckets_.resize(last_ + 1);
    uint64_t seen = 0;
    for (uint64_t b = 0; b <= last_; ++b) {
      while (seen < moves.n && moves.points[seen] <= b << bits_) ++seen;
      const uint64_t first = seen;
      while (seen < moves.n && moves.points[seen] < (b + 1) << bits_) ++seen;
      const uint32_t point = first < seen ? static_cast<uint32_t>(moves.points[first]) : 0;
      buckets_[b] = {point, moves.shifts[first], moves.shifts[seen], seen > first + 1 ? 1u : 0u};
    }
  }

  uint32_t operator()(uint32_t id) const {
    const Bucket& bucket = buckets_[std::min<uint64_t>(id >> bits_, last_)];
    if (__builtin_expect(bucket.many == 0, 1)) return id + (id < bucket.point ? bucket.before : bucket.after);
    return id + moves_.shifts[std::upper_bound(moves_.points, moves_.points + moves_.n, id) - moves_.points];
  }

 private:
  struct Bucket { uint32_t point, before, after, many; };  // the shift below the bucket's first point, and behind it
  const Moves& moves_;
  std::vector<Bucket> buckets_;
  int bits_ = 0;
  uint64_t last_ = 0;
};

void shifted(const uint32_t* from, uint64_t n, const Shifts* shifts, uint32_t* to) {
  if (shifts == nullptr) std::memcpy(to, from, n * sizeof(uint32_t));
  else for (uint64_t i = 0; i < n; ++i) to[i] = (*shifts)(from[i]);
}

}  // namespace
}  // namespace qe

// out[begins[k] + i] = old[sources[k] + i], shifted by `moves` unless that is null, for each run k; entries whose
// source is n_old or more come from `added`, as they are.
QE_API int32_t qe_splice_entries(const qe::Runs* runs, const uint32_t* old, const uint32_t* added,
                                 const qe::Moves* moves, uint32_t* out, int32_t threads) {
  using namespace qe;
  const uint64_t total = runs->begins[runs->n];
  const int workers = workers_for(total, threads);
  Shifts* shifts = nullptr;
  std::vector<Shifts> made;
  const Status status = run_workers(1, [&](int) {
    if (moves == nullptr) return;
    made.emplace_back(*moves);
    shifts = made.data();
  });
  if (status != kOk) return status;
  return run_workers(workers, [&](int worker) {
    uint64_t at = share(total, worker, workers);
    const uint64_t end = share(total, worker + 1, workers);
    uint64_t k = std::upper_bound(runs->begins, runs->begins + runs->n + 1, at) - runs->begins - 1;
    for (; at < end; ++k) {
      const uint64_t size = std::min(runs->begins[k + 1], end) - at;
      const uint64_t source = runs->sources[k] + (at - runs->begins[k]);
      if (source >= runs->n_old) shifted(added + (source - runs->n_old), size, nullptr, out + at);
      else shifted(old + source, size, shifts, out + at);
      at += size;
    }
  });
}

// out[r] for the rows r in [0, n_rows]: where the lists of the vertices low + r begin. They come in the runs of
// `rows`: of vertices that were there, and with `fresh` of others, which lie before the old vertex sources[k].
QE_API int32_t qe_splice_offsets(const qe::SplicedRows* rows, const uint64_t* removed, uint64_t n_removed,
                                 const uint32_t* owners, uint64_t n_owners, uint64_t* out, int32_t threads) {
  using namespace qe;
  const int workers = workers_for(rows->n_rows, threads);
  const Runs& runs = rows->runs;
  return run_workers(workers, [&](int worker) {
    uint64_t row = share(rows->n_rows, worker, workers);
    const uint64_t end = worker + 1 == workers ? rows->n_rows + 1 : share(rows->n_rows, worker + 1, workers);
    auto old_row = [&](uint64_t vertex) {
      return std::min(vertex < rows->old_low ? 0 : vertex - rows->old_low, rows->n_old);
    };
    uint64_t k = 0, gone = 0, come = 0;
    for (bool first = true; row < end; first = false) {
      const uint64_t vertex = rows->low + row;
      if (first) k = std::upper_bound(runs.begins, runs.begins + runs.n + 1, vertex) - runs.begins - 1;
      while (k < runs.n && runs.begins[k + 1] <= vertex) ++k;
      const bool stays = k < runs.n && rows->fresh[k] == 0;
      uint64_t at = rows->n_old;  // behind all runs
      if (k < runs.n) at = old_row(runs.sources[k] + (stays ? vertex - runs.begins[k] : 0));
      const uint64_t place = rows->offsets[at];
      if (first) {
        gone = std::lower_bound(removed, removed + n_removed, place) - removed;
        come = std::lower_bound(owners, owners + n_owners, vertex) - owners;
      }
      while (gone < n_removed && removed[gone] < place) ++gone;
      while (come < n_owners && owners[come] < vertex) ++come;
      out[row++] = place - gone + come;
      // Rows that follow each other as before, up to the next entry that goes or comes, move by as much.
      if (!stays || at == rows->n_old || runs.sources[k] + (vertex - runs.begins[k]) < rows->old_low) continue;
      uint64_t n = std::min({end - row, runs.begins[k + 1] - vertex - 1, rows->n_old - at});
      if (come < n_owners) n = std::min<uint64_t>(n, owners[come] - vertex);
      const uint64_t *from = rows->offsets + at + 1, *to = from + n;
      if (gone < n_removed && n > 0 && to[-1] > removed[gone]) to = std::upper_bound(from, to, removed[gone]);
      const uint64_t moved = come - gone;
      for (; from < to; ++from) out[row++] = *from + moved;
    }
  });
}

// places[i]: of owners[i]'s list the first entry that is at least bounds[i]; with `wanted` the entry bounds[i] that
// stands beside the id wanted[i], or else the end of its list. Dense lists: an owner without one has its place.
QE_API int32_t qe_entry_places(const qe::Pcsr* lists, const uint32_t* owners, const uint32_t* bounds,
                               const uint32_t* wanted, uint64_t n, uint64_t* places, int32_t threads) {
  using namespace qe;
  const int workers = workers_for(n, threads);
  return run_workers(workers, [&](int worker) {
    const uint64_t end = share(n, worker + 1, workers);
    for (uint64_t i = share(n, worker, workers); i < end; ++i) {
      Slice list = locate(*lists, owners[i]);
      if (lists->form == kDense && owners[i] >= lists->hi) list = {lists->n_entries, lists->n_entries};
      const uint32_t *from = lists->neighbours + list.begin, *to = lists->neighbours + list.end;
      const uint32_t* at = std::lower_bound(from, to, bounds[i]);
      if (wanted != nullptr)
        while (at < to && (*at != bounds[i] || lists->edge_ids[at - lists->neighbours] != wanted[i])) ++at;
      places[i] = at - lists->neighbours;
    }
  });
}

// *found: whether a list has a neighbour twice (`loops` 0), or its owner among its neighbours (`loops` 1).
QE_API int32_t qe_lists_repeat(const qe::RowIndex* rows, const uint32_t* neighbours, int32_t loops, int32_t* found) {
  using namespace qe;
  *found = 0;
  for (uint64_t row = 0; row < rows->n && *found == 0; ++row) {
    const uint32_t *from = neighbours + rows->begins[row], *to = neighbours + rows->ends[row];
    *found = loops != 0 ? std::binary_search(from, to, rows->key(row)) : std::adjacent_find(from, to) != to;
  }
  return kOk;
}
