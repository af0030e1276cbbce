// What Python calls: names, the automaton's tables, and one statement from tokens to the program that builds its tree.
// What a call has found lives in the calling thread until its next call.
#include <algorithm>
#include <memory>

#include "qe/abi.h"
#include "syntax/automaton.h"
#include "syntax/word_kinds.h"

namespace qe::syntax {
namespace {

// Memory is kept from statement to statement: its pages would be new ones each time. That of long ones is given back.
constexpr size_t kKept = 1 << 16;

struct Parsed {
  Classified tokens;
  Program program;
  Stacks stacks;
  std::vector<int64_t> accepted, partner, all;

  void clear() {
    if (all.capacity() > kKept) *this = Parsed();
    tokens.clear();
    program.clear();
    accepted.clear();
    all.clear();
  }
};
thread_local Parsed parsed;

int64_t append(std::vector<int64_t>& all, std::initializer_list<std::vector<int64_t>*> columns) {
  for (auto* each : columns) all.insert(all.end(), each->begin(), each->end());
  return int64_t((*columns.begin())->size());
}

}  // namespace
}  // namespace qe::syntax

// The names of all kinds of tokens, and all words with what they are (a number of bits), parted by white space.
QE_API void qe_syntax_names(const char** kinds, const char** words) {
  using namespace qe::syntax;
  static const auto kTexts = [] {
    std::pair<std::string, std::string> made;
    for (int each = 0; each < kKinds; ++each) made.first += std::string(kind_name(Kind(each))) + " ";
    for (int each = 1; each < kWords; ++each) {
      made.second += std::string(word_name(Word(each))) + " " + std::to_string(word_flags(Word(each))) + " ";
    }
    return made;
  }();
  *kinds = kTexts.first.c_str();
  *words = kTexts.second.c_str();
}

// Keeps an automaton's tables for good. `counts`: states, the first state, different rows of actions, origins of rules,
// rules, layouts. `rules`: six numbers each, as in `Rule`.
QE_API int32_t qe_syntax_open(const int32_t* counts, const int16_t* rows, const int16_t* actions, const int16_t* gotos,
                              const int32_t* rules, const int32_t* layouts, void** automaton) {
  using namespace qe::syntax;
  try {
    const int32_t states = counts[0], start = counts[1], different = counts[2], origins = counts[3];
    const int32_t rule_count = counts[4], layout_count = counts[5];
    auto made = std::make_unique<Automaton>();
    made->states = states;
    made->start = start;
    made->rows.assign(rows, rows + states);
    made->actions.assign(actions, actions + int64_t(different) * kKinds);
    made->gotos.assign(gotos, gotos + int64_t(origins) * states);
    for (const int32_t* each = rules; each < rules + rule_count * 6; each += 6) {
      made->rules.push_back({each[0], each[1], each[2], each[3], each[4], each[5]});
    }
    made->layouts.assign(layouts, layouts + layout_count);
    *automaton = made.release();
    return qe::kOk;
  } catch (...) {
    return qe::kOutOfMemory;
  }
}

// Classifies one statement's tokens (four arrays of `count` each: kinds, starts, ends, words) and runs the automaton.
// `classified`: they have their final kinds. Writes to `found`: what is wrong with the brackets, and its two places; the
// token that was refused, or -1; the numbers of tokens, steps, accepted kinds and of bytes of texts; how deep the tree is
// by Program::depth; the address of the tokens' kinds, starts, ends and values, the steps' codes, counts, starts and
// ends, and the accepted kinds; and that of the texts.
QE_API int32_t qe_syntax_parse(const void* automaton, const int64_t* tokens, int64_t count, int32_t classified,
                               int32_t most_nested, qe::syntax::Poll poll, int64_t* found) {
  using namespace qe::syntax;
  try {
    parsed.clear();
    const Tokens given{tokens, tokens + count, tokens + 2 * count, tokens + 3 * count, count};
    auto& [written, program, stacks, accepted, partner, all] = parsed;
    std::fill_n(found, 11, 0);
    if (classified) {
      for (int64_t at = 0; at < count; ++at) {
        written.add(Kind(given.kinds[at]), given.starts[at], given.ends[at], kAsWritten);
      }
    } else {
      const BracketError error = pair_brackets(given, most_nested, partner);
      found[0] = error.what, found[1] = error.place, found[2] = error.other;
      if (error.what) return qe::kOk;
      classify(given, partner, poll, written);
    }
    found[3] = run(*static_cast<const Automaton*>(automaton), written, poll, stacks, program, accepted);
    found[4] = append(all, {&written.kinds, &written.starts, &written.ends, &written.values});
    found[5] = append(all, {&program.codes, &program.counts, &program.starts, &program.ends});
    found[6] = append(all, {&accepted});
    found[7] = int64_t(written.texts.size());
    found[8] = program.depth;
    found[9] = reinterpret_cast<int64_t>(all.data());
    found[10] = reinterpret_cast<int64_t>(written.texts.data());
    return qe::kOk;
  } catch (const Stopped&) {
    return qe::kInterrupted;
  } catch (...) {
    return qe::kOutOfMemory;
  }
}
