// Hashes of words and of texts, by which rows are dealt to partitions. Reads each once; deterministic.
#include "base/text_hash.h"
#include "qe/abi.h"

// Mixes the hash of each of n words into hashes.
QE_API int32_t qe_hash_words(const uint64_t* words, uint64_t n, uint64_t* hashes) {
  for (uint64_t i = 0; i < n; ++i) hashes[i] = qe::mixed(hashes[i] * 31 + qe::mixed(words[i] + 0x9e3779b97f4a7c15ULL));
  return qe::kOk;
}

// Writes the hash of each of n texts, of which text i is bytes[offsets[i]] to bytes[offsets[i + 1] - 1].
QE_API int32_t qe_hash_texts(const uint8_t* bytes, const int64_t* offsets, uint64_t n, uint64_t* hashes) {
  for (uint64_t i = 0; i < n; ++i)
    hashes[i] = qe::text_hash(bytes + offsets[i], static_cast<uint64_t>(offsets[i + 1] - offsets[i]));
  return qe::kOk;
}
