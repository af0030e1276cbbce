// What takes a search's rows in its consumer's place: workers hand it their chunks as they fill them.
#pragma once
#include <atomic>
#include <cstdint>

#include "search/search_pool.h"

namespace qe {

class RowSink {
 public:
  virtual ~RowSink() = default;

  // Takes the rows of a chunk, which is the caller's again afterwards. Called from several threads at once. Throws Halt.
  virtual void take(Chunk& chunk) = 0;

  // Once all rows are taken: writes rows that the consumer gets after all, as many as fit; returns how many, 0 at the end.
  virtual size_t give(Chunk&) { return 0; }

  std::atomic<uint64_t> taken{0};   // rows
  std::atomic<uint64_t> passed{0};  // those for which all conditions hold
  uint64_t given = 0;               // those that the consumer gets
};

}  // namespace qe
