// Which members of each root are linked, in rows of bits, and by these sums over the triangles of one symmetric matrix of
// products of their corners' weights: of none, one, two and all three.
//
// Problem: as kernels/host/count/masked_product.cpp, for weights of 27 bits. Row j of a root has a bit for each member
// before member j: is it linked to that? Rows are made as triangles are counted: a warp tests all pairs of some roots of few
// members; a block takes one root of many, seeks each member in the hubs' rows, and looks lists up in marks. They depend on the
// matrix alone. The sums read them and no list. Of few members each row's bits are looked at. Of many bit p of the members'
// weights is a row, too, a plane (a last plane is of ones), and planes are multiplied by eight members' rows at once, on binary
// tensor cores: that is for each member how many members before it are its neighbours, and the sum of their weights bit by bit.
// Preconditions: `links`, `taken`, sums and counts are clear, `triangle_roots` and `triangle_rows` have run.
// Launch: blocks of whole warps; shared memory as said at each kernel. Bytes moved: by the sums 4 for each 32 pairs of a root's
// members, and 8 a member. Deterministic.
// Sources: as of triangle_counts.cu; sums by bits: bit-serial products (Umuroglu et al. 2018).
#include "base/bit_product.cuh"
#include "count/triangle_counts.cuh"

using namespace qe;
using namespace qe::eliminate;

namespace {

constexpr uint32_t kOnes = 27;     // the plane of ones; those after it, to 31, are of zeros
constexpr uint32_t kTile = 8;      // members whose rows are multiplied together
constexpr uint32_t kTiles = 2;     // that are multiplied side by side
constexpr uint32_t kStep = 8;      // words of each row that are multiplied at a time
constexpr uint32_t kChunk = 1024;  // members whose planes a warp keeps

class LinkedMembers {
 public:
  __device__ LinkedMembers(const Triangles& t, const HeavyRoots& own) : t_(t), own_(own) {}

  // Fills the rows of one root, by the whole block.
  __device__ void count(uint32_t root, Stop& stop) {
    list_ = t_.lesser(root);
    links_ = t_.links + t_.begins[root];
    n_ = static_cast<uint32_t>(list_.size());
    own_.mark(t_, list_);
    __syncthreads();
    if (threadIdx.x < kLanes) rank();
    __syncthreads();
    for (uint32_t first = threadIdx.x / kLanes * kLanes; first < n_ && !stop.warp(); first += blockDim.x) {
      const uint32_t i = first + lane_id();
      uint32_t v = 0;
      Span its;
      if (i < n_) {
        v = t_.id(list_.begin + i);
        its = t_.lesser(v);
      }
      const bool has_row = t_.has_row(v, its.size());
      seek(first, v, __ballot_sync(kAllLanes, has_row), stop);
      if (has_row) its = {};
      each_list(its, [&](int k, const Span& at, int of, int team) {
        each_part(at, stop, [&](const Span& part) { read(part, of, team, first + k); });
      });
    }
    __syncthreads();
    own_.unmark(t_, list_);
  }

 private:
  // Counts the marks before each word, by a warp.
  __device__ void rank() {
    const uint32_t n_words = min(t_.words, t_.id(list_.end - 1) / 32 + 1);
    uint64_t before = 0;
    for (uint32_t first = 0; first < n_words; first += kLanes) {
      const uint32_t w = first + lane_id();
      const uint64_t bits = __popc(own_.hubs[word_place(w)]), until = scan_inclusive(bits);
      own_.found[w] = static_cast<uint32_t>(before + until - bits);
      before += __shfl_sync(kAllLanes, until, kLanes - 1);
    }
  }

  // Fills the rows of members first + lane, hubs v, of those lanes that have rows of bits (who).
  __device__ void seek(uint32_t first, uint32_t v, uint32_t who, Stop& stop) {
    const uint32_t lane = lane_id(), j = first + lane;
    for (uint32_t begin = 0; who != 0 && begin <= first; begin += kLanes) {
      if (begin % (kLanes * kLookEvery) == 0 && stop.warp()) return;
      const uint32_t i = begin + lane, sought = i < n_ ? t_.id(list_.begin + i) : kNoVertex;
      const uint32_t place = word_place(sought / 32);
      uint32_t word = 0;
      for (uint32_t left = who; left != 0;) {
        uint32_t found[kAhead], of[kAhead];
#pragma unroll
        for (uint32_t k = 0; k < kAhead; ++k) {
          of[k] = left != 0 ? __ffs(left) - 1 : kLanes;
          const uint32_t hub = __shfl_sync(kAllLanes, v, static_cast<int>(of[k] % kLanes));
          found[k] = left != 0 && sought < hub ? t_.row_of(hub)[place] : 0;
          left &= left - 1;
        }
#pragma unroll
        for (uint32_t k = 0; k < kAhead; ++k) {
          const uint32_t bits = __ballot_sync(kAllLanes, found[k] >> sought % 32 & 1);
          if (lane == of[k]) word = bits;
        }
      }
      if (who >> lane & 1 && begin < j) links_[link_words(j) + begin / 32] = word;
    }
  }

