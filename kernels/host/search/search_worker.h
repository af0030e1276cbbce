// One worker of a search: the depth-first walk over the levels, with all of its scratch memory.
//
// Problem: enumerate or count the embeddings of a SearchPlan below given roots. Preconditions: neighbour lists
// ascending; the plan's arrays outlive the worker. Memory: a buffer as long as the shortest operand for each level, one
// for each view that is a union. Bytes moved: the operands of each intersection, once. Deterministic for one unit of work.
// Counts are 64-bit and checked; sums over units are 128-bit.
// Source: generic join (Ngo et al. 2018) vertex by vertex, with the input-set cache of GraphMatch §4.2 as views.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/charged_memory.h"
#include "ops/set_ops.h"
#include "plan/search_plan.h"
#include "search/edge_cursor.h"

namespace qe {

class SearchRun;
struct Chunk;

constexpr size_t kBindCost = 16;  // of binding one vertex, in ids read: the unit of Worker::spend

constexpr size_t kRecallVertices = 12;       // of which a count that is recalled depends
constexpr size_t kReachWords = 1024 / 64;    // of the filter of a reach
constexpr uint64_t kNothingRecalled = ~uint64_t{0};

constexpr size_t kLongList = 64;    // of which on a list is worth a place among
constexpr size_t kHubPlaces = 4096;  // so many of one view

inline uint64_t times(uint64_t a, uint64_t b) {
  uint64_t product;
  if (__builtin_mul_overflow(a, b, &product)) throw Halt{kOverflow};
  return product;
}

inline void add_to(uint64_t& sum, uint64_t more) {
  if (__builtin_add_overflow(sum, more, &sum)) throw Halt{kOverflow};
}

// n (n - 1) … , k factors.
inline uint64_t falling(uint64_t n, size_t k) {
  if (n < k) return 0;
  uint64_t product = 1;
  for (size_t i = 0; i < k; ++i) product = times(product, n - i);
  return product;
}

// Sets of k out of n.
inline uint64_t combinations(uint64_t n, size_t k) {
  if (n < k) return 0;
  unsigned __int128 product = 1;
  const uint64_t fewer = std::min<uint64_t>(k, n - k);  // the numbers on the way grow up to that
  for (uint64_t i = 0; i < fewer; ++i) {
    product = product * (n - i) / (i + 1);
    if (product > UINT64_MAX) throw Halt{kOverflow};
  }
  return static_cast<uint64_t>(product);
}

struct Set {
  const uint32_t* data;
  size_t n;
};

// The part of a set that is before `end`.
inline Set before(Set set, uint32_t end) {
  if (set.n == 0 || set.data[set.n - 1] < end) return set;
  return {set.data, lower_bound(set.data, set.n, end)};
}

inline size_t rounded(size_t words) { return (words + kRowBlock - 1) / kRowBlock * kRowBlock; }

// The first whole cache line in a buffer.
inline uint64_t* aligned(uint64_t* words) {
  return reinterpret_cast<uint64_t*>((reinterpret_cast<uintptr_t>(words) + 63) & ~uintptr_t{63});
}

class Worker {
 public:
  explicit Worker(SearchRun& run);

  // Unseeded: binds level 0 to root and walks on, or counts component `component` below it.
  void walk_root(uint32_t root);
  uint64_t count_root(const Node& branch, uint32_t root);
  uint64_t count(const Node& node);

  // Seeded: binds the seeds of one input row and walks on; returns the count where nothing is enumerated.
  uint64_t search_row(int64_t row);
  bool bind_seeds(int64_t row);
  void prefetch_seeds(int64_t row, int64_t end) const;  // asks for the lists of the rows after that one

  // Breadth first (search_extend.cpp): extends rows of a frontier by one level.
  void restore(const int64_t* values, size_t stride, int depth);
  uint64_t count_extensions(int level);
  void fill_extensions(int level, size_t begin, size_t end, int64_t* out);
  uint64_t count_completions();

  // Takes only every parts-th candidate of the split level from now on, beginning with `part`.
  void take_part(int level, int64_t part, int64_t parts);

  // From now on, stops (throws Halt with kTrialOver) after so much work, in ids read; INT64_MAX: never.
  void allow_work(int64_t work);
  int64_t work_left() const { return allowance_ + budget_; }

