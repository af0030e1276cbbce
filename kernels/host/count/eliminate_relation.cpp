// Relationships as matrices: the lists of several types and directions merged row by row; of several relations the pairs
// that all of them link, with the product of their numbers. And sums along lists without a matrix.
//
// A matrix is made in two passes over the same lists: rows are counted, the caller allocates exactly, rows are filled. Bytes
// moved: the lists twice, the result once. A row is merged from its runs pair by pair; what two relations of one list a vertex
// each have in common is intersected (set_ops). Deterministic.
#include <algorithm>
#include <vector>

#include "count/eliminate.h"
#include "ops/set_ops.h"
#include "qe/plan_edges.h"

namespace qe::eliminate {

// A relation: parts [first, first + count), whose numbers of relationships multiply to the power of `exponent`.
struct Factor {
  int32_t first, count, exponent;
};

// The product of some relations over n vertices, mirrored by qengine/exec/common/relations.py.
struct ProductRelation {
  const Part* parts;
  const Factor* factors;
  int32_t n_factors;
  uint32_t n;
};

namespace {

constexpr uint64_t kRows = 16;

bool filtered(const Part& part) { return part.admitted != nullptr || part.skip_loops != 0; }

// The local id of the relationship that is entry e of u's list. Where it is searched for, no two join the same vertices.
uint64_t id_of(const Part& part, uint32_t u, uint64_t e) {
  if (part.ids == kPlace) return e;
  if (part.ids == kEdgeIds) return part.lists.edge_ids[e];
  const uint32_t v = part.lists.neighbours[e];
  const Slice back = edges_between(part.out, v, u);
  if (part.ids == kBackward || back.begin < back.end) return back.begin;
  return edges_between(part.out, u, v).begin;
}

bool admits(const Part& part, uint32_t u, uint64_t e) {
  if (part.skip_loops && part.lists.neighbours[e] == u) return false;
  return part.admitted == nullptr || part.admitted[id_of(part, u, e)];
}

uint64_t length(const Part& part, uint32_t u) {
  const Slice at = locate(part.lists, u);
  if (!filtered(part)) return at.end - at.begin;
  uint64_t n = 0;
  for (uint64_t e = at.begin; e < at.end; ++e) n += admits(part, u, e);
  return n;
}

uint32_t* append(const Part& part, uint32_t u, uint32_t* to) {
  const Slice at = locate(part.lists, u);
  const uint32_t* ids = part.lists.neighbours;
  if (!filtered(part)) return std::copy(ids + at.begin, ids + at.end, to);
  for (uint64_t e = at.begin; e < at.end; ++e)
    if (admits(part, u, e)) *to++ = ids[e];
  return to;
}

// Merges neighbouring runs [bounds[k], bounds[k + 1]) until one is left.
void merge_runs(std::vector<uint32_t*>& bounds) {
  while (bounds.size() > 2) {
    size_t kept = 1;
    for (size_t k = 0; k + 2 < bounds.size(); k += 2) {
      std::inplace_merge(bounds[k], bounds[k + 1], bounds[k + 2]);
      bounds[kept++] = bounds[k + 2];
    }
    if (bounds.size() % 2 == 0) bounds[kept++] = bounds.back();
    bounds.resize(kept);
  }
}

uint64_t entries_of(const Part* parts, int32_t n_parts) {
  uint64_t entries = 0;
  for (int32_t k = 0; k < n_parts; ++k) entries += parts[k].lists.n_entries;
  return entries;
}

// Calls each(u) for all rows, many at once.
template <typename Each>
Status each_row(uint32_t n, uint64_t entries, Control* control, Each&& each) {
  return eliminate::each_row(workers_for(control, entries + n), control, n, kRows, each);
}

// Turns lengths, each one place further, into offsets.
void add_up(uint64_t* offsets, uint32_t n) {
  offsets[0] = 0;
  for (uint32_t u = 0; u < n; ++u) offsets[u + 1] += offsets[u];
}

// One worker's rows of a product of relations: each pair once, with its number.
class ProductRows {
 public:
  ProductRows(const Part* parts, const Factor* factors, int32_t n_factors)
      : parts_(parts), factors_(factors), n_factors_(n_factors) {}

