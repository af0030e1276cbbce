// Prepares counting: slices of every vertex's list, rows of hubs, copies of lists, and the roots sorted into classes of size.
//
// Bytes moved: the row index and a few probes of each list; the lists of hubs once. A thread a vertex, a warp a hub.
#include "count/count.cuh"
#include "qe/lists.h"

namespace qe {

// Slices of the vertices [first, end): members in [lo, hi), less (greater) than the vertex where `below` (`above`).
// Members among the ids [base, base + 32 * hub_words) go into rows where a row takes fewer words to read than half of them.
struct SliceBounds {
  uint32_t first, end, lo, hi;
  int32_t below, above;
  uint32_t base, hub_words;
};

// Roots sorted into classes: classes[k * capacity ...] are those of class k, counts[k] says how many they are.
struct RootClasses {
  uint32_t* classes;
  uint32_t* counts;
  uint32_t capacity, unused;
};

extern "C" __global__ void slice_view(const Pcsr list, const SliceBounds bounds, ViewSlice* slices) {
  const uint32_t v = bounds.first + blockIdx.x * blockDim.x + threadIdx.x, base = bounds.base, hub_words = bounds.hub_words;
  if (v >= bounds.end) return;
  const Slice all = locate(list, v);
  const uint32_t hi = bounds.below && v < bounds.hi ? v : bounds.hi;
  const uint32_t lo = bounds.above && v + 1 > bounds.lo ? v + 1 : bounds.lo;
  const uint32_t* at = list.neighbours + all.begin;
  const size_t n = all.end - all.begin;
  const uint32_t begin = static_cast<uint32_t>(all.begin);
  ViewSlice made{begin, begin, begin, 0, 0};
  if (n > 0 && lo < hi) {
    const size_t skip = at[0] >= lo ? 0 : lower_bound(at, n, lo);
    const size_t stop = at[n - 1] < hi ? n : lower_bound(at, n, hi);
    if (skip < stop) {
      made.begin = made.tail = begin + static_cast<uint32_t>(skip);
      made.end = begin + static_cast<uint32_t>(stop);
      const uint32_t hub_end = base + 32 * hub_words;
      if (v >= base && v < hub_end) {
        const uint32_t cut = begin + static_cast<uint32_t>(lower_bound(at, stop, hub_end));
        const uint32_t words = (((hi < hub_end ? hi : hub_end) - base) + 31) / 32, skipped = lo > base ? (lo - base) / 32 : 0;
        if (cut > made.begin && 2 * (cut - made.begin) > words - skipped) {
          made.tail = cut;
          made.first_word = static_cast<uint16_t>(skipped);
          made.end_word = static_cast<uint16_t>(words);
        }
      }
    }
  }
  slices[v] = made;
}

// Parts of lists that are copied to the device, where they are members one after the other.
struct ListPiece {
  const uint32_t* first;       // the lists that the first `n_first` rows begin in
  const uint32_t* second;      // and those of the others
  const uint2* rows;           // of each part: its first entry's place there, and among the members
  const uint32_t* tiles;       // of each kTile members: the row of the first
  const uint4* slots;          // of each root: begin and end among the members of its marked, and of its outer slice
  ViewSlice *markeds, *outers;
  uint32_t* members;
  uint32_t n_rows, n_first, n_roots, n_members;
};

constexpr uint32_t kTile = 1024;

// Copies a piece, and makes slices of its roots. A warp a tile of members, so that long lists are copied by many; eight loads of
// each lane are under way at a time, for the link. Bytes moved: the members twice, the rest once.
extern "C" __global__ void copy_lists(const ListPiece piece) {
  constexpr int kLoads = 8;
  const uint32_t lane = threadIdx.x % kWarp, all = gridDim.x * blockDim.x, thread = blockIdx.x * blockDim.x + threadIdx.x;
  for (uint32_t tile = thread / kWarp; tile * kTile < piece.n_members; tile += all / kWarp) {
    const uint32_t end = min(piece.n_members, (tile + 1) * kTile);
    uint32_t at = tile * kTile;
    for (uint32_t first = piece.tiles[tile]; at < end; first += kWarp) {
      const uint32_t row = first + lane;
      const uint2 mine = row < piece.n_rows ? piece.rows[row] : uint2{0, kEmpty};
      const uint32_t upto = first + kWarp < piece.n_rows ? min(end, piece.rows[first + kWarp].y) : end;
      for (; at < upto; at += kLoads * kWarp) {
        uint32_t ids[kLoads];
#pragma unroll
        for (int i = 0; i < kLoads; ++i) {
          const uint32_t own = at + i * kWarp + lane, k = owner_of(mine.y, own);
          const uint32_t from = __shfl_sync(kFull, mine.x - mine.y, k) + own;
          if (own < upto) ids[i] = (first + k < piece.n_first ? piece.first : piece.second)[from];
        }
#pragma unroll
        for (int i = 0; i < kLoads; ++i)
          if (at + i * kWarp + lane < upto) piece.members[at + i * kWarp + lane] = ids[i];
      }
      at = upto;
    }
  }
  for (uint32_t i = thread; i < piece.n_roots; i += all) {
    const uint4 slot = piece.slots[i];
    piece.markeds[i] = ViewSlice{slot.x, slot.x, slot.y, 0, 0};
    piece.outers[i] = ViewSlice{slot.z, slot.z, slot.w, 0, 0};
  }
}

// Where members of ascending slices are that are `id` or more: of n slices, which begin and end at x and y. A thread a slice.
extern "C" __global__ void cut_slices(const uint32_t* neighbours, const uint2* slices, uint32_t n, uint32_t id, uint32_t* cuts) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const uint2 slice = slices[i];
  cuts[i] = slice.x + static_cast<uint32_t>(lower_bound(neighbours + slice.x, slice.y - slice.x, id));
}

