// The LALR(1) automaton: from tokens to the program that builds a statement's tree.
#pragma once
#include <utility>
#include <vector>

#include "syntax/classify.h"

namespace qe::syntax {

// What becomes of the parts of a rule.
enum Role : int32_t {
  kBuild,   // the rule's function makes a value of them
  kPass,    // the part `which` is passed on
  kBegin,   // they begin a list: the parts in `which`, a bit each
  kAppend,  // the first, a list, is gone on with by the parts in `which`
  kUnwrap,  // as kBuild, but a list of one part is that part
  kLeaf,    // the one, a name, is made a value
};

struct Rule {
  int32_t origin, length;
  int32_t role;
  int32_t which;
  int32_t layout, parts;  // where each part that the function gets comes from (-1: nothing stands there)
};

struct Automaton {
  int32_t states, start;
  std::vector<int16_t> rows;     // of each state its row of actions
  std::vector<int16_t> actions;  // rows × kinds: the state that follows + 1, -1 - rule where one is complete, 0
  std::vector<int16_t> gotos;    // origins × states: the state that follows
  std::vector<Rule> rules;
  std::vector<int32_t> layouts;

  int action(int state, Kind kind) const { return actions[int64_t(rows[state]) * kKinds + kind]; }
};

// Steps of a machine with a stack of values, in the order in which their values are made. `codes`: a rule, whose function
// takes `counts` values off the stack and puts its own there; past the rules kList, which makes a list of them, kOnto,
// which appends all but the first to it, and kAbsent, which puts so many there that are none; ~kind for a token, and the
// rule of a leaf, where the count is the value (as in Classified). `starts`, `ends`: where all that a rule took stands.
struct Program {
  enum { kList, kOnto, kAbsent };
  std::vector<int64_t> codes, counts, starts, ends;
  int32_t depth = 0;  // the most tokens around a part, its own with them, but for some that make no tree deeper

  void clear() {
    for (auto* each : {&codes, &counts, &starts, &ends}) each->clear();
    depth = 0;
  }
};

// A token, a rule's value or an absent part (first: -1 for no part); parts are linked by `next`.
struct Value {
  int64_t code, start, end;
  int32_t first, last, next, count;
  int64_t token;
  int32_t depth;  // see Program::depth
};

// What a run needs, kept from run to run.
struct Stacks {
  std::vector<int32_t> states, values;
  std::vector<Value> pool;
  std::vector<std::pair<int32_t, int32_t>> open;
};

// Runs the automaton. Returns -1, or the token that it has no place for (one past the last: the end), what it would have
// taken in `accepted`; the program then has the steps before that.
int64_t run(const Automaton& automaton, const Classified& tokens, Poll poll, Stacks& stacks, Program& program,
            std::vector<int64_t>& accepted);

}  // namespace qe::syntax
