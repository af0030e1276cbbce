// Counts cliques and their like: chains of levels whose candidates all lie among one root's, each a member of the list of
// every one before.
//
// Problem: U is the root's slice, numbered 0..d-1 by id; row i of a square bit matrix M holds which members of U are in the
// slice of the i-th. Counted are chains i, j, k, ... of QE_DEPTH members, each in the rows of all before it.
// The last three levels are sum over i and j in row i of |row i AND row j|: a product of bit matrices, M times its
// transpose, masked by M, which the tensor cores do 16 x 8 x 256 bits at a time. Levels before those restrict M to a row:
// members of the row are renumbered, so that the matrix shrinks with each level.
// QE_STRIDE: words of a row, an odd multiple of 8 (rows then start in different banks): d <= 32 * QE_STRIDE.
// QE_TRIANGULAR: row i holds only members before i. Shared memory: the matrix, the rank of each mark, and a matrix of
// QE_SMALL members a warp and level beyond three (at QE_DEPTH 5 and more as many as the matrix); QE_WIDE: the matrices in
// global memory.
// Bytes moved: each member's slice once a root.
// Limit: building M, as the look-ups of count_edges; the product takes d^3 / 6 bit operations, 32,768 an instruction.
// Source: per-root adjacency (Danisch et al. 2018), bitmaps (gMatch §4), binary tensor cores (NVIDIA PTX ISA, mma .b1).
#include "base/bit_product.cuh"
#include "count/count.cuh"

#ifndef QE_DEPTH
#define QE_DEPTH 3
#define QE_STRIDE 8
#define QE_TRIANGULAR 1
#define QE_SMALL 256
#endif

