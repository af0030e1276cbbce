// Exports the layouts of loading's structs, so that a test can compare them with Python's mirror.
#include "base/layout.h"
#include "load/loading.h"
#include "qe/abi.h"

namespace {

using namespace qe;

const int32_t kLayout[] = {
    sizeof(RowIndex), QE_AT(RowIndex, keys), QE_AT(RowIndex, begins), QE_AT(RowIndex, ends), QE_AT(RowIndex, n),
    QE_AT(RowIndex, first), QE_AT(RowIndex, unused), kLayoutEnd,
    sizeof(ListEntries), QE_AT(ListEntries, lists), QE_AT(ListEntries, entries), QE_AT(ListEntries, n),
    QE_AT(ListEntries, lo), QE_AT(ListEntries, n_lists), kLayoutEnd,
    sizeof(KeyedLists), QE_AT(KeyedLists, keys), QE_AT(KeyedLists, offsets), QE_AT(KeyedLists, neighbours),
    QE_AT(KeyedLists, n_keys), kLayoutEnd,
    sizeof(MergedLists), QE_AT(MergedLists, keys), QE_AT(MergedLists, offsets), QE_AT(MergedLists, neighbours),
    QE_AT(MergedLists, ids), QE_AT(MergedLists, n_keys), kLayoutEnd,
    sizeof(KeyTable), QE_AT(KeyTable, entries), QE_AT(KeyTable, size), QE_AT(KeyTable, low), QE_AT(KeyTable, missing),
    QE_AT(KeyTable, unused), kLayoutEnd,
    sizeof(GroupedLists), QE_AT(GroupedLists, rows), QE_AT(GroupedLists, neighbours), QE_AT(GroupedLists, group_ends),
    QE_AT(GroupedLists, n_groups), QE_AT(GroupedLists, low), QE_AT(GroupedLists, high), QE_AT(GroupedLists, sides),
    kLayoutEnd,
    sizeof(PairTable), QE_AT(PairTable, pairs), QE_AT(PairTable, entries), QE_AT(PairTable, owners),
    QE_AT(PairTable, largest), QE_AT(PairTable, moments), QE_AT(PairTable, capacity), kLayoutEnd,
    sizeof(WedgeLists), QE_AT(WedgeLists, rows), QE_AT(WedgeLists, neighbours), QE_AT(WedgeLists, out),
    QE_AT(WedgeLists, undirected), QE_AT(WedgeLists, unused), kLayoutEnd,
    sizeof(EdgeColumns), QE_AT(EdgeColumns, first), QE_AT(EdgeColumns, second), QE_AT(EdgeColumns, third), kLayoutEnd,
    sizeof(EdgeLines), QE_AT(EdgeLines, n_rows), QE_AT(EdgeLines, n_lines), QE_AT(EdgeLines, bad_line), kLayoutEnd,
    sizeof(Runs), QE_AT(Runs, begins), QE_AT(Runs, sources), QE_AT(Runs, n), QE_AT(Runs, n_old), kLayoutEnd,
    sizeof(Moves), QE_AT(Moves, points), QE_AT(Moves, shifts), QE_AT(Moves, n), kLayoutEnd,
    sizeof(SplicedRows), QE_AT(SplicedRows, runs), QE_AT(SplicedRows, fresh), QE_AT(SplicedRows, offsets),
    QE_AT(SplicedRows, n_old), QE_AT(SplicedRows, old_low), QE_AT(SplicedRows, low), QE_AT(SplicedRows, n_rows),
    kLayoutEnd,
    sizeof(Relisting), QE_AT(Relisting, old), QE_AT(Relisting, origins), QE_AT(Relisting, new_ids),
    QE_AT(Relisting, gone), QE_AT(Relisting, owners), QE_AT(Relisting, entries), QE_AT(Relisting, sources),
    QE_AT(Relisting, n_added), QE_AT(Relisting, places), QE_AT(Relisting, n_vertices), kLayoutEnd,
};

}  // namespace

// Returns how many numbers the table has, and the table itself in *layout.
QE_API int32_t qe_loading_layout(const int32_t** layout) {
  *layout = kLayout;
  return static_cast<int32_t>(sizeof kLayout / sizeof *kLayout);
}
