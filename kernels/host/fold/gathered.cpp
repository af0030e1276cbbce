// Gathered numbers dealt to lists of their groups (gathered.h), and the numbers at two places of each list's order.
//
// Bytes moved: a row's code and number once, a number to its list; of a selection each list a few times, in cache where it is short.
// Source: introselect, Musser 1997, below a histogram of long lists; weighted selection by quickselect.
#include <algorithm>
#include <cmath>
#include <vector>

#include "fold/fold.h"

namespace qe::fold {
namespace {

// The places of codes among ascending ones, all of which are there.
class Places {
 public:
  Places(const Plan& plan, const uint64_t* codes, uint64_t n, Charge& charge) : codes_(codes), dense_(plan.places <= 8 * n + 1024) {
    while (!dense_ && (uint64_t{1} << (64 - shift_)) < 2 * n) --shift_;
    const uint64_t slots = dense_ ? plan.places : uint64_t{1} << (64 - shift_);
    charge.add(slots * sizeof(uint32_t));
    index_.assign(slots, 0);
    for (uint64_t g = 0; g < n; ++g) {
      uint64_t at = dense_ ? codes[g] : hash_of(codes[g]) >> shift_;
      while (index_[at]) at = (at + 1) & (slots - 1);
      index_[at] = static_cast<uint32_t>(g + 1);
    }
  }

  uint64_t of(uint64_t code) const {
    if (dense_) return index_[code] - 1;
    uint64_t at = hash_of(code) >> shift_;
    while (codes_[index_[at] - 1] != code) at = (at + 1) & (index_.size() - 1);
    return index_[at] - 1;
  }

 private:
  const uint64_t* codes_;
  bool dense_;
  int shift_ = 63;
  std::vector<uint32_t> index_;  // 1 + a place, or 0
};

// Rows of few groups are counted first: a group's end is then moved once for all of them, and threads seldom wait for each other.
void deal_rows(const GatheredRows& rows, const Places& places, uint64_t n, int64_t* ends, int64_t* numbers, int64_t* weights) {
  const auto count = static_cast<size_t>(rows.n);
  std::vector<uint32_t> lists(count);
  for (size_t i = 0; i < count; ++i) {
    const uint64_t code = rows.rows[i].code;
    lists[i] = i && code == rows.rows[i - 1].code ? lists[i - 1] : static_cast<uint32_t>(places.of(code));
  }
  const auto write = [&](size_t i, int64_t at) {
    numbers[at] = rows.rows[i].number;
    if (weights) weights[at] = rows.weights ? rows.weights[i] : 1;
  };
  if (n > count / 4) {
    for (size_t i = 0, to; i < count; i = to) {
      for (to = i + 1; to < count && lists[to] == lists[i];) ++to;
      int64_t at = __atomic_fetch_add(&ends[lists[i]], static_cast<int64_t>(to - i), __ATOMIC_RELAXED);
      for (size_t k = i; k < to; ++k, ++at) write(k, at);
    }
    return;
  }
  std::vector<int64_t> next(n);
  for (const uint32_t list : lists) ++next[list];
  for (uint64_t g = 0; g < n; ++g)
    if (next[g]) next[g] = __atomic_fetch_add(&ends[g], next[g], __ATOMIC_RELAXED);
  for (size_t i = 0; i < count; ++i) write(i, next[lists[i]]++);
}

constexpr uint64_t kShortList = 1 << 12, kLists = 1 << 8;  // numbers; lists that a thread takes together at most

struct Weighed {
  int64_t number, weight;
};

// The number at a place of the order of some, each of which takes as many places as it weighs.
int64_t weighed_at(Weighed* begin, Weighed* end, int64_t place) {
  for (uint64_t dice = 1;; dice = dice * 6364136223846793005u + 1442695040888963407u) {
    const int64_t pivot = begin[(dice >> 33) % static_cast<uint64_t>(end - begin)].number;
    Weighed* equal = std::partition(begin, end, [=](const Weighed& each) { return each.number < pivot; });
    Weighed* more = std::partition(equal, end, [=](const Weighed& each) { return each.number == pivot; });
    for (const Weighed* each = begin; each < equal; ++each) place -= each->weight;
    if (place < 0) {
      for (const Weighed* each = begin; each < equal; ++each) place += each->weight;
      end = equal;
      continue;
    }
    for (const Weighed* each = equal; each < more; ++each) place -= each->weight;
    if (place < 0 || more == end) return pivot;
    begin = more;
  }
}

// Writes the numbers at a place of the order of some, and at the same or the next one. Long lists are cut to what shares a bucket of
// their range with the first, until few are left.
void select_two(int64_t* numbers, uint64_t n, uint64_t first, uint64_t second, int64_t two[2]) {
  constexpr int kBits = 11;
  while (n > kShortList) {
    const auto [low, high] = std::minmax_element(numbers, numbers + n);
    const auto least = static_cast<uint64_t>(*low), range = static_cast<uint64_t>(*high) - least;
    if (!range) break;
    const int shift = std::max(0, 64 - kBits - __builtin_clzll(range));
    uint64_t counts[1 << kBits] = {};
    for (uint64_t i = 0; i < n; ++i) ++counts[(static_cast<uint64_t>(numbers[i]) - least) >> shift];
    uint64_t bucket = 0, before = 0;
    for (; before + counts[bucket] <= first; ++bucket) before += counts[bucket];
    if (before + counts[bucket] <= second) {  // the last of a bucket, and the first behind it
      two[0] = INT64_MIN, two[1] = INT64_MAX;
      for (uint64_t i = 0; i < n; ++i) {
        const bool below = (static_cast<uint64_t>(numbers[i]) - least) >> shift <= bucket;
        two[0] = std::max(two[0], below ? numbers[i] : INT64_MIN);
        two[1] = std::min(two[1], below ? INT64_MAX : numbers[i]);
      }
      return;
    }
    uint64_t kept = 0;
    for (uint64_t i = 0; i < n; ++i) {
      const int64_t number = numbers[i];
      numbers[kept] = number;
      kept += (static_cast<uint64_t>(number) - least) >> shift == bucket;
    }
    n = kept, first -= before, second -= before;
  }
  std::nth_element(numbers, numbers + first, numbers + n);
  two[0] = numbers[first];
  two[1] = second == first ? two[0] : *std::min_element(numbers + second, numbers + n);
}

// NaN is greatest.
int64_t order_of(int64_t bits, bool floats) {
  if (!floats) return bits;
  double number;
  std::memcpy(&number, &bits, sizeof number);
  if (std::isnan(number)) return INT64_MAX;
  return bits < 0 ? bits ^ INT64_MAX : bits;
}

int64_t bits_of_order(int64_t order, bool floats) {
  if (!floats) return order;
  return order == INT64_MAX ? bits_of(static_cast<double>(NAN)) : order < 0 ? order ^ INT64_MAX : order;
}

}  // namespace
}  // namespace qe::fold

