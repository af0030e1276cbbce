// The rules of words that begin clauses and statements, or stand between their parts.
#include <algorithm>

#include "syntax/word_kinds.h"
#include "syntax/word_rules.h"

namespace qe::syntax {

namespace {

// What stands before the body of a clause.
constexpr KindSet kBodies{kMATCH, kWHERE, kUNWIND, kCREATE, kMERGE, kON_SET, kSET, kREMOVE, kDELETE, kFOREACH, kCALL,
                          kYIELD, kLOAD_CSV, kLET, kFOR, kFILTER, kWITH, kROWS_CLAUSE, kNEXT, kEXCEPT, kINTERSECT,
                          kOTHERWISE, kUNION};

// The place of ORDER BY, SKIP and LIMIT among each other, 0 of others.
int row_part(Kind kind) { return kind == kORDER ? 1 : kind == kSKIP ? 2 : kind == kLIMIT ? 3 : 0; }

}  // namespace

int64_t WordRules::statement_prefix() {
  int64_t at = cypher_options(0);
  const Word first = word(at);
  if (first != wEXPLAIN && first != wPROFILE) return at;
  at = emit(kind_of(first), at);
  if (first == wEXPLAIN && word(at) == wSTEPS) at = emit(kSTEPS, at);
  return cypher_options(at);
}

// Takes CYPHER 5 runtime=slotted … as one token, which comes first.
int64_t WordRules::cypher_options(int64_t at) {
  auto& kinds = out_.kinds;
  if (word(at) != wCYPHER || std::find(kinds.begin(), kinds.end(), kCYPHER_OPTIONS) != kinds.end()) return at;
  int64_t last = at;
  if (kind(last + 1) == kINTEGER || kind(last + 1) == kFLOAT) ++last;
  while (is_name(last + 1) && kind(last + 2) == kEQ) last += 3;
  last = std::min(last, count_ - 1);
  emit_joined(kCYPHER_OPTIONS, "CYPHER", at, last);
  for (auto* each : {&out_.kinds, &out_.starts, &out_.ends, &out_.values}) {
    std::rotate(each->begin(), each->end() - 1, each->end());
  }
  return last + 1;
}

int64_t WordRules::clause(int64_t at, Word upper) {
  if (upper == wWITH && positions(at)) return emit_joined(kFOR_POSITION, word_name(word(at + 1)), at, at + 1);
  if (upper != wWITH || (previous() != kSTARTS && previous() != kENDS)) context_ = kExpression;
  at = emit(kind_of(upper), at);
  return upper == wUNION && word(at) == wALL ? emit(kALL, at) : at;
}

// Whether WITH ORDINALITY or WITH OFFSET, and a name, end a FOR here.
bool WordRules::positions(int64_t first) const {
  if (!is_one(first + 1, wORDINALITY, wOFFSET) || !is_name(first + 2)) return false;
  int64_t depth = 0;
  for (int64_t at = written() - 1; at >= 0; --at) {
    tick(1);
    const Kind kind = written(at);
    depth += kClosing.has(kind) - kOpening.has(kind);
    if (depth < 0 || (!depth && kBodies.has(kind))) return !depth && kind == kFOR && !ends_names(first + 2);
  }
  return false;
}

// EXCEPT, INTERSECT and OTHERWISE between two queries.
int64_t WordRules::set_operator(int64_t at, Word upper, bool after_operand) {
  const int64_t behind = at + (is_one(at + 1, wALL, wDISTINCT) && upper != wOTHERWISE ? 2 : 1);
  if (!after_operand || !is_query_ || !flagged(behind, kQueryWord)) return as_name(at);
  context_ = kExpression;
  at = emit(kind_of(upper), at);
  return word(at) == wALL ? emit(kALL, at) : at;
}

int64_t WordRules::match(int64_t at) {
  at = emit(kMATCH, at);
  context_ = kPattern;
  const char* mode = nullptr;
  if (word(at) == wDIFFERENT && is_one(at + 1, wNODE, wNODES)) mode = "DIFFERENT NODES";
  if (word(at) == wDIFFERENT && is_one(at + 1, wRELATIONSHIP, wRELATIONSHIPS)) mode = "DIFFERENT RELATIONSHIPS";
  if (word(at) == wREPEATABLE && is_one(at + 1, wELEMENT, wELEMENTS)) mode = "REPEATABLE ELEMENTS";
  if (mode) at = emit_joined(kMATCH_MODE, mode, at, at + 1 + is_one(at + 2, wBINDING, wBINDINGS));
  return pattern_prefix(at);
}

int64_t WordRules::optional(int64_t at) {
  const bool is_keyword = is_one(at + 1, wMATCH, wCALL) || begins_clause();
  if (is_keyword && kind(at + 1) == kLBRACE) {
    context_ = kExpression;
    query_braces_.insert(at + 1);
  }
  return emit_if(is_keyword, kOPTIONAL, at);
}

int64_t WordRules::order(int64_t at, bool after_operand) {
  if (word(at + 1) != wBY) return emit_if(after_operand, kORDER, at);
  rows_clause(at);
  emit(kORDER, at);
  return emit(kBY, at + 1);
}

int64_t WordRules::row_limit(int64_t at, bool after_operand) {
  if (!after_operand && kind(at + 1) != kINTEGER && kind(at + 1) != kPARAMETER) return as_name(at);
  if (after_operand) rows_clause(at);
  return emit(word(at) == wLIMIT ? kLIMIT : kSKIP, at);
}

// Writes ROWS_CLAUSE where ORDER BY, SKIP or LIMIT at an index is not part of a WITH or RETURN before it.
void WordRules::rows_clause(int64_t first) {
  if (!is_query_) return;
  const int place = word(first) == wORDER ? 1 : word(first) == wLIMIT ? 3 : 2;
  int earlier = 0;
  int64_t depth = 0, cases = 0;
  for (int64_t at = written() - 1; at >= 0; --at) {
    tick(1);
    const Kind kind = written(at);
    depth += kClosing.has(kind) - kOpening.has(kind);
    if (depth < 0) break;
    if (depth || (kind == kWITH && (written(at - 1) == kSTARTS || written(at - 1) == kENDS))) continue;
    cases += (kind == kEND) - (kind == kCASE);
    if (row_part(kind)) earlier = std::max(earlier, row_part(kind));
    else if (kind == kRETURN || (takes_rows(at) && earlier < place)) return;  // behind RETURN the parser complains
    else if (kBodies.has(kind) || ((kind == kTHEN || kind == kELSE) && !cases)) break;
  }
  out_.add(kROWS_CLAUSE, tokens_.starts[first], tokens_.starts[first], kAsWritten);
}

// Whether ORDER BY, SKIP and LIMIT belong to the clause whose word was written at an index.
bool WordRules::takes_rows(int64_t at) const {
  const Kind kind = written(at);
  return kind == kWITH || kind == kROWS_CLAUSE || (kind == kYIELD && written(at - 1) == kSHOW);
}

// KEEP and what each path of the pattern before it has in front of it.
int64_t WordRules::keep(int64_t at, bool after_operand) {
  if (context_ != kPattern || !after_operand || !flagged(at + 1, kPrefixWord)) return as_name(at);
  at = pattern_prefix(emit(kKEEP, at));
  kept_ = written();
  return at;
}

// SEARCH name IN (VECTOR INDEX name FOR … LIMIT …) behind a pattern.
int64_t WordRules::search(int64_t at) {
  const bool begins = context_ == kPattern && word(at + 2) == wIN && word(at + 4) == wVECTOR && word(at + 5) == wINDEX;
  if (!begins || kind(at + 3) != kLPAR) return as_name(at);
  emit(kSEARCH, at);
  emit_name(at + 1);
  emit(kIN, at + 2);
  copy(at + 3);
  search_ends_.insert(partner_[at + 3]);
  push(kExpression);
  at = emit_joined(kVECTOR_INDEX, "VECTOR INDEX", at + 4, at + 5);
  if (at < count_) at = emit_name(at);
  return word(at) == wFOR ? emit(kFOR, at) : at;
}

int64_t WordRules::create(int64_t at, Word upper) {
  if (upper == wCREATE && word(at + 1) == wUNIQUE && begins_path(at + 2)) {
    context_ = kPattern;
    return path_name(emit_joined(kCREATE, "CREATE UNIQUE", at, at + 1));
  }
  if (flagged(at + 1, kSchemaWord)) return command(at, upper);
  if (upper == wINSERT && !(begins_clause() && begins_path(at + 1))) return as_name(at);
  context_ = kPattern;
  return path_name(emit(upper == wMERGE ? kMERGE : kCREATE, at));
}

int64_t WordRules::on(int64_t at) {
  if (!is_one(at + 1, wCREATE, wMATCH) || word(at + 2) != wSET) return as_name(at);
  context_ = kExpression;
  return emit_joined(kON_SET, std::string("ON ") + word_name(word(at + 1)) + " SET", at, at + 2);
}

int64_t WordRules::call(int64_t at) {
  context_ = kExpression;
  int64_t brace = at + 1;
  if (kind(brace) == kLPAR) brace = partner_[brace] + 1;
  if (kind(brace) == kLBRACE) {
    query_braces_.insert(brace);
    query_ends_.insert(partner_[brace]);
  }
  return emit(kCALL, at);
}

int64_t WordRules::in(int64_t at) {
  if (!query_ends_.count(at - 1)) return emit(kIN, at);
  int64_t last = at;
  while (word(last + 1) == wCONCURRENT || kind(last + 1) == kINTEGER || kind(last + 1) == kPARAMETER) ++last;
  if (word(last + 1) != wTRANSACTIONS) return emit(kIN, at);
  const char* value = last > at ? "IN CONCURRENT TRANSACTIONS" : "IN TRANSACTIONS";
  return transactions(emit_joined(kTRANSACTIONS, value, at, last + 1));
}

// Takes what may follow IN TRANSACTIONS, in any order.
int64_t WordRules::transactions(int64_t at) {
  while (true) {
    if (word(at) == wOF && is_one(at + 2, wROW, wROWS)) {
      emit(kOF, at);
      at = emit(kROWS, copy(at + 1));
    } else if (word(at) == wON && word(at + 1) == wERROR && is_one(at + 2, wFAIL, wBREAK, wCONTINUE)) {
      const Word action = word(at + 2);
      at = emit_joined(kON_ERROR, action == wFAIL ? "fail" : action == wBREAK ? "break" : "continue", at, at + 2);
    } else if (word(at) == wON && word(at + 1) == wERROR && word(at + 2) == wRETRY) {
      at = retry(at);
    } else if (word(at) == wREPORT && word(at + 1) == wSTATUS && word(at + 2) == wAS && is_name(at + 3)) {
      at = emit_joined(kREPORT, "REPORT STATUS", at, at + 1);
      at = emit_name(emit(kAS, at));
    } else {
      return at;
    }
  }
}

// Takes ON ERROR RETRY [FOR n SECONDS] [THEN FAIL | BREAK | CONTINUE] as one token.
int64_t WordRules::retry(int64_t at) {
  int64_t last = at + 2;
  const char* action = "fail";
  if (word(last + 1) == wFOR && (kind(last + 2) == kINTEGER || kind(last + 2) == kFLOAT || kind(last + 2) == kPARAMETER)) {
    last += 2;
    last += is_one(last + 1, wSEC, wSECS, wSECOND, wSECONDS);
  }
  if (word(last + 1) == wTHEN && is_one(last + 2, wFAIL, wBREAK, wCONTINUE)) {
    last += 2;
    action = word(last) == wFAIL ? "fail" : word(last) == wBREAK ? "break" : "continue";
  }
  return emit_joined(kON_ERROR, action, at, last);
}

int64_t WordRules::load(int64_t at) {
  if (word(at + 1) != wCSV || !begins_clause()) return as_name(at);
  int64_t last = at + 1;
  std::string value = "LOAD CSV";
  while (is_one(last + 1, wWITH, wHEADERS, wFROM)) {
    ++last;
    value += std::string(" ") + word_name(word(last));
  }
  context_ = kExpression;
  return emit_joined(kLOAD_CSV, value, at, last);
}

// LET, FOR, FILTER, USE: names unless a clause may begin here and what follows fits.
int64_t WordRules::soft_clause(int64_t at, Word upper) {
  if (upper == wFILTER && !begins_clause()) return old_comprehension(at, upper);
  const bool named = is_name(at + 1);
  const bool fits = upper == wLET ? named && kind(at + 2) == kEQ
                    : upper == wFOR ? named && word(at + 2) == wIN
                                    : upper == wFILTER || named;
  if (!fits || !begins_clause()) return as_name(at);
  context_ = kExpression;
  return emit(kind_of(upper), at);
}

// Joins a command of administration, which is a whole statement, into one token.
int64_t WordRules::command(int64_t at, Word upper) {
  if (!begins_statement() || !is_name(at + 1)) return emit_if(upper == wCREATE, kCREATE, at);
  return emit_joined(kCOMMAND, word_name(upper), at, count_ - 1);
}

bool WordRules::begins_statement() const {
  static constexpr KindSet kBefore{kCYPHER_OPTIONS, kEXPLAIN, kSTEPS, kPROFILE};
  return std::all_of(out_.kinds.begin(), out_.kinds.end(), [](int64_t kind) { return kBefore.has(Kind(kind)); });
}

// Joins SHOW, or TERMINATE, what it lists and the words round that into one token.
int64_t WordRules::show(int64_t at, Word upper) {
  auto is_shown = [&](int64_t place) {
    if (is_name(place)) return !is_one(place, wYIELD, wWHERE, wRETURN, wSHOW, wTERMINATE);
    return kind(place) == kSTRING || kind(place) == kPARAMETER || kind(place) == kCOMMA || kind(place) == kDOT;
  };
  int64_t last = at;
  bool lists = false;
  while (is_shown(last + 1)) {
    tick(1);
    ++last;
    lists |= upper == wSHOW ? flagged(last, kShownWord) : is_one(last, wTRANSACTION, wTRANSACTIONS);
  }
  if (!lists || !(begins_statement() || (is_command_ && begins_clause()))) {
    return upper == wSHOW ? command(at, upper) : as_name(at);
  }
  is_command_ = true;
  return emit_joined(kSHOW, word_name(upper), at, last);
}

// Joins USING PERIODIC COMMIT and the number behind it, or a hint for the planner, into one token.
int64_t WordRules::using_hint(int64_t at, bool after_operand) {
  if (word(at + 1) == wPERIODIC && word(at + 2) == wCOMMIT && begins_clause()) {
    return emit_joined(kPERIODIC_COMMIT, "USING PERIODIC COMMIT", at, at + 2 + (kind(at + 3) == kINTEGER));
  }
  const int64_t last = context_ == kPattern && after_operand ? planner_hint(at + 1) : at;
  return last > at ? emit_joined(kPLANNER_HINT, "USING", at, last) : as_name(at);
}

// Where INDEX n:L(key), SCAN n:L or JOIN ON a, b ends, 0 for what is none of them.
int64_t WordRules::planner_hint(int64_t at) const {
  at += is_one(at, wBTREE, wPOINT, wRANGE, wTEXT);
  const Word what = word(at);
  ++at;
  if (what == wJOIN && word(at) == wON && is_name(at + 1)) {
    ++at;
    for (; kind(at + 1) == kCOMMA && is_name(at + 2); tick(1)) at += 2;
    return at;
  }
  at += what == wINDEX && word(at) == wSEEK;
  const bool named = is_name(at) && kind(at + 1) == kCOLON && is_name(at + 2);
  if (what == wSCAN && named) return at + 2;
  return what == wINDEX && named && kind(at + 3) == kLPAR ? partner_[at + 3] : 0;
}

}  // namespace qe::syntax
