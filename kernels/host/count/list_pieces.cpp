// Lays out parts of roots' lists for a GPU that counts in segments and copies a piece at a time: what `copy_lists` reads
// (kernels/cuda/count/count_views.cu). A piece has heads of 16 bytes (where a root's marked, and its outer slice begin and end
// among the piece's members), rows of 8 (where each part begins in its list, and among the members), and tiles, the rows in which
// each 1,024 members begin. Roots with most members come first, by class; an outer slice that lies in the marked one has no row.
//
// A root is in a segment where its list has members there, and in a share by its number. Pieces are cut in the roots' order, each
// as large as may be. Bytes moved: 20 a root and segment, twice, and what is laid out. The same for every number of threads.
#include <algorithm>
#include <cstring>
#include <vector>

#include "base/layout.h"
#include "count/eliminate.h"

namespace qe::eliminate {

constexpr uint32_t kMostClasses = 4;

struct RootLists {
  const uint32_t* numbers;      // of n roots: their places among all
  const uint32_t* marked_begin;
  const uint32_t* marked_end;
  const uint32_t* const* cuts;  // of segment k the outer slice's part is [cuts[k][i], cuts[k + 1][i])
  uint64_t n;
  uint64_t most;                // bytes that a piece takes on the device, unless it has one root
  uint64_t root_bytes;          // that a root takes beside its members, at most
  uint32_t n_segments;
  uint32_t is_one;              // whether both slices are of one array
  uint32_t is_clipped;          // whether a marked slice ends where the outer one does
  uint32_t taken;               // members that a clipped marked slice has at least
  uint32_t share[3];            // begin, how many, of how many
  uint32_t limits[kMostClasses];  // the most members in a marked slice of each class, ascending
  uint32_t n_classes, unused;
};

struct RootPiece {
  uint64_t at;          // where its image begins, in bytes
  uint64_t begin, end;  // its roots, and others between them
  uint32_t segment, n_heads, n_rows, n_members;
  uint32_t classes[kMostClasses];  // how many roots are of each, those with most members first
};

namespace {

constexpr uint32_t kTile = 1024, kHeadBytes = 16, kRowBytes = 8, kPoll = 1 << 16;

struct Root {
  uint32_t marked_begin, marked, outer_begin, outer, apart, kind;
};

bool in_share(const RootLists& given, uint64_t i) {
  const uint32_t turn = given.numbers[i] % given.share[2];
  return turn >= given.share[0] && turn - given.share[0] < given.share[1];
}

// Whether a root has members in a segment and is in the share, and its slices.
bool find(const RootLists& given, uint32_t segment, uint64_t i, Root* root) {
  const uint32_t outer_begin = given.cuts[segment][i], outer_end = given.cuts[segment + 1][i];
  if (outer_begin >= outer_end || !in_share(given, i)) return false;
  const uint32_t begin = given.marked_begin[i];
  uint32_t end = given.marked_end[i];
  if (given.is_clipped) {
    end = std::min(end, outer_end);
    if (int64_t{end} - begin < given.taken) return false;
  }
  const bool within = given.is_one && begin <= outer_begin && outer_end <= end;
  const uint32_t outer = outer_end - outer_begin, marked = end - begin;
  uint32_t kind = 0;
  while (kind + 1 < given.n_classes && given.limits[kind] < marked) ++kind;
  *root = Root{begin, marked, outer_begin, outer, within ? 0 : outer, given.n_classes - 1 - kind};
  return true;
}

uint64_t image_bytes(const RootPiece& piece) {
  const uint64_t tiles = (uint64_t{piece.n_members} + kTile - 1) / kTile;
  const uint64_t all = uint64_t{kHeadBytes} * piece.n_heads + uint64_t{kRowBytes} * piece.n_rows + 4 * tiles;
  return (all + kHeadBytes - 1) / kHeadBytes * kHeadBytes;
}

std::vector<RootPiece> pieces_of(const RootLists& given, uint32_t segment, const WorkQueue& queue) {
  std::vector<RootPiece> found;
  uint64_t taken = 0;
  for (uint64_t i = 0; i < given.n; ++i) {
    if (i % kPoll == 0) queue.poll();
    Root root;
    if (!find(given, segment, i, &root)) continue;
    const uint64_t members = uint64_t{root.marked} + root.apart;
    const uint64_t bytes = 4 * members + members / (kTile / 4) + given.root_bytes;
    if (found.empty() || taken + bytes > given.most) {
      found.push_back(RootPiece{0, i, i, segment, 0, 0, 0, {}});
      taken = 0;
    }
    RootPiece& piece = found.back();
    taken += bytes;
    piece.end = i + 1;
    ++piece.n_heads;
    piece.n_rows += 1 + (root.apart > 0);
    piece.n_members += static_cast<uint32_t>(members);
    ++piece.classes[root.kind];
  }
  return found;
}

void lay_out(const RootLists& given, const RootPiece& piece, uint8_t* image) {
  struct Place {
    uint32_t head, member, row, apart;  // of the next root: its head, and its parts' first members; the row of the part apart
  };
  Place at[kMostClasses] = {};
  Root root;
  uint32_t apart[kMostClasses] = {};
  for (uint64_t i = piece.begin; i < piece.end; ++i) {
    if (!find(given, piece.segment, i, &root)) continue;
    at[root.kind].member += root.marked;
    at[root.kind].row += root.apart > 0;
    apart[root.kind] += root.apart;
  }
  Place next{0, 0, piece.n_heads, 0};
  for (uint32_t k = 0; k < given.n_classes; ++k) next.apart += at[k].member;
  for (uint32_t k = 0; k < given.n_classes; ++k) {
    const Place own = at[k];
    at[k] = next;
    next.head += piece.classes[k];
    next.member += own.member;
    next.row += own.row;
    next.apart += apart[k];
  }
  auto* heads = reinterpret_cast<uint32_t*>(image);
  uint32_t* rows = heads + 4 * uint64_t{piece.n_heads};
  uint32_t* tiles = rows + 2 * uint64_t{piece.n_rows};
  for (uint64_t i = piece.begin; i < piece.end; ++i) {
    if (!find(given, piece.segment, i, &root)) continue;
    Place& place = at[root.kind];
    const uint32_t start = place.member;
    const uint32_t outer = root.apart > 0 ? place.apart : start + (root.outer_begin - root.marked_begin);
    const uint32_t head[4] = {start, start + root.marked, outer, outer + root.outer};
    std::memcpy(heads + 4 * uint64_t{place.head}, head, sizeof head);
    rows[2 * uint64_t{place.head}] = root.marked_begin;
    rows[2 * uint64_t{place.head} + 1] = start;
    if (root.apart > 0) {
      rows[2 * uint64_t{place.row}] = root.outer_begin;
      rows[2 * uint64_t{place.row} + 1] = place.apart;
      ++place.row;
      place.apart += root.apart;
    }
    ++place.head;
    place.member += root.marked;
  }
  uint32_t row = 0, tile = 0;
  for (uint64_t member = 0; member < piece.n_members; member += kTile) {
    while (row + 1 < piece.n_rows && rows[2 * uint64_t{row} + 3] <= member) ++row;
    tiles[tile++] = row;
  }
  uint8_t* end = reinterpret_cast<uint8_t*>(tiles + tile);
  std::memset(end, 0, image + image_bytes(piece) - end);
}

}  // namespace
}  // namespace qe::eliminate

