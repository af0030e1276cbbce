// `count` shortest walks from a start to each of all ends at once.
//
// A label is a trail (or walk) from the start. Labels are extended level by level, and one that comes to a vertex which
// has enough others, none of them longer, is left out: what it could go on to, they go on to as well. Of trails that is
// so unless they have taken what follows before. A relationship back over which a trail has just come is no matter: so
// many labels are kept that enough of them didn't come that way. Other such steps are noted. An end that may have a
// trail which was left out, and had to go on where another couldn't, is searched by itself (walk_lengths.cpp): one to
// which a noted step, behind a vertex where labels were left out, leads by fewer hops than its last path has.
//
// A trail comes to its vertex again only where that vertex has an earlier label that it goes on from, and few vertices
// have several; labels' ancestors are found by jumps (Myers 1983), so that none is followed back hop by hop.
#include "walk/walk_rows.h"

namespace qe::walks {
namespace {

class ToEachEnd final : public Rows {
 public:
  explicit ToEachEnd(const WalkPlan& plan) : Rows(plan), pair_(plan) {
    pair_.targets = plan.starts;  // there are some: each is given with its row
    between_ = least_lengths(pair_);
    arcs_.resize(static_cast<size_t>(plan.n_layers));
  }

  Progress fill(Sink& sink, Poll& poll) override {
    if (!found_ && !find(poll)) return Progress::kStopped;
    found_ = true;
    for (; given_ < labels_.size(); ++given_) {
      const Label& label = labels_[given_];
      if (!wanted(label)) continue;
      if (!sink.fits(label.depth)) return Progress::kPaused;
      if (sink.lists()) {
        path_.resize(label.depth);
        for (uint32_t at = static_cast<uint32_t>(given_), i = label.depth; i > 0; at = labels_[at].parent) {
          path_[--i] = labels_[at].edge;
        }
        poll.count(label.depth / 8);
      }
      sink.emit(row_, label.vertex, path_.data(), label.depth, false);
      if (poll.due(1) && !poll.check()) return Progress::kStopped;
    }
    while (searching_ || next_ < alone_.size()) {
      if (!searching_) {
        searching_ = between_->begin(row_, start_, alone_[next_++]);
        continue;
      }
      const Progress progress = between_->fill(sink, poll);
      if (progress != Progress::kDone) return progress;
      searching_ = false;
    }
    return Progress::kDone;
  }

