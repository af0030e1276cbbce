// Gives each token of a statement the kind that its place calls for, so that an LALR grammar can parse it.
//
// One pass over the tokens, with a stack of frames (one a bracket) that says what kind of text this is: an expression, a
// list of path patterns, the inside of a node or of a relationship. The head of grammar/cypher.lark lists what is
// decided here. Time: the tokens, but for what looks back over a clause, which is polled.
#include "syntax/classify.h"

#include "syntax/word_rules.h"

namespace qe::syntax {

BracketError pair_brackets(const Tokens& tokens, int most_nested, std::vector<int64_t>& partner) {
  using Error = BracketError;
  partner.assign(tokens.count, -1);
  std::vector<int64_t> opened;
  for (int64_t at = 0; at < tokens.count; ++at) {
    const Kind kind = Kind(tokens.kinds[at]);
    if (kind == kLPAR || kind == kLSQB || kind == kLBRACE) {
      opened.push_back(at);
      if (int64_t(opened.size()) > most_nested) return {Error::kTooDeep, at, at};
    } else if (kClosing.has(kind)) {
      if (opened.empty()) return {Error::kClosesNothing, at, at};
      const int64_t start = opened.back();
      if (tokens.kinds[start] + 1 != kind) return {Error::kNotClosedBefore, start, at};
      opened.pop_back();
      partner[start] = at;
    }
  }
  if (!opened.empty()) return {Error::kNeverClosed, opened.back(), opened.back()};
  return {};
}

static_assert(kLPAR + 1 == kRPAR && kLSQB + 1 == kRSQB && kLBRACE + 1 == kRBRACE, "a closing kind follows its opening one");

namespace {

constexpr KindSet kAfterNodeName{kRPAR, kCOLON, kLBRACE, kPARAMETER};
constexpr KindSet kAfterRelationshipName{kRSQB, kCOLON, kLBRACE, kPARAMETER, kSTAR};

// The rules by kind of token; words are in WordRules.
class Classifier : WordRules {
 public:
  Classifier(const Tokens& tokens, const std::vector<int64_t>& partner, Poll poll, Classified& out)
      : WordRules(tokens, partner, poll, out) {}

  void run() {
    int64_t at = statement_prefix();
    while (at < count_) {
      if (at == path_end_) end_path(at - 1);
      tick(1);
      at = take(at);
    }
    if (path_end_ == count_) end_path(count_ - 1);
  }

 private:
  int64_t take(int64_t at) {
    switch (kind(at)) {
      case kNAME: return word_flags(word(at)) & kKeyword ? keyword(at) : copy(at);
      case kBACKTICKED: return emit_name(at);
      case kERROR: return unread(at);
      case kLPAR: return open_parenthesis(at);
      case kLSQB: return open_square(at);
      case kLBRACE: return open_brace(at);
      case kRPAR: case kRSQB: case kRBRACE: return close(at);
      case kCOMMA: return comma(at);
      case kCOLON: copy(at); return labels(at + 1);
      case kCOLON_COLON:
        if (after_operand() && type_end(at + 1) > at + 1) return type_test(at, at + 1, false);
        return copy(at);
      case kBAR: return emit(at == divider_ ? kDIVIDER : kBAR, at);
      default: return copy(at);
    }
  }

  void end_path(int64_t last) {
    out_.add(kPATTERN_END, tokens_.ends[last], tokens_.ends[last], kAsWritten);
    context_ = kExpression;
    path_end_ = -1;
  }

  // A character that the scanner can't read may in a pattern be drawn like one of an arrow.
  int64_t unread(int64_t at) {
    Kind found = kERROR;
    if (context_ == kPattern) {
      const int64_t like = tokens_.words[at];
      if (like == wQuestion) found = kQUESTION;
      else if (like == wLikeMinus) found = kMINUS;
      else if (like == wLikeLess) found = kLT;
      else if (like == wLikeGreater) found = kGT;
    }
    return emit(found, at);
  }

  int64_t open_parenthesis(int64_t at) {
    if (context_ == kExpression && !after_operand() && previous() != kSHORTEST_PATH) {
      if (const int64_t end = path_after(at); end > 0) {
        out_.add(kPATTERN_BEGIN, tokens_.starts[at], tokens_.starts[at], kAsWritten);
        context_ = kPattern;
        path_end_ = end;
      }
    }
    if (context_ == kPattern) {
      if (const int64_t behind = plain(at)) return behind;
    }
    Context inside = kExpression;
    if (previous() == kSHORTEST_PATH) inside = kPattern;
    else if (context_ == kPattern) inside = is_parenthesized(at) ? kPattern : kNode;
    copy(at);
    push(inside);
    ++at;
    if (inside == kPattern) return path_name(at);
    if (inside == kNode && is_name(at) && is_element_name(at, kAfterNodeName)) return emit_name(at);
    return at;
  }