  // Reads entries first, first + step, … of the list of member j.
  __device__ void read(const Span& list, uint32_t first, uint32_t step, uint32_t j) {
    uint32_t* row = links_ + link_words(j);
    for (uint64_t e = list.begin + first; e < list.end; e += kAhead * step) {
      uint32_t ids[kAhead];
#pragma unroll
      for (uint32_t k = 0; k < kAhead; ++k) ids[k] = e + k * step < list.end ? t_.id(e + k * step) : kNoVertex;
#pragma unroll
      for (uint32_t k = 0; k < kAhead; ++k) {
        const uint32_t v = ids[k];
        if (v == kNoVertex || !own_.may_have(t_, v)) continue;
        uint64_t at = list_.size();
        if (v >= t_.hubs) at = member_of(t_, list_, v);
        else at = own_.found[v / 32] + __popc(own_.hub_word(v) & ((1u << v % 32) - 1));
        if (at < list_.size()) set_bit(row + at / 32, at % 32);
      }
    }
  }

  const Triangles& t_;
  const HeavyRoots own_;
  Span list_;
  uint32_t* links_ = nullptr;
  uint32_t n_ = 0;
};

// Sums over triangles of 1, of the weights of the three corners, of the products of two, of the product of all three. There
// are less than 2^46 triangles of fewer than 2^32 pairs, so that 128 bits are enough.
struct Corners {
  U128Sum of[4];
};

// Where a warp has word w of a plane: lanes read the four words that they multiply (`multiply_bits`) at once.
__device__ uint32_t plane_place(uint32_t w, uint32_t plane) {
  const uint32_t lane = 4 * (plane % 8) + w % 4;
  return ((w / kStep * 2 + plane / 16) * kLanes + lane) * 4 + w % kStep / 4 * 2 + plane % 16 / 8;
}

// Adds up over roots, by a warp; each lane has a part of the sums.
class Weighing {
 public:
  __device__ Weighing(const Triangles& t, const uint32_t* weights, uint32_t* planes)
      : t_(t), weights_(weights), planes_(planes) {}

  __device__ void root(uint32_t v, Stop& stop) {
    const Span list = t_.lesser(v);
    const uint32_t n = static_cast<uint32_t>(list.size());
    const uint32_t* links = t_.links + t_.begins[v];
    const uint64_t own = weights_[v];
    for (uint32_t begin = 0; begin < n && !stop.warp(); begin += kChunk) {
      make_planes(list.begin, begin, min(n, begin + kChunk));
      __syncwarp();
      in_parts(begin, n, stop, [&](uint32_t part, uint32_t end) {
        for (uint32_t first = part; first < end; first += kLanes) multiply(links, list.begin, n, first, begin / 32);
      });
      __syncwarp();
      close(own);
    }
  }

  // The same for up to kTogether roots of few members, a lane a member.
  __device__ void few(uint64_t first, uint64_t n_roots) {
    const uint32_t lane = lane_id();
    Span list;
    uint64_t links = 0;
    uint32_t own = 0;
    if (lane < kTogether && first + lane < n_roots) {
      const uint32_t v = t_.roots[first + lane];
      list = t_.lesser(v);
      links = t_.begins[v];
      own = weights_[v];
    }
    const uint32_t size = static_cast<uint32_t>(list.size()), until = static_cast<uint32_t>(scan_inclusive(size));
    const uint32_t all = __shfl_sync(kAllLanes, until, kLanes - 1);
    // Calls take(whose member this lane has, which member, its place in lists) for all members.
    auto each = [&](auto take) {
      for (uint32_t begin = 0; begin < all; begin += kLanes) {
        const uint32_t at = begin + lane;
        uint32_t k = 0;
#pragma unroll
        for (uint32_t step = kTogether / 2; step > 0; step /= 2)
          if (__shfl_sync(kAllLanes, until, static_cast<int>(k + step - 1)) <= at) k += step;
        const uint32_t j = at - __shfl_sync(kAllLanes, until - size, static_cast<int>(k));
        const uint64_t from = __shfl_sync(kAllLanes, list.begin, static_cast<int>(k));
        const uint64_t rows = __shfl_sync(kAllLanes, links, static_cast<int>(k));
        const uint64_t root = __shfl_sync(kAllLanes, own, static_cast<int>(k));
        if (at < all) take(planes_ + k * t_.few, j, from, rows, root);
      }
    };
    each([&](uint32_t* kept, uint32_t j, uint64_t from, uint64_t, uint64_t) { kept[j] = weights_[t_.id(from + j)]; });
    __syncwarp();
    each([&](const uint32_t* kept, uint32_t j, uint64_t, uint64_t rows, uint64_t root) {
      uint64_t n = 0, least = 0;
      for (uint32_t w = 0; 32 * w < j; ++w) {
        const uint32_t bits = t_.links[rows + link_words(j) + w];
        n += __popc(bits);
        for (uint32_t left = bits; left != 0; left &= left - 1) least += kept[32 * w + __ffs(left) - 1];
      }
      if (n == 0) return;
      const uint64_t members = n * kept[j], both = kept[j] * least;  // of 34 and 61 bits
      sums_.of[0].add({n, 0});
      sums_.of[1].add({members + least + root * n, 0});
      sums_.of[2].add({both + root * (members + least), 0});
      sums_.of[3].add_product(root, both);
    });
    __syncwarp();
  }

