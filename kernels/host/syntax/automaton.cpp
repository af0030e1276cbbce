// Runs an LALR(1) automaton (Lark computes its tables of grammar/cypher.lark) and writes what builds the tree. Lists are
// gathered and parts that are only passed on are left out, so that Python takes few steps. Time and memory: the tokens.
#include "syntax/automaton.h"

#include <algorithm>

namespace qe::syntax {
namespace {

// Tokens that make no tree deeper.
constexpr KindSet kFlat{kCOMMA, kCOLON, kRPAR, kRSQB, kRBRACE};

class Runner {
 public:
  Runner(const Automaton& automaton, const Classified& tokens, Poll poll, Stacks& stacks, Program& program)
      : automaton_(automaton), tokens_(tokens), poll_(poll), program_(program), rules_(int64_t(automaton.rules.size())),
        states_(stacks.states), values_(stacks.values), pool_(stacks.pool), open_(stacks.open) {}

  int64_t run(std::vector<int64_t>& accepted) {
    const int64_t count = int64_t(tokens_.kinds.size());
    states_.assign(1, automaton_.start);
    values_.clear();
    pool_.clear();
    int64_t refused = -1;
    for (int64_t at = 0; at <= count && refused < 0; ++at) {
      if ((at & 0xffff) == 0xffff && poll_()) throw Stopped();
      const Kind kind = at < count ? Kind(tokens_.kinds[at]) : kEND_OF_STATEMENT;
      int action;
      while ((action = automaton_.action(states_.back(), kind)) < 0) reduce(automaton_.rules[-1 - action]);
      if (!action) {
        refused = at;
      } else if (at < count) {
        states_.push_back(action - 1);
        values_.push_back(make(~int64_t(kind), tokens_.starts[at], tokens_.ends[at]));
        pool_.back().token = tokens_.values[at];
      }
    }
    if (refused >= 0) accepts(accepted);
    for (int32_t value : values_) {
      program_.depth = std::max(program_.depth, pool_[value].depth);
      write(value);
    }
    return refused;
  }

 private:
  int32_t make(int64_t code, int64_t start, int64_t end) {
    pool_.push_back({code, start, end, -1, -1, -1, 0, 0, 0});
    return int32_t(pool_.size()) - 1;
  }

  void add(int32_t list, int32_t part) {
    Value& value = pool_[list];
    if (value.first < 0) value.first = part;
    else pool_[value.last].next = part;
    value.last = part;
    ++value.count;
  }

  // Adds a part that is absent; those that follow each other are one value.
  void add_absent(int32_t list) {
    const int32_t last = pool_[list].last;
    if (last >= 0 && pool_[last].code == rules_ + Program::kAbsent) {
      ++pool_[last].count;
      ++pool_[list].count;
      return;
    }
    const int32_t absent = make(rules_ + Program::kAbsent, 0, 0);
    pool_[absent].count = 1;
    add(list, absent);
  }

  bool is_list(int32_t value) const { return pool_[value].code == rules_ + Program::kList; }

  void reduce(const Rule& rule) {
    const int32_t* parts = values_.data() + values_.size() - rule.length;
    const int64_t start = pool_[parts[0]].start, end = pool_[parts[rule.length - 1]].end;
    int32_t made = parts[0], tokens = 0, deepest = 0;
    for (int at = 0; at < rule.length; ++at) {
      const Value& part = pool_[parts[at]];
      tokens += part.code < 0 && !kFlat.has(Kind(~part.code));
      deepest = std::max(deepest, part.depth);
    }
    if (rule.role == kBegin || rule.role == kAppend) {
      if (rule.role == kBegin) made = make(rules_ + Program::kList, start, end);
      else if (!is_list(made) && pool_[made].code != rules_ + Program::kOnto) {
        made = make(rules_ + Program::kOnto, start, end);
        add(made, parts[0]);
      }
      for (int at = 0; at < rule.length; ++at) {
        if (rule.which >> at & 1) add(made, parts[at]);
      }
      pool_[made].end = end;
    } else if (rule.role == kUnwrap && is_list(parts[0]) && pool_[parts[0]].count == 1) {
      made = pool_[parts[0]].first;
    } else if (rule.role == kLeaf) {
      pool_[made].code = &rule - automaton_.rules.data();
      pool_[made].count = int32_t(pool_[made].token);
    } else if (rule.role == kPass) {
      made = parts[rule.which];
    } else {
      made = make(&rule - automaton_.rules.data(), start, end);
      for (int at = 0; at < rule.parts; ++at) {
        if (const int32_t from = automaton_.layouts[rule.layout + at]; from >= 0) add(made, parts[from]);
        else add_absent(made);
      }
    }
    pool_[made].depth = tokens + deepest;
    values_.resize(values_.size() - rule.length);
    states_.resize(states_.size() - rule.length);
    values_.push_back(made);
    states_.push_back(automaton_.gotos[int64_t(rule.origin) * automaton_.states + states_.back()]);
  }

  // Writes a value's steps behind those of its parts.
  void write(int32_t root) {
    open_.assign(1, {root, pool_[root].first});  // values, and their parts to come
    while (!open_.empty()) {
      auto& [at, part] = open_.back();
      if (part >= 0) {
        const int32_t next = part;
        part = pool_[next].next;
        open_.emplace_back(next, pool_[next].first);
        continue;
      }
      const Value& value = pool_[at];
      program_.codes.push_back(value.code);
      program_.counts.push_back(value.code < 0 ? value.token : value.count);
      program_.starts.push_back(value.start);
      program_.ends.push_back(value.end);
      open_.pop_back();
    }
  }

  void accepts(std::vector<int64_t>& accepted) const {
    for (int kind = 1; kind < kKinds; ++kind) {
      std::vector<int32_t> states = states_;
      int action;
      while ((action = automaton_.action(states.back(), Kind(kind))) < 0) {
        const Rule& rule = automaton_.rules[-1 - action];
        states.resize(states.size() - rule.length);
        states.push_back(automaton_.gotos[int64_t(rule.origin) * automaton_.states + states.back()]);
      }
      if (action) accepted.push_back(kind);
    }
  }

  const Automaton& automaton_;
  const Classified& tokens_;
  const Poll poll_;
  Program& program_;
  const int64_t rules_;
  std::vector<int32_t>&states_, &values_;
  std::vector<Value>& pool_;
  std::vector<std::pair<int32_t, int32_t>>& open_;
};

}  // namespace

int64_t run(const Automaton& automaton, const Classified& tokens, Poll poll, Stacks& stacks, Program& program,
            std::vector<int64_t>& accepted) {
  return Runner(automaton, tokens, poll, stacks, program).run(accepted);
}

}  // namespace qe::syntax
