// Looks ahead over the tokens, jumping over brackets: paths inside expressions, bars, types; and takes labels and what
// stands before a path. `(a)-[r]-(c)` could be arithmetic; like the openCypher grammar, this reads it as a path
// wherever it can be one.
#include "syntax/classifier_state.h"

namespace qe::syntax {

int64_t ClassifierState::path_after(int64_t start) const {
  if (!is_node(start)) return -1;
  int64_t end = partner_[start] + 1, at = end;
  while (true) {
    tick(1);
    if (kind(at) == kLPAR && kind(at + 1) == kLPAR) {  // ((a)-->(b)){2} follows a node
      at = end = quantifier_end(partner_[at] + 1);
      if (is_node(at)) at = end = partner_[at] + 1;
      continue;
    }
    const int64_t target = relationship_end(at);
    if (target < 0 || !is_node(target)) return end > partner_[start] + 1 ? end : -1;
    at = end = partner_[target] + 1;
  }
}

bool ClassifierState::is_element(int64_t at, const KindSet& first, const KindSet& second) const {
  if (first.has(kind(at + 1))) return true;
  if (!is_name(at + 1)) return false;
  return second.has(kind(at + 2)) || is_one(at + 2, wIS, wWHERE) || is_one(at + 1, wIS, wWHERE);
}

bool ClassifierState::is_node(int64_t at) const {
  static constexpr KindSet kFirst{kRPAR, kCOLON, kLBRACE}, kSecond{kRPAR, kCOLON, kLBRACE, kPARAMETER};
  return kind(at) == kLPAR && is_element(at, kFirst, kSecond);
}

int64_t ClassifierState::relationship_end(int64_t at) const {
  static constexpr KindSet kFirst{kRSQB, kCOLON, kSTAR, kLBRACE}, kSecond{kRSQB, kCOLON, kSTAR, kLBRACE, kPARAMETER};
  at += kind(at) == kLT;
  if (kind(at) != kMINUS) return -1;
  ++at;
  if (kind(at) == kLSQB) {
    if (!is_element(at, kFirst, kSecond)) return -1;
    at = partner_[at] + 1;
  }
  if (kind(at) != kMINUS) return -1;
  ++at;
  at += kind(at) == kGT;
  return quantifier_end(at);
}

int64_t ClassifierState::quantifier_end(int64_t at) const {
  if (kind(at) == kPLUS || kind(at) == kSTAR) return at + 1;
  if (kind(at) == kERROR && tokens_.words[at] == wQuestion) return at + 1;
  return kind(at) == kLBRACE ? partner_[at] + 1 : at;
}

bool ClassifierState::has_comma(int64_t opening) const {
  for (int64_t at = opening + 1; at < partner_[opening]; ++at) {
    tick(1);
    if (kind(at) == kCOMMA) return true;
    if (partner_[at] >= 0) at = partner_[at];
  }
  return false;
}

int64_t ClassifierState::divider_of(int64_t opening) const {
  int64_t last = -1;
  for (int64_t at = opening + 1; at < partner_[opening]; ++at) {
    tick(1);
    if (kind(at) == kBAR) {
      if (!joins_labels(at)) return at;
      last = at;
    } else if (partner_[at] >= 0) {
      at = partner_[at];
    }
  }
  return last;
}

bool ClassifierState::joins_labels(int64_t bar) const {
  static constexpr KindSet kEnds{kRPAR, kPERCENT, kNAME, kBACKTICKED}, kJoins{kCOLON, kBAR, kAMP, kBANG};
  if (!kEnds.has(kind(bar - 1)) || !(kJoins.has(kind(bar - 2)) || word(bar - 2) == wIS)) return false;
  return is_name(bar + 1) && (kind(bar + 2) == kBAR || kind(bar + 2) == kAMP);
}

int64_t ClassifierState::type_end(int64_t at) const {
  int64_t depth = 0;
  for (; at < count_; tick(1)) {
    const Kind here = kind(at);
    if (word_flags(word(at)) & kTypeWord) {
      ++at;
    } else if (word(at) == wNOT && word(at + 1) == wNULL) {
      at += 2;
    } else if (is_one(at, wWITH, wWITHOUT) && is_one(at + 1, wTIME, wTIMEZONE) && is_one(at - 1, wTIME, wTIMESTAMP)) {
      at += word(at + 2) == wZONE ? 3 : 2;
    } else if (here == kLT && is_one(at - 1, wLIST, wARRAY)) {
      ++depth, ++at;
    } else if (here == kGT && depth) {
      --depth, ++at;
    } else if (here == kBAR && word_flags(word(at + 1)) & kTypeWord) {
      ++at;
    } else {
      break;
    }
  }
  return at;
}

int64_t ClassifierState::labels(int64_t at) {
  int depth = 0;
  while (true) {
    tick(1);
    while (kind(at) == kBANG || kind(at) == kLPAR) {
      depth += kind(at) == kLPAR;
      at = copy(at);
    }
    const Kind found = kind(at);
    const bool chooses = (tokens_.count > at && kind(at) == kPARAMETER && kind(at + 1) == kLPAR &&
                          (tokens_.words[at] == wDollarAny || tokens_.words[at] == wDollarAll));
    if (is_name(at)) at = emit_name(at);
    else if (found == kDOLLAR || chooses) return dynamic(at, depth);
    else if (found == kPERCENT || found == kPARAMETER) at = copy(at);
    else break;
    while (depth && kind(at) == kRPAR) {
      --depth;
      at = copy(at);
    }
    if (kind(at) == kAMP || (kind(at) == kBAR && at != divider_)) {
      const bool bar = kind(at) == kBAR;
      at = copy(at);
      if (bar && kind(at) == kCOLON) at = copy(at);
    } else if (kind(at) == kCOLON) {
      at = emit(kAND_COLON, at);
    } else {
      break;
    }
  }
  while (depth--) push(kExpression);  // parentheses that go on as something else
  return at;
}

// Enters `$(…)`, an expression; the label expression, inside `depth` parentheses, goes on behind it.
int64_t ClassifierState::dynamic(int64_t at, int depth) {
  while (depth--) push(kExpression);
  emit(kDYNAMIC, at);
  copy(at + 1);
  push(kExpression);
  label_ends_.insert(partner_[at + 1]);
  return at + 2;
}

int64_t ClassifierState::more_labels(int64_t at) {
  if (kind(at) == kCOLON) return labels(emit(kAND_COLON, at));
  if (kind(at) != kAMP && (kind(at) != kBAR || at == divider_)) return at;
  at = copy(at);
  return labels(kind(at) == kCOLON ? copy(at) : at);
}

int64_t ClassifierState::path_name(int64_t at) {
  if (!is_name(at) || kind(at + 1) != kEQ) return at;
  emit_name(at);
  return copy(at + 1);
}

int64_t ClassifierState::pattern_prefix(int64_t at) {
  at = path_name(at);
  while (true) {
    Kind found = kNONE;
    switch (word(at)) {
      case wALL: found = kALL; break;
      case wANY: found = kANY; break;
      case wSHORTEST: found = kSHORTEST; break;
      case wPATH: case wPATHS: found = kPATHS; break;
      case wGROUP: case wGROUPS: found = kGROUPS; break;
      case wWALK: case wTRAIL: case wACYCLIC: case wSIMPLE: found = kPATH_MODE; break;
      default: return at;
    }
    at = emit(found, at);
    if (kind(at) == kINTEGER) at = copy(at);
  }
}

}  // namespace qe::syntax