using namespace qe::fold;

// Whether rows that were gathered by a task count more than once, or not at all.
QE_API int32_t qe_fold_gathers_weights(const Fold* fold, int32_t task) {
  return std::any_of(fold->gathered.parts().begin(), fold->gathered.parts().end(),
                     [&](const auto& each) { return each->task == task && each->weights; });
}

// Writes the numbers that a task has gathered to n lists, those of the groups with some ascending codes, in any order, and how often
// each counts unless `weights` is null. ends: where each list begins, and then where it ends.
QE_API int32_t qe_fold_take_gathered(const Fold* fold, int32_t task, uint64_t n, const uint64_t* codes, int64_t* ends, int64_t* numbers,
                                     int64_t* weights, qe::Control* control) {
  return qe::eliminate::guarded([&] {
    qe::Charge charge(control);
    const Places places(fold->plan, codes, n, charge);
    std::vector<const GatheredRows*> parts;
    for (const auto& each : fold->gathered.parts())
      if (each->task == task) parts.push_back(each.get());
    const int threads = qe::eliminate::workers_for(control, parts.size() * GatheredRows::kRoom);
    check(qe::eliminate::each_row(threads, control, parts.size(), 1,
                                  [&](uint32_t k) { deal_rows(*parts[k], places, n, ends, numbers, weights); }));
  });
}

// Writes for each of n lists the numbers at two places of its order, the second the first or the next one. Places are below the
// list's length or, with weights, all positive, their sum; a list without numbers is left alone. kOutOfMemory.
QE_API int32_t qe_select_places(uint64_t n, const int64_t* begins, const int64_t* numbers, int32_t floats, const int64_t* weights,
                                const int64_t (*places)[2], int64_t (*found)[2], qe::Control* control) {
  return qe::eliminate::guarded([&] {
    const auto total = static_cast<uint64_t>(begins[n] - begins[0]);
    const int threads = qe::eliminate::workers_for(control, total);
    const uint64_t together = std::max<uint64_t>(1, std::min(n / static_cast<uint64_t>(8 * threads), kLists));
    check(qe::eliminate::each_piece(threads, control, n, together, [&](uint64_t begin, uint64_t end) {
      std::vector<int64_t> order;
      std::vector<Weighed> weighed;
      for (uint64_t k = begin; k < end; ++k) {
        const auto length = static_cast<size_t>(begins[k + 1] - begins[k]);
        if (!length) continue;
        const int64_t *from = numbers + begins[k], *times = weights ? weights + begins[k] : nullptr;
        int64_t two[2];
        if (times) {
          weighed.clear();
          for (size_t i = 0; i < length; ++i) weighed.push_back({order_of(from[i], floats), times[i]});
          two[0] = two[1] = weighed_at(weighed.data(), weighed.data() + length, places[k][0]);
          if (places[k][1] != places[k][0]) two[1] = weighed_at(weighed.data(), weighed.data() + length, places[k][1]);
        } else {
          order.resize(length);
          for (size_t i = 0; i < length; ++i) order[i] = order_of(from[i], floats);
          select_two(order.data(), length, static_cast<uint64_t>(places[k][0]), static_cast<uint64_t>(places[k][1]), two);
        }
        for (int i = 0; i < 2; ++i) found[k][i] = bits_of_order(two[i], floats);
      }
    }));
  });
}
