// Writes rows into a caller's buffers.
#pragma once
#include <algorithm>

#include "qe/walk.h"

namespace qe::walks {

class Sink {
 public:
  Sink(WalkOutput& out, bool lists) : out_(out), lists_(lists) {
    out_.rows = 0;
    out_.needed_ids = 0;
    if (lists_) out_.offsets[0] = 0;
  }

  bool lists() const { return lists_; }
  int64_t room() const { return out_.row_capacity - out_.rows; }

  // Whether a row whose list has `length` relationships fits; where it never would, the caller is told.
  bool fits(int64_t length) {
    if (out_.rows == out_.row_capacity) return false;
    if (!lists_ || length <= out_.id_capacity - ids_) return true;
    if (out_.rows == 0) out_.needed_ids = length;
    return false;
  }

  void emit(int64_t row, uint32_t end, int64_t hops = 0) {
    out_.row[out_.rows] = row;
    out_.end[out_.rows] = end;
    if (out_.hops) out_.hops[out_.rows] = hops;
    ++out_.rows;
  }

  void emit(int64_t row, uint32_t end, const int64_t* relationships, int64_t length, bool reversed) {
    if (lists_) {
      int64_t* to = out_.relationships + ids_;
      if (reversed) {
        std::reverse_copy(relationships, relationships + length, to);
      } else {
        std::copy(relationships, relationships + length, to);
      }
      ids_ += length;
      out_.offsets[out_.rows + 1] = ids_;
    }
    emit(row, end, length);
  }

 private:
  WalkOutput& out_;
  bool lists_;
  int64_t ids_ = 0;
};

}  // namespace qe::walks
