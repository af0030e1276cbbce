// Which neighbours of one root are linked: for each root c and each pair (c, y) of one matrix the pairs (c, z) of another for
// which a third links y to z. Pairs are numbered as they stand, from the first of the range of roots on.
//
// A root's row of `second` is spread over an array of places, in which the members of y's row of `by` are looked up; where
// that is far longer than the root's row, the root's members are sought in it. Rows are found in one pass, a buffer for some
// roots, and put together when all are known. Bytes moved: y's rows for each pair (c, y), the result twice. Deterministic.
// Sources: Chiba and Nishizeki 1985; Schank and Wagner 2005 (compact forward).
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "count/eliminate.h"
#include "ops/set_ops.h"

namespace qe::eliminate {
namespace {

constexpr uint64_t kRoots = 16;    // that have a buffer together
constexpr uint64_t kGallop = 16;   // times as long as the root's row
constexpr uint64_t kPatience = 1 << 18;

struct Found {
  std::vector<uint32_t> ids;
  std::vector<uint64_t> entries;  // of `by`, where that has numbers
  uint64_t first = 0;             // where ids go
};

}  // namespace

// What is asked for: the rows of the pairs that the roots [begin, end) have. `second` links to ids less than n; repeats: may `by`
// link a pair twice?
struct NeighboursTask {
  const Matrix *first, *second, *by;
  uint32_t begin, end, n;
  int32_t repeats;
};

struct Neighbours {
  explicit Neighbours(Control* control) : charge(control) {}

  Charge charge;
  std::vector<Found> found;  // by the roots in order
  Numbers values{};
};

namespace {

class Finder {
 public:
  Finder(const NeighboursTask& task, const WorkQueue& queue)
      : first_(*task.first), second_(*task.second), by_(*task.by), ops_(set_ops(current_isa())), patience_(queue, kPatience),
        places_(task.n, 0), bits_((task.n + 63) / 64, 0), plain_(by_.values.at == nullptr && task.repeats == 0) {}

  static size_t bytes(uint32_t n) { return n * sizeof(uint32_t) + (n + 63) / 64 * sizeof(uint64_t); }

  // Appends the rows of a root's pairs; lengths[k]: of the row of the k-th pair of `first`. from: of `second`, its first pair.
  void root(uint32_t c, uint64_t from, uint64_t* lengths, Found* to) {
    const Slice own = row(first_, c), other = row(second_, c);
    if (own.begin == own.end || other.begin == other.end) return;
    for (uint64_t e = other.begin; e < other.end; ++e) {
      const uint32_t z = second_.ids[e];
      places_[z] = static_cast<uint32_t>(e - from) + 1;
      bits_[z >> 6] |= uint64_t{1} << (z & 63);
    }
    for (uint64_t e = own.begin; e < own.end; ++e) {
      const size_t before = to->ids.size();
      const Slice at = row(by_, first_.ids[e]);
      if ((other.end - other.begin) * kGallop < at.end - at.begin) seek(at, other, from, to);
      else look_up(at, to);
      lengths[e] = to->ids.size() - before;
    }
    for (uint64_t e = other.begin; e < other.end; ++e) {
      places_[second_.ids[e]] = 0;
      bits_[second_.ids[e] >> 6] = 0;
    }
  }

 private:
  void add(uint32_t place, uint64_t entry, Found* to) const {
    to->ids.push_back(place);
    if (by_.values.at) to->entries.push_back(entry);
  }
  void look_up(Slice at, Found* to) {
    spend((at.end - at.begin) / 4);
    if (plain_) {
      const size_t before = to->ids.size();
      to->ids.resize(before + (at.end - at.begin) + kSlack);
      uint32_t* ids = to->ids.data() + before;
      const size_t n = ops_.filter(bits_.data(), by_.ids + at.begin, at.end - at.begin, ids);
      for (size_t k = 0; k < n; ++k) ids[k] = places_[ids[k]] - 1;
      to->ids.resize(before + n);
      return;
    }
    for (uint64_t e = at.begin; e < at.end; ++e)
      if (const uint32_t place = places_[by_.ids[e]]; place != 0) add(place - 1, e, to);
  }
  void seek(Slice at, Slice members, uint64_t from, Found* to) {
    const uint32_t *next = by_.ids + at.begin, *last = by_.ids + at.end;
    for (uint64_t e = members.begin; e < members.end; ++e) {
      const uint32_t z = second_.ids[e];
      next = std::lower_bound(next, last, z);
      for (const uint32_t* same = next; same < last && *same == z; ++same)
        add(static_cast<uint32_t>(e - from), static_cast<uint64_t>(same - by_.ids), to);
    }
    spend(kGallop * (members.end - members.begin));
  }
  void spend(uint64_t steps) {
    patience_.spend(steps + 4);
  }

