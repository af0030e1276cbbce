// Picks the instruction set once; tests force each in turn.
#include "base/isa.h"

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "qe/abi.h"

namespace qe {
namespace {

Isa supported() {
#if defined(QE_X86)
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi2")) return kBaseline;
  const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                    __builtin_cpu_supports("avx512vpopcntdq");
  return wide ? kAvx512 : kAvx2;
#else
  return kBaseline;
#endif
}

Isa initial() {
  const Isa best = supported();
  const char* asked = std::getenv("QENGINE_ISA");
  if (asked == nullptr) return best;
  if (std::strcmp(asked, "baseline") == 0) return kBaseline;
  if (std::strcmp(asked, "avx2") == 0 && best > kAvx2) return kAvx2;
  return best;
}

std::atomic<int32_t>& chosen() {
  static std::atomic<int32_t> isa{initial()};
  return isa;
}

}  // namespace

Isa current_isa() { return static_cast<Isa>(chosen().load(std::memory_order_relaxed)); }

}  // namespace qe

// Uses `isa` from now on, or the best one for -1. Returns the one used, which is less where the machine has less.
QE_API int32_t qe_force_isa(int32_t isa) {
  const int32_t best = qe::supported();
  const int32_t use = isa < 0 || isa > best ? best : isa;
  qe::chosen().store(use, std::memory_order_relaxed);
  return use;
}