  // Stops (throws Halt) when the run must. `trial_end`: the time (ns) at which this worker gives up, 0 for never.
  void poll();
  int64_t trial_end = 0;
  Chunk* chunk = nullptr;  // rows emitted so far, not yet pushed

 private:
  static constexpr size_t kNear = 4, kFar = 12;

  struct Partial {  // the intersection of a level's first operands
    Set set{nullptr, 0};
    uint64_t stamp = 0;
    const uint32_t* kept = nullptr;  // where the candidates were that it is: they move where their level is searched again
    Buffer<uint32_t> buffer;
  };
  struct Marks {  // a set as a bitmap over the level's [lo, hi)
    Buffer<uint64_t> bits;
    Buffer<uint32_t> members;
    size_t n = 0;
    uint64_t stamp = 0;   // of the marked set, 0 for none
    uint64_t wanted = 0;  // stamp of the set that the next is about
    size_t spent = 0;     // ids of that set that merging has read so far
  };
  struct Frame {
    Set kept{nullptr, 0};  // candidates before bitset, different, pairs and conditions
    size_t at = 0;         // index in kept of the vertex that the level is bound to
    Buffer<uint32_t> buffers[2];
    std::vector<Partial> partials;
    Marks marks;
  };
  struct Probe {
    const uint64_t* bits;  // null: merge
    bool older_marked;     // look up the newest operand's members in it, else the older part's
    uint32_t end = kNoVertex;  // it holds ids before that, and no member is another
  };
  struct Remembered {
    uint64_t key, count;
  };
  struct Memo {
    Buffer<Remembered> table;
    size_t size = 0;  // of the table, a power of two, once it is there
    uint64_t asked = 0, found = 0;
  };
  struct Counted {
    uint64_t stamp;  // of what it was counted for
    uint64_t count;
  };
  struct Table {  // counts of a component by the vertex of the branch above it (search_tables.cpp)
    Buffer<Counted> counts;
    size_t asked = 0;  // before it was made
  };
  struct Column {  // a component's table as things stand; null: it has none
    Counted* counts;
    uint64_t stamp;
  };
  struct Pushed {  // vertices of a level with weights
    Buffer<uint32_t> ids;
    Buffer<uint64_t> weights;
    Buffer<uint64_t> sums;
    size_t came = 0, met = 0;  // ids that were added up so far, and different ones each time
  };
  struct Recalled {  // a line of cache
    uint64_t among;  // which of a node's `others` follow its near vertices; where they are alike, how many vertices
    uint64_t count;
    uint32_t vertices[kRecallVertices];
  };
  struct Reach {  // what can be below near vertices: a filter of bits
    uint32_t near[6];
    bool known;
    uint64_t bits[kReachWords];

