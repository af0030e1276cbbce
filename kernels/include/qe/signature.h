// Vertex signatures: 512 bits that say which kinds of neighbours a vertex has (GSI §III-A).
//
// Word 0: a bit for each label of the vertex, by the label's number modulo 32. Words 1 to 15: 240 groups of two bits. Each
// (adjacency, label of the neighbour) hashes to one group; 00 there: no such neighbour, 01: one, 11: more. A neighbour
// without regard to its labels counts under kAnyLabel. Parallel relationships count once.
// The signature of a pattern's vertex has the bits that each match must have, so v can match u only if
// (signature(v) & signature(u)) == signature(u). A test never refuses a vertex that has an embedding.
// The table is column-first: word w of vertex v is table[w * n_vertices + v], so that neighbouring threads read
// neighbouring words, and words that are 0 in the pattern's signature are not read at all.
#pragma once
#include "qe/pcsr.h"
#include "qe/portable.h"

namespace qe {

constexpr int kSignatureWords = 16;
constexpr uint32_t kSignatureGroups = 240;
constexpr uint32_t kAnyLabel = 0xFFFFFFFFu;

// What signatures are made from. Vertex ids are grouped by label set: group g is [group_ends[g - 1], group_ends[g]), and
// has labels[label_begins[g], label_begins[g + 1]), numbers of labels.
struct SignatureInput {
  uint32_t n_vertices;
  uint32_t n_groups;
  const uint32_t* group_ends;
  const uint32_t* label_begins;
  const uint32_t* labels;
  const Pcsr* lists;             // adjacencies
  const uint32_t* list_numbers;  // for each the number that is hashed
  uint32_t n_lists;
  uint32_t unused;
};

// The group of neighbours with a label (or kAnyLabel) in an adjacency.
QE_BOTH inline uint32_t signature_group(uint32_t list_number, uint32_t label) {
  uint32_t x = list_number * 0x9E3779B1u ^ (label + 1) * 0x85EBCA77u;
  x ^= x >> 15;
  x *= 0xC2B2AE3Du;
  x ^= x >> 13;
  return static_cast<uint32_t>((static_cast<uint64_t>(x) * kSignatureGroups) >> 32);
}

// Counts one neighbour, or several, in a group.
QE_BOTH inline void signature_add(uint32_t* words, uint32_t group, bool several) {
  uint32_t& word = words[1 + group / 16];
  const uint32_t shift = group % 16 * 2;
  word |= several || (word >> shift & 1) ? 3u << shift : 1u << shift;
}

// The first group of ids that ends beyond v.
QE_BOTH inline uint32_t label_group(const SignatureInput& in, uint32_t v) {
  uint32_t low = 0, high = in.n_groups;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (in.group_ends[middle] <= v) low = middle + 1; else high = middle;
  }
  return low;
}

// Writes the kSignatureWords words of one vertex. Reads one neighbour a run of neighbours of one group, and its ends.
QE_BOTH inline void signature_of(const SignatureInput& in, uint32_t v, uint32_t* words) {
  for (int w = 0; w < kSignatureWords; ++w) words[w] = 0;
  const uint32_t own = label_group(in, v);
  for (uint32_t k = in.label_begins[own]; k < in.label_begins[own + 1]; ++k) words[0] |= 1u << in.labels[k] % 32;
  for (uint32_t l = 0; l < in.n_lists; ++l) {
    const Slice slice = locate(in.lists[l], v);
    const uint32_t* list = in.lists[l].neighbours;
    for (uint64_t at = slice.begin; at < slice.end;) {
      const uint32_t group = label_group(in, list[at]), end_id = in.group_ends[group];
      uint64_t low = at + 1, high = slice.end;
      while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (list[middle] < end_id) low = middle + 1; else high = middle;
      }
      const bool several = list[low - 1] != list[at];
      signature_add(words, signature_group(in.list_numbers[l], kAnyLabel), several);
      for (uint32_t k = in.label_begins[group]; k < in.label_begins[group + 1]; ++k)
        signature_add(words, signature_group(in.list_numbers[l], in.labels[k]), several);
      at = low;
    }
  }
}

// Has the vertex all bits of the pattern's signature?
QE_BOTH inline bool signature_admits(const uint32_t* table, uint32_t n_vertices, uint32_t v, const uint32_t* wanted) {
  for (int w = 0; w < kSignatureWords; ++w)
    if (wanted[w] != 0 && (table[static_cast<uint64_t>(w) * n_vertices + v] & wanted[w]) != wanted[w]) return false;
  return true;
}

}  // namespace qe