namespace qe {

constexpr uint32_t kStride = QE_STRIDE;
constexpr uint32_t kSmall = QE_SMALL;      // members of a matrix that one warp restricts
constexpr uint32_t kSmallStride = ((kSmall + 255) / 256 | 1) * 8;
static_assert(kSmall % 16 == 0, "whole strips");
constexpr int kSmallLevels = QE_DEPTH > 3 ? QE_DEPTH - 3 : 0;
constexpr uint32_t kSmallWords = kSmall * kSmallStride + kSmall / 2;  // a matrix and its members' numbers

struct CliqueTask {
  const uint32_t* roots;
  const uint32_t* n_roots;
  uint32_t* next;
  StopFlag stop;
  View outer, streamed;
  uint32_t base, hub_words;
  uint32_t table;      // slots of the hash table, a power of two, at least twice the members
  uint32_t capacity;   // members that the matrix has room for, a multiple of 16
  uint32_t* scratch;   // QE_WIDE: capacity * kStride words a block
  unsigned long long* total;
};

// Whether one step on a matrix of such rows takes so long that the stop flag is looked at within.
template <uint32_t Stride>
constexpr bool kLong = Stride > 24;

// Chains of three in a matrix of d members whose rows are zero from d to the next multiple of 16; the calling warp takes
// every step-th strip of 16 rows from `first` on. Every lane returns its part.
template <uint32_t Stride>
__device__ uint64_t count_three(const uint32_t* matrix, uint32_t d, uint32_t first, uint32_t step, TeamQueue& queue) {
  const uint32_t lane = threadIdx.x % kWarp, group = lane / 4, quarter = lane % 4;
  constexpr uint32_t kSteps = Stride / 8;
  uint64_t found = 0;
  const uint32_t strips = (d + 15) / 16;
  for (uint32_t k = first; k < strips; k += step) {
    if (kLong<Stride> && queue.stopped()) break;
    const uint32_t strip = strips - 1 - k;  // the longest first
    const uint32_t* one = matrix + (strip * 16 + group) * Stride;
    const uint32_t* other = one + 8 * Stride;
    uint32_t a[kSteps][4];
#pragma unroll
    for (uint32_t s = 0; s < kSteps; ++s) {
      const uint2 upper = *reinterpret_cast<const uint2*>(one + 8 * s + 2 * quarter);
      const uint2 lower = *reinterpret_cast<const uint2*>(other + 8 * s + 2 * quarter);
      a[s][0] = upper.x, a[s][1] = lower.x, a[s][2] = upper.y, a[s][3] = lower.y;
    }
    const uint32_t columns = QE_TRIANGULAR ? min(d, strip * 16 + 15) : d;
    uint32_t part = 0;
    for (uint32_t word = 0; word * 32 < columns; ++word) {
      const uint32_t mask_one = one[word], mask_other = other[word];
      if (!__any_sync(kFull, mask_one | mask_other)) continue;
#pragma unroll
      for (uint32_t eighth = 0; eighth < 4; ++eighth) {
        const uint32_t column = word * 32 + eighth * 8;
        if (column >= columns) break;
        int32_t c[4] = {0, 0, 0, 0};
        const uint32_t* row = matrix + (column + group) * Stride + 2 * quarter;
#pragma unroll
        for (uint32_t s = 0; s < kSteps; ++s) {
          if (QE_TRIANGULAR && s > 0 && 256 * s > column + 7) break;
          const uint2 pair = *reinterpret_cast<const uint2*>(row + 8 * s);
          const uint32_t b[2] = {pair.x, pair.y};
          multiply_bits(c, a[s], b);
        }
        const uint32_t shift = eighth * 8 + 2 * quarter;
        part += (mask_one >> shift & 1 ? c[0] : 0) + (mask_one >> shift & 2 ? c[1] : 0);
        part += (mask_other >> shift & 1 ? c[2] : 0) + (mask_other >> shift & 2 ? c[3] : 0);
      }
    }
    found += part;
  }
  return found;
}

// The members of a row of bits, as numbers; returns how many. All lanes of a warp call it; `members` holds at most `room`.
__device__ inline uint32_t list_members(const uint32_t* row, uint32_t words, uint16_t* members, uint32_t room) {
  const uint32_t lane = threadIdx.x % kWarp;
  uint32_t n = 0;
  for (uint32_t first = 0; first < words; first += kWarp) {
    uint32_t word = first + lane < words ? row[first + lane] : 0;
    uint32_t before = __popc(word);
    for (int step = 1; step < 32; step *= 2) {
      const uint32_t more = __shfl_up_sync(kFull, before, step);
      if (lane >= step) before += more;
    }
    const uint32_t all = __shfl_sync(kFull, before, 31);
    uint32_t place = n + before - __popc(word);
    for (; word != 0; word &= word - 1, ++place)
      if (place < room) members[place] = static_cast<uint16_t>((first + lane) * 32 + __ffs(word) - 1);
    n += all;
  }
  return n;
}

__device__ inline uint32_t row_size(const uint32_t* row, uint32_t words) {
  uint32_t n = 0;
  for (uint32_t w = threadIdx.x % kWarp; w < words; w += kWarp) n += __popc(row[w]);
  return sum_over(n);
}

// The matrix restricted to n of its members, strips of four rows first, first + step, ... of the smaller one, padded with
// zeros. Each lane looks up its own columns; votes put them together.
template <uint32_t From, uint32_t To>
__device__ void restrict_matrix(const uint32_t* matrix, const uint16_t* members, uint32_t n, uint32_t* smaller,
                                uint32_t first, uint32_t step, TeamQueue& queue) {
  constexpr uint32_t kRows = 4;
  constexpr uint32_t kGroups = To < 8 ? To : 8;  // of 32 columns whose numbers are kept in registers
  const uint32_t lane = threadIdx.x % kWarp, padded = (n + 15) / 16 * 16;
  for (uint32_t columns = 0; columns < 32 * To; columns += 32 * kGroups) {
    if (kLong<To> && queue.stopped()) return;
    uint32_t numbers[kGroups];
#pragma unroll
    for (uint32_t g = 0; g < kGroups; ++g) {
      const uint32_t column = columns + 32 * g + lane;
      numbers[g] = column < n ? members[column] : kEmpty;
    }
    for (uint32_t strip = first * kRows; strip < padded; strip += step * kRows) {
      const uint32_t stop = QE_TRIANGULAR ? min(n, strip + kRows) : n;
      uint32_t mine[kRows] = {};
      const uint32_t* rows[kRows];
#pragma unroll
      for (uint32_t r = 0; r < kRows; ++r) rows[r] = strip + r < n ? matrix + members[strip + r] * From : nullptr;
#pragma unroll
      for (uint32_t g = 0; g < kGroups; ++g) {
        if (columns + 32 * g >= stop) break;
        const uint32_t number = numbers[g];
#pragma unroll
        for (uint32_t r = 0; r < kRows; ++r) {
          const bool bit = number != kEmpty && rows[r] && rows[r][number / 32] >> number % 32 & 1;
          const uint32_t word = __ballot_sync(kFull, bit);
          if (lane == g) mine[r] = word;
        }
      }
#pragma unroll
      for (uint32_t r = 0; r < kRows; ++r)
        if (lane < kGroups) smaller[(strip + r) * To + columns / 32 + lane] = mine[r];
    }
  }
}

// Chains of Levels members in a matrix of at most kSmall members, by one warp with its own scratch.
template <int Levels>
__device__ uint64_t count_small(const uint32_t* matrix, uint32_t d, uint32_t* scratch, TeamQueue& queue) {
  if constexpr (Levels == 3) {
    return count_three<kSmallStride>(matrix, d, 0, 1, queue);
  } else {
    uint16_t* members = reinterpret_cast<uint16_t*>(scratch + kSmall * kSmallStride);
    uint64_t found = 0;
    for (uint32_t i = 0; i < d && !queue.stopped(); ++i) {
      const uint32_t* row = matrix + i * kSmallStride;
      const uint32_t n = list_members(row, (d + 31) / 32, members, kSmall);
      if (n < Levels - 1) continue;
      __syncwarp();
      restrict_matrix<kSmallStride, kSmallStride>(matrix, members, n, scratch, 0, 1, queue);
      __syncwarp();
      found += count_small<Levels - 1>(scratch, n, scratch + kSmallWords, queue);
      __syncwarp();
    }
    return found;
  }
}

// Chains of QE_DEPTH members in the team's matrix. small: the warp's scratch. large: the team's, as big as the matrix.
__device__ uint64_t count_chains(const uint32_t* matrix, uint32_t d, uint32_t* small, uint32_t* large, TeamQueue& queue) {
#if QE_DEPTH == 3
  return count_three<kStride>(matrix, d, team_warp(), team_warps(), queue);
#else
  uint16_t* members = reinterpret_cast<uint16_t*>(small + kSmall * kSmallStride);
  const uint32_t words = (d + 31) / 32;
  uint64_t found = 0;
  bool larger = false;
  for (uint32_t k = team_warp(); k < d && !queue.stopped(); k += team_warps()) {
    const uint32_t* row = matrix + (d - 1 - k) * kStride;
    const uint32_t n = list_members(row, words, members, kSmall);
    larger = larger || n > kSmall;
    if (n < QE_DEPTH - 1 || n > kSmall) continue;
    __syncwarp();
    restrict_matrix<kStride, kSmallStride>(matrix, members, n, small, 0, 1, queue);
    __syncwarp();
    found += count_small<QE_DEPTH - 1>(small, n, small + kSmallWords, queue);
    __syncwarp();
  }
#if QE_DEPTH == 4 && !defined(QE_TEAM_WARP)
  // Rows of more members, by the whole block, in the place of all warps' scratch.
  if (__syncthreads_or(larger)) {
    uint16_t* all = reinterpret_cast<uint16_t*>(large + ((d + 15) / 16 * 16) * kStride);
    for (uint32_t i = 0; i < d; ++i) {
      const uint32_t* row = matrix + i * kStride;
      const uint32_t n = row_size(row, words);
      if (i % kLookEvery == 0 && __syncthreads_or(queue.stopped())) break;
      if (n <= kSmall) continue;
      if (team_warp() == 0) list_members(row, words, all, d);
      if (__syncthreads_or(queue.stopped())) break;
      restrict_matrix<kStride, kStride>(matrix, all, n, large, team_warp(), team_warps(), queue);
      __syncthreads();
      found += count_three<kStride>(large, n, team_warp(), team_warps(), queue);
      __syncthreads();
    }
  }
#endif
  return found;
#endif
}

// Which number a vertex has among the root's members: by rank among the marks, or by the hash table.
struct Members {
  const uint32_t* bits;
  const uint16_t* ranks;  // of the first member in each word of marks
  const uint32_t* keys;
  const uint16_t* numbers;
  uint32_t base, range, mask;
  bool rest;