    static uint32_t bit(uint32_t v) { return v * 0x9E3779B1u >> 22; }
    void add(uint32_t v) { bits[bit(v) >> 6] |= uint64_t{1} << (bit(v) & 63); }
    bool has(uint32_t v) const { return bits[bit(v) >> 6] >> (bit(v) & 63) & 1; }
  };
  struct Recall {
    Buffer<Recalled> table;
    Buffer<Reach> reaches;
    uint64_t asked = 0, found = 0;
    uint64_t read = 0;    // ids, to find reaches
    uint64_t enough = 0;  // so many counts may be missed before the tables grow
  };
  struct Words {  // a range of a bitmap's words
    size_t begin, end;
  };
  struct LocalLevel {
    size_t at = 0;  // index in the universe of the vertex that the level is bound to
    Buffer<uint64_t> kept;
    Words words{0, 0};
  };
  struct Local {  // bitmaps over the candidates of one branch, its universe
    Set universe{nullptr, 0};
    size_t words = 0;
    uint32_t epoch = 0;
    Buffer<uint64_t> rows;       // for each kind of view and vertex of the universe: the view within the universe
    Buffer<uint32_t> row_epoch;  // when the row was made
    std::vector<uint32_t> made;  // for each kind of view: when all of its rows were
    Buffer<uint64_t> bits;       // the universe over the level's [lo, hi)
    Buffer<uint32_t> index;      // of a vertex in the universe
    Buffer<uint32_t> common;
    std::vector<LocalLevel> levels;
    uint32_t first_word = 0;
  };
  struct Pair {  // what is left of an intersection: the older part and the newest operand
    Set older, newest;
    uint64_t stamp;  // of the older part before its last bounds
    const Operand* last = nullptr;  // that the newest one is of
  };
  struct Cut {  // where the view of a vertex lies in its whole list
    uint32_t vertex, n;
    const uint32_t* data;
  };
  struct Cuts {  // of the views of one kind
    Buffer<Cut> places;  // found by the low bits of the id less `base`
    size_t asked = 0;    // before they were made
    uint32_t base = 0, mask = 0;
    bool all = false;  // each vertex has a place of its own
  };
  struct RowSlot {
    uint32_t vertex;
    uint32_t saved;  // ids that its bitmap would have saved reading so far
    size_t row;      // where its bitmap begins, kNoRow before it is made
  };
  struct ViewState {
    Set set{nullptr, 0};
    uint64_t stamp = 0;
    Buffer<uint32_t> buffers[2];
    Buffer<RowSlot> slots;  // likewise: bitmaps of the lists of vertices that come up often, over [lo, hi)
    Buffer<uint64_t> rows;
    size_t rows_used = 0;
  };
  struct Head {  // the place of a row of bits
    uint32_t vertex;
    uint32_t spent;  // how often another vertex wanted the place
    uint32_t words;  // of the row, 0 before it is made
    uint32_t tail;   // ids of the list that the row holds, 0: all; before it is made, kNoVertex: it wouldn't pay
    uint32_t block, blocks;  // where there is room for it, and how much
  };
  struct Heads {  // rows for the heads of lists, of one kind of view (search_heads.cpp)
    Buffer<Head> places;  // found by the low bits of the id less `base`
    Buffer<uint64_t> rows;
    uint32_t first = 0;  // the id of a row's first bit
    uint32_t base = 0, mask = 0;
    size_t row_words = 0;  // at most
    uint32_t block = 0, blocks = 0;  // of `rows`: taken, and there

    Head& place(uint32_t x) { return places.data()[(x - base) & mask]; }
    const Head* find(uint32_t x) {
      if (places.capacity() == 0) return nullptr;
      const Head& at = place(x);
      return at.vertex == x && at.words > 0 ? &at : nullptr;
    }
    uint64_t* row(const Head& at) { return aligned(rows.data()) + at.block * kRowBlock; }
    uint32_t end(const Head& at) const { return first + 64 * at.words; }  // the row has bits for ids before that
  };
  struct Ends {  // scratch of count_ends
    Buffer<uint32_t> share, staying, counts, places;
    Buffer<uint64_t> products;
    Buffer<BitRow> rows;
    Buffer<uint64_t> bits;  // all 0 between uses
  };
  struct WedgeRows {  // scratch of add_wedge_rows
    Buffer<uint64_t> digits;
    Buffer<uint32_t> counts;
    Buffer<Set> rest;  // of lists: what has no row
    size_t n = 0;
  };
  struct Stride {
    size_t first, step;
  };

  const LevelInfo& info(int level) const { return plan_.levels[static_cast<size_t>(level)]; }
  Frame& frame(int level) { return frames_[static_cast<size_t>(level)]; }
  uint32_t vertex(int level) const { return static_cast<uint32_t>(value_[level]); }

  void bind(int level, uint32_t vertex) {
    value_[level] = vertex;
    stamp_[level] = ++clock_;
  }
  void spend(size_t cost) {
    budget_ -= static_cast<int64_t>(cost);
    if (budget_ < 0) poll();
  }
  Stride stride(int level) const {
    return level == split_level_ ? Stride{static_cast<size_t>(part_), static_cast<size_t>(parts_)} : Stride{0, 1};
  }

  // Asks for the lists of the set's vertices after the i-th, which the next iterations read.
  void prefetch(const LevelInfo& level, const Set& set, size_t i) const {
    for (int index : level.feeds) prefetch_list(match_.lists[index], set, i);
  }

  void prefetch_list(const Pcsr& list, const Set& set, size_t i) const {
    if (i + kNear < set.n) prefetch_list(list, set.data[i + kNear], i + kFar < set.n ? set.data[i + kFar] : -1);
  }

  // The same for the lists of one view alone.
  void prefetch(const View& view, const Set& set, size_t i) const {
    for (int k = 0; k < view.lists.count; ++k) prefetch_list(match_.lists[match_.list_ids[view.lists.first + k]], set, i);
  }

