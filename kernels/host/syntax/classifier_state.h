// The classifier's place in the text: a stack of frames, one a bracket, and what its rules share.
#pragma once
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "syntax/classify.h"

namespace qe::syntax {

enum Context : uint8_t {
  kExpression,
  kPattern,  // path patterns joined by commas, or one path
  kNode,
  kRelationship,
};

// Reads tokens by index and writes to `out_`. Rules are methods that take an index and return the next.
class ClassifierState {
 protected:
  ClassifierState(const Tokens& tokens, const std::vector<int64_t>& partner, Poll poll, Classified& out)
      : tokens_(tokens), partner_(partner), count_(tokens.count), out_(out), poll_(poll),
        types_(tokens.kinds, tokens.kinds + tokens.count) {}

  void push(Context context, bool is_query = false, bool is_map = false, int64_t divider = -1) {
    frames_.push_back({context_, is_query_, is_map_, divider_, path_end_});
    context_ = context, is_query_ = is_query, is_map_ = is_map, divider_ = divider, path_end_ = -1;
  }
  void pop() {
    if (frames_.empty()) return;
    const Frame& frame = frames_.back();
    context_ = frame.context, is_query_ = frame.is_query, is_map_ = frame.is_map;
    divider_ = frame.divider, path_end_ = frame.path_end;
    frames_.pop_back();
  }

  // Counts work, and asks now and then whether to stop.
  void tick(int64_t steps) const {
    steps_ += steps;
    if (steps_ < int64_t{1} << 20) return;
    steps_ = 0;
    if (poll_()) throw Stopped();
  }

  // ----------------------------------------------------------------------------------------------------- questions

  // The kind of a token as scanned, NONE behind the end.
  Kind kind(int64_t at) const { return at >= 0 && at < count_ ? Kind(tokens_.kinds[at]) : kNONE; }
  Word word(int64_t at) const { return kind(at) == kNAME ? Word(tokens_.words[at]) : wNONE_OF_THESE; }
  bool is_name(int64_t at) const { return kind(at) == kNAME || kind(at) == kBACKTICKED; }
  template <class... Words>
  bool is_one(int64_t at, Words... words) const {
    const Word found = word(at);
    return ((found == words) || ...);
  }

  int64_t written() const { return int64_t(out_.kinds.size()); }
  Kind written(int64_t at) const { return at >= 0 ? Kind(out_.kinds[at]) : kNONE; }
  Kind previous() const { return written(written() - 1); }

  // Whether an operand ends here, so that an operator or a clause may follow, and no operand.
  bool after_operand() const {
    static constexpr KindSet kEnds{
        kNAME, kPARAMETER, kINTEGER, kFLOAT, kSTRING, kTRUE, kFALSE, kNULL, kEND, kRPAR, kRSQB, kRBRACE, kPATTERN_END,
        kFINISH, kTRANSACTIONS, kROWS, kON_ERROR, kCOMMAND, kSHOW, kASC, kDESC, kNULLS_ORDER, kTYPE_TEST,
        kNOT_TYPE_TEST, kNORMALIZED, kPLANNER_HINT};
    if (written() == kept_) return true;
    if (previous() != kSTAR) return kEnds.has(previous());
    static constexpr KindSet kBeforeAll{kRETURN, kWITH, kDISTINCT, kLPAR, kYIELD};
    return kBeforeAll.has(written(written() - 2));  // RETURN *, count(*), or a factor is still to come
  }

  bool begins_clause() const {
    static constexpr KindSet kStarts{kNONE, kLBRACE, kCYPHER_OPTIONS, kEXPLAIN, kSTEPS, kPROFILE, kALL, kEXCEPT,
                                     kINTERSECT, kOTHERWISE, kUNION, kNEXT, kDIVIDER, kPERIODIC_COMMIT};
    if (!is_query_) return false;
    if (previous() == kDISTINCT) return is_set_operator(written(written() - 2));
    if (previous() == kTHEN || previous() == kELSE) return !in_case();
    return kStarts.has(previous()) || after_operand();
  }

  static bool is_set_operator(Kind kind) {
    return kind == kEXCEPT || kind == kINTERSECT || kind == kOTHERWISE || kind == kUNION;
  }