// What is read by id of the slices [first, end): a copy of their members past the words of a row, in no given order of lists, and
// slices of that. `taken` is how many members there are so far. A warp a vertex. Bytes moved: these members, twice.
extern "C" __global__ void pack_view(const uint32_t* neighbours, const ViewSlice* slices, uint32_t first, uint32_t end,
                                     ViewSlice* packed, uint32_t* members, uint32_t* taken) {
  const uint32_t lane = threadIdx.x % kWarp;
  const uint32_t v = first + (blockIdx.x * blockDim.x + threadIdx.x) / kWarp;
  if (v >= end) return;
  ViewSlice slice = slices[v];
  const uint32_t n = slice.end - slice.tail;
  uint32_t place = 0;
  if (lane == 0 && n > 0) place = atomicAdd(taken, n);
  place = __shfl_sync(kFull, place, 0);
  for (uint32_t k = lane; k < n; k += kWarp) members[place + k] = neighbours[slice.tail + k];
  if (lane != 0) return;
  slice.begin = slice.begin == slice.tail ? place : place + 1;  // only whether there are words is asked
  slice.tail = place;
  slice.end = place + n;
  packed[v - first] = slice;
}

// How often each id from `lo` on is a member of the slices [0, end). A warp a vertex. Bytes moved: the lists once.
extern "C" __global__ void column_sizes(const uint32_t* neighbours, const ViewSlice* slices, uint32_t end, uint32_t lo,
                                        uint32_t* sizes) {
  const uint32_t v = (blockIdx.x * blockDim.x + threadIdx.x) / kWarp;
  if (v >= end) return;
  const ViewSlice slice = slices[v];
  for (uint32_t k = slice.begin + threadIdx.x % kWarp; k < slice.end; k += kWarp) atomicAdd(&sizes[neighbours[k] - lo], 1u);
}

// Copies the members less than `hi` of a view's slices [0, end) that no call before has copied, in no given order of lists, and
// makes slices of them. cursors: of each vertex the place of the first member that is left, and its id; `fresh`: nothing is
// copied yet. `taken` is how many members there are so far. A warp a vertex. Bytes moved: of each list what is copied, twice.
extern "C" __global__ void pack_columns(const View view, uint32_t end, uint32_t hi, uint32_t fresh, uint2* cursors,
                                        ViewSlice* packed, uint32_t* members, uint32_t* taken) {
  const uint32_t lane = threadIdx.x % kWarp;
  const uint32_t v = (blockIdx.x * blockDim.x + threadIdx.x) / kWarp;
  if (v >= end) return;
  const uint32_t last = view.slices[v].end;
  uint2 cursor = fresh ? uint2{view.slices[v].begin, 0} : cursors[v];
  uint32_t n = 0, place = 0;
  if (cursor.x < last && cursor.y < hi) {
    const uint32_t* list = view.neighbours + cursor.x;
    const uint32_t left = last - cursor.x, id = lane < left ? list[lane] : kEmpty;
    n = __popc(__ballot_sync(kFull, id < hi));
    if (n == kWarp && left > kWarp) n += static_cast<uint32_t>(lower_bound(list + kWarp, left - kWarp, hi));
    if (lane == 0 && n > 0) place = atomicAdd(taken, n);
    place = __shfl_sync(kFull, place, 0);
    if (lane < n) members[place + lane] = id;
    for (uint32_t k = kWarp + lane; k < n; k += kWarp) members[place + k] = list[k];
    cursor.x += n;
    cursor.y = n < kWarp ? __shfl_sync(kFull, id, n % kWarp) : n < left ? list[n] : kEmpty;
  }
  if (lane != 0) return;
  cursors[v] = cursor;
  packed[v] = ViewSlice{place, place, place + n, 0, 0};
}

