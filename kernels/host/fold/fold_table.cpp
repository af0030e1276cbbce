// Blocks of rows folded into the records of their groups (fold.h).
//
// Bytes moved: each column of a key or an argument at the rows' ids, and a record a row and operation, in cache where groups are few.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "fold/fold.h"

namespace qe::fold {
namespace {

constexpr uint64_t kLeast = 256;  // groups that a hash table has room for
constexpr uint64_t kEmptied = 1 << 14;  // records, between two looks whether to stop
constexpr size_t kAhead = 256;  // groups that are looked for together

// Calls each(i, number) for the rows of a block that have one.
template <typename Reader, typename Number, typename Each>
void for_numbers(const Block& block, const Reader& reader, int variable, Number number, Each&& each) {
  if (block.in_order) return reader.in_order(block.first, block.n, each);
  const int64_t* ids = block.ids[variable];
  for (int i = 0; i < block.n; ++i)
    if (reader.get(ids[i], &number)) each(i, number);
}

template <bool kWeighted, typename Reader, typename Number, typename Add>
void for_each(const Block& block, const Reader& reader, int variable, Number number, Add&& add) {
  for_numbers(block, reader, variable, number, [&](int i, Number value) { add(i, value, kWeighted ? block.weights[i] : 1); });
}

template <bool kWeighted>
void run(const Task& task, const Block& block, int64_t* const* records) {
  const int slot = task.slot, variable = task.column.variable;
  if (!task.has_column) {
    for (int i = 0; i < block.n; ++i) records[i][slot] += kWeighted ? block.weights[i] : 1;
    return;
  }
  with_reader(task.column, [&](const auto& reader, auto number) {
    using Number = decltype(number);
    const auto each = [&](auto&& add) { for_each<kWeighted>(block, reader, variable, number, add); };
    const auto digits = [&](const auto& sums) {
      each([&](int i, Number value, int64_t weight) {
        sums.each(value, [to = records[i] + slot, weight](int k, int64_t digit) { to[k] += digit * weight; });
      });
    };
    switch (task.operation) {
      case kCount: return each([&](int i, Number, int64_t weight) { records[i][slot] += weight; });
      case kGather: return each([&](int i, Number, int64_t) { ++records[i][slot]; });
      case kMin:
        return each([&](int i, Number value, int64_t) { records[i][slot] = std::min(records[i][slot], ordered(value)); });
      case kMax:
        return each([&](int i, Number value, int64_t) { records[i][slot] = std::max(records[i][slot], ordered(value)); });
      case kDistinct:
        if constexpr (!std::is_same_v<Number, double>)
          each([&](int i, Number value, int64_t) { records[i][slot + (value >> 6)] |= static_cast<int64_t>(uint64_t{1} << (value & 63)); });
        return;
      default: {
        const double step = std::ldexp(1.0, static_cast<int>(task.bits));
        if constexpr (!std::is_same_v<Number, double>) {
          if (task.digits == 1) each([&](int i, Number value, int64_t weight) { records[i][slot] += value * weight; });
          else digits(IntegerDigits{task.digits, task.bits});
        } else if (task.digits == 1) digits(FloatDigits<1>{1, task.scale, step});
        else if (task.digits == 2) digits(FloatDigits<2>{2, task.scale, step});
        else digits(FloatDigits<0>{task.digits, task.scale, step});
      }
    }
  });
}

// Calls each(i, code) for the rows of a block of which a key isn't null.
template <typename Each>
void with_codes(const Key& key, const Block& block, Each&& each) {
  const int64_t low = key.low;
  with_reader(key.column, [&](const auto& reader, auto number) {
    for_numbers(block, reader, key.column.variable, number,
                [&](int i, auto value) { each(i, static_cast<uint64_t>(static_cast<int64_t>(value) - low + 1)); });
  });
}

constexpr int kMostAlone = 8;  // digits

// The same for rows of one group alone, whose record needn't be looked for, or written for each of them.
template <bool kWeighted>
void run_alone(const Task& task, const Block& block, int64_t* record) {
  const int variable = task.column.variable;
  int64_t* const to = record + task.slot;
  if (!task.has_column) {
    int64_t rows = kWeighted ? 0 : block.n;
    if constexpr (kWeighted) rows = std::accumulate(block.weights, block.weights + block.n, int64_t{0});
    *to += rows;
    return;
  }
  with_reader(task.column, [&](const auto& reader, auto number) {
    using Number = decltype(number);
    const auto each = [&](auto&& add) { for_each<kWeighted>(block, reader, variable, number, add); };
    int64_t one = *to;
    switch (task.operation) {
      case kCount: each([&](int, Number, int64_t weight) { one += weight; }); break;
      case kGather: each([&](int, Number, int64_t) { ++one; }); break;
      case kMin: each([&](int, Number value, int64_t) { one = std::min(one, ordered(value)); }); break;
      case kMax: each([&](int, Number value, int64_t) { one = std::max(one, ordered(value)); }); break;
      default: {
        if constexpr (!std::is_same_v<Number, double>)
          if (task.digits == 1) {
            each([&](int, Number value, int64_t weight) { one += value * weight; });
            break;
          }
        const double step = std::ldexp(1.0, static_cast<int>(task.bits));
        const auto digits = [&](const auto& sums, auto most) {  // as many numbers, in registers where they are few
          int64_t found[most()] = {};
          each([&](int, Number value, int64_t weight) {
            sums.each(value, [&found, weight](int k, int64_t digit) { found[k] += digit * weight; });
          });
          for (int k = 0; k < task.digits; ++k) to[k] += found[k];
        };
        constexpr std::integral_constant<int, kMostAlone> any;
        if constexpr (!std::is_same_v<Number, double>) digits(IntegerDigits{task.digits, task.bits}, any);
        else if (task.digits == 1) digits(FloatDigits<1>{1, task.scale, step}, std::integral_constant<int, 1>{});
        else if (task.digits == 2) digits(FloatDigits<2>{2, task.scale, step}, std::integral_constant<int, 2>{});
        else digits(FloatDigits<0>{task.digits, task.scale, step}, any);
        return;
      }
    }
    *to = one;
  });
}

}  // namespace

Table::Table(const Plan& plan, const int64_t* empty, Control* control, Charge& charge, bool hashed, Gathered* gathered)
    : plan_(plan), empty_(empty), charge_(charge), hashed_(hashed), gathered_(gathered) {
  if (gathered && std::any_of(plan.tasks, plan.tasks + plan.n_tasks, [](const Task& task) { return task.operation == kGather; }))
    filled_.resize(static_cast<size_t>(plan.n_tasks));
  if (hashed) return;
  alone_ = plan.n_keys == 0 && std::all_of(plan.tasks, plan.tasks + plan.n_tasks, [](const Task& task) {
    return task.operation != kDistinct && task.digits <= kMostAlone;
  });
  size_ = plan.places;
  const uint64_t slots = size_ * static_cast<uint64_t>(plan.n_slots);
  charge.add(slots * sizeof(int64_t));
  if (plan.shared) {  // those who use it first touch its pages
    shared_ = zeroed<int64_t>(static_cast<int64_t>(slots));
    first_ = shared_.get();
  } else {
    slots_.resize(slots);
    first_ = slots_.data();
  }
  if (std::all_of(empty, empty + plan.n_slots, [](int64_t slot) { return slot == 0; })) return;
  const int threads = plan.shared ? eliminate::workers_for(control, slots) : 1;
  check(eliminate::each_piece(threads, control, size_, kEmptied, [&](uint64_t begin, uint64_t end) {
    for (uint64_t g = begin; g < end; ++g) std::copy(empty, empty + plan.n_slots, record(g));
  }));
}

void Table::reserve(uint64_t more) {
  if (size_ + more <= room_) return;
  const uint64_t room = std::max(kLeast, std::max(2 * room_, size_ + more));
  const auto bytes = [&](uint64_t n) { return n * (static_cast<uint64_t>(plan_.n_slots) * 8 + 8 + 4 * sizeof(uint32_t)); };
  charge_.add(bytes(room) - bytes(room_));
  slots_.resize(room * static_cast<uint64_t>(plan_.n_slots));
  first_ = slots_.data();
  codes_.resize(room);
  room_ = room;
  shift_ = 63;
  while ((uint64_t{1} << (64 - shift_)) < 2 * room) --shift_;
  if (room > UINT32_MAX / 4) throw Halt{kOutOfMemory};
  index_.assign(uint64_t{1} << (64 - shift_), 0);
  for (uint64_t g = 0; g < size_; ++g) {
    uint64_t at = hash_of(codes_[g]) >> shift_;
    while (index_[at]) at = (at + 1) & (index_.size() - 1);
    index_[at] = static_cast<uint32_t>(g + 1);
  }
}

uint64_t Table::place(uint64_t code) {
  uint64_t at = hash_of(code) >> shift_;
  for (; index_[at]; at = (at + 1) & (index_.size() - 1))
    if (codes_[index_[at] - 1] == code) return index_[at] - 1;
  index_[at] = static_cast<uint32_t>(size_ + 1);
  codes_[size_] = code;
  std::copy(empty_, empty_ + plan_.n_slots, record(size_));
  return size_++;
}

void Table::find(const uint64_t* codes, int n, int64_t** records) {
  if (!hashed_) {
    for (int i = 0; i < n; ++i) records[i] = record(codes[i]);
    return;
  }
  reserve(static_cast<uint64_t>(n));
  for (int i = 0; i < n; ++i) __builtin_prefetch(&index_[hash_of(codes[i]) >> shift_]);
  for (int i = 0; i < n; ++i) records[i] = record(place(codes[i]));
}

// Keeps the numbers of a block's rows, given the codes of their groups.
void Table::gather(const Block& block, const uint64_t* codes) {
  for (int k = 0; k < plan_.n_tasks; ++k) {
    const Task& task = plan_.tasks[k];
    if (task.operation != kGather) continue;
    GatheredRows*& to = filled_[static_cast<size_t>(k)];
    if (!to || !to->takes(block.n, block.weights)) to = gathered_->more(k, block.weights);
    with_reader(task.column, [&](const auto& reader, auto number) {
      for_numbers(block, reader, task.column.variable, number, [&](int i, auto value) {
        to->add(codes[i], bits_of(value), block.weights ? block.weights[i] : 1);
      });
    });
  }
}

void Table::add(const Block& block) {
  if (alone_) {
    if (!filled_.empty()) {
      static constexpr uint64_t none[kBlock] = {};
      gather(block, none);
    }
    for (int k = 0; k < plan_.n_tasks; ++k) {
      if (block.weights) run_alone<true>(plan_.tasks[k], block, record(0));
      else run_alone<false>(plan_.tasks[k], block, record(0));
    }
    return;
  }
  if (plan_.n_keys == 1 && !hashed_ && filled_.empty()) {
    int64_t* records[kBlock];
    int64_t* const base = record(0);
    const auto slots = static_cast<uint64_t>(plan_.n_slots);
    std::fill(records, records + block.n, base);
    with_codes(plan_.keys[0], block, [&](int i, uint64_t code) { records[i] = base + code * slots; });
    run_all(block, records);
    return;
  }
  uint64_t found[kBlock];
  codes(block, found);
  add(block, found);
}

void Table::codes(const Block& block, uint64_t* codes) const {
  std::fill(codes, codes + block.n, 0);
  for (int k = 0; k < plan_.n_keys; ++k) {
    for (int i = 0; k && i < block.n; ++i) codes[i] *= plan_.keys[k].places;
    with_codes(plan_.keys[k], block, [&](int i, uint64_t code) { codes[i] += code; });
  }
}

void Table::add(const Block& block, const uint64_t* codes) {
  int64_t* records[kBlock];
  find(codes, block.n, records);
  if (!filled_.empty()) gather(block, codes);
  run_all(block, records);
}

void Table::run_all(const Block& block, int64_t* const* records) const {
  for (int k = 0; k < plan_.n_tasks; ++k) {
    if (block.weights) run<true>(plan_.tasks[k], block, records);
    else run<false>(plan_.tasks[k], block, records);
  }
}

void Table::combine(int64_t* to, const int64_t* from, int first, int last) const {
  for (int k = 0; k < plan_.n_tasks; ++k) {
    const Task& task = plan_.tasks[k];
    const int end = std::min(last, task.slot + task.digits);
    for (int s = std::max(first, task.slot); s < end; ++s) switch (task.operation) {
      case kMin: to[s] = std::min(to[s], from[s]); break;
      case kMax: to[s] = std::max(to[s], from[s]); break;
      case kDistinct: to[s] |= from[s]; break;
      default: to[s] += from[s];
    }
  }
}

void Table::merge(const Table& other, uint64_t begin, uint64_t end) {
  const auto slots = static_cast<uint64_t>(plan_.n_slots);
  for (uint64_t g = begin / slots; g * slots < end; ++g) {
    if (!other.record(g)[0]) continue;
    const uint64_t first = std::max(begin, g * slots) - g * slots, last = std::min(end, (g + 1) * slots) - g * slots;
    combine(record(g), other.record(g), static_cast<int>(first), static_cast<int>(last));
  }
}

void Table::merge(const Table& other, const uint32_t* some, size_t n) {
  if (!hashed_) {
    for (size_t k = 0; k < n; ++k) combine(record(other.codes_[some[k]]), other.record(some[k]), 0, plan_.n_slots);
    return;
  }
  reserve(n);
  for (size_t begin = 0; begin < n; begin += kAhead) {
    const size_t end = std::min(n, begin + kAhead);
    for (size_t k = begin; k < end; ++k) __builtin_prefetch(&index_[hash_of(other.codes_[some[k]]) >> shift_]);
    for (size_t k = begin; k < end; ++k) combine(record(place(other.codes_[some[k]])), other.record(some[k]), 0, plan_.n_slots);
  }
}

void Table::clear() {
  size_ = 0;
  std::fill(index_.begin(), index_.end(), 0);
}

Fold::Fold(const Plan& given, Control* control)
    : keys(given.keys, given.keys + given.n_keys), tasks(given.tasks, given.tasks + given.n_tasks),
      empty(static_cast<size_t>(given.n_slots)), plan(given), control(control), charge(control), gathered(charge) {
  plan.keys = keys.data();
  plan.tasks = tasks.data();
  for (const Task& task : tasks) {
    if (task.operation == kMin) empty[static_cast<size_t>(task.slot)] = INT64_MAX;
    if (task.operation == kMax) empty[static_cast<size_t>(task.slot)] = INT64_MIN;
  }
  table = std::make_unique<Table>(plan, empty.data(), control, charge, plan.hashed != 0, &gathered);
}

bool Fold::counts(const int64_t* weights, uint64_t n) {
  unsigned __int128 sum = 0;
  if (weights) for (uint64_t i = 0; i < n; ++i) sum += static_cast<uint64_t>(weights[i]);
  else sum += n;
  if (sum > plan.most) return false;
  const auto more = static_cast<uint64_t>(sum);
  if (__atomic_add_fetch(&total, more, __ATOMIC_RELAXED) <= plan.most) return true;
  __atomic_sub_fetch(&total, more, __ATOMIC_RELAXED);
  return false;
}

void Fold::begin_shards() {
  std::call_once(sharing, [&] {
    while (plan.places >> range_bits >= kShards) ++range_bits;
    for (size_t k = 0; k < kShards; ++k) {
      auto& shard = *shards.emplace_back(std::make_unique<Shard>());
      if (plan.hashed) shard.made = std::make_unique<Table>(plan, empty.data(), control, charge, true);
      shard.table = plan.hashed ? shard.made.get() : table.get();
    }
  });
}

void Fold::share(const Table& from, size_t first) {
  begin_shards();
  const auto n = static_cast<size_t>(from.size());
  if (n == 0) return;
  const auto shard = [&](size_t g) { return shard_of(from.code(g)); };
  std::vector<uint32_t> some(n);
  size_t ends[kShards + 1] = {};
  for (size_t g = 0; g < n; ++g) ++ends[shard(g) + 1];
  for (size_t k = 0; k < kShards; ++k) ends[k + 1] += ends[k];
  size_t at[kShards];
  std::copy(ends, ends + kShards, at);
  for (size_t g = 0; g < n; ++g) some[at[shard(g)]++] = static_cast<uint32_t>(g);
  for (size_t k = 0; k < kShards; ++k) {
    const size_t mine = (first + k) % kShards, count = ends[mine + 1] - ends[mine];
    if (count == 0) continue;
    std::lock_guard<std::mutex> lock(shards[mine]->mutex);
    shards[mine]->table->merge(from, some.data() + ends[mine], count);
  }
}

}  // namespace qe::fold