  // kEmpty: it is no member.
  __device__ uint32_t number(uint32_t id) const {
    const uint32_t bit = id - base;
    if (bit < range) {
      const uint32_t marked = bits[bit / 32];
      return marked >> bit % 32 & 1 ? ranks[bit / 32] + __popc(marked & ((1u << bit % 32) - 1)) : kEmpty;
    }
    if (!rest) return kEmpty;
    for (uint32_t slot = id & mask;; slot = (slot + 1) & mask) {
      const uint32_t key = keys[slot];
      if (key == id) return numbers[slot];
      if (key == kEmpty) return kEmpty;
    }
  }
};

// A wide strip would take more registers than a block of 512 threads has.
#if QE_STRIDE > 64
#define QE_BOUNDS __launch_bounds__(512)
#else
#define QE_BOUNDS
#endif

extern "C" __global__ void QE_BOUNDS count_cliques(const CliqueTask task) {
  QE_SHARED(uint32_t, shared);
  __shared__ uint32_t piece;
  // words of one team: matrix, scratch, marks, ranks of marks, hash table's keys and numbers
  const uint32_t matrix_words = task.capacity * kStride;
  uint32_t scratch_words = team_warps() * kSmallLevels * kSmallWords;
#if QE_DEPTH == 4 && !defined(QE_TEAM_WARP)
  scratch_words = max(scratch_words, matrix_words + task.capacity / 2);
#endif
  uint32_t* mine = shared;
#ifdef QE_WIDE
  uint32_t* matrix = task.scratch + size_t{blockIdx.x} * (matrix_words + scratch_words);
  uint32_t* scratch = matrix + matrix_words;
#else
  mine += team_in_block() * (matrix_words + scratch_words + task.hub_words + task.hub_words / 2 + task.table + task.table / 2);
  uint32_t* matrix = mine;
  uint32_t* scratch = matrix + matrix_words;
  mine = scratch + scratch_words;
#endif
  uint32_t* bits = mine;
  uint32_t* keys = bits + task.hub_words;
  uint16_t* ranks = reinterpret_cast<uint16_t*>(keys + task.table);
  uint16_t* numbers = ranks + task.hub_words;
  const uint32_t mask = task.table - 1, range = 32 * task.hub_words;
  const uint32_t lane = threadIdx.x % kWarp, n_roots = *task.n_roots;
  for (uint32_t i = team_rank(); i < task.hub_words; i += team_size()) bits[i] = 0;
  for (uint32_t i = team_rank(); i < task.table; i += team_size()) keys[i] = kEmpty;
  Sum sum;
  TeamQueue queue(task.next, n_roots, task.stop);
  while (true) {
    team_sync();
    const uint32_t at = queue.take(&piece);
    if (at >= n_roots) break;
    const uint32_t root = task.roots[at];
    const ViewSlice outer = task.outer.slices[root];
    const uint32_t d = outer.end - outer.begin;
    const uint32_t* list = task.outer.neighbours + outer.begin;
    const bool rest = list[d - 1] - task.base >= range;
    for (uint32_t i = team_rank(); i < (d + 15) / 16 * 16 * kStride; i += team_size()) matrix[i] = 0;
    for (uint32_t i = team_rank(); i < d; i += team_size()) {
      const uint32_t id = list[i], bit = id - task.base;
      if (bit < range) {
        atomicOr(&bits[bit / 32], 1u << bit % 32);
        if (i == 0 || (list[i - 1] - task.base) / 32 != bit / 32) ranks[bit / 32] = static_cast<uint16_t>(i);
      } else {
        uint32_t slot = id & mask;
        while (atomicCAS(&keys[slot], kEmpty, id) != kEmpty) slot = (slot + 1) & mask;
        numbers[slot] = static_cast<uint16_t>(i);
      }
    }
    team_sync();
    const Members members{bits, ranks, keys, numbers, task.base, range, mask, rest};
    const uint32_t step = team_warps();
    for (uint32_t first = team_warp(); first < d && !queue.stopped_from(first, kWarp * step); first += kWarp * step) {
      ViewSlice slice{0, 0, 0, 0, 0};
      uint32_t v = 0;
      if (first + lane * step < d) {
        v = list[first + lane * step];
        slice = task.streamed.slices[v];
      }
      for (uint32_t left = __ballot_sync(kFull, slice.begin != slice.tail); left != 0; left &= left - 1) {
        const int k = __ffs(left) - 1;
        const uint32_t span = __shfl_sync(kFull, slice.first_word | slice.end_word << 16, k);
        const uint32_t* from = task.streamed.rows + size_t{__shfl_sync(kFull, v, k) - task.base} * task.hub_words;
        uint32_t* row = matrix + (first + k * step) * kStride;
#pragma unroll 2
        for (uint32_t w = (span & 0xFFFF) + lane; w < span >> 16; w += kWarp) {
          const uint32_t marked = bits[w];
          uint32_t found = from[w] & marked, packed = 0;
          if (found == 0) continue;
          for (; found != 0; found &= found - 1) packed |= 1u << __popc(marked & ((found & -found) - 1));
          const uint32_t place = ranks[w];
          atomicOr(&row[place / 32], packed << place % 32);
          if (place % 32 != 0 && packed >> (32 - place % 32)) atomicOr(&row[place / 32 + 1], packed >> (32 - place % 32));
        }
      }
      const auto enter = [&](uint32_t k, uint32_t id) {
        const uint32_t number = members.number(id);
        if (number != kEmpty) atomicOr(&matrix[(first + k * step) * kStride + number / 32], 1u << number % 32);
      };
#ifdef QE_TEAM_WARP
      if (are_short(slice.end - slice.tail)) {
        each_id_of_short(task.streamed.neighbours, slice.tail, slice.end, enter);
        continue;
      }
#endif
      for (uint32_t left = __ballot_sync(kFull, slice.tail < slice.end); left != 0; left &= left - 1) {
        const int k = __ffs(left) - 1;
        each_id(task.streamed.neighbours, __shfl_sync(kFull, slice.tail, k), __shfl_sync(kFull, slice.end, k),
                queue.stop, [&](uint32_t id) { enter(k, id); });
      }
    }
    team_sync();
    sum.add(count_chains(matrix, d, scratch + team_warp() * kSmallLevels * kSmallWords, scratch, queue));
    team_sync();
    for (uint32_t i = team_rank(); i < d; i += team_size()) {
      const uint32_t bit = list[i] - task.base;
      if (bit < range) bits[bit / 32] = 0;
    }
    if (rest)
      for (uint32_t i = team_rank(); i < task.table; i += team_size()) keys[i] = kEmpty;
  }
  sum.flush(task.total);
}

}  // namespace qe
