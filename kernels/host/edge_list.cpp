// Reads the lines of an edge list: two integers, separated by blanks, tabs, commas or semicolons; what follows them
// in the line is ignored. Lines that are empty or start with # or % are comments.
#include <algorithm>
#include <cstring>

#include "workers.h"

namespace qe {
namespace {

constexpr uint64_t kSerialBelow = 1 << 18;

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

void read_part(Part& part, int64_t* start, int64_t* end) {
  start += part.place;
  end += part.place;
  uint64_t line = 0;
  for (const char* at = part.begin; at < part.end; ++line) {
    while (at < part.end && separates(*at)) ++at;
    if (at < part.end && *at != '\n' && *at != '#' && *at != '%') {
      bool good = read_integer(at, part.end, start[part.edges]) && at < part.end && separates(*at);
      while (good && at < part.end && separates(*at)) ++at;
      good = good && read_integer(at, part.end, end[part.edges]) && (at == part.end || separates(*at) || *at == '\n');
      if (!good) {
        part.bad = line;
        return;
      }
      ++part.edges;
    }
    const void* newline = at < part.end ? std::memchr(at, '\n', part.end - at) : nullptr;
    at = newline != nullptr ? static_cast<const char*>(newline) + 1 : part.end;
  }
}

}  // namespace
}  // namespace qe

// data[n]: whole lines (the last may lack its newline). start and end have n / 4 + 1 places, enough for the
// shortest lines. Writes *n_edges, or *bad_line (from 0) and kInvalid where a line is no edge.
QE_API int32_t qe_edge_list(const char* data, uint64_t n, int64_t* start, int64_t* end, uint64_t* n_edges,
                            uint64_t* n_lines, uint64_t* bad_line, int32_t threads) {
  using namespace qe;
  const int workers = n < kSerialBelow ? 1 : std::max(threads, 1);
  std::vector<Part> parts(workers);
  const char* at = data;
  for (int worker = 0; worker < workers; ++worker) {
    parts[worker].begin = at;
    const char* cut = std::max(at, data + share(n, worker + 1, workers));
    at = worker + 1 == workers ? data + n : std::find(cut, data + n, '\n');
    if (at < data + n) ++at;
    parts[worker].end = at;
  }
  // An edge takes 4 bytes or more (the last of all 3), so what n / 4 + 1 places hold before a part is enough for the
  // parts before it.
  Status status = run_workers(workers, [&](int worker) {
    Part& part = parts[worker];
    part.lines = std::count(part.begin, part.end, '\n');
    part.place = (part.begin - data) / 4;
    read_part(part, start, end);
  });
  *n_edges = *n_lines = 0;
  *bad_line = UINT64_MAX;
  for (const Part& part : parts) {
    if (part.bad != UINT64_MAX) {
      *bad_line = *n_lines + part.bad;
      return kInvalid;
    }
    if (part.place != *n_edges) {
      std::memmove(start + *n_edges, start + part.place, part.edges * sizeof(int64_t));
      std::memmove(end + *n_edges, end + part.place, part.edges * sizeof(int64_t));
    }
    *n_edges += part.edges;
    *n_lines += part.lines;
  }
  return status;
}
