// Neighbours that are drawn for mini-batches, on host and GPU alike: of each of some nodes all, or as many as are asked for.
//
// What is drawn of a node is a function of seed, batch, hop and node: the same wherever, and beside whatever others, it is
// drawn. Without replacement: Floyd's algorithm (Bentley and Floyd, CACM 1987), each of whose picks is compared with those
// before, O(k^2); where that is more than reading the list, one number after the other is taken or not (Knuth, algorithm S).
#pragma once
#include "qe/philox.h"
#include "qe/portable.h"

namespace qe {

// One hop. Node v's neighbours: ends[offsets[v]] to ends[offsets[v + 1] - 1], none from n_lists on. Those drawn of nodes[i] go
// to sources[at[i]] and on, beside them, in targets, first + i.
struct NeighbourJob {
  const uint64_t* offsets;
  const uint32_t* ends;
  const int64_t* nodes;
  int64_t* at;
  int64_t* sources;
  int64_t* targets;
  uint64_t n_lists, n, first;
  uint64_t seed, batch;
  uint32_t hop, most;
  uint32_t again, unused;  // again: with replacement
};

constexpr uint64_t kNeighbourBlock = 3ull << 33;  // of Philox, apart from those of other samples

class NeighbourNumbers {
 public:
  QE_BOTH NeighbourNumbers(const NeighbourJob& job, uint64_t node) : node_(node) {
    const PhiloxBlock stream = philox(job.batch, kNeighbourBlock + job.hop, job.seed);
    key_ = static_cast<uint64_t>(stream.word[0]) << 32 | stream.word[1];
  }

  // One of 0..n-1, 0 < n < 2^32; none is more likely than another by more than 2^-32.
  QE_BOTH uint64_t choose(uint64_t n) {
    if (calls_ % 2 == 0) block_ = philox(node_, calls_ / 2, key_);
    const uint64_t high = block_.word[2 * (calls_ % 2)], low = block_.word[2 * (calls_ % 2) + 1];
    ++calls_;
    return (high * n + (low * n >> 32)) >> 32;
  }

 private:
  uint64_t node_, key_, calls_ = 0;
  PhiloxBlock block_ = {};
};

QE_BOTH inline uint64_t degree_of(const NeighbourJob& job, uint64_t node) {
  return node < job.n_lists ? job.offsets[node + 1] - job.offsets[node] : 0;
}

// How many neighbours of the job's node i are drawn.
QE_BOTH inline uint64_t sampled_count(const NeighbourJob& job, uint64_t i) {
  const uint64_t degree = degree_of(job, static_cast<uint64_t>(job.nodes[i]));
  return degree == 0 ? 0 : job.again || degree > job.most ? job.most : degree;
}

// Writes the neighbours of the job's node i.
QE_BOTH inline void sample_neighbours(const NeighbourJob& job, uint64_t i) {
  const auto node = static_cast<uint64_t>(job.nodes[i]);
  const uint64_t degree = degree_of(job, node), k = sampled_count(job, i);
  if (k == 0) return;
  int64_t* sources = job.sources + job.at[i];
  NeighbourNumbers numbers(job, node);
  if (job.again) {
    for (uint64_t j = 0; j < k; ++j) sources[j] = static_cast<int64_t>(numbers.choose(degree));
  } else if (k == degree) {
    for (uint64_t j = 0; j < k; ++j) sources[j] = static_cast<int64_t>(j);
  } else if (k * k > 16 * degree) {
    for (uint64_t j = 0, place = 0; j < k; ++place)
      if (numbers.choose(degree - place) < k - j) sources[j++] = static_cast<int64_t>(place);
  } else {
    for (uint64_t j = 0; j < k; ++j) {
      const uint64_t last = degree - k + j;
      auto pick = static_cast<int64_t>(numbers.choose(last + 1));
      for (uint64_t before = 0; before < j; ++before)
        if (sources[before] == pick) {
          pick = static_cast<int64_t>(last);
          break;
        }
      sources[j] = pick;
    }
  }
  for (uint64_t j = 0; j < k; ++j) {
    sources[j] = job.ends[job.offsets[node] + static_cast<uint64_t>(sources[j])];
    job.targets[job.at[i] + static_cast<int64_t>(j)] = static_cast<int64_t>(job.first + i);
  }
}

}  // namespace qe