  // Asks for the list of a vertex that is read soon, and where that of a later one is; -1: none.
  static void prefetch_list(const Pcsr& list, int64_t near, int64_t far) {
    if (list.form != kDense) return;
    if (has_columns(list)) {
      __builtin_prefetch(list.neighbours + locate(list, static_cast<uint32_t>(far)).begin);
      return;
    }
    if (far >= 0) __builtin_prefetch(list.offsets + (far - list.lo));
    if (near >= list.lo && near < list.hi) __builtin_prefetch(list.neighbours + list.offsets[near - list.lo]);
  }

  // Sets (search_sets.cpp)
  Set view(int index);
  Set neighbours(const View& view, ViewState& state, uint32_t v);
  Set cut_list(const View& view, const Pcsr& list, uint32_t v, uint32_t lo, uint32_t hi);
  void make_cuts(const View& view, Cuts& cuts);
  Set unite_lists(const View& view, ViewState& state, uint32_t v, uint32_t lo, uint32_t hi);
  Set operand(const Operand& operand, const LevelInfo& level);
  Set cut(Set set, From cut, int level);
  Set bounded(Set set, const std::vector<int>& less, const std::vector<int>& greater, int besides = -1);
  uint64_t stamp_of(int level) const { return level < 0 ? 1 : stamp_[level]; }
  const Set& partial(int level, size_t k);
  bool pair(int level, Pair* pair);
  bool pair_beside_seed(const LevelInfo& of, Pair* pair);
  Set older_part(const LevelInfo& level, const Pair& pair);
  Set cut_part(const LevelInfo& level);
  const uint64_t* marks(int level, const Pair& pair);
  Probe probe(int level, const Pair& pair);
  const uint64_t* hub_row(const Operand& operand, Set list, size_t saved);
  Set within_ranges(const PlanLevel& level, Set set, Frame& to);
  Set candidates(int level);
  Set admitted(int level);
  size_t count_candidates(int level);
  size_t forbidden(int level, const Pair& pair);

  // Filters (search_filters.cpp)
  bool admits(int level, uint32_t vertex);
  bool passes(int level, uint32_t vertex);
  Set passing(int level, Set all);
  size_t keep_condition(int level, const PlanCondition& condition, const uint32_t* ids, size_t n, uint32_t* out);
  bool passes_rest(int level);
  bool has_edge(const PlanSource& source, uint32_t to) const;

  // Relationships (search_edges.cpp)
  template <typename Visit>
  void each_edge(int level, Visit visit);
  template <typename Visit>
  void each_alike(int level, Visit visit);
  uint64_t count_edges(int level);
  uint64_t count_spokes(const Node& branch);

  // Binds a level to each of its candidates that passes its tests, of them a part of those of the split level.
  template <typename Visit>
  void each_passing(int level, Set set, Visit visit) {
    const Stride by = stride(level);
    const Set some = passing(level, set);
    const bool kept = info(level).base;
    size_t at = 0;  // in the candidates
    for (size_t i = by.first; i < some.n; i += by.step) {
      spend(kBindCost);
      prefetch(info(level), some, i);
      if (kept)
        while (set.data[at] != some.data[i]) ++at;
      frame(level).at = at;
      bind(level, some.data[i]);
      visit();
    }
  }

  // Walking (search_walk.cpp)
  void walk(int level);
  void walk_vertices(int level);
  void walk_below(int level);
  void emit_prefix();
  void emit(uint64_t count);
  void emit_all(int level, Set set);

  // Counting (search_count.cpp)
  uint64_t count_anew(const Node& node);
  uint64_t count_branch(const Node& node);
  template <typename Anew>
  uint64_t remembered(const Node& node, Anew anew);
  void size_memo(const Node& node, Memo& memo) const;
  uint64_t count_children(const std::vector<Node>& children);
  uint64_t count_group(const Node& node);
  bool any(const Node& node);
  bool any_anew(const Node& node);

  // Counts looked up by the branch's vertex (search_tables.cpp)
  Column column(const Node& child, size_t entries, size_t look_ups);
  void fill_columns(const Node& node, size_t look_ups, Column* columns);
  uint64_t product_at(const Node& node, const Column* columns, uint32_t x, int besides);
  uint64_t sum_by_tables(const Node& node, Set set);
  Pushed& pushed(int level, bool sums);
  uint64_t push_on(const Node& node, const Column* columns, size_t n);
  const View* plain_view(int level, int from) const;
  Set list_at(const View& view, uint32_t v);
  uint64_t push(const Node& node, int from, size_t n);

