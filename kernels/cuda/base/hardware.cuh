// What has no name in CUDA C++, or not on every GPU, and is said to the hardware directly; tests that run kernels on the host
// have their own.
#pragma once
#include "qe/portable.h"

// Whose instructions kernels use: compute capability times 100, as __CUDA_ARCH__. A smaller one may be given, so that what
// older GPUs run can be tested on newer ones. 750 is the least.
#ifndef QE_ARCHITECTURE
#define QE_ARCHITECTURE __CUDA_ARCH__
#endif

namespace qe {

// Threads that a multiprocessor holds at a time (CUDA C++ Programming Guide, technical specifications by compute capability).
constexpr int kThreadsEach = QE_ARCHITECTURE < 800 ? 1024
                             : QE_ARCHITECTURE == 800 || (QE_ARCHITECTURE >= 900 && QE_ARCHITECTURE < 1200) ? 2048
                                                                                                             : 1536;

// The second of a kernel's launch bounds: blocks of so many threads that a multiprocessor shall hold, fewer where it can't.
QE_BOTH constexpr int blocks_each(int threads, int wanted) {
  return threads * wanted <= kThreadsEach ? wanted : kThreadsEach / threads;
}

}  // namespace qe

#ifdef __CUDACC__
static_assert(QE_ARCHITECTURE >= 750 && QE_ARCHITECTURE <= __CUDA_ARCH__, "no such instructions");

// A block's dynamic shared memory as an array.
#define QE_SHARED(type, name) extern __shared__ __align__(16) type name[]

namespace qe {

// Of the multiprocessor's clock, modulo 2^32.
__device__ inline uint32_t cycles() {
  uint32_t time;
  asm volatile("mov.u32 %0, %clock;" : "=r"(time));
  return time;
}

// What is in the host's memory now.
__device__ inline int32_t read_host(const volatile int32_t* at) { return *at; }

#if QE_ARCHITECTURE >= 800
// Adds to c what 16 rows of 256 bits (a) and 8 columns of as many (b) have in common, each with each, by a warp: PTX ISA,
// mma.m16n8k256.
__device__ inline void add_common_bits(int32_t (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
#else
// Adds to c in how many bits 8 rows of 128 (a) and 8 columns of as many (b) differ, each from each, by a warp: PTX ISA,
// mma.m8n8k128.
__device__ inline void add_different_bits(int32_t (&c)[2], uint32_t a, uint32_t b) {
  asm volatile("mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc {%0,%1}, {%2}, {%3}, {%0,%1};"
               : "+r"(c[0]), "+r"(c[1])
               : "r"(a), "r"(b));
}
#endif

}  // namespace qe
#endif
