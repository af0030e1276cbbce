// The instruction sets that vector code is compiled for, and the choice among them at run time.
#pragma once
#include <cstdint>

#if defined(__x86_64__)
#define QE_X86 1
#define QE_AVX2 __attribute__((target("avx2,bmi,bmi2,popcnt,lzcnt")))
#define QE_AVX512 __attribute__((target("avx512f,avx512cd,avx512bw,avx512dq,avx512vl,avx512vpopcntdq,avx2,bmi,bmi2,popcnt,lzcnt")))
#endif

namespace qe {

enum Isa : int32_t { kBaseline = 0, kAvx2 = 1, kAvx512 = 2 };

// The best one of this machine, or a lesser one that QENGINE_ISA or qe_force_isa asks for.
Isa current_isa();

}  // namespace qe
