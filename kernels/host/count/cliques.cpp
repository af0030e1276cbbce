// Cliques along several matrices without numbers, loops and repeats: the sum over all ways to give the roles of a pattern, in
// which each two roles are linked by a matrix, to vertices, of the product of the vertices' weights in their roles.
//
// Vertices go by descending length of their rows (RankedMatrices), and each clique of the matrices' union is found once, at its
// last vertex, the root: the others are among the few neighbours before it, the universe U, numbered by rank. For each matrix
// and direction, a plane, U has |U| rows of |U| bits, and so has each role that not all vertices may take. Around a root a chain
// gives one role to the root and the others to vertices of U one after the other: candidates of later roles are ANDs of rows,
// the last two roles are counted by population counts. Symmetric roles are given to vertices in one order (`below`), times as
// many ways as there are (`factor`). Rows among the first vertices are picked from rows of bits over all of these (Heads).
// Bytes moved: for each root and plane |U| times the words of a row that U has vertices in, beyond the first ones lists. Deterministic.
// Sources: Chiba and Nishizeki 1985; Grochow and Kellis 2007 (orders of symmetric vertices).
#include <array>
#include <memory>

#include "count/ranked_matrices.h"
#include "ops/pick_bits.h"
#include "ops/set_ops.h"

namespace qe::eliminate {
namespace {

constexpr int kMostRoles = 8;
constexpr uint32_t kHead = 4096;  // of the first vertices there are rows of bits
constexpr uint64_t kPatience = 1 << 18;

// Roles by level: the root's first. planes[i][j], i < j: along which plane level j is linked with level i, seen from i.
struct Chain {
  int32_t roles[kMostRoles];
  int32_t planes[kMostRoles][kMostRoles];
  int32_t below[kMostRoles];  // bit j: level j's vertex is before that of this level
  uint64_t factor;
};

struct CliqueTask {
  const RankedMatrices* matrices;
  const Chain* chains;
  const Numbers* weights;  // of each role, by the vertices' given numbers; of those without 1 each
  int32_t n_roles, n_chains;
  uint32_t valued;  // bit k: role k has weights other than 0 and 1
  uint32_t unused;
  uint64_t sum[2];
};

using Planes = std::vector<int>;

// Rows of bits among the first vertices, of some planes.
class Heads {
 public:
  Heads(const RankedMatrices& of, const Planes& planes, Charge& charge, Patience& patience)
      : n_(std::min(of.n(), kHead)), words_((n_ + 63) / 64), bits_(static_cast<size_t>(of.n_planes())) {
    charge.add(planes.size() * n_ * words_ * sizeof(uint64_t));
    for (const int p : planes) {
      std::vector<uint64_t>& bits = bits_[static_cast<size_t>(p)];
      bits.assign(n_ * words_, 0);
      for (uint32_t u = 0; u < n_; ++u) {
        const size_t n = of.plane(p).before(u, n_);
        set_bits(bits.data() + u * words_, of.plane(p).begin(u), n, 0);
        patience.spend(n + 1);
      }
    }
  }
  uint32_t n() const { return n_; }
  const uint64_t* row(int p, uint32_t u) const { return bits_[static_cast<size_t>(p)].data() + u * words_; }