  int64_t bytes() const override {
    return static_cast<int64_t>(labels_.capacity() * sizeof(Label) + steps_.capacity() * sizeof(Step) +
                                4 * touched_.capacity() + arc_bytes_) +
           (of_ ? static_cast<int64_t>(sizeof(OfVertex)) * plan_.vertex_count : 0) + between_->bytes();
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  struct Label {
    int64_t edge;     // that it ends with
    uint32_t vertex;
    uint32_t depth;   // hops
    uint32_t parent, jump;
    uint32_t before;  // the label that came to the vertex before this one
    uint32_t again;   // its ancestor that came to the vertex last
    uint32_t rank;    // how many labels the vertex had, but for the empty one
    uint32_t back;    // whether the relationship that it ends with can be taken from its vertex
  };
  struct OfVertex {
    uint32_t labels, back;  // how many, but for the empty one; the most that one relationship back has given
    uint32_t last;          // the last label, + 1
    uint32_t enough;        // hops of the last that is wanted, + 1
    uint32_t unsure;        // the least hops of a trail that may have been left out, + 1
    bool left_out;          // labels were
  };
  // A label that couldn't be extended to `to`: it had taken that relationship before, behind its ancestor at `depth`.
  struct Step {
    uint32_t label, depth, to;
  };

  void start() override {
    for (const uint32_t v : touched_) of_[v] = {};
    if (!labels_.empty()) {
      for (auto& each : arcs_) each.reset();
      arc_bytes_ = 0;
    }
    touched_.clear();
    labels_.clear();
    steps_.clear();
    alone_.clear();
    given_ = next_ = 0;
    found_ = searching_ = left_out_ = false;
  }

  OfVertex& of(uint32_t v) { return of_[v]; }

  bool wanted(const Label& label) const {
    if (label.depth < plan_.minimum || !end_.accepts(label.vertex) || unsure(label.vertex)) return false;
    const bool empty = label.vertex == start_ && plan_.minimum == 0 && label.depth > 0;  // that one came first
    return label.rank + empty < plan_.count;
  }

  bool unsure(uint32_t v) const { return of_[v].unsure && (!of_[v].enough || of_[v].unsure < of_[v].enough); }

  bool find(Poll& poll) {
    if (!of_) of_ = zeroed<OfVertex>(plan_.vertex_count);
    labels_.push_back({-1, start_, 0, 0, 0, kNone, kNone, 0, 0});
    of(start_).last = 1;
    touched_.push_back(start_);
    size_t begin = 0;
    for (int64_t depth = 0; begin < labels_.size() && depth < plan_.maximum; ++depth) {
      for (const size_t end = labels_.size(); begin < end; ++begin) {
        if (!extend(static_cast<uint32_t>(begin), poll)) return false;
      }
    }
    if (left_out_ && !steps_.empty() && !spread(poll)) return false;
    for (const uint32_t v : touched_) {
      if (end_.accepts(v) && unsure(v)) alone_.push_back(v);
    }
    return true;
  }

  bool extend(uint32_t number, Poll& poll) {
    const Label label = labels_[number];
    if (label.depth > 0 && !forward_.passes(label.vertex)) return true;
    if (labels_.size() >= kNone - forward_.degree(label.vertex)) {
      poll.status = kOutOfMemory;
      return false;
    }
    int64_t steps = 1;
    if (plan_.distinct_edges) note_taken(number, label, steps);
    forward_.any(label.vertex, [&](const WalkLayer& layer, uint32_t w, uint64_t position) {
      ++steps;
      const int64_t edge = taken_.empty() ? -1 : relationship_id(layer, label.vertex, w, position);
      for (const Taken& each : taken_) {
        if (each.edge != edge) continue;
        if (each.depth < label.depth) steps_.push_back({number, each.depth, w});
        return false;
      }
      arrive(number, layer, w, position, edge, steps);
      return false;
    });
    return !poll.due(steps) || poll.check();
  }

  // Collects the relationships that a trail has taken and that can be taken from its end.
  void note_taken(uint32_t number, const Label& label, int64_t& steps) {
    taken_.clear();
    for (uint32_t at = number; at != kNone; at = labels_[at].again) {
      const Label& there = labels_[at];
      if (there.back) taken_.push_back({there.edge, there.depth});
      if (there.depth < label.depth) taken_.push_back({labels_[ancestor(number, there.depth + 1)].edge, there.depth + 1});
      ++steps;
    }
  }

  void arrive(uint32_t parent, const WalkLayer& layer, uint32_t w, uint64_t position, int64_t edge, int64_t& steps) {
    OfVertex& to = of(w);
    const Label& above = labels_[parent];
    const bool trails = plan_.distinct_edges != 0;
    const bool back = trails && (layer.two_way || w == above.vertex);
    uint32_t* by_arc = back ? &arc(layer, position) : nullptr;
    const auto count = static_cast<uint64_t>(plan_.count);
    if (to.labels - to.back >= count || (by_arc && *by_arc >= count)) {
      left_out_ = to.left_out = true;
      return;
    }
    const auto number = static_cast<uint32_t>(labels_.size());
    const uint32_t depth = above.depth + 1;
    const uint32_t over = labels_[above.jump].jump;
    const bool even = above.depth - labels_[above.jump].depth == labels_[above.jump].depth - labels_[over].depth;
    if ((trails || plan_.lists) && edge < 0) edge = relationship_id(layer, above.vertex, w, position);
    Label label{edge, w, depth, parent, even ? over : parent, to.last - 1, kNone, to.labels, back};
    if (trails && to.last) label.again = occurrence(label, steps);
    if (!to.last) touched_.push_back(w);
    to.last = number + 1;
    const bool empty = w == start_ && plan_.minimum == 0;
    if (++to.labels + empty == count) to.enough = depth + 1;
    if (by_arc) to.back = std::max(to.back, ++*by_arc);
    labels_.push_back(label);
  }

  // How many labels came along an entry of a list.
  uint32_t& arc(const WalkLayer& layer, uint64_t position) {
    const auto place = static_cast<size_t>(&layer - forward_.layers);
    if (!arcs_[place]) {
      arcs_[place] = zeroed<uint32_t>(static_cast<int64_t>(layer.lists.n_entries));
      arc_bytes_ += 4 * layer.lists.n_entries;
    }
    return arcs_[place][position];
  }

  // The label's last ancestor that came to the same vertex, kNone where there is none.
  uint32_t occurrence(const Label& label, int64_t& steps) const {
    if (label.depth < 4 * of_[label.vertex].labels) {
      for (uint32_t at = label.parent;; at = labels_[at].parent) {
        ++steps;
        if (labels_[at].vertex == label.vertex) return at;
        if (labels_[at].depth == 0) return kNone;
      }
    }
    for (uint32_t at = label.before; at != kNone; at = labels_[at].before) {
      steps += 4;
      if (labels_[at].depth < label.depth && ancestor(label.parent, labels_[at].depth) == at) return at;
    }
    return kNone;
  }

  // The ancestor of a label, perhaps itself, of so many hops.
  uint32_t ancestor(uint32_t at, uint32_t depth) const {
    while (labels_[at].depth > depth) {
      at = labels_[labels_[at].jump].depth >= depth ? labels_[at].jump : labels_[at].parent;
    }
    return at;
  }

  // Sets `unsure` of all vertices to which noted steps lead, that are behind vertices where labels were left out.
  bool spread(Poll& poll) {
    std::vector<uint32_t> now, next;
    size_t step = 0;  // they were noted level by level
    for (uint32_t hops = 0; step < steps_.size() || !now.empty(); ++hops, now.swap(next), next.clear()) {
      if (now.empty()) hops = std::max(hops, labels_[steps_[step].label].depth + 1);
      if (hops > plan_.maximum) break;
      for (; step < steps_.size() && labels_[steps_[step].label].depth + 1 == hops; ++step) {
        bool matters = false;
        int64_t steps = 1;
        for (uint32_t at = steps_[step].label; labels_[at].depth >= steps_[step].depth && !matters;
             at = labels_[at].parent) {
          ++steps;
          matters = of(labels_[at].vertex).left_out;
          if (labels_[at].depth == 0) break;
        }
        if (matters) set_unsure(steps_[step].to, hops, now);
        if (poll.due(steps) && !poll.check()) return false;
      }
      for (const uint32_t v : now) {
        if (!forward_.passes(v)) continue;
        int64_t steps = 1;
        forward_.any(v, [&](const WalkLayer&, uint32_t w, uint64_t) {
          ++steps;
          set_unsure(w, hops + 1, next);
          return false;
        });
        if (poll.due(steps) && !poll.check()) return false;
      }
    }
    return true;
  }

  void set_unsure(uint32_t v, uint32_t hops, std::vector<uint32_t>& queue) {
    if (of(v).unsure) return;
    of(v).unsure = hops + 1;
    queue.push_back(v);
  }

  struct Taken {
    int64_t edge;
    uint32_t depth;
  };

  WalkPlan pair_;
  std::unique_ptr<Rows> between_;
  std::vector<Label> labels_;
  std::vector<Step> steps_;
  std::vector<Taken> taken_;  // of the label that is extended
  std::vector<uint32_t> touched_, alone_;  // vertices with labels; ends that are searched by themselves
  std::vector<int64_t> path_;
  std::vector<Zeroed<uint32_t>> arcs_;  // by layer
  Zeroed<OfVertex> of_;
  size_t arc_bytes_ = 0;
  size_t given_ = 0, next_ = 0;  // labels that were given; of alone_
  bool found_ = false, searching_ = false, left_out_ = false;
};

}  // namespace

std::unique_ptr<Rows> to_each_end(const WalkPlan& plan) { return std::make_unique<ToEachEnd>(plan); }

}  // namespace qe::walks