// Rows of the hubs [base, base + 32 * hub_words), a warp a hub; shared memory: hub_words words a warp.
extern "C" __global__ void hub_rows(const uint32_t* neighbours, const ViewSlice* slices, uint32_t base, uint32_t n_hubs,
                                    uint32_t hub_words, uint32_t* rows) {
  QE_SHARED(uint32_t, shared);
  uint32_t* row = shared + threadIdx.x / kWarp * hub_words;
  const uint32_t lane = threadIdx.x % kWarp;
  const uint32_t hub = blockIdx.x * (blockDim.x / kWarp) + threadIdx.x / kWarp;
  if (hub >= n_hubs) return;
  const ViewSlice slice = slices[base + hub];
  if (slice.begin == slice.tail) return;
  for (uint32_t w = lane; w < hub_words; w += kWarp) row[w] = 0;
  __syncwarp();
  for (uint32_t k = slice.begin + lane; k < slice.tail; k += kWarp) {
    const uint32_t at = neighbours[k] - base;
    atomicOr(&row[at / 32], 1u << at % 32);
  }
  __syncwarp();
  for (uint32_t w = lane; w < hub_words; w += kWarp) rows[size_t{hub} * hub_words + w] = row[w];
}

// Sorts the roots into classes by the size of their slice: class k takes sizes up to limits[k]. None is kept below `least`, or
// without a member in its slice of `needed`.
// counts[4]: the largest size.
extern "C" __global__ void sort_roots(const ViewSlice* sized, const ViewSlice* needed, RootSet roots, uint32_t least, uint4 limits,
                                      uint32_t n_classes, const RootClasses to) {
  const uint32_t v = roots.root(blockIdx.x * blockDim.x + threadIdx.x);
  const uint32_t size = v == kNoVertex ? 0 : sized[v].end - sized[v].begin;
  const bool kept = size >= least && size > 0 && needed[v].begin < needed[v].end;
  const uint32_t largest = most_of(size);
  if (threadIdx.x % kWarp == 0 && largest > to.counts[4]) atomicMax(&to.counts[4], largest);
  const uint32_t limit[4] = {limits.x, limits.y, limits.z, limits.w};
  for (uint32_t k = 0; k < n_classes; ++k) {
    const bool mine = kept && size <= limit[k] && (k == 0 || size > limit[k - 1]);
    const uint32_t who = __ballot_sync(kFull, mine);
    if (who == 0) continue;
    const uint32_t lane = threadIdx.x % kWarp, leader = __ffs(who) - 1;
    uint32_t place = 0;
    if (lane == leader) place = atomicAdd(&to.counts[k], static_cast<uint32_t>(__popc(who)));
    place = __shfl_sync(kFull, place, leader) + __popc(who & ((1u << lane) - 1));
    if (mine) to.classes[size_t{k} * to.capacity + place] = v;
  }
}

// Sorts the roots by weight, the entries of their members' inner slices: class 0 takes up to `light`, class 1 up to `middle`,
// class 2 the others, or class 3 those with 2^16 members and more. Roots of fewer than `least` members are left out.
extern "C" __global__ void weigh_roots(View outer, View inner, RootSet roots, uint32_t light, uint32_t middle, uint32_t least,
                                       const RootClasses to, StopFlag flag) {
  const uint32_t lane = threadIdx.x % kWarp;
  const uint32_t root = roots.root((blockIdx.x * blockDim.x + threadIdx.x) / kWarp);
  if (root == kNoVertex) return;
  const ViewSlice slice = outer.slices[root];
  const uint32_t n = slice.end - slice.begin;
  if (n < least) return;
  uint64_t weight = 0;
  Stop stop(flag);
  in_parts(slice.begin, slice.end, stop, [&](uint32_t first, uint32_t last) {
    for (uint32_t j = first + lane; j < last && weight <= middle; j += kWarp) {
      const ViewSlice each = inner.slices[outer.neighbours[j]];
      weight += each.end - each.begin;
    }
  });
  for (int step = 16; step > 0; step /= 2) weight += __shfl_xor_sync(kFull, weight, step);
  if (lane != 0 || weight == 0) return;
  const uint32_t k = weight <= light ? 0 : weight <= middle ? 1 : n < 65536 ? 2 : 3;
  to.classes[size_t{k} * to.capacity + atomicAdd(&to.counts[k], 1u)] = root;
}

}  // namespace qe
