// Cuts a text into tokens, without context. Never fails: what can't be read becomes an ERROR token. One pass over the
// characters; positions are in characters. Names, digits and white space beyond ASCII are Python's: it says what each
// such character of the text is. The tokens live in the calling thread until its next call.
#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "qe/abi.h"
#include "syntax/kinds.h"

namespace qe::syntax {
namespace {

// What a character is; the last two bits: 1, 2, 3 for one that is drawn like '-', '<', '>'.
enum : uint8_t { kSpace = 1, kInWord = 2, kDigit = 4, kStartsName = 8, kInName = 16, kLikeShift = 5 };

struct Classes {
  uint8_t of[128] = {};
  Classes() {
    for (int c : {9, 10, 11, 12, 13, 28, 29, 30, 31, 32}) of[c] = kSpace;
    for (int c = 'a'; c <= 'z'; ++c) of[c] = of[c - 32] = kInWord | kStartsName | kInName;
    of['_'] = kInWord | kStartsName | kInName;
    for (int c = '0'; c <= '9'; ++c) of[c] = kInWord | kDigit | kInName;
  }
};
const Classes kAscii;

// The words by a hash, in little memory: between two texts other work has emptied the caches, and most names are no words.
class WordTable {
 public:
  WordTable() {
#define QE_WORD(name, flags) add(#name, w##name);
    QE_WORDS(QE_WORD)
#undef QE_WORD
  }
  Word find(std::string_view text) const {
    uint32_t place = hash(text);
    const uint8_t tag = tag_of(place);
    for (place &= kSlots - 1; tags_[place]; place = (place + 1) & (kSlots - 1)) {
      if (tags_[place] == tag && texts_[place] == text) return words_[place];
    }
    return wNONE_OF_THESE;
  }

 private:
  static constexpr uint32_t kSlots = 1024;
  static uint32_t hash(std::string_view text) {
    uint32_t made = 2166136261u;
    for (char c : text) made = (made ^ uint8_t(c)) * 16777619u;
    return made ^ made >> 15;
  }
  static uint8_t tag_of(uint32_t hash) { return uint8_t(hash >> 24) | 1; }
  void add(std::string_view text, Word word) {
    const uint32_t made = hash(text);
    uint32_t place = made & (kSlots - 1);
    while (tags_[place]) place = (place + 1) & (kSlots - 1);
    tags_[place] = tag_of(made), texts_[place] = text, words_[place] = word;
  }

  uint8_t tags_[kSlots] = {};
  Word words_[kSlots] = {};
  std::string_view texts_[kSlots];
};

struct Texts {
  WordTable words;
  bool begins_pair[128] = {};
  Kind pairs[128][128] = {};  // signs of two characters
  Kind signs[128] = {};
  Texts() {
    const std::pair<const char*, Kind> found[] = {
        {"(", kLPAR}, {")", kRPAR}, {"[", kLSQB}, {"]", kRSQB}, {"{", kLBRACE}, {"}", kRBRACE}, {",", kCOMMA},
        {":", kCOLON}, {";", kSEMICOLON}, {"|", kBAR}, {"&", kAMP}, {"!", kBANG}, {"%", kPERCENT}, {"+", kPLUS},
        {"-", kMINUS}, {"*", kSTAR}, {"^", kCARET}, {"=", kEQ}, {"<", kLT}, {">", kGT}, {"..", kDOTDOT}, {"<>", kNE},
        {"<=", kLE}, {">=", kGE}, {"=~", kMATCHES}, {"||", kCONCAT}, {"!=", kBANG_EQ}, {"==", kEQ_EQ}, {"=>", kEQ_GT},
        {"&&", kAMP_AMP}, {"+=", kPLUS_EQ}, {"::", kCOLON_COLON}};
    for (auto [text, kind] : found) {
      (text[1] ? pairs[int(text[0])][int(text[1])] : signs[int(text[0])]) = kind;
      begins_pair[int(text[0])] |= text[1] != 0;
    }
  }
};
const Texts& texts() {
  static const Texts made;
  return made;
}

struct Result {
  std::vector<int64_t> kinds, starts, ends, words;
  std::vector<int64_t> all;
};
thread_local Result result;

template <class Char>
class Scanner {
 public:
  Scanner(const Char* text, int64_t length, const uint32_t* others, const uint8_t* classes, int64_t known)
      : text_(text), length_(length), others_(others), classes_(classes), known_(known) {}

