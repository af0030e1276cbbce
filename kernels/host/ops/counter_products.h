// Products of counters that are kept as bits (BitCounters): of two blocks of them, counter by counter.
#pragma once
#include "ops/set_ops.h"

namespace qe {

// The products of the counters of two blocks: the sum of all 2^k * sums[k * kRowBlock + w] grows by them, digits of both
// together lines.
using AddProducts = void (*)(BitCounters one, BitCounters other, uint64_t* sums);

AddProducts add_products(Isa isa);

}  // namespace qe
