// Makes the symmetric lists of an undirected type: each list is the merge of the vertex's OUT and IN lists, ordered
// by (neighbour, relationship). A self-loop is in both and is taken from OUT alone.
// Without ids, which no list needs that has no neighbour twice, 12 bytes a relationship less are read and written.
#include <algorithm>

#include "base/workers.h"
#include "load/loading.h"

namespace qe {
namespace {

uint64_t row_of(const KeyedLists& lists, uint32_t key) { return std::lower_bound(lists.keys, lists.keys + lists.n_keys, key) - lists.keys; }

// Calls visit(row, vertex, out begin, out end, in begin, in end) for the rows [first, last) of `keys`.
template <class Visit>
void walk(const KeyedLists& out, const KeyedLists& in, const uint32_t* keys, uint64_t first, uint64_t last, Visit&& visit) {
  if (first == last) return;
  uint64_t o = row_of(out, keys[first]), i = row_of(in, keys[first]);
  for (uint64_t row = first; row < last; ++row) {
    uint64_t slice[4] = {0, 0, 0, 0};
    if (o < out.n_keys && out.keys[o] == keys[row]) {
      slice[0] = out.offsets[o];
      slice[1] = out.offsets[++o];
    }
    if (i < in.n_keys && in.keys[i] == keys[row]) {
      slice[2] = in.offsets[i];
      slice[3] = in.offsets[++i];
    }
    visit(row, keys[row], slice);
  }
}

}  // namespace
}  // namespace qe

// merged->keys: the vertices of either side, ascending. in_ids: the OUT position of each IN entry; null where ids aren't
// wanted. Writes offsets, neighbours and ids of `merged`; the caller gives n_out + n_in places and uses offsets[n_keys] of them.
QE_API int32_t qe_pcsr_merge(const qe::KeyedLists* out_lists, const qe::KeyedLists* in_lists, const uint32_t* in_ids,
                             const qe::MergedLists* merged, int32_t threads) {
  using namespace qe;
  const KeyedLists &out = *out_lists, &in = *in_lists;
  const uint32_t *const out_neighbours = out.neighbours, *const in_neighbours = in.neighbours, *const keys = merged->keys;
  const uint64_t n_keys = merged->n_keys;
  uint64_t* const offsets = merged->offsets;
  offsets[0] = 0;
  const Status counted = run_workers(threads, [&](int worker) {
    walk(out, in, keys, share(n_keys, worker, threads), share(n_keys, worker + 1, threads),
         [&](uint64_t row, uint32_t vertex, const uint64_t* s) {
           const auto loops = std::equal_range(in_neighbours + s[2], in_neighbours + s[3], vertex);
           offsets[row + 1] = (s[1] - s[0]) + (s[3] - s[2]) - (loops.second - loops.first);
         });
  });
  if (counted != kOk) return counted;
  for (uint64_t row = 0; row < n_keys; ++row) offsets[row + 1] += offsets[row];
  return run_workers(threads, [&](int worker) {
    walk(out, in, keys, share(n_keys, worker, threads), share(n_keys, worker + 1, threads),
         [&](uint64_t row, uint32_t vertex, const uint64_t* s) {
           uint64_t place = offsets[row], o = s[0], i = s[2];
           while (o < s[1] || i < s[3]) {
             if (i < s[3] && in_neighbours[i] == vertex) {
               ++i;
               continue;
             }
             const bool from_out = i == s[3] || (o < s[1] && (out_neighbours[o] < in_neighbours[i] ||
                                                              (out_neighbours[o] == in_neighbours[i] && in_ids != nullptr && o < in_ids[i])));
             if (in_ids != nullptr) merged->ids[place] = from_out ? static_cast<uint32_t>(o) : in_ids[i];
             merged->neighbours[place++] = from_out ? out_neighbours[o] : in_neighbours[i];
             from_out ? ++o : ++i;
           }
         });
  });
}
