// Reads the lines of edge lists and of graph files.
//
// Edge list: two integers a line, separated by blanks, tabs, commas or semicolons; what follows them is ignored.
// Graph file: the same behind a letter, t, v or e; one call reads the lines of one letter. Lines that are empty or
// start with # or % are comments. Threads read parts of whole lines; the result is the same for every number of them.
#include <algorithm>
#include <cstring>

#include "base/workers.h"
#include "load/loading.h"

namespace qe {
namespace {

constexpr uint64_t kSerialBelow = 1 << 18;
constexpr int64_t kNone = INT64_MIN;

inline bool separates(char c) { return c == ' ' || c == '\t' || c == ',' || c == ';' || c == '\r'; }

// Reads one integer; leaves `at` behind it. False for anything else, or one of more than 64 bits.
inline bool read_integer(const char*& at, const char* end, int64_t& value) {
  const bool negative = at < end && *at == '-';
  if (negative) ++at;
  uint64_t sum = 0;
  const char* first = at;
  for (; at < end && *at >= '0' && *at <= '9'; ++at) {
    const uint64_t digit = *at - '0';
    if (sum > (UINT64_MAX - digit) / 10) return false;
    sum = sum * 10 + digit;
  }
  if (at == first || sum > static_cast<uint64_t>(INT64_MAX) + (negative ? 1 : 0)) return false;
  value = static_cast<int64_t>(negative ? 0 - sum : sum);
  return true;
}

struct Part {
  const char* begin;
  const char* end;
  uint64_t lines = 0;                // newline characters
  uint64_t place = 0, edges = 0;     // where its edges are written, and how many they are
  uint64_t bad = UINT64_MAX;         // its first line that is no edge
};

inline void skip_separators(const char*& at, const char* end) {
  while (at < end && separates(*at)) ++at;
}

inline bool ends_field(const char* at, const char* end) { return at == end || separates(*at) || *at == '\n'; }

// Reads the integers of one line; false where it is no edge.
inline bool read_line(const char*& at, const char* end, const EdgeColumns& columns, uint64_t row) {
  if (!read_integer(at, end, columns.first[row]) || at == end || !separates(*at)) return false;
  skip_separators(at, end);
  if (!read_integer(at, end, columns.second[row]) || !ends_field(at, end)) return false;
  if (columns.third == nullptr) return true;
  skip_separators(at, end);
  columns.third[row] = kNone;
  return at == end || *at == '\n' || (read_integer(at, end, columns.third[row]) && ends_field(at, end));
}

void read_part(Part& part, const EdgeColumns& columns, char letter) {
  uint64_t line = 0;
  for (const char* at = part.begin; at < part.end; ++line) {
    skip_separators(at, part.end);
    if (at < part.end && *at != '\n' && *at != '#' && *at != '%') {
      bool good = true, wanted = true;
      if (letter != 0) {
        good = *at == 't' || *at == 'v' || *at == 'e';
        wanted = *at++ == letter;
        good = good && ends_field(at, part.end);
        skip_separators(at, part.end);
      }
      if (!good || (wanted && !read_line(at, part.end, columns, part.place + part.edges))) {
        part.bad = line;
        return;
      }
      part.edges += wanted;
    }
    const void* newline = at < part.end ? std::memchr(at, '\n', part.end - at) : nullptr;
    at = newline != nullptr ? static_cast<const char*>(newline) + 1 : part.end;
  }
}

}  // namespace
}  // namespace qe

// data[n]: whole lines (the last may lack its newline). `letter`: 0 for an edge list, else the lines of a graph file
// that are wanted. first, second and third (null: not wanted; INT64_MIN where a line has none) have n / 4 + 1 places,
// enough for the shortest lines. Writes *found; kInvalid where a line is bad.
QE_API int32_t qe_edge_list(const char* data, uint64_t n, char letter, const qe::EdgeColumns* to, qe::EdgeLines* found,
                            int32_t threads) {
  using namespace qe;
  const int workers = n < kSerialBelow ? 1 : std::max(threads, 1);
  const EdgeColumns& columns = *to;
  std::vector<Part> parts(workers);
  const char* at = data;
  for (int worker = 0; worker < workers; ++worker) {
    parts[worker].begin = at;
    const char* cut = std::max(at, data + share(n, worker + 1, workers));
    at = worker + 1 == workers ? data + n : std::find(cut, data + n, '\n');
    if (at < data + n) ++at;
    parts[worker].end = at;
  }
  const Status status = run_workers(workers, [&](int worker) {
    Part& part = parts[worker];
    part.lines = std::count(part.begin, part.end, '\n');
    part.place = (part.begin - data) / 4;  // a line takes 4 bytes or more: the parts before it need no more places
    read_part(part, columns, letter);
  });
  *found = {0, 0, UINT64_MAX};
  for (const Part& part : parts) {
    if (part.bad != UINT64_MAX) {
      found->bad_line = found->n_lines + part.bad;
      return kInvalid;
    }
    for (int64_t* column : {columns.first, columns.second, columns.third})
      if (column != nullptr && part.place != found->n_rows)
        std::memmove(column + found->n_rows, column + part.place, part.edges * sizeof(int64_t));
    found->n_rows += part.edges;
    found->n_lines += part.lines;
  }
  return status;
}
