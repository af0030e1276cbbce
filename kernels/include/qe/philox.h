// Philox4x32-10: random numbers as a function of a counter and a key (Salmon et al., SC 2011).
//
// No state: the same counter and key give the same 128 bits on every machine, thread and device. Passes the
// authors' known answers (tests/property/test_sampling.py).
#pragma once
#include "qe/portable.h"

namespace qe {

struct PhiloxBlock {
  uint32_t word[4];
};

QE_BOTH inline PhiloxBlock philox(uint64_t low, uint64_t high, uint64_t key) {
  uint32_t a = static_cast<uint32_t>(low), b = static_cast<uint32_t>(low >> 32);
  uint32_t c = static_cast<uint32_t>(high), d = static_cast<uint32_t>(high >> 32);
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t one = 0xD2511F53ull * a, two = 0xCD9E8D57ull * c;
    const uint32_t next_a = static_cast<uint32_t>(two >> 32) ^ b ^ k0;
    const uint32_t next_c = static_cast<uint32_t>(one >> 32) ^ d ^ k1;
    b = static_cast<uint32_t>(two);
    d = static_cast<uint32_t>(one);
    a = next_a;
    c = next_c;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{a, b, c, d}};
}

}  // namespace qe
