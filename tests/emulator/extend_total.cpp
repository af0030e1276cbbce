// The kernel that counts by extension, called on the host.
#include "warps.h"
#include "extend_total.cu"

extern "C" void extend_total_on_host(unsigned blocks, unsigned threads, uint64_t job) {
  emulator::run(blocks, threads, [&] { extend_total(reinterpret_cast<const qe::TotalJob*>(job)); });
}
