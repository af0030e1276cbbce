// The classifier: gives each token of a statement the kind that its place calls for.
#pragma once
#include <string>
#include <vector>

#include "syntax/kinds.h"

namespace qe::syntax {

// Where the value of a token is that isn't its text: a name in backticks, a parameter in braces, else the number of a text that was put
// together (Classified::texts).
constexpr int64_t kAsWritten = -1, kInBackticks = -2, kInBraces = -3;

struct Classified {
  std::vector<int64_t> kinds, starts, ends, values;
  std::string texts;  // each with a line end behind it
  int64_t texts_count = 0;

  void clear() {
    for (auto* each : {&kinds, &starts, &ends, &values}) each->clear();
    texts.clear();
    texts_count = 0;
  }

  void add(Kind kind, int64_t start, int64_t end, int64_t value) {
    kinds.push_back(kind);
    starts.push_back(start);
    ends.push_back(end);
    values.push_back(value);
  }
};

// What is wrong with a statement's brackets; places are indices of tokens.
struct BracketError {
  enum What { kNone, kTooDeep, kClosesNothing, kNotClosedBefore, kNeverClosed } what = kNone;
  int64_t place = 0, other = 0;
};

// Pairs the brackets of tokens first to last (exclusive): `partner` of each opening one, -1 of all others.
BracketError pair_brackets(const Tokens& tokens, int most_nested, std::vector<int64_t>& partner);

// Writes the tokens with final kinds, helper tokens put in and phrases of words joined. Never fails: what makes no sense
// keeps its plain kind.
void classify(const Tokens& tokens, const std::vector<int64_t>& partner, Poll poll, Classified& out);

}  // namespace qe::syntax
