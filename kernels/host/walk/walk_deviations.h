// The trails between two vertices, shortest first, one after another, by how they leave those before.
//
// All trails of one hop and more are a set; its shortest splits it. What is left are, for each vertex of that trail, the
// trails that have come as it did and go on otherwise, or go on at all behind its end: sets with a shortest trail each,
// and the shortest of these is next (Yen 1971, Lawler 1972). Each takes one breadth-first search back from the end.
#pragma once
#include <vector>

#include "walk/walk_levels.h"

namespace qe::walks {

class Deviations {
 public:
  explicit Deviations(int64_t vertex_count) : vertex_count_(vertex_count) {}

  void begin(const Hops& forward, const Hops& backward, uint32_t start, uint32_t end, int64_t maximum);

  // Sets `edges` to the next trail's relationships; `over`: there is none. False: stopped.
  bool next(Poll& poll, std::vector<int64_t>& edges, bool& over);

  int64_t bytes() const {
    return (hops_ ? 5 * vertex_count_ : 0) + kept_ + 4 * static_cast<int64_t>(queue_.capacity()) +
           static_cast<int64_t>(sizeof(Head) * heads_.capacity() + sizeof(Way) * ways_.capacity());
  }

 private:
  struct Set {  // trails that begin with the first `fixed` relationships of `edges`, which is the shortest of them
    std::vector<int64_t> edges;
    std::vector<uint32_t> vertices;  // one more than relationships
    size_t fixed = 0;
    std::vector<int64_t> excluded;  // how none of them goes on

    int64_t bytes() const {
      return static_cast<int64_t>(sizeof(Set) + 8 * (edges.size() + excluded.size()) + 4 * vertices.size());
    }
  };
  struct Head {
    int64_t edge;
    uint32_t vertex;
  };
  struct Way {  // over `edge` and then way number `on`, at last over `last`; `second`: the vertex has another, too
    int64_t edge, last;
    uint32_t vertex, on;
    bool second;
  };

  bool add(const Set& from, size_t fixed, std::vector<int64_t> excluded, Poll& poll);
  bool complete(Set& set, const std::vector<Head>& heads, Poll& poll, bool& found);
  bool complete_either_way(Set& set, const std::vector<Head>& others, Poll& poll, bool& found);
  bool come_back(Set& set, Poll& poll, bool& found);
  bool build(Set& set, const Head& head);
  bool is_free(uint32_t v, const WalkLayer& layer, uint32_t w, uint64_t position) const;
  static bool shorter(const Set& a, const Set& b) { return a.edges.size() > b.edges.size(); }

  int64_t vertex_count_;
  const Hops* forward_ = nullptr;
  const Hops* backward_ = nullptr;
  uint32_t end_ = 0;
  int64_t maximum_ = 0, kept_ = 0;
  std::vector<Set> sets_;  // a heap
  Set last_;
  bool begun_ = false;
  std::vector<int64_t> taken_;   // ascending: what no trail of the set may take again
  std::vector<Head> heads_;
  std::vector<Way> ways_;
  uint32_t blocked_ = UINT32_MAX;  // a vertex that none may come to
  std::vector<uint32_t> queue_;
  Zeroed<uint32_t> hops_;        // to the end, + 1
  Zeroed<uint8_t> marks_;        // 1: of the fixed part, 2: a vertex behind a way to go on
};

}  // namespace qe::walks