  // Counts that depend on few of the vertices above (search_recall.cpp)
  template <typename Anew>
  uint64_t recalled(const Node& node, Anew anew);
  uint64_t recalled_count(const Node& node);
  bool recalled_any(const Node& node);
  bool make_recall(Recall& recall);
  const Reach& reach_of(const Node& node, Recall& recall, const uint32_t* near, uint64_t hash);
  size_t find_reached(const Node& node, int level, size_t most);

  // Rows of bits for the heads of lists (search_heads.cpp)
  Heads& heads(const View& view);
  void make_head(const View& view, uint32_t x, Set list);
  const uint64_t* whole_row(const Operand& operand, Set list, uint32_t* end);

  // Counting ends (search_ends.cpp)
  uint64_t count_ends(const Node& branch);
  Set own_share(int level, Set set);
  Set staying_part(int level, const Node& child);
  uint64_t* end_marks(const View& view);
  Set meeting(const View& view, Set set, Set staying);
  void count_common(const View& view, Set staying, Set set, uint32_t* counts);
  void count_column(const View& view, Set staying, Set set, uint32_t* counts);
  void count_marked(const View& view, Set staying, Set set, uint32_t* counts);
  void count_each(const View& view, Set staying, Set set, uint32_t* counts);

  // Counting by wedges (search_wedge.cpp)
  uint64_t count_wedge(const Node& node);
  const Operand& operand_at(int d, int from) const;
  Set wedge_list(const Operand& operand, uint32_t v, PlanRange bounds);
  PlanRange wedge_bounds(int d) const;
  bool add_wedge_rows(int d, int from, Set set, uint64_t* pairs, size_t* read);
  uint64_t add_wedge_list(Set list, uint32_t end, uint32_t lo, size_t* read);
  uint64_t add_wedges(int d, int from, Set set, bool count, size_t* read);
  void clear_wedges(int d, int from, Set set, size_t read);
  std::vector<uint32_t> take_forbidden(int d);

  // Counting within one branch's candidates (search_local.cpp)
  bool begin_local(int level, Set universe);
  void end_local();
  uint64_t count_local(const Node& node, Set universe);
  uint64_t local_children(const std::vector<Node>& children);
  uint64_t local_branch(const Node& node);
  uint64_t local_size(int level);
  const uint64_t* local_row(int view);
  void make_local_rows(int view);
  int local_operands(int level, const uint64_t** operands, Words* words);
  const uint64_t* local_intersection(int level, Words* words);
  bool any_children(const std::vector<Node>& children);

  SearchRun& run_;
  const SearchPlan& plan_;
  const MatchPlan& match_;
  const SetOps& ops_;
  Charge charge_;
  std::vector<Frame> frames_;
  std::vector<ViewState> views_;
  std::vector<EdgeCursor> cursors_;  // two a level
  Buffer<uint32_t> scratch_;
  std::vector<Memo> memos_;
  std::vector<Table> tables_;
  std::vector<Pushed> pushed_;  // by level
  std::vector<Recall> recalls_;
  std::vector<std::vector<uint32_t>> reached_;  // scratch of find_reached
  Local local_;
  std::vector<Heads> heads_;  // by the kind of view
  std::vector<Cuts> cuts_;    // likewise
  Ends ends_;
  Buffer<uint32_t> wedges_;  // for each vertex of a level's [lo, hi): in how many lists it came; all 0 between uses
  WedgeRows wedge_rows_;
  int64_t value_[kMaxLevels];
  uint64_t stamp_[kMaxLevels];
  uint64_t held_[kMaxLevels];  // of a seed: its stamp when it was bound to another vertex than in the row before
  uint64_t clock_ = 1;
  int64_t budget_ = 0;              // work until the next poll
  int64_t allowance_ = INT64_MAX;  // and after that, until this worker gives up
  int64_t row_ = 0;
  int bound_depth_ = 0;  // levels that `restore` has bound
  int split_level_ = -1;
  int64_t part_ = 0, parts_ = 1;
};

}  // namespace qe
