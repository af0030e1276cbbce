// What has no name in CUDA C++, and is said to the hardware directly; tests that run kernels on the host have their own.
#pragma once
#ifdef __CUDACC__
#include "qe/portable.h"

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

// Adds to c what 16 rows of 256 bits (a) and 8 columns of as many (b) have in common, each with each, by a warp: PTX ISA,
// mma.m16n8k256.
__device__ inline void multiply_bits(int32_t (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

}  // namespace qe
#endif