  // At the end.
  __device__ void flush(unsigned long long* sums) {
    for (int k = 0; k < 4; ++k) {
      sums_.of[k].gather();
      const uint64_t words[2] = {sums_.of[k].low, sums_.of[k].high};
      if (lane_id() == 0) add_together(reinterpret_cast<uint64_t*>(sums) + 2 * k, words, 2);
    }
  }

 private:
  __device__ uint32_t weight(uint64_t list, uint32_t n, uint32_t i) const { return i < n ? weights_[t_.id(list + i)] : 0; }

  // Makes the planes of members [begin, end) of the root whose list begins at `list`.
  __device__ void make_planes(uint64_t list, uint32_t begin, uint32_t end) {
    const uint32_t lane = lane_id();
    for (uint32_t first = begin; first < end; first += kLanes) {
      const uint32_t its = weight(list, end, first + lane);
      uint32_t own = lane == kOnes ? kAllLanes : 0;
#pragma unroll
      for (uint32_t plane = 0; plane < kOnes; ++plane) {
        const uint32_t bits = __ballot_sync(kAllLanes, its >> plane & 1);
        if (lane == plane) own = bits;
      }
      planes_[plane_place((first - begin) / 32, lane)] = own;
    }
  }

  // Multiplies the planes by the rows of members [first, first + 32) of n; the planes' first word is that of number `chunk` in rows.
  __device__ void multiply(const uint32_t* links, uint64_t list, uint32_t n, uint32_t first, uint32_t chunk) {
    const uint32_t own = weight(list, n, first + lane_id());
    for (uint32_t k = 0; k < kLanes && first + k < n; k += kTile * kTiles) {
      const uint32_t its = __shfl_sync(kAllLanes, own, static_cast<int>(k + lane_id() % (kTile * kTiles)));
      multiply_tiles(links, n, first + k, chunk, its);
    }
  }

  // The same for members [first, first + kTile * kTiles), own: the weight of this lane's.
  __device__ void multiply_tiles(const uint32_t* links, uint32_t n, uint32_t first, uint32_t chunk, uint32_t own) {
    const uint32_t lane = lane_id(), r = lane / 4, q = lane % 4, left = n - first;
    const uint32_t* rows[kTiles];
    uint32_t n_words[kTiles];
#pragma unroll
    for (uint32_t k = 0; k < kTiles; ++k) {
      const uint32_t j = first + kTile * k + r;
      n_words[k] = j < n ? (j + 31) / 32 : 0;
      rows[k] = links + link_words(j) + q;
    }
    const uint32_t last = min(min(first + kTile * kTiles, n) - 1 + 31, 32 * chunk + kChunk) / 32;
    int32_t found[kTiles][2][4] = {};
    for (uint32_t w = chunk; w < last; w += kStep) {
      uint32_t its[kTiles][2];
#pragma unroll
      for (uint32_t k = 0; k < kTiles; ++k) {
        its[k][0] = w + q < n_words[k] ? rows[k][w] : 0;
        its[k][1] = w + q + 4 < n_words[k] ? rows[k][w + 4] : 0;
      }
      const Words* planes = reinterpret_cast<const Words*>(planes_) + (w - chunk) / kStep * 2 * kLanes + lane;
#pragma unroll
      for (uint32_t half = 0; half < 2; ++half) {
        const Words of_planes = planes[half * kLanes];
#pragma unroll
        for (uint32_t k = 0; k < kTiles; ++k)
          if (kTile * k < left) multiply_bits(found[k][half], of_planes.of, its[k]);
      }
    }
#pragma unroll
    for (uint32_t k = 0; k < kTiles; ++k) {
      const int member = static_cast<int>(kTile * k + 2 * q);
      const uint64_t one = __shfl_sync(kAllLanes, own, member), other = __shfl_sync(kAllLanes, own, member + 1);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int32_t(&two)[4] = found[k][i / 2];
        const uint32_t a = static_cast<uint32_t>(two[i % 2 * 2]), b = static_cast<uint32_t>(two[i % 2 * 2 + 1]);
        by_plane_[i] += a + b;
        weighted_[i] += one * a + other * b;
      }
    }
  }

