// Checks the blocks and the lists of a saved graph before anything else reads them: checksum and structure in one pass
// over each block while it is in the cache, on all threads.
//
// A row index passes only in the very form that forms.py writes: its rows tile [0, n_entries) in the order in which they
// stand, so no look-up leaves the array, meets a vertex twice, or goes round in overflow groups.
#include "load/saved_lists.h"

#include <atomic>
#include <mutex>
#include <vector>

#include "base/isa.h"
#include "base/stop.h"
#include "base/workers.h"

namespace {

using namespace qe;

constexpr uint64_t kRun = 1024;  // entries that are checked at a time; their owners stay in the first-level cache
constexpr uint64_t kLanes = 16;  // owners that are written at a time: of most lists all, without a branch
constexpr uint32_t kStartMix = 0x9E3779B1u, kEndMix = 0x85EBCA77u, kIdMix = 0xC2B2AE3Du;

// What the threads have found: the fault of the least place wins, so that errors repeat themselves.
class Findings {
 public:
  void report(int32_t fault, uint64_t place) {
    std::lock_guard<std::mutex> held(lock_);
    if (fault_ == kNoFault || place < place_) fault_ = fault, place_ = place;
    any_ = true;
  }
  bool any() const { return any_; }
  int32_t fault() const { return fault_; }
  uint64_t place() const { return place_; }

 private:
  std::mutex lock_;
  std::atomic<bool> any_{false};
  int32_t fault_ = kNoFault;
  uint64_t place_ = 0;
};

// Calls work(part) for all parts on the threads of the control, until one reports or all must stop. Parts that were done
// before, for which work is false, take no time and don't stop it.
template <class Work>
Status each_part(uint64_t parts, const Control* control, const Findings& findings, Work&& work) {
  std::atomic<uint64_t> next{0};
  std::atomic<int32_t> status{kOk};
  const int threads = static_cast<int>(std::min<uint64_t>(std::max(control->threads, 1), parts));
  const Status failed = run_workers(threads, [&](int) {
    for (uint64_t part; !findings.any() && status == kOk && (part = next++) < parts;) {
      if (!work(part) || part + 1 == parts) continue;
      if (const Status now = stopped(control)) status = now;
    }
  });
  return failed ? failed : static_cast<Status>(status.load());
}

Status check_blocks(const SavedBlocks& file, uint64_t begin, uint64_t end, const Control* control, Findings& findings) {
  if (begin >= end || file.checksums == nullptr) return kOk;
  const uint64_t first = begin / kSavedBlock, last = (end - 1) / kSavedBlock;
  return each_part(last - first + 1, control, findings, [&](uint64_t part) {
    if (__atomic_load_n(file.done + first + part, __ATOMIC_RELAXED)) return false;
    if (!right_block(file, first + part)) findings.report(kWrongChecksum, first + part);
    return true;
  });
}

// The part of an array of `n` values at `array` that stands in one block of the file, and that block.
struct Part {
  uint64_t begin, end, block;
};

Part part_of(const SavedBlocks& file, const void* array, uint64_t size, uint64_t n, uint64_t part) {
  const uint64_t at = static_cast<const unsigned char*>(array) - file.data, block = at / kSavedBlock + part;
  const uint64_t low = std::max(at, block * kSavedBlock), high = std::min(at + size * n, (block + 1) * kSavedBlock);
  return {(low - at) / size, (high - at) / size, block};
}

uint64_t parts_of(const SavedBlocks& file, const void* array, uint64_t size, uint64_t n) {
  if (n == 0) return 0;
  const uint64_t at = static_cast<const unsigned char*>(array) - file.data;
  return (at + size * n - 1) / kSavedBlock - at / kSavedBlock + 1;
}

// Checks that values ascend from `first` to `last`, each by `step` at least.
template <class Number>
Status check_ascent(const SavedBlocks& file, const Number* values, uint64_t n, Number first, Number last, Number step,
                    const Control* control, Findings& findings) {
  return each_part(parts_of(file, values, sizeof(Number), n), control, findings, [&](uint64_t number) {
    const Part part = part_of(file, values, sizeof(Number), n, number);
    if (!right_block(file, part.block)) {
      findings.report(kWrongChecksum, part.block);
      return true;
    }
    uint32_t wrong = part.begin == 0 && values[0] != first;
    wrong |= part.end == n && values[n - 1] != last;
    for (uint64_t i = std::max<uint64_t>(part.begin, 1); i < part.end; ++i)
      wrong |= values[i] < values[i - 1] || values[i] - values[i - 1] < step;
    if (wrong) findings.report(kWrongIndex, part.begin);
    return true;
  });
}

// Rows in the order of their lists: owners (null: first, first + 1, ...) and where the lists begin.
struct RowsInOrder {
  const uint32_t* owners = nullptr;
  uint32_t first = 0;
  const uint64_t* offsets = nullptr;
  uint64_t n = 0;