 private:
  uint32_t n_;
  size_t words_;
  std::vector<std::vector<uint64_t>> bits_;
};

// What chains go along: from the root, and between the others.
Planes planes_of(const CliqueTask& task, bool from_root) {
  Planes found;
  for (int32_t c = 0; c < task.n_chains; ++c)
    for (int i = from_root ? 0 : 1; i < (from_root ? 1 : task.n_roles); ++i)
      for (int j = i + 1; j < task.n_roles; ++j) found.push_back(task.chains[c].planes[i][j]);
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

struct Shares {
  const CliqueTask& task;
  const Planes from_root, between, lists;  // lists: `between`, both ways
  const Heads& heads;
};

class Cliques {
 public:
  Cliques(const Shares& of, const WorkQueue& queue, Control* control, Wide& total)
      : of_(of), task_(of.task), matrices_(*of.task.matrices), ops_(set_ops(current_isa())), pick_(pick_bits(current_isa())), patience_(queue, kPatience),
        charge_(control), total_(total), marks_((matrices_.n() + 63) / 64, 0), index_(matrices_.n()),
        rows_(static_cast<size_t>(matrices_.n_planes())), root_rows_(static_cast<size_t>(matrices_.n_planes())) {}

  static size_t bytes(const RankedMatrices& of) { return of.n() * sizeof(uint32_t) + of.n() / 8; }

  void root(uint32_t r) {
    gather(r);
    const auto n = static_cast<size_t>(task_.n_roles);
    if (universe_.size() + 1 >= n) {
      words_ = (universe_.size() + 63) / 64;
      sets_.reserve(n * n * words_, charge_);
      make_root_rows(r);
      bool made = false;
      for (int32_t c = 0; c < task_.n_chains; ++c) {
        const Chain& chain = task_.chains[c];
        const Wide own = weight(chain.roles[0], r);
        if (own == 0 || !begin(chain)) continue;
        if (!made) make_rows();
        made = true;
        total_ = plus(total_, times(times(Wide{chain.factor}, own), level(chain, 1, words_)));
      }
    }
    for (const uint32_t u : universe_) marks_[u >> 6] = 0;
  }

 private:
  Wide weight(int role, uint32_t u) const {
    const Numbers& of = task_.weights[role];
    return of.at ? of.get<Wide>(matrices_.vertex(u)) : Wide{1};
  }

  // Numbers the universe: all that a chain leads to from the root and that is before it.
  void gather(uint32_t r) {
    universe_.clear();
    for (const int p : of_.from_root) {
      const RankedRows& rows = matrices_.plane(p);
      const uint32_t* ids = rows.begin(r);
      const size_t n = rows.before(r, r);
      patience_.spend(n + 8);
      for (size_t k = 0; k < n; ++k) {
        uint64_t& word = marks_[ids[k] >> 6];
        const uint64_t bit = uint64_t{1} << (ids[k] & 63);
        if (word & bit) continue;
        word |= bit;
        universe_.push_back(ids[k]);
      }
    }
    if (of_.from_root.size() > 1) std::sort(universe_.begin(), universe_.end());
    for (size_t i = 0; i < universe_.size(); ++i) index_[universe_[i]] = static_cast<uint32_t>(i);
  }

  void make_root_rows(uint32_t r) {
    for (const int p : of_.from_root) {
      uint64_t* bits = root_rows_[static_cast<size_t>(p)].reserve(words_, charge_);
      std::fill_n(bits, words_, uint64_t{0});
      const uint32_t* ids = matrices_.plane(p).begin(r);
      const size_t n = matrices_.plane(p).before(r, r);
      for (size_t k = 0; k < n; ++k) set(bits, index_[ids[k]]);
    }
    for (int role = 0; role < task_.n_roles; ++role) {
      if (task_.weights[role].at == nullptr) continue;
      uint64_t* bits = role_rows_[static_cast<size_t>(role)].reserve(words_, charge_);
      std::fill_n(bits, words_, uint64_t{0});
      for (size_t i = 0; i < universe_.size(); ++i)
        if (weight(role, universe_[i]) != 0) set(bits, i);
    }
  }

  // The candidates of a chain's levels next to the root; false where a level has none.
  bool begin(const Chain& chain) {
    for (int j = 1; j < task_.n_roles; ++j) {
      const uint64_t* linked = root_rows_[static_cast<size_t>(chain.planes[0][j])].data();
      const uint64_t* admitted = task_.weights[chain.roles[j]].at ? role_rows_[static_cast<size_t>(chain.roles[j])].data() : linked;
      uint64_t* to = candidates(1, j);
      uint64_t any = 0;
      for (size_t w = 0; w < words_; ++w) any |= to[w] = linked[w] & admitted[w];
      if (any == 0) return false;
    }
    return true;
  }

  void make_rows() {
    const size_t n = universe_.size();
    const size_t heads = lower_bound(universe_.data(), n, of_.heads.n());
    masks_.clear();
    for (size_t i = 0; i < heads; ++i) {
      const uint32_t word = universe_[i] / 64;
      if (masks_.empty() || masks_.back().word != word) masks_.push_back({0, word, 0});
      masks_.back().mask |= uint64_t{1} << universe_[i] % 64;
      ++masks_.back().n;
    }
    for (const int p : of_.between) {
      uint64_t* rows = rows_[static_cast<size_t>(p)].reserve(n * words_, charge_);
      if (heads < n) std::fill_n(rows, n * words_, uint64_t{0});
      for (size_t i = 0; i < heads; ++i) pick_(of_.heads.row(p, universe_[i]), masks_.data(), masks_.size(), rows + i * words_);
      patience_.spend(heads * masks_.size() + n);
    }
    for (size_t i = heads; i < n; ++i)
      for (const int p : of_.lists) add_list(p, i);
  }

  // Of vertex i of U, which is behind the first vertices, its pairs with those before it along plane p, at both ends.
  void add_list(int p, size_t i) {
    const uint32_t u = universe_[i];
    const size_t length = matrices_.plane(p).before(u, u);
    uint32_t* found = found_.reserve(std::max(length, universe_.size()) + kSlack, charge_);
    const size_t n = ops_.filter(marks_.data(), matrices_.plane(p).begin(u), length, found);
    const int back = matrices_.turned(p);
    uint64_t* own = is_between(p) ? row(p, i) : nullptr;
    for (size_t k = 0; k < n; ++k) {
      const uint32_t other = index_[found[k]];
      if (own) set(own, other);
      if (is_between(back)) set(row(back, other), i);
    }
    patience_.spend(length + 8);
  }

  // The ways to give a chain's roles from level i on to candidates, of which only the first words have any.
  Wide level(const Chain& chain, int i, size_t words) {
    if (i == task_.n_roles - 2) return pairs(chain, i, words);
    Wide sum = 0;
    const uint64_t* own = candidates(i, i);
    for (size_t w = 0; w < words; ++w)
      for (uint64_t rest = own[w]; rest; rest &= rest - 1) {
        const size_t at = w * 64 + static_cast<size_t>(__builtin_ctzll(rest));
        if (!narrow(chain, i, at, words)) continue;
        const Wide found = level(chain, i + 1, words);
        sum = plus(sum, is_valued(chain.roles[i]) ? times(found, weight(chain.roles[i], universe_[at])) : found);
      }
    return sum;
  }

  // The candidates of later levels where level i's vertex is number `at`; false where one has none.
  bool narrow(const Chain& chain, int i, size_t at, size_t words) {
    patience_.spend(4 * words);
    for (int j = i + 1; j < task_.n_roles; ++j) {
      const uint64_t *linked = row(chain.planes[i][j], at), *before = candidates(i, j);
      uint64_t* to = candidates(i + 1, j);
      const bool below = chain.below[i] >> j & 1;
      const size_t end = below ? at / 64 + 1 : words;
      uint64_t any = 0;
      for (size_t w = 0; w < end; ++w) any |= to[w] = linked[w] & before[w];
      if (below) {
        to[at / 64] &= (uint64_t{1} << at % 64) - 1;
        std::fill(to + end, to + words, uint64_t{0});
      }
      if (any == 0) return false;
    }
    return true;
  }

  // The ways to give the last two roles of a chain to candidates.
  Wide pairs(const Chain& chain, int i, size_t words) {
    const int one = chain.roles[i], other = chain.roles[i + 1], plane = chain.planes[i][i + 1];
    const uint64_t *from = candidates(i, i), *to = candidates(i, i + 1);
    patience_.spend(words * 64);
    if (!is_valued(one) && !is_valued(other)) return ops_.pair_count(from, to, row(plane, 0), words_, 0, words, false);
    Wide sum = 0;
    for (size_t w = 0; w < words; ++w)
      for (uint64_t rest = from[w]; rest; rest &= rest - 1) {
        const size_t at = w * 64 + static_cast<size_t>(__builtin_ctzll(rest));
        const uint64_t* linked = row(plane, at);
        const Wide ends = is_valued(other) ? weights_of(other, to, linked, words) : Wide{ops_.and_count(to, linked, words)};
        sum = plus(sum, is_valued(one) ? times(ends, weight(one, universe_[at])) : ends);
      }
    return sum;
  }

  Wide weights_of(int role, const uint64_t* one, const uint64_t* other, size_t words) {
    Wide sum = 0;
    for (size_t w = 0; w < words; ++w)
      for (uint64_t rest = one[w] & other[w]; rest; rest &= rest - 1)
        sum = plus(sum, weight(role, universe_[w * 64 + static_cast<size_t>(__builtin_ctzll(rest))]));
    return sum;
  }

  uint64_t* row(int p, size_t i) { return rows_[static_cast<size_t>(p)].data() + i * words_; }
  uint64_t* candidates(int depth, int level) {
    return sets_.data() + static_cast<size_t>(depth * task_.n_roles + level) * words_;
  }
  bool is_valued(int role) const { return task_.valued >> role & 1; }
  bool is_between(int p) const { return std::binary_search(of_.between.begin(), of_.between.end(), p); }
  static void set(uint64_t* bits, size_t i) { bits[i >> 6] |= uint64_t{1} << (i & 63); }

  const Shares& of_;
  const CliqueTask& task_;
  const RankedMatrices& matrices_;
  const SetOps& ops_;
  const PickBits pick_;
  Patience patience_;
  Charge charge_;
  Wide& total_;
  std::vector<uint64_t> marks_;  // which vertices are in U; none between two roots
  std::vector<uint32_t> index_;  // their numbers there
  std::vector<uint32_t> universe_;
  std::vector<WordMask> masks_;  // those of U that are among the first vertices
  size_t words_ = 0;
  std::vector<Buffer<uint64_t>> rows_, root_rows_;       // by plane
  std::array<Buffer<uint64_t>, kMostRoles> role_rows_;   // which may take a role
  Buffer<uint64_t> sets_;                                // candidates by depth and level
  Buffer<uint32_t> found_;
};

void count(CliqueTask& task, Control* control) {
  const RankedMatrices& matrices = *task.matrices;
  const uint32_t n = matrices.n();
  Charge charge(control);
  Patience patience(control, kPatience);
  const Planes from_root = planes_of(task, true), between = planes_of(task, false);
  Planes lists = between;
  for (const int p : between) lists.push_back(matrices.turned(p));
  std::sort(lists.begin(), lists.end());
  lists.erase(std::unique(lists.begin(), lists.end()), lists.end());
  const int threads = workers_for(control, matrices.entries());
  charge.add(matrices.bytes() + static_cast<size_t>(threads) * Cliques::bytes(matrices));
  const Heads heads(matrices, between, charge, patience);
  const Shares shares{task, from_root, between, lists, heads};
  std::vector<Wide> sums(static_cast<size_t>(threads), 0);
  WorkQueue queue(control, n, 4);
  check(deal(threads, queue, [&](int worker) {
    Cliques cliques(shares, queue, control, sums[static_cast<size_t>(worker)]);
    for (uint64_t begin, end; queue.take(&begin, &end);)
      for (; begin < end; ++begin) cliques.root(static_cast<uint32_t>(begin));
  }));
  Wide total = 0;
  for (const Wide sum : sums) total = plus(total, sum);
  task.sum[0] = static_cast<uint64_t>(total);
  task.sum[1] = static_cast<uint64_t>(total >> 64);
}

}  // namespace
}  // namespace qe::eliminate

using namespace qe::eliminate;
using qe::Control;

// Ranks the vertices of matrices, and tells the bytes that takes and whether they are without loops and repeats; close it with
// qe_ranked_matrices_close. symmetric: of each matrix. n: vertices.
QE_API int32_t qe_ranked_matrices(const Matrix* matrices, const int32_t* symmetric, int32_t n_matrices, uint32_t n,
                                  RankedMatrices** ranked, uint64_t* bytes, int32_t* plain, Control* control) {
  return guarded([&] {
    auto made = std::make_unique<RankedMatrices>(matrices, symmetric, n_matrices, n, control);
    *bytes = made->bytes();
    *plain = made->plain();
    *ranked = made.release();
  });
}

QE_API void qe_ranked_matrices_close(RankedMatrices* ranked) { delete ranked; }

// See above. Any number of threads may ask at a time.
QE_API int32_t qe_cliques(CliqueTask* task, Control* control) {
  return guarded([&] { count(*task, control); });
}