// Cuts the roots of a share into pieces, segment after segment: *n is how many, *n_bytes what their images take together. pieces:
// room for `capacity`; where that is too little, n is told and nothing else.
QE_API int32_t qe_root_pieces(const qe::eliminate::RootLists* given, qe::eliminate::RootPiece* pieces, uint64_t capacity, uint64_t* n,
                              uint64_t* n_bytes, qe::Control* control) {
  using namespace qe;
  using namespace qe::eliminate;
  return guarded([&] {
    std::vector<std::vector<RootPiece>> found(given->n_segments);
    WorkQueue queue(control, given->n_segments, 1);
    check(deal(workers_for(control, given->n), queue, [&](int) {
      for (uint64_t begin, end; queue.take(&begin, &end);) found[begin] = pieces_of(*given, static_cast<uint32_t>(begin), queue);
    }));
    *n = *n_bytes = 0;
    for (const auto& each : found) *n += each.size();
    if (*n > capacity) return;
    for (const auto& each : found)
      for (RootPiece piece : each) {
        piece.at = *n_bytes;
        *n_bytes += image_bytes(piece);
        *pieces++ = piece;
      }
  });
}

// Writes the images of such pieces, each from its place on.
QE_API int32_t qe_root_images(const qe::eliminate::RootLists* given, const qe::eliminate::RootPiece* pieces, uint64_t n,
                              uint8_t* images, qe::Control* control) {
  using namespace qe;
  using namespace qe::eliminate;
  return guarded([&] {
    check(each_row(workers_for(control, given->n), control, n, 1, [&](uint32_t k) { lay_out(*given, pieces[k], images + pieces[k].at); }));
  });
}

namespace {

using namespace qe::eliminate;
using qe::kLayoutEnd;

const int32_t kLayout[] = {
    sizeof(RootLists), QE_AT(RootLists, numbers), QE_AT(RootLists, marked_begin), QE_AT(RootLists, marked_end),
    QE_AT(RootLists, cuts), QE_AT(RootLists, n), QE_AT(RootLists, most), QE_AT(RootLists, root_bytes),
    QE_AT(RootLists, n_segments), QE_AT(RootLists, is_one), QE_AT(RootLists, is_clipped), QE_AT(RootLists, taken),
    QE_AT(RootLists, share), QE_AT(RootLists, limits), QE_AT(RootLists, n_classes), QE_AT(RootLists, unused), kLayoutEnd,
    sizeof(RootPiece), QE_AT(RootPiece, at), QE_AT(RootPiece, begin), QE_AT(RootPiece, end), QE_AT(RootPiece, segment),
    QE_AT(RootPiece, n_heads), QE_AT(RootPiece, n_rows), QE_AT(RootPiece, n_members), QE_AT(RootPiece, classes), kLayoutEnd,
};

}  // namespace

// As qe_loading_layout.
QE_API int32_t qe_root_layout(const int32_t** layout) {
  *layout = kLayout;
  return static_cast<int32_t>(sizeof kLayout / sizeof *kLayout);
}