  uint32_t owner(uint64_t row) const { return owners == nullptr ? first + static_cast<uint32_t>(row) : owners[row]; }
};

struct Flat {
  std::vector<uint32_t> owners;
  std::vector<uint64_t> offsets;
};

// Checks hashed groups, and lays their rows out. Returns kNoVertex, or the number of the first wrong group.
uint64_t flatten(const SavedLists& saved, Flat& flat) {
  const Pcsr& lists = saved.lists;
  uint64_t next = lists.n_keys, end = 0;  // the next overflow group, where the next list begins
  uint32_t least = kNoVertex, most = 0;
  for (uint32_t home = 0; home < lists.n_keys; ++home) {
    int64_t before = -1;
    for (uint64_t g = home;;) {
      const PcsrGroup& group = lists.groups[g];
      int used = 0;
      for (; used < kGroupPairs && group.pair[used].vertex != kNoVertex; ++used) {
        const uint32_t vertex = group.pair[used].vertex;
        if (vertex <= before || group_hash(vertex, lists.n_keys) != home) return g;
        if (used == 0 ? group.pair[0].offset != end : group.pair[used].offset <= flat.offsets.back()) return g;
        before = vertex;
        least = std::min(least, vertex);
        most = std::max(most, vertex);
        flat.owners.push_back(vertex);
        flat.offsets.push_back(group.pair[used].offset);
      }
      for (int i = used; i < kGroupPairs; ++i)
        if (group.pair[i].vertex != kNoVertex) return g;
      if (used == 0 && g != home) return g;
      if (used > 0) {
        if (group.end <= flat.offsets.back()) return g;
        end = group.end;
      }
      if (group.link == kNoVertex) break;
      if (used < kGroupPairs || group.link != next || next >= saved.n_groups) return g;
      g = next++;
    }
  }
  const bool whole = next == saved.n_groups && end == lists.n_entries;
  const bool fits = flat.owners.empty() ? lists.lo == lists.hi : least == lists.lo && most == lists.hi - 1;
  flat.offsets.push_back(end);
  return whole && fits ? kNoVertex : 0;
}

Status check_index(const SavedLists& saved, Flat& flat, RowsInOrder& rows, const Control* control, Findings& findings) {
  const Pcsr& lists = saved.lists;
  const uint64_t entries = lists.n_entries;
  if (lists.form == kDense) {
    rows = {nullptr, lists.lo, lists.offsets, lists.hi - lists.lo};
    return check_ascent<uint64_t>(saved.file, lists.offsets, rows.n + 1, 0, entries, 0, control, findings);
  }
  if (lists.form == kSorted) {
    rows = {lists.keys, 0, lists.offsets, lists.n_keys};
    const Status status = check_ascent<uint64_t>(saved.file, lists.offsets, rows.n + 1, 0, entries, 1, control, findings);
    if (status != kOk || findings.any()) return status;
    return check_ascent<uint32_t>(saved.file, lists.keys, rows.n, lists.lo, lists.hi - 1, 1, control, findings);
  }
  const uint64_t begin = reinterpret_cast<const unsigned char*>(lists.groups) - saved.file.data;
  const Status status = check_blocks(saved.file, begin, begin + sizeof(PcsrGroup) * saved.n_groups, control, findings);
  if (status != kOk || findings.any()) return status;
  const uint64_t wrong = flatten(saved, flat);
  if (wrong != kNoVertex) findings.report(kWrongIndex, wrong);
  rows = {flat.owners.data(), 0, flat.offsets.data(), flat.owners.size()};
  return kOk;
}

struct Sums {
  uint64_t digests[2] = {0, 0};
  uint32_t unsorted = 0, outside = 0, looped = 0, wrong_id = 0;
};

// Checks entries [at, at + n). owners[i + 1] owns entry i of them, owners[0] the entry before if `inside`.
template <int32_t kIds, bool kBothWays>
__attribute__((always_inline)) inline void check_run(const SavedLists& saved, const uint32_t* owners, uint64_t at, uint64_t n,
                                                     Sums& sums) {
  const uint32_t* neighbours = saved.lists.neighbours + at;
  const uint32_t* ids = kIds == kStored ? saved.lists.edge_ids + at : nullptr;
  const uint32_t low = saved.low, span = saved.high - saved.low, repeats = saved.parallel ? 0 : 1;
  const uint32_t owner_mix = saved.turned ? kEndMix : kStartMix, neighbour_mix = saved.turned ? kStartMix : kEndMix;
  const uint32_t last_id = static_cast<uint32_t>(std::max<uint64_t>(saved.n_ids, 1) - 1), first = static_cast<uint32_t>(at);
  uint32_t unsorted = 0, outside = 0, looped = 0, wrong_id = 0;
  uint64_t digest = 0, back = 0;
  for (uint64_t i = at == 0 ? 1 : 0; i < n; ++i)  // entry 0 has none before it
    unsorted |= static_cast<uint32_t>(owners[i] == owners[i + 1]) & static_cast<uint32_t>(neighbours[i] < neighbours[static_cast<int64_t>(i) - 1] + repeats);
  for (uint64_t i = 0; i < n; ++i) {
    const uint32_t owner = owners[i + 1], neighbour = neighbours[i];
    outside |= static_cast<uint32_t>(neighbour - low >= span);
    looped |= static_cast<uint32_t>(neighbour == owner);
    uint32_t id = 0;
    if (kIds == kPositions) id = first + static_cast<uint32_t>(i);
    if (kIds == kStored) id = ids[i], wrong_id |= static_cast<uint32_t>(id > last_id);
    const uint32_t mixed = (owner * owner_mix ^ neighbour * neighbour_mix) + id * kIdMix;
    digest += static_cast<uint64_t>(mixed) * mixed;
    if (kBothWays) {
      const uint32_t other = (neighbour * owner_mix ^ owner * neighbour_mix) + id * kIdMix;
      back += neighbour == owner ? 0 : static_cast<uint64_t>(other) * other;
    }
  }
  sums.unsorted |= unsorted;
  sums.outside |= outside;
  sums.looped |= looped;
  sums.wrong_id |= wrong_id;
  sums.digests[0] += digest;
  sums.digests[1] += back;
}

template <int32_t kIds, bool kBothWays>
__attribute__((always_inline)) inline void check_part(const SavedLists& saved, const RowsInOrder& rows, uint64_t begin,
                                                      uint64_t end, Sums& sums) {
  uint32_t owners[kRun + 1 + kLanes];
  uint64_t row = std::upper_bound(rows.offsets, rows.offsets + rows.n + 1, begin) - rows.offsets - 1;
  owners[0] = kNoVertex;  // a list that begins with the part has no entry before it
  if (begin > rows.offsets[row]) owners[0] = rows.owner(row);
  for (uint64_t at = begin; at < end;) {
    const uint64_t n = std::min(kRun, end - at);
    for (uint64_t filled = 0; filled < n;) {
      const uint64_t stop = rows.offsets[row + 1] - at, until = std::min(stop, n);
      const uint32_t owner = rows.owner(row);
      for (uint64_t k = 0; k < kLanes; ++k) owners[1 + filled + k] = owner;
      for (filled += kLanes; filled < until; filled += kLanes)
        for (uint64_t k = 0; k < kLanes; ++k) owners[1 + filled + k] = owner;
      filled = until;
      row += stop <= n;
    }
    check_run<kIds, kBothWays>(saved, owners, at, n, sums);
    owners[0] = owners[n];
    at += n;
  }
}

__attribute__((always_inline)) inline void check_any_part(const SavedLists& saved, const RowsInOrder& rows, uint64_t begin,
                                                          uint64_t end, Sums& sums) {
  if (saved.both_ways) {
    if (saved.ids == kPositions) return check_part<kPositions, true>(saved, rows, begin, end, sums);
    return check_part<kWithoutIds, true>(saved, rows, begin, end, sums);
  }
  if (saved.ids == kPositions) return check_part<kPositions, false>(saved, rows, begin, end, sums);
  if (saved.ids == kStored) return check_part<kStored, false>(saved, rows, begin, end, sums);
  return check_part<kWithoutIds, false>(saved, rows, begin, end, sums);
}

using CheckPart = void (*)(const SavedLists&, const RowsInOrder&, uint64_t, uint64_t, Sums&);

void check_baseline(const SavedLists& saved, const RowsInOrder& rows, uint64_t begin, uint64_t end, Sums& sums) {
  check_any_part(saved, rows, begin, end, sums);
}

#if defined(QE_X86)
QE_AVX2 void check_avx2(const SavedLists& saved, const RowsInOrder& rows, uint64_t begin, uint64_t end, Sums& sums) {
  check_any_part(saved, rows, begin, end, sums);
}

QE_AVX512 void check_avx512(const SavedLists& saved, const RowsInOrder& rows, uint64_t begin, uint64_t end, Sums& sums) {
  check_any_part(saved, rows, begin, end, sums);
}
#endif

CheckPart chosen() {
#if defined(QE_X86)
  if (current_isa() == kAvx512) return check_avx512;
  if (current_isa() == kAvx2) return check_avx2;
#endif
  return check_baseline;
}

// Compares the checksums of the blocks of stored ids that begin where those of entries [begin, end) stand.
bool right_ids(const SavedLists& saved, uint64_t begin, uint64_t end, Findings& findings) {
  const uint64_t at = reinterpret_cast<const unsigned char*>(saved.lists.edge_ids) - saved.file.data;
  const uint64_t first = begin == 0 ? at / kSavedBlock : (at + 4 * begin + kSavedBlock - 1) / kSavedBlock;
  for (uint64_t block = first; block * kSavedBlock < at + 4 * end; ++block) {
    if (right_block(saved.file, block)) continue;
    findings.report(kWrongChecksum, block);
    return false;
  }
  return true;
}

void check_entries_of(const SavedLists& saved, const RowsInOrder& rows, CheckPart check, uint64_t number, Findings& findings) {
  const Part part = part_of(saved.file, saved.lists.neighbours, sizeof(uint32_t), saved.lists.n_entries, number);
  if (!right_block(saved.file, part.block)) return findings.report(kWrongChecksum, part.block);
  if (saved.lists.edge_ids != nullptr && !right_ids(saved, part.begin, part.end, findings)) return;
  Sums sums;
  check(saved, rows, part.begin, part.end, sums);
  if (sums.unsorted) return findings.report(kUnsorted, part.begin);
  if (sums.outside) return findings.report(kOutside, part.begin);
  if (sums.looped && !saved.loops) return findings.report(kLoop, part.begin);
  if (sums.wrong_id) return findings.report(kWrongId, part.begin);
  saved.parts_digests[2 * number] = sums.digests[0];
  saved.parts_digests[2 * number + 1] = sums.digests[1];
  saved.parts_done[number] = 1;
}

Status check_entries(const SavedLists& saved, const RowsInOrder& rows, const Control* control, Findings& findings) {
  const CheckPart check = chosen();
  return each_part(entry_parts(saved), control, findings, [&](uint64_t number) {
    if (saved.parts_done[number]) return false;
    check_entries_of(saved, rows, check, number, findings);
    return true;
  });
}

}  // namespace