  void run(bool everything, int64_t limit, Poll poll) {
    while (true) {
      while (is(at_, kSpace)) ++at_;
      if (at_ >= length_ || (limit >= 0 && int64_t(result.kinds.size()) > limit)) return;
      const int64_t begin = at_;
      const Kind kind = next(begin);
      if (kind == kNONE) {  // opened and never closed: no more can be read
        add(kERROR, begin, begin + (text_[begin] == '/' ? 2 : 1), wNONE_OF_THESE);
        return;
      }
      if (kind == kCOMMENT && !everything) continue;
      add(kind, begin, at_, word_of(kind, begin));
      if (result.kinds.size() % 65536 == 0 && poll()) throw Stopped();
    }
  }

 private:
  uint8_t class_of(int64_t place) const {
    if (place >= length_) return 0;
    const Char c = text_[place];
    if (c < 128) return kAscii.of[c];
    const uint32_t* found = std::lower_bound(others_, others_ + known_, uint32_t(c));
    return found < others_ + known_ && *found == c ? classes_[found - others_] : 0;
  }
  bool is(int64_t place, uint8_t what) const { return class_of(place) & what; }
  uint32_t char_at(int64_t place) const { return place < length_ ? uint32_t(text_[place]) : 0; }
  bool stands(int64_t place, uint32_t c) const { return place < length_ && uint32_t(text_[place]) == c; }
  bool is_decimal(int64_t place) const { return place < length_ && text_[place] >= '0' && text_[place] <= '9'; }

  void add(Kind kind, int64_t begin, int64_t end, int64_t word) {
    result.kinds.push_back(kind);
    result.starts.push_back(begin);
    result.ends.push_back(end);
    result.words.push_back(word);
  }

  // Reads the token at `begin` and moves behind it; NONE for what is never closed.
  Kind next(int64_t begin) {
    const uint32_t c = text_[begin];
    const uint8_t what = class_of(begin);
    ++at_;
    if (what & kInWord && !(what & kDigit)) return name(what);
    if (c >= 128) return kERROR;
    const uint32_t after = char_at(at_);
    if (is_decimal(begin) || (c == '.' && is_decimal(at_))) return number(begin);
    if (c == '/' && (after == '*' || after == '/')) return comment();
    if (c == '/') return kSLASH;
    if (texts().begins_pair[c] && after < 128 && at_ < length_ && texts().pairs[c][after]) {
      ++at_;
      return texts().pairs[c][after];
    }
    if (c == '.') return kDOT;
    if (texts().signs[c]) return texts().signs[c];
    if (c == '\'' || c == '"') return string(c);
    if (c == '$') return dollar();
    if (c == '`') return backticked(at_) ? kBACKTICKED : kNONE;
    return kERROR;
  }

  Kind name(uint8_t first) {
    if (!(first & kStartsName)) return kERROR;
    while (is(at_, kInName)) ++at_;
    return kNAME;
  }

  Kind number(int64_t begin) {
    auto digits = [&](int64_t place) {
      if (is_decimal(place)) do ++place; while (is_decimal(place) || stands(place, '_'));
      return place;
    };
    auto exponent = [&](int64_t place) {
      if (!stands(place, 'e') && !stands(place, 'E')) return place;
      int64_t end = place + 1;
      end += stands(end, '+') || stands(end, '-');
      if (!is_decimal(end)) return place;
      while (is_decimal(end)) ++end;
      return end;
    };
    Kind kind = kINTEGER;
    int64_t end = digits(begin);
    if (stands(end, '.') && is_decimal(end + 1)) {
      kind = kFLOAT;
      end = exponent(digits(end + 1));
    } else if (const int64_t behind = exponent(end); behind > end) {
      kind = kFLOAT;
      end = behind;
    }
    while (is(end, kInWord)) ++end;
    at_ = end;
    return kind;
  }

  Kind string(uint32_t quote) {
    while (at_ < length_) {
      const uint32_t c = text_[at_++];
      if (c == quote) return kSTRING;
      if (c == '\\') ++at_;
    }
    return kNONE;
  }

