// Exports the layouts of what sinks of a search's rows are made of, so that a test can compare them with Python's mirror.
#include "base/layout.h"
#include "fold/sink_rows.h"
#include "join/joined_rows.h"
#include "qe/abi.h"

namespace {

using namespace qe;
using namespace qe::fold;

const int32_t kLayout[] = {
    sizeof(SinkSource), QE_AT(SinkSource, columns), QE_AT(SinkSource, given), QE_AT(SinkSource, weights),
    QE_AT(SinkSource, conditions), QE_AT(SinkSource, orbits), QE_AT(SinkSource, n_images), QE_AT(SinkSource, n_variables),
    QE_AT(SinkSource, n_given), QE_AT(SinkSource, n_conditions), QE_AT(SinkSource, weighted), QE_AT(SinkSource, unused), kLayoutEnd,
    sizeof(RowFoldPlan), QE_AT(RowFoldPlan, source), QE_AT(RowFoldPlan, folds), QE_AT(RowFoldPlan, n_folds),
    QE_AT(RowFoldPlan, unused), kLayoutEnd,
    sizeof(OrderKey), QE_AT(OrderKey, column), QE_AT(OrderKey, descending), QE_AT(OrderKey, unused), kLayoutEnd,
    sizeof(FirstRowsPlan), QE_AT(FirstRowsPlan, source), QE_AT(FirstRowsPlan, keys), QE_AT(FirstRowsPlan, control),
    QE_AT(FirstRowsPlan, limit), QE_AT(FirstRowsPlan, n_keys), QE_AT(FirstRowsPlan, n_outputs),
    QE_AT(FirstRowsPlan, seeded), QE_AT(FirstRowsPlan, unused), kLayoutEnd,
    sizeof(JoinedColumn), QE_AT(JoinedColumn, built), QE_AT(JoinedColumn, column), QE_AT(JoinedColumn, unused), kLayoutEnd,
    sizeof(JoinedTest), QE_AT(JoinedTest, count), QE_AT(JoinedTest, operands), kLayoutEnd,
    sizeof(JoinedRowsPlan), QE_AT(JoinedRowsPlan, table), QE_AT(JoinedRowsPlan, keys), QE_AT(JoinedRowsPlan, columns),
    QE_AT(JoinedRowsPlan, tests), QE_AT(JoinedRowsPlan, control), QE_AT(JoinedRowsPlan, to), QE_AT(JoinedRowsPlan, n_columns),
    QE_AT(JoinedRowsPlan, n_tests), QE_AT(JoinedRowsPlan, once), QE_AT(JoinedRowsPlan, unused), kLayoutEnd,
};

}  // namespace

QE_API int32_t qe_sink_layout(const int32_t** table) {
  *table = kLayout;
  return sizeof(kLayout) / sizeof(kLayout[0]);
}