// Compares the checksums of the blocks that hold bytes [begin, end). *wrong: the first wrong one, UINT64_MAX for none.
QE_API int32_t qe_check_blocks(const SavedBlocks* file, uint64_t begin, uint64_t end, uint64_t* wrong, const Control* control) {
  Findings findings;
  const Status status = check_blocks(*file, begin, end, control, findings);
  *wrong = findings.any() ? findings.place() : UINT64_MAX;
  return status;
}

// Writes the checksum of each block of data[n].
QE_API int32_t qe_block_checksums(const unsigned char* data, uint64_t n, uint64_t* checksums) {
  for (uint64_t begin = 0; begin < n; begin += kSavedBlock) {
    const uint64_t size = std::min(kSavedBlock, n - begin);
    uint64_t state[kChecksumLanes] = {};
    checksums[begin / kSavedBlock] = checksum(state, data + begin, size, size);
  }
  return kOk;
}

// Checks the lists; kOk with a fault where they are wrong.
QE_API int32_t qe_check_lists(SavedLists* saved, const Control* control) {
  try {
    Findings findings;
    Flat flat;
    RowsInOrder rows;
    saved->digests[0] = saved->digests[1] = 0;
    Status status = check_index(*saved, flat, rows, control, findings);
    if (status == kOk && !findings.any()) status = check_entries(*saved, rows, control, findings);
    saved->fault = findings.fault();
    saved->place = findings.place();
    for (uint64_t part = 0; part < 2 * entry_parts(*saved); ++part) saved->digests[part % 2] += saved->parts_digests[part];
    return status;
  } catch (const std::bad_alloc&) {
    return kOutOfMemory;
  }
}