  // Makes the row of u.
  void make(uint32_t u) {
    for (int32_t f = 0; f < n_factors_; ++f) {
      merge(factors_[f], u);
      if (f == 0) take(factors_[f].exponent);
      else meet(factors_[f].exponent);
    }
  }
  const std::vector<uint32_t>& ids() const { return ids_; }
  const std::vector<Narrow>& numbers() const { return numbers_; }

 private:
  void merge(const Factor& factor, uint32_t u) {
    uint64_t room = 0;
    for (int32_t k = 0; k < factor.count; ++k) room += length(parts_[factor.first + k], u);
    merged_.resize(room);
    std::vector<uint32_t*> bounds{merged_.data()};
    for (int32_t k = 0; k < factor.count; ++k) {
      uint32_t* end = append(parts_[factor.first + k], u, bounds.back());
      if (end > bounds.back()) bounds.push_back(end);
    }
    merge_runs(bounds);
  }

  // Calls each(id, its power) for the merged ids.
  template <typename Each>
  void each_merged(int32_t exponent, Each&& each) const {
    for (size_t i = 0; i < merged_.size();) {
      const size_t first = i;
      while (i < merged_.size() && merged_[i] == merged_[first]) ++i;
      Narrow number = 1;
      for (int32_t k = 0; k < exponent; ++k) number = times<Narrow>(number, i - first);
      each(merged_[first], number);
    }
  }
  void take(int32_t exponent) {
    ids_.clear();
    numbers_.clear();
    each_merged(exponent, [&](uint32_t id, Narrow number) {
      ids_.push_back(id);
      numbers_.push_back(number);
    });
  }
  void meet(int32_t exponent) {
    size_t at = 0, kept = 0;
    each_merged(exponent, [&](uint32_t id, Narrow number) {
      while (at < ids_.size() && ids_[at] < id) ++at;
      if (at == ids_.size() || ids_[at] != id) return;
      ids_[kept] = id;
      numbers_[kept++] = times(numbers_[at++], number);
    });
    ids_.resize(kept);
    numbers_.resize(kept);
  }

  const Part* parts_;
  const Factor* factors_;
  int32_t n_factors_;
  std::vector<uint32_t> merged_, ids_;
  std::vector<Narrow> numbers_;
};

// What two relations have in common that are one list a vertex each, without repeats: numbers are all 1.
class CommonRows {
 public:
  CommonRows(const Part& one, const Part& other) : one_(one), other_(other), ops_(set_ops(current_isa())) {}

  static bool fit(const Part* parts, const Factor* factors, int32_t n_factors) {
    const auto fits = [&](const Factor& factor) {
      const Part& part = parts[factor.first];
      return factor.count == 1 && !filtered(part) && !part.repeats;
    };
    return n_factors == 2 && fits(factors[0]) && fits(factors[1]);
  }
  uint64_t count(uint32_t u) const {
    const Slice a = locate(one_.lists, u), b = locate(other_.lists, u);
    return intersect_count(ops_, one_.lists.neighbours + a.begin, a.end - a.begin, other_.lists.neighbours + b.begin,
                           b.end - b.begin);
  }
  void fill(uint32_t u, uint32_t* to) {
    const Slice a = locate(one_.lists, u), b = locate(other_.lists, u);
    const size_t na = a.end - a.begin, nb = b.end - b.begin;
    found_.resize(std::max(found_.size(), std::min(na, nb) + kSlack));
    const size_t n =
        intersect(ops_, one_.lists.neighbours + a.begin, na, other_.lists.neighbours + b.begin, nb, found_.data());
    std::copy_n(found_.data(), n, to);
  }