  // Whether a CASE is open here, in the same brackets.
  bool in_case() const {
    int64_t open = 0, depth = 0;
    for (int64_t at = written() - 1; at >= 0; --at) {
      tick(1);
      const Kind kind = written(at);
      depth += kClosing.has(kind) - kOpening.has(kind);
      if (!depth) open += (kind == kEND) - (kind == kCASE);
      if (depth < 0 || open < 0) return depth == 0;
    }
    return false;
  }

  // ------------------------------------------------------------------------------------------------------- writing

  int64_t copy(int64_t at) { return emit(types_[at], at); }
  int64_t emit(int64_t kind, int64_t at) {
    types_[at] = kind;
    out_.add(Kind(kind), tokens_.starts[at], tokens_.ends[at], kAsWritten);
    return at + 1;
  }
  // Writes a name without its backticks.
  int64_t emit_name(int64_t at) {
    if (types_[at] != kBACKTICKED) return copy(at);
    const bool empty = tokens_.ends[at] - tokens_.starts[at] == 2;
    out_.add(empty ? kEMPTY_NAME : kNAME, tokens_.starts[at], tokens_.ends[at], kInBackticks);
    return at + 1;
  }
  // Writes the tokens from one index to another as a single one.
  int64_t emit_joined(Kind kind, const std::string& value, int64_t first, int64_t last) {
    add_text(kind, value, tokens_.starts[first], tokens_.ends[last]);
    return last + 1;
  }
  void add_text(Kind kind, const std::string& value, int64_t start, int64_t end) {
    out_.texts += value + "\n";
    out_.add(kind, start, end, out_.texts_count++);
  }

  // --------------------------------------------------------------------------------------- what several rules take

  // Takes a label expression whole: its words are names, its `:` mean "and".
  int64_t labels(int64_t at);
  // Takes what goes on behind a `$(…)` that closes before an index.
  int64_t more_labels(int64_t at);
  int64_t path_name(int64_t at);
  // Takes what may stand before a path: its name, a path selector, a path mode.
  int64_t pattern_prefix(int64_t at);

  // ---------------------------------------------------------------------------------------------- paths (paths.cpp)

  // The index behind the longest path of at least one step that begins at `start`, or -1.
  int64_t path_after(int64_t start) const;
  // Whether the `(` here, in a pattern, opens a path and not a node.
  bool is_parenthesized(int64_t at) const {
    return kind(at + 1) == kLPAR || (is_name(at + 1) && kind(at + 2) == kEQ);
  }
  bool has_comma(int64_t opening) const;
  // The `|` that divides the comprehension opened here, or -1. A `|` may also join labels: [x IN xs WHERE x:A|B | x.k].
  // It does where a label stands before it and another one, not an expression, behind it; the last one always divides.
  int64_t divider_of(int64_t opening) const;
  // The index behind the type that begins at an index, such as LIST<INTEGER NOT NULL> | STRING.
  int64_t type_end(int64_t at) const;

  struct Frame {
    Context context;
    bool is_query, is_map;
    int64_t divider, path_end;
  };

  const Tokens tokens_;
  const std::vector<int64_t>& partner_;
  const int64_t count_;
  Classified& out_;
  const Poll poll_;
  mutable int64_t steps_ = 0;
  std::vector<int64_t> types_;
  // The current frame: the kind of text, whether clauses may begin here, whether keys stand after commas, the `|` that
  // divides it, and where the path inside an expression ends.
  Context context_ = kExpression;
  bool is_query_ = true, is_map_ = false;
  int64_t divider_ = -1, path_end_ = -1;
  std::vector<Frame> frames_;
  bool is_command_ = false;                              // whether it began with SHOW or TERMINATE
  std::unordered_set<int64_t> query_braces_, query_ends_;  // the `{` of CALL, and their `}`
  std::unordered_map<int64_t, int64_t> cast_types_;      // the AS of CAST, and the last word of the type behind it
  std::unordered_set<int64_t> search_ends_;              // the `)` of SEARCH n IN ( … )
  std::unordered_set<int64_t> label_ends_;               // the `)` of `$(…)` in label expressions
  int64_t kept_ = -1;                                    // how many tokens were written when KEEP ended

 private:
  int64_t dynamic(int64_t at, int depth);
  bool is_node(int64_t at) const;
  bool is_element(int64_t at, const KindSet& first, const KindSet& second) const;
  int64_t relationship_end(int64_t at) const;
  int64_t quantifier_end(int64_t at) const;
  bool joins_labels(int64_t bar) const;
};

}  // namespace qe::syntax
