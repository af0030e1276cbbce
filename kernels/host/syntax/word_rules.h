// Decides for each word that can be a keyword whether it is one here.
#pragma once
#include "syntax/classifier_state.h"

namespace qe::syntax {

class WordRules : protected ClassifierState {
 protected:
  using ClassifierState::ClassifierState;

  // Takes EXPLAIN, EXPLAIN STEPS or PROFILE at the start, and the options of CYPHER before or behind.
  int64_t statement_prefix();
  // Takes a word that may be a keyword.
  int64_t keyword(int64_t at);
  // Takes what tests a type, from an index on, as one token; the type begins at `type`.
  int64_t type_test(int64_t at, int64_t type, bool negated);

 private:
  int64_t rule(int64_t at, Word word, bool after_operand);
  int64_t as_name(int64_t at) { return emit(kNAME, at); }
  int64_t emit_if(bool is_keyword, Kind kind, int64_t at) { return emit(is_keyword ? kind : kNAME, at); }
  bool alone(int64_t at) const;
  // Whether a word begins what may follow a list of names.
  bool ends_names(int64_t at) const {
    return flagged(at, kClauseWord) || is_one(at, wAS, wWHERE, wORDER, wSKIP, wLIMIT);
  }
  bool flagged(int64_t at, uint16_t flags) const { return word_flags(word(at)) & flags; }

  int64_t cypher_options(int64_t at);
  int64_t clause(int64_t at, Word upper);
  bool positions(int64_t at) const;
  int64_t set_operator(int64_t at, Word upper, bool after_operand);
  int64_t match(int64_t at);
  int64_t optional(int64_t at);
  int64_t order(int64_t at, bool after_operand);
  int64_t row_limit(int64_t at, bool after_operand);
  void rows_clause(int64_t at);
  bool takes_rows(int64_t at) const;
  int64_t keep(int64_t at, bool after_operand);
  int64_t search(int64_t at);
  int64_t create(int64_t at, Word upper);
  bool begins_path(int64_t at) const {
    return kind(is_name(at) && kind(at + 1) == kEQ ? at + 2 : at) == kLPAR;
  }
  int64_t on(int64_t at);
  int64_t call(int64_t at);
  int64_t in(int64_t at);
  int64_t transactions(int64_t at);
  int64_t retry(int64_t at);
  int64_t load(int64_t at);
  int64_t soft_clause(int64_t at, Word upper);
  int64_t command(int64_t at, Word upper);
  bool begins_statement() const;
  int64_t show(int64_t at, Word upper);
  int64_t using_hint(int64_t at, bool after_operand);
  int64_t planner_hint(int64_t at) const;
  int64_t is(int64_t at, bool after_operand);
  int64_t labeled(int64_t at);
  int64_t tested(int64_t at);
  int64_t branch(int64_t at, Word upper);
  int64_t quantifier(int64_t at, Word upper);
  int64_t reduce(int64_t at, Kind kind);
  int64_t old_comprehension(int64_t at, Word upper);
  int64_t cast(int64_t at);
  int64_t value(int64_t at);
  int64_t subquery(int64_t at);
  int64_t trim(int64_t at);
  int64_t scoped_name(int64_t at, bool is_query, bool divided);
};

}  // namespace qe::syntax