  int64_t open_square(int64_t at) {
    if (context_ == kPattern) {
      if (const int64_t behind = plain(at)) return behind;
      copy(at);
      push(kRelationship);
      return is_name(at + 1) && is_element_name(at + 1, kAfterRelationshipName) ? emit_name(at + 1) : at + 1;
    }
    if (!after_operand()) {
      const bool comprehends = is_name(at + 1) && word(at + 2) == wIN && word(at + 1) != wNOT;
      if (comprehends && !has_comma(at)) {
        emit(kLIST_COMPREHENSION, at);
        push(kExpression, false, false, divider_of(at));
        return emit_name(at + 1);
      }
      const int64_t start = is_name(at + 1) && kind(at + 2) == kEQ ? at + 3 : at + 1;
      const int64_t end = kind(start) == kLPAR ? path_after(start) : -1;
      if (end > 0 && (kind(end) == kBAR || word(end) == wWHERE)) {
        emit(kPATTERN_COMPREHENSION, at);
        push(kExpression, false, false, divider_of(at));
        return path_name(at + 1);
      }
    }
    copy(at);
    push(kExpression);
    return at + 1;
  }

  // Takes a node or relationship whole, if each token in it is what it looks like; 0 if not.
  int64_t plain(int64_t at) {
    const int64_t closing = partner_[at], inside = closing - at - 1;
    const bool colon = inside > 0 && kind(closing - 2) == kCOLON;
    const bool is_plain = inside == 0 || (inside == 1 && kind(at + 1) == kNAME) ||
                          (inside == 2 && colon && kind(at + 2) == kNAME) ||
                          (inside == 3 && colon && kind(at + 1) == kNAME && kind(at + 3) == kNAME);
    if (!is_plain) return 0;
    while (at <= closing) at = copy(at);
    return at;
  }

  int64_t open_brace(int64_t at) {
    const bool opens_query = previous() == kSUBQUERY || query_braces_.count(at);
    if (!opens_query && is_parameter(at)) {
      out_.add(kPARAMETER, tokens_.starts[at], tokens_.ends[at + 2], kInBraces);
      return at + 3;
    }
    copy(at);
    if (opens_query) {
      const bool begins_clause = kind(at + 2) != kEQ && word_flags(word(at + 1)) & kQueryWord;
      push(begins_clause ? kExpression : kPattern, true);
      return begins_clause ? at + 1 : pattern_prefix(at + 1);
    }
    if (context_ == kPattern) {  // the bounds of a quantifier
      push(kPattern);
      return at + 1;
    }
    push(kExpression, false, true);
    return map_key(at + 1);
  }

  // Whether {name}, a parameter as Neo4j 3 writes it, stands where a value or properties may.
  bool is_parameter(int64_t at) const {
    if (!is_name(at + 1) || kind(at + 2) != kRBRACE) return false;
    return context_ == kExpression ? !after_operand() : context_ != kPattern;  // behind a name it projects: n {name}
  }

  int64_t close(int64_t at) {
    copy(at);
    pop();
    return label_ends_.count(at) ? more_labels(at + 1) : at + 1;
  }

  int64_t comma(int64_t at) {
    copy(at);
    if (is_map_) return map_key(at + 1);
    return context_ == kPattern ? pattern_prefix(at + 1) : at + 1;
  }

  int64_t map_key(int64_t at) {
    if (!is_name(at)) return at;
    at = emit_name(at);
    return kind(at) == kCOLON ? emit(kCOLON, at) : at;
  }

  // Whether the word at the start of a node or relationship is its name: what follows says so.
  bool is_element_name(int64_t at, const KindSet& followers) const {
    const Kind next = kind(at + 1);
    if (followers.has(next)) return (next != kPARAMETER && next != kLBRACE) || word(at) != wWHERE;
    const Word here = word(at), after = word(at + 1);
    const bool joins = after == wIS || after == wWHERE;
    if ((here == wIS || here == wWHERE) && is_name(at + 1)) {  // (is IS A), but (IS A) and (WHERE is.x)
      constexpr KindSet kLabelled{kNAME, kBACKTICKED, kLPAR, kBANG, kPERCENT};
      return joins && kLabelled.has(kind(at + 2));
    }
    return joins;
  }
};

}  // namespace

void classify(const Tokens& tokens, const std::vector<int64_t>& partner, Poll poll, Classified& out) {
  Classifier(tokens, partner, poll, out).run();
}

}  // namespace qe::syntax
