// Matrices whose longest rows are rows of bits, too, over all vertices: what members of rows are looked up in.
#pragma once
#include "count/eliminate.cuh"
#include "qe/lists.h"

namespace qe::eliminate {

// The rows of bits of a matrix: row of[v - lo] of `words` words each is that of vertex v, below 0: it has none. of: null if none has.
struct BitRows {
  const uint32_t* bits;
  const int32_t* of;
  uint64_t words;

  __device__ const uint32_t* row(const Matrix& m, uint32_t v) const {
    if (of == nullptr || v < m.lo || v >= m.hi) return nullptr;
    const int32_t at = of[v - m.lo];
    return at < 0 ? nullptr : bits + static_cast<uint64_t>(at) * words;
  }
};

// A matrix, and its rows of bits: those of one with numbers aren't asked for.
struct Side {
  Matrix of;
  BitRows rows;
};

// Row u of a side, made ready to be asked for many ids.
class Members {
 public:
  __device__ Members(const Side& side, uint32_t u) : bits_(side.rows.row(side.of, u)), span_(row(side.of, u)), ids_(side.of.ids) {}

  __device__ bool have(uint32_t v) const {
    if (bits_ != nullptr) return has_bit(bits_, v);
    const uint64_t at = lower_bound(ids_ + span_.begin, span_.size(), v);
    return at < span_.size() && ids_[span_.begin + at] == v;
  }

 private:
  const uint32_t* bits_;
  Span span_;
  const uint32_t* ids_;
};

}  // namespace qe::eliminate
