// Names of words and kinds, and which kind a word has as a keyword.
#pragma once
#include <cstring>

#include "syntax/kinds.h"

namespace qe::syntax {

inline const char* kind_name(Kind kind) {
  static constexpr const char* kNames[] = {
#define QE_KIND(name) #name,
      QE_TOKEN_KINDS(QE_KIND)
#undef QE_KIND
  };
  return kNames[kind];
}

inline const char* word_name(Word word) {
  static constexpr const char* kNames[] = {"",
#define QE_WORD(name, flags) #name,
                                           QE_WORDS(QE_WORD)
#undef QE_WORD
  };
  return kNames[word];
}

// The kind that is called as a word is.
inline Kind kind_of(Word word) {
  struct Kinds {
    Kind of[kWords] = {};
    Kinds() {
      for (int each = 1; each < kWords; ++each) {
        for (int kind = 1; kind < kKinds; ++kind) {
          if (!std::strcmp(word_name(Word(each)), kind_name(Kind(kind)))) of[each] = Kind(kind);
        }
      }
    }
  };
  static const Kinds kFound;
  return kFound.of[word];
}

}  // namespace qe::syntax
