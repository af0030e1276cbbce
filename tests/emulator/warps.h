// Runs a CUDA kernel on the host, for tests: every lane is a fiber, and a warp's lanes meet at each warp-wide operation.
//
// Included before a .cu file that is compiled as C++. Between two meetings a lane runs alone, so races inside a warp are not
// seen (compute-sanitizer looks for those); lanes that meet at different operations are. Each warp is a thread, so warps
// run side by side as the operating system likes it; blocks run one after the other.
#pragma once
#include <pthread.h>
#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <numeric>
#include <thread>
#include <vector>

#define __device__
#define __global__
#define __host__
#define __noinline__
#define __launch_bounds__(...)
#ifndef __shared__
#define __shared__
#endif
#define __align__(n) __attribute__((aligned(n)))

using std::max;
using std::min;

struct Place {
  unsigned x;
};
struct uint2 {
  unsigned x, y;
};
struct uint4 {
  unsigned x, y, z, w;
};
inline thread_local Place threadIdx, blockIdx;
inline Place blockDim, gridDim;
__attribute__((aligned(16))) char shared[1 << 18];

namespace emulator {

constexpr int kLanes = 32;
constexpr size_t kStack = 1 << 16;

struct Lane {
  jmp_buf left;  // where it goes on
  bool begun = false, done = false;
  unsigned meeting = 0;
};

struct Warp {
  Lane lanes[kLanes];
  jmp_buf scheduler;
  ucontext_t first;  // with the next lane's stack
  uint64_t given[2][kLanes];
  int operation[2][kLanes];
  int64_t work[kLanes] = {};  // steps (basic blocks) of each lane since the warp has looked at the stop flag
  bool told = false;          // has it found it set?
  bool made = false;          // is the result of the last meeting known?
  uint64_t result;
};

inline thread_local Warp* warp;
inline thread_local int lane;
inline thread_local int64_t* work;  // of this lane, null where none runs
inline pthread_barrier_t block_barrier;

// Looks at the stop flag in one launch, and the most steps that a lane has made between two of its warp's looks (or before the
// first, or after the last), and after its warp was told to stop. From look number stop_at on (from 1, 0: never) the flag is set.
struct Watch {
  int64_t stop_at = 0, looks = 0, most_between = 0, most_after = 0;
};
inline Watch watch;

inline void note_most(int64_t* most, int64_t value) {
  int64_t before = __atomic_load_n(most, __ATOMIC_SEQ_CST);
  while (before < value && !__atomic_compare_exchange_n(most, &before, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
  }
}

// Notes the steps of a warp that looks, or has ended.
inline void note_work(Warp& one) {
  const int64_t most = *std::max_element(one.work, one.work + kLanes);
  note_most(one.told ? &watch.most_after : &watch.most_between, most);
  std::fill_n(one.work, kLanes, 0);
}

inline int32_t look(const volatile int32_t* at) {
  const int64_t number = __atomic_add_fetch(&watch.looks, 1, __ATOMIC_SEQ_CST);
  note_work(*warp);
  const int32_t found = watch.stop_at > 0 && number >= watch.stop_at ? 1 : *at;
  warp->told |= found == 1;
  return found;
}

// Meets the other lanes of the warp; returns what each has given.
inline const uint64_t* meet(int operation, uint64_t value) {
  Warp& mine = *warp;
  const int self = lane, side = mine.lanes[self].meeting++ & 1;
  mine.given[side][self] = value;
  mine.operation[side][self] = operation;
  if (!_setjmp(mine.lanes[self].left)) _longjmp(mine.scheduler, 1);
  return mine.given[side];
}

// Ends the process where the lanes of a warp, each having met the others or ended, have not come to the same place.
inline void require_together(const Warp& mine) {
  const Lane& first = mine.lanes[0];
  const int* at = mine.operation[(first.meeting + 1) & 1];
  for (int k = 1; k < kLanes; ++k)
    if (mine.lanes[k].done != first.done || mine.lanes[k].meeting != first.meeting || (!first.done && at[k] != at[0])) {
      std::fprintf(stderr, "lanes of a warp have parted: lane 0 at %d, lane %d at %d\n", at[0], k, at[k]);
      std::abort();
    }
}

// Meets the other lanes; returns what is made of all that they have given, by whoever asks first.
template <typename Make>
uint64_t meet_for(int operation, uint64_t value, const Make& make) {
  const uint64_t* all = meet(operation, value);
  Warp& mine = *warp;
  if (!mine.made) mine.result = make(all), mine.made = true;
  return mine.result;
}

// Lets this thread's lane run until it meets others or ends. Without system calls but for the first time, unlike swapcontext.
inline void resume(char* stack, void (*body)()) {
  static thread_local void (*begun)();
  Warp& mine = *warp;
  Lane& one = mine.lanes[lane];
  if (!_setjmp(mine.scheduler)) {
    work = &mine.work[lane];
    if (one.begun) _longjmp(one.left, 1);
    one.begun = true;
    begun = body;
    getcontext(&mine.first);
    mine.first.uc_stack.ss_sp = stack;
    mine.first.uc_stack.ss_size = kStack;
    makecontext(&mine.first, +[] {
      begun();
      warp->lanes[lane].done = true;
      _longjmp(warp->scheduler, 1);
    }, 0);
    setcontext(&mine.first);
  }
  work = nullptr;
}

template <typename Call>
void run(unsigned blocks, unsigned threads, const Call& call) {
  static const Call* body;
  body = &call;
  gridDim.x = blocks;
  blockDim.x = threads;
  for (unsigned block = 0; block < blocks; ++block) {
    static std::vector<char> stacks;
    stacks.resize(std::max(stacks.size(), kStack * threads));
    std::vector<Warp> warps(threads / kLanes);
    std::vector<std::thread> threads_of_warps;
    pthread_barrier_init(&block_barrier, nullptr, threads / kLanes);
    for (size_t w = 0; w < warps.size(); ++w)
      threads_of_warps.emplace_back([&, w, block] {
        char* stack = stacks.data() + w * kLanes * kStack;
        warp = &warps[w];
        blockIdx.x = block;
        for (bool left = true; left;) {
          left = false;
          for (int k = 0; k < kLanes; ++k) {
            if (warps[w].lanes[k].done) continue;
            left = true;
            lane = k;
            threadIdx.x = static_cast<unsigned>(w * kLanes + static_cast<size_t>(k));
            resume(stack + static_cast<size_t>(k) * kStack, +[] { (*body)(); });
          }
          require_together(warps[w]);
          warps[w].made = false;
        }
        note_work(warps[w]);
      });
    for (std::thread& each : threads_of_warps) each.join();
    pthread_barrier_destroy(&block_barrier);
  }
}

template <typename T>
uint64_t packed(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

template <typename T>
T unpacked(uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace emulator

// The compiler calls this at each step of what it compiles (-fsanitize-coverage=trace-pc).
extern "C" __attribute__((no_sanitize_coverage, used)) void __sanitizer_cov_trace_pc() {
  if (emulator::work != nullptr) ++*emulator::work;
}

inline void __syncwarp() { emulator::meet(1, 0); }
inline void __syncthreads() {
  emulator::meet(8, 0);
  if (emulator::lane == 0) pthread_barrier_wait(&emulator::block_barrier);
  emulator::meet(9, 0);
}
inline void __nanosleep(unsigned) {
  if (emulator::lane == 0) std::this_thread::yield();
  emulator::meet(2, 0);
}
template <typename T>
T __shfl_sync(uint32_t, T value, int from) {
  return emulator::unpacked<T>(emulator::meet(3, emulator::packed(value))[from]);
}
template <typename T>
T __shfl_up_sync(uint32_t, T value, int by) {
  const int self = emulator::lane;
  const uint64_t* all = emulator::meet(4, emulator::packed(value));
  return emulator::unpacked<T>(all[self >= by ? self - by : self]);
}
template <typename T>
T __shfl_xor_sync(uint32_t, T value, int by) {
  const int self = emulator::lane;
  return emulator::unpacked<T>(emulator::meet(5, emulator::packed(value))[self ^ by]);
}
inline uint32_t __ballot_sync(uint32_t, bool value) {
  return static_cast<uint32_t>(emulator::meet_for(6, value, [](const uint64_t* all) {
    uint64_t mask = 0;
    for (int k = 0; k < emulator::kLanes; ++k) mask |= all[k] << k;
    return mask;
  }));
}
template <typename T>
T __shfl_down_sync(uint32_t, T value, int by) {
  const int self = emulator::lane;
  const uint64_t* all = emulator::meet(10, emulator::packed(value));
  return emulator::unpacked<T>(all[self + by < emulator::kLanes ? self + by : self]);
}
inline uint32_t __reduce_add_sync(uint32_t, uint32_t value) {
  return static_cast<uint32_t>(emulator::meet_for(
      11, value, [](const uint64_t* all) { return std::accumulate(all, all + emulator::kLanes, uint64_t{0}); }));
}
inline uint32_t __reduce_max_sync(uint32_t, uint32_t value) {
  return static_cast<uint32_t>(emulator::meet_for(
      12, value, [](const uint64_t* all) { return *std::max_element(all, all + emulator::kLanes); }));
}
template <typename T>
uint32_t __match_any_sync(uint32_t, T value) {
  const uint64_t own = emulator::packed(value);
  const uint64_t* all = emulator::meet(7, own);
  uint32_t mask = 0;
  for (int k = 0; k < emulator::kLanes; ++k) mask |= static_cast<uint32_t>(all[k] == own) << k;
  return mask;
}
inline bool __any_sync(uint32_t mask, bool value) { return __ballot_sync(mask, value) != 0; }
inline bool __syncthreads_or(bool value) {
  static uint32_t any;
  __syncthreads();
  if (value) __atomic_store_n(&any, 1u, __ATOMIC_SEQ_CST);
  __syncthreads();
  const bool found = __atomic_load_n(&any, __ATOMIC_SEQ_CST) != 0;
  __syncthreads();
  if (threadIdx.x == 0) any = 0;
  return found;
}
inline bool __all_sync(uint32_t mask, bool value) { return __ballot_sync(mask, value) == 0xFFFFFFFFu; }

inline uint64_t __umul64hi(uint64_t a, uint64_t b) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b >> 64);
}
inline int __popc(uint32_t bits) { return __builtin_popcount(bits); }
inline int __ffs(uint32_t bits) { return __builtin_ffs(static_cast<int>(bits)); }
inline int __ffsll(uint64_t bits) { return __builtin_ffsll(static_cast<long long>(bits)); }
inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline long long clock64() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<long long>(time.tv_sec) * 2'000'000'000 + time.tv_nsec * 2;
}

template <typename T>
T atomicAdd(T* at, T value) {
  return __atomic_fetch_add(at, value, __ATOMIC_SEQ_CST);
}
template <typename T>
T atomicOr(T* at, T value) {
  return __atomic_fetch_or(at, value, __ATOMIC_SEQ_CST);
}
template <typename T>
T atomicMax(T* at, T value) {
  T before = __atomic_load_n(at, __ATOMIC_SEQ_CST);
  while (before < value && !__atomic_compare_exchange_n(at, &before, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
  }
  return before;
}
template <typename T>
T atomicMin(T* at, T value) {
  T before = __atomic_load_n(at, __ATOMIC_SEQ_CST);
  while (before > value && !__atomic_compare_exchange_n(at, &before, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
  }
  return before;
}
template <typename T>
T atomicSub(T* at, T value) {
  return __atomic_fetch_sub(at, value, __ATOMIC_SEQ_CST);
}
template <typename T, typename V>
T atomicExch(T* at, V value) {
  return __atomic_exchange_n(at, static_cast<T>(value), __ATOMIC_SEQ_CST);
}
template <typename T, typename V, typename W>
T atomicCAS(T* at, V expected, W value) {
  T before = static_cast<T>(expected);
  __atomic_compare_exchange_n(at, &before, static_cast<T>(value), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return before;
}

// What kernels/cuda/base/hardware.cuh says to a GPU.
#define QE_SHARED(type, name) type* const name = reinterpret_cast<type*>(::shared)

namespace qe {

inline uint32_t cycles() { return static_cast<uint32_t>(clock64()); }
inline int32_t read_host(const volatile int32_t* at) { return emulator::look(at); }

// The words that all lanes hold, two of each.
inline std::vector<uint64_t> words_of(int operation, uint32_t low, uint32_t high = 0) {
  std::vector<uint64_t> all(emulator::kLanes);
  std::copy_n(emulator::meet(operation, low | uint64_t{high} << 32), emulator::kLanes, all.begin());
  return all;
}

// Operands as in the PTX ISA: lane 4 r + q has words q and q + 4 of rows r (a[0], a[2]) and r + 8 (a[1], a[3]), and of column r
// (b); of c the numbers of rows r (c[0], c[1]) and r + 8 in columns 2 q and 2 q + 1.
inline void add_common_bits(int32_t (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  const std::vector<uint64_t> above = words_of(13, a[0], a[2]), below = words_of(14, a[1], a[3]), columns = words_of(15, b[0], b[1]);
  const size_t row = static_cast<size_t>(emulator::lane / 4), quarter = static_cast<size_t>(emulator::lane % 4);
  for (size_t k = 0; k < 4; ++k)
    for (size_t word = 0; word < 4; ++word)
      c[k] += __builtin_popcountll((k < 2 ? above : below)[4 * row + word] & columns[4 * (2 * quarter + k % 2) + word]);
}

// Likewise: lane 4 r + q has word q of row r (a) and of column r (b); of c the numbers of row r in columns 2 q and 2 q + 1.
inline void add_different_bits(int32_t (&c)[2], uint32_t a, uint32_t b) {
  const std::vector<uint64_t> rows = words_of(16, a), columns = words_of(17, b);
  const size_t row = static_cast<size_t>(emulator::lane / 4), quarter = static_cast<size_t>(emulator::lane % 4);
  for (size_t k = 0; k < 2; ++k)
    for (size_t word = 0; word < 4; ++word)
      c[k] += __builtin_popcountll(rows[4 * row + word] ^ columns[4 * (2 * quarter + k) + word]);
}

}  // namespace qe
