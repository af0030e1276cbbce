// What rows of a search are joined with, and what gets the pairs (joined_rows.cpp).
#pragma once
#include "join/hash_join.h"
#include "search/row_sink.h"

namespace qe {

// A column of the joined rows, or an operand of a test: of the table's rows where `built` isn't null, else that of the chunk.
struct JoinedColumn {
  const int64_t* built;
  int32_t column, unused;
};

struct JoinedTest {
  int64_t count;
  JoinedColumn operands[4];  // of its equations, left and right by turns
};

// keys: the chunk's columns. to: gets the joined rows, without counts.
struct JoinedRowsPlan {
  const JoinTable* table;
  const int32_t* keys;
  const JoinedColumn* columns;
  const JoinedTest* tests;
  Control* control;
  RowSink* to;
  int32_t n_columns, n_tests, once, unused;
};

}  // namespace qe