  // Moves behind the backtick that closes what begins at `place`.
  bool backticked(int64_t place) {
    for (; place < length_; ++place) {
      if (text_[place] != '`') continue;
      if (!stands(place + 1, '`')) {
        at_ = place + 1;
        return true;
      }
      ++place;
    }
    return false;
  }

  Kind dollar() {
    int64_t end = at_;
    while (is(end, kSpace) && !stands(end, 0xfeff)) ++end;
    if (stands(end, '(')) return kDOLLAR;
    end = at_;
    if (stands(end, '`')) {
      const bool empty = stands(end + 1, '`') && !stands(end + 2, '`');
      return !empty && backticked(end + 1) ? kPARAMETER : kERROR;
    }
    while (is(end, kInWord)) ++end;
    if (end == at_) return kERROR;
    at_ = end;
    return kPARAMETER;
  }

  Kind comment() {
    if (text_[at_] == '/') {
      while (at_ < length_ && text_[at_] != '\n' && text_[at_] != '\r') ++at_;
      return kCOMMENT;
    }
    const bool hint = stands(at_ + 1, '+');
    if (hint) {
      if (const int64_t end = closed(at_ + 2)) return at_ = end, kHINT;
    }
    if (const int64_t end = closed(at_ + 1)) return at_ = end, kCOMMENT;
    return kNONE;
  }
  int64_t closed(int64_t place) const {
    for (; place + 1 < length_; ++place) {
      if (text_[place] == '*' && text_[place + 1] == '/') return place + 2;
    }
    return 0;
  }

  int64_t word_of(Kind kind, int64_t begin) const {
    if (kind == kERROR) {
      if (text_[begin] == '?') return wQuestion;
      const int like = class_of(begin) >> kLikeShift;
      return like ? wQuestion + like : int(wNONE_OF_THESE);
    }
    const int64_t length = at_ - begin;
    if ((kind != kNAME && kind != kPARAMETER) || length > 16) return wNONE_OF_THESE;
    char upper[16];
    for (int64_t i = 0; i < length; ++i) {
      const Char c = text_[begin + i];
      if (c >= 128) return wNONE_OF_THESE;
      upper[i] = char(c >= 'a' && c <= 'z' ? c - 32 : c);
    }
    const std::string_view written(upper, length);
    if (kind == kPARAMETER) return written == "$ANY" ? wDollarAny : written == "$ALL" ? wDollarAll : wNONE_OF_THESE;
    return texts().words.find(written);
  }

  const Char* text_;
  int64_t length_;
  const uint32_t* others_;
  const uint8_t* classes_;
  int64_t known_;
  int64_t at_ = 0;
};

}  // namespace
}  // namespace qe::syntax

// Scans `length` characters of `width` bytes each (1: ASCII, 4: code points). `others`: how many different code points
// beyond ASCII the text has, these, sorted, and then what each of them is, a byte each. Comments are left out unless
// `everything`; scanning stops behind more than `limit` tokens (negative: never). Writes to `found` the number of tokens
// and the address of their kinds, starts, ends and words, each an array of that length.
QE_API int32_t qe_scan(const void* text, int64_t length, int32_t width, const uint32_t* others, int32_t everything,
                       int64_t limit, qe::syntax::Poll poll, int64_t* found) {
  using namespace qe::syntax;
  try {
    const int64_t known = *others++;
    const auto* classes = reinterpret_cast<const uint8_t*>(others + known);
    if (result.kinds.capacity() > 65536) result = Result();
    for (auto* each : {&result.kinds, &result.starts, &result.ends, &result.words, &result.all}) each->clear();
    if (width == 1) {
      Scanner(static_cast<const uint8_t*>(text), length, others, classes, known).run(everything, limit, poll);
    } else {
      Scanner(static_cast<const uint32_t*>(text), length, others, classes, known).run(everything, limit, poll);
    }
    found[0] = int64_t(result.kinds.size());
    for (auto* each : {&result.kinds, &result.starts, &result.ends, &result.words}) {
      result.all.insert(result.all.end(), each->begin(), each->end());
    }
    found[1] = reinterpret_cast<int64_t>(result.all.data());
    return qe::kOk;
  } catch (const Stopped&) {
    return qe::kInterrupted;
  } catch (...) {
    return qe::kOutOfMemory;
  }
}
