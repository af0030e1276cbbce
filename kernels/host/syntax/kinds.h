// The kinds of tokens, and the words that may be keywords. Python knows kinds by their names (qe_syntax_names).
#pragma once
#include <cstdint>
#include <initializer_list>

namespace qe::syntax {

// NONE is what stands behind the end; kinds up to ERROR come from the scanner, the others are made by the classifier.
#define QE_TOKEN_KINDS(X)                                                                                              \
  X(NONE) X(NAME) X(BACKTICKED) X(PARAMETER) X(INTEGER) X(FLOAT) X(STRING) X(LPAR) X(RPAR) X(LSQB) X(RSQB) X(LBRACE)   \
  X(RBRACE) X(COMMA) X(DOT) X(DOTDOT) X(COLON) X(SEMICOLON) X(BAR) X(AMP) X(BANG) X(PERCENT) X(PLUS) X(MINUS) X(STAR)  \
  X(SLASH) X(CARET) X(EQ) X(NE) X(LT) X(GT) X(LE) X(GE) X(MATCHES) X(CONCAT) X(DOLLAR) X(BANG_EQ) X(EQ_EQ) X(EQ_GT)    \
  X(AMP_AMP) X(PLUS_EQ) X(COLON_COLON) X(HINT) X(COMMENT) X(ERROR)                                                     \
  X(END_OF_STATEMENT) X(EMPTY_NAME) X(AND_COLON) X(DIVIDER) X(QUESTION) X(LIST_COMPREHENSION) X(PATTERN_COMPREHENSION) \
  X(PATTERN_BEGIN) X(PATTERN_END) X(CYPHER_OPTIONS) X(EXPLAIN) X(PROFILE) X(STEPS) X(MATCH) X(OPTIONAL) X(WHERE)       \
  X(WITH) X(RETURN) X(FINISH) X(UNWIND) X(AS) X(DISTINCT) X(UNION) X(ALL) X(GROUP_BY) X(ORDER) X(BY) X(ASC) X(DESC)    \
  X(NULLS_ORDER) X(SKIP) X(LIMIT) X(ROWS_CLAUSE) X(PLANNER_HINT) X(EXCEPT) X(INTERSECT) X(OTHERWISE) X(CREATE)         \
  X(MERGE) X(ON_SET) X(SET) X(REMOVE) X(DETACH) X(DELETE) X(FOREACH) X(CALL) X(YIELD) X(PERIODIC_COMMIT) X(LOAD_CSV)   \
  X(FIELDTERMINATOR) X(TRANSACTIONS) X(OF) X(ROWS) X(ON_ERROR) X(REPORT) X(SEARCH) X(VECTOR_INDEX) X(SCORE) X(KEEP)    \
  X(LET) X(FOR) X(FOR_POSITION) X(FILTER) X(USE) X(NEXT) X(COMMAND) X(SHOW) X(MATCH_MODE) X(ANY) X(SHORTEST) X(PATHS)  \
  X(GROUPS) X(PATH_MODE) X(SHORTEST_PATH) X(AND) X(OR) X(XOR) X(NOT) X(IN) X(IS) X(NULL) X(TRUE) X(FALSE) X(STARTS)    \
  X(ENDS) X(CONTAINS) X(CASE) X(WHEN) X(THEN) X(ELSE) X(END) X(QUANTIFIER) X(REDUCE) X(ALL_REDUCE) X(SUBQUERY)         \
  X(TYPE_TEST) X(NOT_TYPE_TEST) X(NORMALIZED) X(CAST) X(CAST_TYPE) X(TRIM) X(TRIM_SIDE) X(FROM) X(DYNAMIC)

enum Kind : uint8_t {
#define QE_KIND(name) k##name,
  QE_TOKEN_KINDS(QE_KIND)
#undef QE_KIND
      kKinds
};

// What a word is, in any of its places.
enum : uint16_t {
  kKeyword = 1,        // the classifier looks at it
  kClauseWord = 2,     // begins a clause
  kQueryWord = 4,      // may begin a query in braces
  kOperatorWord = 8,   // a keyword with something on its left
  kSchemaWord = 16,    // may follow CREATE in a command of administration
  kShownWord = 32,     // SHOW can list it
  kTypeWord = 64,      // of a type's name
  kNormalForm = 128,   // of Unicode
  kPrefixWord = 256,   // may stand before a path
  kPhraseWord = 512,   // a keyword in one phrase only
};

#define QE_WORDS(X)                                                                                                    \
  X(AND, 9) X(AS, 9) X(CASE, 1) X(CONTAINS, 9) X(DISTINCT, 1) X(ELSE, 9) X(ENDS, 9) X(FALSE, 1) X(IN, 9) X(IS, 9)      \
  X(MATCH, 7) X(NOT, 1) X(NULL, 65) X(OR, 25) X(RETURN, 7) X(STARTS, 9) X(THEN, 9) X(TRUE, 1) X(UNION, 15)             \
  X(UNWIND, 7) X(WHEN, 13) X(WHERE, 1) X(WITH, 7) X(XOR, 9)                                                            \
  X(ALL, 257) X(ALLREDUCE, 1) X(ALLSHORTESTPATHS, 1) X(ANY, 321) X(ASC, 1) X(ASCENDING, 1) X(CAST, 1) X(COLLECT, 1)    \
  X(COUNT, 1) X(DESC, 1) X(DESCENDING, 1) X(END, 1) X(EXCEPT, 1) X(EXISTS, 1) X(EXTRACT, 1) X(FINISH, 7) X(GROUP, 257)               \
  X(INTERSECT, 1) X(KEEP, 1) X(LIMIT, 5) X(NONE, 1) X(NULLS, 1) X(OFFSET, 5) X(OPTIONAL, 7) X(ORDER, 5)                \
  X(OTHERWISE, 1) X(REDUCE, 1) X(SCORE, 1) X(SEARCH, 1) X(SHORTESTPATH, 1) X(SINGLE, 1) X(SKIP, 5) X(TRIM, 1)          \
  X(VALUE, 65)                                                                                                         \
  X(ALTER, 1) X(CALL, 7) X(CREATE, 7) X(DELETE, 7) X(DETACH, 7) X(DROP, 1) X(FIELDTERMINATOR, 1) X(FILTER, 5)          \
  X(FOR, 5) X(FOREACH, 7) X(INSERT, 7) X(LET, 5) X(LOAD, 7) X(MERGE, 7) X(NEXT, 1) X(NODETACH, 7) X(ON, 1)             \
  X(REMOVE, 7) X(SET, 7) X(SHOW, 1) X(TERMINATE, 1) X(USE, 5) X(USING, 1) X(YIELD, 1)                                  \
  X(SHORTEST, 256) X(PATH, 320) X(PATHS, 256) X(GROUPS, 256) X(WALK, 256) X(TRAIL, 256) X(ACYCLIC, 256) X(SIMPLE, 256) \
  X(BY, 512) X(CYPHER, 512) X(DIFFERENT, 512) X(ELEMENT, 512) X(ELEMENTS, 512) X(EXPLAIN, 512) X(NODE, 576)            \
  X(NODES, 512) X(PROFILE, 512) X(RELATIONSHIP, 576) X(RELATIONSHIPS, 512) X(REPEATABLE, 512)                          \
  X(ALIAS, 48) X(COMPOSITE, 16) X(CONSTRAINT, 48) X(DATABASE, 48) X(FULLTEXT, 16) X(INDEX, 48) X(LOOKUP, 16)           \
  X(POINT, 80) X(RANGE, 16) X(ROLE, 48) X(TEXT, 16) X(UNIQUE, 16) X(USER, 48) X(VECTOR, 16)                            \
  X(INDEXES, 32) X(CONSTRAINTS, 32) X(FUNCTIONS, 32) X(FUNCTION, 32) X(PROCEDURES, 32) X(PROCEDURE, 32)                \
  X(SETTINGS, 32) X(SETTING, 32) X(TRANSACTIONS, 32) X(TRANSACTION, 32) X(PRIVILEGES, 32) X(PRIVILEGE, 32)             \
  X(ALIASES, 32) X(DATABASES, 32) X(SERVERS, 32) X(SERVER, 32) X(ROLES, 32) X(USERS, 32)                               \
  X(ARRAY, 64) X(BOOL, 64) X(BOOLEAN, 64) X(DATE, 64) X(DATETIME, 64) X(DURATION, 64) X(EDGE, 64) X(FLOAT, 64)         \
  X(INT, 64) X(INTEGER, 64) X(LIST, 64) X(LOCAL, 64) X(MAP, 64) X(NOTHING, 64) X(PROPERTY, 64) X(SIGNED, 64)           \
  X(STRING, 64) X(TIME, 64) X(TIMESTAMP, 64) X(VARCHAR, 64) X(VERTEX, 64) X(ZONED, 64)                                 \
  X(NFC, 128) X(NFD, 128) X(NFKC, 128) X(NFKD, 128)                                                                    \
  X(STEPS, 0) X(ORDINALITY, 0) X(BINDING, 0) X(BINDINGS, 0) X(FIRST, 0) X(LAST, 0) X(CONCURRENT, 0) X(OF, 0)           \
  X(ROW, 0) X(ROWS, 0) X(ERROR, 0) X(FAIL, 0) X(BREAK, 0) X(CONTINUE, 0) X(RETRY, 0) X(REPORT, 0) X(STATUS, 0)         \
  X(SEC, 0) X(SECS, 0) X(SECOND, 0) X(SECONDS, 0) X(CSV, 0) X(HEADERS, 0) X(FROM, 0) X(PERIODIC, 0) X(COMMIT, 0)       \
  X(BTREE, 16) X(JOIN, 0) X(SEEK, 0) X(SCAN, 0) X(LABELED, 0) X(TYPED, 0) X(NORMALIZED, 0) X(WITHOUT, 0)                \
  X(TIMEZONE, 0) X(ZONE, 0) X(BOTH, 0) X(LEADING, 0) X(TRAILING, 0)

// The scanner's word of a token: of a name, or what is told apart among other tokens; wNONE for all else.
enum Word : uint8_t {
  wNONE_OF_THESE,
#define QE_WORD(name, flags) w##name,
  QE_WORDS(QE_WORD)
#undef QE_WORD
      kWords,
  // Not words: parameters $any and $all, and characters that the scanner can't read.
  wDollarAny = kWords,
  wDollarAll,
  wQuestion,
  wLikeMinus,
  wLikeLess,
  wLikeGreater,
};

inline uint16_t word_flags(Word word) {
  static constexpr uint16_t kFlags[] = {0,
#define QE_WORD(name, flags) flags,
                                        QE_WORDS(QE_WORD)
#undef QE_WORD
  };
  return kFlags[word];
}

class KindSet {
 public:
  constexpr KindSet(std::initializer_list<Kind> kinds) {
    for (Kind kind : kinds) words_[kind >> 6] |= uint64_t{1} << (kind & 63);
  }
  constexpr bool has(Kind kind) const { return words_[kind >> 6] >> (kind & 63) & 1; }

 private:
  uint64_t words_[(kKinds + 63) / 64] = {};
};

inline constexpr KindSet kOpening{kLPAR, kLSQB, kLBRACE, kLIST_COMPREHENSION, kPATTERN_COMPREHENSION};
inline constexpr KindSet kClosing{kRPAR, kRSQB, kRBRACE};

// Tokens as the scanner writes them, each field an array.
struct Tokens {
  const int64_t *kinds, *starts, *ends, *words;
  int64_t count;
};

// Asks Python whether to stop; called every so many steps.
using Poll = int32_t (*)();
struct Stopped {};

}  // namespace qe::syntax
