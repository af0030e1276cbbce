// The numbers of rows that are given by their ids: columns of a result that stays on the device.
//
// Launch: whole warps, no shared memory; a pass (base/stop.cuh). Bytes moved: a row's id, the column there (a sector of L2), 8 written.
#include "fold/fold_rows.cuh"

using namespace qe;
using namespace qe::fold;

// numbers[i]: row i's number of a column, which is a double where the column's are. absent: set to 1 where a row has none.
extern "C" __global__ void row_numbers(const Column* column, FoldRows rows, void* numbers, int32_t* absent) {
  for (uint64_t i = thread(); i < rows.n; i += threads()) {
    const Value value = value_of(*column, rows.id(column->variable, i));
    if (!value.present) *absent = 1;
    if (column->kind == fold::kFloat64)
      static_cast<double*>(numbers)[i] = value.real;
    else
      static_cast<int64_t*>(numbers)[i] = value.whole;
  }
}
