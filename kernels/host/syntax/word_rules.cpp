// The rules of words of expressions, and which rule a word has; those of clauses are in word_rules_clauses.cpp.
#include "syntax/word_rules.h"

#include "syntax/word_kinds.h"

namespace qe::syntax {

namespace {
constexpr KindSet kOperandStart{kNAME, kBACKTICKED, kPARAMETER, kINTEGER, kFLOAT, kSTRING, kLSQB, kLBRACE};
}  // namespace

int64_t WordRules::keyword(int64_t at) {
  if (previous() == kDOT || previous() == kAS || previous() == kYIELD) return copy(at);
  const bool after = after_operand();
  if (!after && (kind(at + 1) == kDOT || (flagged(at, kOperatorWord) && alone(at)))) return copy(at);
  return rule(at, word(at), after);
}

int64_t WordRules::rule(int64_t at, Word upper, bool after) {
  switch (upper) {
    case wWHERE: case wWITH: case wRETURN: case wUNWIND: case wUNION: return clause(at, upper);
    case wEXCEPT: case wINTERSECT: case wOTHERWISE: return set_operator(at, upper, after);
    case wMATCH: return match(at);
    case wOPTIONAL: return optional(at);
    case wGROUP:
      if (after && is_query_ && word(at + 1) == wBY) return emit_joined(kGROUP_BY, "GROUP BY", at, at + 1);
      return as_name(at);
    case wORDER: return order(at, after);
    case wSKIP: case wOFFSET: case wLIMIT: return row_limit(at, after);
    case wASC: case wASCENDING: return emit_if(after, kASC, at);
    case wDESC: case wDESCENDING: return emit_if(after, kDESC, at);
    case wNULLS:
      if (!after || !is_one(at + 1, wFIRST, wLAST)) return as_name(at);
      return emit_joined(kNULLS_ORDER, word(at + 1) == wFIRST ? "FIRST" : "LAST", at, at + 1);
    case wFINISH: return emit_if(begins_clause(), kFINISH, at);
    case wCREATE: case wINSERT: case wMERGE: return create(at, upper);
    case wON: return on(at);
    case wSET: case wREMOVE: case wDELETE: case wDETACH: case wNODETACH:
      context_ = kExpression;
      return emit(upper == wNODETACH ? kDETACH : kind_of(upper), at);  // the token keeps its word
    case wFOREACH:
      if (kind(at + 1) != kLPAR || !is_name(at + 2) || !begins_clause()) return as_name(at);
      emit(kFOREACH, at);
      return scoped_name(at, true, true);
    case wCALL: return call(at);
    case wIN: return in(at);
    case wLOAD: return load(at);
    case wLET: case wFOR: case wFILTER: case wUSE: return soft_clause(at, upper);
    case wYIELD: case wFIELDTERMINATOR: return emit_if(after && is_query_, kind_of(upper), at);
    case wNEXT:
      if (!after || !is_query_) return as_name(at);
      context_ = kExpression;
      at = emit(kNEXT, at);
      return word(at) == wYIELD ? emit(kYIELD, at) : at;
    case wALTER: case wDROP: return command(at, upper);
    case wSHOW: case wTERMINATE: return show(at, upper);
    case wUSING: return using_hint(at, after);
    case wIS: return is(at, after);
    case wEND: return emit_if(after, kEND, at);
    case wTHEN: case wELSE: return branch(at, upper);
    case wALL: case wANY: case wNONE: case wSINGLE: return quantifier(at, upper);
    case wEXTRACT: return old_comprehension(at, upper);
    case wREDUCE: return reduce(at, kREDUCE);
    case wALLREDUCE: return reduce(at, kALL_REDUCE);
    case wKEEP: return keep(at, after);
    case wSEARCH: return search(at);
    case wSCORE: return emit_if(search_ends_.count(at - 1), kSCORE, at);
    case wAS: {
      const auto found = cast_types_.find(at);
      return found == cast_types_.end() ? emit(kAS, at) : emit_joined(kCAST_TYPE, "AS", at, found->second);
    }
    case wCAST: return cast(at);
    case wVALUE: return value(at);
    case wTRIM: return trim(at);
    case wEXISTS: case wCOUNT: case wCOLLECT: return subquery(at);
    case wSHORTESTPATH: case wALLSHORTESTPATHS: return emit_if(kind(at + 1) == kLPAR, kSHORTEST_PATH, at);
    default: return emit(kind_of(upper), at);
  }
}

// Whether a word that joins operands has none beside it, so that it can only be a name.
bool WordRules::alone(int64_t at) const {
  static constexpr KindSet kListing{kCOMMA, kWITH, kRETURN, kDISTINCT, kLPAR, kDELETE, kPLUS, kMINUS, kSTAR,
                                    kSLASH, kEQ, kNE, kLT, kGT, kLE, kGE};
  static constexpr KindSet kListEnds{kNONE, kCOMMA, kRPAR, kPLUS, kSTAR, kSLASH, kEQ, kNE, kLT, kGT, kLE, kGE};
  return (kListEnds.has(kind(at + 1)) || ends_names(at + 1)) && kListing.has(previous());
}

int64_t WordRules::is(int64_t at, bool after_operand) {
  if (after_operand || previous() == kWHEN || previous() == kCOMMA) {
    if (const int64_t behind = tested(at)) return behind;
  }
  if (after_operand) {
    if (const int64_t behind = labeled(at)) return behind;
  }
  at = emit(kIS, at);
  return is_one(at, wNULL, wNOT) ? at : labels(at);
}

// Takes IS [NOT] LABELED and the labels behind it; 0 where something else stands.
int64_t WordRules::labeled(int64_t first) {
  const bool negated = word(first + 1) == wNOT;
  int64_t at = first + 1 + negated;
  static constexpr KindSet kLabels{kNAME, kBACKTICKED, kBANG, kLPAR, kPERCENT};
  if (word(at) != wLABELED || !kLabels.has(kind(at + 1))) return 0;
  int64_t behind = emit_joined(kIS, "IS", first, at);
  if (!negated) return labels(behind);
  int64_t place = tokens_.ends[at];
  add_text(kBANG, "!", place, place);
  add_text(kLPAR, "(", place, place);
  behind = labels(behind);
  place = tokens_.ends[behind - 1];
  add_text(kRPAR, ")", place, place);
  return behind;
}

// Takes IS [NOT] :: TYPE or IS [NOT] NORMALIZED as one token; 0 where neither stands.
int64_t WordRules::tested(int64_t first) {
  int64_t at = first + 1;
  const bool negated = word(at) == wNOT;
  at += negated;
  if (kind(at) == kCOLON_COLON || (word(at) == wTYPED && type_end(at + 1) > at + 1)) {
    return type_test(first, at + 1, negated);
  }
  const std::string form = flagged(at, kNormalForm) ? word_name(word(at)) : "";
  at += !form.empty();
  if (context_ != kExpression || word(at) != wNORMALIZED) return 0;
  return emit_joined(kNORMALIZED, (negated ? "NOT " : "") + (form.empty() ? "NFC" : form), first, at);
}

int64_t WordRules::type_test(int64_t at, int64_t type, bool negated) {
  const int64_t last = std::max(type_end(type), type + is_name(type)) - 1;
  return emit_joined(negated ? kNOT_TYPE_TEST : kTYPE_TEST, "::", at, last);
}

// Takes THEN or ELSE, and notes where a query in braces follows.
int64_t WordRules::branch(int64_t at, Word upper) {
  if (kind(at + 1) == kLBRACE && flagged(at + 2, kQueryWord) && kind(at + 3) != kCOLON) query_braces_.insert(at + 1);
  return emit(kind_of(upper), at);
}

int64_t WordRules::quantifier(int64_t at, Word upper) {
  if (kind(at + 1) == kLPAR && is_name(at + 2) && word(at + 3) == wIN) {
    emit(kQUANTIFIER, at);
    return scoped_name(at, false, false);
  }
  return emit_if(upper == wALL && previous() == kLPAR && kOperandStart.has(kind(at + 1)), kALL, at);  // count(ALL x)
}

// Takes REDUCE or ALLREDUCE before ( name = ….
int64_t WordRules::reduce(int64_t at, Kind found) {
  if (kind(at + 1) != kLPAR || !is_name(at + 2) || kind(at + 3) != kEQ) return as_name(at);
  emit(found, at);
  return scoped_name(at, false, true);
}

// Takes extract(x IN list | …) and filter(x IN list WHERE …), list comprehensions of Neo4j 3.
int64_t WordRules::old_comprehension(int64_t first, Word upper) {
  if (kind(first + 1) != kLPAR || !is_name(first + 2) || word(first + 3) != wIN) return as_name(first);
  const int64_t end = partner_[first + 1], divider = divider_of(first + 1);
  bool has_where = false;
  for (int64_t at = first + 4; at < end && divider < 0 && !has_where; ++at) {
    tick(1);
    has_where = word(at) == wWHERE;
  }
  if (divider < 0 && !has_where) return as_name(first);
  emit_joined(kLIST_COMPREHENSION, upper == wEXTRACT ? "extract" : "filter", first, first + 1);
  types_[end] = kRSQB;
  push(kExpression, false, false, divider);
  return emit_name(first + 2);
}

// Takes `(` and the name after it, behind the word at `at`; `divided`: by a `|` inside.
int64_t WordRules::scoped_name(int64_t at, bool is_query, bool divided) {
  copy(at + 1);
  push(kExpression, is_query, false, divided ? divider_of(at + 1) : -1);
  return emit_name(at + 2);
}

// Takes CAST before (expression AS type).
int64_t WordRules::cast(int64_t first) {
  if (kind(first + 1) != kLPAR) return as_name(first);
  const int64_t end = partner_[first + 1];
  int64_t depth = 0;
  for (int64_t at = first + 2; at < end; ++at) {
    tick(1);
    depth += kOpening.has(kind(at)) - kClosing.has(kind(at));
    if (!depth && word(at) == wAS && kind(at - 1) != kDOT) {
      cast_types_[at] = end - 1;
      return emit(kCAST, first);
    }
  }
  return as_name(first);
}

// Takes VALUE before a query in braces.
int64_t WordRules::value(int64_t at) {
  static constexpr KindSet kOfMap{kCOLON, kCOMMA, kRBRACE};
  return emit_if(kind(at + 1) == kLBRACE && flagged(at + 2, kQueryWord) && !kOfMap.has(kind(at + 3)), kSUBQUERY, at);
}

int64_t WordRules::subquery(int64_t at) {
  static constexpr KindSet kOfMap{kCOLON, kCOMMA, kRBRACE};
  const bool is_projection =
      kind(at + 2) == kDOT || kind(at + 2) == kSTAR || (is_name(at + 2) && kOfMap.has(kind(at + 3)));
  return emit_if(kind(at + 1) == kLBRACE && !is_projection, kSUBQUERY, at);
}

// Takes trim([BOTH | LEADING | TRAILING] [characters] FROM text), whose words are no keywords elsewhere.
int64_t WordRules::trim(int64_t first) {
  if (kind(first + 1) != kLPAR) return as_name(first);
  int64_t depth = 0;
  for (int64_t at = first + 2; at < partner_[first + 1]; ++at) {
    tick(1);
    depth += kOpening.has(kind(at)) - kClosing.has(kind(at));
    if (depth || word(at) != wFROM || kind(at - 1) == kDOT || !kOperandStart.has(kind(at + 1))) continue;
    types_[at] = kFROM;
    if (is_one(first + 2, wBOTH, wLEADING, wTRAILING)) types_[first + 2] = kTRIM_SIDE;
    return emit(kTRIM, first);
  }
  return as_name(first);
}

}  // namespace qe::syntax
