// Counts what hangs on one vertex alone: stars.
//
// Problem: sum over roots of the product over factors of C(n, k) (QE_ORDERED bit set) or n (n-1) ... of k factors, n the size
// of the root's slice less a constant. A thread a root; each product is checked against 64 bits. Bytes moved: the slices.
#include "count/count.cuh"

namespace qe {

constexpr int kMaxFactors = 4;

struct StarTask {
  const uint32_t* roots;
  const uint32_t* n_roots;
  const ViewSlice* slices[kMaxFactors];
  int32_t less[kMaxFactors];   // taken from the size first
  int32_t taken[kMaxFactors];  // k
  int32_t ordered;             // bit i: factor i counts sets
  int32_t n_factors;
  unsigned long long* total;   // low, high, and 1 after an overflow
};

extern "C" __global__ void count_stars(const StarTask task) {
  Sum sum;
  const uint32_t n_roots = *task.n_roots;
  for (uint32_t at = blockIdx.x * blockDim.x + threadIdx.x; at < n_roots; at += gridDim.x * blockDim.x) {
    const uint32_t root = task.roots[at];
    uint64_t product = 1;
    bool fits = true;
    for (int f = 0; f < task.n_factors; ++f) {
      const ViewSlice slice = task.slices[f][root];
      const int64_t n = static_cast<int64_t>(slice.end - slice.begin) - task.less[f];
      uint64_t ways = 1;
      for (int k = 0; k < task.taken[f]; ++k) {
        const uint64_t next = n > k ? n - k : 0;
        fits = fits && __umul64hi(ways, next) == 0;
        ways *= next;
        if (task.ordered >> f & 1) ways /= k + 1;
      }
      fits = fits && (__umul64hi(product, ways) == 0);
      product *= ways;
    }
    if (!fits) task.total[2] = 1;
    sum.add(product);
  }
  sum.flush(task.total);
}

}  // namespace qe
