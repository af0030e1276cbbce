// Finds where the last whole row of a block of a CSV file ends, and whether each quote before it is one that every reader
// takes alike: it opens a field, closes one, or is one of two inside of one. Bytes moved: the block, once.
#include "base/workers.h"

namespace qe {
namespace {

// What a quote may stand beside: another one, a separator, or a line's end.
inline bool bounds(uint8_t c, uint8_t separator) { return c == separator || c == '"' || c == '\n' || c == '\r'; }

}  // namespace
}  // namespace qe

// data[n]: a block that begins a row; `last`: the file ends with it. Writes to end[0] where its last whole row ends, of
// those before the first quote that isn't taken alike (0 where there is none), and to end[1] whether there is such a quote:
// one in the middle of a field, one behind a backslash, a backslash behind another one in quotes, or one left open at last.
QE_API int32_t qe_csv_rows_end(const uint8_t* data, uint64_t n, uint8_t separator, int32_t last, uint64_t* end) {
  using namespace qe;
  uint64_t rows = 0, at = 0;
  end[1] = 1;
  while (true) {
    for (; at < n && data[at] != '"'; ++at)
      if (data[at] == '\n') rows = at + 1;
    end[0] = rows;
    if (at == n) break;
    if (at > 0 && !bounds(data[at - 1], separator)) return 0;
    ++at;
    while (at < n && data[at] != '"') {
      if (data[at] == '\\' && at + 1 < n && (data[at + 1] == '"' || data[at + 1] == '\\')) return 0;
      ++at;
    }
    if (at == n) {
      end[1] = last != 0;
      return 0;
    }
    if (++at < n && !bounds(data[at], separator)) return 0;
  }
  end[1] = 0;
  if (last != 0) end[0] = n;
  return 0;
}
