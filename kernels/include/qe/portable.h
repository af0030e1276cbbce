// What a header needs to compile on the host (C++17) and on the GPU (NVRTC has no standard library): fixed-size integers,
// their limits, QE_BOTH before a function that runs on both, QE_APART before one that the GPU's compiler must not copy into
// its callers: those that are called seldom or do much.
#pragma once

#ifdef __CUDACC_RTC__

using int8_t = signed char;
using int16_t = short;
using int32_t = int;
using int64_t = long long;
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned int;
using uint64_t = unsigned long long;
using uintptr_t = unsigned long long;

#define INT64_MAX 0x7FFFFFFFFFFFFFFFll
#define UINT32_MAX 0xFFFFFFFFu
#define UINT64_MAX 0xFFFFFFFFFFFFFFFFull

#else
#include <cstddef>
#include <cstdint>
#endif

#ifdef __CUDACC__
#define QE_BOTH __host__ __device__
#define QE_APART __noinline__
#else
#define QE_BOTH
#define QE_APART
#endif
