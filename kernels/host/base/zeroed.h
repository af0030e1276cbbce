// Arrays of zeros, one entry a vertex, of which few may be touched.
#pragma once
#ifndef _WIN32
#include <sys/mman.h>
#endif

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

namespace qe {

constexpr size_t kMapped = 1 << 20;  // bytes from which an array is mapped by itself

// `bytes`: of a mapping; 0 for what `calloc` gave.
struct ZeroedDeleter {
  size_t bytes = 0;
  void operator()(void* p) const {
#ifndef _WIN32
    if (bytes) {
      munmap(p, bytes);
      return;
    }
#endif
    std::free(p);
  }
};

template <class T>
using Zeroed = std::unique_ptr<T[], ZeroedDeleter>;

// Zeroed, and untouched pages cost nothing: `calloc` would take a large array from what the process has freed, once it
// has freed one as large, and write all of it.
template <class T>
Zeroed<T> zeroed(int64_t count) {
  const size_t bytes = (static_cast<size_t>(count) + 1) * sizeof(T);
#ifndef _WIN32
  if (bytes >= kMapped) {
    void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    return Zeroed<T>(static_cast<T*>(p), ZeroedDeleter{bytes});
  }
#endif
  void* p = std::calloc(1, bytes);
  if (!p) throw std::bad_alloc();
  return Zeroed<T>(static_cast<T*>(p));
}

}  // namespace qe