  // Takes the root's weight to what was found with it. No sum of a chunk has more than 64 bits.
  __device__ void close(uint64_t own) {
    uint64_t n = 0, least = 0, members = 0;
    U128Sum both;
#pragma unroll
    for (uint32_t k = 0; k < 4; ++k) {
      const uint32_t plane = 8 * k + lane_id() / 4;
      if (plane < kOnes) {
        least += by_plane_[k] << plane;
        both.add_product(weighted_[k], uint64_t{1} << plane);
      } else if (plane == kOnes) {
        n += by_plane_[k];
        members += weighted_[k];
      }
      by_plane_[k] = weighted_[k] = 0;
    }
    sums_.of[0].add({n, 0});
    sums_.of[1].add({members, 0});
    sums_.of[1].add({least, 0});
    sums_.of[1].add_product(own, n);
    sums_.of[2].add(both);
    sums_.of[2].add_product(own, members);
    sums_.of[2].add_product(own, least);
    sums_.of[3].add_product(own, both.low);
    sums_.of[3].add({0, own * both.high});
  }

  const Triangles& t_;
  const uint32_t* weights_;
  uint32_t* planes_;
  Corners sums_;
  // Of one chunk, by plane 8 k + lane / 4: how many pairs of linked members have it in the first one's weight, and the same times the
  // second one's weight.
  uint64_t by_plane_[4] = {}, weighted_[4] = {};
};

}  // namespace

// Finds places for the links of all roots, and how many words there are; a thread a vertex.
extern "C" __global__ void triangle_link_places(const Triangles t, uint64_t* n_words) {
  const uint64_t v = thread_id();
  const uint64_t words = v < t.n ? link_words(t.lesser(static_cast<uint32_t>(v)).size()) : 0, until = scan_inclusive(words);
  uint64_t begin = 0;
  if (lane_id() == kLanes - 1) begin = atomicAdd(n_words, until);
  begin = __shfl_sync(kAllLanes, begin, kLanes - 1) + until - words;
  if (v < t.n) t.begins[v] = begin;
}

// Links at roots of few members: shared memory of 4 * kTogether bytes a warp.
extern "C" __global__ void __launch_bounds__(256, qe::blocks_each(256, 5)) triangles_of_links_light(const Triangles t) {
  extern __shared__ __align__(16) char shared[];
  all_light<Of::kLinks>(t, shared);
}

// The same at roots of many: shared memory as `HeavyRoots` lays it out, 4 bytes for each of `words` and of `hub_counters`, and
// kOthers / 8 + 8.
extern "C" __global__ void __launch_bounds__(128, 6) triangles_of_links_heavy(const Triangles t) {
  extern __shared__ __align__(16) char shared[];
  const HeavyRoots own(t, shared);
  own.clear(t);
  __syncthreads();
  LinkedMembers members(t, own);
  each_heavy_root(t, own, members);
}

// Adds four sums of 128 bits (`Corners`) to `sums`: shared memory of 4 * kChunk bytes a warp. weights: of each vertex, less than
// 2^27. `few` is no more than kChunk / kTogether.
extern "C" __global__ void __launch_bounds__(128, 5)
    triangle_corners(const Triangles t, const uint32_t* weights, unsigned long long* sums) {
  extern __shared__ __align__(16) char shared[];
  const uint64_t few = t.n_roots[0], many = t.n_roots[1], n = many + (few + kTogether - 1) / kTogether;
  const WorkQueue queue{t.taken, t.stop};
  WorkTaker taker(queue, n);
  Weighing weighing(t, weights, reinterpret_cast<uint32_t*>(shared) + threadIdx.x / kLanes * kChunk);
  while (true) {
    const uint64_t at = __shfl_sync(kAllLanes, lane_id() == 0 ? taker.take(1) : uint64_t{0}, 0);
    if (at >= n) break;
    if (at < many) weighing.root(t.roots[t.n - 1 - at], taker.stop());
    else weighing.few((at - many) * kTogether, few);
  }
  weighing.flush(sums);
}