 private:
  const Part &one_, &other_;
  const SetOps& ops_;
  std::vector<uint32_t> found_;
};

// Calls each(rows, u) for all rows of a product of relations, many at once.
template <typename Each>
Status each_product_row(const Part* parts, const Factor* factors, int32_t n_factors, uint32_t n, Control* control,
                        Each&& each) {
  uint64_t entries = 0;
  for (int32_t f = 0; f < n_factors; ++f) entries += entries_of(parts + factors[f].first, factors[f].count);
  WorkQueue queue(control, n, kRows, kTogether);
  return deal(workers_for(control, entries + n), queue, [&](int) {
    ProductRows rows(parts, factors, n_factors);
    for (uint64_t begin, end; queue.take(&begin, &end);)
      for (uint64_t u = begin; u < end; ++u) {
        rows.make(static_cast<uint32_t>(u));
        each(rows, static_cast<uint32_t>(u));
      }
  });
}

}  // namespace
}  // namespace qe::eliminate

using namespace qe::eliminate;
using qe::Control;

// offsets[n + 1] of the rows that the parts make together.
QE_API int32_t qe_eliminate_count_rows(const Part* parts, int32_t n_parts, uint32_t n, uint64_t* offsets,
                                       Control* control) {
  const qe::Status status = each_row(n, entries_of(parts, n_parts), control, [&](uint32_t u) {
    uint64_t sum = 0;
    for (int32_t k = 0; k < n_parts; ++k) sum += length(parts[k], u);
    offsets[u + 1] = sum;
  });
  if (status == qe::kOk) add_up(offsets, n);
  return status;
}

// ids[offsets[n]]: the rows. facts: whether an id comes twice in a row, and whether a row has its own vertex.
QE_API int32_t qe_eliminate_fill_rows(const Part* parts, int32_t n_parts, uint32_t n, const uint64_t* offsets,
                                      uint32_t* ids, int32_t* facts, Control* control) {
  std::atomic<bool> repeats{false}, loops{false};
  const qe::Status status = each_row(n, entries_of(parts, n_parts), control, [&](uint32_t u) {
    std::vector<uint32_t*> bounds{ids + offsets[u]};
    for (int32_t k = 0; k < n_parts; ++k) {
      uint32_t* end = append(parts[k], u, bounds.back());
      if (end > bounds.back()) bounds.push_back(end);
    }
    merge_runs(bounds);
    const uint32_t *begin = ids + offsets[u], *end = ids + offsets[u + 1];
    if (std::adjacent_find(begin, end) != end) repeats.store(true, std::memory_order_relaxed);
    if (std::binary_search(begin, end, u)) loops.store(true, std::memory_order_relaxed);
  });
  facts[0] = repeats;
  facts[1] = loops;
  return status;
}

// offsets[n + 1] of the rows of a product of relations, and its greatest number.
QE_API int32_t qe_eliminate_count_product(const ProductRelation* product, uint64_t* offsets, uint64_t* most, Control* control) {
  const Part* const parts = product->parts;
  const Factor* const factors = product->factors;
  const int32_t n_factors = product->n_factors;
  const uint32_t n = product->n;
  if (CommonRows::fit(parts, factors, n_factors)) {
    const CommonRows rows(parts[factors[0].first], parts[factors[1].first]);
    const uint64_t entries = entries_of(parts, 1) + entries_of(parts + factors[1].first, 1);
    const qe::Status status =
        each_row(n, entries, control, [&](uint32_t u) { offsets[u + 1] = rows.count(u); });
    if (status == qe::kOk) add_up(offsets, n);
    *most = 1;
    return status;
  }
  std::atomic<uint64_t> greatest{0};
  const qe::Status status = each_product_row(parts, factors, n_factors, n, control, [&](ProductRows& rows, uint32_t u) {
    offsets[u + 1] = rows.ids().size();
    for (const uint64_t number : rows.numbers()) {
      uint64_t before = greatest.load(std::memory_order_relaxed);
      while (number > before && !greatest.compare_exchange_weak(before, number, std::memory_order_relaxed)) continue;
    }
  });
  if (status == qe::kOk) add_up(offsets, n);
  *most = greatest.load();
  return status;
}

