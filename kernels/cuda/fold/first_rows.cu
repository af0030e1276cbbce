// Which of many rows can be among the first of an order: those that don't come after the last of those found so far.
//
// A key is a column by one variable's ids (qe/fold.h). Its values are compared as integers of the same order, null after all
// others, and descending the other way round. Launch: whole warps, no shared memory; both kernels are passes (base/stop.cuh).
// Bytes moved: a row's ids, and at them the columns of as many keys as it takes to decide (32 of L2's sectors each).
#include "fold/fold_rows.cuh"

using namespace qe;
using namespace qe::fold;

struct SortKey {
  Column column;
  int32_t descending, unused;
};

namespace {

__device__ inline int64_t key_of(const SortKey& key, int64_t id) {
  const Value value = value_of(key.column, id);
  const int64_t number = !value.present ? INT64_MAX : key.column.kind == fold::kFloat64 ? ordered(value.real) : value.whole;
  return key.descending ? ~number : number;
}

}  // namespace

// within[i]: whether row i doesn't come after `bound`, a number a key.
extern "C" __global__ void first_within(const SortKey* keys, int32_t n_keys, FoldRows rows, const int64_t* bound, uint8_t* within) {
  for (uint64_t i = thread(); i < rows.n; i += threads()) {
    bool before = true;
    for (int k = 0; k < n_keys; ++k) {
      const int64_t number = key_of(keys[k], rows.id(keys[k].column.variable, i));
      if (number == bound[k]) continue;
      before = number < bound[k];
      break;
    }
    within[i] = before;
  }
}

// The keys of n chosen rows, one column after the other.
extern "C" __global__ void first_keys(const SortKey* keys, int32_t n_keys, FoldRows rows, const int64_t* chosen, uint64_t n,
                                      int64_t* columns) {
  for (uint64_t i = thread(); i < n; i += threads())
    for (int k = 0; k < n_keys; ++k)
      columns[static_cast<uint64_t>(k) * n + i] = key_of(keys[k], rows.id(keys[k].column.variable, static_cast<uint64_t>(chosen[i])));
}