  const Matrix &first_, &second_, &by_;
  const SetOps& ops_;
  Patience patience_;
  std::vector<uint32_t> places_;  // of the root's pairs of `second`, from 1 on; all 0 between two roots
  std::vector<uint64_t> bits_;    // which these are
  bool plain_;                    // `by` links pairs once, without numbers
};

uint64_t first_entry(const Matrix& m, uint32_t v) { return v <= m.lo ? 0 : m.offsets[std::min(v, m.hi) - m.lo]; }

void find(const NeighboursTask& task, uint64_t* offsets, Neighbours& made, Control* control) {
  const uint32_t begin = task.begin, end = task.end, n = task.n;
  const uint64_t from = first_entry(*task.first, begin), to = first_entry(*task.first, end);
  const uint64_t other = first_entry(*task.second, begin);
  const int threads = workers_for(control, 8 * (to - from));
  WorkQueue queue(control, end - begin, kRoots);
  made.values = task.by->values;
  made.charge.add(static_cast<size_t>(threads) * Finder::bytes(n));
  made.found.resize((end - begin + kRoots - 1) / kRoots);
  std::fill(offsets, offsets + (to - from) + 1, 0);
  uint64_t* lengths = offsets + 1;
  const Status status = deal(threads, queue, [&](int) {
    Finder finder(task, queue);
    for (uint64_t k, after; queue.take(&k, &after);) {
      Found& found = made.found[k / kRoots];
      for (uint64_t c = k; c < after; ++c) finder.root(begin + static_cast<uint32_t>(c), other, lengths - from, &found);
      made.charge.add(found.ids.capacity() * sizeof(uint32_t) + found.entries.capacity() * sizeof(uint64_t));
    }
  });
  check(status);
  for (uint64_t e = 0; e < to - from; ++e) offsets[e + 1] += offsets[e];
  uint64_t at = 0;
  for (Found& found : made.found) {
    found.first = at;
    at += found.ids.size();
  }
}

Status take(const Neighbours& made, uint32_t* ids, void* values, Control* control) {
  const auto bytes = static_cast<size_t>(made.values.bytes);
  return each_row(static_cast<int>(control->threads), control, made.found.size(), 4, [&](uint32_t k) {
    const Found& found = made.found[k];
    std::copy(found.ids.begin(), found.ids.end(), ids + found.first);
    char* to = static_cast<char*>(values) + found.first * bytes;
    for (size_t i = 0; i < found.entries.size(); ++i)
      std::memcpy(to + i * bytes, static_cast<const char*>(made.values.at) + found.entries[i] * bytes, bytes);
  });
}

}  // namespace
}  // namespace qe::eliminate

using namespace qe::eliminate;
using qe::Control;

// offsets has one more than the pairs of `first` that the roots have; the last is how many links there are. Call
// qe_eliminate_neighbours_take for them, and qe_eliminate_neighbours_close in any case.
QE_API int32_t qe_eliminate_neighbours(const NeighboursTask* task, uint64_t* offsets, Neighbours** made, Control* control) {
  return guarded([&] {
    *made = new Neighbours(control);
    find(*task, offsets, **made, control);
  });
}

// ids: the places of the links' pairs of `second`, from its first in the range of roots on; values: the numbers of `by`, of as
// many bytes as there, where it has any.
QE_API int32_t qe_eliminate_neighbours_take(const Neighbours* made, uint32_t* ids, void* values, Control* control) {
  return take(*made, ids, values, control);
}

QE_API void qe_eliminate_neighbours_close(Neighbours* made) { delete made; }