// ids[offsets[n]], and unless they are null values[offsets[n]], each of `bytes`: 4 or 8.
QE_API int32_t qe_eliminate_fill_product(const ProductRelation* product, const uint64_t* offsets, uint32_t* ids, void* values,
                                         int32_t bytes, Control* control) {
  const Part* const parts = product->parts;
  const Factor* const factors = product->factors;
  const int32_t n_factors = product->n_factors;
  const uint32_t n = product->n;
  if (CommonRows::fit(parts, factors, n_factors)) {
    WorkQueue queue(control, n, kRows, kTogether);
    return deal(workers_for(control, offsets[n] + n), queue, [&](int) {
      CommonRows rows(parts[factors[0].first], parts[factors[1].first]);
      for (uint64_t begin, end; queue.take(&begin, &end);)
        for (uint64_t u = begin; u < end; ++u)
          if (offsets[u] < offsets[u + 1]) rows.fill(static_cast<uint32_t>(u), ids + offsets[u]);
    });
  }
  return each_product_row(parts, factors, n_factors, n, control, [&](ProductRows& rows, uint32_t u) {
    std::copy(rows.ids().begin(), rows.ids().end(), ids + offsets[u]);
    if (values == nullptr) return;
    for (size_t i = 0; i < rows.numbers().size(); ++i) {
      const uint64_t at = offsets[u] + i;
      if (bytes == 4) static_cast<uint32_t*>(values)[at] = static_cast<uint32_t>(rows.numbers()[i]);
      else static_cast<uint64_t*>(values)[at] = rows.numbers()[i];
    }
  });
}

// out[u]: how many entries of u's rows are u.
QE_API int32_t qe_eliminate_loops(const Part* parts, int32_t n_parts, uint32_t n, uint64_t* out, Control* control) {
  return each_row(n, entries_of(parts, n_parts), control, [&](uint32_t u) {
    uint64_t sum = 0;
    for (int32_t k = 0; k < n_parts; ++k) {
      const Part& part = parts[k];
      const qe::Slice at = qe::locate(part.lists, u);
      const uint32_t* ids = part.lists.neighbours;
      for (uint64_t e = std::lower_bound(ids + at.begin, ids + at.end, u) - ids; e < at.end && ids[e] == u; ++e)
        sum += admits(part, u, e);
    }
    out[u] = sum;
  });
}

// out[u]: the sum over the entries of u's rows of the vector's numbers (null: 1): qe_eliminate_message without a matrix.
QE_API int32_t qe_eliminate_gather(const Part* parts, int32_t n_parts, uint32_t n, const void* vector, int32_t wide,
                                   void* out, Control* control) {
  return numbered(wide, [&](auto zero) {
    using V = decltype(zero);
    const V* numbers = static_cast<const V*>(vector);
    V* sums = static_cast<V*>(out);
    const bool only_lengths = numbers == nullptr && std::none_of(parts, parts + n_parts, filtered);
    return each_row(n, only_lengths ? 0 : entries_of(parts, n_parts), control, [&](uint32_t u) {
      V sum = 0;
      for (int32_t k = 0; k < n_parts; ++k) {
        const Part& part = parts[k];
        if (numbers == nullptr) {
          sum = plus<V>(sum, length(part, u));
          continue;
        }
        const qe::Slice at = qe::locate(part.lists, u);
        const bool all = !filtered(part);
        for (uint64_t e = at.begin; e < at.end; ++e)
          if (all || admits(part, u, e)) sum = plus<V>(sum, numbers[part.lists.neighbours[e]]);
      }
      sums[u] = sum;
    });
  });
}
